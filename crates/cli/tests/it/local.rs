//! `oarlock local`: a real daemon, and `openssl speed` with several processes.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use oarlock::Accelerator;
use oarlock_testing::{skip, until};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::common::{assert_fails, oarlock, provider, run, signal, stderr};

/// A daemon that listens.
struct Daemon(Child);

impl Daemon {
    fn start(socket: &Path) -> Self {
        let mut command = oarlock();
        command.arg("local").arg("--socket").arg(socket);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening on {}\n", socket.display()));
        Self(child)
    }

    fn ends_by(mut self, by: Signal) -> std::process::ExitStatus {
        signal(&self.0, by);
        self.0.wait().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    (folder, socket)
}

#[test]
fn a_daemon_ends_in_order_and_leaves_no_socket() {
    let (_folder, socket) = place();
    for by in [Signal::TERM, Signal::INT] {
        let daemon = Daemon::start(&socket);
        let mut second = oarlock();
        second.arg("local").arg("--socket").arg(&socket);
        assert_fails(&run(&mut second, b""), 1, &["another daemon listens there"]);
        assert!(daemon.ends_by(by).success());
        assert!(!socket.exists());
    }
    // A daemon that is killed leaves its socket, and the next one replaces it.
    Daemon::start(&socket).ends_by(Signal::KILL);
    assert!(socket.exists());
    drop(Daemon::start(&socket));
}

#[test]
fn what_cannot_be_is_told() {
    let (folder, socket) = place();
    let file = folder.path().join("file");
    fs::write(&file, "of the user").unwrap();
    for (arguments, status, said) in [
        (
            vec!["--allow", "no_such_user"],
            2,
            "--allow no_such_user: no such user",
        ),
        (
            vec!["--socket", "/nonexistent/socket"],
            1,
            "/nonexistent/socket",
        ),
        (
            vec!["--socket", file.to_str().unwrap()],
            1,
            "Address already in use",
        ),
        (
            vec!["--stdin"],
            1,
            "standard input is not a socket that listens",
        ),
        (
            vec!["--stdin", "--socket", socket.to_str().unwrap()],
            2,
            "--stdin cannot be given with --socket",
        ),
    ] {
        let mut command = oarlock();
        command.arg("local").args(&arguments);
        assert_fails(&run(&mut command, b""), status, &[said]);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "of the user");
    for (path, said) in [
        ("x".repeat(200), "at most 107 bytes"),
        ("a\nb".into(), "control characters"),
    ] {
        let mut command = oarlock();
        command.args(["run", &format!("--local={path}"), "--", "true"]);
        assert_fails(&run(&mut command, b""), 2, &[said]);
    }
}

/// Processes of `openssl speed -multi`, which sign without a pause, have a board in their memory.
#[test]
fn processes_under_run_local_meet() {
    if Accelerator::builder().build().unwrap().lanes().is_none() {
        return skip("lanes for RSA");
    }
    let (_folder, socket) = place();
    let daemon = Daemon::start(&socket);
    meet_at(&socket);
    assert!(daemon.ends_by(Signal::TERM).success());
}

/// The socket exists before the daemon, as with systemd.
#[test]
fn a_daemon_takes_a_socket_that_listens() {
    if Accelerator::builder().build().unwrap().lanes().is_none() {
        return skip("lanes for RSA");
    }
    let (_folder, socket) = place();
    let flags = SocketFlags::CLOEXEC;
    let listener: OwnedFd =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&socket).unwrap()).unwrap();
    listen(&listener, 16).unwrap();
    let mut command = oarlock();
    command
        .args(["local", "--stdin"])
        .stdin(Stdio::from(listener));
    let daemon = Daemon(command.spawn().unwrap());
    meet_at(&socket);
    assert!(daemon.ends_by(Signal::TERM).success());
    // The socket is not the daemon's to remove.
    assert!(socket.exists());
}

fn meet_at(socket: &Path) {
    let mut command = oarlock();
    command.arg("run").arg("--provider").arg(provider());
    command.arg(format!("--local={}", socket.display()));
    command.args([
        "--", "openssl", "speed", "-multi", "4", "-seconds", "2", "rsa2048",
    ]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let speed = command.spawn().unwrap();
    until("four processes have a board", || {
        with_board(speed.id()) >= 4
    });
    let output = speed.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Counts the descendants of `process` that have a board, and `process` itself.
fn with_board(process: u32) -> usize {
    let read = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}"));
    let maps = read("maps").unwrap_or_default();
    let children = read(&format!("task/{process}/children")).unwrap_or_default();
    let here = usize::from(maps.contains("memfd:oarlock board"));
    let below = children
        .split_whitespace()
        .map(|child| with_board(child.parse().unwrap()));
    here + below.sum::<usize>()
}

/// systemd accepts the units as they are shipped.
#[test]
fn systemd_takes_the_units() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        return skip("systemd-analyze");
    }
    let folder = tempfile::tempdir().unwrap();
    let units = [
        "oarlock-local.socket",
        "oarlock-local.service",
        "oarlock-relay.socket",
        "oarlock-relay.service",
    ];
    for name in units {
        let text = fs::read_to_string(deploy.join(name)).unwrap();
        // systemd-analyze checks that the program exists.
        let text = text.replace("/usr/bin/oarlock", env!("CARGO_BIN_EXE_oarlock"));
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    verify.args(units.map(|name| folder.path().join(name)));
    let output = run(&mut verify, b"");
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(!said.contains("oarlock-"), "{said}");
}
