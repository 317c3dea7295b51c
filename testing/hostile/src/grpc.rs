//! Requests as Protocol Buffers encodes them (`crates/net/proto`), and gRPC's frames around messages.

/// The field of an operation in a request, and its message.
pub(crate) struct Operation {
    field: u64,
    message: Vec<u8>,
}

pub(crate) const EXCHANGE: &str = "/oarlock.v1.Cryptoserver/Exchange";
pub(crate) const CALL: &str = "/oarlock.v1.Cryptoserver/Call";
pub(crate) const LIST_KEYS: &str = "/oarlock.v1.Cryptoserver/ListKeys";
pub(crate) const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
pub(crate) const HEALTH_WATCH: &str = "/grpc.health.v1.Health/Watch";
pub(crate) const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/// PKCS #1 v1.5 with SHA-256.
pub(crate) fn sign(key: &[u8], digest: &[u8]) -> Operation {
    sign_by(1, key, digest)
}

/// By the scheme of a number.
pub(crate) fn sign_by(scheme: u64, key: &[u8], digest: &[u8]) -> Operation {
    let mut message = Vec::new();
    put_bytes(&mut message, 1, key);
    put_number(&mut message, 2, scheme);
    put_bytes(&mut message, 3, digest);
    Operation { field: 4, message }
}

/// OAEP with SHA-256.
pub(crate) fn decrypt(key: &[u8], ciphertext: &[u8]) -> Operation {
    let mut message = Vec::new();
    put_bytes(&mut message, 1, key);
    put_number(&mut message, 2, 3);
    put_bytes(&mut message, 3, ciphertext);
    Operation { field: 5, message }
}

pub(crate) fn raw_private(key: &[u8], number: &[u8]) -> Operation {
    let mut message = Vec::new();
    put_bytes(&mut message, 1, key);
    put_bytes(&mut message, 2, number);
    Operation { field: 6, message }
}

pub(crate) struct ModExp<'a> {
    pub(crate) base: &'a [u8],
    pub(crate) exponent: &'a [u8],
    pub(crate) modulus: &'a [u8],
    /// p, q, dp, dq, qinv and the public exponent.
    pub(crate) crt: Option<&'a [Vec<u8>; 6]>,
}

pub(crate) fn mod_exp(numbers: &ModExp<'_>) -> Operation {
    let mut message = Vec::new();
    put_bytes(&mut message, 1, numbers.base);
    put_bytes(&mut message, 3, numbers.exponent);
    put_bytes(&mut message, 4, numbers.modulus);
    if let Some(numbers) = numbers.crt {
        let mut crt = Vec::new();
        for (field, number) in (1..).zip(numbers) {
            put_bytes(&mut crt, field, number);
        }
        put_bytes(&mut message, 6, &crt);
    }
    Operation { field: 7, message }
}

pub(crate) fn random(bytes: u64) -> Operation {
    let mut message = Vec::new();
    put_number(&mut message, 1, bytes);
    Operation { field: 8, message }
}

/// A message `Request`; a timeout of 0 is the server's.
pub(crate) fn request(id: u64, timeout_ms: u64, operation: &Operation) -> Vec<u8> {
    let mut message = Vec::new();
    put_number(&mut message, 1, id);
    put_number(&mut message, 2, timeout_ms);
    put_bytes(&mut message, operation.field, &operation.message);
    message
}

/// A message `RequestBatch` of encoded requests, in gRPC's frame.
pub(crate) fn batch(requests: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut message = Vec::new();
    for request in requests {
        put_bytes(&mut message, 1, &request);
    }
    framed(&message)
}

/// A message with a text in its first field, in gRPC's frame.
pub(crate) fn text(text: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    put_bytes(&mut message, 1, text);
    framed(&message)
}

/// A request for the symbols of a service, to `REFLECTION`.
pub(crate) fn symbols_of(name: &str) -> Vec<u8> {
    let mut message = Vec::new();
    put_bytes(&mut message, 4, name.as_bytes());
    framed(&message)
}

/// gRPC's frame: not compressed, the length, the message.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let mut frame = prefix(message.len() as u32).to_vec();
    frame.extend_from_slice(message);
    frame
}

/// The beginning of a frame for a message of this length.
pub(crate) fn prefix(bytes: u32) -> [u8; 5] {
    let [a, b, c, d] = bytes.to_be_bytes();
    [0, a, b, c, d]
}

fn put_number(message: &mut Vec<u8>, field: u64, number: u64) {
    put_varint(message, field << 3);
    put_varint(message, number);
}

fn put_bytes(message: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(message, field << 3 | 2);
    put_varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

fn put_varint(message: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the encoding guide of Protocol Buffers shows them.
    #[test]
    fn fields_are_tag_length_and_bytes() {
        let mut message = Vec::new();
        put_number(&mut message, 1, 150);
        put_bytes(&mut message, 2, b"testing");
        assert_eq!(message, b"\x08\x96\x01\x12\x07testing");
        assert_eq!(framed(b"ab"), b"\0\0\0\0\x02ab");
    }
}
