//! The programs' working directory, and their clock.

use std::fs::{self, File, OpenOptions};
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_measure::Error;
use tempfile::TempDir;

use super::tools::{Keys, Tool, Tools};
use crate::programs::compared::in_turn;
use crate::programs::data::{TMPFS, check_room};
use crate::programs::setup::Setup;
use crate::system::child::{Ended, Running, said};
use crate::system::interrupt;

/// A directory in memory with keys, which is removed with this value.
pub(super) struct Bench<'a> {
    pub(super) setup: &'a Setup,
    pub(super) tools: Tools,
    pub(super) log: Log,
    case: &'a str,
    folder: TempDir,
}

/// A file that collects the programs' standard error.
pub(super) struct Log(PathBuf);

/// The cost of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunCost {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
}

impl<'a> Bench<'a> {
    /// Creates a directory in memory with room for `needed_bytes`.
    pub(super) fn new(setup: &'a Setup, case: &'a str, needed_bytes: usize) -> Result<Self, Error> {
        check_room(needed_bytes as u64)?;
        let folder = tempfile::tempdir_in(TMPFS).map_err(Error::io(TMPFS))?;
        let file = |name: &str| folder.path().join(name);
        let (identity, passphrase, gpg_home) = (file("identity"), file("passphrase"), file("gpg"));
        let mut keygen = Command::new(setup.oarlock()?);
        said(keygen.args(["keygen", "-o"]).arg(&identity))?;
        let text = fs::read_to_string(&identity).map_err(Error::io(identity.display()))?;
        let recipient = recipient(&text)
            .ok_or_else(|| Error::Failed("oarlock keygen names no public key".to_owned()))?;
        fs::write(&passphrase, PASSPHRASE).map_err(Error::io(passphrase.display()))?;
        // gpg refuses a directory that others can read.
        let made = fs::DirBuilder::new().mode(0o700).create(&gpg_home);
        made.map_err(Error::io(gpg_home.display()))?;
        let keys = Keys {
            identity,
            recipient: recipient.to_owned(),
            passphrase,
            gpg_home,
        };
        Ok(Self {
            setup,
            tools: Tools::find(setup, keys)?,
            case,
            log: Log(file("log")),
            folder,
        })
    }

    /// Returns the path of a file in the directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a subdirectory.
    pub(super) fn make_folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.file(name);
        fs::create_dir(&path).map_err(Error::io(path.display()))?;
        Ok(path)
    }

    /// Returns the tools of `all` that are installed; reports the others.
    pub(super) fn here(&self, all: &[Tool]) -> Vec<Tool> {
        let is_here = |tool: &Tool| {
            let why = self.tools.lacks(*tool);
            if let Some(why) = why {
                eprintln!("oarlock-bench: {}: {why}", self.case);
            }
            why.is_none()
        };
        all.iter().copied().filter(is_here).collect()
    }

    /// Runs `rounds` rounds of `sides` sides, after one round that does not count.
    pub(super) fn in_turn(
        &self,
        rounds: usize,
        sides: usize,
        mut work: impl FnMut(usize) -> Result<RunCost, Error>,
    ) -> Result<Vec<Vec<RunCost>>, Error> {
        let mut turns = 0;
        let mut samples = in_turn(rounds + 1, sides, |side| {
            interrupt::check()?;
            let round = turns / sides;
            self.tell(&match round {
                0 => "warms up".to_owned(),
                _ => format!("round {round} of {rounds}"),
            });
            turns += 1;
            work(side)
        })?;
        self.tell("");
        for of_side in &mut samples {
            of_side.remove(0);
        }
        Ok(samples)
    }

    /// Runs `command`, which writes `output` from scratch.
    pub(super) fn run(&self, mut command: Command, output: &Path) -> Result<RunCost, Error> {
        remove(output)?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(self.log.anew()?);
        let began = Instant::now();
        let ended = Running::start(&mut command)?.end(LIMIT)?;
        let seconds = began.elapsed().as_secs_f64();
        self.log.check(&name(&command), &ended)?;
        Ok(taken(seconds, &[ended]))
    }

    /// Fails unless `is_so`.
    pub(super) fn check_alike(&self, is_so: bool, what: &str) -> Result<(), Error> {
        if is_so {
            return Ok(());
        }
        Err(Error::Mismatch(format!(
            "{}: {what} is not what was encrypted",
            self.case
        )))
    }

    /// Shows the progress if standard error is a terminal.
    fn tell(&self, what: &str) {
        let mut stderr = std::io::stderr();
        if stderr.is_terminal() {
            let line = match what {
                "" => String::new(),
                what => format!("{}: {what}", self.case),
            };
            // Return to the start of the line and clear it.
            let _ = write!(stderr, "\r\x1b[K{line}");
        }
    }
}

impl Log {
    #[cfg(test)]
    pub(super) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Empties the file, for one command or several.
    pub(super) fn anew(&self) -> Result<File, Error> {
        remove(&self.0)?;
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).open(&self.0);
        opened.map_err(Error::io(self.0.display()))
    }

    /// Fails with the collected text if `program` failed.
    pub(super) fn check(&self, program: &str, ended: &Ended) -> Result<(), Error> {
        interrupt::check()?;
        if ended.status.success() {
            return Ok(());
        }
        let log = fs::read_to_string(&self.0).unwrap_or_default();
        let lines: Vec<_> = log.lines().map(str::trim).collect();
        let said = lines.join("; ");
        Err(Error::Failed(format!(
            "{program}: {}: {said}",
            ended.status
        )))
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // gpg leaves its agent running.
        if self.tools.lacks(Tool::Gpg).is_none() {
            let mut command = Command::new("gpgconf");
            command.arg("--homedir").arg(&self.tools.keys.gpg_home);
            let _ = said(command.args(["--kill", "gpg-agent"]));
        }
    }
}

/// Returns the cost of processes that were started together and took `seconds`.
pub(super) fn taken(seconds: f64, ended: &[Ended]) -> RunCost {
    let resident = ended.iter().map(|ended| ended.resident_bytes).max();
    RunCost {
        seconds,
        cpu_seconds: ended.iter().map(|ended| ended.cpu_seconds).sum(),
        resident_bytes: resident.unwrap_or_default(),
    }
}

/// Returns the name of a command's program, without its directory.
pub(super) fn name(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name();
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// Removes a file, which may be absent.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(path.display())(error))
        }
        _ => Ok(()),
    }
}

/// Returns the recipient of the identity in a file written by `age-keygen`.
fn recipient(identity: &str) -> Option<&str> {
    let mut lines = identity.lines();
    lines
        .find_map(|line| line.strip_prefix("# public key: "))
        .map(str::trim)
}

pub(super) const PASSPHRASE: &str = "oarlock-bench, and nothing else";
/// The most time that a run may take: 2 GiB at 10 MB/s.
pub(super) const LIMIT: Duration = Duration::from_secs(220);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn the_recipient_is_read_from_the_identity() {
        let text = "# created: 2026-11-22T06:00:00Z\n# public key: age1abc\nAGE-SECRET-KEY-1X\n";
        assert_eq!(recipient(text), Some("age1abc"));
        assert_eq!(recipient("AGE-SECRET-KEY-1X\n"), None);
    }

    #[test]
    fn of_several_processes_time_adds_up_and_memory_does_not() {
        let ended = |cpu_seconds, resident_bytes| Ended {
            status: std::process::ExitStatus::from_raw(0),
            cpu_seconds,
            resident_bytes,
        };
        let taken = taken(2.5, &[ended(1.0, 7), ended(0.5, 9), ended(0.25, 8)]);
        assert_eq!(taken.seconds, 2.5);
        assert_eq!((taken.cpu_seconds, taken.resident_bytes), (1.75, 9));
    }
}
