//! RSA keys and modular powers.

use std::convert::identity;
use std::ffi::{c_char, c_int, c_void};

use oarlock::Accelerator;
use oarlock::job::QueueFull;
use oarlock::rsa::{
    AcceleratedModExp, AcceleratedRsa, AcceleratedRsaPublic, Base, ByteOrder, EncryptionScheme,
    Hash, RsaPrivateKey, RsaPublicKey, SignatureScheme,
};
use zeroize::{Zeroize as _, Zeroizing};

use crate::accelerator::{free_shared, made};
use crate::buffers::{Room, input, place, text};
use crate::failure::{Code, Failure, call};
use crate::handles::{Handle, ManyCalls, Object};
use crate::job::{self, AnyJob, submitted};
use crate::schemes::{computing, submitting, submitting_verification, verifying};

impl Object for AcceleratedRsa {
    const KIND: u64 = 4;
    const NAME: &'static str = "private key";
}

impl ManyCalls for AcceleratedRsa {}

impl Object for AcceleratedRsaPublic {
    const KIND: u64 = 5;
    const NAME: &'static str = "public key";
}

impl ManyCalls for AcceleratedRsaPublic {}

impl Object for AcceleratedModExp {
    const KIND: u64 = 6;
    const NAME: &'static str = "modulus";
}

impl ManyCalls for AcceleratedModExp {}

/// Parses a hash's name as `oarlock.h` lists them.
fn hash(name: &str) -> Option<Hash> {
    Some(match name {
        "sha1" => Hash::Sha1,
        "sha224" => Hash::Sha224,
        "sha256" => Hash::Sha256,
        "sha384" => Hash::Sha384,
        "sha512" => Hash::Sha512,
        "sha512-224" => Hash::Sha512_224,
        "sha512-256" => Hash::Sha512_256,
        _ => return None,
    })
}

/// # Safety
/// `name` is NULL or ends with a NUL.
pub(crate) unsafe fn signature_scheme(name: *const c_char) -> Result<SignatureScheme, Failure> {
    // SAFETY: the caller of `signature_scheme` says that `name` is NULL or ends with a NUL.
    let name = unsafe { text(name, "the name of the scheme") }?;
    signature_scheme_named(name).ok_or_else(|| {
        Failure::argument(format!(
            "there is no signature scheme {name:?}: the names are pkcs1-HASH and pss-HASH, with sha224, sha256, sha384, \
             sha512, sha512-224, sha512-256 and, to verify, sha1"
        ))
    })
}

pub(crate) fn signature_scheme_named(name: &str) -> Option<SignatureScheme> {
    let (padding, name) = name.split_once('-')?;
    let hash = hash(name)?;
    match padding {
        "pkcs1" => Some(SignatureScheme::Pkcs1(hash)),
        "pss" => Some(SignatureScheme::Pss(hash)),
        _ => None,
    }
}

/// # Safety
/// `name` is NULL or ends with a NUL.
pub(crate) unsafe fn encryption_scheme(name: *const c_char) -> Result<EncryptionScheme, Failure> {
    // SAFETY: the caller of `encryption_scheme` says that `name` is NULL or ends with a NUL.
    let name = unsafe { text(name, "the name of the scheme") }?;
    if name == "pkcs1" {
        return Ok(EncryptionScheme::Pkcs1);
    }
    let hash = name.strip_prefix("oaep-").and_then(hash);
    hash.map(EncryptionScheme::oaep).ok_or_else(|| {
        Failure::argument(format!(
            "there is no encryption scheme {name:?}: the names are pkcs1 and oaep-HASH, with sha1, sha224, sha256, \
             sha384, sha512, sha512-224 and sha512-256"
        ))
    })
}

/// Parses a key file: PEM if it contains a PEM header, DER otherwise.
fn parsed<K>(
    key: &[u8],
    from_pem: fn(&str) -> Result<K, oarlock::Error>,
    from_der: fn(&[u8]) -> Result<K, oarlock::Error>,
) -> Result<K, Failure> {
    // DER begins with the tag of a sequence, which is the digit 0 in ASCII, and then a byte that is no text; PEM may have
    // words before its first line.
    let is_pem = key.windows(BEGIN.len()).any(|here| here == BEGIN);
    if !is_pem {
        return Ok(from_der(key)?);
    }
    // A NUL at the end is not part of the text.
    let text = key.strip_suffix(b"\0").unwrap_or(key);
    let text = std::str::from_utf8(text)
        .map_err(|_| Failure::new(Code::Key, "the key begins as PEM and is not text"))?;
    Ok(from_pem(text)?)
}

const BEGIN: &[u8] = b"-----BEGIN ";

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `private`, or it is NULL; `key` is NULL or has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_rsa_private_new(
    accelerator: Handle<Accelerator>,
    private: *mut Handle<AcceleratedRsa>,
    key: *const c_void,
    key_bytes: usize,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller of `oarlock_rsa_private_new` says that `key` is NULL or has `key_bytes` bytes.
        let key = unsafe { input(key, key_bytes, "the key") }?;
        let key = parsed(key, RsaPrivateKey::from_pem, RsaPrivateKey::from_der)?;
        Ok(accelerator.rsa(&key))
    };
    // SAFETY: the caller of `oarlock_rsa_private_new` says that it owns `private`, or it is NULL.
    call(|| unsafe { made(private, "the place of the key", make) })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_rsa_private_free(private: Handle<AcceleratedRsa>) -> c_int {
    free_shared(private)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `public`, or it is NULL; `key` is NULL or has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_rsa_public_new(
    accelerator: Handle<Accelerator>,
    public: *mut Handle<AcceleratedRsaPublic>,
    key: *const c_void,
    key_bytes: usize,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller of `oarlock_rsa_public_new` says that `key` is NULL or has `key_bytes` bytes.
        let key = unsafe { input(key, key_bytes, "the key") }?;
        let key = parsed(key, RsaPublicKey::from_pem, RsaPublicKey::from_der)?;
        Ok(accelerator.rsa_public(&key))
    };
    // SAFETY: the caller of `oarlock_rsa_public_new` says that it owns `public`, or it is NULL.
    call(|| unsafe { made(public, "the place of the key", make) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `public`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_rsa_public_of(
    private: Handle<AcceleratedRsa>,
    public: *mut Handle<AcceleratedRsaPublic>,
) -> c_int {
    let make = || Ok(private.shared()?.public().clone());
    // SAFETY: the caller of `oarlock_rsa_public_of` says that it owns `public`, or it is NULL.
    call(|| unsafe { made(public, "the place of the key", make) })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_rsa_public_free(public: Handle<AcceleratedRsaPublic>) -> c_int {
    free_shared(public)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `bytes`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_rsa_private_bytes(
    private: Handle<AcceleratedRsa>,
    bytes: *mut usize,
) -> c_int {
    call(|| {
        let private = private.shared()?;
        // SAFETY: the caller says that it owns `bytes`, or it is NULL.
        *unsafe { place(bytes, "the place of the length") }? = bytes_of(&private);
        Ok(())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `bytes`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_rsa_public_bytes(
    public: Handle<AcceleratedRsaPublic>,
    bytes: *mut usize,
) -> c_int {
    call(|| {
        let public = public.shared()?;
        // SAFETY: the caller says that it owns `bytes`, or it is NULL.
        *unsafe { place(bytes, "the place of the length") }? = public.key().bytes();
        Ok(())
    })
}

fn bytes_of(private: &AcceleratedRsa) -> usize {
    private.public().key().bytes()
}

computing! {
    oarlock_rsa_sign(AcceleratedRsa, signature_scheme, "the message")
        |private, scheme, message| bytes_of(&private) => private.sign(scheme, message);
    oarlock_rsa_sign_digest(AcceleratedRsa, signature_scheme, "the digest")
        |private, scheme, digest| bytes_of(&private) => private.sign_digest(scheme, digest);
    oarlock_rsa_encrypt(AcceleratedRsaPublic, encryption_scheme, "the message")
        |public, scheme, message| public.key().bytes() => public.encrypt(&scheme, message);
    // The room must fit any message, so that no error reveals the length of this one.
    oarlock_rsa_decrypt(AcceleratedRsa, encryption_scheme, "the ciphertext")
        |private, scheme, ciphertext| bytes_of(&private) => private.decrypt(&scheme, ciphertext);
}

verifying! {
    oarlock_rsa_verify(AcceleratedRsaPublic, signature_scheme, "the message")
        |public, scheme, message, signature| public.verify(scheme, message, signature);
    oarlock_rsa_verify_digest(AcceleratedRsaPublic, signature_scheme, "the digest")
        |public, scheme, digest, signature| public.verify_digest(scheme, digest, signature);
}

submitting! {
    oarlock_rsa_submit_sign(AcceleratedRsa, signature_scheme, "the message")
        |private, scheme, message, options|
            private.submit_sign(scheme, message, options) => Zeroizing::new;
    oarlock_rsa_submit_sign_digest(AcceleratedRsa, signature_scheme, "the digest")
        |private, scheme, digest, options|
            private.submit_sign_digest(scheme, digest, options) => Zeroizing::new;
    oarlock_rsa_submit_decrypt(AcceleratedRsa, encryption_scheme, "the ciphertext")
        |private, scheme, ciphertext, options|
            private.submit_decrypt(&scheme, ciphertext, options) => identity;
}

submitting_verification!(oarlock_rsa_submit_verify(
    AcceleratedRsaPublic,
    signature_scheme
));

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `modulus`, or it is NULL; `number` is NULL or has `number_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_modexp_new(
    accelerator: Handle<Accelerator>,
    modulus: *mut Handle<AcceleratedModExp>,
    number: *const c_void,
    number_bytes: usize,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `number` is NULL or has `number_bytes` bytes.
        let number = unsafe { input(number, number_bytes, "the modulus") }?;
        Ok(accelerator.modexp(number, ByteOrder::BigEndian)?)
    };
    // SAFETY: the caller of `oarlock_modexp_new` says that it owns `modulus`, or it is NULL.
    call(|| unsafe { made(modulus, "the place of the modulus", make) })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_modexp_free(modulus: Handle<AcceleratedModExp>) -> c_int {
    free_shared(modulus)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `power_bytes` and the `*power_bytes` bytes at `power`; `base` and `exponent` have the lengths given; each
/// may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_modexp_power(
    modulus: Handle<AcceleratedModExp>,
    power: *mut c_void,
    power_bytes: *mut usize,
    base: *const c_void,
    base_bytes: usize,
    exponent: *const c_void,
    exponent_bytes: usize,
) -> c_int {
    call(|| {
        let modulus = modulus.shared()?;
        // SAFETY: the caller says that it owns `power_bytes` and the `*power_bytes` bytes at `power`; `base` is NULL or has
        // `base_bytes` bytes; and `exponent` is NULL or has `exponent_bytes` bytes.
        let (mut room, base, exponent) = unsafe {
            (
                Room::new(power, power_bytes)?,
                input(base, base_bytes, "the base")?,
                input(exponent, exponent_bytes, "the exponent")?,
            )
        };
        room.need(modulus.bytes())?;
        let base = Base {
            magnitude: base,
            is_negative: false,
        };
        room.fill(&modulus.power(base, exponent)?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `job`, or it is NULL; `base` and `exponent` have the lengths given; `options` points to options; each may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_modexp_submit(
    modulus: Handle<AcceleratedModExp>,
    job: *mut Handle<AnyJob>,
    base: *const c_void,
    base_bytes: usize,
    exponent: *const c_void,
    exponent_bytes: usize,
    options: *const job::Options,
) -> c_int {
    let submit = || {
        let modulus = modulus.shared()?;
        // SAFETY: the caller says that `base` is NULL or has `base_bytes` bytes; `exponent` is NULL or has `exponent_bytes`
        // bytes; and `options` is NULL or points to options.
        let (base, exponent, options) = unsafe {
            (
                input(base, base_bytes, "the base")?,
                input(exponent, exponent_bytes, "the exponent")?,
                job::options(options)?,
            )
        };
        let base = Base {
            magnitude: base.to_vec(),
            is_negative: false,
        };
        let job = modulus.submit_power(base, exponent, options).map_err(
            |QueueFull((mut base, mut exponent))| {
                base.magnitude.zeroize();
                exponent.zeroize();
                Failure::from(oarlock::Error::QueueFull)
            },
        )?;
        Ok(job.map(Ok))
    };
    // SAFETY: the caller of `oarlock_modexp_submit` says that it owns `job`, or it is NULL.
    call(|| unsafe { submitted(job, submit) })
}
