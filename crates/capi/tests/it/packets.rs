//! Packets, compared with those of the Rust library under the same keys.

use oarlock::Accelerator;
use oarlock::packet::esp::{self, Cipher, Integrity};
use oarlock::packet::srtp::{self, MasterKey, Policy};
use oarlock::packet::tls::{self, ContentType};
use oarlock_testing::lossy;

use crate::library::{compiled, here, started, succeeds};

const KEY: &[u8; 96] = b"ninety-six bytes of keying material, of which every suite takes as many as it needs, from here\0\0";

/// The data that `sealed.c` seals, at `offset` of a buffer with room.
fn filled(offset: usize) -> Vec<u8> {
    let mut buffer = vec![0; 256];
    for at in 0..50 {
        buffer[offset + at] = at as u8;
    }
    buffer[offset..offset + 2].copy_from_slice(&[0x80, 200]);
    buffer
}

fn line(packet: &[u8], sequence: u64) -> String {
    let hex: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{hex} {sequence}\n")
}

fn of_esp(accelerator: &Accelerator, suite: esp::Suite, extended: bool) -> String {
    let association = esp::Association::new(0x1234_5678, suite, &KEY[..suite.key_bytes()])
        .extended_sequence_numbers(extended);
    let mut outbound = accelerator.esp_outbound(&association).unwrap();
    outbound.set_sequence(if extended { (5 << 32) + 6 } else { 6 });
    let mut buffer = filled(24);
    let mut packets = [esp::OutboundPacket::new(&mut buffer, 24..74, 41)];
    outbound.seal(&mut packets);
    line(packets[0].sealed().unwrap(), packets[0].sequence())
}

fn of_srtp(
    accelerator: &Accelerator,
    suite: srtp::Suite,
    mki: &[u8],
    is_rtcp: bool,
    is_plain: bool,
) -> String {
    let key = &KEY[..suite.key_bytes()];
    let keys = [MasterKey { mki, key }];
    let policy = match mki {
        [] => Policy::new(suite, key),
        _ => Policy::with_keys(suite, &keys),
    };
    let policy = policy.encrypt_rtcp(!is_plain);
    let mut outbound = accelerator.srtp_outbound(&policy).unwrap();
    let mut buffer = filled(3);
    let mut packets = [srtp::OutboundPacket::new(&mut buffer[3..], 50)];
    match is_rtcp {
        true => outbound.protect_rtcp(&mut packets),
        false => outbound.protect(&mut packets),
    }
    line(packets[0].protected().unwrap(), packets[0].index())
}

fn of_tls(accelerator: &Accelerator, suite: tls::Suite) -> String {
    let keys = tls::Keys::from_secret(suite, &KEY[..suite.secret_bytes()]).sequence(9);
    let mut outbound = accelerator.tls_outbound(&keys).unwrap();
    let mut buffer = filled(5);
    let mut records = [tls::OutboundRecord::new(
        &mut buffer,
        5..55,
        ContentType::HANDSHAKE,
    )];
    outbound.seal(&mut records);
    line(records[0].sealed().unwrap(), records[0].sequence())
}

#[test]
fn packets_are_those_of_the_rust_library() {
    let accelerator = Accelerator::builder().build().unwrap();
    let with = &accelerator;
    let ctr = esp::Suite::EncryptThenMac(Cipher::Aes192Ctr, Integrity::HmacSha384_192);
    let null = esp::Suite::EncryptThenMac(Cipher::Null, Integrity::HmacSha1_96);
    let expected = [
        of_esp(with, esp::Suite::Aes128Gcm, false),
        of_esp(with, esp::Suite::Aes256Gcm, true),
        of_esp(with, esp::Suite::ChaCha20Poly1305, false),
        of_esp(with, ctr, true),
        of_esp(with, null, false),
        of_srtp(with, srtp::Suite::AesCm128HmacSha1_32, b"", false, false),
        of_srtp(with, srtp::Suite::AesCm256HmacSha1_80, b"mki", true, false),
        of_srtp(with, srtp::Suite::Aes256Gcm, b"", true, true),
        of_srtp(with, srtp::Suite::Aes128Gcm, b"mki", false, true),
        of_tls(with, tls::Suite::Aes128GcmSha256),
        of_tls(with, tls::Suite::Aes256GcmSha384),
        of_tls(with, tls::Suite::ChaCha20Poly1305Sha256),
    ];
    let program = compiled("gcc", &["-std=c89"], &here("tests/c/sealed.c"), &[]);
    let output = succeeds(&mut started(&program));
    assert_eq!(lossy(&output.stdout), expected.concat());
}

#[test]
fn threads_are_kept_once_by_each_object_of_the_library() {
    let program = compiled("gcc", &["-std=c99"], &here("tests/c/reservation.c"), &[]);
    succeeds(&mut started(&program));
}
