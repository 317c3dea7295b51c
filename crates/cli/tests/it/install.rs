//! `make install` and `make uninstall`, with the programs under test, into folders that others use too.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{provider, run, stderr};

/// `make TARGET` below `root`, with a prefix that is not the usual one.
fn make(root: &Path, target: &str) -> Output {
    let mut make = Command::new("make");
    make.arg("--no-print-directory")
        .arg("-C")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args([target, "PREFIX=/opt/oar"])
        .arg(format!("DESTDIR={}", root.display()))
        // Of the `make test` that may have started this.
        .env_remove("MAKEFLAGS")
        .env("BUILD", provider().parent().unwrap());
    run(&mut make, b"")
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Every folder and file, with mode and content.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let content = if path.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path, (mode, content));
        }
    }
    found
}

/// A root in which others have installed something before.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for name in [
        "bin/other",
        "share/man/man1/other.1",
        "lib/systemd/system/other.service",
    ] {
        let path = root.path().join("opt/oar").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    root
}

#[test]
fn what_is_installed_works_and_goes_byte_for_byte() {
    let root = root();
    let before = tree(root.path());
    succeeds(&make(root.path(), "install"));
    let at = |name: &str| root.path().join("opt/oar").join(name);
    for (name, what) in [
        ("share/man/man1/oarlock.1", "EXIT STATUS"),
        ("share/man/man1/oarlock-pki-revoke.1", "SEE ALSO"),
        ("share/bash-completion/completions/oarlock", "complete"),
        ("share/zsh/site-functions/_oarlock", "#compdef oarlock"),
        (
            "share/fish/vendor_completions.d/oarlock.fish",
            "complete -c oarlock",
        ),
        (
            "lib/systemd/system/oarlock-serve.service",
            "ExecStart=/opt/oar/bin/oarlock serve",
        ),
        ("share/doc/oarlock/docs/files.md", "# Files"),
        ("share/doc/oarlock/LICENSE-MIT", "MIT"),
    ] {
        let text = fs::read_to_string(at(name)).unwrap();
        assert!(text.contains(what), "{what:?} is not in {name}");
        assert_eq!(
            fs::metadata(at(name)).unwrap().permissions().mode() & 0o777,
            0o644,
            "{name}"
        );
    }
    let unit = fs::read_to_string(at("lib/systemd/system/oarlock-serve.service")).unwrap();
    assert!(!unit.contains("/usr/bin"), "{unit}");
    // The command finds the provider where it was put.
    let mut ran = Command::new(at("bin/oarlock"));
    ran.args(["run", "--", "openssl", "list", "-providers"]);
    let ran = succeeds(&run(ran.env_remove("OARLOCK_PROVIDER"), b""));
    assert!(ran.contains("oarlock"), "{ran}");

    // Again, as an update does.
    let installed = tree(root.path());
    succeeds(&make(root.path(), "install"));
    assert_eq!(tree(root.path()), installed);
    succeeds(&make(root.path(), "uninstall"));
    assert_eq!(tree(root.path()), before);
    // A DESTDIR that is made for it goes, too.
    let new = root.path().join("new");
    succeeds(&make(&new, "install"));
    assert!(new.join("opt/oar/bin/oarlock").exists());
    succeeds(&make(&new, "uninstall"));
    assert_eq!(tree(root.path()), before);
    let again = make(root.path(), "uninstall");
    assert!(!again.status.success() && stderr(&again).contains("nothing was installed"));
}

#[test]
fn what_belongs_to_others_stays() {
    let root = root();
    let at = |name: &str| root.path().join("opt/oar").join(name);
    fs::write(at("bin/oarlock"), "mine").unwrap();
    let before = tree(root.path());
    let refused = make(root.path(), "install");
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("bin/oarlock exists"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(tree(root.path()), before, "something was written");
    fs::remove_file(at("bin/oarlock")).unwrap();

    succeeds(&make(root.path(), "install"));
    let unit = at("lib/systemd/system/oarlock-serve.service");
    fs::write(&unit, "changed by hand").unwrap();
    fs::write(at("share/doc/oarlock/notes"), "mine").unwrap();
    let gone = make(root.path(), "uninstall");
    succeeds(&gone);
    assert!(stderr(&gone).contains("oarlock-serve.service: left, because it was changed"));
    assert_eq!(fs::read(&unit).unwrap(), b"changed by hand");
    assert_eq!(fs::read(at("share/doc/oarlock/notes")).unwrap(), b"mine");
    assert!(!at("bin/oarlock").exists() && !at("share/doc/oarlock/docs").exists());
}

#[test]
fn manual_pages_tell_exit_statuses_and_read_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut man = crate::common::oarlock();
    succeeds(&run(man.args(["man", "-o"]).arg(folder.path()), b""));
    for (page, status) in [
        ("oarlock", "130 after Ctrl-C"),
        ("oarlock-decrypt", "recursive leaves out"),
        ("oarlock-verify", "The signature is bad"),
        ("oarlock-run", "125"),
        ("oarlock-provider-status", "not installed"),
    ] {
        let path = folder.path().join(format!("{page}.1"));
        let text = fs::read_to_string(&path).unwrap();
        let (_, behind) = text.split_once(".SH \"EXIT STATUS\"").unwrap();
        assert!(
            behind.contains(status) && behind.contains(".SH \"SEE ALSO\""),
            "{behind}"
        );
        assert!(behind.contains("docs: "), "{behind}");
    }
    let text = fs::read_to_string(folder.path().join("oarlock-encrypt.1")).unwrap();
    assert!(text.contains("files.md"));
}
