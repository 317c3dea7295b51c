//! One file from input to output: both ends, signals, progress, threads, and errors.

use std::os::fd::BorrowedFd;

use oarlock::Accelerator;
use oarlock_file::{Cache, Ends, Error, Format, Watch};
use rustix::event::PollFlags;

use crate::failure::{Failure, reason};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::output::{Naming, Output, Target};
use crate::progress::Progress;

/// One file from input to output, on all threads.
pub(crate) struct Job {
    accelerator: Accelerator,
    helpers: usize,
    input: Input,
    pub(crate) output: Output,
    interrupt: Interrupt,
    progress: Progress,
}

impl Job {
    /// Opens the output, which replaces an existing file only on success.
    pub(crate) fn begin(
        accelerator: Accelerator,
        threads: Threads,
        progress: Progress,
        interrupt: Interrupt,
        input: Input,
        target: Target,
    ) -> Result<Self, Failure> {
        interrupt.leaves_something();
        let output = target.open(Naming::Replace)?;
        output.check_apart_from(&input.file)?;
        Ok(Self {
            helpers: threads.helpers(&accelerator),
            progress,
            accelerator,
            input,
            output,
            interrupt,
        })
    }

    /// Processes the input from its current position to the end.
    pub(crate) fn run(&self, format: &impl Format) -> Result<(), Failure> {
        let ends = Ends {
            input: &self.input.file,
            input_bytes: self.input.size,
            output: self.output.file(),
            is_positional: self.output.is_positional,
            is_regular: self.output.is_regular,
            makes_holes: false,
            cache: Cache::for_file(self.input.size.unwrap_or(0)),
        };
        oarlock_file::run(&self.accelerator, self.helpers, &ends, format, self)
            .map_err(|error| self.failed(error))
    }

    /// Returns the failure for `error`, which names the input or the output.
    pub(crate) fn failed(&self, error: Error) -> Failure {
        failed(&self.interrupt, &self.input, &self.output, error)
    }

    /// Gives the output its name if `result` is a success.
    pub(crate) fn end(self, result: Result<(), Failure>) -> Result<(), Failure> {
        self.progress.clear();
        result?;
        self.interrupt.check()?;
        if !self.output.is_file(&self.input.file) {
            self.input.check_unchanged()?;
        }
        self.output.commit(false)
    }
}

impl Watch for Job {
    fn is_stopped(&self) -> bool {
        self.interrupt.check().is_err() || self.output.is_full().is_some()
    }

    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool {
        self.interrupt.wait(file, what).is_ok()
    }

    fn advanced(&self, bytes: u64) {
        self.progress.add(bytes);
    }
}

/// Returns the failure for an error on the way from `input` to `output`.
pub(crate) fn failed(
    interrupt: &Interrupt,
    input: &Input,
    output: &Output,
    error: Error,
) -> Failure {
    match error {
        Error::Stopped => match interrupt.check() {
            Err(interrupted) => interrupted,
            Ok(()) => {
                let full = output.is_full();
                full.unwrap_or_else(|| Failure::new("stopped before the end"))
            }
        },
        Error::Read { at, error } => input.failed(at, &error),
        Error::Write { at, error } => output.failed(at, &error),
        Error::CutShort { at } => input.cut_short(at),
        error @ (Error::Padding | Error::PartialBlock) if output.is_direct() => {
            let refused = refused(&input.name, error);
            let name = &output.name;
            Failure::new(format!(
                "{refused}: {name} has already received what came before"
            ))
        }
        // A signal may have ended the wait for a plugin.
        #[cfg(feature = "age")]
        Error::Identity(error) => match interrupt.check() {
            Err(interrupted) => interrupted,
            Ok(()) => refused(&input.name, Error::Identity(error)),
        },
        other => refused(&input.name, other),
    }
}

/// Returns the failure for an error of the file `name`, with advice.
pub(crate) fn refused(name: &str, error: Error) -> Failure {
    let advice = match &error {
        Error::NoMatchingIdentity => ": give the identity of one of its recipients with -i",
        Error::Authentication { .. } | Error::HeaderMac => ": no changed data were written",
        Error::Incomplete { .. } | Error::Truncated { .. } | Error::PartialBlock => {
            ": get the whole file again"
        }
        _ => "",
    };
    let what = match &error {
        Error::Read { at, error } => format!("{} at byte {at}", reason(error)),
        other => one_line(&other.to_string()),
    };
    Failure::new(format!("{name}: {what}{advice}"))
}

/// Joins a message of the `age` crate into one line. It may have several, the first of which says what is wrong, and
/// direction marks around values.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(['\u{2068}', '\u{2069}'], "")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

#[derive(Clone, Copy)]
pub(crate) enum Threads {
    Auto,
    Exactly(usize),
}

impl Threads {
    /// Parses the option's value, for clap.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse() {
            Ok(count @ 1..) => Ok(Self::Exactly(count)),
            _ => Err("expected `auto` or a whole number from 1 on".into()),
        }
    }

    /// Returns the number of threads that help the caller. One cipher's limit applies.
    pub(crate) fn helpers(self, accelerator: &Accelerator) -> usize {
        let max = accelerator.parallelism() - 1;
        let max = max.min(accelerator.options().cipher_threads);
        match self {
            Self::Auto => max,
            Self::Exactly(threads) => max.min(threads - 1),
        }
    }
}
