//! Accelerators by name, for parts of a program that do not know each other.
//!
//! Each name is an object in the table of handles whose handle no program has. That table has no lock, so a forked child
//! never inherits one that is held.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU32, Ordering};

use oarlock::Accelerator;
use oarlock_threads::process::{fork_generation, watch_forks};

use crate::buffers::{place, text};
use crate::failure::{Failure, call};
use crate::handles::{Handle, ManyCalls, Object, Shared, all};

/// A name and its accelerator.
struct Registered {
    name: Box<str>,
    accelerator: Accelerator,
}

impl Object for Registered {
    const KIND: u64 = 13;
    const NAME: &'static str = "name of an accelerator";
}

impl ManyCalls for Registered {}

/// See `oarlock.h`.
///
/// # Safety
/// `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_register(
    accelerator: Handle<Accelerator>,
    name: *const c_char,
) -> c_int {
    call(|| {
        let accelerator = accelerator.shared()?.clone();
        // SAFETY: the caller of `oarlock_accelerator_register` says that `name` is NULL or ends with a NUL.
        let name = unsafe { text(name, "the name") }?;
        one_at_a_time(|| {
            if named(name).is_some() {
                return Err(Failure::argument(format!(
                    "an accelerator has the name {name:?} already"
                )));
            }
            let name = name.into();
            Handle::new(Registered { name, accelerator })?;
            Ok(())
        })
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_unregister(name: *const c_char) -> c_int {
    call(|| {
        // SAFETY: the caller of `oarlock_accelerator_unregister` says that `name` is NULL or ends with a NUL.
        let name = unsafe { text(name, "the name") }?;
        let (handle, registered) = named(name).ok_or_else(|| unknown(name))?;
        drop(registered);
        // Fails if another thread was faster.
        handle.free_shared().map_err(|_| unknown(name))
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `accelerator`, or it is NULL; `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_find(
    accelerator: *mut Handle<Accelerator>,
    name: *const c_char,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `accelerator`, or it is NULL.
        let to = unsafe { place(accelerator, "the place of the accelerator") }?;
        *to = Handle::NULL;
        // SAFETY: the caller of `oarlock_accelerator_find` says that `name` is NULL or ends with a NUL.
        let name = unsafe { text(name, "the name") }?;
        let (_, registered) = named(name).ok_or_else(|| unknown(name))?;
        *to = Handle::new(registered.accelerator.clone())?;
        Ok(())
    })
}

fn named(name: &str) -> Option<(Handle<Registered>, Shared<Registered>)> {
    all::<Registered>().find(|(_, registered)| &*registered.name == name)
}

/// Runs registrations one at a time, so that no name is registered twice.
fn one_at_a_time<T>(run: impl FnOnce() -> T) -> T {
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            REGISTERING.store(0, Ordering::Release);
        }
    }
    watch_forks();
    // A process is not forked off a child of a child 2^32 times.
    let process = fork_generation() as u32 + 1;
    loop {
        let other = REGISTERING.load(Ordering::Relaxed);
        // A lock of another process was inherited in a fork, from a thread that does not exist here.
        let is_free = other != process;
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if is_free
            && REGISTERING
                .compare_exchange(other, process, acquire, relaxed)
                .is_ok()
        {
            break;
        }
        std::thread::yield_now();
    }
    let _held = Held;
    run()
}

/// The fork generation of the process in which a thread is registering a name, from 1 on, or 0.
static REGISTERING: AtomicU32 = AtomicU32::new(0);

fn unknown(name: &str) -> Failure {
    Failure::argument(format!("no accelerator has the name {name:?}"))
}
