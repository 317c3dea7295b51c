//! A key's numbers in the form that the eight-lane kernels need.

use std::sync::OnceLock;

use oarlock_kernels::modexp::{Backend, Line, Modulus, Width, prepare};
use zeroize::Zeroize;

use crate::aws_lc::rsa::PrivateNumbers;
use oarlock_threads::locked::Locked;
use oarlock_threads::process;

/// The numbers of a private key for the kernels.
pub(crate) enum LanePrivate {
    Crt(Locked<CrtNumbers>),
    Plain(Locked<PlainNumbers>),
}

/// The numbers of a key with two primes. Wiped on drop.
pub(crate) struct CrtNumbers {
    pub(crate) width: Width,
    pub(crate) p: Modulus,
    pub(crate) q: Modulus,
    pub(crate) dp: Part,
    pub(crate) dq: Part,
    pub(crate) qinv: Part,
}

/// The numbers of a key without primes. Wiped on drop.
pub(crate) struct PlainNumbers {
    /// The width of the modulus.
    pub(crate) width: Width,
    pub(crate) d: [u8; Width::Bits4096.bytes()],
}

/// A number as long as a prime, which has at most half the bits of the longest modulus.
pub(crate) type Part = [u8; Width::Bits2048.bytes()];

impl LanePrivate {
    /// Creates the numbers of a key with two primes. Returns `None` if this machine has no lanes, or for a key with a prime
    /// that is even or much longer than half of the modulus.
    pub(crate) fn new(numbers: &PrivateNumbers<'_>, modulus_bits: usize) -> Option<Self> {
        let backend = Self::backend()?;
        let width = Width::for_bits(bits(numbers.p).max(bits(numbers.q)))?;
        if Width::for_bits(modulus_bits)?.bits() != 2 * width.bits() {
            return None;
        }
        let empty = CrtNumbers {
            width,
            p: Modulus::unset(width),
            q: Modulus::unset(width),
            dp: [0; _],
            dq: [0; _],
            qinv: [0; _],
        };
        let mut is_whole = false;
        let lanes = Locked::filled(empty, |lanes| {
            is_whole = lanes.fill(backend, numbers).is_some()
        });
        is_whole.then_some(Self::Crt(lanes))
    }

    /// Returns the preferred backend. Keys are created without an accelerator, so this reads the mask itself; an invalid
    /// mask, which every accelerator rejects, means no backend.
    fn backend() -> Option<Backend> {
        Backend::preferred(crate::mask::visible_cpu().ok()?)
    }

    /// Creates the numbers of a key that has only its private exponent, which is no longer than the modulus.
    pub(crate) fn without_primes(d: &[u8], modulus_bits: usize) -> Option<Self> {
        Self::backend()?;
        let width = Width::for_bits(modulus_bits)?;
        let empty = PlainNumbers { width, d: [0; _] };
        let lanes = Locked::filled(empty, |lanes| set_part(&mut lanes.d, d));
        Some(Self::Plain(lanes))
    }
}

impl CrtNumbers {
    fn fill(&mut self, backend: Backend, numbers: &PrivateNumbers<'_>) -> Option<()> {
        self.p.set(numbers.p).ok()?;
        self.q.set(numbers.q).ok()?;
        let mut workspace = vec![Line::ZERO; self.width.public_workspace_lines()];
        prepare(backend, &mut [&mut self.p, &mut self.q], &mut workspace).ok()?;
        set_part(&mut self.dp, numbers.dp);
        set_part(&mut self.dq, numbers.dq);
        set_part(&mut self.qinv, numbers.qinv);
        Some(())
    }

    pub(crate) fn part<'a>(&self, part: &'a Part) -> &'a [u8] {
        &part[part.len() - self.width.bytes()..]
    }
}

impl Drop for CrtNumbers {
    fn drop(&mut self) {
        // The moduli wipe themselves on drop.
        self.dp.zeroize();
        self.dq.zeroize();
        self.qinv.zeroize();
    }
}

impl Drop for PlainNumbers {
    fn drop(&mut self) {
        self.d.zeroize();
    }
}

/// Writes a number to `part` with leading zeros. Bytes that do not fit must be zeros.
fn set_part(part: &mut [u8], number: &[u8]) {
    let number = &number[number.len().saturating_sub(part.len())..];
    let at = part.len() - number.len();
    part[at..].copy_from_slice(number);
}

/// A public modulus in the kernels' form, set up when it is first used with them.
#[derive(Default)]
pub(crate) struct LaneModulus(OnceLock<Option<Box<Modulus>>>);

impl LaneModulus {
    /// Returns the modulus `n`, which has `bits` bits, in the kernels' form.
    pub(crate) fn prepared(&self, backend: Backend, n: &[u8], bits: usize) -> Option<&Modulus> {
        let make = || {
            let width = Width::for_bits(bits)?;
            let mut modulus = Box::new(Modulus::unset(width));
            modulus.set(n).ok()?;
            let mut workspace = vec![Line::ZERO; width.public_workspace_lines()];
            prepare(backend, &mut [&mut *modulus], &mut workspace).ok()?;
            Some(modulus)
        };
        let modulus = match self.0.get() {
            Some(modulus) => modulus,
            // A forked child must not find it half set up and wait forever.
            None => process::undivided(|| self.0.get_or_init(make)),
        };
        modulus.as_deref()
    }
}

/// Returns the length of a number in bits, without leading zeros.
fn bits(big_endian: &[u8]) -> usize {
    let zeros = big_endian.iter().take_while(|byte| **byte == 0).count();
    let digits = &big_endian[zeros..];
    8 * digits.len()
        - digits
            .first()
            .map_or(0, |first| first.leading_zeros() as usize)
}
