//! A file on its way: both ends, signals, the bar, and whoever helps.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use oarlock::{Accelerator, Reservation};
use oarlock_file::{Ends, Error, Format, Watch};
use rustix::event::PollFlags;

use crate::failure::{Failure, reason};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::options;
use crate::output::{Output, Target};
use crate::progress::{Progress, When};

/// Arguments that `encrypt` and `decrypt` share.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// File to read; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,

    /// File to write; standard output if absent or `-`. It gets its name when all has gone well
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the output if there is one already
    #[arg(short, long)]
    force: bool,

    /// Threads at work, at most one for each CPU: a number, or `auto` for all CPUs
    #[arg(short = 'T', long, value_name = "N", default_value = "auto", value_parser = crate::enc::threads)]
    threads: crate::enc::Threads,

    /// Whether to draw a progress bar on stderr
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: When,
}

impl Common {
    /// Whether standard input is what is read.
    pub(super) fn reads_stdin(&self) -> bool {
        let path = self.input.as_deref();
        path.is_none_or(|path| path.as_os_str() == "-")
    }

    /// Whether the output was not named.
    pub(super) fn is_output_left_open(&self) -> bool {
        self.output.is_none()
    }

    pub(super) fn input_path(&self) -> Option<&Path> {
        self.input.as_deref()
    }
}

pub(super) struct Job {
    pub(super) accelerator: Accelerator,
    helpers: usize,
    pub(super) input: Input,
    pub(super) output: Output,
    interrupt: Interrupt,
    progress: Progress,
}

impl Job {
    /// Opens the output for what `input` has. `is_text`: a terminal may be shown it.
    pub(super) fn new(
        args: &Common,
        accelerator: Accelerator,
        input: Input,
        is_text: bool,
    ) -> Result<Self, Failure> {
        use std::io::IsTerminal as _;
        if args.is_output_left_open() && !is_text && std::io::stdout().is_terminal() {
            return Err(Failure::usage(
                "a terminal is no place for encrypted bytes: name a file by -o, or make them text by -a",
            ));
        }
        let target = Target::find(args.output.as_deref())?;
        if let Target::Named {
            name,
            mode: Some(_),
            ..
        } = &target
            && !args.force
        {
            return Err(Failure::usage(format!(
                "{name}: is there already: --force replaces it"
            )));
        }
        let interrupt = Interrupt::catch(target.is_direct())?;
        let output = target.open()?;
        output.check_apart_from(&input.file)?;
        Ok(Self {
            helpers: args.threads.helpers(&accelerator),
            progress: Progress::new(args.progress, input.size),
            accelerator,
            input,
            output,
            interrupt,
        })
    }

    /// The rest of the input, from where it stands.
    pub(super) fn run(&self, format: &impl Format) -> Result<(), Failure> {
        let ends = Ends {
            input: &self.input.file,
            input_bytes: self.input.size,
            output: self.output.file(),
            is_positional: self.output.is_positional,
            is_regular: self.output.is_regular,
        };
        oarlock_file::run(&self.accelerator, self.helpers, &ends, format, self)
            .map_err(|error| self.failed(error))
    }

    /// In the words of the command.
    pub(super) fn failed(&self, error: Error) -> Failure {
        match error {
            Error::Stopped => match self.interrupt.check() {
                Err(interrupted) => interrupted,
                Ok(()) => Failure::new("stopped before the end"),
            },
            Error::Read { at, error } => self.input.failed(at, &error),
            Error::Write { at, error } => self.output.failed(at, &error),
            Error::CutShort { at } => self.input.cut_short(at),
            other => refused(&self.input.name, other),
        }
    }

    /// So many bytes done; whether to go on.
    pub(super) fn advance(&self, bytes: u64) -> bool {
        self.progress.add(bytes);
        !self.is_stopped()
    }

    /// Gives the output its name, when all has gone well.
    pub(super) fn end(self, result: Result<(), Failure>) -> Result<(), Failure> {
        self.progress.clear();
        result?;
        self.interrupt.check()?;
        self.output.commit()
    }
}

impl Watch for Job {
    fn is_stopped(&self) -> bool {
        self.interrupt.check().is_err()
    }

    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool {
        self.interrupt.wait(file, what).is_ok()
    }

    fn advanced(&self, bytes: u64) {
        self.progress.add(bytes);
    }
}

/// What was wrong with the file `name`.
pub(super) fn refused(name: &str, error: Error) -> Failure {
    let advice = match &error {
        Error::NoMatchingIdentity => ": give the identity of one of its recipients by -i",
        Error::Authentication { .. } | Error::HeaderMac => ": nothing that was changed is put out",
        Error::Incomplete { .. } | Error::Truncated { .. } => ": get the whole file again",
        _ => "",
    };
    let what = match &error {
        Error::Read { at, error } => format!("{} at byte {at}", reason(error)),
        other => super::one_line(&other.to_string()),
    };
    Failure::new(format!("{name}: {what}{advice}"))
}

/// The accelerator of this process, which has one file at a time.
pub(super) fn accelerator() -> Result<Accelerator, Failure> {
    let mut options = options::parse("")?;
    options.reservation = Reservation::Shared;
    options::build(options)
}
