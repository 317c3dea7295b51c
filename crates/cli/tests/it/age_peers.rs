//! Exchange of files between `oarlock encrypt` and `decrypt` and the real age (1.3, Go) and rage, both ways.

use std::fs::File;
use std::process::{Command, Stdio};

use oarlock_testing::noise;

use crate::common::age::{Home, age, rage, succeeded};
use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{oarlock, stderr};

/// Sizes around a chunk of 64 KiB, and more than the buffers of all threads.
const SIZES: [usize; 7] = [0, 1, 65_535, 65_536, 65_537, (1 << 20) + 1, 80 << 20];

#[test]
fn age_is_the_one_that_is_meant() {
    assert!(version(age()).starts_with("v1.3."), "{}", version(age()));
}

#[test]
fn rage_is_the_one_that_is_meant() {
    let Some(rage) = rage() else { return };
    let version = version(rage);
    assert!(version.starts_with("rage 0."), "{version}");
}

fn version(mut peer: Command) -> String {
    let said = succeeded(peer.arg("--version")).stdout;
    String::from_utf8(said).unwrap()
}

#[test]
fn age_reads_what_is_written() {
    reads_what_is_written(&age());
}

#[test]
fn rage_reads_what_is_written() {
    if let Some(rage) = rage() {
        reads_what_is_written(&rage);
    }
}

fn reads_what_is_written(peer: &Command) {
    let home = Home::new();
    for size in SIZES {
        let plain = noise(size);
        home.write("plain", &plain);
        for armor in [false, true] {
            let ours = ["encrypt", "-f", "-r", &home.recipient];
            let flags: &[&str] = if armor { &["-a"] } else { &[] };
            let what = format!("{size} bytes, armor: {armor}");

            let files = [&ours, flags, &["-o", "sealed", "plain"]].concat();
            succeeded(&mut home.oarlock(&files));
            let theirs = ["-d", "-i", "key.txt", "-o", "opened", "sealed"];
            succeeded(&mut home.run_here(again(peer), &theirs));
            // For empty input, rage creates no file.
            let is_missing = plain.is_empty() && !home.path("opened").exists();
            assert!(is_missing || home.read("opened") == plain, "{what}, files");

            let ours = home.oarlock(&[&ours, flags].concat());
            let theirs = home.run_here(again(peer), &["-d", "-i", "key.txt"]);
            piped(&home, ours, theirs);
            assert!(home.read("opened") == plain, "{what}, pipes");
        }
    }
}

#[test]
fn what_age_writes_is_read() {
    what_it_writes_is_read(&age());
}

#[test]
fn what_rage_writes_is_read() {
    if let Some(rage) = rage() {
        what_it_writes_is_read(&rage);
    }
}

fn what_it_writes_is_read(peer: &Command) {
    let home = Home::new();
    for size in SIZES {
        let plain = noise(size);
        home.write("plain", &plain);
        for armor in [false, true] {
            let theirs = ["-e", "-r", &home.recipient];
            let flags: &[&str] = if armor { &["-a"] } else { &[] };
            let what = format!("{size} bytes, armor: {armor}");

            let files = [&theirs, flags, &["-o", "sealed", "plain"]].concat();
            let _ = std::fs::remove_file(home.path("sealed"));
            succeeded(&mut home.run_here(again(peer), &files));
            for threads in ["1", "2"] {
                let ours = ["decrypt", "-f", "-T", threads, "-i", "key.txt"];
                let files = [&ours[..], &["-o", "opened", "sealed"]].concat();
                succeeded(&mut home.oarlock(&files));
                assert!(home.read("opened") == plain, "{what}, files");
            }

            let theirs = home.run_here(again(peer), &[&theirs, flags].concat());
            let ours = home.oarlock(&["decrypt", "-i", "key.txt"]);
            piped(&home, theirs, ours);
            assert!(home.read("opened") == plain, "{what}, pipes");
        }
    }
}

#[test]
fn ssh_keys_are_recipients_and_identities_of_age() {
    ssh_keys_are_recipients_and_identities(&age());
}

#[test]
fn ssh_keys_are_recipients_and_identities_of_rage() {
    if let Some(rage) = rage() {
        ssh_keys_are_recipients_and_identities(&rage);
    }
}

fn ssh_keys_are_recipients_and_identities(peer: &Command) {
    let home = Home::new();
    let plain = noise(65_537);
    home.write("plain", &plain);
    for (kind, more) in [("ed25519", &[][..]), ("rsa", &["-b", "2048"])] {
        let key = format!("id_{kind}");
        let public = format!("{key}.pub");
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", kind, "-N", "", "-f"]);
        succeeded(keygen.arg(home.path(&key)).args(more));
        for armor in [&[][..], &["-a"]] {
            let seal = [&["-R", &public, "-o", "sealed"], armor, &["plain"]].concat();
            let open = ["-i", &key, "-o", "opened", "sealed"];

            succeeded(&mut home.oarlock(&[&["encrypt", "-f"], &seal[..]].concat()));
            let _ = std::fs::remove_file(home.path("opened"));
            succeeded(&mut home.run_here(again(peer), &[&["-d"], &open[..]].concat()));
            assert!(home.read("opened") == plain, "{kind}, the peer reads");

            let _ = std::fs::remove_file(home.path("sealed"));
            succeeded(&mut home.run_here(again(peer), &[&["-e"], &seal[..]].concat()));
            succeeded(&mut home.oarlock(&[&["decrypt", "-f"], &open[..]].concat()));
            assert!(home.read("opened") == plain, "{kind}, the peer writes");
        }
    }
}

#[test]
fn passphrases_are_those_of_age() {
    passphrases_are_those_of(&age());
}

#[test]
fn passphrases_are_those_of_rage() {
    if let Some(rage) = rage() {
        passphrases_are_those_of(&rage);
    }
}

/// Both sides know that a passphrase excludes other recipients, and ask for it on the terminal, whatever their standard
/// input is.
fn passphrases_are_those_of(peer: &Command) {
    let home = Home::new();
    let plain = noise(65_537);
    home.write("plain", &plain);
    let run = |script: &str| {
        let typed = typing(&["correct horse battery"]);
        let (status, shown) = on_a_terminal(home.folder(), script, typed);
        assert!(status.success(), "{script}: {shown}");
        assert!(!shown.contains("battery"), "{shown}");
    };
    let oarlock = oarlock();
    let [ours, theirs] = [&oarlock, peer].map(|command| command.get_program().to_str().unwrap());
    run(&format!("{ours} encrypt -f -p -o sealed plain"));
    run(&format!("cat sealed | {theirs} -d > opened"));
    assert!(home.read("opened") == plain, "the peer reads");
    run(&format!("cat plain | {theirs} -p > sealed"));
    run(&format!("{ours} decrypt < sealed | cat > opened"));
    assert!(home.read("opened") == plain, "the peer writes");

    let script = format!("{ours} decrypt -o wrong sealed");
    let (status, shown) = on_a_terminal(home.folder(), &script, typing(&["incorrect horse"]));
    assert!(!status.success() && !home.path("wrong").exists());
    let said = shown.lines().last().unwrap();
    assert!(
        said.starts_with("oarlock: sealed: it was encrypted with another"),
        "{shown}"
    );
}

/// Returns the same program, for another run.
fn again(peer: &Command) -> Command {
    Command::new(peer.get_program())
}

/// Sends `plain` through `first` and `second`, into `opened`.
fn piped(home: &Home, mut first: Command, mut second: Command) {
    let mut sealing = first
        .stdin(File::open(home.path("plain")).unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let opening = second
        .stdin(sealing.stdout.take().unwrap())
        .stdout(File::create(home.path("opened")).unwrap())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(sealing.wait().unwrap().success(), "{first:?}");
    assert!(opening.status.success(), "{second:?}: {}", stderr(&opening));
}
