//! A key in its kernel, shared by the contexts that are copied from one another.
//!
//! Programs copy a context with its key for each message: pyca/cryptography does so for each AEAD call. Such a copy
//! counts a reference here. The key lies on the heap and never moves, so no copy of it stays behind, and the last
//! context to drop it wipes it. A context that takes another key while copies use the old one allocates a new place for
//! it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::Arc;

use triomphe::UniqueArc;

use super::engine::Engine;
use crate::Error;
use crate::work::algorithm::Algorithm;
use crate::work::key_bytes::{self, KeyBytes};

/// A kernel that is bound to a backend and takes keys.
pub(crate) trait Kernel {
    /// Makes a kernel of the same backend in `place`, for [`set_key`](Self::set_key).
    fn unkeyed_in<'a>(&self, engine: &Engine, place: &'a mut MaybeUninit<Self>) -> &'a mut Self
    where
        Self: Sized;

    /// Takes `key`, which has the length of the algorithm's keys.
    fn set_key(&mut self, engine: &Engine, algorithm: Algorithm, key: &[u8]) -> Result<(), Error>;
}

/// A kernel with its key.
// Without weak references, a sole owner needs no further synchronization to write or drop.
pub(crate) struct SharedKey<K>(triomphe::Arc<Keyed<K>>);

struct Keyed<K> {
    engine: Arc<Engine>,
    algorithm: Algorithm,
    bytes: KeyBytes,
    kernel: K,
}

impl<K: Kernel> SharedKey<K> {
    /// Makes a kernel in its final place, by `unkeyed_in`, and sets `key` there.
    ///
    /// # Errors
    /// [`Error::InvalidKey`], unless `key` has the length of the algorithm's keys.
    #[inline(always)]
    pub(crate) fn new(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
        unkeyed_in: impl FnOnce(&mut MaybeUninit<K>) -> &mut K,
    ) -> Result<Self, Error> {
        Self::with_kernel(engine, algorithm, key, unkeyed_in, |kernel| {
            kernel.set_key(engine, algorithm, key)
        })
    }

    /// Makes a shared key as [`new`](Self::new) does, from a kernel that already has its key.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub(crate) fn of_keyed(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
        kernel: K,
    ) -> Result<Self, Error> {
        Self::with_kernel(
            engine,
            algorithm,
            key,
            |place| place.write(kernel),
            |_| Ok(()),
        )
    }

    #[inline(always)]
    fn with_kernel(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
        make_in: impl FnOnce(&mut MaybeUninit<K>) -> &mut K,
        set_key: impl FnOnce(&mut K) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        key_bytes::check(algorithm, key)?;
        let mut keyed = UniqueArc::<Keyed<K>>::new_uninit();
        let fields = MaybeUninit::as_mut_ptr(&mut keyed);
        // SAFETY: the place is that of a `Keyed`; each field is written, the kernel by `make_in`, which returns it.
        let mut keyed = unsafe {
            (&raw mut (*fields).engine).write(Arc::clone(engine));
            (&raw mut (*fields).algorithm).write(algorithm);
            (&raw mut (*fields).bytes).write(KeyBytes::default());
            make_in(&mut *(&raw mut (*fields).kernel).cast::<MaybeUninit<K>>());
            UniqueArc::assume_init(keyed)
        };
        keyed.bytes.set(key);
        set_key(&mut keyed.kernel)?;
        Ok(Self(keyed.shareable()))
    }

    /// Replaces the key by `key`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`], unless `key` has the length of the algorithm's keys; nothing has changed then.
    #[inline(always)]
    pub(crate) fn set(&mut self, key: &[u8]) -> Result<(), Error> {
        key_bytes::check(self.0.algorithm, key)?;
        match triomphe::Arc::get_mut(&mut self.0) {
            Some(Keyed {
                engine,
                algorithm,
                bytes,
                kernel,
            }) => {
                kernel.set_key(engine, *algorithm, key)?;
                bytes.set(key);
                Ok(())
            }
            None => self.set_elsewhere(key),
        }
    }

    #[cold]
    #[inline(never)]
    fn set_elsewhere(&mut self, key: &[u8]) -> Result<(), Error> {
        *self = Self::new(self.engine(), self.algorithm(), key, |place| {
            self.unkeyed_in(self.engine(), place)
        })?;
        Ok(())
    }

    /// Lends the kernel for a change. If other contexts use it, this one gets a kernel of its own first.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), which do not occur with a key that was accepted once.
    pub(crate) fn own(&mut self) -> Result<&mut K, Error> {
        if triomphe::Arc::get_mut(&mut self.0).is_none() {
            let new = |key: &[u8]| {
                Self::new(self.engine(), self.algorithm(), key, |place| {
                    self.unkeyed_in(self.engine(), place)
                })
            };
            *self = self.with_bytes(new)?;
        }
        let own = triomphe::Arc::get_mut(&mut self.0).map(|keyed| &mut keyed.kernel);
        own.ok_or_else(|| Error::InvalidInput("the context is in use by another call".into()))
    }
}

impl<K> SharedKey<K> {
    #[inline(always)]
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    #[inline(always)]
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }

    /// Lends the bytes of the key, to open a session.
    pub(crate) fn with_bytes<T>(&self, run: impl FnOnce(&[u8]) -> T) -> T {
        self.0.bytes.with(run)
    }
}

impl<K> Deref for SharedKey<K> {
    type Target = K;

    #[inline(always)]
    fn deref(&self) -> &K {
        &self.0.kernel
    }
}

impl<K> Clone for SharedKey<K> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(triomphe::Arc::clone(&self.0))
    }
}
