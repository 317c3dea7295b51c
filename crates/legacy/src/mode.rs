//! Counter mode over block ciphers with RustCrypto's traits.

use cipher::array::Array;
use cipher::{Block, BlockCipherEncrypt, KeyInit};
use inout::InOutBuf;
use zeroize::Zeroize;

/// A block cipher in counter mode, with a counter of the whole block. The cipher itself must wipe its key schedule; those of
/// this crate do.
pub struct BlockCtr<C>(C);

impl<C: BlockCipherEncrypt> BlockCtr<C> {
    /// Creates a key; `None` if the cipher does not accept its length.
    pub fn new(key: &[u8]) -> Option<Self>
    where
        C: KeyInit,
    {
        C::new_from_slice(key).ok().map(Self)
    }

    /// XORs keystream onto `data`, starting at byte `skip` of the block at `counter`. Only the low bytes of `counter`, one
    /// block of them, are used.
    pub fn apply(&self, mut counter: u128, mut skip: usize, mut data: InOutBuf<'_, '_, u8>) {
        let block_bytes = C::block_size();
        let mut keystream: [Block<C>; BATCH_BLOCKS] = core::array::from_fn(|_| Array::default());
        let mut used = 0;
        while !data.is_empty() {
            let blocks = (skip + data.len()).div_ceil(block_bytes).min(BATCH_BLOCKS);
            used = used.max(blocks);
            let keystream = &mut keystream[..blocks];
            for block in &mut *keystream {
                block.copy_from_slice(&counter.to_be_bytes()[16 - block_bytes..]);
                counter = counter.wrapping_add(1);
            }
            self.0.encrypt_blocks(keystream);
            let keystream = &Array::slice_as_flattened(keystream)[skip..];
            let bytes = keystream.len().min(data.len());
            let (mut piece, rest) = data.split_at(bytes);
            piece.xor_in2out(&keystream[..bytes]);
            data = rest;
            skip = 0;
        }
        // Only those used: wiping all of them takes longer than two blocks of Blowfish.
        for block in &mut keystream[..used] {
            block.as_mut_slice().zeroize();
        }
    }
}

/// Blocks encrypted in one call. The widest of the ciphers computes at most 16 at once; more amortize the call.
const BATCH_BLOCKS: usize = 32;
