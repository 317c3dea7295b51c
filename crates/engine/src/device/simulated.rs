//! Simulated accelerator boards: a number of slow coprocessors behind a host with its own delays, with faults on demand.
//!
//! ```text
//! simulated.rs   the device: accepts requests, has them computed, waits, answers
//! engine.rs      a board for all other services, with a queue: it answers when polled
//! board.rs       a board's figures, its times for other lengths, its faults
//! shared.rs      such a board for several processes
//! schedule.rs    when a request is done: the model, which reads no clock
//! ```
//!
//! Requests are served in order, so a request's end is known when it arrives. The device therefore keeps no queue and no
//! thread: it asks the schedule, has aws-lc compute the result, and sleeps for the rest of the time. The tests ask the same
//! schedule in virtual time.

mod board;
mod engine;
mod schedule;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

pub use self::board::{Fault, Host, Injection, Pauses, SimulatedBoard, When};
pub use self::engine::{EngineBoard, SimulatedEngine};
use self::schedule::Schedule;
#[doc(hidden)]
pub use self::shared::BareQueue;
use super::blocking::{Answer, BlockingDevice, PublicKeyOffer};
use super::error::DeviceError;
use super::software::SoftwareDevice;
use crate::Error;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::Shape;

/// A [`SimulatedBoard`] that serves public-key requests as slowly as the board would, to test code that drives slow,
/// parallel and faulty devices.
///
/// aws-lc computes the results within the board's time. Answers come later on a machine too busy for that, and for numbers
/// that take aws-lc longer. Requests are served in order of arrival. [`run_public_key`](BlockingDevice::run_public_key) blocks its caller, so
/// keeping the board busy takes one thread for each coprocessor and one or two more.
///
/// # Example
/// A board of four coprocessors where every hundredth result is wrong:
///
/// ```
/// use std::time::Duration;
/// use oarlock::device::{
///     Fault, Host, Injection, BlockingDevice, SimulatedBoard, SimulatedDevice, When, complete,
/// };
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
/// let device = SimulatedDevice::new("board", board)?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa1024.pem"))?;
/// let request = PublicKeyRequest::raw_private(&key, &[2])?;
/// complete(&device, &[&request], &mut |_, power| assert_eq!(power.unwrap().len(), 128));
/// assert_eq!(device.offer_public_key(&request.shape()).unwrap().latency, Duration::from_millis(2));
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct SimulatedDevice {
    name: String,
    board: SimulatedBoard,
    software: SoftwareDevice,
    /// The origin of the schedule's times.
    began: Instant,
    state: Mutex<State>,
    /// Signals that the device died or hanging requests may go on.
    changed: Condvar,
}

struct State {
    schedule: Schedule,
    is_dead: bool,
    /// Requests that are not yet due.
    waiting: usize,
    hanging: usize,
    /// Calls of [`SimulatedDevice::release`].
    releases: u64,
}

impl SimulatedDevice {
    /// Creates a device for a board. Statistics and errors use `name`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the board's figures contradict each other; the error names them.
    pub fn new(name: &str, board: SimulatedBoard) -> Result<Self, Error> {
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
            software: SoftwareDevice::new(),
            began: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// Returns the board's figures.
    pub fn board(&self) -> &SimulatedBoard {
        &self.board
    }

    /// Returns the number of hanging requests ([`Fault::Hang`]).
    pub fn hanging(&self) -> usize {
        self.locked().hanging
    }

    /// Lets hanging requests answer.
    pub fn release(&self) {
        self.locked().releases += 1;
        self.changed.notify_all();
    }

    /// Makes every request fail from now on, including those under way.
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
            .run_public_key(&[request], &mut |_, result| power = result);
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

    /// Waits until `done_at` in the board's time, or until the board dies.
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

/// Serves a batch one request after the other on each calling thread. Results are checked by the caller, because the board
/// may be set to return wrong ones.
impl BlockingDevice for SimulatedDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> usize {
        self.board.coprocessors
    }

    /// Offers all that aws-lc can compute, in the board's time. A dead board still offers it.
    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        self.software.offer_public_key(shape)?;
        // An exponent without bits takes no time.
        let latency = self.board.latency_of(shape).max(Duration::from_nanos(1));
        Some(PublicKeyOffer {
            latency,
            per_second: self.board.coprocessors as f64 / latency.as_secs_f64(),
        })
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (place, request) in batch.iter().enumerate() {
            self.serve(request, &mut |power| answer(place, power));
        }
    }
}

/// Returns a wrong result. A device that lies reveals a key unless results are checked (Boneh, DeMillo, Lipton 1997).
fn spoilt(mut power: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    if let Some(last) = power.last_mut() {
        *last ^= 1;
    }
    power
}

fn died() -> DeviceError {
    DeviceError("simulated death".into())
}
