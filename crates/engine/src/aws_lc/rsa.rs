//! RSA without padding, and what aws-lc knows of keys.
//!
//! aws-lc keeps a lock and a list of blindings in each key, and locks of the whole process around its generator and its
//! count of forks. A child that is forked while another thread is in an operation inherits them as they were: locked by
//! a thread that it does not have, or in an inconsistent state, which ends the process (rsa_blinding_get). So forks
//! wait for operations. Where a fork cannot wait for so long, operations are counted per key, and a child that finds
//! some under way, whose threads it does not have, goes on with a copy of the key.

use std::fmt;
use std::os::raw::c_int;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use aws_lc_sys::{
    BIGNUM, BN_bin2bn, BN_bn2bin_padded, BN_clear_free, BN_dup, BN_num_bytes, ERR_clear_error,
    ERR_peek_last_error, RSA, RSA_NO_PADDING, RSA_R_BAD_E_VALUE, RSA_R_CRT_VALUES_INCORRECT,
    RSA_R_D_E_NOT_CONGRUENT_TO_1, RSA_R_N_NOT_EQUAL_P_Q, RSA_encrypt, RSA_free,
    RSA_get0_crt_params, RSA_get0_factors, RSA_get0_key, RSA_new, RSA_new_private_key,
    RSA_new_private_key_no_crt, RSA_new_public_key, RSA_set0_crt_params, RSA_set0_factors,
    RSA_set0_key, RSA_sign_raw, RSA_size,
};
use zeroize::Zeroizing;

use super::failed;
use crate::Error;
use oarlock_threads::process;

/// A key, checked. Wiped on drop, by aws-lc.
pub(crate) struct SoftwareRsa {
    /// Made by Box; changed at most once in each process, by the first operation in a forked child.
    handle: AtomicPtr<Handle>,
    /// The length of the modulus in bytes.
    bytes: usize,
}

/// aws-lc's key, and what a forked child must know of it.
struct Handle {
    rsa: NonNull<RSA>,
    /// Operations that are in it.
    under_way: AtomicUsize,
    /// [`process::fork_generation`] of the process that it is in use in.
    generation: AtomicUsize,
}

/// The numbers of a private key of two primes (RFC 8017, 3.2), big-endian, each with any leading
/// zeros.
#[derive(Clone, Copy)]
pub struct PrivateNumbers<'a> {
    /// The modulus.
    pub n: &'a [u8],
    /// The public exponent.
    pub e: &'a [u8],
    /// The private exponent.
    pub d: &'a [u8],
    /// One prime.
    pub p: &'a [u8],
    /// The other prime.
    pub q: &'a [u8],
    /// d modulo p - 1.
    pub dp: &'a [u8],
    /// d modulo q - 1.
    pub dq: &'a [u8],
    /// The inverse of q modulo p.
    pub qinv: &'a [u8],
}

/// Shows none of them.
impl fmt::Debug for PrivateNumbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaPrivateNumbers").finish_non_exhaustive()
    }
}

/// The secret numbers of a private key, copied out of it: big-endian, and wiped on drop.
pub struct RsaSecretNumbers {
    /// The private exponent, with leading zeros as long as the modulus.
    pub d: Zeroizing<Vec<u8>>,
    /// The primes, if the key has them.
    pub primes: Option<RsaSecretPrimes>,
}

/// The primes of a private key and what CRT needs, all as long as the longer of the primes, with
/// leading zeros: big-endian, and wiped on drop.
pub struct RsaSecretPrimes {
    /// One prime.
    pub p: Zeroizing<Vec<u8>>,
    /// The other prime.
    pub q: Zeroizing<Vec<u8>>,
    /// d modulo p - 1.
    pub dp: Zeroizing<Vec<u8>>,
    /// d modulo q - 1.
    pub dq: Zeroizing<Vec<u8>>,
    /// The inverse of q modulo p.
    pub qinv: Zeroizing<Vec<u8>>,
}

/// Shows none of them.
impl fmt::Debug for RsaSecretNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSecretNumbers").finish_non_exhaustive()
    }
}

/// Shows none of them.
impl fmt::Debug for RsaSecretPrimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSecretPrimes").finish_non_exhaustive()
    }
}

// SAFETY: an RSA is memory that belongs to no thread, and aws-lc lets threads use one at once as
// long as none changes it (include/openssl/rsa.h, "thread-safe"): after `new` nobody does. What its
// operations keep in it, blinding and Montgomery constants, they lock themselves.
unsafe impl Send for Handle {}
// SAFETY: aws-lc lets threads use one RSA at once as long as none changes it: after `new` nobody
// does, and the rest of a handle is atomics.
unsafe impl Sync for Handle {}

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

    /// Without primes. Not checked but for the public half: see
    /// [`apply_private`](Self::apply_private).
    ///
    /// # Errors
    /// What is wrong with the key.
    pub(crate) fn private_without_primes(
        n: &[u8],
        e: &[u8],
        d: &[u8],
    ) -> Result<Self, &'static str> {
        let [n, e, d] = [n, e, d].map(Number::new);
        // SAFETY: all are numbers; they are copied.
        Self::new(unsafe { RSA_new_private_key_no_crt(n.get(), e.get(), d.get()) })
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
        Ok(Self {
            handle: AtomicPtr::new(Handle::boxed(rsa)),
            bytes,
        })
    }

    /// `operand` ^ e mod n; both have the bytes of n, and `operand` is less than n.
    pub(crate) fn apply_public(&self, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.apply(RSA_encrypt, operand)
    }

    /// `operand` ^ d mod n, for a private key; both have the bytes of n, and 1 < `operand` < n - 1.
    ///
    /// Blinded, and checked with the public exponent before it is released, by aws-lc
    /// (rsa_default_private_transform): not again here.
    pub(crate) fn apply_private(&self, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.apply(RSA_sign_raw, operand)
    }

    /// The numbers of a private key, in time by their lengths.
    ///
    /// # Errors
    /// Of a public key, and where memory has run out.
    pub(crate) fn secret_numbers(&self) -> Result<RsaSecretNumbers, Error> {
        let rsa = self.handle()?.rsa;
        let [mut n, mut e, mut d, mut p, mut q, mut dp, mut dq, mut qinv] = [ptr::null(); 8];
        // SAFETY: a key, and places for pointers to its numbers, which nobody changes and which are
        // there as long as `self` is borrowed.
        unsafe {
            RSA_get0_key(rsa.as_ptr(), &mut n, &mut e, &mut d);
            RSA_get0_factors(rsa.as_ptr(), &mut p, &mut q);
            RSA_get0_crt_params(rsa.as_ptr(), &mut dp, &mut dq, &mut qinv);
        }
        let bytes = |number: *const BIGNUM, len: usize| {
            let mut bytes = Zeroizing::new(vec![0; len]);
            let is_copied = !number.is_null() && {
                // SAFETY: room for as many bytes as are said, and a number.
                unsafe { BN_bn2bin_padded(bytes.as_mut_ptr(), len, number) == 1 }
            };
            if is_copied {
                Ok(bytes)
            } else {
                Err(failed(
                    "RSA: the key is without a number of its private half",
                ))
            }
        };
        let has_primes = [p, q, dp, dq, qinv].iter().all(|number| !number.is_null());
        let primes = if has_primes {
            // SAFETY: both are numbers.
            let len = unsafe { BN_num_bytes(p).max(BN_num_bytes(q)) } as usize;
            Some(RsaSecretPrimes {
                p: bytes(p, len)?,
                q: bytes(q, len)?,
                dp: bytes(dp, len)?,
                dq: bytes(dq, len)?,
                qinv: bytes(qinv, len)?,
            })
        } else {
            None
        };
        let d = bytes(d, self.bytes)?;
        Ok(RsaSecretNumbers { d, primes })
    }

    fn apply(&self, transform: Transform, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut result = Zeroizing::new(vec![0; self.bytes]);
        let mut written = 0;
        let handle = self.handle()?;
        // A fork that falls between check and count finds no lock taken: this thread is not in the
        // child, and has not touched the key yet.
        handle.under_way.fetch_add(1, Ordering::SeqCst);
        let done = process::forks_wait_for(|| {
            // SAFETY: the key is whole; the result has room for as many bytes as the modulus has,
            // and the operand has as many as are said.
            unsafe {
                transform(
                    handle.rsa.as_ptr(),
                    &mut written,
                    result.as_mut_ptr(),
                    result.len(),
                    operand.as_ptr(),
                    operand.len(),
                    RSA_NO_PADDING,
                )
            }
        });
        handle.under_way.fetch_sub(1, Ordering::SeqCst);
        if done == 1 && written == self.bytes {
            return Ok(result);
        }
        last_reason();
        Err(failed(
            "RSA: the result does not agree with the public key: a prime of the key is none, or \
             the machine computes wrongly",
        ))
    }

    /// The key as this process may use it.
    fn handle(&self) -> Result<&Handle, Error> {
        let found = self.handle.load(Ordering::Acquire);
        // SAFETY: made by Box, and freed by nobody as long as `self` is borrowed.
        let handle = unsafe { &*found };
        if !handle.is_inherited() {
            return Ok(handle);
        }
        if handle.under_way.load(Ordering::SeqCst) == 0 {
            // Another thread of the child that looks just now may already count one of the child's
            // own, and copy for nothing.
            let generation = process::fork_generation();
            handle.generation.store(generation, Ordering::SeqCst);
            return Ok(handle);
        }
        // SAFETY: a key, of which only numbers are read that nobody changes.
        let Some(rsa) = (unsafe { copy(handle.rsa) }) else {
            return Err(failed("RSA: no memory for a copy of the key"));
        };
        let fresh = Handle::boxed(rsa);
        let swapped =
            self.handle
                .compare_exchange(found, fresh, Ordering::AcqRel, Ordering::Acquire);
        let current = match swapped {
            // The previous handle is left as it is: a lock in it may never be released, and a thread that the child
            // does not have may have been in the middle of a change.
            Ok(_) => fresh,
            Err(current) => {
                // SAFETY: made here, and seen by nobody else.
                drop(unsafe { Box::from_raw(fresh) });
                current
            }
        };
        // SAFETY: as `found`.
        Ok(unsafe { &*current })
    }
}

impl Drop for SoftwareRsa {
    fn drop(&mut self) {
        // SAFETY: made by Box; `&mut self` shows that nothing else uses it.
        let handle = unsafe { Box::from_raw(*self.handle.get_mut()) };
        if handle.is_inherited() && handle.under_way.load(Ordering::SeqCst) != 0 {
            // As in `handle`.
            std::mem::forget(handle);
        }
    }
}

impl Handle {
    /// Takes the key over.
    fn boxed(rsa: NonNull<RSA>) -> *mut Self {
        Box::into_raw(Box::new(Self {
            rsa,
            under_way: AtomicUsize::new(0),
            generation: AtomicUsize::new(process::fork_generation()),
        }))
    }

    /// Whether it was in use in a process that this one was forked from, and not in this one.
    fn is_inherited(&self) -> bool {
        self.generation.load(Ordering::SeqCst) != process::fork_generation()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by RSA_new_*_key or `copy`, and freed here alone.
        unsafe { RSA_free(self.rsa.as_ptr()) };
    }
}

/// Another key of the same numbers, which are not checked again; none where memory has run out.
///
/// # Safety
/// `rsa` is a key. Its lock may be taken, and what the lock guards half changed.
unsafe fn copy(rsa: NonNull<RSA>) -> Option<NonNull<RSA>> {
    let [mut n, mut e, mut d, mut p, mut q, mut dp, mut dq, mut qinv] = [ptr::null(); 8];
    // SAFETY: a key, as the caller vouches, and places for pointers to its numbers. The lock does
    // not guard those: nobody changes them once the key is made.
    unsafe {
        RSA_get0_key(rsa.as_ptr(), &mut n, &mut e, &mut d);
        RSA_get0_factors(rsa.as_ptr(), &mut p, &mut q);
        RSA_get0_crt_params(rsa.as_ptr(), &mut dp, &mut dq, &mut qinv);
    }
    let parts = [n, e, d, p, q, dp, dq, qinv];
    // SAFETY: numbers, or null for those that the key does not have, of which null is made.
    let copies = parts.map(|part| Number(unsafe { BN_dup(part) }));
    let is_whole = |(part, copy): (&*const BIGNUM, &Number)| part.is_null() == copy.0.is_null();
    if !parts.iter().zip(&copies).all(is_whole) {
        return None;
    }
    // SAFETY: RSA_new takes nothing.
    let fresh = NonNull::new(unsafe { RSA_new() })?;
    let [n, e, d, p, q, dp, dq, qinv] = copies.map(Number::into_raw);
    // SAFETY: a key without numbers, which takes over those that it is given. They are refused
    // only where one is missing that must be there; where none is given there is none to refuse.
    unsafe {
        RSA_set0_key(fresh.as_ptr(), n, e, d);
        RSA_set0_factors(fresh.as_ptr(), p, q);
        RSA_set0_crt_params(fresh.as_ptr(), dp, dq, qinv);
    }
    Some(fresh)
}

/// RSA_encrypt and RSA_sign_raw.
type Transform =
    unsafe extern "C" fn(*mut RSA, *mut usize, *mut u8, usize, *const u8, usize, c_int) -> c_int;

/// A BIGNUM, wiped on drop. Null when memory has run out, which RSA_new_*_key takes for a part
/// that is missing, or where there was none to copy.
pub(super) struct Number(*mut BIGNUM);

impl Number {
    /// Makes a number from big-endian bytes. The time of operations on it depends on the count of bytes, and not on
    /// their value.
    pub(super) fn new(bytes: &[u8]) -> Self {
        // SAFETY: as many bytes as are said; null asks for a new number.
        Self(unsafe { BN_bin2bn(bytes.as_ptr(), bytes.len(), std::ptr::null_mut()) })
    }

    pub(super) fn get(&self) -> *mut BIGNUM {
        self.0
    }

    /// For a caller that frees it.
    fn into_raw(self) -> *mut BIGNUM {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: made by BN_bin2bn, and freed here alone; null is allowed.
        unsafe { BN_clear_free(self.0) };
    }
}

/// Returns the reason of this thread's last failure, and clears it.
fn last_reason() -> i32 {
    // SAFETY: the queue of errors is this thread's, and may be empty. The low 12 bits are the reason
    // (include/openssl/err.h).
    unsafe {
        let reason = ERR_peek_last_error() & 0xfff;
        ERR_clear_error();
        reason as i32
    }
}

#[cfg(test)]
impl SoftwareRsa {
    /// RSAPrivateKey (RFC 8017, A.1.2) of a fresh key with e = 65537; `bits` is a multiple of 128.
    pub(crate) fn generate_der(bits: usize) -> Zeroizing<Vec<u8>> {
        use aws_lc_sys::{OPENSSL_free, RSA_generate_key_ex, RSA_new, RSA_private_key_to_bytes};

        let e = Number::new(&[1, 0, 1]);
        let (mut bytes, mut len) = (std::ptr::null_mut(), 0);
        // SAFETY: an RSA of its own, a number, and room for what is written; the bytes are copied
        // before they are freed, and all is freed once.
        unsafe {
            let rsa = RSA_new();
            let bits = c_int::try_from(bits).unwrap_or(0);
            assert_eq!(
                RSA_generate_key_ex(rsa, bits, e.get(), std::ptr::null_mut()),
                1
            );
            assert_eq!(RSA_private_key_to_bytes(&mut bytes, &mut len, rsa), 1);
            let der = std::slice::from_raw_parts(bytes, len).to_vec();
            OPENSSL_free(bytes.cast());
            RSA_free(rsa);
            Zeroizing::new(der)
        }
    }
}
