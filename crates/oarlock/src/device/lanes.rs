//! Up to eight requests at once, each with a key of its own, by the kernels for AVX-512 IFMA or FMA;
//! fewer where that pays, and each alone by aws-lc where not.
//!
//! ```text
//! private   m = c ^ d mod n from its parts modulo p and q; then m ^ e mod n, which must be c
//! public    c = m ^ e mod n
//! ```
//!
//! The kernels are constant-time, so nothing is blinded. A result that does not pass its check is
//! not released: aws-lc computes it anew, with a check of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::modexp::{
    Backend, CrtLane, LANES, Lane, Line, PublicLane, Width, exponentiate, exponentiate_crt,
    exponentiate_public,
};
use zeroize::Zeroizing;

use crate::Error;
use crate::costs::began::Began;
use crate::costs::lanes::LaneCosts;
use crate::costs::published::{Other, Shown};
use crate::costs::stats::PublicKeyStats;
use crate::threads::page::Gauge;
use crate::threads::process;
use crate::work::algorithm::Direction;
use crate::work::lane_numbers::LanePrivate;
use crate::work::request::{Buffer, PublicKeyRequest, TargetRef};
use crate::work::rsa::key::{RsaPrivateKey, RsaPublicKey};
use crate::work::shape::{BatchKey, BatchKind};

/// Computes powers, in lanes where that pays.
pub(crate) struct Lanes {
    backend: Option<Backend>,
    costs: LaneCosts,
    /// Used before, and wiped.
    workspaces: Mutex<Vec<Vec<Line>>>,
    counts: LaneCounts,
    shown: Shown,
}

#[derive(Default)]
struct LaneCounts {
    alone: AtomicU64,
    groups: AtomicU64,
    in_groups: AtomicU64,
    faults: AtomicU64,
}

/// Takes the power of the request at a place of the batch.
type Powers<'a> = dyn FnMut(usize, Result<Buffer, Error>) + 'a;

impl Lanes {
    pub(crate) fn new(cpu: Cpu) -> Self {
        let backend = Backend::preferred(cpu);
        Self {
            backend,
            costs: LaneCosts::new(backend.map_or(LANES, Backend::lanes_at_once)),
            workspaces: Mutex::default(),
            counts: LaneCounts::default(),
            shown: Shown::default(),
        }
    }

    /// Whether there are lanes to meet others in.
    pub(crate) fn are_there(&self) -> bool {
        self.backend.is_some()
    }

    /// The name of the lanes, and how many there are.
    pub(crate) fn names(&self) -> Option<(&'static str, usize)> {
        let backend = self.backend?;
        Some((backend.name(), backend.lanes_at_once()))
    }

    /// Before there are requests.
    pub(crate) fn show(&mut self, shown: Shown) {
        self.shown = shown;
    }

    pub(crate) fn shown(&self) -> Shown {
        self.shown
    }

    /// Counts requests for others to see.
    fn show_requests(&self, key: BatchKey, count: usize, is_group: bool) {
        let what = match key.kind() {
            BatchKind::Private => Other::PrivateKey,
            _ => Other::PublicKey,
        };
        // Their bytes say nothing.
        self.shown
            .count_other(what, Direction::Encrypt, count as u64, 0);
        if is_group {
            self.shown.add(Gauge::Groups, 1);
            self.shown.add(Gauge::InGroups, count as i64);
        } else {
            self.shown.add(Gauge::Alone, count as i64);
        }
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

    /// Whether so many at once, which may be one, are better computed in lanes. What does not pay is tried now and then:
    /// who asks does as it says, or never learns.
    pub(crate) fn pays(&self, key: BatchKey, size: usize) -> bool {
        key.width().is_some() && self.backend.is_some() && self.costs.pays(key, size)
    }

    /// How many of so many that wait are best computed at once; at least 1.
    pub(crate) fn batch_size(&self, key: BatchKey, waiting: usize) -> usize {
        // Fewer are done sooner, and leave some for another thread; more are checked at once.
        let few = key.kind() == BatchKind::Private && waiting < 2 * LANES;
        let size = waiting.min(if few { LANES / 2 } else { LANES });
        // Where one alone goes, `run` asks.
        if size > 1 && self.pays(key, size) {
            size
        } else {
            1
        }
    }

    /// What one alone is expected to take.
    pub(crate) fn cost(&self, key: BatchKey) -> Duration {
        self.costs.alone(key)
    }

    /// How many together are computed fastest, and what those take.
    pub(crate) fn best_batch(&self, key: BatchKey) -> (usize, Duration) {
        if self.pays(key, LANES) {
            (LANES, self.costs.full(key))
        } else {
            (1, self.costs.alone(key))
        }
    }

    /// Runs a request that somebody computes alone, and learns what that takes.
    pub(crate) fn alone<T>(&self, key: BatchKey, run: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = run();
        self.costs.learn_alone(key, began.elapsed());
        self.counts.alone.fetch_add(1, Ordering::Relaxed);
        self.show_requests(key, 1, false);
        result
    }

    /// Computes the powers of requests of one batch key, at most [`LANES`].
    pub(crate) fn run(&self, key: BatchKey, batch: &[&PublicKeyRequest], answer: &mut Powers<'_>) {
        let in_lanes = batch.len() > 1 || self.pays(key, batch.len());
        self.run_where(in_lanes, key, batch, answer);
    }

    /// As [`run`](Self::run), of a request for which [`pays`](Self::pays) has said where.
    pub(crate) fn run_where(
        &self,
        in_lanes: bool,
        key: BatchKey,
        batch: &[&PublicKeyRequest],
        answer: &mut Powers<'_>,
    ) {
        let size = batch.len();
        let began = Began::now(size);
        let mut lanes: Vec<_> = batch
            .iter()
            .map(|request| InLane {
                request,
                power: None,
            })
            .collect();
        if in_lanes && let Some(backend) = self.backend {
            self.compute(backend, key, &mut lanes);
            self.counts.groups.fetch_add(1, Ordering::Relaxed);
            let count = size as u64;
            self.counts.in_groups.fetch_add(count, Ordering::Relaxed);
        } else {
            self.counts.alone.fetch_add(size as u64, Ordering::Relaxed);
        }
        self.show_requests(key, size, in_lanes && self.backend.is_some());
        for (place, one) in lanes.into_iter().enumerate() {
            let InLane { request, power } = one;
            answer(
                place,
                power.map_or_else(|| request.target().power(request.base()), Ok),
            );
        }
        if in_lanes {
            self.costs.learn_lanes(key, size, began.elapsed());
        } else {
            self.costs.learn_alone(key, began.elapsed());
        }
    }

    /// The powers of a whole batch in lanes, but those that did not pass their check.
    fn compute(&self, backend: Backend, key: BatchKey, batch: &mut [InLane<'_>]) {
        let mut workspace = self.workspace(key);
        match key.kind() {
            BatchKind::Alone | BatchKind::Held => {}
            BatchKind::Private => {
                private(backend, batch, &mut workspace);
                #[cfg(test)]
                tests::plant_faults(batch);
                self.check(backend, batch, &mut workspace);
            }
            BatchKind::Public => public(backend, batch, &mut workspace),
            BatchKind::Power => {
                power(backend, batch, &mut workspace);
                self.check(backend, batch, &mut workspace);
            }
        }
        self.keep(workspace);
    }

    /// Takes back the results of private operations that are wrong.
    fn check(&self, backend: Backend, batch: &mut [InLane<'_>], workspace: &mut [Line]) {
        let mut checks: Vec<_> = batch
            .iter()
            .map(|one| vec![0; one.power.as_ref().map_or(0, |power| power.len())])
            .collect();
        {
            let mut lanes: Vec<_> = batch
                .iter()
                .zip(&mut checks)
                .filter_map(|(one, check)| {
                    let key = one.checked_by()?;
                    Some(PublicLane {
                        modulus: one.request.target().lane_modulus(backend)?,
                        base: one.power.as_ref()?,
                        exponent: key.parts().short_exponent,
                        result: check,
                    })
                })
                .collect();
            if lanes.is_empty() {
                return;
            }
            if exponentiate_public(backend, &mut lanes, workspace).is_err() {
                return forget_all(batch);
            }
        }
        for (one, check) in batch.iter_mut().zip(&checks) {
            let Some(key) = one.checked_by() else {
                continue;
            };
            if !are_equal(one.request.base(), check) {
                one.power = None;
                self.counts.faults.fetch_add(1, Ordering::Relaxed);
                self.shown.add(Gauge::Faults, 1);
                log::warn!(
                    "RSA: a result that was computed in lanes does not agree with the public key of \
                     {} bits, and is computed anew by aws-lc: a prime of the key is none, or the \
                     machine computes wrongly",
                    key.bits()
                );
            }
        }
    }

    fn workspace(&self, key: BatchKey) -> Vec<Line> {
        let lines = key.width().map_or(0, |width| match key.kind() {
            BatchKind::Alone | BatchKind::Held => 0,
            BatchKind::Private => {
                let twice = Width::for_bits(2 * width.bits());
                let check = twice.map_or(0, Width::public_workspace_lines);
                width.crt_workspace_lines().max(check)
            }
            BatchKind::Public => width.public_workspace_lines(),
            BatchKind::Power => width.workspace_lines(),
        });
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

/// One of a batch.
struct InLane<'a> {
    request: &'a PublicKeyRequest,
    /// None: to be computed, or to be computed anew.
    power: Option<Buffer>,
}

impl<'a> InLane<'a> {
    /// Of a request whose result has to be checked, the key's public half.
    fn checked_by(&self) -> Option<&'a RsaPublicKey> {
        self.request.private_key().map(RsaPrivateKey::public_key)
    }
}

fn forget_all(batch: &mut [InLane<'_>]) {
    batch.iter_mut().for_each(|one| one.power = None);
}

/// The results of private operations, unchecked.
fn private(backend: Backend, batch: &mut [InLane<'_>], workspace: &mut [Line]) {
    let mut lanes: Vec<_> = batch
        .iter_mut()
        .filter_map(|one| {
            let LanePrivate::Crt(numbers) = one.request.private_key()?.parts().lanes.as_ref()?
            else {
                return None;
            };
            let power = vec![0; numbers.p.bytes() + numbers.q.bytes()];
            Some(CrtLane {
                p: &numbers.p,
                q: &numbers.q,
                dp: numbers.part(&numbers.dp),
                dq: numbers.part(&numbers.dq),
                qinv: numbers.part(&numbers.qinv),
                base: one.request.base(),
                result: one.power.insert(Zeroizing::new(power)),
            })
        })
        .collect();
    let done = exponentiate_crt(backend, &mut lanes, workspace);
    drop(lanes);
    if done.is_err() {
        return forget_all(batch);
    }
    for one in batch {
        // The modulus may have a byte less than both primes.
        let bytes = one.request.base().len();
        if let Some(power) = &mut one.power {
            let more = power.len().saturating_sub(bytes);
            power.drain(..more);
        }
    }
}

fn public(backend: Backend, batch: &mut [InLane<'_>], workspace: &mut [Line]) {
    let mut lanes: Vec<_> = batch
        .iter_mut()
        .filter_map(|one| {
            let TargetRef::Public(key) = one.request.target() else {
                return None;
            };
            Some(PublicLane {
                modulus: one.request.target().lane_modulus(backend)?,
                base: one.request.base(),
                exponent: key.parts().short_exponent,
                result: one.power.insert(Zeroizing::new(vec![0; key.bytes()])),
            })
        })
        .collect();
    let done = exponentiate_public(backend, &mut lanes, workspace);
    drop(lanes);
    if done.is_err() {
        forget_all(batch);
    }
}

/// The results of powers, unchecked.
fn power(backend: Backend, batch: &mut [InLane<'_>], workspace: &mut [Line]) {
    let mut lanes: Vec<_> = batch
        .iter_mut()
        .filter_map(|one| {
            let target = one.request.target();
            let exponent = match target {
                TargetRef::Power(_, exponent) => exponent,
                TargetRef::Private(key) => match key.parts().lanes.as_ref()? {
                    LanePrivate::Plain(lanes) => {
                        &lanes.d[lanes.d.len() - key.public_key().bytes()..]
                    }
                    LanePrivate::Crt(_) => return None,
                },
                TargetRef::Public(_) => return None,
            };
            let base = one.request.base();
            Some(Lane {
                modulus: target.lane_modulus(backend)?,
                base,
                exponent,
                result: one.power.insert(Zeroizing::new(vec![0; base.len()])),
            })
        })
        .collect();
    let done = exponentiate(backend, &mut lanes, workspace);
    drop(lanes);
    if done.is_err() {
        forget_all(batch);
    }
}

/// In time that depends on lengths alone, and less of it than byte by byte: what a wrong result
/// becomes tells something of the key.
fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

/// As many as are used at once on two dozen CPUs.
const WORKSPACES_MAX: usize = 24;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Accelerator;
    use crate::aws_lc::rsa::{PrivateNumbers, SoftwareRsa, fill_random};
    use crate::rsa::{Hash, SignatureScheme};
    use crate::threads::process::visible_cpu;
    use crate::work::modulus::{Base, ByteOrder};
    use crate::work::request::{Purpose, Target};

    thread_local! {
        /// Lanes whose results are to be wrong on this thread, as bits.
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

    /// What aws-lc makes of it.
    fn alone(request: &PublicKeyRequest) -> Buffer {
        let power = request.target().power(request.base()).unwrap();
        request.finish(power).unwrap()
    }

    fn key(bits: usize) -> RsaPrivateKey {
        let path = format!("{}/tests/keys/rsa{bits}.pem", env!("CARGO_MANIFEST_DIR"));
        RsaPrivateKey::from_pem(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// One whose prime p is none: see tests/it/rsa.
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
            // And back.
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
                    PublicKeyRequest::power(&modulus, base, &exponent, ByteOrder::BigEndian)
                        .unwrap()
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
        // A good key of the bad one's width.
        let good = if bad.public_key().bits() == 2048 {
            good
        } else {
            key(1024)
        };
        let lanes = Lanes::new(visible_cpu().unwrap());
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
            let works =
                (0..LANES as u8).map(|at| PublicKeyRequest::sign(&key, scheme, &[at]).unwrap());
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
            return; // Without lanes that is all there is to ask.
        }
        let sizes = [1, 2, 3, 4, 8, 15, 16, 64];
        let taken = sizes.map(|waiting| lanes.batch_size(class, waiting));
        assert_eq!(taken, [1, 2, 3, 4, 4, 4, 8, 8]);
        let public = BatchKey::of(BatchKind::Public, Width::Bits2048);
        let taken = sizes.map(|waiting| lanes.batch_size(public, waiting));
        assert_eq!(taken, [1, 1, 3, 4, 8, 8, 8, 8]);
        lanes.costs.spoil(class, 4);
        let tries = (0..)
            .take_while(|_| lanes.batch_size(class, 4) == 1)
            .take(1_000_000);
        assert!((1000..1_000_000).contains(&tries.count()));
    }
}
