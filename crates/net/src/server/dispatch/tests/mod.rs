#![allow(clippy::unwrap_used, clippy::expect_used)]

mod health;
mod items;
mod long;
mod queue;
mod signatures;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oarlock::device::PublicKeyRequest;
use oarlock::device::{Answer, BlockingDevice, DeviceError, PublicKeyOffer, Shape, SoftwareDevice};
use oarlock::rsa::{Base, ByteOrder};
use oarlock_testing::until;
use tonic::Code;

use super::admit::BACK_OFF_MAX;
use super::*;

/// Returns the bytes of an answer.
fn bytes(output: Output) -> Vec<u8> {
    match output {
        Output::Bytes(bytes) => bytes.to_vec(),
        items @ Output::Items(_) => panic!("{items:?}"),
    }
}

/// Creates the request for 3 ^ `exponent` mod 0x1f1.
fn request(exponent: u8) -> PublicKeyRequest {
    let base = Base::from(&[3]);
    PublicKeyRequest::power(&[0x01, 0xf1], base, &[exponent], ByteOrder::BigEndian).unwrap()
}

fn power(exponent: u8) -> Vec<u8> {
    let power = (0..exponent).fold(1u32, |power, _| power * 3 % 0x1f1);
    vec![(power >> 8) as u8, power as u8]
}

/// A device that computes with aws-lc unless the function returns an error.
struct Moody<F>(&'static str, SoftwareDevice, F);

impl<F: Fn() -> Option<DeviceError> + Send + Sync> BlockingDevice for Moody<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        self.1.offer_public_key(shape)
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        match (self.2)() {
            None => self.1.run_public_key(batch, answer),
            Some(error) => {
                for place in 0..batch.len() {
                    answer(place, Err(error.clone()));
                }
            }
        }
    }
}

fn driver(
    name: &'static str,
    workers: usize,
    mishap: impl Fn() -> Option<DeviceError> + Send + Sync + 'static,
) -> DeviceWorkers {
    DeviceWorkers {
        device: Arc::new(Moody(name, SoftwareDevice::new(), mishap)),
        workers,
        is_host: false,
    }
}

const BOUNDS: Bounds = Bounds {
    waiting_max: 1000,
    per_client_max: 1000,
    hang: Duration::from_secs(60),
};

/// Sends requests for powers with these exponents; returns the receiver of the answers, each with its exponent.
fn send(
    dispatcher: &Dispatcher,
    client: ClientId,
    exponents: std::ops::Range<u8>,
    timeout: Duration,
) -> mpsc::Receiver<(u8, Answered)> {
    let (submissions, receiver) = submissions(exponents, timeout);
    dispatcher.admit(client, submissions);
    receiver
}

fn submissions(
    exponents: std::ops::Range<u8>,
    timeout: Duration,
) -> (Vec<Submission>, mpsc::Receiver<(u8, Answered)>) {
    submissions_of(Origin::Server, exponents, timeout)
}

fn submissions_of(
    origin: Origin,
    exponents: std::ops::Range<u8>,
    timeout: Duration,
) -> (Vec<Submission>, mpsc::Receiver<(u8, Answered)>) {
    let (sender, receiver) = mpsc::channel();
    let submissions = exponents
        .map(|exponent| {
            let sender = sender.clone();
            Submission {
                work: Work::Request(Box::new(request(exponent))),
                origin,
                is_urgent: false,
                deadline: Instant::now() + timeout,
                respond: Box::new(move |answered, _: &mut Outgoing| {
                    let _ = sender.send((exponent, answered));
                }),
                others: Vec::new(),
                is_over: None,
            }
        })
        .collect();
    (submissions, receiver)
}

const MINUTE: Duration = Duration::from_secs(60);

fn assert_all_right(answers: &mpsc::Receiver<(u8, Answered)>, count: usize) {
    let mut seen = Vec::new();
    for _ in 0..count {
        let (exponent, answered) = answers.recv_timeout(MINUTE).unwrap();
        assert_eq!(bytes(answered.outcome.unwrap()), power(exponent));
        seen.push(exponent);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "each is answered once");
    assert!(answers.recv_timeout(Duration::from_millis(1)).is_err());
}

/// A gate that holds callers until it is opened.
struct Gate(Mutex<bool>, std::sync::Condvar);

impl Gate {
    fn closed() -> Arc<Self> {
        Arc::new(Self(Mutex::new(true), std::sync::Condvar::new()))
    }

    /// Returns a closed gate, and what a device does that waits there.
    fn held() -> (
        Arc<Self>,
        impl Fn() -> Option<DeviceError> + Send + Sync + 'static,
    ) {
        let gate = Self::closed();
        let held = Arc::clone(&gate);
        let hangs = move || {
            held.pass();
            None
        };
        (gate, hangs)
    }

    fn pass(&self) {
        let closed = self.0.lock().unwrap();
        drop(self.1.wait_while(closed, |closed| *closed).unwrap());
    }

    fn open(&self) {
        *self.0.lock().unwrap() = false;
        self.1.notify_all();
    }
}

#[test]
fn every_request_is_answered_once_by_whichever_device() {
    let drivers = vec![driver("one", 2, || None), driver("two", 3, || None)];
    let dispatcher = Dispatcher::start(drivers, BOUNDS).unwrap();
    let clients = [dispatcher.add_client(1), dispatcher.add_client(5)];
    let answers = clients.map(|client| send(&dispatcher, client, 0..200, MINUTE));
    for answers in &answers {
        assert_all_right(answers, 200);
    }
    assert_eq!((dispatcher.unanswered(), dispatcher.waiting()), (0, 0));
}

#[test]
fn clients_that_flood_the_queue_leave_room_for_others() {
    let (gate, hangs) = Gate::held();
    let bounds = Bounds {
        waiting_max: 100,
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![driver("slow", 1, hangs)], bounds).unwrap();
    let floods = [1, 1, 1].map(|weight| {
        let client = dispatcher.add_client(weight);
        send(&dispatcher, client, 0..200, MINUTE)
    });
    let late = dispatcher.add_client(1);
    let answers = send(&dispatcher, late, 5..6, MINUTE);
    assert!(answers.try_recv().is_err(), "it waits for the device");
    // A single client fills most of the queue.
    let refused = std::iter::from_fn(|| floods[0].try_recv().ok()).count();
    assert!((100..=112).contains(&refused), "{refused}");
    gate.open();
    assert_all_right(&answers, 1);
    drop(dispatcher);
}

#[test]
fn deadlines_are_kept_in_the_queue_and_in_the_device() {
    let (gate, hangs) = Gate::held();
    let dispatcher = Dispatcher::start(vec![driver("slow", 1, hangs)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let answers = send(&dispatcher, client, 0..3, Duration::from_millis(10));
    let mut devices = Vec::new();
    until("three answers", || {
        dispatcher.enforce_deadlines();
        for (_, answered) in answers.try_iter() {
            assert_eq!(answered.outcome.unwrap_err().code, Code::DeadlineExceeded);
            devices.push(answered.device);
        }
        devices.len() >= 3
    });
    let begun = devices.iter().filter(|device| device.is_some()).count();
    // There is none if the worker was too late.
    assert!(begun <= 1, "{begun}");
    assert_eq!((dispatcher.unanswered(), dispatcher.waiting()), (0, 0));
    gate.open();
}

#[test]
fn requests_sent_one_by_one_get_the_same_back_off() {
    let (gate, hangs) = Gate::held();
    let bounds = Bounds {
        waiting_max: 10,
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![driver("slow", 1, hangs)], bounds).unwrap();
    let client = dispatcher.add_client(1);
    let mut answers = Vec::new();
    // `admit` never refuses any of these.
    let (refusal, rest) = loop {
        if let Some(full) = dispatcher.no_room(client) {
            break full;
        }
        let (one, answer) = submissions(0..1, MINUTE);
        assert_eq!(dispatcher.admit(client, one), None);
        answers.push(answer);
    };
    assert_eq!(refusal.code, Code::ResourceExhausted);
    assert!(!rest.is_zero() && rest <= BACK_OFF_MAX, "{rest:?}");
    gate.open();
    for answer in answers {
        assert_all_right(&answer, 1);
    }
}

#[test]
fn bounds_are_kept_and_refusals_say_why() {
    let (gate, hangs) = Gate::held();
    let bounds = Bounds {
        waiting_max: 10,
        per_client_max: 6,
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![driver("slow", 1, hangs)], bounds).unwrap();
    let clients = [1, 1, 1].map(|weight| dispatcher.add_client(weight));
    let answers = clients.map(|client| send(&dispatcher, client, 0..8, MINUTE));
    let refused: Vec<_> = answers
        .iter()
        .flat_map(|answers| std::iter::from_fn(|| answers.try_recv().ok()))
        .map(|(_, answered)| answered.outcome.unwrap_err())
        .collect();
    // The clients' own bounds allow six of each of the first two, the queue ten or eleven in all.
    assert!(
        refused.len() == 14 || refused.len() == 13,
        "{}",
        refused.len()
    );
    assert!(
        refused
            .iter()
            .all(|refusal| refusal.code == Code::ResourceExhausted)
    );
    let says = |what: &str| refused.iter().any(|refusal| refusal.message.contains(what));
    assert!(
        says("of this client") && says("requests already wait"),
        "{refused:?}"
    );
    let (more, _) = submissions(0..1, MINUTE);
    let pause = dispatcher.admit(clients[0], more);
    assert!(
        pause.is_some_and(|pause| pause <= BACK_OFF_MAX),
        "{pause:?}"
    );
    let (refusal, rest) = dispatcher.no_room(clients[0]).unwrap();
    assert_eq!((refusal.code, Some(rest)), (Code::ResourceExhausted, pause));
    gate.open();
    let answered: usize = answers
        .iter()
        .map(|answers| std::iter::from_fn(|| answers.recv_timeout(MINUTE).ok()).count())
        .sum();
    assert_eq!(answered + refused.len(), 24);
    assert_eq!(dispatcher.unanswered(), 0);
    assert_eq!(
        dispatcher.admit(clients[0], submissions(0..1, MINUTE).0),
        None
    );
}

#[test]
fn at_the_end_all_that_is_left_is_answered() {
    let (gate, hangs) = Gate::held();
    let dispatcher = Dispatcher::start(vec![driver("slow", 1, hangs)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let answers = send(&dispatcher, client, 0..5, MINUTE);
    dispatcher.close();
    let late = send(&dispatcher, client, 5..6, MINUTE);
    assert_eq!(
        late.recv().unwrap().1.outcome.unwrap_err().code,
        Code::Unavailable
    );
    dispatcher.end();
    for _ in 0..5 {
        let refusal = answers.recv_timeout(MINUTE).unwrap().1.outcome.unwrap_err();
        assert_eq!(refusal.code, Code::Unavailable);
    }
    gate.open();
}

#[test]
fn what_no_device_can_do_is_refused() {
    struct Nothing;
    impl BlockingDevice for Nothing {
        fn name(&self) -> &str {
            "nothing"
        }
        fn offer_public_key(&self, _: &Shape) -> Option<PublicKeyOffer> {
            None
        }
        fn run_public_key(&self, _: &[&PublicKeyRequest], _: &mut Answer<'_>) {}
    }
    let drivers = vec![DeviceWorkers {
        device: Arc::new(Nothing),
        workers: 1,
        is_host: false,
    }];
    let dispatcher = Dispatcher::start(drivers, BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let answers = send(&dispatcher, client, 0..1, MINUTE);
    let refusal = answers.recv().unwrap().1.outcome.unwrap_err();
    assert_eq!(refusal.code, Code::Unimplemented);
}

#[test]
fn a_driver_may_offer_anything() {
    struct Odd(SoftwareDevice, PublicKeyOffer);
    impl BlockingDevice for Odd {
        fn name(&self) -> &str {
            "odd"
        }
        fn offer_public_key(&self, _: &Shape) -> Option<PublicKeyOffer> {
            Some(self.1)
        }
        fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
            self.0.run_public_key(batch, answer);
        }
    }
    for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE] {
        for latency in [Duration::ZERO, Duration::MAX] {
            let offer = PublicKeyOffer {
                latency,
                per_second,
            };
            let odd = Odd(SoftwareDevice::new(), offer);
            let odd = DeviceWorkers {
                device: Arc::new(odd),
                workers: 1,
                is_host: false,
            };
            let drivers = vec![odd, driver("good", 1, || None)];
            let dispatcher = Dispatcher::start(drivers, BOUNDS).unwrap();
            let client = dispatcher.add_client(1);
            assert_all_right(&send(&dispatcher, client, 0..50, MINUTE), 50);
        }
    }
}

/// A driver that panics when it is asked is asked again, and keeps an offer that it has made.
#[test]
fn a_panic_is_no_answer_about_an_offer() {
    struct Shy(SoftwareDevice, AtomicUsize);
    impl BlockingDevice for Shy {
        fn name(&self) -> &str {
            "shy"
        }
        fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
            match self.1.fetch_add(1, Ordering::Relaxed) {
                1 => self.0.offer_public_key(shape),
                _ => panic!("as planned"),
            }
        }
        fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
            self.0.run_public_key(batch, answer);
        }
    }
    let shy = DeviceWorkers {
        device: Arc::new(Shy(SoftwareDevice::new(), AtomicUsize::new(0))),
        workers: 1,
        is_host: false,
    };
    let dispatcher = Dispatcher::start(vec![shy], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let ask = || {
        let answers = send(&dispatcher, client, 3..4, MINUTE);
        answers.recv_timeout(MINUTE).unwrap().1.outcome
    };
    assert_eq!(ask().unwrap_err().code, Code::Unimplemented);
    until("it is asked again", || ask().is_ok());
    for _ in 0..3 {
        // After each batch it is asked, and panics.
        until("an idle device", || dispatcher.devices()[0].in_work == 0);
        assert_eq!(bytes(ask().unwrap()), power(3));
    }
}

/// If the receiver of one refusal panics, the other requests still get theirs.
#[test]
fn a_panic_at_a_refusal_loses_no_other() {
    let dispatcher = Dispatcher::start(vec![driver("one", 1, || None)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    dispatcher.close();
    let (mut all, answers) = submissions(0..3, MINUTE);
    all[0].respond = Box::new(|_, _: &mut Outgoing| panic!("as planned"));
    dispatcher.admit(client, all);
    let refused: Vec<_> = answers.try_iter().collect();
    let exponents: Vec<_> = refused.iter().map(|(exponent, _)| *exponent).collect();
    assert_eq!(exponents, [1, 2]);
}
