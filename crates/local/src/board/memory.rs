//! The memory of a board: an anonymous file of fixed length (memfd_create(2), sealed), which each process maps.
//!
//! It consists of atomics, for which every value is valid. Any process that maps it may change any of them at any time, so
//! values read from it are treated like input.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64};

use oarlock_threads::process::fork_generation;
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::process::{Pid, getpid};

/// The most requests on a board at once.
pub(super) const SLOTS: usize = 64;
/// The room for a number or its power, in 64-bit words: 4096 bits.
pub(super) const WORDS: usize = 64;

/// The shared memory. It starts as zeros.
#[repr(C, align(64))]
pub(super) struct Shared {
    /// A bit for each slot whose request waits.
    pub(super) waiting: AtomicU64,
    pub(super) pace: SharedPace,
    pub(super) slots: [Slot; SLOTS],
}

/// The state of [`Pace`](super::pace::Pace); times are in ns of CLOCK_MONOTONIC.
#[repr(C, align(64))]
#[derive(Default)]
pub(super) struct SharedPace {
    pub(super) last: AtomicU64,
    pub(super) busy: AtomicU64,
    pub(super) gap: AtomicU64,
    pub(super) missed: AtomicU32,
}

/// A request, and later its result.
#[repr(C, align(64))]
pub(super) struct Slot {
    /// The stage of the slot and the count of its uses; a futex(2).
    pub(super) state: AtomicU32,
    /// The length of the number or the power, in bytes.
    pub(super) bytes: AtomicU32,
    /// The time when the slot was claimed, in ns of CLOCK_MONOTONIC.
    pub(super) since: AtomicU64,
    /// A MAC over the words, with a secret derived from the private key.
    pub(super) seal: [AtomicU64; 2],
    pub(super) words: [AtomicU64; WORDS],
}

/// A mapping of the board's memory.
pub(super) struct Memory {
    shared: NonNull<Shared>,
    owner: Owner,
}

// SAFETY: a shared mapping of atomics, which any thread may access, and which lives as long as the last reference.
unsafe impl Send for Memory {}
// SAFETY: a shared reference also gives access only to the mapping's atomics.
unsafe impl Sync for Memory {}

/// The identity of the process that owns something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The process ID. A child in a new PID namespace may have its parent's.
    process: Pid,
    /// The count of forks. A child that was not forked by the C library has its parent's.
    generation: usize,
}

impl Owner {
    /// Returns the identity of the calling process.
    pub(crate) fn current() -> Self {
        Self {
            process: getpid(),
            generation: fork_generation(),
        }
    }
}

const SEALS: SealFlags = SealFlags::SEAL
    .union(SealFlags::SHRINK)
    .union(SealFlags::GROW);

impl Memory {
    /// Creates the file of a new board.
    pub(super) fn create() -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let make = |flags| memfd_create("oarlock board", flags);
        // Kernels before 6.3 do not know that flag; later ones may require it.
        let file = make(flags | MemfdFlags::NOEXEC_SEAL).or_else(|error| match error {
            Errno::INVAL => make(flags),
            error => Err(error),
        })?;
        ftruncate(&file, size_of::<Shared>() as u64)?;
        fcntl_add_seals(&file, SEALS)?;
        Ok(file)
    }

    /// Maps a file that [`create`](Self::create) created.
    pub(super) fn map(file: impl AsFd) -> io::Result<Self> {
        // The file must not be truncated: reading beyond its end would kill the process.
        let is_whole = fcntl_get_seals(&file)?.contains(SEALS)
            && fstat(&file)?.st_size == size_of::<Shared>() as i64;
        if !is_whole {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let place = unsafe {
            mmap(
                null_mut(),
                size_of::<Shared>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        let shared = NonNull::new(place.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = Self {
            shared,
            owner: Owner::current(),
        };
        // A child may have lost rights and the key, so it must not sign through its parent's mapping.
        // SAFETY: a mapping of this length, which is ours.
        unsafe { madvise(place, size_of::<Shared>(), Advice::LinuxDontFork)? };
        // Keep it out of core dumps, if the kernel supports that.
        // SAFETY: the mapping is ours, of this length, and stays.
        let _ = unsafe { madvise(place, size_of::<Shared>(), Advice::LinuxDontDump) };
        Ok(memory)
    }

    /// Whether this process owns the mapping.
    pub(super) fn is_here(&self) -> bool {
        Owner::current() == self.owner
    }

    /// Returns the shared memory; `None` in a child of the process that mapped it.
    pub(super) fn shared(&self) -> Option<&Shared> {
        if !self.is_here() {
            return None;
        }
        // SAFETY: mapped for as long as `self` lives, in this process; page-aligned; and consists of atomics, for which any
        // bytes are valid.
        Some(unsafe { self.shared.as_ref() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // In a child, something else may be mapped there by now.
        if self.is_here() {
            // SAFETY: mapped by `map`, of this length, and no reference to it is left.
            let _ = unsafe { munmap(self.shared.as_ptr().cast(), size_of::<Shared>()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn two_mappings_are_of_the_same_memory() {
        let file = Memory::create().unwrap();
        let [one, other] = [(); 2].map(|()| Memory::map(&file).unwrap());
        one.shared().unwrap().waiting.store(7, Ordering::Relaxed);
        assert_eq!(other.shared().unwrap().waiting.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn files_that_are_none_are_refused() {
        let open = memfd_create("other", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&open, size_of::<Shared>() as u64).unwrap();
        assert!(Memory::map(&open).is_err());
        fcntl_add_seals(&open, SealFlags::SEAL | SealFlags::GROW).unwrap();
        assert!(Memory::map(&open).is_err());
        let short = memfd_create("other", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&short, 4096).unwrap();
        fcntl_add_seals(&short, SEALS).unwrap();
        assert!(Memory::map(&short).is_err());
        let pipe = io::pipe().unwrap();
        assert!(Memory::map(pipe.0).is_err());
    }
}
