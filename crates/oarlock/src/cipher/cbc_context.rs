//! AES-CBC whose key and IV are set apart.

use std::fmt;
use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aes::{BLOCK_BYTES, Backend};
use oarlock_kernels::cbc::Cbc;

use super::cbc::AcceleratedCbc;
use crate::Error;
use crate::plan::engine::Engine;
use crate::plan::first_look::FirstLook;
use crate::work::algorithm::{Kind, Operation};
use crate::work::key_bytes::{KeyBytes, no_key};

/// AES-CBC whose key and IV are set apart, from [`Accelerator::cbc_context`](crate::Accelerator::cbc_context). It knows whole blocks
/// and no padding; what is said of CBC at [`AcceleratedCbc`] holds here.
///
/// ```
/// use oarlock::{Accelerator, device::Operation};
///
/// let mut cipher = Accelerator::builder().build()?.cbc_context(Operation::Aes128Cbc)?;
/// cipher.set_key(&[7; 16])?;
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
    operation: Operation,
    key: KeyBytes,
    kernel: Cbc,
    is_keyed: bool,
    /// The kernel has only what encryption needs.
    is_to_encrypt: bool,
    iv: [u8; BLOCK_BYTES],
    session: Option<Box<AcceleratedCbc>>,
    first_look: FirstLook,
    /// Long decryption that the kernel may still do before one is opened.
    kernel_bytes_left: usize,
}

impl CbcContext {
    #[inline(always)]
    pub(crate) fn new(engine: &Arc<Engine>, operation: Operation) -> Result<Self, Error> {
        if operation.kind() != Kind::Cbc {
            return Err(Error::InvalidInput(format!("{operation} is not CBC")));
        }
        Ok(Self::unkeyed(engine, operation))
    }

    #[inline(always)]
    fn unkeyed(engine: &Arc<Engine>, operation: Operation) -> Self {
        let backend = Backend::preferred(engine.cpu);
        let first_look = FirstLook::cbc(backend);
        Self {
            engine: Arc::clone(engine),
            operation,
            key: KeyBytes::default(),
            kernel: Cbc::unkeyed(backend),
            is_keyed: false,
            is_to_encrypt: false,
            iv: [0; BLOCK_BYTES],
            session: None,
            first_look,
            kernel_bytes_left: 0,
        }
    }

    /// Takes `key`, of [`Operation::key_bytes`], in place of the one before. The IV stays.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing has changed then.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set(self.operation, key)?;
        self.session = None;
        self.kernel_bytes_left = self.first_look.kernel_bytes;
        self.kernel
            .set_key_to_encrypt(key)
            .map_err(|error| Error::InvalidKey(error.to_string()))?;
        self.is_keyed = true;
        self.is_to_encrypt = true;
        Ok(())
    }

    /// Whether a key has been set.
    pub fn is_keyed(&self) -> bool {
        self.is_keyed
    }

    /// Takes `iv` for the ciphertext block before the next one.
    pub fn set_iv(&mut self, iv: [u8; BLOCK_BYTES]) {
        self.iv = iv;
    }

    /// The ciphertext block before the next one.
    pub fn iv(&self) -> [u8; BLOCK_BYTES] {
        self.iv
    }

    /// Encrypts whole blocks.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] without a key; nothing has been written then.
    ///
    /// # Panics
    /// When the length of `data` is no multiple of 16 bytes.
    #[inline]
    pub fn encrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        if !self.is_keyed {
            return Err(no_key());
        }
        if self.first_look.short_bytes == 0 && self.has_session() {
            return self.by_session(data, AcceleratedCbc::encrypt);
        }
        self.kernel.encrypt(&mut self.iv, data);
        Ok(())
    }

    /// Decrypts whole blocks.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] without a key; nothing has been written then.
    ///
    /// # Panics
    /// When the length of `data` is no multiple of 16 bytes.
    #[inline]
    pub fn decrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        if !self.is_keyed {
            return Err(no_key());
        }
        if data.len() >= self.first_look.short_bytes && self.is_worth_a_session(data.len()) {
            return self.by_session(data, AcceleratedCbc::decrypt);
        }
        if self.is_to_encrypt {
            self.is_to_encrypt = false;
            self.kernel.make_ready_to_decrypt();
        }
        self.kernel.decrypt(&mut self.iv, data);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn by_session(
        &mut self,
        data: InOutBuf<'_, '_, u8>,
        crypt: impl FnOnce(&mut AcceleratedCbc, InOutBuf<'_, '_, u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        assert!(
            data.len().is_multiple_of(BLOCK_BYTES),
            "CBC takes whole blocks of 16 bytes, not {} bytes",
            data.len()
        );
        // The callers have opened one.
        let session = self.session.as_mut().ok_or_else(no_key)?;
        session.set_iv(&self.iv)?;
        crypt(session, data)?;
        self.iv = session.iv();
        Ok(())
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
        if self.session.is_none() && self.is_keyed {
            let session = self
                .key
                .with(|key| AcceleratedCbc::open(&self.engine, key, &self.iv));
            self.session = session.ok().map(Box::new);
        }
        self.session.is_some()
    }
}

impl Clone for CbcContext {
    fn clone(&self) -> Self {
        let mut copy = Self::unkeyed(&self.engine, self.operation);
        if self.is_keyed {
            // A key that was taken once is taken again.
            let _ = self.key.with(|key| copy.set_key(key));
        }
        copy.iv = self.iv;
        copy
    }
}

impl fmt::Debug for CbcContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CbcContext")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
