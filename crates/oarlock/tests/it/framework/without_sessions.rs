//! Requests with their own keys: their results, where they are computed, and what remains of the keys.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oarlock::device::{EngineBoard, Fault, When};
use oarlock::framework::{
    Check, Device, Framework, HashAlgorithm, Place, QueueOffer, Request, Service, SessionSpec, Task,
};
use oarlock::job::QueueFull;
use oarlock::{Algorithm, Direction, Error};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{SERVICES, Sample, engine, faulty, quick, with_board};
use crate::common::accelerator;

fn keyed(sample: &Sample, direction: Direction) -> Request {
    let (given, _) = sample.sides(direction);
    let request = match direction {
        Direction::Encrypt => Request::encrypt(given.to_vec()),
        Direction::Decrypt => Request::decrypt(given.to_vec()),
    };
    request
        .with_layout(sample.layout.clone())
        .with_keys(&sample.spec())
}

#[test]
fn it_makes_what_a_session_makes_wherever_it_is_done() {
    let mut random = StdRng::seed_from_u64(1);
    let (framework, board) = with_board(quick(), Check::Sample(0));
    for service in SERVICES {
        for _ in 0..10 {
            let sample = Sample::new(service, &mut random);
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let (given, expected) = sample.sides(direction);
                for place in [
                    Place::Here,
                    Place::Queue,
                    Place::Together,
                    Place::Device,
                    Place::Auto,
                ] {
                    let session = framework.session(&sample.spec()).unwrap();
                    let request = sample.request(direction, given.to_vec().into()).at(place);
                    let by_session = session.submit(request).unwrap().wait().unwrap();
                    let request = keyed(&sample, direction).at(place);
                    let answer = framework.submit(request).unwrap().wait().unwrap();
                    assert_eq!(answer.outcome, Ok(()), "{service} {direction:?} {place:?}");
                    assert_eq!(answer.buffers, by_session.buffers, "{service} {place:?}");
                    assert!(answer.buffers.into_output() == expected, "{service}");
                }
            }
        }
    }
    // Half of the requests are for the board only, and some of those for any device reach it too.
    assert!(board.admitted() > 400, "{}", board.admitted());
    assert_eq!(framework.in_flight(), 0);
}

#[test]
fn each_begins_at_its_own_iv_and_not_where_another_ended() {
    let framework = Framework::new(&accelerator());
    for (algorithm, iv) in [
        (Algorithm::Aes128Ctr, &[9; 16][..]),
        (Algorithm::Aes128Cbc, &[9; 16]),
    ] {
        let spec = SessionSpec::cipher(algorithm, &[7; 16], iv);
        let made = || {
            let request = Request::encrypt(vec![0; 64]).with_keys(&spec);
            framework.submit(request).unwrap().wait().unwrap().buffers
        };
        assert_eq!(made(), made());
        // The same result as that of the session's first request.
        let session = framework.session(&spec).unwrap();
        let first = session.submit(Request::encrypt(vec![0; 64])).unwrap();
        assert_eq!(first.wait().unwrap().buffers, made());
    }
}

#[test]
fn a_batch_has_a_key_for_each() {
    let mut random = StdRng::seed_from_u64(3);
    let framework = Framework::with_in_flight_max(&accelerator(), 50);
    let board = engine("board", quick());
    framework.register(board, Check::Sample(8)).unwrap();
    let samples: Vec<_> = (0..400)
        .map(|_| {
            let service = SERVICES[random.random_range(0..SERVICES.len())];
            Sample::new(service, &mut random)
        })
        .collect();
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        let batch = samples.iter().map(|sample| keyed(sample, direction));
        let answers = framework.run_each(batch.collect());
        assert_eq!(answers.len(), samples.len());
        for (sample, answer) in samples.iter().zip(answers) {
            assert_eq!(answer.outcome, Ok(()), "{}", sample.service);
            let (_, expected) = sample.sides(direction);
            assert!(answer.buffers.into_output() == expected);
        }
    }
    // 32 requests of one kind, which are computed in lanes, each with its key.
    let keys: Vec<[u8; 16]> = (0..32).map(|number| [number; 16]).collect();
    let spec = |key| SessionSpec::cipher(Algorithm::Aes128Cbc, key, &[1; 16]);
    let batch = keys
        .iter()
        .map(|key| Request::encrypt(vec![2; 1600]).with_keys(&spec(key)));
    let answers = Framework::new(&accelerator()).run_each(batch.collect());
    for (key, answer) in keys.iter().zip(answers) {
        let mut expected = vec![2; 1600];
        super::references::encrypt(Algorithm::Aes128Cbc, key, &[1; 16], &mut expected);
        assert!(answer.buffers.into_output() == expected);
    }
}

#[test]
fn what_is_wrong_with_it_is_told_with_its_data() {
    let framework = Framework::new(&accelerator());
    let outcome = |request: Request| {
        let answer = framework.submit(request).unwrap().wait().unwrap();
        assert_eq!(answer.buffers.into_output(), [5; 64], "as it was given");
        assert_eq!(&*answer.device, "");
        answer.outcome
    };
    let given = || Request::encrypt(vec![5; 64]);
    for bytes in [0, 15, 17, 32, 100] {
        let key = vec![1; bytes];
        let spec = SessionSpec::cipher(Algorithm::Aes128Ctr, &key, &[2; 16]);
        let error = outcome(given().with_keys(&spec)).unwrap_err();
        assert!(matches!(error, Error::InvalidKey(_)), "{bytes}: {error}");
    }
    for bad in [
        // An IV, a nonce, a tag and a cipher that do not fit.
        SessionSpec::cipher(Algorithm::Aes128Ctr, &[1; 16], &[2; 12]),
        SessionSpec::aead(Algorithm::Aes128Gcm, &[1; 16], &[2; 11]),
        SessionSpec::hmac(HashAlgorithm::Sha256, &[1; 16], 33),
        SessionSpec::cipher(Algorithm::Aes128Gcm, &[1; 16], &[2; 12]),
    ] {
        let error = outcome(given().with_keys(&bad)).unwrap_err();
        assert!(matches!(error, Error::InvalidInput(_)), "{error}");
    }
    assert!(matches!(outcome(given()), Err(Error::InvalidInput(_))));
    // A request in a session may not have keys of its own.
    let spec = SessionSpec::cipher(Algorithm::Aes128Ctr, &[1; 16], &[2; 16]);
    let session = framework.session(&spec).unwrap();
    let answer = session.submit(given().with_keys(&spec)).unwrap().wait();
    assert!(matches!(
        answer.unwrap().outcome,
        Err(Error::InvalidInput(_))
    ));
    assert_eq!(framework.in_flight(), 0);
}

#[test]
fn one_that_is_refused_comes_back_with_its_keys_which_it_does_not_show() {
    let framework = Framework::with_in_flight_max(&accelerator(), 0);
    let spec = SessionSpec::cipher(Algorithm::Aes128Ctr, &[0xab; 16], &[2; 16]);
    let request = Request::encrypt(vec![5; 64]).with_keys(&spec);
    let Err(QueueFull(back)) = framework.submit(request.clone()) else {
        panic!("there is no room for it");
    };
    assert_eq!(back, request);
    let other = SessionSpec::cipher(Algorithm::Aes128Ctr, &[0xac; 16], &[2; 16]);
    assert_ne!(back, request.clone().with_keys(&other));
    let shown = format!("{back:?}");
    assert!(!shown.contains("171") && !shown.contains("ab"), "{shown}");
    let roomy = Framework::new(&accelerator());
    let answer = roomy.submit(back).unwrap().wait().unwrap();
    assert_eq!(answer.outcome, Ok(()));
}

#[test]
fn a_failure_moves_it_with_its_keys() {
    let mut random = StdRng::seed_from_u64(6);
    let framework = Framework::new(&accelerator());
    let bad = faulty(&[
        (Fault::Error, When::Rate(0.2)),
        (Fault::Half, When::Rate(0.2)),
        (Fault::WrongResult, When::Rate(0.1)),
        (Fault::NoAnswer, When::Rate(0.1)),
    ]);
    let slow = EngineBoard {
        latency: Duration::from_secs(3600),
        ..quick()
    };
    framework.register(engine("bad", bad), Check::All).unwrap();
    framework
        .register(engine("slow", slow), Check::Sample(0))
        .unwrap();
    let mut jobs = Vec::new();
    for _ in 0..300 {
        let service = SERVICES[random.random_range(0..SERVICES.len())];
        let sample = Sample::new(service, &mut random);
        let request = keyed(&sample, Direction::Encrypt).at(Place::Device);
        jobs.push((framework.submit(request).unwrap(), sample));
    }
    assert!(framework.withdraw("slow"));
    for (job, sample) in jobs {
        let answer = job.wait().unwrap();
        assert_eq!(answer.outcome, Ok(()), "{}", sample.service);
        assert!(answer.buffers.into_output() == sample.sealed);
    }
    let counts = framework.health()["bad"].counts;
    assert!(counts.failed + counts.breaches > 0, "{counts:?}");
    assert_eq!(framework.in_flight(), 0);
}

/// A device that accepts tasks and answers none until it is released.
struct Holder(Mutex<Vec<Task>>);

impl Device for Holder {
    fn name(&self) -> &str {
        "holder"
    }

    fn depth(&self) -> usize {
        16
    }

    fn offer(&self, _: Service) -> Option<QueueOffer> {
        Some(QueueOffer {
            latency: Duration::ZERO,
            per_request: Duration::ZERO,
            key_setup: Duration::ZERO,
            bytes_per_second: 1_000_000_000_000,
        })
    }

    fn submit(&self, task: Task) -> Result<(), Task> {
        self.0.lock().unwrap().push(task);
        Ok(())
    }
}

#[test]
fn devices_are_told_that_keys_are_of_one_request() {
    let framework = Framework::new(&accelerator());
    let holder = Arc::new(Holder(Mutex::default()));
    framework
        .register(holder.clone(), Check::Sample(0))
        .unwrap();
    let spec = SessionSpec::cipher(Algorithm::Aes128Ctr, &[1; 16], &[2; 16]);
    let request = || Request::encrypt(vec![0; 100]).at(Place::Device);
    let session = framework.session(&spec).unwrap();
    let jobs = [
        session.submit(request()).unwrap(),
        framework.submit(request().with_keys(&spec)).unwrap(),
        framework.submit(request().with_keys(&spec)).unwrap(),
    ];
    let tasks = std::mem::take(&mut *holder.0.lock().unwrap());
    let of_one: Vec<_> = tasks
        .iter()
        .map(|task| task.material().is_of_one_request())
        .collect();
    assert_eq!(of_one, [false, true, true]);
    assert_ne!(tasks[1].material().id(), tasks[2].material().id());
    for task in tasks {
        task.complete(Ok(()));
    }
    for job in jobs {
        assert_eq!(job.wait().unwrap().outcome, Ok(()));
    }
}
