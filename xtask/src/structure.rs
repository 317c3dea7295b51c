//! `cargo xtask structure`: checks the layout of the workspace.
//!
//! Two checks are tables: [`edges`] lists the crates that a crate may depend on, and [`rooms`] the files that may hold
//! `unsafe`, intrinsics, threads, the environment and `#[path]`. [`circles`] keeps the top-level modules of a crate from
//! using each other in a circle, [`lengths`] bounds the lines of a file, and [`safety`] requires the preconditions of unsafe
//! code to be named. [`promises`] looks up the tests that pages name. [`bench`] compares the benchmark's workspace with this one, and the last check compares generated
//! tables, assembly, circuits and the page of figures with the output of their generators. Every check fails if it finds
//! nothing to check, so that it cannot pass by looking in the wrong place.

mod bench;
mod circles;
mod edges;
mod files;
mod lengths;
mod promises;
mod rooms;
mod safety;

use crate::tool::{Metadata, Result};
use crate::{circuits, families, kernels, performance, proto};

pub fn run() -> Result<()> {
    let metadata = Metadata::load_with_bench()?;
    let mut findings = edges::check(&metadata)?;
    let (files, in_rooms) = rooms::check(&metadata)?;
    findings.extend(in_rooms);
    let (modules, in_circles) = circles::check(&metadata)?;
    findings.extend(in_circles);
    findings.extend(lengths::check(&metadata.workspace_root)?);
    findings.extend(safety::check(&metadata.workspace_root)?);
    findings.extend(promises::check(&metadata.workspace_root)?);
    findings.extend(bench::check(&metadata.workspace_root)?);
    findings.extend(families::check(&metadata.workspace_root).err());
    findings.extend(kernels::check(&metadata.workspace_root).err());
    findings.extend(circuits::check(&metadata.workspace_root).err());
    findings.extend(performance::check(&metadata.workspace_root).err());
    findings.extend(proto::check(&metadata.workspace_root).err());

    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!(
                "structure holds: {} crates, {files} files, {modules} modules",
                metadata.packages.len()
            );
            Ok(())
        }
        n => Err(format!(
            "the structure is broken in {n} place(s), named above"
        )),
    }
}
