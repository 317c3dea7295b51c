//! `cargo xtask peers`: builds the benchmark's optional peers in the target directory, never in the source tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::age_peers;
use crate::boringssl_peer::boringssl;
use crate::fetch::{self, Wheel};
use crate::files;
use crate::openssl_peers;
use crate::shim::shared;
use crate::tokens::kryoptic;
use crate::tool::{self, Result};

pub fn run(root: &Path, target: &Path) -> Result<()> {
    let peers = target.join("peers");
    files::create_dir(&peers)?;

    let results = [
        ("ipsec-mb", ipsec_mb(root, &peers)),
        ("crypto-mb", crypto_mb(root, &peers)),
        ("age", age_peers::age(target)),
        ("rage", age_peers::rage(target)),
        ("openssl", openssl_peers::all(&peers)),
        ("gpg", gpg(root)),
        ("boringssl", boringssl(root, &peers)),
        ("kryoptic", kryoptic(&peers)),
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

/// Builds the peers that token tests use if they are installed.
pub fn run_tokens(root: &Path, target: &Path) -> Result<()> {
    packages(root, "tokens")?;
    println!("{}", kryoptic(&target.join("peers"))?);
    Ok(())
}

/// Builds BoringSSL alone, for the benchmark.
pub fn run_boringssl(root: &Path, target: &Path) -> Result<()> {
    packages(root, "boringssl")?;
    let peers = target.join("peers");
    files::create_dir(&peers)?;
    println!("{}", boringssl(root, &peers)?);
    Ok(())
}

/// Builds the age that tests exchange files with.
pub fn run_age(target: &Path) -> Result<()> {
    println!("{}", age_peers::age(target)?);
    Ok(())
}

/// Builds the rage that tests exchange files with if it is installed.
pub fn run_rage(target: &Path) -> Result<()> {
    println!("{}", age_peers::rage(target)?);
    Ok(())
}

/// Returns a directory with the newest libcrypto and libssl of the machine's package index, for programs linked with the
/// installed ones.
pub fn newest_openssl(target: &Path) -> Result<PathBuf> {
    const PACKAGE: &str = "libssl3";
    let folder = target.join("peers/libssl");
    // The previous run's version may be outdated.
    files::remove_dir(&folder)?;
    let deb = download_deb(PACKAGE, &folder)?;
    tool::output(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(&deb)
            .arg(&folder),
    )?;
    let library = find(&folder, "libcrypto.so.3")
        .ok_or_else(|| format!("{} holds no libcrypto.so.3", deb.display()))?;
    let libraries = library.parent().unwrap_or(&folder);
    let mut version = Command::new("openssl");
    version.arg("version").env("LD_LIBRARY_PATH", libraries);
    print!("{}", tool::output(&mut version)?);
    Ok(libraries.to_owned())
}

/// Links Debian's static library and our C interface into a library that the harness loads at run time.
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
    let sources =
        ["ipsec_mb.c", "ipsec_mb_packets.c"].map(|file| root.join("bench/peers").join(file));
    shared(&sources, &["-DLINUX"], &include, &[&archive], &library)?;
    Ok(format!(
        "{PACKAGE} {}: {}",
        version.trim(),
        library.display()
    ))
}

fn download_deb(package: &str, into: &Path) -> Result<PathBuf> {
    files::create_dir(into)?;
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

/// Links Intel's static library and our C interface into a library that the harness loads at run time.
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
        &[root.join("bench/peers/crypto_mb.c")],
        &["-DBN_OPENSSL_DISABLE"],
        include,
        // The object files that we need also contain functions for OpenSSL's BIGNUM.
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

/// Installs Debian's gpg if it is missing.
fn gpg(root: &Path) -> Result<String> {
    packages(root, "peers")?;
    let text = tool::output(Command::new("gpg").arg("--version"))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Installs the system packages that `of` needs, or fails with the names of those to install.
fn packages(root: &Path, of: &str) -> Result<()> {
    tool::output(Command::new(root.join("scripts/system-packages")).arg(of)).map(drop)
}

/// Returns the first file below `folder` whose name ends in `suffix`.
fn find(folder: &Path, suffix: &str) -> Option<PathBuf> {
    let files = files::below(folder, &|_| false).ok()?;
    files
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with(suffix))
}
