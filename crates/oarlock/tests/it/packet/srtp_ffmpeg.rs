//! Audio to and from ffmpeg, which has its own SRTP (libavformat), over loopback.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use oarlock::packet::srtp::{InboundPacket, Policy, Suite};
use oarlock_testing::{skip, until};

use super::srtp::{protect_one, rtp};
use super::srtp_by_hand::key_of;
use crate::common::accelerator;

/// The suites and their names in ffmpeg. The second name is that of RFC 5764: under the name of RFC 4568, ffmpeg uses the
/// short tag for SRTCP too, against section 6.2.
const SUITES: [(Suite, &str); 2] = [
    (Suite::AesCm128HmacSha1_80, "AES_CM_128_HMAC_SHA1_80"),
    (Suite::AesCm128HmacSha1_32, "SRTP_AES128_CM_HMAC_SHA1_32"),
];

/// The time after which a test fails; successful runs need less.
const PATIENCE: Duration = Duration::from_secs(60);

fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        skip("ffmpeg is not installed");
    }
    found
}

fn ffmpeg(arguments: &[&str]) -> Child {
    Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"])
        .args(arguments)
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert!(bytes.len().is_multiple_of(3));
    (bytes.chunks(3))
        .flat_map(|it| {
            let bits = u32::from_be_bytes([0, it[0], it[1], it[2]]);
            [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift) as usize & 63]))
        })
        .collect()
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn port(socket: &UdpSocket) -> u16 {
    socket.local_addr().unwrap().port()
}

#[test]
fn what_ffmpeg_sends_is_received() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sent.ul");
    for (suite, name) in SUITES {
        let key = key_of(suite, 1);
        let (rtp_socket, rtcp_socket) = (socket(), socket());
        let url = format!(
            "srtp://127.0.0.1:{}?rtcpport={}",
            port(&rtp_socket),
            port(&rtcp_socket)
        );
        // The same audio as SRTP and as a file.
        let mut program = ffmpeg(&[
            "-f",
            "lavfi",
            "-i",
            "sine=sample_rate=8000:duration=3",
            "-map",
            "0:a",
            "-c:a",
            "pcm_mulaw",
            "-f",
            "mulaw",
            &file.to_string_lossy(),
            "-map",
            "0:a",
            "-c:a",
            "pcm_mulaw",
            "-f",
            "rtp",
            "-srtp_out_suite",
            name,
            "-srtp_out_params",
            &base64(&key),
            &url,
        ]);
        let mut inbound = accelerator()
            .srtp_inbound(&Policy::new(suite, &key))
            .unwrap();
        let mut sound = Vec::new();
        let mut buffer = [0; 2048];
        while sound.len() < 3 * 8000 {
            let bytes = rtp_socket.recv(&mut buffer).unwrap();
            let mut packets = [InboundPacket::new(&mut buffer[..bytes])];
            inbound.unprotect(&mut packets);
            sound.extend_from_slice(&packets[0].unprotected().unwrap().packet[12..]);
        }
        assert!(program.wait().unwrap().success());
        assert_eq!(sound, fs::read(&file).unwrap(), "{name}");

        let bytes = rtcp_socket.recv(&mut buffer).unwrap();
        let mut packets = [InboundPacket::new(&mut buffer[..bytes])];
        inbound.unprotect_rtcp(&mut packets);
        let report = packets[0].unprotected().unwrap().packet;
        assert_eq!(report[1], 200, "a sender report");
    }
}

#[test]
fn what_is_sent_is_received_by_ffmpeg() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (suite, name) in SUITES {
        let key = key_of(suite, 2);
        let received = folder.path().join("received.ul");
        let description = folder.path().join("session.sdp");
        // Two consecutive ports that are very probably free.
        let port = (0..100)
            .find_map(|_| {
                let first = port(&socket());
                let both =
                    [first, first.checked_add(1)?].map(|it| UdpSocket::bind(("127.0.0.1", it)));
                both.iter().all(Result::is_ok).then_some(first)
            })
            .unwrap();
        fs::write(
            &description,
            format!(
                "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n\
                 m=audio {port} RTP/SAVP 0\na=crypto:1 {name} inline:{}\n",
                base64(&key)
            ),
        )
        .unwrap();
        let mut program = receive(&description, &received);
        let mut outbound = accelerator()
            .srtp_outbound(&Policy::new(suite, &key))
            .unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        // Send until ffmpeg has enough packets; none arrives before it listens.
        let mut sequence = 0_u16;
        let mut sound = Vec::new();
        until("ffmpeg ends", || {
            let payload: Vec<u8> = (0..160_usize)
                .map(|i| ((sound.len() + i) / 7 % 251) as u8)
                .collect();
            let mut packet = rtp(0x0f0f, sequence, &payload);
            packet[1] = 0;
            packet[4..8].copy_from_slice(&(sound.len() as u32).to_be_bytes());
            let sent = protect_one(&mut outbound, &packet);
            if socket.send(&sent).is_ok() {
                sound.extend(payload);
            }
            sequence = sequence.wrapping_add(1);
            program.try_wait().unwrap().is_some()
        });
        assert!(program.wait().unwrap().success());
        let received = fs::read(&received).unwrap();
        assert!(received.len() >= 4000, "{name}: {}", received.len());
        let is_there = sound.windows(received.len()).any(|it| it == received);
        assert!(is_there, "{name}: this is not what was sent");
    }
}

/// Receives half a second of audio.
fn receive(description: &Path, to: &Path) -> Child {
    ffmpeg(&[
        "-protocol_whitelist",
        "file,udp,rtp,srtp,crypto",
        "-i",
        &description.to_string_lossy(),
        "-c",
        "copy",
        "-t",
        "0.5",
        "-f",
        "mulaw",
        &to.to_string_lossy(),
    ])
}
