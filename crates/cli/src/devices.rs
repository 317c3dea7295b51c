//! `oarlock devices`: what this machine has, each backend proved right before its rate is told.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::time::{Duration, Instant};

use cipher::{StreamCipher as _, StreamCipherSeek as _};
use oarlock::device::SessionParams;
use oarlock::kernels::aes::{Backend, Ctr};
use oarlock::kernels::cpu::Feature;
use oarlock::{Accelerator, Options, Strategy};
use serde::Serialize;

use crate::cache::Stored;
use crate::failure::Failure;
use crate::options::OPERATIONS;
use crate::{options, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Measure what the plan goes by, within 20 ms, and store it below $XDG_CACHE_HOME (~/.cache) for
    /// the other subcommands
    #[arg(long)]
    calibrate: bool,

    /// Print one JSON object, rates in bytes a second
    #[arg(long)]
    json: bool,

    /// Options of the accelerator, as in "max_threads=4,cipher_threads=2"
    #[arg(
        long,
        value_name = "NAME=VALUE,...",
        default_value = "",
        hide_default_value = true
    )]
    options: String,
}

pub(crate) const EXAMPLES: &str = "\
Each backend must give the vectors of SP 800-38A, and what the device `software` (for that one: the
portable kernel) gives for a random message; otherwise the exit status is 1. Rates are of one thread.

Example:
  oarlock devices --json | jq '.devices[].name'";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let options = options::parse(&args.options)?;
    if args.calibrate {
        return calibrate(options, args.json);
    }
    let accelerator = options::build(options)?;
    let listing = Listing::of(&accelerator, &args.options)?;
    let text = if args.json {
        to_json(&listing)?
    } else {
        listing.to_text()
    };
    to_stdout(text.as_bytes())?;
    let failed: Vec<&str> = listing
        .backends
        .iter()
        .map(|backend| (&backend.name, &backend.self_test))
        .chain(listing.devices.iter().map(|d| (&d.name, &d.self_test)))
        .filter(|(_, self_test)| *self_test != PASSED)
        .map(|(name, _)| name.as_str())
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "self-test failed: {}: do not use this machine for encryption before that is understood",
            failed.join(", ")
        )))
    }
}

/// Measures, shows and stores; what cannot be stored is shown all the same.
fn calibrate(options: Options, json: bool) -> Result<(), Failure> {
    let accelerator = options::build(options)?;
    let began = Instant::now();
    let calibration = accelerator.calibrate();
    let took = began.elapsed();
    let stored = Stored::new(accelerator.cpu(), &calibration);
    let written = stored.write();
    let mut text = if json {
        to_json(&stored)?
    } else {
        costs_to_text(&stored)
    };
    if !json && let Ok(path) = &written {
        let _ = writeln!(
            text,
            "\nmeasured in {:.1} ms and stored in {}",
            took.as_secs_f64() * 1e3,
            path.display()
        );
    }
    to_stdout(text.as_bytes())?;
    written.map(drop)
}

fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(|line| line + "\n")
        .map_err(|error| Failure::new(format!("devices: {error}")))
}

fn costs_to_text(stored: &Stored) -> String {
    let mut text = String::new();
    let machine = &stored.machine;
    // Writing to a String does not fail.
    let _ = writeln!(text, "hand-off to a helper    {:>9} ns", machine.handoff_ns);
    let _ = writeln!(text, "wake-up of a helper     {:>9} ns", machine.wake_ns);
    for (what, rate) in [
        ("another", machine.other_core_bytes_per_second),
        ("this", machine.own_core_bytes_per_second),
    ] {
        let what = format!("keystream from {what} core");
        let _ = writeln!(text, "{what:<27}{:>12}", gigabytes(rate));
    }
    let _ = writeln!(
        text,
        "\n{:<18}  {:<9} {:<14}{:>9}{:>13}",
        "operation", "device", "backend", "setup", "rate"
    );
    for cost in &stored.operations {
        let rate = gigabytes(cost.bytes_per_second);
        let _ = writeln!(
            text,
            "{:<18}  {:<9} {:<14}{:>6} ns{rate:>13}",
            cost.operation, cost.device, cost.backend, cost.setup_ns
        );
    }
    text
}

#[derive(Serialize)]
struct Listing {
    cpu: String,
    features: Vec<&'static str>,
    /// CPUs that this process may use.
    cpus: usize,
    /// Threads that work at once for one caller.
    parallelism: usize,
    options: String,
    backends: Vec<BackendEntry>,
    devices: Vec<DeviceEntry>,
}

#[derive(Serialize)]
struct BackendEntry {
    name: String,
    self_test: String,
    measured: Vec<Rate>,
}

#[derive(Serialize)]
struct DeviceEntry {
    name: String,
    capacity: usize,
    self_test: String,
    offered: Vec<Rate>,
    measured: Vec<Rate>,
}

#[derive(Serialize)]
struct Rate {
    operation: &'static str,
    bytes_per_second: u64,
}

impl Listing {
    fn of(accelerator: &Accelerator, options: &str) -> Result<Self, Failure> {
        let cpu = accelerator.cpu();
        let devices = accelerator.devices();
        let mut of_devices = Vec::new();
        for device in &devices {
            let alone = options::build(options::parse(options)?)?;
            for other in devices.iter().filter(|other| other.name() != device.name()) {
                alone.withdraw(other.name());
            }
            of_devices.push((device, device_unit(alone)));
        }
        let portable = backend_unit(Backend::Portable);
        let oracle = of_devices
            .iter()
            .find(|(device, _)| device.name() == "software")
            .map_or(&portable, |(_, unit)| unit);
        let message = random_message();

        let mut backends = Vec::new();
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = oarlock::kernels::aes::Face::new(cpu) {
            backends.push(("vaes-512-face", face_unit(face)));
        }
        backends.extend(
            cpu.aes_backends()
                .map(|backend| (backend.name(), backend_unit(backend))),
        );
        let backends = backends
            .into_iter()
            .map(|(name, unit)| BackendEntry {
                name: name.into(),
                self_test: self_test(&unit, oracle, &message),
                measured: measure(&unit),
            })
            .collect();
        let devices = of_devices
            .iter()
            .map(|(device, unit)| DeviceEntry {
                name: device.name().into(),
                capacity: device.capacity(),
                self_test: if device.name() == "software" {
                    self_test(unit, &portable, &message)
                } else {
                    self_test(unit, oracle, &message)
                },
                offered: OPERATIONS
                    .iter()
                    .filter_map(|&operation| {
                        let offer = device.probe(&SessionParams { operation })?;
                        Some(Rate {
                            operation: operation.name(),
                            bytes_per_second: offer.bytes_per_second,
                        })
                    })
                    .collect(),
                measured: measure(unit),
            })
            .collect();
        Ok(Self {
            cpu: options::cpu_model(),
            features: cpu.features().map(Feature::name).collect(),
            cpus: options::cpus(),
            parallelism: accelerator.parallelism(),
            options: accelerator.options().to_string(),
            backends,
            devices,
        })
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let rates = |rates: &[Rate]| {
            OPERATIONS.iter().fold(String::new(), |line, operation| {
                let rate = rates
                    .iter()
                    .find(|rate| rate.operation == operation.name())
                    .map_or("-".into(), |rate| gigabytes(rate.bytes_per_second));
                line + &format!("{rate:>13}")
            })
        };
        let header = OPERATIONS.iter().fold(String::new(), |line, operation| {
            line + &format!("{:>13}", operation.name())
        });
        // Writing to a String does not fail.
        let _ = writeln!(text, "CPU       {}", self.cpu);
        let _ = writeln!(text, "CPUs      {}", self.cpus);
        let _ = writeln!(text, "features  {}", self.features.join(" "));
        let _ = writeln!(text, "options   {}", self.options);
        let _ = writeln!(text, "\n{:<15}{header}  self-test", "backend");
        for backend in &self.backends {
            let (name, self_test) = (&backend.name, &backend.self_test);
            let rates = rates(&backend.measured);
            let _ = writeln!(text, "{name:<15}{rates}  {self_test}");
        }
        let _ = writeln!(text, "\n{:<15}{header}  self-test  capacity", "device");
        for device in &self.devices {
            let (name, self_test) = (&device.name, &device.self_test);
            let (measured, offered) = (rates(&device.measured), rates(&device.offered));
            let capacity = device.capacity;
            let _ = writeln!(text, "{name:<15}{measured}  {self_test:<9}  {capacity}");
            let _ = writeln!(text, "{:<15}{offered}", "  as offered");
        }
        text
    }
}

/// Anything that computes AES-CTR: sets up a key.
type Unit = Box<dyn Fn(&[u8]) -> Result<Keyed, String>>;

/// XORs keystream onto data, from a byte of the block at a counter on.
type Keyed = Box<dyn FnMut(u128, usize, &mut [u8])>;

fn backend_unit(backend: Backend) -> Unit {
    Box::new(move |key| {
        let mut ctr = Box::new(Ctr::unkeyed(backend));
        ctr.set_key(key).map_err(|error| error.to_string())?;
        Ok(Box::new(move |counter, skip, data| {
            ctr.apply(counter, skip, data.into());
        }))
    })
}

#[cfg(target_arch = "x86_64")]
fn face_unit(face: oarlock::kernels::aes::Face) -> Unit {
    Box::new(move |key| {
        let mut ctr = Box::new(oarlock::kernels::aes::CachedCtr::unkeyed(face));
        ctr.set_key(key).map_err(|error| error.to_string())?;
        Ok(Box::new(move |counter, skip, data| {
            ctr.apply(counter, skip, data.into());
        }))
    })
}

/// The one device that `alone` has.
fn device_unit(alone: Accelerator) -> Unit {
    Box::new(move |key| {
        let mut ctr = alone
            .ctr(key, &[0; 16])
            .map_err(|error| error.to_string())?;
        ctr.set_strategy(Strategy::Inline);
        Ok(Box::new(move |counter, skip, data| {
            // The IV is never empty or too long, and `skip` is near.
            let _ = ctr.set_iv(&counter.to_be_bytes());
            ctr.seek(skip);
            ctr.apply_keystream(data);
        }))
    })
}

/// `PASSED`, or what was wrong.
fn self_test(unit: &Unit, oracle: &Unit, message: &[u8]) -> String {
    let test = || {
        for (key, ciphertext) in KEYS.iter().zip(CIPHERTEXTS) {
            let (key, ciphertext) = (unhex(key), unhex(ciphertext));
            let mut data = unhex(PLAINTEXT);
            let mut keyed = unit(&key)?;
            keyed(COUNTER, 0, &mut data);
            if data != ciphertext {
                return Err(format!("wrong for SP 800-38A, {}-bit key", 8 * key.len()));
            }
            // Splits within blocks, a run long enough for a table, and the counter's carry into
            // bit 64 and beyond.
            let counter = u128::from(u64::MAX) - 500;
            let (mut data, mut expected) = (message.to_vec(), message.to_vec());
            let mut position = 5;
            oracle(&key)?(counter, position, &mut expected);
            let (head, tail) = data.split_at_mut(1 + usize::from(message[0]));
            let (middle, tail) = tail.split_at_mut(777);
            for piece in [head, middle, tail] {
                let block = counter + (position / 16) as u128;
                keyed(block, position % 16, piece);
                position += piece.len();
            }
            if data != expected {
                return Err(format!(
                    "wrong for a random message, {}-bit key",
                    8 * key.len()
                ));
            }
        }
        Ok(())
    };
    match test() {
        Ok(()) => PASSED.into(),
        Err(what) => what,
    }
}

/// The best of a few runs: 21 of these are to be over in 20 ms.
fn measure(unit: &Unit) -> Vec<Rate> {
    let mut data = vec![0; MEASURED_BYTES];
    OPERATIONS
        .iter()
        .filter_map(|operation| {
            let began = Instant::now();
            let mut keyed = unit(&vec![0x5a; operation.key_bytes()]).ok()?;
            let mut counter = 0;
            let mut best = Duration::MAX;
            while began.elapsed() < MEASURED_TIME {
                let start = Instant::now();
                keyed(counter, 0, &mut data);
                best = best.min(start.elapsed());
                counter += (MEASURED_BYTES / 16) as u128;
            }
            Some(Rate {
                operation: operation.name(),
                bytes_per_second: (MEASURED_BYTES as f64 / best.as_secs_f64()) as u64,
            })
        })
        .collect()
}

fn random_message() -> Vec<u8> {
    let mut message = vec![0x36; MESSAGE_BYTES];
    // Without it (a sandbox), the message is a plain one.
    let _ = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut message));
    message
}

fn gigabytes(bytes_per_second: u64) -> String {
    match bytes_per_second {
        ..100_000_000 => format!("{:.1} MB/s", bytes_per_second as f64 / 1e6),
        _ => format!("{:.2} GB/s", bytes_per_second as f64 / 1e9),
    }
}

/// Of the constants below.
fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap_or_default()
}

const PASSED: &str = "ok";
const MEASURED_BYTES: usize = 16 << 10;
const MEASURED_TIME: Duration = Duration::from_micros(300);
/// Beyond where counter-mode caching begins, and not whole blocks.
const MESSAGE_BYTES: usize = (16 << 10) + 7;

/// SP 800-38A, F.5.
const COUNTER: u128 = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff;
const PLAINTEXT: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                         30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
const KEYS: [&str; 3] = [
    "2b7e151628aed2a6abf7158809cf4f3c",
    "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
];
const CIPHERTEXTS: [&str; 3] = [
    "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
     5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94\
     1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
     2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(when: impl Fn(usize) -> bool + 'static) -> Unit {
        let right = backend_unit(Backend::Portable);
        let when = std::rc::Rc::new(when);
        Box::new(move |key| {
            let mut right = right(key)?;
            let when = std::rc::Rc::clone(&when);
            Ok(Box::new(move |counter, skip, data| {
                right(counter, skip, data);
                if when(data.len())
                    && let Some(last) = data.last_mut()
                {
                    *last ^= 1;
                }
            }))
        })
    }

    #[test]
    fn a_unit_with_one_wrong_bit_fails_its_self_test() {
        let message = random_message();
        let oracle = backend_unit(Backend::Portable);
        assert_eq!(self_test(&broken(|_| false), &oracle, &message), PASSED);
        let wrong = self_test(&broken(|bytes| bytes == 64), &oracle, &message);
        assert!(wrong.contains("SP 800-38A"), "{wrong}");
        let wrong = self_test(&broken(|bytes| bytes > 64), &oracle, &message);
        assert!(wrong.contains("random message"), "{wrong}");
    }
}
