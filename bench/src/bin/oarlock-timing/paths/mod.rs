//! What is measured: every kernel that handles a secret, on every backend of this CPU, and what the
//! engine does with secrets itself.

mod aead;
#[cfg(target_arch = "x86_64")]
mod modexp;
mod padding;
mod rsa;

use std::hint::black_box;

use oarlock::kernels::aes::{Backend, Ctr};
#[cfg(target_arch = "x86_64")]
use oarlock::kernels::aes::{CachedCtr, Face};
use oarlock::kernels::cbc::Cbc;
use oarlock::kernels::chacha20::ChaCha20;
use oarlock::kernels::cpu::{Cpu, Feature};

use crate::measure::{Classes, Path};

/// Every path but the leaky control.
pub fn all() -> Vec<Box<dyn Path>> {
    let mut paths: Vec<Box<dyn Path>> = vec![Box::new(ConstantTime::default())];
    let cpu = Cpu::detect();
    for backend in cpu.aes_backends() {
        let of = |algorithm| format!("{algorithm} {}", backend.name());
        let bytes = bytes_for(backend.name());
        add(&mut paths, &of("aes-256-ctr"), "", bytes, || {
            Box::new(Ctr::unkeyed(backend))
        });
        add(&mut paths, &of("aes-256-cbc"), "encryption", bytes, || {
            Box::new(Encrypting(Cbc::unkeyed(backend)))
        });
        add(&mut paths, &of("aes-256-cbc"), "decryption", bytes, || {
            Box::new(Decrypting(Cbc::unkeyed(backend)))
        });
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(face) = Face::new(cpu) {
        add(&mut paths, "aes-256-ctr face", "", CACHED_BYTES, || {
            Box::new(CachedCtr::unkeyed(face))
        });
    }
    for (backend, cpu) in ways(|cpu| accepted(ChaCha20::new(&PUBLIC_KEY, cpu)).backend().name()) {
        add(
            &mut paths,
            &format!("chacha20 {backend}"),
            "",
            bytes_for(backend),
            || Box::new(accepted(ChaCha20::new(&PUBLIC_KEY, cpu))),
        );
    }
    aead::add(&mut paths);
    padding::add(&mut paths);
    #[cfg(target_arch = "x86_64")]
    modexp::add(&mut paths);
    rsa::add(&mut paths);
    paths
}

/// A comparison of tags as one must not write it.
pub fn leaky_control() -> Box<dyn Path> {
    Box::new(StopsEarly::default())
}

/// This CPU and those it becomes when features are hidden: one for every backend that is preferred
/// on any of them, with its name.
fn ways(preferred: impl Fn(Cpu) -> &'static str) -> Vec<(&'static str, Cpu)> {
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
fn bytes_for(backend: &str) -> usize {
    if backend == Backend::Portable.name() {
        PORTABLE_BYTES
    } else {
        BYTES
    }
}

/// Setting a key, and a message under a secret key and of secret data.
fn add<C: Cipher + 'static>(
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
trait Cipher {
    /// Takes a key of [`KEY_BYTES`].
    fn set_key(&mut self, key: &[u8]);

    /// Does to `data` what it is for.
    fn apply(&mut self, data: &mut [u8]);
}

impl Cipher for Ctr {
    fn set_key(&mut self, key: &[u8]) {
        accepted(Self::set_key(self, key));
    }

    fn apply(&mut self, data: &mut [u8]) {
        Self::apply(self, COUNTER, 0, data.into());
    }
}

#[cfg(target_arch = "x86_64")]
impl Cipher for CachedCtr {
    fn set_key(&mut self, key: &[u8]) {
        accepted(Self::set_key(self, key));
    }

    fn apply(&mut self, data: &mut [u8]) {
        Self::apply(self, COUNTER, 0, data.into());
    }
}

impl Cipher for ChaCha20 {
    fn set_key(&mut self, key: &[u8]) {
        accepted(self.set_key(key));
    }

    fn apply(&mut self, data: &mut [u8]) {
        Self::apply(self, COUNTER, 0, data.into());
    }
}

struct Encrypting(Cbc);

impl Cipher for Encrypting {
    fn set_key(&mut self, key: &[u8]) {
        accepted(self.0.set_key(key));
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.encrypt(&mut COUNTER.to_be_bytes(), data.into());
    }
}

struct Decrypting(Cbc);

impl Cipher for Decrypting {
    fn set_key(&mut self, key: &[u8]) {
        accepted(self.0.set_key(key));
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.decrypt(&mut COUNTER.to_be_bytes(), data.into());
    }
}

/// What is refused takes no time worth measuring.
fn accepted<T, E>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(_) => unreachable!("every length, key and group here is one that is accepted"),
    }
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

    fn classes(&self) -> Classes {
        Classes::FixedAgainstRandom
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Secret {
    Key,
    Data,
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

    fn classes(&self) -> Classes {
        Classes::FixedAgainstRandom
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

/// Compares with a tag of zeros, byte by byte up to the first difference.
#[derive(Default)]
struct StopsEarly([u8; TAG_BYTES]);

impl Path for StopsEarly {
    fn name(&self) -> &str {
        "control that leaks: a comparison that stops early"
    }

    fn classes(&self) -> Classes {
        Classes::FirstAgainstLast
    }

    fn secret_bytes(&self) -> usize {
        TAG_BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.0.copy_from_slice(secret);
    }

    fn run(&mut self) {
        // Hidden from the compiler, which might otherwise compare whole words.
        black_box(self.0.iter().all(|byte| *black_box(byte) == 0));
    }
}

/// The same over all bytes, with secrets of one kind: what noise alone gives on this machine.
#[derive(Default)]
struct ConstantTime([u8; TAG_BYTES]);

impl Path for ConstantTime {
    fn name(&self) -> &str {
        "control of noise: no difference there is"
    }

    fn classes(&self) -> Classes {
        Classes::Same
    }

    fn secret_bytes(&self) -> usize {
        TAG_BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.0.copy_from_slice(secret);
    }

    fn run(&mut self) {
        let difference = self.0.iter().fold(0, |all, byte| all | *black_box(byte));
        black_box(difference);
    }
}

const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
/// Where the key is not the secret.
const PUBLIC_KEY: [u8; KEY_BYTES] = [0x5c; KEY_BYTES];
/// The first counter block, or the IV: public.
const COUNTER: u128 = 0xf0f1f2f3_f4f5f6f7_f8f9fafb_fcfdfe00;
/// Several turns of the widest kernel's main loop.
const BYTES: usize = 1024;
/// Two turns of the portable one's, which is slow.
const PORTABLE_BYTES: usize = 128;
/// So many that counter-mode caching fills its table and uses it.
const CACHED_BYTES: usize = 14 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_names_of_their_own_and_run() {
        let mut paths = all();
        for path in &mut paths {
            path.prepare(&vec![1; path.secret_bytes()]);
            path.run();
        }
        let mut names: Vec<_> = paths.iter().map(|path| path.name()).collect();
        for what in ["ctr", "cbc", "gcm", "chacha20 ", "chacha20-poly1305", "rsa"] {
            assert!(names.iter().any(|name| name.contains(what)), "{what}");
        }
        for backend in Cpu::detect().aes_backends() {
            assert!(names.iter().any(|name| name.contains(backend.name())));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), paths.len());
    }
}
