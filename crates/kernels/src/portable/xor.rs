//! XOR by words of the machine.

use inout::InOutBuf;

/// XORs `keystream` onto `data`, by words. (`InOutBuf::xor_in2out` does it byte by byte where the
/// output is the input.)
///
/// # Panics
/// When they differ in length.
#[inline(always)]
pub fn xor(keystream: &[u8], data: InOutBuf<'_, '_, u8>) {
    assert_eq!(keystream.len(), data.len());
    let (from, to) = data.into_raw();
    // SAFETY: the buffer vouches for its length at both pointers.
    unsafe { xor_bytes(keystream, from, to) }
}

/// XORs `keystream` onto as many bytes of `from`, to `to`.
///
/// # Safety
/// They are readable at `from` and writable at `to`, the same place or one that does not overlap.
#[inline(always)]
pub(crate) unsafe fn xor_bytes(keystream: &[u8], from: *const u8, to: *mut u8) {
    let bytes = keystream.len();
    let key = keystream.as_ptr();
    let mut at = 0;
    macro_rules! xor {
        ($type:ty) => {
            // SAFETY: the caller has `bytes` at both pointers, of which as many as the type has are left behind `at`.
            unsafe {
                let word = from.add(at).cast::<$type>().read_unaligned();
                let word = word ^ key.add(at).cast::<$type>().read_unaligned();
                to.add(at).cast::<$type>().write_unaligned(word);
                at += size_of::<$type>();
            }
        };
    }
    // No wider than what keystream is stored with: a load waits for several stores to be done.
    while bytes - at >= size_of::<[u64; 4]>() {
        // SAFETY: the caller has `bytes` at both pointers, of which as many are left behind `at`.
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
