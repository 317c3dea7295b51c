//! Compares `oarlock encrypt`, `decrypt` and `keygen` with the real age, in both directions.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use oarlock_testing::noise as data;

use crate::common::age::{Home, age, age_keygen, succeeded};
use crate::common::{run, stderr};

/// Sizes around a chunk of 64 KiB, and longer than the buffers of all threads.
const SIZES: [usize; 8] = [
    0,
    1,
    65_535,
    65_536,
    65_537,
    1 << 20,
    (1 << 20) + 1,
    9_000_000,
];

#[test]
fn age_reads_what_is_written() {
    let home = Home::new();
    for size in SIZES {
        let plain = data(size);
        home.write("plain", &plain);
        for flags in [&[][..], &["-a"], &["-T", "1"]] {
            let mut command =
                home.oarlock(&["encrypt", "-f", "-r", &home.recipient, "-o", "sealed"]);
            succeeded(command.args(flags).arg("plain"));
            let opened = succeeded(&mut home.run_here(age(), &["-d", "-i", "key.txt", "sealed"]));
            assert!(opened.stdout == plain, "{size} bytes, {flags:?}");
        }
        // As a filter.
        let sealed = run(
            &mut home.oarlock(&["encrypt", "-R", "recipients.txt"]),
            &plain,
        );
        assert!(sealed.status.success(), "{}", stderr(&sealed));
        let opened = run(
            &mut home.run_here(age(), &["-d", "-i", "key.txt"]),
            &sealed.stdout,
        );
        assert!(opened.stdout == plain, "{size} bytes through pipes");
    }
}

#[test]
fn what_age_writes_is_read() {
    let home = Home::new();
    for size in SIZES {
        let plain = data(size);
        home.write("plain", &plain);
        for flags in [&[][..], &["-a"]] {
            let mut age = home.run_here(age(), &["-r", &home.recipient, "-o", "sealed"]);
            succeeded(age.args(flags).arg("plain"));
            succeeded(
                &mut home.oarlock(&["decrypt", "-f", "-i", "key.txt", "-o", "opened", "sealed"]),
            );
            assert!(home.read("opened") == plain, "{size} bytes, {flags:?}");
            let opened = run(
                &mut home.oarlock(&["decrypt", "-i", "key.txt"]),
                &home.read("sealed"),
            );
            assert!(
                opened.stdout == plain,
                "{size} bytes, {flags:?}, through pipes"
            );
        }
    }
}

#[test]
fn keys_are_those_of_age_and_nobody_elses_to_read() {
    let home = Home::new();
    assert_eq!(
        home.path("key.txt").metadata().unwrap().mode() & 0o777,
        0o600
    );
    let again = home.oarlock(&["keygen", "-o", "key.txt"]).output().unwrap();
    assert!(stderr(&again).contains("key.txt"), "{}", stderr(&again));
    assert_eq!(again.status.code(), Some(1));

    let mut theirs = age_keygen();
    succeeded(theirs.current_dir(home.folder()).args(["-o", "theirs.txt"]));
    let mut recipient = age_keygen();
    let recipient = succeeded(
        recipient
            .current_dir(home.folder())
            .args(["-y", "theirs.txt"]),
    );
    let ours = succeeded(&mut home.oarlock(&["keygen", "-y", "theirs.txt"]));
    assert_eq!(ours.stdout, recipient.stdout);
}

#[test]
fn ssh_keys_are_recipients_and_identities() {
    let home = Home::new();
    for (kind, more) in [("ed25519", &[][..]), ("rsa", &["-b", "2048"])] {
        let name = format!("id_{kind}");
        let mut keygen = Command::new("ssh-keygen");
        keygen
            .args(["-q", "-t", kind, "-N", "", "-f"])
            .arg(home.path(&name));
        succeeded(keygen.args(more));
        home.write("plain", b"attack at dawn");
        let public = format!("{name}.pub");
        succeeded(&mut home.oarlock(&["encrypt", "-f", "-R", &public, "-o", "sealed", "plain"]));
        let theirs = succeeded(&mut home.run_here(age(), &["-d", "-i", &name, "sealed"]));
        assert_eq!(theirs.stdout, b"attack at dawn", "{kind}");
        let ours = succeeded(&mut home.oarlock(&["decrypt", "-i", &name, "-o", "-", "sealed"]));
        assert_eq!(ours.stdout, b"attack at dawn", "{kind}");
    }
}

#[test]
fn what_is_wrong_is_said_in_a_line_and_leaves_nothing_behind() {
    let home = Home::new();
    let plain = data(500_000);
    home.write("plain", &plain);
    succeeded(&mut home.oarlock(&["encrypt", "-r", &home.recipient, "-o", "sealed", "plain"]));
    let sealed = home.read("sealed");
    let mut other = home.oarlock(&["keygen", "-o", "other.txt"]);
    succeeded(&mut other);
    let mut flipped = sealed.clone();
    flipped[300_000] ^= 1;
    home.write("flipped", &flipped);
    home.write("cut", &sealed[..300_000]);
    home.write("longer", &[&sealed[..], b"x"].concat());
    home.write("header", &sealed[..100]);
    home.write("empty", b"");
    home.write("there", b"before");
    let decrypt = |input: &'static str| vec!["decrypt", "-i", "key.txt", "-o", "opened", input];
    let cases: Vec<(Vec<&str>, &str, i32)> = vec![
        (decrypt("flipped"), "flipped: chunk 4 is not authentic", 1),
        (decrypt("cut"), "cut: chunk 4 is not authentic", 1),
        (decrypt("longer"), "longer: ", 1),
        (decrypt("header"), "header: incomplete", 1),
        (decrypt("empty"), "empty: not an age file", 1),
        (decrypt("plain"), "plain: not an age file", 1),
        (decrypt("missing"), "missing: No such file", 1),
        (
            vec!["decrypt", "-i", "other.txt", "-o", "opened", "sealed"],
            "sealed: none of the identities can decrypt it",
            1,
        ),
        (vec!["decrypt", "-o", "opened", "sealed"], "-i", 1),
        (
            vec!["decrypt", "-i", "nowhere.txt", "-o", "opened", "sealed"],
            "nowhere.txt",
            2,
        ),
        (
            vec!["encrypt", "-r", "age1nobody", "-o", "opened", "plain"],
            "age1nobody: invalid recipient",
            2,
        ),
        (
            vec!["encrypt", "-o", "opened", "plain"],
            "no recipient: give -r",
            2,
        ),
        (
            vec!["encrypt", "-r", &home.recipient, "-o", "there", "plain"],
            "there: exists already",
            1,
        ),
        (
            vec!["encrypt", "-r", &home.recipient, "-o", "/dev/full", "plain"],
            "/dev/full: No space left",
            1,
        ),
    ];
    let before = home.names();
    for (args, message, status) in cases {
        let output = home.oarlock(&args).output().unwrap();
        let said = stderr(&output);
        assert!(said.contains(message), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert_eq!(home.names(), before, "{args:?}");
    }
    assert_eq!(home.read("there"), b"before");
    // A pipe receives the chunks that are authentic, and then the error.
    let output = home
        .oarlock(&["decrypt", "-i", "key.txt", "-o", "-", "flipped"])
        .output()
        .unwrap();
    assert!(
        output.stdout == plain[..4 * 65_536],
        "{}",
        output.stdout.len()
    );
    assert_eq!(output.status.code(), Some(1));
}
