//! How an accelerator is built.

use std::sync::Arc;

use crate::accelerator::Accelerator;
use crate::costs::calibration::Calibration;
use crate::costs::lookup::Costs;
use crate::costs::published::Shown;
use crate::device::CpuDevice;
#[cfg(feature = "aws-lc")]
use crate::device::SoftwareDevice;
use crate::options::{Offer, Options, PrefetchWorker, Reservation, Strategy, Threads};
use crate::plan::engine::Engine;
use crate::{Error, OptionsError};
use oarlock_threads::process;

impl Accelerator {
    /// A builder with the defaults of [`Options`].
    pub fn builder() -> Builder {
        Builder::default()
    }
}

/// Builds an [`Accelerator`].
///
/// ```
/// use oarlock::{Accelerator, Reservation};
///
/// let accelerator = Accelerator::builder()
///     .max_threads(8)
///     .cipher_threads(4)
///     .reservation(Reservation::Exclusive)
///     .build()?;
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    options: Options,
    cpu_mask: Option<String>,
    environment: bool,
    guest: bool,
    calibration: Option<Calibration>,
    #[cfg(feature = "rsa")]
    jobs_max: Option<usize>,
}

impl Builder {
    /// Replaces all options that were set so far.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Has [`build`](Self::build) take options from the variable `OARLOCK_OPTIONS` ("name=value,...")
    /// too. They override those that are set here. A program that runs with more rights than its user
    /// (AT_SECURE) ignores the variable.
    #[must_use]
    pub fn environment(mut self) -> Self {
        self.environment = true;
        self
    }

    /// For a library within programs that are not its own, as the OpenSSL provider is. A pool thread then
    /// gives up its capabilities and sets no_new_privs as it begins, and ends 10 ms after its last work
    /// unless [`min_threads`](Options::min_threads) keeps it, so that a quiet program with one thread has one
    /// again. All accelerators of a process that are made so share one pool: there are as many threads as
    /// the greatest of their `max_threads` allows.
    ///
    /// ```
    /// let accelerator = oarlock::Accelerator::builder().guest().build()?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    #[must_use]
    pub fn guest(mut self) -> Self {
        self.guest = true;
        self
    }

    /// See [`Options::min_threads`].
    #[must_use]
    pub fn min_threads(mut self, count: usize) -> Self {
        self.options.min_threads = count;
        self
    }

    /// See [`Options::max_threads`].
    #[must_use]
    pub fn max_threads(mut self, count: impl Into<Threads>) -> Self {
        self.options.max_threads = count.into();
        self
    }

    /// See [`Options::cipher_threads`].
    #[must_use]
    pub fn cipher_threads(mut self, count: usize) -> Self {
        self.options.cipher_threads = count;
        self
    }

    /// See [`Options::cipher_blocks`].
    #[must_use]
    pub fn cipher_blocks(mut self, blocks: usize) -> Self {
        self.options.cipher_blocks = blocks;
        self
    }

    /// See [`Options::cipher_streams`].
    #[must_use]
    pub fn cipher_streams(mut self, streams: usize) -> Self {
        self.options.cipher_streams = Some(streams);
        self
    }

    /// See [`Options::reservation`].
    #[must_use]
    pub fn reservation(mut self, reservation: Reservation) -> Self {
        self.options.reservation = reservation;
        self
    }

    /// See [`Options::strategy`].
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.options.strategy = strategy;
        self
    }

    /// See [`Options::prefetch_bytes`].
    #[must_use]
    pub fn prefetch_bytes(mut self, bytes: usize) -> Self {
        self.options.prefetch_bytes = bytes;
        self
    }

    /// See [`Options::prefetch_worker`].
    #[must_use]
    pub fn prefetch_worker(mut self, worker: PrefetchWorker) -> Self {
        self.options.prefetch_worker = worker;
        self
    }

    /// See [`Options::offer`].
    #[must_use]
    pub fn offer(mut self, offer: Offer) -> Self {
        self.options.offer = offer;
        self
    }

    /// See [`Options::publish`].
    ///
    /// ```
    /// let accelerator = oarlock::Accelerator::builder().publish(false).build()?;
    /// assert!(!accelerator.options().publish);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    #[must_use]
    pub fn publish(mut self, publish: bool) -> Self {
        self.options.publish = publish;
        self
    }

    /// See [`Options::spin`].
    #[must_use]
    pub fn spin(mut self, spin: bool) -> Self {
        self.options.spin = spin;
        self
    }

    /// Hides CPU features, as `OARLOCK_CPU` does: see [`Cpu::masked`](oarlock_kernels::cpu::Cpu::masked). For tests.
    #[must_use]
    pub fn cpu_mask(mut self, mask: impl Into<String>) -> Self {
        self.cpu_mask = Some(mask.into());
        self
    }

    /// Plans by measurements of this machine ([`Accelerator::calibrate`]) instead of the library's
    /// tables, which still hold for everything that is not in them.
    #[must_use]
    pub fn calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = Some(calibration);
        self
    }

    /// The most jobs that may wait at once; 1024 unless set. One more is refused with
    /// [`QueueFull`](crate::job::QueueFull), which gives its bytes back.
    #[cfg(feature = "rsa")]
    #[must_use]
    pub fn jobs_max(mut self, count: usize) -> Self {
        self.jobs_max = Some(count);
        self
    }

    /// Builds the accelerator, with the devices `cpu` and, with the feature `aws-lc`, `software`. It
    /// starts `min_threads` threads, and reads no file unless it starts one. With
    /// [`publish`](Self::publish) it makes a file; where it cannot, it does without.
    ///
    /// # Errors
    /// [`Error::Options`] for a value outside its range, for values that contradict each other, and for
    /// a word in the mask or in `OARLOCK_CPU` that is not the name of a feature;
    /// [`Error::InvalidInput`] for a calibration with impossible figures.
    pub fn build(mut self) -> Result<Accelerator, Error> {
        if self.environment
            && let Some(text) = process::environment("OARLOCK_OPTIONS")
        {
            self.options
                .set_all(&text)
                .map_err(|error| error.from("OARLOCK_OPTIONS"))?;
        }
        self.options.validate()?;
        let mut cpu = crate::mask::visible_cpu()?;
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
            cpu,
            costs.clone(),
            #[cfg(feature = "rsa")]
            self.jobs_max.unwrap_or(JOBS_MAX),
        );
        if self.guest {
            engine.become_guest();
        }
        engine.show(Shown::where_asked(self.options.publish));
        let accelerator = Accelerator(Arc::new(engine));
        accelerator.register(Arc::new(CpuDevice::with_costs(cpu, costs.clone())))?;
        #[cfg(feature = "aws-lc")]
        accelerator.register(Arc::new(SoftwareDevice::with_costs(cpu, costs)))?;
        if min_threads > 0 {
            accelerator.0.pool();
        }
        Ok(accelerator)
    }
}

#[cfg(feature = "rsa")]
const JOBS_MAX: usize = 1024;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::cores::cpus;

    #[test]
    fn a_pool_made_while_options_change_has_the_new_limits() {
        if cpus() == 1 {
            return;
        }
        for round in 0..3000 {
            let accelerator = Accelerator::builder().max_threads(1).build().unwrap();
            let mut options = accelerator.options();
            options.max_threads = Threads::Exactly(0);
            let together = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    together.wait();
                    accelerator.0.pool();
                });
                together.wait();
                // From before the other's first step to after its last, round by round.
                for _ in 0..round % 100 {
                    std::hint::spin_loop();
                }
                accelerator.set_options(options).unwrap();
            });
            assert_eq!(accelerator.0.pool().max_threads(), 0, "round {round}");
        }
    }
}
