//! Keys: the error of a wrong length, and the key schedule of AES (FIPS 197, section 5.2).

use core::fmt;

use crate::wipe::wipe;

/// Bytes in an AES block.
pub const BLOCK_BYTES: usize = 16;

/// A key has a length that its cipher does not accept: AES takes 16, 24 or 32 bytes, ChaCha20 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidKeyLength(pub usize);

impl fmt::Display for InvalidKeyLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a key has 16, 24 or 32 bytes for AES and 32 for ChaCha20, this one has {}",
            self.0
        )
    }
}

impl core::error::Error for InvalidKeyLength {}

/// An expanded key: 11, 13 or 15 round keys. Wiped on drop.
// Round keys are loaded one by one, so an alignment beyond their own gains nothing, and allocating a value that holds a
// schedule would take the C library 40 ns more.
#[repr(C, align(16))]
pub(crate) struct Schedule {
    pub(crate) round_keys: [[u32; 4]; 15],
    pub(crate) size: KeySize,
}

impl Schedule {
    pub(crate) const UNKEYED: Self = Self {
        round_keys: [[0; 4]; 15],
        size: KeySize::Aes128,
    };

    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        wipe(&mut self.round_keys);
    }

    /// Adopts the size of `key`. The round keys of a previous longer key are wiped.
    #[inline]
    pub(crate) fn resize(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        let size = KeySize::of(key)?;
        if size.rounds() < self.size.rounds() {
            self.forget();
        }
        self.size = size;
        Ok(())
    }

    /// Expands `key` (FIPS 197, section 5.2), which has the length of `self.size`. Words are little-endian, so RotWord is a
    /// rotation to the right.
    #[inline(always)]
    pub(crate) fn expand_with(&mut self, key: &[u8], sub_word: impl Fn(u32) -> u32) {
        let words = self.round_keys.as_flattened_mut();
        let key_words = key.len() / 4;
        for (word, bytes) in words.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut rcon = 1u32;
        for i in key_words..4 * (self.size.rounds() + 1) {
            let mut word = words[i - 1];
            if i % key_words == 0 {
                word = sub_word(word.rotate_right(8)) ^ rcon;
                rcon = (rcon << 1) ^ ((rcon >> 7) * 0x11b);
            } else if key_words == 8 && i % key_words == 4 {
                word = sub_word(word);
            }
            words[i] = words[i - key_words] ^ word;
        }
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.forget();
    }
}

/// The length of an AES key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeySize {
    Aes128,
    Aes192,
    Aes256,
}

impl KeySize {
    pub(crate) fn of(key: &[u8]) -> Result<Self, InvalidKeyLength> {
        match key.len() {
            16 => Ok(Self::Aes128),
            24 => Ok(Self::Aes192),
            32 => Ok(Self::Aes256),
            length => Err(InvalidKeyLength(length)),
        }
    }

    pub(crate) const fn rounds(self) -> usize {
        match self {
            Self::Aes128 => 10,
            Self::Aes192 => 12,
            Self::Aes256 => 14,
        }
    }
}
