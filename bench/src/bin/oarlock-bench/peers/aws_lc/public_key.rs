//! RSA and modular exponentiation of aws-lc, called through the thinnest interfaces.

use std::os::raw::{c_int, c_uint};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use aws_lc_sys::{
    BIGNUM, BN_CTX, BN_CTX_free, BN_CTX_new, BN_MONT_CTX, BN_MONT_CTX_free,
    BN_MONT_CTX_new_for_modulus, BN_bin2bn, BN_bn2bin_padded, BN_free, BN_mod_exp_mont_consttime,
    ERR_clear_error, NID_sha256, RSA, RSA_NO_PADDING, RSA_free, RSA_private_key_from_bytes,
    RSA_sign, RSA_sign_raw, RSA_verify,
};
use oarlock_measure::Error;
use oarlock_measure::cases::{ModExpTasks, RsaKey, RsaOperation, RsaRequest};
use oarlock_measure::peers::{Lanes, Results, SingleRsaKey};

/// An RSA private key. aws-lc itself checks every private result with the public exponent.
pub(super) struct Key(NonNull<RSA>);

// SAFETY: an RSA may be used from any thread (include/openssl/rsa.h, "thread-safe").
unsafe impl Send for Key {}

impl Key {
    pub(super) fn new(key: &RsaKey) -> Result<Self, Error> {
        let der = key.der.as_bytes();
        // SAFETY: `der` has the length passed; null is a failure.
        let rsa = unsafe { RSA_private_key_from_bytes(der.as_ptr(), der.len()) };
        NonNull::new(rsa)
            .map(Self)
            .ok_or_else(|| Error::Failed("aws-lc: RSA_private_key_from_bytes failed".to_owned()))
    }

    fn raw(&self, number: &[u8], result: &mut [u8]) {
        let mut written = 0;
        // SAFETY: the key is live; the result has room for the length passed, that of the modulus, which is also the input's
        // length.
        let done = unsafe {
            RSA_sign_raw(
                self.0.as_ptr(),
                &mut written,
                result.as_mut_ptr(),
                result.len(),
                number.as_ptr(),
                number.len(),
                RSA_NO_PADDING,
            )
        };
        assert!(done == 1 && written == result.len(), "RSA_sign_raw");
    }

    fn sign_digest(&self, digest: &[u8; 32], result: &mut [u8]) {
        let mut written: c_uint = 0;
        // SAFETY: the key is live; the digest has the length passed, and the result room for the bytes of the modulus.
        let done = unsafe {
            RSA_sign(
                NID_sha256,
                digest.as_ptr(),
                digest.len(),
                result.as_mut_ptr(),
                &mut written,
                self.0.as_ptr(),
            )
        };
        assert!(done == 1 && written as usize == result.len(), "RSA_sign");
    }
}

impl SingleRsaKey for Key {
    fn sign(&mut self, operation: RsaOperation, request: &RsaRequest, result: &mut [u8]) {
        match operation {
            RsaOperation::Private => self.raw(&request.number, result),
            RsaOperation::Sign | RsaOperation::Verify => self.sign_digest(&request.digest, result),
        }
    }

    fn verify(&mut self, request: &RsaRequest) -> bool {
        let RsaRequest {
            signature, digest, ..
        } = request;
        // SAFETY: the key is live; digest and signature have the lengths passed.
        let is_right = unsafe {
            RSA_verify(
                NID_sha256,
                digest.as_ptr(),
                digest.len(),
                signature.as_ptr(),
                signature.len(),
                self.0.as_ptr(),
            )
        };
        if is_right != 1 {
            // SAFETY: aws-lc's ERR_clear_error has no precondition.
            unsafe { ERR_clear_error() };
        }
        is_right == 1
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: RSA_private_key_from_bytes created the key, and only this frees it.
        unsafe { RSA_free(self.0.as_ptr()) }
    }
}

/// Modular exponentiation; all requests' numbers are converted and all moduli set up in advance.
pub(super) struct ModExp {
    tasks: Arc<ModExpTasks>,
    moduli: Vec<Modulus>,
    /// Base and exponent of each request.
    operands: Vec<[Number; 2]>,
    result: Number,
    ctx: NonNull<BN_CTX>,
}

// SAFETY: numbers and their scratch space are not bound to a thread; `&mut` guarantees that one thread at a time uses them.
unsafe impl Send for ModExp {}

impl ModExp {
    pub(super) fn new(tasks: &Arc<ModExpTasks>) -> Result<Self, Error> {
        let operands = tasks.requests.iter().map(|request| {
            let base = Number::new(&request.base)?;
            Ok([base, Number::new(&request.exponent)?])
        });
        let operands = operands.collect::<Result<_, Error>>()?;
        let result = Number::new(&[])?;
        // SAFETY: aws-lc's BN_CTX_new has no precondition; null is a failure.
        let ctx = NonNull::new(unsafe { BN_CTX_new() })
            .ok_or_else(|| Error::Failed("aws-lc: BN_CTX_new failed".to_owned()))?;
        let mut made = Self {
            tasks: Arc::clone(tasks),
            moduli: Vec::new(),
            operands,
            result,
            ctx,
        };
        for modulus in &tasks.moduli {
            made.moduli.push(Modulus::new(modulus, ctx)?);
        }
        Ok(made)
    }
}

impl Lanes for ModExp {
    const LANES: usize = 1;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        let bytes = self.tasks.bytes();
        for number in requests {
            let [base, exponent] = &self.operands[*number];
            let modulus = &self.moduli[self.tasks.requests[*number].modulus];
            let result = results.done(*number, bytes);
            // SAFETY: all numbers are live, the modulus is odd, the base is less than it, and the Montgomery form belongs to
            // it; the result has room for the length passed.
            let done: [c_int; 2] = unsafe {
                [
                    BN_mod_exp_mont_consttime(
                        self.result.0.as_ptr(),
                        base.0.as_ptr(),
                        exponent.0.as_ptr(),
                        modulus.number.0.as_ptr(),
                        self.ctx.as_ptr(),
                        modulus.montgomery.as_ptr(),
                    ),
                    BN_bn2bin_padded(result.as_mut_ptr(), bytes, self.result.0.as_ptr()),
                ]
            };
            assert_eq!(done, [1; 2], "BN_mod_exp_mont_consttime, BN_bn2bin_padded");
        }
    }
}

impl Drop for ModExp {
    fn drop(&mut self) {
        // SAFETY: BN_CTX_new created the context, and only this frees it.
        unsafe { BN_CTX_free(self.ctx.as_ptr()) }
    }
}

struct Number(NonNull<BIGNUM>);

impl Number {
    fn new(bytes: &[u8]) -> Result<Self, Error> {
        // SAFETY: `bytes` has the length passed; a null result asks for a new number.
        let number = unsafe { BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) };
        NonNull::new(number)
            .map(Self)
            .ok_or_else(|| Error::Failed("aws-lc: BN_bin2bn failed".to_owned()))
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: BN_bin2bn created the number, and only this frees it.
        unsafe { BN_free(self.0.as_ptr()) }
    }
}

/// A modulus and its Montgomery form.
struct Modulus {
    number: Number,
    montgomery: NonNull<BN_MONT_CTX>,
}

impl Modulus {
    fn new(bytes: &[u8], ctx: NonNull<BN_CTX>) -> Result<Self, Error> {
        let number = Number::new(bytes)?;
        // SAFETY: number and context are live; null is a failure.
        let montgomery = unsafe { BN_MONT_CTX_new_for_modulus(number.0.as_ptr(), ctx.as_ptr()) };
        let montgomery = NonNull::new(montgomery).ok_or_else(|| {
            Error::Failed("aws-lc: BN_MONT_CTX_new_for_modulus failed".to_owned())
        })?;
        Ok(Self { number, montgomery })
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        // SAFETY: BN_MONT_CTX_new_for_modulus created the form, and only this frees it.
        unsafe { BN_MONT_CTX_free(self.montgomery.as_ptr()) }
    }
}
