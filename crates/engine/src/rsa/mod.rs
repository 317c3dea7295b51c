//! RSA: signatures and encryption, directly or as jobs; and modular exponentiation without a key.
//!
//! Direct calls compute on the calling thread if a CPU is free. Jobs go through the queue ([`job`](oarlock_threads::job)).
//! Bytes for a job may be borrowed, and are then copied, or owned.
//!
//! RustCrypto's signature traits are re-exported here: `use oarlock::rsa::{Signer, Verifier}` needs no dependency on the
//! crate `signature`.

pub(crate) mod modexp;
pub(crate) mod traits;

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

pub use ::signature::{Keypair, SignatureEncoding, Signer, Verifier};

pub use self::modexp::AcceleratedModExp;
pub use self::traits::{RsaSignature, RsaSigner, RsaVerifier};
use crate::Error;
pub use crate::aws_lc::rsa::{
    PrivateNumbers as RsaPrivateNumbers, RsaSecretNumbers, RsaSecretPrimes,
};
use crate::plan::engine::Engine;
pub use crate::work::modulus::{Base, ByteOrder};
use crate::work::request::{Buffer, PublicKeyRequest, Purpose, Target, TargetRef};
pub use crate::work::rsa::key::{RsaPrivateKey, RsaPublicKey};
pub use crate::work::rsa::padding::{Hash, PssSalt};
pub use crate::work::rsa::scheme::{EncryptionScheme, SignatureScheme, tls_premaster_secret};
use crate::work::shape::{BatchKey, BatchKind};
use oarlock_threads::job::{Job, JobOptions, QueueFull};

/// A private RSA key with an accelerator, from `Accelerator::rsa`. Threads may share it; clones are cheap and keep key and
/// accelerator alive.
///
/// Private operations are blinded, and every result is checked with the public exponent before it is released. Neither time
/// nor memory accesses depend on the key, provided that aws-lc keeps its promises.
///
/// A forked child may use its parent's keys, even those that were in use at the fork: `fork` waits up to 50 ms for
/// operations in progress.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::job::JobOptions;
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let rsa = accelerator.rsa(&key);
///
/// // Several at once, on the pool's threads; each job is also a `Future`.
/// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
/// let one = rsa.submit_sign(scheme, b"one", JobOptions::default())?;
/// let two = rsa.submit_sign(scheme, b"two", JobOptions::default())?;
/// for (message, job) in [(b"one", one), (b"two", two)] {
///     rsa.public().verify(scheme, message, &job.wait()?)?;
/// }
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedRsa {
    key: RsaPrivateKey,
    public: AcceleratedRsaPublic,
}

/// The implementation that computed a result, and the result: see [`AcceleratedRsa::raw_private_or`].
#[derive(Clone, PartialEq, Eq)]
pub enum Power<T> {
    /// A result from the accelerator: big-endian, as long as the modulus, and checked.
    InLanes(Zeroizing<Vec<u8>>),
    /// A result from the program's own implementation.
    Alone(T),
}

/// A public RSA key with an accelerator, from
/// `Accelerator::rsa_public`. Threads may share it; clones are cheap.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::rsa::{EncryptionScheme, Hash, RsaPrivateKey};
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let scheme = EncryptionScheme::oaep(Hash::Sha256);
/// let ciphertext = accelerator.rsa_public(key.public_key()).encrypt(&scheme, b"a key")?;
/// assert_eq!(**accelerator.rsa(&key).decrypt(&scheme, &ciphertext)?, *b"a key");
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedRsaPublic {
    key: RsaPublicKey,
    engine: Arc<Engine>,
}

impl AcceleratedRsa {
    #[doc(hidden)]
    pub fn new(engine: &Arc<Engine>, key: &RsaPrivateKey) -> Self {
        Self {
            key: key.clone(),
            public: AcceleratedRsaPublic::new(engine, key.public_key()),
        }
    }

    /// Returns the public half.
    pub fn public(&self) -> &AcceleratedRsaPublic {
        &self.public
    }

    /// Returns the accelerator's engine.
    #[doc(hidden)]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.public.engine
    }

    /// Returns the key.
    pub fn key(&self) -> &RsaPrivateKey {
        &self.key
    }

    /// Signs `message`, of any length (RFC 8017, 8). The signature is as long as the modulus.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the key is too short for the scheme, such as 1024 bits for PSS with SHA-512, and for
    /// [`Hash::Sha1`]. [`Error::DeviceFailed`] if the result failed its check.
    pub fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, Error> {
        let request = Purpose::Sign { scheme, message };
        self.run(&request).map(public_bytes)
    }

    /// Signs a message by its digest, which has the [length](Hash::bytes) of the scheme's hash.
    ///
    /// # Errors
    /// Those of [`sign`](Self::sign), and [`Error::InvalidInput`] for a digest of another length.
    pub fn sign_digest(&self, scheme: SignatureScheme, digest: &[u8]) -> Result<Vec<u8>, Error> {
        let request = Purpose::SignDigest { scheme, digest };
        self.run(&request).map(public_bytes)
    }

    /// Decrypts `ciphertext`, as long as the modulus (RFC 8017, 7). The message is wiped on drop.
    ///
    /// With [`EncryptionScheme::Pkcs1`], a malformed ciphertext decrypts too: to a message that depends only on key and
    /// ciphertext and is indistinguishable from a genuine one (implicit rejection). Bleichenbacher's attack needs to know
    /// whether a ciphertext is well-formed. So do not treat the message as authentic, and do not reveal by later behaviour
    /// whether it had the expected length or form.
    ///
    /// # Errors
    /// [`Error::DecryptionFailed`] for a ciphertext that is not as long as the modulus, or not less than it, and for any
    /// fault in OAEP; [`Error::DeviceFailed`] if the result failed its check.
    pub fn decrypt(
        &self,
        scheme: &EncryptionScheme,
        ciphertext: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let scheme = scheme.clone();
        self.run(&Purpose::Decrypt { scheme, ciphertext })
    }

    /// Returns `number` ^ d mod n (RFC 8017, 5.1.2), big-endian, as long as the modulus. `number` may have leading zeros.
    /// Without padding this is neither a signature nor encryption.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `number` is less than the modulus.
    pub fn raw_private(&self, number: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.run(&Purpose::Raw { number })
    }

    /// Computes [`raw_private`](Self::raw_private) for a program that has its own implementation: in a batch with requests
    /// of other threads if that takes less time, otherwise by `alone`. `number` returns the number; it is called only in the
    /// first case.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::rsa::{Power, RsaPrivateKey};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
    /// let rsa = accelerator.rsa(&key);
    /// let power = match rsa.raw_private_or(|| Ok(vec![2]), || rsa.raw_private(&[2]))? {
    ///     Power::InLanes(power) => power,
    ///     Power::Alone(result) => result?,
    /// };
    /// assert_eq!(power, rsa.raw_private(&[2])?);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `number` and of [`raw_private`](Self::raw_private).
    pub fn raw_private_or<T>(
        &self,
        number: impl FnOnce() -> Result<Vec<u8>, Error>,
        alone: impl FnOnce() -> T,
    ) -> Result<Power<T>, Error> {
        let jobs = &self.engine().jobs;
        let serve = || self.engine().serve_jobs(true);
        self.or(number, alone, |key, alone, make| {
            jobs.call(key, alone, make, serve)
        })
    }

    /// Computes [`raw_private_or`](Self::raw_private_or) without joining a batch: on this thread, in lanes if a single
    /// request is faster there, otherwise by `alone`.
    ///
    /// # Errors
    /// Those of `number` and of [`raw_private`](Self::raw_private).
    pub fn raw_private_alone_or<T>(
        &self,
        number: impl FnOnce() -> Result<Vec<u8>, Error>,
        alone: impl FnOnce() -> T,
    ) -> Result<Power<T>, Error> {
        let jobs = &self.engine().jobs;
        self.or(number, alone, |key, alone, make| {
            jobs.call_alone(key, alone, make)
        })
    }

    /// Passes `alone` and a request with the number from `number` to `call`, and returns its result.
    fn or<T>(
        &self,
        number: impl FnOnce() -> Result<Vec<u8>, Error>,
        alone: impl FnOnce() -> T,
        call: impl FnOnce(
            BatchKey,
            &mut dyn FnMut() -> Result<Buffer, Error>,
            &mut dyn FnMut() -> Result<PublicKeyRequest, Error>,
        ) -> Result<Buffer, Error>,
    ) -> Result<Power<T>, Error> {
        let target = TargetRef::Private(&self.key);
        let (mut alone, mut number) = (Some(alone), Some(number));
        let mut result = None;
        let power = call(
            target.batch_key(),
            &mut || {
                result = alone.take().map(|alone| alone());
                Ok(Buffer::default())
            },
            &mut || {
                let number = number.take().ok_or(Error::Cancelled)?()?;
                let operand = Purpose::Raw { number }.operand(target)?;
                Ok(PublicKeyRequest::of_number(target.to_owned(), operand))
            },
        )?;
        Ok(match result {
            Some(result) => Power::Alone(result),
            None => Power::InLanes(power),
        })
    }

    /// Computes [`raw_private`](Self::raw_private) alone on this thread, whatever else waits. It can be passed as `alone` to
    /// [`raw_private_or`](Self::raw_private_or) if it is faster than the program's own implementation.
    ///
    /// # Errors
    /// Those of [`raw_private`](Self::raw_private).
    pub fn raw_private_alone(&self, number: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let target = TargetRef::Private(&self.key);
        target.power(&Purpose::Raw { number }.operand(target)?)
    }

    /// Computes [`raw_private`](Self::raw_private) for several numbers, on this thread and without the queue: in lanes if
    /// that [pays](Self::best_batch), otherwise one after the other. Results are in the order of the numbers.
    ///
    /// ```
    /// # use oarlock::Accelerator;
    /// # use oarlock::rsa::RsaPrivateKey;
    /// # let accelerator = Accelerator::builder().build()?;
    /// # let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
    /// let rsa = accelerator.rsa(&key);
    /// let powers = rsa.raw_private_together(&[&[2], &[3]]);
    /// assert_eq!(powers[1], rsa.raw_private(&[3]));
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn raw_private_together(
        &self,
        numbers: &[&[u8]],
    ) -> Vec<Result<Zeroizing<Vec<u8>>, Error>> {
        let target = TargetRef::Private(&self.key);
        let request = |number: &&[u8]| {
            let operand = Purpose::Raw { number }.operand(target)?;
            Ok(PublicKeyRequest::of_number(target.to_owned(), operand))
        };
        let requests = numbers.iter().map(request).collect();
        self.engine().jobs.together(target.batch_key(), requests)
    }

    /// Computes [`raw_private`](Self::raw_private) on this thread and in lanes, whatever the time: for tests of the lanes.
    /// Returns `None` if this key has no lanes.
    ///
    /// ```
    /// # use oarlock::Accelerator;
    /// # use oarlock::rsa::RsaPrivateKey;
    /// # let accelerator = Accelerator::builder().build()?;
    /// # let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
    /// let rsa = accelerator.rsa(&key);
    /// if let Some(power) = rsa.raw_private_in_lanes(&[2]) {
    ///     assert_eq!(power, rsa.raw_private(&[2]));
    /// }
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn raw_private_in_lanes(&self, number: &[u8]) -> Option<Result<Zeroizing<Vec<u8>>, Error>> {
        let target = TargetRef::Private(&self.key);
        self.lanes()?;
        let request = Purpose::Raw { number }.operand(target);
        let request =
            request.map(|operand| PublicKeyRequest::of_number(target.to_owned(), operand));
        let jobs = &self.engine().jobs;
        Some(request.and_then(|request| jobs.in_lanes(target.batch_key(), &request)))
    }

    /// Returns how many exponentiations at once take no longer than one, as `Accelerator::lanes` does; a private operation
    /// has two. `None` if this key has no lanes.
    pub fn lanes(&self) -> Option<usize> {
        let batch_key = TargetRef::Private(&self.key).batch_key();
        let (_, lanes) = self.engine().jobs.lanes()?;
        (batch_key.kind() == BatchKind::Private).then_some(lanes)
    }

    /// Returns the best batch size if `waiting` private operations wait, of this key or of others of its width. 1 means that
    /// each is better computed alone, on a CPU of its own if possible.
    ///
    /// ```
    /// # use oarlock::Accelerator;
    /// # use oarlock::rsa::RsaPrivateKey;
    /// let accelerator = Accelerator::builder().build()?;
    /// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
    /// let at_once = accelerator.rsa(&key).best_batch(8);
    /// assert!((1..=8).contains(&at_once));
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn best_batch(&self, waiting: usize) -> usize {
        let key = TargetRef::Private(&self.key).batch_key();
        self.engine().jobs.best_batch(key, waiting)
    }

    /// Submits a job of [`sign`](Self::sign).
    ///
    /// # Errors
    /// [`QueueFull`], with the message.
    pub fn submit_sign(
        &self,
        scheme: SignatureScheme,
        message: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let make = |message| Purpose::Sign { scheme, message };
        self.submit(message.into(), make, options, public_bytes)
    }

    /// Submits a job of [`sign_digest`](Self::sign_digest).
    ///
    /// # Errors
    /// [`QueueFull`], with the digest.
    pub fn submit_sign_digest(
        &self,
        scheme: SignatureScheme,
        digest: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let make = |digest| Purpose::SignDigest { scheme, digest };
        self.submit(digest.into(), make, options, public_bytes)
    }

    /// Submits a job of [`decrypt`](Self::decrypt).
    ///
    /// # Errors
    /// [`QueueFull`], with the ciphertext.
    pub fn submit_decrypt(
        &self,
        scheme: &EncryptionScheme,
        ciphertext: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<Vec<u8>>> {
        let scheme = scheme.clone();
        let make = |ciphertext| Purpose::Decrypt { scheme, ciphertext };
        self.submit(ciphertext.into(), make, options, |message| message)
    }

    /// Submits a job of [`raw_private`](Self::raw_private).
    ///
    /// # Errors
    /// [`QueueFull`], with the number.
    pub fn submit_raw_private(
        &self,
        number: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<Vec<u8>>> {
        let make = |number| Purpose::Raw { number };
        self.submit(number.into(), make, options, |number| number)
    }

    fn run<B: AsRef<[u8]>>(&self, purpose: &Purpose<B>) -> Result<Buffer, Error> {
        call(self.engine(), TargetRef::Private(&self.key), purpose)
    }

    fn submit<T: 'static>(
        &self,
        bytes: Vec<u8>,
        make: impl FnOnce(Buffer) -> Purpose<Buffer>,
        options: JobOptions,
        convert: fn(Buffer) -> T,
    ) -> Result<Job<T>, QueueFull<Vec<u8>>> {
        let make = |bytes| {
            let target = Target::Private(self.key.clone());
            PublicKeyRequest::new(target, make(Zeroizing::new(bytes)))
        };
        self.engine().submit(bytes, make, options, convert)
    }
}

impl AcceleratedRsaPublic {
    #[doc(hidden)]
    pub fn new(engine: &Arc<Engine>, key: &RsaPublicKey) -> Self {
        Self {
            key: key.clone(),
            engine: Arc::clone(engine),
        }
    }

    /// Returns the key.
    pub fn key(&self) -> &RsaPublicKey {
        &self.key
    }

    /// Verifies that `signature` is a signature of `message` by this key and scheme.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] if it is not, including a signature of another length.
    pub fn verify(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let request = Purpose::Verify {
            scheme,
            message,
            signature,
        };
        self.run(&request).map(nothing)
    }

    /// Verifies a signature of a message by its digest, which has the [length](Hash::bytes) of the scheme's hash.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] if it is not a signature of that message, [`Error::InvalidInput`] for a digest of another
    /// length.
    pub fn verify_digest(
        &self,
        scheme: SignatureScheme,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let request = Purpose::VerifyDigest {
            scheme,
            digest,
            signature,
        };
        self.run(&request).map(nothing)
    }

    /// Encrypts `message` (RFC 8017, 7). The ciphertext is as long as the modulus.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a message that is too long. The limit for PKCS#1 v1.5 is 11 bytes less than the modulus,
    /// for OAEP two digests and 2 bytes less.
    pub fn encrypt(&self, scheme: &EncryptionScheme, message: &[u8]) -> Result<Vec<u8>, Error> {
        let scheme = scheme.clone();
        let request = Purpose::Encrypt { scheme, message };
        self.run(&request).map(public_bytes)
    }

    /// Returns `number` ^ e mod n (RFC 8017, 5.1.1), big-endian, as long as the modulus. `number` may have leading zeros.
    /// Without padding this is neither a signature nor encryption.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `number` is less than the modulus.
    pub fn raw_public(&self, number: &[u8]) -> Result<Vec<u8>, Error> {
        let request = Purpose::Raw { number };
        self.run(&request).map(public_bytes)
    }

    /// Submits a job of [`verify`](Self::verify).
    ///
    /// # Errors
    /// [`QueueFull`], with message and signature.
    pub fn submit_verify(
        &self,
        scheme: SignatureScheme,
        message: impl Into<Vec<u8>>,
        signature: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<()>, QueueFull<MessageAndSignature>> {
        let make = |(message, signature): MessageAndSignature| Purpose::Verify {
            scheme,
            message: Zeroizing::new(message),
            signature: Zeroizing::new(signature),
        };
        self.submit((message.into(), signature.into()), make, options, nothing)
    }

    /// Submits a job of [`verify_digest`](Self::verify_digest).
    ///
    /// # Errors
    /// [`QueueFull`], with digest and signature.
    pub fn submit_verify_digest(
        &self,
        scheme: SignatureScheme,
        digest: impl Into<Vec<u8>>,
        signature: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<()>, QueueFull<MessageAndSignature>> {
        let make = |(digest, signature): MessageAndSignature| Purpose::VerifyDigest {
            scheme,
            digest: Zeroizing::new(digest),
            signature: Zeroizing::new(signature),
        };
        self.submit((digest.into(), signature.into()), make, options, nothing)
    }

    /// Submits a job of [`encrypt`](Self::encrypt).
    ///
    /// # Errors
    /// [`QueueFull`], with the message.
    pub fn submit_encrypt(
        &self,
        scheme: &EncryptionScheme,
        message: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let scheme = scheme.clone();
        let make = |message| Purpose::Encrypt {
            scheme,
            message: Zeroizing::new(message),
        };
        self.submit(message.into(), make, options, public_bytes)
    }

    /// Submits a job of [`raw_public`](Self::raw_public).
    ///
    /// # Errors
    /// [`QueueFull`], with the number.
    pub fn submit_raw_public(
        &self,
        number: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let make = |number| Purpose::Raw {
            number: Zeroizing::new(number),
        };
        self.submit(number.into(), make, options, public_bytes)
    }

    fn run<B: AsRef<[u8]>>(&self, purpose: &Purpose<B>) -> Result<Buffer, Error> {
        call(&self.engine, TargetRef::Public(&self.key), purpose)
    }

    fn submit<R, T: 'static>(
        &self,
        buffers: R,
        make: impl FnOnce(R) -> Purpose<Buffer>,
        options: JobOptions,
        convert: fn(Buffer) -> T,
    ) -> Result<Job<T>, QueueFull<R>> {
        let make = |buffers| {
            let target = Target::Public(self.key.clone());
            PublicKeyRequest::new(target, make(buffers))
        };
        self.engine.submit(buffers, make, options, convert)
    }
}

/// Computes a request alone if a CPU is free, otherwise in a batch with requests of other callers.
fn call<B: AsRef<[u8]>>(
    engine: &Engine,
    target: TargetRef<'_>,
    purpose: &Purpose<B>,
) -> Result<Buffer, Error> {
    let operand = purpose.operand(target)?;
    let power = match target {
        // The calling thread waits for a device and uses no CPU.
        TargetRef::Private(key) if key.holder().is_some() => target.power(&operand)?,
        _ => engine.jobs.call(
            target.batch_key(),
            || target.power(&operand),
            || {
                Ok(PublicKeyRequest::of_number(
                    target.to_owned(),
                    operand.clone(),
                ))
            },
            || engine.serve_jobs(true),
        )?,
    };
    purpose.result(target, power)
}

/// A message or digest with its signature, returned if the queue is full.
type MessageAndSignature = (Vec<u8>, Vec<u8>);

impl fmt::Debug for AcceleratedRsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AcceleratedRsa").field(&self.key).finish()
    }
}

impl fmt::Debug for AcceleratedRsaPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AcceleratedRsaPublic")
            .field(&self.key)
            .finish()
    }
}

/// Returns a result that is not secret.
fn public_bytes(mut bytes: Zeroizing<Vec<u8>>) -> Vec<u8> {
    std::mem::take(&mut *bytes)
}

/// Drops the result of a request that only succeeds or fails.
fn nothing(_: Zeroizing<Vec<u8>>) {}
