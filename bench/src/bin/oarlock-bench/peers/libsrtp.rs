//! libsrtp2, which browsers and phones use: the machine's (Debian's is built with NSS), and the file that
//! `OARLOCK_BENCH_LIBSRTP` names, for example one built with OpenSSL, which is several times as fast.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::Library;
use oarlock_measure::Error;

/// The cipher and authentication of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Suite {
    AesCm128HmacSha1_80,
    Aes128Gcm,
}

/// A build of the library. The installed one must be loaded first, because both have the same name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Build {
    Installed,
    Named,
}

/// Functions of a loaded library, which stays loaded.
struct Functions {
    create: unsafe extern "C" fn(*mut *mut c_void, *const Policy) -> c_int,
    dealloc: unsafe extern "C" fn(*mut c_void) -> c_int,
    protect: Apply,
    unprotect: Apply,
    set_aes_cm: unsafe extern "C" fn(*mut Crypto),
    set_aes_gcm: unsafe extern "C" fn(*mut Crypto),
    _library: Library,
}

type Apply = unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_int) -> c_int;

/// `srtp_crypto_policy_t` of srtp2/srtp.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Crypto {
    cipher: c_int,
    key_bytes: c_int,
    auth: c_int,
    auth_key_bytes: c_int,
    tag_bytes: c_int,
    services: c_int,
}

#[repr(C)]
struct Policy {
    ssrc_type: c_int,
    ssrc: c_uint,
    rtp: Crypto,
    rtcp: Crypto,
    key: *const u8,
    keys: *const c_void,
    keys_count: c_ulong,
    deprecated: *const c_void,
    window: c_ulong,
    allow_repeat: c_int,
    encrypted_extensions: *const c_int,
    encrypted_extensions_count: c_int,
    next: *const c_void,
}

impl Functions {
    fn load(file: &str) -> Result<Self, Error> {
        let missing = |error: libloading::Error| Error::Unavailable(error.to_string());
        // SAFETY: any process may load a libsrtp2; the types are those of its header. srtp_init is called once, before all
        // other functions.
        unsafe {
            let library = Library::new(file).map_err(missing)?;
            let init = library.get::<unsafe extern "C" fn() -> c_int>("srtp_init");
            if init.map_err(missing)?() != 0 {
                return Err(Error::Failed(format!("{file}: srtp_init fails")));
            }
            Ok(Self {
                create: *library.get("srtp_create").map_err(missing)?,
                dealloc: *library.get("srtp_dealloc").map_err(missing)?,
                protect: *library.get("srtp_protect").map_err(missing)?,
                unprotect: *library.get("srtp_unprotect").map_err(missing)?,
                set_aes_cm: *library
                    .get("srtp_crypto_policy_set_rtp_default")
                    .map_err(missing)?,
                set_aes_gcm: *library
                    .get("srtp_crypto_policy_set_aes_gcm_128_16_auth")
                    .map_err(missing)?,
                _library: library,
            })
        }
    }

    fn of(build: Build) -> Result<&'static Self, Error> {
        static INSTALLED: OnceLock<Result<Functions, Error>> = OnceLock::new();
        static NAMED: OnceLock<Result<Functions, Error>> = OnceLock::new();
        let loaded = match build {
            Build::Installed => INSTALLED.get_or_init(|| Self::load("libsrtp2.so.1")),
            Build::Named => NAMED.get_or_init(|| match env::var("OARLOCK_BENCH_LIBSRTP") {
                Ok(file) => Self::load(&file),
                Err(_) => Err(Error::Unavailable(
                    "OARLOCK_BENCH_LIBSRTP names no other build".to_owned(),
                )),
            }),
        };
        loaded.as_ref().map_err(|error| match error {
            Error::Unavailable(why) => Error::Unavailable(why.clone()),
            other => Error::Failed(other.to_string()),
        })
    }
}

/// One direction, for any source.
pub(crate) struct Session {
    functions: &'static Functions,
    session: *mut c_void,
    apply: Apply,
}

impl Session {
    /// Opens a session. `key` is the master key followed by the master salt.
    pub(crate) fn open(
        build: Build,
        suite: Suite,
        key: &[u8],
        is_inbound: bool,
    ) -> Result<Self, Error> {
        let functions = Functions::of(build)?;
        let mut crypto = Crypto::default();
        let set = match suite {
            Suite::AesCm128HmacSha1_80 => functions.set_aes_cm,
            Suite::Aes128Gcm => functions.set_aes_gcm,
        };
        // SAFETY: the function only fills `crypto`.
        unsafe { set(&mut crypto) };
        let policy = Policy {
            ssrc_type: if is_inbound { 2 } else { 3 },
            ssrc: 0,
            rtp: crypto,
            rtcp: crypto,
            key: key.as_ptr(),
            keys: null(),
            keys_count: 0,
            deprecated: null(),
            window: 128,
            allow_repeat: 0,
            encrypted_extensions: null(),
            encrypted_extensions_count: 0,
            next: null(),
        };
        let mut session = null_mut();
        // SAFETY: the policy and the key outlive the call.
        if unsafe { (functions.create)(&mut session, &policy) } != 0 {
            return Err(Error::Unavailable(format!("this libsrtp2 lacks {suite:?}")));
        }
        Ok(Self {
            functions,
            session,
            apply: if is_inbound {
                functions.unprotect
            } else {
                functions.protect
            },
        })
    }

    /// Protects or unprotects the first `bytes` of `buffer`, which has room for 16 more. Returns the new number of bytes, or
    /// `None` if the library refuses the packet.
    #[inline]
    pub(crate) fn apply(&mut self, buffer: &mut [u8], bytes: usize) -> Option<usize> {
        assert!(bytes + 16 <= buffer.len());
        let mut bytes = bytes as c_int;
        // SAFETY: the session is open, and the buffer has `bytes` bytes and room for a tag of either suite.
        let status = unsafe { (self.apply)(self.session, buffer.as_mut_ptr(), &mut bytes) };
        (status == 0).then_some(bytes as usize)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: srtp_create made the session, and nothing uses it any more.
        unsafe { (self.functions.dealloc)(self.session) };
    }
}
