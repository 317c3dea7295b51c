//! AES-CBC encryption of one stream or two by AES-NI, in the gaps of the hash of as many messages by SHA-NI.
//!
//! The chain of AES, 10 to 14 times the latency of `aesenc` for 16 bytes, takes longer than that of the hash. As in
//! [`super::super::cbc`], the last round of a block XORs the next block into the state at once.

use core::arch::x86_64::*;

use super::sha;
use crate::hash::{Beside, Function, LANES_MAX, Rows};
use crate::key::{BLOCK_BYTES, KeySize, Schedule};
use crate::x86_64::{AesNi, ShaNi};

/// The current state of `N` streams.
pub(crate) struct Streams<const N: usize> {
    /// Schedules for one key length, which live as long as they are used.
    pub(crate) schedules: [*const Schedule; N],
    /// The ciphertext blocks that precede the next ones.
    pub(crate) chain: [[u8; BLOCK_BYTES]; N],
    pub(crate) places: [*mut u8; N],
}

/// The encryption, as the hash calls it.
struct Encryption<'a, const R: usize, const N: usize> {
    streams: &'a Streams<N>,
    /// The states of the next blocks, already XORed with round key 0.
    state: [__m128i; N],
    chain: [__m128i; N],
    /// The position of the next block of each stream.
    at: usize,
    /// The position of the last block.
    last: usize,
}

impl<const R: usize, const N: usize> Encryption<'_, R, N> {
    /// # Safety
    /// The schedule of `stream` is live; `round` is at most `R`.
    #[inline(always)]
    unsafe fn key(&self, stream: usize, round: usize) -> __m128i {
        // SAFETY: the caller guarantees that the schedule is live, and round keys up to `R` are within it.
        unsafe {
            let keys = &raw const (*self.streams.schedules[stream]).round_keys;
            _mm_loadu_si128(keys.cast::<__m128i>().add(round))
        }
    }

    /// # Safety
    /// The place of `stream` is valid for reads of a block after `at` bytes.
    #[inline(always)]
    unsafe fn block(&self, stream: usize, at: usize) -> __m128i {
        // SAFETY: the caller has a block there.
        unsafe { _mm_loadu_si128(self.streams.places[stream].add(at).cast()) }
    }

    /// Encrypts the next block of each stream.
    ///
    /// # Safety
    /// The CPU has AES-NI; each stream has a block at `self.at`, and one at `self.last`; their schedules are live.
    #[inline(always)]
    unsafe fn encrypt(&mut self) {
        // SAFETY: the caller has AES-NI and the blocks: `next` is at most `last`, and rounds end at `R`.
        unsafe {
            // The block after the last is not used, so it may be any.
            let next = (self.at + BLOCK_BYTES).min(self.last);
            for round in 1..R {
                for i in 0..N {
                    self.state[i] = _mm_aesenc_si128(self.state[i], self.key(i, round));
                }
            }
            for i in 0..N {
                let key = self.key(i, R);
                let with_next =
                    _mm_xor_si128(key, _mm_xor_si128(self.key(i, 0), self.block(i, next)));
                self.chain[i] = _mm_aesenclast_si128(self.state[i], key);
                self.state[i] = _mm_aesenclast_si128(self.state[i], with_next);
                _mm_storeu_si128(self.streams.places[i].add(self.at).cast(), self.chain[i]);
            }
        }
        self.at += BLOCK_BYTES;
    }
}

impl<const R: usize, const N: usize> Beside for Encryption<'_, R, N> {
    #[inline(always)]
    unsafe fn begin(&mut self) {}
    #[inline(always)]
    unsafe fn step<const I: usize, const M: usize>(&mut self) {
        if I == 0 {
            // SAFETY: the hash calls its steps only where `rounds` enabled AES-NI, and step 0 four times for each of the
            // 64-byte blocks that the streams have.
            unsafe { self.encrypt() };
        }
    }
    #[inline(always)]
    unsafe fn end(&mut self) {}
}

/// Encrypts `blocks` times 64 bytes of each stream, and absorbs the same number of blocks of each message, if any, into
/// their states. A message may be a stream: in each step, the hash reads a block that an earlier step encrypted.
///
/// # Safety
/// `H` has dedicated instructions; all pointers are valid for `blocks` blocks of 64 bytes.
pub(crate) unsafe fn absorb_and_encrypt<H: Function, const N: usize>(
    _: (AesNi, ShaNi),
    messages: Option<(&mut Rows<H::Word>, &[*const u8; LANES_MAX])>,
    streams: &mut Streams<N>,
    size: KeySize,
    blocks: usize,
) {
    /// # Safety
    /// The same as for [`absorb_and_encrypt`]; the schedules have `R` rounds.
    #[target_feature(enable = "aes,sha,sse4.1,ssse3")]
    unsafe fn rounds<H: Function, const N: usize, const R: usize>(
        messages: Option<(&mut Rows<H::Word>, &[*const u8; LANES_MAX])>,
        streams: &mut Streams<N>,
        blocks: usize,
    ) {
        // SAFETY: AES-NI and SHA-NI are enabled here; with at least one block, each stream has a first one; four times
        // `blocks` are encrypted, as many as the caller promised.
        unsafe {
            let mut encryption = Encryption::<R, N> {
                streams,
                state: [_mm_setzero_si128(); N],
                chain: [_mm_setzero_si128(); N],
                at: 0,
                last: (64 * blocks).saturating_sub(BLOCK_BYTES),
            };
            if blocks == 0 {
                return;
            }
            for i in 0..N {
                let chain = _mm_loadu_si128(encryption.streams.chain[i].as_ptr().cast());
                let whitened = _mm_xor_si128(chain, encryption.key(i, 0));
                encryption.state[i] = _mm_xor_si128(whitened, encryption.block(i, 0));
            }
            match messages {
                Some((rows, from)) => {
                    sha::absorb_beside::<H, N>(rows, from, blocks, &mut encryption);
                }
                None => {
                    for _ in 0..4 * blocks {
                        encryption.encrypt();
                    }
                }
            }
            let chain = encryption.chain;
            for (chain, to) in chain.into_iter().zip(&mut streams.chain) {
                _mm_storeu_si128(to.as_mut_ptr().cast(), chain);
            }
        }
    }
    #[cfg(debug_assertions)]
    crate::dispatch::batch::CBC_STITCHED.hit();
    // SAFETY: the tokens prove both features; `size` determines how many rounds the schedules have, and the caller
    // guarantees the pointers.
    unsafe {
        match size {
            KeySize::Aes128 => rounds::<H, N, 10>(messages, streams, blocks),
            KeySize::Aes192 => rounds::<H, N, 12>(messages, streams, blocks),
            KeySize::Aes256 => rounds::<H, N, 14>(messages, streams, blocks),
        }
    }
}
