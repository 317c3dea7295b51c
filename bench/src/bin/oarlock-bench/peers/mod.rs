//! Peers that are linked in, or loaded from what `cargo xtask peers` has built.

pub(crate) mod aws_lc;
pub(crate) mod batch;
pub(crate) mod boringssl;
mod crypto_mb;
#[cfg(target_arch = "x86_64")]
mod graviola;
pub(crate) mod ipsec_mb;
pub(crate) mod libsrtp;
mod pieces;
mod ring;
mod rustcrypto;

use oarlock_measure::peers::{PeerFactory, openssl, own_version};

/// All peers, including the machine's OpenSSL.
pub(crate) const PEERS: &[PeerFactory] = &[
    openssl::PEER,
    aws_lc::PEER,
    rustcrypto::PEER,
    ring::PEER,
    #[cfg(target_arch = "x86_64")]
    graviola::PEER,
    boringssl::PEER,
    ipsec_mb::PEER,
    crypto_mb::PEER,
];

/// Returns the versions of Oarlock and of every installed peer.
pub(crate) fn versions() -> Vec<String> {
    let peers = PEERS
        .iter()
        .filter_map(|factory| (factory.open)(1).ok())
        .map(|peer| peer.version());
    own_version().into_iter().chain(peers).collect()
}
