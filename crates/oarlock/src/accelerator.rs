//! The handle, and how it is built.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use cipher::{BlockCipherEncrypt, KeyInit};
use oarlock_kernels::cpu::Cpu;

use crate::aead::{AcceleratedAead, NonceSequence, SequencedAead};
use crate::calibration::{self, Calibration, MachineCosts};
use crate::cipher::cbc::AcceleratedCbc;
use crate::cipher::ctr::AcceleratedCtr;
use crate::cipher::{AnyAes, AnyStream};
use crate::context::{AeadContext, CbcContext, StreamContext};
#[cfg(feature = "software")]
use crate::device::SoftwareDevice;
use crate::device::{CpuDevice, Device, Operation, Registry};
use crate::error::OptionsError;
#[cfg(feature = "software")]
use crate::job::Jobs;
use crate::options::{Options, PrefetchWorker, Reservation, Strategy, Threads};
#[cfg(feature = "software")]
use crate::pk::{
    AcceleratedModExp, AcceleratedRsa, AcceleratedRsaPublic, ByteOrder, Lanes, RsaPrivateKey,
    RsaPublicKey,
};
use crate::plan::{CostSource, Costs, LiveMachine, PlanReport};
use crate::pool::{Background, Class, Limits, Pool};
use crate::prefetch::{Budget, Ring};
use crate::stats::{Stats, Totals};
use crate::{Error, process};

/// Devices, a pool and a plan. A handle: clones share all of it. Sessions keep it alive, and its
/// threads end with the last of them.
#[derive(Clone)]
pub struct Accelerator(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    options: RwLock<Options>,
    /// Of `options`, for those who may not wait for a lock.
    pub(crate) live: Live,
    pub(crate) cpu: Cpu,
    pub(crate) costs: Costs,
    pub(crate) machine: LiveMachine,
    pub(crate) registry: Arc<Registry>,
    pub(crate) totals: Totals,
    /// Before the pool, so that it goes first: who waits for a job then need not wait for a thread.
    #[cfg(feature = "software")]
    pub(crate) jobs: Jobs,
    /// Made when first needed: making it reads how many CPUs there are.
    pool: OnceLock<Pool>,
    /// One thread, for prefetch beside the consumer.
    idle_pool: OnceLock<Pool>,
    pub(crate) prefetched: Arc<Budget>,
    callers: Callers,
    /// Threads kept by ciphers under [`Reservation::Exclusive`].
    reserved: Mutex<usize>,
}

/// Options that long requests read.
#[derive(Default)]
pub(crate) struct Live {
    /// Counts changes; sessions take theirs over when it moves.
    version: AtomicUsize,
    /// [`AUTO`] for as many as CPUs.
    max_threads: AtomicUsize,
    cipher_threads: AtomicUsize,
}

const AUTO: usize = usize::MAX;

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

impl Accelerator {
    /// Starts from the defaults of [`Options`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// AES-CTR with a 128-bit big-endian counter that starts at `iv`: the stream of
    /// `ctr::Ctr128BE<Aes128>` and of `openssl enc -aes-128-ctr`, and likewise for 192 and 256 bits.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has 16, 24 or 32 bytes, [`Error::InvalidInput`] unless
    /// `iv` has 16; [`Error::NoThreadsFree`] under [`Reservation::Exclusive`].
    pub fn ctr(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCtr<AnyAes>, Error> {
        AcceleratedCtr::open(self, key, iv)
    }

    /// The stream cipher `operation`, at `iv`.
    ///
    /// ```
    /// use cipher::StreamCipher;
    /// use oarlock::{Accelerator, device::Operation};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let mut cipher = accelerator.stream(Operation::Camellia128Ctr, &[7; 16], &[0; 16])?;
    /// cipher.apply_keystream(&mut [0; 100]);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has [`Operation::key_bytes`], [`Error::InvalidInput`]
    /// for an `iv` of another length than [`Kind::Stream`](crate::device::Kind) says and for what
    /// is no stream cipher; [`Error::DeviceFailed`] where no device offers it;
    /// [`Error::NoThreadsFree`] under [`Reservation::Exclusive`].
    pub fn stream(
        &self,
        operation: Operation,
        key: &[u8],
        iv: &[u8],
    ) -> Result<AcceleratedCtr<AnyStream>, Error> {
        AcceleratedCtr::open_stream(self, operation, key, iv)
    }

    /// The authenticated cipher `operation`: AES-GCM or ChaCha20-Poly1305.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has [`Operation::key_bytes`], [`Error::InvalidInput`]
    /// for what is no AEAD; [`Error::DeviceFailed`] where no device offers it;
    /// [`Error::NoThreadsFree`] under [`Reservation::Exclusive`].
    pub fn aead(&self, operation: Operation, key: &[u8]) -> Result<AcceleratedAead, Error> {
        AcceleratedAead::open_session(self, operation, key)
    }

    /// The authenticated cipher `operation` for messages whose nonces are a sequence, from number 0
    /// on, so that the keystream of those to come can be made ahead. Messages of up to
    /// `record_bytes_max` bytes can profit from that.
    ///
    /// ```
    /// use oarlock::{Accelerator, NonceSequence, device::Operation};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let nonces = NonceSequence::Xor { iv: [9; 12] };
    /// let mut tls = accelerator.sequenced_aead(Operation::ChaCha20Poly1305, &[7; 32], nonces, 16 << 10)?;
    /// let mut record = *b"a record";
    /// let tag = tls.seal_next(b"header", (&mut record[..]).into())?;
    ///
    /// let plain = accelerator.aead(Operation::ChaCha20Poly1305, &[7; 32])?;
    /// plain.open(&nonces.nonce(0), b"header", (&mut record[..]).into(), &tag)?;
    /// assert_eq!(&record, b"a record");
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`aead`](Self::aead).
    pub fn sequenced_aead(
        &self,
        operation: Operation,
        key: &[u8],
        nonces: NonceSequence,
        record_bytes_max: usize,
    ) -> Result<SequencedAead, Error> {
        SequencedAead::open_session(self, operation, key, nonces, record_bytes_max)
    }

    /// A block cipher of the caller's in counter mode (SP 800-38A, 6.5), all bits of the block
    /// counting; blocks of 16 or 8 bytes. Wiping `C` on drop is its own affair.
    ///
    /// ```
    /// let accelerator = oarlock::Accelerator::builder().build()?;
    /// let cipher = accelerator.block_ctr::<aes::Aes128>(&[7; 16], &[0; 16])?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where the cipher does not take the key; otherwise as
    /// [`stream`](Self::stream).
    pub fn block_ctr<C>(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCtr<AnyStream>, Error>
    where
        C: BlockCipherEncrypt + KeyInit + Send + Sync + 'static,
    {
        AcceleratedCtr::open_block::<C>(self, key, iv)
    }

    /// AES-CBC that begins at `iv`: the blocks of `cbc::Encryptor<Aes128>` and of
    /// `openssl enc -aes-128-cbc`, and likewise for 192 and 256 bits.
    ///
    /// ```
    /// let accelerator = oarlock::Accelerator::builder().build()?;
    /// let mut cipher = accelerator.cbc(&[0x42; 16], &[0x24; 16])?;
    /// let mut message = b"attack at dawn".to_vec();
    /// cipher.encrypt_padded(&mut message)?;
    /// assert_eq!(message.len(), 16);
    /// cipher.set_iv(&[0x24; 16])?;
    /// cipher.decrypt_padded(&mut message)?;
    /// assert_eq!(message, b"attack at dawn");
    ///
    /// // Whole blocks, in as many pieces as there are.
    /// cipher.set_iv(&[0x25; 16])?;
    /// let mut data = vec![0; 1 << 20];
    /// for piece in data.chunks_mut(4096) {
    ///     cipher.encrypt(piece.into())?;
    /// }
    /// cipher.set_iv(&[0x25; 16])?;
    /// cipher.decrypt(data.as_mut_slice().into())?;
    /// assert!(data.iter().all(|byte| *byte == 0));
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has 16, 24 or 32 bytes, [`Error::InvalidInput`] unless
    /// `iv` has 16; [`Error::NoThreadsFree`] under [`Reservation::Exclusive`].
    pub fn cbc(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCbc, Error> {
        AcceleratedCbc::open(self, key, iv)
    }

    /// The stream cipher `operation` without a key yet, for programs that set key and position
    /// apart. See [`StreamContext`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for what is no stream cipher, or not built in.
    #[inline(always)]
    pub fn stream_context(&self, operation: Operation) -> Result<StreamContext, Error> {
        StreamContext::new(self, operation)
    }

    /// AES-CBC without a key yet, likewise. See [`CbcContext`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for what is not CBC.
    #[inline(always)]
    pub fn cbc_context(&self, operation: Operation) -> Result<CbcContext, Error> {
        CbcContext::new(self, operation)
    }

    /// An authenticated cipher without a key yet, likewise. See [`AeadContext`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for what is no AEAD.
    #[inline(always)]
    pub fn aead_context(&self, operation: Operation) -> Result<AeadContext, Error> {
        AeadContext::new(self, operation)
    }

    /// A private key of RSA, to sign and decrypt with.
    ///
    /// ```
    /// use oarlock::{Accelerator, Hash, RsaPrivateKey, SignatureScheme};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let key = RsaPrivateKey::from_pem(include_str!("../tests/keys/rsa2048.pem"))?;
    /// let rsa = accelerator.rsa(&key);
    /// let scheme = SignatureScheme::Pss(Hash::Sha256);
    /// let signature = rsa.sign(scheme, b"message")?;
    /// rsa.public().verify(scheme, b"message", &signature)?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    #[cfg(feature = "software")]
    pub fn rsa(&self, key: &RsaPrivateKey) -> AcceleratedRsa {
        AcceleratedRsa::new(self, key)
    }

    /// A public key of RSA, to verify and encrypt with.
    #[cfg(feature = "software")]
    pub fn rsa_public(&self, key: &RsaPublicKey) -> AcceleratedRsaPublic {
        AcceleratedRsaPublic::new(self, key)
    }

    /// Modular exponentiation with one modulus, which is set up once. `order` is that of the modulus,
    /// and of all numbers that are given and come back later.
    ///
    /// ```
    /// use oarlock::{Accelerator, Base, ByteOrder};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let modulus = accelerator.modexp(&[13], ByteOrder::BigEndian)?;
    /// assert_eq!(**modulus.power(Base::from(&[2]), &[5])?, [6]);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless the modulus is odd and has 2 to 4096 bits; leading zeros do not
    /// count.
    #[cfg(feature = "software")]
    pub fn modexp(&self, modulus: &[u8], order: ByteOrder) -> Result<AcceleratedModExp, Error> {
        AcceleratedModExp::new(self, modulus, order)
    }

    /// The options in force.
    pub fn options(&self) -> Options {
        self.0.options()
    }

    /// Changes the options of a running accelerator. Sessions take them over with their next long
    /// request, but for a strategy that was set for a session by itself and for the shape of
    /// prefetch streams that are there; threads too many end when they have been idle for a while.
    /// A request that is under way goes on as it began.
    ///
    /// ```
    /// let accelerator = oarlock::Accelerator::builder().max_threads(1).build()?;
    /// let mut options = accelerator.options();
    /// options.set("max_threads", "8")?;
    /// accelerator.set_options(options)?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Options`] for options that do not fit; nothing has changed then.
    pub fn set_options(&self, options: Options) -> Result<(), Error> {
        options.validate()?;
        let inner = &self.0;
        let min_threads = options.min_threads;
        // A pool that is there has had the CPUs counted; without one nobody looks at them yet.
        process::undivided(|| {
            let mut current = inner
                .options
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            inner.live.set(&options);
            *current = options;
            // Under the lock, so that of two changes the later one stays.
            if let Some(pool) = inner.pool.get() {
                pool.set_limits(inner.limits(&options));
            }
        });
        if min_threads > 0 {
            inner.pool().start_up();
        }
        Ok(())
    }

    /// Bytes that the prefetch streams of all sessions take now.
    pub fn prefetch_bytes(&self) -> usize {
        self.0.prefetched.taken()
    }

    /// The CPU's features, less what a mask hides.
    #[inline]
    pub fn cpu(&self) -> Cpu {
        self.0.cpu
    }

    /// Adds a device; sessions opened from now on may use it.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when one of that name is there.
    pub fn register(&self, device: Arc<dyn Device>) -> Result<(), Error> {
        self.0.registry.register(device)
    }

    /// Takes a device away; its sessions move to others with their next request. Returns whether
    /// it was there. Without any device left, sessions that are open go on with this library's
    /// kernels, and new ones are refused.
    pub fn withdraw(&self, name: &str) -> bool {
        self.0.registry.withdraw(name)
    }

    /// The devices, in order of registration.
    pub fn devices(&self) -> Vec<Arc<dyn Device>> {
        self.0
            .registry
            .list()
            .iter()
            .map(|entry| Arc::clone(&entry.device))
            .collect()
    }

    /// Measures what the plan goes by: every operation of the devices `cpu` and `software`, and, where
    /// a helper may run, the ways between cores. Takes up to 20 ms, in which other work on the
    /// machine shows. It changes nothing here: give the result to [`Builder::calibration`].
    ///
    /// ```
    /// use oarlock::Accelerator;
    ///
    /// let calibration = Accelerator::builder().build()?.calibrate();
    /// let accelerator = Accelerator::builder().calibration(calibration).build()?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn calibrate(&self) -> Calibration {
        calibration::measure(&self.0)
    }

    /// How a new session of `operation` would be planned, now and under these options.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] where no device offers it.
    pub fn plan(&self, operation: Operation) -> Result<PlanReport, Error> {
        PlanReport::of(&self.0, operation)
    }

    /// What the ways between cores cost, as far as is known now, and from where.
    pub fn machine_costs(&self) -> (MachineCosts, CostSource) {
        let (_, source) = self.0.costs.machine();
        let source = if self.0.machine.has_learned() {
            CostSource::Live
        } else {
            source
        };
        (self.0.machine.get().into(), source)
    }

    /// What went where, as far as sessions have handed it in.
    pub fn stats(&self) -> Stats {
        let stats = self.0.totals.get();
        #[cfg(feature = "software")]
        let stats = Stats {
            public_key: self.0.jobs.stats(),
            ..stats
        };
        stats
    }

    /// Pool threads that are there now.
    pub fn threads(&self) -> usize {
        self.0.pool.get().map_or(0, Pool::threads)
    }

    /// Most threads that can work at once on behalf of one caller: its own, and pool threads up to
    /// `max_threads`, as far as there are CPUs for them.
    pub fn parallelism(&self) -> usize {
        1 + self.0.helpers_max()
    }

    /// Runs `work` on the calling thread and on up to `helpers` pool threads at once, and returns
    /// when all who began it have ended. `work` shares itself out, as by an atomic counter, and
    /// must get done if only the caller runs it. It may ask for help itself; it must not fork and
    /// return in the child, whose caller would wait for helpers that it does not have. A pool
    /// thread has 256 KiB of stack.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// let (next, sum) = (AtomicU64::new(0), AtomicU64::new(0));
    /// oarlock::Accelerator::builder().build()?.work_together(3, &|| {
    ///     while let number @ 0..100 = next.fetch_add(1, Relaxed) {
    ///         sum.fetch_add(number, Relaxed);
    ///     }
    /// });
    /// assert_eq!(sum.into_inner(), 4950);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Panics
    /// With the first panic of `work`, after all have ended.
    pub fn work_together(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        match helpers.min(self.0.helpers_max()) {
            0 => work(),
            helpers => self.0.pool().run(helpers, &|_| work()),
        }
    }
}

impl Inner {
    /// The pool; made now if it was not needed before.
    pub(crate) fn pool(&self) -> &Pool {
        if let Some(pool) = self.pool.get() {
            return pool;
        }
        cpus();
        process::undivided(|| {
            // Held until the pool is there: options that change meanwhile would find none to change.
            let options = self.options.read().unwrap_or_else(PoisonError::into_inner);
            self.pool.get_or_init(|| Pool::new(self.limits(&options)))
        })
    }

    /// Where a section must not be divided, [`cpus`] has been asked before.
    fn limits(&self, options: &Options) -> Limits {
        Limits {
            min_threads: options.min_threads,
            // Whoever posts a task takes part in it, so one CPU is taken already; not so with jobs.
            max_threads: self.threads_busy_max().max(options.min_threads),
            spin: options.spin && cpus() > 1,
            class: Class::Normal,
        }
    }

    pub(crate) fn options(&self) -> Options {
        process::undivided(|| *self.options.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The thread of the idle class; made now if it was not needed before.
    pub(crate) fn idle_pool(&self) -> &Pool {
        if let Some(pool) = self.idle_pool.get() {
            return pool;
        }
        let limits = Limits {
            min_threads: 0,
            max_threads: 1,
            spin: false,
            class: Class::Idle,
        };
        process::undivided(|| self.idle_pool.get_or_init(|| Pool::new(limits)))
    }

    /// Helpers that would take work at once. Asking does not make the pool.
    pub(crate) fn helpers_awake(&self) -> usize {
        self.pool.get().map_or(0, Pool::awake)
    }

    pub(crate) fn threads_max(&self) -> usize {
        match self.live.max_threads.load(Ordering::Relaxed) {
            AUTO => cpus(),
            count => count,
        }
    }

    /// For the proof that a request takes none.
    #[cfg(test)]
    pub(crate) fn with_every_lock_held<T>(&self, run: impl FnOnce() -> T) -> T {
        let run = || {
            let _reserved = self.reserved.lock();
            self.pool().with_every_lock_held(run)
        };
        self.registry
            .with_lock_held(|| self.totals.with_lock_held(run))
    }

    #[cfg(test)]
    pub(crate) fn with_options_locked<T>(&self, run: impl FnOnce() -> T) -> T {
        let _held = self.options.write();
        run()
    }

    /// Helpers for one caller. On one CPU and in a sandbox there are none, whatever the options say.
    pub(crate) fn helpers_max(&self) -> usize {
        match self.threads_max() {
            0 => 0,
            count => count.min(cpus() - 1),
        }
    }

    /// CPUs that no caller is busy on, counting the one that asks as busy.
    pub(crate) fn cores_free(&self) -> usize {
        cpus().saturating_sub(self.callers.count().max(1))
    }

    /// Has `ring` filled by `worker`, where there is enough to fill.
    pub(crate) fn fill(&self, ring: &Arc<Ring>, worker: PrefetchWorker) {
        let (pool, workers_max): (fn(&Self) -> &Pool, _) = match worker {
            PrefetchWorker::Pool => (
                Self::pool,
                self.helpers_max().min(self.live.cipher_threads()),
            ),
            // Not where no thread is to be made; one CPU will do.
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

    /// Pool threads at work at once, on jobs: who submits one need not take part, so there may be as
    /// many as CPUs. On one CPU there are none.
    fn threads_busy_max(&self) -> usize {
        match self.helpers_max() {
            0 => 0,
            _ => self.threads_max().min(cpus()),
        }
    }

    /// Has pool threads come for the jobs that wait, where there may be any.
    #[cfg(feature = "software")]
    pub(crate) fn serve_jobs(&self, for_call: bool) {
        if let Some(work) = self.jobs.enlist(self.threads_busy_max(), for_call) {
            self.pool().in_jobs(work);
        }
    }

    pub(crate) fn enter(&self) -> Busy<'_> {
        self.callers.enter()
    }

    /// Keeps `cipher_threads` threads where the options ask for it.
    pub(crate) fn reserve(self: &Arc<Self>) -> Result<Option<Reserved>, Error> {
        let options = self.options();
        if options.reservation == Reservation::Shared {
            return Ok(None);
        }
        let wanted = options.cipher_threads;
        let threads_max = self.threads_max();
        process::undivided(|| {
            let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
            let free = threads_max.saturating_sub(*reserved);
            if wanted > free {
                return Err(Error::NoThreadsFree { wanted, free });
            }
            *reserved += wanted;
            Ok(())
        })?;
        Ok(Some(Reserved {
            inner: Arc::clone(self),
            threads: wanted,
        }))
    }
}

#[cfg(feature = "software")]
const JOBS_MAX: usize = 1024;

/// CPUs that this process may use: affinity and cgroup quota. Read once, when first needed. One in a
/// sandbox, where nothing is read, since that could be the end of the process.
fn cpus() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    if process::is_sandboxed() {
        return 1;
    }
    if let Some(cpus) = CPUS.get() {
        return *cpus;
    }
    let read = || std::thread::available_parallelism().map_or(1, usize::from);
    process::undivided(|| *CPUS.get_or_init(read))
}

/// How many callers may compute public-key requests at once: each needs a CPU. In a sandbox nobody
/// knows how many there are, and nobody is to wait for another.
#[cfg(feature = "software")]
fn callers_max() -> usize {
    if process::is_sandboxed() {
        usize::MAX
    } else {
        cpus()
    }
}

/// Callers with a long request under way; each has a core. High half: the fork generation that the
/// count, in the low half, is of. A child's callers begin anew: those of its parent never end there.
#[derive(Default)]
struct Callers(AtomicU64);

impl Callers {
    fn count(&self) -> usize {
        let callers = self.0.load(Ordering::Relaxed);
        if callers >> 32 == generation() {
            callers as u32 as usize
        } else {
            0
        }
    }

    fn enter(&self) -> Busy<'_> {
        let generation = generation();
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |callers| {
                let is_ours = callers >> 32 == generation;
                Some(if is_ours { callers } else { generation << 32 } + 1)
            });
        Busy {
            callers: self,
            generation,
        }
    }
}

/// Of this process, as far as [`Callers`] keeps it.
fn generation() -> u64 {
    (process::fork_generation() as u32).into()
}

/// A caller with a long request under way.
pub(crate) struct Busy<'a> {
    callers: &'a Callers,
    generation: u64,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let _ = self
            .callers
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |callers| {
                (callers >> 32 == self.generation).then(|| callers - 1)
            });
    }
}

/// Threads that a cipher keeps for itself.
pub(crate) struct Reserved {
    inner: Arc<Inner>,
    threads: usize,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        process::undivided(|| {
            *self
                .inner
                .reserved
                .lock()
                .unwrap_or_else(PoisonError::into_inner) -= self.threads;
        });
    }
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accelerator")
            .field("options", &self.options())
            .field("cpu", &self.0.cpu)
            .finish_non_exhaustive()
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
    calibration: Option<Calibration>,
    #[cfg(feature = "software")]
    jobs_max: Option<usize>,
}

impl Builder {
    /// Takes these options in place of all that was set.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Takes options from `OARLOCK_OPTIONS` ("name=value,...") over those set, unless the program
    /// runs with more rights than its user.
    #[must_use]
    pub fn environment(mut self) -> Self {
        self.environment = true;
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

    /// See [`Options::spin`].
    #[must_use]
    pub fn spin(mut self, spin: bool) -> Self {
        self.options.spin = spin;
        self
    }

    /// Hides CPU features, as `OARLOCK_CPU` does: see [`Cpu::masked`]. For tests.
    #[must_use]
    pub fn cpu_mask(mut self, mask: impl Into<String>) -> Self {
        self.cpu_mask = Some(mask.into());
        self
    }

    /// Plans by what was measured on this machine, in place of the tables that come with the
    /// library: see [`Accelerator::calibrate`]. What it does not name goes by the tables.
    #[must_use]
    pub fn calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = Some(calibration);
        self
    }

    /// Most jobs that wait at once; 1024 unless set. One more is handed back:
    /// [`QueueFull`](crate::QueueFull).
    #[cfg(feature = "software")]
    #[must_use]
    pub fn jobs_max(mut self, count: usize) -> Self {
        self.jobs_max = Some(count);
        self
    }

    /// Builds it, with the devices `cpu` and `software`. Starts `min_threads` threads and nothing
    /// else; no file is read unless that makes one.
    ///
    /// # Errors
    /// [`Error::Options`] for options that do not fit, and for a word in the mask or in
    /// `OARLOCK_CPU` that names no feature; [`Error::InvalidInput`] for a calibration that no
    /// machine could give.
    pub fn build(mut self) -> Result<Accelerator, Error> {
        if self.environment
            && let Some(text) = process::environment("OARLOCK_OPTIONS")
        {
            self.options
                .set_all(&text)
                .map_err(|error| error.from("OARLOCK_OPTIONS"))?;
        }
        self.options.validate()?;
        let mut cpu = process::visible_cpu()?;
        if let Some(mask) = self.cpu_mask {
            cpu = cpu
                .masked(&mask)
                .map_err(|error| OptionsError(error.to_string()).from("cpu_mask"))?;
        }
        process::watch_forks();
        let live = Live::default();
        live.set(&self.options);
        let min_threads = self.options.min_threads;
        let costs = match self.calibration {
            Some(calibration) => {
                calibration.validate()?;
                Costs::calibrated(calibration)
            }
            None => Costs::default(),
        };
        let accelerator = Accelerator(Arc::new(Inner {
            options: RwLock::new(self.options),
            live,
            cpu,
            machine: LiveMachine::new(costs.machine().0),
            costs: costs.clone(),
            registry: Arc::default(),
            totals: Totals::default(),
            #[cfg(feature = "software")]
            jobs: Jobs::new(
                Lanes::new(cpu),
                self.jobs_max.unwrap_or(JOBS_MAX),
                callers_max,
            ),
            pool: OnceLock::new(),
            idle_pool: OnceLock::new(),
            prefetched: Arc::default(),
            callers: Callers::default(),
            reserved: Mutex::new(0),
        }));
        accelerator.register(Arc::new(CpuDevice::with_costs(cpu, costs.clone())))?;
        #[cfg(feature = "software")]
        accelerator.register(Arc::new(SoftwareDevice::with_costs(cpu, costs)))?;
        if min_threads > 0 {
            accelerator.0.pool();
        }
        Ok(accelerator)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
