//! Counter mode (SP 800-38A, 6.5) of the legacy ciphers: by kernels of this library where there are
//! any, otherwise over block ciphers of RustCrypto's. And over whatever cipher a caller brings.

use std::sync::Arc;

use cipher::array::Array;
use cipher::{Block, BlockCipherEncrypt, KeyInit};
use inout::InOutBuf;
use oarlock_kernels::cpu::Cpu;
#[cfg(all(feature = "legacy", target_arch = "x86_64"))]
use oarlock_kernels::legacy;
use zeroize::Zeroize;

use super::keystream::Keystream;
#[cfg(all(feature = "legacy", target_arch = "x86_64"))]
use crate::costs::lookup::legacy_backend;
use crate::work::algorithm::{Algorithm, InvalidKey};

/// The key of one of the ciphers that are built in.
pub(crate) fn keystream(
    cpu: Cpu,
    algorithm: Algorithm,
    #[cfg_attr(not(feature = "legacy"), allow(unused_variables))] key: &[u8],
) -> Result<Arc<dyn Keystream>, InvalidKey> {
    #[cfg(all(feature = "legacy", target_arch = "x86_64"))]
    if let Some(backend) = legacy_backend(cpu, algorithm) {
        return match algorithm {
            Algorithm::Sm4Ctr => by_kernel::<legacy::Sm4>(backend, key),
            Algorithm::Aria128Ctr | Algorithm::Aria192Ctr | Algorithm::Aria256Ctr => {
                by_kernel::<legacy::Aria>(backend, key)
            }
            _ => by_kernel::<legacy::Camellia>(backend, key),
        };
    }
    let _ = cpu;
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

#[cfg(all(feature = "legacy", target_arch = "x86_64"))]
fn by_kernel<C>(backend: legacy::Backend, key: &[u8]) -> Result<Arc<dyn Keystream>, InvalidKey>
where
    C: legacy::BlockCipher + Send + Sync + 'static,
{
    let mut ctr = Arc::new(legacy::Ctr::<C>::unkeyed(backend));
    // In place: a box made into an `Arc` would be copied and freed as it was.
    if let Some(ctr) = Arc::get_mut(&mut ctr) {
        let refused = |error: legacy::InvalidKeyLength| InvalidKey(error.to_string());
        ctr.set_key(key).map_err(refused)?;
    }
    Ok(ctr)
}

#[cfg(all(feature = "legacy", target_arch = "x86_64"))]
impl<C: legacy::BlockCipher + Send + Sync> Keystream for legacy::Ctr<C> {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        legacy::Ctr::apply(self, counter, skip, data);
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
