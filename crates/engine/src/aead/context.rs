//! Authenticated ciphers with separate key and nonce, and messages in pieces.

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aead::{STRIPE_ALIGN, TAG_BYTES};
use oarlock_kernels::chacha20;
use oarlock_kernels::chacha20_poly1305::{self, Ahead, ChaCha20Poly1305, Due};
use oarlock_kernels::gcm;

use super::gcm_key::{self, GcmKey};
use super::striped;
use crate::Error;
use crate::device::keyed::aead::refused;
use crate::plan::context_route::ContextRoute;
use crate::plan::engine::Engine;
use crate::plan::first_look::FirstLook;
use crate::plan::long::LongRequest;
use crate::plan::shared_key::{Kernel, SharedKey};
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::key_bytes;

/// An authenticated cipher whose key and nonce are set separately, and whose messages come in pieces.
///
/// ```
/// use oarlock::{Accelerator, Algorithm};
/// use oarlock_engine::aead::AeadContext;
///
/// let accelerator = Accelerator::builder().build()?;
/// let mut aead = AeadContext::new(accelerator.as_ref(), Algorithm::Aes256Gcm, &[7; 32])?;
/// aead.begin(&[1; 12])?;
/// aead.aad(b"header")?;
/// let mut data = *b"attack at dawn";
/// aead.seal_next((&mut data[..]).into())?;
/// let tag = aead.finish()?;
/// aead.open(&[1; 12], b"header", (&mut data[..]).into(), &tag)?;
/// assert_eq!(&data, b"attack at dawn");
/// # Ok::<(), oarlock::Error>(())
/// ```
///
/// Key, schedule, tables and message state are wiped on drop.
pub struct AeadContext {
    state: State,
    route: ContextRoute,
}

/// A key, and the message in progress. A message begins and ends in place, because moving it would leave copies.
// A box would cost as much as a message.
#[allow(clippy::large_enum_variant)]
enum State {
    Gcm {
        key: SharedKey<GcmKey>,
        message: Option<gcm::Message>,
    },
    ChaCha20Poly1305 {
        key: SharedKey<ChaCha20Poly1305>,
        message: Option<chacha20_poly1305::Message>,
        /// A message without data yet.
        due: Option<Due>,
        /// Keystream for the next pieces of a message.
        ahead: Option<Box<Ahead>>,
    },
}

impl State {
    fn has_message(&self) -> bool {
        match self {
            Self::Gcm { message, .. } => message.is_some(),
            Self::ChaCha20Poly1305 { message, due, .. } => message.is_some() || due.is_some(),
        }
    }

    fn end_message(&mut self) {
        match self {
            Self::Gcm { message, .. } => *message = None,
            Self::ChaCha20Poly1305 {
                message,
                due,
                ahead,
                ..
            } => {
                *message = None;
                *due = None;
                *ahead = None;
            }
        }
    }

    /// Begins a due message, if there is one, without data.
    #[inline(always)]
    fn begin_due(&mut self) {
        if let Self::ChaCha20Poly1305 {
            key, message, due, ..
        } = self
            && due.is_some()
        {
            begin_due(key, message, due);
        }
    }
}

#[inline(never)]
fn begin_due(
    key: &ChaCha20Poly1305,
    message: &mut Option<chacha20_poly1305::Message>,
    due: &mut Option<Due>,
) {
    *message = due.as_ref().map(|due| key.begin_due(due));
    *due = None;
}

impl Kernel for ChaCha20Poly1305 {
    #[inline(always)]
    fn unkeyed_in<'a>(&self, _: &Engine, place: &'a mut MaybeUninit<Self>) -> &'a mut Self {
        place.write(Self::unkeyed(self.backend()))
    }

    #[inline(always)]
    fn set_key(&mut self, _: &Engine, _: Algorithm, key: &[u8]) -> Result<(), Error> {
        self.set_key(key).map_err(key_bytes::refused)
    }
}

impl AeadContext {
    /// Creates a context under `key`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `algorithm` is an AEAD; [`Error::InvalidKey`] unless `key` has
    /// [`Algorithm::key_bytes`].
    pub fn new(engine: &Arc<Engine>, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        check(algorithm)?;
        Ok(match algorithm {
            Algorithm::ChaCha20Poly1305 => Self::chacha20_poly1305(keyed(engine, key)?),
            _ => Self::gcm(gcm_key::shared(engine, algorithm, key)?),
        })
    }

    /// Does the same as [`new`](Self::new), but creates the context in `place`: moving one takes as long as encrypting
    /// a block.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `place` is then empty.
    #[inline(always)]
    pub fn put(
        place: &mut Option<Self>,
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<(), Error> {
        *place = None;
        check(algorithm)?;
        // `insert` would create it elsewhere and copy it.
        if algorithm == Algorithm::ChaCha20Poly1305 {
            let key = keyed(engine, key)?;
            place.get_or_insert_with(|| Self::chacha20_poly1305(key));
        } else {
            let key = gcm_key::shared(engine, algorithm, key)?;
            place.get_or_insert_with(|| Self::gcm(key));
        }
        Ok(())
    }

    #[inline(always)]
    fn gcm(key: SharedKey<GcmKey>) -> Self {
        Self::with_state(State::Gcm { key, message: None })
    }

    #[inline(always)]
    fn chacha20_poly1305(key: SharedKey<ChaCha20Poly1305>) -> Self {
        Self::with_state(State::ChaCha20Poly1305 {
            key,
            message: None,
            due: None,
            ahead: None,
        })
    }

    #[inline(always)]
    fn with_state(state: State) -> Self {
        Self {
            state,
            route: ContextRoute::new(FirstLook::AEAD_OR_CBC.kernel_bytes),
        }
    }

    /// Replaces the key with `key`, of [`Algorithm::key_bytes`]. A message in progress is abandoned.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing is changed then.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        let new_key = key;
        match &mut self.state {
            State::Gcm { key, .. } => key.set(new_key),
            State::ChaCha20Poly1305 { key, .. } => key.set(new_key),
        }?;
        self.state.end_message();
        self.route = ContextRoute::new(FirstLook::AEAD_OR_CBC.kernel_bytes);
        Ok(())
    }

    /// Creates a copy in `place` that shares the key and has the message in progress: moving a message would leave
    /// copies of the state of its tag.
    #[inline]
    pub fn clone_in(&self, place: &mut Option<Self>) {
        *place = None;
        match &self.state {
            State::Gcm { key, .. } => place.get_or_insert_with(|| Self::gcm(key.clone())),
            State::ChaCha20Poly1305 { key, .. } => {
                place.get_or_insert_with(|| Self::chacha20_poly1305(key.clone()))
            }
        }
        .take_message_of(self);
    }

    /// Copies the message of `other`, which has the same key.
    #[inline(always)]
    fn take_message_of(&mut self, other: &Self) {
        match (&mut self.state, &other.state) {
            (State::Gcm { message, .. }, State::Gcm { message: begun, .. }) => {
                message.clone_from(begun);
            }
            (
                State::ChaCha20Poly1305 { message, due, .. },
                State::ChaCha20Poly1305 {
                    message: begun,
                    due: begins,
                    ..
                },
            ) => {
                message.clone_from(begun);
                due.clone_from(begins);
            }
            // Both have the same key, so this is never reached.
            _ => {}
        }
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> Algorithm {
        match &self.state {
            State::Gcm { key, .. } => key.algorithm(),
            State::ChaCha20Poly1305 { key, .. } => key.algorithm(),
        }
    }

    /// Begins a message and abandons the previous one. A nonce must not seal twice under one key.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an invalid nonce length: GCM takes any length but 0, ChaCha20-Poly1305 takes 12
    /// bytes.
    #[inline]
    pub fn begin(&mut self, nonce: &[u8]) -> Result<(), Error> {
        match &mut self.state {
            State::Gcm { key, message } => key.begin_in(message, nonce).map_err(refused),
            State::ChaCha20Poly1305 { message, due, .. } => {
                *due = Some(Due::new(nonce).map_err(refused)?);
                *message = None;
                Ok(())
            }
        }
    }

    /// Adds associated data to the message, before its data.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the message has data already, none has begun, or the cipher allows no more.
    #[inline]
    pub fn aad(&mut self, aad: &[u8]) -> Result<(), Error> {
        match &mut self.state {
            State::Gcm {
                key,
                message: Some(message),
            } if message.bytes() == 0 => key.aad_next(message, aad).map_err(refused),
            State::ChaCha20Poly1305 {
                key, message, due, ..
            } => {
                if let Some(begins) = due {
                    if begins.takes(aad) {
                        return Ok(());
                    }
                    begin_due(key, message, due);
                }
                match message {
                    Some(message) if message.bytes() == 0 => {
                        key.aad_next(message, aad);
                        Ok(())
                    }
                    Some(_) => Err(data_have_begun()),
                    None => Err(no_message()),
                }
            }
            State::Gcm {
                message: Some(_), ..
            } => Err(data_have_begun()),
            State::Gcm { message: None, .. } => Err(no_message()),
        }
    }

    /// Encrypts the next piece of the message, of any length. The pool helps with a long one.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if no message has begun, or it would exceed the cipher's limit under one nonce; nothing
    /// is changed then.
    #[inline]
    pub fn seal_next(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.next(Direction::Encrypt, data)
    }

    /// Decrypts the next piece of the message. **It is not verified yet**: use none of it before the tag of
    /// [`finish`](Self::finish) has been compared with [`tags_match`](oarlock_kernels::aead::tags_match).
    ///
    /// # Errors
    /// Those of [`seal_next`](Self::seal_next).
    #[inline]
    pub fn open_next(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.next(Direction::Decrypt, data)
    }

    /// Inlined, because each caller's direction is a constant.
    #[inline(always)]
    fn next(&mut self, direction: Direction, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.count(direction, data.len());
        if data.len() >= FirstLook::AEAD_OR_CBC.short_bytes {
            return self.next_long(direction, data);
        }
        match &mut self.state {
            State::Gcm {
                key,
                message: Some(message),
            } if !data.is_empty() => match direction {
                Direction::Encrypt => key.seal_next(message, data),
                Direction::Decrypt => key.open_next(message, data),
            },
            // Only from the second piece on: a message of one piece would make keystream that is never used.
            State::ChaCha20Poly1305 {
                key,
                message: Some(message),
                ahead,
                ..
            } if message.bytes() > 0 => {
                let ahead = ahead.get_or_insert_default();
                match direction {
                    Direction::Encrypt => key.seal_next_ahead(message, data, ahead),
                    Direction::Decrypt => key.open_next_ahead(message, data, ahead),
                }
            }
            State::ChaCha20Poly1305 {
                key,
                message,
                due: due @ Some(_),
                ..
            } if !data.is_empty() => {
                let begun = match (&*due, direction) {
                    (Some(begins), Direction::Encrypt) => key.seal_first(message, begins, data),
                    (Some(begins), Direction::Decrypt) => key.open_first(message, begins, data),
                    (None, _) => Ok(()),
                };
                if begun.is_ok() {
                    *due = None;
                }
                begun
            }
            state => return next(state, direction, data),
        }
        .map_err(refused)
    }

    /// Whether a message has begun and not ended.
    pub fn has_message(&self) -> bool {
        self.state.has_message()
    }

    /// Ends the message and returns its tag.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if no message has begun.
    #[inline]
    pub fn finish(&mut self) -> Result<[u8; TAG_BYTES], Error> {
        let mut tag = [0; TAG_BYTES];
        self.finish_in(&mut tag)?;
        Ok(tag)
    }

    /// Ends the message and writes its tag to `place` in a single store, because a load that follows would have to wait
    /// for several.
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish); nothing is changed then.
    #[inline]
    pub fn finish_in(&mut self, place: &mut [u8; TAG_BYTES]) -> Result<(), Error> {
        self.state.begin_due();
        match &mut self.state {
            State::Gcm { key, message } => {
                let ended = message.as_mut().ok_or_else(no_message)?;
                key.finish_in_place(ended, place);
                *message = None;
            }
            State::ChaCha20Poly1305 { key, message, .. } => {
                let ended = message.as_mut().ok_or_else(no_message)?;
                *place = key.finish_in_place(ended);
                *message = None;
            }
        }
        Ok(())
    }

    /// Seals a whole message, like [`AcceleratedAead::seal`](super::AcceleratedAead::seal).
    ///
    /// # Errors
    /// The same.
    #[inline]
    pub fn seal(
        &mut self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.count(Direction::Encrypt, data.len());
        if data.len() >= FirstLook::AEAD_OR_CBC.short_bytes {
            return self.seal_long(nonce, aad, data);
        }
        match &self.state {
            State::Gcm { key, .. } => key.seal(nonce, aad, data),
            State::ChaCha20Poly1305 { key, .. } => key.seal(nonce, aad, data),
        }
        .map_err(refused)
    }

    /// Opens a whole message, like [`AcceleratedAead::open`](super::AcceleratedAead::open).
    ///
    /// # Errors
    /// The same.
    #[inline]
    pub fn open(
        &mut self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        self.count(Direction::Decrypt, data.len());
        if data.len() >= FirstLook::AEAD_OR_CBC.short_bytes {
            return self.open_long(nonce, aad, data, tag);
        }
        match &self.state {
            State::Gcm { key, .. } => key.open(nonce, aad, data, tag),
            State::ChaCha20Poly1305 { key, .. } => key.open(nonce, aad, data, tag),
        }
        .map_err(refused)
    }

    #[cold]
    #[inline(never)]
    fn seal_long(
        &mut self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.open_route(data.len());
        let Self { state, route } = self;
        match state {
            State::Gcm { key, .. } => route.run(
                data.len(),
                data,
                |data| key.seal(nonce, aad, data),
                |data, request| striped::seal(request, &**key, nonce, aad, data),
            ),
            State::ChaCha20Poly1305 { key, .. } => route.run(
                data.len(),
                data,
                |data| key.seal(nonce, aad, data),
                |data, request| striped::seal(request, &**key, nonce, aad, data),
            ),
        }
        .map_err(refused)
    }

    #[cold]
    #[inline(never)]
    fn open_long(
        &mut self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        self.open_route(data.len());
        let Self { state, route } = self;
        match state {
            State::Gcm { key, .. } => route.run(
                data.len(),
                data,
                |data| key.open(nonce, aad, data, tag),
                |data, request| striped::open(request, &**key, nonce, aad, data, tag),
            ),
            State::ChaCha20Poly1305 { key, .. } => route.run(
                data.len(),
                data,
                |data| key.open(nonce, aad, data, tag),
                |data, request| striped::open(request, &**key, nonce, aad, data, tag),
            ),
        }
        .map_err(refused)
    }

    /// Counts the request for the published statistics, and towards the allocation of tables.
    #[inline(always)]
    fn count(&self, direction: Direction, bytes: usize) {
        let (engine, algorithm) = match &self.state {
            State::Gcm { key, .. } => {
                key.tables().count(bytes);
                (key.engine(), key.algorithm())
            }
            State::ChaCha20Poly1305 { key, .. } => (key.engine(), key.algorithm()),
        };
        engine.shown.count(algorithm, direction, bytes);
    }

    /// Stripes begin and end at multiples of 64 bytes; the data before and after them is processed inline.
    #[cold]
    #[inline(never)]
    fn next_long(
        &mut self,
        direction: Direction,
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), Error> {
        self.state.begin_due();
        let (bytes_before, bytes_max) = match &self.state {
            State::Gcm {
                message: Some(message),
                ..
            } => (message.bytes(), gcm::MESSAGE_BYTES_MAX),
            State::ChaCha20Poly1305 {
                message: Some(message),
                ..
            } => (message.bytes(), chacha20_poly1305::DATA_BYTES_MAX),
            _ => return Err(no_message()),
        };
        if bytes_before.saturating_add(data.len() as u64) > bytes_max {
            // This call returns the error.
            return next(&mut self.state, direction, data);
        }
        self.open_route(data.len());
        let Self { state, route } = self;
        let head_bytes = (bytes_before.wrapping_neg() % STRIPE_ALIGN as u64) as usize;
        if head_bytes > 0 {
            let (head, rest) = data.split_at(head_bytes);
            next(state, direction, head)?;
            data = rest;
        }
        let whole = data.len() - data.len() % STRIPE_ALIGN;
        let (stripes, tail) = data.split_at(whole);
        route.run(
            whole,
            (&mut *state, stripes),
            |(state, data)| next(state, direction, data),
            |(state, data), request| next_in_stripes(state, request, direction, data),
        )?;
        next(state, direction, tail)
    }

    /// Opens the route, if there is enough work for one.
    fn open_route(&mut self, bytes: usize) {
        match &self.state {
            State::Gcm { key, .. } => self.route.open(key, bytes),
            State::ChaCha20Poly1305 { key, .. } => self.route.open(key, bytes),
        }
    }
}

#[inline(always)]
fn check(algorithm: Algorithm) -> Result<(), Error> {
    if algorithm.kind() == Kind::Aead {
        Ok(())
    } else {
        Err(Error::InvalidInput(format!("{algorithm} is no AEAD")))
    }
}

#[inline(never)]
fn next(state: &mut State, direction: Direction, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
    // Empty data does not end the associated data.
    if data.is_empty() && state.has_message() {
        return Ok(());
    }
    match (state, direction) {
        (
            State::Gcm {
                key,
                message: Some(message),
            },
            Direction::Encrypt,
        ) => key.seal_next(message, data),
        (
            State::Gcm {
                key,
                message: Some(message),
            },
            Direction::Decrypt,
        ) => key.open_next(message, data),
        (
            State::ChaCha20Poly1305 {
                key,
                message: Some(message),
                ..
            },
            Direction::Encrypt,
        ) => key.seal_next(message, data),
        (
            State::ChaCha20Poly1305 {
                key,
                message: Some(message),
                ..
            },
            Direction::Decrypt,
        ) => key.open_next(message, data),
        _ => return Err(no_message()),
    }
    .map_err(refused)
}

/// Does the same as [`next`] in stripes, for data within the cipher's limit.
fn next_in_stripes(
    state: &mut State,
    request: &LongRequest<'_>,
    direction: Direction,
    data: InOutBuf<'_, '_, u8>,
) -> Result<(), Error> {
    match state {
        State::Gcm {
            key,
            message: Some(message),
        } => {
            striped::next(request, &**key, message, direction, data);
        }
        State::ChaCha20Poly1305 {
            key,
            message: Some(message),
            ..
        } => {
            striped::next(request, &**key, message, direction, data);
        }
        _ => return Err(no_message()),
    }
    Ok(())
}

#[cold]
fn data_have_begun() -> Error {
    Error::InvalidInput("associated data come before the data of a message".into())
}

#[inline(always)]
fn keyed(engine: &Arc<Engine>, key: &[u8]) -> Result<SharedKey<ChaCha20Poly1305>, Error> {
    let backend = chacha20::Backend::preferred(engine.cpu);
    SharedKey::new(engine, Algorithm::ChaCha20Poly1305, key, |place| {
        place.write(ChaCha20Poly1305::unkeyed(backend))
    })
}

#[cold]
fn no_message() -> Error {
    Error::InvalidInput("no message has begun: set a nonce".into())
}

impl Clone for AeadContext {
    fn clone(&self) -> Self {
        let mut copy = match &self.state {
            State::Gcm { key, .. } => Self::gcm(key.clone()),
            State::ChaCha20Poly1305 { key, .. } => Self::chacha20_poly1305(key.clone()),
        };
        copy.take_message_of(self);
        copy
    }
}

impl fmt::Debug for AeadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AeadContext")
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}
