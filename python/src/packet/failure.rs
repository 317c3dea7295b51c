//! Errors of packets as Python exceptions.

use oarlock::packet::PacketError as Error;
use pyo3::create_exception;
use pyo3::prelude::*;

use crate::failure::{AuthenticationFailed, OarlockError, exception as exception_of_library};

create_exception!(
    oarlock.packet,
    PacketError,
    OarlockError,
    "A packet cannot be sealed or opened: it has a wrong header, length or content, or is for another association."
);
create_exception!(
    oarlock.packet,
    Replayed,
    PacketError,
    "The packet's number has been seen, or is older than the window."
);
create_exception!(
    oarlock.packet,
    KeyExhausted,
    PacketError,
    "The key has protected as many packets as it may: negotiate another, or update it."
);

/// Returns the exception of a packet that failed.
pub fn exception(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::AuthenticationFailed => AuthenticationFailed::new_err(text),
        Error::Replayed | Error::Altered => Replayed::new_err(text),
        Error::SequenceExhausted | Error::KeyExhausted { .. } => KeyExhausted::new_err(text),
        Error::Failed(error) => exception_of_library(error),
        _ => PacketError::new_err(text),
    }
}

/// Adds the exceptions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("PacketError", py.get_type::<PacketError>())?;
    module.add("Replayed", py.get_type::<Replayed>())?;
    module.add("KeyExhausted", py.get_type::<KeyExhausted>())
}
