//! What is not read, and what is given up.

use std::io;
use std::sync::Arc;

use super::requests::{OPEN_MAX, digest, hold};
use crate::course::Ended;
use crate::grpc;
use crate::http2::{PING, Peer, Reading, WINDOW_BYTES, frame, grpc_headers};
use crate::{Course, Target};

pub(super) async fn random_unread(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::NoMore, 65_535).await?;
    let headers = grpc_headers(grpc::EXCHANGE);
    let asks = (0..32).map(|id| grpc::request(id, 0, &grpc::random(65_536)));
    let asks = grpc::batch(asks);
    let mut streams = Vec::new();
    while course.goes_on() {
        if streams.len() < OPEN_MAX {
            streams.push(peer.begin(&headers, OPEN_MAX, false).await?);
        }
        for stream in &streams {
            // It keeps the connection alive.
            peer.send(frame(PING, 0, 0, &[7; 8])).await?;
            peer.data(*stream, &asks, false).await?;
            course.did(32);
        }
    }
    hold(peer, &course).await
}

pub(super) async fn waiting_messages(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::NoMore, 0).await?;
    let headers = grpc_headers(grpc::EXCHANGE);
    // An empty request takes two bytes here, and a hundred times that when it is decoded.
    let asks = grpc::batch(vec![Vec::new(); 16_384]);
    while course.goes_on() {
        let stream = peer.begin(&headers, OPEN_MAX, false).await?;
        peer.data(stream, &asks, false).await?;
        course.did(1);
    }
    hold(peer, &course).await
}

pub(super) async fn unread(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Nothing, WINDOW_BYTES).await?;
    let stream = peer.begin(&grpc_headers(grpc::EXCHANGE), 1, false).await?;
    let mut id = 0;
    while course.goes_on() {
        let sign = |id| grpc::request(id, 0, &grpc::sign(target.key.as_bytes(), &digest(id)));
        let asks = grpc::batch((id..id + 32).map(sign));
        peer.data(stream, &asks, false).await?;
        id += 32;
        course.did(32);
    }
    hold(peer, &course).await
}

pub(super) async fn slow_reader(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Slowly, WINDOW_BYTES).await?;
    let stream = peer.begin(&grpc_headers(grpc::EXCHANGE), 1, false).await?;
    while course.goes_on() {
        let asks = (0..32).map(|id| grpc::request(id, 0, &grpc::random(65_536)));
        peer.data(stream, &grpc::batch(asks), false).await?;
        course.did(32);
    }
    hold(peer, &course).await
}

pub(super) async fn zero_windows(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::NoMore, 0).await?;
    let headers = grpc_headers(grpc::CALL);
    let ask = grpc::framed(&grpc::request(1, 0, &grpc::random(65_536)));
    while course.goes_on() {
        // None of them ends.
        peer.call(&headers, &ask, OPEN_MAX).await?;
        course.did(1);
    }
    hold(peer, &course).await
}

pub(super) async fn cancelled(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let headers = grpc_headers(grpc::EXCHANGE);
    let mut under_way = Vec::new();
    while course.goes_on() {
        let stream = peer.begin(&headers, OPEN_MAX, false).await?;
        let sign = |id| grpc::request(id, 0, &grpc::sign(target.key.as_bytes(), &digest(id)));
        peer.data(stream, &grpc::batch((0..4).map(sign)), false)
            .await?;
        under_way.push(stream);
        course.did(4);
        if under_way.len() == 16 {
            for stream in under_way.drain(..) {
                peer.reset(stream).await?;
            }
        }
    }
    hold(peer, &course).await
}

pub(super) async fn many_streams(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = Peer::open(&target, &course, Reading::Everything, WINDOW_BYTES).await?;
    let headers = grpc_headers(grpc::EXCHANGE);
    let mut streams = Vec::new();
    while course.goes_on() {
        // The server refuses those above its limit.
        if streams.len() < 256 {
            streams.push(peer.begin(&headers, usize::MAX, false).await?);
        }
        let mut is_open = false;
        for stream in &streams {
            let sign = grpc::sign(target.key.as_bytes(), &digest(u64::from(*stream)));
            let ask = grpc::batch([grpc::request(1, 0, &sign)]);
            is_open |= peer.data(*stream, &ask, false).await?;
            course.did(1);
        }
        if !is_open {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
    }
    hold(peer, &course).await
}
