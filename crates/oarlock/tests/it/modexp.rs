//! Modular exponentiation, compared with num-bigint.

use num_bigint::{BigInt, BigUint, Sign};
use oarlock::job::JobOptions;
use oarlock::rsa::{AcceleratedModExp, Base, ByteOrder};
use oarlock::{Accelerator, Error};
use rand::RngExt;

use crate::common::{accelerator, random_bytes};

/// Returns an odd number of exactly `bits` bits.
fn modulus(bits: usize) -> BigUint {
    let mut number = BigUint::from_bytes_be(&random_bytes(&mut rand::rng(), bits.div_ceil(8)));
    for bit in bits as u64..number.bits() {
        number.set_bit(bit, false);
    }
    number.set_bit(bits as u64 - 1, true);
    number.set_bit(0, true);
    number
}

fn expected(modulus: &BigUint, base: Base<&[u8]>, exponent: &[u8], bytes: usize) -> Vec<u8> {
    let sign = if base.is_negative {
        Sign::Minus
    } else {
        Sign::Plus
    };
    let base = BigInt::from_bytes_be(sign, base.magnitude);
    let exponent = BigInt::from_bytes_be(Sign::Plus, exponent);
    let power = base.modpow(&exponent, &modulus.clone().into());
    let power = power.to_biguint().unwrap().to_bytes_be();
    let significant: Vec<u8> = power.into_iter().skip_while(|byte| *byte == 0).collect();
    [vec![0; bytes - significant.len()], significant].concat()
}

/// Checks both byte orders, in a call and as a job.
fn check(modulus: &BigUint, sessions: &[AcceleratedModExp; 2], base: Base<&[u8]>, exponent: &[u8]) {
    let bytes = (modulus.bits() as usize).div_ceil(8);
    let expected = expected(modulus, base, exponent, bytes);
    let [big, little] = sessions;
    let what = format!(
        "{modulus:x}, {:02x?}, {}, {exponent:02x?}",
        base.magnitude, base.is_negative
    );
    assert_eq!(**big.power(base, exponent).unwrap(), expected, "{what}");
    let reversed = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<u8>>();
    let base = Base {
        magnitude: reversed(base.magnitude),
        is_negative: base.is_negative,
    };
    let job = little.submit_power(base, reversed(exponent), JobOptions::default());
    let power = job.unwrap().wait().unwrap();
    assert_eq!(**power, reversed(&expected), "{what}");
}

fn sessions(accelerator: &Accelerator, modulus: &BigUint) -> [AcceleratedModExp; 2] {
    // Leading zeros do not count.
    let big = [vec![0; 3], modulus.to_bytes_be()].concat();
    let little = [modulus.to_bytes_le(), vec![0; 3]].concat();
    let sessions = [
        accelerator.modexp(&big, ByteOrder::BigEndian).unwrap(),
        accelerator
            .modexp(&little, ByteOrder::LittleEndian)
            .unwrap(),
    ];
    for session in &sessions {
        assert_eq!(session.bits() as u64, modulus.bits());
        assert_eq!(session.bytes(), (modulus.bits() as usize).div_ceil(8));
    }
    sessions
}

#[test]
fn powers_are_those_of_num_bigint() {
    let accelerator = accelerator();
    let mut rng = rand::rng();
    let sizes = (2..=80).chain([
        127, 128, 129, 255, 256, 257, 511, 512, 513, 768, 1000, 1023, 1024, 1025, 1536, 2047, 2048,
        2049, 3072, 4095, 4096,
    ]);
    for bits in sizes {
        let modulus = modulus(bits);
        let sessions = sessions(&accelerator, &modulus);
        for _ in 0..if bits <= 80 { 20 } else { 2 } {
            let base = random_bytes(
                &mut rand::rng(),
                rng.random_range(0..2 * bits.div_ceil(8) + 2),
            );
            let exponent =
                random_bytes(&mut rand::rng(), rng.random_range(0..bits.div_ceil(8) + 2));
            let is_negative = rng.random();
            let base = Base {
                magnitude: &base[..],
                is_negative,
            };
            check(&modulus, &sessions, base, &exponent);
        }
    }
}

#[test]
fn edge_operands_are_those_of_num_bigint() {
    let accelerator = accelerator();
    let mut moduli = vec![
        BigUint::from(3u8),
        BigUint::from(255u8),
        BigUint::from(257u16),
        (BigUint::from(1u8) << 64) - 1u8,
        (BigUint::from(1u8) << 64) + 1u8,
        (BigUint::from(1u8) << 1024) - 1u8,
        (BigUint::from(1u8) << 1023) + 1u8,
        (BigUint::from(1u8) << 1536) - 1u8,
    ];
    moduli.extend([512, 1024].map(modulus));
    for modulus in moduli {
        let sessions = sessions(&accelerator, &modulus);
        let n = modulus.to_bytes_be();
        let number = |number: BigUint| number.to_bytes_be();
        let bases = [
            vec![],
            vec![0],
            vec![0; n.len() + 9],
            vec![1],
            vec![2],
            number(&modulus - 1u8),
            n.clone(),
            number(&modulus + 1u8),
            number(&modulus * 2u8),
            number(&modulus * &modulus - 1u8),
            [vec![0; 70], vec![5]].concat(),
        ];
        let exponents = [
            vec![],
            vec![0],
            vec![0; 20],
            vec![1],
            vec![2],
            vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 3],
            vec![1, 0, 1],
            number(&modulus - 1u8),
            n.clone(),
            [n.clone(), n.clone(), vec![7; 9]].concat(),
        ];
        for base in &bases {
            for exponent in &exponents {
                for is_negative in [false, true] {
                    let base = Base {
                        magnitude: &base[..],
                        is_negative,
                    };
                    check(&modulus, &sessions, base, exponent);
                }
            }
        }
    }
}

#[test]
fn a_modulus_that_cannot_be_is_named() {
    let accelerator = accelerator();
    let takes = ": modular exponentiation takes odd ones of 2 to 4096 bits";
    let largest = [vec![0xff; 512], vec![1]].concat();
    for (modulus, what) in [
        (&[][..], "the modulus is zero"),
        (&[0, 0], "the modulus is zero"),
        (&[0, 1], "the modulus is one"),
        (&[2], "the modulus is even"),
        (&[1, 0], "the modulus is even"),
        (&largest, "the modulus has 4104 bits"),
    ] {
        match accelerator.modexp(modulus, ByteOrder::BigEndian) {
            Err(Error::InvalidInput(said)) => assert_eq!(said, format!("{what}{takes}")),
            other => panic!("{modulus:?}: {other:?}"),
        }
    }
    assert!(
        accelerator
            .modexp(&[1, 0], ByteOrder::LittleEndian)
            .is_err()
    );
    assert!(
        accelerator
            .modexp(&[0, 1], ByteOrder::LittleEndian)
            .is_err()
    );
    assert!(accelerator.modexp(&[1, 1], ByteOrder::LittleEndian).is_ok());
}

#[test]
fn a_full_queue_hands_base_and_exponent_back() {
    let accelerator = Accelerator::builder()
        .max_threads(0)
        .jobs_max(1)
        .build()
        .unwrap();
    let session = accelerator.modexp(&[13], ByteOrder::BigEndian).unwrap();
    let submit = || session.submit_power(Base::from(vec![2]), vec![5], JobOptions::default());
    let first = submit().unwrap();
    let refused = submit().unwrap_err().0;
    assert!(refused == (Base::from(vec![2]), vec![5]));
    assert_eq!(**first.wait().unwrap(), [6]);
    assert_eq!(
        format!("{session:?}"),
        "AcceleratedModExp { bits: 4, order: BigEndian, .. }"
    );
    assert_eq!(format!("{:?}", Base::from(&[2])), "Base { .. }");
}
