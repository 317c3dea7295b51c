//! Files of `openssl enc`, next to an implementation by block: headers from arbitrary bytes, and what is behind one, under
//! every cipher. What is refused releases nothing that the other does not.

use std::sync::LazyLock;

use aes::cipher::{BlockCipherDecrypt as _, KeyInit as _};
use aes::{Aes128, Aes192, Aes256};
use arbitrary::Arbitrary;
use cipher::{KeyIvInit as _, StreamCipher as _};
use ctr::Ctr128BE;
use oarlock::{Accelerator, Algorithm, Direction};
use oarlock_file::openssl_enc::{
    Body, Derivation, Digest, HEADER_BYTES, Header, IV_BYTES, SALT_BYTES, derive,
};
use oarlock_file::{Cache, Ends, Error};

use crate::files::{Never, contents, memory};

fuzz_target!(|input: Input| {
    let file = match &input.file {
        File::Any(bytes) => bytes.clone(),
        File::Salted(salt, rest) => [MAGIC, &salt[..], &rest[..]].concat(),
    };
    check(&file, &input);
});

#[derive(Arbitrary, Debug)]
struct Input {
    file: File,
    cipher: u8,
    digest: u8,
    passphrase: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
enum File {
    Any(Vec<u8>),
    Salted([u8; SALT_BYTES], Vec<u8>),
}

fn check(file: &[u8], input: &Input) {
    let mut rest = file;
    let header = match Header::read(&mut rest) {
        Ok(header) => header,
        Err(error) => {
            // A short one that could still become right is cut off; everything else is another file.
            let begin = &file[..file.len().min(MAGIC.len())];
            let is_begun = MAGIC.starts_with(begin);
            assert!(!is_begun || file.len() < HEADER_BYTES);
            match error {
                Error::Truncated { at } => assert!(is_begun && at == file.len() as u64),
                Error::NotSalted => assert!(!is_begun),
                error => panic!("{error}"),
            }
            return;
        }
    };
    assert_eq!(header.encoded(), file[..HEADER_BYTES]);
    assert_eq!(rest, &file[HEADER_BYTES..], "not a byte more is read");
    let cipher = CIPHERS[usize::from(input.cipher) % CIPHERS.len()];
    let digest = DIGESTS[usize::from(input.digest) % DIGESTS.len()];
    let derivation = Derivation::BytesToKey;
    let made = derive(cipher, &input.passphrase, &header.salt, derivation, digest);
    let format = Body::new(
        &ACCELERATOR,
        cipher,
        &made.key,
        &made.iv,
        Direction::Decrypt,
    );
    let format = format.expect("a key of the cipher's length");
    let (input, mut output) = (memory(rest), memory(b""));
    let ends = Ends {
        input: &input,
        input_bytes: None,
        output: &output,
        is_positional: false,
        is_regular: true,
        makes_holes: false,
        cache: Cache::Keep,
    };
    let is_whole = oarlock_file::run(&ACCELERATOR, 0, &ends, &format, &Never).is_ok();
    let ours = contents(&mut output);
    match decrypted(cipher, &made.key, &made.iv, rest) {
        Some(plain) => assert!(is_whole && ours == plain),
        None => assert!(!is_whole),
    }
}

/// `None` for what is no whole blocks, or has no padding at its end.
fn decrypted(
    cipher: Algorithm,
    key: &[u8],
    iv: &[u8; IV_BYTES],
    ciphertext: &[u8],
) -> Option<Vec<u8>> {
    let mut data = ciphertext.to_vec();
    macro_rules! counted {
        ($block:ty) => {
            Ctr128BE::<$block>::new_from_slices(key, iv)
                .unwrap()
                .apply_keystream(&mut data)
        };
    }
    match cipher {
        Algorithm::Aes128Ctr => counted!(Aes128),
        Algorithm::Aes192Ctr => counted!(Aes192),
        Algorithm::Aes256Ctr => counted!(Aes256),
        Algorithm::ChaCha20 => chacha20(key, iv, &mut data),
        _ => return chained(key, iv, &data),
    }
    Some(data)
}

/// CBC with padding as in PKCS #7.
fn chained(key: &[u8], iv: &[u8; IV_BYTES], ciphertext: &[u8]) -> Option<Vec<u8>> {
    let (blocks, rest) = ciphertext.as_chunks::<16>();
    if blocks.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut plain = Vec::new();
    let mut before = iv;
    for block in blocks {
        let mut made = (*block).into();
        match key.len() {
            16 => Aes128::new_from_slice(key)
                .unwrap()
                .decrypt_block(&mut made),
            24 => Aes192::new_from_slice(key)
                .unwrap()
                .decrypt_block(&mut made),
            _ => Aes256::new_from_slice(key)
                .unwrap()
                .decrypt_block(&mut made),
        }
        plain.extend(made.iter().zip(before).map(|(byte, chain)| byte ^ chain));
        before = block;
    }
    let padding = usize::from(*plain.last()?);
    let is_right = (1..=16).contains(&padding)
        && plain[plain.len() - padding..]
            .iter()
            .all(|byte| usize::from(*byte) == padding);
    plain.truncate(plain.len() - padding.min(plain.len()));
    is_right.then_some(plain)
}

/// With a counter of 64 bits, as OpenSSL has it: two words of the IV.
fn chacha20(key: &[u8], iv: &[u8; IV_BYTES], data: &mut [u8]) {
    let words = |bytes: &[u8]| -> Vec<u32> {
        let words = bytes.as_chunks().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    };
    let mut counter = u64::from_le_bytes(*iv.first_chunk().unwrap());
    for piece in data.chunks_mut(64) {
        let mut state = words(b"expand 32-byte k");
        state.extend(words(key));
        state.extend([counter as u32, (counter >> 32) as u32]);
        state.extend(words(&iv[8..]));
        let first = state.clone();
        for round in 0..20 {
            for column in 0..4 {
                let by = |row: usize| 4 * row + (column + row * (round % 2)) % 4;
                quarter(&mut state, [by(0), by(1), by(2), by(3)]);
            }
        }
        let sums = state
            .iter()
            .zip(first)
            .map(|(word, first)| word.wrapping_add(first));
        let keystream: Vec<u8> = sums.flat_map(u32::to_le_bytes).collect();
        piece
            .iter_mut()
            .zip(keystream)
            .for_each(|(byte, key)| *byte ^= key);
        counter = counter.wrapping_add(1);
    }
}

fn quarter(state: &mut [u32], [a, b, c, d]: [usize; 4]) {
    for (to, from, turned, by) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        state[to] = state[to].wrapping_add(state[from]);
        state[turned] = (state[turned] ^ state[to]).rotate_left(by);
    }
}

static ACCELERATOR: LazyLock<Accelerator> = LazyLock::new(|| {
    let accelerator = Accelerator::builder().max_threads(0).build();
    accelerator.expect("these options are right")
});

const MAGIC: &[u8] = b"Salted__";
const CIPHERS: [Algorithm; 7] = [
    Algorithm::Aes128Ctr,
    Algorithm::Aes192Ctr,
    Algorithm::Aes256Ctr,
    Algorithm::Aes128Cbc,
    Algorithm::Aes192Cbc,
    Algorithm::Aes256Cbc,
    Algorithm::ChaCha20,
];
const DIGESTS: [Digest; 6] = [
    Digest::Md5,
    Digest::Sha1,
    Digest::Sha224,
    Digest::Sha256,
    Digest::Sha384,
    Digest::Sha512,
];
