//! Operations of keys that libssl and other callers have this provider manage, in programs of their own.

use std::collections::BTreeSet;
use std::process::Command;

use crate::driver::libcrypto;
use crate::host::{compiled, run, with_conf};
use crate::rsa::commands::Place;

/// All keys agree on the same secrets as without the provider, whichever provider manages them.
#[test]
fn secrets_are_as_stock() {
    let place = Place::new();
    let program = compiled("exchange", place.folder.path());
    let hides_keys = hides_keys();
    for (curve, bytes) in [
        ("P-256", 32),
        ("P-384", 48),
        ("P-521", 66),
        ("secp256k1", 32),
    ] {
        for name in ["own.pem", "peer.pem"] {
            let line = "genpkey -algorithm EC -pkeyopt ec_paramgen_curve";
            place.stock(&format!("{line}:{curve} -out {name}"));
        }
        let [stock, ours] = [None, Some(&place.accelerated)].map(|conf| {
            let mut command = Command::new(&program);
            command.args(["own.pem", "peer.pem"]);
            command.current_dir(place.folder.path());
            let output = run(with_conf(&mut command, conf));
            let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
            assert!(output.status.success(), "{curve}: {text:?}");
            text
        });
        assert_eq!(ours[0], stock[0], "{curve}");
        assert!(!stock[0].contains("differs"), "{curve}: {}", stock[0]);
        let agreed = format!(" {bytes}\n");
        assert_eq!(
            stock[0].matches(&agreed).count(),
            140,
            "{curve}: {}",
            stock[0]
        );
        // As libssl generates its shares.
        let manager = if hides_keys { "oarlock" } else { "default" };
        let seen: BTreeSet<&str> = ours[1].lines().collect();
        let expected = ["agreed", "managed"].map(|it| format!("{it} by {manager}"));
        assert!(seen.iter().eq(&expected), "{curve}: {seen:?}");
    }
}

/// Signatures and decryptions by keys that this provider manages, while libcrypto forgets how it found them.
#[test]
fn keys_here_outlive_the_search_for_their_management() {
    let place = Place::new();
    let program = compiled("forgotten", place.folder.path());
    let [stock, ours] = [None, Some(&place.accelerated)].map(|conf| {
        let output = run(with_conf(&mut Command::new(&program), conf));
        assert!(output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap())
    });
    assert_eq!(ours[0], stock[0]);
    assert_eq!(stock[0].matches(": signed 1, valid 1").count(), 60);
    let managed = ours[1].matches("by oarlock").count();
    assert_eq!(managed, if hides_keys() { 3 } else { 0 }, "{}", ours[1]);
}

/// Whether the provider shows the management of keys only to searches that need it.
fn hides_keys() -> bool {
    libcrypto().release() < (3, 2) && libcrypto().has(&[[3, 0, 8], [3, 1, 0]])
}
