//! Whether threads should gather: both ways are tried in turn, and what counts is how many operations end in a second.
//!
//! Gathering costs time and saves CPU time. Where the process has all the CPUs it wants, and where other programs take
//! what it leaves, it gets no more done by it, and should not. Where its own threads wait for CPUs, it does. Nothing tells
//! a library which of these it is, but the count does. Windows of time follow each other:
//!
//! ```text
//! apart, apart, ...   then   together, apart, together:   if both were faster than all those, stay
//! together, ...       then   apart, together:             if the first was hardly slower, go
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct Trial {
    gathers: AtomicBool,
    /// Operations so far.
    ended: AtomicU32,
    /// The process that all of this is of.
    process: AtomicU32,
    /// Nobody waits for it: another thread may have had it when this process was forked.
    course: Mutex<Course>,
}

/// The clock is read once in this many operations.
const OPERATIONS: u32 = 16;
/// A window that is shorter, or has fewer operations, continues.
const WINDOW_MIN: Duration = Duration::from_millis(20);
const WINDOW_OPERATIONS_MIN: u32 = 64;
/// In a longer window there was next to nothing to do.
const WINDOW_MAX: Duration = Duration::from_secs(1);
/// A way gains if its rate is more than this many times the other's.
const GAIN: f64 = 1.05;
/// Gathering is compared again at once if its rate falls below this share of its usual one.
const LOSS: f64 = 0.8;
/// The number of windows of which a try has to beat the best: of more, the best would be chance.
const RECENT: usize = 4;
/// The windows apart before the first try; after each try that fails, four times as many.
const APART_MIN: u32 = 4;
/// Half a minute for a busy process.
const APART_MAX: u32 = 1024;
/// The windows together before it is tested whether that is still better: few at first, because it may have been
/// chosen by chance.
const TOGETHER_MIN: u32 = 8;
const TOGETHER_MAX: u32 = 128;

impl Trial {
    /// Whether to gather for the operation that begins.
    pub(super) fn gathers(&self) -> bool {
        self.gathers.load(Ordering::Relaxed)
    }

    /// An operation has ended.
    pub(super) fn ended(&self) {
        let number = self.ended.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if !number.is_multiple_of(OPERATIONS) {
            return;
        }
        let process = std::process::id();
        let is_child = ![0, process].contains(&self.process.swap(process, Ordering::Relaxed));
        if is_child {
            self.gathers.store(false, Ordering::Relaxed);
        }
        if let Ok(mut course) = self.course.try_lock() {
            if is_child {
                *course = Course::default();
            }
            let gathers = course.passed(number, Instant::now());
            self.gathers.store(gathers, Ordering::Relaxed);
        }
    }
}

/// Windows so far.
struct Course {
    /// The number of operations at the beginning of this window, and when that was.
    began: Option<(u32, Instant)>,
    phase: Phase,
    /// Rates of the last windows apart.
    recent: [f64; RECENT],
    /// Windows apart before the next try.
    patience: u32,
    /// Windows together before the next doubt.
    trust: u32,
}

/// Rates are in operations a second.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Apart {
        left: u32,
    },
    /// Together after `apart`.
    Try {
        apart: f64,
    },
    /// Apart after that.
    Compare {
        apart: f64,
        together: f64,
    },
    /// Together once more.
    Again {
        apart: f64,
        together: f64,
    },
    Together {
        left: u32,
        usual: f64,
    },
    /// Apart after `together`.
    Doubt {
        together: f64,
    },
    /// Together again.
    Return {
        together: f64,
        apart: f64,
    },
}

impl Default for Course {
    fn default() -> Self {
        Self {
            began: None,
            phase: Phase::Apart { left: APART_MIN },
            recent: [0.0; RECENT],
            patience: APART_MIN,
            trust: TOGETHER_MIN,
        }
    }
}

impl Course {
    /// Notes that `number` operations had ended by `now`. Returns whether the next ones are gathered.
    fn passed(&mut self, number: u32, now: Instant) -> bool {
        let Some((first, began)) = self.began else {
            self.began = Some((number, now));
            return self.gathers();
        };
        let operations = number.wrapping_sub(first);
        let took = now.saturating_duration_since(began);
        let rate = f64::from(operations) / took.as_secs_f64();
        let gathered = self.gathers();
        if took > WINDOW_MAX {
            // Whatever was being compared, it was something else.
            if !matches!(self.phase, Phase::Apart { .. }) {
                self.phase = Phase::Apart {
                    left: self.patience,
                };
            }
        } else if took < WINDOW_MIN || operations < WINDOW_OPERATIONS_MIN {
            match self.phase {
                Phase::Try { apart } if rate < LOSS * apart => self.phase = self.apart(),
                _ => return gathered,
            }
        } else {
            self.phase = self.after(rate);
        }
        // Those that are under way when it changes count for neither.
        let is_same = self.gathers() == gathered;
        self.began = is_same.then_some((number, now));
        self.gathers()
    }

    fn gathers(&self) -> bool {
        match self.phase {
            Phase::Apart { .. } | Phase::Compare { .. } | Phase::Doubt { .. } => false,
            Phase::Try { .. }
            | Phase::Again { .. }
            | Phase::Together { .. }
            | Phase::Return { .. } => true,
        }
    }

    /// What follows a window with this rate.
    fn after(&mut self, rate: f64) -> Phase {
        match self.phase {
            Phase::Apart { left } => {
                self.recent.rotate_right(1);
                self.recent[0] = rate;
                match left.checked_sub(1) {
                    Some(left) => Phase::Apart { left },
                    None => Phase::Try {
                        apart: self.recent.into_iter().fold(rate, f64::max),
                    },
                }
            }
            Phase::Try { apart } if rate < GAIN * apart => self.apart(),
            Phase::Try { apart } => Phase::Compare {
                apart,
                together: rate,
            },
            Phase::Compare { apart, together } => Phase::Again {
                apart: apart.max(rate),
                together,
            },
            Phase::Again { apart, together } if together.min(rate) > GAIN * apart => {
                self.patience = APART_MIN;
                self.trust = TOGETHER_MIN;
                Phase::Together {
                    left: self.trust,
                    usual: together.min(rate),
                }
            }
            Phase::Again { .. } => self.apart(),
            Phase::Together { left, usual } if left == 0 || rate < LOSS * usual => {
                Phase::Doubt { together: rate }
            }
            Phase::Together { left, usual } => Phase::Together {
                left: left - 1,
                usual,
            },
            Phase::Doubt { together } => Phase::Return {
                together,
                apart: rate,
            },
            Phase::Return { together, apart } if (together + rate) / 2.0 > GAIN * apart => {
                self.trust = (2 * self.trust).min(TOGETHER_MAX);
                Phase::Together {
                    left: self.trust,
                    usual: together.min(rate),
                }
            }
            Phase::Return { .. } => self.apart(),
        }
    }

    /// Returns to windows apart, after a try that failed.
    fn apart(&mut self) -> Phase {
        let left = self.patience;
        self.patience = (4 * self.patience).min(APART_MAX);
        Phase::Apart { left }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// A course, the time in it, and the noise of its rates.
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

        /// Runs `count` ticks of 25 ms, in which each way has its rate. Returns how many were together.
        fn ticks(&mut self, count: u32, apart: f64, together: f64) -> u32 {
            let mut gathered = 0;
            for _ in 0..count {
                let gathers = self.course.gathers();
                gathered += u32::from(gathers);
                let rate = if gathers { together } else { apart };
                let rate = rate * self.rng.random_range(1.0 - self.noise..1.0 + self.noise);
                self.number = self.number.wrapping_add((rate / 40.0) as u32);
                self.now += Duration::from_millis(25);
                self.course.passed(self.number, self.now);
            }
            gathered
        }
    }

    #[test]
    fn what_gains_is_done_nearly_always() {
        for (noise, together) in [(0.001, 6900.0), (0.001, 9000.0), (0.12, 9000.0)] {
            let gathered = Simulated::new(noise).ticks(2000, 6000.0, together);
            assert!((1700..2000).contains(&gathered), "{noise}: {gathered}");
        }
    }

    #[test]
    fn what_does_not_gain_is_hardly_ever_done() {
        for (noise, together) in [
            (0.001, 3000.0),
            (0.001, 6200.0),
            (0.12, 6000.0),
            (0.12, 5000.0),
        ] {
            let gathered = Simulated::new(noise).ticks(4000, 6000.0, together);
            assert!(
                (2..200).contains(&gathered),
                "{noise}, {together}: {gathered}"
            );
        }
    }

    #[test]
    fn what_no_longer_gains_is_given_up_at_once_and_taken_up_again() {
        let mut simulated = Simulated::new(0.05);
        simulated.ticks(500, 6000.0, 9000.0);
        let gathered = simulated.ticks(20, 6000.0, 2000.0);
        assert!(gathered < 8, "{gathered}");
        let gathered = simulated.ticks(2000, 6000.0, 5000.0);
        assert!(gathered < 100, "{gathered}");
        simulated.ticks(3000, 6000.0, 9000.0);
        assert!(simulated.ticks(100, 6000.0, 9000.0) > 90);
    }

    /// A gain is found however many tries had failed before.
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
        assert_eq!(course.patience, APART_MIN);
    }

    #[test]
    fn a_child_of_a_fork_begins_anew() {
        let trial = Trial::default();
        trial.process.store(1, Ordering::Relaxed);
        trial.gathers.store(true, Ordering::Relaxed);
        // Nobody will ever give it back.
        let lock = trial.course.lock().unwrap();
        for _ in 0..OPERATIONS {
            trial.ended();
        }
        assert!(!trial.gathers());
        drop(lock);
    }

    #[test]
    fn windows_are_of_many_operations_and_not_short() {
        let trial = Trial::default();
        let began = Instant::now();
        while began.elapsed() < 10 * WINDOW_MIN {
            trial.gathers();
            trial.ended();
        }
        let course = trial.course.lock().unwrap();
        assert!(course.patience <= 4 * APART_MIN);
    }
}
