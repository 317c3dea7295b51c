//! How private operations are computed: in lanes, batched with others, or by one implementation alone.
//!
//! A thread that signs waits for other threads of its process if that gains (`threads.rs`). A job of OpenSSL
//! (ASYNC_start_job(3)) is paused instead, and other connections proceed. The job that fills a batch computes it at
//! once, on its own thread: no other thread has to wake up, and where an event loop has a CPU of its own, none is free.
//! If no other job arrives within two turns of the event loop, a partial batch is computed. A server with one
//! connection at a time would lose by that. So after a job was paused and met no other, the next jobs are computed at
//! once: ever more of them, until a paused job meets another.
//!
//! A daemon batches requests of several processes, if the configuration names one.
//!
//! A relay gives access to remote keys, if the configuration names one: threads wait for its answer, and jobs are
//! paused until it arrives.
//!
//! A single request is computed by the faster implementation: the default provider, which may or may not have code for
//! this CPU, or the library.

mod async_jobs;
mod batch;
mod deep_stack;
mod fibers;
mod relay_answers;
mod single;
mod stacks;
mod threads;

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use oarlock::rsa::{AcceleratedRsa, Power};
use oarlock::{Error, LaneUse};
use oarlock_engine::learn::Which;
use oarlock_local::Client;
use oarlock_local::relay::{self, Asked, NoAnswer, Question, RelayBreaker};
use zeroize::Zeroizing;

use self::batch::Company;
use self::fibers::{Fiber, Fibers};
use self::single::FasterAlone;
pub(crate) use self::stacks::Tell;
use self::stacks::{Place, Stacks};
use self::threads::Threads;

/// A wrong signature can reveal the private key (Boneh, DeMillo and Lipton 1997), so it is not passed on.
pub(crate) const WRONG_ANSWER: &str = "the answer is not of this key: has the server another one of that name by now (oarlock pubkey --reference)?";

/// The state that a provider's private operations share.
#[derive(Default)]
pub(crate) struct Signer {
    fibers: Option<Fibers>,
    /// The stacks of jobs, whatever the jobs are paused for.
    stacks: Arc<Stacks>,
    company: Arc<Company>,
    /// The operations of threads that sign outside of jobs.
    threads: Threads,
    alone: FasterAlone,
    /// The daemon that batches requests of this machine's processes.
    local: Option<Client>,
    /// The daemon that asks cryptoservers.
    relay: Option<relay::Client>,
    relay_breaker: RelayBreaker,
    /// Whether every operation goes to the lanes, whatever that costs: for tests.
    always_lanes: bool,
}

impl Signer {
    /// Runs what may need more stack than a job of OpenSSL has. Returns `None` if the caller is a job and there is no
    /// memory for a second stack, or if `run` panicked there.
    pub(crate) fn on_deep_stack<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let mut fibers = self.fibers.iter();
        match fibers.any(|fibers| fibers.current().is_some()) {
            true => deep_stack::run(run),
            false => Some(run()),
        }
    }

    /// Makes a signer. `of_core` is a function of libcrypto; `local` and `relay` are sockets of daemons. `tell_lost` is
    /// called for each job that never continues.
    pub(crate) fn of(
        of_core: *const c_void,
        local: Option<&str>,
        relay: Option<&str>,
        lanes: LaneUse,
        tell_lost: Tell,
    ) -> Self {
        Self {
            always_lanes: lanes == LaneUse::Always,
            fibers: Fibers::of(of_core),
            stacks: Arc::new(Stacks::new(tell_lost)),
            local: local.map(Client::new),
            relay: relay.map(relay::Client::new),
            ..Self::default()
        }
    }

    /// Whether every operation goes to the lanes, even the first ones of a key.
    pub(crate) fn always_lanes(&self) -> bool {
        self.always_lanes
    }

    /// Whether there may be remote keys.
    pub(crate) fn has_relay(&self) -> bool {
        self.relay.is_some()
    }

    /// Returns the signature or power that a remote key makes, or the reason why there is none.
    pub(crate) fn ask(&self, question: &Question) -> Result<Zeroizing<Vec<u8>>, String> {
        let Some(relay) = &self.relay else {
            return Err("the provider's section has no line `relay`".into());
        };
        let pausable = self.pausable();
        // A paused job blocks nobody.
        let admitted =
            match pausable {
                Some(_) => None,
                None => Some(self.relay_breaker.admit().ok_or(
                    "the last question was not answered in time, so this one was not asked",
                )?),
            };
        let began = Instant::now();
        let blocked_in = Cell::new(admitted);
        let ask = |pausable: Option<(&Fibers, Fiber, Place)>| {
            let asked = relay.ask(question)?;
            let wait = |asked: Asked| {
                let period = blocked_in.get().or_else(|| self.relay_breaker.admit());
                blocked_in.set(Some(period.ok_or(NoAnswer::Late)?));
                asked.wait()
            };
            match pausable {
                Some((fibers, fiber, place)) => fibers.until_answered(fiber, place, asked, wait),
                None => wait(asked),
            }
        };
        // A restarted relay listens on the same socket. A question changes nothing, so it may be asked twice.
        let answer = match ask(pausable) {
            Err(NoAnswer::Gone) => ask(self.pausable()),
            answer => answer,
        };
        match (&answer, blocked_in.get()) {
            (Ok(_), _) => self.relay_breaker.succeeded(),
            (Err(_), None) => {}
            (Err(_), Some(period)) => self.relay_breaker.failed(period, began.elapsed()),
        }
        answer.map_err(|error| match error {
            NoAnswer::Refused(why) => why,
            error => format!("{}: {error}", relay.path().display()),
        })
    }

    /// Returns the power of the number that `number` makes, or the result of `by_default`, which computes it alone.
    /// Making a number takes microseconds if it has a salt, so it is made only if needed. Secret powers, those of
    /// ciphertexts, are never in memory that other processes share.
    pub(crate) fn power<T>(
        &self,
        key: &AcceleratedRsa,
        is_secret: bool,
        number: impl Fn() -> Result<Vec<u8>, Error>,
        by_default: impl Fn() -> T,
    ) -> Power<T> {
        if self.always_lanes
            && let Ok(number) = number()
            && let Some(Ok(power)) = key.raw_private_in_lanes(&number)
        {
            return Power::InLanes(power);
        }
        let width = self.alone.of(key.key().public_key().bits());
        let alone = || match width.next() {
            Which::First => Power::Alone(width.timed(Which::First, &by_default)),
            Which::Second => match width.timed(Which::Second, || key.raw_private_alone(&number()?))
            {
                Ok(power) => Power::InLanes(power),
                Err(_) => Power::Alone(by_default()),
            },
        };
        let in_company = || {
            let local = self.local.as_ref().filter(|_| !is_secret)?;
            let visit = local.visit(key)?;
            visit.power(&number().ok()?)
        };
        if self.job().is_some() {
            let power = self.pausable().and_then(|(fibers, fiber, place)| {
                let visit = self.company.join()?;
                fibers.wait(fiber, place, visit, key, &number().ok()?)
            });
            return power.map_or_else(alone, Power::InLanes);
        }
        // This comes before the library measures what a single request takes.
        if let Some(power) = in_company() {
            return Power::InLanes(power);
        }
        let done = if !self.threads.gather() {
            key.raw_private_alone_or(&number, alone)
        } else if let Some(power) = self.threads.together(key, || number().ok()) {
            Ok(Power::InLanes(power))
        } else {
            key.raw_private_or(&number, alone)
        };
        self.threads.ended();
        match done {
            Ok(Power::InLanes(power)) => Power::InLanes(power),
            Ok(Power::Alone(done)) => done,
            // The lanes have failed, or there was no number.
            Err(_) => Power::Alone(by_default()),
        }
    }

    /// Returns the job that the caller runs in.
    fn job(&self) -> Option<(&Fibers, Fiber)> {
        let fibers = self.fibers.as_ref()?;
        Some((fibers, fibers.current()?))
    }

    /// Returns the job that the caller runs in, if it may be paused.
    fn pausable(&self) -> Option<(&Fibers, Fiber, Place)> {
        let (fibers, fiber) = self.job()?;
        Some((fibers, fiber, self.stacks.place()?))
    }
}
