//! Files in armor (text). They are processed chunk by chunk on the calling thread, because files that are sent as text are
//! short.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek as _, Write};
use std::os::unix::fs::FileExt as _;

use ::age::Identity;
use ::age::armor::{ArmoredWriter, Format as ArmorFormat};
use oarlock::device::Cpu;
use rustix::fs::MemfdFlags;
use zeroize::Zeroizing;

pub use super::dearmored::BEGIN;
use super::dearmored::{Dearmored, Malformed, WHITE_SPACE_BYTES_MAX};
use super::{CHUNK_BYTES, Decryptor, Encryptor, Header, SEALED_CHUNK_BYTES, TAG_BYTES};
use crate::Error;
use crate::waiting::Stopped;

/// Seals all of `input` to `output`, in armor. `advanced` receives the length of each chunk that is done, in bytes of
/// plaintext, and returns whether to go on.
///
/// # Errors
/// [`Error::Read`], [`Error::Write`], and [`Error::Stopped`], also if a [`Waiting`](crate::Waiting) end is stopped.
pub fn seal(
    encryptor: &Encryptor,
    input: &mut impl Read,
    output: impl Write,
    advanced: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Error> {
    let writing = |at| move |error| named(Error::Write { at, error });
    let mut output =
        ArmoredWriter::wrap_output(output, ArmorFormat::AsciiArmor).map_err(writing(0))?;
    output.write_all(&encryptor.prologue).map_err(writing(0))?;
    let payload = &encryptor.payload;
    let mut chunks = Chunks::new(input, CHUNK_BYTES);
    while let Some((number, is_last, bytes)) = chunks.next().map_err(named)? {
        let chunk = &mut chunks.buffer[..bytes + TAG_BYTES];
        payload.seal(number, is_last, chunk)?;
        let at = number * SEALED_CHUNK_BYTES as u64;
        output.write_all(chunk).map_err(writing(at))?;
        if !advanced(bytes as u64) {
            return Err(Error::Stopped);
        }
    }
    output
        .finish()
        .and_then(|mut output| output.flush())
        .map_err(writing(0))
}

/// Whether a regular file begins with armor, or with white space and armor.
pub(super) fn is_armored(file: &File) -> Result<bool, Error> {
    let mut first = [0; WHITE_SPACE_BYTES_MAX + BEGIN.len()];
    let mut read = 0;
    loop {
        match file.read_at(&mut first[read..], read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let at = read as u64;
                return Err(Error::Read { at, error });
            }
        }
    }
    let text = first[..read].trim_ascii_start();
    Ok(text.starts_with(BEGIN.as_bytes()))
}

/// Returns a file in memory with what is in the armor: ciphertext, which may be read at any position.
///
/// # Errors
/// [`Error::Armor`], [`Error::LongArmor`], [`Error::Read`].
pub(super) fn in_memory(file: &File) -> Result<File, Error> {
    let writing = |error: io::Error| Error::Write { at: 0, error };
    let memory = rustix::fs::memfd_create("oarlock-age", MemfdFlags::CLOEXEC);
    let memory = File::from(memory.map_err(|error| writing(error.into()))?);
    let mut input = Dearmored::new(file).take(IN_MEMORY_BYTES_MAX + 1);
    let mut output = BufWriter::with_capacity(CHUNK_BYTES, &memory);
    let copied = io::copy(&mut input, &mut output);
    let bytes = copied.map_err(|error| named(Error::Read { at: 0, error }))?;
    if bytes > IN_MEMORY_BYTES_MAX {
        return Err(Error::LongArmor);
    }
    output.flush().map_err(writing)?;
    drop(output);
    (&memory).rewind().map_err(writing)?;
    Ok(memory)
}

/// An armored file whose header has been read.
pub struct Armored<R: Read> {
    input: Dearmored<R>,
    /// The header, with the stanzas of all recipients.
    pub header: Header,
}

impl<R: Read> Armored<R> {
    /// Reads the header from `input`, which begins with the armor or with white space before it.
    ///
    /// # Errors
    /// Those of [`Header::read`], and [`Error::Armor`].
    pub fn new(input: R) -> Result<Self, Error> {
        let mut input = Dearmored::new(input);
        let header = Header::read(&mut input).map_err(named)?;
        Ok(Self { input, header })
    }

    /// Reads all of the armor. Returns the header and the number of bytes after it.
    ///
    /// # Errors
    /// [`Error::Armor`], [`Error::Read`].
    pub fn into_payload_bytes(mut self) -> Result<(Header, u64), Error> {
        let at = self.header.bytes();
        let bytes = io::copy(&mut self.input, &mut io::sink());
        let bytes = bytes.map_err(|error| named(Error::Read { at, error }))?;
        Ok((self.header, bytes))
    }

    /// Opens the whole payload to `output`. A chunk is written once it is known to be authentic. `advanced` is that of
    /// [`seal`].
    ///
    /// # Errors
    /// Those of [`Decryptor::of_header`]; [`Error::Armor`]; [`Error::Authentication`], [`Error::Incomplete`] or
    /// [`Error::Trailing`] for chunks.
    pub fn open(
        mut self,
        identities: &[&dyn Identity],
        cpu: Cpu,
        mut output: impl Write,
        advanced: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), Error> {
        let decryptor = Decryptor::of_header(&self.header, &mut self.input, identities, cpu);
        let payload = &decryptor.map_err(named)?.payload;
        let mut chunks = Chunks::new(&mut self.input, SEALED_CHUNK_BYTES);
        while let Some((number, is_last, bytes)) = chunks.next().map_err(named)? {
            let chunk = &mut chunks.buffer[..bytes];
            let result = payload.open(number, is_last, chunk);
            // A whole chunk that is authentic is written, whatever follows it.
            let is_authentic = match &result {
                Ok(()) => true,
                Err(Error::Incomplete { .. } | Error::Trailing { .. }) => {
                    bytes == SEALED_CHUNK_BYTES
                }
                Err(_) => false,
            };
            if !is_authentic {
                return result;
            }
            let bytes = bytes - TAG_BYTES;
            output.write_all(&chunk[..bytes]).map_err(|error| {
                let at = number * CHUNK_BYTES as u64;
                named(Error::Write { at, error })
            })?;
            result?;
            if !advanced(bytes as u64) {
                return Err(Error::Stopped);
            }
        }
        output
            .flush()
            .map_err(|error| named(Error::Write { at: 0, error }))
    }
}

/// Returns our own error if `error` carries one, else `error`.
fn named(error: Error) -> Error {
    let (Error::Read { error: inner, .. } | Error::Write { error: inner, .. }) = &error else {
        return error;
    };
    let Some(inner) = inner.get_ref() else {
        return error;
    };
    if let Some(&Malformed { line, what }) = inner.downcast_ref() {
        Error::Armor { line, what }
    } else if inner.is::<Stopped>() {
        Error::Stopped
    } else {
        error
    }
}

/// The chunks of an input, one at a time in `buffer`.
struct Chunks<'a, R> {
    input: &'a mut R,
    buffer: Zeroizing<Vec<u8>>,
    chunk_bytes: usize,
    /// The byte after those in the buffer.
    ahead: Option<u8>,
    number: u64,
    is_at_end: bool,
}

impl<'a, R: Read> Chunks<'a, R> {
    fn new(input: &'a mut R, chunk_bytes: usize) -> Self {
        Self {
            input,
            buffer: Zeroizing::new(vec![0; SEALED_CHUNK_BYTES]),
            chunk_bytes,
            ahead: None,
            number: 0,
            is_at_end: false,
        }
    }

    /// Reads the next chunk. Returns its number, whether it is the last, and its length in bytes.
    fn next(&mut self) -> Result<Option<(u64, bool, usize)>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        let mut bytes = 0;
        if let Some(byte) = self.ahead.take() {
            self.buffer[0] = byte;
            bytes = 1;
        }
        let mut ahead = [0];
        while !self.is_at_end && self.ahead.is_none() {
            let place = match bytes < self.chunk_bytes {
                true => &mut self.buffer[bytes..self.chunk_bytes],
                false => &mut ahead[..],
            };
            match self.input.read(place) {
                Ok(0) => self.is_at_end = true,
                Ok(_) if bytes == self.chunk_bytes => self.ahead = Some(ahead[0]),
                Ok(count) => bytes += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let at = self.number * self.chunk_bytes as u64 + bytes as u64;
                    return Err(Error::Read { at, error });
                }
            }
        }
        let number = self.number;
        self.number += 1;
        Ok(Some((number, self.is_at_end, bytes)))
    }
}

/// The most bytes in an armor that is kept in memory.
const IN_MEMORY_BYTES_MAX: u64 = 256 << 20;
