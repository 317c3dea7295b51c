//! Any input to any output: reading, encrypting and writing overlap.
//!
//! ```text
//! each thread   lock the input:  take the next ticket, read what is there;  unlock
//!               keystream from its position on
//!               wait for the ticket's turn;  write;  give the turn to the next
//! ```
//!
//! One thread alone does the same in sequence. What is there is passed on at once: a thread reads
//! on only while that does not wait.

use std::io::{IoSlice, Write as _};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cipher::{StreamCipher as _, StreamCipherSeek as _};
use rustix::event::PollFlags;
use rustix::io::{Errno, ReadWriteFlags};

use crate::enc::Job;
use crate::failure::Failure;
use crate::interrupt;

/// Does all from the input's byte `done` on, to its end.
pub(crate) fn run(job: &Job, done: u64) -> Result<(), Failure> {
    if job.input.is_pipe {
        // Fewer turns for both sides; where it is not allowed, it works as well.
        let _ = rustix::pipe::fcntl_setpipe_size(&job.input.file, PIPE_BYTES);
    }
    if job.output.is_pipe {
        let _ = rustix::pipe::fcntl_setpipe_size(job.output.file(), PIPE_BYTES);
    }
    let reader = Mutex::new(Reader {
        position: done,
        tickets: 0,
        ended: false,
    });
    let turns = Turns::default();
    job.together(&|| {
        let result = work(job, &reader, &turns);
        if result.is_err() {
            turns.end();
        }
        result
    })?;
    Ok(())
}

struct Reader {
    position: u64,
    /// Given out so far.
    tickets: u64,
    ended: bool,
}

/// One thread's part.
fn work(job: &Job, reader: &Mutex<Reader>, turns: &Turns) -> Result<(), Failure> {
    let mut cipher = job.cipher()?;
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut writer = Writer { may_refuse: true };
    while !job.is_stopped()? {
        let Some(piece) = lock(reader).read(job, &mut buffer)? else {
            break;
        };
        let data = &mut buffer[..piece.bytes];
        cipher.seek(piece.position);
        cipher.apply_keystream(data);
        if !turns.wait_for(piece.ticket) {
            break;
        }
        writer.write_all(job, data, piece.position)?;
        turns.pass();
        job.progress.add(piece.bytes as u64);
    }
    Ok(())
}

struct Piece {
    ticket: u64,
    position: u64,
    bytes: usize,
}

impl Reader {
    /// Reads what is there, at least one byte; none at the end. When reading fails, what was read
    /// before still gets written.
    fn read(&mut self, job: &Job, buffer: &mut [u8]) -> Result<Option<Piece>, Failure> {
        if self.ended {
            return Ok(None);
        }
        let mut bytes = 0;
        let mut began = None;
        let is_regular = job.input.size.is_some();
        while bytes < buffer.len() {
            if !is_regular {
                if bytes == 0 {
                    job.interrupt.wait(&job.input.file, PollFlags::IN)?;
                } else if began.get_or_insert_with(Instant::now).elapsed() > FILL_TIME
                    || !interrupt::is_readable(&job.input.file)
                {
                    break;
                }
            }
            match rustix::io::read(&job.input.file, &mut buffer[bytes..]) {
                Ok(0) => {
                    self.ended = true;
                    if let Some(at) = job.input.is_cut_short() {
                        return Err(job.input.cut_short(at));
                    }
                    break;
                }
                Ok(count) => bytes += count,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => {
                    self.ended = true;
                    job.fail(
                        job.input
                            .failed(self.position + bytes as u64, &error.into()),
                    );
                    break;
                }
            }
        }
        let piece = Piece {
            ticket: self.tickets,
            position: self.position,
            bytes,
        };
        self.tickets += 1;
        self.position += bytes as u64;
        Ok((bytes > 0).then_some(piece))
    }
}

struct Writer {
    /// Whether a write can be asked to refuse rather than to wait.
    may_refuse: bool,
}

impl Writer {
    fn write_all(&mut self, job: &Job, mut data: &[u8], position: u64) -> Result<(), Failure> {
        let end = position + data.len() as u64;
        let mut output = job.output.file();
        while !data.is_empty() {
            let result = if job.output.is_regular {
                output.write(data)
            } else {
                job.interrupt.wait(output, PollFlags::OUT)?;
                self.write_what_fits(output, data)
            };
            match result {
                Ok(count) => data = &data[count..],
                Err(error)
                    if matches!(
                        Errno::from_io_error(&error),
                        Some(Errno::INTR | Errno::AGAIN)
                    ) => {}
                Err(error) => return Err(job.output.failed(end - data.len() as u64, &error)),
            }
        }
        Ok(())
    }

    /// Does not wait for a reader, so that a signal is seen: the descriptor may be shared with other
    /// programs, which would not expect O_NONBLOCK on it.
    fn write_what_fits(
        &mut self,
        mut output: &std::fs::File,
        data: &[u8],
    ) -> std::io::Result<usize> {
        if self.may_refuse {
            let data = [IoSlice::new(data)];
            match rustix::io::pwritev2(output, &data, HERE, ReadWriteFlags::NOWAIT) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::SPIPE | Errno::INVAL) => {
                    self.may_refuse = false
                }
                result => return Ok(result?),
            }
        }
        output.write(data)
    }
}

/// Who may write: ticket after ticket.
#[derive(Default)]
struct Turns {
    state: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Default)]
struct Turn {
    ticket: u64,
    ended: bool,
}

impl Turns {
    /// Waits until `ticket` may write; false when nobody may any more.
    fn wait_for(&self, ticket: u64) -> bool {
        let mut state = lock(&self.state);
        while state.ticket != ticket && !state.ended {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        !state.ended
    }

    fn pass(&self) {
        lock(&self.state).ticket += 1;
        self.changed.notify_all();
    }

    fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }
}

/// A thread that panics takes the whole command with it; what it held is not looked at again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// pwritev2's sign for the file's own position, which a pipe does not have.
const HERE: u64 = u64::MAX;
const CHUNK_BYTES: usize = 256 << 10;
/// What any user may ask for (/proc/sys/fs/pipe-max-size).
const PIPE_BYTES: usize = 1 << 20;
/// A writer of tiny pieces is not waited for until a chunk is full.
const FILL_TIME: Duration = Duration::from_millis(1);
