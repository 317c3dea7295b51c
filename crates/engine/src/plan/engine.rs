//! The state that an accelerator's sessions share. This module does not know sessions or how they serve requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use oarlock_kernels::cpu::Cpu;

#[cfg(feature = "rsa")]
use super::batches::{Jobs, Work};
#[cfg(feature = "rsa")]
use super::cores::callers_max;
use super::cores::{Busy, Callers, cpus};
use super::crowd::Crowd;
use crate::Error;
use crate::costs::calibration::MachineCosts;
use crate::costs::cost::Cost;
use crate::costs::live::LiveMachine;
use crate::costs::lookup::{CostSource, kernel_cost};
use crate::costs::published::{Other, Shown};
use crate::costs::stats::{Stats, Totals};
use crate::device::ciphers::{CipherDevices, CipherOffer};
use crate::options::{Options, PrefetchWorker, Reservation, Threads};
use crate::work::algorithm::{Algorithm, Direction};
#[cfg(feature = "rsa")]
use crate::work::request::Buffer;
#[cfg(feature = "rsa")]
use oarlock_threads::job::{Job, JobOptions, QueueFull, Start};
use oarlock_threads::page::Gauge;
use oarlock_threads::pool::Background;
use oarlock_threads::pool::{Limits, Pool, Scheduling};
use oarlock_threads::prefetch::{Budget, Reader, Ring, RingSize, Source};
use oarlock_threads::process;

/// The state that all sessions of an accelerator share: options, costs, devices, counts, the pool and the job queue.
pub struct Engine {
    options: RwLock<Options>,
    /// A copy of some `options`, for requests that must not wait for a lock.
    pub(crate) live: Live,
    pub(crate) cpu: Cpu,
    /// Counters that other processes see.
    pub(crate) shown: Shown,
    pub(crate) machine: LiveMachine,
    /// The devices of ciphers, with the costs of all algorithms.
    pub(crate) ciphers: CipherDevices,
    pub(crate) totals: Totals,
    /// It comes before the pool so that it is dropped first: a thread that waits for a job then need not wait for the
    /// pool.
    #[cfg(feature = "rsa")]
    pub(crate) jobs: Jobs,
    /// Made when first needed: making it reads the number of CPUs.
    pool: OnceLock<Arc<Pool>>,
    /// One thread, for prefetch next to the consumer.
    idle_pool: OnceLock<Arc<Pool>>,
    /// Whether the program is not ours; its engines then share one pool of each kind.
    is_guest: bool,
    prefetched: Arc<Budget>,
    callers: Callers,
    pub(super) crowd: Crowd,
    /// Threads kept by ciphers under [`Reservation::Exclusive`].
    reserved: Mutex<usize>,
}

/// Options that long requests read.
#[derive(Default)]
pub(crate) struct Live {
    /// Counts changes of the options; sessions follow them when it changes.
    version: AtomicUsize,
    /// The most threads, or [`AUTO`] for one per CPU.
    max_threads: AtomicUsize,
    cipher_threads: AtomicUsize,
}

/// Stands for a number of threads that was not set.
pub(super) const AUTO: usize = usize::MAX;

/// The pools that the engines of a foreign program share while one of them exists: a program that loads the provider
/// into many library contexts gets the helpers of one.
static SHARED: Mutex<Weak<Pool>> = Mutex::new(Weak::new());
static SHARED_IDLE: Mutex<Weak<Pool>> = Mutex::new(Weak::new());

impl Live {
    fn set(&self, options: &Options) {
        let max_threads = match options.max_threads {
            Threads::Auto => AUTO,
            Threads::Exactly(count) => count,
        };
        self.max_threads.store(max_threads, Ordering::Relaxed);
        self.cipher_threads
            .store(options.cipher_threads, Ordering::Relaxed);
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn cipher_threads(&self) -> usize {
        self.cipher_threads.load(Ordering::Relaxed)
    }
}

impl Engine {
    /// Makes an engine from validated options.
    pub(crate) fn new(
        options: Options,
        ciphers: CipherDevices,
        #[cfg(feature = "rsa")] jobs_max: usize,
    ) -> Self {
        let live = Live::default();
        live.set(&options);
        let cpu = ciphers.cpu;
        Self {
            options: RwLock::new(options),
            live,
            cpu,
            shown: Shown::default(),
            machine: LiveMachine::new(ciphers.costs.machine().0),
            ciphers,
            totals: Totals::default(),
            #[cfg(feature = "rsa")]
            jobs: Jobs::new(cpu, jobs_max, callers_max),
            pool: OnceLock::new(),
            idle_pool: OnceLock::new(),
            is_guest: false,
            prefetched: Arc::default(),
            callers: Callers::default(),
            crowd: Crowd::default(),
            reserved: Mutex::new(0),
        }
    }

    /// Returns the CPU, less the features that a mask hides.
    #[inline]
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// Returns the cost of `algorithm` in this library's kernels on one thread.
    pub fn kernel_cost(&self, algorithm: Algorithm) -> Cost {
        kernel_cost(&self.ciphers.costs, self.cpu, algorithm)
    }

    /// Returns the costs of using several cores, and where they come from.
    pub fn machine_costs(&self) -> (MachineCosts, CostSource) {
        let (_, source) = self.ciphers.costs.machine();
        let source = if self.machine.has_learned() {
            CostSource::Live
        } else {
            source
        };
        (self.machine.get().into(), source)
    }

    /// Returns the counts of all sessions and jobs so far.
    pub fn stats(&self) -> Stats {
        let stats = self.totals.get();
        #[cfg(feature = "rsa")]
        let stats = Stats {
            public_key: self.jobs.stats(),
            ..stats
        };
        stats
    }

    /// Counts packets and records computed by a cipher with an HMAC, for other processes to see.
    pub fn show_chained(&self, direction: Direction, requests: u64, bytes: u64) {
        self.shown
            .count_other(Other::Chained, direction, requests, bytes);
    }

    /// Counts an OpenSSL job that paused and was never resumed.
    pub fn show_abandoned(&self) {
        self.shown.add(Gauge::Abandoned, 1);
    }

    /// Returns the name of the public-key lanes, and their number.
    #[cfg(feature = "rsa")]
    pub fn lanes(&self) -> Option<(&'static str, usize)> {
        self.jobs.lanes()
    }

    /// Returns the memory that prefetched keystream takes.
    pub fn prefetch_bytes(&self) -> usize {
        self.prefetched.taken()
    }

    /// Returns what the cipher devices offer for `algorithm`, the one first that is expected to complete a request first.
    pub fn offers(&self, algorithm: Algorithm) -> Vec<CipherOffer> {
        self.ciphers.offers(algorithm)
    }

    /// Publishes counts as `shown`. Call this before there are sessions.
    pub(crate) fn show(&mut self, shown: Shown) {
        self.shown = shown;
        #[cfg(feature = "rsa")]
        self.jobs.show(shown);
    }

    /// Marks the program as not ours. Call this before there is a pool.
    pub(crate) fn become_guest(&mut self) {
        self.is_guest = true;
    }

    /// Changes the options, which must be valid.
    pub fn set_options(&self, options: Options) {
        // If there is a pool, the CPUs have been counted; without one, nothing counts them here.
        process::undivided(|| {
            let mut current = self.options.write().unwrap_or_else(PoisonError::into_inner);
            self.live.set(&options);
            *current = options;
            // Under the lock, so that the later of two changes is the one that stays.
            if let Some(pool) = self.pool.get() {
                match self.is_guest {
                    // Other engines share it.
                    true => pool.widen(self.limits(&options)),
                    false => pool.set_limits(self.limits(&options)),
                }
            }
        });
        if options.min_threads > 0 {
            self.pool().start_up();
        }
    }

    /// Returns the number of pool threads now. This does not make the pool.
    pub fn threads(&self) -> usize {
        self.pool.get().map_or(0, |pool| pool.threads())
    }

    /// Returns the pool, and makes it if it was not needed before.
    pub fn pool(&self) -> &Pool {
        if let Some(pool) = self.pool.get() {
            return pool;
        }
        cpus();
        process::undivided(|| {
            // Held until the pool exists: options that changed before that would find no pool to change.
            let options = self.options.read().unwrap_or_else(PoisonError::into_inner);
            let join = || self.join(&SHARED, self.limits(&options));
            self.pool.get_or_init(join).as_ref()
        })
    }

    /// Returns the limits of the pool. Inside an undivided section, [`cpus`] must have been called before.
    fn limits(&self, options: &Options) -> Limits {
        Limits {
            min_threads: options.min_threads,
            // The thread that posts a task takes part in it, so one CPU is taken already; this is not so with jobs.
            max_threads: self.threads_busy_max().max(options.min_threads),
            spin: options.spin && cpus() > 1,
            scheduling: Scheduling::Normal,
            is_guest: self.is_guest,
            at_end: leave_thread,
        }
    }

    /// Returns the current options.
    pub fn options(&self) -> Options {
        process::undivided(|| *self.options.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the pool of one idle-class thread, and makes it if it was not needed before.
    pub(crate) fn idle_pool(&self) -> &Pool {
        if let Some(pool) = self.idle_pool.get() {
            return pool;
        }
        let limits = Limits {
            min_threads: 0,
            max_threads: 1,
            spin: false,
            scheduling: Scheduling::Idle,
            is_guest: self.is_guest,
            at_end: leave_thread,
        };
        process::undivided(|| {
            let join = || self.join(&SHARED_IDLE, limits);
            self.idle_pool.get_or_init(join).as_ref()
        })
    }

    /// Makes a pool of this engine's own, or joins the one that all guest engines in the process share. Call this in an
    /// undivided section.
    fn join(&self, shared: &Mutex<Weak<Pool>>, limits: Limits) -> Arc<Pool> {
        if !self.is_guest {
            return Arc::new(Pool::new(limits));
        }
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = shared.upgrade() {
            pool.widen(limits);
            return pool;
        }
        let pool = Arc::new(Pool::new(limits));
        *shared = Arc::downgrade(&pool);
        pool
    }

    /// Returns the number of helpers that would take work at once. This does not make the pool.
    pub(crate) fn helpers_awake(&self) -> usize {
        self.pool.get().map_or(0, |pool| pool.awake())
    }

    pub(crate) fn threads_max(&self) -> usize {
        match self.live.max_threads.load(Ordering::Relaxed) {
            AUTO => cpus(),
            count => count,
        }
    }

    /// Runs `run` with every lock held, to prove that a request takes none.
    #[cfg(test)]
    pub(crate) fn with_every_lock_held<T>(&self, run: impl FnOnce() -> T) -> T {
        let run = || {
            let _reserved = self.reserved.lock();
            self.pool().with_every_lock_held(run)
        };
        self.totals.with_lock_held(run)
    }

    #[cfg(test)]
    pub(crate) fn with_options_locked<T>(&self, run: impl FnOnce() -> T) -> T {
        let _held = self.options.write();
        run()
    }

    /// Returns the most helpers for one caller: none on one CPU and in a sandbox, whatever the options say.
    pub fn helpers_max(&self) -> usize {
        match self.threads_max() {
            0 => 0,
            count => count.min(cpus() - 1),
        }
    }

    /// Returns the number of CPUs without a busy caller, counting the one that asks as busy.
    pub(crate) fn cores_free(&self) -> usize {
        cpus().saturating_sub(self.callers.count().max(1))
    }

    /// Returns the reader of a new ring; `None` if all rings together would take more than `prefetch_bytes`.
    pub fn ring(&self, size: RingSize, source: Box<dyn Source>) -> Option<Reader> {
        let bytes_max = self.options().prefetch_bytes;
        Reader::new(size, source, &self.prefetched, bytes_max)
    }

    /// Has `worker` fill `ring`, if there is enough to fill.
    pub fn fill(&self, ring: &Arc<Ring>, worker: PrefetchWorker) {
        let (pool, workers_max): (fn(&Self) -> &Pool, _) = match worker {
            PrefetchWorker::Pool => (
                Self::pool,
                self.helpers_max().min(self.live.cipher_threads()),
            ),
            // Not where no thread may be made; one CPU is enough.
            PrefetchWorker::Idle => match self.threads_max() {
                0 => (Self::idle_pool, 0),
                _ => (Self::idle_pool, (!process::is_sandboxed()).into()),
            },
        };
        if workers_max > 0 && ring.enlist(workers_max) {
            let is_urgent = ring.is_low();
            pool(self).in_background(Arc::clone(ring) as Arc<dyn Background>, is_urgent);
        }
    }

    /// Returns how many pool threads may work on jobs at once. A thread that submits a job need not take part, so there
    /// may be one per CPU. On one CPU there are none.
    pub(crate) fn threads_busy_max(&self) -> usize {
        match self.helpers_max() {
            0 => 0,
            _ => self.threads_max().min(cpus()),
        }
    }

    /// Wakes pool threads for the queued jobs, if there may be any.
    #[cfg(feature = "rsa")]
    pub(crate) fn serve_jobs(&self, for_call: bool) {
        if let Some(work) = self.jobs.enlist(self.threads_busy_max(), for_call) {
            self.pool().in_jobs(work);
        }
    }

    /// Puts the request that `make` builds from `buffers` into the job queue, unless the queue is full.
    #[cfg(feature = "rsa")]
    pub(crate) fn submit<R, W: Into<Work>, T: 'static>(
        &self,
        buffers: R,
        make: impl FnOnce(R) -> W,
        options: JobOptions,
        convert: fn(Buffer) -> T,
    ) -> Result<Job<T>, QueueFull<R>> {
        let job = self.jobs.submit(buffers, make, options, convert)?;
        if options.start == Start::AtOnce {
            self.serve_jobs(false);
        }
        Ok(job)
    }

    pub(crate) fn enter(&self) -> Busy<'_> {
        self.callers.enter()
    }

    /// Reserves `cipher_threads` threads if the options ask for it. A route is made from the returned value, so none
    /// goes without.
    ///
    /// # Errors
    /// [`Error::NoThreadsFree`] if fewer are left.
    pub(crate) fn reserve(self: &Arc<Self>) -> Result<Reserved, Error> {
        let options = self.options();
        let threads = match options.reservation {
            Reservation::Shared => 0,
            Reservation::Exclusive => options.cipher_threads,
        };
        if threads > 0 {
            self.take_threads(threads)?;
        }
        Ok(Reserved {
            engine: Arc::clone(self),
            threads,
        })
    }

    fn take_threads(&self, wanted: usize) -> Result<(), Error> {
        let threads_max = self.threads_max();
        process::undivided(|| {
            let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
            let free = threads_max.saturating_sub(*reserved);
            if wanted > free {
                return Err(Error::NoThreadsFree { wanted, free });
            }
            *reserved += wanted;
            Ok(())
        })
    }
}

/// An accelerator, and the threads that it reserves for a cipher: none unless the options ask for it.
pub(crate) struct Reserved {
    engine: Arc<Engine>,
    threads: usize,
}

impl Reserved {
    #[inline(always)]
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.threads == 0 {
            return;
        }
        process::undivided(|| {
            *self
                .engine
                .reserved
                .lock()
                .unwrap_or_else(PoisonError::into_inner) -= self.threads;
        });
    }
}

/// Called by pool threads before they end.
fn leave_thread() {
    #[cfg(feature = "rsa")]
    crate::aws_lc::leave_thread();
}
