//! PKCS#7 padding, where the engine takes it off.

use oarlock::cipher::AcceleratedCbc;
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

const IV: [u8; BLOCK_BYTES] = COUNTER.to_be_bytes();
const BLOCK_BYTES: usize = 16;
const BYTES: usize = 256;
