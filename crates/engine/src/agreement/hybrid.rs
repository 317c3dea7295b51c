//! Key exchange that holds as long as ML-KEM or a curve does (draft-ietf-tls-ecdhe-mlkem).
//!
//! Public keys, private keys, ciphertexts and secrets are those of both parts, one after the other. ML-KEM comes first
//! with X25519, and the curve with P-256 and P-384, because FIPS 140 wants the secret of an approved algorithm first.

use zeroize::{Zeroize as _, Zeroizing};

use super::{ML_KEM_SECRET_BYTES, MlKem, MlKemPrivateKey, MlKemPublicKey, X25519_BYTES};
use crate::Error;
use crate::agreement::X25519PrivateKey;

/// A pair of ML-KEM and a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hybrid {
    /// ML-KEM-768 and X25519.
    X25519MlKem768,
}

impl Hybrid {
    /// Each of them.
    pub const ALL: [Self; 1] = [Self::X25519MlKem768];

    /// The name of its group in TLS.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X25519MlKem768 => "X25519MLKEM768",
        }
    }

    /// The number of its group in TLS.
    pub const fn group(self) -> u16 {
        match self {
            Self::X25519MlKem768 => 0x11ec,
        }
    }

    /// The parameter set of ML-KEM.
    pub const fn ml_kem(self) -> MlKem {
        match self {
            Self::X25519MlKem768 => MlKem::MlKem768,
        }
    }

    /// The length in bytes of public keys.
    pub const fn public_key_bytes(self) -> usize {
        self.ml_kem().public_key_bytes() + self.share_bytes()
    }

    /// The length in bytes of private keys.
    pub const fn private_key_bytes(self) -> usize {
        self.ml_kem().private_key_bytes() + self.scalar_bytes()
    }

    /// The length in bytes of ciphertexts.
    pub const fn ciphertext_bytes(self) -> usize {
        self.ml_kem().ciphertext_bytes() + self.share_bytes()
    }

    /// The length in bytes of shared secrets.
    pub const fn secret_bytes(self) -> usize {
        ML_KEM_SECRET_BYTES + self.scalar_bytes()
    }

    /// The length in bytes of a public key of the curve.
    const fn share_bytes(self) -> usize {
        match self {
            Self::X25519MlKem768 => X25519_BYTES,
        }
    }

    /// The length in bytes of a private key of the curve, and of a secret.
    const fn scalar_bytes(self) -> usize {
        match self {
            Self::X25519MlKem768 => X25519_BYTES,
        }
    }

    const fn is_ml_kem_first(self) -> bool {
        match self {
            Self::X25519MlKem768 => true,
        }
    }

    /// The parts of ML-KEM and of the curve, which has `curve_bytes`.
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

    /// Lets `fill` write the secrets of ML-KEM and of the curve, and leaves none behind if it fails.
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
    /// Takes a public key, as a client sends it as its key share.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where it is of another length, and [`Error::InvalidKey`] where a part of it is no public
    /// key. That a key of X25519 is of small order shows when it is used.
    pub fn from_bytes(hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        hybrid.check_length("public key", bytes.len(), hybrid.public_key_bytes())?;
        let (ml_kem, curve) = hybrid.split(bytes, hybrid.share_bytes());
        Ok(Self {
            hybrid,
            ml_kem: MlKemPublicKey::from_bytes(hybrid.ml_kem(), ml_kem)?,
            curve: Share::from_bytes(hybrid, curve)?,
        })
    }

    /// Which pair it is of.
    pub fn hybrid(&self) -> Hybrid {
        self.hybrid
    }

    /// Writes the public key to `output`, which has [`Hybrid::public_key_bytes`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where `output` is of another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("public key", output.len(), hybrid.public_key_bytes())?;
        let (ml_kem, curve) = hybrid.split_mut(output, hybrid.share_bytes());
        self.ml_kem.write_to(ml_kem)?;
        self.curve.write_to(curve);
        Ok(())
    }

    /// Generates a secret and writes it to `secret`, which has [`Hybrid::secret_bytes`], and a ciphertext that carries it
    /// to `ciphertext`, which has [`Hybrid::ciphertext_bytes`]: a server's key share.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where one of them is of another length, [`Error::InvalidKey`] where the key of X25519 is
    /// of small order, and [`Error::DeviceFailed`] where memory has run out. `secret` has no part of a secret then.
    pub fn encapsulate(&self, ciphertext: &mut [u8], secret: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("ciphertext", ciphertext.len(), hybrid.ciphertext_bytes())?;
        let (ml_kem, curve) = hybrid.split_mut(ciphertext, hybrid.share_bytes());
        hybrid.with_secrets(secret, |ml_kem_secret, curve_secret| {
            self.ml_kem.encapsulate(ml_kem, ml_kem_secret)?;
            let own = Scalar::generate(hybrid);
            own.write_public_to(curve);
            own.agree(&self.curve, curve_secret)
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
    /// [`Error::DeviceFailed`] where memory has run out.
    pub fn generate(hybrid: Hybrid) -> Result<Self, Error> {
        Ok(Self {
            hybrid,
            ml_kem: MlKemPrivateKey::generate(hybrid.ml_kem())?,
            curve: Scalar::generate(hybrid),
        })
    }

    /// Takes a private key: the expanded form of ML-KEM, and the scalar of the curve.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where it is of another length, and [`Error::InvalidKey`] where a part of it is no private
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

    /// Which pair it is of.
    pub fn hybrid(&self) -> Hybrid {
        self.hybrid
    }

    /// The public key.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] where memory has run out.
    pub fn public_key(&self) -> Result<HybridPublicKey, Error> {
        let mut bytes = vec![0; self.hybrid.public_key_bytes()];
        self.write_public_to(&mut bytes)?;
        HybridPublicKey::from_bytes(self.hybrid, &bytes)
    }

    /// The private key, as [`from_bytes`](Self::from_bytes) takes it.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] where memory has run out.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let hybrid = self.hybrid;
        let mut bytes = Zeroizing::new(vec![0; hybrid.private_key_bytes()]);
        let (ml_kem, curve) = hybrid.split_mut(&mut bytes, hybrid.scalar_bytes());
        self.ml_kem.write_to(ml_kem)?;
        self.curve.write_to(curve);
        Ok(bytes)
    }

    /// Writes the public key to `output`, which has [`Hybrid::public_key_bytes`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where `output` is of another length.
    pub fn write_public_to(&self, output: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("public key", output.len(), hybrid.public_key_bytes())?;
        let (ml_kem, curve) = hybrid.split_mut(output, hybrid.share_bytes());
        self.ml_kem.write_public_to(ml_kem)?;
        self.curve.write_public_to(curve);
        Ok(())
    }

    /// Writes the secret that `ciphertext` carries to `secret`, which has [`Hybrid::secret_bytes`]. A ciphertext whose part
    /// of ML-KEM was altered has a secret that nobody else has ([`MlKemPrivateKey::decapsulate`]).
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where one of them is of another length, and [`Error::InvalidKey`] where the part of the
    /// curve is no public key or of small order. `secret` has no part of a secret then.
    pub fn decapsulate(&self, ciphertext: &[u8], secret: &mut [u8]) -> Result<(), Error> {
        let hybrid = self.hybrid;
        hybrid.check_length("ciphertext", ciphertext.len(), hybrid.ciphertext_bytes())?;
        let (ml_kem, curve) = hybrid.split(ciphertext, hybrid.share_bytes());
        hybrid.with_secrets(secret, |ml_kem_secret, curve_secret| {
            self.ml_kem.decapsulate(ml_kem, ml_kem_secret)?;
            self.curve
                .agree(&Share::from_bytes(hybrid, curve)?, curve_secret)
        })
    }
}

/// A public key of the curve.
enum Share {
    X25519([u8; X25519_BYTES]),
}

impl Share {
    fn from_bytes(hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        match hybrid {
            Hybrid::X25519MlKem768 => {
                let bytes = bytes.try_into().map_err(|_| unfit(hybrid))?;
                Ok(Self::X25519(bytes))
            }
        }
    }

    fn write_to(&self, output: &mut [u8]) {
        match self {
            Self::X25519(bytes) => output.copy_from_slice(bytes),
        }
    }
}

/// A private key of the curve, with its public key.
enum Scalar {
    X25519(X25519PrivateKey, [u8; X25519_BYTES]),
}

impl Scalar {
    fn generate(hybrid: Hybrid) -> Self {
        match hybrid {
            Hybrid::X25519MlKem768 => {
                let (private, public) = X25519PrivateKey::generate();
                Self::X25519(private, public)
            }
        }
    }

    fn from_bytes(hybrid: Hybrid, bytes: &[u8]) -> Result<Self, Error> {
        match hybrid {
            Hybrid::X25519MlKem768 => {
                let bytes = bytes.try_into().map_err(|_| unfit(hybrid))?;
                let private = X25519PrivateKey::from_bytes(bytes);
                let public = private.public_key();
                Ok(Self::X25519(private, public))
            }
        }
    }

    fn write_to(&self, output: &mut [u8]) {
        match self {
            Self::X25519(private, _) => output.copy_from_slice(private.as_bytes()),
        }
    }

    fn write_public_to(&self, output: &mut [u8]) {
        match self {
            Self::X25519(_, public) => output.copy_from_slice(public),
        }
    }

    fn agree(&self, peer: &Share, secret: &mut [u8]) -> Result<(), Error> {
        match (self, peer) {
            (Self::X25519(private, _), Share::X25519(peer)) => {
                let secret = secret
                    .try_into()
                    .map_err(|_| Error::InvalidInput("X25519: a secret has 32 bytes".into()))?;
                if private.agree(peer, secret) {
                    return Ok(());
                }
                Err(Error::InvalidKey(
                    "X25519: the peer's public key is of small order".into(),
                ))
            }
        }
    }
}

/// A part that is of another length than the whole allows for: never met.
fn unfit(hybrid: Hybrid) -> Error {
    Error::InvalidInput(format!("{}: a part is too short", hybrid.name()))
}

#[cfg(test)]
mod tests;
