//! The state of this process.
//!
//! A forked child has the memory of its parent, and locks in it that threads of the parent held. So it touches none of
//! that: what belongs to another process does not count, and C_Initialize makes new state.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use cryptoki_sys::{CK_RV, CKR_CRYPTOKI_ALREADY_INITIALIZED, CKR_CRYPTOKI_NOT_INITIALIZED};
use oarlock_threads::process;

use crate::library::Library;

/// The state of one process. There is one for each fork between this process and the first that used the module, and it is
/// never freed.
struct State {
    generation: usize,
    library: RwLock<Option<Arc<Library>>>,
}

static STATE: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

/// Returns what C_Initialize made.
pub(crate) fn library() -> Result<Arc<Library>, CK_RV> {
    let state = state().ok_or(CKR_CRYPTOKI_NOT_INITIALIZED)?;
    let library = state.library.read().unwrap_or_else(PoisonError::into_inner);
    library.clone().ok_or(CKR_CRYPTOKI_NOT_INITIALIZED)
}

/// Keeps what `make` makes, unless there is a library already.
pub(crate) fn initialize(make: impl FnOnce() -> Result<Library, CK_RV>) -> Result<(), CK_RV> {
    process::watch_forks();
    let state = state_or_new();
    let mut library = state
        .library
        .write()
        .unwrap_or_else(PoisonError::into_inner);
    if library.is_some() {
        return Err(CKR_CRYPTOKI_ALREADY_INITIALIZED);
    }
    *library = Some(Arc::new(make()?));
    Ok(())
}

/// Takes the library. Calls under way keep it until they end.
pub(crate) fn finalize() -> Result<Arc<Library>, CK_RV> {
    let state = state().ok_or(CKR_CRYPTOKI_NOT_INITIALIZED)?;
    let mut library = state
        .library
        .write()
        .unwrap_or_else(PoisonError::into_inner);
    library.take().ok_or(CKR_CRYPTOKI_NOT_INITIALIZED)
}

fn state() -> Option<&'static State> {
    // SAFETY: null, or a state that `state_or_new` leaked.
    let state = unsafe { STATE.load(Ordering::Acquire).as_ref() }?;
    (state.generation == process::fork_generation()).then_some(state)
}

fn state_or_new() -> &'static State {
    loop {
        let before = STATE.load(Ordering::Acquire);
        if let Some(state) = state() {
            return state;
        }
        let new: &'static State = Box::leak(Box::new(State {
            generation: process::fork_generation(),
            library: RwLock::new(None),
        }));
        let place = ptr::from_ref(new).cast_mut();
        // If another thread was faster, its state counts, and this one stays unused.
        let _ = STATE.compare_exchange(before, place, Ordering::AcqRel, Ordering::Acquire);
    }
}
