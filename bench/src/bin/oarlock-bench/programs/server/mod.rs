//! `oarlock serve` and its clients: what the network costs.
//!
//! ```text
//! host.rs     servers, each with a configuration of its own, on the first CPU
//! load.rs     clients, by oarlock-load, on the last CPU; and the library in the server's place
//! sign.rs     signatures of RSA-2048: for a CPU second, and one at a time
//! boards.rs   simulated boards of the paper      endure.rs   much load, too much, and a server that dies
//! ```
//!
//! Servers are processes, and so are clients, one for all clients of a server. Every answer is
//! compared with the library's.

mod boards;
mod endure;
mod host;
mod load;
mod sign;

use oarlock_bench::Error;

use super::compared::{Compared, Figure, in_turn};
use super::setup::Setup;
use crate::interrupt;
pub(super) use boards::{Board, Boards};
use host::Home;

/// What is measured of servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Servers {
    /// Signatures for a CPU second, 64 under way in one stream.
    Sign,
    /// What a call takes longer than in the library, one at a time.
    Latency {
        has_tls: bool,
    },
    Boards(Boards),
    /// A thousand connections and four fifths of what a server can do.
    Load,
    /// Four times what it can do.
    Overload,
    /// One of three dies.
    Kill,
}

impl Servers {
    /// Measures it for the case `name`.
    pub(super) fn measure(self, setup: &Setup, name: &str) -> Result<Vec<Compared>, Error> {
        let home = Home::new(setup, name)?;
        match self {
            Self::Sign => sign::per_cpu_second(setup, &home),
            Self::Latency { has_tls } => sign::latency(setup, &home, has_tls),
            Self::Boards(boards) => boards.measure(setup, &home),
            Self::Load => endure::load(setup, &home),
            Self::Overload => endure::overload(setup, &home),
            Self::Kill => endure::kill(setup, &home),
        }
    }
}

/// As [`in_turn`], unless somebody wants it to end.
fn turns<T>(
    rounds: usize,
    sides: usize,
    mut work: impl FnMut(usize) -> Result<T, Error>,
) -> Result<Vec<Vec<T>>, Error> {
    in_turn(rounds, sides, |side| {
        interrupt::check()?;
        work(side)
    })
}

fn compared(figure: Figure, vs: &'static str, ours: Vec<f64>, theirs: Vec<f64>) -> Compared {
    Compared {
        figure,
        bytes: 0,
        vs,
        threads: None,
        ours,
        theirs,
    }
}

/// What servers are compared with.
pub(super) const LIBRARY: &str = "the library";
pub(super) const PLAINTEXT: &str = "plaintext";
pub(super) const PAPER: &str = "the paper";
pub(super) const ALL: &str = "all";
pub(super) const AT_FIRST: &str = "at first";
pub(super) const PEAK: &str = "the peak";
pub(super) const FULL_QUEUE: &str = "a full queue";
pub(super) const TWO_THIRDS: &str = "two thirds of before";
