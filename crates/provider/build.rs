//! How the shared library is linked.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Threads and fork handlers of ours may outlive an unload, so there is none.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // What is missing is found now, not when a program loads it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,relro,-z,now");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,oarlock.so");
    link_unwinder();
}

/// Has the linker take the compiler's static unwinder, if it has one, for the shared one that the standard library names:
/// to load libgcc_s.so.1 takes a program 0.1 ms, and few have it already.
fn link_unwinder() {
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("TARGET") != variable("HOST") || variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    let linker = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let Ok(asked) = asked else {
        return;
    };
    // A compiler that does not have it prints the name alone.
    let archive = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    let folder = PathBuf::from(variable("OUT_DIR"));
    let is_there =
        archive.is_absolute() && std::fs::copy(&archive, folder.join("libgcc_s.a")).is_ok();
    if is_there {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
}
