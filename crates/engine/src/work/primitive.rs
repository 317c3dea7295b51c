//! The provider's operations besides ciphers, by name, and the kinds of calls whose speed decides whether it offers them.

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

            /// Returns the name used in files and listings.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the kinds of calls that are measured, with one ratio each.
            pub const fn calls(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &$calls,)+
                }
            }
        }
    };
}

// The build script parses the lines that contain a name.
primitives! {
    /// The key schedule of TLS 1.3 (RFC 8446, 7.1): EVP_KDF TLS13-KDF, which libssl fetches for each secret.
    Tls13Kdf "tls13-kdf" ["extract", "label"],
    /// HKDF (RFC 5869): EVP_KDF HKDF.
    Hkdf "hkdf" ["derive"],
    /// The pseudo-random function of TLS 1.2 and earlier (RFC 5246, 5): EVP_KDF TLS1-PRF.
    Tls1Prf "tls1-prf" ["derive"],
    /// HMAC (RFC 2104): EVP_MAC HMAC in a new context, with the same key again, and over 16 KiB; and through an EVP_PKEY, as
    /// libssl computes the binder of a resumed session.
    Hmac "hmac" ["new", "again", "long", "pkey"],
    /// X25519 (RFC 7748): key pairs, and the secret shared with a peer.
    X25519 "x25519" ["generate", "derive"],
    /// ECDSA (FIPS 186-5) on P-256, with a key in use and with a key at its first use.
    EcP256 "ec-p256" ["sign", "verify", "first-sign", "first-verify"],
    /// ECDSA on P-384.
    EcP384 "ec-p384" ["sign", "verify", "first-sign", "first-verify"],
    /// ECDSA on P-521.
    EcP521 "ec-p521" ["sign", "verify", "first-sign", "first-verify"],
    /// Ed25519 (RFC 8032) in the pure form, with a key in use and with a key at its first use.
    Ed25519 "ed25519" ["sign", "verify", "first-sign", "first-verify"],
    /// ML-DSA-44 (FIPS 204) in the pure form, with the calls of Ed25519.
    MlDsa44 "ml-dsa-44" ["sign", "verify", "first-sign", "first-verify"],
    /// ML-DSA-65.
    MlDsa65 "ml-dsa-65" ["sign", "verify", "first-sign", "first-verify"],
    /// ML-DSA-87.
    MlDsa87 "ml-dsa-87" ["sign", "verify", "first-sign", "first-verify"],
    /// ML-KEM-512 (FIPS 203): key pairs, secrets that are encapsulated for a share, and their decapsulation.
    MlKem512 "ml-kem-512" ["generate", "encapsulate", "decapsulate"],
    /// ML-KEM-768.
    MlKem768 "ml-kem-768" ["generate", "encapsulate", "decapsulate"],
    /// ML-KEM-1024.
    MlKem1024 "ml-kem-1024" ["generate", "encapsulate", "decapsulate"],
    /// The TLS group X25519MLKEM768.
    X25519MlKem768 "x25519-mlkem768" ["generate", "encapsulate", "decapsulate"],
    /// The TLS group SecP256r1MLKEM768.
    SecP256r1MlKem768 "secp256r1-mlkem768" ["generate", "encapsulate", "decapsulate"],
    /// The TLS group SecP384r1MLKEM1024.
    SecP384r1MlKem1024 "secp384r1-mlkem1024" ["generate", "encapsulate", "decapsulate"],
}

impl Primitive {
    /// Returns the primitive with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// Whether the primitive belongs to the key type "EC", which is offered for all curves or none. OpenSSL fetches key
    /// management and signature by type and does not remember refusals. It would offer an unsupported curve to the provider
    /// again for each signature, and starting one would take three times as long as without the provider.
    pub const fn is_ec(self) -> bool {
        matches!(self, Self::EcP256 | Self::EcP384 | Self::EcP521)
    }

    /// Whether the primitive signs messages that are not hashed first.
    pub const fn signs_whole_messages(self) -> bool {
        matches!(
            self,
            Self::Ed25519 | Self::MlDsa44 | Self::MlDsa65 | Self::MlDsa87
        )
    }

    /// Whether the primitive is ML-KEM by itself.
    pub const fn is_ml_kem(self) -> bool {
        matches!(self, Self::MlKem512 | Self::MlKem768 | Self::MlKem1024)
    }

    /// Whether the primitive's speed depends on SHA instructions.
    pub const fn is_hash(self) -> bool {
        matches!(
            self,
            Self::Tls13Kdf | Self::Hkdf | Self::Tls1Prf | Self::Hmac
        )
    }

    /// Returns the first OpenSSL version that implements the primitive itself: the major and the minor number.
    pub const fn since(self) -> (u32, u32) {
        let is_new = matches!(self, Self::MlDsa44 | Self::MlDsa65 | Self::MlDsa87);
        if is_new || self.is_ml_kem() || self.is_group() {
            (3, 5)
        } else {
            (3, 0)
        }
    }

    /// Whether the primitive is a post-quantum group of TLS. The provider offers those with every OpenSSL.
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
