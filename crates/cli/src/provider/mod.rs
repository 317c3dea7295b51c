//! `oarlock provider`: changes the machine's configuration of OpenSSL, and restores it.
//!
//! ```text
//! mod.rs      arguments, install, uninstall      block.rs    our lines in a file that is not ours
//! status.rs   whether it is installed and works  change.rs   difference, question, temporary name, rename
//! place.rs    the configuration to change        calibrate.rs   measures what to offer
//! module.rs   whether OpenSSL can load it
//! installation.rs   the parts of an installation apart from its lines, and their owners
//! ```

mod block;
mod calibrate;
mod change;
mod installation;
pub(crate) mod module;
mod place;
mod status;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::block::Divided;
use self::change::{Change, Locks, failed};
use self::installation::{Files, Installation, Made};
use self::place::{Place, in_file, works};
use crate::calibration::{self, MeasureArgs};
use crate::failure::Failure;
use crate::openssl::Installed;
use crate::openssl_conf::{self, Conf, DaemonArgs, GroupArgs, ProviderSection, fits_a_line};
use crate::provider_file::{self, INSTALLED_NAME};
use crate::{options, stdout};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make every program on this machine that uses OpenSSL 3 load the provider
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(InstallArgs),
    /// Restore the configuration and remove the provider's file
    Uninstall(UninstallArgs),
    /// Say whether it is installed and works; exit status 1 if not
    Status(StatusArgs),
    /// Measure the provider against the libcrypto of this machine or of a program, and offer only what is at least as
    /// fast
    #[command(after_help = calibrate::EXAMPLES)]
    Calibrate(calibrate::CalibrateArgs),
    #[command(hide = true)]
    Measure(MeasureArgs),
}

#[derive(Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    place: Place,

    /// The folder for the provider, instead of OpenSSL's own folder of modules
    #[arg(long, value_name = "DIR")]
    module_dir: Option<PathBuf>,

    /// The provider's file, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    provider: Option<PathBuf>,

    /// Options of the accelerator in every process, as in "max_threads=4,cipher_threads=2"
    #[arg(
        long,
        value_name = "NAME=VALUE,...",
        default_value = "",
        hide_default_value = true
    )]
    options: String,

    #[command(flatten)]
    groups: GroupArgs,

    #[command(flatten)]
    daemons: DaemonArgs,

    /// Let programs load the providers that they choose, and no others, as they do without Oarlock. Then a
    /// program does not start if its configuration has config_diagnostics = 1 and the provider's file cannot be loaded
    #[arg(long)]
    keep_choice: bool,

    /// Measure nothing: go by the tables
    #[arg(long)]
    no_calibrate: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    place: Place,

    /// The folder of the provider that is to be removed, where `install` was given one
    #[arg(long, value_name = "DIR")]
    module_dir: Option<PathBuf>,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    place: Place,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const INSTALL_EXAMPLES: &str = "\
It shows the difference first. It keeps the content of the file, adds lines at its end, between two marks, \
and leaves a copy next to it. Running programs are not affected; programs that start later are.

Examples:
  sudo oarlock provider install
  sudo oarlock provider install --options max_threads=2 --yes
  sudo oarlock provider install --local
  sudo oarlock provider install --post-quantum";

pub(crate) fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Install(args) => install(args).map(|()| ExitCode::SUCCESS),
        Command::Uninstall(args) => uninstall(args).map(|()| ExitCode::SUCCESS),
        Command::Status(args) => status::run(&args.place, args.json),
        Command::Calibrate(args) => calibrate::run(args).map(|()| ExitCode::SUCCESS),
        Command::Measure(args) => calibration::measure(args).map(|()| ExitCode::SUCCESS),
    }
}

fn install(args: &InstallArgs) -> Result<(), Failure> {
    options::of_provider(&args.options)?;
    let conf = args.place.find()?;
    let target = module_target(args.module_dir.as_deref())?;
    let lock = || Locks::of(&[conf.parent(), target.parent()]);
    let mut locks = args.yes.then(lock).transpose()?;
    let plan = Plan::of(args, &conf, &target)?;
    if !plan.is_done() {
        plan.show()?;
        plan.change().ask(args.yes)?;
        if locks.is_none() {
            locks = Some(lock()?);
            if Plan::of(args, &conf, &target)? != plan {
                return Err(change::outdated(&conf));
            }
        }
        plan.carry_out()?;
    }
    drop(locks);
    stdout::write(match plan.is_done() {
        true => "already installed: nothing to do\n",
        false => "installed: programs that start from now on use it\n",
    })?;
    calibrate::where_missing(&target, args.no_calibrate)
}

/// The files that `install` writes, and those that they replace.
#[derive(PartialEq, Eq)]
struct Plan<'a> {
    conf: &'a Path,
    before: Vec<u8>,
    after: Vec<u8>,
    /// The provider's file, and its content.
    found: PathBuf,
    module: Vec<u8>,
    target: &'a Path,
    newer: PathBuf,
    older: PathBuf,
    /// The content of `newer`.
    added: Vec<u8>,
    /// The present content of `target`, `newer` and `older`.
    replaced: [Option<Vec<u8>>; 3],
    /// The copy to make; `None` if an earlier installation made one.
    backup: Option<PathBuf>,
    /// The file that the earlier installation had in another folder.
    of_earlier: Option<PathBuf>,
}

impl<'a> Plan<'a> {
    fn of(args: &InstallArgs, conf: &'a Path, target: &'a Path) -> Result<Self, Failure> {
        let found = provider_file::find(args.provider.as_deref())?;
        module::check(&found).map_err(|why| Failure::new(format!("not installed: {why}")))?;
        let before = fs::read(conf).map_err(failed(conf))?;
        let own = block::divide(&before).map_err(|what| Failure::new(in_file(conf, &what)))?;
        let earlier = own.block.as_deref().map(Installation::of);
        let folder = target.parent().unwrap_or(Path::new("/"));
        let calibration = calibration::own().filter(|path| fits_a_line(path.as_os_str()));

        let user = Conf::parse(conf, &own.without)
            .map_err(|broken| refuse(&openssl_conf::Untouched::Broken(broken.to_string())))?;
        let daemons = args.daemons.sockets()?;
        let provider = ProviderSection {
            module: target.as_os_str().as_bytes(),
            leaves_choice: args.keep_choice && module::leaves_choice(&found),
            options: &args.options,
            stats: None,
            calibration: calibration
                .as_deref()
                .map(|path| path.as_os_str().as_bytes()),
            daemons: Some(&daemons),
            post_quantum: args.groups.wanted(),
        };
        let additions = openssl_conf::Additions::to(&user, &provider).map_err(|it| refuse(&it))?;
        let Files { stem, newer, older } = Files::of(folder, conf);
        let made = made(target, calibration.as_deref(), args, conf, earlier.as_ref());
        let new_backup = earlier.is_none().then(|| change::unused_backup(conf));
        let of_this = earlier.as_ref().and_then(|it| it.backup.as_deref());
        let backup = new_backup.as_deref().or(of_this);
        let added = [
            installation::record(conf, &newer, made, backup),
            additions.to_text(),
        ]
        .concat();
        let lines = openssl_conf::newer_alone(&stem, user.is_dollar_in_names);
        let after = block::appended(&own.without, &lines)
            .map_err(|what| Failure::new(in_file(conf, &what)))?;
        Ok(Self {
            conf,
            after,
            module: fs::read(&found).map_err(failed(&found))?,
            replaced: [target, &newer, &older].map(|path| fs::read(path).ok()),
            backup: new_backup,
            of_earlier: earlier.and_then(|it| it.file),
            before,
            found,
            target,
            newer,
            older,
            added,
        })
    }

    fn change(&self) -> Change<'_> {
        Change::new(self.conf, &self.before, &self.after)
    }

    fn is_module_there(&self) -> bool {
        self.replaced[0].as_ref() == Some(&self.module)
    }

    /// Whether all of it is there already.
    fn is_done(&self) -> bool {
        let is_there = self.replaced[1].as_ref() == Some(&self.added) && self.replaced[2].is_some();
        self.after == self.before && self.is_module_there() && is_there
    }

    fn show(&self) -> Result<(), Failure> {
        stdout::write(self.change().difference())?;
        let of_newer = self.replaced[1].as_deref().unwrap_or_default();
        stdout::write(Change::new(&self.newer, of_newer, &self.added).difference())?;
        if self.is_module_there() {
            return Ok(());
        }
        stdout::write(format!(
            "copies {} to {}\n",
            self.found.display(),
            self.target.display()
        ))
    }

    fn carry_out(&self) -> Result<(), Failure> {
        let change = self.change();
        if let Some(path) = &self.backup {
            change.back_up(path)?;
        }
        let tried = change::write_like(self.target, &self.module, None)
            .and_then(|()| change::write_like(&self.older, openssl_conf::OLDER_TEXT, None))
            .and_then(|()| change::write_like(&self.newer, &self.added, None))
            .and_then(|()| change.prepare())
            .and_then(|made| {
                works(made.path()).map_err(|why| refuse(&why))?;
                change.commit(made)
            });
        if let Err(why) = tried {
            self.restore()?;
            return Err(why);
        }
        // The earlier installation used another --module-dir.
        let of_earlier = self.of_earlier.as_deref().and_then(Path::parent);
        if let Some(other) = of_earlier.filter(|it| Some(*it) != self.target.parent()) {
            let Files { newer, older, .. } = Files::of(other, self.conf);
            for path in [newer, older].iter().filter(|path| path.exists()) {
                fs::remove_file(path).map_err(failed(path))?;
            }
        }
        Ok(())
    }

    /// Restores the state before the installation.
    fn restore(&self) -> Result<(), Failure> {
        let paths = [self.target, &self.newer, &self.older];
        for (path, bytes) in paths.into_iter().zip(&self.replaced) {
            match bytes {
                Some(bytes) => change::write_like(path, bytes, None)?,
                None if !path.exists() => {}
                None => fs::remove_file(path).map_err(failed(path))?,
            }
        }
        if let Some(path) = &self.backup {
            fs::remove_file(path).map_err(failed(path))?;
        }
        Ok(())
    }
}

fn refuse(what: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("not installed: {what}"))
}

/// Returns the parts that exist because this or an earlier installation made them, once `args` are carried out.
fn made(
    module: &Path,
    calibration: Option<&Path>,
    args: &InstallArgs,
    conf: &Path,
    earlier: Option<&Installation>,
) -> Made {
    let others = Installation::others(module.parent(), conf);
    let all = || others.iter().chain(earlier);
    let made_module = |it: &Installation| it.made.module && it.module.as_deref() == Some(module);
    let made_calibration =
        |it: &Installation| it.made.calibration && it.calibration.as_deref() == calibration;
    Made {
        module: !module.exists() || all().any(made_module),
        calibration: calibration.is_some_and(|path| !args.no_calibrate && !path.exists())
            || all().any(made_calibration),
    }
}

fn uninstall(args: &UninstallArgs) -> Result<(), Failure> {
    let conf = args.place.find()?;
    let nothing = || stdout::write("not installed: nothing to do\n");
    let Some(first) = Removal::of(args, &conf)? else {
        return nothing();
    };
    if !args.yes {
        first.show()?;
        first.change().ask(false)?;
    }
    let _locks = Locks::of(&[conf.parent(), first.folder.as_deref()])?;
    let removal = Removal::of(args, &conf)?;
    if args.yes {
        let Some(removal) = removal else {
            return nothing();
        };
        removal.show()?;
        removal.change().ask(true)?;
        removal.carry_out()
    } else if removal.as_ref() == Some(&first) {
        first.carry_out()
    } else {
        Err(change::outdated(&conf))
    }
}

/// The changes that `uninstall` makes.
#[derive(PartialEq, Eq)]
struct Removal<'a> {
    conf: &'a Path,
    before: Vec<u8>,
    without: Vec<u8>,
    /// The folder of the module.
    folder: Option<PathBuf>,
    /// The files to remove.
    gone: Vec<PathBuf>,
    calibration: Option<PathBuf>,
    /// The copy of the configuration before the installation.
    backup: PathBuf,
}

impl<'a> Removal<'a> {
    /// Returns `None` if nothing is installed.
    fn of(args: &UninstallArgs, conf: &'a Path) -> Result<Option<Self>, Failure> {
        let before = fs::read(conf).map_err(failed(conf))?;
        let own = block::divide(&before).map_err(|what| Failure::new(in_file(conf, &what)))?;
        let Divided {
            without,
            block: Some(lines),
        } = own
        else {
            return Ok(None);
        };
        let installation = Installation::of(&lines);
        let module = match (&args.module_dir, &installation.module) {
            (None, module) => module.clone(),
            (Some(folder), module) => {
                let target = module_target(Some(folder))?;
                if let Some(other) = module.as_ref().filter(|module| **module != target) {
                    return Err(Failure::usage(format!(
                        "--module-dir {}: this installation has its provider in {}",
                        folder.display(),
                        other.parent().unwrap_or(other).display()
                    )));
                }
                Some(target)
            }
        };
        let folder = module.as_deref().and_then(Path::parent);
        let others = Installation::others(folder, conf);
        let made = installation.made;
        let is_alone = |of: fn(&Installation) -> &Option<PathBuf>, path: &Path| {
            !others.iter().any(|it| of(it).as_deref() == Some(path))
        };
        let of_file = installation.file.as_deref().and_then(Path::parent);
        let files = of_file.or(folder).map(|folder| Files::of(folder, conf));
        let calibration = installation.calibration;
        let gone = [
            files.as_ref().map(|it| &*it.newer),
            files.as_ref().map(|it| &*it.older),
            module
                .as_deref()
                .filter(|path| made.module && is_alone(|it| &it.module, path)),
            calibration
                .as_deref()
                .filter(|path| made.calibration && is_alone(|it| &it.calibration, path))
                .filter(|path| calibration::is_own(path)),
        ];
        let gone = gone.into_iter().flatten().filter(|path| path.is_file());
        Ok(Some(Self {
            gone: gone.map(Into::into).collect(),
            folder: folder.map(Into::into),
            backup: installation
                .backup
                .unwrap_or_else(|| change::first_backup(conf)),
            conf,
            before,
            without,
            calibration,
        }))
    }

    fn change(&self) -> Change<'_> {
        Change::new(self.conf, &self.before, &self.without)
    }

    fn show(&self) -> Result<(), Failure> {
        stdout::write(self.change().difference())?;
        for path in &self.gone {
            stdout::write(format!("removes {}\n", path.display()))?;
        }
        Ok(())
    }

    fn carry_out(&self) -> Result<(), Failure> {
        let change = self.change();
        change.commit(change.prepare()?)?;
        for path in &self.gone {
            match Some(path) == self.calibration.as_ref() {
                true => calibrate::remove(path)?,
                false => fs::remove_file(path).map_err(failed(path))?,
            }
        }
        match fs::read(&self.backup) {
            Ok(bytes) if bytes == self.without => {
                fs::remove_file(&self.backup).map_err(failed(&self.backup))?;
                stdout::write("uninstalled: the file is as it was before, byte for byte\n")
            }
            Ok(_) => stdout::write(format!(
                "uninstalled: later changes by hand stay; the original is in {}\n",
                self.backup.display()
            )),
            Err(_) => stdout::write("uninstalled\n"),
        }
    }
}

/// Returns the path at which the provider is installed.
fn module_target(folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let installed = Installed::find();
    let folder = folder.or(installed.modules()).ok_or_else(|| {
        Failure::usage("openssl does not name its folder of modules: give one with --module-dir")
    })?;
    let folder = folder.canonicalize().map_err(failed(folder))?;
    let target = folder.join(INSTALLED_NAME);
    if fits_a_line(target.as_os_str()) {
        Ok(target)
    } else {
        Err(Failure::usage(format!(
            "{}: an OpenSSL configuration cannot contain this name: choose another --module-dir",
            folder.display()
        )))
    }
}
