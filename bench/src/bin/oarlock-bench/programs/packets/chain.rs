//! AES-128-CBC, then HMAC-SHA-1 of the ciphertext, a key of each for each packet: what ESP does. And Triple DES,
//! then HMAC-MD5, as the UltraSPARC T2 was measured with.
//!
//! For AES, OpenSSL has two ways. One is its stitched cipher, which encrypts and hashes in one pass. It hashes the plaintext,
//! as TLS before 1.3 wants, so its ciphertext is compared and its tag is not; it is let off the end of
//! the hash, which is more than its due. The other is a cipher and a MAC, one after the other, with contexts kept.

mod openssl;

use oarlock_bench::Error;
use oarlock_kernels::aes::Backend;
use oarlock_kernels::batch::{CbcHmac, HashBackend, HmacKey, Md5, Sha1, encrypt_then_mac};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::tdes;

use super::cbc::IPSEC_MB_BYTES_MAX;
use super::line::{BELOW_A, Line, NEVER_SLOWER, Peer, Promise, cpu, refused};
use crate::peers::batch::{Batch, Done, Packets, Side, bytes_of, iv_of, with_requests};
use crate::peers::ipsec_mb::packets::{Cipher, Hash, Interface, IpsecMbBatch, Packet};
use openssl::{One, TAG_BYTES, Two};

pub(super) const LINES: &[Line] = &[
    Line {
        promises: &[
            promise("over openssl", 3.4, "A"),
            promise("over ipsec-mb", 1.0, "A"),
            promise("over openssl", NEVER_SLOWER, "BCDEF"),
            promise("over ipsec-mb", NEVER_SLOWER, BELOW_A),
        ],
        ..LINE
    },
    Line {
        name: "packet-chain-one",
        packets: 1,
        promises: &[promise("over openssl", 1.0, "ABCDEF")],
        ..LINE
    },
    Line {
        name: "packet-chain-3des",
        granule: 8,
        ours: OursTdes::side,
        peers: &[
            Peer {
                name: "openssl",
                ways: &[Two::tdes_md5],
            },
            Peer {
                name: "ipsec-mb",
                ways: &[
                    |batch| ipsec_mb_tdes(Interface::Burst, batch),
                    |batch| ipsec_mb_tdes(Interface::Jobs, batch),
                ],
            },
        ],
        promises: &[
            promise("over openssl", 4.7, "A"),
            promise("over ipsec-mb", 1.0, "A"),
            promise("over openssl", NEVER_SLOWER, "BCDEF"),
            promise("over ipsec-mb", NEVER_SLOWER, BELOW_A),
        ],
        ..LINE
    },
];

const LINE: Line = Line {
    name: "packet-chain",
    packets: 16,
    granule: 16,
    ours: Ours::side,
    peers: &[
        Peer {
            name: "openssl",
            ways: &[One::side, Two::aes_sha1],
        },
        Peer {
            name: "ipsec-mb",
            ways: &[
                |batch| ipsec_mb(Interface::Burst, batch),
                |batch| ipsec_mb(Interface::Jobs, batch),
            ],
        },
    ],
    promises: &[],
};

const fn promise(over: &'static str, required: f64, classes: &'static str) -> Promise {
    Promise {
        bytes: 8 << 10,
        over,
        required,
        classes,
    }
}

struct Ours {
    backends: (Backend, HashBackend),
    keys: Vec<(Cbc, HmacKey<Sha1>)>,
    ivs: Vec<[u8; 16]>,
    tags: Vec<[u8; TAG_BYTES]>,
    packets: Packets,
}

impl Ours {
    fn side(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let cpu = cpu()?;
        let key = |packet| {
            let cipher = Cbc::new(&bytes_of::<16>("key", packet), cpu).map_err(refused)?;
            Ok((cipher, HmacKey::new(&bytes_of::<20>("mac", packet))))
        };
        Ok(Box::new(Self {
            backends: (
                Backend::preferred(cpu),
                HashBackend::preferred_after_cbc::<Sha1>(cpu, batch.lengths.len()),
            ),
            keys: batch.numbers().map(key).collect::<Result<_, Error>>()?,
            ivs: batch.numbers().map(iv_of).collect(),
            tags: vec![[0; TAG_BYTES]; batch.lengths.len()],
            packets: batch.packets(),
        }))
    }
}

impl Side for Ours {
    fn run(&mut self) {
        let all = self.keys.iter().zip(self.ivs.iter().zip(&mut self.tags));
        let requests =
            all.zip(self.packets.each_mut())
                .map(|(((cipher, mac), (iv, tag)), packet)| CbcHmac {
                    cipher,
                    iv,
                    mac,
                    encrypted: 0..packet.len(),
                    packet,
                    tag,
                });
        let (cipher, hash) = self.backends;
        with_requests(requests, |requests| {
            encrypt_then_mac(cipher, hash, requests)
        });
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::with_tags(self.packets.copies(), &self.tags)
    }
}

struct OursTdes {
    backends: (tdes::CbcBackend, HashBackend),
    keys: Vec<(tdes::Cbc, HmacKey<Md5>)>,
    ivs: Vec<[u8; tdes::BLOCK_BYTES]>,
    tags: Vec<[u8; TAG_BYTES]>,
    packets: Packets,
}

impl OursTdes {
    fn side(batch: &Batch) -> Result<Box<dyn Side>, Error> {
        let cpu = cpu()?;
        let key = |packet| {
            let cipher = tdes::Cbc::new(&bytes_of::<24>("key", packet));
            (cipher, HmacKey::new(&bytes_of::<16>("mac", packet)))
        };
        Ok(Box::new(Self {
            backends: (
                tdes::CbcBackend::preferred(cpu),
                HashBackend::preferred_after_cbc::<Md5>(cpu, batch.lengths.len()),
            ),
            keys: batch.numbers().map(key).collect(),
            ivs: batch.numbers().map(tdes_iv_of).collect(),
            tags: vec![[0; TAG_BYTES]; batch.lengths.len()],
            packets: batch.packets(),
        }))
    }
}

impl Side for OursTdes {
    fn run(&mut self) {
        let all = self.keys.iter().zip(self.ivs.iter().zip(&mut self.tags));
        let requests =
            all.zip(self.packets.each_mut())
                .map(|(((cipher, mac), (iv, tag)), packet)| CbcHmac {
                    cipher,
                    iv,
                    mac,
                    encrypted: 0..packet.len(),
                    packet,
                    tag,
                });
        let (cipher, hash) = self.backends;
        with_requests(requests, |requests| {
            encrypt_then_mac(cipher, hash, requests)
        });
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::with_tags(self.packets.copies(), &self.tags)
    }
}

/// The peers take what they need of a longer one.
fn tdes_iv_of(packet: usize) -> [u8; tdes::BLOCK_BYTES] {
    let iv = iv_of(packet);
    core::array::from_fn(|i| iv[i])
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
    let keys: Vec<([u8; 16], [u8; 20])> = batch
        .numbers()
        .map(|packet| (bytes_of("key", packet), bytes_of("mac", packet)))
        .collect();
    let what = (Cipher::Cbc, Hash::Sha1);
    IpsecMbBatch::side(interface, what, TAG_BYTES, batch.packets(), |packet| {
        Packet {
            key: &keys[packet].0,
            mac: &keys[packet].1,
            iv: iv_of(packet),
            aad: &[],
            hashed_before: 0,
        }
    })
}

fn ipsec_mb_tdes(interface: Interface, batch: &Batch) -> Result<Box<dyn Side>, Error> {
    let keys: Vec<([u8; 24], [u8; 16])> = batch
        .numbers()
        .map(|packet| (bytes_of("key", packet), bytes_of("mac", packet)))
        .collect();
    let what = (Cipher::Des3Cbc, Hash::Md5);
    IpsecMbBatch::side(interface, what, TAG_BYTES, batch.packets(), |packet| {
        Packet {
            key: &keys[packet].0,
            mac: &keys[packet].1,
            iv: iv_of(packet),
            aad: &[],
            hashed_before: 0,
        }
    })
}
