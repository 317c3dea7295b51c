//! The names of suites, for settings and for interfaces to other languages.

use super::suite::{Cipher, Integrity, Suite};
use crate::name_in;

impl Suite {
    /// The suites without an HMAC, by name.
    pub const AEADS: &[(&str, Self)] = &[
        ("aes-128-gcm", Self::Aes128Gcm),
        ("aes-192-gcm", Self::Aes192Gcm),
        ("aes-256-gcm", Self::Aes256Gcm),
        ("chacha20-poly1305", Self::ChaCha20Poly1305),
    ];

    /// Returns the name of the cipher, and that of the HMAC if there is one.
    ///
    /// ```
    /// use oarlock::packet::esp::{Cipher, Integrity, Suite};
    ///
    /// let suite = Suite::EncryptThenMac(Cipher::Aes128Cbc, Integrity::HmacSha256_128);
    /// assert_eq!(suite.names(), ("aes-128-cbc", Some("hmac-sha256-128")));
    /// assert_eq!(Suite::Aes256Gcm.names(), ("aes-256-gcm", None));
    /// ```
    pub fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::EncryptThenMac(cipher, integrity) => (cipher.name(), Some(integrity.name())),
            aead => (name_in(Self::AEADS, aead), None),
        }
    }
}

impl Cipher {
    /// All ciphers, by name.
    pub const NAMED: &[(&str, Self)] = &[
        ("null", Self::Null),
        ("aes-128-cbc", Self::Aes128Cbc),
        ("aes-192-cbc", Self::Aes192Cbc),
        ("aes-256-cbc", Self::Aes256Cbc),
        ("aes-128-ctr", Self::Aes128Ctr),
        ("aes-192-ctr", Self::Aes192Ctr),
        ("aes-256-ctr", Self::Aes256Ctr),
        ("des-ede3-cbc", Self::TripleDesCbc),
    ];

    /// Returns the name, such as `aes-128-cbc`.
    pub fn name(self) -> &'static str {
        name_in(Self::NAMED, self)
    }
}

impl Integrity {
    /// All HMACs, by name.
    pub const NAMED: &[(&str, Self)] = &[
        ("hmac-md5-96", Self::HmacMd5_96),
        ("hmac-sha1-96", Self::HmacSha1_96),
        ("hmac-sha256-128", Self::HmacSha256_128),
        ("hmac-sha384-192", Self::HmacSha384_192),
        ("hmac-sha512-256", Self::HmacSha512_256),
    ];

    /// Returns the name, such as `hmac-sha256-128`.
    pub fn name(self) -> &'static str {
        name_in(Self::NAMED, self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_suite_has_a_name_of_its_own() {
        let names: HashSet<_> = Suite::ALL.iter().map(|suite| suite.names()).collect();
        assert_eq!(names.len(), Suite::ALL.len());
        assert!(
            names
                .iter()
                .all(|(cipher, integrity)| !cipher.is_empty() && *integrity != Some(""))
        );
        let named = Suite::AEADS.len() + Cipher::NAMED.len() * Integrity::NAMED.len();
        assert_eq!(named, Suite::ALL.len());
    }
}
