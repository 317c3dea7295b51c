//! A configuration of the user's own that prefers this provider for everything, also for keys: each group of TLS stays. Up to
//! release 3.4 libssl takes a group only from the provider that it gets the group's keys from.

use std::fs;
use std::process::Command;

use super::{End, Site};
use crate::driver::{configuration, libcrypto};
use crate::host::{run_with, with_conf};

/// Groups by the version of TLS that has them, with what s_client calls a key of each.
/// In TLS 1.2 a client also has to have the curve of the certificate.
const GROUPS: [(&str, &str, &str); 8] = [
    ("-tls1_3", "P-256", "prime256v1"),
    ("-tls1_3", "P-384", "secp384r1"),
    ("-tls1_3", "P-521", "secp521r1"),
    ("-tls1_3", "X25519", "X25519"),
    ("-tls1_3", "X448", "X448"),
    ("-tls1_3", "ffdhe2048", "DH"),
    ("-tls1_2", "P-256", "prime256v1"),
    ("-tls1_2", "X25519:P-256", "X25519"),
];

/// With the file of a configuration that prefers the provider.
fn preferring() -> (Site, std::path::PathBuf) {
    let site = Site::new();
    let conf = site.path("preferring.cnf");
    let text = configuration("");
    assert!(text.contains("default_properties = ?provider=oarlock\n"));
    // Groups that the provider announces by itself are not the subject.
    fs::write(&conf, text.replace("post-quantum = yes\n", "")).unwrap();
    (site, conf)
}

#[test]
fn a_query_that_prefers_the_provider_loses_no_group() {
    let (site, conf) = preferring();
    let (ours, stock) = (End::Told(&conf), End::Here(None));
    for (server, client) in [(ours, stock), (stock, ours), (ours, ours)] {
        let server = server.serves(&site, Some("P-256:P-384:P-521:X25519:X448:ffdhe2048"));
        for (version, group, key) in GROUPS {
            let said = client.asks(&site, server.port, Some(group), &[version]);
            let said = said.unwrap_or_else(|said| panic!("{version} {group}: {said}"));
            let mut lines = said.lines();
            let line = lines.find(|line| line.contains("Temp Key: "));
            assert!(
                line.is_some_and(|line| line.contains(key)),
                "{group}: {line:?}"
            );
        }
        assert!(server.is_well());
    }
    // Without a list, with one group that the other side insists on.
    for group in ["P-384", "P-521", "X448"] {
        let server = ours.serves(&site, None);
        assert!(stock.asks(&site, server.port, Some(group), &[]).is_ok());
        let server = stock.serves(&site, Some(group));
        assert!(ours.asks(&site, server.port, None, &[]).is_ok());
    }
}

/// Brainpool's curves are of TLS 1.2, and of no default list.
#[test]
fn a_curve_that_the_engine_does_not_have_stays() {
    let (site, conf) = preferring();
    let (ours, stock) = (End::Told(&conf), End::Here(None));
    let groups = Some("brainpoolP256r1:P-256");
    for (server, client) in [(ours, stock), (stock, ours)] {
        let server = server.serves(&site, groups);
        let said = client.asks(&site, server.port, groups, &["-tls1_2"]);
        let said = said.unwrap_or_else(|said| panic!("{said}"));
        assert!(said.contains("Temp Key: ECDH, brainpoolP256r1"), "{said}");
    }
}

/// What a client says that it has: neither more nor fewer groups than stock, each once, and in the same order.
#[test]
fn clients_offer_the_groups_of_stock() {
    let (site, conf) = preferring();
    let accelerated = crate::host::Accelerated::new();
    let server = End::Here(None).serves(&site, None);
    let offered = |client: End<'_>| {
        let said = client.asks(&site, server.port, None, &[]).unwrap();
        let line = said
            .lines()
            .find(|line| line.contains("Supported groups: "));
        line.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let stock = offered(End::Here(None));
    assert!(stock.contains("secp256r1") && stock.contains("ffdhe2048"));
    assert_eq!(offered(End::Told(&conf)), stock);
    assert_eq!(offered(End::Here(Some(&accelerated))), stock);
}

/// All that libssl was told of, with repetitions, as release 3.5 and later list it.
#[test]
fn no_group_is_announced_twice() {
    if libcrypto().release() < (3, 5) {
        return;
    }
    let (_site, conf) = preferring();
    let accelerated = crate::host::Accelerated::new();
    let listed = |command: &mut Command| {
        let output = run_with(command.args(["list", "-all-tls-groups"]), b"");
        assert!(output.status.success());
        oarlock_testing::lossy(&output.stdout)
    };
    let mut stock = Command::new("openssl");
    let stock = listed(with_conf(&mut stock, None));
    assert!(stock.contains("x25519:"), "{stock}");
    let mut told = Command::new("openssl");
    assert_eq!(listed(told.env("OPENSSL_CONF", &conf)), stock);
    let mut ours = Command::new("openssl");
    assert_eq!(listed(with_conf(&mut ours, Some(&accelerated))), stock);
}
