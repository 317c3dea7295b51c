//! Accelerator boards that are not there: so many coprocessors, each so slow, behind a host that has
//! its share, and with faults where they are asked for.
//!
//! ```text
//! simulated.rs   the device: takes requests, has them computed, lets the time pass, answers
//! engine.rs      a board for all else, with a queue: it answers when it is asked
//! board.rs       what a board is, how long it takes for other lengths, when it is at fault
//! shared.rs      one of those for several processes
//! schedule.rs    when a request is done: the model, which knows no clock
//! ```
//!
//! A request's end is known when it arrives, for those that came before it are served before it. So the
//! device keeps no queue and no thread: it asks the schedule, has aws-lc compute the result, and
//! sleeps for the rest of the time. The tests ask the same schedule in virtual time.

mod board;
mod engine;
mod schedule;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oarlock_kernels::cpu::Cpu;
use zeroize::Zeroizing;

pub use self::board::{Fault, Host, Injection, Pauses, SimulatedBoard, When};
pub use self::engine::{EngineBoard, SimulatedEngine};
use self::schedule::Schedule;
#[doc(hidden)]
pub use self::shared::BareQueue;
use super::public_key::{Answer, PublicKeyDevice, PublicKeyOffer};
use super::request::DeviceError;
use super::software::SoftwareDevice;
use crate::Error;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::Shape;

/// A [`SimulatedBoard`] that serves public-key requests, as slowly as the board would: for tests of
/// what is in front of slow, parallel and faulty devices.
///
/// Results are aws-lc's, computed within the time that the board takes; on a machine too busy for
/// that, and for numbers that aws-lc takes longer for, answers come later. Requests are served in
/// the order of their arrival. [`run`](PublicKeyDevice::run) blocks its caller, so it takes as many
/// threads as the board has coprocessors to keep it busy, and one or two more.
///
/// # Example
/// A board of four, of which every hundredth result is wrong:
/// ```
/// use std::time::Duration;
/// use oarlock::device::{
///     Fault, Host, Injection, PublicKeyDevice, SimulatedBoard, SimulatedDevice, When, complete,
/// };
/// use oarlock_kernels::cpu::Cpu;
/// use oarlock::device::PublicKeyRequest;
/// use oarlock::rsa::RsaPrivateKey;
///
/// let board = SimulatedBoard {
///     coprocessors: 4,
///     latency: Duration::from_millis(5),
///     latency_with_crt: Some(Duration::from_millis(2)),
///     host: Host::default(),
///     jitter: 0.1,
///     faults: vec![Injection { fault: Fault::WrongResult, when: When::Every(100) }],
///     seed: 1,
/// };
/// let device = SimulatedDevice::new("board", board, Cpu::detect())?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa1024.pem"))?;
/// let request = PublicKeyRequest::raw_private(&key, &[2])?;
/// complete(&device, &[&request], &mut |_, power| assert_eq!(power.unwrap().len(), 128));
/// assert_eq!(device.offer(&request.shape()).unwrap().latency, Duration::from_millis(2));
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct SimulatedDevice {
    name: String,
    board: SimulatedBoard,
    software: SoftwareDevice,
    /// What the schedule's times count from.
    began: Instant,
    state: Mutex<State>,
    /// The device died, or requests that hang may go on.
    changed: Condvar,
}

struct State {
    schedule: Schedule,
    is_dead: bool,
    /// Requests whose time has not come.
    waiting: usize,
    hanging: usize,
    /// Calls of [`SimulatedDevice::release`].
    releases: u64,
}

impl SimulatedDevice {
    /// A board, by the name that statistics and errors have for it.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where the board's figures contradict each other; says which.
    pub fn new(name: &str, board: SimulatedBoard, cpu: Cpu) -> Result<Self, Error> {
        board.check().map_err(|wrong| {
            Error::InvalidInput(format!("the simulated device {name}: {wrong}"))
        })?;
        let state = State {
            schedule: Schedule::new(board.coprocessors),
            is_dead: false,
            waiting: 0,
            hanging: 0,
            releases: 0,
        };
        Ok(Self {
            name: name.to_owned(),
            board,
            software: SoftwareDevice::new(cpu),
            began: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// The board it was made of.
    pub fn board(&self) -> &SimulatedBoard {
        &self.board
    }

    /// Requests that hang now ([`Fault::Hang`]).
    pub fn hanging(&self) -> usize {
        self.locked().hanging
    }

    /// Has requests that hang now answer.
    pub fn release(&self) {
        self.locked().releases += 1;
        self.changed.notify_all();
    }

    /// Makes every request fail from now on, and also those under way.
    pub fn kill(&self) {
        self.locked().is_dead = true;
        self.changed.notify_all();
    }

    fn serve(
        &self,
        request: &PublicKeyRequest,
        answer: &mut dyn FnMut(Result<Zeroizing<Vec<u8>>, DeviceError>),
    ) {
        let mut state = self.locked();
        if state.is_dead {
            return answer(Err(died()));
        }
        let now = self.began.elapsed();
        let admitted = state.schedule.admit(&self.board, now, &request.shape());
        drop(state);
        let fault = self.board.fault(admitted.number);
        if fault == Some(Fault::Death) {
            self.kill();
        }
        let mut power = Err(DeviceError("aws-lc gave no result".into()));
        self.software
            .run(&[request], &mut |_, result| power = result);
        let late_by = match fault {
            Some(Fault::Late(late_by)) => late_by,
            _ => Duration::ZERO,
        };
        let mut waited = self.wait_until(admitted.done_at + late_by);
        if fault == Some(Fault::Hang) && waited.is_ok() {
            waited = self.hang();
        }
        if let Err(error) = waited {
            return answer(Err(error));
        }
        match fault {
            Some(Fault::NoAnswer) => {}
            Some(Fault::Error | Fault::Reset(_) | Fault::Half) => {
                let number = admitted.number;
                answer(Err(DeviceError(format!(
                    "simulated error of request {number}"
                ))));
            }
            Some(Fault::WrongResult | Fault::Overrun) => answer(power.map(spoilt)),
            Some(Fault::TwoAnswers) => {
                answer(power.clone());
                answer(power);
            }
            Some(Fault::Hang | Fault::Late(_) | Fault::Death) | None => answer(power),
        }
    }

    /// Waits until `done_at`, in the board's time; returns early when the board dies.
    fn wait_until(&self, done_at: Duration) -> Result<(), DeviceError> {
        let mut state = self.locked();
        state.waiting += 1;
        let outcome = loop {
            if state.is_dead {
                break Err(died());
            }
            let left = done_at.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                break Ok(());
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        };
        state.waiting -= 1;
        outcome
    }

    fn hang(&self) -> Result<(), DeviceError> {
        let mut state = self.locked();
        let releases = state.releases;
        state.hanging += 1;
        let holds = |state: &mut State| !state.is_dead && state.releases == releases;
        let woken = self.changed.wait_while(state, holds);
        state = woken.unwrap_or_else(PoisonError::into_inner);
        state.hanging -= 1;
        if state.is_dead { Err(died()) } else { Ok(()) }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request after the other, for each calling thread. Results are checked behind it, for it may
/// be told to give wrong ones.
impl PublicKeyDevice for SimulatedDevice {
    fn name(&self) -> &str {
        &self.name
    }

    /// What aws-lc can compute, in the board's time; of a dead board as well, which does not know.
    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        self.software.offer(shape)?;
        // An exponent of no bits takes no time.
        let latency = self.board.latency_of(shape).max(Duration::from_nanos(1));
        Some(PublicKeyOffer {
            latency,
            per_second: self.board.coprocessors as f64 / latency.as_secs_f64(),
        })
    }

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (place, request) in batch.iter().enumerate() {
            self.serve(request, &mut |power| answer(place, power));
        }
    }
}

/// Another number. A device that lies gives a key away if nobody looks (Boneh, DeMillo, Lipton 1997).
fn spoilt(mut power: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    if let Some(last) = power.last_mut() {
        *last ^= 1;
    }
    power
}

fn died() -> DeviceError {
    DeviceError("simulated death".into())
}
