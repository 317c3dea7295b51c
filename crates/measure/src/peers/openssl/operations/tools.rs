//! Objects of libcrypto, each freed on drop.

use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use super::super::library::{Param, World};
use crate::error::Error;

/// The buffer for an operation's output: longer than a private key of ML-DSA-87 in DER, with its seed.
pub(super) type Output = [u8; OUTPUT_BYTES];
/// The length of an output in bytes.
pub(super) const OUTPUT_BYTES: usize = 6144;

/// An operation on its own objects. It returns the number of bytes written, or `None` if OpenSSL refuses.
pub(super) type Once = Box<dyn FnMut(&mut Output) -> Option<usize>>;

/// The type of a key, and its group if the type has groups.
pub(super) type Names = (&'static CStr, Option<&'static CStr>);

/// A library context, and the functions that work in it.
pub(super) struct Tools {
    pub(super) calls: Functions,
    /// Whether libssl passes the TLS version to signatures, as it does from 4.0.
    tells_version: bool,
    world: Rc<World>,
}

/// An object that lives as long as this.
pub(super) struct Made<Kind> {
    object: NonNull<c_void>,
    free: unsafe extern "C" fn(*mut c_void),
    /// The tools, which are dropped after the object.
    _tools: Rc<Tools>,
    kind: PhantomData<Kind>,
}

/// The kinds of objects: EVP_KDF_CTX, EVP_MAC, EVP_MAC_CTX, EVP_MD_CTX, EVP_PKEY, EVP_PKEY_CTX.
pub(super) struct KdfContext;
pub(super) struct Mac;
pub(super) struct MacContext;
pub(super) struct DigestContext;
pub(super) struct Key;
pub(super) struct KeyContext;

impl<Kind> Made<Kind> {
    pub(super) fn object(&self) -> *mut c_void {
        self.object.as_ptr()
    }
}

impl<Kind> Drop for Made<Kind> {
    fn drop(&mut self) {
        // SAFETY: the caller of `made` passed the function that frees it, which is called once.
        unsafe { (self.free)(self.object.as_ptr()) }
    }
}

impl Tools {
    pub(super) fn new(world: &Rc<World>) -> Result<Rc<Self>, Error> {
        Ok(Rc::new(Self {
            calls: Functions::of(world.libcrypto().library())?,
            tells_version: !world.libcrypto().version().starts_with("OpenSSL 3."),
            world: Rc::clone(world),
        }))
    }

    /// Returns the OSSL_LIB_CTX.
    pub(super) fn ctx(&self) -> *mut c_void {
        self.world.ctx()
    }

    /// Returns the parameters that libssl sets for a TLS 1.3 signature with this digest (`tls_construct_cert_verify`).
    pub(super) fn beginning(&self, digest: Option<&CStr>) -> [Param; 3] {
        match digest {
            Some(digest) if self.tells_version => [
                Param::int(c"tls-version", &TLS_1_3),
                Param::utf8(c"digest", digest),
                Param::END,
            ],
            _ => [Param::END; 3],
        }
    }

    /// Wraps a new object.
    ///
    /// # Safety
    /// `object` is null, or a new object of this kind that `free` frees and nothing else does.
    pub(super) unsafe fn made<Kind>(
        self: &Rc<Self>,
        object: *mut c_void,
        free: unsafe extern "C" fn(*mut c_void),
    ) -> Option<Made<Kind>> {
        Some(Made {
            object: NonNull::new(object)?,
            free,
            _tools: Rc::clone(self),
            kind: PhantomData,
        })
    }

    /// Creates a key from its raw private half: of HMAC or X25519.
    pub(super) fn raw_key(self: &Rc<Self>, name: &CStr, octets: &[u8]) -> Option<Made<Key>> {
        let new = self.calls.EVP_PKEY_new_raw_private_key_ex;
        // SAFETY: the library context is live, the name ends with a zero, and the key has this length; the call creates
        // a new one.
        unsafe {
            let (from, bytes) = (octets.as_ptr(), octets.len());
            let key = new(self.ctx(), name.as_ptr(), ptr::null(), from, bytes);
            self.made(key, self.calls.EVP_PKEY_free)
        }
    }

    pub(super) fn digest_context(self: &Rc<Self>) -> Option<Made<DigestContext>> {
        // SAFETY: the function has no arguments and creates a new context.
        unsafe { self.made((self.calls.EVP_MD_CTX_new)(), self.calls.EVP_MD_CTX_free) }
    }

    /// Creates a context for this key.
    pub(super) fn context_of(self: &Rc<Self>, key: &Made<Key>) -> Option<Made<KeyContext>> {
        let new = self.calls.EVP_PKEY_CTX_new_from_pkey;
        // SAFETY: the library context and the key are live; the call creates a new context.
        unsafe {
            let context = new(self.ctx(), key.object(), ptr::null());
            self.made(context, self.calls.EVP_PKEY_CTX_free)
        }
    }

    /// Creates a context for a key type, and prepares it with `init`.
    pub(super) fn context_by_name(
        self: &Rc<Self>,
        (name, group): Names,
        init: Init,
    ) -> Option<Made<KeyContext>> {
        let calls = &self.calls;
        let new = calls.EVP_PKEY_CTX_new_from_name;
        // SAFETY: the library context is live and the name ends with a zero; the call creates a new context.
        let context: Made<KeyContext> = unsafe {
            let context = new(self.ctx(), name.as_ptr(), ptr::null());
            self.made(context, calls.EVP_PKEY_CTX_free)?
        };
        let set = calls.EVP_PKEY_CTX_set_group_name;
        // SAFETY: the context is live and new, and the name ends with a zero.
        let is_set = unsafe {
            init(context.object()) == 1
                && group.is_none_or(|group| set(context.object(), group.as_ptr()) == 1)
        };
        is_set.then_some(context)
    }

    /// Creates a key with `make` in a context that was prepared for it.
    pub(super) fn made_in(
        self: &Rc<Self>,
        context: &Made<KeyContext>,
        make: Make,
    ) -> Option<Made<Key>> {
        let mut key = ptr::null_mut();
        // SAFETY: the context is live; a context that is not prepared is refused. The key is new.
        unsafe {
            let made = make(context.object(), &mut key) == 1;
            self.made(
                if made { key } else { ptr::null_mut() },
                self.calls.EVP_PKEY_free,
            )
        }
    }
}

/// The version on the wire.
static TLS_1_3: c_int = 0x0304;

/// A function that fetches an implementation by name and properties.
pub(super) type Fetch =
    unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
/// A function that decodes a key in DER.
pub(super) type Decode = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut *const c_uchar,
    c_long,
    *mut c_void,
    *const c_char,
) -> *mut c_void;
/// A function that encodes a key in DER.
pub(super) type Encode = unsafe extern "C" fn(*const c_void, *mut *mut c_uchar) -> c_int;
/// A function that prepares a new EVP_PKEY_CTX for an operation.
pub(super) type Init = unsafe extern "C" fn(*mut c_void) -> c_int;
/// A function that creates a key, or a blank one.
pub(super) type Make = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int;

functions! {
    CRYPTO_free: fn(*mut c_void, *const c_char, c_int);
    EVP_KDF_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KDF_free: fn(*mut c_void);
    EVP_KDF_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_KDF_CTX_free: fn(*mut c_void);
    EVP_KEYMGMT_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KEYMGMT_free: fn(*mut c_void);
    EVP_SIGNATURE_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_SIGNATURE_free: fn(*mut c_void);
    EVP_KDF_derive: fn(*mut c_void, *mut c_uchar, usize, *const Param) -> c_int;
    EVP_MAC_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MAC_free: fn(*mut c_void);
    EVP_MAC_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_MAC_CTX_free: fn(*mut c_void);
    EVP_MAC_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_Q_mac: fn(*mut c_void, *const c_char, *const c_char, *const c_char, *const Param, *const c_void, usize, *const c_uchar, usize, *mut c_uchar, usize, *mut usize) -> *mut c_uchar;
    EVP_MAC_init: fn(*mut c_void, *const c_uchar, usize, *const Param) -> c_int;
    EVP_MAC_update: fn(*mut c_void, *const c_uchar, usize) -> c_int;
    EVP_MAC_final: fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;
    EVP_PKEY_free: fn(*mut c_void);
    EVP_PKEY_dup: fn(*mut c_void) -> *mut c_void;
    EVP_PKEY_new_raw_private_key_ex: fn(*mut c_void, *const c_char, *const c_char, *const c_uchar, usize) -> *mut c_void;
    EVP_PKEY_get1_encoded_public_key: fn(*mut c_void, *mut *mut c_uchar) -> usize;
    EVP_PKEY_set1_encoded_public_key: fn(*mut c_void, *const c_uchar, usize) -> c_int;
    EVP_PKEY_CTX_new_from_name: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_new_from_pkey: fn(*mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_free: fn(*mut c_void);
    EVP_PKEY_CTX_set_group_name: fn(*mut c_void, *const c_char) -> c_int;
    EVP_PKEY_keygen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_keygen: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_paramgen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_paramgen: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_derive_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_derive_set_peer: fn(*mut c_void, *mut c_void) -> c_int;
    EVP_PKEY_derive: fn(*mut c_void, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_encapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_encapsulate: fn(*mut c_void, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_decapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_decapsulate: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_sign_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_sign: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_verify_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_verify: fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
    EVP_MD_CTX_new: fn() -> *mut c_void;
    EVP_MD_CTX_free: fn(*mut c_void);
    EVP_DigestSignInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
    EVP_DigestSignUpdate: fn(*mut c_void, *const c_void, usize) -> c_int;
    EVP_DigestSignFinal: fn(*mut c_void, *mut c_uchar, *mut usize) -> c_int;
    EVP_DigestSign: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_DigestVerifyInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
    EVP_DigestVerify: fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
    d2i_AutoPrivateKey_ex: fn(*mut *mut c_void, *mut *const c_uchar, c_long, *mut c_void, *const c_char) -> *mut c_void;
    i2d_PrivateKey: fn(*const c_void, *mut *mut c_uchar) -> c_int;
    d2i_PUBKEY_ex: fn(*mut *mut c_void, *mut *const c_uchar, c_long, *mut c_void, *const c_char) -> *mut c_void;
    i2d_PUBKEY: fn(*const c_void, *mut *mut c_uchar) -> c_int;
}
