//! Decides from measurements whether a target is met.

use oarlock_measure::cases::Size;
use oarlock_measure::measuring::Summary;
use oarlock_measure::output::Ratio;
use oarlock_measure::run::First;

use super::measure::Measured;
use super::outcome::Outcome;
use super::target::{Comparison, Depth, Process, ProgramQuantity, Sizes, Target};
use crate::programs::{Compared, Quantity};

/// Returns the outcome of a target under its name, or why there is none.
pub(super) fn judge(name: &str, target: &Target, measured: &Measured) -> Result<Outcome, String> {
    let (ratio, note) = match (target.comparison, measured) {
        (Comparison::Cipher(_, sizes), Measured::Ratios(ratios)) => cipher(sizes, ratios)?,
        (Comparison::PublicKey(_, depth, vs), Measured::Ratios(ratios)) => {
            public_key(depth, vs, ratios)?
        }
        (Comparison::First(process), Measured::Firsts(times)) => first(process, times),
        (Comparison::Program(figure), Measured::Compared(compared)) => program(&figure, compared)?,
        (Comparison::Enc, Measured::Enc(ratios)) => (spread(&Summary::of(ratios)), String::new()),
        _ => return Err("another thing was measured".to_owned()),
    };
    Ok(Outcome::measured(
        name.to_owned(),
        target.required,
        ratio,
        note,
    ))
}

/// The least, median and greatest ratio, and a note.
type Judged = ([f64; 3], String);

/// Returns the ratio at the worst of these sizes.
fn cipher(sizes: Sizes, ratios: &[Ratio]) -> Result<Judged, String> {
    let mine = || {
        ratios
            .iter()
            .filter(|ratio| sizes.cover(ratio.bytes, ratio.conditions.idle_ms))
    };
    let worst = worst(mine())?;
    let mut worst_of = Vec::new();
    if mine().any(|ratio| ratio.bytes != worst.bytes) {
        worst_of.push(format!("at {}", Size(worst.bytes)));
    }
    if mine().any(|ratio| ratio.vs != worst.vs) {
        worst_of.push(format!("over {}", worst.vs));
    }
    let note = match worst_of.join(" ") {
        nothing if nothing.is_empty() => nothing,
        what => format!(" (worst {what})"),
    };
    Ok((three(worst), note))
}

/// Returns the worst ratio over one of `vs`.
fn public_key(depth: Depth, vs: &[&str], ratios: &[Ratio]) -> Result<Judged, String> {
    let is_mine = |ratio: &&Ratio| {
        let is_a_cipher = ratio.case.starts_with("aes-");
        vs.contains(&&*ratio.vs)
            && match depth {
                Depth::At(depth) => {
                    !is_a_cipher
                        && ratio.conditions.depth.unwrap_or(1) == depth
                        && ratio.vs_depth.is_none()
                }
                Depth::Each => ratio.vs_depth.is_some(),
                Depth::Cipher => is_a_cipher,
            }
    };
    let worst = worst(ratios.iter().filter(is_mine))?;
    let note = match (depth, worst.conditions.depth, worst.vs_depth) {
        (Depth::Each, Some(depth), Some(before)) => format!(" (worst: {depth} over {before})"),
        _ if vs.len() > 1 => format!(" (worst: over {})", worst.vs),
        _ => String::new(),
    };
    Ok((three(worst), note))
}

/// Returns the ratio of the better library's median time, plus an allowance, to Oarlock's times.
fn first(process: Process, times: &[Vec<First>; 3]) -> Judged {
    let [ours, openssl, aws_lc] = times.each_ref().map(|times| {
        let us = times.iter().map(|one| match process {
            Process::Fresh => one.fresh_us,
            Process::ForkedChild => one.forked_us,
        });
        Summary::of(&us.collect::<Vec<_>>())
    });
    let allowed = openssl.median.min(aws_lc.median) + FIRST_US_ALLOWED;
    let note = format!(
        " (us: oarlock {:.0}, openssl {:.0}, aws-lc {:.0})",
        ours.median, openssl.median, aws_lc.median
    );
    let ratios = [ours.max, ours.median, ours.min].map(|ours| allowed / ours);
    (ratios, note)
}

/// Returns the ratio of ours to theirs such that more is better, or a ratio to a bound.
fn program(wanted: &ProgramQuantity, compared: &[Compared]) -> Result<Judged, String> {
    let found = compared.iter().find(|compared| {
        compared.vs == wanted.vs
            && compared.figure == wanted.figure
            && (wanted.threads.is_none() || compared.threads == wanted.threads)
            && wanted.bytes.is_none_or(|bytes| bytes == compared.bytes)
    });
    let Some(compared) = found else {
        return Err(format!("{} was not measured there", wanted.vs));
    };
    let mut ratios = compared.ratios(|ours, theirs| match wanted.figure {
        Quantity::Rate
        | Quantity::Files
        | Quantity::PerCpuSecond
        | Quantity::Operations
        | Quantity::Right
        | Quantity::Healthy
        | Quantity::CpuShare
        | Quantity::CpuSpent => ours / theirs,
        Quantity::CpuSeconds
        | Quantity::HandshakeCpu
        | Quantity::HandshakeP50
        | Quantity::ServerUs
        | Quantity::ClientUs
        | Quantity::Nanoseconds
        | Quantity::MessageNs
        | Quantity::Seconds
        | Quantity::AdmittedMs
        | Quantity::ServerMib
        | Quantity::Descriptors
        | Quantity::VictimP99
        | Quantity::Series => theirs / ours,
        Quantity::Clients => (theirs + 1.0) / (ours + 1.0),
        Quantity::GrownMib | Quantity::LeftMib => theirs / ours.max(0.01),
        Quantity::AsTheBoard => (ours / theirs).min(theirs / ours),
        Quantity::MicrosecondsP50 => ADDED_US_P50_MAX / (ours - theirs).max(1.0),
        Quantity::MicrosecondsP99 => ADDED_US_P99_MAX / (ours - theirs).max(1.0),
        Quantity::Milliseconds => (theirs + START_MS_ALLOWED) / ours,
        Quantity::ReadNs => (theirs + READ_NS_ALLOWED) / ours,
        Quantity::ResidentMib => RESIDENT_MIB_MAX / ours,
    });
    if matches!(wanted.figure, Quantity::ResidentMib | Quantity::Right) {
        // A bound must hold in every run.
        ratios.median = ratios.min;
    }
    Ok((spread(&ratios), compared.note()))
}

fn worst<'a>(ratios: impl Iterator<Item = &'a Ratio>) -> Result<&'a Ratio, String> {
    ratios
        .min_by(|a, b| a.ratio_median.total_cmp(&b.ratio_median))
        .ok_or_else(|| "nothing was measured there".to_owned())
}

fn three(ratio: &Ratio) -> [f64; 3] {
    [ratio.ratio_min, ratio.ratio_median, ratio.ratio_max]
}

fn spread(ratios: &Summary) -> [f64; 3] {
    [ratios.min, ratios.median, ratios.max]
}

const FIRST_US_ALLOWED: f64 = 100.0;
const START_MS_ALLOWED: f64 = 0.4;
const READ_NS_ALLOWED: f64 = 2000.0;
const ADDED_US_P50_MAX: f64 = 150.0;
const ADDED_US_P99_MAX: f64 = 300.0;
/// The limit for any size, for memory that is neither mapped nor scrypt's own.
const RESIDENT_MIB_MAX: f64 = 64.0;

#[cfg(test)]
mod tests {
    use super::super::table::targets;
    use super::*;
    use crate::programs::STOCK;
    use oarlock_measure::cases::glob;

    /// Judges the target whose line for `case` contains `what`: measured, met, note.
    fn judged(case: &str, what: &str, measured: &Measured) -> (Option<f64>, bool, String) {
        let is_of = |target: &&Target| {
            let mut cases = target.cases.iter();
            cases.any(|pattern| glob::matches(pattern, case)) && target.name(case).contains(what)
        };
        let targets = targets().unwrap();
        let target = targets.iter().find(is_of).unwrap();
        match judge("", target, measured) {
            Ok(outcome) => (outcome.measured, outcome.met, outcome.note),
            Err(_) => (None, false, String::new()),
        }
    }

    fn ratio(case: &str, vs: &str, bytes: usize, median: f64, rest: &str) -> Ratio {
        let line = format!(
            r#"{{"case":"{case}","vs":"{vs}","threads":2,"bytes":{bytes},"ratio_median":{median},"ratio_min":0.1,"ratio_max":9.0{rest}}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn the_worst_size_and_peer_count() {
        let ctr = |vs, bytes, median, rest| ratio("aes-128-ctr", vs, bytes, median, rest);
        let ratios = Measured::Ratios(vec![
            ctr("inline", 64, 0.96, ""),
            ctr("inline", 1024, 1.2, ""),
            ctr("inline", 65536, 0.96, ""),
            ctr("stripe", 65536, 0.95, ""),
            ctr("inline", 65536, 0.98, r#","idle_ms":2"#),
        ]);
        let judged = |what| judged("aes-128-ctr", what, &ratios);
        let worst = " (worst at 64k over stripe)".to_owned();
        assert_eq!(judged("1k to 64m: auto"), (Some(0.95), false, worst));
        assert_eq!(judged("64 to below 1k"), (Some(0.96), true, String::new()));
        assert_eq!(judged("after idle"), (None, false, String::new()));
        assert_eq!(judged("64k to 64m: auto").0, Some(0.98));
    }

    #[test]
    fn each_depth_takes_its_own_ratios_and_the_worst_of_them() {
        let rsa = |vs, median, rest| ratio("rsa-2048-sign", vs, 256, median, rest);
        let ratios = Measured::Ratios(vec![
            rsa("openssl", 0.99, ""),
            rsa("aws-lc", 0.94, ""),
            rsa("openssl", 3.5, r#","depth":64"#),
            rsa("aws-lc", 0.5, r#","depth":64"#),
            rsa("oarlock", 2.0, r#","depth":8,"vs_depth":1"#),
            rsa("oarlock", 0.9, r#","depth":64,"vs_depth":8"#),
            rsa("alone", 0.7, r#","mode":"mixed","depth":64"#),
            ratio("aes-256-gcm", "alone", 65536, 0.6, r#","mode":"mixed""#),
        ]);
        let judged = |what| judged("rsa-2048-sign", what, &ratios);
        assert_eq!(judged("over openssl"), (Some(3.5), true, String::new()));
        let worst = " (worst: over aws-lc)".to_owned();
        assert_eq!(judged("a lone call"), (Some(0.94), false, worst));
        let worst = " (worst: 64 over 8)".to_owned();
        assert_eq!(judged("each depth"), (Some(0.9), false, worst));
        assert_eq!(judged("64: while aes-256-gcm runs").0, Some(0.7));
        assert_eq!(judged(": aes-256-gcm next to it").0, Some(0.6));
        assert_eq!(judged("over crypto-mb").0, None);
    }

    #[test]
    fn a_first_operation_may_take_more_than_the_better_library() {
        let times = |fresh_us: f64, forked_us: f64| {
            [1.0, 1.1, 0.9].map(|part| First {
                fresh_us: fresh_us * part,
                forked_us: forked_us * part,
                later_us: 1.0,
            })
        };
        let [ours, openssl, aws_lc] = [
            times(1000.0, 500.0),
            times(700.0, 300.0),
            times(900.0, 350.0),
        ];
        let times = Measured::Firsts([ours, openssl, aws_lc].map(Vec::from));
        let (ratio, met, note) = judged("rsa-2048-sign", "in a process", &times);
        assert_eq!((ratio, met), (Some(0.8), false));
        assert_eq!(note, " (us: oarlock 1000, openssl 700, aws-lc 900)");
        assert_eq!(judged("rsa-2048-sign", "forked", &times).0, Some(0.8));
    }

    #[test]
    fn each_figure_of_a_program_is_taken_the_right_way_round() {
        let stock = |figure, ours: &[f64], theirs| (figure, STOCK, None, ours.to_vec(), theirs);
        #[rustfmt::skip]
        let cases = [
            ("openssl-speed-aes-128-ctr", " 16:", stock(Quantity::Rate, &[0.94], 1.0), Some(0.94), false),
            ("openssl-speed-aes-128-ctr", " 64:", stock(Quantity::Rate, &[0.94], 1.0), None, false),
            ("ssh-aes256-gcm-upload", "rate", stock(Quantity::Rate, &[0.9], 1.0), Some(0.9), false),
            ("ssh-aes256-gcm-upload", "CPU", stock(Quantity::CpuSeconds, &[1.6], 2.0), Some(1.25), true),
            ("openssl-start", "0.4 ms", stock(Quantity::Milliseconds, &[8.0], 5.6), Some(0.75), false),
            ("openssl-context-chacha20", "time", stock(Quantity::Nanoseconds, &[125.0], 100.0), Some(0.8), false),
            ("evp-handshake-p256", "a client", (Quantity::ClientUs, STOCK, None, vec![400.0], 500.0), Some(1.25), true),
            ("evp-read-p256", "2 us", (Quantity::ReadNs, STOCK, None, vec![12500.0], 10500.0), Some(1.0), true),
            ("file-encrypt", ": over cp", (Quantity::Rate, "cp", Some(2), vec![0.95], 1.0), Some(0.95), true),
            ("file-encrypt", ": over age", (Quantity::Rate, "age", Some(2), vec![2.3], 1.0), Some(2.3), true),
            ("file-decrypt", ": over age", (Quantity::Rate, "age", Some(2), vec![2.3], 1.0), Some(2.3), false),
            ("file-encrypt", "one thread", (Quantity::Rate, "age", Some(1), vec![1.2], 1.0), Some(1.2), false),
            ("file-encrypt", "one thread", (Quantity::Rate, "age", Some(2), vec![1.2], 1.0), None, false),
            ("file-encrypt", "resident", (Quantity::ResidentMib, "cp", None, vec![32.0, 80.0, 40.0], 2.0), Some(0.8), false),
            ("file-unlock", "time", (Quantity::Seconds, "age", None, vec![0.8], 1.0), Some(1.25), true),
            ("server-latency", "median", (Quantity::MicrosecondsP50, "the library", None, vec![600.0], 500.0), Some(1.5), true),
            ("server-latency", "99th", (Quantity::MicrosecondsP99, "the library", None, vec![1100.0], 500.0), Some(0.5), false),
            ("server-boards-axl200", "25 clients", (Quantity::AsTheBoard, "the paper", Some(25), vec![250.0], 200.0), Some(0.8), false),
            ("hostile-pings", "99th", (Quantity::VictimP99, "an honest client", None, vec![250.0], 100.0), Some(0.4), false),
            ("hostile-pings", "MiB, over", (Quantity::GrownMib, "at first", None, vec![16.0], 32.0), Some(2.0), true),
            ("server-load", "memory", (Quantity::ServerMib, "at first", None, vec![104.0], 104.0), Some(1.0), true),
        ];
        for (case, what, (figure, vs, threads, ours, theirs), ratio, met) in cases {
            let theirs = vec![theirs; ours.len()];
            let compared = Compared {
                bytes: 16,
                threads,
                ..Compared::new(figure, vs, ours, theirs)
            };
            let (found, is_met, _) = judged(case, what, &Measured::Compared(vec![compared]));
            assert_eq!((found, is_met), (ratio, met), "{case} {what}");
        }
    }
}
