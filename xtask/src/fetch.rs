//! Packages as files: downloaded, compared with a hash, unpacked, never installed. These are Python wheels and cargo's
//! sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::tool::{self, Metadata, Result, cargo};

/// A wheel with known content.
pub struct Wheel {
    pub name: &'static str,
    pub version: &'static str,
    pub sha256: &'static str,
    /// The members to unpack: those whose names begin with one of these.
    pub members: &'static [&'static str],
}

/// Makes a directory, which appears completely or not at all, unless it is there and its file `stamp` has the text `stamped`:
/// everything that its contents depend on. `fill` gets a directory for scratch and the one to fill.
///
/// Returns whether it had to be made.
pub fn once(
    folder: &Path,
    (stamp, stamped): (&str, &str),
    fill: impl FnOnce(&Path, &Path) -> Result<()>,
) -> Result<bool> {
    if files::holds(&folder.join(stamp), stamped) {
        return Ok(false);
    }
    let mut scratch = folder.to_owned().into_os_string();
    scratch.push(".making");
    let scratch = PathBuf::from(scratch);
    files::remove_dir(&scratch)?;
    let (work, made) = (scratch.join("work"), scratch.join("made"));
    files::create_dir(&work)?;
    files::create_dir(&made)?;
    fill(&work, &made)?;
    files::write(&made.join(stamp), stamped)?;
    files::replace_dir(&made, folder)?;
    files::remove_dir(&scratch)?;
    Ok(true)
}

/// Unpacks the members of `wheel` below `into`. Returns whether anything had to be fetched.
pub fn wheel(wheel: &Wheel, into: &Path) -> Result<bool> {
    let (stamp, stamped) = wheel.stamp();
    once(into, (&stamp, &stamped), |work, made| {
        let Wheel {
            name,
            version,
            sha256,
            ..
        } = wheel;
        let requirements = work.join("requirements.txt");
        let requirement = format!("{name}=={version} --hash=sha256:{sha256}\n");
        files::write(&requirements, requirement)?;
        download(wheel, &requirements, work)?;
        unpack(wheel, work, made)
    })
}

impl Wheel {
    /// Returns the name and text of the file that tells this wheel with these members from others.
    fn stamp(&self) -> (String, String) {
        let lines = std::iter::once(&self.sha256).chain(self.members);
        (
            format!(".{}-{}", self.name, self.version),
            lines.flat_map(|line| [*line, "\n"]).collect(),
        )
    }
}

/// A package with known content, fetched by cargo.
#[derive(Clone, Copy)]
pub struct Crate {
    pub name: &'static str,
    pub version: &'static str,
    pub sha256: &'static str,
}

/// Returns the directory in which cargo keeps the source of `package`, which must only be read. `scratch` is an empty
/// directory.
pub fn source_of(package: &Crate, scratch: &Path) -> Result<PathBuf> {
    let Crate {
        name,
        version,
        sha256,
    } = package;
    let failed = |error: String| format!("cannot fetch {name} {version}: {error}");
    let manifest = scratch.join("Cargo.toml");
    files::write(
        &manifest,
        format!(
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
    let lock = files::read(&lock).map_err(failed)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_members_are_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.b");
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
        let made = [&one, &one, &two].map(|wheel| {
            let (stamp, stamped) = wheel.stamp();
            let done = once(&place, (&stamp, &stamped), |_, made| {
                files::write(&made.join("file"), "")
            });
            assert!(place.join("file").exists());
            done.unwrap()
        });
        assert_eq!(made, [true, false, true]);
        assert_eq!(files::entries(folder.path()).unwrap(), [place]);
    }
}
