//! XOR by machine words.

use inout::InOutBuf;

/// XORs `keystream` onto `data`, word by word. (`InOutBuf::xor_in2out` does it byte by byte if the output is the input.)
///
/// # Panics
/// If they differ in length.
#[inline(always)]
pub fn xor(keystream: &[u8], data: InOutBuf<'_, '_, u8>) {
    assert_eq!(keystream.len(), data.len());
    let (from, to) = data.into_raw();
    // SAFETY: the buffer guarantees its length at both pointers.
    unsafe { xor_bytes(keystream, from, to) }
}

/// XORs `keystream` onto the bytes at `from`, and writes the result to `to`.
///
/// # Safety
/// The length of `keystream` is readable at `from` and writable at `to`, the same place or one that does not overlap.
#[inline(always)]
pub(crate) unsafe fn xor_bytes(keystream: &[u8], from: *const u8, to: *mut u8) {
    let bytes = keystream.len();
    let key = keystream.as_ptr();
    let mut at = 0;
    macro_rules! xor {
        ($type:ty) => {
            // SAFETY: the caller has `bytes` at both pointers, of which the size of the type is left after `at`.
            unsafe {
                let word = from.add(at).cast::<$type>().read_unaligned();
                let word = word ^ key.add(at).cast::<$type>().read_unaligned();
                to.add(at).cast::<$type>().write_unaligned(word);
                at += size_of::<$type>();
            }
        };
    }
    // No wider than the stores of the keystream: a load that spans several stores waits for them.
    while bytes - at >= size_of::<[u64; 4]>() {
        // SAFETY: the caller has `bytes` at both pointers, of which 32 are left after `at`.
        unsafe {
            let mut words = from.add(at).cast::<[u64; 4]>().read_unaligned();
            let key = key.add(at).cast::<[u64; 4]>().read_unaligned();
            for (word, key) in words.iter_mut().zip(key) {
                *word ^= key;
            }
            to.add(at).cast::<[u64; 4]>().write_unaligned(words);
        }
        at += size_of::<[u64; 4]>();
    }
    while bytes - at >= size_of::<u128>() {
        xor!(u128);
    }
    if bytes & 8 != 0 {
        xor!(u64);
    }
    if bytes & 4 != 0 {
        xor!(u32);
    }
    if bytes & 2 != 0 {
        xor!(u16);
    }
    if bytes & 1 != 0 {
        xor!(u8);
    }
    debug_assert_eq!(at, bytes);
}
