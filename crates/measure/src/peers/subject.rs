//! What a peer is: an implementation, loaded, with keys set up in it.

use std::time::Duration;

use super::public_key::PublicKey;
use crate::cases::{Case, Tasks};
use crate::error::Error;

/// How to come by a peer; a caller brings a list of these.
#[derive(Clone, Copy, Debug)]
pub struct PeerFactory {
    /// As on the command line and in records.
    pub name: &'static str,
    /// When a run that names no peers measures it.
    pub presence: Presence,
    /// Loads it. The number is of the threads Oarlock has in this run; only its own parts care.
    pub open: fn(usize) -> Result<Box<dyn Peer>, Error>,
}

/// When a run that names no peers measures one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Always; without it there is no run.
    Always,
    /// Where it is on the machine.
    WhereAvailable,
    /// Where more than one thread is asked for.
    ManyThreads,
    /// Never: it has to be named.
    Named,
}

/// An implementation, loaded.
pub trait Peer {
    /// What it says of itself.
    fn version(&self) -> String;

    /// Sets up `key` for a case.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for a case that it does not do.
    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error>;

    /// Sets up the keys of `tasks` for a thread that keeps `depth` requests in flight.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for operations that it does not do; else what went wrong.
    fn public_key(&self, tasks: &Tasks, depth: usize) -> Result<Box<dyn PublicKey>, Error> {
        let _ = (tasks, depth);
        Err(Error::Unavailable(
            "it does no public-key operations".to_owned(),
        ))
    }
}

/// A key set up in an implementation: what the clock runs for.
pub enum Subject {
    /// Requests go on where the one before ended: stream ciphers, and CBC.
    Stream(Box<dyn Stream>),
    /// Each request is a message with a nonce and a tag.
    Aead(Box<dyn Aead>),
}

impl Subject {
    /// A stream cipher, or CBC one way.
    #[allow(clippy::unnecessary_wraps, reason = "what Peer::subject returns")]
    pub fn stream(stream: impl Stream + 'static) -> Result<Self, Error> {
        Ok(Self::Stream(Box::new(stream)))
    }

    /// An AEAD, both ways.
    #[allow(clippy::unnecessary_wraps, reason = "what Peer::subject returns")]
    pub fn aead(aead: impl Aead + 'static) -> Result<Self, Error> {
        Ok(Self::Aead(Box::new(aead)))
    }
}

/// A stream cipher, or CBC one way.
///
/// The loops are here so that they are compiled for each subject by itself: what a call by
/// pointer costs would count at 64 bytes.
pub trait Stream {
    /// Starts a stream at `iv`, in the implementation's own way. Those that take fewer bytes take
    /// the first.
    fn set_iv(&mut self, iv: &[u8; 16]);

    /// One request, in place. The stream goes on from the one before.
    fn apply(&mut self, data: &mut [u8]);

    /// Makes keystream ahead for up to `budget`, where the implementation can.
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

/// An AEAD with nonces of 12 bytes and tags of 16. Loops are here as in [`Stream`].
pub trait Aead {
    /// Encrypts `data` in place and returns the tag.
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16];

    /// Decrypts `message` into `data`, which has its length, and returns whether its tag is right.
    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool;

    /// Seals `data` as many times, each under the next of `nonces`: never one twice, as in any
    /// right use. Returns the tags, put together so that none can be left out.
    fn seal_times(&mut self, data: &mut [u8], calls: usize, nonces: &mut Nonces) -> u128 {
        let mut tags = 0;
        for _ in 0..calls {
            tags ^= u128::from_ne_bytes(self.seal(nonces.next_nonce(), &AAD, data));
        }
        tags
    }

    /// Opens as many of `messages`, in turn from number `first` on, and returns whether all were
    /// right.
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
    /// Another for each message.
    pub nonce: [u8; 12],
    /// The ciphertext.
    pub data: Vec<u8>,
    /// The tag.
    pub tag: [u8; 16],
}

/// As long as that of a TLS 1.2 record: number, type, version and length (RFC 5246, 6.2.3.3).
pub const AAD: [u8; 13] = [0, 0, 0, 0, 0, 0, 0, 42, 23, 3, 3, 0x40, 0];

/// Never the same nonce twice, and no byte of it twice in a row: a nonce that merely counts would
/// let counter-mode caching keep its table, which depends on three bytes of it. The last four
/// bytes, which count blocks, are zero.
///
/// They are made some ahead: a vector load of what was stored in two halves just before waits for
/// the stores to retire, which at 64 bytes is a good part of the time of the fastest.
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
    /// The next IV.
    #[inline]
    pub fn next_iv(&mut self) -> &[u8; 16] {
        if self.used == NONCES_AHEAD {
            self.make_more();
        }
        self.used += 1;
        &self.ahead[self.used - 1]
    }

    /// The next nonce of 12 bytes.
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

    /// Odd in its upper 96 bits, so that these come round after 2^96; the golden ratio's digits.
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
