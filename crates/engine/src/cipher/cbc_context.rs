//! AES-CBC with separate key and IV.

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aes::{BLOCK_BYTES, Backend};
use oarlock_kernels::cbc::Cbc;

use super::cbc::{Chained, decrypt_in_stripes, no_whole_blocks};
use crate::Error;
use crate::plan::context_route::ContextRoute;
use crate::plan::engine::Engine;
use crate::plan::first_look::FirstLook;
use crate::plan::shared_key::{Kernel, SharedKey};
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::key_bytes;

/// AES-CBC whose key and IV are set separately. It processes only whole blocks, without padding. The warnings about CBC
/// at [`AcceleratedCbc`](super::AcceleratedCbc) apply.
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
    key: SharedKey<Cbc>,
    /// Whether the kernel has only the schedule for encryption.
    is_to_encrypt: bool,
    iv: Chained,
    route: ContextRoute,
}

impl Kernel for Cbc {
    #[inline(always)]
    fn unkeyed_in<'a>(&self, _: &Engine, place: &'a mut MaybeUninit<Self>) -> &'a mut Self {
        place.write(Self::unkeyed(self.backend()))
    }

    #[inline(always)]
    fn set_key(&mut self, _: &Engine, _: Algorithm, key: &[u8]) -> Result<(), Error> {
        self.set_key_to_encrypt(key).map_err(key_bytes::refused)
    }
}

impl CbcContext {
    /// Creates a context under `key` with an IV of zeros.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `algorithm` is AES-CBC; [`Error::InvalidKey`] unless `key` has
    /// [`Algorithm::key_bytes`].
    pub fn new(engine: &Arc<Engine>, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        let key = keyed(engine, algorithm, key)?;
        Ok(Self::with_key(key, true))
    }

    /// Does the same as [`new`](Self::new), but creates the context in `place`: moving one takes as long as encrypting
    /// a block.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `place` is then empty.
    #[inline(always)]
    pub fn put(
        place: &mut Option<Self>,
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<(), Error> {
        *place = None;
        let key = keyed(engine, algorithm, key)?;
        // `insert` would create it elsewhere and copy it.
        place.get_or_insert_with(|| Self::with_key(key, true));
        Ok(())
    }

    /// Creates a copy in `place`, which is faster than moving it there.
    #[inline(always)]
    pub fn clone_in(&self, place: &mut Option<Self>) {
        *place = None;
        let copy = || Self::with_key(self.key.clone(), self.is_to_encrypt);
        place.get_or_insert_with(copy).iv = self.iv;
    }

    #[inline(always)]
    fn with_key(key: SharedKey<Cbc>, is_to_encrypt: bool) -> Self {
        Self {
            key,
            is_to_encrypt,
            iv: Chained([0; BLOCK_BYTES]),
            route: ContextRoute::new(FirstLook::AEAD_OR_CBC.kernel_bytes),
        }
    }

    /// Replaces the key with `key`, of [`Algorithm::key_bytes`]. The IV stays.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing is changed then.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set(key)?;
        self.route = ContextRoute::new(FirstLook::AEAD_OR_CBC.kernel_bytes);
        self.is_to_encrypt = true;
        Ok(())
    }

    /// Expands the key for decryption. Otherwise the first decryption does. Later copies share the result.
    ///
    /// # Errors
    /// None for a key that was accepted; nothing is changed then.
    #[inline(always)]
    pub fn prepare_to_decrypt(&mut self) -> Result<(), Error> {
        if self.is_to_encrypt {
            self.expand_to_decrypt()
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn expand_to_decrypt(&mut self) -> Result<(), Error> {
        self.key.own()?.make_ready_to_decrypt();
        self.is_to_encrypt = false;
        Ok(())
    }

    /// Sets the previous ciphertext block.
    pub fn set_iv(&mut self, iv: [u8; BLOCK_BYTES]) {
        self.iv.0 = iv;
    }

    /// Returns the previous ciphertext block.
    pub fn iv(&self) -> [u8; BLOCK_BYTES] {
        self.iv.0
    }

    /// Encrypts whole blocks.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `data` is whole blocks of 16 bytes; nothing is changed then.
    #[inline(always)]
    pub fn encrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        if !data.len().is_multiple_of(BLOCK_BYTES) {
            return Err(no_whole_blocks(data.len()));
        }
        self.show(Direction::Encrypt, data.len());
        self.key.encrypt(&mut self.iv.0, data);
        Ok(())
    }

    /// Decrypts whole blocks.
    ///
    /// # Errors
    /// Those of [`encrypt`](Self::encrypt).
    #[inline(always)]
    pub fn decrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        if !data.len().is_multiple_of(BLOCK_BYTES) {
            return Err(no_whole_blocks(data.len()));
        }
        self.prepare_to_decrypt()?;
        self.show(Direction::Decrypt, data.len());
        if data.len() >= FirstLook::AEAD_OR_CBC.short_bytes {
            self.decrypt_long(data);
        } else {
            self.key.decrypt(&mut self.iv.0, data);
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn decrypt_long(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.route.open(&self.key, data.len());
        let Self { key, iv, route, .. } = self;
        route.run(
            data.len(),
            (&mut iv.0, data),
            |(iv, data)| key.decrypt(iv, data),
            |(iv, data), request| decrypt_in_stripes(request, &**key, iv, &mut Vec::new(), data),
        );
    }

    /// Counts a request for the published statistics.
    #[inline(always)]
    fn show(&self, direction: Direction, bytes: usize) {
        let shown = self.key.engine().shown;
        shown.count(self.key.algorithm(), direction, bytes);
    }
}

/// Creates a kernel with `key`, for encryption.
#[inline(always)]
fn keyed(engine: &Arc<Engine>, algorithm: Algorithm, key: &[u8]) -> Result<SharedKey<Cbc>, Error> {
    check(algorithm)?;
    let backend = Backend::preferred(engine.cpu);
    SharedKey::new(engine, algorithm, key, |place| {
        place.write(Cbc::unkeyed(backend))
    })
}

#[inline(always)]
fn check(algorithm: Algorithm) -> Result<(), Error> {
    if algorithm.kind() == Kind::Cbc {
        Ok(())
    } else {
        Err(Error::InvalidInput(format!("{algorithm} is not CBC")))
    }
}

impl Clone for CbcContext {
    /// Shares the key. The copy has the IV but no route yet.
    fn clone(&self) -> Self {
        let mut copy = Self::with_key(self.key.clone(), self.is_to_encrypt);
        copy.iv = self.iv;
        copy
    }
}

impl fmt::Debug for CbcContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CbcContext")
            .field("algorithm", &self.key.algorithm())
            .finish_non_exhaustive()
    }
}
