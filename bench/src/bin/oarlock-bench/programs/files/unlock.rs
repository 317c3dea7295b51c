//! A passphrase, which each program reads from its controlling terminal.
#![allow(unsafe_code)]

use std::fs;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::ptr;
use std::time::Instant;

use oarlock_measure::Error;

use super::bench::{Bench, LIMIT, PASSPHRASE, RunCost, name, remove, taken};
use super::point::Pairing;
use super::tools::Tool;
use crate::programs::compared::{Compared, Quantity};
use crate::programs::data::{are_alike, make};
use crate::programs::setup::Setup;
use crate::system::child::Running;

pub(super) fn measure(setup: &Setup, case: &str) -> Result<Vec<Compared>, Error> {
    let bench = Bench::new(setup, case, 1 << 20)?;
    let tools = bench.here(&[Tool::Oarlock, Tool::Age, Tool::Rage]);
    let [source, sealed, opened] = ["source", "sealed", "opened"].map(|name| bench.file(name));
    make(&source, 4096, 1)?;

    let mut command = bench.tools.bare(setup, Tool::Oarlock);
    command
        .args(["encrypt", "-p", "-o"])
        .arg(&sealed)
        .arg(&source);
    // The program asks twice.
    on_terminal(&bench, command, 2, &sealed)?;
    check_work_factor(&sealed)?;

    let samples = bench.in_turn(setup.rounds(9, 3), tools.len(), |side| {
        let tool = tools[side];
        let mut command = bench.tools.bare(setup, tool);
        command.arg(match tool {
            Tool::Oarlock => "decrypt",
            _ => "-d",
        });
        command.arg("-o").arg(&opened).arg(&sealed);
        let taken = on_terminal(&bench, command, 1, &opened)?;
        let what = format!("what {} unlocked", tool.name());
        bench.check_alike(are_alike(&source, &opened)?, &what)?;
        Ok(taken)
    })?;
    let mut sides = tools.iter().zip(&samples);
    let Some((_, ours)) = sides.next() else {
        return Ok(Vec::new());
    };
    let compared = sides.map(|(vs, theirs)| {
        let point = Pairing {
            bytes: 0,
            vs: vs.name(),
            threads: None,
            ours,
            theirs,
        };
        point.compared(Quantity::Seconds, |taken| taken.seconds)
    });
    Ok(compared.collect())
}

/// Runs `command` with a terminal of its own, on which the passphrase is typed `times` times; the command writes `output`
/// from scratch.
fn on_terminal(
    bench: &Bench<'_>,
    command: Command,
    times: usize,
    output: &Path,
) -> Result<RunCost, Error> {
    remove(output)?;
    let mut command = with_terminal(&command);
    // rage would first start pinentry, which needs a user.
    command.env("PINENTRY_PROGRAM", "/nonexistent");
    let (ours, theirs) = terminal().map_err(Error::io("a terminal"))?;
    // Typed in advance: the program finds it when it reads.
    let typed = format!("{PASSPHRASE}\n").repeat(times);
    let mut ours = File::from(ours);
    ours.write_all(typed.as_bytes())
        .map_err(Error::io("a terminal"))?;
    command.stdin(theirs).stdout(Stdio::null());
    command.stderr(bench.log.anew()?);
    let began = Instant::now();
    let ended = Running::start(&mut command)?.end(LIMIT)?;
    let seconds = began.elapsed().as_secs_f64();
    bench.log.check(&name(&command), &ended)?;
    Ok(taken(seconds, &[ended]))
}

/// Returns `command` wrapped so that its standard input, a terminal, becomes its controlling terminal.
fn with_terminal(command: &Command) -> Command {
    let mut wrapped = Command::new("setsid");
    wrapped.arg("--ctty").arg(command.get_program());
    wrapped.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

/// Returns the typing end and the reading end of a terminal.
fn terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: both descriptors have room; the remaining pointers may be null, for the defaults (openpty(3)).
    let made = unsafe {
        let (name, settings, size) = (ptr::null_mut(), ptr::null(), ptr::null());
        libc::openpty(&mut ours, &mut theirs, name, settings, size)
    };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: openpty has just opened both descriptors, and nothing else owns them.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    // Programs that we start must not keep our end open. SAFETY: the descriptor is open and ours.
    if unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((ours, theirs))
}

/// Checks that a file uses age's default work factor, so that every program does the same work.
fn check_work_factor(sealed: &Path) -> Result<(), Error> {
    let bytes = fs::read(sealed).map_err(Error::io(sealed.display()))?;
    match work_factor(&bytes) {
        Some(WORK_FACTOR) => Ok(()),
        found => Err(Error::Failed(format!(
            "oarlock encrypt -p: a work factor of {found:?}, and age's is {WORK_FACTOR}"
        ))),
    }
}

/// Returns the work factor of a file whose header has the line `-> scrypt SALT FACTOR`.
fn work_factor(file: &[u8]) -> Option<u32> {
    let mut lines = file.split(|byte| *byte == b'\n');
    let stanza = lines.find_map(|line| line.strip_prefix(b"-> scrypt "))?;
    let stanza = std::str::from_utf8(stanza).ok()?;
    stanza.split(' ').nth(1)?.parse().ok()
}

const WORK_FACTOR: u32 = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_factor_is_in_the_header() {
        let header =
            b"age-encryption.org/v1\n-> scrypt bBjlhJVYZeE4aqUdmtRHfw 18\nabc\n--- x\n\xff";
        assert_eq!(work_factor(header), Some(18));
        assert_eq!(work_factor(b"age-encryption.org/v1\n-> X25519 abc\n"), None);
        assert_eq!(work_factor(b"-> scrypt bBjl\n"), None);
    }

    #[test]
    fn what_is_typed_is_read_from_the_terminal_of_the_program() {
        let (ours, theirs) = terminal().unwrap();
        File::from(ours.try_clone().unwrap())
            .write_all(b"first\nsecond\n")
            .unwrap();
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "read a </dev/tty && read b </dev/tty && echo $X $b $a",
        ]);
        command.env("X", "y");
        let output = with_terminal(&command).stdin(theirs).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout, b"y second first\n", "{error}");
    }
}
