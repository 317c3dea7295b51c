//! Triple DES by look-ups in 16 bytes: 16 blocks at once, and one register for each S-box or for two of them.
//!
//! `bits::des_nibbles` describes how a round becomes look-ups and exchanges of bits. For the eight S-boxes this takes
//!
//! ```text
//! instructions of a round           256-bit registers, four    128-bit registers, eight
//!   key, four look-ups, choices      10 each       40            13 each      104
//!   exchanges between registers      4 pairs x 4   16            8 pairs x 4   32
//!   exchange, and the other half      5 each       20             4 each       32
//!                                                  76                         168
//! ```
//!
//! and a chain of 19 cycles. Registers of 256 bits hold two S-boxes rather than 32 blocks, since 16 streams are more common
//! than
//! 32. For the resulting speed see docs/packets.md.
//!
//! No address and no branch depends on key or data.

use core::arch::x86_64::*;

use inout::InOutBuf;

use crate::bits::des_bytes::Rounds;
use crate::bits::des_nibbles::{BOXES, Row, Rows, STAGES, TABLES};
use crate::contract::{by_contract, needs_instructions};
use crate::requests::{self, Engine, Lanes, TdesChained};
use crate::wipe::wipe;
use crate::wipe::wipe_stack;
use crate::x86_64::{Avx2, Ssse3};

/// The number of blocks processed at once.
const BLOCKS: usize = 16;

/// A register of rows, each of which holds the bytes of an S-box for all blocks.
trait Register: Copy {
    /// The number of rows in a register.
    const ROWS: usize;

    needs_instructions! {
        fn splat(byte: u8) -> Self;
        fn xor(self, other: Self) -> Self;
        fn and(self, other: Self) -> Self;
        /// Returns `other` without the bits of `self`.
        fn not_and(self, other: Self) -> Self;
        /// Returns each byte doubled, without a carry to the next.
        fn double(self) -> Self;
        /// Returns the upper four bits of each byte.
        fn upper(self) -> Self;
        /// Looks the lower four bits of each byte up in `self`; the result is 0 if the highest bit is set.
        fn look_up(self, indexes: Self) -> Self;
        /// Returns the bytes of `other` where the highest bit of `by` is set, and those of `self` elsewhere.
        fn or_else(self, other: Self, by: Self) -> Self;
        /// Returns, for each row of register `i`, the next row.
        fn neighbours<const N: usize>(registers: &[Self; N], i: usize) -> Self;
    }
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `ROWS` rows, aligned or not.
    unsafe fn load(from: *const Row) -> Self;
    /// # Safety
    /// The CPU has the instructions of this type; `rows` is aligned and valid for reads of `ROWS` rows.
    unsafe fn join(rows: *const __m128i) -> Self;
    /// # Safety
    /// The CPU has the instructions of this type; `rows` is aligned and valid for writes of `ROWS` rows.
    unsafe fn split(self, rows: *mut __m128i);
}

/// The two halves of 16 blocks, in the form of the rounds.
#[derive(Clone, Copy)]
struct Halves<R, const N: usize> {
    left: [R; N],
    right: [R; N],
}

impl<R: Register, const N: usize> Halves<R, N> {
    /// Applies the initial permutation, and E to both halves. Row i has byte i of each block.
    ///
    /// # Safety
    /// The CPU has the instructions of `R`, and SSSE3.
    #[inline(always)]
    unsafe fn enter(mut rows: [__m128i; 8]) -> Self {
        const { assert!(N * R::ROWS == 8) };
        // SAFETY: `N` registers are eight rows, and the caller has the instructions for them.
        unsafe {
            transpose_bits(&mut rows);
            let [l3, r3, l2, r2, l1, r1, l0, r0] = rows;
            Self {
                left: expand([l0, l1, l2, l3]),
                right: expand([r0, r1, r2, r3]),
            }
        }
    }

    /// Undoes [`enter`](Self::enter).
    ///
    /// # Safety
    /// The CPU has the instructions of `R`, and SSSE3.
    #[inline(always)]
    unsafe fn leave(self) -> [__m128i; 8] {
        // SAFETY: `enter` has checked that a half has eight rows; the caller has the instructions of `R` and SSSE3.
        unsafe {
            let [l0, l1, l2, l3] = compress(self.left);
            let [r0, r1, r2, r3] = compress(self.right);
            let mut rows = [l3, r3, l2, r2, l1, r1, l0, r0];
            transpose_bits(&mut rows);
            rows
        }
    }

    /// # Safety
    /// The CPU has the instructions of `R`.
    #[inline(always)]
    unsafe fn xor(mut self, other: Self) -> Self {
        for i in 0..N {
            // SAFETY: the caller has the instructions of `R`, which include XOR.
            unsafe {
                self.left[i] = self.left[i].xor(other.left[i]);
                self.right[i] = self.right[i].xor(other.right[i]);
            }
        }
        self
    }

    /// Applies the 48 rounds.
    ///
    /// # Safety
    /// The CPU has the instructions of `R`.
    #[inline(always)]
    unsafe fn rounds(&mut self, keys: &[Rows; 48]) {
        for keys in keys.as_chunks::<16>().0 {
            for [first, second] in keys.as_chunks().0 {
                // SAFETY: a half is `N` registers of `R`, whose instructions the caller has, and so is a key.
                unsafe {
                    pass(&mut self.left, &self.right, first);
                    pass(&mut self.right, &self.left, second);
                }
            }
            // DES ends with an exchange of the halves.
            core::mem::swap(&mut self.left, &mut self.right);
        }
    }
}

/// Loads the rows of register `i`.
///
/// # Safety
/// The CPU has the instructions of `R`; `i` is less than `8 / R::ROWS`.
#[inline(always)]
unsafe fn register<R: Register>(rows: &Rows, i: usize) -> R {
    // SAFETY: the caller guarantees that register `i` lies within the eight rows.
    unsafe { R::load(rows.as_ptr().add(R::ROWS * i)) }
}

/// Looks `indexes` up in the tables of register `i`.
///
/// # Safety
/// The CPU has the instructions of `R`; `i` is less than `8 / R::ROWS`.
#[inline(always)]
unsafe fn find<R: Register>(tables: &Rows, i: usize, indexes: R) -> R {
    // SAFETY: the caller guarantees that `i` is that of a register within the tables.
    unsafe { register::<R>(tables, i).look_up(indexes) }
}

/// XORs f of one half onto the other.
///
/// # Safety
/// The CPU has the instructions of `R`; `N` registers have eight rows.
#[inline(always)]
unsafe fn pass<R: Register, const N: usize>(to: &mut [R; N], of: &[R; N], key: &Rows) {
    // SAFETY: the caller has the instructions, and every index is less than `N`, so its rows are within key, tables and
    // masks.
    unsafe {
        let tables = &TABLES.substitute;
        let highest = R::splat(0x80);
        let mut x = *of;
        for (i, x) in x.iter_mut().enumerate() {
            let one = x.xor(register(key, i));
            let other = one.xor(highest);
            let [a, b, c, d] = tables;
            let low = find(a, i, one).xor(find(b, i, other));
            let high = find(c, i, one).xor(find(d, i, other));
            *x = low.or_else(high, one.double());
        }
        for (stage, masks) in TABLES.exchange.iter().enumerate().take(2) {
            let apart = STAGES[stage] / R::ROWS;
            for low in (0..N).filter(|i| i & apart == 0) {
                let change = x[low].xor(x[low + apart]).and(register(masks, low));
                x[low] = x[low].xor(change);
                x[low + apart] = x[low + apart].xor(change);
            }
        }
        for (i, to) in to.iter_mut().enumerate() {
            let mask: R = register(&TABLES.exchange[2], i);
            let others = R::neighbours(&x, i).and(mask);
            *to = to.xor(mask.not_and(x[i])).xor(others);
        }
    }
}

/// Converts the bytes of a half to its registers.
///
/// # Safety
/// The CPU has the instructions of `R`, and SSSE3; `N` registers have eight rows.
#[inline(always)]
unsafe fn expand<R: Register, const N: usize>(bytes: [__m128i; 4]) -> [R; N] {
    // SAFETY: with `N` registers of eight rows, `R::join` reads within `rows`; tables of 128 bits have eight
    // registers.
    unsafe {
        let low = _mm_set1_epi8(15);
        let mut fours = [low; 8];
        for (i, byte) in bytes.into_iter().enumerate() {
            fours[2 * i] = _mm_and_si128(_mm_srli_epi16::<4>(byte), low);
            fours[2 * i + 1] = _mm_and_si128(byte, low);
        }
        let mut rows = fours;
        for (i, row) in rows.iter_mut().enumerate() {
            let [own, before, behind] = &TABLES.enter;
            let number = BOXES[i];
            let own = find(own, i, fours[number]);
            let before = find(before, i, fours[(number + 7) % 8]);
            let behind = find(behind, i, fours[(number + 1) % 8]);
            *row = own.xor(before).xor(behind);
        }
        let mut half = [R::splat(0); N];
        for (i, register) in half.iter_mut().enumerate() {
            *register = R::join(rows.as_ptr().add(R::ROWS * i));
        }
        half
    }
}

/// Undoes [`expand`].
///
/// # Safety
/// The CPU has the instructions of `R`; `N` registers have eight rows.
#[inline(always)]
unsafe fn compress<R: Register, const N: usize>(half: [R; N]) -> [__m128i; 4] {
    // SAFETY: with `N` registers of eight rows, `R::split` writes within `fours`, and `find` reads within its
    // tables.
    unsafe {
        let mut fours = [_mm_setzero_si128(); 8];
        for (i, state) in half.into_iter().enumerate() {
            let [low, high] = &TABLES.leave;
            let low = find(low, i, state.and(R::splat(15)));
            let four = low.xor(find(high, i, state.upper()));
            four.split(fours.as_mut_ptr().add(R::ROWS * i));
        }
        let mut by_number = fours;
        for (i, four) in fours.into_iter().enumerate() {
            by_number[BOXES[i]] = four;
        }
        let [a, b, c, d, e, f, g, h] = by_number;
        [a.xor(b), c.xor(d), e.xor(f), g.xor(h)]
    }
}

/// Moves bit j of row i to bit i of row j, in every byte.
#[inline(always)]
fn transpose_bits(rows: &mut [__m128i; 8]) {
    macro_rules! exchange {
        ($apart:literal $mask:literal) => {
            for low in (0..8).filter(|i| i & $apart == 0) {
                let high = low + $apart;
                // SAFETY: SSE2 is part of x86-64; there is no pointer.
                unsafe {
                    let change = _mm_xor_si128(_mm_srli_epi64::<$apart>(rows[low]), rows[high]);
                    let change = _mm_and_si128(change, _mm_set1_epi8($mask));
                    rows[high] = _mm_xor_si128(rows[high], change);
                    rows[low] = _mm_xor_si128(rows[low], _mm_slli_epi64::<$apart>(change));
                }
            }
        };
    }
    exchange!(4 0x0f);
    exchange!(2 0x33);
    exchange!(1 0x55);
}

/// Moves three bits of the row number to the lower end of the byte number, while the three bits at its upper end become the
/// row number.
#[inline(always)]
fn interleave(rows: &mut [__m128i; 8]) {
    for apart in [4, 2, 1] {
        for low in (0..8).filter(|i| i & apart == 0) {
            let (a, b) = (rows[low], rows[low + apart]);
            // SAFETY: unpacking needs SSE2, which every x86-64 CPU has.
            unsafe {
                rows[low] = _mm_unpacklo_epi8(a, b);
                rows[low + apart] = _mm_unpackhi_epi8(a, b);
            }
        }
    }
}

/// Returns the bytes of 16 words, a row for each byte position in a word.
///
/// # Safety
/// Each of `words` is valid for reads of 8 bytes after `at`.
#[inline(always)]
unsafe fn gather(words: &[*const u8; BLOCKS], at: usize) -> [__m128i; 8] {
    // SAFETY: the caller has 8 bytes at each of the words; SSE2 is part of x86-64.
    unsafe {
        let mut rows = [_mm_setzero_si128(); 8];
        for (i, row) in rows.iter_mut().enumerate() {
            let first = _mm_loadl_epi64(words[i].add(at).cast());
            let second = _mm_loadl_epi64(words[i + 8].add(at).cast());
            *row = _mm_unpacklo_epi8(first, second);
        }
        interleave(&mut rows);
        rows
    }
}

/// Round keys of 16 blocks.
#[repr(align(32))]
struct Keys {
    rows: [Rows; 48],
    /// In the form that streams have, for each of the blocks.
    words: [[u64; BLOCKS]; 48],
    are_words_new: bool,
}

impl Keys {
    const fn new() -> Self {
        Self {
            rows: [[[0; 16]; 8]; 48],
            words: [[0; BLOCKS]; 48],
            are_words_new: false,
        }
    }

    /// Converts the words to rows.
    ///
    /// # Safety
    /// The CPU has SSSE3.
    #[inline(always)]
    unsafe fn make_rows(&mut self) {
        // SAFETY: the words of a round are 16 of 8 bytes each, and rows have 16 bytes; the caller has SSSE3 for the
        // look-ups.
        unsafe {
            for (rows, words) in self.rows.iter_mut().zip(&self.words) {
                let bytes = gather(&words.each_ref().map(|word| (&raw const *word).cast()), 0);
                for (i, row) in rows.iter_mut().enumerate() {
                    let byte = bytes[BOXES[i]];
                    let [low, high] = &TABLES.key;
                    let low = find(low, i, byte.and(_mm_set1_epi8(15)));
                    let key = low.xor(find(high, i, byte.upper()));
                    _mm_storeu_si128(row.as_mut_ptr().cast(), key);
                }
            }
        }
        self.are_words_new = false;
    }

    /// Encrypts the next blocks of every lane.
    ///
    /// # Safety
    /// The CPU has the instructions of `R`, and SSSE3; every lane has `blocks` blocks left; `N` registers have
    /// eight rows.
    #[inline(always)]
    unsafe fn encrypt<R: Register, const N: usize>(
        &mut self,
        lanes: &mut Lanes<BLOCKS>,
        blocks: usize,
    ) {
        // SAFETY: the caller has the instructions; each lane has at least `blocks` blocks left, and that many are read at
        // its `from` and written at its `to`.
        unsafe {
            if self.are_words_new {
                self.make_rows();
            }
            let chain = lanes.chain.each_ref().map(|block| block.as_ptr());
            let mut state = Halves::<R, N>::enter(gather(&chain, 0));
            for block in 0..blocks {
                // The chain continues in the form of the rounds.
                state = state.xor(Halves::enter(gather(&lanes.from, 8 * block)));
                state.rounds(&self.rows);
                let mut rows = state.leave();
                interleave(&mut rows);
                for ([first, second], pair) in lanes.to.as_chunks().0.iter().zip(rows) {
                    let high = _mm_unpackhi_epi64(pair, pair);
                    _mm_storel_epi64(first.add(8 * block).cast(), pair);
                    _mm_storel_epi64(second.add(8 * block).cast(), high);
                }
            }
            if blocks > 0 {
                for (chain, to) in lanes.chain.iter_mut().zip(lanes.to) {
                    *chain = to.add(8 * (blocks - 1)).cast::<[u8; 8]>().read();
                }
            }
        }
    }

    /// Decrypts whole blocks of one stream, with the keys in the order of decryption.
    ///
    /// # Safety
    /// The CPU has the instructions of `R`, and SSSE3; `blocks` blocks are readable at `from` and writable at `to`, which
    /// are the same place or do not overlap; `N` registers have eight rows.
    #[inline(always)]
    unsafe fn decrypt<R: Register, const N: usize>(
        &mut self,
        iv: &mut [u8; 8],
        mut from: *const u8,
        mut to: *mut u8,
        mut blocks: usize,
    ) {
        // SAFETY: the caller has the instructions; `blocks` counts the rest at both pointers, of which `some` at a time are
        // copied in before any are copied out; both arrays have room for 16.
        unsafe {
            self.make_rows();
            let mut ciphertext = [*iv; BLOCKS + 1];
            let mut plaintext = [[0_u8; 16]; BLOCKS / 2];
            let words = core::array::from_fn(|i| ciphertext.as_ptr().wrapping_add(i + 1).cast());
            while blocks > 0 {
                let some = blocks.min(BLOCKS);
                let first = ciphertext.as_mut_ptr().add(1);
                core::ptr::copy_nonoverlapping(from.cast(), first, some);
                let mut state = Halves::<R, N>::enter(gather(&words, 0));
                state.rounds(&self.rows);
                let mut rows = state.leave();
                interleave(&mut rows);
                for (i, (pair, row)) in plaintext.iter_mut().zip(rows).enumerate() {
                    let before = _mm_loadu_si128(ciphertext.as_ptr().add(2 * i).cast());
                    _mm_storeu_si128(pair.as_mut_ptr().cast(), _mm_xor_si128(row, before));
                }
                core::ptr::copy_nonoverlapping(plaintext.as_ptr().cast(), to, 8 * some);
                ciphertext[0] = ciphertext[some];
                (from, to) = (from.add(8 * some), to.add(8 * some));
                blocks -= some;
            }
            *iv = ciphertext[0];
            wipe(plaintext.as_flattened_mut());
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        wipe(self.rows.as_flattened_mut().as_flattened_mut());
        wipe(self.words.as_flattened_mut());
        wipe_stack();
    }
}

/// Defines the entry points, in a module for each register.
macro_rules! entry_points {
    ($module:ident, $token:ty, $register:ty, $registers:literal, $features:literal, $counter:ident) => {
        pub(crate) mod $module {
            use super::*;

            /// Encrypts streams of whole blocks with CBC.
            pub(crate) fn encrypt(_: $token, streams: &mut [impl TdesChained]) {
                requests::encrypt(&mut Encryption(Keys::new()), streams);
            }

            /// Created only with a token.
            struct Encryption(Keys);

            impl Engine<BLOCKS> for Encryption {
                const REPEATS: bool = true;

                fn lay_out(&mut self, lane: usize, stream: &impl TdesChained) {
                    for (words, key) in self.0.words.iter_mut().zip(stream.rounds()) {
                        words[lane] = *key;
                    }
                    self.0.are_words_new = true;
                }

                unsafe fn run(&mut self, lanes: &mut Lanes<BLOCKS>, blocks: usize) {
                    /// # Safety
                    /// Every lane has `blocks` blocks left.
                    #[target_feature(enable = $features)]
                    unsafe fn with_features(
                        keys: &mut Keys,
                        lanes: &mut Lanes<BLOCKS>,
                        blocks: usize,
                    ) {
                        // SAFETY: the features of `$register` are enabled here; the caller guarantees the blocks of every
                        // lane.
                        unsafe { keys.encrypt::<$register, $registers>(lanes, blocks) }
                    }
                    #[cfg(debug_assertions)]
                    crate::dispatch::batch::$counter.hit();
                    // SAFETY: `encrypt`, the only place that creates an `Encryption`, requires a token; the caller of `run`
                    // guarantees the blocks.
                    unsafe { with_features(&mut self.0, lanes, blocks) }
                }
            }

            /// Decrypts whole blocks with CBC. `iv` is the ciphertext block before the first, and becomes the last one.
            pub(crate) fn decrypt(
                _: $token,
                rounds: &Rounds,
                iv: &mut [u8; 8],
                data: InOutBuf<'_, '_, u8>,
            ) {
                /// # Safety
                /// `blocks` blocks are readable at `from` and writable at `to`, which are the same place or do not overlap.
                #[target_feature(enable = $features)]
                unsafe fn with_features(
                    keys: &mut Keys,
                    iv: &mut [u8; 8],
                    from: *const u8,
                    to: *mut u8,
                    blocks: usize,
                ) {
                    // SAFETY: the features of `$register` are enabled here; the caller has the blocks at both pointers.
                    unsafe { keys.decrypt::<$register, $registers>(iv, from, to, blocks) }
                }
                #[cfg(debug_assertions)]
                crate::dispatch::batch::$counter.hit();
                let mut keys = Keys::new();
                for (words, key) in keys.words.iter_mut().zip(rounds.iter().rev()) {
                    *words = [*key; BLOCKS];
                }
                let blocks = data.len() / 8;
                let (from, to) = data.into_raw();
                // SAFETY: the token proves the features; the buffer has `blocks` times 8 bytes at both pointers, the same or
                // disjoint.
                unsafe { with_features(&mut keys, iv, from, to, blocks) }
            }
        }
    };
}

entry_points!(ssse3, Ssse3, __m128i, 8, "ssse3", TDES_NIBBLES_SSSE3);
entry_points!(avx2, Avx2, __m256i, 4, "avx2", TDES_NIBBLES_AVX2);

impl Register for __m128i {
    const ROWS: usize = 1;

    by_contract! {
        fn load(from: *const Row) -> Self { _mm_loadu_si128(from.cast()) }
        fn join(rows: *const __m128i) -> Self { *rows }
        fn split(self, rows: *mut __m128i) { *rows = self }
        fn splat(byte: u8) -> Self { _mm_set1_epi8(byte as i8) }
        fn xor(self, other: Self) -> Self { _mm_xor_si128(self, other) }
        fn and(self, other: Self) -> Self { _mm_and_si128(self, other) }
        fn not_and(self, other: Self) -> Self { _mm_andnot_si128(self, other) }
        fn double(self) -> Self { _mm_add_epi8(self, self) }
        fn upper(self) -> Self { _mm_and_si128(_mm_srli_epi16::<4>(self), _mm_set1_epi8(15)) }
        fn look_up(self, indexes: Self) -> Self { _mm_shuffle_epi8(self, indexes) }
        fn or_else(self, other: Self, by: Self) -> Self {
            let mask = _mm_cmpgt_epi8(_mm_setzero_si128(), by);
            self.xor(self.xor(other).and(mask))
        }
    }
    #[inline(always)]
    unsafe fn neighbours<const N: usize>(registers: &[Self; N], i: usize) -> Self {
        registers[i ^ 1]
    }
}

impl Register for __m256i {
    const ROWS: usize = 2;

    by_contract! {
        fn load(from: *const Row) -> Self { _mm256_loadu_si256(from.cast()) }
        fn join(rows: *const __m128i) -> Self { _mm256_set_m128i(*rows.add(1), *rows) }
        fn split(self, rows: *mut __m128i) {
            *rows = _mm256_castsi256_si128(self);
            *rows.add(1) = _mm256_extracti128_si256::<1>(self);
        }
        fn splat(byte: u8) -> Self { _mm256_set1_epi8(byte as i8) }
        fn xor(self, other: Self) -> Self { _mm256_xor_si256(self, other) }
        fn and(self, other: Self) -> Self { _mm256_and_si256(self, other) }
        fn not_and(self, other: Self) -> Self { _mm256_andnot_si256(self, other) }
        fn double(self) -> Self { _mm256_add_epi8(self, self) }
        fn upper(self) -> Self {
            _mm256_and_si256(_mm256_srli_epi16::<4>(self), _mm256_set1_epi8(15))
        }
        fn look_up(self, indexes: Self) -> Self { _mm256_shuffle_epi8(self, indexes) }
        fn or_else(self, other: Self, by: Self) -> Self { _mm256_blendv_epi8(self, other, by) }
        fn neighbours<const N: usize>(registers: &[Self; N], i: usize) -> Self {
            _mm256_permute2x128_si256::<1>(registers[i], registers[i])
        }
    }
}
