//! Authenticated ciphers, inline or in stripes.

mod sequenced;
mod streamed;
mod striped;

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ::aead::consts::{U12, U16, U24, U32};
use ::aead::{AeadCore, AeadInOut, Key, KeyInit, KeySizeUser, Nonce, Tag, TagPosition};
use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, TAG_BYTES};
use zeroize::ZeroizeOnDrop;

pub use self::sequenced::{NonceSequence, SequencedAead};
pub use self::streamed::{Opener, Sealer};
use self::striped::Cut;
use crate::Error;
use crate::costs::stats::OperationStats;
use crate::device::SessionParams;
use crate::device::keyed::aead::{AeadKey, Failure, KeyInParts};
use crate::device::session::Session;
use crate::options::Strategy;
use crate::plan::engine::{Engine, Reserved};
use crate::plan::long::LongRequest;
use crate::plan::pace::{Pace, Way};
use crate::threads::process;
use crate::work::algorithm::{Kind, Operation};

/// AES-GCM (SP 800-38D) or ChaCha20-Poly1305 (RFC 8439), from [`Accelerator::aead`]; tags have 16
/// bytes and are detached.
///
/// A long message goes over several threads, and its tag is what one thread would find. One key
/// serves any number of threads at once. Key, schedule and tables are wiped on drop.
///
/// Nonces: GCM takes any length but 0, best 12 bytes; ChaCha20-Poly1305 takes 12. Under one key no
/// nonce may seal twice.
///
/// With a type of its own, as in `AcceleratedAead<Aes256Gcm>`, it can also be made by [`KeyInit`]
/// where generic code demands it; it then belongs to no accelerator and is always inline.
pub struct AcceleratedAead<A = AnyAead> {
    session: Session<AeadKey>,
    /// Where it lives since its device failed or was withdrawn.
    elsewhere: RwLock<Option<Arc<Session<AeadKey>>>>,
    has_moved: AtomicBool,
    /// Messages below this are inline without a look at clock or pool.
    long_bytes: AtomicUsize,
    counts: Counts,
    /// Locked for moments; who finds it locked goes inline.
    pace: Mutex<Pace>,
    strategy: Followed,
    engine: Option<Arc<Engine>>,
    _reserved: Option<Reserved>,
    _algorithm: PhantomData<A>,
}

/// An AEAD known at run time only.
#[derive(Clone, Copy, Debug)]
pub struct AnyAead(());
/// AES-GCM with a 16-byte key.
#[derive(Clone, Copy, Debug)]
pub struct Aes128Gcm(());
/// AES-GCM with a 24-byte key.
#[derive(Clone, Copy, Debug)]
pub struct Aes192Gcm(());
/// AES-GCM with a 32-byte key.
#[derive(Clone, Copy, Debug)]
pub struct Aes256Gcm(());
/// ChaCha20-Poly1305.
#[derive(Clone, Copy, Debug)]
pub struct ChaCha20Poly1305(());

impl AcceleratedAead<AnyAead> {
    pub(crate) fn open_session(
        engine: &Arc<Engine>,
        operation: Operation,
        key: &[u8],
    ) -> Result<Self, Error> {
        if operation.kind() != Kind::Aead {
            return Err(Error::InvalidInput(format!("{operation} is no AEAD")));
        }
        if key.len() != operation.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "a key of {operation} has {} bytes, this one has {}",
                operation.key_bytes(),
                key.len()
            )));
        }
        let reserved = engine.reserve()?;
        let session = Session::open(
            &engine.registry,
            engine.cpu,
            SessionParams { operation },
            key,
        )?;
        Ok(Self::of(session, Some(Arc::clone(engine)), reserved))
    }
}

impl<A> AcceleratedAead<A> {
    fn of(
        session: Session<AeadKey>,
        engine: Option<Arc<Engine>>,
        reserved: Option<Reserved>,
    ) -> Self {
        let pace = Pace::new(session.cost);
        let aead = Self {
            session,
            elsewhere: RwLock::new(None),
            has_moved: AtomicBool::new(false),
            long_bytes: AtomicUsize::new(usize::MAX),
            counts: Counts::default(),
            pace: Mutex::new(pace),
            strategy: Followed::default(),
            engine,
            _reserved: reserved,
            _algorithm: PhantomData,
        };
        aead.take_over_options();
        aead
    }

    /// Encrypts `data` and returns the tag.
    ///
    /// ```
    /// use oarlock::{Accelerator, device::Operation};
    ///
    /// let aead = Accelerator::builder().build()?.aead(Operation::Aes256Gcm, &[7; 32])?;
    /// let mut data = *b"attack at dawn";
    /// let tag = aead.seal(&[1; 12], b"header", (&mut data[..]).into())?;
    /// aead.open(&[1; 12], b"header", (&mut data[..]).into(), &tag)?;
    /// assert_eq!(&data, b"attack at dawn");
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a nonce that the cipher does not take and for data or associated
    /// data beyond what it allows under one nonce: 2^36 - 32 bytes for GCM, 2^38 - 64 for
    /// ChaCha20-Poly1305.
    #[inline]
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        let bytes = data.len();
        if bytes >= self.long_bytes.load(Ordering::Relaxed) {
            return self.seal_long(nonce, aad, data);
        }
        self.counts.add(bytes);
        if self.is_at_home() {
            match &self.session.keyed {
                AeadKey::Gcm(gcm) => return gcm.seal(nonce, aad, data).map_err(refused),
                AeadKey::ChaCha20Poly1305(aead) => {
                    return aead.seal(nonce, aad, data).map_err(refused);
                }
                _ => {}
            }
        }
        self.seal_by_the_device(nonce, aad, data)
    }

    /// Decrypts `data` if `tag` is that of `aad` and the ciphertext.
    ///
    /// Nothing is released before the whole message was found authentic: where it is not, data in
    /// place are the ciphertext again, and an output elsewhere is zero.
    ///
    /// # Errors
    /// [`Error::AuthenticationFailed`]; otherwise as [`seal`](Self::seal), and
    /// [`Error::InvalidInput`] for a tag that has not 16 bytes.
    #[inline]
    pub fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8],
    ) -> Result<(), Error> {
        let Ok(tag) = tag.try_into() else {
            return Err(wrong_tag_length(tag.len()));
        };
        let bytes = data.len();
        if bytes >= self.long_bytes.load(Ordering::Relaxed) {
            return self.open_long(nonce, aad, data, tag);
        }
        self.counts.add(bytes);
        if self.is_at_home() {
            match &self.session.keyed {
                AeadKey::Gcm(gcm) => return gcm.open(nonce, aad, data, tag).map_err(refused),
                AeadKey::ChaCha20Poly1305(aead) => {
                    return aead.open(nonce, aad, data, tag).map_err(refused);
                }
                _ => {}
            }
        }
        self.open_by_the_device(nonce, aad, data, tag)
    }

    /// The device that serves this session now.
    pub fn device(&self) -> String {
        match self.moved() {
            Some(session) => session.device().into(),
            None => self.session.device().into(),
        }
    }

    /// Sends messages this way from now on, whatever the accelerator's options say. Without an
    /// accelerator, and by devices that know no parts of a message, all are inline.
    pub fn set_strategy(&self, strategy: Strategy) {
        self.strategy.set(strategy);
        self.look_from();
    }

    /// Hands the counts since the last time in to [`Accelerator::stats`].
    pub fn hand_in_stats(&self) {
        if let Some(engine) = &self.engine {
            let counts = self.counts.take();
            if counts != OperationStats::default() {
                let operation = self.session.params().operation;
                engine.totals.add(&self.device(), operation, counts);
            }
        }
    }

    #[inline]
    fn is_at_home(&self) -> bool {
        !self.session.has_lost_its_device() && !self.has_moved.load(Ordering::Relaxed)
    }

    fn moved(&self) -> Option<Arc<Session<AeadKey>>> {
        process::undivided(|| {
            let elsewhere = self
                .elsewhere
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            elsewhere.clone()
        })
    }

    #[cold]
    fn seal_by_the_device(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.with_a_device(|key| key.seal(nonce, aad, data.reborrow()))
    }

    #[cold]
    fn open_by_the_device(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        self.with_a_device(|key| key.open(nonce, aad, data.reborrow(), tag))
    }

    /// Runs `request` on the device, or on one after the other until one has done it; at the end are
    /// the kernels, which cannot fail.
    fn with_a_device<T>(
        &self,
        mut request: impl FnMut(&AeadKey) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        // None is asked twice, or two that fail would send the request to and fro for ever.
        let mut failed = Vec::new();
        let mut moved = self.moved();
        loop {
            let session = moved.as_deref().unwrap_or(&self.session);
            if !session.has_lost_its_device() {
                match request(&session.keyed) {
                    Ok(done) => return Ok(done),
                    Err(Failure::Refused(error)) => return Err(refused(error)),
                    Err(Failure::Device) => {}
                }
            }
            self.hand_in_stats();
            let Some(next) = session.elsewhere(&mut failed) else {
                return Err(Error::DeviceFailed {
                    device: session.device().into(),
                    reason: "and no kernel takes its place".into(),
                });
            };
            let next = Arc::new(next);
            process::undivided(|| {
                let mut elsewhere = self
                    .elsewhere
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *elsewhere = Some(Arc::clone(&next));
            });
            self.has_moved.store(true, Ordering::Relaxed);
            moved = Some(next);
        }
    }

    #[cold]
    #[inline(never)]
    fn seal_long(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        let bytes = data.len();
        self.counts.add(bytes);
        self.long(
            bytes,
            &mut data,
            |data| match (self.is_at_home(), &self.session.keyed) {
                (true, AeadKey::Gcm(gcm)) => gcm.seal(nonce, aad, data.reborrow()).map_err(refused),
                (true, AeadKey::ChaCha20Poly1305(aead)) => {
                    aead.seal(nonce, aad, data.reborrow()).map_err(refused)
                }
                _ => self.seal_by_the_device(nonce, aad, data.reborrow()),
            },
            |data, cut, key| match key {
                KeyInParts::Gcm(gcm) => cut.seal(gcm, nonce, aad, data.reborrow()),
                KeyInParts::ChaCha20Poly1305(aead) => cut.seal(aead, nonce, aad, data.reborrow()),
            },
        )
    }

    #[cold]
    #[inline(never)]
    fn open_long(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        let bytes = data.len();
        self.counts.add(bytes);
        self.long(
            bytes,
            &mut data,
            |data| match (self.is_at_home(), &self.session.keyed) {
                (true, AeadKey::Gcm(gcm)) => {
                    gcm.open(nonce, aad, data.reborrow(), tag).map_err(refused)
                }
                (true, AeadKey::ChaCha20Poly1305(aead)) => {
                    aead.open(nonce, aad, data.reborrow(), tag).map_err(refused)
                }
                _ => self.open_by_the_device(nonce, aad, data.reborrow(), tag),
            },
            |data, cut, key| match key {
                KeyInParts::Gcm(gcm) => cut.open(gcm, nonce, aad, data.reborrow(), tag),
                KeyInParts::ChaCha20Poly1305(aead) => {
                    cut.open(aead, nonce, aad, data.reborrow(), tag)
                }
            },
        )
    }

    /// A message that may gain from help: by `striped`, where the key knows parts, or by `inline`.
    pub(crate) fn long<T, D>(
        &self,
        bytes: usize,
        data: &mut D,
        inline: impl FnOnce(&mut D) -> Result<T, Error>,
        striped: impl FnOnce(&mut D, &Cut<'_>, KeyInParts<'_>) -> Result<T, AeadError>,
    ) -> Result<T, Error> {
        self.take_over_options();
        let Some(engine) = &self.engine else {
            return inline(data);
        };
        let strategy = self.strategy.get();
        let helpers_max = LongRequest::helpers_max(engine);
        let key = match self.session.keyed.in_parts() {
            Some(key)
                if matches!(strategy, Strategy::Auto | Strategy::Stripe)
                    && helpers_max > 0
                    && self.is_at_home() =>
            {
                key
            }
            _ => return inline(data),
        };
        let request = LongRequest::begin(engine, bytes);
        let (way, stripe_bytes) = {
            let Ok(mut pace) = self.pace.try_lock() else {
                return inline(data);
            };
            if strategy == Strategy::Auto && !pace.looks_at(bytes) {
                drop(pace);
                let result = inline(data);
                if let Ok(mut pace) = self.pace.try_lock() {
                    pace.pass_over();
                }
                return result;
            }
            let way = request.choose(strategy, &mut pace);
            let threads = match way {
                Way::Stripe { helpers } => helpers + 1,
                _ => 1,
            };
            (way, pace.stripe_bytes(bytes, threads))
        };
        let mut counts = OperationStats::default();
        let result = match way {
            Way::Stripe { helpers } if bytes > stripe_bytes => {
                let cut = Cut {
                    request: &request,
                    helpers,
                    stripe_bytes,
                    counts: RefCell::default(),
                };
                let result = striped(data, &cut, key).map_err(refused);
                counts = cut.counts.into_inner();
                result
            }
            _ => inline(data),
        };
        if let Ok(mut pace) = self.pace.try_lock() {
            request.end(way, &mut pace, &mut counts);
        }
        self.look_from();
        let is_striped = counts.striped_requests > 0;
        self.counts.with_long(|long| *long += counts);
        if is_striped {
            self.hand_in_stats();
        }
        result
    }

    fn take_over_options(&self) {
        if let Some(engine) = &self.engine {
            let version = engine.live.version() as u64;
            if version != self.strategy.version() {
                self.strategy.follow(version, engine.options().strategy);
                self.look_from();
            }
        }
    }

    /// From which length on a message gets a look at clock and pool.
    fn look_from(&self) {
        let long_bytes = match self.strategy.get() {
            _ if self.engine.is_none() => usize::MAX,
            Strategy::Stripe => 2 * STRIPE_BYTES_MIN,
            _ => match self.pace.try_lock() {
                Ok(pace) => pace.long_bytes(),
                Err(_) => return,
            },
        };
        self.long_bytes.store(long_bytes, Ordering::Relaxed);
    }
}

impl<A> AeadCore for AcceleratedAead<A> {
    type NonceSize = U12;
    type TagSize = U16;
    const TAG_POSITION: TagPosition = TagPosition::Postfix;
}

impl<A> AeadInOut for AcceleratedAead<A> {
    fn encrypt_inout_detached(
        &self,
        nonce: &Nonce<Self>,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
    ) -> ::aead::Result<Tag<Self>> {
        self.seal(nonce, associated_data, buffer)
            .map(Into::into)
            .map_err(|_| ::aead::Error)
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &Nonce<Self>,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &Tag<Self>,
    ) -> ::aead::Result<()> {
        self.open(nonce, associated_data, buffer, tag)
            .map_err(|_| ::aead::Error)
    }
}

macro_rules! typed {
    ($($algorithm:ident $key_bytes:ty)+) => {$(
        impl KeySizeUser for AcceleratedAead<$algorithm> {
            type KeySize = $key_bytes;
        }

        impl KeyInit for AcceleratedAead<$algorithm> {
            fn new(key: &Key<Self>) -> Self {
                let params = SessionParams {
                    operation: Operation::$algorithm,
                };
                Self::of(Session::on_kernels(params, key), None, None)
            }
        }
    )+};
}

typed!(Aes128Gcm U16 Aes192Gcm U24 Aes256Gcm U32 ChaCha20Poly1305 U32);

impl<A> ZeroizeOnDrop for AcceleratedAead<A> {}

impl<A> Drop for AcceleratedAead<A> {
    fn drop(&mut self) {
        self.hand_in_stats();
    }
}

impl<A> fmt::Debug for AcceleratedAead<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceleratedAead")
            .field("operation", &self.session.params().operation)
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

/// A strategy that follows the options until one is set; several threads may do both at once. One
/// word, so that neither overtakes the other: the version of the options, then whether the strategy
/// was set, then its place in [`STRATEGIES`]. Version 0 is before any.
#[derive(Default)]
struct Followed(AtomicU64);

impl Followed {
    fn get(&self) -> Strategy {
        STRATEGIES[self.0.load(Ordering::Relaxed) as usize % STRATEGIES.len()]
    }

    /// Of the options that were followed last.
    fn version(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> VERSION_SHIFT
    }

    /// Takes `strategy`, of options that are of `version` or newer, unless it was set or has
    /// followed newer ones.
    fn follow(&self, version: u64, strategy: Strategy) {
        let follow = |before: u64| {
            let low = match before & IS_SET {
                0 => place_of(strategy),
                _ => before & ((1 << VERSION_SHIFT) - 1),
            };
            (before >> VERSION_SHIFT < version).then_some(version << VERSION_SHIFT | low)
        };
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, follow);
    }

    fn set(&self, strategy: Strategy) {
        let set = |before: u64| {
            let version = before >> VERSION_SHIFT;
            Some(version << VERSION_SHIFT | IS_SET | place_of(strategy))
        };
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, set);
    }
}

fn place_of(strategy: Strategy) -> u64 {
    let place = STRATEGIES.iter().position(|one| *one == strategy);
    place.unwrap_or_default() as u64
}

/// Counts of a session that several threads may use. Without a locked addition, which would show in
/// a short message: of two that add at the same moment one may get lost.
#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    bytes: AtomicU64,
    /// Of long messages, which are few.
    long: Mutex<OperationStats>,
}

impl Counts {
    #[inline]
    fn add(&self, bytes: usize) {
        let add = |count: &AtomicU64, more| {
            count.store(
                count.load(Ordering::Relaxed).wrapping_add(more),
                Ordering::Relaxed,
            );
        };
        add(&self.requests, 1);
        add(&self.bytes, bytes as u64);
    }

    /// All since the last time.
    fn take(&self) -> OperationStats {
        let mut taken = self.with_long(std::mem::take);
        taken.requests += self.requests.swap(0, Ordering::Relaxed);
        taken.bytes += self.bytes.swap(0, Ordering::Relaxed);
        taken
    }

    fn with_long<T>(&self, run: impl FnOnce(&mut OperationStats) -> T) -> T {
        process::undivided(|| run(&mut self.long.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// In the words of the engine.
#[cold]
pub(crate) fn refused(error: AeadError) -> Error {
    match error {
        AeadError::AuthenticationFailed => Error::AuthenticationFailed,
        other => Error::InvalidInput(other.to_string()),
    }
}

#[cold]
fn wrong_tag_length(bytes: usize) -> Error {
    Error::InvalidInput(format!("a tag has {TAG_BYTES} bytes, this one has {bytes}"))
}

/// Of [`Strategy::Stripe`].
const STRIPE_BYTES_MIN: usize = 64;
const STRATEGIES: [Strategy; 4] = [
    Strategy::Auto,
    Strategy::Inline,
    Strategy::Stripe,
    Strategy::Prefetch,
];
/// Above the places of [`STRATEGIES`].
const IS_SET: u64 = 4;
const VERSION_SHIFT: u32 = 3;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Accelerator;

    #[test]
    fn a_strategy_follows_the_newest_options_until_one_is_set() {
        for first in STRATEGIES {
            for second in STRATEGIES {
                let strategy = Followed::default();
                assert_eq!(strategy.version(), 0);
                strategy.follow(2, first);
                assert_eq!((strategy.version(), strategy.get()), (2, first));
                // Of two threads that follow, the one with the older options may be the later.
                strategy.follow(1, second);
                assert_eq!((strategy.version(), strategy.get()), (2, first));
                strategy.follow(3, second);
                assert_eq!((strategy.version(), strategy.get()), (3, second));
                strategy.set(first);
                strategy.follow(4, second);
                assert_eq!((strategy.version(), strategy.get()), (4, first));
            }
        }
    }

    #[test]
    fn a_strategy_that_is_set_stays_while_another_thread_takes_options_over() {
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        let aead = accelerator.aead(Operation::Aes128Gcm, &[7; 16]).unwrap();
        let mut options = accelerator.options();
        options.strategy = Strategy::Stripe;
        accelerator.set_options(options).unwrap();
        std::thread::scope(|scope| {
            accelerator.0.with_options_locked(|| {
                let (tell, told) = std::sync::mpsc::channel();
                let aead = &aead;
                scope.spawn(move || {
                    tell.send(rustix::thread::gettid()).unwrap();
                    aead.take_over_options();
                });
                // The other has found that they changed, and sleeps until they can be read.
                let stat = format!("/proc/self/task/{}/stat", told.recv().unwrap());
                oarlock_testing::until("it waits for the options", || {
                    std::fs::read_to_string(&stat).unwrap().contains(") S ")
                });
                aead.set_strategy(Strategy::Inline);
            });
        });
        assert_eq!(aead.strategy.get(), Strategy::Inline);
    }
}
