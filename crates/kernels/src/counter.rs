//! Counters of 16 bytes: data is cut where the low 32 bits wrap, so that kernels only count in those.

use inout::InOutBuf;
use zeroize::Zeroize;

use crate::key::BLOCK_BYTES;
use crate::portable::xor::xor;

/// Processes `data` in runs in which the low 32 bits of the counter do not wrap. `run` XORs keystream onto a run, starting
/// with the block encrypted from its counter; `data` starts at byte `skip` of the block of `counter`.
///
/// # Panics
/// When `skip` is 16 or more.
#[inline(always)]
pub fn by_runs(
    counter: u128,
    skip: usize,
    data: InOutBuf<'_, '_, u8>,
    mut run: impl FnMut(u128, InOutBuf<'_, '_, u8>),
) {
    if is_one_run(counter, skip, data.len()) {
        run(counter, data);
    } else {
        drive(counter, skip, data, carry_128, &mut run);
    }
}

/// Whether `bytes` of data are a single run. That is the hot path, kept in registers from the caller to the kernel: a
/// buffer's pointers and length that pass through memory as three words and are read back as one vector cost as much as 64
/// bytes of AES.
#[inline(always)]
pub(crate) fn is_one_run(counter: u128, skip: usize, bytes: usize) -> bool {
    skip == 0 && bytes as u64 <= bytes_before_wrap(counter)
}

/// Cuts `data` into runs in which the low 32 bits of the counter do not wrap, after the rest of a block of which `skip`
/// bytes were used. `advance` adds blocks to a counter.
#[inline(never)]
pub(crate) fn drive(
    mut counter: u128,
    skip: usize,
    mut data: InOutBuf<'_, '_, u8>,
    advance: impl Fn(u128, u64) -> u128,
    run: &mut dyn FnMut(u128, InOutBuf<'_, '_, u8>),
) {
    assert!(
        skip < BLOCK_BYTES,
        "skip addresses a byte within a block: 0 to 15, not {skip}"
    );
    if skip > 0 {
        let mut keystream = [0; BLOCK_BYTES];
        run(counter, (&mut keystream[..]).into());
        let bytes = data.len().min(BLOCK_BYTES - skip);
        let (head, rest) = data.split_at(bytes);
        xor(&keystream[skip..skip + bytes], head);
        keystream.zeroize();
        counter = advance(counter, 1);
        data = rest;
    }
    while !data.is_empty() {
        let bytes = bytes_before_wrap(counter).min(data.len() as u64);
        let (piece, rest) = data.split_at(bytes as usize);
        run(counter, piece);
        counter = advance(counter, bytes / BLOCK_BYTES as u64);
        data = rest;
    }
}

/// Adds to a 128-bit counter (SP 800-38A, appendix B.1, with m = 128).
pub(crate) fn carry_128(counter: u128, blocks: u64) -> u128 {
    counter.wrapping_add(blocks.into())
}

/// Adds to the low 32 bits of a counter (inc32 of SP 800-38D, section 6.2).
pub(crate) fn carry_32(counter: u128, blocks: u64) -> u128 {
    (counter & !LOW_32) | (counter.wrapping_add(blocks.into()) & LOW_32)
}

/// Returns the bytes of keystream from `counter` up to the wrap of its low 32 bits.
#[inline(always)]
pub(crate) fn bytes_before_wrap(counter: u128) -> u64 {
    ((1 << 32) - (counter as u32 as u64)) * BLOCK_BYTES as u64
}

const LOW_32: u128 = 0xffff_ffff;
