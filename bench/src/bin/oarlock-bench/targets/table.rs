//! Reads all targets from `bench/targets.toml`: the promises, and the CPU classes they hold for.

use std::collections::BTreeMap;

use oarlock_measure::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;

use super::target::{
    Beside, CipherRun, Comparison, CpuLimit, Depth, Process, ProgramQuantity, PublicKeyRun, Sizes,
    Target, at, below, to,
};
use crate::programs::c_library::{RUST, RUST_LOOP};
use crate::programs::device::{ALLOWED, CPU, HOLLOW, NEIGHBOUR, ONE, SUM, WITHOUT};
use crate::programs::file_to_tls::{SSL_WRITE, SSL_WRITE_LONG};
use crate::programs::handshakes::ONE_PROCESS;
use crate::programs::in_memory::STOCK_X25519;
use crate::programs::operations::AWS_LC;
use crate::programs::python::{
    AGE_TASKS, COMMAND, CRYPTOGRAPHY, ENCRYPTION, ENCRYPTION_SDK, MILLISECOND, ONE_WORKER,
    TWO_MILLISECONDS, TWO_THREADS,
};
use crate::programs::server::{
    ALL, AT_FIRST, CLIENT, FULL_QUEUE, HONEST, LIBRARY, PAPER, PEAK, PLAINTEXT, SOFTHSM, TWO_THIRDS,
};
use crate::programs::{Quantity, STOCK};

/// Returns the targets in the order of measurement. Neighbours with the same cases and run share a measurement.
///
/// # Errors
/// [`Error::Failed`] for an invalid file.
pub(super) fn targets() -> Result<Vec<Target>, Error> {
    read(TEXT)
}

fn read(text: &str) -> Result<Vec<Target>, Error> {
    let file: File = toml::from_str(text).map_err(wrong)?;
    let targets = file.targets.iter().map(|line| line.target(&file));
    targets.collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    targets: Vec<Line>,
    lists: BTreeMap<String, Vec<String>>,
    runs: BTreeMap<String, Table>,
    public_key_runs: BTreeMap<String, Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    cases: OneOrMore,
    run: Option<String>,
    at: Option<String>,
    from: Option<String>,
    to: Option<String>,
    below: Option<String>,
    after_ms: Option<u64>,
    public_key_run: Option<String>,
    depth: Option<Point>,
    first: Option<FirstOf>,
    figure: Option<Quantity>,
    over: Option<OneOrMore>,
    bytes: Option<usize>,
    threads: Option<usize>,
    series: Option<String>,
    #[serde(default)]
    enc: bool,
    what: String,
    required: Option<f64>,
    at_most: Option<f64>,
    classes: String,
    #[serde(default)]
    matrix: bool,
}

/// One word for a list of cases, or for the other side of a program.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Point {
    At(usize),
    Named(NamedPoint),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NamedPoint {
    Each,
    Cipher,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FirstOf {
    Process,
    ForkedChild,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CipherLine {
    peer: String,
    threads: usize,
    sizes: String,
    mode: String,
    idle_ms: String,
    #[serde(default)]
    fresh_nonce: bool,
    strategy: Option<String>,
    sample_ms: Option<String>,
    cpus: Option<Cpus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Cpus {
    One,
    OneIsBusy,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicKeyLine {
    threads: usize,
    depth: String,
    peers: String,
    callers: Option<String>,
    #[serde(default)]
    mixed: bool,
}

impl Line {
    fn target(&self, file: &File) -> Result<Target, Error> {
        let cases = match &self.cases {
            OneOrMore::More(names) => names,
            OneOrMore::One(list) => file.lists.get(list).ok_or_else(|| no("list", list))?,
        };
        let required = match (self.required, self.at_most) {
            (Some(required), None) => required,
            (None, Some(most)) => 1.0 / most,
            _ => return Err(self.wrong("it says `required` or `at_most`")),
        };
        Ok(Target {
            cases: kept_all(cases),
            comparison: self.comparison(file)?,
            what: kept(&self.what),
            required,
            classes: kept(&self.classes),
            of_matrix: self.matrix,
            series: self.series.as_deref().map(kept),
        })
    }

    fn comparison(&self, file: &File) -> Result<Comparison, Error> {
        let all = (
            &self.run,
            &self.public_key_run,
            &self.first,
            self.figure,
            self.enc,
        );
        match all {
            (Some(run), None, None, None, false) => {
                let run: CipherLine = run_of(&file.runs, run)?;
                Ok(Comparison::Cipher(Box::leak(run.into()), self.sizes()?))
            }
            (None, Some(run), None, None, false) => {
                let run: PublicKeyLine = run_of(&file.public_key_runs, run)?;
                let depth = match self.depth {
                    Some(Point::At(depth)) => Depth::At(depth),
                    Some(Point::Named(NamedPoint::Each)) => Depth::Each,
                    Some(Point::Named(NamedPoint::Cipher)) => Depth::Cipher,
                    None => return Err(self.wrong("it needs a `depth`")),
                };
                let Some(OneOrMore::More(over)) = &self.over else {
                    return Err(self.wrong("it is `over` a list of peers"));
                };
                let run = Box::leak(run.into());
                Ok(Comparison::PublicKey(run, depth, kept_all(over)))
            }
            (None, None, Some(first), None, false) => Ok(Comparison::First(match first {
                FirstOf::Process => Process::Fresh,
                FirstOf::ForkedChild => Process::ForkedChild,
            })),
            (None, None, None, Some(figure), false) => {
                let Some(OneOrMore::One(over)) = &self.over else {
                    return Err(self.wrong("it is `over` one other side"));
                };
                let mut sides = SIDES.into_iter();
                let vs = sides.find(|side| side == over);
                Ok(Comparison::Program(ProgramQuantity {
                    figure,
                    vs: vs.ok_or_else(|| no("other side", over))?,
                    bytes: self.bytes,
                    threads: self.threads,
                }))
            }
            (None, None, None, None, true) => Ok(Comparison::Enc),
            _ => Err(self.wrong("it says one of what is compared")),
        }
    }

    fn sizes(&self) -> Result<Sizes, Error> {
        let sizes = match (&self.at, &self.from, &self.to, &self.below) {
            (Some(size), None, None, None) => at(kept(size)),
            (None, Some(first), Some(last), None) => to(kept(first), kept(last)),
            (None, Some(first), None, Some(last)) => below(kept(first), kept(last)),
            _ => return Err(self.wrong("it says `at`, or `from` and `to` or `below`")),
        };
        Ok(match self.after_ms {
            Some(ms) => sizes.after_ms(ms),
            None => sizes,
        })
    }

    fn wrong(&self, what: &str) -> Error {
        wrong(format!("{:?}: {what}", self.what))
    }
}

impl From<CipherLine> for Box<CipherRun> {
    fn from(line: CipherLine) -> Self {
        let cpu = match line.cpus {
            Some(Cpus::One) => CpuLimit::OneCpu,
            Some(Cpus::OneIsBusy) => CpuLimit::Beside,
            None => CpuLimit::None,
        };
        Box::new(CipherRun {
            cpu,
            threads: line.threads,
            fresh_nonce: line.fresh_nonce,
            peer: kept(&line.peer),
            sizes: kept(&line.sizes),
            mode: kept(&line.mode),
            idle_ms: kept(&line.idle_ms),
            strategy: line.strategy.as_deref().map(kept),
            sample_ms: line.sample_ms.as_deref().map(kept),
        })
    }
}

impl From<PublicKeyLine> for Box<PublicKeyRun> {
    fn from(line: PublicKeyLine) -> Self {
        let beside = match (line.mixed, &line.callers) {
            (true, _) => Beside::Mixed,
            (false, Some(callers)) => Beside::Callers(kept(callers)),
            (false, None) => Beside::Peers(kept(&line.peers)),
        };
        Box::new(PublicKeyRun {
            threads: line.threads,
            depth: kept(&line.depth),
            beside,
        })
    }
}

/// Returns the run `name`, with the values it inherits.
fn run_of<T: DeserializeOwned>(runs: &BTreeMap<String, Table>, name: &str) -> Result<T, Error> {
    let mut whole = Table::new();
    let mut next = Some(name.to_owned());
    for _ in 0..=runs.len() {
        let Some(name) = next.take() else { break };
        for (key, value) in runs.get(&name).ok_or_else(|| no("run", &name))? {
            match (key.as_str(), value.as_str()) {
                ("like", Some(other)) => next = Some(other.to_owned()),
                _ => drop(whole.entry(key).or_insert_with(|| value.clone())),
            }
        }
    }
    whole.try_into().map_err(wrong)
}

fn no(what: &str, name: &str) -> Error {
    wrong(format!("there is no {what} {name:?}"))
}

fn wrong(what: impl std::fmt::Display) -> Error {
    Error::Failed(format!("bench/targets.toml: {what}"))
}

/// Leaks a copy of `text`; the program reads the file once.
fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn kept_all(names: &[String]) -> &'static [&'static str] {
    names
        .iter()
        .map(|name| kept(name))
        .collect::<Vec<_>>()
        .leak()
}

/// The names of the other sides of whole programs.
const SIDES: [&str; 39] = [
    "age",
    "cat",
    "cp",
    "rage",
    ALL,
    AGE_TASKS,
    ALLOWED,
    AT_FIRST,
    AWS_LC,
    CLIENT,
    COMMAND,
    CPU,
    CRYPTOGRAPHY,
    ENCRYPTION,
    ENCRYPTION_SDK,
    FULL_QUEUE,
    HOLLOW,
    HONEST,
    LIBRARY,
    MILLISECOND,
    NEIGHBOUR,
    ONE,
    ONE_PROCESS,
    ONE_WORKER,
    PAPER,
    PEAK,
    PLAINTEXT,
    RUST,
    RUST_LOOP,
    SOFTHSM,
    SSL_WRITE,
    SSL_WRITE_LONG,
    STOCK,
    STOCK_X25519,
    SUM,
    TWO_MILLISECONDS,
    TWO_THIRDS,
    TWO_THREADS,
    WITHOUT,
];

const TEXT: &str = include_str!("../../../../targets.toml");

#[cfg(test)]
mod tests {
    use oarlock_measure::cases::{CASES, PUBLIC_KEY_CASES, Size, glob};

    use super::*;
    use crate::programs;
    use oarlock_engine::costs::CpuClass;

    fn names_cipher(name: &str) -> bool {
        CASES.iter().any(|case| case.name == name)
    }

    #[test]
    fn every_target_is_about_what_is_measured() {
        let programs = programs::cases();
        for target in targets().unwrap() {
            let name = target.name("");
            let all = |is_known: &dyn Fn(&str) -> bool| {
                assert!(target.cases.iter().all(|case| is_known(case)), "{target:?}");
            };
            match target.comparison {
                Comparison::Cipher(run, sizes) => {
                    all(&names_cipher);
                    let mut measured = run.sizes.split(',').map(|size| size.parse::<Size>());
                    let pause = run.idle_ms.parse().ok();
                    let covers =
                        |size: Size| sizes.cover(size.0, None) || sizes.cover(size.0, pause);
                    assert!(measured.any(|size| covers(size.unwrap())), "{name}");
                }
                Comparison::PublicKey(run, depth, vs) => {
                    all(&|name| PUBLIC_KEY_CASES.iter().any(|case| case.name == name));
                    let mut depths = run.depth.split(',').map(|at| at.parse::<usize>().unwrap());
                    match depth {
                        Depth::At(depth) => assert!(depths.any(|at| at == depth), "{name}"),
                        Depth::Each => assert!(depths.count() > 1, "{name}"),
                        Depth::Cipher => assert_eq!(run.beside, Beside::Mixed, "{name}"),
                    }
                    if let (Beside::Peers(peers), false) = (run.beside, depth == Depth::Each) {
                        let is_there = |vs: &&str| peers.split(',').any(|peer| peer == *vs);
                        assert!(vs.iter().all(is_there), "{name}");
                    }
                }
                Comparison::First(_) => assert_eq!(target.cases, ["rsa-2048-sign"]),
                Comparison::Program(_) => {
                    all(&|pattern| {
                        programs
                            .iter()
                            .any(|case| glob::matches(pattern, &case.name))
                    });
                }
                Comparison::Enc => {}
            }
            assert!(!target.classes.is_empty(), "{name}");
            let is_class = |class| CpuClass::ALL.iter().any(|one| one.letter() == class);
            assert!(target.classes.chars().all(is_class), "{name}");
        }
    }

    #[test]
    fn every_cipher_is_held_to_the_best_strategy() {
        let file: File = toml::from_str(TEXT).unwrap();
        for case in CASES.iter().filter(|case| !case.then_hmac) {
            let held = file.lists["every-cipher"]
                .iter()
                .any(|name| name == case.name);
            assert!(held, "{}", case.name);
        }
    }

    #[test]
    fn a_file_that_is_wrong_says_where() {
        let said = |from: &str, to: &str| {
            let text = TEXT.replacen(from, to, 1);
            assert_ne!(text, TEXT, "{from}");
            read(&text).unwrap_err().to_string()
        };
        for (from, to, what) in [
            (
                "run = \"openssl-sizes\"",
                "run = \"none\"",
                "no run \"none\"",
            ),
            (
                "cases = \"every-cipher\"",
                "cases = \"none\"",
                "no list \"none\"",
            ),
            ("at = \"64\"", "at = \"64\", to = \"1k\"", "it says `at`"),
            (
                "required = 1.3",
                "required = 1.3, at_most = 1.0",
                "`required` or",
            ),
            (
                "required = 1.3",
                "required = 1.3, enc = true",
                "one of what is compared",
            ),
            ("over = \"cp\"", "over = \"dd\"", "no other side \"dd\""),
            ("figure = \"rate\"", "figure = \"speed\"", "unknown variant"),
            (
                "like = \"openssl\", sizes",
                "like = \"openssl\", size",
                "unknown field",
            ),
        ] {
            let said = said(from, to);
            assert!(said.starts_with("bench/targets.toml: "), "{said}");
            assert!(said.contains(what), "{said}");
        }
    }
}
