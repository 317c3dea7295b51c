//! `oarlock serve` and its clients: the cost of the network.
//!
//! ```text
//! host.rs     servers, each with a configuration of its own, on the first CPU
//! load.rs     clients, by oarlock-bench-process, on the last CPU; and the library in the server's place
//! sign.rs     signatures of RSA-2048: for a CPU second, and one at a time
//! sides.rs    what they are compared with
//! boards.rs   simulated boards of the paper      endure.rs   much load, too much, and a server that dies
//! hostile.rs  hostile clients and a victim    token.rs    the PKCS#11 module, with keys on a server or in files
//! applications.rs    Java and OpenSSL with that module
//! ```
//!
//! Servers are processes, and all clients of a server are one process. Every answer is compared with the library's.

mod applications;
mod boards;
mod endure;
mod host;
mod hostile;
mod load;
mod sides;
mod sign;
mod token;

use oarlock_measure::Error;

use super::compared::Compared;
use super::setup::Setup;
pub(crate) use applications::Application;
pub(crate) use boards::{Board, Boards};
use host::Home;
pub(crate) use sides::{
    ALL, AT_FIRST, CLIENT, FULL_QUEUE, HONEST, LIBRARY, PAPER, PEAK, PLAINTEXT, SOFTHSM, TWO_THIRDS,
};
pub(crate) use token::Place;

/// A measurement of servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Servers {
    /// RSA-2048 signatures per CPU second, 64 in flight on one stream.
    Sign,
    /// P-256 signatures per CPU second, 64 in flight on one stream.
    SignP256,
    /// The time of a call beyond the library's, one at a time.
    Latency {
        has_tls: bool,
    },
    Boards(Boards),
    /// A thousand connections at four fifths of a server's capacity.
    Load,
    /// Four times a server's capacity.
    Overload,
    /// One of three servers is killed.
    Kill,
    /// The PKCS#11 module, with P-256 or RSA-2048.
    Token {
        place: Place,
        is_p256: bool,
    },
    /// The PKCS#11 module in a program that knows tokens, with P-256 or RSA-2048.
    Application {
        application: Application,
        is_p256: bool,
    },
    /// A hostile client of this kind, next to a victim.
    Beside(&'static str),
}

impl Servers {
    /// Measures the case `name`.
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
            Self::Token { place, is_p256 } => token::measure(setup, &home, place, is_p256),
            Self::Application {
                application,
                is_p256,
            } => applications::measure(setup, &home, application, is_p256),
            Self::Beside(kind) => hostile::beside(setup, &home, kind),
        }
    }
}
