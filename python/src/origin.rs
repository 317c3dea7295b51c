//! Objects that belong to the process that made them.

use std::process;

use oarlock_threads::process::{fork_generation, watch_forks};

/// The process that made an object which numbers what it seals. After a fork both processes would use the same numbers under
/// one key, so only this one may go on.
#[derive(Clone, Copy)]
pub struct Origin {
    process: u32,
    /// A child may have its parent's process ID, in another namespace.
    generation: usize,
}

impl Origin {
    /// Returns this process.
    pub fn here() -> Self {
        watch_forks();
        Self {
            process: process::id(),
            generation: fork_generation(),
        }
    }

    pub fn is_here(&self) -> bool {
        self.process == process::id() && self.generation == fork_generation()
    }

    /// Returns the number of the process.
    pub fn process(&self) -> u32 {
        self.process
    }
}
