//! TLS handshakes in memory: the CPU time of server and client, each for the whole life of a connection.

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use oarlock_measure::Error;
use oarlock_measure::output::{json, write_out};
use oarlock_measure::peers::openssl::{Ends, Handshake};
use oarlock_measure::run::provided::Provided;

use super::certificates::{Certificate, KeyKind};
use super::compared::{Compared, Quantity, STOCK, in_turn};
use super::setup::{Setup, Side};
use crate::system::child::said;

/// A handshake in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InMemory {
    /// The key kind of both certificates in the chain.
    key: KeyKind,
    version: u16,
    suite: &'static str,
    groups: &'static str,
    is_resumed: bool,
    /// Whether it is the first handshake of a process.
    is_first: bool,
}

impl InMemory {
    /// Measures microseconds of CPU time, with both ends in a library context that has loaded the configuration and with
    /// both in one that has not.
    pub(super) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        Certificate::chain(setup.folder(), NAME, self.key)?;
        if self.is_first {
            return first_of_processes(setup);
        }
        let configuration = match self.groups {
            HYBRID => setup.post_quantum_configuration()?,
            _ => setup.configuration(Side::Oarlock),
        };
        let provided = Provided::open(&configuration)?;
        let rounds = setup.rounds(3001, 501);
        let ours = self.with(self.groups, setup.folder());
        let measured = provided.handshakes(&ours, &ours, rounds);
        let (vs, (ours, theirs)) = match measured {
            // Releases before 3.5 have no hybrid group.
            Err(Error::Unavailable(_)) if self.groups == HYBRID => {
                let theirs = self.with("X25519", setup.folder());
                (STOCK_X25519, provided.handshakes(&ours, &theirs, rounds)?)
            }
            measured => (STOCK, measured?),
        };
        Ok(compared(vs, &ours, &theirs))
    }

    /// Returns the handshake with the chain in `folder`.
    fn with(&self, groups: &'static str, folder: &Path) -> Handshake {
        let [root, leaf] = Certificate::of_chain(folder, NAME);
        Handshake {
            certificate: leaf.certificate,
            key: leaf.key,
            root: root.certificate,
            version: self.version,
            suite: self.suite,
            groups,
            is_resumed: self.is_resumed,
            libssl: None,
        }
    }
}

fn compared(vs: &'static str, ours: &[Ends], theirs: &[Ends]) -> Vec<Compared> {
    let of = |figure, end: fn(&Ends) -> Duration| {
        let us = |ends: &[Ends]| {
            let us = ends.iter().map(|ends| end(ends).as_secs_f64() * 1e6);
            us.collect()
        };
        Compared::new(figure, vs, us(ours), us(theirs))
    };
    vec![
        of(Quantity::ServerUs, |ends| ends.server),
        of(Quantity::ClientUs, |ends| ends.client),
    ]
}

/// Measures the first handshakes of fresh processes, which load the provider.
fn first_of_processes(setup: &Setup) -> Result<Vec<Compared>, Error> {
    let samples = in_turn(setup.rounds(101, 31), 2, |side| {
        let side = [Side::Oarlock, Side::StockConfigured][side];
        let mut this = Command::new(env::current_exe().map_err(Error::io("this program"))?);
        setup.dress(&mut this, side);
        let text = said(this.arg("--first-handshake").arg(setup.configuration(side)))?;
        serde_json::from_str(&text).map_err(|error| Error::Failed(format!("{text:?}: {error}")))
    })?;
    Ok(compared(STOCK, &samples[0], &samples[1]))
}

/// Performs the first handshake of this process, with the chain next to `configuration`, and writes the CPU time of both
/// ends.
pub(crate) fn first(configuration: &Path, out: &mut dyn Write) -> Result<(), Error> {
    let folder = configuration.parent().unwrap_or(Path::new("."));
    let handshake = P256.with(P256.groups, folder);
    let ends = Provided::open(configuration)?.first_handshake(&handshake)?;
    write_out(out, &json(&ends)?)
}

/// Stock OpenSSL with X25519 alone, for releases without a hybrid group.
pub(crate) const STOCK_X25519: &str = "openssl with x25519";

/// The handshakes by name, after `evp-handshake-`.
pub(super) const CASES: [(&str, InMemory); 14] = [
    ("p256", P256),
    ("p256-first", first_one(P256)),
    ("p256-hybrid", hybrid(P256)),
    ("p256-resumed", resumed(P256)),
    ("p256-resumed-hybrid", hybrid(resumed(P256))),
    ("p256-sha384", sha384(P256)),
    ("p256-sha384-hybrid", hybrid(sha384(P256))),
    ("p256-sha384-resumed", resumed(sha384(P256))),
    ("p256-group-p256", group_p256(P256)),
    ("p256-tls1.2", TLS_1_2),
    ("p384", P384),
    ("p384-hybrid", hybrid(P384)),
    ("rsa-2048", RSA),
    ("rsa-2048-hybrid", hybrid(RSA)),
];

const P256: InMemory = InMemory {
    key: KeyKind::P256,
    version: 0x0304,
    suite: "TLS_AES_128_GCM_SHA256",
    groups: "X25519",
    is_resumed: false,
    is_first: false,
};
const P384: InMemory = InMemory {
    key: KeyKind::P384,
    ..P256
};
const RSA: InMemory = InMemory {
    key: KeyKind::Rsa(2048),
    ..P256
};
/// TLS 1.2, in which a certificate's curve must be among the groups.
const TLS_1_2: InMemory = InMemory {
    version: 0x0303,
    suite: "ECDHE-ECDSA-AES128-GCM-SHA256",
    groups: "X25519:P-256",
    ..P256
};

const fn first_one(other: InMemory) -> InMemory {
    InMemory {
        is_first: true,
        ..other
    }
}

const fn hybrid(other: InMemory) -> InMemory {
    InMemory {
        groups: HYBRID,
        ..other
    }
}

const fn resumed(other: InMemory) -> InMemory {
    InMemory {
        is_resumed: true,
        ..other
    }
}

const fn sha384(other: InMemory) -> InMemory {
    InMemory {
        suite: "TLS_AES_256_GCM_SHA384",
        ..other
    }
}

const fn group_p256(other: InMemory) -> InMemory {
    InMemory {
        groups: "P-256",
        ..other
    }
}

/// The name of the chain's files.
const NAME: &str = "handshake";
/// X25519 and ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem).
const HYBRID: &str = "X25519MLKEM768";

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the machine's OpenSSL, stock on both sides.
    #[test]
    fn every_handshake_that_openssl_has_is_timed_at_both_ends() {
        let setup = Setup::of_stock();
        std::fs::write(setup.configuration(Side::Oarlock), "").unwrap();
        for (name, case) in CASES {
            if case.groups == HYBRID || case.is_first {
                continue;
            }
            for compared in case.measure(&setup).unwrap() {
                assert_eq!(compared.vs, STOCK, "{name}");
                let (ours, theirs) = compared.medians();
                assert!(ours > 1.0 && theirs > 1.0, "{name}: {ours} {theirs}");
            }
        }
    }
}
