//! The message codec: `tonic_prost` with a bound on the decoded size. An empty request takes two bytes on the wire and a
//! hundred times that in memory, and an empty item of a request some dozen times.

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
    U: Message + Default + Nested + Send + 'static,
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

impl<U: Message + Default + Nested> Decoder for BoundedDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // tonic passes a whole message in one piece.
        if source.chunk().len() == source.remaining() {
            let too_many = |most, what: &str| {
                Err(Status::invalid_argument(format!(
                    "more than {most} {what} in a message: send fewer at once"
                )))
            };
            if Fields(source.chunk()).nth(FIELDS_MAX).is_some() {
                return too_many(FIELDS_MAX, "requests or replies");
            }
            if U::INSIDE.has_more(source.chunk(), &mut ITEMS_MAX.clone()) {
                return too_many(ITEMS_MAX, "items of requests or replies");
            }
        }
        self.0.decode(source)
    }
}

/// A message with repeated fields below its top level.
pub trait Nested {
    /// Those fields.
    const INSIDE: Inside;
}

/// The numbers of the fields of a message that repeat or lead to others that do, and what is inside of each.
pub struct Inside(pub &'static [(u64, &'static Inside)]);

impl Inside {
    /// Whether there are more than `left` such fields, which it counts down. Those of the top level do not count: they have a
    /// bound of their own.
    fn has_more(&self, bytes: &[u8], left: &mut usize) -> bool {
        let mut fields = Fields(bytes);
        fields.any(|(number, content)| {
            let inside = self.0.iter().find(|(known, _)| *known == number);
            let (Some((_, inside)), Some(content)) = (inside, content) else {
                return false;
            };
            Fields(content).any(|(number, _)| {
                let counts = inside.0.iter().any(|(known, _)| *known == number);
                counts && left.checked_sub(1).map(|less| *left = less).is_none()
            }) || inside.has_more(content, left)
        })
    }
}

/// The fields at the top level of a message (protobuf.dev, "Encoding"): their numbers, and their content if that has a
/// length. They end where the message is malformed, which is left to the decoder.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = varint(&mut self.0)?;
        let length = match tag & 7 {
            0 => varint(&mut self.0).map(|_| 0)?,
            1 => 8,
            2 => varint(&mut self.0)?,
            5 => 4,
            // Groups: prost skips unknown ones, so their fields count as those around them.
            3 | 4 => 0,
            _ => return None,
        };
        let (content, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some((tag >> 3, (tag & 7 == 2).then_some(content)))
    }
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
/// The most items in the requests or replies of a message: more than 64 KiB of the shortest have, and one more request.
const ITEMS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto;

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
        let numbers: Vec<_> = Fields(&message).map(|(number, _)| number).collect();
        assert_eq!(numbers, [1, 1, 1, 1, 1]);
        assert_eq!(Fields(&message).nth(1), Some((1, Some(&[1, 2, 3][..]))));
        assert_eq!(Fields(&[]).next(), None);
        for nonsense in [&[0x0a, 0xff][..], &[0x0e], &[0xff; 20], &[0x0a, 5, 1]] {
            assert_eq!(Fields(nonsense).next(), None, "{nonsense:?}");
        }
        // An empty group, which the decoder skips, hides nothing behind it.
        let behind = [0x73, 0x74, 0x0a, 0].repeat(10);
        assert_eq!(Fields(&behind).count(), 30);
        let many = [0x0a, 0].repeat(20_000);
        assert!(Fields(&many).nth(FIELDS_MAX).is_some());
    }

    #[test]
    fn items_are_counted_at_every_depth() {
        let unwrap = |stanzas: usize, arguments: usize| {
            let stanza = proto::Stanza {
                arguments: vec![String::new(); arguments],
                ..proto::Stanza::default()
            };
            let unwrap = proto::Unwrap {
                stanzas: vec![stanza; stanzas],
                ..proto::Unwrap::default()
            };
            proto::Request {
                operation: Some(proto::request::Operation::Unwrap(unwrap)),
                ..proto::Request::default()
            }
        };
        let batch = proto::RequestBatch {
            requests: vec![unwrap(3, 2), unwrap(0, 0), unwrap(1, 0)],
        };
        // Each operation is one, each stanza and each argument.
        let (bytes, count) = (batch.encode_to_vec(), 3 + 4 + 6);
        let has_more =
            |left: usize| proto::RequestBatch::INSIDE.has_more(&bytes, &mut left.clone());
        assert!(!has_more(count));
        assert!(has_more(count - 1));
        let many = unwrap(1, ITEMS_MAX).encode_to_vec();
        assert!(proto::Request::INSIDE.has_more(&many, &mut ITEMS_MAX.clone()));
        let items = proto::Reply {
            id: 0,
            outcome: Some(proto::reply::Outcome::Items(proto::Items {
                items: vec![proto::Item::default(); 5],
            })),
        };
        let bytes = items.encode_to_vec();
        assert!(proto::Reply::INSIDE.has_more(&bytes, &mut 4));
        assert!(!proto::Reply::INSIDE.has_more(&bytes, &mut 5));
    }
}
