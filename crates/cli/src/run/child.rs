//! Runs a command as if in this process's place: its signals, its exit status.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

use crate::failure::{Failure, reason};
use crate::interrupt::is_ignored;

/// Runs it to its end and forwards signals that are sent to this process; signals of a terminal reach it
/// anyway, in the same process group. Returns the exit status that a shell would give.
pub(super) fn run(command: &mut Command) -> Result<u8, Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("signals: {}", reason(&error))).with_status(OWN_FAILURE)
    };
    // What is ignored, as under nohup, stays so in the command.
    let caught = FORWARDED.iter().filter(|signal| !is_ignored(**signal));
    let mut signals =
        SignalsInfo::<WithRawSiginfo>::new(caught.chain(&[SIGCHLD])).map_err(failed)?;
    let mut child = command.spawn().map_err(|error| not_run(command, &error))?;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            let code = match (status.code(), status.signal()) {
                (Some(code), _) => code as u8,
                (None, signal) => 128 + signal.unwrap_or(0) as u8,
            };
            return Ok(code);
        }
        for info in signals.wait() {
            let is_from_a_process = info.si_code <= 0; // sigaction(2): SI_USER, SI_QUEUE, SI_TKILL
            if info.si_signo != SIGCHLD && is_from_a_process {
                forward(&child, info.si_signo);
            }
        }
    }
}

/// CPU time of all children that have ended so far, and of theirs.
pub(super) fn cpu_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Duration::ZERO;
    };
    let time = |time: TimeVal| {
        let microseconds = 1_000_000 * time.tv_sec() + time.tv_usec();
        Duration::from_micros(microseconds.try_into().unwrap_or_default())
    };
    time(usage.user_time()) + time(usage.system_time())
}

/// It was not waited for yet, so the number is still its own.
fn forward(child: &Child, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        // It may have ended by now.
        let _ = kill_process(Pid::from_child(child), signal);
    }
}

/// With the exit status that a shell would give.
fn not_run(command: &Command, error: &io::Error) -> Failure {
    let status = match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    };
    let name = command.get_program().display();
    Failure::new(format!("{name}: {}", reason(error))).with_status(status)
}

const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
/// The exit status where oarlock itself fails. As for env(1) and timeout(1): distinct from the exit status
/// of most commands.
pub(super) const OWN_FAILURE: u8 = 125;
