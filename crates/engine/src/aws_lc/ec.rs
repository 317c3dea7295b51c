//! Elliptic curves of NIST: keys, ECDSA and ECDH.
//!
//! A key of aws-lc keeps no lock and nothing that an operation changes. What a fork must not fall into is the first use of
//! a curve, which is made under a lock of its own, and the generator of random numbers.

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

/// The longest encoded point in bytes, P-521's.
pub const POINT_BYTES_MAX: usize = 133;
/// Room in bytes for a signature of any curve.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// The length in bytes of a coordinate, a private key, and a shared secret: 32, 48 or 66.
    pub const fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// The length in bytes of an uncompressed point: 65, 97 or 133.
    pub const fn point_bytes(self) -> usize {
        1 + 2 * self.bytes()
    }

    /// The length in bytes of the longest signature in DER: 72, 104 or 139.
    pub const fn signature_bytes_max(self) -> usize {
        match self {
            Self::P256 => 72,
            Self::P384 => 104,
            Self::P521 => 139,
        }
    }

    /// Its name, as NIST writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// What aws-lc keeps of it for the life of the process, made at the first call.
    fn group(self) -> *const EC_GROUP {
        // SAFETY: they take nothing.
        process::forks_wait_for(|| unsafe {
            match self {
                Self::P256 => EC_group_p256(),
                Self::P384 => EC_group_p384(),
                Self::P521 => EC_group_p521(),
            }
        })
    }
}

/// A public key: a point of its curve, and not the point at infinity.
pub struct EcPublicKey {
    curve: Curve,
    /// Has a curve and a point; unchanged once it is here.
    key: NonNull<EC_KEY>,
}

// SAFETY: an EC_KEY is memory that belongs to no thread.
unsafe impl Send for EcPublicKey {}
// SAFETY: aws-lc lets threads use one EC_KEY at once as long as none changes it (include/openssl/ec_key.h, "EC key
// objects"), and says that functions which take it by a pointer to a constant do not: no others are called once it is made.
unsafe impl Sync for EcPublicKey {}

impl EcPublicKey {
    /// Takes a point as SEC 1, section 2.3.3 writes it, uncompressed or compressed.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where it is none of the curve's, or the point at infinity.
    pub fn new(curve: Curve, point: &[u8]) -> Result<Self, Error> {
        let public = Self::blank(curve)?;
        let at = Point::new(curve)?;
        // aws-lc also knows the hybrid form, of another standard.
        let is_set = matches!(point.first(), Some(2..=4)) && {
            // SAFETY: a curve, a point of it, and as many bytes as are said; the key copies the point.
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

    /// Its curve.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// Writes the point, uncompressed, to the beginning of `output`, and returns that part.
    pub fn point<'a>(&self, output: &'a mut [u8; POINT_BYTES_MAX]) -> &'a [u8] {
        // SAFETY: a curve, a point of it, and room for as many bytes as are said, which are enough for any of the curves.
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

    /// Verifies a signature in DER of a digest (FIPS 186-5, 6.4.2). Of a digest longer than the curve's order, the first
    /// bits count.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] where it is another's, or not DER.
    pub fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<(), Error> {
        // SAFETY: as many bytes as are said, and a key with a public half.
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

    /// With a curve alone.
    fn blank(curve: Curve) -> Result<Self, Error> {
        let group = curve.group();
        // The first key of a process makes a table under a lock.
        // SAFETY: EC_KEY_new takes nothing.
        let key = process::forks_wait_for(|| unsafe { EC_KEY_new() });
        let public = Self {
            curve,
            key: NonNull::new(key).ok_or_else(no_memory)?,
        };
        // SAFETY: a key without a curve, and a curve.
        if unsafe { EC_KEY_set_group(public.key.as_ptr(), group) } != 1 {
            clear_errors();
            return Err(no_memory());
        }
        Ok(public)
    }

    fn at(&self) -> *const EC_POINT {
        // SAFETY: a key, whose point stays as long as it.
        unsafe { EC_KEY_get0_public_key(self.key.as_ptr()) }
    }
}

impl Drop for EcPublicKey {
    fn drop(&mut self) {
        // SAFETY: made by EC_KEY_new, and freed here alone; aws-lc wipes the private half.
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

/// A private key with its public half. Wiped on drop, by aws-lc.
pub struct EcPrivateKey(
    /// Has a private half too.
    EcPublicKey,
);

impl EcPrivateKey {
    /// Generates a key pair: draws numbers until one is in range (FIPS 186-5, A.2.2), which the first one mostly is.
    ///
    /// # Errors
    /// Where memory has run out.
    pub fn generate(curve: Curve) -> Result<Self, Error> {
        loop {
            let mut scalar = drawn::<66>();
            let scalar = &mut scalar[..curve.bytes()];
            if curve == Curve::P521 {
                // 521 bits.
                scalar[0] &= 1;
            }
            match Self::new(curve, scalar) {
                Err(Error::InvalidKey(_)) => {}
                done => return done,
            }
        }
    }

    /// Takes a big-endian number of any length, and computes the public half.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where it is not between 1 and the curve's order less 1.
    pub fn new(curve: Curve, scalar: &[u8]) -> Result<Self, Error> {
        let pair = EcPublicKey::blank(curve)?;
        let number = private(&pair, scalar)?;
        let at = Point::new(curve)?;
        // SAFETY: a curve, a point and a number that it is multiplied by, in constant time; the key copies the point.
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

    /// As [`new`](Self::new), with the public half as [`EcPublicKey::new`] takes it, which saves the time of a signature.
    /// Whether the halves belong together is not checked: neither ECDSA nor ECDH gives the private half away if they do
    /// not.
    ///
    /// # Errors
    /// Those of both.
    pub fn with_point(curve: Curve, scalar: &[u8], point: &[u8]) -> Result<Self, Error> {
        let pair = EcPublicKey::new(curve, point)?;
        private(&pair, scalar)?;
        Ok(Self(pair))
    }

    /// The public half.
    pub fn public_key(&self) -> &EcPublicKey {
        &self.0
    }

    /// The big-endian number, [`Curve::bytes`] long.
    pub fn scalar(&self) -> Zeroizing<Vec<u8>> {
        let mut scalar = Zeroizing::new(vec![0; self.0.curve.bytes()]);
        // SAFETY: room for as many bytes as are said, and the number of a private key, which is no longer.
        unsafe {
            BN_bn2bin_padded(
                scalar.as_mut_ptr(),
                scalar.len(),
                EC_KEY_get0_private_key(self.0.key.as_ptr()),
            );
        }
        scalar
    }

    /// Signs a digest (FIPS 186-5, 6.4.1): writes the signature, in DER, to the beginning of `output`, and returns its length.
    /// The nonce is random, and depends on key and digest as well.
    ///
    /// aws-lc checks that the nonce's point is on the curve before it uses it (ec_point_mul_scalar_base): a fault in that
    /// multiplication, the longest part, makes no signature that would give the key away.
    ///
    /// # Errors
    /// Where memory has run out, or the machine computes wrongly.
    pub fn sign(
        &self,
        digest: &[u8],
        output: &mut [u8; SIGNATURE_BYTES_MAX],
    ) -> Result<usize, Error> {
        let mut bytes: c_uint = 0;
        // SAFETY: as many bytes as are said, room for a signature of any curve, and a key with a private half.
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

    /// Writes the secret shared with `peer` (SP 800-56A, 5.7.1.2), which has [`Curve::bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where `secret` has another length, or `peer` is of another curve.
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
        // SAFETY: room for as many bytes as are said, a point of the key's curve, and a key with a private half.
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

/// Shows no private half.
impl fmt::Debug for EcPrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EcPrivateKey")
            .field("curve", &self.0.curve)
            .finish_non_exhaustive()
    }
}

/// Gives a key that nobody else has its private half, and returns the number.
fn private(key: &EcPublicKey, scalar: &[u8]) -> Result<Number, Error> {
    let number = Number::new(scalar);
    let has_number = !number.get().is_null();
    // SAFETY: the key has a curve, and the number is not null where the call is made.
    if has_number && unsafe { EC_KEY_set_private_key(key.key.as_ptr(), number.get()) == 1 } {
        return Ok(number);
    }
    clear_errors();
    Err(Error::InvalidKey(format!(
        "a private key of {} is a number between 1 and the curve's order less 1",
        key.curve.name()
    )))
}

/// A point of a curve, nobody else's.
struct Point(NonNull<EC_POINT>);

impl Point {
    fn new(curve: Curve) -> Result<Self, Error> {
        // SAFETY: a curve.
        let point = unsafe { EC_POINT_new(curve.group()) };
        NonNull::new(point).map(Self).ok_or_else(no_memory)
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // SAFETY: made by EC_POINT_new, and freed here alone.
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
    // SAFETY: it empties this thread's queue, which nobody reads.
    unsafe { ERR_clear_error() };
}
