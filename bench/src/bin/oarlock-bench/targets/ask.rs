//! How targets are measured: by this program run again, in the surroundings that they name.

use std::process::Command;

use oarlock_bench::Error;
use oarlock_bench::cases::Size;
use oarlock_bench::output::{Line, Ratio};
use serde::de::DeserializeOwned;

use super::outcome::Outcome;
use crate::system::surroundings::{NO_AES_FOR_OPENSSL, on_one_cpu};

/// One run of this program, and what is asked of its ratios.
pub(super) struct Ask {
    pub(super) place: Place,
    pub(super) case: &'static str,
    pub(super) threads: usize,
    pub(super) fresh_nonce: bool,
    /// Of several, the one that Oarlock compares worst with counts.
    pub(super) peer: &'static str,
    pub(super) sizes: &'static str,
    pub(super) mode: &'static str,
    /// Before a call or a burst.
    pub(super) idle_ms: &'static str,
    /// Forced on Oarlock, where there is one.
    pub(super) strategy: Option<&'static str>,
    /// Of a sample, where the usual is too short to be a steady state.
    pub(super) sample_ms: Option<&'static str>,
    pub(super) targets: &'static [Target],
}

/// Where a run takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Here,
    /// Bound to one CPU, as by `taskset`.
    OneCpu,
    /// AES instructions hidden from Oarlock and, by OPENSSL_ia32cap, from OpenSSL and aws-lc.
    NoAes,
    /// As [`NoAes`](Self::NoAes), and without GFNI, which makes AES of what is left four times as
    /// fast as anything else does.
    NoAesNorGfni,
}

/// One thread, against OpenSSL.
pub(super) const PLAIN: Ask = Ask {
    place: Place::Here,
    case: "aes-128-ctr",
    threads: 1,
    fresh_nonce: false,
    peer: "openssl",
    sizes: "16k",
    mode: "back-to-back",
    idle_ms: "2",
    strategy: None,
    sample_ms: None,
    targets: &[],
};

/// Two threads, against one.
pub(super) const TWO_THREADS: Ask = Ask {
    threads: 2,
    peer: "inline",
    ..PLAIN
};

/// A least ratio for all sizes of a range.
pub(super) struct Target {
    what: &'static str,
    first: &'static str,
    end: End,
    /// Of the pause before a call or a burst.
    idle_ms: Option<u64>,
    pub(super) least: f64,
}

enum End {
    With(&'static str),
    Before(&'static str),
}

/// For one size.
pub(super) const fn target(what: &'static str, at: &'static str, least: f64) -> Target {
    between(what, at, at, least)
}

/// For all sizes from the first to the last.
pub(super) const fn between(
    what: &'static str,
    first: &'static str,
    last: &'static str,
    least: f64,
) -> Target {
    Target {
        what,
        first,
        end: End::With(last),
        idle_ms: None,
        least,
    }
}

/// For all sizes from the first on that are less than the last.
pub(super) const fn below(
    what: &'static str,
    first: &'static str,
    last: &'static str,
    least: f64,
) -> Target {
    Target {
        end: End::Before(last),
        ..between(what, first, last, least)
    }
}

/// For what comes after a pause.
pub(super) const fn after_idle(ms: u64, target: Target) -> Target {
    Target {
        idle_ms: Some(ms),
        ..target
    }
}

impl Ask {
    pub(super) fn name(&self, target: &Target) -> String {
        let first = target.first;
        let sizes = match target.end {
            End::With(last) if last == first => first.to_owned(),
            End::With(last) => format!("{first} to {last}"),
            End::Before(end) => format!("{first} to below {end}"),
        };
        format!("{} {sizes}: {}", self.case, target.what)
    }

    /// Runs this program for it.
    pub(super) fn measure(&self, quick: bool) -> Result<Vec<Ratio>, Error> {
        let mut command = this_program()?;
        command
            .args(["--json", "--case", self.case, "--peer", self.peer])
            .args(["--threads", &self.threads.to_string(), "--size", self.sizes])
            .args(["--mode", self.mode, "--idle-ms", self.idle_ms])
            .args(self.fresh_nonce.then_some("--fresh-nonce"))
            .args(quick.then_some("--quick"))
            .args(self.strategy.map(|name| format!("--strategy={name}")))
            .args(self.sample_ms.map(|ms| format!("--sample-ms={ms}")));
        if std::env::var_os("DUMP").is_some() {
            eprintln!(
                "RUN {:?} {:?}",
                self.place,
                command.get_args().collect::<Vec<_>>()
            );
            return Ok(Vec::new());
        }
        let mask = match self.place {
            Place::Here | Place::OneCpu => None,
            Place::NoAes => Some("-aes"),
            Place::NoAesNorGfni => Some("-aes,-gfni"),
        };
        if let Some(mask) = mask {
            command
                .env("OPENSSL_ia32cap", NO_AES_FOR_OPENSSL)
                .env("OARLOCK_CPU", mask);
        }
        let text = if self.place == Place::OneCpu {
            on_one_cpu(|| output(&mut command))?
        } else {
            output(&mut command)?
        };
        let mut ratios = Vec::new();
        for line in text.lines() {
            match read(line)? {
                Line::Ratio(ratio) => ratios.push(ratio),
                Line::Rate(rate)
                    if mask.is_some()
                        && rate.implementation == "openssl"
                        && rate.median > NO_AES_GB_PER_S_MAX =>
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
    /// What the worst of `ratios` that it is about says.
    pub(super) fn judge(&self, name: &str, ratios: &[Ratio]) -> Result<Outcome, String> {
        let mine: Vec<_> = ratios
            .iter()
            .filter(|ratio| self.covers(ratio.bytes) && ratio.idle_ms == self.idle_ms)
            .collect();
        let worst = worst(&mine)?;
        let mut worst_of = Vec::new();
        if mine.iter().any(|ratio| ratio.bytes != worst.bytes) {
            worst_of.push(format!("at {}", Size(worst.bytes)));
        }
        if mine.iter().any(|ratio| ratio.vs != worst.vs) {
            worst_of.push(format!("over {}", worst.vs));
        }
        let note = match worst_of.join(" ") {
            nothing if nothing.is_empty() => nothing,
            what => format!(" (worst {what})"),
        };
        Ok(Outcome::of(name.to_owned(), self.least, worst, note))
    }

    /// Whether it is about requests of `bytes`.
    pub(super) fn covers(&self, bytes: usize) -> bool {
        let of = |size: &str| size.parse::<Size>().map_or(0, |size| size.0);
        bytes >= of(self.first)
            && match self.end {
                End::With(last) => bytes <= of(last),
                End::Before(end) => bytes < of(end),
            }
    }
}

/// The least of some ratios.
pub(super) fn worst<'a>(ratios: &[&'a Ratio]) -> Result<&'a Ratio, String> {
    ratios
        .iter()
        .copied()
        .min_by(|a, b| a.ratio_median.total_cmp(&b.ratio_median))
        .ok_or_else(|| "nothing was measured there".to_owned())
}

/// This program, to be run again.
pub(super) fn this_program() -> Result<Command, Error> {
    let program = std::env::current_exe().map_err(Error::io("this program"))?;
    Ok(Command::new(program))
}

/// What a run of this program writes.
pub(super) fn output(command: &mut Command) -> Result<String, Error> {
    let output = command.output().map_err(Error::io("this program again"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.trim().trim_start_matches("oarlock-bench: ");
    Err(Error::Failed(why.replace('\n', "; ")))
}

/// A line of what it writes.
pub(super) fn read<T: DeserializeOwned>(line: &str) -> Result<T, Error> {
    serde_json::from_str(line).map_err(|error| Error::Failed(format!("{line:?}: {error}")))
}

/// More than this is made with AES instructions only: OpenSSL without them makes 0.6 to 0.8.
const NO_AES_GB_PER_S_MAX: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(bytes: usize, vs: &str, ratio_median: f64, idle_ms: Option<u64>) -> Ratio {
        Ratio {
            case: "aes-128-ctr".to_owned(),
            vs: vs.to_owned(),
            threads: 2,
            bytes,
            ratio_median,
            ratio_min: 0.5,
            ratio_max: 3.0,
            mode: None,
            idle_ms,
            call_bytes: None,
            fresh_nonce: false,
            depth: None,
            strategy: None,
            callers: None,
            vs_depth: None,
        }
    }

    #[test]
    fn the_worst_size_and_peer_count() {
        let ratios = [
            ratio(64, "inline", 0.1, None),
            ratio(1024, "inline", 1.2, None),
            ratio(4096, "inline", 0.96, None),
            ratio(4096, "stripe", 0.95, None),
            ratio(4096, "inline", 0.2, Some(2)),
        ];
        let judge = |target: Target| target.judge("", &ratios);
        let outcome = judge(between("", "1k", "64m", 0.97)).unwrap();
        assert_eq!((outcome.measured, outcome.met), (Some(0.95), false));
        assert_eq!(outcome.note, " (worst at 4k over stripe)");
        let outcome = judge(target("", "1k", 1.2)).unwrap();
        assert_eq!((outcome.met, outcome.note.as_str()), (true, ""));
        let outcome = judge(below("", "1k", "4k", 1.2)).unwrap();
        assert_eq!(outcome.measured, Some(1.2));
        let outcome = judge(after_idle(2, target("", "4k", 0.1))).unwrap();
        assert_eq!(outcome.measured, Some(0.2));
        assert!(judge(target("", "1m", 1.0)).is_err());
    }

    #[test]
    fn names_say_which_sizes() {
        let name = |target: Target| PLAIN.name(&target);
        assert_eq!(
            name(target("over x", "16k", 1.0)),
            "aes-128-ctr 16k: over x"
        );
        assert_eq!(
            name(between("over x", "64", "1m", 1.0)),
            "aes-128-ctr 64 to 1m: over x"
        );
        assert_eq!(
            name(below("over x", "64", "1k", 1.0)),
            "aes-128-ctr 64 to below 1k: over x"
        );
    }
}
