//! RSA: keys, signatures and encryption, at once or as jobs.
//!
//! `key.rs` reads and checks keys, `padding.rs` makes numbers of messages, `request.rs` puts both
//! around the operation itself, which aws-lc computes; `traits.rs` has RustCrypto's traits.
//! `modexp.rs` is modular exponentiation without a key, `device.rs` all of this for devices. Calls that wait compute on the calling
//! thread; jobs go through the queue of `job.rs`.

mod device;
mod key;
mod lanes;
mod modexp;
mod padding;
mod request;
mod traits;

use std::fmt;

use zeroize::Zeroizing;

pub use self::device::PublicKeyRequest;
pub use self::key::{RsaPrivateKey, RsaPublicKey};
pub(crate) use self::lanes::{Class, Lanes};
pub use self::modexp::{AcceleratedModExp, Base, ByteOrder};
use self::modexp::{Modulus, PowerRequest};
pub use self::padding::{Hash, PssSalt};
pub use self::request::{EncryptionScheme, SignatureScheme};
use self::request::{PrivateRequest, PublicRequest};
pub use self::traits::{RsaSignature, RsaSigner, RsaVerifier};
use crate::Error;
use crate::accelerator::Accelerator;
use crate::threads::job::{Job, JobOptions, QueueFull};

/// A private RSA key with an accelerator. Threads may share it; clones are cheap, and keep both.
///
/// Private operations are blinded, and every result is checked with the public exponent before it
/// is released. Neither time nor memory accesses depend on the key, as far as aws-lc keeps to what
/// it promises.
///
/// A forked child may use the keys of its parent, also those that were in use at the fork, which
/// waits for what is under way, though not for more than 50 ms.
///
/// ```
/// use oarlock::{Accelerator, Hash, JobOptions, RsaPrivateKey, SignatureScheme};
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../tests/keys/rsa2048.pem"))?;
/// let rsa = accelerator.rsa(&key);
///
/// // Several at once, on as many threads as the pool has; each is also a `Future`.
/// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
/// let jobs: Vec<_> = [b"one", b"two"]
///     .map(|message| rsa.submit_sign(scheme, message.to_vec(), JobOptions::default()))
///     .into_iter()
///     .collect::<Result<_, _>>()
///     .expect("the queue has room for two");
/// for job in jobs {
///     assert_eq!(job.wait()?.len(), 256);
/// }
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedRsa {
    key: RsaPrivateKey,
    public: AcceleratedRsaPublic,
}

/// A public RSA key with an accelerator. Threads may share it; clones are cheap.
///
/// ```
/// use oarlock::{Accelerator, EncryptionScheme, Hash, RsaPrivateKey};
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../tests/keys/rsa2048.pem"))?;
/// let scheme = EncryptionScheme::oaep(Hash::Sha256);
/// let ciphertext = accelerator.rsa_public(key.public_key()).encrypt(&scheme, b"a key")?;
/// assert_eq!(**accelerator.rsa(&key).decrypt(&scheme, &ciphertext)?, *b"a key");
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedRsaPublic {
    key: RsaPublicKey,
    accelerator: Accelerator,
}

impl AcceleratedRsa {
    pub(crate) fn new(accelerator: &Accelerator, key: &RsaPrivateKey) -> Self {
        Self {
            key: key.clone(),
            public: AcceleratedRsaPublic::new(accelerator, key.public_key()),
        }
    }

    /// The public half.
    pub fn public(&self) -> &AcceleratedRsaPublic {
        &self.public
    }

    /// What it was made with.
    pub fn accelerator(&self) -> &Accelerator {
        &self.public.accelerator
    }

    /// The key.
    pub fn key(&self) -> &RsaPrivateKey {
        &self.key
    }

    /// The signature of `message`, as long as the modulus.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where the key is too short for the scheme, as one of 1024 bits is for
    /// PSS with SHA-512, and with [`Hash::Sha1`]. [`Error::DeviceFailed`] where the result did not pass its check.
    pub fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, Error> {
        let request = PrivateRequest::Sign { scheme, message };
        self.run(&request).map(public_bytes)
    }

    /// The signature of a message whose digest, by the hash of the scheme, is `digest`.
    ///
    /// # Errors
    /// As [`sign`](Self::sign), and [`Error::InvalidInput`] for a digest of another length.
    pub fn sign_digest(&self, scheme: SignatureScheme, digest: &[u8]) -> Result<Vec<u8>, Error> {
        let request = PrivateRequest::SignDigest { scheme, digest };
        self.run(&request).map(public_bytes)
    }

    /// The message in `ciphertext`.
    ///
    /// With [`EncryptionScheme::Pkcs1`], one in which there is no message decrypts all the same, to
    /// a message that depends on key and ciphertext only and cannot be told from one that somebody
    /// has sent (implicit rejection): whether a ciphertext is well-formed is what Bleichenbacher's
    /// attack needs to know. So a caller must not take it for authenticated, and must not tell by
    /// what comes after whether it was of the length or the form expected.
    ///
    /// # Errors
    /// [`Error::DecryptionFailed`] for a ciphertext that is not as long as the modulus, or not less
    /// than it, and with OAEP for whatever is wrong; [`Error::DeviceFailed`] where the result did
    /// not pass its check.
    pub fn decrypt(
        &self,
        scheme: &EncryptionScheme,
        ciphertext: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let scheme = scheme.clone();
        self.run(&PrivateRequest::Decrypt { scheme, ciphertext })
    }

    /// `number` ^ d mod n (RFC 8017, 5.1.2), big-endian, as long as the modulus. `number` may have
    /// leading zeros. Without a padding around it this is no signature scheme and no encryption.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `number` is less than the modulus.
    pub fn raw_private(&self, number: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.run(&PrivateRequest::Raw { operand: number })
    }

    /// [`sign`](Self::sign), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with the message.
    pub fn submit_sign(
        &self,
        scheme: SignatureScheme,
        message: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let make = |message| PrivateRequest::Sign { scheme, message };
        self.submit(message, make, options, public_bytes)
    }

    /// [`sign_digest`](Self::sign_digest), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with the digest.
    pub fn submit_sign_digest(
        &self,
        scheme: SignatureScheme,
        digest: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let make = |digest| PrivateRequest::SignDigest { scheme, digest };
        self.submit(digest, make, options, public_bytes)
    }

    /// [`decrypt`](Self::decrypt), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with the ciphertext.
    pub fn submit_decrypt(
        &self,
        scheme: &EncryptionScheme,
        ciphertext: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<Vec<u8>>> {
        let scheme = scheme.clone();
        let make = |ciphertext| PrivateRequest::Decrypt { scheme, ciphertext };
        self.submit(ciphertext, make, options, |message| message)
    }

    /// [`raw_private`](Self::raw_private), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with the number.
    pub fn submit_raw_private(
        &self,
        number: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<Vec<u8>>> {
        let make = |operand| PrivateRequest::Raw { operand };
        self.submit(number, make, options, |number| number)
    }

    /// Alone, if a CPU is free; else together with what other callers wait for.
    fn run<B: AsRef<[u8]>>(
        &self,
        request: &PrivateRequest<B>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let inner = &self.public.accelerator.0;
        let operand = request.operand(self.key.public_key())?;
        let class = Class::of_private(&self.key);
        if self.key.holder().is_some() {
            // The calling thread waits for a device, and no CPU is taken meanwhile.
            let power = request::apply_private(&self.key, &operand)?;
            return request.result(&self.key, power);
        }
        let power = inner.jobs.call(
            class,
            || request::apply_private(&self.key, &operand),
            || {
                let operand = operand.clone();
                Work::Private(self.key.clone(), PrivateRequest::Number { operand })
            },
            || inner.serve_jobs(true),
        );
        request.result(&self.key, power?)
    }

    fn submit<T>(
        &self,
        bytes: Vec<u8>,
        make: impl FnOnce(Buffer) -> PrivateRequest<Buffer>,
        options: JobOptions,
        convert: fn(Zeroizing<Vec<u8>>) -> T,
    ) -> Result<Job<T>, QueueFull<Vec<u8>>> {
        let inner = &self.public.accelerator.0;
        let Some(slot) = inner.jobs.reserve() else {
            return Err(QueueFull(bytes));
        };
        let work = Work::Private(self.key.clone(), make(Zeroizing::new(bytes)));
        let job = slot.enter(work, options, convert);
        inner.serve_jobs(false);
        Ok(job)
    }
}

impl AcceleratedRsaPublic {
    pub(crate) fn new(accelerator: &Accelerator, key: &RsaPublicKey) -> Self {
        Self {
            key: key.clone(),
            accelerator: accelerator.clone(),
        }
    }

    /// The key.
    pub fn key(&self) -> &RsaPublicKey {
        &self.key
    }

    /// Whether `signature` is that of `message`.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] where it is not.
    pub fn verify(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let request = PublicRequest::Verify {
            scheme,
            message,
            signature,
        };
        self.run(&request).map(nothing)
    }

    /// Whether `signature` is that of a message whose digest, by the hash of the scheme, is
    /// `digest`.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] where it is not, [`Error::InvalidInput`] for a digest of another
    /// length.
    pub fn verify_digest(
        &self,
        scheme: SignatureScheme,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let request = PublicRequest::VerifyDigest {
            scheme,
            digest,
            signature,
        };
        self.run(&request).map(nothing)
    }

    /// The ciphertext of `message`, as long as the modulus.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a message that is too long: PKCS#1 v1.5 takes 11 bytes less than
    /// the modulus has, OAEP two digests and 2 bytes less.
    pub fn encrypt(&self, scheme: &EncryptionScheme, message: &[u8]) -> Result<Vec<u8>, Error> {
        let scheme = scheme.clone();
        let request = PublicRequest::Encrypt { scheme, message };
        self.run(&request).map(public_bytes)
    }

    /// `number` ^ e mod n (RFC 8017, 5.1.1), big-endian, as long as the modulus. `number` may have
    /// leading zeros. Without a padding around it this is no signature scheme and no encryption.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `number` is less than the modulus.
    pub fn raw_public(&self, number: &[u8]) -> Result<Vec<u8>, Error> {
        let request = PublicRequest::Raw { operand: number };
        self.run(&request).map(public_bytes)
    }

    /// [`verify`](Self::verify), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with message and signature.
    pub fn submit_verify(
        &self,
        scheme: SignatureScheme,
        message: Vec<u8>,
        signature: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<()>, QueueFull<MessageAndSignature>> {
        let make = |(message, signature)| PublicRequest::Verify {
            scheme,
            message: Zeroizing::new(message),
            signature: Zeroizing::new(signature),
        };
        self.submit((message, signature), make, options, nothing)
    }

    /// [`verify_digest`](Self::verify_digest), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with digest and signature.
    pub fn submit_verify_digest(
        &self,
        scheme: SignatureScheme,
        digest: Vec<u8>,
        signature: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<()>, QueueFull<MessageAndSignature>> {
        let make = |(digest, signature)| PublicRequest::VerifyDigest {
            scheme,
            digest: Zeroizing::new(digest),
            signature: Zeroizing::new(signature),
        };
        self.submit((digest, signature), make, options, nothing)
    }

    /// [`encrypt`](Self::encrypt), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with the message.
    pub fn submit_encrypt(
        &self,
        scheme: &EncryptionScheme,
        message: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let scheme = scheme.clone();
        let make = |message| PublicRequest::Encrypt {
            scheme,
            message: Zeroizing::new(message),
        };
        self.submit(message, make, options, public_bytes)
    }

    /// [`raw_public`](Self::raw_public), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with the number.
    pub fn submit_raw_public(
        &self,
        number: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        let make = |number| PublicRequest::Raw {
            operand: Zeroizing::new(number),
        };
        self.submit(number, make, options, public_bytes)
    }

    /// As [`AcceleratedRsa::run`].
    fn run<B: AsRef<[u8]>>(&self, request: &PublicRequest<B>) -> Result<Zeroizing<Vec<u8>>, Error> {
        let operand = request.operand(&self.key)?;
        let inner = &self.accelerator.0;
        let class = Class::of_public(&self.key);
        let power = inner.jobs.call(
            class,
            || request::apply_public(&self.key, &operand),
            || {
                let operand = operand.clone();
                Work::Public(self.key.clone(), PublicRequest::Number { operand })
            },
            || inner.serve_jobs(true),
        );
        request.result(&self.key, power?)
    }

    fn submit<R, T>(
        &self,
        buffers: R,
        make: impl FnOnce(R) -> PublicRequest<Buffer>,
        options: JobOptions,
        convert: fn(Zeroizing<Vec<u8>>) -> T,
    ) -> Result<Job<T>, QueueFull<R>> {
        let inner = &self.accelerator.0;
        let Some(slot) = inner.jobs.reserve() else {
            return Err(QueueFull(buffers));
        };
        let work = Work::Public(self.key.clone(), make(buffers));
        let job = slot.enter(work, options, convert);
        inner.serve_jobs(false);
        Ok(job)
    }
}

/// Message or digest, and signature: what is handed back.
type MessageAndSignature = (Vec<u8>, Vec<u8>);

/// What a job is about: a request with its key.
pub(crate) enum Work {
    Private(RsaPrivateKey, PrivateRequest<Buffer>),
    Public(RsaPublicKey, PublicRequest<Buffer>),
    Power(Modulus, PowerRequest<Buffer>),
}

/// Bytes that a job owns.
type Buffer = Zeroizing<Vec<u8>>;

impl Work {
    fn operand(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Private(key, request) => request.operand(key.public_key()),
            Self::Public(key, request) => request.operand(key),
            Self::Power(modulus, request) => request.operand(modulus),
        }
    }

    /// Of the modulus.
    fn bits(&self) -> usize {
        match self {
            Self::Private(key, _) => key.public_key().bits(),
            Self::Public(key, _) => key.bits(),
            Self::Power(modulus, _) => modulus.bits(),
        }
    }

    /// By aws-lc.
    fn power(&self, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Private(key, _) => request::apply_private(key, operand),
            Self::Public(key, _) => request::apply_public(key, operand),
            Self::Power(modulus, request) => request.power(modulus, operand),
        }
    }

    fn result(&self, power: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Private(key, request) => request.result(key, power),
            Self::Public(key, request) => request.result(key, power),
            Self::Power(_, request) => Ok(request.result(power)),
        }
    }
}

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

/// Of a result that is no secret.
fn public_bytes(mut bytes: Zeroizing<Vec<u8>>) -> Vec<u8> {
    std::mem::take(&mut *bytes)
}

/// Of a request that only succeeds or fails.
fn nothing(_: Zeroizing<Vec<u8>>) {}
