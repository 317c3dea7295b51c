//! Helpers that several modules share.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use ctr::Ctr128BE;
use oarlock::{Accelerator, Strategy};
use oarlock_testing::until;
use rand::Rng;

/// RSA keys for tests only.
#[cfg(feature = "rsa")]
pub mod keys {
    use oarlock::rsa::RsaPrivateKey;
    use pkcs1::RsaPrivateKeyRef;
    use pkcs1::der::Encode;
    use pkcs1::der::asn1::UintRef;

    pub const RSA1024: &str = include_str!("../keys/rsa1024.pem");
    pub const RSA2048: &str = include_str!("../keys/rsa2048.pem");
    pub const RSA3072: &str = include_str!("../keys/rsa3072.pem");
    pub const RSA4096: &str = include_str!("../keys/rsa4096.pem");

    /// Returns a key whose p is the product of two primes of 256 bits. All checked equations hold, including n = p q and
    /// d e = 1 modulo p - 1 and q - 1; powers are wrong nevertheless.
    pub fn composite() -> RsaPrivateKey {
        let numbers: Vec<Vec<u8>> = include_str!("../keys/composite.txt")
            .lines()
            .map(|line| {
                let digits = line.as_bytes().chunks(2);
                digits
                    .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                    .collect()
            })
            .collect();
        let uint = |at: usize| UintRef::new(&numbers[at]).unwrap();
        let der = RsaPrivateKeyRef {
            modulus: uint(0),
            public_exponent: uint(1),
            private_exponent: uint(2),
            prime1: uint(3),
            prime2: uint(4),
            exponent1: uint(5),
            exponent2: uint(6),
            coefficient: uint(7),
            other_prime_infos: None,
        };
        RsaPrivateKey::from_der(&der.to_der().unwrap()).unwrap()
    }
}

/// Returns an accelerator with the default options.
pub fn accelerator() -> Accelerator {
    Accelerator::builder().build().unwrap()
}

/// Returns an accelerator with `strategy`, on a CPU without the features that `mask` hides.
pub fn accelerator_by(mask: &str, strategy: Strategy) -> Accelerator {
    Accelerator::builder()
        .max_threads(3)
        .cpu_mask(mask)
        .strategy(strategy)
        .build()
        .unwrap()
}

/// Returns an accelerator that cuts every sufficiently long request into stripes.
pub fn striped() -> Accelerator {
    accelerator_by("", Strategy::Stripe)
}

/// Applies RustCrypto's AES-CTR to `data`, which begins at `position` of the stream.
pub fn apply_reference(key: &[u8], iv: &[u8; 16], position: u64, data: &mut [u8]) {
    fn run<C: KeyIvInit + StreamCipher + StreamCipherSeek>(
        key: &[u8],
        iv: &[u8; 16],
        position: u64,
        data: &mut [u8],
    ) {
        let mut cipher = C::new_from_slices(key, iv).unwrap();
        cipher.seek(position);
        cipher.apply_keystream(data);
    }
    match key.len() {
        16 => run::<Ctr128BE<aes::Aes128>>(key, iv, position, data),
        24 => run::<Ctr128BE<aes::Aes192>>(key, iv, position, data),
        _ => run::<Ctr128BE<aes::Aes256>>(key, iv, position, data),
    }
}

/// Returns the first bytes of that stream.
pub fn reference(key: &[u8], iv: &[u8; 16], bytes: usize) -> Vec<u8> {
    reference_from(key, iv, 0, bytes)
}

/// Returns bytes of that stream from `position` on.
pub fn reference_from(key: &[u8], iv: &[u8; 16], position: u64, bytes: usize) -> Vec<u8> {
    let mut stream = vec![0; bytes];
    apply_reference(key, iv, position, &mut stream);
    stream
}

/// Returns a device's reason for refusing.
#[cfg(any(feature = "library", feature = "pkcs11"))]
pub fn failure<T>(refused: Result<T, oarlock::device::DeviceError>) -> String {
    refused.map(drop).unwrap_err().0
}

pub fn random_bytes(random: &mut impl Rng, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    random.fill_bytes(&mut data);
    data
}

/// Waits until `threads` threads have arrived.
pub fn meet(arrived: &AtomicUsize, threads: usize) {
    arrived.fetch_add(1, Ordering::Relaxed);
    until("all have come", || {
        arrived.load(Ordering::Relaxed) >= threads
    });
}

/// Returns the kernel's list of this process's threads.
pub fn tasks() -> HashSet<String> {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
