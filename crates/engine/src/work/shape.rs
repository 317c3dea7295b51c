//! The shape of public-key requests: which of them a device can batch, and how long they take. A new algorithm adds a row to
//! [`TABLE`].

use std::fmt;
use std::sync::Arc;

use oarlock_kernels::modexp::Width;

/// The properties that decide which requests a device can batch, and how long they take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The operation that requests ask for.
    pub operation: PublicKeyOperation,
    /// Bits of the modulus, rounded up to a width of the lanes, or to a multiple of 64 if none fits.
    pub modulus_bits: usize,
    /// Bits of the exponent, rounded up to the bits of the modulus if it has more than half of them, otherwise to a power of
    /// two.
    pub exponent_bits: usize,
}

/// The operation that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublicKeyOperation {
    /// A power with the two primes of a key (RFC 8017, 5.1.2, 2.b).
    PrivateByPrimes,
    /// A power with the private exponent of a key.
    PrivateByExponent,
    /// A power with a private key that only the device of this name holds.
    Held(Arc<str>),
    /// A power with the public exponent of a key.
    Public,
    /// A power with numbers that belong to no key.
    Power,
}

impl fmt::Display for PublicKeyOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrivateByPrimes => "private, with primes",
            Self::PrivateByExponent => "private, without primes",
            Self::Held(device) => return write!(f, "private, held by {device}"),
            Self::Public => "public",
            Self::Power => "modular exponentiation",
        })
    }
}

impl Shape {
    /// Returns the key of the batches that requests of this shape can join; `None` if only the device that holds their key
    /// can compute them.
    pub(crate) fn batch_key(&self) -> Option<BatchKey> {
        let width =
            Width::for_bits(self.modulus_bits).filter(|width| width.bits() == self.modulus_bits);
        let of = |kind| width.map_or(BatchKey::ALONE, |width| BatchKey::of(kind, width));
        Some(match &self.operation {
            PublicKeyOperation::Held(_) => return None,
            PublicKeyOperation::PrivateByPrimes => width
                .and_then(|width| Width::for_bits(width.bits() / 2))
                .map_or(BatchKey::ALONE, |half| {
                    BatchKey::of(BatchKind::Private, half)
                }),
            PublicKeyOperation::PrivateByExponent => of(BatchKind::Power),
            PublicKeyOperation::Public => of(BatchKind::Public),
            PublicKeyOperation::Power if self.exponent_bits == self.modulus_bits => {
                of(BatchKind::Power)
            }
            PublicKeyOperation::Power => BatchKey::ALONE,
        })
    }
}

/// The key of requests that can be batched together: an index into [`TABLE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchKey(u8);

/// The kind of the requests of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BatchKind {
    /// Any operation, computed alone.
    Alone,
    /// Private operations whose primes have the row's width.
    Private,
    /// Public operations whose moduli have the row's width.
    Public,
    /// Powers whose moduli and exponents have about the row's width: raw ones, and private operations without primes.
    Power,
    /// Private operations of keys held by a device that accepts several at once.
    Held,
    /// Requests of key types other than RSA that take less than about 100 us, each computed alone.
    ShortAlone,
    /// Requests of key types other than RSA that take longer, each computed alone.
    LongAlone,
}

struct Row {
    kind: BatchKind,
    /// The width of the lanes, if the kind has any.
    width: Option<Width>,
    /// Microseconds of one request alone until it is measured. The figure is from a Xeon of 2023; other CPUs are within a
    /// factor of two.
    alone_us: u32,
}

const fn row(kind: BatchKind, width: Width, alone_us: u32) -> Row {
    Row {
        kind,
        width: Some(width),
        alone_us,
    }
}

const fn row_without_lanes(kind: BatchKind, alone_us: u32) -> Row {
    Row {
        kind,
        width: None,
        alone_us,
    }
}

/// Rows by kind. A kind with lanes has one row for each width, the narrowest first.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    row_without_lanes(BatchKind::Alone, 1000),
    row(BatchKind::Private, Width::Bits512, 90),
    row(BatchKind::Private, Width::Bits768, 180),
    row(BatchKind::Private, Width::Bits1024, 300),
    row(BatchKind::Private, Width::Bits1536, 780),
    row(BatchKind::Private, Width::Bits2048, 1500),
    row(BatchKind::Private, Width::Bits3072, 4500),
    row(BatchKind::Private, Width::Bits4096, 10_000),
    row(BatchKind::Public, Width::Bits512, 2),
    row(BatchKind::Public, Width::Bits768, 4),
    row(BatchKind::Public, Width::Bits1024, 6),
    row(BatchKind::Public, Width::Bits1536, 10),
    row(BatchKind::Public, Width::Bits2048, 16),
    row(BatchKind::Public, Width::Bits3072, 32),
    row(BatchKind::Public, Width::Bits4096, 55),
    row(BatchKind::Power, Width::Bits512, 40),
    row(BatchKind::Power, Width::Bits768, 130),
    row(BatchKind::Power, Width::Bits1024, 150),
    row(BatchKind::Power, Width::Bits1536, 550),
    row(BatchKind::Power, Width::Bits2048, 1000),
    row(BatchKind::Power, Width::Bits3072, 3000),
    row(BatchKind::Power, Width::Bits4096, 6000),
    row_without_lanes(BatchKind::Held, 1000),
    row_without_lanes(BatchKind::ShortAlone, 40),
    row_without_lanes(BatchKind::LongAlone, 300),
];

impl BatchKey {
    pub(crate) const COUNT: usize = TABLE.len();
    pub(crate) const ALONE: Self = Self::without_lanes(BatchKind::Alone);
    pub(crate) const HELD: Self = Self::without_lanes(BatchKind::Held);

    /// Returns the row of a kind without lanes.
    pub(crate) const fn without_lanes(kind: BatchKind) -> Self {
        Self(Self::first(kind))
    }

    /// Returns the row of a kind with lanes, of this width.
    pub(crate) const fn of(kind: BatchKind, width: Width) -> Self {
        Self(Self::first(kind) + width as u8)
    }

    /// Returns the first row of a kind.
    const fn first(kind: BatchKind) -> u8 {
        const FIRST: [u8; BatchKind::LongAlone as usize + 1] = {
            let mut first = [0; BatchKind::LongAlone as usize + 1];
            let mut number = TABLE.len();
            while number > 0 {
                number -= 1;
                first[TABLE[number].kind as usize] = number as u8;
            }
            first
        };
        FIRST[kind as usize]
    }

    /// Returns the row with this number.
    pub(crate) fn numbered(number: usize) -> Self {
        assert!(number < TABLE.len(), "the table has no row {number}");
        Self(number as u8)
    }

    pub(crate) const fn number(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn kind(self) -> BatchKind {
        TABLE[self.number()].kind
    }

    /// Returns the width of the lanes, or `None` if there are none.
    pub(crate) const fn width(self) -> Option<Width> {
        TABLE[self.number()].width
    }

    /// Returns the microseconds of one request alone, used until it is measured.
    pub(crate) const fn alone_us(self) -> u32 {
        TABLE[self.number()].alone_us
    }

    /// Returns the length of the moduli of its requests in bits.
    pub(crate) fn modulus_bits(self) -> Option<usize> {
        let bits = self.width()?.bits();
        Some(match self.kind() {
            BatchKind::Private => 2 * bits,
            _ => bits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_kind_and_width() {
        for number in 0..BatchKey::COUNT {
            let key = BatchKey::numbered(number);
            let found = match (key.kind(), key.width()) {
                (kind, Some(width)) => BatchKey::of(kind, width),
                (kind, None) => BatchKey::without_lanes(kind),
            };
            assert_eq!(found, key);
        }
        for kind in [BatchKind::Private, BatchKind::Public, BatchKind::Power] {
            for width in Width::ALL {
                let key = BatchKey::of(kind, width);
                assert_eq!((key.kind(), key.width()), (kind, Some(width)));
            }
        }
    }
}
