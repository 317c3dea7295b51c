//! HTTP/2 below gRPC: resets, headers, windows, floods of frames.

use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use super::requests::{OPEN_MAX, hold};
use crate::course::Ended;
use crate::grpc;
use crate::http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PAYLOAD_MAX, PING, PREFACE, PRIORITY,
    Peer, RST_STREAM, Reading, SETTINGS, WINDOW_BYTES, WINDOW_UPDATE, frame, grpc_headers, header,
    patiently, remembered_header, setting,
};
use crate::{Course, Target};

pub(super) async fn rapid_reset(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let headers = grpc_headers(grpc::CALL);
    let ask = grpc::framed(&grpc::request(1, 0, &grpc::random(1)));
    while course.goes_on() {
        let mut frames = Vec::new();
        for _ in 0..BURST {
            let stream = peer.stream()?;
            frames.extend(frame(HEADERS, END_HEADERS, stream, &headers));
            frames.extend(frame(DATA, END_STREAM, stream, &ask));
            frames.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
        }
        peer.send(frames).await?;
        course.did(BURST);
    }
    hold(peer, &course).await
}

pub(super) async fn made_reset(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let headers = grpc_headers(grpc::CALL);
    while course.goes_on() {
        let mut frames = Vec::new();
        for _ in 0..BURST {
            let stream = peer.stream()?;
            frames.extend(frame(HEADERS, END_HEADERS, stream, &headers));
            // More than a window can have (RFC 9113, 6.9.1): an error of the stream alone.
            let more = 0x7fff_ffffu32.to_be_bytes();
            frames.extend(frame(WINDOW_UPDATE, 0, stream, &more));
        }
        peer.send(frames).await?;
        course.did(BURST);
    }
    hold(peer, &course).await
}

pub(super) async fn huge_headers(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let huge = header(b"x-huge", &vec![b'x'; 1 << 20]);
    let block = [grpc_headers(grpc::CALL), huge].concat();
    while course.goes_on() {
        let sent = send_block(&mut peer, &block).await;
        // That the server ends the connection over it is one of its answers.
        course.did(1);
        sent?;
    }
    hold(peer, &course).await
}

pub(super) async fn many_headers(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let short: Vec<u8> = (0..5000)
        .flat_map(|number| header(format!("x-{number}").as_bytes(), b""))
        .collect();
    // A long one once, and then references of one byte: index 62 is the newest (RFC 7541, 2.3.3).
    let mut references = remembered_header(b"x-long", &[b'x'; 4000]);
    references.extend([0x80 | 62; 15_000]);
    while course.goes_on() {
        // In turn, also over connections, which the server may end.
        let more = [&short, &references][course.done() as usize % 2];
        let block = [grpc_headers(grpc::CALL), more.clone()].concat();
        let sent = send_block(&mut peer, &block).await;
        course.did(1);
        sent?;
    }
    hold(peer, &course).await
}

pub(super) async fn continuations(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let stream = peer.stream()?;
    let headers = grpc_headers(grpc::CALL);
    peer.send(frame(HEADERS, 0, stream, &headers)).await?;
    let field = header(b"x-more", &[b'x'; 1000]);
    while course.goes_on() {
        peer.send(frame(CONTINUATION, 0, stream, &field)).await?;
        course.did(1);
    }
    hold(peer, &course).await
}

pub(super) async fn pings(target: Arc<Target>, course: Arc<Course>) -> Ended {
    flood(&target, &course, &frame(PING, 0, 0, &[7; 8])).await
}

pub(super) async fn settings(target: Arc<Target>, course: Arc<Course>) -> Ended {
    // The largest frame, and the size of the table of headers.
    let settings = [setting(5, 16_384), setting(1, 4096)].concat();
    flood(&target, &course, &frame(SETTINGS, 0, 0, &settings)).await
}

pub(super) async fn window_updates(target: Arc<Target>, course: Arc<Course>) -> Ended {
    flood(&target, &course, &frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])).await
}

pub(super) async fn priorities(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let priority = frame(PRIORITY, 0, 0x7fff_fff1, &[0, 0, 0, 3, 16]);
    flood(&target, &course, &priority).await
}

pub(super) async fn empty_frames(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let headers = grpc_headers(grpc::EXCHANGE);
    let stream = peer.begin(&headers, OPEN_MAX, false).await?;
    let empty = frame(DATA, 0, stream, &[]).repeat(BURST as usize);
    while course.goes_on() {
        peer.send(empty.clone()).await?;
        course.did(BURST);
    }
    hold(peer, &course).await
}

pub(super) async fn odd_paths(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let long = format!("/{}", "x".repeat(8000));
    let paths = [
        "/",
        "*",
        "/oarlock.v1.Cryptoserver/",
        "/oarlock.v1.Cryptoserver/Exchange/../Call",
        "/oarlock.v1.Other/Call?a=b#c",
        "/%00%0a",
        "/\u{1}",
        "",
        &long,
    ];
    while course.goes_on() {
        for path in paths {
            // Answered, or refused as malformed: the stream ends in either case.
            peer.call(&grpc_headers(path), b"junk", OPEN_MAX).await?;
            course.did(1);
        }
    }
    hold(peer, &course).await
}

pub(super) async fn junk(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let mut held = Vec::new();
    while course.goes_on() {
        let mut stream = target.connect(&target.client).await?;
        let mut bytes = if course.done().is_multiple_of(2) {
            PREFACE.to_vec()
        } else {
            Vec::new()
        };
        for _ in 0..64 {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            bytes.extend(noise.to_le_bytes());
        }
        // The server may close it before it has read everything.
        let written = patiently(&course, stream.write_all(&bytes)).await;
        course.did(1);
        if written.is_ok() && held.len() < 8 {
            held.push(stream);
        }
    }
    hold(held, &course).await
}

/// The same frame again and again. It reads nothing.
async fn flood(target: &Target, course: &Arc<Course>, frame: &[u8]) -> Ended {
    let peer = Peer::open(target, course, Reading::Nothing, WINDOW_BYTES).await?;
    let frames = frame.repeat(BURST as usize);
    while course.goes_on() {
        peer.send(frames.clone()).await?;
        course.did(BURST);
    }
    hold(peer, course).await
}

/// A call of these headers, in as many frames as it takes.
async fn send_block(peer: &mut Peer, block: &[u8]) -> Ended {
    let stream = peer.stream()?;
    let mut parts = block.chunks(PAYLOAD_MAX).peekable();
    let mut kind = HEADERS;
    while let Some(part) = parts.next() {
        let mut flags = 0;
        if kind == HEADERS {
            flags |= END_STREAM;
        }
        if parts.peek().is_none() {
            flags |= END_HEADERS;
        }
        peer.send(frame(kind, flags, stream, part)).await?;
        kind = CONTINUATION;
    }
    peer.all_ended().await
}

/// Frames that are sent together.
const BURST: u64 = 50;
