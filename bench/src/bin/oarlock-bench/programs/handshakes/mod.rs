//! Handshakes of unmodified servers and clients, and `openssl speed` of keys.
//!
//! One thread keeps a number of handshakes in flight, and verifies each. The figures are the CPU time of the server's
//! processes per handshake, the time from its first byte to its last, and the number of handshakes per second.

mod client;
mod clients;
mod server;
mod speed;

use std::time::Duration;

use oarlock_measure::Error;

use self::client::Client;
pub(crate) use self::client::Kind;
pub(crate) use self::clients::{Clients, Program};
pub(crate) use self::server::Server;
use self::server::{Files, Started};
use self::speed::offers_rsa;
pub(crate) use self::speed::{KeySpeed, ONE_PROCESS, RsaProcesses};
use super::certificates::KeyKind;
use super::compared::{Compared, Quantity, STOCK, in_turn};
use super::data::TMPFS;
use super::in_memory::STOCK_X25519;
use super::setup::{Setup, Side};

/// A server with one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshakes {
    pub(crate) server: Server,
    pub(crate) key: KeyKind,
    pub(crate) in_flight: usize,
    pub(crate) kind: Kind,
    /// Whether the client offers X25519MLKEM768 and our side is configured to accept it.
    pub(crate) is_hybrid: bool,
}

/// The result of a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The CPU time of the server's processes per handshake.
    cpu_us: f64,
    p50_us: f64,
    per_second: f64,
    /// Whether the key agreement was hybrid.
    is_hybrid: bool,
}

impl Handshakes {
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        if matches!(self.key, KeyKind::Rsa(_)) {
            offers_rsa(setup)?;
        }
        let folder = tempfile::tempdir_in(TMPFS).map_err(Error::io(TMPFS))?;
        let files = Files::new(folder.path(), self.key)?;
        let length = Duration::from_secs(if setup.quick { 2 } else { 4 });
        let samples = in_turn(setup.rounds(7, 3), 2, |side| {
            self.round(setup, &files, [Side::Oarlock, Side::Stock][side], length)
        })?;
        let [ours_are, theirs_are] =
            [0, 1].map(|side: usize| samples[side].iter().all(|round| round.is_hybrid));
        let vs = match (self.is_hybrid, ours_are, theirs_are) {
            (false, ..) | (true, true, true) => STOCK,
            (true, true, false) => STOCK_X25519,
            (true, false, _) => {
                let why = "the provider offers no hybrid group".to_owned();
                return Err(Error::NotOffered(why));
            }
        };
        let of = |figure, sample: fn(&Round) -> f64| {
            let [ours, theirs] =
                [0, 1].map(|side: usize| samples[side].iter().map(sample).collect());
            Compared::new(figure, vs, ours, theirs)
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
        let server = Started::new(setup, self, files, side)?;
        let client = Client::new(
            files.certificate(),
            server.port(),
            self.kind,
            self.is_hybrid,
        )?;
        // The first handshakes prepare keys and start threads.
        client.run(self.in_flight, length / 8)?;
        let before = server.cpu()?;
        let done = client.run(self.in_flight, length)?;
        let cpu = server.cpu()?.saturating_sub(before);
        server.end()?;
        let all = done.us.len();
        // The first handshake of each connection in flight has no ticket.
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
            is_hybrid: done.hybrid == all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the stock haproxy, nginx and Apache of this machine.
    #[test]
    fn handshakes_are_counted_and_timed() {
        let setup = Setup::of_stock();
        let folder = tempfile::tempdir().unwrap();
        let has_daemon = false;
        let nginx = Server::Nginx {
            workers: 2,
            has_daemon,
        };
        let apache = Server::Apache {
            threads: 4,
            has_daemon,
        };
        let haproxy = |threads, is_async| Server::Haproxy { threads, is_async };
        for (server, key, kind) in [
            (haproxy(1, true), KeyKind::Rsa(2048), Kind::Full),
            (haproxy(1, true), KeyKind::Rsa(2048), Kind::Resumed),
            (haproxy(2, false), KeyKind::P256, Kind::Full12),
            (haproxy(1, false), KeyKind::P256, Kind::Full),
            (nginx, KeyKind::Rsa(2048), Kind::Full),
            (nginx, KeyKind::P384, Kind::Resumed),
            (apache, KeyKind::Rsa(2048), Kind::Full),
            (apache, KeyKind::P256, Kind::Resumed),
        ] {
            let files = Files::new(folder.path(), key).unwrap();
            for in_flight in [1, 4] {
                let case = Handshakes {
                    server,
                    key,
                    in_flight,
                    kind,
                    is_hybrid: true,
                };
                let length = Duration::from_millis(300);
                let round = case.round(&setup, &files, Side::Stock, length).unwrap();
                assert!(round.cpu_us > 50.0 && round.p50_us > 50.0, "{round:?}");
                assert!(round.per_second > 10.0, "{round:?}");
            }
        }
    }
}
