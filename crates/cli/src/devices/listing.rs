//! Operations by device and backend.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use oarlock::Algorithm;
use oarlock::device::{CipherDevice, Feature};
use oarlock::{Accelerator, Options};
use serde::Serialize;

#[cfg(feature = "servers")]
use super::others::Others;
use super::rate::speed;
#[cfg(test)]
use super::self_test::Keyed;
use super::self_test::{PASSED, Unit, self_test};
use crate::failure::Failure;
use crate::offers::{self, FIGURES, Offer};
use crate::{cpu, options};

#[derive(Serialize)]
pub(super) struct Listing {
    cpu: String,
    features: Vec<&'static str>,
    /// The number of CPUs that this process may use.
    cpus: usize,
    /// The number of threads that may work for one caller at once.
    parallelism: usize,
    options: String,
    devices: Vec<DeviceEntry>,
    /// The lanes, which compute several public-key requests at once.
    lanes: Option<LanesEntry>,
    #[cfg(feature = "servers")]
    #[serde(flatten)]
    others: Others,
    operations: Vec<OperationEntry>,
    /// The machine's OpenSSL, as in "3.0.19"; empty without one.
    openssl: String,
    /// The operations of the OpenSSL provider, and whether it offers each to programs with that OpenSSL.
    offered_to_openssl: Vec<Offer>,
}

#[derive(Serialize)]
struct DeviceEntry {
    name: String,
    capacity: usize,
}

#[derive(Serialize)]
struct LanesEntry {
    backend: &'static str,
    /// The number of requests.
    at_once: usize,
}

#[derive(Serialize)]
struct OperationEntry {
    operation: &'static str,
    /// The device on which a session opens.
    device: String,
    backend: String,
    /// All backends that offer the operation.
    measured: Vec<BackendEntry>,
}

#[derive(Serialize)]
struct BackendEntry {
    device: String,
    backend: String,
    self_test: String,
    #[serde(flatten)]
    rate: Rate,
}

/// A measured rate.
#[derive(Clone, Copy, Default, Serialize)]
struct Rate {
    /// The median of the samples.
    bytes_per_second: u64,
    /// The lower quartile of the samples; the upper one follows.
    bytes_per_second_p25: u64,
    bytes_per_second_p75: u64,
    samples: usize,
}

impl Listing {
    pub(super) fn of(
        accelerator: &Accelerator,
        #[cfg(feature = "servers")] others: Others,
    ) -> Result<Self, Failure> {
        let accelerators = masked(accelerator)?;
        let operations = Algorithm::ALL
            .iter()
            .filter_map(|&operation| {
                let plan = accelerator.plan(operation).ok()?;
                let units = units(&accelerators, operation);
                let of = |(number, (device, backend, unit)): (usize, &(String, String, Unit))| {
                    // The last of the others differs most from this one.
                    let others = units.iter().enumerate().rev();
                    let oracle = others
                        .map(|(other, _)| other)
                        .find(|other| *other != number);
                    let oracle = oracle.map(|other| &units[other].2);
                    let self_test = self_test(unit, operation, oracle);
                    BackendEntry {
                        device: device.clone(),
                        backend: backend.clone(),
                        self_test,
                        rate: measure(unit, operation),
                    }
                };
                Some(OperationEntry {
                    operation: operation.name(),
                    device: plan.device,
                    backend: plan.backend,
                    measured: units.iter().enumerate().map(of).collect(),
                })
            })
            .collect();
        let (openssl, offered_to_openssl) = offers::of_machine()?;
        Ok(Self {
            openssl,
            offered_to_openssl,
            cpu: cpu::model(),
            features: accelerator.cpu().features().map(Feature::name).collect(),
            cpus: cpu::count(),
            parallelism: accelerator.parallelism(),
            options: accelerator.options().to_string(),
            devices: CipherDevice::ALL
                .iter()
                .map(|device| DeviceEntry {
                    name: device.name().into(),
                    capacity: 1,
                })
                .collect(),
            lanes: accelerator
                .lanes()
                .map(|(backend, at_once)| LanesEntry { backend, at_once }),
            #[cfg(feature = "servers")]
            others,
            operations,
        })
    }

    /// Returns the operations and backends that failed their self-test.
    pub(super) fn failed(&self) -> Vec<String> {
        let each = |entry: &OperationEntry| {
            let failed = entry.measured.iter().filter(|one| one.self_test != PASSED);
            let named = failed.map(|one| format!("{} by {}", entry.operation, one.backend));
            named.collect::<Vec<_>>()
        };
        self.operations.iter().flat_map(each).collect()
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, value) in [
            ("CPU", &self.cpu),
            ("CPUs", &self.cpus.to_string()),
            ("features", &self.features.join(" ")),
            ("options", &self.options),
        ] {
            text.push_str(&wrapped(&format!("{name:<10}{value}"), 10));
        }
        text.push_str("\ndevices\n");
        for one in &self.devices {
            let what = match &*one.name {
                "cpu" => "this library's kernels".to_owned(),
                "software" => "aws-lc".to_owned(),
                _ => format!("{} at once", one.capacity),
            };
            let _ = writeln!(text, "{:<18} {what}", one.name);
        }
        let lanes = match &self.lanes {
            Some(lanes) => format!(
                "{}: {} public-key requests at once",
                lanes.backend, lanes.at_once
            ),
            None => "none: neither AVX-512 IFMA nor FMA".to_owned(),
        };
        let _ = writeln!(text, "{:<18} {lanes}", "lanes");
        #[cfg(feature = "servers")]
        text.push_str(&self.others.to_text());
        // The columns follow the order of the devices.
        let devices: Vec<&str> = self.devices.iter().map(|one| &*one.name).collect();
        text.push_str(
            "\noperations, by backend; * marks where a session opens; half of the samples lie within ±\n",
        );
        for entry in &self.operations {
            let mut line = format!("{:<18}", entry.operation);
            let mut measured: Vec<_> = entry.measured.iter().collect();
            measured.sort_by_key(|one| devices.iter().position(|name| *name == one.device));
            for one in measured {
                let is_home = (&entry.device, &entry.backend) == (&one.device, &one.backend);
                let name = match &*one.device {
                    "cpu" => one.backend.clone(),
                    device if one.backend.is_empty() => device.to_owned(),
                    "software" => one.backend.clone(),
                    device => format!("{device}/{}", one.backend),
                };
                let rate = match one.self_test == PASSED {
                    true => one.rate.to_text() + if is_home { " *" } else { "" },
                    false => "WRONG".into(),
                };
                // Keep name and rate together where the line is broken.
                let _ = write!(
                    line,
                    " {:<31}",
                    format!("{name:<14} {rate}").replace(' ', KEPT)
                );
            }
            text.push_str(&wrapped(line.trim_end(), 18).replace(KEPT, " "));
        }
        let all = self.operations.iter().flat_map(|entry| &entry.measured);
        let passed = all.filter(|one| one.self_test == PASSED).count();
        let _ = writeln!(
            text,
            "\nself-tests: {passed} ok, {} wrong",
            self.failed().len()
        );
        let sources = offers::sources(&self.offered_to_openssl);
        let title = format!(
            "compared with OpenSSL {} ({sources}; {FIGURES}):",
            self.openssl
        );
        let _ = write!(text, "\n{}", wrapped(&title, 2));
        for one in &self.offered_to_openssl {
            let state = match &one.why {
                None if one.is_forced => "offered by an option",
                None => "offered",
                Some(why) => &format!("not offered: {why}"),
            };
            let line = format!("{:<58}{state}", one.to_text());
            text.push_str(&wrapped(&line, 58));
        }
        for entry in &self.operations {
            for one in entry.measured.iter().filter(|one| one.self_test != PASSED) {
                let (operation, what) = (entry.operation, &one.self_test);
                let _ = writeln!(text, "{operation} by {}: {what}", one.backend);
            }
        }
        text
    }
}

/// Breaks `line` into lines of [`WIDTH`] after spaces and commas, and indents the later ones.
fn wrapped(line: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in line.split_inclusive([' ', ',']) {
        let needed = word.trim_end_matches(' ').chars().count();
        if width > indent && width + needed > WIDTH {
            lines.truncate(lines.trim_end_matches(' ').len());
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            width = indent;
            // Padding of a column does not begin a line.
            if needed == 0 {
                continue;
            }
        }
        lines.push_str(word);
        width += word.chars().count();
    }
    lines.truncate(lines.trim_end_matches(' ').len());
    lines.push('\n');
    lines
}

/// Returns all masks of CPU features, those that hide few features first, each with an accelerator under it.
fn masked(accelerator: &Accelerator) -> Result<Vec<(String, Accelerator)>, Failure> {
    let features: Vec<Feature> = accelerator.cpu().features().collect();
    let mut masks: Vec<u32> = (0..1 << features.len()).collect();
    masks.sort_by_key(|mask| mask.count_ones());
    masks
        .into_iter()
        .map(|mask| {
            let hidden = features.iter().enumerate();
            let words: Vec<String> = hidden
                .filter(|(number, _)| mask >> number & 1 == 1)
                .map(|(_, feature)| format!("-{}", feature.name()))
                .collect();
            // Without threads everything is inline.
            let options = Options {
                min_threads: 0,
                ..accelerator.options()
            };
            let builder = Accelerator::builder().options(options);
            let mask = words.join(",");
            let built = options::built(builder.cpu_mask(mask.clone()))?;
            Ok((mask, built))
        })
        .collect()
}

/// Returns each backend of each device that offers `operation`, with a unit of its own.
fn units(
    accelerators: &[(String, Accelerator)],
    operation: Algorithm,
) -> Vec<(String, String, Unit)> {
    let mut units: Vec<(String, String, Unit)> = Vec::new();
    for (mask, accelerator) in accelerators {
        let offers = accelerator.offers(operation);
        for device in CipherDevice::ALL {
            let Some(offer) = offers.iter().find(|offer| offer.device == *device) else {
                continue;
            };
            // A mask changes only the backends of the CPU.
            let is_known = units.iter().any(|(name, backend, _)| {
                name == device.name() && (name != "cpu" || backend == offer.backend)
            });
            if !is_known {
                let unit = Unit::of_device(*device, mask, operation);
                units.push((device.name().to_owned(), offer.backend.to_owned(), unit));
            }
        }
    }
    units
}

impl Rate {
    /// Returns the quartiles of at least one sample, in bytes a second.
    fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |quarters: usize| samples[(samples.len() - 1) * quarters / 4] as u64;
        Self {
            bytes_per_second: at(2),
            bytes_per_second_p25: at(1),
            bytes_per_second_p75: at(3),
            samples: samples.len(),
        }
    }

    fn to_text(self) -> String {
        let off = |other: u64| other.abs_diff(self.bytes_per_second);
        let off = off(self.bytes_per_second_p25).max(off(self.bytes_per_second_p75));
        let percent = (100 * off).div_ceil(self.bytes_per_second.max(1));
        format!("{} ±{percent}%", speed(self.bytes_per_second))
    }
}

/// Measures the rate of one thread that makes one request of 16 KiB after another. A sample has several requests: a single
/// one may find work that the one before it computed ahead.
fn measure(unit: &Unit, operation: Algorithm) -> Rate {
    let Ok(mut keyed) = unit.key(&vec![0x5a; operation.key_bytes()]) else {
        return Rate::default();
    };
    let mut data = vec![0; MEASURED_BYTES];
    // The first request finds caches cold and does not count.
    keyed.measured(&mut data);
    let began = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < SAMPLES_MIN || began.elapsed() < MEASURED_TIME {
        let (start, mut bytes) = (Instant::now(), 0);
        let took = loop {
            keyed.measured(&mut data);
            bytes += data.len();
            let took = start.elapsed();
            if bytes >= SAMPLE_BYTES_MIN && took >= SAMPLE_TIME {
                break took;
            }
        };
        samples.push(bytes as f64 / took.as_secs_f64());
    }
    Rate::of(samples)
}

/// The width of lines for people, in characters.
const WIDTH: usize = 100;
/// A space at which no line is broken.
const KEPT: &str = "\u{a0}";

const MEASURED_BYTES: usize = 16 << 10;
const SAMPLE_BYTES_MIN: usize = 2 * MEASURED_BYTES;
const SAMPLE_TIME: Duration = Duration::from_micros(50);
const SAMPLES_MIN: usize = 9;
const MEASURED_TIME: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that computes two requests at a time, as kernels with long passes do.
    struct Ahead(u32);

    impl Keyed for Ahead {
        fn seal(&mut self, _: &[u8], _: &[u8], _: &mut Vec<u8>) -> Result<(), String> {
            Ok(())
        }

        fn open(&mut self, _: &[u8], _: &[u8], _: &mut Vec<u8>) -> Result<(), String> {
            Ok(())
        }

        fn measured(&mut self, _: &mut [u8]) {
            self.0 += 1;
            let began = Instant::now();
            while self.0.is_multiple_of(2) && began.elapsed() < Duration::from_micros(100) {
                std::hint::spin_loop();
            }
        }
    }

    #[test]
    fn a_request_that_finds_its_work_done_is_not_the_rate() {
        let unit = Unit::of(|_| Ok(Box::new(Ahead(0))));
        let rate = measure(&unit, Algorithm::Aes128Ctr);
        let most = 2 * MEASURED_BYTES as u64 * 10_000;
        assert!(
            rate.bytes_per_second_p75 <= most,
            "{}",
            rate.bytes_per_second_p75
        );
        assert!(rate.samples >= SAMPLES_MIN);
    }

    #[test]
    fn a_rate_is_the_median_with_its_spread() {
        let rate = Rate::of(vec![5e8, 1e9, 1.02e9, 0.99e9, 9e9]);
        assert_eq!((rate.bytes_per_second, rate.samples), (1_000_000_000, 5));
        assert_eq!(rate.to_text(), "1.00 GB/s ±2%");
        assert_eq!(Rate::of(vec![2.5e6]).to_text(), "2.5 MB/s ±0%");
        assert_eq!(Rate::default().to_text(), "0.0 MB/s ±0%");
    }

    #[test]
    fn long_lines_are_broken_behind_words_and_options() {
        let options = "options   ".to_owned() + &"name=value,".repeat(20);
        let lines = wrapped(&options, 10);
        assert_eq!(lines.lines().count(), 3, "{lines}");
        for (number, line) in lines.lines().enumerate() {
            assert!(line.len() <= WIDTH && line.ends_with(','), "{line}");
            assert!(number == 0 || line.starts_with("          name"), "{line}");
        }
        assert_eq!(wrapped("short", 2), "short\n");
        // A word longer than a line is left whole.
        let word = "x".repeat(200);
        assert_eq!(wrapped(&word, 2), word.clone() + "\n");
    }
}
