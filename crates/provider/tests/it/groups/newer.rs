//! Releases of OpenSSL that have the hybrids themselves, with the provider loaded: their choice of a group, and their raw public
//! keys (RFC 7250), are those of stock.

use super::{End, Site, others};
use crate::host::Accelerated;

/// Peers that are OpenSSL, each with the provider and without.
fn releases(accelerated: &Accelerated) -> Vec<(&'static str, [End<'_>; 2])> {
    let others = others().into_iter();
    let releases = others.filter_map(|(name, other)| match other {
        End::Newer(folder, _) => Some((
            name,
            [
                End::Newer(folder, Some(accelerated)),
                End::Newer(folder, None),
            ],
        )),
        _ => None,
    });
    releases.collect()
}

/// CVE-2026-2673: a server whose list had `DEFAULT` in it lost the order of its groups.
#[test]
fn the_order_of_groups_is_that_of_stock() {
    let (site, accelerated) = (Site::new(), Accelerated::new());
    for (name, [ours, stock]) in releases(&accelerated) {
        for groups in [
            None,
            Some("DEFAULT"),
            Some("P-256:DEFAULT"),
            Some("DEFAULT:-X25519MLKEM768"),
            Some("*P-384 / DEFAULT"),
            Some("X25519 / X25519MLKEM768:SecP256r1MLKEM768"),
        ] {
            let servers = [ours, stock].map(|end| end.serves(&site, groups));
            for offered in [
                None,
                Some("X25519:P-256:P-384:X25519MLKEM768"),
                Some("P-384:*P-256:SecP256r1MLKEM768"),
                Some("P-521:*X25519"),
            ] {
                for client in [stock, ours] {
                    let chosen = servers.each_ref().map(|server| {
                        let said = client.asks(&site, server.port, offered, &[]);
                        let group = |said: &String| {
                            let line = said.lines().find(|it| it.contains("group: "))?;
                            Some(line.to_owned())
                        };
                        said.map(|said| group(&said)).map_err(|_| ())
                    });
                    assert_eq!(chosen[0], chosen[1], "{name} {groups:?} {offered:?}");
                }
            }
            assert!(servers.iter().all(super::Server::is_well));
        }
    }
}

/// ML-KEM by itself, which libssl has in no list of its own.
#[test]
fn ml_kem_alone_is_agreed_on() {
    let (site, accelerated) = (Site::new(), Accelerated::new());
    for (name, [ours, stock]) in releases(&accelerated) {
        for group in ["MLKEM512", "MLKEM768", "MLKEM1024"] {
            for (server, client) in [(ours, stock), (stock, ours), (ours, ours)] {
                let server = server.serves(&site, Some(group));
                let said = client.asks(&site, server.port, Some(group), &[]);
                assert!(said.is_ok(), "{name} {group}: {said:?}");
                assert!(server.is_well());
            }
        }
        let counted = accelerated.counted().operations.into_iter();
        let counted = counted.filter(|it| it.primitive.is_ml_kem());
        assert!(counted.map(|it| it.count).sum::<u64>() >= 12, "{name}");
    }
}

/// CVE-2024-12797, CVE-2026-14457: a raw public key that nobody has asked for must end the handshake.
#[test]
fn raw_public_keys_are_verified() {
    let (site, accelerated) = (Site::new(), Accelerated::new());
    for (name, [ours, stock]) in releases(&accelerated) {
        for (server, client) in [(ours, stock), (stock, ours), (ours, ours)] {
            let server = server.serves_with(&site, None, &["-enable_server_rpk"]);
            // s_client knows no key to expect: as it is, none is verified.
            let said = client.asks(&site, server.port, None, &["-enable_server_rpk"]);
            let refused = said.expect_err("a raw public key is taken");
            assert!(refused.contains("verify"), "{name}: {refused}");
            // With its certificate the same server is.
            let said = client.asks(&site, server.port, None, &[]);
            assert!(said.is_ok(), "{name}: {said:?}");
            assert!(server.is_well());
        }
    }
}
