//! SRTP packets of one source, protected, or protected and then unprotected, compared with libsrtp2, which handles one
//! packet per call.

use oarlock::Accelerator;
use oarlock::packet::srtp::{
    Inbound, InboundPacket, Outbound, OutboundPacket, Policy, Suite as OurSuite,
};
use oarlock_measure::Error;

use super::line::{Line, NEVER_SLOWER, Peer, Promise, refused};
use crate::peers::batch::{Batch, Done, Side, bytes_of, with_requests};
use crate::peers::libsrtp::{Build, Session, Suite};

pub(super) const LINES: &[Line] = &[
    Line {
        promises: &[promise(4.0, "A"), promise(NEVER_SLOWER, "BCD")],
        ..CM
    },
    Line {
        name: "packet-srtp-one",
        packets: 1,
        ..CM
    },
    Line {
        name: "packet-srtp-both",
        ours: |batch| ours(OurSuite::AesCm128HmacSha1_80, batch, true),
        peers: &[Peer {
            name: "libsrtp2",
            ways: &[
                |batch| theirs(Build::Installed, Suite::AesCm128HmacSha1_80, batch, true),
                |batch| theirs(Build::Named, Suite::AesCm128HmacSha1_80, batch, true),
            ],
        }],
        ..CM
    },
    GCM,
    Line {
        name: "packet-srtp-gcm-one",
        packets: 1,
        ..GCM
    },
];

const CM: Line = Line {
    name: "packet-srtp",
    packets: 32,
    granule: 1,
    ours: |batch| ours(OurSuite::AesCm128HmacSha1_80, batch, false),
    peers: &[Peer {
        name: "libsrtp2",
        ways: &[
            |batch| theirs(Build::Installed, Suite::AesCm128HmacSha1_80, batch, false),
            |batch| theirs(Build::Named, Suite::AesCm128HmacSha1_80, batch, false),
        ],
    }],
    promises: &[promise(NEVER_SLOWER, "ABCD")],
};

const GCM: Line = Line {
    name: "packet-srtp-gcm",
    ours: |batch| ours(OurSuite::Aes128Gcm, batch, false),
    peers: &[Peer {
        name: "libsrtp2",
        ways: &[
            |batch| theirs(Build::Installed, Suite::Aes128Gcm, batch, false),
            |batch| theirs(Build::Named, Suite::Aes128Gcm, batch, false),
        ],
    }],
    ..CM
};

const fn promise(required: f64, classes: &'static str) -> Promise {
    Promise {
        bytes: 200,
        over: "over libsrtp2",
        required,
        classes,
    }
}

/// RTP packets with room for what SRTP adds.
struct Buffers {
    all: Vec<Vec<u8>>,
    lengths: Vec<usize>,
    /// The sequence number of the next packet.
    sequence: u16,
}

impl Buffers {
    /// A packet is at least as long as its header.
    fn of(batch: &Batch) -> Self {
        let lengths: Vec<usize> = (batch.lengths.iter())
            .map(|bytes| (*bytes).max(HEADER_BYTES))
            .collect();
        let buffer = |bytes: &usize| {
            let mut buffer = vec![0x5a; bytes + 2 * TAG_BYTES_MAX];
            buffer[..HEADER_BYTES].copy_from_slice(&[0x80, 96, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
            buffer
        };
        Self {
            all: lengths.iter().map(buffer).collect(),
            lengths,
            sequence: 0,
        }
    }

    /// Gives each packet the next sequence number, so that no side protects a number twice.
    #[inline]
    fn numbered(&mut self) -> impl Iterator<Item = (&mut Vec<u8>, usize)> {
        let sequence = &mut self.sequence;
        let lengths = self.lengths.iter().copied();
        self.all.iter_mut().zip(lengths).map(|(buffer, bytes)| {
            *sequence = sequence.wrapping_add(1);
            buffer[2..4].copy_from_slice(&sequence.to_be_bytes());
            (buffer, bytes)
        })
    }
}

struct Ours {
    outbound: Outbound,
    inbound: Option<Inbound>,
    buffers: Buffers,
    tag_bytes: usize,
}

fn ours(suite: OurSuite, batch: &Batch, is_both: bool) -> Result<Box<dyn Side>, Error> {
    let key: [u8; 32] = bytes_of("key", 0);
    let policy = Policy::new(suite, &key[..suite.key_bytes()]);
    let built = Accelerator::builder().max_threads(0).build();
    let accelerator = built.map_err(refused)?;
    let inbound = if is_both {
        Some(accelerator.srtp_inbound(&policy).map_err(refused)?)
    } else {
        None
    };
    Ok(Box::new(Ours {
        outbound: accelerator.srtp_outbound(&policy).map_err(refused)?,
        inbound,
        buffers: Buffers::of(batch),
        tag_bytes: if suite == OurSuite::Aes128Gcm { 16 } else { 10 },
    }))
}

impl Side for Ours {
    fn run(&mut self) {
        let packets = self.buffers.numbered();
        let requests = packets.map(|(buffer, bytes)| OutboundPacket::new(buffer, bytes));
        with_requests(requests, |packets| self.outbound.protect(packets));
        if let Some(inbound) = &mut self.inbound {
            let packets = self.buffers.all.iter_mut().zip(&self.buffers.lengths);
            let requests = packets
                .map(|(buffer, bytes)| InboundPacket::new(&mut buffer[..bytes + self.tag_bytes]));
            with_requests(requests, |packets| inbound.unprotect(packets));
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        done(&self.buffers, self.inbound.is_some())
    }
}

struct Theirs {
    outbound: Session,
    inbound: Option<Session>,
    buffers: Buffers,
}

fn theirs(
    build: Build,
    suite: Suite,
    batch: &Batch,
    is_both: bool,
) -> Result<Box<dyn Side>, Error> {
    let key: [u8; 32] = bytes_of("key", 0);
    Ok(Box::new(Theirs {
        outbound: Session::open(build, suite, &key, false)?,
        inbound: is_both
            .then(|| Session::open(build, suite, &key, true))
            .transpose()?,
        buffers: Buffers::of(batch),
    }))
}

impl Side for Theirs {
    fn run(&mut self) {
        for (buffer, bytes) in self.buffers.numbered() {
            // A refused packet shows as a difference in the outcome.
            if let Some(protected) = self.outbound.apply(buffer, bytes)
                && let Some(inbound) = &mut self.inbound
            {
                inbound.apply(buffer, protected);
            }
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        done(&self.buffers, self.inbound.is_some())
    }
}

/// Returns the results. After protecting and unprotecting (`is_both`), the bytes that follow the packet do not count.
fn done(buffers: &Buffers, is_both: bool) -> Vec<Done> {
    let all = buffers.all.iter().zip(&buffers.lengths);
    let data = all.map(|(buffer, bytes)| {
        let end = if is_both {
            *bytes
        } else {
            bytes + TAG_BYTES_MAX
        };
        buffer[..end].to_vec()
    });
    Done::without_tags(data.collect())
}

const HEADER_BYTES: usize = 12;
const TAG_BYTES_MAX: usize = 16;
