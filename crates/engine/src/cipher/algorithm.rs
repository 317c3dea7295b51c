//! What the position in a stream counts: a parameter of [`AcceleratedCtr`](crate::cipher::AcceleratedCtr),
//! so that AES, whose figures are fixed, is not made to look them up.

use crate::work::algorithm::{Algorithm, Kind};
use crate::work::counter::counting;

/// A stream cipher's block size and counter. Only this crate implements it.
pub trait StreamKind: Copy + private::Sealed {
    /// log2 of the bytes that one counter block makes.
    #[doc(hidden)]
    fn block_shift(self) -> u32;
    /// Low bits of the counter block that count and wrap.
    #[doc(hidden)]
    fn counter_bits(self) -> u32;
    /// The same as a mask: a shift by so many bits in each request would cost as much as the rest of a
    /// short one.
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
    /// AES with a key size known at run time only.
    AnyAes
    /// AES with a 16-byte key.
    Aes128
    /// AES with a 24-byte key.
    Aes192
    /// AES with a 32-byte key.
    Aes256
}

/// A stream cipher known at run time only.
#[derive(Clone, Copy, Debug)]
pub struct AnyStream {
    block_shift: u32,
    counter_bits: u32,
    counter_mask: u128,
}

impl AnyStream {
    /// `None` for what is no stream cipher.
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
