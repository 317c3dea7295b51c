//! A cipher as programs use it, message by message, through each of their calling patterns.

use std::ffi::{c_int, c_uint, c_void};
use std::fmt;
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use oarlock::{Algorithm, Direction, Kind};

use super::library::{Fetched, World};
use crate::error::Error;

/// The calling pattern of a program for one message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// With `EVP_CipherUpdate` in a kept context, like `openssl speed`; a message of an AEAD sets its IV, associated
    /// data and tag.
    Update,
    /// With `EVP_Cipher` in a kept context, like OpenSSH, TLS records and CMAC.
    Cipher,
    /// With a new IV in a kept context.
    NewIv,
    /// With a new key and IV in a kept context.
    NewKey,
    /// In a copy of a keyed context, like pip's `cryptography`.
    Copied,
    /// In a new context, like `openssl enc`.
    Whole,
}

impl Way {
    /// Returns all patterns that differ for `operation`.
    pub fn all(operation: Algorithm) -> &'static [Self] {
        match operation.kind() {
            // `EVP_Cipher` cannot end a message of this cipher: a call without bytes does nothing
            // (cipher_chacha20_poly1305.c).
            Kind::Aead if operation == Algorithm::ChaCha20Poly1305 => {
                &[Self::Update, Self::NewKey, Self::Copied, Self::Whole]
            }
            // Every message has a new IV.
            Kind::Aead => &[
                Self::Update,
                Self::Cipher,
                Self::NewKey,
                Self::Copied,
                Self::Whole,
            ],
            _ => &[
                Self::Update,
                Self::Cipher,
                Self::NewIv,
                Self::NewKey,
                Self::Copied,
                Self::Whole,
            ],
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Update => "an update",
            Self::Cipher => "a call of EVP_Cipher",
            Self::NewIv => "a new IV in a context that is kept",
            Self::NewKey => "a new key in a context that is kept",
            Self::Copied => "a copy of a context",
            Self::Whole => "a new context",
        })
    }
}

/// The memory that both sides work on.
pub(crate) struct Message {
    input: Vec<u8>,
    output: Vec<u8>,
    tag: [u8; TAG_BYTES],
}

impl Message {
    /// Creates a message of at least `bytes` that `uses` can encrypt. If an AEAD is to decrypt it, it is sealed.
    pub(crate) fn new(uses: &Uses, direction: Direction, bytes: usize) -> Result<Self, Error> {
        let granule = match uses.kind {
            Kind::Cbc => 16,
            _ => 1,
        };
        let bytes = bytes.max(1).next_multiple_of(granule);
        let mut message = Self {
            input: vec![0x5a; bytes],
            output: vec![0; bytes + BLOCK_BYTES_MAX],
            tag: [0; TAG_BYTES],
        };
        if uses.kind == Kind::Aead && direction == Direction::Decrypt {
            let sealing = uses.keyed(Direction::Encrypt)?;
            sealing.timed(Way::Whole, &mut message, 1)?;
            message.input.copy_from_slice(&message.output[..bytes]);
        }
        Ok(message)
    }

    /// Returns the output and the tag.
    pub(crate) fn made(&self) -> (Vec<u8>, [u8; TAG_BYTES]) {
        (self.output.clone(), self.tag)
    }

    pub(crate) fn wipe(&mut self) {
        self.output.fill(0);
    }
}

/// A cipher of a world, with the functions to use it.
pub(crate) struct Uses {
    functions: Functions,
    fetched: Fetched,
    key: Vec<u8>,
    kind: Kind,
}

functions! {
    EVP_CIPHER_CTX_new: fn() -> *mut c_void;
    EVP_CIPHER_CTX_free: fn(*mut c_void);
    EVP_CIPHER_CTX_copy: fn(*mut c_void, *const c_void) -> c_int;
    EVP_CIPHER_CTX_ctrl: fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int;
    EVP_CIPHER_CTX_set_padding: fn(*mut c_void, c_int) -> c_int;
    EVP_CipherInit_ex2: fn(*mut c_void, *const c_void, *const u8, *const u8, c_int, *const c_void) -> c_int;
    EVP_CipherUpdate: fn(*mut c_void, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
    EVP_CipherFinal_ex: fn(*mut c_void, *mut u8, *mut c_int) -> c_int;
    EVP_Cipher: fn(*mut c_void, *mut u8, *const u8, c_uint) -> c_int;
}

impl Uses {
    /// Fetches the implementation that has `properties`, as in `provider=default`.
    pub(crate) fn new(
        world: &Rc<World>,
        operation: Algorithm,
        properties: &str,
    ) -> Result<Self, Error> {
        Ok(Self {
            functions: Functions::of(world.libcrypto().library())?,
            fetched: Fetched::new(world, operation.name(), properties)?,
            key: (0..operation.key_bytes() as u8).collect(),
            kind: operation.kind(),
        })
    }

    fn is_aead(&self) -> bool {
        self.kind == Kind::Aead
    }

    /// Creates a keyed context.
    pub(crate) fn keyed(&self, direction: Direction) -> Result<Keyed<'_>, Error> {
        let made = Keyed {
            uses: self,
            context: self.made()?,
            direction,
        };
        match made.begin(&made.context, Some(&self.fetched), true) {
            true => Ok(made),
            false => Err(failed("setting a key up")),
        }
    }

    fn made(&self) -> Result<Made<'_>, Error> {
        // SAFETY: EVP_CIPHER_CTX_new has no arguments; null means failure.
        let ctx = unsafe { (self.functions.EVP_CIPHER_CTX_new)() };
        match ctx.is_null() {
            true => Err(failed("EVP_CIPHER_CTX_new")),
            false => Ok(Made(ctx, &self.functions)),
        }
    }
}

/// A context, freed on drop.
struct Made<'a>(*mut c_void, &'a Functions);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new and is freed once.
        unsafe { (self.1.EVP_CIPHER_CTX_free)(self.0) };
    }
}

/// A context that is kept from message to message.
pub(crate) struct Keyed<'a> {
    uses: &'a Uses,
    context: Made<'a>,
    direction: Direction,
}

impl Keyed<'_> {
    /// Returns the time of `calls` messages.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if OpenSSL refuses a call: not every release copies every context.
    pub(crate) fn timed(
        &self,
        way: Way,
        message: &mut Message,
        calls: usize,
    ) -> Result<Duration, Error> {
        let began = Instant::now();
        for _ in 0..calls {
            if !self.one(way, message) {
                return Err(Error::Unavailable(format!("openssl refuses {way}")));
            }
        }
        Ok(began.elapsed())
    }

    fn one(&self, way: Way, message: &mut Message) -> bool {
        let kept = &self.context;
        match way {
            Way::Update if !self.uses.is_aead() => self.update(kept, message),
            Way::Cipher if !self.uses.is_aead() => self.cipher(kept, message),
            Way::Cipher => self.begin(kept, None, false) && self.sealed_by_cipher(kept, message),
            Way::Update | Way::NewIv => self.begin(kept, None, false) && self.rest(kept, message),
            Way::NewKey => self.begin(kept, None, true) && self.rest(kept, message),
            Way::Copied => self.uses.made().is_ok_and(|copy| {
                // SAFETY: both contexts are live.
                let copied = unsafe { (copy.1.EVP_CIPHER_CTX_copy)(copy.0, kept.0) };
                copied == 1 && self.begin(&copy, None, false) && self.rest(&copy, message)
            }),
            Way::Whole => self.uses.made().is_ok_and(|made| {
                self.begin(&made, Some(&self.uses.fetched), true) && self.rest(&made, message)
            }),
        }
    }

    /// Sets the IV, the cipher if there is one, and the key if `has_key`.
    fn begin(&self, made: &Made<'_>, cipher: Option<&Fetched>, has_key: bool) -> bool {
        let encrypts = c_int::from(self.direction == Direction::Encrypt);
        let type_ = cipher.map_or(ptr::null(), Fetched::cipher);
        let key = match has_key {
            true => self.uses.key.as_ptr(),
            false => ptr::null(),
        };
        let (calls, none) = (made.1, ptr::null());
        let init = calls.EVP_CipherInit_ex2;
        // SAFETY: the context is live; the cipher needs a key of exactly this length, and an IV of at most 16 bytes.
        let begun = unsafe { init(made.0, type_, key, IV.as_ptr(), encrypts, none) };
        if cipher.is_some() && !self.uses.is_aead() {
            // SAFETY: the context is live and has a cipher.
            unsafe { (calls.EVP_CIPHER_CTX_set_padding)(made.0, 0) };
        }
        begun == 1
    }

    /// Processes the rest of a message after its IV.
    fn rest(&self, made: &Made<'_>, message: &mut Message) -> bool {
        let calls = made.1;
        if !self.uses.is_aead() {
            return self.update(made, message) && self.ends(made, message);
        }
        if self.direction == Direction::Decrypt && !self.tag(made, SET_TAG, message) {
            return false;
        }
        let mut written = 0;
        // SAFETY: the context is live; without an output nothing is written but the length.
        let told = unsafe {
            let (nowhere, bytes) = (ptr::null_mut(), AAD.len() as c_int);
            (calls.EVP_CipherUpdate)(made.0, nowhere, &mut written, AAD.as_ptr(), bytes)
        };
        told == 1
            && self.update(made, message)
            && self.ends(made, message)
            && (self.direction == Direction::Decrypt || self.tag(made, GET_TAG, message))
    }

    fn update(&self, made: &Made<'_>, message: &mut Message) -> bool {
        let (mut written, bytes) = (0, message.input.len() as c_int);
        // SAFETY: the context is live; the input is valid for its length, and the output for one block more.
        unsafe {
            let (to, from) = (message.output.as_mut_ptr(), message.input.as_ptr());
            (made.1.EVP_CipherUpdate)(made.0, to, &mut written, from, bytes) == 1
        }
    }

    fn ends(&self, made: &Made<'_>, message: &mut Message) -> bool {
        let end = message.input.len();
        let mut written = 0;
        // SAFETY: the context is live; after the message there is room for a block, which is the most that is written.
        unsafe {
            let to = message.output[end..].as_mut_ptr();
            (made.1.EVP_CipherFinal_ex)(made.0, to, &mut written) == 1
        }
    }

    /// Calls `EVP_Cipher`, which returns the number of bytes or 1, depending on the release, and less if it fails.
    fn cipher(&self, made: &Made<'_>, message: &mut Message) -> bool {
        let bytes = message.input.len() as c_uint;
        // SAFETY: as in `update`.
        unsafe {
            let (to, from) = (message.output.as_mut_ptr(), message.input.as_ptr());
            (made.1.EVP_Cipher)(made.0, to, from, bytes) > 0
        }
    }

    fn sealed_by_cipher(&self, made: &Made<'_>, message: &mut Message) -> bool {
        if self.direction == Direction::Decrypt && !self.tag(made, SET_TAG, message) {
            return false;
        }
        let (call, nowhere) = (made.1.EVP_Cipher, ptr::null_mut());
        // SAFETY: the context is live; without an output nothing is written, and without an input nothing is read.
        let (told, ended) = unsafe {
            let told = call(made.0, nowhere, AAD.as_ptr(), AAD.len() as c_uint) >= 0;
            let done = told && self.cipher(made, message);
            (done, done && call(made.0, nowhere, ptr::null(), 0) >= 0)
        };
        told && ended && (self.direction == Direction::Decrypt || self.tag(made, GET_TAG, message))
    }

    fn tag(&self, made: &Made<'_>, what: c_int, message: &mut Message) -> bool {
        let (bytes, place) = (TAG_BYTES as c_int, message.tag.as_mut_ptr().cast());
        // SAFETY: the context is live, and the place has the length that is passed.
        unsafe { (made.1.EVP_CIPHER_CTX_ctrl)(made.0, what, bytes, place) == 1 }
    }
}

fn failed(what: &str) -> Error {
    Error::Failed(format!("openssl: {what} failed"))
}

/// EVP_CTRL_AEAD_GET_TAG and EVP_CTRL_AEAD_SET_TAG.
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;
const TAG_BYTES: usize = 16;
/// EVP_MAX_BLOCK_LENGTH.
const BLOCK_BYTES_MAX: usize = 32;
const IV: [u8; 16] = [2; 16];
/// The associated data, as long as that of a TLS 1.2 record.
const AAD: [u8; 13] = [7; 13];
