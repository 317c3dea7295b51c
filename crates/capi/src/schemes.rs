//! Calls that take the name of a scheme and octets. Those of RSA keys and of keys of any type differ only in the
//! computation.

/// Defines calls that compute octets from others: `|key, scheme, octets| BYTES => RESULT`, with the room that the caller
/// must have.
macro_rules! computing {
    ($($name:ident($kind:ty, $parse:ident, $what:literal)
        |$key:ident, $scheme:ident, $octets:ident| $bytes:expr => $result:expr;)+) => {
        $(/// See `oarlock.h`.
        ///
        /// # Safety
        /// The caller owns `result_bytes` and the `*result_bytes` bytes at `result`; the name of the scheme ends with a NUL;
        /// the octets are `octets_bytes` long; each may be NULL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $key: $crate::handles::Handle<$kind>,
            result: *mut ::std::ffi::c_void,
            result_bytes: *mut usize,
            $scheme: *const ::std::ffi::c_char,
            $octets: *const ::std::ffi::c_void,
            octets_bytes: usize,
        ) -> ::std::ffi::c_int {
            $crate::failure::call(|| {
                let $key = $key.shared()?;
                // SAFETY: the caller says that it owns `result_bytes` and the `*result_bytes` bytes at `result`; the name is
                // NULL or ends with a NUL; and the octets are NULL or `octets_bytes` long.
                let (mut room, $scheme, $octets) = unsafe {
                    (
                        $crate::buffers::Room::new(result, result_bytes)?,
                        $parse($scheme)?,
                        $crate::buffers::input($octets, octets_bytes, $what)?,
                    )
                };
                room.need($bytes)?;
                room.fill(&$result?)
            })
        })+
    };
}
pub(crate) use computing;

/// Defines calls that verify a signature.
macro_rules! verifying {
    ($($name:ident($kind:ty, $parse:ident, $what:literal)
        |$key:ident, $scheme:ident, $octets:ident, $signature:ident| $result:expr;)+) => {
        $(/// See `oarlock.h`.
        ///
        /// # Safety
        /// The name of the scheme ends with a NUL; octets and signature have the lengths given; each may be NULL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $key: $crate::handles::Handle<$kind>,
            $scheme: *const ::std::ffi::c_char,
            $octets: *const ::std::ffi::c_void,
            octets_bytes: usize,
            $signature: *const ::std::ffi::c_void,
            signature_bytes: usize,
        ) -> ::std::ffi::c_int {
            $crate::failure::call(|| {
                let $key = $key.shared()?;
                // SAFETY: the caller says that the name is NULL or ends with a NUL, and that octets and signature are NULL
                // or have the lengths given.
                let ($scheme, $octets, $signature) = unsafe {
                    (
                        $parse($scheme)?,
                        $crate::buffers::input($octets, octets_bytes, $what)?,
                        $crate::buffers::input($signature, signature_bytes, "the signature")?,
                    )
                };
                Ok($result?)
            })
        })+
    };
}
pub(crate) use verifying;

/// Defines calls that submit a job which computes octets from others.
macro_rules! submitting {
    ($($name:ident($kind:ty, $parse:ident, $what:literal)
        |$key:ident, $scheme:ident, $octets:ident, $options:ident|
            $job:expr => $result:expr;)+) => {
        $(/// See `oarlock.h`.
        ///
        /// # Safety
        /// The caller owns `job`, or it is NULL; the name of the scheme ends with a NUL; the octets are `octets_bytes` long;
        /// the options are options; each may be NULL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $key: $crate::handles::Handle<$kind>,
            job: *mut $crate::handles::Handle<$crate::job::AnyJob>,
            $scheme: *const ::std::ffi::c_char,
            $octets: *const ::std::ffi::c_void,
            octets_bytes: usize,
            $options: *const $crate::job::Options,
        ) -> ::std::ffi::c_int {
            let submit = || {
                let $key = $key.shared()?;
                // SAFETY: the caller says that the name is NULL or ends with a NUL; the octets are NULL or `octets_bytes`
                // long; and the options are NULL or options.
                let ($scheme, $octets, $options) = unsafe {
                    (
                        $parse($scheme)?,
                        $crate::buffers::input($octets, octets_bytes, $what)?,
                        $crate::job::options($options)?,
                    )
                };
                let job = $job.map_err($crate::job::queue_full)?;
                Ok(job.map(|made| Ok($result(made))))
            };
            // SAFETY: the caller says that it owns `job`, or it is NULL.
            $crate::failure::call(|| unsafe { $crate::job::submitted(job, submit) })
        })+
    };
}
pub(crate) use submitting;

/// Defines a call that submits a job which verifies the signature of a message.
macro_rules! submitting_verification {
    ($name:ident($kind:ty, $parse:ident)) => {
        /// See `oarlock.h`.
        ///
        /// # Safety
        /// The caller owns `job`, or it is NULL; the name of the scheme ends with a NUL; message and signature have the
        /// lengths given; `options` points to options; each may be NULL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            public: $crate::handles::Handle<$kind>,
            job: *mut $crate::handles::Handle<$crate::job::AnyJob>,
            scheme: *const ::std::ffi::c_char,
            message: *const ::std::ffi::c_void,
            message_bytes: usize,
            signature: *const ::std::ffi::c_void,
            signature_bytes: usize,
            options: *const $crate::job::Options,
        ) -> ::std::ffi::c_int {
            let submit = || {
                let public = public.shared()?;
                // SAFETY: the caller says that the name is NULL or ends with a NUL; message and signature are NULL or have
                // the lengths given; and `options` is NULL or points to options.
                let (scheme, message, signature, options) = unsafe {
                    (
                        $parse(scheme)?,
                        $crate::buffers::input(message, message_bytes, "the message")?,
                        $crate::buffers::input(signature, signature_bytes, "the signature")?,
                        $crate::job::options(options)?,
                    )
                };
                let job = public
                    .submit_verify(scheme, message, signature, options)
                    .map_err($crate::job::queue_full)?;
                Ok(job.map(|()| Ok($crate::job::Bytes::default())))
            };
            // SAFETY: the caller of `submit_verify` says that it owns `job`, or it is NULL.
            $crate::failure::call(|| unsafe { $crate::job::submitted(job, submit) })
        }
    };
}
pub(crate) use submitting_verification;
