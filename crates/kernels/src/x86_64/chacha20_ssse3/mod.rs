//! ChaCha20 on SSSE3 by columns, four blocks at once, interleaved with Poly1305, for CPUs without AVX2.
//!
//! The assembly is written by `cargo xtask kernels`; `xtask/src/kernels/chacha20_ssse3.rs` says how it works. Up to
//! three blocks lie in rows ([`crate::stitched`]), a register for each row of each block. A single one runs on the
//! integer units, and so does a fifth during the rounds of four: with no MAC, only where these units have ports of
//! their own. On Zen 5 five blocks then take as long as four; on Emerald Rapids (Xeon, family 6 model 207), where
//! both share ports, a block of five took 1.3 times as long as one of four.

use core::arch::naked_asm;

use super::chacha20_avx2::{Frame, crypt_one, onto_zeros};
use super::chacha20_registers::Xmm;
use super::poly1305_chain::Mul;
use crate::poly1305::OneTimeKey;
use crate::portable::xor::xor_bytes;
use crate::stitched::{
    BLOCK_BYTES, ChainPowers, Chains, Chunk, Data, Direction, Keystream, Nothing, Rows, Run, Start,
    rows,
};

/// Chunks of four blocks; of five, where there is no MAC and the integer units are `APART`.
pub(super) struct Columns<const APART: bool>;

impl<const APART: bool> Chunk for Columns<APART> {
    const BLOCKS: usize = 4;
    type Powers = ChainPowers<256, Mul>;
    type Steps = Mul;

    #[inline(always)]
    unsafe fn crypt(mut start: Start<'_>, mut data: Data) {
        // SAFETY: the caller has SSSE3 and `data`: each frame names whole chunks of what is left, and five
        // blocks are four and one behind them; a place has room for as many.
        unsafe {
            let chunks = data.bytes / if APART { FIVE_BYTES } else { CHUNK_BYTES };
            if chunks > 0 && !APART {
                crypt_chunks(&mut Frame::new(start, data, chunks));
                data = data.behind(chunks * CHUNK_BYTES);
                start = start.later(4 * chunks as u32);
            } else if chunks > 0 {
                let mut frame = Frame::new(start, data, chunks);
                frame.block(start.later(4), data.behind(Self::BYTES));
                crypt_chunks_and_blocks(&mut frame);
                data = data.behind(chunks * FIVE_BYTES);
                start = start.later(5 * chunks as u32);
            }
            match data.bytes {
                0 => {}
                1..=BLOCK_BYTES => crypt_one(start, data),
                BLOCK_BYTES_MORE..=ROWS_BYTES_MAX => {
                    rows::crypt::<Xmm, _>(start, &mut Nothing, data);
                }
                CHUNK_BYTES => Self::crypt_chunks(start, data),
                _ => {
                    let mut place = Keystream::new();
                    if APART {
                        five_blocks(start, &mut place);
                    } else {
                        let chunk = onto_zeros(place.write(CHUNK_BYTES), CHUNK_BYTES);
                        crypt_chunks(&mut Frame::new(start, chunk, 1));
                    }
                    xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
                }
            }
        }
    }

    /// Five and three blocks would take as long as twice five.
    #[inline(always)]
    fn are_chunks(bytes: usize) -> bool {
        let is_few = !APART || [1, 2].contains(&(bytes / Self::BYTES));
        is_few && bytes.is_multiple_of(Self::BYTES)
    }

    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, data: Data) {
        let chunks = data.bytes / Self::BYTES;
        // SAFETY: the caller has SSSE3 and `data`, of which the frame names whole chunks.
        unsafe { crypt_chunks(&mut Frame::new(start, data, chunks)) }
    }

    #[inline(always)]
    unsafe fn crypt_and_mac_chunks(
        direction: Direction,
        start: Start<'_>,
        running: &mut Chains<'_, 256, Mul>,
        data: Data,
    ) {
        let chunks = data.bytes / Self::BYTES;
        // SAFETY: the caller has SSSE3 and whole chunks of `data`. The bytes to absorb begin with the first of
        // them to open, and to seal with the chunk before them, for which the caller answers too.
        unsafe {
            if direction == Direction::Open {
                running.chunk(data.from);
            }
            running.beside(start, data, chunks);
            if direction == Direction::Seal {
                running.chunk(data.to.add((chunks - 1) * Self::BYTES));
            }
        }
    }

    #[inline(always)]
    unsafe fn begin(
        start: Start<'_>,
        bytes: usize,
        place: &mut Keystream,
    ) -> (OneTimeKey, Option<Self::Powers>) {
        let bytes = BLOCK_BYTES + bytes;
        // SAFETY: the caller has SSSE3; the place has room for five blocks, and `bytes` are at most four.
        unsafe {
            if bytes <= ROWS_BYTES_MAX {
                rows::keystream::<Xmm, _>(start, bytes, place, 0, &mut Nothing);
            } else {
                five_blocks(start, place);
            }
            (OneTimeKey::from_block(place.bytes()), None)
        }
    }

    #[inline(always)]
    unsafe fn crypt_rest_and_mac(start: Start<'_>, running: &mut Chains<'_, 256, Mul>, data: Data) {
        // SAFETY: the caller has SSSE3 and `data`, which are less than a chunk, for which the place has room.
        unsafe {
            if data.bytes <= ROWS_BYTES_MAX {
                rows::crypt::<Xmm, _>(start, running, data);
                return running.end_of_chunk();
            }
            let mut place = Keystream::new();
            let chunk = onto_zeros(place.write(Self::BYTES), Self::BYTES);
            running.beside(start, chunk, 1);
            xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
        }
    }
}

/// Keystream of five blocks, the first on the integer units.
///
/// # Safety
/// As [`Chunk`].
#[inline(always)]
unsafe fn five_blocks(start: Start<'_>, place: &mut Keystream) {
    // SAFETY: the caller has SSSE3; the place has room for five blocks: the first, and four behind it.
    unsafe {
        let blocks = onto_zeros(place.write(FIVE_BYTES), FIVE_BYTES);
        let mut frame = Frame::new(start.later(1), blocks.behind(BLOCK_BYTES), 1);
        frame.block(start, blocks);
        crypt_chunks_and_blocks(&mut frame);
    }
}

impl Chains<'_, 256, Mul> {
    /// Absorbs `chunks` chunks during the rounds of as many.
    ///
    /// # Safety
    /// As [`Chunk::crypt_and_mac_chunks`].
    #[inline(always)]
    unsafe fn beside(&mut self, start: Start<'_>, data: Data, chunks: usize) {
        // SAFETY: the caller has SSSE3, `chunks` chunks of data, and as many bytes where `chunk` pointed to,
        // which the frame names.
        unsafe {
            Frame::new(start, data, chunks)
                .absorb(self.parts(), |frame| crypt_chunks_and_mac(frame))
        }
    }
}

const CHUNK_BYTES: usize = 4 * BLOCK_BYTES;
const FIVE_BYTES: usize = 5 * BLOCK_BYTES;
const BLOCK_BYTES_MORE: usize = BLOCK_BYTES + 1;
/// The most bytes that rows have registers for.
const ROWS_BYTES_MAX: usize = rows::SETS_MAX * <Xmm as Rows>::SET_BYTES;

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident $file:literal $counter:ident)+) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// SSSE3 must be there, and the pointers and lengths in `frame` hold.
        #[inline(always)]
        unsafe fn $name(frame: &mut Frame) {
            /// # Safety
            /// SSSE3 must be there; `middle` is that of a frame whose pointers and lengths hold.
            #[unsafe(naked)]
            unsafe extern "sysv64" fn kernel(middle: *mut Frame) {
                naked_asm!(include_str!($file), options(raw))
            }
            #[cfg(debug_assertions)]
            crate::dispatch::chacha20::$counter.hit();
            // SAFETY: the caller has SSSE3 and what the frame names; the frame lives as long as this borrow.
            unsafe { kernel(frame.middle()) }
        }
    )+ };
}

kernels! {
    /// XORs keystream onto chunks.
    crypt_chunks "crypt.s" FOUR_COLUMNS
    /// And absorbs as many bytes from elsewhere.
    crypt_chunks_and_mac "crypt_and_mac.s" FOUR_COLUMNS_AND_MAC
    /// XORs keystream onto a chunk in each five blocks, and onto a block that lies elsewhere.
    crypt_chunks_and_blocks "crypt_and_block.s" FOUR_COLUMNS_AND_BLOCK
}
