//! The C library, loaded as a C program loads it: the cost of a call compared with the Rust one, AES-256-GCM compared with
//! OpenSSL's EVP, and signatures in a poll(2) loop compared with the Rust queue.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::hint::black_box;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::time::Instant;

use libloading::Library;
use oarlock::Accelerator;
use oarlock::cipher::{AcceleratedCtr, AnyAes, StreamCipher};
use oarlock::job::{CompletionQueue, JobOptions, Order};
use oarlock::rsa::{AcceleratedRsa, Hash, RsaPrivateKey, SignatureScheme};
use oarlock_measure::Error;
use oarlock_measure::cases::CASES;
use oarlock_measure::peers::{AAD, Aead, Nonces, Sealed, Subject, openssl};
use rustix::event::{PollFd, PollFlags, poll};

use super::compared::{Compared, Quantity, STOCK};
use super::device::ALLOWED;
use super::setup::{Setup, named_or_beside};

/// A measurement of the C library.
#[derive(Clone, Copy)]
pub(crate) enum CLibrary {
    /// Nanoseconds that 64 bytes of AES-CTR cost beyond the same call in Rust.
    Call,
    /// AES-256-GCM compared with EVP.
    Seal,
    /// Signatures with RSA-2048, 64 in flight, compared with the Rust library.
    Sign,
}

/// The measurements by case name.
pub(super) const CASES_IN_C: [(&str, CLibrary); 3] = [
    ("c-call", CLibrary::Call),
    ("c-aes-256-gcm", CLibrary::Seal),
    ("c-sign", CLibrary::Sign),
];

/// The Rust library, as the other side.
pub(crate) const RUST: &str = "rust";
/// The Rust library in the same poll(2) loop. A thread that waits for the queue itself computes while it waits, and one in
/// poll(2) does not.
pub(crate) const RUST_LOOP: &str = "rust's loop";
/// Bytes of a message.
pub(crate) const SIZES: [usize; 4] = [64, 1024, 16384, 1 << 20];
const CALL_NS: f64 = 10.0;
const CALLS: usize = 200_000;
const CALL_BYTES: usize = 64;
/// The bytes of a sample of messages.
const SEALED_BYTES: usize = 4 << 20;
const SEALED_MAX: usize = 20_000;
const IN_FLIGHT: usize = 64;
const SIGNATURES: usize = 1000;
/// Several keys in one file.
const KEYS: &str = include_str!("../../../../../crates/measure/keys/rsa2048.pem");
const END: &str = "-----END RSA PRIVATE KEY-----";
/// Options without helper threads.
const ALONE: &CStr = c"max_threads=0";
const WITH_A_THREAD: &CStr = c"max_threads=1";

impl CLibrary {
    pub(super) fn measure(self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let functions = Functions::load()?;
        let rounds = setup.rounds(25, 9);
        match self {
            Self::Call => functions.call(rounds),
            Self::Seal => functions.seal(rounds),
            Self::Sign => functions.sign(setup.rounds(9, 5)),
        }
    }
}

type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident: $symbol:literal ($($argument:ty),*),)+) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)+
            /// The library that the functions belong to.
            _library: Library,
        }

        impl Functions {
            fn of(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: the library is built from this tree, whose header declares the functions with these types; they
                // are used only while it is loaded.
                unsafe {
                    Ok(Self {
                        $($name: *library.get($symbol)?,)+
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    accelerator_new: b"oarlock_accelerator_new" (*mut Handle, *const c_char),
    accelerator_free: b"oarlock_accelerator_free" (Handle),
    cipher_new: b"oarlock_cipher_new" (Handle, *mut Handle, *const c_char),
    cipher_set_key: b"oarlock_cipher_set_key" (Handle, *const c_void, usize),
    cipher_set_iv: b"oarlock_cipher_set_iv" (Handle, *const c_void, usize),
    cipher_encrypt: b"oarlock_cipher_encrypt" (Handle, *mut c_void, *const c_void, usize, *const c_void),
    cipher_free: b"oarlock_cipher_free" (Handle),
    aead_new: b"oarlock_aead_new" (Handle, *mut Handle, *const c_char, *const c_void, usize),
    aead_seal: b"oarlock_aead_seal" (Handle, *mut c_void, *mut c_void, *const c_void, usize, *const c_void, usize, *const c_void, usize),
    aead_free: b"oarlock_aead_free" (Handle),
    private_new: b"oarlock_rsa_private_new" (Handle, *mut Handle, *const c_void, usize),
    private_free: b"oarlock_rsa_private_free" (Handle),
    submit_sign: b"oarlock_rsa_submit_sign" (Handle, *mut Handle, *const c_char, *const c_void, usize, *const c_void),
    queue_new: b"oarlock_queue_new" (*mut Handle, c_int),
    queue_push: b"oarlock_queue_push" (Handle, Handle, *mut c_void),
    queue_fd: b"oarlock_queue_fd" (Handle, *mut c_int),
    queue_next: b"oarlock_queue_next" (Handle, *mut *mut c_void, *mut c_int, *mut c_void, *mut usize, c_int),
    queue_free: b"oarlock_queue_free" (Handle),
}

impl Functions {
    fn load() -> Result<Self, Error> {
        let missing = "no liboarlock.so.1 next to this program: build it (make build)";
        let path = named_or_beside(None, "liboarlock.so.1", missing)?;
        // SAFETY: loading the library runs only the initialisers of the C and Rust run-times.
        let library = unsafe { Library::new(&path) };
        library
            .and_then(Self::of)
            .map_err(|error| Error::Failed(format!("{}: {error}", path.display())))
    }

    fn accelerator(&self, options: &CStr) -> Result<Handle, Error> {
        let mut accelerator = ptr::null_mut();
        // SAFETY: room for a handle and a NUL-terminated string, as the header requires.
        done(unsafe { (self.accelerator_new)(&raw mut accelerator, options.as_ptr()) })?;
        Ok(accelerator)
    }

    fn call(&self, rounds: usize) -> Result<Vec<Compared>, Error> {
        let accelerator = self.accelerator(ALONE)?;
        let mut cipher = ptr::null_mut();
        let (key, iv) = ([7_u8; 16], [9_u8; 16]);
        // SAFETY: the accelerator is a handle, and `cipher` has room for one; key and IV have the lengths passed, and the
        // name is NUL-terminated.
        unsafe {
            done((self.cipher_new)(
                accelerator,
                &raw mut cipher,
                c"aes-128-ctr".as_ptr(),
            ))?;
            done((self.cipher_set_key)(
                cipher,
                key.as_ptr().cast(),
                key.len(),
            ))?;
            done((self.cipher_set_iv)(cipher, iv.as_ptr().cast(), iv.len()))?;
        }
        let rust = accelerator_in_rust(0)?;
        let mut stream: AcceleratedCtr<AnyAes> = rust.ctr(&key, &iv).map_err(failed)?;
        let mut data = [0; CALL_BYTES];
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let began = Instant::now();
            for _ in 0..CALLS {
                let data = black_box(&mut data).as_mut_ptr();
                // SAFETY: the cipher is a handle, input and output are one buffer of that length, and a null IV is allowed.
                let outcome = unsafe {
                    (self.cipher_encrypt)(cipher, data.cast(), data.cast(), CALL_BYTES, ptr::null())
                };
                black_box(outcome);
            }
            let in_c = began.elapsed().as_nanos() as f64 / CALLS as f64;
            let began = Instant::now();
            for _ in 0..CALLS {
                stream.apply_keystream(black_box(&mut data));
            }
            let in_rust = began.elapsed().as_nanos() as f64 / CALLS as f64;
            // The first round warms up.
            if round > 0 {
                // A negative difference is noise.
                ours.push((in_c - in_rust).max(0.01));
                theirs.push(CALL_NS);
            }
        }
        // SAFETY: nothing uses these handles afterwards.
        unsafe {
            done((self.cipher_free)(cipher))?;
            done((self.accelerator_free)(accelerator))?;
        }
        Ok(vec![Compared::new(
            Quantity::Nanoseconds,
            ALLOWED,
            ours,
            theirs,
        )])
    }

    fn seal(&self, rounds: usize) -> Result<Vec<Compared>, Error> {
        let accelerator = self.accelerator(ALONE)?;
        let mut aead = ptr::null_mut();
        let key = [7_u8; 32];
        // SAFETY: the accelerator is a handle, and the AEAD has room for one; the key has 32 bytes, and the name is
        // NUL-terminated.
        unsafe {
            let name = c"aes-256-gcm".as_ptr();
            done((self.aead_new)(
                accelerator,
                &raw mut aead,
                name,
                key.as_ptr().cast(),
                key.len(),
            ))?;
        }
        let case = CASES.iter().find(|case| case.name == "aes-256-gcm");
        let case = case.ok_or_else(|| failed("there is no case aes-256-gcm"))?;
        let peer = (openssl::PEER.open)(1)?;
        let Subject::Aead(mut stock) = peer.subject(case, &key)? else {
            return Err(failed("OpenSSL's AES-256-GCM is no AEAD"));
        };
        let mut ours = InC {
            functions: self,
            aead,
        };
        let mut nonces = Nonces::default();
        let mut compared = Vec::new();
        for bytes in SIZES {
            let mut data = vec![0; bytes];
            if ours.seal(&[0; 12], &AAD, &mut data.clone()) != stock.seal(&[0; 12], &AAD, &mut data)
            {
                return Err(failed("the C library and OpenSSL do not agree"));
            }
            let calls = (SEALED_BYTES / bytes).clamp(1, SEALED_MAX);
            let (mut rates, mut stock_rates) = (Vec::new(), Vec::new());
            for round in 0..rounds {
                // The sides take turns to begin a round.
                if round % 2 == 0 {
                    rates.push(rate(&mut ours, &mut data, calls, &mut nonces));
                }
                stock_rates.push(rate(&mut *stock, &mut data, calls, &mut nonces));
                if round % 2 == 1 {
                    rates.push(rate(&mut ours, &mut data, calls, &mut nonces));
                }
            }
            compared.push(Compared {
                bytes,
                ..Compared::new(Quantity::Rate, STOCK, rates, stock_rates)
            });
        }
        // SAFETY: nothing uses the AEAD and its accelerator afterwards.
        unsafe {
            done((self.aead_free)(aead))?;
            done((self.accelerator_free)(accelerator))?;
        }
        Ok(compared)
    }

    fn sign(&self, rounds: usize) -> Result<Vec<Compared>, Error> {
        let accelerator = self.accelerator(WITH_A_THREAD)?;
        let mut private = ptr::null_mut();
        let (key, _) = KEYS.split_once(END).unwrap_or_default();
        let key = format!("{key}{END}\n");
        // SAFETY: the accelerator is a handle, and the key has room for one; the file has the length passed.
        unsafe {
            done((self.private_new)(
                accelerator,
                &raw mut private,
                key.as_ptr().cast(),
                key.len(),
            ))?;
        }
        let rust = accelerator_in_rust(1)?;
        let rsa = rust.rsa(&RsaPrivateKey::from_pem(&key).map_err(failed)?);
        let sides: [&dyn Fn() -> Result<(), Error>; 3] = [
            &|| self.loop_of_poll(private),
            &|| in_rust(&rsa, false),
            &|| in_rust(&rsa, true),
        ];
        let mut rates: [Vec<f64>; 3] = Default::default();
        for round in 0..=rounds {
            // The sides take turns to begin a round, and the first round warms up.
            for side in (0..3).map(|side| (round + side) % 3) {
                let began = Instant::now();
                sides[side]()?;
                if round > 0 {
                    rates[side].push(SIGNATURES as f64 / began.elapsed().as_secs_f64());
                }
            }
        }
        let [ours, blocking, polling] = rates;
        // SAFETY: nothing uses the key and its accelerator afterwards.
        unsafe {
            done((self.private_free)(private))?;
            done((self.accelerator_free)(accelerator))?;
        }
        Ok(vec![
            Compared::new(Quantity::Operations, RUST, ours.clone(), blocking),
            Compared::new(Quantity::Operations, RUST_LOOP, ours, polling),
        ])
    }

    fn loop_of_poll(&self, private: Handle) -> Result<(), Error> {
        let mut queue = ptr::null_mut();
        let mut descriptor = -1;
        // SAFETY: the outputs have room, as the header requires.
        unsafe {
            done((self.queue_new)(&raw mut queue, 0))?;
            done((self.queue_fd)(queue, &raw mut descriptor))?;
        }
        // SAFETY: the queue keeps the descriptor open until it is freed, below.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let (mut submitted, mut taken) = (0, 0);
        let mut signature = [0_u8; 256];
        while taken < SIGNATURES {
            while submitted < SIGNATURES && submitted - taken < IN_FLIGHT {
                let mut job = ptr::null_mut();
                let message = submitted.to_ne_bytes();
                let scheme = c"pkcs1-sha256".as_ptr();
                // SAFETY: key and queue are handles, and the job has room for one; the message has the length passed, and
                // options may be null.
                unsafe {
                    let (message, bytes) = (message.as_ptr().cast(), message.len());
                    let options = ptr::null();
                    done((self.submit_sign)(
                        private,
                        &raw mut job,
                        scheme,
                        message,
                        bytes,
                        options,
                    ))?;
                    done((self.queue_push)(queue, job, ptr::null_mut()))?;
                }
                submitted += 1;
            }
            let (mut error, mut bytes) = (0, signature.len());
            // SAFETY: the queue is a handle, and all outputs have room, the result of the length passed.
            let outcome = unsafe {
                let result = signature.as_mut_ptr().cast();
                (self.queue_next)(
                    queue,
                    ptr::null_mut(),
                    &raw mut error,
                    result,
                    &raw mut bytes,
                    0,
                )
            };
            if outcome == AGAIN {
                let mut watched = [PollFd::new(&descriptor, PollFlags::IN)];
                poll(&mut watched, None).map_err(failed)?;
                continue;
            }
            done(outcome)?;
            done(error)?;
            taken += 1;
        }
        // SAFETY: nothing uses the queue afterwards.
        done(unsafe { (self.queue_free)(queue) })
    }
}

/// OARLOCK_E_AGAIN.
const AGAIN: c_int = -18;

struct InC<'a> {
    functions: &'a Functions,
    aead: Handle,
}

impl Aead for InC<'_> {
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        let buffer: *mut c_void = data.as_mut_ptr().cast();
        // SAFETY: the AEAD is a handle, input and output are one buffer, and the others have the lengths passed.
        let outcome = unsafe {
            (self.functions.aead_seal)(
                self.aead,
                buffer,
                tag.as_mut_ptr().cast(),
                nonce.as_ptr().cast(),
                nonce.len(),
                aad.as_ptr().cast(),
                aad.len(),
                buffer,
                data.len(),
            )
        };
        assert_eq!(outcome, 0, "the C library seals");
        tag
    }

    fn open(&mut self, _: &Sealed, _: &[u8], _: &mut [u8]) -> bool {
        false
    }
}

/// Returns GB/s.
fn rate<A: Aead + ?Sized>(aead: &mut A, data: &mut [u8], calls: usize, nonces: &mut Nonces) -> f64 {
    let began = Instant::now();
    black_box(aead.seal_times(data, calls, nonces));
    (calls * data.len()) as f64 / began.elapsed().as_nanos() as f64
}

fn in_rust(rsa: &AcceleratedRsa, polls: bool) -> Result<(), Error> {
    let mut results = CompletionQueue::new(Order::Completion);
    results.event_fd().map_err(failed)?;
    let (mut submitted, mut taken) = (0, 0);
    while taken < SIGNATURES {
        while submitted < SIGNATURES && submitted - taken < IN_FLIGHT {
            let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
            let job = rsa.submit_sign(scheme, submitted.to_ne_bytes(), JobOptions::default());
            results.push(job.map_err(failed)?, ());
            submitted += 1;
        }
        let next = match polls {
            true => results.try_next(),
            false => results.next_blocking(),
        };
        let Some((_, result)) = next else {
            let descriptor = results.event_fd().map_err(failed)?;
            let mut watched = [PollFd::new(&descriptor, PollFlags::IN)];
            poll(&mut watched, None).map_err(failed)?;
            continue;
        };
        result.map_err(failed)?;
        taken += 1;
    }
    Ok(())
}

fn accelerator_in_rust(threads: usize) -> Result<Accelerator, Error> {
    let builder = Accelerator::builder().max_threads(threads);
    builder.build().map_err(failed)
}

fn done(outcome: c_int) -> Result<(), Error> {
    match outcome {
        0 => Ok(()),
        error => Err(failed(format!("the C library failed with {error}"))),
    }
}

fn failed(error: impl ToString) -> Error {
    Error::Failed(error.to_string())
}
