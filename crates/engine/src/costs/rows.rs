//! The rows of counters by operation and direction: those of the algorithms first, then others.

use crate::work::algorithm::{Algorithm, Direction};

/// Returns the row of an algorithm in one direction.
#[inline]
pub(crate) const fn row(algorithm: Algorithm, direction: Direction) -> usize {
    2 * algorithm as usize + direction as usize
}

/// The number of rows of the algorithms.
pub(crate) const ALGORITHM_ROWS: usize = 2 * Algorithm::ALL.len();

/// The operations other than algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Other {
    Hmac,
    Hash,
    Chained,
    Random,
    PublicKey,
    PrivateKey,
}

impl Other {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Hmac, "hmac"),
        (Self::Hash, "hash"),
        (Self::Chained, "cipher+hmac"),
        (Self::Random, "random"),
        (Self::PublicKey, "public-key"),
        (Self::PrivateKey, "private-key"),
    ];

    #[cfg_attr(not(feature = "rsa"), allow(dead_code))]
    pub(crate) const fn row(self, direction: Direction) -> usize {
        ALGORITHM_ROWS + 2 * self as usize + direction as usize
    }
}

const _: () = assert!(ALGORITHM_ROWS + 2 * Other::ALL.len() <= oarlock_threads::page::ROWS);

/// Returns the operation and the direction of each row.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, Direction)> {
    let algorithms = Algorithm::ALL.iter().map(|algorithm| algorithm.name());
    let operations = algorithms.chain(Other::ALL.iter().map(|(_, name)| *name));
    operations.flat_map(|name| [Direction::Encrypt, Direction::Decrypt].map(|it| (name, it)))
}
