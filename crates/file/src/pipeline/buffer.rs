//! Chunks in slots that each have room for the sealed form. A chunk is sealed and opened in place, and the system reads and
//! writes all chunks of a buffer in one call.

use std::io::{IoSlice, IoSliceMut};

use oarlock::Direction;
use zeroize::Zeroize as _;

use super::format::{Done, Format, Run};

/// A buffer for the chunks of a run and one more. The used part is wiped on drop.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    slot_bytes: usize,
    used: usize,
    /// The input before the chunks, if the format needs it.
    pub(super) overlap: Vec<u8>,
}

impl Buffer {
    pub(super) fn new(format: &impl Format) -> Self {
        let slot_bytes = format.sealed_bytes();
        Self {
            bytes: vec![0; (format.chunks_per_run() + 1) * slot_bytes],
            slot_bytes,
            used: 0,
            overlap: vec![0; format.overlap_bytes()],
        }
    }

    pub(super) fn fits(&self, format: &impl Format) -> bool {
        self.slot_bytes == format.sealed_bytes()
    }

    /// Returns the places for bytes `from..to` of an input in chunks of `chunk_bytes`.
    pub(super) fn places(
        &mut self,
        chunk_bytes: usize,
        from: usize,
        to: usize,
    ) -> Vec<IoSliceMut<'_>> {
        let (slot_bytes, chunk_bytes) = self.pieces(chunk_bytes);
        // The sealed form may be longer, by part of a slot.
        let used = (to.div_ceil(chunk_bytes) + 1).saturating_mul(slot_bytes);
        self.used = self.used.max(used.min(self.bytes.len()));
        let slots = self.bytes.chunks_mut(slot_bytes).enumerate();
        let places = slots.filter_map(|(i, slot)| {
            let start = i * chunk_bytes;
            let (from, to) = (from.max(start), to.min(start + chunk_bytes));
            (from < to).then(|| IoSliceMut::new(&mut slot[from - start..to - start]))
        });
        places.collect()
    }

    /// Returns bytes `from..to` of an output in chunks of `chunk_bytes`.
    pub(super) fn slices(&self, chunk_bytes: usize, from: usize, to: usize) -> Vec<IoSlice<'_>> {
        let (slot_bytes, chunk_bytes) = self.pieces(chunk_bytes);
        let slots = self.bytes.chunks(slot_bytes).enumerate();
        let slices = slots.filter_map(|(i, slot)| {
            let start = i * chunk_bytes;
            let (from, to) = (from.max(start), to.min(start + chunk_bytes));
            (from < to).then(|| IoSlice::new(&slot[from - start..to - start]))
        });
        slices.collect()
    }

    /// Examines the output from byte `from` up to `to`. Returns the end of the first sequence of chunks that are all zeros,
    /// or all not, and whether they are zeros.
    pub(super) fn row(&self, chunk_bytes: usize, from: usize, to: usize) -> (usize, bool) {
        let mut end = from;
        let mut is_hole = None;
        for slice in self.slices(chunk_bytes, from, to) {
            let is_zero = slice.chunks(ZEROS.len()).all(|c| *c == ZEROS[..c.len()]);
            if is_zero != *is_hole.get_or_insert(is_zero) {
                break;
            }
            end += slice.len();
        }
        (end, is_hole.unwrap_or(false))
    }

    /// Returns the distance between pieces, and the bytes of each. Chunks that fill their slots form one piece.
    fn pieces(&self, chunk_bytes: usize) -> (usize, usize) {
        if chunk_bytes == self.slot_bytes {
            (self.bytes.len(), self.bytes.len())
        } else {
            (self.slot_bytes, chunk_bytes)
        }
    }

    /// Copies the input from byte `from` to `to`.
    pub(super) fn copy(&self, chunk_bytes: usize, from: usize, to: usize) -> Vec<u8> {
        let mut copy = Vec::with_capacity(to - from);
        for slice in self.slices(chunk_bytes, from, to) {
            copy.extend_from_slice(&slice);
        }
        copy
    }

    /// Puts `bytes` at the beginning of the buffer.
    pub(super) fn begin_with(&mut self, chunk_bytes: usize, mut bytes: &[u8]) {
        for mut place in self.places(chunk_bytes, 0, bytes.len()) {
            let (first, rest) = bytes.split_at(place.len());
            place.copy_from_slice(first);
            bytes = rest;
        }
    }

    /// Seals or opens the `bytes` that were read: chunks from `number` on. With `is_end` they end with the last chunk of the
    /// file.
    pub(super) fn run(
        &mut self,
        format: &impl Format,
        number: u64,
        bytes: usize,
        is_end: bool,
    ) -> Done {
        format.run(&mut Run {
            number,
            is_end,
            bytes,
            read_bytes: match format.direction() {
                Direction::Encrypt => format.plain_bytes(),
                Direction::Decrypt => format.sealed_bytes(),
            },
            slots: &mut self.bytes,
            slot_bytes: self.slot_bytes,
            overlap: &self.overlap,
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.bytes[..self.used].zeroize();
    }
}

/// The size of a page on most machines.
static ZEROS: [u8; 4096] = [0; 4096];
