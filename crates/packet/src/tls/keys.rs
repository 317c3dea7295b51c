//! The keys of one direction: what a handshake provides, and what protects records.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::secret::{Protocol, Secret};
use super::suite::Suite;
use crate::PacketError;
use oarlock_engine::aead::KeyedAead;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Flow;
use oarlock_engine::{Direction, Error};
use oarlock_threads::wiped::WipedBox;

/// The keys of one direction of a connection, as a handshake provides them.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    pub(super) suite: Suite,
    material: Material<'a>,
    sequence: u64,
}

#[derive(Clone, Copy)]
enum Material<'a> {
    Secret(&'a [u8]),
    Key { key: &'a [u8], iv: &'a [u8; 12] },
}

impl<'a> Keys<'a> {
    /// Creates keys from a traffic secret of [`Suite::secret_bytes`], such as `client_application_traffic_secret_N`
    /// (RFC 8446, 7.1). The keys of the next generation can be derived from it.
    pub fn from_secret(suite: Suite, secret: &'a [u8]) -> Self {
        Self {
            suite,
            material: Material::Secret(secret),
            sequence: 0,
        }
    }

    /// Creates keys from a key of [`Suite::key_bytes`] and an IV, as libraries export them for kernel TLS. The
    /// handshake library must then derive the next generation of keys. This is for TLS only: DTLS needs a third key.
    pub fn new(suite: Suite, key: &'a [u8], iv: &'a [u8; 12]) -> Self {
        Self {
            suite,
            material: Material::Key { key, iv },
            sequence: 0,
        }
    }

    /// Continues with record `sequence`, if that many records have been protected with these keys. No number may be
    /// used twice under one key. A receiver of DTLS refuses all earlier records, which may have been received.
    #[must_use]
    pub fn sequence(mut self, sequence: u64) -> Self {
        self.sequence = sequence;
        self
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("suite", &self.suite)
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

/// The keys that protect one generation of records. Wiped on drop.
pub(super) struct KeySet {
    suite: Suite,
    aead: WipedBox<KeyedAead>,
    iv: Zeroizing<[u8; NONCE_BYTES]>,
    secret: Option<Secret>,
    /// The number of the next record.
    pub(super) sequence: u64,
}

impl KeySet {
    pub(super) fn open(
        engine: &Arc<Engine>,
        protocol: Protocol,
        keys: &Keys<'_>,
    ) -> Result<Self, Error> {
        let suite = keys.suite;
        let mut set = match keys.material {
            Material::Secret(secret) => {
                Self::derive(engine, suite, Secret::new(suite, protocol, secret)?)?
            }
            Material::Key { .. } if protocol == Protocol::Dtls => {
                return Err(Error::InvalidInput(
                    "keys of DTLS come from a traffic secret".into(),
                ));
            }
            Material::Key { key, iv } => Self {
                suite,
                aead: session(engine, suite, key)?,
                iv: Zeroizing::new(*iv),
                secret: None,
                sequence: 0,
            },
        };
        set.sequence = keys.sequence;
        Ok(set)
    }

    /// Derives the keys from a secret (RFC 8446, 7.3).
    fn derive(engine: &Arc<Engine>, suite: Suite, secret: Secret) -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
        let key = &mut key[..suite.key_bytes()];
        let mut iv = Zeroizing::new([0; NONCE_BYTES]);
        secret.expand(engine.cpu(), b"key", key);
        secret.expand(engine.cpu(), b"iv", &mut *iv);
        Ok(Self {
            suite,
            aead: session(engine, suite, key)?,
            iv,
            secret: Some(secret),
            sequence: 0,
        })
    }

    /// Derives the keys of the next generation (RFC 8446, 7.2).
    pub(super) fn next(&self, engine: &Arc<Engine>) -> Result<Self, Error> {
        let secret = self.known_secret()?.next(engine.cpu());
        Self::derive(engine, self.suite, secret)
    }

    /// Derives another key from the same secret.
    pub(super) fn expand(&self, engine: &Engine, label: &[u8], to: &mut [u8]) -> Result<(), Error> {
        self.known_secret()?.expand(engine.cpu(), label, to);
        Ok(())
    }

    fn known_secret(&self) -> Result<&Secret, Error> {
        self.secret.as_ref().ok_or_else(|| {
            Error::InvalidInput(
                "these keys were given without their traffic secret: hand the next ones over"
                    .into(),
            )
        })
    }

    /// Opens the flow of a connection's records, which serves all generations of keys.
    pub(super) fn flow(&self, engine: &Arc<Engine>, direction: Direction) -> Result<Flow, Error> {
        let mut flow = Flow::open(engine, self.aead.cost(), 1)?;
        flow.show_as(Some(self.suite.algorithm()), direction);
        Ok(flow)
    }

    pub(super) fn hand_in(&self, flow: &Flow) {
        flow.hand_in(self.aead.device(), self.suite.algorithm());
    }

    pub(super) fn suite(&self) -> Suite {
        self.suite
    }

    /// Takes `records` numbers and returns the first, if the key may protect that many more.
    #[inline]
    pub(super) fn take(&mut self, records: u64, sequence_max: u64) -> Result<u64, PacketError> {
        let first = self.sequence;
        let next = first.checked_add(records);
        let Some(next) = next.filter(|next| *next <= sequence_max) else {
            return Err(PacketError::SequenceExhausted);
        };
        let records_max = self.suite.records_max();
        if next > records_max {
            return Err(PacketError::KeyExhausted { records_max });
        }
        self.sequence = next;
        Ok(first)
    }

    /// Returns the nonce of a record (RFC 8446, 5.3).
    #[inline]
    fn nonce(&self, sequence: u64) -> [u8; NONCE_BYTES] {
        let mut nonce = *self.iv;
        for (byte, of_number) in nonce[NONCE_BYTES - 8..]
            .iter_mut()
            .zip(sequence.to_be_bytes())
        {
            *byte ^= of_number;
        }
        nonce
    }

    /// Encrypts `body`, and writes its 16-byte tag to `tag`.
    #[inline]
    pub(super) fn seal(
        &self,
        sequence: u64,
        header: &[u8],
        body: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), PacketError> {
        let made = self.aead.seal(&self.nonce(sequence), header, body.into())?;
        tag.copy_from_slice(&made);
        Ok(())
    }

    /// Decrypts `body`, or leaves it unchanged if it is not authentic.
    #[inline]
    pub(super) fn open_or_keep(
        &self,
        sequence: u64,
        header: &[u8],
        body: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), PacketError> {
        let nonce = self.nonce(sequence);
        Ok(self.aead.open(&nonce, header, body.into(), tag)?)
    }

    /// Decrypts `body`, or fills it with zeros if it is not authentic.
    #[inline]
    pub(super) fn open_or_zero(
        &self,
        sequence: u64,
        header: &[u8],
        body: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), PacketError> {
        Ok((self.aead).open_or_zero(&self.nonce(sequence), header, body.into(), tag)?)
    }
}

/// One direction of a TLS connection: its keys, and the flow of its records.
pub(super) struct Side {
    engine: Arc<Engine>,
    pub(super) keys: KeySet,
    pub(super) flow: Flow,
}

impl Side {
    pub(super) fn open(
        engine: &Arc<Engine>,
        keys: &Keys<'_>,
        direction: Direction,
    ) -> Result<Self, Error> {
        let keys = KeySet::open(engine, Protocol::Tls, keys)?;
        Ok(Self {
            engine: Arc::clone(engine),
            flow: keys.flow(engine, direction)?,
            keys,
        })
    }

    /// Switches to the next generation of keys.
    pub(super) fn update(&mut self) -> Result<(), Error> {
        self.keys = self.keys.next(&self.engine)?;
        Ok(())
    }

    pub(super) fn set_keys(&mut self, keys: &Keys<'_>) -> Result<(), Error> {
        self.keys = KeySet::open(&self.engine, Protocol::Tls, keys)?;
        Ok(())
    }

    pub(super) fn hand_in_what_was_shared(&mut self) {
        if self.flow.has_shared() {
            self.keys.hand_in(&self.flow);
        }
    }

    pub(super) fn fmt(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("suite", &self.keys.suite)
            .field("sequence", &self.keys.sequence)
            .finish_non_exhaustive()
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        self.keys.hand_in(&self.flow);
    }
}

fn session(engine: &Arc<Engine>, suite: Suite, key: &[u8]) -> Result<WipedBox<KeyedAead>, Error> {
    let session = KeyedAead::open_session(engine, suite.algorithm(), key)?;
    Ok(WipedBox::new(session))
}

pub(super) const TAG_BYTES: usize = oarlock_engine::aead::TAG_BYTES;
pub(super) const KEY_BYTES_MAX: usize = 32;
const NONCE_BYTES: usize = 12;
