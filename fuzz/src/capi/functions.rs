//! What the fuzz target calls, as oarlock.h declares it. Handles are numbers here.

use std::ffi::{c_char, c_int, c_void};

// Linked for its symbols alone.
use oarlock_capi as _;

pub(super) type Handle = usize;

unsafe extern "C" {
    pub(super) fn oarlock_accelerator_new(to: *mut Handle, options: *const c_char) -> c_int;
    pub(super) fn oarlock_accelerator_set_options(
        accelerator: Handle,
        options: *const c_char,
    ) -> c_int;
    pub(super) fn oarlock_cipher_new(
        accelerator: Handle,
        to: *mut Handle,
        name: *const c_char,
    ) -> c_int;
    pub(super) fn oarlock_cipher_set_key(cipher: Handle, key: *const c_void, bytes: usize)
    -> c_int;
    pub(super) fn oarlock_cipher_set_iv(cipher: Handle, iv: *const c_void, bytes: usize) -> c_int;
    pub(super) fn oarlock_cipher_encrypt(
        cipher: Handle,
        out: *mut c_void,
        data: *const c_void,
        bytes: usize,
        iv: *const c_void,
    ) -> c_int;
    pub(super) fn oarlock_cipher_decrypt(
        cipher: Handle,
        out: *mut c_void,
        data: *const c_void,
        bytes: usize,
        iv: *const c_void,
    ) -> c_int;
    pub(super) fn oarlock_cipher_seek(cipher: Handle, position: u64) -> c_int;
    pub(super) fn oarlock_cipher_prefill(cipher: Handle, made: *mut usize, time_ns: u64) -> c_int;
    pub(super) fn oarlock_aead_new(
        accelerator: Handle,
        to: *mut Handle,
        name: *const c_char,
        key: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_aead_seal(
        aead: Handle,
        out: *mut c_void,
        tag: *mut c_void,
        nonce: *const c_void,
        nonce_bytes: usize,
        aad: *const c_void,
        aad_bytes: usize,
        data: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_aead_open(
        aead: Handle,
        out: *mut c_void,
        tag: *const c_void,
        nonce: *const c_void,
        nonce_bytes: usize,
        aad: *const c_void,
        aad_bytes: usize,
        data: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_rsa_private_new(
        accelerator: Handle,
        to: *mut Handle,
        key: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_rsa_public_of(private: Handle, to: *mut Handle) -> c_int;
    pub(super) fn oarlock_rsa_sign(
        private: Handle,
        out: *mut c_void,
        out_bytes: *mut usize,
        scheme: *const c_char,
        data: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_rsa_sign_digest(
        private: Handle,
        out: *mut c_void,
        out_bytes: *mut usize,
        scheme: *const c_char,
        data: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_rsa_submit_sign(
        private: Handle,
        to: *mut Handle,
        scheme: *const c_char,
        data: *const c_void,
        bytes: usize,
        options: *const JobOptions,
    ) -> c_int;
    pub(super) fn oarlock_job_wait(job: Handle, out: *mut c_void, out_bytes: *mut usize) -> c_int;
    pub(super) fn oarlock_job_try(job: Handle, out: *mut c_void, out_bytes: *mut usize) -> c_int;
    pub(super) fn oarlock_job_cancel(job: Handle, is_cancelled: *mut c_int) -> c_int;
    pub(super) fn oarlock_queue_new(to: *mut Handle, in_order: c_int) -> c_int;
    pub(super) fn oarlock_queue_push(queue: Handle, job: Handle, tag: *mut c_void) -> c_int;
    pub(super) fn oarlock_queue_fd(queue: Handle, descriptor: *mut c_int) -> c_int;
    pub(super) fn oarlock_queue_next(
        queue: Handle,
        tag: *mut *mut c_void,
        error: *mut c_int,
        out: *mut c_void,
        out_bytes: *mut usize,
        wait: c_int,
    ) -> c_int;
    pub(super) fn oarlock_modexp_new(
        accelerator: Handle,
        to: *mut Handle,
        number: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_modexp_power(
        modulus: Handle,
        out: *mut c_void,
        out_bytes: *mut usize,
        base: *const c_void,
        base_bytes: usize,
        exponent: *const c_void,
        exponent_bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_framework_new(accelerator: Handle, to: *mut Handle) -> c_int;
    pub(super) fn oarlock_framework_submit_sign(
        framework: Handle,
        private: Handle,
        to: *mut Handle,
        scheme: *const c_char,
        data: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_session_new(
        framework: Handle,
        to: *mut Handle,
        spec: *const Spec,
    ) -> c_int;
    pub(super) fn oarlock_session_run(
        session: Handle,
        data: *mut c_void,
        bytes: usize,
        request: *const Request,
    ) -> c_int;
    pub(super) fn oarlock_session_submit(
        session: Handle,
        to: *mut Handle,
        data: *const c_void,
        bytes: usize,
        request: *const Request,
    ) -> c_int;
    pub(super) fn oarlock_esp_new(
        accelerator: Handle,
        to: *mut Handle,
        spec: *const EspSpec,
    ) -> c_int;
    pub(super) fn oarlock_esp_run(esp: Handle, packets: *mut Packet, count: usize) -> c_int;
    pub(super) fn oarlock_esp_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_srtp_new(
        accelerator: Handle,
        to: *mut Handle,
        spec: *const SrtpSpec,
    ) -> c_int;
    pub(super) fn oarlock_srtp_add_key(
        srtp: Handle,
        mki: *const c_void,
        mki_bytes: usize,
        key: *const c_void,
        key_bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_srtp_use_key(srtp: Handle, mki: *const c_void, mki_bytes: usize)
    -> c_int;
    pub(super) fn oarlock_srtp_run(
        srtp: Handle,
        packets: *mut Packet,
        count: usize,
        are_rtcp: c_int,
    ) -> c_int;
    pub(super) fn oarlock_srtp_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_tls_new(
        accelerator: Handle,
        to: *mut Handle,
        spec: *const TlsSpec,
    ) -> c_int;
    pub(super) fn oarlock_tls_update(tls: Handle) -> c_int;
    pub(super) fn oarlock_tls_seal(tls: Handle, records: *mut Packet, count: usize) -> c_int;
    pub(super) fn oarlock_tls_open(
        tls: Handle,
        records: *mut Packet,
        count: *mut usize,
        done: *mut usize,
        buffer: *mut c_void,
        bytes: usize,
    ) -> c_int;
    pub(super) fn oarlock_tls_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_accelerator_register(accelerator: Handle, name: *const c_char) -> c_int;
    pub(super) fn oarlock_accelerator_unregister(name: *const c_char) -> c_int;
    pub(super) fn oarlock_accelerator_find(to: *mut Handle, name: *const c_char) -> c_int;
    pub(super) fn oarlock_framework_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_session_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_accelerator_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_cipher_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_aead_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_rsa_private_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_rsa_public_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_modexp_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_job_free(handle: Handle) -> c_int;
    pub(super) fn oarlock_queue_free(handle: Handle) -> c_int;
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
