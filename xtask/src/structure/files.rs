//! The Rust sources in a directory.

use std::path::{Path, PathBuf};

use crate::tool::Result;

/// Returns every Rust source below `folder`, in order, except below directories that `skipped` selects and below cargo's
/// output.
pub fn sources(folder: &Path, skipped: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    add(folder, skipped, &mut found)?;
    Ok(found)
}

fn add(folder: &Path, skipped: &dyn Fn(&Path) -> bool, into: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if !path.ends_with("target") && !skipped(&path) {
                add(&path, skipped, into)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
    Ok(())
}
