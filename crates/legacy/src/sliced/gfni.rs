//! GFNI, arithmetic in GF(2^8), on registers of every width.

use core::arch::x86_64::*;

use oarlock_kernels::{by_contract, needs_instructions};

use super::bytes::Bytes;

/// A register on which GFNI operates; its instructions include GFNI.
pub(super) trait GaloisField: Bytes {
    needs_instructions! {
        /// Multiplies each byte by the matrix in the same 64 bits of `matrices`.
        fn map_by(self, matrices: Self) -> Self;
        /// Multiplies the inverse of each byte (0 for 0) by the matrix in the same 64 bits.
        fn map_inverse_by(self, matrices: Self) -> Self;
    }
}

macro_rules! galois_field {
    ($lanes:ty, $map:ident, $map_inverse:ident) => {
        impl GaloisField for $lanes {
            by_contract! {
                fn map_by(self, matrices: Self) -> Self { $map::<0>(self, matrices) }
                fn map_inverse_by(self, matrices: Self) -> Self {
                    $map_inverse::<0>(self, matrices)
                }
            }
        }
    };
}

galois_field!(
    __m128i,
    _mm_gf2p8affine_epi64_epi8,
    _mm_gf2p8affineinv_epi64_epi8
);
galois_field!(
    __m256i,
    _mm256_gf2p8affine_epi64_epi8,
    _mm256_gf2p8affineinv_epi64_epi8
);
galois_field!(
    __m512i,
    _mm512_gf2p8affine_epi64_epi8,
    _mm512_gf2p8affineinv_epi64_epi8
);
