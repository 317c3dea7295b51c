//! Session keys, derived from master keys.

use std::fmt;
use std::sync::Arc;

use oarlock_kernels::aes::{Backend, Ctr};
use oarlock_kernels::batch::{HmacKey, Sha1};
use zeroize::{Zeroize, Zeroizing};

use super::{MasterKey, Policy, PolicyKeys, Protocol, SALT_BYTES, Suite};
use crate::PacketError;
use oarlock_engine::Algorithm;
use oarlock_engine::Direction;
use oarlock_engine::Error;
use oarlock_engine::aead::KeyedAead;
use oarlock_engine::plan::{Engine, Flow};

/// The master keys of a context: either one key without an identifier, or several with identifiers of one length.
pub(super) struct Keys {
    pub suite: Suite,
    pub mki_bytes: usize,
    /// Boxed, because a growing list would move the keys and leave copies behind.
    #[allow(clippy::vec_box)]
    all: Vec<Box<Key>>,
    /// Schedules packets under all keys. Packets with an HMAC are computed inline, and only reserve its threads.
    flow: Flow,
}

/// The session keys of a master key.
pub(super) struct Key {
    pub mki: Box<[u8]>,
    rtp: SessionKey,
    rtcp: SessionKey,
}

/// The session key for one of the two protocols.
pub(super) struct SessionKey {
    pub cipher: Cipher,
    /// Shifted to its place in a counter block, or at the end of a nonce.
    salt: Zeroizing<u128>,
    /// The number of packets that the key has served.
    pub used: u64,
    used_max: u64,
}

pub(super) enum Cipher {
    Mac(HmacKey<Sha1>),
    CmMac(Box<Ctr>, HmacKey<Sha1>),
    Aead(Box<KeyedAead>),
}

impl Keys {
    pub fn derive(
        engine: &Arc<Engine>,
        policy: &Policy<'_>,
        direction: Direction,
    ) -> Result<Self, Error> {
        let mut keys = Self {
            suite: policy.suite,
            mki_bytes: 0,
            all: Vec::new(),
            flow: flow(engine, policy.suite, direction)?,
        };
        match policy.keys {
            PolicyKeys::Unnamed(key) => {
                let key = Key::derive(engine, policy.suite, &[], key)?;
                keys.all.push(Box::new(key));
            }
            PolicyKeys::Named([]) => {
                return Err(Error::InvalidInput("a policy has at least one key".into()));
            }
            PolicyKeys::Named(named) => {
                keys.mki_bytes = named[0].mki.len();
                for key in named {
                    keys.add(engine, *key)?;
                }
            }
        }
        Ok(keys)
    }

    pub fn add(&mut self, engine: &Arc<Engine>, key: MasterKey<'_>) -> Result<(), Error> {
        let bytes = key.mki.len();
        let wrong = if bytes == 0 || bytes > MasterKey::MKI_BYTES_MAX {
            format!(
                "an MKI has 1 to {} bytes, this one has {bytes}",
                MasterKey::MKI_BYTES_MAX
            )
        } else if bytes != self.mki_bytes {
            format!(
                "every MKI of a policy has as many bytes: {} here, and this one has {bytes}",
                self.mki_bytes
            )
        } else if self.find(key.mki).is_some() {
            "two keys of a policy have the same MKI".to_owned()
        } else if self.all.len() >= Policy::KEYS_MAX {
            format!("a policy has at most {} keys", Policy::KEYS_MAX)
        } else {
            let key = Key::derive(engine, self.suite, key.mki, key.key)?;
            self.all.push(Box::new(key));
            return Ok(());
        };
        Err(Error::InvalidInput(wrong))
    }

    /// Returns the position of the key with this identifier.
    #[inline]
    pub fn find(&self, mki: &[u8]) -> Option<usize> {
        self.all.iter().position(|key| *key.mki == *mki)
    }

    pub fn all(&self) -> &[Box<Key>] {
        &self.all
    }

    #[inline]
    pub fn get(&self, place: usize, protocol: Protocol) -> &SessionKey {
        self.all[place].of(protocol)
    }

    /// Counts a packet under the key, or refuses it if the key is used up.
    #[inline]
    pub fn count(&mut self, place: usize, protocol: Protocol) -> Result<(), PacketError> {
        let key = self.all[place].of_mut(protocol);
        if key.used >= key.used_max {
            return Err(PacketError::SequenceExhausted);
        }
        key.used += 1;
        Ok(())
    }

    /// Calls `one` for each of `packets`, which have `bytes` together: on this thread, and also on helpers if that is
    /// expected to be faster.
    pub fn each<T: Send>(&self, bytes: usize, packets: &mut [T], one: &(impl Fn(&mut T) + Sync)) {
        let run = |packets: &mut [T]| packets.iter_mut().for_each(one);
        self.flow.run(bytes, packets, &run);
        if self.flow.has_shared() {
            self.hand_in();
        }
    }

    fn hand_in(&self) {
        if let Some(Cipher::Aead(aead)) = self.all.first().map(|key| &key.rtp.cipher)
            && let Some(algorithm) = self.suite.aead()
        {
            self.flow.hand_in(aead.device(), algorithm);
        }
    }

    /// Sets how many packets of each protocol a key has served.
    pub fn set_used(&mut self, mki: &[u8], [rtp, rtcp]: [u64; 2]) {
        if let Some(place) = self.find(mki) {
            self.all[place].rtp.used = rtp;
            self.all[place].rtcp.used = rtcp;
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.hand_in();
    }
}

fn flow(engine: &Arc<Engine>, suite: Suite, direction: Direction) -> Result<Flow, Error> {
    let cost = engine.kernel_cost(suite.aead().unwrap_or(Algorithm::Aes128Ctr));
    let mut flow = Flow::open(engine, cost, 1)?;
    flow.show_as(suite.aead(), direction);
    Ok(flow)
}

impl Key {
    fn derive(engine: &Arc<Engine>, suite: Suite, mki: &[u8], key: &[u8]) -> Result<Self, Error> {
        if key.len() != suite.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "the keying material of {suite:?} has {} bytes, the last {} of which are the master salt; \
                 this one has {}",
                suite.key_bytes(),
                suite.salt_bytes(),
                key.len()
            )));
        }
        Ok(Self {
            mki: mki.into(),
            rtp: SessionKey::derive(engine, suite, key, Protocol::Rtp)?,
            rtcp: SessionKey::derive(engine, suite, key, Protocol::Rtcp)?,
        })
    }

    pub fn of(&self, protocol: Protocol) -> &SessionKey {
        match protocol {
            Protocol::Rtp => &self.rtp,
            Protocol::Rtcp => &self.rtcp,
        }
    }

    fn of_mut(&mut self, protocol: Protocol) -> &mut SessionKey {
        match protocol {
            Protocol::Rtp => &mut self.rtp,
            Protocol::Rtcp => &mut self.rtcp,
        }
    }
}

impl SessionKey {
    fn derive(
        engine: &Arc<Engine>,
        suite: Suite,
        key: &[u8],
        protocol: Protocol,
    ) -> Result<Self, Error> {
        let (master, salt) = key.split_at(suite.master_key_bytes());
        let derivation = Derivation::new(engine, master, salt)?;
        // RFC 3711, 4.3.2.
        let first_label = match protocol {
            Protocol::Rtp => 0,
            Protocol::Rtcp => 3,
        };
        let mut cipher_key = Zeroizing::new([0; 32]);
        let mut mac_key = Zeroizing::new([0; MAC_KEY_BYTES]);
        let mut salt = Zeroizing::new([0; SALT_BYTES]);
        let cipher_key = &mut cipher_key[..suite.master_key_bytes()];
        let salt = &mut salt[..suite.salt_bytes()];
        derivation.derive(first_label, cipher_key);
        derivation.derive(first_label + 1, &mut *mac_key);
        derivation.derive(first_label + 2, salt);
        Self::set_up(engine, suite, protocol, cipher_key, &mac_key, salt)
    }

    pub(super) fn set_up(
        engine: &Arc<Engine>,
        suite: Suite,
        protocol: Protocol,
        cipher_key: &[u8],
        mac_key: &[u8; MAC_KEY_BYTES],
        salt: &[u8],
    ) -> Result<Self, Error> {
        let cipher = if let Some(algorithm) = suite.aead() {
            Cipher::Aead(Box::new(KeyedAead::open_session(
                engine, algorithm, cipher_key,
            )?))
        } else if suite.encrypts() {
            Cipher::CmMac(keyed_ctr(engine, cipher_key)?, HmacKey::new(mac_key))
        } else {
            Cipher::Mac(HmacKey::new(mac_key))
        };
        Ok(Self {
            cipher,
            salt: Zeroizing::new(match suite.aead() {
                Some(_) => number(salt),
                None => number(salt) << 16,
            }),
            used: 0,
            // RFC 3711, 9.2, and RFC 7714, 11.
            used_max: match protocol {
                Protocol::Rtp => 1 << 48,
                Protocol::Rtcp => 1 << 31,
            },
        })
    }

    /// Returns the first counter block of AES-CM (RFC 3711, 4.1.1).
    #[inline]
    pub fn counter(&self, ssrc: u32, index: u64) -> u128 {
        *self.salt ^ u128::from(ssrc) << 64 ^ u128::from(index) << 16
    }

    /// Returns the nonce of AES-GCM (RFC 7714, 8.1 and 9.1).
    #[inline]
    pub fn nonce(&self, ssrc: u32, index: u64) -> [u8; 12] {
        let nonce = *self.salt ^ u128::from(ssrc) << 48 ^ u128::from(index);
        let mut bytes = [0; 12];
        bytes.copy_from_slice(&nonce.to_be_bytes()[4..]);
        bytes
    }

    #[inline]
    pub fn mac(&self) -> Option<&HmacKey<Sha1>> {
        match &self.cipher {
            Cipher::Mac(mac) | Cipher::CmMac(_, mac) => Some(mac),
            Cipher::Aead(_) => None,
        }
    }

    #[inline]
    pub fn ctr(&self) -> Option<&Ctr> {
        match &self.cipher {
            Cipher::CmMac(ctr, _) => Some(ctr),
            Cipher::Mac(_) | Cipher::Aead(_) => None,
        }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

/// Creates keys from session keys, with which the published examples begin.
#[cfg(test)]
impl Keys {
    pub(super) fn of_session_keys(
        engine: &Arc<Engine>,
        suite: Suite,
        key: &[u8],
        salt: &[u8],
    ) -> Self {
        let [rtp, rtcp] = [Protocol::Rtp, Protocol::Rtcp].map(|protocol| {
            SessionKey::set_up(engine, suite, protocol, key, &[0; MAC_KEY_BYTES], salt).unwrap()
        });
        let mki = Box::default();
        Self {
            suite,
            mki_bytes: 0,
            all: vec![Box::new(Key { mki, rtp, rtcp })],
            flow: flow(engine, suite, Direction::Encrypt).unwrap(),
        }
    }
}

/// AES in counter mode as a pseudorandom function (RFC 3711, 4.3.3; RFC 6188, 3).
pub(super) struct Derivation {
    ctr: Box<Ctr>,
    salt: Zeroizing<[u8; SALT_BYTES]>,
}

impl Derivation {
    /// Expands the master key. A salt of 12 bytes is padded with zeros (RFC 7714, 11).
    pub(super) fn new(engine: &Engine, key: &[u8], salt: &[u8]) -> Result<Self, Error> {
        let mut padded = Zeroizing::new([0; SALT_BYTES]);
        padded[..salt.len()].copy_from_slice(salt);
        Ok(Self {
            ctr: keyed_ctr(engine, key)?,
            salt: padded,
        })
    }

    pub(super) fn derive(&self, label: u8, to: &mut [u8]) {
        // The label precedes the 48-bit index, which is 0 with a derivation rate of 0.
        let mut block = number(&*self.salt) << 16 ^ u128::from(label) << 64;
        to.fill(0);
        self.ctr.apply(block, 0, to.into());
        block.zeroize();
    }
}

/// Expands the key in its box: moving it would leave a copy behind.
fn keyed_ctr(engine: &Engine, key: &[u8]) -> Result<Box<Ctr>, Error> {
    let mut ctr = Box::new(Ctr::unkeyed(Backend::preferred(engine.cpu())));
    (ctr.set_key(key)).map_err(|error| Error::InvalidKey(error.to_string()))?;
    Ok(ctr)
}

/// Reads a big-endian number of up to 16 bytes.
fn number(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The length of a key of HMAC-SHA1 (RFC 3711, 5.2).
const MAC_KEY_BYTES: usize = 20;
