//! Failures with age files: one line, an exit status, and nothing under the final name.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oarlock_testing::{names, noise};
use rustix::process::Signal;

use crate::common::age::{CHUNK_BYTES, Home, SEALED_CHUNK_BYTES, succeeded};
use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{
    SmallDisk, assert_fails, endless, ends_soon, oarlock, read_soon, run, signal, stderr,
    until_at_work, until_full, until_taken,
};

const SIGNALS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

#[test]
fn keys_that_are_none_are_named() {
    let home = Home::new();
    home.write("sealed", &home.sealed(b"attack at dawn"));
    home.write("plain", b"attack at dawn");
    let identity = String::from_utf8(home.read("key.txt")).unwrap();
    let second = format!("{identity}nonsense-and-a-secret\n");
    home.write("second.txt", second.as_bytes());
    home.write("noise.txt", &noise(5000));
    home.write("empty.txt", b"");
    home.write("comment.txt", b"# nothing\n");
    let recipients = format!("# ours\n\n{}\nage1nobody\n", home.recipient);
    home.write("bad.txt", recipients.as_bytes());
    let line = identity.lines().count() + 1;
    let line = format!("line {line}");
    fs::create_dir(home.path("folder")).unwrap();
    let cases: [(&[&str], i32, &[&str]); 12] = [
        (
            &["decrypt", "-o", "-", "sealed"],
            1,
            &["sealed: encrypted to X25519, not with a passphrase", "-i"],
        ),
        (
            &["decrypt", "-i", "second.txt", "-o", "-", "sealed"],
            2,
            &["second.txt", &line],
        ),
        (
            &["decrypt", "-i", "noise.txt", "-o", "-", "sealed"],
            2,
            &["noise.txt"],
        ),
        (
            &["decrypt", "-i", "folder", "-o", "-", "sealed"],
            2,
            &["folder"],
        ),
        (
            &["decrypt", "-i", "empty.txt", "-o", "-", "sealed"],
            2,
            &["empty.txt: contains no identity"],
        ),
        (
            &["decrypt", "-i", "recipients.txt", "-o", "-", "sealed"],
            2,
            &["recipients.txt", "line 1"],
        ),
        (
            &["encrypt", "--each", "-R", "bad.txt", "plain"],
            2,
            &["bad.txt", "line 4"],
        ),
        (
            &["encrypt", "--each", "-R", "noise.txt", "plain"],
            2,
            &["noise.txt"],
        ),
        (
            &["encrypt", "--each", "-R", "folder", "plain"],
            2,
            &["folder"],
        ),
        (
            &["encrypt", "--each", "-R", "comment.txt", "plain"],
            2,
            &["comment.txt: contains no recipient"],
        ),
        (
            &["encrypt", "--each", "-R", "nowhere.txt", "plain"],
            2,
            &["nowhere.txt"],
        ),
        (
            &["encrypt", "--each", "-i", "second.txt", "plain"],
            2,
            &["second.txt", &line],
        ),
    ];
    for (arguments, status, parts) in cases {
        let result = home.oarlock(arguments).output().unwrap();
        assert_fails(&result, status, parts);
        assert_eq!(result.stdout, b"", "{arguments:?}");
        assert!(!stderr(&result).contains("secret"), "{arguments:?}");
    }
}

#[test]
fn headers_that_are_none_are_refused_at_once() {
    let home = Home::new();
    let sealed = home.sealed(b"attack at dawn");
    let (version, rest) = sealed.split_at(b"age-encryption.org/v1\n".len());
    let long_line = [version, b"-> ", &vec![b'a'; 17 << 20]].concat();
    let stanza = [
        b"-> a\n".to_vec(),
        [b"A".repeat(64), b"\n".to_vec()].concat().repeat(16),
        b"\n".to_vec(),
    ];
    let long = [version, &stanza.concat().repeat(16 << 10), rest].concat();
    let many = [version, &b"-> unknown to us\nAAAA\n".repeat(5000), rest].concat();
    let body = b"A".repeat(43);
    let scrypt = |work: &str| {
        let salt = "AAAAAAAAAAAAAAAAAAAAAA";
        let stanza = format!("-> scrypt {salt} {work}\n");
        [
            version,
            stanza.as_bytes(),
            &body,
            b"\n--- ",
            &body,
            b"\n",
            &[0; 33],
        ]
        .concat()
    };
    let cases: [(&str, Vec<u8>, &[&str]); 6] = [
        (
            "a line that is too long",
            long_line,
            &["longer than 16 MiB"],
        ),
        ("too many lines", long, &["longer than 16 MiB"]),
        // The MAC does not cover these.
        (
            "stanzas that nobody knows",
            many,
            &["the header was changed"],
        ),
        ("nothing", vec![], &["not an age file", "empty"]),
        ("zeros", vec![0; 1 << 20], &["not an age file"]),
        (
            "another version",
            b"age-encryption.org/v2\n".to_vec(),
            &["version is not v1"],
        ),
    ];
    for (what, file, parts) in cases {
        home.write("file", &file);
        let before = home.names();
        let decrypt = ["decrypt", "-i", "key.txt", "-o", "opened", "file"];
        let result = home.oarlock(&decrypt).output().unwrap();
        assert_fails(&result, 1, &[&["file: "], parts].concat());
        assert_eq!(home.names(), before, "{what}");
        let result = run(&mut home.oarlock(&["decrypt", "-i", "key.txt"]), &file);
        assert_fails(&result, 1, parts);
    }
    // A passphrase must not take gigabytes of memory and hours, whatever the file says.
    for work in [
        "23",
        "63",
        "64",
        "255",
        "256",
        "99999999999999999999",
        "018",
        "-1",
        "+18",
    ] {
        home.write("file", &scrypt(work));
        let ours = oarlock().get_program().to_owned();
        let script = format!("{} decrypt file", ours.display());
        let (status, shown) = on_a_terminal(home.folder(), &script, typing(&["x"]));
        let said = shown.lines().last().unwrap();
        assert!(
            !status.success() && said.starts_with("oarlock: file: "),
            "{work}: {shown}"
        );
    }
}

#[test]
fn inputs_that_cannot_be_read_leave_no_output() {
    let home = Home::new();
    fs::create_dir(home.path("folder")).unwrap();
    let before = home.names();
    let key = &home.recipient;
    for (input, message) in [
        ("folder", "folder: is a directory"),
        ("nowhere", "nowhere: No such file"),
        (
            "/proc/self/mem",
            "/proc/self/mem: Input/output error at byte 0",
        ),
    ] {
        let decrypt = ["decrypt", "-i", "key.txt", "-o", "out", input];
        let encrypt = ["encrypt", "-r", key, "-o", "out", input];
        let armor = ["encrypt", "-a", "-r", key, "-o", "out", input];
        for arguments in [&decrypt[..], &encrypt, &armor] {
            let result = home.oarlock(arguments).output().unwrap();
            assert_fails(&result, 1, &[message]);
            assert_eq!(home.names(), before, "{arguments:?}");
        }
    }
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let home = Home::new();
    let plain = noise(5 << 20);
    home.write("plain", &plain);
    home.write("sealed", &home.sealed(&plain));
    let out = disk.path().join("out");
    fs::write(&out, "old").unwrap();
    let name = out.to_str().unwrap();
    let encrypt = ["encrypt", "-f", "-r", &home.recipient, "-o", name];
    let armor = ["encrypt", "-a", "-f", "-r", &home.recipient, "-o", name];
    let decrypt = ["decrypt", "-f", "-i", "key.txt", "-o", name];
    for (arguments, input) in [
        (&encrypt[..], "plain"),
        (&armor, "plain"),
        (&decrypt, "sealed"),
    ] {
        for threads in ["1", "2"] {
            let arguments = [arguments, &["-T", threads]].concat();
            let results = [
                home.oarlock(&arguments).arg(input).output().unwrap(),
                run(&mut home.oarlock(&arguments), &home.read(input)),
            ];
            for result in results {
                assert_fails(&result, 1, &["out: No space left on device at byte"]);
                assert_eq!(fs::read(&out).unwrap(), b"old");
                assert_eq!(names(disk.path()), ["out"]);
            }
        }
    }
}

/// `ulimit -f` allows less than the output.
#[test]
fn a_limit_of_the_file_size_is_told() {
    let home = Home::new();
    let plain = noise(5 << 20);
    home.write("plain", &plain);
    home.write("sealed", &home.sealed(&plain));
    let before = home.names();
    let encrypt = ["encrypt", "-r", &home.recipient, "-o", "out", "plain"];
    let armor = ["encrypt", "-a", "-r", &home.recipient, "-o", "out", "plain"];
    let decrypt = ["decrypt", "-i", "key.txt", "-o", "out", "sealed"];
    for arguments in [&encrypt[..], &armor, &decrypt] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 2000; exec \"$0\" \"$@\""]);
        command.arg(oarlock().get_program()).args(arguments);
        let result = command.current_dir(home.folder()).output().unwrap();
        assert_fails(&result, 1, &["out: File too large at byte"]);
        assert_eq!(home.names(), before);
    }
}

#[test]
fn outputs_that_cannot_be_made_are_named() {
    let home = Home::new();
    home.write("plain", b"attack at dawn");
    home.write("sealed.age", &home.sealed(b"attack at dawn"));
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    fs::write(disk.path().join("there"), "old").unwrap();
    disk.make_read_only();
    let folder = disk.path().to_str().unwrap();
    let new = format!("{folder}/new");
    let there = format!("{folder}/there");
    for out in [
        &new,
        &there,
        "missing/out",
        "plain/out",
        folder,
        "/proc/out",
    ] {
        let encrypt = ["encrypt", "-f", "-r", &home.recipient, "-o", out, "plain"];
        let decrypt = ["decrypt", "-f", "-i", "key.txt", "-o", out, "sealed.age"];
        for arguments in [&encrypt, &decrypt] {
            assert_fails(&home.oarlock(arguments).output().unwrap(), 1, &[out]);
        }
    }
    assert_eq!(names(disk.path()), ["there"]);
}

#[test]
fn a_full_device_is_told() {
    let home = Home::new();
    home.write("plain", &noise(200_000));
    home.write("sealed", &home.sealed(&noise(200_000)));
    let encrypt = ["encrypt", "-r", &home.recipient, "plain", "-o", "/dev/full"];
    let armor = [
        "encrypt",
        "-a",
        "-r",
        &home.recipient,
        "plain",
        "-o",
        "/dev/full",
    ];
    let decrypt = ["decrypt", "-i", "key.txt", "sealed", "-o", "/dev/full"];
    for arguments in [&encrypt[..], &armor, &decrypt] {
        let result = home.oarlock(arguments).output().unwrap();
        assert_fails(&result, 1, &["/dev/full: No space left on device at byte"]);
    }
}

#[test]
fn an_interrupted_file_leaves_nothing_behind() {
    for (number, status) in SIGNALS {
        for flags in [&["-T", "1"][..], &["-T", "2"], &["-a"]] {
            let home = Home::new();
            endless(home.folder());
            let before = home.names();
            let encrypt = ["encrypt", "-r", &home.recipient, "-o", "out", "endless"];
            let mut command = home.oarlock(&[&encrypt, flags].concat());
            let child = command.stderr(Stdio::piped()).spawn().unwrap();
            until_at_work(home.folder());
            signal(&child, number);
            assert_fails(&ends_soon(child), status, &["interrupted"]);
            assert_eq!(home.names(), before);
        }
    }
}

/// The rest of the input does not arrive, but the signal does.
#[test]
fn an_interrupt_ends_a_wait_for_the_input() {
    let home = Home::new();
    let plain = noise(3 * CHUNK_BYTES);
    let sealed = home.sealed(&plain);
    let encrypt = ["encrypt", "-a", "-r", &home.recipient];
    let text = run(&mut home.oarlock(&encrypt), &plain).stdout;
    let encrypt = ["encrypt", "-r", &home.recipient, "-o", "out"];
    let armor = ["encrypt", "-a", "-r", &home.recipient, "-o", "out"];
    let decrypt = ["decrypt", "-i", "key.txt", "-o", "out"];
    let begun = 2 * SEALED_CHUNK_BYTES + 1000;
    let cases: [(&[&str], &[u8]); 4] = [
        (&encrypt, &plain[..begun]),
        (&armor, &plain[..begun]),
        (&decrypt, &sealed[..begun]),
        (&decrypt, &text[..4 * begun / 3]),
    ];
    let before = home.names();
    for (number, status) in SIGNALS {
        for (arguments, begun) in cases {
            let mut child = home
                .oarlock(arguments)
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.as_mut().unwrap().write_all(begun).unwrap();
            until_at_work(home.folder());
            signal(&child, number);
            assert_fails(&ends_soon(child), status, &["interrupted"]);
            assert_eq!(home.names(), before, "{arguments:?}");
        }
    }
}

/// Only a part of the header has arrived, or nothing at all.
#[test]
fn an_interrupt_ends_a_wait_for_the_header() {
    let home = Home::new();
    let sealed = home.sealed(b"attack at dawn");
    let encrypt = ["encrypt", "-a", "-r", &home.recipient];
    let text = run(&mut home.oarlock(&encrypt), b"attack at dawn").stdout;
    for begun in [&b""[..], &sealed[..30], &text[..40]] {
        let mut child = home
            .oarlock(&["decrypt", "-i", "key.txt"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.as_mut().unwrap().write_all(begun).unwrap();
        until_taken(child.stdin.as_ref().unwrap());
        signal(&child, Signal::INT);
        let status = ends_soon(child).status;
        assert!(is_interrupted(&status), "{status}");
    }
}

/// Whether the signal ended it, or its exit status is that of the signal: there is nothing to clean up yet.
fn is_interrupted(status: &std::process::ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.code() == Some(130) || status.signal() == Some(2)
}

/// Nobody reads the output when the signal arrives.
#[test]
fn an_interrupt_ends_a_wait_for_the_reader() {
    let home = Home::new();
    home.write("plain", &noise(5 << 20));
    home.write("sealed", &home.sealed(&noise(5 << 20)));
    let encrypt = [
        "encrypt",
        "-a",
        "-r",
        &home.recipient,
        "-o",
        "text",
        "plain",
    ];
    succeeded(&mut home.oarlock(&encrypt));
    let encrypt = ["encrypt", "-r", &home.recipient, "-o", "-", "plain"];
    let armor = ["encrypt", "-a", "-r", &home.recipient, "-o", "-", "plain"];
    let decrypt = ["decrypt", "-i", "key.txt", "-o", "-", "sealed"];
    let of_text = ["decrypt", "-i", "key.txt", "-o", "-", "text"];
    for arguments in [&encrypt[..], &armor, &decrypt, &of_text] {
        for (number, status) in SIGNALS {
            let mut child = to_pipe(&home, arguments);
            // The pipe stays open.
            let mut stdout = child.stdout.take().unwrap();
            read_soon(&mut stdout, &mut [0]);
            until_full(&stdout);
            signal(&child, number);
            assert_fails(&ends_soon(child), status, &["interrupted"]);
        }
        let mut child = to_pipe(&home, arguments);
        let mut stdout = child.stdout.take().unwrap();
        read_soon(&mut stdout, &mut [0]);
        drop(stdout);
        assert_fails(
            &ends_soon(child),
            1,
            &["standard output: Broken pipe", "the reader has gone"],
        );
    }
}

fn to_pipe(home: &Home, arguments: &[&str]) -> Child {
    let mut command = home.oarlock(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn an_input_that_is_cut_short_meanwhile_is_told() {
    for threads in ["1", "2"] {
        let home = Home::new();
        let input = endless(home.folder());
        let before = home.names();
        let encrypt = ["encrypt", "-r", &home.recipient, "-o", "out", "endless"];
        let mut command = home.oarlock(&[&encrypt[..], &["-T", threads]].concat());
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        until_at_work(home.folder());
        cut(&input, 4096);
        assert_fails(
            &ends_soon(child),
            1,
            &["endless: ended at byte", "cut short"],
        );
        assert_eq!(home.names(), before);

        let input = endless(home.folder());
        let encrypt = [
            "encrypt",
            "-T",
            threads,
            "-r",
            &home.recipient,
            "-o",
            "-",
            "endless",
        ];
        let mut child = to_pipe(&home, &encrypt);
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 200_000]).unwrap();
        cut(&input, 4096);
        std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
        assert_fails(
            &ends_soon(child),
            1,
            &["endless: ended at byte", "cut short"],
        );
    }
}

fn cut(path: &Path, bytes: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(bytes).unwrap();
}

#[test]
fn a_file_is_not_made_of_itself() {
    let home = Home::new();
    let plain = noise(3 * CHUNK_BYTES);
    home.write("file", &plain);
    let appends = || {
        let path = home.path("file");
        fs::OpenOptions::new().append(true).open(path).unwrap()
    };
    let mut encrypt = home.oarlock(&["encrypt", "-r", &home.recipient, "-o", "-", "file"]);
    let child = encrypt.stdout(appends()).stderr(Stdio::piped()).spawn();
    let parts = ["standard output", "its own INPUT"];
    assert_fails(&ends_soon(child.unwrap()), 2, &parts);
    assert!(home.read("file") == plain);

    // In its own place: the input is read in full before the output gets its name.
    let encrypt = ["encrypt", "-f", "-r", &home.recipient, "-o", "file", "file"];
    succeeded(&mut home.oarlock(&encrypt));
    let decrypt = ["decrypt", "-f", "-i", "key.txt", "-o", "file", "file"];
    succeeded(&mut home.oarlock(&decrypt));
    assert!(home.read("file") == plain);
}

#[test]
fn an_input_without_end_is_passed_on_while_it_comes() {
    let home = Home::new();
    let encrypt = ["encrypt", "-r", &home.recipient];
    let mut sealing = home.oarlock(&encrypt);
    let mut sealing = sealing
        .stdin(File::open("/dev/zero").unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut opening = home.oarlock(&["decrypt", "-i", "key.txt"]);
    let mut opening = opening
        .stdin(sealing.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut got = vec![1; 3 << 20];
    read_soon(opening.stdout.as_mut().unwrap(), &mut got);
    assert!(got == vec![0; 3 << 20]);
    signal(&sealing, Signal::TERM);
    assert_fails(&ends_soon(sealing), 143, &["interrupted"]);
    // What was sealed has no end, which is reported.
    std::io::copy(opening.stdout.as_mut().unwrap(), &mut std::io::sink()).unwrap();
    assert_fails(&ends_soon(opening), 1, &["standard input: "]);
}
