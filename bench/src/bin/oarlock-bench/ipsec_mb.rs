//! Intel's multi-buffer library, in the shape that `cargo xtask peers` gives it
//! (`bench/peers/ipsec_mb.c`): neither its header nor the library is needed to build this.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use libloading::Library;
use oarlock_bench::Error;
use oarlock_bench::case::{Case, Operation};
use oarlock_bench::peer::{Peer, PeerFactory, Presence, Subject};

/// The peer `ipsec-mb`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "ipsec-mb",
    presence: Presence::WhereAvailable,
    open: || Ok(Box::new(IpsecMb(Arc::new(Functions::load()?)))),
};

const FILE: &str = "libpeer_ipsec_mb.so";

struct IpsecMb(Arc<Functions>);

impl Peer for IpsecMb {
    fn version(&self) -> String {
        // SAFETY: takes nothing and gives a static string.
        let text = unsafe { (self.0.version)() };
        // SAFETY: it is NUL-terminated and lives as long as the library, which `self` keeps.
        let text = unsafe { CStr::from_ptr(text) };
        format!("intel-ipsec-mb {}", text.to_string_lossy())
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Box<dyn Subject>, Error> {
        let Operation::AesCtr { .. } = case.operation;
        let functions = Arc::clone(&self.0);
        // SAFETY: takes nothing; null says that it failed.
        let manager = NonNull::new(unsafe { (functions.new)() })
            .ok_or_else(|| Error::Failed("ipsec-mb: no code for this CPU".to_owned()))?;
        let mut ctr = Box::new(IpsecMbCtr {
            functions,
            manager,
            key: None,
            counter: 0,
            keystream: [0; 16],
            used: 0,
        });
        // SAFETY: the manager is live, and `key` has the length that is named.
        ctr.key =
            NonNull::new(unsafe { (ctr.functions.key)(manager.as_ptr(), key.as_ptr(), key.len()) });
        if ctr.key.is_some() {
            Ok(ctr)
        } else {
            Err(Error::Failed("ipsec-mb: the key is refused".to_owned()))
        }
    }
}

/// A manager of its own, so one thread at a time, as `&mut` says.
struct IpsecMbCtr {
    functions: Arc<Functions>,
    manager: NonNull<c_void>,
    key: Option<NonNull<c_void>>,
    /// Counter block of the next whole block. The library adds on 32 bits; the harness lets no
    /// request pass 2^32.
    counter: u128,
    /// The rest of a block begun earlier, which the library does not keep.
    keystream: [u8; 16],
    used: usize,
}

impl IpsecMbCtr {
    #[inline]
    fn job(&mut self, data: &mut [u8]) {
        let Some(key) = self.key else { return };
        let iv = self.counter.to_be_bytes();
        // SAFETY: manager and key are live and the key was made by this manager; `data` is good
        // for its length, which is not 0, both ways, and may be worked on in place.
        unsafe {
            (self.functions.ctr_job)(
                self.manager.as_ptr(),
                key.as_ptr(),
                iv.as_ptr(),
                data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
            );
        }
        self.counter = self.counter.wrapping_add((data.len() / 16) as u128);
    }

    /// A request that begins or ends within a block.
    #[cold]
    fn apply_in_pieces(&mut self, data: &mut [u8]) {
        let rest_of_block = (16 - self.used) % 16;
        let (head, data) = data.split_at_mut(rest_of_block.min(data.len()));
        self.xor_keystream(head);
        let (whole, tail) = data.split_at_mut(data.len() / 16 * 16);
        if !whole.is_empty() {
            self.job(whole);
        }
        if !tail.is_empty() {
            let mut keystream = [0; 16];
            self.job(&mut keystream);
            self.keystream = keystream;
            self.xor_keystream(tail);
        }
    }

    fn xor_keystream(&mut self, data: &mut [u8]) {
        for (byte, key) in data.iter_mut().zip(&self.keystream[self.used..]) {
            *byte ^= key;
        }
        self.used = (self.used + data.len()) % 16;
    }
}

impl Subject for IpsecMbCtr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.counter = u128::from_be_bytes(*iv);
        self.used = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        if self.used == 0 && data.len().is_multiple_of(16) && !data.is_empty() {
            self.job(data);
        } else {
            self.apply_in_pieces(data);
        }
    }
}

impl Drop for IpsecMbCtr {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            // SAFETY: it came from `key` and is freed once.
            unsafe { (self.functions.key_free)(key.as_ptr()) }
        }
        // SAFETY: it came from `new` and is freed once, after its key.
        unsafe { (self.functions.free)(self.manager.as_ptr()) }
    }
}

/// Functions of the loaded library, which stays loaded as long as this lives.
struct Functions {
    new: unsafe extern "C" fn() -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    version: unsafe extern "C" fn() -> *const c_char,
    key: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> *mut c_void,
    key_free: unsafe extern "C" fn(*mut c_void),
    ctr_job: unsafe extern "C" fn(*mut c_void, *const c_void, *const u8, *const u8, *mut u8, usize),
    _library: Library,
}

impl Functions {
    fn load() -> Result<Self, Error> {
        let file = find().ok_or_else(|| {
            Error::Unavailable("not fetched yet: run `cargo xtask peers`".to_owned())
        })?;
        let failed = |error| Error::Failed(format!("{}: {error}", file.display()));
        // SAFETY: the file is what `cargo xtask peers` built, whose initialisers may run in any
        // process.
        let library = unsafe { Library::new(&file) }.map_err(failed)?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field's type is the function's in bench/peers/ipsec_mb.c, and the
                // library is kept beside it.
                *unsafe { library.get($name) }.map_err(failed)?
            };
        }
        Ok(Self {
            new: symbol!("peer_ipsec_mb_new"),
            free: symbol!("peer_ipsec_mb_free"),
            version: symbol!("peer_ipsec_mb_version"),
            key: symbol!("peer_ipsec_mb_key"),
            key_free: symbol!("peer_ipsec_mb_key_free"),
            ctr_job: symbol!("peer_ipsec_mb_ctr_job"),
            _library: library,
        })
    }
}

/// In the target folder: the one this program lies in, the one cargo was told, the usual one.
fn find() -> Option<PathBuf> {
    let program = env::current_exe().unwrap_or_default();
    let told = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    program
        .ancestors()
        .skip(1)
        .take(3)
        .chain(told.as_deref())
        .chain([Path::new("target")])
        .map(|target| target.join("peers").join(FILE))
        .find(|file| file.is_file())
}
