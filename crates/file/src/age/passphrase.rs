//! A passphrase as an identity whose scrypt can be stopped. That of the `age` crate computes up to half a minute that nothing
//! ends, and ends the process if there is no memory.

use std::io;

use ::age::secrecy::{ExposeSecret as _, SecretString};
use ::age::{DecryptError, Identity};
use age_core::format::{FILE_KEY_BYTES, FileKey, Stanza};
use age_core::primitives::aead_decrypt;
use base64::prelude::{BASE64_STANDARD_NO_PAD, Engine as _};
use pbkdf2::pbkdf2_hmac;
use sha2::Sha256;
use zeroize::{Zeroize as _, Zeroizing};

use super::WORK_FACTOR_MAX;

/// The passphrase of a file. While it computes, it asks `goes_on` about every 10 ms, and ends with [`DecryptError::Io`] of
/// [`io::ErrorKind::Interrupted`] when that is false. Without memory the error's kind is [`io::ErrorKind::OutOfMemory`].
pub struct Passphrase<F> {
    passphrase: SecretString,
    goes_on: F,
}

impl<F: Fn() -> bool> Passphrase<F> {
    /// Creates the identity. It tries nothing above [`WORK_FACTOR_MAX`].
    pub fn new(passphrase: SecretString, goes_on: F) -> Self {
        Self {
            passphrase,
            goes_on,
        }
    }

    fn unwrap(&self, stanza: &Stanza) -> Result<FileKey, DecryptError> {
        let (salt, work_factor) = arguments(stanza).ok_or(DecryptError::InvalidHeader)?;
        if work_factor > WORK_FACTOR_MAX {
            return Err(DecryptError::ExcessiveWork {
                required: work_factor,
                target: WORK_FACTOR_MAX,
            });
        }
        let passphrase = self.passphrase.expose_secret().as_bytes();
        let salt = [LABEL, &salt].concat();
        let mut key = Zeroizing::new([0; 32]);
        scrypt(passphrase, &salt, work_factor, &self.goes_on, &mut *key)
            .map_err(|kind| DecryptError::Io(kind.into()))?;
        let opened = aead_decrypt(&key, FILE_KEY_BYTES, &stanza.body)?;
        let opened = Zeroizing::new(opened);
        Ok(FileKey::init_with_mut(
            |place: &mut [u8; FILE_KEY_BYTES]| place.copy_from_slice(&opened),
        ))
    }
}

impl<F: Fn() -> bool> Identity for Passphrase<F> {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        (stanza.tag == "scrypt").then(|| self.unwrap(stanza))
    }
}

/// Returns the salt and log2 N of a stanza that is written as age's specification says.
fn arguments(stanza: &Stanza) -> Option<([u8; SALT_BYTES], u8)> {
    let [salt, work_factor] = &stanza.args[..] else {
        return None;
    };
    let salt = BASE64_STANDARD_NO_PAD.decode(salt).ok()?;
    let is_decimal = matches!(work_factor.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit));
    let has_key = stanza.body.len() == FILE_KEY_BYTES + TAG_BYTES;
    if !is_decimal || !has_key {
        return None;
    }
    Some((salt.try_into().ok()?, work_factor.parse().ok()?))
}

/// Derives a key by scrypt with r = 8 and p = 1 (RFC 7914).
fn scrypt(
    passphrase: &[u8],
    salt: &[u8],
    work_factor: u8,
    goes_on: &dyn Fn() -> bool,
    key: &mut [u8],
) -> Result<(), io::ErrorKind> {
    let mut bytes = Zeroizing::new([0; 4 * BLOCK_WORDS]);
    pbkdf2_hmac::<Sha256>(passphrase, salt, 1, &mut *bytes);
    let mut block = Zeroizing::new([0; BLOCK_WORDS]);
    for (word, place) in PLACES.iter().enumerate() {
        for (part, words) in block.chunks_exact_mut(16).enumerate() {
            let from = 4 * (16 * part + place);
            words[word] = u32::from_le_bytes([0, 1, 2, 3].map(|at| bytes[from + at]));
        }
    }
    mix(&mut block, 1 << work_factor, goes_on)?;
    for (word, place) in PLACES.iter().enumerate() {
        for (part, words) in block.chunks_exact(16).enumerate() {
            let to = 4 * (16 * part + place);
            bytes[to..to + 4].copy_from_slice(&words[word].to_le_bytes());
        }
    }
    pbkdf2_hmac::<Sha256>(passphrase, &*bytes, 1, key);
    Ok(())
}

/// scryptROMix (RFC 7914, 5).
fn mix(block: &mut Block, rounds: usize, goes_on: &dyn Fn() -> bool) -> Result<(), io::ErrorKind> {
    let mut table: Vec<Block> = Vec::new();
    table
        .try_reserve_exact(rounds)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    let stops = |round: usize| round.is_multiple_of(ASKED_ROUNDS) && !goes_on();
    let mut done = Ok(());
    for round in 0..rounds {
        if stops(round) {
            done = Err(io::ErrorKind::Interrupted);
            break;
        }
        table.push(*block);
        mix_block(&table[round], block);
    }
    let mut mixed = Zeroizing::new([0; BLOCK_WORDS]);
    for round in 0..if done.is_ok() { rounds } else { 0 } {
        if stops(round) {
            done = Err(io::ErrorKind::Interrupted);
            break;
        }
        // Integerify: the first word of the last 64 bytes, whose place the permutation keeps.
        let place = block[BLOCK_WORDS - 16] as usize & (rounds - 1);
        for (word, (ours, other)) in mixed.iter_mut().zip(block.iter().zip(&table[place])) {
            *word = ours ^ other;
        }
        mix_block(&mixed, block);
    }
    table.as_mut_slice().as_flattened_mut().zeroize();
    done
}

/// scryptBlockMix (RFC 7914, 4).
fn mix_block(input: &Block, output: &mut Block) {
    let (even, odd) = output.split_at_mut(BLOCK_WORDS / 2);
    let outputs = even.chunks_exact_mut(16).zip(odd.chunks_exact_mut(16));
    let mut state = [[0; 4]; 4];
    for (row, words) in state
        .iter_mut()
        .zip(input[BLOCK_WORDS - 16..].chunks_exact(4))
    {
        row.copy_from_slice(words);
    }
    for (pair, (even, odd)) in input.chunks_exact(32).zip(outputs) {
        for (part, output) in pair.chunks_exact(16).zip([even, odd]) {
            salsa(&mut state, part);
            for (row, words) in state.iter().zip(output.chunks_exact_mut(4)) {
                words.copy_from_slice(row);
            }
        }
    }
}

/// Adds 64 bytes to a state and applies Salsa20/8. The words stand by diagonals, so that each step is one of vectors.
#[inline(always)]
fn salsa(state: &mut [[u32; 4]; 4], part: &[u32]) {
    for (row, words) in state.iter_mut().zip(part.chunks_exact(4)) {
        *row = std::array::from_fn(|lane| row[lane] ^ words[lane]);
    }
    let step = |to: [u32; 4], a: [u32; 4], b: [u32; 4], bits: u32| -> [u32; 4] {
        std::array::from_fn(|lane| to[lane] ^ a[lane].wrapping_add(b[lane]).rotate_left(bits))
    };
    let turn =
        |row: [u32; 4], by: usize| -> [u32; 4] { std::array::from_fn(|lane| row[(lane + by) % 4]) };
    let [mut a, mut b, mut c, mut d] = *state;
    for _ in 0..4 {
        b = step(b, a, d, 7);
        c = step(c, b, a, 9);
        d = step(d, c, b, 13);
        a = step(a, d, c, 18);
        (b, c, d) = (turn(b, 3), turn(c, 2), turn(d, 1));
        d = step(d, a, b, 7);
        c = step(c, d, a, 9);
        b = step(b, c, d, 13);
        a = step(a, b, c, 18);
        (b, c, d) = (turn(b, 1), turn(c, 2), turn(d, 3));
    }
    for (row, mixed) in state.iter_mut().zip([a, b, c, d]) {
        *row = std::array::from_fn(|lane| row[lane].wrapping_add(mixed[lane]));
    }
}

/// The 1024 bytes of a round, 64 by 64, whose words stand in the order of [`PLACES`].
type Block = [u32; BLOCK_WORDS];

const BLOCK_WORDS: usize = 256;
/// The word of 64 bytes that stands at each place: the diagonals of Salsa20's square.
const PLACES: [usize; 16] = {
    let mut places = [0; 16];
    let mut at = 0;
    while at < 16 {
        places[at] = at * 5 % 16;
        at += 1;
    }
    places
};
const LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
/// Rounds between two questions whether to go on: some milliseconds.
const ASKED_ROUNDS: usize = 1 << 11;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The third vector of RFC 7914, 12, which is the one with r = 8 and p = 1.
    #[test]
    fn the_vector_of_the_standard() {
        let mut key = [0; 64];
        let done = scrypt(b"pleaseletmein", b"SodiumChloride", 14, &|| true, &mut key);
        assert_eq!(done, Ok(()));
        let expected = "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2\
                        d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887";
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }

    #[test]
    fn it_stops_at_each_question() {
        let asked = Cell::new(0);
        let goes_on = |most| {
            let asked = &asked;
            asked.set(0);
            move || {
                asked.set(asked.get() + 1);
                asked.get() <= most
            }
        };
        let run = |most| scrypt(b"", b"", 12, &goes_on(most), &mut [0; 32]);
        // Twice for each half.
        for most in 0..4 {
            assert_eq!(run(most), Err(io::ErrorKind::Interrupted));
            assert_eq!(asked.get(), most + 1);
        }
        assert_eq!(run(4), Ok(()));
    }
}
