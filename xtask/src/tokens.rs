//! A second token for the PKCS#11 tests: kryoptic, in addition to Debian's SoftHSM.

use std::path::Path;

use crate::tool::{self, Result, cargo};

/// Builds `peers/kryoptic/libkryoptic.so` unless it is there. Returns its version and path.
///
/// The package `kryoptic` is only a shared library, which cargo neither installs nor accepts as a dependency. So this writes
/// the same few lines around the library that it is built from.
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
/// A manifest for the system's OpenSSL; Debian 12's 3.0 lacks functions that the features of elliptic curves need.
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
