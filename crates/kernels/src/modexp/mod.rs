//! Modular exponentiation, up to eight at a time, on CPUs with AVX-512 IFMA or with AVX2 and FMA.
//!
//! Each of the eight lanes has its own odd modulus, base and exponent. Each modulus has a [`Width`], the same for all moduli
//! of a call. A [`Modulus`] is created once for a key; [`exponentiate`] is for secret exponents, [`exponentiate_public`] for
//! short public ones, and [`exponentiate_crt`] for RSA's private operation by the two primes of a key. Numbers are
//! big-endian bytes.
//!
//! Time and memory accesses depend only on the number of lanes, the widths, the lengths of the arguments, the bit length of
//! a modulus and public exponents.
//!
//! ```
//! use oarlock_kernels::cpu::Cpu;
//! use oarlock_kernels::modexp::{Backend, Lane, Line, Modulus, Width, exponentiate};
//!
//! if let Some(backend) = Backend::preferred(Cpu::detect()) {
//!     let mut workspace = vec![Line::ZERO; Width::Bits512.workspace_lines()];
//!     let mut modulus = Modulus::unset(Width::Bits512);
//!     modulus.set(&[13])?;
//!     let mut result = [0];
//!     let lane = Lane { modulus: &modulus, base: &[2], exponent: &[10], result: &mut result };
//!     exponentiate(backend, &mut [lane], &mut workspace)?;
//!     assert_eq!(result, [10]); // 1024 = 78 * 13 + 10
//! }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! The method is almost-Montgomery multiplication: factors a and b yield a number below a b / R + N, with R = 2^(52 digits).
//! R is at least 2^8 times the modulus N, so factors below 8 N yield less than 5/4 N, and nothing is subtracted before the
//! end (Gueron and Krasnov, "Software implementation of modular exponentiation, using advanced vector instructions
//! architectures", WAIFI 2012).

mod backend;
mod digits;
mod group;
mod modulus;

use core::fmt;

pub use backend::Backend;
use digits::{DIGIT_MASK, Digits, multiply_add, write_bytes};
use group::{BASE, Group, ONE, Remainders, set_lane};
pub use group::{InvalidGroup, LANES};
pub use modulus::{InvalidModulus, Modulus, Width};

#[cfg(debug_assertions)]
pub use crate::dispatch::modexp as dispatch;
pub use crate::x86_64::line::Line;
pub use crate::x86_64::{Fma, Ifma};

/// Prepares one to eight moduli of one width, which every exponentiation would otherwise repeat.
///
/// # Errors
/// [`InvalidGroup`], except for those about a lane's operands.
pub fn prepare(
    backend: Backend,
    moduli: &mut [&mut Modulus],
    workspace: &mut [Line],
) -> Result<(), InvalidGroup> {
    let width = group_width(moduli.iter().map(|modulus| &**modulus))?;
    let mut group = Group::new(
        backend,
        width,
        moduli.len(),
        workspace,
        width.public_workspace_lines(),
    )?;
    group.set_moduli(moduli.iter().map(|modulus| &**modulus));
    for (lane, modulus) in moduli.iter_mut().enumerate() {
        for (digit, line) in modulus.power.iter_mut().zip(&*group.rooms.square_of_r) {
            *digit = line.0[lane] & DIGIT_MASK;
        }
        modulus.is_prepared = true;
    }
    Ok(())
}

/// One of up to eight exponentiations whose exponents are secret.
pub struct Lane<'a> {
    /// The modulus, of the same width as those of the other lanes.
    pub modulus: &'a Modulus,
    /// The base: at most twice the bytes of the width, reduced modulo the modulus. Lanes are fastest together if none has
    /// more bytes than the width.
    pub base: &'a [u8],
    /// The exponent. Its length is public and unlimited: all lanes together take the time of the longest. An empty exponent
    /// is 0.
    pub exponent: &'a [u8],
    /// Receives the result, below the modulus, padded with zeros in front; at least as long as the modulus.
    pub result: &'a mut [u8],
}

impl fmt::Debug for Lane<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("modulus", &self.modulus)
            .finish_non_exhaustive()
    }
}

/// Sets the result of each lane to its base to the power of its exponent, modulo its modulus. Afterwards the used part of
/// the workspace is zero.
///
/// # Errors
/// [`InvalidGroup`]; nothing has been computed then.
pub fn exponentiate(
    backend: Backend,
    lanes: &mut [Lane<'_>],
    workspace: &mut [Line],
) -> Result<(), InvalidGroup> {
    let width = group_width(lanes.iter().map(|lane| lane.modulus))?;
    for (number, lane) in lanes.iter().enumerate() {
        check_operands(number, lane.modulus, lane.base, lane.result)?;
    }
    let mut group = Group::new(
        backend,
        width,
        lanes.len(),
        workspace,
        width.workspace_lines(),
    )?;
    group.set_moduli(lanes.iter().map(|lane| lane.modulus));
    group.begin_power(lanes.iter().map(|lane| lane.base));
    group.fill_table();
    group.raise(lanes.iter().map(|lane| lane.exponent));
    group.set_factor_to_one();
    group.multiply();
    let mut digits = Digits::default();
    for (number, lane) in lanes.iter_mut().enumerate() {
        group.least(number, lane.modulus, &mut digits);
        write_bytes(&digits, lane.result);
    }
    Ok(())
}

/// One of up to eight private operations of RSA by the Chinese remainder theorem (RFC 8017, 5.1.2).
///
/// Numbers that are not a key are allowed, and yield a meaningless number below `p q`. Either prime may be the greater one.
pub struct CrtLane<'a> {
    /// The first prime, of the same width as `q` and those of the other lanes.
    pub p: &'a Modulus,
    /// The second prime.
    pub q: &'a Modulus,
    /// The private exponent modulo `p - 1`: at most the bytes of the width. Lengths are public: all lanes together take the
    /// time of the longest.
    pub dp: &'a [u8],
    /// The private exponent modulo `q - 1`: at most the bytes of the width; lengths are public.
    pub dq: &'a [u8],
    /// The inverse of `q` modulo `p`: at most the bytes of the width.
    pub qinv: &'a [u8],
    /// The ciphertext: at most twice the bytes of the width, with any value.
    pub base: &'a [u8],
    /// Receives the result, below `p q`, padded with zeros in front; at least as long as both primes together.
    pub result: &'a mut [u8],
}

impl fmt::Debug for CrtLane<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrtLane")
            .field("p", &self.p)
            .field("q", &self.q)
            .finish_non_exhaustive()
    }
}

impl CrtLane<'_> {
    /// Checks that the lane fits a group of the width of `p`. A lane that does not makes [`exponentiate_crt`] refuse its
    /// whole group.
    ///
    /// # Errors
    /// The error of [`exponentiate_crt`] for a group of this lane alone.
    pub fn check(&self) -> Result<(), InvalidGroup> {
        self.check_as(0)
    }

    fn check_as(&self, lane: usize) -> Result<(), InvalidGroup> {
        let bytes = self.p.width.bytes();
        if self.q.width != self.p.width {
            Err(InvalidGroup::Widths)
        } else if self.base.len() > 2 * bytes {
            Err(InvalidGroup::Base(lane))
        } else if self.dp.len().max(self.dq.len()).max(self.qinv.len()) > bytes {
            Err(InvalidGroup::Key(lane))
        } else if self.result.len() < self.p.bytes() + self.q.bytes() {
            Err(InvalidGroup::Result(lane))
        } else {
            Ok(())
        }
    }
}

/// Sets the result of each lane to its base to the power of its private exponent, modulo the product of its primes. Up to
/// four lanes take half the time of five to eight, and up to two a quarter if the backend has four lanes at once. Afterwards
/// the used part of the workspace ([`Width::crt_workspace_lines`]) is zero.
///
/// # Errors
/// [`InvalidGroup`]; nothing has been computed then.
pub fn exponentiate_crt(
    backend: Backend,
    lanes: &mut [CrtLane<'_>],
    workspace: &mut [Line],
) -> Result<(), InvalidGroup> {
    let width = group_width(lanes.iter().map(|lane| lane.p))?;
    for (number, lane) in lanes.iter().enumerate() {
        lane.check_as(number)?;
    }
    let lines = width.crt_workspace_lines();
    let workspace = workspace
        .get_mut(..lines)
        .ok_or(InvalidGroup::Workspace(lines))?;
    let (remainders, workspace) = workspace.split_at_mut(width.digits());
    let remainders = Remainders::new(remainders);
    // Both primes of all lanes side by side, if they fit: one exponentiation instead of two.
    let are_beside = 2 * lanes.len() <= LANES;
    let used = lanes.len() * if are_beside { 2 } else { 1 };
    let mut group = Group::new(backend, width, used, workspace, width.workspace_lines())?;

    let mut digits = Digits::default();
    let bases = lanes.iter().map(|lane| lane.base);
    let (p, q) = (
        lanes.iter().map(|lane| lane.p),
        lanes.iter().map(|lane| lane.q),
    );
    let (dp, dq) = (
        lanes.iter().map(|lane| lane.dp),
        lanes.iter().map(|lane| lane.dq),
    );
    let mut keep_remainders = |group: &Group<'_>, first_lane: usize| {
        for (number, lane) in lanes.iter().enumerate() {
            let remainder = group.least(first_lane + number, lane.q, &mut digits);
            set_lane(remainders.0, number, remainder);
        }
    };
    if are_beside {
        group.set_moduli(p.chain(q));
        group.begin_power(bases.clone().chain(bases));
        group.fill_table();
        group.raise(dp.chain(dq));
        group.store(0);
        group.set_factor_to_one();
        group.multiply();
        keep_remainders(&group, lanes.len());
    } else {
        group.set_moduli(q);
        group.begin_power(bases.clone());
        group.fill_table();
        group.raise(dq);
        group.set_factor_to_one();
        group.multiply();
        keep_remainders(&group, 0);

        group.set_moduli(p);
        group.begin_power(bases);
        group.fill_table();
        group.raise(dp);
        group.store(0);
    }

    // m = m_q + h q with h = (m_p - m_q) qinv modulo p. The difference is in Montgomery's form, which the product removes.
    // Lanes of the q's are included, and their results ignored.
    group.rooms.factor.copy_from_slice(remainders.0);
    group.enter();
    group.subtract_from(0);
    group.set_factor(lanes.iter().map(|lane| lane.qinv));
    group.multiply();
    let count = width.digits();
    let mut product = Digits::default();
    for (number, lane) in lanes.iter_mut().enumerate() {
        let h = group.least(number, lane.p, &mut digits);
        let addend = remainders.0.iter().map(|line| line.0[number]);
        multiply_add(
            &mut product.0[..2 * count],
            h,
            &lane.q.digits[..count],
            addend,
        );
        write_bytes(&product, lane.result);
    }
    Ok(())
}

/// One of up to eight exponentiations whose exponents are public.
#[derive(Debug)]
pub struct PublicLane<'a> {
    /// The modulus, of the same width as those of the other lanes.
    pub modulus: &'a Modulus,
    /// The base: at most twice the bytes of the width, reduced modulo the modulus. Lanes are fastest together if none has
    /// more bytes than the width.
    pub base: &'a [u8],
    /// The exponent, such as 65537. Time depends on it.
    pub exponent: u64,
    /// Receives the result, below the modulus, padded with zeros in front; at least as long as the modulus.
    pub result: &'a mut [u8],
}

/// Like [`exponentiate`], for exponents that are public and at most 64 bits long. Takes a squaring for each bit, and a
/// multiplication for each bit that is set in any lane. Moduli, bases and results may be secret.
///
/// # Errors
/// [`InvalidGroup`]; nothing has been computed then.
pub fn exponentiate_public(
    backend: Backend,
    lanes: &mut [PublicLane<'_>],
    workspace: &mut [Line],
) -> Result<(), InvalidGroup> {
    let width = group_width(lanes.iter().map(|lane| lane.modulus))?;
    for (number, lane) in lanes.iter().enumerate() {
        check_operands(number, lane.modulus, lane.base, lane.result)?;
    }
    let mut group = Group::new(
        backend,
        width,
        lanes.len(),
        workspace,
        width.public_workspace_lines(),
    )?;
    group.set_moduli(lanes.iter().map(|lane| lane.modulus));

    group.begin_power(lanes.iter().map(|lane| lane.base));
    group.store(BASE);

    let (any, all) = lanes.iter().fold((0, u64::MAX), |(any, all), lane| {
        (any | lane.exponent, all & lane.exponent)
    });
    let has = |lane: &PublicLane<'_>, bit: u32| lane.exponent >> bit & 1 == 1;
    if any != all {
        group.set_factor_to_one();
        group.enter();
        group.store(ONE);
    }
    let top = any.checked_ilog2().unwrap_or(0);
    group.load_each(lanes.iter().map(|lane| has(lane, top)));
    for bit in (1..top).rev() {
        group.square();
        if any >> bit & 1 == 1 {
            group.multiply_each(lanes.iter().map(|lane| has(lane, bit)));
        }
    }
    if top > 0 {
        group.square();
    }
    // The last multiplication converts the result from Montgomery's form: by the base if possible.
    let is_long = lanes.iter().any(|lane| lane.base.len() > width.bytes());
    if top > 0 && is_long && any & 1 == 1 {
        group.multiply_each(lanes.iter().map(|lane| has(lane, 0)));
    }
    group.set_factor_to_one();
    if top > 0 && !is_long {
        for (number, lane) in lanes.iter().enumerate() {
            if has(lane, 0) {
                group.set_factor_lane(number, lane.base);
            }
        }
    }
    group.multiply();
    let mut digits = Digits::default();
    for (number, lane) in lanes.iter_mut().enumerate() {
        group.least(number, lane.modulus, &mut digits);
        write_bytes(&digits, lane.result);
    }
    Ok(())
}

fn group_width<'a>(
    moduli: impl ExactSizeIterator<Item = &'a Modulus>,
) -> Result<Width, InvalidGroup> {
    let lanes = moduli.len();
    let mut widths = moduli.map(|modulus| modulus.width);
    match widths.next() {
        Some(first) if lanes <= LANES => {
            if widths.all(|width| width == first) {
                Ok(first)
            } else {
                Err(InvalidGroup::Widths)
            }
        }
        _ => Err(InvalidGroup::Lanes(lanes)),
    }
}

fn check_operands(
    lane: usize,
    modulus: &Modulus,
    base: &[u8],
    result: &[u8],
) -> Result<(), InvalidGroup> {
    if base.len() > 2 * modulus.width.bytes() {
        Err(InvalidGroup::Base(lane))
    } else if result.len() < modulus.bytes() {
        Err(InvalidGroup::Result(lane))
    } else {
        Ok(())
    }
}
