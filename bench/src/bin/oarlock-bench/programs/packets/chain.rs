//! AES-128-CBC, then HMAC-SHA-1 of the ciphertext, with keys of their own for each packet, as in ESP. Also Triple DES, then
//! HMAC-MD5, as measured on the UltraSPARC T2.
//!
//! For AES, OpenSSL has two ways. One is its stitched cipher, which encrypts and hashes in one pass. It hashes the
//! plaintext, as TLS before 1.3 requires, so only its ciphertext is compared, not its tag; it also skips the end of the
//! hash, which favours it. The other is a cipher followed by a MAC, with contexts kept.

mod openssl;

use oarlock_kernels::aes::Backend;
use oarlock_kernels::batch::{
    CbcHmac, Cipher, Hash, HashBackend, HmacKey, Md5, Sha1, encrypt_then_mac,
};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::tdes;
use oarlock_measure::Error;

use super::cbc::IPSEC_MB_BYTES_MAX;
use super::line::{BELOW_A, Line, NEVER_SLOWER, Peer, Promise, cpu, refused};
use crate::peers::batch::{Batch, Done, Packets, Side, bytes_of, iv_of, with_requests};
use crate::peers::ipsec_mb::packets::{self as ipsec_mb, Interface, IpsecMbBatch, Packet};
use openssl::{One, TAG_BYTES, Two};

pub(super) const LINES: &[Line] = &[
    Line {
        promises: &[
            promise("over openssl", 3.4, "A"),
            promise("over ipsec-mb", 1.0, "A"),
            promise("over openssl", NEVER_SLOWER, "BCD"),
            promise("over ipsec-mb", NEVER_SLOWER, BELOW_A),
        ],
        ..LINE
    },
    Line {
        name: "packet-chain-one",
        packets: 1,
        promises: &[promise("over openssl", 1.0, "ABCD")],
        ..LINE
    },
    Line {
        name: "packet-chain-3des",
        granule: 8,
        ours: tdes_md5,
        peers: &[
            Peer {
                name: "openssl",
                ways: &[Two::tdes_md5],
            },
            Peer {
                name: "ipsec-mb",
                ways: &[
                    |batch| ipsec_mb_tdes_md5(Interface::Burst, batch),
                    |batch| ipsec_mb_tdes_md5(Interface::Jobs, batch),
                ],
            },
        ],
        promises: &[
            promise("over openssl", 4.7, "A"),
            promise("over ipsec-mb", 1.0, "A"),
            promise("over openssl", NEVER_SLOWER, "BCD"),
            promise("over ipsec-mb", NEVER_SLOWER, BELOW_A),
        ],
        ..LINE
    },
];

const LINE: Line = Line {
    name: "packet-chain",
    packets: 16,
    granule: 16,
    ours: aes_sha1,
    peers: &[
        Peer {
            name: "openssl",
            ways: &[One::side, Two::aes_sha1],
        },
        Peer {
            name: "ipsec-mb",
            ways: &[
                |batch| ipsec_mb_aes_sha1(Interface::Burst, batch),
                |batch| ipsec_mb_aes_sha1(Interface::Jobs, batch),
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

struct Ours<H: Hash, C: Cipher> {
    backends: (C::Backend, HashBackend),
    keys: Vec<(C, HmacKey<H>)>,
    ivs: Vec<C::Block>,
    tags: Vec<[u8; TAG_BYTES]>,
    packets: Packets,
}

fn aes_sha1(batch: &Batch) -> Result<Box<dyn Side>, Error> {
    let cpu = cpu()?;
    let key = |packet| {
        let cipher = Cbc::new(&bytes_of::<16>("key", packet), cpu).map_err(refused)?;
        Ok((cipher, HmacKey::<Sha1>::new(&bytes_of::<20>("mac", packet))))
    };
    Ok(Box::new(Ours {
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

fn tdes_md5(batch: &Batch) -> Result<Box<dyn Side>, Error> {
    let cpu = cpu()?;
    let key = |packet| {
        let cipher = tdes::Cbc::new(&bytes_of::<24>("key", packet));
        (cipher, HmacKey::<Md5>::new(&bytes_of::<16>("mac", packet)))
    };
    // Peers with shorter IVs use the beginning.
    let iv = |packet| -> [u8; tdes::BLOCK_BYTES] {
        let iv = iv_of(packet);
        core::array::from_fn(|i| iv[i])
    };
    Ok(Box::new(Ours {
        backends: (
            tdes::CbcBackend::preferred(cpu),
            HashBackend::preferred_after_cbc::<Md5>(cpu, batch.lengths.len()),
        ),
        keys: batch.numbers().map(key).collect(),
        ivs: batch.numbers().map(iv).collect(),
        tags: vec![[0; TAG_BYTES]; batch.lengths.len()],
        packets: batch.packets(),
    }))
}

impl<H: Hash, C: Cipher> Side for Ours<H, C> {
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

fn ipsec_mb_aes_sha1(interface: Interface, batch: &Batch) -> Result<Box<dyn Side>, Error> {
    let what = (ipsec_mb::Cipher::Cbc, ipsec_mb::Hash::Sha1);
    ipsec_mb::<16, 20>(interface, what, batch)
}

fn ipsec_mb_tdes_md5(interface: Interface, batch: &Batch) -> Result<Box<dyn Side>, Error> {
    let what = (ipsec_mb::Cipher::Des3Cbc, ipsec_mb::Hash::Md5);
    ipsec_mb::<24, 16>(interface, what, batch)
}

fn ipsec_mb<const KEY: usize, const MAC: usize>(
    interface: Interface,
    what: (ipsec_mb::Cipher, ipsec_mb::Hash),
    batch: &Batch,
) -> Result<Box<dyn Side>, Error> {
    if batch
        .lengths
        .iter()
        .any(|bytes| *bytes > IPSEC_MB_BYTES_MAX)
    {
        let most = format!("its streams have {IPSEC_MB_BYTES_MAX} bytes at most");
        return Err(Error::Unavailable(most));
    }
    let keys: Vec<([u8; KEY], [u8; MAC])> = batch
        .numbers()
        .map(|packet| (bytes_of("key", packet), bytes_of("mac", packet)))
        .collect();
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
