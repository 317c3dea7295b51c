//! Long requests together with short ones.

use super::super::queue::Queue;
use super::super::state::Lane;
use super::super::task::Task;
use super::queue::task_of;
use super::*;

/// A device that computes short requests with aws-lc. Long ones wait at the gate, and return zeros.
struct Gated(Arc<Gate>, SoftwareDevice);

impl BlockingDevice for Gated {
    fn name(&self) -> &str {
        "gated"
    }

    fn offer_public_key(&self, _: &Shape) -> Option<PublicKeyOffer> {
        Some(PublicKeyOffer {
            latency: Duration::from_millis(1),
            per_second: 1000.0,
        })
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        if batch[0].shape().modulus_bits < 4096 {
            return self.1.run_public_key(batch, answer);
        }
        self.0.pass();
        for place in 0..batch.len() {
            answer(place, Ok(vec![0; 512].into()));
        }
    }
}

/// Creates powers of 4096 bits with an exponent of `bytes`.
fn long(requests: usize, bytes: usize) -> (Vec<Submission>, mpsc::Receiver<Answered>) {
    let (sender, receiver) = mpsc::channel();
    let submission = |_| {
        let (sender, base) = (sender.clone(), Base::from(&[3]));
        let (modulus, exponent) = (vec![0xff; 512], vec![0xff; bytes]);
        let order = ByteOrder::BigEndian;
        let request = PublicKeyRequest::power(&modulus, base, &exponent, order).unwrap();
        Submission {
            work: Work::Request(Box::new(request)),
            origin: Origin::Client,
            is_urgent: false,
            deadline: Instant::now() + MINUTE,
            respond: Box::new(move |answered, _: &mut Outgoing| {
                let _ = sender.send(answered);
            }),
            others: Vec::new(),
            is_over: None,
        }
    };
    ((0..requests).map(submission).collect(), receiver)
}

/// Covers a device on this machine with one worker and with several, and a separate device with several; and both the
/// longest exponents that a client may send and those of a key without primes.
#[test]
fn long_requests_keep_no_short_one_waiting() {
    for (workers, is_host) in [(1, true), (2, true), (2, false), (4, false)] {
        for bytes in [1024, 512] {
            let gate = Gate::closed();
            let driver = DeviceWorkers {
                device: Arc::new(Gated(Arc::clone(&gate), SoftwareDevice::new())),
                workers,
                is_host,
            };
            let dispatcher = Dispatcher::start(vec![driver], BOUNDS).unwrap();
            let [hostile, victim] = [1, 1].map(|weight| dispatcher.add_client(weight));
            let (submissions, answers) = long(3 * workers, bytes);
            dispatcher.admit(hostile, submissions);
            let has_begun = || dispatcher.waiting() < 3 * workers;
            until("a long request in work", has_begun);
            for exponent in 0..20 {
                let answer = send(&dispatcher, victim, exponent..exponent + 1, MINUTE);
                let what = format!("{workers} workers, {is_host}, {bytes} bytes");
                let (_, answered) = answer.recv_timeout(MINUTE / 4).expect(&what);
                assert!(answered.outcome.is_ok(), "{what}");
            }
            assert!(answers.try_recv().is_err());
            gate.open();
            let answered = (0..3 * workers).map(|_| answers.recv_timeout(MINUTE).unwrap());
            assert!(
                answered
                    .into_iter()
                    .all(|answered| answered.outcome.is_ok())
            );
        }
    }
}

/// A queue that is fair by the number of requests would give the long ones a hundred times the time. The clock counts served
/// work: a short request takes 1, a long one 100.
#[test]
fn clients_of_long_requests_get_their_share_of_time_and_no_more() {
    const LONG: u32 = 100;
    for clients_of_long in [1, 3] {
        let mut queue = Queue::default();
        let short = queue.add_client(1);
        let long: Vec<_> = (0..clients_of_long).map(|_| queue.add_client(1)).collect();
        for number in 0..10_000 {
            queue.push(task_of(number, short, 0, false), false);
            queue.push(
                task_of(number, long[number as usize % clients_of_long], 1, true),
                false,
            );
        }
        let mut served = vec![0; 1 + clients_of_long];
        let mut take = |lane: Lane| {
            let is_of = |task: &Task| task.is_long == (lane == Lane::Aside);
            let batch = queue.take(
                |task| lane == Lane::Aside && !is_of(task),
                is_of,
                |_| 0,
                |_, _| 1,
                |shape| Duration::from_millis(if shape == 1 { LONG.into() } else { 1 }),
                |_| false,
            );
            let task = batch.first()?;
            served[task.client] += if task.is_long { LONG } else { 1 };
            Some(())
        };
        // The worker for short requests takes one in each tick; the one for long requests tries whenever it is free.
        let mut is_free_at = 0;
        for tick in 0..6000 {
            take(Lane::Main).unwrap();
            if tick >= is_free_at && take(Lane::Aside).is_some() {
                is_free_at = tick + LONG;
            }
        }
        let (of_short, of_long) = served.split_first().unwrap();
        assert_eq!(*of_short, 6000);
        for of_long in of_long {
            let share = 6000 / clients_of_long.max(1) as u32;
            assert!(
                (share - 2 * LONG..=6000 + 2 * LONG).contains(of_long),
                "{served:?}"
            );
        }
    }
}

#[test]
fn a_client_pays_for_the_time_that_its_requests_took() {
    let millisecond = |_| Duration::from_millis(1);
    let mut queue = Queue::default();
    let [cheap, dear] = [1, 1].map(|weight| queue.add_client(weight));
    for number in 0..20 {
        queue.push(task_of(number, cheap, 0, false), false);
        queue.push(task_of(100 + number, dear, 0, false), false);
    }
    let mut served = [0; 2];
    for _ in 0..12 {
        let batch = queue.take(|_| false, |_| true, |_| 0, |_, _| 1, millisecond, |_| false);
        let client = batch[0].client;
        served[client] += 1;
        // Both were expected to take a millisecond.
        let took = if client == dear { 2500 } else { 500 };
        queue.settle(client, millisecond(0), Duration::from_micros(took));
    }
    assert_eq!(served, [10, 2]);
}
