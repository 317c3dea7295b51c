//! A libcrypto, loaded as a program would, with the default provider and Oarlock's in one library context. Oarlock's is the
//! one that the target is linked with, so that the fuzzer sees which way it goes.

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::LazyLock;

use libloading::Library;

use super::param::Param;
use crate::{files, panics};

/// The two providers, as properties to fetch by.
pub(super) const SIDES: [&CStr; 2] = [c"provider=default", c"provider=oarlock"];

/// The same as a preference, for what is fetched on behalf of a key: digests are the default provider's alone.
pub(super) const PREFERRED: [&CStr; 2] = [c"?provider=default", c"?provider=oarlock"];

/// Library and reason of each error that a call has raised.
pub(crate) type Errors = Vec<(u32, u32)>;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// Functions by their names in the manual.
        #[allow(non_snake_case)]
        pub(super) struct Libcrypto {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            /// The library context with both providers.
            pub(super) context: *mut c_void,
            /// Stays loaded.
            _library: Library,
        }

        impl Libcrypto {
            fn open() -> Self {
                let file = file();
                // SAFETY: a libcrypto, whose initializers any process may run.
                let library = unsafe { Library::new(&file) };
                let library = library.unwrap_or_else(|error| panic!("{file}: {error}: install libssl3"));
                Self {
                    // SAFETY: functions of these names have these types in the headers of OpenSSL 3 and 4.
                    $($name: unsafe { *library.get(stringify!($name)).expect(stringify!($name)) },)+
                    context: null_mut(),
                    _library: library,
                }
            }
        }
    };
}

functions! {
    ERR_get_error: fn() -> c_ulong;
    OSSL_LIB_CTX_new: fn() -> *mut c_void;
    OSSL_LIB_CTX_load_config: fn(*mut c_void, *const c_char) -> c_int;
    OSSL_PROVIDER_add_builtin: fn(*mut c_void, *const c_char, *const c_void) -> c_int;
    OSSL_PROVIDER_available: fn(*mut c_void, *const c_char) -> c_int;
    OSSL_PARAM_free: fn(*mut Param);
    EVP_KDF_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KDF_free: fn(*mut c_void);
    EVP_KDF_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_KDF_CTX_free: fn(*mut c_void);
    EVP_KDF_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_KDF_CTX_reset: fn(*mut c_void);
    EVP_KDF_CTX_get_kdf_size: fn(*mut c_void) -> usize;
    EVP_KDF_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_KDF_derive: fn(*mut c_void, *mut u8, usize, *const Param) -> c_int;
    EVP_MAC_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MAC_free: fn(*mut c_void);
    EVP_MAC_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_MAC_CTX_free: fn(*mut c_void);
    EVP_MAC_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_MAC_CTX_get_mac_size: fn(*mut c_void) -> usize;
    EVP_MAC_CTX_get_block_size: fn(*mut c_void) -> usize;
    EVP_MAC_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_MAC_init: fn(*mut c_void, *const u8, usize, *const Param) -> c_int;
    EVP_MAC_update: fn(*mut c_void, *const u8, usize) -> c_int;
    EVP_MAC_final: fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int;
    EVP_MD_CTX_new: fn() -> *mut c_void;
    EVP_MD_CTX_free: fn(*mut c_void);
    EVP_DigestVerifyInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
    EVP_DigestVerifyUpdate: fn(*mut c_void, *const c_void, usize) -> c_int;
    EVP_DigestVerifyFinal: fn(*mut c_void, *const u8, usize) -> c_int;
    EVP_KEYMGMT_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KEYMGMT_free: fn(*mut c_void);
    EVP_PKEY_free: fn(*mut c_void);
    EVP_PKEY_dup: fn(*mut c_void) -> *mut c_void;
    EVP_PKEY_eq: fn(*const c_void, *const c_void) -> c_int;
    EVP_PKEY_new_raw_public_key_ex: fn(*mut c_void, *const c_char, *const c_char, *const u8, usize) -> *mut c_void;
    EVP_PKEY_new_raw_private_key_ex: fn(*mut c_void, *const c_char, *const c_char, *const u8, usize) -> *mut c_void;
    EVP_PKEY_set1_encoded_public_key: fn(*mut c_void, *const u8, usize) -> c_int;
    EVP_PKEY_get_octet_string_param: fn(*const c_void, *const c_char, *mut u8, usize, *mut usize) -> c_int;
    EVP_PKEY_set_params: fn(*mut c_void, *mut Param) -> c_int;
    EVP_PKEY_get_params: fn(*const c_void, *mut Param) -> c_int;
    EVP_PKEY_fromdata_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_fromdata: fn(*mut c_void, *mut *mut c_void, c_int, *mut Param) -> c_int;
    EVP_PKEY_todata: fn(*const c_void, c_int, *mut *mut Param) -> c_int;
    EVP_PKEY_paramgen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_generate: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_CTX_new_from_name: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_new_from_pkey: fn(*mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_free: fn(*mut c_void);
    EVP_PKEY_sign_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_sign: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_verify_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_verify: fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int;
    EVP_PKEY_derive_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_derive_set_peer: fn(*mut c_void, *mut c_void) -> c_int;
    EVP_PKEY_derive: fn(*mut c_void, *mut u8, *mut usize) -> c_int;
    EVP_PKEY_encapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_encapsulate: fn(*mut c_void, *mut u8, *mut usize, *mut u8, *mut usize) -> c_int;
    EVP_PKEY_decapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_decapsulate: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_get_size: fn(*const c_void) -> c_int;
    EVP_PKEY_get_bits: fn(*const c_void) -> c_int;
    EVP_PKEY_get_security_bits: fn(*const c_void) -> c_int;
}

// SAFETY: functions, and a library context that is safe for use by threads at once.
unsafe impl Send for Libcrypto {}
// SAFETY: functions never change, and threads may share the library context.
unsafe impl Sync for Libcrypto {}

/// The library, loaded at the first call.
pub(super) fn libcrypto() -> &'static Libcrypto {
    static LIBCRYPTO: LazyLock<Libcrypto> = LazyLock::new(|| Libcrypto::open().with_providers());
    &LIBCRYPTO
}

/// What this thread's calls have raised since the last look.
pub(super) fn errors() -> Errors {
    let mut errors = Vec::new();
    loop {
        // SAFETY: it takes nothing: the queue is this thread's.
        match unsafe { (libcrypto().ERR_get_error)() } {
            0 => return errors,
            code => errors.push(((code >> 23) as u32 & 0xff, code as u32 & 0x7f_ffff)),
        }
    }
}

/// Whether the default provider has keys of this name: of hybrids, since release 3.5.
pub(crate) fn has_default(name: &CStr) -> bool {
    let libcrypto = libcrypto();
    // SAFETY: a live library context, and texts that end with a zero.
    let found = unsafe {
        (libcrypto.EVP_KEYMGMT_fetch)(libcrypto.context, name.as_ptr(), SIDES[0].as_ptr())
    };
    // SAFETY: null or what was fetched, which nobody else has.
    unsafe { (libcrypto.EVP_KEYMGMT_free)(found) };
    errors();
    !found.is_null()
}

impl Libcrypto {
    fn with_providers(mut self) -> Self {
        let configuration = files::memory(CONFIGURATION.as_bytes());
        let path = format!("/proc/self/fd/{}", configuration.as_raw_fd());
        let path = CString::new(path).expect("no zero");
        let init = oarlock_provider::OSSL_provider_init as *const c_void;
        // The provider silences panics, which are caught at its edge.
        panics::keeping_hook(|| {
            // SAFETY: a new library context, which is never freed; texts that end with a zero; a provider's entry point.
            unsafe {
                self.context = (self.OSSL_LIB_CTX_new)();
                let added = (self.OSSL_PROVIDER_add_builtin)(self.context, NAME.as_ptr(), init);
                assert_eq!(added, 1);
                let loaded = (self.OSSL_LIB_CTX_load_config)(self.context, path.as_ptr());
                assert_eq!(loaded, 1);
                for name in [NAME, c"default"] {
                    let available = (self.OSSL_PROVIDER_available)(self.context, name.as_ptr());
                    assert_eq!(available, 1, "{name:?}");
                }
            }
        });
        self
    }
}

/// What the loader finds libcrypto by: the machine's, or that of another OpenSSL.
fn file() -> String {
    let Some(folder) = std::env::var_os("OARLOCK_TEST_OPENSSL") else {
        return "libcrypto.so.3".into();
    };
    let files = ["libcrypto.so.4", "libcrypto.so.3"].map(|file| Path::new(&folder).join(file));
    let found = files.iter().find(|file| file.exists());
    let found = found.unwrap_or_else(|| panic!("{} holds no libcrypto", folder.display()));
    found.display().to_string()
}

const NAME: &CStr = c"oarlock";
const CONFIGURATION: &str = "openssl_conf = openssl_init
[openssl_init]
providers = providers
[providers]
default = default_provider
oarlock = oarlock_provider
[default_provider]
activate = 1
[oarlock_provider]
options = \"offer=all,max_threads=0\"
post-quantum = yes
activate = 1
";
