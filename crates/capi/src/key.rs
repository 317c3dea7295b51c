//! Keys of any type.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use oarlock::Accelerator;
use oarlock::keys::{
    AcceleratedKey, AcceleratedPublicKey, Hash, KeyType, PrivateKey, PublicKey, Scheme,
};
use zeroize::Zeroizing;

use crate::accelerator::{free_shared, made};
use crate::buffers::{Room, input, place, text};
use crate::failure::{Failure, call};
use crate::handles::{Handle, ManyCalls, Object};
use crate::job::{self, AnyJob, queue_full, submitted};
use crate::rsa::signature_scheme_named;
use crate::schemes::{computing, submitting, submitting_verification, verifying};

impl Object for AcceleratedKey {
    const KIND: u64 = 15;
    const NAME: &'static str = "private key";
}

impl ManyCalls for AcceleratedKey {}

impl Object for AcceleratedPublicKey {
    const KIND: u64 = 16;
    const NAME: &'static str = "public key";
}

impl ManyCalls for AcceleratedPublicKey {}

/// Parses a scheme's name as `oarlock.h` lists them.
///
/// # Safety
/// `name` is NULL or ends with a NUL.
unsafe fn scheme(name: *const c_char) -> Result<Scheme, Failure> {
    // SAFETY: the caller of `scheme` says that `name` is NULL or ends with a NUL.
    let name = unsafe { text(name, "the name of the scheme") }?;
    let scheme = match name {
        "ecdsa-sha256" => Some(Scheme::Ecdsa(Hash::Sha256)),
        "ecdsa-sha384" => Some(Scheme::Ecdsa(Hash::Sha384)),
        "ecdsa-sha512" => Some(Scheme::Ecdsa(Hash::Sha512)),
        "ed25519" => Some(Scheme::Ed25519),
        "ml-dsa" => Some(Scheme::ML_DSA),
        name => match name.strip_prefix("ml-dsa:") {
            Some(context) => Some(Scheme::MlDsa {
                context: context.into(),
            }),
            None => signature_scheme_named(name).map(Scheme::from),
        },
    };
    scheme.ok_or_else(|| {
        Failure::argument(format!(
            "there is no signature scheme {name:?}: the names are ecdsa-sha256, ecdsa-sha384, ecdsa-sha512, ed25519, ml-dsa, \
             ml-dsa:CONTEXT, pkcs1-HASH and pss-HASH"
        ))
    })
}

/// # Safety
/// `name` is NULL or ends with a NUL.
unsafe fn key_type(name: *const c_char) -> Result<KeyType, Failure> {
    // SAFETY: the caller of `key_type` says that `name` is NULL or ends with a NUL.
    let name = unsafe { text(name, "the name of the type") }?;
    KeyType::named(name).ok_or_else(|| {
        let names = KeyType::ALL.map(KeyType::name).join(", ");
        Failure::argument(format!(
            "there is no type of keys {name:?}: the names are {names}"
        ))
    })
}

/// Returns the name of a type as a C string.
fn name_of(key_type: KeyType) -> &'static CStr {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let name = |one: KeyType| CString::new(one.name()).unwrap_or_default();
        KeyType::ALL.into_iter().map(name).collect()
    });
    let place = KeyType::ALL.iter().position(|one| *one == key_type);
    place
        .and_then(|place| names.get(place))
        .map_or(c"", |name| name)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `private`, or it is NULL; `key` is NULL or has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_private_key_new(
    accelerator: Handle<Accelerator>,
    private: *mut Handle<AcceleratedKey>,
    key: *const c_void,
    key_bytes: usize,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller of `oarlock_private_key_new` says that `key` is NULL or has `key_bytes` bytes.
        let key = unsafe { input(key, key_bytes, "the key") }?;
        Ok(accelerator.key(&PrivateKey::from_bytes(key)?))
    };
    // SAFETY: the caller of `oarlock_private_key_new` says that it owns `private`, or it is NULL.
    call(|| unsafe { made(private, "the place of the key", make) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `private`, or it is NULL; `name` is NULL or ends with a NUL; `raw` is NULL or has `raw_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_private_key_from_raw(
    accelerator: Handle<Accelerator>,
    private: *mut Handle<AcceleratedKey>,
    name: *const c_char,
    raw: *const c_void,
    raw_bytes: usize,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `name` is NULL or ends with a NUL, and `raw` is NULL or has `raw_bytes` bytes.
        let (key_type, raw) = unsafe { (key_type(name)?, input(raw, raw_bytes, "the key")?) };
        Ok(accelerator.key(&PrivateKey::from_raw(key_type, raw)?))
    };
    // SAFETY: the caller of `oarlock_private_key_from_raw` says that it owns `private`, or it is NULL.
    call(|| unsafe { made(private, "the place of the key", make) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `private`, or it is NULL; `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_private_key_generate(
    accelerator: Handle<Accelerator>,
    private: *mut Handle<AcceleratedKey>,
    name: *const c_char,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller of `oarlock_private_key_generate` says that `name` is NULL or ends with a NUL.
        let key_type = unsafe { key_type(name) }?;
        Ok(accelerator.key(&PrivateKey::generate(key_type)?))
    };
    // SAFETY: the caller of `oarlock_private_key_generate` says that it owns `private`, or it is NULL.
    call(|| unsafe { made(private, "the place of the key", make) })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_private_key_free(private: Handle<AcceleratedKey>) -> c_int {
    free_shared(private)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `name`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_private_key_type(
    private: Handle<AcceleratedKey>,
    name: *mut *const c_char,
) -> c_int {
    call(|| {
        let private = private.shared()?;
        // SAFETY: the caller says that it owns `name`, or it is NULL.
        let to = unsafe { place(name, "the place of the name") }?;
        *to = name_of(private.key().key_type()).as_ptr();
        Ok(())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `out_bytes` and the `*out_bytes` bytes at `out`; `format` ends with a NUL; each may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_private_key_write(
    private: Handle<AcceleratedKey>,
    out: *mut c_void,
    out_bytes: *mut usize,
    format: *const c_char,
) -> c_int {
    call(|| {
        let private = private.shared()?;
        // SAFETY: the caller says that it owns `out_bytes` and the `*out_bytes` bytes at `out`; and `format` is NULL or ends
        // with a NUL.
        let (room, format) = unsafe { (Room::new(out, out_bytes)?, text(format, "the format")?) };
        let key = private.key();
        match format {
            "pkcs8-der" => room.fill(&key.to_pkcs8_der()?),
            "pkcs8-pem" => room.fill(key.to_pkcs8_pem()?.as_bytes()),
            "raw" => room.fill(&key.to_raw()?),
            _ => Err(unknown_format(format, "pkcs8-der, pkcs8-pem and raw")),
        }
    })
}

#[cold]
fn unknown_format(format: &str, names: &str) -> Failure {
    Failure::argument(format!(
        "there is no format {format:?}: the names are {names}"
    ))
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `public`, or it is NULL; `key` is NULL or has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_public_key_new(
    accelerator: Handle<Accelerator>,
    public: *mut Handle<AcceleratedPublicKey>,
    key: *const c_void,
    key_bytes: usize,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller of `oarlock_public_key_new` says that `key` is NULL or has `key_bytes` bytes.
        let key = unsafe { input(key, key_bytes, "the key") }?;
        Ok(accelerator.public_key(&PublicKey::from_bytes(key)?))
    };
    // SAFETY: the caller of `oarlock_public_key_new` says that it owns `public`, or it is NULL.
    call(|| unsafe { made(public, "the place of the key", make) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `public`, or it is NULL; `name` is NULL or ends with a NUL; `raw` is NULL or has `raw_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_public_key_from_raw(
    accelerator: Handle<Accelerator>,
    public: *mut Handle<AcceleratedPublicKey>,
    name: *const c_char,
    raw: *const c_void,
    raw_bytes: usize,
) -> c_int {
    let make = || {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `name` is NULL or ends with a NUL, and `raw` is NULL or has `raw_bytes` bytes.
        let (key_type, raw) = unsafe { (key_type(name)?, input(raw, raw_bytes, "the key")?) };
        Ok(accelerator.public_key(&PublicKey::from_raw(key_type, raw)?))
    };
    // SAFETY: the caller of `oarlock_public_key_from_raw` says that it owns `public`, or it is NULL.
    call(|| unsafe { made(public, "the place of the key", make) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `public`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_public_key_of(
    private: Handle<AcceleratedKey>,
    public: *mut Handle<AcceleratedPublicKey>,
) -> c_int {
    let make = || Ok(private.shared()?.public().clone());
    // SAFETY: the caller of `oarlock_public_key_of` says that it owns `public`, or it is NULL.
    call(|| unsafe { made(public, "the place of the key", make) })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_public_key_free(public: Handle<AcceleratedPublicKey>) -> c_int {
    free_shared(public)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `name`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_public_key_type(
    public: Handle<AcceleratedPublicKey>,
    name: *mut *const c_char,
) -> c_int {
    call(|| {
        let public = public.shared()?;
        // SAFETY: the caller says that it owns `name`, or it is NULL.
        let to = unsafe { place(name, "the place of the name") }?;
        *to = name_of(public.key().key_type()).as_ptr();
        Ok(())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The same as for [`oarlock_private_key_write`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_public_key_write(
    public: Handle<AcceleratedPublicKey>,
    out: *mut c_void,
    out_bytes: *mut usize,
    format: *const c_char,
) -> c_int {
    call(|| {
        let public = public.shared()?;
        // SAFETY: the caller of `oarlock_public_key_write` says that it owns `out_bytes` and the `*out_bytes` bytes at
        // `out`; and `format` is NULL or ends with a NUL.
        let (room, format) = unsafe { (Room::new(out, out_bytes)?, text(format, "the format")?) };
        let key = public.key();
        match format {
            "spki-der" => room.fill(&key.to_spki_der()?),
            "spki-pem" => room.fill(key.to_spki_pem()?.as_bytes()),
            "raw" => room.fill(&key.to_raw()?),
            _ => Err(unknown_format(format, "spki-der, spki-pem and raw")),
        }
    })
}

computing! {
    oarlock_key_sign(AcceleratedKey, scheme, "the message")
        |private, name, message| signature_bytes_max(&private) => private.sign(&name, message);
    oarlock_key_sign_digest(AcceleratedKey, scheme, "the digest")
        |private, name, digest| signature_bytes_max(&private) => private.sign_digest(&name, digest);
}

fn signature_bytes_max(private: &AcceleratedKey) -> usize {
    private.public().key().signature_bytes_max()
}

verifying! {
    oarlock_key_verify(AcceleratedPublicKey, scheme, "the message")
        |public, name, message, signature| public.verify(&name, message, signature);
    oarlock_key_verify_digest(AcceleratedPublicKey, scheme, "the digest")
        |public, name, digest, signature| public.verify_digest(&name, digest, signature);
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `secret_bytes` and the `*secret_bytes` bytes at `secret`; each may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_key_agree(
    private: Handle<AcceleratedKey>,
    secret: *mut c_void,
    secret_bytes: *mut usize,
    peer: Handle<AcceleratedPublicKey>,
) -> c_int {
    call(|| {
        let (private, peer) = (private.shared()?, peer.shared()?);
        // SAFETY: the caller says that it owns `secret_bytes` and the `*secret_bytes` bytes at `secret`.
        let mut room = unsafe { Room::new(secret, secret_bytes) }?;
        room.need(private.key().key_type().secret_bytes())?;
        room.fill(&private.agree(peer.key())?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `ciphertext_bytes`, `secret_bytes` and the bytes at `ciphertext` and `secret`; each may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_key_encapsulate(
    public: Handle<AcceleratedPublicKey>,
    ciphertext: *mut c_void,
    ciphertext_bytes: *mut usize,
    secret: *mut c_void,
    secret_bytes: *mut usize,
) -> c_int {
    call(|| {
        let public = public.shared()?;
        // SAFETY: the caller says that it owns `ciphertext_bytes` and the `*ciphertext_bytes` bytes at `ciphertext`, and
        // that it owns `secret_bytes` and the `*secret_bytes` bytes at `secret`.
        let (mut ciphertext, mut secret) = unsafe {
            (
                Room::new(ciphertext, ciphertext_bytes)?,
                Room::new(secret, secret_bytes)?,
            )
        };
        let key_type = public.key().key_type();
        // Both lengths are stored before either buffer is refused.
        let has_room = ciphertext.need(key_type.ciphertext_bytes());
        secret.need(key_type.secret_bytes()).and(has_room)?;
        // Else the program might send the secret as a part of the ciphertext.
        ciphertext.apart(
            key_type.ciphertext_bytes(),
            &secret,
            key_type.secret_bytes(),
        )?;
        let (ciphertext_here, secret_here) = public.encapsulate()?;
        ciphertext.fill(&ciphertext_here)?;
        secret.fill(&secret_here)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `secret_bytes` and the `*secret_bytes` bytes at `secret`; `ciphertext` has `ciphertext_bytes` bytes; each
/// may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_key_decapsulate(
    private: Handle<AcceleratedKey>,
    secret: *mut c_void,
    secret_bytes: *mut usize,
    ciphertext: *const c_void,
    ciphertext_bytes: usize,
) -> c_int {
    call(|| {
        let private = private.shared()?;
        // SAFETY: the caller says that it owns `secret_bytes` and the `*secret_bytes` bytes at `secret`; and `ciphertext` is
        // NULL or has `ciphertext_bytes` bytes.
        let (mut room, ciphertext) = unsafe {
            (
                Room::new(secret, secret_bytes)?,
                input(ciphertext, ciphertext_bytes, "the ciphertext")?,
            )
        };
        room.need(private.key().key_type().secret_bytes())?;
        room.fill(&private.decapsulate(ciphertext)?)
    })
}

submitting! {
    oarlock_key_submit_sign(AcceleratedKey, scheme, "the message")
        |private, name, message, options|
            private.submit_sign(name, message, options) => Zeroizing::new;
    oarlock_key_submit_sign_digest(AcceleratedKey, scheme, "the digest")
        |private, name, digest, options|
            private.submit_sign_digest(name, digest, options) => Zeroizing::new;
}

submitting_verification!(oarlock_key_submit_verify(AcceleratedPublicKey, scheme));

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `job`, or it is NULL; `options` is NULL or points to options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_key_submit_agree(
    private: Handle<AcceleratedKey>,
    job: *mut Handle<AnyJob>,
    peer: Handle<AcceleratedPublicKey>,
    options: *const job::Options,
) -> c_int {
    let submit = || {
        let (private, peer) = (private.shared()?, peer.shared()?);
        // SAFETY: the caller of `oarlock_key_submit_agree` says that `options` is NULL or points to options.
        let options = unsafe { job::options(options) }?;
        let job = private
            .submit_agree(peer.key(), options)
            .map_err(queue_full)?;
        Ok(job.map(Ok))
    };
    // SAFETY: the caller of `oarlock_key_submit_agree` says that it owns `job`, or it is NULL.
    call(|| unsafe { submitted(job, submit) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `job`, or it is NULL; `ciphertext` has `ciphertext_bytes` bytes; `options` points to options; each may be
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_key_submit_decapsulate(
    private: Handle<AcceleratedKey>,
    job: *mut Handle<AnyJob>,
    ciphertext: *const c_void,
    ciphertext_bytes: usize,
    options: *const job::Options,
) -> c_int {
    let submit = || {
        let private = private.shared()?;
        // SAFETY: the caller says that `ciphertext` is NULL or has `ciphertext_bytes` bytes, and `options` is NULL or points
        // to options.
        let (ciphertext, options) = unsafe {
            (
                input(ciphertext, ciphertext_bytes, "the ciphertext")?,
                job::options(options)?,
            )
        };
        let job = private
            .submit_decapsulate(ciphertext, options)
            .map_err(queue_full)?;
        Ok(job.map(Ok))
    };
    // SAFETY: the caller of `oarlock_key_submit_decapsulate` says that it owns `job`, or it is NULL.
    call(|| unsafe { submitted(job, submit) })
}
