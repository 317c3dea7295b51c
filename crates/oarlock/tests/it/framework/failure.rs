//! Devices that fail, stall, return wrong results, answer twice or too late, and leave: each request is answered once, and
//! correctly.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oarlock::device::{DeviceError, EngineBoard, Fault, SimulatedEngine, When};
use oarlock::framework::{
    Answer, Blocking, BlockingDevice, BreakerState, Check, Device, Framework, FrameworkSession, Iv,
    Layout, Place, QueueOffer, Request, Service, SessionSpec, Task,
};
use oarlock::job::{CompletionQueue, Job, Order, QueueFull};
use oarlock::{Algorithm, Direction, Error};
use oarlock_testing::{alone, until};

use super::{engine, faulty, quick, references, with_board};
use crate::child::{end_of, fork, leave};
use crate::common::accelerator;

const KEY: [u8; 16] = [5; 16];
const IV: [u8; 12] = [9; 12];

/// Opens a session whose messages are numbered, so that a lost, doubled or changed one shows.
fn session(framework: &Framework) -> FrameworkSession {
    let spec = SessionSpec::aead(Algorithm::Aes128Gcm, &KEY, &IV);
    framework.session(&spec).unwrap()
}

const BYTES: usize = 500;

fn submit(session: &FrameworkSession) -> Job<Answer> {
    let data = [vec![7; BYTES], vec![0; 16]].concat();
    session
        .submit(Request::encrypt(data).at(Place::Device))
        .unwrap()
}

/// Returns message `number` of the session, sealed.
fn sealed(number: u64) -> Vec<u8> {
    let mut nonce = IV;
    let low = nonce[4..].iter_mut().zip(number.to_be_bytes());
    low.for_each(|(byte, number)| *byte ^= number);
    let mut data = vec![7; BYTES];
    let tag = references::seal(Algorithm::Aes128Gcm, &KEY, &nonce, &[], &mut data);
    [data, tag].concat()
}

#[track_caller]
fn assert_sealed(answer: Answer, number: u64) -> String {
    assert_eq!(answer.outcome, Ok(()));
    assert!(
        answer.buffers.into_output() == sealed(number),
        "message {number}"
    );
    answer.device.to_string()
}

#[test]
fn whatever_goes_wrong_every_request_is_answered_once_and_rightly() {
    for (fault, is_breach) in [
        (Fault::Error, false),
        (Fault::NoAnswer, false),
        (Fault::Half, false),
        (Fault::Reset(Duration::ZERO), false),
        (Fault::WrongResult, true),
        (Fault::Overrun, true),
    ] {
        let board = faulty(&[(fault, When::Every(5))]);
        let (framework, board) = with_board(board, Check::All);
        let session = session(&framework);
        for number in 0..20 {
            let device = assert_sealed(submit(&session).wait().unwrap(), number);
            // A device that breaks the contract is avoided for a second.
            let is_trusted = !is_breach || number < 4;
            if number % 5 != 4 && is_trusted {
                assert_eq!(device, "board", "{fault:?} {number}");
            } else if number == 4 {
                assert_eq!(device, "cpu", "{fault:?} {number}");
            }
        }
        let counts = framework.health()["board"].counts;
        assert_eq!(counts.breaches > 0, is_breach, "{fault:?}: {counts:?}");
        assert_eq!(counts.failed > 0, !is_breach, "{fault:?}: {counts:?}");
        assert_eq!(counts.given, board.admitted());
        assert_eq!(framework.in_flight(), 0);
    }
}

#[test]
fn a_second_answer_is_none() {
    let (framework, _board) = with_board(
        faulty(&[(Fault::TwoAnswers, When::Every(1))]),
        Check::Sample(0),
    );
    let session = session(&framework);
    for number in 0..10 {
        assert_eq!(
            assert_sealed(submit(&session).wait().unwrap(), number),
            "board"
        );
    }
    let counts = || framework.health()["board"].counts;
    until("every second answer was given", || counts().late == 10);
    assert_eq!(counts().done, 10);
}

#[test]
fn a_request_that_hangs_goes_elsewhere_and_its_late_answer_changes_nothing() {
    let (framework, board) = with_board(faulty(&[(Fault::Hang, When::Every(2))]), Check::Sample(0));
    let session = session(&framework);
    let answers: Vec<_> = (0..6)
        .map(|number| (number, submit(&session).wait().unwrap()))
        .collect();
    assert!(board.hanging() > 0);
    // The answers arrive while the board still has the requests.
    board.release();
    for (number, answer) in answers {
        assert_sealed(answer, number);
    }
    let counts = framework.health()["board"].counts;
    assert!(
        counts.stalled > 0 && counts.late == counts.stalled,
        "{counts:?}"
    );
}

#[test]
fn a_late_answer_of_a_stalled_device_does_not_write_into_what_the_caller_has_by_then() {
    let held = Arc::new(Holder::default());
    let framework = Framework::new(&accelerator());
    framework.register(held.clone(), Check::Sample(0)).unwrap();
    let session = session(&framework);
    let answer = submit(&session).wait().unwrap();
    assert_eq!(&*answer.device, "cpu");
    let buffers = answer.buffers.clone();
    let mut task = held.0.lock().unwrap().pop().unwrap();
    task.data_mut().fill(0xbb);
    task.complete(Ok(()));
    assert_eq!(answer.buffers, buffers);
    assert_sealed(answer, 0);
    assert_eq!(framework.health()["holder"].counts.late, 1);
}

/// A device that accepts everything and answers nothing.
#[derive(Default)]
struct Holder(Mutex<Vec<Task>>);

fn offer() -> QueueOffer {
    QueueOffer {
        latency: Duration::ZERO,
        per_request: Duration::ZERO,
        key_setup: Duration::ZERO,
        bytes_per_second: 1_000_000_000_000,
    }
}

impl Device for Holder {
    fn name(&self) -> &str {
        "holder"
    }
    fn depth(&self) -> usize {
        8
    }
    fn offer(&self, _: Service) -> Option<QueueOffer> {
        Some(offer())
    }
    fn submit(&self, task: Task) -> Result<(), Task> {
        self.0.lock().unwrap().push(task);
        Ok(())
    }
}

#[test]
fn a_device_that_keeps_failing_is_left_alone_and_tried_again() {
    // The device recovers after its fifth request.
    let faults: Vec<_> = (1..=5)
        .map(|number| (Fault::Error, When::Once(number)))
        .collect();
    let (framework, board) = with_board(faulty(&faults), Check::Sample(0));
    let session = session(&framework);
    let mut number = 0;
    let mut next = || {
        let device = assert_sealed(submit(&session).wait().unwrap(), number);
        number += 1;
        device
    };
    for _ in 0..3 {
        assert_eq!(next(), "cpu");
    }
    let state = || framework.health()["board"].state;
    assert_ne!(state(), BreakerState::Closed);
    until("the board is trusted again", || {
        next();
        state() == BreakerState::Closed
    });
    assert_eq!(next(), "board");
    let counts = framework.health()["board"].counts;
    assert_eq!((counts.failed, counts.opened), (5, 3));
    assert!(board.admitted() > 8);
}

#[test]
fn a_trial_that_is_cancelled_is_followed_by_another() {
    let held = Arc::new(Holder::default());
    let framework = Framework::new(&accelerator());
    framework.register(held.clone(), Check::Sample(0)).unwrap();
    let session = session(&framework);
    let next_task = || held.0.lock().unwrap().pop();
    let mut number = 0;
    for _ in 0..3 {
        let job = submit(&session);
        let task = next_task().unwrap();
        task.complete(Err(DeviceError("burnt".into())));
        assert_eq!(assert_sealed(job.wait().unwrap(), number), "cpu");
        number += 1;
    }
    let health = || framework.health()["holder"];
    assert_eq!(health().state, BreakerState::Open);
    for is_cancelled in [true, false] {
        let (mut task, mut job) = (None, None);
        until("the device gets a trial", || {
            job = Some(submit(&session));
            task = next_task();
            number += 1;
            task.is_some()
        });
        if is_cancelled {
            assert!(job.take().unwrap().cancel());
        }
        assert_eq!(health().state, BreakerState::HalfOpen);
        task.unwrap().complete(Err(DeviceError("burnt".into())));
        if let Some(job) = job {
            assert_sealed(job.wait().unwrap(), number - 1);
        }
    }
    assert_eq!((health().counts.late, health().counts.opened), (1, 2));
}

#[test]
fn health_outlives_sessions_and_registrations() {
    let faults: Vec<_> = (1..=3)
        .map(|number| (Fault::WrongResult, When::Once(number)))
        .collect();
    let (framework, _board) = with_board(faulty(&faults), Check::All);
    assert_sealed(submit(&session(&framework)).wait().unwrap(), 0);
    assert_eq!(framework.health()["board"].state, BreakerState::Open);
    assert!(framework.withdraw("board"));
    assert!(!framework.withdraw("board"));
    let again = engine("board", quick());
    framework.register(again.clone(), Check::Sample(0)).unwrap();
    // Avoided for a second.
    let answer = submit(&session(&framework)).wait().unwrap();
    assert_eq!((&*answer.device, again.admitted()), ("cpu", 0));
    assert_eq!(framework.health()["board"].counts.breaches, 1);
}

/// Returns a board that needs an hour for a request.
fn slow() -> EngineBoard {
    EngineBoard {
        latency: Duration::from_secs(3600),
        ..quick()
    }
}

#[test]
fn what_a_device_has_when_it_leaves_goes_elsewhere() {
    let (framework, board) = with_board(slow(), Check::Sample(0));
    let session = session(&framework);
    let jobs: Vec<_> = (0..20).map(|_| submit(&session)).collect();
    assert_eq!(board.admitted(), 20);
    assert!(jobs.iter().all(|job| !job.is_finished()));
    assert!(framework.withdraw("board"));
    for (number, job) in (0..).zip(jobs) {
        assert_eq!(assert_sealed(job.wait().unwrap(), number), "cpu");
    }
    // The board answers all of them now, but nobody waits for it.
    board.kill();
    assert_eq!(framework.health()["board"].counts.late, 20);
}

#[test]
fn devices_come_and_go_a_thousand_times_under_load() {
    let framework = Framework::new(&accelerator());
    let numbers = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let session = session(&framework);
            let numbers = &numbers;
            scope.spawn(move || {
                let mut number = 0;
                while numbers.load(Ordering::Relaxed) < 1000 {
                    let jobs: Vec<_> = (0..8).map(|_| submit(&session)).collect();
                    for job in jobs {
                        assert_sealed(job.wait().unwrap(), number);
                        number += 1;
                    }
                }
            });
        }
        for number in 0..1000 {
            let name = ["one", "two"][number % 2];
            framework.withdraw(name);
            framework
                .register(engine(name, quick()), Check::Sample(8))
                .unwrap();
            numbers.store(number + 1, Ordering::Relaxed);
        }
    });
    assert_eq!(framework.in_flight(), 0);
}

#[test]
fn a_queue_that_is_full_gives_the_request_back_whole() {
    let framework = Framework::with_in_flight_max(&accelerator(), 2);
    let board = engine("board", slow());
    framework.register(board.clone(), Check::Sample(0)).unwrap();
    let session = session(&framework);
    let jobs = [submit(&session), submit(&session)];
    let data = [vec![7; BYTES], vec![0; 16]].concat();
    let request = Request::encrypt(data);
    let QueueFull(back) = session.submit(request.clone()).unwrap_err();
    assert_eq!(back, request);
    // The refused request has used no nonce.
    assert_eq!(session.next_number(), Some(2));
    board.kill();
    for (number, job) in (0..).zip(jobs) {
        assert_sealed(job.wait().unwrap(), number);
    }
    let answer = session.submit(back).unwrap().wait().unwrap();
    assert_sealed(answer, 2);
}

#[test]
fn a_device_that_is_full_hands_on() {
    let full = EngineBoard { depth: 3, ..slow() };
    let (framework, board) = with_board(full, Check::Sample(0));
    let session = session(&framework);
    let jobs: Vec<_> = (0..10).map(|_| submit(&session)).collect();
    board.kill();
    for (number, job) in (0..).zip(jobs) {
        assert_eq!(assert_sealed(job.wait().unwrap(), number), "cpu");
    }
    assert_eq!(board.admitted(), 3);
}

#[test]
fn a_job_that_is_cancelled_gives_its_data_back_and_its_place() {
    let (framework, board) = with_board(slow(), Check::Sample(0));
    let session = session(&framework);
    let job = submit(&session);
    assert!(job.cancel());
    assert_eq!(framework.in_flight(), 0);
    let answer = job.wait().unwrap();
    assert_eq!(answer.outcome, Err(Error::Cancelled));
    assert_eq!(
        answer.buffers.into_output(),
        [vec![7; BYTES], vec![0; 16]].concat()
    );
    drop(submit(&session));
    assert_eq!(framework.in_flight(), 0);
    board.kill();
    assert_eq!(framework.health()["board"].counts.late, 2);
}

#[test]
fn a_framework_that_goes_answers_what_is_in_flight() {
    let (framework, board) = with_board(slow(), Check::Sample(0));
    let session = session(&framework);
    let jobs: Vec<_> = (0..5).map(|_| submit(&session)).collect();
    drop(framework);
    assert!(
        jobs.iter().all(|job| !job.is_finished()),
        "the session keeps it"
    );
    drop(session);
    for job in jobs {
        let answer = job.wait().unwrap();
        assert_eq!(answer.outcome, Err(Error::Cancelled));
        assert_eq!(answer.buffers.len(), BYTES + 16);
    }
    board.kill();
}

#[test]
fn results_come_in_order_or_as_they_finish_to_whoever_polls_a_descriptor() {
    let late = faulty(&[(Fault::Late(Duration::from_millis(2)), When::Every(3))]);
    for order in [Order::Submission, Order::Completion] {
        let (framework, _board) = with_board(late.clone(), Check::Sample(0));
        let session = session(&framework);
        let mut queue = CompletionQueue::new(order);
        for number in 0..30 {
            queue.push(submit(&session), number);
        }
        let mut numbers = Vec::new();
        while !queue.is_empty() {
            let event = queue.event_fd().unwrap();
            let mut polled = [rustix::event::PollFd::new(
                &event,
                rustix::event::PollFlags::IN,
            )];
            assert_eq!(rustix::event::poll(&mut polled, None).unwrap(), 1);
            while let Some((number, answer)) = queue.try_next() {
                assert_sealed(answer.unwrap(), number);
                numbers.push(number);
            }
        }
        if order == Order::Completion {
            numbers.sort_unstable();
        }
        assert_eq!(numbers, (0..30).collect::<Vec<_>>());
    }
}

#[test]
fn a_callback_gets_what_a_device_made() {
    let (framework, _board) = with_board(quick(), Check::Sample(0));
    let session = session(&framework);
    let (sender, answers) = std::sync::mpsc::channel();
    for number in 0..10 {
        let sender = sender.clone();
        submit(&session).on_completion(move |answer| sender.send((number, answer)).unwrap());
    }
    drop(sender);
    for (number, answer) in answers {
        assert_sealed(answer.unwrap(), number);
    }
}

/// A device that misbehaves as its name says.
struct Odd(&'static str, SimulatedEngine);

impl BlockingDevice for Odd {
    fn name(&self) -> &str {
        self.0
    }
    fn capacity(&self) -> usize {
        1
    }
    fn offer(&self, _: Service) -> Option<QueueOffer> {
        Some(offer())
    }
    fn run(&self, mut task: Task) {
        match self.0 {
            "panics" => panic!("a driver's panic, which is expected"),
            "drops" => drop(task),
            "empties" => task.complete_power(Ok(Default::default())),
            "lengthens" => task.complete_power(Ok(vec![0; 5000].into())),
            "overruns" => {
                let bytes = task.bytes();
                task.memory()[bytes] ^= 1;
                task.complete(Ok(()));
            }
            _ => {
                if self.1.submit(task).is_ok() {
                    while self.1.poll().is_some() {}
                }
            }
        }
    }
}

#[test]
fn drivers_without_a_queue_may_do_anything_too() {
    for (name, is_right) in [
        ("works", true),
        ("panics", false),
        ("drops", false),
        ("empties", false),
        ("lengthens", false),
        ("overruns", false),
    ] {
        let framework = Framework::new(&accelerator());
        let inner = SimulatedEngine::new("inner", quick(), oarlock::device::visible_cpu().unwrap());
        let device = Blocking::new(Arc::new(Odd(name, inner.unwrap())));
        framework
            .register(Arc::new(device), Check::Sample(0))
            .unwrap();
        let session = session(&framework);
        let mut answered = 0;
        for number in 0..6 {
            let device = assert_sealed(submit(&session).wait().unwrap(), number);
            answered += u64::from(device == name);
        }
        let counts = framework.health()[name].counts;
        assert_eq!((counts.done, answered > 0), (answered, is_right), "{name}");
        // Printing a panic takes long enough to count as a stall.
        let faults = counts.failed + counts.breaches + counts.stalled;
        assert!(is_right || faults > 0, "{name}");
    }
}

#[test]
#[allow(unsafe_code)]
fn a_forked_child_is_told_and_its_parent_goes_on() {
    if alone(&[]) {
        return;
    }
    let (framework, board) = with_board(slow(), Check::Sample(0));
    let session = session(&framework);
    let job = submit(&session);
    // SAFETY: the child calls nothing that depends on another of the parent's threads, as is to be shown, and leaves.
    let child = unsafe { fork() };
    if child == 0 {
        let is_told = job.is_finished()
            && matches!(job.wait(), Err(Error::Cancelled))
            && matches!(
                submit(&session).wait().unwrap().outcome,
                Err(Error::InvalidInput(_))
            )
            && session
                .run(
                    Direction::Encrypt,
                    Iv::Next,
                    Layout::packet(0, 0),
                    &mut [0; 16],
                )
                .is_err();
        drop(session);
        drop(framework);
        drop(board);
        leave(i32::from(!is_told));
    }
    assert_eq!(end_of(child), 0);
    board.kill();
    assert_sealed(job.wait().unwrap(), 0);
}
