//! AES-GCM and ChaCha20-Poly1305: one body for both. Every message is sealed and opened at once in both forms, in pieces, in
//! stripes, and with keystream computed ahead.

use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, STRIPE_ALIGN, TAG_BYTES, tags_match};
use oarlock_kernels::chacha20_poly1305::{self, ChaCha20Poly1305};
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_kernels::gcm::{self, Gcm};
use oarlock_vectors::{AeadVector, cavp, short, wycheproof};

#[test]
fn gcm_cavp() {
    check::<Gcm>(&cavp::aes_gcm().unwrap());
}

#[test]
fn gcm_wycheproof() {
    check::<Gcm>(&wycheproof::aes_gcm().unwrap());
}

#[test]
fn chacha20_poly1305() {
    let vectors = [
        short::rfc_8439(),
        cavp::chacha20_poly1305().unwrap(),
        wycheproof::chacha20_poly1305().unwrap(),
    ];
    check::<ChaCha20Poly1305>(&vectors.concat());
}

/// What the two have in common, under the same names.
trait Aead: Sized {
    type Message;
    type Partial;
    /// The least that a backend other than the portable one needs.
    const FEATURE: Feature;
    const HEAD_BYTES: usize;

    fn new(key: &[u8], cpu: Cpu) -> Self;
    fn backend(&self) -> &'static str;
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOutBuf<'_, '_, u8>) -> Sealed;
    fn open(&self, nonce: &[u8], aad: &[u8], data: InOutBuf<'_, '_, u8>, tag: &Tag) -> Opened;
    fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Self::Message, AeadError>;
    fn seal_next(&self, message: &mut Self::Message, data: InOutBuf<'_, '_, u8>) -> Opened;
    fn open_next(&self, message: &mut Self::Message, data: InOutBuf<'_, '_, u8>) -> Opened;
    fn finish(&self, message: Self::Message) -> Tag;
    fn seal_stripe(&self, message: &Self::Message, offset: u64, data: &mut [u8]) -> Self::Partial;
    fn open_stripe(&self, message: &Self::Message, offset: u64, data: &mut [u8]) -> Self::Partial;
    fn crypt_stripe(&self, message: &Self::Message, offset: u64, data: &mut [u8]);
    fn append(&self, message: &mut Self::Message, partial: Self::Partial, bytes: u64);
    fn keystream(&self, nonce: &[u8], out: &mut [u8]) -> Opened;
    fn seal_with_keystream(&self, aad: &[u8], data: &mut [u8], keystream: &[u8]) -> Sealed;
    fn open_with_keystream(&self, aad: &[u8], data: &mut [u8], stream: &[u8], tag: &Tag) -> Opened;
}

type Tag = [u8; TAG_BYTES];
type Sealed = Result<Tag, AeadError>;
type Opened = Result<(), AeadError>;

macro_rules! aead {
    ($cipher:ident, $module:ident, $feature:ident) => {
        impl Aead for $cipher {
            type Message = $module::Message;
            type Partial = $module::Partial;
            const FEATURE: Feature = Feature::$feature;
            const HEAD_BYTES: usize = Self::KEYSTREAM_HEAD_BYTES;

            fn new(key: &[u8], cpu: Cpu) -> Self {
                Self::new(key, cpu).unwrap()
            }
            fn backend(&self) -> &'static str {
                self.backend().name()
            }
            fn seal(&self, nonce: &[u8], aad: &[u8], data: InOutBuf<'_, '_, u8>) -> Sealed {
                self.seal(nonce, aad, data)
            }
            fn open(
                &self,
                nonce: &[u8],
                aad: &[u8],
                data: InOutBuf<'_, '_, u8>,
                tag: &Tag,
            ) -> Opened {
                self.open(nonce, aad, data, tag)
            }
            fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Self::Message, AeadError> {
                self.begin(nonce, aad)
            }
            fn seal_next(&self, message: &mut Self::Message, data: InOutBuf<'_, '_, u8>) -> Opened {
                self.seal_next(message, data)
            }
            fn open_next(&self, message: &mut Self::Message, data: InOutBuf<'_, '_, u8>) -> Opened {
                self.open_next(message, data)
            }
            fn finish(&self, message: Self::Message) -> Tag {
                self.finish(message)
            }
            fn seal_stripe(
                &self,
                message: &Self::Message,
                offset: u64,
                data: &mut [u8],
            ) -> Self::Partial {
                self.seal_stripe(message, offset, data.into())
            }
            fn open_stripe(
                &self,
                message: &Self::Message,
                offset: u64,
                data: &mut [u8],
            ) -> Self::Partial {
                self.open_stripe(message, offset, data.into())
            }
            fn crypt_stripe(&self, message: &Self::Message, offset: u64, data: &mut [u8]) {
                self.crypt_stripe(message, offset, data.into());
            }
            fn append(&self, message: &mut Self::Message, partial: Self::Partial, bytes: u64) {
                self.append(message, partial, bytes);
            }
            fn keystream(&self, nonce: &[u8], out: &mut [u8]) -> Opened {
                self.keystream(nonce, out)
            }
            fn seal_with_keystream(&self, aad: &[u8], data: &mut [u8], keystream: &[u8]) -> Sealed {
                self.seal_with_keystream(aad, data.into(), keystream)
            }
            fn open_with_keystream(
                &self,
                aad: &[u8],
                data: &mut [u8],
                keystream: &[u8],
                tag: &Tag,
            ) -> Opened {
                self.open_with_keystream(aad, data.into(), keystream, tag)
            }
        }
    };
}

aead!(Gcm, gcm, Ssse3);
aead!(ChaCha20Poly1305, chacha20_poly1305, Ssse3);

fn check<A: Aead>(vectors: &[AeadVector]) {
    let ways = super::ways(A::FEATURE, |cpu| A::new(&[0; 32], cpu).backend());
    for (name, cpu) in ways {
        for vector in vectors {
            let cipher = A::new(&vector.key, cpu);
            let what = || format!("{name}: {}", vector.source);
            if let Err(error) = cipher.begin(&vector.nonce, &vector.aad) {
                assert!(!vector.is_valid, "{}", what());
                refused(&cipher, vector, error, &what);
                continue;
            }
            // Tags are often truncated, and forged ones do not reveal the right one: it is found by opening without a check,
            // and compared with the vector.
            let (plaintext, tag) = open_in_pieces(&cipher, vector);
            assert_eq!(tag.starts_with(&vector.tag), vector.is_valid, "{}", what());
            if let (true, Some(expected)) = (vector.is_valid, &vector.plaintext) {
                assert_eq!(plaintext, *expected, "{}", what());
            }
            seals(&cipher, vector, &plaintext, &tag, &what);
            opens(&cipher, vector, &plaintext, &tag, &what);
            let mut forged = tag;
            if let (false, Ok(tag)) = (vector.is_valid, Tag::try_from(&vector.tag[..])) {
                forged = tag;
            } else {
                forged[vector.aad.len() % TAG_BYTES] ^= 0x80;
            }
            releases_nothing(&cipher, vector, &forged, &what);
        }
    }
}

/// Checks that every way to seal returns the vector's ciphertext and `tag`.
fn seals<A: Aead>(
    cipher: &A,
    vector: &AeadVector,
    plaintext: &[u8],
    tag: &Tag,
    what: &dyn Fn() -> String,
) {
    let AeadVector {
        nonce,
        aad,
        ciphertext,
        ..
    } = vector;
    let same = |data: &[u8], sealed: Tag, way: &str| {
        assert_eq!(data, ciphertext, "{way}, {}", what());
        assert_eq!(sealed, *tag, "{way}, {}", what());
    };

    let mut data = plaintext.to_vec();
    let sealed = cipher.seal(nonce, aad, data.as_mut_slice().into());
    same(&data, sealed.unwrap(), "sealed in place");

    let mut output = vec![0xa5; plaintext.len()];
    let sealed = cipher.seal(nonce, aad, InOutBuf::new(plaintext, &mut output).unwrap());
    same(&output, sealed.unwrap(), "sealed elsewhere");

    data.copy_from_slice(plaintext);
    let mut message = cipher.begin(nonce, aad).unwrap();
    for piece in pieces(&mut data) {
        cipher.seal_next(&mut message, piece.into()).unwrap();
    }
    same(&data, cipher.finish(message), "sealed in pieces");

    data.copy_from_slice(plaintext);
    let sealed = by_stripes(cipher, vector, &mut data, |message, offset, stripe| {
        cipher.seal_stripe(message, offset, stripe)
    });
    same(&data, sealed, "sealed in stripes");

    data.copy_from_slice(plaintext);
    let keystream = keystream(cipher, vector);
    let sealed = cipher.seal_with_keystream(aad, &mut data, &keystream);
    same(&data, sealed.unwrap(), "sealed with keystream");
}

/// Checks that every way to open the vector's ciphertext with `tag` returns `plaintext`.
fn opens<A: Aead>(
    cipher: &A,
    vector: &AeadVector,
    plaintext: &[u8],
    tag: &Tag,
    what: &dyn Fn() -> String,
) {
    let AeadVector {
        nonce,
        aad,
        ciphertext,
        ..
    } = vector;
    let same = |data: &[u8], way: &str| assert_eq!(data, plaintext, "{way}, {}", what());

    let mut data = ciphertext.clone();
    let opened = cipher.open(nonce, aad, data.as_mut_slice().into(), tag);
    assert_eq!(opened, Ok(()), "{}", what());
    same(&data, "opened in place");

    let mut output = vec![0xa5; ciphertext.len()];
    let both = InOutBuf::new(ciphertext, &mut output).unwrap();
    assert_eq!(cipher.open(nonce, aad, both, tag), Ok(()), "{}", what());
    same(&output, "opened elsewhere");

    data.copy_from_slice(ciphertext);
    let found = by_stripes(cipher, vector, &mut data, |message, offset, stripe| {
        cipher.open_stripe(message, offset, stripe)
    });
    assert!(tags_match(&found, tag), "opened in stripes, {}", what());
    same(&data, "opened in stripes");

    data.copy_from_slice(ciphertext);
    let keystream = keystream(cipher, vector);
    let opened = cipher.open_with_keystream(aad, &mut data, &keystream, tag);
    assert_eq!(opened, Ok(()), "{}", what());
    same(&data, "opened with keystream");
}

/// Checks that no way to open releases anything under a tag that is not that of the message.
fn releases_nothing<A: Aead>(
    cipher: &A,
    vector: &AeadVector,
    forged: &Tag,
    what: &dyn Fn() -> String,
) {
    const FAILED: Opened = Err(AeadError::AuthenticationFailed);
    let AeadVector {
        nonce,
        aad,
        ciphertext,
        ..
    } = vector;
    let mut data = ciphertext.clone();
    let opened = cipher.open(nonce, aad, data.as_mut_slice().into(), forged);
    assert_eq!(opened, FAILED, "{}", what());
    assert_eq!(data, *ciphertext, "in place, {}", what());

    let mut output = vec![0xa5; ciphertext.len()];
    let both = InOutBuf::new(ciphertext, &mut output).unwrap();
    assert_eq!(cipher.open(nonce, aad, both, forged), FAILED, "{}", what());
    assert!(output.iter().all(|byte| *byte == 0), "{}", what());

    let keystream = keystream(cipher, vector);
    let opened = cipher.open_with_keystream(aad, &mut data, &keystream, forged);
    assert_eq!(opened, FAILED, "{}", what());
    assert_eq!(data, *ciphertext, "with keystream, {}", what());

    let message = cipher.begin(nonce, aad).unwrap();
    for (offset, stripe) in stripes(&mut data) {
        cipher.open_stripe(&message, offset, stripe);
        cipher.crypt_stripe(&message, offset, stripe);
    }
    assert_eq!(data, *ciphertext, "taken back by stripes, {}", what());
}

/// Checks that everything that takes a nonce rejects this one, and that nothing is written.
fn refused<A: Aead>(cipher: &A, vector: &AeadVector, error: AeadError, what: &dyn Fn() -> String) {
    let AeadVector {
        nonce,
        aad,
        ciphertext,
        ..
    } = vector;
    assert_eq!(
        error,
        AeadError::InvalidNonceLength(nonce.len()),
        "{}",
        what()
    );
    let mut data = ciphertext.clone();
    let sealed = cipher.seal(nonce, aad, data.as_mut_slice().into());
    assert_eq!(sealed, Err(error), "{}", what());
    let opened = cipher.open(nonce, aad, data.as_mut_slice().into(), &[0; TAG_BYTES]);
    assert_eq!(opened, Err(error), "{}", what());
    assert_eq!(data, *ciphertext, "{}", what());
    assert_eq!(
        cipher.keystream(nonce, &mut [0; 200]),
        Err(error),
        "{}",
        what()
    );
}

fn open_in_pieces<A: Aead>(cipher: &A, vector: &AeadVector) -> (Vec<u8>, Tag) {
    let mut data = vector.ciphertext.clone();
    let mut message = cipher.begin(&vector.nonce, &vector.aad).unwrap();
    for piece in pieces(&mut data) {
        cipher.open_next(&mut message, piece.into()).unwrap();
    }
    (data, cipher.finish(message))
}

/// Returns the tag computed from stripes that are processed from the last to the first.
fn by_stripes<A: Aead>(
    cipher: &A,
    vector: &AeadVector,
    data: &mut [u8],
    run: impl Fn(&A::Message, u64, &mut [u8]) -> A::Partial,
) -> Tag {
    let mut message = cipher.begin(&vector.nonce, &vector.aad).unwrap();
    let mut done: Vec<_> = stripes(data)
        .into_iter()
        .rev()
        .map(|(offset, stripe)| (run(&message, offset, stripe), stripe.len()))
        .collect();
    while let Some((partial, bytes)) = done.pop() {
        cipher.append(&mut message, partial, bytes as u64);
    }
    cipher.finish(message)
}

fn keystream<A: Aead>(cipher: &A, vector: &AeadVector) -> Vec<u8> {
    let mut keystream = vec![0; A::HEAD_BYTES + vector.ciphertext.len()];
    cipher.keystream(&vector.nonce, &mut keystream).unwrap();
    keystream
}

/// Returns pieces of 0, 1, 2, 4, 7 ... bytes, so that blocks start and end everywhere.
fn pieces(mut data: &mut [u8]) -> Vec<&mut [u8]> {
    let mut pieces = Vec::new();
    let mut bytes = 0;
    while !data.is_empty() {
        let (piece, rest) = data.split_at_mut(bytes.min(data.len()));
        pieces.push(piece);
        data = rest;
        bytes += 1 + bytes / 2;
    }
    pieces
}

/// Returns stripes of the minimum length, but every fourth of twice that.
fn stripes(mut data: &mut [u8]) -> Vec<(u64, &mut [u8])> {
    let mut stripes = Vec::new();
    let mut offset = 0;
    while !data.is_empty() {
        let bytes = STRIPE_ALIGN * if stripes.len() % 4 == 3 { 2 } else { 1 };
        let (stripe, rest) = data.split_at_mut(bytes.min(data.len()));
        let next = offset + stripe.len() as u64;
        stripes.push((offset, stripe));
        (offset, data) = (next, rest);
    }
    stripes
}
