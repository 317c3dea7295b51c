//! A PKCS#11 module with one token, which has one key. Its calls are counted, and some are answered in an odd way. It writes
//! nothing outside of the memory that it is given, as PKCS#11 demands.

use std::ffi::c_void;
use std::ptr;
use std::slice;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use arbitrary::Arbitrary;
use cryptoki_sys::*;
use libloading::os::unix::Library;
use oarlock::Accelerator;
use oarlock::rsa::{AcceleratedRsa, RsaPrivateKey};

/// What one call does instead of what it should.
#[derive(Arbitrary, Debug)]
pub(super) struct Odd {
    /// How many calls later than the last odd one.
    after: u8,
    code: Code,
    length: Option<Length>,
    octets: Vec<u8>,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Code {
    Ok,
    TooSmall,
    Known(u8),
    Any(u32),
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Length {
    Small(u8),
    Large(u16),
    /// CK_UNAVAILABLE_INFORMATION and next to it.
    Last(u8),
}

impl Code {
    fn get(self) -> CK_RV {
        match self {
            Self::Ok => CKR_OK,
            Self::TooSmall => CKR_BUFFER_TOO_SMALL,
            Self::Known(code) => code.into(),
            Self::Any(code) => code.into(),
        }
    }
}

impl Length {
    fn get(self) -> CK_ULONG {
        match self {
            Self::Small(length) => length.into(),
            Self::Large(length) => length.into(),
            Self::Last(less) => CK_ULONG::MAX - CK_ULONG::from(less),
        }
    }
}

struct State {
    calls: usize,
    odd: Vec<(usize, Odd)>,
    /// What a search still has to tell.
    found: Vec<CK_OBJECT_HANDLE>,
}

static STATE: Mutex<State> = Mutex::new(State {
    calls: 0,
    odd: Vec::new(),
    found: Vec::new(),
});

/// Whether the entry point that the loader finds in the program is this one: the module under test has one of the same name.
static IS_FOUND: LazyLock<bool> = LazyLock::new(|| {
    // So that the linker has it.
    std::hint::black_box(C_GetFunctionList as *const c_void);
    let program = Library::this();
    let mut list = ptr::null();
    // SAFETY: each function of this name is PKCS#11's, of this type, and writes the address of a list that stays.
    let initialize_of_program = unsafe {
        let get = program
            .get::<unsafe extern "C" fn(*mut *const CK_FUNCTION_LIST) -> CK_RV>(
                b"C_GetFunctionList",
            )
            .unwrap();
        assert_eq!(get(&raw mut list), CKR_OK);
        (*list).C_Initialize
    };
    let ours: extern "C" fn(*mut c_void) -> CK_RV = initialize;
    initialize_of_program.is_some_and(|call| ptr::fn_addr_eq(call, ours))
});

/// From now on.
pub(super) fn answers(odd: Vec<Odd>) {
    assert!(
        *IS_FOUND,
        "the program's C_GetFunctionList is another module's"
    );
    let mut at = 0;
    let odd = odd.into_iter().map(|odd| {
        at += usize::from(odd.after) + 1;
        (at, odd)
    });
    *state() = State {
        calls: 0,
        odd: odd.collect(),
        found: Vec::new(),
    };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is odd about this call. A module that always asks for more memory is none that ends.
fn odd() -> Option<Odd> {
    let mut state = state();
    state.calls += 1;
    let calls = state.calls;
    let at = state.odd.iter().position(|(at, _)| *at == calls)?;
    Some(state.odd.swap_remove(at).1)
}

fn code(odd: Option<&Odd>) -> CK_RV {
    odd.map_or(CKR_OK, |odd| odd.code.get())
}

/// The entry point.
///
/// # Safety
/// A place for a pointer.
#[allow(non_snake_case)] // PKCS#11 calls it so
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetFunctionList(list: *mut *const CK_FUNCTION_LIST) -> CK_RV {
    static LIST: CK_FUNCTION_LIST = CK_FUNCTION_LIST {
        version: CK_VERSION {
            major: 2,
            minor: 40,
        },
        C_Initialize: Some(initialize),
        C_Finalize: None,
        C_GetInfo: None,
        C_GetFunctionList: None,
        C_GetSlotList: Some(slots),
        C_GetSlotInfo: None,
        C_GetTokenInfo: Some(token),
        C_GetMechanismList: None,
        C_GetMechanismInfo: Some(mechanism),
        C_InitToken: None,
        C_InitPIN: None,
        C_SetPIN: None,
        C_OpenSession: Some(open),
        C_CloseSession: Some(close),
        C_CloseAllSessions: None,
        C_GetSessionInfo: Some(session),
        C_GetOperationState: None,
        C_SetOperationState: None,
        C_Login: Some(login),
        C_Logout: None,
        C_CreateObject: None,
        C_CopyObject: None,
        C_DestroyObject: None,
        C_GetObjectSize: None,
        C_GetAttributeValue: Some(attributes),
        C_SetAttributeValue: None,
        C_FindObjectsInit: Some(search),
        C_FindObjects: Some(found),
        C_FindObjectsFinal: Some(close),
        C_EncryptInit: None,
        C_Encrypt: None,
        C_EncryptUpdate: None,
        C_EncryptFinal: None,
        C_DecryptInit: Some(begin),
        C_Decrypt: Some(power),
        C_DecryptUpdate: None,
        C_DecryptFinal: None,
        C_DigestInit: None,
        C_Digest: None,
        C_DigestUpdate: None,
        C_DigestKey: None,
        C_DigestFinal: None,
        C_SignInit: Some(begin),
        C_Sign: Some(power),
        C_SignUpdate: None,
        C_SignFinal: None,
        C_SignRecoverInit: None,
        C_SignRecover: None,
        C_VerifyInit: None,
        C_Verify: None,
        C_VerifyUpdate: None,
        C_VerifyFinal: None,
        C_VerifyRecoverInit: None,
        C_VerifyRecover: None,
        C_DigestEncryptUpdate: None,
        C_DecryptDigestUpdate: None,
        C_SignEncryptUpdate: None,
        C_DecryptVerifyUpdate: None,
        C_GenerateKey: None,
        C_GenerateKeyPair: None,
        C_WrapKey: None,
        C_UnwrapKey: None,
        C_DeriveKey: None,
        C_SeedRandom: None,
        C_GenerateRandom: None,
        C_GetFunctionStatus: None,
        C_CancelFunction: None,
        C_WaitForSlotEvent: None,
    };
    // SAFETY: a place for a pointer, as the caller says.
    unsafe { *list = &raw const LIST };
    CKR_OK
}

extern "C" fn initialize(_: *mut c_void) -> CK_RV {
    CKR_OK
}

/// Gives a list: how many there are, and as many as there is room for.
///
/// # Safety
/// `count` is a place, and `place` null or one for as many as that says.
unsafe fn give<T: Copy>(odd: Option<&Odd>, have: &[T], place: *mut T, count: *mut CK_ULONG) {
    // SAFETY: the caller has a place for the count, and `place` is null or has room for as many as that says.
    unsafe {
        if !place.is_null() {
            let room = usize::try_from(*count).unwrap_or(0);
            let place = slice::from_raw_parts_mut(place, room);
            place
                .iter_mut()
                .zip(have)
                .for_each(|(to, from)| *to = *from);
        }
        *count = match odd.and_then(|odd| odd.length) {
            // It says what it wrote, and no more than there is room for.
            Some(length) if !place.is_null() => length.get().min(*count),
            Some(length) => length.get(),
            None => have.len() as CK_ULONG,
        };
    }
}

/// # Safety
/// As [`give`].
unsafe extern "C" fn slots(_: CK_BBOOL, place: *mut CK_SLOT_ID, count: *mut CK_ULONG) -> CK_RV {
    let odd = odd();
    let mut have = vec![SLOT];
    let more = odd.iter().flat_map(|odd| &odd.octets);
    have.extend(more.map(|octet| CK_SLOT_ID::from(*octet)));
    // SAFETY: a caller's list.
    unsafe { give(odd.as_ref(), &have, place, count) };
    code(odd.as_ref())
}

/// # Safety
/// `info` is a place.
unsafe extern "C" fn token(_: CK_SLOT_ID, info: *mut CK_TOKEN_INFO) -> CK_RV {
    let odd = odd();
    let mut told = CK_TOKEN_INFO {
        flags: CKF_TOKEN_INITIALIZED,
        ..CK_TOKEN_INFO::default()
    };
    let padded = |text: &str, to: &mut [u8]| {
        to.fill(b' ');
        to[..text.len()].copy_from_slice(text.as_bytes());
    };
    padded(LABEL, &mut told.label);
    padded(SERIAL, &mut told.serialNumber);
    if let Some(odd) = &odd {
        let fields = told.label.iter_mut().chain(&mut told.serialNumber);
        fields.zip(&odd.octets).for_each(|(to, from)| *to = *from);
        if let Some(length) = odd.length {
            told.ulMaxSessionCount = length.get();
            told.flags |= length.get() & 0xffff;
        }
    }
    // SAFETY: the caller has a place for what is told of a token.
    unsafe { *info = told };
    code(odd.as_ref())
}

/// # Safety
/// `info` is a place that has been written.
unsafe extern "C" fn mechanism(
    _: CK_SLOT_ID,
    _: CK_MECHANISM_TYPE,
    info: *mut CK_MECHANISM_INFO,
) -> CK_RV {
    let odd = odd();
    let flags = odd.as_ref().and_then(|odd| odd.length).map(Length::get);
    // SAFETY: the caller has a place for what is told of a mechanism.
    unsafe { (*info).flags = flags.unwrap_or(CKF_DECRYPT | CKF_SIGN) };
    code(odd.as_ref())
}

/// # Safety
/// `session` is a place.
unsafe extern "C" fn open(
    _: CK_SLOT_ID,
    _: CK_FLAGS,
    _: *mut c_void,
    _: CK_NOTIFY,
    session: *mut CK_SESSION_HANDLE,
) -> CK_RV {
    let odd = odd();
    // SAFETY: the caller has a place for the session.
    unsafe { *session = 1 };
    code(odd.as_ref())
}

extern "C" fn close(_: CK_SESSION_HANDLE) -> CK_RV {
    code(odd().as_ref())
}

/// # Safety
/// `info` is a place.
unsafe extern "C" fn session(_: CK_SESSION_HANDLE, info: *mut CK_SESSION_INFO) -> CK_RV {
    let odd = odd();
    let state = odd.as_ref().and_then(|odd| odd.length).map(Length::get);
    // SAFETY: the caller has a place for what is told of a session.
    unsafe {
        *info = CK_SESSION_INFO {
            slotID: SLOT,
            state: state.unwrap_or(CKS_RO_USER_FUNCTIONS),
            flags: 4,
            ulDeviceError: 0,
        };
    }
    code(odd.as_ref())
}

extern "C" fn login(
    _: CK_SESSION_HANDLE,
    _: CK_USER_TYPE,
    _: *mut CK_UTF8CHAR,
    _: CK_ULONG,
) -> CK_RV {
    code(odd().as_ref())
}

/// # Safety
/// `template` has `count` attributes, of which a class is a number.
unsafe extern "C" fn search(
    _: CK_SESSION_HANDLE,
    template: *mut CK_ATTRIBUTE,
    count: CK_ULONG,
) -> CK_RV {
    let odd = odd();
    // SAFETY: the caller's array, of `count` attributes.
    let template = unsafe { slice::from_raw_parts(template, count as usize) };
    let class = template.iter().find(|it| it.type_ == CKA_CLASS);
    // SAFETY: a class is a number.
    let class = class.map(|it| unsafe { it.pValue.cast::<CK_ULONG>().read_unaligned() });
    let mut found = vec![if class == Some(CKO_PUBLIC_KEY) {
        PUBLIC
    } else {
        PRIVATE
    }];
    let more = odd.iter().flat_map(|odd| &odd.octets).take(30);
    found.extend(more.map(|octet| CK_OBJECT_HANDLE::from(*octet % 4)));
    state().found = found;
    code(odd.as_ref())
}

/// # Safety
/// `place` has room for `room` handles, and `count` is a place.
unsafe extern "C" fn found(
    _: CK_SESSION_HANDLE,
    place: *mut CK_OBJECT_HANDLE,
    room: CK_ULONG,
    count: *mut CK_ULONG,
) -> CK_RV {
    let odd = odd();
    let mut state = state();
    let given = state.found.len().min(room as usize);
    let given: Vec<_> = state.found.drain(..given).collect();
    // SAFETY: the caller's places, one for as many as `room`.
    unsafe {
        *count = room;
        give(odd.as_ref(), &given, place, count);
    }
    code(odd.as_ref())
}

/// # Safety
/// `template` has `count` attributes, whose values are null or have the length next to them.
unsafe extern "C" fn attributes(
    _: CK_SESSION_HANDLE,
    object: CK_OBJECT_HANDLE,
    template: *mut CK_ATTRIBUTE,
    count: CK_ULONG,
) -> CK_RV {
    let odd = odd();
    // SAFETY: the caller's array, of `count` attributes.
    let template = unsafe { slice::from_raw_parts_mut(template, count as usize) };
    for asked in template {
        let value = match &odd {
            Some(odd) if !odd.octets.is_empty() => odd.octets.clone(),
            _ => value(object, asked.type_),
        };
        // SAFETY: the place is null or has the length next to it.
        unsafe {
            give(
                odd.as_ref(),
                &value,
                asked.pValue.cast(),
                &raw mut asked.ulValueLen,
            );
        }
    }
    code(odd.as_ref())
}

fn value(object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Vec<u8> {
    with_key(|rsa| {
        let public = rsa.key().public_key();
        match kind {
            CKA_ID => vec![1],
            CKA_LABEL => b"site".to_vec(),
            CKA_MODULUS => public.modulus().to_vec(),
            CKA_PUBLIC_EXPONENT if object == PUBLIC => public.exponent().to_vec(),
            CKA_DECRYPT | CKA_SIGN => vec![1],
            CKA_ALWAYS_AUTHENTICATE => vec![0],
            _ => Vec::new(),
        }
    })
}

extern "C" fn begin(_: CK_SESSION_HANDLE, _: *mut CK_MECHANISM, _: CK_OBJECT_HANDLE) -> CK_RV {
    code(odd().as_ref())
}

/// # Safety
/// `number` has `bytes` bytes; the rest as [`give`].
unsafe extern "C" fn power(
    _: CK_SESSION_HANDLE,
    number: *mut CK_BYTE,
    bytes: CK_ULONG,
    place: *mut CK_BYTE,
    length: *mut CK_ULONG,
) -> CK_RV {
    let odd = odd();
    // SAFETY: the caller's number, of `bytes` bytes.
    let number = unsafe { slice::from_raw_parts(number, bytes as usize) };
    let mut power = match with_key(|rsa| rsa.raw_private(number)) {
        Ok(power) => power.to_vec(),
        Err(_) => vec![0; 128],
    };
    if let Some(odd) = &odd {
        power
            .iter_mut()
            .zip(&odd.octets)
            .for_each(|(to, from)| *to ^= from);
    }
    // SAFETY: the caller has a place of as many bytes as `length` says, or asks for the length.
    unsafe { give(odd.as_ref(), &power, place, length) };
    code(odd.as_ref())
}

fn with_key<T>(work: impl FnOnce(&AcceleratedRsa) -> T) -> T {
    thread_local!(static RSA: AcceleratedRsa = {
        let key = include_str!("../../../crates/oarlock/tests/keys/rsa1024.pem");
        let key = RsaPrivateKey::from_pem(key).unwrap();
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        accelerator.rsa(&key)
    });
    RSA.with(work)
}

pub(super) const LABEL: &str = "token";
pub(super) const SERIAL: &str = "0123";
pub(super) const SLOT: CK_SLOT_ID = 7;
const PRIVATE: CK_OBJECT_HANDLE = 1;
const PUBLIC: CK_OBJECT_HANDLE = 2;
