//! Makes an engine.

use std::sync::Arc;

use oarlock_threads::process;

use super::engine::Engine;
use crate::costs::calibration::Calibration;
use crate::costs::lookup::Costs;
use crate::costs::published::Shown;
use crate::device::CipherDevice;
use crate::device::ciphers::CipherDevices;
use crate::mask::visible_cpu;
use crate::options::Options;
use crate::{Error, OptionsError};

/// The parameters of a new engine.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The options of its accelerator.
    pub options: Options,
    /// CPU features to hide, in the format of `OARLOCK_CPU`.
    pub cpu_mask: Option<String>,
    /// The program is not ours: see [`Limits::is_guest`](oarlock_threads::pool::Limits::is_guest).
    pub guest: bool,
    /// A measurement of this machine, in place of the compiled tables.
    pub calibration: Option<Calibration>,
    /// The only device to compute ciphers. `None` for the fastest for each algorithm.
    pub cipher_device: Option<CipherDevice>,
    /// How many jobs may wait; 1024 unless set.
    #[cfg(feature = "rsa")]
    pub jobs_max: Option<usize>,
}

impl Setup {
    /// Makes the engine.
    ///
    /// # Errors
    /// [`Error::Options`] for invalid options, an invalid mask or an invalid calibration.
    pub fn open(self) -> Result<Arc<Engine>, Error> {
        self.options.validate()?;
        let mut cpu = visible_cpu()?;
        if let Some(mask) = self.cpu_mask {
            cpu = cpu
                .masked(&mask)
                .map_err(|error| OptionsError::new(error.to_string()).from("cpu_mask"))?;
        }
        process::watch_forks();
        let min_threads = self.options.min_threads;
        let costs = match self.calibration {
            Some(calibration) => {
                calibration.validate()?;
                Costs::calibrated(calibration)
            }
            None => Costs::default(),
        };
        let mut engine = Engine::new(
            self.options,
            CipherDevices {
                cpu,
                costs,
                only: self.cipher_device,
            },
            #[cfg(feature = "rsa")]
            self.jobs_max.unwrap_or(JOBS_MAX),
        );
        if self.guest {
            engine.become_guest();
        }
        engine.show(Shown::where_asked(self.options.publish));
        let engine = Arc::new(engine);
        if min_threads > 0 {
            engine.pool();
        }
        Ok(engine)
    }
}

#[cfg(feature = "rsa")]
const JOBS_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Threads;
    use crate::plan::cores::cpus;

    #[test]
    fn a_pool_made_while_options_change_has_the_new_limits() {
        if cpus() == 1 {
            return;
        }
        for round in 0..3000 {
            let mut setup = Setup::default();
            setup.options.max_threads = Threads::Exactly(1);
            let engine = setup.open().unwrap();
            let mut options = engine.options();
            options.max_threads = Threads::Exactly(0);
            let together = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    together.wait();
                    engine.pool();
                });
                together.wait();
                // From before the other thread's first step to after its last, round by round.
                for _ in 0..round % 100 {
                    std::hint::spin_loop();
                }
                engine.set_options(options);
            });
            assert_eq!(engine.pool().max_threads(), 0, "round {round}");
        }
    }
}
