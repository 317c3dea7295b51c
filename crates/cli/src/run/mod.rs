//! `oarlock run`: one command with the provider, without an installation.
//!
//! The configuration outlasts this process (`openssl_conf/kept.rs`): programs that the command leaves running may start
//! others at any time, which read it, and what it includes of the user's. This process waits to forward signals, and with
//! `--stats` to remove the file of counters. The cost is a `posix_spawn` and a sleeping process.

mod child;
mod operations;
mod report;

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use oarlock_engine::costs::{Usage, published};

use self::child::OWN_FAILURE;
pub(crate) use self::report::Report;
use crate::failure::{Failure, reason};
use crate::openssl_conf::{DaemonArgs, Daemons, GroupArgs, Kept, PostQuantum};
use crate::openssl_conf::{ProviderSection, Untouched, UserConf};
use crate::{calibration, options, provider, provider_file};

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

    /// After the command, say on standard error what went through Oarlock in all its processes, and the
    /// time that it saved
    #[arg(long)]
    stats: bool,

    /// With --stats, print one JSON object
    #[arg(long, requires = "stats")]
    json: bool,

    /// The provider's file, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    provider: Option<PathBuf>,

    /// Let programs load the providers that they choose, and no others, as they do without Oarlock. Then a
    /// program does not start if its configuration has config_diagnostics = 1 and the provider's file cannot be loaded
    #[arg(long)]
    keep_choice: bool,

    #[command(flatten)]
    groups: GroupArgs,

    #[command(flatten)]
    daemons: DaemonArgs,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) const EXAMPLES: &str = "\
OPENSSL_CONF points the command, and the programs that it starts, to a configuration that includes your own \
and adds the provider. The exit status is the command's; 128 plus the number of a signal that ended it; 126 \
or 127 if it cannot be run or found; 125 if oarlock itself fails, 2 for wrong arguments. `oarlock top` of the same \
user shows what goes through Oarlock while it runs; --options publish=off hides it.

Examples:
  oarlock run -- scp backup.tar host:
  oarlock run --stats -- curl -so /dev/null https://example.org/large
  oarlock run --options max_threads=0 -- python3 job.py
  oarlock run --post-quantum -- nginx -g 'daemon off;'";

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    options::of_provider(&args.options)?;
    let daemons = args.daemons.sockets()?;
    let prepared =
        Prepared::new(args, Some(&daemons)).map_err(|failure| failure.with_status(OWN_FAILURE))?;
    if let Err(untouched) = &prepared.conf {
        // The command has its own output, to which only this line is added.
        let _ = writeln!(
            std::io::stderr(),
            "oarlock: note: nothing is accelerated: {untouched}"
        );
    }
    let before = child::cpu_time();
    let code = prepared.run(&args.command)?;
    // Remove the live figures of its processes: a confined process cannot remove its own file.
    published::clear();
    if args.stats {
        let report = prepared
            .report(child::cpu_time().saturating_sub(before))
            .map_err(|failure| failure.with_status(OWN_FAILURE))?;
        report.show(args.json);
    }
    Ok(code)
}

/// Runs `command` for `oarlock doctor` and reports what went through. Its standard output is discarded.
pub(crate) fn try_out(command: &[OsString], module: &Path) -> Result<(u8, Report), Failure> {
    let mut plan = Plan::of(module);
    plan.stats = true;
    let prepared = Prepared::with(&plan)?;
    let before = child::cpu_time();
    let status = child::run(prepared.command(command).stdout(Stdio::null()))?;
    let took = child::cpu_time().saturating_sub(before);
    Ok((status, prepared.report(took)?))
}

/// The files and settings of a command while it runs.
struct Prepared {
    /// The value for `OPENSSL_CONF`, or the reason why it is left alone.
    conf: Result<PathBuf, Untouched>,
    counters: Option<Counters>,
    module: PathBuf,
    options: String,
    /// The configuration, which no other run removes as long as this one waits.
    _kept: Option<Kept>,
    /// The folder of a configuration that has no lasting place.
    _folder: Option<tempfile::TempDir>,
}

/// The settings of the provider's section.
struct Plan<'a> {
    module: &'a Path,
    options: &'a str,
    stats: bool,
    keeps_choice: bool,
    daemons: Option<&'a Daemons>,
    post_quantum: PostQuantum,
}

impl<'a> Plan<'a> {
    fn of(module: &'a Path) -> Self {
        Self {
            module,
            options: "",
            stats: false,
            keeps_choice: false,
            daemons: None,
            post_quantum: PostQuantum::AsBefore,
        }
    }
}

/// The file of counters for `--stats`.
struct Counters {
    usage: Usage,
    file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Prepared {
    fn new(args: &Args, daemons: Option<&Daemons>) -> Result<Self, Failure> {
        let module = provider_file::find(args.provider.as_deref())?;
        provider::module::check(&module).map_err(Failure::new)?;
        // For `oarlock top`, unless the user's options say otherwise.
        let options = format!("publish=on,{}", args.options);
        Self::with(&Plan {
            options: &options,
            stats: args.stats,
            keeps_choice: args.keep_choice,
            daemons,
            post_quantum: args.groups.wanted(),
            ..Plan::of(&module)
        })
    }

    fn with(plan: &Plan<'_>) -> Result<Self, Failure> {
        let &Plan {
            module,
            options,
            stats,
            keeps_choice,
            daemons,
            post_quantum,
        } = plan;
        let counters = stats.then(Counters::new).transpose()?;
        let calibration = calibration::in_configuration();
        let offered = ProviderSection {
            module: module.as_os_str().as_bytes(),
            leaves_choice: keeps_choice && provider::module::leaves_choice(module),
            options,
            // The environment names the file: the configuration is the same for all runs, and outlasts them.
            stats: stats.then_some(STATS),
            calibration: calibration.as_deref().map(|it| it.as_os_str().as_bytes()),
            daemons,
            post_quantum,
        };
        let user = UserConf::find();
        let (mut kept, mut folder) = (None, None);
        let conf = match user.additions(&offered) {
            Ok(additions) => Ok(match kept.insert(user.keep_with(&additions)) {
                Some(kept) => kept.path.clone(),
                None => {
                    let folder = folder.insert(open_folder()?);
                    user.write_with(&additions, folder.path())?
                }
            }),
            Err(untouched) => Err(untouched),
        };
        Ok(Self {
            conf,
            counters,
            module: module.into(),
            options: options.into(),
            _kept: kept.flatten(),
            _folder: folder,
        })
    }

    fn run(&self, command: &[OsString]) -> Result<ExitCode, Failure> {
        Ok(ExitCode::from(child::run(&mut self.command(command))?))
    }

    fn command(&self, command: &[OsString]) -> Command {
        let mut made = Command::new(&command[0]);
        made.args(&command[1..]);
        if let Ok(conf) = &self.conf {
            made.env("OPENSSL_CONF", conf);
            if let Some(counters) = &self.counters {
                made.env(STATS, &counters.file);
            }
        }
        made
    }

    /// Returns the report. Rates are measured in this process with the provider alone, without the other providers that the
    /// user's configuration loads.
    fn report(&self, cpu_time: Duration) -> Result<Report, Failure> {
        let counted = self.counters.as_ref();
        let counted = counted.map(|counters| counters.usage.read());
        let counted = counted.unwrap_or_default();
        // Measure everything that went through, whether or not it would be offered again.
        let options = format!("{},offer=all", self.options);
        let offered = ProviderSection {
            module: self.module.as_os_str().as_bytes(),
            leaves_choice: false,
            options: &options,
            stats: None,
            calibration: None,
            daemons: None,
            post_quantum: PostQuantum::AsBefore,
        };
        let nobody = UserConf::none();
        let folder = open_folder()?;
        let additions = nobody
            .additions(&offered)
            .map_err(|untouched| Failure::new(untouched.to_string()))?;
        let configuration = nobody.write_with(&additions, folder.path())?;
        Ok(Report::of(&counted, &configuration, cpu_time.as_secs_f64()))
    }
}

impl Counters {
    fn new() -> Result<Self, Failure> {
        let folder = open_folder()?;
        let file = folder.path().join("usage");
        let usage = Usage::create(&file)
            .map_err(|error| Failure::new(format!("{}: {}", file.display(), reason(&error))))?;
        Ok(Self {
            usage,
            file,
            _folder: folder,
        })
    }
}

/// Creates a folder that others may read, because the command may change its user.
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

/// The environment variable that names the file of counters.
const STATS: &str = "OARLOCK_STATS";
