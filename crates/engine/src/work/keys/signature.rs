//! A signature type for RustCrypto's traits.

use std::fmt;

use pkcs8::der::{self, asn1::BitString};
use pkcs8::spki::SignatureBitStringEncoding;
use signature::SignatureEncoding;

/// A signature in the encoding of its scheme: as long as the modulus for RSA, DER for ECDSA, of fixed length for others.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature(pub(crate) Box<[u8]>);

impl SignatureEncoding for Signature {
    type Repr = Box<[u8]>;
}

impl SignatureBitStringEncoding for Signature {
    fn to_bitstring(&self) -> der::Result<BitString> {
        BitString::from_bytes(&self.0)
    }
}

impl AsRef<[u8]> for Signature {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Accepts any length. A signature of the wrong length fails to verify.
impl TryFrom<&[u8]> for Signature {
    type Error = signature::Error;

    fn try_from(bytes: &[u8]) -> Result<Self, signature::Error> {
        Ok(Self(bytes.into()))
    }
}

impl From<Signature> for Box<[u8]> {
    fn from(signature: Signature) -> Self {
        signature.0
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(")?;
        for byte in &self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}
