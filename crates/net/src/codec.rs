//! The message codec: `tonic_prost` with a bound on the decoded size. An empty request takes two bytes on the wire and a
//! hundred times that in memory.

use std::marker::PhantomData;

use prost::Message;
use prost::bytes::Buf;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// The codec of all calls.
pub struct BoundedCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for BoundedCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for BoundedCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = BoundedDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        BoundedDecoder(ProstCodec::<T, U>::default().decoder())
    }
}

/// A decoder that refuses messages with too many fields before it decodes them.
pub struct BoundedDecoder<U>(ProstDecoder<U>);

impl<U: Message + Default> Decoder for BoundedDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // tonic passes a whole message in one piece.
        if source.chunk().len() == source.remaining() && has_more_fields(source.chunk(), FIELDS_MAX)
        {
            return Err(Status::invalid_argument(format!(
                "more than {FIELDS_MAX} requests or replies in a message: send fewer at once"
            )));
        }
        self.0.decode(source)
    }
}

/// Whether a message has more than `fields_max` fields at its top level (protobuf.dev, "Encoding"). Malformed messages
/// return false and are left to the decoder.
fn has_more_fields(mut bytes: &[u8], fields_max: usize) -> bool {
    for _ in 0..=fields_max {
        if bytes.is_empty() {
            return false;
        }
        let Some(tag) = varint(&mut bytes) else {
            return false;
        };
        let length = match tag & 7 {
            0 => varint(&mut bytes).map(|_| 0),
            1 => Some(8),
            2 => varint(&mut bytes),
            5 => Some(4),
            _ => None,
        };
        let rest = length
            .and_then(|length| usize::try_from(length).ok())
            .and_then(|length| bytes.get(length..));
        let Some(rest) = rest else { return false };
        bytes = rest;
    }
    true
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The most fields of a message: more one-byte replies than a server puts into one message.
const FIELDS_MAX: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_and_nonsense_is_left_to_the_decoder() {
        // An empty request, one of three bytes, a varint, a 64-bit and a 32-bit field.
        let fields: [&[u8]; 5] = [
            &[0x0a, 0],
            &[0x0a, 3, 1, 2, 3],
            &[0x08, 0x96, 0x01],
            &[0x09, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x0d, 1, 2, 3, 4],
        ];
        let message = fields.concat();
        assert!(has_more_fields(&message, 4));
        assert!(!has_more_fields(&message, 5));
        assert!(!has_more_fields(&[], 0));
        for nonsense in [&[0x0a, 0xff][..], &[0x0b], &[0xff; 20], &[0x0a, 5, 1]] {
            assert!(!has_more_fields(nonsense, 0), "{nonsense:?}");
        }
        assert!(has_more_fields(&[0x0a, 0].repeat(20_000), FIELDS_MAX));
    }
}
