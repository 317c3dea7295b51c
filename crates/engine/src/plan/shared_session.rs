//! A session that several threads use at once, and that moves to another device under them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::Error;
use crate::device::keyed::Keyed;
use crate::device::session::Session;
use oarlock_threads::process;

/// A key and where it lives, for any number of threads at once.
pub(crate) struct SharedSession<K> {
    session: Session<K>,
    /// Where it lives since its device failed or was withdrawn.
    elsewhere: RwLock<Option<Arc<Session<K>>>>,
    has_moved: AtomicBool,
}

/// Why a device did not do a request.
pub(crate) enum Undone<E> {
    /// It is the request's fault; elsewhere it would be the same.
    Refused(E),
    /// The device's; the data are as they were.
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

    /// The session that it began as.
    #[inline]
    pub(crate) fn first(&self) -> &Session<K> {
        &self.session
    }

    /// The key, if its device still serves it.
    #[inline]
    pub(crate) fn at_home(&self) -> Option<&K> {
        let is_at_home =
            !self.session.has_lost_its_device() && !self.has_moved.load(Ordering::Relaxed);
        is_at_home.then_some(&self.session.keyed)
    }

    /// The device that serves this session now.
    pub(crate) fn device(&self) -> String {
        match self.moved() {
            Some(session) => session.device().into(),
            None => self.session.device().into(),
        }
    }

    /// Runs `request` on the device, or on one after the other until one has done it; at the end are
    /// the kernels, which cannot fail. Before it leaves a device it calls `leave`.
    pub(crate) fn by_a_device<T, E: From<Error>>(
        &self,
        leave: impl Fn(),
        mut request: impl FnMut(&K) -> Result<T, Undone<E>>,
    ) -> Result<T, E> {
        // No device is asked twice, or two that fail would send the request to and fro without end.
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
