//! `--targets`: the figures this project has promised, each measured as it was promised.
//!
//! Ratios come from this program run again, in the surroundings that a target names: on all CPUs,
//! on one, or with AES instructions hidden. A target that holds for many sizes is as good as the
//! worst of them.

use std::io::Write;
use std::process::Command;

use oarlock_bench::Error;
use oarlock_bench::cli::Size;
use oarlock_bench::output::{Line, Ratio};
use oarlock_bench::record::Record;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use crate::enc;

/// How a set of targets is measured: one run of this program.
struct Ask {
    place: Place,
    case: &'static str,
    threads: usize,
    fresh_nonce: bool,
    peer: &'static str,
    sizes: &'static str,
    targets: &'static [Target],
}

/// Where a run takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Here,
    /// Bound to one CPU, as by `taskset`.
    OneCpu,
    /// AES instructions hidden from Oarlock and, by OPENSSL_ia32cap, from OpenSSL and aws-lc.
    NoAes,
}

/// A least ratio for all sizes from the first to the last.
struct Target {
    what: &'static str,
    first: &'static str,
    last: &'static str,
    after_idle: bool,
    least: f64,
}

const fn target(what: &'static str, at: &'static str, least: f64) -> Target {
    between(what, at, at, least)
}

const fn between(
    what: &'static str,
    first: &'static str,
    last: &'static str,
    least: f64,
) -> Target {
    Target {
        what,
        first,
        last,
        after_idle: false,
        least,
    }
}

const fn after_idle(target: Target) -> Target {
    Target {
        after_idle: true,
        ..target
    }
}

const PLAIN: Ask = Ask {
    place: Place::Here,
    case: "aes-128-ctr",
    threads: 1,
    fresh_nonce: false,
    peer: "openssl",
    sizes: "16k",
    targets: &[],
};

const ASKS: &[Ask] = &[
    Ask {
        sizes: "64,1k,16k,1m",
        targets: &[
            target("over openssl", "64", 1.3),
            target("over openssl", "1k", 2.0),
            target("over openssl", "16k", 2.5),
            target("over openssl", "1m", 2.5),
        ],
        ..PLAIN
    },
    Ask {
        peer: "ipsec-mb",
        sizes: "16k,1m",
        targets: &[
            target("over ipsec-mb", "16k", 1.12),
            target("over ipsec-mb", "1m", 1.12),
        ],
        ..PLAIN
    },
    Ask {
        fresh_nonce: true,
        targets: &[target("fresh nonce, over openssl", "16k", 2.4)],
        ..PLAIN
    },
    Ask {
        fresh_nonce: true,
        peer: "ipsec-mb",
        targets: &[target("fresh nonce, over ipsec-mb", "16k", 1.08)],
        ..PLAIN
    },
    Ask {
        case: "aes-256-ctr",
        targets: &[target("over openssl", "16k", 2.2)],
        ..PLAIN
    },
    Ask {
        case: "aes-256-ctr",
        peer: "ipsec-mb",
        targets: &[target("over ipsec-mb", "16k", 1.05)],
        ..PLAIN
    },
    Ask {
        peer: "kernel",
        sizes: "64,1k",
        targets: &[
            target("API over kernel", "64", 0.8),
            target("API over kernel", "1k", 0.95),
        ],
        ..PLAIN
    },
    Ask {
        threads: 2,
        peer: "inline",
        sizes: ALL_SIZES,
        targets: &[
            target("2 threads over one", "1m", 1.6),
            between("2 threads over one", "4m", "64m", 1.85),
            after_idle(target("2 threads over one, after idle", "16m", 1.85)),
            between("auto over inline", "64", "1023", 0.95),
            between("auto over inline", "1k", "64m", 0.97),
            after_idle(between(
                "auto over inline, after idle",
                IDLE_FROM,
                "64m",
                0.97,
            )),
        ],
        ..PLAIN
    },
    Ask {
        place: Place::OneCpu,
        threads: 2,
        peer: "inline",
        sizes: ALL_SIZES,
        targets: &[
            between("auto over inline, one CPU", "64", "1023", 0.95),
            between("auto over inline, one CPU", "1k", "64m", 0.97),
            after_idle(between(
                "auto over inline, one CPU, after idle",
                IDLE_FROM,
                "64m",
                0.97,
            )),
        ],
        ..PLAIN
    },
    Ask {
        place: Place::NoAes,
        threads: 2,
        sizes: "16m",
        targets: &[target("2 threads over openssl, no AES-NI", "16m", 1.5)],
        ..PLAIN
    },
];

const ALL_SIZES: &str = "64,256,1k,4k,16k,64k,256k,1m,4m,16m,64m";
/// One call after idleness takes less than the clock can tell from chance below this.
const IDLE_FROM: &str = "64k";

/// The bits of AES-NI and PCLMULQDQ in CPUID leaf 1. VAES is only ever used beside AES-NI, by
/// OpenSSL as by aws-lc; SSSE3 stays, and with it the best code for CPUs without AES-NI. Set but
/// empty, the variable would hide everything.
const NO_AES_FOR_OPENSSL: &str = "~0x200000200000000";
/// More than this is made with AES instructions only: OpenSSL without them makes 0.6 to 0.8.
const NO_AES_GB_PER_S_MAX: f64 = 2.0;

/// What came out for one target.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) target: String,
    pub(crate) required: f64,
    /// None where it could not be measured; `note` says why.
    pub(crate) measured: Option<f64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) met: bool,
    pub(crate) note: String,
}

impl Outcome {
    pub(crate) fn measured(target: String, required: f64, ratio: [f64; 3], note: String) -> Self {
        let [min, median, max] = ratio;
        Self {
            target,
            required,
            measured: Some(median),
            min: Some(min),
            max: Some(max),
            met: median >= required,
            note,
        }
    }

    pub(crate) fn not_measured(target: String, required: f64, why: String) -> Self {
        Self {
            target,
            required,
            measured: None,
            min: None,
            max: None,
            met: false,
            note: why,
        }
    }

    fn show(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self {
            target,
            required,
            note,
            ..
        } = self;
        let verdict = if self.met { "met" } else { "NOT MET" };
        match (self.measured, self.min, self.max) {
            (Some(median), Some(min), Some(max)) => writeln!(
                out,
                "{required:>8.2}  {median:>8.3}  {min:>7.3} {max:>7.3}  {verdict:<8} {target}{note}"
            ),
            _ => writeln!(
                out,
                "{required:>8.2}  {:>8}  {:>7} {:>7}  {:<8} {target}: {note}",
                "-", "-", "-", "NOT RUN"
            ),
        }
    }
}

/// Measures all targets and writes a line for each.
pub(crate) fn run(cli: &crate::Cli, out: &mut dyn Write) -> Result<(), Error> {
    let mut record = match cli.args.record {
        true => Some(Record::open(&versions())?),
        false => None,
    };
    if !cli.args.json {
        writeln!(out, "required  measured      min     max")
            .map_err(Error::io("writing the result"))?;
    }
    let (mut missed, mut total) = (0, 0);
    let mut report = |outcome: Outcome| -> Result<(), Error> {
        total += 1;
        missed += usize::from(!outcome.met);
        if let Some(record) = &mut record {
            record.add(&outcome)?;
        }
        let written = if cli.args.json {
            serde_json::to_string(&outcome)
                .map_err(std::io::Error::from)
                .and_then(|line| writeln!(out, "{line}"))
        } else {
            outcome.show(out)
        };
        written
            .and_then(|()| out.flush())
            .map_err(Error::io("writing the result"))
    };
    for ask in ASKS {
        let ratios = ask.measure(cli.args.quick);
        for target in ask.targets {
            let name = ask.name(target);
            let outcome = ratios
                .as_deref()
                .map_err(ToString::to_string)
                .and_then(|ratios| target.judge(&name, ratios))
                .unwrap_or_else(|why| Outcome::not_measured(name, target.least, why));
            report(outcome)?;
        }
    }
    report(enc::measure(cli.oarlock.as_deref(), cli.args.quick))?;
    if missed == 0 {
        Ok(())
    } else {
        Err(Error::Failed(format!(
            "{missed} of {total} targets not met"
        )))
    }
}

/// Of every peer that is here.
fn versions() -> Vec<String> {
    crate::PEERS
        .iter()
        .filter_map(|factory| (factory.open)(1).ok())
        .map(|peer| peer.version())
        .collect()
}

impl Ask {
    fn name(&self, target: &Target) -> String {
        let Target {
            what, first, last, ..
        } = target;
        let sizes = match (*first == *last, *last) {
            (true, _) => (*first).to_owned(),
            (false, "1023") => format!("{first} to below 1k"),
            (false, _) => format!("{first} to {last}"),
        };
        format!("{} {sizes}: {what}", self.case)
    }

    /// Runs this program for it.
    fn measure(&self, quick: bool) -> Result<Vec<Ratio>, Error> {
        let program = std::env::current_exe().map_err(Error::io("this program"))?;
        let mut command = Command::new(program);
        command
            .args(["--json", "--case", self.case, "--peer", self.peer])
            .args(["--threads", &self.threads.to_string(), "--size", self.sizes])
            .args(self.fresh_nonce.then_some("--fresh-nonce"))
            .args(quick.then_some("--quick"));
        if self.place == Place::NoAes {
            command
                .env("OPENSSL_ia32cap", NO_AES_FOR_OPENSSL)
                .env("OARLOCK_CPU", "-aes");
        }
        let output = if self.place == Place::OneCpu {
            on_one_cpu(|| command.output())
        } else {
            command.output()
        }
        .map_err(Error::io("this program again"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.trim().trim_start_matches("oarlock-bench: ");
            return Err(Error::Failed(why.to_owned()));
        }
        let mut ratios = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let line: Line = serde_json::from_str(line)
                .map_err(|error| Error::Failed(format!("{line:?}: {error}")))?;
            match line {
                Line::Ratio(ratio) => ratios.push(ratio),
                Line::Rate(rate)
                    if self.place == Place::NoAes && rate.median > NO_AES_GB_PER_S_MAX =>
                {
                    return Err(Error::Failed(format!(
                        "{} makes {} GB/s: its AES instructions are not hidden",
                        rate.implementation, rate.median
                    )));
                }
                Line::Rate(_) => {}
            }
        }
        Ok(ratios)
    }
}

impl Target {
    fn judge(&self, name: &str, ratios: &[Ratio]) -> Result<Outcome, String> {
        let bytes = |size: &str| size.parse::<Size>().map(|size| size.0);
        let range = bytes(self.first)?..=bytes(self.last)?;
        // After idle means the shorter pause, which a quick run has too.
        let worst = ratios
            .iter()
            .filter(|ratio| range.contains(&ratio.bytes))
            .filter(|ratio| match ratio.idle_ms {
                None => !self.after_idle,
                Some(ms) => self.after_idle && ms == 2,
            })
            .min_by(|a, b| a.ratio_median.total_cmp(&b.ratio_median))
            .ok_or("nothing was measured there")?;
        let note = if self.first == self.last {
            String::new()
        } else {
            format!(" (worst at {})", Size(worst.bytes))
        };
        let ratio = [worst.ratio_min, worst.ratio_median, worst.ratio_max];
        Ok(Outcome::measured(name.to_owned(), self.least, ratio, note))
    }
}

/// Binds this thread to the first of its CPUs meanwhile; a process it starts inherits that.
fn on_one_cpu<T>(work: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let all = sched_getaffinity(None)?;
    let mut one = CpuSet::new();
    if let Some(first) = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)) {
        one.set(first);
        sched_setaffinity(None, &one)?;
    }
    let result = work();
    sched_setaffinity(None, &all)?;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_size_that_is_measured() {
        for ask in ASKS {
            for target in ask.targets {
                let bytes = |size: &str| size.parse::<Size>().unwrap().0;
                let range = bytes(target.first)..=bytes(target.last);
                assert!(
                    ask.sizes
                        .split(',')
                        .any(|size| range.contains(&bytes(size))),
                    "{}",
                    ask.name(target)
                );
            }
        }
    }

    #[test]
    fn the_worst_size_counts() {
        let ratio = |bytes, ratio_median, idle_ms| Ratio {
            case: "aes-128-ctr".to_owned(),
            vs: "inline".to_owned(),
            threads: 2,
            bytes,
            ratio_median,
            ratio_min: 0.5,
            ratio_max: 3.0,
            mode: None,
            idle_ms,
            fresh_nonce: false,
            depth: None,
            call_bytes: None,
            strategy: None,
        };
        let ratios = [
            ratio(64, 0.1, None),
            ratio(1024, 1.2, None),
            ratio(4096, 0.96, None),
            ratio(4096, 0.2, Some(2)),
        ];
        let outcome = between("", "1k", "64m", 0.97)
            .judge("all", &ratios)
            .unwrap();
        assert_eq!((outcome.measured, outcome.met), (Some(0.96), false));
        assert_eq!(outcome.note, " (worst at 4k)");
        assert!(target("", "1k", 1.2).judge("1k", &ratios).unwrap().met);
        assert!(target("", "1m", 1.0).judge("1m", &ratios).is_err());
    }
}
