//! C interfaces of peers, built as libraries that the benchmark loads at run time.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tool::{self, Result};

/// Builds `library` from C files and what is linked into it, whose own symbols stay hidden: they must not interact with
/// another copy in the process.
pub fn shared(
    sources: &[PathBuf],
    defines: &[&str],
    include: &Path,
    linked: &[&Path],
    library: &Path,
) -> Result<()> {
    tool::output(
        Command::new("gcc")
            .args(["-O3", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
            .args(defines)
            .arg("-I")
            .arg(include)
            .args(sources)
            .args(linked)
            .args([
                "-Wl,-Bsymbolic",
                "-Wl,--exclude-libs,ALL",
                "-Wl,-z,noexecstack",
                "-o",
            ])
            .arg(library),
    )?;
    Ok(())
}
