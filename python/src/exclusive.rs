//! Objects that one call at a time uses, without the deadlock of a mutex: where another thread was using one during a fork,
//! nobody in the child ever unlocks it.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use oarlock_threads::process;
use pyo3::{PyErr, Python};
use rustix::thread::futex;

use crate::failure::OarlockError;

/// An object that one call at a time uses; others wait.
pub struct Exclusive<T> {
    /// 0 if no call uses it, else the fork generation of the process that does, from 1 on, above [`WAITED_FOR`]. One word has
    /// both, so a child sees at once whose it is.
    user: AtomicU32,
    /// Only the call that has set `user` locks it.
    object: Mutex<T>,
}

/// The use of an object by a call, until dropped: the mutex first, so a call that sees a free object finds it unlocked.
pub struct Used<'a, T> {
    object: MutexGuard<'a, T>,
    _end: End<'a>,
}

/// Ends a use.
struct End<'a>(&'a AtomicU32);

/// A thread of the parent was using the object during the fork.
#[derive(Debug)]
pub struct LeftByParent;

impl<T> Exclusive<T> {
    pub fn new(object: T) -> Self {
        process::watch_forks();
        Self {
            user: AtomicU32::new(0),
            object: Mutex::new(object),
        }
    }

    /// Waits until no other call uses the object.
    ///
    /// # Errors
    /// [`LeftByParent`] in a forked child if a call of the parent was using it during the fork.
    pub fn lock(&self) -> Result<Used<'_, T>, LeftByParent> {
        // A process is not forked off a child of a child 2^31 times.
        let ours = (process::fork_generation() as u32 + 1) << 1;
        let mut wanted = ours;
        while let Err(user) =
            self.user
                .compare_exchange(0, wanted, Ordering::Acquire, Ordering::Relaxed)
        {
            if user & !WAITED_FOR != ours {
                return Err(LeftByParent);
            }
            let waited_for = ours | WAITED_FOR;
            let is_marked = user == waited_for
                || self
                    .user
                    .compare_exchange(user, waited_for, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
            if is_marked {
                // Interrupted or not, the loop looks again. Others may wait as well: the next user wakes one of them.
                let user = &self.user;
                let wait = || {
                    let _ = futex::wait(user, futex::Flags::PRIVATE, waited_for, None);
                };
                // Short calls come here with the GIL, which other threads may have while this one waits.
                Python::try_attach(|py| py.detach(wait)).unwrap_or_else(wait);
                wanted = waited_for;
            }
        }
        Ok(Used {
            // After a panic in another call the object is as that one left it.
            object: self.object.lock().unwrap_or_else(PoisonError::into_inner),
            _end: End(&self.user),
        })
    }
}

impl<T> Deref for Used<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> DerefMut for Used<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.object
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if self.0.swap(0, Ordering::Release) & WAITED_FOR != 0 {
            let _ = futex::wake(self.0, futex::Flags::PRIVATE, 1);
        }
    }
}

impl From<LeftByParent> for PyErr {
    fn from(LeftByParent: LeftByParent) -> Self {
        OarlockError::new_err(
            "a thread of the parent process was using this object during the fork: make another one in the child",
        )
    }
}

/// Whether calls wait for the object.
const WAITED_FOR: u32 = 1;
