//! The stacks of paused jobs, and how many of them may be lost.
//!
//! If a connection is closed while its job is paused, OpenSSL never frees the job's stack of 32 KiB. A client may do
//! that on purpose. So a loss is a debt that is paid off over time, one stack every two seconds at first, and jobs are
//! paused only while the debt is below its limit: 256 stacks, 8 MiB. A process that has lost thousands of stacks pays
//! more slowly, so that its losses grow with the square root of an attack's length.
//!
//! A paused job has one or two descriptors, even after its client has gone: the server then waits for the job's result.
//! A server may have room for few more descriptors than it counts itself (haproxy aborts if there are more), so the
//! jobs that may be paused at once are fewer than a quarter of the server's own descriptors.
//!
//! While most of the limit is used up, few jobs may be paused at once, because all of them may be lost. Each job that
//! continues admits more: the attack may be over. Honest clients have jobs that continue during an attack too, so at
//! first these admit only as many as are paid off within seconds, and twice as many after every few seconds without a
//! loss. Otherwise one burst would use up the limit for minutes.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Counts the jobs of a process that may be paused, and those that were lost.
pub(crate) struct Stacks {
    /// The number of jobs that may be paused now.
    under_way: AtomicU32,
    /// The number of descriptors in wait contexts.
    opened: AtomicU32,
    /// The number of jobs that were paused and continued since the last loss.
    went_on: AtomicU32,
    lost: AtomicU64,
    /// The time of the last loss, in milliseconds after `began`.
    lost_at: AtomicU64,
    /// When the debt is paid off, in milliseconds after `began`; 0 before the first loss.
    paid_at: AtomicU64,
    /// The process that these counts belong to: a forked child has none of its parent's jobs.
    process: AtomicU32,
    began: OnceLock<Instant>,
    /// Is called for each loss.
    tell: Tell,
}

/// A descriptor of a wait context. It is closed on drop.
pub(crate) struct Opened {
    descriptor: OwnedFd,
    stacks: Arc<Stacks>,
}

/// A callback for each stack that is lost.
pub(crate) type Tell = Box<dyn Fn() + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// The place of a job that may be paused. It is returned on drop.
pub(crate) struct Place {
    stacks: Arc<Stacks>,
    process: u32,
    was_paused: bool,
}

impl Stacks {
    pub(crate) fn new(tell: Tell) -> Self {
        Self {
            under_way: AtomicU32::new(0),
            opened: AtomicU32::new(0),
            went_on: AtomicU32::new(0),
            lost: AtomicU64::new(0),
            lost_at: AtomicU64::new(0),
            paid_at: AtomicU64::new(0),
            process: AtomicU32::new(0),
            began: OnceLock::new(),
            tell,
        }
    }

    /// Returns a place for a job that may be paused; `None` if it must not be.
    pub(crate) fn place(self: &Arc<Self>) -> Option<Place> {
        let process = self.begin_in_this_process();
        // The clock is read only after a loss.
        let limit = match self.paid_at.load(Ordering::Relaxed) {
            0 => LOST_MAX,
            _ => self.limit_at(self.now()),
        };
        if self.under_way.load(Ordering::Relaxed) >= limit {
            return None;
        }
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Some(Place {
            stacks: Arc::clone(self),
            process,
            was_paused: false,
        })
    }

    /// Returns how many jobs may be paused at once.
    fn limit_at(&self, now: u64) -> u32 {
        let owed = self.paid_at.load(Ordering::Relaxed).saturating_sub(now);
        let left = (OWED_MAX_MS.saturating_sub(owed) / PAYMENT_MS) as u32;
        if left == 0 {
            return 0;
        }
        let went_on = self.went_on.load(Ordering::Relaxed);
        let admitted = went_on.saturating_mul(ADMITTED);
        left.max(admitted.min(self.trusted_at(now))).min(LOST_MAX)
    }

    /// Returns how many jobs may be paused at once, at most, because others continued.
    fn trusted_at(&self, now: u64) -> u32 {
        // While none is paused, none can be lost.
        let open_at = self.paid_at.load(Ordering::Relaxed) + PAYMENT_MS;
        let open_at = open_at.saturating_sub(OWED_MAX_MS);
        let quiet = now.saturating_sub(open_at.max(self.lost_at.load(Ordering::Relaxed)));
        let payment = payment_after(self.lost.load(Ordering::Relaxed));
        let few = (PAID_WITHIN_MS / payment).max(1);
        let doubled = (quiet / TRUST_DOUBLES_MS).min(u64::from(LOST_MAX.ilog2()));
        (few << doubled) as u32
    }

    /// Returns how many jobs may be paused at once if a new descriptor has this number. The system assigns the lowest
    /// free number, so this is also the number of descriptors.
    fn room_at(&self, number: u32) -> u32 {
        let of_host = number.saturating_sub(self.opened.load(Ordering::Relaxed));
        (of_host / 4).max(ROOM_MIN)
    }

    fn lose_at(&self, now: u64) {
        let lost = self.lost.fetch_add(1, Ordering::Relaxed);
        self.went_on.store(0, Ordering::Relaxed);
        self.lost_at.fetch_max(now, Ordering::Relaxed);
        let payment = payment_after(lost);
        let order = Ordering::Relaxed;
        let pay = |paid_at: u64| Some(paid_at.max(now) + payment);
        let _ = self.paid_at.fetch_update(order, order, pay);
    }

    fn begin_in_this_process(&self) -> u32 {
        let process = std::process::id();
        // The parent's jobs, if this is the first call in a forked child. Only the first thread to swap subtracts them, so
        // later ones stay counted.
        let of_parent = self.under_way.load(Ordering::Relaxed);
        // 0 means that there is nothing to reset.
        if ![0, process].contains(&self.process.swap(process, Ordering::Relaxed)) {
            self.under_way.fetch_sub(of_parent, Ordering::Relaxed);
            self.went_on.store(0, Ordering::Relaxed);
            self.paid_at.store(0, Ordering::Relaxed);
        }
        process
    }

    /// Returns the numbers of jobs that may be paused now and of those that were lost.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u32, u64) {
        let lost = self.lost.load(Ordering::Relaxed);
        (self.under_way.load(Ordering::Relaxed), lost)
    }

    fn now(&self) -> u64 {
        let began = self.began.get_or_init(Instant::now);
        began.elapsed().as_millis() as u64
    }
}

impl Default for Stacks {
    fn default() -> Self {
        Self::new(Box::new(|| {}))
    }
}

impl Place {
    /// Counts a new descriptor for the job's wait context; `None` if there must not be another.
    pub(crate) fn keep(&self, descriptor: OwnedFd) -> Option<Opened> {
        let stacks = &self.stacks;
        let number = u32::try_from(descriptor.as_raw_fd()).ok()?;
        if stacks.under_way.load(Ordering::Relaxed) > stacks.room_at(number) {
            return None;
        }
        stacks.opened.fetch_add(1, Ordering::Relaxed);
        Some(Opened {
            descriptor,
            stacks: Arc::clone(stacks),
        })
    }

    /// Notes whether the job is paused from now on.
    pub(crate) fn pauses(&mut self, is_paused: bool) {
        self.was_paused = is_paused;
    }

    /// Counts the stack as lost: its job never continues.
    pub(crate) fn lose(mut self) {
        self.was_paused = false;
        if self.process == std::process::id() {
            self.stacks.lose_at(self.stacks.now());
            (self.stacks.tell)();
        }
    }
}

impl AsFd for Opened {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.stacks.opened.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A child has copies of its parent's places, which its own count never included.
        if self.process == std::process::id() {
            self.stacks.under_way.fetch_sub(1, Ordering::Relaxed);
            let went_on = u32::from(self.was_paused);
            self.stacks.went_on.fetch_add(went_on, Ordering::Relaxed);
        }
    }
}

/// Returns the time in which the loss after `lost` others is paid off, in milliseconds.
fn payment_after(lost: u64) -> u64 {
    PAYMENT_MS * (1 + lost / SLOWER_AFTER)
}

/// The jobs that may be paused at once, however few descriptors there are.
const ROOM_MIN: u32 = 32;
/// The stacks that may be lost at once.
const LOST_MAX: u32 = 256;
/// The time after which one more stack may be lost.
const PAYMENT_MS: u64 = 2000;
const OWED_MAX_MS: u64 = LOST_MAX as u64 * PAYMENT_MS;
/// After every 2048 losses, each further payment takes [`PAYMENT_MS`] longer.
const SLOWER_AFTER: u64 = 2048;
/// The jobs that may be paused at once for each job that continued since the last loss.
const ADMITTED: u32 = 4;
/// The time in which the jobs that these admit right after a loss are paid off, should all of them be lost.
const PAID_WITHIN_MS: u64 = 8000;
/// The time without a loss after which they admit twice as many.
const TRUST_DOUBLES_MS: u64 = 5000;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn lose(stacks: &Stacks, count: u32, now: u64) {
        for _ in 0..count {
            stacks.lose_at(now);
        }
    }

    #[test]
    fn losses_are_bounded_and_paid_off_with_time() {
        let stacks = Stacks::default();
        assert_eq!(stacks.limit_at(0), LOST_MAX);
        lose(&stacks, LOST_MAX - 1, 0);
        assert_eq!(stacks.limit_at(0), 1);
        lose(&stacks, 1, 0);
        for (after, limit) in [
            (0, 0),
            (1999, 0),
            (2000, 1),
            (10_000, 5),
            (OWED_MAX_MS, LOST_MAX),
        ] {
            assert_eq!(stacks.limit_at(after), limit, "{after}");
        }
        // A job that continues admits more.
        stacks.went_on.store(1, Ordering::Relaxed);
        assert_eq!((stacks.limit_at(1999), stacks.limit_at(2000)), (0, 4));
        // Many admit more only some time after the last loss.
        stacks.went_on.store(u32::MAX, Ordering::Relaxed);
        let limits = [2000, 7000, 12_000, 32_000].map(|after| stacks.limit_at(after));
        assert_eq!(limits, [4, 8, 16, LOST_MAX]);
        // If these jobs are lost, they are owed as well.
        lose(&stacks, 10, 2000);
        assert_eq!((stacks.limit_at(20_000), stacks.limit_at(22_000)), (0, 1));
    }

    /// Honest clients are served during an attack, which cuts as many connections as there are places, again and again.
    #[test]
    fn jobs_are_paused_again_some_seconds_after_an_attack() {
        let stacks = Stacks::default();
        for second in 0..3600 {
            let now = 1000 * second;
            stacks.went_on.store(LOST_MAX, Ordering::Relaxed);
            lose(&stacks, stacks.limit_at(now), now);
            let lost = stacks.lost.load(Ordering::Relaxed);
            let limit = stacks.limit_at(now + 10_000);
            assert!(limit > 0, "after {second} s and {lost} losses");
        }
        stacks.went_on.store(LOST_MAX, Ordering::Relaxed);
        let limits = [10, 40].map(|after| stacks.limit_at(1000 * (3600 + after)));
        assert!(limits[0] >= 4 && limits[1] == LOST_MAX, "{limits:?}");
    }

    /// An attacker lets jobs continue until the limit is highest, and then cuts all connections.
    #[test]
    fn losses_grow_with_the_square_root_of_time() {
        let stacks = Stacks::default();
        let mut lost = Vec::new();
        for second in 0..24 * 3600 {
            stacks.went_on.store(LOST_MAX, Ordering::Relaxed);
            lose(&stacks, stacks.limit_at(1000 * second), 1000 * second);
            if [3599, 4 * 3600 - 1, 24 * 3600 - 1].contains(&second) {
                lost.push(stacks.lost.load(Ordering::Relaxed));
            }
        }
        let [hour, four, day] = lost[..] else {
            panic!("{lost:?}");
        };
        assert!((1800..2400).contains(&hour), "{hour}");
        assert!(four < 4900 && day < 12_700, "{four} {day}");
    }

    #[test]
    fn fewer_jobs_are_paused_than_the_host_has_descriptors() {
        let stacks = Stacks::default();
        for (opened, number, room) in [(0, 3, 32), (0, 400, 100), (100, 400, 75), (500, 400, 32)] {
            stacks.opened.store(opened, Ordering::Relaxed);
            assert_eq!(stacks.room_at(number), room, "{opened} {number}");
        }
        let stacks = Arc::new(Stacks::default());
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let mut places: Vec<_> = (0..LOST_MAX).map_while(|_| stacks.place()).collect();
        let is_kept = |place: &Place| place.keep(null()).is_some();
        assert!(
            !is_kept(&places[0]),
            "unless tests have a thousand descriptors"
        );
        places.truncate(ROOM_MIN as usize);
        let opened = places[0].keep(null());
        assert_eq!(stacks.opened.load(Ordering::Relaxed), 1);
        drop(opened);
        assert_eq!(stacks.opened.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn places_are_given_back_and_losses_are_told() {
        let told = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&told);
        let stacks = Arc::new(Stacks::new(Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        })));
        let mut places: Vec<_> = (0..LOST_MAX).map_while(|_| stacks.place()).collect();
        assert_eq!(places.len(), LOST_MAX as usize);
        assert!(stacks.place().is_none(), "all of these may be lost");
        drop(places.pop());
        assert!(stacks.place().is_some());
        drop(stacks.place());
        assert_eq!(
            stacks.went_on.load(Ordering::Relaxed),
            0,
            "it was not paused"
        );
        places.iter_mut().for_each(|place| place.pauses(true));
        places.drain(LOST_MAX as usize - 2..).for_each(drop);
        assert_eq!(stacks.went_on.load(Ordering::Relaxed), 1);
        places.drain(1..).for_each(Place::lose);
        assert_eq!(told.load(Ordering::Relaxed), LOST_MAX - 3);
        assert_eq!(stacks.went_on.load(Ordering::Relaxed), 0);
        assert_eq!(stacks.under_way.load(Ordering::Relaxed), 1);
        // In a forked child nothing is owed, and its parent's places do not count.
        stacks.process.store(1, Ordering::Relaxed);
        places[0].process = 1;
        let own = stacks.place();
        assert!(own.is_some());
        drop(places);
        assert_eq!(stacks.under_way.load(Ordering::Relaxed), 1);
        assert_eq!(stacks.paid_at.load(Ordering::Relaxed), 0);
    }
}
