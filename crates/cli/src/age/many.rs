//! Many files, each to an output of its own. Each short file takes one thread, many at a time; all
//! threads share the others, one after the other.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use oarlock_file::Workspace;
use walkdir::WalkDir;

use super::job::{Call, Common, Hands};
use super::report::{FileReport, Outcome};
use crate::failure::{Failure, reason};
use crate::input::Input;
use crate::stdout;

/// What to do with each.
pub(super) trait Work {
    /// The name of a file's output; none for a file that is skipped in a directory.
    fn output_name(&self, input: &Path) -> Option<PathBuf>;
    /// Why a file is skipped.
    fn passed_over(&self) -> &'static str;
    /// Does it.
    fn run(&self, input: Input, output: &Path, hands: Hands<'_>) -> Result<Outcome, Failure>;
}

/// Processes all files of the command line. A failure is reported at once, and the others go on.
pub(super) fn run_on_threads(call: &Call<'_>, work: &(impl Work + Sync)) -> Result<(), Failure> {
    let batch = Batch::new(call, work)?;
    let do_short_ones = || batch.do_short_ones();
    call.accelerator
        .work_together(call.helpers(), &do_short_ones);
    batch.end()
}

/// The same where one thread must do everything before the data, such as asking a plugin.
pub(super) fn run_on_one_thread(call: &Call<'_>, work: &impl Work) -> Result<(), Failure> {
    let batch = Batch::new(call, work)?;
    batch.do_short_ones();
    batch.end()
}

struct Batch<'a, W> {
    call: &'a Call<'a>,
    work: &'a W,
    sources: Mutex<Candidates<'a>>,
    /// Left for all threads together.
    long: Mutex<Vec<Pair>>,
    tally: Mutex<Tally>,
    is_ended: AtomicBool,
}

#[derive(Default)]
struct Tally {
    done: u64,
    failed: u64,
    passed_over: u64,
    /// Outputs of this call: two inputs may lead to one name.
    outputs: HashSet<PathBuf>,
}

struct Pair {
    input: PathBuf,
    output: PathBuf,
}

impl<'a, W: Work> Batch<'a, W> {
    fn new(call: &'a Call<'a>, work: &'a W) -> Result<Self, Failure> {
        if call.args.reads_stdin() {
            return Err(Failure::usage(
                "--each, --recursive and several files need names, and standard input has none",
            ));
        }
        if let Some(directory) = &call.args.output {
            fs::create_dir_all(directory).map_err(|error| {
                let (name, reason) = (directory.display(), reason(&error));
                Failure::new(format!("{name}: not a directory for the outputs: {reason}"))
            })?;
        }
        Ok(Self {
            call,
            work,
            sources: Mutex::new(Candidates::new(call.args)),
            long: Mutex::new(Vec::new()),
            tally: Mutex::new(Tally::default()),
            is_ended: AtomicBool::new(false),
        })
    }

    /// Does what was left for all threads together, and sums up.
    fn end(self) -> Result<(), Failure> {
        let long = std::mem::take(&mut *lock(&self.long));
        for pair in &long {
            self.do_one(pair, Hands::All);
        }
        self.call.progress.clear();
        self.call.interrupt.check()?;
        let tally = lock(&self.tally);
        if tally.passed_over > 0 {
            crate::failure::note(&format!(
                "skipped in directories: {}, for {}",
                tally.passed_over,
                self.work.passed_over()
            ));
        }
        match (tally.failed, tally.done) {
            (0, 0) => Err(Failure::new("there was no file to process")),
            (0, _) => Ok(()),
            (failed, done) => Err(Failure::new(format!(
                "{failed} of {} files failed",
                failed + done
            ))),
        }
    }

    /// One thread's part.
    fn do_short_ones(&self) {
        let mut workspace = Workspace::default();
        while !self.is_ended() {
            let next = lock(&self.sources).next();
            match next {
                None => break,
                Some(Ok(source)) => {
                    if let Some(pair) = self.pair(source) {
                        self.do_short_one(pair, &mut workspace);
                    }
                }
                Some(Err(failure)) => self.failed(None, failure),
            }
        }
    }

    fn do_short_one(&self, pair: Pair, workspace: &mut Workspace) {
        let is_long = fs::metadata(&pair.input).is_ok_and(|metadata| metadata.len() >= LONG_BYTES);
        if is_long {
            lock(&self.long).push(pair);
        } else {
            self.do_one(&pair, Hands::This(workspace));
        }
    }

    fn do_one(&self, pair: &Pair, hands: Hands<'_>) {
        if self.is_ended() {
            return;
        }
        let began = Instant::now();
        let result = Input::open(Some(&pair.input))
            .and_then(|input| self.work.run(input, &pair.output, hands));
        match result {
            Ok(done) => {
                lock(&self.tally).done += 1;
                self.tell(&FileReport::done(
                    &pair.input,
                    &pair.output,
                    done,
                    began.elapsed(),
                ));
            }
            Err(failure) => self.failed(Some(&pair.input), failure),
        }
    }

    /// Where the output goes.
    fn pair(&self, source: Candidate) -> Option<Pair> {
        let Candidate { path, base, found } = source;
        let Some(output) = self.work.output_name(&path) else {
            if found {
                lock(&self.tally).passed_over += 1;
            } else {
                let (name, why) = (path.display(), self.work.passed_over());
                let failure = Failure::usage(format!("{name}: skipped, for {why}"));
                self.failed(Some(&path), failure);
            }
            return None;
        };
        let output = match &self.call.args.output {
            None => output,
            Some(directory) => {
                let output = directory.join(output.strip_prefix(&base).unwrap_or(&output));
                let made = output.parent().map_or(Ok(()), fs::create_dir_all);
                if let Err(error) = made {
                    let (name, reason) = (output.display(), reason(&error));
                    let failure = Failure::new(format!("{name}: has no directory: {reason}"));
                    self.failed(Some(&path), failure);
                    return None;
                }
                output
            }
        };
        if self.call.args.output.is_some() && !lock(&self.tally).outputs.insert(output.clone()) {
            let (name, output) = (path.display(), output.display());
            let failure = Failure::usage(format!(
                "{name}: would be written to {output}, as another file was"
            ));
            self.failed(Some(&path), failure);
            return None;
        }
        Some(Pair {
            input: path,
            output,
        })
    }

    fn failed(&self, input: Option<&Path>, failure: Failure) {
        lock(&self.tally).failed += 1;
        // The signal is reported once, at the end.
        if self.call.interrupt.check().is_err() {
            return;
        }
        let error = failure.to_string();
        self.call.progress.suspend(|| failure.report());
        if let Some(input) = input {
            self.tell(&FileReport::failed(input, error));
        }
    }

    fn tell(&self, report: &FileReport) {
        if self.call.args.json && stdout::write(report.to_string()).is_err() {
            // The reader has gone: do no more.
            self.is_ended.store(true, Ordering::Relaxed);
        }
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed) || self.call.interrupt.check().is_err()
    }
}

/// A file of the command line, or one that was found in a directory.
struct Candidate {
    path: PathBuf,
    /// The part of its path that is dropped below -o.
    base: PathBuf,
    found: bool,
}

/// The files of the command line and of directories, one after the other.
struct Candidates<'a> {
    args: &'a Common,
    arguments: std::slice::Iter<'a, PathBuf>,
    walk: Option<(PathBuf, walkdir::IntoIter)>,
}

impl<'a> Candidates<'a> {
    fn new(args: &'a Common) -> Self {
        Self {
            args,
            arguments: args.inputs.iter(),
            walk: None,
        }
    }
}

impl Iterator for Candidates<'_> {
    type Item = Result<Candidate, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((base, walk)) = &mut self.walk {
                match walk.next() {
                    None => self.walk = None,
                    Some(Ok(entry)) if entry.file_type().is_file() => {
                        return Some(Ok(Candidate {
                            base: base.clone(),
                            path: entry.into_path(),
                            found: true,
                        }));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        let name = error.path().map(|path| path.display().to_string());
                        let name = name.unwrap_or_default();
                        let reason = error.io_error().map_or("a loop".into(), reason);
                        return Some(Err(Failure::new(format!("{name}: {reason}"))));
                    }
                }
                continue;
            }
            let path = self.arguments.next()?;
            let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
            if !path.is_dir() {
                return Some(Ok(Candidate {
                    path: path.clone(),
                    base,
                    found: false,
                }));
            }
            if !self.args.recursive {
                let name = path.display();
                return Some(Err(Failure::usage(format!(
                    "{name}: is a directory: --recursive processes the files in it"
                ))));
            }
            // Sorted, so a directory is read whole before an output comes to be in it.
            let walk = WalkDir::new(path).sort_by_file_name().into_iter();
            self.walk = Some((base, walk));
        }
    }
}

/// A thread that panics ends the whole command; what it held is not looked at again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From this size on all threads share a file: some four buffers each.
const LONG_BYTES: u64 = 8 << 20;
