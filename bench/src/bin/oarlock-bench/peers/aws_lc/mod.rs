//! aws-lc, called through the thinnest interfaces to its kernels; EVP costs more at 64 bytes.
#![allow(unsafe_code)]

mod operations;
mod public_key;

use std::ffi::CStr;
use std::os::raw::{c_int, c_uint};
use std::ptr::{self, NonNull};

use aws_lc_sys::{
    AES_KEY, AES_cbc_encrypt, AES_ctr128_encrypt, AES_set_decrypt_key, AES_set_encrypt_key,
    AWSLC_VERSION_NUMBER_STRING, CRYPTO_chacha_20, EVP_AEAD, EVP_AEAD_CTX, EVP_AEAD_CTX_free,
    EVP_AEAD_CTX_new, EVP_AEAD_CTX_open_gather, EVP_AEAD_CTX_seal_scatter, EVP_aead_aes_128_gcm,
    EVP_aead_aes_256_gcm, EVP_aead_chacha20_poly1305,
};
use oarlock_measure::Error;
use oarlock_measure::cases::{Algorithm, Case, Direction, Tasks};
use oarlock_measure::peers::{
    Aead, LaneQueue, Peer, PeerFactory, Presence, PublicKey, Sealed, SingleRsa, Stream, Subject,
};

use super::pieces::{Pieces, WholeBlocks};
pub(crate) use operations::{Direct, direct};

/// The peer `aws-lc`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "aws-lc",
    presence: Presence::Always,
    open: |_| Ok(Box::new(AwsLc)),
};

struct AwsLc;

impl Peer for AwsLc {
    fn version(&self) -> String {
        let number = CStr::from_bytes_with_nul(AWSLC_VERSION_NUMBER_STRING).unwrap_or_default();
        format!("AWS-LC {}", number.to_string_lossy())
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        match case.algorithm {
            Algorithm::AesCtr { .. } => Subject::stream(AwsLcCtr {
                schedule: schedule(key, Direction::Encrypt)?,
                counter: [0; 16],
                keystream: [0; 16],
                used: 0,
            }),
            Algorithm::AesCbc { .. } => Subject::stream(AwsLcCbc {
                schedule: schedule(key, case.direction)?,
                iv: [0; 16],
                encrypt: c_int::from(case.direction == Direction::Encrypt),
            }),
            Algorithm::ChaCha20 => Subject::stream(Pieces::of(AwsLcChaCha20 {
                key: key
                    .try_into()
                    .map_err(|_| Error::Failed("aws-lc: a key of 32 bytes is due".to_owned()))?,
                nonce: [0; 12],
                counter: 0,
            })),
            // SAFETY: these functions have no parameters and return static descriptions.
            Algorithm::AesGcm { key_bytes: 16 } => aead(unsafe { EVP_aead_aes_128_gcm() }, key),
            // SAFETY: it has no parameters and returns a static description.
            Algorithm::AesGcm { .. } => aead(unsafe { EVP_aead_aes_256_gcm() }, key),
            // SAFETY: the function has no parameters, and returns a static description.
            Algorithm::ChaCha20Poly1305 => aead(unsafe { EVP_aead_chacha20_poly1305() }, key),
            Algorithm::Camellia128Ctr | Algorithm::TripleDesCtr => {
                Err(Error::Unavailable("it has no such counter mode".to_owned()))
            }
        }
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        match tasks {
            Tasks::Rsa(tasks) => SingleRsa::set_up(tasks, public_key::Key::new),
            Tasks::ModExp(tasks) => Ok(LaneQueue::before(public_key::ModExp::new(tasks)?)),
        }
    }
}

fn schedule(key: &[u8], direction: Direction) -> Result<AES_KEY, Error> {
    let mut schedule = AES_KEY {
        rd_key: [0; 60],
        rounds: 0,
    };
    let set = match direction {
        Direction::Encrypt => AES_set_encrypt_key,
        Direction::Decrypt => AES_set_decrypt_key,
    };
    // SAFETY: `key` has the number of bits passed, and the schedule is writable.
    let result = unsafe { set(key.as_ptr(), 8 * key.len() as c_uint, &mut schedule) };
    if result == 0 {
        Ok(schedule)
    } else {
        Err(Error::Failed(format!(
            "aws-lc: setting a key up gave {result}"
        )))
    }
}

struct AwsLcCtr {
    schedule: AES_KEY,
    counter: [u8; 16],
    keystream: [u8; 16],
    used: c_uint,
}

impl Stream for AwsLcCtr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.counter = *iv;
        self.used = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        // SAFETY: AES_set_encrypt_key made the schedule; `data` may be read and written for its length, in place is allowed,
        // and the rest is the state of this stream, with `used` below 16 as only this function sets it.
        unsafe {
            AES_ctr128_encrypt(
                data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
                &self.schedule,
                self.counter.as_mut_ptr(),
                self.keystream.as_mut_ptr(),
                &mut self.used,
            );
        }
    }
}

struct AwsLcCbc {
    schedule: AES_KEY,
    iv: [u8; 16],
    encrypt: c_int,
}

impl Stream for AwsLcCbc {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.iv = *iv;
    }

    fn apply(&mut self, data: &mut [u8]) {
        // SAFETY: the schedule was made for this direction; `data` may be read and written for its length, in place is
        // allowed, and the harness passes whole blocks; the IV is writable.
        unsafe {
            AES_cbc_encrypt(
                data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
                &self.schedule,
                self.iv.as_mut_ptr(),
                self.encrypt,
            );
        }
    }
}

struct AwsLcChaCha20 {
    key: [u8; 32],
    nonce: [u8; 12],
    counter: u32,
}

impl WholeBlocks<64> for AwsLcChaCha20 {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.nonce.copy_from_slice(&iv[..12]);
        self.counter = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        // SAFETY: `data` may be read and written for its length, in place; key and nonce have the 32 and 12 bytes that are
        // read.
        unsafe {
            CRYPTO_chacha_20(
                data.as_mut_ptr(),
                data.as_ptr(),
                data.len(),
                self.key.as_ptr(),
                self.nonce.as_ptr(),
                self.counter,
            );
        }
        self.counter = self.counter.wrapping_add((data.len() / 64) as u32);
    }
}

fn aead(algorithm: *const EVP_AEAD, key: &[u8]) -> Result<Subject, Error> {
    // SAFETY: the description is static and `key` has the length passed; 0 asks for the full tag. Null is a failure.
    let ctx = unsafe { EVP_AEAD_CTX_new(algorithm, key.as_ptr(), key.len(), 0) };
    let ctx = NonNull::new(ctx)
        .ok_or_else(|| Error::Failed("aws-lc: EVP_AEAD_CTX_new failed".to_owned()))?;
    Subject::aead(AwsLcAead(ctx))
}

struct AwsLcAead(NonNull<EVP_AEAD_CTX>);

impl Aead for AwsLcAead {
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        let mut tag_bytes = 0;
        // SAFETY: the context is live; every pointer is valid for the length that follows it, the tag has room for 16 bytes,
        // in place is allowed, and there is no extra input.
        let done = unsafe {
            EVP_AEAD_CTX_seal_scatter(
                self.0.as_ptr(),
                data.as_mut_ptr(),
                tag.as_mut_ptr(),
                &mut tag_bytes,
                tag.len(),
                nonce.as_ptr(),
                nonce.len(),
                data.as_ptr(),
                data.len(),
                ptr::null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        assert!(done == 1 && tag_bytes == 16, "EVP_AEAD_CTX_seal_scatter");
        tag
    }

    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        assert_eq!(message.data.len(), data.len(), "as many bytes come out");
        // SAFETY: the context is live; every pointer is valid for its length, and `data`, which has the ciphertext's length,
        // does not overlap it.
        let done = unsafe {
            EVP_AEAD_CTX_open_gather(
                self.0.as_ptr(),
                data.as_mut_ptr(),
                message.nonce.as_ptr(),
                message.nonce.len(),
                message.data.as_ptr(),
                message.data.len(),
                message.tag.as_ptr(),
                message.tag.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        done == 1
    }
}

impl Drop for AwsLcAead {
    fn drop(&mut self) {
        // SAFETY: EVP_AEAD_CTX_new created the context, and it is freed once.
        unsafe { EVP_AEAD_CTX_free(self.0.as_ptr()) }
    }
}
