//! Counts kernel calls, so that tests can prove which kernel ran. A release build has no counters.

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* pub static $name: Counter = Counter::new();)+
    };
}

/// Counters of the kernels of Camellia, SM4 and ARIA.
#[cfg(target_arch = "x86_64")]
pub mod words {
    pub use oarlock_kernels::aes::dispatch::Counter;

    counters! {
        /// Runs with shuffles on 128-bit registers.
        PERMUTE_SSSE3,
        /// Runs with shuffles on 256-bit registers.
        PERMUTE_AVX2,
        /// Runs with `aesenclast` on 128-bit registers.
        AES_NI,
        /// Runs with `vaesenclast` on 256-bit registers.
        VAES256,
        /// Runs with GFNI on 256-bit registers.
        GFNI256,
        /// Runs with GFNI on 512-bit registers.
        GFNI512,
    }
}

/// Counters of the kernels of Serpent.
pub mod serpent {
    pub use oarlock_kernels::aes::dispatch::Counter;

    counters! {
        /// Runs on one block at a time.
        PORTABLE,
        /// Runs on groups of 4 blocks.
        SSE2,
        /// Runs on groups of 8 blocks.
        AVX2,
        /// Runs on groups of 16 blocks.
        AVX512,
    }
}
