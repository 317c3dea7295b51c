//! A position in a keystream, and the requests that advance it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cipher::StreamCipherError;
use inout::InOutBuf;
use oarlock_kernels::xor::Xor;

use super::algorithm::StreamKind;
use crate::device::keyed::stream::{StreamKey, keystream};
use crate::device::session::Session;
use crate::options::{PrefetchWorker, Strategy};
use crate::plan::long::LongRequest;
use crate::plan::pace::Pace;
use crate::plan::prefetch::{Consumer, LOOKS_PER_RETRY, Prefetched, StreamSource};
use crate::plan::route::Route;
use crate::work::algorithm::Direction;
use crate::work::counter::{Geometry, advanced, advanced_within, distance};
use oarlock_threads::pool::Stripes;

/// A stream cipher without its route, which a long request borrows while it changes the rest.
pub(super) struct Stream<A: StreamKind> {
    pub(super) session: Session<StreamKey>,
    pub(super) kind: A,
    pub(super) iv: u128,
    /// The counter block of the next byte.
    pub(super) counter: u128,
    /// The bytes of that block that are used, fewer than a whole block.
    pub(super) skip: usize,
    /// The bytes that may go inline before the next check of clock and pool.
    unseen_bytes_left: usize,
    /// The value of `unseen_bytes_left` after the last check.
    pub(super) unseen_bytes_max: usize,
    /// The position up to which the route has counted bytes. The rest follows from the position, so requests need not
    /// count.
    counted_to: (u128, usize),
    /// Prefetched bytes that were used but not counted yet.
    pub(super) prefetched_bytes: u64,
    pub(super) prefetch: Option<Box<Prefetched>>,
    /// Checks since the last request for streams found no room.
    pub(super) looks_without_room: u32,
}

impl<A: StreamKind> Stream<A> {
    pub(super) fn new(session: Session<StreamKey>, kind: A, iv: u128) -> Self {
        Self {
            session,
            kind,
            iv,
            counter: iv,
            skip: 0,
            unseen_bytes_left: 0,
            unseen_bytes_max: 0,
            counted_to: (iv, 0),
            prefetched_bytes: 0,
            prefetch: None,
            looks_without_room: 0,
        }
    }

    /// Restarts with another key.
    pub(super) fn replace(&mut self, route: &Route, session: Session<StreamKey>, iv: u128) {
        self.hand_in(route);
        route.begin_anew(session.cost);
        self.session = session;
        // The streams belong to the old key.
        self.prefetch = None;
        self.iv = iv;
        self.place(route, iv, 0);
        self.begin_strategy(route);
    }

    /// Applies the accelerator's options if they have changed.
    pub(super) fn follow_options(&mut self, route: &Route) {
        if let Some(options) = route.follow_options() {
            let stream_bytes = options.cipher_blocks << self.kind.block_shift();
            let ring_bytes = stream_bytes * options.cipher_streams();
            route.with_pace(|pace| pace.may_make_ahead(ring_bytes));
            if !route.is_strategy_set() {
                return self.begin_strategy(route);
            }
        }
        self.look_again(route);
    }

    pub(super) fn set_strategy(&mut self, route: &Route, strategy: Strategy) {
        route.set_strategy(strategy);
        self.begin_strategy(route);
    }

    fn begin_strategy(&mut self, route: &Route) {
        match route.strategy() {
            Strategy::Prefetch => self.begin_prefetch(route),
            Strategy::Inline | Strategy::Stripe => self.prefetch = None,
            Strategy::Auto => {}
        }
        self.look_again(route);
    }

    pub(super) fn hand_in(&mut self, route: &Route) {
        self.count_bytes(route);
        route.hand_in(self.session.device(), self.session.algorithm());
    }

    /// XORs keystream onto `data` and advances past it.
    #[inline(always)]
    pub(super) fn apply(&mut self, route: &Route, data: InOutBuf<'_, '_, u8>) {
        match self.unseen_bytes_left.checked_sub(data.len()) {
            Some(left) if left > 0 => {
                self.unseen_bytes_left = left;
                self.apply_inline(route, data);
            }
            _ => self.apply_long(route, data),
        }
    }

    /// Processes a whole request on this thread.
    #[inline(always)]
    fn apply_inline(&mut self, route: &Route, data: InOutBuf<'_, '_, u8>) {
        let bytes = data.len();
        self.apply_here(self.counter, self.skip, data);
        self.advance(route, bytes);
    }

    /// Calls only kernels directly. Everything else is in separate functions, whose stack frames would cost the kernels
    /// 0.5 ns of 7.
    #[inline(always)]
    pub(super) fn apply_here(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        #[cfg(target_arch = "x86_64")]
        if let StreamKey::Cached(ctr) = &mut self.session.keyed {
            return ctr.apply(counter, skip, data);
        }
        if let StreamKey::Kernel(ctr) = &mut self.session.keyed {
            return ctr.apply(counter, skip, data);
        }
        self.apply_by_another(counter, skip, data);
    }

    #[inline(never)]
    fn apply_by_another(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        self.session.keyed.apply(counter, skip, data);
    }

    /// Moves to another position.
    pub(super) fn place(&mut self, route: &Route, counter: u128, skip: usize) {
        self.count_bytes(route);
        (self.counter, self.skip) = (counter, skip);
        self.counted_to = (counter, skip);
        self.session.keyed.seek(counter, skip);
        if self.prefetch.is_some() {
            self.prefetch_from_here(route);
        }
    }

    fn count_bytes(&mut self, route: &Route) {
        let (counter, skip) = self.counted_to;
        let blocks = distance(counter, self.counter, self.kind.counter_bits()) as u64;
        let bytes = blocks
            .wrapping_mul(self.block_bytes() as u64)
            .wrapping_add(self.skip as u64);
        let prefetched_bytes = std::mem::take(&mut self.prefetched_bytes);
        route.count_later(bytes.wrapping_sub(skip as u64), prefetched_bytes);
        self.counted_to = (self.counter, self.skip);
    }

    #[inline(always)]
    pub(super) fn advance(&mut self, route: &Route, bytes: usize) {
        let algorithm = self.session.algorithm();
        route.count_begun(algorithm, Direction::Encrypt, bytes);
        let end = self.skip + bytes;
        self.counter = self.counter_after(self.counter, end >> self.kind.block_shift());
        self.skip = end & (self.block_bytes() - 1);
    }

    #[inline(always)]
    pub(super) fn block_bytes(&self) -> usize {
        1 << self.kind.block_shift()
    }

    #[inline(always)]
    fn counter_after(&self, counter: u128, blocks: usize) -> u128 {
        advanced_within(counter, blocks as u128, self.kind.counter_mask())
    }

    /// Processes a request that may gain from help.
    #[cold]
    #[inline(never)]
    fn apply_long(&mut self, route: &Route, data: InOutBuf<'_, '_, u8>) {
        if route.has_new_options() {
            self.follow_options(route);
        }
        self.retry_prefetch(route);
        let Some(data) = self.apply_prefetched(route, data) else {
            return;
        };
        self.look_again(route);
        route.run(
            data.len(),
            LongRequest::helpers_max,
            (&mut *self, data),
            |(stream, data)| stream.apply_inline(route, data),
            |(stream, data), request| stream.apply_in_stripes(route, request, data),
        );
        if route.with_pace(Pace::wants_keystream_ahead) == Some(true) {
            self.begin_prefetch(route);
            if self.prefetch.is_none() {
                route.with_pace(Pace::prefetch_failed);
            }
        }
        self.look_again(route);
        if route.has_shared() {
            self.hand_in(route);
        }
    }

    pub(super) fn apply_in_stripes(
        &mut self,
        route: &Route,
        request: &LongRequest<'_>,
        data: InOutBuf<'_, '_, u8>,
    ) {
        let bytes = data.len();
        let stripe_bytes = request.stripe_bytes();
        if bytes <= stripe_bytes {
            return self.apply_inline(route, data);
        }
        // Stripes begin at blocks, so the rest of a partly used block goes first.
        let block_shift = self.kind.block_shift();
        let head_bytes = self.skip.wrapping_neg() & (self.block_bytes() - 1);
        let mut counter = self.counter;
        let next = self.counter_after(counter, (head_bytes > 0).into());
        self.session.keyed.prepare(next);
        let keyed = self.session.keyed.shared();
        let (head, rest) = data.split_at(head_bytes.min(bytes));
        if !head.is_empty() {
            keyed.apply(counter, self.skip, head);
            counter = next;
        }
        let counter_bits = self.kind.counter_bits();
        let stripes = Stripes::cut(rest, stripe_bytes);
        let blocks_each = (stripes.stripe_bytes() >> block_shift) as u128;
        request.share(&stripes, &|number, stripe| {
            let blocks = u128::from(number) * blocks_each;
            keyed.apply(advanced(counter, blocks, counter_bits), 0, stripe);
        });
        self.advance(route, bytes);
        self.session.keyed.seek(self.counter, self.skip);
    }

    /// Implements [`AcceleratedCtr::prefill`](crate::cipher::AcceleratedCtr::prefill).
    pub(super) fn prefill(&mut self, route: &Route, budget: Duration) -> usize {
        if self
            .prefetch
            .as_ref()
            .is_none_or(|it| it.consumer.is_orphaned())
        {
            let worker = self.prefetch.take().and_then(|it| it.worker);
            self.prefetch = self.new_prefetch(route, worker);
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
        self.look_again(route);
        bytes
    }

    pub(super) fn prefetch_bytes(&self) -> usize {
        self.prefetch
            .as_ref()
            .map_or(0, |prefetch| prefetch.bytes())
    }

    /// Creates streams from here on, for a worker to fill, or none if there is no room.
    pub(super) fn begin_prefetch(&mut self, route: &Route) {
        let Some(engine) = route.engine() else {
            return;
        };
        let worker = engine.options().prefetch_worker;
        self.looks_without_room = 0;
        self.prefetch = None;
        self.prefetch = self.new_prefetch(route, Some(worker));
        self.call_worker(route);
    }

    /// Requests streams again at every [`LOOKS_PER_RETRY`]th long request of a session under [`Strategy::Prefetch`]
    /// that found no room: others may have released theirs.
    pub(super) fn retry_prefetch(&mut self, route: &Route) {
        if route.strategy() != Strategy::Prefetch || self.prefetch.is_some() {
            return;
        }
        self.looks_without_room += 1;
        if self.looks_without_room == LOOKS_PER_RETRY {
            self.begin_prefetch(route);
            self.look_again(route);
        }
    }

    fn new_prefetch(
        &self,
        route: &Route,
        worker: Option<PrefetchWorker>,
    ) -> Option<Box<Prefetched>> {
        let engine = route.engine()?;
        let key = match &self.session.keyed {
            StreamKey::Kept(kept) => Arc::clone(&kept.key),
            StreamKey::Other(key) => Arc::clone(key),
            // A separate key, because the session's may be dropped while a worker uses it.
            _ => {
                let algorithm = self.session.algorithm();
                keystream(engine.cpu, algorithm, self.session.key()).ok()?
            }
        };
        let geometry = Geometry {
            block_shift: self.kind.block_shift(),
            counter_bits: self.kind.counter_bits(),
        };
        let options = engine.options();
        let stream_bytes = options.cipher_blocks << geometry.block_shift;
        let size =
            route.with_pace(|pace| pace.ring_size(stream_bytes, options.cipher_streams()))?;
        let source = StreamSource { key, geometry };
        let reader = engine.ring(size, Box::new(source))?;
        let xor = Xor::new(engine.cpu);
        let mut consumer = Consumer::new(reader, geometry, xor, self.counter);
        consumer.expect(self.counter, self.skip);
        Some(Box::new(Prefetched::new(consumer, worker)))
    }

    /// Makes the worker refill the streams if enough is missing.
    fn call_worker(&self, route: &Route) {
        let (Some(engine), Some(prefetch)) = (route.engine(), &self.prefetch) else {
            return;
        };
        if let Some(worker) = prefetch.worker {
            engine.fill(prefetch.consumer.ring(), worker);
        }
    }

    /// Processes a request with prefetched keystream, if the streams are to serve it. Otherwise returns `data`.
    pub(super) fn apply_prefetched<'a>(
        &mut self,
        route: &Route,
        data: InOutBuf<'a, 'a, u8>,
    ) -> Option<InOutBuf<'a, 'a, u8>> {
        let strategy = route.strategy();
        let serves = |it: &mut Box<Prefetched>| it.serves(data.len(), strategy);
        let Some(prefetch) = self.prefetch.take_if(serves) else {
            return Some(data);
        };
        if !prefetch.consumer.is_orphaned() {
            self.apply_with(route, prefetch, data);
            return None;
        }
        // Its workers are in the parent of this process.
        let worker = prefetch.worker;
        drop(prefetch);
        if worker.is_some() {
            self.prefetch = self.new_prefetch(route, worker);
            self.call_worker(route);
        }
        self.look_again(route);
        Some(data)
    }

    #[cold]
    #[inline(never)]
    fn apply_with(
        &mut self,
        route: &Route,
        mut prefetch: Box<Prefetched>,
        data: InOutBuf<'_, '_, u8>,
    ) {
        let strategy = route.strategy();
        let bytes = data.len();
        let timed = prefetch
            .is_to_be_timed(bytes, strategy)
            .map(|requests| (requests, Instant::now()));
        let taken = prefetch.consumer.apply(
            self.counter,
            self.skip,
            data,
            &mut |counter, skip, piece| self.apply_here(counter, skip, piece),
        );
        self.advance(route, bytes);
        self.session.keyed.seek(self.counter, self.skip);
        self.prefetched_bytes += taken.ready;
        prefetch.taken += taken;
        if taken.ready == 0 && prefetch.worker.is_none() {
            // Used up, and no worker refills it.
            prefetch.is_active = false;
        }
        let bytes_min = || route.with_pace(|pace| pace.bytes_before_streams_tell());
        let mut is_worth_it = prefetch.is_worth_it(|| bytes_min().unwrap_or_default());
        self.prefetch = Some(prefetch);
        self.call_worker(route);
        if let Some((requests, began)) = timed {
            let (inline, ended) = (taken.inline as usize, Instant::now());
            let gains =
                route.with_pace(|pace| pace.learn_taking(requests, bytes, inline, began, ended));
            is_worth_it &= gains.unwrap_or(true);
        }
        if strategy == Strategy::Auto && !is_worth_it {
            self.prefetch = None;
            route.with_pace(Pace::prefetch_failed);
        }
        // A request during the call made its check without these streams.
        let is_active = self.prefetch.as_ref().is_some_and(|it| it.is_active);
        if !is_active || self.unseen_bytes_max != 0 {
            self.look_again(route);
        }
    }

    /// Moves the prefetch streams to the new position.
    #[cold]
    pub(super) fn prefetch_from_here(&mut self, route: &Route) {
        let (counter, skip) = (self.counter, self.skip);
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.consumer.expect(counter, skip);
        }
        self.call_worker(route);
    }

    #[inline(always)]
    pub(super) fn check_remaining(&self, data_len: usize) -> Result<(), StreamCipherError> {
        // No buffer has 2^64 blocks, so the stream cannot end while the high half is not at its maximum.
        let block = self.block();
        if self.kind.counter_bits() == 128 && (block >> 64) as u64 != u64::MAX {
            return Ok(());
        }
        // A partly used block counts as used, and the data may end in another.
        let blocks = (data_len >> self.kind.block_shift()) as u128 + 2;
        if self.last_block() - block >= blocks {
            return Ok(());
        }
        self.check_remaining_near_the_end(block, data_len)
    }

    /// Applies the rule of ctr::Ctr128BE: with a b-bit counter, 2^b - 1 blocks from the IV, where a partly used block
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

    /// Returns the number of the next byte's block, counted from the IV.
    #[inline(always)]
    pub(super) fn block(&self) -> u128 {
        self.counter.wrapping_sub(self.iv) & self.kind.counter_mask()
    }

    /// Returns the number of the block that is never used.
    pub(super) fn last_block(&self) -> u128 {
        self.kind.counter_mask()
    }

    /// Starts counting bytes until the next check of clock and pool.
    pub(super) fn look_again(&mut self, route: &Route) {
        let unseen = self.unseen_bytes_max - self.unseen_bytes_left;
        let unseen_bytes_max = route.look_at_stream(unseen);
        let is_active = self.prefetch.as_ref().is_some_and(|it| it.is_active);
        self.unseen_bytes_max = if is_active { 0 } else { unseen_bytes_max };
        self.unseen_bytes_left = self.unseen_bytes_max;
    }
}

#[cfg(test)]
mod tests;
