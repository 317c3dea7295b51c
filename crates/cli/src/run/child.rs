//! Runs a command in this process's place: with its signals and its exit status.

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

/// Runs it to its end and forwards signals that other processes send to this one. Signals of a terminal reach the command
/// anyway, since it is in the same process group. Returns the exit status that a shell would return.
pub(super) fn run(command: &mut Command) -> Result<u8, Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("signals: {}", reason(&error))).with_status(OWN_FAILURE)
    };
    // What this process ignores, as under nohup, stays ignored in the command.
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

/// Returns the CPU time of all children that have ended, and of their own children.
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

/// Sends a signal to the child. It has not been waited for, so the number is still its own.
fn forward(child: &Child, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        // The child may have ended by now.
        let _ = kill_process(Pid::from_child(child), signal);
    }
}

/// Returns the failure to start a command, with the exit status that a shell would return.
fn not_run(command: &Command, error: &io::Error) -> Failure {
    let status = match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    };
    let name = command.get_program().display();
    Failure::new(format!("{name}: {}", reason(error))).with_status(status)
}

const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
/// The exit status if oarlock itself fails. As in env(1) and timeout(1), few commands return it.
pub(super) const OWN_FAILURE: u8 = 125;
