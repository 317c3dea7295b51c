//! How the shared library is linked.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
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
    lay_out();
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

/// Has the linker lay side by side what the first handshake of a process needs of aws-lc. It is spread over 6 MB otherwise, and
/// each page that it touches first costs as much as a tenth of a signature.
fn lay_out() {
    println!("cargo::rerun-if-changed=order.txt");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    let variable = |name| std::env::var(name).unwrap_or_default();
    // Other linkers do not know the option: it is the compiler's own that does.
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let is_chosen = std::env::var_os("RUSTC_LINKER").is_some()
        || flags.contains("linker=")
        || flags.contains("fuse-ld");
    if is_chosen || variable("TARGET") != variable("HOST") || !has_lld(&variable("TARGET")) {
        return;
    }
    let Some(prefix) = prefix(Path::new("../../Cargo.lock")) else {
        return;
    };
    let names = std::fs::read_to_string("order.txt").unwrap_or_default();
    let mut order = String::new();
    for name in names.lines().filter(|line| !line.starts_with('#')) {
        let _ = writeln!(order, "{name}\n{prefix}{name}");
    }
    let file = PathBuf::from(variable("OUT_DIR")).join("order.txt");
    if std::fs::write(&file, order).is_ok() {
        let file = file.display();
        println!("cargo::rustc-cdylib-link-arg=-Wl,--symbol-ordering-file={file}");
        println!("cargo::rustc-cdylib-link-arg=-Wl,--no-warn-symbol-ordering");
    }
}

/// Whether the compiler links by its own lld unless it is told otherwise: on x86-64 with glibc.
fn has_lld(target: &str) -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(compiler).args(["--print", "sysroot"]).output();
    let Ok(asked) = asked else {
        return false;
    };
    let root = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    let lld = root
        .join("lib/rustlib")
        .join(target)
        .join("bin/gcc-ld/ld.lld");
    target == "x86_64-unknown-linux-gnu" && lld.is_file()
}

/// Returns the prefix of aws-lc's symbols, which has the version of its crate: `aws_lc_0_47_0_`.
fn prefix(lock: &Path) -> Option<String> {
    let lock = std::fs::read_to_string(lock).ok()?;
    let (_, rest) = lock.split_once("name = \"aws-lc-sys\"\nversion = \"")?;
    let (version, _) = rest.split_once('"')?;
    Some(format!("aws_lc_{}_", version.replace('.', "_")))
}
