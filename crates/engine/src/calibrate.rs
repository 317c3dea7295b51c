//! Measures the costs that plans are based on.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inout::InOutBuf;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::xor::Xor;

use crate::costs::calibration::{AlgorithmCost, Calibration, MachineCosts};
use crate::costs::lookup::Costs;
use crate::device::CipherDevice;
use crate::device::ciphers::CipherDevices;
use crate::device::keyed::aead::AeadKey;
use crate::device::keyed::cbc::CbcKey;
use crate::device::keyed::stream::StreamKey;
use crate::plan::engine::Engine;
use crate::plan::prefetch::Consumer;
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::counter::Geometry;
use oarlock_threads::pool::Pool;
use oarlock_threads::pool::{Role, Tickets};
use oarlock_threads::prefetch::{Reader, Ring, RingSize, Source};

/// Measures all costs, within 20 ms on an idle machine.
pub fn measure(engine: &Engine) -> Calibration {
    let machine = measure_machine(engine);
    let devices = CipherDevices {
        cpu: engine.cpu,
        costs: Costs::default(),
        only: None,
    };
    let offered: Vec<_> = CipherDevice::ALL
        .iter()
        .flat_map(|device| Algorithm::ALL.iter().map(move |one| (*device, *one)))
        .filter_map(|(device, algorithm)| Some((devices.offer(device, algorithm)?, algorithm)))
        .collect();
    let each = TIME_OF_OPERATIONS / offered.len().max(1) as u32;
    let mut data = vec![0; LONG_BYTES_MAX];
    let algorithms = offered
        .into_iter()
        .filter_map(|(offer, algorithm)| {
            let mut request = request(offer.device, engine.cpu, algorithm)?;
            let expected = offer.bytes_per_second() as f64 / 1e9;
            let (setup_ns, bytes_per_ns) = measure_one(&mut request, expected, each, &mut data);
            Some(AlgorithmCost {
                algorithm,
                device: offer.device.name().into(),
                backend: offer.backend.into(),
                setup_ns: setup_ns as u64,
                bytes_per_second: ((bytes_per_ns * 1e9) as u64).max(1),
            })
        })
        .collect();
    Calibration {
        machine,
        algorithms,
    }
}

/// A function that computes one request; calls follow each other.
type Apply = Box<dyn FnMut(&mut [u8])>;

/// Returns the requests of a key, or `None` if the device refuses it.
fn request(device: CipherDevice, cpu: Cpu, algorithm: Algorithm) -> Option<Apply> {
    let key: Vec<u8> = (0..algorithm.key_bytes() as u8).collect();
    Some(match algorithm.kind() {
        Kind::Stream { block_bytes, .. } => {
            let mut key: StreamKey = device.set_up(cpu, algorithm, &key).ok()?;
            let mut counter = 0;
            Box::new(move |data| {
                let blocks = data.len() / block_bytes;
                key.apply(counter, 0, data.into());
                // Counters have 64 bits with 8-byte blocks and 32 with ChaCha20: too many to overflow in a few milliseconds.
                counter += blocks as u128;
            })
        }
        Kind::Aead => {
            let key: AeadKey = device.set_up(cpu, algorithm, &key).ok()?;
            let mut nonce = [0; 12];
            let mut number = 0_u64;
            Box::new(move |data| {
                number += 1;
                nonce[4..].copy_from_slice(&number.to_be_bytes());
                let _ = black_box(key.seal(&nonce, &[], data.into()));
            })
        }
        Kind::Cbc => {
            let key: CbcKey = device.set_up(cpu, algorithm, &key).ok()?;
            let mut iv = [0; 16];
            // Decryption, because stripes are planned for it.
            Box::new(move |data| key.crypt(Direction::Decrypt, &mut iv, data.into()))
        }
    })
}

/// Returns nanoseconds of setup and bytes per nanosecond. Uses the fastest of many short and many long requests, since any
/// disturbance makes a measurement longer.
fn measure_one(
    apply: &mut Apply,
    bytes_per_ns_expected: f64,
    time: Duration,
    data: &mut [u8],
) -> (f64, f64) {
    let long_bytes = ((bytes_per_ns_expected * LONG_NS) as usize)
        .clamp(LONG_BYTES_MIN, LONG_BYTES_MAX)
        .next_multiple_of(SHORT_BYTES);
    let batch = ((bytes_per_ns_expected * BATCH_NS) as usize / SHORT_BYTES).clamp(1, 64);
    let short_ns = least_ns(time / 3, || {
        for _ in 0..batch {
            apply(black_box(&mut data[..SHORT_BYTES]));
        }
    }) / batch as f64;
    let repeats = ((bytes_per_ns_expected * LONG_NS) as usize / long_bytes).max(1);
    let long_ns = least_ns(time * 2 / 3, || {
        for _ in 0..repeats {
            apply(black_box(&mut data[..long_bytes]));
        }
    }) / repeats as f64;
    let between = (long_bytes - SHORT_BYTES) as f64;
    // A disturbed short request must not make the long ones look faster than they were.
    let bytes_per_ns = between / (long_ns - short_ns).max(0.75 * long_ns).max(1.0);
    let setup_ns = (short_ns - SHORT_BYTES as f64 / bytes_per_ns).max(0.0);
    (setup_ns, bytes_per_ns)
}

fn least_ns(time: Duration, mut work: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut least = Duration::MAX;
    // At least once, whatever the time limit.
    loop {
        let start = Instant::now();
        work();
        let end = Instant::now();
        least = least.min(end - start);
        if end - began >= time {
            return least.as_nanos() as f64;
        }
    }
}

/// Measures the costs between cores. If no helper may run, returns the figures of the tables.
fn measure_machine(engine: &Engine) -> MachineCosts {
    let (told, _) = engine.ciphers.costs.machine();
    let told = MachineCosts::from(told);
    let own_core_bytes_per_second =
        measure_own_core(engine).unwrap_or(told.own_core_bytes_per_second);
    if engine.helpers_max() == 0 {
        return MachineCosts {
            own_core_bytes_per_second,
            ..told
        };
    }
    let pool = engine.pool();
    // The first wake-up creates the thread.
    wait_for_helper(pool);
    let soon = || Instant::now() + TIME_OF_WAY;
    // The kernel may leave the first one in this busy CPU's queue, which the pool then learns.
    let wake_ns = measure_wake(pool, Instant::now() + 2 * TIME_OF_WAY);
    // Make sure that the helper is awake.
    wait_for_helper(pool);
    let handoff_ns = measure_handoff(pool, soon());
    let other_core = measure_other_core(engine, pool, soon());
    MachineCosts {
        wake_ns: wake_ns.unwrap_or(told.wake_ns),
        handoff_ns: handoff_ns.unwrap_or(told.handoff_ns),
        other_core_bytes_per_second: other_core.unwrap_or(told.other_core_bytes_per_second),
        own_core_bytes_per_second,
    }
}

/// Posts work, waits for a helper up to a limit, and returns the time it took.
fn wait_for_helper(pool: &Pool) -> Option<u64> {
    let began = Instant::now();
    let waited_ns = AtomicU64::new(0);
    pool.run(1, &|role| match role {
        Role::Helper => waited_ns.store(nanos(began.elapsed()), Ordering::Relaxed),
        Role::Caller => {
            while waited_ns.load(Ordering::Relaxed) == 0 && began.elapsed() < WAIT_MAX {
                spin_loop();
            }
        }
    });
    Some(waited_ns.into_inner()).filter(|ns| *ns > 0)
}

fn measure_wake(pool: &Pool, deadline: Instant) -> Option<u64> {
    let waits = std::iter::from_fn(|| {
        let began = Instant::now();
        while pool.awake() > 0 && began.elapsed() < WAIT_MAX {
            spin_loop();
        }
        // Wait until the helper is really asleep.
        let began = Instant::now();
        while began.elapsed() < SETTLED {
            spin_loop();
        }
        Some(wait_for_helper(pool))
    });
    let waits = waits
        .take(WAKE_UPS)
        .take_while(|_| Instant::now() < deadline)
        .flatten()
        .collect();
    // The upper quartile: relying on a late helper costs more than not waking one.
    at(waits, 3, 4)
}

/// Returns the time of work shared with a helper, minus half the time of the work.
fn measure_handoff(pool: &Pool, deadline: Instant) -> Option<u64> {
    let alone_ns = least_ns(Duration::from_micros(200), || {
        (0..UNITS).for_each(|number| unit(number.into()));
    });
    let mut lost = Vec::new();
    for _ in 0..HANDOFFS {
        if Instant::now() > deadline {
            break;
        }
        let helped = AtomicU64::new(0);
        let tickets = Tickets::new(UNITS);
        let began = Instant::now();
        pool.run(1, &|role| {
            while let Some(ticket) = tickets.take(role) {
                unit(ticket.into());
                if role == Role::Helper {
                    helped.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let took_ns = nanos(began.elapsed()) as f64;
        if helped.into_inner() > 0 {
            lost.push((took_ns - alone_ns / 2.0).max(1.0) as u64);
        }
    }
    median(lost)
}

/// About 300 ns of work. A real stripe is longer, and the cost of its ticket must not dominate.
fn unit(number: u64) {
    let mut x = number | 1;
    for _ in 0..256 {
        x = black_box(x).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29);
    }
    black_box(x);
}

fn measure_other_core(engine: &Engine, pool: &Pool, deadline: Instant) -> Option<u64> {
    measure_taking(engine, deadline, |ring| {
        let is_filled = AtomicBool::new(false);
        pool.run(1, &|role| match role {
            Role::Helper => {
                ring.fill_for(WAIT_MAX);
                is_filled.store(true, Ordering::Release);
            }
            Role::Caller => {
                let began = Instant::now();
                while !is_filled.load(Ordering::Acquire) && began.elapsed() < WAIT_MAX {
                    spin_loop();
                }
            }
        });
        is_filled.into_inner()
    })
}

fn measure_own_core(engine: &Engine) -> Option<u64> {
    let deadline = Instant::now() + TIME_OF_WAY;
    measure_taking(engine, deadline, |ring| ring.fill_for(WAIT_MAX) > 0)
}

/// Returns bytes per second that a consumer takes from a ring filled by `fill`.
fn measure_taking(engine: &Engine, deadline: Instant, fill: impl Fn(&Ring) -> bool) -> Option<u64> {
    let xor = Xor::new(engine.cpu);
    let geometry = Geometry {
        block_shift: 4,
        counter_bits: 128,
    };
    // With its own budget, since it exists only briefly.
    let reader = Reader::new(RING, Box::new(Pattern(xor)), &Arc::default(), usize::MAX)?;
    let ring = Arc::clone(reader.ring());
    let mut consumer = Consumer::new(reader, geometry, xor, 0);
    let mut data = vec![0; WINDOW_BYTES];
    let mut counter = 0;
    let mut rates = Vec::new();
    while rates.len() < ROUNDS && Instant::now() < deadline {
        if !fill(&ring) {
            continue;
        }
        let mut ready = 0;
        let began = Instant::now();
        for _ in 0..ring.bytes() / WINDOW_BYTES {
            let data = InOutBuf::from(black_box(&mut *data));
            ready += consumer.apply(counter, 0, data, &mut |_, _, _| ()).ready;
            counter += (WINDOW_BYTES / 16) as u128;
        }
        let ns = nanos(began.elapsed()).max(1);
        if ready == ring.bytes() as u64 {
            rates.push((ready * 1_000_000_000 / ns).max(1));
        }
    }
    median(rates)
}

/// A source that writes like a keystream kernel.
struct Pattern(Xor);

impl Source for Pattern {
    fn make(&self, _: u128, _: u64, granule: &mut [u8]) {
        let pattern = black_box([0x5a; RING.granule_bytes]);
        self.0.apply(&pattern, granule.into());
    }
}

fn median(values: Vec<u64>) -> Option<u64> {
    at(values, 1, 2)
}

fn at(mut values: Vec<u64>, share: usize, of: usize) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() * share / of).copied()
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

/// The time for all algorithms together. Opening sessions and measuring helpers bring the total to 20 ms.
const TIME_OF_OPERATIONS: Duration = Duration::from_millis(11);
/// The time for each measurement between cores. One of them takes twice as long.
const TIME_OF_WAY: Duration = Duration::from_micros(1_300);
/// The longest wait for a helper. Creating one takes 100 µs.
const WAIT_MAX: Duration = Duration::from_millis(1);
/// The time between the end of a helper's spinning and its sleep.
const SETTLED: Duration = Duration::from_micros(50);
const WAKE_UPS: usize = 9;
const HANDOFFS: usize = 31;
const UNITS: u32 = 32;
const ROUNDS: usize = 15;
const SHORT_BYTES: usize = 64;
/// Long enough that setup and reading the clock, 20 to 80 ns, do not matter.
const LONG_NS: f64 = 10_000.0;
const LONG_BYTES_MIN: usize = 1024;
const LONG_BYTES_MAX: usize = 16 << 10;
const BATCH_NS: f64 = 2_000.0;
/// Half of a cipher's default ring, in granules of a cipher that gains from prefetching.
const RING: RingSize = RingSize {
    granule_bytes: 1024,
    segment: 64,
    streams: 2,
};
const WINDOW_BYTES: usize = 4096;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::plan::{PlanReport, Setup};

    #[test]
    fn a_calibration_is_complete_and_positive() {
        for (mask, threads) in [("", 4), ("-avx2", 1), ("-aes,-avx2", 0)] {
            let mut setup = Setup {
                cpu_mask: Some(mask.into()),
                ..Setup::default()
            };
            setup.options.max_threads = threads.into();
            let engine = setup.open().unwrap();
            let began = Instant::now();
            let calibration = measure(&engine);
            // Printed and not asserted, because the machine may be busy.
            println!("{mask:?}, {threads} threads: {:?}", began.elapsed());
            calibration.validate().unwrap();
            for &algorithm in Algorithm::ALL {
                for offer in engine.offers(algorithm) {
                    let measured = calibration
                        .algorithms
                        .iter()
                        .filter(|one| {
                            (one.algorithm, &*one.device) == (algorithm, offer.device.name())
                        })
                        .count();
                    assert_eq!(measured, 1, "{algorithm} {mask}");
                }
            }
            let offers = Algorithm::ALL.iter().map(|it| engine.offers(*it).len());
            assert_eq!(
                calibration.algorithms.len(),
                offers.sum::<usize>(),
                "{mask}"
            );
        }
    }

    #[test]
    fn an_impossible_calibration_is_refused_and_a_possible_one_is_gone_by() {
        let open = |calibration| {
            let calibration = Some(calibration);
            Setup {
                calibration,
                ..Setup::default()
            }
            .open()
        };
        let measured = measure(&Setup::default().open().unwrap());
        let spoilt: [fn(&mut Calibration); 4] = [
            |it| it.machine.handoff_ns = 0,
            |it| it.machine.wake_ns = u64::MAX,
            |it| it.algorithms[0].bytes_per_second = 0,
            |it| it.algorithms[0].setup_ns = u64::MAX,
        ];
        for spoil in spoilt {
            let mut calibration = measured.clone();
            spoil(&mut calibration);
            let built = open(calibration);
            assert!(matches!(built, Err(Error::InvalidInput(_))));
        }
        let mut calibration = measured;
        let entry = calibration
            .algorithms
            .iter_mut()
            .find(|one| (one.algorithm, &*one.device) == (Algorithm::ChaCha20, "cpu"))
            .unwrap();
        entry.bytes_per_second = 123_000_000_000;
        // On a busy machine, another device may have measured a shorter setup.
        entry.setup_ns = 0;
        let engine = open(calibration).unwrap();
        let report = PlanReport::of(&engine, Algorithm::ChaCha20).unwrap();
        assert_eq!(report.bytes_per_second, 123_000_000_000);
        assert_eq!(report.source, crate::costs::CostSource::Calibrated);
    }
}
