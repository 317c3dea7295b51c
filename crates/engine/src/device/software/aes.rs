//! AES in CTR and CBC.
#![allow(unsafe_code)]

use std::os::raw::{c_int, c_uint};
use std::sync::Arc;

use aws_lc_sys::{
    AES_DECRYPT, AES_ENCRYPT, AES_KEY, AES_cbc_encrypt, AES_ctr128_encrypt, AES_set_decrypt_key,
    AES_set_encrypt_key,
};
use inout::InOutBuf;
use zeroize::Zeroize;

use crate::device::error::DeviceError;
use crate::device::keyed::cbc::BlockChain;
use crate::device::keyed::keystream::Keystream;

/// A key in counter mode.
pub(super) struct SoftwareCtr(Schedule);

impl SoftwareCtr {
    pub(super) fn new(key: &[u8]) -> Result<Arc<Self>, DeviceError> {
        let mut ctr = Arc::new(Self(Schedule::UNKEYED));
        // Expand in place: moving a box into an `Arc` would free an unwiped copy.
        if let Some(ctr) = Arc::get_mut(&mut ctr) {
            ctr.0.expand(key, AES_set_encrypt_key)?;
        }
        Ok(ctr)
    }

    fn run(&self, counter: u128, data: InOutBuf<'_, '_, u8>) {
        let mut counter_block = counter.to_be_bytes();
        let mut keystream = [0; 16];
        let mut used: c_uint = 0;
        let bytes = data.len();
        let (from, to) = data.into_raw();
        // SAFETY: AES_set_encrypt_key expanded the schedule; the buffer guarantees `bytes` at both pointers, which are equal
        // or do not overlap, as AES_ctr128_encrypt requires; the rest is local. The call does not change the schedule, so
        // threads may share it.
        unsafe {
            AES_ctr128_encrypt(
                from,
                to,
                bytes,
                &self.0.0,
                counter_block.as_mut_ptr(),
                keystream.as_mut_ptr(),
                &mut used,
            );
        }
        keystream.zeroize();
    }
}

impl Keystream for SoftwareCtr {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if skip > 0 {
            let mut keystream = [0; 16];
            self.run(counter, (&mut keystream[..]).into());
            let bytes = data.len().min(16 - skip);
            let (mut head, rest) = data.split_at(bytes);
            head.xor_in2out(&keystream[skip..skip + bytes]);
            keystream.zeroize();
            self.run(counter.wrapping_add(1), rest);
        } else {
            self.run(counter, data);
        }
    }
}

/// A key in cipher block chaining mode, for both directions.
pub(super) struct SoftwareCbc {
    forward: Schedule,
    inverse: Schedule,
}

impl SoftwareCbc {
    pub(super) fn new(key: &[u8]) -> Result<Box<Self>, DeviceError> {
        let mut cbc = Box::new(Self {
            forward: Schedule::UNKEYED,
            inverse: Schedule::UNKEYED,
        });
        cbc.forward.expand(key, AES_set_encrypt_key)?;
        cbc.inverse.expand(key, AES_set_decrypt_key)?;
        Ok(cbc)
    }
}

impl BlockChain for SoftwareCbc {
    fn encrypt(&self, iv: &mut [u8; 16], data: InOutBuf<'_, '_, u8>) {
        self.forward.chain(AES_ENCRYPT, iv, data);
    }

    fn decrypt(&self, iv: &mut [u8; 16], data: InOutBuf<'_, '_, u8>) {
        self.inverse.chain(AES_DECRYPT, iv, data);
    }
}

/// A key schedule of aws-lc's. Wiped on drop.
struct Schedule(AES_KEY);

impl Schedule {
    const UNKEYED: Self = Self(AES_KEY {
        rd_key: [0; 60],
        rounds: 0,
    });

    /// Expands `key` by `expansion`, one of aws-lc's two functions.
    fn expand(
        &mut self,
        key: &[u8],
        expansion: unsafe extern "C" fn(*const u8, c_uint, *mut AES_KEY) -> c_int,
    ) -> Result<(), DeviceError> {
        // SAFETY: `key` has the number of bits passed, and the schedule is writable.
        let result = unsafe { expansion(key.as_ptr(), 8 * key.len() as c_uint, &mut self.0) };
        if result == 0 {
            Ok(())
        } else {
            Err(DeviceError(format!("AES_set_*_key: {result}")))
        }
    }

    /// Encrypts or decrypts whole blocks. The schedule must be for that `direction`.
    fn chain(&self, direction: i32, iv: &mut [u8; 16], data: InOutBuf<'_, '_, u8>) {
        // aws-lc would otherwise omit or pad the rest.
        assert!(data.len().is_multiple_of(16), "CBC takes whole blocks");
        let bytes = data.len();
        let (from, to) = data.into_raw();
        // SAFETY: `new` expanded the schedule; the buffer guarantees `bytes` at both pointers, which are equal or do not
        // overlap, as AES_cbc_encrypt requires; the assertion above checked for whole blocks. The schedule does not change,
        // so threads may share it.
        unsafe { AES_cbc_encrypt(from, to, bytes, &self.0, iv.as_mut_ptr(), direction) };
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.0.rd_key.zeroize();
    }
}
