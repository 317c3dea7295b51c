//! Authenticated ciphers, inline or in stripes.
//!
//! RustCrypto's traits are re-exported here: `use oarlock::aead::{Aead, AeadInOut}` needs no
//! dependency on the crate `aead`, and cannot name a version of it other than the one that
//! [`AcceleratedAead`] implements.

pub(crate) mod context;
mod gcm_key;
mod many;
mod sequenced;
mod streamed;
mod striped;

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use ::aead::consts::{U12, U16, U24, U32};
pub use ::aead::{Aead, AeadInOut, Buffer, KeyInit, Nonce, Payload};
use ::aead::{AeadCore, Key, KeySizeUser, Tag, TagPosition};
pub use inout::InOutBuf;
use oarlock_kernels::aead::AeadError;
pub use oarlock_kernels::aead::TAG_BYTES;
use zeroize::ZeroizeOnDrop;

pub use self::context::AeadContext;
pub use self::sequenced::{NonceSequence, SequencedAead};
pub use self::streamed::{Opener, Sealer};
use self::striped::Cut;
use crate::Error;
use crate::costs::stats::AlgorithmStats;
use crate::device::SessionParams;
use crate::device::keyed::aead::{AeadKey, Failure, KeyInParts};
use crate::device::session::Session;
use crate::options::Strategy;
use crate::plan::engine::{Engine, Reserved};
use crate::plan::long::{Look, look};
use crate::plan::pace::Way;
use crate::plan::shared_route::{SharedRoute, Undone};
use crate::work::algorithm::{Algorithm, Direction, Kind};

/// AES-GCM (SP 800-38D) or ChaCha20-Poly1305 (RFC 8439), from
/// `Accelerator::aead`. Tags have 16 bytes and are detached.
///
/// A long message is shared by several threads; the tag is the one that a single thread computes. Any
/// number of threads may use one key at once. Key, schedule and tables are wiped on drop.
///
/// Nonces: GCM takes any length but 0, best 12 bytes; ChaCha20-Poly1305 takes 12. No nonce may be used
/// for two messages under one key.
///
/// It also implements RustCrypto's [`AeadInOut`] and [`Aead`], with nonces of 12 bytes. With an
/// algorithm as its parameter, as in `AcceleratedAead<Aes256Gcm>`, it implements [`KeyInit`] too, for
/// generic code; it then belongs to no accelerator and is always inline.
///
/// ```
/// use oarlock::aead::{AcceleratedAead, Aead, Aes256Gcm, KeyInit, Payload};
/// use oarlock::{Accelerator, Algorithm};
///
/// let aead = Accelerator::builder().build()?.aead(Algorithm::Aes256Gcm, &[7; 32])?;
/// let nonce = [1; 12];
///
/// // In place, with a detached tag; long messages use all cores.
/// let mut message = b"attack at dawn".to_vec();
/// let tag = aead.seal(&nonce, b"header", message.as_mut_slice().into())?;
///
/// // RustCrypto's way: the tag follows the ciphertext.
/// let generic = AcceleratedAead::<Aes256Gcm>::new(&[7; 32].into());
/// let payload = Payload { msg: b"attack at dawn", aad: b"header" };
/// let sealed = generic.encrypt(&nonce.into(), payload).expect("neither is too long");
/// assert_eq!(sealed, [&message[..], &tag].concat());
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct AcceleratedAead<A = AnyAead> {
    route: SharedRoute<AeadKey>,
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
    #[doc(hidden)]
    pub fn open_session(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        Self::open_with(engine, algorithm, key, engine.reserve()?)
    }

    /// One of the keys of something that has a reservation, such as a connection.
    #[doc(hidden)]
    pub fn open_part(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        Self::open_with(engine, algorithm, key, None)
    }

    fn open_with(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
        reserved: Option<Reserved>,
    ) -> Result<Self, Error> {
        if algorithm.kind() != Kind::Aead {
            return Err(Error::InvalidInput(format!("{algorithm} is no AEAD")));
        }
        if key.len() != algorithm.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "a key of {algorithm} has {} bytes, this one has {}",
                algorithm.key_bytes(),
                key.len()
            )));
        }
        let route = SharedRoute::open(engine, algorithm, key, STRIPE_BYTES_MIN, reserved)?;
        Ok(Self::of(route))
    }
}

impl<A> AcceleratedAead<A> {
    fn of(route: SharedRoute<AeadKey>) -> Self {
        Self {
            route,
            _algorithm: PhantomData,
        }
    }

    /// Encrypts `data` and returns the tag. `data` is one buffer (`(&mut bytes[..]).into()`) or two of
    /// the same length ([`InOutBuf::new`]).
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
    /// [`Error::InvalidInput`] for a nonce of a length that the cipher does not take, and for more data
    /// than it allows under one nonce: 2^36 - 32 bytes with GCM, 2^38 - 64 with ChaCha20-Poly1305.
    // A call of its own passes the result through memory twice: 24 ns for 64 bytes of AES-128-GCM, not 15.
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
        self.route.count(Direction::Encrypt, bytes);
        match self.route.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.seal(nonce, aad, data).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => {
                aead.seal(nonce, aad, data.reborrow()).map_err(refused)
            }
            _ => self.seal_by_the_device(nonce, aad, data.reborrow()),
        }
    }

    /// Decrypts `data` if `tag`, 16 bytes, is the tag of nonce, `aad` and ciphertext.
    ///
    /// No plaintext is released unless the whole message is authentic. If it is not, data in place are
    /// the ciphertext again, and a separate output is all zeros.
    ///
    /// # Errors
    /// [`Error::AuthenticationFailed`] if it is not authentic; [`Error::InvalidInput`] for a tag of
    /// another length, and as [`seal`](Self::seal).
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
        self.route.count(Direction::Decrypt, bytes);
        match self.route.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.open(nonce, aad, data, tag).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => {
                aead.open(nonce, aad, data.reborrow(), tag).map_err(refused)
            }
            _ => self.open_by_the_device(nonce, aad, data.reborrow(), tag),
        }
    }

    /// The name of the device that serves this session now.
    pub fn device(&self) -> String {
        self.route.device()
    }

    /// Sends messages this way from now on, whatever the accelerator's options say. Messages stay inline
    /// without an accelerator, and on devices that compute whole messages only.
    pub fn set_strategy(&self, strategy: Strategy) {
        self.route.set_strategy(strategy);
    }

    /// Hands the counts since the last time in to `Accelerator::stats`.
    pub fn hand_in_stats(&self) {
        self.route.hand_in();
    }

    #[cold]
    fn seal_by_the_device(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.route
            .by_a_device(|key| key.seal(nonce, aad, data.reborrow()).map_err(undone))
    }

    #[cold]
    fn open_by_the_device(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        self.route
            .by_a_device(|key| key.open(nonce, aad, data.reborrow(), tag).map_err(undone))
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
        self.route.count(Direction::Encrypt, bytes);
        self.long(
            bytes,
            &mut data,
            |data| match self.route.at_home() {
                Some(AeadKey::Gcm(gcm)) => gcm.seal(nonce, aad, data.reborrow()).map_err(refused),
                Some(AeadKey::ChaCha20Poly1305(aead)) => {
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
        self.route.count(Direction::Decrypt, bytes);
        self.long(
            bytes,
            &mut data,
            |data| match self.route.at_home() {
                Some(AeadKey::Gcm(gcm)) => {
                    gcm.open(nonce, aad, data.reborrow(), tag).map_err(refused)
                }
                Some(AeadKey::ChaCha20Poly1305(aead)) => {
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
        let route = &self.route;
        route.follow_options();
        let Some(engine) = route.engine() else {
            return inline(data);
        };
        // A device that was withdrawn, and one that knows no parts, does it whole.
        let Some(key) = route.at_home().and_then(AeadKey::in_parts) else {
            return inline(data);
        };
        let looked = {
            let Some(mut pace) = route.pace() else {
                return inline(data);
            };
            let looked = look(engine, route.strategy(), &mut pace, bytes, true);
            let threads = match looked {
                Look::At(_, Way::Stripe { helpers }) => helpers + 1,
                _ => 1,
            };
            (looked, pace.stripe_bytes(bytes, threads))
        };
        let (request, way, stripe_bytes) = match looked {
            (Look::Inline, _) => return inline(data),
            (Look::PassOver, _) => {
                let result = inline(data);
                if let Some(mut pace) = route.pace() {
                    pace.pass_over();
                }
                return result;
            }
            (Look::At(request, way), stripe_bytes) => (request, way, stripe_bytes),
        };
        let mut counts = AlgorithmStats::default();
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
        if let Some(mut pace) = route.pace() {
            request.end(way, &mut pace, &mut counts);
        }
        route.look_again();
        let is_striped = counts.striped_requests > 0;
        route.count_long(counts);
        if is_striped {
            route.hand_in();
        }
        result
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
                    algorithm: Algorithm::$algorithm,
                };
                let session = Session::on_kernels(params, key);
                Self::of(SharedRoute::new(session, None, None, STRIPE_BYTES_MIN))
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
            .field("algorithm", &self.route.session().params().algorithm)
            .field("device", &self.device())
            .finish_non_exhaustive()
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

/// Whether another device may do better.
#[cold]
fn undone(failure: Failure) -> Undone<Error> {
    match failure {
        Failure::Refused(error) => Undone::Refused(refused(error)),
        Failure::Device => Undone::Device,
    }
}

/// The shortest stripe under [`Strategy::Stripe`].
const STRIPE_BYTES_MIN: usize = 64;
