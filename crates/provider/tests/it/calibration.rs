//! The calibration file, in programs of several users and with more rights than their user.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use oarlock::Options;
use oarlock::device::visible_cpu;
use oarlock_engine::Primitive;
use oarlock_engine::costs::openssl::{CallRatios, MadeFor, Measured, Ratios, SIZES, Stored};
use oarlock_engine::plan::provided;
use oarlock_testing::{is_root, lossy};

use crate::host::{Accelerated, Machine, open_folder, succeeds};

#[test]
fn a_program_goes_by_its_users_file_and_by_roots_alone_with_more_rights() {
    if !is_root("programs and files of other users") {
        return;
    }
    let folder = open_folder();
    let privileged = folder.path().join("openssl");
    let privileged = privileged.to_str().unwrap();
    // Another process installs it, as in `process.rs`.
    let user = USER.to_string();
    let install = ["-m", "4755", "-o", &user, "/usr/bin/openssl", privileged];
    succeeds(Command::new("install").args(install));

    let (accelerated, machine) = (Accelerated::for_all(""), Machine::with(""));
    // A program with more rights ignores the CPU mask and the library path, so the file does not apply to it then.
    let variables = ["OARLOCK_CPU", "OPENSSL_ia32cap", "OARLOCK_TEST_OPENSSL"];
    let is_for_privileged = variables.iter().all(|it| std::env::var_os(it).is_none());
    let by_tables = ["openssl", privileged].map(|it| offered(&machine, it, NOBODY));
    assert!(by_tables.iter().all(|it| !it.is_empty()));
    fs::write(machine.calibration(), all_slow(&accelerated)).unwrap();
    for (program, started_by, owner, is_used) in [
        ("openssl", NOBODY, 0, true),
        ("openssl", NOBODY, USER, false),
        ("openssl", USER, USER, true),
        (privileged, NOBODY, 0, is_for_privileged),
        (privileged, NOBODY, USER, false),
        (privileged, NOBODY, NOBODY, false),
    ] {
        chown(machine.calibration(), Some(owner), None).unwrap();
        let by_tables = &by_tables[usize::from(program == privileged)];
        let expected = if is_used { "" } else { by_tables };
        let found = offered(&machine, program, started_by);
        assert_eq!(
            found, expected,
            "{program} of {started_by}, file of {owner}"
        );
    }
}

#[test]
fn without_the_file_it_goes_by_the_tables() {
    let mut accelerated = Accelerated::new();
    accelerated.offer_what_gains();
    let list = || {
        let mut list = Command::new("openssl");
        lossy(&succeeds(accelerated.apply(list.args(LIST))))
    };
    let by_tables = list();
    fs::write(accelerated.calibration(), all_slow(&accelerated)).unwrap();
    assert_ne!(list(), by_tables, "it goes by the file");
    fs::remove_file(accelerated.calibration()).unwrap();
    assert_eq!(list(), by_tables);
}

/// Returns what openssl lists of the provider, which the machine's own configuration loads: privileged programs ignore the
/// environment's.
fn offered(machine: &Machine, program: &str, user: u32) -> String {
    let prefix = machine.prefix();
    let mut command = Command::new(&prefix[0]);
    command.args(&prefix[1..]).arg("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]);
    command.args(["--clear-groups", program]).args(LIST);
    let listed = succeeds(command.env_remove("OPENSSL_CONF"));
    let listed = lossy(&listed);
    let of_us = listed.lines().filter(|line| line.ends_with("@ oarlock"));
    of_us.collect::<Vec<_>>().join("\n")
}

/// Returns a calibration of this machine by which nothing is worth offering.
fn all_slow(accelerated: &Accelerated) -> String {
    let said = |arguments: &[&str]| {
        let mut openssl = Command::new("openssl");
        lossy(&succeeds(accelerated.apply(openssl.args(arguments))))
    };
    let version = said(&["version"]);
    let library = version
        .split_once("(Library: ")
        .map(|(_, of_library)| of_library);
    let providers = said(&["list", "-providers", "-verbose"]);
    let (_, of_us) = providers.split_once("name: Oarlock").unwrap();
    let build = of_us
        .lines()
        .find_map(|line| line.trim().strip_prefix("build info: "));
    let measured = Measured {
        made_for: MadeFor {
            provider: build.unwrap().into(),
            libcrypto: library
                .unwrap_or(&version)
                .trim()
                .trim_end_matches(')')
                .into(),
            built: said(&["version", "-b"]).trim().into(),
            cpu: MadeFor::cpu(visible_cpu().unwrap()),
            ia32cap: std::env::var("OPENSSL_ia32cap").unwrap_or_default(),
        },
        made: "2026-11-23".into(),
        ratios: provided(visible_cpu().unwrap(), &Options::default(), "", None)
            .iter()
            .map(|one| {
                (
                    one.operation,
                    Ratios::from_thousandths([500; SIZES.len()]).unwrap(),
                )
            })
            .collect(),
        primitives: Primitive::ALL
            .iter()
            .map(|one| {
                let slow = vec![500; one.calls().len()];
                (*one, CallRatios::from_thousandths(*one, &slow).unwrap())
            })
            .collect(),
    };
    let mut stored = Stored::default();
    stored.add(measured);
    stored.to_string()
}

const LIST: [&str; 4] = [
    "list",
    "-cipher-algorithms",
    "-propquery",
    "provider=oarlock",
];
const NOBODY: u32 = 65534;
/// A user ID that need not exist.
const USER: u32 = 12345;
