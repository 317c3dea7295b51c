//! Keystream made ahead of its use, in streams that a cipher keeps.
//!
//! A session that prefetches has a [`Consumer`], which takes what is ready and computes the rest
//! itself; it waits for nobody. The streams lie in a [`Ring`] and are filled by pool threads, by a
//! thread of the idle class on the consumer's own CPU, or by the session's owner in time of its own.

#![allow(unsafe_code)]

mod ring;
mod slots;

use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::xor::Xor;

pub(crate) use self::ring::{Budget, Ring, Shape, Source};
use crate::cipher::{Keystream, advanced, distance};
use crate::process;

/// A cipher's counter: what a position in its stream means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) block_shift: u32,
    pub(crate) counter_bits: u32,
}

impl Geometry {
    /// `bytes` on from byte `skip` of the block at `counter`.
    fn after(self, counter: u128, skip: usize, bytes: u64) -> (u128, usize) {
        let bytes = skip as u64 + bytes;
        let blocks = u128::from(bytes >> self.block_shift);
        let counter = advanced(counter, blocks, self.counter_bits);
        (counter, bytes as usize & ((1 << self.block_shift) - 1))
    }

    /// Bytes from one position on to another; `None` when that is far away, lies behind or is in
    /// another stream: bits that do not count, as ChaCha20's nonce, are not the same.
    fn bytes_between(self, from: (u128, usize), to: (u128, usize)) -> Option<u64> {
        let nonces = (from.0 ^ to.0).checked_shr(self.counter_bits);
        if nonces.is_some_and(|difference| difference != 0) {
            return None;
        }
        let blocks = u64::try_from(distance(from.0, to.0, self.counter_bits)).ok()?;
        if blocks > 1 << 40 {
            return None;
        }
        ((blocks << self.block_shift) + to.1 as u64).checked_sub(from.1 as u64)
    }
}

/// The keystream of a stream cipher, granule by granule.
pub(crate) struct StreamSource {
    pub(crate) key: Arc<dyn Keystream>,
    pub(crate) geometry: Geometry,
}

impl Source for StreamSource {
    fn make(&self, base: u128, index: u64, granule: &mut [u8]) {
        let blocks = (granule.len() >> self.geometry.block_shift) as u128 * u128::from(index);
        let counter = advanced(base, blocks, self.geometry.counter_bits);
        granule.fill(0);
        self.key.apply(counter, 0, granule.into());
    }
}

/// Bytes by where their keystream came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) ready: u64,
    pub(crate) inline: u64,
}

impl std::ops::AddAssign for Taken {
    fn add_assign(&mut self, other: Self) {
        self.ready += other.ready;
        self.inline += other.inline;
    }
}

/// The session's side of a ring.
pub(crate) struct Consumer {
    ring: Arc<Ring>,
    /// log2 of the bytes of a granule.
    granule_shift: u32,
    geometry: Geometry,
    xor: Xor,
    /// Number of the epoch's first granule.
    first: u64,
    /// Where the epoch began, at the start of a block.
    base: u128,
    /// Bytes from there to where the next request is expected.
    position: u64,
    fork_generation: usize,
}

impl Consumer {
    /// The ring's granules have a power of two bytes.
    pub(crate) fn new(ring: Arc<Ring>, geometry: Geometry, xor: Xor, counter: u128) -> Self {
        let first = ring.restart(counter);
        Self {
            granule_shift: ring.granule_bytes().ilog2(),
            ring,
            geometry,
            xor,
            first,
            base: counter,
            position: 0,
            fork_generation: process::fork_generation(),
        }
    }

    pub(crate) fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Whether a fork has left the ring's fillers in another process.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.fork_generation != process::fork_generation()
    }

    /// As [`seek`](Self::seek), unless that is where the next request is expected anyway.
    pub(crate) fn expect(&mut self, counter: u128, skip: usize) {
        if self.geometry.after(self.base, 0, self.position) != (counter, skip) {
            self.seek(counter, skip);
        }
    }

    /// Moves to byte `skip` of the block at `counter`. What lies ahead and is there or under way is
    /// kept; anywhere else an epoch begins.
    fn seek(&mut self, counter: u128, skip: usize) {
        let reach = self.position + self.ring.bytes() as u64;
        match self.geometry.bytes_between((self.base, 0), (counter, skip)) {
            Some(bytes) if (self.position..reach).contains(&bytes) => self.position = bytes,
            _ => {
                self.first = self.ring.restart(counter);
                self.base = counter;
                self.position = skip as u64;
            }
        }
        self.release();
    }

    /// XORs keystream onto `data` from byte `skip` of the block at `counter` on; what is not ready
    /// by way of `inline`, which is told the position.
    pub(crate) fn apply(
        &mut self,
        counter: u128,
        skip: usize,
        mut data: InOutBuf<'_, '_, u8>,
        inline: &mut dyn FnMut(u128, usize, InOutBuf<'_, '_, u8>),
    ) -> Taken {
        self.expect(counter, skip);
        let granule_bytes = 1 << self.granule_shift;
        let mut taken = Taken::default();
        while !data.is_empty() {
            let number = self.first + (self.position >> self.granule_shift);
            let offset = self.position as usize & (granule_bytes - 1);
            let bytes = data.len().min(granule_bytes - offset);
            let (piece, rest) = data.split_at(bytes);
            data = rest;
            self.ring.claim(number + 1);
            // SAFETY: this is the ring's only consumer. All before `position` is released, and no
            // more before the slice is used up.
            match unsafe { self.ring.granule(number) } {
                Some(keystream) => {
                    self.xor.apply(&keystream[offset..offset + bytes], piece);
                    taken.ready += bytes as u64;
                }
                None => {
                    let (counter, skip) = self.geometry.after(self.base, 0, self.position);
                    inline(counter, skip, piece);
                    taken.inline += bytes as u64;
                }
            }
            self.position += bytes as u64;
            self.release();
        }
        taken
    }

    /// Brings what will be asked for first into this core's first cache: what was made after it has
    /// driven it out.
    pub(crate) fn warm(&self) {
        let first = self.first + (self.position >> self.granule_shift);
        let granules = (WARM_BYTES >> self.granule_shift).max(1) as u64;
        for number in first..first + granules.min(self.ring.granules()) {
            // SAFETY: this is the ring's only consumer, `position` is not released, and nothing is
            // released before the slice is used up.
            if let Some(keystream) = unsafe { self.ring.granule(number) } {
                for line in keystream.chunks(64) {
                    std::hint::black_box(line[0]);
                }
            }
        }
    }

    fn release(&mut self) {
        let granules = self.position >> self.granule_shift;
        self.ring.release(self.first + granules);
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.ring.close();
    }
}

/// Keystream of messages whose nonces are a sequence: a granule each.
pub(crate) struct Records {
    ring: Arc<Ring>,
    /// Number of the epoch's first granule, and the sequence number it is of.
    first: u64,
    base: u64,
    /// The sequence number that is expected next: all before are released.
    next: u64,
    fork_generation: usize,
}

impl Records {
    pub(crate) fn new(ring: Arc<Ring>, next: u64) -> Self {
        let first = ring.restart(next.into());
        Self {
            ring,
            first,
            base: next,
            next,
            fork_generation: process::fork_generation(),
        }
    }

    pub(crate) fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Whether a fork has left the ring's fillers in another process.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.fork_generation != process::fork_generation()
    }

    /// The granule of message `sequence`, if it is ready. Those before it are given up.
    pub(crate) fn take(&mut self, sequence: u64) -> Option<&[u8]> {
        if !(self.next..self.next.saturating_add(self.ring.granules())).contains(&sequence) {
            self.first = self.ring.restart(sequence.into());
            self.base = sequence;
        }
        self.next = sequence;
        let number = self.first + (sequence - self.base);
        self.ring.release(number);
        self.ring.claim(number + 1);
        // SAFETY: this is the ring's only consumer, and the next release is by `&mut self`, when
        // the slice is gone.
        unsafe { self.ring.granule(number) }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        self.ring.close();
    }
}

/// Half of a first-level cache: the other half is the data's.
const WARM_BYTES: usize = 16 << 10;
