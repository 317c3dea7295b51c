//! A private key, here or behind a relay, with its public half.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptoki_sys::*;
use oarlock::keys::{
    AcceleratedKey, AcceleratedPublicKey, Curve, KeyType, PrivateKey, PublicKey, Scheme,
};
use oarlock::rsa::{EncryptionScheme, Hash, RsaPublicKey, SignatureScheme};
use oarlock::{Accelerator, Error};
use oarlock_engine::ec::{EcPrivateKey, EcPublicKey, SIGNATURE_BYTES_MAX};
use oarlock_local::relay::{
    LastingClient, ListedKey, NoAnswer, Operation, Question, Rights, Scheme as RelayScheme,
    public_key_digest,
};
use zeroize::Zeroizing;

use crate::ecdsa;
use crate::mechanisms::Signing;
use crate::report::tell;

/// A key pair of a token.
pub(crate) struct Key {
    public: AcceleratedPublicKey,
    /// The public half, if it is on a curve of NIST's: digests of any length are verified.
    ec_public: Option<EcPublicKey>,
    private: Private,
    rights: Rights,
}

enum Private {
    Here {
        key: AcceleratedKey,
        ec: Option<EcPrivateKey>,
    },
    Relay {
        relay: Arc<LastingClient>,
        key_id: String,
        /// The digest of the public half: the server refuses to use another key of that name.
        digest: [u8; 32],
        /// Set when the list of keys may have changed.
        is_stale: Arc<AtomicBool>,
    },
}

impl Key {
    /// Returns a key of this process.
    pub(crate) fn here(accelerator: &Accelerator, key: &PrivateKey) -> Result<Self, Error> {
        let ec = match key.key_type() {
            KeyType::Ec(curve) => Some(EcPrivateKey::new(curve, &key.to_raw()?)?),
            _ => None,
        };
        Ok(Self {
            public: accelerator.public_key(key.public_key()),
            ec_public: ec_public(key.public_key())?,
            private: Private::Here {
                key: accelerator.key(key),
                ec,
            },
            rights: Rights {
                sign: true,
                decrypt: true,
                raw_private: true,
            },
        })
    }

    /// Returns a key behind a relay.
    pub(crate) fn behind(
        accelerator: &Accelerator,
        relay: &Arc<LastingClient>,
        is_stale: &Arc<AtomicBool>,
        key: &ListedKey,
    ) -> Result<Self, Error> {
        let public = PublicKey::from_bytes(&key.public_key)?;
        Ok(Self {
            ec_public: ec_public(&public)?,
            rights: key.rights,
            public: accelerator.public_key(&public),
            private: Private::Relay {
                relay: Arc::clone(relay),
                key_id: key.key_id.clone(),
                digest: public_key_digest(&public),
                is_stale: Arc::clone(is_stale),
            },
        })
    }

    pub(crate) fn public(&self) -> &PublicKey {
        self.public.key()
    }

    /// Whether the key signs: the power of an RSA key is a signature, if its padding is made here.
    pub(crate) fn signs(&self) -> bool {
        let key_type = self.public().key_type();
        let by_power = key_type == KeyType::Rsa && self.rights.raw_private;
        key_type.signs() && (self.rights.sign || by_power)
    }

    /// Whether the key decrypts.
    pub(crate) fn decrypts(&self) -> bool {
        let is_rsa = self.public().key_type() == KeyType::Rsa;
        is_rsa && (self.rights.decrypt || self.rights.raw_private)
    }

    /// Returns the length of signatures in bytes.
    pub(crate) fn signature_bytes(&self) -> usize {
        match self.public().key_type() {
            KeyType::Ec(curve) => 2 * curve.bytes(),
            _ => self.public().signature_bytes_max(),
        }
    }

    /// Returns the length of the modulus in bytes; 0 for a key that is not RSA's.
    pub(crate) fn modulus_bytes(&self) -> usize {
        self.public().as_rsa().map_or(0, RsaPublicKey::bytes)
    }

    /// Refuses what a key cannot sign with, however the data may be.
    pub(crate) fn check(&self, signing: &Signing) -> Result<(), CK_RV> {
        match signing {
            Signing::Rsa { scheme, .. } if scheme.hash() == Hash::Sha1 => {
                Err(CKR_MECHANISM_PARAM_INVALID)
            }
            Signing::MlDsa { context } if !context.is_empty() => match self.private {
                Private::Here { .. } => Ok(()),
                // The protocol of the cryptoserver has no context.
                Private::Relay { .. } => Err(CKR_MECHANISM_PARAM_INVALID),
            },
            _ => Ok(()),
        }
    }

    /// Signs `data`: a digest if the way to sign has a hash function, else what the program gave.
    pub(crate) fn sign(&self, signing: &Signing, data: &[u8]) -> Result<Vec<u8>, CK_RV> {
        match (signing, &self.private) {
            (Signing::Pkcs1Data, _) => {
                let number = self.padded(data)?;
                self.sign_padded(data, &number)
            }
            (Signing::Rsa { scheme, .. }, _) if data.len() != scheme.hash().bytes() => {
                Err(CKR_DATA_LEN_RANGE)
            }
            (Signing::Rsa { scheme, .. }, Private::Here { key, .. }) => {
                key.sign_digest(&Scheme::Rsa(*scheme), data).map_err(failed)
            }
            (Signing::Rsa { scheme, .. }, Private::Relay { .. }) => {
                match Operation::sign(*scheme, data).filter(|_| self.rights.sign) {
                    Some(operation) => self.rsa_signature(operation, *scheme, data),
                    None => {
                        let rsa = self.public().as_rsa().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
                        let number = scheme.encode(data, rsa).map_err(failed)?;
                        Ok(self.power(&number)?.to_vec())
                    }
                }
            }
            (Signing::Ecdsa(_), _) if !(1..=DIGEST_BYTES_MAX).contains(&data.len()) => {
                Err(CKR_DATA_LEN_RANGE)
            }
            (Signing::Ecdsa(_), Private::Here { ec, .. }) => {
                let key = ec.as_ref().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
                let mut signature = [0; SIGNATURE_BYTES_MAX];
                let bytes = key.sign(data, &mut signature).map_err(failed)?;
                let curve = key.public_key().curve();
                ecdsa::to_fixed(curve, &signature[..bytes]).ok_or(CKR_FUNCTION_FAILED)
            }
            (Signing::Ecdsa(_), Private::Relay { .. }) => {
                let curve = self.curve()?;
                let operation = Operation::sign_ecdsa(curve, data).ok_or(CKR_DATA_LEN_RANGE)?;
                // A wrong signature reveals nothing: the server draws a new nonce for each. It refuses to sign with another
                // key than this one.
                ecdsa::to_fixed(curve, &self.asked(operation)?).ok_or_else(|| self.wrong())
            }
            (Signing::Ed25519, Private::Here { key, .. }) => {
                key.sign(&Scheme::Ed25519, data).map_err(failed)
            }
            (Signing::MlDsa { context }, Private::Here { key, .. }) => {
                key.sign(&ml_dsa(context), data).map_err(failed)
            }
            (Signing::Ed25519, Private::Relay { .. }) => {
                let operation = Operation::sign_message(RelayScheme::Ed25519, data);
                let signature = self.asked(operation.ok_or(CKR_DATA_LEN_RANGE)?)?;
                // A second signature of the message that differs from the first would reveal the key.
                match self.public.verify(&Scheme::Ed25519, data, &signature) {
                    Ok(()) => Ok(signature.to_vec()),
                    Err(_) => Err(self.wrong()),
                }
            }
            (Signing::MlDsa { .. }, Private::Relay { .. }) => {
                let KeyType::MlDsa(set) = self.public().key_type() else {
                    return Err(CKR_KEY_TYPE_INCONSISTENT);
                };
                let operation = Operation::sign_message(RelayScheme::MlDsa(set), data);
                let signature = self.asked(operation.ok_or(CKR_DATA_LEN_RANGE)?)?;
                match signature.len() == self.signature_bytes() {
                    true => Ok(signature.to_vec()),
                    false => Err(self.wrong()),
                }
            }
        }
    }

    /// Verifies a signature of `data`, which is as for [`sign`](Self::sign).
    pub(crate) fn verify(
        &self,
        signing: &Signing,
        data: &[u8],
        signature: &[u8],
    ) -> Result<(), CK_RV> {
        if signature.len() != self.signature_bytes() {
            return Err(CKR_SIGNATURE_LEN_RANGE);
        }
        let is_right = match signing {
            Signing::Pkcs1Data => {
                let rsa = self.public.as_rsa().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
                let number = self.padded(data)?;
                rsa.raw_public(signature).is_ok_and(|made| made == number)
            }
            Signing::Rsa { scheme, .. } => {
                if data.len() != scheme.hash().bytes() {
                    return Err(CKR_DATA_LEN_RANGE);
                }
                let scheme = Scheme::Rsa(*scheme);
                self.public.verify_digest(&scheme, data, signature).is_ok()
            }
            Signing::Ecdsa(_) => {
                if !(1..=DIGEST_BYTES_MAX).contains(&data.len()) {
                    return Err(CKR_DATA_LEN_RANGE);
                }
                let key = self.ec_public.as_ref().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
                ecdsa::to_der(key.curve(), signature)
                    .is_some_and(|signature| key.verify(data, &signature).is_ok())
            }
            Signing::Ed25519 => self
                .public
                .verify(&Scheme::Ed25519, data, signature)
                .is_ok(),
            Signing::MlDsa { context } => self
                .public
                .verify(&ml_dsa(context), data, signature)
                .is_ok(),
        };
        is_right.then_some(()).ok_or(CKR_SIGNATURE_INVALID)
    }

    /// Encrypts a message with the public half.
    pub(crate) fn encrypt(
        &self,
        scheme: &EncryptionScheme,
        message: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        let rsa = self.public.as_rsa().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
        rsa.encrypt(scheme, message).map_err(|error| match error {
            Error::InvalidInput(_) => CKR_DATA_LEN_RANGE,
            error => failed(error),
        })
    }

    /// Decrypts a ciphertext.
    pub(crate) fn decrypt(
        &self,
        scheme: &EncryptionScheme,
        ciphertext: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, CK_RV> {
        if ciphertext.len() != self.modulus_bytes() {
            return Err(CKR_ENCRYPTED_DATA_LEN_RANGE);
        }
        match &self.private {
            Private::Here { key, .. } => {
                let rsa = key.as_rsa().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
                rsa.decrypt(scheme, ciphertext).map_err(failed)
            }
            Private::Relay { .. } => {
                let operation = Operation::decrypt(scheme.clone(), ciphertext);
                if let Some(operation) = operation.filter(|_| self.rights.decrypt) {
                    let message = self.asked(operation)?;
                    return match message.len() <= self.modulus_bytes() {
                        true => Ok(message),
                        false => Err(self.wrong()),
                    };
                }
                if matches!(scheme, EncryptionScheme::Pkcs1) {
                    return Err(CKR_KEY_FUNCTION_NOT_PERMITTED);
                }
                let power = self.power(ciphertext)?;
                scheme.decode(&power, ciphertext, None).map_err(failed)
            }
        }
    }

    /// Returns data with the padding of PKCS#1 v1.5 for signatures (RFC 8017, 9.2).
    fn padded(&self, data: &[u8]) -> Result<Vec<u8>, CK_RV> {
        let bytes = self.modulus_bytes();
        if data.len() + 11 > bytes {
            return Err(CKR_DATA_LEN_RANGE);
        }
        let mut number = vec![0xff; bytes - data.len() - 1];
        number[..2].copy_from_slice(&[0, 1]);
        number.push(0);
        number.extend_from_slice(data);
        Ok(number)
    }

    fn sign_padded(&self, data: &[u8], number: &[u8]) -> Result<Vec<u8>, CK_RV> {
        if let Private::Here { key, .. } = &self.private {
            let rsa = key.as_rsa().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
            return Ok(rsa.raw_private(number).map_err(failed)?.to_vec());
        }
        let rsa = self.public().as_rsa().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
        // The right to sign is usual, that to raise any number is not.
        for hash in [Hash::Sha256, Hash::Sha384, Hash::Sha512] {
            let scheme = SignatureScheme::Pkcs1(hash);
            let digest = &data[data.len().saturating_sub(hash.bytes())..];
            let is_it = scheme.encode(digest, rsa).is_ok_and(|made| made == number);
            if let Some(operation) =
                Operation::sign(scheme, digest).filter(|_| is_it && self.rights.sign)
            {
                return self.rsa_signature(operation, scheme, digest);
            }
        }
        Ok(self.power(number)?.to_vec())
    }

    /// Asks for an RSA signature, and verifies it: a wrong one can reveal the key (Boneh, DeMillo and Lipton 1997).
    fn rsa_signature(
        &self,
        operation: Operation,
        scheme: SignatureScheme,
        digest: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        let signature = self.asked(operation)?;
        let verified = self
            .public
            .verify_digest(&Scheme::Rsa(scheme), digest, &signature);
        match verified {
            Ok(()) if signature.len() == self.modulus_bytes() => Ok(signature.to_vec()),
            _ => Err(self.wrong()),
        }
    }

    /// Asks for the private power of a number, and checks it.
    fn power(&self, number: &[u8]) -> Result<Zeroizing<Vec<u8>>, CK_RV> {
        if !self.rights.raw_private {
            tell(&format!(
                "{}: this way to sign or decrypt needs the right to raise numbers (raw_private), which the client does not have",
                self.name()
            ));
            return Err(CKR_KEY_FUNCTION_NOT_PERMITTED);
        }
        let power = self.asked(Operation::RawPrivate(number.to_vec()))?;
        let public = self.public.as_rsa().ok_or(CKR_KEY_TYPE_INCONSISTENT)?;
        let is_right = power.len() == number.len()
            && public.raw_public(&power).is_ok_and(|made| made == number);
        is_right.then_some(power).ok_or_else(|| self.wrong())
    }

    fn asked(&self, operation: Operation) -> Result<Zeroizing<Vec<u8>>, CK_RV> {
        let Private::Relay {
            relay,
            key_id,
            digest,
            is_stale,
        } = &self.private
        else {
            return Err(CKR_FUNCTION_FAILED);
        };
        let question = Question {
            key_id: key_id.clone(),
            public_key: Some(*digest),
            operation,
        };
        relay.ask(&question).map_err(|error| {
            let why = match error {
                NoAnswer::Refused(why) => {
                    // The key may have been replaced, disabled or forbidden.
                    is_stale.store(true, Ordering::Release);
                    why
                }
                error => format!("{}: {error}", relay.path().display()),
            };
            tell(&format!("{}: {why}", self.name()));
            CKR_DEVICE_ERROR
        })
    }

    #[cold]
    fn wrong(&self) -> CK_RV {
        tell(&format!(
            "{}: the answer is not of this key: has the server another one of that name by now?",
            self.name()
        ));
        CKR_DEVICE_ERROR
    }

    fn name(&self) -> String {
        match &self.private {
            Private::Here { .. } => "a key of this machine".into(),
            Private::Relay { key_id, .. } => format!("key {key_id:?}"),
        }
    }

    fn curve(&self) -> Result<Curve, CK_RV> {
        match self.public().key_type() {
            KeyType::Ec(curve) => Ok(curve),
            _ => Err(CKR_KEY_TYPE_INCONSISTENT),
        }
    }
}

fn ec_public(key: &PublicKey) -> Result<Option<EcPublicKey>, Error> {
    match key.key_type() {
        KeyType::Ec(curve) => EcPublicKey::new(curve, &key.to_raw()?).map(Some),
        _ => Ok(None),
    }
}

fn ml_dsa(context: &[u8]) -> Scheme {
    Scheme::MlDsa {
        context: context.to_vec(),
    }
}

/// Returns the number of an error of the library.
#[cold]
fn failed(error: Error) -> CK_RV {
    match error {
        Error::DecryptionFailed => CKR_ENCRYPTED_DATA_INVALID,
        Error::InvalidSignature => CKR_SIGNATURE_INVALID,
        Error::InvalidInput(_) => CKR_DATA_INVALID,
        error => {
            tell(&error.to_string());
            CKR_DEVICE_ERROR
        }
    }
}

/// The longest digest that ECDSA takes: SHA-512's.
const DIGEST_BYTES_MAX: usize = 64;
