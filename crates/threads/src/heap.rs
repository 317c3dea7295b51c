//! The memory of the allocator.
#![allow(unsafe_code)]

/// Gives memory that the allocator holds, and nothing uses, back to the system. For a server whose load
/// has gone: glibc keeps what was freed amid memory still in use, however much it is.
///
/// Takes about a millisecond for some ten MiB, in which other threads that allocate may have to wait.
/// Does nothing where the C library is not glibc, which alone has malloc_trim(3).
///
/// ```
/// oarlock_threads::heap::give_back();
/// ```
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it asks for nothing: any thread may call it at any time, and memory in use stays.
    unsafe {
        libc::malloc_trim(0);
    }
}
