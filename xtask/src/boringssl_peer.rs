//! BoringSSL as a peer of the benchmark.
//!
//! The source is that of the package `boring-sys`, whose own build needs libclang for bindings that are not needed here.
//! CMake builds only libcrypto, without the package's patches. It is linked into a shared library with our C interface; its
//! own symbols stay hidden, because OpenSSL and aws-lc have the same ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fetch::{self, Crate};
use crate::files;
use crate::shim::shared;
use crate::tool::{self, Result};

const SOURCE: Crate = Crate {
    name: "boring-sys",
    version: "5.4.0",
    sha256: "4986392770df40d11d0d6294b0dd8399570f4a6e76d6953c7a34f7dd1defbd76",
};

/// Builds `libpeer_boringssl.so`, and libcrypto unless it is there. Returns the version and path.
pub fn boringssl(root: &Path, peers: &Path) -> Result<String> {
    let folder = peers.join("boringssl");
    let (archive, include) = (folder.join("libcrypto.a"), folder.join("include"));
    let said = format!("{} {}", SOURCE.name, SOURCE.version);
    let stamped = format!("{said} {}\n", SOURCE.sha256);
    fetch::once(&folder, ("built", &stamped), |work, made| {
        println!("building BoringSSL, which takes minutes");
        let source = fetch::source_of(&SOURCE, work)?.join("deps/boringssl");
        let include = made.join("include");
        files::create_dir(&include)?;
        files::copy(&source.join("include/openssl"), &include)?;
        files::copy(&libcrypto(&source, &work.join("build"))?, made)
    })?;
    let library = peers.join("libpeer_boringssl.so");
    shared(
        &[root.join("bench/peers/boringssl.c")],
        &[&format!("-DPEER_VERSION=\"{said}\"")],
        &include,
        // The code uses C++ destructors, and nothing else of C++.
        &[&archive, Path::new("-lstdc++")],
        &library,
    )?;
    Ok(format!("BoringSSL of {said}: {}", library.display()))
}

/// Builds the static library from `source` in the directory `build`, with the flags of BoringSSL's own releases.
fn libcrypto(source: &Path, build: &Path) -> Result<PathBuf> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut configure = Command::new("cmake");
    configure
        .args(["-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=Release"])
        .args([
            "-DBUILD_SHARED_LIBS=OFF",
            "-DBUILD_TESTING=OFF",
            "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
        ])
        .arg("-S")
        .arg(source)
        .arg("-B")
        .arg(build);
    tool::output(&mut configure)?;
    let mut make = Command::new("cmake");
    // This program may run under a make whose variables must not apply.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    make.arg("--build").arg(build);
    make.args(["--target", "crypto", "--parallel", &jobs.to_string()]);
    tool::output(&mut make)?;
    Ok(build.join("libcrypto.a"))
}
