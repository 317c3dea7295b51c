//! HMAC (RFC 2104) of independent messages, each in its own lane.

use core::fmt;

use crate::cpu::Cpu;
use crate::hash::words::Word;
use crate::hash::{Function, LANES_MAX, Own, Rows};
use crate::wipe::wipe;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{Avx2, Avx512, ShaNi, batch::sha, batch::words as kernels};

/// A hash function that every backend supports.
#[cfg(target_arch = "x86_64")]
pub trait Hash: Function<Word: kernels::Registers> {}
#[cfg(target_arch = "x86_64")]
impl<H: Function<Word: kernels::Registers>> Hash for H {}
/// A hash function that every backend supports.
#[cfg(not(target_arch = "x86_64"))]
pub trait Hash: Function {}
#[cfg(not(target_arch = "x86_64"))]
impl<H: Function> Hash for H {}

/// The code that computes hashes. A value exists only if the CPU has its instructions; see [`Cpu::hash_backends`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashBackend {
    /// Plain code, one message at a time: the reference.
    Portable,
    /// The instructions for SHA-1 and SHA-256, two messages at a time; plain code for other functions.
    #[cfg(target_arch = "x86_64")]
    ShaNi(ShaNi),
    /// 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// 512-bit registers.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Cpu {
    /// Returns every backend of the hash functions that this CPU can run, the preferred one first. The last is
    /// [`HashBackend::Portable`].
    pub fn hash_backends(self) -> impl Iterator<Item = HashBackend> {
        #[cfg(target_arch = "x86_64")]
        let special = [
            Avx512::new(self).map(HashBackend::Avx512),
            Avx2::new(self).map(HashBackend::Avx2),
            ShaNi::new(self).map(HashBackend::ShaNi),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let special: [Option<HashBackend>; 0] = { [] };
        special.into_iter().flatten().chain([HashBackend::Portable])
    }
}

impl HashBackend {
    /// Returns the fastest backend on `cpu` for any function, given enough messages.
    pub fn preferred(cpu: Cpu) -> Self {
        cpu.hash_backends().next().unwrap_or(Self::Portable)
    }

    /// Returns the fastest backend on `cpu` for `messages` messages at once.
    pub fn preferred_for<H: Hash>(cpu: Cpu, messages: usize) -> Self {
        let lanes = Self::preferred(cpu);
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = ShaNi::new(cpu)
            && messages < lanes.lanes_to_pay::<H>()
        {
            return Self::ShaNi(token);
        }
        let _ = messages;
        lanes
    }

    /// Returns the fastest backend on `cpu` after AES-CBC, for `packets` packets at once
    /// ([`encrypt_then_mac`](super::encrypt_then_mac)). Measured on Zen 5.
    pub fn preferred_after_cbc<H: Hash>(cpu: Cpu, packets: usize) -> Self {
        let lanes = Self::preferred(cpu);
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = ShaNi::new(cpu)
            && !matches!(H::OWN, Own::None)
            && (packets < 7 || !matches!(lanes, Self::Avx512(_)))
        {
            return Self::ShaNi(token);
        }
        let _ = packets;
        lanes
    }

    /// Returns the number of messages from which on it is faster than SHA-NI. Measured on Zen 5.
    #[cfg(target_arch = "x86_64")]
    const fn lanes_to_pay<H: Hash>(self) -> usize {
        match (self, H::OWN) {
            (_, Own::None) => 0,
            (Self::Avx512(_), Own::Sha1) => 5,
            (Self::Avx512(_), Own::Sha256) => 9,
            (Self::Avx2(_), Own::Sha1) => 8,
            _ => usize::MAX,
        }
    }

    /// Returns its name in listings and statistics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::ShaNi(_) => "sha-ni",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
        }
    }

    /// Returns the number of messages that it processes at once.
    pub(super) const fn lanes<H: Hash>(self) -> usize {
        let bytes = match self {
            Self::Portable => return 1,
            #[cfg(target_arch = "x86_64")]
            Self::ShaNi(_) if matches!(H::OWN, Own::None) => return 1,
            #[cfg(target_arch = "x86_64")]
            Self::ShaNi(_) => return 2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 32,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 64,
        };
        bytes / size_of::<H::Word>()
    }

    /// Absorbs `blocks` blocks of each message into its state.
    ///
    /// # Safety
    /// The first `lanes` pointers are valid for `blocks` blocks; for SHA-NI, those that are not null.
    #[inline]
    unsafe fn absorb<H: Hash>(
        self,
        rows: &mut Rows<H::Word>,
        pointers: &[*const u8; LANES_MAX],
        blocks: usize,
    ) {
        let from = pointers.as_ptr();
        // SAFETY: the tokens prove the instructions, and plain code needs none; the caller has a pointer that is valid for
        // `blocks` blocks in each lane that a backend reads.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Self::Avx2(token) => kernels::absorb_avx2::<H>(token, rows, from, blocks),
                #[cfg(target_arch = "x86_64")]
                Self::Avx512(token) => kernels::absorb_avx512::<H>(token, rows, from, blocks),
                #[cfg(target_arch = "x86_64")]
                Self::ShaNi(token) if !matches!(H::OWN, Own::None) => {
                    if pointers[1].is_null() {
                        sha::absorb::<H, 1>(token, rows, pointers, blocks);
                    } else {
                        sha::absorb::<H, 2>(token, rows, pointers, blocks);
                    }
                }
                _ => {
                    #[cfg(debug_assertions)]
                    crate::dispatch::batch::HASH_PORTABLE.hit();
                    H::absorb::<<H::Word as Word>::One>(rows, from, blocks, ());
                }
            }
        }
    }
}

/// An HMAC key: the states after its inner and its outer block, usable with every backend. Wiped on drop.
pub struct HmacKey<H: Hash> {
    pub(crate) inner: [H::Word; 8],
    pub(crate) outer: [H::Word; 8],
}

impl<H: Hash> HmacKey<H> {
    /// Prepares `key`, of any length; RFC 2104 recommends that of a digest.
    pub fn new(key: &[u8]) -> Self {
        let mut padded = [0; BLOCK_BYTES_MAX];
        let padded_key = &mut padded[..H::BLOCK_BYTES];
        if key.len() > H::BLOCK_BYTES {
            hash::<H>(key, padded_key);
        } else {
            padded_key[..key.len()].copy_from_slice(key);
        }
        let mut state = |pad: u8| {
            let mut rows = Rows([[H::Word::default(); LANES_MAX]; 8]);
            for (row, word) in rows.0.iter_mut().zip(H::INITIAL) {
                row[0] = word;
            }
            padded_key.iter_mut().for_each(|byte| *byte ^= pad);
            // SAFETY: the pointer leads to a block.
            unsafe {
                HashBackend::Portable.absorb::<H>(&mut rows, &[padded_key.as_ptr(); LANES_MAX], 1);
            }
            let state = rows.0.map(|row| row[0]);
            wipe(rows.0.as_flattened_mut());
            state
        };
        let inner = state(0x36);
        let outer = state(0x36 ^ 0x5c);
        wipe(&mut padded);
        Self { inner, outer }
    }
}

impl<H: Hash> Drop for HmacKey<H> {
    fn drop(&mut self) {
        wipe(&mut self.inner);
        wipe(&mut self.outer);
    }
}

impl<H: Hash> fmt::Debug for HmacKey<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HmacKey").finish_non_exhaustive()
    }
}

/// A message to authenticate.
#[derive(Debug)]
pub struct Mac<'a, H: Hash> {
    /// The key. Messages of a batch may share it.
    pub key: &'a HmacKey<H>,
    /// The message, of any length.
    pub message: &'a [u8],
    /// Becomes the first bytes of the tag. RFC 2404 and RFC 4868 define the length for IPsec.
    pub tag: &'a mut [u8],
}

/// Computes the tag of every message.
///
/// ```
/// use oarlock_kernels::{batch::{HashBackend, HmacKey, Mac, Sha256, hmac}, cpu::Cpu};
///
/// let keys = [HmacKey::<Sha256>::new(b"one"), HmacKey::new(b"two")];
/// let mut tags = [[0; 16]; 2];
/// let mut macs: Vec<Mac<'_, Sha256>> = (keys.iter().zip(&mut tags))
///     .map(|(key, tag)| Mac { key, message: b"a packet", tag })
///     .collect();
/// hmac(HashBackend::preferred(Cpu::detect()), &mut macs);
/// ```
///
/// # Panics
/// If a tag is longer than a digest; no tag has been computed then.
pub fn hmac<H: Hash>(backend: HashBackend, macs: &mut [Mac<'_, H>]) {
    for mac in &*macs {
        assert_tag_bytes::<H>(mac.tag.len());
    }
    let mut lanes = Lanes::<H>::new(backend, macs.len());
    let mut next = 0;
    let mut busy = 0;
    for lane in 0..lanes.count.min(macs.len()) {
        lanes.begin_whole(lane, next, &macs[next]);
        (next, busy) = (next + 1, busy + 1);
    }
    while busy > 0 {
        lanes.run();
        for lane in 0..lanes.count {
            if lanes.phase[lane] == Phase::Idle || lanes.left[lane] > 0 {
                continue;
            }
            let mac = &mut macs[lanes.request[lane]];
            if lanes.next_phase(lane, mac.key) {
                continue;
            }
            mac.tag.copy_from_slice(&lanes.tails[lane][..mac.tag.len()]);
            if let Some(mac) = macs.get(next) {
                lanes.begin_whole(lane, next, mac);
                next += 1;
            } else {
                busy -= 1;
            }
        }
    }
}

pub(super) fn assert_tag_bytes<H: Hash>(bytes: usize) {
    assert!(
        bytes <= H::DIGEST_BYTES,
        "a tag has at most the {} bytes of a digest, not {bytes}",
        H::DIGEST_BYTES
    );
}

/// The state of the lanes.
pub(super) struct Lanes<H: Hash> {
    backend: HashBackend,
    pub(super) count: usize,
    rows: Rows<H::Word>,
    from: [*const u8; LANES_MAX],
    /// The blocks from there that are ready to be read.
    pub(super) left: [usize; LANES_MAX],
    pub(super) phase: [Phase; LANES_MAX],
    pub(super) request: [usize; LANES_MAX],
    /// The start of each message.
    start: [*const u8; LANES_MAX],
    bytes: [usize; LANES_MAX],
    /// The last blocks of the inner hash, then the block of the outer one, then the tag.
    pub(super) tails: [[u8; 2 * BLOCK_BYTES_MAX]; LANES_MAX],
}

/// The part of a message that a lane reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing, as there are fewer messages than lanes.
    Idle,
    /// Whole blocks of the message.
    Body,
    /// The end of the message, padded.
    Tail,
    /// The inner digest, padded.
    Outer,
}

impl<H: Hash> Lanes<H> {
    /// Creates lanes for `messages` messages in all.
    pub(super) fn new(backend: HashBackend, messages: usize) -> Self {
        let count = match backend {
            // SHA-NI works with a single message as well.
            #[cfg(target_arch = "x86_64")]
            HashBackend::ShaNi(_) => backend.lanes::<H>().min(messages),
            _ => backend.lanes::<H>(),
        };
        Self {
            backend,
            count,
            rows: Rows([[H::Word::default(); LANES_MAX]; 8]),
            from: [core::ptr::null(); LANES_MAX],
            left: [0; LANES_MAX],
            phase: [Phase::Idle; LANES_MAX],
            request: [0; LANES_MAX],
            start: [core::ptr::null(); LANES_MAX],
            bytes: [0; LANES_MAX],
            tails: [[0; 2 * BLOCK_BYTES_MAX]; LANES_MAX],
        }
    }

    /// Starts a message in a lane, with none of it ready yet.
    ///
    /// # Safety
    /// `bytes` bytes are at `from` while the lane reads them, and nothing writes to those [`release`](Self::release)d.
    #[inline]
    pub(super) unsafe fn begin(
        &mut self,
        lane: usize,
        request: usize,
        key: &HmacKey<H>,
        from: *const u8,
        bytes: usize,
    ) {
        self.set_state(lane, &key.inner);
        self.request[lane] = request;
        self.start[lane] = from;
        self.bytes[lane] = bytes;
        self.from[lane] = from;
        self.left[lane] = 0;
        self.phase[lane] = Phase::Body;
    }

    /// Starts a message in a lane, with all of it ready.
    #[inline]
    fn begin_whole(&mut self, lane: usize, request: usize, mac: &Mac<'_, H>) {
        // SAFETY: the message is borrowed longer than the lanes live.
        unsafe {
            self.begin(
                lane,
                request,
                mac.key,
                mac.message.as_ptr(),
                mac.message.len(),
            )
        };
        self.release(lane, mac.message.len());
        if self.left[lane] == 0 {
            self.pad_message(lane);
        }
    }

    /// Marks the first `bytes` of the message as ready.
    #[inline]
    pub(super) fn release(&mut self, lane: usize, bytes: usize) {
        if self.phase[lane] == Phase::Body {
            let read = self.from[lane].addr() - self.start[lane].addr();
            self.left[lane] = (bytes - read) / H::BLOCK_BYTES;
        }
    }

    /// Reads the most blocks that all lanes with ready blocks have.
    #[inline]
    pub(super) fn run(&mut self) {
        let ready = |lane: &usize| self.left[*lane] > 0;
        let Some(fewest) = (0..self.count)
            .filter(ready)
            .min_by_key(|lane| self.left[*lane])
        else {
            return;
        };
        let blocks = self.left[fewest];
        let backend = self.backend;
        // SAFETY: the pointer of each lane is valid for `blocks` blocks, if only those of another lane.
        self.run_by(blocks, fewest, |rows, from| unsafe {
            backend.absorb::<H>(rows, from, blocks);
        });
    }

    /// Lets `absorb` read `blocks` blocks of each lane that has any; `one` is such a lane.
    #[inline]
    pub(super) fn run_by(
        &mut self,
        blocks: usize,
        one: usize,
        absorb: impl FnOnce(&mut Rows<H::Word>, &[*const u8; LANES_MAX]),
    ) {
        let mut kept = None;
        let mut from = self.from;
        for (lane, from) in from[..self.count].iter_mut().enumerate() {
            if self.left[lane] == 0 {
                *from = self.from[one];
                // The state it computes from another lane's blocks is discarded.
                if self.phase[lane] != Phase::Idle {
                    kept.get_or_insert(self.rows);
                }
            }
        }
        absorb(&mut self.rows, &from);
        for lane in 0..self.count {
            if self.left[lane] > 0 {
                self.from[lane] = self.from[lane].wrapping_add(blocks * H::BLOCK_BYTES);
                self.left[lane] = self.left[lane].saturating_sub(blocks);
            } else if let Some(kept) = &kept {
                for (row, kept) in self.rows.0.iter_mut().zip(&kept.0) {
                    row[lane] = kept[lane];
                }
            }
        }
        if let Some(kept) = &mut kept {
            wipe(kept.0.as_flattened_mut());
        }
    }

    /// Moves a lane to its next phase, after all blocks of the current one were read. Returns false if the tag is complete:
    /// it is at the front of the lane's tail, and the lane is idle.
    #[inline]
    pub(super) fn next_phase(&mut self, lane: usize, key: &HmacKey<H>) -> bool {
        match self.phase[lane] {
            Phase::Idle => {}
            Phase::Body => self.pad_message(lane),
            Phase::Tail => {
                let tail = self.put_digest(lane);
                pad::<H>(tail, H::DIGEST_BYTES, H::BLOCK_BYTES + H::DIGEST_BYTES);
                self.set_state(lane, &key.outer);
                self.read_tail(lane, Phase::Outer, 1);
            }
            Phase::Outer => {
                self.put_digest(lane);
                self.phase[lane] = Phase::Idle;
                return false;
            }
        }
        true
    }

    #[inline]
    fn pad_message(&mut self, lane: usize) {
        let tail = &mut self.tails[lane];
        let bytes = self.bytes[lane] % H::BLOCK_BYTES;
        let from = self.start[lane].wrapping_add(self.bytes[lane] - bytes);
        // SAFETY: the caller of `begin` guarantees the message; this is less than a block.
        unsafe { core::ptr::copy_nonoverlapping(from, tail.as_mut_ptr(), bytes) };
        let blocks = pad::<H>(tail, bytes, H::BLOCK_BYTES + self.bytes[lane]);
        self.read_tail(lane, Phase::Tail, blocks);
    }

    #[inline]
    fn read_tail(&mut self, lane: usize, phase: Phase, blocks: usize) {
        self.phase[lane] = phase;
        self.from[lane] = self.tails[lane].as_ptr();
        self.left[lane] = blocks;
    }

    #[inline]
    fn set_state(&mut self, lane: usize, state: &[H::Word; 8]) {
        for (row, word) in self.rows.0[..H::WORDS].iter_mut().zip(state) {
            row[lane] = *word;
        }
    }

    /// Writes the digest to the tail of a lane.
    #[inline]
    fn put_digest(&mut self, lane: usize) -> &mut [u8; 2 * BLOCK_BYTES_MAX] {
        let tail = &mut self.tails[lane];
        put_digest::<H>(&self.rows, lane, tail);
        tail
    }
}

impl<H: Hash> Drop for Lanes<H> {
    fn drop(&mut self) {
        wipe(self.rows.0.as_flattened_mut());
        wipe(self.tails[..self.count].as_flattened_mut());
    }
}

/// Writes the digest of a lane to the front of `to`.
#[inline]
fn put_digest<H: Hash>(rows: &Rows<H::Word>, lane: usize, to: &mut [u8]) {
    let words = to[..H::DIGEST_BYTES].chunks_exact_mut(size_of::<H::Word>());
    for (row, to) in rows.0.iter().zip(words) {
        H::put(row[lane], to);
    }
}

/// Pads the `bytes` bytes in `tail`, the end of `all` bytes (FIPS 180-4, section 5.1), and returns the number of blocks.
#[inline]
fn pad<H: Hash>(tail: &mut [u8; 2 * BLOCK_BYTES_MAX], bytes: usize, all: usize) -> usize {
    let length_bytes = 2 * size_of::<H::Word>();
    let blocks = (bytes + 1 + length_bytes).div_ceil(H::BLOCK_BYTES);
    let end = blocks * H::BLOCK_BYTES;
    tail[bytes] = 0x80;
    tail[bytes + 1..end].fill(0);
    let bits = all as u64 * 8;
    if H::BIG_ENDIAN {
        tail[end - 8..end].copy_from_slice(&bits.to_be_bytes());
    } else {
        tail[end - 8..end].copy_from_slice(&bits.to_le_bytes());
    }
    blocks
}

/// Writes the hash of `message`, without a key, to the front of `to`.
fn hash<H: Hash>(message: &[u8], to: &mut [u8]) {
    let mut rows = Rows([[H::Word::default(); LANES_MAX]; 8]);
    for (row, word) in rows.0.iter_mut().zip(H::INITIAL) {
        row[0] = word;
    }
    let body = message.len() / H::BLOCK_BYTES;
    let rest = &message[body * H::BLOCK_BYTES..];
    let mut tail = [0; 2 * BLOCK_BYTES_MAX];
    tail[..rest.len()].copy_from_slice(rest);
    let blocks = pad::<H>(&mut tail, rest.len(), message.len());
    for (from, blocks) in [(message.as_ptr(), body), (tail.as_ptr(), blocks)] {
        // SAFETY: the pointer leads to `blocks` blocks.
        unsafe { HashBackend::Portable.absorb::<H>(&mut rows, &[from; LANES_MAX], blocks) };
    }
    put_digest::<H>(&rows, 0, to);
    wipe(rows.0.as_flattened_mut());
    wipe(&mut tail);
}

const BLOCK_BYTES_MAX: usize = 128;
