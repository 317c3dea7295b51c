//! The proof that a backend is correct: published vectors, and agreement with another backend on a random message.

use std::fs::File;
use std::io::Read as _;

use cipher::StreamCipher as _;
use oarlock::Accelerator;
use oarlock::aead::AcceleratedAead;
use oarlock::cipher::{AcceleratedCbc, AcceleratedCtr, AnyStream};
use oarlock::device::CipherDevice;
use oarlock::{Algorithm, Kind};

/// The result of a self-test that passed.
pub(super) const PASSED: &str = "ok";

/// Anything that computes an operation once a key is set up.
pub(super) struct Unit(Box<NewKey>);

type NewKey = dyn Fn(&[u8]) -> Result<Box<dyn Keyed>, String>;

/// A key that is set up.
pub(super) trait Keyed {
    /// Encrypts `data`, in three pieces if the operation has streams. An AEAD appends its tag.
    fn seal(&mut self, iv: &[u8], aad: &[u8], data: &mut Vec<u8>) -> Result<(), String>;

    /// Reverses [`seal`](Self::seal); fails if the tag does not match.
    fn open(&mut self, iv: &[u8], aad: &[u8], data: &mut Vec<u8>) -> Result<(), String>;

    /// Runs a request to be timed, which continues the one before.
    fn measured(&mut self, data: &mut [u8]);
}

impl Unit {
    /// Returns a unit that `device` alone serves, on the calling thread, with the CPU's features under `mask`.
    pub(super) fn of_device(device: CipherDevice, mask: &str, operation: Algorithm) -> Self {
        let builder = Accelerator::builder().max_threads(0).cpu_mask(mask);
        let builder = builder.cipher_device(device);
        Self(Box::new(move |key| {
            let failed = |error: oarlock::Error| error.to_string();
            let alone = builder.clone().build().map_err(failed)?;
            Ok(match operation.kind() {
                Kind::Stream { iv_bytes, .. } => {
                    let iv = &[0; 16][..iv_bytes];
                    Box::new(alone.stream(operation, key, iv).map_err(failed)?)
                }
                Kind::Aead => Box::new(Messages {
                    aead: alone.aead(operation, key).map_err(failed)?,
                    sent: 0,
                }),
                Kind::Cbc => Box::new(alone.cbc(key, &[0; 16]).map_err(failed)?),
                other => return Err(format!("there is no self-test for {other:?}")),
            })
        }))
    }

    /// Returns a unit whose keys `new_key` sets up.
    #[cfg(test)]
    pub(super) fn of(new_key: impl Fn(&[u8]) -> Result<Box<dyn Keyed>, String> + 'static) -> Self {
        Self(Box::new(new_key))
    }

    pub(super) fn key(&self, key: &[u8]) -> Result<Box<dyn Keyed>, String> {
        (self.0)(key)
    }
}

impl Keyed for AcceleratedCtr<AnyStream> {
    fn seal(&mut self, iv: &[u8], _: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
        self.set_iv(iv).map_err(|error| error.to_string())?;
        let first = (data.len() / 3 + 1).min(data.len());
        let (head, rest) = data.split_at_mut(first);
        let second = rest.len().min(777);
        let (middle, tail) = rest.split_at_mut(second);
        for piece in [head, middle, tail] {
            self.apply_keystream(piece);
        }
        Ok(())
    }

    fn open(&mut self, iv: &[u8], aad: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
        self.seal(iv, aad, data)
    }

    fn measured(&mut self, data: &mut [u8]) {
        self.apply_keystream(data);
    }
}

impl Keyed for AcceleratedCbc {
    fn seal(&mut self, iv: &[u8], _: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
        self.set_iv(iv)
            .and_then(|()| self.encrypt(data.as_mut_slice().into()))
            .map_err(|error| error.to_string())
    }

    fn open(&mut self, iv: &[u8], _: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
        self.set_iv(iv)
            .and_then(|()| self.decrypt(data.as_mut_slice().into()))
            .map_err(|error| error.to_string())
    }

    /// Decrypts: CBC encryption cannot be spread over lanes.
    fn measured(&mut self, data: &mut [u8]) {
        // `data` has whole blocks.
        let _ = self.decrypt(data.into());
    }
}

/// An AEAD, and the number of messages that were timed.
struct Messages {
    aead: AcceleratedAead,
    sent: u64,
}

impl Keyed for Messages {
    fn seal(&mut self, iv: &[u8], aad: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
        let tag = self.aead.seal(iv, aad, data.as_mut_slice().into());
        data.extend(tag.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn open(&mut self, iv: &[u8], aad: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
        let Some((body, tag)) = data.split_last_chunk_mut::<16>() else {
            return Err("a message without a tag".into());
        };
        let opened = self.aead.open(iv, aad, body.into(), tag);
        opened.map_err(|error| error.to_string())?;
        data.truncate(data.len() - 16);
        Ok(())
    }

    fn measured(&mut self, data: &mut [u8]) {
        self.sent += 1;
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.sent.to_be_bytes());
        // Every AEAD accepts this length.
        let _ = self.aead.seal(&nonce, &[], data.into());
    }
}

/// Returns [`PASSED`], or what was wrong.
pub(super) fn self_test(unit: &Unit, operation: Algorithm, oracle: Option<&Unit>) -> String {
    let test = || {
        let mut tried = 0;
        for vector in VECTORS.iter().filter(|it| it.operation == operation) {
            vector.test(unit)?;
            tried += 1;
        }
        if let Some(oracle) = oracle {
            random_message(unit, operation, oracle)?;
            tried += 1;
        }
        if tried > 0 {
            Ok(())
        } else {
            Err("it has no vector".to_string())
        }
    };
    match test() {
        Ok(()) => PASSED.into(),
        Err(what) => what,
    }
}

impl Vector {
    fn test(&self, unit: &Unit) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what} of {}", self.source));
        let (iv, aad) = (unhex(self.iv), unhex(self.aad));
        let mut keyed = unit.key(&unhex(self.key))?;
        let mut data = unhex(self.plaintext);
        keyed.seal(&iv, &aad, &mut data)?;
        // Some vectors give only the tag.
        if !data.ends_with(&unhex(self.ends_in)) {
            return wrong("wrong encryption of the vector");
        }
        keyed.open(&iv, &aad, &mut data)?;
        if data != unhex(self.plaintext) {
            return wrong("wrong decryption of the vector");
        }
        Ok(())
    }
}

/// Compares with `oracle` on a random message: splits within blocks, a run long enough for a table, and the counter's carry
/// into the upper half.
fn random_message(unit: &Unit, operation: Algorithm, oracle: &Unit) -> Result<(), String> {
    let key = random(operation.key_bytes());
    let iv = match operation.kind() {
        Kind::Stream { iv_bytes: 16, .. } => (u128::from(u64::MAX) - 500).to_be_bytes().to_vec(),
        Kind::Stream { iv_bytes: 8, .. } => (u64::from(u32::MAX) - 500).to_be_bytes().to_vec(),
        Kind::Cbc => random(16),
        _ => random(12),
    };
    let aad = random(13);
    let message = match operation.kind() {
        Kind::Cbc => random(MESSAGE_BYTES / 16 * 16),
        _ => random(MESSAGE_BYTES),
    };
    let (mut data, mut expected) = (message.clone(), message.clone());
    let mut keyed = unit.key(&key)?;
    keyed.seal(&iv, &aad, &mut data)?;
    oracle.key(&key)?.seal(&iv, &aad, &mut expected)?;
    if data != expected {
        return Err("encrypts a random message differently from the others".into());
    }
    let mut forged = data.clone();
    keyed.open(&iv, &aad, &mut data)?;
    if data != message {
        return Err("decrypts a random message wrongly".into());
    }
    forged[MESSAGE_BYTES / 2] ^= 1;
    if operation.kind() == Kind::Aead && keyed.open(&iv, &aad, &mut forged).is_ok() {
        return Err("accepts a forged message".into());
    }
    Ok(())
}

fn random(bytes: usize) -> Vec<u8> {
    let mut random = vec![0x36; bytes];
    // If it cannot be read, as in a sandbox, the bytes are constant.
    let _ = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
    random
}

/// Decodes the constants below.
fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap_or_default()
}

/// Longer than where counter-mode caching begins, and not whole blocks.
const MESSAGE_BYTES: usize = (16 << 10) + 7;

/// A published result. For a block cipher in counter mode it covers one block: the counter block is the block that was
/// encrypted, and the data are zeros.
struct Vector {
    operation: Algorithm,
    source: &'static str,
    key: &'static str,
    iv: &'static str,
    aad: &'static str,
    plaintext: &'static str,
    ends_in: &'static str,
}

const fn block(
    operation: Algorithm,
    source: &'static str,
    key: &'static str,
    block: &'static str,
    encrypted: &'static str,
) -> Vector {
    Vector {
        operation,
        source,
        key,
        iv: block,
        aad: "",
        plaintext: match block.len() {
            16 => "0000000000000000",
            _ => ZERO_BLOCK,
        },
        ends_in: encrypted,
    }
}

const fn ctr(operation: Algorithm, key: &'static str, ciphertext: &'static str) -> Vector {
    Vector {
        operation,
        source: "SP 800-38A, F.5",
        key,
        iv: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        aad: "",
        plaintext: "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        ends_in: ciphertext,
    }
}

const fn cbc(operation: Algorithm, key: &'static str, ciphertext: &'static str) -> Vector {
    Vector {
        operation,
        source: "SP 800-38A, F.2",
        key,
        iv: "000102030405060708090a0b0c0d0e0f",
        aad: "",
        plaintext: "6bc1bee22e409f96e93d7e117393172a",
        ends_in: ciphertext,
    }
}

/// Returns one of the test cases 4, 10 and 16 of the GCM specification.
const fn gcm(operation: Algorithm, key: &'static str, tag: &'static str) -> Vector {
    Vector {
        operation,
        source: "the GCM specification",
        key,
        iv: "cafebabefacedbaddecaf888",
        aad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        plaintext: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        ends_in: tag,
    }
}

const ZERO_BLOCK: &str = "00000000000000000000000000000000";
const NUMBERS: &str = "0123456789abcdeffedcba9876543210";
const ARIA_BLOCK: &str = "00112233445566778899aabbccddeeff";

const VECTORS: &[Vector] = &[
    ctr(
        Algorithm::Aes128Ctr,
        "2b7e151628aed2a6abf7158809cf4f3c",
        "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
         5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    ),
    ctr(
        Algorithm::Aes192Ctr,
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94\
         1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    ),
    ctr(
        Algorithm::Aes256Ctr,
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
         2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
    ),
    Vector {
        operation: Algorithm::ChaCha20,
        source: "RFC 8439, A.1",
        key: "0000000000000000000000000000000000000000000000000000000000000000",
        iv: "000000000000000000000000",
        aad: "",
        plaintext: "0000000000000000000000000000000000000000000000000000000000000000",
        ends_in: "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7",
    },
    gcm(
        Algorithm::Aes128Gcm,
        "feffe9928665731c6d6a8f9467308308",
        "5bc94fbc3221a5db94fae95ae7121a47",
    ),
    gcm(
        Algorithm::Aes192Gcm,
        "feffe9928665731c6d6a8f9467308308feffe9928665731c",
        "2519498e80f1478f37ba55bd6d27618c",
    ),
    gcm(
        Algorithm::Aes256Gcm,
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ),
    Vector {
        operation: Algorithm::ChaCha20Poly1305,
        source: "RFC 8439, 2.8.2",
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        iv: "070000004041424344454647",
        aad: "50515253c0c1c2c3c4c5c6c7",
        plaintext: "4c616469657320616e642047656e746c656d656e206f662074686520636c6173\
                    73206f66202739393a204966204920636f756c64206f6666657220796f75206f\
                    6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73\
                    637265656e20776f756c642062652069742e",
        ends_in: "1ae10b594f09e26a7e902ecbd0600691",
    },
    cbc(
        Algorithm::Aes128Cbc,
        "2b7e151628aed2a6abf7158809cf4f3c",
        "7649abac8119b246cee98e9b12e9197d",
    ),
    cbc(
        Algorithm::Aes192Cbc,
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "4f021db243bc633d7178183a9fa071e8",
    ),
    cbc(
        Algorithm::Aes256Cbc,
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "f58c4c04d6e5f1ba779eabfb5f7bfbd6",
    ),
    block(
        Algorithm::Camellia128Ctr,
        "RFC 3713, A",
        NUMBERS,
        NUMBERS,
        "67673138549669730857065648eabe43",
    ),
    block(
        Algorithm::Camellia192Ctr,
        "RFC 3713, A",
        "0123456789abcdeffedcba98765432100011223344556677",
        NUMBERS,
        "b4993401b3e996f84ee5cee7d79b09b9",
    ),
    block(
        Algorithm::Camellia256Ctr,
        "RFC 3713, A",
        "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
        NUMBERS,
        "9acc237dff16d76c20ef7c919e3a7509",
    ),
    block(
        Algorithm::Twofish128Ctr,
        "the Twofish submission",
        ZERO_BLOCK,
        ZERO_BLOCK,
        "9f589f5cf6122c32b6bfec2f2ae8c35a",
    ),
    block(
        Algorithm::Twofish256Ctr,
        "the Twofish submission",
        "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
        ZERO_BLOCK,
        "37527be0052334b89f0cfccae87cfa20",
    ),
    block(
        Algorithm::Serpent128Ctr,
        "the Serpent submission",
        "80000000000000000000000000000000",
        ZERO_BLOCK,
        "264e5481eff42a4606abda06c0bfda3d",
    ),
    block(
        Algorithm::Serpent256Ctr,
        "the Serpent submission",
        "8000000000000000000000000000000000000000000000000000000000000000",
        ZERO_BLOCK,
        "a223aa1288463c0e2be38ebd825616c0",
    ),
    block(
        Algorithm::Aria128Ctr,
        "RFC 5794, A",
        "000102030405060708090a0b0c0d0e0f",
        ARIA_BLOCK,
        "d718fbd6ab644c739da95f3be6451778",
    ),
    block(
        Algorithm::Aria192Ctr,
        "RFC 5794, A",
        "000102030405060708090a0b0c0d0e0f1011121314151617",
        ARIA_BLOCK,
        "26449c1805dbe7aa25a468ce263a9e79",
    ),
    block(
        Algorithm::Aria256Ctr,
        "RFC 5794, A",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        ARIA_BLOCK,
        "f92bd7c79fb72e2f2b8f80c1972d24fc",
    ),
    block(
        Algorithm::Sm4Ctr,
        "GB/T 32907, A.1",
        NUMBERS,
        NUMBERS,
        "681edf34d206965e86b3e94f536e4246",
    ),
    block(
        Algorithm::Cast5Ctr,
        "RFC 2144, B.1",
        "0123456712345678234567893456789a",
        "0123456789abcdef",
        "238b4fe5847e44b2",
    ),
    block(
        Algorithm::BlowfishCtr,
        "the author's vectors",
        "f0e1d2c3b4a5968778695a4b3c2d1e0f",
        "fedcba9876543210",
        "93142887ee3be15c",
    ),
    block(
        Algorithm::TripleDesCtr,
        "SP 800-67, B.1",
        "0123456789abcdef23456789abcdef01456789abcdef0123",
        "5468652071756663",
        "a826fd8ce53b855f",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes correctly, except for the last bit of messages of certain lengths.
    struct Broken(Box<dyn Keyed>, fn(usize) -> bool);

    impl Keyed for Broken {
        fn seal(&mut self, iv: &[u8], aad: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
            let is_wrong = self.1(data.len());
            self.0.seal(iv, aad, data)?;
            if let Some(last) = data.last_mut().filter(|_| is_wrong) {
                *last ^= 1;
            }
            Ok(())
        }

        fn open(&mut self, iv: &[u8], aad: &[u8], data: &mut Vec<u8>) -> Result<(), String> {
            self.0.open(iv, aad, data)
        }

        fn measured(&mut self, _: &mut [u8]) {}
    }

    fn unit(operation: Algorithm) -> Unit {
        Unit::of_device(CipherDevice::Cpu, "", operation)
    }

    fn broken(operation: Algorithm, when: fn(usize) -> bool) -> Unit {
        let right = unit(operation);
        Unit(Box::new(move |key| {
            Ok(Box::new(Broken(right.key(key)?, when)))
        }))
    }

    #[test]
    fn every_operation_has_a_vector_and_passes() {
        let accelerator = Accelerator::builder().build().unwrap();
        for &operation in Algorithm::ALL {
            if accelerator.plan(operation).is_ok() {
                let right = unit(operation);
                assert_eq!(self_test(&right, operation, None), PASSED, "{operation}");
                let said = self_test(&right, operation, Some(&unit(operation)));
                assert_eq!(said, PASSED, "{operation}");
            }
        }
    }

    #[test]
    fn a_unit_with_one_wrong_bit_fails_its_self_test() {
        for operation in [Algorithm::Aes128Ctr, Algorithm::Aes256Gcm] {
            let oracle = unit(operation);
            let said = |when| self_test(&broken(operation, when), operation, Some(&oracle));
            assert_eq!(said(|_| false), PASSED);
            let wrong = said(|bytes| bytes < 1000);
            assert!(wrong.contains("vector"), "{wrong}");
            let wrong = said(|bytes| bytes > 1000);
            assert!(wrong.contains("random message"), "{wrong}");
        }
    }

    #[test]
    fn what_has_no_vector_does_not_pass_unseen() {
        let right = unit(Algorithm::Aes128Ctr);
        let said = self_test(&right, Algorithm::OtherCtr, None);
        assert!(said.contains("no vector"), "{said}");
    }
}
