//! Chunks side by side, each in a slot that has room for it sealed. So a chunk is sealed and opened
//! where it lies, and the system reads and writes those of a buffer in one call.

use std::io::{IoSlice, IoSliceMut};

use zeroize::Zeroize as _;

use super::{Direction, Format};
use crate::Error;

/// Chunks that are done at a time, by one thread.
pub(super) const CHUNKS: usize = 16;

/// Room for [`CHUNKS`] and a part of another. Wiped on drop.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    slot_bytes: usize,
}

/// What became of chunks.
pub(super) struct Done {
    /// Bytes to be written: the chunks that went well.
    pub(super) bytes: usize,
    /// The first that did not.
    pub(super) failure: Option<Error>,
}

impl Buffer {
    pub(super) fn new(format: &impl Format) -> Self {
        let slot_bytes = format.sealed_bytes();
        Self {
            bytes: vec![0; (CHUNKS + 1) * slot_bytes],
            slot_bytes,
        }
    }

    /// The places of bytes `from..to` of what is read in chunks of `chunk_bytes`.
    pub(super) fn places(
        &mut self,
        chunk_bytes: usize,
        from: usize,
        to: usize,
    ) -> Vec<IoSliceMut<'_>> {
        let slots = self.bytes.chunks_mut(self.slot_bytes).enumerate();
        let places = slots.filter_map(|(i, slot)| {
            let start = i * chunk_bytes;
            let (from, to) = (from.max(start), to.min(start + chunk_bytes));
            (from < to).then(|| IoSliceMut::new(&mut slot[from - start..to - start]))
        });
        places.collect()
    }

    /// Bytes `from..to` of what is to be written in chunks of `chunk_bytes`.
    pub(super) fn slices(&self, chunk_bytes: usize, from: usize, to: usize) -> Vec<IoSlice<'_>> {
        let slots = self.bytes.chunks(self.slot_bytes).enumerate();
        let slices = slots.filter_map(|(i, slot)| {
            let start = i * chunk_bytes;
            let (from, to) = (from.max(start), to.min(start + chunk_bytes));
            (from < to).then(|| IoSlice::new(&slot[from - start..to - start]))
        });
        slices.collect()
    }

    /// Copies out what was read beyond `from`, up to `to`.
    pub(super) fn copy(&self, chunk_bytes: usize, from: usize, to: usize) -> Vec<u8> {
        let mut copy = Vec::with_capacity(to - from);
        for slice in self.slices(chunk_bytes, from, to) {
            copy.extend_from_slice(&slice);
        }
        copy
    }

    /// Puts `bytes` at the beginning.
    pub(super) fn begin_with(&mut self, chunk_bytes: usize, mut bytes: &[u8]) {
        for mut place in self.places(chunk_bytes, 0, bytes.len()) {
            let (first, rest) = bytes.split_at(place.len());
            place.copy_from_slice(first);
            bytes = rest;
        }
    }

    /// Seals or opens the `bytes` that were read: chunks from `number` on. The last chunk of the file
    /// ends with them if `is_end`.
    pub(super) fn run(
        &mut self,
        format: &impl Format,
        number: u64,
        bytes: usize,
        is_end: bool,
    ) -> Done {
        let (plain, sealed) = (format.plain_bytes(), format.sealed_bytes());
        let tag = sealed - plain;
        let (read, written) = match format.direction() {
            Direction::Encrypt => (plain, sealed),
            Direction::Decrypt => (sealed, plain),
        };
        // A file without plaintext has a chunk, too.
        let chunks = bytes.div_ceil(read).max(1);
        let mut done = 0;
        for (i, slot) in self
            .bytes
            .chunks_mut(self.slot_bytes)
            .take(chunks)
            .enumerate()
        {
            let chunk = (bytes - i * read).min(read);
            let is_last = is_end && i + 1 == chunks;
            let number = number + i as u64;
            let result = match format.direction() {
                Direction::Encrypt => format.seal(number, is_last, &mut slot[..chunk + tag]),
                Direction::Decrypt => format.open(number, is_last, &mut slot[..chunk]),
            };
            if let Err(error) = result {
                // Such a chunk is authentic; only what follows it is wrong. Readers of age files that go
                // chunk by chunk release it, as its vectors have it.
                let is_authentic = matches!(
                    error,
                    Error::Incomplete { .. } | Error::Trailing { .. } if chunk == read
                );
                return Done {
                    bytes: if is_authentic {
                        (i + 1) * written
                    } else {
                        done
                    },
                    failure: Some(error),
                };
            }
            done = i * written
                + match format.direction() {
                    Direction::Encrypt => chunk + tag,
                    Direction::Decrypt => chunk - tag,
                };
        }
        Done {
            bytes: done,
            failure: None,
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}
