//! SHA-2 (FIPS 180-4) with RustCrypto's traits.
//!
//! Only the compression function comes from aws-lc or, for SHA-512 on CPUs with AVX2, from the kernels. Buffers,
//! padding and HMAC are RustCrypto's, so an HMAC key is two states of 32 or 64 bytes, where aws-lc's contexts have 112
//! and 216. RustCrypto's own compression executes CPUID three times at its first use, which takes 4 us each on a
//! virtual machine.

use std::mem::MaybeUninit;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

use aws_lc_sys::{
    SHA224_Init, SHA256_CTX, SHA256_Init, SHA256_TransformBlocks, SHA384_Init, SHA512_224_Init,
    SHA512_256_Init, SHA512_CTX, SHA512_Init, SHA512_Update,
};
#[cfg(target_arch = "x86_64")]
use hmac::digest::array::Array;
use hmac::digest::block_api::{
    Block, BlockSizeUser, Buffer, BufferKindUser, CtOutWrapper, Eager, OutputSizeUser, TruncSide,
    UpdateCore, VariableOutputCore,
};
use hmac::digest::consts::{U28, U32, U48, U64, U128};
use hmac::digest::{HashMarker, InvalidOutputSize, Output};
#[cfg(target_arch = "x86_64")]
use oarlock_kernels::{Avx2, sha512::Compression};
use zeroize::Zeroize as _;

#[cfg(target_arch = "x86_64")]
use crate::mask::visible_cpu;

hmac::digest::buffer_fixed!(
    /// SHA-224.
    pub(crate) struct Sha224(CtOutWrapper<Blocks256, U28>);
    impl: BaseFixedTraits Default Clone HashMarker;
);
hmac::digest::buffer_fixed!(
    /// SHA-256.
    pub(crate) struct Sha256(CtOutWrapper<Blocks256, U32>);
    impl: BaseFixedTraits Default Clone HashMarker;
);
hmac::digest::buffer_fixed!(
    /// SHA-384.
    pub(crate) struct Sha384(CtOutWrapper<Blocks512, U48>);
    impl: BaseFixedTraits Default Clone HashMarker;
);
hmac::digest::buffer_fixed!(
    /// SHA-512.
    pub(crate) struct Sha512(CtOutWrapper<Blocks512, U64>);
    impl: BaseFixedTraits Default Clone HashMarker;
);
hmac::digest::buffer_fixed!(
    /// SHA-512/224.
    pub(crate) struct Sha512_224(CtOutWrapper<Blocks512, U28>);
    impl: BaseFixedTraits Default Clone HashMarker;
);
hmac::digest::buffer_fixed!(
    /// SHA-512/256.
    pub(crate) struct Sha512_256(CtOutWrapper<Blocks512, U32>);
    impl: BaseFixedTraits Default Clone HashMarker;
);

/// The state of SHA-256 or SHA-224 after a message's whole blocks. Wiped on drop.
#[derive(Clone)]
pub(crate) struct Blocks256 {
    state: [u32; 8],
    blocks: u64,
}

/// The state of SHA-512 or a variant after a message's whole blocks. Wiped on drop.
#[derive(Clone)]
pub(crate) struct Blocks512 {
    state: [u64; 8],
    blocks: u64,
}

impl Blocks256 {
    fn compress(&mut self, blocks: &[Block<Self>]) {
        // SAFETY: the state has eight words, and the slice has `blocks.len()` blocks of 64 bytes.
        unsafe {
            SHA256_TransformBlocks(
                self.state.as_mut_ptr(),
                blocks.as_ptr().cast(),
                blocks.len(),
            );
        }
    }

    fn begin(bytes: usize) -> Option<Self> {
        let init = match bytes {
            28 => SHA224_Init,
            32 => SHA256_Init,
            _ => return None,
        };
        let mut context = MaybeUninit::<SHA256_CTX>::uninit();
        // SAFETY: `context` has room for a SHA-256 context, whose first field `init` writes.
        let state = unsafe {
            init(context.as_mut_ptr());
            (*context.as_ptr()).h
        };
        Some(Self { state, blocks: 0 })
    }

    fn end(&mut self, buffer: &mut Buffer<Self>) {
        let bytes = self.blocks * 64 + buffer.get_pos() as u64;
        buffer.len64_padding_be(8 * bytes, |block| {
            self.compress(std::slice::from_ref(block));
        });
    }
}

impl Blocks512 {
    fn compress(&mut self, blocks: &[Block<Self>]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(compression) = compression() {
            return compression.absorb(&mut self.state, Array::cast_slice_to_core(blocks));
        }
        let mut context = MaybeUninit::<SHA512_CTX>::uninit();
        let at = context.as_mut_ptr();
        // SAFETY: every field of the context is written except its buffer, which is marked as empty, and whole blocks
        // leave it empty. aws-lc reads exactly the bytes of the slice.
        unsafe {
            (&raw mut (*at).h).write(self.state);
            (&raw mut (*at).Nl).write(0);
            (&raw mut (*at).Nh).write(0);
            (&raw mut (*at).num).write(0);
            SHA512_Update(at, blocks.as_ptr().cast(), size_of_val(blocks));
            self.state = (*at).h;
            (*at).h.zeroize();
        }
    }

    fn begin(bytes: usize) -> Option<Self> {
        let init = match bytes {
            28 => SHA512_224_Init,
            32 => SHA512_256_Init,
            48 => SHA384_Init,
            64 => SHA512_Init,
            _ => return None,
        };
        let mut context = MaybeUninit::<SHA512_CTX>::uninit();
        // SAFETY: `context` has room for a SHA-512 context, whose first field `init` writes.
        let state = unsafe {
            init(context.as_mut_ptr());
            (*context.as_ptr()).h
        };
        Some(Self { state, blocks: 0 })
    }

    fn end(&mut self, buffer: &mut Buffer<Self>) {
        let bytes = u128::from(self.blocks) * 128 + buffer.get_pos() as u128;
        buffer.len128_padding_be(8 * bytes, |block| {
            self.compress(std::slice::from_ref(block));
        });
    }
}

/// Returns the kernel if the CPU, as masked for tests, supports it: on AMD, aws-lc computes SHA-512 without vectors.
#[cfg(target_arch = "x86_64")]
fn compression() -> Option<Compression> {
    static FOUND: OnceLock<Option<Compression>> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return *found;
    }
    // `get_or_init` would make others wait: a child forked at that moment would wait forever.
    let found = visible_cpu().ok().and_then(Avx2::new).map(Compression::new);
    let _ = FOUND.set(found);
    found
}

macro_rules! hashes {
    ($blocks:ident: $block_bytes:ident, $digest_bytes:ident, $word_bytes:literal) => {
        impl HashMarker for $blocks {}

        impl BlockSizeUser for $blocks {
            type BlockSize = $block_bytes;
        }

        impl BufferKindUser for $blocks {
            type BufferKind = Eager;
        }

        impl OutputSizeUser for $blocks {
            type OutputSize = $digest_bytes;
        }

        impl UpdateCore for $blocks {
            #[inline]
            fn update_blocks(&mut self, blocks: &[Block<Self>]) {
                self.blocks += blocks.len() as u64;
                self.compress(blocks);
            }
        }

        impl VariableOutputCore for $blocks {
            const TRUNC_SIDE: TruncSide = TruncSide::Left;

            #[inline]
            fn new(output_size: usize) -> Result<Self, InvalidOutputSize> {
                Self::begin(output_size).ok_or(InvalidOutputSize)
            }

            #[inline]
            fn finalize_variable_core(
                &mut self,
                buffer: &mut Buffer<Self>,
                out: &mut Output<Self>,
            ) {
                self.end(buffer);
                for (place, word) in out.chunks_exact_mut($word_bytes).zip(self.state) {
                    place.copy_from_slice(&word.to_be_bytes());
                }
            }
        }

        impl Drop for $blocks {
            fn drop(&mut self) {
                self.state.zeroize();
            }
        }
    };
}

hashes! { Blocks256: U64, U32, 4 }
hashes! { Blocks512: U128, U64, 8 }

#[cfg(test)]
mod tests {
    use hmac::digest::Digest;

    use super::*;

    /// Compares with RustCrypto's own at every length up to three blocks, in one piece and in two.
    fn is_the_same<Ours: Digest + Clone, Theirs: Digest>() {
        let message: Vec<u8> = (0..=255).cycle().take(400).collect();
        for bytes in 0..message.len() {
            let message = &message[..bytes];
            let expected = Theirs::digest(message);
            assert_eq!(Ours::digest(message)[..], expected[..], "{bytes} bytes");
            let (first, second) = message.split_at(bytes / 3);
            let mut digest = Ours::new();
            digest.update(first);
            let mut other = digest.clone();
            for digest in [&mut digest, &mut other] {
                digest.update(second);
            }
            assert_eq!(digest.finalize()[..], expected[..], "{bytes} bytes");
            assert_eq!(other.finalize()[..], expected[..], "{bytes} bytes");
        }
    }

    #[test]
    fn digests_are_those_of_another_implementation() {
        is_the_same::<Sha224, sha2::Sha224>();
        is_the_same::<Sha256, sha2::Sha256>();
        is_the_same::<Sha384, sha2::Sha384>();
        is_the_same::<Sha512, sha2::Sha512>();
        is_the_same::<Sha512_224, sha2::Sha512_224>();
        is_the_same::<Sha512_256, sha2::Sha512_256>();
    }

    /// FIPS 180-2, appendices B.1 and C.1: catches errors that both implementations share.
    #[test]
    fn a_digest_is_that_of_the_standard() {
        let digest = Sha512::digest(b"abc");
        assert_eq!(
            digest[..8],
            [0xdd, 0xaf, 0x35, 0xa1, 0x93, 0x61, 0x7a, 0xba]
        );
        assert_eq!(
            digest[56..],
            [0x2a, 0x9a, 0xc9, 0x4f, 0xa5, 0x4c, 0xa4, 0x9f]
        );
    }
}
