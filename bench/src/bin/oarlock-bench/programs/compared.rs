//! The results for one point of a case.

use oarlock_measure::Error;
use oarlock_measure::measuring::Summary;
use oarlock_measure::output::{self, Entry};

/// Samples of two sides, taken in pairs.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) figure: Quantity,
    /// The bytes of a request or of a transfer; 0 if there are none.
    pub(crate) bytes: usize,
    /// The other side: [`STOCK`], or another program.
    pub(crate) vs: &'static str,
    /// The threads that our side was given, if specified.
    pub(crate) threads: Option<usize>,
    pub(crate) ours: Vec<f64>,
    pub(crate) theirs: Vec<f64>,
}

/// Programs in their stock configuration.
pub(crate) const STOCK: &str = "openssl";

/// The quantity that samples measure.
#[derive(serde::Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Quantity {
    /// GB/s.
    Rate,
    /// Seconds of CPU time for 2^30 bytes, of both ends and all processes they start.
    CpuSeconds,
    /// The run time of a process in seconds.
    Seconds,
    /// The run time of a process in milliseconds.
    Milliseconds,
    /// The time to create, key and free a context, or of another short task.
    Nanoseconds,
    /// The time to read a public key, compared with what it may take.
    ReadNs,
    /// The peak memory of a process in MiB.
    ResidentMib,
    /// Files per second.
    Files,
    /// Operations per CPU second of a server, or of the library in its place.
    PerCpuSecond,
    /// Operations per second.
    Operations,
    /// Operations per second of a simulated board, which should match the real one.
    AsTheBoard,
    /// The median time of a call: ours to a server, theirs in the library.
    MicrosecondsP50,
    /// The 99th percentile of such a call.
    MicrosecondsP99,
    /// The 99th percentile of admitted requests, compared with the time to serve a full queue.
    AdmittedMs,
    /// The share of requests that ended as expected.
    Right,
    /// A server's memory in MiB, at the end and at the beginning.
    ServerMib,
    /// A server's open descriptors, at the end and at the beginning.
    Descriptors,
    /// The time that a victim waits next to a hostile client, and next to an honest one.
    VictimP99,
    /// The share of responses to `/healthz` with status 200.
    Healthy,
    /// The growth of memory in MiB with a hostile client, and the most that is allowed.
    GrownMib,
    /// The growth in MiB that remains after the client has left.
    LeftMib,
    /// Series on the metrics page.
    Series,
    /// Clients for which the server keeps state.
    Clients,
    /// CPU time of another process, per second.
    CpuShare,
    /// CPU time of this process's threads, per second, and what another process lost in that time.
    CpuSpent,
    /// CPU time of a server's processes per handshake.
    HandshakeCpu,
    /// The server's CPU time for an in-memory connection, in microseconds.
    ServerUs,
    /// The client's CPU time for an in-memory connection, in microseconds.
    ClientUs,
    /// The median time from a handshake's first byte to its last.
    HandshakeP50,
    /// The time of a 16 KiB message, in segments of a given length and in one piece.
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
    /// Returns a comparison without a size or a number of threads.
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

    /// Applies `ratio` to ours and theirs, pair by pair.
    pub(crate) fn ratios(&self, ratio: impl Fn(f64, f64) -> f64) -> Summary {
        let pairs = self.ours.iter().zip(&self.theirs);
        let ratios: Vec<_> = pairs.map(|(ours, theirs)| ratio(*ours, *theirs)).collect();
        Summary::of(&ratios)
    }

    /// Returns the lines that the harness records: two rates and a ratio, ours over theirs.
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

    /// Returns a row for people.
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

    /// Returns the medians of ours and theirs.
    pub(crate) fn medians(&self) -> (f64, f64) {
        let median = |samples: &[f64]| Summary::of(samples).median;
        (median(&self.ours), median(&self.theirs))
    }

    /// Returns both medians as text for people.
    pub(crate) fn note(&self) -> String {
        let (ours, theirs) = self.medians();
        let unit = self.figure.unit();
        format!(" ({unit}: oarlock {ours:.3}, {} {theirs:.3})", self.vs)
    }
}

/// Runs `rounds` rounds of `sides` sides, identified by number; the sides take turns to begin. Returns the samples of each
/// side.
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

/// Like [`in_turn`] with two sides and one quantity, ours first.
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
