use oarlock_kernels::aes::Backend;
use oarlock_kernels::batch::{
    CbcHmac, Cipher, Hash, HashBackend, HmacKey, Md5, Sha1, Sha256, Sha384, Sha512, dispatch,
    encrypt_then_mac,
};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::tdes;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Guarded, hmac::Oracle, lengths};
use crate::{alone, cbc::oracle_encrypt, random_bytes, with_others};

/// Packets of any lengths: bytes in the clear, blocks, and bytes in the clear again.
#[test]
fn batches_of_any_lengths() {
    let _guard = with_others();
    let cpu = Cpu::detect();
    let hashes: Vec<HashBackend> = cpu.hash_backends().collect();
    for (i, backend) in cpu.aes_backends().enumerate() {
        let mut rng = StdRng::seed_from_u64(10 + i as u64);
        for (turn, count) in (0..=40).chain([1; 5]).enumerate() {
            let hash = hashes[turn % hashes.len()];
            for_every_hash!(check(&Aes(backend), hash, count, &mut rng));
        }
    }
    for (i, backend) in cpu.tdes_cbc_backends().enumerate() {
        let mut rng = StdRng::seed_from_u64(30 + i as u64);
        for (turn, count) in (0..=40).chain([1; 5]).enumerate() {
            let hash = hashes[turn % hashes.len()];
            for_every_hash!(check(&Tdes(backend), hash, count, &mut rng));
        }
    }
}

/// A cipher, and its counterpart for comparison.
trait Tested {
    type Iv: Copy;
    type Key: Cipher<Block = Self::Iv>;
    fn block_bytes(&self) -> usize;
    fn key_bytes(&self, number: usize) -> usize;
    fn key(&self, key: &[u8]) -> Self::Key;
    fn iv(&self, rng: &mut StdRng) -> Self::Iv;
    fn oracle(&self, key: &[u8], iv: &Self::Iv, data: &mut [u8]);
    fn run<H: Hash>(&self, hash: HashBackend, packets: &mut [CbcHmac<'_, H, Self::Key>]);
    fn name(&self) -> &'static str;
}

struct Aes(Backend);

impl Tested for Aes {
    type Iv = [u8; 16];
    type Key = Cbc;
    fn block_bytes(&self) -> usize {
        16
    }
    fn key_bytes(&self, number: usize) -> usize {
        16 + 8 * (number % 3)
    }
    fn key(&self, key: &[u8]) -> Cbc {
        Cbc::new(key, Cpu::PORTABLE).unwrap()
    }
    fn iv(&self, rng: &mut StdRng) -> [u8; 16] {
        rng.random()
    }
    fn oracle(&self, key: &[u8], iv: &[u8; 16], data: &mut [u8]) {
        oracle_encrypt(key, *iv, data);
    }
    fn run<H: Hash>(&self, hash: HashBackend, packets: &mut [CbcHmac<'_, H>]) {
        encrypt_then_mac(self.0, hash, packets);
    }
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

struct Tdes(tdes::CbcBackend);

impl Tested for Tdes {
    type Iv = [u8; 8];
    type Key = tdes::Cbc;
    fn block_bytes(&self) -> usize {
        8
    }
    fn key_bytes(&self, _: usize) -> usize {
        24
    }
    fn key(&self, key: &[u8]) -> tdes::Cbc {
        tdes::Cbc::new(key.try_into().unwrap())
    }
    fn iv(&self, rng: &mut StdRng) -> [u8; 8] {
        rng.random()
    }
    fn oracle(&self, key: &[u8], iv: &[u8; 8], data: &mut [u8]) {
        super::tdes::oracle_encrypt(key.try_into().unwrap(), *iv, data);
    }
    fn run<H: Hash>(&self, hash: HashBackend, packets: &mut [CbcHmac<'_, H, tdes::Cbc>]) {
        encrypt_then_mac(self.0, hash, packets);
    }
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

fn check<H: Hash>(
    cipher: &impl Tested,
    hash: HashBackend,
    count: usize,
    rng: &mut StdRng,
    mac_oracle: Oracle,
) {
    // Some are longer than a chunk.
    let unit = cipher.block_bytes() * if rng.random_bool(0.2) { 4 } else { 1 };
    let one_size = rng.random_bool(0.7);
    let clear = rng.random_bool(0.5).then_some([24, 0]);
    let parts: Vec<[usize; 3]> = lengths(rng, count, unit)
        .into_iter()
        .map(|bytes| {
            let [before, after] =
                clear.unwrap_or_else(|| [rng.random_range(0..150), rng.random_range(0..150)]);
            [before, bytes, after]
        })
        .collect();
    let packets: Vec<Vec<u8>> = parts
        .iter()
        .map(|parts| random_bytes(rng, parts.iter().sum()))
        .collect();
    let keys: Vec<[Vec<u8>; 2]> = (0..count)
        .map(|i| {
            [
                random_bytes(rng, cipher.key_bytes(if one_size { count } else { i })),
                random_bytes(rng, 20),
            ]
        })
        .collect();
    let ivs: Vec<_> = (0..count).map(|_| cipher.iv(rng)).collect();
    let mut expected = packets.clone();
    let expected_tags: Vec<Vec<u8>> = (0..count)
        .map(|i| {
            let [before, bytes, _] = parts[i];
            let data = &mut expected[i][before..before + bytes];
            cipher.oracle(&keys[i][0], &ivs[i], data);
            mac_oracle(&keys[i][1], &expected[i])[..12].to_vec()
        })
        .collect();

    let ciphers: Vec<_> = keys.iter().map(|[key, _]| cipher.key(key)).collect();
    let macs: Vec<HmacKey<H>> = keys.iter().map(|[_, key]| HmacKey::new(key)).collect();
    let mut output = Guarded::new(&packets.iter().map(Vec::len).collect::<Vec<_>>());
    let mut tags = vec![vec![0; 12]; count];
    let mut requests: Vec<CbcHmac<'_, H, _>> = output
        .buffers()
        .into_iter()
        .zip(&mut tags)
        .enumerate()
        .map(|(i, (packet, tag))| {
            packet.copy_from_slice(&packets[i]);
            CbcHmac {
                cipher: &ciphers[i],
                iv: &ivs[i],
                mac: &macs[i],
                packet,
                encrypted: parts[i][0]..parts[i][0] + parts[i][1],
                tag,
            }
        })
        .collect();
    cipher.run(hash, &mut requests);
    drop(requests);
    let what = || format!("{}, {hash:?}, {parts:?}", cipher.name());
    assert!(output.buffers() == expected, "{}", what());
    assert_eq!(tags, expected_tags, "{}", what());
}

#[test]
#[should_panic(expected = "CBC takes whole blocks")]
fn a_range_that_is_not_of_whole_blocks() {
    let (cipher, mac) = (
        Cbc::new(&[0; 16], Cpu::PORTABLE).unwrap(),
        HmacKey::<Sha1>::new(&[]),
    );
    let mut request = [CbcHmac {
        cipher: &cipher,
        iv: &[0; 16],
        mac: &mac,
        packet: &mut [0; 32],
        encrypted: 0..17,
        tag: &mut [],
    }];
    encrypt_then_mac(Backend::Portable, HashBackend::Portable, &mut request);
}

/// If the CPU has both, many packets with keys of one length are encrypted while they are hashed.
#[test]
fn the_cipher_runs_beside_the_hash() {
    let _guard = alone();
    let cpu = Cpu::detect();
    for (backend, hash) in cpu
        .aes_backends()
        .flat_map(|backend| cpu.hash_backends().map(move |hash| (backend, hash)))
    {
        let cipher = Cbc::new(&[1; 16], cpu).unwrap();
        let mac = HmacKey::<Sha1>::new(&[2; 20]);
        let (mut packets, mut tags) = ([[3; 512]; 16], [[0; 12]; 16]);
        let mut requests: Vec<CbcHmac<'_, Sha1>> = packets
            .iter_mut()
            .zip(&mut tags)
            .map(|(packet, tag)| CbcHmac {
                cipher: &cipher,
                iv: &[4; 16],
                mac: &mac,
                packet,
                encrypted: 0..512,
                tag,
            })
            .collect();
        let counters = [&dispatch::CBC_BESIDE_HASH, &dispatch::CBC_STITCHED];
        let before = counters.map(|counter| counter.get());
        encrypt_then_mac(backend, hash, &mut requests);
        let ran = [0, 1].map(|i| counters[i].get() > before[i]);
        let aes = ["vaes-512", "vaes-256", "aes-ni"].contains(&backend.name());
        let expected = [
            backend.name() == "vaes-512" && hash.name() == "avx512",
            aes && hash.name() == "sha-ni",
        ];
        assert_eq!(ran, expected, "{backend:?}, {hash:?}");
    }
}
