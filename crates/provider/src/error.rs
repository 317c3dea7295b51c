//! Errors, raised in the program's own OpenSSL as the default provider raises them.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null;

use crate::abi::{Dispatch, core_function};

/// Why a call is refused: the default provider's reasons (proverr.h) and its library's number, which
/// programs check (the Python package `cryptography` does).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    /// Raises nothing, like the default provider.
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

/// What OpenSSL's own RSA refuses (rsaerr.h), which the default provider leaves on the queue as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RsaReason {
    OaepDecodingError = 121,
}

/// ERR_LIB_PROV, ERR_LIB_RSA.
const LIBRARY: u32 = 57;
const RSA_LIBRARY: u32 = 4;
/// Where ERR_PACK puts the library.
const LIBRARY_SHIFT: u32 = 23;

type NewError = unsafe extern "C" fn(*const c_void);
type SetErrorDebug = unsafe extern "C" fn(*const c_void, *const c_char, c_int, *const c_char);
type VsetError = unsafe extern "C" fn(*const c_void, u32, *const c_char, *const c_void);

/// How to raise errors in the library context that has loaded this provider.
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
        // SAFETY: the table ends with the number 0; functions have the types that the interface
        // gives their numbers. A `va_list` is passed as a pointer on x86-64 and AArch64, and is not
        // looked at where the format is null.
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

    /// With what is to stand behind the reason.
    #[cold]
    pub(crate) fn raise_saying(&self, reason: Reason, text: &str) {
        // It is a format, and there is nothing for it to format.
        let text = CString::new(text.replace('%', "%%")).unwrap_or_default();
        self.raise_with(LIBRARY, reason as u32, text.as_ptr());
    }

    fn raise_with(&self, library: u32, reason: u32, format: *const c_char) {
        let (Some(new_error), Some(set_error_debug), Some(vset_error)) =
            (self.new_error, self.set_error_debug, self.vset_error)
        else {
            return;
        };
        // SAFETY: the functions are the core's, and the handle the one it gave with them. A format without conversions takes
        // nothing from its arguments.
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
