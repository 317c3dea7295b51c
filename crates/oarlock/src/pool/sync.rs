//! The standard library's synchronization, or loom's when the protocol is model-checked.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(not(loom))]
pub(super) fn pause() {
    std::hint::spin_loop();
}

#[cfg(loom)]
pub(super) fn pause() {
    loom::thread::yield_now();
}
