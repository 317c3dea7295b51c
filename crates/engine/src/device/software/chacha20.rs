//! ChaCha20.
#![allow(unsafe_code)]

use std::sync::Arc;

use aws_lc_sys::CRYPTO_chacha_20;
use inout::InOutBuf;
use zeroize::Zeroize;

use crate::device::error::DeviceError;
use crate::device::keyed::keystream::Keystream;

/// A key. Wiped on drop.
pub(super) struct SoftwareChaCha20([u8; 32]);

impl SoftwareChaCha20 {
    pub(super) fn new(key: &[u8]) -> Result<Arc<Self>, DeviceError> {
        if key.len() != 32 {
            let bytes = key.len();
            return Err(DeviceError(format!("a key of {bytes} bytes, not of 32")));
        }
        let mut chacha = Arc::new(Self([0; 32]));
        // Copy in place: moving a value into an `Arc` would leave an unwiped copy behind.
        if let Some(chacha) = Arc::get_mut(&mut chacha) {
            chacha.0.copy_from_slice(key);
        }
        Ok(chacha)
    }

    /// Applies keystream from block `counter` on. Its upper 96 bits are the nonce; its low 32 bits are the block counter,
    /// which wraps without changing the nonce.
    fn run(&self, counter: u128, data: InOutBuf<'_, '_, u8>) {
        // aws-lc does not document that its counter wraps.
        let until_wrap = ((1 << 32) - u64::from(counter as u32)) * BLOCK_BYTES as u64;
        let first = usize::try_from(until_wrap).map_or(data.len(), |bytes| bytes.min(data.len()));
        let (data, rest) = data.split_at(first);
        self.run_without_wrap(counter, data);
        if !rest.is_empty() {
            self.run_without_wrap(counter >> 32 << 32, rest);
        }
    }

    fn run_without_wrap(&self, counter: u128, data: InOutBuf<'_, '_, u8>) {
        let [_, _, _, _, nonce @ ..] = (counter >> 32).to_be_bytes();
        let bytes = data.len();
        let (from, to) = data.into_raw();
        // SAFETY: the buffer guarantees `bytes` at both pointers, which are equal or do not overlap, as CRYPTO_chacha_20
        // requires; key and nonce have the 32 and 12 bytes that it reads.
        unsafe {
            CRYPTO_chacha_20(
                to,
                from,
                bytes,
                self.0.as_ptr(),
                nonce.as_ptr(),
                counter as u32,
            );
        }
    }
}

impl Keystream for SoftwareChaCha20 {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if skip > 0 {
            let mut keystream = [0; BLOCK_BYTES];
            self.run(counter, (&mut keystream[..]).into());
            let bytes = data.len().min(BLOCK_BYTES - skip);
            let (mut head, rest) = data.split_at(bytes);
            head.xor_in2out(&keystream[skip..skip + bytes]);
            keystream.zeroize();
            let next = counter >> 32 << 32 | u128::from((counter as u32).wrapping_add(1));
            self.run(next, rest);
        } else {
            self.run(counter, data);
        }
    }
}

impl Drop for SoftwareChaCha20 {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

const BLOCK_BYTES: usize = 64;
