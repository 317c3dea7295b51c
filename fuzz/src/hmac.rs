//! Digests and HMAC in pieces, with keys that are set again, copies and dropped messages: the engine's against RustCrypto and
//! RFC 2104, and contexts behind EVP against the default provider's.

use arbitrary::Arbitrary;
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest, Hmac};

use crate::definitions::{self, HASHES, block_bytes, hash_of};
use crate::evp::{Mac, Octets, Values};
use crate::panics;

fuzz_target!(|input: Input| {
    match &input {
        Input::Digest(hash, pieces) => check_digest(*hash, pieces),
        Input::Engine(hash, key, acts) => check_engine(*hash, &key.get(), acts),
        Input::Calls(calls) => panics::none_in(|| check_calls(calls)),
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    /// A message in pieces.
    Digest(u8, Vec<Piece>),
    Engine(u8, Octets, Vec<Act>),
    Calls(Vec<Call>),
}

#[derive(Arbitrary, Debug)]
enum Piece {
    Octets(Octets),
    /// A number of hundreds of bytes.
    Long(u8),
}

#[derive(Arbitrary, Debug)]
enum Act {
    Update(Piece),
    Finish,
    Restart,
    /// Goes on with a copy.
    Copy,
    /// Has a copy end the message, and goes on.
    CopyFinishes,
    /// Asks whether it has this key.
    Has(u8, Octets),
}

#[derive(Arbitrary, Debug)]
enum Call {
    Init(Option<Octets>, Vec<Setting>),
    /// With the key that it has, as a new slice.
    InitAgain,
    Set(Vec<Setting>),
    Update(Piece),
    Finish(u8),
    TagBytes,
    Sizes,
    Copy,
    CopyFinishes(Piece),
}

#[derive(Arbitrary, Debug)]
enum Setting {
    Digest(u8),
    Key(Octets),
    /// A value of any type.
    Typed(u8, u8, Vec<u8>),
    Nothing(u8, u8),
    NoInit(bool),
    Properties,
}

impl Piece {
    fn get(&self) -> Vec<u8> {
        match self {
            Self::Octets(octets) => octets.get(),
            Self::Long(hundreds) => (0..usize::from(*hundreds) * 100)
                .map(|at| (at * 7) as u8)
                .collect(),
        }
    }
}

fn check_digest(hash: u8, pieces: &[Piece]) {
    let hash = hash_of(hash);
    let pieces: Vec<Vec<u8>> = pieces.iter().take(ACTS_MAX).map(Piece::get).collect();
    let mut digest = Digest::new(hash);
    for (at, piece) in pieces.iter().enumerate() {
        digest.update(piece);
        let so_far: Vec<&[u8]> = pieces[..=at].iter().map(Vec::as_slice).collect();
        let mut output = [0xa5; DIGEST_BYTES_MAX];
        let bytes = digest.clone().finish(&mut output);
        assert_eq!(output[..bytes], definitions::digest(hash, &so_far));
        assert!(output[bytes..].iter().all(|byte| *byte == 0xa5));
    }
}

fn check_engine(hash: u8, key: &[u8], acts: &[Act]) {
    let hash = hash_of(hash);
    let Some(mut hmac) = Hmac::new(hash, key) else {
        assert!(key.len() > block_bytes(hash), "{hash:?}");
        return;
    };
    assert!(key.len() <= block_bytes(hash), "{hash:?}");
    let mut message = Vec::new();
    for act in acts.iter().take(ACTS_MAX) {
        let check = |hmac: &mut Hmac, message: &[u8]| {
            let mut tag = [0xa5; DIGEST_BYTES_MAX];
            let bytes = hmac.finish(&mut tag);
            let expected = definitions::hmac(hash, key, &[message]);
            assert_eq!(tag[..bytes], expected, "{hash:?} {acts:?}");
        };
        match act {
            Act::Update(piece) => {
                let piece = piece.get();
                hmac.update(&piece);
                message.extend(piece);
            }
            Act::Finish => {
                check(&mut hmac, &message);
                message.clear();
            }
            Act::Restart => {
                hmac.restart();
                message.clear();
            }
            Act::Copy => hmac = hmac.copy(),
            Act::CopyFinishes => check(&mut hmac.copy(), &message),
            Act::Has(other, octets) => {
                let (other, octets) = (hash_of(*other), octets.get());
                let is_same = other == hash && octets == key;
                assert_eq!(hmac.has(other, &octets), is_same);
                assert!(hmac.has(hash, key));
            }
        }
    }
}

fn check_calls(calls: &[Call]) {
    let mut sides = [0, 1].map(Mac::new);
    // Settings may not change in the middle of a message, and after its end it is begun again (EVP_MAC(3)).
    let (mut is_begun, mut is_ended) = (false, false);
    let mut last_key = Vec::new();
    for call in calls.iter().take(ACTS_MAX) {
        match call {
            Call::Init(..) | Call::InitAgain => {
                let (key, values) = match call {
                    Call::Init(key, settings) => (key.as_ref().map(Octets::get), values(settings)),
                    _ => (Some(last_key.clone()), Values::default()),
                };
                let [theirs, ours] = sides
                    .each_ref()
                    .map(|side| side.init(key.as_deref(), &values));
                assert_eq!(ours, theirs, "{calls:?}");
                (is_begun, is_ended) = (false, theirs.0 != 1);
                last_key = key.unwrap_or(last_key);
            }
            Call::Set(settings) if !is_begun && !is_ended => {
                let values = values(settings);
                let [theirs, ours] = sides.each_ref().map(|side| side.set(&values));
                assert_eq!(ours, theirs, "{calls:?}");
            }
            Call::Update(piece) if !is_ended => {
                let piece = piece.get();
                let [theirs, ours] = sides.each_ref().map(|side| side.update(&piece));
                assert_eq!(ours, theirs, "{calls:?}");
                is_begun |= theirs.0 == 1;
            }
            Call::Finish(room) if !is_ended => {
                let room = ROOMS[usize::from(*room) % ROOMS.len()];
                let [theirs, ours] = sides.each_ref().map(|side| side.finish(room));
                assert_eq!(ours, theirs, "{calls:?}");
                (is_begun, is_ended) = (false, true);
            }
            Call::TagBytes if !is_ended => {
                let [theirs, ours] = sides.each_ref().map(Mac::tag_bytes);
                assert_eq!(ours, theirs, "{calls:?}");
            }
            Call::Copy if !is_ended => sides = sides.each_ref().map(Mac::copy),
            Call::CopyFinishes(piece) if !is_ended => {
                let piece = piece.get();
                let [theirs, ours] = sides.each_ref().map(|side| {
                    let copy = side.copy();
                    (copy.update(&piece), copy.finish(64))
                });
                assert_eq!(ours, theirs, "{calls:?}");
            }
            _ => {
                let [theirs, ours] = sides.each_ref().map(Mac::sizes);
                assert_eq!(ours, theirs, "{calls:?}");
            }
        }
    }
}

fn values(settings: &[Setting]) -> Values {
    let settings = settings.iter().take(SETTINGS_MAX);
    settings.fold(Values::default(), |values, setting| setting.add(values))
}

impl Setting {
    fn add(&self, values: Values) -> Values {
        let any = |at: u8| ANY[usize::from(at) % ANY.len()];
        match self {
            Self::Digest(at) => {
                let at = usize::from(*at) % (HASHES.len() + DIGESTS.len());
                let known = HASHES.get(at).map(|(_, name)| *name);
                let digest = known.unwrap_or_else(|| DIGESTS[at - HASHES.len()]);
                values.text(c"digest", digest.as_bytes())
            }
            Self::Key(octets) => values.octets(c"key", &octets.get()),
            Self::Typed(at, kind, value) => values.typed(any(*at), *kind, value),
            Self::Nothing(at, kind) => values.nothing(any(*at), *kind),
            Self::NoInit(is_oneshot) => match is_oneshot {
                true => values.int(c"digest-oneshot", 0),
                false => values.int(c"digest-noinit", 0),
            },
            Self::Properties => values.text(c"properties", b"provider=default"),
        }
    }
}

/// What may also come in a type that is not its own.
const ANY: [&std::ffi::CStr; 3] = [c"key", c"digest", c"unknown"];
/// Other names of digests, digests that are not ours, and none.
const DIGESTS: [&str; 7] = [
    "SHA256",
    "sha2-384",
    "SHA512-256",
    "MD5",
    "SHA3-256",
    "SHAKE-128",
    "none",
];
const ROOMS: [usize; 6] = [64, 128, 32, 48, 10, 0];
const ACTS_MAX: usize = 16;
const SETTINGS_MAX: usize = 4;
