//! Runs other programs, and reads cargo's metadata of the workspace.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// A result whose error is one line that names the problem and its remedy.
pub type Result<T> = std::result::Result<T, String>;

/// The output of `cargo metadata --no-deps`.
#[derive(Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    pub target_directory: PathBuf,
    pub workspace_root: PathBuf,
}

#[derive(Deserialize)]
pub struct Package {
    pub name: String,
    pub manifest_path: PathBuf,
    pub dependencies: Vec<Dependency>,
    pub targets: Vec<Target>,
}

/// A library, a program, a test, or a build script of a package.
#[derive(Deserialize)]
pub struct Target {
    pub kind: Vec<String>,
    /// Its root file.
    pub src_path: PathBuf,
}

#[derive(Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `build` or `dev`; `None` for a normal dependency.
    pub kind: Option<String>,
    /// Whether it is enabled by a feature.
    #[serde(default)]
    pub optional: bool,
    /// Set for dependencies inside this repository.
    pub path: Option<PathBuf>,
}

impl Metadata {
    pub fn load() -> Result<Self> {
        let json = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
        Self::parse(&json)
    }

    /// Adds the packages of the benchmark, which is a workspace of its own.
    pub fn load_with_bench() -> Result<Self> {
        let mut metadata = Self::load()?;
        let mut command = cargo_in_bench(&metadata.workspace_root, "metadata");
        let json = output(command.args(["--no-deps", "--format-version", "1"]))?;
        metadata.packages.extend(Self::parse(&json)?.packages);
        Ok(metadata)
    }

    /// Parses cargo's output.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            format!(
                "cargo metadata said something unexpected: {error}: is this cargo 1.95 or newer?"
            )
        })
    }
}

/// Returns the cargo that started this program, without the variables that describe this program's own package: they would
/// make build scripts run again.
pub fn cargo() -> Command {
    of_no_package(Command::new(cargo_path()))
}

/// Returns cargo with a low priority, so that it takes the CPU time that tests leave.
pub fn cargo_that_waits() -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "10"]).arg(cargo_path());
    of_no_package(command)
}

fn cargo_path() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn of_no_package(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        }) {
            command.env_remove(name);
        }
    }
    command
}

/// Returns cargo in the benchmark's workspace of the repository at `root`.
pub fn cargo_in_bench(root: &Path, verb: &str) -> Command {
    let mut command = cargo();
    let manifest = root.join("bench/Cargo.toml");
    command.arg(verb).arg("--manifest-path").arg(manifest);
    command
}

/// Runs `command` and returns its stdout.
pub fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| cannot_start(&program, &error))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "`{}` failed: {}",
            line(command),
            last_line(&stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` and returns its stdout; its stderr is shown.
pub fn output_shown(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot_start(&command.get_program().to_string_lossy(), &error))?;
    if !output.status.success() {
        return Err(format!("`{}` ended with {}", line(command), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command`, which inherits our outputs.
pub fn status(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| cannot_start(&command.get_program().to_string_lossy(), &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` ended with {status}", line(command)))
    }
}

/// Returns the reason why a program did not start, and what to install.
pub fn cannot_start(program: &str, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        format!(
            "`{program}` is not installed: install it (on Debian `apt-get install {}`)",
            debian(program)
        )
    } else {
        format!("`{program}` did not start: {error}")
    }
}

/// Returns a command as a user would type it.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether this process may install packages.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Returns the last line that is not empty.
pub fn last_line(text: &str) -> &str {
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .map_or("it gave no reason", str::trim)
}

fn debian(program: &str) -> &str {
    match program {
        "apt-get" => "apt",
        "dpkg" | "dpkg-deb" => "dpkg",
        other => other,
    }
}
