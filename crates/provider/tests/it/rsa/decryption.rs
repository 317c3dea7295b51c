//! Encryption and decryption: this provider behaves like the default one, call by call.

use std::ffi::{c_int, c_uint, c_void};
use std::fmt::Write as _;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock::rsa::{EncryptionScheme, Hash, RsaPrivateKey, tls_premaster_secret};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::SURVIVES;
use super::calls::{SIDES, Side};
use super::keys::keys;
use crate::driver::rsa::{RsaKey, functions};
use crate::driver::{Param, libcrypto, rounds};
use crate::host::has_lanes;

#[derive(Clone, Debug)]
pub enum Call {
    DecryptInit,
    EncryptInit,
    Padding(c_int),
    Digest(&'static str),
    Mgf1(&'static str),
    Label(usize),
    ClientVersion(c_uint),
    NegotiatedVersion(c_uint),
    ImplicitRejection(c_uint),
    /// Decrypts one of the ciphertexts, into a buffer longer or shorter than the modulus by this number of bytes, possibly
    /// in place.
    Decrypt(usize, isize, bool),
    /// Encrypts this many bytes.
    Encrypt(usize),
    Size(usize),
    Copy,
    Get,
}

/// RSA_PKCS1_PADDING and other constants.
pub const PKCS1: c_int = 1;
const NONE: c_int = 3;
pub const OAEP: c_int = 4;
const TLS: c_int = 7;

const DIGESTS: [&str; 8] = [
    "SHA1",
    "SHA256",
    "SHA2-384",
    "SHA512",
    "SHA512-256",
    "SHA3-256",
    "MD5",
    "nonsense",
];

fn of<T: Copy>(rng: &mut StdRng, all: &[T]) -> T {
    all[rng.random_range(0..all.len())]
}

fn program(rng: &mut StdRng, ciphertexts: usize) -> Vec<Call> {
    let init = |rng: &mut StdRng| match rng.random_range(0..8) {
        0 => Call::EncryptInit,
        _ => Call::DecryptInit,
    };
    let mut calls = vec![init(rng)];
    match rng.random_range(0..4) {
        0 => calls.extend([
            Call::Padding(TLS),
            Call::ClientVersion(of(rng, &[0x303, 0x301, 0])),
        ]),
        1 => calls.extend([Call::Padding(OAEP), Call::Digest(of(rng, &DIGESTS[..5]))]),
        2 => calls.push(Call::ImplicitRejection(of(rng, &[0, 1, 1, 2]))),
        _ => {}
    }
    for _ in 0..rng.random_range(1..10) {
        calls.push(match rng.random_range(0..24) {
            0 => init(rng),
            1 => Call::Padding(of(rng, &[PKCS1, NONE, OAEP, TLS, TLS, 5, 6, 0])),
            2 => Call::Digest(of(rng, &DIGESTS)),
            3 => Call::Mgf1(of(rng, &DIGESTS)),
            4 => Call::Label(of(rng, &[0, 1, 9, 100])),
            5 => Call::ClientVersion(of(rng, &[0x303, 0x301, 0x30303, 0])),
            6 => Call::NegotiatedVersion(of(rng, &[0x303, 0x301, 0])),
            7 => Call::ImplicitRejection(of(rng, &[0, 1])),
            8 => Call::Size(rng.random_range(0..ciphertexts)),
            9 => Call::Copy,
            10 => Call::Get,
            11 => Call::Encrypt(of(rng, &[0, 1, 16, 48, 117, 214, 245, 246, 256, 257])),
            _ => Call::Decrypt(
                rng.random_range(0..ciphertexts),
                of(rng, &[0, 0, 0, 0, 9, -1, -250]),
                rng.random_range(0..8) == 0,
            ),
        });
    }
    calls
}

/// A context of one side.
pub struct Decrypter<'a> {
    context: *mut c_void,
    key: &'a RsaKey,
}

impl<'a> Decrypter<'a> {
    pub fn new(side: &Side, key: &'a RsaKey) -> Self {
        let query = side.operations.as_ptr();
        let library_context = libcrypto().library_context();
        let new_from_pkey = functions().EVP_PKEY_CTX_new_from_pkey;
        // SAFETY: library context and key are live, and the query is NUL-terminated.
        let context = unsafe { new_from_pkey(library_context, key.key, query) };
        assert!(!context.is_null());
        Self { context, key }
    }

    fn set(&self, name: &std::ffi::CStr, data_type: c_uint, data: *mut u8, bytes: usize) -> c_int {
        let params = [Param::new(name, data_type, data, bytes), Param::END];
        // SAFETY: the context is live; the parameters end with END, and the callers pass a buffer of `bytes`.
        unsafe { (functions().EVP_PKEY_CTX_set_params)(self.context, params.as_ptr()) }
    }

    fn set_text(&self, name: &std::ffi::CStr, text: &str) -> c_int {
        let mut text = text.as_bytes().to_vec();
        text.push(0);
        self.set(name, 4, text.as_mut_ptr(), text.len() - 1)
    }

    fn set_uint(&self, name: &std::ffi::CStr, mut number: c_uint) -> c_int {
        let place = std::ptr::from_mut(&mut number).cast();
        self.set(name, Param::UNSIGNED_INTEGER, place, 4)
    }

    /// Sets the label of OAEP.
    pub fn label(&self, label: &[u8]) -> c_int {
        let mut label = label.to_vec();
        let bytes = label.len();
        self.set(
            c"oaep-label",
            Param::OCTET_STRING,
            label.as_mut_ptr(),
            bytes,
        )
    }

    /// Returns the message, or `None` if it is refused.
    pub fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let (mut place, mut room) = (vec![0; self.key.bytes()], self.key.bytes());
        // SAFETY: the context is live; the message has room for the key's length, and the ciphertext is a slice of its
        // length.
        let result = unsafe {
            (functions().EVP_PKEY_decrypt)(
                self.context,
                place.as_mut_ptr(),
                &mut room,
                ciphertext.as_ptr(),
                ciphertext.len(),
            )
        };
        place.truncate(room);
        (result == 1).then_some(place)
    }

    /// Returns the padding as a number: OpenSSL 3.0 crashes when its getter meets the padding of TLS, which has no name.
    fn padding(&self) -> c_int {
        let mut padding = -77;
        let place = std::ptr::from_mut(&mut padding).cast();
        let mut params = [
            Param::new(c"pad-mode", Param::INTEGER, place, 4),
            Param::END,
        ];
        // SAFETY: the context is live; the parameters end with END, and the number has the declared 4 bytes.
        unsafe { (functions().EVP_PKEY_CTX_get_params)(self.context, params.as_mut_ptr()) };
        padding
    }

    /// Makes a call and returns its observable result.
    pub fn call(&mut self, call: &Call, ciphertexts: &[Vec<u8>]) -> String {
        let functions = functions();
        let mut seen = String::new();
        // SAFETY: the context is live until its copy replaces it. No length exceeds its buffer, parameters end with END, and
        // a message's size is requested with a null buffer.
        unsafe {
            let result = match *call {
                Call::DecryptInit => (functions.EVP_PKEY_decrypt_init)(self.context),
                Call::EncryptInit => (functions.EVP_PKEY_encrypt_init)(self.context),
                Call::Padding(padding) => {
                    (functions.EVP_PKEY_CTX_set_rsa_padding)(self.context, padding)
                }
                Call::Digest(name) => self.set_text(c"digest", name),
                Call::Mgf1(name) => self.set_text(c"mgf1-digest", name),
                Call::Label(bytes) => self.label(&vec![7; bytes]),
                Call::ClientVersion(version) => self.set_uint(c"tls-client-version", version),
                Call::NegotiatedVersion(version) => {
                    self.set_uint(c"tls-negotiated-version", version)
                }
                Call::ImplicitRejection(is_on) => self.set_uint(c"implicit-rejection", is_on),
                Call::Decrypt(number, more, in_place) => {
                    let ciphertext = &ciphertexts[number];
                    let mut room = self.key.bytes().saturating_add_signed(more);
                    let mut place = vec![0xa5; room.max(ciphertext.len()).max(1)];
                    if in_place {
                        place[..ciphertext.len()].copy_from_slice(ciphertext);
                    }
                    let from = if in_place {
                        place.as_ptr()
                    } else {
                        ciphertext.as_ptr()
                    };
                    let result = (functions.EVP_PKEY_decrypt)(
                        self.context,
                        place.as_mut_ptr(),
                        &mut room,
                        from,
                        ciphertext.len(),
                    );
                    let padding = self.padding();
                    let is_secret = place.get(2..48) == Some(&[9; 46]);
                    let _ = match result {
                        1 if padding == TLS && !is_secret => write!(seen, "{room} at random "),
                        _ => write!(seen, "{room} {:02x?} ", &place[..room.min(place.len())]),
                    };
                    result
                }
                Call::Encrypt(bytes) => {
                    let mut room = self.key.bytes();
                    let mut place = vec![0xa5; room];
                    let message = vec![9; bytes];
                    let result = (functions.EVP_PKEY_encrypt)(
                        self.context,
                        place.as_mut_ptr(),
                        &mut room,
                        message.as_ptr(),
                        bytes,
                    );
                    let _ = write!(seen, "{room} ");
                    result
                }
                Call::Size(number) => {
                    let mut room = 77;
                    let ciphertext = &ciphertexts[number];
                    let result = (functions.EVP_PKEY_decrypt)(
                        self.context,
                        null_mut(),
                        &mut room,
                        ciphertext.as_ptr(),
                        ciphertext.len(),
                    );
                    let _ = write!(seen, "{room} ");
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
                    let [mut digest, mut mgf1] = [[0u8; 50]; 2];
                    let [mut client, mut negotiated, mut rejection]: [c_uint; 3] = [77; 3];
                    let number = |place: &mut c_uint| std::ptr::from_mut(place).cast::<u8>();
                    let mut params = [
                        Param::new(c"digest", 4, digest.as_mut_ptr(), 50),
                        Param::new(c"mgf1-digest", 4, mgf1.as_mut_ptr(), 50),
                        Param::new(c"tls-client-version", 2, number(&mut client), 4),
                        Param::new(c"tls-negotiated-version", 2, number(&mut negotiated), 4),
                        Param::new(c"implicit-rejection", 2, number(&mut rejection), 4),
                        Param::END,
                    ];
                    let result =
                        (functions.EVP_PKEY_CTX_get_params)(self.context, params.as_mut_ptr());
                    let padding = self.padding();
                    let _ = write!(
                        seen,
                        "{result:?} {padding} {digest:?} {mgf1:?} {client} {negotiated} {rejection} "
                    );
                    1
                }
            };
            let _ = write!(seen, "{result} {:?}", libcrypto().errors());
        }
        seen
    }
}

impl Drop for Decrypter<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is live.
        unsafe { (functions().EVP_PKEY_CTX_free)(self.context) };
    }
}

/// Returns valid and invalid ciphertexts of each padding.
fn ciphertexts(key: &RsaKey) -> Vec<Vec<u8>> {
    let bytes = key.bytes();
    let encrypt = |padding, settings: &[Call], message: &[u8]| {
        let mut side = Decrypter::new(&SIDES[0], key);
        side.call(&Call::EncryptInit, &[]);
        side.call(&Call::Padding(padding), &[]);
        for call in settings {
            side.call(call, &[]);
        }
        let (mut place, mut room) = (vec![0; bytes], bytes);
        // SAFETY: the lengths are those of their buffers.
        let result = unsafe {
            let encrypt = functions().EVP_PKEY_encrypt;
            encrypt(
                side.context,
                place.as_mut_ptr(),
                &mut room,
                message.as_ptr(),
                message.len(),
            )
        };
        (result == 1).then_some(place)
    };
    let pkcs1 = |message: &[u8]| {
        let mut encoded = vec![0x5a; bytes - message.len()];
        encoded[..2].copy_from_slice(&[0, 2]);
        *encoded.last_mut().unwrap() = 0;
        encoded.extend_from_slice(message);
        encoded
    };
    let changed = |mut encoded: Vec<u8>, at: usize, to: u8| {
        encoded[at] = to;
        encoded
    };
    let secret = |version: u8| {
        let mut secret = [9; 48];
        secret[..2].copy_from_slice(&[3, version]);
        secret
    };
    let none = vec![0x5a; bytes];
    let mut encoded = vec![
        pkcs1(b""),
        pkcs1(b"x"),
        pkcs1(&vec![9; bytes - 11]),
        pkcs1(&vec![9; bytes - 10]),
        changed(pkcs1(b"message"), 0, 1),
        changed(pkcs1(b"message"), 1, 1),
        changed(pkcs1(b"message"), 9, 0),
        changed(pkcs1(b"message"), 10, 0),
        changed(changed(none, 0, 0), 1, 2),
        vec![0; bytes],
    ];
    if bytes >= 59 {
        encoded.extend([
            pkcs1(&secret(3)),
            pkcs1(&secret(3)),
            pkcs1(&secret(1)),
            pkcs1(&secret(2)),
            changed(pkcs1(&secret(3)), 3, 0),
            changed(pkcs1(&secret(3)), bytes - 49, 1),
            changed(pkcs1(&secret(3)), 1, 1),
        ]);
    }
    let mut made: Vec<_> = encoded
        .iter()
        .filter_map(|encoded| encrypt(NONE, &[], encoded))
        .collect();
    for digest in &DIGESTS[..6] {
        for label in [0, 9] {
            let settings = [Call::Digest(digest), Call::Label(label)];
            made.extend(encrypt(OAEP, &settings, b"a message"));
            made.extend(encrypt(OAEP, &settings[..1], b""));
        }
    }
    let one = made[0].clone();
    made.extend([
        changed(one.clone(), bytes - 1, one[bytes - 1] ^ 1),
        changed(one.clone(), bytes / 2, one[bytes / 2] ^ 1),
        one[1..].to_vec(),
        [&[0], &one[..]].concat(),
        Vec::new(),
        vec![0xff; bytes],
        vec![0; bytes],
        changed(vec![0; bytes], bytes - 1, 1),
        vec![1],
    ]);
    libcrypto().errors();
    made
}

/// A key of every side, and ciphertexts for it.
struct Keys {
    name: &'static str,
    sides: [RsaKey; SIDES.len()],
    ciphertexts: Vec<Vec<u8>>,
}

// SAFETY: several threads may use a key at once (openssl-threads(7)).
unsafe impl Sync for Keys {}

const THREADS: u64 = 6;

/// Makes the calls of a round on all sides, and counts successful decryptions by padding.
fn compare(round: u64, keys: &[Keys], decrypted: &[AtomicU64; 8]) {
    let mut rng = StdRng::seed_from_u64(round);
    let keys = &keys[rng.random_range(0..keys.len())];
    let mut calls = program(&mut rng, keys.ciphertexts.len());
    if !libcrypto().has(&SURVIVES) && calls.iter().any(|call| matches!(call, Call::Label(_))) {
        calls.retain(|call| !matches!(call, Call::Copy));
    }
    let sides = SIDES.iter().zip(&keys.sides);
    let mut sides: Vec<_> = sides.map(|(side, key)| Decrypter::new(side, key)).collect();
    let mut before = String::new();
    let mut padding = PKCS1;
    for (number, call) in calls.iter().enumerate() {
        let seen: Vec<_> = sides
            .iter_mut()
            .map(|side| side.call(call, &keys.ciphertexts))
            .collect();
        for (side, seen_there) in SIDES.iter().zip(&seen).skip(1) {
            assert_eq!(
                *seen_there, seen[0],
                "round {round}, key {}, {}: call {number} of {calls:?}, after{before}",
                keys.name, side.name
            );
        }
        let _ = write!(before, "\n{call:?}");
        let is_done = seen[0].ends_with("1 []");
        match call {
            Call::Padding(set) if is_done => padding = *set,
            Call::DecryptInit => padding = PKCS1,
            Call::Decrypt(..) if is_done && !seen[0].contains("at random") => {
                decrypted[padding as usize & 7].fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

#[test]
fn every_decryption_does_what_the_default_provider_does() {
    if !has_lanes() {
        return;
    }
    let rounds = rounds(1500);
    let context = libcrypto().library_context();
    let keys: Vec<Keys> = keys()
        .iter()
        .filter(|(name, _)| !name.starts_with("PSS"))
        .map(|(name, pem)| {
            let read = |side: &Side| RsaKey::read(context, pem, side.key);
            let sides = SIDES.each_ref().map(read);
            let ciphertexts = ciphertexts(&sides[0]);
            Keys {
                name,
                sides,
                ciphertexts,
            }
        })
        .collect();
    libcrypto().errors();
    let decrypted = [const { AtomicU64::new(0) }; 8];
    // Several threads at once, since keys may be shared.
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (keys, decrypted) = (&keys, &decrypted);
            scope.spawn(move || {
                for round in (thread..rounds).step_by(THREADS as usize) {
                    compare(round, keys, decrypted);
                }
            });
        }
    });
    for padding in [PKCS1, NONE, OAEP, TLS] {
        let count = decrypted[padding as usize].load(Ordering::Relaxed);
        assert!(count > rounds / 400, "padding {padding}: {decrypted:?}");
    }
}

/// The library removes each padding from each ciphertext, even if these tests rarely reach it.
#[test]
fn the_library_takes_off_what_the_default_provider_takes_off() {
    let context = libcrypto().library_context();
    let mut compared = [0; 3];
    for (name, pem) in keys().iter().take(4) {
        let stock = RsaKey::read(context, pem, SIDES[0].key);
        let ours = RsaPrivateKey::from_pem(pem).unwrap();
        let decrypt = |settings: &[Call], ciphertext: &[u8]| {
            let mut side = Decrypter::new(&SIDES[0], &stock);
            side.call(&Call::DecryptInit, &[]);
            for call in settings {
                side.call(call, &[]);
            }
            let message = side.decrypt(ciphertext);
            libcrypto().errors();
            message
        };
        let rejects = {
            let mut side = Decrypter::new(&SIDES[0], &stock);
            side.call(&Call::DecryptInit, &[]);
            !side.call(&Call::Get, &[]).contains(" 77 ")
        };
        for ciphertext in ciphertexts(&stock) {
            let Some(power) = decrypt(&[Call::Padding(NONE)], &ciphertext) else {
                continue;
            };
            if ciphertext.len() != stock.bytes() {
                continue;
            }
            if rejects {
                let message = EncryptionScheme::Pkcs1.decode(&power, &ciphertext, Some(&ours));
                let expected = decrypt(&[Call::Padding(PKCS1)], &ciphertext);
                assert_eq!(
                    message.ok().map(|message| message.to_vec()),
                    expected,
                    "{name}"
                );
                compared[0] += 1;
            }
            for (hash, digest) in [
                (Hash::Sha1, "SHA1"),
                (Hash::Sha256, "SHA256"),
                (Hash::Sha384, "SHA384"),
                (Hash::Sha512, "SHA512"),
                (Hash::Sha512_256, "SHA512-256"),
            ] {
                for label in [0, 9] {
                    let settings = [
                        Call::Padding(OAEP),
                        Call::Digest(digest),
                        Call::Label(label),
                    ];
                    let expected = decrypt(&settings, &ciphertext);
                    let scheme = EncryptionScheme::Oaep {
                        hash,
                        mgf1: hash,
                        label: vec![7; label],
                    };
                    let message = scheme.decode(&power, &ciphertext, None);
                    assert_eq!(
                        message.ok().map(|message| message.to_vec()),
                        expected,
                        "{name}"
                    );
                    compared[1] += usize::from(expected.is_some());
                }
            }
            for (version, other) in [(0x303, 0), (0x301, 0), (0x302, 0x303)] {
                let settings = [
                    Call::Padding(TLS),
                    Call::ClientVersion(version),
                    Call::NegotiatedVersion(other),
                ];
                let expected = decrypt(&settings, &ciphertext).unwrap();
                let versions = [version as u16, other as u16];
                let versions = &versions[..if other > 0 { 2 } else { 1 }];
                let secret = tls_premaster_secret(&power, versions).unwrap();
                let is_made_up = |secret: &[u8]| secret[2..] != [9; 46];
                assert_eq!(is_made_up(&secret), is_made_up(&expected), "{name}");
                if !is_made_up(&secret) {
                    assert_eq!(*secret, expected);
                    compared[2] += 1;
                }
            }
        }
        assert!(!rejects || compared[0] > 10);
    }
    assert!(compared[1] > 30 && compared[2] > 10, "{compared:?}");
}
