//! A process, with the CPU time and the memory that it and its children used.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use oarlock_measure::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::system::interrupt;

/// A running process, which is killed if this is dropped.
pub(crate) struct Running {
    name: String,
    child: Child,
    end: OwnedFd,
    is_over: bool,
}

/// The result of a process that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// CPU time of the process and of the descendants that were waited for: `ssh` by `scp`, shell and command by `sshd`. The
    /// kernel counts it to the nanosecond, and other programs do not add to it.
    pub(crate) cpu_seconds: f64,
    /// The greatest resident set of the process or of one of those descendants. It is at least this program's own: a child
    /// starts with its parent's maximum, and execve keeps it (the kernel's `exec_mmap` in fs/exec.c, setmax_mm_hiwater_rss).
    /// This program therefore stays small.
    pub(crate) resident_bytes: u64,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(Error::io(&name))?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(end) => Ok(Self {
                name,
                child,
                end,
                is_over: false,
            }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(Error::Failed(format!("{name}: pidfd_open: {error}")))
            }
        }
    }

    /// Returns the process's output, if its command pipes it.
    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the process has ended, and kills it after `limit`.
    pub(crate) fn end(mut self, limit: Duration) -> Result<Ended, Error> {
        if !is_ready(self.end.as_fd(), limit)? {
            return Err(Error::Failed(format!(
                "{} has not ended after {} s",
                self.name,
                limit.as_secs()
            )));
        }
        let mut status = 0;
        // SAFETY: `rusage` consists of integers, for which all zeros are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let id = self.child.id().cast_signed();
        // SAFETY: the child is ours and was not waited for, and both results have room.
        let waited = unsafe { libc::wait4(id, &mut status, 0, &mut usage) };
        if waited < 0 {
            return Err(Error::io(&self.name)(io::Error::last_os_error()));
        }
        self.is_over = true;
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Ok(Ended {
            status: ExitStatus::from_raw(status),
            cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            // `ru_maxrss` is in KiB (getrusage(2)).
            resident_bytes: usage.ru_maxrss.cast_unsigned() * 1024,
        })
    }
}

impl AsFd for Running {
    /// Returns a descriptor that is readable once the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn is_ready(fd: BorrowedFd<'_>, limit: Duration) -> Result<bool, Error> {
    Ok(ready(&[fd], limit)? == Some(0))
}

/// Returns the index of the first of `fds` that is readable, or `None` after `limit`.
pub(crate) fn ready(fds: &[BorrowedFd<'_>], limit: Duration) -> Result<Option<usize>, Error> {
    let mut polled: Vec<_> = fds
        .iter()
        .map(|fd| PollFd::new(fd, PollFlags::IN))
        .collect();
    let limit = Timespec {
        tv_sec: limit.as_secs().cast_signed(),
        tv_nsec: limit.subsec_nanos().into(),
    };
    while let Err(error) = poll(&mut polled, Some(&limit)) {
        if error != Errno::INTR {
            return Err(Error::Failed(format!("waiting for a process: {error}")));
        }
        interrupt::check()?;
    }
    Ok(polled.iter().position(|fd| !fd.revents().is_empty()))
}

/// Returns the output of a command, which must succeed.
pub(crate) fn said(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io(&name))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(Error::Failed(format!("{name}: {}", why.trim())))
}

/// A shell script that ends when it has used 20 ms of CPU time by the kernel's own count: the first figure of `schedstat`,
/// in nanoseconds.
#[cfg(test)]
pub(crate) const BUSY: &str = "ns=0; \
     while [ $ns -lt 20000000 ]; do read -r ns rest < /proc/self/schedstat || exit; done";
/// The least CPU time of that script by getrusage(2), which rounds to microseconds.
#[cfg(test)]
pub(crate) const BUSY_SECONDS_MIN: f64 = 0.0199;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_that_were_waited_for_counts() {
        // A shell inside a shell.
        let script = format!("sh -c '{BUSY}'; exit 3");
        let mut command = Command::new("sh");
        let running = Running::start(command.args(["-c", &script])).unwrap();
        let ended = running.end(Duration::from_secs(60)).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.cpu_seconds >= BUSY_SECONDS_MIN, "{ended:?}");
    }

    #[test]
    fn what_does_not_end_is_killed() {
        let mut command = Command::new("sleep");
        let running = Running::start(command.arg("infinity")).unwrap();
        let pid = running.child.id();
        let error = running.end(Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("sleep has not ended"), "{error}");
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}
