//! Block ciphers with S-boxes of bytes, four blocks to each 128 bits of a register.
//!
//! A request may have one block, for which OpenSSL takes 70 to 120 ns. So the latency of a block matters most, then how many
//! blocks fit that latency. Layouts that keep one byte of a block in a register hold 16 blocks in each 128 bits, and execute
//! 16 times the instructions that a single block needs. Here 128 bits hold one word of four blocks, or a byte of each in
//! every word, so a round of one block has a short chain of instructions, and wider registers and more of them only add
//! blocks.
//!
//! ```text
//! words w0 w1 w2 w3    each of 4, 8 or 16 blocks, computed from the counter without a transposition
//! cipher               in place; keys are read as each round begins
//! blocks               words transposed four by four, and XORed onto the data
//! ```
//!
//! No index and no branch depends on a secret.

pub(crate) mod aria;
mod bytes;
pub(crate) mod camellia;
mod gfni;
mod lanes;
mod sbox;
pub(crate) mod sm4;

use self::bytes::Bytes;
use self::lanes::Words;
use self::sbox::Boxes;
use inout::InOutBuf;
use oarlock_kernels::xor::xor;

/// A cipher over the S-boxes of `B`.
trait Sliced<B: Boxes> {
    /// Encrypts `N` groups side by side. On entry, words are little-endian integers of a block's big-endian words; on
    /// return, they hold a block's bytes in order.
    ///
    /// # Safety
    /// The CPU has the instructions of `B`.
    unsafe fn encrypt<const N: usize>(&self, groups: &mut [[B::V; 4]; N]);
}

/// Applies counter mode to a run in which the low 32 bits of `counter` do not wrap, `N` groups at once.
///
/// # Safety
/// The instructions of `B` are enabled in the caller; `data` is as [`Run::xor`] demands.
#[inline(always)]
unsafe fn ctr<B: Boxes, C: Sliced<B>, const N: usize>(
    cipher: &C,
    mut counter: u128,
    mut data: Run,
) {
    // SAFETY: the caller has the instructions of `B`, and `data` as `Run::xor` requires it, which each `pass` shortens.
    unsafe {
        while data.bytes > 4 * B::V::BYTES {
            pass::<B, C, N>(cipher, counter, &mut data);
            counter = counter.wrapping_add((N * 4 * B::V::BLOCKS) as u128);
        }
        if data.bytes > 0 {
            pass::<B, C, 1>(cipher, counter, &mut data);
        }
    }
}

/// Processes at most the bytes of `N` groups.
///
/// # Safety
/// The same as for [`ctr`].
#[inline(always)]
unsafe fn pass<B: Boxes, C: Sliced<B>, const N: usize>(cipher: &C, counter: u128, data: &mut Run) {
    // SAFETY: the caller has the instructions of `B` for all of this, and the rest of `data` is as `Run::xor` requires.
    unsafe {
        let words = [
            B::V::splat_word((counter >> 96) as u32),
            B::V::splat_word((counter >> 64) as u32),
            B::V::splat_word((counter >> 32) as u32),
            B::V::numbered(counter as u32),
        ];
        let mut groups = [words; N];
        for (i, [_, _, _, last]) in groups.iter_mut().enumerate().skip(1) {
            *last = B::V::numbered((counter as u32).wrapping_add((i * 4 * B::V::BLOCKS) as u32));
        }
        cipher.encrypt(&mut groups);
        for group in groups {
            for keystream in transposed(group) {
                if !data.xor(keystream) {
                    return;
                }
            }
        }
    }
}

/// The rest of a run.
struct Run {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
}

impl Run {
    /// XORs the next bytes. Returns false if fewer than `keystream` has were left.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller; `bytes` are readable at `from` and writable at `to`, the same
    /// place or one that does not overlap.
    #[inline(always)]
    unsafe fn xor<V: Words>(&mut self, keystream: V) -> bool {
        let Self { from, to, bytes } = *self;
        // SAFETY: the caller has `bytes` at both pointers: a register is read and written only if they have that many; a
        // shorter rest is XORed from `spilled`, which is longer.
        unsafe {
            if bytes < V::BYTES {
                let mut spilled = keystream;
                let keystream = core::slice::from_raw_parts((&raw const spilled).cast(), bytes);
                xor(keystream, InOutBuf::from_raw(from, to, bytes));
                spilled.zeroize();
                self.bytes = 0;
                return false;
            }
            keystream.xor(V::load(from)).store(to);
            (self.from, self.to) = (from.add(V::BYTES), to.add(V::BYTES));
        }
        self.bytes -= V::BYTES;
        true
    }
}

/// Converts the words of four blocks to the blocks, in each 128 bits.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn transposed<V: Words>([w0, w1, w2, w3]: [V; 4]) -> [V; 4] {
    // SAFETY: instructions of `V`, which the caller has, exchange halves and words of registers.
    unsafe {
        let (a, b) = (w0.low_words(w1), w2.low_words(w3));
        let (c, d) = (w0.high_words(w1), w2.high_words(w3));
        [
            a.low_halves(b),
            a.high_halves(b),
            c.low_halves(d),
            c.high_halves(d),
        ]
    }
}

/// The entry points of a cipher: one for each backend.
macro_rules! entry_points {
    ($cipher:ty: $($name:ident, $token:ty, $boxes:ty, $groups:literal, $features:literal, $counter:ident;)+) => {$(
        /// Applies counter mode to a run in which the low 32 bits of `counter` do not wrap.
        pub(crate) fn $name(
            _: $token,
            cipher: &$cipher,
            counter: u128,
            data: InOutBuf<'_, '_, u8>,
        ) {
            /// # Safety
            /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap.
            #[target_feature(enable = $features)]
            unsafe fn with_features(
                cipher: &$cipher,
                counter: u128,
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the instructions of `$boxes` are enabled here; the caller has `bytes` at both
                // pointers.
                unsafe { crate::sliced::ctr::<$boxes, _, $groups>(cipher, counter, crate::sliced::Run { from, to, bytes }) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::words::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            // SAFETY: the token proves the features; the buffer has `bytes` at both pointers, which are the
            // same or do not overlap.
            unsafe { with_features(cipher, counter, from, to, bytes) }
        }
    )+};
}
use entry_points;
