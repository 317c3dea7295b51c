//! `pki client`, `renew` and `revoke`: openssl accepts their results, and the server uses them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use oarlock_testing::until;
use rustix::process::Signal;

use super::{Home, Served};
use crate::common::{assert_fails, oarlock, run, stderr};

fn pki(home: &Path, what: &str, arguments: &[&str]) -> Output {
    run(oarlock().args(["pki", what]).arg(home).args(arguments), b"")
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn openssl(home: &Path, arguments: &[&str]) -> Output {
    run(
        Command::new("openssl").args(arguments).current_dir(home),
        b"",
    )
}

/// Whether openssl accepts a certificate, with the revocation list.
fn is_good(home: &Path, certificate: &str) -> bool {
    let arguments = [
        "verify",
        "-x509_strict",
        "-crl_check",
        "-CAfile",
        "ca.pem",
        "-CRLfile",
        "crl.pem",
    ];
    let verified = openssl(home, &[&arguments[..], &[certificate]].concat());
    let said = format!(
        "{}{}",
        stderr(&verified),
        String::from_utf8_lossy(&verified.stdout)
    );
    assert!(
        verified.status.success() || said.contains("certificate revoked"),
        "{said}"
    );
    verified.status.success()
}

fn field(home: &Path, certificate: &str, field: &str) -> String {
    let output = openssl(home, &["x509", "-in", certificate, "-noout", field]);
    succeeds(&output)
}

fn sign(home: &Home, server: &Served, client: &str) -> Output {
    run(
        home.sign(server.address, "web")
            .args(["--hex", "--client", client]),
        b"x",
    )
}

#[test]
fn a_client_comes_is_revoked_and_stays_out() {
    let home = Home::new();
    let at = home.path();
    let server = home.serve();
    let said = succeeds(&pki(at, "client", &["alice"]));
    assert!(
        said.contains("alice.pem: valid until ") && said.contains("alice.key\n"),
        "{said}"
    );
    for name in ["client.pem", "alice.pem", "server.pem"] {
        assert!(is_good(at, name), "{name}");
    }
    // The server trusts the CA, not a list of names.
    succeeds(&sign(&home, &server, "alice"));

    // A thief has the certificate from before its renewal.
    for extension in ["pem", "key"] {
        fs::copy(
            at.join(format!("alice.{extension}")),
            at.join(format!("thief.{extension}")),
        )
        .unwrap();
    }
    succeeds(&pki(at, "renew", &["alice", "--days", "30"]));
    assert_ne!(
        field(at, "alice.pem", "-serial"),
        field(at, "thief.pem", "-serial")
    );
    succeeds(&sign(&home, &server, "thief"));
    succeeds(&sign(&home, &server, "alice"));
    let said = succeeds(&pki(at, "revoke", &["alice"]));
    assert!(
        said.contains("crl.pem: now revokes 2 certificates of alice"),
        "{said}"
    );
    assert!(!is_good(at, "alice.pem") && !is_good(at, "thief.pem"));
    assert!(is_good(at, "client.pem"));
    server.signal(Signal::HUP);
    until("reloaded", || server.log().contains("reloaded"));
    for name in ["alice", "thief"] {
        let out = sign(&home, &server, name);
        let what = format!("revokes the certificate in {}", at.join(name).display());
        assert_fails(&out, 1, &[&what]);
    }
    succeeds(&sign(&home, &server, "client"));

    assert_fails(&pki(at, "revoke", &["alice"]), 1, &["revoked already"]);
    assert_fails(&pki(at, "renew", &["alice"]), 1, &["alice.pem: is revoked"]);
    assert_fails(
        &pki(at, "client", &["alice"]),
        1,
        &["alice.pem: exists already"],
    );
    for name in ["alice.pem", "alice.key"] {
        fs::remove_file(at.join(name)).unwrap();
    }
    succeeds(&pki(at, "client", &["alice"]));
    assert!(is_good(at, "alice.pem"));
    succeeds(&sign(&home, &server, "alice"));
}

#[test]
fn all_is_renewed_but_what_is_revoked() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let names = [
        "--server-name",
        "crypto.example",
        "--server-name",
        "192.0.2.7",
    ];
    let clients = ["--client", "a.example", "--client", "b", "--days", "3"];
    let init = [&names[..], &clients].concat();
    succeeds(&pki(at, "init", &init));
    // No certificate outlives the authority's.
    succeeds(&pki(at, "client", &["c", "--days", "300"]));
    assert_eq!(
        field(at, "c.pem", "-enddate"),
        field(at, "ca.pem", "-enddate")
    );
    succeeds(&pki(at, "revoke", &["b"]));
    let files = ["ca.pem", "server.pem", "a.example.pem", "b.pem", "c.pem"];
    let before = files.map(|name| field(at, name, "-serial"));
    let old = at.join("ca.old");
    fs::copy(at.join("ca.pem"), &old).unwrap();

    let said = succeeds(&pki(at, "renew", &["--days", "400"]));
    assert!(
        said.ends_with("b: left out, because it is revoked\n"),
        "{said}"
    );
    for (name, before) in files.iter().zip(before) {
        assert_eq!(
            field(at, name, "-serial") == before,
            *name == "b.pem",
            "{name}"
        );
        assert_eq!(is_good(at, name), *name != "b.pem", "{name}");
    }
    let soon = openssl(
        at,
        &[
            "x509",
            "-in",
            "a.example.pem",
            "-noout",
            "-checkend",
            "30000000",
        ],
    );
    assert!(soon.status.success(), "still ends within 347 days");
    let names = openssl(
        at,
        &[
            "x509",
            "-in",
            "server.pem",
            "-noout",
            "-ext",
            "subjectAltName",
        ],
    );
    let names = succeeds(&names);
    assert!(
        names.contains("DNS:crypto.example, IP Address:192.0.2.7"),
        "{names}"
    );
    let client = openssl(
        at,
        &[
            "x509",
            "-in",
            "a.example.pem",
            "-noout",
            "-ext",
            "subjectAltName,extendedKeyUsage",
        ],
    );
    let client = succeeds(&client);
    assert!(
        client.contains("DNS:a.example") && client.contains("Client Authentication"),
        "{client}"
    );
    // A client with the old CA file still accepts the new certificates.
    let by_old = openssl(at, &["verify", "-CAfile", "ca.old", "server.pem"]);
    succeeds(&by_old);
}

#[test]
fn a_folder_of_an_earlier_version_gets_its_list() {
    let home = Home::new();
    let at = home.path();
    for name in ["crl.pem", "issued.pem"] {
        fs::remove_file(at.join(name)).unwrap();
    }
    succeeds(&pki(at, "revoke", &["client"]));
    assert!(!is_good(at, "client.pem"));
    let server = home.serve();
    let out = sign(&home, &server, "client");
    assert_fails(&out, 1, &["revokes the certificate"]);
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let home = Home::new();
    let at = home.path();
    let before = oarlock_testing::names(at);
    let list = fs::read(at.join("crl.pem")).unwrap();
    for (what, arguments, parts) in [
        ("client", &["ca"][..], &["taken"][..]),
        ("client", &["../x"], &["letters, digits"]),
        ("client", &["x", "--days", "0"], &["choose 1 to"]),
        ("renew", &["nobody"], &["nobody.pem", "No such file"]),
        ("revoke", &["nobody"], &["no certificate of \"nobody\""]),
        ("revoke", &["ca"], &["no certificate of \"ca\""]),
    ] {
        assert_fails(&pki(at, what, arguments), 1, parts);
    }
    let nowhere = at.join("nowhere");
    assert_fails(&pki(&nowhere, "client", &["x"]), 1, &["nowhere/ca.pem"]);
    assert_eq!(oarlock_testing::names(at), before);
    assert_eq!(fs::read(at.join("crl.pem")).unwrap(), list);

    let other = Home::new();
    fs::copy(other.path().join("ca.key"), at.join("ca.key")).unwrap();
    let parts = ["ca.key: not the key of the certificate in", "ca.pem"];
    assert_fails(&pki(at, "client", &["x"]), 1, &parts);
    let made = openssl(
        at,
        &[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/O=Example/CN=Another",
        ],
    );
    assert!(made.status.success());
    assert_fails(
        &pki(at, "client", &["x"]),
        1,
        &["ca.pem: not made by oarlock pki init"],
    );
}
