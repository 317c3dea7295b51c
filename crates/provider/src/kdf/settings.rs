//! What has been set in a context of key derivation: of usual lengths, and in the context itself.

use std::ffi::CStr;

use oarlock_engine::hash::Hash;
use zeroize::Zeroize as _;

use super::Kdf;
use crate::abi::{Param, Params};
use crate::default_provider::hash_name;
use crate::default_provider::rsa::named_for_oaep as hash_named;

/// A setting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Mode,
    Hash,
    Octets(Octets),
    /// Octets of which several are joined.
    Joined(Octets),
}

/// The octets that may be set, as indices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Octets {
    Key,
    Salt,
    Prefix,
    Label,
    Data,
}

/// How many [`Octets`] there are.
const OCTETS: usize = 5;

/// EVP_KDF_HKDF_MODE_*.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Mode {
    ExtractAndExpand = 0,
    ExtractOnly = 1,
    ExpandOnly = 2,
}

/// What a call gives, which is set as a whole or not at all.
#[derive(Default)]
pub(super) struct Given<'a> {
    pub(super) mode: Option<Mode>,
    hash: Option<Hash>,
    octets: [[Option<&'a [u8]>; JOINED_MAX]; OCTETS],
}

/// How many parameters of one name are joined: libssl gives a label, two random values and a digest at most.
const JOINED_MAX: usize = 5;

impl<'a> Given<'a> {
    /// `None` for parameters that are not regular: unknown, of another type, empty, longer than there is room, or given
    /// twice.
    pub(super) fn of(params: Params<'a>, field: fn(&[u8]) -> Option<Field>) -> Option<Self> {
        if params.is_empty() {
            return None;
        }
        let mut given = Self::default();
        let taken = params.each(|name, value| {
            let is_first = match field(name).ok_or(())? {
                Field::Mode => {
                    let mode = match value.text() {
                        Some(text) => Mode::named(text),
                        None => Mode::numbered(value.number::<u32>().ok_or(())?),
                    };
                    given.mode.replace(mode.ok_or(())?).is_none()
                }
                Field::Hash => {
                    let hash = hash_named(value.text().ok_or(())?).ok_or(())?;
                    given.hash.replace(hash).is_none()
                }
                Field::Octets(octets) => {
                    let place = &mut given.octets[octets as usize][0];
                    place.replace(value.given_octets().ok_or(())?).is_none()
                }
                Field::Joined(octets) => {
                    let mut places = given.octets[octets as usize].iter_mut();
                    let place = places.find(|place| place.is_none()).ok_or(())?;
                    place.replace(value.given_octets().ok_or(())?).is_none()
                }
            };
            if is_first { Ok(()) } else { Err(()) }
        });
        taken.ok()?;
        let fits = |(parts, room): (&[Option<&[u8]>; JOINED_MAX], usize)| {
            let all = parts.iter().flatten().map(|part| part.len()).sum::<usize>();
            all <= room
        };
        given.octets.iter().zip(ROOM).all(fits).then_some(given)
    }

    pub(super) fn has(&self, octets: Octets) -> bool {
        self.octets[octets as usize][0].is_some()
    }
}

/// What has been set. Wiped on drop.
#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) mode: Option<Mode>,
    pub(super) hash: Option<Hash>,
    /// The lengths of octets; 0 for those that are not set.
    lengths: [u16; OCTETS],
    key: Room<160>,
    salt: Room<64>,
    prefix: Room<16>,
    label: Room<32>,
    data: Room<256>,
}

/// What [`Settings`] has room for, by [`Octets`]. A secret of TLS has 32 to 133 bytes.
const ROOM: [usize; OCTETS] = [160, 64, 16, 32, 256];

#[derive(Clone)]
struct Room<const N: usize>([u8; N]);

impl<const N: usize> Default for Room<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl Settings {
    /// Octets that are set; none that are empty.
    pub(super) fn get(&self, octets: Octets) -> Option<&[u8]> {
        let room: &[u8] = match octets {
            Octets::Key => &self.key.0,
            Octets::Salt => &self.salt.0,
            Octets::Prefix => &self.prefix.0,
            Octets::Label => &self.label.0,
            Octets::Data => &self.data.0,
        };
        let set = &room[..self.lengths[octets as usize].into()];
        (!set.is_empty()).then_some(set)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.mode.is_none() && self.hash.is_none() && self.lengths == [0; OCTETS]
    }

    pub(super) fn set(&mut self, given: &Given<'_>) {
        self.mode = given.mode.or(self.mode);
        self.hash = given.hash.or(self.hash);
        for (octets, parts) in ALL.into_iter().zip(given.octets) {
            if parts[0].is_none() {
                continue;
            }
            self.clear(octets);
            let mut bytes = 0;
            for part in parts.into_iter().flatten() {
                self.room(octets)[bytes..bytes + part.len()].copy_from_slice(part);
                bytes += part.len();
            }
            // It fits: no room is longer than 256 bytes.
            self.lengths[octets as usize] = bytes as u16;
        }
    }

    pub(super) fn clear(&mut self, octets: Octets) {
        let bytes = usize::from(std::mem::take(&mut self.lengths[octets as usize]));
        self.room(octets)[..bytes].zeroize();
    }

    fn room(&mut self, octets: Octets) -> &mut [u8] {
        match octets {
            Octets::Key => &mut self.key.0,
            Octets::Salt => &mut self.salt.0,
            Octets::Prefix => &mut self.prefix.0,
            Octets::Label => &mut self.label.0,
            Octets::Data => &mut self.data.0,
        }
    }

    /// All of it for the default provider, by the names of `K`.
    pub(super) fn params<K: Kdf>(&self) -> Vec<Param> {
        let mut params = Vec::with_capacity(NAMES.len() + 1);
        for name in NAMES {
            params.extend(match K::field(name.to_bytes()) {
                Some(Field::Mode) => self.mode.map(|mode| {
                    // A number is set by the text of its name, which is static.
                    Param::giving_text(name, mode.name().to_bytes())
                }),
                Some(Field::Hash) => self
                    .hash
                    .map(|hash| Param::giving_text(name, hash_name(hash).to_bytes())),
                Some(Field::Octets(octets) | Field::Joined(octets)) => self
                    .get(octets)
                    .map(|octets| Param::giving_octets(name, octets)),
                None => None,
            });
        }
        params.push(Param::END);
        params
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for octets in ALL {
            self.clear(octets);
        }
    }
}

impl Mode {
    fn numbered(number: u32) -> Option<Self> {
        let mut all = MODES.into_iter();
        all.find(|mode| *mode as u32 == number)
    }

    fn named(name: &[u8]) -> Option<Self> {
        let mut all = MODES.into_iter();
        all.find(|mode| mode.name().to_bytes().eq_ignore_ascii_case(name))
    }

    fn name(self) -> &'static CStr {
        match self {
            Self::ExtractAndExpand => c"EXTRACT_AND_EXPAND",
            Self::ExtractOnly => c"EXTRACT_ONLY",
            Self::ExpandOnly => c"EXPAND_ONLY",
        }
    }
}

const ALL: [Octets; OCTETS] = [
    Octets::Key,
    Octets::Salt,
    Octets::Prefix,
    Octets::Label,
    Octets::Data,
];
const MODES: [Mode; 3] = [Mode::ExtractAndExpand, Mode::ExtractOnly, Mode::ExpandOnly];
/// Every name of a setting, of any way to derive keys.
const NAMES: [&CStr; 10] = [
    c"mode", c"digest", c"key", c"secret", c"salt", c"prefix", c"label", c"data", c"info", c"seed",
];
