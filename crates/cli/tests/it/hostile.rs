//! Files and folders made by somebody who means harm: what they cost has a bound, what they
//! say is shown without what a terminal acts on, and nothing is written or removed but what was asked for.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use oarlock_testing::until;
use rustix::process::Signal;

use crate::common::age::{Home, succeeded};
use crate::common::{assert_fails, ends_soon, oarlock, run, signal, stderr};

#[test]
fn headers_take_little_memory_whatever_they_hold() {
    let home = Home::new();
    let sealed = home.sealed(b"attack at dawn");
    let (version, rest) = sealed.split_at(b"age-encryption.org/v1\n".len());
    let row = [b"A".repeat(64), b"\n".to_vec()].concat();
    let cases: [(&str, Vec<u8>, &str); 4] = [
        (
            "stanzas",
            b"-> a\n\n".repeat(2_700_000),
            "too many recipients",
        ),
        (
            "words",
            [&b"-> a"[..], &b" b".repeat(8_000_000), b"\n\n"].concat(),
            "too many recipients",
        ),
        (
            "a body",
            [&b"-> a\n"[..], &row.repeat(250_000), b"\n"].concat(),
            "the header was changed",
        ),
        (
            "no end",
            [&b"-> a\n"[..], &row.repeat(260_000)].concat(),
            "longer than 16 MiB",
        ),
    ];
    for (what, stanzas, part) in cases {
        home.write("file", &[version, &stanzas, rest].concat());
        let decrypt = ["decrypt", "-i", "key.txt", "-o", "out", "file"];
        let output = bounded(&home, &decrypt).output().unwrap();
        assert_fails(&output, 1, &["file: ", part]);
        assert!(!home.path("out").exists(), "{what}");
        let inspected = bounded(&home, &["inspect", "file"]).output().unwrap();
        if part == "the header was changed" {
            assert!(inspected.status.success());
        } else {
            assert_fails(&inspected, 1, &["file: ", part]);
        }
    }
}

#[test]
fn armor_is_read_line_by_line() {
    let home = Home::new();
    let encrypt = ["encrypt", "-a", "-r", &home.recipient];
    let text = run(&mut home.oarlock(&encrypt), b"attack at dawn").stdout;
    let begin = b"-----BEGIN AGE ENCRYPTED FILE-----\n";
    let cases: [(&str, Vec<u8>, &str); 6] = [
        (
            "a long beginning",
            [&b"\n".repeat(1 << 20)[..], &text].concat(),
            "not an age file",
        ),
        (
            "a long line",
            [&begin[..], &b"A".repeat(32 << 20)].concat(),
            "line 2 is longer",
        ),
        (
            "two",
            [&text[..], &text].concat(),
            "something follows the end",
        ),
        (
            "a rest",
            [&text[..], b"rest"].concat(),
            "something follows the end",
        ),
        (
            "a long end",
            [&text[..], &b" ".repeat(1 << 20)].concat(),
            "something follows the end",
        ),
        ("no end", text[..text.len() - 20].to_vec(), "line "),
    ];
    for (what, file, part) in cases {
        home.write("file", &file);
        let decrypt = ["decrypt", "-i", "key.txt", "-o", "out", "file"];
        let output = bounded(&home, &decrypt).output().unwrap();
        assert_fails(&output, 1, &["file: ", part]);
        assert!(!home.path("out").exists(), "{what}");
    }
}

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
fn names_are_shown_and_not_acted_on() {
    let home = Home::new();
    let names: [&[u8]; 6] = [
        b"two\nlines",
        b"\x1b[31mred\x1b]0;title\x07",
        "left\u{202e}right\u{2066}".as_bytes(),
        b"not \xff\xfe text",
        b"-o",
        b"--rm",
    ];
    fs::create_dir(home.path("tree")).unwrap();
    for name in names {
        let path = home.path("tree").join(OsStr::from_bytes(name));
        fs::write(&path, name).unwrap();
    }
    let args = [
        "encrypt",
        "--recursive",
        "-r",
        &home.recipient,
        "-o",
        "sealed",
        "tree",
    ];
    succeeded(&mut home.oarlock(&args));
    let decrypt = [
        "decrypt",
        "--recursive",
        "-i",
        "key.txt",
        "-o",
        "opened",
        "sealed/tree",
    ];
    succeeded(&mut home.oarlock(&decrypt));
    for name in names {
        let opened = home.path("opened/tree").join(OsStr::from_bytes(name));
        assert_eq!(fs::read(opened).unwrap(), name);
    }
    let again = home.oarlock(&args).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    let told = stderr(&again);
    assert_eq!(
        told.lines()
            .filter(|line| line.ends_with("--force replaces it"))
            .count(),
        names.len()
    );
    let acts = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2066}');
    assert!(
        told.lines().all(|line| line.starts_with("oarlock: ")),
        "{told}"
    );
    assert!(!told.contains(acts), "{told:?}");
    // A file whose name looks like an option is no option behind --.
    let mut inspect = home.oarlock(&["inspect", "--", "--rm.age"]);
    succeeded(inspect.current_dir(home.path("sealed/tree")));
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

/// The command in 512 MiB of address space: it has far less in use.
fn bounded(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 524288; exec \"$0\" \"$@\""]);
    command.arg(oarlock().get_program()).args(arguments);
    // Else each thread reserves some 64 MiB.
    command.env("MALLOC_ARENA_MAX", "1");
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command.current_dir(home.folder());
    command
}

/// As /proc/PID/syscall gives it (proc_pid_syscall(5)).
const OPENAT: &str = if cfg!(target_arch = "x86_64") {
    "257 "
} else {
    "56 "
};
