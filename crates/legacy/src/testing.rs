//! Access for this crate's tests to the insides of keys and S-boxes. A release build has none of it.

use crate::serpent;
#[cfg(target_arch = "x86_64")]
use crate::{
    keys::{self, field, tower},
    words,
};

/// Returns the round keys of Serpent.
pub fn serpent_keys(ctr: &serpent::Ctr) -> &[[u32; 4]; 33] {
    &ctr.keys
}

/// Applies an S-box of the legacy ciphers, without constants, to a byte in the lower (0) or upper (1) half of 128 bits: by
/// the matrices of GFNI, by the tables around the S-box of AES, and by tables alone.
#[cfg(target_arch = "x86_64")]
pub fn s_box(sbox: &Box, byte: u8, half: usize) -> [u8; 3] {
    let by_rows = |map: &keys::sbox::Map, byte: u8| {
        (0..8).fold(0, |sum, bit| {
            let row = map.rows[half].to_le_bytes()[7 - bit];
            sum | ((row & byte).count_ones() as u8 & 1) << bit
        })
    };
    let by_nibbles = |map: &keys::sbox::Map, byte: u8| {
        let [low, high] = &map.nibbles[half];
        low[usize::from(byte & 15)] ^ high[usize::from(byte >> 4)]
    };
    let inverted = |byte| field::power(byte, 254);
    let [before, after, after_aes] = [&sbox.0.before, &sbox.0.after, &sbox.0.after_aes];
    let by_aes = match &sbox.0.before_inverse_aes {
        None => by_nibbles(
            after_aes,
            field::times(&field::AES, inverted(by_nibbles(before, byte))),
        ),
        Some(before) => {
            let undone = field::times(&field::inverse(&field::AES), by_nibbles(before, byte));
            inverted(undone)
        }
    };
    let by_tables = {
        // Like a shuffle: an index with its highest bit set selects zero.
        let pick = |table: &[u8; 16], byte: u8| match byte {
            0..0x80 => table[usize::from(byte & 15)],
            _ => 0,
        };
        let halves = by_nibbles(&sbox.0.into_halves, byte);
        let (i, k) = (halves >> 4, halves & 15);
        let a_by_k = pick(&tower::A_BY, k);
        let io = pick(&tower::ONE_BY, pick(&tower::ONE_BY, i) ^ a_by_k) ^ i ^ k;
        let jo = pick(&tower::ONE_BY, pick(&tower::ONE_BY, i ^ k) ^ a_by_k) ^ i;
        let [by_io, by_jo] = &sbox.0.of_halves[half];
        pick(by_io, io) ^ pick(by_jo, jo)
    };
    [
        by_rows(after, inverted(by_rows(before, byte))),
        by_aes,
        by_tables,
    ]
}

/// An S-box of the legacy ciphers.
#[cfg(target_arch = "x86_64")]
pub struct Box(&'static keys::sbox::SBox);

/// The S-boxes of Camellia: the first and the fourth; the second and the third.
#[cfg(target_arch = "x86_64")]
pub const CAMELLIA_BOXES: [Box; 2] = [
    Box(&keys::camellia::FIRST_AND_FOURTH),
    Box(&keys::camellia::SECOND_AND_THIRD),
];

/// The S-box of SM4.
#[cfg(target_arch = "x86_64")]
pub const SM4_BOX: Box = Box(&keys::sm4::PLAIN);

/// The four S-boxes of ARIA.
#[cfg(target_arch = "x86_64")]
pub const ARIA_BOXES: [Box; 4] = {
    let [s1, s2, x1, x2] = &keys::aria::BOXES;
    [Box(s1), Box(s2), Box(x1), Box(x2)]
};

/// Returns the expanded key of Camellia.
#[cfg(target_arch = "x86_64")]
pub fn camellia_schedule(key: &words::Ctr<words::Camellia>) -> &[u8] {
    key.cipher.entries.as_flattened()
}

/// Returns the expanded key of SM4.
#[cfg(target_arch = "x86_64")]
pub fn sm4_schedule(key: &words::Ctr<words::Sm4>) -> &[u8] {
    // SAFETY: the words are initialized plain data, and each has four bytes.
    unsafe {
        core::slice::from_raw_parts(key.cipher.keys.as_ptr().cast(), 4 * key.cipher.keys.len())
    }
}

/// Returns the expanded key of ARIA.
#[cfg(target_arch = "x86_64")]
pub fn aria_schedule(key: &words::Ctr<words::Aria>) -> &[u8] {
    key.cipher.keys.as_flattened().as_flattened()
}
