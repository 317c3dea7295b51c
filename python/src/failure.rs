//! Errors as Python exceptions: `ValueError` if the caller has to change an argument, a subclass of `oarlock.Error` otherwise.

use std::io;
use std::path::Path;

use oarlock::Error;
use oarlock_net::client::ClientError;
use oarlock_net::proto::code_name;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    oarlock,
    OarlockError,
    PyException,
    "Base class of this module's errors, except those of arguments, which are ValueError and TypeError."
);
create_exception!(
    oarlock,
    AuthenticationFailed,
    OarlockError,
    "The tag does not belong to this message: the message was altered, or nonce, associated data or key differ."
);
create_exception!(
    oarlock,
    InvalidSignature,
    OarlockError,
    "The signature does not belong to this message under this key and scheme."
);
create_exception!(
    oarlock,
    DecryptionFailed,
    OarlockError,
    "The ciphertext was made for another key or scheme, or was altered. The error does not say what is wrong with it."
);
create_exception!(
    oarlock,
    QueueFull,
    OarlockError,
    "Too many jobs wait: await some of them first."
);
create_exception!(
    oarlock,
    JobFailed,
    OarlockError,
    "A job has no result: a device failed, or the job was cancelled or submitted before a fork."
);
create_exception!(
    oarlock,
    FileError,
    OarlockError,
    "A file is not an age file, is truncated or altered, or no identity opens it."
);

create_exception!(
    oarlock,
    ServerError,
    OarlockError,
    "A cryptoserver cannot be reached, does not allow an operation, or has failed.\n\n`code` is the name of the gRPC status, such as \"PERMISSION_DENIED\", or None."
);

/// Returns the exception for an error.
pub fn exception(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::InvalidKey(_) | Error::InvalidInput(_) | Error::Options(_) => {
            PyValueError::new_err(text)
        }
        Error::AuthenticationFailed => AuthenticationFailed::new_err(text),
        Error::InvalidSignature => InvalidSignature::new_err(text),
        Error::DecryptionFailed | Error::InvalidPadding => DecryptionFailed::new_err(text),
        Error::QueueFull => QueueFull::new_err(text),
        _ => JobFailed::new_err(text),
    }
}

/// Returns the exception for a file that cannot be opened, such as `FileNotFoundError`.
pub fn cannot_open(path: &Path, error: &io::Error) -> PyErr {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    match error.raw_os_error() {
        Some(number) => {
            PyOSError::new_err((number, reason.to_owned(), path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err(text),
    }
}

/// Returns the exception for an error of a server or of the way to it, with this text.
pub fn server_error(error: &ClientError, text: String) -> PyErr {
    let exception = ServerError::new_err(text);
    let set = Python::attach(|py| {
        let value = exception.value(py);
        value.setattr("code", code_name(error.code))
    });
    set.err().unwrap_or(exception)
}

/// Adds the exceptions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<OarlockError>())?;
    module.add(
        "AuthenticationFailed",
        py.get_type::<AuthenticationFailed>(),
    )?;
    module.add("InvalidSignature", py.get_type::<InvalidSignature>())?;
    module.add("DecryptionFailed", py.get_type::<DecryptionFailed>())?;
    module.add("QueueFull", py.get_type::<QueueFull>())?;
    module.add("JobFailed", py.get_type::<JobFailed>())?;
    module.add("FileError", py.get_type::<FileError>())?;
    let server_error = py.get_type::<ServerError>();
    server_error.setattr("code", py.None())?;
    module.add("ServerError", server_error)
}
