//! A key of a stream cipher, set up for its kernel.

use std::sync::Arc;

use inout::InOutBuf;
#[cfg(target_arch = "x86_64")]
use oarlock_kernels::aes::CachedCtr;
use oarlock_kernels::aes::{Backend, Ctr};
use oarlock_kernels::chacha20::{self, ChaCha20};
use oarlock_kernels::cpu::Cpu;
#[cfg(feature = "legacy")]
use oarlock_kernels::tdes;

use super::begun::{Ahead, Begun};
#[cfg(feature = "legacy")]
use super::block;
use super::keystream::Keystream;
use crate::work::algorithm::{Algorithm, InvalidKey};

/// A stream cipher's key.
pub(crate) enum StreamKey {
    /// AES-CTR that keeps a table between requests.
    #[cfg(target_arch = "x86_64")]
    Cached(Box<CachedCtr>),
    /// AES-CTR.
    Kernel(Box<Ctr>),
    /// AES-CTR by aws-lc: a block of it is as soon made as kept.
    #[cfg_attr(not(feature = "aws-lc"), allow(dead_code))]
    Other(Arc<dyn Keystream>),
    /// Any other cipher.
    Kept(Box<Kept>),
}

impl StreamKey {
    /// See [`Keyed`](super::Keyed).
    pub(crate) fn kernel(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, InvalidKey> {
        match algorithm {
            Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr => {
                #[cfg(target_arch = "x86_64")]
                if let Some(face) = oarlock_kernels::aes::Face::new(cpu) {
                    let mut ctr = Box::new(CachedCtr::unkeyed(face));
                    ctr.set_key(key).map_err(invalid)?;
                    return Ok(Self::Cached(ctr));
                }
                let mut ctr = Box::new(Ctr::unkeyed(Backend::preferred(cpu)));
                ctr.set_key(key).map_err(invalid)?;
                Ok(Self::Kernel(ctr))
            }
            #[cfg(feature = "legacy")]
            Algorithm::TripleDesCtr => {
                let key = triple_des(cpu, key)?;
                let ahead = Ahead::passes(key.pass_bytes(), key.looked_up_bytes());
                Ok(Self::kept(cpu, algorithm, key, ahead))
            }
            _ => {
                let key = keystream(cpu, algorithm, key)?;
                let ahead = Ahead::of(cpu, algorithm);
                Ok(Self::kept(cpu, algorithm, key, ahead))
            }
        }
    }

    /// `key` of `algorithm`, and what is made `ahead` with it.
    pub(crate) fn kept(
        cpu: Cpu,
        algorithm: Algorithm,
        key: Arc<dyn Keystream>,
        ahead: Ahead,
    ) -> Self {
        let begun = Begun::new(cpu, algorithm, ahead).with_room();
        Self::Kept(Box::new(Kept { key, begun }))
    }

    /// The next request is at byte `skip` of the block at `counter`. Changes no bytes of it: keystream
    /// that was kept for elsewhere is wiped.
    #[inline(always)]
    pub(crate) fn seek(&mut self, counter: u128, skip: usize) {
        if let Self::Kept(kept) = self {
            kept.begun.seek(counter, skip);
        }
    }

    /// Returns the key for several threads at once.
    pub(crate) fn shared(&self) -> Shared<'_> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) => Shared::Cached(ctr),
            Self::Kernel(ctr) => Shared::Kernel(ctr),
            Self::Kept(kept) => Shared::Other(&*kept.key),
            Self::Other(key) => Shared::Other(&**key),
        }
    }

    /// Makes ready for a long [`shared`](Self::shared) request from `counter` on.
    pub(crate) fn prepare(&mut self, counter: u128) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Cached(ctr) = self {
            ctr.prepare(counter);
        }
    }

    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on.
    pub(crate) fn apply(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) => ctr.apply(counter, skip, data),
            Self::Kernel(ctr) => ctr.apply(counter, skip, data),
            Self::Kept(kept) => kept.apply(counter, skip, data),
            Self::Other(key) => key.apply(counter, skip, data),
        }
    }
}

/// A key, and keystream of blocks that were begun with it.
pub(crate) struct Kept {
    pub(crate) key: Arc<dyn Keystream>,
    begun: Begun,
}

impl Kept {
    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on.
    #[inline(always)]
    pub(crate) fn apply(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        self.begun.apply(&*self.key, counter, skip, data);
    }
}

/// A key that several threads can use at once.
#[derive(Clone, Copy)]
pub(crate) enum Shared<'a> {
    #[cfg(target_arch = "x86_64")]
    Cached(&'a CachedCtr),
    Kernel(&'a Ctr),
    Other(&'a dyn Keystream),
}

impl Shared<'_> {
    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on.
    pub(crate) fn apply(self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) => ctr.apply_shared(counter, skip, data),
            Self::Kernel(ctr) => ctr.apply(counter, skip, data),
            Self::Other(key) => key.apply(counter, skip, data),
        }
    }
}

/// The key for threads that outlive a request, by a kernel of this library.
pub(crate) fn keystream(
    cpu: Cpu,
    algorithm: Algorithm,
    key: &[u8],
) -> Result<Arc<dyn Keystream>, InvalidKey> {
    match algorithm {
        Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr => {
            let mut ctr = Arc::new(Ctr::unkeyed(Backend::preferred(cpu)));
            // In place: a box made into an `Arc` would be copied and freed as it was.
            if let Some(ctr) = Arc::get_mut(&mut ctr) {
                ctr.set_key(key).map_err(invalid)?;
            }
            Ok(ctr)
        }
        Algorithm::ChaCha20 => {
            let mut chacha = Arc::new(ChaCha20::unkeyed(chacha20::Backend::preferred(cpu)));
            if let Some(chacha) = Arc::get_mut(&mut chacha) {
                chacha.set_key(key).map_err(invalid)?;
            }
            Ok(chacha)
        }
        #[cfg(feature = "legacy")]
        Algorithm::TripleDesCtr => Ok(triple_des(cpu, key)?),
        #[cfg(feature = "legacy")]
        _ => block::keystream(cpu, algorithm, key),
        #[cfg(not(feature = "legacy"))]
        _ => Err(InvalidKey(format!("{algorithm} is not built in"))),
    }
}

#[cfg(feature = "legacy")]
fn triple_des(cpu: Cpu, key: &[u8]) -> Result<Arc<tdes::Ctr>, InvalidKey> {
    let key = key
        .try_into()
        .map_err(|_| InvalidKey(format!("a key of {} bytes does not fit", key.len())))?;
    let mut ctr = Arc::new(tdes::Ctr::unkeyed(tdes::Backend::preferred(cpu)));
    if let Some(ctr) = Arc::get_mut(&mut ctr) {
        ctr.set_key(key);
    }
    Ok(ctr)
}

impl Keystream for Ctr {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        Ctr::apply(self, counter, skip, data);
    }
}

impl Keystream for ChaCha20 {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        ChaCha20::apply(self, counter, skip, data);
    }
}

#[cfg(feature = "legacy")]
impl Keystream for tdes::Ctr {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        // Of its counter block, 8 bytes.
        tdes::Ctr::apply(self, counter as u64, skip, data);
    }
}

fn invalid(error: impl ToString) -> InvalidKey {
    InvalidKey(error.to_string())
}
