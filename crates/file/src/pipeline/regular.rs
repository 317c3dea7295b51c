//! From regular file to regular file: every thread reads, processes and writes chunks of its own.
//!
//! ```text
//! each thread   group = next++;  preadv(group);  seal or open its chunks;  pwritev(group)
//! ```
//!
//! This covers only groups that were not at the end of the file when it was opened, so none of their chunks is the last.
//! [`ordered`](super::ordered) processes the rest, up to the file's end at that time.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::Advice;
use rustix::io::Errno;

use super::buffer::Buffer;
use super::ends::Cache;
use super::format::Format;
use super::shared::{Helpers, Shared};
use crate::Error;
use crate::waiting::Watch;

/// Processes all such groups, if both ends allow it, and positions both files after them. Returns the number of chunks.
pub(super) fn run<F: Format, W: Watch>(
    shared: &Shared<'_, F, W>,
    helpers: &Helpers<'_>,
) -> Result<u64, Error> {
    let (Some(size), true) = (shared.ends.input_bytes, shared.ends.is_positional) else {
        return Ok(0);
    };
    if shared.format.is_chained() {
        return Ok(0);
    }
    let (mut input, mut output) = (shared.ends.input, shared.ends.output);
    let input_start = input
        .stream_position()
        .map_err(|error| Error::Read { at: 0, error })?;
    let output_start = output
        .stream_position()
        .map_err(|error| Error::Write { at: 0, error })?;
    let (read_bytes, written_bytes) = shared.chunk_bytes();
    let chunks = shared.format.chunks_per_run();
    let (read_group, written_group) = (chunks * read_bytes, chunks * written_bytes);
    let bytes = size.saturating_sub(input_start);
    let groups = bytes.saturating_sub(1) / read_group as u64;
    if groups < 2 {
        return Ok(0);
    }
    let next = AtomicU64::new(0);
    shared.run(helpers, &|| {
        let mut buffer = Buffer::new(shared.format);
        while !shared.should_end()? {
            let group = next.fetch_add(1, Ordering::Relaxed);
            if group >= groups {
                break;
            }
            let at = input_start + group * read_group as u64;
            if group > 0 {
                shared.read_overlap(&mut buffer.overlap, at)?;
            }
            read_all(shared, &mut buffer, at, read_group)?;
            let done = buffer.run(shared.format, group * chunks as u64, read_group, false);
            if let Some(failure) = done.failure {
                return Err(failure);
            }
            let output_at = output_start + group * written_group as u64;
            write_all(shared, &buffer, output_at, done.bytes)?;
            if shared.ends.cache == Cache::Drop {
                drop_from_cache(input, at, read_group);
                // Pages that are not on disk yet stay. This starts to write them.
                drop_from_cache(output, output_at, written_group);
                if let Some(at) = output_at.checked_sub(WRITING_BYTES) {
                    drop_from_cache(output, at, written_group);
                }
            }
            shared
                .watch
                .advanced((chunks * shared.format.plain_bytes()) as u64);
        }
        Ok(())
    })?;
    let at = input_start + groups * read_group as u64;
    input
        .seek(SeekFrom::Start(at))
        .map_err(|error| Error::Read { at, error })?;
    let at = output_start + groups * written_group as u64;
    output
        .seek(SeekFrom::Start(at))
        .map_err(|error| Error::Write { at, error })?;
    Ok(groups * chunks as u64)
}

/// Advises the system to drop these pages. Some file systems refuse.
fn drop_from_cache(file: &File, at: u64, bytes: usize) {
    let _ = rustix::fs::fadvise(file, at, NonZeroU64::new(bytes as u64), Advice::DontNeed);
}

fn read_all<F: Format, W: Watch>(
    shared: &Shared<'_, F, W>,
    buffer: &mut Buffer,
    start: u64,
    bytes: usize,
) -> Result<(), Error> {
    let (chunk_bytes, _) = shared.chunk_bytes();
    let mut filled = 0;
    while filled < bytes {
        let at = start + filled as u64;
        let mut places = buffer.places(chunk_bytes, filled, bytes);
        match rustix::io::preadv(shared.ends.input, &mut places, at) {
            Ok(0) => return Err(Error::CutShort { at }),
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => {
                let error = error.into();
                return Err(Error::Read { at, error });
            }
        }
    }
    Ok(())
}

fn write_all<F: Format, W: Watch>(
    shared: &Shared<'_, F, W>,
    buffer: &Buffer,
    start: u64,
    bytes: usize,
) -> Result<(), Error> {
    let (_, chunk_bytes) = shared.chunk_bytes();
    let mut written = 0;
    while written < bytes {
        let at = start + written as u64;
        let mut end = bytes;
        if shared.ends.makes_holes {
            let (row_end, is_hole) = buffer.row(chunk_bytes, written, bytes);
            end = row_end;
            if is_hole {
                written = end;
                continue;
            }
        }
        let slices = buffer.slices(chunk_bytes, written, end);
        match rustix::io::pwritev(shared.ends.output, &slices, at) {
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(error) => {
                let error = error.into();
                return Err(Error::Write { at, error });
            }
        }
    }
    Ok(())
}

/// The bytes after which earlier pages are on disk: some tenths of a second of writing.
const WRITING_BYTES: u64 = 128 << 20;
