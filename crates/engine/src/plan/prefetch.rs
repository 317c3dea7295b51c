//! The session's side of prefetch: it takes the keystream that is ready and computes the rest itself, without waiting.
//! A [`Ring`] holds the keystream, and pool threads fill it.

use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::xor::Xor;

use super::ahead::{REQUESTS_PER_TIMED, RINGS_PER_REQUEST_MAX};
use crate::device::keyed::keystream::Keystream;
use crate::options::{PrefetchWorker, Strategy};
use crate::work::counter::{Geometry, advanced};
use oarlock_threads::prefetch::{Reader, Ring, Source};
use oarlock_threads::process;

/// The keystream of a stream cipher, granule by granule.
pub(crate) struct StreamSource {
    pub(crate) key: Arc<dyn Keystream>,
    pub(crate) geometry: Geometry,
}

impl Source for StreamSource {
    fn make(&self, base: u128, index: u64, granule: &mut [u8]) {
        let blocks = (granule.len() >> self.geometry.block_shift) as u128 * u128::from(index);
        let counter = advanced(base, blocks, self.geometry.counter_bits);
        granule.fill(0);
        self.key.apply(counter, 0, granule.into());
    }
}

/// The numbers of bytes by where their keystream came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) ready: u64,
    pub(crate) inline: u64,
}

impl std::ops::AddAssign for Taken {
    fn add_assign(&mut self, other: Self) {
        self.ready += other.ready;
        self.inline += other.inline;
    }
}

/// A stream cipher's keystream, taken from a ring.
pub(crate) struct Consumer {
    reader: Reader,
    /// log2 of the bytes of a granule.
    granule_shift: u32,
    geometry: Geometry,
    xor: Xor,
    /// The number of the epoch's first granule.
    first: u64,
    /// The counter block at which the epoch began.
    base: u128,
    /// The offset from there at which the next request is expected.
    position: u64,
    fork_generation: usize,
}

impl Consumer {
    /// Makes a consumer. The ring's granules have a power of two bytes.
    pub(crate) fn new(mut reader: Reader, geometry: Geometry, xor: Xor, counter: u128) -> Self {
        let first = reader.restart(counter);
        Self {
            granule_shift: reader.ring().granule_bytes().ilog2(),
            reader,
            geometry,
            xor,
            first,
            base: counter,
            position: 0,
            fork_generation: process::fork_generation(),
        }
    }

    pub(crate) fn ring(&self) -> &Arc<Ring> {
        self.reader.ring()
    }

    /// Whether the process was forked since: the ring's fillers then belong to the parent.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.fork_generation != process::fork_generation()
    }

    /// Moves as [`seek`](Self::seek) does, unless the next request is expected there anyway.
    pub(crate) fn expect(&mut self, counter: u128, skip: usize) {
        if self.geometry.after(self.base, 0, self.position) != (counter, skip) {
            self.seek(counter, skip);
        }
    }

    /// Moves to byte `skip` of the block at `counter`. Keystream from there on that is ready or under way is kept; any
    /// other position begins an epoch.
    fn seek(&mut self, counter: u128, skip: usize) {
        let reach = self.position + self.ring().bytes() as u64;
        match self.geometry.bytes_between((self.base, 0), (counter, skip)) {
            Some(bytes) if (self.position..reach).contains(&bytes) => self.position = bytes,
            _ => {
                self.first = self.reader.restart(counter);
                self.base = counter;
                self.position = skip as u64;
            }
        }
        self.release();
    }

    /// XORs keystream from byte `skip` of the block at `counter` on into `data`. Keystream that is not ready is
    /// computed by `inline`, which gets the position.
    pub(crate) fn apply(
        &mut self,
        counter: u128,
        skip: usize,
        mut data: InOutBuf<'_, '_, u8>,
        inline: &mut dyn FnMut(u128, usize, InOutBuf<'_, '_, u8>),
    ) -> Taken {
        self.expect(counter, skip);
        let granule_bytes = 1 << self.granule_shift;
        let mut taken = Taken::default();
        while !data.is_empty() {
            let number = self.first + (self.position >> self.granule_shift);
            let offset = self.position as usize & (granule_bytes - 1);
            let bytes = data.len().min(granule_bytes - offset);
            let (piece, rest) = data.split_at(bytes);
            data = rest;
            self.reader.claim(number + 1);
            match self.reader.granule(number) {
                Some(keystream) => {
                    self.xor.apply(&keystream[offset..offset + bytes], piece);
                    taken.ready += bytes as u64;
                }
                None => {
                    let (counter, skip) = self.geometry.after(self.base, 0, self.position);
                    inline(counter, skip, piece);
                    taken.inline += bytes as u64;
                }
            }
            self.position += bytes as u64;
            self.release();
        }
        taken
    }

    /// Brings the keystream that is used first into this core's first-level cache, from which later keystream has
    /// evicted it.
    pub(crate) fn warm(&self) {
        let first = self.first + (self.position >> self.granule_shift);
        let granules = (WARM_BYTES >> self.granule_shift).max(1) as u64;
        for number in first..first + granules.min(self.ring().granules()) {
            if let Some(keystream) = self.reader.granule(number) {
                for line in keystream.chunks(64) {
                    std::hint::black_box(line[0]);
                }
            }
        }
    }

    fn release(&mut self) {
        let granules = self.position >> self.granule_shift;
        self.reader.release(self.first + granules);
    }
}

/// Keystream of messages whose nonces are a sequence, one granule for each message.
pub(crate) struct Records {
    reader: Reader,
    /// The number of the epoch's first granule, and the sequence number that it belongs to.
    first: u64,
    base: u64,
    /// The sequence number that is expected next; all granules before it are released.
    next: u64,
    fork_generation: usize,
}

impl Records {
    pub(crate) fn new(mut reader: Reader, next: u64) -> Self {
        let first = reader.restart(next.into());
        Self {
            reader,
            first,
            base: next,
            next,
            fork_generation: process::fork_generation(),
        }
    }

    pub(crate) fn ring(&self) -> &Arc<Ring> {
        self.reader.ring()
    }

    /// Whether the process was forked since: the ring's fillers then belong to the parent.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.fork_generation != process::fork_generation()
    }

    /// Returns the granule of message `sequence`, if it is ready. Those before it are released.
    pub(crate) fn take(&mut self, sequence: u64) -> Option<&[u8]> {
        if !(self.next..self.next.saturating_add(self.ring().granules())).contains(&sequence) {
            self.first = self.reader.restart(sequence.into());
            self.base = sequence;
        }
        self.next = sequence;
        let number = self.first + (sequence - self.base);
        self.reader.release(number);
        self.reader.claim(number + 1);
        self.reader.granule(number)
    }
}

/// The keystream streams of a session.
pub(crate) struct Prefetched {
    pub(crate) consumer: Consumer,
    /// The threads that fill them, apart from the session's owner.
    pub(crate) worker: Option<PrefetchWorker>,
    /// Whether requests check for ready keystream.
    pub(crate) is_active: bool,
    /// The bytes taken since the streams were last found worthwhile.
    pub(crate) taken: Taken,
    /// Requests served since the last one that was timed.
    requests: u32,
}

impl Prefetched {
    pub(crate) fn new(consumer: Consumer, worker: Option<PrefetchWorker>) -> Self {
        Self {
            consumer,
            worker,
            is_active: true,
            taken: Taken::default(),
            requests: 0,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.consumer.ring().bytes()
    }

    /// Whether a request of `bytes` should take ready keystream. One that is much longer than the streams is better cut
    /// into stripes.
    pub(crate) fn serves(&self, bytes: usize, strategy: Strategy) -> bool {
        let bytes_max = self
            .consumer
            .ring()
            .bytes()
            .saturating_mul(RINGS_PER_REQUEST_MAX);
        self.is_active && (strategy != Strategy::Auto || bytes <= bytes_max)
    }

    /// Decides whether this request is timed to measure how fast keystream is taken: it must be long enough for the
    /// clock, and one of a few if the measurement itself would be noticeable. If so, returns the number of requests
    /// since the last one that was timed, including this one.
    pub(crate) fn is_to_be_timed(&mut self, bytes: usize, strategy: Strategy) -> Option<u32> {
        self.requests = self.requests.saturating_add(1);
        let is_due = self.requests >= REQUESTS_PER_TIMED || bytes >= EACH_TIMED_BYTES_MIN;
        (strategy == Strategy::Auto && bytes >= TIMED_BYTES_MIN && is_due)
            .then(|| std::mem::take(&mut self.requests))
    }

    /// Whether a fair part of the last bytes was ready, judged over at least `bytes_min` bytes. `bytes_min` is called
    /// once there were several rings of bytes.
    pub(crate) fn is_worth_it(&mut self, bytes_min: impl FnOnce() -> usize) -> bool {
        let Taken { ready, inline } = self.taken;
        let rings = 4 * self.consumer.ring().bytes();
        let bytes = ready + inline;
        if bytes < rings as u64 || bytes < bytes_min() as u64 {
            return true;
        }
        self.taken = Taken::default();
        ready >= inline / 8
    }
}

/// Half of a first-level cache; the data take the other half.
const WARM_BYTES: usize = 16 << 10;
/// Allocating streams costs about a key set-up, and samples are at least 2 µs of work apart.
pub(crate) const LOOKS_PER_RETRY: u32 = 64;

/// Shorter requests cannot be timed by a clock of 20 to 40 ns.
const TIMED_BYTES_MIN: usize = 4096;
/// The clock takes at most a hundredth of longer requests.
const EACH_TIMED_BYTES_MIN: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use oarlock_kernels::cpu::Cpu;

    use super::*;
    use oarlock_threads::prefetch::RingSize;

    struct Nothing;

    impl Source for Nothing {
        fn make(&self, _: u128, _: u64, _: &mut [u8]) {}
    }

    #[test]
    fn of_short_requests_one_in_eight_is_timed_and_each_long_one() {
        let size = RingSize {
            granule_bytes: 4096,
            segment: 2,
            streams: 2,
        };
        let reader = Reader::new(size, Box::new(Nothing), &Arc::default(), usize::MAX).unwrap();
        let geometry = Geometry {
            block_shift: 4,
            counter_bits: 128,
        };
        let consumer = Consumer::new(reader, geometry, Xor::new(Cpu::detect()), 0);
        let mut prefetched = Prefetched::new(consumer, None);
        let mut timed = |bytes| prefetched.is_to_be_timed(bytes, Strategy::Auto);
        assert!((0..20).all(|_| timed(TIMED_BYTES_MIN - 1).is_none()));
        assert_eq!(timed(TIMED_BYTES_MIN), Some(21));
        for _ in 0..3 {
            assert!((1..REQUESTS_PER_TIMED).all(|_| timed(TIMED_BYTES_MIN).is_none()));
            assert_eq!(timed(TIMED_BYTES_MIN), Some(REQUESTS_PER_TIMED));
        }
        assert_eq!(timed(TIMED_BYTES_MIN), None);
        assert_eq!(timed(EACH_TIMED_BYTES_MIN), Some(2));
        assert_eq!(timed(EACH_TIMED_BYTES_MIN), Some(1));
        let forced = prefetched.is_to_be_timed(EACH_TIMED_BYTES_MIN, Strategy::Prefetch);
        assert_eq!(forced, None);
    }
}
