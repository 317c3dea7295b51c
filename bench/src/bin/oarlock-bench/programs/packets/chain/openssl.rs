//! OpenSSL's two ways.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use oarlock_measure::Error;
use oarlock_measure::cases::Direction;
use oarlock_measure::peers::openssl::{Context, Libcrypto};

use crate::peers::batch::{Batch, Done, Packets, Side, bytes_of, iv_of};

/// The stitched cipher.
pub(super) struct One {
    ciphers: Vec<Context>,
    ivs: Vec<[u8; 16]>,
    packets: Packets,
}

impl One {
    pub(super) fn side(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let library = Arc::new(Libcrypto::load()?);
        let cipher = |packet| {
            let key = bytes_of::<16>("key", packet);
            let name = "EVP_aes_128_cbc_hmac_sha1";
            let mut cipher = Context::new(&library, name, Direction::Encrypt, &key)?;
            cipher.set_mac_key(&bytes_of::<20>("mac", packet))?;
            Ok(cipher)
        };
        Ok(Box::new(Self {
            ciphers: batch.numbers().map(cipher).collect::<Result<_, Error>>()?,
            ivs: batch.numbers().map(iv_of).collect(),
            packets: batch.packets(),
        }))
    }
}

impl Side for One {
    fn run(&mut self) {
        let all = self.ciphers.iter_mut().zip(&self.ivs);
        for ((cipher, iv), packet) in all.zip(self.packets.each_mut()) {
            cipher.set_iv(iv);
            cipher.update(packet);
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::without_tags(self.packets.copies())
    }
}

/// A cipher and a MAC.
pub(super) struct Two {
    keys: Vec<(Context, Mac)>,
    ivs: Vec<[u8; 16]>,
    tags: Vec<[u8; 64]>,
    packets: Packets,
}

impl Two {
    pub(super) fn aes_sha1(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        Self::side::<16, 20>(batch, "EVP_aes_128_cbc", c"SHA1")
    }

    pub(super) fn tdes_md5(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        Self::side::<24, 16>(batch, "EVP_des_ede3_cbc", c"MD5")
    }

    fn side<const KEY: usize, const MAC: usize>(
        batch: &Batch,
        cipher: &str,
        digest: &CStr,
    ) -> Result<Box<dyn Side>, Error> {
        let library = Arc::new(Libcrypto::load()?);
        let functions = Arc::new(Functions::of(&library)?);
        let key = |packet| {
            let key = bytes_of::<KEY>("key", packet);
            let cipher = Context::new(&library, cipher, Direction::Encrypt, &key)?;
            let mac = Mac::new(&functions, digest, &bytes_of::<MAC>("mac", packet))?;
            Ok((cipher, mac))
        };
        Ok(Box::new(Self {
            keys: batch.numbers().map(key).collect::<Result<_, Error>>()?,
            ivs: batch.numbers().map(iv_of).collect(),
            tags: vec![[0; 64]; batch.lengths.len()],
            packets: batch.packets(),
        }))
    }
}

impl Side for Two {
    fn run(&mut self) {
        let all = self
            .keys
            .iter_mut()
            .zip(self.ivs.iter().zip(&mut self.tags));
        for (((cipher, mac), (iv, tag)), packet) in all.zip(self.packets.each_mut()) {
            cipher.set_iv(iv);
            cipher.update(packet);
            mac.tag(packet, tag);
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        let tags: Vec<_> = self.tags.iter().map(|tag| &tag[..TAG_BYTES]).collect();
        Done::with_tags(self.packets.copies(), &tags)
    }
}

/// HMAC with its key kept (EVP_MAC(3), since OpenSSL 3).
struct Mac {
    functions: Arc<Functions>,
    ctx: NonNull<c_void>,
}

struct Functions {
    fetch: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    ctx_new: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    ctx_free: unsafe extern "C" fn(*mut c_void),
    init: unsafe extern "C" fn(*mut c_void, *const u8, usize, *const Param) -> c_int,
    update: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int,
    end: unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
    _library: Arc<Libcrypto>,
}

impl Functions {
    fn of(library: &Arc<Libcrypto>) -> Result<Self, Error> {
        // SAFETY: the types are those of OpenSSL 3's headers, and the library is kept with the functions.
        unsafe {
            Ok(Self {
                fetch: library.function("EVP_MAC_fetch")?,
                free: library.function("EVP_MAC_free")?,
                ctx_new: library.function("EVP_MAC_CTX_new")?,
                ctx_free: library.function("EVP_MAC_CTX_free")?,
                init: library.function("EVP_MAC_init")?,
                update: library.function("EVP_MAC_update")?,
                end: library.function("EVP_MAC_final")?,
                _library: Arc::clone(library),
            })
        }
    }
}

impl Mac {
    fn new(functions: &Arc<Functions>, digest: &CStr, key: &[u8]) -> Result<Self, Error> {
        let failed = || Error::Failed("openssl: HMAC cannot be set up".to_owned());
        // SAFETY: names are NUL-terminated; the context holds a reference of its own to the fetched MAC, which is checked
        // for null.
        let ctx = unsafe {
            let mac = (functions.fetch)(ptr::null_mut(), c"HMAC".as_ptr(), ptr::null());
            if mac.is_null() {
                return Err(failed());
            }
            let ctx = (functions.ctx_new)(mac);
            (functions.free)(mac);
            NonNull::new(ctx).ok_or_else(failed)?
        };
        let mac = Self {
            functions: Arc::clone(functions),
            ctx,
        };
        let params = [
            Param {
                key: c"digest".as_ptr(),
                data_type: UTF8_STRING,
                data: digest.as_ptr().cast_mut().cast(),
                data_bytes: digest.count_bytes(),
                return_bytes: usize::MAX,
            },
            Param {
                key: ptr::null(),
                data_type: 0,
                data: ptr::null_mut(),
                data_bytes: 0,
                return_bytes: usize::MAX,
            },
        ];
        // SAFETY: the context is live, the key has the length passed, and the parameters end with one without a key.
        match unsafe { (functions.init)(ctx.as_ptr(), key.as_ptr(), key.len(), params.as_ptr()) } {
            1 => Ok(mac),
            _ => Err(failed()),
        }
    }

    fn tag(&mut self, data: &[u8], tag: &mut [u8; 64]) {
        let mut bytes = 0;
        // SAFETY: the context is live and has a key, which null keeps; data and tag have the lengths passed.
        let done = unsafe {
            (self.functions.init)(self.ctx.as_ptr(), ptr::null(), 0, ptr::null()) == 1
                && (self.functions.update)(self.ctx.as_ptr(), data.as_ptr(), data.len()) == 1
                && (self.functions.end)(self.ctx.as_ptr(), tag.as_mut_ptr(), &mut bytes, tag.len())
                    == 1
        };
        assert!(done && bytes >= TAG_BYTES, "HMAC is computed");
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: EVP_MAC_CTX_new created the context, and it is freed once.
        unsafe { (self.functions.ctx_free)(self.ctx.as_ptr()) }
    }
}

/// OSSL_PARAM(3).
#[repr(C)]
struct Param {
    key: *const c_char,
    data_type: u32,
    data: *mut c_void,
    data_bytes: usize,
    return_bytes: usize,
}

const UTF8_STRING: u32 = 4;
/// RFC 2404, and RFC 2403.
pub(super) const TAG_BYTES: usize = 12;
