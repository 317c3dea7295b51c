//! Whole lives of contexts: what a program pays that makes one for each message, or a key.

use std::ffi::{c_int, c_uchar, c_void};
use std::ptr;

use super::library::Fetched;
use crate::cases::Direction;
use crate::error::Error;

/// The step that a message begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// A copy of a context that has a key, which gets an IV and is freed: the Python package `cryptography` makes one for
    /// each message.
    Copy,
    /// A context, which gets a key and an IV and is freed.
    New,
    /// A key and an IV for a context that stays.
    Rekey,
}

/// A cipher, a key and a message.
pub(crate) struct Lives {
    functions: Functions,
    cipher: Fetched,
    kept: *mut c_void,
    key: Vec<u8>,
    data: Vec<u8>,
    direction: Direction,
    is_aead: bool,
}

functions! {
    EVP_CIPHER_CTX_new: fn() -> *mut c_void;
    EVP_CIPHER_CTX_free: fn(*mut c_void);
    EVP_CIPHER_CTX_copy: fn(*mut c_void, *const c_void) -> c_int;
    EVP_CIPHER_CTX_ctrl: fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int;
    EVP_CIPHER_CTX_set_padding: fn(*mut c_void, c_int) -> c_int;
    EVP_CipherInit_ex: fn(*mut c_void, *const c_void, *mut c_void, *const c_uchar, *const c_uchar, c_int) -> c_int;
    EVP_CipherUpdate: fn(*mut c_void, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int;
    EVP_CipherFinal_ex: fn(*mut c_void, *mut c_uchar, *mut c_int) -> c_int;
}

impl Lives {
    /// Prepares messages of `bytes`, whole blocks where the cipher works on blocks.
    pub(crate) fn new(
        cipher: Fetched,
        key: &[u8],
        direction: Direction,
        bytes: usize,
        is_aead: bool,
    ) -> Result<Self, Error> {
        let functions = Functions::of(cipher.world().libcrypto().library())?;
        // SAFETY: takes nothing; null says that it failed.
        let kept = unsafe { (functions.EVP_CIPHER_CTX_new)() };
        let mut lives = Self {
            functions,
            cipher,
            kept,
            key: key.to_vec(),
            data: vec![0x5a; bytes],
            direction,
            is_aead,
        };
        if kept.is_null() || !lives.init(kept, true, true, false) {
            return Err(failed("setting a key up"));
        }
        for life in [Life::New, Life::Copy, Life::Rekey] {
            lives.run(life)?;
        }
        Ok(lives)
    }

    /// One message.
    #[inline]
    pub(crate) fn run(&mut self, life: Life) -> Result<(), Error> {
        let calls = &self.functions;
        if life == Life::Rekey {
            let done = self.init(self.kept, false, true, true) && self.message(self.kept);
            return done.then_some(()).ok_or_else(|| failed("a message"));
        }
        // SAFETY: takes nothing; null says that it failed.
        let context = unsafe { (calls.EVP_CIPHER_CTX_new)() };
        if context.is_null() {
            return Err(failed("EVP_CIPHER_CTX_new"));
        }
        let is_begun = match life {
            // SAFETY: both contexts are live.
            Life::Copy => unsafe {
                (calls.EVP_CIPHER_CTX_copy)(context, self.kept) == 1
                    && self.init(context, false, false, true)
            },
            _ => self.init(context, true, true, true),
        };
        let done = is_begun && self.message(context);
        // SAFETY: it was made above and is freed once.
        unsafe { (self.functions.EVP_CIPHER_CTX_free)(context) };
        done.then_some(()).ok_or_else(|| failed("a message"))
    }

    /// Sets what is said in a live context, which has what is not.
    #[inline]
    fn init(&self, context: *mut c_void, cipher: bool, key: bool, iv: bool) -> bool {
        const IV: [u8; 16] = [1; 16];
        let or_null = |is_given: bool, bytes: &[u8]| {
            if is_given {
                bytes.as_ptr()
            } else {
                ptr::null()
            }
        };
        let encrypts = c_int::from(self.direction == Direction::Encrypt);
        // SAFETY: the context is live; the cipher takes a key of just this length and an IV of up to 16 bytes; no
        // engine is named.
        unsafe {
            let cipher_or_null = if cipher {
                self.cipher.cipher()
            } else {
                ptr::null()
            };
            (self.functions.EVP_CipherInit_ex)(
                context,
                cipher_or_null,
                ptr::null_mut(),
                or_null(key, &self.key),
                or_null(iv, &IV),
                encrypts,
            ) == 1
                && (!cipher || self.is_aead || {
                    (self.functions.EVP_CIPHER_CTX_set_padding)(context, 0) == 1
                })
        }
    }

    /// A message in a context that has a key and an IV.
    #[inline]
    fn message(&mut self, context: *mut c_void) -> bool {
        let calls = &self.functions;
        let (mut written, mut tag) = (0, [0_u8; 16]);
        let (data, bytes) = (self.data.as_mut_ptr(), self.data.len() as c_int);
        // SAFETY: the context is live and keyed; the data are worked on in place, without padding, and `tag` has room for
        // the 16 bytes that are asked for, or for a block.
        unsafe {
            let place = tag.as_mut_ptr();
            if (calls.EVP_CipherUpdate)(context, data, &mut written, data, bytes) != 1 {
                return false;
            }
            match (self.is_aead, self.direction) {
                // A tag that is wrong says nothing of what it took.
                (true, Direction::Decrypt) => true,
                (is_aead, _) => {
                    (calls.EVP_CipherFinal_ex)(context, place, &mut written) == 1
                        && (!is_aead
                            || (calls.EVP_CIPHER_CTX_ctrl)(context, GET_TAG, 16, place.cast()) == 1)
                }
            }
        }
    }
}

impl Drop for Lives {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new, or is null, and is freed once.
        unsafe { (self.functions.EVP_CIPHER_CTX_free)(self.kept) }
    }
}

fn failed(what: &str) -> Error {
    Error::Failed(format!("openssl: {what} failed"))
}

/// EVP_CTRL_AEAD_GET_TAG.
const GET_TAG: c_int = 0x10;
