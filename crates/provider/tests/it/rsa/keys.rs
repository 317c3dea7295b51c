//! Signing keys.

use std::process::Command;
use std::sync::OnceLock;

use super::calls::SIDES;
use crate::driver::libcrypto;
use crate::driver::rsa::RsaKey;
use crate::host::{succeeds, with_conf};

/// Returns keys of many kinds: lengths with and without lanes, odd lengths, three primes, a large exponent, and for PSS
/// only, with and without restrictions.
pub fn keys() -> &'static [(&'static str, String)] {
    static KEYS: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let made = |name, arguments: &str| {
            let mut command = Command::new("openssl");
            command.arg("genpkey").args(arguments.split(' '));
            let output = succeeds(with_conf(&mut command, None));
            (name, String::from_utf8(output).unwrap())
        };
        const RSA: &str = "-algorithm RSA -pkeyopt";
        const PSS: &str = "-algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048";
        vec![
            ("2048", include_str!("../../../../oarlock/tests/keys/rsa2048.pem").to_owned()),
            ("1024", include_str!("../../../../oarlock/tests/keys/rsa1024.pem").to_owned()),
            ("3072", include_str!("../../../../oarlock/tests/keys/rsa3072.pem").to_owned()),
            ("4096", include_str!("../../../../oarlock/tests/keys/rsa4096.pem").to_owned()),
            made("512", &format!("{RSA} rsa_keygen_bits:512")),
            made("1025", &format!("{RSA} rsa_keygen_bits:1025")),
            made("2047", &format!("{RSA} rsa_keygen_bits:2047")),
            made("e = 3", &format!("{RSA} rsa_keygen_pubexp:3")),
            made(
                "large e",
                &format!("{RSA} rsa_keygen_pubexp:340282366920938463463374607431768211507"),
            ),
            made("three primes", &format!("{RSA} rsa_keygen_primes:3")),
            made("PSS", PSS),
            made(
                "PSS of SHA-256",
                &format!(
                    "{PSS} -pkeyopt rsa_pss_keygen_md:sha256 -pkeyopt rsa_pss_keygen_mgf1_md:sha256 \
                     -pkeyopt rsa_pss_keygen_saltlen:32"
                ),
            ),
            made(
                "PSS of SHA-512, short salts",
                &format!(
                    "{PSS} -pkeyopt rsa_pss_keygen_md:sha512 -pkeyopt rsa_pss_keygen_mgf1_md:sha256 \
                     -pkeyopt rsa_pss_keygen_saltlen:11"
                ),
            ),
        ]
    })
}

/// Returns the same keys in each side's provider.
pub fn on_every_side() -> Vec<(&'static str, [RsaKey; SIDES.len()])> {
    let context = libcrypto().library_context();
    keys()
        .iter()
        .map(|(name, pem)| {
            let read = |side: &super::Side| RsaKey::read(context, pem, side.key);
            (*name, SIDES.each_ref().map(read))
        })
        .collect()
}
