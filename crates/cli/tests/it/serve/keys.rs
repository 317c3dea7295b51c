//! `keys`, `pubkey` and `verify` compared with openssl, with keys in files and on a token.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{Home, Served};
use crate::common::{assert_fails, oarlock, run, stderr};

/// Returns a command that asks `server` as a client of `home`.
pub fn ask(home: &Home, server: &Served, arguments: &[&str]) -> Command {
    let mut command = oarlock();
    command.args(arguments);
    command.args(["--remote", &server.address.to_string(), "--pki"]);
    command.arg(home.path()).current_dir(home.path());
    command
}

pub fn succeeds(command: &mut Command) -> String {
    let output = run(command, b"");
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn openssl(home: &Home, arguments: &[&str]) -> Output {
    let mut openssl = Command::new("openssl");
    run(openssl.args(arguments).current_dir(home.path()), b"")
}

#[test]
fn keys_are_listed_with_what_a_client_may_do_with_them() {
    let home = Home::new();
    let more = ["pki", "client"];
    succeeds(
        oarlock()
            .args(more)
            .arg(home.path())
            .args(["signer", "idle", "blind"]),
    );
    for (bits, name) in [("3072", "keys/batch-1.pem"), ("4096", "keys/root.pem")] {
        let made = openssl(&home, &["genrsa", "-out", name, bits]);
        assert!(made.status.success(), "{}", stderr(&made));
    }
    home.configure(|text| {
        let entry = |name: &str, keys: &str, operations: &str| {
            format!(
                "[[client]]\nidentity = \"{name}\"\nkeys = [{keys}]\noperations = [{operations}]\n"
            )
        };
        let entries = [
            entry("signer", "\"web\", \"batch-*\"", "\"sign\", \"list\""),
            entry("idle", "", "\"list\""),
            entry("blind", "\"*\"", "\"sign\""),
        ];
        text.replacen("[[client]]", &format!("{}[[client]]", entries.concat()), 1)
    });
    let server = home.serve();

    let table = succeeds(&mut ask(&home, &server, &["keys"]));
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .collect()
        })
        .collect();
    let rights = "sign, decrypt, raw_private, unwrap";
    assert_eq!(
        rows,
        [
            ["KEY", "ALGORITHM", "BITS", "RIGHTS", "DEVICE"],
            ["batch-1", "RSA", "3072", rights, "any"],
            ["root", "RSA", "4096", rights, "any"],
            ["web", "RSA", "2048", rights, "any"],
        ],
        "{table}"
    );
    let table = succeeds(&mut ask(
        &home,
        &server,
        &["keys", "--client", "signer", "--json"],
    ));
    let rows: serde_json::Value = serde_json::from_str(&table).unwrap();
    assert_eq!(
        rows,
        serde_json::json!([
            {"id": "batch-1", "algorithm": "RSA", "bits": 3072, "rights": ["sign"], "device": null},
            {"id": "web", "algorithm": "RSA", "bits": 2048, "rights": ["sign"], "device": null},
        ])
    );
    let table = succeeds(&mut ask(&home, &server, &["keys", "--client", "idle"]));
    assert_eq!(table, "no keys that this client may use\n");
    let blind = run(
        &mut ask(&home, &server, &["keys", "--client", "blind"]),
        b"",
    );
    assert_fails(&blind, 1, &["does not allow list"]);
    let wrong = ["pubkey", "--key", "root", "--client", "signer"];
    let wrong = run(&mut ask(&home, &server, &wrong), b"");
    assert_fails(&wrong, 1, &["\"root\"", "it may use batch-1, web"]);
    let nobody = run(
        &mut ask(&home, &server, &["keys", "--client", "nobody"]),
        b"",
    );
    assert_fails(&nobody, 1, &["nobody.pem", "oarlock pki client"]);
    let nowhere = run(oarlock().args(["keys"]), b"");
    assert_fails(&nowhere, 2, &["--remote"]);
}

#[test]
fn signatures_are_verified_here_and_by_openssl() {
    let home = Home::new();
    let server = home.serve();
    fs::write(home.path().join("letter.txt"), "Dear reader").unwrap();
    succeeds(&mut ask(
        &home,
        &server,
        &["pubkey", "--key", "web", "-o", "pub.pem"],
    ));
    let own = openssl(&home, &["pkey", "-in", "keys/web.pem", "-pubout"]);
    assert_eq!(own.stdout, fs::read(home.path().join("pub.pem")).unwrap());
    let said = succeeds(&mut ask(&home, &server, &["pubkey", "--key", "web"]));
    assert_eq!(own.stdout, said.as_bytes());

    let here = |arguments: &[&str]| {
        let mut verify = oarlock();
        verify
            .args(["verify", "--public-key", "pub.pem"])
            .args(arguments);
        run(verify.current_dir(home.path()), b"")
    };
    for (scheme, hash, padding) in [
        ("rsa-pkcs1-sha256", "sha256", "pkcs1"),
        ("rsa-pkcs1-sha384", "sha384", "pkcs1"),
        ("rsa-pss-sha256", "sha256", "pss"),
        ("rsa-pss-sha512", "sha512", "pss"),
    ] {
        let sign = [
            "sign",
            "--key",
            "web",
            "--scheme",
            scheme,
            "-o",
            "letter.sig",
            "letter.txt",
        ];
        succeeds(&mut ask(&home, &server, &sign));
        let digest = openssl(
            &home,
            &[
                "dgst",
                &format!("-{hash}"),
                "-binary",
                "-out",
                "digest",
                "letter.txt",
            ],
        );
        assert!(digest.status.success());
        let verified = openssl(
            &home,
            &[
                "pkeyutl",
                "-verify",
                "-pubin",
                "-inkey",
                "pub.pem",
                "-sigfile",
                "letter.sig",
                "-in",
                "digest",
                "-pkeyopt",
                &format!("digest:{hash}"),
                "-pkeyopt",
                &format!("rsa_padding_mode:{padding}"),
            ],
        );
        assert!(verified.status.success(), "{scheme}: {}", stderr(&verified));
        let signature = ["--scheme", scheme, "--signature", "letter.sig"];
        let good = here(&[&signature[..], &["letter.txt"]].concat());
        assert!(good.status.success(), "{scheme}: {}", stderr(&good));
        let digest = hex::encode(fs::read(home.path().join("digest")).unwrap());
        let good = here(&[&signature[..], &["--digest", &digest]].concat());
        assert!(good.status.success(), "{scheme}: {}", stderr(&good));
        let remote = [&["verify", "--key", "web"], &signature[..], &["letter.txt"]].concat();
        assert_eq!(
            succeeds(&mut ask(&home, &server, &remote)),
            "good signature\n"
        );
        fs::write(home.path().join("other.txt"), "Dear reader, pay").unwrap();
        let bad = here(&[&signature[..], &["other.txt"]].concat());
        assert_fails(&bad, 1, &["letter.sig: bad signature", scheme]);
    }
    // A signature by openssl, and a signature as text.
    let signed = openssl(
        &home,
        &[
            "dgst",
            "-sha256",
            "-sign",
            "keys/web.pem",
            "-hex",
            "letter.txt",
        ],
    );
    let (_, text) = str::from_utf8(&signed.stdout)
        .unwrap()
        .split_once("= ")
        .unwrap();
    fs::write(home.path().join("letter.hex"), text).unwrap();
    let good = here(&["--signature", "letter.hex", "letter.txt"]);
    assert!(good.status.success(), "{}", stderr(&good));

    let as_pss = here(&[
        "--signature",
        "letter.hex",
        "--scheme",
        "rsa-pss-sha256",
        "letter.txt",
    ]);
    assert_fails(&as_pss, 1, &["bad signature", "rsa-pss-sha256"]);
    assert_fails(
        &here(&["--signature", "pub.pem", "letter.txt"]),
        1,
        &["pub.pem", "has 256"],
    );
    let bare = |arguments: &[&str]| {
        run(
            oarlock()
                .args(["verify", "--signature", "x"])
                .args(arguments)
                .current_dir(home.path()),
            b"",
        )
    };
    assert_fails(&bare(&[]), 2, &["--public-key", "--remote"]);
    assert_fails(
        &bare(&["--public-key", "letter.txt"]),
        1,
        &["letter.txt: not a public key in PEM"],
    );
}

#[test]
fn the_public_key_of_a_token_verifies_what_the_token_signs() {
    let softhsm = Path::new("/usr/lib/softhsm/libsofthsm2.so");
    assert!(softhsm.exists(), "scripts/system-packages test installs it");
    let home = Home::new();
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("tokens")).unwrap();
    let tokens = format!(
        "directories.tokendir = {}\nobjectstore.backend = file\n",
        at("tokens").display()
    );
    fs::write(at("softhsm2.conf"), tokens).unwrap();
    let made = openssl(&home, &["genpkey", "-algorithm", "RSA", "-out", "root.pem"]);
    assert!(made.status.success());
    for arguments in [
        &[
            "--init-token",
            "--free",
            "--label",
            "rack",
            "--so-pin",
            "1234",
        ][..],
        &[
            "--import", "root.pem", "--token", "rack", "--label", "root", "--id", "0a",
        ],
    ] {
        let mut tool = Command::new("softhsm2-util");
        tool.args(arguments)
            .args(["--pin", "5678"])
            .current_dir(home.path());
        let output = run(tool.env("SOFTHSM2_CONF", at("softhsm2.conf")), b"");
        assert!(output.status.success(), "{}", stderr(&output));
    }
    fs::write(at("pin"), "5678\n").unwrap();
    home.configure(|text| {
        format!(
            "{text}\n[[device]]\nname = \"hsm\"\nkind = \"pkcs11\"\nmodule = {softhsm:?}\ntoken = \"rack\"\n\
             pin_file = \"pin\"\n\n[[key]]\ntoken = \"hsm\"\n"
        )
    });
    let server = Served::start_with(&home.config(), &[("SOFTHSM2_CONF", &at("softhsm2.conf"))]);
    let table = succeeds(&mut ask(&home, &server, &["keys"]));
    let row = table
        .lines()
        .find(|line| line.starts_with("root "))
        .unwrap();
    assert!(
        row.contains("RSA") && row.contains("2048") && row.ends_with("hsm"),
        "{table}"
    );
    let pem = succeeds(&mut ask(&home, &server, &["pubkey", "--key", "root"]));
    let own = openssl(&home, &["pkey", "-in", "root.pem", "-pubout"]);
    assert_eq!(pem.as_bytes(), own.stdout);
    fs::write(at("root.pub.pem"), pem).unwrap();
    fs::write(at("letter.txt"), "Dear reader").unwrap();
    let sign = ["sign", "--key", "root", "-o", "letter.sig", "letter.txt"];
    succeeds(&mut ask(&home, &server, &sign));
    let dgst = [
        "dgst",
        "-sha256",
        "-verify",
        "root.pub.pem",
        "-signature",
        "letter.sig",
        "letter.txt",
    ];
    assert_eq!(openssl(&home, &dgst).stdout, b"Verified OK\n");
}
