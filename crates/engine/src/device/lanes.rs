//! Up to eight requests at once, each with its own key, by the kernels for AVX-512 IFMA or FMA. Smaller batches run in lanes
//! if that pays, otherwise each request alone by aws-lc.
//!
//! ```text
//! private   m = c ^ d mod n from its parts modulo p and q; then m ^ e mod n, which must be c
//! public    c = m ^ e mod n
//! ```
//!
//! The kernels are constant-time, so nothing is blinded. A result that fails its check is not released: aws-lc computes it
//! again, with a check of its own.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
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
use crate::work::algorithm::Direction;
use crate::work::lane_numbers::LanePrivate;
use crate::work::request::{Buffer, PublicKeyRequest, TargetRef};
use crate::work::rsa::key::{RsaPrivateKey, RsaPublicKey};
use crate::work::shape::{BatchKey, BatchKind};
use oarlock_threads::page::Gauge;
use oarlock_threads::process;

/// Computes powers, in lanes where that pays.
pub(crate) struct Lanes {
    backend: Option<Backend>,
    costs: LaneCosts,
    /// Workspaces for reuse, wiped.
    workspaces: Mutex<Vec<Vec<Line>>>,
    /// By [`Gauge`], as they are published.
    counts: [AtomicU64; Gauge::COUNT],
    saved_ns: AtomicI64,
    shown: Shown,
}

/// Returns the operation that requests of a batch key count as.
fn what(key: BatchKey) -> Other {
    match key.kind() {
        BatchKind::Private => Other::PrivateKey,
        _ => Other::PublicKey,
    }
}

/// Receives the power of the request at an index of the batch.
type Powers<'a> = dyn FnMut(usize, Result<Buffer, Error>) + 'a;

impl Lanes {
    pub(crate) fn new(cpu: Cpu) -> Self {
        let backend = Backend::preferred(cpu);
        Self {
            backend,
            costs: LaneCosts::new(backend.map_or(LANES, Backend::lanes_at_once)),
            workspaces: Mutex::default(),
            counts: Default::default(),
            saved_ns: AtomicI64::default(),
            shown: Shown::default(),
        }
    }

    /// Whether the CPU has lanes to share.
    pub(crate) fn are_there(&self) -> bool {
        self.backend.is_some()
    }

    /// Returns the name of the backend and its number of lanes.
    pub(crate) fn names(&self) -> Option<(&'static str, usize)> {
        let backend = self.backend?;
        Some((backend.name(), backend.lanes_at_once()))
    }

    /// Sets where counts are shown, before there are requests.
    pub(crate) fn show(&mut self, shown: Shown) {
        self.shown = shown;
    }

    pub(crate) fn shown(&self) -> Shown {
        self.shown
    }

    /// Counts here, and in the figures that other processes see.
    fn count(&self, gauge: Gauge, more: usize) {
        self.counts[gauge as usize].fetch_add(more as u64, Ordering::Relaxed);
        self.shown.add(gauge, more as i64);
    }

    fn count_requests(&self, what: Other, count: usize, is_group: bool) {
        // Byte counts are meaningless here.
        self.shown
            .count_other(what, Direction::Encrypt, count as u64, 0);
        if is_group {
            self.count(Gauge::Groups, 1);
            self.count(Gauge::InGroups, count);
        } else {
            self.count(Gauge::Alone, count);
        }
    }

    /// Returns the counts of requests so far.
    pub(crate) fn stats(&self) -> PublicKeyStats {
        PublicKeyStats {
            saved_ns: self.saved_ns.load(Ordering::Relaxed),
            ..PublicKeyStats::of(|gauge| self.counts[gauge as usize].load(Ordering::Relaxed))
        }
    }

    /// Whether to compute a batch of `size` requests, which may be 1, in lanes: because it is faster, or now and then to
    /// measure it. Asking changes nothing.
    pub(crate) fn pays(&self, key: BatchKey, size: usize) -> bool {
        key.width().is_some() && self.backend.is_some() && self.costs.pays(key, size)
    }

    /// Returns the batch size for `waiting` queued requests; at least 1.
    pub(crate) fn batch_size(&self, key: BatchKey, waiting: usize) -> usize {
        // A half batch finishes sooner and leaves work for another thread. With many waiting, a full batch shares one check.
        let few = key.kind() == BatchKind::Private && waiting < 2 * LANES;
        let size = waiting.min(if few { LANES / 2 } else { LANES });
        // `run` decides for a single request.
        if size > 1 && self.pays(key, size) {
            size
        } else {
            1
        }
    }

    /// Returns the size of a full batch, which takes hardly longer than one request; 1 if lanes do not pay.
    pub(crate) fn full_batch(&self, key: BatchKey) -> usize {
        let size = match key.kind() {
            BatchKind::Private => LANES / 2,
            _ => LANES,
        };
        let is_there = key.width().is_some() && self.backend.is_some();
        if is_there && self.costs.are_faster(key, size) {
            size
        } else {
            1
        }
    }

    /// Returns the expected time of one request alone.
    pub(crate) fn cost(&self, key: BatchKey) -> Duration {
        self.costs.alone(key)
    }

    /// Returns the fastest batch size and the time of such a batch.
    pub(crate) fn best_batch(&self, key: BatchKey) -> (usize, Duration) {
        let are_there = key.width().is_some() && self.backend.is_some();
        if are_there && self.costs.are_faster(key, LANES) {
            (LANES, self.costs.full(key))
        } else {
            (1, self.costs.alone(key))
        }
    }

    /// Runs a request that is computed alone, and learns its time.
    pub(crate) fn alone<T>(&self, key: BatchKey, run: impl FnOnce() -> T) -> T {
        self.alone_as(what(key), key, run)
    }

    /// Runs a request as [`alone`](Self::alone) does, counted as `what` because its batch key does not tell.
    pub(crate) fn alone_as<T>(&self, what: Other, key: BatchKey, run: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = run();
        self.costs.learn_alone(key, began.elapsed());
        self.count_requests(what, 1, false);
        result
    }

    /// Computes the powers of requests of one batch key, at most [`LANES`].
    pub(crate) fn run(&self, key: BatchKey, batch: &[&PublicKeyRequest], answer: &mut Powers<'_>) {
        let in_lanes = batch.len() > 1 || self.pays(key, batch.len());
        self.run_where(in_lanes, key, batch, answer);
    }

    /// Computes powers as [`run`](Self::run) does, where [`pays`](Self::pays) has already decided between lanes and aws-lc.
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
            self.costs.begin_lanes(key, size);
            self.compute(backend, key, &mut lanes);
        }
        self.count_requests(what(key), size, in_lanes && self.backend.is_some());
        for (place, one) in lanes.into_iter().enumerate() {
            let InLane { request, power } = one;
            answer(
                place,
                power.map_or_else(|| request.target().power(request.base()), Ok),
            );
        }
        if in_lanes {
            let took = began.elapsed();
            let alone = self.costs.alone(key).as_nanos() as i64 * size as i64;
            let saved = alone.saturating_sub(took.as_nanos() as i64);
            self.saved_ns.fetch_add(saved, Ordering::Relaxed);
            self.costs.learn_lanes(key, size, took);
        } else {
            self.costs.learn_alone(key, began.elapsed());
        }
    }

    /// Computes a whole batch in lanes, and drops the results that fail their check.
    fn compute(&self, backend: Backend, key: BatchKey, batch: &mut [InLane<'_>]) {
        let mut workspace = self.workspace(key);
        match key.kind() {
            BatchKind::Alone | BatchKind::Held | BatchKind::ShortAlone | BatchKind::LongAlone => {}
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

    /// Drops wrong results of private operations.
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
                self.count(Gauge::Faults, 1);
                log::warn!(
                    "RSA: a result that was computed in lanes does not agree with the public key of \
                     {} bits, and is computed again by aws-lc: a prime of the key is none, or the \
                     machine computes wrongly",
                    key.bits()
                );
            }
        }
    }

    fn workspace(&self, key: BatchKey) -> Vec<Line> {
        let lines = key.width().map_or(0, |width| match key.kind() {
            BatchKind::Alone | BatchKind::Held | BatchKind::ShortAlone | BatchKind::LongAlone => 0,
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

/// A request of a batch.
struct InLane<'a> {
    request: &'a PublicKeyRequest,
    /// The result, or `None` before it is computed and after it failed its check.
    power: Option<Buffer>,
}

impl<'a> InLane<'a> {
    /// Returns the public key that checks the result, or `None` if no check is needed.
    fn checked_by(&self) -> Option<&'a RsaPublicKey> {
        self.request.private_key().map(RsaPrivateKey::public_key)
    }
}

fn forget_all(batch: &mut [InLane<'_>]) {
    batch.iter_mut().for_each(|one| one.power = None);
}

/// Computes private operations, unchecked.
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
        // The modulus may be one byte shorter than both primes together.
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

/// Computes powers, unchecked.
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

/// Compares in time that depends only on the lengths, since a wrong result reveals something of the key. Faster than
/// comparing byte by byte with barriers.
fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

/// The most workspaces kept for reuse, enough for two dozen CPUs.
const WORKSPACES_MAX: usize = 24;

#[cfg(test)]
mod tests;
