//! Random calls of EVP, and their observable results.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt::Write as _;
use std::ptr::null_mut;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::driver::rsa::{RsaFunctions, RsaKey};
use crate::driver::{Param, libcrypto};

/// The providers of key and operation.
pub struct Side {
    pub name: &'static str,
    /// Property queries for the key and for its operations.
    pub key: &'static CStr,
    pub operations: &'static CStr,
}

pub const SIDES: [Side; 3] = [
    Side {
        name: "stock",
        key: c"provider=default",
        operations: c"provider=default",
    },
    // The queries of our configurations.
    Side {
        name: "accelerated",
        key: c"provider=default",
        operations: c"?oarlock.accelerated=yes",
    },
    // The queries of a possible configuration without our second clause.
    Side {
        name: "all ours",
        key: c"provider=oarlock",
        operations: c"?provider=oarlock",
    },
];

#[derive(Clone, Debug)]
pub enum Call {
    SignInit,
    VerifyInit,
    RecoverInit,
    DigestSignInit(&'static str),
    DigestVerifyInit(&'static str),
    Padding(c_int),
    Digest(&'static str),
    Mgf1(&'static str),
    Salt(c_int),
    /// Signs this many bytes, with more or less room than needed by this number of bytes.
    Sign(usize, isize),
    Size,
    Verify(usize),
    Recover(isize),
    Update(usize),
    Final(isize),
    VerifyFinal,
    Copy,
    Get,
}

const DIGESTS: [&str; 16] = [
    "SHA256",
    "SHA2-256",
    "sha-256",
    "SHA384",
    "SHA512",
    "SHA2-512",
    "SHA224",
    "SHA512-256",
    "SHA2-512/224",
    "SHA1",
    "MD5",
    "MD5-SHA1",
    "SHA3-256",
    "RIPEMD160",
    "SHAKE256",
    "nonsense",
];

pub fn program(rng: &mut StdRng) -> Vec<Call> {
    fn of<T: Copy>(rng: &mut StdRng, all: &[T]) -> T {
        all[rng.random_range(0..all.len())]
    }
    let by_parts = rng.random::<bool>();
    let digest = |rng: &mut StdRng| match rng.random_range(0..3) {
        0 => of(rng, &DIGESTS),
        _ => of(rng, &DIGESTS[..9]),
    };
    let init = |rng: &mut StdRng| match (by_parts, rng.random_range(0..8)) {
        (false, 0..5) => Call::SignInit,
        (false, 5) => Call::VerifyInit,
        (false, _) => Call::RecoverInit,
        (true, 0..6) => Call::DigestSignInit(digest(rng)),
        (true, _) => Call::DigestVerifyInit(digest(rng)),
    };
    let mut calls = vec![init(rng)];
    let room = |rng: &mut StdRng| of(rng, &[0, 0, 0, 0, 7, -1, -200]);
    for _ in 0..rng.random_range(1..10) {
        calls.push(match rng.random_range(0..24) {
            0 => init(rng),
            1..4 => Call::Padding(of(rng, &[1, 6, 6, 3, 4, 5, 7, 0])),
            4 => Call::Mgf1(digest(rng)),
            5 | 6 => Call::Salt(of(
                rng,
                &[-1, -2, -3, -4, 0, 10, 11, 20, 32, 64, 190, 222, 300, -9],
            )),
            7 => Call::Size,
            8 => Call::Copy,
            9 | 10 => Call::Get,
            11 | 12 => Call::Digest(digest(rng)),
            _ if by_parts => match rng.random_range(0..5) {
                0..2 => Call::Update(rng.random_range(0..300)),
                2 => Call::VerifyFinal,
                _ => Call::Final(room(rng)),
            },
            13..21 => Call::Sign(
                of(
                    rng,
                    &[
                        32, 32, 48, 64, 28, 20, 36, 16, 0, 1, 117, 245, 246, 256, 300,
                    ],
                ),
                room(rng),
            ),
            21 | 22 => Call::Verify(of(rng, &[32, 48, 64, 20])),
            _ => Call::Recover(room(rng)),
        });
    }
    calls
}

/// The contexts of one side, and their signatures.
pub struct Contexts {
    pub functions: &'static RsaFunctions,
    pub context: *mut c_void,
    pub message: *mut c_void,
    /// The settings of `message`, which owns them.
    pub settings: *mut c_void,
    pub verifies: bool,
    pub signature: Vec<u8>,
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// OSSL_PARAM_UTF8_STRING.
const UTF8_STRING: u32 = 4;

impl Contexts {
    pub fn new(side: &Side, key: &RsaKey) -> Self {
        let functions = key.functions;
        // SAFETY: library context and key are live, and the query for properties is NUL-terminated.
        unsafe {
            let context = (functions.EVP_PKEY_CTX_new_from_pkey)(
                libcrypto().library_context(),
                key.key,
                side.operations.as_ptr(),
            );
            assert!(!context.is_null());
            Self {
                functions,
                context,
                message: (functions.EVP_MD_CTX_new)(),
                settings: null_mut(),
                verifies: false,
                signature: Vec::new(),
            }
        }
    }

    /// Makes a call and returns its observable result.
    pub fn call(&mut self, call: &Call, side: &Side, key: &RsaKey) -> String {
        let functions = self.functions;
        let data: Vec<u8> = (0..=255).cycle().take(512).collect();
        let by_parts = !self.settings.is_null();
        let settings = if by_parts {
            self.settings
        } else {
            self.context
        };
        let mut seen = String::new();
        // SAFETY: the contexts and the key are live, names are NUL-terminated, and each length is that of the buffer next to
        // it, or smaller in tests of wrong lengths.
        unsafe {
            let result = match *call {
                Call::SignInit => (functions.EVP_PKEY_sign_init)(self.context),
                Call::VerifyInit => (functions.EVP_PKEY_verify_init)(self.context),
                Call::RecoverInit => (functions.EVP_PKEY_verify_recover_init)(self.context),
                Call::DigestSignInit(name) | Call::DigestVerifyInit(name) => {
                    self.verifies = matches!(call, Call::DigestVerifyInit(_));
                    let init = match self.verifies {
                        false => functions.EVP_DigestSignInit_ex,
                        true => functions.EVP_DigestVerifyInit_ex,
                    };
                    let name = text(name);
                    let mut settings = null_mut();
                    let result = init(
                        self.message,
                        &mut settings,
                        name.as_ptr(),
                        libcrypto().library_context(),
                        side.operations.as_ptr(),
                        key.key,
                        std::ptr::null(),
                    );
                    self.settings = if result == 1 { settings } else { null_mut() };
                    result
                }
                Call::Padding(padding) => {
                    (functions.EVP_PKEY_CTX_set_rsa_padding)(settings, padding)
                }
                Call::Digest(name) => {
                    let name = text(name);
                    let bytes = name.as_bytes().len();
                    let place = name.as_ptr().cast_mut().cast();
                    let params = [Param::new(c"digest", UTF8_STRING, place, bytes), Param::END];
                    (functions.EVP_PKEY_CTX_set_params)(settings, params.as_ptr())
                }
                Call::Mgf1(name) => {
                    let name = text(name);
                    (functions.EVP_PKEY_CTX_set_rsa_mgf1_md_name)(
                        settings,
                        name.as_ptr(),
                        std::ptr::null(),
                    )
                }
                Call::Salt(bytes) => (functions.EVP_PKEY_CTX_set_rsa_pss_saltlen)(settings, bytes),
                Call::Size if by_parts => {
                    let mut bytes = 0;
                    let result =
                        (functions.EVP_DigestSignFinal)(self.message, null_mut(), &mut bytes);
                    let _ = write!(seen, "{bytes} ");
                    result
                }
                Call::Size => {
                    let mut bytes = 0;
                    let result = (functions.EVP_PKEY_sign)(
                        self.context,
                        null_mut(),
                        &mut bytes,
                        data.as_ptr(),
                        32,
                    );
                    let _ = write!(seen, "{bytes} ");
                    result
                }
                Call::Sign(bytes, more) => {
                    let context = self.context;
                    self.sign(key, more, &mut seen, |place, room| {
                        (functions.EVP_PKEY_sign)(context, place, room, data.as_ptr(), bytes)
                    })
                }
                Call::Final(more) => {
                    let message = self.message;
                    self.sign(key, more, &mut seen, |place, room| {
                        (functions.EVP_DigestSignFinal)(message, place, room)
                    })
                }
                Call::Update(bytes) => {
                    let update = match self.verifies {
                        true => functions.EVP_DigestVerifyUpdate,
                        false => functions.EVP_DigestSignUpdate,
                    };
                    update(self.message, data.as_ptr().cast(), bytes)
                }
                Call::Verify(bytes) => (functions.EVP_PKEY_verify)(
                    self.context,
                    self.signature.as_ptr(),
                    self.signature.len(),
                    data.as_ptr(),
                    bytes,
                ),
                Call::VerifyFinal => (functions.EVP_DigestVerifyFinal)(
                    self.message,
                    self.signature.as_ptr(),
                    self.signature.len(),
                ),
                Call::Recover(more) => {
                    let mut room = key.bytes().saturating_add_signed(more);
                    // The default provider ignores the room if no hash function is set.
                    let mut place = vec![0; key.bytes()];
                    let result = (functions.EVP_PKEY_verify_recover)(
                        self.context,
                        place.as_mut_ptr(),
                        &mut room,
                        self.signature.as_ptr(),
                        self.signature.len(),
                    );
                    if result == 1 {
                        let _ = write!(seen, "{room} {:02x?} ", &place[..room.min(8)]);
                    }
                    result
                }
                Call::Copy if by_parts => {
                    let copy = (functions.EVP_MD_CTX_new)();
                    let result = (functions.EVP_MD_CTX_copy_ex)(copy, self.message);
                    (functions.EVP_MD_CTX_free)(copy);
                    result
                }
                Call::Copy => {
                    let copy = (functions.EVP_PKEY_CTX_dup)(self.context);
                    let is_made = !copy.is_null();
                    if is_made {
                        (functions.EVP_PKEY_CTX_free)(self.context);
                        self.context = copy;
                    }
                    is_made.into()
                }
                Call::Get => {
                    let [mut padding, mut salt] = [-77, -77];
                    let mut id = [0u8; 128];
                    let mut params = [
                        Param::new(
                            c"algorithm-id",
                            Param::OCTET_STRING,
                            id.as_mut_ptr(),
                            id.len(),
                        ),
                        Param::END,
                    ];
                    let results = [
                        (functions.EVP_PKEY_CTX_get_rsa_padding)(settings, &mut padding),
                        (functions.EVP_PKEY_CTX_get_rsa_pss_saltlen)(settings, &mut salt),
                        (functions.EVP_PKEY_CTX_get_params)(settings, params.as_mut_ptr()),
                    ];
                    let _ = write!(seen, "{results:?} {padding} {salt} {id:02x?} ");
                    1
                }
            };
            let _ = write!(seen, "{result} {:?}", libcrypto().errors());
        }
        seen
    }

    /// Signs with `more` bytes of room than needed; the default provider verifies random signatures.
    fn sign(
        &mut self,
        key: &RsaKey,
        more: isize,
        seen: &mut String,
        sign: impl FnOnce(*mut u8, *mut usize) -> c_int,
    ) -> c_int {
        let mut room = key.bytes().saturating_add_signed(more);
        let mut place = vec![0xa5; room.max(1)];
        let result = sign(place.as_mut_ptr(), &mut room);
        if result == 1 {
            place.truncate(room);
            let settings = if self.settings.is_null() {
                self.context
            } else {
                self.settings
            };
            let mut padding = 0;
            // SAFETY: `settings` is one of this value's live contexts, and `padding` belongs to this function.
            unsafe { (self.functions.EVP_PKEY_CTX_get_rsa_padding)(settings, &mut padding) };
            let _ = match padding {
                6 => write!(seen, "PSS {room} "),
                _ => write!(seen, "{place:02x?} "),
            };
            self.signature = place;
        }
        result
    }
}

impl Drop for Contexts {
    fn drop(&mut self) {
        // SAFETY: the contexts are live.
        unsafe {
            (self.functions.EVP_MD_CTX_free)(self.message);
            (self.functions.EVP_PKEY_CTX_free)(self.context);
        }
    }
}
