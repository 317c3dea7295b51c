//! `make install` and `make uninstall` with the programs under test, into folders that others also use; manual pages, and
//! the documentation's shell commands.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use oarlock_testing::until;
use rustix::process::Signal;

use crate::common::age::{Home, succeeded};
use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{provider, run, stderr};

/// Runs `make TARGET` below `root`, with an unusual prefix.
fn make(root: &Path, target: &str) -> Output {
    let mut make = Command::new("make");
    make.arg("--no-print-directory")
        .arg("-C")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args([target, "PREFIX=/opt/oar"])
        .arg(format!("DESTDIR={}", root.display()))
        // Set by the `make test` that may have started this.
        .env_remove("MAKEFLAGS")
        .env("BUILD", provider().parent().unwrap());
    run(&mut make, b"")
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns every folder and file, with mode and content.
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

/// Returns a root in which others have installed something before.
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
        (
            "lib/systemd/system/oarlock-local.service",
            "ExecStart=/opt/oar/bin/oarlock local",
        ),
        (
            "lib/systemd/system/oarlock-local.socket",
            "ListenSequentialPacket=",
        ),
        (
            "lib/systemd/system/oarlock-relay.service",
            "ExecStart=/opt/oar/bin/oarlock relay",
        ),
        (
            "lib/systemd/system/oarlock-relay.socket",
            "ListenSequentialPacket=",
        ),
        ("share/doc/oarlock/docs/command.md", "# The command"),
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
    // The command finds the installed provider.
    let mut ran = Command::new(at("bin/oarlock"));
    ran.args(["run", "--", "openssl", "list", "-providers"]);
    let ran = succeeds(&run(ran.env_remove("OARLOCK_PROVIDER"), b""));
    assert!(ran.contains("oarlock"), "{ran}");

    // Install again, as an update does.
    let installed = tree(root.path());
    succeeds(&make(root.path(), "install"));
    assert_eq!(tree(root.path()), installed);
    succeeds(&make(root.path(), "uninstall"));
    assert_eq!(tree(root.path()), before);
    // A DESTDIR that was created for it is removed too.
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
        ("oarlock-decrypt", "\\fB3\\fR"),
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
    assert!(text.contains("command.md"));
}

#[test]
fn examples_in_manual_pages_can_be_pasted() {
    let home = Home::new();
    succeeded(&mut home.oarlock(&["man", "-o", "."]));
    for (page, example) in [
        (
            "oarlock-encrypt.1",
            "  oarlock encrypt -r age1... --recursive -o sealed photos    # to sealed/photos\n",
        ),
        ("oarlock-doctor.1", "  oarlock doctor\n"),
    ] {
        let mut man = Command::new("man");
        man.args(["-l", page]).current_dir(home.folder());
        let shown = run(man.env("MANWIDTH", "80").env("LC_ALL", "C"), b"");
        let shown = succeeds(&shown);
        assert!(shown.contains(example), "{shown}");
        assert!(shown.contains("EXIT STATUS\n       0      The"), "{shown}");
    }
}

/// Shell commands in the documentation have explanations after `#`, so they can be copied whole.
#[test]
fn lines_of_the_documentation_can_be_pasted() {
    for name in [
        "README.md",
        "CONTRIBUTING.md",
        "crates/net/README.md",
        "crates/oarlock/README.md",
        "docs/command.md",
        "docs/cryptoserver.md",
        "docs/performance.md",
    ] {
        let text = document(name);
        let lines: Vec<&str> = blocks(&text).flat_map(str::lines).collect();
        let shell: Vec<&&str> = lines.iter().filter(|line| is_shell(line)).collect();
        assert!(!shell.is_empty(), "{name}");
        for line in shell {
            let command = line.split(" #").next().unwrap().trim_end();
            assert!(!command.contains("  "), "{name}: {line}");
        }
    }
}

#[test]
fn what_the_documentation_does_to_files_works_as_copied() {
    let name = "docs/command.md";
    let home = Home::new();
    fs::remove_file(home.path("key.txt")).unwrap();
    for file in ["backup.tar.old", "one.log", "two.log"] {
        home.write(file, file.as_bytes());
    }
    home.write("disk.img", &[7; 2 << 20]);
    fs::create_dir(home.path("photos")).unwrap();
    home.write("photos/one", b"a photo");
    let text = document(name);
    let (_, behind) = text.split_once("\n## age files\n").unwrap();
    let block = blocks(behind).next().unwrap();
    // Replace what a reader must replace, and take a range of a smaller file.
    let block = block
        .lines()
        .map(|line| match line.split_once(" -r age1... ") {
            Some((before, after)) => {
                format!("{before} -r $(oarlock keygen -y key.txt) {after}\n")
            }
            None => format!("{line}\n"),
        })
        .collect::<String>()
        .replace(" 1G:4K ", " 1M:4K ");
    assert!(block.contains("keygen -y key.txt"), "{block}");
    let (keygen, others) = block.split_once('\n').unwrap();
    let script = format!(
        "set -e; PATH=\"$(dirname \"$OARLOCK\"):$PATH\"; tar cf backup.tar backup.tar.old\n\
         {keygen}\noarlock encrypt -i key.txt disk.img\n{others}"
    );
    let (status, shown) = on_a_terminal(home.folder(), &script, typing(&["a passphrase"]));
    assert!(status.success(), "{name}: {shown}");
    assert_eq!(home.read("restored.tar"), home.read("backup.tar"), "{name}");
    assert_eq!(home.read("restored/photos/one"), b"a photo");
    assert_eq!(home.read("part"), [7; 4096]);
    assert!(!home.path("one.log").exists(), "{shown}");
}

fn document(name: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(name),
    )
    .unwrap()
}

/// Returns the text between fences.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n```").skip(1).step_by(2).map(|block| {
        let (_, lines) = block.split_once('\n').unwrap_or_default();
        lines
    })
}

fn is_shell(line: &str) -> bool {
    [
        "make ",
        "sudo ",
        "cargo ",
        "oarlock ",
        "oarlock-bench ",
        "openssl ",
        "tar ",
        "zfs ",
    ]
    .iter()
    .any(|program| line.starts_with(program))
}

/// No service starts while `scripts/system-packages` installs, and all may start again once it has ended: by itself, or by
/// any signal, in any shell.
#[test]
fn an_installation_that_is_interrupted_leaves_no_policy() {
    let folder = tempfile::tempdir().unwrap();
    let (programs, policy) = (folder.path().join("bin"), folder.path().join("policy-rc.d"));
    let begun = folder.path().join("begun");
    fs::create_dir(&programs).unwrap();
    for name in ["rm", "chmod", "sleep", "touch", "sh"] {
        std::os::unix::fs::symlink(Path::new("/bin").join(name), programs.join(name)).unwrap();
    }
    // As root, with an installation that takes long, or none.
    let fake = |name: &str, text: &str| {
        let path = programs.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    fake("id", "echo 0");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/system-packages");
    for shell in ["dash", "bash"] {
        for signal in [
            None,
            Some(Signal::HUP),
            Some(Signal::INT),
            Some(Signal::TERM),
        ] {
            let takes_long = format!("touch {}; exec sleep 60", begun.display());
            fake("apt-get", signal.map_or("exit 0", |_| takes_long.as_str()));
            let mut install = Command::new(Path::new("/bin").join(shell));
            install.arg(&script).arg("run");
            install.env("PATH", &programs).env("POLICY_RC_D", &policy);
            install.stdout(Stdio::null()).stderr(Stdio::null());
            // A terminal sends the signal to the shell and to its child.
            let mut child = install.process_group(0).spawn().unwrap();
            if let Some(signal) = signal {
                // A signal before the child runs would be the shell's alone, which waits for its child.
                until("it installs", || begun.exists());
                assert!(policy.exists());
                fs::remove_file(&begun).unwrap();
                let group = rustix::process::Pid::from_child(&child);
                rustix::process::kill_process_group(group, signal).unwrap();
            }
            let status = child.wait().unwrap();
            // There is no cargo, so the script fails.
            let ended = signal.map_or(1, |signal| 128 + signal.as_raw());
            assert_eq!(status.code(), Some(ended), "{shell} {signal:?}");
            assert!(!policy.exists(), "{shell} {signal:?}");
        }
    }
}
