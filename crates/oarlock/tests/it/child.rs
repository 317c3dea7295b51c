//! Forked children.
#![allow(unsafe_code)]

use oarlock_testing::LIMIT;

/// Forks; returns 0 in the child, and its number in the parent. An alarm ends a child that would never end by itself.
///
/// # Safety
/// The child does what a forked child of a threaded program may do, and ends by [`leave`].
pub unsafe fn fork() -> libc::pid_t {
    // SAFETY: the caller says what the child does; an alarm may be set by any process.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(LIMIT.as_secs() as u32);
        }
        child
    }
}

/// Ends a child without running the parent's exit handlers.
pub fn leave(status: i32) -> ! {
    // SAFETY: no precondition.
    unsafe { libc::_exit(status) }
}

/// How a child ended; 0 where it left with that.
pub fn end_of(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: a place for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}
