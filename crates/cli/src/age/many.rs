//! Many files, each to an output of its own. Each short file takes one thread, many at a time; all
//! threads share the others, one after the other.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use oarlock_file::Workspace;
use walkdir::WalkDir;

use super::job::{Call, Common, Hands};
use super::report::{FileReport, Outcome};
use crate::failure::{Failure, reason};
use crate::folder::{Folder, Place, identity, names};
use crate::input::Input;
use crate::stdout;

/// What to do with each.
pub(super) trait Work {
    /// The name of a file's output; none for a file that is skipped in a directory.
    fn output_name(&self, input: &Path) -> Option<PathBuf>;
    /// Why a file is skipped.
    fn passed_over(&self) -> &'static str;
    /// Does it.
    fn run(&self, input: Input, output: Place, hands: Hands<'_>) -> Result<Outcome, Failure>;
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
    /// None: beside the inputs.
    outputs: Option<Outputs>,
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

/// A file and where its output goes. Both are opened when its turn comes: there may be more of them than a
/// process may have open files.
struct Pair {
    input: Source,
    output: PathBuf,
    /// Below the directory for the outputs.
    output_below: PathBuf,
}

impl<'a, W: Work> Batch<'a, W> {
    fn new(call: &'a Call<'a>, work: &'a W) -> Result<Self, Failure> {
        if call.args.reads_stdin() {
            return Err(Failure::usage(
                "standard input has no name for its output: name files with --each, --recursive or several files",
            ));
        }
        let outputs = call.args.output.as_deref().map(|directory| {
            Outputs::open(directory, call.args.lasts()).map_err(|error| {
                let (name, reason) = (directory.display(), reason(&error));
                Failure::new(format!("{name}: not a directory for the outputs: {reason}"))
            })
        });
        Ok(Self {
            call,
            work,
            outputs: outputs.transpose()?,
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
                "skipped in directories: {}: {}",
                tally.passed_over,
                self.work.passed_over()
            ));
        }
        match (tally.failed, tally.done) {
            (0, 0) => Err(Failure::new("no file to process")),
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
        let began = Instant::now();
        let path = pair.input.path();
        let result = self
            .open(pair)
            .and_then(|(input, output)| self.work.run(input, output, hands));
        match result {
            Ok(done) => {
                lock(&self.tally).done += 1;
                self.tell(&FileReport::done(path, &pair.output, done, began.elapsed()));
            }
            Err(failure) => self.failed(Some(path), failure),
        }
    }

    /// The input, and where its output goes: where nothing else is meant, the folder of the input itself.
    fn open(&self, pair: &Pair) -> Result<(Input, Place), Failure> {
        let place = pair.input.place()?;
        let folder = match &self.outputs {
            None => place.folder.clone(),
            Some(outputs) => {
                let folder = pair.output_below.parent().unwrap_or(Path::new(""));
                outputs.folder(folder).map_err(|error| {
                    let (name, reason) = (pair.output.display(), reason(&error));
                    Failure::new(format!("{name}: has no directory: {reason}"))
                })?
            }
        };
        let name = pair.output.file_name().unwrap_or_default().to_owned();
        let input = match &pair.input {
            Source::Given(_) => Input::at(place),
            Source::Found { .. } => Input::found(place),
        };
        Ok((input?, Place { folder, name }))
    }

    /// Where the output goes.
    fn pair(&self, source: Candidate) -> Option<Pair> {
        let Candidate { input, base } = source;
        let path = input.path();
        let Some(output) = self.work.output_name(path) else {
            if let Source::Found { .. } = input {
                lock(&self.tally).passed_over += 1;
            } else {
                let (name, why) = (path.display(), self.work.passed_over());
                let failure = Failure::usage(format!("{name}: skipped: {why}"));
                self.failed(Some(path), failure);
            }
            return None;
        };
        let below: PathBuf = names(output.strip_prefix(&base).unwrap_or(&output)).collect();
        let output = match &self.call.args.output {
            None => output,
            Some(directory) => directory.join(&below),
        };
        if self.call.args.output.is_some() && !lock(&self.tally).outputs.insert(output.clone()) {
            let (name, output) = (path.display(), output.display());
            let failure = Failure::usage(format!(
                "{name}: its output {output} is that of another input already"
            ));
            self.failed(Some(path), failure);
            return None;
        }
        Some(Pair {
            input,
            output,
            output_below: below,
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

/// The directory for the outputs. Directories are made in it as they are needed, and links in it are not
/// followed.
struct Outputs {
    folder: Folder,
    /// Whether they are to be on the disk before an input is removed.
    last: bool,
    /// Those that this call has made and that are not known to be on the disk. Locked while one is made,
    /// so that no thread relies on what another has not done yet.
    made: Mutex<HashSet<PathBuf>>,
}

impl Outputs {
    fn open(directory: &Path, last: bool) -> io::Result<Self> {
        let is_ours = |path: &Path| path.components().next_back().is_some() && !path.exists();
        let missing: Vec<&Path> = directory
            .ancestors()
            .take_while(|path| is_ours(path))
            .collect();
        fs::create_dir_all(directory)?;
        // From the top: the entry of each is in the one above.
        for path in missing.iter().rev().filter(|_| last) {
            Folder::open(path.parent().unwrap_or(Path::new("")))?.sync()?;
        }
        Ok(Self {
            folder: Folder::open(directory)?,
            last,
            made: Mutex::default(),
        })
    }

    /// The directory `relative` in it, which is made if it is missing.
    fn folder(&self, relative: &Path) -> io::Result<Folder> {
        let mut made = lock(&self.made);
        let mut folder = self.folder.clone();
        let mut path = PathBuf::new();
        for name in names(relative) {
            path.push(name);
            let child = match folder.child(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if folder.make(name)? {
                        made.insert(path.clone());
                    }
                    folder.child(name)?
                }
                other => other?,
            };
            if self.last && made.contains(&path) {
                folder.sync()?;
                made.remove(&path);
            }
            folder = child;
        }
        Ok(folder)
    }
}

/// A file of the command line, or one that was found in a directory.
struct Candidate {
    input: Source,
    /// The part of its path that is dropped below -o.
    base: PathBuf,
}

enum Source {
    Given(PathBuf),
    Found { root: Arc<Root>, path: PathBuf },
}

/// A directory of the command line. It is opened again for each file; the number of directories has no
/// bound.
struct Root {
    path: PathBuf,
    identity: (u64, u64),
}

impl Root {
    fn new(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            identity: (metadata.dev(), metadata.ino()),
        })
    }

    fn open(&self) -> io::Result<Folder> {
        let folder = Folder::open(&self.path)?;
        match identity(&rustix::fs::fstat(&folder)?) == self.identity {
            true => Ok(folder),
            false => Err(io::Error::other("another directory has taken its name")),
        }
    }
}

impl Source {
    fn path(&self) -> &Path {
        match self {
            Self::Given(path) | Self::Found { path, .. } => path,
        }
    }

    /// Where it is. Below a directory of the command line no link is followed, also where one has taken the
    /// place of a directory that was seen before.
    fn place(&self) -> Result<Place, Failure> {
        let place = match self {
            Self::Given(path) => Place::of(path),
            Self::Found { root, path } => {
                let relative = path.strip_prefix(&root.path).unwrap_or(path);
                let folder = relative.parent().unwrap_or(Path::new(""));
                let name = relative.file_name().unwrap_or_default().to_owned();
                root.open()
                    .and_then(|root| root.below(folder))
                    .map(|folder| Place { folder, name })
            }
        };
        place.map_err(|error| {
            let (name, reason) = (self.path().display(), reason(&error));
            Failure::new(format!("{name}: its directory cannot be opened: {reason}"))
        })
    }
}

/// The files of the command line and of directories, one after the other.
struct Candidates<'a> {
    args: &'a Common,
    arguments: std::slice::Iter<'a, PathBuf>,
    walk: Option<(PathBuf, Arc<Root>, walkdir::IntoIter)>,
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
            if let Some((base, root, walk)) = &mut self.walk {
                match walk.next() {
                    None => self.walk = None,
                    Some(Ok(entry)) if entry.file_type().is_file() => {
                        return Some(Ok(Candidate {
                            base: base.clone(),
                            input: Source::Found {
                                root: Arc::clone(root),
                                path: entry.into_path(),
                            },
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
                let input = Source::Given(path.clone());
                return Some(Ok(Candidate { input, base }));
            }
            if !self.args.recursive {
                let name = path.display();
                return Some(Err(Failure::usage(format!(
                    "{name}: is a directory: --recursive processes the files in it"
                ))));
            }
            let root = match Root::new(path) {
                Ok(root) => Arc::new(root),
                Err(error) => {
                    let (name, reason) = (path.display(), reason(&error));
                    return Some(Err(Failure::new(format!("{name}: {reason}"))));
                }
            };
            // Sorted, so a directory is read whole before an output comes to be in it.
            let walk = WalkDir::new(path).sort_by_file_name().into_iter();
            self.walk = Some((base, root, walk));
        }
    }
}

/// A thread that panics ends the whole command; what it held is not looked at again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From this size on all threads share a file: some four buffers each.
const LONG_BYTES: u64 = 8 << 20;
