//! RSA without padding, and what aws-lc knows of keys.

use std::os::raw::c_int;
use std::ptr::NonNull;

use aws_lc_sys::{
    BIGNUM, BN_bin2bn, BN_clear_free, ERR_clear_error, ERR_peek_last_error, RAND_bytes, RSA,
    RSA_NO_PADDING, RSA_R_BAD_E_VALUE, RSA_R_CRT_VALUES_INCORRECT, RSA_R_D_E_NOT_CONGRUENT_TO_1,
    RSA_R_N_NOT_EQUAL_P_Q, RSA_encrypt, RSA_free, RSA_new_private_key, RSA_new_public_key,
    RSA_sign_raw, RSA_size,
};
use zeroize::Zeroizing;

use crate::device::DeviceError;

/// A key, checked. Wiped on drop, by aws-lc.
pub(crate) struct SoftwareRsa {
    rsa: NonNull<RSA>,
    /// Of the modulus.
    bytes: usize,
}

/// The numbers of a private key (RFC 8017, 3.2), big-endian.
pub(crate) struct PrivateNumbers<'a> {
    pub(crate) n: &'a [u8],
    pub(crate) e: &'a [u8],
    pub(crate) d: &'a [u8],
    pub(crate) p: &'a [u8],
    pub(crate) q: &'a [u8],
    pub(crate) dp: &'a [u8],
    pub(crate) dq: &'a [u8],
    pub(crate) qinv: &'a [u8],
}

// SAFETY: an RSA is memory that belongs to no thread, and aws-lc lets threads use one at once as
// long as none changes it (include/openssl/rsa.h, "thread-safe"): after `new` nobody does. What its
// operations keep in it, blinding and Montgomery constants, they lock themselves.
unsafe impl Send for SoftwareRsa {}
// SAFETY: as above.
unsafe impl Sync for SoftwareRsa {}

impl SoftwareRsa {
    /// `n` is odd, and has 4096 bits at most.
    ///
    /// # Errors
    /// What is wrong with the key.
    pub(crate) fn public(n: &[u8], e: &[u8]) -> Result<Self, &'static str> {
        let (n, e) = (Number::new(n), Number::new(e));
        // SAFETY: both are numbers; they are copied.
        Self::new(unsafe { RSA_new_public_key(n.get(), e.get()) })
    }

    /// Checks the parts against each other, in constant time: n = p q, d e = 1 modulo p - 1 and
    /// q - 1, and what CRT needs. Not whether p and q are primes.
    ///
    /// # Errors
    /// What is wrong with the key.
    pub(crate) fn private(numbers: &PrivateNumbers<'_>) -> Result<Self, &'static str> {
        let PrivateNumbers {
            n,
            e,
            d,
            p,
            q,
            dp,
            dq,
            qinv,
        } = numbers;
        let [n, e, d, p, q, dp, dq, qinv] = [n, e, d, p, q, dp, dq, qinv].map(|n| Number::new(n));
        // SAFETY: all are numbers; they are copied.
        Self::new(unsafe {
            RSA_new_private_key(
                n.get(),
                e.get(),
                d.get(),
                p.get(),
                q.get(),
                dp.get(),
                dq.get(),
                qinv.get(),
            )
        })
    }

    fn new(rsa: *mut RSA) -> Result<Self, &'static str> {
        let Some(rsa) = NonNull::new(rsa) else {
            return Err(match last_reason() {
                RSA_R_N_NOT_EQUAL_P_Q => "the modulus is not the product of the two primes",
                RSA_R_D_E_NOT_CONGRUENT_TO_1 => {
                    "the private exponent is not the inverse of the public one"
                }
                RSA_R_CRT_VALUES_INCORRECT => {
                    "the CRT exponents or the coefficient do not belong to the primes and the \
                     private exponent"
                }
                RSA_R_BAD_E_VALUE => "the public exponent is not odd, or not between 3 and 2^33",
                _ => "the numbers are out of range",
            });
        };
        // SAFETY: an RSA with a modulus, or it would not have been made.
        let bytes = unsafe { RSA_size(rsa.as_ptr()) } as usize;
        Ok(Self { rsa, bytes })
    }

    /// `operand` ^ e mod n; both have the bytes of n, and `operand` is less than n.
    pub(crate) fn apply_public(&self, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        self.apply(RSA_encrypt, operand)
    }

    /// `operand` ^ d mod n, for a private key; both have the bytes of n, and 1 < `operand` < n - 1.
    ///
    /// Blinded, and checked with the public exponent before it is released, by aws-lc
    /// (rsa_default_private_transform): not again here.
    pub(crate) fn apply_private(&self, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        self.apply(RSA_sign_raw, operand)
    }

    fn apply(
        &self,
        transform: Transform,
        operand: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let mut result = Zeroizing::new(vec![0; self.bytes]);
        let mut written = 0;
        // SAFETY: the key is whole; the result has room for as many bytes as the modulus has, and
        // the operand has as many as are said.
        let done = unsafe {
            transform(
                self.rsa.as_ptr(),
                &mut written,
                result.as_mut_ptr(),
                result.len(),
                operand.as_ptr(),
                operand.len(),
                RSA_NO_PADDING,
            )
        };
        if done == 1 && written == self.bytes {
            return Ok(result);
        }
        last_reason();
        Err(DeviceError(
            "RSA: the result does not agree with the public key: a prime of the key is none, or \
             the machine computes wrongly"
                .into(),
        ))
    }
}

impl Drop for SoftwareRsa {
    fn drop(&mut self) {
        // SAFETY: made by RSA_new_*_key, and freed here alone.
        unsafe { RSA_free(self.rsa.as_ptr()) };
    }
}

/// Fills `bytes` from the generator of aws-lc, which the operating system seeds, also after a fork.
pub(crate) fn fill_random(bytes: &mut [u8]) {
    // SAFETY: as many bytes as are said. It returns 1 or aborts.
    unsafe { RAND_bytes(bytes.as_mut_ptr(), bytes.len()) };
}

/// RSA_encrypt and RSA_sign_raw.
type Transform =
    unsafe extern "C" fn(*mut RSA, *mut usize, *mut u8, usize, *const u8, usize, c_int) -> c_int;

/// A BIGNUM, wiped on drop. Null when memory has run out, which RSA_new_*_key takes for a part
/// that is missing.
struct Number(*mut BIGNUM);

impl Number {
    fn new(bytes: &[u8]) -> Self {
        // SAFETY: as many bytes as are said; null asks for a new number.
        Self(unsafe { BN_bin2bn(bytes.as_ptr(), bytes.len(), std::ptr::null_mut()) })
    }

    fn get(&self) -> *const BIGNUM {
        self.0
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: made by BN_bin2bn, and freed here alone; null is allowed.
        unsafe { BN_clear_free(self.0) };
    }
}

/// Of what failed last on this thread; forgotten with that.
fn last_reason() -> i32 {
    // SAFETY: no preconditions. The low 12 bits are the reason (include/openssl/err.h).
    unsafe {
        let reason = ERR_peek_last_error() & 0xfff;
        ERR_clear_error();
        reason as i32
    }
}
