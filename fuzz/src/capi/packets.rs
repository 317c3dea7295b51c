//! Associations and contexts with any specification, and packets that lie anywhere.

use std::ffi::{CString, c_int};
use std::ptr;

use arbitrary::Arbitrary;

use super::functions::{EspSpec, Packet, SrtpSpec, TlsSpec};

#[derive(Arbitrary, Debug)]
pub(super) struct Association {
    cipher: u8,
    integrity: u8,
    /// Off what fits, at times.
    more_key: u8,
    opens: bool,
    spi: u8,
    window: u16,
    last_sequence: u64,
}

#[derive(Arbitrary, Debug)]
pub(super) struct Context {
    suite: u8,
    more_key: u8,
    opens: bool,
    mki_bytes: u8,
    window: u16,
    streams: u8,
}

#[derive(Arbitrary, Debug)]
pub(super) struct Connection {
    suite: u8,
    more_key: u8,
    opens: bool,
    has_secret: bool,
    sequence: u64,
}

/// A packet, and the buffer that it says it has.
#[derive(Arbitrary, Debug)]
pub(super) struct Place {
    at: u8,
    room: u8,
    offset: u8,
    bytes: u8,
    kind: u8,
}

const CIPHERS: [(&str, usize); 13] = [
    ("aes-128-gcm", 20),
    ("aes-192-gcm", 28),
    ("aes-256-gcm", 36),
    ("chacha20-poly1305", 36),
    ("null", 0),
    ("aes-128-cbc", 16),
    ("aes-192-cbc", 24),
    ("aes-256-cbc", 32),
    ("aes-128-ctr", 20),
    ("aes-192-ctr", 28),
    ("aes-256-ctr", 36),
    ("des-ede3-cbc", 24),
    ("rot13", 1),
];

const INTEGRITIES: [(&str, usize); 7] = [
    ("", 0),
    ("hmac-md5-96", 16),
    ("hmac-sha1-96", 20),
    ("hmac-sha256-128", 32),
    ("hmac-sha384-192", 48),
    ("hmac-sha512-256", 64),
    ("crc", 4),
];

const SUITES: [(&str, usize); 11] = [
    ("AES_CM_128_HMAC_SHA1_80", 30),
    ("AES_CM_128_HMAC_SHA1_32", 30),
    ("AES_192_CM_HMAC_SHA1_80", 38),
    ("AES_192_CM_HMAC_SHA1_32", 38),
    ("AES_256_CM_HMAC_SHA1_80", 46),
    ("AES_256_CM_HMAC_SHA1_32", 46),
    ("AEAD_AES_128_GCM", 28),
    ("AEAD_AES_256_GCM", 44),
    ("SRTP_NULL_HMAC_SHA1_80", 30),
    ("SRTP_NULL_HMAC_SHA1_32", 30),
    ("", 0),
];

fn one_of(all: &[(&'static str, usize)], number: u8) -> (CString, usize) {
    let (name, bytes) = all[usize::from(number) % all.len()];
    (CString::new(name).unwrap(), bytes)
}

impl Association {
    /// `key` has 200 bytes.
    pub(super) fn with<R>(&self, key: *const u8, run: impl FnOnce(&EspSpec) -> R) -> R {
        let (cipher, cipher_bytes) = one_of(&CIPHERS, self.cipher);
        let (integrity, integrity_bytes) = one_of(&INTEGRITIES, self.integrity);
        let has_integrity = integrity_bytes != 0;
        run(&EspSpec {
            opens: self.opens.into(),
            spi: (self.spi % 4).into(),
            cipher: cipher.as_ptr(),
            integrity: if has_integrity {
                integrity.as_ptr()
            } else {
                ptr::null()
            },
            key: key.cast(),
            key_bytes: cipher_bytes + integrity_bytes + usize::from(self.more_key / 128),
            has_extended_numbers: c_int::from(self.spi & 4),
            replay_window: self.window.into(),
            last_sequence: self.last_sequence,
        })
    }
}

impl Context {
    /// `key` has 200 bytes.
    pub(super) fn with<R>(&self, key: *const u8, run: impl FnOnce(&SrtpSpec) -> R) -> R {
        let (suite, bytes) = one_of(&SUITES, self.suite);
        run(&SrtpSpec {
            opens: self.opens.into(),
            leaves_rtcp_plain: (self.more_key & 1).into(),
            suite: suite.as_ptr(),
            key: key.cast(),
            key_bytes: bytes + usize::from(self.more_key / 128),
            mki: key.cast(),
            mki_bytes: (self.mki_bytes % 140).into(),
            replay_window: self.window.into(),
            retransmissions: (self.streams % 8).into(),
            streams_max: self.streams.into(),
        })
    }
}

impl Connection {
    /// `key` has 200 bytes.
    pub(super) fn with<R>(&self, key: *const u8, run: impl FnOnce(&TlsSpec) -> R) -> R {
        let number = usize::from(self.suite % 4);
        let more = usize::from(self.more_key / 128);
        let [secret, of_key, iv] = match self.has_secret {
            true => [[32, 48, 32, 32][number] + more, 0, 0],
            false => [0, [16, 32, 32, 32][number] + more, 12],
        };
        run(&TlsSpec {
            opens: self.opens.into(),
            suite: 0x1301 + u32::from(self.suite % 4),
            secret: key.cast(),
            secret_bytes: secret,
            key: key.cast(),
            key_bytes: of_key,
            iv: key.cast(),
            iv_bytes: iv + usize::from(self.more_key & 1),
            sequence: self.sequence,
        })
    }
}

/// Packets in `memory`, of 512 bytes.
pub(super) fn packets(places: &[Place], memory: *mut u8) -> Vec<Packet> {
    let places = places.iter().take(20);
    places
        .map(|place| Packet {
            buffer: memory.wrapping_add(place.at.into()).cast(),
            buffer_bytes: place.room.into(),
            offset: place.offset.into(),
            bytes: place.bytes.into(),
            kind: u32::from(place.kind) * 2,
            error: 1,
            sequence: 0,
        })
        .collect()
}

/// Each packet of a call says what became of it.
pub(super) fn are_as_said(outcome: c_int, packets: &[Packet], internal: c_int) {
    for packet in packets {
        assert!(packet.error <= 0 && packet.error != internal, "{packet:?}");
        assert!(outcome != 0 || packet.error == 0, "{packet:?}");
        let is_within = packet.offset + packet.bytes <= packet.buffer_bytes;
        assert!(is_within || packet.error != 0, "{packet:?}");
    }
}
