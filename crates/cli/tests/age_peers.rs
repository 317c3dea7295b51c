//! Files between `oarlock encrypt` and `decrypt` and the real age (1.3, Go) and rage, both ways.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs::File;
use std::process::{Command, Stdio};

use common::age::{Home, age, on_a_terminal, rage, succeeded};
use common::stderr;
use oarlock_testing::noise;

/// Around a chunk of 64 KiB, and more than all threads have buffers for.
const SIZES: [usize; 7] = [0, 1, 65_535, 65_536, 65_537, (1 << 20) + 1, 80 << 20];

type Peer = (&'static str, fn() -> Command);
const PEERS: [Peer; 2] = [("age", age), ("rage", rage)];

#[test]
fn the_peers_are_those_that_are_meant() {
    let version = |mut peer: Command| {
        let said = succeeded(peer.arg("--version")).stdout;
        String::from_utf8(said).unwrap()
    };
    assert!(version(age()).starts_with("v1.3."), "{}", version(age()));
    assert!(
        version(rage()).starts_with("rage 0."),
        "{}",
        version(rage())
    );
}

#[test]
fn they_read_what_is_written() {
    let home = Home::new();
    for size in SIZES {
        let plain = noise(size);
        home.write("plain", &plain);
        for (name, peer) in PEERS {
            for armor in [false, true] {
                let ours = ["encrypt", "-f", "-r", &home.recipient];
                let flags: &[&str] = if armor { &["-a"] } else { &[] };
                let what = format!("{size} bytes, {name}, armor: {armor}");

                let files = [&ours, flags, &["-o", "sealed", "plain"]].concat();
                succeeded(&mut home.oarlock(&files));
                let theirs = ["-d", "-i", "key.txt", "-o", "opened", "sealed"];
                succeeded(&mut home.run_here(peer(), &theirs));
                assert!(home.read("opened") == plain, "{what}, files");

                let ours = home.oarlock(&[&ours, flags].concat());
                let theirs = home.run_here(peer(), &["-d", "-i", "key.txt"]);
                piped(&home, ours, theirs);
                assert!(home.read("opened") == plain, "{what}, pipes");
            }
        }
    }
}

#[test]
fn what_they_write_is_read() {
    let home = Home::new();
    for size in SIZES {
        let plain = noise(size);
        home.write("plain", &plain);
        for (name, peer) in PEERS {
            for armor in [false, true] {
                let theirs = ["-e", "-r", &home.recipient];
                let flags: &[&str] = if armor { &["-a"] } else { &[] };
                let what = format!("{size} bytes, {name}, armor: {armor}");

                let files = [&theirs, flags, &["-o", "sealed", "plain"]].concat();
                let _ = std::fs::remove_file(home.path("sealed"));
                succeeded(&mut home.run_here(peer(), &files));
                for threads in ["1", "2"] {
                    let ours = ["decrypt", "-f", "-T", threads, "-i", "key.txt"];
                    let files = [&ours[..], &["-o", "opened", "sealed"]].concat();
                    succeeded(&mut home.oarlock(&files));
                    assert!(home.read("opened") == plain, "{what}, files");
                }

                let theirs = home.run_here(peer(), &[&theirs, flags].concat());
                let ours = home.oarlock(&["decrypt", "-i", "key.txt"]);
                piped(&home, theirs, ours);
                assert!(home.read("opened") == plain, "{what}, pipes");
            }
        }
    }
}

#[test]
fn ssh_keys_are_recipients_and_identities() {
    let home = Home::new();
    let plain = noise(65_537);
    home.write("plain", &plain);
    for (kind, more) in [("ed25519", &[][..]), ("rsa", &["-b", "2048"])] {
        let key = format!("id_{kind}");
        let public = format!("{key}.pub");
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", kind, "-N", "", "-f"]);
        succeeded(keygen.arg(home.path(&key)).args(more));
        for (name, peer) in PEERS {
            for armor in [&[][..], &["-a"]] {
                let seal = [&["-R", &public, "-o", "sealed"], armor, &["plain"]].concat();
                let open = ["-i", &key, "-o", "opened", "sealed"];

                succeeded(&mut home.oarlock(&[&["encrypt", "-f"], &seal[..]].concat()));
                let _ = std::fs::remove_file(home.path("opened"));
                succeeded(&mut home.run_here(peer(), &[&["-d"], &open[..]].concat()));
                assert!(home.read("opened") == plain, "{kind}, {name} reads");

                let _ = std::fs::remove_file(home.path("sealed"));
                succeeded(&mut home.run_here(peer(), &[&["-e"], &seal[..]].concat()));
                succeeded(&mut home.oarlock(&[&["decrypt", "-f"], &open[..]].concat()));
                assert!(home.read("opened") == plain, "{kind}, {name} writes");
            }
        }
    }
}

/// Both sides know that a passphrase stands alone, and ask for it at the terminal, whatever their
/// standard input is.
#[test]
fn passphrases_are_those_of_the_others() {
    let home = Home::new();
    let plain = noise(65_537);
    home.write("plain", &plain);
    let run = |script: &str| {
        let (succeeded, shown) = on_a_terminal(home.folder(), script, "correct horse battery");
        assert!(succeeded, "{script}: {shown}");
        assert!(!shown.contains("battery"), "{shown}");
    };
    let ours = common::oarlock().get_program().to_owned().into_string();
    let ours = ours.unwrap();
    for (name, peer) in PEERS {
        let theirs = peer().get_program().to_owned().into_string().unwrap();
        run(&format!("{ours} encrypt -f -p -o sealed plain"));
        run(&format!("cat sealed | {theirs} -d > opened"));
        assert!(home.read("opened") == plain, "{name} reads");
        run(&format!("cat plain | {theirs} -p > sealed"));
        run(&format!("{ours} decrypt < sealed | cat > opened"));
        assert!(home.read("opened") == plain, "{name} writes");
    }
    let script = format!("{ours} decrypt -o wrong sealed");
    let (succeeded, shown) = on_a_terminal(home.folder(), &script, "incorrect horse");
    assert!(!succeeded && !home.path("wrong").exists());
    let said = shown.lines().last().unwrap();
    assert!(
        said.starts_with("oarlock: sealed: it was encrypted with another"),
        "{shown}"
    );
}

/// `plain` through `first` and `second`, into `opened`.
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
