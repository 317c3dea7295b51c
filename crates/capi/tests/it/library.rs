//! The installed library, and the compilers of its users.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use oarlock_testing::lossy;

/// Returns a folder like that of `make install`, with include/ and lib/.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(installed)
}

fn installed() -> PathBuf {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    let _ = std::fs::remove_dir_all(&prefix);
    let mut install = Command::new("sh");
    install.arg(here("install.sh")).arg(static_library());
    succeeds(install.arg(&prefix).arg(&prefix));
    prefix
}

/// Finds the static library, which cargo built before this test.
fn static_library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let entries = std::fs::read_dir(test.parent().unwrap()).unwrap();
    let libraries = entries.map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("liboarlock_capi-") && name.ends_with(".a")
    });
    libraries
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .expect("cargo builds the library before its tests")
}

pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn example(path: &str) -> PathBuf {
    here("../../examples/c").join(path)
}

/// Compiles `source` with the flags that pkg-config reports; each warning is an error.
pub fn compiled(compiler: &str, arguments: &[&str], source: &Path, packages: &[&str]) -> PathBuf {
    let name = source.file_name().unwrap().to_str().unwrap();
    let program = prefix().join(format!("{compiler}{}-{name}", arguments.join("")));
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let flags = succeeds(
        pkg_config
            .args(["--cflags", "--libs", "oarlock"])
            .args(packages),
    );
    let flags = lossy(&flags.stdout);
    let mut command = Command::new(compiler);
    command.args(["-g", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
    command.args(arguments).arg(source).arg("-o").arg(&program);
    succeeds(command.args(flags.split_whitespace()).arg("-lpthread"));
    program
}

/// Returns a command that runs `program` and lets it find the library.
pub fn started(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix().join("lib"));
    command
}

pub fn succeeds(command: &mut Command) -> Output {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {} {said}",
        output.status
    );
    output
}
