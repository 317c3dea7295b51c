//! RSA without padding, and the numbers of keys in aws-lc.
//!
//! aws-lc keeps a lock and a list of blindings in each key, and process-wide locks around its generator and its fork
//! counter. A child that is forked while another thread is in an operation inherits them in that state: locked by a
//! thread that the child does not have, or inconsistent, which aborts the process (rsa_blinding_get). So forks wait for
//! operations. If a fork cannot wait long enough, the count of operations in each key shows the child that some were
//! under way on threads it does not have. It then continues with a copy of the key.

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

/// A checked key. aws-lc wipes it on drop.
pub(crate) struct SoftwareRsa {
    /// A pointer from Box. It changes at most once in each process: in the first operation of a forked child.
    handle: AtomicPtr<Handle>,
    /// The length of the modulus in bytes.
    bytes: usize,
}

/// An aws-lc key with the state that a forked child needs.
struct Handle {
    rsa: NonNull<RSA>,
    /// The number of operations in progress with this key.
    under_way: AtomicUsize,
    /// The [`process::fork_generation`] of the process that uses it.
    generation: AtomicUsize,
}

/// The numbers of a two-prime private key (RFC 8017, 3.2), big-endian, each with any number of leading zeros.
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

/// Hides the numbers.
impl fmt::Debug for PrivateNumbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaPrivateNumbers").finish_non_exhaustive()
    }
}

/// A copy of the secret numbers of a private key: big-endian, and wiped on drop.
pub struct RsaSecretNumbers {
    /// The private exponent, padded with leading zeros to the length of the modulus.
    pub d: Zeroizing<Vec<u8>>,
    /// The primes, if the key has them.
    pub primes: Option<RsaSecretPrimes>,
}

/// The primes and CRT numbers of a private key: big-endian, all padded to the length of the longer prime, and wiped on
/// drop.
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

/// Hides the numbers.
impl fmt::Debug for RsaSecretNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSecretNumbers").finish_non_exhaustive()
    }
}

/// Hides the numbers.
impl fmt::Debug for RsaSecretPrimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSecretPrimes").finish_non_exhaustive()
    }
}

// SAFETY: no thread owns an RSA, and aws-lc allows concurrent use while no thread changes it (include/openssl/rsa.h,
// "thread-safe"), which none does after `new`. Operations lock the blinding and Montgomery constants that they keep in
// it.
unsafe impl Send for Handle {}
// SAFETY: aws-lc allows concurrent use of an RSA while no thread changes it, which none does after `new`; the rest of a
// handle is atomics.
unsafe impl Sync for Handle {}

impl SoftwareRsa {
    /// Creates a public key. `n` is odd and has at most 4096 bits.
    ///
    /// # Errors
    /// A message that says what is wrong with the key.
    pub(crate) fn public(n: &[u8], e: &[u8]) -> Result<Self, &'static str> {
        let (n, e) = (Number::new(n), Number::new(e));
        // SAFETY: both arguments are numbers, which aws-lc copies.
        Self::new(unsafe { RSA_new_public_key(n.get(), e.get()) })
    }

    /// Creates a private key with its primes, and checks in constant time that its parts match: n = p q, d e = 1 modulo
    /// p - 1 and q - 1, and the CRT numbers. It does not check that p and q are primes.
    ///
    /// # Errors
    /// A message that says what is wrong with the key.
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
        // SAFETY: all eight arguments are numbers, which aws-lc copies.
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

    /// Creates a private key without primes. Only its public half is checked: see
    /// [`apply_private`](Self::apply_private).
    ///
    /// # Errors
    /// A message that says what is wrong with the key.
    pub(crate) fn private_without_primes(
        n: &[u8],
        e: &[u8],
        d: &[u8],
    ) -> Result<Self, &'static str> {
        let [n, e, d] = [n, e, d].map(Number::new);
        // SAFETY: all three arguments are numbers, which aws-lc copies.
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
        // SAFETY: an RSA that aws-lc has created has a modulus.
        let bytes = unsafe { RSA_size(rsa.as_ptr()) } as usize;
        Ok(Self {
            handle: AtomicPtr::new(Handle::boxed(rsa)),
            bytes,
        })
    }

    /// Returns `operand` ^ e mod n. `operand` is less than n, and both are as long as n.
    pub(crate) fn apply_public(&self, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.apply(RSA_encrypt, operand)
    }

    /// Returns `operand` ^ d mod n for a private key. Both are as long as n, and 1 < `operand` < n - 1.
    ///
    /// aws-lc blinds the operation and checks the result with the public exponent (rsa_default_private_transform), so
    /// it is not checked again here.
    pub(crate) fn apply_private(&self, operand: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.apply(RSA_sign_raw, operand)
    }

    /// Returns the numbers of a private key. The time depends only on their lengths.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] for a public key, and if memory is exhausted.
    pub(crate) fn secret_numbers(&self) -> Result<RsaSecretNumbers, Error> {
        let rsa = self.handle()?.rsa;
        let [mut n, mut e, mut d, mut p, mut q, mut dp, mut dq, mut qinv] = [ptr::null(); 8];
        // SAFETY: the key is valid; each place receives a pointer to a number that nothing changes and that lives while
        // `self` is borrowed.
        unsafe {
            RSA_get0_key(rsa.as_ptr(), &mut n, &mut e, &mut d);
            RSA_get0_factors(rsa.as_ptr(), &mut p, &mut q);
            RSA_get0_crt_params(rsa.as_ptr(), &mut dp, &mut dq, &mut qinv);
        }
        let bytes = |number: *const BIGNUM, len: usize| {
            let mut bytes = Zeroizing::new(vec![0; len]);
            let is_copied = !number.is_null() && {
                // SAFETY: the buffer is passed with its length, and `number` is not null.
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
            // SAFETY: both primes are numbers.
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
        // If a fork falls between check and count, the child finds no lock taken: it does not have this thread, which
        // has not used the key yet.
        handle.under_way.fetch_add(1, Ordering::SeqCst);
        let done = process::forks_wait_for(|| {
            // SAFETY: the key is complete; the result has room for the modulus, and the operand is passed with its
            // length.
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

    /// Returns the key in a state that this process may use.
    fn handle(&self) -> Result<&Handle, Error> {
        let found = self.handle.load(Ordering::Acquire);
        // SAFETY: a pointer from Box, which nothing frees while `self` is borrowed.
        let handle = unsafe { &*found };
        if !handle.is_inherited() {
            return Ok(handle);
        }
        if handle.under_way.load(Ordering::SeqCst) == 0 {
            // Another thread of the child that reads the count now may see this child's own operation, and make an
            // unneeded copy.
            let generation = process::fork_generation();
            handle.generation.store(generation, Ordering::SeqCst);
            return Ok(handle);
        }
        // SAFETY: the key is valid, and only its numbers are read, which nothing changes.
        let Some(rsa) = (unsafe { copy(handle.rsa) }) else {
            return Err(failed("RSA: no memory for a copy of the key"));
        };
        let fresh = Handle::boxed(rsa);
        let swapped =
            self.handle
                .compare_exchange(found, fresh, Ordering::AcqRel, Ordering::Acquire);
        let current = match swapped {
            // Leak the previous handle: a lock in it may never be released, and a thread that the child lacks may have
            // been changing it.
            Ok(_) => fresh,
            Err(current) => {
                // SAFETY: this thread has just created it, and no other thread has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                current
            }
        };
        // SAFETY: like `found`, a pointer from Box that lives while `self` is borrowed.
        Ok(unsafe { &*current })
    }
}

impl Drop for SoftwareRsa {
    fn drop(&mut self) {
        // SAFETY: a pointer from Box; `&mut self` excludes other uses.
        let handle = unsafe { Box::from_raw(*self.handle.get_mut()) };
        if handle.is_inherited() && handle.under_way.load(Ordering::SeqCst) != 0 {
            // Leaked for the same reason as in `handle`.
            std::mem::forget(handle);
        }
    }
}

impl Handle {
    /// Takes ownership of the key.
    fn boxed(rsa: NonNull<RSA>) -> *mut Self {
        Box::into_raw(Box::new(Self {
            rsa,
            under_way: AtomicUsize::new(0),
            generation: AtomicUsize::new(process::fork_generation()),
        }))
    }

    /// Whether the key was last used in a process that this one was forked from.
    fn is_inherited(&self) -> bool {
        self.generation.load(Ordering::SeqCst) != process::fork_generation()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: RSA_new_*_key or `copy` made it, and only this drop frees it.
        unsafe { RSA_free(self.rsa.as_ptr()) };
    }
}

/// Returns a copy of the key's numbers as a new key, unchecked, or `None` if memory is exhausted.
///
/// # Safety
/// `rsa` is a key. Its lock may be held, and the state that the lock guards may be half changed.
unsafe fn copy(rsa: NonNull<RSA>) -> Option<NonNull<RSA>> {
    let [mut n, mut e, mut d, mut p, mut q, mut dp, mut dq, mut qinv] = [ptr::null(); 8];
    // SAFETY: the caller guarantees a key; each place receives a pointer to a number. The lock does not guard those,
    // and nothing changes them after construction.
    unsafe {
        RSA_get0_key(rsa.as_ptr(), &mut n, &mut e, &mut d);
        RSA_get0_factors(rsa.as_ptr(), &mut p, &mut q);
        RSA_get0_crt_params(rsa.as_ptr(), &mut dp, &mut dq, &mut qinv);
    }
    let parts = [n, e, d, p, q, dp, dq, qinv];
    // SAFETY: each is a number, or null if the key lacks it, for which BN_dup returns null.
    let copies = parts.map(|part| Number(unsafe { BN_dup(part) }));
    let is_whole = |(part, copy): (&*const BIGNUM, &Number)| part.is_null() == copy.0.is_null();
    if !parts.iter().zip(&copies).all(is_whole) {
        return None;
    }
    // SAFETY: RSA_new has no arguments.
    let fresh = NonNull::new(unsafe { RSA_new() })?;
    let [n, e, d, p, q, dp, dq, qinv] = copies.map(Number::into_raw);
    // SAFETY: the new key has no numbers and takes ownership of these. A call fails only if a required number is null,
    // and then all of its numbers are.
    unsafe {
        RSA_set0_key(fresh.as_ptr(), n, e, d);
        RSA_set0_factors(fresh.as_ptr(), p, q);
        RSA_set0_crt_params(fresh.as_ptr(), dp, dq, qinv);
    }
    Some(fresh)
}

/// The type of RSA_encrypt and RSA_sign_raw.
type Transform =
    unsafe extern "C" fn(*mut RSA, *mut usize, *mut u8, usize, *const u8, usize, c_int) -> c_int;

/// A BIGNUM, wiped on drop. It is null if memory is exhausted, which RSA_new_*_key treats as a missing part, or if
/// there was no number to copy.
pub(super) struct Number(*mut BIGNUM);

impl Number {
    /// Creates a number from big-endian bytes. The time of operations on it depends on its length and not on its value.
    pub(super) fn new(bytes: &[u8]) -> Self {
        // SAFETY: the slice is passed with its length; null requests a new number.
        Self(unsafe { BN_bin2bn(bytes.as_ptr(), bytes.len(), std::ptr::null_mut()) })
    }

    pub(super) fn get(&self) -> *mut BIGNUM {
        self.0
    }

    /// Returns the pointer to a caller that frees it.
    fn into_raw(self) -> *mut BIGNUM {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: aws-lc made it, and only this drop frees it; null is allowed.
        unsafe { BN_clear_free(self.0) };
    }
}

/// Returns the reason of this thread's last failure, and clears the error queue.
fn last_reason() -> i32 {
    // SAFETY: the error queue belongs to this thread and may be empty. The low 12 bits are the reason
    // (include/openssl/err.h).
    unsafe {
        let reason = ERR_peek_last_error() & 0xfff;
        ERR_clear_error();
        reason as i32
    }
}

impl SoftwareRsa {
    /// Generates a key with e = 65537, a modulus of `bits` bits and primes by FIPS 186-5, A.1.3, and returns its RSAPrivateKey
    /// (RFC 8017, A.1.2). `bits` is a multiple of 128.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted, or no primes were found in the tries that the standard allows.
    pub(crate) fn generate_der(bits: u16) -> Result<Zeroizing<Vec<u8>>, Error> {
        use aws_lc_sys::{OPENSSL_free, RSA_generate_key_ex, RSA_private_key_to_bytes};

        let e = Number::new(&[1, 0, 1]);
        let (mut bytes, mut len) = (ptr::null_mut(), 0);
        // SAFETY: the key, the number and the output belong to this block; aws-lc accepts no null key, which is checked; the
        // bytes are copied before they are freed, and everything is freed once. `OPENSSL_free` wipes.
        unsafe {
            let rsa = RSA_new();
            if rsa.is_null() {
                return Err(failed("RSA: no memory for a new key"));
            }
            let is_made = !e.get().is_null()
                && RSA_generate_key_ex(rsa, c_int::from(bits), e.get(), ptr::null_mut()) == 1
                && RSA_private_key_to_bytes(&raw mut bytes, &raw mut len, rsa) == 1;
            RSA_free(rsa);
            ERR_clear_error();
            if !is_made {
                return Err(failed("RSA: no key was generated"));
            }
            let der = Zeroizing::new(std::slice::from_raw_parts(bytes, len).to_vec());
            OPENSSL_free(bytes.cast());
            Ok(der)
        }
    }
}
