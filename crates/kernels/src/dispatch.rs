//! Counts kernel calls, so that tests can prove which kernel ran. A release build has no counters.

use core::sync::atomic::{AtomicU64, Ordering};

/// The number of calls of one kernel since the process started.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Creates a counter at zero.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a call.
    pub fn hit(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the calls so far, by all threads.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* pub static $name: Counter = Counter::new();)+
    };
}

/// Counters of AES kernels.
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
        /// Runs with a filled FACE table.
        FACE,
        /// Runs that filled a FACE table.
        FACE_FILL,
        /// Runs of GCM composed of separate AES-CTR and GHASH.
        GCM_COMPOSED,
        /// Runs of the AES-NI kernel of GCM.
        GCM_AES_NI,
        /// Runs of the 256-bit kernel of GCM.
        GCM_VAES256,
        /// Runs of the 512-bit kernel of GCM.
        GCM_VAES512,
        /// Runs of the 512-bit kernel of GCM with a filled FACE table.
        GCM_FACE,
        /// Runs of any of these for a few blocks of a message in pieces.
        GCM_FEW,
        /// Runs of any of these for the first data of a message.
        GCM_FIRST,
        /// Runs of the small-code kernel among these, for the first messages of a key.
        GCM_COMPACT,
        /// Computations of a table of powers of H.
        GCM_POWERS,
    }
}

/// Counters of the kernels for many requests.
pub mod batch {
    pub use super::Counter;

    counters! {
        /// Batches of AES-CBC encryption in eight registers of one block.
        CBC_AES_NI,
        /// Batches of AES-CBC encryption in 256-bit VAES.
        CBC_VAES256,
        /// Batches of AES-CBC encryption in 512-bit VAES.
        CBC_VAES512,
        /// Runs of AES-CBC encryption in 512-bit VAES, interleaved with a hash.
        CBC_BESIDE_HASH,
        /// Runs of AES-CBC encryption with AES-NI, interleaved with a hash by SHA-NI if there is one.
        CBC_STITCHED,
        /// Batches of AES-CTR in registers of one block.
        CTR_AES_NI,
        /// Batches of AES-CTR in 256-bit VAES.
        CTR_VAES256,
        /// Batches of AES-CTR in 512-bit VAES.
        CTR_VAES512,
        /// Packets of AES-GCM by the kernel for many packets.
        GCM_VAES512,
        /// Batches of Triple DES encryption, and runs of decryption, by look-ups in 512-bit registers.
        TDES_PERMUTE,
        /// Runs of bitsliced Triple DES in CBC mode: encryption of 64 streams in words, and decryption in registers of any
        /// width.
        TDES_BITS,
        /// Runs of the same encryption in 128-bit registers.
        TDES_BITS_SSE2,
        /// Runs of Triple DES in CBC mode by look-ups in 128-bit registers.
        TDES_NIBBLES_SSSE3,
        /// Runs of Triple DES in CBC mode by look-ups in 256-bit registers.
        TDES_NIBBLES_AVX2,
        /// Runs of a hash function, one message at a time.
        HASH_PORTABLE,
        /// Runs of a hash function by SHA-NI.
        HASH_SHA_NI,
        /// Runs of a hash function on 256-bit registers.
        HASH_AVX2,
        /// Runs of a hash function on 512-bit registers.
        HASH_AVX512,
    }
}

/// Counters of ChaCha20 kernels.
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
        /// Computations of a message's block 0 on the integer units, interleaved with rows or columns of the data.
        BLOCK_BESIDE,
        /// Computations of powers of r, interleaved with rows or columns.
        POWERS_BESIDE,
        /// Parts of messages for which keystream was ready, with stored powers of r.
        KEPT_POWERS,
        /// Parts of messages absorbed during the rounds of later keystream.
        MADE_BESIDE,
    }
}

/// Counters of Triple DES.
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
        /// Runs by byte look-ups, on 8 to 32 blocks at once.
        PERMUTE_AVX512,
    }
}

/// Counters of modular exponentiation.
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

/// Counters of SHA-512 of a single message.
#[cfg(target_arch = "x86_64")]
pub mod sha512 {
    pub use super::Counter;

    counters! {
        /// Blocks by AVX2 and BMI2.
        AVX2,
    }
}
