//! Authenticated ciphers whose key and nonce are set apart and whose messages come in pieces.

use std::fmt;
use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aead::{STRIPE_ALIGN, TAG_BYTES};
use oarlock_kernels::chacha20;
use oarlock_kernels::chacha20_poly1305::{self, Ahead, ChaCha20Poly1305, Due};
use oarlock_kernels::gcm::{self, Gcm};
use oarlock_kernels::{aes, cpu::Cpu};

use super::spare::{self, Room};
use super::{AcceleratedAead, refused};
use crate::Error;
use crate::device::keyed::aead::KeyInParts;
use crate::plan::engine::Engine;
use crate::plan::first_look::FirstLook;
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::key_bytes::{self, KeyBytes};

/// An authenticated cipher whose key and nonce are set apart and whose messages come in pieces.
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
/// Key, schedule, tables and what is known of a message are wiped on drop.
pub struct AeadContext {
    engine: Arc<Engine>,
    algorithm: Algorithm,
    key: KeyBytes,
    state: State,
    /// Bytes that GCM may still do before its key gets room for tables of powers: one of a few records stays small.
    bytes_before_tables: usize,
    /// Long pieces that the kernel may still do before a session is opened.
    kernel_bytes_left: usize,
    session: Option<Box<AcceleratedAead>>,
}

/// A key in its kernel, and the message, once it has begun. Each message begins and ends in its place: one that is moved leaves
/// copies.
// A box would cost as much as the key that is put there.
#[allow(clippy::large_enum_variant)]
enum State {
    Gcm {
        key: Gcm<Room>,
        message: Option<gcm::Message>,
    },
    ChaCha20Poly1305 {
        key: ChaCha20Poly1305,
        message: Option<chacha20_poly1305::Message>,
        /// A message that has no data yet.
        due: Option<Due>,
        /// Keystream for the next pieces of a message that has several.
        ahead: Option<Box<Ahead>>,
    },
}

impl State {
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

    /// Begins the message that is due, if one is, before there are data.
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

impl AeadContext {
    /// An authenticated cipher under `key`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `algorithm` is an AEAD; [`Error::InvalidKey`] unless `key` has
    /// [`Algorithm::key_bytes`].
    pub fn new(engine: &Arc<Engine>, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        check(algorithm)?;
        let mut context = Self::unkeyed(engine, algorithm);
        context.set_key(key)?;
        Ok(context)
    }

    /// As [`new`](Self::new), but creates the context in `place`. Moving a context leaves a copy of its key behind; one
    /// that stays in its place leaves none.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `place` is empty then.
    pub fn put(
        place: &mut Option<Self>,
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<(), Error> {
        *place = None;
        check(algorithm)?;
        let unkeyed = || Self::unkeyed(engine, algorithm);
        key_bytes::put(place, unkeyed, |context| context.set_key(key))
    }

    #[inline(always)]
    fn unkeyed(engine: &Arc<Engine>, algorithm: Algorithm) -> Self {
        let cpu = engine.cpu;
        let state = match algorithm {
            Algorithm::ChaCha20Poly1305 => State::ChaCha20Poly1305 {
                key: ChaCha20Poly1305::unkeyed(chacha20::Backend::preferred(cpu)),
                message: None,
                due: None,
                ahead: None,
            },
            _ => State::Gcm {
                key: unkeyed_gcm(cpu),
                message: None,
            },
        };
        Self {
            engine: Arc::clone(engine),
            algorithm,
            key: KeyBytes::default(),
            state,
            bytes_before_tables: match algorithm {
                Algorithm::ChaCha20Poly1305 => 0,
                _ => BYTES_BEFORE_TABLES,
            },
            kernel_bytes_left: 0,
            session: None,
        }
    }

    /// Takes `key`, of [`Algorithm::key_bytes`], in place of the one before. A message under way is
    /// given up.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing has changed then.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set(self.algorithm, key)?;
        self.state.end_message();
        self.session = None;
        self.kernel_bytes_left = FirstLook::AEAD.kernel_bytes;
        let new_key = key;
        match &mut self.state {
            State::Gcm { key, .. } => key.set_key(new_key),
            State::ChaCha20Poly1305 { key, .. } => key.set_key(new_key),
        }
        .map_err(key_bytes::refused)
    }

    /// Makes a copy, with the message under way, where it stays: one that is moved leaves its key behind.
    pub fn clone_in(&self, place: &mut Option<Self>) {
        *place = None;
        place
            .get_or_insert_with(|| Self::unkeyed(&self.engine, self.algorithm))
            .set_as(self);
    }

    /// Takes the key and the message of another of the same algorithm. `self` has none.
    fn set_as(&mut self, other: &Self) {
        self.key.set_as(&other.key);
        match (&mut self.state, &other.state) {
            (
                State::Gcm { key, message },
                State::Gcm {
                    key: of,
                    message: begun,
                },
            ) => {
                key.set_key_of(of);
                message.clone_from(begun);
            }
            (
                State::ChaCha20Poly1305 {
                    key, message, due, ..
                },
                State::ChaCha20Poly1305 {
                    key: of,
                    message: begun,
                    due: begins,
                    ..
                },
            ) => {
                key.set_key_of(of);
                message.clone_from(begun);
                due.clone_from(begins);
            }
            // Both are of the same algorithm.
            _ => {}
        }
        self.kernel_bytes_left = FirstLook::AEAD.kernel_bytes;
    }

    /// Begins a message, in place of the one before. Under one key no nonce may seal twice.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a nonce that the cipher does not take: GCM takes any length but 0,
    /// ChaCha20-Poly1305 takes 12 bytes.
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
    /// [`Error::InvalidInput`] where the message has data already, none has begun, or the cipher
    /// allows no more.
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

    /// Encrypts the next piece of the message, of any length; a long one with the pool's help.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where no message has begun, or it would be longer than the cipher
    /// allows under one nonce; nothing has changed then.
    #[inline]
    pub fn seal_next(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.count(Direction::Encrypt, data.len());
        if data.len() >= FirstLook::AEAD.short_bytes {
            return self.next_long(Direction::Encrypt, data);
        }
        match &mut self.state {
            State::Gcm {
                key,
                message: Some(message),
            } if !data.is_empty() => key.seal_next(message, data).map_err(refused),
            // One of a single piece makes nothing that nobody needs.
            State::ChaCha20Poly1305 {
                key,
                message: Some(message),
                ahead,
                ..
            } if message.bytes() > 0 => {
                let ahead = ahead.get_or_insert_default();
                key.seal_next_ahead(message, data, ahead).map_err(refused)
            }
            State::ChaCha20Poly1305 {
                key, message, due, ..
            } if due.is_some() && !data.is_empty() => {
                if let Some(begins) = due.as_ref() {
                    key.seal_first(message, begins, data).map_err(refused)?;
                }
                *due = None;
                Ok(())
            }
            state => next(state, Direction::Encrypt, data),
        }
    }

    /// Decrypts the next piece of the message. **It is not verified yet**: act on none of it until
    /// the tag of [`finish`](Self::finish) has been compared, by
    /// [`tags_match`](oarlock_kernels::aead::tags_match).
    ///
    /// # Errors
    /// As [`seal_next`](Self::seal_next).
    #[inline]
    pub fn open_next(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.count(Direction::Decrypt, data.len());
        if data.len() >= FirstLook::AEAD.short_bytes {
            return self.next_long(Direction::Decrypt, data);
        }
        match &mut self.state {
            State::Gcm {
                key,
                message: Some(message),
            } if !data.is_empty() => key.open_next(message, data).map_err(refused),
            // One of a single piece makes nothing that nobody needs.
            State::ChaCha20Poly1305 {
                key,
                message: Some(message),
                ahead,
                ..
            } if message.bytes() > 0 => {
                let ahead = ahead.get_or_insert_default();
                key.open_next_ahead(message, data, ahead).map_err(refused)
            }
            State::ChaCha20Poly1305 {
                key, message, due, ..
            } if due.is_some() && !data.is_empty() => {
                if let Some(begins) = due.as_ref() {
                    key.open_first(message, begins, data).map_err(refused)?;
                }
                *due = None;
                Ok(())
            }
            state => next(state, Direction::Decrypt, data),
        }
    }

    /// Whether a message has begun and not ended.
    pub fn has_message(&self) -> bool {
        match &self.state {
            State::Gcm { message, .. } => message.is_some(),
            State::ChaCha20Poly1305 { message, due, .. } => message.is_some() || due.is_some(),
        }
    }

    /// Ends the message and returns its tag.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where no message has begun.
    #[inline]
    pub fn finish(&mut self) -> Result<[u8; TAG_BYTES], Error> {
        let mut tag = [0; TAG_BYTES];
        self.finish_in(&mut tag)?;
        Ok(tag)
    }

    /// Ends the message and puts its tag in `place`, by a store of the whole: what loads it next must not wait for
    /// several.
    ///
    /// # Errors
    /// As [`finish`](Self::finish); nothing has changed then.
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

    /// A whole message at once: as [`AcceleratedAead::seal`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn seal(
        &mut self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        if data.len() >= FirstLook::AEAD.short_bytes
            && let Some(session) = self.session(data.len())
        {
            return session.seal(nonce, aad, data);
        }
        self.count(Direction::Encrypt, data.len());
        match &self.state {
            State::Gcm { key, .. } => key.seal(nonce, aad, data),
            State::ChaCha20Poly1305 { key, .. } => key.seal(nonce, aad, data),
        }
        .map_err(refused)
    }

    /// A whole message at once: as [`AcceleratedAead::open`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn open(
        &mut self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        if data.len() >= FirstLook::AEAD.short_bytes
            && let Some(session) = self.session(data.len())
        {
            return session.open(nonce, aad, data, tag);
        }
        self.count(Direction::Decrypt, data.len());
        match &self.state {
            State::Gcm { key, .. } => key.open(nonce, aad, data, tag),
            State::ChaCha20Poly1305 { key, .. } => key.open(nonce, aad, data, tag),
        }
        .map_err(refused)
    }

    /// Counts what the kernel is to do, for others to see, and towards room for tables. Whole messages of a session are counted
    /// there.
    #[inline(always)]
    fn count(&mut self, direction: Direction, bytes: usize) {
        self.engine.shown.count(self.algorithm, direction, bytes);
        if bytes > gcm::FEW_BYTES_MAX && self.bytes_before_tables > 0 {
            self.count_towards_tables(bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn count_towards_tables(&mut self, bytes: usize) {
        self.bytes_before_tables = self.bytes_before_tables.saturating_sub(bytes);
        if self.bytes_before_tables == 0
            && let State::Gcm { key, .. } = &mut self.state
            && !key.has_tables()
        {
            key.set_tables(spare::take());
        }
    }

    /// Stripes begin and end at multiples of 64 bytes: what is before and behind goes inline.
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
        self.session(data.len());
        let Self { state, session, .. } = self;
        let session = match session {
            Some(session) if bytes_before.saturating_add(data.len() as u64) <= bytes_max => session,
            // It says what is wrong.
            _ => return next(state, direction, data),
        };
        let head_bytes = (bytes_before.wrapping_neg() % STRIPE_ALIGN as u64) as usize;
        if head_bytes > 0 {
            let (head, rest) = data.split_at(head_bytes);
            next(state, direction, head)?;
            data = rest;
        }
        let whole = data.len() - data.len() % STRIPE_ALIGN;
        let (mut stripes, tail) = data.split_at(whole);
        // One of the two at a time, so the message can be lent to both.
        let state = std::cell::RefCell::new(state);
        session.long(
            whole,
            &mut stripes,
            |data| next(&mut state.borrow_mut(), direction, data.reborrow()),
            |data, cut, key| {
                match (key, &mut **state.borrow_mut()) {
                    (
                        KeyInParts::Gcm(gcm),
                        State::Gcm {
                            message: Some(message),
                            ..
                        },
                    ) => cut.next(gcm, message, direction, data.reborrow()),
                    (
                        KeyInParts::ChaCha20Poly1305(aead),
                        State::ChaCha20Poly1305 {
                            message: Some(message),
                            ..
                        },
                    ) => cut.next(aead, message, direction, data.reborrow()),
                    // The session is of this context's algorithm.
                    _ => unreachable!("a session of another algorithm"),
                }
                Ok(())
            },
        )?;
        next(state.into_inner(), direction, tail)
    }

    /// Opened once there is work enough for one; `None` before, and where none can be had, as under
    /// `reservation=exclusive`.
    fn session(&mut self, bytes: usize) -> Option<&AcceleratedAead> {
        if self.session.is_none() {
            if let Some(left) = self.kernel_bytes_left.checked_sub(bytes) {
                self.kernel_bytes_left = left;
                return None;
            }
            let open =
                |key: &[u8]| AcceleratedAead::open_session(&self.engine, self.algorithm, key);
            let session = self.key.with(open);
            self.session = session.ok().map(Box::new);
        }
        self.session.as_deref()
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
    match (state, direction) {
        // Data that are none do not end the associated data.
        (
            State::Gcm {
                message: Some(_), ..
            }
            | State::ChaCha20Poly1305 {
                message: Some(_), ..
            }
            | State::ChaCha20Poly1305 { due: Some(_), .. },
            _,
        ) if data.is_empty() => return Ok(()),
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

#[cold]
fn data_have_begun() -> Error {
    Error::InvalidInput("associated data come before the data of a message".into())
}

/// Returns an AES-GCM without a key: 700 bytes, with tables of five KiB in the [`Room`], and with counter-mode caching
/// where `cpu` allows it.
#[inline(always)]
fn unkeyed_gcm(cpu: Cpu) -> Gcm<Room> {
    #[cfg(target_arch = "x86_64")]
    if let Some(face) = aes::Face::new(cpu) {
        return Gcm::unkeyed_cached_with(Room::default(), face);
    }
    Gcm::unkeyed_with(Room::default(), aes::Backend::preferred(cpu))
}

#[cold]
fn no_message() -> Error {
    Error::InvalidInput("no message has begun: set a nonce".into())
}

impl Clone for AeadContext {
    fn clone(&self) -> Self {
        let mut copy = Self::unkeyed(&self.engine, self.algorithm);
        copy.set_as(self);
        copy
    }
}

impl Drop for AeadContext {
    #[inline]
    fn drop(&mut self) {
        if let State::Gcm { key, .. } = &mut self.state
            && key.has_tables()
        {
            spare::keep(key.set_tables(Room::default()));
        }
    }
}

impl fmt::Debug for AeadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AeadContext")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// A key gets room for tables of powers with so many bytes. Below, they would save less than the room costs, and the keys of a
/// TLS connection that carries no more than a handshake would have 4 KiB each.
const BYTES_BEFORE_TABLES: usize = 4 << 10;
