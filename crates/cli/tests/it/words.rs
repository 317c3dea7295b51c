//! No message mentions the libraries behind the command, for a list of bad inputs.

use std::fs;
use std::process::{Command, Output};

use oarlock_testing::lossy;

use crate::common::age::{Home, succeeded};
use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{assert_one_line, stderr};

/// A command without a terminal that fails, and a part of its message.
type Case<'a> = (&'a [&'a str], &'a str);

#[test]
fn keys_that_age_cannot_use_are_told_in_our_words() {
    let home = ssh_keys();
    let of = |name: &str| String::from_utf8(home.read(name)).unwrap();
    let (ecdsa, short, long) = (of("ecdsa.pub"), of("short.pub"), of("long.pub"));
    let cases: &[Case<'_>] = &[
        (&["encrypt", "-R", "ecdsa.pub"], "ecdsa.pub: line 1: "),
        (
            &["encrypt", "-R", "ecdsa.pub"],
            "ecdsa-sha2-nistp256: use ssh-",
        ),
        (&["encrypt", "-r", &ecdsa], "use ssh-ed25519 or ssh-rsa"),
        (&["encrypt", "-i", "ecdsa"], "ecdsa: unsupported SSH key"),
        (&["decrypt", "-i", "ecdsa"], "ecdsa: unsupported SSH key"),
        (&["encrypt", "-r", &short], "less than 2048 bits"),
        (&["encrypt", "-R", "short.pub"], "line 1: unsupported"),
        (&["encrypt", "-r", &long], "more than 4096 bits"),
        (&["encrypt", "-R", "long.pub"], "more than 4096 bits"),
        (&["encrypt", "-i", "long"], "more than 4096 bits"),
        (
            &["decrypt", "-i", "gcm", "-o", "-", "secret.age"],
            "ssh-keygen -p -Z aes256-ctr",
        ),
        (
            &["encrypt", "--each", "-i", "gcm", "data"],
            "aes128-gcm@openssh.com",
        ),
        (
            &["decrypt", "-i", "pem", "-o", "-", "secret.age"],
            "ssh-keygen -o -p",
        ),
        (&["encrypt", "-R", "token.pub"], "hardware token"),
    ];
    home.write("token.pub", TOKEN.as_bytes());
    all_in_our_words(&home, cases);
}

#[test]
fn a_passphrase_that_nobody_can_give_is_told_of() {
    let home = ssh_keys();
    let cases: &[Case<'_>] = &[
        (
            &["decrypt", "-i", "secret", "-o", "-", "secret.age"],
            "secret has a passphrase",
        ),
        (&["encrypt", "--each", "-p", "data"], "no terminal"),
        (&["enc", "--cipher", "aes-128-ctr", "data"], "no terminal"),
    ];
    all_in_our_words(&home, cases);

    let script = "$OARLOCK decrypt -i secret -o - secret.age";
    let (ended, shown) = on_a_terminal(home.folder(), script, typing(&["wrong"]));
    assert_eq!(ended.code(), Some(1), "{shown}");
    assert!(
        shown.contains("passphrase of the identity is wrong"),
        "{shown}"
    );
    in_our_words(&shown);
    let (ended, shown) = on_a_terminal(home.folder(), script, typing(&["sesame"]));
    assert!(ended.success() && shown.contains("plaintext"), "{shown}");
    in_our_words(&shown);
}

#[test]
fn numbers_and_names_that_do_not_fit_are_told_in_our_words() {
    let home = Home::new();
    home.write("data", b"plaintext\n");
    let cases: &[Case<'_>] = &[
        (
            &["enc", "--cipher", "chacha20", "--iter", "0"],
            "from 1 to 4294967295",
        ),
        (
            &["enc", "--cipher", "chacha20", "--iter", "99999999999"],
            "from 1 to",
        ),
        (&["enc", "--cipher", "chacha20", "--iter", ""], "--iter"),
        (
            &["enc", "--cipher", "des"],
            "'des' for --cipher <NAME>: choose aes-128-ctr",
        ),
        (&["sign", "--timeout", "x"], "give a whole number"),
        (&["sign", "--timeout", "99999999999"], "from 0 to 65535"),
        (&["sign", "--timeout", "-1"], "-1"),
        (&["pki", "init", "d", "--days", "x"], "give a whole number"),
        (
            &["pki", "init", "d", "--bits", "5"],
            "choose 2048, 3072, 4096",
        ),
        (&["bench", "--threads", "0"], "from 1 to 1024"),
        (
            &["serve", "--config", "nowhere", "--log", "x=y"],
            "off, error, warn",
        ),
        (
            &["serve", "--config", "nowhere"],
            "nowhere: cannot be read: No such file",
        ),
        (
            &["encrypt", "-r", "age1yubikey1qqqqqq"],
            "invalid recipient",
        ),
        (&["encrypt", "-r", "age1pq1x"], "invalid recipient"),
        (&["encrypt", "-i", "data"], "line 1: invalid identity"),
        (
            &["decrypt", "-i", "data", "-o", "-", "data"],
            "line 1: invalid identity",
        ),
        (
            &["decrypt", "-i", "key.txt", "-o", "-", "data"],
            "not an age file",
        ),
        (
            &["decrypt", "-i", "key.txt", "-o", "-", "nowhere"],
            "nowhere: No such file",
        ),
        (&["encrypt", "-r", "x", "-p"], "cannot be given with"),
        (&["devices", "--options", "max_threads=x"], "max_threads=x"),
    ];
    all_in_our_words(&home, cases);
}

#[test]
fn settings_of_a_server_that_do_not_fit_are_told_in_our_words() {
    let home = Home::new();
    let good = "listen = [\"127.0.0.1:0\"]\nplaintext = true\n[[device]]\nkind = \"cpu\"\n";
    for (change, said) in [
        ("listen = 5", ":1:10: 5: expected a list in brackets"),
        ("lisen = []", ":1:1: unknown setting lisen: choose listen, "),
        ("", ": listen is missing"),
        ("listen = []\nlisten = []", "stands here twice"),
        (
            "listen = [\"127.0.0.1:0\"]\nio_threads = \"x\"",
            "\"x\": expected a whole number",
        ),
        (
            "listen = [\"127.0.0.1:0\"]\nio_threads = -1",
            "-1: expected a whole number",
        ),
        (
            "listen = [\"127.0.0.1:0\"]\nio_threads = 1.5",
            "1.5: expected a whole number",
        ),
        (
            "listen = [\"127.0.0.1:0\"]\nlimits = 1",
            "1: expected a table",
        ),
        (
            "listen = [\"127.0.0.1:0\"]\naudit = 1",
            "1: expected a table",
        ),
        (
            "listen = [\"127.0.0.1:0\"]\nio_threads = 99999999999999999999",
            ":2:14: ",
        ),
        ("listen = [\"127.0.0.1:0\"", ":2:1: missing comma"),
        ("listen = [\"127.0.0.1:0\"]\nx = y", ":2:5: "),
        (
            "listen = [\"127.0.0.1:0\"]\ntls = {certificate = 7}",
            "7: expected text in quotes",
        ),
        (
            "listen = [\"127.0.0.1:0\"]\n[tls]\ncertificate = \"nowhere\"\nkey = \"k\"\nclient_ca = \"c\"",
            "nowhere cannot be read: No such file",
        ),
        (
            "listen = [\"127.0.0.1:0\"]\nclient = [{identity = \"*\", operations = [\"fly\"]}]",
            "unknown value fly: choose sign",
        ),
    ] {
        let text = good.replacen("listen = [\"127.0.0.1:0\"]", change, 1);
        let text = match change.contains("[tls]") {
            true => text.replace("plaintext = true\n", ""),
            false => text,
        };
        home.write("server.toml", text.as_bytes());
        all_in_our_words(&home, &[(&["serve", "--config", "server.toml"], said)]);
    }
}

/// Returns a folder with SSH keys of every kind that age does not accept, and one with a passphrase.
fn ssh_keys() -> Home {
    let home = Home::new();
    let make = |name: &str, passphrase: &str, more: &[&str]| {
        let keygen = home.run_here(Command::new("ssh-keygen"), &["-q", "-C", "x", "-f", name]);
        let mut keygen = keygen;
        succeeded(keygen.args(["-N", passphrase]).args(more));
    };
    make("ecdsa", "", &["-t", "ecdsa"]);
    make("short", "", &["-t", "rsa", "-b", "1024"]);
    make("long", "", &["-t", "rsa", "-b", "4104"]);
    make("secret", "sesame", &["-t", "ed25519"]);
    make(
        "gcm",
        "sesame",
        &["-t", "ed25519", "-Z", "aes128-gcm@openssh.com"],
    );
    make("pem", "sesame", &["-t", "rsa", "-b", "2048", "-m", "PEM"]);
    home.write("data", b"plaintext\n");
    succeeded(&mut home.oarlock(&["encrypt", "-R", "secret.pub", "-o", "secret.age", "data"]));
    home
}

fn all_in_our_words(home: &Home, cases: &[Case<'_>]) {
    for (arguments, part) in cases {
        let output = without_a_terminal(home, arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert_one_line(&stderr(&output), &[part]);
        in_our_words(&stderr(&output));
        in_our_words(&lossy(&output.stdout));
    }
}

fn without_a_terminal(home: &Home, arguments: &[&str]) -> Output {
    fs::write(home.path("empty"), "").unwrap();
    let mut command = home.run_here(Command::new("setsid"), &["--wait"]);
    command.arg(env!("CARGO_BIN_EXE_oarlock")).args(arguments);
    command.stdin(fs::File::open(home.path("empty")).unwrap());
    command.output().unwrap()
}

/// Checks that `text` has no name of another program, no type of Rust, and no direction marks.
fn in_our_words(text: &str) {
    let lower = text.to_lowercase();
    let is_word = |at: usize, word: &str| {
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_letter(lower[..at].chars().next_back())
            && !is_letter(lower[at + word.len()..].chars().next())
    };
    for word in WORDS {
        let found = lower.match_indices(word).any(|(at, _)| is_word(at, word));
        assert!(!found, "{word:?} in {text:?}");
    }
    for piece in PIECES {
        assert!(!text.contains(piece), "{piece:?} in {text:?}");
    }
    // printable() shows a mark as `?`, so a question mark without a word before it is one too.
    let marks = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2066}'..='\u{2069}');
    assert!(!text.contains(marks), "{text:?}");
    assert!(!text.contains(" ?") && !text.contains("'?"), "{text:?}");
}

/// Whole words that must not occur.
const WORDS: [&str; 19] = [
    "rage", "u8", "u16", "u32", "u64", "usize", "i8", "i32", "i64", "f64", "isize", "struct",
    "enum", "pinentry", "clap", "serde", "rustls", "nom", "fluent",
];
/// The beginnings of what derives print.
const PIECES: [&str; 9] = [
    "Some(",
    "Ok(",
    "Err(",
    "Error {",
    "Os {",
    "Kind(",
    "(os error",
    "target type",
    "found in string",
];
/// A public key on a token, with the numbers from 0 to 31.
const TOKEN: &str = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fAAAABHNzaDo=";
