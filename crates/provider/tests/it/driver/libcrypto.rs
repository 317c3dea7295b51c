//! The libcrypto functions that the tests call (openssl/evp.h, provider.h, err.h).

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
use std::io::Write;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::Library;
use oarlock_engine::costs::Usage;

use crate::host::{TEST_OPTIONS, libcrypto_file, module};

/// Returns a configuration with which a program uses the provider.
pub fn configuration(options: &str) -> String {
    let more = std::env::var(TEST_OPTIONS).unwrap_or_default();
    format!(
        "openssl_conf = openssl_init\n\
         [openssl_init]\n\
         providers = providers\n\
         alg_section = algorithms\n\
         [providers]\n\
         default = default_provider\n\
         oarlock = oarlock_provider\n\
         [default_provider]\n\
         activate = 1\n\
         [oarlock_provider]\n\
         module = {}\n\
         options = offer=all,{options},{more}\n\
         post-quantum = yes\n\
         activate = 1\n\
         [algorithms]\n\
         default_properties = ?provider=oarlock\n",
        module().display()
    )
}

/// Declares the libcrypto functions that a part of the tests calls.
macro_rules! evp_functions {
    ($table:ident: $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        #[allow(non_snake_case)]
        pub struct $table {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl $table {
            pub fn load(libcrypto: &$crate::driver::Libcrypto) -> Self {
                Self {
                    // SAFETY: the types match the headers of OpenSSL 3 and 4.
                    $($name: unsafe { libcrypto.later_function(stringify!($name)) }.expect(stringify!($name)),)+
                }
            }
        }
    };
}
pub(crate) use evp_functions;

/// Returns the library, with the default provider and ours in one library context.
pub fn libcrypto() -> &'static Libcrypto {
    static LIBCRYPTO: OnceLock<Libcrypto> = OnceLock::new();
    LIBCRYPTO.get_or_init(Libcrypto::load)
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        #[allow(non_snake_case)]
        pub struct Libcrypto {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            /// The contexts with both providers; in the second one, ours offers only what gains from stripes.
            contexts: [*mut c_void; 2],
            library: Library,
        }

        impl Libcrypto {
            fn load() -> Self {
                // SAFETY: any process may load a libcrypto.
                let library = unsafe { Library::new(libcrypto_file()) }.expect("libssl3");
                Self {
                    // SAFETY: the types match the headers of OpenSSL 3 and 4.
                    $($name: unsafe { *library.get(stringify!($name)).expect(stringify!($name)) },)+
                    contexts: [null_mut(); 2],
                    library,
                }
                .with_providers()
            }
        }
    };
}

functions! {
    OpenSSL_version_num: fn() -> c_ulong;
    OSSL_LIB_CTX_new: fn() -> *mut c_void;
    OSSL_LIB_CTX_load_config: fn(*mut c_void, *const c_char) -> c_int;
    ERR_get_error: fn() -> c_ulong;
    EVP_CIPHER_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_CIPHER_free: fn(*mut c_void);
    EVP_CIPHER_get_nid: fn(*const c_void) -> c_int;
    EVP_CIPHER_get_block_size: fn(*const c_void) -> c_int;
    EVP_CIPHER_get_key_length: fn(*const c_void) -> c_int;
    EVP_CIPHER_get_iv_length: fn(*const c_void) -> c_int;
    EVP_CIPHER_get_mode: fn(*const c_void) -> c_int;
    EVP_CIPHER_get_flags: fn(*const c_void) -> c_ulong;
    EVP_CIPHER_get_type: fn(*const c_void) -> c_int;
    EVP_CIPHER_names_do_all: fn(*const c_void, extern "C" fn(*const c_char, *mut c_void), *mut c_void) -> c_int;
    EVP_CIPHER_gettable_params: fn(*const c_void) -> *const Param;
    EVP_CIPHER_gettable_ctx_params: fn(*const c_void) -> *const Param;
    EVP_CIPHER_settable_ctx_params: fn(*const c_void) -> *const Param;
    EVP_CIPHER_CTX_new: fn() -> *mut c_void;
    EVP_CIPHER_CTX_free: fn(*mut c_void);
    EVP_CIPHER_CTX_copy: fn(*mut c_void, *const c_void) -> c_int;
    EVP_CipherInit_ex2: fn(*mut c_void, *const c_void, *const u8, *const u8, c_int, *const Param) -> c_int;
    EVP_CipherUpdate: fn(*mut c_void, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
    EVP_CipherFinal_ex: fn(*mut c_void, *mut u8, *mut c_int) -> c_int;
    EVP_Cipher: fn(*mut c_void, *mut u8, *const u8, c_uint) -> c_int;
    EVP_CIPHER_CTX_ctrl: fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int;
    EVP_CIPHER_CTX_get_params: fn(*mut c_void, *mut Param) -> c_int;
    EVP_CIPHER_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_CIPHER_CTX_set_padding: fn(*mut c_void, c_int) -> c_int;
    EVP_CIPHER_CTX_set_key_length: fn(*mut c_void, c_int) -> c_int;
    EVP_CIPHER_CTX_get_key_length: fn(*const c_void) -> c_int;
    EVP_CIPHER_CTX_get_iv_length: fn(*const c_void) -> c_int;
    EVP_CIPHER_CTX_get_tag_length: fn(*const c_void) -> c_int;
    EVP_CIPHER_CTX_get_block_size: fn(*const c_void) -> c_int;
    EVP_CIPHER_CTX_get_num: fn(*const c_void) -> c_int;
    EVP_CIPHER_CTX_set_num: fn(*mut c_void, c_int) -> c_int;
    EVP_CIPHER_CTX_get_updated_iv: fn(*mut c_void, *mut c_void, usize) -> c_int;
    EVP_CIPHER_CTX_get_original_iv: fn(*mut c_void, *mut c_void, usize) -> c_int;
    EVP_CIPHER_CTX_is_encrypting: fn(*const c_void) -> c_int;
}

// SAFETY: the functions and the library context may be used by several threads at once.
unsafe impl Send for Libcrypto {}
// SAFETY: functions never change, and the library context may be shared.
unsafe impl Sync for Libcrypto {}

impl Libcrypto {
    fn with_providers(mut self) -> Self {
        self.contexts =
            ["", "strategy=stripe"].map(|options| self.configured(&configuration(options)));
        self
    }

    /// Returns a new library context with this configuration, which is never freed.
    fn configured(&self, configuration: &str) -> *mut c_void {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(configuration.as_bytes()).unwrap();
        let name = CString::new(file.path().to_str().unwrap()).unwrap();
        // SAFETY: the text is NUL-terminated, and the context is never freed.
        unsafe {
            let context = (self.OSSL_LIB_CTX_new)();
            assert_eq!((self.OSSL_LIB_CTX_load_config)(context, name.as_ptr()), 1);
            context
        }
    }

    /// Returns another library context with both providers, and counters of what ours computes itself in it.
    pub fn counting_context(&self) -> (*mut c_void, Usage) {
        let folder = tempfile::tempdir().unwrap();
        let counters = folder.path().join("usage");
        let usage = Usage::create(&counters).unwrap();
        let stats = format!("[oarlock_provider]\nstats = {}\n", counters.display());
        (self.configured(&(configuration("") + &stats)), usage)
    }

    /// Returns the release's major and minor number.
    pub fn release(&self) -> (u32, u32) {
        let [major, minor, _] = self.version();
        (major, minor)
    }

    /// Whether this release has what came with one of `releases`: the first of each series that has it, in order. An
    /// unlisted series has it if it is newer than all listed ones.
    pub fn has(&self, releases: &[[u32; 3]]) -> bool {
        let version = self.version();
        let of_series = releases.iter().find(|first| first[..2] == version[..2]);
        of_series
            .or(releases.last())
            .is_none_or(|first| version >= *first)
    }

    fn version(&self) -> [u32; 3] {
        // SAFETY: OpenSSL_version_num has no parameters.
        let number = unsafe { (self.OpenSSL_version_num)() };
        [number >> 28, number >> 20 & 0xff, number >> 4 & 0xff].map(|part| part as u32)
    }

    /// Returns a function that not every release has.
    ///
    /// # Safety
    /// `T` is the function's type.
    pub unsafe fn later_function<T: Copy>(&self, name: &str) -> Option<T> {
        // SAFETY: the caller guarantees the function's type.
        unsafe { self.library.get::<T>(name) }
            .ok()
            .map(|function| *function)
    }

    /// Returns the library context with both providers, for calls that nothing here wraps.
    pub fn library_context(&self) -> *mut c_void {
        self.contexts[0]
    }

    /// Returns library and reason of every error of this thread since the last call.
    pub fn errors(&self) -> Vec<(u32, u32)> {
        let mut errors = Vec::new();
        loop {
            // SAFETY: ERR_get_error has no parameters, and the queue is this thread's.
            match unsafe { (self.ERR_get_error)() } {
                0 => return errors,
                code => errors.push(((code >> 23) as u32 & 0xff, code as u32 & 0x7f_ffff)),
            }
        }
    }

    /// Fetches an algorithm of the provider `default` or `oarlock`.
    pub fn fetch(&'static self, name: &str, provider: &str) -> Cipher {
        self.fetch_as(name, provider, name.starts_with("CAMELLIA"))
    }

    /// Like [`fetch`](Self::fetch); with `has_stripes`, ours runs long requests in stripes.
    pub fn fetch_as(&'static self, name: &str, provider: &str, has_stripes: bool) -> Cipher {
        let context = self.contexts[usize::from(has_stripes)];
        let name = CString::new(name).unwrap();
        let properties = CString::new(format!("provider={provider}")).unwrap();
        let (text, properties) = (name.as_ptr(), properties.as_c_str());
        // SAFETY: the context is live, and both texts are NUL-terminated.
        let cipher = unsafe { (self.EVP_CIPHER_fetch)(context, text, properties.as_ptr()) };
        assert!(
            !cipher.is_null(),
            "{provider} has no {name:?}: {:?}",
            self.errors()
        );
        Cipher {
            libcrypto: self,
            cipher,
        }
    }
}

/// OSSL_PARAM.
#[repr(C)]
pub struct Param {
    pub key: *const c_char,
    pub data_type: c_uint,
    pub data: *mut c_void,
    pub data_bytes: usize,
    pub return_bytes: usize,
}

impl Param {
    pub const INTEGER: c_uint = 1;
    pub const UNSIGNED_INTEGER: c_uint = 2;
    pub const UTF8_STRING: c_uint = 4;
    pub const OCTET_STRING: c_uint = 5;
    pub const OCTET_PTR: c_uint = 7;
    pub const UNMODIFIED: usize = usize::MAX;
    pub const END: Self = Self {
        key: null(),
        data_type: 0,
        data: null_mut(),
        data_bytes: 0,
        return_bytes: 0,
    };

    pub fn new(key: &CStr, data_type: c_uint, data: *mut u8, data_bytes: usize) -> Self {
        Self {
            key: key.as_ptr(),
            data_type,
            data: data.cast(),
            data_bytes,
            return_bytes: Self::UNMODIFIED,
        }
    }

    /// Returns a parameter that passes a text, which must outlive its use.
    pub fn text(key: &CStr, text: &CStr) -> Self {
        let place = text.as_ptr().cast_mut().cast();
        Self::new(key, Self::UTF8_STRING, place, text.count_bytes())
    }

    /// Returns a parameter that passes octets, which must outlive its use.
    pub fn octets(key: &CStr, octets: &[u8]) -> Self {
        let place = octets.as_ptr().cast_mut();
        Self::new(key, Self::OCTET_STRING, place, octets.len())
    }

    /// Returns keys and types of a list of gettable or settable parameters, by key.
    ///
    /// # Safety
    /// `at` is null or such a list, which is terminated.
    pub unsafe fn listed(mut at: *const Self) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        // SAFETY: the list ends with an entry without a key; keys are NUL-terminated.
        unsafe {
            while !at.is_null() && !(*at).key.is_null() {
                let key = CStr::from_ptr((*at).key).to_str().unwrap().to_owned();
                found.push((key, (*at).data_type));
                at = at.add(1);
            }
        }
        found.sort();
        found
    }
}

/// EVP_CIPHER.
pub struct Cipher {
    libcrypto: &'static Libcrypto,
    cipher: *mut c_void,
}

impl Cipher {
    pub fn as_ptr(&self) -> *const c_void {
        self.cipher
    }

    pub fn key_bytes(&self) -> usize {
        // SAFETY: the cipher is live, and its key has a length.
        unsafe { (self.libcrypto.EVP_CIPHER_get_key_length)(self.cipher) as usize }
    }

    /// Returns what EVP reports about the algorithm.
    pub fn description(&self) -> String {
        let lib = self.libcrypto;
        // SAFETY: the cipher is live, and its descriptions are NUL-terminated.
        unsafe {
            format!(
                "nid {} type {} block {} key {} iv {} mode {} flags {:x}",
                (lib.EVP_CIPHER_get_nid)(self.cipher),
                (lib.EVP_CIPHER_get_type)(self.cipher),
                (lib.EVP_CIPHER_get_block_size)(self.cipher),
                (lib.EVP_CIPHER_get_key_length)(self.cipher),
                (lib.EVP_CIPHER_get_iv_length)(self.cipher),
                (lib.EVP_CIPHER_get_mode)(self.cipher),
                (lib.EVP_CIPHER_get_flags)(self.cipher),
            )
        }
    }

    pub fn names(&self) -> Vec<String> {
        extern "C" fn add(name: *const c_char, names: *mut c_void) {
            // SAFETY: the text is NUL-terminated, and the place is the vector below.
            unsafe {
                let name = CStr::from_ptr(name).to_str().unwrap().to_uppercase();
                (*names.cast::<Vec<String>>()).push(name);
            }
        }
        let mut names: Vec<String> = Vec::new();
        let place = std::ptr::from_mut(&mut names).cast();
        // SAFETY: the cipher is live, and `add` expects the vector.
        unsafe { (self.libcrypto.EVP_CIPHER_names_do_all)(self.cipher, add, place) };
        names.sort();
        names
    }

    /// Returns the parameters that can be got, got from a context, and set on a context.
    pub fn listed(&self) -> [Vec<(String, u32)>; 3] {
        let lib = self.libcrypto;
        // SAFETY: the cipher is live, and its parameter lists are terminated.
        unsafe {
            [
                Param::listed((lib.EVP_CIPHER_gettable_params)(self.cipher)),
                Param::listed((lib.EVP_CIPHER_gettable_ctx_params)(self.cipher)),
                Param::listed((lib.EVP_CIPHER_settable_ctx_params)(self.cipher)),
            ]
        }
    }

    /// Returns a context with only this cipher set.
    pub fn context(&self) -> Context {
        let context = Context::empty(self.libcrypto);
        assert_eq!(context.init(Some(self), None, None, -1), 1);
        context
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: the cipher is live, and this is the last use of it.
        unsafe { (self.libcrypto.EVP_CIPHER_free)(self.cipher) };
    }
}

/// EVP_CIPHER_CTX. EVP's rules for lengths apply to every function: a test that breaks one is itself faulty.
pub struct Context {
    libcrypto: &'static Libcrypto,
    context: *mut c_void,
}

impl Context {
    pub fn as_ptr(&self) -> *mut c_void {
        self.context
    }

    pub fn empty(libcrypto: &'static Libcrypto) -> Self {
        // SAFETY: EVP_CIPHER_CTX_new has no parameters.
        let context = unsafe { (libcrypto.EVP_CIPHER_CTX_new)() };
        assert!(!context.is_null());
        Self { libcrypto, context }
    }

    /// Initializes: 1 encrypts, 0 decrypts, -1 keeps the direction.
    pub fn init(
        &self,
        cipher: Option<&Cipher>,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        encrypts: i32,
    ) -> i32 {
        self.init_with(cipher, key, iv, encrypts, null())
    }

    pub fn init_with(
        &self,
        cipher: Option<&Cipher>,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        encrypts: i32,
        params: *const Param,
    ) -> i32 {
        let cipher = cipher.map_or(null(), |cipher| cipher.cipher.cast_const());
        let key = key.map_or(null(), <[u8]>::as_ptr);
        let iv = iv.map_or(null(), <[u8]>::as_ptr);
        // SAFETY: the context is live; the test passes a key and an IV of the cipher's lengths, and terminated parameters.
        unsafe {
            (self.libcrypto.EVP_CipherInit_ex2)(self.context, cipher, key, iv, encrypts, params)
        }
    }

    pub fn update(&self, output: *mut u8, written: &mut i32, input: *const u8, bytes: i32) -> i32 {
        // SAFETY: the context is live; the test has `bytes` of input, and room for that and a block.
        unsafe { (self.libcrypto.EVP_CipherUpdate)(self.context, output, written, input, bytes) }
    }

    pub fn finish(&self, output: *mut u8, written: &mut i32) -> i32 {
        // SAFETY: the context is live; the test has room for a block.
        unsafe { (self.libcrypto.EVP_CipherFinal_ex)(self.context, output, written) }
    }

    pub fn cipher(&self, output: *mut u8, input: *const u8, bytes: usize) -> i32 {
        // SAFETY: the context is live; the test has `bytes` at each place that is not null.
        unsafe { (self.libcrypto.EVP_Cipher)(self.context, output, input, bytes as c_uint) }
    }

    pub fn ctrl(&self, what: i32, argument: i32, place: *mut u8) -> i32 {
        // SAFETY: the context is live; the test has `argument` bytes at the place if the command uses one.
        unsafe { (self.libcrypto.EVP_CIPHER_CTX_ctrl)(self.context, what, argument, place.cast()) }
    }

    pub fn copy(&self) -> (Self, i32) {
        let copy = Self::empty(self.libcrypto);
        // SAFETY: both contexts are live.
        let done = unsafe { (self.libcrypto.EVP_CIPHER_CTX_copy)(copy.context, self.context) };
        (copy, done)
    }

    pub fn set_padding(&self, padding: i32) -> i32 {
        // SAFETY: the context is live, and accepts any number for its padding.
        unsafe { (self.libcrypto.EVP_CIPHER_CTX_set_padding)(self.context, padding) }
    }

    pub fn set_key_bytes(&self, bytes: i32) -> i32 {
        // SAFETY: the context is live, and refuses a length that its cipher does not have.
        unsafe { (self.libcrypto.EVP_CIPHER_CTX_set_key_length)(self.context, bytes) }
    }

    pub fn set_num(&self, num: i32) -> i32 {
        // SAFETY: the context is live; its treatment of the number is what is tested.
        unsafe { (self.libcrypto.EVP_CIPHER_CTX_set_num)(self.context, num) }
    }

    /// Returns key, IV, tag and block length, num, and whether it encrypts; -1 if EVP has none.
    pub fn numbers(&self) -> [i32; 6] {
        let lib = self.libcrypto;
        // SAFETY: the context is live, and these calls only read it.
        unsafe {
            [
                (lib.EVP_CIPHER_CTX_get_key_length)(self.context),
                (lib.EVP_CIPHER_CTX_get_iv_length)(self.context),
                (lib.EVP_CIPHER_CTX_get_tag_length)(self.context),
                (lib.EVP_CIPHER_CTX_get_block_size)(self.context),
                (lib.EVP_CIPHER_CTX_get_num)(self.context),
                (lib.EVP_CIPHER_CTX_is_encrypting)(self.context),
            ]
        }
    }

    pub fn updated_iv(&self, iv: &mut [u8]) -> i32 {
        let get = self.libcrypto.EVP_CIPHER_CTX_get_updated_iv;
        // SAFETY: the context is live; the IV is written to a slice of this length.
        unsafe { get(self.context, iv.as_mut_ptr().cast(), iv.len()) }
    }

    pub fn original_iv(&self, iv: &mut [u8]) -> i32 {
        let get = self.libcrypto.EVP_CIPHER_CTX_get_original_iv;
        // SAFETY: the context is live; the IV fits the slice of this length.
        unsafe { get(self.context, iv.as_mut_ptr().cast(), iv.len()) }
    }

    /// Gets one parameter.
    pub fn get(&self, param: &mut Param) -> i32 {
        let mut params = [std::mem::replace(param, Param::END), Param::END];
        // SAFETY: the context is live; the parameters end with END, and each has room for its value.
        let done = unsafe {
            (self.libcrypto.EVP_CIPHER_CTX_get_params)(self.context, params.as_mut_ptr())
        };
        let [got, _] = params;
        *param = got;
        done
    }

    /// Sets one parameter.
    pub fn set(&self, param: Param) -> i32 {
        let params = [param, Param::END];
        // SAFETY: the context is live, and the parameters end with END.
        unsafe { (self.libcrypto.EVP_CIPHER_CTX_set_params)(self.context, params.as_ptr()) }
    }

    pub fn set_number(&self, key: &CStr, mut number: u32) -> i32 {
        let place = std::ptr::from_mut(&mut number).cast();
        self.set(Param::new(key, Param::UNSIGNED_INTEGER, place, 4))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `EVP_CIPHER_CTX_new` created the context, and nothing uses it any more.
        unsafe { (self.libcrypto.EVP_CIPHER_CTX_free)(self.context) };
    }
}
