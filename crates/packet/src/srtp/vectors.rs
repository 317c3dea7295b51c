//! The RFCs' examples, which begin with session keys.

use std::sync::Arc;

use oarlock_engine::plan::{Engine, Setup};

use super::keys::{Derivation, Keys};
use super::{Inbound, InboundPacket, Outbound, OutboundPacket, Policy, Protocol, Suite};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = (hex.chars())
        .filter_map(|it| it.to_digit(16).map(|it| it as u8))
        .collect();
    digits.chunks(2).map(|it| it[0] << 4 | it[1]).collect()
}

/// Returns an engine for each backend of the kernels on this CPU.
fn engines() -> impl Iterator<Item = Arc<Engine>> {
    ["", "-avx512", "-vaes", "-avx2", "-aes", "-aes,-avx2"]
        .into_iter()
        .map(|mask| {
            let cpu_mask = Some(mask.into());
            let setup = Setup {
                cpu_mask,
                ..Setup::default()
            };
            setup.open().unwrap()
        })
}

#[test]
fn keys_are_derived_as_in_rfc_3711_b3_and_rfc_6188_7() {
    // Master key and salt; then cipher key, cipher salt and authentication key.
    let examples = [
        [
            "e1f97a0d3e018be0d64fa32c06de4139",
            "0ec675ad498afeebb6960b3aabe6",
            "c61e7a93744f39ee10734afe3ff7a087",
            "30cbbc08863d8c85d49db34a9ae1",
            "cebe321f6ff7716b6fd4ab49af256a156d38baa4",
        ],
        [
            "f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6",
            "3b04803de51ee7c96423ab5b78d2",
            "5ba1064e30ec51613cad926c5a28ef731ec7fb397f70a960653caf06554cd8c4",
            "fa31791685ca444a9e07c6c64e93",
            "fd9c32d39ed5fbb5a9dc96b30818454d1313dc05",
        ],
        [
            "73edc66c4fa15776fb57f9505c17136550ffda71f3e8e5f1",
            "c8522f3acd4ce86d5add78edbb11",
            "31874736a8f1143870c26e4857d8a5b2c4a354407faadabb",
            "2372b82d639b6d8503a47adc0a6c",
            "355b10973cd95b9eacf4061c7e1a7151e7cfbfcb",
        ],
    ];
    for engine in engines() {
        for example in examples {
            let [key, salt, cipher_key, cipher_salt, mac_key] = example.map(bytes);
            let derivation = Derivation::new(&engine, &key, &salt).unwrap();
            for (label, expected) in [(0, cipher_key), (1, mac_key), (2, cipher_salt)] {
                let mut derived = vec![0xff; expected.len()];
                derivation.derive(label, &mut derived);
                assert_eq!(derived, expected, "label {label}");
            }
        }
    }
}

#[test]
fn keystream_is_that_of_rfc_3711_b2_and_rfc_6188_7() {
    // The session key; the first three keystream blocks; and the three that end with the 0xff02nd.
    let examples = [
        (
            Suite::AesCm128HmacSha1_80,
            "2b7e151628aed2a6abf7158809cf4f3c",
            "e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab
             41e95b3bb0a2e8dd477901e4fca894c0",
            "ec8cdf7398607cb0f2d21675ea9ea1e4362b7c3c6773516318a077d7fc5073ae
             6a2cc3787889374fbeb4c81b17ba6c44",
        ),
        (
            Suite::AesCm192HmacSha1_80,
            "eab234764e517b2d3d160d587d8c86219740f65f99b6bcf7",
            "35096cba4610028dc1b57503804ce37c5de986291dcce161d5165ec4568f5c9a
             474a40c77894bc17180202272a4c264d",
            "d108d1a31a00bad6367ec23eb044b415c8f57129fdeb970b59f917b257662d4c
             a5dab625811034e8cebdfeb6dc158dd3",
        ),
        (
            Suite::AesCm256HmacSha1_80,
            "57f82fe3613fd170a85ec93c40b1f0922ec4cb0dc025b58272147cc438944a98",
            "92bdd28a93c3f52511c677d08b5515a49da71b2378a854f67050756ded165bac
             63c4868b7096d88421b563b8c94c9a31",
            "cea518c90fd91ced9cbb18c078a547113dbc4814f4da5f00a08772b63c6a046d
             6eb246913062a16891433e97dd01a57f",
        ),
    ];
    for engine in engines() {
        for (suite, key, first, last) in examples {
            let salt = bytes("f0f1f2f3f4f5f6f7f8f9fafbfcfd");
            let keys = Keys::of_session_keys(&engine, suite, &bytes(key), &salt);
            let key = keys.get(0, Protocol::Rtp);
            let mut keystream = vec![0; 0xff02 * 16];
            let ctr = key.ctr().unwrap();
            ctr.apply(key.counter(0, 0), 0, (&mut keystream[..]).into());
            assert!(keystream.starts_with(&bytes(first)), "{suite:?}");
            assert!(keystream.ends_with(&bytes(last)), "{suite:?}");
        }
    }
}

#[test]
fn packets_of_rfc_7714_16() {
    let rtp = "8040f17b8041f8d35501a0b2
        47616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573";
    let protected = [
        (
            Suite::Aes128Gcm,
            "8040f17b8041f8d35501a0b2
             f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833
             899d7f27beb16a9152cf765ee4390cce",
        ),
        (
            Suite::Aes256Gcm,
            "8040f17b8041f8d35501a0b2
             32b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799b87b
             7aa3db36dfffd6b0f9bb7878d7a76c13",
        ),
    ];
    for (suite, protected) in protected {
        both_ways(suite, true, Protocol::Rtp, &bytes(rtp), &bytes(protected));
    }
}

#[test]
fn packets_of_rfc_7714_17() {
    let rtcp = "81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61
        deadbeefdeadbeefdeadbeefdeadbeefdeadbeef";
    let protected = [
        (
            Suite::Aes128Gcm,
            true,
            "81c8000d4d61727363e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda
             4ce09b4686303ded0bb9275bc84aa45896cf4d2fc5abf87245d9eade800005d4",
        ),
        (
            Suite::Aes256Gcm,
            true,
            "81c8000d4d617273d50ae4d1f5ce5d304ba297e47d470c282c3ece5dbffe0a50a2eaa5c1110555be
             8415f658c61de0476f1b6fad1d1eb30c4446839f57ff6f6cb26ac3be800005d4",
        ),
        (
            Suite::Aes128Gcm,
            false,
            "81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61
             deadbeefdeadbeefdeadbeefdeadbeefdeadbeef841dd9683dd78ec92ae58790125f62b3000005d4",
        ),
    ];
    for (suite, encrypted, protected) in protected {
        let (rtcp, protected) = (bytes(rtcp), bytes(protected));
        both_ways(suite, encrypted, Protocol::Rtcp, &rtcp, &protected);
    }
}

fn both_ways(suite: Suite, encrypted: bool, protocol: Protocol, plain: &[u8], protected: &[u8]) {
    for engine in engines() {
        let engine = &engine;
        let key: Vec<u8> = (0..32).collect();
        // Unused master keys.
        let policy = Policy::new(suite, &[0; 44][..suite.key_bytes()]).encrypt_rtcp(encrypted);
        let keys = || {
            let key = &key[..suite.master_key_bytes()];
            Keys::of_session_keys(engine, suite, key, b"Quid pro quo")
        };
        let ssrc = match protocol {
            Protocol::Rtp => 0x5501_a0b2,
            Protocol::Rtcp => 0x4d61_7273,
        };
        let mut outbound = Outbound::with(engine, &policy, keys(), ssrc, 0x5d4);
        let mut buffer = [plain, &[0; Suite::BEHIND_BYTES_MAX]].concat();
        let mut packets = [OutboundPacket::new(&mut buffer, plain.len())];
        outbound.run(protocol, &mut packets);
        assert_eq!(packets[0].protected().unwrap(), protected, "{suite:?}");

        let mut inbound = Inbound::with(engine, &policy, keys());
        let mut buffer = protected.to_vec();
        let mut packets = [InboundPacket::new(&mut buffer)];
        inbound.run(protocol, &mut packets);
        assert_eq!(packets[0].unprotected().unwrap().packet, plain, "{suite:?}");
    }
}
