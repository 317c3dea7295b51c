//! What the fuzz target calls, as oarlock.h declares it. Handles are numbers here.

use std::ffi::{c_char, c_int, c_void};

// Linked for its symbols alone.
use oarlock_capi as _;

pub(super) type Handle = usize;

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)+) => {
        unsafe extern "C" {
            $(pub(super) fn $name($(_: $argument),*) -> c_int;)+
        }
    };
}

functions! {
    oarlock_accelerator_new(*mut Handle, *const c_char);
    oarlock_accelerator_set_options(Handle, *const c_char);
    oarlock_cipher_new(Handle, *mut Handle, *const c_char);
    oarlock_cipher_set_key(Handle, *const c_void, usize);
    oarlock_cipher_set_iv(Handle, *const c_void, usize);
    oarlock_cipher_encrypt(Handle, *mut c_void, *const c_void, usize, *const c_void);
    oarlock_cipher_decrypt(Handle, *mut c_void, *const c_void, usize, *const c_void);
    oarlock_cipher_seek(Handle, u64);
    oarlock_cipher_prefill(Handle, *mut usize, u64);
    oarlock_aead_new(Handle, *mut Handle, *const c_char, *const c_void, usize);
    oarlock_aead_seal(
        Handle, *mut c_void, *mut c_void, *const c_void, usize, *const c_void, usize, *const c_void,
        usize
    );
    oarlock_aead_open(
        Handle, *mut c_void, *const c_void, *const c_void, usize, *const c_void, usize,
        *const c_void, usize
    );
    oarlock_rsa_private_new(Handle, *mut Handle, *const c_void, usize);
    oarlock_rsa_public_of(Handle, *mut Handle);
    oarlock_rsa_sign(Handle, *mut c_void, *mut usize, *const c_char, *const c_void, usize);
    oarlock_rsa_sign_digest(Handle, *mut c_void, *mut usize, *const c_char, *const c_void, usize);
    oarlock_rsa_submit_sign(
        Handle, *mut Handle, *const c_char, *const c_void, usize, *const JobOptions
    );
    oarlock_job_wait(Handle, *mut c_void, *mut usize);
    oarlock_job_try(Handle, *mut c_void, *mut usize);
    oarlock_job_cancel(Handle, *mut c_int);
    oarlock_queue_new(*mut Handle, c_int);
    oarlock_queue_push(Handle, Handle, *mut c_void);
    oarlock_queue_fd(Handle, *mut c_int);
    oarlock_queue_next(Handle, *mut *mut c_void, *mut c_int, *mut c_void, *mut usize, c_int);
    oarlock_modexp_new(Handle, *mut Handle, *const c_void, usize);
    oarlock_modexp_power(
        Handle, *mut c_void, *mut usize, *const c_void, usize, *const c_void, usize
    );
    oarlock_framework_new(Handle, *mut Handle);
    oarlock_framework_submit_sign(Handle, Handle, *mut Handle, *const c_char, *const c_void, usize);
    oarlock_session_new(Handle, *mut Handle, *const Spec);
    oarlock_session_run(Handle, *mut c_void, usize, *const Request);
    oarlock_session_submit(Handle, *mut Handle, *const c_void, usize, *const Request);
    oarlock_esp_new(Handle, *mut Handle, *const EspSpec);
    oarlock_esp_run(Handle, *mut Packet, usize);
    oarlock_esp_free(Handle);
    oarlock_srtp_new(Handle, *mut Handle, *const SrtpSpec);
    oarlock_srtp_add_key(Handle, *const c_void, usize, *const c_void, usize);
    oarlock_srtp_use_key(Handle, *const c_void, usize);
    oarlock_srtp_run(Handle, *mut Packet, usize, c_int);
    oarlock_srtp_free(Handle);
    oarlock_tls_new(Handle, *mut Handle, *const TlsSpec);
    oarlock_tls_update(Handle);
    oarlock_tls_seal(Handle, *mut Packet, usize);
    oarlock_tls_open(Handle, *mut Packet, *mut usize, *mut usize, *mut c_void, usize);
    oarlock_tls_free(Handle);
    oarlock_accelerator_register(Handle, *const c_char);
    oarlock_accelerator_unregister(*const c_char);
    oarlock_accelerator_find(*mut Handle, *const c_char);
    oarlock_framework_free(Handle);
    oarlock_session_free(Handle);
    oarlock_accelerator_free(Handle);
    oarlock_cipher_free(Handle);
    oarlock_aead_free(Handle);
    oarlock_rsa_private_free(Handle);
    oarlock_rsa_public_free(Handle);
    oarlock_modexp_free(Handle);
    oarlock_job_free(Handle);
    oarlock_queue_free(Handle);
}

#[repr(C)]
pub(super) struct JobOptions {
    pub(super) is_urgent: c_int,
    pub(super) when_asked: c_int,
    pub(super) time_ns: u64,
}

#[repr(C)]
pub(super) struct Spec {
    pub(super) service: c_int,
    pub(super) cipher: *const c_char,
    pub(super) key: *const c_void,
    pub(super) key_bytes: usize,
    pub(super) iv: *const c_void,
    pub(super) iv_bytes: usize,
    pub(super) hash: *const c_char,
    pub(super) mac_key: *const c_void,
    pub(super) mac_key_bytes: usize,
    pub(super) tag_bytes: usize,
}

#[repr(C)]
pub(super) struct Request {
    pub(super) decrypts: c_int,
    pub(super) iv: *const c_void,
    pub(super) iv_bytes: usize,
    pub(super) authenticated_bytes: usize,
}

#[repr(C)]
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) buffer: *mut c_void,
    pub(super) buffer_bytes: usize,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) kind: u32,
    pub(super) error: c_int,
    pub(super) sequence: u64,
}

#[repr(C)]
pub(super) struct EspSpec {
    pub(super) opens: c_int,
    pub(super) spi: u32,
    pub(super) cipher: *const c_char,
    pub(super) integrity: *const c_char,
    pub(super) key: *const c_void,
    pub(super) key_bytes: usize,
    pub(super) has_extended_numbers: c_int,
    pub(super) replay_window: usize,
    pub(super) last_sequence: u64,
}

#[repr(C)]
pub(super) struct SrtpSpec {
    pub(super) opens: c_int,
    pub(super) leaves_rtcp_plain: c_int,
    pub(super) suite: *const c_char,
    pub(super) key: *const c_void,
    pub(super) key_bytes: usize,
    pub(super) mki: *const c_void,
    pub(super) mki_bytes: usize,
    pub(super) replay_window: usize,
    pub(super) retransmissions: usize,
    pub(super) streams_max: usize,
}

#[repr(C)]
pub(super) struct TlsSpec {
    pub(super) opens: c_int,
    pub(super) suite: u32,
    pub(super) secret: *const c_void,
    pub(super) secret_bytes: usize,
    pub(super) key: *const c_void,
    pub(super) key_bytes: usize,
    pub(super) iv: *const c_void,
    pub(super) iv_bytes: usize,
    pub(super) sequence: u64,
}
