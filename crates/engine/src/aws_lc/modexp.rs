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

// SAFETY: memory that belongs to no thread, and that nothing changes after `new`: all that is done
// with it takes it by pointers to constants.
unsafe impl Send for SoftwareModulus {}
// SAFETY: after `new` nothing changes it: all that is done with it takes it by pointers to
// constants.
unsafe impl Sync for SoftwareModulus {}

impl SoftwareModulus {
    /// `n` is odd, greater than 1, and has no leading zeros.
    ///
    /// # Errors
    /// Where memory has run out.
    pub(crate) fn new(n: &[u8]) -> Result<Self, Error> {
        let bytes = n.len();
        let (n, context) = (whole(Number::new(n))?, Context::new()?);
        // SAFETY: a number, and a context for what comes up between.
        let constants = unsafe { BN_MONT_CTX_new_for_modulus(n.get(), context.0.as_ptr()) };
        let constants = NonNull::new(constants).ok_or_else(refused)?;
        Ok(Self {
            n,
            constants,
            bytes,
        })
    }

    /// A number of any length, modulo n; in as many bytes as n has. Takes time by the value of both.
    ///
    /// # Errors
    /// Where memory has run out, and for numbers of more than 64 MiB.
    pub(crate) fn reduce(
        &self,
        magnitude: &[u8],
        is_negative: bool,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (number, rest) = (whole(Number::new(magnitude))?, whole(Number::new(&[]))?);
        let context = Context::new()?;
        // SAFETY: all are numbers, `rest` one that nobody else has, and a context.
        let done = unsafe {
            BN_set_negative(number.get(), is_negative.into());
            BN_nnmod(rest.get(), number.get(), self.n.get(), context.0.as_ptr())
        };
        self.bytes_of(&rest, done)
    }

    /// `base` ^ `exponent` mod n, in time that depends on n and on lengths alone. `base` and the result
    /// have as many bytes as n, and are less than it; the exponent has any number.
    ///
    /// # Errors
    /// Where memory has run out, and for exponents of more than 64 MiB.
    pub(crate) fn power(&self, base: &[u8], exponent: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let [base, exponent, result] = [base, exponent, &[]].map(Number::new);
        let (base, exponent, result) = (whole(base)?, whole(exponent)?, whole(result)?);
        let context = Context::new()?;
        // SAFETY: all are numbers, `result` one that nobody else has, a context, and the constants
        // of this modulus.
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

    /// A number below n, if what made it was `done`.
    fn bytes_of(&self, number: &Number, done: i32) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut bytes = Zeroizing::new(vec![0; self.bytes]);
        // SAFETY: room for as many bytes as are said, and a number.
        let fits = unsafe { BN_bn2bin_padded(bytes.as_mut_ptr(), bytes.len(), number.get()) };
        if done == 1 && fits == 1 {
            return Ok(bytes);
        }
        Err(refused())
    }
}

impl Drop for SoftwareModulus {
    fn drop(&mut self) {
        // SAFETY: made by BN_MONT_CTX_new_for_modulus, and freed here alone.
        unsafe { BN_MONT_CTX_free(self.constants.as_ptr()) };
    }
}

/// Numbers that come up between, wiped on drop.
struct Context(NonNull<BN_CTX>);

impl Context {
    fn new() -> Result<Self, Error> {
        // SAFETY: BN_CTX_new takes nothing.
        let context = unsafe { BN_CTX_new() };
        NonNull::new(context).map(Self).ok_or_else(refused)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by BN_CTX_new, and freed here alone.
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
    // SAFETY: ERR_clear_error takes nothing: the queue is this thread's.
    unsafe { ERR_clear_error() };
    super::failed("modular exponentiation: no memory, or a number of more than 64 MiB")
}
