//! PKCS#11 modules, each loaded and initialised once in a process, and their tokens.
//!
//! Initialisation and login belong to the application as a whole (PKCS#11 2.40, 2.6 and 5.6). Devices on one module share
//! them, and none finalises the module, because another part of the program may use it.

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
use crate::device::error::DeviceError;
use oarlock_threads::process;

/// The name of a token in a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenName {
    /// The label from the token's initialisation.
    Label(String),
    /// The serial number, unique among tokens of its manufacturer.
    Serial(String),
    /// The number of its slot. Some modules renumber their slots at each start.
    Slot(u64),
}

pub(super) struct Module {
    path: PathBuf,
    context: Pkcs11,
    /// [`process::fork_generation`] of the process that initialised it.
    generation: usize,
    /// The PIN that each token has accepted, by serial number, while the device that supplied it exists. Locked during a
    /// login.
    accepted: Mutex<BTreeMap<String, Weak<Zeroizing<String>>>>,
}

impl Module {
    /// Returns the module at `path`, loading it if necessary.
    pub(super) fn load(path: &Path) -> Result<Arc<Self>, DeviceError> {
        static LOADED: Mutex<BTreeMap<PathBuf, Arc<Module>>> = Mutex::new(BTreeMap::new());
        process::watch_forks();
        // The loader searches for a name without a slash.
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
        // Two threads that load a module at once both get the first one: one library, initialised once.
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

    /// Returns an error in a forked child: the inherited module is initialised for its parent (PKCS#11 2.40, 5.4,
    /// C_Initialize), and its locks may never be released.
    pub(super) fn check_process(&self) -> Result<(), DeviceError> {
        if self.generation == process::fork_generation() {
            return Ok(());
        }
        Err(DeviceError(format!(
            "{}: opened before a fork, and of no use in the child: fork first, open tokens then",
            self.path.display()
        )))
    }

    /// Initialises the module. One that is already initialised is used as it is.
    fn initialize(&self) -> Result<(), Error> {
        let args = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
        match self.context.initialize(args) {
            Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(()),
            other => other,
        }
    }

    /// Returns the token's current slot.
    pub(super) fn find(&self, token: &TokenName) -> Result<(Slot, TokenInfo), Failure> {
        let mut slots = self.context.get_slots_with_token();
        if let Err(Error::Pkcs11(RvError::CryptokiNotInitialized, _)) = slots {
            // Another part of the program has finalised the module.
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

    /// Ensures that the user is logged in to the token of `session`. A wrong PIN is tried once.
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
        // If the token was already logged in, it has not checked this PIN.
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

/// Why a login failed.
pub(super) enum LoginError {
    /// The PIN is wrong, or the token no longer accepts it.
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

/// Locks a mutex and ignores poisoning: no state behind these locks is changed in several steps.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
