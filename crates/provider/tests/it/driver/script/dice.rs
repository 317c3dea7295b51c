//! Turns bytes into calls.

use std::ffi::CStr;

use super::call::{Call, Family, Iv, Place};
use crate::driver::{Param, ctrl};

/// The bytes that decide; zeros once they are used up.
pub struct Dice<'a>(pub &'a [u8]);

impl Dice<'_> {
    fn byte(&mut self) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                (*first).into()
            }
            None => 0,
        }
    }

    pub fn below(&mut self, end: usize) -> usize {
        match end {
            0..=256 => self.byte() % end,
            _ => (self.byte() << 8 | self.byte()) % end,
        }
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn bytes(&mut self) -> usize {
        let around = self.of(&[64, 256, 1024, 4096, 16 << 10, 64 << 10]);
        match self.byte() {
            0..160 => self.below(100),
            160..192 => 16 * self.below(20),
            192..255 => (around + self.below(40)).saturating_sub(20),
            _ => (1 << 20) + self.below(1000),
        }
    }

    fn place(&mut self) -> Place {
        match self.below(8) {
            0..4 => Place::Apart,
            4..7 => Place::Same,
            _ => Place::Overlapping(self.of(&[-70, -33, -16, -5, -1, 1, 3, 16, 17, 40, 65])),
        }
    }

    pub fn iv(&mut self) -> Iv {
        match self.below(4) {
            0 => Iv::BeforeWrap(self.below(40) as u8, self.below(2) == 0),
            _ => Iv::Noise(self.below(4) as u64),
        }
    }

    fn init(&mut self) -> Call {
        Call::Init {
            has_cipher: self.below(8) == 0,
            key: (self.below(3) > 0).then(|| self.below(3) as u64),
            iv: (self.below(3) > 0).then(|| self.iv()),
            encrypts: self.of(&[1, 1, 1, 0, 0, -1]),
        }
    }

    pub fn call(&mut self, family: Family) -> Call {
        if family.is_aead() && self.below(3) == 0 {
            return self.aead_call();
        }
        match self.below(24) {
            0..3 => self.init(),
            3..12 => Call::Update(self.bytes(), self.place()),
            12..14 => Call::Finish,
            14..16 => Call::Cipher(self.bytes(), self.place()),
            16 => Call::CipherEnd,
            17 => Call::Copy,
            18 => Call::Turn(self.below(4)),
            19 => Call::Padding(self.of(&[0, 1, 1, 2])),
            20 => match self.below(3) {
                0 => Call::KeyBytes(self.of(&[0, 16, 24, 32, 64])),
                _ => Call::Num(self.below(20) as i32),
            },
            21 => Call::Look(self.of(&[16, 0, 12, 8, 15, 17, 128])),
            22 => Call::Get(
                self.of(&GOT),
                self.of(&[
                    Param::UNSIGNED_INTEGER,
                    Param::INTEGER,
                    Param::OCTET_STRING,
                    Param::OCTET_PTR,
                ]),
                self.of(&[8, 4, 16, 12, 1, 0, 13, 17, 128]),
            ),
            _ => match self.below(2) {
                0 => Call::SetNumber(
                    self.of(&SET),
                    self.of(&[Param::UNSIGNED_INTEGER, Param::INTEGER, Param::OCTET_STRING]),
                    self.of(&[4, 8]),
                    self.of(&[0, 1, 12, 16, 24, 32, -1]),
                ),
                _ => Call::SetOctets(self.of(&SET), self.below(20), self.below(4) == 0),
            },
        }
    }

    fn aead_call(&mut self) -> Call {
        let seed = self.below(4) as u64;
        match self.below(12) {
            0..4 => Call::Aad(self.bytes()),
            4 => Call::CipherAad(self.bytes()),
            5 => Call::Ctrl(ctrl::AEAD_SET_TAG, self.below(18) as i32, seed),
            6 => Call::Ctrl(ctrl::AEAD_GET_TAG, self.below(18) as i32, seed),
            7 => Call::Ctrl(
                ctrl::AEAD_SET_IV_BYTES,
                self.of(&[12, 16, 8, 0, 1, 13, 128, 129, -1]),
                seed,
            ),
            8 => Call::Ctrl(
                ctrl::AEAD_SET_IV_FIXED,
                self.of(&[4, -1, 12, 3, 5, 8, 0]),
                seed,
            ),
            9 => Call::Ctrl(ctrl::GCM_IV_GEN, self.of(&[8, 12, 0, -1, 4, 16]), seed),
            10 => Call::Ctrl(ctrl::GCM_SET_IV_INV, self.of(&[8, 12, 4, 0, -1]), seed),
            _ => Call::Ctrl(ctrl::AEAD_TLS1_AAD, self.of(&[13, 13, 13, 12, 14, 0]), seed),
        }
    }
}

const GOT: [&CStr; 14] = [
    c"keylen",
    c"ivlen",
    c"padding",
    c"num",
    c"iv",
    c"updated-iv",
    c"taglen",
    c"tag",
    c"tlsaadpad",
    c"tlsivgen",
    c"tls-mac",
    c"blocksize",
    c"unknown",
    c"iv-generated",
];
const SET: [&CStr; 13] = [
    c"keylen",
    c"ivlen",
    c"padding",
    c"num",
    c"tag",
    c"tlsaad",
    c"tlsivfixed",
    c"use-bits",
    c"tls-version",
    c"tls-mac-size",
    c"iv",
    c"taglen",
    c"unknown",
];
