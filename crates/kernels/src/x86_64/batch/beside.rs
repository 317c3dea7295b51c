//! AES-CBC encryption of 16 streams in the gaps of a hash of 16 messages.
//!
//! Both are chains: the rounds of a hash leave two thirds of the units idle, those of AES half of them. A block of the hash
//! has 64 bytes, four blocks of AES, so each part of its rounds encrypts a block of all streams as well.

use core::arch::{asm, x86_64::*};
use core::mem::MaybeUninit;

use super::super::lanes::Lanes as _;
use super::cbc::{self, Lanes};
use super::gather::Gather;
use super::words::Registers;
use crate::hash::{Beside, Function, Rows};
use crate::key::KeySize;
use crate::x86_64::{Avx512, Vaes512};

/// The number of registers, each of four streams.
const REGISTERS: usize = 4;

/// The encryption, as the hash calls it.
struct Encryption<'a, const R: usize> {
    lanes: &'a mut Lanes<16>,
    keys: *const u8,
    chain: [__m512i; REGISTERS],
    /// Four blocks of all streams, before or after encryption.
    data: *mut [[__m512i; REGISTERS]; 4],
    /// The index of the one of those four that is encrypted now.
    block: usize,
    /// The number of bytes that each stream has already been given.
    at: usize,
}

impl<const R: usize> Encryption<'_, R> {
    /// Returns the operation after round `I` of `N`: 0 loads a block, `R` stores it, any other value up to `R` is a round;
    /// above that there is none.
    const fn operation<const I: usize, const N: usize>() -> usize {
        assert!(N > R);
        let mut operation = 0;
        while operation <= R && operation * N / (R + 1) != I {
            operation += 1;
        }
        operation
    }
}

impl<const R: usize> Beside for Encryption<'_, R> {
    #[inline(always)]
    unsafe fn begin(&mut self) {
        // SAFETY: `absorb` calls this once for each block, with AVX-512 and VAES enabled. The caller of `rounds`
        // promised 64 readable bytes of each of the 16 streams for it, and `data` has room for four blocks of each.
        unsafe {
            // The compiler must not read round keys in advance, since no registers are free for them.
            asm!("/* {0} */", inout(reg) self.keys, options(readonly, nostack, preserves_flags));
            for i in 0..REGISTERS {
                let blocks = __m512i::gather_fours(self.lanes.from.as_ptr().add(4 * i), self.at);
                for (row, block) in (*self.data).iter_mut().zip(blocks) {
                    row[i] = block;
                }
            }
            self.block = 0;
        }
    }

    #[inline(always)]
    unsafe fn step<const I: usize, const N: usize>(&mut self) {
        let operation = const { Self::operation::<I, N>() };
        if operation > R {
            return;
        }
        // SAFETY: the hash calls this with AVX-512 and VAES enabled. `keys` points to `R + 1` rows, and
        // `operation` is at most `R`. `data` points to four rows, and the index is masked to 0 to 3.
        unsafe {
            let row = &mut (*self.data)[self.block & 3];
            for (i, state) in self.chain.iter_mut().enumerate() {
                let key = __m512i::load(self.keys.add((operation * REGISTERS + i) * 64));
                if operation == 0 {
                    *state = state.xor(key.xor(row[i]));
                } else if operation < R {
                    *state = state.round(key).pin();
                } else {
                    *state = state.last_round(key);
                    row[i] = *state;
                }
            }
        }
        if operation == R {
            self.block += 1;
        }
    }

    #[inline(always)]
    unsafe fn end(&mut self) {
        // SAFETY: the caller of `rounds` promised that each output stream is writable for `blocks` blocks of 64
        // bytes, and `at` is the offset of the block that `begin` read.
        unsafe {
            for i in 0..REGISTERS {
                let mut blocks = [self.chain[0]; 4];
                for (row, block) in (*self.data).iter().zip(&mut blocks) {
                    *block = row[i];
                }
                __m512i::scatter_fours(blocks, self.lanes.to.as_ptr().add(4 * i), self.at);
            }
        }
        self.at += 64;
    }
}

/// Absorbs `blocks` blocks of each of 16 messages into their states, and encrypts the same number of bytes of each of 16
/// streams. A message may be a stream: in each step, the hash reads a block that an earlier step encrypted.
///
/// # Safety
/// All pointers are valid for `blocks` blocks of 64 bytes.
pub(crate) unsafe fn absorb_and_encrypt<H: Function<Word: Registers>>(
    _: (Vaes512, Avx512),
    rows: &mut Rows<H::Word>,
    from: &[*const u8; 16],
    lanes: &mut Lanes<16>,
    size: KeySize,
    blocks: usize,
) {
    /// # Safety
    /// Each pointer in `from` is readable for `blocks` blocks of 64 bytes, and so are the input pointers of
    /// `lanes`; its output pointers are writable for as many. `data` is valid for reads and writes.
    #[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
    unsafe fn rounds<H: Function<Word: Registers>, const R: usize>(
        rows: &mut Rows<H::Word>,
        from: &[*const u8; 16],
        lanes: &mut Lanes<16>,
        data: *mut [[__m512i; REGISTERS]; 4],
        blocks: usize,
    ) {
        // SAFETY: this function enables AVX-512 and VAES. The caller of `rounds` promised `blocks` blocks of 64 bytes behind
        // each pointer, and neither `H::absorb` nor `Encryption` goes beyond them. `lanes.chain` has a 64-byte register for
        // each of `REGISTERS`.
        unsafe {
            let mut chain = [_mm512_setzero_si512(); REGISTERS];
            for (i, chain) in chain.iter_mut().enumerate() {
                *chain = __m512i::load(lanes.chain.0.as_ptr().add(4 * i).cast());
            }
            let keys = lanes.keys.rows.as_ptr().cast();
            let mut encryption = Encryption::<R> {
                lanes,
                keys,
                chain,
                data,
                block: 0,
                at: 0,
            };
            H::absorb::<<H::Word as Registers>::Avx512>(
                rows,
                from.as_ptr(),
                blocks,
                &mut encryption,
            );
            for (i, chain) in encryption.chain.into_iter().enumerate() {
                chain.store(encryption.lanes.chain.0.as_mut_ptr().add(4 * i).cast());
            }
        }
    }
    assert!(H::BLOCK_BYTES == 64);
    #[cfg(debug_assertions)]
    crate::dispatch::batch::CBC_BESIDE_HASH.hit();
    let mut data = MaybeUninit::uninit();
    let data: *mut [[__m512i; REGISTERS]; 4] = data.as_mut_ptr();
    // SAFETY: the tokens prove VAES and AVX-512; the caller guarantees the pointers of messages and lanes, and `data`
    // belongs to this function.
    unsafe {
        match size {
            KeySize::Aes128 => rounds::<H, 10>(rows, from, lanes, data, blocks),
            KeySize::Aes192 => rounds::<H, 12>(rows, from, lanes, data, blocks),
            KeySize::Aes256 => rounds::<H, 14>(rows, from, lanes, data, blocks),
        }
    }
}

/// Encrypts `blocks` times 64 bytes of each stream.
///
/// # Safety
/// All pointers are valid for that many bytes.
pub(crate) unsafe fn encrypt(_: Vaes512, lanes: &mut Lanes<16>, size: KeySize, blocks: usize) {
    /// # Safety
    /// Every lane has `4 * blocks` blocks of AES left.
    #[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
    unsafe fn rounds<const R: usize>(lanes: &mut Lanes<16>, blocks: usize) {
        // SAFETY: VAES and AVX-512 are enabled here; four registers of four blocks are 16 lanes, which have that many blocks
        // left.
        unsafe { cbc::run::<__m512i, R, REGISTERS, 16>(lanes, 4 * blocks) }
    }
    // SAFETY: `Vaes512` proves the features; the caller guarantees `blocks` times 64 bytes in every lane.
    unsafe {
        match size {
            KeySize::Aes128 => rounds::<10>(lanes, blocks),
            KeySize::Aes192 => rounds::<12>(lanes, blocks),
            KeySize::Aes256 => rounds::<14>(lanes, blocks),
        }
    }
}
