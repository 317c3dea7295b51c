//! Files: read, written, copied and found. Errors name the file.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tool::{self, Result};

pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| failed(path, &error))
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    std::fs::write(path, text).map_err(|error| failed(path, &error))
}

/// Whether the file is there and has exactly this text.
pub fn holds(path: &Path, text: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|there| there == text)
}

/// Copies a file or a directory with its contents. Files keep their times, which make depends on.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("cp");
    command.args(["--recursive", "--preserve=mode,timestamps"]);
    tool::output(command.arg(from).arg(to)).map(drop)
}

pub fn create_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| failed(path, &error))
}

/// Removes a directory that may be absent.
pub fn remove_dir(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

/// Renames a directory that is complete, in place of one that may be there.
pub fn replace_dir(from: &Path, to: &Path) -> Result<()> {
    remove_dir(to)?;
    std::fs::rename(from, to).map_err(|error| failed(to, &error))
}

/// Returns the paths of a directory's entries, in order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = std::fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let paths = listing.map(|entry| entry.map(|entry| entry.path()));
    let paths: io::Result<Vec<PathBuf>> = paths.collect();
    let mut paths = paths.map_err(|error| failed(folder, &error))?;
    paths.sort();
    Ok(paths)
}

/// Returns every file below a directory, in order, except below directories that `is_skipped` selects. Links are files.
pub fn below(folder: &Path, is_skipped: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if !path.is_dir() || path.is_symlink() {
            found.push(path);
        } else if !is_skipped(&path) {
            found.extend(below(&path, is_skipped)?);
        }
    }
    Ok(found)
}

/// Returns the files of the repository at `root` that are not hidden and not cargo's output, in order.
pub fn of_repository(root: &Path) -> Result<Vec<PathBuf>> {
    below(root, &|folder| {
        let name = folder.file_name().unwrap_or_default();
        name == "target" || name.as_encoded_bytes().starts_with(b".")
    })
}

/// Files that a command generates: paths from the root of the repository, and texts.
pub type Generated = Vec<(String, String)>;

/// Writes generated files.
pub fn generate(root: &Path, files: &Generated) -> Result<()> {
    let mut files = files.iter();
    files.try_for_each(|(path, text)| write(&root.join(path), text))
}

/// Fails unless the files are as `cargo xtask COMMAND` generates them.
pub fn compare(root: &Path, files: &Generated, command: &str) -> Result<()> {
    for (path, text) in files {
        let there = read(&root.join(path));
        if there.map_err(|error| format!("{error}: run `cargo xtask {command}`"))? != *text {
            return Err(format!(
                "{path} is not as `cargo xtask {command}` writes it: run that, or undo what was edited"
            ));
        }
    }
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
