//! Messages in pieces.

use inout::InOutBuf;
use oarlock_kernels::aead::{TAG_BYTES, tags_match};
use oarlock_kernels::chacha20_poly1305::{self, ChaCha20Poly1305};
use oarlock_kernels::gcm::{self, Gcm};

use super::{AcceleratedAead, wrong_tag_length};
use crate::Error;
use crate::device::keyed::aead::refused;
use crate::device::keyed::aead::{AeadKey, InParts};
use crate::work::algorithm::Algorithm;

impl<A> AcceleratedAead<A> {
    /// Begins to seal a message in pieces, each of which is encrypted on the calling thread.
    ///
    /// ```
    /// use oarlock::{Accelerator, Algorithm};
    ///
    /// let aead = Accelerator::builder().build()?.aead(Algorithm::ChaCha20Poly1305, &[7; 32])?;
    /// let (mut first, mut second) = (*b"attack ", *b"at dawn");
    /// let mut sealer = aead.sealer(&[1; 12], b"")?;
    /// sealer.update((&mut first[..]).into())?;
    /// sealer.update((&mut second[..]).into())?;
    /// let tag = sealer.finish();
    ///
    /// let mut whole = [first, second].concat();
    /// aead.open(&[1; 12], b"", (&mut whole[..]).into(), &tag)?;
    /// assert_eq!(whole, b"attack at dawn");
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an invalid nonce length, and for more associated data than the cipher allows.
    pub fn sealer(&self, nonce: &[u8], aad: &[u8]) -> Result<Sealer<'_>, Error> {
        Ok(Sealer(self.streamed(nonce, aad)?))
    }

    /// Begins to open a message in pieces. Each piece is released before it is known to be authentic: use none of it
    /// until [`Opener::finish`] succeeds, or use [`open`](Self::open).
    ///
    /// # Errors
    /// Those of [`sealer`](Self::sealer).
    pub fn opener(&self, nonce: &[u8], aad: &[u8]) -> Result<Opener<'_>, Error> {
        Ok(Opener(self.streamed(nonce, aad)?))
    }

    fn streamed(&self, nonce: &[u8], aad: &[u8]) -> Result<Streamed<'_>, Error> {
        let algorithm = self.keyed.algorithm();
        let owned = match self.keyed.key() {
            AeadKey::Gcm(gcm) => return Streamed::begin(Key::Gcm(Ref::Shared(gcm)), nonce, aad),
            AeadKey::ChaCha20Poly1305(aead) => {
                return Streamed::begin(Key::ChaCha(Ref::Shared(aead)), nonce, aad);
            }
            // aws-lc computes whole messages: parts are for the kernels.
            AeadKey::Other(_) => {
                let cpu = self
                    .route
                    .engine()
                    .map_or_else(oarlock_kernels::cpu::Cpu::detect, |engine| engine.cpu);
                AeadKey::kernel(cpu, algorithm, self.keyed.0.key())
                    .map_err(|error| Error::InvalidKey(error.0))?
            }
        };
        match owned {
            AeadKey::Gcm(gcm) => Streamed::begin(Key::Gcm(Ref::Owned(gcm)), nonce, aad),
            AeadKey::ChaCha20Poly1305(aead) => {
                Streamed::begin(Key::ChaCha(Ref::Owned(aead)), nonce, aad)
            }
            AeadKey::Other(_) => Err(not_in_parts(algorithm)),
        }
    }
}

/// A message that is sealed in pieces, from [`AcceleratedAead::sealer`]. Wiped on drop.
pub struct Sealer<'a>(Streamed<'a>);

impl Sealer<'_> {
    /// Encrypts the next piece, of any length.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the message would exceed the cipher's limit under one nonce; nothing is changed then.
    pub fn update(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        match &mut self.0 {
            Streamed::Gcm(gcm, message) => gcm.get().seal_next(message, data),
            Streamed::ChaCha(aead, message) => aead.get().seal_next(message, data),
        }
        .map_err(refused)
    }

    /// Ends the message and returns its tag.
    pub fn finish(self) -> [u8; TAG_BYTES] {
        self.0.finish()
    }
}

/// A message that is opened in pieces, from [`AcceleratedAead::opener`]. Wiped on drop.
pub struct Opener<'a>(Streamed<'a>);

impl Opener<'_> {
    /// Decrypts the next piece, of any length. **It is not verified yet.**
    ///
    /// # Errors
    /// Those of [`Sealer::update`].
    pub fn update(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        match &mut self.0 {
            Streamed::Gcm(gcm, message) => gcm.get().open_next(message, data),
            Streamed::ChaCha(aead, message) => aead.get().open_next(message, data),
        }
        .map_err(refused)
    }

    /// Ends the message and verifies all of it against `tag`, 16 bytes.
    ///
    /// # Errors
    /// [`Error::AuthenticationFailed`]: discard every piece. [`Error::InvalidInput`] for a tag of another length.
    pub fn finish(self, tag: &[u8]) -> Result<(), Error> {
        let Ok(tag) = tag.try_into() else {
            return Err(wrong_tag_length(tag.len()));
        };
        if tags_match(&self.0.finish(), tag) {
            Ok(())
        } else {
            Err(Error::AuthenticationFailed)
        }
    }
}

enum Streamed<'a> {
    Gcm(Ref<'a, Gcm>, gcm::Message),
    ChaCha(Ref<'a, ChaCha20Poly1305>, chacha20_poly1305::Message),
}

enum Key<'a> {
    Gcm(Ref<'a, Gcm>),
    ChaCha(Ref<'a, ChaCha20Poly1305>),
}

enum Ref<'a, K> {
    Shared(&'a K),
    Owned(Box<K>),
}

impl<K> Ref<'_, K> {
    fn get(&self) -> &K {
        match self {
            Self::Shared(key) => key,
            Self::Owned(key) => key,
        }
    }
}

impl<'a> Streamed<'a> {
    fn begin(key: Key<'a>, nonce: &[u8], aad: &[u8]) -> Result<Self, Error> {
        Ok(match key {
            Key::Gcm(key) => {
                let message = InParts::begin(key.get(), nonce, aad).map_err(refused)?;
                Self::Gcm(key, message)
            }
            Key::ChaCha(key) => {
                let message = InParts::begin(key.get(), nonce, aad).map_err(refused)?;
                Self::ChaCha(key, message)
            }
        })
    }

    fn finish(self) -> [u8; TAG_BYTES] {
        match self {
            Self::Gcm(key, message) => key.get().finish(message),
            Self::ChaCha(key, message) => key.get().finish(message),
        }
    }
}

#[cold]
fn not_in_parts(algorithm: Algorithm) -> Error {
    Error::InvalidInput(format!("{algorithm} cannot be done in pieces"))
}
