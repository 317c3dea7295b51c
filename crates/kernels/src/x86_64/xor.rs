//! XOR on 256-bit registers. 512-bit ones bring nothing: what limits is the store, of which some
//! CPUs do 32 bytes a cycle either way.

use core::arch::x86_64::*;

use inout::InOutBuf;

use super::Avx2;
use crate::portable::xor::xor;

/// XORs `keystream`, as long as `data`, onto it.
pub(crate) fn apply(_: Avx2, keystream: &[u8], data: InOutBuf<'_, '_, u8>) {
    /// # Safety
    /// `bytes`, a multiple of 32, are there at all three pointers; `from` and `to` are equal or apart.
    #[target_feature(enable = "avx2")]
    unsafe fn registers(
        mut keystream: *const u8,
        mut from: *const u8,
        mut to: *mut u8,
        mut bytes: usize,
    ) {
        // SAFETY: `bytes` counts what is left at all three pointers, and no more is touched.
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
    // SAFETY: the token proves AVX2; the buffer vouches for `whole` bytes at both pointers, which
    // are equal or apart, and the keystream, as long as the buffer was, has as many.
    unsafe { registers(keystream.as_ptr(), from, to, whole) };
    xor(&keystream[whole..], tail);
}
