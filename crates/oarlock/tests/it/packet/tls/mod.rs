//! TLS 1.3 and DTLS 1.3 records, compared with those of other implementations.

mod dtls;
mod published;
mod records;
mod reference;
mod refusals;

use oarlock::Accelerator;
use oarlock::packet::PacketError;
use oarlock::packet::tls::{
    ContentType, End, Inbound, InboundRecord, Keys, Outbound, OutboundRecord, Suite,
};

const DATA: ContentType = ContentType::APPLICATION_DATA;
const MASKS: [&str; 5] = ["", "-avx512", "-vaes", "-aes", "-aes,-avx2"];
const BEFORE: usize = OutboundRecord::BEFORE_BYTES;
const BEHIND: usize = OutboundRecord::BEHIND_BYTES;

fn pair(accelerator: &Accelerator, keys: &Keys<'_>) -> (Outbound, Inbound) {
    (
        accelerator.tls_outbound(keys).unwrap(),
        accelerator.tls_inbound(keys).unwrap(),
    )
}

fn sealed(outbound: &mut Outbound, content: &[u8], content_type: ContentType) -> Vec<u8> {
    try_sealed(outbound, content, content_type).unwrap()
}

fn try_sealed(
    outbound: &mut Outbound,
    content: &[u8],
    content_type: ContentType,
) -> Result<Vec<u8>, PacketError> {
    let mut buffer = vec![0xaa; BEFORE + content.len() + BEHIND];
    let range = BEFORE..BEFORE + content.len();
    buffer[range.clone()].copy_from_slice(content);
    let mut records = [OutboundRecord::new(&mut buffer, range, content_type)];
    outbound.seal(&mut records);
    records[0].sealed().map(<[u8]>::to_vec)
}

/// Everything that [`Inbound::open`] returns: contents, types, the bytes consumed, why it stopped; and the buffer after the
/// call.
struct Found {
    records: Vec<(Vec<u8>, ContentType)>,
    bytes: usize,
    end: Result<End, PacketError>,
    buffer: Vec<u8>,
}

fn opened(inbound: &mut Inbound, stream: &[u8]) -> Found {
    let mut buffer = stream.to_vec();
    let mut records = vec![InboundRecord::default(); stream.len() / 21 + 1];
    let opened = inbound.open(&mut buffer, &mut records);
    Found {
        records: (records[..opened.records].iter())
            .map(|record| (buffer[record.content()].to_vec(), record.content_type()))
            .collect(),
        bytes: opened.bytes,
        end: opened.end,
        buffer,
    }
}

/// Opens the single record in `stream`.
fn opened_one(inbound: &mut Inbound, stream: &[u8]) -> Result<(Vec<u8>, ContentType), PacketError> {
    let mut found = opened(inbound, stream);
    found.end?;
    assert_eq!((found.records.len(), found.bytes), (1, stream.len()));
    Ok(found.records.remove(0))
}

fn keys(suite: Suite, secret: &[u8]) -> Keys<'_> {
    Keys::from_secret(suite, secret)
}
