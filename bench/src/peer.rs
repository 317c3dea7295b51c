//! Who is measured.

use crate::Error;
use crate::case::Case;
use crate::own;

/// How to come by a peer; a caller of the harness brings a list of these.
#[derive(Clone, Copy, Debug)]
pub struct PeerFactory {
    /// As on the command line and in records.
    pub name: &'static str,
    /// When a run that names no peers measures it.
    pub presence: Presence,
    /// Loads it.
    pub open: fn() -> Result<Box<dyn Peer>, Error>,
}

/// When a run that names no peers measures one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Always; without it there is no run.
    Always,
    /// Where it is on the machine.
    WhereAvailable,
    /// Where more than one thread is asked for.
    ManyThreads,
    /// Never: it has to be named.
    Named,
}

/// An implementation, loaded.
pub trait Peer {
    /// What it says of itself.
    fn version(&self) -> String;

    /// Sets up `key` for a case.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for a case that it does not do.
    fn subject(&self, case: &Case, key: &[u8]) -> Result<Box<dyn Subject>, Error>;
}

/// A key set up in an implementation: what the clock runs for.
///
/// The loops are here so that they are compiled for each subject by itself: what a call by
/// pointer costs would count at 64 bytes.
pub trait Subject {
    /// Starts a stream at `iv`, in the implementation's own way.
    fn set_iv(&mut self, iv: &[u8; 16]);

    /// One request, in place. The stream goes on from the one before.
    fn apply(&mut self, data: &mut [u8]);

    /// As many requests in a row.
    fn apply_times(&mut self, data: &mut [u8], calls: usize) {
        for _ in 0..calls {
            self.apply(data);
        }
    }

    /// As many requests in a row, each under the next of `nonces`.
    fn apply_times_fresh(&mut self, data: &mut [u8], calls: usize, nonces: &mut Nonces) {
        for _ in 0..calls {
            self.set_iv(&nonces.next_iv());
            self.apply(data);
        }
    }
}

/// Never the same nonce twice. The last four bytes, which count blocks, are zero.
#[derive(Debug, Default)]
pub struct Nonces(u128);

impl Nonces {
    /// The next IV.
    #[inline]
    pub fn next_iv(&mut self) -> [u8; 16] {
        self.0 += 1;
        (self.0 << 32).to_be_bytes()
    }
}

/// A peer of this run.
pub(crate) struct Chosen {
    pub(crate) name: &'static str,
    pub(crate) peer: Box<dyn Peer>,
}

/// The peers of a run: those `named`, or else those that say so of themselves. `note` is told of
/// those left out.
pub(crate) fn choose(
    factories: &[PeerFactory],
    named: &[String],
    threads: usize,
    note: &mut dyn FnMut(&str),
) -> Result<Vec<Chosen>, Error> {
    let all: Vec<&PeerFactory> = factories.iter().chain(own::PEERS).collect();
    let mut chosen: Vec<Chosen> = Vec::new();
    for name in named {
        let factory = all
            .iter()
            .find(|factory| factory.name == name)
            .ok_or_else(|| {
                let names: Vec<_> = all.iter().map(|factory| factory.name).collect();
                Error::Usage(format!(
                    "unknown peer {name:?}: there are {}",
                    names.join(", ")
                ))
            })?;
        if chosen.iter().all(|earlier| earlier.name != factory.name) {
            chosen.push(Chosen {
                name: factory.name,
                peer: (factory.open)()?,
            });
        }
    }
    if !named.is_empty() {
        return Ok(chosen);
    }
    for factory in all {
        let wanted = match factory.presence {
            Presence::Always | Presence::WhereAvailable => true,
            Presence::ManyThreads => threads > 1,
            Presence::Named => false,
        };
        if !wanted {
            continue;
        }
        match (factory.open)() {
            Ok(peer) => chosen.push(Chosen {
                name: factory.name,
                peer,
            }),
            Err(Error::Unavailable(why)) if factory.presence == Presence::WhereAvailable => {
                note(&format!("without {}: {why}", factory.name));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(chosen)
}
