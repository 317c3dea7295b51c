//! RDRAND.

use core::arch::x86_64::_rdrand64_step;

use crate::cpu::has_rdrand;

/// Fills `bytes`, 8 at a time. Returns false if the CPU has no RDRAND or RDRAND does not deliver.
pub(crate) fn fill(bytes: &mut [u8; 32]) -> bool {
    if !has_rdrand() {
        return false;
    }
    // SAFETY: the check above found RDRAND.
    unsafe { fill_with_rdrand(bytes) }
}

#[target_feature(enable = "rdrand")]
fn fill_with_rdrand(bytes: &mut [u8; 32]) -> bool {
    let (words, _) = bytes.as_chunks_mut::<8>();
    words.iter_mut().all(|word| {
        let mut number = 0;
        let delivers = (0..TRIES).any(|_| _rdrand64_step(&mut number) == 1);
        *word = number.to_ne_bytes();
        delivers
    })
}

/// After ten tries without a number the CPU is considered defective (Intel SDM, volume 1, 7.3.17.1).
const TRIES: u32 = 10;
