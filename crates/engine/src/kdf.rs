//! Derivation of keys: HKDF (RFC 5869), the labels of TLS 1.3 (RFC 8446, 7.1), and the function of TLS 1.2 (RFC 5246, 5).

use hmac::digest::Output;
use hmac::{KeyInit, Mac};
use zeroize::{Zeroize as _, Zeroizing};

use crate::Error;
use crate::hash::{DIGEST_BYTES_MAX, Digest, Hash, Hmac, keyed, with_hmac};

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
    // Each hash function has its own copy, in which the state of HMAC stays where it is.
    with_hmac!(hash, Mac => expand_by::<Mac>(key, info, output));
    Ok(())
}

fn expand_by<M: Mac + KeyInit + Clone>(key: &[u8], info: &[&[u8]], output: &mut [u8]) {
    let keyed = keyed::<M>(key);
    let blocks = output.len().div_ceil(M::output_size());
    let block = |mut hmac: M, before: &[u8], counter: u8| {
        hmac.update(before);
        for part in info {
            hmac.update(part);
        }
        hmac.update(&[counter]);
        hmac.finalize().into_bytes()
    };
    // Most outputs are no longer than a digest: they need no copy.
    if blocks == 1 {
        let mut last = block(keyed, &[], 1);
        output.copy_from_slice(&last[..output.len()]);
        last.zeroize();
        return;
    }
    let mut before = Output::<M>::default();
    let chunks = output.chunks_mut(M::output_size());
    for (chunk, counter) in chunks.zip(1..=255) {
        let known: &[u8] = if counter == 1 { &[] } else { &before };
        before = block(keyed.clone(), known, counter);
        chunk.copy_from_slice(&before[..chunk.len()]);
    }
    before.zeroize();
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
    let [high, low] = length.to_be_bytes();
    let (head, between) = ([high, low, label_bytes], [context_bytes]);
    let parts: [&[u8]; 5] = [&head, prefix, label, &between, context];
    // In one piece, if it is of usual length: HMAC takes each piece through its buffer.
    let mut info = [0; 128];
    let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
    let Some(info) = info.get_mut(..bytes) else {
        return expand(hash, secret, &parts, output);
    };
    let mut at = 0;
    for part in parts {
        info[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    expand(hash, secret, &[info], output)
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
