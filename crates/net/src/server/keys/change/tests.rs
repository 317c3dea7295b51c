//! Changes of keys in a directory, without a server.

use std::fs::File;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use oarlock::keys::{Curve, KeyType, PrivateKey};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::super::super::config::KeyConfig;
use super::*;

const ROOM: Room<'_> = Room {
    keys_max: 10,
    own_max: 10,
    is_own: &|_| true,
};
const P256: KeyType = KeyType::Ec(Curve::P256);

fn managed() -> (TempDir, [KeyConfig; 1], KeyStore) {
    let folder = tempfile::tempdir().unwrap();
    let configs = [KeyConfig::Directory {
        path: folder.path().to_owned(),
        passphrase: None,
        is_managed: true,
    }];
    let store = KeyStore::load(&configs, &|_| Ok(Vec::new())).unwrap();
    (folder, configs, store)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn made() -> Made {
    Made::Private(PrivateKey::generate(P256).unwrap())
}

fn create(store: &KeyStore, id: &str) -> Result<Arc<Keys>, Refusal> {
    let change = Change::Create(Kind::Private(P256));
    store.change(id, change, Some(&made()), &ROOM, soon())
}

/// Whether a key is served, or refused because it is disabled.
fn state(store: &KeyStore, id: &str) -> Option<bool> {
    let keys = store.current();
    keys.entry(id).map(|entry| !entry.is_disabled)
}

/// A reload reads all keys before it puts them into use, and a client may change one in between.
#[test]
fn a_reload_undoes_no_change() {
    let (_folder, configs, store) = managed();
    create(&store, "web").unwrap();
    let read = || store.read_again(&configs, &|_| Ok(Vec::new())).unwrap();
    let fresh = read();
    store
        .change("web", Change::Disable, None, &ROOM, soon())
        .unwrap();
    store.take_over(fresh);
    assert_eq!(state(&store, "web"), Some(false));
    let fresh = read();
    store
        .change("web", Change::Enable, None, &ROOM, soon())
        .unwrap();
    create(&store, "other").unwrap();
    store.take_over(fresh);
    assert_eq!(
        [state(&store, "web"), state(&store, "other")],
        [Some(true); 2]
    );
}

/// A file is copied back while its key is disabled, as from a backup.
#[test]
fn a_disabled_key_stays_so_next_to_a_copy() {
    let (folder, configs, store) = managed();
    create(&store, "web").unwrap();
    let path = folder.path().join("web.pem");
    let copy = fs::read(&path).unwrap();
    store
        .change("web", Change::Disable, None, &ROOM, soon())
        .unwrap();
    fs::write(&path, copy).unwrap();
    store.refresh();
    assert_eq!(state(&store, "web"), Some(false));
    let again = KeyStore::load(&configs, &|_| Ok(Vec::new())).unwrap();
    assert_eq!(
        (state(&again, "web"), again.current().skipped()),
        (Some(false), 1)
    );
    // It would replace the copy.
    let refused = store
        .change("web", Change::Enable, None, &ROOM, soon())
        .unwrap_err();
    assert_eq!(refused.code, Code::AlreadyExists);
}

/// The file may change between the check of a request and its turn.
#[test]
fn what_was_generated_for_another_key_is_not_written() {
    let (folder, _, store) = managed();
    create(&store, "web").unwrap();
    let ed25519 = Made::Private(PrivateKey::generate(KeyType::Ed25519).unwrap());
    let refused = store.change("web", Change::Rotate(1), Some(&ed25519), &ROOM, soon());
    assert_eq!(refused.unwrap_err().code, Code::FailedPrecondition);
    let path = folder.path().join("web.pem");
    let kept = folder.path().join("kept");
    fs::rename(&path, &kept).unwrap();
    symlink(&kept, &path).unwrap();
    let before = fs::read(&kept).unwrap();
    let refused = store.change("web", Change::Rotate(1), Some(&made()), &ROOM, soon());
    assert_eq!(refused.unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(fs::read(&kept).unwrap(), before);
}

/// As the operator may disable a key, whatever the file has.
#[test]
fn a_name_alone_disables() {
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
    type Put = fn(&Path);
    let puts: [(&str, Put); 7] = [
        ("pem", |path| fs::write(path, "").unwrap()),
        ("pem", |path| {
            fs::write(path, "-----BEGIN PRIVATE KEY-----\nMI").unwrap();
        }),
        ("pem", |path| fs::write(path, [0xff]).unwrap()),
        ("pem", |path| fs::write(path, CERTIFICATE).unwrap()),
        ("key", |path| fs::write(path, CERTIFICATE).unwrap()),
        ("pem", |path| fs::create_dir(path).unwrap()),
        ("pem", |path| symlink("nowhere", path).unwrap()),
    ];
    for (number, (extension, put)) in puts.into_iter().enumerate() {
        let (folder, configs, store) = managed();
        create(&store, "web").unwrap();
        put(&folder.path().join(format!("web.{extension}.disabled")));
        store.refresh();
        let again = KeyStore::load(&configs, &|_| Ok(Vec::new())).unwrap();
        for store in [&store, &again] {
            assert_eq!(state(store, "web"), Some(false), "{number}");
            assert!(store.current().get("web").is_none());
            store
                .change("web", Change::Disable, None, &ROOM, soon())
                .unwrap();
            let refused = store.change("web", Change::Enable, None, &ROOM, soon());
            assert_eq!(refused.unwrap_err().code, Code::FailedPrecondition);
            assert_eq!(state(store, "web"), Some(false), "{number}");
        }
    }
}

#[test]
fn another_server_keeps_the_directory_to_itself() {
    let (folder, _, store) = managed();
    let held = lock(folder.path(), soon()).unwrap();
    let refused = create(&store, "web").unwrap_err();
    assert_eq!(refused.code, Code::Unavailable);
    drop(held);
    create(&store, "web").unwrap();
}

/// As that of an operator whose file the server reads as a member of its group.
#[test]
fn a_rotated_file_keeps_its_owner_its_group_and_its_mode() {
    let (folder, _, store) = managed();
    create(&store, "web").unwrap();
    let path = folder.path().join("web.pem");
    for (version, mode) in (1..).zip([0o640, 0o400, 0o660, 0o600]) {
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            std::os::unix::fs::chown(&path, Some(1234), Some(4321)).unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let of = |metadata: fs::Metadata| (metadata.mode(), metadata.uid(), metadata.gid());
        let before = fs::metadata(&path).unwrap();
        let change = Change::Rotate(version);
        store
            .change("web", change, Some(&made()), &ROOM, soon())
            .unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_ne!(after.ino(), before.ino());
        assert_eq!(of(after), of(before));
    }
}

/// A change that was answered as too late has changed nothing.
#[test]
fn after_the_deadline_nothing_changes() {
    let (folder, _, store) = managed();
    create(&store, "web").unwrap();
    let path = folder.path().join("web.pem");
    let before = fs::read(&path).unwrap();
    for (id, change, made) in [
        ("new", Change::Create(Kind::Private(P256)), Some(made())),
        ("web", Change::Rotate(1), Some(made())),
        ("web", Change::Disable, None),
    ] {
        let late = store.change(id, change, made.as_ref(), &ROOM, Instant::now());
        assert_eq!(late.unwrap_err().code, Code::DeadlineExceeded, "{change:?}");
    }
    assert_eq!(state(&store, "web"), Some(true));
    assert_eq!(fs::read(&path).unwrap(), before);
    store
        .change("web", Change::Disable, None, &ROOM, soon())
        .unwrap();
    let late = store.change("web", Change::Enable, None, &ROOM, Instant::now());
    assert_eq!(late.unwrap_err().code, Code::DeadlineExceeded);
    assert_eq!(state(&store, "web"), Some(false));
}

#[test]
fn who_may_only_read_the_directory_keeps_no_change_out() {
    let (folder, _, store) = managed();
    let held = File::open(folder.path()).unwrap();
    flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
    create(&store, "web").unwrap();
}

#[test]
fn a_renamed_file_is_read_again_only_if_it_was_written() {
    let (folder, _, store) = managed();
    create(&store, "web").unwrap();
    let change = |change, made: Option<&Made>| store.change("web", change, made, &ROOM, soon());
    change(Change::Rotate(1), Some(&made())).unwrap();
    let path = folder.path().join("web.pem");
    let age = |path: &Path| {
        let file = File::options().write(true).open(path).unwrap();
        let past = std::time::SystemTime::now() - Duration::from_secs(100);
        file.set_modified(past).unwrap();
        store.refresh();
    };
    // Where the older versions are in memory, which another reading of the file changes.
    let place = || {
        let keys = store.current();
        keys.entry("web").map(|entry| {
            let versions = entry.key.as_versions().unwrap();
            (versions.older().as_ptr(), versions.older().len())
        })
    };
    age(&path);
    // Held, so that no other key takes its place.
    let held = store.current();
    let before = place();
    for one in [Change::Disable, Change::Enable, Change::Disable] {
        change(one, None).unwrap();
        assert_eq!(place(), before);
    }
    let disabled = disabled(&path);
    fs::write(&disabled, made().text().unwrap().as_bytes()).unwrap();
    change(Change::Enable, None).unwrap();
    assert_eq!(place().unwrap().1, 0);
    drop(held);
}
