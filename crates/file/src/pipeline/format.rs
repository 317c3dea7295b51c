//! A container format, as the pipeline sees it: it seals or opens runs of chunks in place.

use oarlock::Direction;

use crate::Error;

/// A transformation of a file's chunks.
pub trait Format: Sync {
    /// Returns whether it seals or opens.
    fn direction(&self) -> Direction;
    /// Returns the bytes of plaintext in every chunk but the last.
    fn plain_bytes(&self) -> usize;
    /// Returns the bytes of a whole sealed chunk, at least those of a plain one. The last chunk may be up to twice as long.
    fn sealed_bytes(&self) -> usize;
    /// Seals or opens chunks in place, in order. It releases nothing of a refused chunk.
    fn run(&self, run: &mut Run<'_>) -> Done;
    /// Returns the number of chunks that one thread takes at a time.
    fn chunks_per_run(&self) -> usize {
        RUN_BYTES / self.plain_bytes()
    }
    /// Whether the last chunk differs from the others. If so, none is processed before it is known whether another follows.
    fn has_last_chunk(&self) -> bool {
        true
    }
    /// Returns how many bytes of the input right before a chunk its processing needs, for all chunks but the first.
    fn overlap_bytes(&self) -> usize {
        0
    }
    /// Whether a run must wait for the one before it. Reading and writing overlap even then.
    fn is_chained(&self) -> bool {
        false
    }
}

/// The chunks that one thread has read, to be sealed or opened in place.
pub struct Run<'a> {
    pub(super) number: u64,
    pub(super) is_end: bool,
    pub(super) bytes: usize,
    pub(super) read_bytes: usize,
    pub(super) slots: &'a mut [u8],
    pub(super) slot_bytes: usize,
    pub(super) overlap: &'a [u8],
}

/// The outcome of a run.
pub struct Done {
    /// The bytes to write, which are those of the chunks that succeeded.
    pub bytes: usize,
    /// The reason why the next chunk failed.
    pub failure: Option<Error>,
}

impl Run<'_> {
    /// Returns the number of the first chunk, from 0 on.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the last chunk of the run is the last of the file.
    pub fn is_end(&self) -> bool {
        self.is_end
    }

    /// Returns the number of bytes read, of all chunks together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the [`Format::overlap_bytes`] bytes of the input right before the first chunk. They are meaningless before
    /// chunk 0.
    pub fn overlap(&self) -> &[u8] {
        self.overlap
    }

    /// Returns all chunks as one slice, with room for one more after them. It is for formats whose sealed chunks are as long
    /// as their plain ones.
    pub fn whole(&mut self) -> &mut [u8] {
        &mut self.slots[..self.bytes + self.slot_bytes]
    }

    /// Processes the chunks in order, up to the first that fails. `work` gets a chunk's number, whether it is the last of
    /// the file, and its bytes; for sealing, they have room at the end for the longer sealed form.
    pub fn each(
        &mut self,
        format: &impl Format,
        mut work: impl FnMut(u64, bool, &mut [u8]) -> Result<(), Error>,
    ) -> Done {
        let (plain, sealed) = (format.plain_bytes(), format.sealed_bytes());
        let (tag, direction) = (sealed - plain, format.direction());
        // A file without plaintext has a chunk too.
        let chunks = self.bytes.div_ceil(self.read_bytes).max(1);
        let mut done = 0;
        let slots = self.slots.chunks_mut(self.slot_bytes);
        for (i, slot) in slots.take(chunks).enumerate() {
            let chunk = (self.bytes - i * self.read_bytes).min(self.read_bytes);
            let is_last = self.is_end && i + 1 == chunks;
            let number = self.number + i as u64;
            let given = match direction {
                Direction::Encrypt => chunk + tag,
                Direction::Decrypt => chunk,
            };
            if let Err(error) = work(number, is_last, &mut slot[..given]) {
                // The chunk is authentic; only what follows it is wrong. Readers of age files that go chunk by chunk release
                // it, as age's vectors demand.
                let is_authentic = chunk == self.read_bytes
                    && matches!(error, Error::Incomplete { .. } | Error::Trailing { .. });
                return Done {
                    bytes: if is_authentic { (i + 1) * plain } else { done },
                    failure: Some(error),
                };
            }
            done = match direction {
                Direction::Encrypt => i * sealed + chunk + tag,
                Direction::Decrypt => i * plain + chunk - tag,
            };
        }
        Done {
            bytes: done,
            failure: None,
        }
    }
}

/// The bytes of plaintext that one thread takes at a time.
const RUN_BYTES: usize = 1 << 20;
