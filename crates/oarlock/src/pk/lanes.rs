//! Eight requests at once, each with a key of its own, by the kernels for AVX-512 IFMA; fewer where
//! that pays, and each alone by aws-lc where not.
//!
//! ```text
//! private   m = c ^ d mod n from its parts modulo p and q; then m ^ e mod n, which must be c
//! public    c = m ^ e mod n
//! ```
//!
//! The kernels are constant-time, so nothing is blinded. A result that does not pass its check is
//! not released: aws-lc computes it anew, with a check of its own.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::modexp::{
    CrtLane, Ifma, LANES, Lane, Line, Modulus, PublicLane, Width, exponentiate, exponentiate_crt,
    exponentiate_public, prepare,
};
use zeroize::{Zeroize, Zeroizing};

use super::key::Holder;
use super::modexp::Modulus as PowerModulus;
use super::{PublicKeyRequest, RsaPrivateKey, RsaPublicKey, Work};
use crate::Error;
use crate::costs::median;
use crate::costs::stats::PublicKeyStats;
use crate::device::software::rsa::PrivateNumbers;
use crate::device::{PublicKeyOperation, Shape, complete};
use crate::threads::job::{Engine, Outcome};
use crate::threads::locked::Locked;
use crate::threads::process;

/// What can be computed together, by number: see [`Class::number`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// With nothing else.
    Alone,
    /// Private operations with primes of this width.
    Private(Width),
    /// Public operations with moduli of this width.
    Public(Width),
    /// Powers with moduli of this width and exponents of about as many bits: raw ones, and private
    /// operations without primes.
    Power(Width),
    /// Private operations of keys that devices hold which take several at once.
    Held,
}

impl Class {
    pub(super) fn of(work: &Work) -> Self {
        match work {
            Work::Private(key, _) => Self::of_private(key),
            Work::Public(key, _) => Self::of_public(key),
            Work::Power(modulus, request) => Self::of_power(modulus, request.exponent_bytes()),
        }
    }

    pub(super) fn of_private(key: &RsaPrivateKey) -> Self {
        match &key.parts().lanes {
            None if key.holder().is_some_and(Holder::batches) => Self::Held,
            None => Self::Alone,
            Some(PrivateLanes::Crt(lanes)) => Self::Private(lanes.width),
            Some(PrivateLanes::Plain(lanes)) => Self::Power(lanes.width),
        }
    }

    /// All lanes take the time of the longest exponent, so that those that are much shorter, or
    /// longer, are computed alone; and so are those of moduli much shorter than any width.
    pub(super) fn of_power(modulus: &PowerModulus, exponent_bytes: usize) -> Self {
        let bits = modulus.bits();
        match Width::for_bits(bits) {
            Some(width)
                if bits > BITS_MIN
                    && exponent_bytes <= width.bytes()
                    && exponent_bytes > width.bytes() / 2 =>
            {
                Self::Power(width)
            }
            _ => Self::Alone,
        }
    }

    /// Of requests of a shape; none where they need the device that holds their key.
    pub(super) fn of_shape(shape: &Shape) -> Option<Self> {
        let width =
            Width::for_bits(shape.modulus_bits).filter(|width| width.bits() == shape.modulus_bits);
        Some(match (&shape.operation, width) {
            (PublicKeyOperation::Held(_), _) => return None,
            (_, None) => Self::Alone,
            (PublicKeyOperation::PrivateByPrimes, Some(width)) => {
                Width::for_bits(width.bits() / 2).map_or(Self::Alone, Self::Private)
            }
            (PublicKeyOperation::PrivateByExponent, Some(width)) => Self::Power(width),
            (PublicKeyOperation::Public, Some(width)) => Self::Public(width),
            (PublicKeyOperation::Power, Some(width)) => {
                if shape.exponent_bits == width.bits() {
                    Self::Power(width)
                } else {
                    Self::Alone
                }
            }
        })
    }

    /// Of the moduli of its requests.
    pub(super) fn modulus_bits(self) -> Option<usize> {
        match self {
            Self::Alone | Self::Held => None,
            Self::Private(width) => Some(2 * width.bits()),
            Self::Public(width) | Self::Power(width) => Some(width.bits()),
        }
    }

    pub(super) fn of_public(key: &RsaPublicKey) -> Self {
        Width::for_bits(key.bits()).map_or(Self::Alone, Self::Public)
    }

    pub(crate) const fn number(self) -> usize {
        match self {
            Self::Alone => 0,
            Self::Private(width) => 1 + width as usize,
            Self::Public(width) => 1 + WIDTHS + width as usize,
            Self::Power(width) => 1 + 2 * WIDTHS + width as usize,
            Self::Held => CLASSES - 1,
        }
    }

    fn numbered(number: usize) -> Self {
        match number {
            0 => Self::Alone,
            number if number == CLASSES - 1 => Self::Held,
            number => {
                let width = Width::ALL[(number - 1) % WIDTHS];
                match (number - 1) / WIDTHS {
                    0 => Self::Private(width),
                    1 => Self::Public(width),
                    _ => Self::Power(width),
                }
            }
        }
    }

    /// Of one alone, until it has been measured: on a Xeon of 2023, as on others within a factor of
    /// two.
    pub(super) const fn first_cost_us(self) -> u32 {
        match self {
            Self::Alone | Self::Held => 1000,
            Self::Private(width) => [90, 180, 300, 780, 1500, 4500, 10_000][width as usize],
            Self::Public(width) => [2, 4, 6, 10, 16, 32, 55][width as usize],
            Self::Power(width) => [40, 130, 150, 550, 1000, 3000, 6000][width as usize],
        }
    }
}

/// The most requests that a device which holds keys is given at once.
const HELD_MAX: usize = 64;
const WIDTHS: usize = Width::ALL.len();
const CLASSES: usize = 2 + 3 * WIDTHS;

/// Computes what the queue of jobs holds.
pub(crate) struct Lanes {
    ifma: Option<Ifma>,
    costs: [Cost; CLASSES],
    /// Used before, and wiped.
    workspaces: Mutex<Vec<Vec<Line>>>,
    counts: Counts,
}

/// What requests take, in ns.
struct Cost {
    /// One alone, by aws-lc.
    alone: AtomicU32,
    /// A few of private operations: both primes lie beside each other in the lanes.
    half: AtomicU32,
    /// A group of any other size.
    group: AtomicU32,
}

impl Cost {
    /// Of so many in lanes.
    fn of_group(&self, class: usize, size: usize) -> &AtomicU32 {
        match Class::numbered(class) {
            Class::Private(_) if 2 * size <= LANES => &self.half,
            _ => &self.group,
        }
    }
}

#[derive(Default)]
struct Counts {
    alone: AtomicU64,
    groups: AtomicU64,
    in_groups: AtomicU64,
    faults: AtomicU64,
}

impl Lanes {
    pub(crate) fn new(cpu: Cpu) -> Self {
        Self {
            ifma: Ifma::new(cpu),
            costs: std::array::from_fn(|number| {
                let class = Class::numbered(number);
                let alone = 1000 * class.first_cost_us();
                let half = match class {
                    Class::Private(Width::Bits512) => 7 * (alone / 10),
                    _ => 5 * (alone / 4),
                };
                Cost {
                    alone: AtomicU32::new(alone),
                    half: AtomicU32::new(half),
                    group: AtomicU32::new(2 * half),
                }
            }),
            workspaces: Mutex::default(),
            counts: Counts::default(),
        }
    }

    /// Whether there are lanes to meet others in.
    pub(crate) fn are_there(&self) -> bool {
        self.ifma.is_some()
    }

    /// Of requests so far.
    pub(crate) fn stats(&self) -> PublicKeyStats {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PublicKeyStats {
            alone: count(&self.counts.alone),
            groups: count(&self.counts.groups),
            in_groups: count(&self.counts.in_groups),
            faults: count(&self.counts.faults),
            waiting: 0,
        }
    }

    /// Whether so many at once, which may be one, are better computed in lanes.
    pub(crate) fn pays(&self, class: usize, size: usize) -> bool {
        let is_alone = matches!(Class::numbered(class), Class::Alone | Class::Held);
        if is_alone || self.ifma.is_none() {
            return false;
        }
        let alone = u64::from(self.costs[class].alone.load(Ordering::Relaxed));
        let lanes = self.costs[class].of_group(class, size);
        let lanes_cost = lanes.load(Ordering::Relaxed);
        // One alone changes sides for a clear gain only.
        let limit = if size == 1 {
            15 * alone / 16
        } else {
            size as u64 * alone
        };
        if u64::from(lanes_cost) < limit {
            return true;
        }
        // What is not done is not measured: it is given another chance by and by.
        lanes.store(lanes_cost - lanes_cost / 1024, Ordering::Relaxed);
        false
    }

    /// How many together are computed fastest, and what those take.
    pub(super) fn best_group(&self, class: usize) -> (usize, Duration) {
        let load = |cost: &AtomicU32| Duration::from_nanos(cost.load(Ordering::Relaxed).into());
        let costs = &self.costs[class];
        if self.pays(class, LANES) {
            (LANES, load(&costs.group))
        } else {
            (1, load(&costs.alone))
        }
    }

    /// Runs a request that somebody computes alone, and learns what that takes.
    pub(crate) fn alone<T>(&self, class: Class, run: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = run();
        median::learn(&self.costs[class.number()].alone, began.elapsed());
        self.counts.alone.fetch_add(1, Ordering::Relaxed);
        result
    }

    /// What comes of one request in lanes.
    pub(crate) fn run_one(&self, class: usize, work: Work) -> Outcome<Zeroizing<Vec<u8>>> {
        let mut result = None;
        self.run(class, vec![work], &mut |_, outcome| result = Some(outcome));
        result.unwrap_or(Err(Error::Cancelled))
    }

    /// Answers every request of a group that has been reduced to numbers.
    fn compute(&self, ifma: Ifma, class: Class, requests: &mut [Request]) {
        let mut workspace = self.workspace(class);
        match class {
            Class::Alone | Class::Held => {}
            Class::Private(_) => {
                private(ifma, requests, &mut workspace);
                #[cfg(test)]
                tests::plant_faults(requests);
                self.check(ifma, requests, &mut workspace);
            }
            Class::Public(_) => public(ifma, requests, &mut workspace),
            Class::Power(_) => {
                power(ifma, requests, &mut workspace);
                self.check(ifma, requests, &mut workspace);
            }
        }
        self.keep(workspace);
    }

    /// Takes back the results of private operations that are wrong.
    fn check(&self, ifma: Ifma, requests: &mut [Request], workspace: &mut [Line]) {
        let mut checks: Vec<_> = requests
            .iter()
            .map(|request| vec![0; request.result.as_ref().map_or(0, |result| result.len())])
            .collect();
        {
            let mut lanes: Vec<_> = requests
                .iter()
                .zip(&mut checks)
                .filter_map(|(request, check)| {
                    let key = request.private_key()?;
                    Some(PublicLane {
                        modulus: modulus(key, ifma)?,
                        base: request.result.as_ref()?,
                        exponent: key.parts().short_exponent,
                        result: check,
                    })
                })
                .collect();
            if lanes.is_empty() {
                return;
            }
            if exponentiate_public(ifma, &mut lanes, workspace).is_err() {
                requests
                    .iter_mut()
                    .for_each(|request| request.result = None);
                return;
            }
        }
        for (request, check) in requests.iter_mut().zip(&checks) {
            if request.private_key().is_none() {
                continue;
            }
            let is_right = are_equal(&request.operand, check);
            if !is_right {
                request.result = None;
                self.counts.faults.fetch_add(1, Ordering::Relaxed);
                log::warn!(
                    "RSA: a result that was computed in lanes does not agree with the public key of \
                     {} bits, and is computed anew by aws-lc: a prime of the key is none, or the \
                     machine computes wrongly",
                    request.work.bits()
                );
            }
        }
    }

    fn workspace(&self, class: Class) -> Vec<Line> {
        let lines = match class {
            Class::Alone | Class::Held => 0,
            Class::Private(width) => {
                let twice = Width::for_bits(2 * width.bits());
                let check = twice.map_or(0, Width::public_workspace_lines);
                width.crt_workspace_lines().max(check)
            }
            Class::Public(width) => width.public_workspace_lines(),
            Class::Power(width) => width.workspace_lines(),
        };
        let kept = process::undivided(|| {
            let mut kept = self
                .workspaces
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            kept.pop()
        });
        let mut workspace = kept.unwrap_or_default();
        if workspace.len() < lines {
            workspace.resize(lines, Line::ZERO);
        }
        workspace
    }

    fn keep(&self, workspace: Vec<Line>) {
        let dropped = process::undivided(|| {
            let mut kept = self
                .workspaces
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if kept.len() < WORKSPACES_MAX {
                kept.push(workspace);
                None
            } else {
                Some(workspace)
            }
        });
        drop(dropped);
    }
}

impl Engine for Lanes {
    type Work = Work;
    type Output = Zeroizing<Vec<u8>>;

    const CLASSES: usize = CLASSES;
    const GROUP_MAX: usize = LANES;

    fn class(&self, work: &Work) -> usize {
        Class::of(work).number()
    }

    fn group_size(&self, class: usize, waiting: usize) -> usize {
        if class == Class::Held.number() {
            return waiting.clamp(1, HELD_MAX);
        }
        // Fewer are done sooner, and leave some for another thread; more are checked at once.
        let few = matches!(Class::numbered(class), Class::Private(_)) && waiting < 2 * LANES;
        let size = waiting.min(if few { LANES / 2 } else { LANES });
        if self.pays(class, size) { size } else { 1 }
    }

    fn cost(&self, class: usize) -> Duration {
        let alone = self.costs[class].alone.load(Ordering::Relaxed);
        Duration::from_nanos(alone.into())
    }

    fn run(
        &self,
        class: usize,
        works: Vec<Work>,
        answer: &mut dyn FnMut(usize, Outcome<Zeroizing<Vec<u8>>>),
    ) {
        if class == Class::Held.number() {
            return held(works, answer);
        }
        let began = Instant::now();
        let size = works.len();
        let in_lanes = size > 1 || self.pays(class, size);
        let mut requests = Vec::with_capacity(works.len());
        for (place, work) in works.into_iter().enumerate() {
            match work.operand() {
                Ok(operand) => requests.push(Request {
                    place,
                    work,
                    operand,
                    result: None,
                }),
                Err(error) => answer(place, Err(error)),
            }
        }
        if in_lanes && let Some(ifma) = self.ifma {
            self.compute(ifma, Class::numbered(class), &mut requests);
            self.counts.groups.fetch_add(1, Ordering::Relaxed);
            let count = requests.len() as u64;
            self.counts.in_groups.fetch_add(count, Ordering::Relaxed);
        } else {
            let count = requests.len() as u64;
            self.counts.alone.fetch_add(count, Ordering::Relaxed);
        }
        for request in requests {
            let Request {
                place,
                work,
                operand,
                result,
            } = request;
            let result = result.map_or_else(|| work.power(&operand), Ok);
            answer(place, result.and_then(|result| work.result(result)));
        }
        let cost = &self.costs[class];
        let cost = if in_lanes {
            cost.of_group(class, size)
        } else {
            &cost.alone
        };
        median::learn(cost, began.elapsed());
    }
}

/// Gives requests of keys that devices hold to those, as many at once as each has.
fn held(works: Vec<Work>, answer: &mut dyn FnMut(usize, Outcome<Zeroizing<Vec<u8>>>)) {
    let mut left: Vec<_> = Vec::with_capacity(works.len());
    for (place, work) in works.into_iter().enumerate() {
        match PublicKeyRequest::of(work) {
            Ok(request) => left.push((place, request)),
            Err(error) => answer(place, Err(error)),
        }
    }
    while let Some(holder) = left.first().and_then(|(_, request)| request.holder()) {
        let device = Arc::clone(holder.device());
        let is_there = |(_, request): &(usize, PublicKeyRequest)| {
            request
                .holder()
                .is_some_and(|other| Arc::ptr_eq(other.device(), &device))
        };
        let (batch, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_there);
        let requests: Vec<_> = batch.iter().map(|(_, request)| request).collect();
        complete(&*device, &requests, &mut |at, result| {
            answer(batch[at].0, result)
        });
        left = others;
    }
}

/// One of a group.
struct Request {
    place: usize,
    work: Work,
    operand: Zeroizing<Vec<u8>>,
    /// None: to be computed, or to be computed anew.
    result: Option<Zeroizing<Vec<u8>>>,
}

impl Request {
    /// Of a request whose result has to be checked, the key's public half.
    fn private_key(&self) -> Option<&RsaPublicKey> {
        match &self.work {
            Work::Private(key, _) => Some(key.public_key()),
            Work::Public(..) | Work::Power(..) => None,
        }
    }
}

/// The results of private operations, unchecked.
fn private(ifma: Ifma, requests: &mut [Request], workspace: &mut [Line]) {
    let mut lanes: Vec<_> = requests
        .iter_mut()
        .filter_map(|request| {
            let Work::Private(key, _) = &request.work else {
                return None;
            };
            let Some(PrivateLanes::Crt(numbers)) = &key.parts().lanes else {
                return None;
            };
            let result = vec![0; numbers.p.bytes() + numbers.q.bytes()];
            Some(CrtLane {
                p: &numbers.p,
                q: &numbers.q,
                dp: numbers.part(&numbers.dp),
                dq: numbers.part(&numbers.dq),
                qinv: numbers.part(&numbers.qinv),
                base: &request.operand,
                result: request.result.insert(Zeroizing::new(result)),
            })
        })
        .collect();
    let done = exponentiate_crt(ifma, &mut lanes, workspace);
    drop(lanes);
    for request in requests {
        if done.is_err() {
            request.result = None;
        }
        // The modulus may have a byte less than both primes.
        let bytes = request.operand.len();
        if let Some(result) = &mut request.result {
            let more = result.len().saturating_sub(bytes);
            result.drain(..more);
        }
    }
}

fn public(ifma: Ifma, requests: &mut [Request], workspace: &mut [Line]) {
    let mut lanes: Vec<_> = requests
        .iter_mut()
        .filter_map(|request| {
            let Work::Public(key, _) = &request.work else {
                return None;
            };
            let result = Zeroizing::new(vec![0; key.bytes()]);
            Some(PublicLane {
                modulus: modulus(key, ifma)?,
                base: &request.operand,
                exponent: key.parts().short_exponent,
                result: request.result.insert(result),
            })
        })
        .collect();
    let done = exponentiate_public(ifma, &mut lanes, workspace);
    drop(lanes);
    if done.is_err() {
        requests
            .iter_mut()
            .for_each(|request| request.result = None);
    }
}

/// The results of powers, unchecked.
fn power(ifma: Ifma, requests: &mut [Request], workspace: &mut [Line]) {
    let exponents: Vec<_> = requests
        .iter()
        .map(|request| match &request.work {
            Work::Power(_, request) => request.big_endian_exponent(),
            _ => Zeroizing::default(),
        })
        .collect();
    let mut lanes: Vec<_> = requests
        .iter_mut()
        .zip(&exponents)
        .filter_map(|(request, exponent)| {
            let (modulus, exponent) = match &request.work {
                Work::Power(modulus, _) => (modulus.lanes(ifma)?, &exponent[..]),
                Work::Private(key, _) => match &key.parts().lanes {
                    Some(PrivateLanes::Plain(lanes)) => {
                        let public = key.public_key();
                        let d = &lanes.d[lanes.d.len() - public.bytes()..];
                        (modulus(public, ifma)?, d)
                    }
                    _ => return None,
                },
                Work::Public(..) => return None,
            };
            let result = Zeroizing::new(vec![0; request.operand.len()]);
            Some(Lane {
                modulus,
                base: &request.operand,
                exponent,
                result: request.result.insert(result),
            })
        })
        .collect();
    let done = exponentiate(ifma, &mut lanes, workspace);
    drop(lanes);
    if done.is_err() {
        requests
            .iter_mut()
            .for_each(|request| request.result = None);
    }
}

/// What the kernels need of a private key.
pub(super) enum PrivateLanes {
    Crt(Locked<CrtNumbers>),
    Plain(Locked<PlainNumbers>),
}

/// Wiped on drop.
pub(super) struct CrtNumbers {
    width: Width,
    p: Modulus,
    q: Modulus,
    dp: Part,
    dq: Part,
    qinv: Part,
}

/// Wiped on drop.
pub(super) struct PlainNumbers {
    /// Of the modulus.
    width: Width,
    d: [u8; Width::Bits4096.bytes()],
}

/// A number as long as a prime, which has no more than half of the longest modulus.
type Part = [u8; Width::Bits2048.bytes()];

impl PrivateLanes {
    /// None where there are no lanes on this machine, and for keys of which a prime is far longer
    /// than half of the modulus, or even.
    pub(super) fn new(numbers: &PrivateNumbers<'_>, modulus_bits: usize) -> Option<Self> {
        let ifma = Ifma::new(Cpu::detect())?;
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
            is_whole = lanes.fill(ifma, numbers).is_some()
        });
        is_whole.then_some(Self::Crt(lanes))
    }

    /// For a key that has none but its private exponent, which is no longer than the modulus.
    pub(super) fn without_primes(d: &[u8], modulus_bits: usize) -> Option<Self> {
        Ifma::new(Cpu::detect())?;
        let width = Width::for_bits(modulus_bits)?;
        let empty = PlainNumbers { width, d: [0; _] };
        let lanes = Locked::filled(empty, |lanes| set_part(&mut lanes.d, d));
        Some(Self::Plain(lanes))
    }
}

impl CrtNumbers {
    fn fill(&mut self, ifma: Ifma, numbers: &PrivateNumbers<'_>) -> Option<()> {
        self.p.set(numbers.p).ok()?;
        self.q.set(numbers.q).ok()?;
        let mut workspace = vec![Line::ZERO; self.width.public_workspace_lines()];
        prepare(ifma, &mut [&mut self.p, &mut self.q], &mut workspace).ok()?;
        set_part(&mut self.dp, numbers.dp);
        set_part(&mut self.dq, numbers.dq);
        set_part(&mut self.qinv, numbers.qinv);
        Some(())
    }

    fn part<'a>(&self, part: &'a Part) -> &'a [u8] {
        &part[part.len() - self.width.bytes()..]
    }
}

impl Drop for CrtNumbers {
    fn drop(&mut self) {
        // The moduli wipe themselves.
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

/// With zeros before it. What does not fit is zeros.
fn set_part(part: &mut [u8], number: &[u8]) {
    let number = &number[number.len().saturating_sub(part.len())..];
    let at = part.len() - number.len();
    part[at..].copy_from_slice(number);
}

/// What the kernels need of a public modulus, made when it is first used with them.
#[derive(Default)]
pub(super) struct LaneModulus(OnceLock<Option<Box<Modulus>>>);

impl LaneModulus {
    /// For the modulus `n`, of so many bits.
    pub(super) fn prepared(&self, ifma: Ifma, n: &[u8], bits: usize) -> Option<&Modulus> {
        let make = || {
            let width = Width::for_bits(bits)?;
            let mut modulus = Box::new(Modulus::unset(width));
            modulus.set(n).ok()?;
            let mut workspace = vec![Line::ZERO; width.public_workspace_lines()];
            prepare(ifma, &mut [&mut *modulus], &mut workspace).ok()?;
            Some(modulus)
        };
        let modulus = match self.0.get() {
            Some(modulus) => modulus,
            // A child must not find it half made, and wait.
            None => process::undivided(|| self.0.get_or_init(make)),
        };
        modulus.as_deref()
    }
}

fn modulus(key: &RsaPublicKey, ifma: Ifma) -> Option<&Modulus> {
    key.parts().lanes.prepared(ifma, key.modulus(), key.bits())
}

/// In time that depends on lengths alone, and less of it than byte by byte: what a wrong result
/// becomes tells something of the key.
fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

/// Without leading zeros.
fn bits(big_endian: &[u8]) -> usize {
    let zeros = big_endian.iter().take_while(|byte| **byte == 0).count();
    let digits = &big_endian[zeros..];
    8 * digits.len()
        - digits
            .first()
            .map_or(0, |first| first.leading_zeros() as usize)
}

/// As many as are used at once on two dozen CPUs.
const WORKSPACES_MAX: usize = 24;
/// Below this aws-lc is faster alone than the narrowest width.
const BITS_MIN: usize = 448;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;

    use super::super::{ByteOrder, PrivateRequest, PublicRequest};
    use super::*;
    use crate::device::software::rsa::SoftwareRsa;
    use crate::{Accelerator, Error, Hash, SignatureScheme};

    thread_local! {
        /// Lanes whose results are to be wrong on this thread, as bits.
        static FAULTS: Cell<u32> = const { Cell::new(0) };
    }

    pub(super) fn plant_faults(requests: &mut [Request]) {
        for (lane, request) in requests.iter_mut().enumerate() {
            if FAULTS.get() >> lane & 1 == 1
                && let Some(result) = &mut request.result
            {
                let at = lane % result.len();
                result[at] ^= 1 << lane;
            }
        }
    }

    fn run(lanes: &Lanes, works: Vec<Work>) -> Vec<Outcome<Zeroizing<Vec<u8>>>> {
        let class = lanes.class(&works[0]);
        let mut outcomes: Vec<_> = works.iter().map(|_| None).collect();
        lanes.run(class, works, &mut |place, outcome| {
            assert!(outcomes[place].replace(outcome).is_none(), "answered twice");
        });
        outcomes.into_iter().map(Option::unwrap).collect()
    }

    fn raw(key: &RsaPrivateKey, operand: &[u8]) -> Work {
        let operand = Zeroizing::new(operand.to_vec());
        Work::Private(key.clone(), PrivateRequest::Raw { operand })
    }

    /// What aws-lc makes of it.
    fn alone(work: &Work) -> Zeroizing<Vec<u8>> {
        let operand = work.operand().unwrap();
        work.result(work.power(&operand).unwrap()).unwrap()
    }

    fn key(bits: usize) -> RsaPrivateKey {
        let path = format!("{}/tests/keys/rsa{bits}.pem", env!("CARGO_MANIFEST_DIR"));
        RsaPrivateKey::from_pem(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// One whose prime p is none: see tests/rsa.rs.
    fn bad_key() -> RsaPrivateKey {
        let numbers: Vec<Vec<u8>> = include_str!("../../tests/keys/composite.txt")
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

    /// Made anew in each run, of a number of bits that is a multiple of 128.
    fn random_key(bits: usize) -> RsaPrivateKey {
        RsaPrivateKey::from_der(&SoftwareRsa::generate_der(bits)).unwrap()
    }

    fn operands(key: &RsaPublicKey) -> Vec<Vec<u8>> {
        let n = key.modulus();
        let small = |value| [vec![0; n.len() - 1], vec![value]].concat();
        // Odd, so that each is less; its last byte may be 1.
        let large = |mask| [&n[..n.len() - 1], &[n[n.len() - 1] & mask]].concat();
        let mut operands = vec![small(0), small(1), small(2), large(!1), large(!3)];
        for _ in 0..3 {
            let mut random = vec![0; n.len()];
            crate::device::software::rsa::fill_random(&mut random[1..]);
            operands.push(random);
        }
        operands
    }

    #[test]
    fn lanes_and_aws_lc_agree_over_random_keys_and_edge_operands() {
        let lanes = Lanes::new(Cpu::detect());
        for bits in [1024, 1152, 1536, 1664, 2048, 2304, 3072, 3200, 4096] {
            let key = random_key(bits);
            let public = key.public_key();
            let operands = operands(public);
            let works = || operands.iter().map(|operand| raw(&key, operand));
            let powers = run(&lanes, works().collect());
            for (work, power) in works().zip(&powers) {
                assert_eq!(*alone(&work), **power.as_ref().unwrap(), "{bits}");
            }
            // And back.
            let works = powers.into_iter().map(|power| {
                let operand = power.unwrap();
                Work::Public(public.clone(), PublicRequest::Raw { operand })
            });
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
        let lanes = Lanes::new(Cpu::detect());
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
                let der = SoftwareRsa::generate_der(1152);
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
        assert_eq!(
            Class::of(&works().next().unwrap()),
            Class::Power(Width::Bits1536)
        );
        for (work, power) in works().zip(run(&lanes, works().collect())) {
            assert_eq!(alone(&work), power.unwrap());
        }
        assert_eq!(lanes.stats().faults, 0);
    }

    #[test]
    fn powers_of_every_width_agree_with_aws_lc() {
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        let lanes = Lanes::new(Cpu::detect());
        for bits in [
            449, 512, 700, 768, 1024, 1500, 2048, 3000, 3072, 4000, 4096usize,
        ] {
            let works = || {
                (0..8u8).map(|lane| {
                    let bytes = bits.div_ceil(8);
                    let mut modulus = vec![0x5a ^ lane; bytes];
                    modulus[0] = 1 << ((bits - 1) % 8);
                    *modulus.last_mut().unwrap() |= 1;
                    let modulus = accelerator.modexp(&modulus, ByteOrder::BigEndian).unwrap();
                    let exponent = vec![0xa7 ^ lane; bytes - usize::from(lane % 3)];
                    modulus.work(
                        &vec![0xc3 ^ lane; bytes + 40 * usize::from(lane % 2)],
                        &exponent,
                    )
                })
            };
            let first = works().next().unwrap();
            assert!(matches!(Class::of(&first), Class::Power(_)), "{bits}");
            for (work, power) in works().zip(run(&lanes, works().collect())) {
                assert_eq!(alone(&work), power.unwrap(), "{bits}");
            }
        }
    }

    #[test]
    fn a_bad_key_in_any_lane_of_any_group_fails_alone() {
        let (good, bad) = (key(2048), bad_key());
        // A good key of the bad one's width.
        let good = if bad.public_key().bits() == 2048 {
            good
        } else {
            key(1024)
        };
        let lanes = Lanes::new(Cpu::detect());
        for size in 1..=LANES {
            for lane in 0..size {
                let works = || {
                    (0..size).map(|at| raw(if at == lane { &bad } else { &good }, &[at as u8 + 3]))
                };
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
            // One alone may be computed either way.
            assert!(lanes.stats().faults >= (2..=LANES as u64).sum::<u64>());
        }
    }

    #[test]
    fn a_fault_in_any_lane_is_seen_and_computed_anew() {
        let lanes = Lanes::new(Cpu::detect());
        if !lanes.are_there() {
            return;
        }
        let key = key(1024);
        let mut faults_due = 0;
        for faults in (0..LANES)
            .map(|lane| 1 << lane)
            .chain([0, 0b1010_0110, 0xff])
        {
            FAULTS.set(faults);
            let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
            let works = (0..LANES as u8).map(|at| {
                let message = Zeroizing::new(vec![at]);
                Work::Private(key.clone(), PrivateRequest::Sign { scheme, message })
            });
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
        let lanes = Lanes::new(Cpu::detect());
        let class = Class::Private(Width::Bits1024).number();
        assert_eq!(lanes.group_size(Class::Alone.number(), 8), 1);
        if !lanes.are_there() {
            assert_eq!(lanes.group_size(class, 8), 1);
            return;
        }
        let sizes = [1, 2, 3, 4, 8, 15, 16, 64];
        let taken = sizes.map(|waiting| lanes.group_size(class, waiting));
        assert_eq!(taken, [1, 2, 3, 4, 4, 4, 8, 8]);
        let public = Class::Public(Width::Bits2048).number();
        let taken = sizes.map(|waiting| lanes.group_size(public, waiting));
        assert_eq!(taken, [1, 1, 3, 4, 8, 8, 8, 8]);
        lanes.costs[class].half.store(u32::MAX, Ordering::Relaxed);
        let tries = (0..)
            .take_while(|_| lanes.group_size(class, 4) == 1)
            .take(100_000);
        assert!((1000..100_000).contains(&tries.count()));
    }
}
