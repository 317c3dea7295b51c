//! What public-key requests have in common: what a device can compute together, and how long it
//! takes. A new algorithm adds a row to [`TABLE`].

use std::fmt;
use std::sync::Arc;

use oarlock_kernels::modexp::Width;

/// What is alike in requests that a device can compute together, and in how long they take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What is asked for.
    pub operation: PublicKeyOperation,
    /// Bits of the modulus, rounded up to a width of the lanes if there is one, else to a multiple of 64.
    pub modulus_bits: usize,
    /// Bits of the exponent, rounded up to the bits of the modulus if it has more than half of them, else to a power of
    /// two.
    pub exponent_bits: usize,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublicKeyOperation {
    /// A power by the two primes of a key (RFC 8017, 5.1.2, 2.b).
    PrivateByPrimes,
    /// A power by the private exponent of a key.
    PrivateByExponent,
    /// A power by the private half of a key that is in the device of this name alone.
    Held(Arc<str>),
    /// A power by the public exponent of a key.
    Public,
    /// A power by numbers that belong to no key.
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
    /// What requests of this shape are computed together with; `None` where they need the device that
    /// holds their key.
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

/// Requests of one key can be computed together: a row of [`TABLE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchKey(u8);

/// What the requests of a row ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BatchKind {
    /// Anything; it is computed by itself.
    Alone,
    /// Private operations with primes of the row's width.
    Private,
    /// Public operations with moduli of the row's width.
    Public,
    /// Powers with moduli of the row's width and exponents of about as many bits: raw ones, and
    /// private operations without primes.
    Power,
    /// Private operations of keys that are in a device which takes several at once.
    Held,
    /// Requests of keys other than RSA's that take less than some 100 us, each computed by itself.
    ShortAlone,
    /// Those that take longer.
    LongAlone,
}

struct Row {
    kind: BatchKind,
    /// The width of the lanes.
    width: Option<Width>,
    /// Microseconds that one alone takes, until it has been measured: on a Xeon of 2023, as on
    /// others within a factor of two.
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

/// By kind; of each kind that has lanes every width, the narrowest first.
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

    /// The row of a kind that has no lanes.
    pub(crate) const fn without_lanes(kind: BatchKind) -> Self {
        Self(Self::first(kind))
    }

    /// The row of a kind that has lanes, with this width.
    pub(crate) const fn of(kind: BatchKind, width: Width) -> Self {
        Self(Self::first(kind) + width as u8)
    }

    /// The first row of a kind.
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

    /// The row of this number.
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

    /// Returns the width of the lanes; `None` if there are none.
    pub(crate) const fn width(self) -> Option<Width> {
        TABLE[self.number()].width
    }

    /// Microseconds that one alone takes, until it has been measured.
    pub(crate) const fn alone_us(self) -> u32 {
        TABLE[self.number()].alone_us
    }

    /// Returns the bits of the moduli of its requests.
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
