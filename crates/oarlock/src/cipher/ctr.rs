//! Stream ciphers, inline or in stripes.
#![allow(unsafe_code)]

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cipher::consts::{U16, U24, U32};
use cipher::{
    BlockCipherEncrypt, Iv, IvSizeUser, Key, KeyInit, KeyIvInit, KeySizeUser, OverflowError,
    SeekNum, StreamCipher, StreamCipherError, StreamCipherSeek,
};
use inout::InOutBuf;
use oarlock_kernels::xor::Xor;
use zeroize::ZeroizeOnDrop;

use super::algorithm::{Aes128, Aes192, Aes256, Algorithm, AnyAes, AnyStream};
use crate::Error;
use crate::costs::lookup::kernel_cost;
use crate::costs::stats::OperationStats;
use crate::device::SessionParams;
use crate::device::keyed::block::BlockCtr;
use crate::device::keyed::stream::{self, StreamKey};
use crate::device::session::Session;
use crate::options::{PrefetchWorker, Strategy};
use crate::plan::ahead::REQUESTS_PER_TIMED;
use crate::plan::engine::{Engine, Reserved};
use crate::plan::long::LongRequest;
use crate::plan::pace::{Pace, Way};
use crate::plan::prefetch::{Consumer, StreamSource, Taken};
use crate::threads::pool::Stripes;
use crate::threads::prefetch::Reader;
use crate::work::algorithm::{Kind, Operation};
use crate::work::counter::{Geometry, advanced, distance};

/// A stream cipher: AES in counter mode, from [`Accelerator::ctr`], or any other, from
/// [`Accelerator::stream`]. The stream is that of RustCrypto's `ctr::Ctr128BE` (`ctr::Ctr64BE` over
/// blocks of 8 bytes, `chacha20::ChaCha20`) bit for bit, and so are the traits.
///
/// A request is done when the call returns, on the calling thread alone or with the pool's help.
/// Key, schedule, tables and keystream are wiped on drop.
///
/// With a key size, as in `AcceleratedCtr<Aes128>`, it can also be made by [`KeyIvInit`] where
/// generic code demands it; it then belongs to no accelerator and is always inline.
pub struct AcceleratedCtr<A: Algorithm = AnyAes> {
    session: Session<StreamKey>,
    algorithm: A,
    iv: u128,
    /// Counter block of the next byte.
    counter: u128,
    /// Bytes of that block that are used up: less than a block has.
    skip: usize,
    /// Bytes that may go inline before the next look at clock and pool.
    unseen_bytes_left: usize,
    /// Of these, as many there were after the last look.
    unseen_bytes_max: usize,
    /// Without the bytes since `counted_to`: the position tells them, so a request need not.
    counts: OperationStats,
    counted_to: (u128, usize),
    pace: Pace,
    strategy: Strategy,
    /// The strategy was set for this session by itself.
    has_own_strategy: bool,
    /// Of the options that were taken over last.
    options_version: usize,
    prefetch: Option<Box<Prefetch>>,
    /// Looks since streams were last asked for and there was no room.
    looks_without_room: u32,
    engine: Option<Arc<Engine>>,
    _reserved: Option<Reserved>,
}

impl AcceleratedCtr<AnyAes> {
    pub(crate) fn open(engine: &Arc<Engine>, key: &[u8], iv: &[u8]) -> Result<Self, Error> {
        let params = params(key)?;
        let iv = counter_block(params.operation, iv)?;
        let reserved = engine.reserve()?;
        let session = Session::open(&engine.registry, engine.cpu, params, key)?;
        Ok(Self::of(
            session,
            AnyAes(()),
            iv,
            Some(Arc::clone(engine)),
            reserved,
        ))
    }

    /// Starts anew with another key, of 16, 24 or 32 bytes, at `iv`, 16 bytes. The old key is wiped.
    ///
    /// # Errors
    /// As [`Accelerator::ctr`]; nothing has changed then.
    pub fn set_key(&mut self, key: &[u8], iv: &[u8]) -> Result<(), Error> {
        let params = params(key)?;
        let iv = counter_block(params.operation, iv)?;
        let session = match &self.engine {
            Some(engine) => Session::open(&engine.registry, engine.cpu, params, key)?,
            None => Session::on_kernels(params, key),
        };
        self.hand_in_stats();
        self.pace.begin_anew(session.cost);
        // The streams are of the old key.
        self.prefetch = None;
        self.session = session;
        self.iv = iv;
        self.place(iv, 0);
        self.begin_strategy();
        Ok(())
    }
}

impl AcceleratedCtr<AnyStream> {
    pub(crate) fn open_stream(
        engine: &Arc<Engine>,
        operation: Operation,
        key: &[u8],
        iv: &[u8],
    ) -> Result<Self, Error> {
        // A stream cannot fail, so there must be a kernel for when every device has.
        let Some(algorithm) = AnyStream::of(operation).filter(|_| operation.is_built_in()) else {
            return Err(Error::InvalidInput(format!(
                "{operation} is not a stream cipher that is built in"
            )));
        };
        if key.len() != operation.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "a key of {operation} has {} bytes, this one has {}",
                operation.key_bytes(),
                key.len()
            )));
        }
        let iv = counter_block(operation, iv)?;
        let reserved = engine.reserve()?;
        let session = Session::open(
            &engine.registry,
            engine.cpu,
            SessionParams { operation },
            key,
        )?;
        Ok(Self::of(
            session,
            algorithm,
            iv,
            Some(Arc::clone(engine)),
            reserved,
        ))
    }

    pub(crate) fn open_block<C>(engine: &Arc<Engine>, key: &[u8], iv: &[u8]) -> Result<Self, Error>
    where
        C: BlockCipherEncrypt + KeyInit + Send + Sync + 'static,
    {
        let operation = match C::block_size() {
            16 => Operation::OtherCtr,
            8 => Operation::OtherCtr64,
            other => {
                return Err(Error::InvalidInput(format!(
                    "counter mode is built for blocks of 16 and 8 bytes, not of {other}"
                )));
            }
        };
        let iv = counter_block(operation, iv)?;
        let cipher = BlockCtr::<C>::new(key).ok_or_else(|| {
            Error::InvalidKey(format!("the cipher takes no key of {} bytes", key.len()))
        })?;
        let reserved = engine.reserve()?;
        let session = Session::settled(
            StreamKey::Other(Arc::new(cipher)),
            SessionParams { operation },
            &[],
            kernel_cost(&engine.costs, engine.cpu, operation),
        );
        // `operation` is one of two streams.
        let Some(algorithm) = AnyStream::of(operation) else {
            return Err(Error::InvalidInput(format!("{operation} is no stream")));
        };
        Ok(Self::of(
            session,
            algorithm,
            iv,
            Some(Arc::clone(engine)),
            reserved,
        ))
    }
}

impl<A: Algorithm> AcceleratedCtr<A> {
    fn of(
        session: Session<StreamKey>,
        algorithm: A,
        iv: u128,
        engine: Option<Arc<Engine>>,
        reserved: Option<Reserved>,
    ) -> Self {
        let mut ctr = Self {
            pace: Pace::new(session.cost),
            session,
            algorithm,
            iv,
            counter: iv,
            skip: 0,
            unseen_bytes_left: 0,
            unseen_bytes_max: 0,
            counts: OperationStats::default(),
            counted_to: (iv, 0),
            strategy: Strategy::Inline,
            has_own_strategy: false,
            options_version: 0,
            prefetch: None,
            looks_without_room: 0,
            engine,
            _reserved: reserved,
        };
        ctr.take_over_options();
        ctr
    }

    /// Takes the accelerator's options over if they have changed.
    fn take_over_options(&mut self) {
        if let Some(engine) = &self.engine {
            let version = engine.live.version();
            if version != self.options_version {
                self.options_version = version;
                let options = engine.options();
                let stream_bytes = options.cipher_blocks << self.algorithm.block_shift();
                self.pace
                    .may_make_ahead(stream_bytes * options.cipher_streams());
                if !self.has_own_strategy {
                    self.strategy = options.strategy;
                    return self.begin_strategy();
                }
            }
        }
        self.look_again();
    }

    fn begin_strategy(&mut self) {
        match self.strategy {
            Strategy::Prefetch => self.begin_prefetch(),
            Strategy::Inline | Strategy::Stripe => self.prefetch = None,
            Strategy::Auto => {}
        }
        self.look_again();
    }

    /// The device that serves this session now.
    pub fn device(&self) -> &str {
        self.session.device()
    }

    /// Sends requests this way from now on, whatever the accelerator's options say. Without an
    /// accelerator all are inline whatever is set, and so are those to a driver, which spreads its
    /// own work.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
        self.has_own_strategy = true;
        self.begin_strategy();
    }

    /// Makes keystream ahead on the calling thread, from the position of the next byte on, for up to
    /// `budget`: for a caller that has time to spend before it has data. Whatever the strategy, the
    /// next requests use what is there. Returns how many bytes were made; none where there is no
    /// room left ([`Options::prefetch_bytes`](crate::Options)), the streams are full or a driver
    /// serves this session.
    ///
    /// ```
    /// use cipher::StreamCipher;
    /// use std::time::{Duration, Instant};
    ///
    /// let accelerator = oarlock::Accelerator::builder().build()?;
    /// let mut cipher = accelerator.ctr(&[7; 16], &[0; 16])?;
    /// assert!(cipher.prefill(Duration::from_secs(1)) > 0); // sooner, if the streams are full
    /// cipher.apply_keystream(&mut [0; 100]);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn prefill(&mut self, budget: Duration) -> usize {
        if self
            .prefetch
            .as_ref()
            .is_none_or(|it| it.consumer.is_orphaned())
        {
            let worker = self.prefetch.take().and_then(|it| it.worker);
            self.prefetch = self.new_prefetch(worker);
        }
        let (counter, skip) = (self.counter, self.skip);
        let Some(prefetch) = &mut self.prefetch else {
            return 0;
        };
        prefetch.is_active = true;
        prefetch.consumer.expect(counter, skip);
        let ring = prefetch.consumer.ring();
        let bytes = ring.fill_for(budget) as usize * ring.granule_bytes();
        prefetch.consumer.warm();
        self.look_again();
        bytes
    }

    /// Bytes that this session's prefetch streams take.
    pub fn prefetch_bytes(&self) -> usize {
        self.prefetch
            .as_ref()
            .map_or(0, |prefetch| prefetch.consumer.ring().bytes())
    }

    /// Streams that a worker fills, from here on; without room for them, none.
    fn begin_prefetch(&mut self) {
        let Some(engine) = &self.engine else {
            return;
        };
        let worker = engine.options().prefetch_worker;
        self.looks_without_room = 0;
        self.prefetch = None;
        self.prefetch = self.new_prefetch(Some(worker));
        self.call_worker();
    }

    /// By a long request of a session that was promised streams and may have found no room for them:
    /// asks again every [`LOOKS_PER_RETRY`] looks, since others let go of theirs.
    fn retry_prefetch(&mut self) {
        if self.strategy != Strategy::Prefetch || self.prefetch.is_some() {
            return;
        }
        self.looks_without_room += 1;
        if self.looks_without_room == LOOKS_PER_RETRY {
            self.begin_prefetch();
            self.look_again();
        }
    }

    fn new_prefetch(&self, worker: Option<PrefetchWorker>) -> Option<Box<Prefetch>> {
        let engine = self.engine.as_ref()?;
        let key = match &self.session.keyed {
            StreamKey::Driver(_) => return None,
            StreamKey::Other(key) => Arc::clone(key),
            // Of its own: the session's may go away while a worker uses it.
            _ => {
                let operation = self.session.params().operation;
                stream::keystream(engine.cpu, operation, self.session.key()).ok()?
            }
        };
        let geometry = Geometry {
            block_shift: self.algorithm.block_shift(),
            counter_bits: self.algorithm.counter_bits(),
        };
        let options = engine.options();
        let size = self.pace.ring_size(
            options.cipher_blocks << geometry.block_shift,
            options.cipher_streams(),
        );
        let source = StreamSource { key, geometry };
        let reader = Reader::new(
            size,
            Box::new(source),
            &engine.prefetched,
            options.prefetch_bytes,
        )?;
        let xor = Xor::new(engine.cpu);
        let mut consumer = Consumer::new(reader, geometry, xor, self.counter);
        consumer.expect(self.counter, self.skip);
        Some(Box::new(Prefetch {
            consumer,
            worker,
            is_active: true,
            taken: Taken::default(),
            requests: 0,
        }))
    }

    /// Has the streams refilled, where there is enough to fill.
    fn call_worker(&self) {
        let (Some(engine), Some(prefetch)) = (&self.engine, &self.prefetch) else {
            return;
        };
        if let Some(worker) = prefetch.worker {
            engine.fill(prefetch.consumer.ring(), worker);
        }
    }

    #[cold]
    #[inline(never)]
    fn apply_prefetched(&mut self, mut prefetch: Box<Prefetch>, data: InOutBuf<'_, '_, u8>) {
        let bytes = data.len();
        let began = prefetch
            .is_to_be_timed(bytes, self.strategy)
            .then(Instant::now);
        let taken = prefetch.consumer.apply(
            self.counter,
            self.skip,
            data,
            &mut |counter, skip, piece| self.apply_here(counter, skip, piece),
        );
        self.advance(bytes);
        self.counts.prefetched_bytes += taken.ready;
        prefetch.taken += taken;
        if taken.ready == 0 && prefetch.worker.is_none() {
            // Used up, and nobody refills it.
            prefetch.is_active = false;
        }
        let mut is_worth_it = prefetch.is_worth_it();
        if let Some(began) = began {
            let inline = taken.inline as usize;
            is_worth_it &= self.pace.learn_taking(bytes, inline, began, Instant::now());
        }
        self.prefetch = Some(prefetch);
        if self.strategy == Strategy::Auto && !is_worth_it {
            self.prefetch = None;
            self.pace.prefetch_failed();
        }
        self.call_worker();
        // A session that moved in between has looked while the streams were out of its hands.
        let is_active = self.prefetch.as_ref().is_some_and(|it| it.is_active);
        if !is_active || self.unseen_bytes_max != 0 {
            self.look_again();
        }
    }

    /// Starts anew with the same key at `iv`, 16 bytes for AES. Never waits.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another length; nothing has changed then.
    pub fn set_iv(&mut self, iv: &[u8]) -> Result<(), Error> {
        self.iv = counter_block(self.session.params().operation, iv)?;
        self.place(self.iv, 0);
        Ok(())
    }

    /// XORs the keystream that starts at `iv` onto `data`: [`set_iv`](Self::set_iv) and a request in
    /// one. The stream goes on from there.
    ///
    /// # Errors
    /// As [`set_iv`](Self::set_iv).
    pub fn apply_keystream_with_iv(&mut self, iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.set_iv(iv)?;
        self.apply_keystream(data);
        Ok(())
    }

    /// Hands the counts since the last time in to [`Accelerator::stats`].
    pub fn hand_in_stats(&mut self) {
        self.count_bytes();
        if let Some(engine) = &self.engine
            && self.counts != OperationStats::default()
        {
            let counts = std::mem::take(&mut self.counts);
            engine.totals.add(
                self.session.device(),
                self.session.params().operation,
                counts,
            );
        }
    }

    /// The whole of a request on this thread.
    #[inline(always)]
    fn apply_inline(&mut self, data: InOutBuf<'_, '_, u8>) {
        let bytes = data.len();
        self.apply_here(self.counter, self.skip, data);
        self.advance(bytes);
    }

    /// Kernels are called from here, everything else from functions of its own: what the others
    /// need on the stack would cost the kernels 0.5 ns of 7.
    #[inline(always)]
    fn apply_here(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if self.session.has_lost_its_device() {
            return self.apply_elsewhere(counter, skip, data);
        }
        #[cfg(target_arch = "x86_64")]
        if let StreamKey::Cached(ctr) = &mut self.session.keyed {
            return ctr.apply(counter, skip, data);
        }
        if let StreamKey::Kernel(ctr) = &mut self.session.keyed {
            return ctr.apply(counter, skip, data);
        }
        self.apply_by_the_device(counter, skip, data);
    }

    #[inline(never)]
    fn apply_by_the_device(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if let Err(data) = self.session.keyed.apply(counter, skip, data) {
            self.apply_elsewhere(counter, skip, data);
        }
    }

    /// Where the options leave the way to the plan: whether all goes inline from now on.
    pub(crate) fn keep_inline(&mut self, is_inline: bool) {
        let strategy = match (self.strategy, is_inline) {
            (Strategy::Auto, true) => Strategy::Inline,
            (Strategy::Inline, false) if self.has_own_strategy => Strategy::Auto,
            _ => return,
        };
        self.set_strategy(strategy);
    }

    /// Counter block of the next byte, and bytes of it that are used up.
    pub(crate) fn position(&self) -> (u128, usize) {
        (self.counter, self.skip)
    }

    /// Starts anew with the same key at byte `skip` of the block at `counter`.
    pub(crate) fn begin_at(&mut self, counter: u128, skip: usize) {
        self.iv = counter;
        self.place(counter, skip);
    }

    /// Goes to another position.
    fn place(&mut self, counter: u128, skip: usize) {
        self.count_bytes();
        (self.counter, self.skip) = (counter, skip);
        self.counted_to = (counter, skip);
        if self.prefetch.is_some() {
            self.prefetch_from_here();
        }
    }

    /// The position has changed: what is made ahead is to lie ahead of it.
    #[cold]
    fn prefetch_from_here(&mut self) {
        let (counter, skip) = (self.counter, self.skip);
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.consumer.expect(counter, skip);
        }
        self.call_worker();
    }

    fn count_bytes(&mut self) {
        let (counter, skip) = self.counted_to;
        let blocks = distance(counter, self.counter, self.algorithm.counter_bits()) as u64;
        let bytes = blocks
            .wrapping_mul(self.block_bytes() as u64)
            .wrapping_add(self.skip as u64);
        self.counts.bytes += bytes.wrapping_sub(skip as u64);
        self.counted_to = (self.counter, self.skip);
    }

    /// Moves from device to device until one has done it; at the end are the kernels, which cannot
    /// fail.
    #[cold]
    fn apply_elsewhere<'a>(&mut self, counter: u128, skip: usize, mut data: InOutBuf<'a, 'a, u8>) {
        // None is asked twice, or two that fail would send the request to and fro for ever.
        let mut failed = Vec::new();
        loop {
            self.hand_in_stats();
            self.session.move_away(&mut failed);
            self.pace.begin_anew(self.session.cost);
            self.look_again();
            match self.session.keyed.apply(counter, skip, data) {
                Ok(()) => return,
                Err(again) => data = again,
            }
        }
    }

    #[inline(always)]
    fn advance(&mut self, bytes: usize) {
        self.counts.requests += 1;
        let end = self.skip + bytes;
        self.counter = self.counter_after(self.counter, end >> self.algorithm.block_shift());
        self.skip = end & (self.block_bytes() - 1);
    }

    #[inline(always)]
    fn block_bytes(&self) -> usize {
        1 << self.algorithm.block_shift()
    }

    #[inline(always)]
    fn counter_after(&self, counter: u128, blocks: usize) -> u128 {
        advanced(counter, blocks as u128, self.algorithm.counter_bits())
    }

    /// A request that may gain from help.
    #[cold]
    #[inline(never)]
    fn apply_long(&mut self, data: InOutBuf<'_, '_, u8>) {
        if self
            .engine
            .as_ref()
            .is_some_and(|engine| engine.live.version() != self.options_version)
        {
            self.take_over_options();
        }
        self.retry_prefetch();
        if let Some(prefetch) = self
            .prefetch
            .take_if(|it| it.serves(data.len(), self.strategy))
        {
            if !prefetch.consumer.is_orphaned() {
                return self.apply_prefetched(prefetch, data);
            }
            // Its workers are in the parent of this process.
            let worker = prefetch.worker;
            drop(prefetch);
            if worker.is_some() {
                self.prefetch = self.new_prefetch(worker);
                self.call_worker();
            }
            self.look_again();
        }
        self.look_again();
        if matches!(self.strategy, Strategy::Inline | Strategy::Prefetch) {
            return self.apply_inline(data);
        }
        if self.strategy == Strategy::Auto && !self.pace.looks_at(data.len()) {
            self.pace.add_unseen(data.len());
            self.apply_inline(data);
            return self.pace.pass_over();
        }
        if self.session.keyed.shared().is_none() || self.session.has_lost_its_device() {
            return self.apply_inline(data);
        }
        // Taken out for the time of the request, which is cheaper than a count.
        let Some(engine) = self.engine.take() else {
            return self.apply_inline(data);
        };
        self.with_engine(engine, |ctr, engine| ctr.apply_long_with(engine, data));
        if self.pace.wants_keystream_ahead() {
            self.begin_prefetch();
            if self.prefetch.is_none() {
                self.pace.prefetch_failed();
            }
        }
        self.look_again();
        if self.counts.striped_requests > 0 {
            self.hand_in_stats();
        }
    }

    /// Runs a request with `engine`, the accelerator taken out for its time, and puts that back even
    /// if the request panics: in a stripe of a cipher that a caller brought, for one.
    fn with_engine<T>(
        &mut self,
        engine: Arc<Engine>,
        request: impl FnOnce(&mut Self, &Engine) -> T,
    ) -> T {
        let done = catch_unwind(AssertUnwindSafe(|| request(self, &engine)));
        self.engine = Some(engine);
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn apply_long_with(&mut self, engine: &Engine, data: InOutBuf<'_, '_, u8>) {
        if LongRequest::helpers_max(engine) == 0 {
            return self.apply_inline(data);
        }
        let request = LongRequest::begin(engine, data.len());
        let way = request.choose(self.strategy, &mut self.pace);
        match way {
            Way::Inline => self.apply_inline(data),
            Way::Stripe { helpers } => self.apply_in_stripes(&request, helpers, data),
        }
        request.end(way, &mut self.pace, &mut self.counts);
    }

    fn apply_in_stripes(
        &mut self,
        request: &LongRequest<'_>,
        helpers: usize,
        data: InOutBuf<'_, '_, u8>,
    ) {
        let bytes = data.len();
        let stripe_bytes = self.pace.stripe_bytes(bytes, helpers + 1);
        if bytes <= stripe_bytes {
            return self.apply_inline(data);
        }
        // Stripes begin at blocks: the rest of a block begun earlier goes first.
        let block_shift = self.algorithm.block_shift();
        let head_bytes = self.skip.wrapping_neg() & (self.block_bytes() - 1);
        let mut counter = self.counter;
        let next = self.counter_after(counter, (head_bytes > 0).into());
        self.session.keyed.prepare(next);
        // With the key at hand even if its device is withdrawn by now: the request is under way.
        let Some(keyed) = self.session.keyed.shared() else {
            return self.apply_inline(data);
        };
        let (head, rest) = data.split_at(head_bytes.min(bytes));
        if !head.is_empty() {
            keyed.apply(counter, self.skip, head);
            counter = next;
        }
        let counter_bits = self.algorithm.counter_bits();
        let stripes = Stripes::cut(rest, stripe_bytes);
        request.share(helpers, stripes.count(), &mut self.counts, &|number| {
            // SAFETY: `share` asks for each number below the count it was given, once.
            let stripe = unsafe { stripes.stripe(number) };
            let blocks = u128::from(number) * (stripes.stripe_bytes() >> block_shift) as u128;
            keyed.apply(advanced(counter, blocks, counter_bits), 0, stripe);
        });
        self.advance(bytes);
    }

    /// As ctr::Ctr128BE: with b bits that count, 2^b - 1 blocks from the IV, and a block begun
    /// counts as used.
    #[cold]
    fn check_remaining_near_the_end(
        &self,
        block: u128,
        data_len: usize,
    ) -> Result<(), StreamCipherError> {
        let (used, rest) = if self.skip == 0 {
            (block, data_len)
        } else {
            (
                block.wrapping_add(1),
                data_len.saturating_sub(self.block_bytes() - self.skip),
            )
        };
        let wanted = rest.div_ceil(self.block_bytes()) as u128;
        if wanted > self.last_block().saturating_sub(used) {
            Err(StreamCipherError)
        } else {
            Ok(())
        }
    }

    /// The number of the block that the next byte is of, counted from the IV.
    #[inline(always)]
    fn block(&self) -> u128 {
        distance(self.iv, self.counter, self.algorithm.counter_bits())
    }

    /// The number of the block that is never used.
    fn last_block(&self) -> u128 {
        u128::MAX >> (128 - self.algorithm.counter_bits())
    }

    /// Begins to count the bytes until the next look at clock and pool.
    fn look_again(&mut self) {
        let unseen = self.unseen_bytes_max - self.unseen_bytes_left;
        self.pace.add_unseen(unseen);
        self.unseen_bytes_max = match self.strategy {
            _ if self.prefetch.as_ref().is_some_and(|it| it.is_active) => 0,
            _ if self.engine.is_none() => usize::MAX,
            Strategy::Stripe => 2 * self.block_bytes(),
            _ => self.pace.unseen_bytes_max(),
        };
        self.unseen_bytes_left = self.unseen_bytes_max;
    }
}

impl<A: Algorithm> StreamCipher for AcceleratedCtr<A> {
    #[inline(always)]
    fn check_remaining(&self, data_len: usize) -> Result<(), StreamCipherError> {
        // No buffer has 2^64 blocks, so nothing ends while the high half has room.
        let block = self.block();
        if self.algorithm.counter_bits() == 128 && (block >> 64) as u64 != u64::MAX {
            return Ok(());
        }
        self.check_remaining_near_the_end(block, data_len)
    }

    #[inline(always)]
    fn unchecked_apply_keystream_inout(&mut self, data: InOutBuf<'_, '_, u8>) {
        match self.unseen_bytes_left.checked_sub(data.len()) {
            Some(left) if left > 0 => {
                self.unseen_bytes_left = left;
                self.apply_inline(data);
            }
            _ => self.apply_long(data),
        }
    }

    fn unchecked_write_keystream(&mut self, data: &mut [u8]) {
        data.fill(0);
        self.unchecked_apply_keystream_inout(data.into());
    }
}

impl<A: Algorithm> StreamCipherSeek for AcceleratedCtr<A> {
    fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        let (block, block_bytes) = (self.block(), self.block_bytes() as u8);
        // `SeekNum` counts bytes back from the end of a block that is begun.
        match self.skip {
            0 => T::from_block_byte(block, block_bytes, block_bytes),
            skip => {
                let next = block.checked_add(1).ok_or(OverflowError)?;
                T::from_block_byte(next, skip as u8, block_bytes)
            }
        }
    }

    fn try_seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
        let (block, byte) = position.into_block_byte::<u128>(self.block_bytes() as u8)?;
        if block > self.last_block() || byte != 0 && block == self.last_block() {
            return Err(StreamCipherError);
        }
        let counter = advanced(self.iv, block, self.algorithm.counter_bits());
        self.place(counter, byte.into());
        Ok(())
    }
}

/// Streams of keystream that a session keeps.
struct Prefetch {
    consumer: Consumer,
    /// Who fills them, beside the session's owner.
    worker: Option<PrefetchWorker>,
    /// Requests are to look whether keystream is there.
    is_active: bool,
    /// Since they were last found worth it.
    taken: Taken,
    /// Requests that were served.
    requests: u32,
}

impl Prefetch {
    /// Whether a request of `bytes` is to take what is there. One that is longer than the streams
    /// are is better cut into stripes.
    fn serves(&self, bytes: usize, strategy: Strategy) -> bool {
        self.is_active && (strategy != Strategy::Auto || bytes <= self.consumer.ring().bytes())
    }

    /// Whether this is one of those that tell how fast keystream is taken: long enough for the
    /// clock, and few enough that looks at it do not count.
    fn is_to_be_timed(&mut self, bytes: usize, strategy: Strategy) -> bool {
        self.requests = self.requests.wrapping_add(1);
        strategy == Strategy::Auto
            && bytes >= TIMED_BYTES_MIN
            && self.requests.is_multiple_of(REQUESTS_PER_TIMED)
    }

    /// Whether a fair part of the last bytes was there.
    fn is_worth_it(&mut self) -> bool {
        let Taken { ready, inline } = self.taken;
        if ready + inline < 4 * self.consumer.ring().bytes() as u64 {
            return true;
        }
        self.taken = Taken::default();
        ready >= inline / 8
    }
}

macro_rules! sized_key {
    ($size:ident, $bytes:ty, $operation:ident) => {
        impl KeySizeUser for AcceleratedCtr<$size> {
            type KeySize = $bytes;
        }

        impl IvSizeUser for AcceleratedCtr<$size> {
            type IvSize = U16;
        }

        impl KeyIvInit for AcceleratedCtr<$size> {
            fn new(key: &Key<Self>, iv: &Iv<Self>) -> Self {
                let params = SessionParams {
                    operation: Operation::$operation,
                };
                let session = Session::on_kernels(params, key);
                let iv = u128::from_be_bytes((*iv).into());
                Self::of(session, $size(()), iv, None, None)
            }
        }
    };
}

sized_key!(Aes128, U16, Aes128Ctr);
sized_key!(Aes192, U24, Aes192Ctr);
sized_key!(Aes256, U32, Aes256Ctr);

impl<A: Algorithm> ZeroizeOnDrop for AcceleratedCtr<A> {}

impl<A: Algorithm> Drop for AcceleratedCtr<A> {
    fn drop(&mut self) {
        self.hand_in_stats();
    }
}

impl<A: Algorithm> fmt::Debug for AcceleratedCtr<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceleratedCtr")
            .field("operation", &self.session.params().operation)
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

fn params(key: &[u8]) -> Result<SessionParams, Error> {
    let operation = Operation::aes_ctr(key.len()).ok_or_else(|| {
        Error::InvalidKey(format!(
            "an AES key has 16, 24 or 32 bytes, this one has {}",
            key.len()
        ))
    })?;
    Ok(SessionParams { operation })
}

/// The counter block that a stream begins at: the IV, big-endian, above as many zeros as its
/// counter has bits that are not in it.
fn counter_block(operation: Operation, iv: &[u8]) -> Result<u128, Error> {
    let Kind::Stream {
        iv_bytes,
        counter_bits,
        ..
    } = operation.kind()
    else {
        return Err(Error::InvalidInput(format!("{operation} is no stream")));
    };
    if iv.len() != iv_bytes {
        return Err(Error::InvalidInput(format!(
            "an IV of {operation} has {iv_bytes} bytes, this one has {}",
            iv.len()
        )));
    }
    let number = iv.iter().fold(0, |n, byte| n << 8 | u128::from(*byte));
    Ok(if counter_bits == 32 {
        number << 32
    } else {
        number
    })
}

/// To ask for streams costs about a key set-up, and looks are at least 2 µs of work apart.
const LOOKS_PER_RETRY: u32 = 64;

/// Shorter requests are not timed by a clock of 20 to 40 ns.
const TIMED_BYTES_MIN: usize = 4096;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;

    use cipher::{StreamCipherCoreWrapper, StreamCipherSeekCore};

    use super::*;
    use crate::Accelerator;
    use crate::device::{Device, DeviceError, DeviceSession, Offer, OpenSession, Request};

    const KEY: [u8; 16] = [0x2b; 16];
    const IV: [u8; 16] = [0xf0; 16];

    type Core = ctr::CtrCore<aes::Aes128, ctr::flavors::Ctr128BE>;
    type Oracle = StreamCipherCoreWrapper<Core>;

    /// Both at block `block` of the stream, where no seek in bytes leads.
    fn at_block(block: u128) -> (Oracle, AcceleratedCtr<Aes128>) {
        let mut core = Core::new(&KEY.into(), &IV.into());
        core.set_block_pos(block);
        let mut ours = AcceleratedCtr::<Aes128>::new(&KEY.into(), &IV.into());
        ours.counter = ours.iv.wrapping_add(block);
        (Oracle::from_core(core), ours)
    }

    fn assert_same_position(oracle: &Oracle, ours: &AcceleratedCtr<Aes128>, what: &str) {
        assert_eq!(
            oracle.try_current_pos::<i32>().ok(),
            ours.try_current_pos::<i32>().ok(),
            "i32, {what}"
        );
        assert_eq!(
            oracle.try_current_pos::<u32>().ok(),
            ours.try_current_pos::<u32>().ok(),
            "u32, {what}"
        );
        assert_eq!(
            oracle.try_current_pos::<u64>().ok(),
            ours.try_current_pos::<u64>().ok(),
            "u64, {what}"
        );
        assert_eq!(
            oracle.try_current_pos::<usize>().ok(),
            ours.try_current_pos::<usize>().ok(),
            "usize, {what}"
        );
        assert_eq!(
            oracle.try_current_pos::<u128>().ok(),
            ours.try_current_pos::<u128>().ok(),
            "u128, {what}"
        );
    }

    #[test]
    fn the_end_of_the_stream_is_where_rustcrypto_has_it() {
        for before in 0..6 {
            for first in 0..40 {
                let (mut oracle, mut ours) = at_block(u128::MAX - before);
                for bytes in [first, 1, 0, 15, 16, 17, 1] {
                    let what = format!("{before} blocks before, {first} first, then {bytes}");
                    let (mut expected, mut data) = ([0; 40], [0; 40]);
                    assert_eq!(
                        oracle.try_apply_keystream(&mut expected[..bytes]).is_ok(),
                        ours.try_apply_keystream(&mut data[..bytes]).is_ok(),
                        "{what}"
                    );
                    assert_eq!(expected, data, "{what}");
                    for more in 0..40 {
                        assert_eq!(
                            oracle.check_remaining(more).is_ok(),
                            ours.check_remaining(more).is_ok(),
                            "{what}, {more} more"
                        );
                    }
                    assert_same_position(&oracle, &ours, &what);
                }
            }
        }
        // Where the checks look closer: 2^64 blocks before.
        for before in [(1 << 64) - 1, 1 << 64, (1 << 64) + 1] {
            let (oracle, ours) = at_block(u128::MAX - before);
            for bytes in [0, 1, 1 << 40, isize::MAX as usize] {
                assert_eq!(
                    oracle.check_remaining(bytes).is_ok(),
                    ours.check_remaining(bytes).is_ok()
                );
            }
        }
    }

    #[test]
    fn beyond_the_end_the_unchecked_stream_goes_on_as_rustcryptos() {
        for before in 0..3 {
            for bytes in [16, 32, 48, 64, 80, 96] {
                let (mut oracle, mut ours) = at_block(u128::MAX - before);
                let (mut expected, mut data) = ([0; 96], [0; 96]);
                oracle.unchecked_apply_keystream(&mut expected[..bytes]);
                ours.unchecked_apply_keystream(&mut data[..bytes]);
                assert_eq!(expected, data);
                assert_same_position(&oracle, &ours, &format!("{before} {bytes}"));
                assert_eq!(
                    oracle.check_remaining(16).is_ok(),
                    ours.check_remaining(16).is_ok()
                );
            }
        }
    }

    #[test]
    fn seeks_are_rustcryptos_for_every_kind_of_number() {
        fn check<T: SeekNum + Copy + fmt::Debug>(positions: &[T]) {
            for &position in positions {
                let (mut oracle, mut ours) = at_block(3);
                let what = format!("{position:?}");
                assert_eq!(
                    oracle.try_seek(position).is_ok(),
                    ours.try_seek(position).is_ok(),
                    "{what}"
                );
                assert_same_position(&oracle, &ours, &what);
                let (mut expected, mut data) = ([0; 100], [0; 100]);
                assert_eq!(
                    oracle.try_apply_keystream(&mut expected).is_ok(),
                    ours.try_apply_keystream(&mut data).is_ok(),
                    "{what}"
                );
                assert_eq!(expected, data, "{what}");
                assert_same_position(&oracle, &ours, &what);
            }
        }
        macro_rules! ends {
            ($($number:ty)*) => {$(
                let mut positions: Vec<$number> = (0..40).collect();
                positions.extend((<$number>::MAX - 120)..=<$number>::MAX);
                positions.extend((1..40).map(|less| <$number>::MAX / 2 - less));
                positions.extend((1..40).map(|less| <$number>::MAX / 16 - less));
                check(&positions);
            )*};
        }
        ends!(i32 u32 u64 usize u128);
    }

    /// A device that computes with the kernels, and may be asked for anything.
    struct Driver(&'static str, u64);
    struct Slot(oarlock_kernels::aes::Ctr);

    impl Device for Driver {
        fn name(&self) -> &str {
            self.0
        }
        fn probe(&self, _: &SessionParams) -> Option<Offer> {
            Some(Offer {
                preference: 0,
                bytes_per_second: self.1,
            })
        }
        fn open_session(&self, _: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
            let cpu = oarlock_kernels::cpu::Cpu::PORTABLE;
            let ctr = oarlock_kernels::aes::Ctr::new(key, cpu)
                .map_err(|error| DeviceError(error.to_string()))?;
            Ok(OpenSession::from_driver(Box::new(Slot(ctr))))
        }
        fn capacity(&self) -> usize {
            1
        }
    }

    impl DeviceSession for Slot {
        fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError> {
            for request in batch {
                let Request::Keystream(request) = request else {
                    return Err(DeviceError("streams only".into()));
                };
                self.0
                    .apply(request.counter, request.skip, request.data.reborrow());
            }
            Ok(())
        }
    }

    #[test]
    fn a_device_withdrawn_once_the_stripes_are_decided_on_leaves_none_undone() {
        let accelerator = Accelerator::builder().max_threads(2).build().unwrap();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let mut oracle = Oracle::new(&KEY.into(), &IV.into());
        let (mut expected, mut data) = (vec![0; 100_005], vec![0; 100_005]);
        oracle.apply_keystream(&mut expected);
        cipher.apply_keystream(&mut data[..5]);
        // The only one left is a driver, whose sessions cannot be shared. No request looks between
        // its choice of stripes and their start, so this is where a withdrawal may fall.
        accelerator.register(Arc::new(Driver("slow", 1))).unwrap();
        accelerator.withdraw("cpu");
        accelerator.withdraw("software");
        let request = LongRequest::begin(&accelerator.0, 100_000);
        cipher.apply_in_stripes(&request, 1, (&mut data[5..]).into());
        assert!(data == expected);
        // Nor does it if the session has moved there.
        let (mut again, mut oracle_again) = (vec![0; 100_000], vec![0; 100_000]);
        oracle.apply_keystream(&mut oracle_again);
        cipher.apply_keystream(&mut again[..3]);
        assert_eq!(cipher.device(), "slow");
        cipher.apply_in_stripes(&request, 1, (&mut again[3..]).into());
        assert!(again == oracle_again);
    }

    #[test]
    fn a_session_that_moves_while_its_requests_are_passed_over_begins_anew() {
        let accelerator = Accelerator::builder().max_threads(2).build().unwrap();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let bytes = cipher.unseen_bytes_max;
        let mut data = vec![0; bytes];
        // The first stands alone, so the next would be passed over.
        cipher.apply_keystream(&mut data[..bytes]);
        accelerator.withdraw("cpu");
        cipher.apply_keystream(&mut data[..bytes]);
        assert!(cipher.pace.looks_at(1));
    }

    #[test]
    fn a_session_that_moves_in_the_middle_of_its_streams_goes_on_looking_at_them() {
        let accelerator = Accelerator::builder()
            .max_threads(0)
            .strategy(Strategy::Prefetch)
            .build()
            .unwrap();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let mut oracle = Oracle::new(&KEY.into(), &IV.into());
        let (mut expected, mut data) = ([0; 300], [0; 300]);
        oracle.apply_keystream(&mut expected);
        cipher.apply_keystream(&mut data[..100]);
        assert_eq!(cipher.unseen_bytes_max, 0);
        accelerator.withdraw("cpu");
        cipher.apply_keystream(&mut data[100..200]);
        assert_ne!(cipher.device(), "cpu");
        assert_eq!(cipher.unseen_bytes_max, 0);
        cipher.apply_keystream(&mut data[200..]);
        assert_eq!(data, expected);
    }

    #[test]
    fn a_session_without_room_for_streams_gets_them_once_another_has_gone() {
        let builder = Accelerator::builder()
            .max_threads(0)
            .strategy(Strategy::Prefetch);
        let of_one = {
            let accelerator = builder.clone().build().unwrap();
            accelerator.ctr(&KEY, &IV).unwrap().prefetch_bytes()
        };
        let accelerator = builder.prefetch_bytes(of_one).build().unwrap();
        let first = accelerator.ctr(&KEY, &IV).unwrap();
        let mut second = accelerator.ctr(&KEY, &IV).unwrap();
        assert_eq!(second.prefetch_bytes(), 0);
        for _ in 0..2 * LOOKS_PER_RETRY {
            second.retry_prefetch();
        }
        assert_eq!(second.prefetch_bytes(), 0);
        drop(first);
        let asked = (1..=LOOKS_PER_RETRY).find(|_| {
            second.retry_prefetch();
            second.prefetch_bytes() > 0
        });
        assert_eq!(asked, Some(LOOKS_PER_RETRY));
        // They are where the stream is, and its requests look at them.
        let (mut expected, mut data) = ([0; 1000], [0; 1000]);
        Oracle::new(&KEY.into(), &IV.into()).apply_keystream(&mut expected);
        assert!(second.prefill(Duration::MAX) > 0);
        second.apply_keystream(&mut data);
        assert_eq!(data, expected);
        assert_eq!(second.counts.prefetched_bytes, 1000);
        // One that is to have none does not ask.
        drop(second);
        let mut inline = accelerator.ctr(&KEY, &IV).unwrap();
        inline.set_strategy(Strategy::Inline);
        for _ in 0..2 * LOOKS_PER_RETRY {
            inline.retry_prefetch();
        }
        assert_eq!(inline.prefetch_bytes(), 0);
    }

    #[test]
    fn a_request_that_panics_leaves_the_session_its_accelerator() {
        let accelerator = Accelerator::builder().build().unwrap();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        for panics in [false, true] {
            let inner = cipher.engine.take().unwrap();
            let done = catch_unwind(AssertUnwindSafe(|| {
                cipher.with_engine(inner, |_, _| assert!(!panics, "as a stripe may"));
            }));
            assert_eq!(done.is_err(), panics);
            let kept = cipher.engine.as_ref().unwrap();
            assert!(Arc::ptr_eq(kept, &accelerator.0));
        }
    }

    #[test]
    fn inline_requests_take_no_lock() {
        for mask in ["", "-avx512", "-aes"] {
            let accelerator = Accelerator::builder().cpu_mask(mask).build().unwrap();
            let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
            let mut forced = accelerator.ctr(&KEY, &IV).unwrap();
            forced.set_strategy(Strategy::Inline);
            // The pool is there, so that its locks could be asked for.
            accelerator.0.pool();
            let (done, wait) = mpsc::channel();
            let requests = accelerator.0.with_every_lock_held(|| {
                std::thread::spawn(move || {
                    let mut data = vec![0; 3_000_000];
                    for bytes in [0, 1, 15, 64, 1000, 16_384] {
                        cipher.apply_keystream(&mut data[..bytes]);
                        cipher.seek(bytes);
                        cipher.set_iv(&IV).unwrap();
                    }
                    // Long enough for a look at clock and pool, not for a helper.
                    let long_bytes = cipher.unseen_bytes_max;
                    for _ in 0..2 {
                        cipher.apply_keystream(&mut data[..long_bytes]);
                    }
                    forced.apply_keystream(&mut data);
                    done.send((cipher, forced)).unwrap();
                });
                wait.recv_timeout(oarlock_testing::LIMIT)
            });
            assert!(
                requests.is_ok(),
                "{mask}: an inline request waits for a lock"
            );
        }
    }
}
