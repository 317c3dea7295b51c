//! The bare kernels, as a peer.

use oarlock::kernels::aes::{Backend, Ctr};
#[cfg(target_arch = "x86_64")]
use oarlock::kernels::aes::{CachedCtr, Face};
use oarlock::kernels::cpu::Cpu;

use crate::Error;
use crate::case::{Algorithm, Case};
use crate::peer::{Peer, Stream, Subject};

/// The kernels themselves: no session, no plan.
pub(super) struct Kernels(pub(super) Cpu);

impl Peer for Kernels {
    fn version(&self) -> String {
        format!("kernel {}", Backend::preferred(self.0).name())
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        let Algorithm::AesCtr { .. } = case.algorithm else {
            return Err(Error::Unavailable("counter mode of AES alone".to_owned()));
        };
        let wrong_key = |error| Error::Failed(format!("kernel: {error}"));
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = Face::new(self.0) {
            let mut ctr = At::the_start_of(CachedCtr::unkeyed(face));
            ctr.kernel.set_key(key).map_err(wrong_key)?;
            return Subject::stream(ctr);
        }
        let ctr = Ctr::new(key, self.0).map_err(wrong_key)?;
        Subject::stream(At::the_start_of(ctr))
    }
}

/// A kernel and a position, which is the least that continues a stream.
struct At<K> {
    kernel: K,
    counter: u128,
    skip: usize,
}

impl<K> At<K> {
    fn the_start_of(kernel: K) -> Self {
        Self {
            kernel,
            counter: 0,
            skip: 0,
        }
    }

    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        (self.counter, self.skip) = (u128::from_be_bytes(*iv), 0);
    }

    #[inline]
    fn advance(&mut self, bytes: usize) {
        let end = self.skip + bytes;
        self.counter = self.counter.wrapping_add((end / 16) as u128);
        self.skip = end % 16;
    }
}

impl Stream for At<Ctr> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        At::set_iv(self, iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        let bytes = data.len();
        self.kernel.apply(self.counter, self.skip, data.into());
        self.advance(bytes);
    }
}

#[cfg(target_arch = "x86_64")]
impl Stream for At<CachedCtr> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        At::set_iv(self, iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        let bytes = data.len();
        self.kernel.apply(self.counter, self.skip, data.into());
        self.advance(bytes);
    }
}
