//! RSA with EVP_PKEY, and powers without a key with BIGNUM.

use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_void};
use std::ptr;
use std::sync::Arc;

use super::library::Libcrypto;
use crate::cases::{ModExpTasks, RsaKey, RsaOperation, RsaRequest, RsaTasks};
use crate::error::Error;
use crate::peers::public_key::{Lanes, PublicKey, Results, SingleRsa, SingleRsaKey};

/// Sets up the keys of `tasks`, each in a context for one operation.
pub(super) fn rsa(
    libcrypto: &Arc<Libcrypto>,
    tasks: &Arc<RsaTasks>,
) -> Result<Box<dyn PublicKey>, Error> {
    let evp = Arc::new(Evp::of(libcrypto)?);
    SingleRsa::set_up(tasks, |key| Key::new(&evp, key, tasks.operation))
}

/// The functions of the library, kept together with it.
struct Evp {
    d2i_auto_private_key:
        unsafe extern "C" fn(*mut *mut c_void, *mut *const c_uchar, c_long) -> *mut c_void,
    pkey_free: unsafe extern "C" fn(*mut c_void),
    ctx_new: unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void,
    ctx_free: unsafe extern "C" fn(*mut c_void),
    ctx_set: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int,
    sign_init: unsafe extern "C" fn(*mut c_void) -> c_int,
    sign:
        unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int,
    verify_init: unsafe extern "C" fn(*mut c_void) -> c_int,
    verify:
        unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int,
    clear_errors: unsafe extern "C" fn(),
    _libcrypto: Arc<Libcrypto>,
}

impl Evp {
    fn of(libcrypto: &Arc<Libcrypto>) -> Result<Self, Error> {
        // SAFETY: each field has its function's type in the headers of both OpenSSL 1.1 and 3, and the library is kept
        // with them.
        unsafe {
            Ok(Self {
                d2i_auto_private_key: libcrypto.function("d2i_AutoPrivateKey")?,
                pkey_free: libcrypto.function("EVP_PKEY_free")?,
                ctx_new: libcrypto.function("EVP_PKEY_CTX_new")?,
                ctx_free: libcrypto.function("EVP_PKEY_CTX_free")?,
                ctx_set: libcrypto.function("EVP_PKEY_CTX_ctrl_str")?,
                sign_init: libcrypto.function("EVP_PKEY_sign_init")?,
                sign: libcrypto.function("EVP_PKEY_sign")?,
                verify_init: libcrypto.function("EVP_PKEY_verify_init")?,
                verify: libcrypto.function("EVP_PKEY_verify")?,
                clear_errors: libcrypto.function("ERR_clear_error")?,
                _libcrypto: Arc::clone(libcrypto),
            })
        }
    }
}

/// An EVP_PKEY in an EVP_PKEY_CTX.
struct Key {
    evp: Arc<Evp>,
    ctx: *mut c_void,
}

// SAFETY: a context belongs to no thread; one at a time uses it, as `&mut` ensures.
unsafe impl Send for Key {}

impl Key {
    fn new(evp: &Arc<Evp>, key: &RsaKey, operation: RsaOperation) -> Result<Self, Error> {
        let failed = |what| Error::Failed(format!("openssl: {what} failed"));
        let der = key.der.as_bytes();
        let bytes = c_long::try_from(der.len()).map_err(|_| failed("a key so long"))?;
        // SAFETY: `der` has the length that is passed, and null asks for a new key.
        let pkey = unsafe { (evp.d2i_auto_private_key)(ptr::null_mut(), &mut der.as_ptr(), bytes) };
        if pkey.is_null() {
            return Err(failed("d2i_AutoPrivateKey"));
        }
        // SAFETY: the key is live, and the context takes its own reference; no engine is named. Then ours is released.
        let ctx = unsafe {
            let ctx = (evp.ctx_new)(pkey, ptr::null_mut());
            (evp.pkey_free)(pkey);
            ctx
        };
        if ctx.is_null() {
            return Err(failed("EVP_PKEY_CTX_new"));
        }
        let key = Self {
            evp: Arc::clone(evp),
            ctx,
        };
        let init = match operation {
            RsaOperation::Private | RsaOperation::Sign => evp.sign_init,
            RsaOperation::Verify => evp.verify_init,
        };
        // SAFETY: the context is live and has a key.
        if unsafe { init(ctx) } != 1 {
            return Err(failed("setting a key up"));
        }
        let settings: &[(&CStr, &CStr)] = match operation {
            RsaOperation::Private => &[(c"rsa_padding_mode", c"none")],
            RsaOperation::Sign | RsaOperation::Verify => {
                &[(c"rsa_padding_mode", c"pkcs1"), (c"digest", c"SHA256")]
            }
        };
        for (name, value) in settings {
            // SAFETY: the context is set up for an operation; both are NUL-terminated.
            if unsafe { (evp.ctx_set)(ctx, name.as_ptr(), value.as_ptr()) } != 1 {
                return Err(failed("EVP_PKEY_CTX_ctrl_str"));
            }
        }
        Ok(key)
    }
}

impl SingleRsaKey for Key {
    fn sign(&mut self, operation: RsaOperation, request: &RsaRequest, result: &mut [u8]) {
        let input: &[u8] = match operation {
            RsaOperation::Private => &request.number,
            RsaOperation::Sign | RsaOperation::Verify => &request.digest,
        };
        let mut written = result.len();
        // SAFETY: the context is set up to sign; the result has room for the length passed, and the input has its
        // length.
        let done = unsafe {
            (self.evp.sign)(
                self.ctx,
                result.as_mut_ptr(),
                &mut written,
                input.as_ptr(),
                input.len(),
            )
        };
        assert!(done == 1 && written == result.len(), "EVP_PKEY_sign");
    }

    fn verify(&mut self, request: &RsaRequest) -> bool {
        let RsaRequest {
            signature, digest, ..
        } = request;
        // SAFETY: the context is set up to verify; both slices have the lengths that are passed.
        let is_right = unsafe {
            (self.evp.verify)(
                self.ctx,
                signature.as_ptr(),
                signature.len(),
                digest.as_ptr(),
                digest.len(),
            )
        };
        if is_right != 1 {
            // SAFETY: ERR_clear_error has no arguments.
            unsafe { (self.evp.clear_errors)() };
        }
        is_right == 1
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: created by EVP_PKEY_CTX_new, and freed only here.
        unsafe { (self.evp.ctx_free)(self.ctx) }
    }
}

/// Powers, with the numbers of all requests created and all moduli set up in advance.
pub(super) struct ModExp {
    tasks: Arc<ModExpTasks>,
    moduli: Vec<Modulus>,
    /// The base and exponent of each request.
    operands: Vec<[Number; 2]>,
    result: Number,
    bn: Arc<Bn>,
    ctx: *mut c_void,
}

// SAFETY: numbers and their scratch space belong to no thread; one at a time uses them, as `&mut` ensures.
unsafe impl Send for ModExp {}

impl ModExp {
    pub(super) fn new(libcrypto: &Arc<Libcrypto>, tasks: &Arc<ModExpTasks>) -> Result<Self, Error> {
        let bn = Arc::new(Bn::of(libcrypto)?);
        let operands = tasks.requests.iter().map(|request| {
            let base = Number::new(&bn, &request.base)?;
            Ok([base, Number::new(&bn, &request.exponent)?])
        });
        let operands = operands.collect::<Result<_, Error>>()?;
        let result = Number::new(&bn, &[])?;
        // SAFETY: BN_CTX_new has no arguments; null means failure.
        let ctx = unsafe { (bn.ctx_new)() };
        if ctx.is_null() {
            return Err(Error::Failed("openssl: BN_CTX_new failed".to_owned()));
        }
        let mut made = Self {
            tasks: Arc::clone(tasks),
            moduli: Vec::new(),
            operands,
            result,
            bn,
            ctx,
        };
        for modulus in &tasks.moduli {
            made.moduli.push(Modulus::new(&made.bn, modulus, ctx)?);
        }
        Ok(made)
    }
}

impl Lanes for ModExp {
    const LANES: usize = 1;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        let bytes = self.tasks.bytes();
        for number in requests {
            let [base, exponent] = &self.operands[*number];
            let modulus = &self.moduli[self.tasks.requests[*number].modulus];
            let result = results.done(*number, bytes);
            // SAFETY: all are live numbers, the modulus is odd, and the Montgomery form is that of the modulus; the
            // result has room for the length passed.
            let done = unsafe {
                (self.bn.mod_exp)(
                    self.result.number,
                    base.number,
                    exponent.number,
                    modulus.number.number,
                    self.ctx,
                    modulus.montgomery,
                ) == 1
                    && (self.bn.to_bytes)(self.result.number, result.as_mut_ptr(), bytes as c_int)
                        == bytes as c_int
            };
            assert!(done, "BN_mod_exp_mont_consttime");
        }
    }
}

impl Drop for ModExp {
    fn drop(&mut self) {
        // SAFETY: created by BN_CTX_new, and freed only here.
        unsafe { (self.bn.ctx_free)(self.ctx) }
    }
}

/// The functions of the library, kept together with it.
struct Bn {
    from_bytes: unsafe extern "C" fn(*const c_uchar, c_int, *mut c_void) -> *mut c_void,
    to_bytes: unsafe extern "C" fn(*const c_void, *mut c_uchar, c_int) -> c_int,
    free: unsafe extern "C" fn(*mut c_void),
    ctx_new: unsafe extern "C" fn() -> *mut c_void,
    ctx_free: unsafe extern "C" fn(*mut c_void),
    montgomery_new: unsafe extern "C" fn() -> *mut c_void,
    montgomery_set: unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void) -> c_int,
    montgomery_free: unsafe extern "C" fn(*mut c_void),
    mod_exp: unsafe extern "C" fn(
        *mut c_void,
        *const c_void,
        *const c_void,
        *const c_void,
        *mut c_void,
        *mut c_void,
    ) -> c_int,
    _libcrypto: Arc<Libcrypto>,
}

impl Bn {
    fn of(libcrypto: &Arc<Libcrypto>) -> Result<Self, Error> {
        // SAFETY: each field has its function's type in the headers of OpenSSL 1.1 and 3, and the library is kept with
        // them.
        unsafe {
            Ok(Self {
                from_bytes: libcrypto.function("BN_bin2bn")?,
                to_bytes: libcrypto.function("BN_bn2binpad")?,
                free: libcrypto.function("BN_free")?,
                ctx_new: libcrypto.function("BN_CTX_new")?,
                ctx_free: libcrypto.function("BN_CTX_free")?,
                montgomery_new: libcrypto.function("BN_MONT_CTX_new")?,
                montgomery_set: libcrypto.function("BN_MONT_CTX_set")?,
                montgomery_free: libcrypto.function("BN_MONT_CTX_free")?,
                mod_exp: libcrypto.function("BN_mod_exp_mont_consttime")?,
                _libcrypto: Arc::clone(libcrypto),
            })
        }
    }
}

/// A BIGNUM.
struct Number {
    bn: Arc<Bn>,
    number: *mut c_void,
}

impl Number {
    fn new(bn: &Arc<Bn>, bytes: &[u8]) -> Result<Self, Error> {
        let (place, length) = (bytes.as_ptr(), bytes.len() as c_int);
        // SAFETY: the bytes have the length passed, and null asks for a new number.
        let number = unsafe { (bn.from_bytes)(place, length, ptr::null_mut()) };
        if number.is_null() {
            return Err(Error::Failed("openssl: BN_bin2bn failed".to_owned()));
        }
        Ok(Self {
            bn: Arc::clone(bn),
            number,
        })
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: created by BN_bin2bn, and freed only here.
        unsafe { (self.bn.free)(self.number) }
    }
}

/// A modulus and its Montgomery form.
struct Modulus {
    number: Number,
    montgomery: *mut c_void,
}

impl Modulus {
    /// Sets up a modulus. `ctx` is a BN_CTX.
    fn new(bn: &Arc<Bn>, bytes: &[u8], ctx: *mut c_void) -> Result<Self, Error> {
        let number = Number::new(bn, bytes)?;
        // SAFETY: BN_MONT_CTX_new has no arguments; null means failure.
        let montgomery = unsafe { (bn.montgomery_new)() };
        let modulus = Self { number, montgomery };
        let number = modulus.number.number;
        let is_set = !montgomery.is_null() && {
            // SAFETY: all three are live.
            unsafe { (bn.montgomery_set)(montgomery, number, ctx) == 1 }
        };
        is_set
            .then_some(modulus)
            .ok_or_else(|| Error::Failed("openssl: BN_MONT_CTX_set failed".to_owned()))
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        // SAFETY: created by BN_MONT_CTX_new, and freed only here; null is allowed.
        unsafe { (self.number.bn.montgomery_free)(self.montgomery) }
    }
}
