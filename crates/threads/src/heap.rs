//! The allocator's memory.
#![allow(unsafe_code)]

/// Returns free memory that the allocator still holds to the system. For a server whose load has dropped: glibc keeps freed
/// memory that lies between blocks in use, however large it is.
///
/// Takes about a millisecond per ten MiB; other threads that allocate may have to wait. Does nothing where the C library is
/// not glibc, the only one with malloc_trim(3).
///
/// ```
/// oarlock_threads::heap::give_back();
/// ```
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim has no precondition: any thread may call it at any time, and memory in use stays.
    unsafe {
        libc::malloc_trim(0);
    }
}
