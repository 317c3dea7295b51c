//! AES-128-CBC encryption of streams, a key for each.

use oarlock_kernels::aes::Backend;
use oarlock_kernels::batch::{CbcStream, encrypt_cbc};
use oarlock_kernels::cbc::Cbc;
use oarlock_measure::Error;
use oarlock_measure::peers::openssl;

use super::line::{BELOW_A, Line, NEVER_SLOWER, Peer, Promise, cpu, refused};
use crate::peers::batch::{
    Batch, Done, PACKETS_MAX, Packets, Side, bytes_of, each, iv_of, with_requests,
};
use crate::peers::ipsec_mb::packets::{Cipher, Hash, Interface, IpsecMbBatch, Packet};

pub(super) const LINES: &[Line] = &[Line {
    name: "packet-cbc",
    packets: 16,
    granule: 16,
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
            ways: &[|batch| each::stream::<16>(&openssl::PEER, "aes-128-cbc", batch)],
        },
    ],
    promises: &[
        promise(8 << 10, "over openssl", 8.0, "A"),
        promise(8 << 10, "over openssl", NEVER_SLOWER, "BCD"),
        promise(8 << 10, "over ipsec-mb", NEVER_SLOWER, BELOW_A),
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
    backend: Backend,
    keys: Vec<Cbc>,
    ivs: Vec<[u8; 16]>,
    packets: Packets,
}

impl Ours {
    fn side(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let cpu = cpu()?;
        let key = |packet| Cbc::new(&bytes_of::<16>("key", packet), cpu).map_err(refused);
        Ok(Box::new(Self {
            backend: Backend::preferred(cpu),
            keys: batch.numbers().map(key).collect::<Result<_, _>>()?,
            ivs: batch.numbers().map(iv_of).collect(),
            packets: batch.packets(),
        }))
    }
}

impl Side for Ours {
    fn run(&mut self) {
        let mut ivs = [[0; 16]; PACKETS_MAX];
        ivs[..self.ivs.len()].copy_from_slice(&self.ivs);
        let all = self.keys.iter().zip(&mut ivs);
        let requests = all
            .zip(self.packets.each_mut())
            .map(|((key, iv), data)| CbcStream {
                key,
                iv,
                data: data.into(),
            });
        with_requests(requests, |requests| encrypt_cbc(self.backend, requests));
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::without_tags(self.packets.copies())
    }
}

fn ipsec_mb(interface: Interface, batch: &Batch) -> Result<Box<dyn Side>, Error> {
    if batch
        .lengths
        .iter()
        .any(|bytes| *bytes > IPSEC_MB_BYTES_MAX)
    {
        let most = format!("its streams have {IPSEC_MB_BYTES_MAX} bytes at most");
        return Err(Error::Unavailable(most));
    }
    let keys: Vec<[u8; 16]> = batch
        .numbers()
        .map(|packet| bytes_of("key", packet))
        .collect();
    IpsecMbBatch::side(
        interface,
        (Cipher::Cbc, Hash::None),
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

/// The longest stream that it encrypts: its lanes have 16-bit lengths.
pub(super) const IPSEC_MB_BYTES_MAX: usize = 0xfff0;
