//! A thread that the C library alone makes and ends.
//!
//! The standard library takes a lock of its own where a thread of its begins and ends. A child that is forked at just
//! that moment inherits the lock, and nothing in it releases the lock. The C library puts its own locks right in the
//! child. So code on such a thread keeps off what registers it with the standard library: `std::thread::current`,
//! `park`, and values of `thread_local` that have a `Drop`.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use crate::process;

/// What a thread does.
pub(super) trait Life: Send + Sync + 'static {
    fn live(&self);
}

/// A thread that has been made. Dropping it neither joins nor detaches it.
pub(super) struct Handle(libc::pthread_t);

impl Handle {
    /// Makes a thread that does what `life` says, with every signal blocked. `None` in a sandbox, and
    /// where the system refuses: for want of memory for its stack, by a limit on processes, or
    /// where thread-local data of the program's leaves no room on a stack of that size.
    pub(super) fn start<L: Life>(life: Arc<L>) -> Option<Self> {
        if process::is_sandboxed_by_now() {
            return None;
        }
        let life = Arc::into_raw(life).cast_mut().cast();
        // SAFETY: the attributes are initialized before they are used and destroyed once; their size
        // is a multiple of the page's and above the least there may be. `begin` takes the one
        // reference that `into_raw` gave out, and `L` may be sent to its thread.
        let made = process::with_signals_blocked(|| unsafe {
            let mut attributes = std::mem::zeroed();
            if libc::pthread_attr_init(&mut attributes) != 0 {
                return None;
            }
            libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
            let mut id = 0;
            let error = libc::pthread_create(&mut id, &attributes, begin::<L>, life);
            libc::pthread_attr_destroy(&mut attributes);
            (error == 0).then_some(Self(id))
        });
        if made.is_none() {
            // SAFETY: from `into_raw` above, and no thread took it.
            drop(unsafe { Arc::from_raw(life.cast::<L>().cast_const()) });
        }
        made
    }

    /// Joins it if it has ended: then the handle is used up, and is to be dropped.
    pub(super) fn join_if_ended(&self) -> bool {
        // SAFETY: the thread is joinable, and was not joined: who is told true drops the handle, and
        // the other two ways to use it up take it.
        unsafe { libc::pthread_tryjoin_np(self.0, ptr::null_mut()) == 0 }
    }

    /// Waits until it has ended. Nobody can wait for himself: the calling thread is let go instead.
    pub(super) fn join(self) {
        // SAFETY: the thread is joinable, and was not joined: `join_if_ended` told its caller so, or was
        // not asked, and this takes the handle.
        unsafe {
            if self.0 == libc::pthread_self() {
                libc::pthread_detach(self.0);
            } else {
                libc::pthread_join(self.0, ptr::null_mut());
            }
        }
    }
}

extern "C" fn begin<L: Life>(life: *mut c_void) -> *mut c_void {
    // SAFETY: `start` gave one reference to the one thread that it made of it. The name has an end
    // and fewer than 16 bytes.
    let life = unsafe {
        libc::pthread_setname_np(libc::pthread_self(), c"oarlock".as_ptr());
        Arc::from_raw(life.cast::<L>().cast_const())
    };
    // Moved in, so that a panic of its drop is caught as well.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(move || life.live())) {
        // Not dropped: a payload is anything, and its drop may panic in its turn.
        std::mem::forget(panic);
    }
    ptr::null_mut()
}

/// Optimized kernels need little. Those that a program compiled without optimization spill every
/// register: one frame of AES-GCM takes 244 KiB. A thread's stack is committed page by page.
const STACK_BYTES: usize = if cfg!(debug_assertions) {
    4 << 20
} else {
    256 << 10
};
