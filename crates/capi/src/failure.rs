//! The errors of calls: a number, and a text for the thread that made the call.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use oarlock::Error;
use oarlock_threads::caught::caught;

/// The reason why a call failed. Boxed, to keep the results of successful calls small.
#[derive(Debug)]
pub(crate) struct Failure(Box<(Code, Cow<'static, str>)>);

macro_rules! codes {
    ($($variant:ident $number:literal $text:literal,)+) => {
        /// The error numbers of `oarlock.h`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code {
            $($variant = $number,)+
        }

        /// Returns the meaning of a number, even of one that is no error.
        fn text(number: c_int) -> &'static CStr {
            match number {
                0 => c"success",
                $($number => $text,)+
                _ => c"no error of Oarlock has this number",
            }
        }
    };
}

codes! {
    Handle -1 c"a handle is NULL, was freed, or is of another kind or process",
    Busy -2 c"another call uses the object just now",
    Argument -3 c"an argument does not fit",
    Buffer -4 c"a buffer is too small for the result",
    Overlap -5 c"buffers overlap that have to be apart, or input and output overlap and are not the same",
    Key -6 c"the key does not fit the algorithm",
    State -7 c"something has to be called before",
    Authentication -8 c"authentication failed: the message was altered, or nonce, associated data or key are others",
    Padding -9 c"the padding is wrong; without a tag, key or IV may be others, or the ciphertext was altered",
    Signature -10 c"the signature does not belong to this message, key and scheme",
    Decryption -11 c"the ciphertext was not made for this key and scheme, or was altered",
    QueueFull -12 c"as many jobs are waiting as may: take a result, then submit again",
    Cancelled -13 c"the job was cancelled, its accelerator was freed, or this is a child forked since",
    Deadline -14 c"the job's time was up before it began",
    Option -15 c"an option is unknown, or its value does not fit",
    Threads -16 c"too few threads are free under reservation=exclusive",
    Device -17 c"a device did not do what it had offered, or none offers it",
    Again -18 c"there is no result yet",
    Empty -19 c"the queue has no jobs",
    Memory -20 c"memory, descriptors or handles have run out",
    Internal -21 c"the library has a bug: the call did not end as it should",
    Replayed -22 c"the packet's number was used before, or is too old",
    Exhausted -23 c"no sequence numbers are left, the key has done as much as it may, or there are too many sources",
    Packet -24 c"the packet is not one of this association: its length, its header or whom it is for",
}

impl Failure {
    #[cold]
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new((code, detail.into())))
    }

    pub(crate) fn argument(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Argument, detail)
    }

    /// Stores its text for the calling thread and returns its number.
    #[cold]
    pub(crate) fn told(self) -> c_int {
        let (code, detail) = *self.0;
        // A NUL, which no name from the caller can contain.
        let detail = detail.into_owned().replace('\0', "?");
        let detail = CString::new(detail).unwrap_or_default();
        // A thread that is ending stores no text.
        let _ = DETAIL.try_with(|it| it.replace(detail));
        code as c_int
    }

    pub(crate) fn code(&self) -> Code {
        self.0.0
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::InvalidKey(_) => Code::Key,
            Error::InvalidInput(_) => Code::Argument,
            Error::AuthenticationFailed => Code::Authentication,
            Error::InvalidPadding => Code::Padding,
            Error::InvalidSignature => Code::Signature,
            Error::DecryptionFailed => Code::Decryption,
            Error::QueueFull => Code::QueueFull,
            Error::Cancelled => Code::Cancelled,
            Error::DeadlinePassed => Code::Deadline,
            Error::Options(_) => Code::Option,
            Error::NoThreadsFree { .. } => Code::Threads,
            Error::DeviceFailed { .. } => Code::Device,
            _ => Code::Internal,
        };
        Self::new(code, error.to_string())
    }
}

thread_local! {
    static DETAIL: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function and converts its outcome to the number that the function returns. No panic escapes.
#[inline]
pub(crate) fn call(run: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match caught(run) {
        Some(Ok(())) => 0,
        Some(Err(failure)) => failure.told(),
        None => Failure::new(
            Code::Internal,
            "a panic was stopped: this is a bug of Oarlock",
        )
        .told(),
    }
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_strerror(error: c_int) -> *const c_char {
    text(error).as_ptr()
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_error_detail() -> *const c_char {
    // The pointer is valid as long as the text: until the thread's next failure, or its end.
    DETAIL
        .try_with(|it| it.try_borrow().map_or(c"".as_ptr(), |text| text.as_ptr()))
        .unwrap_or(c"".as_ptr())
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}
