//! Padding that is taken off: PKCS#7 by the engine, that of RSA, and that of premaster secrets of TLS.

use std::hint::black_box;

use oarlock::cipher::AcceleratedCbc;
use oarlock::rsa::{EncryptionScheme, Hash, tls_premaster_secret};
use oarlock::{Accelerator, Error};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;

use super::keyed::{COUNTER, PUBLIC_KEY, accepted};
use crate::measure::{Contrast, Path};

pub fn add(paths: &mut Vec<Box<dyn Path>>) {
    let accelerator = accepted(Accelerator::builder().max_threads(0).build());
    paths.push(Box::new(Unpadding {
        cbc: accepted(accelerator.cbc(&PUBLIC_KEY, &IV)),
        kernel: accepted(Cbc::new(&PUBLIC_KEY, Cpu::detect())),
        data: Vec::with_capacity(BYTES),
    }));
    paths.push(Box::new(Premaster {
        power: vec![0; BYTES],
        is_right: true,
    }));
    // Not PKCS#1 v1.5 with implicit rejection: what it returns is as long as the power says.
    for what in [Taken::Message, Taken::Premaster] {
        paths.push(Box::new(Decoding {
            what,
            power: vec![0; BYTES],
        }));
    }
}

/// What is taken out of a private power.
#[derive(Clone, Copy)]
enum Taken {
    /// In OAEP.
    Message,
    Premaster,
}

/// Takes the padding off random bytes, in which there is none, or off zeros.
struct Decoding {
    what: Taken,
    power: Vec<u8>,
}

impl Path for Decoding {
    fn name(&self) -> &str {
        match self.what {
            Taken::Message => "rsa-2048 oaep: private power",
            Taken::Premaster => "tls premaster secret: private power",
        }
    }

    fn verdicts(&self) -> u64 {
        match self.what {
            // That there is no message.
            Taken::Message => 1,
            Taken::Premaster => 0,
        }
    }

    fn classes(&self) -> Contrast {
        Contrast::FixedAgainstRandom
    }

    fn secret_bytes(&self) -> usize {
        BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.power.copy_from_slice(secret);
    }

    fn run(&mut self) {
        match self.what {
            Taken::Message => {
                let scheme = EncryptionScheme::oaep(Hash::Sha256);
                let _ = black_box(scheme.decode(&self.power, &[0; BYTES], None));
            }
            Taken::Premaster => {
                black_box(accepted(tls_premaster_secret(&self.power, &[0x303])));
            }
        }
    }
}

/// Decrypts a message whose last block would be padding alone, but for its first byte or the last
/// before the count: always wrong, so what it takes to refuse is the same.
struct Unpadding {
    cbc: AcceleratedCbc,
    kernel: Cbc,
    data: Vec<u8>,
}

impl Path for Unpadding {
    fn name(&self) -> &str {
        "aes-256-cbc engine: wrong padding"
    }

    fn verdicts(&self) -> u64 {
        1
    }

    fn classes(&self) -> Contrast {
        Contrast::FirstAgainstLast
    }

    fn secret_bytes(&self) -> usize {
        BLOCK_BYTES - 1
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.data.clear();
        self.data.resize(BYTES, BLOCK_BYTES as u8);
        let last = &mut self.data[BYTES - BLOCK_BYTES..];
        for (byte, difference) in last.iter_mut().zip(secret) {
            *byte ^= difference;
        }
        self.kernel
            .encrypt(&mut IV.clone(), self.data.as_mut_slice().into());
        accepted(self.cbc.set_iv(&IV));
    }

    fn run(&mut self) {
        let result = self.cbc.decrypt_padded(&mut self.data);
        assert!(matches!(result, Err(Error::InvalidPadding)));
    }
}

/// Takes a premaster secret out of what RSA-2048 has decrypted: right ones, against those that are wrong in one byte, for
/// which random bytes are returned.
struct Premaster {
    power: Vec<u8>,
    is_right: bool,
}

impl Path for Premaster {
    fn name(&self) -> &str {
        "tls premaster secret: padding or version"
    }

    fn classes(&self) -> Contrast {
        Contrast::Marked
    }

    fn secret_bytes(&self) -> usize {
        BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.is_right = secret[0] == 0;
        let at = BYTES - PREMASTER_BYTES;
        self.power.copy_from_slice(secret);
        self.power[2..at].iter_mut().for_each(|byte| *byte |= 1);
        self.power[..2].copy_from_slice(&[0, 2]);
        self.power[at - 1] = 0;
        self.power[at..at + 2].copy_from_slice(&[3, 3]);
        // The same stores for either class, and then all of it again: a load waits for a store to its bytes that is
        // under way, so one byte that is written in one class alone shows (|t| = 17 in a million runs).
        let place = usize::from(secret[1]) % (at + 2);
        let wrong = u8::from(!(2..at - 1).contains(&place));
        let kept = self.power[place];
        self.power[place] = if self.is_right { kept } else { wrong };
        self.power.rotate_left(1);
        self.power.rotate_right(1);
    }

    fn run(&mut self) {
        black_box(accepted(tls_premaster_secret(&self.power, &[0x303])));
    }
}

const PREMASTER_BYTES: usize = 48;
const IV: [u8; BLOCK_BYTES] = COUNTER.to_be_bytes();
const BLOCK_BYTES: usize = 16;
const BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_premaster_secret_is_made_up_and_a_right_one_is_not() {
        let mut path = Premaster {
            power: vec![0; BYTES],
            is_right: true,
        };
        for number in 0..=255 {
            for mark in [0, 1] {
                let mut secret = vec![0xa7; BYTES];
                secret[..2].copy_from_slice(&[mark, number]);
                path.prepare(&secret);
                let found = accepted(tls_premaster_secret(&path.power, &[0x303]));
                let is_right = found[2..] == secret[BYTES - PREMASTER_BYTES + 2..];
                assert_eq!(is_right, path.is_right, "{number}");
            }
        }
    }
}
