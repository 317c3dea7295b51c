//! The participants of a run, and its observer.

use std::cell::RefCell;

use crate::args::Args;
use crate::error::Error;
use crate::output::{Entry, Row};
use crate::peers::{ChosenPeer, Oarlock, Peer, PeerFactory, choose};
use oarlock::Strategy;

/// An event of a run.
pub(crate) enum Event<'a> {
    /// All participants are loaded, with these versions.
    Started(&'a [String]),
    /// All participants were measured at one point.
    Measured(&'a Row, &'a [Entry]),
}

pub(crate) type Observer<'a> = &'a mut dyn FnMut(Event<'_>) -> Result<(), Error>;

/// The participants of a run.
pub(crate) struct Participants {
    pub(crate) oarlock: Oarlock,
    pub(crate) peers: Vec<ChosenPeer>,
    /// Whether the command line names the peers.
    pub(super) named: bool,
    /// The peers that were reported as not supporting something, with the reason.
    noted: RefCell<Vec<(String, String)>>,
}

impl Participants {
    pub(super) fn open(args: &Args, peers: &[PeerFactory]) -> Result<Self, Error> {
        let strategy = args.strategy.as_ref().map(|forced| forced.strategy);
        Ok(Self {
            oarlock: Oarlock::planned_by(
                args.threads,
                strategy.unwrap_or(Strategy::Auto),
                args.calibration.clone(),
            )?,
            peers: choose(peers, &args.peer, args.threads, &mut |note| {
                eprintln!("{note}");
            })?,
            named: !args.peer.is_empty(),
            noted: RefCell::default(),
        })
    }

    /// Reports that a peer does not support a case, once for each reason.
    pub(crate) fn without(&self, case: &str, name: &str, why: &str) {
        let note = (name.to_owned(), why.to_owned());
        let mut noted = self.noted.borrow_mut();
        if !noted.contains(&note) {
            eprintln!("{case}: without {name}: {why}");
            noted.push(note);
        }
    }

    pub(super) fn versions(&self) -> Vec<String> {
        let mut versions = vec![self.oarlock.version()];
        versions.extend(self.peers.iter().map(|chosen| chosen.peer.version()));
        versions
    }

    pub(super) fn at_least_one(&self, measured: usize) -> Result<(), Error> {
        if measured > 0 {
            return Ok(());
        }
        let names: Vec<_> = self.peers.iter().map(|chosen| chosen.name).collect();
        let names = names.join(", ");
        Err(Error::Unavailable(format!(
            "none of the cases asked for is one that Oarlock and {names} do"
        )))
    }
}
