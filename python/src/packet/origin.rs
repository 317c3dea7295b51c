//! Senders, which belong to the process that made them.

use pyo3::prelude::*;

use super::failure::PacketError;
use crate::exclusive::{Exclusive, LeftByParent, Used};
use crate::origin::Origin;

/// A sender, which numbers packets. After a fork both processes would use the same numbers under one key, which reveals the
/// plaintexts of AES-GCM, AES-CTR and ChaCha20-Poly1305. So only the process that made it may use it.
pub struct Sender<T> {
    origin: Origin,
    sender: Exclusive<T>,
}

impl<T> Sender<T> {
    pub fn new(sender: T) -> Self {
        Self {
            origin: Origin::here(),
            sender: Exclusive::new(sender),
        }
    }

    /// Returns the sender to use, in the last moment before it is used: an iterator of the caller's may have forked.
    ///
    /// # Errors
    /// `PacketError` in a process forked from the one that made it, and those of [`Exclusive::lock`].
    pub fn lock(&self) -> PyResult<Used<'_, T>> {
        if self.origin.is_here() {
            return Ok(self.sender.lock()?);
        }
        Err(PacketError::new_err(format!(
            "this object was made before a fork, in process {}, which may use the same packet numbers: make one with another \
             key in each process",
            self.origin.process()
        )))
    }

    /// Returns the sender to look at, in any process.
    ///
    /// # Errors
    /// Those of [`Exclusive::lock`].
    pub fn peek(&self) -> Result<Used<'_, T>, LeftByParent> {
        self.sender.lock()
    }
}
