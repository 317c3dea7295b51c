//! Symmetric keys as objects (openssl/evp.h since 3.5).

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use super::libcrypto::{Cipher, Context, Libcrypto, Param, libcrypto};

/// Declares the functions.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        #[allow(non_snake_case)]
        pub struct SymmetricKeys {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl SymmetricKeys {
            /// Returns `None` if libcrypto is too old.
            pub fn load(libcrypto: &Libcrypto) -> Option<Self> {
                Some(Self {
                    // SAFETY: the types match the headers of OpenSSL 3.5 and 4.
                    $($name: unsafe { libcrypto.later_function(stringify!($name)) }?,)+
                })
            }
        }
    };
}

type Callback = extern "C" fn(*const Param, *mut c_void) -> c_int;

functions! {
    EVP_SKEY_import: fn(*mut c_void, *const c_char, *const c_char, c_int, *const Param) -> *mut c_void;
    EVP_SKEY_generate: fn(*mut c_void, *const c_char, *const c_char, *const Param) -> *mut c_void;
    EVP_SKEY_export: fn(*const c_void, c_int, Callback, *mut c_void) -> c_int;
    EVP_SKEY_get0_raw_key: fn(*const c_void, *mut *const u8, *mut usize) -> c_int;
    EVP_SKEY_get0_key_id: fn(*const c_void) -> *const c_char;
    EVP_SKEY_get0_provider_name: fn(*const c_void) -> *const c_char;
    EVP_SKEY_is_a: fn(*const c_void, *const c_char) -> c_int;
    EVP_SKEY_to_provider: fn(*mut c_void, *mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_SKEY_free: fn(*mut c_void);
    EVP_CipherInit_SKEY: fn(*mut c_void, *const c_void, *const c_void, *const u8, usize, c_int, *const Param) -> c_int;
}

/// OSSL_SKEYMGMT_SELECT_*.
pub const SELECT_PARAMETERS: c_int = 1;
pub const SELECT_SECRET_KEY: c_int = 2;
pub const SELECT_ALL: c_int = 3;

impl SymmetricKeys {
    /// Imports a key of one type with the key management that `query` finds.
    pub fn import(
        &self,
        kind: &str,
        query: Option<&str>,
        selection: c_int,
        params: &[Param],
    ) -> Option<SecretKey<'_>> {
        assert!(params.last().is_some_and(|last| last.key.is_null()));
        let (kind, query) = (text(kind), query.map(text));
        let query = query.as_deref().map_or(null(), CStr::as_ptr);
        let context = libcrypto().library_context();
        let import = self.EVP_SKEY_import;
        // SAFETY: the texts are NUL-terminated, and the parameters end with END.
        self.made(unsafe { import(context, kind.as_ptr(), query, selection, params.as_ptr()) })
    }

    /// Creates a key from its octets.
    pub fn of(&self, kind: &str, query: Option<&str>, octets: &[u8]) -> Option<SecretKey<'_>> {
        let place = octets.as_ptr().cast_mut();
        let param = Param::new(c"raw-bytes", Param::OCTET_STRING, place, octets.len());
        self.import(kind, query, SELECT_SECRET_KEY, &[param, Param::END])
    }

    pub fn generate(&self, kind: &str, query: &str) -> Option<SecretKey<'_>> {
        let (kind, query) = (text(kind), text(query));
        let context = libcrypto().library_context();
        let generate = self.EVP_SKEY_generate;
        // SAFETY: both texts are NUL-terminated, and the parameters end with END.
        self.made(unsafe { generate(context, kind.as_ptr(), query.as_ptr(), &Param::END) })
    }

    /// Calls `EVP_CipherInit_ex2` with such a key.
    pub fn init(
        &self,
        context: &Context,
        cipher: Option<&Cipher>,
        key: Option<&SecretKey<'_>>,
        iv: Option<&[u8]>,
        encrypts: i32,
    ) -> i32 {
        let cipher = cipher.map_or(null(), Cipher::as_ptr);
        let key = key.map_or(null(), |key| key.key.cast_const());
        let (iv, bytes) = iv.map_or((null(), 0), |iv| (iv.as_ptr(), iv.len()));
        let init = self.EVP_CipherInit_SKEY;
        // SAFETY: the context is live; cipher and key are live or null; the IV is null or has `bytes` bytes.
        unsafe { init(context.as_ptr(), cipher, key, iv, bytes, encrypts, null()) }
    }

    fn made(&self, key: *mut c_void) -> Option<SecretKey<'_>> {
        (!key.is_null()).then_some(SecretKey {
            functions: self,
            key,
        })
    }
}

/// Parameters by their keys.
type Exported = Vec<(String, Vec<u8>)>;

/// EVP_SKEY.
pub struct SecretKey<'a> {
    functions: &'a SymmetricKeys,
    key: *mut c_void,
}

impl SecretKey<'_> {
    /// Returns what an export passes, for each of its calls, and its result.
    pub fn export(&self, selection: c_int) -> (Vec<Exported>, i32) {
        type Seen = Vec<Exported>;
        extern "C" fn note(mut at: *const Param, seen: *mut c_void) -> c_int {
            let mut params = Vec::new();
            // SAFETY: the array ends with an entry without a key, and the data has that size.
            unsafe {
                while !(*at).key.is_null() {
                    let key = CStr::from_ptr((*at).key).to_str().unwrap().to_owned();
                    assert_eq!((*at).data_type, Param::OCTET_STRING, "{key}");
                    let data = std::slice::from_raw_parts((*at).data.cast(), (*at).data_bytes);
                    params.push((key, data.to_vec()));
                    at = at.add(1);
                }
                (*seen.cast::<Seen>()).push(params);
            }
            1
        }
        let mut seen = Seen::new();
        let place = std::ptr::from_mut(&mut seen).cast();
        // SAFETY: the key is live, and `note` uses `place` as the `Seen` that it points to during this call.
        let done = unsafe { (self.functions.EVP_SKEY_export)(self.key, selection, note, place) };
        (seen, done)
    }

    pub fn octets(&self) -> Option<Vec<u8>> {
        let (mut octets, mut bytes) = (null(), 0);
        let get = self.functions.EVP_SKEY_get0_raw_key;
        // SAFETY: the key is live, and both places belong to this function.
        let done = unsafe { get(self.key, &mut octets, &mut bytes) };
        // SAFETY: after a success, OpenSSL has set `octets` to `bytes` bytes that the live key owns.
        (done == 1).then(|| unsafe { std::slice::from_raw_parts(octets, bytes) }.to_vec())
    }

    pub fn has_id(&self) -> bool {
        // SAFETY: the key is live, and the result is only compared with null.
        !unsafe { (self.functions.EVP_SKEY_get0_key_id)(self.key) }.is_null()
    }

    pub fn provider(&self) -> String {
        // SAFETY: the key is live.
        let name = unsafe { (self.functions.EVP_SKEY_get0_provider_name)(self.key) };
        // SAFETY: the name is NUL-terminated and lives as long as the key's provider.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned()
    }

    pub fn is_a(&self, kind: &str) -> bool {
        let kind = text(kind);
        // SAFETY: the key is live, and the name is NUL-terminated.
        unsafe { (self.functions.EVP_SKEY_is_a)(self.key, kind.as_ptr()) == 1 }
    }

    /// Returns the same key in the provider that `query` finds.
    pub fn moved(&self, query: &str) -> Option<Self> {
        let (context, query) = (libcrypto().library_context(), text(query));
        let to = self.functions.EVP_SKEY_to_provider;
        // SAFETY: key and library context are live, and the query is NUL-terminated.
        let key = unsafe { to(self.key, context, null_mut(), query.as_ptr()) };
        (!key.is_null()).then_some(Self {
            functions: self.functions,
            key,
        })
    }
}

impl Drop for SecretKey<'_> {
    fn drop(&mut self) {
        // SAFETY: the key is live, and this handle is dropped.
        unsafe { (self.functions.EVP_SKEY_free)(self.key) };
    }
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}
