//! TLS 1.3 records with TLS_AES_128_GCM_SHA256: whole records, from content to the bytes on the wire, and back.
//!
//! A peer keeps its context, and writes headers and content types as ours does.

use oarlock::Accelerator;
use oarlock::packet::tls::{
    ContentType, Inbound, InboundRecord, Keys, Outbound, OutboundRecord, Suite,
};
use oarlock_measure::Error;
use oarlock_measure::cases::{CASES, Case};
use oarlock_measure::peers::{Aead, PeerFactory, Sealed, Subject, openssl};

use super::line::{BELOW_A, Line, NEVER_SLOWER, Peer, Promise, refused};
use crate::peers::aws_lc;
use crate::peers::batch::{Batch, Done, Packets, Side, bytes_of};

pub(super) const LINES: &[Line] = &[
    Line {
        name: "packet-tls-seal",
        packets: 64,
        granule: 1,
        ours: Ours::side,
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
            promise(1_400, "over openssl", 1.3, "A"),
            promise(1_400, "over openssl", NEVER_SLOWER, BELOW_A),
            promise(16_384, "over openssl", 1.1, "A"),
            promise(16_384, "over openssl", NEVER_SLOWER, BELOW_A),
            promise(1_400, "over aws-lc", NEVER_SLOWER, "ABCD"),
            promise(16_384, "over aws-lc", NEVER_SLOWER, "ABCD"),
        ],
    },
    Line {
        name: "packet-tls-open",
        packets: 64,
        granule: 1,
        ours: Opening::ours,
        peers: &[Peer {
            name: "openssl",
            ways: &[|batch| Opening::theirs(&openssl::PEER, batch)],
        }],
        promises: &[
            promise(16_384, "over openssl", 1.1, "A"),
            promise(16_384, "over openssl", NEVER_SLOWER, "BCD"),
        ],
    },
];

const fn promise(
    bytes: usize,
    over: &'static str,
    required: f64,
    classes: &'static str,
) -> Promise {
    Promise {
        bytes,
        over,
        required,
        classes,
    }
}

fn accelerator() -> Result<Accelerator, Error> {
    let built = Accelerator::builder().max_threads(0).build();
    built.map_err(refused)
}

struct Ours {
    outbound: Outbound,
    room: Room,
}

impl Ours {
    fn side(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let (key, iv) = keys();
        let keys = Keys::new(SUITE, &key, &iv);
        Ok(Box::new(Self {
            outbound: accelerator()?.tls_outbound(&keys).map_err(refused)?,
            room: Room::of(batch),
        }))
    }
}

impl Side for Ours {
    fn run(&mut self) {
        if self.outbound.records_left() < PACKETS {
            // Replaces a used-up key: the output does not depend on it except for the numbers.
            let (key, iv) = keys();
            let _ = self.outbound.set_keys(&Keys::new(SUITE, &key, &iv));
        }
        let Room { buffers, contents } = &mut self.room;
        let mut records: Vec<_> = (buffers.each_mut().zip(contents))
            .map(|(buffer, bytes)| OutboundRecord::new(buffer, BEFORE..BEFORE + *bytes, DATA))
            .collect();
        self.outbound.seal(&mut records);
    }

    fn outcome(&mut self) -> Vec<Done> {
        self.room.outcome()
    }
}

struct Theirs {
    aead: Box<dyn Aead>,
    iv: [u8; 12],
    sequence: u64,
    room: Room,
}

impl Theirs {
    fn side(factory: &PeerFactory, batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let (aead, iv) = aead(factory)?;
        Ok(Box::new(Self {
            aead,
            iv,
            sequence: 0,
            room: Room::of(batch),
        }))
    }
}

impl Side for Theirs {
    fn run(&mut self) {
        let Room { buffers, contents } = &mut self.room;
        for (buffer, bytes) in buffers.each_mut().zip(contents) {
            let header = header(*bytes);
            let end = BEFORE + *bytes + 1;
            buffer[..BEFORE].copy_from_slice(&header);
            buffer[end - 1] = DATA.0;
            let nonce = nonce(self.iv, self.sequence);
            let tag = self.aead.seal(&nonce, &header, &mut buffer[BEFORE..end]);
            buffer[end..end + 16].copy_from_slice(&tag);
            self.sequence += 1;
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        self.room.outcome()
    }
}

/// Opens a fresh copy of the same stream in each call. Our side also sets up its key again, to return to the first number.
struct Opening {
    sealed: Vec<u8>,
    stream: Vec<u8>,
    contents: Vec<usize>,
    by: By,
}

enum By {
    Ours(Box<Inbound>, Vec<InboundRecord>),
    Theirs(Box<dyn Aead>, Vec<Sealed>),
}

impl Opening {
    fn ours(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let (key, iv) = keys();
        let inbound = accelerator()?.tls_inbound(&Keys::new(SUITE, &key, &iv));
        let records = vec![InboundRecord::default(); batch.lengths.len()];
        Self::side(batch, |_| {
            Ok(By::Ours(Box::new(inbound.map_err(refused)?), records))
        })
    }

    fn theirs(factory: &PeerFactory, batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let (aead, iv) = aead(factory)?;
        Self::side(batch, |sealed| {
            let mut messages = Vec::new();
            let mut at = 0;
            for (sequence, bytes) in (0..).zip(&batch.lengths) {
                let body = &sealed[at + BEFORE..][..bytes + 1];
                let tag = &sealed[at + BEFORE + bytes + 1..][..16];
                messages.push(Sealed {
                    nonce: nonce(iv, sequence),
                    data: body.to_vec(),
                    tag: tag.try_into().unwrap_or_default(),
                });
                at += BEFORE + bytes + BEHIND;
            }
            Ok(By::Theirs(aead, messages))
        })
    }

    fn side(
        batch: &Batch,
        by: impl FnOnce(&[u8]) -> Result<By, Error>,
    ) -> Result<Box<dyn Side>, Error> {
        let (key, iv) = keys();
        let keys = Keys::new(SUITE, &key, &iv);
        let mut outbound = accelerator()?.tls_outbound(&keys).map_err(refused)?;
        let mut sealed = Vec::new();
        let mut room = Room::of(batch);
        let mut records: Vec<_> = (room.buffers.each_mut().zip(&batch.lengths))
            .map(|(buffer, bytes)| OutboundRecord::new(buffer, BEFORE..BEFORE + *bytes, DATA))
            .collect();
        outbound.seal(&mut records);
        for record in &records {
            sealed.extend_from_slice(record.sealed().map_err(refused)?);
        }
        let by = by(&sealed)?;
        Ok(Box::new(Self {
            stream: sealed.clone(),
            sealed,
            contents: batch.lengths.clone(),
            by,
        }))
    }
}

impl Side for Opening {
    fn run(&mut self) {
        self.stream.copy_from_slice(&self.sealed);
        match &mut self.by {
            By::Ours(inbound, records) => {
                let (key, iv) = keys();
                let _ = inbound.set_keys(&Keys::new(SUITE, &key, &iv));
                inbound.open(&mut self.stream, records);
            }
            By::Theirs(aead, messages) => {
                let mut at = 0;
                for (message, bytes) in messages.iter().zip(&self.contents) {
                    let to = &mut self.stream[at + BEFORE..][..bytes + 1];
                    if !aead.open(message, &header(*bytes), to) {
                        to.fill(0);
                    }
                    at += BEFORE + bytes + BEHIND;
                }
            }
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        let mut at = 0;
        let contents = self.contents.iter().map(|bytes| {
            let content = self.stream[at + BEFORE..][..bytes + 1].to_vec();
            at += BEFORE + bytes + BEHIND;
            content
        });
        Done::without_tags(contents.collect())
    }
}

/// Contents with room around them.
struct Room {
    buffers: Packets,
    contents: Vec<usize>,
}

impl Room {
    fn of(batch: &Batch) -> Self {
        let lengths = (batch.lengths.iter())
            .map(|bytes| bytes + BEFORE + BEHIND)
            .collect();
        Self {
            buffers: Batch { lengths }.packets(),
            contents: batch.lengths.clone(),
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::without_tags(self.buffers.copies())
    }
}

fn keys() -> ([u8; 16], [u8; 12]) {
    (bytes_of("key", 0), bytes_of("iv", 0))
}

fn aead(factory: &PeerFactory) -> Result<(Box<dyn Aead>, [u8; 12]), Error> {
    let (key, iv) = keys();
    let case: &Case = CASES
        .iter()
        .find(|known| known.name == "aes-128-gcm")
        .ok_or_else(|| Error::Failed("no case aes-128-gcm".to_owned()))?;
    match (factory.open)(1)?.subject(case, &key)? {
        Subject::Aead(aead) => Ok((aead, iv)),
        Subject::Stream(_) => Err(Error::Failed("aes-128-gcm is no AEAD".to_owned())),
    }
}

fn header(content_bytes: usize) -> [u8; BEFORE] {
    let [high, low] = ((content_bytes + BEHIND) as u16).to_be_bytes();
    [DATA.0, 3, 3, high, low]
}

fn nonce(mut iv: [u8; 12], sequence: u64) -> [u8; 12] {
    for (byte, of_number) in iv[4..].iter_mut().zip(sequence.to_be_bytes()) {
        *byte ^= of_number;
    }
    iv
}

const SUITE: Suite = Suite::Aes128GcmSha256;
const DATA: ContentType = ContentType::APPLICATION_DATA;
const BEFORE: usize = OutboundRecord::BEFORE_BYTES;
const BEHIND: usize = OutboundRecord::BEHIND_BYTES;
const PACKETS: u64 = 64;
