//! `cargo xtask peers`: the benchmark's optional peers, into the target folder and never the tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fetch::{self, Wheel};
use crate::tool::{self, Metadata, Result, cargo};

pub fn run() -> Result<()> {
    let metadata = Metadata::load()?;
    let peers = metadata.target_directory.join("peers");
    tool::create_dir(&peers)?;

    let results = [
        ("ipsec-mb", ipsec_mb(&metadata.workspace_root, &peers)),
        ("crypto-mb", crypto_mb(&metadata.workspace_root, &peers)),
        ("age", age(&peers)),
        ("rage", rage(&peers)),
        ("gpg", gpg(&metadata.workspace_root)),
    ];
    let mut missing = Vec::new();
    for (peer, result) in results {
        match result {
            Ok(line) => println!("{peer}: {line}"),
            Err(error) => {
                println!("{peer}: not available: {error}");
                missing.push(peer);
            }
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "no {} for the benchmark: see above",
            missing.join(", ")
        ))
    }
}

/// Debian's static library behind our C interface, as a library the harness loads at run time.
fn ipsec_mb(root: &Path, peers: &Path) -> Result<String> {
    const PACKAGE: &str = "libipsec-mb-dev";
    let library = peers.join("libpeer_ipsec_mb.so");
    let package = peers.join("ipsec-mb");
    let deb = match find(&package, ".deb") {
        Some(deb) => deb,
        None => download_deb(PACKAGE, &package)?,
    };
    let version = tool::output(
        Command::new("dpkg-deb")
            .arg("--field")
            .arg(&deb)
            .arg("Version"),
    )?;
    tool::output(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(&deb)
            .arg(&package),
    )?;
    let archive = find(&package.join("usr/lib"), "libIPSec_MB.a").ok_or_else(|| {
        format!(
            "{} holds no libIPSec_MB.a: delete it and try again",
            deb.display()
        )
    })?;

    let include = package.join("usr/include");
    let source = root.join("bench/peers/ipsec_mb.c");
    shared(&source, &["-DLINUX"], &include, &[&archive], &library)?;
    Ok(format!(
        "{PACKAGE} {}: {}",
        version.trim(),
        library.display()
    ))
}

fn download_deb(package: &str, into: &Path) -> Result<PathBuf> {
    tool::create_dir(into)?;
    let download = || {
        tool::output(
            Command::new("apt-get")
                .args(["download", package])
                .current_dir(into),
        )
    };
    if let Err(error) = download() {
        if !tool::is_root() {
            return Err(format!(
                "{error}: run `apt-get update` as root and try again"
            ));
        }
        tool::output(Command::new("apt-get").args(["--quiet", "update"]))?;
        download()?;
    }
    find(into, ".deb").ok_or_else(|| format!("apt-get left no package in {}", into.display()))
}

const CRYPTO_MB: Wheel = Wheel {
    name: "ipp-crypto-static",
    version: "2026.2.0",
    sha256: "b4b952a9435f7aab3d1684822f644d586ce5f6bda874e4bfb8c008ee674ca5c5",
    members: &["ipp_crypto_static-2026.2.0.data/data/lib/libcrypto_mb.a"],
};

const CRYPTO_MB_HEADERS: Wheel = Wheel {
    name: "ipp-crypto-include",
    version: "2026.2.0",
    sha256: "356e825406c834e31d6490c659494760707064b7bf0fe957fc100e72f0497c51",
    members: &["ipp_crypto_include-2026.2.0.data/data/include/aggregator/crypto_mb/"],
};

/// Intel's static library behind our C interface, as a library the harness loads at run time.
fn crypto_mb(root: &Path, peers: &Path) -> Result<String> {
    let (lib, include) = (peers.join("crypto-mb-lib"), peers.join("crypto-mb-include"));
    fetch::wheel(&CRYPTO_MB, &lib)?;
    fetch::wheel(&CRYPTO_MB_HEADERS, &include)?;

    let archive = lib.join(CRYPTO_MB.members[0]);
    let headers = include.join(CRYPTO_MB_HEADERS.members[0]);
    let include = headers
        .parent()
        .ok_or_else(|| format!("{}: lies in no folder", headers.display()))?;
    let library = peers.join("libpeer_crypto_mb.so");
    shared(
        &root.join("bench/peers/crypto_mb.c"),
        &["-DBN_OPENSSL_DISABLE"],
        include,
        // Objects that hold what we call hold functions for its BIGNUM too.
        &[&archive, Path::new("-l:libcrypto.so.3")],
        &library,
    )?;
    Ok(format!(
        "{} {}: {}",
        CRYPTO_MB.name,
        CRYPTO_MB.version,
        library.display()
    ))
}

/// age as its author releases it, by the Go that is here.
fn age(peers: &Path) -> Result<String> {
    let folder = peers.join("age/bin");
    let program = folder.join("age");
    if !says(&program, AGE_VERSION) {
        tool::create_dir(&folder)?;
        let module = format!("filippo.io/age/cmd/age@{AGE_VERSION}");
        tool::output(
            Command::new("go")
                .args(["install", &module])
                .env("GOBIN", &folder)
                // Whatever a user has set for modules of their own.
                .env("GOFLAGS", "-mod=mod")
                .current_dir(peers),
        )?;
    }
    built(&program, AGE_VERSION)
}

fn rage(peers: &Path) -> Result<String> {
    let folder = peers.join("rage");
    let program = folder.join("bin/rage");
    if !says(&program, RAGE_VERSION) {
        let scratch = peers.join("rage-build");
        tool::output(
            cargo()
                .args(["install", "rage", "--locked", "--quiet"])
                .args(["--version", RAGE_VERSION, "--root"])
                .arg(&folder)
                .env("CARGO_TARGET_DIR", &scratch),
        )?;
        tool::remove_dir(&scratch)?;
    }
    built(&program, RAGE_VERSION)
}

/// Debian's, installed when it is missing.
fn gpg(root: &Path) -> Result<String> {
    tool::output(Command::new(root.join("scripts/system-packages")).arg("peers"))?;
    let text = tool::output(Command::new("gpg").arg("--version"))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Whether it is there and calls itself that version.
fn says(program: &Path, version: &str) -> bool {
    let text = tool::output(Command::new(program).arg("--version"));
    text.is_ok_and(|text| is_version(&text, version))
}

fn built(program: &Path, version: &str) -> Result<String> {
    if says(program, version) {
        Ok(format!("{version}: {}", program.display()))
    } else {
        Err(format!("{} is not of version {version}", program.display()))
    }
}

/// Of `v1.3.2` and `rage 0.12.1`.
fn is_version(text: &str, version: &str) -> bool {
    text.split_whitespace().last() == Some(version)
}

const AGE_VERSION: &str = "v1.3.2";
const RAGE_VERSION: &str = "0.12.1";

/// Makes `library` of a C file and what is linked into it, whose own symbols stay hidden: they must
/// not meet another copy in the process.
fn shared(
    source: &Path,
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
            .arg(source)
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

/// The first file below `folder` whose name ends in `suffix`.
fn find(folder: &Path, suffix: &str) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    entries.iter().find_map(|path| {
        if path.is_dir() {
            find(path, suffix)
        } else {
            path.to_str()
                .is_some_and(|path| path.ends_with(suffix))
                .then(|| path.clone())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_last_word() {
        assert!(is_version("v1.3.2\n", AGE_VERSION));
        assert!(is_version("rage 0.12.1\n", RAGE_VERSION));
        for text in ["", "v1.3.20\n", "(devel)\n", "rage 0.12.1 and more\n"] {
            assert!(!is_version(text, AGE_VERSION) && !is_version(text, RAGE_VERSION));
        }
    }
}
