//! Welch's t-test over two classes of times, with cropping.
//!
//! Times have a long tail: interrupts, other processes. It hides small differences, so the test is
//! also made over the times below each of many thresholds, quantiles of a first part of the
//! measurement, and the greatest |t| counts (Reparaz, Balasch, Verbauwhede, section III).

/// Which of two secrets a time belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SecretClass {
    First = 0,
    Second = 1,
}

/// The tests over one path, all fed at once.
pub struct Tests(Vec<Crop>);

/// The test with the greatest |t|.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// The t of the first class against the second: positive where the first takes longer.
    pub t: f64,
    /// Mean of the first class less mean of the second, over the times that were not cropped.
    pub difference: f64,
    /// The part of all times that was not cropped, 0 to 1.
    pub kept: f64,
}

impl Tests {
    /// Takes its thresholds from `first`, times of both classes, and counts none of them.
    pub fn new(first: &[u64]) -> Self {
        let mut sorted = first.to_vec();
        sorted.sort_unstable();
        let mut limits: Vec<u64> = (1..=THRESHOLDS)
            .map(|i| 1.0 - 0.5f64.powf(10.0 * i as f64 / THRESHOLDS as f64))
            .filter_map(|quantile| sorted.get((quantile * sorted.len() as f64) as usize))
            .copied()
            .collect();
        limits.push(u64::MAX);
        limits.dedup();
        let crop = |limit| Crop {
            limit,
            classes: [Moments::default(); 2],
        };
        Self(limits.into_iter().map(crop).collect())
    }

    pub fn add(&mut self, class: SecretClass, time: u64) {
        for crop in self.0.iter_mut().rev() {
            if time > crop.limit {
                break;
            }
            crop.classes[class as usize].add(time as f64);
        }
    }

    /// Returns the finding of the crops that kept at least [`KEPT_MIN`] times of either class; `None` where none did.
    pub fn greatest(&self) -> Option<Finding> {
        let count = |crop: &Crop| crop.classes.iter().map(|class| class.count).sum::<f64>();
        let all = self.0.last().map_or(0.0, count);
        self.0
            .iter()
            .filter(|crop| crop.classes.iter().all(|class| class.count >= KEPT_MIN))
            .map(|crop| Finding {
                t: welch(&crop.classes),
                difference: crop.classes[0].mean - crop.classes[1].mean,
                kept: count(crop) / all,
            })
            .max_by(|a, b| a.t.abs().total_cmp(&b.t.abs()))
    }
}

/// The times up to a limit.
struct Crop {
    limit: u64,
    classes: [Moments; 2],
}

/// Mean and variance, updated with every time (Welford, Technometrics 4(3), 1962).
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.count += 1.0;
        let delta = x - self.mean;
        self.mean += delta / self.count;
        self.squares += delta * (x - self.mean);
    }

    /// The variance of the mean.
    fn of_mean(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

fn welch([a, b]: &[Moments; 2]) -> f64 {
    let difference = a.mean - b.mean;
    if difference == 0.0 {
        0.0
    } else {
        difference / (a.of_mean() + b.of_mean()).sqrt()
    }
}

const THRESHOLDS: usize = 100;
/// Fewer are too few for their mean to be normally distributed.
const KEPT_MIN: f64 = 1000.0;

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::SmallRng};

    use super::*;

    /// Times as they are: a sharp edge, a tail, and rarely an interrupt.
    fn time(rng: &mut SmallRng) -> u64 {
        let tail: u64 = rng.random_range(0..30) * rng.random_range(0..30);
        let interrupt = u64::from(rng.random_range(0..1000) == 0) * 50_000;
        1000 + tail + interrupt
    }

    fn greatest(slower: u64) -> f64 {
        let mut rng = SmallRng::seed_from_u64(1);
        let first: Vec<u64> = (0..10_000).map(|_| time(&mut rng)).collect();
        let mut tests = Tests::new(&first);
        for _ in 0..100_000 {
            let second = rng.random::<bool>();
            let more = if second { slower } else { 0 };
            let class = if second {
                SecretClass::Second
            } else {
                SecretClass::First
            };
            tests.add(class, time(&mut rng) + more);
        }
        tests.greatest().unwrap().t
    }

    #[test]
    fn the_same_times_do_not_differ() {
        assert!(greatest(0).abs() < 4.5, "{}", greatest(0));
    }

    #[test]
    fn a_small_difference_under_a_long_tail_is_found() {
        assert!(greatest(10) < -10.0, "{}", greatest(10));
    }

    #[test]
    fn welch_by_hand() {
        let mut classes = [Moments::default(); 2];
        [1.0, 2.0, 3.0].iter().for_each(|x| classes[0].add(*x));
        [2.0, 4.0, 6.0, 8.0].iter().for_each(|x| classes[1].add(*x));
        // Means 2 and 5, variances 1 and 20/3.
        let expected = -3.0 / (1.0f64 / 3.0 + 20.0 / 3.0 / 4.0).sqrt();
        assert!((welch(&classes) - expected).abs() < 1e-12);
    }

    #[test]
    fn too_few_times_find_nothing() {
        let mut tests = Tests::new(&[1, 2, 3]);
        tests.add(SecretClass::First, 1);
        tests.add(SecretClass::Second, 2);
        assert!(tests.greatest().is_none());
    }
}
