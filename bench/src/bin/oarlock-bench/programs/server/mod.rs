//! `oarlock serve` and its clients: what the network costs.
//!
//! ```text
//! host.rs     servers, each with a configuration of its own, on the first CPU
//! load.rs     clients, by oarlock-bench-process, on the last CPU; and the library in the server's place
//! sign.rs     signatures of RSA-2048: for a CPU second, and one at a time
//! sides.rs    what they are compared with
//! boards.rs   simulated boards of the paper      endure.rs   much load, too much, and a server that dies
//! hostile.rs  hostile clients and a victim
//! ```
//!
//! Servers are processes, and so are clients, one for all clients of a server. Every answer is
//! compared with the library's.

mod boards;
mod endure;
mod host;
mod hostile;
mod load;
mod sides;
mod sign;

use oarlock_measure::Error;

use super::compared::Compared;
use super::setup::Setup;
pub(crate) use boards::{Board, Boards};
use host::Home;
pub(crate) use sides::{
    ALL, AT_FIRST, FULL_QUEUE, HONEST, LIBRARY, PAPER, PEAK, PLAINTEXT, TWO_THIRDS,
};

/// What is measured of servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Servers {
    /// Signatures for a CPU second, 64 under way in one stream.
    Sign,
    /// The same with P-256.
    SignP256,
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
    /// A hostile client of this kind, next to a victim.
    Beside(&'static str),
}

impl Servers {
    /// Measures it for the case `name`.
    pub(super) fn measure(self, setup: &Setup, name: &str) -> Result<Vec<Compared>, Error> {
        let home = Home::new(setup, name)?;
        match self {
            Self::Sign => sign::per_cpu_second(setup, &home, load::ONE.kind),
            Self::SignP256 => sign::per_cpu_second(setup, &home, load::P256),
            Self::Latency { has_tls } => sign::latency(setup, &home, has_tls),
            Self::Boards(boards) => boards.measure(setup, &home),
            Self::Load => endure::load(setup, &home),
            Self::Overload => endure::overload(setup, &home),
            Self::Kill => endure::kill(setup, &home),
            Self::Beside(kind) => hostile::beside(setup, &home, kind),
        }
    }
}
