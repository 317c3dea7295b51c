//! The builder of an accelerator.

use oarlock_engine::costs::Calibration;
use oarlock_engine::device::CipherDevice;
use oarlock_engine::plan::Setup;
use oarlock_engine::{Error, Offer, Options, PrefetchWorker, Reservation, Strategy, Threads};
use oarlock_threads::process;

use crate::accelerator::Accelerator;

impl Accelerator {
    /// Returns a builder with the defaults of [`Options`].
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
    /// Replaces all options set so far.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.setup.options = options;
        self
    }

    /// Makes [`build`](Self::build) also read options from the variable `OARLOCK_OPTIONS` ("name=value,..."). They override
    /// those set here. The variable is ignored in a program that runs with more rights than its user (AT_SECURE).
    #[must_use]
    pub fn environment(mut self) -> Self {
        self.environment = true;
        self
    }

    /// Adapts the accelerator to a library inside foreign programs, such as the OpenSSL provider. A pool thread then gives
    /// up its capabilities and sets no_new_privs as it begins, and ends 10 ms after its last work unless
    /// [`min_threads`](Options::min_threads) keeps it, so that an idle single-threaded program has one thread again. All
    /// guest accelerators of a process share one pool, which has as many threads as the greatest of their `max_threads`
    /// allows.
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

    /// Hides CPU features from this accelerator, as `OARLOCK_CPU` does; for tests. See
    /// [`Cpu::masked`](oarlock_kernels::cpu::Cpu::masked) for the syntax.
    #[must_use]
    pub fn cpu_mask(mut self, mask: impl Into<String>) -> Self {
        self.setup.cpu_mask = Some(mask.into());
        self
    }

    /// Plans by measurements of this machine ([`Accelerator::calibrate`]) instead of the library's tables. The tables still
    /// apply to everything that was not measured.
    #[must_use]
    pub fn calibration(mut self, calibration: Calibration) -> Self {
        self.setup.calibration = Some(calibration);
        self
    }

    /// Sets the most jobs that may wait at once; the default is 1024. A further job is refused with
    /// [`QueueFull`](crate::job::QueueFull), which returns its bytes.
    #[cfg(feature = "rsa")]
    #[must_use]
    pub fn jobs_max(mut self, count: usize) -> Self {
        self.setup.jobs_max = Some(count);
        self
    }

    /// Lets only `device` compute ciphers, for comparisons and tests. By default each session opens on the device that is
    /// expected to be fastest.
    #[must_use]
    pub fn cipher_device(mut self, device: CipherDevice) -> Self {
        self.setup.cipher_device = Some(device);
        self
    }

    /// Builds the accelerator. It starts `min_threads` threads, and reads no file unless it starts one. With
    /// [`publish`](Self::publish) it creates a file for its figures; if that fails, it works without one.
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
