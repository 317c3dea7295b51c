//! Modules, each loaded and initialised once in a process, and the tokens in them.
//!
//! What is initialised and who is logged in belong to the application as a whole (PKCS#11 2.40,
//! 2.6 and 5.6): devices on one module share it, and nobody finalises it, for another part of the
//! program may use it too.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::session::{Session, SessionState, UserType};
use cryptoki::slot::{Slot, TokenInfo};
use cryptoki::types::AuthPin;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::failure::{Failure, said};
use crate::device::request::DeviceError;
use oarlock_threads::process;

/// The name of a token of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenName {
    /// The label that it was given when it was initialised.
    Label(String),
    /// The serial number, which no other token of its manufacturer has.
    Serial(String),
    /// The number of the slot that it is in. Some modules number their slots differently after each start.
    Slot(u64),
}

pub(super) struct Module {
    path: PathBuf,
    context: Pkcs11,
    /// [`process::fork_generation`] of the process that it is initialised in.
    generation: usize,
    /// By serial number, the PIN that a token has taken, as long as the device that gave it is there. Held
    /// during a login.
    accepted: Mutex<BTreeMap<String, Weak<Zeroizing<String>>>>,
}

impl Module {
    /// The one at `path`, loaded if it is not yet.
    pub(super) fn load(path: &Path) -> Result<Arc<Self>, DeviceError> {
        static LOADED: Mutex<BTreeMap<PathBuf, Arc<Module>>> = Mutex::new(BTreeMap::new());
        process::watch_forks();
        // A name without a slash is looked for by the loader.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let known = process::undivided(|| lock(&LOADED).get(&path).cloned());
        if let Some(module) = known {
            module.check_process()?;
            return Ok(module);
        }
        let refused = |error: &Error| {
            let said = match error {
                Error::LibraryLoading(error) => error.to_string(),
                Error::MissingSymbol(name) => format!("it has no {name}"),
                other => said(other),
            };
            DeviceError(format!(
                "{}: cannot be loaded as a PKCS#11 module: {said}",
                path.display()
            ))
        };
        let module = Arc::new(Self {
            context: Pkcs11::new(&path).map_err(|error| refused(&error))?,
            path: path.clone(),
            generation: process::fork_generation(),
            accepted: Mutex::default(),
        });
        module.initialize().map_err(|error| refused(&error))?;
        // Of two threads that load it at once both get the first: one library, initialised once.
        Ok(process::undivided(|| {
            Arc::clone(lock(&LOADED).entry(path).or_insert(module))
        }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn context(&self) -> &Pkcs11 {
        &self.context
    }

    /// A module that a forked child inherits is initialised for its parent (PKCS#11 2.40, 5.4, C_Initialize), and locks
    /// in it may never be released.
    pub(super) fn check_process(&self) -> Result<(), DeviceError> {
        if self.generation == process::fork_generation() {
            return Ok(());
        }
        Err(DeviceError(format!(
            "{}: opened before a fork, and of no use in the child: fork first, open tokens then",
            self.path.display()
        )))
    }

    /// A module that is initialised already is used as it is.
    fn initialize(&self) -> Result<(), Error> {
        let args = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
        match self.context.initialize(args) {
            Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(()),
            other => other,
        }
    }

    /// Where the token is now.
    pub(super) fn find(&self, token: &TokenName) -> Result<(Slot, TokenInfo), Failure> {
        let mut slots = self.context.get_slots_with_token();
        if let Err(Error::Pkcs11(RvError::CryptokiNotInitialized, _)) = slots {
            // Another part of the program has finalised it.
            self.initialize()?;
            slots = self.context.get_slots_with_token();
        }
        let mut there = Vec::new();
        for slot in slots? {
            // Skip a token that was removed after the slots were listed.
            if let Ok(info) = self.context.get_token_info(slot)
                && info.token_initialized()
            {
                there.push((slot, info));
            }
        }
        let is_meant = |(slot, info): &&(Slot, TokenInfo)| match token {
            TokenName::Label(label) => info.label() == label,
            TokenName::Serial(serial) => info.serial_number() == serial,
            TokenName::Slot(number) => slot.id() == *number,
        };
        let mut meant = there.iter().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(found), None) => Ok(found.clone()),
            (Some(_), Some(_)) => Err(Failure::Final(DeviceError(format!(
                "{}: several tokens with {token}: name one by its serial; there are {}",
                self.path.display(),
                list(&there)
            )))),
            (None, _) => Err(Failure::Gone(format!(
                "{}: no token with {token}; there are {}",
                self.path.display(),
                list(&there)
            ))),
        }
    }

    /// Sees to it that the user is logged in to the token of `session`. One wrong PIN is given to
    /// the token once.
    pub(super) fn login(
        &self,
        session: &Session,
        token: &TokenInfo,
        pin: Option<&Arc<Zeroizing<String>>>,
    ) -> Result<(), LoginError> {
        if pin.is_none() && !token.protected_authentication_path() {
            return Ok(());
        }
        let mut accepted = lock(&self.accepted);
        let state = session.get_session_info()?.session_state();
        let is_public = matches!(state, SessionState::RoPublic | SessionState::RwPublic);
        if is_public {
            let secret = pin.map(|pin| AuthPin::new(pin.as_str().into()));
            match session.login(UserType::User, secret.as_ref()) {
                Ok(()) => {
                    if let Some(pin) = pin {
                        let serial = token.serial_number().to_owned();
                        accepted.insert(serial, Arc::downgrade(pin));
                    }
                    return Ok(());
                }
                Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // If the token was logged in already, it has not checked this PIN.
        let known = accepted.get(token.serial_number()).and_then(Weak::upgrade);
        if let (Some(known), Some(pin)) = (known, pin)
            && !bool::from(known.as_bytes().ct_eq(pin.as_bytes()))
        {
            return Err(LoginError::Refused(
                "it is not the one that this process has logged in with".into(),
            ));
        }
        Ok(())
    }
}

/// Why there is no login.
pub(super) enum LoginError {
    /// The PIN is wrong, or the token takes none any more.
    Refused(String),
    Other(Failure),
}

impl From<Error> for LoginError {
    fn from(error: Error) -> Self {
        match error {
            Error::Pkcs11(
                RvError::PinIncorrect
                | RvError::PinInvalid
                | RvError::PinLenRange
                | RvError::PinExpired
                | RvError::PinLocked
                | RvError::UserPinNotInitialized,
                _,
            ) => Self::Refused(said(&error)),
            error => Self::Other(error.into()),
        }
    }
}

fn list(tokens: &[(Slot, TokenInfo)]) -> String {
    if tokens.is_empty() {
        return "none".into();
    }
    let tokens: Vec<_> = tokens
        .iter()
        .map(|(slot, info)| {
            let (label, serial) = (info.label(), info.serial_number());
            format!("{label:?} (serial {serial:?}, slot {slot})")
        })
        .collect();
    tokens.join(", ")
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(f, "label {label:?}"),
            Self::Serial(serial) => write!(f, "serial {serial:?}"),
            Self::Slot(number) => write!(f, "slot {number}"),
        }
    }
}

/// What a panic has left is whole: nothing behind these locks is changed in steps.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
