//! One client's requests through the dispatcher while another has some: each is answered once, the other's answers
//! are right, no device is blamed for what a client sent, and nothing is left of either.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use num_bigint::BigUint;
use oarlock::device::SoftwareDevice;
use oarlock::rsa::{RsaPrivateKey, RsaPublicKey};
use oarlock_net::proto::{self, request};
use oarlock_net::server::dispatch::{
    Answered, Bounds, ClientId, DeviceWorkers, Dispatcher, Output, Submission,
};
use oarlock_net::server::operation::{Prepared, prepare};

use crate::requests::{self, SERVER};

fuzz_target!(|input: Input| {
    let Input { asked } = input;
    let [hostile, victim] = [1, 1].map(|weight| DISPATCHER.add_client(weight));
    let (answers, answered) = mpsc::channel();
    let mut expected = 0;
    for (number, asked) in asked.into_iter().take(ASKED_MAX).enumerate() {
        let timeout = Duration::from_millis(asked.timeout_ms.into());
        for request in asked.what.requests() {
            let admitted = admit(hostile, request, timeout, asked.is_urgent, &answers, None);
            expected += usize::from(admitted);
        }
        let plain = number as u64 + 2;
        let request = proto::Request {
            operation: Some(request::Operation::RawPrivate(proto::RawPrivate {
                key_id: "rsa1024".into(),
                number: plain.to_be_bytes().to_vec(),
            })),
            ..Default::default()
        };
        assert!(admit(victim, request, LONG, false, &answers, Some(plain)));
        expected += 1;
    }
    drop(answers);
    let began = Instant::now();
    let mut count = 0;
    loop {
        match answered.recv_timeout(Duration::from_millis(5)) {
            Ok((plain, answer)) => {
                count += 1;
                if let Some(plain) = plain {
                    assert_right(plain, &answer);
                }
            }
            Err(RecvTimeoutError::Timeout) => DISPATCHER.enforce_deadlines(),
            // Nobody is left who could answer.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        assert!(began.elapsed() < LONG, "{count} of {expected} answered");
    }
    assert_eq!(count, expected);
    for device in DISPATCHER.devices() {
        assert!(device.failures == 0 && !device.is_down, "{device:?}");
    }
    for client in [hostile, victim] {
        // A worker counts a request as answered just after it has answered it.
        while !DISPATCHER.remove_client(client) {
            assert!(began.elapsed() < LONG, "something is left of a client");
            std::thread::yield_now();
        }
    }
    assert_eq!(DISPATCHER.clients(), 0);
});

#[derive(Arbitrary, Debug)]
struct Input {
    asked: Vec<Asked>,
}

#[derive(Arbitrary, Debug)]
struct Asked {
    what: requests::Input,
    timeout_ms: u16,
    is_urgent: bool,
}

type Answer = (Option<u64>, Answered);

/// Admits a request, if it is one for a device. Its answer goes out together with `plain`.
fn admit(
    client: ClientId,
    mut request: proto::Request,
    timeout: Duration,
    is_urgent: bool,
    answers: &mpsc::Sender<Answer>,
    plain: Option<u64>,
) -> bool {
    let Ok(Prepared::Work { work, origin, .. }) = prepare(&mut request, &SERVER.0, &SERVER.1)
    else {
        return false;
    };
    let answers = answers.clone();
    let submission = Submission {
        work,
        origin,
        is_urgent,
        deadline: Instant::now() + timeout,
        respond: Box::new(move |answered, _| {
            let _ = answers.send((plain, answered));
        }),
        others: Vec::new(),
        is_over: None,
    };
    DISPATCHER.admit(client, [submission]);
    true
}

/// By the public half, with another library.
fn assert_right(plain: u64, answer: &Answered) {
    let Ok(Output::Bytes(power)) = &answer.outcome else {
        panic!("{:?}", answer.outcome);
    };
    let [modulus, exponent] = [PUBLIC.modulus(), PUBLIC.exponent()].map(BigUint::from_bytes_be);
    let back = BigUint::from_bytes_be(power).modpow(&exponent, &modulus);
    assert_eq!(back, BigUint::from(plain));
}

static DISPATCHER: LazyLock<Dispatcher> = LazyLock::new(|| {
    let device = || DeviceWorkers {
        device: Arc::new(SoftwareDevice::new()),
        workers: 1,
        is_host: true,
    };
    let bounds = Bounds {
        waiting_max: 1024,
        per_client_max: 1024,
        hang: LONG,
    };
    Dispatcher::start(vec![device(), device()], bounds).unwrap()
});

static PUBLIC: LazyLock<RsaPublicKey> = LazyLock::new(|| {
    let keys = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/oarlock/tests/keys");
    let pem = std::fs::read_to_string(Path::new(keys).join("rsa1024.pem")).unwrap();
    RsaPrivateKey::from_pem(&pem).unwrap().public_key().clone()
});

const ASKED_MAX: usize = 8;
/// Nothing that is allowed takes so long.
const LONG: Duration = Duration::from_secs(60);
