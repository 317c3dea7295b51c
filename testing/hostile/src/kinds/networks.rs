//! Connections from many addresses: a bound for each of them is no bound for all.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;
use tokio::time::sleep;

use super::requests::hold;
use crate::course::Ended;
use crate::http2::patiently;
use crate::{Course, Target};

pub(super) async fn silent(target: Arc<Target>, course: Arc<Course>) -> Ended {
    flood(target.server, &[], &course).await
}

pub(super) async fn begun(target: Arc<Target>, course: Arc<Course>) -> Ended {
    flood(target.server, &[0x16], &course).await
}

pub(super) async fn idle(target: Arc<Target>, course: Arc<Course>) -> Ended {
    flood(target.metrics, &[], &course).await
}

/// Opens connections, each from the next address, and sends no more than `beginning` over them.
async fn flood(address: SocketAddr, beginning: &[u8], course: &Course) -> Ended {
    static NETWORK: AtomicU8 = AtomicU8::new(0);
    let mut held = VecDeque::new();
    while course.goes_on() {
        for _ in 0..AT_ONCE {
            // The server has displaced the oldest ones.
            if held.len() == HELD_MAX {
                held.pop_front();
            }
            let network = NETWORK.fetch_add(1, Ordering::Relaxed);
            let socket = TcpSocket::new_v4()?;
            socket.bind(([127, network, 1, 1], 0).into())?;
            let mut stream = patiently(course, socket.connect(address)).await?;
            stream.write_all(beginning).await?;
            held.push_back(stream);
        }
        course.did(AT_ONCE);
        sleep(PAUSE).await;
    }
    hold(held, course).await
}

/// By four tasks: 3,400 a second.
const AT_ONCE: u64 = 17;
const PAUSE: Duration = Duration::from_millis(20);
/// Connections that one task holds: more than the server has places for, by four tasks.
const HELD_MAX: usize = 1200;
