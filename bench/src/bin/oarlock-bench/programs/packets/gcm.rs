//! AES-128-GCM, with a key for each packet, kept with the powers of its hash key.

use oarlock_kernels::batch::{GcmPacket, seal_gcm};
use oarlock_kernels::gcm::Gcm;
use oarlock_measure::Error;
use oarlock_measure::peers::openssl;

use super::line::{BELOW_A, Line, NEVER_SLOWER, Peer, Promise, cpu, refused};
use crate::peers::aws_lc;
use crate::peers::batch::each::AAD_BYTES;
use crate::peers::batch::{Batch, Done, Packets, Side, bytes_of, each, with_requests};
use crate::peers::ipsec_mb::packets::{Cipher, Hash, Interface, IpsecMbBatch, Packet};

pub(super) const LINES: &[Line] = &[Line {
    name: "packet-gcm",
    packets: 32,
    granule: 1,
    ours: Ours::side,
    peers: &[
        Peer {
            name: "ipsec-mb",
            ways: &[
                |batch| ipsec_mb(Interface::Direct, batch),
                |batch| ipsec_mb(Interface::Burst, batch),
                |batch| ipsec_mb(Interface::Jobs, batch),
            ],
        },
        Peer {
            name: "aws-lc",
            ways: &[|batch| each::aead::<16>(&aws_lc::PEER, "aes-128-gcm", batch)],
        },
        Peer {
            name: "openssl",
            ways: &[|batch| each::aead::<16>(&openssl::PEER, "aes-128-gcm", batch)],
        },
    ],
    promises: &[
        promise(64, "over ipsec-mb", 1.0, "A"),
        promise(1_400, "over ipsec-mb", 1.0, "A"),
        promise(64, "over ipsec-mb", NEVER_SLOWER, BELOW_A),
        promise(1_400, "over ipsec-mb", NEVER_SLOWER, BELOW_A),
        promise(64, "over aws-lc", NEVER_SLOWER, "ABCD"),
        promise(1_400, "over aws-lc", NEVER_SLOWER, "ABCD"),
        promise(64, "over openssl", NEVER_SLOWER, "ABCD"),
        promise(1_400, "over openssl", NEVER_SLOWER, "ABCD"),
    ],
}];

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

struct Ours {
    keys: Vec<Gcm>,
    nonces: Vec<[u8; 12]>,
    aads: Vec<[u8; AAD_BYTES]>,
    tags: Vec<[u8; 16]>,
    packets: Packets,
}

impl Ours {
    fn side(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let cpu = cpu()?;
        let key = |packet| Gcm::new(&bytes_of::<16>("key", packet), cpu).map_err(refused);
        Ok(Box::new(Self {
            keys: batch.numbers().map(key).collect::<Result<_, _>>()?,
            nonces: batch
                .numbers()
                .map(|packet| bytes_of("nonce", packet))
                .collect(),
            aads: batch
                .numbers()
                .map(|packet| bytes_of("aad", packet))
                .collect(),
            tags: vec![[0; 16]; batch.lengths.len()],
            packets: batch.packets(),
        }))
    }
}

impl Side for Ours {
    fn run(&mut self) {
        let all = self.keys.iter().zip(self.nonces.iter().zip(&self.aads));
        let requests = all.zip(&mut self.tags).zip(self.packets.each_mut()).map(
            |(((key, (nonce, aad)), tag), data)| GcmPacket {
                key,
                nonce,
                aad,
                data: data.into(),
                tag,
                result: Ok(()),
            },
        );
        with_requests(requests, seal_gcm);
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::with_tags(self.packets.copies(), &self.tags)
    }
}

fn ipsec_mb(interface: Interface, batch: &Batch) -> Result<Box<dyn Side>, Error> {
    let keys: Vec<[u8; 16]> = batch
        .numbers()
        .map(|packet| bytes_of("key", packet))
        .collect();
    let aads: Vec<[u8; AAD_BYTES]> = batch
        .numbers()
        .map(|packet| bytes_of("aad", packet))
        .collect();
    IpsecMbBatch::side(
        interface,
        (Cipher::Gcm, Hash::None),
        16,
        batch.packets(),
        |packet| {
            let mut iv = [0; 16];
            iv[..12].copy_from_slice(&bytes_of::<12>("nonce", packet));
            Packet {
                key: &keys[packet],
                mac: &[],
                iv,
                aad: &aads[packet],
                hashed_before: 0,
            }
        },
    )
}
