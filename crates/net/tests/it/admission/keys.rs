use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oarlock::keys::{Curve, KeyType, MlDsa, PrivateKey};
use oarlock::rsa::RsaPrivateKey;
use oarlock_net::server::config::{KeyConfig, Secret, TokenKey};
use oarlock_net::server::keys::{KeyStore, Tokens};
use oarlock_testing::until;
use tempfile::TempDir;

use super::common::{Log, run};

fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../oarlock/tests/keys")
        .join(name)
}

fn put(name: &str, at: &Path) {
    fs::write(at, fs::read(pem(name)).unwrap()).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o600)).unwrap();
}

fn file(id: &str, path: PathBuf, passphrase: Option<Secret>) -> KeyConfig {
    let id = id.to_owned();
    KeyConfig::File {
        id,
        path,
        passphrase,
    }
}

fn directory(path: &Path) -> KeyConfig {
    KeyConfig::Directory {
        path: path.to_owned(),
        passphrase: None,
        is_managed: false,
    }
}

fn no_tokens(device: &str) -> Result<Vec<(String, RsaPrivateKey)>, String> {
    Err(format!("{device} is not there"))
}

fn load(keys: &[KeyConfig]) -> KeyStore {
    KeyStore::load(keys, &no_tokens).unwrap()
}

fn error(keys: &[KeyConfig], tokens: &Tokens<'_>) -> String {
    KeyStore::load(keys, tokens).unwrap_err().to_string()
}

fn ids(store: &KeyStore) -> Vec<String> {
    let keys = store.current();
    keys.iter().map(|(id, _)| id.to_owned()).collect()
}

fn skipped(store: &KeyStore) -> usize {
    store.current().skipped()
}

fn bits(store: &KeyStore, id: &str) -> Option<usize> {
    let keys = store.current();
    let key = keys.get(id)?.as_rsa()?;
    Some(key.public_key().bits())
}

#[test]
fn keys_of_every_format_are_read() {
    let folder = TempDir::new().unwrap();
    let combined = folder.path().join("combined");
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let key = fs::read_to_string(pem("rsa3072.pem")).unwrap();
    fs::write(&combined, format!("{certificate}{key}{certificate}")).unwrap();
    let store = load(&[
        file("pkcs8", pem("rsa2048.pem"), None),
        file("pkcs1", pem("rsa2048.pkcs1.pem"), None),
        file("openssh", pem("rsa2048.openssh"), None),
        file("combined", combined, None),
    ]);
    let keys = store.current();
    for id in ["pkcs1", "openssh"] {
        let [one, other] = [id, "pkcs8"].map(|id| keys.get(id).unwrap().public_key());
        assert_eq!(one, other);
    }
    assert_eq!(bits(&store, "combined"), Some(3072));
    assert!(keys.get("none").is_none());
}

/// Covers the output of openssl in each of its formats, and of this library.
#[test]
fn keys_that_are_no_rsa_keys_are_read() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let curve = ["genpkey", "-algorithm", "EC", "-pkeyopt"];
    for (name, group) in [("p256", "P-256"), ("p384", "P-384"), ("p521", "P-521")] {
        let group = format!("ec_paramgen_curve:{group}");
        let pkcs8 = at(&format!("{name}.pem"));
        run("openssl", &[&curve[..], &[&group, "-out", &pkcs8]].concat());
        let sec1 = at(&format!("{name}-sec1.pem"));
        run("openssl", &["ec", "-in", &pkcs8, "-out", &sec1]);
        let text = fs::read_to_string(&sec1).unwrap();
        assert!(text.contains("BEGIN EC PRIVATE KEY"), "{text}");
        let encrypted = at(&format!("{name}-encrypted.pem"));
        let topk8 = ["pkcs8", "-topk8", "-passout", "pass:correct horse", "-in"];
        run(
            "openssl",
            &[&topk8[..], &[&pkcs8, "-out", &encrypted]].concat(),
        );
    }
    run(
        "openssl",
        &[
            "genpkey",
            "-algorithm",
            "ED25519",
            "-out",
            &at("ed25519.pem"),
        ],
    );
    for set in MlDsa::ALL {
        let key = PrivateKey::generate(KeyType::MlDsa(set)).unwrap();
        fs::write(
            at(&format!("{}.pem", set.name())),
            &*key.to_pkcs8_pem().unwrap(),
        )
        .unwrap();
    }
    fs::write(at("pass"), "correct horse\n").unwrap();
    let store = load(&[KeyConfig::Directory {
        path: folder.path().to_owned(),
        passphrase: Some(Secret::File(at("pass").into())),
        is_managed: false,
    }]);
    let keys = store.current();
    let types: Vec<_> = keys.iter().map(|(id, key)| (id, key.type_name())).collect();
    let expected = [
        ("ML-DSA-44", "ML-DSA-44"),
        ("ML-DSA-65", "ML-DSA-65"),
        ("ML-DSA-87", "ML-DSA-87"),
        ("ed25519", "Ed25519"),
        ("p256", "P-256"),
        ("p256-encrypted", "P-256"),
        ("p256-sec1", "P-256"),
        ("p384", "P-384"),
        ("p384-encrypted", "P-384"),
        ("p384-sec1", "P-384"),
        ("p521", "P-521"),
        ("p521-encrypted", "P-521"),
        ("p521-sec1", "P-521"),
    ];
    assert_eq!(types, expected);
    for name in ["p256", "p384", "p521"] {
        let public = |id: String| keys.get(&id).unwrap().public_key();
        let plain = public(name.to_owned());
        for other in ["sec1", "encrypted"] {
            assert_eq!(public(format!("{name}-{other}")), plain);
        }
    }
}

/// A wrong half would produce signatures that fail to verify.
#[test]
fn halves_that_do_not_belong_together_are_refused_when_they_are_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("web.pem");
    let [one, other] = [(); 2].map(|()| PrivateKey::generate(KeyType::Ec(Curve::P256)).unwrap());
    let der_of = |key: &PrivateKey| {
        let pem = key.to_pkcs8_pem().unwrap();
        pkcs8::SecretDocument::from_pem(&pem)
            .unwrap()
            .1
            .as_bytes()
            .to_vec()
    };
    let (mut mixed, point) = (der_of(&one), other.public_key().to_raw().unwrap());
    let own = one.public_key().to_raw().unwrap();
    let place = mixed
        .windows(own.len())
        .position(|part| part == own)
        .unwrap();
    mixed[place..][..own.len()].copy_from_slice(&point);
    let label = "PRIVATE KEY";
    let mixed = pkcs8::der::pem::encode_string(label, pkcs8::LineEnding::LF, &mixed).unwrap();
    fs::write(&path, mixed).unwrap();
    let refused = error(&[file("web", path.clone(), None)], &no_tokens);
    assert!(refused.contains("web.pem: "), "{refused}");
    for key_type in KeyType::ALL.into_iter().filter(|one| !one.signs()) {
        let key = PrivateKey::generate(key_type).unwrap();
        fs::write(&path, &*key.to_pkcs8_pem().unwrap()).unwrap();
        let refused = error(&[file("web", path.clone(), None)], &no_tokens);
        let expected = format!("a key of {key_type}, which signs nothing");
        assert!(refused.contains(&expected), "{refused}");
    }
}

#[test]
fn encrypted_keys_need_their_passphrase() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("right"), "correct horse\n").unwrap();
    fs::write(at("wrong"), "battery staple\n").unwrap();
    let source = pem("rsa2048.pem");
    for (name, options) in [("pbkdf2", &["-v2", "aes256"][..]), ("scrypt", &["-scrypt"])] {
        let path = at(name);
        let mut arguments = vec!["pkcs8", "-topk8", "-passout", "pass:correct horse"];
        arguments.extend([
            "-in",
            source.to_str().unwrap(),
            "-out",
            path.to_str().unwrap(),
        ]);
        arguments.extend(options);
        run("openssl", &arguments);
        let key = |secret: &str| [file("web", path.clone(), Some(Secret::File(at(secret))))];
        assert_eq!(bits(&load(&key("right")), "web"), Some(2048));
        let wrong = error(&key("wrong"), &no_tokens);
        assert!(
            wrong.contains(name) && wrong.contains("a wrong passphrase"),
            "{wrong}"
        );
        let none = error(&[file("web", path.clone(), None)], &no_tokens);
        assert!(none.ends_with(
            "encrypted: give its [[key]] passphrase_file or passphrase_env, or decrypt it with openssl pkey"
        ), "{none}");
        let gone = error(&key("gone"), &no_tokens);
        assert!(gone.contains("gone: cannot be read"), "{gone}");
    }
}

#[test]
fn a_key_that_cannot_sign_is_refused_when_it_is_read() {
    let composite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/admission/composite.pem");
    let key = RsaPrivateKey::from_pem(&fs::read_to_string(&composite).unwrap());
    assert!(key.is_ok(), "its numbers agree with each other");
    let refused = error(&[file("web", composite, None)], &no_tokens);
    assert!(refused.contains("the key does not sign"), "{refused}");
}

#[test]
fn versions_in_one_file_are_numbered_in_order_and_of_one_type() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("web.pem");
    let web = [file("web", path.clone(), None)];
    let [one, two] =
        ["rsa2048.pem", "rsa3072.pem"].map(|name| fs::read_to_string(pem(name)).unwrap());
    let other = PrivateKey::generate(KeyType::Ec(Curve::P256)).unwrap();
    let other = other.to_pkcs8_pem().unwrap();
    let put = |text: &str| fs::write(&path, text).unwrap();
    put(&format!("# version: 3\n{one}\nwords\n# version: 7 \n{two}"));
    let keys = load(&web).current();
    let key = keys.get("web").unwrap();
    assert_eq!(
        (key.version(), key.as_rsa().unwrap().public_key().bits()),
        (7, 3072)
    );
    let older = key.as_versions().unwrap().older();
    let older: Vec<_> = older
        .iter()
        .map(|(number, key)| (*number, key.key_type()))
        .collect();
    assert_eq!(older, [(3, KeyType::Rsa)]);
    for (text, expected) in [
        (
            format!("# version: 2\n{one}# version: 1\n{two}"),
            "do not ascend",
        ),
        (
            format!("# version: 1\n{one}# version: 1\n{two}"),
            "do not ascend",
        ),
        (
            format!("# version: 1\n{one}{two}"),
            "more than one private key",
        ),
        (format!("# version: 0\n{one}"), "without a number from 1 on"),
        (
            format!("# version: 1\n{one}# version: 2\n{}", &*other),
            "different types",
        ),
    ] {
        put(&text);
        let said = error(&web, &no_tokens);
        assert!(said.contains(expected), "{said}");
    }
    let many: String = (1..=65)
        .map(|number| format!("# version: {number}\n{}", &*other))
        .collect();
    put(&many);
    assert!(error(&web, &no_tokens).contains("more than 64 versions"));
}

#[test]
fn what_is_no_key_is_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("web.pem");
    let web = [file("web", path.clone(), None)];
    let key = fs::read_to_string(pem("rsa2048.pem")).unwrap();
    let half = &key[..key.len() / 2];
    let pair = format!("{key}{key}");
    let wrong = [
        ("", "neither a private key in PEM"),
        (
            "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
            "neither a private key in PEM",
        ),
        (half, "broken PEM: PRIVATE KEY without its last line"),
        ("-----BEGIN PRIV", "broken PEM: the first line has no end"),
        (&pair, "more than one private key"),
        (&"x".repeat(300_000), "not a key"),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "not a PKCS#8 private key",
        ),
    ];
    for (text, expected) in wrong {
        fs::write(&path, text).unwrap();
        let said = error(&web, &no_tokens);
        assert!(said.starts_with(&format!("{}: ", path.display())), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    fs::remove_file(&path).unwrap();
    run("mkfifo", &[path.to_str().unwrap()]);
    assert!(error(&web, &no_tokens).ends_with("not a regular file"));
    assert!(error(&[directory(&path)], &no_tokens).contains("cannot be read"));
}

#[test]
fn two_keys_of_one_id_are_named_and_the_first_one_stays() {
    let folder = TempDir::new().unwrap();
    let (one, other) = (folder.path().join("web.key"), folder.path().join("web.pem"));
    put("rsa2048.pem", &one);
    put("rsa3072.pem", &other);
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let store = load(&[directory(folder.path())]);
    assert_eq!((bits(&store, "web"), skipped(&store)), (Some(2048), 1));
    let expected = format!(
        "key \"web\" comes from {} and from {}: rename one of them; keeping the first one\n",
        one.display(),
        other.display()
    );
    assert_eq!(log.text(), expected);
    fs::remove_file(&other).unwrap();
    // A key that is listed by itself precedes those of directories.
    let listed = [
        directory(folder.path()),
        file("web", pem("rsa1024.pem"), None),
    ];
    let store = load(&listed);
    assert_eq!((bits(&store, "web"), skipped(&store)), (Some(1024), 1));
    let twice = [
        file("web", one, None),
        file("web", pem("rsa1024.pem"), None),
    ];
    let said = error(&twice, &no_tokens);
    assert!(said.contains("rsa1024.pem: rename one of them"), "{said}");
}

/// Covers each path on which a wrong file is found: at the start, by the watch, by a reload, and at a later start. The file
/// may be wrong in any way, and may have been right before.
#[test]
fn a_wrong_file_in_a_directory_is_named_skipped_and_counted_at_any_time() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    put("rsa2048.pem", &at("good.pem"));
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let listed = [directory(folder.path())];
    let running = load(&listed);
    assert_eq!((skipped(&running), log.text()), (0, String::new()));

    let path = at("x25519.pem");
    let made = ["genpkey", "-algorithm", "X25519", "-out"];
    run("openssl", &[&made[..], &[path.to_str().unwrap()]].concat());
    fs::copy(
        pem("../../../net/tests/it/admission/composite.pem"),
        at("composite.pem"),
    )
    .unwrap();
    fs::write(at("half.key"), "-----BEGIN PRIVATE KEY-----\n").unwrap();
    fs::write(at("no*id.pem"), "").unwrap();
    let wrong = ["x25519.pem", "composite.pem", "half.key", "no*id.pem"];
    let named = |log: &Log| {
        let text = log.text();
        wrong.map(|name| {
            let start = format!("{}: ", at(name).display());
            text.lines()
                .any(|line| line.starts_with(&start) && line.contains("skipped"))
        })
    };
    // While the server runs.
    running.refresh();
    assert_eq!(named(&log), [true; 4], "{}", log.text());
    assert_eq!(
        (ids(&running), skipped(&running)),
        (vec!["good".to_owned()], 4)
    );
    // At a reload.
    running.reload(&listed, &no_tokens).unwrap();
    assert_eq!(
        (ids(&running), skipped(&running)),
        (vec!["good".to_owned()], 4)
    );
    // At a start.
    let fresh = Log::default();
    let started = tracing::subscriber::with_default(fresh.clone(), || load(&listed));
    assert_eq!(named(&fresh), [true; 4], "{}", fresh.text());
    assert_eq!(
        (ids(&started), skipped(&started)),
        (vec!["good".to_owned()], 4)
    );
    // Its earlier key stays, and the file counts.
    fs::write(at("good.pem"), "half").unwrap();
    running.refresh();
    assert_eq!(
        (ids(&running), skipped(&running)),
        (vec!["good".to_owned()], 5)
    );
    // Files that are repaired or removed no longer count.
    put("rsa3072.pem", &at("x25519.pem"));
    put("rsa2048.pem", &at("good.pem"));
    for name in &wrong[1..] {
        fs::remove_file(at(name)).unwrap();
    }
    for store in [&running, &started] {
        store.refresh();
        let expected = vec!["good".to_owned(), "x25519".to_owned()];
        assert_eq!((ids(store), skipped(store)), (expected, 0));
    }
}

#[test]
fn keys_that_others_may_read_are_warned_of() {
    let folder = TempDir::new().unwrap();
    for (name, mode) in [
        ("open.pem", 0o644),
        ("group.pem", 0o640),
        ("own.pem", 0o600),
    ] {
        let path = folder.path().join(name);
        put("rsa2048.pem", &path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || load(&[directory(folder.path())]));
    let warning = format!(
        "{}: others may read or write this key: chmod o-rwx\n",
        folder.path().join("open.pem").display()
    );
    assert_eq!(log.text(), warning);
}

#[test]
fn tokens_give_their_keys_by_label() {
    let key = |name| RsaPrivateKey::from_pem(&fs::read_to_string(pem(name)).unwrap()).unwrap();
    let tokens = |device: &str| match device {
        "hsm" => Ok(vec![
            ("root".to_owned(), key("rsa2048.pem")),
            ("bad*".to_owned(), key("rsa3072.pem")),
            ("twice".to_owned(), key("rsa2048.pem")),
            ("twice".to_owned(), key("rsa3072.pem")),
        ]),
        other => Err(format!("{other} is not there")),
    };
    let token = |device: &str, label: &str| KeyConfig::Token {
        device: device.to_owned(),
        key: Some(TokenKey {
            label: label.to_owned(),
            id: "ours".to_owned(),
        }),
    };
    let store = KeyStore::load(&[token("hsm", "root")], &tokens).unwrap();
    assert_eq!(bits(&store, "ours"), Some(2048));
    let none = error(&[token("hsm", "leaf")], &tokens);
    assert!(
        none.contains("no key with label \"leaf\": it has [\"root\""),
        "{none}"
    );
    assert!(error(&[token("hsm", "twice")], &tokens).contains("two keys with label"));
    assert_eq!(
        error(&[token("other", "root")], &tokens),
        "keys of device \"other\": other is not there"
    );
    let all = KeyConfig::Token {
        device: "hsm".to_owned(),
        key: None,
    };
    assert!(error(&[all], &tokens).contains("key \"twice\" comes from device"));
}

#[test]
fn a_reload_swaps_all_or_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("web.pem");
    put("rsa2048.pem", &path);
    let listed = [directory(folder.path())];
    let store = load(&listed);
    let before = store.current();

    let failing = [
        directory(folder.path()),
        file("other", folder.path().join("none"), None),
    ];
    store.reload(&failing, &no_tokens).unwrap_err();
    assert!(Arc::ptr_eq(&before, &store.current()));
    // A file that is wrong now leaves its key in use; a fresh start has none.
    fs::write(&path, "half").unwrap();
    let with_other = [
        directory(folder.path()),
        file("other", pem("rsa3072.pem"), None),
    ];
    store.reload(&with_other, &no_tokens).unwrap();
    assert_eq!(ids(&store), ["other", "web"]);
    assert!(ids(&load(&listed)).is_empty());
    // Snapshots do not change.
    assert_eq!(before.iter().count(), 1);
}

#[test]
fn a_directory_is_followed() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    put("rsa2048.pem", &at("web.pem"));
    fs::write(
        at("chain.pem"),
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    fs::write(at("README"), "not a key").unwrap();
    put("rsa3072.pem", &at(".hidden.pem"));
    let store = Arc::new(load(&[
        directory(folder.path()),
        file("fixed", pem("rsa1024.pem"), None),
    ]));
    assert_eq!(ids(&store), ["fixed", "web"]);
    let watch = store.watch();

    put("rsa3072.pem", &at("batch.key"));
    until("a key that was added", || {
        bits(&store, "batch") == Some(3072)
    });
    // First replaced as a careful rotation does it, then overwritten as a careless one does.
    put("rsa4096.pem", &at("next"));
    fs::rename(at("next"), at("web.pem")).unwrap();
    until("a key that was renamed to its place", || {
        bits(&store, "web") == Some(4096)
    });
    put("rsa3072.pem", &at("web.pem"));
    until("a key that was written over", || {
        bits(&store, "web") == Some(3072)
    });

    // Wrong files leave the earlier keys in use; the new key shows that the directory was read.
    fs::write(at("web.pem"), "-----BEGIN PRIVATE KEY-----\nhalf").unwrap();
    fs::write(at("wrong.pem"), "never right").unwrap();
    put("rsa2048.pem", &at("fixed.pem"));
    put("rsa2048.pem", &at("later.pem"));
    until("a key among wrong ones", || {
        bits(&store, "later") == Some(2048)
    });
    assert_eq!(ids(&store), ["batch", "fixed", "later", "web"]);
    assert_eq!(bits(&store, "web"), Some(3072));
    assert_eq!(bits(&store, "fixed"), Some(1024));
    put("rsa2048.pem", &at("web.pem"));
    until("a key that was mended", || {
        bits(&store, "web") == Some(2048)
    });

    fs::remove_file(at("batch.key")).unwrap();
    until("a key that was removed", || bits(&store, "batch").is_none());
    // The directory itself is moved away: the keys stay.
    let held = store.current();
    fs::rename(folder.path(), folder.path().with_extension("away")).unwrap();
    store.refresh();
    assert_eq!(held.iter().count(), store.current().iter().count());
    fs::rename(folder.path().with_extension("away"), folder.path()).unwrap();
    drop(watch);
}

/// Replaces keys the way the kubelet replaces a mounted secret: files are links into `..data`, which is a link to a
/// timestamped directory and is renamed over.
#[test]
fn a_secret_of_kubernetes_is_followed() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let publish = |moment: &str, key: &str| {
        fs::create_dir(at(moment)).unwrap();
        put(key, &at(moment).join("web.pem"));
        symlink(moment, at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
    };
    publish("..2026_01", "rsa2048.pem");
    symlink("..data/web.pem", at("web.pem")).unwrap();
    let store = Arc::new(load(&[directory(folder.path())]));
    assert_eq!(bits(&store, "web"), Some(2048));
    let _watch = store.watch();
    publish("..2026_02", "rsa3072.pem");
    fs::remove_dir_all(at("..2026_01")).unwrap();
    until("the new secret", || bits(&store, "web") == Some(3072));
    publish("..2026_03", "rsa4096.pem");
    until("the next one", || bits(&store, "web") == Some(4096));
    assert_eq!(ids(&store), ["web"]);
}
