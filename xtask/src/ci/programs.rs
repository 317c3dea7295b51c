//! The workspace's test programs: built once, run concurrently.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::report::{Ended, Report};
use crate::tool::{self, Metadata, Result, cargo};

/// Test programs, the slowest first.
#[derive(Clone, Default)]
pub struct Programs(Vec<Program>);

#[derive(Clone)]
struct Program {
    /// The package and the target, such as `oarlock-cli it`, and a suffix for `environment`.
    name: String,
    package: String,
    file: PathBuf,
    /// The directory of its package, in which cargo would start it.
    folder: PathBuf,
    /// Substrings of the names of the tests to run; empty for all tests.
    filters: &'static [&'static str],
    /// The names of tests that are not run.
    left: Vec<&'static str>,
    environment: Vec<(&'static str, String)>,
}

/// A task that runs next to the test programs, with a report of its own.
pub type Other<'a> = Box<dyn FnOnce(&mut Report) -> Result<()> + Send + 'a>;

/// The name and value of an environment variable.
pub type Variable<'a> = (&'static str, &'a str);

/// Packages whose programs start first: they wait for other programs, and so take longest.
const FIRST: [&str; 4] = ["oarlock-provider", "oarlock-cli", "oarlock-net", "oarlock"];
/// The target that checks the kernels' use of a thread's stack.
const STACK: &str = "stack";
/// The time after which a program counts as hanging. The provider's programs take longest: in the long form their
/// differential test alone takes some 12 minutes.
const PROGRAM_SECONDS_MAX: &str = "3000";
/// The time to wait for more output of a program that has ended but left a process behind.
const LEFT_BEHIND: Duration = Duration::from_secs(10);

impl Programs {
    /// Compiles the whole workspace: libraries, programs, the provider and every test.
    pub fn build() -> Result<Self> {
        let mut command = cargo();
        command.args(["build", "--workspace", "--all-targets"]);
        let programs = built(&mut command)?;
        if programs.is_empty() {
            return Err("the build made no test program".to_owned());
        }
        println!("{} test programs", programs.len());
        Ok(Self::default().and(Self(programs)))
    }

    /// Compiles the benchmark and its tests.
    pub fn build_bench(root: &Path) -> Result<Self> {
        let mut command = tool::cargo_in_bench(root, "build");
        Ok(Self(built(command.args(["--workspace", "--all-targets"]))?))
    }

    /// Compiles the stack check with the optimization that a dependent program has by default, none: frames of kernels are
    /// far larger then. It uses the features of the whole workspace, for which all foreign crates have been compiled
    /// already.
    pub fn build_unoptimized() -> Result<Self> {
        let mut command = cargo();
        command.args(["test", "--no-run", "--workspace", "--test", STACK]);
        for package in ["kernels", "legacy", "threads", "engine", "packet"]
            .map(|name| format!("oarlock-{name}"))
        {
            let option = format!("profile.dev.package.{package}.opt-level=0");
            command.args(["--config", &option]);
        }
        let mut programs = Self(built(&mut command)?);
        for program in &mut programs.0 {
            program.name += " without optimization";
        }
        Ok(programs)
    }

    /// Returns the programs of some packages.
    pub fn of(&self, packages: &[&str]) -> Self {
        let is_of = |program: &&Program| packages.contains(&program.package.as_str());
        Self(self.0.iter().filter(is_of).cloned().collect())
    }

    /// Returns the programs of all other packages.
    pub fn without(&self, packages: &[&str]) -> Self {
        let is_other = |program: &&Program| !packages.contains(&program.package.as_str());
        Self(self.0.iter().filter(is_other).cloned().collect())
    }

    /// Restricts the programs to tests whose names contain one of `filters`.
    pub fn only(mut self, filters: &'static [&'static str]) -> Self {
        for program in &mut self.0 {
            program.filters = filters;
        }
        self
    }

    /// Leaves out tests, each given with its package.
    ///
    /// # Errors
    /// A test that does not exist.
    pub fn leaving(mut self, tests: &[(&str, &'static str)]) -> Result<Self> {
        for (package, test) in tests {
            let programs = self.0.iter_mut().filter(|it| it.package == *package);
            let mut is_found = false;
            for program in programs {
                if program.has(test)? {
                    program.left.push(test);
                    is_found = true;
                }
            }
            if !is_found {
                return Err(format!("{package} has no test {test}"));
            }
        }
        Ok(self)
    }

    /// Returns the programs with a variable in their environment.
    pub fn with(mut self, (name, value): Variable<'_>) -> Self {
        for program in &mut self.0 {
            program.environment.push((name, value.to_owned()));
            program.name = format!("{} with {name}={value}", program.name);
        }
        self
    }

    /// Returns these programs and others.
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self.0.sort_by_key(|program| {
            let rank = FIRST.iter().position(|name| *name == program.package);
            (rank.unwrap_or(FIRST.len()), program.name.clone())
        });
        self
    }

    /// Runs all programs, one for each CPU at a time, and prints each one's output when it has ended. Runs `others` at the
    /// same time; programs leave CPU time to those that do not lower their priority.
    pub fn run_while(&self, report: &mut Report, others: Vec<Other<'_>>) -> Result<()> {
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        let queue: Mutex<VecDeque<&Program>> = Mutex::new(self.0.iter().collect());
        let programs = Mutex::new(&mut *report);
        let others: Vec<_> = std::thread::scope(|scope| {
            for _ in 0..at_once {
                scope.spawn(|| {
                    while let Some(program) =
                        queue.lock().ok().and_then(|mut queue| queue.pop_front())
                    {
                        let ended = program.run();
                        if let Ok(mut report) = programs.lock() {
                            report.add_program(&program.name, ended);
                        }
                    }
                });
            }
            let start = |run: Other<'_>| {
                let mut report = Report::default();
                let result = run(&mut report);
                (report, result)
            };
            let others = others.into_iter().map(|it| scope.spawn(move || start(it)));
            let others: Vec<_> = others.collect();
            others.into_iter().map(|it| it.join()).collect()
        });
        let mut verdict = Ok(());
        for other in others {
            let (of_other, result) = other.map_err(|_| "a thread of the runner panicked")?;
            report.append(of_other);
            verdict = verdict.and(result);
        }
        report.verdict().and(verdict)
    }
}

impl Program {
    /// Returns whether it has a test of this name.
    fn has(&self, test: &str) -> Result<bool> {
        let mut list = Command::new(&self.file);
        list.args(["--list", "--format", "terse"]);
        let line = format!("{test}: test");
        Ok(tool::output(&mut list)?.lines().any(|it| it == line))
    }

    fn run(&self) -> Ended {
        let start = Instant::now();
        let result = self.run_to_end();
        let seconds = start.elapsed().as_secs_f64();
        let (text, fault) = result.unwrap_or_else(|error| (String::new(), Some(error)));
        Ended {
            text,
            seconds,
            fault,
        }
    }

    fn run_to_end(&self) -> Result<(String, Option<String>)> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.file.display());
        let (output, writer) = std::io::pipe().map_err(failed)?;
        // A shell starts its background jobs with SIGINT ignored, and nohup with SIGHUP ignored. Commands whose signal
        // handling is tested would inherit that.
        let mut command = Command::new("timeout");
        command
            .args(["--foreground", "--signal=KILL", PROGRAM_SECONDS_MAX])
            .args(["nice", "-n", "5", "env"])
            .arg("--default-signal=HUP,INT,QUIT,TERM,PIPE")
            .arg(&self.file)
            .current_dir(&self.folder)
            .args(self.filters)
            .args(self.left.iter().flat_map(|test| ["--skip", test]))
            // Reports the seconds of each test; the harness calls this option unstable.
            .args(["-Z", "unstable-options", "--report-time"])
            .env("RUSTC_BOOTSTRAP", "1")
            // The variables that cargo would set; the inherited ones describe this program.
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_PKG_NAME", &self.package)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer);
        let mut child = command.spawn().map_err(failed)?;
        drop(command); // drops its ends of the pipe
        let reader = Reader::start(output);
        let status = child.wait().map_err(failed)?;
        let (bytes, is_whole) = reader.rest();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let fault = if !status.success() {
            Some(status.to_string())
        } else if !is_whole {
            Some("a process that it started goes on and holds its output".to_owned())
        } else {
            None
        };
        Ok((text, fault))
    }
}

/// Runs cargo with a build of tests. Returns the test programs that it built.
fn built(command: &mut Command) -> Result<Vec<Program>> {
    let metadata = Metadata::load_with_bench()?;
    let json =
        tool::output_shown(command.args(["--locked", "--message-format=json-render-diagnostics"]))?;
    let mut programs = Vec::new();
    for line in json.lines() {
        let Ok(artifact) = serde_json::from_str::<Artifact>(line) else {
            continue; // another kind of message
        };
        let Some(file) = artifact.executable.filter(|_| artifact.profile.test) else {
            continue;
        };
        let package = metadata
            .packages
            .iter()
            .find(|package| package.manifest_path == artifact.manifest_path)
            .ok_or_else(|| format!("{}: no package has it", file.display()))?;
        let kind = artifact.target.kind.first().map_or("", String::as_str);
        let name = match kind {
            "test" => format!("{} {}", package.name, artifact.target.name),
            "bin" => format!("{} unit tests of {}", package.name, artifact.target.name),
            _ => format!("{} unit tests", package.name),
        };
        programs.push(Program {
            name,
            package: package.name.clone(),
            file,
            folder: artifact
                .manifest_path
                .parent()
                .map(PathBuf::from)
                .unwrap_or_default(),
            filters: &[],
            left: Vec::new(),
            environment: Vec::new(),
        });
    }
    Ok(programs)
}

/// Reads a program's output on a thread of its own, because processes that the program leaves behind may keep the other end
/// open.
struct Reader(std::sync::mpsc::Receiver<Vec<u8>>);

impl Reader {
    fn start(mut output: std::io::PipeReader) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = vec![0; 64 << 10];
            while let Ok(read @ 1..) = output.read(&mut piece) {
                if sender.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }

    /// Returns the output after the program has ended, and whether it is complete.
    fn rest(self) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        let until = Instant::now() + LEFT_BEHIND;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.0.recv_timeout(left) {
                Ok(piece) => bytes.extend(piece),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return (bytes, true),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => return (bytes, false),
            }
        }
    }
}

#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, package: &str) -> Program {
        Program {
            name: name.to_owned(),
            package: package.to_owned(),
            file: "/bin/echo".into(),
            folder: "/".into(),
            filters: &["test result: ok. 2 passed; 0 failed;"],
            left: Vec::new(),
            environment: Vec::new(),
        }
    }

    #[test]
    fn what_runs_at_the_same_time_is_counted_and_may_fail() {
        let programs = Programs(vec![program("a", "a"), program("b", "b")]);
        let mut report = Report::default();
        let passes = |report: &mut Report| {
            report.add_line("c", "test result: ok. 3 passed; 0 failed;");
            Ok(())
        };
        programs
            .run_while(&mut report, vec![Box::new(passes), Box::new(passes)])
            .unwrap();
        assert_eq!(report.totals(), "10 passed, 0 failed");

        let fails = |_: &mut Report| Err("a lint".to_owned());
        let result = programs.run_while(&mut report, vec![Box::new(passes), Box::new(fails)]);
        assert_eq!(result.unwrap_err(), "a lint");
        assert_eq!(report.totals(), "17 passed, 0 failed");
    }

    #[test]
    fn the_slowest_programs_start_first_also_with_a_mask() {
        let unmasked = ["oarlock-file", "oarlock-cli", "oarlock-provider"];
        let unmasked = unmasked.map(|package| program(package, package));
        let masked = Programs(unmasked.to_vec()).of(&["oarlock-provider"]);
        let masked = masked.with(("OARLOCK_CPU", "-avx512"));
        let all = Programs::default().and(Programs(unmasked.to_vec()));
        let names: Vec<_> = all.and(masked).0.into_iter().map(|it| it.name).collect();
        let expected = [
            "oarlock-provider",
            "oarlock-provider with OARLOCK_CPU=-avx512",
            "oarlock-cli",
            "oarlock-file",
        ];
        assert_eq!(names, expected);
    }
}
