//! A Debian 12 in a folder, with the tests of one package: installed, booted, thrown away.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::table::{FLAGS, Package};
use crate::files::{self, copy, write};
use crate::tool::{self, Result};

/// The folders of a run.
pub struct Place {
    /// `packages` of the target folder.
    folder: PathBuf,
    /// The command and the provider, released.
    release: PathBuf,
    /// The shell's part.
    scripts: PathBuf,
}

impl Place {
    /// Returns the place, of which nothing needs to be there.
    pub fn of(root: &Path, target: &Path) -> Self {
        Self {
            folder: target.join("packages"),
            release: target.join("release"),
            scripts: root.join("xtask/src/packages"),
        }
    }

    /// Makes the base, unless it is there.
    pub fn new(root: &Path, target: &Path) -> Result<Self> {
        let place = Self::of(root, target);
        for name in ["results", "runs", "sources"] {
            files::create_dir(&place.folder.join(name))?;
        }
        let script = place.scripts.join("base.sh");
        let made_by = place.folder.join("base.made");
        // Another script makes another base.
        if !files::holds(&made_by, &files::read(&script)?) {
            let base = place.folder.join("base");
            tool::status(Command::new("sh").arg(&script).arg(base))?;
            copy(&script, &made_by)?;
        }
        Ok(place)
    }

    /// The file of a package's results.
    pub fn results(&self, name: &str) -> PathBuf {
        self.folder.join("results").join(format!("{name}.json"))
    }
}

/// A tree: the base, and a folder with what is different.
pub struct Tree<'a> {
    place: &'a Place,
    package: &'a Package,
    layer: PathBuf,
    /// Packages that were downloaded for it.
    archives: PathBuf,
    /// `/packages` inside.
    folder: PathBuf,
}

/// The output of `oarlock run --stats --json`, and the folder of files that the tests left.
pub struct Ran {
    pub artifacts: PathBuf,
    pub stats: Option<String>,
}

impl<'a> Tree<'a> {
    /// Makes a tree with the package's source and what its tests need.
    pub fn new(place: &'a Place, package: &'a Package) -> Result<Self> {
        let made = Self {
            place,
            package,
            layer: place.folder.join("trees").join(&package.name),
            archives: place.folder.join("archives").join(&package.name),
            folder: place.folder.join("runs").join(&package.name),
        };
        files::remove_dir(&made.layer)?;
        files::remove_dir(&made.folder)?;
        files::create_dir(&made.folder)?;
        for name in ["prepare.sh", "suite.sh"] {
            copy(&place.scripts.join(name), &made.folder)?;
        }
        if !package.control.is_empty() {
            write(&made.folder.join("control"), lines(&package.control))?;
        }
        write(&made.folder.join("before"), lines(&package.before))?;
        let skipped: Vec<_> = package.skip.keys().map(String::as_str).collect();
        made.install(&[
            "sh",
            "/packages/prepare.sh",
            &package.name,
            &skipped.join(" "),
            &package.extra.join(" "),
        ])?;
        Ok(made)
    }

    /// A line that the tree's preparation wrote about itself.
    pub fn said(&self, file: &str) -> String {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        text.trim().to_owned()
    }

    /// Installs the provider as a user does, for everything that starts from then on.
    pub fn install_provider(&self) -> Result<()> {
        let opt = self.layer.join("upper/opt");
        files::create_dir(&opt)?;
        for file in ["oarlock", "liboarlock_provider.so"] {
            copy(&self.place.release.join(file), &opt)?;
        }
        let mut command = vec![
            "/opt/oarlock",
            "provider",
            "install",
            "--yes",
            "--no-calibrate",
        ];
        command.extend(["--provider", "/opt/liboarlock_provider.so"]);
        match &self.package.flags[..] {
            [] => command.extend(FLAGS),
            flags => command.extend(flags.iter().map(String::as_str)),
        }
        self.install(&command)?;
        self.install(&["sh", "-euc", COUNT])
    }

    /// Boots the tree and runs its tests, or `only` one; what they change is thrown away. The provider counts where
    /// `counted`.
    pub fn boot(&self, called: &str, only: Option<&str>, counted: bool) -> Result<Ran> {
        let package = self.package;
        let limit = package.seconds;
        let mut arguments = vec![
            "--user=tester".to_owned(),
            "--no-built-binaries".to_owned(),
            "--ignore-restrictions=isolation-container,isolation-machine,breaks-testbed".to_owned(),
            format!("--timeout-test={limit}"),
            "--output-dir=/packages/run".to_owned(),
        ];
        match only {
            Some(name) => arguments.push(format!("--test-name={name}")),
            None => arguments.extend(
                package
                    .skip
                    .keys()
                    .map(|name| format!("--skip-test={name}")),
            ),
        }
        arguments.extend(["/source", "--", "null"].map(str::to_owned));
        write(&self.folder.join("arguments"), lines(&arguments))?;
        let run = self.folder.join("run");
        files::remove_dir(&run)?;
        let mut command = if counted {
            let mut oarlock = Command::new(self.place.release.join("oarlock"));
            oarlock.args(["run", "--stats", "--json", "--"]);
            oarlock.arg("timeout");
            oarlock
        } else {
            Command::new("timeout")
        };
        self.enter(&mut command, limit + BOOT_SECONDS, "boot");
        let console = self.folder.join(format!("{called}.console"));
        let file = fs::File::create(&console);
        let file = file.map_err(|error| format!("{}: {error}", console.display()))?;
        command.stdin(Stdio::null()).stdout(file);
        let ended = command.stderr(Stdio::piped()).output();
        let ended = ended.map_err(|error| tool::cannot_start("timeout", &error))?;
        files::remove_dir(&self.place.folder.join("scratch").join(&package.name))?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let artifacts = self.folder.join(called);
        files::remove_dir(&artifacts)?;
        if fs::rename(&run, &artifacts).is_err() {
            let why = fs::read_to_string(&console).unwrap_or_default();
            return Err(format!(
                "{}: {called}: the tests did not begin: {}; see {}",
                package.name,
                tool::last_line(&why),
                self.folder.display()
            ));
        }
        let stats = counted.then(|| said[said.find('{').unwrap_or(0)..].to_owned());
        Ok(Ran { artifacts, stats })
    }

    /// Removes the tree; what the tests said stays.
    pub fn remove(self) -> Result<()> {
        files::remove_dir(&self.layer)?;
        files::remove_dir(&self.archives)
    }

    /// Runs a command in the tree, with the network.
    fn install(&self, command: &[&str]) -> Result<()> {
        let mut enter = Command::new("timeout");
        self.enter(&mut enter, INSTALL_SECONDS, "install");
        enter.args(command).stdin(Stdio::null());
        let ended = enter.output();
        let ended = ended.map_err(|error| tool::cannot_start("timeout", &error))?;
        let log = self.folder.join("install.log");
        let before = fs::read_to_string(&log).unwrap_or_default();
        write(&log, &(before + &String::from_utf8_lossy(&ended.stdout)))?;
        if !ended.status.success() {
            let name = &self.package.name;
            return Err(format!("{name}: not installed: see {}", log.display()));
        }
        Ok(())
    }

    /// Has `timeout` run `enter.sh` in namespaces that end with it, for at most `seconds`.
    fn enter(&self, timeout: &mut Command, seconds: u64, what: &str) {
        timeout.args(["--signal=KILL", &seconds.to_string()]);
        timeout.args(["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork"]);
        timeout
            .args(["--kill-child", "sh"])
            .arg(self.place.scripts.join("enter.sh"));
        timeout
            .arg(what)
            .arg(&self.place.folder)
            .arg(&self.package.name);
    }
}

fn lines(lines: &[String]) -> String {
    lines
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect()
}

/// The time to start and to halt.
const BOOT_SECONDS: u64 = 120;
const INSTALL_SECONDS: u64 = 900;
/// Makes the provider count, in the file that `enter.sh` puts there.
const COUNT: &str = "\
    set -- /usr/lib/*/ossl-modules/oarlock-*.cnf
    sed -i '/^\\[oarlock_sect\\]$/a stats = /dev/shm/oarlock-usage' \"$1\"
    grep -q ^stats \"$1\"";
