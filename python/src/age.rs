//! age files: a reader at any position, and a writer.

mod keys;
mod parts;

pub use self::keys::is_secret;
pub use self::parts::{AgeHeader, AgeIdentities, AgeKey, AgePayload};

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock::Accelerator;
use oarlock_file::Error;
use oarlock_file::age::{Reader, Writer};
use oarlock_net::client::ClientError;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::{Borrowed, FromPyObject};
use zeroize::Zeroizing;

use crate::buffer::{Input, Output};
use crate::engine::accelerator;
use crate::exclusive::{Exclusive, LeftByParent};
use crate::failure::{FileError, OarlockError, server_error};
use crate::origin::Origin;
use crate::remote::RemoteIdentity;
use crate::signals::interruptible;

/// The most bytes that a call writes: some 50 ms.
const PIECE_BYTES: usize = 64 << 20;

/// The plaintext of an age file in a regular file.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgeReader(Reader);

/// An identity of this process or of a server.
enum AnyIdentity<'py> {
    There(Bound<'py, RemoteIdentity>),
    Here(Text),
}

impl<'py> FromPyObject<'_, 'py> for AnyIdentity<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<RemoteIdentity>() {
            Ok(identity) => Ok(Self::There(identity.to_owned())),
            Err(_) => object.extract().map(Self::Here),
        }
    }
}

/// A string that may be secret. Python's own error for one that is no Unicode would hold it.
pub struct Text(Zeroizing<String>);

impl Text {
    fn into_string(mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>().map_err(|_| {
            let found = object.get_type().name();
            let found = found.map_or_else(|_| "another type".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "a passphrase, identity or recipient must be str, not {found}"
            ))
        })?;
        match text.to_cow() {
            Ok(text) => Ok(Self(Zeroizing::new(text.into_owned()))),
            Err(_) => Err(PyValueError::new_err(
                "a passphrase, identity or recipient has a character that is not Unicode, such as half of a surrogate pair",
            )),
        }
    }
}

/// Returns the strings of arguments.
pub fn strings(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(Text::into_string).collect()
}

#[pymethods]
impl AgeReader {
    /// Read the header of the file behind a descriptor, which stays the caller's.
    #[new]
    fn new(
        py: Python<'_>,
        descriptor: RawFd,
        identities: Vec<AnyIdentity<'_>>,
        passphrase: Option<Text>,
    ) -> PyResult<Self> {
        let passphrase = passphrase.map(|text| text.0);
        let (mut texts, mut remote) = (Vec::new(), Vec::new());
        for identity in identities {
            match identity {
                AnyIdentity::There(identity) => remote.push(identity),
                AnyIdentity::Here(text) => texts.push(text),
            }
        }
        let is_passphrase_alone = passphrase.is_some() && texts.is_empty() && remote.is_empty();
        let mut identities = keys::identities(strings(texts), passphrase)?;
        for identity in remote {
            let identity = identity.get();
            let unwrapping = interruptible(py, || identity.unwrapping())?;
            identities.push(Box::new(unwrapping.map_err(|error| error.exception())?));
        }
        let accelerator = accelerator()?;
        let file = duplicate(descriptor)?;
        let opened = interruptible(py, || {
            let identities: Vec<&dyn age::Identity> =
                identities.iter().map(|it| it.as_ref() as _).collect();
            Reader::new(file, &identities, accelerator)
        })?;
        opened.map(Self).map_err(|error| match error {
            Error::NoMatchingIdentity if is_passphrase_alone => FileError::new_err(
                "it was encrypted for keys, not with a passphrase: give an identity",
            ),
            error => failed(&error),
        })
    }

    /// The length of the plaintext in bytes, which is authentic.
    #[getter]
    fn size(&self) -> u64 {
        self.0.plain_bytes()
    }

    /// Fill the buffer with plaintext from a position. Returns the number of bytes, less only at the end of the file.
    fn read_into(
        &self,
        py: Python<'_>,
        position: u64,
        buffer: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let mut buffer = Output::new(buffer, "buffer")?;
        let accelerator = accelerator()?;
        let read = py.detach(|| self.0.read_at(accelerator, position, buffer.bytes()));
        read.map_err(|error| failed(&error))
    }
}

/// The sealing end of an age file.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgeWriter {
    origin: Origin,
    writer: Exclusive<Writer>,
    /// The bytes of plaintext that were appended.
    written: AtomicU64,
}

#[pymethods]
impl AgeWriter {
    /// Write the header of a file behind a descriptor, which stays the caller's. In armor the file is text.
    #[new]
    #[pyo3(signature = (descriptor, recipients, passphrase, armor=false))]
    fn new(
        py: Python<'_>,
        descriptor: RawFd,
        recipients: Vec<Text>,
        passphrase: Option<Text>,
        armor: bool,
    ) -> PyResult<Self> {
        let passphrase = passphrase.map(|text| text.0);
        let recipients = keys::recipients(&strings(recipients), passphrase)?;
        let accelerator = accelerator()?;
        let file = duplicate(descriptor)?;
        let begun = py.detach(|| {
            let recipients: Vec<&dyn age::Recipient> =
                recipients.iter().map(|it| it.as_ref() as _).collect();
            Writer::new(file, &recipients, armor, accelerator)
        });
        let writer = begun.map_err(|error| failed(&error))?;
        Ok(Self {
            origin: Origin::here(),
            writer: Exclusive::new(writer),
            written: AtomicU64::new(0),
        })
    }

    /// Append plaintext. Returns how much of it, which is less than all for more than 64 MiB: between two calls Python looks at
    /// signals.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let data = Input::new(data, "data")?;
        let data = data.bytes();
        let data = &data[..data.len().min(PIECE_BYTES)];
        self.change(py, |writer, accelerator| {
            writer.append(data, accelerator)?;
            self.written.fetch_add(data.len() as u64, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(data.len())
    }

    /// The bytes of plaintext so far.
    #[getter]
    fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// End the file without its last chunk. Further calls are refused. In a forked process nothing happens to the file.
    fn discard(&self, py: Python<'_>) {
        if self.origin.is_here() {
            // A call that writes to a pipe waits for its reader, which may be a thread of Python's.
            py.detach(|| {
                if let Ok(mut writer) = self.writer.lock() {
                    writer.discard();
                }
            });
        }
    }

    /// Whether this process began the file, and no fork lies between.
    #[getter]
    fn is_here(&self) -> bool {
        self.origin.is_here()
    }

    /// Seal the last chunk. Without it nobody decrypts the end of the file.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, Writer::finish)
    }
}

impl AgeWriter {
    fn change(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Writer, &Accelerator) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        if !self.origin.is_here() {
            return Err(OarlockError::new_err(format!(
                "this file was begun before a fork, in process {}, whose nonces this one would use again for other data: open \
                 another file in each process",
                self.origin.process()
            )));
        }
        let accelerator = accelerator()?;
        let done = py.detach(|| {
            let mut writer = self.writer.lock()?;
            let has_ended = writer.has_ended();
            Ok::<_, LeftByParent>((!has_ended).then(|| work(&mut writer, accelerator)))
        });
        match done? {
            Some(done) => done.map_err(|error| failed(&error)),
            None => Err(PyValueError::new_err(
                "the file has ended, or writing failed before",
            )),
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

/// Returns the error of a server that gave no answer, which it may give later.
fn passing(cause: &io::Error) -> Option<&ClientError> {
    let error = cause.get_ref().and_then(|it| it.downcast_ref());
    error.filter(|error: &&ClientError| error.may_pass())
}

/// Returns the exception for an error: `OSError` if the system refused to read, write or return random bytes.
fn failed(error: &Error) -> PyErr {
    match error {
        Error::Read { error: cause, .. }
        | Error::Write { error: cause, .. }
        | Error::Random(cause) => match cause.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        Error::Identity(::age::DecryptError::Io(cause))
            if cause.kind() == io::ErrorKind::OutOfMemory =>
        {
            PyMemoryError::new_err("the memory that the passphrase's rounds of scrypt take")
        }
        Error::Identity(::age::DecryptError::Io(cause)) => match passing(cause) {
            Some(unanswered) => server_error(unanswered, error.to_string()),
            None => FileError::new_err(error.to_string()),
        },
        Error::NoRecipient => {
            PyValueError::new_err("recipients or a passphrase are needed to write")
        }
        Error::MixedPostQuantum | Error::Recipient(_) => PyValueError::new_err(error.to_string()),
        _ => FileError::new_err(error.to_string()),
    }
}
