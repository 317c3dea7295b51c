//! The machine's OpenSSL, loaded at run time: what is measured is what programs here get, and the
//! harness builds without its headers.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr;
use std::sync::Arc;

use libloading::Library;

use crate::Error;
use crate::case::{Case, Operation};
use crate::peer::{Peer, PeerFactory, Presence, Subject};

/// The peer `openssl`.
pub const PEER: PeerFactory = PeerFactory {
    name: "openssl",
    presence: Presence::Always,
    open: || Ok(Box::new(OpenSsl(Arc::new(Libcrypto::load()?)))),
};

/// The newest first. 1.1 has all functions used here with the same signatures.
const FILES: &[&str] = &["libcrypto.so.3", "libcrypto.so.1.1"];

struct OpenSsl(Arc<Libcrypto>);

impl Peer for OpenSsl {
    fn version(&self) -> String {
        // SAFETY: the function takes any number and gives a static string.
        let text = unsafe { (self.0.version)(0) };
        // SAFETY: it is NUL-terminated and lives as long as the library, which `self` keeps.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Box<dyn Subject>, Error> {
        let Operation::AesCtr { key_bytes } = case.operation;
        debug_assert_eq!(key.len(), key_bytes, "the case says how long its key is");
        let libcrypto = Arc::clone(&self.0);
        let cipher = match key.len() {
            16 => libcrypto.aes_128_ctr,
            24 => libcrypto.aes_192_ctr,
            _ => libcrypto.aes_256_ctr,
        };
        // SAFETY: takes nothing; null says that it failed.
        let ctx = unsafe { (libcrypto.ctx_new)() };
        if ctx.is_null() {
            return Err(failed("EVP_CIPHER_CTX_new"));
        }
        let subject = Box::new(OpenSslCtr { libcrypto, ctx });
        // SAFETY: the context is live; the cipher takes a key of just this length and an IV of 16
        // bytes; no engine is named.
        let set = unsafe {
            (subject.libcrypto.encrypt_init)(
                ctx,
                cipher(),
                ptr::null_mut(),
                key.as_ptr(),
                [0; 16].as_ptr(),
            )
        };
        if set == 1 {
            Ok(subject)
        } else {
            Err(failed("EVP_EncryptInit_ex"))
        }
    }
}

/// A key in an EVP_CIPHER_CTX. The context is its own: one thread at a time, as `&mut` says.
struct OpenSslCtr {
    libcrypto: Arc<Libcrypto>,
    ctx: *mut c_void,
}

impl Subject for OpenSslCtr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        // SAFETY: the context is live and has a cipher and a key, which null leaves as they are;
        // its IV has 16 bytes.
        let set = unsafe {
            (self.libcrypto.encrypt_init)(
                self.ctx,
                ptr::null(),
                ptr::null_mut(),
                ptr::null(),
                iv.as_ptr(),
            )
        };
        assert_eq!(set, 1, "EVP_EncryptInit_ex takes an IV");
    }

    fn apply(&mut self, data: &mut [u8]) {
        let mut written = 0;
        let bytes = c_int::try_from(data.len()).unwrap_or_default();
        let data = data.as_mut_ptr();
        // SAFETY: the context is live and keyed; `data` is good for `bytes` both ways, and in CTR
        // mode as many come out as go in, in place if input and output are the same.
        let done =
            unsafe { (self.libcrypto.encrypt_update)(self.ctx, data, &mut written, data, bytes) };
        assert!(done == 1 && written == bytes, "EVP_EncryptUpdate");
    }
}

impl Drop for OpenSslCtr {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new and is freed once.
        unsafe { (self.libcrypto.ctx_free)(self.ctx) }
    }
}

type CipherFn = unsafe extern "C" fn() -> *const c_void;

/// Functions of the loaded library, which stays loaded as long as this lives.
struct Libcrypto {
    version: unsafe extern "C" fn(c_int) -> *const c_char,
    ctx_new: unsafe extern "C" fn() -> *mut c_void,
    ctx_free: unsafe extern "C" fn(*mut c_void),
    aes_128_ctr: CipherFn,
    aes_192_ctr: CipherFn,
    aes_256_ctr: CipherFn,
    encrypt_init: unsafe extern "C" fn(
        *mut c_void,
        *const c_void,
        *mut c_void,
        *const c_uchar,
        *const c_uchar,
    ) -> c_int,
    encrypt_update:
        unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int,
    _library: Library,
}

impl Libcrypto {
    fn load() -> Result<Self, Error> {
        let library = FILES
            .iter()
            // SAFETY: loading runs the initialisers of the system's own libcrypto, which may run
            // in any process; symbols stay local, so no other library's are replaced.
            .find_map(|file| unsafe { Library::new(*file) }.ok())
            .ok_or_else(|| {
                Error::Unavailable(format!(
                    "no {} on this machine: install libssl3 (libssl3t64 from Debian 13 on)",
                    FILES.join(" or ")
                ))
            })?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field's type is the function's in the headers of OpenSSL 1.1 and 3
                // alike, and the library is kept beside it.
                *unsafe { library.get($name) }.map_err(|error| {
                    Error::Unavailable(format!("libcrypto is not OpenSSL's: {error}"))
                })?
            };
        }
        Ok(Self {
            version: symbol!("OpenSSL_version"),
            ctx_new: symbol!("EVP_CIPHER_CTX_new"),
            ctx_free: symbol!("EVP_CIPHER_CTX_free"),
            aes_128_ctr: symbol!("EVP_aes_128_ctr"),
            aes_192_ctr: symbol!("EVP_aes_192_ctr"),
            aes_256_ctr: symbol!("EVP_aes_256_ctr"),
            encrypt_init: symbol!("EVP_EncryptInit_ex"),
            encrypt_update: symbol!("EVP_EncryptUpdate"),
            _library: library,
        })
    }
}

fn failed(function: &str) -> Error {
    Error::Failed(format!("openssl: {function} failed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::CASES;

    /// SP 800-38A, F.5.1: CTR-AES128.Encrypt, the first block.
    #[test]
    fn the_machines_openssl_loads_and_is_right() {
        let peer = (PEER.open)().unwrap();
        assert!(peer.version().starts_with("OpenSSL "), "{}", peer.version());
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let iv = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff_u128.to_be_bytes();
        let mut subject = peer.subject(&CASES[0], &key).unwrap();
        for _ in 0..2 {
            let mut block = 0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128.to_be_bytes();
            subject.set_iv(&iv);
            subject.apply(&mut block);
            assert_eq!(
                u128::from_be_bytes(block),
                0x874d_6191_b620_e326_1bef_6864_990d_b6ce
            );
        }
    }
}
