//! The protocol by which jobs wait and threads compute them. docs/internals/jobs.md argues that no job is left behind;
//! model/tests/model.rs checks it with loom.
//!
//! Jobs of one class can be computed together, as a group: a free thread takes the number of waiting jobs that pays best.
//! That is all the batching there is. There are two kinds of free thread:
//!
//! ```text
//! server   a pool thread that was called. Takes group after group until no job waits
//! leader   a thread that waits for its own job, or polls it where there are no servers. Takes one
//!          group, with its own job in it, and lets another waiter lead after it
//! ```
//!
//! At most one caller for each CPU computes at a time, each with a permit. The others sleep until another thread has
//! computed their job, or until a permit is free and they are woken. The permit is not reserved for them: a caller that is
//! awake and comes first takes it, or the CPU would idle until the sleeper runs. A caller that finds a permit at once,
//! before its request is in the queue, computes it alone, without delay.
//!
//! The thread that claims a job must answer it, so each job is resolved once (`once.rs`). Locks are taken in one order: the
//! backlog's, then a job's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::Error;
use crate::once::wake;
use crate::pool::board::Background;
use crate::pool::sync::{self, Mutex, Parker};
use crate::process;

use super::batcher::{Batcher, Outcome};
use super::entry::Entry;
use super::options::JobOptions;

/// A queue of jobs that no thread has begun.
pub struct Queue<B: Batcher> {
    /// Computes the jobs.
    pub batcher: B,
    backlog: Mutex<Backlog<B>>,
    jobs_max: usize,
    /// Returns how many callers may compute at once. Called when that is first needed, and without the backlog's lock.
    permits: fn() -> usize,
}

struct Backlog<B: Batcher> {
    /// The jobs by priority, then by class.
    waiting: [Vec<VecDeque<Arc<Entry<B>>>>; 2],
    /// The number of all waiting jobs.
    count: usize,
    load: Duration,
    with_deadline: usize,
    /// The number of jobs that have ever entered.
    entered: u64,
    /// Places reserved for jobs about to enter.
    reserved: usize,
    /// Pool threads that serve the queue or were called to. While there is one, it will see every job.
    servers: usize,
    /// The servers that are computing a group.
    busy: usize,
    /// Callers with a permit.
    active: usize,
    /// The number of calls in the last group that had any.
    crowd: usize,
    /// Jobs whose callers sleep without a permit, in the order in which they fell asleep.
    sleepers: Vec<Arc<Entry<B>>>,
    /// The fork generation of the process that this backlog belongs to.
    fork_generation: usize,
}

/// A permit to compute. `Drop` returns it.
pub struct Permit<'a, B: Batcher>(&'a Queue<B>);

impl<B: Batcher> Drop for Permit<'_, B> {
    fn drop(&mut self) {
        // A child that was forked since begins with none.
        self.0
            .rouse_after(|backlog| backlog.active = backlog.active.saturating_sub(1));
    }
}

/// Counts a pool thread as busy until dropped.
struct Computes<'a, B: Batcher>(&'a Queue<B>);

impl<B: Batcher> Drop for Computes<'_, B> {
    fn drop(&mut self) {
        // A child that was forked since begins with none.
        self.0
            .locked(|backlog| backlog.busy = backlog.busy.saturating_sub(1));
    }
}

impl<B: Batcher> Queue<B> {
    /// Creates an empty queue, in which `jobs_max` jobs may wait and `permits()` callers compute at once.
    pub fn new(batcher: B, jobs_max: usize, permits: fn() -> usize) -> Self {
        Self {
            batcher,
            backlog: Mutex::new(Backlog::new()),
            jobs_max,
            permits,
        }
    }

    /// Reserves a place for one more job, unless the queue is full.
    pub fn reserve(&self) -> bool {
        self.locked(|backlog| {
            let is_free = backlog.count + backlog.reserved < self.jobs_max;
            backlog.reserved += usize::from(is_free);
            is_free
        })
    }

    /// Releases a reserved place.
    pub fn unreserve(&self) {
        // A child that was forked since begins with none.
        self.locked(|backlog| backlog.reserved = backlog.reserved.saturating_sub(1));
    }

    /// Puts a job in the place that was reserved for it.
    pub fn enter(&self, work: B::Work, options: JobOptions, is_call: bool) -> Arc<Entry<B>> {
        let class = self.batcher.class(&work);
        let mut job = Entry::new(work, class, self.batcher.cost(class), options, is_call);
        self.locked(|backlog| {
            backlog.reserved = backlog.reserved.saturating_sub(1);
            backlog.entered += 1;
            job.number = backlog.entered;
            let job = Arc::new(job);
            backlog.count += 1;
            backlog.load += job.cost;
            backlog.with_deadline += usize::from(job.deadline.is_some());
            backlog.of(&job).push_back(Arc::clone(&job));
            job
        })
    }

    /// Whether another of at most `servers_max` pool threads should be called: one for each group that waits, if they have
    /// enough to do. A partial group waits for more jobs while a busy pool thread will look again. The new thread counts as
    /// a server from then on.
    ///
    /// Callers compute their own calls, so for a call a thread is needed only if a full group waits that no thread has
    /// begun: the others must not depend on a caller that computes one group after another until it runs again.
    pub fn enlist(&self, servers_max: usize, for_call: bool) -> bool {
        self.locked(|backlog| {
            let servers = backlog.servers;
            if for_call && backlog.count < B::BATCH_MAX {
                return false;
            }
            let free = servers - backlog.busy.min(servers);
            let have_enough = |threads: usize| backlog.load > SERVER_LOAD * threads as u32;
            let is_needed = servers < servers_max
                && backlog.count > 0
                && (servers == 0
                    || have_enough(servers) && servers < backlog.groups(&self.batcher)
                    || have_enough(free + 1) && free < backlog.full_groups(&self.batcher));
            backlog.servers += usize::from(is_needed);
            is_needed
        })
    }

    /// Takes a permit for a single request, if one is left and the last group had at most one call. With several calls,
    /// others like this one are about to come.
    pub fn permit(&self) -> Option<Permit<'_, B>> {
        let take = |permits| {
            self.locked(|backlog| {
                let is_free = backlog.active < permits && backlog.crowd <= 1;
                backlog.active += usize::from(is_free);
                is_free
            })
        };
        // There is always at least one. Counting the rest takes a process some 50 us the first time.
        let is_free = take(1) || take((self.permits)());
        // Created outside the lock, and only if granted: its drop returns a permit.
        is_free.then(|| Permit(self))
    }

    /// Waits until `job` is done, and computes it here if it is this thread's turn.
    pub fn wait(&self, job: &Arc<Entry<B>>) -> Outcome<B::Output> {
        let parker = Arc::new(Parker::current());
        let waker = Waker::from(Arc::clone(&parker));
        let [mut is_overdue, mut has_slept] = [false; 2];
        loop {
            if let Poll::Ready(outcome) = job.take_or_leave(&waker) {
                if has_slept {
                    self.rouse_after(|_| ());
                }
                return outcome;
            }
            if self.lead(job, is_overdue) {
                continue;
            }
            let until_late = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
            let time_max = job.deadline.map_or(PATIENCE, until_late).min(PATIENCE);
            // A wake-up may have no reason or another one, so it looks again.
            is_overdue = parker.park_for(time_max);
            has_slept = true;
        }
    }

    /// Applies `change` and wakes a sleeping caller if a permit is left. A caller that was woken and has no use for the
    /// permit, since another thread has computed its job, has to wake another.
    fn rouse_after(&self, change: impl FnOnce(&mut Backlog<B>)) {
        let nobody_sleeps = self.locked(|backlog| {
            change(backlog);
            backlog.sleepers.is_empty()
        });
        if nobody_sleeps {
            return;
        }
        let permits = (self.permits)();
        if let Some(waker) = self.locked(|backlog| backlog.next_leader(permits)) {
            waker.wake();
        }
    }

    /// Computes a group with `job` in it, if the job still waits and a permit is left, or regardless of permits if `must`.
    /// Otherwise the caller counts as sleeping. Returns whether it computed a group.
    pub fn lead(&self, job: &Arc<Entry<B>>, must: bool) -> bool {
        let permits = (self.permits)();
        let (group, waker) = self.locked(|backlog| {
            if !job.is_queued() {
                return (None, backlog.next_leader(permits));
            }
            if backlog.active + backlog.servers >= permits && !must {
                if !job.set_sleeping(true) {
                    backlog.sleepers.push(Arc::clone(job));
                }
                return (None, None);
            }
            backlog.active += 1;
            (Some(backlog.take_group_with(job, &self.batcher)), None)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
        let Some(group) = group else { return false };
        let _permit = Permit(self);
        self.run(group);
        true
    }

    /// Cancels `job` if no thread has begun it. Returns whether it did.
    pub fn cancel(&self, job: &Arc<Entry<B>>) -> bool {
        let is_cancelled = job.resolve_queued(Error::Cancelled);
        if is_cancelled {
            self.locked(|backlog| backlog.remove(job));
        }
        is_cancelled
    }

    /// Cancels every job that no thread has begun.
    pub fn cancel_all(&self) {
        let left = self.locked(Backlog::drain);
        for job in left {
            job.resolve_queued(Error::Cancelled);
        }
    }

    /// Returns the number of jobs that no thread has begun.
    pub fn waiting(&self) -> usize {
        self.locked(|backlog| backlog.count)
    }

    /// Whether a pool thread will look at every job in the queue.
    pub fn is_served(&self) -> bool {
        self.locked(|backlog| backlog.servers > 0)
    }

    /// Returns the next group. If nothing waits, the calling server is no longer counted.
    fn next_or_leave(&self) -> Option<Vec<Arc<Entry<B>>>> {
        let (group, late) = self.locked(|backlog| {
            let late = backlog.take_late();
            let group = backlog.take_group(&self.batcher);
            match group {
                Some(_) => backlog.busy += 1,
                None => backlog.servers = backlog.servers.saturating_sub(1),
            }
            (group, late)
        });
        for job in late {
            job.resolve_queued(Error::DeadlinePassed);
        }
        group
    }

    /// Computes jobs of one class, except those that have been resolved already.
    fn run(&self, mut jobs: Vec<Arc<Entry<B>>>) {
        let mut works = Vec::with_capacity(jobs.len());
        jobs.retain(|job| match job.begin() {
            Some(work) => {
                works.push(work);
                true
            }
            None => false,
        });
        let Some(class) = jobs.first().map(|job| job.class) else {
            return;
        };
        let mut answers = Answers {
            due: jobs.iter().map(Some).collect(),
            wakers: Vec::with_capacity(jobs.len()),
        };
        self.batcher.run(class, works, &mut |place, outcome| {
            answers.give(place, outcome)
        });
    }

    fn locked<R>(&self, change: impl FnOnce(&mut Backlog<B>) -> R) -> R {
        let (result, inherited) = process::undivided(|| {
            let mut backlog = sync::lock(&self.backlog);
            let is_inherited = backlog.fork_generation != process::fork_generation();
            let inherited = is_inherited.then(|| std::mem::replace(&mut *backlog, Backlog::new()));
            let before = backlog.count;
            let result = change(&mut backlog);
            if backlog.count != before {
                self.batcher.waiting(before, backlog.count);
            }
            (result, inherited)
        });
        // The parent's jobs, whose handles may exist here: dropped without the lock.
        drop(inherited);
        result
    }
}

impl<B: Batcher> Background for Queue<B> {
    fn work(&self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        while let Some(group) = self.next_or_leave() {
            let busy = Computes(self);
            self.run(group);
            drop(busy);
            if !goes_on() {
                return true;
            }
        }
        false
    }

    fn refused(&self) {
        let left = self.locked(|backlog| {
            backlog.servers = backlog.servers.saturating_sub(1);
            backlog.all().cloned().collect::<Vec<_>>()
        });
        // The waiting callers compute them, if no other thread comes.
        for job in left {
            job.wake();
        }
    }
}

impl<B: Batcher> Backlog<B> {
    fn new() -> Self {
        let classes = || (0..B::CLASSES).map(|_| VecDeque::new()).collect();
        Self {
            waiting: [classes(), classes()],
            count: 0,
            load: Duration::ZERO,
            with_deadline: 0,
            entered: 0,
            reserved: 0,
            servers: 0,
            busy: 0,
            active: 0,
            crowd: 0,
            sleepers: Vec::new(),
            fork_generation: process::fork_generation(),
        }
    }

    fn of(&mut self, job: &Entry<B>) -> &mut VecDeque<Arc<Entry<B>>> {
        &mut self.waiting[job.priority as usize][job.class]
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Entry<B>>> {
        self.waiting.iter().flatten().flatten()
    }

    fn drain(&mut self) -> Vec<Arc<Entry<B>>> {
        let all = self.all().cloned().collect();
        self.waiting.iter_mut().flatten().for_each(VecDeque::clear);
        (self.count, self.load, self.with_deadline) = (0, Duration::ZERO, 0);
        all
    }

    /// Takes the next job, with the number of others of its class that makes the best batch.
    fn take_group(&mut self, batcher: &B) -> Option<Vec<Arc<Entry<B>>>> {
        let oldest = |classes: &Vec<VecDeque<Arc<Entry<B>>>>| {
            let fronts = classes.iter().filter_map(|class| class.front());
            fronts.min_by_key(|job| job.number).map(|job| job.class)
        };
        let class = self.waiting.iter().find_map(oldest)?;
        Some(self.take_of_class(class, None, batcher))
    }

    /// Returns how many groups the waiting jobs form.
    fn groups(&self, batcher: &B) -> usize {
        let groups = self
            .waiting_by_class()
            .map(|(class, waiting)| match waiting {
                0 => 0,
                waiting => waiting.div_ceil(batcher.batch_size(class, waiting)),
            });
        groups.sum()
    }

    /// Returns how many of these groups are full.
    fn full_groups(&self, batcher: &B) -> usize {
        let groups = self
            .waiting_by_class()
            .map(|(class, waiting)| waiting / batcher.full_batch(class));
        groups.sum()
    }

    fn waiting_by_class(&self) -> impl Iterator<Item = (usize, usize)> {
        let [urgent, normal] = &self.waiting;
        let waiting = urgent.iter().zip(normal).enumerate();
        waiting.map(|(class, (urgent, normal))| (class, urgent.len() + normal.len()))
    }

    fn take_group_with(&mut self, own: &Arc<Entry<B>>, batcher: &B) -> Vec<Arc<Entry<B>>> {
        self.take_of_class(own.class, Some(own), batcher)
    }

    /// Takes a group of `class` with `own`, if given, which is waiting; then urgent jobs, and the oldest first.
    fn take_of_class(
        &mut self,
        class: usize,
        own: Option<&Arc<Entry<B>>>,
        batcher: &B,
    ) -> Vec<Arc<Entry<B>>> {
        let waiting = self.waiting.iter().map(|classes| classes[class].len());
        let size = batcher.batch_size(class, waiting.sum());
        let mut group = Vec::with_capacity(size);
        if let Some(own) = own {
            self.remove(own);
            group.push(Arc::clone(own));
        }
        for priority in 0..self.waiting.len() {
            while group.len() < size
                && let Some(job) = self.waiting[priority][class].pop_front()
            {
                self.forget(&job);
                group.push(job);
            }
        }
        let calls = group.iter().filter(|job| job.is_call).count();
        if calls > 0 {
            self.crowd = calls;
        }
        group
    }

    /// Takes the jobs whose deadline has passed.
    fn take_late(&mut self) -> Vec<Arc<Entry<B>>> {
        if self.with_deadline == 0 {
            return Vec::new();
        }
        let late: Vec<_> = self.all().filter(|job| job.is_late()).cloned().collect();
        for job in &late {
            self.remove(job);
        }
        late
    }

    fn remove(&mut self, job: &Arc<Entry<B>>) {
        let backlog = self.of(job);
        if let Some(at) = backlog.iter().position(|other| Arc::ptr_eq(other, job)) {
            // Not the last reference: the caller has one.
            backlog.remove(at);
            self.forget(job);
        }
    }

    /// Updates the totals for a job that no longer waits.
    fn forget(&mut self, job: &Arc<Entry<B>>) {
        if job.set_sleeping(false) {
            self.sleepers.retain(|other| !Arc::ptr_eq(other, job));
        }
        self.count -= 1;
        self.load -= job.cost;
        self.with_deadline -= usize::from(job.deadline.is_some());
    }

    /// If a permit is left, takes the waker of a caller whose job still waits: the last to fall asleep, since a thread that
    /// is awake takes the oldest jobs along.
    fn next_leader(&mut self, permits: usize) -> Option<Waker> {
        if self.active >= permits {
            return None;
        }
        std::iter::from_fn(|| self.sleepers.pop()).find_map(|job| job.rouse())
    }
}

/// Jobs that are still to be answered, and the wakers of the threads whose jobs were.
struct Answers<'a, B: Batcher> {
    due: Vec<Option<&'a Arc<Entry<B>>>>,
    wakers: Vec<Waker>,
}

impl<B: Batcher> Answers<'_, B> {
    fn give(&mut self, place: usize, outcome: Outcome<B::Output>) {
        if let Some(job) = self.due[place].take() {
            self.wakers.extend(job.finish(outcome));
        }
    }
}

impl<B: Batcher> Drop for Answers<'_, B> {
    fn drop(&mut self) {
        for place in 0..self.due.len() {
            // Any job left here means that the batcher panicked.
            let reason = "the request panicked".into();
            let device = "software".into();
            self.give(place, Err(Error::DeviceFailed { device, reason }));
        }
        self.wakers.drain(..).for_each(wake);
    }
}

/// The least load for each server that justifies another one, whose wake-up takes 20 to 50 us.
const SERVER_LOAD: Duration = Duration::from_micros(60);
/// The time for which a caller leaves its job to threads that have not begun it. They may have lost their CPUs, or run in a
/// lower scheduling class.
const PATIENCE: Duration = Duration::from_millis(20);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Computes four at once in the time of one.
    struct FourAtOnce;

    impl Batcher for FourAtOnce {
        type Work = ();
        type Output = ();

        const CLASSES: usize = 1;
        const BATCH_MAX: usize = 4;

        fn class(&self, (): &()) -> usize {
            0
        }

        fn batch_size(&self, _: usize, waiting: usize) -> usize {
            waiting.min(4)
        }

        fn full_batch(&self, _: usize) -> usize {
            4
        }

        fn cost(&self, _: usize) -> Duration {
            Duration::from_millis(1)
        }

        fn run(&self, _: usize, works: Vec<()>, answer: &mut dyn FnMut(usize, Outcome<()>)) {
            for place in 0..works.len() {
                answer(place, Ok(()));
            }
        }
    }

    #[test]
    fn while_some_compute_more_come_for_full_groups_alone() {
        let queue = Queue::new(FourAtOnce, 64, || 16);
        let enter = || {
            assert!(queue.reserve());
            queue.enter((), JobOptions::default(), false);
            queue.enlist(3, false)
        };
        assert!(enter(), "the first has nobody");
        let first = queue.next_or_leave().map(|group| (Computes(&queue), group));
        let came = [(); 8].map(|()| enter());
        let expected = [false, false, false, true, false, false, false, true];
        assert_eq!(came, expected, "with each full group");
        assert!([(); 8].iter().all(|()| !enter()), "there are three");
        // They take what waits and leave; the one that computes finds nothing when it is done.
        while queue.next_or_leave().is_some() {
            drop(Computes(&queue));
        }
        assert!(queue.next_or_leave().is_none());
        drop(first);
        assert!(queue.next_or_leave().is_none());
        assert!(!queue.is_served());
        assert!(enter(), "and nobody is there again");
    }
}
