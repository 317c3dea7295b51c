//! The interface of a peer: a loaded implementation, with keys set up in it.

use std::time::Duration;

use super::public_key::PublicKey;
use crate::cases::{Case, Tasks};
use crate::error::Error;

/// A peer that can be loaded; a caller brings a list of these.
#[derive(Clone, Copy, Debug)]
pub struct PeerFactory {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// The runs that measure it if they name no peers.
    pub presence: Presence,
    /// Loads it. The argument is the number of Oarlock's threads in this run, which only Oarlock's own parts use.
    pub open: fn(usize) -> Result<Box<dyn Peer>, Error>,
}

/// The runs that measure a peer if they name no peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// All runs; none starts without it.
    Always,
    /// Runs on machines that have it.
    WhereAvailable,
    /// Runs with more than one thread.
    ManyThreads,
    /// None: it has to be named.
    Named,
}

/// A loaded implementation.
pub trait Peer {
    /// Returns the version that it reports.
    fn version(&self) -> String;

    /// Sets up `key` for a case.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it does not support the case.
    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error>;

    /// Sets up the keys of `tasks` for a thread that keeps `depth` requests in flight.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it does not support the operations; otherwise the failure.
    fn public_key(&self, tasks: &Tasks, depth: usize) -> Result<Box<dyn PublicKey>, Error> {
        let _ = (tasks, depth);
        Err(Error::Unavailable(
            "it does no public-key operations".to_owned(),
        ))
    }
}

/// A key set up in an implementation, which is what is timed.
pub enum Subject {
    /// A stream cipher, or CBC: each request continues where the one before ended.
    Stream(Box<dyn Stream>),
    /// An AEAD: each request is a message with a nonce and a tag.
    Aead(Box<dyn Aead>),
}

impl Subject {
    /// Wraps a stream cipher, or CBC in one direction.
    #[allow(clippy::unnecessary_wraps, reason = "what Peer::subject returns")]
    pub fn stream(stream: impl Stream + 'static) -> Result<Self, Error> {
        Ok(Self::Stream(Box::new(stream)))
    }

    /// Wraps an AEAD, for both directions.
    #[allow(clippy::unnecessary_wraps, reason = "what Peer::subject returns")]
    pub fn aead(aead: impl Aead + 'static) -> Result<Self, Error> {
        Ok(Self::Aead(Box::new(aead)))
    }
}

/// A stream cipher, or CBC in one direction.
///
/// The loops are methods of the trait so that they are compiled for each subject separately: the cost of a call through
/// a pointer would show at 64 bytes.
pub trait Stream {
    /// Starts a stream at `iv`. Implementations with a shorter IV use its first bytes.
    fn set_iv(&mut self, iv: &[u8; 16]);

    /// Processes one request in place. The stream continues from the one before.
    fn apply(&mut self, data: &mut [u8]);

    /// Computes keystream ahead for up to `budget`, if the implementation can.
    fn prefill(&mut self, _budget: Duration) {}

    /// Computes `calls` requests in a row.
    fn apply_times(&mut self, data: &mut [u8], calls: usize) {
        for _ in 0..calls {
            self.apply(data);
        }
    }

    /// Computes `calls` requests in a row, each under the next of `nonces`.
    fn apply_times_fresh(&mut self, data: &mut [u8], calls: usize, nonces: &mut Nonces) {
        for _ in 0..calls {
            self.set_iv(nonces.next_iv());
            self.apply(data);
        }
    }
}

/// An AEAD with nonces of 12 bytes and tags of 16. The loops are methods for the same reason as in [`Stream`].
pub trait Aead {
    /// Encrypts `data` in place and returns the tag.
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16];

    /// Decrypts `message` into `data`, which has its length, and returns whether its tag is right.
    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool;

    /// Seals `data` `calls` times, each time under the next of `nonces`, since a nonce must never be used twice.
    /// Returns the XOR of the tags, so that none can be optimized away.
    fn seal_times(&mut self, data: &mut [u8], calls: usize, nonces: &mut Nonces) -> u128 {
        let mut tags = 0;
        for _ in 0..calls {
            tags ^= u128::from_ne_bytes(self.seal(nonces.next_nonce(), &AAD, data));
        }
        tags
    }

    /// Opens `calls` of `messages`, in order from number `first`, and returns whether all were right.
    fn open_times(
        &mut self,
        messages: &[Sealed],
        first: usize,
        data: &mut [u8],
        calls: usize,
    ) -> bool {
        let mut right = true;
        let turn = messages.iter().cycle().skip(first % messages.len());
        for message in turn.take(calls) {
            right &= self.open(message, &AAD, data);
        }
        right
    }
}

/// A message that was sealed with [`AAD`].
#[derive(Clone, Debug)]
pub struct Sealed {
    /// The nonce, which differs for each message.
    pub nonce: [u8; 12],
    /// The ciphertext.
    pub data: Vec<u8>,
    /// The tag.
    pub tag: [u8; 16],
}

/// Associated data as long as that of a TLS 1.2 record: number, type, version and length (RFC 5246, 6.2.3.3).
pub const AAD: [u8; 13] = [0, 0, 0, 0, 0, 0, 0, 42, 23, 3, 3, 0x40, 0];

/// A source of nonces that never repeats one, nor any of its bytes twice in a row: a nonce that merely counts would let
/// counter-mode caching keep its table, which depends on three of its bytes. The last four bytes, which count blocks,
/// are zero.
///
/// Some are computed in advance: a vector load of data that was just stored in two halves waits for the stores to
/// retire, which at 64 bytes is a considerable part of the fastest implementation's time.
#[derive(Debug)]
pub struct Nonces {
    last: u128,
    ahead: [[u8; 16]; NONCES_AHEAD],
    used: usize,
}

impl Default for Nonces {
    fn default() -> Self {
        Self {
            last: 0,
            ahead: [[0; 16]; NONCES_AHEAD],
            used: NONCES_AHEAD,
        }
    }
}

impl Nonces {
    /// Returns the next IV.
    #[inline]
    pub fn next_iv(&mut self) -> &[u8; 16] {
        if self.used == NONCES_AHEAD {
            self.make_more();
        }
        self.used += 1;
        &self.ahead[self.used - 1]
    }

    /// Returns the next nonce of 12 bytes.
    #[inline]
    pub fn next_nonce(&mut self) -> &[u8; 12] {
        let [nonce @ .., _, _, _, _] = self.next_iv();
        nonce
    }

    #[cold]
    fn make_more(&mut self) {
        for iv in &mut self.ahead {
            self.last = self.last.wrapping_add(Self::STEP);
            *iv = self.last.to_be_bytes();
        }
        self.used = 0;
    }

    /// The step between nonces: the golden ratio's digits, odd in its upper 96 bits, so that nonces repeat only after
    /// 2^96.
    const STEP: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c061_0000_0000;
}

const NONCES_AHEAD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_nonce_is_fresh() {
        let mut nonces = Nonces::default();
        let mut last = *nonces.next_iv();
        for _ in 0..10_000 {
            let next = *nonces.next_iv();
            assert!((0..12).all(|byte| next[byte] != last[byte]));
            assert_eq!(next[12..], [0; 4]);
            last = next;
        }
    }
}
