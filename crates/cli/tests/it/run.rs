//! `oarlock run` with the real openssl and node: the user's configuration stays in effect, and the module is added. The
//! module is OpenSSL's own legacy provider under our name. These tests recognize it by MD4, which no other provider has.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use oarlock_testing::{lossy, names, until};
use rustix::process::Signal;

use crate::common::{assert_fails, assert_one_line, ends_soon, oarlock, run, signal, stderr};

#[test]
fn what_the_user_has_stays_and_the_provider_comes() {
    for (name, text, providers) in [
        ("nothing at all", "", "default oarlock"),
        (
            "a section without a value",
            "openssl_conf = it",
            "default oarlock",
        ),
        (
            "a provider next to the default one",
            "openssl_conf = it\n[it]\nproviders = p\n[p]\nlegacy = l\ndefault = d\n[l]\nactivate = 1\n[d]\nactivate = 1",
            "default legacy oarlock",
        ),
        (
            "a provider without the default one",
            "openssl_conf = it\n[it]\nproviders = p\n[p]\nlegacy = l\nbase = b\n[l]\nactivate = 1\n[b]\nactivate = 1",
            "base legacy oarlock",
        ),
        (
            "a default provider that nothing activates",
            "openssl_conf = it\n[it]\nproviders = p\n[p]\ndefault = d\n[d]\n# activate = 1",
            "default oarlock",
        ),
        (
            "two lists of providers",
            "openssl_conf = it\n[it]\nproviders = p\nproviders.2 = q\n[p]\nlegacy = l\n[l]\nsoft_load = 1\n[q]\n1.default = d\n[d]\n1.activate = 1",
            "default oarlock",
        ),
        (
            "properties",
            "openssl_conf = it\n[it]\nalg_section = a\n[a]\ndefault_properties = ?input=der",
            "default oarlock",
        ),
        (
            "a random generator of another kind",
            "openssl_conf = it\n[it]\nrandom = r\n[r]\nrandom = HASH-DRBG\ndigest = SHA512",
            "default oarlock",
        ),
        (
            "the configuration of an installation",
            "openssl_conf = it\n[it]\nproviders = p\nalg_section = a\n[p]\noarlock = oarlock_sect\ndefault = d\n\
             [d]\nactivate = 1\n[oarlock_sect]\nmodule = /nonexistent\nactivate = 1\n\
             [a]\ndefault_properties = ?provider=oarlock",
            "default oarlock",
        ),
        ("a key of node's", "nodejs_conf = n\n[n]", "default oarlock"),
    ] {
        let user = User::with(text);
        let list = user.succeeds(&["openssl", "list", "-providers"]);
        let mut listed: Vec<_> = list
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| !line.starts_with(' '))
            .collect();
        listed.sort_unstable();
        assert_eq!(listed.join(" "), providers, "{name}: {list}");
        if listed.contains(&"default") {
            let random = user.succeeds(&["openssl", "rand", "-hex", "8"]);
            assert_eq!(random.len(), 17, "{name}");
        }
        // In a nested run, the configuration of the outer run is the user's.
        let mut nested = vec![env!("CARGO_BIN_EXE_oarlock"), "run", "--provider", MODULE];
        nested.extend(["openssl", "dgst", "-md4", "/dev/null"]);
        assert!(user.succeeds(&nested).contains(MD4_OF_NOTHING), "{name}");
    }
}

#[test]
fn programs_find_the_same_without_a_configuration() {
    for path in ["", "/nonexistent/openssl.cnf", "/dev/null"] {
        let output = with_module()
            .args(MD4)
            .env("OPENSSL_CONF", path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(MD4_OF_NOTHING), "{path}: {}", stderr(&output));
    }
    let output = with_module()
        .args(MD4)
        .env_remove("OPENSSL_CONF")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn settings_of_tls_stay() {
    let user = User::with(
        "openssl_conf = it\n[it]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.2\n\
         CipherString = ECDHE-RSA-AES256-GCM-SHA384",
    );
    let ciphers = ["openssl", "ciphers", "-s", "-v"];
    let stock = Command::new(ciphers[0])
        .args(&ciphers[1..])
        .env("OPENSSL_CONF", &user.conf)
        .output()
        .unwrap();
    let stock = String::from_utf8(stock.stdout).unwrap();
    assert_eq!(stock.matches("TLSv1.2").count(), 1, "{stock}");
    assert_eq!(user.succeeds(&ciphers), stock);
}

#[test]
fn groups_are_listed_only_where_they_are_asked_for() {
    let version = Command::new("openssl").arg("version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    // Later releases have these groups, and a better list.
    let lacks = ["3.0", "3.1", "3.2", "3.3", "3.4"]
        .iter()
        .any(|series| version.starts_with(&format!("OpenSSL {series}.")));
    let tls = "openssl_conf = it\n[it]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\n";
    for (conf, section, listed) in [
        (String::new(), "[oarlock_tls]", true),
        ("openssl_conf = it\n[it]\n".into(), "[oarlock_tls]", true),
        (
            "openssl_conf = it\n[it]\nssl_conf = s\n".into(),
            "[oarlock_tls]",
            true,
        ),
        (format!("{tls}MinProtocol = TLSv1.2\n"), "[d]", true),
        (format!("{tls}Groups = P-256\n"), "[d]", false),
        (format!("{tls}1.curves = P-256\n"), "[d]", false),
    ] {
        let user = User::with(&conf);
        assert!(
            !user
                .succeeds(&["sh", "-c", ADDITIONS])
                .contains("post-quantum")
        );
        let mut command = oarlock();
        command.args([
            "run",
            "--provider",
            MODULE,
            "--post-quantum",
            "--",
            "sh",
            "-c",
            ADDITIONS,
        ]);
        let output = command.env("OPENSSL_CONF", &user.conf).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("post-quantum = yes\n"), "{text}");
        let list = format!("{section}\nGroups = X25519:X25519MLKEM768:P-256:");
        assert_eq!(text.contains(&list), listed && lacks, "{conf}\n{text}");
        assert_eq!(text.contains("Groups"), listed && lacks, "{conf}\n{text}");
    }
}

#[test]
fn properties_are_joined_and_random_numbers_stay() {
    let user = User::with(
        "openssl_conf = it\n[it]\nalg_section = a\nrandom = r\n[a]\ndefault_properties = \"?input=der\"\n\
         [r]\nproperties = ?output=pem",
    );
    let conf = user.succeeds(&["sh", "-c", ADDITIONS]);
    assert!(
        conf.contains(
            "[a]\ndefault_properties = ?input=der,?oarlock.accelerated=yes,?oarlock.keys=no\n"
        ),
        "{conf}"
    );
    assert!(
        conf.contains("[r]\nproperties = ?output=pem,provider!=oarlock\n"),
        "{conf}"
    );
    let user =
        User::with("openssl_conf = it\n[it]\nrandom = r\n[r]\nproperties = provider=default");
    let conf = user.succeeds(&["sh", "-c", ADDITIONS]);
    assert!(!conf.contains("[r]"), "{conf}");
}

#[test]
fn pieces_that_are_included_count() {
    let user = User::with("openssl_conf = $name\n");
    let folder = user.folder.path();
    fs::create_dir(folder.join("d")).unwrap();
    fs::write(
        folder.join("d/a.cnf"),
        "[it]\nproviders = p\n[p]\nlegacy = l\n",
    )
    .unwrap();
    fs::write(folder.join("d/b.conf"), "[l]\nactivate = 1\n").unwrap();
    let text = format!(
        "name = it\nopenssl_conf = $name\n.include {}",
        folder.join("d").display()
    );
    fs::write(&user.conf, text).unwrap();
    let list = user.succeeds(&["openssl", "list", "-providers"]);
    assert!(
        list.contains("\n  legacy\n") && !list.contains("\n  default\n"),
        "{list}"
    );
}

#[test]
fn a_configuration_that_can_be_read_but_once_does_too() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let mut writer = Command::new("sh")
        .args(["-c", &format!("printf '{MODERN}' > \"$0\"")])
        .arg(&pipe)
        .spawn()
        .unwrap();
    let output = with_module()
        .args([
            "sh",
            "-c",
            "/usr/bin/python3 -c 'import ssl; print(repr(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).minimum_version))'; exec openssl dgst -md4 /dev/null",
        ])
        .env("OPENSSL_CONF", &pipe)
        .output()
        .unwrap();
    assert!(writer.wait().unwrap().success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("TLSv1_3") && text.contains(MD4_OF_NOTHING),
        "{text}{}",
        stderr(&output)
    );
}

#[test]
fn what_may_not_be_changed_is_left_alone() {
    let fips = "fips=yes";
    for (text, said) in [
        (
            "openssl_conf = it\n[it]\nalg_section = a\n[a]\ndefault_properties = fips=yes",
            fips,
        ),
        (
            "openssl_conf = it\n[it]\nalg_section = a\n[a]\ndefault_properties = ?x=y, fips",
            fips,
        ),
        (
            "openssl_conf = it\n[it]\nalg_section = a\n[a]\nfips_mode = yes",
            fips,
        ),
        (
            "openssl_conf = it\n[it]\nproviders = p\n[p]\nfips = f\nbase = b\n[f]\nactivate = 1\n[b]\nactivate = 1",
            fips,
        ),
        (
            "openssl_conf = it\n[it]\nalg_section = a\n[a]\ndefault_properties = provider=default",
            "provider=default",
        ),
        ("openssl_conf = it\n[it\n", "user.cnf:2: "),
        ("openssl_conf = ${nowhere}", "the variable nowhere"),
    ] {
        let user = User::with(text);
        let output = user.run(&["sh", "-c", "echo $OPENSSL_CONF; exit 5"]);
        assert_one_line(&stderr(&output), &["note: nothing is accelerated", said]);
        assert_eq!(output.status.code(), Some(5));
        let conf = String::from_utf8(output.stdout).unwrap();
        assert_eq!(Path::new(conf.trim()), user.conf, "{text}");
    }
}

#[test]
fn node_goes_by_its_own_section() {
    let script = "console.log(require('crypto').createHash('md4').digest('hex'))";
    for text in [
        "",
        "openssl_conf = it\n[it]\n",
        "nodejs_conf = n\n[n]\nproviders = p\n[p]\n",
    ] {
        let user = User::with(text);
        let digest = user.succeeds(&["node", "-e", script]);
        assert_eq!(digest.trim(), MD4_OF_NOTHING, "{text}");
    }
}

#[test]
fn the_commands_status_is_passed_on() {
    for (script, status) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
    ] {
        let output = User::with("").run(&["sh", "-c", script]);
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(status), String::new())
        );
    }
    let user = User::with("");
    assert_fails(
        &user.run(&["oarlock-is-not-this"]),
        127,
        &["oarlock-is-not-this", "No such file"],
    );
    assert_fails(
        &user.run(&["/etc/passwd"]),
        126,
        &["/etc/passwd", "Permission denied"],
    );
    assert_fails(&user.run(&["/"]), 126, &["Permission denied"]);
}

#[test]
fn streams_are_the_commands_own_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = with_module();
    command.args(["sh", "-c", "ls $TMPDIR; cat; echo told >&2"]);
    let output = run(command.env("TMPDIR", folder.path()), b"through");
    assert_eq!(lossy(&output.stdout), "through");
    assert_eq!(stderr(&output), "told\n");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn the_configuration_is_for_all_to_read() {
    let output = User::with("").run(&[
        "sh",
        "-c",
        "umask 077; stat -c %a ${OPENSSL_CONF%/*} $OPENSSL_CONF",
    ]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "755\n644\n");
}

#[test]
fn signals_go_on_to_the_command() {
    for (number, name) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::USR1, "USR1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let script = format!(
            "trap 'echo {name}; exit 3' {name}; : > {}; while :; do sleep 0.01; done",
            ready.display()
        );
        let mut child = with_module()
            .args(["sh", "-c", &script])
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        until("the command runs", || ready.exists());
        let mut stdout = child.stdout.take().unwrap();
        signal(&child, number);
        let output = ends_soon(child);
        let mut said = String::new();
        stdout.read_to_string(&mut said).unwrap();
        assert_eq!((said.trim(), output.status.code()), (name, Some(3)));
        assert_eq!(names(folder.path()), ["ready"]);
    }
}

#[test]
fn what_is_ignored_stays_ignored() {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "trap '' HUP; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_oarlock"),
        "run",
    ]);
    command.args([
        "--provider",
        MODULE,
        "sh",
        "-c",
        "kill -HUP $$; echo still here",
    ]);
    let output = command.env("OPENSSL_CONF", "").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "still here\n");
}

#[test]
fn what_does_not_fit_is_one_line() {
    let options = ["run", "--options", "max_thread=2", "true"];
    assert_fails(
        &oarlock().args(options).output().unwrap(),
        2,
        &["--options", "max_threads"],
    );
    let of_environment = with_module()
        .arg("true")
        .env("OARLOCK_OPTIONS", "cipher_blocks=17")
        .output()
        .unwrap();
    assert_fails(&of_environment, 2, &["OARLOCK_OPTIONS", "multiple of 16"]);
    let of_cpu = with_module()
        .arg("true")
        .env("OARLOCK_CPU", "-none")
        .output()
        .unwrap();
    assert_fails(&of_cpu, 2, &["OARLOCK_CPU", "none"]);
    let none = oarlock()
        .args(["run", "--provider", "/no/provider.so", "true"])
        .output()
        .unwrap();
    assert_fails(&none, 125, &["--provider", "/no/provider.so"]);
    let named = oarlock()
        .args(["run", "true"])
        .env("OARLOCK_PROVIDER", "/no/other.so")
        .output()
        .unwrap();
    assert_fails(&named, 125, &["OARLOCK_PROVIDER", "/no/other.so"]);
    let no_room = oarlock()
        .args(["run", "--stats", "--provider", MODULE, "true"])
        .env("TMPDIR", "/no/room")
        .output()
        .unwrap();
    assert_fails(&no_room, 125, &["/no/room", "No such file"]);
    assert_fails(&oarlock().arg("run").output().unwrap(), 2, &["COMMAND"]);
}

/// Returns `oarlock run` with the module.
fn with_module() -> Command {
    let mut command = oarlock();
    command.args(["run", "--provider", MODULE, "--"]);
    command
}

/// A user with a configuration.
struct User {
    folder: tempfile::TempDir,
    conf: PathBuf,
}

impl User {
    fn with(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("user.cnf");
        fs::write(&conf, text).unwrap();
        Self { folder, conf }
    }

    fn run(&self, command: &[&str]) -> Output {
        let mut oarlock = with_module();
        oarlock.args(command).env("OPENSSL_CONF", &self.conf);
        oarlock.output().unwrap()
    }

    /// Returns the output of a command that succeeds without complaints.
    fn succeeds(&self, command: &[&str]) -> String {
        let output = self.run(command);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let conf = fs::read_to_string(&self.conf).unwrap();
        assert!(output.status.success(), "{conf}\n{text}{}", stderr(&output));
        assert_eq!(stderr(&output), "", "{conf}");
        text
    }
}

const MODULE: &str = "/usr/lib/x86_64-linux-gnu/ossl-modules/legacy.so";
const MD4: [&str; 4] = ["openssl", "dgst", "-md4", "/dev/null"];
/// The value in RFC 1320, A.5.
const MD4_OF_NOTHING: &str = "31d6cfe0d16ae931b73c59d7e0c089c0";
/// Prints the part of the configuration that only OpenSSL 3 reads.
const ADDITIONS: &str = "cat \"${OPENSSL_CONF%.cnf}\"\\$openssl3.cnf";
/// A configuration, written for printf(1).
const MODERN: &str = "openssl_conf = i\\n[i]\\nssl_conf = s\\n[s]\\nsystem_default = d\\n[d]\\nMinProtocol = TLSv1.3\\n";
