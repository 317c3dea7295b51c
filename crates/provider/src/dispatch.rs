//! The functions that OpenSSL calls, the same for every cipher: they turn pointers into the arguments of [`Cipher`],
//! raise its refusals as errors, and stop panics.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use inout::InOutBuf;
use oarlock::Algorithm;
use oarlock::Direction;

use crate::abi::{Dispatch, Param, Params, cipher_function};
use crate::boxed;
use crate::caught::catching;
use crate::error::Reason;
use crate::host::Host;
use crate::provider::Provider;
use crate::skey::SecretKey;

/// The context of a cipher.
pub(crate) trait Cipher: Sized {
    /// Returns the parameters that a caller can get from a context, up to [`Param::END`].
    fn gettable(operation: Algorithm, host: Host) -> &'static [Param];

    /// Returns the parameters that a caller can set in a context, up to [`Param::END`].
    fn settable(operation: Algorithm) -> &'static [Param];

    /// Makes a new context in `place`, by [`write_fields`]: moving a context takes longer than encrypting a block.
    fn put(place: &mut MaybeUninit<Self>, provider: &Provider, operation: Algorithm);

    /// Makes `copy`, which is new, equal to this context.
    fn copy_to(&self, copy: &mut Self);

    /// Sets a key and an IV. Either may come later, or stay as it is. The first key needs the provider.
    fn init(
        &mut self,
        provider: &Provider,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Reason>;

    /// Processes part of a message or of its associated data. Returns the number of bytes written.
    fn update(&mut self, data: Data) -> Result<usize, Reason>;

    /// Ends a message. Returns the number of bytes written.
    fn finish(&mut self, data: Data) -> Result<usize, Reason>;

    /// Does the operation of EVP_Cipher(3), which does not buffer. Returns the number of bytes written.
    fn cipher(&mut self, data: Data) -> Result<usize, Reason>;

    fn get_params(&mut self, params: Params<'_>) -> Result<(), Reason>;

    fn set_params(&mut self, params: Params<'_>) -> Result<(), Reason>;
}

/// Writes each field of a structure to uninitialized memory.
macro_rules! write_fields {
    ($place:expr, Self { $($field:ident: $value:expr,)+ }) => {{
        let place: *mut Self = $place.as_mut_ptr();
        // This compiles only if all fields are there.
        let _ = |Self { $($field: _,)+ }: Self| ();
        $(
            let value = $value;
            // SAFETY: `place` is memory for this structure, and nothing else accesses it.
            unsafe { (&raw mut (*place).$field).write(value) };
        )+
    }};
}
pub(crate) use write_fields;

/// The input and output of a call, as OpenSSL passes them.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) output: *mut u8,
    pub(crate) output_bytes: usize,
    pub(crate) input: *const u8,
    pub(crate) input_bytes: usize,
}

impl Data {
    /// Whether this is associated data: input without output.
    pub(crate) fn is_aad(self) -> bool {
        self.output.is_null() && !self.input.is_null()
    }

    pub(crate) fn is_in_place(self) -> bool {
        std::ptr::eq(self.output, self.input)
    }

    /// Returns the input as a slice.
    ///
    /// # Safety
    /// The caller of OpenSSL has promised that the input is valid, and no thread writes to it while the slice is alive.
    pub(crate) unsafe fn input<'a>(self) -> &'a [u8] {
        if self.input.is_null() || self.input_bytes == 0 {
            return &[];
        }
        // SAFETY: the input is valid for that many bytes and no thread writes to it, as the caller promises.
        unsafe { std::slice::from_raw_parts(self.input, self.input_bytes) }
    }

    /// Returns input and output, both as long as the input; `None` if they overlap in part.
    ///
    /// # Safety
    /// Both are valid for the length of the input, as the caller of OpenSSL has promised, and no thread uses them while
    /// the buffer is alive.
    #[inline(always)]
    pub(crate) unsafe fn in_place_or_apart<'a>(self) -> Option<InOutBuf<'a, 'a, u8>> {
        let distance = self.output.addr().abs_diff(self.input.addr());
        if distance != 0 && distance < self.input_bytes {
            return None;
        }
        // SAFETY: both are valid, as the caller promises, and identical or disjoint, as `InOutBuf` demands.
        Some(unsafe { InOutBuf::from_raw(self.input, self.output, self.input_bytes) })
    }

    /// Has `crypt` process `bytes` bytes of input and output from `at` on. If the two overlap in part, the input is
    /// copied first.
    ///
    /// # Safety
    /// Input and output are valid for that many bytes, as the caller of OpenSSL has promised, and the output is not
    /// null unless `bytes` is 0.
    #[inline(always)]
    pub(crate) unsafe fn crypt<T>(
        self,
        at: usize,
        bytes: usize,
        crypt: impl FnOnce(InOutBuf<'_, '_, u8>) -> T,
    ) -> T {
        if bytes == 0 {
            return crypt((&mut [][..]).into());
        }
        // SAFETY: both are valid for that many bytes from `at` on, as the caller promises; those in `InOutBuf` are
        // identical or disjoint, as it demands.
        unsafe {
            let (input, output) = (self.input.add(at), self.output.add(at));
            if input.addr().abs_diff(output.addr()) >= bytes || std::ptr::eq(input, output) {
                crypt(InOutBuf::from_raw(input, output, bytes))
            } else {
                input.copy_to(output, bytes);
                crypt(InOutBuf::from_raw(output, output, bytes))
            }
        }
    }
}

/// An algorithm that is offered: a cipher with a key size.
pub(crate) trait Offered {
    type Cipher: Cipher;
    const OPERATION: Algorithm;

    /// Reports the properties that all contexts share.
    fn get_params(params: Params<'_>) -> Result<(), Reason>;
}

/// A context, as OpenSSL holds it.
#[repr(C)]
struct Context<C> {
    cipher: C,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
}

/// Returns the size of a context in memory.
#[cfg(test)]
pub(crate) const fn context_bytes<C>() -> usize {
    size_of::<Context<C>>()
}

/// Returns the functions of an algorithm.
pub(crate) fn table<A: Offered>() -> *const Dispatch {
    macro_rules! table {
        ($($id:ident $function:expr,)+) => {
            const {
                &[
                    $(Dispatch {
                        id: cipher_function::$id,
                        function: $function as *const c_void,
                    },)+
                    Dispatch::END,
                ]
            }
        };
    }
    let table: &'static [Dispatch] = table! {
        NEWCTX newctx::<A>,
        ENCRYPT_INIT encrypt_init::<A::Cipher>,
        DECRYPT_INIT decrypt_init::<A::Cipher>,
        UPDATE update::<A::Cipher>,
        FINAL finish::<A::Cipher>,
        CIPHER cipher::<A::Cipher>,
        FREECTX boxed::free::<Context<A::Cipher>>,
        DUPCTX dupctx::<A>,
        GET_PARAMS get_params::<A>,
        GET_CTX_PARAMS get_ctx_params::<A::Cipher>,
        SET_CTX_PARAMS set_ctx_params::<A::Cipher>,
        GETTABLE_PARAMS gettable_params,
        GETTABLE_CTX_PARAMS gettable_ctx_params::<A>,
        SETTABLE_CTX_PARAMS settable_ctx_params::<A>,
        ENCRYPT_SKEY_INIT encrypt_skey_init::<A::Cipher>,
        DECRYPT_SKEY_INIT decrypt_skey_init::<A::Cipher>,
    };
    table.as_ptr()
}

/// # Safety
/// The core calls, with what `OSSL_provider_init` gave it.
unsafe extern "C" fn newctx<A: Offered>(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core passes the provider that `OSSL_provider_init` gave it, which is alive.
        let provider = unsafe { &*provider.cast::<Provider>() };
        let mut context = Box::<Context<MaybeUninit<A::Cipher>>>::new_uninit();
        let place = context.as_mut_ptr();
        // SAFETY: the memory is for a context, whose cipher `put` makes.
        unsafe {
            (&raw mut (*place).provider).write(provider);
            A::Cipher::put(&mut (*place).cipher, provider, A::OPERATION);
        }
        Box::into_raw(context).cast()
    })
}

/// # Safety
/// `context` is null or came from `newctx::<A>` or `dupctx::<A>`, and no other call uses it.
unsafe extern "C" fn dupctx<A: Offered>(context: *mut c_void) -> *mut c_void {
    if context.is_null() {
        return null_mut();
    }
    catching(null_mut(), || {
        // SAFETY: the context came from `newctx` or `dupctx`, and no other call uses it.
        let Context { cipher, provider } = unsafe { &*context.cast::<Context<A::Cipher>>() };
        // SAFETY: as in `with`, the provider is torn down after its last context.
        let copy = unsafe { newctx::<A>(provider.cast_mut().cast()) };
        // SAFETY: null, or a context of that cipher which nothing else accesses yet.
        if let Some(copy) = unsafe { copy.cast::<Context<A::Cipher>>().as_mut() } {
            cipher.copy_to(&mut copy.cipher);
        }
        copy
    })
}

/// # Safety
/// As for [`init`], as provider-cipher(7) makes the core promise.
unsafe extern "C" fn encrypt_init<C: Cipher>(
    context: *mut c_void,
    key: *const u8,
    key_bytes: usize,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    // SAFETY: the core passes a context of this cipher that no other call uses, and a key, an IV and parameters as
    // `init` demands.
    unsafe {
        init::<C>(
            context,
            Direction::Encrypt,
            (key, key_bytes),
            (iv, iv_bytes),
            params,
        )
    }
}

/// # Safety
/// As for [`init`], as provider-cipher(7) makes the core promise.
unsafe extern "C" fn decrypt_init<C: Cipher>(
    context: *mut c_void,
    key: *const u8,
    key_bytes: usize,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    // SAFETY: the core passes a context of this cipher that no other call uses, and a key, an IV and parameters as
    // `init` demands.
    unsafe {
        init::<C>(
            context,
            Direction::Decrypt,
            (key, key_bytes),
            (iv, iv_bytes),
            params,
        )
    }
}

/// # Safety
/// As for [`init`]; `key` is null or a key of our own key management, which is not freed during the call.
unsafe extern "C" fn encrypt_skey_init<C: Cipher>(
    context: *mut c_void,
    key: *const c_void,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    // SAFETY: the core passes a context of this cipher that no other call uses, a key of our own key management, which
    // it holds during the call, and an IV and parameters as `init` demands.
    unsafe {
        let key = octets_of(key);
        init::<C>(context, Direction::Encrypt, key, (iv, iv_bytes), params)
    }
}

/// # Safety
/// As for [`encrypt_skey_init`].
unsafe extern "C" fn decrypt_skey_init<C: Cipher>(
    context: *mut c_void,
    key: *const c_void,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    // SAFETY: as in `encrypt_skey_init`.
    unsafe {
        let key = octets_of(key);
        init::<C>(context, Direction::Decrypt, key, (iv, iv_bytes), params)
    }
}

/// # Safety
/// `key` is null or a key of our own key management, which is not freed while the octets are in use.
unsafe fn octets_of(key: *const c_void) -> (*const u8, usize) {
    // SAFETY: the caller promises that `key` is null or a key of our key management, and stays.
    let octets = unsafe { SecretKey::octets(key) };
    octets.map_or((null(), 0), |octets| (octets.as_ptr(), octets.len()))
}

/// # Safety
/// `context` is null or came from `newctx::<A>` or `dupctx` where `A::Cipher` is `C`, and no other call uses it. A key
/// or IV that is not null has the length given with it, and `params` is null or an array that ends with [`Param::END`].
unsafe fn init<C: Cipher>(
    context: *mut c_void,
    direction: Direction,
    key: (*const u8, usize),
    iv: (*const u8, usize),
    params: *mut Param,
) -> c_int {
    // SAFETY: a key or IV that is not null has the length given with it.
    let given = |(bytes, length): (*const u8, usize)| unsafe {
        match length {
            _ if bytes.is_null() => None,
            0 => Some(&[][..]),
            length => Some(std::slice::from_raw_parts(bytes, length)),
        }
    };
    // SAFETY: the caller meets the conditions of `with` for `context`, and the array of parameters ends.
    unsafe {
        with::<C>(context, |cipher, provider| {
            cipher.init(provider, direction, given(key), given(iv))?;
            let params = Params::new(params);
            if params.is_empty() {
                Ok(())
            } else {
                cipher.set_params(params)
            }
        })
    }
}

/// # Safety
/// As for [`writing`]; input and output that are not null have the lengths given with them.
unsafe extern "C" fn update<C: Cipher>(
    context: *mut c_void,
    output: *mut u8,
    written: *mut usize,
    output_bytes: usize,
    input: *const u8,
    input_bytes: usize,
) -> c_int {
    let data = Data {
        output,
        output_bytes,
        input,
        input_bytes,
    };
    // SAFETY: the core passes a context of this cipher, a place for the length, and both buffers.
    unsafe { writing::<C>(context, written, |cipher| cipher.update(data)) }
}

/// # Safety
/// As for [`writing`]; an output that is not null has `output_bytes` bytes.
unsafe extern "C" fn finish<C: Cipher>(
    context: *mut c_void,
    output: *mut u8,
    written: *mut usize,
    output_bytes: usize,
) -> c_int {
    let data = Data {
        output,
        output_bytes,
        input: null_mut(),
        input_bytes: 0,
    };
    // SAFETY: the core passes a context of this cipher, a place for the length, and room for the buffered bytes.
    unsafe { writing::<C>(context, written, |cipher| cipher.finish(data)) }
}

/// # Safety
/// As for [`update`].
unsafe extern "C" fn cipher<C: Cipher>(
    context: *mut c_void,
    output: *mut u8,
    written: *mut usize,
    output_bytes: usize,
    input: *const u8,
    input_bytes: usize,
) -> c_int {
    let data = Data {
        output,
        output_bytes,
        input,
        input_bytes,
    };
    // SAFETY: the core passes a context of this cipher, a place for the length, and both buffers, as for `update`.
    unsafe { writing::<C>(context, written, |cipher| cipher.cipher(data)) }
}

/// # Safety
/// `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn get_params<A: Offered>(params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: the core's array of parameters ends with `Param::END`.
        let params = unsafe { Params::new(params) };
        A::get_params(params).is_ok().into()
    })
}

/// # Safety
/// As for [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn get_ctx_params<C: Cipher>(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context of this cipher, and parameters whose places it owns.
    unsafe { with::<C>(context, |cipher, _| cipher.get_params(Params::new(params))) }
}

/// # Safety
/// As for [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params<C: Cipher>(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context of this cipher, and parameters with the data that they point to.
    unsafe {
        let params = Params::new(params);
        if params.is_empty() {
            return 1;
        }
        with::<C>(context, |cipher, _| cipher.set_params(params))
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gettable_params(provider: *mut c_void) -> *const Param {
    macro_rules! gettable {
        ($($more:expr)?) => {
            const {
                &[
                    Param::uint(c"mode"),
                    Param::size(c"keylen"),
                    Param::size(c"ivlen"),
                    Param::size(c"blocksize"),
                    Param::int(c"aead"),
                    Param::int(c"custom-iv"),
                    Param::int(c"cts"),
                    Param::int(c"tls-multi"),
                    Param::int(c"has-randkey"),
                    $($more,)?
                    Param::END,
                ]
            }
        };
    }
    // SAFETY: `provider` is the one that the core was given; its host is copied.
    let host = unsafe { &*provider.cast::<Provider>() }.host;
    let gettable: &'static [Param] = if host.has_encrypt_then_mac() {
        gettable!(Param::int(c"encrypt-then-mac"))
    } else {
        gettable!()
    };
    gettable.as_ptr()
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gettable_ctx_params<A: Offered>(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: `provider` is the one that the core was given, and outlives every context.
    let host = unsafe { &*provider.cast::<Provider>() }.host;
    A::Cipher::gettable(A::OPERATION, host).as_ptr()
}

extern "C" fn settable_ctx_params<A: Offered>(
    _context: *mut c_void,
    _provider: *mut c_void,
) -> *const Param {
    A::Cipher::settable(A::OPERATION).as_ptr()
}

/// # Safety
/// `context` is null or came from `newctx::<A>` or `dupctx` where `A::Cipher` is `C`, and no other call uses it;
/// `written` is a place for a length.
#[inline(always)]
unsafe fn writing<C: Cipher>(
    context: *mut c_void,
    written: *mut usize,
    run: impl FnOnce(&mut C) -> Result<usize, Reason>,
) -> c_int {
    // SAFETY: the caller meets the conditions of `with` for `context`, and `written` is a place for a length.
    unsafe {
        with::<C>(context, |cipher, _| {
            *written = 0;
            *written = run(cipher)?;
            Ok(())
        })
    }
}

/// # Safety
/// `context` is null or came from `newctx::<A>` or `dupctx` where `A::Cipher` is `C`, and no other call uses it.
#[inline(always)]
unsafe fn with<C: Cipher>(
    context: *mut c_void,
    run: impl FnOnce(&mut C, &Provider) -> Result<(), Reason>,
) -> c_int {
    if context.is_null() {
        return 0;
    }
    // SAFETY: it is not null, so it is a `Context<C>` that no other call uses, as the caller promises.
    let context = unsafe { &mut *context.cast::<Context<C>>() };
    // SAFETY: `newctx` was given the provider, which is torn down after its last context.
    let provider = unsafe { &*context.provider };
    catching(0, || match run(&mut context.cipher, provider) {
        Ok(()) => 1,
        Err(reason) => {
            provider.errors.raise(reason);
            0
        }
    })
}
