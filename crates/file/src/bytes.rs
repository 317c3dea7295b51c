//! Random bytes, and reads of whole buffers.

use std::io::{ErrorKind, Read};

use crate::Error;

/// Fills `bytes` with random bytes.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|error| Error::Random(error.into()))
}

/// Fills `bytes` from the input, which is at its byte `at`.
pub(crate) fn read_exact(input: &mut impl Read, bytes: &mut [u8], at: u64) -> Result<(), Error> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += read_some(input, &mut bytes[filled..], at + filled as u64)?;
    }
    Ok(())
}

/// Reads what one read returns, at least one byte.
pub(crate) fn read_some(input: &mut impl Read, bytes: &mut [u8], at: u64) -> Result<usize, Error> {
    loop {
        match input.read(bytes) {
            Ok(0) => return Err(Error::Truncated { at }),
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Read { at, error }),
        }
    }
}
