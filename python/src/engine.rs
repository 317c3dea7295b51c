//! The module's accelerator, and when a call lets other Python threads run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use oarlock::{Accelerator, Error};
use pyo3::prelude::*;

use crate::failure::exception;
use crate::signals::go_on;

/// From this length on a call releases the GIL. That costs 15 ns while no other thread wants it, and a switch of threads when one
/// does: some microseconds, as long as AES-256-GCM takes for 32 KiB. A thread that waits gets the GIL after 1 us at most.
const DETACHED_BYTES_MIN: usize = 8 << 10;

/// Work that pays for waking another thread, in bytes: 100 us.
const SHARED_BYTES_MIN: usize = 512 << 10;

/// Items between two looks at signals.
const BLOCK_ITEMS: usize = 64;

static ACCELERATOR: OnceLock<Result<Accelerator, Error>> = OnceLock::new();

/// Returns the accelerator of the module, made at the first use. It starts no thread before a request gains from one.
pub fn accelerator() -> PyResult<&'static Accelerator> {
    ACCELERATOR
        .get_or_init(|| Accelerator::builder().build())
        .as_ref()
        .map_err(exception)
}

/// Computes something that takes about as long as sealing `bytes` bytes.
pub fn compute<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes < DETACHED_BYTES_MIN {
        work()
    } else {
        py.detach(work)
    }
}

/// Does what [`each`] does, for items that take as long as sealing `bytes` bytes each, and ends early in a call that is not to
/// go on.
pub fn each_in_blocks<T: Send>(
    accelerator: &Accelerator,
    bytes: usize,
    mut items: impl Iterator<Item = T>,
    work: impl Fn(T) + Sync,
) {
    loop {
        let block: Vec<_> = items.by_ref().take(BLOCK_ITEMS).collect();
        if block.is_empty() || !go_on() {
            return;
        }
        each(accelerator, bytes * block.len(), block, &work);
    }
}

/// Does `work` for each item, on several CPUs if all of them take as long as sealing `bytes` bytes and that pays for waking a
/// thread. Each thread begins with a part of its own, so neighbouring items, which may write to one huge page that the system
/// has yet to clear, go to one thread.
pub fn each<T: Send>(
    accelerator: &Accelerator,
    bytes: usize,
    items: Vec<T>,
    work: impl Fn(T) + Sync,
) {
    if bytes < SHARED_BYTES_MIN {
        return items.into_iter().for_each(work);
    }
    let items: Vec<_> = items
        .into_iter()
        .map(|item| Mutex::new(Some(item)))
        .collect();
    let threads = accelerator.parallelism();
    let parts: Vec<_> = items
        .chunks(items.len().div_ceil(threads).max(1))
        .map(|part| (part, AtomicUsize::new(0)))
        .collect();
    let next_part = AtomicUsize::new(0);
    accelerator.work_together(threads - 1, &|| {
        let first = next_part.fetch_add(1, Ordering::Relaxed) % parts.len().max(1);
        let (before, after) = parts.split_at(first);
        for (part, next) in after.iter().chain(before) {
            while let Some(item) = part.get(next.fetch_add(1, Ordering::Relaxed)) {
                let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(item) = item {
                    work(item);
                }
            }
        }
    });
}
