//! Keys of any type with an accelerator: direct calls on the calling thread, or jobs.

use std::fmt;
use std::sync::Arc;

use oarlock_threads::job::{Job, JobOptions, QueueFull};
use zeroize::Zeroizing;

use crate::Error;
use crate::aws_lc::ml_kem::SECRET_BYTES;
use crate::plan::engine::Engine;
use crate::rsa::{AcceleratedRsa, AcceleratedRsaPublic};
use crate::work::keys::request::KeyRequest;
use crate::work::keys::scheme::Scheme;
use crate::work::keys::{PrivateKey, PublicKey};
use crate::work::request::Buffer;

/// A private key of any type with an accelerator, from `Accelerator::key`. Threads may share it; clones are cheap and keep
/// key and accelerator alive.
///
/// Calls compute on the calling thread, at the speed of the library behind them; RSA calls are those of [`AcceleratedRsa`].
/// Jobs go to the pool's threads, in the same queue as RSA's jobs.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::job::JobOptions;
/// use oarlock::keys::{KeyType, MlDsa, PrivateKey, Scheme};
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = accelerator.key(&PrivateKey::generate(KeyType::MlDsa(MlDsa::MlDsa65))?);
/// let one = key.submit_sign(Scheme::ML_DSA, b"one", JobOptions::default())?;
/// let two = key.submit_sign(Scheme::ML_DSA, b"two", JobOptions::default())?;
/// for (message, job) in [(b"one", one), (b"two", two)] {
///     key.public().verify(&Scheme::ML_DSA, message, &job.wait()?)?;
/// }
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedKey {
    key: PrivateKey,
    /// The session, if it is an RSA key.
    rsa: Option<AcceleratedRsa>,
    public: AcceleratedPublicKey,
}

/// A public key of any type with an accelerator, from `Accelerator::public_key`. Threads may share it; clones are cheap.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::job::JobOptions;
/// use oarlock::keys::{KeyType, MlKem, PrivateKey};
///
/// let accelerator = Accelerator::builder().build()?;
/// let private = PrivateKey::generate(KeyType::MlKem(MlKem::MlKem768))?;
/// let public = accelerator.public_key(private.public_key());
/// let (ciphertext, secret) = public.submit_encapsulate(JobOptions::default())?.wait()?;
/// assert_eq!(private.decapsulate(&ciphertext)?, secret);
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedPublicKey {
    key: PublicKey,
    /// The session, if it is an RSA key.
    rsa: Option<AcceleratedRsaPublic>,
    engine: Arc<Engine>,
}

impl AcceleratedKey {
    #[doc(hidden)]
    pub fn new(engine: &Arc<Engine>, key: &PrivateKey) -> Self {
        Self {
            key: key.clone(),
            rsa: key.as_rsa().map(|key| AcceleratedRsa::new(engine, key)),
            public: AcceleratedPublicKey::new(engine, key.public_key()),
        }
    }

    /// Returns the key.
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// Returns the public half.
    pub fn public(&self) -> &AcceleratedPublicKey {
        &self.public
    }

    /// Returns the session of an RSA key, which can also decrypt.
    pub fn as_rsa(&self) -> Option<&AcceleratedRsa> {
        self.rsa.as_ref()
    }

    /// Signs a message of any length, like [`PrivateKey::sign`].
    ///
    /// # Errors
    /// Those of [`PrivateKey::sign`].
    pub fn sign(&self, scheme: &Scheme, message: &[u8]) -> Result<Vec<u8>, Error> {
        match (&self.rsa, scheme) {
            (Some(rsa), Scheme::Rsa(scheme)) => rsa.sign(*scheme, message),
            _ => self.key.sign(scheme, message),
        }
    }

    /// Signs a message by its digest, like [`PrivateKey::sign_digest`].
    ///
    /// # Errors
    /// Those of [`PrivateKey::sign_digest`].
    pub fn sign_digest(&self, scheme: &Scheme, digest: &[u8]) -> Result<Vec<u8>, Error> {
        match (&self.rsa, scheme) {
            (Some(rsa), Scheme::Rsa(scheme)) => rsa.sign_digest(*scheme, digest),
            _ => self.key.sign_digest(scheme, digest),
        }
    }

    /// Computes the secret shared with a peer, like [`PrivateKey::agree`].
    ///
    /// # Errors
    /// Those of [`PrivateKey::agree`].
    pub fn agree(&self, peer: &PublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.key.agree(peer)
    }

    /// Returns the secret that a ciphertext carries, like [`PrivateKey::decapsulate`].
    ///
    /// # Errors
    /// Those of [`PrivateKey::decapsulate`].
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.key.decapsulate(ciphertext)
    }

    /// Submits a job of [`sign`](Self::sign).
    ///
    /// # Errors
    /// [`QueueFull`], with the message.
    pub fn submit_sign(
        &self,
        scheme: Scheme,
        message: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        if let (Some(rsa), Scheme::Rsa(scheme)) = (&self.rsa, &scheme) {
            return rsa.submit_sign(*scheme, message, options);
        }
        let make = |message| KeyRequest::Sign(self.key.clone(), scheme, Buffer::new(message));
        self.submit(message.into(), make, options, public_bytes)
    }

    /// Submits a job of [`sign_digest`](Self::sign_digest).
    ///
    /// # Errors
    /// [`QueueFull`], with the digest.
    pub fn submit_sign_digest(
        &self,
        scheme: Scheme,
        digest: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        if let (Some(rsa), Scheme::Rsa(scheme)) = (&self.rsa, &scheme) {
            return rsa.submit_sign_digest(*scheme, digest, options);
        }
        let make = |digest| KeyRequest::SignDigest(self.key.clone(), scheme, Buffer::new(digest));
        self.submit(digest.into(), make, options, public_bytes)
    }

    /// Submits a job of [`agree`](Self::agree).
    ///
    /// # Errors
    /// [`QueueFull`].
    pub fn submit_agree(
        &self,
        peer: &PublicKey,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<()>> {
        let make = |()| KeyRequest::Agree(self.key.clone(), peer.clone());
        self.submit((), make, options, |secret| secret)
    }

    /// Submits a job of [`decapsulate`](Self::decapsulate).
    ///
    /// # Errors
    /// [`QueueFull`], with the ciphertext.
    pub fn submit_decapsulate(
        &self,
        ciphertext: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<Vec<u8>>> {
        let make = |bytes| KeyRequest::Decapsulate(self.key.clone(), Buffer::new(bytes));
        self.submit(ciphertext.into(), make, options, |secret| secret)
    }

    fn submit<R, T: 'static>(
        &self,
        buffers: R,
        make: impl FnOnce(R) -> KeyRequest,
        options: JobOptions,
        convert: fn(Buffer) -> T,
    ) -> Result<Job<T>, QueueFull<R>> {
        self.public.engine.submit(buffers, make, options, convert)
    }
}

impl AcceleratedPublicKey {
    #[doc(hidden)]
    pub fn new(engine: &Arc<Engine>, key: &PublicKey) -> Self {
        Self {
            key: key.clone(),
            rsa: key
                .as_rsa()
                .map(|key| AcceleratedRsaPublic::new(engine, key)),
            engine: Arc::clone(engine),
        }
    }

    /// Returns the key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Returns the session of an RSA key, which can also encrypt.
    pub fn as_rsa(&self) -> Option<&AcceleratedRsaPublic> {
        self.rsa.as_ref()
    }

    /// Verifies a signature of a message, like [`PublicKey::verify`].
    ///
    /// # Errors
    /// Those of [`PublicKey::verify`].
    pub fn verify(&self, scheme: &Scheme, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        match (&self.rsa, scheme) {
            (Some(rsa), Scheme::Rsa(scheme)) => rsa.verify(*scheme, message, signature),
            _ => self.key.verify(scheme, message, signature),
        }
    }

    /// Verifies a signature of a message by its digest, like [`PublicKey::verify_digest`].
    ///
    /// # Errors
    /// Those of [`PublicKey::verify_digest`].
    pub fn verify_digest(
        &self,
        scheme: &Scheme,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        match (&self.rsa, scheme) {
            (Some(rsa), Scheme::Rsa(scheme)) => rsa.verify_digest(*scheme, digest, signature),
            _ => self.key.verify_digest(scheme, digest, signature),
        }
    }

    /// Generates a secret and the ciphertext that carries it, like [`PublicKey::encapsulate`].
    ///
    /// # Errors
    /// Those of [`PublicKey::encapsulate`].
    pub fn encapsulate(&self) -> Result<CiphertextAndSecret, Error> {
        self.key.encapsulate()
    }

    /// Submits a job of [`verify`](Self::verify).
    ///
    /// # Errors
    /// [`QueueFull`], with message and signature.
    pub fn submit_verify(
        &self,
        scheme: Scheme,
        message: impl Into<Vec<u8>>,
        signature: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<()>, QueueFull<MessageAndSignature>> {
        if let (Some(rsa), Scheme::Rsa(scheme)) = (&self.rsa, &scheme) {
            return rsa.submit_verify(*scheme, message, signature, options);
        }
        let make = |(message, signature)| {
            let (message, signature) = (Buffer::new(message), Buffer::new(signature));
            KeyRequest::Verify(self.key.clone(), scheme, message, signature)
        };
        let buffers = (message.into(), signature.into());
        self.engine.submit(buffers, make, options, drop)
    }

    /// Submits a job of [`verify_digest`](Self::verify_digest).
    ///
    /// # Errors
    /// [`QueueFull`], with digest and signature.
    pub fn submit_verify_digest(
        &self,
        scheme: Scheme,
        digest: impl Into<Vec<u8>>,
        signature: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<()>, QueueFull<MessageAndSignature>> {
        if let (Some(rsa), Scheme::Rsa(scheme)) = (&self.rsa, &scheme) {
            return rsa.submit_verify_digest(*scheme, digest, signature, options);
        }
        let make = |(digest, signature)| {
            let (digest, signature) = (Buffer::new(digest), Buffer::new(signature));
            KeyRequest::VerifyDigest(self.key.clone(), scheme, digest, signature)
        };
        let buffers = (digest.into(), signature.into());
        self.engine.submit(buffers, make, options, drop)
    }

    /// Submits a job of [`encapsulate`](Self::encapsulate).
    ///
    /// # Errors
    /// [`QueueFull`].
    pub fn submit_encapsulate(
        &self,
        options: JobOptions,
    ) -> Result<Job<CiphertextAndSecret>, QueueFull<()>> {
        let make = |()| KeyRequest::Encapsulate(self.key.clone());
        self.engine.submit((), make, options, |both| {
            let (ciphertext, secret) = both.split_at(both.len().saturating_sub(SECRET_BYTES));
            (ciphertext.to_vec(), Zeroizing::new(secret.to_vec()))
        })
    }
}

/// Shows only the type.
impl fmt::Debug for AcceleratedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AcceleratedKey").field(&self.key).finish()
    }
}

impl fmt::Debug for AcceleratedPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AcceleratedPublicKey")
            .field(&self.key)
            .finish()
    }
}

/// Returns a result that is not secret.
fn public_bytes(mut bytes: Buffer) -> Vec<u8> {
    std::mem::take(&mut *bytes)
}

/// A message or digest with its signature, returned if the queue is full.
type MessageAndSignature = (Vec<u8>, Vec<u8>);
/// A ciphertext and the secret that it carries.
type CiphertextAndSecret = (Vec<u8>, Zeroizing<Vec<u8>>);
