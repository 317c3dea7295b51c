//! The rows of the published counters: one for each algorithm, then others.

use crate::work::algorithm::Algorithm;
use oarlock_threads::page::ROWS;

/// The rows that follow those of the algorithms.
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
}

const _: () = assert!(Algorithm::ALL.len() + Other::ALL.len() <= ROWS);

/// Returns the name of a row.
pub(super) fn operation(row: usize) -> Option<&'static str> {
    let algorithms = Algorithm::ALL.iter().map(|algorithm| algorithm.name());
    let others = Other::ALL.iter().map(|(_, name)| *name);
    algorithms.chain(others).nth(row)
}
