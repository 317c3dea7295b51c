//! Files and folders made by somebody who means harm: nothing is written or removed but what was asked for.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use oarlock_testing::until;
use rustix::process::Signal;

use crate::common::age::{Home, succeeded};
use crate::common::{ends_soon, oarlock, signal, stderr};

/// Where nobody writes, and a signal must end the wait.
#[test]
fn a_wait_for_a_pipe_ends_with_a_signal() {
    use std::os::unix::process::ExitStatusExt as _;
    let home = Home::new();
    home.write("plain", b"attack at dawn");
    succeeded(Command::new("mkfifo").arg(home.path("pipe")));
    for arguments in [
        &["decrypt", "-i", "pipe", "-o", "out", "plain"][..],
        &["encrypt", "-R", "pipe", "-o", "out", "plain"],
        &["encrypt", "-r", &home.recipient, "-o", "out", "pipe"],
        &["encrypt", "-r", &home.recipient, "-o", "pipe", "plain"],
    ] {
        let mut command = home.oarlock(arguments);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        // In openat(2), which returns at once for any other file.
        let is_opening = || {
            let call = fs::read_to_string(format!("/proc/{}/syscall", child.id()));
            call.is_ok_and(|call| call.starts_with(OPENAT))
        };
        let mut times = 0;
        until("it opens the pipe", || {
            times = if is_opening() { times + 1 } else { 0 };
            times == 20
        });
        signal(&child, Signal::TERM);
        let status = ends_soon(child).status;
        assert_eq!(
            status.signal(),
            Some(Signal::TERM.as_raw()),
            "{arguments:?}: {status}"
        );
        assert!(!home.path("out").exists());
    }
}

#[test]
fn folders_hold_more_than_files() {
    let home = Home::new();
    let tree = home.path("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "attack at dawn").unwrap();
    symlink("..", tree.join("loop")).unwrap();
    symlink("/dev/zero", tree.join("zero")).unwrap();
    succeeded(Command::new("mkfifo").arg(tree.join("pipe")));
    let _socket = std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
    // Deeper than a process may have open files.
    let depth = 300;
    let deep = tree.join("d/".repeat(depth));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("bottom"), "bottom").unwrap();
    let args = [
        "encrypt",
        "--recursive",
        "-r",
        &home.recipient,
        "-o",
        "sealed",
        "tree",
    ];
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]);
    command.arg(oarlock().get_program()).args(args);
    succeeded(
        command
            .env("XDG_CACHE_HOME", "/nonexistent")
            .current_dir(home.folder()),
    );
    assert!(home.path("sealed/tree/file.age").exists());
    assert!(
        home.path("sealed/tree")
            .join("d/".repeat(depth))
            .join("bottom.age")
            .exists()
    );
    assert_eq!(fs::read_dir(home.path("sealed/tree")).unwrap().count(), 2);
}

/// While it is gone through, others may change a tree that is theirs.
#[test]
fn a_folder_that_becomes_a_link_leads_nowhere() {
    let home = Home::new();
    let count = 300;
    let names = (0..count).map(|number| format!("a file with a long name {number:04}"));
    let names: Vec<String> = names.collect();
    for folder in ["tree/folder", "elsewhere"] {
        fs::create_dir_all(home.path(folder)).unwrap();
        for name in &names {
            fs::write(home.path(folder).join(name), folder).unwrap();
        }
    }
    // Its reports fill the pipe, and it waits.
    let (mut stdout, reports) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&stdout, 4096).unwrap();
    let child = home
        .oarlock(&["encrypt", "--json", "--rm", "--recursive", "-T", "1", "-r"])
        .args([&home.recipient, "tree"])
        .stdout(reports)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("a full pipe", || {
        rustix::io::ioctl_fionread(&stdout).unwrap() > 3500
    });
    fs::rename(home.path("tree/folder"), home.path("tree/moved")).unwrap();
    symlink("../elsewhere", home.path("tree/folder")).unwrap();
    let mut told = String::new();
    stdout.read_to_string(&mut told).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("its directory cannot be opened: a symbolic link"));
    assert_eq!(oarlock_testing::names(&home.path("elsewhere")), names);
}

/// The link leads to where the one who made it may not write.
#[test]
fn an_output_beside_its_input_follows_no_link() {
    let home = Home::new();
    fs::create_dir(home.path("tree")).unwrap();
    home.write("tree/evil.age", &home.sealed(b"* * * * * root evil"));
    home.write("there", b"there");
    let each = ["decrypt", "-i", "key.txt", "--each", "tree/evil.age"];
    let forced = ["decrypt", "-i", "key.txt", "-f", "--recursive", "tree"];
    for target in ["../missing", "../there"] {
        let link = home.path("tree/evil");
        let _ = fs::remove_file(&link);
        symlink(target, &link).unwrap();
        for arguments in [&each[..], &forced] {
            let output = home.oarlock(arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            assert!(
                stderr(&output).contains("tree/evil: is a symbolic link"),
                "{}",
                stderr(&output)
            );
            assert!(!home.path("missing").exists());
            assert_eq!(home.read("there"), b"there");
        }
    }
    // Nor does a folder for outputs, below itself.
    fs::create_dir(home.path("out")).unwrap();
    fs::create_dir(home.path("elsewhere")).unwrap();
    symlink("../elsewhere", home.path("out/tree")).unwrap();
    let below = [
        "decrypt",
        "-i",
        "key.txt",
        "--recursive",
        "-o",
        "out",
        "tree",
    ];
    let output = home.oarlock(&below).output().unwrap();
    assert!(
        stderr(&output).contains("a symbolic link"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_dir(home.path("elsewhere")).unwrap().count(), 0);
    // A pipe is no place for an output that was not named.
    fs::remove_file(home.path("tree/evil")).unwrap();
    succeeded(Command::new("mkfifo").arg(home.path("tree/evil")));
    let output = home.oarlock(&forced).output().unwrap();
    assert!(
        stderr(&output).contains("is there and no regular file"),
        "{}",
        stderr(&output)
    );
}

/// As /proc/PID/syscall gives it (proc_pid_syscall(5)).
const OPENAT: &str = if cfg!(target_arch = "x86_64") {
    "257 "
} else {
    "56 "
};
