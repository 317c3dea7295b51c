//! TCP and TLS: silence, churn, new keys, certificates.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::requests::{OPEN_MAX, digest, hold};
use crate::course::Ended;
use crate::grpc;
use crate::http2::{
    END_HEADERS, HEADERS, PREFACE, Peer, Reading, SETTINGS, WINDOW_BYTES, frame, grpc_headers,
    patiently,
};
use crate::{Course, Target};

pub(super) async fn many(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut held = Vec::new();
    while course.goes_on() {
        // Those that the server refuses after the handshake go.
        held.retain(|peer: &Peer| !peer.is_closed());
        held.push(Peer::open(&target, &course, Reading::NoMore, 65_535).await?);
        course.did(1);
        if held.len() == HELD_MAX {
            held.clear();
        }
    }
    hold(held, &course).await
}

pub(super) async fn churn(target: Arc<Target>, course: Arc<Course>) -> Ended {
    while course.goes_on() {
        let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
        sign_once(&mut peer, &target, course.done()).await?;
        course.did(1);
    }
    Ok(())
}

pub(super) async fn broken_handshakes(target: Arc<Target>, course: Arc<Course>) -> Ended {
    // The beginning of a ClientHello of 512 bytes, and no beginning at all.
    let beginnings: [&[u8]; 4] = [
        &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3],
        &[0x16, 3, 1, 0xff, 0xff],
        b"GET / HTTP/1.1\r\n\r\n",
        &[],
    ];
    while course.goes_on() {
        for beginning in beginnings {
            let mut stream = TcpStream::connect(target.server).await?;
            patiently(&course, stream.write_all(beginning)).await?;
            course.did(1);
        }
    }
    Ok(())
}

pub(super) async fn silent(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut held = Vec::new();
    while course.goes_on() {
        if held.len() == HELD_MAX {
            held.clear();
        }
        let connected = TcpStream::connect(target.server);
        held.push(patiently(&course, connected).await?);
        course.did(1);
    }
    hold(held, &course).await
}

pub(super) async fn slow_writer(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut stream = target.connect(&target.client).await?;
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frame(
        HEADERS,
        END_HEADERS,
        1,
        &grpc_headers(grpc::EXCHANGE),
    ));
    let mut bytes = bytes.into_iter();
    while course.goes_on() {
        let Some(byte) = bytes.next() else {
            return Ok(());
        };
        stream.write_all(&[byte]).await?;
        stream.flush().await?;
        course.did(1);
        sleep(NOW_AND_THEN).await;
    }
    hold(stream, &course).await
}

pub(super) async fn half_open(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let settings = frame(SETTINGS, 0, 0, &[]);
    let headers = frame(HEADERS, END_HEADERS, 1, &grpc_headers(grpc::EXCHANGE));
    // 16 KiB of data, of which nothing follows.
    let data = &[0, 0x40, 0, 0, 0, 0, 0, 0, 1];
    let beginnings = [
        Vec::new(),
        PREFACE[..10].to_vec(),
        PREFACE.to_vec(),
        [PREFACE, &settings].concat(),
        [PREFACE, &settings, &headers[..20]].concat(),
        [PREFACE, &settings, &headers, data].concat(),
    ];
    let mut held = Vec::new();
    while course.goes_on() {
        for beginning in &beginnings {
            if held.len() == HELD_MAX {
                held.clear();
            }
            let mut stream = target.connect(&target.client).await?;
            stream.write_all(beginning).await?;
            stream.flush().await?;
            held.push(stream);
            course.did(1);
        }
    }
    hold(held, &course).await
}

pub(super) async fn key_updates(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut stream = target.connect(&target.client).await?;
    stream.write_all(PREFACE).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    while course.goes_on() {
        for _ in 0..16 {
            // A KeyUpdate that asks for one in return (RFC 8446, 4.6.3).
            let (_, session) = stream.get_mut();
            session.refresh_traffic_keys().map_err(io::Error::other)?;
        }
        // Data that is protected by the last of them.
        let settings = frame(SETTINGS, 1, 0, &[]);
        patiently(&course, async {
            stream.write_all(&settings).await?;
            stream.flush().await
        })
        .await?;
        course.did(16);
    }
    hold(stream, &course).await
}

pub(super) async fn renegotiation(target: Arc<Target>, course: Arc<Course>) -> Ended {
    while course.goes_on() {
        let mut stream = target.connect(&target.client).await?;
        stream.write_all(PREFACE).await?;
        stream.flush().await?;
        // A ClientHello in the clear, below the session.
        let (socket, _) = stream.get_mut();
        let hello = [0x16, 3, 3, 0, 4, 1, 0, 0, 0];
        patiently(&course, socket.write_all(&hello)).await?;
        // TLS 1.3 has none: the server has to close the connection.
        let mut rest = Vec::new();
        let closed = timeout(CLOSED_WITHIN, socket.read_to_end(&mut rest)).await;
        if closed.is_err() {
            return Err(io::Error::other("a second handshake was not refused"));
        }
        course.did(1);
    }
    Ok(())
}

pub(super) async fn client_per_request(target: Arc<Target>, course: Arc<Course>) -> Ended {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    while course.goes_on() {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("c-{number}.example");
        let client = target.minted(&name, Duration::from_secs(3600))?;
        let reading = Reading::Everything;
        let mut peer = Peer::open_as(&target, &course, &client, reading, WINDOW_BYTES).await?;
        sign_once(&mut peer, &target, number).await?;
        course.did(1);
    }
    Ok(())
}

pub(super) async fn expiring(target: Arc<Target>, course: Arc<Course>) -> Ended {
    // The clock of certificates has seconds: there is one left at least.
    let client = target.minted("expiring.example", Duration::from_secs(2))?;
    let reading = Reading::Everything;
    let mut peer = Peer::open_as(&target, &course, &client, reading, WINDOW_BYTES).await?;
    let stream = peer.begin(&grpc_headers(grpc::EXCHANGE), 1, false).await?;
    let mut id = 0;
    while course.goes_on() {
        let sign = grpc::sign(target.key.as_bytes(), &digest(id));
        let ask = grpc::batch([grpc::request(id, 0, &sign)]);
        if !peer.data(stream, &ask, false).await? {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        id += 1;
        course.did(1);
        sleep(NOW_AND_THEN).await;
    }
    hold(peer, &course).await
}

async fn sign_once(peer: &mut Peer, target: &Target, id: u64) -> Ended {
    let sign = grpc::sign(target.key.as_bytes(), &digest(id));
    let ask = grpc::framed(&grpc::request(1, 0, &sign));
    peer.call(&grpc_headers(grpc::CALL), &ask, OPEN_MAX).await?;
    peer.all_ended().await
}

/// Connections that one task holds.
const HELD_MAX: usize = 400;
const NOW_AND_THEN: Duration = Duration::from_millis(20);
/// Only a server that accepts it takes so long.
const CLOSED_WITHIN: Duration = Duration::from_secs(60);
