//! Arithmetic on the counters of stream ciphers.

/// The shape of a cipher's counter: its block size and the bits that count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) block_shift: u32,
    pub(crate) counter_bits: u32,
}

impl Geometry {
    /// Returns the position that is `bytes` after byte `skip` of the block at `counter`.
    pub(crate) fn after(self, counter: u128, skip: usize, bytes: u64) -> (u128, usize) {
        let bytes = skip as u64 + bytes;
        let blocks = u128::from(bytes >> self.block_shift);
        let counter = advanced(counter, blocks, self.counter_bits);
        (counter, bytes as usize & ((1 << self.block_shift) - 1))
    }

    /// Returns the bytes between two positions. `None` if `to` is far ahead, lies behind `from` or belongs to another
    /// stream, where the bits that do not count (such as ChaCha20's nonce) differ.
    pub(crate) fn bytes_between(self, from: (u128, usize), to: (u128, usize)) -> Option<u64> {
        let nonces = (from.0 ^ to.0).checked_shr(self.counter_bits);
        if nonces.is_some_and(|difference| difference != 0) {
            return None;
        }
        let blocks = u64::try_from(distance(from.0, to.0, self.counter_bits)).ok()?;
        if blocks > 1 << 40 {
            return None;
        }
        ((blocks << self.block_shift) + to.1 as u64).checked_sub(from.1 as u64)
    }
}

/// Returns `counter` advanced by `blocks`, where only its low `bits` bits count.
#[inline(always)]
pub(crate) fn advanced(counter: u128, blocks: u128, bits: u32) -> u128 {
    advanced_within(counter, blocks, counting(bits))
}

/// Returns `counter` advanced by `blocks`, where only the bits of `mask` count.
#[inline(always)]
pub(crate) fn advanced_within(counter: u128, blocks: u128, mask: u128) -> u128 {
    (counter & !mask) | (counter.wrapping_add(blocks) & mask)
}

/// Returns the number of blocks from one counter to another, where only the low `bits` bits count.
#[inline(always)]
pub(crate) fn distance(from: u128, to: u128, bits: u32) -> u128 {
    to.wrapping_sub(from) & counting(bits)
}

/// Returns a mask of the low `bits` bits, of which there is at least one.
pub(crate) const fn counting(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}
