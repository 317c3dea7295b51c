//! ESP (RFC 4303) with AES-256-GCM and extended sequence numbers: whole packets of one association, from the payload to the
//! bytes on the wire.
//!
//! A peer keeps its context, and adds header, padding and trailer to the payload as ours does. `one` compares two threads of
//! ours with one, in a steady flow of calls that keeps the helper awake.

use oarlock::packet::esp::{Association, Outbound, OutboundPacket, Suite};
use oarlock::{Accelerator, Strategy};
use oarlock_measure::Error;
use oarlock_measure::cases::{CASES, Case};
use oarlock_measure::peers::{Aead, PeerFactory, Subject, openssl};

use super::line::{BELOW_A, Line, NEVER_SLOWER, Peer, Promise, refused};
use crate::peers::aws_lc;
use crate::peers::batch::{Batch, Done, PACKETS_MAX, Packets, Side, bytes_of};

pub(super) const LINES: &[Line] = &[
    Line {
        name: "packet-esp-gcm",
        packets: 64,
        granule: 1,
        ours: |batch| Ours::side(batch, 0),
        peers: &[
            Peer {
                name: "openssl",
                ways: &[|batch| Theirs::side(&openssl::PEER, batch)],
            },
            Peer {
                name: "aws-lc",
                ways: &[|batch| Theirs::side(&aws_lc::PEER, batch)],
            },
        ],
        promises: &[
            promise("over openssl", 1.3, "A"),
            promise("over openssl", NEVER_SLOWER, BELOW_A),
            promise("over aws-lc", NEVER_SLOWER, "ABCD"),
        ],
    },
    Line {
        name: "packet-esp-two-threads",
        packets: PACKETS_MAX,
        granule: 1,
        ours: |batch| Ours::side(batch, 1),
        peers: &[Peer {
            name: "one",
            ways: &[|batch| Ours::side(batch, 0)],
        }],
        promises: &[promise("over one", 1.9, "A")],
    },
];

const fn promise(over: &'static str, required: f64, classes: &'static str) -> Promise {
    Promise {
        bytes: 1_400,
        over,
        required,
        classes,
    }
}

struct Ours {
    outbound: Outbound,
    room: Room,
    /// Owns the threads.
    _accelerator: Accelerator,
}

impl Ours {
    fn side(batch: &Batch, workers: usize) -> Result<Box<dyn Side>, Error> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        if workers >= cpus {
            return Err(Error::Unavailable(format!("there are {cpus} CPUs")));
        }
        let built = Accelerator::builder()
            .max_threads(workers + 1)
            .strategy(Strategy::Auto)
            .build();
        let accelerator = built.map_err(refused)?;
        let key = key();
        let association = Association::new(SPI, SUITE, &key).extended_sequence_numbers(true);
        let outbound = accelerator.esp_outbound(&association).map_err(refused)?;
        outbound.workers().set(workers);
        Ok(Box::new(Self {
            outbound,
            room: Room::of(batch),
            _accelerator: accelerator,
        }))
    }
}

impl Side for Ours {
    fn run(&mut self) {
        let Room { buffers, payloads } = &mut self.room;
        let mut packets: Vec<_> = (buffers.each_mut().zip(payloads))
            .map(|(buffer, bytes)| OutboundPacket::new(buffer, BEFORE..BEFORE + *bytes, IPV4))
            .collect();
        self.outbound.seal(&mut packets);
    }

    fn outcome(&mut self) -> Vec<Done> {
        self.room.outcome()
    }
}

struct Theirs {
    aead: Box<dyn Aead>,
    salt: [u8; 4],
    sequence: u64,
    room: Room,
}

impl Theirs {
    fn side(factory: &PeerFactory, batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let peer = (factory.open)(1)?;
        let key: [u8; 36] = key();
        let case: &Case = CASES
            .iter()
            .find(|known| known.name == "aes-256-gcm")
            .ok_or_else(|| Error::Failed("no case aes-256-gcm".to_owned()))?;
        let Subject::Aead(aead) = peer.subject(case, &key[..32])? else {
            return Err(Error::Failed("aes-256-gcm is no AEAD".to_owned()));
        };
        Ok(Box::new(Self {
            aead,
            salt: [key[32], key[33], key[34], key[35]],
            sequence: 0,
            room: Room::of(batch),
        }))
    }
}

impl Side for Theirs {
    fn run(&mut self) {
        let Room { buffers, payloads } = &mut self.room;
        for (buffer, bytes) in buffers.each_mut().zip(payloads) {
            self.sequence += 1;
            let number = self.sequence.to_be_bytes();
            let padding = pad_bytes(*bytes);
            let end = BEFORE + *bytes + padding + 2;
            buffer[..4].copy_from_slice(&SPI.to_be_bytes());
            buffer[4..8].copy_from_slice(&number[4..]);
            buffer[8..BEFORE].copy_from_slice(&number);
            for (byte, value) in buffer[BEFORE + *bytes..end - 2].iter_mut().zip(1..) {
                *byte = value;
            }
            buffer[end - 2] = padding as u8;
            buffer[end - 1] = IPV4;
            let mut nonce = [0; 12];
            nonce[..4].copy_from_slice(&self.salt);
            nonce[4..].copy_from_slice(&number);
            let mut aad = [0; 12];
            aad[..4].copy_from_slice(&SPI.to_be_bytes());
            aad[4..].copy_from_slice(&number);
            let tag = self.aead.seal(&nonce, &aad, &mut buffer[BEFORE..end]);
            buffer[end..end + 16].copy_from_slice(&tag);
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        self.room.outcome()
    }
}

/// Payloads with room around them.
struct Room {
    buffers: Packets,
    payloads: Vec<usize>,
}

impl Room {
    fn of(batch: &Batch) -> Self {
        let around = BEFORE + SUITE.behind_bytes_max();
        let lengths = batch.lengths.iter().map(|bytes| bytes + around).collect();
        Self {
            buffers: Batch { lengths }.packets(),
            payloads: batch.lengths.clone(),
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        let all = self.buffers.copies().into_iter().zip(&self.payloads);
        let sent = all.map(|(mut buffer, bytes)| {
            buffer.truncate(BEFORE + bytes + pad_bytes(*bytes) + 2 + 16);
            buffer
        });
        Done::without_tags(sent.collect())
    }
}

fn key() -> [u8; SUITE.key_bytes()] {
    bytes_of("key", 0)
}

fn pad_bytes(bytes: usize) -> usize {
    (4 - (bytes + 2) % 4) % 4
}

const SUITE: Suite = Suite::Aes256Gcm;
const BEFORE: usize = SUITE.before_bytes();
const SPI: u32 = 0x1001;
const IPV4: u8 = 4;
