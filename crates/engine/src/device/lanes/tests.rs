use std::cell::Cell;

use super::*;
use crate::aws_lc::random::fill_random;
use crate::aws_lc::rsa::{PrivateNumbers, SoftwareRsa};
use crate::mask::visible_cpu;
use crate::rsa::{Hash, SignatureScheme};
use crate::testing::Accelerator;
use crate::work::modulus::{Base, ByteOrder};
use crate::work::request::{Purpose, Target};

thread_local! {
    /// The lanes, as bits, that get wrong results on this thread.
    static FAULTS: Cell<u32> = const { Cell::new(0) };
}

pub(super) fn plant_faults(batch: &mut [InLane<'_>]) {
    for (lane, one) in batch.iter_mut().enumerate() {
        if FAULTS.get() >> lane & 1 == 1
            && let Some(result) = &mut one.power
        {
            let at = lane % result.len();
            result[at] ^= 1 << lane;
        }
    }
}

fn run(lanes: &Lanes, requests: Vec<PublicKeyRequest>) -> Vec<Result<Buffer, Error>> {
    let key = requests[0].target().batch_key();
    let batch: Vec<_> = requests.iter().collect();
    let mut outcomes: Vec<_> = requests.iter().map(|_| None).collect();
    lanes.run(key, &batch, &mut |place, power| {
        let result = power.and_then(|power| requests[place].finish(power));
        assert!(outcomes[place].replace(result).is_none(), "answered twice");
    });
    outcomes.into_iter().map(Option::unwrap).collect()
}

fn raw(key: &RsaPrivateKey, operand: &[u8]) -> PublicKeyRequest {
    PublicKeyRequest::raw_private(key, operand).unwrap()
}

fn raw_public(key: &RsaPublicKey, number: Buffer) -> PublicKeyRequest {
    let request = PublicKeyRequest::new(Target::Public(key.clone()), Purpose::Raw { number });
    request.made().unwrap()
}

/// Computes a request by aws-lc.
fn alone(request: &PublicKeyRequest) -> Buffer {
    let power = request.target().power(request.base()).unwrap();
    request.finish(power).unwrap()
}

fn key(bits: usize) -> RsaPrivateKey {
    let path = format!(
        "{}/../oarlock/tests/keys/rsa{bits}.pem",
        env!("CARGO_MANIFEST_DIR")
    );
    RsaPrivateKey::from_pem(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns a key whose prime p is composite: see tests/it/rsa.
fn bad_key() -> RsaPrivateKey {
    let numbers: Vec<Vec<u8>> = include_str!("../../../../oarlock/tests/keys/composite.txt")
        .lines()
        .map(|line| {
            (0..line.len() / 2)
                .map(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).unwrap())
                .collect()
        })
        .collect();
    RsaPrivateKey::from_all_numbers(&PrivateNumbers {
        n: &numbers[0],
        e: &numbers[1],
        d: &numbers[2],
        p: &numbers[3],
        q: &numbers[4],
        dp: &numbers[5],
        dq: &numbers[6],
        qinv: &numbers[7],
    })
    .unwrap()
}

/// Generates a different key of `bits` bits, a multiple of 128, in each run.
fn random_key(bits: u16) -> RsaPrivateKey {
    RsaPrivateKey::from_der(&SoftwareRsa::generate_der(bits).unwrap()).unwrap()
}

fn operands(key: &RsaPublicKey) -> Vec<Vec<u8>> {
    let n = key.modulus();
    let small = |value| [vec![0; n.len() - 1], vec![value]].concat();
    // The modulus is odd, so each is less than it; its last byte may be 1.
    let large = |mask| [&n[..n.len() - 1], &[n[n.len() - 1] & mask]].concat();
    let mut operands = vec![small(0), small(1), small(2), large(!1), large(!3)];
    for _ in 0..3 {
        let mut random = vec![0; n.len()];
        fill_random(&mut random[1..]);
        operands.push(random);
    }
    operands
}

#[test]
fn lanes_and_aws_lc_agree_over_random_keys_and_edge_operands() {
    let lanes = Lanes::new(visible_cpu().unwrap());
    for bits in [1024, 1152, 1536, 1664, 2048, 2304, 3072, 3200, 4096] {
        let key = random_key(bits);
        let public = key.public_key();
        let operands = operands(public);
        let works = || operands.iter().map(|operand| raw(&key, operand));
        let powers = run(&lanes, works().collect());
        for (work, power) in works().zip(&powers) {
            assert_eq!(*alone(&work), **power.as_ref().unwrap(), "{bits}");
        }
        // Raising the powers to the public exponent returns the operands.
        let works = powers
            .into_iter()
            .map(|power| raw_public(public, power.unwrap()));
        let back = run(&lanes, works.collect());
        for (operand, back) in operands.iter().zip(back) {
            assert_eq!(*operand, **back.unwrap(), "{bits}");
        }
    }
    let stats = lanes.stats();
    assert_eq!(stats.faults, 0);
    assert_eq!(stats.groups, if lanes.are_there() { 18 } else { 0 });
}

#[test]
fn each_lane_has_a_key_of_its_own_and_some_have_no_primes() {
    let lanes = Lanes::new(visible_cpu().unwrap());
    let keys: Vec<_> = (0..8).map(|_| random_key(1024)).collect();
    let works = || {
        keys.iter()
            .enumerate()
            .map(|(i, key)| raw(key, &[i as u8 + 2; 100]))
    };
    for (work, power) in works().zip(run(&lanes, works().collect())) {
        assert_eq!(alone(&work), power.unwrap());
    }
    let plain: Vec<_> = keys
        .iter()
        .map(|_| {
            let der = SoftwareRsa::generate_der(1152).unwrap();
            let key = pkcs1::RsaPrivateKeyRef::try_from(&der[..]).unwrap();
            RsaPrivateKey::from_numbers(
                key.modulus.as_bytes(),
                key.public_exponent.as_bytes(),
                key.private_exponent.as_bytes(),
            )
            .unwrap()
        })
        .collect();
    let works = || plain.iter().map(|key| raw(key, &[77; 90]));
    let first = works().next().unwrap().target().batch_key();
    assert_eq!(
        first,
        if lanes.are_there() {
            BatchKey::of(BatchKind::Power, Width::Bits1536)
        } else {
            BatchKey::ALONE
        }
    );
    for (work, power) in works().zip(run(&lanes, works().collect())) {
        assert_eq!(alone(&work), power.unwrap());
    }
    assert_eq!(lanes.stats().faults, 0);
}

#[test]
fn powers_of_every_width_agree_with_aws_lc() {
    let lanes = Lanes::new(visible_cpu().unwrap());
    for bits in [
        449, 512, 700, 768, 1024, 1500, 2048, 3000, 3072, 4000, 4096usize,
    ] {
        let works = || {
            (0..8u8).map(|lane| {
                let bytes = bits.div_ceil(8);
                let mut modulus = vec![0x5a ^ lane; bytes];
                modulus[0] = 1 << ((bits - 1) % 8);
                *modulus.last_mut().unwrap() |= 1;
                let exponent = vec![0xa7 ^ lane; bytes - usize::from(lane % 3)];
                let base = vec![0xc3 ^ lane; bytes + 40 * usize::from(lane % 2)];
                let base = Base::from(&base[..]);
                PublicKeyRequest::power(&modulus, base, &exponent, ByteOrder::BigEndian).unwrap()
            })
        };
        let first = works().next().unwrap();
        assert_eq!(
            first.target().batch_key().kind(),
            BatchKind::Power,
            "{bits}"
        );
        for (work, power) in works().zip(run(&lanes, works().collect())) {
            assert_eq!(alone(&work), power.unwrap(), "{bits}");
        }
    }
}

#[test]
fn a_bad_key_in_any_lane_of_any_group_fails_alone() {
    let (good, bad) = (key(2048), bad_key());
    // Use a good key of the bad one's width.
    let good = if bad.public_key().bits() == 2048 {
        good
    } else {
        key(1024)
    };
    let lanes = Lanes::new(visible_cpu().unwrap());
    for size in 1..=LANES {
        for lane in 0..size {
            let works =
                || (0..size).map(|at| raw(if at == lane { &bad } else { &good }, &[at as u8 + 3]));
            let powers = run(&lanes, works().collect());
            for (at, (work, power)) in works().zip(powers).enumerate() {
                if at == lane {
                    assert!(
                        matches!(power, Err(Error::DeviceFailed { .. })),
                        "{power:?}"
                    );
                } else {
                    assert_eq!(alone(&work), power.unwrap());
                }
            }
        }
    }
    if lanes.are_there() {
        // A single request may be computed either way.
        assert!(lanes.stats().faults >= (2..=LANES as u64).sum::<u64>());
    }
}

#[test]
fn a_fault_in_any_lane_is_seen_and_computed_anew() {
    let lanes = Lanes::new(visible_cpu().unwrap());
    if !lanes.are_there() {
        return oarlock_testing::skip("this CPU lacks AVX-512 IFMA");
    }
    let key = key(1024);
    let mut faults_due = 0;
    for faults in (0..LANES)
        .map(|lane| 1 << lane)
        .chain([0, 0b1010_0110, 0xff])
    {
        FAULTS.set(faults);
        let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
        let works = (0..LANES as u8).map(|at| PublicKeyRequest::sign(&key, scheme, &[at]).unwrap());
        let signatures = run(&lanes, works.collect());
        faults_due += u64::from(faults.count_ones());
        let accelerator = Accelerator::builder().build().unwrap();
        let public = accelerator.rsa_public(key.public_key());
        for (at, signature) in signatures.into_iter().enumerate() {
            public
                .verify(scheme, &[at as u8], &signature.unwrap())
                .unwrap();
        }
        assert_eq!(lanes.stats().faults, faults_due);
    }
    FAULTS.set(0);
}

#[test]
fn what_is_slower_than_others_is_not_done_and_tried_again() {
    let lanes = Lanes::new(visible_cpu().unwrap());
    let class = BatchKey::of(BatchKind::Private, Width::Bits1024);
    assert_eq!(lanes.batch_size(BatchKey::ALONE, 8), 1);
    if !lanes.are_there() {
        assert_eq!(lanes.batch_size(class, 8), 1);
        return; // Without lanes only this holds.
    }
    let sizes = [1, 2, 3, 4, 8, 15, 16, 64];
    let taken = sizes.map(|waiting| lanes.batch_size(class, waiting));
    assert_eq!(taken, [1, 2, 3, 4, 4, 4, 8, 8]);
    let public = BatchKey::of(BatchKind::Public, Width::Bits2048);
    let taken = sizes.map(|waiting| lanes.batch_size(public, waiting));
    assert_eq!(taken, [1, 1, 3, 4, 8, 8, 8, 8]);
    lanes.costs.spoil(class, 4);
    let cost = lanes.cost(class);
    let is_alone = |_: &usize| {
        // The answer is the same each time.
        let sizes: Vec<_> = (0..5).map(|_| lanes.batch_size(class, 4)).collect();
        let _ = (lanes.full_batch(class), lanes.best_batch(class));
        assert!(sizes == [1; 5] || sizes == [4; 5], "{sizes:?}");
        lanes.costs.learn_alone(class, cost);
        sizes[0] == 1
    };
    let tries = (0..).take_while(is_alone).take(1_000_000);
    assert!((1000..1_000_000).contains(&tries.count()));
}
