//! aws-lc, by the interface with the least around its kernels; EVP costs more at 64 bytes.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::os::raw::c_uint;

use aws_lc_sys::{AES_KEY, AES_ctr128_encrypt, AES_set_encrypt_key, AWSLC_VERSION_NUMBER_STRING};
use oarlock_bench::Error;
use oarlock_bench::case::{Case, Operation};
use oarlock_bench::peer::{Peer, PeerFactory, Presence, Subject};

/// The peer `aws-lc`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "aws-lc",
    presence: Presence::Always,
    open: || Ok(Box::new(AwsLc)),
};

struct AwsLc;

impl Peer for AwsLc {
    fn version(&self) -> String {
        let number = CStr::from_bytes_with_nul(AWSLC_VERSION_NUMBER_STRING).unwrap_or_default();
        format!("AWS-LC {}", number.to_string_lossy())
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Box<dyn Subject>, Error> {
        let Operation::AesCtr { .. } = case.operation;
        let mut ctr = Box::new(AwsLcCtr {
            schedule: AES_KEY {
                rd_key: [0; 60],
                rounds: 0,
            },
            counter: [0; 16],
            keystream: [0; 16],
            used: 0,
        });
        // SAFETY: `key` has the bits that are named and the schedule is writable.
        let result = unsafe {
            AES_set_encrypt_key(key.as_ptr(), 8 * key.len() as c_uint, &mut ctr.schedule)
        };
        if result == 0 {
            Ok(ctr)
        } else {
            Err(Error::Failed(format!(
                "aws-lc: AES_set_encrypt_key: {result}"
            )))
        }
    }
}

struct AwsLcCtr {
    schedule: AES_KEY,
    counter: [u8; 16],
    keystream: [u8; 16],
    used: c_uint,
}

impl Subject for AwsLcCtr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.counter = *iv;
        self.used = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        // SAFETY: the schedule was made by AES_set_encrypt_key; `data` is good for its length both
        // ways, in place is allowed, and the rest is the state of this stream, with `used` below
        // 16 as this function alone leaves it.
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
