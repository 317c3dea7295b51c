//! Keys and IVs: hexadecimal, of the right length, and never shown in an error.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use oarlock::Algorithm;
use zeroize::Zeroizing;

use crate::failure::{Failure, reason, without_keys};

/// Text that is wiped on drop and never shown.
#[derive(Clone)]
pub(crate) struct Secret(Zeroizing<String>);

impl Secret {
    /// Parses text, for clap. It never fails, since clap prints the input of a parser that does.
    pub(crate) fn parse(text: &str) -> Result<Self, Infallible> {
        Ok(Self(Zeroizing::new(text.into())))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// Reads hexadecimal text from `path`, or from standard input for `-`. White space around it is
/// ignored.
pub(crate) fn read_key_file(path: &Path) -> Result<Secret, Failure> {
    // A user may give the key itself in place of its file's name.
    let name = without_keys(&path.display().to_string());
    let fail = |error: io::Error| Failure::new(format!("key file {name}: {}", reason(&error)));
    let mut text = Zeroizing::new([0; KEY_FILE_BYTES_MAX + 1]);
    let source: &mut dyn io::Read = if path.as_os_str() == "-" {
        &mut io::stdin()
    } else {
        &mut File::open(path).map_err(fail)?
    };
    let mut source = source.take(text.len() as u64);
    let mut bytes = 0;
    loop {
        match source.read(&mut text[bytes..]) {
            Ok(0) => break,
            Ok(count) => bytes += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
    let text = &text[..bytes];
    if bytes > KEY_FILE_BYTES_MAX {
        return Err(Failure::new(format!(
            "key file {name}: longer than {KEY_FILE_BYTES_MAX} bytes: it should hold one key in hexadecimal"
        )));
    }
    let text = std::str::from_utf8(text).map_err(|_| {
        Failure::new(format!(
            "key file {name}: not text: it should hold one key in hexadecimal"
        ))
    })?;
    Ok(Secret(Zeroizing::new(text.trim().into())))
}

/// Decodes `text` into `bytes` bytes. `what` names it in messages.
pub(crate) fn decode(
    what: &str,
    text: &str,
    bytes: usize,
    cipher: Algorithm,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    if let Some((at, wrong)) = text
        .chars()
        .enumerate()
        .find(|(_, c)| !c.is_ascii_hexdigit())
    {
        return Err(Failure::usage(format!(
            "{what}: character {} is {wrong:?}, which is not a hexadecimal digit (0-9, a-f)",
            at + 1
        )));
    }
    let digits = 2 * bytes;
    if text.len() != digits {
        return Err(Failure::usage(format!(
            "{what}: {} hexadecimal digits, but {} takes {digits} ({bytes} bytes)",
            text.len(),
            cipher.name()
        )));
    }
    let mut value = Zeroizing::new(vec![0; bytes]);
    hex::decode_to_slice(text, &mut value)
        .map_err(|error| Failure::usage(format!("{what}: {error}")))?;
    Ok(value)
}

const KEY_FILE_BYTES_MAX: usize = 1024;
