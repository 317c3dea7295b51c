//! From regular file to regular file: every thread reads, encrypts and writes chunks of its own.
//!
//! ```text
//! each thread   number = next++;  pread(chunk);  keystream from its position on;  pwrite(chunk)
//! ```
//!
//! Only whole chunks that were there at the start: [`stream`](crate::stream) does the rest in order,
//! up to wherever the file ends by then.

use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use cipher::{StreamCipher as _, StreamCipherSeek as _};

use crate::enc::Job;
use crate::failure::Failure;

/// Does all whole chunks, where both ends allow it, and leaves both files positioned behind them.
/// Returns how many bytes that was.
pub(crate) fn run(job: &Job) -> Result<u64, Failure> {
    let (Some(size), true) = (job.input.size, job.output.is_positional) else {
        return Ok(0);
    };
    let (mut input, mut output) = (&job.input.file, job.output.file());
    let input_start = input
        .stream_position()
        .map_err(|error| job.input.failed(0, &error))?;
    let output_start = output
        .stream_position()
        .map_err(|error| job.output.failed(0, &error))?;
    let chunk_bytes = CHUNK_BYTES;
    let chunks = size.saturating_sub(input_start) / chunk_bytes;
    if chunks < 2 {
        return Ok(0);
    }
    let next = AtomicU64::new(0);
    job.together(&|| {
        let mut cipher = job.cipher()?;
        let mut buffer = vec![0; chunk_bytes as usize];
        while !job.is_stopped()? {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= chunks {
                break;
            }
            let position = number * chunk_bytes;
            read_chunk(job, &mut buffer, input_start + position)?;
            cipher.seek(position);
            cipher.apply_keystream(&mut buffer);
            output
                .write_all_at(&buffer, output_start + position)
                .map_err(|error| job.output.failed(output_start + position, &error))?;
            job.progress.add(chunk_bytes);
        }
        Ok(())
    })?;
    let done = chunks * chunk_bytes;
    input
        .seek(SeekFrom::Start(input_start + done))
        .map_err(|error| job.input.failed(input_start + done, &error))?;
    output
        .seek(SeekFrom::Start(output_start + done))
        .map_err(|error| job.output.failed(output_start + done, &error))?;
    Ok(done)
}

fn read_chunk(job: &Job, buffer: &mut [u8], position: u64) -> Result<(), Failure> {
    let mut filled = 0;
    while filled < buffer.len() {
        let at = position + filled as u64;
        match job.input.file.read_at(&mut buffer[filled..], at) {
            Ok(0) => return Err(job.input.cut_short(at)),
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(job.input.failed(at, &error)),
        }
    }
    Ok(())
}

/// Stays in a core's second-level cache between read, keystream and write.
const CHUNK_BYTES: u64 = 512 << 10;
