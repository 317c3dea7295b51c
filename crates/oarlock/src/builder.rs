//! How an accelerator is built.

use oarlock_engine::costs::Calibration;
use oarlock_engine::plan::Setup;
use oarlock_engine::{Error, Offer, Options, PrefetchWorker, Reservation, Strategy, Threads};
use oarlock_threads::process;

use crate::accelerator::Accelerator;

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
    setup: Setup,
    environment: bool,
}

impl Builder {
    /// Replaces all options that were set so far.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.setup.options = options;
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
        self.setup.guest = true;
        self
    }

    /// See [`Options::min_threads`].
    #[must_use]
    pub fn min_threads(mut self, count: usize) -> Self {
        self.setup.options.min_threads = count;
        self
    }

    /// See [`Options::max_threads`].
    #[must_use]
    pub fn max_threads(mut self, count: impl Into<Threads>) -> Self {
        self.setup.options.max_threads = count.into();
        self
    }

    /// See [`Options::cipher_threads`].
    #[must_use]
    pub fn cipher_threads(mut self, count: usize) -> Self {
        self.setup.options.cipher_threads = count;
        self
    }

    /// See [`Options::cipher_blocks`].
    #[must_use]
    pub fn cipher_blocks(mut self, blocks: usize) -> Self {
        self.setup.options.cipher_blocks = blocks;
        self
    }

    /// See [`Options::cipher_streams`].
    #[must_use]
    pub fn cipher_streams(mut self, streams: usize) -> Self {
        self.setup.options.cipher_streams = Some(streams);
        self
    }

    /// See [`Options::reservation`].
    #[must_use]
    pub fn reservation(mut self, reservation: Reservation) -> Self {
        self.setup.options.reservation = reservation;
        self
    }

    /// See [`Options::strategy`].
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.setup.options.strategy = strategy;
        self
    }

    /// See [`Options::prefetch_bytes`].
    #[must_use]
    pub fn prefetch_bytes(mut self, bytes: usize) -> Self {
        self.setup.options.prefetch_bytes = bytes;
        self
    }

    /// See [`Options::prefetch_worker`].
    #[must_use]
    pub fn prefetch_worker(mut self, worker: PrefetchWorker) -> Self {
        self.setup.options.prefetch_worker = worker;
        self
    }

    /// See [`Options::offer`].
    #[must_use]
    pub fn offer(mut self, offer: Offer) -> Self {
        self.setup.options.offer = offer;
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
        self.setup.options.publish = publish;
        self
    }

    /// See [`Options::spin`].
    #[must_use]
    pub fn spin(mut self, spin: bool) -> Self {
        self.setup.options.spin = spin;
        self
    }

    /// Hides CPU features, as `OARLOCK_CPU` does: see [`Cpu::masked`](oarlock_kernels::cpu::Cpu::masked). For tests.
    #[must_use]
    pub fn cpu_mask(mut self, mask: impl Into<String>) -> Self {
        self.setup.cpu_mask = Some(mask.into());
        self
    }

    /// Plans by measurements of this machine ([`Accelerator::calibrate`]) instead of the library's
    /// tables, which still hold for everything that is not in them.
    #[must_use]
    pub fn calibration(mut self, calibration: Calibration) -> Self {
        self.setup.calibration = Some(calibration);
        self
    }

    /// The most jobs that may wait at once; 1024 unless set. One more is refused with
    /// [`QueueFull`](crate::job::QueueFull), which gives its bytes back.
    #[cfg(feature = "rsa")]
    #[must_use]
    pub fn jobs_max(mut self, count: usize) -> Self {
        self.setup.jobs_max = Some(count);
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
            self.setup
                .options
                .set_all(&text)
                .map_err(|error| error.from("OARLOCK_OPTIONS"))?;
        }
        self.setup.open().map(Accelerator)
    }
}
