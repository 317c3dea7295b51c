//! The tests of `relay` with keys of curves: ECDSA signatures in openssl, nginx and haproxy.

use std::fs;
use std::process::Command;

use oarlock_testing::{lossy, until};

use super::relay::{Site, succeeds};
use crate::common::{oarlock, provider, run, stderr};

#[test]
fn openssl_signs_with_a_key_of_a_curve_that_is_elsewhere() {
    for key_type in ["p256", "p384", "p521"] {
        let site = Site::with(key_type);
        let _relay = site.relay(&[]);
        for digest in ["-sha256", "-sha384", "-sha512", "-sha224"] {
            site.signs(&[digest]);
        }
        // Requests, certificates and messages are signed as well.
        let request = [
            "req",
            "-new",
            "-key",
            "site-key.pem",
            "-subj",
            "/CN=a",
            "-out",
            "request.pem",
        ];
        let issue = [
            "x509",
            "-req",
            "-in",
            "request.pem",
            "-CA",
            "cert.pem",
            "-CAkey",
            "site-key.pem",
            "-CAcreateserial",
            "-out",
            "made.pem",
        ];
        let cms = [
            "cms",
            "-sign",
            "-in",
            "letter",
            "-signer",
            "cert.pem",
            "-inkey",
            "site-key.pem",
            "-out",
            "letter.cms",
        ];
        let verify = [
            "cms",
            "-verify",
            "-in",
            "letter.cms",
            "-CAfile",
            "cert.pem",
            "-purpose",
            "any",
            "-out",
            "/dev/null",
        ];
        for arguments in [&request[..], &issue, &cms, &verify] {
            succeeds(site.program("openssl").args(arguments));
        }
        let public = ["pkey", "-in", "site-key.pem", "-pubout"];
        let public = run(site.program("openssl").args(public), b"");
        let mut own = Command::new("openssl");
        own.args(["pkey", "-in", "keys/web.pem", "-pubout"]);
        let own = run(own.current_dir(site.path()), b"");
        assert_eq!(lossy(&public.stdout), lossy(&own.stdout));
    }
}

#[test]
fn the_private_half_is_nowhere_to_be_had() {
    let site = Site::with("p256");
    let _relay = site.relay(&[]);
    site.signs(&["-sha256"]);
    fs::write(site.path().join("peer.pem"), {
        let peer = ["pkey", "-in", "keys/web.pem", "-pubout"];
        let output = run(
            Command::new("openssl").args(peer).current_dir(site.path()),
            b"",
        );
        output.stdout
    })
    .unwrap();
    for arguments in [
        &["pkey", "-in", "site-key.pem"][..],
        &["ec", "-in", "site-key.pem"],
        &["pkcs8", "-topk8", "-nocrypt", "-in", "site-key.pem"],
        // The key is used for nothing else either.
        &[
            "pkeyutl",
            "-derive",
            "-inkey",
            "site-key.pem",
            "-peerkey",
            "peer.pem",
        ],
        // Other hash functions are the default provider's, which has no private half.
        &["dgst", "-sha3-256", "-sign", "site-key.pem", "letter"],
        &["dgst", "-sha1", "-sign", "site-key.pem", "letter"],
    ] {
        let output = run(site.program("openssl").args(arguments), b"");
        assert!(!output.status.success(), "{arguments:?}");
        assert!(!lossy(&output.stdout).contains("PRIVATE"), "{arguments:?}");
    }
    // Signatures by another machine are counted as such.
    let mut counted = oarlock();
    counted.args(["run", "--stats", "--json", "--provider"]);
    counted.arg(provider());
    counted.arg(format!("--relay={}", site.socket().display()));
    counted.args(["--", "openssl", "dgst", "-sha256", "-sign", "site-key.pem"]);
    counted.args(["-out", "/dev/null", "letter"]);
    let output = run(counted.current_dir(site.path()), b"");
    let told: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(told["rsa_private_operations"]["remotely"], 1, "{told}");
    // The server now has another key of that name.
    let key = site.path().join("keys/web.pem");
    fs::remove_file(&key).unwrap();
    until("the key is withdrawn", || {
        site.is_refused().contains("no key")
    });
    succeeds(oarlock().args(["keygen", "--type", "p256", "-o"]).arg(&key));
    until("it is another one", || {
        let refused = site.is_refused();
        refused.contains("remote key \"web\": the answer is not of this key")
    });
    // Then it has one of another type, so the server refuses the scheme.
    fs::remove_file(&key).unwrap();
    succeeds(oarlock().args(["keygen", "--type", "p384", "-o"]).arg(&key));
    until("it is of another type", || {
        site.is_refused().contains("signs with keys of P-256")
    });
}

/// Covers a P-384 key with the digests that clients of TLS 1.2 prefer, which are those of P-256.
#[test]
fn nginx_and_haproxy_serve_with_a_key_of_a_curve_that_is_elsewhere() {
    for key_type in ["p256", "p384"] {
        let site = Site::with(key_type);
        let _relay = site.relay(&["--allow", "65534=web"]);
        let (_nginx, of_nginx) = site.nginx();
        let (_haproxy, of_haproxy) = site.haproxy();
        for port in [of_nginx, of_haproxy] {
            for version in ["TLSv1_3", "TLSv1_2 ECDHE-ECDSA-AES128-GCM-SHA256"] {
                let failed = site.failures(port, 60, 8, version);
                assert_eq!(failed, 0, "{key_type}: {version}");
            }
        }
    }
}

/// A key that only signs whole messages cannot serve a handshake, so no reference to it exists.
#[test]
fn no_file_stands_for_a_key_that_signs_whole_messages() {
    let site = Site::with("p256");
    let key = site.path().join("keys/other.pem");
    succeeds(
        oarlock()
            .args(["keygen", "--type", "ed25519", "-o"])
            .arg(&key),
    );
    let mut pubkey = oarlock();
    pubkey.args(["pubkey", "--remote", &site.address(), "--key", "other"]);
    pubkey.arg("--reference").arg("--pki").arg(site.path());
    until("the server has it", || {
        let said = stderr(&run(&mut pubkey, b""));
        said.contains("cannot stand for a key of Ed25519")
    });
}
