//! age files: a reader at any position, and a writer. Chunks of one call are opened or sealed on all CPUs.

mod keys;
mod parts;

pub use self::keys::is_secret;
pub use self::parts::{AgeHeader, AgeIdentities, AgeKey, AgePayload};

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use oarlock_file::Error;
use oarlock_file::age::{
    CHUNK_BYTES, Decryptor, Encryptor, Payload, SEALED_CHUNK_BYTES, TAG_BYTES,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use zeroize::{Zeroize as _, Zeroizing};

use crate::buffer::{Input, Output};
use crate::engine::{accelerator, each};
use crate::failure::FileError;

/// Chunks that a writer gathers before it seals them: 1 MiB.
const GATHERED_CHUNKS: usize = 16;

/// The plaintext of an age file in a regular file.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgeReader {
    file: File,
    payload: Payload,
    /// Where the chunks begin, and how many there are.
    start: u64,
    chunks: u64,
    plain_bytes: u64,
    /// The chunk of the last request that did not want all of it.
    kept: Mutex<Option<(u64, Zeroizing<Vec<u8>>)>>,
}

/// A part of a request, within one chunk.
struct Piece<'a> {
    chunk: u64,
    /// The first byte of the chunk's plaintext that is wanted.
    skip: usize,
    output: &'a mut [u8],
}

impl AgeReader {
    /// Fills a part of a request. Returns the chunk if more of it may be wanted.
    fn read_piece(&self, piece: Piece<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let is_last = piece.chunk + 1 == self.chunks;
        let plain = match is_last {
            true => (self.plain_bytes - piece.chunk * CHUNK_BYTES as u64) as usize,
            false => CHUNK_BYTES,
        };
        let at = self.start + piece.chunk * SEALED_CHUNK_BYTES as u64;
        let read = |bytes: &mut [u8], at| {
            let read = self.file.read_exact_at(bytes, at);
            read.map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => Error::CutShort { at },
                _ => Error::Read { at, error },
            })
        };
        if piece.output.len() == plain {
            let mut tag = [0; TAG_BYTES];
            read(piece.output, at)?;
            read(&mut tag, at + plain as u64)?;
            self.payload
                .open_apart(piece.chunk, is_last, piece.output, &tag)?;
            return Ok(None);
        }
        let mut chunk = Zeroizing::new(vec![0; plain + TAG_BYTES]);
        read(&mut chunk, at)?;
        self.payload.open(piece.chunk, is_last, &mut chunk)?;
        chunk.truncate(plain);
        let wanted = &chunk[piece.skip..][..piece.output.len()];
        piece.output.copy_from_slice(wanted);
        Ok((wanted.len() < plain).then_some(chunk))
    }

    fn kept(&self) -> MutexGuard<'_, Option<(u64, Zeroizing<Vec<u8>>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl AgeReader {
    /// Read the header of the file behind a descriptor, which stays the caller's.
    #[new]
    fn new(
        py: Python<'_>,
        descriptor: RawFd,
        identities: Vec<String>,
        passphrase: Option<String>,
    ) -> PyResult<Self> {
        let passphrase = passphrase.map(Zeroizing::new);
        let identities = keys::identities(identities, passphrase)?;
        let cpu = accelerator()?.cpu();
        let file = duplicate(descriptor)?;
        let opened = py.detach(|| {
            let end = file
                .metadata()
                .map_err(|error| Error::Read { at: 0, error })?
                .len();
            let mut header = std::io::BufReader::new(&file);
            let identities: Vec<&dyn age::Identity> =
                identities.iter().map(|it| it.as_ref() as _).collect();
            let Decryptor {
                prologue_bytes: start,
                payload,
            } = Decryptor::new(&mut header, &identities, cpu)?;
            let plain_bytes = payload.check_length(&file, start, end)?;
            let chunks = (end - start).div_ceil(SEALED_CHUNK_BYTES as u64);
            Ok((payload, start, chunks, plain_bytes))
        });
        let (payload, start, chunks, plain_bytes) = opened.map_err(|error| failed(&error))?;
        Ok(Self {
            file,
            payload,
            start,
            chunks,
            plain_bytes,
            kept: Mutex::new(None),
        })
    }

    /// The length of the plaintext in bytes, which is authentic.
    #[getter]
    fn size(&self) -> u64 {
        self.plain_bytes
    }

    /// Fill the buffer with plaintext from a position. Returns the number of bytes, less only at the end of the file.
    fn read_into(
        &self,
        py: Python<'_>,
        position: u64,
        buffer: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let mut buffer = Output::new(buffer, "buffer")?;
        let left = self.plain_bytes.saturating_sub(position);
        let bytes = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let accelerator = accelerator()?;
        let read = py.detach(|| {
            let (mut rest, mut position) = (&mut buffer.bytes()[..bytes], position);
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let chunk = position / CHUNK_BYTES as u64;
                let skip = (position % CHUNK_BYTES as u64) as usize;
                let (output, after) = rest.split_at_mut(rest.len().min(CHUNK_BYTES - skip));
                position += output.len() as u64;
                rest = after;
                match &*self.kept() {
                    Some((kept, plain)) if *kept == chunk => {
                        output.copy_from_slice(&plain[skip..][..output.len()]);
                    }
                    _ => pieces.push(Piece {
                        chunk,
                        skip,
                        output,
                    }),
                }
            }
            let failure = Mutex::new(None);
            each(accelerator, bytes, pieces, |piece| {
                let chunk = piece.chunk;
                match self.read_piece(piece) {
                    Ok(Some(plain)) => *self.kept() = Some((chunk, plain)),
                    Ok(None) => {}
                    Err(error) => {
                        let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                        failure.get_or_insert(error);
                    }
                }
            });
            match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
                None => Ok(bytes),
                Some(error) => {
                    // What other threads opened is not authentic as a whole.
                    buffer.bytes()[..bytes].fill(0);
                    Err(error)
                }
            }
        });
        read.map_err(|error| failed(&error))
    }
}

/// The sealing end of an age file.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgeWriter(Mutex<Writer>);

struct Writer {
    /// Closed at the end, which the reader of a pipe waits for, or after an error, when the position is unknown.
    file: Option<File>,
    payload: Payload,
    /// Bytes written before, for errors.
    at: u64,
    /// The number of the first chunk in `gathered`.
    chunk: u64,
    /// Plaintext that is not sealed yet. It is never empty after the first byte: only the last chunk tells that it is the last.
    gathered: Zeroizing<Vec<u8>>,
}

impl Writer {
    fn append(&mut self, mut data: &[u8], accelerator: &oarlock::Accelerator) -> Result<(), Error> {
        const FULL: usize = GATHERED_CHUNKS * CHUNK_BYTES;
        while !data.is_empty() {
            if self.gathered.len() == FULL {
                self.seal(false, accelerator)?;
            }
            let (now, later) = data.split_at(data.len().min(FULL - self.gathered.len()));
            self.gathered.extend_from_slice(now);
            data = later;
        }
        Ok(())
    }

    /// Seals and writes what has been gathered.
    fn seal(&mut self, is_end: bool, accelerator: &oarlock::Accelerator) -> Result<(), Error> {
        let count = self.gathered.len().div_ceil(CHUNK_BYTES).max(1);
        let mut sealed = vec![0; self.gathered.len() + count * TAG_BYTES];
        let empty = [&[][..]];
        let plain: Vec<&[u8]> = match self.gathered.is_empty() {
            true => empty.to_vec(),
            false => self.gathered.chunks(CHUNK_BYTES).collect(),
        };
        let pieces: Vec<_> = (self.chunk..)
            .zip(plain)
            .zip(sealed.chunks_mut(SEALED_CHUNK_BYTES))
            .collect();
        let last = self.chunk + count as u64 - 1;
        let failure = Mutex::new(None);
        each(
            accelerator,
            self.gathered.len(),
            pieces,
            |((number, plain), output)| {
                output[..plain.len()].copy_from_slice(plain);
                if let Err(error) = self.payload.seal(number, is_end && number == last, output) {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            },
        );
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let at = self.at;
        let mut file = self.file.as_ref().ok_or(Error::Stopped)?;
        let written = file.write_all(&sealed);
        written.map_err(|error| Error::Write { at, error })?;
        self.at += sealed.len() as u64;
        self.chunk += count as u64;
        self.gathered.clear();
        Ok(())
    }
}

#[pymethods]
impl AgeWriter {
    /// Write the header of a file behind a descriptor, which stays the caller's.
    #[new]
    fn new(
        py: Python<'_>,
        descriptor: RawFd,
        recipients: Vec<String>,
        passphrase: Option<String>,
    ) -> PyResult<Self> {
        let passphrase = passphrase.map(Zeroizing::new);
        let recipients = keys::recipients(&recipients, passphrase)?;
        let cpu = accelerator()?.cpu();
        let mut file = duplicate(descriptor)?;
        let begun = py.detach(|| {
            let recipients: Vec<&dyn age::Recipient> =
                recipients.iter().map(|it| it.as_ref() as _).collect();
            let Encryptor { prologue, payload } = Encryptor::new(&recipients, cpu)?;
            let written = file.write_all(&prologue);
            written.map_err(|error| Error::Write { at: 0, error })?;
            Ok((payload, prologue.len() as u64))
        });
        let (payload, at) = begun.map_err(|error| failed(&error))?;
        Ok(Self(Mutex::new(Writer {
            file: Some(file),
            payload,
            at,
            chunk: 0,
            gathered: Zeroizing::new(Vec::with_capacity(GATHERED_CHUNKS * CHUNK_BYTES)),
        })))
    }

    /// Append plaintext. Returns its length.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let data = Input::new(data, "data")?;
        let data = data.bytes();
        self.change(py, |writer, accelerator| writer.append(data, accelerator))?;
        Ok(data.len())
    }

    /// End the file without its last chunk. Further calls are refused.
    fn discard(&self) {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.file = None;
        writer.gathered.zeroize();
    }

    /// Seal the last chunk. Without it nobody decrypts the end of the file.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |writer, accelerator| {
            writer.seal(true, accelerator)?;
            writer.file = None;
            Ok(())
        })
    }
}

impl AgeWriter {
    fn change(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Writer, &oarlock::Accelerator) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let accelerator = accelerator()?;
        let done = py.detach(|| {
            let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if writer.file.is_none() {
                return Ok(false);
            }
            let done = work(&mut writer, accelerator);
            if done.is_err() {
                writer.file = None;
            }
            done.map(|()| true)
        });
        match done {
            Ok(true) => Ok(()),
            Ok(false) => Err(PyValueError::new_err(
                "the file has ended, or writing failed before",
            )),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// Returns a file of our own behind the same description.
fn duplicate(descriptor: RawFd) -> PyResult<File> {
    if descriptor < 0 {
        return Err(PyValueError::new_err("not a descriptor"));
    }
    // SAFETY: it is not negative, and is only passed to dup(2), which refuses one that is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    Ok(File::from(borrowed.try_clone_to_owned()?))
}

/// Returns the exception for an error: `OSError` if the system refused to read or write.
fn failed(error: &Error) -> PyErr {
    match error {
        Error::Read { error: cause, .. } | Error::Write { error: cause, .. } => {
            match cause.raw_os_error() {
                Some(number) => PyOSError::new_err((number, error.to_string())),
                None => PyOSError::new_err(error.to_string()),
            }
        }
        Error::NoRecipient => {
            PyValueError::new_err("recipients or a passphrase are needed to write")
        }
        _ => FileError::new_err(error.to_string()),
    }
}
