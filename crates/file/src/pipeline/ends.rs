//! The two files of a run of the pipeline.

use std::fs::File;

/// The input and output. Both are used from their current positions.
pub struct Ends<'a> {
    /// The input, read from its position on.
    pub input: &'a File,
    /// The input's size in bytes, if it is a regular file.
    pub input_bytes: Option<u64>,
    /// The output, written from its position on.
    pub output: &'a File,
    /// Whether the output is a regular file in which several threads may write, each at its own offset.
    pub is_positional: bool,
    /// Whether writes to the output never wait for a reader.
    pub is_regular: bool,
    /// Whether chunks of zeros become holes of a regular output.
    pub makes_holes: bool,
    /// The treatment of both in the page cache.
    pub cache: Cache,
}

/// The treatment of regular files in the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    /// The files stay while there is room.
    Keep,
    /// The files leave the cache once they are read and written, so that other files stay.
    Drop,
}

impl Cache {
    /// Returns [`Drop`](Self::Drop) for a file that does not fit in half of this machine's memory, else
    /// [`Keep`](Self::Keep).
    pub fn for_file(bytes: u64) -> Self {
        let memory = rustix::system::sysinfo();
        let total = memory.totalram as u64 * u64::from(memory.mem_unit);
        if bytes > total / 2 {
            Self::Drop
        } else {
            Self::Keep
        }
    }
}
