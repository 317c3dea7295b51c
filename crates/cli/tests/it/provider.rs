//! `oarlock provider` on configurations of every kind, with the real provider and the real openssl.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oarlock_testing::{is_root, names, until};
use serde_json::Value;

use crate::common::terminal::on_a_terminal;
use crate::common::{assert_fails, oarlock, provider, stderr};

#[test]
fn a_file_is_changed_and_put_back_byte_for_byte() {
    for text in [
        "",
        "# nothing but this",
        "openssl_conf = it\n[it]\nproviders = p\n[p]\nlegacy = l\ndefault = d\n[l]\nactivate = 1\n[d]\nactivate = 1\n",
        "openssl_conf = it\n\n[it]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.2",
    ] {
        let machine = Machine::with(text);
        let said = machine.succeeds("install", &["--yes"]);
        assert!(
            said.contains("+module = ") && said.contains("@@ "),
            "{said}"
        );
        let listed = machine.openssl(&["list", "-providers"]);
        assert!(listed.contains("name: Oarlock"), "{listed}");
        assert!(listed.contains("  default\n"), "{listed}");
        assert_eq!(
            listed.contains("  legacy\n"),
            text.contains("legacy"),
            "{listed}"
        );
        assert_eq!(machine.openssl(&["rand", "-hex", "8"]).len(), 17);

        let installed = fs::read(&machine.conf).unwrap();
        assert!(installed.starts_with(text.as_bytes()));
        let said = machine.succeeds("install", &["--yes"]);
        assert_eq!(said, "already installed: nothing to do\n");
        assert_eq!(fs::read(&machine.conf).unwrap(), installed);

        let said = machine.succeeds("uninstall", &["--yes"]);
        assert!(said.contains("byte for byte"), "{said}");
        assert_eq!(fs::read_to_string(&machine.conf).unwrap(), text);
        assert_eq!(names(machine.folder.path()), ["modules", "openssl.cnf"]);
        assert_eq!(names(&machine.modules), [""; 0]);
        assert_eq!(
            machine.succeeds("uninstall", &["--yes"]),
            "not installed: nothing to do\n"
        );
    }
}

#[test]
fn mode_owner_and_links_stay() {
    let machine = Machine::with("a = 1\n");
    fs::set_permissions(&machine.conf, Permissions::from_mode(0o640)).unwrap();
    let link = machine.folder.path().join("link.cnf");
    std::os::unix::fs::symlink("openssl.cnf", &link).unwrap();
    let before = fs::metadata(&machine.conf).unwrap();
    for what in ["install", "uninstall"] {
        let output = machine.at(&link, what, &["--yes"]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let after = fs::metadata(&machine.conf).unwrap();
        assert_eq!(after.mode(), before.mode());
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    assert_eq!(fs::read_to_string(&machine.conf).unwrap(), "a = 1\n");
}

#[test]
fn options_are_replaced_and_status_tells() {
    let machine = Machine::with("");
    let (code, status) = machine.status();
    assert_eq!((code, &status["is_installed"]), (1, &Value::Bool(false)));
    machine.succeeds("install", &["--yes", "--options", "max_threads=2"]);
    let said = machine.succeeds("install", &["--yes", "--options", "max_threads=3"]);
    assert!(
        said.contains("-options = max_threads=2\n+options = max_threads=3\n"),
        "{said}"
    );
    let (code, status) = machine.status();
    assert_eq!(
        (code, &status["problems"]),
        (0, &Value::Array(vec![])),
        "{status}"
    );

    let additions = machine.additions();
    let text = fs::read_to_string(&additions).unwrap();
    fs::write(&additions, text.replace("max_threads=3", "max_threads=x")).unwrap();
    let (code, status) = machine.status();
    assert_eq!(code, 1);
    assert!(
        status["problems"][0]
            .as_str()
            .unwrap()
            .contains("max_threads=x"),
        "{status}"
    );
    fs::write(&additions, text).unwrap();
    fs::write(machine.modules.join("oarlock.so"), "no library").unwrap();
    let (code, status) = machine.status();
    assert_eq!(code, 1);
    assert!(
        !status["problems"][0].as_str().unwrap().is_empty(),
        "{status}"
    );
    fs::remove_file(machine.modules.join("oarlock.so")).unwrap();
    let (_, status) = machine.status();
    assert!(
        status["problems"][0]
            .as_str()
            .unwrap()
            .contains("No such file"),
        "{status}"
    );
    machine.succeeds("uninstall", &["--yes"]);
}

#[test]
fn post_quantum_groups_come_and_go_with_the_flag() {
    let before = "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.2\n";
    let machine = Machine::with(before);
    machine.succeeds("install", &["--yes"]);
    let additions = || fs::read_to_string(machine.additions()).unwrap();
    assert!(!additions().contains("post-quantum"), "{}", additions());
    let said = machine.succeeds("install", &["--yes", "--post-quantum"]);
    assert!(said.contains("+post-quantum = yes\n"), "{said}");
    let (code, status) = machine.status();
    assert_eq!(
        (code, &status["problems"]),
        (0, &Value::Array(vec![])),
        "{status}"
    );
    let said = machine.succeeds("install", &["--yes"]);
    assert!(said.contains("-post-quantum = yes\n"), "{said}");
    assert!(!additions().contains("Groups"), "{}", additions());
    machine.succeeds("uninstall", &["--yes"]);
    assert_eq!(fs::read_to_string(&machine.conf).unwrap(), before);
}

#[test]
fn what_was_changed_by_hand_stays() {
    let machine = Machine::with("a = 1\n");
    machine.succeeds("install", &["--yes"]);
    let text = fs::read_to_string(&machine.conf).unwrap();
    let text = text.replace("a = 1", "a = 2") + "[later]\nb = 3\n";
    fs::write(&machine.conf, text).unwrap();
    let said = machine.succeeds("uninstall", &["--yes"]);
    assert!(
        said.contains("later changes by hand stay") && said.contains(".before-oarlock"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(&machine.conf).unwrap(),
        "a = 2\n[later]\nb = 3\n"
    );
    let kept = machine.folder.path().join("openssl.cnf.before-oarlock");
    assert_eq!(fs::read_to_string(kept).unwrap(), "a = 1\n");
}

#[test]
fn copies_of_earlier_installations_stay() {
    let machine = Machine::with("a = 1\n");
    let copy = |ending: &str| {
        let name = format!("openssl.cnf.before-oarlock{ending}");
        fs::read_to_string(machine.folder.path().join(name)).ok()
    };
    let first = || assert_eq!(copy("").as_deref(), Some("a = 1\n"));
    machine.succeeds("install", &["--yes"]);
    let text = fs::read_to_string(&machine.conf).unwrap();
    fs::write(&machine.conf, text + "b = 2\n").unwrap();
    machine.succeeds("uninstall", &["--yes"]);
    first();
    machine.succeeds("install", &["--yes"]);
    first();
    assert_eq!(copy(".2").as_deref(), Some("a = 1\nb = 2\n"));
    // An installation over this one makes no other copy.
    machine.succeeds("install", &["--yes", "--options", "max_threads=2"]);
    assert_eq!(copy(".3"), None);
    let said = machine.succeeds("uninstall", &["--yes"]);
    assert!(said.contains("byte for byte"), "{said}");
    first();
    assert_eq!(copy(".2"), None);

    let broken = "openssl_conf = i\n[i]\nno_such_module = x\n";
    fs::write(&machine.conf, broken).unwrap();
    let output = machine.command("install", &["--yes"]).output().unwrap();
    assert_fails(&output, 1, &["not installed"]);
    first();
    assert_eq!(copy(".2"), None);
}

#[test]
fn edits_while_the_question_is_open_stay() {
    let machine = Machine::with("a = 1\n");
    let on_question = |what: &str| {
        let script = format!(
            "OARLOCK_OPTIONS=offer=all OARLOCK_CALIBRATION= XDG_CACHE_HOME=/nonexistent \
             \"$OARLOCK\" provider {what} --config openssl.cnf --module-dir modules"
        );
        let before = fs::read_to_string(&machine.conf).unwrap();
        let edited = before.clone() + "# by hand\n";
        let mut is_asked = false;
        let (status, shown) =
            on_a_terminal(machine.folder.path(), &script, |terminal, shown: &str| {
                if shown.contains("[y/N]") && !is_asked {
                    is_asked = true;
                    fs::write(&machine.conf, &edited).unwrap();
                    terminal.write_all(b"y\n").unwrap();
                }
            });
        assert!(is_asked && !status.success(), "{shown}");
        assert!(shown.contains("changed while you were asked"), "{shown}");
        assert_eq!(fs::read_to_string(&machine.conf).unwrap(), edited);
        fs::write(&machine.conf, before).unwrap();
    };
    let install = format!("install --no-calibrate --provider {}", provider().display());
    on_question(&install);
    assert_eq!(names(machine.folder.path()), ["modules", "openssl.cnf"]);
    assert_eq!(names(&machine.modules), [""; 0]);
    machine.succeeds("install", &["--yes"]);
    on_question("uninstall");
    assert_eq!(names(&machine.modules).len(), 3);
    let said = machine.succeeds("uninstall", &["--yes"]);
    assert!(said.contains("byte for byte"), "{said}");
}

#[test]
fn edits_during_the_trial_stay() {
    let machine = Machine::with("a = 1\n");
    let conf = machine.conf.display();
    let trial = Trial::that(&format!("echo b = 2 >>{conf}"));
    let output = trial
        .around(&mut machine.command("install", &["--yes"]))
        .output();
    assert_fails(&output.unwrap(), 1, &["openssl.cnf: changed", "again"]);
    assert_eq!(fs::read_to_string(&machine.conf).unwrap(), "a = 1\nb = 2\n");
    assert_eq!(names(machine.folder.path()), ["modules", "openssl.cnf"]);
    assert_eq!(names(&machine.modules), [""; 0]);
}

#[test]
fn an_installation_that_fails_takes_nothing_from_another_at_once() {
    let machine = Machine::with("a = 1\n");
    let trial = Trial::that(": >waits; while [ ! -e go ]; do sleep 0.01; done; exit 1");
    let mut first = machine.command("install", &["--yes"]);
    let first = trial.around(&mut first).stdout(Stdio::null()).spawn();
    until("the first tries the file", || trial.path("waits").exists());
    let mut second = machine.command("install", &["--yes"]);
    let mut second = second.stdout(Stdio::null()).spawn().unwrap();
    // It waits for the first. An earlier version was done in this time.
    for _ in 0..200 {
        if second.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::write(trial.path("go"), "").unwrap();
    assert!(!first.unwrap().wait().unwrap().success());
    assert!(second.wait().unwrap().success());
    let (code, status) = machine.status();
    assert_eq!(code, 0, "{status}");
    let said = machine.succeeds("uninstall", &["--yes"]);
    assert!(said.contains("byte for byte"), "{said}");
}

#[test]
fn nothing_is_changed_where_it_is_not_wanted_or_does_not_work() {
    let fips = "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = fips=yes\n";
    let broken_for_openssl = "openssl_conf = i\n[i]\nno_such_module = x\n";
    for (text, arguments, status, parts) in [
        ("a = 1\n", &[][..], 2, &["no terminal", "--yes"][..]),
        (
            "a = 1\n",
            &["--yes", "--options", "max_thread=2"],
            2,
            &["--options", "max_threads"],
        ),
        (
            "a = 1\n",
            &["--yes", "--provider", "/no/file"],
            1,
            &["/no/file"],
        ),
        (
            "a = 1\n",
            &["--yes", "--provider", "/etc/passwd"],
            1,
            &["not installed"],
        ),
        (fips, &["--yes"], 1, &["not installed", "fips=yes"]),
        (
            "a = 1\n[",
            &["--yes"],
            1,
            &["not installed", "openssl.cnf:2"],
        ),
        ("a = 1\\\n", &["--yes"], 1, &["backslash"]),
        (broken_for_openssl, &["--yes"], 1, &["not installed"]),
    ] {
        let machine = Machine::with(text);
        let output = machine
            .command("install", arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_fails(&output, status, parts);
        assert_eq!(fs::read_to_string(&machine.conf).unwrap(), text);
        assert_eq!(
            names(machine.folder.path()),
            ["modules", "openssl.cnf"],
            "{arguments:?}"
        );
        assert_eq!(names(&machine.modules), [""; 0], "{arguments:?}");
    }
    let missing = Machine::with("");
    fs::remove_file(&missing.conf).unwrap();
    let output = missing.command("install", &["--yes"]).output().unwrap();
    assert_fails(&output, 1, &["openssl.cnf", "No such file"]);
}

#[test]
fn who_may_not_write_is_told() {
    if !is_root("a provider that another user may not write") {
        return;
    }
    let machine = Machine::with("a = 1\n");
    for folder in [machine.folder.path(), &machine.modules] {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
    // Even without --yes: the user is not asked about a change that will fail.
    let is_refused = |what: &str| {
        for arguments in [&["--yes"][..], &[]] {
            let mut command = machine.command(what, arguments);
            let command = command.uid(65534).gid(65534).stdin(Stdio::null());
            assert_fails(
                &command.output().unwrap(),
                1,
                &["openssl.cnf: Permission denied", "as root"],
            );
        }
    };
    is_refused("install");
    assert_eq!(names(machine.folder.path()), ["modules", "openssl.cnf"]);
    machine.succeeds("install", &["--yes"]);
    let installed = fs::read(&machine.conf).unwrap();
    is_refused("uninstall");
    assert_eq!(fs::read(&machine.conf).unwrap(), installed);
}

#[test]
fn the_folder_of_the_module_can_be_given_to_uninstall_too() {
    let machine = Machine::with("a = 1\n");
    machine.succeeds("install", &["--yes"]);
    let others = machine.folder.path().join("others");
    fs::create_dir(&others).unwrap();
    let uninstall = |folder: &Path| {
        let mut command = machine.command("uninstall", &["--yes"]);
        command.arg("--module-dir").arg(folder).output().unwrap()
    };
    assert_fails(
        &uninstall(&others),
        2,
        &["--module-dir", "others", "modules"],
    );
    assert_eq!(names(&machine.modules).len(), 3);
    let output = uninstall(&machine.modules);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(names(&machine.modules), [""; 0]);
    // The lines that name the module are lost.
    machine.succeeds("install", &["--yes"]);
    fs::remove_file(machine.additions()).unwrap();
    let output = uninstall(&machine.modules);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(names(&machine.modules), [""; 0]);
    assert_eq!(fs::read_to_string(&machine.conf).unwrap(), "a = 1\n");
}

#[test]
fn what_stands_behind_the_lines_keeps_its_meaning() {
    for (pragma, value) in [("", "UTF8:<b>"), (".pragma = dollarid:on\n", "UTF8:<$b>")] {
        let machine = Machine::with(&format!("{pragma}b = b\n"));
        machine.succeeds("install", &["--yes"]);
        let text = fs::read_to_string(&machine.conf).unwrap();
        fs::write(&machine.conf, text + "[default]\nasn1 = UTF8:<$b>\n").unwrap();
        let conf = machine.conf.to_str().unwrap();
        let shown = machine.openssl(&["asn1parse", "-genconf", conf]);
        assert!(shown.contains(&value[5..]), "{shown}");
    }
}

#[test]
fn a_provider_that_was_there_before_stays() {
    let machine = Machine::with("a = 1\n");
    let module = machine.modules.join("oarlock.so");
    fs::copy(provider(), &module).unwrap();
    machine.succeeds("install", &["--yes"]);
    machine.succeeds("uninstall", &["--yes"]);
    assert_eq!(names(&machine.modules), ["oarlock.so"]);
}

/// A folder with an `openssl` that runs a script when `install` tries the new file.
struct Trial(tempfile::TempDir);

impl Trial {
    fn that(script: &str) -> Self {
        let trial = Self(tempfile::tempdir().unwrap());
        let command = trial.path("openssl");
        let text = format!(
            "#!/bin/sh\ncd {}\ncase \"$OPENSSL_CONF\" in */.oarlock-*) {script};; esac\n\
             PATH=\"${{PATH#*:}}\" exec openssl \"$@\"\n",
            trial.0.path().display()
        );
        fs::write(&command, text).unwrap();
        fs::set_permissions(&command, Permissions::from_mode(0o755)).unwrap();
        trial
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn around<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.0.path().display()))
    }
}

/// A configuration and a folder of modules.
struct Machine {
    folder: tempfile::TempDir,
    conf: PathBuf,
    modules: PathBuf,
}

impl Machine {
    fn with(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (conf, modules) = (
            folder.path().join("openssl.cnf"),
            folder.path().join("modules"),
        );
        fs::write(&conf, text).unwrap();
        fs::create_dir(&modules).unwrap();
        Self {
            folder,
            conf,
            modules,
        }
    }

    fn command(&self, what: &str, arguments: &[&str]) -> Command {
        self.at(&self.conf, what, arguments)
    }

    fn at(&self, conf: &Path, what: &str, arguments: &[&str]) -> Command {
        let mut command = oarlock();
        command.args(["provider", what]).args(arguments);
        command.arg("--config").arg(conf);
        if what == "install" {
            command.arg("--module-dir").arg(&self.modules);
            command.arg("--no-calibrate");
            if !arguments.contains(&"--provider") {
                command.arg("--provider").arg(provider());
            }
        }
        command
    }

    /// Returns the file that only OpenSSL 3 reads.
    fn additions(&self) -> PathBuf {
        let found = names(&self.modules);
        let mut found = found.iter().filter(|name| name.ends_with("$openssl3.cnf"));
        self.modules.join(found.next().unwrap())
    }

    fn succeeds(&self, what: &str, arguments: &[&str]) -> String {
        let output = self.command(what, arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn status(&self) -> (i32, Value) {
        let output = self.command("status", &["--json"]).output().unwrap();
        let status = serde_json::from_slice(&output.stdout);
        (
            output.status.code().unwrap(),
            status.unwrap_or_else(|_| panic!("{}", stderr(&output))),
        )
    }

    /// Returns the output of openssl with this configuration.
    fn openssl(&self, arguments: &[&str]) -> String {
        let output: Output = Command::new("openssl")
            .args(arguments)
            .env("OPENSSL_CONF", &self.conf)
            .output()
            .unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            stderr(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}
