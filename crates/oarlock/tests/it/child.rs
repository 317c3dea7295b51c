//! Forked children.
#![allow(unsafe_code)]

use oarlock_testing::LIMIT;

/// Forks; returns 0 in the child, and the child's ID in the parent. An alarm ends a child that hangs.
///
/// # Safety
/// The child only does what a forked child of a threaded program may do, and ends by [`leave`].
pub unsafe fn fork() -> libc::pid_t {
    // SAFETY: the caller guarantees what the child does; any process may set an alarm.
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
    // SAFETY: `_exit` has no precondition.
    unsafe { libc::_exit(status) }
}

/// Waits for a child and returns its exit status, 0 for success.
pub fn end_of(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` has room for the result.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}
