//! ChaCha20 on AVX2 by columns, eight or nine blocks at once, interleaved with Poly1305.
//!
//! The assembly is written by `cargo xtask kernels`; `xtask/src/kernels/chacha20.rs` says how it works.
//! It is assembly because all registers are in use: compilers spill in every quarter round, and the same
//! rounds take twice as long.
//!
//! Fewer blocks lie in rows ([`crate::stitched`]), and a single one runs on the integer units, whose instructions
//! have the shorter latencies. If a message has a ninth block, it also runs there, while vectors compute the other
//! eight. Long messages go by eights: a double round of nine takes 232 instructions, one of eight 132, which wait for
//! the vector units. On a core whose other thread is busy, as those of clouds are, the nine take a third longer than
//! eight (Zen 3, family 25 model 1; no longer, where it is idle).

use core::arch::naked_asm;
use core::mem::MaybeUninit;
use core::sync::atomic::{Ordering, compiler_fence};

use super::chacha20_registers::Ymm;
use super::poly1305_avx2;
use super::poly1305_chain::Mulx;
use crate::poly1305::{Element, Multiplier, OneTimeKey};
use crate::portable::xor::xor_bytes;
use crate::stitched::{
    BLOCK_BYTES, Block, ChainPowers, Chains, Chunk, Data, Direction, Keystream, Nothing, Powers,
    Rows, Run, SIGMA, Start, rows,
};
use crate::wipe::Secret;

/// Chunks of eight blocks; of nine, where there is no MAC.
pub(super) struct Columns;

impl Chunk for Columns {
    const BLOCKS: usize = 8;
    type Powers = ChainPowers<512, Mulx>;
    type Steps = Mulx;

    #[inline(always)]
    unsafe fn absorb(r: &Multiplier, mac: Element, data: &[u8], last: Option<&Block>) -> Element {
        // SAFETY: the caller has AVX2 for groups of four blocks, and BMI2 for the integer units.
        unsafe {
            if data.len() < poly1305_avx2::BYTES_MIN {
                return mac.absorb_all::<Mulx>(r, data, last);
            }
            let (mac, rest) = poly1305_avx2::absorb(r, mac, data);
            mac.absorb_all::<Mulx>(r, rest, last)
        }
    }

    #[inline(always)]
    unsafe fn crypt(mut start: Start<'_>, mut data: Data) {
        // SAFETY: the caller has AVX2, BMI2 and `data`: each frame names whole chunks of what is left, and nine
        // blocks are eight and one behind them.
        unsafe {
            let is_nine = time(data.bytes, NINE_BYTES) < time(data.bytes, Self::BYTES);
            if is_nine && data.bytes >= NINE_BYTES {
                let chunks = data.bytes / NINE_BYTES;
                let mut frame = Frame::new(start, data, chunks);
                frame.block(start.later(8), data.behind(Self::BYTES));
                crypt_chunks_and_blocks(&mut frame);
                data = data.behind(chunks * NINE_BYTES);
                start = start.later(9 * chunks as u32);
            } else if !is_nine && data.bytes >= Self::BYTES {
                let chunks = data.bytes / Self::BYTES;
                crypt_chunks(&mut Frame::new(start, data, chunks));
                data = data.behind(chunks * Self::BYTES);
                start = start.later(8 * chunks as u32);
            }
            if data.bytes > 0 {
                crypt_rest(start, data);
            }
        }
    }

    /// Nines never gain there.
    #[inline(always)]
    fn are_chunks(bytes: usize) -> bool {
        bytes.is_multiple_of(Self::BYTES)
    }

    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, data: Data) {
        let chunks = data.bytes / Self::BYTES;
        // SAFETY: the caller has AVX2 and `data`, of which the frame names whole chunks.
        unsafe { crypt_chunks(&mut Frame::new(start, data, chunks)) }
    }

    #[inline(always)]
    unsafe fn crypt_and_mac_chunks(
        direction: Direction,
        start: Start<'_>,
        running: &mut Chains<'_, 512, Mulx>,
        data: Data,
    ) {
        let chunks = data.bytes / Self::BYTES;
        // SAFETY: the caller has AVX2, BMI2 and whole chunks of `data`. The bytes to absorb begin with the
        // first of them to open, and to seal with the chunk before them, for which the caller answers too.
        unsafe {
            if direction == Direction::Open {
                running.chunk(data.from);
            }
            running.beside(start, data, chunks);
            if direction == Direction::Seal {
                running.chunk(data.to.add((chunks - 1) * Self::BYTES));
            }
        }
    }

    #[inline(always)]
    unsafe fn begin(
        start: Start<'_>,
        bytes: usize,
        place: &mut Keystream,
    ) -> (OneTimeKey, Option<Self::Powers>) {
        // SAFETY: the caller has AVX2; the place has room for nine blocks, and `bytes` are at most eight.
        unsafe {
            if bytes > ROWS_BYTES_MAX {
                nine_blocks(start, place);
            } else {
                let bytes = BLOCK_BYTES + bytes;
                rows::keystream::<Ymm<false>, _>(start, bytes, place, 0, &mut Nothing);
            }
            (OneTimeKey::from_block(place.bytes()), None)
        }
    }

    #[inline(always)]
    unsafe fn begin_and_seal(
        start: Start<'_>,
        data: Data,
        place: &mut Keystream,
    ) -> Option<OneTimeKey> {
        if data.bytes < Self::BYTES {
            return None;
        }
        // SAFETY: the caller has AVX2 and `data`, which are at least a chunk; the place has room for a block.
        unsafe {
            let block = onto_zeros(place.write(BLOCK_BYTES), BLOCK_BYTES);
            let bytes = Self::BYTES;
            let mut frame = Frame::new(start.later(1), Data { bytes, ..data }, 1);
            frame.block(start, block);
            crypt_chunks_and_blocks(&mut frame);
        }
        Some(OneTimeKey::from_block(place.bytes()))
    }

    #[inline(always)]
    unsafe fn crypt_rest_and_mac(
        start: Start<'_>,
        running: &mut Chains<'_, 512, Mulx>,
        data: Data,
    ) {
        // SAFETY: the caller has AVX2, BMI2 and `data`, which are less than a chunk, for which the place has
        // room.
        unsafe {
            if data.bytes <= ROWS_BYTES_MAX {
                rows::crypt::<Ymm<false>, _>(start, running, data);
                return running.end_of_chunk();
            }
            let mut place = Keystream::new();
            let chunk = onto_zeros(place.write(Self::BYTES), Self::BYTES);
            running.beside(start, chunk, 1);
            xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
        }
    }
}

impl Columns {
    /// Encrypts chunks, at least one, and absorbs each during the rounds of the next. The one after the last goes to
    /// `place` as keystream for later; that of the first may be there already.
    ///
    /// # Safety
    /// As [`Chunk`]; `data` are whole chunks, and the place has room for one.
    #[inline(always)]
    pub(super) unsafe fn seal_and_make(
        start: Start<'_>,
        powers: &ChainPowers<512, Mulx>,
        mac: Element,
        is_there: bool,
        data: Data,
        place: *mut u8,
    ) -> Element {
        let bytes = Self::BYTES;
        // SAFETY: the caller has AVX2, BMI2, whole chunks of `data`, at least one, and a place for a chunk of
        // keystream; what is absorbed is ciphertext that was written by then.
        unsafe {
            if is_there {
                let keystream = core::slice::from_raw_parts(place, bytes);
                xor_bytes(keystream, data.from, data.to);
            } else {
                crypt_chunks(&mut Frame::new(start, Data { bytes, ..data }, 1));
            }
            let mut running = powers.begin(mac);
            running.chunk(data.to);
            let start = start.later(Self::BLOCKS as u32);
            let rest = data.behind(bytes);
            if rest.bytes > 0 {
                Self::crypt_and_mac_chunks(Direction::Seal, start, &mut running, rest);
            }
            let start = start.later((rest.bytes / BLOCK_BYTES) as u32);
            running.beside(start, onto_zeros(place, bytes), 1);
            running.value()
        }
    }

    /// Absorbs `ciphertext` during the rounds of a chunk of keystream, which goes to `place`.
    ///
    /// # Safety
    /// As [`Chunk`]; the place has room for a chunk, and the ciphertext is half a chunk or one.
    #[inline(always)]
    pub(super) unsafe fn make_and_mac(
        start: Start<'_>,
        powers: &ChainPowers<512, Mulx>,
        mac: Element,
        ciphertext: &[u8],
        place: *mut u8,
    ) -> Element {
        let chunk = onto_zeros(place, Self::BYTES);
        let mut frame = Frame::new(start, chunk, 1);
        frame.steps.write(ciphertext.len() / BLOCK_BYTES);
        let mut value = mac;
        let (r, join) = powers.of_halves(ciphertext.len());
        // SAFETY: the caller has AVX2, BMI2 and a place for a chunk; the steps are those of its `ciphertext`,
        // and the kernel writes the value.
        unsafe {
            let parts = (r, join, ciphertext.as_ptr(), &mut value);
            frame.absorb(parts, |frame| crypt_chunks_and_mac(frame));
        }
        value
    }
}

/// Keystream of nine blocks, the first on the integer units.
///
/// # Safety
/// As [`Chunk`].
#[inline(always)]
unsafe fn nine_blocks(start: Start<'_>, place: &mut Keystream) {
    // SAFETY: the caller has AVX2; the place has room for nine blocks: the first, and eight behind it.
    unsafe {
        let blocks = onto_zeros(place.write(NINE_BYTES), NINE_BYTES);
        let mut frame = Frame::new(start.later(1), blocks.behind(BLOCK_BYTES), 1);
        frame.block(start, blocks);
        crypt_chunks_and_blocks(&mut frame);
    }
}

/// How long so many bytes take in chunks of `chunk` and a rest, in eighths of the time of eight blocks.
#[inline(always)]
fn time(bytes: usize, chunk: usize) -> usize {
    let rest = match bytes % chunk {
        0 => 0,
        1..=BLOCK_BYTES => 4,
        BLOCK_BYTES_MORE..=ROWS_BYTES_MAX => 6,
        ROWS_BYTES_MORE..=Columns::BYTES => 8,
        _ => 9,
    };
    (chunk / BLOCK_BYTES) * (bytes / chunk) + rest
}

/// XORs keystream onto less than nine blocks, and at least a byte.
///
/// # Safety
/// As [`Chunk::crypt`].
#[inline(always)]
unsafe fn crypt_rest(start: Start<'_>, data: Data) {
    // SAFETY: the caller has AVX2 and `data` of less than nine blocks; a place has room for as many bytes as it
    // is filled with.
    unsafe {
        match data.bytes {
            ..=BLOCK_BYTES => crypt_one(start, data),
            BLOCK_BYTES_MORE..=ROWS_BYTES_MAX => {
                rows::crypt::<Ymm<false>, _>(start, &mut Nothing, data);
            }
            ROWS_BYTES_MORE..=Columns::BYTES => {
                let mut place = Keystream::new();
                let chunk = onto_zeros(place.write(Columns::BYTES), Columns::BYTES);
                crypt_chunks(&mut Frame::new(start, chunk, 1));
                xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
            }
            _ => {
                let mut place = Keystream::new();
                nine_blocks(start, &mut place);
                xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
            }
        }
    }
}

/// XORs keystream onto a block or part of one, on the integer units.
///
/// # Safety
/// As [`Chunk::crypt`]; no instructions beyond the target's are needed.
#[inline(always)]
pub(super) unsafe fn crypt_one(start: Start<'_>, data: Data) {
    debug_assert!(data.bytes <= BLOCK_BYTES);
    let whole = |block| {
        let mut frame = Frame::new(start, block, 0);
        frame.block(start, block);
        // SAFETY: `block` has a block at both pointers, of data or in the place below, as both calls see to;
        // the kernel takes no instructions beyond the target's.
        unsafe { crypt_block(&mut frame) }
    };
    // SAFETY: the caller has `data` of at most a block; the place has room for one.
    unsafe {
        if data.bytes == BLOCK_BYTES {
            return whole(data);
        }
        let mut place = Secret::<BLOCK_BYTES>::new();
        let block = onto_zeros(place.write(BLOCK_BYTES), BLOCK_BYTES);
        whole(block);
        xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
    }
}

/// Data that keystream makes itself.
#[inline(always)]
pub(super) fn onto_zeros(to: *mut u8, bytes: usize) -> Data {
    static ZEROS: [u8; NINE_BYTES] = [0; NINE_BYTES];
    debug_assert!(bytes <= NINE_BYTES);
    let from = ZEROS.as_ptr();
    Data { from, to, bytes }
}

impl Chains<'_, 512, Mulx> {
    /// Absorbs `chunks` chunks during the rounds of as many.
    ///
    /// # Safety
    /// As [`Chunk::crypt_and_mac_chunks`].
    #[inline(always)]
    unsafe fn beside(&mut self, start: Start<'_>, data: Data, chunks: usize) {
        // SAFETY: the caller has AVX2, BMI2, `chunks` chunks of data, and as many bytes where `chunk` pointed
        // to, which the frame names.
        unsafe {
            let mut frame = Frame::new(start, data, chunks);
            frame.steps.write(8);
            frame.absorb(self.parts(), |frame| crypt_chunks_and_mac(frame));
        }
    }
}

/// What a kernel reads and writes besides the data: `xtask/src/kernels/chacha20.rs` has the offsets. Only what the
/// kernel reads is written. What is secret is wiped on drop.
#[repr(C, align(64))]
pub(super) struct Frame {
    /// Words 8 to 11 of a chunk, while they are not in registers.
    words_8: MaybeUninit<[[u32; 8]; 4]>,
    by_16: [[u32; 4]; 2],
    by_8: [[u32; 4]; 2],
    /// As `Multiplier` has it.
    r: MaybeUninit<[u64; 3]>,
    left: MaybeUninit<u64>,
    /// The number of steps, each of 64 bytes of the MAC, during the rounds of each chunk.
    steps: MaybeUninit<usize>,
    chunks: usize,
    from: *const u8,
    to: *mut u8,
    /// r to the power of twice the steps.
    join: MaybeUninit<[u64; 3]>,
    mac: MaybeUninit<[u64; 3]>,
    mac_from: MaybeUninit<*const u8>,
    padding: MaybeUninit<u64>,
    /// The first words: a line of the cache, so that none of the stores crosses two.
    sigma: [u32; 4],
    key: [u32; 8],
    row: u128,
    numbers: [u32; 8],
    /// As `words_8`, for the block on the integer units.
    block_words_8: MaybeUninit<[u32; 4]>,
    block_from: MaybeUninit<*const u8>,
    block_to: MaybeUninit<*mut u8>,
    block_counter: MaybeUninit<u32>,
    /// The first words of four blocks at once. Their kernels write them, and wipe them.
    repeated: MaybeUninit<Repeated>,
}

#[repr(C, align(64))]
struct Repeated([[u32; 4]; 16]);

impl Frame {
    #[inline(always)]
    pub(super) fn new(start: Start<'_>, data: Data, chunks: usize) -> Self {
        let (key, row) = start.parts();
        Self {
            words_8: MaybeUninit::uninit(),
            by_16: [[0x0100_0302, 0x0504_0706, 0x0908_0b0a, 0x0d0c_0f0e]; 2],
            by_8: [[0x0201_0003, 0x0605_0407, 0x0a09_080b, 0x0e0d_0c0f]; 2],
            r: MaybeUninit::uninit(),
            left: MaybeUninit::uninit(),
            steps: MaybeUninit::uninit(),
            chunks,
            from: data.from,
            to: data.to,
            join: MaybeUninit::uninit(),
            mac: MaybeUninit::uninit(),
            mac_from: MaybeUninit::uninit(),
            padding: MaybeUninit::uninit(),
            sigma: SIGMA,
            key: *key,
            row,
            numbers: [0, 1, 2, 3, 4, 5, 6, 7],
            block_words_8: MaybeUninit::uninit(),
            block_from: MaybeUninit::uninit(),
            block_to: MaybeUninit::uninit(),
            block_counter: MaybeUninit::uninit(),
            repeated: MaybeUninit::uninit(),
        }
    }

    /// Sets the block on the integer units, which is at the beginning of `data`.
    #[inline(always)]
    pub(super) fn block(&mut self, start: Start<'_>, data: Data) {
        self.block_from.write(data.from);
        self.block_to.write(data.to);
        self.block_counter.write(start.parts().1 as u32);
    }

    /// Runs `kernel`, which absorbs bytes during the rounds, from `from` on. The other values are as
    /// [`Chains::parts`] gives them.
    ///
    /// # Safety
    /// `kernel` writes what the value is afterwards.
    #[inline(always)]
    pub(super) unsafe fn absorb(
        &mut self,
        (r, join, from, value): (&Multiplier, Element, *const u8, &mut Element),
        kernel: impl FnOnce(&mut Self),
    ) {
        self.mac_from.write(from);
        self.r.write(r.words());
        self.join.write(join.limbs());
        self.mac.write(value.limbs());
        kernel(self);
        // SAFETY: `value` was written above, and again by the kernel.
        *value = unsafe { Element::read(self.mac.as_ptr()) };
        for secret in [&mut self.r, &mut self.join, &mut self.mac] {
            secret.write([0; 3]);
        }
    }

    /// Where kernels want to be pointed to.
    #[inline(always)]
    pub(super) fn middle(&mut self) -> *mut Frame {
        (&raw mut *self).wrapping_byte_add(128)
    }
}

impl Drop for Frame {
    #[inline(always)]
    fn drop(&mut self) {
        self.words_8.write([[0; 8]; 4]);
        (self.sigma, self.key, self.row) = ([0; 4], [0; 8], 0);
        self.block_words_8.write([0; 4]);
        // The zeros are never read: the compiler must not know.
        core::hint::black_box(&raw mut *self);
        compiler_fence(Ordering::SeqCst);
    }
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<Frame>() == 768);
    assert!(offset_of!(Frame, by_16) == 128 && offset_of!(Frame, r) == 192);
    assert!(offset_of!(Frame, from) == 240 && offset_of!(Frame, mac_from) == 304);
    assert!(offset_of!(Frame, sigma) == 320 && offset_of!(Frame, row) == 368);
    assert!(offset_of!(Frame, numbers) == 384 && offset_of!(Frame, block_counter) == 448);
    assert!(offset_of!(Frame, repeated) == 512);
};

const NINE_BYTES: usize = 9 * BLOCK_BYTES;
/// The most bytes that rows do in less time than columns do nine blocks.
const ROWS_BYTES_MAX: usize = 2 * <Ymm<false> as Rows>::SET_BYTES;
const BLOCK_BYTES_MORE: usize = BLOCK_BYTES + 1;
const ROWS_BYTES_MORE: usize = ROWS_BYTES_MAX + 1;

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident $file:literal $counter:ident)+) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// AVX2 and BMI2 must be there, and the pointers and lengths in `frame` hold.
        #[inline(always)]
        unsafe fn $name(frame: &mut Frame) {
            /// # Safety
            /// AVX2 and BMI2 must be there; `middle` is that of a frame whose pointers and lengths hold.
            #[unsafe(naked)]
            unsafe extern "sysv64" fn kernel(middle: *mut Frame) {
                naked_asm!(include_str!($file), options(raw))
            }
            #[cfg(debug_assertions)]
            crate::dispatch::chacha20::$counter.hit();
            // SAFETY: the caller has AVX2, BMI2 and what the frame names; the frame lives as long as this
            // borrow.
            unsafe { kernel(frame.middle()) }
        }
    )+ };
}

kernels! {
    /// XORs keystream onto chunks.
    crypt_chunks "crypt.s" COLUMNS
    /// And absorbs as many bytes from elsewhere.
    crypt_chunks_and_mac "crypt_and_mac.s" COLUMNS_AND_MAC
    /// XORs keystream onto a chunk in each nine blocks, and onto a block that lies elsewhere.
    crypt_chunks_and_blocks "crypt_and_block.s" COLUMNS_AND_BLOCK
    /// XORs keystream onto that block alone.
    crypt_block "block.s" BLOCK
}
