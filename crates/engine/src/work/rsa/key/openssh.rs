//! RSA keys in OpenSSH's formats.

use zeroize::Zeroizing;

use super::{PrivateNumbers, RsaPrivateKey, RsaPublicKey, check_length, not_rsa};
use crate::Error;
use crate::work::keys::{PrivateKey, PublicKey};

/// The numbers of a private key, big-endian, as OpenSSH keeps them.
pub(in crate::work) struct OpensshNumbers<'a> {
    pub(in crate::work) n: &'a [u8],
    pub(in crate::work) e: &'a [u8],
    pub(in crate::work) d: &'a [u8],
    pub(in crate::work) qinv: &'a [u8],
    pub(in crate::work) p: &'a [u8],
    pub(in crate::work) q: &'a [u8],
}

impl RsaPublicKey {
    pub(super) fn from_openssh(line: &str) -> Result<Self, Error> {
        let key = PublicKey::from_openssh(line)?;
        let rsa = key.as_rsa().cloned();
        rsa.ok_or_else(|| not_rsa(&key.key_type().to_string()))
    }
}

impl RsaPrivateKey {
    pub(super) fn from_openssh(pem: &str) -> Result<Self, Error> {
        let key = PrivateKey::from_bytes(pem.as_bytes())?;
        let rsa = key.as_rsa().cloned();
        rsa.ok_or_else(|| not_rsa(&key.key_type().to_string()))
    }

    pub(in crate::work) fn from_openssh_numbers(
        numbers: &OpensshNumbers<'_>,
    ) -> Result<Self, Error> {
        let OpensshNumbers {
            n,
            e,
            d,
            qinv,
            p,
            q,
        } = *numbers;
        for part in [d, p, q] {
            check_length(part, n)?;
        }
        // The format omits these two numbers.
        let (dp, dq) = (reduced(d, &less_one(p)), reduced(d, &less_one(q)));
        Self::from_all_numbers(&PrivateNumbers {
            n,
            e,
            d,
            p,
            q,
            dp: &dp,
            dq: &dq,
            qinv,
        })
    }
}

/// Returns an odd number minus one. An even one, which is no prime, is unchanged.
fn less_one(odd: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut even = Zeroizing::new(odd.to_vec());
    if let Some(last) = even.last_mut() {
        *last &= !1;
    }
    even
}

/// Returns `number` mod `modulus`, big-endian. It uses shifts and subtractions that depend only on lengths: each bit of
/// `number` is shifted into a remainder, from which the modulus is subtracted if it fits.
fn reduced(number: &[u8], modulus: &[u8]) -> Zeroizing<Vec<u8>> {
    // Little-endian, with room for one bit more than the modulus.
    let limbs = modulus.len().div_ceil(8) + 1;
    let mut divisor = Zeroizing::new(vec![0u64; limbs]);
    for (i, byte) in modulus.iter().rev().enumerate() {
        divisor[i / 8] |= u64::from(*byte) << (8 * (i % 8));
    }
    let mut rest = Zeroizing::new(vec![0u64; limbs]);
    let mut less = Zeroizing::new(vec![0u64; limbs]);
    for byte in number {
        for shift in (0..8).rev() {
            let mut carry = u64::from(byte >> shift & 1);
            let mut borrow = 0;
            for ((rest, divisor), less) in rest.iter_mut().zip(&*divisor).zip(&mut *less) {
                let shifted = *rest << 1 | carry;
                carry = *rest >> 63;
                *rest = shifted;
                let difference =
                    u128::from(shifted).wrapping_sub(u128::from(*divisor) + u128::from(borrow));
                *less = difference as u64;
                borrow = (difference >> 127) as u64;
            }
            // All ones if the modulus did not fit. The barrier keeps the compiler from using a branch.
            let keeps = std::hint::black_box(borrow.wrapping_neg());
            for (rest, less) in rest.iter_mut().zip(&*less) {
                *rest = (*rest & keeps) | (*less & !keeps);
            }
        }
    }
    let bytes = (0..modulus.len()).rev();
    Zeroizing::new(
        bytes
            .map(|i| (rest[i / 8] >> (8 * (i % 8))) as u8)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduction_is_that_of_numbers_that_fit_a_machine_word() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        for _ in 0..2000 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let (number, divisor) = (seed, (seed >> 64).max(1) >> (seed & 31));
            let divisor = divisor.max(1);
            let result = reduced(&number.to_be_bytes(), &(divisor as u64).to_be_bytes());
            assert_eq!(
                u128::from(u64::from_be_bytes(
                    result[..].try_into().unwrap_or_default()
                )),
                number % divisor
            );
        }
    }
}
