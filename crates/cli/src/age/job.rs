//! What `encrypt` and `decrypt` share: arguments, and when an output is refused.

use std::path::{Path, PathBuf};

use oarlock::{Accelerator, Reservation};

use crate::failure::Failure;
use crate::input::Input;
use crate::job::Threads;
pub(super) use crate::job::{Job, refused};
use crate::options;
use crate::output::Target;
use crate::progress::When;

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
    #[arg(short = 'T', long, value_name = "N", default_value = "auto", value_parser = Threads::parse)]
    threads: Threads,

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
        Self::begin(accelerator, args.threads, args.progress, input, target)
    }
}

/// The accelerator of this process, which has one file at a time.
pub(super) fn accelerator() -> Result<Accelerator, Failure> {
    let mut options = options::parse("")?;
    options.reservation = Reservation::Shared;
    options::build(options)
}
