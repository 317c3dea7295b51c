//! Advisories about messages and files, tried with commands, with the provider and without.

use std::process::Command;

use oarlock_testing::{lossy, skip};

use crate::driver::libcrypto;
use crate::host::{run, with_conf};
use crate::rsa::commands::Place;

/// CVE-2025-9230, CVE-2026-9076, CVE-2026-28389, CVE-2026-63072: CMS recipients by key agreement and by password, with
/// damaged parts. The provider has the keys, their agreement and AES-CBC.
#[test]
fn damaged_messages_of_cms_are_refused_as_stock() {
    let place = Place::new();
    place.stock(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -subj /CN=x \
         -days 3",
    );
    for (name, seal, open) in [
        (
            "agreement",
            "cms -encrypt -in message -outform DER -out sealed -aes-128-cbc -binary cert.pem",
            "cms -decrypt -inform DER -recip cert.pem -inkey key.pem",
        ),
        (
            "password",
            "cms -encrypt -in message -outform DER -out sealed -aes-128-cbc -binary -pwri_password word",
            "cms -decrypt -inform DER -pwri_password word",
        ),
    ] {
        place.ours(seal);
        assert_eq!(place.stock(&format!("{open} -in sealed")), "a message");
        place.stock(seal);
        assert_eq!(place.ours(&format!("{open} -in sealed")), "a message");
        let sealed = std::fs::read(place.folder.path().join("sealed")).unwrap();
        let mut refused = 0;
        for at in (20..sealed.len()).step_by(sealed.len() / 24) {
            let mut damaged = sealed.clone();
            damaged[at] ^= 4;
            std::fs::write(place.folder.path().join("damaged"), damaged).unwrap();
            let [ours, theirs] = [true, false].map(|is_ours| {
                let mut command = place.command(&format!("{open} -in damaged"));
                let output = run(with_conf(
                    &mut command,
                    is_ours.then_some(&place.accelerated),
                ));
                (output.status.code(), output.stdout)
            });
            assert_eq!(ours, theirs, "{name}: byte {at}");
            refused += u32::from(ours.0 != Some(0));
        }
        assert!(refused > 10, "{name}: {refused}");
    }
}

/// CVE-2025-11187, CVE-2026-34181: the length of an HMAC key in a PKCS #12 file (RFC 9579). The provider has HMAC.
#[test]
fn a_file_with_a_short_key_of_hmac_is_refused_as_stock() {
    if libcrypto().release() < (3, 4) {
        skip("PBMAC1: OpenSSL has it since 3.4");
        return;
    }
    let place = Place::new();
    place.stock("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -subj /CN=x");
    let export =
        "pkcs12 -export -in cert.pem -inkey key.pem -out file.p12 -passout pass:x -pbmac1_pbkdf2";
    let import = "pkcs12 -in file.p12 -noout -passin pass:x";
    place.ours(export);
    place.stock(import);
    place.stock(export);
    place.ours(import);
    let file = std::fs::read(place.folder.path().join("file.p12")).unwrap();
    // id-PBKDF2's parameters end with the length of the key, 32, and the identifier of HMAC.
    let hmac = [
        0x30, 0x0c, 0x06, 0x08, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x09,
    ];
    let found: Vec<usize> = file
        .windows(hmac.len() + 3)
        .enumerate()
        .filter(|(_, it)| it[..3] == [0x02, 0x01, 32] && it[3..] == hmac)
        .map(|(at, _)| at + 2)
        .collect();
    assert!(!found.is_empty(), "no length of a key of HMAC");
    for length in [0_u8, 1, 4, 19, 31, 33, 64, 127] {
        let mut damaged = file.clone();
        damaged[found[found.len() - 1]] = length;
        std::fs::write(place.folder.path().join("damaged.p12"), damaged).unwrap();
        let said = [true, false].map(|is_ours| {
            let mut command: Command =
                place.command("pkcs12 -in damaged.p12 -noout -passin pass:x");
            let output = run(with_conf(
                &mut command,
                is_ours.then_some(&place.accelerated),
            ));
            assert!(
                !output.status.success(),
                "{length}: {}",
                lossy(&output.stderr)
            );
            output.status.code()
        });
        assert_eq!(said[0], said[1], "{length}");
    }
}
