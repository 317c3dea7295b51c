//! Bitsliced AES, four blocks at a time, written from FIPS 197 alone.
//!
//! Eight 64-bit planes hold 64 bytes: bit `16 b + 4 c + r` of plane `i` is bit `i` of the byte at
//! row `r`, column `c` of block `b`. The S-box is the field inverse x^254 followed by the affine
//! map, so there is no table, and every step is a fixed sequence of logic on whole planes.
//! Decryption is the equivalent inverse cipher, which has the order of steps of the cipher.

use inout::InOutBuf;
use zeroize::Zeroize;

use crate::key::{BLOCK_BYTES, Schedule};
use crate::portable::xor::xor;

// The entry points are not inlined, while their callers are: otherwise the callers would save registers that AES
// instructions do not use. That costs some 40 instructions a call, and a call of 16 bytes takes 250 from EVP down.

const BLOCKS: usize = 4;
const BYTES: usize = BLOCKS * BLOCK_BYTES;
/// AES-256 has 14 rounds.
const ROUND_KEYS_MAX: usize = 15;

/// Applies counter mode to a run in which the low 32 bits of `counter` do not wrap.
#[inline(never)]
pub(crate) fn ctr(schedule: &Schedule, mut counter: u128, mut data: InOutBuf<'_, '_, u8>) {
    #[cfg(debug_assertions)]
    crate::dispatch::aes::PORTABLE.hit();
    let keys = RoundKeys::new(schedule);
    let mut keystream = [0; BYTES];
    while !data.is_empty() {
        for block in keystream.as_chunks_mut::<BLOCK_BYTES>().0 {
            *block = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        encrypt(&keys, &mut keystream);
        let bytes = data.len().min(BYTES);
        let (piece, rest) = data.split_at(bytes);
        xor(&keystream[..bytes], piece);
        data = rest;
    }
    keystream.zeroize();
}

/// Encrypts whole blocks in CBC mode (SP 800-38A, section 6.2).
#[inline(never)]
pub(crate) fn cbc_encrypt(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    data: InOutBuf<'_, '_, u8>,
) {
    #[cfg(debug_assertions)]
    crate::dispatch::aes::PORTABLE.hit();
    let keys = RoundKeys::new(schedule);
    let mut blocks = [0; BYTES];
    let mut data = data;
    while !data.is_empty() {
        let (mut block, rest) = data.split_at(BLOCK_BYTES);
        xor(iv, block.reborrow());
        blocks[..BLOCK_BYTES].copy_from_slice(block.get_out());
        encrypt(&keys, &mut blocks);
        iv.copy_from_slice(&blocks[..BLOCK_BYTES]);
        block.get_out().copy_from_slice(iv);
        data = rest;
    }
    blocks.zeroize();
}

/// Decrypts whole blocks in CBC mode (SP 800-38A, section 6.2). `schedule` is [`invert`]ed.
#[inline(never)]
pub(crate) fn cbc_decrypt(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    mut data: InOutBuf<'_, '_, u8>,
) {
    #[cfg(debug_assertions)]
    crate::dispatch::aes::PORTABLE.hit();
    let keys = RoundKeys::new(schedule);
    let mut blocks = [0; BYTES];
    let mut before = [0; BYTES];
    while !data.is_empty() {
        let bytes = data.len().min(BYTES);
        let (mut piece, rest) = data.split_at(bytes);
        blocks[..bytes].copy_from_slice(piece.get_in());
        before[..BLOCK_BYTES].copy_from_slice(iv);
        before[BLOCK_BYTES..].copy_from_slice(&blocks[..BYTES - BLOCK_BYTES]);
        iv.copy_from_slice(&blocks[bytes - BLOCK_BYTES..bytes]);
        decrypt(&keys, &mut blocks);
        for (plain, before) in blocks.iter_mut().zip(&before) {
            *plain ^= before;
        }
        piece.get_out().copy_from_slice(&blocks[..bytes]);
        data = rest;
    }
    blocks.zeroize();
}

/// Computes the schedule of the equivalent inverse cipher (FIPS 197, section 5.3.5), in the order of use.
pub(crate) fn invert(schedule: &Schedule, inverse: &mut Schedule) {
    let rounds = schedule.size.rounds();
    for round in 0..=rounds {
        let mut bytes = [0; BYTES];
        let mut planes = round_key(schedule, rounds - round);
        if round > 0 && round < rounds {
            planes.inverse_mix_columns();
        }
        planes.unslice(&mut bytes);
        for (word, bytes) in inverse.round_keys[round]
            .iter_mut()
            .zip(bytes.as_chunks::<4>().0)
        {
            *word = u32::from_le_bytes(*bytes);
        }
        bytes.zeroize();
    }
}

/// Applies SubWord of the key expansion (FIPS 197, section 5.2).
pub(crate) fn sub_word(word: u32) -> u32 {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&word.to_le_bytes());
    let mut planes = Planes::slice(&bytes);
    planes.sub_bytes();
    planes.unslice(&mut bytes);
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.zeroize();
    word
}

/// The round keys as planes, in the order of use.
struct RoundKeys {
    planes: [Planes; ROUND_KEYS_MAX],
    rounds: usize,
}

impl RoundKeys {
    fn new(schedule: &Schedule) -> Self {
        let rounds = schedule.size.rounds();
        let planes = core::array::from_fn(|round| match round <= rounds {
            true => round_key(schedule, round),
            false => Planes([0; 8]),
        });
        Self { planes, rounds }
    }

    /// Returns the first key, those of the rounds between, and the last.
    fn parts(&self) -> (&Planes, &[Planes], &Planes) {
        (
            &self.planes[0],
            &self.planes[1..self.rounds],
            &self.planes[self.rounds],
        )
    }
}

/// Encrypts four blocks in place (FIPS 197, section 5.1).
fn encrypt(keys: &RoundKeys, blocks: &mut [u8; BYTES]) {
    let (first, between, last) = keys.parts();
    let mut state = Planes::slice(blocks);
    state.add(first);
    for key in between {
        state.sub_bytes();
        state.shift_rows();
        state.mix_columns();
        state.add(key);
    }
    state.sub_bytes();
    state.shift_rows();
    state.add(last);
    state.unslice(blocks);
}

/// Decrypts four blocks in place (FIPS 197, section 5.3.5). The keys are of an [`invert`]ed schedule.
fn decrypt(keys: &RoundKeys, blocks: &mut [u8; BYTES]) {
    let (first, between, last) = keys.parts();
    let mut state = Planes::slice(blocks);
    state.add(first);
    for key in between {
        state.inverse_sub_bytes();
        state.inverse_shift_rows();
        state.inverse_mix_columns();
        state.add(key);
    }
    state.inverse_sub_bytes();
    state.inverse_shift_rows();
    state.add(last);
    state.unslice(blocks);
}

fn round_key(schedule: &Schedule, round: usize) -> Planes {
    let mut bytes = [0; BYTES];
    for block in bytes.as_chunks_mut::<BLOCK_BYTES>().0 {
        for (bytes, word) in block
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip(schedule.round_keys[round])
        {
            *bytes = word.to_le_bytes();
        }
    }
    let planes = Planes::slice(&bytes);
    bytes.zeroize();
    planes
}

#[derive(Zeroize)]
#[zeroize(drop)]
struct Planes([u64; 8]);

impl Planes {
    fn slice(bytes: &[u8; BYTES]) -> Self {
        let mut planes = [0u64; 8];
        for (k, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let bits = transpose(u64::from_le_bytes(*eight));
            for (i, plane) in planes.iter_mut().enumerate() {
                *plane |= (bits >> (8 * i) & 0xff) << (8 * k);
            }
        }
        Self(planes)
    }

    fn unslice(&self, bytes: &mut [u8; BYTES]) {
        for (k, eight) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let mut bits = 0;
            for (i, plane) in self.0.iter().enumerate() {
                bits |= (plane >> (8 * k) & 0xff) << (8 * i);
            }
            *eight = transpose(bits).to_le_bytes();
        }
    }

    fn add(&mut self, other: &Self) {
        for (plane, other) in self.0.iter_mut().zip(&other.0) {
            *plane ^= other;
        }
    }

    fn sub_bytes(&mut self) {
        let inverse = inverse(&self.0);
        // FIPS 197, equation 5.2, with c = 0x63.
        for (i, plane) in self.0.iter_mut().enumerate() {
            *plane = inverse[i]
                ^ inverse[(i + 4) % 8]
                ^ inverse[(i + 5) % 8]
                ^ inverse[(i + 6) % 8]
                ^ inverse[(i + 7) % 8]
                ^ if 0x63 >> i & 1 == 1 { u64::MAX } else { 0 };
        }
    }

    fn inverse_sub_bytes(&mut self) {
        let x = self.0;
        // The inverse of that equation (section 5.3.2).
        for (i, plane) in self.0.iter_mut().enumerate() {
            *plane = x[(i + 2) % 8]
                ^ x[(i + 5) % 8]
                ^ x[(i + 7) % 8]
                ^ if 0x05 >> i & 1 == 1 { u64::MAX } else { 0 };
        }
        self.0 = inverse(&self.0);
    }

    fn shift_rows(&mut self) {
        for plane in &mut self.0 {
            let x = *plane;
            *plane = (x & 0x1111_1111_1111_1111)
                | (rotate_columns::<1>(x) & 0x2222_2222_2222_2222)
                | (rotate_columns::<2>(x) & 0x4444_4444_4444_4444)
                | (rotate_columns::<3>(x) & 0x8888_8888_8888_8888);
        }
    }

    fn inverse_shift_rows(&mut self) {
        for plane in &mut self.0 {
            let x = *plane;
            *plane = (x & 0x1111_1111_1111_1111)
                | (rotate_columns::<3>(x) & 0x2222_2222_2222_2222)
                | (rotate_columns::<2>(x) & 0x4444_4444_4444_4444)
                | (rotate_columns::<1>(x) & 0x8888_8888_8888_8888);
        }
    }

    /// Multiplies each column by 03 x^3 + 01 x^2 + 01 x + 02: with a the byte and b, c, d those below it, the result is 02
    /// (a + b) + b + c + d.
    fn mix_columns(&mut self) {
        let below = self.0.map(rotate_rows::<1>);
        let sum: [u64; 8] = core::array::from_fn(|i| self.0[i] ^ below[i]);
        let doubled = double(&sum);
        for (i, plane) in self.0.iter_mut().enumerate() {
            *plane = doubled[i] ^ below[i] ^ rotate_rows::<2>(sum[i]);
        }
    }

    /// Multiplies each column by the inverse polynomial 0b x^3 + 0d x^2 + 09 x + 0e, which is that of MixColumns times 04
    /// x^2 + 05.
    fn inverse_mix_columns(&mut self) {
        let sum = self.0.map(|plane| plane ^ rotate_rows::<2>(plane));
        for (plane, quadrupled) in self.0.iter_mut().zip(double(&double(&sum))) {
            *plane ^= quadrupled;
        }
        self.mix_columns();
    }
}

/// Moves each byte to the place `N` columns to its left.
const fn rotate_columns<const N: u32>(x: u64) -> u64 {
    let low = 0x0001_0001_0001_0001 * ((1 << (16 - 4 * N)) - 1);
    (x >> (4 * N) & low) | (x << (16 - 4 * N) & !low)
}

/// Moves each byte to the place `N` rows above it.
const fn rotate_rows<const N: u32>(x: u64) -> u64 {
    let low = 0x1111_1111_1111_1111 * ((1 << (4 - N)) - 1);
    (x >> N & low) | (x << (4 - N) & !low)
}

/// Returns x^254, which is 1 / x, and 0 for 0.
fn inverse(x: &[u64; 8]) -> [u64; 8] {
    let x2 = square(x);
    let x3 = multiply(&x2, x);
    let x12 = square(&square(&x3));
    let x15 = multiply(&x12, &x3);
    let x240 = square(&square(&square(&square(&x15))));
    let x252 = multiply(&x240, &x12);
    multiply(&x252, &x2)
}

fn double(a: &[u64; 8]) -> [u64; 8] {
    core::array::from_fn(|i| {
        let reduction = if 0x1b >> i & 1 == 1 { a[7] } else { 0 };
        if i > 0 {
            a[i - 1] ^ reduction
        } else {
            reduction
        }
    })
}

/// Squares 64 elements of `GF(2)[x] / (x^8 + x^4 + x^3 + x + 1)`: bit i moves to x^(2i).
fn square(a: &[u64; 8]) -> [u64; 8] {
    let mut wide = [0; 15];
    for i in 0..8 {
        wide[2 * i] = a[i];
    }
    reduce(wide)
}

fn multiply(a: &[u64; 8], b: &[u64; 8]) -> [u64; 8] {
    let mut wide = [0; 15];
    for i in 0..8 {
        for j in 0..8 {
            wide[i + j] ^= a[i] & b[j];
        }
    }
    reduce(wide)
}

fn reduce(mut wide: [u64; 15]) -> [u64; 8] {
    for i in (8..15).rev() {
        for term in [4, 3, 1, 0] {
            wide[i - 8 + term] ^= wide[i];
        }
    }
    core::array::from_fn(|i| wide[i])
}

/// Transposes an 8 x 8 bit matrix whose rows are bytes (Hacker's Delight, section 7-3).
const fn transpose(mut x: u64) -> u64 {
    let mut t = (x ^ (x >> 7)) & 0x00aa_00aa_00aa_00aa;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000_cccc_0000_cccc;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x0000_0000_f0f0_f0f0;
    x ^ t ^ (t << 28)
}
