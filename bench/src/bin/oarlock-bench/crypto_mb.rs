//! Intel's `crypto_mb` does public-key operations, of which there is no case yet.

use oarlock_bench::Error;
use oarlock_bench::peer::{PeerFactory, Presence};

/// The peer `crypto-mb`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "crypto-mb",
    presence: Presence::Named,
    open: |_| {
        Err(Error::Unavailable(
            "crypto-mb does public-key operations only: it has no cipher to compare with"
                .to_owned(),
        ))
    },
};
