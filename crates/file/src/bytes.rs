//! Bytes from the system.

use std::io::{ErrorKind, Read};

use crate::Error;

/// Fills `bytes` with random bytes.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|error| Error::Random(error.into()))
}

/// Fills `bytes` from the input, at its byte `at`.
pub(crate) fn read_exact(input: &mut impl Read, bytes: &mut [u8], at: u64) -> Result<(), Error> {
    let mut filled = 0;
    while filled < bytes.len() {
        let at = at + filled as u64;
        match input.read(&mut bytes[filled..]) {
            Ok(0) => return Err(Error::Truncated { at }),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Read { at, error }),
        }
    }
    Ok(())
}
