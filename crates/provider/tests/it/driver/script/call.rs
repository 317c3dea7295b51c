//! The calls of a script.

use std::ffi::CStr;

use oarlock_testing::seeded_noise as noise;

/// One call. Lengths are in bytes; data, keys and IVs are pseudo-random bytes of a seed.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Init {
        has_cipher: bool,
        key: Option<u64>,
        iv: Option<Iv>,
        encrypts: i32,
    },
    Update(usize, Place),
    Aad(usize),
    Finish,
    Cipher(usize, Place),
    CipherAad(usize),
    CipherEnd,
    Copy,
    /// Switches to another of the copies.
    Turn(usize),
    Padding(i32),
    KeyBytes(i32),
    Num(i32),
    Ctrl(i32, i32, u64),
    SetNumber(&'static CStr, u32, usize, i64),
    SetOctets(&'static CStr, usize, bool),
    Get(&'static CStr, u32, usize),
    /// Reads the lengths, num and IVs.
    Look(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Iv {
    Noise(u64),
    /// A number of blocks before the counter wraps: its low 32 bits, or all of it.
    BeforeWrap(u8, bool),
}

/// The place of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Apart,
    /// The place of the input.
    Same,
    /// This many bytes after the start of the input, or before it if negative.
    Overlapping(isize),
}

impl Iv {
    pub fn octets(self, family: Family) -> Vec<u8> {
        match self {
            Self::Noise(seed) => noise(600 + seed, 128),
            Self::BeforeWrap(blocks, is_whole) => {
                let mut iv = noise(700, 128);
                if family == Family::ChaCha20 {
                    let counter = u32::MAX - u32::from(blocks);
                    iv[..4].copy_from_slice(&counter.to_le_bytes());
                    iv[4..8].fill(if is_whole { 0xff } else { 7 });
                } else {
                    iv[if is_whole { 0 } else { 12 }..16].fill(0xff);
                    iv[15] -= blocks;
                }
                iv
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Family {
    Ctr,
    Cbc,
    Gcm,
    ChaCha20,
    ChaCha20Poly1305,
}

impl Family {
    pub fn of(name: &str) -> Self {
        match name {
            "ChaCha20" => Self::ChaCha20,
            "ChaCha20-Poly1305" => Self::ChaCha20Poly1305,
            name if name.ends_with("CBC") => Self::Cbc,
            name if name.ends_with("GCM") => Self::Gcm,
            _ => Self::Ctr,
        }
    }

    pub fn is_aead(self) -> bool {
        matches!(self, Self::Gcm | Self::ChaCha20Poly1305)
    }
}
