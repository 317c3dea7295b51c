//! Programs that ask OpenSSL for an implementation by a property query of their own.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};

use oarlock_testing::{noise, until};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::age::succeeded;
use crate::common::{
    IV, KEY, ends_soon, free_port, oarlock, provider, read_soon, run, signal, stderr,
};

/// stunnel asks for `provider!=fips`.
#[test]
fn stunnel_gets_it_under_its_own_query() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut openssl = Command::new("openssl");
    openssl.args([
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x",
    ]);
    openssl.arg("-keyout").arg(path("key.pem"));
    succeeded(openssl.arg("-out").arg(path("certificate.pem")));
    let port = free_port();
    let conf = format!(
        "foreground = yes\npid =\nsyslog = no\n[echo]\naccept = 127.0.0.1:{port}\n\
         exec = /bin/cat\nexecArgs = cat\ncert = {}\nkey = {}\n",
        path("certificate.pem").display(),
        path("key.pem").display()
    );
    fs::write(path("stunnel.conf"), conf).unwrap();
    let mut command = oarlock();
    command
        .args(["run", "--stats", "--json", "--provider"])
        .arg(provider());
    command.args(["--", "stunnel4"]).arg(path("stunnel.conf"));
    command.env("OPENSSL_CONF", "").stderr(Stdio::piped());
    let mut stunnel = command.spawn().unwrap();
    until("stunnel listens", || {
        assert!(stunnel.try_wait().unwrap().is_none(), "stunnel has ended");
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    });

    let data = noise(1_000_000);
    let mut client = Command::new("openssl")
        .args([
            "s_client",
            "-quiet",
            "-connect",
            &format!("127.0.0.1:{port}"),
        ])
        .args(["-ciphersuites", "TLS_AES_256_GCM_SHA384"])
        .env("OPENSSL_CONF", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (client.stdin.take().unwrap(), client.stdout.take().unwrap());
    let mut came = vec![0; data.len()];
    std::thread::scope(|scope| {
        scope.spawn(|| to.write_all(&data).unwrap());
        read_soon(&mut from, &mut came);
    });
    assert!(came == data, "what comes back is something else");
    drop((to, from));
    client.kill().unwrap();
    client.wait().unwrap();

    signal(&stunnel, Signal::TERM);
    let output = ends_soon(stunnel);
    let said = stderr(&output);
    let report = said.lines().find(|line| line.starts_with('{'));
    let report: Value = serde_json::from_str(report.unwrap_or_else(|| panic!("{said}"))).unwrap();
    for direction in ["encrypt", "decrypt"] {
        let bytes: u64 = report["lines"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["operation"] == "aes-256-gcm" && it["direction"] == direction)
            .map(|it| it["bytes"].as_u64().unwrap())
            .sum();
        assert!(bytes >= 1_000_000, "{direction}: {report}");
    }
}

#[test]
fn a_query_decides_who_computes() {
    for (query, is_ours) in [
        ("provider!=fips", true),
        ("provider=oarlock", true),
        ("oarlock.accelerated=yes", true),
        ("-fips", true),
        ("provider=default", false),
        ("provider!=oarlock", false),
    ] {
        let mut command = oarlock();
        command
            .args(["run", "--stats", "--json", "--provider"])
            .arg(provider());
        command.args(["--", "openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", IV]);
        let output = run(command.args(["-propquery", query]), &noise(4096));
        assert!(output.status.success(), "{query}: {}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stderr).unwrap();
        let lines = report["lines"].as_array().unwrap();
        assert_eq!(!lines.is_empty(), is_ours, "{query}: {report}");
    }
}

/// Oarlock is not FIPS 140, so no provider matches `fips=yes`.
#[test]
fn no_operation_is_done_for_fips() {
    let folder = tempfile::tempdir().unwrap();
    let made = |arguments: &[&str]| {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(folder.path());
        assert!(run(&mut command, b"").status.success(), "{arguments:?}");
    };
    for (kind, file) in [("X25519", "x"), ("ED25519", "ed")] {
        made(&["genpkey", "-algorithm", kind, "-out", file]);
    }
    let group = "ec_paramgen_curve:P-256";
    made(&[
        "genpkey",
        "-algorithm",
        "EC",
        "-pkeyopt",
        group,
        "-out",
        "p256",
    ]);
    made(&["pkey", "-in", "x", "-pubout", "-out", "x.pub"]);
    fs::write(folder.path().join("digest"), [7; 32]).unwrap();
    let cipher = ["enc", "-aes-256-ctr", "-K", KEY, "-iv", IV, "-in", "digest"];
    for arguments in [
        &cipher[..],
        &[
            "mac",
            "-digest",
            "SHA256",
            "-macopt",
            "hexkey:00",
            "-in",
            "digest",
            "HMAC",
        ],
        &[
            "kdf",
            "-keylen",
            "32",
            "-kdfopt",
            "digest:SHA2-256",
            "-kdfopt",
            "hexkey:00",
            "HKDF",
        ],
        &["genpkey", "-algorithm", "X25519"],
        &["pkeyutl", "-derive", "-inkey", "x", "-peerkey", "x.pub"],
        &["pkeyutl", "-sign", "-inkey", "p256", "-in", "digest"],
        &[
            "pkeyutl", "-sign", "-rawin", "-inkey", "ed", "-in", "digest",
        ],
    ] {
        for (query, is_done) in [("fips=yes", false), ("?fips=yes", true)] {
            let mut command = oarlock();
            command.args(["run", "--provider"]).arg(provider());
            command.args(["--", "openssl"]).current_dir(folder.path());
            // The query comes after the name of the command.
            command.args([arguments[0], "-propquery", query]);
            let output = run(command.args(&arguments[1..]), b"");
            assert_eq!(
                output.status.success() && !output.stdout.is_empty(),
                is_done,
                "{arguments:?} {query}: {}",
                stderr(&output)
            );
        }
    }
}

#[test]
fn doctor_names_the_query_that_excludes_it() {
    let folder = tempfile::tempdir().unwrap();
    let in_arguments = [
        "openssl",
        "enc",
        "-aes-256-ctr",
        "-K",
        KEY,
        "-iv",
        IV,
        "-in",
        "/bin/ls",
    ];
    let in_arguments = [&in_arguments[..], &["-propquery", "provider=default"]].concat();
    assert!(trial_of(&in_arguments).contains("(provider=default), which excludes Oarlock"));

    let program = folder.path().join("program").display().to_string();
    let source = "#include <openssl/evp.h>\nint main(void) {\n\
                  return EVP_CIPHER_fetch(NULL, \"AES-256-GCM\", \"provider=default,fips=no\") == NULL; }";
    let mut gcc = Command::new("gcc");
    gcc.args(["-x", "c", "-", "-o", &program, "-lcrypto"]);
    let built = run(&mut gcc, source.as_bytes());
    assert!(built.status.success(), "{}", stderr(&built));
    let said = trial_of(&["--try", "--", &program]);
    assert!(said.contains("(provider=default,fips=no)"), "{said}");

    let said = trial_of(&["openssl", "dgst", "-sha256", "/dev/null"]);
    assert!(said.contains("none of its algorithms was used"), "{said}");
}

/// Returns doctor's finding on a trial in which nothing went through. Measuring would not change it.
fn trial_of(arguments: &[&str]) -> String {
    let mut command = oarlock();
    command
        .args(["doctor", "--json", "--no-calibrate", "--provider"])
        .arg(provider());
    let output = command
        .args(arguments)
        .env("OPENSSL_CONF", "")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = answer["findings"].as_array().unwrap();
    let of_trial = findings.iter().filter(|it| it["about"] == "trial");
    let said = of_trial.filter(|it| it["state"] == "no");
    said.map(|it| it["text"].as_str().unwrap()).collect()
}
