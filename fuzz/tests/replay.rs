//! Every fuzz target on the inputs that the fuzzer kept, on those that once crashed, and on some noise.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use oarlock_fuzz::{TARGETS, Target};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

#[test]
fn aead() {
    replay("aead");
}

#[test]
fn age() {
    replay("age");
}

#[test]
fn boards() {
    replay("boards");
}

#[test]
fn calibration() {
    replay("calibration");
}

#[test]
fn capi() {
    replay("capi");
}

#[test]
fn certificates() {
    replay("certificates");
}

#[test]
fn contexts() {
    replay("contexts");
}

#[test]
fn ctr() {
    replay("ctr");
}

#[test]
fn esp() {
    replay("esp");
}

#[test]
fn hybrid() {
    replay("hybrid");
}

#[test]
fn live() {
    replay("live");
}

#[test]
fn openssl_enc() {
    replay("openssl_enc");
}

#[test]
fn plugin() {
    replay("plugin");
}

#[test]
fn prefetch() {
    replay("prefetch");
}

#[test]
fn relay() {
    replay("relay");
}

#[test]
fn requests() {
    replay("requests");
}

#[test]
fn rsa_keys() {
    replay("rsa_keys");
}

#[test]
fn srtp() {
    replay("srtp");
}

#[test]
fn tenants() {
    replay("tenants");
}

#[test]
fn tls() {
    replay("tls");
}

#[test]
fn every_target_is_replayed() {
    assert_eq!(TARGETS.len(), 20, "add a test above for each target");
}

fn replay(name: &str) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let kept = replay_folder(*target, &format!("corpus/{name}"));
    assert!(kept > 0, "corpus/{name} is empty");
    replay_folder(*target, &format!("crashes/{name}"));
    // From one seed, so that a failure comes again.
    let mut noise = StdRng::seed_from_u64(0x6f61_726c_6f63_6b21);
    for _ in 0..NOISE_INPUTS {
        let mut bytes = vec![0; noise.random_range(1..NOISE_BYTES_MAX)];
        noise.fill_bytes(&mut bytes);
        target(&bytes);
    }
}

/// The number of inputs there; the file of the one that fails is named before the panic.
fn replay_folder(target: Target, folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return 0;
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        println!("{}", file.display());
        target(&bytes);
    }
    files.len()
}

const NOISE_INPUTS: usize = 100;
const NOISE_BYTES_MAX: usize = 2048;
