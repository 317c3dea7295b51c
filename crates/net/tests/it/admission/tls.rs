use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use oarlock_net::pki::PkiRequest;
use oarlock_net::tls::{Identity, ServerTls};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType, date_time_ymd};

use super::common::{FAR, pki, revocation_list, run, tls_files};

fn request(servers: &[&str], clients: &[&str], days: u32) -> PkiRequest {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    PkiRequest {
        server_names: owned(servers),
        clients: owned(clients),
        days,
    }
}

#[test]
fn an_authority_is_made_and_openssl_believes_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("new/pki");
    let made = request(&["localhost", "::1"], &["web-1.example", "ops@team"], 7)
        .init(&at)
        .unwrap();
    let names: Vec<_> = made
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    let expected = [
        "ca.pem",
        "ca.key",
        "server.pem",
        "server.key",
        "web-1.example.pem",
        "web-1.example.key",
        "ops@team.pem",
        "ops@team.key",
        "crl.pem",
        "issued.pem",
    ];
    assert_eq!(names, expected);
    for path in &made {
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let is_key = path.extension().unwrap() == "key";
        assert_eq!(mode & 0o077 == 0, is_key, "{}: {mode:o}", path.display());
    }
    let text = |name: &str| at.join(name).to_str().unwrap().to_owned();
    let ca = text("ca.pem");
    for (purpose, file) in [
        ("sslserver", text("server.pem")),
        ("sslclient", text("web-1.example.pem")),
        ("sslclient", text("ops@team.pem")),
    ] {
        let arguments = [
            "verify",
            "-x509_strict",
            "-CAfile",
            &ca,
            "-purpose",
            purpose,
            &file,
        ];
        run("openssl", &arguments);
    }
    run(
        "openssl",
        &[
            "verify",
            "-CAfile",
            &ca,
            "-verify_ip",
            "::1",
            &text("server.pem"),
        ],
    );
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("web.key"), "mine").unwrap();
    let error = request(&["localhost"], &["web"], 1)
        .init(folder.path())
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("web.key: exists already: choose another directory, or remove it"));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::read(folder.path().join("web.key")).unwrap(), b"mine");
}

#[test]
fn what_cannot_be_a_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = |servers: &[&str], clients: &[&str], days| {
        let request = request(servers, clients, days);
        request.init(folder.path()).unwrap_err().to_string()
    };
    let server = &["localhost"][..];
    assert!(error(&[], &[], 1).contains("no server name"));
    assert!(error(&["a b"], &[], 1).contains("neither a DNS name nor an IP address"));
    for client in ["", "../web", "a/b", ".web", "-rf", "a b", "a\n"] {
        assert!(
            error(server, &[client], 1).contains("letters, digits"),
            "{client:?}"
        );
    }
    for clients in [&["ca"][..], &["server"], &["web", "web"]] {
        assert!(error(server, clients, 1).contains("taken"), "{clients:?}");
    }
    assert!(error(server, &[], 0).contains("choose 1 to 36500"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_identity_is_a_uri_or_else_a_dns_name_or_else_the_common_name() {
    let identity = |common: Option<&str>, names: Vec<SanType>| {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        if let Some(common) = common {
            params.distinguished_name.push(DnType::CommonName, common);
        }
        params.subject_alt_names = names;
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Identity::of(certificate.der()).map(|identity| identity.as_str().to_owned())
    };
    let dns = |name: &str| SanType::DnsName(name.try_into().unwrap());
    let uri = |name: &str| SanType::URI(name.try_into().unwrap());
    let some = |name: &str| Some(name.to_owned());
    let both = vec![
        dns("a.example"),
        uri("spiffe://x/y"),
        uri("spiffe://x/z"),
        dns("b"),
    ];
    assert_eq!(identity(Some("cn"), both), some("spiffe://x/y"));
    let names = vec![
        SanType::IpAddress("127.0.0.1".parse().unwrap()),
        dns("a.example"),
        dns("b.example"),
    ];
    assert_eq!(identity(Some("cn"), names), some("a.example"));
    let address = vec![SanType::IpAddress("127.0.0.1".parse().unwrap())];
    assert_eq!(identity(Some("cn"), address), some("cn"));
    assert_eq!(identity(Some("Zoë"), vec![]), some("Zoë"));
    assert_eq!(identity(None, vec![]), None);
    assert_eq!(identity(Some(""), vec![]), None);
    assert_eq!(identity(Some("a\nadmin"), vec![]), None);
    assert_eq!(identity(Some("cn"), vec![uri("spiffe://x\n")]), None);
    assert_eq!(Identity::of(&b"no certificate".as_slice().into()), None);
}

#[test]
fn wrong_files_are_named_with_what_is_in_them() {
    let folder = pki(&["web"]);
    let path = |name: &str| folder.path().join(name);
    let good = tls_files(folder.path(), "server");
    assert!(good.server().is_ok());
    assert!(tls_files(folder.path(), "web").client().is_ok());

    let error = |change: &dyn Fn(&mut oarlock_net::tls::TlsFiles)| {
        let mut files = good.clone();
        change(&mut files);
        let error = files.server().unwrap_err().to_string();
        assert_eq!(files.client().unwrap_err().to_string(), error);
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(
        error(&|files| files.key = path("web.key")),
        "web.key: not the key of the certificate in server.pem"
    );
    assert_eq!(
        error(&|files| files.key = path("server.pem")),
        "server.pem: no private key in PEM, but CERTIFICATE"
    );
    assert_eq!(
        error(&|files| files.certificate = path("server.key")),
        "server.key: no certificate in PEM, but PRIVATE KEY"
    );
    assert_eq!(
        error(&|files| files.roots = path("none.pem")),
        "none.pem: cannot be read: No such file or directory (os error 2)"
    );
    fs::write(path("empty"), "").unwrap();
    assert_eq!(
        error(&|files| files.roots = path("empty")),
        "empty: no certificate in PEM, but nothing at all"
    );
    fs::write(path("der"), [0x30, 0x82, 0xff]).unwrap();
    assert_eq!(
        error(&|files| files.certificate = path("der")),
        "der: no certificate in PEM, but something else: convert it with openssl x509 or openssl pkey"
    );
    let (key, encrypted) = (path("server.key"), path("encrypted"));
    let [key, encrypted_text] = [&key, &encrypted].map(|path| path.to_str().unwrap());
    run(
        "openssl",
        &[
            "pkcs8",
            "-topk8",
            "-in",
            key,
            "-out",
            encrypted_text,
            "-passout",
            "pass:x",
        ],
    );
    assert!(
        error(&|files| files.key = encrypted.clone()).contains("but an encrypted one: decrypt it")
    );
    let broken = fs::read_to_string(path("server.pem"))
        .unwrap()
        .replace("-----END", "END");
    fs::write(path("broken.pem"), broken).unwrap();
    let said = error(&|files| files.certificate = path("broken.pem"));
    assert!(said.starts_with("broken.pem: broken PEM: "), "{said}");
}

#[test]
fn revocation_lists_that_say_nothing_are_refused() {
    let folder = pki(&["web"]);
    let error = |list: &Path| {
        let mut files = tls_files(folder.path(), "server");
        files.revoked = Some(list.to_owned());
        let error = files.server().unwrap_err().to_string();
        assert_eq!(files.client().unwrap_err().to_string(), error);
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    let path = |name: &str| folder.path().join(name);
    assert_eq!(
        error(&path("none.pem")),
        "none.pem: cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        error(&path("ca.pem")),
        "ca.pem: no revocation list in PEM, but CERTIFICATE"
    );
    let past = error(&revocation_list(folder.path(), &[], "20210102030405Z"));
    assert!(
        past.starts_with("crl.pem: the next update of the revocation list of CN=")
            && past.ends_with("was due at 2021-01-02T03:04:05Z: fetch it"),
        "{past}"
    );
    let list = revocation_list(folder.path(), &["web"], FAR);
    let text = fs::read_to_string(&list).unwrap();
    // The same base64 under another label, and a part of it.
    fs::write(path("odd.pem"), text.replace("X509 CRL", "CERTIFICATE")).unwrap();
    assert!(error(&path("odd.pem")).ends_with("but CERTIFICATE"));
    let certificate = fs::read_to_string(path("ca.pem")).unwrap();
    fs::write(
        path("no.pem"),
        certificate.replace("CERTIFICATE", "X509 CRL"),
    )
    .unwrap();
    let broken = error(&path("no.pem"));
    assert!(
        broken.starts_with("no.pem: not a revocation list of version 2 (RFC 5280): "),
        "{broken}"
    );
}

#[test]
fn certificates_of_another_time_are_named_with_it() {
    let folder = pki(&[]);
    let dated = |from, to| {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        (params.not_before, params.not_after) =
            (date_time_ymd(from, 1, 2), date_time_ymd(to, 3, 4));
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.path().join("dated.pem"), certificate.pem()).unwrap();
        fs::write(folder.path().join("dated.key"), key.serialize_pem()).unwrap();
        let files = tls_files(folder.path(), "dated");
        files.server().unwrap_err().to_string()
    };
    let expired = dated(2001, 2002);
    assert!(
        expired.contains("dated.pem: the certificate of CN="),
        "{expired}"
    );
    assert!(
        expired.ends_with("expired at 2002-03-04T00:00:00Z: renew it"),
        "{expired}"
    );
    let early = dated(2900, 2901);
    assert!(
        early.contains("is valid from 2900-01-02T00:00:00Z on"),
        "{early}"
    );
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    let (first, second) = (pki(&[]), pki(&[]));
    let files = tls_files(first.path(), "server");
    let tls = ServerTls::load(&files).unwrap();
    let before = tls.current();
    fs::remove_file(&files.key).unwrap();
    tls.reload(&files).unwrap_err();
    assert!(Arc::ptr_eq(&before, &tls.current()));
    tls.reload(&tls_files(second.path(), "server")).unwrap();
    assert!(!Arc::ptr_eq(&before, &tls.current()));
}
