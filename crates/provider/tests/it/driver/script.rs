//! Sequences of calls, made of bytes, on the default provider and on ours at once. After each call
//! everything that can be seen must be the same: what was returned, written and raised.

use std::ffi::CStr;
use std::fmt;
use std::ptr::{null, null_mut};

use oarlock_testing::seeded_noise as noise;

use super::{Cipher, Context, Libcrypto, Param, ctrl, libcrypto};

/// One call. Lengths are in bytes; data, keys and IVs are the noise of a seed.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Init {
        has_cipher: bool,
        key: Option<u64>,
        iv: Option<Iv>,
        encrypts: i32,
    },
    Update(usize, Place),
    Aad(usize),
    Finish,
    Cipher(usize, Place),
    CipherAad(usize),
    CipherEnd,
    Copy,
    /// To another one of the copies.
    Turn(usize),
    Padding(i32),
    KeyBytes(i32),
    Num(i32),
    Ctrl(i32, i32, u64),
    SetNumber(&'static CStr, u32, usize, i64),
    SetOctets(&'static CStr, usize, bool),
    Get(&'static CStr, u32, usize),
    /// The lengths, num and IVs.
    Look(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Iv {
    Noise(u64),
    /// So many blocks before the counter wraps: the low 32 bits, or all that there are.
    BeforeWrap(u8, bool),
}

/// Where the output goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Apart,
    /// Where the input is.
    Same,
    /// So many bytes behind the begin of the input, or before it.
    Overlapping(isize),
}

/// Bytes that decide; zeros when they have run out.
pub struct Dice<'a>(pub &'a [u8]);

impl Dice<'_> {
    fn byte(&mut self) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                (*first).into()
            }
            None => 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        match end {
            0..=256 => self.byte() % end,
            _ => (self.byte() << 8 | self.byte()) % end,
        }
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn bytes(&mut self) -> usize {
        let around = self.of(&[64, 256, 1024, 4096, 16 << 10, 64 << 10]);
        match self.byte() {
            0..160 => self.below(100),
            160..192 => 16 * self.below(20),
            192..255 => (around + self.below(40)).saturating_sub(20),
            _ => (1 << 20) + self.below(1000),
        }
    }

    fn place(&mut self) -> Place {
        match self.below(8) {
            0..4 => Place::Apart,
            4..7 => Place::Same,
            _ => Place::Overlapping(self.of(&[-70, -33, -16, -5, -1, 1, 3, 16, 17, 40, 65])),
        }
    }

    fn iv(&mut self) -> Iv {
        match self.below(4) {
            0 => Iv::BeforeWrap(self.below(40) as u8, self.below(2) == 0),
            _ => Iv::Noise(self.below(4) as u64),
        }
    }

    fn init(&mut self) -> Call {
        Call::Init {
            has_cipher: self.below(8) == 0,
            key: (self.below(3) > 0).then(|| self.below(3) as u64),
            iv: (self.below(3) > 0).then(|| self.iv()),
            encrypts: self.of(&[1, 1, 1, 0, 0, -1]),
        }
    }

    fn call(&mut self, family: Family) -> Call {
        if family.is_aead() && self.below(3) == 0 {
            return self.aead_call();
        }
        match self.below(24) {
            0..3 => self.init(),
            3..12 => Call::Update(self.bytes(), self.place()),
            12..14 => Call::Finish,
            14..16 => Call::Cipher(self.bytes(), self.place()),
            16 => Call::CipherEnd,
            17 => Call::Copy,
            18 => Call::Turn(self.below(4)),
            19 => Call::Padding(self.of(&[0, 1, 1, 2])),
            20 => match self.below(3) {
                0 => Call::KeyBytes(self.of(&[0, 16, 24, 32, 64])),
                _ => Call::Num(self.below(20) as i32),
            },
            21 => Call::Look(self.of(&[16, 0, 12, 8, 15, 17, 128])),
            22 => Call::Get(
                self.of(&GOT),
                self.of(&[
                    Param::UNSIGNED_INTEGER,
                    Param::INTEGER,
                    Param::OCTET_STRING,
                    Param::OCTET_PTR,
                ]),
                self.of(&[8, 4, 16, 12, 1, 0, 13, 17, 128]),
            ),
            _ => match self.below(2) {
                0 => Call::SetNumber(
                    self.of(&SET),
                    self.of(&[Param::UNSIGNED_INTEGER, Param::INTEGER, Param::OCTET_STRING]),
                    self.of(&[4, 8]),
                    self.of(&[0, 1, 12, 16, 24, 32, -1]),
                ),
                _ => Call::SetOctets(self.of(&SET), self.below(20), self.below(4) == 0),
            },
        }
    }

    fn aead_call(&mut self) -> Call {
        let seed = self.below(4) as u64;
        match self.below(12) {
            0..4 => Call::Aad(self.bytes()),
            4 => Call::CipherAad(self.bytes()),
            5 => Call::Ctrl(ctrl::AEAD_SET_TAG, self.below(18) as i32, seed),
            6 => Call::Ctrl(ctrl::AEAD_GET_TAG, self.below(18) as i32, seed),
            7 => Call::Ctrl(
                ctrl::AEAD_SET_IV_BYTES,
                self.of(&[12, 16, 8, 0, 1, 13, 128, 129, -1]),
                seed,
            ),
            8 => Call::Ctrl(
                ctrl::AEAD_SET_IV_FIXED,
                self.of(&[4, -1, 12, 3, 5, 8, 0]),
                seed,
            ),
            9 => Call::Ctrl(ctrl::GCM_IV_GEN, self.of(&[8, 12, 0, -1, 4, 16]), seed),
            10 => Call::Ctrl(ctrl::GCM_SET_IV_INV, self.of(&[8, 12, 4, 0, -1]), seed),
            _ => Call::Ctrl(ctrl::AEAD_TLS1_AAD, self.of(&[13, 13, 13, 12, 14, 0]), seed),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Family {
    Ctr,
    Cbc,
    Gcm,
    ChaCha20,
    ChaCha20Poly1305,
}

impl Family {
    fn of(name: &str) -> Self {
        match name {
            "ChaCha20" => Self::ChaCha20,
            "ChaCha20-Poly1305" => Self::ChaCha20Poly1305,
            name if name.ends_with("CBC") => Self::Cbc,
            name if name.ends_with("GCM") => Self::Gcm,
            _ => Self::Ctr,
        }
    }

    fn is_aead(self) -> bool {
        matches!(self, Self::Gcm | Self::ChaCha20Poly1305)
    }
}

/// What is seen of a call.
#[derive(PartialEq)]
pub struct Seen {
    pub done: i32,
    pub written: i32,
    pub output: Vec<u8>,
    pub errors: Vec<(u32, u32)>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.output[..self.output.len().min(48)];
        write!(f, "{} wrote {} {:?} ", self.done, self.written, self.errors)?;
        shown.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The first call that differs, with all before it.
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

/// The same algorithm twice.
pub struct Algorithm {
    name: String,
    family: Family,
    default: Cipher,
    ours: Cipher,
}

/// Two contexts that have seen the same.
struct Pair {
    default: Context,
    ours: Context,
    state: State,
}

/// What decides whether a difference is meant.
#[derive(Clone, Copy, Default)]
struct State {
    is_keyed: bool,
    has_iv: bool,
    has_data: bool,
    counts_ivs: bool,
    has_tls_version: bool,
    /// EVP_Cipher was given data of no bytes.
    has_empty_data: bool,
    /// A tag was found to be wrong.
    has_failed: bool,
    /// Data of the message, or of the block, came since the last IV.
    is_under_way: bool,
    /// Of the last key.
    keyed_to_encrypt: bool,
    /// A tag to open with was set.
    has_tag: bool,
    /// The last message was sealed to its end, and none has begun since.
    has_sealed_tag: bool,
    /// The message of the nonce has ended.
    has_ended: bool,
    /// The next data are a TLS record.
    has_record: bool,
}

/// How a script ended.
pub enum End {
    /// So many calls.
    Done(usize),
    /// At a difference that is meant.
    Excused(usize, &'static str),
}

impl Algorithm {
    /// Ours with long requests in stripes where `has_stripes`.
    pub fn new(name: &str, has_stripes: bool) -> Self {
        Self {
            name: name.to_owned(),
            family: Family::of(name),
            default: libcrypto().fetch(name, "default"),
            ours: libcrypto().fetch_as(name, "oarlock", has_stripes),
        }
    }

    /// Does what `script` says, to its end, or to the first difference.
    pub fn run(&self, script: &[u8]) -> Result<End, Box<Difference>> {
        let mut dice = Dice(script);
        let mut pairs = vec![Pair {
            default: self.default.context(),
            ours: self.ours.context(),
            state: State::default(),
        }];
        let mut at = 0;
        let mut calls = Vec::new();
        // Most begin with a key and an IV.
        let mut next = (dice.below(8) > 0).then(|| Call::Init {
            has_cipher: false,
            key: Some(0),
            iv: (dice.below(8) > 0).then(|| dice.iv()),
            encrypts: dice.below(2) as i32,
        });
        while !dice.0.is_empty() {
            let call = next.take().unwrap_or_else(|| dice.call(self.family));
            if let Call::Turn(to) = call {
                at = to % pairs.len();
                continue;
            }
            if self.is_undefined(call, &pairs[at]) {
                continue;
            }
            calls.push(call);
            if let Call::Copy = call {
                let pair = &pairs[at];
                let ((default, one), (ours, other)) = (pair.default.copy(), pair.ours.copy());
                assert_eq!((one, other), (1, 1), "a copy");
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
            let ends = self.is_random(call, pair.state, encrypts);
            if let Some(reason) = ends.or_else(|| self.parts(call, pair.state)) {
                return Ok(End::Excused(calls.len(), reason));
            }
            let expected = self.make(call, &pair.default, &self.default, pair.state, true);
            let found = self.make(call, &pair.ours, &self.ours, pair.state, false);
            if expected != found {
                let excuse = self
                    .excuse(call, pair.state, num, encrypts)
                    .or_else(|| self.refusal(call, pair.state, encrypts, &expected, &found));
                return match excuse {
                    Some(reason) => Ok(End::Excused(calls.len(), reason)),
                    None => Err(Box::new(Difference {
                        name: self.name.clone(),
                        calls,
                        expected,
                        found,
                    })),
                };
            }
            let encrypts = pair.default.numbers()[5] == 1;
            pair.state.note(self.family, call, &expected, encrypts);
        }
        Ok(End::Done(calls.len()))
    }

    /// What the default provider does not look at, and reads or writes where nothing is.
    fn is_undefined(&self, call: Call, pair: &Pair) -> bool {
        let iv_bytes = pair.default.numbers()[1];
        match call {
            Call::Ctrl(ctrl::GCM_SET_IV_INV, bytes, _) => bytes > iv_bytes || iv_bytes < 8,
            Call::Ctrl(ctrl::GCM_IV_GEN, ..) => iv_bytes < 8,
            Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, -1, _) => iv_bytes < 8,
            // 3.0 fills what is left of the IV with random bytes, and takes less than nothing for much.
            Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, bytes, _) => bytes > iv_bytes,
            Call::SetOctets(key, bytes, is_null) => {
                let is_of_tls = key == c"tlsivfixed" || key == c"tlsaad";
                is_of_tls && is_null || key == c"tlsivfixed" && bytes as i32 > iv_bytes
            }
            Call::Ctrl(ctrl::AEAD_SET_IV_BYTES, bytes, _) => pair.state.counts_ivs && bytes < 8,
            Call::SetNumber(key, ..) => pair.state.counts_ivs && key == c"ivlen",
            // 3.0 looks at the byte before a number without bytes.
            Call::Get(_, Param::UNSIGNED_INTEGER | Param::INTEGER, 0) => true,
            _ => false,
        }
    }

    /// Calls after which the two have IVs of their own.
    fn is_random(&self, call: Call, state: State, encrypts: bool) -> Option<&'static str> {
        if self.family != Family::Gcm || !encrypts {
            return None;
        }
        match call {
            Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, bytes, _) if bytes != -1 => {
                Some("the part of the IV that is not fixed is random")
            }
            Call::SetOctets(key, ..) | Call::SetNumber(key, ..) if key == c"tlsivfixed" => {
                Some("the part of the IV that is not fixed is random")
            }
            _ if state.has_iv => None,
            Call::Update(..)
            | Call::Aad(_)
            | Call::Finish
            | Call::Cipher(..)
            | Call::CipherAad(_)
            | Call::CipherEnd
            | Call::Look(_)
            | Call::Get(..) => Some("an IV that was never set is random"),
            _ => None,
        }
    }

    /// The reason why a difference is meant (docs/provider.md, "Differences").
    fn excuse(&self, call: Call, state: State, num: i32, encrypts: bool) -> Option<&'static str> {
        let sets_num = match call {
            Call::Num(other) => other != num,
            Call::SetNumber(key, _, _, other) => key == c"num" && other != i64::from(num),
            _ => false,
        };
        match (self.family, call) {
            (Family::Ctr, _) if sets_num => Some("num is not set"),
            (Family::Cbc, Call::Cipher(bytes, _)) if bytes % 16 != 0 => {
                Some("EVP_Cipher takes whole blocks")
            }
            (Family::Cbc, _) if state.keyed_to_encrypt != encrypts => {
                Some("a key serves both directions")
            }
            (Family::ChaCha20, Call::Get(key, ..)) if key == c"updated-iv" => {
                Some("the updated IV of ChaCha20 is given")
            }
            (Family::ChaCha20, Call::Look(_)) => Some("the updated IV of ChaCha20 is given"),
            (Family::ChaCha20Poly1305, _) if !state.is_keyed => {
                Some("without a key nothing is encrypted")
            }
            (Family::ChaCha20Poly1305, Call::Aad(_) | Call::CipherAad(_)) if state.has_data => {
                Some("associated data after data are refused")
            }
            _ => None,
        }
    }

    /// The reason why ours refuses, in just this way, what the default provider of 3.0 lets pass.
    fn refusal(
        &self,
        call: Call,
        state: State,
        encrypts: bool,
        expected: &Seen,
        found: &Seen,
    ) -> Option<&'static str> {
        let is_chacha = self.family == Family::ChaCha20Poly1305;
        // Wrong tags it refuses without a word.
        if !expected.errors.is_empty() {
            return None;
        }
        let has_passed = match call {
            Call::Cipher(..) => expected.written >= 0,
            Call::CipherAad(_) | Call::CipherEnd => expected.done >= 0,
            _ => expected.done == 1,
        };
        let is_refused = |reasons: &[u32]| {
            let errors: Vec<_> = reasons.iter().map(|reason| (PROV, *reason)).collect();
            let has_failed = match call {
                Call::Cipher(..) => found.written == -1,
                Call::CipherAad(_) | Call::CipherEnd => found.done == -1,
                _ => found.done == 0,
            };
            has_failed && found.errors == errors
        };
        let is_untouched = found.output.iter().all(|byte| *byte == 0xaa);
        match call {
            Call::Finish | Call::CipherEnd
                if is_chacha
                    && !encrypts
                    && !state.has_tag
                    && has_passed
                    && is_refused(&[TAG_NOT_SET]) =>
            {
                Some("no message opens without a tag")
            }
            Call::Update(..) | Call::Cipher(..)
                if is_chacha
                    && state.has_ended
                    && has_passed
                    && is_untouched
                    && (is_refused(&[CIPHER_OPERATION_FAILED])
                        || state.has_record && is_refused(&[])) =>
            {
                Some("a nonce serves one message")
            }
            Call::Aad(_) | Call::CipherAad(_) | Call::Finish | Call::CipherEnd
                if is_chacha && state.has_ended && is_refused(&[CIPHER_OPERATION_FAILED]) =>
            {
                Some("a nonce serves one message")
            }
            Call::Cipher(0, _)
                if is_chacha && state.has_record && has_passed && is_refused(&[]) =>
            {
                Some("no record is empty")
            }
            Call::Ctrl(ctrl::AEAD_GET_TAG, ..) if encrypts && !state.has_sealed_tag => {
                let reason = if is_chacha { TAG_NOT_SET } else { INVALID_TAG };
                (has_passed && is_refused(&[reason])).then_some("a message under way has no tag")
            }
            Call::Get(key, ..) if key == c"tag" && encrypts && !state.has_sealed_tag => {
                let reason = if is_chacha { TAG_NOT_SET } else { INVALID_TAG };
                (has_passed && is_refused(&[reason])).then_some("a message under way has no tag")
            }
            _ => None,
        }
    }

    /// Calls after which the two are in states that are not the same, and meant not to be.
    fn parts(&self, call: Call, state: State) -> Option<&'static str> {
        match (self.family, call) {
            (
                Family::ChaCha20,
                Call::Init {
                    key: Some(_),
                    iv: None,
                    has_cipher: false,
                    ..
                },
            ) if state.is_under_way => Some("a new key does not take the begun block again"),
            (
                Family::Gcm,
                Call::Init {
                    key: Some(_),
                    iv: None,
                    has_cipher: false,
                    ..
                },
            ) if state.is_under_way => Some("a new key begins the message again"),
            (Family::Gcm, Call::Aad(_) | Call::CipherAad(_)) if state.has_empty_data => {
                Some("data of no bytes end no associated data")
            }
            (Family::Gcm, _) if state.has_failed => Some("what follows a wrong tag is refused"),
            (Family::ChaCha20Poly1305, Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, ..))
                if state.is_under_way =>
            {
                Some("a fixed IV begins a message")
            }
            (Family::ChaCha20Poly1305, Call::SetOctets(key, ..))
                if state.is_under_way && key == c"tlsivfixed" =>
            {
                Some("a fixed IV begins a message")
            }
            _ => None,
        }
    }

    /// What overlaps is undefined in OpenSSL, as is CBC in place that holds a part of a block: there
    /// the default provider is given two buffers, and ours has to do as well with one.
    fn defined(&self, call: Call, state: State) -> Call {
        let is_defined = |place| match place {
            Place::Apart => true,
            Place::Same => self.family != Family::Cbc || state.has_tls_version,
            Place::Overlapping(_) => false,
        };
        match call {
            Call::Update(bytes, place) if !is_defined(place) => Call::Update(bytes, Place::Apart),
            Call::Cipher(bytes, place) if !is_defined(place) => Call::Cipher(bytes, Place::Apart),
            call => call,
        }
    }

    fn make(
        &self,
        call: Call,
        context: &Context,
        cipher: &Cipher,
        state: State,
        is_default: bool,
    ) -> Seen {
        let libcrypto = libcrypto();
        let call = match is_default {
            true => self.defined(call, state),
            false => call,
        };
        match call {
            Call::Init {
                has_cipher,
                key,
                iv,
                encrypts,
            } => {
                let key = key.map(|seed| noise(100 + seed, 64));
                let iv = iv.map(|iv| iv.octets(self.family));
                let cipher = has_cipher.then_some(cipher);
                let done = context.init(cipher, key.as_deref(), iv.as_deref(), encrypts);
                seen(libcrypto, done, 0, Vec::new())
            }
            Call::Update(bytes, place) => self.crypt(context, bytes, place, Context::update),
            Call::Cipher(bytes, place) => {
                let cipher = |context: &Context, to, written: &mut i32, from, bytes| {
                    *written = context.cipher(to, from, bytes as usize);
                    1
                };
                self.crypt(context, bytes, place, cipher)
            }
            Call::Aad(bytes) => {
                let aad = noise(200, bytes.max(1));
                let mut written = UNTOUCHED;
                let done = context.update(null_mut(), &mut written, aad.as_ptr(), bytes as i32);
                seen(libcrypto, done, written, Vec::new())
            }
            Call::CipherAad(bytes) => {
                let aad = noise(200, bytes.max(1));
                let done = context.cipher(null_mut(), aad.as_ptr(), bytes);
                seen(libcrypto, done, 0, Vec::new())
            }
            Call::Finish => {
                let mut output = vec![0xaa; 64];
                let mut written = UNTOUCHED;
                let done = context.finish(output.as_mut_ptr(), &mut written);
                seen(libcrypto, done, written, output)
            }
            // 3.0 takes no notice of it (CVE-2026-75803): later ones do what its final call does.
            Call::CipherEnd if is_default && self.family == Family::ChaCha20Poly1305 => {
                let mut seen = self.make(Call::Finish, context, cipher, state, is_default);
                (seen.done, seen.written) = (seen.done - 1, 0);
                seen
            }
            Call::CipherEnd => {
                let mut output = vec![0xaa; 64];
                let done = context.cipher(output.as_mut_ptr(), null(), 0);
                seen(libcrypto, done, 0, output)
            }
            Call::Padding(padding) => seen(libcrypto, context.set_padding(padding), 0, Vec::new()),
            Call::KeyBytes(bytes) => seen(libcrypto, context.set_key_bytes(bytes), 0, Vec::new()),
            Call::Num(num) => seen(libcrypto, context.set_num(num), 0, Vec::new()),
            Call::Ctrl(what, argument, seed) => {
                let mut place = noise(300 + seed, 256);
                if what == ctrl::AEAD_TLS1_AAD {
                    place[11..13].copy_from_slice(&[0, 40 * (seed as u8 & 1)]);
                }
                let done = context.ctrl(what, argument, place.as_mut_ptr());
                seen(libcrypto, done, 0, place)
            }
            Call::SetNumber(key, data_type, bytes, number) => {
                let mut place = number.to_ne_bytes();
                let param = Param::new(key, data_type, place.as_mut_ptr(), bytes);
                seen(libcrypto, context.set(param), 0, Vec::new())
            }
            Call::SetOctets(key, bytes, is_null) => {
                let mut place = noise(400, 256);
                let data = if is_null {
                    null_mut()
                } else {
                    place.as_mut_ptr()
                };
                let param = Param::new(key, Param::OCTET_STRING, data, bytes);
                seen(libcrypto, context.set(param), 0, Vec::new())
            }
            Call::Get(key, data_type, bytes) => {
                let mut place = vec![0xaa; 256];
                let mut param = Param::new(key, data_type, place.as_mut_ptr(), bytes);
                let done = context.get(&mut param);
                if data_type == Param::OCTET_PTR {
                    place = pointed_to(&place, param.return_bytes);
                }
                seen(libcrypto, done, param.return_bytes as i32, place)
            }
            Call::Look(bytes) => {
                let numbers = context.numbers();
                let mut output = vec![0xaa; 300];
                let done = context.updated_iv(&mut output[..bytes]);
                let other = context.original_iv(&mut output[150..150 + bytes]);
                let numbers = numbers.iter().flat_map(|number| number.to_ne_bytes());
                output.splice(..0, numbers);
                seen(libcrypto, done, other, output)
            }
            Call::Copy | Call::Turn(_) => unreachable!("not on one context"),
        }
    }

    fn crypt(
        &self,
        context: &Context,
        bytes: usize,
        place: Place,
        call: impl FnOnce(&Context, *mut u8, &mut i32, *const u8, i32) -> i32,
    ) -> Seen {
        let after = 128;
        let apart = bytes + after;
        let mut memory = vec![0xaa; 2 * apart + 2 * after];
        let from = after;
        let to = match place {
            Place::Apart => from + apart,
            Place::Same => from,
            Place::Overlapping(by) => from.wrapping_add_signed(by),
        };
        let input = noise(500 + bytes as u64, bytes);
        memory[from..from + bytes].copy_from_slice(&input);
        let base = memory.as_mut_ptr();
        let mut written = UNTOUCHED;
        let done = call(
            context,
            base.wrapping_add(to),
            &mut written,
            base.wrapping_add(from),
            bytes as i32,
        );
        if place == Place::Apart {
            assert_eq!(memory[from..from + bytes], input, "the input stays");
        }
        let made = usize::try_from(written).unwrap_or_default().min(bytes + 64);
        // What is behind the output matters, but for the input that lies there.
        let behind = if place == Place::Apart { 64 } else { 0 };
        let mut output = memory[to..to + made + behind].to_vec();
        output.resize(made + 64, 0xaa);
        seen(libcrypto(), done, written, output)
    }
}

impl State {
    fn note(&mut self, family: Family, call: Call, seen: &Seen, encrypts: bool) {
        self.note_end(family, call, seen, encrypts);
        match call {
            Call::Init {
                key,
                iv,
                has_cipher,
                ..
            } => {
                if has_cipher {
                    *self = Self::default();
                }
                self.is_keyed |= key.is_some();
                self.has_iv |= iv.is_some();
                if key.is_some() {
                    self.keyed_to_encrypt = encrypts;
                }
                if key.is_some() || iv.is_some() {
                    self.has_data = false;
                }
                if iv.is_some() {
                    self.is_under_way = false;
                    self.has_failed = false;
                }
            }
            Call::Update(bytes, _) => {
                self.has_data |= bytes > 0;
                self.is_under_way |= bytes > 0;
            }
            Call::Cipher(bytes, _) => {
                self.has_data |= bytes > 0;
                self.has_empty_data |= bytes == 0;
                self.is_under_way = true;
            }
            Call::Aad(bytes) => self.is_under_way |= bytes > 0,
            Call::CipherAad(_) => self.is_under_way = true,
            Call::Finish | Call::CipherEnd => {
                self.has_data = false;
                self.is_under_way &= family == Family::ChaCha20;
                self.is_under_way |= family == Family::Gcm;
                self.has_failed |= seen.done != 1 && !encrypts && self.is_keyed;
            }
            Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, ..) if seen.done == 1 => {
                self.has_iv = true;
                self.counts_ivs = true;
            }
            Call::SetOctets(key, ..) if key == c"tlsivfixed" && seen.done == 1 => {
                self.has_iv = true;
                self.counts_ivs = true;
            }
            Call::SetNumber(key, ..) if key == c"tls-version" => {
                self.has_tls_version |= seen.done == 1;
            }
            Call::Ctrl(ctrl::GCM_IV_GEN | ctrl::GCM_SET_IV_INV, ..) => self.is_under_way = true,
            Call::Get(key, ..) if key == c"tlsivgen" => self.is_under_way = true,
            _ => {}
        }
    }
}

impl State {
    /// What is known of the message's tag and of its end.
    fn note_end(&mut self, family: Family, call: Call, seen: &Seen, encrypts: bool) {
        let is_done = match call {
            Call::Cipher(..) => seen.written >= 0,
            Call::CipherAad(_) | Call::CipherEnd => seen.done >= 0,
            Call::Ctrl(..) => seen.done > 0,
            _ => seen.done == 1,
        };
        match call {
            Call::Init { key, iv, .. } if key.is_some() || iv.is_some() => {
                self.has_ended = false;
                self.has_record = false;
            }
            Call::Update(bytes, _) | Call::Cipher(bytes, _) if bytes > 0 => {
                // One that fails may have been of another length than was said, and is still due.
                let is_record = std::mem::take(&mut self.has_record);
                self.has_ended |= is_record;
                self.has_sealed_tag = is_record && is_done && encrypts;
            }
            Call::Aad(bytes) | Call::CipherAad(bytes) if bytes > 0 => self.has_sealed_tag = false,
            Call::Cipher(..) | Call::CipherAad(_) if family == Family::Gcm => {
                self.has_sealed_tag = false;
            }
            Call::Finish | Call::CipherEnd => {
                // A record that is due is not ended.
                self.has_ended |= is_done || !self.has_record && self.is_keyed && !encrypts;
                self.has_record = false;
                self.has_sealed_tag = is_done && encrypts;
            }
            Call::Ctrl(ctrl::AEAD_SET_TAG, ..) => self.note_tag(is_done),
            Call::SetOctets(key, ..) | Call::SetNumber(key, ..) if key == c"tag" => {
                self.note_tag(is_done);
            }
            Call::Ctrl(ctrl::AEAD_TLS1_AAD, ..) if is_done => self.note_nonce(true),
            Call::SetOctets(key, ..) if key == c"tlsaad" && is_done => self.note_nonce(true),
            Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, ..) if is_done => self.note_nonce(false),
            Call::SetOctets(key, ..) if key == c"tlsivfixed" && is_done => self.note_nonce(false),
            Call::Ctrl(ctrl::GCM_IV_GEN | ctrl::GCM_SET_IV_INV, ..) => self.has_sealed_tag = false,
            Call::Get(key, ..) if key == c"tlsivgen" => self.has_sealed_tag = false,
            _ => {}
        }
    }

    fn note_tag(&mut self, is_set: bool) {
        self.has_tag |= is_set;
        self.has_sealed_tag &= !is_set;
    }

    fn note_nonce(&mut self, is_record: bool) {
        self.has_ended = false;
        self.has_record |= is_record;
    }
}

impl Iv {
    fn octets(self, family: Family) -> Vec<u8> {
        match self {
            Self::Noise(seed) => noise(600 + seed, 128),
            Self::BeforeWrap(blocks, is_whole) => {
                let mut iv = noise(700, 128);
                if family == Family::ChaCha20 {
                    let counter = u32::MAX - u32::from(blocks);
                    iv[..4].copy_from_slice(&counter.to_le_bytes());
                    iv[4..8].fill(if is_whole { 0xff } else { 7 });
                } else {
                    iv[if is_whole { 0 } else { 12 }..16].fill(0xff);
                    iv[15] -= blocks;
                }
                iv
            }
        }
    }
}

fn seen(libcrypto: &Libcrypto, done: i32, written: i32, output: Vec<u8>) -> Seen {
    Seen {
        done,
        written,
        output,
        errors: libcrypto.errors(),
    }
}

fn pointed_to(place: &[u8], bytes: usize) -> Vec<u8> {
    let pointer = usize::from_ne_bytes(place[..8].try_into().unwrap());
    let untouched = usize::from_ne_bytes([0xaa; 8]);
    if pointer == untouched || pointer == 0 || bytes > 128 {
        return format!("{}", pointer == untouched).into_bytes();
    }
    // SAFETY: the context has set the pointer, to so many bytes of its own.
    unsafe { std::slice::from_raw_parts(pointer as *const u8, bytes) }.to_vec()
}

const GOT: [&CStr; 13] = [
    c"keylen",
    c"ivlen",
    c"padding",
    c"num",
    c"iv",
    c"updated-iv",
    c"taglen",
    c"tag",
    c"tlsaadpad",
    c"tlsivgen",
    c"tls-mac",
    c"blocksize",
    c"unknown",
];
const SET: [&CStr; 13] = [
    c"keylen",
    c"ivlen",
    c"padding",
    c"num",
    c"tag",
    c"tlsaad",
    c"tlsivfixed",
    c"use-bits",
    c"tls-version",
    c"tls-mac-size",
    c"iv",
    c"taglen",
    c"unknown",
];
/// ERR_LIB_PROV and its reasons.
const PROV: u32 = 57;
const CIPHER_OPERATION_FAILED: u32 = 102;
const INVALID_TAG: u32 = 110;
const TAG_NOT_SET: u32 = 119;
/// Of a length that was not written.
const UNTOUCHED: i32 = 0x5a5a;
