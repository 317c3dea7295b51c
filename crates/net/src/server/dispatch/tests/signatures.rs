//! Signatures that workers compute themselves.

use oarlock::keys::{Curve, KeyType, PrivateKey, Scheme};

use super::super::super::signature::Signature;
use super::*;

/// Returns work for the signature of a digest that begins with `number`.
fn work(key: &PrivateKey, number: u8) -> Work {
    let signature = Signature::new(
        key,
        Scheme::Ecdsa(oarlock::rsa::Hash::Sha256),
        &digest(number),
    );
    Work::Signature(Box::new(signature.unwrap()))
}

fn digest(number: u8) -> [u8; 32] {
    let mut digest = [7; 32];
    digest[0] = number;
    digest
}

pub(super) fn key() -> PrivateKey {
    PrivateKey::generate(KeyType::Ec(Curve::P256)).unwrap()
}

pub(super) fn signatures(
    dispatcher: &Dispatcher,
    client: ClientId,
    key: &PrivateKey,
    numbers: std::ops::Range<u8>,
) -> mpsc::Receiver<(u8, Answered)> {
    let (sender, receiver) = mpsc::channel();
    let submissions = numbers.map(|number| {
        let sender = sender.clone();
        Submission {
            work: work(key, number),
            origin: Origin::Server,
            is_urgent: false,
            deadline: Instant::now() + MINUTE,
            respond: Box::new(move |answered, _: &mut Outgoing| {
                let _ = sender.send((number, answered));
            }),
            others: Vec::new(),
            is_over: None,
        }
    });
    dispatcher.admit(client, submissions);
    receiver
}

pub(super) fn host(
    name: &'static str,
    workers: usize,
    mishap: impl Fn() -> Option<DeviceError> + Send + Sync + 'static,
) -> DeviceWorkers {
    DeviceWorkers {
        is_host: true,
        ..driver(name, workers, mishap)
    }
}

/// The clients also send powers, which the board may compute too.
#[test]
fn workers_of_this_machine_make_them_and_no_others() {
    let drivers = vec![host("host", 2, || None), driver("board", 1, || None)];
    let dispatcher = Dispatcher::start(drivers, BOUNDS).unwrap();
    let clients = [1, 3].map(|weight| dispatcher.add_client(weight));
    let key = key();
    let made = clients.map(|client| signatures(&dispatcher, client, &key, 0..200));
    let powers = clients.map(|client| send(&dispatcher, client, 0..100, MINUTE));
    for made in &made {
        let mut seen = [false; 200];
        for _ in 0..200 {
            let (number, answered) = made.recv_timeout(MINUTE).unwrap();
            assert_eq!(answered.device.as_deref(), Some("host"));
            let signature = bytes(answered.outcome.unwrap());
            let scheme = Scheme::Ecdsa(oarlock::rsa::Hash::Sha256);
            let verified = key
                .public_key()
                .verify_digest(&scheme, &digest(number), &signature);
            assert_eq!(verified, Ok(()));
            assert!(!std::mem::replace(&mut seen[usize::from(number)], true));
        }
    }
    for powers in &powers {
        assert_all_right(powers, 100);
    }
    assert_eq!((dispatcher.unanswered(), dispatcher.waiting()), (0, 0));
}

#[test]
fn without_a_device_of_this_machine_they_are_refused() {
    let dispatcher = Dispatcher::start(vec![driver("board", 1, || None)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let refused = signatures(&dispatcher, client, &key(), 0..1);
    let refusal = refused.recv().unwrap().1.outcome.unwrap_err();
    assert_eq!(refusal.code, Code::Unimplemented);
    assert!(refusal.message.contains("P-256"), "{}", refusal.message);
    assert_all_right(&send(&dispatcher, client, 0..10, MINUTE), 10);
}

/// Signatures that queue up while the only worker is held up are then taken several at once.
#[test]
fn several_that_wait_are_taken_at_once() {
    let (gate, hangs) = Gate::held();
    let dispatcher = Dispatcher::start(vec![host("one", 1, hangs)], BOUNDS).unwrap();
    let client = dispatcher.add_client(1);
    let power = send(&dispatcher, client, 5..6, MINUTE);
    let waiting = signatures(&dispatcher, client, &key(), 0..64);
    gate.open();
    for _ in 0..64 {
        assert!(waiting.recv_timeout(MINUTE).unwrap().1.outcome.is_ok());
    }
    assert_all_right(&power, 1);
    let batches = &dispatcher.devices()[0].batches;
    let most = batches.iter().rposition(|count| *count > 0);
    assert_eq!(most, Some(8), "{batches:?}");
}
