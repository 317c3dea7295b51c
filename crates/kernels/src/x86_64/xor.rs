//! XOR on 256-bit registers. 512-bit ones gain nothing: the limit is the store, and some CPUs store 32 bytes per cycle
//! either way.

use core::arch::x86_64::*;

use inout::InOutBuf;

use super::Avx2;
use crate::portable::xor::xor;

/// XORs `keystream`, of the same length, onto `data`.
pub(crate) fn apply(_: Avx2, keystream: &[u8], data: InOutBuf<'_, '_, u8>) {
    /// # Safety
    /// `bytes`, a multiple of 32, are available at all three pointers; `from` and `to` are equal or disjoint.
    #[target_feature(enable = "avx2")]
    unsafe fn registers(
        mut keystream: *const u8,
        mut from: *const u8,
        mut to: *mut u8,
        mut bytes: usize,
    ) {
        // SAFETY: `bytes` counts the rest at all three pointers, and no more is accessed.
        unsafe {
            // Four at a time: in 16 KiB 160 to 200 ns instead of 270, measured on Zen 4.
            while bytes >= 128 {
                for i in 0..4 {
                    let data = _mm256_loadu_si256(from.cast::<__m256i>().add(i));
                    let key = _mm256_loadu_si256(keystream.cast::<__m256i>().add(i));
                    _mm256_storeu_si256(to.cast::<__m256i>().add(i), _mm256_xor_si256(data, key));
                }
                (keystream, from, to) = (keystream.add(128), from.add(128), to.add(128));
                bytes -= 128;
            }
            while bytes > 0 {
                let data = _mm256_loadu_si256(from.cast());
                let key = _mm256_loadu_si256(keystream.cast());
                _mm256_storeu_si256(to.cast(), _mm256_xor_si256(data, key));
                (keystream, from, to) = (keystream.add(32), from.add(32), to.add(32));
                bytes -= 32;
            }
        }
    }
    let whole = data.len() / 32 * 32;
    let (head, tail) = data.split_at(whole);
    let (from, to) = head.into_raw();
    // SAFETY: the token proves AVX2; the buffer guarantees `whole` bytes at both pointers, which are equal or disjoint, and
    // the keystream, as long as the buffer was, has that many.
    unsafe { registers(keystream.as_ptr(), from, to, whole) };
    xor(&keystream[whole..], tail);
}
