//! RSA and bare powers of aws-lc, by the interfaces with the least around them.

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

/// Every private result is checked with the public exponent by aws-lc itself.
pub(super) struct Key(NonNull<RSA>);

// SAFETY: an RSA belongs to no thread (include/openssl/rsa.h, "thread-safe").
unsafe impl Send for Key {}

impl Key {
    pub(super) fn new(key: &RsaKey) -> Result<Self, Error> {
        let der = key.der.as_bytes();
        // SAFETY: as many bytes as are said; null says that it failed.
        let rsa = unsafe { RSA_private_key_from_bytes(der.as_ptr(), der.len()) };
        NonNull::new(rsa)
            .map(Self)
            .ok_or_else(|| Error::Failed("aws-lc: RSA_private_key_from_bytes failed".to_owned()))
    }

    fn raw(&self, number: &[u8], result: &mut [u8]) {
        let mut written = 0;
        // SAFETY: the key is live; the result has room for the length that is passed, that of
        // the modulus, which is also the length of the number.
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
        // SAFETY: the key is live; the digest has as many bytes as are said, and the result room for
        // those of the modulus.
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
        // SAFETY: the key is live; both have as many bytes as are said.
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
            // SAFETY: aws-lc's ERR_clear_error takes nothing.
            unsafe { ERR_clear_error() };
        }
        is_right == 1
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: made by RSA_private_key_from_bytes, and freed here alone.
        unsafe { RSA_free(self.0.as_ptr()) }
    }
}

/// Powers, with the numbers of all requests made and all moduli set up before.
pub(super) struct ModExp {
    tasks: Arc<ModExpTasks>,
    moduli: Vec<Modulus>,
    /// Base and exponent.
    operands: Vec<[Number; 2]>,
    result: Number,
    ctx: NonNull<BN_CTX>,
}

// SAFETY: numbers and their scratch space belong to no thread; one at a time uses them, as `&mut`
// says.
unsafe impl Send for ModExp {}

impl ModExp {
    pub(super) fn new(tasks: &Arc<ModExpTasks>) -> Result<Self, Error> {
        let operands = tasks.requests.iter().map(|request| {
            let base = Number::new(&request.base)?;
            Ok([base, Number::new(&request.exponent)?])
        });
        let operands = operands.collect::<Result<_, Error>>()?;
        let result = Number::new(&[])?;
        // SAFETY: aws-lc's BN_CTX_new takes nothing; null says that it failed.
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
            // SAFETY: all are live numbers, the modulus is odd, the base less than it, and the
            // Montgomery form is of it; the result has room for as many bytes as are said.
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
        // SAFETY: made by BN_CTX_new, and freed here alone.
        unsafe { BN_CTX_free(self.ctx.as_ptr()) }
    }
}

struct Number(NonNull<BIGNUM>);

impl Number {
    fn new(bytes: &[u8]) -> Result<Self, Error> {
        // SAFETY: as many bytes as are said; null asks for a new number.
        let number = unsafe { BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) };
        NonNull::new(number)
            .map(Self)
            .ok_or_else(|| Error::Failed("aws-lc: BN_bin2bn failed".to_owned()))
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: made by BN_bin2bn, and freed here alone.
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
        // SAFETY: both are live; null says that it failed.
        let montgomery = unsafe { BN_MONT_CTX_new_for_modulus(number.0.as_ptr(), ctx.as_ptr()) };
        let montgomery = NonNull::new(montgomery).ok_or_else(|| {
            Error::Failed("aws-lc: BN_MONT_CTX_new_for_modulus failed".to_owned())
        })?;
        Ok(Self { number, montgomery })
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        // SAFETY: made by BN_MONT_CTX_new_for_modulus, and freed here alone.
        unsafe { BN_MONT_CTX_free(self.montgomery.as_ptr()) }
    }
}
