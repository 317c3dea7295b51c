//! Triple DES in CBC mode (SP 800-67; SP 800-38A, section 6.2) of independent streams.

use inout::InOutBuf;

use crate::bits::des_cbc::Words;
use crate::requests::{self, TdesChained};
use crate::tdes::{BLOCK_BYTES, Cbc, CbcBackend, assert_whole_blocks};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::batch::{tdes as kernels, tdes_nibbles as nibbles};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::tdes::Xmm;

/// A stream of Triple DES in CBC mode: whole blocks with their own key and IV.
pub struct TdesCbcStream<'a> {
    /// The key. Streams of a batch may share it.
    pub key: &'a Cbc,
    /// The ciphertext block before the first, or the message's IV at its start. Becomes the last ciphertext block; without
    /// data it does not change.
    pub iv: &'a mut [u8; BLOCK_BYTES],
    /// The data to encrypt, a multiple of 8 bytes.
    pub data: InOutBuf<'a, 'a, u8>,
}

impl TdesChained for TdesCbcStream<'_> {
    fn masks(&self) -> &[u64; 192] {
        &self.key.masks
    }
    fn rounds(&self) -> &[u64; 48] {
        &self.key.rounds
    }
    fn bytes(&self) -> usize {
        self.data.len()
    }
    fn data(&mut self) -> InOutBuf<'_, '_, u8> {
        self.data.reborrow()
    }
    fn chain(&mut self) -> &mut [u8; BLOCK_BYTES] {
        self.iv
    }
}

/// Encrypts every stream. The borrows guarantee that the buffers of different streams do not overlap.
///
/// ```
/// use inout::InOutBuf;
/// use oarlock_kernels::{batch::{TdesCbcStream, encrypt_tdes_cbc}, cpu::Cpu, tdes::{Cbc, CbcBackend}};
///
/// let keys = [Cbc::new(&[1; 24]), Cbc::new(&[2; 24])];
/// let (mut ivs, mut packets) = ([[3; 8]; 2], [vec![0; 64], vec![0; 1_024]]);
/// let mut streams: Vec<TdesCbcStream<'_>> = (keys.iter().zip(&mut ivs).zip(&mut packets))
///     .map(|((key, iv), packet)| TdesCbcStream { key, iv, data: InOutBuf::from(&mut packet[..]) })
///     .collect();
/// encrypt_tdes_cbc(CbcBackend::preferred(Cpu::detect()), &mut streams);
/// ```
///
/// # Panics
/// If the length of a stream is not a multiple of 8 bytes; no stream has been encrypted then.
pub fn encrypt_tdes_cbc(backend: CbcBackend, streams: &mut [TdesCbcStream<'_>]) {
    for stream in &*streams {
        assert_whole_blocks(stream.data.len());
    }
    match backend {
        CbcBackend::Portable => requests::encrypt(&mut Words::<u64>::new(), streams),
        #[cfg(target_arch = "x86_64")]
        CbcBackend::Sse2 => requests::encrypt(&mut Words::<Xmm>::new(), streams),
        #[cfg(target_arch = "x86_64")]
        CbcBackend::NibblesSsse3(token) => nibbles::ssse3::encrypt(token, streams),
        #[cfg(target_arch = "x86_64")]
        CbcBackend::NibblesAvx2(token) => nibbles::avx2::encrypt(token, streams),
        #[cfg(target_arch = "x86_64")]
        CbcBackend::Permute(token) => kernels::encrypt(token, streams),
    }
}
