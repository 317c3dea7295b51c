//! What came out for one point of a case.

use oarlock_measure::Error;
use oarlock_measure::measuring::Summary;
use oarlock_measure::output::{self, Entry};

/// Samples of two sides, taken in pairs.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) figure: Quantity,
    /// The bytes of a request, or of what was transferred; 0 where there are none.
    pub(crate) bytes: usize,
    /// The other side: [`STOCK`], or another program.
    pub(crate) vs: &'static str,
    /// That ours was given, where that is said.
    pub(crate) threads: Option<usize>,
    pub(crate) ours: Vec<f64>,
    pub(crate) theirs: Vec<f64>,
}

/// Programs as they come with the system.
pub(crate) const STOCK: &str = "openssl";

/// What samples count.
#[derive(serde::Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Quantity {
    /// 10^9 bytes a second.
    Rate,
    /// Seconds of CPU time for 2^30 bytes, of both ends and all they start.
    CpuSeconds,
    /// From start to end of a process.
    Seconds,
    /// The same.
    Milliseconds,
    /// The time of a context that is made, keyed and freed, or of another short task.
    Nanoseconds,
    /// The time of a public key that is read, with what that may take more.
    ReadNs,
    /// The most that a process had in memory, in 2^20 bytes.
    ResidentMib,
    /// Files a second.
    Files,
    /// Operations for each second of CPU time of a server, or of the library in its place.
    PerCpuSecond,
    /// Operations a second: the more the better.
    Operations,
    /// The same of a simulated board, which is to be as fast as the real one.
    AsTheBoard,
    /// The median time of a call: ours to a server, theirs in the library.
    MicrosecondsP50,
    /// The same with 99th percentiles.
    MicrosecondsP99,
    /// The 99th percentile of requests that were let in, and what a full queue takes.
    AdmittedMs,
    /// The part of all requests that ended as it had to.
    Right,
    /// 2^20 bytes that a server has in memory, at the end and at the beginning.
    ServerMib,
    /// Descriptors that a server has open, at the end and at the beginning.
    Descriptors,
    /// How long the victim of a hostile client waits, and with an honest client in its place.
    VictimP99,
    /// The part of answers to `/healthz` that were 200.
    Healthy,
    /// 2^20 bytes more than before: with a hostile client, and the most that is allowed.
    GrownMib,
    /// The same when the client has left.
    LeftMib,
    /// Series on the page of metrics.
    Series,
    /// Clients that the server keeps something of.
    Clients,
    /// CPU time of another process, a second.
    CpuShare,
    /// CPU time of threads of this one, a second; and what another process has lost in that time.
    CpuSpent,
    /// CPU time of a server's processes, for a handshake.
    HandshakeCpu,
    /// CPU time of the server of a connection in memory, in microseconds.
    ServerUs,
    /// The same of its client.
    ClientUs,
    /// From the first byte of a handshake to the last, the median.
    HandshakeP50,
    /// The time of a message of 16 KiB, in segments of a given length and in one piece.
    MessageNs,
}

impl Quantity {
    const fn unit(self) -> &'static str {
        match self {
            Self::Rate => "GB/s",
            Self::CpuSeconds => "CPU s/GiB",
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Nanoseconds => "ns",
            Self::ReadNs => "ns, a key read",
            Self::ResidentMib => "MiB resident",
            Self::Files => "files/s",
            Self::PerCpuSecond => "operations/CPU s",
            Self::Operations | Self::AsTheBoard => "operations/s",
            Self::MicrosecondsP50 => "us, median",
            Self::MicrosecondsP99 => "us, 99th percentile",
            Self::AdmittedMs => "ms, 99th percentile of those let in",
            Self::Right => "of requests ended right",
            Self::ServerMib => "MiB resident",
            Self::Descriptors => "descriptors",
            Self::VictimP99 => "us, 99th percentile of the victim",
            Self::Healthy => "of /healthz is 200",
            Self::GrownMib => "MiB more",
            Self::LeftMib => "MiB more, 10 s after",
            Self::Series => "series",
            Self::Clients => "clients",
            Self::CpuShare => "CPU s/s of another process",
            Self::CpuSpent => "CPU s/s of this process",
            Self::HandshakeCpu => "CPU us/handshake",
            Self::ServerUs => "CPU us of the server",
            Self::ClientUs => "CPU us of the client",
            Self::HandshakeP50 => "us/handshake, median",
            Self::MessageNs => "ns, 16 KiB in segments",
        }
    }
}

impl Compared {
    /// Makes a comparison without a size and a number of threads.
    pub(crate) fn new(
        figure: Quantity,
        vs: &'static str,
        ours: Vec<f64>,
        theirs: Vec<f64>,
    ) -> Self {
        Self {
            figure,
            bytes: 0,
            vs,
            threads: None,
            ours,
            theirs,
        }
    }

    pub(crate) const HEADING: &str = "oarlock/     least  greatest     oarlock       other";

    /// What `ratio` makes of ours and theirs, pair by pair.
    pub(crate) fn ratios(&self, ratio: impl Fn(f64, f64) -> f64) -> Summary {
        let pairs = self.ours.iter().zip(&self.theirs);
        let ratios: Vec<_> = pairs.map(|(ours, theirs)| ratio(*ours, *theirs)).collect();
        Summary::of(&ratios)
    }

    /// As the harness records what it measures itself: two rates and a ratio, ours over theirs.
    pub(crate) fn lines(&self, case: &str) -> [Entry; 3] {
        let mode = match self.figure {
            Quantity::CpuSeconds | Quantity::HandshakeCpu => Some("cpu"),
            Quantity::ServerUs => Some("server-cpu"),
            Quantity::ClientUs => Some("client-cpu"),
            Quantity::ResidentMib | Quantity::ServerMib | Quantity::GrownMib => Some("resident"),
            Quantity::LeftMib => Some("resident-after"),
            Quantity::Healthy => Some("healthy"),
            Quantity::Series => Some("series"),
            Quantity::Clients => Some("clients"),
            Quantity::CpuShare => Some("cpu"),
            Quantity::CpuSpent => Some("cpu-spent"),
            Quantity::PerCpuSecond => Some("per-cpu-second"),
            Quantity::MicrosecondsP50 | Quantity::HandshakeP50 => Some("p50"),
            Quantity::MicrosecondsP99 | Quantity::AdmittedMs | Quantity::VictimP99 => Some("p99"),
            Quantity::Right => Some("right"),
            Quantity::Descriptors => Some("descriptors"),
            Quantity::Rate
            | Quantity::Seconds
            | Quantity::Milliseconds
            | Quantity::Nanoseconds
            | Quantity::ReadNs
            | Quantity::MessageNs
            | Quantity::Files
            | Quantity::Operations
            | Quantity::AsTheBoard => None,
        };
        let point = (case, self.bytes, self.figure.unit());
        let threads = self.threads.unwrap_or(1);
        output::of_programs(point, threads, mode, self.vs, &self.ours, &self.theirs)
    }

    /// For people.
    pub(crate) fn row(&self, case: &str) -> String {
        let Summary {
            median, min, max, ..
        } = self.ratios(|ours, theirs| ours / theirs);
        let (ours, theirs) = self.medians();
        let unit = self.figure.unit();
        let at = match self.bytes {
            0 => String::new(),
            bytes => format!(" {}", oarlock_measure::cases::Size(bytes)),
        };
        let by = match self.threads {
            None => String::new(),
            Some(1) => " by 1 thread".to_owned(),
            Some(threads) => format!(" by {threads} threads"),
        };
        format!(
            "{median:>8.3}  {min:>8.3}  {max:>8.3}  {ours:>10.3}  {theirs:>10.3}  \
             {case}{at}{by}, {unit}, over {}",
            self.vs
        )
    }

    /// Ours and theirs.
    pub(crate) fn medians(&self) -> (f64, f64) {
        let median = |samples: &[f64]| Summary::of(samples).median;
        (median(&self.ours), median(&self.theirs))
    }

    /// Both medians, for people.
    pub(crate) fn note(&self) -> String {
        let (ours, theirs) = self.medians();
        let unit = self.figure.unit();
        format!(" ({unit}: oarlock {ours:.3}, {} {theirs:.3})", self.vs)
    }
}

/// Has each of `sides` sides, by number, do `rounds` rounds; each begins in turn.
/// Returns the samples of each side.
pub(super) fn in_turn<T>(
    rounds: usize,
    sides: usize,
    mut work: impl FnMut(usize) -> Result<T, Error>,
) -> Result<Vec<Vec<T>>, Error> {
    let mut samples: Vec<Vec<T>> = (0..sides).map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..sides {
            let side = (turn + round) % sides;
            samples[side].push(work(side)?);
        }
    }
    Ok(samples)
}

/// As [`in_turn`] for a figure of two, ours first.
pub(super) fn pair(
    figure: Quantity,
    bytes: usize,
    rounds: usize,
    work: impl FnMut(usize) -> Result<f64, Error>,
) -> Result<Compared, Error> {
    let mut samples = in_turn(rounds, 2, work)?;
    let (theirs, ours) = (
        samples.pop().unwrap_or_default(),
        samples.pop().unwrap_or_default(),
    );
    Ok(Compared {
        bytes,
        ..Compared::new(figure, STOCK, ours, theirs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_pairs_and_sides_take_turns_to_begin() {
        let mut order = String::new();
        let compared = pair(Quantity::CpuSeconds, 1 << 30, 3, |side| {
            order.push_str(["o", "t"][side]);
            Ok(order.len() as f64)
        })
        .unwrap();
        assert_eq!(order, "ottoot");
        assert_eq!(compared.ours, [1.0, 4.0, 5.0]);
        assert_eq!(compared.theirs, [2.0, 3.0, 6.0]);
        let ratios = compared.ratios(|ours, theirs| ours / theirs);
        let found = (ratios.min, ratios.median, ratios.max);
        assert_eq!(found, (0.5, 5.0 / 6.0, 4.0 / 3.0));
        assert_eq!(compared.medians(), (4.0, 3.0));
        let [_, _, Entry::Ratio(ratio)] = compared.lines("ssh-x") else {
            panic!("the last is the ratio");
        };
        assert_eq!((ratio.ratio_min, ratio.ratio_median), (0.5, 0.83333));
        assert_eq!(ratio.conditions.mode.as_deref(), Some("cpu"));
    }
}
