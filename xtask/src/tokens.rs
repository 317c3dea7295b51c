//! A second token for the PKCS#11 tests: kryoptic, in addition to Debian's SoftHSM.

use std::path::Path;

use crate::fetch;
use crate::files;
use crate::tool::{self, Result, cargo};

/// Builds `peers/kryoptic/libkryoptic.so` unless it is there. Returns its version and path.
///
/// The package `kryoptic` is only a shared library, which cargo neither installs nor accepts as a dependency. So this writes
/// the same few lines around the library that it is built from.
pub fn kryoptic(peers: &Path) -> Result<String> {
    let folder = peers.join("kryoptic");
    fetch::once(&folder, ("version", VERSION), |work, made| {
        files::create_dir(&work.join("src"))?;
        let manifest = work.join("Cargo.toml");
        files::write(&manifest, MANIFEST.replace("VERSION", VERSION))?;
        files::write(&work.join("src/lib.rs"), SOURCE)?;
        let target = work.join("target");
        tool::output(
            cargo()
                .args(["build", "--release", "--quiet", "--manifest-path"])
                .arg(&manifest)
                .env("CARGO_TARGET_DIR", &target)
                .env_remove("RUSTFLAGS"),
        )?;
        files::copy(&target.join("release/libkryoptic.so"), made)
    })?;
    let library = folder.join("libkryoptic.so");
    Ok(format!("kryoptic {VERSION}: {}", library.display()))
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
