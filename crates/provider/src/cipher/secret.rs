//! Random bytes, and the comparison of secrets in constant time.
#![allow(unsafe_code)]

use crate::error::Reason;

/// Fills `bytes` from the kernel's generator, a system call that every sandbox in which OpenSSL runs allows.
pub(super) fn fill_with_random_bytes(mut bytes: &mut [u8]) -> Result<(), Reason> {
    while !bytes.is_empty() {
        // SAFETY: the pointer and the length belong to one slice.
        let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        match usize::try_from(filled) {
            Ok(filled) => bytes = &mut bytes[filled..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {
            }
            Err(_) => return Err(Reason::CipherOperationFailed),
        }
    }
    Ok(())
}

/// Returns whether two tags are equal. The time does not reveal where they differ. An empty tag never equals another.
#[inline]
pub(super) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    if one.is_empty() || one.len() != other.len() {
        return false;
    }
    if let (Ok(one), Ok(other)) = (<[u8; 16]>::try_from(one), <[u8; 16]>::try_from(other)) {
        // Nearly all tags have 16 bytes: compare them as one word, since a loop over bytes takes as long as a block.
        let difference = u128::from_ne_bytes(one) ^ u128::from_ne_bytes(other);
        return std::hint::black_box(difference) == 0;
    }
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_differ_in_any_bit_are_not_equal() {
        for bytes in 1..=17 {
            let one = vec![0x5a; bytes];
            assert!(are_equal(&one, &one.clone()));
            assert!(!are_equal(&one, &one[1..]));
            for bit in 0..8 * bytes {
                let mut other = one.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert!(!are_equal(&one, &other), "{bytes} bytes, bit {bit}");
            }
        }
        assert!(!are_equal(&[], &[]));
    }
}
