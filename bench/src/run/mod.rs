//! A run: who and what, then point by point.
//!
//! ```text
//! mixed.rs                   public-key operations while every CPU has a cipher to do
//! ciphers.rs  public_key.rs  cases, compared and then measured      first.rs     a process's first
//! everybody.rs               who takes part, and who watches        provided.rs  OpenSSL beside itself
//! shown.rs                   what is told of it
//! ```

mod ciphers;
mod everybody;
mod first;
mod mixed;
pub mod provided;
mod public_key;
mod shown;

use crate::args::Args;
use crate::cases::{self, Matching};
use crate::error::Error;
use crate::peers::PeerFactory;
pub(crate) use everybody::Event;
use everybody::{Everybody, Observer};
pub use first::{First, first};
pub(crate) use shown::Shown;

/// Measures `cases`; which `args` name is another's affair.
pub(crate) fn measure(
    args: &Args,
    cases: &Matching,
    peers: &[PeerFactory],
    observer: Observer<'_>,
) -> Result<(), Error> {
    let everybody = Everybody::open(args, peers)?;
    observer(Event::Started(&everybody.versions()))?;
    let mut measured = ciphers::measure(args, &cases.ciphers, &everybody, observer)?;
    let measure_public_key = match args.mixed {
        true => mixed::measure,
        false => public_key::measure,
    };
    measured += measure_public_key(args, &cases.public_key, &everybody, observer)?;
    everybody.at_least_one(measured)
}

/// Compares outputs only; returns how many of them agree with the first's.
pub(crate) fn verify(args: &Args, peers: &[PeerFactory]) -> Result<usize, Error> {
    let cases = cases::matching(&args.case)?;
    let everybody = Everybody::open(args, peers)?;
    let mut compared = ciphers::verify(&cases.ciphers, &everybody)?;
    compared += public_key::verify(args, &cases.public_key, &everybody)?;
    everybody.at_least_one(compared)?;
    Ok(compared)
}
