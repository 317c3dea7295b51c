//! AES-GCM (SP 800-38D) of independent packets.

use inout::InOutBuf;

use crate::aead::{AeadError, NONCE_BYTES, TAG_BYTES, tags_match};
use crate::gcm::Gcm;

/// A packet that AES-GCM seals or opens, with its own key and nonce.
pub struct GcmPacket<'a> {
    /// The key, with the powers of its hash key. Packets of a batch may share it or have keys of other lengths.
    pub key: &'a Gcm,
    /// The nonce. No two packets sealed under one key may have the same nonce, in one batch or across batches; nothing here
    /// checks that.
    pub nonce: &'a [u8; NONCE_BYTES],
    /// The data that is only authenticated, of any length.
    pub aad: &'a [u8],
    /// The data to encrypt or decrypt, of any length.
    pub data: InOutBuf<'a, 'a, u8>,
    /// Becomes the tag when sealing, or is the received tag when opening. Protocols that shorten tags do so themselves.
    pub tag: &'a mut [u8; TAG_BYTES],
    /// Becomes the result for this packet; its previous value does not matter.
    pub result: Result<(), AeadError>,
}

/// Seals every packet, like [`Gcm::seal`].
///
/// ```
/// use oarlock_kernels::{batch::{GcmPacket, open_gcm, seal_gcm}, cpu::Cpu, gcm::Gcm};
///
/// let keys = [Gcm::new(&[1; 16], Cpu::detect())?, Gcm::new(&[2; 32], Cpu::detect())?];
/// let (mut data, mut tags) = ([[3; 100], [4; 100]], [[0; 16]; 2]);
/// let mut packets: Vec<GcmPacket<'_>> = (keys.iter().zip(&mut data).zip(&mut tags))
///     .map(|((key, data), tag)| GcmPacket {
///         key,
///         nonce: &[5; 12],
///         aad: b"header",
///         data: data.as_mut_slice().into(),
///         tag,
///         result: Ok(()),
///     })
///     .collect();
/// seal_gcm(&mut packets);
/// packets[1].tag[0] ^= 1;
/// open_gcm(&mut packets);
/// assert!(packets[0].result.is_ok() && packets[1].result.is_err());
/// drop(packets);
/// assert_eq!(data, [[3; 100], [0; 100]]);
/// # Ok::<(), oarlock_kernels::aes::InvalidKeyLength>(())
/// ```
///
/// A packet that is longer than the cipher allows ([`AeadError`]) is left unchanged, and its result is that error.
pub fn seal_gcm(packets: &mut [GcmPacket<'_>]) {
    for packet in packets {
        let data = packet.data.reborrow();
        packet.result = match packet.key.packet::<false>(packet.nonce, packet.aad, data) {
            Some(tag) => {
                *packet.tag = tag;
                Ok(())
            }
            None => {
                let data = packet.data.reborrow();
                let sealed = packet.key.seal(packet.nonce, packet.aad, data);
                sealed.map(|tag| *packet.tag = tag)
            }
        };
    }
}

/// Opens every packet. If a packet's tag is wrong, its output becomes zeros, even in place, and its result is
/// [`AeadError::AuthenticationFailed`]; the other packets are not affected.
pub fn open_gcm(packets: &mut [GcmPacket<'_>]) {
    for packet in packets {
        let data = packet.data.reborrow();
        packet.result = match packet.key.packet::<true>(packet.nonce, packet.aad, data) {
            Some(tag) if tags_match(&tag, packet.tag) => Ok(()),
            Some(_) => Err(AeadError::AuthenticationFailed),
            None => {
                let data = packet.data.reborrow();
                packet.key.open(packet.nonce, packet.aad, data, packet.tag)
            }
        };
        if packet.result == Err(AeadError::AuthenticationFailed) {
            packet.data.get_out().fill(0);
        }
    }
}
