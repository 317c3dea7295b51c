//! Provider files that cannot be loaded: `run`, `doctor` and `provider install` give the same reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{assert_fails, oarlock, provider, run, stderr};

#[test]
fn a_module_that_does_not_load_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(provider()).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let patched = |name: &str, at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        write(name, &bytes)
    };
    let built = |name: &str, source: &str, more: &[&str]| {
        let path = folder.path().join(name);
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-fPIC", "-x", "c", "-", "-o"])
            .arg(&path);
        let made = run(gcc.args(more), source.as_bytes());
        assert!(made.status.success(), "{}", stderr(&made));
        path
    };
    let entry = "int OSSL_provider_init(void)";
    let cases: [(PathBuf, &str); 10] = [
        (
            write("text.so", b"not a library at all"),
            "not a shared library",
        ),
        (write("empty.so", b""), "not a shared library"),
        (
            write("head.so", &whole[..40]),
            "truncated: it has only 40 bytes",
        ),
        (
            write("half.so", &whole[..whole.len() / 2]),
            "truncated: it has ",
        ),
        (
            write("most.so", &whole[..whole.len() - 1]),
            "truncated: it has ",
        ),
        (patched("small.so", 4, 1), "a 32-bit library"),
        // EM_AARCH64 or EM_X86_64, whichever is not this machine's.
        (
            patched(
                "other.so",
                18,
                if cfg!(target_arch = "x86_64") {
                    183
                } else {
                    62
                },
            ),
            "made for ",
        ),
        (
            built("none.so", "int x;", &[]),
            "no function OSSL_provider_init",
        ),
        (
            built(
                "open.so",
                &format!("int nowhere(void); {entry} {{ return nowhere(); }}"),
                &["-Wl,-z,now"],
            ),
            "undefined symbol: nowhere",
        ),
        (
            built(
                "dies.so",
                &format!(
                    "#include <stdlib.h>\n__attribute__((constructor)) void at(void) {{ abort(); }}\n{entry} {{ return 1; }}"
                ),
                &[],
            ),
            "ended by signal 6",
        ),
    ];
    let (conf, modules) = (folder.path().join("openssl.cnf"), folder.path().join("m"));
    fs::write(&conf, "[s]\n").unwrap();
    fs::create_dir(&modules).unwrap();
    for (module, said) in cases {
        let name = module.display().to_string();
        let ran = folder.path().join("ran");
        let mut command = with(&module, "run");
        let output = command.args(["--", "touch"]).arg(&ran).output().unwrap();
        assert_fails(&output, 125, &[&name, said]);
        assert!(!ran.exists(), "{name}");
        let line = stderr(&output);

        let mut command = with(&module, "doctor");
        let output = command
            .args(["--json", "--try", "--", "touch"])
            .arg(&ran)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(!ran.exists(), "{name}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = answer["findings"].as_array().unwrap();
        let finding = findings
            .iter()
            .find(|it| it["about"] == "provider")
            .unwrap();
        assert_eq!(finding["state"], "no", "{answer}");
        assert_eq!(
            line,
            format!("oarlock: {}\n", finding["text"].as_str().unwrap())
        );

        let mut command = oarlock();
        command
            .args(["provider", "install", "--yes", "--provider"])
            .arg(&module);
        command
            .arg("--config")
            .arg(&conf)
            .arg("--module-dir")
            .arg(&modules);
        assert_fails(
            &command.output().unwrap(),
            1,
            &["not installed", &name, said],
        );
        assert_eq!(fs::read(&conf).unwrap(), b"[s]\n");
        assert_eq!(fs::read_dir(&modules).unwrap().count(), 0);
    }
    let output = with(provider(), "run")
        .args(["--", "true"])
        .output()
        .unwrap();
    assert!(
        output.status.success() && stderr(&output).is_empty(),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_installation_that_was_damaged_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("openssl.cnf");
    fs::write(&conf, "[s]\n").unwrap();
    let mut command = oarlock();
    command
        .args(["provider", "install", "--yes", "--provider"])
        .arg(provider());
    command
        .arg("--config")
        .arg(&conf)
        .arg("--module-dir")
        .arg(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let module = folder.path().join("oarlock.so");
    let whole = fs::read(&module).unwrap();
    fs::write(&module, &whole[..whole.len() / 2]).unwrap();
    let mut command = oarlock();
    command.args(["provider", "status", "--config"]).arg(&conf);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("oarlock.so: truncated: "), "{text}");
}

/// Returns `oarlock SUBCOMMAND` with that module.
fn with(module: &Path, subcommand: &str) -> Command {
    let mut command = oarlock();
    command.args([subcommand, "--provider"]).arg(module);
    command
}
