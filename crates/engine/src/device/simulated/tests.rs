use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::thread;

use oarlock_testing::until;

use super::*;
use crate::device::{PublicKeyOperation, complete};
use crate::rsa::{Base, ByteOrder, RsaPrivateKey};

/// Table 1 of the paper: the number of threads, each with one request at a time, and operations per second.
#[test]
fn presets_meet_the_paper_in_virtual_time() {
    use PublicKeyOperation::{PrivateByExponent, PrivateByPrimes};
    let (axl, nfast) = (SimulatedBoard::axl200(), SimulatedBoard::nfast300());
    for (board, operation, threads, per_second) in [
        (&axl, PrivateByExponent, 1, 10.85),
        (&axl, PrivateByExponent, 25, 265.98),
        // This board ignores the primes.
        (&axl, PrivateByPrimes, 25, 265.98),
        (&nfast, PrivateByExponent, 1, 11.67),
        (&nfast, PrivateByExponent, 10, 92.40),
        (&nfast, PrivateByExponent, 30, 93.28),
        (&nfast, PrivateByExponent, 32, 93.30),
        (&nfast, PrivateByPrimes, 1, 37.00),
        (&nfast, PrivateByPrimes, 10, 288.92),
        (&nfast, PrivateByPrimes, 30, 297.74),
        (&nfast, PrivateByPrimes, 32, 299.97),
    ] {
        let shape = private(operation, 1024);
        let rate = rate(board, &shape, threads);
        let off_by = 100.0 * (rate / per_second - 1.0);
        println!("{} {threads:2} {rate:7.2} {off_by:+.2} %", shape.operation);
        assert!(off_by.abs() < 1.5, "{shape:?}, {threads}: {rate}");
    }
    // 30 busy workers on each board, as in the paper: together they reach the boards' summed rates.
    let by_primes = private(PrivateByPrimes, 1024);
    let together = rate(&axl, &by_primes, 30) + rate(&nfast, &by_primes, 30);
    println!("together {together:.2}");
    assert!(together > 0.99 * (265.98 + 299.97), "{together}");
}

/// With one request for each coprocessor, all take the board's time for one; a further request begins when the first one
/// ends.
#[test]
fn coprocessors_work_side_by_side() {
    for board in [SimulatedBoard::axl200(), SimulatedBoard::nfast300()] {
        let board = SimulatedBoard {
            latency: HOUR,
            latency_with_crt: None,
            host: Host::default(),
            jitter: 0.0,
            ..board
        };
        let (device, key) = (device(board), key());
        let count = device.board.coprocessors;
        thread::scope(|scope| {
            let under_way: Vec<_> = (0..count)
                .map(|_| scope.spawn(|| raw(&device, &key)))
                .collect();
            until("all are under way", || device.locked().waiting == count);
            let shape = request(&key).shape();
            let now = device.began.elapsed();
            let mut state = device.locked();
            let next = state.schedule.admit(&device.board, now, &shape).done_at;
            drop(state);
            assert!((2 * HOUR..3 * HOUR).contains(&next), "{next:?}");
            device.kill();
            for thread in under_way {
                assert!(reason(thread.join().unwrap()).contains("simulated death"));
            }
        });
    }
}

#[test]
fn longer_numbers_take_longer() {
    use PublicKeyOperation::{Held, Power, PrivateByExponent, PrivateByPrimes};
    let board = SimulatedBoard {
        host: Host::default(),
        latency: Duration::from_millis(80),
        latency_with_crt: Some(Duration::from_millis(20)),
        ..SimulatedBoard::nfast300()
    };
    let device = device(board);
    let offered = |shape: &Shape| {
        device
            .offer_public_key(shape)
            .map(|offer| offer.latency.as_micros())
    };
    for (operation, bits, millis) in [
        (PrivateByPrimes, 1024, 20),
        (PrivateByPrimes, 2048, 160),
        (PrivateByExponent, 1024, 80),
        (PrivateByExponent, 2048, 640),
        (PrivateByExponent, 512, 10),
    ] {
        let shape = private(operation, bits);
        assert_eq!(offered(&shape), Some(1000 * millis), "{shape:?}");
    }
    let mut shape = private(Power, 2048);
    shape.exponent_bits = 1024;
    assert_eq!(offered(&shape), Some(320_000));
    let offer = device
        .offer_public_key(&private(PrivateByPrimes, 1024))
        .unwrap();
    assert_eq!(offer.per_second, 400.0);
    // The device offers nothing for a key that another device holds.
    assert_eq!(offered(&private(Held(Arc::from("token")), 1024)), None);
}

#[test]
fn the_host_serves_one_after_the_other() {
    let board = SimulatedBoard {
        coprocessors: 3,
        latency: Duration::from_millis(10),
        host: Host {
            share: Duration::from_millis(4),
            pauses: None,
        },
        jitter: 0.0,
        ..SimulatedBoard::axl200()
    };
    let shape = private(PublicKeyOperation::PrivateByExponent, 1024);
    let mut schedule = Schedule::new(board.coprocessors);
    let mut done_at = |now| {
        let now = Duration::from_millis(now);
        schedule.admit(&board, now, &shape).done_at.as_millis()
    };
    // 4 ms of the host, then 6 ms of a coprocessor: one of three is always free.
    assert_eq!([done_at(0), done_at(0), done_at(0)], [10, 14, 18]);
    assert_eq!([done_at(0), done_at(100)], [22, 110]);
    // Both coprocessors are busy while the host prepares the third request.
    let board = SimulatedBoard {
        coprocessors: 2,
        latency: Duration::from_millis(20),
        ..board
    };
    let mut schedule = Schedule::new(board.coprocessors);
    let mut done_at = || {
        schedule
            .admit(&board, Duration::ZERO, &shape)
            .done_at
            .as_millis()
    };
    assert_eq!(
        [done_at(), done_at(), done_at(), done_at()],
        [20, 24, 36, 40]
    );
}

#[test]
fn every_kind_of_request_is_computed() {
    let device = device(quick());
    let key = key();
    assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
    let big_endian = ByteOrder::BigEndian;
    let base = Base {
        magnitude: &[5][..],
        is_negative: true,
    };
    let request = PublicKeyRequest::power(&[0x61], base, &[3], big_endian).unwrap();
    // -125 mod 97.
    assert_eq!(completed(&device, &request), Ok(vec![69]));
}

#[test]
fn a_wrong_result_is_given_and_not_released() {
    let device = faulty(Fault::WrongResult, When::Every(2));
    let key = key();
    assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
    assert!(reason(raw(&device, &key)).contains("does not agree with the public key"));
    assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
}

#[test]
fn no_answer_an_error_and_two_answers_are_what_they_say() {
    let key = key();
    let request = request(&key);
    for (fault, given, said) in [
        (Fault::NoAnswer, 0, "gave no answer"),
        (Fault::Error, 1, "simulated error of request 2"),
        (Fault::TwoAnswers, 2, ""),
    ] {
        let device = faulty(fault, When::Once(1));
        let mut answers = 0;
        device.run_public_key(&[&request], &mut |_, _| answers += 1);
        assert_eq!(answers, given, "{fault:?}");
        // Through `complete`, the same fault affects one request only.
        let device = faulty(fault, When::Once(2));
        assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
        match raw(&device, &key) {
            Ok(result) => assert_eq!((&result[..], said), (&TWO[..], ""), "{fault:?}"),
            failed => assert!(reason(failed).contains(said), "{fault:?}"),
        }
        assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
    }
}

#[test]
fn a_late_answer_is_late() {
    let late_by = |late_by| {
        device(SimulatedBoard {
            // The time has passed once the result is computed, so nothing waits.
            latency: Duration::from_nanos(1),
            faults: vec![Injection {
                fault: Fault::Late(late_by),
                when: When::Once(1),
            }],
            ..quick()
        })
    };
    let key = key();
    let device = late_by(HOUR);
    thread::scope(|scope| {
        let late = scope.spawn(|| raw(&device, &key));
        until("one is late", || device.locked().waiting == 1);
        for _ in 0..5 {
            assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
        }
        device.kill();
        assert!(reason(late.join().unwrap()).contains("simulated death"));
    });
    let device = late_by(Duration::from_millis(1));
    assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
}

#[test]
fn who_hangs_answers_when_released_and_disturbs_nobody() {
    let device = faulty(Fault::Hang, When::Once(1));
    let key = key();
    thread::scope(|scope| {
        let hung = scope.spawn(|| raw(&device, &key));
        until("a request hangs", || device.hanging() == 1);
        for _ in 0..5 {
            assert_eq!(raw(&device, &key), Ok(TWO.to_vec()));
        }
        assert!(!hung.is_finished());
        device.release();
        assert_eq!(hung.join().unwrap(), Ok(TWO.to_vec()));
    });
    assert_eq!(device.hanging(), 0);
}

#[test]
fn a_dead_device_fails_what_it_has_and_what_comes() {
    let board = SimulatedBoard {
        latency: HOUR,
        latency_with_crt: None,
        faults: vec![Injection {
            fault: Fault::Death,
            when: When::Once(3),
        }],
        ..quick()
    };
    let (device, key) = (device(board), key());
    thread::scope(|scope| {
        let under_way: Vec<_> = (0..2).map(|_| scope.spawn(|| raw(&device, &key))).collect();
        until("both are under way", || device.locked().waiting == 2);
        assert!(reason(raw(&device, &key)).contains("simulated death"));
        for thread in under_way {
            assert!(reason(thread.join().unwrap()).contains("simulated death"));
        }
    });
    assert!(reason(raw(&device, &key)).contains("simulated death"));

    let hanging = faulty(Fault::Hang, When::Every(1));
    thread::scope(|scope| {
        let hung = scope.spawn(|| raw(&hanging, &key));
        until("a request hangs", || hanging.hanging() == 1);
        hanging.kill();
        assert!(reason(hung.join().unwrap()).contains("simulated death"));
    });
}

/// Faults occur at the given rate, the same in each run, and never two in one request.
#[test]
fn rates_are_met_by_number_alone() {
    let injections = [Fault::Error, Fault::NoAnswer].map(|fault| Injection {
        fault,
        when: When::Rate(0.1),
    });
    let board = SimulatedBoard {
        faults: injections.to_vec(),
        ..quick()
    };
    let count = |board: &SimulatedBoard, fault| {
        let numbers = 1..=100_000;
        numbers
            .filter(|number| board.fault(*number) == Some(fault))
            .count()
    };
    let errors = count(&board, Fault::Error);
    assert!((9_700..10_300).contains(&errors), "{errors}");
    // The second fault only gets requests that the first one left.
    let silent = count(&board, Fault::NoAnswer);
    assert!((8_700..9_300).contains(&silent), "{silent}");
    assert_eq!(count(&board.clone(), Fault::Error), errors);
    let other = SimulatedBoard { seed: 2, ..board };
    assert_ne!(count(&other, Fault::Error), errors);
}

#[test]
fn boards_that_cannot_be_are_refused() {
    let refused = |board: SimulatedBoard| {
        let refused = SimulatedDevice::new("board", board);
        refused.err().map(|error| error.to_string())
    };
    assert_eq!(refused(quick()), None);
    for (board, said) in [
        (
            SimulatedBoard {
                coprocessors: 0,
                ..quick()
            },
            "no coprocessors",
        ),
        (
            SimulatedBoard {
                jitter: 1.5,
                ..quick()
            },
            "a jitter of 1.5",
        ),
        (
            SimulatedBoard {
                jitter: f64::NAN,
                ..quick()
            },
            "a jitter of NaN",
        ),
        (
            SimulatedBoard {
                latency: Duration::ZERO,
                ..quick()
            },
            "a latency of 0ns",
        ),
        (
            SimulatedBoard {
                latency: Duration::MAX,
                ..quick()
            },
            "86400s is the longest",
        ),
        (
            SimulatedBoard {
                host: Host {
                    share: Duration::from_millis(1),
                    pauses: None,
                },
                ..quick()
            },
            "of which the host has 1ms",
        ),
        (
            SimulatedBoard {
                host: Host {
                    share: Duration::ZERO,
                    pauses: Some(Pauses {
                        one_in: 0,
                        length: Duration::ZERO,
                    }),
                },
                ..quick()
            },
            "one of 0 requests",
        ),
        (
            SimulatedBoard {
                faults: vec![Injection {
                    fault: Fault::Error,
                    when: When::Rate(-0.1),
                }],
                ..quick()
            },
            "a rate of -0.1",
        ),
    ] {
        let refusal = refused(board).unwrap();
        assert!(refusal.contains(said), "{refusal}");
        assert!(
            refusal.starts_with("the simulated device board: "),
            "{refusal}"
        );
    }
}

/// Returns operations per second for threads that each make 8000 requests, one after the other.
fn rate(board: &SimulatedBoard, shape: &Shape, threads: usize) -> f64 {
    const EACH: usize = 8000;
    let mut schedule = Schedule::new(board.coprocessors);
    // When a thread submits its next request, and how many it has left.
    let mut asks: BinaryHeap<_> = vec![Reverse((Duration::ZERO, EACH)); threads].into();
    let mut end = Duration::ZERO;
    while let Some(Reverse((now, left))) = asks.pop() {
        let done_at = schedule.admit(board, now, shape).done_at;
        end = end.max(done_at);
        if left > 1 {
            asks.push(Reverse((done_at, left - 1)));
        }
    }
    (threads * EACH) as f64 / end.as_secs_f64()
}

fn private(operation: PublicKeyOperation, bits: usize) -> Shape {
    Shape {
        operation,
        modulus_bits: bits,
        exponent_bits: bits,
    }
}

/// A board with almost no latency.
fn quick() -> SimulatedBoard {
    SimulatedBoard {
        latency: Duration::from_millis(1),
        latency_with_crt: None,
        host: Host::default(),
        ..SimulatedBoard::axl200()
    }
}

fn faulty(fault: Fault, when: When) -> SimulatedDevice {
    device(SimulatedBoard {
        faults: vec![Injection { fault, when }],
        ..quick()
    })
}

fn device(board: SimulatedBoard) -> SimulatedDevice {
    SimulatedDevice::new("board", board).unwrap()
}

fn key() -> RsaPrivateKey {
    RsaPrivateKey::from_pem(include_str!("../../../../oarlock/tests/keys/rsa1024.pem")).unwrap()
}

/// A request with result [`TWO`].
fn request(key: &RsaPrivateKey) -> PublicKeyRequest {
    let (modulus, exponent) = (key.public_key().modulus(), key.public_key().exponent());
    let two = Base {
        magnitude: &TWO[..],
        is_negative: false,
    };
    let power = PublicKeyRequest::power(modulus, two, exponent, ByteOrder::BigEndian).unwrap();
    let number = completed(&SoftwareDevice::new(), &power).unwrap();
    PublicKeyRequest::raw_private(key, &number).unwrap()
}

fn raw(device: &SimulatedDevice, key: &RsaPrivateKey) -> Result<Vec<u8>, Error> {
    completed(device, &request(key))
}

fn completed(device: &dyn BlockingDevice, request: &PublicKeyRequest) -> Result<Vec<u8>, Error> {
    let mut results = Vec::new();
    complete(device, &[request], &mut |_, result| results.push(result));
    assert_eq!(results.len(), 1);
    results.remove(0).map(|result| result.to_vec())
}

fn reason(result: Result<Vec<u8>, Error>) -> String {
    match result {
        Err(Error::DeviceFailed { device, reason }) if device == "board" => reason,
        other => panic!("{other:?}"),
    }
}

/// Longer than any test waits.
const HOUR: Duration = Duration::from_secs(3600);
/// 2, in 128 bytes.
const TWO: [u8; 128] = {
    let mut two = [0; 128];
    two[127] = 2;
    two
};
