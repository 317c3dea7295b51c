//! `cargo xtask proto`: writes the code of the cryptoserver's protocol from its .proto file.
//!
//! The generator and its many dependencies are a package of their own, outside of the workspace (`xtask/proto`). A test of
//! that package compares the checked-in code with its output; the tests' long form runs it. [`check`] needs no generator:
//! the first line of the generated code records a fingerprint of the .proto file and of everything generated from it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::files;
use crate::tool::{self, Result, cargo};

const SOURCE: &str = "crates/net/proto/oarlock/v1/cryptoserver.proto";
const CODE: &str = "crates/net/src/proto/generated.rs";
const DESCRIPTORS: &str = "crates/net/src/proto/cryptoserver.binpb";

/// Writes the files.
pub fn run(root: &Path, target: &Path) -> Result<()> {
    let folder = target.join("generated");
    files::create_dir(&folder)?;
    tool::status(generator(root, target, "run").arg("--").arg(&folder))?;
    let code = read(&folder.join("generated.rs"))?;
    let descriptors = read(&folder.join("cryptoserver.binpb"))?;
    let first = first_line(&read(&root.join(SOURCE))?, &code, &descriptors);
    let code = [first.as_bytes(), b"\n", &code].concat();
    for (path, text) in [(CODE, code), (DESCRIPTORS, descriptors)] {
        files::write(&root.join(path), text)?;
    }
    Ok(())
}

/// Returns the command that compares the files with the generator's output.
pub fn test(root: &Path, target: &Path) -> Command {
    generator(root, target, "test")
}

/// Checks that the files were written from the current .proto file and not changed since.
pub fn check(root: &Path) -> Result<()> {
    let whole = read(&root.join(CODE))?;
    let end = whole.iter().position(|byte| *byte == b'\n');
    let (first, code) = whole.split_at(end.unwrap_or(whole.len()));
    let code = code.get(1..).unwrap_or_default();
    let source = read(&root.join(SOURCE))?;
    let descriptors = read(&root.join(DESCRIPTORS))?;
    if first == first_line(&source, code, &descriptors).as_bytes() {
        Ok(())
    } else {
        Err(format!(
            "{CODE} and {DESCRIPTORS} are not what `cargo xtask proto` writes from {SOURCE}: run that, or undo what was edited"
        ))
    }
}

fn generator(root: &Path, target: &Path, verb: &str) -> Command {
    let mut command = cargo();
    command
        .args([verb, "--locked", "--manifest-path"])
        .arg(root.join("xtask/proto/Cargo.toml"))
        .env("CARGO_TARGET_DIR", target.join("proto"));
    command
}

fn first_line(source: &[u8], code: &[u8], descriptors: &[u8]) -> String {
    let fingerprint = fingerprint(&[source, code, descriptors]);
    format!("// Written by `cargo xtask proto` from {SOURCE} (fingerprint {fingerprint:016x}).")
}

/// Returns FNV-1a of the parts and their lengths, which detects forgotten edits, not attacks.
fn fingerprint(parts: &[&[u8]]) -> u64 {
    let lengths = parts.iter().flat_map(|part| part.len().to_le_bytes());
    let bytes = lengths.chain(parts.iter().flat_map(|part| part.iter().copied()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edit_is_noticed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(check(&root), Ok(()));
        let folder = tempfile::tempdir().unwrap();
        for edited in [SOURCE, CODE, DESCRIPTORS] {
            for path in [SOURCE, CODE, DESCRIPTORS] {
                let mut text = read(&root.join(path)).unwrap();
                if path == edited {
                    let last = text.len() - 2;
                    text[last] ^= 1;
                }
                let copy = folder.path().join(path);
                files::create_dir(copy.parent().unwrap()).unwrap();
                files::write(&copy, text).unwrap();
            }
            let said = check(folder.path());
            assert!(said.is_err_and(|said| said.contains("cargo xtask proto")));
        }
    }
}
