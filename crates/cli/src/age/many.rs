//! Many files, each with an output of its own. Short files are processed in parallel, one thread each. Then all threads
//! share each long file, one after the other.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_file::Workspace;
use rustix::fs::FileType;

use super::job::{Call, Content, Destination, Hands};
use super::outputs::{Outputs, lock};
use super::report::{FileReport, Outcome};
use super::walk::{Entry, Kind, Source, Walk};
use crate::failure::{Failure, note, reason};
use crate::folder::{Place, identity, kind, names};
use crate::input::Input;
use crate::output::apart::check_entry;
use crate::stdout;

/// The work to do for each file.
pub(super) trait Work {
    /// Returns the name of a file's output, or `None` to skip the file. `is_beside` means that the output goes to the
    /// input's directory, which may hold outputs of an earlier call.
    fn output_name(&self, input: &Path, is_beside: bool) -> Option<PathBuf>;
    /// Returns why a file is skipped.
    fn passed_over(&self) -> &'static str;
    /// Processes one file.
    fn run(&self, input: Input, output: Place, hands: Hands<'_>) -> Result<Outcome, Failure>;
}

/// Processes all files of the command line. A failure is reported at once and does not stop the others.
pub(super) fn run_on_threads(call: &Call<'_>, work: &(impl Work + Sync)) -> Result<(), Failure> {
    let batch = Batch::new(call, work)?;
    let do_short_ones = || batch.do_short_ones();
    call.accelerator
        .work_together(call.helpers(), &do_short_ones);
    batch.end()
}

/// Processes all files on the calling thread, for work that cannot be shared, such as asking a plugin.
pub(super) fn run_on_one_thread(call: &Call<'_>, work: &impl Work) -> Result<(), Failure> {
    let batch = Batch::new(call, work)?;
    batch.do_short_ones();
    batch.end()
}

/// Fails if the only file of the command line cannot be read or its output cannot be created. It runs before a passphrase is
/// asked for.
pub(super) fn check_one(
    call: &Call<'_>,
    output_name: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<(), Failure> {
    let [input] = &call.args.inputs[..] else {
        return Ok(());
    };
    // A pipe can be opened only once.
    if fs::metadata(input).is_ok_and(|found| !found.is_file()) {
        return Ok(());
    }
    Input::open(Some(input))?;
    let name = output_name(input);
    check_standard_output(call, name.as_deref())?;
    let Some(name) = name else {
        return Ok(());
    };
    let name = match &call.args.output {
        None => name,
        Some(directory) => directory.join(name.file_name().unwrap_or_default()),
    };
    match Place::of(&name) {
        // The directory is created later.
        Err(_) => Ok(()),
        Ok(place) => call
            .target(Destination::Place(place), Content::Plaintext)
            .map(|_| ()),
    }
}

/// Fails if the only file's output would go to a file although the user redirects standard output, as users of age do: its
/// reader would get nothing. A terminal or a device expects nothing from the command. Standard output that goes where
/// standard error goes is a log.
fn check_standard_output(call: &Call<'_>, name: Option<&Path>) -> Result<(), Failure> {
    let args = call.args;
    if args.output.is_some() || args.each || args.recursive || args.rm || args.json {
        return Ok(());
    }
    let (Ok(output), errors) = (
        rustix::fs::fstat(io::stdout()),
        rustix::fs::fstat(io::stderr()),
    ) else {
        return Ok(());
    };
    let what = match kind(&output) {
        FileType::Fifo => "a pipe",
        FileType::RegularFile => "a file",
        _ => return Ok(()),
    };
    if errors.is_ok_and(|errors| identity(&errors) == identity(&output)) {
        return Ok(());
    }
    let name = name.map_or_else(|| "NAME".into(), |name| name.display().to_string());
    Err(Failure::usage(format!(
        "standard output is {what}, and without -o it would get nothing: \
         `-o -` writes to it, `-o {name}` or `--each` to a file"
    )))
}

struct Batch<'a, W> {
    call: &'a Call<'a>,
    work: &'a W,
    sources: Mutex<Walk<'a>>,
    /// The directory for outputs; `None` puts each output in its input's directory.
    outputs: Option<Outputs>,
    /// Long files, which all threads share later.
    long: Mutex<Vec<Pair>>,
    tally: Mutex<Tally>,
    is_ended: AtomicBool,
}

#[derive(Default)]
struct Tally {
    done: u64,
    /// Directories and links that were copied.
    copied: u64,
    failed: u64,
    /// Files found in directories and skipped, since they need no output.
    passed_over: u64,
    /// Entries that are not regular files and stay as they are, since outputs are written in place.
    not_regular: u64,
    /// Entries left out of directories whose outputs are to be complete elsewhere.
    left_out: u64,
    /// The failure of the only file.
    failure: Option<Failure>,
    /// Outputs of this call; two inputs may lead to one name.
    outputs: HashSet<PathBuf>,
}

/// A file and its output's path. Both are opened only when it is processed: there may be more files than a process may have
/// open.
struct Pair {
    input: Source,
    output: PathBuf,
    /// The output's path below the directory for outputs.
    output_below: PathBuf,
}

impl<'a, W: Work> Batch<'a, W> {
    fn new(call: &'a Call<'a>, work: &'a W) -> Result<Self, Failure> {
        if call.args.reads_stdin() {
            return Err(Failure::usage(
                "standard input has no name for its output: name files with --each, --recursive or several files",
            ));
        }
        let args = call.args;
        if args
            .output
            .as_deref()
            .is_some_and(|path| path.as_os_str() == "-")
        {
            return Err(Failure::usage(
                "-o -: standard output takes the output of one FILE, without --each and --recursive",
            ));
        }
        let outputs = args.output.as_deref();
        let outputs = outputs
            .map(|path| Outputs::open(path, args.each || args.recursive, args.lasts()))
            .transpose()?;
        let identity = outputs.as_ref().and_then(Outputs::identity);
        if call.progress.is_drawn() {
            call.progress.expect(Some(expected(call, work, identity)));
        }
        Ok(Self {
            call,
            work,
            outputs,
            sources: Mutex::new(Walk::new(args, identity)),
            long: Mutex::new(Vec::new()),
            tally: Mutex::new(Tally::default()),
            is_ended: AtomicBool::new(false),
        })
    }

    /// Processes the long files and sums up.
    fn end(self) -> Result<(), Failure> {
        let long = std::mem::take(&mut *lock(&self.long));
        for pair in &long {
            self.do_one(pair, Hands::All);
        }
        self.call.progress.clear();
        let unfinished = self.outputs.as_ref().map(Outputs::finish);
        self.call.interrupt.check()?;
        for failure in unfinished.into_iter().flatten() {
            self.failed(None, failure);
        }
        let mut tally = lock(&self.tally);
        if let Some(failure) = tally.failure.take() {
            return Err(failure);
        }
        for (count, why) in [
            (tally.passed_over, self.work.passed_over()),
            (tally.not_regular, "not regular files"),
        ] {
            if count > 0 {
                note(&format!("skipped in directories: {count}: {why}"));
            }
        }
        let Tally {
            done,
            copied,
            failed,
            left_out,
            ..
        } = *tally;
        let done = done + copied;
        match (failed, left_out, done) {
            (0, 0, 0) => Err(Failure::new("no file to process")),
            (0, 0, _) => Ok(()),
            (0, _, _) => Err(Failure::new(format!(
                "{left_out} of {} left out: the outputs are not all of the directory",
                left_out + done
            ))
            .with_status(LEFT_OUT)),
            _ => Err(Failure::new(format!(
                "{failed} of {} files failed",
                failed + done + left_out
            ))),
        }
    }

    /// Processes entries on one thread, until none is left.
    fn do_short_ones(&self) {
        let mut workspace = Workspace::default();
        while !self.is_ended() {
            match self.next() {
                None => break,
                Some(Err(failure)) => self.failed(None, failure),
                Some(Ok(entry)) => match entry.kind {
                    Kind::Folder => {}
                    Kind::File => {
                        if let Some(pair) = self.pair(entry) {
                            self.do_short_one(pair, &mut workspace);
                        }
                    }
                    Kind::Link | Kind::Other(_) if !entry.source.is_copied() => {
                        lock(&self.tally).not_regular += 1;
                    }
                    Kind::Link => self.do_link(&entry),
                    Kind::Other(what) => self.leave_out(entry.source.path(), what),
                },
            }
        }
    }

    fn next(&self) -> Option<Result<Entry, Failure>> {
        let mut sources = lock(&self.sources);
        let next = sources.next();
        // Create the directory before another thread gets an entry within it.
        if let Some(Ok(entry)) = &next
            && entry.kind == Kind::Folder
        {
            self.do_folder(entry);
        }
        next
    }

    fn do_folder(&self, entry: &Entry) {
        let Some(outputs) = self.outputs.as_ref().filter(|_| entry.source.is_copied()) else {
            return;
        };
        let below = below(entry.source.path(), &entry.base);
        let made = entry
            .source
            .folder()
            .and_then(|original| outputs.copy(&original, &below, self.call.args.preserve));
        match made {
            Ok(()) => lock(&self.tally).copied += 1,
            Err(error) => {
                let path = entry.source.path();
                let (name, reason) = (path.display(), reason(&error));
                let failure = Failure::new(format!("{name}: its copy cannot be made: {reason}"));
                self.failed(Some(path), failure);
            }
        }
    }

    fn do_link(&self, entry: &Entry) {
        let path = entry.source.path();
        let (Some(outputs), Some(directory)) = (&self.outputs, &self.call.args.output) else {
            return;
        };
        let below = below(path, &entry.base);
        let output = directory.join(&below);
        let began = self.call.progress.working();
        let result = self
            .claim(path, &output)
            .and_then(|()| self.copy_link(&entry.source, outputs, &below, &output));
        match result {
            Ok(()) => {
                lock(&self.tally).copied += 1;
                let outcome = Outcome {
                    bytes_read: None,
                    bytes_written: None,
                };
                let took = self.call.progress.working().saturating_sub(began);
                self.tell(&FileReport::done(path, &output, outcome, took));
            }
            Err(failure) => self.failed(Some(path), failure),
        }
    }

    /// Creates a link with the same target. The link is not followed.
    fn copy_link(
        &self,
        source: &Source,
        outputs: &Outputs,
        below: &Path,
        output: &Path,
    ) -> Result<(), Failure> {
        let args = self.call.args;
        let Place { folder: from, name } = source.place()?;
        let fail = |what: &Path, error: io::Error| {
            let (name, reason) = (what.display(), reason(&error));
            Failure::new(format!("{name}: {reason}"))
        };
        let target = from.link_target(&name);
        let target = target.map_err(|error| fail(source.path(), error))?;
        let folder = outputs
            .folder(below.parent().unwrap_or(Path::new("")))
            .map_err(|error| no_directory(output, &error))?;
        let own = below.file_name().unwrap_or_default();
        if let Ok(there) = folder.look(own) {
            check_entry(&there, &output.display().to_string(), &self.call.needed)?;
        }
        let make = || match folder.make_link(&target, own) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = folder.look(own)?;
                let is_link = kind(&there).is_symlink();
                if is_link && folder.link_target(own)? == target {
                    Ok(true)
                } else if args.force && (is_link || kind(&there).is_file()) {
                    folder.replace_by_link(&target, own).map(|()| true)
                } else {
                    Ok(false)
                }
            }
            other => other.map(|()| true),
        };
        if !make().map_err(|error| fail(output, error))? {
            let name = output.display();
            return Err(Failure::new(format!(
                "{name}: exists already: --force replaces files and links"
            )));
        }
        if args.preserve {
            let kept = from.look(&name).and_then(|of| folder.set_times(own, &of));
            kept.map_err(|error| fail(output, error))?;
        }
        if args.lasts() {
            folder.sync().map_err(|error| fail(output, error))?;
        }
        match args.rm && from.link_target(&name).is_ok_and(|now| now == target) {
            true => from
                .remove(&name)
                .map_err(|error| fail(source.path(), error)),
            false => Ok(()),
        }
    }

    /// Reports an entry that the outputs lack.
    fn leave_out(&self, path: &Path, why: &str) {
        lock(&self.tally).left_out += 1;
        let text = format!("{}: left out: {why}", path.display());
        self.call.progress.suspend(|| note(&text));
        self.tell(&FileReport::left_out(path, why));
    }

    fn do_short_one(&self, pair: Pair, workspace: &mut Workspace) {
        let is_long =
            fs::metadata(pair.input.path()).is_ok_and(|metadata| metadata.len() >= LONG_BYTES);
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
        let began = self.call.progress.working();
        let path = pair.input.path();
        let result = self
            .open(pair)
            .and_then(|(input, output)| self.work.run(input, output, hands));
        match result {
            Ok(done) => {
                lock(&self.tally).done += 1;
                let took = self.call.progress.working().saturating_sub(began);
                self.tell(&FileReport::done(path, &pair.output, done, took));
            }
            Err(failure) => self.failed(Some(path), failure),
        }
    }

    /// Opens the input and the directory for its output, which without -o is the input's own.
    fn open(&self, pair: &Pair) -> Result<(Input, Place), Failure> {
        let place = pair.input.place()?;
        let folder = match &self.outputs {
            None => place.folder.clone(),
            Some(outputs) => {
                let folder = pair.output_below.parent().unwrap_or(Path::new(""));
                outputs
                    .folder(folder)
                    .map_err(|error| no_directory(&pair.output, &error))?
            }
        };
        let name = pair.output.file_name().unwrap_or_default().to_owned();
        let input = match &pair.input {
            Source::Given(_) => Input::at(place),
            Source::Found { .. } => Input::found(place),
        };
        Ok((input?, Place { folder, name }))
    }

    /// Pairs an entry with its output, or reports why it has none.
    fn pair(&self, entry: Entry) -> Option<Pair> {
        let Entry { source, base, .. } = entry;
        let path = source.path();
        let Some(output) = self.work.output_name(path, !source.is_copied()) else {
            let why = self.work.passed_over();
            match &source {
                _ if source.is_copied() => self.leave_out(path, why),
                Source::Found { .. } => lock(&self.tally).passed_over += 1,
                Source::Given(_) => {
                    let name = path.display();
                    let failure = format!("{name}: skipped: {why}: name its output with -o");
                    self.failed(Some(path), Failure::new(failure));
                }
            }
            return None;
        };
        let below = below(&output, &base);
        let output = match &self.call.args.output {
            None => output,
            Some(directory) => directory.join(&below),
        };
        if self.call.args.output.is_some()
            && let Err(failure) = self.claim(path, &output)
        {
            self.failed(Some(path), failure);
            return None;
        }
        Some(Pair {
            input: source,
            output,
            output_below: below,
        })
    }

    /// Fails if another input has the same output.
    fn claim(&self, input: &Path, output: &Path) -> Result<(), Failure> {
        match lock(&self.tally).outputs.insert(output.to_path_buf()) {
            true => Ok(()),
            false => {
                let (name, output) = (input.display(), output.display());
                Err(Failure::new(format!(
                    "{name}: its output {output} is that of another input already"
                )))
            }
        }
    }

    fn failed(&self, input: Option<&Path>, failure: Failure) {
        lock(&self.tally).failed += 1;
        // A signal is reported once, at the end.
        if self.call.interrupt.check().is_err() {
            return;
        }
        let error = failure.to_string();
        let args = self.call.args;
        if args.inputs.len() == 1 && !args.recursive {
            // With a single file there is nothing to sum up.
            lock(&self.tally).failure = Some(failure);
        } else {
            self.call.progress.suspend(|| failure.report());
        }
        if let Some(input) = input {
            self.tell(&FileReport::failed(input, error));
        }
    }

    fn tell(&self, report: &FileReport) {
        if self.call.args.json && stdout::write(report.to_string()).is_err() {
            // The reader has gone, so stop.
            self.is_ended.store(true, Ordering::Relaxed);
        }
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed) || self.call.interrupt.check().is_err()
    }
}

/// Returns the size of all inputs, in bytes.
fn expected(call: &Call<'_>, work: &impl Work, outputs: Option<(u64, u64)>) -> u64 {
    Walk::new(call.args, outputs)
        .take_while(|_| call.interrupt.check().is_ok())
        .flatten()
        .filter(|entry| entry.kind == Kind::File)
        .filter(|Entry { source, .. }| {
            let name = work.output_name(source.path(), !source.is_copied());
            name.is_some()
        })
        .filter_map(|entry| fs::metadata(entry.source.path()).ok())
        .filter(fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum()
}

/// Returns the path of the output for `path` below the directory for outputs.
fn below(path: &Path, base: &Path) -> PathBuf {
    names(path.strip_prefix(base).unwrap_or(path)).collect()
}

fn no_directory(output: &Path, error: &io::Error) -> Failure {
    let (name, reason) = (output.display(), reason(error));
    Failure::new(format!("{name}: has no directory: {reason}"))
}

/// The exit status if everything was done except entries that can only be left out.
const LEFT_OUT: u8 = 3;
/// All threads share a file of at least this size, which is about four buffers each.
const LONG_BYTES: u64 = 8 << 20;
