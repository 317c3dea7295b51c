//! Objects that belong to the process that made them.

use std::process;

/// The process that made an object which numbers what it seals. After a fork both processes would use the same numbers under
/// one key, so only this one may go on.
pub struct Origin(u32);

impl Origin {
    /// Returns this process.
    pub fn here() -> Self {
        Self(process::id())
    }

    pub fn is_here(&self) -> bool {
        self.0 == process::id()
    }

    /// Returns the number of the process.
    pub fn process(&self) -> u32 {
        self.0
    }
}
