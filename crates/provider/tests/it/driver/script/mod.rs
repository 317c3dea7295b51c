//! Sequences of calls, generated from bytes, on the default provider and on ours at once. After each call everything
//! observable must be the same: results, output and errors.

mod call;
mod dice;
pub mod meant;
mod seen;
mod side;
mod state;

use std::collections::BTreeSet;
use std::fmt;

use self::call::{Call, Family};
use self::dice::Dice;
use self::seen::Seen;
use self::side::Side;
use self::state::State;
use super::{Cipher, Context, libcrypto};

/// Whether this release can copy a context of the default provider.
pub fn copies(name: &str) -> bool {
    match Family::of(name) {
        Family::Ctr | Family::Cbc => true,
        Family::ChaCha20 => libcrypto().has(&[[3, 0, 12], [3, 1, 4], [3, 2, 0]]),
        Family::Gcm | Family::ChaCha20Poly1305 => {
            libcrypto().has(&[[3, 0, 13], [3, 1, 5], [3, 2, 0]])
        }
    }
}

/// The same algorithm of both providers.
pub struct Algorithm {
    name: String,
    family: Family,
    default: Cipher,
    ours: Cipher,
}

/// The end of a script: it was completed, or it reached an intended difference.
pub struct End {
    /// The number of calls that were made.
    pub calls: usize,
    /// The reasons for the differences.
    pub reasons: BTreeSet<&'static str>,
}

/// The first call that differs, with all previous calls.
pub struct Difference {
    pub name: String,
    pub calls: Vec<Call>,
    pub expected: Seen,
    pub found: Seen,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.name)?;
        for call in &self.calls {
            writeln!(f, "    {call:?}")?;
        }
        writeln!(f, "  default {:?}", self.expected)?;
        write!(f, "  oarlock {:?}", self.found)
    }
}

impl Algorithm {
    /// Fetches both; ours runs long requests in stripes if `has_stripes`.
    pub fn new(name: &str, has_stripes: bool) -> Self {
        Self {
            name: name.to_owned(),
            family: Family::of(name),
            default: libcrypto().fetch(name, "default"),
            ours: libcrypto().fetch_as(name, "oarlock", has_stripes),
        }
    }

    /// Executes `script` to its end, or to the first difference.
    pub fn run(&self, script: &[u8]) -> Result<End, Box<Difference>> {
        let family = self.family;
        let mut dice = Dice(script);
        let mut pairs = vec![Pair {
            default: self.default.context(),
            ours: self.ours.context(),
            state: State::default(),
        }];
        let mut at = 0;
        let mut calls = Vec::new();
        let mut reasons = BTreeSet::new();
        // Most scripts begin with a key and an IV.
        let mut next = (dice.below(8) > 0).then(|| Call::Init {
            has_cipher: false,
            key: Some(0),
            iv: (dice.below(8) > 0).then(|| dice.iv()),
            encrypts: dice.below(2) as i32,
        });
        while !dice.0.is_empty() {
            let call = next.take().unwrap_or_else(|| dice.call(family));
            if let Call::Turn(to) = call {
                at = to % pairs.len();
                continue;
            }
            if meant::is_undefined(call, pairs[at].state, pairs[at].default.numbers()[1]) {
                continue;
            }
            calls.push(call);
            if let Call::Copy = call {
                let pair = &pairs[at];
                let ((default, one), (ours, other)) = (pair.default.copy(), pair.ours.copy());
                if !copies(&self.name) {
                    assert_eq!((one, other), (0, 1), "a copy");
                    libcrypto().errors();
                    continue;
                }
                assert_eq!((one, other), (1, 1), "a copy of {}", self.name);
                let state = pair.state;
                pairs.push(Pair {
                    default,
                    ours,
                    state,
                });
                continue;
            }
            let pair = &mut pairs[at];
            let encrypts = pair.default.numbers()[5] == 1;
            let num = pair.default.numbers()[4];
            let ends = meant::is_random(family, call, pair.state, encrypts);
            if let Some(reason) = ends.or_else(|| meant::parts(family, call, pair.state)) {
                reasons.insert(reason);
                break;
            }
            let mut expected = self.side(pair, true).make(call, pair.state);
            let mut found = self.side(pair, false).make(call, pair.state);
            if expected != found {
                reasons.extend(meant::leave_out(call, &mut expected, &mut found));
            }
            if expected != found {
                let state = pair.state;
                let excuse = meant::excuse(family, call, state, num, encrypts)
                    .or_else(|| meant::refusal(family, call, state, encrypts, &expected, &found))
                    .or_else(|| meant::allowance(family, call, state, num, &expected, &found));
                let Some(reason) = excuse else {
                    return Err(Box::new(Difference {
                        name: self.name.clone(),
                        calls,
                        expected,
                        found,
                    }));
                };
                reasons.insert(reason);
                break;
            }
            let encrypts = pair.default.numbers()[5] == 1;
            pair.state.note(family, call, &expected, encrypts);
        }
        Ok(End {
            calls: calls.len(),
            reasons,
        })
    }

    fn side<'a>(&'a self, pair: &'a Pair, is_default: bool) -> Side<'a> {
        let (cipher, context) = match is_default {
            true => (&self.default, &pair.default),
            false => (&self.ours, &pair.ours),
        };
        Side {
            family: self.family,
            cipher,
            context,
            is_default,
        }
    }
}

/// Two contexts with the same history.
struct Pair {
    default: Context,
    ours: Context,
    state: State,
}
