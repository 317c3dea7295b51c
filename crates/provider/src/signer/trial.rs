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
    operations: AtomicU32,
    /// Nobody waits for it.
    course: Mutex<Course>,
}

/// The clock is looked at after so many operations.
const OPERATIONS: u32 = 16;
/// A shorter window goes on, and one with fewer operations.
const WINDOW_MIN: Duration = Duration::from_millis(20);
const WINDOW_OPERATIONS_MIN: u32 = 64;
/// One that is so much slower than what it is compared with ends at once.
const LOSS: f64 = 0.8;
/// In a longer one there was next to nothing to do.
const WINDOW_MAX: Duration = Duration::from_secs(1);
/// So many times as many operations are a gain.
const GAIN: f64 = 1.05;
/// So many windows apart before the first try, and four times as many after each in vain.
const APART_MIN: u32 = 4;
/// Half a minute for a busy process.
const APART_MAX: u32 = 1024;
/// So many windows together before it is asked whether that is still better: few at first, for it may have been chosen by
/// chance.
const TOGETHER_MIN: u32 = 8;
const TOGETHER_MAX: u32 = 128;

impl Trial {
    /// Whether to gather for the operation that begins.
    pub(super) fn gathers(&self) -> bool {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        if number % OPERATIONS == OPERATIONS - 1
            && let Ok(mut course) = self.course.try_lock()
        {
            let gathers = course.passed(OPERATIONS, Instant::now());
            self.gathers.store(gathers, Ordering::Relaxed);
        }
        self.gathers.load(Ordering::Relaxed)
    }
}

/// Windows so far.
struct Course {
    began: Option<Instant>,
    operations: u32,
    phase: Phase,
    /// Windows apart before the next try.
    patience: u32,
    /// Windows together before the next doubt.
    trust: u32,
}

/// Rates are in operations a second.
#[derive(Clone, Copy)]
enum Phase {
    Apart {
        left: u32,
        best: f64,
    },
    /// Together after `apart`, the best of those.
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
    },
    /// Apart after `together`.
    Doubt {
        together: f64,
    },
    /// And together again.
    Return {
        together: f64,
        apart: f64,
    },
}

impl Default for Course {
    fn default() -> Self {
        Self {
            began: None,
            operations: 0,
            phase: Phase::Apart {
                left: APART_MIN,
                best: 0.0,
            },
            patience: APART_MIN,
            trust: TOGETHER_MIN,
        }
    }
}

impl Course {
    /// So many operations more by `now`. Returns whether the next ones are gathered.
    fn passed(&mut self, operations: u32, now: Instant) -> bool {
        self.operations += operations;
        let took = self.began.map(|began| now.saturating_duration_since(began));
        let rate = |took: Duration| f64::from(self.operations) / took.as_secs_f64();
        match took {
            Some(took) if took < WINDOW_MIN || self.operations < WINDOW_OPERATIONS_MIN => {
                match self.phase {
                    Phase::Try { apart } if rate(took) < LOSS * apart => self.phase = self.apart(),
                    _ => return self.gathers(),
                }
            }
            Some(took) if took <= WINDOW_MAX => self.phase = self.after(rate(took)),
            // Whatever was being compared, it was something else.
            Some(_) => {
                self.phase = match self.gathers() {
                    true => self.apart(),
                    false => Phase::Apart {
                        left: self.patience,
                        best: 0.0,
                    },
                }
            }
            None => {}
        }
        self.operations = 0;
        self.began = Some(now);
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
            Phase::Apart { left: 0, best } => Phase::Try {
                apart: best.max(rate),
            },
            Phase::Apart { left, best } => Phase::Apart {
                left: left - 1,
                best: best.max(rate),
            },
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
                Phase::Together { left: self.trust }
            }
            Phase::Again { .. } => self.apart(),
            Phase::Together { left: 0 } => Phase::Doubt { together: rate },
            Phase::Together { left } => Phase::Together { left: left - 1 },
            Phase::Doubt { together } => Phase::Return {
                together,
                apart: rate,
            },
            Phase::Return { together, apart } if (together + rate) / 2.0 > GAIN * apart => {
                self.trust = (2 * self.trust).min(TOGETHER_MAX);
                Phase::Together { left: self.trust }
            }
            Phase::Return { .. } => self.apart(),
        }
    }

    /// After a try in vain.
    fn apart(&mut self) -> Phase {
        let left = self.patience;
        self.patience = (4 * self.patience).min(APART_MAX);
        Phase::Apart { left, best: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many windows in which either way has its rate; how many of them were together.
    fn windows(course: &mut Course, count: u32, apart: f64, together: f64) -> u32 {
        let mut now = course.began.unwrap_or_else(Instant::now);
        let mut gathered = 0;
        for _ in 0..count {
            let gathers = course.gathers();
            gathered += u32::from(gathers);
            let rate = if gathers { together } else { apart };
            let operations = (rate / 40.0) as u32;
            now += Duration::from_millis(25);
            course.passed(operations, now);
        }
        gathered
    }

    #[test]
    fn what_gains_is_done_nearly_always() {
        let mut course = Course::default();
        let gathered = windows(&mut course, 1000, 6000.0, 9000.0);
        assert!((930..1000).contains(&gathered), "{gathered}");
    }

    #[test]
    fn what_does_not_gain_is_hardly_ever_done() {
        for together in [3000.0, 6000.0, 6200.0] {
            let mut course = Course::default();
            let gathered = windows(&mut course, 4000, 6000.0, together);
            assert!((4..20).contains(&gathered), "{together}: {gathered}");
        }
    }

    #[test]
    fn a_try_that_is_far_slower_is_short() {
        let mut course = Course::default();
        windows(&mut course, 6, 6000.0, 9000.0);
        assert!(matches!(course.phase, Phase::Try { .. }));
        let now = course.began.unwrap() + Duration::from_millis(10);
        assert!(!course.passed(16, now));
    }

    #[test]
    fn what_no_longer_gains_is_given_up_and_taken_up_again() {
        let mut course = Course::default();
        windows(&mut course, 500, 6000.0, 9000.0);
        let gathered = windows(&mut course, 2000, 6000.0, 5000.0);
        assert!(gathered < 100, "{gathered}");
        windows(&mut course, 3000, 6000.0, 9000.0);
        assert!(windows(&mut course, 100, 6000.0, 9000.0) > 90);
    }

    #[test]
    fn where_little_is_done_nothing_is_concluded() {
        let mut course = Course::default();
        let mut now = Instant::now();
        for number in 0..1000u32 {
            // One window in a hundred is a busy one.
            now += Duration::from_secs(if number % 100 == 99 { 1 } else { 20 });
            assert!(!course.passed(OPERATIONS, now));
        }
    }

    #[test]
    fn windows_are_of_many_operations_and_not_short() {
        let trial = Trial::default();
        let began = Instant::now();
        while began.elapsed() < 10 * WINDOW_MIN {
            trial.gathers();
        }
        let course = trial.course.lock().unwrap();
        assert!(course.began.unwrap() > began);
        assert!(course.patience <= 4 * APART_MIN);
    }
}
