//! The settings of a key derivation context: of usual lengths, and stored in the context itself.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::mem::MaybeUninit;

use oarlock_engine::hash::Hash;
use zeroize::Zeroize as _;

use super::Kdf;
use crate::abi::{Param, Params};
use crate::default_provider::hash_name;
use crate::default_provider::rsa::named_for_oaep as hash_named;

/// What a parameter sets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Mode,
    Hash,
    Octets(Octets),
    /// Octets that several parameters contribute to.
    Joined(Octets),
}

/// The octet strings that can be set, as indices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Octets {
    Key,
    Salt,
    Prefix,
    Label,
    Data,
}

/// The number of [`Octets`].
const OCTETS: usize = 5;

/// EVP_KDF_HKDF_MODE_*.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Mode {
    ExtractAndExpand = 0,
    ExtractOnly = 1,
    ExpandOnly = 2,
}

/// The parameters of one call, which are set together or not at all.
#[derive(Default)]
pub(super) struct Given<'a> {
    pub(super) mode: Option<Mode>,
    hash: Option<Hash>,
    octets: [Option<&'a [u8]>; OCTETS],
    /// The parts that follow the first.
    joined: [Option<&'a [u8]>; JOINED_MAX],
}

/// The number of parts that may follow the first: libssl passes a label, two random values and a digest at most.
const JOINED_MAX: usize = 4;

impl<'a> Given<'a> {
    /// Reads parameters; `None` if they are not regular: unknown, of another type, empty, too long, or repeated.
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
                    let octets_given = value.given_octets().ok_or(())?;
                    let fits = octets_given.len() <= ROOM[octets as usize];
                    let place = &mut given.octets[octets as usize];
                    place.replace(octets_given).is_none() && fits
                }
                Field::Joined(octets) => {
                    let first = &mut given.octets[octets as usize];
                    let mut places = std::iter::once(first).chain(&mut given.joined);
                    let place = places.find(|place| place.is_none()).ok_or(())?;
                    *place = Some(value.given_octets().ok_or(())?);
                    true
                }
            };
            if is_first { Ok(()) } else { Err(()) }
        });
        taken.ok()?;
        let parts = given.octets[Octets::Data as usize]
            .iter()
            .chain(given.joined.iter().flatten());
        let bytes = parts.map(|part| part.len()).sum::<usize>();
        (bytes <= ROOM[Octets::Data as usize]).then_some(given)
    }

    pub(super) fn has(&self, octets: Octets) -> bool {
        self.octets[octets as usize].is_some()
    }
}

/// The settings. Wiped on drop.
pub(super) struct Settings {
    pub(super) mode: Option<Mode>,
    pub(super) hash: Option<Hash>,
    /// The lengths of the octet strings; 0 for those that are not set.
    lengths: [u16; OCTETS],
    /// The words of each octet string. Only as many bytes as `lengths` says are initialized; whole words are wiped.
    words: [MaybeUninit<u64>; WORDS],
}

/// The room in [`Settings`] in bytes, by [`Octets`]: whole words. A secret of TLS has 32 to 133 bytes.
const ROOM: [usize; OCTETS] = [160, 64, 16, 32, 256];
/// The first word of each octet string.
const FIRST: [usize; OCTETS] = {
    let (mut first, mut at) = ([0; OCTETS], 1);
    while at < OCTETS {
        first[at] = first[at - 1] + ROOM[at - 1] / 8;
        at += 1;
    }
    first
};
const WORDS: usize = FIRST[OCTETS - 1] + ROOM[OCTETS - 1] / 8;

impl Settings {
    /// Makes empty settings in `place`. The octets stay uninitialized: writing them all takes longer than deriving a
    /// key.
    pub(super) fn put(place: &mut MaybeUninit<Self>) -> &mut Self {
        let settings = place.as_mut_ptr();
        // SAFETY: the memory is for settings, whose octets may be anything.
        unsafe {
            (&raw mut (*settings).mode).write(None);
            (&raw mut (*settings).hash).write(None);
            (&raw mut (*settings).lengths).write([0; OCTETS]);
            &mut *settings
        }
    }

    /// Returns octets that are set; `None` if they are empty.
    pub(super) fn get(&self, octets: Octets) -> Option<&[u8]> {
        let bytes = usize::from(self.lengths[octets as usize]);
        let first = self.words[FIRST[octets as usize]..].as_ptr().cast::<u8>();
        // SAFETY: `add` wrote that many bytes there.
        (bytes > 0).then(|| unsafe { std::slice::from_raw_parts(first, bytes) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.mode.is_none() && self.hash.is_none() && self.lengths == [0; OCTETS]
    }

    pub(super) fn set(&mut self, given: &Given<'_>) {
        self.mode = given.mode.or(self.mode);
        self.hash = given.hash.or(self.hash);
        for (octets, first) in ALL.into_iter().zip(given.octets) {
            let Some(first) = first else {
                continue;
            };
            self.clear(octets);
            self.add(octets, first);
        }
        for part in given.joined.into_iter().flatten() {
            self.add(Octets::Data, part);
        }
    }

    /// Appends `part` to octets. It fits, as [`Given::of`] has checked.
    fn add(&mut self, octets: Octets, part: &[u8]) {
        let at = usize::from(self.lengths[octets as usize]);
        let bytes = (at + part.len()).min(ROOM[octets as usize]);
        let part = &part[..bytes - at];
        let words = &mut self.words[FIRST[octets as usize]..][..ROOM[octets as usize] / 8];
        // SAFETY: the room has as many bytes as `ROOM` says, and the part ends within it; the part is the caller's.
        unsafe {
            let place = words.as_mut_ptr().cast::<u8>().add(at);
            place.copy_from_nonoverlapping(part.as_ptr(), part.len());
        }
        // The longest room has 256 bytes.
        self.lengths[octets as usize] = bytes as u16;
    }

    pub(super) fn clear(&mut self, octets: Octets) {
        let bytes = usize::from(std::mem::take(&mut self.lengths[octets as usize]));
        let words = &mut self.words[FIRST[octets as usize]..][..bytes.div_ceil(8)];
        words.zeroize();
    }

    /// Wipes all settings.
    pub(super) fn reset(&mut self) {
        (self.mode, self.hash) = (None, None);
        ALL.into_iter().for_each(|octets| self.clear(octets));
    }

    /// Copies the settings to `copy`, which has none.
    pub(super) fn copy_to(&self, copy: &mut Self) {
        copy.mode = self.mode;
        copy.hash = self.hash;
        for octets in ALL {
            if let Some(set) = self.get(octets) {
                copy.add(octets, set);
            }
        }
    }

    /// Returns all settings as parameters for the default provider, by the names of `K`.
    pub(super) fn params<K: Kdf>(&self) -> Vec<Param> {
        let mut params = Vec::with_capacity(NAMES.len() + 1);
        for name in NAMES {
            params.extend(match K::field(name.to_bytes()) {
                Some(Field::Mode) => self.mode.map(|mode| {
                    // A mode that was set by number is passed on by name, which is static.
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
/// The names of all settings of all key derivation functions.
const NAMES: [&CStr; 10] = [
    c"mode", c"digest", c"key", c"secret", c"salt", c"prefix", c"label", c"data", c"info", c"seed",
];
