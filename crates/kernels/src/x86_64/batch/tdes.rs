//! Triple DES by byte look-ups in registers: eight blocks per register, one in each 64 bits.
//!
//! Two registers are a table for two S-boxes, so four `vpermi2b` do all look-ups of a round; P and E are a transposition of
//! bits in each 64 and a product with constants in GF(2^8): see `bits::des_bytes`. No address and no branch depends on key
//! or data.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use inout::InOutBuf;

use crate::bits::des_bytes::{ENTER, FACTORS, LEAVE, Rounds, SECOND_HALVES, SUBSTITUTE, Tables};
use crate::requests::{self, Engine, Lanes, TdesChained};
use crate::wipe::wipe;
use crate::x86_64::Permute512;

/// The two halves of the blocks in `N` registers, in the form of the rounds.
#[derive(Clone, Copy)]
struct Halves<const N: usize> {
    left: [__m512i; N],
    right: [__m512i; N],
}

/// Looks up each byte's 7-bit index in the table of its S-box.
///
/// # Safety
/// The CPU has AVX-512 VBMI.
#[inline(always)]
unsafe fn look_up(tables: &[[__m512i; 2]; 4], indexes: __m512i) -> __m512i {
    const BYTES: u64 = 0x0303_0303_0303_0303;
    // SAFETY: `vpermi2b` and the OR are instructions of AVX-512 F and VBMI, which the caller has.
    unsafe {
        let [a, b, c, d] = tables;
        let a = _mm512_maskz_permutex2var_epi8(BYTES, a[0], indexes, a[1]);
        let b = _mm512_maskz_permutex2var_epi8(BYTES << 2, b[0], indexes, b[1]);
        let c = _mm512_maskz_permutex2var_epi8(BYTES << 4, c[0], indexes, c[1]);
        let d = _mm512_maskz_permutex2var_epi8(BYTES << 6, d[0], indexes, d[1]);
        _mm512_or_si512(_mm512_ternarylogic_epi64::<0xfe>(a, b, c), d)
    }
}

/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn load(tables: &Tables) -> [[__m512i; 2]; 4] {
    // SAFETY: a table is two registers of 64 bytes, which a CPU with AVX-512 F can load.
    unsafe {
        let mut loaded = [[_mm512_setzero_si512(); 2]; 4];
        for (loaded, table) in loaded.iter_mut().zip(tables) {
            for (i, half) in loaded.iter_mut().enumerate() {
                *half = _mm512_loadu_si512(table.as_ptr().add(64 * i).cast());
            }
        }
        loaded
    }
}

/// Returns the lower six bits of each byte of the state, combined with the key into an index: `a & 63 ^ b`.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn indexes(state: __m512i, key: __m512i) -> __m512i {
    // SAFETY: the caller has AVX-512 F for `vpternlog`.
    unsafe { _mm512_ternarylogic_epi64::<0x6a>(state, _mm512_set1_epi8(63), key) }
}

/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn splat(bytes: [u8; 8]) -> __m512i {
    // SAFETY: the caller has AVX-512 F to fill a register.
    unsafe { _mm512_set1_epi64(i64::from_le_bytes(bytes)) }
}

impl<const N: usize> Halves<N> {
    /// Applies the initial permutation, and E to both halves.
    ///
    /// # Safety
    /// The CPU has AVX-512 VBMI and GFNI.
    #[inline(always)]
    unsafe fn enter(blocks: [__m512i; N]) -> Self {
        // SAFETY: the caller has AVX-512 VBMI and GFNI, which `enter` of either half needs.
        unsafe {
            // Columns of bits, from the last byte on: the right half has the odd ones, in the numbering of FIPS 46-3.
            let right = splat([0x80, 0x20, 0x08, 0x02, 0x80, 0x20, 0x08, 0x02]);
            let left = splat([0x40, 0x10, 0x04, 0x01, 0x40, 0x10, 0x04, 0x01]);
            Self {
                left: enter(left, blocks),
                right: enter(right, blocks),
            }
        }
    }

    /// Undoes [`enter`](Self::enter).
    ///
    /// # Safety
    /// The CPU has AVX-512 BW and VBMI, and GFNI.
    #[inline(always)]
    unsafe fn leave(self) -> [__m512i; N] {
        // SAFETY: this is look-ups, shifts and a matrix product, for which the caller has VBMI, AVX-512 BW and GFNI.
        unsafe {
            let tables = load(&LEAVE);
            let second = _mm512_set1_epi64(SECOND_HALVES as i64);
            let transposed = splat([0x80, 0x40, 0x20, 0x10, 0x08, 0x04, 0x02, 0x01]);
            let mut blocks = self.left;
            for (i, block) in blocks.iter_mut().enumerate() {
                let left = look_up(&tables, indexes(self.left[i], second));
                let right = look_up(&tables, indexes(self.right[i], second));
                let left = _mm512_or_si512(left, _mm512_slli_epi16::<8>(left));
                let right = _mm512_or_si512(right, _mm512_srli_epi16::<8>(right));
                let columns = _mm512_mask_blend_epi8(0xaaaa_aaaa_aaaa_aaaa, right, left);
                *block = _mm512_gf2p8affine_epi64_epi8::<0>(transposed, columns);
            }
            blocks
        }
    }

    /// # Safety
    /// The CPU has AVX-512 F.
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        let mut sum = self;
        // SAFETY: the caller has AVX-512 F for 512-bit XORs.
        unsafe {
            for i in 0..N {
                sum.left[i] = _mm512_xor_si512(self.left[i], other.left[i]);
                sum.right[i] = _mm512_xor_si512(self.right[i], other.right[i]);
            }
        }
        sum
    }

    /// Applies the 48 rounds. `key` returns the round key of each block of a register.
    ///
    /// # Safety
    /// The CPU has AVX-512 VBMI and GFNI; `keys` has 48 rounds of `N` registers.
    #[inline(always)]
    unsafe fn rounds<K: Keys>(&mut self, keys: K) {
        // SAFETY: the caller has VBMI and GFNI; only rounds 0 to 47 are requested from `keys`.
        unsafe {
            let tables = load(&SUBSTITUTE);
            for stage in 0..3 {
                let mut round = 16 * stage;
                while round < 16 * stage + 16 {
                    pass(&tables, &mut self.left, &self.right, keys, round);
                    pass(&tables, &mut self.right, &self.left, keys, round + 1);
                    round += 2;
                }
                // DES ends with an exchange of the halves.
                core::mem::swap(&mut self.left, &mut self.right);
            }
        }
    }
}

/// The source of round keys.
trait Keys: Copy {
    /// Returns the key of a round for each block of a register.
    ///
    /// # Safety
    /// `round` and `register` exist; the instructions are enabled in the caller.
    unsafe fn key(self, round: usize, register: usize) -> __m512i;
}

/// XORs f of one half onto the other.
///
/// # Safety
/// The CPU has AVX-512 VBMI and GFNI; `keys` has `round` for `N` registers.
#[inline(always)]
unsafe fn pass<const N: usize, K: Keys>(
    tables: &[[__m512i; 2]; 4],
    to: &mut [__m512i; N],
    of: &[__m512i; N],
    keys: K,
    round: usize,
) {
    // SAFETY: `i` is less than `N`, so the caller guarantees its key, and also VBMI and GFNI.
    unsafe {
        let columns = splat([0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80]);
        let factors = splat(FACTORS);
        for (i, (to, of)) in to.iter_mut().zip(of).enumerate() {
            let output = look_up(tables, indexes(*of, keys.key(round, i)));
            let turned = _mm512_gf2p8affine_epi64_epi8::<0>(columns, output);
            *to = _mm512_xor_si512(*to, _mm512_gf2p8mul_epi8(turned, factors));
        }
    }
}

/// # Safety
/// The CPU has AVX-512 VBMI and GFNI.
#[inline(always)]
unsafe fn enter<const N: usize>(columns: __m512i, blocks: [__m512i; N]) -> [__m512i; N] {
    // SAFETY: the caller has VBMI for `vpmultishiftqb` and the look-ups, and GFNI for the matrix.
    unsafe {
        let tables = load(&ENTER);
        let second = _mm512_set1_epi64(SECOND_HALVES as i64);
        // Eight bits beginning with the first bit of E for each S-box; the register holds two copies of a half.
        let firsts = splat([31, 3, 7, 11, 15, 19, 23, 27]);
        let mut halves = blocks;
        for half in &mut halves {
            let bits = _mm512_gf2p8affine_epi64_epi8::<0>(columns, *half);
            let bits = _mm512_multishift_epi64_epi8(firsts, bits);
            *half = look_up(&tables, indexes(bits, second));
        }
        halves
    }
}

/// Round keys of `LANES` streams, a row for each round.
#[repr(align(64))]
struct Laid<const LANES: usize>([[u64; LANES]; 48]);

impl<const LANES: usize> Drop for Laid<LANES> {
    fn drop(&mut self) {
        wipe(self.0.as_flattened_mut());
    }
}

/// The keys of the streams of a batch.
#[derive(Clone, Copy)]
struct OfLanes<'a, const LANES: usize>(&'a Laid<LANES>);

impl<const LANES: usize> Keys for OfLanes<'_, LANES> {
    #[inline(always)]
    unsafe fn key(self, round: usize, register: usize) -> __m512i {
        // SAFETY: the caller guarantees that `round` is one of 48 and `register` one of `LANES / 8`: a row has that many,
        // and is aligned.
        unsafe {
            let row = self.0.0.as_ptr().add(round).cast::<__m512i>();
            _mm512_load_si512(row.add(register))
        }
    }
}

/// The keys of encryption, the same for all blocks.
#[derive(Clone, Copy)]
struct Forwards<'a>(&'a Rounds);

impl Keys for Forwards<'_> {
    #[inline(always)]
    unsafe fn key(self, round: usize, _: usize) -> __m512i {
        // SAFETY: there are 48 round keys, and `round` is one of them.
        unsafe { _mm512_set1_epi64(*self.0.as_ptr().add(round) as i64) }
    }
}

/// The keys of decryption, the same for all blocks.
#[derive(Clone, Copy)]
struct Backwards<'a>(&'a Rounds);

impl Keys for Backwards<'_> {
    #[inline(always)]
    unsafe fn key(self, round: usize, _: usize) -> __m512i {
        // SAFETY: `round` is one of 48, and so is its counterpart from the end.
        unsafe { _mm512_set1_epi64(*self.0.as_ptr().add(47 - round) as i64) }
    }
}

macro_rules! engines {
    ($($lanes:literal $registers:literal),+) => {$(
        impl Engine<$lanes> for Laid<$lanes> {
            const REPEATS: bool = true;

            fn lay_out(&mut self, lane: usize, stream: &impl TdesChained) {
                for (row, key) in self.0.iter_mut().zip(stream.rounds()) {
                    row[lane] = *key;
                }
            }

            unsafe fn run(&mut self, lanes: &mut Lanes<$lanes>, blocks: usize) {
                // SAFETY: a `Laid` is created only by `encrypt`, which has a token; the caller guarantees the blocks of
                // every lane; there are eight lanes per register.
                unsafe { run::<$registers, $lanes>(self, lanes, blocks) }
            }
        }
    )+};
}

engines!(8 1, 16 2, 32 4);

/// Encrypts streams of whole blocks with CBC.
pub(crate) fn encrypt(_: Permute512, streams: &mut [impl TdesChained]) {
    #[cfg(debug_assertions)]
    crate::dispatch::batch::TDES_PERMUTE.hit();
    match streams.len() {
        0..=8 => requests::encrypt(&mut Laid([[0; 8]; 48]), streams),
        9..=16 => requests::encrypt(&mut Laid([[0; 16]; 48]), streams),
        _ => requests::encrypt(&mut Laid([[0; 32]; 48]), streams),
    }
}

/// Encrypts the next blocks of every lane.
///
/// # Safety
/// The CPU has the instructions; every lane has `blocks` blocks left; `LANES` is 8 times `N`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn run<const N: usize, const LANES: usize>(
    keys: &Laid<LANES>,
    lanes: &mut Lanes<LANES>,
    blocks: usize,
) {
    const { assert!(LANES == 8 * N) };
    // SAFETY: the instructions are enabled here; each lane's pointers are valid for `blocks` blocks, and `N` registers hold
    // the chain.
    unsafe {
        let mut chain = [_mm512_setzero_si512(); N];
        for (i, chain) in chain.iter_mut().enumerate() {
            *chain = _mm512_loadu_si512(lanes.chain.as_ptr().add(8 * i).cast());
        }
        let mut state = Halves::enter(chain);
        for block in 0..blocks {
            let mut data = chain;
            for (i, data) in data.iter_mut().enumerate() {
                *data = gather(lanes.from.as_ptr().add(8 * i), 8 * block);
            }
            // The chain continues in the form of the rounds.
            state = state.xor(Halves::enter(data));
            state.rounds(OfLanes(keys));
            chain = state.leave();
            for (i, chain) in chain.iter().enumerate() {
                scatter(*chain, lanes.to.as_ptr().add(8 * i), 8 * block);
            }
        }
        for (i, chain) in chain.iter().enumerate() {
            _mm512_storeu_si512(lanes.chain.as_mut_ptr().add(8 * i).cast(), *chain);
        }
    }
}

/// Loads a block of each of eight streams.
///
/// # Safety
/// The CPU has AVX-512 F; `from` has eight pointers, each valid for reads of a block after `at` bytes.
#[inline(always)]
unsafe fn gather(from: *const *const u8, at: usize) -> __m512i {
    // SAFETY: the caller guarantees lanes 0 to 7 of `from`, and a block at each.
    unsafe {
        macro_rules! block {
            ($lane:literal) => {
                (*from.add($lane)).add(at).cast::<i64>().read_unaligned()
            };
        }
        _mm512_set_epi64(
            block!(7),
            block!(6),
            block!(5),
            block!(4),
            block!(3),
            block!(2),
            block!(1),
            block!(0),
        )
    }
}

/// Writes a block of each of eight streams.
///
/// # Safety
/// The CPU has AVX-512 F; `to` has eight pointers, each valid for writes of a block after `at` bytes.
#[inline(always)]
unsafe fn scatter(blocks: __m512i, to: *const *mut u8, at: usize) {
    // SAFETY: the caller guarantees lanes 0 to 7 of `to`, and room for a block at each.
    unsafe {
        macro_rules! pair {
            ($i:literal) => {
                let pair = _mm512_extracti32x4_epi32::<$i>(blocks);
                _mm_storel_epi64((*to.add(2 * $i)).add(at).cast(), pair);
                let high = _mm_unpackhi_epi64(pair, pair);
                _mm_storel_epi64((*to.add(2 * $i + 1)).add(at).cast(), high);
            };
        }
        pair!(0);
        pair!(1);
        pair!(2);
        pair!(3);
    }
}

/// Decrypts whole blocks with CBC. `iv` is the ciphertext block before the first, and becomes the last one.
pub(crate) fn decrypt(
    _: Permute512,
    rounds: &Rounds,
    iv: &mut [u8; 8],
    data: InOutBuf<'_, '_, u8>,
) {
    #[cfg(debug_assertions)]
    crate::dispatch::batch::TDES_PERMUTE.hit();
    let blocks = data.len() / 8;
    let (from, to) = data.into_raw();
    // SAFETY: `Permute512` proves the instructions; the buffer guarantees `blocks` times 8 bytes at both pointers, the same
    // or disjoint.
    unsafe { decrypt_blocks(rounds, iv, from, to, blocks) }
}

/// # Safety
/// The CPU has the instructions; `blocks` blocks are readable at `from` and writable at `to`, which are the same place or do
/// not overlap.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn decrypt_blocks(
    rounds: &Rounds,
    iv: &mut [u8; 8],
    from: *const u8,
    to: *mut u8,
    blocks: usize,
) {
    // SAFETY: the instructions are enabled; the masks keep each step within the blocks; `last` is written in full before it
    // is read.
    unsafe {
        // The last block of this register is the ciphertext block before.
        let mut before = _mm512_set1_epi64(i64::from_le_bytes(*iv));
        let mut at = 0;
        while blocks - at >= 8 * WIDE {
            before = step::<WIDE>(rounds, before, from.add(8 * at), to.add(8 * at), 8 * WIDE);
            at += 8 * WIDE;
        }
        while at < blocks {
            let some = (blocks - at).min(8);
            before = step::<1>(rounds, before, from.add(8 * at), to.add(8 * at), some);
            at += some;
        }
        let mut last = MaybeUninit::<[[u8; 8]; 8]>::uninit();
        _mm512_storeu_si512(last.as_mut_ptr().cast(), before);
        *iv = last.assume_init()[7];
    }
}

/// The number of registers of blocks that are decrypted side by side.
const WIDE: usize = 4;

/// Decrypts the next `blocks`, at most those of `N` registers. Returns a register whose last block is the last of the
/// ciphertext.
///
/// # Safety
/// The CPU has AVX-512 VBMI and GFNI; `blocks`, at least one, are readable at `from` and writable at `to`, which are the
/// same place or do not overlap.
#[inline(always)]
unsafe fn step<const N: usize>(
    rounds: &Rounds,
    mut before: __m512i,
    from: *const u8,
    to: *mut u8,
    blocks: usize,
) -> __m512i {
    // SAFETY: the caller has the instructions; masks exclude everything beyond `blocks` at either pointer.
    unsafe {
        let mask = |i: usize| (0xff_u32 >> (8 - (blocks - 8 * i).min(8))) as u8;
        let mut data = [before; N];
        for (i, data) in data.iter_mut().enumerate() {
            *data = _mm512_maskz_loadu_epi64(mask(i), from.add(64 * i).cast());
        }
        let mut state = Halves::enter(data);
        state.rounds(Backwards(rounds));
        for (i, block) in state.leave().into_iter().enumerate() {
            let block = _mm512_xor_si512(block, _mm512_alignr_epi64::<7>(data[i], before));
            before = data[i];
            _mm512_mask_storeu_epi64(to.add(64 * i).cast(), mask(i), block);
        }
        // If there are fewer than eight, move the last to the end.
        let last = _mm512_set1_epi64((blocks - 1) as i64 & 7);
        _mm512_permutexvar_epi64(last, before)
    }
}

/// XORs keystream onto `data`, beginning at byte `skip` (less than 8) of the block at `counter`.
pub(crate) fn ctr(
    _: Permute512,
    rounds: &Rounds,
    mut counter: u64,
    mut skip: usize,
    data: InOutBuf<'_, '_, u8>,
) {
    #[cfg(debug_assertions)]
    crate::dispatch::tdes::PERMUTE_AVX512.hit();
    let mut bytes = data.len();
    let (mut from, mut to) = data.into_raw();
    while bytes > 0 {
        let blocks = (skip + bytes).div_ceil(8);
        let some = bytes.min(64 * WIDE - skip);
        // SAFETY: the token proves the instructions; the buffer guarantees the bytes, the same or disjoint, and there are
        // enough registers for their blocks.
        unsafe {
            match blocks {
                0..=8 => keystream::<1>(rounds, counter, skip, from, to, some),
                9..=16 => keystream::<2>(rounds, counter, skip, from, to, some),
                _ => keystream::<WIDE>(rounds, counter, skip, from, to, some),
            }
            (from, to) = (from.add(some), to.add(some));
        }
        bytes -= some;
        skip = 0;
        counter = counter.wrapping_add(8 * WIDE as u64);
    }
}

/// XORs keystream of the blocks of `N` registers onto `bytes` bytes.
///
/// # Safety
/// The CPU has the instructions; `bytes` bytes are readable at `from` and writable at `to`, which are the same place or do
/// not overlap; the registers have that many bytes from `skip` on.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn keystream<const N: usize>(
    rounds: &Rounds,
    counter: u64,
    skip: usize,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: the instructions are enabled; bytes that a mask excludes are not accessed.
    unsafe {
        let big_endian =
            _mm512_broadcast_i32x4(_mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607));
        let mut blocks = [_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0); N];
        for (i, block) in blocks.iter_mut().enumerate() {
            let first = _mm512_set1_epi64(counter.wrapping_add(8 * i as u64) as i64);
            *block = _mm512_shuffle_epi8(_mm512_add_epi64(*block, first), big_endian);
        }
        let mut state = Halves::enter(blocks);
        state.rounds(Forwards(rounds));
        let (from, to) = (from.wrapping_sub(skip), to.wrapping_sub(skip));
        for (i, block) in state.leave().into_iter().enumerate() {
            // The bytes of the register from `skip` to the end.
            let end = (skip + bytes).saturating_sub(64 * i).min(64) as u32;
            let mut mask = u64::MAX.checked_shr(64 - end).unwrap_or(0);
            if i == 0 {
                mask = mask >> skip << skip;
            }
            let data = _mm512_maskz_loadu_epi8(mask, from.wrapping_add(64 * i).cast());
            let data = _mm512_xor_si512(data, block);
            _mm512_mask_storeu_epi8(to.wrapping_add(64 * i).cast(), mask, data);
        }
    }
}
