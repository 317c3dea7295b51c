//! Packet headers.

use super::Protocol;
use crate::PacketError;

/// The header fields that SRTP needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub ssrc: u32,
    /// The RTP sequence number, or 0 for RTCP.
    pub sequence: u16,
    /// The bytes before the encrypted part.
    pub bytes: usize,
}

impl Header {
    /// Parses the header of an RTP (RFC 3550, 5.1) or RTCP packet without SRTP's fields. `bytes` is its length with
    /// them.
    #[inline]
    pub fn parse(protocol: Protocol, packet: &[u8], bytes: usize) -> Result<Self, PacketError> {
        let too_short = PacketError::InvalidLength { bytes };
        match protocol {
            Protocol::Rtp => {
                let Some(fixed) = packet.first_chunk::<RTP_BYTES>() else {
                    return Err(too_short);
                };
                let [first, _, s0, s1, _, _, _, _, ssrc @ ..] = *fixed;
                let mut bytes = RTP_BYTES + 4 * usize::from(first & 0x0f);
                if first & 0x10 != 0 {
                    // The extension has a profile of 2 bytes, a length in words, and the words.
                    let words = packet.get(bytes + 2..bytes + 4);
                    let Some(&[high, low]) = words else {
                        return Err(PacketError::InvalidHeader);
                    };
                    bytes += 4 + 4 * usize::from(u16::from_be_bytes([high, low]));
                }
                if first >> 6 != VERSION || bytes > packet.len() {
                    return Err(PacketError::InvalidHeader);
                }
                Ok(Self {
                    ssrc: u32::from_be_bytes(ssrc),
                    sequence: u16::from_be_bytes([s0, s1]),
                    bytes,
                })
            }
            Protocol::Rtcp => {
                let Some(fixed) = packet.first_chunk::<RTCP_BYTES>() else {
                    return Err(too_short);
                };
                let [first, _, _, _, ssrc @ ..] = *fixed;
                if first >> 6 != VERSION {
                    return Err(PacketError::InvalidHeader);
                }
                Ok(Self {
                    ssrc: u32::from_be_bytes(ssrc),
                    sequence: 0,
                    bytes: RTCP_BYTES,
                })
            }
        }
    }
}

/// The flag E before the index of an encrypted SRTCP packet (RFC 3711, 3.4).
pub(super) const ENCRYPTED: u32 = 1 << 31;
/// The bytes of RTCP before the encrypted part.
pub(super) const RTCP_BYTES: usize = 8;
const RTP_BYTES: usize = 12;
const VERSION: u8 = 2;
