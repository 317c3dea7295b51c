//! The functions of `bench/peers/boringssl.c`, and keys that they create.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use libloading::Library;
use oarlock_measure::Error;
use oarlock_measure::cases::Direction;
use oarlock_measure::peers::Sealed;

use crate::system::fetched;

/// Functions of the loaded library, which stays loaded as long as this lives.
pub(super) struct Functions {
    version: unsafe extern "C" fn() -> *const c_char,
    aes_key: unsafe extern "C" fn(*const u8, usize, c_int) -> *mut c_void,
    aes_key_free: Free,
    ctr: unsafe extern "C" fn(*const c_void, *mut u8, *mut u8, *mut c_uint, *mut u8, usize),
    cbc: unsafe extern "C" fn(*const c_void, c_int, *mut u8, *mut u8, usize),
    chacha20: unsafe extern "C" fn(*const u8, *const u8, u32, *mut u8, usize),
    aead: unsafe extern "C" fn(c_int, *const u8, usize) -> *mut c_void,
    aead_free: Free,
    seal: unsafe extern "C" fn(
        *const c_void,
        *const u8,
        *const u8,
        usize,
        *mut u8,
        usize,
        *mut u8,
    ) -> c_int,
    open: unsafe extern "C" fn(
        *const c_void,
        *const u8,
        *const u8,
        usize,
        *const u8,
        *mut u8,
        usize,
        *const u8,
    ) -> c_int,
    rsa: unsafe extern "C" fn(*const u8, usize) -> *mut c_void,
    rsa_free: Free,
    rsa_private: RsaFunction,
    rsa_sign: RsaFunction,
    rsa_verify: unsafe extern "C" fn(*mut c_void, *const u8, *const u8, usize) -> c_int,
    _library: Library,
}

type Free = unsafe extern "C" fn(*mut c_void);
type RsaFunction = unsafe extern "C" fn(*mut c_void, *const u8, *mut u8, usize) -> c_int;

impl Functions {
    pub(super) fn load() -> Result<Self, Error> {
        let library = fetched::load(FILE)?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field has the function's type in bench/peers/boringssl.c, and the library is kept with it.
                unsafe { fetched::symbol(&library, $name) }?
            };
        }
        Ok(Self {
            version: symbol!("peer_boringssl_version"),
            aes_key: symbol!("peer_boringssl_aes_key"),
            aes_key_free: symbol!("peer_boringssl_aes_key_free"),
            ctr: symbol!("peer_boringssl_ctr"),
            cbc: symbol!("peer_boringssl_cbc"),
            chacha20: symbol!("peer_boringssl_chacha20"),
            aead: symbol!("peer_boringssl_aead"),
            aead_free: symbol!("peer_boringssl_aead_free"),
            seal: symbol!("peer_boringssl_seal"),
            open: symbol!("peer_boringssl_open"),
            rsa: symbol!("peer_boringssl_rsa"),
            rsa_free: symbol!("peer_boringssl_rsa_free"),
            rsa_private: symbol!("peer_boringssl_rsa_private"),
            rsa_sign: symbol!("peer_boringssl_rsa_sign"),
            rsa_verify: symbol!("peer_boringssl_rsa_verify"),
            _library: library,
        })
    }

    pub(super) fn version(&self) -> String {
        // SAFETY: it has no parameters and returns a static string of the library, which `self` keeps loaded.
        let text = unsafe { fetched::said_by(self.version) };
        format!("BoringSSL of {text}")
    }

    /// Applies ChaCha20 in place, from the start of block `counter` on.
    #[inline]
    pub(super) fn chacha20(&self, key: &[u8; 32], nonce: &[u8; 12], counter: u32, data: &mut [u8]) {
        // SAFETY: key and nonce have the bytes that are read; `data` is valid for its length.
        unsafe {
            (self.chacha20)(
                key.as_ptr(),
                nonce.as_ptr(),
                counter,
                data.as_mut_ptr(),
                data.len(),
            );
        }
    }
}

/// An object of the library, freed on drop.
struct Owned {
    functions: Arc<Functions>,
    made: NonNull<c_void>,
    free: Free,
}

impl Owned {
    /// Takes ownership of a function's result, which is null if it failed.
    fn new(
        functions: &Arc<Functions>,
        made: *mut c_void,
        free: Free,
        what: &str,
    ) -> Result<Self, Error> {
        let made = NonNull::new(made)
            .ok_or_else(|| Error::Unavailable(format!("it refuses the {what}")))?;
        Ok(Self {
            functions: Arc::clone(functions),
            made,
            free,
        })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the library created the object, `free` is the function for it, and it is freed once.
        unsafe { (self.free)(self.made.as_ptr()) }
    }
}

/// An AES key schedule for one direction.
pub(super) struct AesKey {
    owned: Owned,
    decrypt: c_int,
}

impl AesKey {
    pub(super) fn new(
        functions: &Arc<Functions>,
        key: &[u8],
        direction: Direction,
    ) -> Result<Self, Error> {
        let decrypt = c_int::from(direction == Direction::Decrypt);
        // SAFETY: `key` has the length passed; a null schedule is a failure.
        let made = unsafe { (functions.aes_key)(key.as_ptr(), key.len(), decrypt) };
        let owned = Owned::new(functions, made, functions.aes_key_free, "AES key")?;
        Ok(Self { owned, decrypt })
    }

    /// Continues a stream in place. The key must be one for encryption.
    #[inline]
    pub(super) fn ctr(
        &self,
        counter: &mut [u8; 16],
        keystream: &mut [u8; 16],
        used: &mut u32,
        data: &mut [u8],
    ) {
        // SAFETY: the schedule is live; `data` is valid for its length; the rest is the state of the stream, with `used`
        // below 16 as only this function sets it.
        unsafe {
            (self.owned.functions.ctr)(
                self.owned.made.as_ptr(),
                counter.as_mut_ptr(),
                keystream.as_mut_ptr(),
                used,
                data.as_mut_ptr(),
                data.len(),
            );
        }
    }

    /// Encrypts or decrypts whole blocks in place.
    #[inline]
    pub(super) fn cbc(&self, iv: &mut [u8; 16], data: &mut [u8]) {
        // SAFETY: the schedule is live and for this direction; `data` is valid for its length, and the harness passes whole
        // blocks; the IV is writable.
        unsafe {
            (self.owned.functions.cbc)(
                self.owned.made.as_ptr(),
                self.decrypt,
                iv.as_mut_ptr(),
                data.as_mut_ptr(),
                data.len(),
            );
        }
    }
}

/// An AEAD key, for one message at a time.
pub(super) struct AeadContext(Owned);

impl AeadContext {
    pub(super) fn gcm(functions: &Arc<Functions>, key: &[u8]) -> Result<Self, Error> {
        Self::new(functions, 0, key)
    }

    pub(super) fn chacha20_poly1305(functions: &Arc<Functions>, key: &[u8]) -> Result<Self, Error> {
        Self::new(functions, 1, key)
    }

    fn new(functions: &Arc<Functions>, is_chacha: c_int, key: &[u8]) -> Result<Self, Error> {
        // SAFETY: `key` has the length passed; a null context is a failure.
        let made = unsafe { (functions.aead)(is_chacha, key.as_ptr(), key.len()) };
        Owned::new(functions, made, functions.aead_free, "AEAD key").map(Self)
    }

    #[inline]
    pub(super) fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        // SAFETY: the context is live; every pointer is valid for the length passed with it or declared by the function.
        let done = unsafe {
            (self.0.functions.seal)(
                self.0.made.as_ptr(),
                nonce.as_ptr(),
                aad.as_ptr(),
                aad.len(),
                data.as_mut_ptr(),
                data.len(),
                tag.as_mut_ptr(),
            )
        };
        assert_eq!(done, 1, "boringssl: sealing failed");
        tag
    }

    #[inline]
    pub(super) fn open(&self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        assert_eq!(message.data.len(), data.len(), "as many bytes come out");
        // SAFETY: the same holds as for `seal`; `data` has the ciphertext's length and does not overlap it.
        let is_right = unsafe {
            (self.0.functions.open)(
                self.0.made.as_ptr(),
                message.nonce.as_ptr(),
                aad.as_ptr(),
                aad.len(),
                message.data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
                message.tag.as_ptr(),
            )
        };
        is_right == 1
    }
}

/// An RSA private key. The library itself checks every private result with the public exponent.
pub(super) struct Rsa(Owned);

// SAFETY: BoringSSL's RSA may be used from any thread (include/openssl/rsa.h).
unsafe impl Send for Rsa {}

impl Rsa {
    /// Reads an RSAPrivateKey (RFC 8017, A.1.2).
    pub(super) fn new(functions: &Arc<Functions>, der: &[u8]) -> Result<Self, Error> {
        // SAFETY: `der` has the length passed; a null key is a failure.
        let made = unsafe { (functions.rsa)(der.as_ptr(), der.len()) };
        Owned::new(functions, made, functions.rsa_free, "RSA key").map(Self)
    }

    pub(super) fn private(&self, number: &[u8], result: &mut [u8]) {
        assert_eq!(number.len(), result.len(), "the bytes of the modulus");
        self.run(self.0.functions.rsa_private, number, result);
    }

    pub(super) fn sign_digest(&self, digest: &[u8; 32], result: &mut [u8]) {
        self.run(self.0.functions.rsa_sign, digest, result);
    }

    fn run(&self, function: RsaFunction, input: &[u8], result: &mut [u8]) {
        // SAFETY: the key is live; both callers pass a digest of 32 bytes or an input as long as the result, and the result
        // has room for the length passed.
        let done = unsafe {
            function(
                self.0.made.as_ptr(),
                input.as_ptr(),
                result.as_mut_ptr(),
                result.len(),
            )
        };
        assert_eq!(done, 1, "boringssl: a private operation failed");
    }

    pub(super) fn verify_digest(&self, digest: &[u8; 32], signature: &[u8]) -> bool {
        // SAFETY: the key is live; both inputs have the lengths passed.
        let is_right = unsafe {
            (self.0.functions.rsa_verify)(
                self.0.made.as_ptr(),
                digest.as_ptr(),
                signature.as_ptr(),
                signature.len(),
            )
        };
        is_right == 1
    }
}

pub(super) const FILE: &str = "libpeer_boringssl.so";
