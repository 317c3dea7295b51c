//! Programs with an allocator of their own for OpenSSL. If processes share its memory, a second process continues what a
//! first one began, on every path that leads to the provider's memory:
//!
//! - contexts of every offered cipher: used, copied and freed
//! - an RSA key that was read and exported to the provider, and its copy there
//! - contexts of signatures and decryption
//!
//! Key derivation, MACs, curves and their keys must not be there at all.
//!
//! Other allocators make no difference.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_testing::lossy;

use crate::driver::NAMES;
use crate::host::{Accelerated, open_folder, succeeds};

#[test]
fn memory_that_processes_share_is_left_to_the_default_provider() {
    for (linked, libcrypto) in BUILDS {
        let providers = providers_under("shared", libcrypto);
        assert!(
            providers.iter().all(|it| it == "default"),
            "{linked}: {providers:?}"
        );
        assert_eq!(providers.len(), NAMES.len() + OTHERS + 1);
    }
}

#[test]
fn other_allocators_change_nothing() {
    for (linked, libcrypto) in BUILDS {
        let usual = providers_under("none", libcrypto);
        let (rsa, usual_others) = usual.split_last().unwrap();
        let (ciphers, others) = usual_others.split_at(NAMES.len());
        assert!(
            ciphers.iter().all(|it| it == "oarlock") && others.iter().any(|it| it == "oarlock"),
            "{linked}: {usual:?}"
        );
        // Only on a CPU with lanes for RSA.
        let has_lanes = oarlock::Accelerator::builder()
            .build()
            .unwrap()
            .lanes()
            .is_some();
        assert_eq!(rsa == "oarlock", has_lanes, "{linked}");
        for mode in ["private", "counted"] {
            assert_eq!(providers_under(mode, libcrypto), usual, "{linked}: {mode}");
        }
    }
}

/// Returns the providers of all ciphers, of the other operations, and of RSA signatures in a program with that allocator.
fn providers_under(mode: &str, libcrypto: &[&str]) -> Vec<String> {
    let folder = open_folder();
    let program = compiled(folder.path(), libcrypto);
    let key = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oarlock/tests/keys/rsa2048.pem");
    fs::copy(key, folder.path().join("key.pem")).unwrap();
    let accelerated = Accelerated::new();
    let mut command = Command::new(program);
    command.current_dir(folder.path()).arg(mode).args(NAMES);
    let output = succeeds(accelerated.apply(&mut command));
    lossy(&output)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

fn compiled(folder: &Path, libcrypto: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/allocators.c");
    let program = folder.join("allocators");
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror"]);
    gcc.arg(source).arg("-o").arg(&program).args(libcrypto);
    succeeds(&mut gcc);
    program
}

/// The operations that are neither ciphers nor RSA.
const OTHERS: usize = 10;
/// In a program that hides libcrypto's names, the allocator is recognized by where its memory lies.
const BUILDS: [(&str, &[&str]); 2] = [
    ("with the shared library", &["-lcrypto"]),
    (
        "with libcrypto inside",
        &["-l:libcrypto.a", "-ldl", "-lpthread"],
    ),
];
