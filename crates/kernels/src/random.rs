//! Random numbers from the CPU.

/// Fills `bytes` by RDRAND. Returns false, with `bytes` written in part, if the CPU has no such instruction or it fails.
///
/// Mix the result into a generator that does not depend on it: some CPUs returned constants.
#[must_use]
pub fn fill_by_cpu(bytes: &mut [u8; 32]) -> bool {
    #[cfg(target_arch = "x86_64")]
    return crate::x86_64::random::fill(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = bytes;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_not_what_came() {
        let (mut one, mut other) = ([0; 32], [0; 32]);
        if fill_by_cpu(&mut one) && fill_by_cpu(&mut other) {
            assert_ne!(one, other);
            assert!(one != [0; 32] && one != [u8::MAX; 32]);
        }
    }
}
