//! Modular exponentiation in lanes: secret exponents, bases, and keys of RSA.

use std::ops::Range;

use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::modexp::{
    Backend, CrtLane, LANES, Lane, Line, Modulus, Width, exponentiate, exponentiate_crt, prepare,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::keyed::accepted;
use crate::measure::{Contrast, Path};

pub fn add(paths: &mut Vec<Box<dyn Path>>) {
    for backend in Backend::all(Cpu::detect()) {
        add_backend(paths, backend);
    }
}

fn add_backend(paths: &mut Vec<Box<dyn Path>>, backend: Backend) {
    for (prime, slowness) in [(Width::Bits512, 5), (Width::Bits1024, 30)] {
        for secret in [
            CrtSecret::Key,
            CrtSecret::Primes,
            CrtSecret::Exponents,
            CrtSecret::Base,
        ] {
            paths.push(Box::new(ByPrimes::new(backend, prime, secret, slowness)));
        }
    }
    for (width, slowness) in [(Width::Bits1024, 8), (Width::Bits2048, 100)] {
        // With factor 2 a path is left out of the short form, which would take too long with all.
        for (secret, factor) in [
            (Secret::Exponent(Fixed::Some), 1),
            (Secret::Exponent(Fixed::Ones), 1),
            (Secret::Exponent(Fixed::Zeros), 2),
            (Secret::Base, 2),
        ] {
            let slowness = factor * slowness;
            paths.push(Box::new(Power::new(backend, width, secret, slowness)));
        }
    }
}

/// Powers under public moduli.
struct Power {
    name: String,
    backend: Backend,
    secret: Secret,
    slowness: usize,
    moduli: Vec<Modulus>,
    bases: Vec<u8>,
    exponents: Vec<u8>,
    /// What the secret is XORed with, so that zeros become what is fixed.
    fixed: Vec<u8>,
    results: Vec<u8>,
    workspace: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Secret {
    Exponent(Fixed),
    Base,
}

/// The exponents that are compared with random ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fixed {
    /// Random, but always the same.
    Some,
    /// Without a bit.
    Zeros,
    /// With every bit.
    Ones,
}

impl Power {
    fn new(backend: Backend, width: Width, secret: Secret, slowness: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(width.bits() as u64);
        let bytes = LANES * width.bytes();
        let mut workspace = vec![Line::ZERO; width.workspace_lines()];
        let moduli = random(&mut rng, bytes);
        let mut moduli: Vec<_> = moduli
            .chunks_exact(width.bytes())
            .map(|bytes| {
                let mut modulus = Modulus::unset(width);
                accepted(modulus.set(&odd(bytes)));
                modulus
            })
            .collect();
        let mut all: Vec<_> = moduli.iter_mut().collect();
        accepted(prepare(backend, &mut all, &mut workspace));
        let (what, fixed) = match secret {
            Secret::Exponent(Fixed::Some) => ("exponent, a fixed one", random(&mut rng, bytes)),
            Secret::Exponent(Fixed::Zeros) => ("exponent, zeros", vec![0; bytes]),
            Secret::Exponent(Fixed::Ones) => ("exponent, ones", vec![0xff; bytes]),
            Secret::Base => ("base", vec![0; bytes]),
        };
        Self {
            name: format!("modexp-{} {}: {what}", width.bits(), backend.name()),
            backend,
            secret,
            slowness,
            moduli,
            bases: random(&mut rng, bytes),
            exponents: random(&mut rng, bytes),
            fixed,
            results: vec![0; bytes],
            workspace,
        }
    }
}

impl Path for Power {
    fn name(&self) -> &str {
        &self.name
    }

    fn classes(&self) -> Contrast {
        Contrast::FixedAgainstRandom
    }

    fn slowness(&self) -> usize {
        self.slowness
    }

    fn secret_bytes(&self) -> usize {
        self.results.len()
    }

    fn prepare(&mut self, secret: &[u8]) {
        let place = match self.secret {
            Secret::Exponent(_) => &mut self.exponents,
            Secret::Base => &mut self.bases,
        };
        for ((byte, secret), fixed) in place.iter_mut().zip(secret).zip(&self.fixed) {
            *byte = secret ^ fixed;
        }
    }

    fn run(&mut self) {
        let bytes = self.results.len() / LANES;
        let operands = self.bases.chunks_exact(bytes);
        let operands = operands.zip(self.exponents.chunks_exact(bytes));
        let results = self.results.chunks_exact_mut(bytes);
        let mut lanes: Vec<_> = self
            .moduli
            .iter()
            .zip(operands)
            .zip(results)
            .map(|((modulus, (base, exponent)), result)| Lane {
                modulus,
                base,
                exponent,
                result,
            })
            .collect();
        accepted(exponentiate(self.backend, &mut lanes, &mut self.workspace));
    }
}

/// RSA's private operation by two numbers that need not be primes.
struct ByPrimes {
    name: String,
    backend: Backend,
    width: Width,
    slowness: usize,
    /// Which of each lane's numbers.
    secret: Range<usize>,
    /// As in [`Power`].
    fixed: Vec<u8>,
    lanes: Vec<CrtNumbers>,
    results: Vec<u8>,
    workspace: Vec<Line>,
}

/// What lies in [`CrtNumbers::bytes`], by number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CrtSecret {
    /// Primes, exponents and inverse: a fixed key, against others.
    Key,
    Primes,
    Exponents,
    Base,
}

struct CrtNumbers {
    p: Modulus,
    q: Modulus,
    /// p, q, their exponents, the inverse of q, and the base in two.
    bytes: Vec<u8>,
}

impl ByPrimes {
    fn new(backend: Backend, width: Width, secret: CrtSecret, slowness: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(width.bits() as u64);
        let (what, secret, is_zeros) = match secret {
            CrtSecret::Key => ("key, a fixed one", 0..5, false),
            CrtSecret::Primes => ("primes, zeros", 0..2, true),
            CrtSecret::Exponents => ("exponents, zeros", 2..4, true),
            CrtSecret::Base => ("base", 5..7, true),
        };
        let mut fixed = random(&mut rng, LANES * secret.len() * width.bytes());
        if is_zeros {
            fixed.fill(0);
        }
        let lanes = (0..LANES).map(|_| CrtNumbers {
            p: Modulus::unset(width),
            q: Modulus::unset(width),
            bytes: random(&mut rng, 7 * width.bytes()),
        });
        Self {
            name: format!(
                "rsa-{} by primes, {}: {what}",
                2 * width.bits(),
                backend.name()
            ),
            backend,
            width,
            slowness,
            secret,
            fixed,
            lanes: lanes.collect(),
            results: vec![0; LANES * 2 * width.bytes()],
            workspace: vec![Line::ZERO; width.crt_workspace_lines()],
        }
    }
}

impl Path for ByPrimes {
    fn name(&self) -> &str {
        &self.name
    }

    fn classes(&self) -> Contrast {
        Contrast::FixedAgainstRandom
    }

    fn slowness(&self) -> usize {
        self.slowness
    }

    fn secret_bytes(&self) -> usize {
        self.fixed.len()
    }

    fn prepare(&mut self, secret: &[u8]) {
        let bytes = self.width.bytes();
        let place = self.secret.start * bytes..self.secret.end * bytes;
        let secrets = secret.chunks_exact(place.len());
        let fixed = self.fixed.chunks_exact(place.len());
        for ((lane, secret), fixed) in self.lanes.iter_mut().zip(secrets).zip(fixed) {
            let numbers = lane.bytes[place.clone()].iter_mut();
            for ((byte, secret), fixed) in numbers.zip(secret).zip(fixed) {
                *byte = secret ^ fixed;
            }
            accepted(lane.p.set(&odd(&lane.bytes[..bytes])));
            accepted(lane.q.set(&odd(&lane.bytes[bytes..2 * bytes])));
            let moduli = &mut [&mut lane.p, &mut lane.q];
            accepted(prepare(self.backend, moduli, &mut self.workspace));
        }
    }

    fn run(&mut self) {
        let bytes = self.width.bytes();
        let results = self.results.chunks_exact_mut(2 * bytes);
        let mut lanes: Vec<_> = self
            .lanes
            .iter()
            .zip(results)
            .map(|(lane, result)| CrtLane {
                p: &lane.p,
                q: &lane.q,
                dp: &lane.bytes[2 * bytes..3 * bytes],
                dq: &lane.bytes[3 * bytes..4 * bytes],
                qinv: &lane.bytes[4 * bytes..5 * bytes],
                base: &lane.bytes[5 * bytes..],
                result,
            })
            .collect();
        accepted(exponentiate_crt(
            self.backend,
            &mut lanes,
            &mut self.workspace,
        ));
    }
}

fn random(rng: &mut StdRng, bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    rng.fill_bytes(&mut random);
    random
}

/// With the topmost bit set as well, so that every modulus is as long as any other.
fn odd(number: &[u8]) -> Vec<u8> {
    let mut number = number.to_vec();
    number[0] |= 0x80;
    if let Some(last) = number.last_mut() {
        *last |= 1;
    }
    number
}
