//! Counter mode (SP 800-38A, 6.5) over any block cipher of RustCrypto's: the legacy ciphers, for
//! which this library has no kernels of its own, and whatever a caller brings.

use std::sync::Arc;

use cipher::array::Array;
use cipher::{Block, BlockCipherEncrypt, KeyInit};
use inout::InOutBuf;
use zeroize::Zeroize;

use super::keystream::Keystream;
use crate::work::algorithm::{Algorithm, InvalidKey};

/// The key of one of the ciphers that are built in.
pub(crate) fn keystream(
    algorithm: Algorithm,
    #[cfg_attr(not(feature = "legacy"), allow(unused_variables))] key: &[u8],
) -> Result<Arc<dyn Keystream>, InvalidKey> {
    match algorithm {
        #[cfg(feature = "legacy")]
        Algorithm::Camellia128Ctr => keyed::<camellia::Camellia128>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Camellia192Ctr => keyed::<camellia::Camellia192>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Camellia256Ctr => keyed::<camellia::Camellia256>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Twofish128Ctr | Algorithm::Twofish256Ctr => keyed::<twofish::Twofish>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Aria128Ctr => keyed::<aria::Aria128>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Aria192Ctr => keyed::<aria::Aria192>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Aria256Ctr => keyed::<aria::Aria256>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Sm4Ctr => keyed::<sm4::Sm4>(key),
        #[cfg(feature = "legacy")]
        Algorithm::Cast5Ctr => keyed::<cast5::Cast5>(key),
        #[cfg(feature = "legacy")]
        Algorithm::BlowfishCtr => keyed::<blowfish::Blowfish>(key),
        _ => Err(InvalidKey(format!("{algorithm} is not built in"))),
    }
}

#[cfg(feature = "legacy")]
fn keyed<C>(key: &[u8]) -> Result<Arc<dyn Keystream>, InvalidKey>
where
    C: BlockCipherEncrypt + KeyInit + Send + Sync + 'static,
{
    let cipher = C::new_from_slice(key)
        .map_err(|_| InvalidKey(format!("a key of {} bytes does not fit", key.len())))?;
    Ok(Arc::new(BlockCtr(cipher)))
}

/// The cipher in counter mode: as many bits count as a block has. Wiping its schedule is the
/// cipher's own affair; those built in do.
pub(crate) struct BlockCtr<C>(pub(crate) C);

impl<C: BlockCipherEncrypt> BlockCtr<C> {
    pub(crate) fn new(key: &[u8]) -> Option<Self>
    where
        C: KeyInit,
    {
        C::new_from_slice(key).ok().map(Self)
    }
}

impl<C: BlockCipherEncrypt + Send + Sync> Keystream for BlockCtr<C> {
    fn apply(&self, mut counter: u128, mut skip: usize, mut data: InOutBuf<'_, '_, u8>) {
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
