//! `cargo xtask ci` and `cargo xtask ci --long`: the one list of steps that `make test` and `make test-long` run.
//!
//! The workspace is compiled once, with all its tests. Then the test programs run concurrently, one for each CPU, and next to
//! them what needs CPU time while tests wait: lints and examples. A step that fails ends the run.

mod bench;
pub mod dist;
mod fuzz;
pub mod package;
mod programs;
mod report;
pub mod wheel;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use self::programs::{Programs, Variable};
use self::report::Report;
use crate::tool::{self, Result, cargo};
use crate::{constant_time, openssl_peers, peers, processor, proto, structure, vectors, words};

/// Features that are hidden from the tests, so that they also cover lower CPU classes.
const MASKS: [&str; 2] = ["-avx512", "-avx512,-vaes"];
/// The crates whose tests depend on the CPU's features. The kernels' tests call each kernel by name and do not read the
/// environment.
const CPU_PACKAGES: [&str; 4] = [
    "oarlock",
    "oarlock-engine",
    "oarlock-packet",
    "oarlock-provider",
];
/// The package of the model check.
const MODEL: &str = "oarlock-model";
/// Rounds of the provider's differential test in the long form, as an environment variable.
const LONG_ROUNDS: Variable<'_> = ("OARLOCK_DIFFERENTIAL_ROUNDS", "20000");
/// Preemptions of each interleaving of a ring with helpers, in the long form.
const LONG_PREEMPTIONS: Variable<'_> = ("OARLOCK_MODEL_PREEMPTIONS", "2");

/// Tests that only the long form runs: each is slow, and the short form runs others of its kind.
const LEFT: &[(&str, &str)] = &[
    ("oarlock-capi", "programs::valgrind_finds_nothing"),
    (
        "oarlock-cli",
        "libraries::node_of_every_version_ends_and_prints_as_without",
    ),
    ("oarlock-provider", "languages::cryptography_of_debian"),
    (
        "oarlock-provider",
        "languages::cryptography_with_openssl_3_5",
    ),
    ("oarlock-provider", "unload::while_a_key_of_ed25519_lives"),
    ("oarlock-provider", "unload::while_a_key_of_x25519_lives"),
    ("oarlock-provider", "unload::while_a_key_on_lattices_lives"),
];

/// Every private operation with an RSA key in lanes, even one that is alone. `make test` runs the tests of RSA so, and the long
/// form those whose servers sign, but for those in which requests have to wait for each other.
const LANES_ALWAYS: Variable<'_> = ("OARLOCK_TEST_OPTIONS", "lanes=always");
const WITH_LANES_ALWAYS: [&str; 6] = [
    "handshakes::apache::threads_of_apache_sign",
    "handshakes::nginx::whatever",
    "handshakes::openssl::",
    "handshakes::postgres::",
    "pure::",
    "tls_servers::",
];

/// The library directory of an OpenSSL for the provider's tests.
const OPENSSL: &str = "OARLOCK_TEST_OPENSSL";
/// Ubuntu 22.04's, one that keeps what a key was decoded from, the long-term support series, the last of 3, and the newest.
const OTHER_OPENSSL: [&str; 5] = ["3.0.2", "3.2", "3.5", "3.6", "4.0"];
/// The series that the machine's programs are also run with.
const OF_PROGRAMS: &str = "3.5";
/// The provider's tests that any OpenSSL can run. The others start the machine's programs, which need a libcrypto.so.3 that
/// is not older than the machine's.
const OF_ANY_OPENSSL: [&str; 20] = [
    "advisories::",
    "differences::",
    "differential::",
    "ec::a_key",
    "ec::contexts",
    "ec::copies",
    "ec::every_call",
    "ec::parts",
    "ec::sizes",
    "ec::threads",
    "ec::wycheproof",
    "openssl::",
    "primitives::",
    "process::",
    "pure::every_call",
    "pure::wycheproof",
    "rsa::",
    "skey::",
    "tls::",
    "vectors::",
];

/// Runs the short form: at most 15 minutes on two cores from an empty target directory.
pub fn run(root: &Path, target: &Path) -> Result<()> {
    let mut run = Run::default();
    let programs = run.checks_and_build(root)?;
    run.step("test vectors", |_| vectors::run(target))?;
    run.step("age, which the tests exchange files with", |_| {
        peers::run_age(target)
    })?;
    let [below @ .., provider] = CPU_PACKAGES;
    // The rest of the provider's tests start programs, which take minutes.
    let those = &["differences::", "differential::", "vectors::"];
    let masked = programs.of(&below);
    let masked = masked.and(programs.of(&[provider]).only(those));
    let masked = masked.with(mask(next_class_down()?));
    let all = programs.leaving(LEFT)?.and(masked);
    run.step(
        "tests, those of the next lower class of CPUs, lints, examples, and the Python package",
        |report| {
            let package = |report: &mut Report| {
                timed("the Python package", || wheel::check(root, target, report)).0
            };
            all.run_while(
                report,
                vec![Box::new(package), Box::new(lints_and_examples)],
            )
        },
    )?;
    run.finish()
}

/// Runs the long form, at most 60 minutes: before each release, and after changes to what it covers.
pub fn run_long(root: &Path, target: &Path) -> Result<()> {
    let mut run = Run::default();
    let programs = run.checks_and_build(root)?;
    let unoptimized = run.step("build of kernels without optimization", |_| {
        Programs::build_unoptimized()
    })?;
    run.step("test vectors", |_| vectors::run(target))?;
    run.step("age and rage, which the tests exchange files with", |_| {
        peers::run_age(target)?;
        peers::run_rage(target)
    })?;
    let benchmark = run.step("build of the benchmark", |_| Programs::build_bench(root))?;
    run.step("formatting and lints of the benchmark", |_| {
        bench::check(root)
    })?;
    let mut all = programs
        .without(&[MODEL])
        .with(LONG_ROUNDS)
        .and(programs.of(&[MODEL]).with(LONG_PREEMPTIONS))
        .and(unoptimized)
        .and(benchmark);
    for hidden in MASKS {
        all = all.and(programs.of(&CPU_PACKAGES).with(mask(hidden)));
    }
    let openssl = run.step("the newest OpenSSL 3.0, and others", |_| {
        let newest = peers::newest_openssl(target)?;
        Ok((newest, openssl_peers::libraries(target, &OTHER_OPENSSL)?))
    })?;
    let (newest, others) = openssl;
    let provider = programs.of(&["oarlock-provider"]);
    let signing = provider.clone().only(&WITH_LANES_ALWAYS);
    all = all.and(signing.with(LANES_ALWAYS));
    all = all.and(beside(&provider, &newest));
    for (name, libraries) in OTHER_OPENSSL.iter().zip(&others) {
        let these = match *name {
            OF_PROGRAMS => provider.clone(),
            _ => provider.clone().only(&OF_ANY_OPENSSL),
        };
        all = all.and(beside(&these, libraries));
    }
    run.step(
        "tests at length, those of lesser CPUs, lints, and examples",
        |report| all.run_while(report, vec![Box::new(lints_and_examples)]),
    )?;
    run.step("links in the documentation", |_| {
        tool::status(&mut documentation())
    })?;
    run.step("times that depend on secrets, the short form", |_| {
        constant_time::check(root)
    })?;
    run.step("branches that depend on secrets", |_| {
        constant_time::look(root, target)
    })?;
    run.step("generated code of the protocol", |report| {
        report::shown(&mut proto::test(root, target), report)
    })?;
    run.step("Debian package", |_| package::check(root, target))?;
    run.step("Python package for other distributions", |report| {
        wheel::check_portable(root, target, report)
    })?;
    run.step("what a release publishes", |_| dist::check(root, target))?;
    run.step("each kind of case of the benchmark", |_| {
        bench::run(root, target)
    })?;
    run.step("differential fuzzing", |_| fuzz::run(root, target))?;
    run.finish()
}

/// Returns the programs with this OpenSSL.
fn beside(programs: &Programs, libraries: &Path) -> Programs {
    let folder = libraries.to_string_lossy();
    programs.clone().with((OPENSSL, &folder))
}

/// Returns the mask that makes this CPU one of the next lower class.
fn next_class_down() -> Result<&'static str> {
    Ok(if processor::has_flag("avx512f")? {
        MASKS[0]
    } else {
        MASKS[1]
    })
}

fn mask(hidden: &str) -> Variable<'_> {
    ("OARLOCK_CPU", hidden)
}

/// The run so far.
#[derive(Default)]
struct Run {
    report: Report,
    seconds: Vec<(String, f64)>,
}

impl Run {
    /// Runs the common first steps. Returns the test programs.
    fn checks_and_build(&mut self, root: &Path) -> Result<Programs> {
        self.step("formatting", |_| {
            tool::status(cargo().args(["fmt", "--all", "--check"]))
        })?;
        self.step("structure", |_| structure::run())?;
        self.step("words", |_| words::run(root))?;
        self.step("build", |_| Programs::build())
    }

    fn step<T>(&mut self, name: &str, run: impl FnOnce(&mut Report) -> Result<T>) -> Result<T> {
        let (result, seconds) = timed(name, || run(&mut self.report));
        self.seconds.push((name.to_owned(), seconds));
        result.map_err(|error| {
            self.report.print_failures();
            format!(
                "{name} failed after {seconds:.1} s: {error}\n{}",
                self.report.totals()
            )
        })
    }

    fn finish(self) -> Result<()> {
        self.report.print_slowest();
        self.report.print_skipped();
        println!("\nseconds of each step:");
        for (name, seconds) in &self.seconds {
            println!("{seconds:8.1}  {name}");
        }
        let sum: f64 = self.seconds.iter().map(|(_, seconds)| seconds).sum();
        println!("{sum:8.1}  in all");
        self.report.check()?;
        println!("\n{}", self.report.totals());
        Ok(())
    }
}

/// Runs a step. Returns its result and seconds.
fn timed<T>(name: &str, run: impl FnOnce() -> T) -> (T, f64) {
    println!("\n== {name}");
    let start = Instant::now();
    let result = run();
    let seconds = start.elapsed().as_secs_f64();
    println!("== {name}: {seconds:.1} s");
    (result, seconds)
}

/// Runs the lints, and the examples in the documentation: what else cargo compiles, one after the other, because cargo locks
/// the target directory.
fn lints_and_examples(report: &mut Report) -> Result<()> {
    timed("lints", || tool::status(&mut lints())).0?;
    timed("lints of what `make run` builds first", || {
        tool::status(&mut lints_of_the_first_part())
    })
    .0?;
    timed("examples in the documentation", || {
        let mut command = tool::cargo_that_waits();
        report::shown(
            command.args(["test", "--workspace", "--doc", "--locked"]),
            report,
        )
    })
    .0
}

/// Returns the command that builds the libraries' documentation; lints have checked the rest.
fn documentation() -> Command {
    let mut command = cargo();
    command.args(["doc", "--workspace", "--lib", "--no-deps", "--locked"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// Returns the lints for the Makefile's `FIRST` packages.
fn lints_of_the_first_part() -> Command {
    let mut command = tool::cargo_that_waits();
    command.args(["clippy", "--locked", "--package", "oarlock-cli"]);
    command.args(["--no-default-features", "--package", "oarlock-cli-features"]);
    command.args(["--bin", "oarlock", "--", "-D", "warnings"]);
    command
}

fn lints() -> Command {
    let mut command = tool::cargo_that_waits();
    command.args(["clippy", "--workspace", "--all-targets", "--locked"]);
    command.args(["--", "-D", "warnings"]);
    command
}
