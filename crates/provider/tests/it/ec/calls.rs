//! Random calls of EVP, and their observable results.

use std::ffi::{CString, c_int, c_void};
use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};
use std::ptr::{null, null_mut};

use rand::RngExt;
use rand::rngs::StdRng;

pub use crate::driver::contexts::{SIDES, Side};
use crate::driver::contexts::{Signing, signed};
use crate::driver::rsa::{RsaKey, functions};
use crate::driver::{Param, libcrypto};

#[derive(Clone, Debug)]
pub enum Call {
    SignInit,
    VerifyInit,
    /// With the given hash function, or without a name: the key's own one, or the last one.
    DigestSignInit(Option<&'static str>),
    DigestVerifyInit(Option<&'static str>),
    /// Repeats the initialization with neither key nor name.
    Again,
    Digest(&'static str),
    DigestSize(usize),
    Nonce(u32),
    /// Signs this many bytes, with more or less room than needed by this number of bytes.
    Sign(usize, isize),
    Size,
    Verify(usize),
    Update(usize),
    Final(isize),
    VerifyFinal,
    /// A copy, which is dropped, or replaces the original.
    Copy,
    Replace,
    Get,
    /// Sets a parameter of [`NAMED`] with a type and a value of this many bytes.
    Set(usize, u32, usize),
    /// Verifies a signature in an invalid form (one of [`FORMS`]).
    VerifyForm(usize),
}

/// Known and unknown parameters of a context.
const NAMED: [&str; 6] = [
    "digest",
    "digest-size",
    "nonce-type",
    "properties",
    "kat",
    "unknown",
];
/// The number of altered forms of a signature.
const FORMS: usize = 12;

/// Returns a signature with an altered form: the encoding of its numbers and lengths in DER.
fn reformed(signature: &[u8], form: usize) -> Vec<u8> {
    let mut made = signature.to_vec();
    if made.len() < 10 || made[0] != 0x30 {
        return made;
    }
    let at = if made[1] & 0x80 == 0 { 2 } else { 3 };
    let end = made.len().min(at + 2 + usize::from(made[at + 1]));
    match form {
        // Lengths in more bytes than needed, or missing.
        0 => {
            let rest = made.split_off(2);
            made = [&[0x30, 0x81, rest.len() as u8][..], &rest].concat();
        }
        1 => made[1] = 0x80,
        2 => made[at + 1] = 0,
        3 => made[at + 1] = 0x7f,
        4 => made[0] = 0x31,
        5 => made[at] = 3,
        // A negative number, a padded one, and zero.
        6 => made[at + 2] |= 0x80,
        7 if at == 2 => {
            made.splice(at + 2..at + 2, [0]);
            made[1] += 1;
            made[at + 1] += 1;
        }
        8 => made[at + 2..end].fill(0),
        9 => made[at + 2..end].fill(0x7f),
        10 => made.truncate(end),
        _ => made.extend([5, 0]),
    }
    made
}

const DIGESTS: [&str; 15] = [
    "SHA256",
    "SHA2-256",
    "sha-256",
    "2.16.840.1.101.3.4.2.1",
    "SHA384",
    "SHA512",
    "SHA2-512",
    "SHA224",
    "SHA512-256",
    "SHA2-512/224",
    "SHA1",
    "MD5-SHA1",
    "SHA3-256",
    "SHAKE256",
    "nonsense",
];

pub fn program(rng: &mut StdRng) -> Vec<Call> {
    fn of<T: Copy>(rng: &mut StdRng, all: &[T]) -> T {
        all[rng.random_range(0..all.len())]
    }
    let by_parts = rng.random::<bool>();
    let verifies = rng.random_range(0..3) == 0;
    let digest = |rng: &mut StdRng| match rng.random_range(0..6) {
        0 => of(rng, &DIGESTS),
        1 => of(rng, &DIGESTS[..10]),
        _ => "SHA256",
    };
    let init = |rng: &mut StdRng| {
        let verifies = verifies != (rng.random_range(0..12) == 0);
        let name = (rng.random_range(0..8) > 0).then(|| digest(rng));
        match (by_parts, verifies) {
            (false, false) => Call::SignInit,
            (false, true) => Call::VerifyInit,
            (true, false) => Call::DigestSignInit(name),
            (true, true) => Call::DigestVerifyInit(name),
        }
    };
    let room = |rng: &mut StdRng| of(rng, &[0, 0, 0, 0, 7, -1, -3, -200]);
    let mut calls = vec![init(rng)];
    for _ in 0..rng.random_range(1..10) {
        calls.push(match rng.random_range(0..28) {
            0 => init(rng),
            1 => Call::Size,
            2 => Call::Copy,
            3 => Call::Replace,
            4 => Call::Get,
            5 | 6 => Call::Digest(digest(rng)),
            7 => Call::DigestSize(of(rng, &[0, 20, 32, 48])),
            8 => Call::Nonce(of(rng, &[0, 1, 1, 2])),
            24 => Call::Set(
                rng.random_range(0..NAMED.len()),
                of(rng, &[1, 2, 4, 5]),
                of(rng, &[0, 1, 3, 4, 8, 9]),
            ),
            25 | 26 if verifies => Call::VerifyForm(rng.random_range(0..FORMS)),
            9 if by_parts => Call::Again,
            _ if by_parts => match rng.random_range(0..8) {
                0..4 => Call::Update(of(rng, &[100, 100, 0, 1, 300])),
                4 if !verifies => Call::VerifyFinal,
                _ if verifies => Call::VerifyFinal,
                _ => Call::Final(room(rng)),
            },
            _ if verifies != (rng.random_range(0..8) == 0) => {
                Call::Verify(of(rng, &[32, 32, 32, 48, 20, 0]))
            }
            _ => Call::Sign(of(rng, &[32, 32, 48, 64, 28, 20, 1, 0, 100]), room(rng)),
        });
    }
    calls
}

/// Signatures of a digest and of a message.
#[derive(Clone, Debug, Default)]
pub struct Signatures {
    pub of_digest: Vec<u8>,
    pub of_message: Vec<u8>,
}

/// The contexts of one side, and their signatures.
pub struct Contexts {
    signing: Signing,
    /// Whether `message` is a copy whose original has been freed: 3.0 keeps the algorithm's identifier with the original.
    is_copied: bool,
    pub signatures: Signatures,
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

impl Contexts {
    pub fn new(side: &Side, key: &RsaKey) -> Self {
        Self {
            signing: Signing::new(side, key),
            is_copied: false,
            signatures: Signatures::default(),
        }
    }

    /// Makes a call and returns its observable result.
    pub fn call(&mut self, call: &Call, side: &Side, key: &RsaKey) -> String {
        let functions = functions();
        let data: Vec<u8> = (0..=255).cycle().take(512).collect();
        let (by_parts, settings) = (self.by_parts(), self.settings());
        let mut seen = String::new();
        // SAFETY: all contexts and the key are live, names are NUL-terminated, and each length is that of the buffer next to
        // it, or smaller in tests of wrong lengths.
        unsafe {
            let result = match *call {
                Call::SignInit => (functions.EVP_PKEY_sign_init)(self.context),
                Call::VerifyInit => (functions.EVP_PKEY_verify_init)(self.context),
                Call::DigestSignInit(name) | Call::DigestVerifyInit(name) => {
                    self.verifies = matches!(call, Call::DigestVerifyInit(_));
                    self.begin_named(name, side, key.key)
                }
                Call::Again => self.begin_named(None, side, null_mut()),
                Call::Digest(name) => {
                    let name = text(name);
                    let params = [Param::text(c"digest", &name), Param::END];
                    (functions.EVP_PKEY_CTX_set_params)(settings, params.as_ptr())
                }
                Call::DigestSize(mut bytes) => {
                    let place = (&raw mut bytes).cast();
                    let params = [
                        Param::new(c"digest-size", UNSIGNED_INTEGER, place, size_of::<usize>()),
                        Param::END,
                    ];
                    (functions.EVP_PKEY_CTX_set_params)(settings, params.as_ptr())
                }
                Call::Nonce(mut kind) => {
                    let place = (&raw mut kind).cast();
                    let params = [
                        Param::new(c"nonce-type", UNSIGNED_INTEGER, place, size_of::<u32>()),
                        Param::END,
                    ];
                    (functions.EVP_PKEY_CTX_set_params)(settings, params.as_ptr())
                }
                Call::Size => {
                    let (result, bytes) = self.size(&data[..32]);
                    let _ = write!(seen, "{bytes} ");
                    result
                }
                Call::Sign(bytes, more) => {
                    let context = self.context;
                    let (result, made) = self.sign(key, more, &mut seen, |place, room| {
                        (functions.EVP_PKEY_sign)(context, place, room, data.as_ptr(), bytes)
                    });
                    if let Some(made) = made.filter(|_| bytes == 32) {
                        self.signatures.of_digest = made;
                    }
                    result
                }
                Call::Final(more) => {
                    let message = self.message;
                    let (result, made) = self.sign(key, more, &mut seen, |place, room| {
                        (functions.EVP_DigestSignFinal)(message, place, room)
                    });
                    if let Some(made) = made {
                        self.signatures.of_message = made;
                    }
                    result
                }
                Call::Update(bytes) => self.update(&data[..bytes]),
                Call::Verify(bytes) => self.verify(&self.signatures.of_digest, &data[..bytes]),
                Call::VerifyForm(form) if by_parts => {
                    self.verify_final(&reformed(&self.signatures.of_message, form))
                }
                Call::VerifyForm(form) => {
                    let formed = reformed(&self.signatures.of_digest, form);
                    self.verify(&formed, &data[..32])
                }
                Call::Set(name, kind, bytes) => {
                    let (name, mut value) = (text(NAMED[name]), [1_u8; 16]);
                    value[1..].fill(0);
                    let param = Param::new(&name, kind, value.as_mut_ptr(), bytes);
                    let params = [param, Param::END];
                    (functions.EVP_PKEY_CTX_set_params)(settings, params.as_ptr())
                }
                Call::VerifyFinal => self.verify_final(&self.signatures.of_message),
                Call::Copy if by_parts => self.copy_message(false),
                Call::Copy => self.copy_context(false),
                Call::Replace if by_parts => {
                    let result = self.copy_message(true);
                    self.is_copied |= result == 1;
                    result
                }
                Call::Replace => self.copy_context(true),
                Call::Get => {
                    let (mut id, mut name, mut bytes) = ([0u8; 128], [0u8; 64], 0_usize);
                    let mut nonce_type = self.nonce_type();
                    let place = (&raw mut bytes).cast();
                    let results = [
                        Param::new(
                            c"algorithm-id",
                            Param::OCTET_STRING,
                            id.as_mut_ptr(),
                            id.len(),
                        ),
                        Param::new(c"digest", UTF8_STRING, name.as_mut_ptr(), name.len()),
                        Param::new(c"digest-size", UNSIGNED_INTEGER, place, size_of::<usize>()),
                        Param::new(c"kat", UNSIGNED_INTEGER, (&raw mut nonce_type).cast(), 4),
                    ]
                    .map(|param| {
                        let mut params = [param, Param::END];
                        (functions.EVP_PKEY_CTX_get_params)(settings, params.as_mut_ptr())
                    });
                    if self.is_copied {
                        id.fill(0);
                    }
                    let _ = write!(
                        seen,
                        "{results:?} {id:02x?} {name:02x?} {bytes} {nonce_type} "
                    );
                    1
                }
            };
            let _ = write!(seen, "{result} {:?}", libcrypto().errors());
        }
        seen
    }

    /// Begins a message with a key, or again with the last one.
    ///
    /// # Safety
    /// `key` is null or live.
    unsafe fn begin_named(&mut self, name: Option<&str>, side: &Side, key: *mut c_void) -> c_int {
        let name = name.map(text);
        let name = name.as_ref().map_or(null(), |name| name.as_ptr());
        // SAFETY: the name is null or NUL-terminated, and the caller guarantees the key.
        unsafe { self.begin(name, side, key, null()) }
    }

    fn nonce_type(&self) -> u32 {
        let mut kind = 0_u32;
        let mut params = [
            Param::new(c"nonce-type", UNSIGNED_INTEGER, (&raw mut kind).cast(), 4),
            Param::END,
        ];
        // SAFETY: the context is live, and the place has room for the number.
        unsafe { (functions().EVP_PKEY_CTX_get_params)(self.settings(), params.as_mut_ptr()) };
        kind
    }

    /// Signs with `more` bytes of room than needed. The signature is part of the result unless it is random.
    fn sign(
        &mut self,
        key: &RsaKey,
        more: isize,
        seen: &mut String,
        sign: impl FnOnce(*mut u8, *mut usize) -> c_int,
    ) -> (c_int, Option<Vec<u8>>) {
        let (result, made) = signed(key, more, sign);
        if let Some(made) = &made {
            let errors = libcrypto().errors();
            if self.nonce_type() == 1 {
                let _ = write!(seen, "{made:02x?} ");
            }
            let _ = write!(seen, "{errors:?} ");
        }
        (result, made)
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

const UTF8_STRING: u32 = Param::UTF8_STRING;
const UNSIGNED_INTEGER: u32 = Param::UNSIGNED_INTEGER;
