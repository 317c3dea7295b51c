//! Classifies a token's errors by their remedy.

use cryptoki::context::Function;
use cryptoki::error::{Error, RvError};

use crate::device::error::DeviceError;

/// Why a call failed, by remedy.
pub(super) enum Failure {
    /// The token or login is gone: sessions and handles are invalid, and new ones may work.
    Gone(String),
    /// The object is gone or has another handle.
    Stale(String),
    /// The other operation may work.
    Otherwise(DeviceError),
    /// No more sessions are available.
    SessionsSpent(String),
    /// There is no remedy, and the session's state is unknown.
    Final(DeviceError),
}

impl Failure {
    pub(super) fn of(error: &Error) -> Self {
        let said = said(error);
        let Error::Pkcs11(code, function) = error else {
            return Self::Final(DeviceError(said));
        };
        match code {
            RvError::CryptokiNotInitialized
            | RvError::DeviceRemoved
            | RvError::SessionClosed
            | RvError::SessionHandleInvalid
            | RvError::SlotIdInvalid
            | RvError::TokenNotPresent
            | RvError::TokenNotRecognized
            | RvError::UserNotLoggedIn => {
                Self::Gone(format!("the token or its login has gone: {said}"))
            }
            RvError::KeyHandleInvalid | RvError::ObjectHandleInvalid => {
                Self::Stale(format!("the object has gone from the token: {said}"))
            }
            RvError::SessionCount => {
                Self::SessionsSpent(format!("the token has no session left: {said}"))
            }
            RvError::DeviceMemory if matches!(function, Function::OpenSession) => {
                Self::SessionsSpent(format!("the token has no room for a session: {said}"))
            }
            _ => Self::Final(DeviceError(said)),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl From<Failure> for DeviceError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Gone(said) | Failure::Stale(said) | Failure::SessionsSpent(said) => Self(said),
            Failure::Otherwise(error) | Failure::Final(error) => error,
        }
    }
}

/// Formats an error with the standard's names, as token manuals do: `C_Login: CKR_PIN_INCORRECT`.
pub(super) fn said(error: &Error) -> String {
    match error {
        Error::Pkcs11(RvError::VendorDefined(code), function) => {
            format!("C_{function:?}: CKR_VENDOR_DEFINED {code:#x}")
        }
        Error::Pkcs11(code, function) => {
            let mut name = String::from("CKR");
            for letter in format!("{code:?}").chars() {
                if letter.is_uppercase() {
                    name.push('_');
                }
                name.push(letter.to_ascii_uppercase());
            }
            format!("C_{function:?}: {name}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_by_the_names_of_the_standard() {
        let error = Error::Pkcs11(RvError::TokenNotPresent, Function::OpenSession);
        assert_eq!(said(&error), "C_OpenSession: CKR_TOKEN_NOT_PRESENT");
        let error = Error::Pkcs11(RvError::VendorDefined(0x8000_0001), Function::Login);
        assert_eq!(said(&error), "C_Login: CKR_VENDOR_DEFINED 0x80000001");
    }
}
