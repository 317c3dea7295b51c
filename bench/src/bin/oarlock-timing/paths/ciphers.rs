//! Ciphers without authentication.

use oarlock_kernels::aes::Ctr;
#[cfg(target_arch = "x86_64")]
use oarlock_kernels::aes::{CachedCtr, Face};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::chacha20::ChaCha20;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::tdes;
use oarlock_legacy::serpent;
#[cfg(target_arch = "x86_64")]
use oarlock_legacy::words::{self, Aria, Camellia, Sm4};

use super::keyed::{self, CACHED_BYTES, COUNTER, Cipher, PUBLIC_KEY, accepted, bytes_for, ways};
use crate::measure::Path;

pub fn add(paths: &mut Vec<Box<dyn Path>>) {
    let cpu = Cpu::detect();
    for backend in cpu.aes_backends() {
        let of = |algorithm| format!("{algorithm} {}", backend.name());
        let bytes = bytes_for(backend.name());
        keyed::add(paths, &of("aes-256-ctr"), "", bytes, || {
            Box::new(Ctr::unkeyed(backend))
        });
        keyed::add(paths, &of("aes-256-cbc"), "encryption", bytes, || {
            Box::new(Encrypting(Cbc::unkeyed(backend)))
        });
        keyed::add(paths, &of("aes-256-cbc"), "decryption", bytes, || {
            Box::new(Decrypting(Cbc::unkeyed(backend)))
        });
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(face) = Face::new(cpu) {
        keyed::add(paths, "aes-256-ctr face", "", CACHED_BYTES, || {
            Box::new(CachedCtr::unkeyed(face))
        });
    }
    for backend in cpu.tdes_backends() {
        let name = format!("des-ede3-ctr {}", backend.name());
        keyed::add(paths, &name, "", bytes_for(backend.name()), || {
            Box::new(TripleDes(tdes::Ctr::unkeyed(backend)))
        });
    }
    for backend in cpu.tdes_cbc_backends() {
        let name = format!("des-ede3-cbc {}", backend.name());
        let bytes = bytes_for(backend.name());
        keyed::add(paths, &name, "decryption", bytes, || {
            Box::new(DecryptingTripleDes(tdes::Cbc::unkeyed(), backend))
        });
    }
    for backend in serpent::Backend::all(cpu) {
        let name = format!("serpent-256-ctr {}", backend.name());
        keyed::add(paths, &name, "", bytes_for(backend.name()), || {
            Box::new(serpent::Ctr::unkeyed(backend))
        });
    }
    #[cfg(target_arch = "x86_64")]
    for backend in words::Backend::all(cpu) {
        let of = |algorithm| format!("{algorithm} {}", backend.name());
        let bytes = bytes_for(backend.name());
        keyed::add(paths, &of("camellia-256-ctr"), "", bytes, || {
            Box::new(words::Ctr::<Camellia>::unkeyed(backend))
        });
        keyed::add(paths, &of("aria-256-ctr"), "", bytes, || {
            Box::new(words::Ctr::<Aria>::unkeyed(backend))
        });
        keyed::add(paths, &of("sm4-ctr"), "", bytes, || {
            Box::new(WithHalfAKey(words::Ctr::<Sm4>::unkeyed(backend)))
        });
    }
    for (backend, cpu) in ways(|cpu| accepted(ChaCha20::new(&PUBLIC_KEY, cpu)).backend().name()) {
        keyed::add(
            paths,
            &format!("chacha20 {backend}"),
            "",
            bytes_for(backend),
            || Box::new(accepted(ChaCha20::new(&PUBLIC_KEY, cpu))),
        );
    }
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

#[cfg(target_arch = "x86_64")]
impl<C: words::BlockCipher> Cipher for words::Ctr<C> {
    fn set_key(&mut self, key: &[u8]) {
        accepted(Self::set_key(self, key));
    }

    fn apply(&mut self, data: &mut [u8]) {
        Self::apply(self, COUNTER, 0, data.into());
    }
}

/// Keys have 32 bytes here.
#[cfg(target_arch = "x86_64")]
struct WithHalfAKey<C>(C);

#[cfg(target_arch = "x86_64")]
impl<C: Cipher> Cipher for WithHalfAKey<C> {
    fn set_key(&mut self, key: &[u8]) {
        self.0.set_key(&key[..key.len() / 2]);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.apply(data);
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

impl Cipher for serpent::Ctr {
    fn set_key(&mut self, key: &[u8]) {
        accepted(Self::set_key(self, key));
    }

    fn apply(&mut self, data: &mut [u8]) {
        Self::apply(self, COUNTER, 0, data.into());
    }
}

struct TripleDes(tdes::Ctr);

impl Cipher for TripleDes {
    fn set_key(&mut self, key: &[u8]) {
        // Of a key for any cipher, as much as this one takes.
        if let Some(key) = key.first_chunk() {
            self.0.set_key(key);
        }
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.apply(COUNTER as u64, 0, data.into());
    }
}

struct DecryptingTripleDes(tdes::Cbc, tdes::CbcBackend);

impl Cipher for DecryptingTripleDes {
    fn set_key(&mut self, key: &[u8]) {
        if let Some(key) = key.first_chunk() {
            self.0.set_key(key);
        }
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.decrypt(self.1, &mut [0; 8], data.into());
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
