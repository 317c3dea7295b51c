//! Our lines in a file that is not ours: at its end, between two marks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::openssl_conf::Conf;
use crate::provider_file::is_installed;

/// A file with and without our lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Divided {
    /// The lines that are not ours.
    pub(super) without: Vec<u8>,
    /// Our lines, without the marks; `None` if there are none.
    pub(super) block: Option<Vec<u8>>,
}

/// Separates our lines from the others.
///
/// # Errors
/// One of the marks is missing. The message says what to do.
pub(super) fn divide(bytes: &[u8]) -> Result<Divided, String> {
    let begins: Vec<_> = [BEGIN, BEGIN_AFTER_OPEN_LINE]
        .iter()
        .filter_map(|mark| Some((line(bytes, mark)?, mark)))
        .collect();
    let end = line(bytes, END);
    let (start, mark, end) = match (&begins[..], end) {
        ([], None) => {
            return Ok(Divided {
                without: bytes.to_vec(),
                block: None,
            });
        }
        ([(start, mark)], Some(end)) if *start < end => (*start, *mark, end),
        _ => {
            return Err(format!(
                "the lines {BEGIN:?} and {END:?} are not a pair: remove by hand what \
                 oarlock provider install has written"
            ));
        }
    };
    let inner = bytes[start + mark.len()..end].trim_ascii_start().to_vec();
    // Drop the line break that we added to a last line without one.
    let kept = if *mark == BEGIN { start } else { start - 1 };
    let after = &bytes[end + END.len()..];
    let after = after.strip_prefix(b"\n").unwrap_or(after);
    Ok(Divided {
        without: [&bytes[..kept], after].concat(),
        block: Some(inner),
    })
}

/// Returns `bytes` followed by our `lines`.
///
/// # Errors
/// The file ends in a way that would swallow our lines.
pub(super) fn appended(bytes: &[u8], lines: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.trim_ascii_end().ends_with(b"\\") {
        return Err(
            "its last line ends with a backslash, which would join it with the added lines: remove it"
                .into(),
        );
    }
    let is_open = !bytes.is_empty() && !bytes.ends_with(b"\n");
    let (line_break, mark) = match is_open {
        true => (&b"\n"[..], BEGIN_AFTER_OPEN_LINE),
        false => (&b""[..], BEGIN),
    };
    let parts = [
        bytes,
        line_break,
        mark.as_bytes(),
        b"\n",
        lines,
        END.as_bytes(),
        b"\n",
    ];
    Ok(parts.concat())
}

/// Returns the provider's file that our lines name, if `install` put it there.
pub(super) fn module(lines: &[u8]) -> Option<PathBuf> {
    let conf = Conf::parse(Path::new("block"), lines).ok()?;
    let path = conf.value(b"oarlock_sect", b"module")?;
    let path = PathBuf::from(OsStr::from_bytes(path));
    is_installed(&path).then_some(path)
}

/// Returns the options in our lines.
pub(super) fn options(lines: &[u8]) -> Option<String> {
    let conf = Conf::parse(Path::new("block"), lines).ok()?;
    let options = conf.value(b"oarlock_sect", b"options")?;
    Some(String::from_utf8_lossy(options).into_owned())
}

/// Returns the position of `mark` as a line of its own.
fn line(bytes: &[u8], mark: &str) -> Option<usize> {
    let mark = mark.as_bytes();
    let mut starts = bytes
        .windows(mark.len())
        .enumerate()
        .filter(|(_, window)| *window == mark)
        .map(|(at, _)| at);
    starts.find(|at| {
        let ends = bytes.get(at + mark.len()).is_none_or(|byte| *byte == b'\n');
        (*at == 0 || bytes[at - 1] == b'\n') && ends
    })
}

const BEGIN: &str = "# >>> added by oarlock provider install >>>";
/// The mark that follows a line break of ours.
const BEGIN_AFTER_OPEN_LINE: &str =
    "# >>> added by oarlock provider install, with the line break before >>>";
const END: &str = "# <<< added by oarlock provider install <<<";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_taken_out_again_byte_for_byte() {
        for text in [
            "",
            "\n",
            "a=1",
            "a=1\n",
            "a=1\n\n",
            "\r\n\r\n",
            "[s]\nx",
            "\u{feff}# é\n",
        ] {
            let added = appended(text.as_bytes(), b"[s]\nb = 1\n").unwrap();
            let divided = divide(&added).unwrap();
            assert_eq!(divided.without, text.as_bytes());
            assert_eq!(divided.block.as_deref(), Some(&b"[s]\nb = 1\n"[..]));
            // Lines that others put around it stay.
            let around = [&b"# before\n"[..], &added, b"# after"].concat();
            let without = divide(&around).unwrap().without;
            assert_eq!(without, format!("# before\n{text}# after").into_bytes());
            assert_eq!(divide(text.as_bytes()).unwrap().block, None);
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for text in [
            format!("{BEGIN}\na=1\n"),
            format!("a=1\n{END}\n"),
            format!("{END}\n{BEGIN}\n"),
            format!("{BEGIN}\n{BEGIN_AFTER_OPEN_LINE}\n{END}\n"),
        ] {
            assert!(
                divide(text.as_bytes())
                    .unwrap_err()
                    .contains("are not a pair")
            );
        }
        let quoted = format!("a = {BEGIN}\nb = {END}\n");
        assert_eq!(divide(quoted.as_bytes()).unwrap().block, None);
        assert!(appended(b"a=1\\\n", b"b=1\n").is_err());
    }

    #[test]
    fn only_a_module_that_was_put_there_is_ours() {
        let of = |path: &str| module(format!("[oarlock_sect]\nmodule = {path}\n").as_bytes());
        assert_eq!(of("/m/oarlock.so"), Some("/m/oarlock.so".into()));
        assert_eq!(of("oarlock.so"), None);
        assert_eq!(of("/m/legacy.so"), None);
        assert_eq!(module(b"[other]\nmodule = /m/oarlock.so\n"), None);
    }
}
