//! Every fuzz target on the inputs that the fuzzer kept, on those that once crashed, and on some noise.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
fn ecdsa() {
    replay("ecdsa");
}

#[test]
fn elf() {
    replay("elf");
}

#[test]
fn esp() {
    replay("esp");
}

#[test]
fn hmac() {
    replay("hmac");
}

#[test]
fn hybrid() {
    replay("hybrid");
}

#[test]
fn hybrid_keys() {
    replay("hybrid_keys");
}

#[test]
fn kdf() {
    replay("kdf");
}

#[test]
fn key_shares() {
    replay("key_shares");
}

#[test]
fn keys() {
    replay("keys");
}

#[test]
fn live() {
    replay("live");
}

#[test]
fn local() {
    replay("local");
}

#[test]
fn openssl_conf() {
    replay("openssl_conf");
}

#[test]
fn openssl_enc() {
    replay("openssl_enc");
}

#[test]
fn params() {
    replay("params");
}

#[test]
fn pkcs11() {
    replay("pkcs11");
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
fn rewrap() {
    replay("rewrap");
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
fn token() {
    replay("token");
}

#[test]
fn every_target_is_replayed() {
    assert_eq!(TARGETS.len(), 33, "add a test above for each target");
}

fn replay(name: &str) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let kept = replay_folder(*target, &format!("corpus/{name}"));
    assert!(!kept.is_empty(), "corpus/{name} is empty");
    replay_folder(*target, &format!("crashes/{name}"));
    // From one seed, so that a failure comes again.
    let mut noise = StdRng::seed_from_u64(0x6f61_726c_6f63_6b21);
    for _ in 0..NOISE_INPUTS {
        let mut bytes = vec![0; noise.random_range(1..NOISE_BYTES_MAX)];
        noise.fill_bytes(&mut bytes);
        target(&bytes);
    }
    let seconds = std::env::var("OARLOCK_TEST_FUZZ_SECONDS").ok();
    if let Some(seconds) = seconds.map(|seconds| seconds.parse().unwrap()) {
        search(name, *target, &kept, Duration::from_secs(seconds));
    }
}

/// Looks for faults in inputs that nobody kept, where libFuzzer is not at hand: kept ones with some bytes changed, and long
/// sequences. The input that is being tried is in the folder for temporary files.
fn search(name: &str, target: Target, kept: &[Vec<u8>], time: Duration) {
    let mut noise = StdRng::from_rng(&mut rand::rng());
    let file = std::env::temp_dir().join(format!("oarlock-fuzz-{name}"));
    let (began, mut tried) = (Instant::now(), 0);
    while began.elapsed() < time {
        let mut bytes = kept[noise.random_range(0..kept.len())].clone();
        if noise.random_range(0..4) == 0 {
            bytes = vec![0; noise.random_range(1..NOISE_BYTES_MAX)];
            noise.fill_bytes(&mut bytes);
            // Sequences go on as long as a bit says so.
            bytes.iter_mut().for_each(|byte| *byte |= 1);
        }
        for _ in 0..noise.random_range(0..16) {
            let at = noise.random_range(0..bytes.len().max(1));
            match noise.random_range(0..5) {
                0 if at < bytes.len() => bytes[at] ^= 1 << noise.random_range(0..8),
                1 if at < bytes.len() => bytes[at] = noise.random_range(0..=255),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                3 => {
                    let other = &kept[noise.random_range(0..kept.len())];
                    let from = noise.random_range(0..=other.len());
                    let to = noise.random_range(from..=other.len()).min(from + 64);
                    let at = at.min(bytes.len());
                    bytes.splice(at..at, other[from..to].iter().copied());
                }
                _ => bytes.insert(at.min(bytes.len()), noise.random_range(0..=255)),
            }
        }
        std::fs::write(&file, &bytes).unwrap();
        target(&bytes);
        tried += 1;
    }
    std::fs::remove_file(&file).unwrap();
    println!("{name}: {tried} inputs without a fault");
}

/// The inputs there; the file of the one that fails is named before the panic.
fn replay_folder(target: Target, folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let run = |file: &PathBuf| {
        let bytes = std::fs::read(file).unwrap();
        println!("{}", file.display());
        target(&bytes);
        bytes
    };
    files.iter().map(run).collect()
}

const NOISE_INPUTS: usize = 100;
const NOISE_BYTES_MAX: usize = 2048;
