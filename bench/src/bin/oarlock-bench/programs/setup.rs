//! The two sides: stock programs, and programs whose configuration loads the provider.

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oarlock::Algorithm;
use oarlock_engine::costs::Usage;
use oarlock_measure::Error;
use oarlock_measure::cases::Size;
use oarlock_measure::cpu_class;
use tempfile::TempDir;

use crate::system::interrupt;

/// Programs that the command line names.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Named {
    /// The `oarlock` command to measure, in place of the one next to this program
    #[arg(long, value_name = "PATH")]
    pub(crate) oarlock: Option<PathBuf>,

    /// The OpenSSL provider to measure whole programs with, in place of the one next to this program
    #[arg(long, value_name = "PATH")]
    provider: Option<PathBuf>,

    /// Options of the OpenSSL provider, as in its section of a configuration: offer=all measures what would not be offered
    #[arg(long, value_name = "OPTIONS")]
    provider_options: Option<String>,

    /// The folder that HPN-SSH was installed in: one more peer of the cases ssh-*
    #[arg(long, value_name = "DIR")]
    hpn_ssh: Option<PathBuf>,
}

/// The files and settings that all cases share.
pub(crate) struct Setup {
    pub(super) quick: bool,
    /// Packet sizes from the command line, empty for those of a chart; `None` for the promised sizes.
    pub(crate) sizes: Option<Vec<Size>>,
    /// The directory that HPN-SSH is installed in.
    pub(super) hpn_ssh: Option<PathBuf>,
    /// The command that was named.
    oarlock: Option<PathBuf>,
    /// The provider; `None` if no program loads it.
    provider: Option<PathBuf>,
    /// The provider section's line with the named options.
    options: String,
    /// The copy of the provider that programs load next.
    next_copy: Cell<usize>,
    folder: TempDir,
}

/// Copies of the provider. Programs load them in turn: on a virtual machine, a loop of a library has run at half its speed
/// from one place in the page cache, and at full speed from another copy of the file.
const COPIES: usize = 3;

/// The side of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// Stock programs with the system's configuration.
    Stock,
    /// Stock programs whose configuration activates the default provider as [`Oarlock`](Self::Oarlock)'s does.
    StockConfigured,
    /// Programs with the provider.
    Oarlock,
}

impl Setup {
    /// Prepares cases with the provider, or cases without it.
    pub(crate) fn new(named: &Named, quick: bool, takes_provider: bool) -> Result<Self, Error> {
        interrupt::catch()?;
        let provider = takes_provider.then(|| provider(named.provider.as_deref()));
        let setup = Self {
            quick,
            sizes: None,
            hpn_ssh: named.hpn_ssh.clone(),
            oarlock: named.oarlock.clone(),
            provider: provider.transpose()?,
            options: named
                .provider_options
                .as_ref()
                .map_or(String::new(), |options| {
                    format!("options = \"{options}\"\n")
                }),
            next_copy: Cell::default(),
            folder: tempfile::tempdir().map_err(Error::io("a temporary folder"))?,
        };
        let Some(provider) = &setup.provider else {
            return Ok(setup);
        };
        for number in 0..COPIES {
            let copy = setup.copy(number);
            fs::copy(provider, &copy).map_err(Error::io(provider.display()))?;
        }
        setup.turn_to_next_copy()?;
        setup.write_configuration(Side::StockConfigured, None)?;
        setup.write_configuration(Side::Oarlock, None)?;
        setup.check_it_loads()?;
        Ok(setup)
    }

    /// Returns a set-up for stock programs only.
    #[cfg(test)]
    pub(super) fn of_stock() -> Self {
        Self {
            quick: true,
            sizes: None,
            hpn_ssh: None,
            oarlock: None,
            provider: Some(PathBuf::new()),
            options: String::new(),
            next_copy: Cell::default(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Whether `--quick` was given.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick
    }

    /// Returns `usual` rounds, or `quick` ones if `--quick` was given.
    pub(crate) fn rounds(&self, usual: usize, quick: usize) -> usize {
        if self.quick { quick } else { usual }
    }

    /// Prepares `command` for `side`, independently of the environment except for the visible CPU class.
    pub(super) fn dress(&self, command: &mut Command, side: Side) {
        for name in FOREIGN {
            command.env_remove(name);
        }
        if let Some(mask) = cpu_class::mask_shown() {
            mask.set(command);
        }
        if side != Side::Stock {
            command.env("OPENSSL_CONF", self.configuration(side));
        }
        if side == Side::Oarlock {
            // If this fails, the previous copy stays.
            let _ = self.turn_to_next_copy();
        }
    }

    /// Returns the module path in configurations: a link to one of the copies.
    fn module(&self) -> PathBuf {
        self.file("liboarlock_provider.so")
    }

    fn copy(&self, number: usize) -> PathBuf {
        self.file(&format!("liboarlock_provider-{number}.so"))
    }

    fn turn_to_next_copy(&self) -> Result<(), Error> {
        let number = self.next_copy.get();
        self.next_copy.set((number + 1) % COPIES);
        let link = self.file("next.so");
        symlink(self.copy(number), &link).map_err(Error::io(link.display()))?;
        fs::rename(&link, self.module()).map_err(Error::io(link.display()))
    }

    /// Returns the configuration file of a side that has one.
    pub(super) fn configuration(&self, side: Side) -> PathBuf {
        self.folder.path().join(match side {
            Side::Stock | Side::StockConfigured => "stock.cnf",
            Side::Oarlock => "oarlock.cnf",
        })
    }

    /// Returns a directory that is removed with `self`.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of a file in that directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `work` with the provider's counters on, and returns the bytes of `operation` that went through it, so that only
    /// accelerated work is timed.
    pub(super) fn bytes_through(
        &self,
        operation: Algorithm,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let path = self.file("usage");
        let usage = Usage::create(&path).map_err(Error::io(path.display()))?;
        self.write_configuration(Side::Oarlock, Some(&path))?;
        let done = work();
        self.write_configuration(Side::Oarlock, None)?;
        fs::remove_file(&path).map_err(Error::io(path.display()))?;
        done?;
        let counted = usage.read();
        let lines = counted.lines.iter();
        let mine = lines.filter(|line| line.algorithm == operation);
        Ok(mine.map(|line| line.bytes).sum())
    }

    /// Whether the set-up has the provider.
    pub(super) fn has_provider(&self) -> bool {
        self.provider.is_some()
    }

    /// Returns the path of the command to measure.
    pub(super) fn oarlock(&self) -> Result<PathBuf, Error> {
        let found = oarlock(self.oarlock.as_deref())?;
        // Programs are also started in other directories.
        found.canonicalize().map_err(Error::io(found.display()))
    }

    /// Writes a configuration of our side with a daemon at `socket`.
    pub(super) fn configuration_with_daemon(&self, socket: &Path) -> Result<PathBuf, Error> {
        let lines = format!("local = \"{}\"\n", socket.display());
        self.write(&self.file("daemon.cnf"), true, &lines, "")
    }

    /// Writes a configuration of our side with hybrid groups, for programs that do not name groups themselves.
    pub(super) fn post_quantum_configuration(&self) -> Result<PathBuf, Error> {
        let path = self.file("post-quantum.cnf");
        self.write(&path, true, "post-quantum = yes\n", GROUPS)
    }

    fn write_configuration(&self, side: Side, counting: Option<&Path>) -> Result<(), Error> {
        let lines = counting.map(|file| format!("stats = \"{}\"\n", file.display()));
        let is_ours = side == Side::Oarlock;
        let path = self.configuration(side);
        self.write(&path, is_ours, &lines.unwrap_or_default(), "")?;
        Ok(())
    }

    /// Writes configurations with `lines` in our provider's section and `sections` at the end.
    fn write(
        &self,
        path: &Path,
        is_ours: bool,
        lines: &str,
        sections: &str,
    ) -> Result<PathBuf, Error> {
        let module = self.module();
        let is_ours = is_ours && self.provider.is_some();
        let lines = self.options.clone() + lines;
        let text = configuration(is_ours.then_some(&*module), &lines) + sections;
        fs::write(path, text).map_err(Error::io(path.display()))?;
        Ok(path.to_owned())
    }

    fn check_it_loads(&self) -> Result<(), Error> {
        let mut command = Command::new("openssl");
        command.args(["list", "-providers"]).stdin(Stdio::null());
        self.dress(&mut command, Side::Oarlock);
        let output = command.output().map_err(Error::io("openssl"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if text.contains("name: Oarlock") {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "openssl does not load {}: {}",
            self.provider.clone().unwrap_or_default().display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )))
    }
}

/// Returns the named command, or the one next to this program.
pub(super) fn oarlock(named: Option<&Path>) -> Result<PathBuf, Error> {
    let missing = "no `oarlock` next to this program: build it (cargo build --release --package \
                   oarlock-cli) or name it with --oarlock";
    named_or_beside(named, "oarlock", missing)
}

/// Returns the named provider, or the one next to this program.
fn provider(named: Option<&Path>) -> Result<PathBuf, Error> {
    let missing = "no provider next to this program: build it (cargo build --release --package \
                   oarlock-provider) or name it with --provider";
    let found = named_or_beside(named, "liboarlock_provider.so", missing)?;
    found.canonicalize().map_err(Error::io(found.display()))
}

/// Returns the named file, or the one next to this program.
pub(super) fn named_or_beside(
    named: Option<&Path>,
    file: &str,
    missing: &str,
) -> Result<PathBuf, Error> {
    let beside = || Some(std::env::current_exe().ok()?.with_file_name(file));
    let found = named.map(Path::to_owned).or_else(beside);
    found
        .filter(|file| file.is_file())
        .ok_or_else(|| Error::Unavailable(missing.to_owned()))
}

/// Returns the configuration that `oarlock run` writes by default, with `lines` in the provider's section: our provider is
/// preferred, except for the cipher of the random number generator.
fn configuration(provider: Option<&Path>, lines: &str) -> String {
    let mut text = "openssl_conf = init\n[init]\nproviders = providers\n".to_owned();
    if provider.is_some() {
        text += "alg_section = algorithms\nrandom = random\n";
    }
    text += "[providers]\ndefault = default_provider\n";
    if provider.is_some() {
        text += "oarlock = oarlock_provider\n";
    }
    text += "[default_provider]\nactivate = 1\n";
    if let Some(provider) = provider {
        let module = provider.display();
        let _ = write!(
            text,
            "[oarlock_provider]\nidentity = oarlock\nmodule = \"{module}\"\n{lines}"
        );
        text += "activate = 1\n\
                 [algorithms]\ndefault_properties = ?oarlock.accelerated=yes,?oarlock.keys=no\n\
                 [random]\nproperties = provider!=oarlock\n";
    }
    text
}

/// The groups of `oarlock run --post-quantum`: a server selects the hybrid if a client sends a share for it.
const GROUPS: &str = "[init]\nssl_conf = tls\n[tls]\nsystem_default = tls_defaults\n\
    [tls_defaults]\nGroups = X25519:X25519MLKEM768:P-256:P-384\n";

/// Variables that would change the measurement.
const FOREIGN: [&str; 6] = [
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ia32cap",
    "OARLOCK_CPU",
    "OARLOCK_OPTIONS",
    "SSH_AUTH_SOCK",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openssl_reads_what_is_written() {
        let setup = Setup::of_stock();
        setup
            .write_configuration(Side::StockConfigured, None)
            .unwrap();
        let mut command = Command::new("openssl");
        command.args(["list", "-providers"]);
        setup.dress(&mut command, Side::StockConfigured);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("OpenSSL Default Provider"), "{text}");
        // The provider does not exist: openssl reports that, and so would Setup::new.
        setup.write_configuration(Side::Oarlock, None).unwrap();
        let error = setup.check_it_loads().unwrap_err().to_string();
        assert!(error.starts_with("openssl does not load"), "{error}");
    }
}
