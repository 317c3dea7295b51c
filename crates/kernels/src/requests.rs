//! The requests of a batch ([`crate::batch`]) as kernels see them.

use inout::InOutBuf;

use crate::key::{BLOCK_BYTES, KeySize, Schedule};

/// Data under an AES key.
pub(crate) trait Request {
    fn schedule(&self) -> &Schedule;
    fn bytes(&self) -> usize;
    fn data(&mut self) -> InOutBuf<'_, '_, u8>;

    /// Whether there is any work under a key of this size.
    #[inline(always)]
    fn fits(&self, size: KeySize) -> bool {
        self.schedule().size == size && self.bytes() > 0
    }
}

/// A request that chains from block to block.
pub(crate) trait Chained: Request {
    /// Returns the ciphertext block before the next.
    fn chain(&mut self) -> &mut [u8; BLOCK_BYTES];
    /// Returns the arguments of the kernel for a single stream.
    fn parts(&mut self) -> (&Schedule, &mut [u8; BLOCK_BYTES], InOutBuf<'_, '_, u8>);
}

/// A request in counter mode.
pub(crate) trait Counted: Request {
    /// Returns the first counter block.
    fn counter(&self) -> u128;
    /// Whether the low 32 bits of its counter do not wrap.
    fn is_one_run(&self) -> bool;
}

/// A request of Triple DES that chains from block to block.
pub(crate) trait TdesChained {
    /// Returns the key as masks of its bits.
    fn masks(&self) -> &[u64; 192];
    /// Returns the round keys of encryption.
    fn rounds(&self) -> &[u64; 48];
    fn bytes(&self) -> usize;
    fn data(&mut self) -> InOutBuf<'_, '_, u8>;
    /// Returns the ciphertext block before the next.
    fn chain(&mut self) -> &mut [u8; 8];
}

/// A kernel that encrypts `N` streams of Triple DES side by side.
pub(crate) trait Engine<const N: usize> {
    /// Whether a lane without a stream has to repeat another one.
    const REPEATS: bool;

    /// Loads the key of a stream into a lane.
    fn lay_out(&mut self, lane: usize, stream: &impl TdesChained);
    /// Encrypts the next blocks of every lane that has some left.
    ///
    /// # Safety
    /// Each of these lanes has at least `blocks` left.
    unsafe fn run(&mut self, lanes: &mut Lanes<N>, blocks: usize);
}

/// The state of the lanes.
pub(crate) struct Lanes<const N: usize> {
    /// The last ciphertext block of each lane.
    pub(crate) chain: [[u8; 8]; N],
    pub(crate) from: [*const u8; N],
    pub(crate) to: [*mut u8; N],
    /// The blocks left in each lane.
    pub(crate) left: [usize; N],
    /// `None` for a lane that is idle or repeats another one.
    stream: [Option<usize>; N],
}

/// Encrypts every stream. All lanes advance by the number of blocks that the shortest has left; that stream then ends, and
/// another takes its lane.
pub(crate) fn encrypt<const N: usize, E: Engine<N>>(
    engine: &mut E,
    streams: &mut [impl TdesChained],
) {
    let mut lanes = Lanes {
        chain: [[0; 8]; N],
        from: [core::ptr::null(); N],
        to: [core::ptr::null_mut(); N],
        left: [0; N],
        stream: [None; N],
    };
    let mut next = 0;
    loop {
        let mut busy = false;
        let mut idle = false;
        for lane in 0..N {
            if lanes.left[lane] > 0 {
                busy |= lanes.stream[lane].is_some();
                continue;
            }
            if let Some(stream) = lanes.stream[lane].take() {
                *streams[stream].chain() = lanes.chain[lane];
            }
            while next < streams.len() && streams[next].bytes() == 0 {
                next += 1;
            }
            let Some(stream) = streams.get_mut(next) else {
                idle = true;
                continue;
            };
            engine.lay_out(lane, stream);
            lanes.chain[lane] = *stream.chain();
            lanes.left[lane] = stream.bytes() / 8;
            (lanes.from[lane], lanes.to[lane]) = stream.data().into_raw();
            lanes.stream[lane] = Some(next);
            (next, busy) = (next + 1, true);
        }
        if !busy {
            return;
        }
        if idle && E::REPEATS {
            lanes.repeat_the_longest(engine, streams);
        }
        let blocks = (lanes.left.iter().copied().filter(|left| *left > 0)).min();
        let blocks = blocks.unwrap_or(0);
        // SAFETY: the streams are borrowed, and no lane has fewer blocks left.
        unsafe { engine.run(&mut lanes, blocks) };
        for lane in 0..N {
            lanes.from[lane] = lanes.from[lane].wrapping_add(8 * blocks);
            lanes.to[lane] = lanes.to[lane].wrapping_add(8 * blocks);
            lanes.left[lane] = lanes.left[lane].saturating_sub(blocks);
        }
    }
}

impl<const N: usize> Lanes<N> {
    /// Lets lanes without a stream repeat the one with the most blocks left. No stream is waiting any more, so that one
    /// stays the longest.
    fn repeat_the_longest(&mut self, engine: &mut impl Engine<N>, streams: &[impl TdesChained]) {
        let busy = (0..N).filter(|lane| self.stream[*lane].is_some());
        let Some(longest) = busy.max_by_key(|lane| self.left[*lane]) else {
            return;
        };
        let Some(stream) = self.stream[longest].and_then(|stream| streams.get(stream)) else {
            return;
        };
        for lane in (0..N).filter(|lane| *lane != longest) {
            if self.left[lane] == 0 {
                engine.lay_out(lane, stream);
                self.chain[lane] = self.chain[longest];
                self.from[lane] = self.from[longest];
                self.to[lane] = self.to[longest];
                self.left[lane] = self.left[longest];
            }
        }
    }
}
