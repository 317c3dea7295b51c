//! The parts that `encrypt` and `decrypt` share: a file's input and output, signals and the progress bar.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use oarlock::{Accelerator, Reservation};
use oarlock_file::{Cache, Ends, Error, Format, Range, Waiting, Watch, Workspace};
use rustix::event::PollFlags;

use super::report::{FileReport, Outcome};
use crate::failure::Failure;
use crate::folder::{Place, is_for_folder};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::job::{Threads, failed};
use crate::output::apart::check_removed;
use crate::output::{Naming, Needed, Output, Target, Wanted, is_open_file};
use crate::progress::{Progress, When};
use crate::terminal::Asker;
use crate::{options, stdout};

/// Arguments that `encrypt` and `decrypt` share.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// Files to read; standard input if absent or `-`. Without -o, the output of each goes to a file next to it whose
    /// name gains or loses `.age`; the output of a pipe, a device or standard input goes to standard output
    #[arg(value_name = "FILE")]
    pub(super) inputs: Vec<PathBuf>,

    /// File to write, or `-` for standard output. A directory, or a name with a slash at its end, gets a file
    /// for each FILE instead; with several FILEs it must be one. A file appears under its name only on success
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,

    /// Treat the PATH of -o as a directory; create it if needed. Without -o, write each output next to its FILE
    #[arg(long)]
    pub(super) each: bool,

    /// Process directories and all that is in them. Below -o the tree is made again: directories and files
    /// with the modes of the old ones, less the umask, and symbolic links that say the same. They are not
    /// followed. Pipes, sockets and devices are left out and named. DIRECTORY/. stands for what is in it, as
    /// for cp. Names, the tree and the targets of links stay readable: only contents are encrypted
    #[arg(long)]
    pub(super) recursive: bool,

    /// Replace existing outputs. A new one has the owner, group, mode and ACL of the old one; where that
    /// is not permitted, fewer users may use it
    #[arg(short, long)]
    pub(super) force: bool,

    /// Remove each input once its output is on the disk
    #[arg(long)]
    pub(super) rm: bool,

    /// Wait until the output is on the disk
    #[arg(long)]
    pub(super) sync: bool,

    /// Give the output the mode, ACL, times and extended attributes of the input and, where that is
    /// permitted, its owner and group
    #[arg(long)]
    pub(super) preserve: bool,

    /// Leave holes in the output for every 64 KiB of zeros
    #[arg(long)]
    pub(super) sparse: bool,

    /// Report each file on standard output, one line of JSON each
    #[arg(long)]
    pub(super) json: bool,

    /// Number of threads, at most one for each CPU; `auto` takes all CPUs
    #[arg(short = 'T', long, value_name = "N", default_value = "auto", value_parser = Threads::parse)]
    threads: Threads,

    /// Whether to draw a progress bar on stderr
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: When,
}

impl Common {
    /// Whether standard input is read for data.
    pub(super) fn reads_stdin(&self) -> bool {
        self.inputs.is_empty() || self.inputs.iter().any(|path| path.as_os_str() == "-")
    }

    /// Whether an output must be on disk before the command goes on.
    pub(super) fn lasts(&self) -> bool {
        self.sync || self.rm
    }

    /// Whether the command chooses the names of the outputs.
    fn is_many(&self) -> bool {
        if self.each || self.recursive || self.inputs.len() > 1 {
            return true;
        }
        let Some(input) = self.inputs.first().filter(|path| path.as_os_str() != "-") else {
            return false;
        };
        match self.output.as_deref() {
            Some(path) => is_for_folder(path) || path.is_dir(),
            // A pipe, a device or an open file is treated as standard input is.
            None if is_open_file(input) => false,
            None => {
                std::fs::metadata(input).map_or(true, |found| found.is_file() || found.is_dir())
            }
        }
    }

    /// Returns the first input, if one was named.
    fn input(&self) -> Option<&Path> {
        self.inputs.first().map(PathBuf::as_path)
    }
}

/// One invocation of the command.
pub(super) struct Call<'a> {
    pub(super) args: &'a Common,
    /// Whether the command chooses the names of the outputs.
    pub(super) is_many: bool,
    pub(super) accelerator: Accelerator,
    pub(super) interrupt: Interrupt,
    pub(super) progress: Progress,
    /// The files that it reads besides the inputs.
    pub(super) needed: Vec<Needed>,
}

/// The threads that work on a file.
pub(super) enum Hands<'a> {
    /// All threads.
    All,
    /// The calling thread, while the others process other files.
    This(&'a mut Workspace),
}

/// The destination of a file's output.
pub(super) enum Destination<'a> {
    /// The path of -o, or standard output.
    Path(Option<&'a Path>),
    /// A place that the command chose.
    Place(Place),
}

/// The content of an output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Plaintext,
    Ciphertext,
    /// Ciphertext as text (PEM).
    Armor,
}

/// One file that is being processed.
pub(super) struct FileJob<'a> {
    call: &'a Call<'a>,
    pub(super) input: Input,
    pub(super) output: Output,
}

impl<'a> Call<'a> {
    /// Prepares the invocation, which reads the files `needed` besides the inputs. `is_part` means a range of one file, whose
    /// output never gets a name by default.
    pub(super) fn new(
        args: &'a Common,
        needed: Vec<Needed>,
        is_part: bool,
    ) -> Result<Self, Failure> {
        let is_many = args.is_many() && !is_part;
        if args.json {
            stdout::check_open()?;
        }
        let mut options = options::parse("")?;
        options.reservation = Reservation::Shared;
        let on_stdout = !is_many
            && args
                .output
                .as_deref()
                .is_none_or(|path| path.as_os_str() == "-");
        Ok(Self {
            args,
            is_many,
            accelerator: options::build(options)?,
            interrupt: Interrupt::catch(on_stdout)?,
            progress: Progress::new(args.progress, None, on_stdout),
            needed,
        })
    }

    /// Returns the number of threads that help the calling thread.
    pub(super) fn helpers(&self) -> usize {
        self.args.threads.helpers(&self.accelerator)
    }

    /// Returns a handle for questions to the user.
    pub(super) fn asker(&self) -> Asker {
        Asker::new(&self.interrupt, &self.progress)
    }

    /// Opens the output for `input`.
    pub(super) fn job(
        &'a self,
        input: Input,
        output: Destination<'_>,
        content: Content,
    ) -> Result<FileJob<'a>, Failure> {
        let is_chosen = matches!(output, Destination::Place(_));
        let mut target = self.target(output, content)?;
        if self.args.rm && target.is_direct() {
            return Err(Failure::usage(
                "--rm needs an output that lasts, and a device or a pipe does not: name a file with -o",
            ));
        }
        if is_chosen {
            target.set_mode_of(&input.file);
        }
        if self.args.preserve {
            target.set_rights_of(&input.file)?;
        }
        if self.args.rm {
            check_removed(input.identity(), &input.name, &self.needed)?;
        }
        let naming = match self.args.force {
            true => Naming::Replace,
            false => Naming::New,
        };
        self.interrupt.leaves_something();
        let output = target.open(naming)?;
        output.check_apart_from(&input.file)?;
        Ok(FileJob {
            call: self,
            input,
            output,
        })
    }

    pub(super) fn target(
        &self,
        output: Destination<'_>,
        content: Content,
    ) -> Result<Target, Failure> {
        let target = match output {
            Destination::Path(path) => Target::find(path),
            Destination::Place(place) => Target::at(place),
        }?;
        target.check_apart(&self.needed)?;
        if content == Content::Ciphertext {
            target.check_takes_ciphertext()?;
        }
        match target {
            Target::Named {
                name,
                wanted: Wanted::OfReplaced(_),
                ..
            } if !self.args.force => Err(Failure::new(format!(
                "{name}: exists already: --force replaces it"
            ))),
            target => Ok(target),
        }
    }

    /// Returns the failure for `error`, which names the input or the output.
    fn failed(&self, input: &Input, output: &Output, error: Error) -> Failure {
        failed(&self.interrupt, input, output, error)
    }
}

impl Watch for Call<'_> {
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

impl<'a> FileJob<'a> {
    /// Processes the input from its current position to the end, or only `range`.
    pub(super) fn run(
        &self,
        format: &impl Format,
        hands: Hands<'_>,
        range: Option<Range>,
    ) -> Result<(), Failure> {
        let call = self.call;
        let ends = Ends {
            input: &self.input.file,
            input_bytes: self.input.size,
            output: self.output.file(),
            is_positional: self.output.is_positional,
            is_regular: self.output.is_regular,
            makes_holes: call.args.sparse && self.output.is_new(),
            cache: Cache::for_file(self.input.size.unwrap_or(0)),
        };
        let (accelerator, helpers) = (&call.accelerator, call.helpers());
        match (range, hands) {
            (Some(range), _) => {
                oarlock_file::run_range(accelerator, helpers, &ends, format, self, range)
            }
            (None, Hands::All) => oarlock_file::run(accelerator, helpers, &ends, format, self),
            (None, Hands::This(workspace)) => {
                oarlock_file::run_alone(workspace, &ends, format, self)
            }
        }
        .map_err(|error| self.failed(error))
    }

    /// Returns the failure for `error`, which names the input or the output.
    pub(super) fn failed(&self, error: Error) -> Failure {
        self.call.failed(&self.input, &self.output, error)
    }

    /// Returns the input, for reading on this thread.
    pub(super) fn read(&self) -> Waiting<'_, Call<'a>> {
        Waiting::new(&self.input.file, self.input.size.is_some(), self.call)
    }

    /// Returns the output, for writing on this thread.
    pub(super) fn written(&self) -> Waiting<'_, Call<'a>> {
        Waiting::new(self.output.file(), self.output.is_regular, self.call)
    }

    /// Adds `bytes` to the progress, and returns whether to go on.
    pub(super) fn advance(&self, bytes: u64) -> bool {
        self.advanced(bytes);
        !self.is_stopped()
    }

    /// Gives the output its name if `result` is a success, then removes the input if `--rm` is given.
    pub(super) fn end(self, result: Result<(), Failure>) -> Result<Outcome, Failure> {
        result?;
        let args = self.call.args;
        self.call.interrupt.check()?;
        let (bytes_read, bytes_written) = (self.input.size, self.output.bytes());
        if args.preserve {
            self.output.preserve(&self.input.file)?;
        }
        self.output.commit(args.lasts())?;
        if args.rm {
            self.input.remove()?;
        }
        Ok(Outcome {
            bytes_read,
            bytes_written,
        })
    }
}

impl Watch for FileJob<'_> {
    fn is_stopped(&self) -> bool {
        self.call.is_stopped() || self.output.is_full().is_some()
    }

    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool {
        self.call.wait(file, what)
    }

    fn advanced(&self, bytes: u64) {
        self.call.advanced(bytes);
    }
}

/// Processes one input into one output.
pub(super) fn one(
    call: &Call<'_>,
    content: Content,
    work: impl FnOnce(Input, Destination<'_>, Hands<'_>) -> Result<Outcome, Failure>,
) -> Result<(), Failure> {
    let args = call.args;
    let output = args.output.as_deref();
    let named = output.filter(|path| path.as_os_str() != "-");
    if args.rm && (named.is_none() || args.reads_stdin()) {
        return Err(Failure::usage(
            "--rm needs a FILE to remove, and its output in a file",
        ));
    }
    if args.json && named.is_none() {
        return Err(Failure::usage(
            "--json and the data would both go to standard output: name a file for the data with -o",
        ));
    }
    let began = call.progress.working();
    // Check the output before asking for a passphrase.
    call.target(Destination::Path(output), content)?;
    let result = Input::open(args.input()).and_then(|input| {
        call.progress.expect(input.size);
        let name = input.name.clone();
        work(input, Destination::Path(output), Hands::All).map(|outcome| (name, outcome))
    });
    call.progress.clear();
    let (name, outcome) = result?;
    if let Some(output) = named.filter(|_| args.json) {
        let took = call.progress.working().saturating_sub(began);
        let report = FileReport::done(Path::new(&name), output, outcome, took);
        stdout::write(report.to_string())?;
    }
    Ok(())
}
