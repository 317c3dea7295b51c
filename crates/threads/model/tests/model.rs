//! The pool's protocol under loom: every interleaving of a few threads. It compiles only those files of the engine that hold
//! the protocol.
#![allow(unsafe_code, dead_code, clippy::unwrap_used)]

#[path = "../../src/pool"]
mod pool {
    pub(crate) mod board;
    pub(crate) mod census;
    pub(crate) mod sync;
    pub(crate) mod tickets;
}

#[path = "../../src/job"]
mod job {
    pub(crate) mod batcher;
    pub(crate) mod entry;
    pub(crate) mod options;
    pub(crate) mod queue;
}

#[path = "../../src/caught.rs"]
mod caught;

#[path = "../../src/once.rs"]
mod once;

#[path = "../../src/prefetch"]
mod prefetch {
    pub(crate) mod slots;
}

/// The functions of the crate that the queue of jobs needs. Forks are not modelled.
mod process {
    pub(crate) fn fork_generation() -> usize {
        0
    }

    pub(crate) fn undivided<T>(section: impl FnOnce() -> T) -> T {
        section()
    }
}

#[path = "model/ending.rs"]
mod ending;

#[derive(Debug, PartialEq)]
enum Error {
    Cancelled,
    DeadlinePassed,
    InvalidInput(String),
    DeviceFailed { device: String, reason: String },
    QueueFull,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

mod jobs {
    use std::sync::Arc;
    use std::time::Duration;

    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::Error;
    use crate::job::batcher::{Batcher, Outcome};
    use crate::job::options::JobOptions;
    use crate::job::queue::Queue;
    use crate::pool::board::Background;

    /// Doubles numbers, up to two at once.
    struct Doubling;

    impl Batcher for Doubling {
        type Work = u32;
        type Output = u32;

        const CLASSES: usize = 1;
        const BATCH_MAX: usize = 2;

        fn class(&self, _: &u32) -> usize {
            0
        }

        fn batch_size(&self, _: usize, waiting: usize) -> usize {
            waiting.min(2)
        }

        fn full_batch(&self, _: usize) -> usize {
            2
        }

        fn cost(&self, _: usize) -> Duration {
            Duration::from_millis(1)
        }

        fn run(&self, _: usize, works: Vec<u32>, answer: &mut dyn FnMut(usize, Outcome<u32>)) {
            for (place, work) in works.into_iter().enumerate() {
                answer(place, Ok(2 * work));
            }
        }
    }

    fn queue() -> Arc<Queue<Doubling>> {
        Arc::new(Queue::new(Doubling, 8, || 1))
    }

    /// Calls as `Jobs::call` does.
    fn call(queue: &Queue<Doubling>, number: u32) -> Outcome<u32> {
        if let Some(_permit) = queue.permit() {
            return Ok(2 * number);
        }
        assert!(queue.reserve());
        let job = queue.enter(number, JobOptions::default(), true);
        queue.wait(&job)
    }

    fn check(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(run);
    }

    fn callers(preemptions: usize, others: u32, calls: u32) {
        check(preemptions, move || {
            let queue = queue();
            let call_all = move |queue: &Queue<Doubling>, caller| {
                for i in 0..calls {
                    let number = 10 * caller + i;
                    assert_eq!(call(queue, number), Ok(2 * number));
                }
            };
            let others: Vec<_> = (1..=others)
                .map(|caller| {
                    let queue = Arc::clone(&queue);
                    thread::spawn(move || call_all(&queue, caller))
                })
                .collect();
            call_all(&queue, 0);
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(queue.waiting(), 0);
        });
    }

    #[test]
    fn callers_who_share_a_permit_all_get_their_results() {
        callers(3, 1, 2);
    }

    #[test]
    fn three_callers_who_share_a_permit_all_get_their_results() {
        callers(2, 2, 1);
    }

    /// Two jobs, one of which is cancelled; a server that runs if it was called; and a caller that waits for one of them.
    #[test]
    fn jobs_are_done_or_cancelled_whoever_comes_first() {
        check(2, || {
            let queue = queue();
            let jobs: Vec<_> = (0..2)
                .map(|number| {
                    assert!(queue.reserve());
                    queue.enter(number, JobOptions::default(), false)
                })
                .collect();
            let server = queue.enlist(1, false).then(|| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || assert!(!queue.work(&mut || true)))
            });
            let canceller = {
                let (queue, job) = (Arc::clone(&queue), Arc::clone(&jobs[1]));
                thread::spawn(move || queue.cancel(&job))
            };
            assert_eq!(queue.wait(&jobs[0]), Ok(0));
            let is_cancelled = canceller.join().unwrap();
            let second = queue.wait(&jobs[1]);
            assert_eq!(
                second,
                if is_cancelled {
                    Err(Error::Cancelled)
                } else {
                    Ok(2)
                }
            );
            server.unwrap().join().unwrap();
            assert_eq!(queue.waiting(), 0);
        });
    }

    /// The pool may have no thread after all, and reports that when a caller waits already.
    #[test]
    fn who_waits_for_a_server_that_does_not_come_does_it() {
        check(3, || {
            let queue = queue();
            assert!(queue.reserve());
            let job = queue.enter(7, JobOptions::default(), false);
            assert!(queue.enlist(1, false));
            let pool = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.refused())
            };
            assert_eq!(queue.wait(&job), Ok(14));
            pool.join().unwrap();
        });
    }

    /// A job enters while the last server leaves.
    #[test]
    fn a_server_that_leaves_does_not_leave_a_job_behind() {
        check(3, || {
            let queue = queue();
            let served = Arc::new(AtomicUsize::new(0));
            let serve = |queue: &Arc<Queue<Doubling>>| {
                queue.enlist(1, false).then(|| {
                    let (queue, served) = (Arc::clone(queue), Arc::clone(&served));
                    thread::spawn(move || {
                        assert!(!queue.work(&mut || true));
                        served.fetch_add(1, Ordering::Relaxed);
                    })
                })
            };
            let enter = |number| {
                assert!(queue.reserve());
                queue.enter(number, JobOptions::default(), false)
            };
            let first = enter(1);
            let servers = [serve(&queue)];
            let second = enter(2);
            let more = serve(&queue);
            for server in servers.into_iter().chain([more]).flatten() {
                server.join().unwrap();
            }
            // No thread has waited or polled.
            assert_eq!((first.take(), second.take()), (Some(Ok(2)), Some(Ok(4))));
            assert!(served.load(Ordering::Relaxed) > 0);
        });
    }
}

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::time::Duration;

use crate::pool::board::{Background, Board, Next, Patience, Sleep, Task};
use crate::pool::tickets::{Role, Tickets};

/// Watches once or not at all: loom explores what happens in between.
struct Looks(usize);

impl Patience for Looks {
    fn begins(&mut self) -> bool {
        self.0 > 0
    }
    fn goes_on(&mut self) -> bool {
        false
    }
    fn was_rewarded(&mut self) {}
    fn was_woken(&mut self) {}
    fn sleep(&mut self) -> Sleep {
        Sleep::Long(Duration::MAX)
    }
}

fn help(board: &Board, looks: usize) -> usize {
    let mut done = 0;
    let mut left = None;
    loop {
        match board.next(left.take(), &mut Looks(looks)) {
            Next::Work(place) => {
                place.work();
                left = Some(place);
                done += 1;
            }
            Next::Background { work, seen } => {
                let more = work.work(&mut || board.version() == seen);
                board.end_background(more.then_some(work));
            }
            Next::Job { work, seen } => {
                let more = work.work(&mut || board.version() == seen);
                board.end_job(more.then_some(work));
            }
            Next::Idle => board.enlist(),
            Next::Closed => return done,
        }
    }
}

/// One request as the pool posts it: `stripes` tickets, each of which must be taken exactly once, and the caller must see
/// what they write when it goes on.
fn request(board: &Board, helpers: usize, stripes: u32) {
    // Not loom's atomics: a write that is not ordered before the caller's read is a race that loom's cells report.
    let written: Vec<loom::cell::UnsafeCell<u32>> = (0..stripes)
        .map(|_| loom::cell::UnsafeCell::new(0))
        .collect();
    struct Shared<'a>(&'a [loom::cell::UnsafeCell<u32>]);
    // SAFETY: each ticket is taken once, which is what the test checks.
    unsafe impl Sync for Shared<'_> {}
    let shared = Shared(&written);
    let tickets = Tickets::new(stripes);
    let share = |role| {
        let shared = &shared;
        while let Some(ticket) = tickets.take(role) {
            // SAFETY: no other thread has this ticket.
            shared.0[ticket as usize].with_mut(|value| unsafe { *value += 1 });
        }
    };
    let as_helper = || share(Role::Helper);
    let task = Task::new(&as_helper);
    // SAFETY: settled below.
    if let Some(lacking) = unsafe { board.post(&task, helpers) } {
        board.wake(lacking.asleep);
        share(Role::Caller);
        board.settle(&task);
    }
    for value in &written {
        // SAFETY: settled, so no thread writes any more.
        assert_eq!(value.with(|value| unsafe { *value }), 1);
    }
}

fn model(callers: usize, helpers: usize, requests: usize, looks: usize, preemptions: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let board = Arc::new(Board::new());
        let crew: Vec<_> = (0..helpers)
            .map(|_| {
                board.enlist();
                let board = Arc::clone(&board);
                thread::spawn(move || help(&board, looks))
            })
            .collect();
        let others: Vec<_> = (1..callers)
            .map(|_| {
                let board = Arc::clone(&board);
                thread::spawn(move || request(&board, 1, 2))
            })
            .collect();
        for _ in 0..requests {
            request(&board, helpers, 2);
        }
        for other in others {
            other.join().unwrap();
        }
        board.close();
        for helper in crew {
            helper.join().unwrap();
        }
    });
}

#[test]
fn one_caller_one_helper_that_sleeps_at_once() {
    model(1, 1, 2, 0, 3);
}

#[test]
fn one_caller_one_helper_that_watches() {
    model(1, 1, 2, 1, 3);
}

#[test]
fn one_caller_two_helpers() {
    model(1, 2, 1, 0, 2);
}

#[test]
fn two_callers_one_helper() {
    model(2, 1, 1, 0, 2);
}

/// Posts a task in which the caller does nothing itself, and returns once a helper has begun it.
fn post_for_a_helper(board: &Board) {
    let begun = AtomicUsize::new(0);
    let work = || {
        begun.fetch_add(1, Ordering::Release);
    };
    let task = Task::new(&work);
    // SAFETY: settled below.
    if let Some(lacking) = unsafe { board.post(&task, 1) } {
        board.wake(lacking.asleep);
        while begun.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        board.settle(&task);
    }
}

/// A helper that is promised a wake-up must get it: with no other thread to do the work, a lost one is a deadlock, which
/// loom reports.
#[test]
fn a_wake_up_is_not_lost() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let board = Arc::new(Board::new());
        board.enlist();
        let helper = {
            let board = Arc::clone(&board);
            thread::spawn(move || help(&board, 0))
        };
        post_for_a_helper(&board);
        board.close();
        assert_eq!(helper.join().unwrap(), 1);
    });
}

/// Background work that never ends by itself.
struct Endless {
    refused: AtomicUsize,
}

impl Background for Endless {
    fn work(&self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        while goes_on() {
            thread::yield_now();
        }
        true
    }

    fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// A helper in background work sees every post, whenever it happens: missing one would keep the helper there forever, which
/// loom reports.
#[test]
fn a_task_is_not_kept_waiting_by_work_in_the_background() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let board = Arc::new(Board::new());
        board.enlist();
        let helper = {
            let board = Arc::clone(&board);
            thread::spawn(move || help(&board, 0))
        };
        let endless = std::sync::Arc::new(Endless {
            refused: AtomicUsize::new(0),
        });
        let lacking = board.post_background(endless.clone(), true);
        board.wake(lacking.asleep);
        post_for_a_helper(&board);
        board.close();
        assert_eq!(helper.join().unwrap(), 1);
        board.refuse_background();
        // It was refused at once, or was left over and is refused at the end.
        assert_eq!(endless.refused.load(Ordering::Relaxed), 1);
        assert_eq!(std::sync::Arc::strong_count(&endless), 1);
    });
}

/// A ring of `slots` granules that hold their own position, as loom's cells, which report a read or a write that is not
/// ordered against another thread's write.
struct Ring {
    slots: crate::prefetch::slots::Slots,
    memory: Vec<loom::cell::UnsafeCell<(u128, u64)>>,
}

// SAFETY: whether each cell belongs to one thread at a time is what the test checks.
unsafe impl Sync for Ring {}
// SAFETY: plain numbers.
unsafe impl Send for Ring {}

impl Ring {
    fn new(slots: usize, segment: usize) -> Self {
        Self {
            slots: crate::prefetch::slots::Slots::new(slots, segment),
            memory: (0..slots)
                .map(|_| loom::cell::UnsafeCell::new((0, 0)))
                .collect(),
        }
    }

    fn fill(&self, pieces: usize) {
        let mut cursor = crate::prefetch::slots::Cursor::default();
        for _ in 0..pieces {
            let Some(claim) = self.slots.next(&mut cursor) else {
                return;
            };
            // SAFETY: the claim makes the cell this thread's.
            self.memory[claim.slot].with_mut(|cell| unsafe { *cell = (claim.base, claim.index) });
            self.slots.publish(&claim);
        }
    }

    /// Consumes `granules` granules from the start of an epoch.
    fn consume(&self, base: u128, granules: u64) {
        let first = self.slots.restart(base);
        self.consume_from(first, base, granules);
    }

    fn consume_from(&self, first: u64, base: u128, granules: u64) {
        for index in 0..granules {
            let number = first + index;
            self.slots.claim(number + 1);
            if self.slots.is_ready(number) {
                let slot = self.slots.slot(number);
                // SAFETY: it is ready and not released.
                let found = self.memory[slot].with(|cell| unsafe { *cell });
                assert_eq!(found, (base, index));
            }
            self.slots.release(number + 1);
        }
    }
}

/// Explores `run` with a bound. Without one it runs for hours; with one more preemption than each test asks for, for
/// minutes.
fn of_a_ring(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

#[test]
fn what_is_ready_is_what_was_asked_for_whatever_epoch_helpers_are_in() {
    // One preemption takes a second; two take half a minute, which is for the long form (xtask/src/ci.rs).
    let preemptions = match std::env::var("OARLOCK_MODEL_PREEMPTIONS") {
        Ok(preemptions) => preemptions.parse().unwrap(),
        Err(_) => 1,
    };
    of_a_ring(preemptions, || {
        let ring = Arc::new(Ring::new(2, 1));
        let helper = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || ring.fill(2))
        };
        ring.consume(7, 1);
        ring.consume(u128::MAX - 1, 2);
        helper.join().unwrap();
    });
}

/// Runs two helpers and a consumer, which runs `consume` with the epoch that began at 1.
fn two_helpers(preemptions: usize, consume: fn(&Ring, u64)) {
    of_a_ring(preemptions, move || {
        let ring = Arc::new(Ring::new(2, 2));
        let first = ring.slots.restart(1);
        let helpers: Vec<_> = (0..2)
            .map(|_| {
                let ring = Arc::clone(&ring);
                thread::spawn(move || ring.fill(1))
            })
            .collect();
        consume(&ring, first);
        for helper in helpers {
            helper.join().unwrap();
        }
    });
}

#[test]
fn two_helpers_never_fill_the_same_slot_at_once() {
    two_helpers(3, |ring, first| ring.consume_from(first, 1, 1));
}

#[test]
fn two_helpers_of_different_epochs_never_fill_the_same_slot_at_once() {
    two_helpers(1, |ring, _| ring.consume(9, 1));
}

mod one_answer {
    use std::sync::Arc;
    use std::task::{Poll, Wake, Waker};

    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use crate::once::Slot;

    /// A request, and the number of the party that answered it.
    type One = Slot<&'static str, u32>;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A device answers twice; the watch takes the request away and another device answers it; the caller waits.
    #[test]
    fn one_of_two_attempts_answers_and_who_waits_is_woken() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let slot = Arc::new(One::default());
            let answers = Arc::new(AtomicUsize::new(0));
            let woken = Arc::new(Count(AtomicUsize::new(0)));
            let answer = {
                let (slot, answers) = (Arc::clone(&slot), Arc::clone(&answers));
                move |attempt| {
                    if slot.claim(attempt).is_some() {
                        answers.fetch_add(1, Ordering::Relaxed);
                        slot.finish(attempt).into_iter().for_each(Waker::wake);
                    }
                }
            };
            let first = slot.put("request");
            let device = {
                let answer = answer.clone();
                thread::spawn(move || {
                    answer(first);
                    answer(first);
                })
            };
            let watch = {
                let slot = Arc::clone(&slot);
                thread::spawn(move || {
                    if let Some(request) = slot.claim(first) {
                        let second = slot.put(request);
                        assert!(second > first);
                        answer(second);
                    }
                })
            };
            let waker = Waker::from(Arc::clone(&woken));
            let early = slot.take_or_leave(&mut Some(waker));
            device.join().unwrap();
            watch.join().unwrap();
            assert_eq!(answers.load(Ordering::Relaxed), 1);
            match early {
                Poll::Ready(answer) => assert!(answer.is_some()),
                Poll::Pending => {
                    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
                    assert!(slot.take().is_some());
                }
            }
            assert!(slot.take().is_none() && slot.claim_any().is_none());
        });
    }

    /// The caller cancels while a device answers.
    #[test]
    fn a_request_is_answered_or_cancelled_and_never_both() {
        loom::model(|| {
            let slot = Arc::new(One::default());
            let first = slot.put("request");
            let device = {
                let slot = Arc::clone(&slot);
                thread::spawn(move || {
                    let is_mine = slot.claim(first).is_some();
                    if is_mine {
                        drop(slot.finish(1));
                    }
                    is_mine
                })
            };
            let is_cancelled = slot.claim_any().is_some();
            if is_cancelled {
                drop(slot.finish(0));
            }
            assert_ne!(device.join().unwrap(), is_cancelled);
            assert_eq!(slot.take(), Some(u32::from(!is_cancelled)));
        });
    }
}
