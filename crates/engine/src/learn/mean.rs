//! Exponentially decayed means.

/// Returns `mean` moved towards `sample`, which gets the weight of one of `samples`: an exponentially decayed mean that
/// has absorbed two thirds of a change after `samples` samples.
///
/// Callers use 4 to 32 samples. A caller that must not follow an interruption bounds `sample` first.
pub fn decayed(mean: f64, sample: f64, samples: f64) -> f64 {
    mean + (sample - mean) / samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_follows_a_change_at_the_pace_of_its_weight() {
        for samples in [4.0, 8.0, 32.0] {
            let mut mean = 100.0;
            for _ in 0..samples as usize {
                mean = decayed(mean, 200.0, samples);
            }
            assert!((160.0..170.0).contains(&mean), "{samples}: {mean}");
        }
        assert_eq!(decayed(7.0, 7.0, 16.0), 7.0);
    }
}
