//! Modular exponentiation by aws-lc.

use std::ptr::NonNull;

use aws_lc_sys::{
    BN_CTX, BN_CTX_free, BN_CTX_new, BN_MONT_CTX, BN_MONT_CTX_free, BN_MONT_CTX_new_for_modulus,
    BN_bn2bin_padded, BN_mod_exp_mont_consttime, BN_nnmod, BN_set_negative, ERR_clear_error,
};
use zeroize::Zeroizing;

use super::rsa::Number;
use crate::Error;

/// An odd modulus with its Montgomery constants.
pub(crate) struct SoftwareModulus {
    n: Number,
    constants: NonNull<BN_MONT_CTX>,
    /// The length of the modulus in bytes.
    bytes: usize,
}

// SAFETY: no thread owns this memory, and nothing changes it after `new`: all uses take it by const pointers.
unsafe impl Send for SoftwareModulus {}
// SAFETY: nothing changes it after `new`, since all uses take it by const pointers.
unsafe impl Sync for SoftwareModulus {}

impl SoftwareModulus {
    /// Sets up the modulus `n`, which is odd, greater than 1, and has no leading zeros.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub(crate) fn new(n: &[u8]) -> Result<Self, Error> {
        let bytes = n.len();
        let (n, context) = (whole(Number::new(n))?, Context::new()?);
        // SAFETY: `n` is a number, and the context holds temporaries.
        let constants = unsafe { BN_MONT_CTX_new_for_modulus(n.get(), context.0.as_ptr()) };
        let constants = NonNull::new(constants).ok_or_else(refused)?;
        Ok(Self {
            n,
            constants,
            bytes,
        })
    }

    /// Reduces a number of any length modulo n, to the length of n. The time depends on the values of both.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted, and for numbers of more than 64 MiB.
    pub(crate) fn reduce(
        &self,
        magnitude: &[u8],
        is_negative: bool,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (number, rest) = (whole(Number::new(magnitude))?, whole(Number::new(&[]))?);
        let context = Context::new()?;
        // SAFETY: all three are numbers, of which this call owns the two that it changes, and the context is valid.
        let done = unsafe {
            BN_set_negative(number.get(), is_negative.into());
            BN_nnmod(rest.get(), number.get(), self.n.get(), context.0.as_ptr())
        };
        self.bytes_of(&rest, done)
    }

    /// Returns `base` ^ `exponent` mod n. The time depends only on n and on lengths. `base` and the result are less
    /// than n and as long; the exponent may have any length.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted, and for exponents of more than 64 MiB.
    pub(crate) fn power(&self, base: &[u8], exponent: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let [base, exponent, result] = [base, exponent, &[]].map(Number::new);
        let (base, exponent, result) = (whole(base)?, whole(exponent)?, whole(result)?);
        let context = Context::new()?;
        // SAFETY: all are numbers, only this call writes to `result`, the context is valid, and the constants belong to
        // this modulus.
        let done = unsafe {
            BN_mod_exp_mont_consttime(
                result.get(),
                base.get(),
                exponent.get(),
                self.n.get(),
                context.0.as_ptr(),
                self.constants.as_ptr(),
            )
        };
        self.bytes_of(&result, done)
    }

    /// Encodes a result below n if its computation returned 1 in `done`.
    fn bytes_of(&self, number: &Number, done: i32) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut bytes = Zeroizing::new(vec![0; self.bytes]);
        // SAFETY: the buffer is passed with its length, and `number` is a number.
        let fits = unsafe { BN_bn2bin_padded(bytes.as_mut_ptr(), bytes.len(), number.get()) };
        if done == 1 && fits == 1 {
            return Ok(bytes);
        }
        Err(refused())
    }
}

impl Drop for SoftwareModulus {
    fn drop(&mut self) {
        // SAFETY: BN_MONT_CTX_new_for_modulus made it, and only this drop frees it.
        unsafe { BN_MONT_CTX_free(self.constants.as_ptr()) };
    }
}

/// Temporaries of a computation, wiped on drop.
struct Context(NonNull<BN_CTX>);

impl Context {
    fn new() -> Result<Self, Error> {
        // SAFETY: BN_CTX_new has no arguments.
        let context = unsafe { BN_CTX_new() };
        NonNull::new(context).map(Self).ok_or_else(refused)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: BN_CTX_new made it, and only this drop frees it.
        unsafe { BN_CTX_free(self.0.as_ptr()) };
    }
}

fn whole(number: Number) -> Result<Number, Error> {
    if number.get().is_null() {
        return Err(refused());
    }
    Ok(number)
}

fn refused() -> Error {
    // SAFETY: ERR_clear_error has no arguments and changes only this thread's queue.
    unsafe { ERR_clear_error() };
    super::failed("modular exponentiation: no memory, or a number of more than 64 MiB")
}
