//! Keystream of blocks that are begun, kept for the requests that follow.
//!
//! A block of ChaCha20 takes as long for 16 bytes as for 64, a register of blocks as long for one as
//! for all of them, and a bitsliced pass as long for one block as for hundreds. So what a short
//! request leaves of a block stays for the next one, and where short requests follow each other more
//! blocks are made at once:
//!
//! ```text
//! requests   |--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--| ...
//! made       |-----------|-----------|--------------------------- ...
//!              a block     another     four, then eight, then sixteen
//! ```
//!
//! No more is made than twice what the requests have taken, unless it costs nothing: a program that goes
//! elsewhere soon throws away little. A bitsliced pass costs a lot: where a few blocks can be had for less (Triple DES
//! by look-ups), the first requests get those. Keystream is found by its position, so it cannot be taken for what belongs
//! elsewhere, whatever stripes, streams made ahead and other devices did in between. It is wiped once
//! all of it is used, and when the position leaves it.

use inout::InOutBuf;
use oarlock_kernels::chacha20;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::xor::Xor;

use super::keystream::Keystream;
use crate::costs::lookup::kernel_backend;
use crate::work::algorithm::{Algorithm, Kind};
use crate::work::counter::{Geometry, distance};

/// How much keystream is made at once.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    /// Bytes of keystream for a request that does not follow another, where so much is enough: whole blocks.
    first_bytes: usize,
    /// The number of requests in a row that get no more than that.
    firsts: usize,
    /// Bytes for the next request in a row; each further one gets twice as much.
    next_bytes: usize,
    /// The most bytes.
    bytes_max: usize,
    /// Where the most is one pass of the cipher, which takes the same time for any length: the number of bytes that can
    /// be made faster without a pass. 0 if none can.
    pass: Option<usize>,
}

impl Ahead {
    /// Returns the lengths for the kernel that `cpu` prefers for `algorithm`, a stream cipher.
    pub(crate) fn of(cpu: Cpu, algorithm: Algorithm) -> Self {
        let block_bytes = 1 << geometry(algorithm).block_shift;
        let (firsts, next, most) = match algorithm {
            Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr => (2, 4, 4),
            Algorithm::ChaCha20 => match chacha20::Backend::preferred(cpu) {
                #[cfg(target_arch = "x86_64")]
                chacha20::Backend::Avx512(..) => (2, 4, 16),
                // A pass with a fifth block takes as long as one of four.
                #[cfg(target_arch = "x86_64")]
                chacha20::Backend::Ssse3(_, chacha20::Units::Apart) => (2, 5, 15),
                _ => (2, 4, 8),
            },
            Algorithm::TripleDesCtr => (1, 128, 128),
            // Four blocks take as long as one, and 16 on 128-bit registers three times as long: 195 and
            // 540 ns of Camellia on Zen 5.
            _ if kernel_backend(cpu, algorithm) != "rustcrypto" => (1, 4, 16),
            _ => (2, 4, 4),
        };
        Self {
            first_bytes: block_bytes,
            firsts,
            next_bytes: next * block_bytes,
            bytes_max: most * block_bytes,
            pass: None,
        }
    }

    /// ChaCha20 with a kernel that makes four blocks at once.
    #[cfg_attr(not(feature = "aws-lc"), allow(dead_code))]
    pub(crate) const CHACHA20_BY_FOUR: Self = Self {
        first_bytes: 64,
        firsts: 2,
        next_bytes: 4 * 64,
        bytes_max: 4 * 64,
        pass: None,
    };

    /// For a cipher whose passes always make `bytes` of keystream; requests of up to `cheap` bytes need no pass.
    #[cfg(feature = "legacy")]
    pub(crate) fn passes(bytes: usize, cheap: usize) -> Self {
        let bytes = bytes.min(ZEROS.len());
        let cheap = cheap.min(bytes);
        let looks_up = cheap >= LOOKED_UP_NEXT_BYTES;
        Self {
            first_bytes: if looks_up { LOOKED_UP_BYTES } else { bytes },
            firsts: usize::from(looks_up),
            next_bytes: if looks_up {
                LOOKED_UP_NEXT_BYTES
            } else {
                bytes
            },
            bytes_max: bytes,
            pass: Some(cheap),
        }
    }

    /// Returns the bytes to make for a short request, after `requests` that followed each other.
    fn bytes(self, requests: usize) -> usize {
        match requests.checked_sub(self.firsts) {
            None => self.first_bytes,
            // A pass is had for two steps more.
            Some(1..) if self.pass.is_some() => self.bytes_max,
            // No more doublings than there are bits.
            Some(doublings) => (self.next_bytes << doublings.min(16)).min(self.bytes_max),
        }
    }

    /// What is made where as much is `needed`, and `planned` by the number of requests.
    fn at_least(self, planned: usize, needed: usize) -> usize {
        match self.pass {
            Some(cheap) if planned.max(needed) > cheap => self.bytes_max,
            _ => planned.max(needed),
        }
    }
}

/// Eight blocks of Triple DES, which take as long as one.
#[cfg(feature = "legacy")]
const LOOKED_UP_BYTES: usize = 64;
/// 32 blocks, which take hardly longer.
#[cfg(feature = "legacy")]
const LOOKED_UP_NEXT_BYTES: usize = 256;

/// Keystream that was made and not used. Wiped on drop.
pub(crate) struct Begun {
    ahead: Ahead,
    geometry: Geometry,
    xor: Xor,
    /// As long as the most that is made at once; zeros behind `end`.
    room: Option<Box<[u8]>>,
    /// The block that is first there.
    first: u128,
    /// How far from there on the last request went.
    at: usize,
    /// As much is there; 0 when there is none.
    end: usize,
    /// Requests that had keystream made, or were as short, since they follow each other.
    requests: usize,
}

impl Begun {
    /// For a key of `algorithm`, a stream cipher.
    pub(crate) fn new(cpu: Cpu, algorithm: Algorithm, ahead: Ahead) -> Self {
        Self {
            ahead,
            geometry: geometry(algorithm),
            xor: Xor::new(cpu),
            room: None,
            first: 0,
            at: 0,
            end: 0,
            requests: 0,
        }
    }

    /// Allocates the room at once, so that no request allocates it.
    pub(crate) fn with_room(mut self) -> Self {
        self.room = Some(vec![0; self.ahead.bytes_max].into());
        self
    }

    /// XORs keystream of `key`, which is always the same, onto `data`, from byte `skip` of the block at
    /// `counter` on.
    #[inline(always)]
    pub(crate) fn apply<K: Keystream + ?Sized>(
        &mut self,
        key: &K,
        counter: u128,
        skip: usize,
        data: InOutBuf<'_, '_, u8>,
    ) {
        if self.at + data.len() <= self.end && self.is_next(counter, skip) {
            self.take(data);
        } else if self.end == 0 && skip == 0 && self.needs_nothing_kept(data.len()) {
            let is_long = data.len() >= self.ahead.bytes_max;
            self.requests = if is_long { 0 } else { self.requests + 1 };
            (self.first, self.at) = (counter, data.len());
            key.apply(counter, 0, data);
        } else {
            self.apply_anew(key, counter, skip, data);
        }
    }

    /// Whether `bytes` bytes are whole blocks, for which no more would be made.
    #[inline(always)]
    fn needs_nothing_kept(&self, bytes: usize) -> bool {
        let in_block = (1 << self.geometry.block_shift) - 1;
        bytes >= self.ahead.bytes_max / 2 && bytes & in_block == 0 && self.ahead.pass.is_none()
    }

    /// The next request is at byte `skip` of the block at `counter`: keystream of other blocks is wiped.
    #[inline]
    pub(crate) fn seek(&mut self, counter: u128, skip: usize) {
        if self.is_next(counter, skip) {
            return;
        }
        let to = (counter, skip);
        if self.end > 0 {
            match self.geometry.bytes_between((self.first, 0), to) {
                Some(at) if at < self.end as u64 => return self.at = at as usize,
                _ => self.wipe(),
            }
        }
        self.requests = 0;
        (self.first, self.at) = to;
    }

    /// Wipes what is there, as for another key.
    pub(crate) fn forget(&mut self) {
        self.requests = 0;
        self.wipe();
    }

    /// Whether this is where the last request ended.
    #[inline(always)]
    fn is_next(&self, counter: u128, skip: usize) -> bool {
        let shift = self.geometry.block_shift;
        let blocks = (self.at >> shift) as u128;
        counter.wrapping_sub(self.first) == blocks && skip == self.at & ((1 << shift) - 1)
    }

    /// `data` are no longer than what is left.
    #[inline(always)]
    fn take(&mut self, data: InOutBuf<'_, '_, u8>) {
        let from = self.at;
        self.at += data.len();
        if let Some(room) = &self.room {
            self.xor.apply(&room[from..self.at], data);
        }
        if self.at == self.end {
            (self.first, self.at) = self.geometry.after(self.first, 0, self.end as u64);
            self.wipe();
        }
    }

    #[inline(never)]
    fn apply_anew<K: Keystream + ?Sized>(
        &mut self,
        key: &K,
        mut counter: u128,
        mut skip: usize,
        mut data: InOutBuf<'_, '_, u8>,
    ) {
        if data.is_empty() {
            return;
        }
        self.seek(counter, skip);
        let is_long = data.len() >= self.ahead.bytes_max;
        let left = self.end.saturating_sub(self.at);
        if left > 0 {
            let bytes = left.min(data.len());
            let (head, rest) = data.split_at(bytes);
            self.take(head);
            if rest.is_empty() {
                return;
            }
            (counter, skip) = self.geometry.after(counter, skip, bytes as u64);
            data = rest;
        }
        let requests = self.requests;
        self.requests = if is_long { 0 } else { requests + 1 };
        let in_block = (1 << self.geometry.block_shift) - 1;
        let end = skip + data.len();
        let needed = (end + in_block) & !in_block;
        let made = self.ahead.bytes(requests);
        let made_max = if requests == 0 {
            made
        } else {
            self.ahead.bytes_max
        };
        let are_blocks = skip == 0 && needed == end;
        if needed <= made_max && !(are_blocks && end >= self.whole_bytes_min(made)) {
            let bytes = self.ahead.at_least(made, needed);
            return self.make(key, counter, skip, bytes, data);
        }
        let bytes = match self.ahead.pass {
            // What is left of a pass serves the next.
            Some(cheap) if end > cheap => {
                (end / self.ahead.bytes_max * self.ahead.bytes_max).saturating_sub(skip)
            }
            _ => data.len(),
        };
        let (head, rest) = data.split_at(bytes);
        if !head.is_empty() {
            key.apply(counter, skip, head);
            (counter, skip) = self.geometry.after(counter, skip, bytes as u64);
            (self.first, self.at) = (counter, skip);
        }
        if !rest.is_empty() {
            self.make(key, counter, skip, self.ahead.bytes_max, rest);
        }
    }

    /// Returns how many bytes of whole blocks to compute directly. For so many, making more keystream with them gains
    /// less than it costs to keep it.
    fn whole_bytes_min(&self, made: usize) -> usize {
        if self.ahead.pass.is_some() {
            made
        } else {
            made.min(self.ahead.bytes_max / 2)
        }
    }

    /// Makes keystream of `bytes` from `counter` on, enough for `data` behind `skip`.
    fn make<K: Keystream + ?Sized>(
        &mut self,
        key: &K,
        counter: u128,
        skip: usize,
        bytes: usize,
        data: InOutBuf<'_, '_, u8>,
    ) {
        let Geometry {
            block_shift,
            counter_bits,
        } = self.geometry;
        let blocks = (bytes >> block_shift) as u128;
        if distance(counter, u128::MAX, counter_bits) < blocks {
            // Positions do not go up across a wrap: nothing is kept there.
            (self.first, self.at) = self.geometry.after(counter, skip, data.len() as u64);
            return key.apply(counter, skip, data);
        }
        let bytes_max = self.ahead.bytes_max;
        let room = self.room.get_or_insert_with(|| vec![0; bytes_max].into());
        // From zeros that lie elsewhere: it would wait for those just written to its own place.
        if let Ok(made) = InOutBuf::new(&ZEROS[..bytes], &mut room[..bytes]) {
            key.apply(counter, 0, made);
        }
        (self.first, self.at, self.end) = (counter, skip, bytes);
        self.take(data);
    }

    fn wipe(&mut self) {
        if let Some(room) = &mut self.room {
            room[..self.end].fill(0);
            // Nobody reads the zeros: the compiler must not know.
            std::hint::black_box(&mut **room);
        }
        self.end = 0;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.wipe();
    }
}

fn geometry(algorithm: Algorithm) -> Geometry {
    let (block_bytes, counter_bits) = match algorithm.kind() {
        Kind::Stream {
            block_bytes,
            counter_bits,
            ..
        } => (block_bytes, counter_bits),
        _ => (16, 128),
    };
    Geometry {
        block_shift: block_bytes.ilog2(),
        counter_bits,
    }
}

/// As long as the longest pass.
static ZEROS: [u8; 4 << 10] = [0; 4 << 10];

#[cfg(test)]
mod tests;
