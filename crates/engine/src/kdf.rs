//! Key derivation: HKDF (RFC 5869), the labels of TLS 1.3 (RFC 8446, 7.1), and the PRF of TLS 1.2 (RFC 5246, 5).

use hmac::digest::Output;
use hmac::{KeyInit, Mac};
use zeroize::Zeroize as _;

use crate::Error;
use crate::hash::{DIGEST_BYTES_MAX, Digest, Hash, keyed, with_hmac};

/// Computes HKDF-Extract. Writes a pseudorandom key as long as a digest to the beginning of `output`, and returns its
/// length.
pub fn extract(
    hash: Hash,
    salt: &[u8],
    secret: &[u8],
    output: &mut [u8; DIGEST_BYTES_MAX],
) -> usize {
    with_hmac!(hash, Mac => {
        let mut hmac = keyed::<Mac>(salt);
        hmac.update(secret);
        let mut tag = hmac.finalize().into_bytes();
        output[..tag.len()].copy_from_slice(&tag);
        tag.zeroize();
    });
    hash.bytes()
}

/// Fills `output` by HKDF-Expand. The info is the concatenation of the parts of `info`.
///
/// # Errors
/// [`Error::InvalidInput`] if `output` is longer than 255 digests.
pub fn expand(hash: Hash, key: &[u8], info: &[&[u8]], output: &mut [u8]) -> Result<(), Error> {
    if output.len() > 255 * hash.bytes() {
        return Err(Error::InvalidInput(
            "HKDF: more than 255 digests of output".into(),
        ));
    }
    // Each hash function gets its own copy of the code, which keeps the HMAC state in place.
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
    // Most outputs fit in one digest and need no copy of the state.
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

/// Fills `output` by HKDF-Expand-Label. `prefix` is `b"tls13 "`, or `b"dtls13"` for DTLS (RFC 9147, 5.9).
///
/// # Errors
/// [`Error::InvalidInput`] if prefix and label together, or the context, exceed 255 bytes, or `output` exceeds 65,535 bytes
/// or 255 digests.
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
    // Joined, if it has the usual length: HMAC would buffer each piece.
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

/// Writes the digest of the empty message, which TLS 1.3 uses between secrets, and returns its length.
pub fn digest_of_nothing(hash: Hash, output: &mut [u8; DIGEST_BYTES_MAX]) -> usize {
    Digest::new(hash).finish(output)
}

/// Fills `output` by the PRF of TLS 1.2 with one hash function, P_hash. The concatenation of `seed` is the label followed by
/// the seed.
pub fn tls12_prf(hash: Hash, secret: &[u8], seed: &[&[u8]], output: &mut [u8]) {
    with_hmac!(hash, Mac => tls12_prf_by::<Mac>(secret, seed, output));
}

fn tls12_prf_by<M: Mac + KeyInit + Clone>(secret: &[u8], seed: &[&[u8]], output: &mut [u8]) {
    let keyed = keyed::<M>(secret);
    let tag = |before: &[u8], seed: &[&[u8]]| {
        let mut hmac = keyed.clone();
        hmac.update(before);
        for part in seed {
            hmac.update(part);
        }
        hmac.finalize().into_bytes()
    };
    let mut a = tag(&[], seed);
    let mut chunks = output.chunks_mut(M::output_size()).peekable();
    while let Some(chunk) = chunks.next() {
        let mut block = tag(&a, seed);
        chunk.copy_from_slice(&block[..chunk.len()]);
        block.zeroize();
        if chunks.peek().is_some() {
            a = tag(&a, &[]);
        }
    }
    a.zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let two = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
        digits.chunks(2).map(two).collect()
    }

    /// RFC 5869, A.1 and A.2.
    #[test]
    fn hkdf_gives_what_its_rfc_says() {
        let run = |from: u8, to: u8| (from..=to).collect::<Vec<u8>>();
        for (secret, salt, info, expected) in [
            (
                vec![0x0b; 22],
                run(0, 0x0c),
                run(0xf0, 0xf9),
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
            ),
            (
                run(0, 0x4f),
                run(0x60, 0xaf),
                run(0xb0, 0xff),
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c6\
                 5e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
            ),
        ] {
            let (expected, mut key) = (bytes(expected), [0; DIGEST_BYTES_MAX]);
            let length = extract(Hash::Sha256, &salt, &secret, &mut key);
            let mut output = vec![0; expected.len()];
            expand(
                Hash::Sha256,
                &key[..length],
                &[&info[..3], &info[3..]],
                &mut output,
            )
            .unwrap();
            assert_eq!(output, expected);
        }
        let mut long = vec![0; 255 * 32 + 1];
        assert!(expand(Hash::Sha256, b"key", &[], &mut long).is_err());
        long.pop();
        assert!(expand(Hash::Sha256, b"key", &[], &mut long).is_ok());
    }

    /// RFC 8448, section 3.
    #[test]
    fn labels_are_those_of_tls() {
        let (mut early, mut nothing) = ([0; DIGEST_BYTES_MAX], [0; DIGEST_BYTES_MAX]);
        extract(Hash::Sha256, &[], &[0; 32], &mut early);
        let expected = "33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a";
        assert_eq!(early[..32], bytes(expected));
        digest_of_nothing(Hash::Sha256, &mut nothing);
        let mut derived = [0; 32];
        let label = |secret: &[u8], label: &[u8], context: &[u8], output: &mut [u8]| {
            expand_label(Hash::Sha256, secret, b"tls13 ", label, context, output)
        };
        label(&early[..32], b"derived", &nothing[..32], &mut derived).unwrap();
        let expected = "6f2615a108c702c5678f54fc9dbab69716c076189c48250cebeac3576c3611ba";
        assert_eq!(derived[..], bytes(expected));
        let shared = bytes("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d");
        extract(Hash::Sha256, &derived, &shared, &mut early);
        let expected = "1dc826e93606aa6fdc0aad c12f741b01046aa6b99f691ed221a9f0ca043fbeac";
        assert_eq!(early[..32], bytes(expected));
        // The longest label and context, then one byte more.
        let (mut output, long) = (vec![0; 64], vec![7; 256]);
        label(&derived, &long[..249], &long[..255], &mut output).unwrap();
        assert!(label(&derived, &long[..250], &[], &mut output).is_err());
        assert!(label(&derived, b"", &long, &mut output).is_err());
    }

    /// The P_SHA256 vector from the TLS working group's mailing list (2009, "TLS 1.2 PRF test vectors").
    #[test]
    fn the_function_of_tls_1_2_gives_what_others_have() {
        let secret = bytes("9bbe436ba940f017b17652849a71db35");
        let seed = bytes("a0ba9f936cda311827a6f796ffd5198c");
        let expected = bytes(
            "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af\
             0fa022f7077def17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff701\
             87347b66",
        );
        for length in [1, 32, 33, 64, 100] {
            let mut output = vec![0; length];
            tls12_prf(Hash::Sha256, &secret, &[b"test label", &seed], &mut output);
            assert_eq!(output, expected[..length]);
        }
    }
    #[test]
    fn outputs_of_wycheproof_are_derived_or_refused() {
        let (mut valid, mut invalid) = (0, 0);
        for vector in oarlock_vectors::wycheproof::hkdf().unwrap() {
            let hash = [Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512]
                .into_iter()
                .find(|hash| hash.name() == vector.hash);
            let hash = hash.unwrap();
            let mut key = [0; DIGEST_BYTES_MAX];
            let bytes = extract(hash, &vector.salt, &vector.secret, &mut key);
            let mut output = vec![0; vector.bytes];
            let done = expand(hash, &key[..bytes], &[&vector.info], &mut output);
            assert_eq!(done.is_ok(), vector.is_valid, "{}", vector.source);
            if vector.is_valid {
                assert_eq!(output, vector.output, "{}", vector.source);
                valid += 1;
            } else {
                invalid += 1;
            }
        }
        assert_eq!((valid, invalid), (327, 12));
    }
}
