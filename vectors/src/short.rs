//! Vectors typed in from the standards.

use crate::{AeadVector, CbcVector, CtrVector, MonteCarloVector, Padding};

/// SP 800-38A, F.5.1, F.5.3 and F.5.5: CTR-AES128, CTR-AES192 and CTR-AES256.
#[must_use]
pub fn sp_800_38a() -> Vec<CtrVector> {
    [
        (
            "F.5.1 CTR-AES128",
            "2b7e151628aed2a6abf7158809cf4f3c",
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
             5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            "F.5.3 CTR-AES192",
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94\
             1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
        ),
        (
            "F.5.5 CTR-AES256",
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
             2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
        ),
    ]
    .map(|(name, key, ciphertext)| {
        let counter_block = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
        vector(
            &format!("SP 800-38A {name}"),
            key,
            counter_block,
            SP_800_38A_PLAINTEXT,
            ciphertext,
        )
    })
    .into()
}

const SP_800_38A_PLAINTEXT: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                                    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

/// RFC 3686, section 6: test vectors 1 to 9. The counter block is nonce, IV and 1.
#[must_use]
pub fn rfc_3686() -> Vec<CtrVector> {
    [
        (
            1,
            "ae6852f8121067cc4bf7a5765577f39e",
            "00000030000000000000000000000001",
            "53696e676c6520626c6f636b206d7367",
            "e4095d4fb7a7b3792d6175a3261311b8",
        ),
        (
            2,
            "7e24067817fae0d743d6ce1f32539163",
            "006cb6dbc0543b59da48d90b00000001",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28",
        ),
        (
            3,
            "7691be035e5020a8ac6e618529f9a0dc",
            "00e0017b27777f3f4a1786f000000001",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
            "c1cf48a89f2ffdd9cf4652e9efdb72d74540a42bde6d7836d59a5ceaaef3105325b2072f",
        ),
        (
            4,
            "16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515",
            "0000004836733c147d6d93cb00000001",
            "53696e676c6520626c6f636b206d7367",
            "4b55384fe259c9c84e7935a003cbe928",
        ),
        (
            5,
            "7c5cb2401b3dc33c19e7340819e0f69c678c3db8e6f6a91a",
            "0096b03b020c6eadc2cb500d00000001",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "453243fc609b23327edfaafa7131cd9f8490701c5ad4a79cfc1fe0ff42f4fb00",
        ),
        (
            6,
            "02bf391ee8ecb159b959617b0965279bf59b60a786d3e0fe",
            "0007bdfd5cbd60278dcc091200000001",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
            "96893fc55e5c722f540b7dd1ddf7e758d288bc95c69165884536c811662f2188abee0935",
        ),
        (
            7,
            "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104",
            "00000060db5672c97aa8f0b200000001",
            "53696e676c6520626c6f636b206d7367",
            "145ad01dbf824ec7560863dc71e3e0c0",
        ),
        (
            8,
            "f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884",
            "00faac24c1585ef15a43d87500000001",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "f05e231b3894612c49ee000b804eb2a9b8306b508f839d6a5530831d9344af1c",
        ),
        (
            9,
            "ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d",
            "001cc5b751a51d70a1c1114800000001",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
            "eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f1ec0e6b8",
        ),
    ]
    .map(|(number, key, counter_block, plaintext, ciphertext)| {
        vector(
            &format!("RFC 3686 #{number}"),
            key,
            counter_block,
            plaintext,
            ciphertext,
        )
    })
    .into()
}

/// SP 800-38A, F.2.1, F.2.3 and F.2.5: CBC-AES128, CBC-AES192 and CBC-AES256.
#[must_use]
pub fn sp_800_38a_cbc() -> Vec<CbcVector> {
    [
        (
            "F.2.1 CBC-AES128",
            "2b7e151628aed2a6abf7158809cf4f3c",
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2\
             73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
        ),
        (
            "F.2.3 CBC-AES192",
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a\
             571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
        ),
        (
            "F.2.5 CBC-AES256",
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d\
             39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
    ]
    .map(|(name, key, ciphertext)| CbcVector {
        source: format!("SP 800-38A {name}"),
        key: bytes(key),
        iv: block("000102030405060708090a0b0c0d0e0f"),
        plaintext: bytes(SP_800_38A_PLAINTEXT),
        ciphertext: bytes(ciphertext),
        padding: Padding::None,
        is_valid: true,
    })
    .into()
}

/// CAVP's CBCMCT128, 192 and 256: the first key, IV and text of each half, and the text after 100
/// times 1000 blocks (AESAVS, section 6.4.2).
#[must_use]
pub fn cbc_monte_carlo() -> Vec<MonteCarloVector> {
    [
        (
            "CBCMCT128 ENCRYPT",
            "8809e7dd3a959ee5d8dbb13f501f2274",
            "e5c0bb535d7d54572ad06d170a0e58ae",
            "1fd4ee65603e6130cfc2a82ab3d56c24",
            "7bed7671c8913aa1330f193761523e67",
        ),
        (
            "CBCMCT128 DECRYPT",
            "287b07c78f8e3e1be7c41b3d96c04e6e",
            "41b461f9464fd515d25413b4241002b8",
            "7c54923b0490a9d4de4ec1ce6790aa4d",
            "4769317b0562c45949c18b3855f8bf4a",
        ),
        (
            "CBCMCT192 ENCRYPT",
            "dea64f83cfe6a0a183ddbe865cfca059b3c615c1623d63fc",
            "426fbc087b50b395c0fc81ef9fd6d1aa",
            "cd0b8c8a8179ecb171b64c894a4d60fd",
            "e6457bfc3433e80299c52b2be418f582",
        ),
        (
            "CBCMCT192 DECRYPT",
            "a24ebd4d7a080c28caae984b5098a9ea38cf7280e2c5f122",
            "c5aeb9b51ad5108371c59d0b90816310",
            "eb2c4e2712591ff13b8ac7870c9c404c",
            "836424eadf8155aaf9a9a51391a1cf7e",
        ),
        (
            "CBCMCT256 ENCRYPT",
            "632bac4fe4db44cfcf18cfa90b43f86f378611b8d968595eb89e7ae98624564a",
            "ff8127621be616803e3f002377730185",
            "90ed17475f0a62bc381ba1f3ffbfff33",
            "bade1667b42f537f0cb3f5573a949aaa",
        ),
        (
            "CBCMCT256 DECRYPT",
            "31397ad8cc79c519e0f46e0f70303587e38958d70723b771552336b7771f6311",
            "4139cb54eeac3fcf36ed72941122c40f",
            "27a1d5c10fe45b801d15f56e654a70f0",
            "9be831799a79b0955241f308f0d5b2e1",
        ),
    ]
    .map(|(source, key, iv, input, output)| MonteCarloVector {
        source: source.to_owned(),
        key: bytes(key),
        iv: block(iv),
        input: block(input),
        output: block(output),
        encrypts: source.ends_with("ENCRYPT"),
    })
    .into()
}

/// RFC 8439, section 2.8.2 and appendix A.5: ChaCha20-Poly1305.
#[must_use]
pub fn rfc_8439() -> Vec<AeadVector> {
    [
        (
            "2.8.2",
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
            "070000004041424344454647",
            "50515253c0c1c2c3c4c5c6c7",
            "4c616469657320616e642047656e746c656d656e206f662074686520636c6173\
             73206f66202739393a204966204920636f756c64206f6666657220796f75206f\
             6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73\
             637265656e20776f756c642062652069742e",
            "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6\
             3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36\
             92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
             3ff4def08e4b7a9de576d26586cec64b6116",
            "1ae10b594f09e26a7e902ecbd0600691",
        ),
        (
            "A.5",
            "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0",
            "000000000102030405060708",
            "f33388860000000000004e91",
            "496e7465726e65742d4472616674732061726520647261667420646f63756d65\
             6e74732076616c696420666f722061206d6178696d756d206f6620736978206d\
             6f6e74687320616e64206d617920626520757064617465642c207265706c6163\
             65642c206f72206f62736f6c65746564206279206f7468657220646f63756d65\
             6e747320617420616e792074696d652e20497420697320696e617070726f7072\
             6961746520746f2075736520496e7465726e65742d4472616674732061732072\
             65666572656e6365206d6174657269616c206f7220746f206369746520746865\
             6d206f74686572207468616e206173202fe2809c776f726b20696e2070726f67\
             726573732e2fe2809d",
            "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb2\
             4c6cfc18755d43eea09ee94e382d26b0bdb7b73c321b0100d4f03b7f355894cf\
             332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855\
             9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4\
             b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e\
             af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a\
             0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a10\
             49e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29\
             a6ad5cb4022b02709b",
            "eead9d67890cbb22392336fea1851f38",
        ),
    ]
    .map(
        |(section, key, nonce, aad, plaintext, ciphertext, tag)| AeadVector {
            source: format!("RFC 8439 {section}"),
            key: bytes(key),
            nonce: bytes(nonce),
            aad: bytes(aad),
            plaintext: Some(bytes(plaintext)),
            ciphertext: bytes(ciphertext),
            tag: bytes(tag),
            is_valid: true,
        },
    )
    .into()
}

fn vector(
    source: &str,
    key: &str,
    counter_block: &str,
    plaintext: &str,
    ciphertext: &str,
) -> CtrVector {
    CtrVector {
        source: source.to_owned(),
        key: bytes(key),
        counter_block: block(counter_block),
        plaintext: bytes(plaintext),
        ciphertext: bytes(ciphertext),
    }
}

/// The digits above; a misprint gives an empty field, which the tests of this crate refuse.
fn bytes(digits: &str) -> Vec<u8> {
    hex::decode(digits).unwrap_or_default()
}

/// As [`bytes`]: a misprint gives zeros.
fn block(digits: &str) -> [u8; 16] {
    u128::from_str_radix(digits, 16).map_or([0; 16], u128::to_be_bytes)
}
