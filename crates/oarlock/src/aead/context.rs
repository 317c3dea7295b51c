//! Authenticated ciphers whose key and nonce are set apart and whose messages come in pieces.

use std::fmt;
use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aead::{STRIPE_ALIGN, TAG_BYTES};
use oarlock_kernels::chacha20;
use oarlock_kernels::chacha20_poly1305::{self, Ahead, ChaCha20Poly1305, Due};
use oarlock_kernels::gcm::{self, Gcm};

use super::{AcceleratedAead, refused, spare};
use crate::Error;
use crate::device::keyed::aead::KeyInParts;
use crate::plan::engine::Engine;
use crate::plan::first_look::FirstLook;
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::key_bytes::{self, KeyBytes};

/// An authenticated cipher whose key and nonce are set apart and whose messages come in pieces, from
/// [`Accelerator::aead_context`](crate::Accelerator::aead_context).
///
/// ```
/// use oarlock::{Accelerator, Algorithm};
///
/// let accelerator = Accelerator::builder().build()?;
/// let mut aead = accelerator.aead_context(Algorithm::Aes256Gcm, &[7; 32])?;
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
    kernel: Kernel,
    message: Message,
    /// A message that has no data yet.
    due: Option<Due>,
    /// Keystream for the next pieces of a message that has several.
    ahead: Option<Box<Ahead>>,
    /// Long pieces that the kernel may still do before a session is opened.
    kernel_bytes_left: usize,
    session: Option<Box<AcceleratedAead>>,
}

enum Kernel {
    Gcm(Box<Gcm>),
    ChaCha20Poly1305(ChaCha20Poly1305),
}

/// The message, once it has begun. Each kind begins and ends in its own place: moving the enum would also copy the unused
/// bytes of the larger kind, in which the stack may have left parts of a key.
#[derive(Clone)]
enum Message {
    Gcm(Option<gcm::Message>),
    ChaCha20Poly1305(Option<chacha20_poly1305::Message>),
}

impl Message {
    fn has_begun(&self) -> bool {
        match self {
            Self::Gcm(message) => message.is_some(),
            Self::ChaCha20Poly1305(message) => message.is_some(),
        }
    }

    fn end(&mut self) {
        match self {
            Self::Gcm(message) => *message = None,
            Self::ChaCha20Poly1305(message) => *message = None,
        }
    }
}

impl AeadContext {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        check(algorithm)?;
        let mut context = Self::unkeyed(engine, algorithm);
        context.set_key(key)?;
        Ok(context)
    }

    pub(crate) fn put(
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
        let kernel = match algorithm {
            Algorithm::ChaCha20Poly1305 => {
                let backend = chacha20::Backend::preferred(cpu);
                Kernel::ChaCha20Poly1305(ChaCha20Poly1305::unkeyed(backend))
            }
            _ => Kernel::Gcm(spare::take(cpu)),
        };
        let message = match kernel {
            Kernel::Gcm(_) => Message::Gcm(None),
            Kernel::ChaCha20Poly1305(_) => Message::ChaCha20Poly1305(None),
        };
        Self {
            engine: Arc::clone(engine),
            algorithm,
            key: KeyBytes::default(),
            kernel,
            message,
            due: None,
            ahead: None,
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
        self.message.end();
        self.due = None;
        self.ahead = None;
        self.session = None;
        self.kernel_bytes_left = FirstLook::AEAD.kernel_bytes;
        match &mut self.kernel {
            Kernel::Gcm(gcm) => gcm.set_key(key).map_err(key_bytes::refused),
            Kernel::ChaCha20Poly1305(aead) => aead.set_key(key).map_err(key_bytes::refused),
        }
    }

    /// Begins a message, in place of the one before. Under one key no nonce may seal twice.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a nonce that the cipher does not take: GCM takes any length but 0,
    /// ChaCha20-Poly1305 takes 12 bytes.
    #[inline]
    pub fn begin(&mut self, nonce: &[u8]) -> Result<(), Error> {
        match (&self.kernel, &mut self.message) {
            (Kernel::Gcm(gcm), Message::Gcm(message)) => {
                gcm.begin_in(message, nonce).map_err(refused)?;
            }
            (Kernel::ChaCha20Poly1305(_), Message::ChaCha20Poly1305(message)) => {
                self.due = Some(Due::new(nonce).map_err(refused)?);
                *message = None;
            }
            _ => return Err(no_message()),
        }
        Ok(())
    }

    /// Adds associated data to the message, before its data.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where the message has data already, none has begun, or the cipher
    /// allows no more.
    #[inline]
    pub fn aad(&mut self, aad: &[u8]) -> Result<(), Error> {
        if let Some(due) = &mut self.due {
            if due.takes(aad) {
                return Ok(());
            }
            self.begin_due();
        }
        match (&self.kernel, &mut self.message) {
            (Kernel::Gcm(gcm), Message::Gcm(Some(message))) if message.bytes() == 0 => {
                gcm.aad_next(message, aad).map_err(refused)
            }
            (Kernel::ChaCha20Poly1305(aead), Message::ChaCha20Poly1305(Some(message)))
                if message.bytes() == 0 =>
            {
                aead.aad_next(message, aad);
                Ok(())
            }
            (_, message) if !message.has_begun() => Err(no_message()),
            _ => Err(Error::InvalidInput(
                "associated data come before the data of a message".into(),
            )),
        }
    }

    /// Encrypts the next piece of the message, of any length; a long one with the pool's help.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where no message has begun, or it would be longer than the cipher
    /// allows under one nonce; nothing has changed then.
    #[inline]
    pub fn seal_next(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.show(Direction::Encrypt, data.len());
        if data.len() >= FirstLook::AEAD.short_bytes {
            return self.next_long(Direction::Encrypt, data);
        }
        if let (Kernel::Gcm(gcm), Message::Gcm(Some(message))) = (&self.kernel, &mut self.message)
            && !data.is_empty()
        {
            return gcm.seal_next(message, data).map_err(refused);
        }
        if let Some((aead, message, ahead)) = self.in_pieces() {
            return aead.seal_next_ahead(message, data, ahead).map_err(refused);
        }
        if let Some((aead, message, due)) = self.first()
            && !data.is_empty()
        {
            aead.seal_first(message, due, data).map_err(refused)?;
            self.due = None;
            return Ok(());
        }
        self.next(Direction::Encrypt, data)
    }

    /// Decrypts the next piece of the message. **It is not verified yet**: act on none of it until
    /// the tag of [`finish`](Self::finish) has been compared, by
    /// [`tags_match`](oarlock_kernels::aead::tags_match).
    ///
    /// # Errors
    /// As [`seal_next`](Self::seal_next).
    #[inline]
    pub fn open_next(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.show(Direction::Decrypt, data.len());
        if data.len() >= FirstLook::AEAD.short_bytes {
            return self.next_long(Direction::Decrypt, data);
        }
        if let (Kernel::Gcm(gcm), Message::Gcm(Some(message))) = (&self.kernel, &mut self.message)
            && !data.is_empty()
        {
            return gcm.open_next(message, data).map_err(refused);
        }
        if let Some((aead, message, ahead)) = self.in_pieces() {
            return aead.open_next_ahead(message, data, ahead).map_err(refused);
        }
        if let Some((aead, message, due)) = self.first()
            && !data.is_empty()
        {
            aead.open_first(message, due, data).map_err(refused)?;
            self.due = None;
            return Ok(());
        }
        self.next(Direction::Decrypt, data)
    }

    /// Whether a message has begun and not ended.
    pub fn has_message(&self) -> bool {
        self.message.has_begun() || self.due.is_some()
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
        self.begin_due();
        match (&self.kernel, &mut self.message) {
            (Kernel::Gcm(gcm), Message::Gcm(Some(message))) => gcm.finish_in_place(message, place),
            (Kernel::ChaCha20Poly1305(aead), Message::ChaCha20Poly1305(Some(message))) => {
                *place = aead.finish_in_place(message);
            }
            _ => return Err(no_message()),
        }
        self.message.end();
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
        self.show(Direction::Encrypt, data.len());
        match &self.kernel {
            Kernel::Gcm(gcm) => gcm.seal(nonce, aad, data),
            Kernel::ChaCha20Poly1305(chacha) => chacha.seal(nonce, aad, data),
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
        self.show(Direction::Decrypt, data.len());
        match &self.kernel {
            Kernel::Gcm(gcm) => gcm.open(nonce, aad, data, tag),
            Kernel::ChaCha20Poly1305(chacha) => chacha.open(nonce, aad, data, tag),
        }
        .map_err(refused)
    }

    /// Counts for others to see. Whole messages of a session are counted there.
    #[inline(always)]
    fn show(&self, direction: Direction, bytes: usize) {
        self.engine.shown.count(self.algorithm, direction, bytes);
    }

    /// Of a message of ChaCha20-Poly1305 that goes on, what does the next pieces. One of a single piece
    /// makes nothing that nobody needs.
    #[inline(always)]
    fn in_pieces(
        &mut self,
    ) -> Option<(
        &ChaCha20Poly1305,
        &mut chacha20_poly1305::Message,
        &mut Ahead,
    )> {
        match (&self.kernel, &mut self.message) {
            (Kernel::ChaCha20Poly1305(aead), Message::ChaCha20Poly1305(Some(message)))
                if message.bytes() > 0 =>
            {
                Some((aead, message, self.ahead.get_or_insert_default()))
            }
            _ => None,
        }
    }

    /// Of a message of ChaCha20-Poly1305 that is due, what begins it with its first data.
    #[inline(always)]
    fn first(
        &mut self,
    ) -> Option<(
        &ChaCha20Poly1305,
        &mut Option<chacha20_poly1305::Message>,
        &Due,
    )> {
        match (&self.kernel, &mut self.message, &self.due) {
            (Kernel::ChaCha20Poly1305(aead), Message::ChaCha20Poly1305(message), Some(due)) => {
                Some((aead, message, due))
            }
            _ => None,
        }
    }

    /// Begins the message that is due, if one is, before there are data.
    #[inline(always)]
    fn begin_due(&mut self) {
        if self.due.is_some() {
            self.begin_what_is_due();
        }
    }

    #[inline(never)]
    fn begin_what_is_due(&mut self) {
        if let Some((aead, message, due)) = self.first() {
            *message = Some(aead.begin_due(due));
            self.due = None;
        }
    }

    #[inline(always)]
    fn next(&mut self, direction: Direction, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        if self.due.is_some() {
            return Ok(());
        }
        next(&self.kernel, &mut self.message, direction, data)
    }

    /// Stripes begin and end at multiples of 64 bytes: what is before and behind goes inline.
    #[cold]
    #[inline(never)]
    fn next_long(
        &mut self,
        direction: Direction,
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), Error> {
        self.begin_due();
        let bytes_before = match &self.message {
            Message::Gcm(Some(message)) => message.bytes(),
            Message::ChaCha20Poly1305(Some(message)) => message.bytes(),
            _ => return Err(no_message()),
        };
        let bytes_max = match &self.kernel {
            Kernel::Gcm(_) => gcm::MESSAGE_BYTES_MAX,
            Kernel::ChaCha20Poly1305(_) => chacha20_poly1305::DATA_BYTES_MAX,
        };
        self.session(data.len());
        let Self {
            kernel,
            message,
            session,
            ..
        } = self;
        let session = match session {
            Some(session) if bytes_before.saturating_add(data.len() as u64) <= bytes_max => session,
            // It says what is wrong.
            _ => return next(kernel, message, direction, data),
        };
        let head_bytes = (bytes_before.wrapping_neg() % STRIPE_ALIGN as u64) as usize;
        if head_bytes > 0 {
            let (head, rest) = data.split_at(head_bytes);
            next(kernel, message, direction, head)?;
            data = rest;
        }
        let whole = data.len() - data.len() % STRIPE_ALIGN;
        let (mut stripes, tail) = data.split_at(whole);
        // One of the two at a time, so the message can be lent to both.
        let message = std::cell::RefCell::new(message);
        session.long(
            whole,
            &mut stripes,
            |data| {
                next(
                    kernel,
                    &mut message.borrow_mut(),
                    direction,
                    data.reborrow(),
                )
            },
            |data, cut, key| {
                match (key, &mut **message.borrow_mut()) {
                    (KeyInParts::Gcm(gcm), Message::Gcm(Some(message))) => {
                        cut.next(gcm, message, direction, data.reborrow());
                    }
                    (
                        KeyInParts::ChaCha20Poly1305(aead),
                        Message::ChaCha20Poly1305(Some(message)),
                    ) => cut.next(aead, message, direction, data.reborrow()),
                    // The session is of this context's algorithm.
                    _ => unreachable!("a session of another algorithm"),
                }
                Ok(())
            },
        )?;
        next(kernel, message.into_inner(), direction, tail)
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

fn next(
    kernel: &Kernel,
    message: &mut Message,
    direction: Direction,
    data: InOutBuf<'_, '_, u8>,
) -> Result<(), Error> {
    // Data that are none do not end the associated data.
    if data.is_empty() && message.has_begun() {
        return Ok(());
    }
    match (kernel, message, direction) {
        (Kernel::Gcm(gcm), Message::Gcm(Some(message)), Direction::Encrypt) => {
            gcm.seal_next(message, data)
        }
        (Kernel::Gcm(gcm), Message::Gcm(Some(message)), Direction::Decrypt) => {
            gcm.open_next(message, data)
        }
        (
            Kernel::ChaCha20Poly1305(aead),
            Message::ChaCha20Poly1305(Some(message)),
            Direction::Encrypt,
        ) => aead.seal_next(message, data),
        (
            Kernel::ChaCha20Poly1305(aead),
            Message::ChaCha20Poly1305(Some(message)),
            Direction::Decrypt,
        ) => aead.open_next(message, data),
        _ => return Err(no_message()),
    }
    .map_err(refused)
}

#[cold]
fn no_message() -> Error {
    Error::InvalidInput("no message has begun: set a nonce".into())
}

impl Clone for AeadContext {
    fn clone(&self) -> Self {
        let mut copy = Self::unkeyed(&self.engine, self.algorithm);
        // A key that was taken once is taken again.
        let _ = self.key.with(|key| copy.set_key(key));
        copy.message = self.message.clone();
        copy.due = self.due.clone();
        copy
    }
}

impl Drop for AeadContext {
    #[inline]
    fn drop(&mut self) {
        if let Kernel::Gcm(_) = self.kernel {
            let nothing = ChaCha20Poly1305::unkeyed(chacha20::Backend::Portable);
            let nothing = Kernel::ChaCha20Poly1305(nothing);
            if let Kernel::Gcm(gcm) = std::mem::replace(&mut self.kernel, nothing) {
                spare::keep(self.engine.cpu, gcm);
            }
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
