//! The operations of a handshake on secrets: SHA-512, HMAC, key derivation, the comparison of a key that is set again, hybrid
//! key exchange, and parsing private keys.

use std::hint::black_box;

use oarlock::keys::{KeyType, PrivateKey};
use oarlock_engine::agreement::{Hybrid, HybridPrivateKey};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest, Hash, Hmac};
use oarlock_engine::kdf;

use super::keyed::{BYTES, KEY_BYTES, accepted};
use crate::measure::{Contrast, Path};

/// An operation on secret bytes.
type Work = Box<dyn FnMut(&[u8])>;

pub fn add(paths: &mut Vec<Box<dyn Path>>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(path) = sha512::path() {
        paths.push(Box::new(path));
    }
    for (hash, name) in HASHES {
        add_hash(paths, hash, name);
    }
    let key = accepted(Hmac::new(Hash::Sha256, &[0; KEY_BYTES]).ok_or(()));
    let mut compared = Secret::new("hmac-sha256: another key", KEY_BYTES, move |secret| {
        black_box(key.has(Hash::Sha256, secret));
    });
    compared.classes = Contrast::FirstAgainstLast;
    paths.push(Box::new(compared));
    add_hybrids(paths);
    add_keys(paths);
}

fn add_hash(paths: &mut Vec<Box<dyn Path>>, hash: Hash, name: &str) {
    let mut add = |what: String, bytes, work: Work| {
        paths.push(Box::new(Secret::boxed(what, bytes, work)));
    };
    add(
        format!("{name}: data, {BYTES} bytes"),
        BYTES,
        Box::new(move |secret| {
            let mut digest = Digest::new(hash);
            digest.update(secret);
            let mut output = [0; DIGEST_BYTES_MAX];
            black_box(digest.finish(&mut output));
            black_box(&mut output);
        }),
    );
    // Of usual length: a longer one is hashed before.
    add(
        format!("hmac-{name}: key, 64 bytes"),
        hash.bytes(),
        Box::new(move |secret| {
            let mut hmac = accepted(Hmac::new(hash, secret).ok_or(()));
            hmac.update(&[0x5c; 64]);
            let mut output = [0; DIGEST_BYTES_MAX];
            black_box(hmac.finish(&mut output));
            black_box(&mut output);
        }),
    );
    add(
        format!("hkdf-{name}: extract, secret"),
        hash.bytes(),
        Box::new(move |secret| {
            let mut output = [0; DIGEST_BYTES_MAX];
            black_box(kdf::extract(hash, &[0x5c; 32], secret, &mut output));
            black_box(&mut output);
        }),
    );
    add(
        format!("hkdf-{name}: expand, key, 100 bytes"),
        hash.bytes(),
        Box::new(move |secret| {
            let mut output = [0; 100];
            accepted(kdf::expand(hash, secret, &[b"info"], &mut output));
            black_box(&mut output);
        }),
    );
    add(
        format!("tls13-{name}: label, secret"),
        hash.bytes(),
        Box::new(move |secret| {
            let (mut output, context) = ([0; DIGEST_BYTES_MAX], [0x5c; DIGEST_BYTES_MAX]);
            let bytes = hash.bytes();
            let (output, context) = (&mut output[..bytes], &context[..bytes]);
            let done = kdf::expand_label(hash, secret, b"tls13 ", b"c hs traffic", context, output);
            accepted(done);
            black_box(output);
        }),
    );
    add(
        format!("tls12-prf-{name}: secret"),
        48,
        Box::new(move |secret| {
            let mut output = [0; 104];
            let seed = [&b"key expansion"[..], &[0x5c; 64]];
            kdf::tls12_prf(hash, secret, &seed, &mut output);
            black_box(&mut output);
        }),
    );
}

/// The secret of a hybrid, from a ciphertext of its own: ML-KEM and the curve are aws-lc's, the way there is ours.
fn add_hybrids(paths: &mut Vec<Box<dyn Path>>) {
    for hybrid in Hybrid::ALL {
        let key = accepted(HybridPrivateKey::generate(hybrid));
        let mut ciphertext = vec![0; hybrid.ciphertext_bytes()];
        let mut secret = vec![0; hybrid.secret_bytes()];
        let public = accepted(key.public_key());
        accepted(public.encapsulate(&mut ciphertext, &mut secret));
        let ml_kem_at = match hybrid {
            Hybrid::X25519MlKem768 => 0,
            _ => ciphertext.len() - hybrid.ml_kem().ciphertext_bytes(),
        };
        let name = format!("{}: rejected or not", hybrid.name());
        let mut path = Secret::new(&name, 32, move |mark| {
            // A ciphertext of ML-KEM that was altered has a secret of its own, which nobody may tell from the time.
            let at = ml_kem_at + usize::from(mark[1]) * 4;
            let kept = ciphertext[at];
            ciphertext[at] ^= mark[0];
            accepted(key.decapsulate(&ciphertext, &mut secret));
            ciphertext[at] = kept;
            black_box(&mut secret);
        });
        path.classes = Contrast::Marked;
        path.slowness = 20;
        paths.push(Box::new(path));
    }
}

/// Private keys in each encoding, of types whose keys may be any bytes. What aws-lc computes of them is aws-lc's; to read and to
/// write is ours. The time that a seed of ML-KEM takes depends on the public key that it makes, so there is none.
fn add_keys(paths: &mut Vec<Box<dyn Path>>) {
    for key_type in [KeyType::X25519, KeyType::Ed25519] {
        let bytes = KEY_BYTES;
        let template = accepted(PrivateKey::from_raw(key_type, &vec![0xa7; bytes]));
        let der = accepted(template.to_pkcs8_der()).to_vec();
        let at = der
            .windows(bytes)
            .position(|here| here.iter().all(|byte| *byte == 0xa7));
        let at = accepted(at.ok_or(()));
        let mut written = der.clone();
        let mut read = Secret::new(
            &format!("pkcs#8 der, {key_type}: private key"),
            bytes,
            move |secret| {
                written[at..at + bytes].copy_from_slice(secret);
                black_box(accepted(PrivateKey::from_bytes(&written)));
            },
        );
        read.slowness = 10;
        paths.push(Box::new(read));
        // Where a line of PEM ends is looked for among the characters that stand for a secret, which memcheck would find: zeros
        // against random bytes, by the mark.
        let mut der = der;
        let mut text = Secret::new(
            &format!("pkcs#8 pem, {key_type}: private key"),
            1 + bytes,
            move |secret| {
                let mask = secret[0].wrapping_neg();
                for (place, byte) in der[at..at + bytes].iter_mut().zip(&secret[1..]) {
                    *place = byte & mask;
                }
                let key = accepted(PrivateKey::from_bytes(&der));
                let pem = accepted(key.to_pkcs8_pem());
                black_box(accepted(PrivateKey::from_bytes(pem.as_bytes())));
            },
        );
        text.classes = Contrast::Marked;
        text.slowness = 10;
        paths.push(Box::new(text));
    }
}

/// Work on a secret of `secret.len()` bytes.
struct Secret {
    name: String,
    classes: Contrast,
    slowness: usize,
    secret: Vec<u8>,
    work: Work,
}

impl Secret {
    fn new(name: &str, bytes: usize, work: impl FnMut(&[u8]) + 'static) -> Self {
        Self::boxed(name.to_owned(), bytes, Box::new(work))
    }

    fn boxed(name: String, bytes: usize, work: Work) -> Self {
        Self {
            name,
            classes: Contrast::FixedAgainstRandom,
            slowness: 1,
            secret: vec![0; bytes],
            work,
        }
    }
}

impl Path for Secret {
    fn name(&self) -> &str {
        &self.name
    }

    fn classes(&self) -> Contrast {
        self.classes
    }

    fn slowness(&self) -> usize {
        self.slowness
    }

    fn secret_bytes(&self) -> usize {
        self.secret.len()
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.secret.copy_from_slice(secret);
    }

    fn run(&mut self) {
        (self.work)(&self.secret);
    }
}

#[cfg(target_arch = "x86_64")]
mod sha512 {
    use std::hint::black_box;

    use oarlock_kernels::Avx2;
    use oarlock_kernels::cpu::Cpu;
    use oarlock_kernels::sha512::{BLOCK_BYTES, Compression};

    use super::{BYTES, Secret};

    /// The kernel alone; `None` where the CPU has no AVX2.
    pub(super) fn path() -> Option<Secret> {
        let compression = Compression::new(Avx2::new(Cpu::detect())?);
        let mut state = [0; 8];
        let name = format!("sha-512 avx2: data, {BYTES} bytes");
        Some(Secret::new(&name, BYTES, move |secret| {
            let (blocks, _) = secret.as_chunks::<BLOCK_BYTES>();
            compression.absorb(&mut state, blocks);
            black_box(&mut state);
        }))
    }
}

const HASHES: [(Hash, &str); 3] = [
    (Hash::Sha256, "sha256"),
    (Hash::Sha384, "sha384"),
    (Hash::Sha512, "sha512"),
];
