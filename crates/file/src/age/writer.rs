//! A file that is written piece by piece, for callers that bring the plaintext.
//!
//! ```text
//! append   gathers plaintext up to 1 MiB, then has threads seal its chunks. In a regular file each of them writes its own
//!          at their offsets
//! finish   seals the last chunk: only then is it known which one that is
//! ```

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;

use ::age::Recipient;
use ::age::armor::{ArmoredWriter, Format};
use oarlock::Accelerator;
use rustix::fs::OFlags;
use zeroize::Zeroizing;

use super::shared::each;
use super::{CHUNK_BYTES, Encryptor, Payload, SEALED_CHUNK_BYTES, TAG_BYTES};
use crate::Error;

/// A writer of an age file. Without [`finish`](Self::finish) nobody opens the end of the file.
pub struct Writer {
    /// `None` after the end, or after a failure: what was written is then unknown.
    output: Option<Output>,
    payload: Payload,
    /// The number of the first chunk in `gathered`.
    chunk: u64,
    /// Plaintext that is not sealed yet. It is never empty after the first byte: only the last chunk tells that it is the last.
    gathered: Zeroizing<Vec<u8>>,
}

/// Where the file goes.
enum Output {
    /// To a regular file, in which the chunks begin at byte `start`.
    Positional { file: File, start: u64 },
    /// To anything else, of which `at` bytes were written.
    InOrder { file: File, at: u64 },
    /// In armor, to any file.
    Armored(ArmoredWriter<File>),
}

impl Writer {
    /// Writes the header at the position of the file. In armor the file is text.
    ///
    /// # Errors
    /// Those of [`Encryptor::new`]; [`Error::Write`].
    pub fn new(
        file: File,
        recipients: &[&dyn Recipient],
        is_armored: bool,
        accelerator: &Accelerator,
    ) -> Result<Self, Error> {
        let Encryptor { prologue, payload } = Encryptor::new(recipients, accelerator.cpu())?;
        let output = match is_armored {
            true => Output::armored(file, &prologue),
            false => Output::plain(file, &prologue),
        };
        Ok(Self {
            output: Some(output.map_err(|error| Error::Write { at: 0, error })?),
            payload,
            chunk: 0,
            gathered: Zeroizing::new(Vec::with_capacity(GATHERED_BYTES)),
        })
    }

    /// Whether the file has ended, or writing has failed. It takes no more plaintext then.
    pub fn has_ended(&self) -> bool {
        self.output.is_none()
    }

    /// Appends plaintext.
    ///
    /// # Errors
    /// [`Error::Write`], [`Error::TooLong`]; [`Error::Stopped`] after the end.
    pub fn append(&mut self, data: &[u8], accelerator: &Accelerator) -> Result<(), Error> {
        if self.has_ended() {
            return Err(Error::Stopped);
        }
        let mut rest = data;
        while self.gathered.len() + rest.len() > GATHERED_BYTES {
            // Whole chunks, and at least a byte after them.
            let missing = self.gathered.len().next_multiple_of(CHUNK_BYTES) - self.gathered.len();
            let (now, later) = rest.split_at(missing.min(rest.len()));
            self.gathered.extend_from_slice(now);
            rest = later;
            let direct = (rest.len().saturating_sub(1) / CHUNK_BYTES).min(DIRECT_CHUNKS_MAX);
            let (now, later) = rest.split_at(direct * CHUNK_BYTES);
            self.seal(now, false, accelerator)?;
            rest = later;
        }
        self.gathered.extend_from_slice(rest);
        Ok(())
    }

    /// Seals the last chunk. The file is then complete, and positioned at its end.
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn finish(&mut self, accelerator: &Accelerator) -> Result<(), Error> {
        self.seal(&[], true, accelerator)?;
        let end = self.chunk * SEALED_CHUNK_BYTES as u64;
        match self.output.take() {
            None | Some(Output::InOrder { .. }) => Ok(()),
            Some(Output::Positional { mut file, .. }) => file.seek(SeekFrom::End(0)).map(drop),
            Some(Output::Armored(writer)) => writer.finish().map(drop),
        }
        .map_err(|error| Error::Write { at: end, error })
    }

    /// Ends the file without its last chunk.
    pub fn discard(&mut self) {
        self.output = None;
        self.gathered = Zeroizing::default();
    }

    /// Seals and writes what has been gathered and the chunks of `direct`.
    fn seal(
        &mut self,
        direct: &[u8],
        is_end: bool,
        accelerator: &Accelerator,
    ) -> Result<(), Error> {
        // After a failure nobody knows what the file has.
        let mut output = self.output.take().ok_or(Error::Stopped)?;
        let bytes = self.gathered.len() + direct.len();
        let chunks = self.gathered.chunks(CHUNK_BYTES);
        let chunks = chunks.chain(direct.chunks(CHUNK_BYTES));
        // A file without plaintext has a chunk too.
        let empty = (bytes == 0).then_some(&[][..]);
        let chunks = (self.chunk..).zip(chunks.chain(empty));
        let count = bytes.div_ceil(CHUNK_BYTES).max(1);
        let last = self.chunk + count as u64 - 1;
        let payload = &self.payload;
        let seal = |number, plain: &[u8], place: &mut [u8]| {
            place[..plain.len()].copy_from_slice(plain);
            payload.seal(number, is_end && number == last, place)
        };
        if let Output::Positional { file, start } = &output {
            each(accelerator, bytes, chunks, |(number, plain)| {
                let mut chunk = vec![0; plain.len() + TAG_BYTES];
                seal(number, plain, &mut chunk)?;
                let at = start + number * SEALED_CHUNK_BYTES as u64;
                let written = file.write_all_at(&chunk, at);
                written.map_err(|error| Error::Write { at, error })
            })?;
        } else {
            let mut sealed = vec![0; bytes + count * TAG_BYTES];
            let chunks = chunks.zip(sealed.chunks_mut(SEALED_CHUNK_BYTES));
            each(accelerator, bytes, chunks, |((number, plain), place)| {
                seal(number, plain, place)
            })?;
            output.write(&sealed)?;
        }
        self.output = Some(output);
        self.chunk += count as u64;
        self.gathered.clear();
        Ok(())
    }
}

impl Output {
    fn armored(file: File, prologue: &[u8]) -> std::io::Result<Self> {
        let mut writer = ArmoredWriter::wrap_output(file, Format::AsciiArmor)?;
        writer.write_all(prologue)?;
        Ok(Self::Armored(writer))
    }

    fn plain(mut file: File, prologue: &[u8]) -> std::io::Result<Self> {
        file.write_all(prologue)?;
        let is_regular = file.metadata()?.is_file();
        // An offset has no effect in a file that is only appended to.
        if is_regular && !rustix::fs::fcntl_getfl(&file)?.contains(OFlags::APPEND) {
            let start = file.stream_position()?;
            return Ok(Self::Positional { file, start });
        }
        let at = prologue.len() as u64;
        Ok(Self::InOrder { file, at })
    }

    /// Writes chunks in order.
    fn write(&mut self, sealed: &[u8]) -> Result<(), Error> {
        let (at, written) = match self {
            // The threads have written them.
            Self::Positional { .. } => return Ok(()),
            Self::InOrder { file, at } => (*at, file.write_all(sealed)),
            Self::Armored(writer) => (0, writer.write_all(sealed)),
        };
        written.map_err(|error| Error::Write { at, error })?;
        if let Self::InOrder { at, .. } = self {
            *at += sealed.len() as u64;
        }
        Ok(())
    }
}

/// Plaintext that is gathered before it is sealed.
const GATHERED_BYTES: usize = 1 << 20;
/// The most chunks of a long piece that are sealed at a time: 4 MiB.
const DIRECT_CHUNKS_MAX: usize = 64;
