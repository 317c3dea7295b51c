//! Packages as files: downloaded, compared with a hash, unpacked, never installed. These are Python wheels and cargo's
//! sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tool::{self, Metadata, Result, cargo};

/// A wheel with known content.
pub struct Wheel {
    pub name: &'static str,
    pub version: &'static str,
    pub sha256: &'static str,
    /// The members to unpack: those whose names begin with one of these.
    pub members: &'static [&'static str],
}

/// Unpacks the members of `wheel` below `into`, which appears completely or not at all.
///
/// Returns whether anything had to be fetched.
pub fn wheel(wheel: &Wheel, into: &Path) -> Result<bool> {
    if wheel.is_there(into) {
        return Ok(false);
    }
    let scratch = into.with_extension("fetching");
    tool::remove_dir(&scratch)?;
    let unpacked = scratch.join("unpacked");
    tool::create_dir(&unpacked)?;

    let requirements = scratch.join("requirements.txt");
    write(
        &requirements,
        &format!(
            "{}=={} --hash=sha256:{}\n",
            wheel.name, wheel.version, wheel.sha256
        ),
    )?;
    download(wheel, &requirements, &scratch)?;
    unpack(wheel, &scratch, &unpacked)?;
    write(&wheel.stamp(&unpacked), &wheel.stamped())?;

    tool::remove_dir(into)?;
    std::fs::rename(&unpacked, into).map_err(|error| format!("{}: {error}", into.display()))?;
    tool::remove_dir(&scratch)?;
    Ok(true)
}

impl Wheel {
    /// Whether these members of this wheel are there, and not those of an earlier list.
    fn is_there(&self, folder: &Path) -> bool {
        std::fs::read_to_string(self.stamp(folder)).is_ok_and(|text| text == self.stamped())
    }

    fn stamp(&self, folder: &Path) -> PathBuf {
        folder.join(format!(".{}-{}", self.name, self.version))
    }

    fn stamped(&self) -> String {
        let lines = [self.sha256]
            .into_iter()
            .chain(self.members.iter().copied());
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

/// A package with known content, fetched by cargo.
#[derive(Clone, Copy)]
pub struct Crate {
    pub name: &'static str,
    pub version: &'static str,
    pub sha256: &'static str,
}

/// Returns the directory in which cargo keeps the source of `package`, which must only be read. `scratch` must be an empty
/// directory.
pub fn source_of(package: &Crate, scratch: &Path) -> Result<PathBuf> {
    let Crate {
        name,
        version,
        sha256,
    } = package;
    let failed = |error: String| format!("cannot fetch {name} {version}: {error}");
    tool::create_dir(scratch)?;
    let manifest = scratch.join("Cargo.toml");
    write(
        &manifest,
        &format!(
            "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
             [lib]\npath = \"none.rs\"\n[workspace]\n[dependencies]\n\
             {name} = \"={version}\"\n"
        ),
    )?;
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--manifest-path"]);
    let metadata = Metadata::parse(&tool::output(command.arg(&manifest)).map_err(failed)?)?;
    // Cargo has verified the download against the hash in this file.
    let lock = scratch.join("Cargo.lock");
    let lock = std::fs::read_to_string(&lock).map_err(|error| failed(error.to_string()))?;
    let is_it = |entry: &&str| {
        entry.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n"))
            && entry.contains(&format!("checksum = \"{sha256}\"\n"))
    };
    if !lock.split("[[package]]").any(|entry| is_it(&entry)) {
        return Err(failed(format!("its hash is not {sha256}")));
    }
    metadata
        .packages
        .iter()
        .find(|found| found.name == *name)
        .and_then(|found| found.manifest_path.parent())
        .map(Path::to_owned)
        .ok_or_else(|| failed("cargo does not name it".to_owned()))
}

fn download(wheel: &Wheel, requirements: &Path, into: &Path) -> Result<()> {
    tool::output(Command::new("python3").args(["-m", "pip", "--version"])).map_err(|_| {
        "Python's pip is missing: install it (on Debian `apt-get install python3-pip`)".to_owned()
    })?;
    tool::output(
        Command::new("python3")
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
            ])
            .args([
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--requirement",
            ])
            .arg(requirements)
            .arg("--dest")
            .arg(into),
    )
    .map(drop)
    .map_err(|error| format!("cannot fetch {} {}: {error}", wheel.name, wheel.version))
}

/// A script for Python's own zip reader, which is installed wherever pip is.
const UNPACK: &str = "\
import glob, sys, zipfile
into, source, members = sys.argv[1], sys.argv[2], tuple(sys.argv[3:])
with zipfile.ZipFile(glob.glob(source + '/*.whl')[0]) as wheel:
    names = [name for name in wheel.namelist() if name.startswith(members)]
    wheel.extractall(into, names)
    sys.exit(None if names else 'the wheel holds none of ' + ' '.join(members))
";

fn unpack(wheel: &Wheel, from: &Path, into: &Path) -> Result<()> {
    let mut python = Command::new("python3");
    python
        .args(["-c", UNPACK])
        .arg(into)
        .arg(from)
        .args(wheel.members);
    tool::output(&mut python).map(drop).map_err(|error| {
        let reason = error.rsplit(": ").next().unwrap_or_default();
        format!("cannot unpack {} {}: {reason}", wheel.name, wheel.version)
    })
}

/// Writes a file, or returns an error that names it.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Copies a file or a directory with its contents. Files keep their times, which make depends on.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("cp");
    command.args(["--recursive", "--preserve=mode,timestamps"]);
    tool::output(command.arg(from).arg(to)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_members_are_fetched_anew() {
        let folder = std::env::temp_dir().join(format!("oarlock-fetch-{}", std::process::id()));
        let one = Wheel {
            name: "a",
            version: "1",
            sha256: "00",
            members: &["a/"],
        };
        let two = Wheel {
            members: &["a/", "b/"],
            ..one
        };
        assert!(!one.is_there(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        write(&one.stamp(&folder), &one.stamped()).unwrap();
        let there = (one.is_there(&folder), two.is_there(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(there, (true, false));
    }
}
