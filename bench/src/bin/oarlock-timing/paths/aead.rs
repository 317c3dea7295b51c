//! Authenticated ciphers: sealing, opening, and the comparison of tags.

use std::hint::black_box;

use oarlock_kernels::chacha20_poly1305::ChaCha20Poly1305;
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_kernels::gcm::Gcm;

use super::keyed::{
    self, CACHED_BYTES, Cipher, KEY_BYTES, PUBLIC_KEY, Secret, TAG_BYTES, accepted, bytes_for, ways,
};
use crate::measure::{Contrast, Path};

pub fn add(paths: &mut Vec<Box<dyn Path>>) {
    add_all::<Gcm>(paths, "aes-256-gcm");
    add_all::<ChaCha20Poly1305>(paths, "chacha20-poly1305");
}

fn add_all<A: Aead + 'static>(paths: &mut Vec<Box<dyn Path>>, algorithm: &str) {
    for (backend, cpu) in ways(|cpu| A::new(cpu).backend()) {
        let name = format!("{algorithm} {backend}");
        let cached = cpu.has(Feature::Face).then_some(CACHED_BYTES);
        for bytes in [bytes_for(backend)].into_iter().chain(cached) {
            add_length::<A>(paths, &name, cpu, bytes);
        }
    }
}

fn add_length<A: Aead + 'static>(
    paths: &mut Vec<Box<dyn Path>>,
    name: &str,
    cpu: Cpu,
    bytes: usize,
) {
    keyed::add(paths, name, "sealing", bytes, || {
        Box::new(Sealing(A::new(cpu)))
    });
    for (secret, what) in [(Secret::Key, "key"), (Secret::Data, "data")] {
        paths.push(Box::new(Opening {
            name: format!("{name}: opening, {what}, {bytes} bytes"),
            cipher: Box::new(A::new(cpu)),
            secret,
            data: vec![0; bytes],
            tag: [0; TAG_BYTES],
        }));
    }
    paths.push(Box::new(Forged {
        name: format!("{name}: opening, tag, {bytes} bytes"),
        cipher: Box::new(A::new(cpu)),
        data: vec![0; bytes],
        tag: [0; TAG_BYTES],
    }));
}

/// A kernel with a place for a key.
trait Aead {
    /// One with [`PUBLIC_KEY`], for the backend that `cpu` prefers.
    fn new(cpu: Cpu) -> Self;
    fn backend(&self) -> &'static str;
    fn set_key(&mut self, key: &[u8]);
    fn seal(&self, data: &mut [u8]) -> [u8; TAG_BYTES];
    /// Whether `tag` is right.
    fn open(&self, data: &mut [u8], tag: &[u8; TAG_BYTES]) -> bool;
}

macro_rules! aead {
    ($cipher:ident) => {
        impl Aead for $cipher {
            fn new(cpu: Cpu) -> Self {
                accepted(Self::new(&PUBLIC_KEY, cpu))
            }

            fn backend(&self) -> &'static str {
                self.backend().name()
            }

            fn set_key(&mut self, key: &[u8]) {
                accepted(self.set_key(key));
            }

            fn seal(&self, data: &mut [u8]) -> [u8; TAG_BYTES] {
                accepted(self.seal(&NONCE, &AAD, data.into()))
            }

            fn open(&self, data: &mut [u8], tag: &[u8; TAG_BYTES]) -> bool {
                self.open(&NONCE, &AAD, data.into(), tag).is_ok()
            }
        }
    };
}

aead!(Gcm);
aead!(ChaCha20Poly1305);

struct Sealing<A>(A);

impl<A: Aead> Cipher for Sealing<A> {
    fn set_key(&mut self, key: &[u8]) {
        self.0.set_key(key);
    }

    fn apply(&mut self, data: &mut [u8]) {
        black_box(self.0.seal(data));
    }
}

/// Opens what was sealed.
struct Opening<A> {
    name: String,
    cipher: Box<A>,
    secret: Secret,
    data: Vec<u8>,
    tag: [u8; TAG_BYTES],
}

impl<A: Aead> Path for Opening<A> {
    fn name(&self) -> &str {
        &self.name
    }

    fn verdicts(&self) -> u64 {
        1
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
        self.tag = self.cipher.seal(&mut self.data);
    }

    fn run(&mut self) {
        let is_right = self.cipher.open(&mut self.data, &self.tag);
        assert!(black_box(is_right), "{}", self.name);
    }
}

/// Opens under a tag that differs from the right one in the first byte, or in the last.
struct Forged<A> {
    name: String,
    cipher: Box<A>,
    data: Vec<u8>,
    tag: [u8; TAG_BYTES],
}

impl<A: Aead> Path for Forged<A> {
    fn name(&self) -> &str {
        &self.name
    }

    fn verdicts(&self) -> u64 {
        1
    }

    fn classes(&self) -> Contrast {
        Contrast::FirstAgainstLast
    }

    fn secret_bytes(&self) -> usize {
        TAG_BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.tag = self.cipher.seal(&mut self.data);
        for (byte, difference) in self.tag.iter_mut().zip(secret) {
            *byte ^= difference;
        }
    }

    fn run(&mut self) {
        let is_right = self.cipher.open(&mut self.data, &self.tag);
        assert!(!black_box(is_right), "{}", self.name);
    }
}

const NONCE: [u8; 12] = [7; 12];
/// As long as that of a TLS 1.2 record.
const AAD: [u8; 13] = [9; 13];
