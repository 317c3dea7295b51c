//! Every byte is openssl's, whichever way it takes.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use oarlock_testing::{names, noise};

use crate::common::{IV, assert_fails, enc, key, oarlock, openssl, run, stderr};

/// Short sizes, ends of blocks and pages, and either side of the chunks that threads share.
const SIZES: [usize; 15] = [
    0,
    1,
    15,
    16,
    17,
    4095,
    4096,
    4097,
    (1 << 20) - 1,
    1 << 20,
    (1 << 20) + 1,
    (2 << 20) - 1,
    2 << 20,
    5 << 20,
    (5 << 20) + 4097,
];

/// Runs `command` in every way from `data` to a result.
fn every_way(directory: &Path, data: &[u8], command: impl Fn() -> Command, expected: &[u8]) {
    let (input, output) = (directory.join("in"), directory.join("out"));
    fs::write(&input, data).unwrap();
    let bytes = data.len();
    for threads in ["1", "2", "auto"] {
        let command = || {
            let mut command = command();
            command.args(["-T", threads]);
            command
        };
        let check = |way: &str, result: std::process::Output, got: &[u8]| {
            assert!(result.status.success(), "{way}: {}", stderr(&result));
            assert_eq!(
                stderr(&result),
                "",
                "{way}: nothing to say when all is well"
            );
            assert!(
                got == expected,
                "{way} differs: {bytes} bytes, {threads} threads"
            );
        };
        let result = run(command().arg(&input).arg("-o").arg(&output), b"");
        check("file to file", result, &fs::read(&output).unwrap());
        fs::remove_file(&output).unwrap();

        let result = run(&mut command(), data);
        check("pipe to pipe", result.clone(), &result.stdout);

        let result = run(command().arg(&input).args(["-o", "-"]), b"");
        check("file to pipe", result.clone(), &result.stdout);

        let result = run(command().arg("-").arg("-o").arg(&output), data);
        check("pipe to file", result, &fs::read(&output).unwrap());
        fs::remove_file(&output).unwrap();

        let result = command()
            .stdin(File::open(&input).unwrap())
            .stdout(File::create(&output).unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        check("redirected", result, &fs::read(&output).unwrap());
        fs::remove_file(&output).unwrap();
    }
    assert_eq!(names(directory), ["in"], "nothing is left behind");
}

#[test]
fn every_cipher_size_and_way_agrees_with_openssl() {
    let directory = tempfile::tempdir().unwrap();
    for bits in [128, 192, 256] {
        for bytes in SIZES {
            let data = noise(bytes);
            let expected = openssl(bits, IV, &data);
            assert!(bytes < 16 || expected != data);
            every_way(directory.path(), &data, || enc(bits, IV), &expected);
        }
    }
}

#[test]
fn counters_carry_as_in_openssl() {
    let directory = tempfile::tempdir().unwrap();
    let data = noise((3 << 20) + 5);
    for iv in [
        "ffffffffffffffffffffffffffffffff",
        "fffffffffffffffffffffffffffffff0",
        "ffffffffffffffffffffffffffff7000",
        "000000000000000000000000ffffffff",
        "0000000000000000fffffffffffffff0",
        "00000000000000000000000000000000",
    ] {
        let expected = openssl(128, iv, &data);
        every_way(directory.path(), &data, || enc(128, iv), &expected);
    }
}

#[test]
fn what_is_encrypted_decrypts() {
    let data = noise(3_000_000);
    for bits in [128, 192, 256] {
        let encrypted = run(&mut enc(bits, IV), &data).stdout;
        let mut dec = oarlock();
        dec.args(["dec", "--cipher", &format!("aes-{bits}-ctr")]);
        dec.args(["-K", key(bits), "--iv", IV]);
        assert!(run(&mut dec, &encrypted).stdout == data);
    }
}

#[test]
fn one_cpu_does_it_all() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap()
        .trim();
    let first = allowed.split([',', '-']).next().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let data = noise((5 << 20) + 3);
    let expected = openssl(256, IV, &data);
    let command = || {
        let enc = enc(256, IV);
        let mut command = Command::new("taskset");
        command.args(["-c", first]).arg(enc.get_program());
        command.args(enc.get_args());
        command
    };
    every_way(directory.path(), &data, command, &expected);
}

#[test]
fn no_thread_is_needed() {
    let data = noise((5 << 20) + 3);
    let expected = openssl(256, IV, &data);
    let command = || {
        let mut command = enc(256, IV);
        command.args(["--options", "max_threads=0"]);
        command
    };
    let directory = tempfile::tempdir().unwrap();
    every_way(directory.path(), &data, command, &expected);
    let command = || {
        let mut command = enc(256, IV);
        command.args(["--options", "reservation=exclusive"]);
        command
    };
    every_way(directory.path(), &data, command, &expected);
}

#[test]
fn a_cpu_without_aes_gives_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let data = noise((2 << 20) + 3);
    let expected = openssl(192, IV, &data);
    let command = || {
        let mut command = enc(192, IV);
        command.env("OARLOCK_CPU", "-aes");
        command
    };
    every_way(directory.path(), &data, command, &expected);
}

#[test]
fn redirected_files_are_read_and_written_from_where_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    // There are enough chunks that they would not all be appended in order by chance.
    let data = noise((48 << 20) + 100);
    fs::write(&input, [&b"skipped!"[..], &data].concat()).unwrap();
    let expected = openssl(128, IV, &data);
    for redirection in [">", ">>"] {
        fs::write(&output, "").unwrap();
        let script = format!(
            "{{ dd bs=8 count=1 of=/dev/null 2>&-; printf head; \"$0\" enc --cipher aes-128-ctr \
             -K {} --iv {IV}; printf tail; }} < in {redirection} out",
            key(128)
        );
        let result = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_oarlock")])
            .current_dir(&directory)
            .output()
            .unwrap();
        assert!(result.status.success(), "{}", stderr(&result));
        let got = fs::read(&output).unwrap();
        assert!(
            got == [&b"head"[..], &expected, b"tail"].concat(),
            "{redirection}: {} bytes",
            got.len()
        );
    }
}

#[test]
fn a_file_that_does_not_tell_its_size_is_read_to_its_end() {
    let data = fs::read("/proc/version").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out");
    let result = run(
        enc(128, IV).arg("/proc/version").arg("-o").arg(&output),
        b"",
    );
    assert!(result.status.success(), "{}", stderr(&result));
    assert_eq!(fs::read(&output).unwrap(), openssl(128, IV, &data));
}

#[test]
fn the_output_may_be_the_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let data = noise((3 << 20) + 1);
    fs::write(&path, &data).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let result = run(enc(256, IV).arg(&path).arg("-o").arg(&path), b"");
    assert!(result.status.success(), "{}", stderr(&result));
    assert!(fs::read(&path).unwrap() == openssl(256, IV, &data));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o640, "the mode stays");
    assert_eq!(names(directory.path()), ["file"]);
}

#[test]
fn a_symbolic_link_stays_and_what_it_names_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("elsewhere")).unwrap();
    fs::write(at("elsewhere/there"), "old").unwrap();
    symlink("elsewhere/there", at("link")).unwrap();
    symlink("link", at("link-to-link")).unwrap();
    symlink("elsewhere/not-there", at("dangling")).unwrap();
    symlink("round", at("round")).unwrap();
    let expected = openssl(128, IV, b"data");
    for (link, target) in [
        ("link-to-link", "elsewhere/there"),
        ("dangling", "elsewhere/not-there"),
    ] {
        let result = run(enc(128, IV).arg("-o").arg(at(link)), b"data");
        assert!(result.status.success(), "{}", stderr(&result));
        assert!(at(link).is_symlink());
        assert!(!at(target).is_symlink());
        assert_eq!(fs::read(at(target)).unwrap(), expected);
    }
    let result = run(enc(128, IV).arg("-o").arg(at("round")), b"data");
    assert_fails(&result, 1, &["round", "ymbolic link"]);
}

#[test]
fn a_new_file_has_the_mode_that_the_umask_leaves() {
    let directory = tempfile::tempdir().unwrap();
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        let script = format!("umask {umask}; exec \"$0\" \"$@\" -o new");
        let enc = enc(128, IV);
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(enc.get_program());
        command.args(enc.get_args()).current_dir(&directory);
        let result = run(&mut command, b"data");
        assert!(result.status.success(), "{}", stderr(&result));
        let path = directory.path().join("new");
        let got = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(got, mode, "{got:o}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn the_key_may_come_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let key_file = directory.path().join("key");
    fs::write(&key_file, format!("{}\n", key(256))).unwrap();
    let expected = openssl(256, IV, b"data");
    let mut command = oarlock();
    command.args(["enc", "--cipher", "aes-256-ctr", "--iv", IV, "--key-file"]);
    let result = run(command.arg(&key_file), b"data");
    assert_eq!(result.stdout, expected, "{}", stderr(&result));

    let input = directory.path().join("in");
    fs::write(&input, "data").unwrap();
    let mut command = oarlock();
    command.args(["enc", "--cipher", "aes-256-ctr", "--iv", IV]);
    command.args(["--key-file", "-"]).arg(&input);
    let result = run(&mut command, key(256).as_bytes());
    assert_eq!(result.stdout, expected, "{}", stderr(&result));
}
