//! `oarlock enc` and `oarlock dec`: in counter mode, the same thing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use oarlock::device::Operation;
use oarlock::{AcceleratedCtr, Accelerator, Reservation, Strategy};
use zeroize::Zeroizing;

use crate::failure::{Failure, without_keys};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::keys::{self, Secret};
use crate::options::OPERATIONS;
use crate::output::{Naming, Output, Target};
use crate::progress::{Progress, When};
use crate::{files, options, stream};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Algorithm and key size
    #[arg(long, value_name = "NAME", value_parser = ciphers())]
    cipher: Operation,

    /// The key in hexadecimal; other users may see it in the process list: --key-file hides it
    #[arg(short = 'K', long, value_name = "HEX", value_parser = Secret::parse,
          required_unless_present = "key_file", conflicts_with = "key_file")]
    key: Option<Secret>,

    /// Read the key, in hexadecimal, from FILE; `-` reads it from standard input
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// The first counter block in hexadecimal: 32 digits; never use one twice with the same key
    #[arg(long, value_name = "HEX")]
    iv: String,

    /// File to read; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,

    /// File to write; standard output if absent or `-`. It is replaced when all has gone well, and
    /// may be the same as INPUT
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Threads at work, at most one for each CPU: a number, or `auto` for all CPUs
    #[arg(short = 'T', long, value_name = "N", default_value = "auto", value_parser = threads)]
    threads: Threads,

    /// Options of the accelerator, as in "max_threads=4,cipher_threads=2" (`oarlock devices` shows
    /// those in force)
    #[arg(
        long,
        value_name = "NAME=VALUE,...",
        default_value = "",
        hide_default_value = true
    )]
    options: String,

    /// Whether to draw a progress bar on stderr
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: When,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock enc --cipher aes-256-ctr --key-file key.hex --iv $IV disk.img -o disk.enc
  tar c . | oarlock enc --cipher aes-128-ctr -K $KEY --iv $IV > backup
  openssl enc -d -aes-128-ctr -K $KEY -iv $IV < backup | tar x";

/// What the threads that work on it share.
pub(crate) struct Job {
    accelerator: Accelerator,
    key: Zeroizing<Vec<u8>>,
    iv: Zeroizing<Vec<u8>>,
    helpers: usize,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) interrupt: Interrupt,
    pub(crate) progress: Progress,
    failure: Mutex<Option<Failure>>,
    stopped: AtomicBool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut options = options::parse(&args.options)?;
    // One cipher alone has nobody to keep its threads from; but each thread opens a session of its
    // own, which would look like several ciphers.
    options.reservation = Reservation::Shared;
    let accelerator = options::build_calibrated(options)?;
    let iv = keys::decode("--iv", &args.iv, 16, args.cipher)?;
    let key = read_key(args)?;
    let input = Input::open(args.input.as_deref())?;
    // Files that may block while they are opened come before the signals are caught, files that
    // must be removed after.
    let target = Target::find(args.output.as_deref())?;
    if let Some(key_file) = args.key_file.as_deref()
        && target.is_file(key_file)
    {
        return Err(Failure::usage(
            "-o names the key file: the key would be lost, so give another name",
        ));
    }
    let interrupt = Interrupt::catch(target.is_direct())?;
    let output = target.open(Naming::Replace)?;
    output.check_apart_from(&input.file)?;
    let job = Job {
        helpers: args.threads.helpers(&accelerator),
        progress: Progress::new(args.progress, input.size),
        accelerator,
        key,
        iv,
        input,
        output,
        interrupt,
        failure: Mutex::new(None),
        stopped: AtomicBool::new(false),
    };
    let result = files::run(&job).and_then(|done| stream::run(&job, done));
    job.progress.clear();
    result?;
    job.interrupt.check()?;
    job.output.commit(false)
}

impl Job {
    /// A cipher for one thread's own use.
    pub(crate) fn cipher(&self) -> Result<AcceleratedCtr, Failure> {
        let mut cipher = self
            .accelerator
            .ctr(&self.key, &self.iv)
            .map_err(|error| Failure::new(error.to_string()))?;
        cipher.set_strategy(Strategy::Inline);
        Ok(cipher)
    }

    /// Runs `work` on this thread and its helpers; the first failure of any stops the others.
    pub(crate) fn together(
        &self,
        work: &(dyn Fn() -> Result<(), Failure> + Sync),
    ) -> Result<(), Failure> {
        self.accelerator.work_together(self.helpers, &|| {
            if let Err(failure) = work() {
                self.fail(failure);
                self.stopped.store(true, Ordering::Relaxed);
            }
        });
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }

    /// Whether the threads should end, for another's failure or a signal.
    pub(crate) fn is_stopped(&self) -> Result<bool, Failure> {
        self.interrupt.check()?;
        Ok(self.stopped.load(Ordering::Relaxed))
    }

    /// Keeps a failure, if it is the first, for when the work has ended.
    pub(crate) fn fail(&self, failure: Failure) {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(failure);
    }
}

fn read_key(args: &Args) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let bytes = args.cipher.key_bytes();
    match (&args.key, &args.key_file) {
        (Some(key), _) => keys::decode("-K", key.text(), bytes, args.cipher),
        (None, Some(path)) => {
            if path.as_os_str() == "-"
                && args
                    .input
                    .as_ref()
                    .is_none_or(|path| path.as_os_str() == "-")
            {
                return Err(Failure::usage(
                    "--key-file -: standard input cannot be both the key and INPUT",
                ));
            }
            let text = keys::read_key_file(path)?;
            let what = format!("key file {}", without_keys(&path.display().to_string()));
            keys::decode(&what, text.text(), bytes, args.cipher)
        }
        (None, None) => Err(Failure::usage("a key is missing: give -K or --key-file")),
    }
}

fn ciphers() -> impl TypedValueParser<Value = Operation> {
    PossibleValuesParser::new(OPERATIONS.map(Operation::name)).try_map(|name| {
        OPERATIONS
            .into_iter()
            .find(|operation| operation.name() == name)
            .ok_or("not a cipher")
    })
}

#[derive(Clone, Copy)]
pub(crate) enum Threads {
    Auto,
    Exactly(usize),
}

impl Threads {
    /// Beside the caller, as many as one cipher may have.
    pub(crate) fn helpers(self, accelerator: &Accelerator) -> usize {
        let max = accelerator.parallelism() - 1;
        let max = max.min(accelerator.options().cipher_threads);
        match self {
            Self::Auto => max,
            Self::Exactly(threads) => max.min(threads - 1),
        }
    }
}

pub(crate) fn threads(text: &str) -> Result<Threads, String> {
    if text == "auto" {
        return Ok(Threads::Auto);
    }
    match text.parse() {
        Ok(count @ 1..) => Ok(Threads::Exactly(count)),
        _ => Err("expected `auto` or a whole number from 1 on".into()),
    }
}
