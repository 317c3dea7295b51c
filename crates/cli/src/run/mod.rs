//! `oarlock run`: one command with the provider, and nothing installed.
//!
//! The configuration lies in a folder of its own below `TMPDIR`, so this process stays until the
//! command has ended, to remove it: a file that stayed would have to have a name that others can
//! foresee. It costs a `posix_spawn` and a sleeping process. What the command leaves running has read
//! the file; what is started after that finds none, which OpenSSL takes as no configuration.

mod child;

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::{Failure, reason};
use crate::openssl_conf::{Provider, UserConf};
use crate::{options, provider_file};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Options of the accelerator in every process, as in "max_threads=4,cipher_threads=2"
    #[arg(
        long,
        value_name = "NAME=VALUE,...",
        default_value = "",
        hide_default_value = true
    )]
    options: String,

    /// The provider's file, in place of the one that is found
    #[arg(long, value_name = "FILE")]
    provider: Option<PathBuf>,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) const EXAMPLES: &str = "\
OPENSSL_CONF leads the command, and what it starts, to a configuration that includes your own and adds the
provider. The exit status is the command's; 128 and the signal's number where one ended it; 126 or 127 where
it cannot be run or found; 125 where oarlock itself fails, 2 where its arguments do not fit.

Examples:
  oarlock run -- scp backup.tar host:
  oarlock run --options max_threads=0 -- python3 job.py";

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    options::of_provider(&args.options)?;
    let prepared = Prepared::new(args).map_err(|failure| failure.with_status(OWN_FAILURE))?;
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    if let Some(conf) = &prepared.conf {
        command.env("OPENSSL_CONF", conf);
    }
    child::run(&mut command)
}

/// What a command needs to be there.
struct Prepared {
    /// What `OPENSSL_CONF` is set to; nothing where the user's configuration is left alone.
    conf: Option<PathBuf>,
    _folder: tempfile::TempDir,
}

impl Prepared {
    fn new(args: &Args) -> Result<Self, Failure> {
        let module = provider_file::find(args.provider.as_deref())?;
        let folder = open_folder()?;
        let provider = Provider {
            module: module.as_os_str().as_bytes(),
            options: &args.options,
            stats: None,
        };
        let user = UserConf::find();
        let conf = match user.additions(&provider) {
            Ok(additions) => Some(user.write_with(&additions, folder.path())?),
            Err(untouched) => {
                // The command has its own output; this one line is all that is put beside it.
                let _ = writeln!(
                    std::io::stderr(),
                    "oarlock: note: nothing is accelerated: {untouched}"
                );
                None
            }
        };
        Ok(Self {
            conf,
            _folder: folder,
        })
    }
}

/// A folder that others may look into: the command may change its user.
fn open_folder() -> Result<tempfile::TempDir, Failure> {
    let fail = |error: std::io::Error| {
        let place: &Path = &std::env::temp_dir();
        Failure::new(format!("{}: {}", place.display(), reason(&error)))
    };
    let folder = tempfile::Builder::new()
        .prefix("oarlock-run-")
        .tempdir()
        .map_err(fail)?;
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).map_err(fail)?;
    Ok(folder)
}

/// As env(1) and timeout(1) have it: told apart from what commands exit with.
const OWN_FAILURE: u8 = 125;
