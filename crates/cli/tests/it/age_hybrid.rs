//! Post-quantum keys, of `oarlock` and of the real age 1.3: made by either, used by the other.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use oarlock_testing::{names, noise as data};

use crate::common::age::{age, age_keygen, succeeded};
use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{oarlock, run, stderr};

const AGE: &str = "age";
const AGE_KEYGEN: &str = "age-keygen";
const OARLOCK: &str = "oarlock";

/// Less than a chunk, and some chunks.
const SIZES: [usize; 3] = [0, 100, 300_000];

#[test]
fn keys_of_either_are_keys_of_the_other() {
    let home = Home::new();
    for (maker, name) in [(OARLOCK, "ours.txt"), (AGE_KEYGEN, "theirs.txt")] {
        let (ours, theirs) = (&["keygen", "--pq", "-o", name], &["-pq", "-o", name]);
        let made = match maker {
            OARLOCK => succeeded(home.command(OARLOCK).args(ours)),
            _ => succeeded(home.command(AGE_KEYGEN).args(theirs)),
        };
        let text = home.text(name);
        let lines: Vec<&str> = text.lines().collect();
        let [created, public, secret] = lines[..] else {
            panic!("{text}");
        };
        assert!(created.starts_with("# created: 20"), "{created}");
        let public = public.strip_prefix("# public key: ").unwrap();
        assert!(
            public.starts_with("age1pq1") && public.len() == 1959,
            "{public}"
        );
        assert!(secret.starts_with("AGE-SECRET-KEY-PQ-1") && secret.len() == 77);
        assert_eq!(stderr(&made).trim(), format!("Public key: {public}"));
        let mode = fs::metadata(home.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        let by_us = succeeded(home.command(OARLOCK).args(["keygen", "-y", name]));
        let by_them = succeeded(home.command(AGE_KEYGEN).args(["-y", name]));
        assert_eq!(by_us.stdout, by_them.stdout);
        assert_eq!(
            String::from_utf8(by_us.stdout).unwrap(),
            format!("{public}\n")
        );
        for size in SIZES {
            let plain = data(size);
            home.write("plain", &plain);
            for (program, encrypt, decrypt) in [
                (OARLOCK, &["encrypt", "-f"][..], &["-d"][..]),
                (AGE, &["-e"], &["decrypt", "-f"]),
            ] {
                let other = if program == AGE { OARLOCK } else { AGE };
                home.write(
                    "recipients",
                    format!("# a comment\n\n{public}\n").as_bytes(),
                );
                for to in [["-r", public], ["-R", "recipients"], ["-i", name]] {
                    let mut sealing = home.command(program);
                    sealing
                        .args(encrypt)
                        .args(to)
                        .args(["-o", "sealed", "plain"]);
                    succeeded(&mut sealing);
                    let mut opening = home.command(other);
                    opening
                        .args(decrypt)
                        .args(["-i", name, "-o", "opened", "sealed"]);
                    succeeded(&mut opening);
                    let opened = fs::read(home.path("opened")).unwrap();
                    assert!(opened == plain, "{size} bytes, {} by {program}", to[0]);
                }
            }
        }
    }
}

#[test]
fn identities_of_both_kinds_share_a_file() {
    let home = Home::new();
    let mut both = "# two kinds\n\n".to_owned();
    let mut recipients = Vec::new();
    for flags in [&["keygen"][..], &["keygen", "--pq"]] {
        let made = succeeded(home.command(OARLOCK).args(flags));
        let said = stderr(&made);
        both.push_str(&String::from_utf8(made.stdout).unwrap());
        recipients.push(said.trim().strip_prefix("Public key: ").unwrap().to_owned());
    }
    home.write("both.txt", both.as_bytes());
    let listed = succeeded(home.command(OARLOCK).args(["keygen", "-y", "both.txt"]));
    assert_eq!(
        String::from_utf8(listed.stdout).unwrap(),
        format!("{}\n", recipients.join("\n"))
    );
    for recipient in &recipients {
        let sealed = run(
            home.command(OARLOCK).args(["encrypt", "-r", recipient]),
            b"dawn",
        );
        home.write("sealed", &sealed.stdout);
        for program in [&["decrypt"][..], &["decrypt", "-T", "1"]] {
            let mut opening = home.command(OARLOCK);
            opening
                .args(program)
                .args(["-i", "both.txt", "-o", "-", "sealed"]);
            assert_eq!(succeeded(&mut opening).stdout, b"dawn");
        }
        // Identities from a pipe, which can be read but once.
        let mut opening = home.command(OARLOCK);
        opening.args(["decrypt", "-i", "-", "-o", "-", "sealed"]);
        assert_eq!(run(&mut opening, both.as_bytes()).stdout, b"dawn");
        let mut opening = home.command(AGE);
        opening.args(["-d", "-i", "both.txt", "sealed"]);
        assert_eq!(succeeded(&mut opening).stdout, b"dawn");
    }
    // Several of one kind, by either program.
    let other = succeeded(home.command(OARLOCK).args(["keygen", "--pq"]));
    home.write("other.txt", &other.stdout);
    for (program, flags) in [(OARLOCK, &["encrypt"][..]), (AGE, &[])] {
        let mut sealing = home.command(program);
        sealing
            .args(flags)
            .args(["-r", &recipients[1], "-i", "other.txt"]);
        if program == AGE {
            sealing.arg("-e");
        }
        let sealed = run(&mut sealing, b"dawn");
        assert!(sealed.status.success(), "{}", stderr(&sealed));
        for identity in ["both.txt", "other.txt"] {
            for (program, flags) in [(OARLOCK, &["decrypt"][..]), (AGE, &["-d"])] {
                let mut opening = home.command(program);
                opening.args(flags).args(["-i", identity]);
                let opened = run(&mut opening, &sealed.stdout);
                assert_eq!(opened.stdout, b"dawn", "{identity}: {}", stderr(&opened));
            }
        }
    }
}

#[test]
fn identities_under_a_passphrase_are_asked_for_it() {
    let home = Home::new();
    succeeded(
        home.command(OARLOCK)
            .args(["keygen", "--pq", "-o", "key.txt"]),
    );
    home.write("plain", b"dawn");
    let typed = |script: &str, passphrase: &str| {
        let (status, shown) = on_a_terminal(home.0.path(), script, typing(&[passphrase]));
        assert!(!shown.contains(passphrase), "{shown}");
        (status.code(), shown)
    };
    for script in [
        "$OARLOCK encrypt -p -a -o locked key.txt",
        "$OARLOCK encrypt -i locked -o sealed plain",
        "$OARLOCK decrypt -i locked -o opened sealed",
    ] {
        let (status, shown) = typed(script, "sesame");
        assert_eq!(status, Some(0), "{script}: {shown}");
    }
    assert_eq!(home.text("opened"), "dawn");
    let (status, shown) = typed("$OARLOCK decrypt -i locked -o wrong sealed", "simsim");
    assert_eq!(status, Some(1), "{shown}");
    assert!(!home.path("wrong").exists());
    assert_eq!(shown.matches("oarlock: ").count(), 1, "{shown}");
}

#[test]
fn what_is_wrong_with_keys_is_said_in_a_line() {
    let home = Home::new();
    for (name, flags) in [
        ("pq.txt", &["--pq"][..]),
        ("other.txt", &["--pq"]),
        ("key.txt", &[]),
    ] {
        let mut keygen = home.command(OARLOCK);
        succeeded(keygen.args(["keygen", "-o", name]).args(flags));
        let mut recipient = home.command(OARLOCK);
        let recipient = succeeded(recipient.args(["keygen", "-y", name]));
        home.write(&format!("{name}.pub"), &recipient.stdout);
    }
    let (hybrid, classical) = (home.text("pq.txt.pub"), home.text("key.txt.pub"));
    let (hybrid, classical) = (hybrid.trim(), classical.trim());
    home.write("plain", b"dawn");
    let mut sealing = home.command(OARLOCK);
    succeeded(sealing.args(["encrypt", "-r", hybrid, "-o", "sealed", "plain"]));
    let damaged = hybrid.replacen("age1pq1", "age1pq1q", 1);
    home.write(
        "damaged.pub",
        format!("# one\n{hybrid}\n\n{damaged}\n").as_bytes(),
    );
    home.write("nonsense.pub", format!("{hybrid}\nnonsense\n").as_bytes());
    home.write("identity.pub", home.text("pq.txt").as_bytes());
    home.write("damaged.txt", b"# one\nAGE-SECRET-KEY-PQ-1QQQQQQ\n");
    home.write(
        "nonsense.txt",
        format!("{}nonsense\n", home.text("pq.txt")).as_bytes(),
    );
    home.write("empty.txt", b"# nothing\n");
    let before = home.names();
    let encrypt = |to: &[&'static str]| [&["encrypt", "-o", "out"], to, &["plain"]].concat();
    let decrypt = |with: &[&'static str]| [&["decrypt", "-o", "out"], with, &["sealed"]].concat();
    let mixed = [
        "encrypt", "-o", "out", "-r", hybrid, "-r", classical, "plain",
    ];
    let cases: Vec<(Vec<&str>, &str, i32)> = vec![
        (
            mixed.to_vec(),
            "recipients: post-quantum recipients are mixed with others",
            1,
        ),
        (
            encrypt(&["-R", "pq.txt.pub", "-R", "key.txt.pub"]),
            "quantum computer",
            1,
        ),
        (
            encrypt(&["-R", "damaged.pub"]),
            "damaged.pub: line 4: invalid recipient",
            2,
        ),
        (
            encrypt(&["-R", "nonsense.pub"]),
            "nonsense.pub: line 2: invalid recipient",
            2,
        ),
        (
            encrypt(&["-R", "identity.pub"]),
            "identity.pub: line 3: invalid recipient: it may be",
            2,
        ),
        (
            encrypt(&["-R", "empty.txt"]),
            "empty.txt: contains no recipient",
            2,
        ),
        (
            encrypt(&["-R", "nowhere"]),
            "nowhere: no such file of recipients",
            2,
        ),
        (
            encrypt(&["-r", "age1pq1qqq"]),
            "age1pq1qqq: invalid recipient",
            2,
        ),
        (encrypt(&["-R", "-", "-i", "-"]), "two purposes", 2),
        (
            decrypt(&["-i", "damaged.txt"]),
            "damaged.txt: line 2: invalid identity",
            2,
        ),
        (
            decrypt(&["-i", "nonsense.txt"]),
            "nonsense.txt: line 4: invalid identity",
            2,
        ),
        (
            decrypt(&["-i", "pq.txt.pub"]),
            "pq.txt.pub: line 1: invalid identity: it is a recip",
            2,
        ),
        (
            decrypt(&["-i", "empty.txt"]),
            "empty.txt: contains no identity",
            2,
        ),
        (
            decrypt(&["-i", "other.txt", "-i", "key.txt"]),
            "none of the identities",
            1,
        ),
        (vec!["keygen", "--pq", "-y", "pq.txt"], "--pq", 2),
        (
            vec!["keygen", "-y", "nonsense.txt"],
            "nonsense.txt: line 4: invalid identity",
            1,
        ),
    ];
    for (args, message, status) in cases {
        let output = run(home.command(OARLOCK).args(&args), b"");
        let said = stderr(&output);
        assert!(said.contains(message), "{args:?}: {said}");
        assert!(!said.contains("AGE-SECRET-KEY-PQ-1Q"), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert_eq!(home.names(), before, "{args:?}");
    }
}

/// A folder for keys and files.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, data: &[u8]) {
        fs::write(self.path(name), data).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        names(self.0.path())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = match program {
            OARLOCK => oarlock(),
            AGE_KEYGEN => age_keygen(),
            _ => age(),
        };
        command.current_dir(self.0.path());
        command
    }
}
