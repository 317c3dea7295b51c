//! A session that several threads use at once, and that may move to another device while they use it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::Error;
use crate::device::keyed::Keyed;
use crate::device::session::Session;
use oarlock_threads::process;

/// A key and its current device, for any number of threads at once.
pub(crate) struct SharedSession<K> {
    session: Session<K>,
    /// The session that replaced the first one, whose device failed or was withdrawn.
    elsewhere: RwLock<Option<Arc<Session<K>>>>,
    has_moved: AtomicBool,
}

/// Why a device did not do a request.
pub(crate) enum Undone<E> {
    /// The request is at fault; another device would refuse it, too.
    Refused(E),
    /// The device failed; the data are unchanged.
    Device,
}

impl<K: Keyed> SharedSession<K> {
    pub(crate) fn new(session: Session<K>) -> Self {
        Self {
            session,
            elsewhere: RwLock::new(None),
            has_moved: AtomicBool::new(false),
        }
    }

    /// Returns the session that it began as.
    #[inline]
    pub(crate) fn first(&self) -> &Session<K> {
        &self.session
    }

    /// Returns the key, if its first device still serves it.
    #[inline]
    pub(crate) fn at_home(&self) -> Option<&K> {
        let is_at_home =
            !self.session.has_lost_its_device() && !self.has_moved.load(Ordering::Relaxed);
        is_at_home.then_some(&self.session.keyed)
    }

    /// Returns the name of the device that serves this session now.
    pub(crate) fn device(&self) -> String {
        match self.moved() {
            Some(session) => session.device().into(),
            None => self.session.device().into(),
        }
    }

    /// Runs `request` on the device, or on one device after another until one succeeds; the kernels come last and do
    /// not fail. Calls `leave` before it leaves a device. If no kernel has the algorithm either, the error names the
    /// device.
    pub(crate) fn by_a_device<T, E: From<Error>>(
        &self,
        leave: impl Fn(),
        mut request: impl FnMut(&K) -> Result<T, Undone<E>>,
    ) -> Result<T, E> {
        // No device is asked twice; otherwise two failing devices would pass the request back and forth without end.
        let mut failed = Vec::new();
        let mut moved = self.moved();
        loop {
            let session = moved.as_deref().unwrap_or(&self.session);
            if !session.has_lost_its_device() {
                match request(&session.keyed) {
                    Ok(done) => return Ok(done),
                    Err(Undone::Refused(error)) => return Err(error),
                    Err(Undone::Device) => {}
                }
            }
            leave();
            let Some(next) = session.elsewhere(&mut failed) else {
                return Err(E::from(Error::DeviceFailed {
                    device: session.device().into(),
                    reason: "and no kernel takes its place".into(),
                }));
            };
            let next = Arc::new(next);
            process::undivided(|| {
                let mut elsewhere = self
                    .elsewhere
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *elsewhere = Some(Arc::clone(&next));
            });
            self.has_moved.store(true, Ordering::Relaxed);
            moved = Some(next);
        }
    }

    fn moved(&self) -> Option<Arc<Session<K>>> {
        process::undivided(|| {
            let elsewhere = self
                .elsewhere
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            elsewhere.clone()
        })
    }
}
