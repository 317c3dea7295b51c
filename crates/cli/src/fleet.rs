//! `oarlock fleet`: the command of the Python package's `oarlock.ray`, in the environment of this program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

pub(crate) const EXAMPLES: &str = "Examples:
  oarlock fleet encrypt -r age1... --local 8 /data s3://bucket/data
  oarlock fleet rotate -i old.txt -r age1... --address auto s3://bucket/data s3://bucket/new
  oarlock fleet encrypt --help";

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// encrypt, decrypt, rotate or verify, and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Continues as Python. Returns only if that is not there.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut python = Command::new(interpreter());
    let error = python.args(["-c", START]).args(&args.arguments).exec();
    Err(Failure::new(format!("python3: {error}. {NEEDED}")))
}

/// Returns the Python of the environment that this program was installed into, or else that of the search path.
fn interpreter() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let python = program.with_file_name("python3");
    match python.is_file() {
        true => python,
        false => "python3".into(),
    }
}

/// Nothing is imported from the working directory.
const START: &str = "import sys
sys.path[:] = [folder for folder in sys.path if folder]
try:
    from oarlock.ray.command import main
except ImportError:
    sys.exit(\"oarlock fleet is a part of the Python package: install its wheel with the extra [ray]\")
sys.exit(main())";
const NEEDED: &str =
    "oarlock fleet needs Python with the package: install its wheel with the extra [ray]";
