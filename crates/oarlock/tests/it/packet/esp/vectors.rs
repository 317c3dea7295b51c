//! Packets from the RFCs.

use oarlock::packet::esp::{Association, Cipher, Integrity, Suite};

use super::opened;
#[cfg(feature = "aws-lc")]
use super::reference;
use crate::common::accelerator;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|it| it.to_digit(16).map(|it| it as u8))
        .collect();
    digits.chunks(2).map(|it| it[0] << 4 | it[1]).collect()
}

#[test]
fn the_example_of_rfc_7634_is_opened() {
    let key: Vec<u8> = (0x80..=0x9f).chain([0xa0, 0xa1, 0xa2, 0xa3]).collect();
    let association = Association::new(0x0102_0304, Suite::ChaCha20Poly1305, &key);
    let mut inbound = accelerator().esp_inbound(&association).unwrap();
    // RFC 7634, appendix A: sequence number 5, with an IV that differs from it.
    let packet = hex(
        "01020304 00000005 1011121314151617 24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c6
         14ee8099d52844eb61aa95dfab4c02f72aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da
         9165b82829f641e0 76aaa8266b7fb0f7b11b369907e1ad43",
    );
    let (payload, next_header, sequence) = opened(&mut inbound, &packet).unwrap();
    let expected = hex(
        "45000054a6f20000400 1e778c6336405c000020508005b7a3a080000553bec100007362708090a0b0c0d0e0f1011
         12131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    );
    assert_eq!((payload, next_header, sequence), (expected, 4, 5));
}

/// RFC 3602, section 4, cases 5 to 8. They have no ICV, so the test appends one.
#[cfg(feature = "aws-lc")]
#[test]
fn the_packets_of_rfc_3602_are_opened() {
    const PING: &str = "90d382b410eeba7ad938c46cec1a82bf";
    const TUNNEL: &str = "0123456789abcdef0123456789abcdef";
    let cases = [
        (
            PING,
            "00004321 00000001 e96e8c08ab465763fd098d45dd3ff893
             f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856a4699e523a55db080b59ec3a8e4b7e52
             775b07d1db34ed9c538ab50c551b874aa269add047ad2d5913ac19b7cfbad4a6",
            "08000ebda70a00008e9c083db95b070008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
             202122232425262728292a2b2c2d2e2f3031323334353637",
            (1, 1),
        ),
        (
            PING,
            "00004321 00000008 69d08df7d203329db093fc4924e5bd80
             f51995881ec4e0c4488987ce742e8109689bb379d2d750c0d915dca346a89f75",
            "0800b5e8a80a0500a69c083d0b660e00777777777777777777777777",
            (1, 8),
        ),
        (
            TUNNEL,
            "00008765 00000002 f4e765244f6407adf13dc1380f673f37
             773b5241a4c449225e4f3ce5ed611b0c237ca96cf74a93013c1b0ea1a0cf70f8e4ecaec78ac53aad7a0f022b859243c6
             47752e94a859352b8a4d4d2decd136e5c177f132ad3fbfb2201ac9904c74ee0a109e0ca1e4dfe9d5a100b842f1c22f0d",
            "45000054090400004001f988c0a87b03c0a87bc808009f76a90a0100b49c083d02a20400
             08090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
            (4, 2),
        ),
        (
            TUNNEL,
            "00008765 00000005 85d47224b5f3dd5d2101d4ea8dffab22
             15b92683819596a8047232cc00f7048fe45318e11f8a0f62ede3c3fc61203bb50f980a08c9843fd3a1b06d5c07ff9639
             b7eb7dfb3512e5de435e7207ed971ef3d2726d9b5ef6affc6d17a0decbb13892",
            "45000044090c00004001f990c0a87b03c0a87bc80800d63caa0a0200c69c083da3de0300
             ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            (4, 5),
        ),
    ];
    for integrity in Integrity::ALL {
        let suite = Suite::EncryptThenMac(Cipher::Aes128Cbc, *integrity);
        let mac_key: Vec<u8> = (1..).take(integrity.key_bytes()).collect();
        for (key, packet, payload, (next_header, sequence)) in &cases {
            let mut packet = hex(packet);
            let spi = u32::from_be_bytes(packet[..4].try_into().unwrap());
            packet.extend(reference::hmac(*integrity, &mac_key, &packet.clone()));
            let key = [hex(key), mac_key.clone()].concat();
            let association = Association::new(spi, suite, &key);
            let mut inbound = accelerator().esp_inbound(&association).unwrap();
            let found = opened(&mut inbound, &packet).unwrap();
            assert_eq!(found, (hex(payload), *next_header, *sequence));
        }
    }
}

/// The vectors of draft-mcgrew-gcm-test-01: one with an extended number, one for each key length.
#[test]
fn packets_of_aes_gcm_as_rfc_4106_has_them_are_opened() {
    let cases = [
        (
            Suite::Aes128Gcm,
            "4c80cdefbb5d10da906ac73c3613a634 2e443b68",
            // The upper half of the number, which is not sent, is 0x87654321.
            Some(0x8765_4321_0000_0000_u64),
            "00004321 00000000 4956ed7e3b244cfe
             fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a13c5d
             15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732 459018148f6cbe722fd04796562dfdb4",
            "45000048699a000080114db7c0a80102c0a801010a9bf15638d301000001000000000000045f736970045f7564700373
             69700963796265726369747902646b0000210001",
        ),
        (
            Suite::Aes192Gcm,
            "feffe9928665731c6d6a8f9467308308feffe9928665731c cafebabe",
            None,
            "0000a5f8 0000000a facedbaddecaf888
             a5b1f8066029aea40e598b8122de02420938b3ab33f828e687b8858b5bfbdbd0315b27452144cc77
             95457b9652037f5318027b5b4cd7a636",
            "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e501016d07568",
        ),
        (
            Suite::Aes256Gcm,
            "abbccddef00112233445566778899aababbccddef00112233445566778899aab 11223344",
            None,
            "4a2cbfe3 00000002 0102030405060708
             ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763748a637985771d347f0545659f14e99d
             ef842d8e b335f4eecfdbf831824b4c4915956c96",
            "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee0000000007002400020bf0000020405b401010402",
        ),
    ];
    for (suite, key, extended, packet, payload) in cases {
        let (key, packet) = (hex(key), hex(packet));
        let word = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
        let association =
            Association::new(word(0), suite, &key).extended_sequence_numbers(extended.is_some());
        let mut inbound = accelerator().esp_inbound(&association).unwrap();
        if let Some(number) = extended {
            let mut window = oarlock::packet::ReplayWindow::new(64);
            window.insert(number - 1);
            inbound.set_window(window);
        }
        let found = opened(&mut inbound, &packet).unwrap();
        let sequence = extended.unwrap_or(word(4).into());
        assert_eq!(found, (hex(payload), 1, sequence));
    }
}
