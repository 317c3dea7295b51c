//! Hash functions by RustCrypto, and HMAC and the derivations of keys by the text of their standards: what the engine is
//! compared with.

use oarlock_engine::hash::Hash;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

/// All hash functions, with the names that OpenSSL has for them.
pub(crate) const HASHES: [(Hash, &str); 7] = [
    (Hash::Sha1, "SHA1"),
    (Hash::Sha224, "SHA2-224"),
    (Hash::Sha256, "SHA2-256"),
    (Hash::Sha384, "SHA2-384"),
    (Hash::Sha512, "SHA2-512"),
    (Hash::Sha512_224, "SHA2-512/224"),
    (Hash::Sha512_256, "SHA2-512/256"),
];

/// The hash function of a number, counted modulo how many there are.
pub(crate) fn hash_of(number: u8) -> Hash {
    HASHES[usize::from(number) % HASHES.len()].0
}

/// The digest of a message in pieces.
pub(crate) fn digest(hash: Hash, pieces: &[&[u8]]) -> Vec<u8> {
    fn of<D: Digest>(pieces: &[&[u8]]) -> Vec<u8> {
        let mut digest = D::new();
        pieces.iter().for_each(|piece| digest.update(piece));
        digest.finalize().to_vec()
    }
    match hash {
        Hash::Sha1 => of::<Sha1>(pieces),
        Hash::Sha224 => of::<Sha224>(pieces),
        Hash::Sha256 => of::<Sha256>(pieces),
        Hash::Sha384 => of::<Sha384>(pieces),
        Hash::Sha512 => of::<Sha512>(pieces),
        Hash::Sha512_224 => of::<Sha512_224>(pieces),
        Hash::Sha512_256 => of::<Sha512_256>(pieces),
        other => panic!("no reference for {other:?}"),
    }
}

/// The length of a block (FIPS 180-4, figure 1).
pub(crate) fn block_bytes(hash: Hash) -> usize {
    match hash {
        Hash::Sha1 | Hash::Sha224 | Hash::Sha256 => 64,
        _ => 128,
    }
}

/// HMAC (RFC 2104, 2).
pub(crate) fn hmac(hash: Hash, key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    let block_bytes = block_bytes(hash);
    let mut block = match key.len() > block_bytes {
        true => digest(hash, &[key]),
        false => key.to_vec(),
    };
    block.resize(block_bytes, 0);
    let padded = |pad: u8| block.iter().map(|byte| byte ^ pad).collect::<Vec<_>>();
    let (inner, outer) = (padded(0x36), padded(0x5c));
    let pieces: Vec<&[u8]> = std::iter::once(&inner[..])
        .chain(pieces.iter().copied())
        .collect();
    digest(hash, &[&outer, &digest(hash, &pieces)])
}

/// HKDF-Expand (RFC 5869, 2.3); `None` for more than 255 digests.
pub(crate) fn expand(hash: Hash, key: &[u8], info: &[&[u8]], bytes: usize) -> Option<Vec<u8>> {
    let mut output: Vec<u8> = Vec::new();
    let mut last: Vec<u8> = Vec::new();
    for counter in 1.. {
        if output.len() >= bytes {
            break;
        }
        let counter = [u8::try_from(counter).ok()?];
        let pieces: Vec<&[u8]> = std::iter::once(&last[..])
            .chain(info.iter().copied())
            .chain([&counter[..]])
            .collect();
        last = hmac(hash, key, &pieces);
        output.extend_from_slice(&last);
    }
    output.truncate(bytes);
    Some(output)
}

/// HKDF-Expand-Label (RFC 8446, 7.1), with a prefix; `None` where a length does not fit into its field.
pub(crate) fn expand_label(
    hash: Hash,
    secret: &[u8],
    [prefix, label, context]: [&[u8]; 3],
    bytes: usize,
) -> Option<Vec<u8>> {
    let label = [prefix, label].concat();
    let mut info = u16::try_from(bytes).ok()?.to_be_bytes().to_vec();
    for field in [&label[..], context] {
        info.push(u8::try_from(field.len()).ok()?);
        info.extend_from_slice(field);
    }
    expand(hash, secret, &[&info], bytes)
}

/// P_hash of TLS 1.2 (RFC 5246, 5).
pub(crate) fn tls12_prf(hash: Hash, secret: &[u8], seed: &[u8], bytes: usize) -> Vec<u8> {
    let mut output = Vec::new();
    let mut a = hmac(hash, secret, &[seed]);
    while output.len() < bytes {
        output.extend(hmac(hash, secret, &[&a, seed]));
        a = hmac(hash, secret, &[&a]);
    }
    output.truncate(bytes);
    output
}
