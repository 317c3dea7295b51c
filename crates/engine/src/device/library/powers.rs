//! Powers by the functions of a library.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use zeroize::Zeroizing;

use super::guarded::Guarded;
use super::{LibraryDevice, said_by};
use crate::aws_lc::rsa::RsaSecretPrimes;
use crate::device::blocking::PublicKeyOffer;
use crate::device::error::DeviceError;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::{PublicKeyOperation, Shape};

/// The functions of a table that compute powers.
pub(super) struct PowerFunctions {
    pub(super) latency_us: LatencyUs,
    pub(super) power: Power,
    pub(super) power_crt: Option<PowerCrt>,
}

impl PowerFunctions {
    fn kind(&self, shape: &Shape) -> Option<Function> {
        match shape.operation {
            PublicKeyOperation::Held(_) => None,
            PublicKeyOperation::PrivateByPrimes if self.power_crt.is_some() => {
                Some(Function::PowerCrt)
            }
            PublicKeyOperation::PrivateByPrimes | PublicKeyOperation::PrivateByExponent => {
                Some(Function::Power)
            }
            PublicKeyOperation::Public | PublicKeyOperation::Power => {
                let is_short = shape.exponent_bits <= SHORT_BITS_MAX;
                Some(if is_short {
                    Function::PowerShort
                } else {
                    Function::Power
                })
            }
        }
    }
}

impl LibraryDevice {
    pub(super) fn power_offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        let powers = self.functions.powers.as_ref()?;
        let kind = powers.kind(shape)?;
        let bits = shape.modulus_bits;
        // SAFETY: the device is open.
        let us = unsafe { (powers.latency_us)(self.device.as_ptr(), kind as c_int, bits) };
        let first = Duration::from_micros(us);
        (us != 0).then(|| self.rates.offer(kind as usize, bits, first, self.capacity))
    }

    pub(super) fn power(
        &self,
        request: &PublicKeyRequest,
    ) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let shape = request.shape();
        let powers = self.functions.powers.as_ref();
        let powers = powers.ok_or_else(|| DeviceError("it computes no powers".into()))?;
        let kind = powers.kind(&shape);
        let kind = kind.ok_or_else(|| DeviceError("the key is held by a device".into()))?;
        let (exponent, primes) = match request.private_key() {
            None => (request.exponent().unwrap_or_default(), None),
            Some(key) => {
                let numbers = key
                    .secret_numbers()
                    .map_err(|error| DeviceError(error.to_string()))?
                    .ok_or_else(|| DeviceError("the key is held by a device".into()))?;
                (numbers.d, numbers.primes)
            }
        };
        let _turn = self.turn();
        self.rates.time(kind as usize, shape.modulus_bits, || {
            match (powers.power_crt, &primes) {
                (Some(power_crt), Some(primes)) => self.call_crt(power_crt, request, primes),
                _ => self.call(powers.power, request, &exponent),
            }
        })
    }

    fn call(
        &self,
        power: Power,
        request: &PublicKeyRequest,
        exponent: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let (base, modulus) = (request.base(), request.modulus());
        self.result(modulus.len(), |result, error, error_len| {
            // SAFETY: the device is open, and the caller holds one of its turns; base, modulus and result have the length
            // passed for the modulus, and exponent and error have the lengths passed with them.
            unsafe {
                power(
                    self.device.as_ptr(),
                    base.as_ptr(),
                    exponent.as_ptr(),
                    exponent.len(),
                    modulus.as_ptr(),
                    modulus.len(),
                    result,
                    error,
                    error_len,
                )
            }
        })
    }

    /// Returns the `bytes` bytes that `call` writes to its first argument, or the error that it writes to its second.
    fn result(
        &self,
        bytes: usize,
        call: impl FnOnce(*mut u8, *mut c_char, usize) -> c_int,
    ) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let mut result = Guarded::new(bytes);
        let done = said_by(&self.path, |error, error_len| {
            call(result.as_mut_ptr(), error, error_len)
        });
        let result = result.checked(&self.path, "result");
        done.map_err(DeviceError)?;
        Ok(Zeroizing::new(result.to_vec()))
    }

    fn call_crt(
        &self,
        power_crt: PowerCrt,
        request: &PublicKeyRequest,
        primes: &RsaSecretPrimes,
    ) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let (base, modulus) = (request.base(), request.modulus());
        self.result(modulus.len(), |result, error, error_len| {
            // SAFETY: the device is open, and the caller holds one of its turns; base, modulus and result have the length
            // passed for the modulus, the five numbers have the length of the first (RsaSecretPrimes), and the error has the
            // length passed with it.
            unsafe {
                power_crt(
                    self.device.as_ptr(),
                    base.as_ptr(),
                    modulus.as_ptr(),
                    modulus.len(),
                    primes.p.as_ptr(),
                    primes.q.as_ptr(),
                    primes.dp.as_ptr(),
                    primes.dq.as_ptr(),
                    primes.qinv.as_ptr(),
                    primes.p.len(),
                    result,
                    error,
                    error_len,
                )
            }
        })
    }
}

/// The functions, as `oarlock_device.h` numbers them.
#[derive(Clone, Copy)]
enum Function {
    Power = 0,
    PowerCrt = 1,
    PowerShort = 2,
}

pub(super) type LatencyUs = unsafe extern "C" fn(*mut c_void, c_int, usize) -> u64;
pub(super) type Power = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    *const u8,
    usize,
    *const u8,
    usize,
    *mut u8,
    *mut c_char,
    usize,
) -> c_int;
pub(super) type PowerCrt = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    *const u8,
    usize,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    usize,
    *mut u8,
    *mut c_char,
    usize,
) -> c_int;

/// The limit on exponents, from OARLOCK_DEVICE_POWER_SHORT.
const SHORT_BITS_MAX: usize = 64;
