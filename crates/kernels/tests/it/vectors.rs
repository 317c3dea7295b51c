//! The test vectors of the standards.

use oarlock_kernels::testing;

use super::{Way, for_every_way};

for_every_way!(sp800_38a, rfc3686, fips197_key_expansion);

/// SP 800-38A, F.5.1, F.5.3 and F.5.5; decryption is the same operation.
fn sp800_38a(way: Way) {
    const COUNTER: u128 = 0xf0f1f2f3_f4f5f6f7_f8f9fafb_fcfdfeff;
    const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
         30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
    for (key, cipher) in [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
             5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94\
             1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
             2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
        ),
    ] {
        check(way, key, COUNTER, PLAIN, cipher);
        check(way, key, COUNTER, cipher, PLAIN);
    }
}

/// RFC 3686, section 6: key, nonce, IV, plaintext, ciphertext.
fn rfc3686(way: Way) {
    const MESSAGE: &str = "53696e676c6520626c6f636b206d7367";
    const COUNT_32: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    const COUNT_36: &str =
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223";
    for (key, nonce, iv, plain, cipher) in [
        (
            "ae6852f8121067cc4bf7a5765577f39e",
            0x00000030,
            0x0000000000000000,
            MESSAGE,
            "e4095d4fb7a7b3792d6175a3261311b8",
        ),
        (
            "7e24067817fae0d743d6ce1f32539163",
            0x006cb6db,
            0xc0543b59da48d90b,
            COUNT_32,
            "5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28",
        ),
        (
            "7691be035e5020a8ac6e618529f9a0dc",
            0x00e0017b,
            0x27777f3f4a1786f0,
            COUNT_36,
            "c1cf48a89f2ffdd9cf4652e9efdb72d74540a42bde6d7836d59a5ceaaef3105325b2072f",
        ),
        (
            "16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515",
            0x00000048,
            0x36733c147d6d93cb,
            MESSAGE,
            "4b55384fe259c9c84e7935a003cbe928",
        ),
        (
            "7c5cb2401b3dc33c19e7340819e0f69c678c3db8e6f6a91a",
            0x0096b03b,
            0x020c6eadc2cb500d,
            COUNT_32,
            "453243fc609b23327edfaafa7131cd9f8490701c5ad4a79cfc1fe0ff42f4fb00",
        ),
        (
            "02bf391ee8ecb159b959617b0965279bf59b60a786d3e0fe",
            0x0007bdfd,
            0x5cbd60278dcc0912,
            COUNT_36,
            "96893fc55e5c722f540b7dd1ddf7e758d288bc95c69165884536c811662f2188abee0935",
        ),
        (
            "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104",
            0x00000060,
            0xdb5672c97aa8f0b2,
            MESSAGE,
            "145ad01dbf824ec7560863dc71e3e0c0",
        ),
        (
            "f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884",
            0x00faac24,
            0xc1585ef15a43d875,
            COUNT_32,
            "f05e231b3894612c49ee000b804eb2a9b8306b508f839d6a5530831d9344af1c",
        ),
        (
            "ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d",
            0x001cc5b7,
            0x51a51d70a1c11148,
            COUNT_36,
            "eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f1ec0e6b8",
        ),
    ] {
        let counter = (nonce << 96) | (iv << 32) | 1;
        check(way, key, counter, plain, cipher);
    }
}

/// FIPS 197, appendix A: the first computed word and the last round key.
fn fips197_key_expansion(way: Way) {
    for (key, first_made, last_round_key) in [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "a0fafe17",
            "d014f9a8c9ee2589e13f0cc8b6630ca6",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "fe0c91f7",
            "e98ba06f448c773c8ecc720401002202",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "9ba35411",
            "fe4890d1e6188d0b046df344706c631e",
        ),
    ] {
        let key = hex::decode(key).unwrap();
        let expand = |way: Way| {
            let subject = way.subject_with(&key).unwrap();
            let words = *testing::round_keys(subject.ctr());
            words
                .as_flattened()
                .iter()
                .flat_map(|w| w.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let schedule = expand(way);
        let (used, unused) = schedule.split_at((key.len() / 4 + 7) * 16);
        assert_eq!(used[..key.len()], key);
        assert_eq!(hex::encode(&used[key.len()..key.len() + 4]), first_made);
        assert_eq!(hex::encode(&used[used.len() - 16..]), last_round_key);
        assert!(unused.iter().all(|byte| *byte == 0));
        assert_eq!(schedule, expand(Way::Portable));
    }
}

fn check(way: Way, key: &str, counter: u128, input: &str, output: &str) {
    let mut subject = way.subject_with(&hex::decode(key).unwrap()).unwrap();
    let mut data = hex::decode(input).unwrap();
    subject.apply(counter, 0, data.as_mut_slice().into());
    assert_eq!(hex::encode(data), output, "{way:?}, key {key}");
}
