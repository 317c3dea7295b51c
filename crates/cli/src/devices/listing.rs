//! Operations, by device and backend.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::Algorithm;
use oarlock::device::Feature;
use oarlock::device::{Device, SessionParams};
use oarlock::{Accelerator, Options};
use serde::Serialize;

use super::rate::speed;
use super::self_test::{PASSED, Unit, self_test};
use crate::calibration::{self, Known, Measuring};
use crate::failure::Failure;
use crate::offers::{self, FIGURES, Offer};
use crate::openssl::{self, Installed};
use crate::provider::file;
use crate::{cpu, options};

#[derive(Serialize)]
pub(super) struct Listing {
    cpu: String,
    features: Vec<&'static str>,
    /// CPUs that this process may use.
    cpus: usize,
    /// Threads that may work for one caller at once.
    parallelism: usize,
    options: String,
    devices: Vec<DeviceEntry>,
    operations: Vec<OperationEntry>,
    /// The machine's OpenSSL, as in "3.0.19"; empty without one.
    openssl: String,
    /// What the OpenSSL provider has, and whether it offers it beside that.
    offered_to_openssl: Vec<Offer>,
}

#[derive(Serialize)]
struct DeviceEntry {
    name: String,
    capacity: usize,
}

#[derive(Serialize)]
struct OperationEntry {
    operation: &'static str,
    /// The device on which a session opens.
    device: String,
    backend: String,
    /// All that offer it.
    measured: Vec<BackendEntry>,
}

#[derive(Serialize)]
struct BackendEntry {
    device: String,
    backend: String,
    self_test: String,
    bytes_per_second: u64,
    /// The rate is that of the best of so many requests.
    requests: u32,
}

impl Listing {
    pub(super) fn of(accelerator: &Accelerator) -> Result<Self, Failure> {
        let accelerators = masked(accelerator)?;
        let operations = Algorithm::ALL
            .iter()
            .filter_map(|&operation| {
                let plan = accelerator.plan(operation).ok()?;
                let units = units(&accelerators, operation);
                let of = |(number, (device, backend, unit)): (usize, &(String, String, Unit))| {
                    // The last of the others: the least like this one.
                    let others = units.iter().enumerate().rev();
                    let oracle = others
                        .map(|(other, _)| other)
                        .find(|other| *other != number);
                    let oracle = oracle.map(|other| &units[other].2);
                    let self_test = self_test(unit, operation, oracle);
                    let (bytes_per_second, requests) = measure(unit, operation);
                    BackendEntry {
                        device: device.clone(),
                        backend: backend.clone(),
                        self_test,
                        bytes_per_second,
                        requests,
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
        let (openssl, offered_to_openssl) = offered()?;
        Ok(Self {
            openssl,
            offered_to_openssl,
            cpu: cpu::model(),
            features: accelerator.cpu().features().map(Feature::name).collect(),
            cpus: cpu::count(),
            parallelism: accelerator.parallelism(),
            options: accelerator.options().to_string(),
            devices: accelerator
                .devices()
                .iter()
                .map(|device| DeviceEntry {
                    name: device.name().into(),
                    capacity: device.capacity(),
                })
                .collect(),
            operations,
        })
    }

    /// What has failed its self-test.
    pub(super) fn failed(&self) -> Vec<String> {
        let each = |entry: &OperationEntry| {
            let failed = entry.measured.iter().filter(|one| one.self_test != PASSED);
            let named = failed.map(|one| format!("{} by {}", entry.operation, one.backend));
            named.collect::<Vec<_>>()
        };
        self.operations.iter().flat_map(each).collect()
    }

    pub(super) fn to_text(&self) -> String {
        let mut columns: Vec<(&str, &str)> = Vec::new();
        for one in self.operations.iter().flat_map(|entry| &entry.measured) {
            let column = (&*one.device, &*one.backend);
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        // Devices side by side, in the order of their coming.
        let devices: Vec<&str> = self.devices.iter().map(|one| &*one.name).collect();
        columns.sort_by_key(|(device, _)| devices.iter().position(|name| name == device));

        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = writeln!(text, "CPU       {}", self.cpu);
        let _ = writeln!(text, "CPUs      {}", self.cpus);
        let _ = writeln!(text, "features  {}", self.features.join(" "));
        let _ = writeln!(text, "options   {}", self.options);
        let header = |name: fn(&(&str, &str)) -> String| {
            columns.iter().fold(String::new(), |line, column| {
                line + &format!("{:>15}", name(column))
            })
        };
        let _ = writeln!(text, "\n{:<18}{}", "device", header(|one| one.0.into()));
        let _ = writeln!(text, "{:<18}{}", "backend", header(|one| one.1.into()));
        for entry in &self.operations {
            let _ = write!(text, "{:<18}", entry.operation);
            for column in &columns {
                let found = entry
                    .measured
                    .iter()
                    .find(|one| (&*one.device, &*one.backend) == *column);
                let is_home = (&*entry.device, &*entry.backend) == *column;
                let cell = match found {
                    None => String::new(),
                    Some(one) if one.self_test != PASSED => "WRONG".into(),
                    Some(one) => speed(one.bytes_per_second) + if is_home { " *" } else { "  " },
                };
                let _ = write!(text, "{cell:>15}");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        let all = self.operations.iter().flat_map(|entry| &entry.measured);
        let passed = all.filter(|one| one.self_test == PASSED).count();
        let _ = writeln!(
            text,
            "\nself-tests: {passed} ok, {} wrong",
            self.failed().len()
        );
        let _ = writeln!(
            text,
            "\nbeside OpenSSL {} ({}; {FIGURES}):",
            self.openssl,
            offers::sources(&self.offered_to_openssl)
        );
        for one in &self.offered_to_openssl {
            let state = match &one.why {
                None if one.is_forced => "offered by an option",
                None => "offered",
                Some(why) => &format!("not offered: {why}"),
            };
            let _ = writeln!(text, "{:<58}{state}", one.to_text());
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

/// Beside the machine's OpenSSL, by the calibration that programs go by, if there is one.
fn offered() -> Result<(String, Vec<Offer>), Failure> {
    let known = || {
        let library = calibration::library_of_machine()?;
        let module = file::find(None).ok()?;
        let file = calibration::in_configuration()?;
        Known::of(&library, &module, Some(&file), Measuring::Never).ok()
    };
    let known = known();
    let openssl = match &known {
        Some(known) => known.version().to_owned(),
        None => openssl::number(&Installed::find().version().unwrap_or_default()).to_owned(),
    };
    // As programs get it: the listing's own options are for this process.
    let of_provider = options::built(Accelerator::builder().environment())?;
    let measured = known.as_ref().and_then(|known| known.measured.as_ref());
    let offers = offers::all(&of_provider, &openssl, measured);
    Ok((openssl, offers))
}

/// The accelerator, and others like it with features hidden, few of them first.
fn masked(accelerator: &Accelerator) -> Result<Vec<Accelerator>, Failure> {
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
            // Without threads: all is inline.
            let options = Options {
                min_threads: 0,
                ..accelerator.options()
            };
            let builder = Accelerator::builder().options(options);
            options::built(builder.cpu_mask(words.join(",")))
        })
        .collect()
}

/// Each backend of each device that offers `operation`, with a unit of its own.
fn units(accelerators: &[Accelerator], operation: Algorithm) -> Vec<(String, String, Unit)> {
    let params = SessionParams {
        algorithm: operation,
    };
    let mut units: Vec<(String, String, Unit)> = Vec::new();
    for accelerator in accelerators {
        for device in accelerator.devices() {
            // A mask does not change what other devices really do.
            let is_known = units.iter().any(|(name, backend, _)| {
                name == device.name() && (name != "cpu" || backend == device.backend(&params))
            });
            if !is_known && device.probe(&params).is_some() {
                units.push(unit(device, operation));
            }
        }
    }
    units
}

fn unit(device: Arc<dyn Device>, operation: Algorithm) -> (String, String, Unit) {
    let params = SessionParams {
        algorithm: operation,
    };
    let names = (
        device.name().to_string(),
        device.backend(&params).to_string(),
    );
    (names.0, names.1, Unit::of_device(device, operation))
}

/// The best rate of some requests, and how many they were: a slow algorithm gets more time, since one
/// request of its first few may well be interrupted.
fn measure(unit: &Unit, operation: Algorithm) -> (u64, u32) {
    let Ok(mut keyed) = unit.key(&vec![0x5a; operation.key_bytes()]) else {
        return (0, 0);
    };
    let mut data = vec![0; MEASURED_BYTES_MIN];
    // The first finds caches cold and counts for nothing.
    keyed.measured(&mut data);
    let began = Instant::now();
    let (mut best, mut requests) = (0, 0);
    loop {
        let start = Instant::now();
        keyed.measured(&mut data);
        let took = start.elapsed();
        requests += 1;
        best = best.max((data.len() as f64 / took.as_secs_f64().max(1e-9)) as u64);
        if requests >= MEASURED_REQUESTS_MIN && began.elapsed() > MEASURED_TIME {
            return (best, requests);
        }
        if data.len() < MEASURED_BYTES_MAX && took < MEASURED_TIME / 16 {
            data.resize(2 * data.len(), 0);
        }
    }
}

const MEASURED_BYTES_MIN: usize = 1 << 10;
const MEASURED_BYTES_MAX: usize = 16 << 10;
const MEASURED_REQUESTS_MIN: u32 = 10;
const MEASURED_TIME: Duration = Duration::from_micros(300);
