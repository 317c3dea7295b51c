//! The provider's keys of hybrids: what is imported, set, told and exported, with parameters of any octets, types and rooms.
//! What is taken is taken by the reference as well and comes out as it went in; the default provider's keys, where the release
//! has them, take the same public keys.

use std::ffi::CStr;

use arbitrary::Arbitrary;
use oarlock_engine::agreement::{Hybrid, HybridPrivateKey};

use crate::agreements::{Given, HybridKey, Seed, hybrid_of, hybrid_takes, name_of};
use crate::evp::{PAIR, PUBLIC, Pkey, Values, has_default};
use crate::panics;

fuzz_target!(|input: Input| {
    panics::none_in(|| input.check());
});

#[derive(Arbitrary, Debug)]
struct Input {
    hybrid: u8,
    seed: Seed,
    acts: Vec<Act>,
}

#[derive(Arbitrary, Debug)]
enum Act {
    Blank,
    Import {
        selection: u8,
        public: Option<Given>,
        private: Option<Given>,
        /// A parameter of another name, or of one of the two once more, of any type.
        more: Option<(u8, u8, Vec<u8>)>,
    },
    Set(Given),
    /// A parameter of any type that is set.
    SetTyped(u8, u8, Vec<u8>),
    Octets(u8, u16),
    Number(u8, u8),
    Export(u8),
    Copy,
    Sizes,
}

/// A key, and what it must have.
struct Seen<'a> {
    model: &'a HybridKey,
    key: Pkey,
    public: Option<Vec<u8>>,
    private: Option<Vec<u8>>,
}

impl Input {
    fn check(self) {
        let hybrid = hybrid_of(self.hybrid);
        let model = HybridKey::new(hybrid, &self.seed.get());
        let mut seen = Seen {
            key: Pkey::blank(name_of(hybrid), 1),
            model: &model,
            public: None,
            private: None,
        };
        for act in self.acts.iter().take(ACTS_MAX) {
            seen.take(act);
        }
        seen.check();
    }
}

impl Seen<'_> {
    fn take(&mut self, act: &Act) {
        let hybrid = self.model.hybrid;
        let name = name_of(hybrid);
        match act {
            Act::Blank => {
                self.key = Pkey::blank(name, 1);
                (self.public, self.private) = (None, None);
            }
            Act::Import {
                selection,
                public,
                private,
                more,
            } => {
                let selection = SELECTIONS[usize::from(*selection) % SELECTIONS.len()];
                let public = public.as_ref().map(|given| given.get(&self.model.public));
                let private = private.as_ref().map(|given| given.get(&self.model.private));
                self.import(selection, public, private, more.as_ref());
            }
            Act::Set(given) => {
                let given = given.get(&self.model.public);
                let is_taken = self.public.is_none() && hybrid_takes(hybrid, &given);
                assert_eq!(self.key.set_encoded(&given), is_taken, "{hybrid:?}");
                if is_taken {
                    self.public = Some(given);
                }
            }
            Act::SetTyped(at, kind, value) => {
                let of = NAMES[usize::from(*at) % NAMES.len()];
                let values = Values::default().typed(of, *kind, value);
                // No value of these lengths is a public key.
                let value_bytes = value.len();
                let is_right = value_bytes == hybrid.public_key_bytes();
                if !is_right {
                    let done = self.key.set(&values);
                    assert!(!done || of != c"encoded-pub-key", "{hybrid:?}");
                }
            }
            Act::Octets(at, room) => self.check_octets(*at, usize::from(*room) % 4096),
            Act::Number(at, width) => {
                let at = usize::from(*at) % NUMBERS.len();
                let (of, numbers) = NUMBERS[at];
                let number = numbers[Hybrid::ALL.iter().position(|it| *it == hybrid).unwrap()];
                let width = usize::from(*width % 9);
                let found = self.key.number(of, width);
                let fits = width == 8 || width == 4 || number >> (8 * width) == 0;
                if let Some(found) = found {
                    assert_eq!(found, number, "{hybrid:?} {of:?} {width}");
                }
                assert!(found.is_some() || !fits || width % 4 != 0 || width == 0);
            }
            Act::Export(selection) => self.check_export(*selection),
            Act::Copy => match self.key.copy() {
                Some(copy) => {
                    assert!(
                        self.public.is_none() || copy.is_same(&self.key),
                        "{hybrid:?}"
                    );
                    self.key = copy;
                }
                None => assert!(self.public.is_none(), "{hybrid:?}"),
            },
            Act::Sizes => self.check_sizes(),
        }
        self.check();
    }

    fn import(
        &mut self,
        selection: i32,
        public: Option<Vec<u8>>,
        private: Option<Vec<u8>>,
        more: Option<&(u8, u8, Vec<u8>)>,
    ) {
        let hybrid = self.model.hybrid;
        let mut values = Values::default();
        if let Some(public) = &public {
            values = values.octets(c"pub", public);
        }
        if let Some(private) = &private {
            values = values.octets(c"priv", private);
        }
        // Those of a name that comes twice count first or not at all, by the release, so they come last.
        if let Some((at, kind, value)) = more {
            let of = MORE[usize::from(*at) % MORE.len()];
            values = values.typed(of, *kind, value);
        }
        let imported = Pkey::of_data(name_of(hybrid), 1, selection, &values);
        // A part without octets is none.
        let present = |octets: Option<Vec<u8>>| octets.filter(|octets| !octets.is_empty());
        let length_fits = |octets: &Option<Vec<u8>>, bytes: usize| {
            octets.as_ref().is_none_or(|octets| octets.len() == bytes)
        };
        let (public, private) = (
            present(public),
            present(private.filter(|_| selection & 1 != 0)),
        );
        let fits = length_fits(&public, hybrid.public_key_bytes())
            && length_fits(&private, hybrid.private_key_bytes());
        let expected = match (&public, &private) {
            _ if !fits => None,
            (_, Some(private)) => {
                let taken = HybridPrivateKey::from_bytes(hybrid, private).ok();
                taken.map(|key| {
                    let mut public = vec![0; hybrid.public_key_bytes()];
                    key.write_public_to(&mut public).expect("it has its length");
                    public
                })
            }
            (Some(public), None) => Some(public.clone()).filter(|it| hybrid_takes(hybrid, it)),
            (None, None) => None,
        };
        if more.is_none() {
            assert_eq!(imported.is_some(), expected.is_some(), "{hybrid:?}");
        }
        if let (Some(public), None) = (&public, &private) {
            let is_compared = more.is_none() && selection == PUBLIC && has_default(name_of(hybrid));
            // OpenSSL also takes points in a form that TLS has not.
            let has_form = hybrid == Hybrid::X25519MlKem768 || !matches!(public[0], 6 | 7);
            if is_compared && has_form {
                let theirs = Pkey::of_data(name_of(hybrid), 0, selection, &values);
                assert_eq!(theirs.is_some(), imported.is_some(), "{hybrid:?}");
            }
        }
        if let (Some(imported), Some(expected)) = (imported, expected) {
            (self.key, self.public, self.private) = (imported, Some(expected), private);
        }
    }

    fn check_octets(&self, at: u8, room: usize) {
        let of = NAMES[usize::from(at) % NAMES.len()];
        let found = self.key.octets(of, room);
        let expected = match of.to_bytes() {
            b"encoded-pub-key" => self.public.as_ref(),
            b"priv" => self.private.as_ref(),
            _ => None,
        };
        let expected = expected.filter(|octets| octets.len() <= room);
        assert_eq!(
            found.as_ref(),
            expected,
            "{:?} {of:?} {room}",
            self.model.hybrid
        );
    }

    fn check_export(&self, selection: u8) {
        let selection = SELECTIONS[usize::from(selection) % SELECTIONS.len()];
        let exported = self.key.exported(selection);
        let Some(exported) = exported else {
            assert!(self.public.is_none() || selection & 2 == 0);
            return;
        };
        let part = |name: &str| {
            let found = exported.iter().find(|(one, _)| one == name);
            found.map(|(_, octets)| octets)
        };
        let wanted =
            |octets: &'_ Option<Vec<u8>>, bit| octets.clone().filter(|_| selection & bit != 0);
        assert_eq!(part("pub").cloned(), wanted(&self.public, 2));
        assert_eq!(part("priv").cloned(), wanted(&self.private, 1));
        let parts = usize::from(part("pub").is_some()) + usize::from(part("priv").is_some());
        assert_eq!(exported.len(), parts);
    }

    fn check_sizes(&self) {
        let hybrid = self.model.hybrid;
        let [bits, security] = match hybrid {
            Hybrid::SecP384r1MlKem1024 => [1024, 256],
            _ => [768, 192],
        };
        let (found_bits, found_security, bytes) = self.key.sizes();
        assert_eq!((found_bits, found_security), (bits, security));
        assert_eq!(bytes as usize, hybrid.ciphertext_bytes());
    }

    fn check(&self) {
        let found = self.key.octets(c"encoded-pub-key", 4096);
        assert_eq!(found, self.public, "{:?}", self.model.hybrid);
        let found = self.key.octets(c"priv", 4096);
        assert_eq!(found, self.private, "{:?}", self.model.hybrid);
    }
}

const SELECTIONS: [i32; 3] = [PAIR, PUBLIC, 1];
const NAMES: [&CStr; 4] = [c"encoded-pub-key", c"priv", c"pub", c"unknown"];
const MORE: [&CStr; 5] = [c"pub", c"priv", c"group", c"properties", c"unknown"];
/// Numbers of a key, for each hybrid.
const NUMBERS: [(&CStr, [u64; 3]); 3] = [
    (c"bits", [768, 768, 1024]),
    (c"security-bits", [192, 192, 256]),
    (c"max-size", [1120, 1153, 1665]),
];
const ACTS_MAX: usize = 12;
