//! A second token that tests of PKCS#11 are run with: kryoptic, in addition to Debian's SoftHSM.

use std::path::Path;

use crate::tool::{self, Result, cargo};

/// Builds `peers/kryoptic/libkryoptic.so`, where it is not yet. Returns which it is.
///
/// The package `kryoptic` is a shared library alone, which cargo neither installs nor takes for a
/// dependency: so the same few lines are written here, around the library that it is made of.
pub fn kryoptic(peers: &Path) -> Result<String> {
    let folder = peers.join("kryoptic");
    let library = folder.join("libkryoptic.so");
    let built = folder.join("version");
    let said = format!("kryoptic {VERSION}: {}", library.display());
    if library.exists() && std::fs::read_to_string(&built).is_ok_and(|is| is == VERSION) {
        return Ok(said);
    }
    let source = folder.join("source");
    tool::create_dir(&source.join("src"))?;
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write(
        &source.join("Cargo.toml"),
        &MANIFEST.replace("VERSION", VERSION),
    )?;
    write(&source.join("src/lib.rs"), SOURCE)?;
    let target = source.join("target");
    tool::output(
        cargo()
            .args(["build", "--release", "--quiet", "--manifest-path"])
            .arg(source.join("Cargo.toml"))
            .env("CARGO_TARGET_DIR", &target)
            .env_remove("RUSTFLAGS"),
    )?;
    let made = target.join("release/libkryoptic.so");
    std::fs::copy(&made, &library).map_err(|error| format!("{}: {error}", made.display()))?;
    write(&built, VERSION)?;
    Ok(said)
}

const VERSION: &str = "1.5.4";
/// With the system's OpenSSL, of which Debian 12's 3.0 lacks what the features of elliptic curves
/// need.
const MANIFEST: &str = r#"[package]
name = "kryoptic"
version = "0.0.0"
edition = "2024"
publish = false

[lib]
crate-type = ["cdylib"]

[dependencies]
kryoptic-lib = { version = "=VERSION", default-features = false, features = ["dynamic", "minimal"] }

[workspace]
"#;
const SOURCE: &str = r#"use kryoptic_lib::fns::general::fn_get_function_list;
use kryoptic_lib::pkcs11::{CK_FUNCTION_LIST_PTR_PTR, CK_RV};

#[unsafe(no_mangle)]
pub extern "C" fn C_GetFunctionList(list: CK_FUNCTION_LIST_PTR_PTR) -> CK_RV {
    fn_get_function_list(list)
}
"#;
