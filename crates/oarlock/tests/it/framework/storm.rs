//! Requests of all kinds, with faults on all devices but one: none is lost, answered twice or wrong.
//! `OARLOCK_STORM_REQUESTS=1000000` runs the long form.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use oarlock::device::{EngineBoard, Fault, PublicKeyRequest, When};
use oarlock::framework::{Answer, Check, Framework, FrameworkSession, Place, Request, SessionSpec};
use oarlock::job::QueueFull;
use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
use oarlock::{Algorithm, Direction, Error};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{SERVICES, Sample, engine, faulty};
use crate::common::accelerator;
use crate::common::keys::RSA1024;

#[test]
fn no_request_is_lost_or_doubled_or_wrong() {
    let requests = std::env::var("OARLOCK_STORM_REQUESTS");
    let requests: usize = requests.map_or(100_000, |count| count.parse().unwrap());
    let framework = Framework::new(&accelerator());
    // All faults of a device whose results are checked.
    let liar = EngineBoard {
        seed: 2,
        jitter: 0.5,
        ..faulty(&[
            (Fault::WrongResult, When::Rate(0.002)),
            (Fault::Overrun, When::Rate(0.002)),
            (Fault::TwoAnswers, When::Rate(0.05)),
            (Fault::Half, When::Rate(0.01)),
        ])
    };
    let sick = EngineBoard {
        seed: 3,
        latency: Duration::from_micros(30),
        ..faulty(&[
            (Fault::Error, When::Rate(0.05)),
            (Fault::NoAnswer, When::Rate(0.02)),
            (Fault::Reset(Duration::from_micros(300)), When::Rate(0.002)),
            (Fault::Late(Duration::from_millis(1)), When::Rate(0.02)),
        ])
    };
    let dozy = EngineBoard {
        seed: 4,
        depth: 16,
        ..faulty(&[
            (Fault::Hang, When::Rate(0.001)),
            (Fault::Late(Duration::from_millis(50)), When::Rate(0.001)),
        ])
    };
    let good = EngineBoard {
        seed: 5,
        latency: Duration::from_micros(20),
        ..super::quick()
    };
    framework
        .register(engine("liar", liar), Check::All)
        .unwrap();
    framework
        .register(engine("sick", sick), Check::Sample(16))
        .unwrap();
    let dozy = engine("dozy", dozy);
    framework.register(dozy.clone(), Check::Sample(16)).unwrap();
    framework
        .register(engine("good", good), Check::Sample(16))
        .unwrap();

    let mut random = StdRng::seed_from_u64(1);
    let samples: Vec<_> = (0..200)
        .map(|_| {
            Sample::new(
                SERVICES[random.random_range(0..SERVICES.len())],
                &mut random,
            )
        })
        .collect();
    let sessions: Vec<_> = samples
        .iter()
        .map(|sample| framework.session(&sample.spec()).unwrap())
        .collect();
    let key = RsaPrivateKey::from_pem(RSA1024).unwrap();
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    let public_keys: Vec<_> = (0..4u8)
        .map(|number| {
            let expected = accelerator().rsa(&key).sign(scheme, &[number]).unwrap();
            (number, expected)
        })
        .collect();
    // A stream that moves with every piece; the pieces are checked by position.
    let stream = framework
        .session(&SessionSpec::cipher(
            Algorithm::Aes128Ctr,
            &[7; 16],
            &[1; 16],
        ))
        .unwrap();
    let mut streamed = 0;

    let answered: Vec<_> = (0..requests).map(|_| AtomicUsize::new(0)).collect();
    let answered = Arc::new(answered);
    let (sender, answers) = mpsc::channel();
    let mut expected: Vec<Expected> = Vec::with_capacity(requests);
    let check_some = |expected: &[Expected], block: bool| {
        let mut seen = 0;
        while let Some((number, answer)) = match block {
            true if seen == 0 => answers.recv().ok(),
            _ => answers.try_recv().ok(),
        } {
            seen += 1;
            check(number, answer, &expected[number], &samples);
        }
        seen
    };
    let mut checked = 0;
    for number in 0..requests {
        let on_answer = {
            let (sender, answered) = (sender.clone(), Arc::clone(&answered));
            move |answer: Result<Answer, Error>| {
                answered[number].fetch_add(1, Ordering::Relaxed);
                sender.send((number, answer)).unwrap();
            }
        };
        let place = match random.random_range(0..8) {
            0 => Place::Here,
            1 => Place::Queue,
            2 => Place::Together,
            3 => Place::Auto,
            _ => Place::Device,
        };
        if random.random_range(0..200) == 0 {
            let (message, signature) = &public_keys[random.random_range(0..public_keys.len())];
            expected.push(Expected::Power(signature.clone()));
            let mut request = PublicKeyRequest::sign(&key, scheme, &[*message]).unwrap();
            loop {
                match framework.submit_public_key(request, place) {
                    Ok(job) => break job.on_completion(on_answer),
                    Err(QueueFull(back)) => request = back,
                }
                checked += check_some(&expected, true);
            }
            continue;
        }
        let kind = random.random_range(0..8);
        let (session, mut request, what): (Option<&FrameworkSession>, _, _) = if kind == 0 {
            let bytes = random.random_range(0..300);
            streamed += bytes;
            (
                Some(&stream),
                Request::encrypt(vec![0; bytes]),
                Expected::Stream(streamed - bytes),
            )
        } else {
            let at = random.random_range(0..samples.len());
            let direction = match random.random() {
                true => Direction::Encrypt,
                false => Direction::Decrypt,
            };
            let (given, _) = samples[at].sides(direction);
            let request = samples[at].request(direction, given.to_vec().into());
            let expected = Expected::Sample(at, direction);
            match kind {
                // A request with its own keys.
                1 => (None, request.with_keys(&samples[at].spec()), expected),
                _ => (Some(&sessions[at]), request, expected),
            }
        };
        expected.push(what);
        request = request.at(place);
        loop {
            let submitted = match session {
                Some(session) => session.submit(request),
                None => framework.submit(request),
            };
            match submitted {
                Ok(job) => break job.on_completion(on_answer),
                Err(QueueFull(back)) => request = back,
            }
            checked += check_some(&expected, true);
        }
        checked += check_some(&expected, false);
        if number % 1000 == 999 {
            // Delayed answers arrive late.
            dozy.release();
        }
    }
    while checked < requests {
        checked += check_some(&expected, true);
    }
    dozy.release();
    assert!(answers.try_recv().is_err(), "an answer too many");
    assert!(
        answered
            .iter()
            .all(|count| count.load(Ordering::Relaxed) == 1)
    );
    assert_eq!(framework.in_flight(), 0);
    let health = framework.health();
    let counts = |name: &str| health[name].counts;
    assert!(counts("good").done > 0 && counts("liar").breaches > 0 && counts("sick").failed > 0);
    assert_eq!(counts("good").breaches + counts("good").failed, 0);
    eprintln!("{requests} requests: {health:#?}");
}

enum Expected {
    Sample(usize, Direction),
    Stream(usize),
    Power(Vec<u8>),
}

fn check(number: usize, answer: Result<Answer, Error>, expected: &Expected, samples: &[Sample]) {
    let answer = answer.unwrap();
    assert_eq!(
        answer.outcome,
        Ok(()),
        "request {number} on {}",
        answer.device
    );
    let is_right = match expected {
        Expected::Sample(at, direction) => {
            let (_, expected) = samples[*at].sides(*direction);
            answer.buffers.into_output() == expected
        }
        Expected::Stream(at) => {
            let made = answer.buffers.into_output();
            made == crate::common::reference_from(&[7; 16], &[1; 16], *at as u64, made.len())
        }
        Expected::Power(signature) => *answer.power == *signature,
    };
    assert!(is_right, "request {number} on {}", answer.device);
}
