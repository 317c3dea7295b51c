//! Questions to the user. They go to the terminal of the process and never to standard input, which may be data. A signal
//! during a question first restores the terminal, and then acts.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::failure::{Failure, printable, reason};
use crate::interrupt::{Interrupt, Resumed};
use crate::progress::Progress;

/// A handle for questions to the user.
#[derive(Clone)]
pub(crate) struct Asker {
    interrupt: Interrupt,
    progress: Progress,
}

/// The reason why a question has no answer.
pub(crate) enum NoAnswer {
    /// The process has no terminal.
    NoTerminal,
    Failed(Failure),
}

impl Asker {
    /// Creates a handle. `progress` pauses during a question.
    pub(crate) fn new(interrupt: &Interrupt, progress: &Progress) -> Self {
        Self {
            interrupt: interrupt.clone(),
            progress: progress.clone(),
        }
    }

    /// Asks for an answer that is not shown as it is typed.
    pub(crate) fn secret(&self, question: &str) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        self.ask(question, true)
    }

    /// Asks for an answer that may be shown.
    pub(crate) fn line(&self, question: &str) -> Result<String, NoAnswer> {
        let answer = self.ask(question, false)?;
        Ok(String::from_utf8_lossy(&answer).trim().to_owned())
    }

    /// Shows `text` on a line of the terminal, where no log keeps it.
    pub(crate) fn tell(&self, text: &str) -> Result<(), NoAnswer> {
        let mut terminal = Terminal::open()?;
        self.progress.pause(|| terminal.show(&format!("{text}\n")))
    }

    fn ask(&self, question: &str, is_secret: bool) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        let mut terminal = Terminal::open()?;
        self.progress.pause(|| {
            let _held = self.interrupt.hold();
            // Watch before hiding anything: the process may be stopped at any time from then on.
            let resumed = Resumed::watch().map_err(broken)?;
            let hidden = is_secret.then(|| Hidden::hide(&terminal)).transpose()?;
            let question = printable(question);
            terminal.show(&question)?;
            terminal.read_line(&self.interrupt, resumed, |terminal| {
                // While this process was stopped, the shell may have turned echo on, and the question is out of sight.
                hidden.as_ref().map_or(Ok(()), Hidden::hide_again)?;
                terminal.show(&question)
            })
        })
    }
}

/// The controlling terminal of this process, or else the terminal that is its standard input.
struct Terminal {
    input: File,
    output: File,
}

impl Terminal {
    fn open() -> Result<Self, NoAnswer> {
        let both = OpenOptions::new().read(true).write(true).open("/dev/tty");
        let (input, output) = match both {
            Ok(file) => (file.try_clone().map_err(broken)?, file),
            Err(_) if io::stdin().is_terminal() => {
                let input = io::stdin().as_fd().try_clone_to_owned();
                let output = io::stderr().as_fd().try_clone_to_owned();
                (
                    input.map_err(broken)?.into(),
                    output.map_err(broken)?.into(),
                )
            }
            Err(_) => return Err(NoAnswer::NoTerminal),
        };
        Ok(Self { input, output })
    }

    fn show(&mut self, text: &str) -> Result<(), NoAnswer> {
        self.output.write_all(text.as_bytes()).map_err(broken)
    }

    /// Reads up to the end of the line, without it. Calls `resume` when the process continues after a stop.
    fn read_line(
        &mut self,
        interrupt: &Interrupt,
        mut resumed: Resumed,
        resume: impl Fn(&mut Self) -> Result<(), NoAnswer>,
    ) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        let mut line = Zeroizing::new(Vec::with_capacity(LINE_BYTES_MAX));
        let mut piece = Zeroizing::new([0; LINE_BYTES_MAX]);
        loop {
            let typed = PollFd::new(&self.input, PollFlags::IN);
            let ready = interrupt.wait_for_one(&[resumed.readable(), typed]);
            if ready.map_err(NoAnswer::Failed)? == 0 {
                resumed.forget();
                resume(self)?;
                continue;
            }
            let bytes = match rustix::io::read(&self.input, &mut piece[..]) {
                Ok(bytes) => bytes,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(error) => return Err(broken(error.into())),
            };
            // Ctrl-D ends a line without a line break.
            if bytes == 0 && line.is_empty() {
                let what = "the terminal: nothing was typed";
                return Err(NoAnswer::Failed(Failure::new(what)));
            }
            let room = LINE_BYTES_MAX - line.len();
            line.extend_from_slice(&piece[..bytes.min(room)]);
            if line.last() == Some(&b'\n') {
                line.pop();
                return Ok(line);
            }
            if bytes == 0 || line.len() == LINE_BYTES_MAX {
                return Ok(line);
            }
        }
    }
}

/// Hides what is typed, until it is dropped.
struct Hidden {
    terminal: Terminal,
    before: Termios,
    now: Termios,
}

impl Hidden {
    fn hide(terminal: &Terminal) -> Result<Self, NoAnswer> {
        let terminal = Terminal {
            input: terminal.input.try_clone().map_err(broken)?,
            output: terminal.output.try_clone().map_err(broken)?,
        };
        let before = tcgetattr(&terminal.input).map_err(|error| broken(error.into()))?;
        let mut now = before.clone();
        now.local_modes -= LocalModes::ECHO;
        now.local_modes |= LocalModes::ICANON | LocalModes::ISIG;
        let hidden = Self {
            terminal,
            before,
            now,
        };
        hidden.hide_again()?;
        Ok(hidden)
    }

    fn hide_again(&self) -> Result<(), NoAnswer> {
        // What has been typed already is kept.
        tcsetattr(&self.terminal.input, OptionalActions::Now, &self.now)
            .map_err(|error| broken(error.into()))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal.input, OptionalActions::Now, &self.before);
        // The line break that was typed was not shown either.
        let _ = self.terminal.show("\n");
    }
}

fn broken(error: io::Error) -> NoAnswer {
    NoAnswer::Failed(Failure::new(format!("the terminal: {}", reason(&error))))
}

/// The longest line that a terminal returns (N_TTY_BUF_SIZE).
const LINE_BYTES_MAX: usize = 4096;
