//! A UDP socket that sends and receives runs of datagrams in one system call.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};

/// A socket and its peer's address. It receives from any address, since addresses can be forged; only authentication
/// decides.
pub struct Udp {
    socket: UdpSocket,
    peer: SockaddrStorage,
    /// Whether the outgoing path accepts several datagrams as one piece (UDP GSO).
    segments: AtomicBool,
}

impl Udp {
    pub fn bind(listen: SocketAddr, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(listen)?;
        // The buffers hold a burst of the peer's; the system may allow less.
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER_BYTES)?;
        setsockopt(&socket, sockopt::SndBuf, &BUFFER_BYTES)?;
        // Linux has UDP_GRO since 5.0.
        let _ = setsockopt(&socket, sockopt::UdpGroSegment, &true);
        Ok(Self {
            socket,
            peer: peer.into(),
            segments: AtomicBool::new(true),
        })
    }

    /// Sends datagrams in order. Returns how many the network did not accept.
    pub fn send(&self, mut datagrams: &[&[u8]]) -> usize {
        let mut lost = 0;
        while let Some(first) = datagrams.first() {
            let run = if self.segments.load(Ordering::Relaxed) {
                run_of(datagrams)
            } else {
                1
            };
            let (now, rest) = datagrams.split_at(run);
            let size = (run > 1).then_some(first.len() as u16);
            match self.send_run(now, size) {
                // The device or the path lacks checksum offload, or cannot send segments of this length.
                Err(Errno::EIO | Errno::EINVAL | Errno::EMSGSIZE) if run > 1 => {
                    self.segments.store(false, Ordering::Relaxed);
                    continue;
                }
                Err(Errno::EINTR) => continue,
                Err(_) => lost += run,
                Ok(_) => {}
            }
            datagrams = rest;
        }
        lost
    }

    fn send_run(&self, run: &[&[u8]], size: Option<u16>) -> nix::Result<usize> {
        let parts: Vec<_> = run.iter().map(|datagram| IoSlice::new(datagram)).collect();
        let segments = size.as_ref().map(ControlMessage::UdpGsoSegments);
        let fd = self.socket.as_raw_fd();
        sendmsg(
            fd,
            &parts,
            segments.as_slice(),
            MsgFlags::empty(),
            Some(&self.peer),
        )
    }

    /// Keeps NATs on the path from dropping this association (RFC 3948, 4).
    pub fn keep_alive(&self) {
        self.send(&[&[KEEPALIVE]]);
    }

    /// Receives the next run of datagrams, if any. Returns their total bytes, and the length of each but the last.
    pub fn receive(&self, into: &mut [u8]) -> nix::Result<Option<(usize, usize)>> {
        let mut parts = [IoSliceMut::new(into)];
        let mut control = nix::cmsg_space!(i32);
        let fd = self.socket.as_raw_fd();
        let received =
            match recvmsg::<()>(fd, &mut parts, Some(&mut control), MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN) => return Ok(None),
                received => received?,
            };
        let mut size = received.bytes;
        for message in received.cmsgs()? {
            if let ControlMessageOwned::UdpGroSegments(segment) = message {
                size = usize::try_from(segment).unwrap_or(size);
            }
        }
        Ok(Some((received.bytes, size.max(1))))
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns how many datagrams at the front can be sent as one piece: all of one length, except that the last may be shorter
/// (udp(7), UDP_SEGMENT).
fn run_of(datagrams: &[&[u8]]) -> usize {
    let size = datagrams[0].len();
    let most = (PIECE_BYTES_MAX / size.max(1)).clamp(1, SEGMENTS_MAX);
    let same = datagrams
        .iter()
        .take(most)
        .take_while(|it| it.len() == size)
        .count();
    let has_shorter = same < most && datagrams.get(same).is_some_and(|it| it.len() < size);
    same + usize::from(has_shorter)
}

/// Whether a datagram carries ESP.
pub fn is_esp(datagram: &[u8]) -> bool {
    // IKE has zeros in place of an SPI (RFC 3948, 2.2).
    datagram
        .first_chunk()
        .is_some_and(|marker| *marker != [0; 4])
}

pub fn is_keepalive(datagram: &[u8]) -> bool {
    datagram == [KEEPALIVE]
}

/// The most datagrams that the kernel joins into one piece.
pub const SEGMENTS_MAX: usize = 64;
/// The most bytes in a piece, which must stay below 64 KiB with the headers of IP and UDP.
const PIECE_BYTES_MAX: usize = 65_000;
const BUFFER_BYTES: usize = 4 << 20;
const KEEPALIVE: u8 = 0xff;
