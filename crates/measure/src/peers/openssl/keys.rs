//! RSA keys that are read, used once and freed.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_void};
use std::ptr;
use std::rc::Rc;

use super::library::World;
use crate::error::Error;

/// The use of a key that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// A public key verifies a signature.
    Verify,
    /// A private key signs.
    Sign,
}

/// A key in DER and its signature of a message, in a library context.
pub(crate) struct KeyReader {
    functions: Functions,
    private: Vec<u8>,
    public: Vec<u8>,
    signature: Vec<u8>,
    world: Rc<World>,
}

functions! {
    d2i_AutoPrivateKey_ex: fn(*mut *mut c_void, *mut *const c_uchar, c_long, *mut c_void, *const c_char) -> *mut c_void;
    d2i_PUBKEY_ex: fn(*mut *mut c_void, *mut *const c_uchar, c_long, *mut c_void, *const c_char) -> *mut c_void;
    i2d_PUBKEY: fn(*const c_void, *mut *mut c_uchar) -> c_int;
    EVP_PKEY_free: fn(*mut c_void);
    EVP_MD_CTX_new: fn() -> *mut c_void;
    EVP_MD_CTX_free: fn(*mut c_void);
    EVP_DigestSignInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const c_void) -> c_int;
    EVP_DigestSign: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_DigestVerifyInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const c_void) -> c_int;
    EVP_DigestVerify: fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
}

impl KeyReader {
    /// Creates a reader of the RSA key `private`, which is in DER (RFC 8017, A.1.2).
    pub(crate) fn new(world: &Rc<World>, private: &[u8]) -> Result<Self, Error> {
        let mut reader = Self {
            functions: Functions::of(world.libcrypto().library())?,
            private: private.to_vec(),
            public: Vec::new(),
            signature: vec![0; BYTES_MAX],
            world: Rc::clone(world),
        };
        let calls = &reader.functions;
        let mut public = vec![0; BYTES_MAX];
        // SAFETY: a key is shorter than the buffer for it.
        let bytes = unsafe {
            let key = reader.read(calls.d2i_AutoPrivateKey_ex, &reader.private)?;
            let bytes = (calls.i2d_PUBKEY)(key, &mut public.as_mut_ptr());
            (calls.EVP_PKEY_free)(key);
            usize::try_from(bytes).map_err(|_| failed("i2d_PUBKEY"))?
        };
        public.truncate(bytes);
        reader.public = public;
        reader.run(Use::Sign)?;
        reader.run(Use::Verify)?;
        Ok(reader)
    }

    /// Reads a key, uses it and frees it.
    pub(crate) fn run(&mut self, what: Use) -> Result<(), Error> {
        let calls = &self.functions;
        let (read, der) = match what {
            Use::Verify => (calls.d2i_PUBKEY_ex, &self.public),
            Use::Sign => (calls.d2i_AutoPrivateKey_ex, &self.private),
        };
        let key = self.read(read, der)?;
        let (digest, world) = (c"SHA256".as_ptr(), self.world.ctx());
        let mut bytes = self.signature.len();
        // SAFETY: the key is live, and lengths are those of their buffers. Each new object is freed once.
        let done = unsafe {
            let ctx = (calls.EVP_MD_CTX_new)();
            let (no_ctx, none) = (ptr::null_mut(), ptr::null());
            let done = match what {
                Use::Verify => {
                    let init = calls.EVP_DigestVerifyInit_ex;
                    let signature = self.signature.as_ptr();
                    !ctx.is_null()
                        && init(ctx, no_ctx, digest, world, ptr::null(), key, none) == 1
                        && (calls.EVP_DigestVerify)(
                            ctx,
                            signature,
                            bytes,
                            MESSAGE.as_ptr(),
                            MESSAGE.len(),
                        ) == 1
                }
                Use::Sign => {
                    let init = calls.EVP_DigestSignInit_ex;
                    let signature = self.signature.as_mut_ptr();
                    !ctx.is_null()
                        && init(ctx, no_ctx, digest, world, ptr::null(), key, none) == 1
                        && (calls.EVP_DigestSign)(
                            ctx,
                            signature,
                            &mut bytes,
                            MESSAGE.as_ptr(),
                            MESSAGE.len(),
                        ) == 1
                }
            };
            (calls.EVP_MD_CTX_free)(ctx);
            (calls.EVP_PKEY_free)(key);
            done
        };
        self.signature.truncate(bytes);
        done.then_some(()).ok_or_else(|| failed("a signature"))
    }

    fn read(&self, read: Read, der: &[u8]) -> Result<*mut c_void, Error> {
        let bytes = c_long::try_from(der.len()).map_err(|_| failed("a key so long"))?;
        // SAFETY: `der` has the length that is passed; null asks for a new key; the library context is live.
        let key = unsafe {
            read(
                ptr::null_mut(),
                &mut der.as_ptr(),
                bytes,
                self.world.ctx(),
                ptr::null(),
            )
        };
        (!key.is_null())
            .then_some(key)
            .ok_or_else(|| failed("reading a key"))
    }
}

type Read = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut *const c_uchar,
    c_long,
    *mut c_void,
    *const c_char,
) -> *mut c_void;

fn failed(what: &str) -> Error {
    Error::Failed(format!("openssl: {what} failed"))
}

/// The most bytes of a public key, and of a signature.
const BYTES_MAX: usize = 1024;
const MESSAGE: &[u8] = b"a message";
