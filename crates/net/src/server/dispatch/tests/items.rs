//! Parts of requests with several items.

use zeroize::Zeroizing;

use super::super::super::items::{Batch, Item, Piece};
use super::signatures::{host, key, signatures};
use super::*;

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
            Item {
                outcome: Ok(Zeroizing::new(vec![1])),
                version: 0,
            }
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
        }
    });
    dispatcher.admit(client, submissions);
    count
}

/// A client with many parts and one with a signature share a worker. The signature waits for one part, not for the batch.
#[test]
fn a_batch_delays_others_by_one_part() {
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
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
    let gate = Arc::new(Gate(Mutex::new(true), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    let hangs = move || {
        held.pass();
        None
    };
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
