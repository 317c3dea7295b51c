//! A line of the table of targets.

use std::num::NonZero;

use oarlock_engine::costs::CpuClass;
use oarlock_measure::cases::Size;

use crate::programs::Quantity;
use crate::programs::packets::{Line, Promise};

/// A promise for some cases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Names of cases; for whole programs, patterns.
    pub(super) cases: &'static [&'static str],
    pub(super) comparison: Comparison,
    /// The part of an output line after the case and the point.
    pub(super) what: &'static str,
    /// The least ratio that meets the target.
    pub(super) required: f64,
    /// The letters of the CPU classes that it is promised for.
    pub(super) classes: &'static str,
    /// Whether it belongs to the never-slower matrix, whose lines begin with `class-*`.
    pub(super) of_matrix: bool,
    /// The OpenSSL series that it is promised for, such as `3.0`; `None` for any.
    pub(super) series: Option<&'static str>,
}

/// The kind of comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    /// A cipher at request sizes; the least ratio counts.
    Cipher(&'static CipherRun, Sizes),
    /// Public-key operations; the least ratio over one of these peers counts.
    PublicKey(&'static PublicKeyRun, Depth, &'static [&'static str]),
    /// The first public-key operation of a process.
    First(Process),
    /// A whole program.
    Program(ProgramQuantity),
    /// `oarlock enc`.
    Enc,
}

/// The options of one run of this program for ciphers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CipherRun {
    pub(super) cpu: CpuLimit,
    /// The number of threads, or [`EVERY_CPU`].
    pub(super) threads: usize,
    pub(super) fresh_nonce: bool,
    /// The peer; of several, the one with the least ratio counts.
    pub(super) peer: &'static str,
    pub(super) sizes: &'static str,
    pub(super) mode: &'static str,
    /// The pause before a call or a burst.
    pub(super) idle_ms: &'static str,
    /// The strategy that Oarlock is forced to use, if any.
    pub(super) strategy: Option<&'static str>,
    /// The length of a sample, if the default is too short for a steady state.
    pub(super) sample_ms: Option<&'static str>,
}

/// One thread for each CPU.
pub(super) const EVERY_CPU: usize = 0;

/// The CPUs that a run may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuLimit {
    None,
    /// Bound to one CPU, as by `taskset`.
    OneCpu,
    /// All CPUs, while another process keeps the last one busy.
    Beside,
}

/// Request sizes, and the pause before a call or a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    first: &'static str,
    last: &'static str,
    has_last: bool,
    idle_ms: Option<u64>,
}

/// The options of one run of this program for public-key operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PublicKeyRun {
    pub(super) threads: usize,
    pub(super) depth: &'static str,
    pub(super) beside: Beside,
}

/// The comparison for a public-key target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Beside {
    Peers(&'static str),
    /// Oarlock's own jobs, called by this number of waiting threads.
    Callers(&'static str),
    /// Oarlock without a cipher running on every CPU.
    Mixed,
}

/// The lines of a run that count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Depth {
    At(usize),
    /// Each depth over the one before.
    Each,
    /// The line of the cipher that runs at the same time; it has no depth.
    Cipher,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Fresh,
    ForkedChild,
}

/// The figure of a program that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProgramQuantity {
    pub(super) figure: Quantity,
    /// The other side.
    pub(super) vs: &'static str,
    /// The bytes of a request; `None` for any.
    pub(super) bytes: Option<usize>,
    /// The threads that our side got; `None` for its default.
    pub(super) threads: Option<usize>,
}

impl Target {
    /// Returns the target of a promise for a line of packets.
    pub(super) fn of_packets(line: &'static Line, promise: &'static Promise) -> Self {
        Self {
            cases: std::slice::from_ref(&line.name),
            comparison: Comparison::Program(ProgramQuantity {
                figure: Quantity::Rate,
                vs: promise.peer(),
                bytes: Some(promise.bytes),
                threads: None,
            }),
            what: promise.over,
            required: promise.required,
            classes: promise.classes,
            of_matrix: false,
            series: None,
        }
    }

    /// Splits a target of the matrix into one for each measured size.
    pub(super) fn by_size(self) -> Vec<Self> {
        match self.comparison {
            Comparison::Cipher(run, _) if self.of_matrix => {
                let sizes = run.sizes.split(',');
                sizes
                    .map(|size| Self {
                        comparison: Comparison::Cipher(run, at(size)),
                        ..self
                    })
                    .collect()
            }
            _ => vec![self],
        }
    }

    /// Whether the target takes the worst of many points at which Oarlock is compared with itself.
    pub(super) fn is_the_worst_of_many(&self) -> bool {
        matches!(self.comparison, Comparison::Cipher(run, sizes)
            if !self.of_matrix && run.peer.starts_with("inline") && sizes.first != sizes.last)
    }

    /// Whether the target compares with the peer of that name.
    pub(super) fn is_over(&self, peer: &str) -> bool {
        match self.comparison {
            Comparison::Cipher(run, _) => run.peer == peer,
            Comparison::PublicKey(_, _, vs) => vs.contains(&peer),
            _ => false,
        }
    }

    /// Whether the target is promised for CPUs of `class`.
    pub(super) fn is_promised_for(&self, class: CpuClass) -> bool {
        self.classes.contains(class.letter())
    }

    /// Whether the target is promised for an OpenSSL with this version text, such as `OpenSSL 3.0.19 27 Jan 2026`.
    pub(super) fn is_about(&self, version: &str) -> bool {
        self.series
            .is_none_or(|series| version.starts_with(&format!("OpenSSL {series}.")))
    }

    /// Returns the target's line for `case` on a CPU of `class`.
    pub(super) fn line(&self, case: &str, class: CpuClass) -> String {
        let name = self.name(case);
        match self.of_matrix {
            true => format!("class-{class} {name}"),
            false => name,
        }
    }

    /// Returns the target's line without the CPU class.
    pub(super) fn name(&self, case: &str) -> String {
        let point = match self.comparison {
            Comparison::Cipher(_, sizes) => sizes.name(),
            Comparison::PublicKey(_, Depth::At(depth), _) => format!(" depth {depth}"),
            Comparison::PublicKey(_, Depth::Each, _) => " each depth".to_owned(),
            Comparison::First(Process::Fresh) => " first in a process".to_owned(),
            Comparison::First(Process::ForkedChild) => " first in a forked child".to_owned(),
            Comparison::Program(ProgramQuantity {
                bytes: Some(bytes), ..
            }) => {
                format!(" {}", Size(bytes))
            }
            Comparison::PublicKey(..) | Comparison::Program(_) | Comparison::Enc => String::new(),
        };
        format!("{case}{point}: {}", self.what)
    }

    /// Whether one measurement of a case decides both targets.
    pub(super) fn is_measured_with(&self, other: &Self) -> bool {
        self.cases == other.cases
            && self.of_matrix == other.of_matrix
            && match (self.comparison, other.comparison) {
                (Comparison::Cipher(a, _), Comparison::Cipher(b, _)) => a == b,
                (Comparison::PublicKey(a, ..), Comparison::PublicKey(b, ..)) => a == b,
                (Comparison::First(_), Comparison::First(_)) => true,
                _ => false,
            }
    }
}

/// Returns a single size.
pub(super) const fn at(size: &'static str) -> Sizes {
    to(size, size)
}

/// Returns the sizes from `first` to `last`.
pub(super) const fn to(first: &'static str, last: &'static str) -> Sizes {
    Sizes {
        first,
        last,
        has_last: true,
        idle_ms: None,
    }
}

/// Returns the sizes from `first` to below `last`.
pub(super) const fn below(first: &'static str, last: &'static str) -> Sizes {
    Sizes {
        has_last: false,
        ..to(first, last)
    }
}

impl Sizes {
    /// Adds a pause before each call or burst.
    pub(super) const fn after_ms(self, ms: u64) -> Self {
        Self {
            idle_ms: Some(ms),
            ..self
        }
    }

    fn name(self) -> String {
        let Self { first, last, .. } = self;
        match self.has_last {
            true if first == last => format!(" {first}"),
            true => format!(" {first} to {last}"),
            false => format!(" {first} to below {last}"),
        }
    }

    /// Whether a request of `bytes` after a pause of `idle_ms` is covered.
    pub(super) fn cover(self, bytes: usize, idle_ms: Option<u64>) -> bool {
        let of = |size: &str| size.parse::<Size>().map_or(0, |size| size.0);
        let (first, last) = (of(self.first), of(self.last));
        bytes >= first
            && (bytes < last || self.has_last && bytes == last)
            && idle_ms == self.idle_ms
    }
}

impl CipherRun {
    /// Returns the command-line options.
    pub(super) fn args(&self, case: &str) -> Vec<String> {
        let threads = match self.threads {
            EVERY_CPU => std::thread::available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        };
        let mut args: Vec<String> = [
            "--json",
            "--case",
            case,
            "--peer",
            self.peer,
            "--threads",
            &threads.to_string(),
            "--size",
            self.sizes,
            "--mode",
            self.mode,
            "--idle-ms",
            self.idle_ms,
        ]
        .map(str::to_owned)
        .into();
        args.extend(self.fresh_nonce.then(|| "--fresh-nonce".to_owned()));
        args.extend(self.strategy.map(|name| format!("--strategy={name}")));
        args.extend(self.sample_ms.map(|ms| format!("--sample-ms={ms}")));
        args
    }
}

impl PublicKeyRun {
    /// Returns the command-line options.
    pub(super) fn args(&self, case: &str) -> Vec<String> {
        let threads = self.threads.to_string();
        let beside: &[&str] = match self.beside {
            Beside::Peers(names) => &["--peer", names],
            Beside::Callers(callers) => &["--peer", "job", "--blocking", callers],
            Beside::Mixed => &["--mixed"],
        };
        [
            "--json",
            "--case",
            case,
            "--depth",
            self.depth,
            "--threads",
            &threads,
        ]
        .iter()
        .chain(beside)
        .map(|arg| (*arg).to_owned())
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_say_what_they_cover() {
        for (sizes, name, covered, not_covered) in [
            (at("16k"), " 16k", [16384, 16384], [64, 16385]),
            (to("64", "1k"), " 64 to 1k", [64, 1024], [63, 1025]),
            (below("64", "1k"), " 64 to below 1k", [64, 1023], [63, 1024]),
        ] {
            assert_eq!(sizes.name(), name);
            assert!(covered.iter().all(|bytes| sizes.cover(*bytes, None)));
            assert!(!not_covered.iter().any(|bytes| sizes.cover(*bytes, None)));
            assert!(!sizes.cover(covered[0], Some(2)));
            assert!(sizes.after_ms(2).cover(covered[0], Some(2)));
        }
    }
}
