//! Key derivation: the engine's against the text of the standards, and contexts behind EVP, in any order of calls and with
//! regular and other parameters, against the default provider's: same results, same bytes, same errors.

use std::ffi::CStr;

use arbitrary::Arbitrary;
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Hash};
use oarlock_engine::kdf;

use crate::definitions::{HASHES, expand, expand_label, hash_of, hmac, tls12_prf};
use crate::evp::{Kdf, Octets, Values};
use crate::panics;

fuzz_target!(|input: Input| {
    match &input {
        Input::Engine(derivation) => derivation.check(),
        Input::Calls(name, calls) => panics::none_in(|| {
            check_calls(NAMES[usize::from(*name) % NAMES.len()], calls);
        }),
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Engine(Derivation),
    /// A function by its number, and the calls.
    Calls(u8, Vec<Call>),
}

#[derive(Arbitrary, Debug)]
struct Derivation {
    hash: u8,
    secret: Octets,
    salt: Octets,
    /// The info or the seed in pieces, or prefix, label and context.
    pieces: Vec<Octets>,
    bytes: Length,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Length {
    Short(u8),
    /// So much more or less than 255 digests.
    Most(i8),
    /// More than a field of two bytes tells.
    Field(u8),
}

#[derive(Arbitrary, Debug)]
enum Call {
    Set(Vec<Setting>),
    Derive(Length, Vec<Setting>),
    Size,
    Reset,
    /// Goes on with a copy.
    Copy,
    /// Has a copy derive, and goes on.
    CopyDerives(Length),
}

#[derive(Arbitrary, Debug)]
enum Setting {
    Digest(u8),
    Mode(u8),
    Octets(u8, Octets),
    /// A value of any type.
    Typed(u8, u8, Vec<u8>),
    Nothing(u8, u8),
    Properties,
}

impl Length {
    fn get(self, hash: Hash) -> usize {
        match self {
            Self::Short(bytes) => bytes.into(),
            Self::Most(more) => (255 * hash.bytes()).saturating_add_signed(more.into()),
            Self::Field(more) => 65_500 + usize::from(more),
        }
    }
}

impl Derivation {
    fn check(&self) {
        let hash = hash_of(self.hash);
        let (secret, salt) = (self.secret.get(), self.salt.get());
        let pieces: Vec<Vec<u8>> = self
            .pieces
            .iter()
            .take(PIECES_MAX)
            .map(Octets::get)
            .collect();
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let bytes = self.bytes.get(hash);

        let mut key = [0; DIGEST_BYTES_MAX];
        let key_bytes = kdf::extract(hash, &salt, &secret, &mut key);
        assert_eq!(key[..key_bytes], hmac(hash, &salt, &[&secret]), "{self:?}");

        let mut output = vec![0xa5; bytes];
        let made = kdf::expand(hash, &secret, &pieces, &mut output).ok();
        let expected = expand(hash, &secret, &pieces, bytes);
        assert_eq!(made.map(|()| &output), expected.as_ref(), "{self:?}");

        let piece = |at: usize| pieces.get(at).copied().unwrap_or_default();
        let parts = [piece(0), piece(1), piece(2)];
        let mut output = vec![0xa5; bytes];
        let [prefix, label, context] = parts;
        let made = kdf::expand_label(hash, &secret, prefix, label, context, &mut output).ok();
        let expected = expand_label(hash, &secret, parts, bytes);
        assert_eq!(made.map(|()| &output), expected.as_ref(), "{self:?}");

        let mut output = vec![0xa5; bytes];
        kdf::tls12_prf(hash, &secret, &pieces, &mut output);
        let expected = tls12_prf(hash, &secret, &pieces.concat(), bytes);
        assert_eq!(output, expected, "{self:?}");
    }
}

fn check_calls(name: &CStr, calls: &[Call]) {
    let mut sides = [0, 1].map(|side| Kdf::new(name, side));
    for call in calls.iter().take(CALLS_MAX) {
        let values = |settings: &[Setting]| {
            let settings = settings.iter().take(SETTINGS_MAX);
            settings.fold(Values::default(), |values, setting| {
                setting.add(name, values)
            })
        };
        match call {
            Call::Set(settings) => {
                let values = values(settings);
                let [theirs, ours] = sides.each_ref().map(|side| side.set(&values));
                assert_eq!(ours, theirs, "{name:?} {calls:?}");
            }
            Call::Derive(length, settings) => {
                let (values, bytes) = (values(settings), length.get(Hash::Sha256));
                let [theirs, ours] = sides.each_ref().map(|side| side.derive(bytes, &values));
                assert_eq!(ours, theirs, "{name:?} {calls:?}");
            }
            Call::Size => {
                let [theirs, ours] = sides.each_ref().map(Kdf::size);
                assert_eq!(ours, theirs, "{name:?} {calls:?}");
            }
            Call::Reset => sides.iter().for_each(Kdf::reset),
            Call::Copy | Call::CopyDerives(_) => {
                let [Some(theirs), Some(ours)] = sides.each_ref().map(Kdf::copy) else {
                    let copied = sides.each_ref().map(|side| side.copy().is_some());
                    assert_eq!(copied[1], copied[0], "{name:?}");
                    continue;
                };
                if let Call::CopyDerives(length) = call {
                    let bytes = length.get(Hash::Sha256);
                    let [theirs, ours] =
                        [theirs, ours].map(|copy| copy.derive(bytes, &Values::default()));
                    assert_eq!(ours, theirs, "{name:?} {calls:?}");
                } else {
                    sides = [theirs, ours];
                }
            }
        }
    }
}

impl Setting {
    fn add(&self, name: &CStr, values: Values) -> Values {
        let octets = |at: u8| OCTETS[usize::from(at) % OCTETS.len()];
        let any = |at: u8| ANY[usize::from(at) % ANY.len()];
        // 3.0 reads beyond its buffer after an info without a byte.
        let is_taken = |of: &CStr, bytes: usize| name != c"HKDF" || of != c"info" || bytes > 0;
        match self {
            Self::Digest(at) => {
                let at = usize::from(*at) % (HASHES.len() + DIGESTS.len());
                let known = HASHES.get(at).map(|(_, name)| *name);
                let digest = known.unwrap_or_else(|| DIGESTS[at - HASHES.len()]);
                values.text(c"digest", digest.as_bytes())
            }
            Self::Mode(at) => match usize::from(*at) % (MODES.len() + 5) {
                number if number < 5 => values.int(c"mode", number as i32 - 1),
                at => values.text(c"mode", MODES[at - 5].as_bytes()),
            },
            Self::Octets(at, value) => {
                let (of, value) = (octets(*at), value.get());
                match is_taken(of, value.len()) {
                    true => values.octets(of, &value),
                    false => values,
                }
            }
            Self::Typed(at, kind, value) => values.typed(any(*at), *kind, value),
            // Stock looks at a mode or a digest that is none.
            Self::Nothing(at, kind) => {
                let of = NOTHING[usize::from(*at) % NOTHING.len()];
                values.nothing(of, *kind)
            }
            Self::Properties => values.text(c"properties", b"provider=default"),
        }
    }
}

const NAMES: [&CStr; 3] = [c"TLS13-KDF", c"HKDF", c"TLS1-PRF"];
const OCTETS: [&CStr; 9] = [
    c"key", c"salt", c"info", c"prefix", c"label", c"data", c"secret", c"seed", c"unknown",
];
/// What may come without a value, and in a type that is not its own.
const NOTHING: [&CStr; 4] = [c"key", c"salt", c"secret", c"unknown"];
const ANY: [&CStr; 6] = [c"key", c"salt", c"secret", c"mode", c"digest", c"unknown"];
/// Other names of digests, digests that are not ours, and none.
const DIGESTS: [&str; 8] = [
    "SHA256",
    "sha2-384",
    "SHA512",
    "SHA512-256",
    "SHA3-256",
    "MD5-SHA1",
    "SM3",
    "none",
];
const MODES: [&str; 5] = [
    "EXTRACT_ONLY",
    "EXPAND_ONLY",
    "extract_and_expand",
    "EXPAND",
    "",
];
const PIECES_MAX: usize = 4;
const CALLS_MAX: usize = 12;
const SETTINGS_MAX: usize = 8;
