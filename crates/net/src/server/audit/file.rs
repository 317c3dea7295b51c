//! The file of the audit, or standard error. It receives whole lines or none.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::super::config::AuditOutput;

pub(super) struct AuditFile {
    output: Output,
    /// Whether the file ends in the middle of a line: the next one then begins with a newline.
    is_torn: bool,
}

enum Output {
    File { path: PathBuf, file: File },
    StandardError,
}

impl AuditFile {
    pub(super) fn open(output: &AuditOutput) -> Result<Self, String> {
        match output {
            AuditOutput::StandardError => Ok(Self {
                output: Output::StandardError,
                is_torn: false,
            }),
            AuditOutput::File(path) => Self::append(path),
        }
    }

    fn append(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| format!("{}: {error}: the audit cannot be written", path.display()))?;
        Ok(Self {
            is_torn: is_torn(path, &file),
            output: Output::File {
                path: path.to_owned(),
                file,
            },
        })
    }

    /// Opens the file of the same name again.
    pub(super) fn reopen(&mut self) {
        let Output::File { path, .. } = &self.output else {
            return;
        };
        match Self::append(path) {
            Ok(fresh) => *self = fresh,
            Err(error) => tracing::error!(error, "the audit continues in the open file"),
        }
    }

    /// Writes lines. Returns the number of bytes written, which are whole lines, and the error that stopped it.
    pub(super) fn write(&mut self, lines: &[u8]) -> (usize, io::Result<()>) {
        if lines.is_empty() {
            return (0, Ok(()));
        }
        if self.is_torn {
            if let (_, Err(error)) = self.write_some(b"\n") {
                return (0, Err(error));
            }
            self.is_torn = false;
        }
        let before = self.length();
        let (written, result) = self.write_some(lines);
        let last = lines[..written].iter().rposition(|byte| *byte == b'\n');
        let whole = last.map_or(0, |last| last + 1);
        if whole < written {
            self.is_torn = !self.cut(before, written, whole);
        }
        (whole, result)
    }

    /// Writes what fits. Returns the number of bytes written, and the error that stopped it.
    fn write_some(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        let mut written = 0;
        while written < bytes.len() {
            let rest = &bytes[written..];
            let wrote = match &mut self.output {
                Output::File { file, .. } => file.write(rest),
                Output::StandardError => io::stderr().write(rest),
            };
            match wrote {
                Ok(0) => return (written, Err(ErrorKind::WriteZero.into())),
                Ok(some) => written += some,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    fn length(&self) -> Option<u64> {
        match &self.output {
            Output::File { file, .. } => file.metadata().ok().map(|it| it.len()),
            Output::StandardError => None,
        }
    }

    /// Cuts off the partial line at the end, unless another program has written after it. Returns whether it is gone.
    fn cut(&self, before: Option<u64>, written: usize, whole: usize) -> bool {
        let (Some(before), Output::File { file, .. }) = (before, &self.output) else {
            return false;
        };
        let is_last = self.length() == Some(before + written as u64);
        is_last && file.set_len(before + whole as u64).is_ok()
    }
}

/// Whether a file ends in the middle of a line, as after a power failure.
fn is_torn(path: &Path, file: &File) -> bool {
    let last = file.metadata().ok().filter(|it| it.is_file());
    let Some(last) = last.and_then(|it| it.len().checked_sub(1)) else {
        return false;
    };
    let mut byte = [0];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut byte, last));
    read.is_ok() && byte != *b"\n"
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn at(path: &Path) -> AuditFile {
        AuditFile::open(&AuditOutput::File(path.to_owned())).unwrap()
    }

    #[test]
    fn a_half_line_of_an_earlier_process_stands_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        for (before, after) in [
            ("", "one\n"),
            ("whole\n", "whole\none\n"),
            ("ha", "ha\none\n"),
        ] {
            fs::write(&path, before).unwrap();
            let (written, result) = at(&path).write(b"one\n");
            assert!(result.is_ok() && written == 4);
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
        }
    }

    #[test]
    fn what_cannot_be_written_whole_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let mut audit = at(&path);
        assert!(audit.write(b"one\n").1.is_ok());
        // As if the disk were full after this.
        let before = audit.length();
        let (written, _) = audit.write_some(b"two\nthr");
        assert!(audit.cut(before, written, 4));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        // Another program has written after it, so nothing is cut off.
        let before = audit.length();
        let (written, _) = audit.write_some(b"thr");
        fs::write(&path, "one\ntwo\nthrother\n").unwrap();
        assert!(!audit.cut(before, written, 0));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthrother\n");
    }

    #[test]
    fn a_device_that_takes_nothing_is_an_error() {
        let mut full = at(Path::new("/dev/full"));
        for _ in 0..2 {
            let (written, result) = full.write(b"one\n");
            assert_eq!(
                (written, result.unwrap_err().kind()),
                (0, ErrorKind::StorageFull)
            );
        }
    }
}
