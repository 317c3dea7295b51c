//! The functions of `bench/peers/ipsec_mb.c`, and a manager that they create.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use libloading::Library;
use oarlock_engine::costs::CpuClass;
use oarlock_measure::Error;
use oarlock_measure::cases::Direction;
use oarlock_measure::cpu_class;

use crate::system::fetched;

/// Functions of the loaded library, which stays loaded as long as this lives.
pub(super) struct Functions {
    new_for: unsafe extern "C" fn(c_char) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    version: unsafe extern "C" fn() -> *const c_char,
    key: MakeKey,
    key_free: unsafe extern "C" fn(*mut c_void),
    ctr_job: unsafe extern "C" fn(*mut c_void, *const c_void, *const u8, *const u8, *mut u8, usize),
    cbc_job: unsafe extern "C" fn(
        *mut c_void,
        *const c_void,
        c_int,
        *const u8,
        *const u8,
        *mut u8,
        usize,
    ),
    gcm_key: MakeKey,
    gcm: AeadJob<()>,
    chacha20_poly1305: AeadJob<c_int>,
    _library: Library,
}

type MakeKey = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> *mut c_void;
type AeadJob<Done> = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    c_int,
    *const u8,
    *const u8,
    usize,
    *const u8,
    *mut u8,
    usize,
    *mut u8,
) -> Done;

impl Functions {
    pub(super) fn load() -> Result<Self, Error> {
        let library = fetched::load(FILE)?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field has the function's type in bench/peers/ipsec_mb.c, and the library is kept with it.
                unsafe { fetched::symbol(&library, $name) }?
            };
        }
        Ok(Self {
            new_for: symbol!("peer_ipsec_mb_new_for"),
            free: symbol!("peer_ipsec_mb_free"),
            version: symbol!("peer_ipsec_mb_version"),
            key: symbol!("peer_ipsec_mb_key"),
            key_free: symbol!("peer_ipsec_mb_key_free"),
            ctr_job: symbol!("peer_ipsec_mb_ctr_job"),
            cbc_job: symbol!("peer_ipsec_mb_cbc_job"),
            gcm_key: symbol!("peer_ipsec_mb_gcm_key"),
            gcm: symbol!("peer_ipsec_mb_gcm"),
            chacha20_poly1305: symbol!("peer_ipsec_mb_chacha20_poly1305"),
            _library: library,
        })
    }

    pub(super) fn version(&self) -> String {
        // SAFETY: it has no parameters and returns a static string of the loaded library, which `self` keeps.
        let text = unsafe { fetched::said_by(self.version) };
        format!("intel-ipsec-mb {text}")
    }
}

/// A manager, which one thread at a time may use, as `&mut` guarantees.
pub(super) struct Manager {
    functions: Arc<Functions>,
    manager: NonNull<c_void>,
}

impl Manager {
    pub(super) fn new(functions: &Arc<Functions>) -> Result<Self, Error> {
        let class = cpu_class::shown().unwrap_or(CpuClass::A);
        // SAFETY: the function accepts any letter; null is a failure.
        let manager = NonNull::new(unsafe { (functions.new_for)(class.letter() as c_char) })
            .ok_or_else(|| {
                Error::Unavailable(format!("it has no code for CPUs of class {class}"))
            })?;
        Ok(Self {
            functions: Arc::clone(functions),
            manager,
        })
    }

    /// Creates a key for a chaining or counter mode of AES.
    pub(super) fn aes_key(&self, key: &[u8]) -> Result<Key<Aes>, Error> {
        self.make_key(self.functions.key, key)
    }

    pub(super) fn gcm_key(&self, key: &[u8]) -> Result<Key<Gcm>, Error> {
        self.make_key(self.functions.gcm_key, key)
    }

    /// Returns the manager for functions that other files load.
    pub(super) fn as_ptr(&self) -> *mut c_void {
        self.manager.as_ptr()
    }

    /// Creates a key of the kind `Kind`, which `make` must create.
    fn make_key<Kind>(&self, make: MakeKey, key: &[u8]) -> Result<Key<Kind>, Error> {
        // SAFETY: the manager is live, and `key` has the length passed.
        let made = unsafe { make(self.manager.as_ptr(), key.as_ptr(), key.len()) };
        Key::of(&self.functions, made)
    }

    /// Applies CTR in place to one or more whole blocks.
    #[inline]
    pub(super) fn ctr(&mut self, key: &Key<Aes>, counter: &[u8; 16], data: &mut [u8]) {
        // SAFETY: manager and key are live and the key was created for this mode; `data` may be read and written for its
        // length, which is not 0, in place.
        unsafe {
            (self.functions.ctr_job)(
                self.manager.as_ptr(),
                key.key.as_ptr(),
                counter.as_ptr(),
                data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
            );
        }
    }

    /// Applies CBC in place to one or more whole blocks.
    #[inline]
    pub(super) fn cbc(
        &mut self,
        key: &Key<Aes>,
        direction: Direction,
        iv: &[u8; 16],
        data: &mut [u8],
    ) {
        // SAFETY: the same holds as for `ctr`; the IV has the 16 bytes that are read.
        unsafe {
            (self.functions.cbc_job)(
                self.manager.as_ptr(),
                key.key.as_ptr(),
                decrypts(direction),
                iv.as_ptr(),
                data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
            );
        }
    }

    /// Processes `message.input`, or `data` in place, into `data`; returns the tag.
    #[inline]
    pub(super) fn gcm(
        &mut self,
        key: &Key<Gcm>,
        message: Message<'_>,
        data: &mut [u8],
    ) -> [u8; 16] {
        let mut tag = [0; 16];
        // SAFETY: manager and key are live and the key was created for GCM; `Message::source` guarantees the rest.
        unsafe {
            (self.functions.gcm)(
                self.manager.as_ptr(),
                key.key.as_ptr(),
                decrypts(message.direction),
                message.nonce.as_ptr(),
                message.aad.as_ptr(),
                message.aad.len(),
                message.source(data),
                data.as_mut_ptr(),
                data.len(),
                tag.as_mut_ptr(),
            );
        }
        tag
    }

    /// Like [`gcm`](Self::gcm), with ChaCha20-Poly1305.
    #[inline]
    pub(super) fn chacha20_poly1305(
        &mut self,
        key: &[u8; 32],
        message: Message<'_>,
        data: &mut [u8],
    ) -> [u8; 16] {
        let mut tag = [0; 16];
        // SAFETY: the manager is live, the key has its 32 bytes; `Message::source` guarantees the rest.
        let done = unsafe {
            (self.functions.chacha20_poly1305)(
                self.manager.as_ptr(),
                key.as_ptr().cast::<c_void>(),
                decrypts(message.direction),
                message.nonce.as_ptr(),
                message.aad.as_ptr(),
                message.aad.len(),
                message.source(data),
                data.as_mut_ptr(),
                data.len(),
                tag.as_mut_ptr(),
            )
        };
        assert_ne!(done, 0, "the job is done when it was submitted");
        tag
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // SAFETY: `new` created the manager, and it is freed once; keys do not refer to it.
        unsafe { (self.functions.free)(self.manager.as_ptr()) }
    }
}

/// A message of an AEAD and its direction.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) direction: Direction,
    pub(super) nonce: &'a [u8; 12],
    pub(super) aad: &'a [u8],
    /// The input; `None` for in place.
    pub(super) input: Option<&'a [u8]>,
}

impl Message<'_> {
    /// Returns a pointer that is valid for reads of `data`'s length, and is `data` itself or does not overlap it.
    #[inline]
    fn source(&self, data: &[u8]) -> *const u8 {
        self.input.map_or(data.as_ptr(), |input| {
            assert_eq!(input.len(), data.len(), "as many bytes come out");
            input.as_ptr()
        })
    }
}

/// The kind of AES keys for CBC and counter modes.
pub(super) enum Aes {}
/// The kind of AES-GCM keys.
pub(super) enum Gcm {}

/// An expanded key of one kind.
pub(super) struct Key<Kind> {
    functions: Arc<Functions>,
    key: NonNull<c_void>,
    _kind: std::marker::PhantomData<Kind>,
}

impl<Kind> Key<Kind> {
    /// Takes ownership of a key from the library, which is null if it failed.
    pub(super) fn of(functions: &Arc<Functions>, made: *mut c_void) -> Result<Self, Error> {
        let key = NonNull::new(made)
            .ok_or_else(|| Error::Failed("ipsec-mb: the key is refused".to_owned()))?;
        Ok(Self {
            functions: Arc::clone(functions),
            key,
            _kind: std::marker::PhantomData,
        })
    }

    pub(super) fn as_ptr(&self) -> *const c_void {
        self.key.as_ptr()
    }

    /// Removes the kind, for functions that distinguish kinds by other means.
    pub(super) fn erased(self) -> Key<()> {
        let this = std::mem::ManuallyDrop::new(self);
        Key {
            // SAFETY: `this` is not dropped, so the reference moves.
            functions: unsafe { std::ptr::read(&this.functions) },
            key: this.key,
            _kind: std::marker::PhantomData,
        }
    }
}

impl<Kind> Drop for Key<Kind> {
    fn drop(&mut self) {
        // SAFETY: the library created the key, and it is freed once.
        unsafe { (self.functions.key_free)(self.key.as_ptr()) }
    }
}

fn decrypts(direction: Direction) -> c_int {
    c_int::from(direction == Direction::Decrypt)
}

pub(super) const FILE: &str = "libpeer_ipsec_mb.so";
