//! Handshakes at unmodified servers with RSA keys, and `openssl speed` of the same keys.
//!
//! One thread here keeps a number of handshakes in flight, and verifies each. What counts is the CPU time
//! that the server's processes take for one, what it takes from its first byte to the last, and how many there are in a
//! second.

mod client;
mod server;
mod speed;

use std::time::Duration;

use oarlock_measure::Error;

use self::client::Client;
pub(crate) use self::client::Kind;
pub(crate) use self::server::Server;
use self::server::{Files, Started};
use self::speed::offers_rsa;
pub(crate) use self::speed::{ONE_PROCESS, RsaProcesses, RsaSpeed};
use super::compared::{Compared, Quantity, STOCK, in_turn};
use super::data::TMPFS;
use super::setup::{Setup, Side};

/// One server with one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshakes {
    pub(crate) server: Server,
    /// The bits of the modulus.
    pub(crate) bits: usize,
    pub(crate) in_flight: usize,
    pub(crate) kind: Kind,
}

/// What one round came to.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The CPU time of the server's processes for a handshake.
    cpu_us: f64,
    p50_us: f64,
    per_second: f64,
}

impl Handshakes {
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        offers_rsa(setup)?;
        let folder = tempfile::tempdir_in(TMPFS).map_err(Error::io(TMPFS))?;
        let files = Files::new(folder.path(), self.bits)?;
        let length = Duration::from_secs(if setup.quick { 2 } else { 4 });
        let samples = in_turn(setup.rounds(7, 3), 2, |side| {
            self.round(setup, &files, [Side::Oarlock, Side::Stock][side], length)
        })?;
        let of = |figure, sample: fn(&Round) -> f64| {
            let [ours, theirs] =
                [0, 1].map(|side: usize| samples[side].iter().map(sample).collect());
            Compared::new(figure, STOCK, ours, theirs)
        };
        Ok(vec![
            of(Quantity::HandshakeCpu, |round| round.cpu_us),
            of(Quantity::HandshakeP50, |round| round.p50_us),
            of(Quantity::Operations, |round| round.per_second),
        ])
    }

    fn round(
        &self,
        setup: &Setup,
        files: &Files,
        side: Side,
        length: Duration,
    ) -> Result<Round, Error> {
        let server = Started::new(setup, self.server, files, side, self.kind)?;
        let client = Client::new(&files.certificate(), server.port(), self.kind)?;
        // Its first ones make keys ready and threads start.
        client.run(self.in_flight, length / 8)?;
        let before = server.cpu()?;
        let done = client.run(self.in_flight, length)?;
        let cpu = server.cpu()?.saturating_sub(before);
        server.end()?;
        let all = done.us.len();
        // The first ones of each in flight have no ticket yet.
        let is_as_asked = match self.kind {
            Kind::Resumed => done.resumed + self.in_flight >= all,
            Kind::Full | Kind::Full12 => done.resumed == 0,
        };
        if !is_as_asked {
            return Err(Error::Failed(format!(
                "{} of {all} handshakes were resumed",
                done.resumed
            )));
        }
        Ok(Round {
            cpu_us: cpu.as_secs_f64() * 1e6 / done.us.len().max(1) as f64,
            p50_us: done.p50_us(),
            per_second: done.us.len() as f64 / done.seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the haproxy, nginx and Apache of this machine, stock.
    #[test]
    fn handshakes_are_counted_and_timed() {
        let setup = Setup::of_stock();
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path(), 2048).unwrap();
        let has_daemon = false;
        let nginx = Server::Nginx {
            workers: 2,
            has_daemon,
        };
        let apache = Server::Apache {
            threads: 4,
            has_daemon,
        };
        for (server, kind) in [
            (Server::Haproxy { threads: 1 }, Kind::Full),
            (Server::Haproxy { threads: 1 }, Kind::Resumed),
            (Server::Haproxy { threads: 2 }, Kind::Full12),
            (nginx, Kind::Full),
            (nginx, Kind::Resumed),
            (apache, Kind::Full),
            (apache, Kind::Resumed),
        ] {
            for in_flight in [1, 4] {
                let case = Handshakes {
                    server,
                    bits: 2048,
                    in_flight,
                    kind,
                };
                let length = Duration::from_millis(300);
                let round = case.round(&setup, &files, Side::Stock, length).unwrap();
                assert!(round.cpu_us > 50.0 && round.p50_us > 50.0, "{round:?}");
                assert!(round.per_second > 10.0, "{round:?}");
            }
        }
    }
}
