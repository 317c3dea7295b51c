//! AES-128-CTR, with a key for each packet.

use oarlock_kernels::aes::{Backend, Ctr};
use oarlock_kernels::batch::{CtrPacket, apply_ctr};
use oarlock_measure::Error;
use oarlock_measure::peers::openssl;

use super::line::{BELOW_A, Line, NEVER_SLOWER, Peer, Promise, cpu, refused};
use crate::peers::batch::{Batch, Done, Packets, Side, bytes_of, each, iv_of, with_requests};
use crate::peers::ipsec_mb::packets::{Cipher, Hash, Interface, IpsecMbBatch, Packet};

pub(super) const LINES: &[Line] = &[Line {
    name: "packet-ctr",
    packets: 32,
    granule: 1,
    ours: Ours::side,
    peers: &[
        Peer {
            name: "ipsec-mb",
            ways: &[
                |batch| ipsec_mb(Interface::CipherBurst, batch),
                |batch| ipsec_mb(Interface::Burst, batch),
                |batch| ipsec_mb(Interface::Jobs, batch),
            ],
        },
        Peer {
            name: "openssl",
            ways: &[|batch| each::stream::<16>(&openssl::PEER, "aes-128-ctr", batch)],
        },
    ],
    promises: &[
        over_ipsec_mb(64, 1.0, "A"),
        over_ipsec_mb(256, 1.0, "A"),
        over_ipsec_mb(64, NEVER_SLOWER, BELOW_A),
        over_ipsec_mb(256, NEVER_SLOWER, BELOW_A),
        over_openssl(64),
        over_openssl(256),
    ],
}];

const fn over_ipsec_mb(bytes: usize, required: f64, classes: &'static str) -> Promise {
    Promise {
        bytes,
        over: "over ipsec-mb",
        required,
        classes,
    }
}

/// Returns the promise over OpenSSL, which also has AES for CPUs without instructions for it.
const fn over_openssl(bytes: usize) -> Promise {
    Promise {
        bytes,
        over: "over openssl",
        required: NEVER_SLOWER,
        classes: "ABCD",
    }
}

struct Ours {
    backend: Backend,
    keys: Vec<Ctr>,
    counters: Vec<u128>,
    packets: Packets,
}

impl Ours {
    fn side(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let cpu = cpu()?;
        let key = |packet| Ctr::new(&bytes_of::<16>("key", packet), cpu).map_err(refused);
        Ok(Box::new(Self {
            backend: Backend::preferred(cpu),
            keys: batch.numbers().map(key).collect::<Result<_, _>>()?,
            counters: (batch.numbers())
                .map(|packet| u128::from_be_bytes(iv_of(packet)))
                .collect(),
            packets: batch.packets(),
        }))
    }
}

impl Side for Ours {
    fn run(&mut self) {
        let all = self.keys.iter().zip(&self.counters);
        let requests = all
            .zip(self.packets.each_mut())
            .map(|((key, counter), data)| CtrPacket {
                key,
                counter: *counter,
                data: data.into(),
            });
        with_requests(requests, |requests| apply_ctr(self.backend, requests));
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::without_tags(self.packets.copies())
    }
}

fn ipsec_mb(interface: Interface, batch: &Batch) -> Result<Box<dyn Side>, Error> {
    let keys: Vec<[u8; 16]> = batch
        .numbers()
        .map(|packet| bytes_of("key", packet))
        .collect();
    IpsecMbBatch::side(
        interface,
        (Cipher::Ctr, Hash::None),
        0,
        batch.packets(),
        |packet| Packet {
            key: &keys[packet],
            mac: &[],
            iv: iv_of(packet),
            aad: &[],
            hashed_before: 0,
        },
    )
}
