//! AES-GCM and ChaCha20-Poly1305.
//!
//! Uses EVP_CIPHER, not EVP_AEAD: the latter wipes data that fail to verify, which would lose an in-place message. A context
//! serves one message at a time, so each message uses a copy of the context that holds the key. The copy costs about as much
//! as encrypting 100 bytes.
#![allow(unsafe_code)]

use std::alloc::{Layout, handle_alloc_error};
use std::os::raw::{c_int, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;

use aws_lc_sys::{
    EVP_CIPHER, EVP_CIPHER_CTX, EVP_CIPHER_CTX_copy, EVP_CIPHER_CTX_ctrl, EVP_CIPHER_CTX_free,
    EVP_CIPHER_CTX_new, EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_IVLEN, EVP_CTRL_AEAD_SET_TAG,
    EVP_CipherFinal_ex, EVP_CipherInit_ex, EVP_CipherUpdate, EVP_aes_128_gcm, EVP_aes_192_gcm,
    EVP_aes_256_gcm, EVP_chacha20_poly1305,
};
use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, TAG_BYTES};
use oarlock_kernels::{chacha20_poly1305, gcm};

use crate::device::error::DeviceError;
use crate::device::keyed::aead::{Aead, is_in_place};
use crate::work::algorithm::{Algorithm, Direction};

/// A key of an AEAD. aws-lc wipes it on drop.
pub(super) struct SoftwareAead {
    /// Never changed: each message uses a copy.
    keyed: Context,
    takes_any_nonce: bool,
    data_bytes_max: u64,
    aad_bytes_max: u64,
}

// SAFETY: a context is memory that belongs to no thread. A shared one is only copied, by `Context::copy`, which reads it.
unsafe impl Sync for SoftwareAead {}

impl SoftwareAead {
    pub(super) fn new(algorithm: Algorithm, key: &[u8]) -> Result<Arc<Self>, DeviceError> {
        // SAFETY: these functions take no arguments, and the ciphers they return live as long as the process.
        let cipher = unsafe {
            match algorithm {
                Algorithm::Aes128Gcm => EVP_aes_128_gcm(),
                Algorithm::Aes192Gcm => EVP_aes_192_gcm(),
                Algorithm::Aes256Gcm => EVP_aes_256_gcm(),
                Algorithm::ChaCha20Poly1305 => EVP_chacha20_poly1305(),
                other => return Err(DeviceError(format!("{other} is not offered"))),
            }
        };
        if key.len() != algorithm.key_bytes() {
            return Err(DeviceError(format!("a key of {} bytes", key.len())));
        }
        let mut keyed = Context::new();
        if !keyed.set_key(cipher, key) {
            return Err(DeviceError(format!("EVP_CipherInit_ex: {algorithm}")));
        }
        let is_gcm = algorithm != Algorithm::ChaCha20Poly1305;
        let (data_bytes_max, aad_bytes_max) = if is_gcm {
            (gcm::MESSAGE_BYTES_MAX, gcm::AAD_BYTES_MAX)
        } else {
            (chacha20_poly1305::DATA_BYTES_MAX, u64::MAX)
        };
        Ok(Arc::new(Self {
            keyed,
            takes_any_nonce: is_gcm,
            data_bytes_max,
            aad_bytes_max,
        }))
    }

    /// Returns a context for a message whose associated data are already processed.
    fn begin(
        &self,
        direction: Direction,
        nonce: &[u8],
        aad: &[u8],
        bytes: usize,
    ) -> Result<Context, AeadError> {
        let fits = match nonce.len() {
            NONCE_BYTES => true,
            // aws-lc passes the length as a C int.
            1..=NONCE_BYTES_MAX => self.takes_any_nonce,
            _ => false,
        };
        if !fits {
            return Err(AeadError::InvalidNonceLength(nonce.len()));
        }
        if bytes as u64 > self.data_bytes_max {
            return Err(AeadError::MessageTooLong {
                bytes_max: self.data_bytes_max,
            });
        }
        if aad.len() as u64 > self.aad_bytes_max {
            return Err(AeadError::AadTooLong {
                bytes_max: self.aad_bytes_max,
            });
        }
        let mut message = self.keyed.copy();
        message.begin(direction, nonce);
        for piece in aad.chunks(PIECE_BYTES) {
            message.authenticate(piece);
        }
        Ok(message)
    }

    /// Decrypts the data and returns whether they are authentic.
    fn decrypt(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<bool, AeadError> {
        let mut message = self.begin(Direction::Decrypt, nonce, aad, data.len())?;
        message.crypt(data);
        Ok(message.has_tag(tag))
    }
}

impl Aead for SoftwareAead {
    fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        let mut message = self.begin(Direction::Encrypt, nonce, aad, data.len())?;
        message.crypt(data);
        Ok(message.tag())
    }

    fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        if self.decrypt(nonce, aad, data.reborrow(), tag)? {
            return Ok(());
        }
        if is_in_place(&mut data) {
            // Encrypt again to restore the ciphertext.
            let mut message = self.begin(Direction::Encrypt, nonce, &[], data.len())?;
            message.crypt(data);
        } else {
            data.get_out().fill(0);
        }
        Err(AeadError::AuthenticationFailed)
    }

    fn open_or_zero(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        if self.decrypt(nonce, aad, data.reborrow(), tag)? {
            return Ok(());
        }
        data.get_out().fill(0);
        Err(AeadError::AuthenticationFailed)
    }
}

/// An EVP_CIPHER_CTX. Freeing it wipes it.
struct Context(NonNull<EVP_CIPHER_CTX>);

// SAFETY: a context is memory that belongs to no thread.
unsafe impl Send for Context {}

impl Context {
    fn new() -> Self {
        // SAFETY: EVP_CIPHER_CTX_new takes no arguments, and null is handled.
        let context = unsafe { EVP_CIPHER_CTX_new() };
        Self(NonNull::new(context).unwrap_or_else(|| out_of_memory()))
    }

    /// Returns a context with the same key.
    fn copy(&self) -> Self {
        let copy = Self::new();
        // SAFETY: both are contexts; the source has a cipher and a key, and is only read.
        if unsafe { EVP_CIPHER_CTX_copy(copy.0.as_ptr(), self.0.as_ptr()) } != 1 {
            out_of_memory();
        }
        copy
    }

    /// Sets the cipher and `key`, which must have the cipher's key length.
    fn set_key(&mut self, cipher: *const EVP_CIPHER, key: &[u8]) -> bool {
        let context = self.0.as_ptr();
        // SAFETY: the context is valid, the cipher is aws-lc's, the key has its length, and no nonce is set yet.
        unsafe { EVP_CipherInit_ex(context, cipher, null_mut(), key.as_ptr(), null(), 1) == 1 }
    }

    /// Begins a message. `nonce` has 1 to [`NONCE_BYTES_MAX`] bytes, and exactly [`NONCE_BYTES`] unless the cipher accepts
    /// others.
    fn begin(&mut self, direction: Direction, nonce: &[u8]) {
        if nonce.len() != NONCE_BYTES {
            let bytes = nonce.len() as c_int;
            self.control(EVP_CTRL_AEAD_SET_IVLEN, bytes, null_mut());
        }
        let context = self.0.as_ptr();
        // SAFETY: the context keeps its cipher and key, and expects a nonce of this length: its cipher's 12 bytes, or the
        // length set above.
        let result = unsafe {
            EVP_CipherInit_ex(
                context,
                null(),
                null_mut(),
                null(),
                nonce.as_ptr(),
                (direction == Direction::Encrypt).into(),
            )
        };
        assert_done(result);
    }

    /// Authenticates associated data. `piece` has 1 to [`PIECE_BYTES`] bytes.
    fn authenticate(&mut self, piece: &[u8]) {
        let mut done: c_int = 0;
        let bytes = piece.len() as c_int;
        // SAFETY: a null output means associated data; they have this length, which fits an int.
        let result = unsafe {
            EVP_CipherUpdate(
                self.0.as_ptr(),
                null_mut(),
                &mut done,
                piece.as_ptr(),
                bytes,
            )
        };
        assert_done(result);
    }

    fn crypt(&mut self, data: InOutBuf<'_, '_, u8>) {
        let mut rest = data;
        while !rest.is_empty() {
            let bytes = rest.len().min(PIECE_BYTES);
            let (piece, after) = rest.split_at(bytes);
            rest = after;
            let (from, to) = piece.into_raw();
            let mut done: c_int = 0;
            let result =
                // SAFETY: the buffer guarantees `bytes` at both pointers, which are equal or do not overlap, as these
                // ciphers require; they write as many bytes as they read, and that number fits an int.
                unsafe { EVP_CipherUpdate(self.0.as_ptr(), to, &mut done, from, bytes as c_int) };
            assert_done(result);
        }
    }

    /// Returns the tag of a sealed message.
    fn tag(mut self) -> [u8; TAG_BYTES] {
        assert_done(self.finish().into());
        let mut tag = [0; TAG_BYTES];
        let bytes = TAG_BYTES as c_int;
        self.control(EVP_CTRL_AEAD_GET_TAG, bytes, tag.as_mut_ptr().cast());
        tag
    }

    /// Whether the opened message has this tag. Compares in constant time.
    fn has_tag(mut self, tag: &[u8; TAG_BYTES]) -> bool {
        let mut tag = *tag;
        let bytes = TAG_BYTES as c_int;
        self.control(EVP_CTRL_AEAD_SET_TAG, bytes, tag.as_mut_ptr().cast());
        self.finish()
    }

    fn finish(&mut self) -> bool {
        let mut done: c_int = 0;
        let mut nothing = [0; TAG_BYTES];
        let result =
            // SAFETY: the context has a message under way; these ciphers buffer nothing, so nothing is written.
            unsafe { EVP_CipherFinal_ex(self.0.as_ptr(), nothing.as_mut_ptr(), &mut done) };
        result == 1
    }

    /// Calls EVP_CIPHER_CTX_ctrl. `pointer` is null if `command` sets a length, or points to `argument` bytes for a tag.
    fn control(&mut self, command: i32, argument: c_int, pointer: *mut c_void) {
        // SAFETY: the context has a cipher; the callers, all in this implementation, pass the pointer described above.
        let result = unsafe { EVP_CIPHER_CTX_ctrl(self.0.as_ptr(), command, argument, pointer) };
        assert_done(result);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context comes from EVP_CIPHER_CTX_new, and only this drop frees it.
        unsafe { EVP_CIPHER_CTX_free(self.0.as_ptr()) };
    }
}

/// Panics unless `result` is 1. Lengths were checked, so aws-lc can only fail for lack of memory.
#[track_caller]
fn assert_done(result: c_int) {
    assert!(result == 1, "aws-lc refused a message within its limits");
}

#[cold]
fn out_of_memory() -> ! {
    handle_alloc_error(Layout::new::<EVP_CIPHER_CTX>())
}

const NONCE_BYTES: usize = 12;
const NONCE_BYTES_MAX: usize = c_int::MAX as usize;
/// Data are processed in pieces that stay in the first-level cache while cipher and MAC take turns.
const PIECE_BYTES: usize = 16 << 10;
