//! Compares every cipher with RustCrypto's, on every kernel that the machine can run.

#![allow(clippy::unwrap_used)]

#[cfg(not(debug_assertions))]
compile_error!("a release build counts no calls and shows nothing to tests: leave --release out");

mod interface;
#[path = "../../../kernels/tests/it/pages.rs"]
mod pages;
mod serpent;
#[cfg(target_arch = "x86_64")]
mod words;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rand::{RngExt, rngs::StdRng};

fn random_bytes(rng: &mut StdRng, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    rng.fill(&mut data[..]);
    data
}

/// Excludes other tests while one reads the kernels' call counters.
static COUNTED: RwLock<()> = RwLock::new(());

fn with_others() -> RwLockReadGuard<'static, ()> {
    COUNTED.read().unwrap_or_else(PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    COUNTED.write().unwrap_or_else(PoisonError::into_inner)
}
