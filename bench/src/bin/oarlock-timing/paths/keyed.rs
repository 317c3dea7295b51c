//! What ciphers and AEADs have in common here.

use std::hint::black_box;

use oarlock_kernels::aes::Backend;
use oarlock_kernels::cpu::{Cpu, Feature};

use crate::measure::{Contrast, Path};

/// This CPU and those it becomes when features are hidden: one for every backend that is preferred
/// on any of them, with its name.
pub fn ways(preferred: impl Fn(Cpu) -> &'static str) -> Vec<(&'static str, Cpu)> {
    let mut ways: Vec<(_, Cpu)> = Vec::new();
    for hidden in 0..1 << Feature::ALL.len() {
        let cpu = Feature::ALL
            .into_iter()
            .enumerate()
            .filter(|(i, _)| hidden >> i & 1 == 1)
            .fold(Cpu::detect(), |cpu, (_, feature)| cpu.without(feature));
        let name = preferred(cpu);
        if ways.iter().all(|(other, _)| *other != name) {
            ways.push((name, cpu));
        }
    }
    ways
}

/// The length of messages for a backend.
pub fn bytes_for(backend: &str) -> usize {
    if backend == Backend::Portable.name() {
        PORTABLE_BYTES
    } else {
        BYTES
    }
}

/// Setting a key, and a message under a secret key and of secret data.
pub fn add<C: Cipher + 'static>(
    paths: &mut Vec<Box<dyn Path>>,
    name: &str,
    operation: &str,
    bytes: usize,
    cipher: impl Fn() -> Box<C>,
) {
    let separator = if operation.is_empty() { "" } else { ", " };
    // Both directions of a cipher have one key set-up.
    let key_set_up = format!("{name}: key set-up");
    if paths.iter().all(|path| path.name() != key_set_up) {
        paths.push(Box::new(SetKey {
            name: key_set_up,
            cipher: cipher(),
            key: [0; KEY_BYTES],
        }));
    }
    for (secret, what) in [(Secret::Key, "key"), (Secret::Data, "data")] {
        let mut cipher = cipher();
        cipher.set_key(&PUBLIC_KEY);
        paths.push(Box::new(Apply {
            name: format!("{name}: {operation}{separator}{what}, {bytes} bytes"),
            cipher,
            secret,
            data: vec![0; bytes],
        }));
    }
}

/// A kernel with a place for a key.
pub trait Cipher {
    /// Takes a key of [`KEY_BYTES`].
    fn set_key(&mut self, key: &[u8]);

    /// Does to `data` what it is for.
    fn apply(&mut self, data: &mut [u8]);
}

/// What is refused takes no time worth measuring.
pub fn accepted<T, E>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(_) => unreachable!("every length, key and group here is one that is accepted"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Secret {
    Key,
    Data,
}

struct SetKey<C> {
    name: String,
    cipher: Box<C>,
    key: [u8; KEY_BYTES],
}

impl<C: Cipher> Path for SetKey<C> {
    fn name(&self) -> &str {
        &self.name
    }

    fn classes(&self) -> Contrast {
        Contrast::FixedAgainstRandom
    }

    fn secret_bytes(&self) -> usize {
        KEY_BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.key.copy_from_slice(secret);
    }

    fn run(&mut self) {
        self.cipher.set_key(&self.key);
        black_box(&mut *self.cipher);
    }
}

struct Apply<C> {
    name: String,
    cipher: Box<C>,
    secret: Secret,
    data: Vec<u8>,
}

impl<C: Cipher> Path for Apply<C> {
    fn name(&self) -> &str {
        &self.name
    }

    fn classes(&self) -> Contrast {
        Contrast::FixedAgainstRandom
    }

    fn secret_bytes(&self) -> usize {
        match self.secret {
            Secret::Key => KEY_BYTES,
            Secret::Data => self.data.len(),
        }
    }

    fn prepare(&mut self, secret: &[u8]) {
        match self.secret {
            Secret::Key => self.cipher.set_key(secret),
            Secret::Data => self.data.copy_from_slice(secret),
        }
    }

    fn run(&mut self) {
        self.cipher.apply(&mut self.data);
        black_box(&mut self.data);
    }
}

pub const KEY_BYTES: usize = 32;
pub const TAG_BYTES: usize = 16;
/// Where the key is not the secret.
pub const PUBLIC_KEY: [u8; KEY_BYTES] = [0x5c; KEY_BYTES];
/// The first counter block, or the IV: public.
pub const COUNTER: u128 = 0xf0f1f2f3_f4f5f6f7_f8f9fafb_fcfdfe00;
/// Several turns of the widest kernel's main loop.
pub const BYTES: usize = 1024;
/// Two turns of the portable one's, which is slow.
pub const PORTABLE_BYTES: usize = 128;
/// Enough bytes for counter-mode caching to fill its table and use it.
pub const CACHED_BYTES: usize = 14 << 10;
