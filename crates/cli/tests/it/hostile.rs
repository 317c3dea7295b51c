//! Hostile files, folders, keys and plugins: their cost is bounded, their text is shown without what a terminal acts on, and
//! nothing is written or removed that the user did not ask for.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use oarlock_testing::until;
use rustix::process::{Pid, Signal, test_kill_process};

use crate::common::age::{Home, succeeded};
use crate::common::{
    assert_fails, assert_one_line, ends_soon, oarlock, run, signal, stderr, write_program,
};

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
            "follows the end of the file",
        ),
        (
            "a rest",
            [&text[..], b"rest"].concat(),
            "follows the end of the file",
        ),
        (
            "a long end",
            [&text[..], &b" ".repeat(1 << 20)].concat(),
            "follows the end of the file",
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

#[test]
fn keys_without_end_are_refused() {
    let home = Home::new();
    home.write("plain", b"attack at dawn");
    home.write("sealed", &home.sealed(b"attack at dawn"));
    File::create(home.path("huge"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    for keys in ["/dev/zero", "huge"] {
        for arguments in [
            &["decrypt", "--each", "-i", keys, "sealed"][..],
            &["decrypt", "-i", keys, "--each", "-o", "opened", "sealed"],
            &["encrypt", "--each", "-i", keys, "plain"],
            &["encrypt", "--each", "-R", keys, "plain"],
        ] {
            let output = bounded(&home, arguments).output().unwrap();
            assert_fails(&output, 2, &[keys, "longer than 16 MiB"]);
        }
        let output = bounded(&home, &["keygen", "-y", keys]).output().unwrap();
        assert_fails(&output, 1, &[keys, "longer than 16 MiB"]);
    }
    let enc = ["enc", "--cipher", "aes-256-cbc", "--pass", "stdin", "plain"];
    let zeros = File::open("/dev/zero").unwrap();
    let output = bounded(&home, &enc).stdin(zeros).output().unwrap();
    assert_fails(&output, 2, &["standard input: ", "longer than 1023 bytes"]);
}

/// Nobody writes to the pipe, so only a signal can end the wait.
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
        // It is in openat(2), which returns at once for any other file.
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

/// A plugin whose stanza is the file key. Its other questions and messages are not needed.
const WELL_BEHAVED: &str = r#"#!/usr/bin/env python3
import base64, sys

def read():
    words = sys.stdin.readline().split()[1:]
    text = ""
    while True:
        line = sys.stdin.readline().rstrip("\n")
        text += line
        if len(line) < 64:
            return words, base64.b64decode(text + "=" * (-len(text) % 4))

def ask(words, body=b""):
    text = base64.b64encode(body).decode().rstrip("=")
    lines = [text[at:at + 64] for at in range(0, len(text) + 1, 64)]
    print("-> " + words, *lines, sep="\n", flush=True)
    return read()[0]

told = []
while not told or told[-1][0] != ["done"]:
    told.append(read())
assert ask("msg", b"a message of " + b"many " * 20 + b"words") == ["ok"]
assert ask("what-nobody-knows a b", b"c" * 48) == ["unsupported"]
added = [words[1] for words, body in told if words[0] in ("add-recipient", "add-identity")]
if sys.argv[1] == "--age-plugin=recipient-v1":
    assert ["extension-labels"] in [words for words, body in told]
    key = [body for words, body in told if words == ["wrap-file-key"]]
    for number, who in enumerate(added):
        assert ask("recipient-stanza 0 test %d" % number, key[0]) == ["ok"]
else:
    assert sys.argv[1] == "--age-plugin=identity-v1"
    assert added == ["AGE-PLUGIN-TEST-1M7420Z"]
    keys = [body for words, body in told if words[:3] == ["recipient-stanza", "0", "test"]]
    if keys:
        assert ask("file-key 0", keys[-1]) == ["ok"]
print("-> done\n")
"#;

#[test]
fn a_plugin_that_behaves_wraps_and_unwraps() {
    let home = Home::new();
    home.write("plain", b"attack at dawn");
    home.write("id.txt", IDENTITY.as_bytes());
    home.write("others", &home.sealed(b"attack at dawn"));
    write_program(&home.path("age-plugin-test"), WELL_BEHAVED);
    let in_order = |arguments: &[&str]| {
        let mut command = with_plugins(&home, home.oarlock(arguments));
        let output = succeeded(&mut command);
        assert!(stderr(&output).contains("a message of many many"));
    };
    // Alone, by its identity, and with recipients of another kind.
    let to = &home.recipient;
    for recipients in [
        &["-r", RECIPIENT][..],
        &["-i", "id.txt"],
        &["-r", to, "-r", RECIPIENT, "-r", RECIPIENT],
    ] {
        in_order(&[&["encrypt", "-f", "-o", "sealed", "plain"], recipients].concat());
        in_order(&["decrypt", "-f", "-i", "id.txt", "-o", "out", "sealed"]);
        assert_eq!(home.read("out"), b"attack at dawn");
    }
    // The plugin has no key for this file.
    let decrypt = ["decrypt", "-i", "id.txt", "-o", "-", "others"];
    let output = with_plugins(&home, home.oarlock(&decrypt))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let last = stderr(&output)
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned();
    assert_one_line(&format!("{last}\n"), &["others: "]);
}

/// The actions of hostile plugins, in sh, and a part of the message about each.
const PLUGINS: [(&str, &str, &str); 8] = [
    ("exits", "exit 0", "it ended too early"),
    (
        "sends a line without end",
        "yes | tr -d '\\n'",
        "it sends a command that is too long",
    ),
    (
        "sends a body without end",
        "echo '-> msg'; yes -- \"$row\"",
        "it sends a command that is too long",
    ),
    (
        "sends messages without end",
        "yes -- \"$msg\"",
        "it sends too many messages",
    ),
    (
        "sends stanzas without end",
        "yes -- \"$stanza\"",
        "it sends ",
    ),
    (
        "sends what nobody knows",
        "yes -- \"$unknown\"",
        "it sends too many commands",
    ),
    (
        "sends no text",
        "printf -- '-> \\377\\376\\n\\n'",
        "it sent a malformed command",
    ),
    (
        "fails",
        "printf -- '-> error internal\\nG1szMW3igK5vb3BzCg\\n'; cat >/dev/null",
        "oops",
    ),
];

#[test]
fn plugins_that_misbehave_are_stopped() {
    let home = Home::new();
    home.write("sealed", &home.sealed(b"attack at dawn"));
    home.write("plain", b"attack at dawn");
    home.write("id.txt", IDENTITY.as_bytes());
    for (what, script, part) in PLUGINS {
        let text = format!(
            "#!/bin/sh\nrow={}\nmsg='-> msg\nG1szMW3igK5vb3BzCg'\n\
             stanza='-> recipient-stanza 0 a\n'\nunknown='-> unknown\n'\n\
             exec 3<&0\ncat <&3 >/dev/null &\n{script}\n",
            "A".repeat(64)
        );
        write_program(&home.path("age-plugin-test"), &text);
        for arguments in [
            &["encrypt", "-i", "id.txt", "-o", "out", "plain"][..],
            &["encrypt", "-r", RECIPIENT, "-o", "out", "plain"],
            &["decrypt", "-i", "id.txt", "-o", "out", "sealed"],
        ] {
            let output = with_plugins(&home, bounded(&home, arguments))
                .output()
                .unwrap();
            let told = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{what}: {told}");
            let last = told.lines().last().unwrap_or_default();
            assert_one_line(&format!("{last}\n"), &["age-plugin-test: ", part]);
            assert!(told.lines().count() <= 101, "{what}: {told}");
            let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!told.contains(acts), "{what}: {told:?}");
            assert!(!home.path("out").exists(), "{what}");
        }
    }
}

/// Covers a plugin that ignores the end of its input or an interrupt.
#[test]
fn a_plugin_that_hangs_ends_with_the_command() {
    let home = Home::new();
    home.write("sealed", &home.sealed(b"attack at dawn"));
    home.write("plain", b"attack at dawn");
    home.write("id.txt", IDENTITY.as_bytes());
    let text = "#!/bin/sh\ntrap '' INT\necho $$ >\"$HANGS\"\nexec sleep 1000 >/dev/null\n";
    write_program(
        &home.path("age-plugin-test"),
        &text.replace(" >/dev/null", ""),
    );
    for arguments in [
        &["encrypt", "-i", "id.txt", "-o", "out", "plain"][..],
        &["decrypt", "-i", "id.txt", "-o", "out", "sealed"],
    ] {
        let file = home.path("pid");
        let _ = fs::remove_file(&file);
        let mut command = with_plugins(&home, home.oarlock(arguments));
        let child = command
            .env("HANGS", &file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        until("the plugin hangs", || {
            pid = fs::read_to_string(&file).unwrap_or_default();
            pid.ends_with('\n')
        });
        signal(&child, Signal::TERM);
        assert_fails(&ends_soon(child), 143, &["interrupted"]);
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        assert!(test_kill_process(pid).is_err(), "the plugin runs on");
        assert!(!home.path("out").exists());
    }
}

/// The names of plugins become names of programs.
#[test]
fn a_plugin_is_a_program_in_a_folder_of_path() {
    let home = Home::new();
    home.write("plain", b"attack at dawn");
    home.write("sealed", &home.sealed(b"attack at dawn"));
    // The first one is well-formed Bech32.
    for recipient in ["age1../../x1gc5wx2", "age1\nx1aaaaaa", "age1test1aaaaaa"] {
        let output = home
            .oarlock(&["encrypt", "--each", "-r", recipient, "plain"])
            .output()
            .unwrap();
        assert_fails(&output, 2, &["invalid recipient"]);
    }
    // A program in the current folder, which no PATH contains by name.
    write_program(
        &home.path("age-plugin-test"),
        "#!/bin/sh\ntouch \"$HANGS\"\n",
    );
    home.write("id.txt", IDENTITY.as_bytes());
    for path in ["", ".", "/nonexistent"] {
        let decrypt = ["decrypt", "--each", "-i", "id.txt", "sealed"];
        let mut command = home.oarlock(&decrypt);
        command.env("PATH", path).env("HANGS", home.path("started"));
        assert_fails(&command.output().unwrap(), 2, &["age-plugin-test"]);
        assert!(!home.path("started").exists(), "{path:?}");
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
    // After --, a file whose name looks like an option is not one.
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
    // Deeper than the number of files that a process may have open.
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
    command.env("XDG_CACHE_HOME", "/nonexistent");
    let output = command.current_dir(home.folder()).output().unwrap();
    // The pipe and the socket are left out.
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(home.path("sealed/tree/file.age").exists());
    assert!(
        home.path("sealed/tree")
            .join("d/".repeat(depth))
            .join("bottom.age")
            .exists()
    );
    // The links have their old targets, and were not followed.
    for link in ["loop", "zero"] {
        assert_eq!(
            fs::read_link(home.path("sealed/tree").join(link)).unwrap(),
            fs::read_link(tree.join(link)).unwrap()
        );
    }
    assert_eq!(fs::read_dir(home.path("sealed/tree")).unwrap().count(), 4);
}

/// During the walk, others may change a tree that they own.
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
    // Its reports fill the pipe, so it waits.
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

/// The link leads to where its author may not write.
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
    // A folder for outputs does not follow one either, below itself.
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
    // An output that was not named does not go to a pipe.
    fs::remove_file(home.path("tree/evil")).unwrap();
    succeeded(Command::new("mkfifo").arg(home.path("tree/evil")));
    let output = home.oarlock(&forced).output().unwrap();
    assert!(
        stderr(&output).contains("exists and is not a regular file"),
        "{}",
        stderr(&output)
    );
}

/// Returns the command in 512 MiB of address space, far more than it uses.
fn bounded(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 524288; exec \"$0\" \"$@\""]);
    command.arg(oarlock().get_program()).args(arguments);
    // Otherwise each thread reserves some 64 MiB.
    command.env("MALLOC_ARENA_MAX", "1");
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command.current_dir(home.folder());
    command
}

/// Adds the plugins in the folder to PATH.
fn with_plugins(home: &Home, mut command: Command) -> Command {
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", home.folder().display()));
    command
}

/// The beginning of /proc/PID/syscall during openat (proc_pid_syscall(5)).
const OPENAT: &str = if cfg!(target_arch = "x86_64") {
    "257 "
} else {
    "56 "
};
/// An identity of the plugin `test`, created with [`age::plugin::Identity::default_for_plugin`].
const IDENTITY: &str = "AGE-PLUGIN-TEST-1M7420Z";
const RECIPIENT: &str = "age1test1dzqdan";
