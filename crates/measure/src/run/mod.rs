//! A run: participants and cases, then point by point.
//!
//! ```text
//! mixed.rs                   public-key operations while every CPU runs a cipher
//! ciphers.rs  public_key.rs  cases, compared and then measured      first.rs     a process's first
//! participants.rs            with the run's observer                provided.rs  OpenSSL without and with a provider
//! compared.rs                one message in one way of calling, in pairs
//! shown.rs                   its tables, JSON and records
//! ```

mod ciphers;
pub mod compared;
mod first;
mod mixed;
mod participants;
pub mod provided;
mod public_key;
mod shown;

use crate::args::Args;
use crate::cases::{self, Matching};
use crate::error::Error;
use crate::peers::PeerFactory;
pub use first::{First, first};
pub(crate) use participants::Event;
use participants::{Observer, Participants};
pub(crate) use shown::Shown;

/// Measures `cases`, whichever cases `args` name.
pub(crate) fn measure(
    args: &Args,
    cases: &Matching,
    peers: &[PeerFactory],
    observer: Observer<'_>,
) -> Result<(), Error> {
    let participants = Participants::open(args, peers)?;
    observer(Event::Started(&participants.versions()))?;
    let mut measured = ciphers::measure(args, &cases.ciphers, &participants, observer)?;
    let measure_public_key = match args.mixed {
        true => mixed::measure,
        false => public_key::measure,
    };
    measured += measure_public_key(args, &cases.public_key, &participants, observer)?;
    participants.at_least_one(measured)
}

/// Compares outputs only; returns how many of them agree with the first participant's.
pub(crate) fn verify(args: &Args, peers: &[PeerFactory]) -> Result<usize, Error> {
    let cases = cases::matching(&args.case)?;
    let participants = Participants::open(args, peers)?;
    let mut compared = ciphers::verify(&cases.ciphers, &participants)?;
    compared += public_key::verify(args, &cases.public_key, &participants)?;
    participants.at_least_one(compared)?;
    Ok(compared)
}
