//! The rows of docs/internals/process-model.md, with real programs: what the provider does at each moment in the life of a
//! foreign process, and in confined processes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use oarlock::Algorithm;
use oarlock::Direction::Encrypt;
use oarlock_testing::{is_root, lossy, noise, skip, until};

use crate::driver::libcrypto;
use crate::host::{
    Accelerated, Machine, NO_AES, Program, assert_same, has_loaded, module, open_folder, openssl,
    run, run_with, succeeds, threads, with_conf,
};

#[test]
fn loading_makes_no_thread() {
    for accelerated in everyone() {
        let mut waiting = enc(&[]);
        accelerated.apply(&mut waiting);
        // The child waits for input that never comes.
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut child = waiting.stdin(reader).stdout(Stdio::null()).spawn().unwrap();
        until("it waits for input", || is_reading_stdin(child.id()));
        assert!(has_loaded(child.id(), &module()));
        let found = threads(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, 1);
    }
}

/// Loading opens the provider's own libraries and the configuration's files, and nothing else: neither CPUs, cgroups nor
/// /proc. Live figures, which `oarlock run` enables, need their directory and files, and a check for a sandbox.
#[test]
fn loading_opens_no_file_but_those_of_the_configuration() {
    let folder = open_folder();
    let traced = |conf: Option<&Accelerated>, name: &str| {
        let log = folder.path().join(name);
        let mut strace = Command::new("strace");
        with_conf(&mut strace, conf);
        strace.args([
            "-f",
            "-e",
            "trace=open,openat,clone,clone3,fork,vfork",
            "-o",
        ]);
        strace.arg(&log).args(["openssl", "list", "-providers"]);
        let output = run(&mut strace);
        assert!(output.status.success(), "{}", lossy(&output.stderr));
        fs::read_to_string(log).unwrap()
    };
    let opened = |log: &str| -> Vec<String> {
        let names = log.lines().filter_map(|line| line.split('"').nth(1));
        names.map(str::to_owned).collect()
    };
    let known = opened(&traced(None, "stock"));
    let of_loading = [
        ".cnf",
        "openssl-calibration",
        "usage",
        "liboarlock_provider.so",
        "libgcc_s.so.1",
    ];
    let of_figures = [
        "/proc/self/status",
        "/oarlock",
        "/oarlock-live",
        ".live",
        ".new",
        // The check whether the processes of these files have ended.
        "/stat",
    ];
    let with_figures = [&of_loading[..], &of_figures].concat();
    for (options, expected) in [("publish=off", &of_loading[..]), ("", &with_figures)] {
        let accelerated = Accelerated::with(options);
        let ours = traced(Some(&accelerated), "ours");
        for name in opened(&ours).iter().filter(|name| !known.contains(name)) {
            // A directory of figures is listed after it was opened.
            let is_folder = name == "." || name.starts_with("/tmp/oarlock-");
            let is_figures = options.is_empty() && is_folder;
            let is_expected = is_figures || expected.iter().any(|end| name.ends_with(end));
            assert!(is_expected, "{name} was opened:\n{ours}");
        }
        assert!(ours.contains("liboarlock_provider.so"), "{ours}");
        let is_calibration = |name: &&String| name.ends_with("/openssl-calibration");
        assert_eq!(
            opened(&ours).iter().filter(is_calibration).count(),
            1,
            "{ours}"
        );
        // `-f` makes strace begin each line with the process ID.
        let called = |name: &str| {
            let calls = ours
                .lines()
                .filter_map(|line| line.split_whitespace().nth(1));
            calls
                .filter_map(|call| call.split_once('('))
                .any(|(call, _)| call == name)
        };
        assert!(called("openat"), "{ours}");
        for call in ["clone", "clone3", "fork", "vfork"] {
            assert!(!called(call), "{ours}");
        }
    }
}

#[test]
fn a_set_user_id_program_ignores_the_environment() {
    if !is_root("a set-user-ID program") {
        return;
    }
    let folder = open_folder();
    let program = folder.path().join("openssl");
    let program = program.to_str().unwrap();
    // Another process copies it: programs started by other tests could inherit this process's descriptor, and Linux executes
    // no file that is open for writing.
    let install = ["-m", "4755", "/usr/bin/openssl", program];
    succeeds(Command::new("install").args(install));
    let data = noise(1 << 20);
    let expected = stock(&data);
    let output_of = |command: &mut Command| {
        let output = run_with(command, &data);
        assert!(output.status.success(), "{}", lossy(&output.stderr));
        assert_same(&output.stdout, &expected, "as nobody");
    };

    let accelerated = Accelerated::for_all("");
    output_of(accelerated.apply(&mut enc_of(program, &AS_NOBODY)));
    assert_eq!(
        accelerated.counted().processes,
        0,
        "OPENSSL_CONF is ignored"
    );
    output_of(accelerated.apply(&mut enc_of("openssl", &AS_NOBODY)));
    assert_eq!(accelerated.counted().processes, 1, "and only there");

    // The machine's configuration loads the provider, and the provider's own variables are ignored.
    for (program, is_ignored) in [(program, true), ("openssl", false)] {
        let machine = Machine::with("offer=all");
        let prefix = machine.prefix();
        let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
        let mut command = enc_of(program, &[&prefix[..], &AS_NOBODY].concat());
        output_of(
            command
                .env_remove("OPENSSL_CONF")
                .env("OARLOCK_OPTIONS", "nonsense"),
        );
        let counted = machine.counted();
        assert_eq!(counted.processes, 1);
        assert_eq!(!counted.lines.is_empty(), is_ignored, "{counted:?}");
    }
}

#[test]
fn without_a_module_that_works_programs_go_on_alone() {
    let folder = open_folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "no library").unwrap();
    fs::write(path("empty"), "").unwrap();
    let library = fs::read(module()).unwrap();
    // Within the header: the loader maps segments without a look at the file's length, and their absence is a bus error.
    fs::write(path("cut"), &library[..60]).unwrap();
    fs::write(path("unreadable"), &library).unwrap();
    fs::set_permissions(path("unreadable"), Permissions::from_mode(0o000)).unwrap();
    // A library that is no provider.
    let other = libraries_of(Path::new("/usr/bin/openssl")).remove(0);
    let data = noise(1 << 20);
    let expected = stock(&data);
    let as_nobody: &[&str] = if is_root("a module that cannot be read") {
        &AS_NOBODY
    } else {
        &[]
    };
    for module in [
        path("missing"),
        path("text"),
        path("empty"),
        path("cut"),
        path("unreadable"),
        folder.path().to_path_buf(),
        other,
    ] {
        let accelerated = Accelerated::of(&module);
        let output = run_with(accelerated.apply(&mut enc(as_nobody)), &data);
        let said = lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", module.display());
        assert_same(&output.stdout, &expected, "without a module");
        assert_eq!(accelerated.counted().processes, 0, "{}", module.display());
        // An error of the program itself is unchanged.
        let mut wrong = Command::new("openssl");
        let output = run(accelerated.apply(wrong.args(["enc", "-none-such"])));
        assert_eq!(output.status.code(), Some(1));
    }
    for options in [
        "max_threads=many",
        "cipher_blocks=17",
        "none=1",
        "=",
        "\u{e4}",
    ] {
        let accelerated = Accelerated::with_wrong(options);
        let output = run_with(accelerated.apply(&mut enc(&[])), &data);
        assert!(output.status.success(), "{}", lossy(&output.stderr));
        assert_same(&output.stdout, &expected, options);
        let counted = accelerated.counted();
        assert_eq!(
            (counted.processes, counted.lines.len()),
            (1, 0),
            "{options}"
        );
    }
}

#[test]
fn a_confined_process_gets_no_thread() {
    if !is_root("a process without /proc, and one of another user") {
        return;
    }
    for strategy in ["stripe", "prefetch"] {
        let accelerated = Accelerated::forced(strategy);
        assert!(
            most_threads(&accelerated, &[]) > 1,
            "{strategy}: none at all"
        );
        for prefix in [
            &["taskset", "-c", "0"][..],
            &[
                "unshare",
                "--mount",
                "sh",
                "-c",
                "umount -l /proc && exec \"$@\"",
                "sh",
            ],
        ] {
            assert_eq!(
                most_threads(&accelerated, prefix),
                1,
                "{strategy}: {prefix:?}"
            );
        }
        let mut accelerated = Accelerated::for_all(&format!("strategy={strategy},max_threads=2"));
        accelerated.hide(NO_AES);
        let limited = [&AS_NOBODY[..], &["prlimit", "--nproc=1"]].concat();
        assert_eq!(
            most_threads(&accelerated, &limited),
            1,
            "{strategy}: a limit"
        );
    }
}

#[test]
fn a_confined_process_computes_the_same() {
    if !is_root("a process without /proc, and one of another user") {
        return;
    }
    let data = noise(8 << 20);
    let expected = stock(&data);
    let limited = [&AS_NOBODY[..], &["prlimit", "--nproc=1"]].concat();
    for strategy in ["auto", "stripe", "prefetch"] {
        for prefix in [
            &["taskset", "-c", "0"][..],
            &[
                "unshare",
                "--mount",
                "sh",
                "-c",
                "umount -l /proc && exec \"$@\"",
                "sh",
            ],
            &limited,
        ] {
            let mut accelerated = Accelerated::for_all(&format!("strategy={strategy}"));
            accelerated.hide(NO_AES);
            let output = run_with(accelerated.apply(&mut stream(prefix, "pipe")), &data);
            assert!(
                output.status.success(),
                "{prefix:?}: {}",
                lossy(&output.stderr)
            );
            assert_same(&output.stdout, &expected, &format!("{prefix:?}"));
            let bytes = accelerated.bytes(Algorithm::Aes128Ctr, Encrypt);
            assert_eq!(bytes, data.len() as u64, "{prefix:?}");
        }
    }
}

/// A directory with only the program and its libraries.
#[test]
fn it_runs_in_a_chroot() {
    if !is_root("chroot") {
        return;
    }
    let root = open_folder();
    let accelerated = Accelerated::forced("stripe");
    let of_these = openssl().map(|lib| lib.with_file_name("bin/openssl"));
    let program = of_these.filter(|program| program.exists());
    let program = program.unwrap_or_else(|| "/usr/bin/openssl".into());
    let mut needed = libraries_of(&program);
    needed.extend(libraries_of(&module()));
    needed.extend([program.clone(), module()]);
    needed.extend(accelerated.files());
    // Another process copies it, as with the set-user-ID program above.
    let mut cp = Command::new("cp");
    succeeds(
        cp.args(["--parents", "--dereference"])
            .args(&needed)
            .arg(root.path()),
    );
    let data = noise(8 << 20);
    let prefix = ["chroot", root.path().to_str().unwrap()];
    let output = run_with(
        accelerated.apply(&mut enc_of(&program.to_string_lossy(), &prefix)),
        &data,
    );
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    assert_same(&output.stdout, &stock(&data), "in a chroot");
    // Its counters are outside of the chroot, so this shows that the library was loaded:
    let mut list = Command::new("chroot");
    list.arg(root.path())
        .arg(&program)
        .args(["list", "-providers"]);
    let said = lossy(&succeeds(accelerated.apply(&mut list)));
    assert!(said.contains("name: Oarlock"), "{said}");
}

/// The library uses part of a program's address space. Under any limit with which the program can start, it is right or
/// reports that it has no memory; and it is right as soon as it has that much more than alone. The program is written in C:
/// Python, and the Rust in its `cryptography`, abort or loop even without the library.
#[test]
fn a_limit_on_memory_kills_nobody() {
    if libcrypto().release() == (3, 6) {
        skip("the command of OpenSSL 3.6 by itself does not end without memory");
        return;
    }
    let data = noise(1 << 20);
    let expected = stock(&data);
    let limited = |kib: usize, conf: Option<&Accelerated>| {
        let limit = format!("--as={}", kib << 10);
        // Without memory for an error's text, the command of 3.5 and 4.0 prints it endlessly.
        let prefix = ["prlimit", &limit, "--fsize=4194304", "--core=0"];
        let mut program = enc_of("openssl", &prefix);
        run_with(with_conf(&mut program, conf), &data)
    };
    let starts = |kib: &usize| limited(*kib, None).status.success();
    let alone = (4096..65536).step_by(256).find(starts).unwrap();
    let library = (module().metadata().unwrap().len() >> 10) as usize;
    let enough = alone + library + 32 * 1024;
    let try_all = |strategy: &str| {
        let accelerated = Accelerated::forced(strategy);
        let works = |kib: usize| {
            let before = accelerated.bytes(Algorithm::Aes128Ctr, Encrypt);
            let output = limited(kib, Some(&accelerated));
            let status = output.status;
            let said = lossy(&output.stderr[..output.stderr.len().min(2000)]);
            let is_told_without_end = status.signal() == Some(libc::SIGXFSZ);
            // When a provider finds no memory for its activation, 3.5 frees that provider twice at exit
            // (provider_deactivate_free, of any provider). It has fetched nothing then.
            let is_freed_twice = status.signal() == Some(libc::SIGSEGV)
                && crate::host::openssl().is_some()
                && said.contains("inner_evp_generic_fetch:unsupported");
            assert!(
                status.signal().is_none() || is_told_without_end || is_freed_twice,
                "{strategy}, {kib} KiB: {status}, {said}"
            );
            if status.success() {
                assert_same(&output.stdout, &expected, &format!("{strategy}, {kib} KiB"));
            } else {
                assert!(!said.is_empty(), "{strategy}, {kib} KiB: not a word");
                assert!(
                    kib < enough,
                    "{strategy}: not in {kib} KiB, in {alone} alone: {said}"
                );
            }
            accelerated.bytes(Algorithm::Aes128Ctr, Encrypt) > before
        };
        let (mut too_little, mut works_in) = (alone, enough);
        assert!(works(enough), "{strategy}: never accelerated");
        while works_in - too_little > 4 {
            let middle = too_little.midpoint(works_in);
            match works(middle) {
                true => works_in = middle,
                false => too_little = middle,
            }
        }
        // After the library is loaded, its threads and rings follow, and each may leave a few KiB, or nothing, for the next.
        // Without a reserve, it failed in 11 KiB of this range.
        let finely = (works_in - 128..works_in + 768).step_by(4);
        let coarsely = (alone + 256..enough + 1024).step_by(768);
        finely.chain(coarsely).for_each(|kib| _ = works(kib));
    };
    thread::scope(|scope| {
        for strategy in ["auto", "stripe", "prefetch"] {
            let try_all = &try_all;
            scope.spawn(move || try_all(strategy));
        }
    });
}

#[test]
fn a_fork_in_the_middle_of_a_stream_disturbs_nobody() {
    moment_says_the_same("fork");
}

#[test]
fn descriptors_that_are_closed_were_not_needed() {
    moment_says_the_same("descriptors");
}

#[test]
fn without_a_descriptor_left_it_computes() {
    moment_says_the_same("exhausted");
}

#[test]
fn a_program_ends_while_a_helper_works() {
    for accelerated in everyone() {
        for (how, code, signal) in [
            ("exit", Some(7), None),
            ("_exit", Some(7), None),
            ("signal", None, Some(libc::SIGTERM)),
        ] {
            for _ in 0..5 {
                let status = run(accelerated.apply(&mut moment(how))).status;
                assert_eq!((status.code(), status.signal()), (code, signal), "{how}");
            }
        }
        assert!(accelerated.bytes(Algorithm::Aes128Ctr, Encrypt) > 0);
    }
}

#[test]
fn a_context_of_the_library_can_go_and_come_again() {
    for accelerated in everyone() {
        let mut python = Command::new("/usr/bin/python3");
        python.arg("-I").arg(script("unload.py"));
        python.arg(accelerated.conf()).arg(module());
        accelerated.apply(&mut python).env_remove("OPENSSL_CONF");
        assert_eq!(succeeds(&mut python), b"unloaded\n");
        assert_eq!(accelerated.counted().processes, 100);
    }
}

/// OpenSSL gives a job a stack of 32 KiB. The provider works there as anywhere.
#[test]
fn inside_an_async_job_work_is_done_at_once() {
    for (accelerated, ciphers) in everyone().into_iter().zip([4, 2, 2]) {
        for cipher in [
            "aes-128-ctr",
            "aes-256-gcm",
            "aes-192-cbc",
            "chacha20-poly1305",
        ][..ciphers]
            .iter()
        {
            let mut speed = Command::new("openssl");
            speed.args(["speed", "-elapsed", "-seconds", "1", "-async_jobs", "4"]);
            speed.args(["-bytes", "262144", "-evp", cipher]);
            succeeds(accelerated.apply(&mut speed));
        }
        for operation in [
            Algorithm::Aes128Ctr,
            Algorithm::Aes256Gcm,
            Algorithm::Aes192Cbc,
            Algorithm::ChaCha20Poly1305,
        ][..ciphers]
            .iter()
        {
            assert!(accelerated.bytes(*operation, Encrypt) > 1 << 20);
        }
    }
}

/// The default configuration, and configurations with helpers wherever possible.
fn everyone() -> [Accelerated; 3] {
    [
        Accelerated::new(),
        Accelerated::forced("stripe"),
        Accelerated::forced("prefetch"),
    ]
}

fn moment(which: &str) -> Command {
    stream(&[], which)
}

/// Returns a program with requests of at least 1 MiB, after `prefix`: those of `openssl enc` have at most 4 KiB.
fn stream(prefix: &[&str], which: &str) -> Command {
    let script = script("moments.py");
    let program = ["/usr/bin/python3", "-I", script.to_str().unwrap(), which];
    let words = [prefix, &program].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

fn moment_says_the_same(which: &str) {
    let expected = succeeds(with_conf(&mut moment(which), None));
    assert_eq!(expected.len(), 65, "{}", lossy(&expected));
    for accelerated in everyone() {
        assert_eq!(succeeds(accelerated.apply(&mut moment(which))), expected);
        assert!(accelerated.bytes(Algorithm::Aes128Ctr, Encrypt) >= 4 << 20);
    }
}

fn script(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages");
    folder.join(name)
}

/// Returns `openssl enc` after `prefix`, from input to output, with the key and IV of moments.py.
fn enc(prefix: &[&str]) -> Command {
    enc_of("openssl", prefix)
}

fn enc_of(program: &str, prefix: &[&str]) -> Command {
    let arguments = ["enc", "-aes-128-ctr", "-K", KEY, "-iv", IV];
    let words = [prefix, &[program], &arguments].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// Returns the output of OpenSSL alone.
fn stock(data: &[u8]) -> Vec<u8> {
    let output = run_with(with_conf(&mut enc(&[]), None), data);
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    output.stdout
}

/// Returns the most threads that a program has while it encrypts some 64 MiB.
fn most_threads(accelerated: &Accelerated, prefix: &[&str]) -> usize {
    let before = accelerated.bytes(Algorithm::Aes128Ctr, Encrypt);
    let mut endless = stream(prefix, "endless");
    let program = Program::start(accelerated.apply(&mut endless));
    let mut most = 0;
    until("it has done that much", || {
        assert!(program.is_running(), "{prefix:?}: it has ended");
        most = most.max(threads(program.pid()));
        accelerated.bytes(Algorithm::Aes128Ctr, Encrypt) > before + (64 << 20)
    });
    most
}

/// Whether a process's first thread is blocked in read(2), or similar, of standard input (proc(5), `/proc/pid/syscall`).
fn is_reading_stdin(pid: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap();
    call.starts_with(&format!("{} 0x0 ", libc::SYS_read))
}

/// Returns the libraries that a program loads, by ldd(1).
fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let said = lossy(&succeeds(Command::new("ldd").arg(program)));
    let words = said.split_whitespace().filter(|word| word.starts_with('/'));
    let libraries: Vec<_> = words.map(PathBuf::from).collect();
    assert!(!libraries.is_empty(), "{said}");
    libraries
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const IV: &str = "00000000000000000000000000000000";
const AS_NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];
