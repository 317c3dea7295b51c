//! `keygen --type`, `pubkey`, `sign` and `verify` with keys in files, both ways with openssl.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oarlock_testing::skip;
use tempfile::TempDir;

use crate::common::age::built;
use crate::common::{assert_fails, oarlock, run, stderr};

/// A folder with a letter, in which commands run.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("letter"), "to whom it may concern").unwrap();
        fs::write(folder.path().join("other"), "to whom it does not").unwrap();
        Self(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    fn oarlock(&self, arguments: &[&str]) -> Output {
        run(oarlock().args(arguments).current_dir(self.0.path()), b"")
    }

    /// Runs the command, and returns what it prints.
    fn says(&self, arguments: &[&str]) -> Vec<u8> {
        said(&self.oarlock(arguments), arguments)
    }

    fn verifies(&self, scheme: &[&str], signature: &str, letter: &str) -> Output {
        let verify = ["verify", "--public-key", "pub.pem", "--signature"];
        self.oarlock(&[&verify[..], &[signature, letter], scheme].concat())
    }
}

fn said(output: &Output, arguments: &[&str]) -> Vec<u8> {
    let what = stderr(output);
    assert!(output.status.success(), "{arguments:?}: {what}");
    output.stdout.clone()
}

/// An openssl: the machine's, or a later one.
struct Openssl(Option<PathBuf>);

impl Openssl {
    /// Returns one with ML-KEM and ML-DSA, if it is built.
    fn post_quantum() -> Option<Self> {
        let program = built("openssl-3.5/bin/openssl");
        if program.is_none() {
            skip("OpenSSL 3.5 is not built (cargo xtask peers openssl)");
        }
        program.map(|program| Self(Some(program)))
    }

    fn says(&self, desk: &Desk, arguments: &[&str]) -> Vec<u8> {
        let mut command = match &self.0 {
            None => Command::new("openssl"),
            Some(program) => {
                let mut command = Command::new(program);
                let root = program.parent().and_then(Path::parent).unwrap();
                command.env("LD_LIBRARY_PATH", root.join("lib"));
                command
            }
        };
        let output = run(command.args(arguments).current_dir(desk.0.path()), b"");
        said(&output, arguments)
    }
}

/// The types of keys, with openssl's name for each.
const CLASSICAL: [(&str, &str); 6] = [
    ("rsa", "RSA"),
    ("p256", "P-256"),
    ("p384", "P-384"),
    ("p521", "P-521"),
    ("ed25519", "ED25519"),
    ("x25519", "X25519"),
];
const POST_QUANTUM: [(&str, &str); 6] = [
    ("ml-kem-512", "ML-KEM-512"),
    ("ml-kem-768", "ML-KEM-768"),
    ("ml-kem-1024", "ML-KEM-1024"),
    ("ml-dsa-44", "ML-DSA-44"),
    ("ml-dsa-65", "ML-DSA-65"),
    ("ml-dsa-87", "ML-DSA-87"),
];

/// Returns openssl's arguments to sign `letter`, or to verify that, with a type of key; `None` if the type does not sign.
fn openssl_way(key: &str, signs: bool) -> Option<Vec<&str>> {
    let hash = match key {
        "rsa" | "p256" => Some("sha256"),
        "p384" => Some("sha384"),
        "p521" => Some("sha512"),
        "x25519" | "ml-kem-512" | "ml-kem-768" | "ml-kem-1024" => return None,
        _ => None,
    };
    let mut arguments = vec!["pkeyutl", "-rawin", "-in", "letter"];
    if let Some(hash) = hash {
        arguments.extend(["-digest", hash]);
    }
    let rest = match signs {
        true => &["-sign", "-inkey", "key.pem", "-out", "theirs"][..],
        false => &["-verify", "-pubin", "-inkey", "pub.pem", "-sigfile", "ours"],
    };
    arguments.extend(rest);
    Some(arguments)
}

/// Checks both programs with a key that either generated, in files that the other reads.
fn agree(openssl: &Openssl, desk: &Desk, key: &str) {
    let public = openssl.says(desk, &["pkey", "-in", "key.pem", "-pubout"]);
    assert_eq!(desk.says(&["pubkey", "key.pem"]), public, "{key}");
    fs::write(desk.at("pub.pem"), &public).unwrap();
    // Also for a public key.
    assert_eq!(desk.says(&["pubkey", "pub.pem"]), public, "{key}");
    let (Some(sign), Some(verify)) = (openssl_way(key, true), openssl_way(key, false)) else {
        let refused = desk.oarlock(&["sign", "--private-key", "key.pem", "--hex", "letter"]);
        return assert_fails(&refused, 1, &["signs nothing"]);
    };
    desk.says(&["sign", "--private-key", "key.pem", "-o", "ours", "letter"]);
    openssl.says(desk, &verify);
    openssl.says(desk, &sign);
    for signature in ["ours", "theirs"] {
        let good = desk.verifies(&[], signature, "letter");
        assert_eq!(said(&good, &[key, signature]), b"good signature\n");
        let bad = desk.verifies(&[], signature, "other");
        assert_fails(&bad, 1, &["bad signature", signature]);
    }
    // In hexadecimal, with the scheme named; then with a wrong bit.
    let scheme = match key {
        "rsa" => "rsa-pkcs1-sha256",
        "p256" => "ecdsa-p256-sha256",
        "p384" => "ecdsa-p384-sha384",
        "p521" => "ecdsa-p521-sha512",
        other => other,
    };
    let named = [
        "sign",
        "--private-key",
        "key.pem",
        "--hex",
        "--scheme",
        scheme,
    ];
    let hex = desk.says(&[&named[..], &["letter"]].concat());
    fs::write(desk.at("hex"), &hex).unwrap();
    said(
        &desk.verifies(&["--scheme", scheme], "hex", "letter"),
        &[key],
    );
    let mut wrong = desk.read("ours");
    *wrong.last_mut().unwrap() ^= 1;
    fs::write(desk.at("wrong"), wrong).unwrap();
    assert_fails(
        &desk.verifies(&[], "wrong", "letter"),
        1,
        &["wrong: bad signature"],
    );
}

fn made_by_either(openssl: &Openssl, types: &[(&str, &str)]) {
    for (key, name) in types {
        let desk = Desk::new();
        desk.says(&["keygen", "--type", key, "-o", "key.pem"]);
        let mode = fs::metadata(desk.at("key.pem"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        // openssl finds the right type, and a consistent key.
        let checked = openssl.says(&desk, &["pkey", "-in", "key.pem", "-check", "-noout"]);
        assert_eq!(checked, b"Key is valid\n", "{key}");
        agree(openssl, &desk, key);

        let desk = Desk::new();
        let group = format!("ec_paramgen_curve:{name}");
        let kind = match name.starts_with("P-") {
            true => vec!["EC", "-pkeyopt", &group],
            false => vec![*name],
        };
        let genpkey = ["genpkey", "-out", "key.pem", "-algorithm"];
        openssl.says(&desk, &[&genpkey[..], &kind].concat());
        agree(openssl, &desk, key);
    }
}

#[test]
fn keys_and_signatures_are_openssls_and_openssls_are_ours() {
    made_by_either(&Openssl(None), &CLASSICAL);
}

#[test]
fn post_quantum_keys_and_signatures_are_those_of_a_later_openssl() {
    if let Some(openssl) = Openssl::post_quantum() {
        made_by_either(&openssl, &POST_QUANTUM);
        made_by_either(&openssl, &CLASSICAL);
    }
}

/// Covers SEC 1, PKCS#1, and what ssh-keygen writes.
#[test]
fn keys_in_other_formats_are_read() {
    let openssl = Openssl(None);
    let desk = Desk::new();
    desk.says(&["keygen", "--type", "p384", "-o", "p384.pem"]);
    openssl.says(&desk, &["ec", "-in", "p384.pem", "-out", "key.pem"]);
    assert!(
        desk.read("key.pem")
            .starts_with(b"-----BEGIN EC PRIVATE KEY")
    );
    agree(&openssl, &desk, "p384");
    openssl.says(
        &desk,
        &["genrsa", "-traditional", "-out", "key.pem", "2048"],
    );
    assert!(
        desk.read("key.pem")
            .starts_with(b"-----BEGIN RSA PRIVATE KEY")
    );
    let public = openssl.says(&desk, &["pkey", "-in", "key.pem", "-pubout"]);
    fs::write(desk.at("pub.pem"), public).unwrap();
    desk.says(&["sign", "--private-key", "key.pem", "-o", "ours", "letter"]);
    let dgst = [
        "dgst",
        "-sha256",
        "-verify",
        "pub.pem",
        "-signature",
        "ours",
        "letter",
    ];
    assert_eq!(openssl.says(&desk, &dgst), b"Verified OK\n");
    let pss = ["--scheme", "rsa-pss-sha384"];
    let sign = ["sign", "--private-key", "key.pem", "-o", "pss", "letter"];
    desk.says(&[&sign[..], &pss].concat());
    said(&desk.verifies(&pss, "pss", "letter"), &pss);
    assert_fails(&desk.verifies(&[], "pss", "letter"), 1, &["bad signature"]);

    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", "ssh"]);
    said(
        &run(keygen.current_dir(desk.0.path()), b""),
        &["ssh-keygen"],
    );
    let public = desk.says(&["pubkey", "ssh.pub"]);
    assert_eq!(desk.says(&["pubkey", "ssh"]), public);
    fs::write(desk.at("pub.pem"), public).unwrap();
    desk.says(&["sign", "--private-key", "ssh", "-o", "ours", "letter"]);
    openssl.says(&desk, &openssl_way("ed25519", false).unwrap());
}

#[test]
fn what_is_wrong_is_named() {
    let desk = Desk::new();
    for key in ["p256", "ed25519"] {
        desk.says(&["keygen", "--type", key, "-o", key]);
        let public = desk.says(&["pubkey", key]);
        fs::write(desk.at(&format!("{key}.pub")), public).unwrap();
    }
    // Nothing is overwritten.
    let before = desk.read("p256");
    let again = desk.oarlock(&["keygen", "--type", "p256", "-o", "p256"]);
    assert_fails(&again, 1, &["p256: exists already"]);
    assert_eq!(desk.read("p256"), before);
    let positional = desk.oarlock(&["keygen", "--type", "p256", "new"]);
    assert_fails(&positional, 2, &["new key", "-o new"]);
    for other in [["--pq", "-o"], ["-y", "-o"]] {
        let both = [&["keygen", "--type", "p256"], &other[..], &["x"]].concat();
        assert_fails(&desk.oarlock(&both), 2, &["--type"]);
    }
    assert!(!desk.at("x").exists() && !desk.at("new").exists());

    let sign = |more: &[&str]| desk.oarlock(&[&["sign", "--hex"], more].concat());
    let with = |key, more: &[&str]| sign(&[&["--private-key", key], more].concat());
    assert_fails(&sign(&["letter"]), 2, &["--remote", "--private-key"]);
    assert_fails(&with("none", &["letter"]), 1, &["none: No such file"]);
    assert_fails(
        &with("letter", &["letter"]),
        1,
        &["letter: not a private key"],
    );
    assert_fails(&with("p256.pub", &["letter"]), 1, &["p256.pub: "]);
    let scheme = ["--scheme", "ecdsa-p384-sha384", "letter"];
    let names = [
        "for keys of P-384",
        "of P-256",
        "--scheme ecdsa-p256-sha256",
    ];
    assert_fails(&with("p256", &scheme), 2, &names);
    assert_fails(
        &with("p256", &["--digest", "00"]),
        2,
        &["64 hexadecimal digits"],
    );
    let digest = "00".repeat(64);
    let whole = ["--digest", &digest];
    assert_fails(
        &with("ed25519", &whole),
        2,
        &["ed25519 signs whole messages"],
    );
    for (more, option) in [
        (&["--pki", "."][..], "--pki"),
        (&["--server-name", "a"], "--server-name"),
        (&["--plaintext"], "--plaintext"),
    ] {
        let refused = with("p256", &[more, &["letter"]].concat());
        assert_fails(&refused, 2, &[option, "is for a server"]);
    }
    let without = ["--remote", "localhost:1", "--key", "web", "letter"];
    assert_fails(
        &with("p256", &without),
        2,
        &["--private-key", "--certificate"],
    );

    let verify = [
        "verify",
        "--public-key",
        "ed25519.pub",
        "--signature",
        "p256",
    ];
    let length = desk.oarlock(&[&verify[..], &["letter"]].concat());
    assert_fails(
        &length,
        1,
        &["p256: ", "bytes, but a signature by this key has 64"],
    );
    let scheme = desk.oarlock(&[&verify[..], &["--scheme", "ml-dsa-65", "letter"]].concat());
    assert_fails(&scheme, 2, &["for keys of ML-DSA-65", "--scheme ed25519"]);
    let neither = desk.oarlock(&["pubkey"]);
    assert_fails(&neither, 2, &["--remote"]);
    let reference = desk.oarlock(&["pubkey", "--reference", "p256"]);
    assert_fails(&reference, 2, &["--remote"]);
}
