//! The two files of a run of the pipeline.

use std::fs::File;

/// Input and output. Both are used from their present positions.
pub struct Ends<'a> {
    /// Read from its position on.
    pub input: &'a File,
    /// Set if the input is a regular file: its size in bytes.
    pub input_bytes: Option<u64>,
    /// Written from its position on.
    pub output: &'a File,
    /// The output is a regular file in which several threads may write, each at its own offset.
    pub is_positional: bool,
    /// Writes to the output never wait for a reader.
    pub is_regular: bool,
    /// Chunks of zeros become holes of a regular output.
    pub makes_holes: bool,
    /// How both are treated in the page cache.
    pub cache: Cache,
}

/// How regular files are treated in the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    /// They stay while there is room.
    Keep,
    /// They leave it after they have been read and written, so that other files stay.
    Drop,
}

impl Cache {
    /// [`Drop`](Self::Drop) for a file that does not fit in half of this machine's memory.
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
