//! Modular exponentiation, eight at a time, on CPUs with AVX-512 IFMA.
//!
//! Each of the eight lanes has its own odd modulus, base and exponent. Each modulus has a [`Width`],
//! the same for all moduli of a call. A [`Modulus`] is made once for a key; [`exponentiate`] is for secret
//! exponents, [`exponentiate_public`] for short public ones, and [`exponentiate_crt`] for RSA's private
//! operation by the two primes of a key. Numbers are big-endian bytes.
//!
//! Time and memory accesses depend on the number of lanes, the widths, the lengths of the
//! arguments, the bit length of a modulus and on public exponents; on nothing else.
//!
//! ```
//! use oarlock_kernels::cpu::Cpu;
//! use oarlock_kernels::modexp::{Ifma, Lane, Line, Modulus, Width, exponentiate};
//!
//! if let Some(ifma) = Ifma::new(Cpu::detect()) {
//!     let mut workspace = vec![Line::ZERO; Width::Bits512.workspace_lines()];
//!     let mut modulus = Modulus::unset(Width::Bits512);
//!     modulus.set(&[13])?;
//!     let mut result = [0];
//!     let lane = Lane { modulus: &modulus, base: &[2], exponent: &[10], result: &mut result };
//!     exponentiate(ifma, &mut [lane], &mut workspace)?;
//!     assert_eq!(result, [10]); // 1024 = 78 * 13 + 10
//! }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! The method is almost-Montgomery multiplication: factors a and b give a number below a b / R + N,
//! with R = 2^(52 digits). R is at least 2^8 times the modulus N, so factors below 8 N give less than
//! 5/4 N, and nothing is subtracted before the end (Gueron and Krasnov, "Software implementation of
//! modular exponentiation, using advanced vector instructions architectures", WAIFI 2012).

use core::fmt;

use zeroize::Zeroize;

#[cfg(any(test, debug_assertions))]
pub use crate::dispatch::modexp as dispatch;
pub use crate::x86_64::Ifma;
pub use crate::x86_64::ifma::Line;
use crate::x86_64::ifma::{Montgomery, WINDOW, entry_lines, half, wipe_lines};

/// The number of exponentiations that run at once.
pub const LANES: usize = 8;

/// The widths of moduli that kernels exist for: up to so many bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Width {
    /// Up to 512 bits.
    Bits512,
    /// Up to 768 bits.
    Bits768,
    /// Up to 1024 bits.
    Bits1024,
    /// Up to 1536 bits.
    Bits1536,
    /// Up to 2048 bits.
    Bits2048,
    /// Up to 3072 bits.
    Bits3072,
    /// Up to 4096 bits.
    Bits4096,
}

impl Width {
    /// Every width, the narrowest first.
    pub const ALL: [Self; 7] = [
        Self::Bits512,
        Self::Bits768,
        Self::Bits1024,
        Self::Bits1536,
        Self::Bits2048,
        Self::Bits3072,
        Self::Bits4096,
    ];

    /// The narrowest that a modulus of `bits` bits fits; `None` beyond 4096.
    pub fn for_bits(bits: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|width| bits <= width.bits())
    }

    /// Bits of the longest modulus.
    pub const fn bits(self) -> usize {
        match self {
            Self::Bits512 => 512,
            Self::Bits768 => 768,
            Self::Bits1024 => 1024,
            Self::Bits1536 => 1536,
            Self::Bits2048 => 2048,
            Self::Bits3072 => 3072,
            Self::Bits4096 => 4096,
        }
    }

    /// Bytes of the longest modulus and result; half of those of the longest base.
    pub const fn bytes(self) -> usize {
        self.bits() / 8
    }

    /// Lines of workspace that [`exponentiate`] needs.
    pub const fn workspace_lines(self) -> usize {
        // What is selected of the table has the place of one more entry.
        1 + 6 * self.digits() + ((1 << WINDOW) + 1) * entry_lines(self.digits())
    }

    /// Lines of workspace that [`exponentiate_crt`] needs.
    pub const fn crt_workspace_lines(self) -> usize {
        self.workspace_lines() + self.digits()
    }

    /// Lines of workspace that suffice for [`exponentiate_public`] and [`prepare`].
    pub const fn public_workspace_lines(self) -> usize {
        1 + (6 + PUBLIC_ENTRIES) * self.digits()
    }

    /// A multiple of 5, because kernels work in blocks of five digits.
    const fn digits(self) -> usize {
        (self.bits() + SPARE_BITS).div_ceil(DIGIT_BITS * 5) * 5
    }
}

/// An odd modulus, and the constants for multiplication under it. Wiped on drop.
pub struct Modulus {
    width: Width,
    bits: usize,
    /// -1 / modulus, modulo 2^52.
    negative_inverse: u64,
    digits: [u64; DIGITS_MAX],
    /// R^2 modulo the modulus when `is_prepared`, else 2 R.
    power: [u64; DIGITS_MAX],
    is_prepared: bool,
}

impl Modulus {
    /// Room for a modulus. Until it is set it is 1, under which everything is 0.
    pub const fn unset(width: Width) -> Self {
        let mut digits = [0; DIGITS_MAX];
        digits[0] = 1;
        Self {
            width,
            bits: 1,
            negative_inverse: DIGIT_MASK,
            digits,
            power: [0; DIGITS_MAX],
            is_prepared: true,
        }
    }

    /// Sets the modulus from big-endian bytes; leading zeros do not matter. The time that this
    /// takes may reveal its bit length, but not its value.
    ///
    /// Each exponentiation then prepares it again, which is as much work as a dozen multiplications. For a
    /// key that is used often, call [`prepare`].
    ///
    /// # Errors
    /// [`InvalidModulus`] if it is even, below 3, or longer than the width. It is then unset.
    pub fn set(&mut self, big_endian: &[u8]) -> Result<(), InvalidModulus> {
        self.unset_again();
        let zeros = big_endian.iter().take_while(|byte| **byte == 0).count();
        let big_endian = &big_endian[zeros..];
        let Some((first, last)) = big_endian.first().zip(big_endian.last()) else {
            return Err(InvalidModulus::TooSmall);
        };
        let bits = 8 * big_endian.len() - first.leading_zeros() as usize;
        if bits > self.width.bits() {
            return Err(InvalidModulus::TooLong {
                bits,
                bits_max: self.width.bits(),
            });
        }
        if last & 1 == 0 {
            return Err(InvalidModulus::Even);
        }
        if bits == 1 {
            return Err(InvalidModulus::TooSmall);
        }
        let count = self.width.digits();
        for (i, digit) in self.digits[..count].iter_mut().enumerate() {
            *digit = digit_of(big_endian, i);
        }
        self.bits = bits;
        self.negative_inverse = negative_inverse(self.digits[0]);
        self.set_power();
        Ok(())
    }

    /// The width it was made for.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Length in bits, without leading zeros.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Length in bytes, without leading zeros.
    pub fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// 2 R modulo the modulus: from 2^bits less the modulus, by doubling.
    fn set_power(&mut self) {
        let count = self.width.digits();
        let digits = &self.digits[..count];
        let power = &mut self.power[..count];
        let mut borrow = 0;
        for (i, (power, digit)) in power.iter_mut().zip(digits).enumerate() {
            let bit = if i == self.bits / DIGIT_BITS {
                1 << (self.bits % DIGIT_BITS)
            } else {
                0
            };
            (*power, borrow) = subtract(bit, *digit, borrow);
        }
        for _ in self.bits..count * DIGIT_BITS + 1 {
            let mut carry = 0;
            for digit in power.iter_mut() {
                let doubled = *digit << 1 | carry;
                *digit = doubled & DIGIT_MASK;
                carry = doubled >> DIGIT_BITS;
            }
            subtract_once(power, digits);
        }
        self.is_prepared = false;
    }

    #[cfg(test)]
    pub(crate) fn secrets(&self) -> std::vec::Vec<u64> {
        let count = self.width.digits();
        let digits = self.digits[..count].iter();
        let mut secrets: std::vec::Vec<_> = digits.chain(&self.power[..count]).copied().collect();
        secrets.push(self.negative_inverse);
        secrets
    }

    fn unset_again(&mut self) {
        self.digits.zeroize();
        self.power.zeroize();
        self.digits[0] = 1;
        self.negative_inverse = DIGIT_MASK;
        self.bits = 1;
        self.is_prepared = true;
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        self.digits.zeroize();
        self.power.zeroize();
        self.negative_inverse.zeroize();
    }
}

impl fmt::Debug for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modulus")
            .field("width", &self.width)
            .field("bits", &self.bits)
            .finish_non_exhaustive()
    }
}

/// Prepares one to eight moduli of one width, which each exponentiation would otherwise do again.
///
/// # Errors
/// [`InvalidGroup`], all but those about a lane's operands.
pub fn prepare(
    ifma: Ifma,
    moduli: &mut [&mut Modulus],
    workspace: &mut [Line],
) -> Result<(), InvalidGroup> {
    let width = group_width(moduli.iter().map(|modulus| &**modulus))?;
    let mut group = Group::new(ifma, width, workspace, width.public_workspace_lines())?;
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
    /// Of the same width as those of the other lanes.
    pub modulus: &'a Modulus,
    /// At most twice as many bytes as the width has; taken modulo the modulus. Lanes are fastest
    /// together when none has more bytes than the width.
    pub base: &'a [u8],
    /// Of any length, which is public: all lanes together take the time of the longest. Without
    /// a byte it is 0.
    pub exponent: &'a [u8],
    /// Gets the result, below the modulus, with zeros before it; at least as long as the modulus.
    pub result: &'a mut [u8],
}

impl fmt::Debug for Lane<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("modulus", &self.modulus)
            .finish_non_exhaustive()
    }
}

/// Sets the result of each lane to its base to the power of its exponent, modulo its modulus. The used
/// part of the workspace is zero afterwards.
///
/// # Errors
/// [`InvalidGroup`], before anything is computed.
pub fn exponentiate(
    ifma: Ifma,
    lanes: &mut [Lane<'_>],
    workspace: &mut [Line],
) -> Result<(), InvalidGroup> {
    let width = group_width(lanes.iter().map(|lane| lane.modulus))?;
    for (number, lane) in lanes.iter().enumerate() {
        check_operands(number, lane.modulus, lane.base, lane.result)?;
    }
    let mut group = Group::new(ifma, width, workspace, width.workspace_lines())?;
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
/// It computes with any numbers: those that are not a key give a meaningless number below `p q`. Either
/// prime may be the greater one.
pub struct CrtLane<'a> {
    /// The first prime, of the same width as `q` and those of the other lanes.
    pub p: &'a Modulus,
    /// The second prime.
    pub q: &'a Modulus,
    /// The private exponent modulo `p - 1`: at most as many bytes as the width has. Lengths are
    /// public: all lanes together take the time of the longest.
    pub dp: &'a [u8],
    /// The private exponent modulo `q - 1`: likewise.
    pub dq: &'a [u8],
    /// The inverse of `q` modulo `p`: at most as many bytes as the width has.
    pub qinv: &'a [u8],
    /// The ciphertext: at most twice as many bytes as the width has, and of any value.
    pub base: &'a [u8],
    /// Gets the result, below `p q`, with zeros before it; at least as long as both primes together.
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
    /// Whether the lane fits a group of the width of `p`. One that does not makes [`exponentiate_crt`]
    /// refuse its whole group.
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

/// Sets the result of each lane to its base to the power of its private exponent, modulo the product
/// of its primes. Up to four lanes take half the time of five to eight. The used part of the
/// workspace ([`Width::crt_workspace_lines`]) is zero afterwards.
///
/// # Errors
/// [`InvalidGroup`], before anything is computed.
pub fn exponentiate_crt(
    ifma: Ifma,
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
    let mut group = Group::new(ifma, width, workspace, width.workspace_lines())?;

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
    if 2 * lanes.len() <= LANES {
        // Both primes of all lanes fit side by side: one exponentiation instead of two.
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

    // m = m_q + h q with h = (m_p - m_q) qinv modulo p; the difference in Montgomery's form, out of
    // which the product takes it. Lanes of q's come along, and are not looked at.
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
    /// Of the same width as those of the other lanes.
    pub modulus: &'a Modulus,
    /// At most twice as many bytes as the width has; taken modulo the modulus. Lanes are fastest
    /// together when none has more bytes than the width.
    pub base: &'a [u8],
    /// Such as 65537. Time depends on it.
    pub exponent: u64,
    /// Gets the result, below the modulus, with zeros before it; at least as long as the modulus.
    pub result: &'a mut [u8],
}

/// As [`exponentiate`], for exponents that are public and at most 64 bits long. Takes a squaring
/// for each bit, and a multiplication for each that is set in any lane. Moduli, bases and results may
/// be secret.
///
/// # Errors
/// [`InvalidGroup`], before anything is computed.
pub fn exponentiate_public(
    ifma: Ifma,
    lanes: &mut [PublicLane<'_>],
    workspace: &mut [Line],
) -> Result<(), InvalidGroup> {
    let width = group_width(lanes.iter().map(|lane| lane.modulus))?;
    for (number, lane) in lanes.iter().enumerate() {
        check_operands(number, lane.modulus, lane.base, lane.result)?;
    }
    let mut group = Group::new(ifma, width, workspace, width.public_workspace_lines())?;
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
    // What is multiplied last takes the result out of Montgomery's form: the base where it can.
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

/// Why a modulus was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidModulus {
    /// It is even; Montgomery's multiplication needs an odd one.
    Even,
    /// It is 0 or 1.
    TooSmall,
    /// It is longer than the width it was to be for.
    TooLong {
        /// Bits of the modulus.
        bits: usize,
        /// Bits of the width.
        bits_max: usize,
    },
}

impl fmt::Display for InvalidModulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even => f.write_str("the modulus is even: use an odd one"),
            Self::TooSmall => f.write_str("the modulus is below 3: use a greater one"),
            Self::TooLong { bits, bits_max } => write!(
                f,
                "the modulus has {bits} bits where {bits_max} fit: use a greater width"
            ),
        }
    }
}

impl core::error::Error for InvalidModulus {}

/// Why nothing was computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidGroup {
    /// No lanes, or more than [`LANES`].
    Lanes(usize),
    /// Two moduli were made for different widths.
    Widths,
    /// The workspace has fewer lines than this.
    Workspace(usize),
    /// The base of this lane has more than twice the bytes of the width.
    Base(usize),
    /// An exponent or the inverse of this lane has more bytes than the width.
    Key(usize),
    /// The result of this lane has no room for a number below the modulus.
    Result(usize),
}

impl fmt::Display for InvalidGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes(lanes) => write!(f, "{lanes} lanes: use 1 to {LANES}"),
            Self::Widths => f.write_str("moduli of two widths: group them by width"),
            Self::Workspace(lines) => write!(f, "the workspace needs {lines} lines"),
            Self::Base(lane) => write!(
                f,
                "the base of lane {lane} is longer than twice the width: reduce it, or remove zeros"
            ),
            Self::Key(lane) => write!(
                f,
                "dp, dq or qinv of lane {lane} is longer than the width: remove zeros, or reduce it"
            ),
            Self::Result(lane) => write!(
                f,
                "the result of lane {lane} is shorter than the modulus: use a longer buffer"
            ),
        }
    }
}

impl core::error::Error for InvalidGroup {}

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

/// Eight lanes at work. What it used of the workspace is wiped on drop.
struct Group<'a> {
    montgomery: Montgomery,
    rooms: Rooms<'a>,
    /// Some bits of each lane's exponent.
    bits: Line,
    /// Which entry of the table each lane wants.
    index: Line,
}

/// The workspace, divided. A room has a line for each digit where nothing else is said.
struct Rooms<'a> {
    /// After a line with -1 / modulus.
    moduli: &'a mut [Line],
    square_of_r: &'a mut [Line],
    /// What is squared and multiplied.
    power: &'a mut [Line],
    factor: &'a mut [Line],
    /// Two lines for each digit.
    scratch: &'a mut [Line],
    /// All lines of entry 0, then those of entry 1. For secret exponents, what is selected comes last.
    table: &'a mut [Line],
}

impl<'a> Group<'a> {
    /// With moduli of 1 in all lanes, which do no harm where a lane is not used.
    fn new(
        ifma: Ifma,
        width: Width,
        workspace: &'a mut [Line],
        lines: usize,
    ) -> Result<Self, InvalidGroup> {
        let digits = width.digits();
        let workspace = workspace
            .get_mut(..lines)
            .ok_or(InvalidGroup::Workspace(lines))?;
        let (moduli, rest) = workspace.split_at_mut(1 + digits);
        let (square_of_r, rest) = rest.split_at_mut(digits);
        let (power, rest) = rest.split_at_mut(digits);
        let (factor, rest) = rest.split_at_mut(digits);
        let (scratch, table) = rest.split_at_mut(2 * digits);
        moduli.fill(Line::ZERO);
        moduli[0] = Line([DIGIT_MASK; LANES]);
        moduli[1] = Line([1; LANES]);
        square_of_r.fill(Line::ZERO);
        Ok(Self {
            montgomery: Montgomery::new(ifma, digits),
            rooms: Rooms {
                moduli,
                square_of_r,
                power,
                factor,
                scratch,
                table,
            },
            bits: Line::ZERO,
            index: Line::ZERO,
        })
    }

    fn set_moduli<'m>(&mut self, moduli: impl Iterator<Item = &'m Modulus> + Clone) {
        for (lane, modulus) in moduli.clone().enumerate() {
            self.rooms.moduli[0].0[lane] = modulus.negative_inverse;
            set_lane(&mut self.rooms.moduli[1..], lane, &modulus.digits);
            set_lane(self.rooms.square_of_r, lane, &modulus.power);
        }
        if moduli.clone().any(|modulus| !modulus.is_prepared) {
            self.prepare();
            for (lane, modulus) in moduli.enumerate() {
                if modulus.is_prepared {
                    set_lane(self.rooms.square_of_r, lane, &modulus.power);
                }
            }
        }
    }

    /// From 2 R to R^2, with R = 2^r: squares of 2^i R are 2^2i R, and a multiplication by 2^j makes
    /// 2^(i + j) of 2^i R. In every width 2^j is below R / 2^8.
    fn prepare(&mut self) {
        let r = DIGIT_BITS * self.rooms.factor.len();
        let squares = (2 * r).ilog2();
        self.rooms.power.copy_from_slice(self.rooms.square_of_r);
        for _ in 0..squares {
            self.square();
        }
        let missing = 2 * r - (1 << squares);
        self.rooms.factor.fill(Line::ZERO);
        self.rooms.factor[missing / DIGIT_BITS] = Line([1 << (missing % DIGIT_BITS); LANES]);
        self.multiply();
        self.rooms.square_of_r.copy_from_slice(self.rooms.power);
    }

    /// The factor becomes a number for each lane, and 0 in those that are not used.
    fn set_factor<'b>(&mut self, bases: impl Iterator<Item = &'b [u8]>) {
        self.rooms.factor.fill(Line::ZERO);
        for (lane, base) in bases.enumerate() {
            self.set_factor_lane(lane, base);
        }
    }

    fn set_factor_lane(&mut self, lane: usize, base: &[u8]) {
        self.set_factor_lane_from(lane, base, 0);
    }

    /// Digits of the base from number `first` on.
    fn set_factor_lane_from(&mut self, lane: usize, base: &[u8], first: usize) {
        for (i, line) in self.rooms.factor.iter_mut().enumerate() {
            line.0[lane] = digit_of(base, first + i);
        }
    }

    fn set_factor_to_one(&mut self) {
        self.rooms.factor.fill(Line::ZERO);
        self.rooms.factor[0] = Line([1; LANES]);
    }

    /// The power becomes the factor, in Montgomery's form.
    fn enter(&mut self) {
        self.rooms.power.copy_from_slice(self.rooms.square_of_r);
        self.multiply();
    }

    /// The power becomes a base for each lane, of up to twice the width, in Montgomery's form. All of
    /// the table but its first entry is left as it is.
    ///
    /// With c = c1 R + c0, what is wanted, c R, is c0 R^2 / R + c1 R^3 / R. R^2 is below 5/4 N, as all
    /// products are, c0 below R, and c1 below R / 2^8: the first term is below 9/4 N, the second
    /// below 5/4 N, and their sum below the 8 N that a factor may be.
    fn begin_power<'b>(&mut self, bases: impl Iterator<Item = &'b [u8]> + Clone) {
        let digits = self.rooms.factor.len();
        let bytes = digits * DIGIT_BITS / 8;
        let is_long = bases.clone().any(|base| base.len() > bytes);
        if is_long {
            self.rooms.factor.fill(Line::ZERO);
            for (lane, base) in bases.clone().enumerate() {
                self.set_factor_lane_from(lane, base, digits);
            }
            self.rooms.power.copy_from_slice(self.rooms.square_of_r);
            self.square();
            self.multiply();
            self.store(0);
        }
        self.set_factor(bases);
        self.enter();
        if is_long {
            let mut carry = Line::ZERO;
            for (line, addend) in self.rooms.power.iter_mut().zip(&*self.rooms.table) {
                for lane in 0..LANES {
                    let (digit, addend) = (line.0[lane], addend.0[lane]);
                    let sum = (digit & DIGIT_MASK) + (addend & DIGIT_MASK) + carry.0[lane];
                    line.0[lane] = sum & DIGIT_MASK;
                    carry.0[lane] = sum >> DIGIT_BITS;
                }
            }
        }
    }

    /// The power becomes what it was to the power of an exponent for each lane, by the table that
    /// `fill_table` has made of it.
    fn raise<'b>(&mut self, exponents: impl Iterator<Item = &'b [u8]> + Clone) {
        let bytes = exponents.clone().map(<[u8]>::len).max();
        let windows = (8 * bytes.unwrap_or(0)).div_ceil(WINDOW).max(1);
        let chosen = entry_lines(self.rooms.power.len()) << WINDOW;
        // Bits are read from exponents for many windows at once.
        let windows_read = BITS_READ_MAX / WINDOW;
        for number in (0..windows).rev() {
            let later = number % windows_read;
            if number + 1 == windows || later + 1 == windows_read {
                let first = number - later;
                for (exponent, lane) in exponents.clone().zip(&mut self.bits.0) {
                    *lane = bits_of(exponent, WINDOW * first, WINDOW * windows_read);
                }
            }
            for (index, lane) in self.index.0.iter_mut().zip(&self.bits.0) {
                *index = lane >> (WINDOW * later) & ((1 << WINDOW) - 1);
            }
            if number + 1 == windows {
                let (table, to) = self.rooms.table.split_at_mut(chosen);
                self.montgomery.select(to, table, &self.index);
                self.load_at(chosen);
            } else {
                for part in 0..WINDOW {
                    self.square_and_select(part);
                }
                self.multiply_by_entry_at(chosen);
            }
        }
    }

    /// The power becomes what it is less than this entry of the table, modulo the moduli: with twice
    /// the modulus added to the entry, since the power may be the greater one. That is below twice the
    /// modulus and the entry below four times that, so the result is below six times.
    fn subtract_from(&mut self, entry: usize) {
        let minuends = &self.rooms.table[entry * self.rooms.power.len()..];
        let moduli = &self.rooms.moduli[1..];
        let mut carry = [0; LANES];
        for ((line, minuend), modulus) in self.rooms.power.iter_mut().zip(minuends).zip(moduli) {
            for (lane, carry) in carry.iter_mut().enumerate() {
                let (minuend, subtrahend) = (minuend.0[lane], line.0[lane]);
                let sum = (minuend & DIGIT_MASK) + 2 * modulus.0[lane];
                let sum = sum
                    .wrapping_sub(subtrahend & DIGIT_MASK)
                    .wrapping_add(*carry);
                line.0[lane] = sum & DIGIT_MASK;
                *carry = (sum.cast_signed() >> DIGIT_BITS).cast_unsigned();
            }
        }
    }

    /// The table becomes the powers of the power, from 0 on, as `multiply_by_entry` wants them.
    ///
    /// In a pair b is below 7/2 N, the most that `begin_power` leaves, and b / 2^(52 half) below 9/4 N:
    /// twice N and a 32nd of 7/2 N. What is multiplied by a pair is therefore below 4 N.
    fn fill_table(&mut self) {
        let digits = self.rooms.power.len();
        let lines = entry_lines(digits);
        self.store_at(lines);
        self.set_factor_to_one();
        self.enter();
        self.store_at(0);
        if lines > digits {
            self.rooms.factor.fill(Line::ZERO);
            self.rooms.factor[digits - half(digits)] = Line([1; LANES]);
            for entry in [0, lines] {
                self.load_at(entry);
                self.multiply();
                self.store_at(entry + digits);
            }
        }
        for entry in (2 * lines..lines << WINDOW).step_by(lines) {
            for part in (0..lines).step_by(digits) {
                self.load_at(entry - lines + part);
                self.multiply_by_entry_at(lines);
                self.store_at(entry + part);
            }
        }
    }

    /// The power to the table, from this line on.
    fn store_at(&mut self, line: usize) {
        let digits = self.rooms.power.len();
        self.rooms.table[line..][..digits].copy_from_slice(self.rooms.power);
    }

    /// The power from there.
    fn load_at(&mut self, line: usize) {
        let digits = self.rooms.power.len();
        let table = &self.rooms.table[line..][..digits];
        self.rooms.power.copy_from_slice(table);
    }

    fn multiply_by_entry_at(&mut self, line: usize) {
        let Rooms {
            moduli,
            power,
            scratch,
            table,
            ..
        } = &mut self.rooms;
        let entry = &table[line..][..entry_lines(power.len())];
        self.montgomery
            .multiply_by_entry(power, entry, moduli, scratch);
    }

    /// The power to this entry of a table whose entries have the digits alone.
    fn store(&mut self, entry: usize) {
        self.store_at(entry * self.rooms.power.len());
    }

    /// The power from this entry of such a table.
    fn load(&mut self, entry: usize) {
        self.load_at(entry * self.rooms.power.len());
    }

    /// The power becomes, in each lane, the base or one.
    fn load_each(&mut self, is_base: impl Iterator<Item = bool>) {
        self.load(BASE);
        let one = &self.rooms.table[ONE * self.rooms.power.len()..];
        for (lane, is_base) in is_base.enumerate() {
            if !is_base {
                for (line, one) in self.rooms.power.iter_mut().zip(one) {
                    line.0[lane] = one.0[lane];
                }
            }
        }
    }

    /// The power is multiplied, in each lane, by the base or one.
    fn multiply_each(&mut self, by_base: impl Iterator<Item = bool>) {
        core::mem::swap(&mut self.rooms.power, &mut self.rooms.factor);
        self.load_each(by_base);
        core::mem::swap(&mut self.rooms.power, &mut self.rooms.factor);
        self.multiply();
    }

    fn square(&mut self) {
        let Rooms {
            moduli,
            power,
            scratch,
            ..
        } = &mut self.rooms;
        self.montgomery.square(power, moduli, scratch);
    }

    fn multiply(&mut self) {
        let Rooms {
            moduli,
            power,
            factor,
            scratch,
            ..
        } = &mut self.rooms;
        self.montgomery.multiply(power, factor, moduli, scratch);
    }

    /// As `square`. What is selected becomes, in each lane, the entry of the table that its index names,
    /// when as many parts are done as a window has squares.
    fn square_and_select(&mut self, part: usize) {
        let Rooms {
            moduli,
            power,
            scratch,
            table,
            ..
        } = &mut self.rooms;
        let (table, to) = table.split_at_mut(entry_lines(power.len()) << WINDOW);
        self.montgomery
            .square_and_select(power, moduli, scratch, to, table, &self.index, part);
    }

    /// The digits become the least number congruent to the power, which is below twice the modulus.
    /// Those that the modulus has are returned.
    fn least<'d>(&self, lane: usize, modulus: &Modulus, digits: &'d mut Digits) -> &'d [u64] {
        let digits = &mut digits.0[..self.rooms.power.len()];
        for (digit, line) in digits.iter_mut().zip(&*self.rooms.power) {
            *digit = line.0[lane] & DIGIT_MASK;
        }
        subtract_once(digits, &modulus.digits[..digits.len()]);
        digits
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let Rooms {
            moduli,
            square_of_r,
            power,
            factor,
            scratch,
            table,
        } = &mut self.rooms;
        for room in [moduli, square_of_r, power, factor, scratch, table] {
            wipe_lines(room);
        }
        wipe_lines(core::slice::from_mut(&mut self.bits));
        wipe_lines(core::slice::from_mut(&mut self.index));
    }
}

/// What lies between two exponentiations of a group. Wiped on drop.
struct Remainders<'a>(&'a mut [Line]);

impl<'a> Remainders<'a> {
    fn new(lines: &'a mut [Line]) -> Self {
        lines.fill(Line::ZERO);
        Self(lines)
    }
}

impl Drop for Remainders<'_> {
    fn drop(&mut self) {
        wipe_lines(self.0);
    }
}

/// Of one lane: twice as many as the widest modulus has. Wiped on drop.
struct Digits([u64; 2 * DIGITS_MAX]);

impl Default for Digits {
    fn default() -> Self {
        Self([0; 2 * DIGITS_MAX])
    }
}

impl Drop for Digits {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// `result = a b + addend`, which has no more digits than there is room for. `a` and `b` have half of
/// those, at most 80: the sum of a column, of products below 2^104, fits in 128 bits.
fn multiply_add(result: &mut [u64], a: &[u64], b: &[u64], addend: impl Iterator<Item = u64>) {
    let mut addend = addend.chain(core::iter::repeat(0));
    let mut sum = 0_u128;
    for (k, digit) in result.iter_mut().enumerate() {
        let first = (k + 1).saturating_sub(b.len());
        let pairs = a
            .iter()
            .skip(first)
            .zip(b[..b.len().min(k + 1)].iter().rev());
        sum += u128::from(addend.next().unwrap_or(0));
        for (a, b) in pairs {
            sum += u128::from(*a) * u128::from(*b);
        }
        *digit = sum as u64 & DIGIT_MASK;
        sum >>= DIGIT_BITS;
    }
}

/// The number as big-endian bytes; zeros that have no room are left out.
fn write_bytes(digits: &Digits, result: &mut [u8]) {
    // Two digits are 13 bytes.
    let (pairs, _) = digits.0.as_chunks();
    let pairs = pairs.iter().chain(core::iter::repeat(&[0, 0]));
    for (bytes, [low, high]) in result.rchunks_mut(2 * DIGIT_BITS / 8).zip(pairs) {
        let pair = (u128::from(*high) << DIGIT_BITS | u128::from(*low)).to_be_bytes();
        bytes.copy_from_slice(&pair[pair.len() - bytes.len()..]);
    }
}

fn set_lane(lines: &mut [Line], lane: usize, digits: &[u64]) {
    for (line, digit) in lines.iter_mut().zip(digits) {
        line.0[lane] = *digit;
    }
}

/// Digit `i` of big-endian bytes, the lowest digit being 0.
fn digit_of(big_endian: &[u8], i: usize) -> u64 {
    bits_of(big_endian, DIGIT_BITS * i, DIGIT_BITS)
}

/// `count` bits, at most `BITS_READ_MAX`, of big-endian bytes; the lowest bit is number `start`.
fn bits_of(big_endian: &[u8], start: usize, count: usize) -> u64 {
    let (first, shift) = (start / 8, start % 8);
    let bytes = &big_endian[..big_endian.len().saturating_sub(first)];
    let value = bytes.last_chunk().map_or_else(
        || {
            bytes
                .iter()
                .fold(0, |value, byte| value << 8 | u64::from(*byte))
        },
        |bytes| u64::from_be_bytes(*bytes),
    );
    value >> shift & ((1 << count) - 1)
}

/// The last digits of a difference of digits, and whether it is below 0: 1 if so.
fn subtract(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = a.wrapping_sub(b).wrapping_sub(borrow);
    (difference & DIGIT_MASK, difference >> 63)
}

/// Subtracts `modulus` from a number below twice that, where it is not below it already.
fn subtract_once(number: &mut [u64], modulus: &[u64]) {
    let mut borrow = 0;
    for (digit, subtrahend) in number.iter().zip(modulus) {
        (_, borrow) = subtract(*digit, *subtrahend, borrow);
    }
    // The compiler must not make a branch of it.
    let mask = core::hint::black_box(borrow.wrapping_sub(1));
    let mut borrow = 0;
    for (digit, subtrahend) in number.iter_mut().zip(modulus) {
        (*digit, borrow) = subtract(*digit, *subtrahend & mask, borrow);
    }
}

/// -1 / `odd` modulo 2^52. Each step doubles the number of bits that are right, of which there are
/// three at first (Dumas, "On Newton-Raphson iteration for multiplicative inverses modulo prime
/// powers", IEEE Transactions on Computers 63, 2014).
fn negative_inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg() & DIGIT_MASK
}

const DIGIT_BITS: usize = 52;
const DIGIT_MASK: u64 = (1 << DIGIT_BITS) - 1;
const DIGITS_MAX: usize = 80;
/// Whatever the number of the first, they are in eight bytes.
const BITS_READ_MAX: usize = 57;
/// R is at least 2^SPARE_BITS times a modulus.
const SPARE_BITS: usize = 8;
/// Entries of the table where the exponent is public.
const PUBLIC_ENTRIES: usize = 2;
const ONE: usize = 0;
const BASE: usize = 1;
