//! Sequences of calls of the C library, with handles of every kind, alive and freed, and numbers that are none: a call with
//! a handle that is alive and of its kind never says that it is not, any other always does, and nothing is a bug.
#![allow(unsafe_code)]

mod functions;
mod packets;

use std::ffi::{CString, c_int, c_void};
use std::ptr;

use arbitrary::Arbitrary;

use self::functions::*;
use self::packets::{Association, Connection, Context, Place, are_as_said, packets};

fuzz_target!(|input: Input| {
    let mut program = Program::default();
    for step in input.steps.into_iter().take(STEPS_MAX) {
        program.take(&step);
    }
    program.end();
});

#[derive(Arbitrary, Debug)]
struct Input {
    steps: Vec<Step>,
}

/// Which of the program's handles: one of any kind, alive or not, or a number.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Which {
    Of(u8),
    Number(usize),
    Null,
}

/// Where buffers are in one piece of memory, so that they overlap at times.
#[derive(Arbitrary, Debug, Clone, Copy)]
struct Data {
    out: u8,
    data: u8,
    bytes: u8,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Accelerator(Option<String>),
    SetOptions(Which, String),
    Cipher(Which, String),
    KnownCipher(Which, u8),
    SetKey(Which, u8),
    SetIv(Which, u8),
    Crypt {
        cipher: Which,
        data: Data,
        has_iv: bool,
        decrypts: bool,
    },
    Seek(Which, u64),
    Prefill(Which),
    Aead(Which, u8, u8),
    Seal(Which, Data, u8, u8),
    Open(Which, Data, u8, u8),
    Private(Which, Vec<(u16, u8)>),
    Public(Which),
    Sign {
        private: Which,
        scheme: u8,
        room: u16,
        by_digest: bool,
    },
    Submit {
        private: Which,
        scheme: u8,
        time_ns: u64,
    },
    Wait(Which, u16),
    Try(Which, u16),
    Cancel(Which),
    Queue(bool),
    Push(Which, Which),
    Descriptor(Which),
    Next(Which, u16, bool),
    Power(Which, Vec<u8>),
    Framework(Which),
    Session(Which, u8, u8, u8, u8),
    Run(Which, Data, u8, u8),
    SubmitData(Which, Data, u8, u8),
    Free(Which, u8),
    Esp(Which, Association),
    Srtp(Which, Context),
    AddKey(Which, u8),
    EspPackets(Which, Vec<Place>),
    SrtpPackets(Which, Vec<Place>, bool),
    Register(Which, bool),
    Tls(Which, Connection),
    Update(Which),
    SealRecords(Which, Vec<Place>),
    OpenRecords(Which, Data, u8),
    SubmitSign(Which, Which, u8, u8),
}

const STEPS_MAX: usize = 200;
const HANDLE: c_int = -1;
const INTERNAL: c_int = -21;
const KEY: &str = include_str!("../../../crates/measure/keys/rsa1024.pem");
const SCHEMES: [&str; 6] = [
    "pkcs1-sha256",
    "pss-sha256",
    "pss-sha512",
    "pss-sha1",
    "pkcs1",
    "",
];

const HASHES: [&str; 6] = ["md5", "sha1", "sha256", "sha384", "sha512", ""];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Accelerator,
    Cipher,
    Aead,
    Private,
    Public,
    Modulus,
    Job,
    Queue,
    Framework,
    Session,
    Esp,
    Srtp,
    Tls,
}

const KINDS: [Kind; 13] = [
    Kind::Accelerator,
    Kind::Cipher,
    Kind::Aead,
    Kind::Private,
    Kind::Public,
    Kind::Modulus,
    Kind::Job,
    Kind::Queue,
    Kind::Framework,
    Kind::Session,
    Kind::Esp,
    Kind::Srtp,
    Kind::Tls,
];

/// What a program has.
struct Program {
    handles: Vec<(Kind, Handle, bool)>,
    memory: [u8; 1024],
}

impl Default for Program {
    fn default() -> Self {
        Self {
            handles: Vec::new(),
            memory: [7; 1024],
        }
    }
}

impl Program {
    fn handle(&self, which: Which) -> Handle {
        match which {
            Which::Of(number) if !self.handles.is_empty() => {
                self.handles[usize::from(number) % self.handles.len()].1
            }
            Which::Number(number) => number,
            _ => 0,
        }
    }

    fn is_alive(&self, handle: Handle, kind: Kind) -> bool {
        self.handles.contains(&(kind, handle, true))
    }

    /// Whether the outcome says of the handle what is true.
    fn check(&self, outcome: c_int, handle: Handle, kind: Kind) {
        assert!(outcome <= 0 && outcome != INTERNAL, "{outcome}");
        let is_alive = self.is_alive(handle, kind);
        assert_eq!(
            outcome == HANDLE,
            !is_alive,
            "{kind:?} {handle:x} {outcome}"
        );
    }

    /// One more, if there is.
    fn made(&mut self, outcome: c_int, kind: Kind, handle: Handle) {
        assert_eq!(outcome == 0, handle != 0);
        if outcome == 0 {
            assert!(!self.handles.iter().any(|one| one.1 == handle), "it is new");
            self.handles.push((kind, handle, true));
        }
    }

    fn ended(&mut self, handle: Handle) {
        for one in &mut self.handles {
            one.2 &= one.1 != handle;
        }
    }

    fn buffers(&mut self, data: Data) -> (*mut c_void, *const c_void, usize) {
        let memory: *mut u8 = self.memory.as_mut_ptr();
        // Three of 255 at most have room.
        let [out, data, bytes] = [data.out, data.data, data.bytes].map(usize::from);
        (
            memory.wrapping_add(out).cast(),
            memory.wrapping_add(data).cast(),
            bytes,
        )
    }

    /// Somewhere behind what [`buffers`](Self::buffers) gives.
    fn others(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().wrapping_add(512)
    }

    fn take(&mut self, step: &Step) {
        let mut new = 1;
        let to = &raw mut new;
        let mut out = [0_u8; 300];
        let room = |room: u16| usize::from(room) % 300;
        let others = self.others();
        // SAFETY: places, texts with a NUL and buffers are as long as is said, wherever they are; handles may be anything.
        unsafe {
            match step {
                Step::Accelerator(options) => {
                    // Not thousands of threads.
                    let options = options
                        .as_deref()
                        .map(|options| text(&options.replace("min", "")));
                    let options = options.as_ref().map_or(ptr::null(), |text| text.as_ptr());
                    let outcome = oarlock_accelerator_new(to, options);
                    assert_ne!(outcome, INTERNAL);
                    self.made(outcome, Kind::Accelerator, new);
                }
                Step::SetOptions(which, options) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_accelerator_set_options(
                        handle,
                        text(&options.replace("min", "")).as_ptr(),
                    );
                    self.check(outcome, handle, Kind::Accelerator);
                }
                Step::Cipher(which, name) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_cipher_new(handle, to, text(name).as_ptr());
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Cipher, new);
                }
                Step::KnownCipher(which, number) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_cipher_new(handle, to, known(*number).as_ptr());
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Cipher, new);
                }
                Step::SetKey(which, bytes) => {
                    let handle = self.handle(*which);
                    let outcome =
                        oarlock_cipher_set_key(handle, others.cast(), usize::from(*bytes) % 40);
                    self.check(outcome, handle, Kind::Cipher);
                }
                Step::SetIv(which, bytes) => {
                    let handle = self.handle(*which);
                    let outcome =
                        oarlock_cipher_set_iv(handle, others.cast(), usize::from(*bytes) % 20);
                    self.check(outcome, handle, Kind::Cipher);
                }
                Step::Crypt {
                    cipher,
                    data,
                    has_iv,
                    decrypts,
                } => {
                    let handle = self.handle(*cipher);
                    let (out, data, bytes) = self.buffers(*data);
                    let iv = if *has_iv {
                        others.cast_const().cast()
                    } else {
                        ptr::null()
                    };
                    let crypt = if *decrypts {
                        oarlock_cipher_decrypt
                    } else {
                        oarlock_cipher_encrypt
                    };
                    let outcome = crypt(handle, out, data, bytes, iv);
                    self.check(outcome, handle, Kind::Cipher);
                }
                Step::Seek(which, position) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_cipher_seek(handle, *position);
                    self.check(outcome, handle, Kind::Cipher);
                }
                Step::Prefill(which) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_cipher_prefill(handle, to, 1000);
                    self.check(outcome, handle, Kind::Cipher);
                }
                Step::Aead(which, number, bytes) => {
                    let handle = self.handle(*which);
                    let bytes = usize::from(*bytes) % 40;
                    let outcome =
                        oarlock_aead_new(handle, to, known(*number).as_ptr(), others.cast(), bytes);
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Aead, new);
                }
                Step::Seal(which, data, nonce_bytes, tag) => {
                    let handle = self.handle(*which);
                    let (out, data, bytes) = self.buffers(*data);
                    let tag = others.wrapping_add(usize::from(*tag)).cast();
                    let nonce_bytes = usize::from(*nonce_bytes) % 20;
                    let outcome = oarlock_aead_seal(
                        handle,
                        out,
                        tag,
                        others.cast(),
                        nonce_bytes,
                        ptr::null(),
                        0,
                        data,
                        bytes,
                    );
                    self.check(outcome, handle, Kind::Aead);
                }
                Step::Open(which, data, nonce_bytes, tag) => {
                    let handle = self.handle(*which);
                    let (out, data, bytes) = self.buffers(*data);
                    let tag = others.wrapping_add(usize::from(*tag)).cast();
                    let nonce_bytes = usize::from(*nonce_bytes) % 20;
                    let outcome = oarlock_aead_open(
                        handle,
                        out,
                        tag,
                        others.cast(),
                        nonce_bytes,
                        ptr::null(),
                        0,
                        data,
                        bytes,
                    );
                    self.check(outcome, handle, Kind::Aead);
                }
                Step::Private(which, edits) => {
                    let handle = self.handle(*which);
                    let mut key = KEY
                        .split_inclusive("KEY-----\n")
                        .take(2)
                        .collect::<String>()
                        .into_bytes();
                    let bytes = key.len();
                    edits
                        .iter()
                        .for_each(|(place, value)| key[usize::from(*place) % bytes] ^= value);
                    let outcome = oarlock_rsa_private_new(handle, to, key.as_ptr().cast(), bytes);
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Private, new);
                }
                Step::Public(which) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_rsa_public_of(handle, to);
                    self.check(outcome, handle, Kind::Private);
                    self.made(outcome, Kind::Public, new);
                }
                Step::Sign {
                    private,
                    scheme,
                    room: bytes,
                    by_digest,
                } => {
                    let handle = self.handle(*private);
                    let mut bytes = room(*bytes);
                    let sign = if *by_digest {
                        oarlock_rsa_sign_digest
                    } else {
                        oarlock_rsa_sign
                    };
                    let outcome = sign(
                        handle,
                        out.as_mut_ptr().cast(),
                        &raw mut bytes,
                        self::scheme(*scheme).as_ptr(),
                        others.cast(),
                        32,
                    );
                    self.check(outcome, handle, Kind::Private);
                }
                Step::Submit {
                    private,
                    scheme,
                    time_ns,
                } => {
                    let handle = self.handle(*private);
                    let options = JobOptions {
                        is_urgent: 0,
                        when_asked: 0,
                        time_ns: *time_ns,
                    };
                    let outcome = oarlock_rsa_submit_sign(
                        handle,
                        to,
                        self::scheme(*scheme).as_ptr(),
                        others.cast(),
                        32,
                        &raw const options,
                    );
                    self.check(outcome, handle, Kind::Private);
                    self.made(outcome, Kind::Job, new);
                }
                Step::Wait(which, bytes) => {
                    let (handle, mut bytes) = (self.handle(*which), room(*bytes));
                    let outcome = oarlock_job_wait(handle, out.as_mut_ptr().cast(), &raw mut bytes);
                    self.check(outcome, handle, Kind::Job);
                }
                Step::Try(which, bytes) => {
                    let (handle, mut bytes) = (self.handle(*which), room(*bytes));
                    let outcome = oarlock_job_try(handle, out.as_mut_ptr().cast(), &raw mut bytes);
                    self.check(outcome, handle, Kind::Job);
                }
                Step::Cancel(which) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_job_cancel(handle, ptr::null_mut());
                    self.check(outcome, handle, Kind::Job);
                }
                Step::Queue(in_order) => {
                    let outcome = oarlock_queue_new(to, (*in_order).into());
                    self.made(outcome, Kind::Queue, new);
                }
                Step::Push(queue, job) => {
                    let (queue, job) = (self.handle(*queue), self.handle(*job));
                    let outcome = oarlock_queue_push(queue, job, ptr::null_mut());
                    let are_alive =
                        self.is_alive(queue, Kind::Queue) && self.is_alive(job, Kind::Job);
                    assert_eq!(outcome == HANDLE, !are_alive, "{outcome}");
                    if outcome == 0 {
                        self.ended(job);
                    }
                }
                Step::Descriptor(which) => {
                    let handle = self.handle(*which);
                    let mut descriptor = 0;
                    let outcome = oarlock_queue_fd(handle, &raw mut descriptor);
                    self.check(outcome, handle, Kind::Queue);
                    assert_eq!(outcome == 0, descriptor > 0);
                }
                Step::Next(which, bytes, wait) => {
                    let (handle, mut bytes, mut error) = (self.handle(*which), room(*bytes), 1);
                    let result = out.as_mut_ptr().cast();
                    let outcome = oarlock_queue_next(
                        handle,
                        ptr::null_mut(),
                        &raw mut error,
                        result,
                        &raw mut bytes,
                        (*wait).into(),
                    );
                    self.check(outcome, handle, Kind::Queue);
                    assert!(outcome != 0 || error <= 0 && error != INTERNAL);
                }
                Step::Power(which, number) => {
                    let number = &number[..number.len().min(40)];
                    let handle = self.handle(*which);
                    let outcome =
                        oarlock_modexp_new(handle, to, number.as_ptr().cast(), number.len());
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Modulus, new);
                    if outcome == 0 {
                        let mut bytes = out.len();
                        let outcome = oarlock_modexp_power(
                            new,
                            out.as_mut_ptr().cast(),
                            &raw mut bytes,
                            number.as_ptr().cast(),
                            number.len(),
                            others.cast(),
                            3,
                        );
                        assert_eq!(outcome, 0);
                        assert!(
                            out[..bytes].iter().all(|byte| *byte == 0),
                            "a multiple of the modulus"
                        );
                    }
                }
                Step::Framework(which) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_framework_new(handle, to);
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Framework, new);
                }
                Step::Session(which, service, cipher, hash, lengths) => {
                    let handle = self.handle(*which);
                    let (cipher, hash) = (
                        known(*cipher),
                        text(HASHES[usize::from(*hash) % HASHES.len()]),
                    );
                    let [few, many] = [lengths % 4 * 8, lengths / 4 % 40].map(usize::from);
                    let spec = Spec {
                        service: c_int::from(*service % 8),
                        cipher: cipher.as_ptr(),
                        key: others.cast(),
                        key_bytes: many,
                        iv: others.cast(),
                        iv_bytes: few + 4 * usize::from(lengths & 1),
                        hash: hash.as_ptr(),
                        mac_key: others.cast(),
                        mac_key_bytes: many,
                        tag_bytes: few,
                    };
                    let outcome = oarlock_session_new(handle, to, &raw const spec);
                    self.check(outcome, handle, Kind::Framework);
                    self.made(outcome, Kind::Session, new);
                }
                Step::Run(which, data, way, authenticated) => {
                    let handle = self.handle(*which);
                    let (data, _, bytes) = self.buffers(*data);
                    let request = asked(others, *way, *authenticated);
                    let outcome = oarlock_session_run(handle, data, bytes, &raw const request);
                    self.check(outcome, handle, Kind::Session);
                }
                Step::SubmitData(which, data, way, authenticated) => {
                    let handle = self.handle(*which);
                    let (_, data, bytes) = self.buffers(*data);
                    let request = asked(others, *way, *authenticated);
                    let outcome =
                        oarlock_session_submit(handle, to, data, bytes, &raw const request);
                    self.check(outcome, handle, Kind::Session);
                    self.made(outcome, Kind::Job, new);
                }
                Step::Esp(which, association) => {
                    let handle = self.handle(*which);
                    let outcome =
                        association.with(others, |spec| oarlock_esp_new(handle, to, spec));
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Esp, new);
                }
                Step::Srtp(which, context) => {
                    let handle = self.handle(*which);
                    let outcome = context.with(others, |spec| oarlock_srtp_new(handle, to, spec));
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Srtp, new);
                }
                Step::AddKey(which, bytes) => {
                    let handle = self.handle(*which);
                    let (mki, bytes) = (usize::from(bytes / 64), usize::from(*bytes));
                    let outcome =
                        oarlock_srtp_add_key(handle, others.cast(), mki, others.cast(), bytes);
                    self.check(outcome, handle, Kind::Srtp);
                    let outcome = oarlock_srtp_use_key(handle, others.cast(), mki);
                    self.check(outcome, handle, Kind::Srtp);
                }
                Step::EspPackets(which, places) => {
                    let handle = self.handle(*which);
                    let mut all = packets(places, self.memory.as_mut_ptr());
                    let outcome = oarlock_esp_run(handle, all.as_mut_ptr(), all.len());
                    self.check(outcome, handle, Kind::Esp);
                    are_as_said(outcome, &all, INTERNAL);
                }
                Step::SrtpPackets(which, places, are_rtcp) => {
                    let handle = self.handle(*which);
                    let mut all = packets(places, self.memory.as_mut_ptr());
                    let rtcp = (*are_rtcp).into();
                    let outcome = oarlock_srtp_run(handle, all.as_mut_ptr(), all.len(), rtcp);
                    self.check(outcome, handle, Kind::Srtp);
                    are_as_said(outcome, &all, INTERNAL);
                }
                Step::Tls(which, connection) => {
                    let handle = self.handle(*which);
                    let outcome = connection.with(others, |spec| oarlock_tls_new(handle, to, spec));
                    self.check(outcome, handle, Kind::Accelerator);
                    self.made(outcome, Kind::Tls, new);
                }
                Step::Update(which) => {
                    let handle = self.handle(*which);
                    self.check(oarlock_tls_update(handle), handle, Kind::Tls);
                }
                Step::SealRecords(which, places) => {
                    let handle = self.handle(*which);
                    let mut all = packets(places, self.memory.as_mut_ptr());
                    let outcome = oarlock_tls_seal(handle, all.as_mut_ptr(), all.len());
                    self.check(outcome, handle, Kind::Tls);
                    are_as_said(outcome, &all, INTERNAL);
                }
                Step::OpenRecords(which, data, room) => {
                    let handle = self.handle(*which);
                    let (buffer, _, bytes) = self.buffers(*data);
                    let mut all = packets(&[], ptr::null_mut());
                    all.reserve(usize::from(*room));
                    let (mut count, mut done) = (usize::from(*room), 0);
                    let outcome = oarlock_tls_open(
                        handle,
                        all.as_mut_ptr(),
                        &raw mut count,
                        &raw mut done,
                        buffer,
                        bytes,
                    );
                    self.check(outcome, handle, Kind::Tls);
                    assert!(count <= usize::from(*room) && done <= bytes);
                }
                Step::SubmitSign(framework, private, scheme, bytes) => {
                    let (framework, private) = (self.handle(*framework), self.handle(*private));
                    let (scheme, bytes) = (self::scheme(*scheme), usize::from(*bytes));
                    let (name, data) = (scheme.as_ptr(), others.cast());
                    let outcome =
                        oarlock_framework_submit_sign(framework, private, to, name, data, bytes);
                    let are_alive = self.is_alive(framework, Kind::Framework)
                        && self.is_alive(private, Kind::Private);
                    assert!(outcome != HANDLE || !are_alive, "{outcome}");
                    self.made(outcome, Kind::Job, new);
                }
                Step::Register(which, is_found) => {
                    let handle = self.handle(*which);
                    let outcome = oarlock_accelerator_register(handle, c"a name".as_ptr());
                    self.check(outcome, handle, Kind::Accelerator);
                    if *is_found {
                        let outcome = oarlock_accelerator_find(to, c"a name".as_ptr());
                        self.made(outcome, Kind::Accelerator, new);
                    }
                    let _ = oarlock_accelerator_unregister(c"a name".as_ptr());
                }
                Step::Free(which, kind) => {
                    let handle = self.handle(*which);
                    let kind = KINDS[usize::from(*kind) % KINDS.len()];
                    let outcome = free(kind, handle);
                    if handle == 0 {
                        return assert_eq!(outcome, 0);
                    }
                    self.check(outcome, handle, kind);
                    if outcome == 0 {
                        self.ended(handle);
                    }
                }
            }
        }
    }

    /// Frees what is left.
    fn end(self) {
        for (kind, handle, is_alive) in self.handles {
            assert_eq!(free(kind, handle) == 0, is_alive, "{kind:?}");
        }
    }
}

fn free(kind: Kind, handle: Handle) -> c_int {
    // SAFETY: take a number, which may be anything.
    unsafe {
        match kind {
            Kind::Accelerator => oarlock_accelerator_free(handle),
            Kind::Cipher => oarlock_cipher_free(handle),
            Kind::Aead => oarlock_aead_free(handle),
            Kind::Private => oarlock_rsa_private_free(handle),
            Kind::Public => oarlock_rsa_public_free(handle),
            Kind::Modulus => oarlock_modexp_free(handle),
            Kind::Job => oarlock_job_free(handle),
            Kind::Queue => oarlock_queue_free(handle),
            Kind::Framework => oarlock_framework_free(handle),
            Kind::Session => oarlock_session_free(handle),
            Kind::Esp => oarlock_esp_free(handle),
            Kind::Srtp => oarlock_srtp_free(handle),
            Kind::Tls => oarlock_tls_free(handle),
        }
    }
}

fn asked(iv: *const u8, way: u8, authenticated: u8) -> Request {
    Request {
        decrypts: (way & 1).into(),
        iv: iv.cast(),
        iv_bytes: usize::from(way) / 2 % 20,
        authenticated_bytes: authenticated.into(),
    }
}

fn known(number: u8) -> CString {
    let all = oarlock::Algorithm::ALL;
    text(all[usize::from(number) % all.len()].name())
}

fn scheme(number: u8) -> CString {
    text(SCHEMES[usize::from(number) % SCHEMES.len()])
}

fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap()
}
