//! AES-CBC encryption (SP 800-38A, section 6.2) of independent streams.

use inout::InOutBuf;

use crate::aes::Backend;
use crate::cbc::{self, Cbc};
use crate::key::{BLOCK_BYTES, Schedule};
use crate::requests::{Chained, Request};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::batch::cbc as kernels;

/// A stream that AES-CBC encrypts: whole blocks under a key and an IV of its own.
pub struct CbcStream<'a> {
    /// The key. Streams of a batch may share it or have keys of other lengths. The backend it was set for does not matter.
    pub key: &'a Cbc,
    /// The ciphertext block before the first, or the message's IV at its start. Becomes the last ciphertext block; without
    /// data it does not change.
    pub iv: &'a mut [u8; BLOCK_BYTES],
    /// The data to encrypt, a multiple of 16 bytes.
    pub data: InOutBuf<'a, 'a, u8>,
}

impl Request for CbcStream<'_> {
    #[inline(always)]
    fn schedule(&self) -> &Schedule {
        &self.key.schedule
    }
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
    #[inline(always)]
    fn data(&mut self) -> InOutBuf<'_, '_, u8> {
        self.data.reborrow()
    }
}

impl Chained for CbcStream<'_> {
    #[inline(always)]
    fn chain(&mut self) -> &mut [u8; BLOCK_BYTES] {
        self.iv
    }
    #[inline(always)]
    fn parts(&mut self) -> (&Schedule, &mut [u8; BLOCK_BYTES], InOutBuf<'_, '_, u8>) {
        (&self.key.schedule, self.iv, self.data.reborrow())
    }
}

/// Encrypts every stream, like [`Cbc::encrypt`]. The borrows guarantee that the buffers of different streams do not overlap.
///
/// ```
/// use inout::InOutBuf;
/// use oarlock_kernels::{aes::Backend, batch::{CbcStream, encrypt_cbc}, cbc::Cbc, cpu::Cpu};
///
/// let keys = [Cbc::new(&[1; 16], Cpu::detect())?, Cbc::new(&[2; 32], Cpu::detect())?];
/// let (mut ivs, mut packets) = ([[3; 16], [4; 16]], [vec![0; 64], vec![0; 1_024]]);
/// let mut streams: Vec<CbcStream<'_>> = (keys.iter().zip(&mut ivs).zip(&mut packets))
///     .map(|((key, iv), packet)| CbcStream { key, iv, data: InOutBuf::from(&mut packet[..]) })
///     .collect();
/// encrypt_cbc(Backend::preferred(Cpu::detect()), &mut streams);
/// # Ok::<(), oarlock_kernels::aes::InvalidKeyLength>(())
/// ```
///
/// # Panics
/// If the length of a stream is not a multiple of 16 bytes; no stream has been encrypted then.
pub fn encrypt_cbc(backend: Backend, streams: &mut [CbcStream<'_>]) {
    for stream in &*streams {
        cbc::assert_whole_blocks(stream.data.len());
    }
    match backend {
        #[cfg(target_arch = "x86_64")]
        Backend::AesNi(token) => kernels::encrypt_aes_ni(token, streams),
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes256(token) => kernels::encrypt_vaes256(token, streams),
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes512(token) => kernels::encrypt_vaes512(token, streams),
        // Bitsliced code has the key bits of one key in all lanes.
        Backend::Portable => {
            for stream in streams {
                let data = stream.data.reborrow();
                cbc::encrypt(backend, &stream.key.schedule, stream.iv, data);
            }
        }
    }
}
