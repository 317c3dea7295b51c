//! graviola, for CPUs with AVX2, ADX and AES instructions. Like ring's, its RSA signs messages; a verification does not
//! parse the key again.

use graviola::aead::{AesGcm, ChaCha20Poly1305};
use graviola::signing::rsa::{SigningKey, VerifyingKey};
use oarlock_measure::Error;
use oarlock_measure::cases::{Algorithm, Case, RsaKey, RsaOperation, RsaRequest, Tasks};
use oarlock_measure::cpu_class;
use oarlock_measure::peers::{
    Aead, Peer, PeerFactory, Presence, PublicKey, Sealed, SingleRsa, SingleRsaKey, Subject,
};

/// The peer `graviola`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "graviola",
    presence: Presence::WhereAvailable,
    open: |_| {
        cpu_class::refuse_shown("graviola")?;
        if !graviola::util::is_cpu_supported() {
            return Err(Error::Unavailable("it does not run on this CPU".to_owned()));
        }
        Ok(Box::new(Graviola))
    },
};

struct Graviola;

impl Peer for Graviola {
    fn version(&self) -> String {
        "graviola 0.4".to_owned()
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        match case.algorithm {
            Algorithm::AesGcm { .. } => Subject::aead(Gcm(AesGcm::new(key))),
            Algorithm::ChaCha20Poly1305 => {
                let key = <[u8; 32]>::try_from(key)
                    .map_err(|_| Error::Failed("graviola: a key of 32 bytes is due".to_owned()))?;
                Subject::aead(ChaCha(ChaCha20Poly1305::new(key)))
            }
            _ => Err(Error::Unavailable("it has AEADs only".to_owned())),
        }
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        match tasks {
            Tasks::Rsa(tasks) if tasks.operation != RsaOperation::Private => {
                SingleRsa::set_up(tasks, Key::new)
            }
            Tasks::Rsa(_) | Tasks::ModExp(_) => Err(Error::Unavailable(
                "it does no operation without padding".to_owned(),
            )),
        }
    }
}

struct Gcm(AesGcm);
struct ChaCha(ChaCha20Poly1305);

/// Both types have the same methods, but no common trait.
macro_rules! aead {
    ($type:ty) => {
        impl Aead for $type {
            fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
                let mut tag = [0; 16];
                self.0.encrypt(nonce, aad, data, &mut tag);
                tag
            }

            /// Opens a copy of the message, since graviola opens only in place. The copy is part of the measured time, as
            /// for any program that keeps the ciphertext.
            fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
                data.copy_from_slice(&message.data);
                let opened = self.0.decrypt(&message.nonce, aad, data, &message.tag);
                opened.is_ok()
            }
        }
    };
}
aead!(Gcm);
aead!(ChaCha);

struct Key {
    private: SigningKey,
    public: VerifyingKey,
}

impl Key {
    fn new(key: &RsaKey) -> Result<Self, Error> {
        let private = SigningKey::from_pkcs1_der(key.der.as_bytes())
            .map_err(|error| Error::Unavailable(format!("it refuses the key: {error:?}")))?;
        Ok(Self {
            public: private.public_key(),
            private,
        })
    }
}

impl SingleRsaKey for Key {
    fn sign(&mut self, _: RsaOperation, request: &RsaRequest, result: &mut [u8]) {
        let signed = self.private.sign_pkcs1_sha256(result, &request.message);
        assert!(signed.is_ok(), "graviola signs");
    }

    fn verify(&mut self, request: &RsaRequest) -> bool {
        let RsaRequest {
            message, signature, ..
        } = request;
        self.public.verify_pkcs1_sha256(signature, message).is_ok()
    }
}
