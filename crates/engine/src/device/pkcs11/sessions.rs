//! A token's sessions, each lent to one call at a time.
//!
//! All state of a token belongs to a generation: its slot, the sessions and the key handles. A call that finds the token or
//! its login gone ends the generation. The next call finds the token again, opens a session and logs in.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cryptoki::context::Pkcs11;
use cryptoki::object::ObjectHandle;
use cryptoki::session::{Session, SessionState};
use cryptoki::slot::{Limit, Slot, TokenInfo};
use zeroize::Zeroizing;

use super::failure::Failure;
use super::module::{LoginError, Module, TokenName, lock};
use crate::device::error::DeviceError;
use oarlock_threads::caught::caught;

pub(super) struct Sessions {
    module: Arc<Module>,
    token: TokenName,
    pin: Option<Arc<Zeroizing<String>>>,
    sessions_max: usize,
    /// Held while a thread opens a session and logs in.
    login: Mutex<()>,
    state: Mutex<State>,
    /// Signals that a waiting call may find a session.
    changed: Condvar,
}

struct State {
    generation: u64,
    place: Option<(Slot, TokenInfo)>,
    /// The serial number of the token found in a slot: the slot may later hold another token.
    serial: Option<String>,
    /// Keyed by [`RsaPrivateKey::held_id`](crate::rsa::RsaPrivateKey::held_id).
    keys: BTreeMap<Vec<u8>, CachedKey>,
    idle: Vec<Session>,
    /// Open sessions of this generation: idle, lent, and about to be opened.
    open: usize,
    /// The limit on sessions by the options and the token.
    ceiling: usize,
    /// The current limit, below `ceiling` after a shortage: other programs may hold the token's sessions and free them
    /// later.
    open_max: usize,
    /// Calls since `open_max` last changed.
    done: u32,
    /// The token's message when it refused the PIN.
    refused: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) struct CachedKey {
    pub(super) handle: ObjectHandle,
    pub(super) operation: KeyOperation,
    /// The fallback if `operation` fails, where the key allows both.
    pub(super) other: Option<KeyOperation>,
}

/// The function of a token that raises a number to a private exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOperation {
    Decrypt,
    Sign,
}

/// A reservation of one session, which is lent or about to be opened.
pub(super) struct Room<'a> {
    sessions: &'a Sessions,
    generation: u64,
}

impl Sessions {
    pub(super) fn new(
        module: Arc<Module>,
        token: TokenName,
        pin: Option<Zeroizing<String>>,
        sessions_max: usize,
    ) -> Self {
        let sessions_max = sessions_max.max(1);
        Self {
            module,
            token,
            pin: pin.map(Arc::new),
            sessions_max,
            login: Mutex::new(()),
            state: Mutex::new(State {
                generation: 0,
                place: None,
                serial: None,
                keys: BTreeMap::new(),
                idle: Vec::new(),
                open: 0,
                ceiling: sessions_max,
                open_max: sessions_max,
                done: 0,
                refused: None,
            }),
            changed: Condvar::new(),
        }
    }

    pub(super) fn sessions_max(&self) -> usize {
        self.sessions_max
    }

    pub(super) fn context(&self) -> &Pkcs11 {
        self.module.context()
    }

    /// Runs `call` with a session of its own, and retries failures that a retry may fix.
    pub(super) fn with<T>(
        &self,
        call: impl Fn(&Session, &Room<'_>) -> Result<T, Failure>,
    ) -> Result<T, DeviceError> {
        // The token may have come back, the key may have another handle, or the other operation may work.
        for _ in 0..MENDED_MAX {
            match self.try_with(&call) {
                Err(Failure::Gone(_) | Failure::Stale(_) | Failure::Otherwise(_)) => {}
                other => return Ok(other?),
            }
        }
        Ok(self.try_with(&call)?)
    }

    fn try_with<T>(
        &self,
        call: impl Fn(&Session, &Room<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.module.check_process().map_err(Failure::Final)?;
        let (room, session) = self.lend()?;
        let mut result = self.contained(|| call(&session, &room));
        // Without a login, private keys are invisible.
        if let Err(failure) = &result
            && !matches!(failure, Failure::Gone(_))
            && self.pin.is_some()
            && is_logged_out(&session)
        {
            result = Err(Failure::Gone(
                "another part of the program has logged out".into(),
            ));
        }
        match &result {
            Ok(_) | Err(Failure::Stale(_)) => room.give_back(session),
            Err(Failure::Gone(_)) => {
                let generation = room.generation;
                close(session);
                drop(room);
                self.end(generation);
            }
            // The state of such a session is unknown.
            Err(Failure::Otherwise(_) | Failure::SessionsSpent(_) | Failure::Final(_)) => {
                close(session);
            }
        }
        result
    }

    /// Runs `work` and turns a panic into an error, which closes the session: a module that reports an absurd length or
    /// count makes the code that reads it panic.
    fn contained<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        caught(work).unwrap_or_else(|| {
            Err(Failure::Final(DeviceError(format!(
                "{}: token with {}: an answer that PKCS#11 does not allow; ask the module's maker",
                self.module.path().display(),
                self.token
            ))))
        })
    }

    /// Returns an idle session, or a new one while the limit permits, or else waits for the next one returned.
    fn lend(&self) -> Result<(Room<'_>, Session), Failure> {
        let mut state = lock(&self.state);
        loop {
            if let Some(said) = &state.refused {
                return Err(self.refused(said));
            }
            let generation = state.generation;
            let room = || Room {
                sessions: self,
                generation,
            };
            if let Some(session) = state.idle.pop() {
                return Ok((room(), session));
            }
            if state.open >= state.open_max {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.open += 1;
            let room = room();
            drop(state);
            match self.contained(|| self.open(&room)) {
                Ok(session) => return Ok((room, session)),
                Err(Failure::SessionsSpent(said)) => {
                    drop(room);
                    state = lock(&self.state);
                    if state.generation != generation {
                        continue;
                    }
                    if state.open == 0 {
                        return Err(Failure::SessionsSpent(said));
                    }
                    // The token or its other users leave no more sessions than these.
                    state.open_max = state.open;
                    state.done = 0;
                }
                Err(Failure::Gone(said)) => {
                    drop(room);
                    self.end(generation);
                    return Err(Failure::Gone(said));
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    fn open(&self, room: &Room<'_>) -> Result<Session, Failure> {
        let (place, serial) = {
            let state = lock(&self.state);
            (state.place.clone(), state.serial.clone())
        };
        let (slot, token) = match (place, &self.token, serial) {
            (Some(place), _, _) => place,
            (None, TokenName::Slot(_), Some(serial)) => {
                self.module.find(&TokenName::Serial(serial))?
            }
            (None, token, _) => self.module.find(token)?,
        };
        // The lock keeps this thread from opening a session while another is about to log in.
        let _one = lock(&self.login);
        let session = self.module.context().open_ro_session_no_drop(slot)?;
        if let Err(failure) = self.contained(|| self.log_in(&session, &token)) {
            close(session);
            return Err(failure);
        }
        let mut state = lock(&self.state);
        if state.generation == room.generation && state.place.is_none() {
            if let Limit::Max(max) = token.max_session_count() {
                let max = usize::try_from(max).unwrap_or(usize::MAX);
                state.ceiling = self.sessions_max.min(max).max(1);
                state.open_max = state.open_max.min(state.ceiling);
            }
            state.serial = Some(token.serial_number().to_owned());
            state.place = Some((slot, token));
        }
        Ok(session)
    }

    /// Logs in. The caller holds `login`, so only one of several logged-out threads tries the PIN: a token locks itself
    /// after a few wrong ones.
    fn log_in(&self, session: &Session, token: &TokenInfo) -> Result<(), Failure> {
        let known = lock(&self.state).refused.clone();
        if let Some(said) = known {
            return Err(self.refused(&said));
        }
        match self.module.login(session, token, self.pin.as_ref()) {
            Ok(()) => Ok(()),
            Err(LoginError::Other(failure)) => Err(failure),
            Err(LoginError::Refused(said)) => {
                let failure = self.refused(&said);
                lock(&self.state).refused = Some(said);
                self.changed.notify_all();
                Err(failure)
            }
        }
    }

    fn refused(&self, said: &str) -> Failure {
        Failure::Final(DeviceError(format!(
            "token with {}: its PIN is refused, and not tried again, for a token locks itself after \
             a few wrong ones ({said}): open it with the right PIN",
            self.token
        )))
    }

    /// Forgets all state of a generation.
    fn end(&self, generation: u64) {
        let idle = {
            let mut state = lock(&self.state);
            if state.generation != generation {
                return;
            }
            state.generation += 1;
            state.place = None;
            state.keys.clear();
            state.open = 0;
            state.ceiling = self.sessions_max;
            state.open_max = self.sessions_max;
            state.done = 0;
            std::mem::take(&mut state.idle)
        };
        idle.into_iter().for_each(close);
        self.changed.notify_all();
    }
}

impl Room<'_> {
    pub(super) fn cached(&self, id: &[u8]) -> Option<CachedKey> {
        self.state()?.keys.get(id).copied()
    }

    pub(super) fn cache(&self, id: &[u8], key: CachedKey) {
        if let Some(mut state) = self.state() {
            state.keys.insert(id.to_vec(), key);
        }
    }

    pub(super) fn forget(&self, id: &[u8]) {
        if let Some(mut state) = self.state() {
            state.keys.remove(id);
        }
    }

    fn give_back(self, session: Session) {
        let Some(mut state) = self.state() else {
            return close(session);
        };
        state.idle.push(session);
        state.done = state.done.saturating_add(1);
        let is_raised = state.open_max < state.ceiling && state.done >= CALLS_UNTIL_RAISED;
        if is_raised {
            state.open_max += 1;
            state.done = 0;
        }
        drop(state);
        if is_raised {
            self.sessions.changed.notify_all();
        } else {
            self.sessions.changed.notify_one();
        }
        std::mem::forget(self);
    }

    /// Returns the state, or `None` if the room's generation has ended.
    fn state(&self) -> Option<MutexGuard<'_, State>> {
        let state = lock(&self.sessions.state);
        (state.generation == self.generation).then_some(state)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if let Some(mut state) = self.state() {
            state.open -= 1;
        }
        self.sessions.changed.notify_one();
    }
}

/// Closes the sessions. The token's login ends with the last of them.
impl Drop for Sessions {
    fn drop(&mut self) {
        if self.module.check_process().is_ok() {
            let mut state = lock(&self.state);
            state.idle.drain(..).for_each(close);
        }
    }
}

fn is_logged_out(session: &Session) -> bool {
    let info = session.get_session_info();
    let state = info.map(|info| info.session_state());
    matches!(state, Ok(SessionState::RoPublic | SessionState::RwPublic))
}

/// Closes a session. If its token is gone, closing fails and is not needed.
fn close(session: Session) {
    let _ = session.close();
}

const MENDED_MAX: u32 = 2;
/// Calls after a shortage before one more session is tried: a failed C_OpenSession costs one call.
const CALLS_UNTIL_RAISED: u32 = 64;
