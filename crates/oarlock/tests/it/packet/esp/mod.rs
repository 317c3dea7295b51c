//! IPsec's ESP, compared with packets of other implementations.

mod memory;
mod packets;
mod reference;
mod refusals;
mod vectors;
mod workers;

use oarlock::Accelerator;
use oarlock::packet::PacketError;
use oarlock::packet::esp::{
    Association, Cipher, Inbound, InboundPacket, Outbound, OutboundPacket, Suite,
};

const KEY: [u8; 100] = *b"one hundred bytes of keying material, of which each suite takes as many as it needs, and leaves some";
const SPI: u32 = 0x0102_0304;
const MASKS: [&str; 6] = ["", "-face", "-avx512", "-vaes", "-aes", "-aes,-avx2"];
const BEFORE: usize = Outbound::BEFORE_BYTES;

/// Returns the suites for which packets can be put together by hand.
fn suites() -> impl Iterator<Item = Suite> {
    let can = |suite: &Suite| cfg!(feature = "aws-lc") || !is_chained(*suite);
    Suite::ALL.iter().copied().filter(can)
}

fn is_chained(suite: Suite) -> bool {
    matches!(suite, Suite::EncryptThenMac(..))
}

fn is_cbc(suite: Suite) -> bool {
    align(suite) > 4
}

/// Returns the alignment of the encrypted part, in bytes.
fn align(suite: Suite) -> usize {
    match suite {
        Suite::EncryptThenMac(Cipher::Aes128Cbc | Cipher::Aes192Cbc | Cipher::Aes256Cbc, _) => 16,
        Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => 8,
        _ => 4,
    }
}

fn icv_bytes(suite: Suite) -> usize {
    suite.behind_bytes_max() - (align(suite) - 1) - 2
}

fn association(suite: Suite) -> Association<'static> {
    Association::new(SPI, suite, &KEY[..suite.key_bytes()])
}

fn pair(accelerator: &Accelerator, association: &Association<'_>) -> (Outbound, Inbound) {
    (
        accelerator.esp_outbound(association).unwrap(),
        accelerator.esp_inbound(association).unwrap(),
    )
}

/// Returns a packet's content, or why it was refused.
fn opened(inbound: &mut Inbound, packet: &[u8]) -> Result<(Vec<u8>, u8, u64), PacketError> {
    let mut packet = packet.to_vec();
    let mut packets = [InboundPacket::new(&mut packet)];
    inbound.open(&mut packets);
    let result = packets[0]
        .opened()
        .map(|it| (it.payload.to_vec(), it.next_header, it.sequence));
    if result.is_err() && packet.len() > 8 {
        assert!(packet[8..].iter().all(|byte| *byte == 0) || result_is_early(&result));
    }
    result
}

/// Whether a packet was refused before anything was decrypted.
fn result_is_early<T>(result: &Result<T, PacketError>) -> bool {
    !matches!(
        result,
        Err(PacketError::AuthenticationFailed | PacketError::InvalidPadding)
    )
}

fn sealed(outbound: &mut Outbound, payload: &[u8], next_header: u8) -> Vec<u8> {
    let mut buffer = vec![0xaa; BEFORE + payload.len() + Suite::BEHIND_BYTES_MAX];
    let range = BEFORE..BEFORE + payload.len();
    buffer[range.clone()].copy_from_slice(payload);
    let mut packets = [OutboundPacket::new(&mut buffer, range, next_header)];
    outbound.seal(&mut packets);
    packets[0].sealed().unwrap().to_vec()
}
