//! The file by which the provider offers operations. The real provider reads it in the real openssl, and `doctor` reports
//! the provider's verdict.

mod made;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use oarlock::Algorithm;
use oarlock::device::{Cpu, Feature};
use oarlock_engine::Primitive;
use oarlock_engine::costs::openssl::{Measured, Stored};
use oarlock_testing::{is_root, lossy, names, skip};
use serde_json::Value;

use self::made::{ended, slow, slow_at, stored};
use crate::common::{oarlock, provider, run, stderr};

#[test]
fn what_it_calls_slow_is_left_to_openssl() {
    let place = Place::new();
    place.write(&stored(|_| {}));
    let all = place.listed("");
    assert_eq!(all.len(), 14, "{all:?}");
    let (_, answer) = place.doctor("");
    assert_eq!(state(&answer, "calibration"), "ok", "{answer}");
    // OpenSSL itself has ML-KEM, its groups and ML-DSA from 3.5 on.
    let is_new = |it: &&Value| {
        let text = it["text"].as_str().unwrap();
        text.contains("-mlkem") || text.starts_with("ml-")
    };
    let left = findings(&answer, "not offered");
    assert!(left.iter().all(is_new), "{answer}");

    place.write(&stored(|it| slow(it, Algorithm::ChaCha20)));
    let mut expected = all.clone();
    assert!(expected.remove("chacha20"));
    assert_eq!(place.listed(""), expected);
    let (code, answer) = place.doctor("");
    assert_eq!((code, state(&answer, "offered")), (0, "ok"), "{answer}");
    let said = text(&answer, "not offered");
    assert!(
        said.starts_with("chacha20 ") && said.contains("0.74 of its rate with 1024 bytes"),
        "{said}"
    );
    assert!(
        text(&answer, "ratios").contains("calibration of 2026-11-23"),
        "{answer}"
    );
    let of_chacha20 = offer(&answer["offers"]);
    assert_eq!(of_chacha20["is_offered"], false, "{answer}");
    assert_eq!(of_chacha20["ratios"]["1024"], 0.74, "{answer}");
    assert_eq!(
        of_chacha20["source"], "calibration of 2026-11-23",
        "{answer}"
    );
    let devices = place.command(&["devices", "--json"]).output().unwrap();
    let devices: Value = serde_json::from_slice(&devices.stdout).unwrap();
    assert_eq!(offer(&devices["offered_to_openssl"]), of_chacha20);

    // An option offers it even so, and `doctor` does not approve.
    assert_eq!(place.listed("offer=all"), all);
    let (code, answer) = place.doctor("offer=all");
    assert_eq!((code, state(&answer, "slower")), (0, "note"), "{answer}");
    let said = text(&answer, "slower");
    assert!(
        said.starts_with("chacha20 ") && said.contains("take offer=all"),
        "{said}"
    );

    // Offering nothing at all is a "no".
    place.write(&stored(|it| {
        Algorithm::ALL.iter().for_each(|one| slow(it, *one));
        Primitive::ALL.iter().for_each(|one| slow_at(it, *one, 0));
    }));
    assert_eq!(place.listed(""), BTreeSet::new());
    let (code, answer) = place.doctor("");
    assert_eq!((code, state(&answer, "offered")), (1, "no"), "{answer}");
}

#[test]
fn primitives_that_it_calls_slow_are_left_to_openssl() {
    let place = Place::new();
    let kinds = [
        ("-kdf-algorithms", "HKDF"),
        ("-key-exchange-algorithms", "X25519"),
        ("-mac-algorithms", "HMAC"),
    ];
    let listed = |options: &str| {
        kinds.map(|(kind, name)| {
            place
                .lines(kind, options)
                .iter()
                .any(|line| line.contains(name))
        })
    };
    place.write(&stored(|_| {}));
    assert_eq!(listed(""), [true; 3]);
    let asked = |answer: &Value, about: &str, name: &str| {
        let mut found = findings(answer, about).into_iter();
        let text = found.find_map(|it| it["text"].as_str().filter(|text| text.starts_with(name)));
        text.map(String::from)
    };
    for (at, slow) in [Primitive::Hkdf, Primitive::X25519, Primitive::Hmac]
        .into_iter()
        .enumerate()
    {
        let last = slow.calls().len() - 1;
        place.write(&stored(|it| slow_at(it, slow, last)));
        let mut expected = [true; 3];
        expected[at] = false;
        assert_eq!(listed(""), expected, "{slow}");
        let (code, answer) = place.doctor("");
        assert_eq!((code, state(&answer, "offered")), (0, "ok"), "{answer}");
        let said = asked(&answer, "not offered", &format!("{slow} ")).unwrap();
        let why = format!(
            "OpenSSL is faster: 0.74 of its rate in {}",
            slow.calls()[last]
        );
        assert!(said.ends_with(&why), "{said}");
        let offers = answer["offers"].as_array().unwrap();
        let offer = offers.iter().find(|one| one["operation"] == slow.name());
        assert_eq!(offer.unwrap()["ratios"][slow.calls()[last]], 0.74);
        assert_eq!(offer.unwrap()["why"], why);

        assert_eq!(listed("offer=all"), [true; 3]);
        let (_, answer) = place.doctor("offer=all");
        let said = asked(&answer, "slower", &format!("{slow} ")).unwrap();
        assert!(said.contains("take offer=all"), "{said}");
    }
    // One curve that is slow withholds the others.
    place.write(&stored(|it| slow_at(it, Primitive::EcP521, 1)));
    let (_, answer) = place.doctor("");
    for name in ["ec-p256", "ec-p384"] {
        let said = asked(&answer, "not offered", name).unwrap();
        assert!(
            said.ends_with("left to OpenSSL together with ec-p521"),
            "{said}"
        );
    }
}

#[test]
fn what_does_not_fit_counts_as_none_and_is_named() {
    type Change = fn(&mut Measured);
    let changes: [(Change, &str); 5] = [
        (
            |it| it.made_for.provider.push('0'),
            "another build of the provider",
        ),
        (|it| it.made_for.libcrypto.push('0'), "another libcrypto"),
        (
            |it| it.made_for.built.push('0'),
            "another build of libcrypto",
        ),
        (|it| it.made_for.cpu.push('0'), "another CPU or mask"),
        (
            |it| it.made_for.ia32cap.push('0'),
            "another OPENSSL_ia32cap",
        ),
    ];
    let place = Place::new();
    for (change, said) in changes {
        place.write(&stored(|it| {
            slow(it, Algorithm::ChaCha20);
            change(it);
        }));
        place.counts_as_none(said);
    }
    // The measurements of one mask do not hold for another, nor for OpenSSL's mask.
    place.write(&stored(|it| slow(it, Algorithm::ChaCha20)));
    let masked = place.doctor_with(&[("OPENSSL_ia32cap", ":~0x20000")]);
    assert!(
        text(&masked, "calibration").contains("another OPENSSL_ia32cap"),
        "{masked}"
    );
    let features: Vec<_> = Cpu::detect().features().map(Feature::name).collect();
    let Some(last) = features.last() else {
        return skip("a mask on a CPU that has nothing to hide");
    };
    let mask = format!("-{last}");
    let masked = place.doctor_with(&[("OARLOCK_CPU", &mask)]);
    assert!(
        text(&masked, "calibration").contains("another CPU or mask"),
        "{masked}"
    );
}

#[test]
fn what_is_damaged_counts_as_none_and_is_named() {
    let place = Place::new();
    let text = stored(|it| slow(it, Algorithm::ChaCha20)).to_string();
    let with = |from: &str, to: &str| ended(&text.replacen(from, to, 1));
    let flipped = {
        let mut bytes = text.clone().into_bytes();
        bytes[text.len() / 2] ^= 1;
        bytes
    };
    for (bytes, said) in [
        (Vec::new(), "not whole"),
        (text.as_bytes()[..text.len() - 1].to_vec(), "not whole"),
        (text.as_bytes()[..text.len() / 2].to_vec(), "not whole"),
        (flipped, "not whole"),
        (with("calibration 3", "calibration 2"), "another version"),
        (with("0.740", "NaN"), "possible ratios"),
        (with("0.740", "0.000"), "possible ratios"),
        (with("0.740", "-0.740"), "possible ratios"),
        (with("0.740", "1000000.000"), "possible ratios"),
        (vec![0xff; 100], "not the text"),
        (vec![b'a'; 70_000], "larger"),
    ] {
        place.write(&"");
        fs::write(&place.file, &bytes).unwrap();
        place.counts_as_none(said);
    }
    // The provider's parser refuses every cut.
    for end in 0..text.len() {
        assert!(Stored::parse(&text.as_bytes()[..end]).is_err(), "{end}");
    }
}

#[test]
fn what_others_may_have_written_counts_as_none_and_is_named() {
    let place = Place::new();
    let slow = stored(|it| slow(it, Algorithm::ChaCha20));
    let write = || place.write(&slow);
    let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    for mode in [0o664, 0o646, 0o666] {
        write();
        set(&place.file, mode);
        place.counts_as_none("others may write it");
    }
    write();
    set(place.folder.path(), 0o775);
    place.counts_as_none("others may write the folder");
    // In /tmp, for example, nobody can replace another user's file.
    set(place.folder.path(), 0o1777);
    assert!(!place.listed("").contains("chacha20"));
    set(place.folder.path(), 0o700);

    let elsewhere = place.folder.path().join("elsewhere");
    fs::rename(&place.file, &elsewhere).unwrap();
    symlink(&elsewhere, &place.file).unwrap();
    place.counts_as_none("a symbolic link");
    // A pipe does not make the provider wait for a writer.
    fs::remove_file(&place.file).unwrap();
    let mut mkfifo = Command::new("mkfifo");
    assert!(mkfifo.arg(&place.file).status().unwrap().success());
    place.counts_as_none("not a regular file");
    fs::remove_file(&place.file).unwrap();
    fs::create_dir(&place.file).unwrap();
    place.counts_as_none("not a regular file");
    fs::remove_dir(&place.file).unwrap();

    if !is_root("files of other users") {
        return;
    }
    write();
    chown(&place.file, Some(65534), None).unwrap();
    place.counts_as_none("belongs to another user");
    write();
    chown(place.folder.path(), Some(65534), None).unwrap();
    place.counts_as_none("belongs to another user");
}

#[test]
fn doctor_measures_and_stores_nothing_and_calibrate_stores_it() {
    let place = Place::new();
    let (_, answer) = place.doctor("");
    assert_eq!(state(&answer, "calibration"), "note", "{answer}");
    assert!(
        text(&answer, "calibration").starts_with("none for OpenSSL "),
        "{answer}"
    );
    assert!(!place.file.exists());

    // A diagnosis measures for its answer and writes nothing, neither if the calibration is missing nor if the file is
    // ignored.
    let answer = place.measuring_doctor();
    assert_eq!(state(&answer, "calibration"), "note", "{answer}");
    assert!(
        text(&answer, "measured").contains("stored nowhere"),
        "{answer}"
    );
    let of_chacha20 = offer(&answer["measured"]);
    assert!(
        of_chacha20["source"]
            .as_str()
            .unwrap()
            .starts_with("calibration of "),
        "{answer}"
    );
    assert!(
        offer(&answer["offers"])["source"]
            .as_str()
            .is_none_or(|source| source.starts_with("table ")),
        "programs go by the tables: {answer}"
    );
    assert_eq!(names(place.folder.path()), Vec::<String>::new());

    let calibrate = || {
        let mut command = place.command(&["provider", "calibrate", "--provider"]);
        let said = command.arg(provider()).output().unwrap();
        assert!(said.status.success(), "{}", stderr(&said));
        lossy(&said.stdout)
    };
    calibrate();
    assert_eq!(state(&place.doctor("").1, "calibration"), "ok");
    let made = fs::read(&place.file).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let of_all = if rustix::process::geteuid().is_root() {
        0o644
    } else {
        0o600
    };
    assert_eq!(mode(&place.file), of_all);
    assert_eq!(names(place.folder.path()), [NAME], "nothing is left");
    let stored = Stored::parse(&made).unwrap();
    // The calibration fits, so nothing is measured again.
    assert!(place.measuring_doctor()["measured"].is_null());
    assert_eq!(fs::read(&place.file).unwrap(), made);

    // An ignored file is named, and only `calibrate` replaces it.
    fs::set_permissions(&place.file, Permissions::from_mode(0o666)).unwrap();
    let answer = place.measuring_doctor();
    assert!(
        text(&answer, "calibration").contains("others may write it"),
        "{answer}"
    );
    assert_eq!(mode(&place.file), 0o666);
    calibrate();
    assert_eq!(mode(&place.file), of_all);
    assert_eq!(state(&place.doctor("").1, "calibration"), "ok");

    // Measurements against other libcryptos stay.
    let mut other = stored.measured()[0].clone();
    other.made_for.libcrypto = "OpenSSL 3.0.0".into();
    let mut both = stored;
    both.add(other.clone());
    place.write(&both);
    let said = calibrate();
    assert!(said.contains("stored in "), "{said}");
    for end in [
        "full-client",
        "full-server",
        "resumed-client",
        "resumed-server",
    ] {
        assert!(said.contains(&format!("{end} ")), "{end}: {said}");
    }
    let renewed = Stored::parse(&fs::read(&place.file).unwrap()).unwrap();
    assert_eq!(renewed.measured().len(), 2);
    assert_eq!(renewed.measured()[1], other);
}

#[test]
fn an_installation_makes_one_and_takes_it_away() {
    let place = Place::new();
    let (conf, modules) = (
        place.folder.path().join("openssl.cnf"),
        place.folder.path().join("modules"),
    );
    fs::write(&conf, "").unwrap();
    fs::create_dir(&modules).unwrap();
    let provider_command = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.arg("--config").arg(&conf).arg("--yes");
        if arguments.contains(&"install") {
            command.arg("--module-dir").arg(&modules);
            command.arg("--provider").arg(provider());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        lossy(&output.stdout)
    };
    let said = provider_command(&["provider", "install"]);
    assert!(
        said.contains("+calibration = ") && said.contains("calibrated against OpenSSL "),
        "{said}"
    );
    let made = fs::read(&place.file).unwrap();
    assert_eq!(Stored::parse(&made).unwrap().measured().len(), 1);
    // Programs use it.
    place.write(&stored(|it| slow(it, Algorithm::ChaCha20)));
    let mut list = Command::new("openssl");
    list.args([
        "list",
        "-cipher-algorithms",
        "-propquery",
        "provider=oarlock",
    ]);
    let listed = list
        .env("OPENSSL_CONF", &conf)
        .env_remove("OARLOCK_OPTIONS")
        .output()
        .unwrap();
    let listed = lossy(&listed.stdout).to_lowercase();
    assert!(
        listed.contains("chacha20-poly1305 @ oarlock") && !listed.contains("chacha20 @ oarlock"),
        "{listed}"
    );

    let said = provider_command(&["provider", "uninstall"]);
    assert!(
        said.contains(&format!("removes {}", place.file.display())),
        "{said}"
    );
    assert_eq!(names(place.folder.path()), ["modules", "openssl.cnf"]);
    // `uninstall` must not remove a file with another name.
    provider_command(&["provider", "install", "--no-calibrate"]);
    let additions = names(&modules)
        .into_iter()
        .find(|name| name.starts_with("oarlock-"));
    let additions = modules.join(additions.unwrap());
    let changed = fs::read_to_string(&additions)
        .unwrap()
        .replace(NAME, "modules/precious")
        .replace("made = module", "made = \"module,calibration\"");
    fs::write(&additions, changed).unwrap();
    fs::write(modules.join("precious"), "").unwrap();
    provider_command(&["provider", "uninstall"]);
    assert!(modules.join("precious").exists());
}

/// Covers two configurations, with one folder of modules or two; the first may be the machine's. Shared parts go with the
/// last installation, and what existed before stays.
#[test]
fn each_installation_takes_away_what_it_alone_has_made() {
    for shares_folder in [true, false] {
        for first_is_machines in [true, false] {
            if !shares_folder && !first_is_machines {
                // Neither can find the other.
                continue;
            }
            for goes_first in [0, 1] {
                for is_calibrated_before in [false, true] {
                    let place = Place::new();
                    let path = |name: &str| place.folder.path().join(name);
                    if is_calibrated_before {
                        place.write(&stored(|_| {}));
                    }
                    let confs = ["one/openssl.cnf", "two/openssl.cnf"].map(path);
                    let mut modules = ["one/modules", "two/modules"].map(path);
                    for (conf, modules) in confs.iter().zip(&modules) {
                        fs::create_dir_all(modules).unwrap();
                        fs::write(conf, "a = 1\n").unwrap();
                    }
                    if shares_folder {
                        modules[1] = modules[0].clone();
                    }
                    let at = |what: &str, number: usize| {
                        let mut command = place.command(&["provider", what, "--yes"]);
                        command.arg("--config").arg(&confs[number]);
                        command.arg("--module-dir").arg(&modules[number]);
                        // This build may be slower at some operations.
                        command.env("OARLOCK_OPTIONS", "offer=all");
                        if what == "install" {
                            command.arg("--provider").arg(provider());
                        }
                        if first_is_machines {
                            let bin = place.machines_openssl(&path("one"));
                            let paths = std::env::var("PATH").unwrap();
                            command.env("PATH", format!("{}:{paths}", bin.display()));
                        }
                        let output = command.output().unwrap();
                        assert!(output.status.success(), "{}", stderr(&output));
                    };
                    at("install", 0);
                    at("install", 1);
                    let (goes, stays) = (goes_first, 1 - goes_first);
                    at("uninstall", goes);
                    let about = format!(
                        "{shares_folder} {first_is_machines} {goes} {is_calibrated_before}"
                    );
                    // All find the machine's configuration, but others only by a shared folder.
                    let is_known = shares_folder || stays == 0;
                    if is_known {
                        assert!(place.file.exists(), "{about}");
                    }
                    assert!(modules[stays].join("oarlock.so").exists(), "{about}");
                    assert_eq!(fs::read(&confs[goes]).unwrap(), b"a = 1\n");
                    at("uninstall", stays);
                    assert_eq!(place.file.exists(), is_calibrated_before, "{about}");
                    for modules in &modules {
                        assert_eq!(names(modules), [""; 0], "{about}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_calibrated_is_said() {
    let place = Place::new();
    let not_a_library = place.folder.path().join("text");
    fs::write(&not_a_library, "no library").unwrap();
    let calibrate = |arguments: &[&str]| {
        let mut command = place.command(&["provider", "calibrate", "--provider"]);
        let output = command.arg(provider()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stderr(&output)
    };
    let said = calibrate(&["--library", not_a_library.to_str().unwrap()]);
    assert!(said.contains("cannot be measured against it"), "{said}");
    let said = calibrate(&["no-such-program"]);
    assert!(said.contains("no such program"), "{said}");
    let said = calibrate(&["ls"]);
    assert!(said.contains("not linked with libcrypto"), "{said}");
    assert!(!place.file.exists());
}

/// A folder that nobody else may write, and the calibration in it.
struct Place {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join(NAME);
        Self { folder, file }
    }

    fn write(&self, text: &impl std::fmt::Display) {
        // This creates another file, with the rights of a new one.
        let _ = fs::remove_file(&self.file);
        fs::write(&self.file, text.to_string()).unwrap();
        fs::set_permissions(&self.file, Permissions::from_mode(0o600)).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = oarlock();
        command
            .args(arguments)
            .env("OARLOCK_CALIBRATION", &self.file);
        command.env_remove("OARLOCK_OPTIONS");
        command
    }

    /// Returns a folder with an `openssl` that reports the machine's configuration in `folder`.
    fn machines_openssl(&self, folder: &Path) -> PathBuf {
        let bin = self.folder.path().join("bin");
        if bin.exists() {
            return bin;
        }
        fs::create_dir(&bin).unwrap();
        let folder = folder.display();
        let source = format!(
            "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n\
             int main(int count, char **arguments) {{\n\
                 if (count > 1 && !strcmp(arguments[1], \"version\"))\n\
                     return puts(\"OpenSSL 3.0.19\\nOPENSSLDIR: \\\"{folder}\\\"\\nMODULESDIR: \\\"{folder}\\\"\") < 0;\n\
                 return execv(\"/usr/bin/openssl\", arguments);\n}}\n"
        );
        let mut gcc = Command::new("gcc");
        gcc.args(["-x", "c", "-", "-o"]).arg(bin.join("openssl"));
        // The provider is measured against the libcrypto of this program.
        gcc.args(["-Wl,--no-as-needed", "-l:libcrypto.so.3"]);
        let made = run(&mut gcc, source.as_bytes());
        assert!(made.status.success(), "{}", stderr(&made));
        bin
    }

    /// Returns the names of what the provider offers in openssl.
    fn listed(&self, options: &str) -> BTreeSet<String> {
        let lines = self.lines("-cipher-algorithms", options);
        let is_of_it = |name: &str| {
            let mut lines = lines.iter();
            lines.any(|line| {
                line.to_lowercase()
                    .split(|c: char| !c.is_alphanumeric() && c != '-')
                    .any(|word| word == name)
            })
        };
        let all = Algorithm::ALL.iter().map(|one| one.name());
        all.filter(|name| is_of_it(name)).map(Into::into).collect()
    }

    /// Returns openssl's list of what the provider offers.
    fn lines(&self, kind: &str, options: &str) -> Vec<String> {
        let mut command = self.command(&["run", "--provider"]);
        command.arg(provider()).env("OARLOCK_OPTIONS", options);
        let list = ["openssl", "list", kind, "-propquery", "provider=oarlock"];
        let output = run(command.arg("--").args(list), b"");
        // A program never sees faults of the file.
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            stderr(&output)
        );
        let listed = lossy(&output.stdout);
        let of_us = listed.lines().filter(|line| line.ends_with("@ oarlock"));
        of_us.map(Into::into).collect()
    }

    fn doctor(&self, options: &str) -> (i32, Value) {
        let mut command = self.command(&["doctor", "--json", "--no-calibrate", "--provider"]);
        command.arg(provider()).env("OARLOCK_OPTIONS", options);
        let output = command.output().unwrap();
        let answer = serde_json::from_slice(&output.stdout);
        (
            output.status.code().unwrap(),
            answer.unwrap_or_else(|_| panic!("{}", stderr(&output))),
        )
    }

    fn doctor_with(&self, environment: &[(&str, &str)]) -> Value {
        let mut command = self.command(&["doctor", "--json", "--no-calibrate", "--provider"]);
        let output = command
            .arg(provider())
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn measuring_doctor(&self) -> Value {
        let mut command = self.command(&["doctor", "--json", "--provider"]);
        let output = command.arg(provider()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Checks that the file, which says that ChaCha20 is slow, changes nothing, and that doctor says why.
    #[track_caller]
    fn counts_as_none(&self, why: &str) {
        static BY_TABLES: OnceLock<BTreeSet<String>> = OnceLock::new();
        let by_tables = BY_TABLES.get_or_init(|| Self::new().listed(""));
        assert_eq!(&self.listed(""), by_tables, "{why}");
        let (_, answer) = self.doctor("");
        assert_eq!(state(&answer, "calibration"), "note", "{why}: {answer}");
        let said = text(&answer, "calibration");
        let name = self.file.display().to_string();
        assert!(
            said.starts_with(&name) && said.contains(why),
            "{why}: {said}"
        );
        assert!(
            said.contains("`oarlock provider calibrate` renews it"),
            "{said}"
        );
    }
}

/// Returns the offer of ChaCha20.
fn offer(offers: &Value) -> &Value {
    let offers = offers.as_array().unwrap();
    offers
        .iter()
        .find(|one| one["operation"] == "chacha20")
        .unwrap()
}

fn findings<'a>(answer: &'a Value, about: &str) -> Vec<&'a Value> {
    let findings = answer["findings"].as_array().unwrap();
    findings.iter().filter(|it| it["about"] == about).collect()
}

/// Returns the state of the last finding about a subject.
fn state<'a>(answer: &'a Value, about: &str) -> &'a str {
    let found = findings(answer, about).pop();
    found.map_or("", |it| it["state"].as_str().unwrap())
}

/// Returns the text of the first finding about a subject.
fn text<'a>(answer: &'a Value, about: &str) -> &'a str {
    findings(answer, about)
        .first()
        .map_or("", |it| it["text"].as_str().unwrap())
}

const NAME: &str = "openssl-calibration";
