//! `cargo xtask structure`: the walls of the house.
//!
//! Two checks, each a table: [`edges`] says which crate may depend on which, [`rooms`] says which
//! files may hold `unsafe`, intrinsics, threads and the environment. A third finds whether
//! generated tables and assembly are as they were generated. All fail when they find
//! nothing to look at, so that they cannot pass by looking in the wrong place.

mod edges;
mod rooms;

use crate::tool::{Metadata, Result};
use crate::{kernels, plan, proto};

pub fn run() -> Result<()> {
    let metadata = Metadata::load()?;
    let mut findings = edges::check(&metadata)?;
    let (files, in_rooms) = rooms::check(&metadata)?;
    findings.extend(in_rooms);
    findings.extend(plan::check(&metadata.workspace_root).err());
    findings.extend(kernels::check(&metadata.workspace_root).err());
    findings.extend(proto::check(&metadata.workspace_root).err());

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
