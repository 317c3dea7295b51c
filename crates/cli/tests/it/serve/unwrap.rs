//! Files that an identity on a server opens: `decrypt --remote`, with files of oarlock, and of the `age` crate.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use super::keys::{ask, succeeds};
use super::{Home, Served};
use crate::common::{assert_fails, oarlock, run};

/// Makes an identity among the keys of the server, and returns its recipient.
fn add_identity(home: &Home, name: &str, more: &[&str]) -> String {
    let path = home.path().join(format!("keys/{name}.key"));
    let path = path.to_str().unwrap();
    succeeds(oarlock().args(["keygen", "-o", path]).args(more));
    succeeds(oarlock().args(["keygen", "-y", path]))
}

fn served() -> (Home, Served, Vec<(&'static str, String)>) {
    let home = Home::new();
    let recipients = vec![
        ("archive", add_identity(&home, "archive", &[])),
        ("vault", add_identity(&home, "vault", &["--pq"])),
    ];
    let served = home.serve();
    (home, served, recipients)
}

#[test]
fn a_file_opens_by_an_identity_that_stays_at_the_server() {
    let (home, server, recipients) = served();
    let table = succeeds(&mut ask(&home, &server, &["keys"]));
    for row in [
        "archive  age, X25519",
        "vault    age, ML-KEM-768 with X25519",
    ] {
        assert!(table.contains(row), "{table}");
    }
    for (key, recipient) in &recipients {
        let printed = succeeds(&mut ask(&home, &server, &["pubkey", "--key", key]));
        assert_eq!(printed, *recipient);
        let plain = format!("for {key}: {}", "all of it. ".repeat(20_000));
        let (clear, sealed) = (home.path().join("letter"), home.path().join("letter.age"));
        fs::write(&clear, &plain).unwrap();
        // Another recipient stands first.
        let mut encrypt = oarlock();
        encrypt.args(["encrypt", "--each", "--force", "-r", recipient.trim()]);
        if *key == "archive" {
            encrypt.args([
                "-r",
                "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa",
            ]);
        }
        succeeds(encrypt.arg(&clear));
        let decrypt = [
            "decrypt",
            "--key",
            key,
            "-o",
            "back",
            "--force",
            "letter.age",
        ];
        succeeds(&mut ask(&home, &server, &decrypt));
        assert_eq!(fs::read_to_string(home.path().join("back")).unwrap(), plain);
        let other = recipients.iter().find(|(other, _)| other != key).unwrap().0;
        let wrong = ["decrypt", "--key", other, "-o", "none", "letter.age"];
        let wrong = run(&mut ask(&home, &server, &wrong), b"");
        assert_fails(&wrong, 1, &["letter.age", "none of the identities"]);
        assert!(!home.path().join("none").exists());
        fs::remove_file(&sealed).unwrap();
    }
}

/// Encrypts as another program does: with the `age` crate alone.
#[test]
fn files_of_another_program_open_one_and_many() {
    let (home, server, recipients) = served();
    let recipient: age::x25519::Recipient = recipients[0].1.trim().parse().unwrap();
    for number in 0..5 {
        let mut sealed = Vec::new();
        let one: &dyn age::Recipient = &recipient;
        let encryptor = age::Encryptor::with_recipients(std::iter::once(one)).unwrap();
        let mut writer = encryptor.wrap_output(&mut sealed).unwrap();
        writer
            .write_all(format!("file {number}").as_bytes())
            .unwrap();
        writer.finish().unwrap();
        fs::write(home.path().join(format!("{number}.age")), sealed).unwrap();
    }
    let one = ["decrypt", "--key", "archive", "-o", "-", "3.age"];
    assert_eq!(succeeds(&mut ask(&home, &server, &one)), "file 3");
    let many = [
        "decrypt", "--key", "archive", "0.age", "1.age", "2.age", "4.age",
    ];
    succeeds(&mut ask(&home, &server, &many));
    for number in [0, 1, 2, 4] {
        let text = fs::read_to_string(home.path().join(number.to_string())).unwrap();
        assert_eq!(text, format!("file {number}"));
    }
}

#[test]
fn what_does_not_fit_together_is_said() {
    let (home, server, recipients) = served();
    fs::write(home.path().join("letter"), "Dear reader").unwrap();
    let letter = home.path().join("letter");
    succeeds(
        oarlock()
            .args(["encrypt", "--each", "-r", recipients[0].1.trim()])
            .arg(&letter),
    );
    let refused = |arguments: &[&str], status, words: &[&str]| {
        let output = run(&mut ask(&home, &server, arguments), b"");
        assert_fails(&output, status, words);
    };
    let key = |key| ["decrypt", "--key", key, "-o", "-", "letter.age"];
    refused(
        &key("none"),
        1,
        &["letter.age", "there is no key \"none\" here"],
    );
    let (pubkey, verify) = (
        ["pubkey", "--reference", "--key", "archive"],
        ["sign", "--key", "archive", "letter"],
    );
    refused(&pubkey, 1, &["identity of age", "only unwraps"]);
    refused(&verify, 1, &["archive", "only unwraps"]);
    refused(&["decrypt", "-o", "-", "letter.age"], 2, &["--key"]);
    let alone = ["decrypt", "-o", "-", "letter.age", "--pki"];
    let mut without = oarlock();
    without
        .args(alone)
        .arg(home.path())
        .current_dir(home.path());
    let alone = run(&mut without, b"");
    assert_fails(&alone, 2, &["--pki is for a server"]);
    // The right is the server's to give.
    home.configure(|text| text.replace("\"unwrap\", ", ""));
    let server = home.serve();
    let output = run(&mut ask(&home, &server, &key("archive")), b"");
    assert_fails(&output, 1, &["does not allow unwrap with key \"archive\""]);
}

/// The page makes a secret key with tools that are there.
#[test]
fn the_secret_key_of_the_page_is_listed() {
    let home = Home::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = fs::read_to_string(format!("{root}/docs/cryptoserver-operation.md")).unwrap();
    let (_, steps) = page.split_once("\n## Secret keys\n").unwrap();
    let (_, steps) = steps.split_once("```text\n").unwrap();
    let (steps, _) = steps.split_once("```\n").unwrap();
    std::os::unix::fs::symlink(".", home.path().join("demo")).unwrap();
    let mut bash = Command::new("bash");
    succeeds(bash.args(["-e", "-c", steps]).current_dir(home.path()));
    let server = home.serve();
    let listed = succeeds(&mut ask(&home, &server, &["keys", "--json"]));
    let keys: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let key = keys
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["id"] == "cards")
        .unwrap();
    assert_eq!(key["algorithm"], "A256GCM");
    assert_eq!(
        (&key["version"], &key["rights"]),
        (&1.into(), &serde_json::json!(["seal", "open"]))
    );
    let pubkey = run(&mut ask(&home, &server, &["pubkey", "--key", "cards"]), b"");
    assert_fails(&pubkey, 1, &["\"cards\" is a secret key"]);
}
