//! Stream ciphers and AES-CBC.

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use inout::InOutBuf;
use oarlock::cipher::{
    AcceleratedCbc, AcceleratedCtr, AnyAes, AnyStream, StreamCipher, StreamCipherSeek,
};
use oarlock::{Accelerator, Algorithm, Kind};
use zeroize::Zeroizing;

use crate::accelerator::free;
use crate::algorithms::named;
use crate::buffers::{both, input, place, text};
use crate::failure::{Code, Failure, call};
use crate::handles::{Handle, Object, OneCall};

/// A cipher whose key and IV are set one after the other.
pub struct Cipher {
    accelerator: Accelerator,
    algorithm: Algorithm,
    iv_bytes: usize,
    /// The key, from when it is set until it gets an IV.
    key: Option<Zeroizing<Vec<u8>>>,
    session: Session,
}

enum Session {
    /// No key, or a key without an IV.
    None,
    /// AES-CTR, in a more specific type than [`AnyStream`] because it gets the most short requests.
    Aes(AcceleratedCtr<AnyAes>),
    Stream(AcceleratedCtr<AnyStream>),
    Cbc(AcceleratedCbc),
}

const IV_BYTES_MAX: usize = 16;

impl Object for Cipher {
    const KIND: u64 = 2;
    const NAME: &'static str = "cipher";
}

impl OneCall for Cipher {}

impl Cipher {
    fn new(accelerator: &Accelerator, algorithm: Algorithm) -> Result<Self, Failure> {
        let iv_bytes = match algorithm.kind() {
            Kind::Stream { iv_bytes, .. } => iv_bytes,
            Kind::Cbc => 16,
            _ => {
                return Err(Failure::argument(format!(
                    "{algorithm} authenticates: oarlock_aead_new takes it"
                )));
            }
        };
        Ok(Self {
            accelerator: accelerator.clone(),
            algorithm,
            iv_bytes,
            key: None,
            session: Session::None,
        })
    }

    fn set_key(&mut self, key: &[u8]) -> Result<(), Failure> {
        let (wanted, given) = (self.algorithm.key_bytes(), key.len());
        if given != wanted {
            return Err(Failure::new(
                Code::Key,
                format!(
                    "a key of {} has {wanted} bytes, this one has {given}",
                    self.algorithm
                ),
            ));
        }
        self.session = Session::None;
        self.key = Some(Zeroizing::new(key.to_vec()));
        Ok(())
    }

    fn set_iv(&mut self, iv: &[u8]) -> Result<(), Failure> {
        if iv.len() != self.iv_bytes {
            return Err(Failure::argument(format!(
                "an IV of {} has {} bytes, this one has {}",
                self.algorithm,
                self.iv_bytes,
                iv.len()
            )));
        }
        if let Some(key) = &self.key {
            self.session = match self.algorithm.kind() {
                Kind::Cbc => Session::Cbc(self.accelerator.cbc(key, iv)?),
                _ if is_aes(self.algorithm) => Session::Aes(self.accelerator.ctr(key, iv)?),
                _ => Session::Stream(self.accelerator.stream(self.algorithm, key, iv)?),
            };
            self.key = None;
            return Ok(());
        }
        match &mut self.session {
            Session::Aes(stream) => Ok(stream.set_iv(iv)?),
            Session::Stream(stream) => Ok(stream.set_iv(iv)?),
            Session::Cbc(cbc) => Ok(cbc.set_iv(iv)?),
            Session::None => Err(needs("a key: call oarlock_cipher_set_key")),
        }
    }

    #[inline]
    fn crypt(&mut self, data: InOutBuf<'_, '_, u8>, is_encryption: bool) -> Result<(), Failure> {
        match &mut self.session {
            Session::Aes(stream) => stream
                .try_apply_keystream_inout(data)
                .map_err(|_| end_of_keystream()),
            Session::Stream(stream) => stream
                .try_apply_keystream_inout(data)
                .map_err(|_| end_of_keystream()),
            Session::Cbc(cbc) if is_encryption => Ok(cbc.encrypt(data)?),
            Session::Cbc(cbc) => Ok(cbc.decrypt(data)?),
            Session::None if self.key.is_some() => {
                Err(needs("an IV: a new key begins with one of its own"))
            }
            Session::None => Err(needs("a key: call oarlock_cipher_set_key")),
        }
    }

    fn seek(&mut self, position: u64) -> Result<(), Failure> {
        let sought = match &mut self.session {
            Session::Aes(stream) => stream.try_seek(position),
            Session::Stream(stream) => stream.try_seek(position),
            _ => return Err(self.no_stream()),
        };
        sought.map_err(|_| end_of_keystream())
    }

    fn prefill(&mut self, time: Duration) -> Result<usize, Failure> {
        match &mut self.session {
            Session::Aes(stream) => Ok(stream.prefill(time)),
            Session::Stream(stream) => Ok(stream.prefill(time)),
            _ => Err(self.no_stream()),
        }
    }

    fn no_stream(&self) -> Failure {
        match self.session {
            Session::Cbc(_) => Failure::argument("AES-CBC has no keystream"),
            _ => needs("a key and an IV"),
        }
    }
}

fn is_aes(algorithm: Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr
    )
}

#[cold]
fn needs(what: &str) -> Failure {
    Failure::new(Code::State, format!("the cipher needs {what}"))
}

#[cold]
fn end_of_keystream() -> Failure {
    Failure::argument("the keystream ends before: a new IV begins another")
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `cipher`, or it is NULL; `algorithm` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_cipher_new(
    accelerator: Handle<Accelerator>,
    cipher: *mut Handle<Cipher>,
    algorithm: *const c_char,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `cipher`, or it is NULL.
        let to = unsafe { place(cipher, "the place of the cipher") }?;
        *to = Handle::NULL;
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `algorithm` is NULL or ends with a NUL.
        let algorithm = named(unsafe { text(algorithm, "the name of the algorithm") }?)?;
        *to = Handle::new(Cipher::new(&accelerator, algorithm)?)?;
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_cipher_free(cipher: Handle<Cipher>) -> c_int {
    free(cipher)
}

/// See `oarlock.h`.
///
/// # Safety
/// `key` is NULL or has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_cipher_set_key(
    cipher: Handle<Cipher>,
    key: *const c_void,
    key_bytes: usize,
) -> c_int {
    call(|| {
        let mut cipher = cipher.exclusive()?;
        // SAFETY: the caller of `oarlock_cipher_set_key` says that `key` is NULL or has `key_bytes` bytes.
        cipher.set_key(unsafe { input(key, key_bytes, "the key") }?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// `iv` is NULL or has `iv_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_cipher_set_iv(
    cipher: Handle<Cipher>,
    iv: *const c_void,
    iv_bytes: usize,
) -> c_int {
    call(|| {
        let mut cipher = cipher.exclusive()?;
        // SAFETY: the caller says that `iv` is NULL or has `iv_bytes` bytes.
        cipher.set_iv(unsafe { input(iv, iv_bytes, "the IV") }?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// `out` and `data` are NULL or have `bytes` bytes each, and the caller owns those of `out`; `iv` is NULL or an IV of the
/// algorithm's length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_cipher_encrypt(
    cipher: Handle<Cipher>,
    out: *mut c_void,
    data: *const c_void,
    bytes: usize,
    iv: *const c_void,
) -> c_int {
    // SAFETY: the caller keeps the contract of this function, which is that of `crypt`.
    unsafe { crypt(cipher, out, data, bytes, iv, true) }
}

/// See `oarlock.h`.
///
/// # Safety
/// The same as for [`oarlock_cipher_encrypt`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_cipher_decrypt(
    cipher: Handle<Cipher>,
    out: *mut c_void,
    data: *const c_void,
    bytes: usize,
    iv: *const c_void,
) -> c_int {
    // SAFETY: the caller keeps the contract of `oarlock_cipher_encrypt`, which is that of `crypt`.
    unsafe { crypt(cipher, out, data, bytes, iv, false) }
}

/// # Safety
/// The same as for [`oarlock_cipher_encrypt`].
#[inline]
unsafe fn crypt(
    cipher: Handle<Cipher>,
    out: *mut c_void,
    data: *const c_void,
    bytes: usize,
    iv: *const c_void,
    is_encryption: bool,
) -> c_int {
    call(|| {
        let mut cipher = cipher.exclusive()?;
        // Read before the output is written, as it may be part of that.
        let mut begins_at = None;
        if !iv.is_null() {
            let mut copy = [0; IV_BYTES_MAX];
            // SAFETY: the caller says that `iv` is NULL or has `cipher.iv_bytes` bytes.
            let iv = unsafe { input(iv, cipher.iv_bytes, "the IV") }?;
            copy[..iv.len()].copy_from_slice(iv);
            begins_at = Some(copy);
        }
        // SAFETY: the caller says that `out` and `data` are NULL or have `bytes` bytes each.
        let data = unsafe { both(out, data, bytes) }?;
        if let Some(iv) = begins_at {
            let bytes = cipher.iv_bytes;
            cipher.set_iv(&iv[..bytes])?;
        }
        cipher.crypt(data, is_encryption)
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_cipher_seek(cipher: Handle<Cipher>, position: u64) -> c_int {
    call(|| cipher.exclusive()?.seek(position))
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `made_bytes`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_cipher_prefill(
    cipher: Handle<Cipher>,
    made_bytes: *mut usize,
    time_ns: u64,
) -> c_int {
    call(|| {
        let mut cipher = cipher.exclusive()?;
        let made = cipher.prefill(Duration::from_nanos(time_ns))?;
        if !made_bytes.is_null() {
            // SAFETY: the caller says that it owns `made_bytes`, or it is NULL.
            *unsafe { place(made_bytes, "the place of the number of bytes") }? = made;
        }
        Ok(())
    })
}
