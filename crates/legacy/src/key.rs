//! The common interface of all ciphers of this crate.

use std::fmt;
use std::sync::Arc;

use cipher::{BlockCipherEncrypt, KeyInit};
use inout::InOutBuf;
use oarlock_kernels::cpu::Cpu;

use crate::error::InvalidKeyLength;
use crate::mode::BlockCtr;
use crate::serpent;
#[cfg(target_arch = "x86_64")]
use crate::words::{self, Aria, Camellia, Sm4};

/// A block cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cipher {
    /// RFC 5794.
    Aria,
    /// Blocks of 8 bytes.
    Blowfish,
    /// RFC 3713.
    Camellia,
    /// CAST-128 (RFC 2144). Blocks of 8 bytes.
    Cast5,
    /// A finalist of the AES competition.
    Serpent,
    /// GB/T 32907.
    Sm4,
    /// A finalist of the AES competition.
    Twofish,
}

impl Cipher {
    /// Returns the name of the code that computes it on `cpu`, for listings and statistics.
    pub fn backend(self, cpu: Cpu) -> &'static str {
        if self == Self::Serpent {
            return serpent::Backend::preferred(cpu).name();
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(backend) = self.words_backend(cpu) {
            return backend.name();
        }
        "rustcrypto"
    }

    /// Returns the kernel for Camellia, ARIA and SM4; `None` where RustCrypto's cipher computes.
    #[cfg(target_arch = "x86_64")]
    fn words_backend(self, cpu: Cpu) -> Option<words::Backend> {
        match self {
            Self::Aria => words::Backend::preferred::<Aria>(cpu),
            Self::Camellia => words::Backend::preferred::<Camellia>(cpu),
            Self::Sm4 => words::Backend::preferred::<Sm4>(cpu),
            Self::Blowfish | Self::Cast5 | Self::Serpent | Self::Twofish => None,
        }
    }

    /// Returns an empty key of a kernel, if there is one.
    fn unkeyed(self, cpu: Cpu) -> Option<Key> {
        if self == Self::Serpent {
            let backend = serpent::Backend::preferred(cpu);
            return Some(Key::Serpent(serpent::Ctr::unkeyed(backend)));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(backend) = self.words_backend(cpu) {
            return Some(match self {
                Self::Aria => Key::Aria(words::Ctr::unkeyed(backend)),
                Self::Sm4 => Key::Sm4(words::Ctr::unkeyed(backend)),
                _ => Key::Camellia(words::Ctr::unkeyed(backend)),
            });
        }
        None
    }

    /// Returns a key of RustCrypto's, for ciphers without a kernel.
    fn keyed(self, key: &[u8]) -> Option<Box<dyn Mode>> {
        match (self, key.len()) {
            (Self::Aria, 16) => boxed::<aria::Aria128>(key),
            (Self::Aria, 24) => boxed::<aria::Aria192>(key),
            (Self::Aria, _) => boxed::<aria::Aria256>(key),
            (Self::Blowfish, _) => boxed::<blowfish::Blowfish>(key),
            (Self::Camellia, 16) => boxed::<camellia::Camellia128>(key),
            (Self::Camellia, 24) => boxed::<camellia::Camellia192>(key),
            (Self::Camellia, _) => boxed::<camellia::Camellia256>(key),
            (Self::Cast5, _) => boxed::<cast5::Cast5>(key),
            (Self::Sm4, _) => boxed::<sm4::Sm4>(key),
            (Self::Twofish, _) => boxed::<twofish::Twofish>(key),
            // Serpent has a kernel for any CPU.
            (Self::Serpent, _) => None,
        }
    }
}

fn boxed<C>(key: &[u8]) -> Option<Box<dyn Mode>>
where
    C: BlockCipherEncrypt + KeyInit + Send + Sync + 'static,
{
    Some(Box::new(BlockCtr::<C>::new(key)?))
}

/// A key in counter mode, usable from any number of threads. Wiped on drop.
pub struct Ctr(Key);

enum Key {
    #[cfg(target_arch = "x86_64")]
    Aria(words::Ctr<Aria>),
    #[cfg(target_arch = "x86_64")]
    Camellia(words::Ctr<Camellia>),
    #[cfg(target_arch = "x86_64")]
    Sm4(words::Ctr<Sm4>),
    Serpent(serpent::Ctr),
    Other(Box<dyn Mode>),
}

impl Ctr {
    /// Expands `key` for the fastest code on `cpu`.
    ///
    /// # Errors
    /// [`InvalidKeyLength`].
    pub fn shared(cipher: Cipher, cpu: Cpu, key: &[u8]) -> Result<Arc<Self>, InvalidKeyLength> {
        let Some(unkeyed) = cipher.unkeyed(cpu) else {
            let keyed = cipher.keyed(key).ok_or(InvalidKeyLength(key.len()))?;
            return Ok(Arc::new(Self(Key::Other(keyed))));
        };
        let mut ctr = Arc::new(Self(unkeyed));
        // Expanded in place: moving a value into an `Arc` would copy it and leave the original unwiped.
        if let Some(Self(place)) = Arc::get_mut(&mut ctr) {
            place.set(key)?;
        }
        Ok(ctr)
    }

    /// XORs keystream onto `data`, starting at byte `skip` of the block encrypted from `counter`. Only the low bytes of
    /// `counter`, one block of them, are used; they count and wrap.
    ///
    /// # Panics
    /// If `skip` is not within a block.
    pub fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Key::Aria(ctr) => ctr.apply(counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Key::Camellia(ctr) => ctr.apply(counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Key::Sm4(ctr) => ctr.apply(counter, skip, data),
            Key::Serpent(ctr) => ctr.apply(counter, skip, data),
            Key::Other(mode) => mode.apply(counter, skip, data),
        }
    }
}

impl Key {
    /// Replaces the key of a kernel.
    fn set(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Aria(ctr) => ctr.set_key(key),
            #[cfg(target_arch = "x86_64")]
            Self::Camellia(ctr) => ctr.set_key(key),
            #[cfg(target_arch = "x86_64")]
            Self::Sm4(ctr) => ctr.set_key(key),
            Self::Serpent(ctr) => ctr.set_key(key),
            Self::Other(_) => Ok(()),
        }
    }
}

impl fmt::Debug for Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr").finish_non_exhaustive()
    }
}

/// A [`BlockCtr`] of any cipher.
trait Mode: Send + Sync {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>);
}

impl<C: BlockCipherEncrypt + Send + Sync> Mode for BlockCtr<C> {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        BlockCtr::apply(self, counter, skip, data);
    }
}
