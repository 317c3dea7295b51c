//! Functions of libcrypto, and a key in one of its contexts.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use libloading::Library;

use crate::cases::Direction;
use crate::error::Error;

/// The functions of the loaded library, which stays loaded as long as this lives.
pub struct Libcrypto {
    version: unsafe extern "C" fn(c_int) -> *const c_char,
    ctx_new: unsafe extern "C" fn() -> *mut c_void,
    ctx_free: unsafe extern "C" fn(*mut c_void),
    ctx_ctrl: unsafe extern "C" fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int,
    set_padding: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    encrypt: Functions,
    decrypt: Functions,
    library: Library,
}

/// The functions of one direction.
#[derive(Clone, Copy)]
struct Functions {
    init: unsafe extern "C" fn(
        *mut c_void,
        *const c_void,
        *mut c_void,
        *const c_uchar,
        *const c_uchar,
    ) -> c_int,
    update:
        unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int,
    end: unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut c_int) -> c_int,
}

impl Libcrypto {
    /// Loads the newest installed libcrypto.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if none is installed.
    pub fn load() -> Result<Self, Error> {
        let library = FILES
            .iter()
            // SAFETY: loading runs the initialisers of the system's own libcrypto, which may run in any process;
            // symbols stay local, so no other library's are replaced.
            .find_map(|file| unsafe { Library::new(*file) }.ok())
            .ok_or_else(|| {
                Error::Unavailable(format!(
                    "no {} on this machine: install libssl3 (libssl3t64 from Debian 13 on)",
                    FILES.join(", ")
                ))
            })?;
        Self::of(library)
    }

    /// Loads the library in the file `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        // SAFETY: as in `load`; the caller names the file and accepts that its initialisers run in this process.
        let library = unsafe { Library::new(path) };
        Self::of(library.map_err(|error| Error::Unavailable(error.to_string()))?)
    }

    fn of(library: Library) -> Result<Self, Error> {
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field's type is the function's in the headers of OpenSSL 1.1 to 4, and the library is
                // kept with it.
                *unsafe { library.get($name) }.map_err(|error| {
                    Error::Unavailable(format!("libcrypto is not OpenSSL's: {error}"))
                })?
            };
        }
        Ok(Self {
            version: symbol!("OpenSSL_version"),
            ctx_new: symbol!("EVP_CIPHER_CTX_new"),
            ctx_free: symbol!("EVP_CIPHER_CTX_free"),
            ctx_ctrl: symbol!("EVP_CIPHER_CTX_ctrl"),
            set_padding: symbol!("EVP_CIPHER_CTX_set_padding"),
            encrypt: Functions {
                init: symbol!("EVP_EncryptInit_ex"),
                update: symbol!("EVP_EncryptUpdate"),
                end: symbol!("EVP_EncryptFinal_ex"),
            },
            decrypt: Functions {
                init: symbol!("EVP_DecryptInit_ex"),
                update: symbol!("EVP_DecryptUpdate"),
                end: symbol!("EVP_DecryptFinal_ex"),
            },
            library,
        })
    }

    pub(crate) fn version(&self) -> String {
        self.version_text(0)
    }

    /// Returns the build date, as in "built on: Tue Jan 27 20:52:58 2026 UTC".
    pub(crate) fn built_on(&self) -> String {
        self.version_text(2)
    }

    fn version_text(&self, which: c_int) -> String {
        // SAFETY: the function accepts any number and returns a static string.
        let text = unsafe { (self.version)(which) };
        // SAFETY: it is NUL-terminated and lives as long as the library, which `self` keeps.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }

    /// Returns a function of the library.
    ///
    /// # Safety
    /// `T` is the type of the function of that name in OpenSSL's headers. Nothing derived from the function is used
    /// after `self` is dropped.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the library has no such function.
    pub unsafe fn function<T: Copy>(&self, name: &str) -> Result<T, Error> {
        // SAFETY: the caller vouches for the type.
        let symbol = unsafe { self.library.get::<T>(name) };
        symbol
            .map(|function| *function)
            .map_err(|_| Error::Unavailable(format!("libcrypto has no {name}")))
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    /// Returns the cipher of a function such as `EVP_aes_128_ctr`.
    fn cipher(&self, name: &str) -> Result<*const c_void, Error> {
        // SAFETY: functions of these names have had this type since OpenSSL 0.9.7.
        let function = unsafe {
            self.library
                .get::<unsafe extern "C" fn() -> *const c_void>(name)
        }
        .map_err(|_| Error::Unavailable(format!("libcrypto was built without {name}")))?;
        // SAFETY: it has no arguments and returns a static description of the cipher.
        Ok(unsafe { function() })
    }
}

/// A key in an EVP_CIPHER_CTX, for one direction, without padding. It owns the context: one thread at a time, as `&mut`
/// ensures.
pub struct Context {
    libcrypto: Arc<Libcrypto>,
    functions: Functions,
    ctx: *mut c_void,
    /// The world, which is dropped after the context.
    _world: Option<Rc<World>>,
}

/// An OSSL_LIB_CTX: its own providers and properties, independent of the process's configuration.
pub(crate) struct World {
    ctx: *mut c_void,
    fetch: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *const c_void,
    free_fetched: unsafe extern "C" fn(*const c_void),
    free: unsafe extern "C" fn(*mut c_void),
    libcrypto: Arc<Libcrypto>,
}

impl World {
    /// Creates a stock OpenSSL, or one as the file `configuration` sets it up. Requires OpenSSL 3.
    pub(crate) fn new(
        libcrypto: &Arc<Libcrypto>,
        configuration: Option<&Path>,
    ) -> Result<Rc<Self>, Error> {
        // SAFETY: the functions have these types in OpenSSL 3's headers, and `World` keeps the library that they belong
        // to.
        let (new, mut world, load) = unsafe {
            let new: unsafe extern "C" fn() -> *mut c_void =
                libcrypto.function("OSSL_LIB_CTX_new")?;
            let load: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int =
                libcrypto.function("OSSL_LIB_CTX_load_config")?;
            let world = Self {
                ctx: ptr::null_mut(),
                fetch: libcrypto.function("EVP_CIPHER_fetch")?,
                free_fetched: libcrypto.function("EVP_CIPHER_free")?,
                free: libcrypto.function("OSSL_LIB_CTX_free")?,
                libcrypto: Arc::clone(libcrypto),
            };
            (new, world, load)
        };
        // SAFETY: it has no arguments; null means failure, and freeing null does nothing.
        let ctx = unsafe { new() };
        world.ctx = ctx;
        if ctx.is_null() {
            return Err(Error::Failed("openssl: OSSL_LIB_CTX_new failed".to_owned()));
        }
        if let Some(path) = configuration {
            let file = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
            // SAFETY: the context is live and new, and the path ends with a NUL.
            if unsafe { load(ctx, file.as_ptr()) } != 1 {
                return Err(Error::Failed(format!(
                    "openssl does not take {}",
                    path.display()
                )));
            }
        }
        Ok(Rc::new(world))
    }
}

impl World {
    pub(crate) fn libcrypto(&self) -> &Libcrypto {
        &self.libcrypto
    }

    /// Returns the OSSL_LIB_CTX.
    pub(crate) fn ctx(&self) -> *mut c_void {
        self.ctx
    }

    /// Returns the text parameter `key` of the provider `name` (OSSL_PARAM(3), OSSL_PARAM_UTF8_PTR); `None` if there is
    /// no such provider or parameter.
    pub(crate) fn provider_text(&self, name: &CStr, key: &CStr) -> Result<Option<String>, Error> {
        // SAFETY: the functions have these types in OpenSSL 3's headers, and are used while `self` lives.
        let (load, unload, get) = unsafe {
            let load: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
                self.libcrypto.function("OSSL_PROVIDER_load")?;
            let unload: unsafe extern "C" fn(*mut c_void) -> c_int =
                self.libcrypto.function("OSSL_PROVIDER_unload")?;
            let get: unsafe extern "C" fn(*mut c_void, *mut Param) -> c_int =
                self.libcrypto.function("OSSL_PROVIDER_get_params")?;
            (load, unload, get)
        };
        let is_there: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int =
            // SAFETY: the function has this type in OpenSSL 3's headers, and is used while `self` lives.
            unsafe { self.libcrypto.function("OSSL_PROVIDER_available")? };
        // SAFETY: the context is live, and the name ends with a zero. Without this check OpenSSL would search its
        // module folder for the name.
        if unsafe { is_there(self.ctx, name.as_ptr()) } != 1 {
            return Ok(None);
        }
        let mut text: *const c_char = ptr::null();
        let mut params = [Param::utf8_place(key, &mut text), Param::END];
        // SAFETY: the context is live; the provider is unloaded once; the array ends with an entry without a key; the
        // text is copied while the provider is loaded.
        unsafe {
            let provider = load(self.ctx, name.as_ptr());
            if provider.is_null() {
                return Ok(None);
            }
            let got = get(provider, params.as_mut_ptr()) == 1 && !text.is_null();
            let copied = got.then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            unload(provider);
            Ok(copied)
        }
    }
}

/// An OSSL_PARAM(3). Its pointers outlive the call that it is for.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Param {
    key: *const c_char,
    data_type: u32,
    data: *mut c_void,
    data_bytes: usize,
    return_bytes: usize,
}

impl Param {
    /// The entry that ends an array.
    pub(super) const END: Self = Self {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_bytes: 0,
        return_bytes: 0,
    };

    fn new(key: &CStr, data_type: u32, data: *const c_void, data_bytes: usize) -> Self {
        Self {
            key: key.as_ptr(),
            data_type,
            data: data.cast_mut(),
            data_bytes,
            return_bytes: usize::MAX,
        }
    }

    /// Creates a number parameter that is only read.
    pub(super) fn int(key: &CStr, value: &c_int) -> Self {
        Self::new(
            key,
            INTEGER,
            ptr::from_ref(value).cast(),
            size_of::<c_int>(),
        )
    }

    pub(super) fn utf8(key: &CStr, text: &CStr) -> Self {
        let bytes = text.count_bytes();
        Self::new(key, UTF8_STRING, text.as_ptr().cast(), bytes)
    }

    pub(super) fn octets(key: &CStr, octets: &[u8]) -> Self {
        Self::new(key, OCTET_STRING, octets.as_ptr().cast(), octets.len())
    }

    /// Creates a parameter that receives a text.
    fn utf8_place(key: &CStr, place: &mut *const c_char) -> Self {
        Self::new(key, UTF8_PTR, ptr::from_mut(place).cast(), 0)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: it came from OSSL_LIB_CTX_new, or is null; contexts created in it keep it alive.
        unsafe { (self.free)(self.ctx) }
    }
}

/// A cipher of one of a world's providers.
pub(crate) struct Fetched {
    cipher: *const c_void,
    world: Rc<World>,
}

impl Fetched {
    /// Fetches a cipher. `properties` is added to the world's own query, as in `provider=default`.
    pub(crate) fn new(world: &Rc<World>, name: &str, properties: &str) -> Result<Self, Error> {
        let (c_name, c_properties) = (
            CString::new(name).unwrap_or_default(),
            CString::new(properties).unwrap_or_default(),
        );
        // SAFETY: the context is live, and both texts end with a NUL.
        let cipher = unsafe { (world.fetch)(world.ctx, c_name.as_ptr(), c_properties.as_ptr()) };
        if cipher.is_null() {
            return Err(Error::Unavailable(match properties {
                "" => format!("OpenSSL has no {name}"),
                _ => format!("OpenSSL has no {name} with {properties}"),
            }));
        }
        Ok(Self {
            cipher,
            world: Rc::clone(world),
        })
    }

    /// Returns the EVP_CIPHER, which lives as long as this does.
    pub(crate) fn cipher(&self) -> *const c_void {
        self.cipher
    }

    /// Creates a context, sets a key and an IV in it and frees it, `times` times. `key` has the length that the cipher
    /// needs.
    pub(crate) fn make_and_free(&self, key: &[u8], times: usize) -> Result<(), Error> {
        let Libcrypto {
            ctx_new,
            ctx_free,
            encrypt,
            ..
        } = &*self.world.libcrypto;
        for _ in 0..times {
            // SAFETY: the function creates a context, has no arguments, and returns null if it fails.
            let ctx = unsafe { ctx_new() };
            if ctx.is_null() {
                return Err(Error::Failed("openssl: no context can be made".to_owned()));
            }
            // SAFETY: the context is live; the cipher needs a key of exactly this length and an IV of up to 16 bytes;
            // no engine is named.
            let set = unsafe {
                (encrypt.init)(
                    ctx,
                    self.cipher,
                    ptr::null_mut(),
                    key.as_ptr(),
                    [0; 16].as_ptr(),
                )
            };
            // SAFETY: it was created above and is freed once.
            unsafe { ctx_free(ctx) };
            if set != 1 {
                return Err(Error::Failed("openssl: no key can be set".to_owned()));
            }
        }
        Ok(())
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        // SAFETY: it was fetched once, and is released once; contexts hold their own references.
        unsafe { (self.world.free_fetched)(self.cipher) };
    }
}

impl Context {
    /// Creates a context. `cipher` is the name of the function that describes the cipher; `key` has the length that the
    /// cipher needs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the library was built without it.
    pub fn new(
        libcrypto: &Arc<Libcrypto>,
        cipher: &str,
        direction: Direction,
        key: &[u8],
    ) -> Result<Self, Error> {
        // SAFETY: the function returns a cipher, which is static.
        unsafe { Self::of(libcrypto, libcrypto.cipher(cipher)?, direction, key) }
    }

    /// Creates a context like [`new`](Self::new), with the cipher that `world` fetches for `name`: its property query
    /// and providers decide which one that is.
    pub(crate) fn fetched(
        world: &Rc<World>,
        name: &str,
        direction: Direction,
        key: &[u8],
    ) -> Result<Self, Error> {
        let fetched = Fetched::new(world, name, "")?;
        // SAFETY: the fetched object is a cipher, and lives until this returns.
        unsafe { Self::of(&world.libcrypto, fetched.cipher, direction, key) }.map(|mut context| {
            // The context keeps its own reference to the cipher.
            context._world = Some(Rc::clone(world));
            context
        })
    }

    /// Creates a context for a key.
    ///
    /// # Safety
    /// `cipher` is an EVP_CIPHER that lives until this returns.
    unsafe fn of(
        libcrypto: &Arc<Libcrypto>,
        cipher: *const c_void,
        direction: Direction,
        key: &[u8],
    ) -> Result<Self, Error> {
        let failed = |function| Error::Failed(format!("openssl: {function} failed"));
        // SAFETY: `ctx_new` is EVP_CIPHER_CTX_new, which has no arguments.
        let ctx = unsafe { (libcrypto.ctx_new)() };
        if ctx.is_null() {
            return Err(failed("EVP_CIPHER_CTX_new"));
        }
        let context = Self {
            functions: match direction {
                Direction::Encrypt => libcrypto.encrypt,
                Direction::Decrypt => libcrypto.decrypt,
            },
            libcrypto: Arc::clone(libcrypto),
            ctx,
            _world: None,
        };
        // SAFETY: the context is live; the cipher needs a key of exactly this length and an IV of up to 16 bytes; no
        // engine is named.
        let set = unsafe {
            (context.functions.init)(ctx, cipher, ptr::null_mut(), key.as_ptr(), [0; 16].as_ptr())
        };
        if set != 1 {
            return Err(failed("setting a key up"));
        }
        // SAFETY: the context is live and has a cipher.
        unsafe { (context.libcrypto.set_padding)(ctx, 0) };
        Ok(context)
    }

    /// Sets the IV. A cipher with a shorter IV uses the first bytes.
    #[inline]
    pub fn set_iv(&mut self, iv: &[u8; 16]) {
        // SAFETY: the context is live and has a cipher and a key, which null leaves as they are; its IV is no longer
        // than this: EVP_MAX_IV_LENGTH is 16.
        let set = unsafe {
            (self.functions.init)(
                self.ctx,
                ptr::null(),
                ptr::null_mut(),
                ptr::null(),
                iv.as_ptr(),
            )
        };
        assert_eq!(set, 1, "an IV is taken");
    }

    /// Processes `data` in place; a block mode needs whole blocks.
    #[inline]
    pub fn update(&mut self, data: &mut [u8]) {
        let (from, to) = (data.as_ptr(), data.as_mut_ptr());
        // SAFETY: `data` is valid for reads and writes of its length, and may be processed in place.
        unsafe { self.update_raw(from, to, data.len()) }
    }

    /// Processes `input` into `output`, which has the same length.
    #[inline]
    pub(crate) fn update_to(&mut self, input: &[u8], output: &mut [u8]) {
        assert_eq!(input.len(), output.len(), "as many bytes come out as go in");
        // SAFETY: both are valid for this length, one for reads and one for writes, and do not overlap.
        unsafe { self.update_raw(input.as_ptr(), output.as_mut_ptr(), input.len()) }
    }

    /// Adds associated data of an AEAD.
    #[inline]
    pub(crate) fn update_aad(&mut self, aad: &[u8]) {
        // SAFETY: `aad` is valid for its length; without an output nothing is written.
        unsafe { self.update_raw(aad.as_ptr(), ptr::null_mut(), aad.len()) }
    }

    /// Processes `bytes` bytes.
    ///
    /// # Safety
    /// `from` is valid for reads of `bytes`. `to` is valid for writes of `bytes`, and is `from` or does not overlap it;
    /// for an AEAD it may be null.
    #[inline]
    unsafe fn update_raw(&mut self, from: *const u8, to: *mut u8, bytes: usize) {
        let bytes = c_int::try_from(bytes).unwrap_or_default();
        let mut written = 0;
        // SAFETY: the context is live and keyed; the output is as long as the input, since without padding nothing is
        // held back, and the caller vouches for both pointers.
        let done = unsafe { (self.functions.update)(self.ctx, to, &mut written, from, bytes) };
        assert!(done == 1 && written == bytes, "all bytes are taken at once");
    }

    /// Ends an AEAD's message; returns false if the tag set before is wrong.
    #[inline]
    pub(crate) fn ends(&mut self) -> bool {
        let mut written = 0;
        let mut nothing = [0; 16];
        // SAFETY: the context is live, and `nothing` has room for a block, which is the most that is written.
        unsafe { (self.functions.end)(self.ctx, nothing.as_mut_ptr(), &mut written) == 1 }
    }

    /// Sets the MAC key of a stitched cipher, which also computes a MAC (EVP_aes_128_cbc_hmac_sha1(3)).
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the cipher has no MAC.
    pub fn set_mac_key(&mut self, key: &[u8]) -> Result<(), Error> {
        let bytes = c_int::try_from(key.len()).unwrap_or_default();
        let key = key.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the context is live, and the bytes named are only read.
        match unsafe { (self.libcrypto.ctx_ctrl)(self.ctx, SET_MAC_KEY, bytes, key) } {
            1 => Ok(()),
            _ => Err(Error::Unavailable("its cipher has no MAC".to_owned())),
        }
    }

    /// Sets the IV like [`set_iv`](Self::set_iv), for ciphers that read no more than 12 bytes.
    #[inline]
    pub(crate) fn set_nonce(&mut self, nonce: &[u8; 12]) {
        let mut iv = [0; 16];
        iv[..12].copy_from_slice(nonce);
        self.set_iv(&iv);
    }

    /// Returns the tag of the message that has ended.
    #[inline]
    pub(crate) fn tag(&mut self) -> [u8; 16] {
        let mut tag = [0; 16];
        // SAFETY: the context is live, and `tag` has room for the 16 bytes requested.
        let got = unsafe {
            (self.libcrypto.ctx_ctrl)(self.ctx, GET_TAG, 16, tag.as_mut_ptr().cast::<c_void>())
        };
        assert_eq!(got, 1, "there is a tag");
        tag
    }

    /// Sets the tag that the message must have.
    #[inline]
    pub(crate) fn set_tag(&mut self, tag: &[u8; 16]) {
        let tag = tag.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the context is live, and the 16 bytes named are only read.
        let set = unsafe { (self.libcrypto.ctx_ctrl)(self.ctx, SET_TAG, 16, tag) };
        assert_eq!(set, 1, "a tag is taken");
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new and is freed once.
        unsafe { (self.libcrypto.ctx_free)(self.ctx) }
    }
}

/// The file names, newest first. 1.1 has all functions used here with the same signatures.
const FILES: &[&str] = &["libcrypto.so.4", "libcrypto.so.3", "libcrypto.so.1.1"];
/// EVP_CTRL_AEAD_GET_TAG and EVP_CTRL_AEAD_SET_TAG.
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;
/// EVP_CTRL_AEAD_SET_MAC_KEY.
const SET_MAC_KEY: c_int = 0x17;
/// OSSL_PARAM_INTEGER, OSSL_PARAM_UTF8_STRING, OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UTF8_PTR.
const INTEGER: u32 = 1;
const UTF8_STRING: u32 = 4;
const OCTET_STRING: u32 = 5;
const UTF8_PTR: u32 = 6;
