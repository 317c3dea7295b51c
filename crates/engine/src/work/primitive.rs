//! What the OpenSSL provider has besides ciphers, by name, and the kinds of calls whose speed decides whether it is
//! offered.

use std::fmt;

macro_rules! primitives {
    ($($(#[$doc:meta])* $variant:ident $name:literal $calls:expr,)+) => {
        /// A key derivation, MAC, key exchange, signature or KEM that the provider can take over from OpenSSL as a whole.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Primitive {
            $($(#[$doc])* $variant,)+
        }

        impl Primitive {
            /// Every primitive.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name in files and listings.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The kinds of calls that are measured, one ratio each.
            pub const fn calls(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &$calls,)+
                }
            }
        }
    };
}

// The build script reads the lines with a name.
primitives! {
    /// The key schedule of TLS 1.3 (RFC 8446, 7.1): EVP_KDF TLS13-KDF, which libssl fetches for each secret.
    Tls13Kdf "tls13-kdf" ["extract", "label"],
    /// HKDF (RFC 5869): EVP_KDF HKDF.
    Hkdf "hkdf" ["derive"],
    /// The pseudo-random function of TLS 1.2 and earlier (RFC 5246, 5): EVP_KDF TLS1-PRF.
    Tls1Prf "tls1-prf" ["derive"],
    /// HMAC (RFC 2104): EVP_MAC HMAC, in a new context, with the same key again, and of 16 KiB; and by an EVP_PKEY, as
    /// libssl computes the binder of a resumed session.
    Hmac "hmac" ["new", "again", "long", "pkey"],
    /// X25519 (RFC 7748): key pairs, and the secret shared with a peer.
    X25519 "x25519" ["generate", "derive"],
    /// ECDSA (FIPS 186-5) on P-256: with a key that is kept, and with one that is used for the first time.
    EcP256 "ec-p256" ["sign", "verify", "first-sign", "first-verify"],
    /// ECDSA on P-384.
    EcP384 "ec-p384" ["sign", "verify", "first-sign", "first-verify"],
    /// ECDSA on P-521.
    EcP521 "ec-p521" ["sign", "verify", "first-sign", "first-verify"],
    /// Ed25519 (RFC 8032), in the pure form: with a key that is kept, and with one that is used for the first time.
    Ed25519 "ed25519" ["sign", "verify", "first-sign", "first-verify"],
    /// ML-DSA-44 (FIPS 204), in the pure form, as Ed25519.
    MlDsa44 "ml-dsa-44" ["sign", "verify", "first-sign", "first-verify"],
    /// ML-DSA-65.
    MlDsa65 "ml-dsa-65" ["sign", "verify", "first-sign", "first-verify"],
    /// ML-DSA-87.
    MlDsa87 "ml-dsa-87" ["sign", "verify", "first-sign", "first-verify"],
    /// The TLS group X25519MLKEM768.
    X25519MlKem768 "x25519-mlkem768" ["generate", "encapsulate", "decapsulate"],
    /// The TLS group SecP256r1MLKEM768.
    SecP256r1MlKem768 "secp256r1-mlkem768" ["generate", "encapsulate", "decapsulate"],
    /// The TLS group SecP384r1MLKEM1024.
    SecP384r1MlKem1024 "secp384r1-mlkem1024" ["generate", "encapsulate", "decapsulate"],
}

impl Primitive {
    /// Returns the primitive that has this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// Whether it is of the key type "EC", of which all or none are offered. OpenSSL asks for key management and signature by
    /// the type, and remembers no refusal: a curve that the provider does not take would be offered to it again for each
    /// signature, which takes three times as long to begin as without a provider.
    pub const fn is_ec(self) -> bool {
        matches!(self, Self::EcP256 | Self::EcP384 | Self::EcP521)
    }

    /// Whether it is a signature of messages without a hash function before them.
    pub const fn signs_whole_messages(self) -> bool {
        matches!(
            self,
            Self::Ed25519 | Self::MlDsa44 | Self::MlDsa65 | Self::MlDsa87
        )
    }

    /// Whether SHA instructions decide how fast it is.
    pub const fn is_hash(self) -> bool {
        matches!(
            self,
            Self::Tls13Kdf | Self::Hkdf | Self::Tls1Prf | Self::Hmac
        )
    }

    /// The first OpenSSL that has it itself: the major and the minor number.
    pub const fn since(self) -> (u32, u32) {
        let is_new = matches!(self, Self::MlDsa44 | Self::MlDsa65 | Self::MlDsa87);
        if is_new || self.is_group() {
            (3, 5)
        } else {
            (3, 0)
        }
    }

    /// Whether it is a post-quantum group of TLS, which the provider has next to every OpenSSL.
    pub const fn is_group(self) -> bool {
        matches!(
            self,
            Self::X25519MlKem768 | Self::SecP256r1MlKem768 | Self::SecP384r1MlKem1024
        )
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
