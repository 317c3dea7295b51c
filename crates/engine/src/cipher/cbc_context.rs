//! AES-CBC whose key and IV are set apart.

use std::fmt;
use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aes::{BLOCK_BYTES, Backend};
use oarlock_kernels::cbc::Cbc;

use super::cbc::{AcceleratedCbc, Chained, no_whole_blocks};
use crate::Error;
use crate::plan::engine::Engine;
use crate::plan::first_look::FirstLook;
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::key_bytes::{self, KeyBytes};

/// AES-CBC whose key and IV are set apart. It knows whole blocks
/// and no padding; what is said of CBC at [`AcceleratedCbc`] holds here.
///
/// ```
/// use oarlock::{Accelerator, Algorithm};
/// use oarlock_engine::cipher::CbcContext;
///
/// let accelerator = Accelerator::builder().build()?;
/// let mut cipher = CbcContext::new(accelerator.as_ref(), Algorithm::Aes128Cbc, &[7; 16])?;
/// cipher.set_iv([1; 16]);
/// let mut data = *b"attack at dawn!!";
/// cipher.encrypt((&mut data[..]).into())?;
/// assert_eq!(cipher.iv(), data);
/// cipher.set_iv([1; 16]);
/// cipher.decrypt((&mut data[..]).into())?;
/// assert_eq!(&data, b"attack at dawn!!");
/// # Ok::<(), oarlock::Error>(())
/// ```
///
/// Key and schedules are wiped on drop.
pub struct CbcContext {
    engine: Arc<Engine>,
    algorithm: Algorithm,
    key: KeyBytes,
    kernel: Cbc,
    /// The kernel has only what encryption needs.
    is_to_encrypt: bool,
    iv: Chained,
    session: Option<Box<AcceleratedCbc>>,
    first_look: FirstLook,
    /// Long decryption that the kernel may still do before one is opened.
    kernel_bytes_left: usize,
}

impl CbcContext {
    /// AES-CBC under `key` and an IV of zeros.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `algorithm` is AES-CBC; [`Error::InvalidKey`] unless `key` has
    /// [`Algorithm::key_bytes`].
    pub fn new(engine: &Arc<Engine>, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        check(algorithm)?;
        let mut context = Self::unkeyed(engine, algorithm);
        context.set_key(key)?;
        Ok(context)
    }

    /// As [`new`](Self::new), but creates the context in `place`. Moving a context leaves a copy of its key behind; one
    /// that stays in its place leaves none.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `place` is empty then.
    pub fn put(
        place: &mut Option<Self>,
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<(), Error> {
        *place = None;
        check(algorithm)?;
        let unkeyed = || Self::unkeyed(engine, algorithm);
        key_bytes::put(place, unkeyed, |context| context.set_key(key))
    }

    #[inline(always)]
    fn unkeyed(engine: &Arc<Engine>, algorithm: Algorithm) -> Self {
        let backend = Backend::preferred(engine.cpu);
        let first_look = FirstLook::cbc(backend);
        Self {
            engine: Arc::clone(engine),
            algorithm,
            key: KeyBytes::default(),
            kernel: Cbc::unkeyed(backend),
            is_to_encrypt: false,
            iv: Chained([0; BLOCK_BYTES]),
            session: None,
            first_look,
            kernel_bytes_left: 0,
        }
    }

    /// Takes `key`, of [`Algorithm::key_bytes`], in place of the one before. The IV stays.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing has changed then.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set(self.algorithm, key)?;
        self.session = None;
        self.kernel_bytes_left = self.first_look.kernel_bytes;
        self.kernel
            .set_key_to_encrypt(key)
            .map_err(key_bytes::refused)?;
        self.is_to_encrypt = true;
        Ok(())
    }

    /// Makes a copy where it stays: one that is moved leaves its key behind.
    pub fn clone_in(&self, place: &mut Option<Self>) {
        *place = None;
        place
            .get_or_insert_with(|| Self::unkeyed(&self.engine, self.algorithm))
            .set_as(self);
    }

    /// Takes the key and the IV of another. `self` has none.
    fn set_as(&mut self, other: &Self) {
        self.key.set_as(&other.key);
        self.kernel.set_key_of(&other.kernel);
        self.is_to_encrypt = other.is_to_encrypt;
        self.kernel_bytes_left = self.first_look.kernel_bytes;
        self.iv = other.iv;
    }

    /// Takes `iv` for the ciphertext block before the next one.
    pub fn set_iv(&mut self, iv: [u8; BLOCK_BYTES]) {
        self.iv.0 = iv;
    }

    /// The ciphertext block before the next one.
    pub fn iv(&self) -> [u8; BLOCK_BYTES] {
        self.iv.0
    }

    /// Encrypts whole blocks.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `data` is whole blocks of 16 bytes; nothing has changed then.
    #[inline(always)]
    pub fn encrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        if !data.len().is_multiple_of(BLOCK_BYTES) {
            return Err(no_whole_blocks(data.len()));
        }
        if self.first_look.short_bytes == 0
            && self.has_session()
            && let Some(session) = &mut self.session
        {
            return by_session(session, &mut self.iv.0, data, AcceleratedCbc::encrypt);
        }
        self.show(Direction::Encrypt, data.len());
        self.kernel.encrypt(&mut self.iv.0, data);
        Ok(())
    }

    /// Decrypts whole blocks.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    #[inline(always)]
    pub fn decrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        if !data.len().is_multiple_of(BLOCK_BYTES) {
            return Err(no_whole_blocks(data.len()));
        }
        if data.len() >= self.first_look.short_bytes
            && self.is_worth_a_session(data.len())
            && let Some(session) = &mut self.session
        {
            return by_session(session, &mut self.iv.0, data, AcceleratedCbc::decrypt);
        }
        if self.is_to_encrypt {
            self.is_to_encrypt = false;
            self.kernel.make_ready_to_decrypt();
        }
        self.show(Direction::Decrypt, data.len());
        self.kernel.decrypt(&mut self.iv.0, data);
        Ok(())
    }

    /// Counts what the kernel does for others to see; a session counts for itself.
    #[inline(always)]
    fn show(&self, direction: Direction, bytes: usize) {
        self.engine.shown.count(self.algorithm, direction, bytes);
    }

    #[cold]
    #[inline(never)]
    fn is_worth_a_session(&mut self, bytes: usize) -> bool {
        match self.kernel_bytes_left.checked_sub(bytes) {
            Some(left) if self.session.is_none() => {
                self.kernel_bytes_left = left;
                false
            }
            _ => self.has_session(),
        }
    }

    /// Opens one where there is none. Where none can be had, as under `reservation=exclusive`, the
    /// kernel goes on.
    #[cold]
    #[inline(never)]
    fn has_session(&mut self) -> bool {
        if self.session.is_none() {
            let session = self
                .key
                .with(|key| AcceleratedCbc::open(&self.engine, key, &self.iv.0));
            self.session = session.ok().map(Box::new);
        }
        self.session.is_some()
    }
}

#[inline(always)]
fn check(algorithm: Algorithm) -> Result<(), Error> {
    if algorithm.kind() == Kind::Cbc {
        Ok(())
    } else {
        Err(Error::InvalidInput(format!("{algorithm} is not CBC")))
    }
}

#[cold]
#[inline(never)]
fn by_session(
    session: &mut AcceleratedCbc,
    iv: &mut [u8; BLOCK_BYTES],
    data: InOutBuf<'_, '_, u8>,
    crypt: impl FnOnce(&mut AcceleratedCbc, InOutBuf<'_, '_, u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    session.set_iv(iv)?;
    crypt(session, data)?;
    *iv = session.iv();
    Ok(())
}

impl Clone for CbcContext {
    fn clone(&self) -> Self {
        let mut copy = Self::unkeyed(&self.engine, self.algorithm);
        copy.set_as(self);
        copy
    }
}

impl fmt::Debug for CbcContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CbcContext")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}
