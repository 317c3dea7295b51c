//! `cargo xtask structure`: checks the layout of the workspace.
//!
//! Two checks are tables: [`edges`] lists which crate may depend on which, [`rooms`] lists which
//! files may hold `unsafe`, intrinsics, threads and the environment. A third compares generated
//! tables, assembly and the page of figures with what their generators write. Every check fails when
//! it finds nothing to look at, so that it cannot pass by looking in the wrong place.

mod edges;
mod rooms;

use crate::tool::{Metadata, Result};
use crate::{kernels, performance, plan};

pub fn run() -> Result<()> {
    let metadata = Metadata::load()?;
    let mut findings = edges::check(&metadata)?;
    let (files, in_rooms) = rooms::check(&metadata)?;
    findings.extend(in_rooms);
    findings.extend(plan::check(&metadata.workspace_root).err());
    findings.extend(kernels::check(&metadata.workspace_root).err());
    findings.extend(performance::check(&metadata.workspace_root).err());

    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!(
                "structure holds: {} crates, {files} files",
                metadata.packages.len()
            );
            Ok(())
        }
        n => Err(format!(
            "the structure is broken in {n} place(s), named above"
        )),
    }
}
