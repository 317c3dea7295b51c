//! Finds which of two methods gets more operations done, by trying both in turn and counting operations per second.
//!
//! The time of one operation is not enough: a method that makes each operation wait may save CPU time that others need,
//! or waste time that would otherwise be idle. The number of all operations in a window of time shows that. The first
//! method is the default; the second has to be clearly faster. Windows follow each other:
//!
//! ```text
//! first, first, ...    then   second, first, second:   if both were faster than all those, stay
//! second, ...          then   first, second:           if the first way was hardly slower, go back
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::BackOff;

/// Chooses between two methods for the operations of a process. A forked child starts over.
#[derive(Default)]
pub struct TwoWays {
    is_second: AtomicBool,
    /// Operations so far.
    ended: AtomicU32,
    /// The process that this state belongs to.
    process: AtomicU32,
    /// Only tried, never waited for: another thread may have held it when this process was forked.
    course: Mutex<Course>,
}

/// The clock is read once in this many operations.
const OPERATIONS: u32 = 16;
/// A window that is shorter, or has fewer operations, continues.
const WINDOW_MIN: Duration = Duration::from_millis(20);
const WINDOW_OPERATIONS_MIN: u32 = 64;
/// In a longer window the process was nearly idle.
const WINDOW_MAX: Duration = Duration::from_secs(1);
/// A method wins if its rate is more than this many times the other's.
const GAIN: f64 = 1.05;
/// The methods are compared again at once if the rate of the second falls below this share of its previous rate.
const LOSS: f64 = 0.8;
/// The number of windows whose best rate a try has to beat: with more, the best would be luck.
const RECENT: usize = 4;
/// Windows of the first method before each try, up to half a minute for a busy process.
const FIRST: BackOff = BackOff {
    least: 4,
    most: 1024,
    factor: 4,
};
/// Windows of the second method before the first is compared again: few at first, because the second may have won by
/// chance.
const SECOND: BackOff = BackOff::doubling(8, 128);

impl TwoWays {
    /// Whether the operation that begins uses the second method.
    pub fn is_second(&self) -> bool {
        self.is_second.load(Ordering::Relaxed)
    }

    /// Records that an operation has ended.
    pub fn ended(&self) {
        let number = self.ended.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if !number.is_multiple_of(OPERATIONS) {
            return;
        }
        let process = std::process::id();
        let is_child = ![0, process].contains(&self.process.swap(process, Ordering::Relaxed));
        if is_child {
            self.is_second.store(false, Ordering::Relaxed);
        }
        if let Ok(mut course) = self.course.try_lock() {
            if is_child {
                *course = Course::default();
            }
            let is_second = course.passed(number, Instant::now());
            self.is_second.store(is_second, Ordering::Relaxed);
        }
    }
}

/// The windows so far, and the current phase.
struct Course {
    /// The number of operations at the beginning of this window, and its time.
    began: Option<(u32, Instant)>,
    phase: Phase,
    /// Rates of the last windows of the first method.
    recent: [f64; RECENT],
    /// Windows of the first method before the next try.
    patience: u64,
    /// Windows of the second method before the next comparison.
    trust: u64,
}

/// Phases. Rates are in operations per second.
#[derive(Clone, Copy, Debug)]
enum Phase {
    First {
        left: u64,
    },
    /// The second method, after `first`.
    Try {
        first: f64,
    },
    /// The first method after `Try`.
    Compare {
        first: f64,
        second: f64,
    },
    /// The second method once more.
    Again {
        first: f64,
        second: f64,
    },
    Second {
        left: u64,
        expected: f64,
    },
    /// The first method, after `second`.
    Doubt {
        second: f64,
    },
    /// The second method after `Doubt`.
    Return {
        second: f64,
        first: f64,
    },
}

impl Default for Course {
    fn default() -> Self {
        Self {
            began: None,
            phase: Phase::First { left: FIRST.least },
            recent: [0.0; RECENT],
            patience: FIRST.least,
            trust: SECOND.least,
        }
    }
}

impl Course {
    /// Records that `number` operations had ended by `now`. Returns whether the next ones use the second method.
    fn passed(&mut self, number: u32, now: Instant) -> bool {
        let Some((first, began)) = self.began else {
            self.began = Some((number, now));
            return self.is_second();
        };
        let operations = number.wrapping_sub(first);
        let took = now.saturating_duration_since(began);
        let rate = f64::from(operations) / took.as_secs_f64();
        let was_second = self.is_second();
        if took > WINDOW_MAX {
            // The comparison under way is void: the load has changed.
            if !matches!(self.phase, Phase::First { .. }) {
                self.phase = Phase::First {
                    left: self.patience,
                };
            }
        } else if took < WINDOW_MIN || operations < WINDOW_OPERATIONS_MIN {
            match self.phase {
                Phase::Try { first } if rate < LOSS * first => self.phase = self.first(),
                _ => return was_second,
            }
        } else {
            self.phase = self.after(rate);
        }
        // Operations that run across a change count for neither method.
        let is_same = self.is_second() == was_second;
        self.began = is_same.then_some((number, now));
        self.is_second()
    }

    fn is_second(&self) -> bool {
        match self.phase {
            Phase::First { .. } | Phase::Compare { .. } | Phase::Doubt { .. } => false,
            Phase::Try { .. }
            | Phase::Again { .. }
            | Phase::Second { .. }
            | Phase::Return { .. } => true,
        }
    }

    /// Returns the phase after a window with this rate.
    fn after(&mut self, rate: f64) -> Phase {
        match self.phase {
            Phase::First { left } => {
                self.recent.rotate_right(1);
                self.recent[0] = rate;
                match left.checked_sub(1) {
                    Some(left) => Phase::First { left },
                    None => Phase::Try {
                        first: self.recent.into_iter().fold(rate, f64::max),
                    },
                }
            }
            Phase::Try { first } if rate < GAIN * first => self.first(),
            Phase::Try { first } => Phase::Compare {
                first,
                second: rate,
            },
            Phase::Compare { first, second } => Phase::Again {
                first: first.max(rate),
                second,
            },
            Phase::Again { first, second } if second.min(rate) > GAIN * first => {
                self.patience = FIRST.least;
                self.trust = SECOND.least;
                Phase::Second {
                    left: self.trust,
                    expected: second.min(rate),
                }
            }
            Phase::Again { .. } => self.first(),
            Phase::Second { left, expected } if left == 0 || rate < LOSS * expected => {
                Phase::Doubt { second: rate }
            }
            Phase::Second { left, expected } => Phase::Second {
                left: left - 1,
                expected,
            },
            Phase::Doubt { second } => Phase::Return {
                second,
                first: rate,
            },
            Phase::Return { second, first } if (second + rate) / 2.0 > GAIN * first => {
                self.trust = SECOND.longer(self.trust);
                Phase::Second {
                    left: self.trust,
                    expected: second.min(rate),
                }
            }
            Phase::Return { .. } => self.first(),
        }
    }

    /// Returns to windows of the first method after a failed try.
    fn first(&mut self) -> Phase {
        let left = self.patience;
        self.patience = FIRST.longer(self.patience);
        Phase::First { left }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// A course with its own clock and noisy rates.
    struct Simulated {
        course: Course,
        now: Instant,
        number: u32,
        noise: f64,
        rng: SmallRng,
    }

    impl Simulated {
        fn new(noise: f64) -> Self {
            Self {
                course: Course::default(),
                now: Instant::now(),
                number: 0,
                noise,
                rng: SmallRng::seed_from_u64(1),
            }
        }

        /// Runs `count` ticks of 25 ms, in which each method has its rate. Returns how many used the second method.
        fn ticks(&mut self, count: u32, first: f64, second: f64) -> u32 {
            let mut tried = 0;
            for _ in 0..count {
                let is_second = self.course.is_second();
                tried += u32::from(is_second);
                let rate = if is_second { second } else { first };
                let rate = rate * self.rng.random_range(1.0 - self.noise..1.0 + self.noise);
                self.number = self.number.wrapping_add((rate / 40.0) as u32);
                self.now += Duration::from_millis(25);
                self.course.passed(self.number, self.now);
            }
            tried
        }
    }

    #[test]
    fn what_gains_is_done_nearly_always() {
        for (noise, second) in [(0.001, 6900.0), (0.001, 9000.0), (0.12, 9000.0)] {
            let tried = Simulated::new(noise).ticks(2000, 6000.0, second);
            assert!((1700..2000).contains(&tried), "{noise}: {tried}");
        }
    }

    #[test]
    fn what_does_not_gain_is_hardly_ever_done() {
        for (noise, second) in [
            (0.001, 3000.0),
            (0.001, 6200.0),
            (0.12, 6000.0),
            (0.12, 5000.0),
        ] {
            let tried = Simulated::new(noise).ticks(4000, 6000.0, second);
            assert!((2..200).contains(&tried), "{noise}, {second}: {tried}");
        }
    }

    #[test]
    fn what_no_longer_gains_is_given_up_at_once_and_taken_up_again() {
        let mut simulated = Simulated::new(0.05);
        simulated.ticks(500, 6000.0, 9000.0);
        let tried = simulated.ticks(20, 6000.0, 2000.0);
        assert!(tried < 8, "{tried}");
        let tried = simulated.ticks(2000, 6000.0, 5000.0);
        assert!(tried < 100, "{tried}");
        simulated.ticks(3000, 6000.0, 9000.0);
        assert!(simulated.ticks(100, 6000.0, 9000.0) > 90);
    }

    /// A gain is found even after many failed tries.
    #[test]
    fn a_gain_is_found_after_long_noise() {
        let mut simulated = Simulated::new(0.3);
        simulated.ticks(10_000, 6000.0, 6000.0);
        simulated.noise = 0.1;
        simulated.ticks(3000, 6000.0, 9000.0);
        assert!(simulated.ticks(100, 6000.0, 9000.0) > 80);
    }

    #[test]
    fn a_try_that_is_far_slower_is_short() {
        let mut simulated = Simulated::new(0.001);
        while !matches!(simulated.course.phase, Phase::Try { .. }) {
            simulated.ticks(1, 6000.0, 9000.0);
        }
        simulated.ticks(1, 6000.0, 9000.0); // with those that were under way
        let Simulated {
            course,
            now,
            number,
            ..
        } = &mut simulated;
        assert!(!course.passed(*number + 16, *now + Duration::from_millis(10)));
    }

    #[test]
    fn where_little_is_done_nothing_is_concluded() {
        let mut course = Course::default();
        let mut now = Instant::now();
        for number in 0..1000 {
            now += Duration::from_secs(20);
            assert!(!course.passed(OPERATIONS * number, now));
        }
        assert_eq!(course.patience, FIRST.least);
    }

    #[test]
    fn a_child_of_a_fork_begins_anew() {
        let ways = TwoWays::default();
        ways.process.store(1, Ordering::Relaxed);
        ways.is_second.store(true, Ordering::Relaxed);
        // The lock is never released.
        let lock = ways.course.lock().unwrap();
        for _ in 0..OPERATIONS {
            ways.ended();
        }
        assert!(!ways.is_second());
        drop(lock);
    }

    #[test]
    fn windows_are_of_many_operations_and_not_short() {
        let ways = TwoWays::default();
        let began = Instant::now();
        while began.elapsed() < 10 * WINDOW_MIN {
            ways.is_second();
            ways.ended();
        }
        let course = ways.course.lock().unwrap();
        assert!(course.patience <= 4 * FIRST.least);
    }
}
