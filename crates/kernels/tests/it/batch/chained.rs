use oarlock_kernels::aes::Backend;
use oarlock_kernels::batch::{
    CbcHmac, Hash, HashBackend, HmacKey, Md5, Sha1, Sha256, Sha384, Sha512, encrypt_then_mac,
};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Guarded, hmac::Oracle, lengths};
use crate::{cbc::oracle_encrypt, random_bytes, with_others};

/// Packets of any lengths: clear bytes, blocks, and clear bytes again.
#[test]
fn batches_of_any_lengths() {
    let _guard = with_others();
    let cpu = Cpu::detect();
    let hashes: Vec<HashBackend> = cpu.hash_backends().collect();
    for (i, backend) in cpu.aes_backends().enumerate() {
        let mut rng = StdRng::seed_from_u64(10 + i as u64);
        for count in 0..=40 {
            let hash = hashes[count % hashes.len()];
            for_every_hash!(check(backend, hash, count, &mut rng));
        }
    }
}

fn check<H: Hash>(
    backend: Backend,
    hash: HashBackend,
    count: usize,
    rng: &mut StdRng,
    mac_oracle: Oracle,
) {
    // Some are longer than a chunk.
    let unit = if rng.random_bool(0.2) { 64 } else { 16 };
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
        .map(|i| [random_bytes(rng, 16 + 8 * (i % 3)), random_bytes(rng, 20)])
        .collect();
    let ivs: Vec<[u8; 16]> = (0..count).map(|_| rng.random()).collect();
    let mut expected = packets.clone();
    let expected_tags: Vec<Vec<u8>> = (0..count)
        .map(|i| {
            let [before, bytes, _] = parts[i];
            oracle_encrypt(
                &keys[i][0],
                ivs[i],
                &mut expected[i][before..before + bytes],
            );
            mac_oracle(&keys[i][1], &expected[i])[..12].to_vec()
        })
        .collect();

    let ciphers: Vec<Cbc> = keys
        .iter()
        .map(|[key, _]| Cbc::new(key, Cpu::PORTABLE).unwrap())
        .collect();
    let macs: Vec<HmacKey<H>> = keys.iter().map(|[_, key]| HmacKey::new(key)).collect();
    let mut output = Guarded::new(&packets.iter().map(Vec::len).collect::<Vec<_>>());
    let mut tags = vec![vec![0; 12]; count];
    let mut requests: Vec<CbcHmac<'_, H>> = output
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
    encrypt_then_mac(backend, hash, &mut requests);
    drop(requests);
    let what = || format!("{backend:?}, {hash:?}, {parts:?}");
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
