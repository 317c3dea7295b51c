//! The memory of a board: a file without a name, which cannot change its length (memfd_create(2), sealed), mapped by
//! each process.
//!
//! It consists of atomics, for which every value is valid. Any process that maps it may change any of them at any time, so
//! what is read from here is treated like input.
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

/// Requests that may be on a board at once.
pub(super) const SLOTS: usize = 64;
/// The room for a number, or for its power: 4096 bits.
pub(super) const WORDS: usize = 64;

/// What is shared. Zero at first.
#[repr(C, align(64))]
pub(super) struct Shared {
    /// A bit for each slot whose request waits.
    pub(super) waiting: AtomicU64,
    pub(super) pace: SharedPace,
    pub(super) slots: [Slot; SLOTS],
}

/// What [`Pace`](super::pace::Pace) keeps; in ns of CLOCK_MONOTONIC.
#[repr(C, align(64))]
#[derive(Default)]
pub(super) struct SharedPace {
    pub(super) last: AtomicU64,
    pub(super) busy: AtomicU64,
    pub(super) gap: AtomicU64,
    pub(super) missed: AtomicU32,
}

/// A request, and then its result.
#[repr(C, align(64))]
pub(super) struct Slot {
    /// Its stage and which use of the slot this is: a futex(2).
    pub(super) state: AtomicU32,
    /// The length of the number and of the power.
    pub(super) bytes: AtomicU32,
    /// When it was taken, in ns of CLOCK_MONOTONIC.
    pub(super) since: AtomicU64,
    /// A MAC over the words, with a secret derived from the private key.
    pub(super) seal: [AtomicU64; 2],
    pub(super) words: [AtomicU64; WORDS],
}

/// A mapping of it.
pub(super) struct Memory {
    shared: NonNull<Shared>,
    owner: Owner,
}

// SAFETY: a shared mapping of atomics, which any thread may touch, and which goes with the last reference.
unsafe impl Send for Memory {}
// SAFETY: through a shared reference, too, there is nothing but the mapping's atomics to be touched.
unsafe impl Sync for Memory {}

/// The process that something belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// A child in a new namespace may have its parent's.
    process: Pid,
    /// A child that was not forked by the C library has its parent's.
    generation: usize,
}

impl Owner {
    /// The calling process.
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
    /// The file of a new board.
    pub(super) fn create() -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let make = |flags| memfd_create("oarlock board", flags);
        // Kernels before 6.3 do not know that; later ones may insist on it.
        let file = make(flags | MemfdFlags::NOEXEC_SEAL).or_else(|error| match error {
            Errno::INVAL => make(flags),
            error => Err(error),
        })?;
        ftruncate(&file, size_of::<Shared>() as u64)?;
        fcntl_add_seals(&file, SEALS)?;
        Ok(file)
    }

    /// Maps a file that [`create`](Self::create) made.
    pub(super) fn map(file: impl AsFd) -> io::Result<Self> {
        // Nobody may cut it: reading beyond its end would kill the process.
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
        // A child, which may have lost rights and the key, is not to sign through its parent's mapping.
        // SAFETY: a mapping of this length, which is ours.
        unsafe { madvise(place, size_of::<Shared>(), Advice::LinuxDontFork)? };
        // Nor is it for others to read, where the kernel knows that.
        // SAFETY: the mapping is ours, of this length, and stays.
        let _ = unsafe { madvise(place, size_of::<Shared>(), Advice::LinuxDontDump) };
        Ok(memory)
    }

    /// Whether this process has it.
    pub(super) fn is_here(&self) -> bool {
        Owner::current() == self.owner
    }

    /// `None` in a child of the process that mapped it.
    pub(super) fn shared(&self) -> Option<&Shared> {
        if !self.is_here() {
            return None;
        }
        // SAFETY: mapped as long as `self` is there, in this process; page-aligned; atomics, for which any bytes will do.
        Some(unsafe { self.shared.as_ref() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // In a child something else may be there by now.
        if self.is_here() {
            // SAFETY: mapped by `map`, of this length, and there are no references any more.
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
