//! Counters of forwarded and dropped packets.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Counters that both forwarding threads share.
#[derive(Debug, Default)]
pub struct Counters([AtomicU64; NAMES.len()]);

/// A counter's name.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// Packets that were sealed and sent.
    OutPackets,
    /// Bytes of those packets, without the overhead of ESP.
    OutBytes,
    InPackets,
    InBytes,
    /// Datagrams whose sequence number was seen before or is older than the window.
    Replayed,
    /// Datagrams whose tag is wrong.
    Forged,
    /// Datagrams of another association or another protocol.
    Foreign,
    /// Datagrams of an impossible length, and authentic ones that do not contain an IP packet.
    Invalid,
    /// Packets that the network or the device did not accept.
    Lost,
}

const NAMES: [&str; 9] = [
    "packets out",
    "bytes out",
    "packets in",
    "bytes in",
    "replayed",
    "forged",
    "foreign",
    "invalid",
    "lost",
];
const DROPPED: usize = Count::Replayed as usize;

impl Counters {
    pub fn add(&self, count: Count, number: usize) {
        self.0[count as usize].fetch_add(number as u64, Ordering::Relaxed);
    }

    pub fn totals(&self) -> String {
        let all = self.read();
        let words = NAMES
            .iter()
            .zip(all)
            .map(|(name, number)| format!("{number} {name}"));
        format!("total: {}", words.collect::<Vec<_>>().join(", "))
    }

    fn read(&self) -> [u64; NAMES.len()] {
        self.0.each_ref().map(|it| it.load(Ordering::Relaxed))
    }
}

/// The counters at one point in time.
pub struct Moment {
    at: Instant,
    counts: [u64; NAMES.len()],
}

impl Moment {
    pub fn of(counters: &Counters) -> Self {
        Self {
            at: Instant::now(),
            counts: counters.read(),
        }
    }

    pub fn sent(&self) -> u64 {
        self.counts[Count::OutPackets as usize]
    }

    /// Returns one line: rates since `earlier`, and all drops since the start.
    pub fn since<'a>(&'a self, earlier: &'a Self) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            let seconds = (self.at - earlier.at).as_secs_f64();
            let rate = |count: Count| {
                let more = self.counts[count as usize] - earlier.counts[count as usize];
                more as f64 / seconds
            };
            for (way, packets, bytes) in [
                ("out", Count::OutPackets, Count::OutBytes),
                ("in", Count::InPackets, Count::InBytes),
            ] {
                let megabits = rate(bytes) * 8.0 / 1e6;
                write!(
                    f,
                    "{way} {:.0} packets/s {megabits:.1} Mbit/s | ",
                    rate(packets)
                )?;
            }
            f.write_str("dropped")?;
            for (name, number) in NAMES.iter().zip(self.counts).skip(DROPPED) {
                write!(f, " {number} {name}")?;
            }
            Ok(())
        })
    }
}
