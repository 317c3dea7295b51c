use super::super::state::{DeviceState, Driver, ShapeEntry};
use super::super::task::Kind;
use super::*;
use oarlock_testing::until_some;

#[test]
fn what_a_device_fails_at_another_does_and_the_first_is_left_alone() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let fails = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(DeviceError("burnt".into()))
    };
    let drivers = vec![driver("broken", 1, fails), driver("good", 1, || None)];
    let dispatcher = Dispatcher::start(drivers, BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let mut sent = 0;
    // Send until the broken device has been used.
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
    let drivers = vec![driver("broken", 1, || Some(DeviceError("burnt".into())))];
    let dispatcher = Dispatcher::start(drivers, BOUNDS).unwrap();
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
    let dispatcher = Dispatcher::start(vec![driver("moody", 1, mishap)], BOUNDS).unwrap();
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
    let result = until_some("it is well again", || {
        let answers = send(&dispatcher, client, 7..8, MINUTE);
        dispatcher.enforce_deadlines();
        answers.recv_timeout(MINUTE).unwrap().1.outcome.ok()
    });
    assert_eq!(bytes(result), power(7));
    // The answer is sent before the worker records its success.
    until("it is in use again", || !dispatcher.devices()[0].is_down);
}

/// Sends requests one after the other, with the client's own numbers or the server's; returns the outcomes.
fn send_each(
    dispatcher: &Dispatcher,
    client: ClientId,
    origin: Origin,
    exponents: std::ops::Range<u8>,
) -> Vec<Answered> {
    let each = exponents.map(|exponent| {
        let (submissions, answers) = submissions_of(origin, exponent..exponent + 1, MINUTE);
        dispatcher.admit(client, submissions);
        answers.recv_timeout(MINUTE).unwrap().1
    });
    each.collect()
}

#[test]
fn what_a_client_sent_is_no_evidence_against_a_device() {
    let calls = Arc::new(AtomicUsize::new(0));
    let drivers = ["one", "two"].map(|name| {
        let counted = Arc::clone(&calls);
        driver(name, 1, move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(DeviceError("odd numbers".into()))
        })
    });
    let dispatcher = Dispatcher::start(drivers.into(), BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    for answered in send_each(&dispatcher, client, Origin::Client, 0..20) {
        let refusal = answered.outcome.unwrap_err();
        assert_eq!(refusal.code, Code::InvalidArgument);
        assert!(refusal.message.contains("odd numbers"), "{refusal:?}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 20, "each is tried once");
    for status in dispatcher.devices() {
        assert!(!status.is_down && status.failures == 0, "{status:?}");
    }
    // The same failures with keys of the server are evidence, and no success with a client's numbers hides them.
    for answered in send_each(&dispatcher, client, Origin::Server, 0..4) {
        assert_eq!(answered.outcome.unwrap_err().code, Code::Unavailable);
    }
    assert!(dispatcher.devices().iter().all(|status| status.is_down));
}

/// A device that fails whole batches in which one exponent is odd, as a driver that panics does.
struct AllOrNothing(SoftwareDevice, Arc<Gate>);

impl BlockingDevice for AllOrNothing {
    fn name(&self) -> &str {
        "all or nothing"
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        self.0.offer_public_key(shape)
    }

    fn batch_size(&self, _: &Shape, waiting: usize) -> usize {
        waiting
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        self.1.pass();
        let is_odd = |request: &&PublicKeyRequest| request.exponent().unwrap()[0] % 2 == 1;
        assert!(!batch.iter().any(is_odd), "a driver that panics");
        self.0.run_public_key(batch, answer);
    }
}

#[test]
fn what_a_client_sent_shares_no_batch_with_the_servers_keys() {
    let gate = Gate::closed();
    let device = AllOrNothing(SoftwareDevice::new(), Arc::clone(&gate));
    let device = Arc::new(device);
    let dispatcher = Dispatcher::start(
        vec![DeviceWorkers {
            device,
            workers: 1,
            is_host: false,
        }],
        BOUNDS,
    )
    .unwrap();
    let clients = [dispatcher.add_client(1), dispatcher.add_client(1)];
    let mut answers = Vec::new();
    for even in (0..40).step_by(2) {
        let (own, answer) = submissions(even..even + 1, MINUTE);
        dispatcher.admit(clients[0], own);
        answers.push((even, answer));
        let (other, answer) = submissions_of(Origin::Client, even + 1..even + 2, MINUTE);
        dispatcher.admit(clients[1], other);
        answers.push((even + 1, answer));
    }
    gate.open();
    for (exponent, answer) in answers {
        let outcome = answer.recv_timeout(MINUTE).unwrap().1.outcome;
        match outcome {
            Ok(result) => assert_eq!((exponent % 2, bytes(result)), (0, power(exponent))),
            Err(refusal) => assert_eq!((exponent % 2, refusal.code), (1, Code::InvalidArgument)),
        }
    }
    let status = &dispatcher.devices()[0];
    assert!(!status.is_down && status.failures == 0, "{status:?}");
}

#[test]
fn a_clients_numbers_that_hang_stop_one_device_and_blame_none() {
    let gate = Gate::closed();
    let (held, calls) = (Arc::clone(&gate), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&calls);
    // The first device to receive a request never returns.
    let hangs_once = move || {
        if counted.fetch_add(1, Ordering::SeqCst) == 0 {
            held.pass();
        }
        None
    };
    let bounds = Bounds {
        hang: Duration::ZERO,
        ..BOUNDS
    };
    let drivers = vec![
        driver("one", 1, hangs_once.clone()),
        driver("two", 1, hangs_once),
    ];
    let dispatcher = Dispatcher::start(drivers, bounds).unwrap();
    let client = dispatcher.add_client(1);
    let (one, hanging) = submissions_of(Origin::Client, 1..2, MINUTE);
    dispatcher.admit(client, one);
    until("it has begun", || calls.load(Ordering::SeqCst) > 0);
    let others = send(&dispatcher, client, 0..50, MINUTE);
    until("one is left", || {
        dispatcher.enforce_deadlines();
        for status in dispatcher.devices() {
            assert!(!status.is_down && status.failures == 0, "{status:?}");
        }
        dispatcher.unanswered() <= 1
    });
    assert_all_right(&others, 50);
    assert!(hanging.try_recv().is_err(), "it was tried elsewhere");
    gate.open();
    assert_all_right(&hanging, 1);
}

#[test]
fn what_hangs_in_a_device_is_done_by_another_and_answered_once() {
    let (gate, hangs) = Gate::held();
    let bounds = Bounds {
        hang: Duration::from_millis(20),
        ..BOUNDS
    };
    let drivers = vec![driver("hanging", 2, hangs), driver("good", 1, || None)];
    let dispatcher = Dispatcher::start(drivers, bounds).unwrap();
    let client = dispatcher.add_client(1);
    let mut answers = Vec::new();
    until("the hanging device takes some", || {
        answers.push(send(&dispatcher, client, 0..50, MINUTE));
        dispatcher.devices()[0].in_work > 0
    });
    until("all are answered", || {
        dispatcher.enforce_deadlines();
        dispatcher.unanswered() == 0
    });
    assert!(dispatcher.devices()[0].is_down);
    // Late results are discarded.
    gate.open();
    for answers in &answers {
        assert_all_right(answers, 50);
    }
    until("the workers come back", || {
        dispatcher.devices()[0].in_work == 0
    });
}

#[test]
fn what_hangs_and_then_fails_is_answered_where_nobody_else_can() {
    let gate = Gate::closed();
    let held = Arc::clone(&gate);
    let hangs_then_fails = move || {
        held.pass();
        Some(DeviceError("burnt".into()))
    };
    let bounds = Bounds {
        hang: Duration::from_millis(20),
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![driver("only", 1, hangs_then_fails)], bounds).unwrap();
    let client = dispatcher.add_client(1);
    let answers = send(&dispatcher, client, 1..2, MINUTE);
    until("it is found to hang", || {
        dispatcher.enforce_deadlines();
        dispatcher.devices()[0].is_down
    });
    gate.open();
    let (_, answered) = answers.recv_timeout(MINUTE).unwrap();
    assert_eq!(answered.outcome.unwrap_err().code, Code::Unavailable);
    assert_eq!(dispatcher.unanswered(), 0);
}

#[test]
fn a_trial_that_hangs_does_not_keep_a_device_from_the_next_one() {
    // The first two of four workers never return.
    let gate = Gate::closed();
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
    let dispatcher = Dispatcher::start(vec![driver("only", 4, hangs_twice)], bounds).unwrap();
    let client = dispatcher.add_client(1);
    until("it is tried again", || {
        let answers = send(&dispatcher, client, 7..8, Duration::from_millis(50));
        let answered = until_some("an answer", || {
            dispatcher.enforce_deadlines();
            answers.try_recv().ok()
        });
        answered.1.outcome.is_ok()
    });
    gate.open();
}

#[test]
fn a_device_that_was_slow_is_expected_to_keep_its_offer_again_later() {
    let driver = Arc::new(Driver::new(driver("moody", 1, || None)));
    let mut devices = [DeviceState::new(&driver, &BOUNDS)];
    let kind = Kind::Power(request(1).shape());
    let offer = driver.offer(&kind).unwrap().unwrap();
    let mut entry = ShapeEntry::new(kind, Origin::Server, 1);
    entry.offers = vec![Some(offer)];
    for _ in 0..100 {
        devices[0].slowness[Origin::Server as usize].learn(MINUTE, 50.0);
    }
    let times = |now| {
        let expected = entry.expected(0, &devices, now).unwrap();
        let latency = expected.latency.as_secs_f64() / offer.latency.as_secs_f64();
        (latency, offer.per_second / expected.per_second)
    };
    let (latency, cost) = times(MINUTE);
    assert!(latency > 40.0 && cost > 40.0, "{latency}, {cost}");
    let (latency, cost) = times(MINUTE + Duration::from_secs(20));
    assert!(latency < 1.1 && cost < 1.1, "{latency}, {cost}");
}
