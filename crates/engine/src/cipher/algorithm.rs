//! The block size and counter of a stream cipher, as a parameter of [`AcceleratedCtr`](crate::cipher::AcceleratedCtr),
//! so that they are constants for AES.

use crate::work::algorithm::{Algorithm, Kind};
use crate::work::counter::counting;

/// A stream cipher's block size and counter. Only this crate implements it.
pub trait StreamKind: Copy + private::Sealed {
    /// Returns log2 of the bytes that one counter block yields.
    #[doc(hidden)]
    fn block_shift(self) -> u32;
    /// Returns how many low bits of the counter block count and wrap.
    #[doc(hidden)]
    fn counter_bits(self) -> u32;
    /// Returns the same as a mask: computing it by a shift would double the time of a short request.
    #[doc(hidden)]
    fn counter_mask(self) -> u128;
}

mod private {
    pub trait Sealed {}
}

macro_rules! aes {
    ($($(#[$doc:meta])* $name:ident)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(pub(crate) ());

        impl private::Sealed for $name {}

        impl StreamKind for $name {
            #[inline(always)]
            fn block_shift(self) -> u32 {
                4
            }
            #[inline(always)]
            fn counter_bits(self) -> u32 {
                128
            }
            #[inline(always)]
            fn counter_mask(self) -> u128 {
                u128::MAX
            }
        }
    )+};
}

aes! {
    /// AES with a key size chosen at run time.
    AnyAes
    /// AES with a 16-byte key.
    Aes128
    /// AES with a 24-byte key.
    Aes192
    /// AES with a 32-byte key.
    Aes256
}

/// Any stream cipher, chosen at run time.
#[derive(Clone, Copy, Debug)]
pub struct AnyStream {
    block_shift: u32,
    counter_bits: u32,
    counter_mask: u128,
}

impl AnyStream {
    /// Returns `None` unless `algorithm` is a stream cipher.
    pub(crate) fn of(algorithm: Algorithm) -> Option<Self> {
        match algorithm.kind() {
            Kind::Stream {
                block_bytes,
                counter_bits,
                ..
            } => Some(Self {
                block_shift: block_bytes.ilog2(),
                counter_bits,
                counter_mask: counting(counter_bits),
            }),
            _ => None,
        }
    }
}

impl private::Sealed for AnyStream {}

impl StreamKind for AnyStream {
    #[inline(always)]
    fn block_shift(self) -> u32 {
        self.block_shift
    }
    #[inline(always)]
    fn counter_bits(self) -> u32 {
        self.counter_bits
    }
    #[inline(always)]
    fn counter_mask(self) -> u128 {
        self.counter_mask
    }
}
