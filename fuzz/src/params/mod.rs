//! Parameters (OSSL_PARAM(3)) that programs hand to the provider's ciphers and keys, of every name and with every type, size
//! and null, between calls of other kinds: no panic, nothing read or written outside of what was given, no parameter that
//! was given changed, and a length for what was got that fits.
//!
//! What the interface promises holds: arrays have their end, data have their size, and names end with a zero.
#![allow(unsafe_code)]

mod host;

use std::ffi::{CString, c_int, c_void};
use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;

use self::host::{Functions, Host};
use crate::evp::Param;
use crate::panics;

fuzz_target!(|input: Input| {
    let before = panics::count();
    let host = Host::of(input.host);
    let functions = host.ciphers[usize::from(input.cipher) % host.ciphers.len()];
    let mut contexts = vec![Context::new(host, functions)];
    for act in input.acts.into_iter().take(ACTS_MAX) {
        if let Act::Copied = act {
            if contexts.len() < CONTEXTS_MAX {
                let copy = contexts[contexts.len() - 1].copied();
                contexts.extend(copy);
            }
        } else {
            let last = contexts.len() - 1;
            contexts[last].take(act);
        }
        assert_eq!(panics::count(), before, "a panic that was caught");
    }
    drop(contexts);
    assert_eq!(panics::count(), before, "a panic that was caught");
});

#[derive(Arbitrary, Debug)]
struct Input {
    host: u8,
    cipher: u8,
    acts: Vec<Act>,
}

#[derive(Arbitrary, Debug)]
enum Act {
    Init {
        encrypts: bool,
        key: Option<Octets>,
        iv: Option<Octets>,
        given: Vec<Given>,
    },
    Set(Vec<Given>),
    Get(Vec<Asked>),
    /// Asks for parameters that all contexts of the cipher share.
    GetOfCipher(Vec<Asked>),
    GetOfProvider(Vec<Asked>),
    /// A key that is an object, and the context begun with it.
    Key {
        kind: u8,
        selection: u8,
        given: Vec<Given>,
        begins: bool,
    },
    /// By update or by EVP_Cipher(3).
    Data {
        at_once: bool,
        bytes: Vec<u8>,
        room: Room,
    },
    Final(Room),
    Copied,
}

/// Bytes of a length that fits something, or of any length.
#[derive(Arbitrary, Debug)]
enum Octets {
    Fitting(u8),
    Any(Vec<u8>),
}

impl Octets {
    fn get(self) -> Vec<u8> {
        match self {
            Self::Fitting(which) => {
                let bytes = FITTING[usize::from(which) % FITTING.len()];
                (0..bytes as u8).map(|at| at ^ which).collect()
            }
            Self::Any(bytes) => bytes,
        }
    }
}

/// Where output goes.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Room {
    None,
    /// Where the input is, with as much more.
    InPlace(u8),
    /// Room for the input and a block.
    Whole,
    Any(u8),
}

#[derive(Arbitrary, Debug)]
struct Given {
    name: Name,
    data_type: u8,
    value: Value,
}

#[derive(Arbitrary, Debug)]
enum Value {
    Null(u16),
    Octets(Octets),
    /// A number, and the bytes that it takes.
    Number(Number, u8),
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Number {
    Small(u8),
    /// A version of TLS.
    Version(u8),
    Any(u64),
    Negative(u8),
}

impl Number {
    fn octets(self, width: u8) -> Vec<u8> {
        let number = match self {
            Self::Small(number) => i128::from(number),
            Self::Version(minor) => 0x0300 | i128::from(minor % 5),
            Self::Any(number) => i128::from(number),
            Self::Negative(number) => -i128::from(number),
        };
        number.to_le_bytes()[..usize::from(width % 17)].to_vec()
    }
}

#[derive(Arbitrary, Debug)]
struct Asked {
    name: Name,
    data_type: u8,
    /// None asks for a size.
    place: Option<u8>,
}

#[derive(Arbitrary, Debug)]
enum Name {
    Known(u8),
    Any(Vec<u8>),
}

impl Name {
    fn text(self) -> CString {
        let bytes: Vec<u8> = match self {
            Self::Known(at) => NAMES[usize::from(at) % NAMES.len()].into(),
            Self::Any(bytes) => bytes.into_iter().take_while(|byte| *byte != 0).collect(),
        };
        CString::new(bytes).expect("no zero")
    }
}

/// A context of a cipher, which is freed with it.
struct Context {
    host: &'static Host,
    functions: Functions,
    context: *mut c_void,
}

impl Context {
    fn new(host: &'static Host, functions: Functions) -> Self {
        // SAFETY: a function of this type, and the provider that it is of.
        let context = unsafe {
            let new: New = functions.get(NEWCTX).unwrap();
            new(host.provider)
        };
        assert!(!context.is_null());
        Self {
            host,
            functions,
            context,
        }
    }

    fn copied(&self) -> Option<Self> {
        // SAFETY: a function of this type, and a context that no other call uses.
        let context = unsafe {
            let copied: Copied = self.functions.get(DUPCTX).unwrap();
            copied(self.context)
        };
        (!context.is_null()).then_some(Self { context, ..*self })
    }

    fn take(&mut self, act: Act) {
        match act {
            Act::Init {
                encrypts,
                key,
                iv,
                given,
            } => {
                let [key, iv] =
                    [key, iv].map(|octets| octets.map(|it| it.get().into_boxed_slice()));
                let place = |octets: &Option<Box<[u8]>>| match octets {
                    Some(octets) => (octets.as_ptr(), octets.len()),
                    None => (null(), 0),
                };
                let (key, iv) = (place(&key), place(&iv));
                let id = if encrypts { ENCRYPT_INIT } else { DECRYPT_INIT };
                handed(given, |params| {
                    // SAFETY: a function of this type; key and IV have their lengths.
                    unsafe {
                        let init: Init = self.functions.get(id).unwrap();
                        init(self.context, key.0, key.1, iv.0, iv.1, params)
                    }
                });
            }
            Act::Set(given) => handed(given, |params| self.params(SET_CTX_PARAMS, params)),
            Act::Get(asked) => got(asked, |params| self.params(GET_CTX_PARAMS, params)),
            Act::GetOfCipher(asked) => got(asked, |params| {
                // SAFETY: a function of this type.
                unsafe {
                    let get: OfCipher = self.functions.get(GET_PARAMS).unwrap();
                    get(params)
                }
            }),
            Act::GetOfProvider(asked) => got(asked, |params| {
                // SAFETY: a function of this type, and the provider that it is of.
                unsafe {
                    let get: OfContext = self.host.functions.get(PROVIDER_GET_PARAMS).unwrap();
                    get(self.host.provider, params)
                }
            }),
            Act::Key {
                kind,
                selection,
                given,
                begins,
            } => self.take_key(kind, selection, given, begins),
            Act::Data {
                at_once,
                bytes,
                room,
            } => {
                let id = if at_once { CIPHER } else { UPDATE };
                self.data(id, &bytes, room);
            }
            Act::Final(room) => {
                self.data(FINAL, &[], room);
            }
            Act::Copied => {}
        }
    }

    fn params(&self, id: c_int, params: *mut Param) -> c_int {
        // SAFETY: a function of this type, and a context that no other call uses.
        unsafe {
            let call: OfContext = self.functions.get(id).unwrap();
            call(self.context, params)
        }
    }

    fn take_key(&self, kind: u8, selection: u8, given: Vec<Given>, begins: bool) {
        if self.host.keys.is_empty() {
            return;
        }
        let keys = self.host.keys[usize::from(kind) % self.host.keys.len()];
        let mut key = null_mut();
        handed(given, |params| {
            // SAFETY: a function of this type.
            key = unsafe {
                let import: Import = keys.get(KEY_IMPORT).unwrap();
                import(self.host.provider, (selection % 4).into(), params)
            };
            (!key.is_null()).into()
        });
        if key.is_null() {
            return;
        }
        // SAFETY: functions of these types; the key is not freed before, and once.
        unsafe {
            if begins {
                let init: KeyInit = self.functions.get(ENCRYPT_SKEY_INIT).unwrap();
                init(self.context, key, [7; 16].as_ptr(), 16, null_mut());
            }
            let free: Free = keys.get(KEY_FREE).unwrap();
            free(key);
        }
    }

    /// What the call returned.
    fn data(&self, id: c_int, input: &[u8], room: Room) -> c_int {
        let bytes = input.len();
        let room_bytes = match room {
            Room::None => 0,
            Room::InPlace(more) => bytes + usize::from(more % 65),
            Room::Whole => bytes + BLOCK_BYTES,
            Room::Any(bytes) => bytes.into(),
        };
        let mut output = Guarded::new(room_bytes);
        let is_in_place = matches!(room, Room::InPlace(_));
        // No more than there is, so that a sanitizer sees what is read beyond.
        let apart: Box<[u8]> = input.into();
        if is_in_place {
            output.inner()[..bytes].copy_from_slice(input);
        }
        let place = match room {
            Room::None => null_mut(),
            _ => output.inner().as_mut_ptr(),
        };
        let from = if is_in_place {
            place.cast_const()
        } else {
            apart.as_ptr()
        };
        let mut written = usize::MAX;
        // SAFETY: functions of these types; input and output have their lengths, and are the same or apart.
        let done = unsafe {
            if id == FINAL {
                let finish: Final = self.functions.get(id).unwrap();
                finish(self.context, place, &mut written, room_bytes)
            } else {
                let data: DataCall = self.functions.get(id).unwrap();
                data(self.context, place, &mut written, room_bytes, from, bytes)
            }
        };
        output.check();
        assert!(*apart == *input, "input was changed");
        // Of associated data it is how many were taken.
        let written_max = if place.is_null() { bytes } else { room_bytes };
        assert!(
            done != 1 || written <= written_max,
            "{written} of {written_max}"
        );
        done
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: a function of this type, and the last call with the context.
        unsafe {
            let free: Free = self.functions.get(FREECTX).unwrap();
            free(self.context);
        }
    }
}

/// Memory with marks on either side.
struct Guarded(Vec<u8>);

impl Guarded {
    fn new(bytes: usize) -> Self {
        Self(vec![MARK; bytes + 2 * MARKS])
    }

    fn inner(&mut self) -> &mut [u8] {
        let end = self.0.len() - MARKS;
        &mut self.0[MARKS..end]
    }

    fn check(&self) {
        let (before, rest) = self.0.split_at(MARKS);
        let after = &rest[rest.len() - MARKS..];
        let is_whole = before.iter().chain(after).all(|byte| *byte == MARK);
        assert!(is_whole, "written outside of its place");
    }
}

/// Hands parameters over, none of which the call may change.
fn handed(given: Vec<Given>, call: impl FnOnce(*mut Param) -> c_int) {
    let mut kept = Vec::new();
    let mut params = Vec::new();
    for given in given.into_iter().take(PARAMS_MAX) {
        let name = given.name.text();
        let (octets, null_bytes) = match given.value {
            Value::Null(bytes) => (None, bytes.into()),
            Value::Octets(octets) => (Some(octets.get()), 0),
            Value::Number(number, width) => (Some(number.octets(width)), 0),
        };
        let octets = octets.map(Vec::into_boxed_slice);
        let data_type = u32::from(given.data_type % 9);
        // What a pointer leads to stays, too.
        let mut pointer = octets.as_deref().map(|octets| Box::new(octets.as_ptr()));
        let is_pointer = matches!(data_type, UTF8_PTR | OCTET_PTR);
        params.push(Param {
            key: name.as_ptr(),
            data_type,
            data: match (&mut pointer, &octets) {
                (Some(pointer), _) if is_pointer => (&raw mut **pointer).cast(),
                (_, Some(octets)) => octets.as_ptr().cast_mut().cast(),
                _ => null_mut(),
            },
            data_bytes: octets.as_ref().map_or(null_bytes, |octets| octets.len()),
            return_bytes: usize::MAX,
        });
        kept.push((name, octets.clone(), octets, pointer));
    }
    params.push(Param::END);
    call(params.as_mut_ptr());
    for (_, before, now, _) in kept {
        assert_eq!(now, before, "a parameter was changed");
    }
}

/// Asks for parameters.
fn got(asked: Vec<Asked>, call: impl FnOnce(*mut Param) -> c_int) {
    let mut kept = Vec::new();
    let mut params = Vec::new();
    for asked in asked.into_iter().take(PARAMS_MAX) {
        let name = asked.name.text();
        let data_type = u32::from(asked.data_type % 9);
        let is_pointer = matches!(data_type, UTF8_PTR | OCTET_PTR);
        let mut place = asked.place.map(|bytes| {
            let bytes = if is_pointer { 8 } else { bytes.into() };
            Guarded::new(bytes)
        });
        params.push(Param {
            key: name.as_ptr(),
            data_type,
            data: place
                .as_mut()
                .map_or(null_mut(), |place| place.inner().as_mut_ptr().cast()),
            data_bytes: place.as_mut().map_or(0, |place| place.inner().len()),
            return_bytes: usize::MAX,
        });
        kept.push((name, place));
    }
    params.push(Param::END);
    let done = call(params.as_mut_ptr());
    for ((_, place), param) in kept.iter_mut().zip(&params) {
        let Some(place) = place else { continue };
        place.check();
        let is_pointer = matches!(param.data_type, UTF8_PTR | OCTET_PTR);
        let is_given = done == 1 && param.return_bytes != usize::MAX;
        if is_given && !is_pointer {
            assert!(
                param.return_bytes <= param.data_bytes,
                "more than there is room for"
            );
        } else if is_given {
            // SAFETY: of these types, the data are a pointer to as many bytes as were told; unless it was left alone.
            let octets = unsafe {
                let pointer = place.inner().as_ptr().cast::<*const u8>().read_unaligned();
                match param.return_bytes {
                    0 => &[],
                    bytes => std::slice::from_raw_parts(pointer, bytes),
                }
            };
            std::hint::black_box(octets.iter().fold(0, |sum: u8, byte| sum ^ byte));
        }
    }
}

type New = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Copied = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Init =
    unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize, *mut Param) -> c_int;
type KeyInit =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *const u8, usize, *mut Param) -> c_int;
type Import = unsafe extern "C" fn(*mut c_void, c_int, *mut Param) -> *mut c_void;
type OfContext = unsafe extern "C" fn(*mut c_void, *mut Param) -> c_int;
type OfCipher = unsafe extern "C" fn(*mut Param) -> c_int;
type Final = unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int;
type DataCall =
    unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int;

/// Functions of a cipher (core_dispatch.h).
const NEWCTX: c_int = 1;
const ENCRYPT_INIT: c_int = 2;
const DECRYPT_INIT: c_int = 3;
const UPDATE: c_int = 4;
const FINAL: c_int = 5;
const CIPHER: c_int = 6;
const FREECTX: c_int = 7;
const DUPCTX: c_int = 8;
const GET_PARAMS: c_int = 9;
const GET_CTX_PARAMS: c_int = 10;
const SET_CTX_PARAMS: c_int = 11;
const ENCRYPT_SKEY_INIT: c_int = 19;
/// A function of a provider.
const PROVIDER_GET_PARAMS: c_int = 1026;
/// Functions of a management of keys that are objects.
const KEY_FREE: c_int = 1;
const KEY_IMPORT: c_int = 2;
/// Types of parameters.
const UTF8_PTR: u32 = 6;
const OCTET_PTR: u32 = 7;

const NAMES: [&str; 32] = [
    "mode",
    "keylen",
    "ivlen",
    "blocksize",
    "aead",
    "custom-iv",
    "cts",
    "tls-multi",
    "has-randkey",
    "encrypt-then-mac",
    "iv",
    "updated-iv",
    "iv-generated",
    "num",
    "padding",
    "tag",
    "taglen",
    "tls-mac",
    "tls-mac-size",
    "tls-version",
    "tlsaad",
    "tlsaadpad",
    "tlsivfixed",
    "tlsivgen",
    "tlsivinv",
    "use-bits",
    "raw-bytes",
    "name",
    "version",
    "buildinfo",
    "oarlock-calibration",
    "status",
];
/// Lengths of keys, IVs, tags, associated data of TLS, and numbers.
const FITTING: [usize; 10] = [16, 24, 32, 12, 13, 8, 4, 1, 0, 128];
const BLOCK_BYTES: usize = 16;
const ACTS_MAX: usize = 64;
const PARAMS_MAX: usize = 16;
const CONTEXTS_MAX: usize = 8;
const MARK: u8 = 0xa7;
const MARKS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cipher in every release makes a context that encrypts and tells its key's length.
    #[test]
    fn ciphers_are_of_use() {
        for host in (0..4).map(Host::of) {
            for functions in &host.ciphers {
                let context = Context::new(host, *functions);
                let begun = [16, 24, 32].into_iter().find(|bytes| {
                    [12, 16].into_iter().any(|iv_bytes| {
                        // SAFETY: a function of this type; key and IV have these lengths.
                        let done = unsafe {
                            let init: Init = functions.get(ENCRYPT_INIT).unwrap();
                            let (key, iv) = ([1; 32], [2; 16]);
                            let (key, iv) = (key.as_ptr(), iv.as_ptr());
                            init(context.context, key, *bytes, iv, iv_bytes, null_mut())
                        };
                        done == 1
                    })
                });
                let bytes = begun.expect("a key and an IV that fit");
                assert_eq!(context.data(UPDATE, &[3; 32], Room::Whole), 1);
                let mut place = 0_usize;
                let mut params = [Param::END, Param::END];
                params[0] = Param {
                    key: c"keylen".as_ptr(),
                    data_type: 2,
                    data: (&raw mut place).cast(),
                    data_bytes: size_of::<usize>(),
                    return_bytes: usize::MAX,
                };
                assert_eq!(context.params(GET_CTX_PARAMS, params.as_mut_ptr()), 1);
                assert_eq!(place, bytes);
            }
            assert_eq!(host.keys.is_empty(), std::ptr::eq(host, Host::of(0)));
        }
    }
}
