//! Random calls of EVP, and their observable results.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use rand::RngExt;
use rand::rngs::StdRng;

pub use crate::driver::contexts::{SIDES, Side};
use crate::driver::contexts::{Signing, signed};
use crate::driver::rsa::{RsaKey, functions};
use crate::driver::{Param, evp_functions, libcrypto};

evp_functions! {
    OneShot:
    EVP_DigestSign: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_DigestVerify: fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int;
    EVP_SIGNATURE_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_SIGNATURE_free: fn(*mut c_void);
}

// Since release 3.4.
evp_functions! {
    Messages:
    EVP_PKEY_sign_message_init: fn(*mut c_void, *mut c_void, *const Param) -> c_int;
    EVP_PKEY_sign_message_update: fn(*mut c_void, *const u8, usize) -> c_int;
    EVP_PKEY_sign_message_final: fn(*mut c_void, *mut u8, *mut usize) -> c_int;
    EVP_PKEY_verify_message_init: fn(*mut c_void, *mut c_void, *const Param) -> c_int;
}

pub fn one_shot() -> &'static OneShot {
    static FUNCTIONS: OnceLock<OneShot> = OnceLock::new();
    FUNCTIONS.get_or_init(|| OneShot::load(libcrypto()))
}

fn messages() -> &'static Messages {
    static FUNCTIONS: OnceLock<Messages> = OnceLock::new();
    FUNCTIONS.get_or_init(|| Messages::load(libcrypto()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Begins, with or without settings.
    DigestSignInit(Setting),
    DigestVerifyInit(Setting),
    /// Begins with the name of a hash function, which these keys refuse.
    Named,
    /// Begins again, without a key.
    Again,
    /// Begins without a hash function, available since 3.4 like the next two, which handle digests.
    SignMessageInit(Setting),
    VerifyMessageInit(Setting),
    SignInit,
    Set(Setting),
    /// Signs this many bytes, with more or less room than needed by this number of bytes.
    Sign(usize, isize),
    Size,
    /// Verifies a signature of this many bytes.
    Verify(usize),
    /// Processes a piece of a message.
    Update(usize),
    Final,
    /// Replaces the original by a copy.
    Replace,
    Get,
}

/// A parameter that changes what is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    None,
    Context(&'static str),
    Instance(&'static CStr),
    Deterministic,
    Raw,
    Unknown,
}

pub fn program(rng: &mut StdRng) -> Vec<Call> {
    fn of<T: Copy>(rng: &mut StdRng, all: &[T]) -> T {
        all[rng.random_range(0..all.len())]
    }
    let has_messages = libcrypto().release() >= (3, 4);
    let setting = |rng: &mut StdRng| match rng.random_range(0..6) {
        0 => of(
            rng,
            &[
                Setting::Context("a context"),
                Setting::Context(""),
                Setting::Instance(c"Ed25519"),
                Setting::Instance(c"Ed25519ctx"),
                Setting::Instance(c"Ed25519ph"),
                Setting::Instance(c"nonsense"),
                Setting::Deterministic,
                Setting::Raw,
                Setting::Unknown,
            ],
        ),
        _ => Setting::None,
    };
    let verifies = rng.random_range(0..3) == 0;
    let by_message = has_messages && rng.random_range(0..3) == 0;
    let init = |rng: &mut StdRng| {
        let verifies = verifies != (rng.random_range(0..12) == 0);
        let setting = setting(rng);
        match (by_message, verifies) {
            (false, false) => Call::DigestSignInit(setting),
            (false, true) => Call::DigestVerifyInit(setting),
            (true, false) => Call::SignMessageInit(setting),
            (true, true) => Call::VerifyMessageInit(setting),
        }
    };
    let mut calls = vec![init(rng)];
    for _ in 0..rng.random_range(1..8) {
        calls.push(match rng.random_range(0..16) {
            0 => init(rng),
            1 => Call::Size,
            2 | 3 => Call::Replace,
            4 => Call::Get,
            5 => Call::Set(setting(rng)),
            6 if !by_message => of(rng, &[Call::Named, Call::Again]),
            6 => of(rng, &[Call::Update(40), Call::Final, Call::SignInit]),
            _ if verifies != (rng.random_range(0..8) == 0) => {
                Call::Verify(of(rng, &[100, 100, 100, 0, 64]))
            }
            _ => Call::Sign(
                of(rng, &[100, 100, 100, 0, 1, 64, 300]),
                of(rng, &[0, 0, 0, 7, -1, -40]),
            ),
        });
    }
    calls
}

/// The contexts of one side, and their signatures.
pub struct Contexts {
    signing: Signing,
    name: &'static CStr,
    is_begun: bool,
    /// The last signature of the first 100 bytes.
    pub signature: Vec<u8>,
}

fn data() -> Vec<u8> {
    (0..=255).cycle().take(512).collect()
}

impl Contexts {
    pub fn new(name: &'static CStr, side: &Side, key: &RsaKey) -> Self {
        Self {
            signing: Signing::new(side, key),
            name,
            is_begun: false,
            signature: Vec::new(),
        }
    }

    /// Makes a call and returns its observable result. `None` for a call that must not be made: releases use a context that
    /// was not begun through null pointers.
    pub fn call(&mut self, call: Call, side: &Side, key: &RsaKey) -> Option<String> {
        let functions = functions();
        let data = data();
        let by_message = !self.by_parts();
        let begins = matches!(
            call,
            Call::DigestSignInit(_)
                | Call::DigestVerifyInit(_)
                | Call::SignMessageInit(_)
                | Call::VerifyMessageInit(_)
                | Call::SignInit
                | Call::Named
        );
        if !begins && !self.is_begun {
            return None;
        }
        let mut seen = String::new();
        // SAFETY: all contexts and the key are live, names are NUL-terminated, and each length is that of the buffer next to
        // it, or smaller in tests of wrong lengths.
        unsafe {
            let result = match call {
                Call::DigestSignInit(setting) | Call::DigestVerifyInit(setting) => {
                    self.verifies = matches!(call, Call::DigestVerifyInit(_));
                    self.begin_set(null(), side, key.key, setting)
                }
                Call::Named => self.begin_set(c"SHA256".as_ptr(), side, key.key, Setting::None),
                Call::Again if by_message => return None,
                Call::Again => self.begin_set(null(), side, null_mut(), Setting::None),
                Call::SignMessageInit(setting) | Call::VerifyMessageInit(setting) => {
                    self.of_message = null_mut();
                    self.verifies = matches!(call, Call::VerifyMessageInit(_));
                    let fetch = one_shot().EVP_SIGNATURE_fetch;
                    let context = libcrypto().library_context();
                    let signature = fetch(context, self.name.as_ptr(), side.operations.as_ptr());
                    assert!(!signature.is_null());
                    let init = match self.verifies {
                        true => messages().EVP_PKEY_verify_message_init,
                        false => messages().EVP_PKEY_sign_message_init,
                    };
                    let mut number = 0;
                    let params = setting.params(&mut number);
                    let result = init(self.context, signature, params.as_ptr());
                    (one_shot().EVP_SIGNATURE_free)(signature);
                    result
                }
                Call::SignInit => {
                    self.of_message = null_mut();
                    self.verifies = false;
                    (functions.EVP_PKEY_sign_init)(self.context)
                }
                Call::Set(setting) => {
                    let mut number = 0;
                    let params = setting.params(&mut number);
                    (functions.EVP_PKEY_CTX_set_params)(self.settings(), params.as_ptr())
                }
                Call::Size => {
                    let mut bytes = 0;
                    let result = self.sign(null_mut(), &mut bytes, &data[..100]);
                    let _ = write!(seen, "{bytes} ");
                    result
                }
                Call::Sign(length, more) => {
                    let message = &data[..length];
                    // SAFETY: the place has as many bytes as the room says.
                    let (result, made) = signed(key, more, |place, room| {
                        self.sign(place, &mut *room, message)
                    });
                    if let Some(made) = made {
                        // Signatures of Ed25519 are not random.
                        if made.len() == 64 {
                            let _ = write!(seen, "{made:02x?} ");
                        }
                        if length == 100 {
                            self.signature = made;
                        }
                    }
                    result
                }
                Call::Verify(length) => {
                    let (given, message) = (&self.signature, &data[..length]);
                    match by_message {
                        true => self.verify(given, message),
                        false => self.verify_whole(message, given),
                    }
                }
                Call::Update(_) | Call::Final if !by_message || self.verifies => return None,
                Call::Update(length) => {
                    (messages().EVP_PKEY_sign_message_update)(self.context, data.as_ptr(), length)
                }
                Call::Final => {
                    let mut room = key.bytes();
                    let mut place = vec![0xa5; room];
                    (messages().EVP_PKEY_sign_message_final)(
                        self.context,
                        place.as_mut_ptr(),
                        &mut room,
                    )
                }
                Call::Replace if by_message => self.copy_context(true),
                Call::Replace => self.copy_message(true),
                Call::Get => {
                    let mut id = [0u8; 128];
                    let (place, room) = (id.as_mut_ptr(), id.len());
                    let mut params = [
                        Param::new(c"algorithm-id", Param::OCTET_STRING, place, room),
                        Param::END,
                    ];
                    let get = functions.EVP_PKEY_CTX_get_params;
                    let result = get(self.settings(), params.as_mut_ptr());
                    let _ = write!(seen, "{id:02x?} ");
                    result
                }
            };
            if begins {
                self.is_begun = result == 1;
            }
            let _ = write!(seen, "{result} {:?}", libcrypto().errors());
        }
        Some(seen)
    }

    /// # Safety
    /// `place` is null, or has as many bytes as `room` says.
    unsafe fn sign(&self, place: *mut u8, room: &mut usize, message: &[u8]) -> c_int {
        let (first, bytes) = (message.as_ptr(), message.len());
        // SAFETY: the contexts are live, and the caller guarantees the place.
        unsafe {
            match self.by_parts() {
                false => (functions().EVP_PKEY_sign)(self.context, place, room, first, bytes),
                true => (one_shot().EVP_DigestSign)(self.message, place, room, first, bytes),
            }
        }
    }

    /// Begins a message with a key, or again with the last one.
    ///
    /// # Safety
    /// `key` is null or live.
    unsafe fn begin_set(
        &mut self,
        name: *const c_char,
        side: &Side,
        key: *mut c_void,
        setting: Setting,
    ) -> c_int {
        let mut number = 0;
        let params = setting.params(&mut number);
        // SAFETY: the caller guarantees the key, and the array is terminated.
        unsafe { self.begin(name, side, key, params.as_ptr()) }
    }

    /// Begins to verify a message that was signed under a context (FIPS 204, 5.3).
    pub fn begin_verifying_under(&mut self, context: &[u8], side: &Side, key: &RsaKey) -> String {
        let params = [Param::octets(c"context-string", context), Param::END];
        self.verifies = true;
        // SAFETY: the key is live, and the array is terminated.
        let result = unsafe { self.begin(null(), side, key.key, params.as_ptr()) };
        format!("{result} {:?}", libcrypto().errors())
    }

    /// Verifies a signature of a whole message.
    pub fn verified(&self, message: &[u8], signature: &[u8]) -> String {
        let result = self.verify_whole(message, signature);
        format!("{result} {:?}", libcrypto().errors())
    }

    fn verify_whole(&self, message: &[u8], signature: &[u8]) -> c_int {
        let verify = one_shot().EVP_DigestVerify;
        let (given, bytes) = (signature.as_ptr(), signature.len());
        // SAFETY: the context was begun for verification, and lengths are those of their slices.
        unsafe { verify(self.message, given, bytes, message.as_ptr(), message.len()) }
    }
}

impl Setting {
    /// Returns an array that points to `number`.
    fn params(self, number: &mut c_int) -> [Param; 2] {
        *number = i32::from(self == Self::Deterministic);
        let place = std::ptr::from_mut(number).cast();
        let first = match self {
            Self::None => Param::END,
            Self::Context(text) => Param::octets(c"context-string", text.as_bytes()),
            Self::Instance(name) => Param::text(c"instance", name),
            Self::Deterministic => Param::new(c"deterministic", Param::INTEGER, place, 4),
            Self::Raw => Param::new(c"message-encoding", Param::INTEGER, place, 4),
            Self::Unknown => Param::octets(c"unknown", b"value"),
        };
        [first, Param::END]
    }
}

impl Deref for Contexts {
    type Target = Signing;

    fn deref(&self) -> &Signing {
        &self.signing
    }
}

impl DerefMut for Contexts {
    fn deref_mut(&mut self) -> &mut Signing {
        &mut self.signing
    }
}
