//! OpenSSL releases other than the machine's: those of programs and distributions, which the provider has to serve, and the
//! newest, which the benchmark also has to beat.
//!
//! The source is that of the package `openssl-src`, which is meant for static libraries only. It leaves out the script that
//! lists a shared library's symbols and the symbol list of providers; ours replace them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fetch::{self, Crate};
use crate::files;
use crate::tool::{self, Result};

/// A release, built as shared libraries with their program.
pub struct Release {
    /// The name of its directory among the peers, after `openssl-`: `openssl-3.5`.
    name: &'static str,
    source: Crate,
}

const fn release(name: &'static str, version: &'static str, sha256: &'static str) -> Release {
    let source = Crate {
        name: "openssl-src",
        version,
        sha256,
    };
    Release { name, source }
}

/// The benchmark's peers: the long-term support series, then the newest.
#[rustfmt::skip]
const PEERS: [Release; 2] = [
    release("3.5", "300.5.5+3.5.5", "3f1787d533e03597a7934fd0a765f0d28e94ecc5fb7789f8053b1e699a56f709"),
    release("4.0", "400.0.2+4.0.3", "d2093956673b8dbda85c87fa4fb78e70698ce6c5978a2837d1613f661d3bef76"),
];

/// Other releases that the provider meets.
#[rustfmt::skip]
const HOSTS: [Release; 4] = [
    // Ubuntu 22.04.
    release("3.0.2", "300.0.5+3.0.2", "9bd053af511ee4439768d9b839a1cdb32eee00f52fe5f748d64c0e8f73194ba1"),
    // Red Hat Enterprise Linux 9, until 9.4.
    release("3.0.7", "300.0.11+3.0.7", "181e2429088818099075f6ccf30e6d096a513c46e7e0b946a4dde055c35cb17a"),
    // Red Hat Enterprise Linux 9 from 9.5 on, except for its patches (3.2.2).
    release("3.2", "300.2.3+3.2.1", "5cff92b6f71555b61bb9315f7c64da3ca43d87531622120fea0195fc761b4843"),
    // The last series of 3.
    release("3.6", "300.6.1+3.6.3", "46eb8fb9fb3b61ce1c0f8a026c4c1a0714d3a9e138e7fbde78753ce2babc3846"),
];

/// Builds each of the peers unless it is there. Returns their versions and paths.
pub fn all(peers: &Path) -> Result<String> {
    let said: Result<Vec<String>> = PEERS.iter().map(|release| release.build(peers)).collect();
    Ok(said?.join("; "))
}

/// Returns the libcrypto files of the peers that are built.
pub fn built(peers: &Path) -> Vec<PathBuf> {
    let files = PEERS.iter().map(|release| {
        let lib = release.folder(peers).join("lib");
        lib.join(release.library("libcrypto"))
    });
    files.filter(|file| file.exists()).collect()
}

/// Builds the releases with these names unless they are there; without names, the peers. Returns the library directories.
pub fn libraries(target: &Path, names: &[&str]) -> Result<Vec<PathBuf>> {
    let known = || PEERS.iter().chain(&HOSTS);
    let mut chosen: Vec<&Release> = PEERS.iter().collect();
    if !names.is_empty() {
        let named = |name: &&str| {
            known()
                .find(|release| release.name == *name)
                .ok_or_else(|| {
                    let names: Vec<&str> = known().map(|release| release.name).collect();
                    format!("no OpenSSL {name} here, but {}", names.join(", "))
                })
        };
        chosen = names.iter().map(named).collect::<Result<_>>()?;
    }
    let peers = target.join("peers");
    chosen
        .into_iter()
        .map(|release| {
            println!("{}", release.build(&peers)?);
            Ok(release.folder(&peers).join("lib"))
        })
        .collect()
}

impl Release {
    /// Returns OpenSSL's version, such as `3.5.5`.
    fn version(&self) -> &'static str {
        let (_, version) = self.source.version.split_once('+').unwrap_or_default();
        version
    }

    /// Returns the name of a library's file, such as `libssl.so.3`.
    fn library(&self, name: &str) -> String {
        format!("{name}.so.{}", &self.version()[..1])
    }

    /// Returns the release's directory: `bin/openssl`, `lib/` with libcrypto, libssl and the legacy provider, `include/`.
    fn folder(&self, peers: &Path) -> PathBuf {
        peers.join(format!("openssl-{}", self.name))
    }

    /// Builds the release unless it is there. Returns its version and path.
    fn build(&self, peers: &Path) -> Result<String> {
        files::create_dir(peers)?;
        // An absolute path: the library contains the path of the legacy provider.
        let peers = peers
            .canonicalize()
            .map_err(|error| format!("{}: {error}", peers.display()))?;
        let folder = self.folder(&peers);
        fetch::once(&folder, ("built", &self.stamped()), |work, made| {
            println!("building OpenSSL {}, which takes minutes", self.version());
            let source = fetch::source_of(&self.source, work)?.join("openssl");
            let build = work.join("openssl");
            files::copy(&source, &build)?;
            files::write(&build.join("util/mkdef.pl"), SYMBOLS)?;
            files::write(&build.join("util/providers.num"), PROVIDER_SYMBOLS)?;
            self.make(&build, &folder)?;
            self.install(&build, made)
        })?;
        Ok(format!("OpenSSL {}: {}", self.version(), folder.display()))
    }

    /// Returns everything that the build depends on.
    fn stamped(&self) -> String {
        let Crate {
            version, sha256, ..
        } = self.source;
        format!("{version} {sha256}\n{}\n", self.options().join(" "))
    }

    fn options(&self) -> Vec<&'static str> {
        let is_known = |option: &&str| *option != NO_DOCS || !self.version().starts_with("3.0.");
        OPTIONS.into_iter().filter(is_known).collect()
    }

    fn make(&self, build: &Path, folder: &Path) -> Result<()> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut configure = Command::new("perl");
        configure
            .arg("Configure")
            .args(self.options())
            .arg("--libdir=lib")
            .arg(format!("--prefix={}", folder.display()))
            .current_dir(build);
        tool::output(&mut configure)?;
        let make = |targets: &[&str]| {
            let mut make = Command::new("make");
            make.arg("--silent").arg(format!("--jobs={jobs}"));
            // This program may run under a make, whose variables must not apply here.
            make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
            tool::output(make.args(targets).current_dir(build))
        };
        make(&["build_generated"])?;
        // Building the static libraries, which are not needed, would take as long again.
        make(&["libcrypto.so", "libssl.so", PROGRAM, LEGACY])?;
        Ok(())
    }

    fn install(&self, build: &Path, folder: &Path) -> Result<()> {
        let (bin, lib) = (folder.join("bin"), folder.join("lib"));
        let modules = lib.join("ossl-modules");
        for (file, into) in [
            (PROGRAM.to_owned(), &bin),
            (self.library("libcrypto"), &lib),
            (self.library("libssl"), &lib),
            (LEGACY.to_owned(), &modules),
        ] {
            files::create_dir(into)?;
            files::copy(&build.join(file), into)?;
        }
        let include = folder.join("include");
        files::create_dir(&include)?;
        files::copy(&build.join("include/openssl"), &include)?;

        let mut version = Command::new(bin.join("openssl"));
        version.arg("version").env("LD_LIBRARY_PATH", &lib);
        let version = tool::output(&mut version)?;
        if version.split(' ').nth(1) == Some(self.version()) {
            Ok(())
        } else {
            Err(format!(
                "the program that was built is {}, not {}",
                version.trim(),
                self.version()
            ))
        }
    }
}

/// Curves as in distributions, and the machine's own configuration and certificates; the rest only shortens the build.
const OPTIONS: [&str; 7] = [
    "linux-x86_64",
    "--openssldir=/etc/ssl",
    "shared",
    "enable-ec_nistp_64_gcc_128",
    "no-tests",
    NO_DOCS,
    "no-makedepend",
];
/// An option that 3.0 does not know; it builds no documents here anyway.
const NO_DOCS: &str = "no-docs";
const PROGRAM: &str = "apps/openssl";
const LEGACY: &str = "providers/legacy.so";
/// A script of a few lines, in Perl like OpenSSL's build.
const SYMBOLS: &str = include_str!("openssl_peers/mkdef.pl");
/// Name, number, version and state.
const PROVIDER_SYMBOLS: &str = "OSSL_provider_init\t1\t*\tEXIST::FUNCTION:\n";
