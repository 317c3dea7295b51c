//! Masks that hide CPU features from OpenSSL and aws-lc as `OARLOCK_CPU` hides them from Oarlock.

/// Returns the value of `OPENSSL_ia32cap` (OPENSSL_ia32cap(3)), which aws-lc also reads, for a mask of Oarlock's such as
/// `-avx512,-vaes`: the hidden bits of CPUID leaf 1 (EDX, ECX) and leaf 7 (EBX, ECX). SSSE3 itself stays visible to them;
/// the features that build on it are hidden.
pub fn for_openssl(oarlock: &str) -> String {
    let hides = |names: &[&str]| {
        let mut words = oarlock.split(',');
        words.any(|word| {
            word.strip_prefix('-')
                .is_some_and(|name| name == "ssse3" || names.contains(&name))
        })
    };
    let (mut first, mut second) = (0_u64, 0_u64);
    if hides(&["aes"]) {
        // AES-NI and PCLMULQDQ.
        first |= 1 << 57 | 1 << 33;
    }
    if hides(&["avx2"]) {
        // AVX and FMA; AVX2, BMI1, BMI2 and ADX.
        first |= 1 << 60 | 1 << 44;
        second |= 1 << 5 | 1 << 3 | 1 << 8 | 1 << 19;
    }
    if hides(&["avx2", "gfni"]) {
        second |= 1 << 40;
    }
    if hides(&["aes", "avx2", "vaes"]) {
        // VAES and VPCLMULQDQ.
        second |= 1 << 41 | 1 << 42;
    }
    if hides(&["avx2", "avx512"]) {
        // F, DQ, IFMA, CD, BW and VL; VBMI, VBMI2, VNNI, BITALG and VPOPCNTDQ.
        second |= 1 << 16 | 1 << 17 | 1 << 21 | 1 << 28 | 1 << 30 | 1 << 31;
        second |= (1 << 1 | 1 << 6 | 1 << 11 | 1 << 12 | 1 << 14) << 32;
    }
    format!("~{first:#x}:~{second:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The masks match those of `crates/measure/src/cpu_class.rs`, which hides features from the programs that it measures.
    #[test]
    fn classes_are_hidden_alike_in_tables_and_benchmarks() {
        let source = include_str!("../../crates/measure/src/cpu_class.rs");
        for (mask, expected) in [
            ("-avx512", "~0x0:~0x5842d0230000"),
            ("-avx512,-vaes,-gfni", "~0x0:~0x5f42d0230000"),
            ("-avx2", "~0x1000100000000000:~0x5f42d02b0128"),
        ] {
            assert!(source.contains(&format!("\"{mask}\"")), "{mask}");
            assert_eq!(for_openssl(mask), expected, "{mask}");
        }
        assert_eq!(for_openssl("-ssse3"), for_openssl("-aes,-avx2"));
    }
}
