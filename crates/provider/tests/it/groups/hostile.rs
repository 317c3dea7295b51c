//! Peers that send invalid shares of a hybrid: truncated, too long, of small order, off the curve, unreduced. Each is
//! refused with an alert, and the next honest peer is served.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use oarlock_testing::seeded_noise;

use super::{End, HYBRIDS, Site};
use crate::host::Accelerated;

/// The lengths of a client's share, a server's, and of the curve's part, and whether that comes first, as it does except
/// with X25519.
const LENGTHS: [(usize, usize, usize, bool); 3] = [
    (1216, 1120, 32, false),
    (1249, 1153, 65, true),
    (1665, 1665, 97, true),
];

#[test]
fn servers_refuse_what_is_no_share() {
    let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
    let here = End::Here(Some(&accelerated));
    // All groups by name: the defaults of OpenSSL 3.5 and later include only X25519MLKEM768.
    let groups = HYBRIDS.map(|(group, _)| group).join(":");
    let server = here.serves(&site, Some(&groups));
    for ((group, number), (bytes, _, curve, is_curve_first)) in HYBRIDS.into_iter().zip(LENGTHS) {
        for share in bad_shares(bytes, curve, is_curve_first) {
            let alert = alert_of(server.port, &client_hello(number, &share));
            assert!(
                matches!(alert, Some(ILLEGAL_PARAMETER | DECODE_ERROR)),
                "{group}: {} bytes: {alert:?}",
                share.len()
            );
        }
        assert!(
            here.asks(&site, server.port, Some(group), &[]).is_ok(),
            "{group}"
        );
    }
    assert!(server.is_well());
}

#[test]
fn clients_refuse_what_is_no_share() {
    let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
    let here = End::Here(Some(&accelerated));
    for ((group, number), (_, bytes, curve, is_curve_first)) in HYBRIDS.into_iter().zip(LENGTHS) {
        for share in bad_ciphertexts(bytes, curve, is_curve_first) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let sent = share.clone();
            let server = std::thread::spawn(move || answer(&listener, number, &sent));
            let refused = here.asks(&site, port, Some(group), &[]).unwrap_err();
            let alert = server.join().unwrap();
            assert!(
                matches!(
                    alert,
                    Some(ILLEGAL_PARAMETER | DECODE_ERROR | INTERNAL_ERROR)
                ),
                "{group}: {} bytes: {alert:?} {refused}",
                share.len()
            );
        }
    }
}

/// Returns shares of a client: truncated, extended, random, and valid except for one of the two parts.
fn bad_shares(bytes: usize, curve: usize, is_curve_first: bool) -> Vec<Vec<u8>> {
    let mut shares = bad_lengths(bytes, curve);
    // Random bytes contain coefficients that are not reduced.
    shares.push(seeded_noise(1, bytes));
    // A zero curve part has small order or is no point; zero is a valid key of ML-KEM.
    shares.push(vec![0; bytes]);
    let mut unreduced = vec![0; bytes];
    let at = if is_curve_first { curve } else { 0 };
    unreduced[at..at + 3].fill(0xff);
    shares.push(unreduced);
    shares
}

/// Returns shares of a server, in which any ciphertext of ML-KEM is valid.
fn bad_ciphertexts(bytes: usize, curve: usize, is_curve_first: bool) -> Vec<Vec<u8>> {
    let mut shares = bad_lengths(bytes, curve);
    shares.push(vec![0; bytes]);
    if is_curve_first {
        shares.push(seeded_noise(1, bytes));
    }
    shares
}

fn bad_lengths(bytes: usize, curve: usize) -> Vec<Vec<u8>> {
    let lengths = [
        1,
        curve - 1,
        curve,
        bytes - curve,
        bytes - 1,
        bytes + 1,
        2 * bytes,
    ];
    lengths.map(|bytes| vec![4; bytes]).into()
}

/// Returns the number of the alert that a server answers with, if it does.
fn alert_of(port: u16, hello: &[u8]) -> Option<u8> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    connection.write_all(hello).unwrap();
    read_alert(&mut connection)
}

fn read_alert(connection: &mut TcpStream) -> Option<u8> {
    loop {
        let mut header = [0; 5];
        connection.read_exact(&mut header).ok()?;
        let mut body = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        connection.read_exact(&mut body).ok()?;
        match header[0] {
            ALERT => return body.get(1).copied(),
            CHANGE_CIPHER_SPEC => {}
            _ => return None,
        }
    }
}

/// Receives a client's hello and answers with this share. Returns the alert that follows.
fn answer(listener: &TcpListener, group: u16, share: &[u8]) -> Option<u8> {
    let (mut connection, _) = listener.accept().unwrap();
    connection
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut header = [0; 5];
    connection.read_exact(&mut header).ok()?;
    let mut hello = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
    connection.read_exact(&mut hello).ok()?;
    let session_bytes = usize::from(hello[38]);
    let session = &hello[39..39 + session_bytes];
    let key_share = [&group.to_be_bytes()[..], &vector(share)].concat();
    let extensions = [extension(43, &[3, 4]), extension(51, &key_share)].concat();
    let body = [
        &[3, 3][..],
        &seeded_noise(3, 32),
        &[session_bytes as u8],
        session,
        &[0x13, 0x01, 0],
        &vector(&extensions),
    ];
    connection.write_all(&record(2, &body.concat())).unwrap();
    read_alert(&mut connection)
}

/// Returns a TLS 1.3 hello (RFC 8446, 4.1.2) with one share.
fn client_hello(group: u16, share: &[u8]) -> Vec<u8> {
    let group = group.to_be_bytes();
    let entry = [&group[..], &vector(share)].concat();
    let signatures = [0x04, 0x03, 0x08, 0x04, 0x04, 0x01];
    let extensions = [
        extension(10, &vector(&group)),
        extension(13, &vector(&signatures)),
        extension(43, &[2, 3, 4]),
        extension(51, &vector(&entry)),
    ];
    let body = [
        &[3, 3][..],
        &seeded_noise(2, 32),
        &[0],
        &vector(&[0x13, 0x01]),
        &[1, 0],
        &vector(&extensions.concat()),
    ];
    record(1, &body.concat())
}

/// Returns a handshake message in a record of its own.
fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    let message = [&[kind][..], &length[1..], body].concat();
    [&[HANDSHAKE, 3, 1][..], &vector(&message)].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &vector(body)].concat()
}

/// Returns bytes preceded by their length.
fn vector(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
}

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const ILLEGAL_PARAMETER: u8 = 47;
const DECODE_ERROR: u8 = 50;
const INTERNAL_ERROR: u8 = 80;
