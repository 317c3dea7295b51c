//! Ctrl-C and similar signals, handled without a thread: a flag for code that computes, and a descriptor that turns readable
//! for code that waits. As long as there is nothing to clean up, a signal ends the process as if it were not caught, since
//! the process may be waiting where nothing checks for signals.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oarlock_file::Watch;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::SigId;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::failure::{Failure, reason};

/// Signals that end the command in an orderly way.
#[derive(Clone)]
pub(crate) struct Interrupt {
    /// The number of the last signal, or 0.
    signal: Arc<AtomicUsize>,
    leaves_something: Arc<AtomicBool>,
    /// Whether a signal ends the process at once.
    acts_at_once: Arc<AtomicBool>,
    /// The end of a pipe that is readable from the first signal on. Nothing reads from it, so every waiter sees the signal.
    seen: Arc<OwnedFd>,
}

impl Interrupt {
    /// Catches SIGINT, SIGTERM and SIGHUP, unless they are ignored, as under nohup. With `second_kills` a second signal ends
    /// the process at once. This is for outputs that may block where nothing checks for signals, and that leave nothing to
    /// clean up.
    pub(crate) fn catch(second_kills: bool) -> Result<Self, Failure> {
        let fail = |error: io::Error| Failure::new(format!("signals: {}", reason(&error)));
        let (seen, notify) = io::pipe().map_err(fail)?;
        let signal = Arc::new(AtomicUsize::new(0));
        let acts_at_once = Arc::new(AtomicBool::new(true));
        for number in [SIGINT, SIGTERM, SIGHUP] {
            if is_ignored(number) {
                continue;
            }
            let condition = Arc::clone(&acts_at_once);
            signal_hook::flag::register_conditional_default(number, condition).map_err(fail)?;
            // The actions run in the order of their registration. The flag is set when the pipe turns readable, and the
            // first signal finds the shutdown not yet armed.
            if second_kills {
                let armed = Arc::new(AtomicBool::new(false));
                let status = 128 + number;
                signal_hook::flag::register_conditional_shutdown(
                    number,
                    status,
                    Arc::clone(&armed),
                )
                .and_then(|_| signal_hook::flag::register(number, armed))
                .map_err(fail)?;
            }
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)
                .map_err(fail)?;
            let notify = notify.try_clone().map_err(fail)?;
            signal_hook::low_level::pipe::register(number, OwnedFd::from(notify)).map_err(fail)?;
        }
        // With a handler for SIGXFSZ, a write beyond `ulimit -f` fails with EFBIG instead of ending the process.
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(fail)?;
        Ok(Self {
            signal,
            leaves_something: Arc::new(AtomicBool::new(false)),
            acts_at_once,
            seen: Arc::new(seen.into()),
        })
    }

    /// From now on, a signal does not end the process before it has cleaned up; callers check for signals.
    pub(crate) fn leaves_something(&self) {
        self.leaves_something.store(true, Ordering::SeqCst);
        self.acts_at_once.store(false, Ordering::SeqCst);
    }

    /// Delays signals that would end the process at once, until the returned value is dropped.
    pub(crate) fn hold(&self) -> Held<'_> {
        self.acts_at_once.store(false, Ordering::SeqCst);
        Held(self)
    }

    /// Returns the descriptor that is readable from the first signal on.
    pub(crate) fn seen(&self) -> BorrowedFd<'_> {
        self.seen.as_fd()
    }

    /// Fails if a signal has arrived.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.signal.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::interrupted(signal as u8)),
        }
    }

    /// Waits until `file` is ready for `what`, or has ended. Fails if a signal arrives first.
    pub(crate) fn wait(&self, file: impl AsFd, what: PollFlags) -> Result<(), Failure> {
        self.wait_for_one(&[PollFd::new(&file, what)]).map(|_| ())
    }

    /// Waits until one of `files` is ready, or has ended, and returns the index of the first that is. Fails if a signal
    /// arrives first.
    pub(crate) fn wait_for_one(&self, files: &[PollFd<'_>]) -> Result<usize, Failure> {
        let mut watched: Vec<PollFd<'_>> = files.to_vec();
        watched.push(PollFd::new(&*self.seen, PollFlags::IN));
        loop {
            match poll(&mut watched, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => {}
                // Out of memory, or a descriptor that does not support poll: the caller's read or write reports it.
                Err(_) => return self.check().map(|()| files.len() - 1),
            }
            self.check()?;
            let ready = watched.iter().position(|file| !file.revents().is_empty());
            if let Some(place) = ready {
                return Ok(place);
            }
        }
    }
}

/// A delay of signals, until something short-lived is undone.
pub(crate) struct Held<'a>(&'a Interrupt);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let Interrupt {
            signal,
            leaves_something,
            acts_at_once,
            ..
        } = self.0;
        if leaves_something.load(Ordering::SeqCst) {
            return;
        }
        acts_at_once.store(true, Ordering::SeqCst);
        // Another thread may have begun an output between the two lines.
        if leaves_something.load(Ordering::SeqCst) {
            acts_at_once.store(false, Ordering::SeqCst);
            return;
        }
        let signal = signal.load(Ordering::SeqCst);
        if signal != 0 {
            // This ends the process.
            let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
        }
    }
}

/// A watch for SIGCONT, which shows that the process resumes after a stop. It lasts until it is dropped.
pub(crate) struct Resumed {
    seen: io::PipeReader,
    handler: SigId,
}

impl Resumed {
    pub(crate) fn watch() -> io::Result<Self> {
        let (seen, notify) = io::pipe()?;
        let handler = signal_hook::low_level::pipe::register(SIGCONT, OwnedFd::from(notify))?;
        Ok(Self { seen, handler })
    }

    /// Returns a descriptor that is readable once the process has resumed.
    pub(crate) fn readable(&self) -> PollFd<'_> {
        PollFd::new(&self.seen, PollFlags::IN)
    }

    /// Resets the watch.
    pub(crate) fn forget(&mut self) {
        let _ = self.seen.read(&mut [0; 64]);
    }
}

impl Drop for Resumed {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.handler);
    }
}

impl Watch for Interrupt {
    fn is_stopped(&self) -> bool {
        self.check().is_err()
    }

    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool {
        self.wait(file, what).is_ok()
    }

    fn advanced(&self, _: u64) {}
}

/// Whether this process ignores the signal, as one started by nohup does SIGHUP.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // Bit N - 1 is signal N.
    ignored_signals() & (1 << (signal - 1)) != 0
}

fn ignored_signals() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        })
        .unwrap_or(0)
}
