use ::hmac::KeyInit;
use oarlock_kernels::batch::{
    Hash, HashBackend, HmacKey, Mac, Md5, Sha1, Sha256, Sha384, Sha512, dispatch, hmac as batch,
};
use oarlock_kernels::cpu::{Cpu, Feature};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Guarded, lengths};
use crate::{alone, with_others};

fn for_every_backend(body: impl Fn(HashBackend)) {
    let _guard = with_others();
    Cpu::detect().hash_backends().for_each(body);
}

pub(super) type Oracle = fn(&[u8], &[u8]) -> Vec<u8>;

pub(super) fn oracle<M: ::hmac::Mac + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn tags<H: Hash>(backend: HashBackend, requests: &[(Vec<u8>, &[u8], usize)]) -> Vec<Vec<u8>> {
    let keys: Vec<HmacKey<H>> = requests.iter().map(|(key, ..)| HmacKey::new(key)).collect();
    let mut tags: Vec<Vec<u8>> = requests.iter().map(|(.., bytes)| vec![0; *bytes]).collect();
    let mut macs: Vec<Mac<'_, H>> = keys
        .iter()
        .zip(&mut tags)
        .zip(requests)
        .map(|((key, tag), (_, message, _))| Mac { key, message, tag })
        .collect();
    batch(backend, &mut macs);
    drop(macs);
    tags
}

/// RFC 2202, sections 2 and 3; RFC 4231, sections 4.2 to 4.8. Each batch contains all cases of a function.
#[test]
fn published() {
    for_every_backend(|backend| {
        check_published::<Md5>(
            backend,
            16,
            [
                "9294727a3638bb1c13f48ef8158bfc9d",
                "750c783e6ab0b503eaa86e310a5db738",
                "56be34521d144c88dbb8c733f0e8b3f6",
                "697eaf0aca3a3aea3a75164746ffaa79",
            ],
        );
        check_published::<Sha1>(
            backend,
            20,
            [
                "b617318655057264e28bc0b6fb378c8ef146be00",
                "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
                "125d7342b9ac11cd91a39af48aa17b4f63f175d3",
                "4c9007f4026250c6bc8414f9bf50c86c2d7235da",
            ],
        );
        check_published::<Sha256>(
            backend,
            20,
            [
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ],
        );
        check_published::<Sha384>(
            backend,
            20,
            [
                "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c\
                 faea9ea9076ede7f4af152e8b2fa9cb6",
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e\
                 8e2240ca5e69e2c78b3239ecfab21649",
                "88062608d3e6ad8a0aa2ace014c8a86f0aa635d947ac9febe83ef4e55966144b\
                 2a5ab39dc13814b94e3ab6e101a34f27",
                "3e8a69b7783c25851933ab6290af6ca77a9981480850009cc5577c6e1f573b4e\
                 6801dd23c4a7d679ccf8a386c674cffb",
            ],
        );
        check_published::<Sha512>(
            backend,
            20,
            [
                "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde\
                 daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
                 9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
                "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39\
                 bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb",
                "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3db\
                 a91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd",
            ],
        );
    });
}

/// Cases 1 to 4 of both documents, which differ only in the length of the first and third key.
fn check_published<H: Hash>(backend: HashBackend, key_bytes: usize, expected: [&str; 4]) {
    let counting: Vec<u8> = (1..=25).collect();
    let bytes = expected[0].len() / 2;
    let requests: [(Vec<u8>, &[u8], usize); 4] = [
        (vec![0x0b; key_bytes], b"Hi There", bytes),
        (b"Jefe".to_vec(), b"what do ya want for nothing?", bytes),
        (vec![0xaa; key_bytes], &[0xdd; 50], bytes),
        (counting, &[0xcd; 50], bytes),
    ];
    let tags = tags::<H>(backend, &requests);
    assert_eq!(
        tags.iter().map(hex::encode).collect::<Vec<_>>(),
        expected,
        "{backend:?}"
    );
}

/// Keys longer than a block, and messages that end at any position in one.
#[test]
fn every_length_of_key_and_message() {
    for_every_backend(|backend| {
        for_every_hash!(check_lengths(backend));
    });
}

fn check_lengths<H: Hash>(backend: HashBackend, oracle: Oracle) {
    let data: Vec<u8> = (0..=255).chain(0..=255).collect();
    let requests: Vec<_> = (0..=400)
        .map(|i| {
            (
                data[..i].to_vec(),
                &data[i % 7..i % 7 + (i * 3) % 401],
                H::DIGEST_BYTES,
            )
        })
        .collect();
    for (tag, (key, message, _)) in tags::<H>(backend, &requests).iter().zip(&requests) {
        assert_eq!(
            *tag,
            oracle(key, message),
            "{backend:?}, {} and {} bytes",
            key.len(),
            message.len()
        );
    }
}

#[test]
fn batches_of_any_lengths() {
    for_every_backend(|backend| {
        for_every_hash!(check_batches(backend));
    });
}

fn check_batches<H: Hash>(backend: HashBackend, oracle: Oracle) {
    let mut rng = StdRng::seed_from_u64(9);
    for count in 0..=40 {
        let unit = [1, 16, 64][count % 3];
        let lengths = lengths(&mut rng, count, unit);
        let mut messages = Guarded::new(&lengths);
        let mut messages = messages.buffers();
        for message in &mut messages {
            rng.fill(&mut message[..]);
        }
        let requests: Vec<_> = messages
            .iter()
            .map(|message| {
                let key = crate::random_bytes(&mut rng, 20);
                (key, &**message, rng.random_range(0..=H::DIGEST_BYTES))
            })
            .collect();
        for (tag, (key, message, bytes)) in tags::<H>(backend, &requests).iter().zip(&requests) {
            assert_eq!(
                *tag,
                oracle(key, message)[..*bytes],
                "{backend:?}, {lengths:?}"
            );
        }
    }
}

#[test]
#[should_panic(expected = "at most the 20 bytes of a digest, not 21")]
fn a_tag_longer_than_a_digest() {
    tags::<Sha1>(HashBackend::Portable, &[(vec![1], b"a", 21)]);
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let counters = [
        ("portable", &dispatch::HASH_PORTABLE),
        ("avx2", &dispatch::HASH_AVX2),
        ("avx512", &dispatch::HASH_AVX512),
        ("sha-ni", &dispatch::HASH_SHA_NI),
    ];
    let key = HmacKey::<Sha1>::new(b"a key");
    for backend in Cpu::detect().hash_backends() {
        let before = counters.map(|(_, counter)| counter.get());
        let mut tag = [0; 20];
        let message = &[0; 64][..];
        let mut macs = [Mac {
            key: &key,
            message,
            tag: &mut tag,
        }];
        batch(backend, &mut macs);
        for ((name, counter), before) in counters.into_iter().zip(before) {
            // The message, its padding, the outer block.
            let runs = if name == backend.name() { 3 } else { 0 };
            assert_eq!(counter.get() - before, runs, "{backend:?}: {name}");
        }
    }
}

#[test]
fn few_messages_prefer_sha_ni() {
    let cpu = Cpu::detect();
    let name = |cpu, messages| HashBackend::preferred_for::<Sha256>(cpu, messages).name();
    if cpu.has(Feature::Sha) {
        assert_eq!(name(cpu, 1), "sha-ni");
        assert_eq!(name(cpu.without(Feature::Avx512), 16), "sha-ni");
        assert_eq!(
            name(cpu.without(Feature::Sha), 1),
            HashBackend::preferred(cpu).name()
        );
    }
    assert_ne!(HashBackend::preferred_for::<Md5>(cpu, 1).name(), "sha-ni");
    assert_ne!(
        HashBackend::preferred_for::<Sha512>(cpu, 1).name(),
        "sha-ni"
    );
    assert_eq!(name(Cpu::PORTABLE, 1), "portable");
}
