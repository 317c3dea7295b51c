#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oarlock::device::{
    Answer, DeviceError, PublicKeyDevice, PublicKeyOffer, Shape, SoftwareDevice, visible_cpu,
};
use oarlock::{Base, ByteOrder, PublicKeyRequest};
use tonic::Code;

use super::line::{Expected, Line, left_to};
use super::task::Task;
use super::*;

/// 3 ^ `exponent` mod 0x1f1.
fn request(exponent: u8) -> PublicKeyRequest {
    let base = Base::from(&[3]);
    PublicKeyRequest::power(&[0x01, 0xf1], base, &[exponent], ByteOrder::BigEndian).unwrap()
}

fn power(exponent: u8) -> Vec<u8> {
    let power = (0..exponent).fold(1u32, |power, _| power * 3 % 0x1f1);
    vec![(power >> 8) as u8, power as u8]
}

fn task(number: u64, client: ClientId, shape: ShapeId, is_urgent: bool) -> Arc<Task> {
    let now = Instant::now();
    let deadline = now + Duration::from_secs(60);
    let place = (shape, client, number);
    let respond = Box::new(|_: Answered| ());
    Arc::new(Task::new(
        request(1),
        place,
        is_urgent,
        (now, deadline),
        respond,
    ))
}

/// Numbers of the tasks that a device takes one after the other.
fn order(line: &mut Line, skip: usize) -> Vec<u64> {
    let millisecond = |_| Duration::from_millis(1);
    let next = || line.take(|_| true, |_| skip, |_, _| 1, millisecond);
    std::iter::repeat_with(next)
        .take_while(|batch| !batch.is_empty())
        .map(|batch| batch[0].number)
        .collect()
}

#[test]
fn clients_are_served_by_their_weights_and_nobody_saves_up() {
    let mut line = Line::default();
    let (light, heavy) = (line.add_client(1), line.add_client(3));
    for number in 0..40 {
        line.push(task(number, light, 0, false), false);
        line.push(task(100 + number, heavy, 0, false), false);
    }
    let millisecond = |_| Duration::from_millis(1);
    let mut served = HashMap::new();
    for _ in 0..40 {
        let batch = line.take(|_| true, |_| 0, |_, _| 1, millisecond);
        *served.entry(batch[0].client).or_insert(0) += 1;
    }
    assert_eq!((served[&light], served[&heavy]), (10, 30));

    // One that comes later shares from then on, and does not catch up.
    let late = line.add_client(1);
    for number in 0..40 {
        line.push(task(200 + number, late, 0, false), false);
    }
    served.clear();
    for _ in 0..20 {
        let batch = line.take(|_| true, |_| 0, |_, _| 1, millisecond);
        *served.entry(batch[0].client).or_insert(0) += 1;
    }
    assert!((4..=6).contains(&served[&late]), "{served:?}");
}

#[test]
fn urgent_ones_come_first_and_then_the_oldest_of_any_shape() {
    let mut line = Line::default();
    let client = line.add_client(1);
    for (number, shape, is_urgent) in [
        (1, 0, false),
        (2, 1, false),
        (3, 0, true),
        (4, 0, false),
        (5, 1, true),
    ] {
        line.push(task(number, client, shape, is_urgent), false);
    }
    line.push(task(6, client, 0, false), true);
    assert_eq!(line.len(), 6);
    assert_eq!(order(&mut line, 0), [3, 5, 2, 6, 1, 4]);
    assert_eq!(line.len(), 0);
}

#[test]
fn a_batch_is_of_one_shape_and_of_all_clients() {
    let mut line = Line::default();
    let clients = [line.add_client(1), line.add_client(1)];
    for number in 0..6 {
        line.push(task(number, clients[0], 0, false), false);
        line.push(
            task(10 + number, clients[1], (number % 2) as usize, false),
            false,
        );
    }
    let batch = line.take(
        |_| true,
        |_| 0,
        |_, waiting| waiting.min(8),
        |_| Duration::from_millis(1),
    );
    let numbers: Vec<_> = batch.iter().map(|task| task.number).collect();
    assert_eq!(numbers, [0, 10, 1, 12, 2, 14, 3, 4]);
    assert_eq!((line.len_of(0), line.len_of(1)), (1, 3));
}

#[test]
fn a_slow_device_takes_what_faster_ones_would_not_have_done_by_then() {
    let [board, fast] = [(92, 283.0), (27, 300.0)].map(|(latency, per_second)| Expected {
        latency: Duration::from_millis(latency),
        per_second,
    });
    // Eight at once, and some nineteen more in the 65 ms that the slow one takes longer.
    assert_eq!(left_to(board, fast, 0), 27);
    assert_eq!(left_to(board, fast, 20), 7);
    assert_eq!(left_to(board, fast, 100), 0);
    assert_eq!(left_to(fast, board, 0), 0);

    let mut line = Line::default();
    let client = line.add_client(1);
    for number in 0..5 {
        line.push(task(number, client, 0, false), false);
    }
    // What is left to others is the front.
    assert_eq!(order(&mut line, 3), [3, 4]);
    assert_eq!(order(&mut line, 3), [0; 0]);
    assert_eq!(order(&mut line, 0), [0, 1, 2]);
}

#[test]
fn what_is_over_is_taken_out_wherever_it_stands() {
    let mut line = Line::default();
    let clients = [line.add_client(1), line.add_client(2)];
    for number in 0..20 {
        let client = clients[(number % 2) as usize];
        line.push(
            task(number, client, (number % 3) as usize, number % 5 == 0),
            false,
        );
    }
    let over = line.take_all(|task| task.number % 4 == 0);
    assert_eq!(over.len(), 5);
    assert_eq!(line.len(), 15);
    let mut left = order(&mut line, 0);
    left.sort_unstable();
    let expected: Vec<_> = (0..20).filter(|number| number % 4 != 0).collect();
    assert_eq!(left, expected);
}

/// Has aws-lc compute, after `mishap` has had its way.
struct Moody<F>(&'static str, SoftwareDevice, F);

impl<F: Fn() -> Option<DeviceError> + Send + Sync> PublicKeyDevice for Moody<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        self.1.offer(shape)
    }

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        match (self.2)() {
            None => self.1.run(batch, answer),
            Some(error) => {
                for place in 0..batch.len() {
                    answer(place, Err(error.clone()));
                }
            }
        }
    }
}

fn crew(
    name: &'static str,
    workers: usize,
    mishap: impl Fn() -> Option<DeviceError> + Send + Sync + 'static,
) -> Crew {
    Crew {
        device: Arc::new(Moody(
            name,
            SoftwareDevice::new(visible_cpu().unwrap()),
            mishap,
        )),
        workers,
    }
}

const BOUNDS: Bounds = Bounds {
    waiting_max: 1000,
    per_client_max: 1000,
    hang: Duration::from_secs(60),
};

/// Sends requests for powers, with these exponents; gives the answers, by exponent, as they come.
fn send(
    dispatcher: &Dispatcher,
    client: ClientId,
    exponents: std::ops::Range<u8>,
    timeout: Duration,
) -> mpsc::Receiver<(u8, Answered)> {
    let (applicants, receiver) = applicants(exponents, timeout);
    dispatcher.admit(client, applicants);
    receiver
}

fn applicants(
    exponents: std::ops::Range<u8>,
    timeout: Duration,
) -> (Vec<Applicant>, mpsc::Receiver<(u8, Answered)>) {
    let (sender, receiver) = mpsc::channel();
    let applicants = exponents
        .map(|exponent| {
            let sender = sender.clone();
            Applicant {
                request: request(exponent),
                is_urgent: false,
                deadline: Instant::now() + timeout,
                respond: Box::new(move |answered| {
                    let _ = sender.send((exponent, answered));
                }),
            }
        })
        .collect();
    (applicants, receiver)
}

const MINUTE: Duration = Duration::from_secs(60);

fn assert_all_right(answers: &mpsc::Receiver<(u8, Answered)>, count: usize) {
    let mut seen = Vec::new();
    for _ in 0..count {
        let (exponent, answered) = answers.recv_timeout(MINUTE).unwrap();
        assert_eq!(*answered.outcome.unwrap(), power(exponent));
        seen.push(exponent);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "each is answered once");
    assert!(answers.recv_timeout(Duration::from_millis(1)).is_err());
}

#[test]
fn every_request_is_answered_once_by_whichever_device() {
    let crews = vec![crew("one", 2, || None), crew("two", 3, || None)];
    let dispatcher = Dispatcher::start(crews, BOUNDS).unwrap();
    let clients = [dispatcher.add_client(1), dispatcher.add_client(5)];
    let answers = clients.map(|client| send(&dispatcher, client, 0..200, MINUTE));
    for answers in &answers {
        assert_all_right(answers, 200);
    }
    assert_eq!((dispatcher.unanswered(), dispatcher.waiting()), (0, 0));
}

#[test]
fn what_a_device_fails_at_another_does_and_the_first_is_left_alone() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let fails = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(DeviceError("burnt".into()))
    };
    let crews = vec![crew("broken", 1, fails), crew("good", 1, || None)];
    let dispatcher = Dispatcher::start(crews, BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let mut sent = 0;
    // Until the broken one has come to its turn.
    while calls.load(Ordering::Relaxed) == 0 {
        assert_all_right(&send(&dispatcher, client, 0..250, MINUTE), 250);
        sent += 250;
    }
    let tries = calls.load(Ordering::Relaxed);
    assert!(tries < sent * 4 / 5, "{tries} of {sent}");
    let status = &dispatcher.devices()[0];
    assert!(tries < 3 || status.is_down, "{status:?}");
    assert_eq!(status.failures as usize, tries);
}

#[test]
fn where_no_device_is_left_the_client_is_told_which_failed() {
    let crews = vec![crew("broken", 1, || Some(DeviceError("burnt".into())))];
    let dispatcher = Dispatcher::start(crews, BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    for _ in 0..5 {
        let (_, answered) = send(&dispatcher, client, 0..1, MINUTE)
            .recv_timeout(MINUTE)
            .unwrap();
        let refusal = answered.outcome.unwrap_err();
        assert_eq!(refusal.code, Code::Unavailable);
        assert!(refusal.message.contains("broken"), "{}", refusal.message);
    }
    assert_eq!(dispatcher.unanswered(), 0);
}

#[test]
fn a_device_that_is_well_again_is_taken_again() {
    let is_ill = Arc::new(Mutex::new(true));
    let ill = Arc::clone(&is_ill);
    let mishap = move || ill.lock().unwrap().then(|| DeviceError("a fever".into()));
    let dispatcher = Dispatcher::start(vec![crew("moody", 1, mishap)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let mut is_refused = false;
    while !is_refused {
        let answers = send(&dispatcher, client, 0..1, MINUTE);
        let message = answers
            .recv_timeout(MINUTE)
            .unwrap()
            .1
            .outcome
            .unwrap_err()
            .message;
        is_refused = message.starts_with("out of order: moody");
    }
    *is_ill.lock().unwrap() = false;
    let began = Instant::now();
    loop {
        let answers = send(&dispatcher, client, 7..8, MINUTE);
        dispatcher.look_after();
        if let Ok(result) = answers.recv_timeout(MINUTE).unwrap().1.outcome {
            assert_eq!(*result, power(7));
            break;
        }
        assert!(began.elapsed() < MINUTE, "never well again");
    }
    assert!(!dispatcher.devices()[0].is_down);
}

/// Holds whoever asks, until it is let go.
struct Gate(Mutex<bool>, std::sync::Condvar);

impl Gate {
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
fn what_hangs_in_a_device_is_done_by_another_and_answered_once() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
    let bounds = Bounds {
        hang: Duration::from_millis(20),
        ..BOUNDS
    };
    let crews = vec![crew("hanging", 2, hangs), crew("good", 1, || None)];
    let dispatcher = Dispatcher::start(crews, bounds).unwrap();
    let client = dispatcher.add_client(1);
    let began = Instant::now();
    let mut answers = Vec::new();
    // Until the one that hangs has come to its turn.
    while dispatcher.devices()[0].in_work == 0 {
        assert!(began.elapsed() < MINUTE, "it never takes any");
        answers.push(send(&dispatcher, client, 0..50, MINUTE));
        std::thread::sleep(Duration::from_millis(1));
    }
    while dispatcher.unanswered() > 0 {
        assert!(began.elapsed() < MINUTE, "{} left", dispatcher.unanswered());
        dispatcher.look_after();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(dispatcher.devices()[0].is_down);
    // What comes late is not looked at.
    gate.open();
    for answers in &answers {
        assert_all_right(answers, 50);
    }
    while dispatcher.devices()[0].in_work > 0 {
        assert!(began.elapsed() < MINUTE, "the workers never come back");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_hangs_and_then_fails_is_answered_where_nobody_else_can() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs_then_fails = move || {
        held.pass();
        Some(DeviceError("burnt".into()))
    };
    let bounds = Bounds {
        hang: Duration::from_millis(20),
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![crew("only", 1, hangs_then_fails)], bounds).unwrap();
    let client = dispatcher.add_client(1);
    let answers = send(&dispatcher, client, 1..2, MINUTE);
    let began = Instant::now();
    while !dispatcher.devices()[0].is_down {
        assert!(began.elapsed() < MINUTE, "never found to hang");
        dispatcher.look_after();
        std::thread::sleep(Duration::from_millis(1));
    }
    gate.open();
    let (_, answered) = answers.recv_timeout(MINUTE).unwrap();
    assert_eq!(answered.outcome.unwrap_err().code, Code::Unavailable);
    assert_eq!(dispatcher.unanswered(), 0);
}

#[test]
fn a_trial_that_hangs_does_not_keep_a_device_from_the_next_one() {
    // The first two of four workers never come back.
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let (held, calls) = (Arc::clone(&gate), AtomicUsize::new(0));
    let hangs_twice = move || {
        if calls.fetch_add(1, Ordering::Relaxed) < 2 {
            held.pass();
        }
        None
    };
    let bounds = Bounds {
        hang: Duration::from_millis(20),
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![crew("only", 4, hangs_twice)], bounds).unwrap();
    let client = dispatcher.add_client(1);
    let began = Instant::now();
    let mut served = false;
    while !served {
        assert!(began.elapsed() < MINUTE, "never tried again");
        let answers = send(&dispatcher, client, 7..8, Duration::from_millis(50));
        let answered = loop {
            dispatcher.look_after();
            if let Ok((_, answered)) = answers.recv_timeout(Duration::from_millis(1)) {
                break answered;
            }
            assert!(began.elapsed() < MINUTE, "never answered");
        };
        served = answered.outcome.is_ok();
    }
    gate.open();
}

#[test]
fn those_who_flood_the_line_leave_room_to_the_others() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
    let bounds = Bounds {
        waiting_max: 100,
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![crew("slow", 1, hangs)], bounds).unwrap();
    let floods = [1, 1, 1].map(|weight| {
        let client = dispatcher.add_client(weight);
        send(&dispatcher, client, 0..200, MINUTE)
    });
    let late = dispatcher.add_client(1);
    let answers = send(&dispatcher, late, 5..6, MINUTE);
    assert!(answers.try_recv().is_err(), "it waits for the device");
    // One alone has most of the line.
    let refused = std::iter::from_fn(|| floods[0].try_recv().ok()).count();
    assert!((100..=112).contains(&refused), "{refused}");
    gate.open();
    assert_all_right(&answers, 1);
    drop(dispatcher);
}

#[test]
fn deadlines_are_kept_in_the_line_and_in_the_device() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
    let dispatcher = Dispatcher::start(vec![crew("slow", 1, hangs)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let answers = send(&dispatcher, client, 0..3, Duration::from_millis(10));
    let began = Instant::now();
    let mut devices = Vec::new();
    while devices.len() < 3 {
        assert!(began.elapsed() < MINUTE);
        dispatcher.look_after();
        while let Ok((_, answered)) = answers.try_recv() {
            assert_eq!(answered.outcome.unwrap_err().code, Code::DeadlineExceeded);
            devices.push(answered.device);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let begun = devices.iter().filter(|device| device.is_some()).count();
    // None, where the worker was too late for that.
    assert!(begun <= 1, "{begun}");
    assert_eq!((dispatcher.unanswered(), dispatcher.waiting()), (0, 0));
    gate.open();
}

#[test]
fn who_comes_one_by_one_is_told_to_wait_for_as_long() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
    let bounds = Bounds {
        waiting_max: 10,
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![crew("slow", 1, hangs)], bounds).unwrap();
    let client = dispatcher.add_client(1);
    let mut answers = Vec::new();
    // Nothing is ever refused by `admit`.
    let (refusal, rest) = loop {
        if let Some(full) = dispatcher.no_room(client) {
            break full;
        }
        let (one, answer) = applicants(0..1, MINUTE);
        assert_eq!(dispatcher.admit(client, one), None);
        answers.push(answer);
    };
    assert_eq!(refusal.code, Code::ResourceExhausted);
    assert!(!rest.is_zero() && rest <= REST_MAX, "{rest:?}");
    gate.open();
    for answer in answers {
        assert_all_right(&answer, 1);
    }
}

#[test]
fn bounds_are_kept_and_who_is_refused_is_told_why() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
    let bounds = Bounds {
        waiting_max: 10,
        per_client_max: 6,
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![crew("slow", 1, hangs)], bounds).unwrap();
    let clients = [1, 1, 1].map(|weight| dispatcher.add_client(weight));
    let answers = clients.map(|client| send(&dispatcher, client, 0..8, MINUTE));
    let refused: Vec<_> = answers
        .iter()
        .flat_map(|answers| std::iter::from_fn(|| answers.try_recv().ok()))
        .map(|(_, answered)| answered.outcome.unwrap_err())
        .collect();
    // Six of each of the first two would fit the clients, and ten or eleven the line.
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
        says("of this client") && says("requests wait already"),
        "{refused:?}"
    );
    let (more, _) = applicants(0..1, MINUTE);
    let pause = dispatcher.admit(clients[0], more);
    assert!(pause.is_some_and(|pause| pause <= REST_MAX), "{pause:?}");
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
        dispatcher.admit(clients[0], applicants(0..1, MINUTE).0),
        None
    );
}

#[test]
fn at_the_end_all_that_is_left_is_answered() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
    let dispatcher = Dispatcher::start(vec![crew("slow", 1, hangs)], BOUNDS).unwrap();
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
    impl PublicKeyDevice for Nothing {
        fn name(&self) -> &str {
            "nothing"
        }
        fn offer(&self, _: &Shape) -> Option<PublicKeyOffer> {
            None
        }
        fn run(&self, _: &[&PublicKeyRequest], _: &mut Answer<'_>) {}
    }
    let crews = vec![Crew {
        device: Arc::new(Nothing),
        workers: 1,
    }];
    let dispatcher = Dispatcher::start(crews, BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let answers = send(&dispatcher, client, 0..1, MINUTE);
    let refusal = answers.recv().unwrap().1.outcome.unwrap_err();
    assert_eq!(refusal.code, Code::Unimplemented);
}

#[test]
fn a_driver_may_offer_anything() {
    struct Odd(SoftwareDevice, PublicKeyOffer);
    impl PublicKeyDevice for Odd {
        fn name(&self) -> &str {
            "odd"
        }
        fn offer(&self, _: &Shape) -> Option<PublicKeyOffer> {
            Some(self.1)
        }
        fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
            self.0.run(batch, answer);
        }
    }
    for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE] {
        for latency in [Duration::ZERO, Duration::MAX] {
            let offer = PublicKeyOffer {
                latency,
                per_second,
            };
            let odd = Odd(SoftwareDevice::new(visible_cpu().unwrap()), offer);
            let odd = Crew {
                device: Arc::new(odd),
                workers: 1,
            };
            let crews = vec![odd, crew("good", 1, || None)];
            let dispatcher = Dispatcher::start(crews, BOUNDS).unwrap();
            let client = dispatcher.add_client(1);
            assert_all_right(&send(&dispatcher, client, 0..50, MINUTE), 50);
        }
    }
}
