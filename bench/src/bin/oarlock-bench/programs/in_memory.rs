//! Handshakes of TLS in memory: the CPU time of a server and of a client, each for the whole life of a connection.

use oarlock_measure::Error;
use oarlock_measure::peers::openssl::{Ends, Handshake};
use oarlock_measure::run::provided::Provided;

use super::certificates::{Certificate, KeyKind};
use super::compared::{Compared, Quantity, STOCK};
use super::setup::{Setup, Side};

/// A handshake in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InMemory {
    /// Of both certificates of the chain.
    key: KeyKind,
    version: u16,
    suite: &'static str,
    groups: &'static str,
    is_resumed: bool,
}

impl InMemory {
    /// Microseconds of CPU time, with both ends in a library context that has loaded the configuration and with both in one
    /// that has not.
    pub(super) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let [root, leaf] = Certificate::chain(setup.folder(), "handshake", self.key)?;
        let with = |groups| Handshake {
            certificate: leaf.certificate.clone(),
            key: leaf.key.clone(),
            root: root.certificate.clone(),
            version: self.version,
            suite: self.suite,
            groups,
            is_resumed: self.is_resumed,
        };
        let configuration = match self.groups {
            HYBRID => setup.post_quantum_configuration()?,
            _ => setup.configuration(Side::Oarlock),
        };
        let provided = Provided::open(&configuration)?;
        let rounds = setup.rounds(3001, 501);
        let ours = with(self.groups);
        let measured = provided.handshakes(&ours, &ours, rounds);
        let (vs, (ours, theirs)) = match measured {
            // Releases before 3.5 have no hybrid group.
            Err(Error::Unavailable(_)) if self.groups == HYBRID => {
                let theirs = with("X25519");
                (STOCK_X25519, provided.handshakes(&ours, &theirs, rounds)?)
            }
            measured => (STOCK, measured?),
        };
        let of = |figure, end: fn(&Ends) -> std::time::Duration| {
            let us = |ends: &Vec<Ends>| {
                let us = ends.iter().map(|ends| end(ends).as_secs_f64() * 1e6);
                us.collect()
            };
            Compared::new(figure, vs, us(&ours), us(&theirs))
        };
        Ok(vec![
            of(Quantity::ServerUs, |ends| ends.server),
            of(Quantity::ClientUs, |ends| ends.client),
        ])
    }
}

/// OpenSSL as it comes, in a handshake with X25519 alone, where it has no hybrid group.
pub(crate) const STOCK_X25519: &str = "openssl with x25519";

/// Names after `evp-handshake-`. Without more they are whole handshakes of TLS 1.3 with X25519 and AES-128.
pub(crate) const CASES: [(&str, InMemory); 13] = {
    const P256: InMemory = InMemory {
        key: KeyKind::P256,
        version: 0x0304,
        suite: "TLS_AES_128_GCM_SHA256",
        groups: "X25519",
        is_resumed: false,
    };
    const P384: InMemory = InMemory {
        key: KeyKind::P384,
        ..P256
    };
    const RSA: InMemory = InMemory {
        key: KeyKind::Rsa(2048),
        ..P256
    };
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
    // A certificate of a curve takes that curve among the groups.
    const TLS_1_2: InMemory = InMemory {
        version: 0x0303,
        suite: "ECDHE-ECDSA-AES128-GCM-SHA256",
        groups: "X25519:P-256",
        ..P256
    };
    [
        ("p256", P256),
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
    ]
};

/// X25519 and ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem).
const HYBRID: &str = "X25519MLKEM768";

#[cfg(test)]
mod tests {
    use super::*;

    /// By the machine's OpenSSL, stock on both sides.
    #[test]
    fn every_handshake_that_openssl_has_is_timed_at_both_ends() {
        let setup = Setup::of_stock();
        std::fs::write(setup.configuration(Side::Oarlock), "").unwrap();
        for (name, case) in CASES {
            if case.groups == HYBRID {
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
