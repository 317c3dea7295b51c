//! The measured implementations.
//!
//! ```text
//! chosen.rs                  the peers of a run
//! own/  openssl/             Oarlock and its parts; the machine's OpenSSL. A caller may add more
//! subject.rs  public_key.rs  the interface of a peer: a cipher with its key, public-key requests in flight
//! ```

mod chosen;
pub mod openssl;
mod own;
mod public_key;
mod subject;

pub(crate) use chosen::{ChosenPeer, choose};
pub(crate) use own::{CallStyle, OARLOCK, Oarlock};
pub use public_key::{LaneQueue, Lanes, PublicKey, Results, SingleRsa, SingleRsaKey};
pub use subject::{AAD, Aead, Nonces, Peer, PeerFactory, Presence, Sealed, Stream, Subject};

/// Returns Oarlock's version with the CPU features that it uses, as in records.
///
/// # Errors
/// [`Error::Usage`](crate::Error::Usage) if `OARLOCK_CPU` names no feature.
pub fn own_version() -> Result<String, crate::Error> {
    Ok(Oarlock::new(1, oarlock::Strategy::Auto)?.version())
}
