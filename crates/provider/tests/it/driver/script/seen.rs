//! The observable result of a call.

use std::fmt;

use crate::driver::libcrypto;

#[derive(PartialEq)]
pub struct Seen {
    pub done: i32,
    pub written: i32,
    pub output: Vec<u8>,
    pub errors: Vec<(u32, u32)>,
}

impl Seen {
    /// Collects a result together with the errors raised.
    pub fn now(done: i32, written: i32, output: Vec<u8>) -> Self {
        Self {
            done,
            written,
            output,
            errors: libcrypto().errors(),
        }
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.output[..self.output.len().min(48)];
        write!(f, "{} wrote {} {:?} ", self.done, self.written, self.errors)?;
        shown.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
