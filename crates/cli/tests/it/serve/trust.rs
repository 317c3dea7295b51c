//! Messages for a newcomer when TLS fails: which side, which file, and what to do. They cover what the client prints and
//! what the server logs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use oarlock_testing::until;

use super::{Home, Served};
use crate::common::{assert_fails, oarlock, run, stderr};

/// Runs `oarlock sign` with these files and a long timeout: if TLS fails, another attempt would not help.
fn sign(address: &str, certificate: &Path, key: &Path, ca: &Path, more: &[&str]) -> Output {
    let mut sign = oarlock();
    sign.args(["sign", "--remote", address, "--key", "web", "--hex"]);
    sign.args(["--timeout", "3600", "--certificate"])
        .arg(certificate)
        .arg("--private-key")
        .arg(key)
        .arg("--ca")
        .arg(ca)
        .args(more);
    run(&mut sign, b"x")
}

fn openssl(arguments: &[&str]) {
    let output = run(Command::new("openssl").args(arguments), b"");
    assert!(
        output.status.success(),
        "openssl {arguments:?}: {}",
        stderr(&output)
    );
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Creates a certificate for localhost, issued by the CA in `home` with openssl, that expired in 2002.
fn expired(home: &Path) -> (PathBuf, PathBuf) {
    let at = home.display();
    let config = home.join("openssl.cnf");
    let request = "database = index.txt\nrand_serial = yes\ndefault_md = sha256\npolicy = any\n\
                   copy_extensions = copy\n[any]\ncommonName = supplied\n";
    let request = request.replace("index.txt", &format!("{at}/index.txt"));
    let of_ca =
        format!("certificate = {at}/ca.pem\nprivate_key = {at}/ca.key\nnew_certs_dir = {at}\n");
    let whole = format!("[ca]\ndefault_ca = own\n[own]\n{of_ca}{request}");
    fs::write(&config, whole).unwrap();
    fs::write(home.join("index.txt"), "").unwrap();
    let [key, csr, pem] = ["old.key", "old.csr", "old.pem"].map(|name| home.join(name));
    openssl(
        &[
            &NEW_KEY[..],
            &[
                "-keyout",
                text(&key),
                "-subj",
                "/CN=old",
                "-addext",
                "subjectAltName=DNS:localhost",
                "-out",
                text(&csr),
            ],
        ]
        .concat(),
    );
    openssl(&[
        "ca",
        "-batch",
        "-notext",
        "-config",
        text(&config),
        "-in",
        text(&csr),
        "-out",
        text(&pem),
        "-startdate",
        "20010101000000Z",
        "-enddate",
        "20020101000000Z",
    ]);
    (pem, key)
}

/// `openssl s_server`, which ends on drop.
struct Peer {
    child: Child,
    address: String,
}

impl Peer {
    fn start(certificate: &Path, key: &Path, more: &[&str]) -> Self {
        let mut peer = Command::new("openssl");
        peer.args([
            "s_server",
            "-accept",
            "127.0.0.1:0",
            "-cert",
            text(certificate),
        ])
        .args(["-key", text(key)])
        .args(more)
        // The server ends when its standard input does.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
        let mut child = peer.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let line = lines.find(|line| line.starts_with("ACCEPT ")).unwrap();
        let (_, port) = line.rsplit_once(':').unwrap();
        Self {
            child,
            address: format!("localhost:{port}"),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until_logged(server: &Served, what: &str) {
    until(what, || server.log().contains(what));
}

#[test]
fn who_is_not_trusted_learns_which_file_to_change() {
    let (home, other) = (Home::new(), Home::new());
    let server = home.serve();
    let address = format!("localhost:{}", server.address.port());
    let at = |home: &Home, name: &str| home.path().join(name);
    let [own, key, ca] = ["client.pem", "client.key", "ca.pem"].map(|name| at(&home, name));
    let signed = sign(&address, &own, &key, &ca, &[]);
    assert!(signed.status.success(), "{}", stderr(&signed));

    // A CA with another name, and one with the same name.
    let [same, same_key] = ["same.pem", "same.key"].map(|name| at(&other, name));
    let subject = run(
        Command::new("openssl")
            .args(["x509", "-noout", "-subject", "-nameopt", "compat", "-in"])
            .arg(&ca),
        b"",
    );
    let subject = String::from_utf8(subject.stdout).unwrap();
    let subject = subject.trim().trim_start_matches("subject=");
    assert!(subject.starts_with("/CN=Oarlock test CA "), "{subject}");
    openssl(
        &[
            &NEW_KEY[..],
            &[
                "-x509",
                "-subj",
                subject,
                "-keyout",
                text(&same_key),
                "-out",
                text(&same),
            ],
        ]
        .concat(),
    );
    for wrong in [&at(&other, "ca.pem"), &same] {
        let told = sign(&address, &own, &key, wrong, &[]);
        let what = format!(
            "no CA in {} issued the server's certificate",
            wrong.display()
        );
        assert_fails(&told, 1, &[&address.replace(':', " (127.0.0.1:"), &what]);
    }
    until_logged(&server, "the client's CA file lacks the CA that issued ");

    let [foreign, foreign_key] = ["client.pem", "client.key"].map(|name| at(&other, name));
    let [of_same, csr] = ["of-same.pem", "of-same.csr"].map(|name| at(&other, name));
    let of_same_key = at(&other, "of-same.key");
    openssl(
        &[
            &NEW_KEY[..],
            &[
                "-subj",
                "/CN=client",
                "-keyout",
                text(&of_same_key),
                "-out",
                text(&csr),
            ],
        ]
        .concat(),
    );
    let by_same = |more: &[&str]| {
        let request = [
            "x509",
            "-req",
            "-in",
            text(&csr),
            "-CA",
            text(&same),
            "-CAkey",
            text(&same_key),
            "-CAcreateserial",
            "-out",
            text(&of_same),
        ];
        openssl(&[&request[..], more].concat());
    };
    by_same(&[]);
    let told = sign(&address, &of_same, &of_same_key, &ca, &[]);
    assert_fails(&told, 1, &[text(&of_same), "not of version 3", "-extfile"]);
    let extensions = at(&other, "extensions");
    fs::write(&extensions, "extendedKeyUsage = clientAuth\n").unwrap();
    by_same(&["-extfile", text(&extensions)]);
    for (certificate, key) in [(&foreign, &foreign_key), (&of_same, &of_same_key)] {
        let told = sign(&address, certificate, key, &ca, &[]);
        let what = format!(
            "the server does not accept the certificate in {}: no CA in its `client_ca` issued it",
            certificate.display()
        );
        assert_fails(&told, 1, &[&what]);
    }
    until_logged(&server, "(client_ca) issued the client's certificate");
    assert!(server.log().contains(text(&ca)), "{}", server.log());

    let told = sign(
        &address,
        &own,
        &key,
        &ca,
        &["--server-name", "other.example"],
    );
    let what = "is for localhost, 127.0.0.1, ::1, not for other.example";
    assert_fails(&told, 1, &[what]);
    let told = sign(&address, &own, &key, &ca, &["--server-name", "no name"]);
    assert_fails(
        &told,
        1,
        &["server name \"no name\": neither a DNS name nor an IP address"],
    );

    let told = sign(&address, &own, &foreign_key, &ca, &[]);
    let what = format!("not the key of the certificate in {}", own.display());
    assert_fails(&told, 1, &[text(&foreign_key), &what]);
    let [of_server, key_of_server] = ["server.pem", "server.key"].map(|name| at(&home, name));
    let told = sign(&address, &of_server, &key_of_server, &ca, &[]);
    assert_fails(&told, 1, &[text(&of_server), "is not for clients"]);

    let mut plain = oarlock();
    plain
        .args(["sign", "--remote", &address, "--key", "web", "--hex"])
        .args(["--timeout", "3600", "--plaintext"]);
    assert_fails(&run(&mut plain, b"x"), 1, &["the server requires TLS"]);
}

#[test]
fn who_is_out_of_date_learns_which_file_to_renew() {
    let home = Home::new();
    let (old, old_key) = expired(home.path());
    let at = |name: &str| home.path().join(name);
    let [own, key, ca] = ["client.pem", "client.key", "ca.pem"].map(at);

    // Each side checks its own certificate first.
    let told = sign("localhost:1", &old, &old_key, &ca, &[]);
    let what = "expired at 2002-01-01T00:00:00Z: renew it";
    assert_fails(&told, 1, &[text(&old), what]);
    let right = fs::read_to_string(home.config()).unwrap();
    let check = |certificate: &str, key: &str| {
        let text = right.replace("\"server.pem\"", &format!("{certificate:?}"));
        fs::write(
            home.config(),
            text.replace("\"server.key\"", &format!("{key:?}")),
        )
        .unwrap();
        let mut check = oarlock();
        check
            .args(["serve", "--check", "--config"])
            .arg(home.config());
        run(&mut check, b"")
    };
    assert_fails(&check("old.pem", "old.key"), 1, &["old.pem", what]);
    let what = "not the key of the certificate in";
    assert_fails(
        &check("server.pem", "old.key"),
        1,
        &["old.key", what, "server.pem"],
    );
    fs::write(home.config(), &right).unwrap();

    // Then it checks the other's, which openssl shows it.
    let server = home.serve();
    let mut client = Command::new("openssl");
    client
        .args([
            "s_client",
            "-connect",
            &server.address.to_string(),
            "-alpn",
            "h2",
        ])
        .args(["-cert", text(&old), "-key", text(&old_key)]);
    run(&mut client, b"");
    until_logged(
        &server,
        "the client's certificate expired at 2002-01-01T00:00:00Z",
    );
    let peer = Peer::start(&old, &old_key, &["-tls1_3", "-alpn", "h2"]);
    let told = sign(&peer.address, &own, &key, &ca, &[]);
    let what = "the server's certificate expired at 2002-01-01T00:00:00Z: renew it on the server";
    assert_fails(&told, 1, &[what]);
}

#[test]
fn who_speaks_something_else_is_told_what_is_missing() {
    let home = Home::new();
    let at = |name: &str| home.path().join(name);
    let [own, key, ca] = ["client.pem", "client.key", "ca.pem"].map(at);
    let [of_server, key_of_server] = ["server.pem", "server.key"].map(at);
    for (options, what) in [
        (&["-tls1_2", "-alpn", "h2"][..], "offers no TLS 1.3"),
        (&["-tls1_3", "-alpn", "http/1.1"], "does not speak HTTP/2"),
    ] {
        let peer = Peer::start(&of_server, &key_of_server, options);
        assert_fails(&sign(&peer.address, &own, &key, &ca, &[]), 1, &[what]);
    }
    home.configure(|text| {
        let (before, rest) = text.split_once("[tls]").unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        format!("plaintext = true\n{before}{after}")
    });
    let server = home.serve();
    let address = format!("localhost:{}", server.address.port());
    let told = sign(&address, &own, &key, &ca, &[]);
    assert_fails(&told, 1, &["does not speak TLS", "`plaintext`"]);
}

/// The arguments for a certificate request, or with `-x509` for a self-signed certificate.
const NEW_KEY: [&str; 7] = [
    "req",
    "-new",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
];
