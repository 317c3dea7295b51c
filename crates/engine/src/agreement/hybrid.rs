//! Hybrid key exchange, secure as long as ML-KEM or the curve is (draft-ietf-tls-ecdhe-mlkem).
//!
//! Public keys, private keys, ciphertexts and secrets are the concatenation of both parts. ML-KEM comes first with X25519,
//! and the curve comes first with P-256 and P-384, because FIPS 140 requires the secret of an approved algorithm first.

use zeroize::{Zeroize as _, Zeroizing};

use super::{ML_KEM_SECRET_BYTES, MlKem, MlKemPrivateKey, MlKemPublicKey, X25519_BYTES};
use crate::Error;
use crate::agreement::X25519PrivateKey;
use crate::ec::{Curve, EcPrivateKey, EcPublicKey, POINT_BYTES_MAX};

/// A combination of ML-KEM and a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hybrid {
    /// ML-KEM-768 and X25519.
    X25519MlKem768,
    /// P-256 and ML-KEM-768.
    SecP256r1MlKem768,
    /// P-384 and ML-KEM-1024.
    SecP384r1MlKem1024,
}

impl Hybrid {
    /// All combinations.
    pub const ALL: [Self; 3] = [
        Self::X25519MlKem768,
        Self::SecP256r1MlKem768,
        Self::SecP384r1MlKem1024,
    ];

    /// Returns the name of the TLS group.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X25519MlKem768 => "X25519MLKEM768",
            Self::SecP256r1MlKem768 => "SecP256r1MLKEM768",
            Self::SecP384r1MlKem1024 => "SecP384r1MLKEM1024",
        }
    }

    /// Returns the number of the TLS group.
    pub const fn group(self) -> u16 {
        match self {
            Self::X25519MlKem768 => 0x11ec,
            Self::SecP256r1MlKem768 => 0x11eb,
            Self::SecP384r1MlKem1024 => 0x11ed,
        }
    }

    /// Returns the parameter set of ML-KEM.
    pub const fn ml_kem(self) -> MlKem {
        match self {
            Self::X25519MlKem768 | Self::SecP256r1MlKem768 => MlKem::MlKem768,
            Self::SecP384r1MlKem1024 => MlKem::MlKem1024,
        }
    }

    /// Returns the length in bytes of public keys.
    pub const fn public_key_bytes(self) -> usize {
        self.ml_kem().public_key_bytes() + self.share_bytes()
    }

    /// Returns the length in bytes of private keys.
    pub const fn private_key_bytes(self) -> usize {
        self.ml_kem().private_key_bytes() + self.scalar_bytes()
    }

    /// Returns the length in bytes of ciphertexts.
    pub const fn ciphertext_bytes(self) -> usize {
        self.ml_kem().ciphertext_bytes() + self.share_bytes()
    }

    /// Returns the length in bytes of shared secrets.
    pub const fn secret_bytes(self) -> usize {
        ML_KEM_SECRET_BYTES + self.scalar_bytes()
    }

    /// Returns the length in bytes of the curve's public keys.
    const fn share_bytes(self) -> usize {
        match self.curve() {
            None => X25519_BYTES,
            Some(curve) => curve.point_bytes(),
        }
    }

    /// Returns the length in bytes of the curve's private keys and secrets.
    const fn scalar_bytes(self) -> usize {
        match self.curve() {
            None => X25519_BYTES,
            Some(curve) => curve.bytes(),
        }
    }

    /// Returns the NIST curve, or `None` for X25519.
    const fn curve(self) -> Option<Curve> {
        match self {
            Self::X25519MlKem768 => None,
            Self::SecP256r1MlKem768 => Some(Curve::P256),
            Self::SecP384r1MlKem1024 => Some(Curve::P384),
        }
    }

    const fn is_ml_kem_first(self) -> bool {
        self.curve().is_none()
    }

    /// Splits bytes into the ML-KEM part and the curve's part, which has `curve_bytes` bytes.
    fn split(self, bytes: &[u8], curve_bytes: usize) -> (&[u8], &[u8]) {
        if self.is_ml_kem_first() {
            bytes.split_at(bytes.len() - curve_bytes)
        } else {
            let (curve, ml_kem) = bytes.split_at(curve_bytes);
            (ml_kem, curve)
        }
    }

    fn split_mut(self, bytes: &mut [u8], curve_bytes: usize) -> (&mut [u8], &mut [u8]) {
        if self.is_ml_kem_first() {
            bytes.split_at_mut(bytes.len() - curve_bytes)
        } else {
            let (curve, ml_kem) = bytes.split_at_mut(curve_bytes);
            (ml_kem, curve)
        }
    }

    fn check_length(self, what: &str, given: usize, expected: usize) -> Result<(), Error> {
        if given == expected {
            return Ok(());
        }
        Err(Error::InvalidInput(format!(
            "{}: a {what} has {expected} bytes, not {given}",
            self.name()
        )))
    }

    /// Calls `fill` to write the secrets of ML-KEM and of the curve, and wipes both if it fails.
    fn with_secrets(
        self,
        secret: &mut [u8],
        fill: impl FnOnce(&mut [u8; ML_KEM_SECRET_BYTES], &mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check_length("secret", secret.len(), self.secret_bytes())?;
        let (ml_kem, curve) = self.split_mut(secret, self.scalar_bytes());
        let done = match ml_kem.try_into() {
            Ok(ml_kem) => fill(ml_kem, curve),
            Err(_) => Err(unfit(self)),
        };
        if done.is_err() {
            secret.zeroize();
        }
        done
    }
}

/// A public key.
pub struct HybridPublicKey {
    hybrid: Hybrid,
    ml_kem: MlKemPublicKey,
    curve: Share,
}

impl HybridPublicKey {
    /// Creates a key from its encoding, which a client sends as its key share.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if it has another length, and [`Error::InvalidKey`] if a part of it is not a valid public
    /// key. An X25519 key of small order is detected only in use.
    pub fn from_bytes(hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        hybrid.check_length("public key", bytes.len(), hybrid.public_key_bytes())?;
        let (ml_kem, curve) = hybrid.split(bytes, hybrid.share_bytes());
        Ok(Self {
            hybrid,
            ml_kem: MlKemPublicKey::from_bytes(hybrid.ml_kem(), ml_kem)?,
            curve: Share::from_bytes(hybrid, curve)?,
        })
    }

    /// Returns the combination.
    pub fn hybrid(&self) -> Hybrid {
        self.hybrid
    }

    /// Writes the public key to `output`, which has [`Hybrid::public_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("public key", output.len(), hybrid.public_key_bytes())?;
        let (ml_kem, curve) = hybrid.split_mut(output, hybrid.share_bytes());
        self.ml_kem.write_to(ml_kem)?;
        self.curve.write_to(curve);
        Ok(())
    }

    /// Generates a secret. Writes it to `secret`, which has [`Hybrid::secret_bytes`] bytes, and a ciphertext that carries it
    /// to `ciphertext`, which has [`Hybrid::ciphertext_bytes`] bytes and is a server's key share.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if one of them has another length, [`Error::InvalidKey`] if the X25519 key has small order,
    /// and [`Error::DeviceFailed`] if memory is exhausted. On error, `secret` holds no part of a secret.
    pub fn encapsulate(&self, ciphertext: &mut [u8], secret: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("ciphertext", ciphertext.len(), hybrid.ciphertext_bytes())?;
        let (ml_kem, curve) = hybrid.split_mut(ciphertext, hybrid.share_bytes());
        hybrid.with_secrets(secret, |ml_kem_secret, curve_secret| {
            self.ml_kem.encapsulate(ml_kem, ml_kem_secret)?;
            let own = Scalar::generate(hybrid)?;
            own.write_public_to(curve);
            own.agree(hybrid, &self.curve, curve_secret)
        })
    }
}

/// A private key, with its public key. Wiped on drop.
pub struct HybridPrivateKey {
    hybrid: Hybrid,
    ml_kem: MlKemPrivateKey,
    curve: Scalar,
}

impl HybridPrivateKey {
    /// Generates a key pair.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn generate(hybrid: Hybrid) -> Result<Self, Error> {
        Ok(Self {
            hybrid,
            ml_kem: MlKemPrivateKey::generate(hybrid.ml_kem())?,
            curve: Scalar::generate(hybrid)?,
        })
    }

    /// Creates a key from the expanded form of ML-KEM and the curve's scalar.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if it has another length, and [`Error::InvalidKey`] if a part of it is not a valid private
    /// key.
    pub fn from_bytes(hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        hybrid.check_length("private key", bytes.len(), hybrid.private_key_bytes())?;
        let (ml_kem, curve) = hybrid.split(bytes, hybrid.scalar_bytes());
        Ok(Self {
            hybrid,
            ml_kem: MlKemPrivateKey::from_bytes(hybrid.ml_kem(), ml_kem)?,
            curve: Scalar::from_bytes(hybrid, curve)?,
        })
    }

    /// Returns the combination.
    pub fn hybrid(&self) -> Hybrid {
        self.hybrid
    }

    /// Returns the public key.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn public_key(&self) -> Result<HybridPublicKey, Error> {
        let mut bytes = vec![0; self.hybrid.public_key_bytes()];
        self.write_public_to(&mut bytes)?;
        HybridPublicKey::from_bytes(self.hybrid, &bytes)
    }

    /// Returns the private key in the encoding of [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let hybrid = self.hybrid;
        let mut bytes = Zeroizing::new(vec![0; hybrid.private_key_bytes()]);
        let (ml_kem, curve) = hybrid.split_mut(&mut bytes, hybrid.scalar_bytes());
        self.ml_kem.write_to(ml_kem)?;
        self.curve.write_to(curve);
        Ok(bytes)
    }

    /// Writes the public key to `output`, which has [`Hybrid::public_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_public_to(&self, output: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("public key", output.len(), hybrid.public_key_bytes())?;
        let (ml_kem, curve) = hybrid.split_mut(output, hybrid.share_bytes());
        self.ml_kem.write_public_to(ml_kem)?;
        self.curve.write_public_to(curve);
        Ok(())
    }

    /// Writes the secret that `ciphertext` carries to `secret`, which has [`Hybrid::secret_bytes`] bytes. If the ML-KEM part
    /// of the ciphertext was altered, the secret is one that no peer shares ([`MlKemPrivateKey::decapsulate`]).
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if one of them has another length, and [`Error::InvalidKey`] if the curve's part is not a
    /// valid public key or has small order. On error, `secret` holds no part of a secret.
    pub fn decapsulate(&self, ciphertext: &[u8], secret: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("ciphertext", ciphertext.len(), hybrid.ciphertext_bytes())?;
        let (ml_kem, curve) = hybrid.split(ciphertext, hybrid.share_bytes());
        hybrid.with_secrets(secret, |ml_kem_secret, curve_secret| {
            self.ml_kem.decapsulate(ml_kem, ml_kem_secret)?;
            self.curve
                .agree(hybrid, &Share::from_bytes(hybrid, curve)?, curve_secret)
        })
    }
}

/// A public key of the curve.
enum Share {
    X25519([u8; X25519_BYTES]),
    /// A NIST point, encoded uncompressed.
    Ec(EcPublicKey),
}

impl Share {
    fn from_bytes(hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        match hybrid.curve() {
            None => bytes
                .try_into()
                .map(Self::X25519)
                .map_err(|_| unfit(hybrid)),
            Some(curve) => EcPublicKey::new(curve, bytes).map(Self::Ec),
        }
    }

    fn write_to(&self, output: &mut [u8]) {
        match self {
            Self::X25519(bytes) => output.copy_from_slice(bytes),
            Self::Ec(key) => output.copy_from_slice(key.point(&mut [0; POINT_BYTES_MAX])),
        }
    }
}

/// A private key of the curve, with its public key.
enum Scalar {
    X25519(X25519PrivateKey, [u8; X25519_BYTES]),
    Ec(EcPrivateKey),
}

impl Scalar {
    fn generate(hybrid: Hybrid) -> Result<Self, Error> {
        match hybrid.curve() {
            None => {
                let (private, public) = X25519PrivateKey::generate();
                Ok(Self::X25519(private, public))
            }
            Some(curve) => EcPrivateKey::generate(curve).map(Self::Ec),
        }
    }

    fn from_bytes(hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        match hybrid.curve() {
            None => {
                let bytes = bytes.try_into().map_err(|_| unfit(hybrid))?;
                let private = X25519PrivateKey::from_bytes(bytes);
                let public = private.public_key();
                Ok(Self::X25519(private, public))
            }
            Some(curve) => EcPrivateKey::new(curve, bytes).map(Self::Ec),
        }
    }

    fn write_to(&self, output: &mut [u8]) {
        match self {
            Self::X25519(private, _) => output.copy_from_slice(private.as_bytes()),
            Self::Ec(private) => output.copy_from_slice(&private.scalar()),
        }
    }

    fn write_public_to(&self, output: &mut [u8]) {
        match self {
            Self::X25519(_, public) => output.copy_from_slice(public),
            Self::Ec(private) => {
                output.copy_from_slice(private.public_key().point(&mut [0; POINT_BYTES_MAX]));
            }
        }
    }

    fn agree(&self, hybrid: Hybrid, peer: &Share, secret: &mut [u8]) -> Result<(), Error> {
        match (self, peer) {
            (Self::X25519(private, _), Share::X25519(peer)) => {
                let secret = secret.try_into().map_err(|_| unfit(hybrid))?;
                if private.agree(peer, secret) {
                    return Ok(());
                }
                Err(Error::InvalidKey(
                    "X25519: the peer's public key is of small order".into(),
                ))
            }
            (Self::Ec(private), Share::Ec(peer)) => private.agree(peer, secret),
            _ => Err(unfit(hybrid)),
        }
    }
}

/// Returns the error for a part whose length or curve does not fit the combination, which cannot happen.
fn unfit(hybrid: Hybrid) -> Error {
    Error::InvalidInput(format!("{}: a part does not fit", hybrid.name()))
}

#[cfg(test)]
mod tests;
