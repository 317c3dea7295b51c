//! Modular exponentiation in lanes against num-bigint.

use num_bigint::BigUint;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::modexp::{
    Backend, CrtLane, InvalidGroup, InvalidModulus, LANES, Lane, Line, Modulus, PublicLane, Width,
    dispatch, exponentiate, exponentiate_crt, exponentiate_public, prepare,
};
use oarlock_kernels::testing::{digits, line};
use rand::{SeedableRng, rngs::StdRng};

use crate::random_bytes;

#[test]
fn random_numbers_in_every_width_and_number_of_lanes() {
    let backends = backends();
    let mut rng = StdRng::seed_from_u64(1);
    for width in Width::ALL {
        for lanes in 1..=LANES {
            let exponent_bytes = if lanes == LANES { width.bytes() } else { 9 };
            let cases: Vec<Case> = (0..lanes)
                .map(|lane| {
                    let mut modulus = random_bytes(&mut rng, width.bytes());
                    // Longest, random and short ones.
                    match lane % 3 {
                        0 => modulus[0] |= 0x80,
                        1 => modulus[0] >>= 1,
                        _ => drop(modulus.drain(..width.bytes() / 3)),
                    }
                    *modulus.last_mut().unwrap() |= 1;
                    Case {
                        modulus,
                        // Up to twice the width, in every other call.
                        base: random_bytes(&mut rng, (1 + lanes % 2) * width.bytes() - lane),
                        exponent: random_bytes(&mut rng, exponent_bytes - lane),
                    }
                })
                .collect();
            check(&backends, width, &cases);
        }
    }
}

#[test]
fn edges_of_bases_exponents_and_moduli() {
    let backends = backends();
    for width in Width::ALL {
        let bytes = width.bytes();
        let one = BigUint::from(1_u8);
        let top = &one << (width.bits() - 1);
        let mut cases = Vec::new();
        for modulus in [
            (&top << 1_usize) - &one,
            (&top << 1_usize) - BigUint::from(189_u8),
            &top + &one,
            &top - &one,
            BigUint::from(3_u8),
            (&one << 52_usize) - &one,
            (&one << 52_usize) + &one,
            (&one << 260_usize) + &one,
            (&top >> 1_usize) + &one,
        ] {
            for base in [
                BigUint::ZERO,
                one.clone(),
                BigUint::from(2_u8),
                &modulus - &one,
                modulus.clone(),
                &modulus + &one,
                (&top << 1_usize) - &one,
                (&one << width.bits()) + &one,
                &modulus * &modulus + &one,
                (&one << (2 * width.bits())) - &one,
            ] {
                for exponent in [
                    &[][..],
                    &[0],
                    &[0, 0, 0],
                    &[1],
                    &[2],
                    &[3],
                    &[31],
                    &[32],
                    &[0x7f, 0xff],
                    &[0xff; 9],
                    &[0, 0, 1, 0, 1],
                ] {
                    cases.push(Case {
                        modulus: modulus.to_bytes_be(),
                        base: base.to_bytes_be(),
                        exponent: exponent.to_vec(),
                    });
                }
            }
        }
        cases.push(Case {
            modulus: cases[0].modulus.clone(),
            base: cases[0].modulus.clone(),
            exponent: vec![0xff; bytes],
        });
        for cases in cases.chunks(LANES) {
            check(&backends, width, cases);
        }
    }
}

#[test]
fn a_modulus_that_cannot_be_is_refused_and_unset() {
    for backend in backends() {
        for width in Width::ALL {
            let mut modulus = Modulus::unset(width);
            let mut long = vec![0xff; width.bytes() + 1];
            long[0] = 1;
            let too_long = InvalidModulus::TooLong {
                bits: width.bits() + 1,
                bits_max: width.bits(),
            };
            for (bytes, error) in [
                (&[][..], InvalidModulus::TooSmall),
                (&[0, 0], InvalidModulus::TooSmall),
                (&[0, 1], InvalidModulus::TooSmall),
                (&[2], InvalidModulus::Even),
                (&[0xff; 64][..], InvalidModulus::Even),
                (&long, too_long),
            ] {
                modulus.set(&[0, 0, 35]).unwrap();
                assert_eq!((modulus.bits(), modulus.bytes()), (6, 1));
                let mut bytes = bytes.to_vec();
                if error == InvalidModulus::Even {
                    *bytes.last_mut().unwrap() &= 0xfe;
                }
                assert_eq!(modulus.set(&bytes), Err(error));
                assert_eq!(modulus.bits(), 1);
                let mut result = [7; 2];
                let lane = Lane {
                    modulus: &modulus,
                    base: &[5],
                    exponent: &[3],
                    result: &mut result,
                };
                exponentiate(backend, &mut [lane], &mut workspace(width)).unwrap();
                assert_eq!(result, [0; 2], "modulo 1");
            }
            long[0] = 0;
            modulus.set(&long).unwrap();
            assert_eq!(modulus.bits(), width.bits());
        }
    }
}

#[test]
fn a_group_that_cannot_be_is_refused() {
    for backend in backends() {
        let narrow = set(Width::Bits512, &[0xff; 64]);
        let wide = set(Width::Bits768, &[0xff; 96]);
        let lines = Width::Bits512.workspace_lines();
        let run = |moduli: &[&Modulus], base_bytes: usize, result_bytes: usize, lines: usize| {
            let base = vec![1; base_bytes];
            let mut results = vec![vec![9; result_bytes]; moduli.len()];
            let mut memory = vec![Line::ZERO; lines];
            let mut lanes: Vec<Lane<'_>> = moduli
                .iter()
                .zip(&mut results)
                .map(|(modulus, result)| Lane {
                    modulus,
                    base: &base,
                    exponent: &[3],
                    result,
                })
                .collect();
            let secret = exponentiate(backend, &mut lanes, &mut memory);
            let mut lanes: Vec<PublicLane<'_>> = lanes
                .into_iter()
                .map(|lane| PublicLane {
                    modulus: lane.modulus,
                    base: lane.base,
                    exponent: 3,
                    result: lane.result,
                })
                .collect();
            let public = exponentiate_public(backend, &mut lanes, &mut memory);
            if !matches!(secret, Err(InvalidGroup::Workspace(_))) {
                assert_eq!(secret, public);
            }
            if secret.is_err() && public.is_err() {
                assert!(results.iter().flatten().all(|byte| *byte == 9));
            }
            secret
        };
        assert_eq!(run(&[], 64, 64, lines), Err(InvalidGroup::Lanes(0)));
        assert_eq!(
            run(&[&narrow; LANES + 1], 64, 64, lines),
            Err(InvalidGroup::Lanes(9))
        );
        assert_eq!(
            run(&[&narrow, &wide], 64, 96, 10_000),
            Err(InvalidGroup::Widths)
        );
        assert_eq!(
            run(&[&narrow; 3], 129, 64, lines),
            Err(InvalidGroup::Base(0))
        );
        assert_eq!(
            run(&[&narrow; 3], 64, 63, lines),
            Err(InvalidGroup::Result(0))
        );
        assert_eq!(
            run(&[&narrow], 64, 64, lines - 1),
            Err(InvalidGroup::Workspace(lines))
        );
        assert_eq!(run(&[&narrow], 0, 70, lines), Ok(()));

        let mut narrow = narrow;
        let mut wide = wide;
        let mut memory = workspace(Width::Bits768);
        assert_eq!(
            prepare(backend, &mut [&mut narrow, &mut wide], &mut memory),
            Err(InvalidGroup::Widths)
        );
        assert_eq!(
            prepare(backend, &mut [], &mut memory),
            Err(InvalidGroup::Lanes(0))
        );
        assert_eq!(
            prepare(backend, &mut [&mut narrow], &mut []),
            Err(InvalidGroup::Workspace(
                Width::Bits512.public_workspace_lines()
            ))
        );
    }
}

#[test]
fn nothing_is_left_in_the_workspace() {
    for backend in backends() {
        for width in Width::ALL {
            let modulus = set(width, &vec![0xff; width.bytes()]);
            let mut memory = workspace(width);
            let base = vec![0x5a; width.bytes()];
            let mut result = vec![0; width.bytes()];
            let lane = Lane {
                modulus: &modulus,
                base: &base,
                exponent: &[0x77; 8],
                result: &mut result,
            };
            exponentiate(backend, &mut [lane], &mut memory).unwrap();
            assert!(memory.iter().all(|line| digits(line) == [0; 8]));
            let lane = PublicLane {
                modulus: &modulus,
                base: &base,
                exponent: 65537,
                result: &mut result,
            };
            exponentiate_public(backend, &mut [lane], &mut memory).unwrap();
            assert!(memory.iter().all(|line| digits(line) == [0; 8]));

            let mut memory = vec![line([u64::MAX; 8]); width.crt_workspace_lines() + 1];
            let mut result = vec![0; 2 * width.bytes()];
            let lane = CrtLane {
                p: &modulus,
                q: &modulus,
                dp: &base,
                dq: &base,
                qinv: &base,
                base: &vec![0x77; 2 * width.bytes()],
                result: &mut result,
            };
            exponentiate_crt(backend, &mut [lane], &mut memory).unwrap();
            assert!(result.iter().any(|byte| *byte != 0));
            let beyond = memory.pop().unwrap();
            assert_eq!(
                digits(&beyond),
                [u64::MAX; 8],
                "what it does not use it leaves alone"
            );
            assert!(memory.iter().all(|line| digits(line) == [0; 8]));
        }
    }
}

#[test]
fn crt_of_random_keys_in_every_width_and_number_of_lanes() {
    for backend in backends() {
        let mut rng = StdRng::seed_from_u64(2);
        for width in Width::ALL {
            for lanes in 1..=LANES {
                // Exponents as long as the width take num-bigint seconds if the width is large.
                let is_long = lanes == LANES || width <= Width::Bits768;
                let exponent_bytes = if is_long { width.bytes() } else { 11 };
                let keys: Vec<Key> = (0..lanes)
                    .map(|lane| {
                        let (mut p, mut q) = (
                            random_bytes(&mut rng, width.bytes()),
                            random_bytes(&mut rng, width.bytes()),
                        );
                        (p[0], q[0]) = (p[0] | 0x80, q[0] | 0x80);
                        match lane {
                            // The longest ones, and pairs in which either is much greater.
                            0 => {}
                            1 => (p[0], q[0]) = (0xff, 0x80),
                            2 => (p[0], q[0]) = (0x80, 0xff),
                            3 => p[0] >>= 3,
                            4 => q[0] >>= 3,
                            5 => drop(p.drain(..width.bytes() / 3)),
                            6 => drop(q.drain(..width.bytes() - 1)),
                            _ => (p, q) = (vec![0xff; width.bytes()], vec![0xff; width.bytes()]),
                        }
                        *p.last_mut().unwrap() |= 1;
                        *q.last_mut().unwrap() |= 3;
                        Key {
                            qinv: random_bytes(&mut rng, width.bytes() - lane),
                            dp: random_bytes(&mut rng, exponent_bytes - lane),
                            dq: random_bytes(&mut rng, exponent_bytes - lane / 2),
                            base: random_bytes(&mut rng, 2 * width.bytes() - lane * lane),
                            p,
                            q,
                        }
                    })
                    .collect();
                check_crt(backend, width, &keys);
            }
        }
    }
}

#[test]
fn crt_undoes_the_public_operation() {
    for backend in backends() {
        let number = |text: &str| BigUint::parse_bytes(text.as_bytes(), 16).unwrap();
        // 2^521 - 1 and 2^607 - 1 are prime: used as a key, in either order, with two widths at once.
        let one = BigUint::from(1_u8);
        let (p, q) = ((&one << 521_usize) - &one, (&one << 607_usize) - &one);
        let n = &p * &q;
        let e = number("10001");
        for (p, q) in [(&p, &q), (&q, &p)] {
            let d = |prime: &BigUint| e.modinv(&(prime - &one)).unwrap().to_bytes_be();
            let messages = [
                BigUint::ZERO,
                one.clone(),
                BigUint::from(2_u8),
                &n - &one,
                p.clone(),
                q.clone(),
                &n >> 1_usize,
                &n - p,
            ];
            let keys: Vec<Key> = messages
                .iter()
                .map(|message| Key {
                    p: p.to_bytes_be(),
                    q: q.to_bytes_be(),
                    dp: d(p),
                    dq: d(q),
                    qinv: q.modinv(p).unwrap().to_bytes_be(),
                    base: message.modpow(&e, &n).to_bytes_be(),
                })
                .collect();
            let results = check_crt(backend, Width::Bits768, &keys);
            for (result, message) in results.iter().zip(&messages) {
                assert_eq!(BigUint::from_bytes_be(result), *message);
            }
        }
    }
}

#[test]
fn edges_of_crt_operands() {
    for backend in backends() {
        for width in Width::ALL {
            let bytes = width.bytes();
            let one = BigUint::from(1_u8);
            let top = &one << (width.bits() - 1);
            let longest = (&top << 1_usize) - &one;
            let moduli = [
                longest.clone(),
                &top + &one,
                &top - &one,
                BigUint::from(3_u8),
                (&one << 260_usize) + &one,
            ];
            let mut keys = Vec::new();
            for p in &moduli {
                for q in &moduli {
                    let n = p * q;
                    for (i, base) in [
                        BigUint::ZERO,
                        one.clone(),
                        &n - &one,
                        n.clone(),
                        &n + &one,
                        (&one << (2 * width.bits())) - &one,
                    ]
                    .into_iter()
                    .filter(|base| base.bits() <= 2 * width.bits() as u64)
                    .enumerate()
                    {
                        keys.push(Key {
                            p: p.to_bytes_be(),
                            q: q.to_bytes_be(),
                            dp: [&[][..], &[0], &[1], &[0, 0, 3], &[0xff; 9]][i % 5].to_vec(),
                            dq: [&[1][..], &[0, 0, 0], &[], &[2], &[0xff; 9]][i % 5].to_vec(),
                            qinv: match i % 4 {
                                0 => longest.to_bytes_be(),
                                1 => Vec::new(),
                                2 => vec![0; bytes],
                                _ => (p - &one).to_bytes_be(),
                            },
                            base: base.to_bytes_be(),
                        });
                    }
                }
            }
            for keys in keys.chunks(LANES) {
                check_crt(backend, width, keys);
            }
        }
    }
}

#[test]
fn a_crt_lane_that_cannot_be_refuses_its_group_and_can_be_told_before() {
    for backend in backends() {
        let narrow = set(Width::Bits512, &[0xff; 64]);
        let short = set(Width::Bits512, &[0xff; 40]);
        let wide = set(Width::Bits768, &[0xff; 96]);
        let zeros = [0; 200];
        let mut memory = vec![Line::ZERO; Width::Bits512.crt_workspace_lines()];
        let mut run = |(p, q): (&Modulus, &Modulus), [key, qinv, base, result]: [usize; 4]| {
            let (mut first, mut second) = ([9; 128], [9; 200]);
            let lane = |p, q, [key, qinv, base]: [usize; 3], result| CrtLane {
                p,
                q,
                dp: &zeros[..key],
                dq: &zeros[..64 - key.min(64)],
                qinv: &zeros[..qinv],
                base: &zeros[..base],
                result,
            };
            let good = lane(&narrow, &narrow, [64; 3], &mut first);
            assert_eq!(good.check(), Ok(()));
            let bad = lane(p, q, [key, qinv, base], &mut second[..result]);
            let alone = bad.check();
            let together = exponentiate_crt(backend, &mut [good, bad], &mut memory);
            if together.is_err() {
                assert!(first.iter().chain(&second).all(|byte| *byte == 9));
            }
            (alone, together)
        };
        let both = (&narrow, &narrow);
        assert_eq!(run(both, [64, 64, 128, 128]), (Ok(()), Ok(())));
        assert_eq!(run((&narrow, &short), [0, 0, 0, 104]), (Ok(()), Ok(())));
        for (lengths, error) in [
            ([65, 64, 128, 128], InvalidGroup::Key as fn(usize) -> _),
            ([64, 65, 128, 128], InvalidGroup::Key),
            ([64, 64, 129, 128], InvalidGroup::Base),
            ([64, 64, 128, 127], InvalidGroup::Result),
        ] {
            assert_eq!(run(both, lengths), (Err(error(0)), Err(error(1))));
        }
        let widths = Err(InvalidGroup::Widths);
        assert_eq!(run((&narrow, &wide), [64; 4]), (widths, widths));
        // The two have the same length, which differs from that of the other lane.
        assert_eq!(run((&wide, &wide), [64, 64, 64, 192]), (Ok(()), widths));

        let run = |lanes: usize, lines: usize| {
            let mut results = vec![[0; 128]; lanes];
            let mut lanes: Vec<CrtLane<'_>> = results
                .iter_mut()
                .map(|result| CrtLane {
                    p: &narrow,
                    q: &narrow,
                    dp: &[3],
                    dq: &[3],
                    qinv: &[3],
                    base: &[3],
                    result,
                })
                .collect();
            exponentiate_crt(backend, &mut lanes, &mut vec![Line::ZERO; lines])
        };
        let lines = Width::Bits512.crt_workspace_lines();
        assert_eq!(run(0, lines), Err(InvalidGroup::Lanes(0)));
        assert_eq!(run(9, lines), Err(InvalidGroup::Lanes(9)));
        assert_eq!(run(8, lines - 1), Err(InvalidGroup::Workspace(lines)));
    }
}

#[test]
fn widths_fit_their_bits() {
    assert_eq!(Width::for_bits(0), Some(Width::Bits512));
    assert_eq!(Width::for_bits(4097), None);
    for width in Width::ALL {
        assert_eq!(Width::for_bits(width.bits()), Some(width));
        assert_eq!(8 * width.bytes(), width.bits());
    }
    assert_eq!(Width::for_bits(1025), Some(Width::Bits1536));
}

struct Case {
    modulus: Vec<u8>,
    base: Vec<u8>,
    exponent: Vec<u8>,
}

impl Case {
    /// Returns the base to the power of `exponent`, big-endian, modulo the modulus, computed with num-bigint.
    fn raised_to(&self, exponent: &[u8]) -> BigUint {
        let number = BigUint::from_bytes_be;
        let (base, exponent, modulus) =
            (number(&self.base), number(exponent), number(&self.modulus));
        if exponent.bits() > 64 {
            return base.modpow(&exponent, &modulus);
        }
        // The tables of powers that modpow computes cost more than such a short exponent.
        let base = base % &modulus;
        let one = BigUint::from(1_u8) % &modulus;
        (0..exponent.bits()).rev().fold(one, |power, bit| {
            let square = &power * &power % &modulus;
            if exponent.bit(bit) {
                square * &base % &modulus
            } else {
                square
            }
        })
    }
}

/// Checks every backend, all cases in one call: with prepared moduli, unprepared ones and some of each; exponents of up to
/// 64 bits also as public ones.
fn check(backends: &[Backend], width: Width, cases: &[Case]) {
    let power = |case: &Case| case.raised_to(&case.exponent);
    let expected: Vec<BigUint> = cases.iter().map(power).collect();
    let last_bytes = |case: &Case| {
        let bytes = case.exponent.iter();
        bytes.fold(0, |exponent, byte| exponent << 8 | u64::from(*byte))
    };
    let last_bytes: Vec<u64> = cases.iter().map(last_bytes).collect();
    let public = [last_bytes, vec![65537; cases.len()], vec![3; cases.len()]].map(|exponents| {
        let cases = cases.iter().zip(&exponents);
        let powers = cases.map(|(case, exponent)| case.raised_to(&exponent.to_be_bytes()));
        (powers.collect::<Vec<BigUint>>(), exponents)
    });
    for &backend in backends {
        let mut memory = workspace(width);
        // The previous contents do not matter.
        memory.fill(line([0xa5a5_a5a5_a5a5_a5a5; 8]));
        let mut moduli: Vec<Modulus> = cases.iter().map(|case| set(width, &case.modulus)).collect();
        for prepared in [0, cases.len() / 2, cases.len()] {
            if prepared > 0 {
                let mut some: Vec<&mut Modulus> = moduli[..prepared].iter_mut().collect();
                prepare(backend, &mut some, &mut memory).unwrap();
            }
            let mut results: Vec<Vec<u8>> = cases
                .iter()
                .zip(&moduli)
                .map(|(case, modulus)| vec![0xee; modulus.bytes() + case.base.len() % 3])
                .collect();
            let mut lanes: Vec<Lane<'_>> = cases
                .iter()
                .zip(&moduli)
                .zip(&mut results)
                .map(|((case, modulus), result)| Lane {
                    modulus,
                    base: &case.base,
                    exponent: &case.exponent,
                    result,
                })
                .collect();
            let calls_before = calls(backend);
            exponentiate(backend, &mut lanes, &mut memory).unwrap();
            assert!(calls(backend) > calls_before, "the kernel ran");
            for (lane, (result, expected)) in results.iter().zip(&expected).enumerate() {
                assert_eq!(
                    &BigUint::from_bytes_be(result),
                    expected,
                    "{width:?}, lane {lane}, {prepared} prepared"
                );
            }
            for (expected, exponents) in &public {
                let mut lanes: Vec<PublicLane<'_>> = cases
                    .iter()
                    .zip(&moduli)
                    .zip(&mut results)
                    .zip(exponents)
                    .map(|(((case, modulus), result), exponent)| PublicLane {
                        modulus,
                        base: &case.base,
                        exponent: *exponent,
                        result,
                    })
                    .collect();
                exponentiate_public(backend, &mut lanes, &mut memory).unwrap();
                for ((result, expected), exponent) in results.iter().zip(expected).zip(exponents) {
                    assert_eq!(
                        &BigUint::from_bytes_be(result),
                        expected,
                        "{width:?}, public exponent {exponent}, {prepared} prepared"
                    );
                }
            }
        }
    }
}

struct Key {
    p: Vec<u8>,
    q: Vec<u8>,
    dp: Vec<u8>,
    dq: Vec<u8>,
    qinv: Vec<u8>,
    base: Vec<u8>,
}

/// All in one call, with prepared moduli and unprepared ones.
fn check_crt(backend: Backend, width: Width, keys: &[Key]) -> Vec<Vec<u8>> {
    let mut memory = vec![line([0x5a5a_5a5a_5a5a_5a5a; 8]); width.crt_workspace_lines()];
    let mut moduli: Vec<[Modulus; 2]> = keys
        .iter()
        .map(|key| [set(width, &key.p), set(width, &key.q)])
        .collect();
    let mut results = Vec::new();
    for is_prepared in [false, true] {
        if is_prepared {
            for [p, q] in &mut moduli {
                prepare(backend, &mut [p, q], &mut memory).unwrap();
            }
        }
        results = moduli
            .iter()
            .map(|[p, q]| vec![0xee; p.bytes() + q.bytes() + p.bits() % 3])
            .collect();
        let mut lanes: Vec<CrtLane<'_>> = keys
            .iter()
            .zip(&moduli)
            .zip(&mut results)
            .map(|((key, [p, q]), result)| CrtLane {
                p,
                q,
                dp: &key.dp,
                dq: &key.dq,
                qinv: &key.qinv,
                base: &key.base,
                result,
            })
            .collect();
        let calls_before = calls(backend);
        exponentiate_crt(backend, &mut lanes, &mut memory).unwrap();
        assert!(calls(backend) > calls_before, "the kernel ran");
        for (lane, (key, result)) in keys.iter().zip(&results).enumerate() {
            assert_eq!(
                BigUint::from_bytes_be(result),
                key.private(),
                "{width:?}, lane {lane}, prepared: {is_prepared}"
            );
        }
    }
    results
}

impl Key {
    /// Computes as in RFC 8017, for any numbers.
    fn private(&self) -> BigUint {
        let [p, q, dp, dq, qinv, base] =
            [&self.p, &self.q, &self.dp, &self.dq, &self.qinv, &self.base]
                .map(|bytes| BigUint::from_bytes_be(bytes));
        let (m_p, m_q) = (base.modpow(&dp, &p), base.modpow(&dq, &q));
        let difference = m_p + &p - &m_q % &p;
        (difference * qinv % p) * q + m_q
    }
}

/// Returns all backends that this CPU can run.
fn backends() -> Vec<Backend> {
    let backends: Vec<_> = Backend::all(Cpu::detect()).collect();
    for name in ["ifma", "fma"] {
        if backends.iter().all(|backend| backend.name() != name) {
            oarlock_testing::skip(&format!("this CPU lacks the instructions of {name}"));
        }
    }
    backends
}

/// Returns how often a backend's kernels ran.
fn calls(backend: Backend) -> u64 {
    match backend {
        Backend::Ifma(_) => dispatch::IFMA.get(),
        Backend::Fma(_) => dispatch::FMA.get(),
    }
}

fn set(width: Width, modulus: &[u8]) -> Modulus {
    let mut room = Modulus::unset(width);
    room.set(modulus).unwrap();
    room
}

fn workspace(width: Width) -> Vec<Line> {
    vec![Line::ZERO; width.workspace_lines()]
}
