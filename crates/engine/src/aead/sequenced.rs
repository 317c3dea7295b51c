//! Messages with sequential nonces, so that keystream and MAC key can be prefetched.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, TAG_BYTES};
use oarlock_kernels::chacha20;
use oarlock_kernels::chacha20_poly1305::ChaCha20Poly1305;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::gcm::Gcm;
use zeroize::{Zeroize, Zeroizing};

use super::{AcceleratedAead, wrong_tag_length};
use crate::Error;
use crate::device::keyed::aead::refused;
use crate::device::keyed::aead::unkeyed_gcm;
use crate::options::{PrefetchWorker, Strategy};
use crate::plan::ahead::keystream_is_slower_than_its_way;
use crate::plan::engine::Engine;
use crate::plan::prefetch::Records;
use crate::work::algorithm::Algorithm;
use oarlock_threads::prefetch::{RingSize, Source};

/// How a nonce is formed from a sequence number.
#[derive(Clone, Copy)]
pub enum NonceSequence {
    /// The big-endian number is XORed onto the last 8 bytes of a fixed IV: TLS 1.3 (RFC 8446, 5.3), QUIC (RFC 9001,
    /// 5.3), SRTP (RFC 7714, 8.1, with SSRC and salt in `iv`).
    Xor {
        /// The fixed IV, which may be secret, depending on the protocol.
        iv: [u8; 12],
    },
    /// 4 fixed bytes are followed by the big-endian number: ESP (RFC 4106, 4), TLS 1.2 (RFC 5288, 3), SSH (RFC 5647,
    /// 7.1).
    Counter {
        /// The salt or fixed field.
        fixed: [u8; 4],
    },
}

impl NonceSequence {
    /// Returns the nonce of message `number`.
    pub fn nonce(&self, number: u64) -> [u8; 12] {
        let (mut nonce, mask) = match self {
            Self::Xor { iv } => (*iv, u64::MAX),
            Self::Counter { fixed } => {
                let mut nonce = [0; 12];
                nonce[..4].copy_from_slice(fixed);
                (nonce, 0)
            }
        };
        for (byte, of_number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte = *byte & mask as u8 ^ of_number;
        }
        nonce
    }
}

impl Zeroize for NonceSequence {
    fn zeroize(&mut self) {
        match self {
            Self::Xor { iv } => iv.zeroize(),
            Self::Counter { fixed } => fixed.zeroize(),
        }
    }
}

impl fmt::Debug for NonceSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xor { .. } => "Xor",
            Self::Counter { .. } => "Counter",
        })
    }
}

/// An AEAD with sequential nonces, from `Accelerator::sequenced_aead`, which has an example.
///
/// Each message takes the next nonce. If the cipher is slower than fetching keystream from another core, or under
/// [`Strategy::Prefetch`], keystream and one-time MAC key of the next messages are prefetched; what is not ready is
/// computed at once. Output is that of [`AcceleratedAead`]. Wiped on drop.
///
/// After a fork, parent and child continue with the same numbers: only one of them may seal, or each needs its own key.
/// Sealing a message uses up its number, even if it fails or panics: ciphertext may be in the buffer already, and another
/// message under the same nonce would reveal both.
pub struct SequencedAead {
    aead: AcceleratedAead,
    /// Shared with the threads that prefetch keystream, so that there is one copy to wipe.
    nonces: Arc<Zeroizing<NonceSequence>>,
    /// The number of the next message.
    next: u64,
    record_bytes_max: usize,
    /// The kernel for records. It is a separate copy, because a worker may use it after the session is dropped.
    key: Arc<Kernel>,
    worker: Option<PrefetchWorker>,
    records: Option<Records>,
    prefetched: u64,
}

/// A key that any thread can use. It is always in an `Arc`, so its size does not affect moves.
#[allow(clippy::large_enum_variant)]
enum Kernel {
    Gcm(Gcm),
    ChaCha20Poly1305(ChaCha20Poly1305),
}

impl Kernel {
    fn new(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Arc<Self>, Error> {
        let mut kernel = Arc::new(match algorithm {
            Algorithm::ChaCha20Poly1305 => {
                Self::ChaCha20Poly1305(ChaCha20Poly1305::unkeyed(chacha20::Backend::preferred(cpu)))
            }
            _ => Self::Gcm(*unkeyed_gcm(cpu)),
        });
        // In place, so that no copy of the key is left behind.
        match Arc::get_mut(&mut kernel) {
            Some(Self::Gcm(gcm)) => gcm.set_key(key).map_err(|error| error.to_string()),
            Some(Self::ChaCha20Poly1305(aead)) => {
                aead.set_key(key).map_err(|error| error.to_string())
            }
            None => Ok(()),
        }
        .map_err(Error::InvalidKey)?;
        Ok(kernel)
    }

    fn head_bytes(&self) -> usize {
        match self {
            Self::Gcm(_) => Gcm::KEYSTREAM_HEAD_BYTES,
            Self::ChaCha20Poly1305(_) => ChaCha20Poly1305::KEYSTREAM_HEAD_BYTES,
        }
    }

    fn seal(
        &self,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        match self {
            Self::Gcm(gcm) => gcm.seal_with_keystream(aad, data, keystream),
            Self::ChaCha20Poly1305(aead) => aead.seal_with_keystream(aad, data, keystream),
        }
    }

    fn open(
        &self,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        match self {
            Self::Gcm(gcm) => gcm.open_with_keystream(aad, data, keystream, tag),
            Self::ChaCha20Poly1305(aead) => aead.open_with_keystream(aad, data, keystream, tag),
        }
    }
}

/// Makes keystream, one message per granule.
struct RecordSource {
    key: Arc<Kernel>,
    nonces: Arc<Zeroizing<NonceSequence>>,
}

impl Source for RecordSource {
    fn make(&self, base: u128, index: u64, granule: &mut [u8]) {
        let nonce = self.nonces.nonce((base as u64).wrapping_add(index));
        // The nonce has 12 bytes and the granule is far below the limit, so there is no error.
        let _ = match &*self.key {
            Kernel::Gcm(gcm) => gcm.keystream(&nonce, granule),
            Kernel::ChaCha20Poly1305(aead) => aead.keystream(&nonce, granule),
        };
    }
}

impl SequencedAead {
    #[doc(hidden)]
    pub fn open_session(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
        nonces: NonceSequence,
        record_bytes_max: usize,
    ) -> Result<Self, Error> {
        let aead = AcceleratedAead::open_session(engine, algorithm, key)?;
        let options = engine.options();
        let gains = keystream_is_slower_than_its_way(engine, algorithm);
        let worker = match options.strategy {
            Strategy::Prefetch => Some(options.prefetch_worker),
            Strategy::Auto if gains && engine.helpers_max() > 0 => Some(options.prefetch_worker),
            _ => None,
        };
        let mut sequenced = Self {
            aead,
            nonces: Arc::new(Zeroizing::new(nonces)),
            next: 0,
            record_bytes_max,
            key: Kernel::new(engine.cpu, algorithm, key)?,
            worker,
            records: None,
            prefetched: 0,
        };
        if worker.is_some() {
            sequenced.records = sequenced.new_records(0);
            sequenced.call_worker();
        }
        Ok(sequenced)
    }

    /// Encrypts the next message and returns its tag.
    ///
    /// # Errors
    /// Those of [`AcceleratedAead::seal`], after which the number is used up too. [`Error::InvalidInput`] if all
    /// numbers up to 2^64 - 2 are used up: a new key is needed.
    pub fn seal_next(
        &mut self,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        let sequence = self.sequence_left()?;
        self.next = sequence + 1;
        let key = Arc::clone(&self.key);
        let sealed = match self.ready(sequence, data.len()) {
            Some(keystream) => {
                let sealed = key.seal(aad, data, keystream).map_err(refused);
                self.prefetched += u64::from(sealed.is_ok());
                sealed
            }
            None => self.aead.seal(&self.nonces.nonce(sequence), aad, data),
        };
        self.go_on();
        sealed
    }

    /// Decrypts the next message if `tag`, 16 bytes, is its tag. A refused message does not count: the next call has
    /// the same number.
    ///
    /// # Errors
    /// Those of [`AcceleratedAead::open`]; [`Error::InvalidInput`] if all numbers are used up.
    pub fn open_next(
        &mut self,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8],
    ) -> Result<(), Error> {
        let sequence = self.sequence_left()?;
        let Ok(tag) = tag.try_into() else {
            return Err(wrong_tag_length(tag.len()));
        };
        let key = Arc::clone(&self.key);
        match self.ready(sequence, data.len()) {
            Some(keystream) => {
                key.open(aad, data, keystream, tag).map_err(refused)?;
                self.prefetched += 1;
            }
            None => self
                .aead
                .open(&self.nonces.nonce(sequence), aad, data, tag)?,
        }
        self.next = sequence + 1;
        self.go_on();
        Ok(())
    }

    /// Returns the number of the next message.
    pub fn sequence(&self) -> u64 {
        self.next
    }

    /// Continues with message `number`, for example after a loss. Never return to a number that was sealed under this
    /// key.
    pub fn set_sequence(&mut self, number: u64) {
        self.next = number;
        if let Some(records) = &mut self.records {
            records.take(number);
        }
        self.call_worker();
    }

    /// Returns how many messages found their keystream ready.
    pub fn prefetched(&self) -> u64 {
        self.prefetched
    }

    /// Prefetches keystream on the calling thread for up to `budget`, and returns for how many messages.
    pub fn prefill(&mut self, budget: Duration) -> usize {
        if self.records.as_ref().is_none_or(Records::is_orphaned) {
            self.records = self.new_records(self.next);
        }
        match &self.records {
            Some(records) => records.ring().fill_for(budget) as usize,
            None => 0,
        }
    }

    fn sequence_left(&self) -> Result<u64, Error> {
        if self.next == u64::MAX {
            return Err(Error::InvalidInput(
                "the sequence numbers under this key are used up: set up a new key".into(),
            ));
        }
        Ok(self.next)
    }

    fn ready(&mut self, sequence: u64, bytes: usize) -> Option<&[u8]> {
        if self.records.as_ref().is_some_and(Records::is_orphaned) {
            self.records = None;
            self.records = self.new_records(sequence);
        }
        let wanted = self.key.head_bytes() + bytes;
        let keystream = self.records.as_mut()?.take(sequence)?;
        (keystream.len() >= wanted).then_some(keystream)
    }

    /// Moves the prefetch ring to the next message.
    fn go_on(&mut self) {
        if let Some(records) = &mut self.records {
            records.take(self.next);
            self.call_worker();
        }
    }

    /// Creates a prefetch ring that begins at message `first`.
    fn new_records(&self, first: u64) -> Option<Records> {
        let engine = self.aead.route.engine()?;
        let options = engine.options();
        let granule_bytes = self
            .key
            .head_bytes()
            .checked_add(self.record_bytes_max)?
            .checked_next_multiple_of(64)?;
        let stream_bytes = options.cipher_blocks * 16;
        let size = RingSize {
            granule_bytes,
            segment: (stream_bytes / granule_bytes).max(1),
            streams: options.cipher_streams(),
        };
        let source = RecordSource {
            key: Arc::clone(&self.key),
            nonces: Arc::clone(&self.nonces),
        };
        let reader = engine.ring(size, Box::new(source))?;
        Some(Records::new(reader, first))
    }

    fn call_worker(&self) {
        if let (Some(engine), Some(records), Some(worker)) =
            (self.aead.route.engine(), &self.records, self.worker)
        {
            engine.fill(records.ring(), worker);
        }
    }
}

impl fmt::Debug for SequencedAead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequencedAead")
            .field("aead", &self.aead)
            .field("nonces", &**self.nonces)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use zeroize::ZeroizeOnDrop;

    use super::*;
    use crate::testing::Accelerator;

    #[test]
    fn the_iv_is_wiped_with_the_last_who_has_it() {
        fn is_wiped_on_drop(_: &impl ZeroizeOnDrop) {}
        for nonces in [
            NonceSequence::Xor { iv: [7; 12] },
            NonceSequence::Counter { fixed: [7; 4] },
        ] {
            let mut wiped = nonces;
            wiped.zeroize();
            assert_eq!(wiped.nonce(0), [0; 12]);
            let accelerator = Accelerator::builder()
                .max_threads(0)
                .strategy(Strategy::Prefetch)
                .build()
                .unwrap();
            let session = accelerator
                .sequenced_aead(Algorithm::Aes128Gcm, &[7; 16], nonces, 100)
                .unwrap();
            is_wiped_on_drop(&*session.nonces);
            let held = Arc::downgrade(&session.nonces);
            assert_eq!(held.strong_count(), 2, "the session and its streams");
            drop(session);
            assert_eq!(held.strong_count(), 0);
        }
    }
}
