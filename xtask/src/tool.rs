//! Running other programs, and what cargo knows about the workspace.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// One clear line that names what was wrong and what to do.
pub type Result<T> = std::result::Result<T, String>;

/// What `cargo metadata --no-deps` says.
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
    /// The file that is its root.
    pub src_path: PathBuf,
}

#[derive(Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `None` for a normal dependency, else `build` or `dev`.
    pub kind: Option<String>,
    /// Whether a feature brings it.
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

    /// What cargo printed.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            format!(
                "cargo metadata said something unexpected: {error}: is this cargo 1.95 or newer?"
            )
        })
    }
}

/// The cargo that started this program, without the variables that describe this program's own
/// package: they would make build scripts run again.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        }) {
            command.env_remove(name);
        }
    }
    command
}

/// Cargo in the workspace of the benchmark, of the repository at `root`.
pub fn cargo_in_bench(root: &Path, verb: &str) -> Command {
    let mut command = cargo();
    let manifest = root.join("bench/Cargo.toml");
    command.arg(verb).arg("--manifest-path").arg(manifest);
    command
}

/// Runs `command` to its end and returns what it wrote on stdout.
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

/// Runs `command` to its end and returns what it wrote on stdout; what it writes on stderr is shown.
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

/// Runs `command` to its end; what it writes goes where ours does.
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

/// Why a program did not start, and what to install.
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

/// A command as one would type it.
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

pub fn create_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes a folder that may be absent.
pub fn remove_dir(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The last line that says anything.
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
