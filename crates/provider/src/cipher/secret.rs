//! Random bytes, and the comparison of secrets.
#![allow(unsafe_code)]

use crate::error::Reason;

/// Fills `bytes` from the kernel's generator, which every sandbox allows that OpenSSL runs in.
pub(super) fn fill_with_random_bytes(mut bytes: &mut [u8]) -> Result<(), Reason> {
    while !bytes.is_empty() {
        // SAFETY: the pointer and the length are of one slice.
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

/// Whether two tags are equal, in a time that does not tell where they differ. A tag of no bytes equals
/// no other.
#[inline]
pub(super) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    if one.is_empty() || one.len() != other.len() {
        return false;
    }
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(difference) == 0
}
