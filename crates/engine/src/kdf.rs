//! Derivation of keys: HKDF (RFC 5869), the labels of TLS 1.3 (RFC 8446, 7.1), and the function of TLS 1.2 (RFC 5246, 5).

use zeroize::Zeroizing;

use crate::Error;
use crate::hash::{DIGEST_BYTES_MAX, Digest, Hash, Hmac};

/// HKDF-Extract: writes a pseudorandom key as long as a digest to the beginning of `output`, and returns its length.
pub fn extract(
    hash: Hash,
    salt: &[u8],
    secret: &[u8],
    output: &mut [u8; DIGEST_BYTES_MAX],
) -> usize {
    let mut hmac = Hmac::new(hash, salt);
    hmac.update(secret);
    hmac.finish(output)
}

/// HKDF-Expand: fills `output`. The info is the concatenation of `info`.
///
/// # Errors
/// [`Error::InvalidInput`] where `output` is longer than 255 digests.
pub fn expand(hash: Hash, key: &[u8], info: &[&[u8]], output: &mut [u8]) -> Result<(), Error> {
    if output.len() > 255 * hash.bytes() {
        return Err(Error::InvalidInput(
            "HKDF: more than 255 digests of output".into(),
        ));
    }
    let mut keyed = Some(Hmac::new(hash, key));
    let mut block = Zeroizing::new([0; DIGEST_BYTES_MAX]);
    let mut bytes = 0;
    let mut chunks = output.chunks_mut(hash.bytes()).zip(1..=255_u8).peekable();
    while let Some((chunk, counter)) = chunks.next() {
        // Most outputs are no longer than a digest: they need no copy.
        let hmac = match chunks.peek() {
            Some(_) => keyed.clone(),
            None => keyed.take(),
        };
        let Some(mut hmac) = hmac else { break };
        hmac.update(&block[..bytes]);
        for part in info {
            hmac.update(part);
        }
        hmac.update(&[counter]);
        bytes = hmac.finish(&mut block);
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    Ok(())
}

/// HKDF-Expand-Label: fills `output`. `prefix` is `b"tls13 "`, or `b"dtls13"` for DTLS (RFC 9147, 5.9).
///
/// # Errors
/// [`Error::InvalidInput`] where prefix and label together, or the context, are longer than 255 bytes, or `output` than
/// 65,535 bytes or 255 digests.
pub fn expand_label(
    hash: Hash,
    secret: &[u8],
    prefix: &[u8],
    label: &[u8],
    context: &[u8],
    output: &mut [u8],
) -> Result<(), Error> {
    let (Ok(length), Ok(label_bytes), Ok(context_bytes)) = (
        u16::try_from(output.len()),
        u8::try_from(prefix.len() + label.len()),
        u8::try_from(context.len()),
    ) else {
        return Err(Error::InvalidInput(
            "HKDF-Expand-Label: the label, the context or the output is too long".into(),
        ));
    };
    // In one piece: HMAC takes each piece through its buffer.
    let mut info = [0; 2 + 1 + 255 + 1 + 255];
    let [high, low] = length.to_be_bytes();
    let parts: [&[u8]; 5] = [
        &[high, low, label_bytes],
        prefix,
        label,
        &[context_bytes],
        context,
    ];
    let mut bytes = 0;
    for part in parts {
        info[bytes..bytes + part.len()].copy_from_slice(part);
        bytes += part.len();
    }
    expand(hash, secret, &[&info[..bytes]], output)
}

/// The digest of no bytes at all, with which TLS 1.3 goes from one secret to the next. Returns its length.
pub fn digest_of_nothing(hash: Hash, output: &mut [u8; DIGEST_BYTES_MAX]) -> usize {
    Digest::new(hash).finish(output)
}

/// The function of TLS 1.2 with one hash function, P_hash: fills `output`. The seed, with the label before it, is the
/// concatenation of `seed`.
pub fn tls12_prf(hash: Hash, secret: &[u8], seed: &[&[u8]], output: &mut [u8]) {
    let keyed = Hmac::new(hash, secret);
    let update = |hmac: &mut Hmac| seed.iter().for_each(|part| hmac.update(part));
    let mut a = Zeroizing::new([0; DIGEST_BYTES_MAX]);
    let mut block = Zeroizing::new([0; DIGEST_BYTES_MAX]);
    let mut hmac = keyed.clone();
    update(&mut hmac);
    let mut bytes = hmac.finish(&mut a);
    for chunk in output.chunks_mut(hash.bytes()) {
        let mut hmac = keyed.clone();
        hmac.update(&a[..bytes]);
        update(&mut hmac);
        hmac.finish(&mut block);
        chunk.copy_from_slice(&block[..chunk.len()]);
        let mut hmac = keyed.clone();
        hmac.update(&a[..bytes]);
        bytes = hmac.finish(&mut a);
    }
}
