//! Requests in flight and their sessions: keys, and the position in a stream, a chain or a sequence of messages. The
//! position belongs to no device: a request says where it begins, so any device can compute the next one.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::request::{Answer, Iv, OperationStats, Place, SessionSpec};
use crate::Error;
use crate::costs::cost::Cost;
use crate::device::ciphers::CipherDevices;
use crate::device::compute::LocalKeys;
use crate::device::interface::QueueOffer;
use crate::work::algorithm::{Direction, Kind};
use crate::work::buffers::Buffers;
use crate::work::counter::Geometry;
use crate::work::operation::{IvBytes, Layout, Material, Service, Step};
use crate::work::request::PublicKeyRequest;
use oarlock_threads::once::Slot;

/// A submitted request, shared by its handle and devices.
pub(super) struct Flight {
    pub(super) slot: Slot<Parcel, Result<Answer, Error>>,
}

/// An operation with its data.
pub(super) struct Parcel {
    pub(super) what: Content,
    /// Devices that failed the request or had no room for it.
    pub(super) passed: Vec<u64>,
    /// Whether the session's next request waits for this one's last block.
    pub(super) is_link: bool,
    /// Whether it must not be computed at once.
    pub(super) is_later: bool,
    pub(super) place: Place,
    pub(super) began: Duration,
}

pub(super) enum Content {
    Data {
        session: Arc<Inner>,
        step: Step,
        buffers: Buffers,
    },
    PublicKey(Arc<PublicKeyRequest>),
}

impl Parcel {
    pub(super) fn new(what: Content, place: Place, now: Duration) -> Self {
        Self {
            what,
            passed: Vec::new(),
            is_link: false,
            is_later: false,
            place,
            began: now,
        }
    }

    /// Returns the class of requests that the CPU can compute together with this one, or `None`.
    pub(super) fn class(&self) -> Option<(Service, Direction)> {
        match &self.what {
            Content::Data { session, step, .. } => session.keys.class(step.direction),
            Content::PublicKey(_) => None,
        }
    }

    pub(super) fn service(&self) -> Service {
        match &self.what {
            Content::Data { session, .. } => session.material.service(),
            Content::PublicKey(_) => Service::PublicKey,
        }
    }

    /// Whether the tag lies inside the encrypted data. A device would then see the tag that it has to compute.
    pub(super) fn is_for_the_cpu_alone(&self) -> bool {
        match &self.what {
            Content::Data { session, step, .. } => {
                step.direction == Direction::Decrypt
                    && step.layout.tag_is_inside(session.material.tag_bytes())
            }
            Content::PublicKey(_) => false,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.what {
            Content::Data { step, .. } => {
                step.layout.authenticated.len() + step.layout.encrypted.len()
            }
            Content::PublicKey(request) => request.modulus().len(),
        }
    }
}

impl Parcel {
    /// Returns the name of the device whose code computes the request on the CPU.
    pub(super) fn local_device(&self) -> Arc<str> {
        match &self.what {
            Content::Data { session, .. } => Arc::clone(&session.local_name),
            Content::PublicKey(_) => {
                static NAME: OnceLock<Arc<str>> = OnceLock::new();
                Arc::clone(NAME.get_or_init(|| "cpu".into()))
            }
        }
    }
}

pub(super) struct Inner {
    pub(super) material: Arc<Material>,
    pub(super) keys: LocalKeys,
    pub(super) local_offer: QueueOffer,
    pub(super) local_name: Arc<str>,
    position: Mutex<Position>,
    /// The device that had the last request and may still have the key; 0 for none.
    home: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
    refused: AtomicU64,
}

/// The start of the session's next request.
enum Position {
    /// The service has no IV.
    None,
    Stream {
        geometry: Geometry,
        counter: u128,
        skip: usize,
    },
    Chain {
        /// `None` while the request that will produce this block is under way.
        next: Option<IvBytes>,
        waiting: VecDeque<(Arc<Flight>, Parcel)>,
    },
    /// Message numbers are XORed onto the IV, as in TLS 1.3 records (RFC 8446, 5.3). `None` after the last number.
    Sequence { iv: [u8; 12], next: Option<u64> },
}

impl Inner {
    pub(super) fn new(
        devices: &CipherDevices,
        spec: &SessionSpec<'_>,
        is_of_one: bool,
    ) -> Result<Self, Error> {
        let mut material = Material::new(spec.service, spec.key, spec.mac_key, spec.tag_bytes)?;
        material.is_of_one = is_of_one;
        let keys = LocalKeys::new(devices, &material)?;
        let position = Position::new(spec)?;
        Ok(Self {
            local_offer: offer(keys.cost),
            local_name: keys.device.into(),
            material: Arc::new(material),
            keys,
            position: Mutex::new(position),
            home: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// Returns the layout of a request without one: all the data, then the tag.
    pub(super) fn default_layout(&self, bytes: usize) -> Layout {
        let tag_bytes = self.material.tag_bytes();
        let before = bytes.saturating_sub(tag_bytes);
        match self.material.service() {
            Service::Mac(_) | Service::Digest(_) => Layout::packet(before, 0),
            _ => Layout::packet(0, before),
        }
    }

    pub(super) fn is_home(&self, member: u64) -> bool {
        self.home.load(Ordering::Relaxed) == member + 1
    }

    pub(super) fn set_home(&self, member: u64) {
        self.home.store(member + 1, Ordering::Relaxed);
    }

    /// Returns the operation with its position in the stream or sequence. If it must wait for the previous request, the link
    /// is [`Link::Waits`] and the IV is not set.
    pub(super) fn step(
        &self,
        direction: Direction,
        iv: Iv,
        layout: Layout,
        buffers: &Buffers,
    ) -> Result<(Step, Link), Error> {
        layout
            .check(&self.material, buffers.len())
            .map_err(Error::InvalidInput)?;
        self.step_checked(direction, iv, layout, Some(buffers))
    }

    /// Returns the operation for a layout that fits. Only chained data are read.
    fn step_checked(
        &self,
        direction: Direction,
        iv: Iv,
        layout: Layout,
        buffers: Option<&Buffers>,
    ) -> Result<(Step, Link), Error> {
        let service = self.material.service();
        let bytes = layout.encrypted.len();
        let mut step = Step {
            direction,
            iv: IvBytes::default(),
            skip: 0,
            layout: layout.settled(self.material.tag_bytes()),
        };
        if let Iv::Explicit(iv) = iv {
            check_iv(service, iv.as_slice().len())?;
            step.iv = match service.cipher().map(|cipher| cipher.kind()) {
                Some(Kind::Stream { iv_bytes, .. }) => {
                    first_block(counter_of(iv.as_slice()), iv_bytes)
                }
                _ => iv,
            };
            return Ok((step, Link::None));
        }
        let mut position = self.locked();
        let mut link = Link::None;
        match &mut *position {
            Position::None => {}
            Position::Stream {
                geometry,
                counter,
                skip,
                ..
            } => {
                step.iv = IvBytes::block(counter.to_be_bytes());
                step.skip = *skip;
                (*counter, *skip) = geometry.after(*counter, *skip, bytes as u64);
            }
            Position::Sequence { iv, next } => {
                let number = next.ok_or_else(|| {
                    Error::InvalidInput("every nonce of this session has been used".into())
                })?;
                let mut nonce = *iv;
                let low = nonce[4..].iter_mut().zip(number.to_be_bytes());
                low.for_each(|(byte, number)| *byte ^= number);
                step.iv = IvBytes::new(&nonce)?;
                *next = number.checked_add(1);
            }
            Position::Chain { next, .. } if bytes == 0 => {
                step.iv = next.unwrap_or_default();
            }
            Position::Chain { next, .. } => match (next.take(), direction) {
                (Some(iv), Direction::Encrypt) => {
                    step.iv = iv;
                    link = Link::First;
                }
                (Some(iv), Direction::Decrypt) => {
                    step.iv = iv;
                    *next = buffers.map(|buffers| last_block(&step.layout, buffers));
                }
                (None, _) => link = Link::Waits,
            },
        }
        Ok((step, link))
    }

    /// Queues a link of a chain until the one before is done. Returns it if that has happened by now.
    pub(super) fn leave_waiting(&self, flight: &Arc<Flight>, mut parcel: Parcel) -> Option<Parcel> {
        let mut position = self.locked();
        let Position::Chain { next, waiting } = &mut *position else {
            return Some(parcel);
        };
        if waiting.is_empty()
            && let Some(iv) = next.take()
        {
            parcel.set_iv(iv);
            return Some(parcel);
        }
        waiting.push_back((Arc::clone(flight), parcel));
        None
    }

    /// Notes that a link of a chain is done. Returns the links that may begin.
    pub(super) fn link_done(
        &self,
        step: &Step,
        buffers: &Buffers,
        is_done: bool,
    ) -> Vec<(Arc<Flight>, Parcel)> {
        let iv = match (is_done, step.direction) {
            (true, Direction::Encrypt) => {
                let mut end = [0; 16];
                let range = step.layout.encrypted.end - 16..step.layout.encrypted.end;
                copy_from(buffers.output(), range, &mut end);
                IvBytes::block(end)
            }
            // No link waits for a decryption: its ciphertext was known when it was submitted.
            (true, Direction::Decrypt) => return Vec::new(),
            (false, _) => step.iv,
        };
        self.links_from(iv)
    }

    /// Returns the waiting links that may begin, given `iv` for the first of them.
    pub(super) fn links_from(&self, mut iv: IvBytes) -> Vec<(Arc<Flight>, Parcel)> {
        let mut ready = Vec::new();
        let mut position = self.locked();
        let Position::Chain { next, waiting } = &mut *position else {
            return ready;
        };
        while let Some((flight, mut parcel)) = waiting.pop_front() {
            parcel.set_iv(iv);
            // Computing it on this stack would nest one frame for each waiting link.
            parcel.is_later = true;
            let after = parcel.decrypted_end();
            parcel.is_link = after.is_none();
            ready.push((flight, parcel));
            match after {
                // A decryption blocks no later link: its ciphertext already holds the next IV.
                Some(after) => iv = after,
                None => return ready,
            }
        }
        *next = Some(iv);
        ready
    }

    /// Removes and returns all waiting links, when the framework closes.
    pub(super) fn take_links(&self) -> Vec<(Arc<Flight>, Parcel)> {
        match &mut *self.locked() {
            Position::Chain { waiting, .. } => std::mem::take(waiting).into(),
            _ => Vec::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Position> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request of [`FrameworkSession::run`](super::FrameworkSession::run).
    pub(super) fn count(&self, bytes: usize, is_refused: bool) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if is_refused {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counts since the last call and resets them.
    pub(super) fn take_counts(&self) -> OperationStats {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        OperationStats {
            requests: take(&self.requests),
            bytes: take(&self.bytes),
            refused: take(&self.refused),
            time: Duration::ZERO,
        }
    }

    pub(super) fn next_number(&self) -> Option<u64> {
        match &*self.locked() {
            Position::Sequence { next, .. } => *next,
            _ => None,
        }
    }
}

/// The place of a request in a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Link {
    None,
    /// The next request waits for it.
    First,
    /// It waits for the previous request.
    Waits,
}

impl Parcel {
    fn set_iv(&mut self, iv: IvBytes) {
        if let Content::Data { step, .. } = &mut self.what {
            step.iv = iv;
        }
    }

    /// Returns the last ciphertext block of a decryption, or `None` for other requests.
    pub(super) fn decrypted_end(&self) -> Option<IvBytes> {
        match &self.what {
            Content::Data { step, buffers, .. } if step.direction == Direction::Decrypt => {
                Some(last_block(&step.layout, buffers))
            }
            _ => None,
        }
    }
}

impl Position {
    fn new(spec: &SessionSpec<'_>) -> Result<Self, Error> {
        let Some(cipher) = spec.service.cipher() else {
            return Ok(Self::None);
        };
        check_iv(spec.service, spec.iv.len())?;
        Ok(match cipher.kind() {
            Kind::Stream {
                block_bytes,
                counter_bits,
                iv_bytes,
            } => Self::Stream {
                geometry: Geometry {
                    block_shift: block_bytes.trailing_zeros(),
                    counter_bits,
                },
                counter: counter_of(first_block(counter_of(spec.iv), iv_bytes).as_slice()),
                skip: 0,
            },
            Kind::Cbc => Self::Chain {
                next: Some(IvBytes::new(spec.iv)?),
                waiting: VecDeque::new(),
            },
            Kind::Aead => {
                let mut iv = [0; 12];
                iv.copy_from_slice(spec.iv);
                Self::Sequence { iv, next: Some(0) }
            }
        })
    }
}

impl Inner {
    /// Returns [`step`](Self::step) for `bytes` of data that are not chained.
    pub(super) fn step_of(
        &self,
        direction: Direction,
        iv: Iv,
        layout: Layout,
        bytes: usize,
    ) -> Result<(Step, Link), Error> {
        layout
            .check(&self.material, bytes)
            .map_err(Error::InvalidInput)?;
        self.step_checked(direction, iv, layout, None)
    }
}

/// Returns the error for an IV of this length, if it is wrong.
fn check_iv(service: Service, bytes: usize) -> Result<(), Error> {
    let expected = match service.cipher().map(|cipher| cipher.kind()) {
        None => 0,
        Some(Kind::Stream { iv_bytes, .. }) => iv_bytes,
        Some(Kind::Cbc) => 16,
        Some(Kind::Aead) => 12,
    };
    if bytes == expected {
        return Ok(());
    }
    Err(Error::InvalidInput(format!(
        "an IV of {bytes} bytes: {service} takes {expected}"
    )))
}

/// Reads a big-endian number.
fn counter_of(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |counter, byte| counter << 8 | u128::from(*byte))
}

/// Returns the counter block for an IV of `iv_bytes`: ChaCha20's nonce is followed by its counter (RFC 8439, 2.3).
fn first_block(iv: u128, iv_bytes: usize) -> IvBytes {
    let counter = if iv_bytes == CHACHA_NONCE_BYTES {
        iv << 32
    } else {
        iv
    };
    IvBytes::block(counter.to_be_bytes())
}

/// Returns the last block of the encrypted range, which is not empty.
fn last_block(layout: &Layout, buffers: &Buffers) -> IvBytes {
    let mut end = [0; 16];
    let range = layout.encrypted.end - 16..layout.encrypted.end;
    copy_from(buffers.input(), range, &mut end);
    IvBytes::block(end)
}

/// Copies a range of the concatenated segments.
fn copy_from<'a>(segments: impl Iterator<Item = &'a [u8]>, range: Range<usize>, into: &mut [u8]) {
    let mut at = 0;
    for segment in segments {
        let from = range.start.clamp(at, at + segment.len());
        let to = range.end.clamp(at, at + segment.len());
        if from < to {
            into[from - range.start..to - range.start]
                .copy_from_slice(&segment[from - at..to - at]);
        }
        at += segment.len();
    }
}

/// Converts the CPU's cost to a device's offer.
fn offer(cost: Cost) -> QueueOffer {
    let bytes_per_second = if cost.bytes_per_ns.is_finite() {
        cost.bytes_per_second().max(1)
    } else {
        u64::MAX
    };
    QueueOffer {
        latency: Duration::ZERO,
        per_request: Duration::from_nanos(cost.setup_ns as u64),
        key_setup: Duration::ZERO,
        bytes_per_second,
    }
}

const CHACHA_NONCE_BYTES: usize = 12;
