//! Unpredictable bytes.

/// Fills `bytes` from aws-lc's generator, or from the kernel's if aws-lc is not compiled in.
pub fn fill_random(bytes: &mut [u8]) {
    #[cfg(feature = "rsa")]
    crate::aws_lc::random::fill_random(bytes);
    #[cfg(not(feature = "rsa"))]
    oarlock_threads::process::fill_random(bytes);
}
