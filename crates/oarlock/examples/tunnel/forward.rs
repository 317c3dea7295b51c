//! The two directions of the tunnel.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use oarlock::packet::PacketError;
use oarlock::packet::esp::{Inbound, InboundPacket, Opened, Outbound, OutboundPacket, Suite};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use tun_rs::{GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

use crate::counters::{Count, Counters};
use crate::udp::{self, Udp};

/// Forwards packets from the device to the peer.
pub fn outward(
    device: &SyncDevice,
    mut outbound: Outbound,
    udp: &Udp,
    mtu: usize,
    stop: &Stop,
    counters: &Counters,
) -> Result<(), Fault> {
    let before = Outbound::BEFORE_BYTES;
    let mut buffers = vec![vec![0; before + mtu + Suite::BEHIND_BYTES_MAX]; BATCH];
    let mut sizes = vec![0; BATCH];
    let mut piece = vec![0; VIRTIO_NET_HDR_LEN + PIECE_BYTES_MAX];
    while stop.wait_for(device)? {
        let mut count = 0;
        while BATCH - count >= DEVICE_SEGMENTS_MAX {
            let (buffers, sizes) = (&mut buffers[count..], &mut sizes[count..]);
            match device.recv_multiple(&mut piece, buffers, sizes, before) {
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // An error without an OS code: a packet that tun-rs could not segment.
                Err(error) if error.raw_os_error().is_none() => counters.add(Count::Lost, 1),
                Err(error) => return Err(Fault::of("cannot read the device", error)),
            }
        }
        let mut packets: Vec<_> = (buffers.iter_mut().zip(&sizes).take(count))
            .map(|(buffer, size)| {
                let protocol = protocol_of(buffer[before]);
                OutboundPacket::new(buffer, before..before + size, protocol)
            })
            .collect();
        outbound.seal(&mut packets);
        let mut sealed = Vec::with_capacity(count);
        let mut bytes = 0;
        for (packet, size) in packets.iter().zip(&sizes) {
            match packet.sealed() {
                Ok(datagram) => {
                    sealed.push(datagram);
                    bytes += size;
                }
                Err(error @ PacketError::SequenceExhausted) => {
                    return Err(Fault::of("the association ends", error));
                }
                Err(_) => counters.add(Count::Lost, 1),
            }
        }
        let lost = udp.send(&sealed);
        counters.add(Count::Lost, lost);
        counters.add(Count::OutPackets, sealed.len() - lost);
        counters.add(Count::OutBytes, bytes);
    }
    Ok(())
}

/// Forwards datagrams from the peer to the device.
pub fn inward(
    udp: &Udp,
    mut inbound: Inbound,
    device: &SyncDevice,
    mtu: usize,
    stop: &Stop,
    counters: &Counters,
) -> Result<(), Fault> {
    let room = PAYLOAD_AT + mtu.max(PEER_MTU_MIN) + Suite::BEHIND_BYTES_MAX;
    let mut buffers = vec![Vec::new(); BATCH];
    let mut piece = vec![0; PIECE_BYTES_MAX];
    let mut joined = GROTable::default();
    while stop.wait_for(udp)? {
        let mut count = 0;
        while BATCH - count >= udp::SEGMENTS_MAX {
            let received = udp.receive(&mut piece);
            let received = received.map_err(|error| Fault::of("cannot receive", error))?;
            let Some((bytes, size)) = received else { break };
            for datagram in piece[..bytes].chunks(size) {
                if udp::is_keepalive(datagram) {
                } else if !udp::is_esp(datagram) {
                    counters.add(Count::Foreign, 1);
                } else if datagram.len() > room {
                    counters.add(Count::Invalid, 1);
                } else {
                    buffers[count].clear();
                    buffers[count].extend_from_slice(datagram);
                    count += 1;
                }
            }
        }
        let mut packets: Vec<_> = (buffers[..count].iter_mut())
            .map(|buffer| InboundPacket::new(buffer))
            .collect();
        inbound.open(&mut packets);
        let ends: Vec<_> = packets
            .iter()
            .map(|packet| end_of(packet, counters))
            .collect();
        drop(packets);

        // Accepted packets move to the front and keep their order.
        let mut accepted = 0;
        let mut bytes = 0;
        for (at, end) in ends.into_iter().enumerate() {
            let Some(end) = end else { continue };
            bytes += end - PAYLOAD_AT;
            buffers[at].truncate(end);
            buffers.swap(accepted, at);
            accepted += 1;
        }
        let given = device.send_multiple(&mut joined, &mut buffers[..accepted], PAYLOAD_AT);
        match given {
            Ok(_) => {
                counters.add(Count::InPackets, accepted);
                counters.add(Count::InBytes, bytes);
            }
            Err(error) if error.raw_os_error() == Some(Errno::BADFD.raw_os_error()) => {
                return Err(Fault::of("cannot write to the device", error));
            }
            // The device is down, or it does not accept what the peer sent as a packet.
            Err(_) => counters.add(Count::Lost, accepted),
        }
    }
    Ok(())
}

/// Returns where the IP packet ends in the buffer, or `None` if the packet is refused or a dummy.
fn end_of(packet: &InboundPacket<'_>, counters: &Counters) -> Option<usize> {
    let fault = match packet.opened() {
        Ok(opened) if opened.is_dummy() => return None,
        Ok(opened) => match ip_bytes(&opened) {
            Some(bytes) => return Some(PAYLOAD_AT + bytes),
            None => Count::Invalid,
        },
        Err(PacketError::Replayed) => Count::Replayed,
        Err(PacketError::AuthenticationFailed) => Count::Forged,
        Err(PacketError::OtherAssociation { .. }) => Count::Foreign,
        Err(PacketError::InvalidLength { .. } | PacketError::InvalidPadding) => Count::Invalid,
        Err(_) => Count::Lost,
    };
    counters.add(fault, 1);
    None
}

/// Returns the length of the inner packet from its own header. Bytes after it are padding that hides the length (RFC 4303,
/// 2.7).
fn ip_bytes(opened: &Opened<'_>) -> Option<usize> {
    let payload = opened.payload;
    let is_of = protocol_of(*payload.first()?) == opened.next_header;
    let number = |at: usize| {
        let bytes = payload.get(at..at + 2)?;
        Some(usize::from(bytes[0]) << 8 | usize::from(bytes[1]))
    };
    let bytes = match opened.next_header {
        IPV4 => number(2)?,
        IPV6 => 40 + number(4)?,
        _ => return None,
    };
    (is_of && (20..=payload.len()).contains(&bytes)).then_some(bytes)
}

/// Returns the protocol number for the IP version in a packet's first byte.
fn protocol_of(first: u8) -> u8 {
    if first >> 4 == 6 { IPV6 } else { IPV4 }
}

/// A signal that stops the forwarding threads.
pub struct Stop(OwnedFd);

impl Stop {
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
    }

    pub fn tell(&self) {
        // The write cannot fail: nothing else adds to the eventfd's counter, and nothing reads it.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Waits until `source` is readable; returns false after [`Stop::tell`].
    fn wait_for(&self, source: &impl AsFd) -> Result<bool, Fault> {
        let mut both = [
            PollFd::new(source, PollFlags::IN),
            PollFd::new(&self.0, PollFlags::IN),
        ];
        loop {
            match poll(&mut both, None) {
                Ok(_) => return Ok(both[1].revents().is_empty()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(Fault::of("cannot wait", error)),
            }
        }
    }
}

/// A one-line reason why the tunnel ends.
#[derive(Debug)]
pub struct Fault(String);

impl Fault {
    pub fn of(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The most packets in one call.
const BATCH: usize = 256;
/// The most segments that the device cuts one piece into, unless they are very short.
const DEVICE_SEGMENTS_MAX: usize = 128;
/// The offset of the payload, after SPI, sequence number and IV (RFC 4106, 3; RFC 7634, 2).
const PAYLOAD_AT: usize = 16;
const PIECE_BYTES_MAX: usize = 65_535;
const PEER_MTU_MIN: usize = 1500;
const IPV4: u8 = 4;
const IPV6: u8 = 41;
