//! Counter mode over block ciphers of RustCrypto's traits.

use cipher::array::Array;
use cipher::{Block, BlockCipherEncrypt, KeyInit};
use inout::InOutBuf;
use zeroize::Zeroize;

/// A block cipher in counter mode: as many bits count as a block has. Wiping its schedule is the cipher's own affair;
/// those of this crate do.
pub struct BlockCtr<C>(C);

impl<C: BlockCipherEncrypt> BlockCtr<C> {
    /// `None` for a key of a length that the cipher does not take.
    pub fn new(key: &[u8]) -> Option<Self>
    where
        C: KeyInit,
    {
        C::new_from_slice(key).ok().map(Self)
    }

    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on. Of `counter`, the low bytes are used, as
    /// many as a block has.
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
        // No more: wiping all of them takes longer than two blocks of Blowfish.
        for block in &mut keystream[..used] {
            block.as_mut_slice().zeroize();
        }
    }
}

/// What the widest of the ciphers takes at once is 16 blocks or fewer; more spread the cost of the
/// call.
const BATCH_BLOCKS: usize = 32;
