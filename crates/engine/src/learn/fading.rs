//! Measurements that are forgotten unless they are confirmed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The age of a measured time, as a multiple of the expected time. A device that others also use is slower while they do.
/// It then gets fewer requests, perhaps too few to measure that it has recovered. So what exceeds the expectation fades,
/// and the device is tried again.
///
/// The caller chooses the origin of times.
#[derive(Debug, Default)]
pub struct Fading {
    measured_ms: AtomicU32,
}

impl Fading {
    /// Records that a measurement confirms the multiple at `now`.
    pub fn measured(&self, now: Duration) {
        self.measured_ms.store(ms(now), Ordering::Relaxed);
    }

    /// Returns what is left of the measured multiple by now: its excess over 1, as a power, halves every [`MEMORY_MS`]. A
    /// multiple below 1 does not fade.
    pub fn by(&self, now: Duration, multiple: f64) -> f64 {
        let age_ms = ms(now).saturating_sub(self.measured_ms.load(Ordering::Relaxed));
        if multiple <= 1.0 || age_ms <= MEMORY_MS {
            return multiple;
        }
        let halvings = f64::from(age_ms) / f64::from(MEMORY_MS) - 1.0;
        multiple.powf((-halvings).exp2())
    }
}

fn ms(now: Duration) -> u32 {
    u32::try_from(now.as_millis()).unwrap_or(u32::MAX)
}

/// The time for which a measurement stays in full effect. Other load comes and goes in seconds; a failed retry of a device
/// costs one slow request in each period.
const MEMORY_MS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excess_fades_from_the_last_measurement_on_and_a_gain_does_not() {
        let fading = Fading::default();
        let at = |seconds: u64| Duration::from_secs(100 + seconds);
        fading.measured(at(0));
        assert_eq!([at(0), at(1)].map(|now| fading.by(now, 16.0)), [16.0; 2]);
        assert_eq!(fading.by(at(2), 16.0), 4.0);
        assert_eq!(fading.by(at(3), 16.0), 2.0);
        assert!(fading.by(at(60), 16.0) < 1.01);
        assert_eq!(fading.by(at(60), 0.5), 0.5);
        fading.measured(at(60));
        assert_eq!(fading.by(at(60), 16.0), 16.0);
    }
}
