//! Random calls of EVP, and their observable results.

use std::ffi::{CString, c_int};
use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};
use std::ptr::null;

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
    signing: Signing,
    pub signature: Vec<u8>,
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

impl Contexts {
    pub fn new(side: &Side, key: &RsaKey) -> Self {
        Self {
            signing: Signing::new(side, key),
            signature: Vec::new(),
        }
    }

    /// Makes a call and returns its observable result.
    pub fn call(&mut self, call: &Call, side: &Side, key: &RsaKey) -> String {
        let functions = functions();
        let data: Vec<u8> = (0..=255).cycle().take(512).collect();
        let (by_parts, settings) = (self.by_parts(), self.settings());
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
                    let name = text(name);
                    self.begin(name.as_ptr(), side, key.key, null())
                }
                Call::Padding(padding) => {
                    (functions.EVP_PKEY_CTX_set_rsa_padding)(settings, padding)
                }
                Call::Digest(name) => {
                    let name = text(name);
                    let params = [Param::text(c"digest", &name), Param::END];
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
                Call::Size => {
                    let (result, bytes) = self.size(&data[..32]);
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
                Call::Update(bytes) => self.update(&data[..bytes]),
                Call::Verify(bytes) => self.verify(&self.signature, &data[..bytes]),
                Call::VerifyFinal => self.verify_final(&self.signature),
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
                Call::Copy if by_parts => self.copy_message(false),
                Call::Copy => self.copy_context(true),
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
        let (result, made) = signed(key, more, sign);
        if let Some(made) = made {
            let mut padding = 0;
            // SAFETY: the settings are one of this value's live contexts, and `padding` belongs to this function.
            unsafe { (functions().EVP_PKEY_CTX_get_rsa_padding)(self.settings(), &mut padding) };
            let _ = match padding {
                6 => write!(seen, "PSS {} ", made.len()),
                _ => write!(seen, "{made:02x?} "),
            };
            self.signature = made;
        }
        result
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
