//! Numbers of `mod_exp` with the Chinese remainder theorem that are consistent, and useless: p and q
//! are composite.

use num_bigint::BigUint;

/// A key's numbers, big-endian.
pub(crate) struct Numbers {
    pub(crate) modulus: Vec<u8>,
    pub(crate) exponent: Vec<u8>,
    /// p, q, dp, dq, qinv and the public exponent.
    pub(crate) crt: [Vec<u8>; 6],
}

/// A modulus of 1024 bits. Every check but that of a result passes.
pub(crate) fn composite_1024() -> Numbers {
    composite(323, 148)
}

/// A modulus of 4096 bits.
pub(crate) fn composite_4096() -> Numbers {
    composite(1292, 592)
}

/// The same with a wrong coefficient: each check before that of the coefficient passes, and is paid
/// for.
pub(crate) fn inconsistent_4096() -> Numbers {
    let mut numbers = composite_4096();
    if let Some(byte) = numbers.crt[4].last_mut() {
        *byte ^= 2;
    }
    numbers
}

/// With p a power of 3 and q one of 11.
fn composite(p_power: u32, q_power: u32) -> Numbers {
    let p = BigUint::from(3u8).pow(p_power);
    let q = BigUint::from(11u8).pow(q_power);
    let [p1, q1] = [&p - 1u8, &q - 1u8];
    let order = &p1 * &q1;
    let coefficient = q.modinv(&p).unwrap_or_default();
    // The first that has an inverse; about every second odd number does.
    let inverses = (65537u32..).step_by(2).map(|e| {
        let e = BigUint::from(e);
        let d = e.modinv(&order);
        (e, d)
    });
    let (e, d) = inverses
        .take(1000)
        .find_map(|(e, d)| Some((e, d?)))
        .unwrap_or_default();
    let crt = [&p, &q, &(&d % &p1), &(&d % &q1), &coefficient, &e].map(BigUint::to_bytes_be);
    Numbers {
        modulus: (&p * &q).to_bytes_be(),
        exponent: d.to_bytes_be(),
        crt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moduli_are_as_long_as_they_say_and_exponents_fit_each_other() {
        for (numbers, bits) in [(composite_1024(), 1024), (composite_4096(), 4096)] {
            let [p, q, dp, dq, qinv, e] = numbers.crt.map(|it| BigUint::from_bytes_be(&it));
            let n = BigUint::from_bytes_be(&numbers.modulus);
            assert_eq!((n.bits(), &p * &q == n), (bits, true));
            let one = BigUint::from(1u8);
            assert_eq!(&e * dp % (&p - 1u8), one);
            assert_eq!(&e * dq % (&q - 1u8), one);
            assert_eq!(qinv * q % p, one);
        }
    }
}
