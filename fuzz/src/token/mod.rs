//! Calls of the PKCS#11 module: sequences of them, in sessions of two tokens, with templates, mechanisms and their parameters,
//! lengths and handles of every kind.
//!
//! Checked for each call: only closed sessions are reported as closed. The module writes nothing past the end of a buffer; if
//! a buffer is too small, it reports the length and the operation goes on. A session shows no object of another token, and no
//! private object before the login or by a handle of an earlier one. Verification accepts exactly what was signed. No panic reaches the caller.
#![allow(unsafe_code)]

mod module;

use std::ffi::c_void;
use std::ptr;

use arbitrary::Arbitrary;
use cryptoki_sys::*;

use self::module::{LOCKED, MODULE, PIN, TOKENS, attribute, call};

fuzz_target!(|input: Input| {
    let mut program = Program::new();
    for step in input.steps.into_iter().take(STEPS_MAX) {
        program.take(step);
    }
    for token in 0..TOKENS {
        assert_eq!(call!(C_CloseAllSessions(token as CK_SLOT_ID)), CKR_OK);
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    steps: Vec<Step>,
}

/// One of the program's handles, alive or not, or a number.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Which {
    Of(u8),
    Number(CK_ULONG),
}

/// The room for a result: as much as the module says, a number of bytes, or a question.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Room {
    Enough,
    Bytes(u16),
    Question,
}

#[derive(Arbitrary, Debug, Clone, Copy, PartialEq)]
enum Kind {
    Sign,
    Verify,
    Encrypt,
    Decrypt,
    Digest,
}

/// The parameter of a mechanism.
#[derive(Arbitrary, Debug)]
enum Parameter {
    None,
    Bytes(Vec<u8>),
    Pss(u8, u8, u16),
    Oaep(u8, u8, Vec<u8>),
    Eddsa(bool, Vec<u8>),
    MlDsa(u8, Vec<u8>),
    /// A length without bytes.
    Null(u8),
}

#[derive(Arbitrary, Debug)]
enum Step {
    Open(u8, CK_FLAGS),
    OpenRight(bool, bool),
    Close(Which),
    CloseAll(u8),
    Login(Which, u8, Vec<u8>),
    LoginRight(Which),
    Logout(Which),
    Find(Which, Vec<(u8, Vec<u8>)>, u8),
    Attributes(Which, Which, Vec<(u8, Room)>),
    Begin(Which, Kind, u8, Parameter, Which),
    Whole(Which, Kind, Vec<u8>, Room),
    Part(Which, Kind, Vec<u8>, Room),
    End(Which, Kind, Room),
    Sign(Which, u8, Vec<u8>),
    Cancel(Which, CK_FLAGS),
    Random(Which, u16),
    Info(Which, CK_MECHANISM_TYPE),
}

#[derive(Clone, Copy)]
struct Session {
    handle: CK_SESSION_HANDLE,
    token: usize,
    is_open: bool,
}

struct Program {
    sessions: Vec<Session>,
    is_logged_in: [bool; TOKENS],
    /// The handles of the private keys, as of the last login.
    private: Vec<CK_OBJECT_HANDLE>,
}

impl Program {
    fn new() -> Self {
        Self {
            sessions: Vec::new(),
            is_logged_in: [false; TOKENS],
            private: MODULE.pairs.iter().map(|pair| pair.private).collect(),
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Open(slot, flags) => self.open(slot.into(), flags),
            Step::OpenRight(is_locked, is_writing) => {
                let writing = if is_writing { CKF_RW_SESSION } else { 0 };
                self.open(usize::from(is_locked), CKF_SERIAL_SESSION | writing);
            }
            Step::Close(which) => {
                let (handle, open) = self.session(which);
                Self::judge(open, call!(C_CloseSession(handle)));
                self.closed(|session| session.handle == handle);
            }
            Step::CloseAll(slot) => {
                let closed = call!(C_CloseAllSessions(slot.into()));
                assert_eq!(closed == CKR_OK, usize::from(slot) < TOKENS);
                self.closed(|session| session.token == usize::from(slot));
            }
            Step::Login(which, user, pin) => self.login(which, user.into(), &pin),
            Step::LoginRight(which) => self.login(which, CKU_USER, PIN),
            Step::Logout(which) => {
                let (handle, open) = self.session(which);
                let done = call!(C_Logout(handle));
                if let Some(token) = Self::judge(open, done) {
                    assert_eq!(done == CKR_OK, self.is_logged_in[token]);
                    self.is_logged_in[token] = false;
                }
            }
            Step::Find(which, template, places) => self.find(which, template, places.into()),
            Step::Attributes(which, object, wanted) => self.attributes(which, object, &wanted),
            Step::Begin(which, kind, mechanism, parameter, key) => {
                self.begin(which, kind, mechanism, parameter, key);
            }
            Step::Whole(which, kind, mut data, room) => self.whole(which, kind, &mut data, room),
            Step::Part(which, kind, mut data, room) => self.part(which, kind, &mut data, room),
            Step::End(which, kind, room) => self.end(which, kind, room),
            Step::Sign(which, pair, data) => self.sign(which, pair, data),
            Step::Cancel(which, flags) => {
                let (handle, open) = self.session(which);
                Self::judge(open, cancel(handle, flags));
            }
            Step::Random(which, bytes) => {
                let (handle, open) = self.session(which);
                let mut memory = Memory::new(bytes.into());
                let done = call!(C_GenerateRandom(handle, memory.start(), bytes.into()));
                Self::judge(open, done);
                memory.check();
            }
            Step::Info(which, kind) => {
                let (handle, open) = self.session(which);
                let mut info = CK_SESSION_INFO::default();
                let done = call!(C_GetSessionInfo(handle, &raw mut info));
                if let Some(token) = Self::judge(open, done) {
                    assert_eq!((done, info.slotID), (CKR_OK, token as CK_SLOT_ID));
                }
                let mut info = CK_MECHANISM_INFO::default();
                assert_ne!(
                    call!(C_GetMechanismInfo(0, kind, &raw mut info)),
                    CKR_GENERAL_ERROR
                );
            }
        }
    }

    /// Returns a handle, and the token of its session if that is open.
    fn session(&self, which: Which) -> (CK_SESSION_HANDLE, Option<usize>) {
        let handle = match which {
            Which::Of(number) if !self.sessions.is_empty() => {
                self.sessions[usize::from(number) % self.sessions.len()].handle
            }
            Which::Of(number) => number.into(),
            Which::Number(number) => number,
        };
        let is_it = |session: &&Session| session.handle == handle && session.is_open;
        (
            handle,
            self.sessions
                .iter()
                .find(is_it)
                .map(|session| session.token),
        )
    }

    /// Checks an answer to a call with a session, and returns the token if that is open.
    fn judge(open: Option<usize>, answer: CK_RV) -> Option<usize> {
        assert_ne!(answer, CKR_GENERAL_ERROR, "a panic");
        assert_eq!(
            answer == CKR_SESSION_HANDLE_INVALID,
            open.is_none(),
            "{answer:#x}"
        );
        open
    }

    fn open(&mut self, token: usize, flags: CK_FLAGS) {
        let mut handle = 0;
        let slot = token as CK_SLOT_ID;
        let done = call!(C_OpenSession(
            slot,
            flags,
            ptr::null_mut(),
            None,
            &raw mut handle
        ));
        let is_right = token < TOKENS && flags & CKF_SERIAL_SESSION != 0;
        assert_eq!(done == CKR_OK, is_right, "{done:#x}");
        if is_right {
            assert!(self.sessions.iter().all(|it| it.handle != handle));
            self.sessions.push(Session {
                handle,
                token,
                is_open: true,
            });
        }
    }

    fn closed(&mut self, is_it: impl Fn(&Session) -> bool) {
        for session in self.sessions.iter_mut().filter(|it| is_it(it)) {
            session.is_open = false;
        }
        for token in 0..TOKENS {
            let is_open = |it: &Session| it.token == token && it.is_open;
            self.is_logged_in[token] &= self.sessions.iter().any(is_open);
        }
    }

    fn login(&mut self, which: Which, user: CK_USER_TYPE, pin: &[u8]) {
        let (handle, open) = self.session(which);
        let mut pin = pin.to_vec();
        let done = call!(C_Login(
            handle,
            user,
            pin.as_mut_ptr(),
            pin.len() as CK_ULONG
        ));
        if let Some(token) = Self::judge(open, done) {
            let is_right = user == CKU_USER && (token != LOCKED || pin == PIN);
            assert_eq!(
                done == CKR_OK,
                is_right && !self.is_logged_in[token],
                "{done:#x}"
            );
            self.is_logged_in[token] |= done == CKR_OK;
            if done == CKR_OK && token == LOCKED {
                let now = MODULE.private_of(handle, &self.private);
                for ((pair, now), earlier) in MODULE.pairs.iter().zip(&now).zip(&self.private) {
                    assert_eq!(now == earlier, pair.token != LOCKED);
                }
                self.private = now;
            }
        }
    }

    /// Whether a session of a token may use an object.
    fn may_use(&self, token: usize, object: CK_OBJECT_HANDLE) -> bool {
        let pairs = MODULE.pairs.iter().zip(&self.private);
        let mut own = pairs.filter(|(pair, _)| pair.token == token);
        match own.find(|(pair, private)| **private == object || pair.public == object) {
            Some((_, private)) => *private != object || token != LOCKED || self.is_logged_in[token],
            None => false,
        }
    }

    fn object(&self, which: Which) -> CK_OBJECT_HANDLE {
        match which {
            Which::Of(number) => {
                let place = usize::from(number / 2) % MODULE.pairs.len();
                if number % 2 == 0 {
                    self.private[place]
                } else {
                    MODULE.pairs[place].public
                }
            }
            Which::Number(number) => number,
        }
    }

    fn find(&mut self, which: Which, template: Vec<(u8, Vec<u8>)>, places: usize) {
        let (handle, open) = self.session(which);
        let mut values: Vec<_> = template.into_iter().take(8).collect();
        let mut template: Vec<_> = values
            .iter_mut()
            .map(|(kind, value)| {
                attribute(
                    attribute_type(*kind),
                    value.as_mut_ptr(),
                    value.len() as CK_ULONG,
                )
            })
            .collect();
        let count = template.len() as CK_ULONG;
        let begun = call!(C_FindObjectsInit(handle, template.as_mut_ptr(), count));
        let mut found = vec![CK_OBJECT_HANDLE::MAX - 1; places + 1];
        let mut count = 0;
        let done = call!(C_FindObjects(
            handle,
            found.as_mut_ptr(),
            places as CK_ULONG,
            &raw mut count
        ));
        Self::judge(open, begun);
        if let Some(token) = Self::judge(open, done)
            && done == CKR_OK
        {
            assert!(count as usize <= places && found[places] == CK_OBJECT_HANDLE::MAX - 1);
            let found = &found[..count as usize];
            assert!(
                found.iter().all(|object| self.may_use(token, *object)),
                "{found:?}"
            );
        }
        Self::judge(open, call!(C_FindObjectsFinal(handle)));
    }

    fn attributes(&self, which: Which, object: Which, wanted: &[(u8, Room)]) {
        let (handle, open) = self.session(which);
        let object = self.object(object);
        let mut memory: Vec<_> = wanted
            .iter()
            .take(8)
            .map(|(kind, room)| match room {
                Room::Bytes(bytes) => (kind, Some(Memory::new((*bytes).into()))),
                Room::Enough => (kind, Some(Memory::new(4096))),
                Room::Question => (kind, None),
            })
            .collect();
        let mut template: Vec<_> = memory
            .iter_mut()
            .map(|(kind, memory)| {
                let (start, bytes) = match memory {
                    Some(memory) => (memory.start(), memory.room as CK_ULONG),
                    None => (ptr::null_mut(), 0),
                };
                attribute(attribute_type(**kind), start, bytes)
            })
            .collect();
        let count = template.len() as CK_ULONG;
        let done = call!(C_GetAttributeValue(
            handle,
            object,
            template.as_mut_ptr(),
            count
        ));
        if let Some(token) = Self::judge(open, done) {
            let is_invalid = done == CKR_OBJECT_HANDLE_INVALID;
            assert_eq!(is_invalid, !self.may_use(token, object), "{done:#x}");
        }
        for (one, (_, memory)) in template.iter().zip(&memory) {
            let Some(memory) = memory else { continue };
            memory.check();
            let told = one.ulValueLen;
            assert!(told == CK_UNAVAILABLE_INFORMATION || told as usize <= memory.room);
        }
    }

    fn begin(&self, which: Which, kind: Kind, mechanism: u8, parameter: Parameter, key: Which) {
        let (handle, open) = self.session(which);
        let key = self.object(key);
        let done = with_mechanism(mechanism_type(mechanism), parameter, |how| match kind {
            Kind::Sign => call!(C_SignInit(handle, how, key)),
            Kind::Verify => call!(C_VerifyInit(handle, how, key)),
            Kind::Encrypt => call!(C_EncryptInit(handle, how, key)),
            Kind::Decrypt => call!(C_DecryptInit(handle, how, key)),
            Kind::Digest => call!(C_DigestInit(handle, how)),
        });
        if let Some(token) = Self::judge(open, done)
            && done == CKR_OK
        {
            assert!(
                kind == Kind::Digest || self.may_use(token, key),
                "a key of others"
            );
        }
    }

    fn whole(&self, which: Which, kind: Kind, data: &mut [u8], room: Room) {
        let (handle, open) = self.session(which);
        let (start, bytes) = (data.as_mut_ptr(), data.len() as CK_ULONG);
        let mut run = |out, length| match kind {
            Kind::Sign => call!(C_Sign(handle, start, bytes, out, length)),
            Kind::Encrypt => call!(C_Encrypt(handle, start, bytes, out, length)),
            Kind::Decrypt => call!(C_Decrypt(handle, start, bytes, out, length)),
            Kind::Digest => call!(C_Digest(handle, start, bytes, out, length)),
            Kind::Verify => call!(C_Verify(handle, start, bytes / 2, start, bytes)),
        };
        Self::judge(open, into_room(room, &mut run));
    }

    fn part(&self, which: Which, kind: Kind, data: &mut [u8], room: Room) {
        let (handle, open) = self.session(which);
        let (start, bytes) = (data.as_mut_ptr(), data.len() as CK_ULONG);
        let mut run = |out, length| match kind {
            Kind::Sign => call!(C_SignUpdate(handle, start, bytes)),
            Kind::Verify => call!(C_VerifyUpdate(handle, start, bytes)),
            Kind::Digest => call!(C_DigestUpdate(handle, start, bytes)),
            Kind::Encrypt => call!(C_EncryptUpdate(handle, start, bytes, out, length)),
            Kind::Decrypt => call!(C_DecryptUpdate(handle, start, bytes, out, length)),
        };
        Self::judge(open, into_room(room, &mut run));
    }

    fn end(&self, which: Which, kind: Kind, room: Room) {
        let (handle, open) = self.session(which);
        let mut run = |out: *mut u8, length: *mut CK_ULONG| match kind {
            Kind::Sign => call!(C_SignFinal(handle, out, length)),
            Kind::Digest => call!(C_DigestFinal(handle, out, length)),
            Kind::Encrypt => call!(C_EncryptFinal(handle, out, length)),
            Kind::Decrypt => call!(C_DecryptFinal(handle, out, length)),
            Kind::Verify => call!(C_VerifyFinal(handle, ptr::dangling_mut(), 0)),
        };
        Self::judge(open, into_room(room, &mut run));
    }

    /// Signs and verifies, with nothing else under way in the session.
    fn sign(&self, which: Which, pair: u8, mut data: Vec<u8>) {
        let (handle, open) = self.session(which);
        let place = usize::from(pair) % MODULE.pairs.len();
        let (pair, private) = (&MODULE.pairs[place], self.private[place]);
        let Some(token) = Self::judge(open, cancel(handle, CKF_SIGN | CKF_VERIFY)) else {
            return;
        };
        let with = |run: &mut dyn FnMut(*mut CK_MECHANISM) -> CK_RV| {
            with_mechanism(pair.mechanism, Parameter::None, run)
        };
        let begun = with(&mut |how| call!(C_SignInit(handle, how, private)));
        let (may_sign, may_verify) = (self.may_use(token, private), token == pair.token);
        assert_eq!(begun == CKR_OK, may_sign, "{begun:#x}");
        if !may_sign {
            return;
        }
        let (start, bytes) = (data.as_mut_ptr(), data.len() as CK_ULONG);
        let mut signature = Memory::new(8192);
        let mut length = 8192;
        let out = signature.start();
        assert_eq!(
            call!(C_Sign(handle, start, bytes, out, &raw mut length)),
            CKR_OK
        );
        signature.check();
        for is_right in [true, false] {
            let begun = with(&mut |how| call!(C_VerifyInit(handle, how, pair.public)));
            assert_eq!(begun == CKR_OK, may_verify);
            let verified = call!(C_Verify(handle, start, bytes, out, length));
            let expected = if is_right {
                CKR_OK
            } else {
                CKR_SIGNATURE_INVALID
            };
            assert_eq!(verified, expected);
            // SAFETY: the signature has this byte.
            unsafe { *out.add(length as usize / 2) ^= 1 };
        }
    }
}

/// `C_SessionCancel` of PKCS#11 3.0, by what 2.40 has for it.
fn cancel(handle: CK_SESSION_HANDLE, flags: CK_FLAGS) -> CK_RV {
    let null = ptr::null_mut();
    let mut last = CKR_OK;
    for (flag, run) in [
        (CKF_SIGN, MODULE.list.C_SignInit),
        (CKF_VERIFY, MODULE.list.C_VerifyInit),
        (CKF_ENCRYPT, MODULE.list.C_EncryptInit),
        (CKF_DECRYPT, MODULE.list.C_DecryptInit),
    ] {
        if flags & flag != 0 {
            // SAFETY: without a mechanism, an operation under way is ended.
            last = unsafe { run.unwrap()(handle, null, 0) };
        }
    }
    match flags & (CKF_SIGN | CKF_VERIFY | CKF_ENCRYPT | CKF_DECRYPT) {
        0 => call!(C_DigestInit(handle, null)),
        _ => last,
    }
}

/// Calls with a mechanism whose parameter is as the standard says, or not.
fn with_mechanism(
    kind: CK_MECHANISM_TYPE,
    parameter: Parameter,
    mut run: impl FnMut(*mut CK_MECHANISM) -> CK_RV,
) -> CK_RV {
    let mut with = |start: *mut c_void, bytes: usize| {
        let mut how = CK_MECHANISM {
            mechanism: kind,
            pParameter: start,
            ulParameterLen: bytes as CK_ULONG,
        };
        run(&raw mut how)
    };
    let hash = |number: u8| HASHES[usize::from(number) % HASHES.len()];
    let mask = |number: u8| CK_RSA_PKCS_MGF_TYPE::from(number % 8);
    match parameter {
        Parameter::None => with(ptr::null_mut(), 0),
        Parameter::Null(bytes) => with(ptr::null_mut(), bytes.into()),
        Parameter::Bytes(mut bytes) => with(bytes.as_mut_ptr().cast(), bytes.len()),
        Parameter::Pss(digest, mgf, salt) => {
            let mut one = CK_RSA_PKCS_PSS_PARAMS {
                hashAlg: hash(digest),
                mgf: mask(mgf),
                sLen: salt.into(),
            };
            with((&raw mut one).cast(), size_of_val(&one))
        }
        Parameter::Oaep(digest, mgf, mut label) => {
            let mut one = CK_RSA_PKCS_OAEP_PARAMS {
                hashAlg: hash(digest),
                mgf: mask(mgf),
                source: CKZ_DATA_SPECIFIED,
                pSourceData: label.as_mut_ptr().cast(),
                ulSourceDataLen: label.len() as CK_ULONG,
            };
            with((&raw mut one).cast(), size_of_val(&one))
        }
        Parameter::Eddsa(is_prehashed, mut context) => {
            let mut one = CK_EDDSA_PARAMS {
                phFlag: is_prehashed.into(),
                ulContextDataLen: context.len() as CK_ULONG,
                pContextData: context.as_mut_ptr(),
            };
            with((&raw mut one).cast(), size_of_val(&one))
        }
        Parameter::MlDsa(hedge, mut context) => {
            let mut one = CK_SIGN_ADDITIONAL_CONTEXT {
                hedgeVariant: hedge.into(),
                pContext: context.as_mut_ptr(),
                ulContextLen: context.len() as CK_ULONG,
            };
            with((&raw mut one).cast(), size_of_val(&one))
        }
    }
}

/// Has a function write into room of some size, and checks what it says of it.
fn into_room(room: Room, run: &mut dyn FnMut(*mut u8, *mut CK_ULONG) -> CK_RV) -> CK_RV {
    let mut length = 0;
    let bytes = match room {
        Room::Bytes(bytes) => usize::from(bytes),
        Room::Question => return run(ptr::null_mut(), &raw mut length),
        Room::Enough => match run(ptr::null_mut(), &raw mut length) {
            CKR_OK => length as usize,
            other => return other,
        },
    };
    assert!(bytes <= ROOM_MAX, "{bytes}");
    let mut memory = Memory::new(bytes);
    length = bytes as CK_ULONG;
    let done = run(memory.start(), &raw mut length);
    memory.check();
    if done == CKR_OK {
        assert!(length as usize <= bytes);
    }
    if done != CKR_BUFFER_TOO_SMALL {
        return done;
    }
    // The operation is still there, and this is enough for it.
    assert!(length as usize > bytes && length as usize <= ROOM_MAX);
    let mut memory = Memory::new(length as usize);
    let again = run(memory.start(), &raw mut length);
    memory.check();
    assert!(again != CKR_BUFFER_TOO_SMALL && again != CKR_OPERATION_NOT_INITIALIZED);
    again
}

/// Room for a result, with bytes behind it that nothing may write.
struct Memory {
    bytes: Vec<u8>,
    room: usize,
}

impl Memory {
    fn new(room: usize) -> Self {
        Self {
            bytes: vec![UNTOUCHED; room + BEHIND],
            room,
        }
    }

    fn start(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }

    fn check(&self) {
        let behind = &self.bytes[self.room..];
        assert!(
            behind.iter().all(|byte| *byte == UNTOUCHED),
            "written behind the room"
        );
    }
}

fn attribute_type(number: u8) -> CK_ATTRIBUTE_TYPE {
    let known = ATTRIBUTES.get(usize::from(number)).copied();
    known.unwrap_or(CK_ATTRIBUTE_TYPE::from(number) << 2)
}

fn mechanism_type(number: u8) -> CK_MECHANISM_TYPE {
    let known = MECHANISMS.get(usize::from(number) % (MECHANISMS.len() + 1));
    known.copied().unwrap_or_else(|| number.into())
}

const ATTRIBUTES: [CK_ATTRIBUTE_TYPE; 16] = [
    CKA_CLASS,
    CKA_TOKEN,
    CKA_PRIVATE,
    CKA_LABEL,
    CKA_ID,
    CKA_KEY_TYPE,
    CKA_SIGN,
    CKA_MODULUS,
    CKA_PUBLIC_EXPONENT,
    CKA_PRIVATE_EXPONENT,
    CKA_VALUE,
    CKA_EC_PARAMS,
    CKA_EC_POINT,
    CKA_ALLOWED_MECHANISMS,
    CKA_WRAP_TEMPLATE,
    CKA_SENSITIVE,
];
const MECHANISMS: [CK_MECHANISM_TYPE; 15] = [
    CKM_RSA_PKCS,
    CKM_SHA256_RSA_PKCS,
    CKM_SHA512_RSA_PKCS,
    CKM_RSA_PKCS_PSS,
    CKM_SHA256_RSA_PKCS_PSS,
    CKM_RSA_PKCS_OAEP,
    CKM_RSA_X_509,
    CKM_ECDSA,
    CKM_ECDSA_SHA384,
    CKM_EDDSA,
    CKM_ML_DSA,
    CKM_SHA_1,
    CKM_SHA256,
    CKM_SHA512,
    CKM_AES_GCM,
];
const HASHES: [CK_MECHANISM_TYPE; 6] = [
    CKM_SHA_1, CKM_SHA224, CKM_SHA256, CKM_SHA384, CKM_SHA512, CKM_MD5,
];
const STEPS_MAX: usize = 24;
const ROOM_MAX: usize = 1 << 17;
const BEHIND: usize = 64;
const UNTOUCHED: u8 = 0xa5;
