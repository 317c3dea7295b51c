//! A thread that only the C library creates and ends.
//!
//! The standard library takes a lock of its own where one of its threads begins or ends. A child that is forked at just that
//! moment inherits the held lock, and no thread of the child releases it. The C library resets its own locks in the child.
//! So code on such a thread avoids whatever registers it with the standard library: `std::thread::current`, `park`, and
//! `thread_local` values that have a `Drop`.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::Crew;
use crate::caught::caught;
use crate::process;

/// The handle of a thread. Dropping it neither joins nor detaches the thread.
pub(super) struct Handle(libc::pthread_t);

impl Handle {
    /// Creates a helper of `crew`, with every signal blocked. `None` in a sandbox, and if the system refuses: no
    /// memory for its stack, a limit on processes, or thread-local data of the program that does not fit a stack of this
    /// size.
    pub(super) fn start(crew: Arc<Crew>) -> Option<Self> {
        if process::is_sandboxed_by_now() {
            return None;
        }
        let crew = Arc::into_raw(crew).cast_mut();
        // SAFETY: the attributes are initialized before they are used and destroyed once; their size is a multiple of the
        // page size and above the minimum. `begin` takes the one reference that `into_raw` handed out, and a crew may be
        // sent to its thread.
        let made = process::with_signals_blocked(|| unsafe {
            let mut attributes = std::mem::zeroed();
            if libc::pthread_attr_init(&mut attributes) != 0 {
                return None;
            }
            libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
            let mut id = 0;
            let error = libc::pthread_create(&mut id, &attributes, begin, crew.cast());
            libc::pthread_attr_destroy(&mut attributes);
            (error == 0).then_some(Self(id))
        });
        if made.is_none() {
            // SAFETY: from `into_raw` above, and no thread took it.
            drop(unsafe { Arc::from_raw(crew.cast_const()) });
        }
        made
    }

    /// Joins the thread if it has ended. After true the handle is used up and must be dropped.
    pub(super) fn join_if_ended(&self) -> bool {
        // SAFETY: the thread is joinable and was not joined: a caller that gets true drops the handle, and the other two
        // ways to use it up consume it.
        unsafe { libc::pthread_tryjoin_np(self.0, ptr::null_mut()) == 0 }
    }

    /// Waits until the thread has ended. A thread cannot join itself: the calling thread is detached instead.
    pub(super) fn join(self) {
        // SAFETY: the thread is joinable and was not joined: `join_if_ended` has not returned true, or was not called, and
        // this consumes the handle.
        unsafe {
            if self.0 == libc::pthread_self() {
                libc::pthread_detach(self.0);
            } else {
                libc::pthread_join(self.0, ptr::null_mut());
            }
        }
    }
}

extern "C" fn begin(crew: *mut c_void) -> *mut c_void {
    // SAFETY: `start` gave one reference to the one thread that it created with it. The name ends with a null byte and has
    // fewer than 16 bytes.
    let crew = unsafe {
        libc::pthread_setname_np(libc::pthread_self(), c"oarlock".as_ptr());
        Arc::from_raw(crew.cast::<Crew>().cast_const())
    };
    // Moved in, so that a panic in its drop is caught as well.
    let _ = caught(move || crew.live());
    ptr::null_mut()
}

/// The stack size of a helper. Optimized kernels need little. Unoptimized ones spill every register: one frame of AES-GCM
/// takes 244 KiB. A thread's stack is committed page by page.
const STACK_BYTES: usize = if cfg!(debug_assertions) {
    4 << 20
} else {
    256 << 10
};
