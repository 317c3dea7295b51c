//! `oarlock doctor` for this machine and for programs of every kind.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use oarlock::Accelerator;
use oarlock_testing::{is_root, lossy, skip};
use serde_json::Value;

use crate::common::{assert_fails, oarlock, provider, run, stderr, write_program};

#[test]
fn a_machine_that_takes_it() {
    let (code, answer) = answer(doctor().env("OPENSSL_CONF", ""));
    assert_eq!(
        (code, &answer["takes_it"]),
        (0, &Value::Bool(true)),
        "{answer}"
    );
    for about in [
        "CPU",
        "kernels",
        "CPUs",
        "OpenSSL",
        "configuration",
        "provider",
        "at work",
    ] {
        assert_ne!(state(&answer, about), "no", "{about}: {answer}");
    }
    let mut command = oarlock();
    command
        .args(["doctor", "-v", "--no-calibrate", "--provider"])
        .arg(provider());
    let text = command.env("OPENSSL_CONF", "").output().unwrap();
    assert!(
        String::from_utf8_lossy(&text.stdout).contains("\nok   at work "),
        "{}",
        stderr(&text)
    );
}

/// The verdict comes first, in words, and the details are shown on request.
#[test]
fn the_answer_begins_with_a_verdict() {
    let said = |arguments: &[&str]| {
        let mut command = oarlock();
        command.arg("doctor").args(arguments).arg("--no-calibrate");
        command.arg("--provider").arg(provider());
        let output = command.args(["--", "nginx"]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        lossy(&output.stdout)
    };
    let short = said(&[]);
    assert!(short.starts_with("nginx takes the provider.\n"), "{short}");
    for part in [
        "  gains ",
        "aes-256-gcm",
        "for this service alone",
        "OPENSSL_CONF",
    ] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert!(short.lines().count() < 20, "{short}");
    assert!(!short.contains("\nok "), "{short}");
    let long = said(&["-v"]);
    let before_details = short.split("  details").next().unwrap();
    assert!(long.starts_with(before_details), "{long}");
    assert!(long.contains("\nok   library "), "{long}");

    let (_, whole) = answer(doctor().args(["--", "nginx"]));
    let summary = whole["verdict"]["summary"].as_str().unwrap();
    assert_eq!(summary, "nginx takes the provider");
    let gains = whole["verdict"]["gains"].as_array().unwrap();
    assert!(
        gains
            .iter()
            .all(|gain| gain["ratio"].as_f64().unwrap() > 1.0)
    );
    let (_, none) = answer(doctor().args(["--", "ls"]));
    let summary = none["verdict"]["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("ls does not take the provider: no OpenSSL"),
        "{summary}"
    );
}

/// A program's author chooses its names, and doctor shows them on a terminal.
#[test]
fn names_of_a_program_reach_no_terminal_as_sequences() {
    let folder = tempfile::tempdir().unwrap();
    let library = "libcrypto.so.1.0\u{1b}[2J\u{7}\n";
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder.path());
    gcc.args(["-shared", "-x", "c", "/dev/null", "-o", "library.so"]);
    gcc.arg(format!("-Wl,-soname,{library}"));
    let made = run(&mut gcc, b"");
    assert!(made.status.success(), "{}", stderr(&made));
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder.path());
    gcc.args([
        "-x",
        "c",
        "-",
        "-x",
        "none",
        "-Wl,--no-as-needed",
        "library.so",
    ]);
    gcc.args(["-o", "program"]);
    let made = run(&mut gcc, b"int main(void) { return 0; }");
    assert!(made.status.success(), "{}", stderr(&made));
    let mut command = oarlock();
    command.args(["doctor", "-v", "--no-calibrate", "--provider"]);
    command.arg(provider()).arg("--");
    command.arg(folder.path().join("program"));
    let said = lossy(&command.output().unwrap().stdout);
    assert!(said.contains("libcrypto.so.1.0?[2J??"), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{7}']), "{said:?}");
}

#[test]
fn what_is_in_the_way_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, text: &str| {
        let conf = folder.path().join(name);
        fs::write(&conf, text).unwrap();
        let mut command = doctor();
        command.env("OPENSSL_CONF", conf);
        command
    };
    let fips = "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = fips=yes\n";
    let mut missing = oarlock();
    missing.args(["doctor", "--json", "--provider", "/no/provider.so"]);
    let mut unfit = oarlock();
    let no_library = folder.path().join("oarlock.so");
    fs::write(&no_library, "no library at all").unwrap();
    unfit
        .args(["doctor", "--json", "--provider"])
        .arg(&no_library);
    let mut options = doctor();
    options.env("OARLOCK_OPTIONS", "max_threads=x");
    let mut portable = doctor();
    portable.env("OARLOCK_CPU", "-ssse3");
    for (mut command, about, said) in [
        (with("fips.cnf", fips), "at work", "fips=yes"),
        (with("a.cnf", "["), "at work", "a.cnf:1"),
        (
            with("b.cnf", "openssl_conf = i\n[i]\nno_such_module = x\n"),
            "at work",
            "unknown module name (module=no_such_module)",
        ),
        (missing, "provider", "/no/provider.so"),
        (unfit, "provider", "not a shared library"),
        (options, "options", "max_threads=x"),
        (portable, "kernels", "this CPU"),
    ] {
        let (code, answer) = answer(&mut command);
        assert_eq!((code, state(&answer, about)), (1, "no"), "{said}: {answer}");
        assert!(text(&answer, about).contains(said), "{answer}");
    }
}

#[test]
fn programs_are_told_apart() {
    for (program, expected, said) in [
        ("openssl", "ok", "libcrypto.so.3"),
        ("ssh", "ok", "libcrypto.so.3"),
        ("curl", "ok", "through libcurl"),
        ("node", "ok", "OpenSSL"),
        ("/usr/bin/python3", "ok", "loaded later"),
        ("ls", "no", "no OpenSSL is linked"),
    ] {
        let (code, answer) = answer(doctor().args(["--", program]));
        assert_eq!(state(&answer, "library"), expected, "{program}: {answer}");
        assert!(
            text(&answer, "library").contains(said),
            "{program}: {answer}"
        );
        assert_eq!(code, i32::from(expected == "no"));
    }
    let (_, of_ssh) = answer(doctor().args(["--", "ssh"]));
    assert!(text(&of_ssh, "ssh").contains("umac"), "{of_ssh}");
    let missing = doctor().args(["--", "not-a-program-at-all"]).output();
    let missing = missing.unwrap();
    assert_fails(&missing, 127, &["not-a-program-at-all: no such program"]);
    assert!(missing.stdout.is_empty());
    // Apache loads its OpenSSL late, with a module.
    if Path::new("/usr/lib/apache2/modules/mod_ssl.so").exists() {
        let (code, apache) = answer(doctor().args(["--", "apache2"]));
        assert_eq!((code, state(&apache, "library")), (0, "ok"), "{apache}");
        let said = text(&apache, "library");
        assert!(said.contains("its module mod_ssl.so loads later"), "{said}");
    }
}

/// The name of the linked library tells the release; this machine has at most one of them.
#[test]
fn releases_of_openssl_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let compile = |source: &str, to: &str, arguments: &[&str]| {
        let file = path("source.c");
        fs::write(&file, source).unwrap();
        let mut compiler = Command::new("cc");
        compiler.arg(&file).arg("-o").arg(path(to)).args(arguments);
        assert!(compiler.status().unwrap().success(), "{to}");
    };
    for (library, expected, said) in [
        (
            "libcrypto.so.1.1",
            "no",
            "OpenSSL before 3.0 has no providers",
        ),
        ("libcrypto.so.3", "ok", "libcrypto.so.3"),
        ("libcrypto.so.4", "ok", "libcrypto.so.4"),
    ] {
        let name = format!("-Wl,-soname,{library}");
        compile(
            "int made(void) { return 0; }",
            "made.so",
            &["-shared", &name],
        );
        let made = path("made.so");
        let linked = [made.to_str().unwrap()];
        compile(
            "int made(void); int main(void) { return made(); }",
            "program",
            &linked,
        );
        let (_, answer) = answer(doctor().arg("--").arg(path("program")));
        assert_eq!(state(&answer, "library"), expected, "{answer}");
        assert!(text(&answer, "library").contains(said), "{answer}");
    }
}

#[test]
fn scripts_are_followed_and_privileges_seen() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let script = folder.path().join("script");
    write_program(&script, "#!/usr/bin/env -S openssl version\n");
    let (code, of_script) = answer(doctor().arg("--").arg(&script));
    assert_eq!(
        (code, state(&of_script, "library")),
        (0, "ok"),
        "{of_script}"
    );
    assert!(
        of_script.to_string().contains("a script, run by openssl"),
        "{of_script}"
    );

    if is_root("the part with a set-user-ID program") {
        let privileged = folder.path().join("openssl");
        fs::copy("/usr/bin/openssl", &privileged).unwrap();
        std::os::unix::fs::chown(&privileged, Some(65534), None).unwrap();
        fs::set_permissions(&privileged, Permissions::from_mode(0o4755)).unwrap();
        let (code, privileged) = answer(doctor().arg("--").arg(&privileged));
        assert_eq!(
            (code, state(&privileged, "privileges")),
            (1, "no"),
            "{privileged}"
        );
    }
}

/// No code of another user runs with root's rights unless `--try` asks for it. `doctor -- PROGRAM` and `provider calibrate
/// PROGRAM` load the libcrypto that the RUNPATH of a program names. Its owner may have put it there, as may the owner of a folder
/// above it, anyone with write access to one of these, and the owner of a link's target.
#[test]
fn the_libcrypto_of_another_user_is_not_loaded() {
    if !is_root("folders of other users") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (theirs, library, mark) = (path("theirs"), path("theirs/libcrypto.so.3"), path("ran"));
    let (program, elsewhere) = (path("program"), path("elsewhere"));
    fs::create_dir(&theirs).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    let source = path("library.c");
    let text = format!(
        "#include <stdio.h>\nint made(void) {{ return 0; }}\n\
         __attribute__((constructor)) static void ran(void) {{ fclose(fopen({:?}, \"w\")); }}\n",
        mark.display().to_string()
    );
    fs::write(&source, text).unwrap();
    let compile = |source: &Path, arguments: &[&str]| {
        let mut compiler = Command::new("cc");
        compiler.arg(source).args(arguments);
        assert!(compiler.status().unwrap().success(), "{arguments:?}");
    };
    let file = library.to_str().unwrap();
    compile(
        &source,
        &["-shared", "-fPIC", "-Wl,-soname,libcrypto.so.3", "-o", file],
    );
    fs::write(
        &source,
        "int made(void); int main(void) { return made(); }\n",
    )
    .unwrap();
    let runpath = format!("-Wl,-rpath,{}", theirs.display());
    compile(&source, &[file, &runpath, "-o", program.to_str().unwrap()]);

    let set = |path: &Path, owner: u32, mode: u32| {
        chown(path, Some(owner), Some(0)).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let commands: [&[&str]; 2] = [&["doctor", "--json"], &["provider", "calibrate"]];
    let ran = |command: &[&str]| {
        let _ = fs::remove_file(&mark);
        let mut started = oarlock();
        started.args(command).arg("--provider").arg(provider());
        started.env("OARLOCK_CALIBRATION", path("calibration"));
        let output = started.arg("--").arg(&program).output().unwrap();
        (mark.exists(), lossy(&output.stdout) + &stderr(&output))
    };
    for command in commands {
        let is_loaded = |said: &str, expected: Option<&str>| {
            let (has_run, text) = ran(command);
            assert_eq!(has_run, expected.is_none(), "{command:?}, {said}: {text}");
            if let Some(expected) = expected {
                assert!(text.contains(expected), "{command:?}, {said}: {text}");
            }
        };
        set(&theirs, 0, 0o755);
        set(&library, 0, 0o755);
        is_loaded("all of it is root's", None);
        set(&theirs, 65534, 0o755);
        is_loaded("another's folder", Some("belongs to another user"));
        set(&theirs, 0, 0o775);
        is_loaded(
            "a group may write the folder",
            Some("others may write the folder"),
        );
        set(&theirs, 0, 0o777);
        is_loaded(
            "all may write the folder",
            Some("others may write the folder"),
        );
        set(&theirs, 0, 0o755);
        set(&library, 65534, 0o755);
        is_loaded("another's library", Some("belongs to another user"));
        set(&library, 0, 0o757);
        is_loaded("all may write the library", Some("others may write it"));
        set(&library, 0, 0o755);
        // After a link.
        set(&elsewhere, 65534, 0o755);
        let real = elsewhere.join("real.so");
        fs::rename(&library, &real).unwrap();
        symlink(&real, &library).unwrap();
        is_loaded(
            "a link to another's folder",
            Some("belongs to another user"),
        );
        set(&elsewhere, 0, 0o755);
        is_loaded("a link to root's folder", None);
        fs::remove_file(&library).unwrap();
        fs::rename(&real, &library).unwrap();
    }
    // `--try` runs the program.
    set(&theirs, 65534, 0o755);
    assert!(ran(&["doctor", "--json", "--try"]).0);
}

#[test]
fn a_trial_has_the_last_word() {
    let enc = "openssl enc -aes-128-ctr -K 00112233445566778899aabbccddeeff -iv \
               00112233445566778899aabbccddeeff -in /bin/ls";
    // A shell does not link OpenSSL, but starts a program that does.
    let (code, shell) = answer(doctor().args(["--", "sh", "-c", enc]));
    // It does not matter which of the two a build without optimization reports.
    assert!(["ok", "note"].contains(&state(&shell, "trial")), "{shell}");
    assert_eq!(code, 0, "{shell}");
    assert!(
        text(&shell, "trial").contains("went through Oarlock"),
        "{shell}"
    );
    let bytes: u64 = shell["stats"]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(bytes, fs::metadata("/bin/ls").unwrap().len());

    let (code, unused) = answer(doctor().args(["--", "openssl", "version"]));
    assert_eq!((code, state(&unused, "trial")), (1, "no"), "{unused}");
    assert!(
        text(&unused, "trial").contains("none of its algorithms"),
        "{unused}"
    );
    let (code, unloaded) = answer(doctor().args(["--try", "--", "true"]));
    assert_eq!(code, 1);
    assert!(
        text(&unloaded, "trial").contains("none of its processes"),
        "{unloaded}"
    );
}

fn doctor() -> Command {
    let mut command = oarlock();
    command
        .args(["doctor", "--json", "--no-calibrate", "--provider"])
        .arg(provider());
    command
}

fn answer(command: &mut Command) -> (i32, Value) {
    let output = command.output().unwrap();
    let answer = serde_json::from_slice(&output.stdout);
    let answer = answer.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (output.status.code().unwrap(), answer)
}

fn state<'a>(answer: &'a Value, about: &str) -> &'a str {
    finding(answer, about)["state"].as_str().unwrap_or_default()
}

fn text<'a>(answer: &'a Value, about: &str) -> &'a str {
    finding(answer, about)["text"].as_str().unwrap_or_default()
}

/// Returns the worst finding about a subject.
fn finding<'a>(answer: &'a Value, about: &str) -> &'a Value {
    let findings = answer["findings"].as_array().unwrap();
    let mut of_it: Vec<_> = findings.iter().filter(|it| it["about"] == about).collect();
    of_it.sort_by_key(|it| {
        ["no", "note", "ok"]
            .iter()
            .position(|state| it["state"] == *state)
    });
    of_it.first().copied().unwrap_or(&Value::Null)
}

/// haproxy and nginx are installed for other tests, and not configured to batch signatures.
#[test]
fn servers_that_could_sign_together_are_named() {
    let has_lanes = Accelerator::builder().build().unwrap().lanes().is_some();
    if !has_lanes {
        return skip("lanes for RSA");
    }
    let (_, answer) = answer(doctor().env("OPENSSL_CONF", "").args(["--", "nginx"]));
    // Without a readable certificate it does not assume an RSA key.
    let findings = answer["findings"].as_array().unwrap();
    let of_keys: Vec<_> = findings
        .iter()
        .filter(|finding| finding["about"] == "RSA keys")
        .map(|finding| finding["text"].as_str().unwrap())
        .collect();
    let [nginx] = of_keys[..] else {
        panic!("{answer}");
    };
    assert!(
        nginx.contains("`oarlock provider install --local`"),
        "{nginx}"
    );
}
