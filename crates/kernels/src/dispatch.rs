//! Counts of kernel calls, so that tests can prove which one ran. A release build has none of them.

use core::sync::atomic::{AtomicU64, Ordering};

/// Calls of one kernel since the process started.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// None so far.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a call.
    pub fn hit(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The calls so far, by every thread.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* pub static $name: Counter = Counter::new();)+
    };
}

/// Counts of AES kernel calls.
pub mod aes {
    pub use super::Counter;

    counters! {
        /// Runs of the portable kernel.
        PORTABLE,
        /// Runs of the AES-NI kernel.
        AES_NI,
        /// Runs of the 256-bit VAES kernel.
        VAES256,
        /// Runs of the 512-bit VAES kernel.
        VAES512,
        /// Runs out of a FACE table.
        FACE,
        /// Runs that filled a FACE table.
        FACE_FILL,
        /// Runs of GCM composed of AES-CTR and a GHASH apart.
        GCM_COMPOSED,
        /// Runs of the AES-NI kernel of GCM.
        GCM_AES_NI,
        /// Runs of the 256-bit kernel of GCM.
        GCM_VAES256,
        /// Runs of the 512-bit kernel of GCM.
        GCM_VAES512,
        /// Runs of the 512-bit kernel of GCM out of a FACE table.
        GCM_FACE,
        /// Runs of any of these for few blocks of a message in pieces.
        GCM_FEW,
        /// Runs of any of these for the first data of a message.
        GCM_FIRST,
        /// Runs of the small-code kernel among these, for a key's first messages.
        GCM_COMPACT,
        /// Makings of a long table of powers of H.
        GCM_POWERS,
    }
}

/// Counts of calls of the kernels for many requests.
pub mod batch {
    pub use super::Counter;

    counters! {
        /// Batches of AES-CBC encryption in eight registers of a block.
        CBC_AES_NI,
        /// Batches of AES-CBC encryption in 256-bit VAES.
        CBC_VAES256,
        /// Batches of AES-CBC encryption in 512-bit VAES.
        CBC_VAES512,
        /// Runs of AES-CBC encryption in 512-bit VAES, interleaved with a hash.
        CBC_BESIDE_HASH,
        /// Runs of AES-CBC encryption with AES-NI, interleaved with a hash by SHA-NI if there is one.
        CBC_STITCHED,
        /// Batches of AES-CTR in registers of a block.
        CTR_AES_NI,
        /// Batches of AES-CTR in 256-bit VAES.
        CTR_VAES256,
        /// Batches of AES-CTR in 512-bit VAES.
        CTR_VAES512,
        /// Packets of AES-GCM by the kernel for many.
        GCM_VAES512,
        /// Batches of Triple DES encryption, and runs of decryption, by look-ups in 512-bit registers.
        TDES_PERMUTE,
        /// Runs of encryption with Triple DES in CBC mode on bits of 64 streams in words, and of decryption on bits of
        /// any width.
        TDES_BITS,
        /// Runs of that encryption in 128-bit registers.
        TDES_BITS_SSE2,
        /// Runs of either by look-ups in 128-bit registers.
        TDES_NIBBLES_SSSE3,
        /// Runs of either by look-ups in 256-bit registers.
        TDES_NIBBLES_AVX2,
        /// Runs of a hash function, a message at a time.
        HASH_PORTABLE,
        /// Runs of a hash function by SHA-NI.
        HASH_SHA_NI,
        /// Runs of a hash function on 256-bit registers.
        HASH_AVX2,
        /// Runs of a hash function on 512-bit registers.
        HASH_AVX512,
    }
}

/// Counts of ChaCha20 kernel calls.
pub mod chacha20 {
    pub use super::Counter;

    counters! {
        /// Runs of the portable cipher.
        PORTABLE,
        /// Runs of the cipher on SSSE3.
        SSSE3,
        /// Runs of the cipher on AVX2.
        AVX2,
        /// Runs of the cipher on AVX-512.
        AVX512,
        /// Runs of the portable cipher, interleaved with Poly1305.
        PORTABLE_AND_MAC,
        /// Runs of the cipher on SSSE3, interleaved with Poly1305.
        SSSE3_AND_MAC,
        /// Runs of the cipher on AVX2, interleaved with Poly1305.
        AVX2_AND_MAC,
        /// Runs of the cipher on AVX-512, interleaved with Poly1305.
        AVX512_AND_MAC,
        /// Runs of four blocks by columns on SSSE3.
        FOUR_COLUMNS,
        /// Runs of four blocks by columns on SSSE3, interleaved with Poly1305.
        FOUR_COLUMNS_AND_MAC,
        /// Runs of five blocks on SSSE3, one of them on the integer units.
        FOUR_COLUMNS_AND_BLOCK,
        /// Runs of eight blocks by columns on AVX2.
        COLUMNS,
        /// Runs of eight blocks by columns on AVX2, interleaved with Poly1305.
        COLUMNS_AND_MAC,
        /// Runs of nine blocks on AVX2, one of them on the integer units.
        COLUMNS_AND_BLOCK,
        /// Single blocks on the integer units.
        BLOCK,
        /// Block 0 of messages on the integer units, during rows or columns of the data.
        BLOCK_BESIDE,
        /// Powers of r made during rows or columns.
        POWERS_BESIDE,
        /// Parts of messages under keystream that was ready, with stored powers of r.
        KEPT_POWERS,
        /// Parts of messages that were absorbed during rounds for later.
        MADE_BESIDE,
    }
}

/// Counts of calls for Triple DES.
pub mod tdes {
    pub use super::Counter;

    counters! {
        /// Runs on 64 blocks a pass.
        PORTABLE,
        /// Runs on 128 blocks a pass.
        SSE2,
        /// Runs on 256 blocks a pass.
        AVX2,
        /// Runs on 512 blocks a pass.
        AVX512,
        /// Runs by look-ups of bytes, 8 to 32 blocks at once.
        PERMUTE_AVX512,
    }
}

/// Counts of calls for modular exponentiation.
#[cfg(target_arch = "x86_64")]
pub mod modexp {
    pub use super::Counter;

    counters! {
        /// Squares and products of eight lanes by IFMA.
        IFMA,
        /// Squares and products of four or eight lanes by FMA.
        FMA,
    }
}

/// Counts of calls for SHA-512 of one message.
#[cfg(target_arch = "x86_64")]
pub mod sha512 {
    pub use super::Counter;

    counters! {
        /// Blocks by AVX2 and BMI2.
        AVX2,
    }
}
