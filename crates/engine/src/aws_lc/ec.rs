//! NIST elliptic curves: keys, ECDSA and ECDH.
//!
//! An aws-lc key has no lock and no state that an operation changes. A fork must not interrupt the first use of a
//! curve, which initialises it under a lock, nor the random number generator.

use std::fmt;
use std::os::raw::{c_int, c_uint};
use std::ptr::{NonNull, null_mut};

use aws_lc_sys::{
    BN_bn2bin_padded, EC_GROUP, EC_KEY, EC_KEY_free, EC_KEY_get0_private_key,
    EC_KEY_get0_public_key, EC_KEY_new, EC_KEY_set_group, EC_KEY_set_private_key,
    EC_KEY_set_public_key, EC_POINT, EC_POINT_free, EC_POINT_mul, EC_POINT_new, EC_POINT_oct2point,
    EC_POINT_point2oct, EC_group_p256, EC_group_p384, EC_group_p521, ECDH_compute_key, ECDSA_sign,
    ECDSA_verify, ERR_clear_error, point_conversion_form_t,
};
use oarlock_threads::process;
use zeroize::Zeroizing;

use super::failed;
use super::random::drawn;
use super::rsa::Number;
use crate::Error;

/// The longest encoded point in bytes, which is P-521's.
pub const POINT_BYTES_MAX: usize = 133;
/// A buffer length in bytes that suffices for a signature on any curve.
pub const SIGNATURE_BYTES_MAX: usize = 141;

/// A curve of SP 800-186, section 3.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// P-256, also called prime256v1 and secp256r1.
    P256,
    /// P-384, also called secp384r1.
    P384,
    /// P-521, also called secp521r1.
    P521,
}

impl Curve {
    /// All curves.
    pub const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// Returns the length in bytes of a coordinate, a private key, and a shared secret: 32, 48 or 66.
    pub const fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// Returns the length in bytes of an uncompressed point: 65, 97 or 133.
    pub const fn point_bytes(self) -> usize {
        1 + 2 * self.bytes()
    }

    /// Returns the length in bytes of the longest signature in DER: 72, 104 or 139.
    pub const fn signature_bytes_max(self) -> usize {
        match self {
            Self::P256 => 72,
            Self::P384 => 104,
            Self::P521 => 139,
        }
    }

    /// Returns NIST's name of the curve.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Returns aws-lc's object for the curve. The first call initialises it, and it stays valid until the process ends.
    fn group(self) -> *const EC_GROUP {
        // SAFETY: these functions have no arguments and no preconditions.
        process::forks_wait_for(|| unsafe {
            match self {
                Self::P256 => EC_group_p256(),
                Self::P384 => EC_group_p384(),
                Self::P521 => EC_group_p521(),
            }
        })
    }
}

/// A public key: a point on its curve other than the point at infinity.
pub struct EcPublicKey {
    curve: Curve,
    /// The key, which has a curve and a point and does not change after construction.
    key: NonNull<EC_KEY>,
}

// SAFETY: an EC_KEY is memory that no thread owns.
unsafe impl Send for EcPublicKey {}
// SAFETY: aws-lc allows concurrent use of an EC_KEY while no thread changes it (include/openssl/ec_key.h, "EC key
// objects"), and functions that take a const pointer do not change it. Only those are called after construction.
unsafe impl Sync for EcPublicKey {}

impl EcPublicKey {
    /// Decodes a point in the form of SEC 1, section 2.3.3, uncompressed or compressed.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if it is not on the curve, or is the point at infinity.
    pub fn new(curve: Curve, point: &[u8]) -> Result<Self, Error> {
        let public = Self::blank(curve)?;
        let at = Point::new(curve)?;
        // aws-lc also accepts the hybrid form of another standard.
        let is_set = matches!(point.first(), Some(2..=4)) && {
            // SAFETY: `at` is a point of the curve's group, and the slice is passed with its length; the key copies the
            // point.
            unsafe {
                EC_POINT_oct2point(
                    curve.group(),
                    at.0.as_ptr(),
                    point.as_ptr(),
                    point.len(),
                    null_mut(),
                ) == 1
                    && EC_KEY_set_public_key(public.key.as_ptr(), at.0.as_ptr()) == 1
            }
        };
        if is_set {
            return Ok(public);
        }
        clear_errors();
        Err(Error::InvalidKey(format!(
            "not the encoding of a point of {}",
            curve.name()
        )))
    }

    /// Returns the curve.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// Writes the point, uncompressed, to the beginning of `output`, and returns that part.
    pub fn point<'a>(&self, output: &'a mut [u8; POINT_BYTES_MAX]) -> &'a [u8] {
        // SAFETY: the point belongs to the group, and `output` is passed with its length, which suffices for any of the
        // curves.
        let bytes = unsafe {
            EC_POINT_point2oct(
                self.curve.group(),
                EC_KEY_get0_public_key(self.key.as_ptr()),
                point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED,
                output.as_mut_ptr(),
                output.len(),
                null_mut(),
            )
        };
        &output[..bytes]
    }

    /// Verifies a DER signature of a digest (FIPS 186-5, 6.4.2). If the digest is longer than the curve's order, only
    /// its first bits count.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] if it was made for another key or digest, or is not DER.
    pub fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<(), Error> {
        // SAFETY: the slices are passed with their lengths, and the key has a public half.
        let is_valid = unsafe {
            ECDSA_verify(
                0,
                digest.as_ptr(),
                digest.len(),
                signature.as_ptr(),
                signature.len(),
                self.key.as_ptr(),
            )
        };
        if is_valid == 1 {
            return Ok(());
        }
        clear_errors();
        Err(Error::InvalidSignature)
    }

    /// Creates a key that has only a curve.
    fn blank(curve: Curve) -> Result<Self, Error> {
        let group = curve.group();
        // The first key of a process initialises a table under a lock.
        // SAFETY: EC_KEY_new has no arguments.
        let key = process::forks_wait_for(|| unsafe { EC_KEY_new() });
        let public = Self {
            curve,
            key: NonNull::new(key).ok_or_else(no_memory)?,
        };
        // SAFETY: the new key has no curve yet, and `group` is a curve.
        if unsafe { EC_KEY_set_group(public.key.as_ptr(), group) } != 1 {
            clear_errors();
            return Err(no_memory());
        }
        Ok(public)
    }

    fn at(&self) -> *const EC_POINT {
        // SAFETY: the key owns the point, which lives as long as the key.
        unsafe { EC_KEY_get0_public_key(self.key.as_ptr()) }
    }
}

impl Drop for EcPublicKey {
    fn drop(&mut self) {
        // SAFETY: EC_KEY_new made it, and only this drop frees it; aws-lc wipes the private half.
        unsafe { EC_KEY_free(self.key.as_ptr()) };
    }
}

impl fmt::Debug for EcPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EcPublicKey")
            .field("curve", &self.curve)
            .finish_non_exhaustive()
    }
}

/// A private key with its public half. aws-lc wipes it on drop.
pub struct EcPrivateKey(
    /// The key pair, which always has a private half.
    EcPublicKey,
);

impl EcPrivateKey {
    /// Generates a key pair by drawing numbers until one is in range (FIPS 186-5, A.2.2), as the first almost always
    /// is.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn generate(curve: Curve) -> Result<Self, Error> {
        for _ in 0..DRAWS_MAX {
            let mut scalar = drawn::<66>();
            let scalar = &mut scalar[..curve.bytes()];
            if curve == Curve::P521 {
                // A scalar has 521 bits.
                scalar[0] &= 1;
            }
            match Self::new(curve, scalar) {
                Err(Error::InvalidKey(_)) => {}
                done => return done,
            }
        }
        Err(failed("elliptic curves: no random number is a private key"))
    }

    /// Creates a key from a big-endian number of any length, and computes the public half.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless it is between 1 and the curve's order minus 1.
    pub fn new(curve: Curve, scalar: &[u8]) -> Result<Self, Error> {
        let pair = EcPublicKey::blank(curve)?;
        let number = private(&pair, scalar)?;
        let at = Point::new(curve)?;
        // SAFETY: `at` and the number belong to this curve's group, which multiplies them in constant time; the key
        // copies the point.
        let done = unsafe {
            c_int::from(
                EC_POINT_mul(
                    curve.group(),
                    at.0.as_ptr(),
                    number.get(),
                    null_mut(),
                    null_mut(),
                    null_mut(),
                ) == 1
                    && EC_KEY_set_public_key(pair.key.as_ptr(), at.0.as_ptr()) == 1,
            )
        };
        made(done, "computing a public key")?;
        Ok(Self(pair))
    }

    /// Creates a key like [`new`](Self::new), with the public half encoded as for [`EcPublicKey::new`]. This saves
    /// about the time of a signature. It does not check that the halves match: if they do not, neither ECDSA nor ECDH
    /// reveals the private half.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and [`EcPublicKey::new`].
    pub fn with_point(curve: Curve, scalar: &[u8], point: &[u8]) -> Result<Self, Error> {
        let pair = EcPublicKey::new(curve, point)?;
        private(&pair, scalar)?;
        Ok(Self(pair))
    }

    /// Returns the public half.
    pub fn public_key(&self) -> &EcPublicKey {
        &self.0
    }

    /// Returns the private number, big-endian, [`Curve::bytes`] long.
    pub fn scalar(&self) -> Zeroizing<Vec<u8>> {
        let mut scalar = Zeroizing::new(vec![0; self.0.curve.bytes()]);
        // SAFETY: the buffer is passed with its length, and the key has a private number, which is no longer.
        unsafe {
            BN_bn2bin_padded(
                scalar.as_mut_ptr(),
                scalar.len(),
                EC_KEY_get0_private_key(self.0.key.as_ptr()),
            );
        }
        scalar
    }

    /// Signs a digest (FIPS 186-5, 6.4.1). Writes the DER signature to the beginning of `output` and returns its
    /// length. The nonce is random and also depends on key and digest.
    ///
    /// Before it uses the nonce's point, aws-lc checks that the point is on the curve (ec_point_mul_scalar_base). So a
    /// fault in that multiplication, the longest step, produces no signature that would reveal the key.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted or the machine computes wrongly.
    pub fn sign(
        &self,
        digest: &[u8],
        output: &mut [u8; SIGNATURE_BYTES_MAX],
    ) -> Result<usize, Error> {
        let mut bytes: c_uint = 0;
        // SAFETY: the digest is passed with its length, `output` has room for a signature of any curve, and the key has
        // a private half.
        let done = process::forks_wait_for(|| unsafe {
            ECDSA_sign(
                0,
                digest.as_ptr(),
                digest.len(),
                output.as_mut_ptr(),
                &mut bytes,
                self.0.key.as_ptr(),
            )
        });
        made(done, "signing")?;
        Ok(bytes as usize)
    }

    /// Writes the secret shared with `peer` (SP 800-56A, 5.7.1.2) to `secret`, which has [`Curve::bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `secret` has another length, or `peer` is on another curve.
    pub fn agree(&self, peer: &EcPublicKey, secret: &mut [u8]) -> Result<(), Error> {
        let curve = self.0.curve;
        if peer.curve != curve || secret.len() != curve.bytes() {
            return Err(Error::InvalidInput(format!(
                "ECDH: the peer's key is of {}, and the secret of {} has {} bytes",
                peer.curve.name(),
                curve.name(),
                curve.bytes()
            )));
        }
        // SAFETY: `secret` is passed with its length, the point is on the key's curve, and the key has a private half.
        let bytes = unsafe {
            ECDH_compute_key(
                secret.as_mut_ptr().cast(),
                secret.len(),
                peer.at(),
                self.0.key.as_ptr(),
                None,
            )
        };
        made(
            c_int::from(usize::try_from(bytes) == Ok(secret.len())),
            "agreeing on a secret",
        )
    }
}

/// Hides the private half.
impl fmt::Debug for EcPrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EcPrivateKey")
            .field("curve", &self.0.curve)
            .finish_non_exhaustive()
    }
}

/// Sets the private half of a key that only the caller has, and returns the number.
fn private(key: &EcPublicKey, scalar: &[u8]) -> Result<Number, Error> {
    let number = Number::new(scalar);
    if number.get().is_null() {
        clear_errors();
        return Err(no_memory());
    }
    // SAFETY: the key has a curve, and the number is not null.
    if unsafe { EC_KEY_set_private_key(key.key.as_ptr(), number.get()) == 1 } {
        return Ok(number);
    }
    clear_errors();
    Err(Error::InvalidKey(format!(
        "a private key of {} is a number between 1 and the curve's order less 1",
        key.curve.name()
    )))
}

/// A point of a curve, owned.
struct Point(NonNull<EC_POINT>);

impl Point {
    fn new(curve: Curve) -> Result<Self, Error> {
        // SAFETY: `group` returns a valid curve.
        let point = unsafe { EC_POINT_new(curve.group()) };
        NonNull::new(point).map(Self).ok_or_else(no_memory)
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // SAFETY: EC_POINT_new made it, and only this drop frees it.
        unsafe { EC_POINT_free(self.0.as_ptr()) };
    }
}

fn made(done: c_int, what: &str) -> Result<(), Error> {
    if done == 1 {
        return Ok(());
    }
    clear_errors();
    Err(failed(&format!(
        "elliptic curves: {what} failed: no memory, or the machine computes wrongly"
    )))
}

fn no_memory() -> Error {
    failed("elliptic curves: no memory for a key")
}

fn clear_errors() {
    // SAFETY: this empties only this thread's error queue, which no code reads later.
    unsafe { ERR_clear_error() };
}

/// The most numbers drawn for a key. One is not a private key with a probability below 2^-31 on each of these curves.
const DRAWS_MAX: usize = 16;
