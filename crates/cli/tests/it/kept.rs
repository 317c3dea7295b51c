//! Programs that a command leaves running keep the user's configuration: a service, a window of tmux, a program that starts
//! long after `oarlock run` has ended. The tests also check who owns the folder of that configuration.

use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use oarlock_testing::{is_root, lossy, names, until};

use crate::common::{oarlock, provider, stderr};

#[test]
fn what_a_command_leaves_running_keeps_the_users_policy() {
    for (of_user, arguments) in [
        (&b""[..], &[][..]),
        (b"", &["--stats"]),
        (b"", &["--options", "max_threads=0"]),
        // OpenSSL skips a byte order mark, but not in an included file.
        (b"\xef\xbb\xbf", &[]),
    ] {
        for mode in [0o644, 0o600] {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
            let path = |name: &str| folder.path().join(name);
            let conf = path("user.cnf");
            fs::write(&conf, [of_user, MODERN].concat()).unwrap();
            fs::set_permissions(&conf, Permissions::from_mode(mode)).unwrap();
            let script = format!(
                "(while [ ! -e go ]; do sleep 0.01; done; {LEAST} >least; \
                 openssl list -providers >providers; : >done) >/dev/null 2>&1 &"
            );
            let mut command = oarlock();
            command
                .arg("run")
                .args(arguments)
                .arg("--provider")
                .arg(provider());
            command
                .args(["--", "sh", "-c", &script])
                .env("OPENSSL_CONF", &conf);
            // A folder for temporary files that goes with the command, like that of a service.
            fs::create_dir(path("tmp")).unwrap();
            let output = command
                .current_dir(folder.path())
                .env("TMPDIR", path("tmp"))
                .output();
            let output = output.unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            fs::remove_dir(path("tmp")).expect("something was left there");
            fs::write(path("go"), "").unwrap();
            until("a program started later", || path("done").exists());
            let least = fs::read_to_string(path("least")).unwrap();
            assert_eq!(least, "0x304\n", "{arguments:?} {mode:o}");
            let providers = fs::read_to_string(path("providers")).unwrap();
            assert!(providers.contains("  oarlock\n"), "{providers}");
        }
    }
}

#[test]
fn changes_of_the_users_file_count_while_a_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("user.cnf");
    fs::write(&conf, lossy(MODERN).replace("TLSv1.3", "TLSv1.1")).unwrap();
    let text = lossy(MODERN).replace('\n', "\\n");
    let script = format!("printf '{text}' >user.cnf; {LEAST}");
    let mut command = ran(&["sh", "-c", &script]);
    let output = command
        .current_dir(folder.path())
        .env("OPENSSL_CONF", &conf)
        .output()
        .unwrap();
    assert_eq!(lossy(&output.stdout), "0x304\n");
}

#[test]
fn what_others_may_not_read_is_not_copied_for_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let store = folder.path().join("kept");
    let (open, closed) = (folder.path().join("open"), folder.path().join("closed"));
    for (path, mode) in [(&open, 0o755), (&closed, 0o700)] {
        fs::create_dir(path).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    for mark in ["", "\u{feff}"] {
        for (place, mode, is_public) in [
            (&open, 0o644, true),
            (&open, 0o640, false),
            (&closed, 0o644, false),
        ] {
            let conf = place.join("user.cnf");
            let _ = fs::remove_file(&conf);
            fs::write(&conf, format!("{mark}pin = 1234\n")).unwrap();
            fs::set_permissions(&conf, Permissions::from_mode(mode)).unwrap();
            let _ = fs::remove_dir_all(&store);
            let mut command = ran(&["true"]);
            command
                .env("OARLOCK_CONFIGURATIONS", &store)
                .env("OPENSSL_CONF", &conf);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            for name in names(&store) {
                let path = store.join(name);
                let tells = fs::read_to_string(&path).unwrap().contains("1234");
                let mode = path.metadata().unwrap().mode() & 0o777;
                assert!(
                    !tells || is_public || mode == 0o600,
                    "{} {mode:o}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn runs_alike_share_a_configuration_and_old_ones_go_unless_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("kept");
    let module = own_provider(folder.path());
    let path_with = |options: &str| path_of_run(&store, &module, options);
    let first = path_with("max_threads=1");
    assert_eq!(path_with("max_threads=1"), first);
    assert_eq!(names(&store).len(), 3);
    assert_eq!(first.parent(), Some(&*store.canonicalize().unwrap()));

    // Longer than files stay because of processes that hide their environment: this machine may have some.
    let make_old = || make_old(&store, 400);
    // A process has it in its environment.
    let mut uses_it = Command::new("sleep")
        .arg("60")
        .env("OPENSSL_CONF", &first)
        .spawn()
        .unwrap();
    let runs = format!("/proc/{}/cmdline", uses_it.id());
    until("it has started", || {
        fs::read(&runs).is_ok_and(|text| text.starts_with(b"sleep"))
    });
    make_old();
    let second = path_with("max_threads=2");
    assert!(first.exists() && second.exists());
    uses_it.kill().unwrap();
    uses_it.wait().unwrap();
    // A run makes the files that it uses young again.
    make_old();
    assert_eq!(path_with("max_threads=2"), second);
    path_with("max_threads=3");
    assert!(!first.exists() && second.exists());
    assert_eq!(names(&store).len(), 6);
}

/// As nginx, PostgreSQL and sshd do to set their titles.
#[test]
fn programs_that_overwrite_their_environment_keep_their_configuration() {
    for (loads_openssl, waits) in [(true, true), (true, false), (false, true), (false, false)] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("kept");
        let module = own_provider(folder.path());
        let path_with = |options: &str| path_of_run(&store, &module, options);
        let first = path_with("max_threads=1");
        // The command is waited for, or leaves it behind.
        let script = match waits {
            true => "exec /usr/bin/python3 title.py",
            false => "/usr/bin/python3 title.py >log 2>&1 &",
        };
        let loads = if loads_openssl { LOADS } else { "" };
        let text = format!("{loads}\n{OVERWRITES}");
        fs::write(folder.path().join("title.py"), text).unwrap();
        let mut command = run_in(&store, &module, "max_threads=1");
        command.args(["sh", "-c", script]).current_dir(&folder);
        let mut run = command.spawn().unwrap();
        let is_there = folder.path().join("pid");
        until("its environment is overwritten", || is_there.exists());
        let pid = fs::read_to_string(&is_there).unwrap();
        if !waits {
            assert!(run.wait().unwrap().success());
        }

        make_old(&store, 40);
        path_with("max_threads=2");
        assert!(first.exists(), "{loads_openssl} {waits}");
        make_old(&store, 400);
        path_with("max_threads=3");
        // Files do not stay longer for what has not loaded the provider and hides its environment.
        assert_eq!(first.exists(), loads_openssl || waits);

        fs::write(folder.path().join("go"), "").unwrap();
        assert!(run.wait().unwrap().success());
        if waits {
            // The files were in use until now.
            path_with("max_threads=4");
            assert!(first.exists());
        }
        until("it has ended", || {
            let maps = fs::read(format!("/proc/{pid}/maps"));
            maps.map_or(true, |maps| maps.is_empty())
        });
        make_old(&store, 400);
        path_with("max_threads=5");
        assert!(!first.exists());
    }
}

#[test]
fn files_that_were_put_there_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("kept");
    let run = || {
        let mut command = ran(&["sh", "-c", "echo $OPENSSL_CONF; openssl list -providers"]);
        command
            .env("OARLOCK_CONFIGURATIONS", &store)
            .env("OPENSSL_CONF", "");
        let output = command.output().unwrap();
        let said = lossy(&output.stdout);
        let (path, providers) = said.split_once('\n').unwrap();
        assert!(
            providers.contains("  oarlock\n"),
            "{said}{}",
            stderr(&output)
        );
        PathBuf::from(path)
    };
    let path = run();
    let whole = fs::read(&path).unwrap();
    let other = folder.path().join("other.cnf");
    fs::write(&other, &whole).unwrap();
    let is_whole = || {
        assert_eq!(run(), path);
        let found = fs::symlink_metadata(&path).unwrap();
        assert!(found.is_file() && found.mode() & 0o777 == 0o644);
        assert_eq!(fs::read(&path).unwrap(), whole);
    };
    fs::remove_file(&path).unwrap();
    symlink(&other, &path).unwrap();
    is_whole();
    fs::write(&path, "openssl_conf = evil\n").unwrap();
    is_whole();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    is_whole();
    fs::remove_file(&path).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    is_whole();
    if is_root("a file of another user") {
        chown(&path, Some(NOBODY), None).unwrap();
        is_whole();
    }
    assert_eq!(fs::read(&other).unwrap(), whole);
}

/// Covers every place, and what somebody else may have done to it.
#[test]
fn places_that_others_may_change_are_not_used() {
    if !is_root("folders of other users") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    // Copy them to where everybody can read them.
    let module = own_provider(folder.path());
    let program = folder.path().join("oarlock");
    fs::copy(env!("CARGO_BIN_EXE_oarlock"), &program).unwrap();
    let made = |name: &str, mode: u32, owner: u32| {
        let path = folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    };
    let tmp = made("tmp", 0o1777, 0);
    let path_with = |variables: &[(&str, &Path)]| {
        let mut command = Command::new(&program);
        command.args(["run", "--provider"]).arg(&module);
        command.args([
            "--",
            "sh",
            "-c",
            "echo $OPENSSL_CONF; openssl list -providers",
        ]);
        command
            .env_remove("OARLOCK_CONFIGURATIONS")
            .env_remove("XDG_STATE_HOME");
        command
            .env("OARLOCK_CALIBRATION", "")
            .env("OARLOCK_OPTIONS", "offer=all");
        command
            .env("HOME", "/nonexistent")
            .env("TMPDIR", &tmp)
            .envs(variables.iter().copied());
        let command = command.uid(NOBODY).gid(NOBODY).stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = lossy(&output.stdout);
        let (path, providers) = said.split_once('\n').unwrap();
        assert!(
            providers.contains("  oarlock\n"),
            "{said}{}",
            stderr(&output)
        );
        PathBuf::from(path)
    };
    let own = made("own", 0o700, NOBODY);
    let there = |name: &str| path_with(&[(name, &own)]);
    assert!(there("OARLOCK_CONFIGURATIONS").starts_with(&own));
    assert!(there("XDG_STATE_HOME").starts_with(own.join("oarlock/run")));
    assert!(there("HOME").starts_with(own.join(".local/state/oarlock/run")));
    let shared = tmp.join(format!("oarlock-run-{NOBODY}"));
    assert!(path_with(&[]).starts_with(&shared));
    assert_eq!(shared.metadata().unwrap().mode() & 0o7777, 0o755);

    // Others own the folder or one above it, or may write there; or it is a link.
    for (name, mode, owner) in [
        ("others", 0o755, 0),
        ("open", 0o777, NOBODY),
        ("group", 0o770, NOBODY + 1),
        ("else", 0o755, NOBODY + 1),
    ] {
        let state = made(name, mode, owner);
        let inner = made(&format!("{name}/oarlock/run"), 0o755, NOBODY);
        for (name, path) in [
            ("XDG_STATE_HOME", &state),
            ("OARLOCK_CONFIGURATIONS", &inner),
        ] {
            let is_good = owner == 0;
            assert_eq!(
                path_with(&[(name, path)]).starts_with(&state),
                is_good,
                "{name} {}",
                path.display()
            );
        }
    }
    let foreign = made("foreign", 0o755, NOBODY + 1);
    let linked = own.join("linked");
    symlink(&foreign, &linked).unwrap();
    assert!(path_with(&[("OARLOCK_CONFIGURATIONS", &linked)]).starts_with(&shared));
    for (mode, owner) in [(0o755, 0), (0o755, NOBODY + 1), (0o777, NOBODY)] {
        fs::remove_dir_all(&shared).unwrap();
        made(&format!("tmp/oarlock-run-{NOBODY}"), mode, owner);
        let path = path_with(&[]);
        assert!(
            path.starts_with(&tmp) && !path.starts_with(&shared),
            "{}",
            path.display()
        );
        // The configuration lies in the run's own folder, which does not stay.
        assert!(!path.exists());
    }
    fs::remove_dir_all(&shared).unwrap();
    symlink(&foreign, &shared).unwrap();
    assert!(!path_with(&[]).starts_with(&shared));
    assert_eq!(names(&foreign), [""; 0]);
}

/// Returns `oarlock run` that leaves its configuration in `store`, without its command.
fn run_in(store: &Path, module: &Path, options: &str) -> Command {
    let mut command = oarlock();
    command.args(["run", "--options", options, "--provider"]);
    command.arg(module).arg("--");
    command.env("OARLOCK_CONFIGURATIONS", store);
    command
}

/// Returns a copy of the provider with a name that no other process on this machine has loaded.
fn own_provider(folder: &Path) -> PathBuf {
    let path = folder.join(format!("{}.so", folder.file_name().unwrap().display()));
    fs::copy(provider(), &path).unwrap();
    path
}

/// Returns the path of the configuration of such a run.
fn path_of_run(store: &Path, module: &Path, options: &str) -> PathBuf {
    let mut command = run_in(store, module, options);
    let output = command.args(["sh", "-c", "echo $OPENSSL_CONF"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    PathBuf::from(lossy(&output.stdout).trim())
}

/// Makes the files in `store` look unused for this time.
fn make_old(store: &Path, days: u64) {
    let modified = SystemTime::now() - Duration::from_secs(days * 86400);
    for name in names(store) {
        let file = File::open(store.join(name)).unwrap();
        file.set_times(FileTimes::new().set_modified(modified))
            .unwrap();
    }
}

/// Returns `oarlock run` with the provider under test.
fn ran(program: &[&str]) -> Command {
    let mut command = oarlock();
    command.args(["run", "--provider"]).arg(provider());
    command.arg("--").args(program);
    command
}

const MODERN: &[u8] =
    b"openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.3\n";
/// Prints the lowest version of TLS that a program accepts.
const LEAST: &str = "/usr/bin/python3 -c 'import ssl; print(hex(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).minimum_version))'";
/// Loads the provider.
const LOADS: &str = "import ssl; ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)";
/// Overwrites the environment with a title, writes its number and waits, at most as long as the folder is there.
const OVERWRITES: &str = "\
import ctypes, os, time
fields = open('/proc/self/stat').read().rpartition(')')[2].split()
start, end = int(fields[47]), int(fields[48])
ctypes.memset(start, 0, end - start)
ctypes.memmove(start, b'master', 6)
open('new', 'w').write(str(os.getpid()))
os.rename('new', 'pid')
while os.path.exists('pid') and not os.path.exists('go'):
    time.sleep(0.01)
";
const NOBODY: u32 = 65534;
