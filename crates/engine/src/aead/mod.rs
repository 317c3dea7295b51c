//! Authenticated ciphers, inline or in stripes.
//!
//! RustCrypto's traits are re-exported here: `use oarlock::aead::{Aead, AeadInOut}` needs no dependency on the `aead`
//! crate, and always names the version that [`AcceleratedAead`] implements.

pub(crate) mod context;
mod gcm_key;
mod keyed;
mod sequenced;
mod streamed;
mod striped;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use ::aead::consts::{U12, U16, U24, U32};
pub use ::aead::{Aead, AeadInOut, Buffer, KeyInit, Nonce, Payload};
use ::aead::{AeadCore, Key, KeySizeUser, Tag, TagPosition};
pub use inout::InOutBuf;
pub use oarlock_kernels::aead::TAG_BYTES;
use zeroize::ZeroizeOnDrop;

pub use self::context::AeadContext;
pub use self::keyed::KeyedAead;
pub use self::sequenced::{NonceSequence, SequencedAead};
pub use self::streamed::{Opener, Sealer};
use crate::Error;
use crate::device::keyed::aead::refused;
use crate::device::keyed::aead::{AeadKey, KeyInParts};
use crate::device::session::Session;
use crate::options::Strategy;
use crate::plan::engine::Engine;
use crate::plan::long::LongRequest;
use crate::plan::route::{self, Route};
use crate::work::algorithm::{Algorithm, Direction};

/// AES-GCM (SP 800-38D) or ChaCha20-Poly1305 (RFC 8439), from `Accelerator::aead`. Tags have 16 bytes and are detached.
///
/// Several threads share a long message, and produce the same tag as one. Any number of threads may use one key at
/// once. Key, schedule and tables are wiped on drop.
///
/// GCM takes a nonce of any length but 0, preferably 12 bytes; ChaCha20-Poly1305 takes 12. A nonce must not be used for
/// two messages under one key.
///
/// It also implements RustCrypto's [`AeadInOut`] and [`Aead`], with nonces of 12 bytes. With an algorithm as its
/// parameter, as in `AcceleratedAead<Aes256Gcm>`, it implements [`KeyInit`] too, for generic code; it then belongs to
/// no accelerator and is always inline.
///
/// ```
/// use oarlock::aead::{AcceleratedAead, Aead, Aes256Gcm, KeyInit, Payload};
/// use oarlock::{Accelerator, Algorithm};
///
/// let aead = Accelerator::builder().build()?.aead(Algorithm::Aes256Gcm, &[7; 32])?;
/// let nonce = [1; 12];
///
/// // In place, with a detached tag. Long messages use all cores.
/// let mut message = b"attack at dawn".to_vec();
/// let tag = aead.seal(&nonce, b"header", message.as_mut_slice().into())?;
///
/// // RustCrypto's interface: the tag follows the ciphertext.
/// let generic = AcceleratedAead::<Aes256Gcm>::new(&[7; 32].into());
/// let payload = Payload { msg: b"attack at dawn", aad: b"header" };
/// let sealed = generic.encrypt(&nonce.into(), payload).expect("neither is too long");
/// assert_eq!(sealed, [&message[..], &tag].concat());
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct AcceleratedAead<A = AnyAead> {
    keyed: KeyedAead,
    route: Route,
    _algorithm: PhantomData<A>,
}

/// Any AEAD, chosen at run time.
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
    #[doc(hidden)]
    pub fn open_session(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        keyed::check(algorithm, key)?;
        let (session, route) = route::open(engine, algorithm, key, STRIPE_BYTES_MIN)?;
        Ok(Self::of(session, route))
    }
}

impl<A> AcceleratedAead<A> {
    fn of(session: Session<AeadKey>, route: Route) -> Self {
        route.follow_options();
        Self {
            keyed: KeyedAead(session),
            route,
            _algorithm: PhantomData,
        }
    }

    /// Encrypts `data` and returns the tag. `data` is one buffer (`(&mut bytes[..]).into()`) or two of the same length
    /// ([`InOutBuf::new`]).
    ///
    /// ```
    /// use oarlock::{Accelerator, Algorithm};
    ///
    /// let aead = Accelerator::builder().build()?.aead(Algorithm::Aes256Gcm, &[7; 32])?;
    /// let mut data = *b"attack at dawn";
    /// let tag = aead.seal(&[1; 12], b"header", (&mut data[..]).into())?;
    /// aead.open(&[1; 12], b"header", (&mut data[..]).into(), &tag)?;
    /// assert_eq!(&data, b"attack at dawn");
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an invalid nonce length, and for more data than the cipher allows under one nonce:
    /// 2^36 - 32 bytes with GCM, 2^38 - 64 with ChaCha20-Poly1305.
    // A separate call would pass the result through memory twice: 24 ns for 64 bytes of AES-128-GCM instead of 15.
    #[inline(always)]
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        let bytes = data.len();
        if !self.route.is_short(bytes) {
            return self.seal_long(nonce, aad, data.reborrow());
        }
        self.count(Direction::Encrypt, bytes);
        self.keyed.seal(nonce, aad, data)
    }

    /// Decrypts `data` if `tag`, 16 bytes, is the tag of nonce, `aad` and ciphertext.
    ///
    /// No plaintext is released unless the whole message is authentic. Otherwise, data in place becomes the ciphertext
    /// again, and a separate output becomes zeros.
    ///
    /// # Errors
    /// [`Error::AuthenticationFailed`] if it is not authentic; [`Error::InvalidInput`] for a tag of another length, and
    /// the errors of [`seal`](Self::seal).
    #[inline(always)]
    pub fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8],
    ) -> Result<(), Error> {
        let Ok(tag) = tag.try_into() else {
            return Err(wrong_tag_length(tag.len()));
        };
        let bytes = data.len();
        if !self.route.is_short(bytes) {
            return self.open_long(nonce, aad, data.reborrow(), tag);
        }
        self.count(Direction::Decrypt, bytes);
        self.keyed.open(nonce, aad, data, tag)
    }

    /// Returns the key, for short messages of a caller that counts many at once with
    /// [`count_messages`](Self::count_messages): threads that share the session and count each message contend for the
    /// counts, which takes longer than a message of 64 bytes.
    #[doc(hidden)]
    pub fn keyed(&self, bytes: usize) -> Option<&KeyedAead> {
        self.route.is_short(bytes).then_some(&self.keyed)
    }

    /// Counts messages that the key of [`keyed`](Self::keyed) sealed or opened.
    #[doc(hidden)]
    pub fn count_messages(&self, direction: Direction, messages: usize, bytes: usize) {
        let algorithm = self.keyed.algorithm();
        self.route.count(algorithm, direction, messages, bytes);
    }

    /// Returns the name of the session's device.
    pub fn device(&self) -> &'static str {
        self.keyed.device()
    }

    /// Sets the strategy for messages, which overrides the accelerator's options. Messages stay inline without an
    /// accelerator, and on the device `software`, which computes only whole messages.
    pub fn set_strategy(&self, strategy: Strategy) {
        self.route.set_strategy(strategy);
    }

    /// Adds the counts since the last call to `Accelerator::stats`.
    pub fn hand_in_stats(&self) {
        let algorithm = self.keyed.algorithm();
        self.route.hand_in(self.device(), algorithm);
    }

    #[inline(always)]
    fn count(&self, direction: Direction, bytes: usize) {
        self.count_messages(direction, 1, bytes);
    }

    #[cold]
    #[inline(never)]
    fn seal_long(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.count(Direction::Encrypt, data.len());
        let inline = |data: &mut InOutBuf<'_, '_, u8>| self.keyed.seal(nonce, aad, data.reborrow());
        self.long(data.len(), &mut data, inline, |data, request, key| {
            match key {
                KeyInParts::Gcm(gcm) => striped::seal(request, gcm, nonce, aad, data.reborrow()),
                KeyInParts::ChaCha20Poly1305(aead) => {
                    striped::seal(request, aead, nonce, aad, data.reborrow())
                }
            }
            .map_err(refused)
        })
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
        self.count(Direction::Decrypt, data.len());
        let inline =
            |data: &mut InOutBuf<'_, '_, u8>| self.keyed.open(nonce, aad, data.reborrow(), tag);
        self.long(data.len(), &mut data, inline, |data, request, key| {
            match key {
                KeyInParts::Gcm(gcm) => {
                    striped::open(request, gcm, nonce, aad, data.reborrow(), tag)
                }
                KeyInParts::ChaCha20Poly1305(aead) => {
                    striped::open(request, aead, nonce, aad, data.reborrow(), tag)
                }
            }
            .map_err(refused)
        })
    }

    /// Processes a message that may gain from help: with `striped` if the key supports parts, otherwise with `inline`.
    pub(crate) fn long<D, T>(
        &self,
        bytes: usize,
        data: D,
        inline: impl Fn(D) -> Result<T, Error>,
        striped: impl FnOnce(D, &LongRequest<'_>, KeyInParts<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.route.follow_options();
        // aws-lc computes whole messages.
        let Some(key) = self.keyed.key().in_parts() else {
            return inline(data);
        };
        let done = self.route.run(
            bytes,
            LongRequest::helpers_max,
            data,
            &inline,
            |data, request| match bytes > request.stripe_bytes() {
                true => striped(data, request, key),
                false => inline(data),
            },
        );
        if self.route.has_shared() {
            self.hand_in_stats();
        }
        done
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
                let session = Session::on_kernels(Algorithm::$algorithm, key);
                let route = Route::new(None, session.cost, STRIPE_BYTES_MIN);
                Self::of(session, route)
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
            .field("algorithm", &self.keyed.algorithm())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

#[cold]
fn wrong_tag_length(bytes: usize) -> Error {
    Error::InvalidInput(format!("a tag has {TAG_BYTES} bytes, this one has {bytes}"))
}

/// The shortest stripe under [`Strategy::Stripe`].
const STRIPE_BYTES_MIN: usize = 64;
