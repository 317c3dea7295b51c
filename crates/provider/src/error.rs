//! Errors, raised in the program's own OpenSSL as the default provider raises them.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null;

use crate::abi::{Dispatch, core_function};

/// The reasons why a call is refused: the default provider's reasons (proverr.h) under its library's number, which
/// programs check (the Python package `cryptography` does).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    /// Raises nothing, as the default provider does.
    Silent = 0,
    BadDecrypt = 100,
    CipherOperationFailed = 102,
    FailedToGetParameter = 103,
    FailedToSetParameter = 104,
    InvalidKeyLength = 105,
    OutputBufferTooSmall = 106,
    WrongFinalBlockLength = 107,
    InvalidAad = 108,
    InvalidIvLength = 109,
    InvalidTag = 110,
    NoKeySet = 114,
    InvalidData = 115,
    InvalidTagLength = 118,
    TagNotSet = 119,
    TagNotNeeded = 120,
    TooManyRecords = 126,
    MissingKey = 128,
    InvalidKey = 158,
    FailedToDecrypt = 162,
    FailedDuringDerivation = 164,
    FailedToSign = 175,
    OperationNotSupportedForThisKeytype = 178,
    NullLengthPointer = 247,
    NullOutputBuffer = 248,
    UnsupportedSelection = 250,
    WrongCiphertextSize = 251,
    RepeatedParameter = 252,
}

/// The errors of OpenSSL's own RSA (rsaerr.h) that the default provider leaves on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RsaReason {
    OaepDecodingError = 121,
}

/// ERR_LIB_PROV, ERR_LIB_RSA.
const LIBRARY: u32 = 57;
const RSA_LIBRARY: u32 = 4;
/// The position of the library in ERR_PACK.
const LIBRARY_SHIFT: u32 = 23;

type NewError = unsafe extern "C" fn(*const c_void);
type SetErrorDebug = unsafe extern "C" fn(*const c_void, *const c_char, c_int, *const c_char);
type VsetError = unsafe extern "C" fn(*const c_void, u32, *const c_char, *const c_void);

/// Raises errors in the library context that has loaded this provider.
#[derive(Clone, Copy)]
pub(crate) struct Errors {
    handle: *const c_void,
    new_error: Option<NewError>,
    set_error_debug: Option<SetErrorDebug>,
    vset_error: Option<VsetError>,
}

impl Errors {
    /// # Safety
    /// `functions` is the core's table, and `handle` came with it.
    pub(crate) unsafe fn new(handle: *const c_void, functions: *const Dispatch) -> Self {
        let mut errors = Self {
            handle,
            new_error: None,
            set_error_debug: None,
            vset_error: None,
        };
        let mut at = functions;
        // SAFETY: the table ends with the number 0; functions have the types that the interface gives their numbers. A
        // `va_list` is passed as a pointer on x86-64 and AArch64, and is not read if the format is null or has no
        // conversions.
        unsafe {
            while (*at).id != 0 {
                let function = (*at).function;
                match (*at).id {
                    core_function::NEW_ERROR => {
                        errors.new_error =
                            Some(std::mem::transmute::<*const c_void, NewError>(function));
                    }
                    core_function::SET_ERROR_DEBUG => {
                        errors.set_error_debug = Some(std::mem::transmute::<
                            *const c_void,
                            SetErrorDebug,
                        >(function));
                    }
                    core_function::VSET_ERROR => {
                        errors.vset_error =
                            Some(std::mem::transmute::<*const c_void, VsetError>(function));
                    }
                    _ => {}
                }
                at = at.add(1);
            }
        }
        errors
    }

    #[cold]
    pub(crate) fn raise(&self, reason: Reason) {
        if reason != Reason::Silent {
            self.raise_with(LIBRARY, reason as u32, null());
        }
    }

    #[cold]
    pub(crate) fn raise_of_rsa(&self, reason: RsaReason) {
        self.raise_with(RSA_LIBRARY, reason as u32, null());
    }

    /// Raises an error with `text` after its reason.
    #[cold]
    pub(crate) fn raise_saying(&self, reason: Reason, text: &str) {
        // The text is passed as a format that has no conversions.
        let text = CString::new(text.replace('%', "%%")).unwrap_or_default();
        self.raise_with(LIBRARY, reason as u32, text.as_ptr());
    }

    fn raise_with(&self, library: u32, reason: u32, format: *const c_char) {
        let (Some(new_error), Some(set_error_debug), Some(vset_error)) =
            (self.new_error, self.set_error_debug, self.vset_error)
        else {
            return;
        };
        // SAFETY: the functions are the core's, and the handle came with them. A format without conversions reads none
        // of its arguments.
        unsafe {
            new_error(self.handle);
            set_error_debug(self.handle, c"oarlock".as_ptr(), 0, c"".as_ptr());
            vset_error(
                self.handle,
                library << LIBRARY_SHIFT | reason,
                format,
                null(),
            );
        }
    }
}
