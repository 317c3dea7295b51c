//! The metrics port.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::requests::hold;
use crate::course::Ended;
use crate::http2::patiently;
use crate::{Course, Target};

pub(super) async fn idle(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut held = Vec::new();
    while course.goes_on() {
        if held.len() == HELD_MAX {
            held.clear();
        }
        let connected = TcpStream::connect(target.metrics);
        held.push(patiently(&course, connected).await?);
        course.did(1);
    }
    hold(held, &course).await
}

pub(super) async fn slow(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut stream = TcpStream::connect(target.metrics).await?;
    for byte in format!("GET /metrics HTTP/1.1\r\nx: {}", "x".repeat(1 << 20)).bytes() {
        if !course.goes_on() {
            break;
        }
        stream.write_all(&[byte]).await?;
        course.did(1);
        sleep(NOW_AND_THEN).await;
    }
    hold(stream, &course).await
}

pub(super) async fn flood(target: Arc<Target>, course: Arc<Course>) -> Ended {
    while course.goes_on() {
        let mut stream = TcpStream::connect(target.metrics).await?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await?;
        let mut page = Vec::new();
        patiently(&course, stream.read_to_end(&mut page)).await?;
        if page.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        course.did(1);
    }
    Ok(())
}

pub(super) async fn unread(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut stream = TcpStream::connect(target.metrics).await?;
    let ask = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(10);
    while course.goes_on() {
        patiently(&course, stream.write_all(&ask)).await?;
        course.did(10);
    }
    hold(stream, &course).await
}

pub(super) async fn odd(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let asks = [
        format!(
            "GET /metrics HTTP/1.1\r\nx: {}\r\n\r\n",
            "x".repeat(1 << 20)
        ),
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(20_000)),
        format!(
            "POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: 999999999999\r\n\r\n{}",
            "x".repeat(1 << 20)
        ),
        "\u{1}\u{2}\u{3}\r\n\r\n".repeat(1000),
    ];
    while course.goes_on() {
        for ask in &asks {
            let mut stream = TcpStream::connect(target.metrics).await?;
            // The server may close it before it has read everything.
            let exchanged = async {
                let written = stream.write_all(ask.as_bytes()).await;
                let mut answer = [0; 1024];
                let read = stream.read(&mut answer).await;
                written.and(read)
            };
            let _ = patiently(&course, exchanged).await;
            course.did(1);
        }
    }
    Ok(())
}

/// Connections that one task holds.
const HELD_MAX: usize = 400;
const NOW_AND_THEN: Duration = Duration::from_millis(20);
