//! Parts of requests with several items.

use std::sync::atomic::AtomicBool;

use zeroize::Zeroizing;

use super::super::super::items::{Batch, Item, MachineFailed, Piece};
use super::signatures::{host, key, signatures};
use super::*;

fn item() -> Result<Item, MachineFailed> {
    Ok(Item {
        outcome: Ok(Zeroizing::new(vec![1])),
        version: 0,
    })
}

/// Sends one part of one item, and returns where its answer arrives.
fn one(
    dispatcher: &Dispatcher,
    client: ClientId,
    time: Duration,
    compute: impl Fn() -> Result<Item, MachineFailed> + Clone + Send + Sync + 'static,
) -> mpsc::Receiver<Answered> {
    let batch = Batch::cut(vec![()], |()| time, move |()| compute());
    one_of(dispatcher, client, batch)
}

/// Sends the only part of a batch.
fn one_of(dispatcher: &Dispatcher, client: ClientId, batch: Batch) -> mpsc::Receiver<Answered> {
    let (sender, receiver) = mpsc::channel();
    let mut submissions = batch.pieces.into_iter().map(|piece| {
        let Piece::Part(part) = piece else {
            panic!("{piece:?}");
        };
        let sender = sender.clone();
        Submission {
            work: Work::Part(part),
            origin: Origin::Server,
            is_urgent: false,
            deadline: Instant::now() + MINUTE,
            respond: Box::new(move |answered, _: &mut Outgoing| {
                let _ = sender.send(answered);
            }),
            others: Vec::new(),
            is_over: None,
        }
    });
    dispatcher.admit(client, submissions.next());
    receiver
}

/// Makes powers one request: its first piece, and the others with it.
fn request_of(
    exponents: std::ops::Range<u8>,
    is_over: &Arc<AtomicBool>,
) -> (Submission, mpsc::Receiver<(u8, Answered)>) {
    let (pieces, receiver) = submissions(exponents, MINUTE);
    let mut pieces = pieces.into_iter();
    let mut first = pieces.next().unwrap();
    first.others = pieces.map(|piece| (piece.work, piece.respond)).collect();
    first.is_over = Some(Arc::clone(is_over));
    (first, receiver)
}

/// Sends items that are expected to take `time` each and take as long. Returns the number of their parts, each of which tells
/// when it is answered.
fn parts(
    dispatcher: &Dispatcher,
    client: ClientId,
    items: usize,
    time: Duration,
    told: &mpsc::Sender<&'static str>,
) -> usize {
    let batch = Batch::cut(
        vec![(); items],
        |()| time,
        move |()| {
            let until = Instant::now() + time;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            item()
        },
    );
    let count = batch.pieces.len();
    let submissions = batch.pieces.into_iter().map(|piece| {
        let Piece::Part(part) = piece else {
            panic!("{piece:?}");
        };
        let told = told.clone();
        Submission {
            work: Work::Part(part),
            origin: Origin::Server,
            is_urgent: false,
            deadline: Instant::now() + MINUTE,
            respond: Box::new(move |answered, _: &mut Outgoing| {
                // Those that are left when the dispatcher ends are refused.
                if let Ok(output) = answered.outcome {
                    assert!(matches!(output, Output::Items(items) if !items.is_empty()));
                    let _ = told.send("part");
                }
            }),
            others: Vec::new(),
            is_over: None,
        }
    });
    dispatcher.admit(client, submissions);
    count
}

/// A client with many parts and one with a signature share a worker. The signature waits for one part, not for the batch.
#[test]
fn a_batch_delays_others_by_one_part() {
    let (gate, hangs) = Gate::held();
    let dispatcher = Dispatcher::start(vec![host("one", 1, hangs)], BOUNDS).unwrap();
    let [greedy, modest] = [(); 2].map(|()| dispatcher.add_client(1));
    let power = send(&dispatcher, greedy, 5..6, MINUTE);
    let (told, order) = mpsc::channel();
    let count = parts(&dispatcher, greedy, 1024, Duration::from_micros(40), &told);
    assert!(count > 30, "{count} parts");
    let made = signatures(&dispatcher, modest, &key(), 0..1);
    gate.open();
    assert_all_right(&power, 1);
    assert!(made.recv_timeout(MINUTE).unwrap().1.outcome.is_ok());
    let before = order.try_iter().count();
    assert!(before <= 2, "{before} parts before the signature");
    for _ in before..count {
        assert_eq!(order.recv_timeout(MINUTE), Ok("part"));
    }
    assert_eq!((dispatcher.unanswered(), dispatcher.waiting()), (0, 0));
}

/// Two clients of one weight get equal time, though one sends a hundred times as many items in a request.
#[test]
fn items_are_paid_for_by_their_time() {
    let (gate, hangs) = Gate::held();
    let dispatcher = Dispatcher::start(vec![host("one", 1, hangs)], BOUNDS).unwrap();
    let [many, few] = [(); 2].map(|()| dispatcher.add_client(1));
    let power = send(&dispatcher, many, 5..6, MINUTE);
    let (of_many, many_done) = mpsc::channel();
    let (of_few, few_done) = mpsc::channel();
    let item = Duration::from_micros(100);
    let long = parts(&dispatcher, many, 1000, item, &of_many);
    for _ in 0..100 {
        assert_eq!(parts(&dispatcher, few, 1, item, &of_few), 1);
    }
    gate.open();
    assert_all_right(&power, 1);
    for _ in 0..100 {
        assert_eq!(few_done.recv_timeout(MINUTE), Ok("part"));
    }
    // Ten items are a part, so ten parts are as long as what the other client had.
    let done = many_done.try_iter().count();
    assert!((4..=25).contains(&done), "{done} of {long} parts");
    drop(dispatcher);
}

/// A device that is no CPU of this machine computes no parts.
#[test]
fn without_a_device_of_this_machine_they_are_refused() {
    let dispatcher = Dispatcher::start(vec![driver("board", 1, || None)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let batch = Batch::cut(vec![()], |()| Duration::ZERO, |()| panic!("computed"));
    let (sender, refused) = mpsc::channel();
    for piece in batch.pieces {
        let Piece::Part(part) = piece else {
            panic!("{piece:?}");
        };
        let sender = sender.clone();
        let submission = Submission {
            work: Work::Part(part),
            origin: Origin::Server,
            is_urgent: false,
            deadline: Instant::now() + MINUTE,
            respond: Box::new(move |answered, _: &mut Outgoing| sender.send(answered).unwrap()),
            others: Vec::new(),
            is_over: None,
        };
        dispatcher.admit(client, [submission]);
    }
    let refusal = refused.recv_timeout(MINUTE).unwrap().outcome.unwrap_err();
    assert_eq!(refusal.code, Code::Unimplemented);
    assert!(
        refusal.message.contains("requests with items"),
        "{}",
        refusal.message
    );
}

/// The pieces of a request enter together or not at all, however little room is missing.
#[test]
fn the_pieces_of_a_request_are_admitted_together_or_not_at_all() {
    let (gate, hangs) = Gate::held();
    let bounds = Bounds {
        waiting_max: 40,
        per_client_max: 30,
        ..BOUNDS
    };
    let dispatcher = Dispatcher::start(vec![driver("slow", 1, hangs)], bounds).unwrap();
    let [held_up, greedy, other] = [(); 3].map(|()| dispatcher.add_client(1));
    let first = send(&dispatcher, held_up, 1..2, MINUTE);
    until("the device has it", || dispatcher.waiting() == 0);
    let is_over = Arc::default();

    // More than the server ever admits, which a pause does not change, and more than the client has left.
    let (whole, answers) = request_of(0..20, &is_over);
    assert_eq!(dispatcher.admit(greedy, [whole]), None);
    for (client, pieces, code, what) in [
        (other, 31, Code::FailedPrecondition, "has at most 30"),
        (greedy, 11, Code::ResourceExhausted, "already under way"),
        (other, 21, Code::ResourceExhausted, "already wait"),
    ] {
        let (refused, answers) = request_of(0..pieces, &is_over);
        let pause = dispatcher.admit(client, [refused]);
        assert_eq!(pause.is_some(), code == Code::ResourceExhausted, "{what}");
        let all: Vec<_> = answers.try_iter().collect();
        let [(0, answered)] = &all[..] else {
            panic!("{} answers", all.len());
        };
        let refusal = answered.outcome.as_ref().unwrap_err();
        assert_eq!(refusal.code, code);
        assert!(refusal.message.contains(what), "{}", refusal.message);
        assert_eq!((dispatcher.waiting(), dispatcher.unanswered()), (20, 21));
    }
    gate.open();
    assert_all_right(&first, 1);
    assert_all_right(&answers, 20);
    // One that fits into an empty queue is admitted there.
    let (whole, answers) = request_of(0..30, &is_over);
    until("an empty queue", || dispatcher.unanswered() == 0);
    assert_eq!(dispatcher.admit(greedy, [whole]), None);
    assert_all_right(&answers, 30);
}

/// Once a request is answered, no device computes what is left of it, and it takes no room in the queue.
#[test]
fn the_pieces_of_an_answered_request_leave_the_queue() {
    let gate = Gate::closed();
    let (held, computed) = (Arc::clone(&gate), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&computed);
    let hangs = move || {
        held.pass();
        count.fetch_add(1, Ordering::Relaxed);
        None
    };
    let dispatcher = Dispatcher::start(vec![driver("slow", 1, hangs)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let first = send(&dispatcher, client, 1..2, MINUTE);
    until("the device has it", || dispatcher.waiting() == 0);
    let [swept, skipped] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (whole, _swept) = request_of(0..100, &swept);
    dispatcher.admit(client, [whole]);
    swept.store(true, Ordering::Relaxed);
    dispatcher.enforce_deadlines();
    assert_eq!((dispatcher.waiting(), dispatcher.unanswered()), (0, 1));
    // Those that no sweep has reached are taken by no worker.
    let (whole, _skipped) = request_of(0..100, &skipped);
    dispatcher.admit(client, [whole]);
    skipped.store(true, Ordering::Relaxed);
    let last = send(&dispatcher, client, 2..3, MINUTE);
    gate.open();
    assert_all_right(&first, 1);
    assert_all_right(&last, 1);
    assert_eq!(computed.load(Ordering::Relaxed), 2);
    dispatcher.enforce_deadlines();
    assert_eq!((dispatcher.waiting(), dispatcher.unanswered()), (0, 0));
}

/// A machine that fails at an item is a device that fails: another one computes the part, and the breaker counts it.
#[test]
fn a_machine_that_fails_at_an_item_is_a_device_that_fails() {
    let drivers = vec![host("one", 1, || None), host("two", 1, || None)];
    let dispatcher = Dispatcher::start(drivers, BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let tries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tries);
    let answers = one(&dispatcher, client, Duration::ZERO, move || {
        match count.fetch_add(1, Ordering::Relaxed) {
            0 => Err(MachineFailed),
            _ => item(),
        }
    });
    let answered = answers.recv_timeout(MINUTE).unwrap();
    assert_eq!(answered.outcome, Ok(Output::Items(vec![item().unwrap()])));
    assert_eq!(tries.load(Ordering::Relaxed), 2);
    let failures = || -> u64 { dispatcher.devices().iter().map(|it| it.failures).sum() };
    until("a failure is counted", || failures() == 1);
    // Without a device that succeeds, its client may try another server.
    let answers = one(&dispatcher, client, Duration::ZERO, || Err(MachineFailed));
    let refusal = answers.recv_timeout(MINUTE).unwrap().outcome.unwrap_err();
    assert_eq!(refusal.code, Code::Unavailable);
    until("two more", || failures() == 3);
}

/// A panic in a computation fails that computation alone: no other device tries it, it counts against none, and its worker
/// goes on. A panic of the device itself is a failure of the device.
#[test]
fn a_panic_fails_a_part_and_no_worker() {
    let panics = Arc::new(AtomicBool::new(false));
    let is_due = Arc::clone(&panics);
    let mishap = move || match is_due.load(Ordering::Relaxed) {
        true => panic!("as planned"),
        false => None,
    };
    let dispatcher = Dispatcher::start(vec![host("one", 1, mishap)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let tries = Arc::new(AtomicUsize::new(0));
    for _ in 0..5 {
        let count = Arc::clone(&tries);
        let answers = one(&dispatcher, client, Duration::ZERO, move || {
            count.fetch_add(1, Ordering::Relaxed);
            panic!("as planned")
        });
        let refusal = answers.recv_timeout(MINUTE).unwrap().outcome.unwrap_err();
        assert_eq!(refusal.code, Code::Internal);
        let message = &refusal.message;
        assert!(message.contains("do not repeat it"), "{message}");
    }
    assert_eq!(tries.load(Ordering::Relaxed), 5);
    until("an idle device", || dispatcher.devices()[0].in_work == 0);
    let status = &dispatcher.devices()[0];
    assert!(status.failures == 0 && !status.is_down, "{status:?}");
    panics.store(true, Ordering::Relaxed);
    let answers = send(&dispatcher, client, 1..2, MINUTE);
    let refusal = answers.recv_timeout(MINUTE).unwrap().1.outcome.unwrap_err();
    assert_eq!(refusal.code, Code::Unavailable);
    panics.store(false, Ordering::Relaxed);
    until("a failure", || dispatcher.devices()[0].failures == 1);

    // What receives an answer may panic, too.
    let (mut pieces, _) = submissions(3..4, MINUTE);
    pieces[0].respond = Box::new(|_, _: &mut Outgoing| panic!("as planned"));
    dispatcher.admit(client, pieces);
    // The only worker goes on.
    assert_all_right(&send(&dispatcher, client, 2..4, MINUTE), 2);
    let answers = one(&dispatcher, client, Duration::ZERO, item);
    assert!(answers.recv_timeout(MINUTE).unwrap().outcome.is_ok());
    assert_eq!((dispatcher.unanswered(), dispatcher.waiting()), (0, 0));
}

/// A trial in which the device computes nothing is no success, and another trial may begin.
#[test]
fn what_is_not_computed_makes_no_device_well() {
    let dispatcher = Dispatcher::start(vec![host("one", 1, || None)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let is_down = || {
        until("an idle device", || dispatcher.devices()[0].in_work == 0);
        dispatcher.devices()[0].is_down
    };
    while !is_down() {
        let answers = one(&dispatcher, client, Duration::ZERO, || Err(MachineFailed));
        assert!(answers.recv_timeout(MINUTE).unwrap().outcome.is_err());
    }
    let cut = |compute: fn() -> Result<Item, MachineFailed>| {
        Batch::cut(vec![()], |()| Duration::ZERO, move |()| compute())
    };
    let over = || {
        let batch = cut(item);
        batch.is_over.store(true, Ordering::Relaxed);
        batch
    };
    let panics = || cut(|| panic!("as planned"));
    for (code, batch) in [
        (Code::Unavailable, &over as &dyn Fn() -> Batch),
        (Code::Internal, &panics),
    ] {
        // Before the trial, the device gets nothing.
        let refusal = oarlock_testing::until_some("a trial", || {
            let answers = one_of(&dispatcher, client, batch());
            let answered = answers.recv_timeout(MINUTE).unwrap();
            answered.device.map(|_| answered.outcome.unwrap_err())
        });
        assert_eq!(refusal.code, code, "{}", refusal.message);
        assert!(is_down(), "{}", refusal.message);
    }
    let answers = one(&dispatcher, client, Duration::ZERO, item);
    assert!(answers.recv_timeout(MINUTE).unwrap().outcome.is_ok());
    assert!(!is_down());
}

/// An item that takes longer than a part may, such as a stanza for the hybrid with 64 versions, keeps no short request
/// waiting on a device of one worker.
#[test]
fn an_item_that_cannot_be_cut_keeps_nobody_waiting() {
    let gate = Gate::closed();
    let dispatcher = Dispatcher::start(vec![host("one", 1, || None)], BOUNDS).unwrap();
    let [slow, modest] = [(); 2].map(|()| dispatcher.add_client(1));
    let held = Arc::clone(&gate);
    let long = one(
        &dispatcher,
        slow,
        Duration::from_micros(64 * 200),
        move || {
            held.pass();
            item()
        },
    );
    until("a worker has it", || dispatcher.waiting() == 0);
    let made = signatures(&dispatcher, modest, &key(), 0..3);
    for _ in 0..3 {
        assert!(made.recv_timeout(MINUTE).unwrap().1.outcome.is_ok());
    }
    assert!(long.try_recv().is_err());
    gate.open();
    assert!(long.recv_timeout(MINUTE).unwrap().outcome.is_ok());
}
