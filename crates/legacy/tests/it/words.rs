//! Camellia, SM4 and ARIA in counter mode: every backend compared with RustCrypto's block ciphers, the vectors of
//! their RFCs, and OpenSSL's bytes.

use cipher::{BlockCipherEncrypt, KeyInit};
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_legacy::words::{Aria, Backend, BlockCipher, Camellia, Ctr, Sm4, dispatch};
use oarlock_legacy::{InvalidKeyLength, testing};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::pages::Pages;
use super::{alone, random_bytes, with_others};

/// A backend, the features that it needs, and its call counter.
const BACKENDS: [(&str, &[Feature], &dispatch::Counter); 6] = [
    (
        "gfni-512",
        &[Feature::Gfni, Feature::Avx512],
        &dispatch::GFNI512,
    ),
    ("gfni-256", &[Feature::Gfni], &dispatch::GFNI256),
    ("vaes-256", &[Feature::Vaes], &dispatch::VAES256),
    ("aes-ni", &[Feature::Aes], &dispatch::AES_NI),
    ("permute-avx2", &[Feature::Avx2], &dispatch::PERMUTE_AVX2),
    ("permute-ssse3", &[Feature::Ssse3], &dispatch::PERMUTE_SSSE3),
];

/// Returns the backends that this machine can run.
fn backends() -> Vec<Backend> {
    let backends: Vec<_> = Backend::all(Cpu::detect()).collect();
    for (name, needed, _) in BACKENDS {
        let is_there = backends.iter().any(|backend| backend.name() == name);
        let has = needed.iter().all(|feature| Cpu::detect().has(*feature));
        assert_eq!(is_there, has, "{name}");
        if !is_there {
            oarlock_testing::skip(&format!("this CPU lacks the instructions of {name}"));
        }
    }
    backends
}

fn keyed<C: BlockCipher>(backend: Backend, key: &[u8]) -> Box<Ctr<C>> {
    let mut ctr = Box::new(Ctr::unkeyed(backend));
    ctr.set_key(key).unwrap();
    ctr
}

/// Returns `bytes` bytes of keystream, computed block by block.
fn keystream<O: BlockCipherEncrypt + KeyInit>(key: &[u8], counter: u128, bytes: usize) -> Vec<u8> {
    let cipher = O::new_from_slice(key).unwrap();
    let mut keystream = Vec::new();
    for i in 0..bytes.div_ceil(16) {
        let mut block = cipher::Block::<O>::default();
        block.copy_from_slice(&counter.wrapping_add(i as u128).to_be_bytes());
        cipher.encrypt_block(&mut block);
        keystream.extend_from_slice(&block);
    }
    keystream.truncate(bytes);
    keystream
}

/// Tests every length, from counters whose low 8, 32, 64 and 128 bits wrap on the way; each length in place and from one
/// buffer to another, with nothing written after it.
fn every_length<C: BlockCipher, O: BlockCipherEncrypt + KeyInit>(key_bytes: &[usize]) {
    const BYTES_MAX: usize = 2100;
    let _guard = with_others();
    let mut rng = StdRng::seed_from_u64(7);
    for backend in backends() {
        for &key_bytes in key_bytes {
            let key = random_bytes(&mut rng, key_bytes);
            let ctr = keyed::<C>(backend, &key);
            for bits in [8, 32, 64, 128] {
                let upper = rng.random::<u128>().checked_shl(bits).unwrap_or(0);
                let last = upper | u128::MAX >> (128 - bits);
                let counter = last - rng.random_range(0..130);
                let expected = keystream::<O>(&key, counter, BYTES_MAX);
                let data = random_bytes(&mut rng, BYTES_MAX);
                for bytes in 0..=BYTES_MAX {
                    let mut output = vec![0xee; bytes + 1];
                    let buffer = inout::InOutBuf::new(&data[..bytes], &mut output[..bytes]);
                    ctr.apply(counter, 0, buffer.unwrap());
                    let xored = data.iter().zip(&expected).map(|(data, key)| data ^ key);
                    assert!(
                        output[..bytes].iter().copied().eq(xored.take(bytes)),
                        "{ctr:?}, {key_bytes}-byte key, counter {counter:#x}, {bytes} bytes"
                    );
                    assert_eq!(output[bytes], 0xee, "{ctr:?}, {bytes} bytes");
                    ctr.apply(counter, 0, (&mut output[..bytes]).into());
                    assert_eq!(output[..bytes], data[..bytes], "{ctr:?}, {bytes} bytes");
                }
            }
        }
    }
}

/// Tests random keys, counters, lengths and offsets within a block; keys also replace each other.
fn random_calls<C: BlockCipher, O: BlockCipherEncrypt + KeyInit>(key_bytes: &[usize]) {
    let _guard = with_others();
    let mut rng = StdRng::seed_from_u64(8);
    for backend in backends() {
        let mut ctr = Box::new(Ctr::<C>::unkeyed(backend));
        for round in 0..200 {
            let key = random_bytes(&mut rng, key_bytes[round % key_bytes.len()]);
            ctr.set_key(&key).unwrap();
            let (counter, skip) = (rng.random::<u128>(), rng.random_range(0..16));
            let bytes = rng.random_range(0..if round % 8 == 0 { 20_000 } else { 300 });
            let mut data = vec![0; bytes];
            ctr.apply(counter, skip, (&mut data[..]).into());
            assert!(
                data == keystream::<O>(&key, counter, skip + bytes)[skip..],
                "{ctr:?}, round {round}, counter {counter:#x}, skip {skip}, {bytes} bytes"
            );
        }
    }
}

/// Tests the blocks of the RFCs: a plaintext serves as the counter of one block.
fn blocks<C: BlockCipher>(vectors: &[(&str, &str, &str)]) {
    let _guard = with_others();
    for backend in backends() {
        for (key, plaintext, ciphertext) in vectors {
            let ctr = keyed::<C>(backend, &hex::decode(key).unwrap());
            let plaintext = hex::decode(plaintext).unwrap().try_into().unwrap();
            let mut block = [0; 16];
            ctr.apply(u128::from_be_bytes(plaintext), 0, (&mut block[..]).into());
            assert_eq!(hex::encode(block), *ciphertext, "{ctr:?}");
        }
    }
}

/// Compares with the output of the machine's OpenSSL.
fn openssl<C: BlockCipher>(names: &[(&str, usize)]) {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let _guard = with_others();
    let mut rng = StdRng::seed_from_u64(9);
    for (name, key_bytes) in names {
        let key = random_bytes(&mut rng, *key_bytes);
        let counter = u128::MAX - 70;
        let data = random_bytes(&mut rng, 40_001);
        let program = Command::new("openssl")
            .args(["enc", &format!("-{name}"), "-K", &hex::encode(&key)])
            .args(["-iv", &hex::encode(counter.to_be_bytes())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut program) = program else {
            return oarlock_testing::skip("there is no openssl command");
        };
        program.stdin.take().unwrap().write_all(&data).unwrap();
        let expected = program.wait_with_output().unwrap();
        assert!(expected.status.success(), "{name}");
        for backend in backends() {
            let ctr = keyed::<C>(backend, &key);
            let mut data = data.clone();
            ctr.apply(counter, 0, (&mut data[..]).into());
            assert!(data == expected.stdout, "{ctr:?}, {name}");
        }
    }
}

fn key_lengths<C: BlockCipher>(key_bytes: &[usize]) {
    let _guard = with_others();
    for backend in backends() {
        let mut ctr = keyed::<C>(backend, &[1; 16]);
        let mut before = [0; 50];
        ctr.apply(5, 0, (&mut before[..]).into());
        for length in (0..=40).filter(|length| !key_bytes.contains(length)) {
            assert_eq!(
                ctr.set_key(&[2; 40][..length]),
                Err(InvalidKeyLength(length))
            );
        }
        let mut after = [0; 50];
        ctr.apply(5, 0, (&mut after[..]).into());
        assert_eq!(before, after, "a refused key leaves the old one");
    }
}

macro_rules! for_cipher {
    ($module:ident, $cipher:ty, $key_bytes:expr, [$($oracle:ty => $oracle_key:literal),+], $names:expr, $vectors:expr) => {
        mod $module {
            use super::*;

            #[test]
            fn every_length_and_wrap() {
                $(every_length::<$cipher, $oracle>(&[$oracle_key]);)+
            }
            #[test]
            fn random_calls() {
                $(super::random_calls::<$cipher, $oracle>(&[$oracle_key]);)+
            }
            #[test]
            fn published_blocks() {
                blocks::<$cipher>($vectors);
            }
            #[test]
            fn openssl_gives_the_same() {
                openssl::<$cipher>($names);
            }
            #[test]
            fn wrong_key_lengths_leave_the_key() {
                key_lengths::<$cipher>($key_bytes);
            }
        }
    };
}

// RFC 3713, appendix A.
for_cipher!(
    camellia, Camellia, &[16, 24, 32],
    [::camellia::Camellia128 => 16, ::camellia::Camellia192 => 24, ::camellia::Camellia256 => 32],
    &[("camellia-128-ctr", 16), ("camellia-192-ctr", 24), ("camellia-256-ctr", 32)],
    &[
        (
            "0123456789abcdeffedcba9876543210",
            "0123456789abcdeffedcba9876543210",
            "67673138549669730857065648eabe43",
        ),
        (
            "0123456789abcdeffedcba98765432100011223344556677",
            "0123456789abcdeffedcba9876543210",
            "b4993401b3e996f84ee5cee7d79b09b9",
        ),
        (
            "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
            "0123456789abcdeffedcba9876543210",
            "9acc237dff16d76c20ef7c919e3a7509",
        ),
    ]
);

// GB/T 32907, appendix A.1 (draft-ribose-cfrg-sm4, appendix A.1.1).
for_cipher!(
    sm4, Sm4, &[16],
    [::sm4::Sm4 => 16],
    &[("sm4-ctr", 16)],
    &[(
        "0123456789abcdeffedcba9876543210",
        "0123456789abcdeffedcba9876543210",
        "681edf34d206965e86b3e94f536e4246",
    )]
);

// RFC 5794, appendix A.
for_cipher!(
    aria, Aria, &[16, 24, 32],
    [::aria::Aria128 => 16, ::aria::Aria192 => 24, ::aria::Aria256 => 32],
    &[("aria-128-ctr", 16), ("aria-192-ctr", 24), ("aria-256-ctr", 32)],
    &[
        (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "d718fbd6ab644c739da95f3be6451778",
        ),
        (
            "000102030405060708090a0b0c0d0e0f1011121314151617",
            "00112233445566778899aabbccddeeff",
            "26449c1805dbe7aa25a468ce263a9e79",
        ),
        (
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "00112233445566778899aabbccddeeff",
            "f92bd7c79fb72e2f2b8f80c1972d24fc",
        ),
    ]
);

/// RFC 5528, test vector 1.
#[test]
fn camellia_in_counter_mode_of_ipsec() {
    let _guard = with_others();
    for backend in backends() {
        let key = hex::decode("ae6852f8121067cc4bf7a5765577f39e").unwrap();
        let mut data = *b"Single block msg";
        let counter = 0x0000_0030_0000_0000_0000_0000_0000_0001;
        keyed::<Camellia>(backend, &key).apply(counter, 0, (&mut data[..]).into());
        assert_eq!(hex::encode(data), "d09dc29a8214619a20877c76db1f0b3f");
    }
}

#[test]
fn each_backend_runs_when_it_is_named() {
    let _guard = alone();
    for backend in backends() {
        let (.., counter) = BACKENDS.iter().find(|one| one.0 == backend.name()).unwrap();
        let before: Vec<_> = BACKENDS.iter().map(|one| one.2.get()).collect();
        let already = counter.get();
        let data = &mut [0; 100][..];
        keyed::<Camellia>(backend, &[1; 16]).apply(0, 0, (&mut *data).into());
        keyed::<Sm4>(backend, &[1; 16]).apply(0, 0, (&mut *data).into());
        keyed::<Aria>(backend, &[1; 16]).apply(0, 0, data.into());
        assert_eq!(counter.get(), already + 3, "{}", backend.name());
        let others = BACKENDS.iter().map(|one| one.2.get()).sum::<u64>();
        assert_eq!(others, before.iter().sum::<u64>() + 3);
    }
}

#[test]
fn a_mask_hides_backends_and_shuffles_are_left_without_aes_and_gfni() {
    let names = |mask| {
        let cpu = Cpu::detect().masked(mask).unwrap();
        Backend::all(cpu).map(Backend::name).collect::<Vec<_>>()
    };
    let is_permuted = |name: &&str| name.starts_with("permute-");
    assert!(names("-aes,-gfni").iter().all(is_permuted));
    assert!(names("-ssse3").is_empty());
    assert!(Backend::preferred::<Camellia>(Cpu::PORTABLE).is_none());
    // AES instructions help Camellia less than the others.
    let cpu = Cpu::detect().masked("-gfni").unwrap();
    let preferred = Backend::preferred::<Camellia>(cpu).map(Backend::name);
    assert!(preferred.is_none_or(|name| name.starts_with("permute-")));
    for preferred in [Backend::preferred::<Sm4>, Backend::preferred::<Aria>] {
        assert_eq!(preferred(cpu), Backend::all(cpu).next());
    }
    assert!(!names("-avx512").contains(&"gfni-512"));
    let is_narrow = |name: &&str| matches!(*name, "aes-ni" | "permute-ssse3");
    assert!(names("-avx2").iter().all(is_narrow));
}

#[test]
fn a_dropped_key_is_wiped() {
    fn check<C: BlockCipher>(key: &[u8], schedule: fn(&Ctr<C>) -> &[u8]) {
        for backend in backends() {
            let mut ctr = core::mem::ManuallyDrop::new(*keyed::<C>(backend, key));
            assert!(schedule(&ctr).iter().filter(|byte| **byte != 0).count() > 100);
            let schedule: *const [u8] = schedule(&ctr);
            // SAFETY: dropped once; the memory is that of `ctr`, and stays valid.
            let schedule = unsafe {
                core::mem::ManuallyDrop::drop(&mut ctr);
                &*schedule
            };
            assert!(schedule.iter().all(|byte| *byte == 0));
        }
    }
    let _guard = with_others();
    check::<Camellia>(&[0x5c; 32], testing::camellia_schedule);
    check::<Sm4>(&[0x5c; 16], testing::sm4_schedule);
    check::<Aria>(&[0x5c; 32], testing::aria_schedule);
}

/// The S-boxes computed from their definition are those of RFC 3713, section 2.4.4.
#[test]
fn s_boxes_of_camellia() {
    let first = hex::decode(CAMELLIA_SBOX1).unwrap();
    let [first_and_fourth, second_and_third] = &testing::CAMELLIA_BOXES;
    for x in 0..=255_u8 {
        let constant = |byte: u8| 0x6e_u8.rotate_left(u32::from(byte));
        let at = |x: u8| first[usize::from(x)];
        for (sbox, half, input, output) in [
            (first_and_fourth, 0, x ^ 0xc5, at(x) ^ constant(0)),
            (
                first_and_fourth,
                1,
                x ^ 0xc5_u8.rotate_right(1),
                at(x.rotate_left(1)) ^ constant(0),
            ),
            (
                second_and_third,
                0,
                x ^ 0xc5,
                at(x).rotate_left(1) ^ constant(1),
            ),
            (
                second_and_third,
                1,
                x ^ 0xc5,
                at(x).rotate_right(1) ^ constant(7),
            ),
        ] {
            assert_eq!(
                testing::s_box(sbox, input, half),
                [output; 3],
                "{x:#x}, {half}"
            );
        }
    }
}

/// The same for SM4 (GB/T 32907, section 6.2).
#[test]
fn s_box_of_sm4() {
    let table = hex::decode(SM4_SBOX).unwrap();
    // The first affine map turns this into 0xd3.
    let constant = (0..=255).find(|x| table[usize::from(*x)] == 0xd3).unwrap();
    for x in 0..=255_u8 {
        let expected = table[usize::from(x)] ^ 0xd3;
        for half in 0..2 {
            let found = testing::s_box(&testing::SM4_BOX, x ^ constant, half);
            assert_eq!(found, [expected; 3], "{x:#x}");
        }
    }
}

/// The same for ARIA (RFC 5794, section 2.4.2): the second one, and the inverses. The first is that of AES, as the published
/// blocks show.
#[test]
fn s_boxes_of_aria() {
    let second = hex::decode(ARIA_SBOX2).unwrap();
    let [_, s2, x1, x2] = &testing::ARIA_BOXES;
    for x in 0..=255_u8 {
        for half in 0..2 {
            let s = second[usize::from(x)] ^ 0xe2;
            assert_eq!(testing::s_box(s2, x, half), [s; 3], "{x:#x}");
            assert_eq!(testing::s_box(x2, s, half), [x; 3], "{x:#x}");
            let [s, ..] = testing::s_box(&testing::ARIA_BOXES[0], x, half);
            assert_eq!(testing::s_box(x1, s, half), [x; 3], "{x:#x}");
        }
    }
}

const CAMELLIA_SBOX1: &str = "\
     70822cecb327c0e5e4855735ea0cae4123ef6b934519a521ed0e4f4e1d6592bd\
     86b8af8f7ceb1fce3e30dc5f5ec50b1aa6e139cad5475d3dd9015ad651566c4d\
     8b0d9a66fbccb02d74122b20f0b18499df4ccbc2347e76056db7a931d11704d7\
     14583a61de1b111c320f9c165318f222fe44cfb2c3b57a912408e8a860fc6950\
     aad0a07da1896297545b1e95e0ff64d210c40048a3f775db8a03e6da093fdd94\
     875c8302cd4a90337367f6f39d7fbfe2529bd826c837c63b81966f4b13be632e\
     e979a78c9f6ebc8e29f5f9b62ffdb4597898066ae74671bad425ab4288a28dfa\
     7207b955f8eeac0a36492a683c38f1a44028d37bbbc943c115e3adf477c7809e";
const SM4_SBOX: &str = "\
     d690e9fecce13db716b614c228fb2c052b679a762abe04c3aa44132649860699\
     9c4250f491ef987a33540b43edcfac62e4b31ca9c908e89580df94fa758f3fa6\
     4707a7fcf37317ba83593c19e6854fa8686b81b27164da8bf8eb0f4b70569d35\
     1e240e5e6358d1a225227c3b01217887d40046579fd327524c3602e7a0c4c89e\
     eabf8ad240c738b5a3f7f2cef96115a1e0ae5da49b341a55ad933230f58cb1e3\
     1df6e22e8266ca60c02923ab0d534e6fd5db3745defd8e2f03ff6a726d6c5b51\
     8d1baf92bbddbc7f11d95c411f105ad80ac13188a5cd7bbd2d74d012b8e5b4b0\
     8969974a0c96777e65b9f109c56ec68418f07dec3adc4d2079ee5f3ed7cb3948";
const ARIA_SBOX2: &str = "\
     e24e54fc94c24acc620d6a463c4d8bd15efa64cbb497be2bbc772e03d31959c1\
     1d06416b55f09969ea9c18ae63dfe7bb007366fb964c85e43a0945aa0fee10eb\
     2d7ff429accfad918d78c895f92fcecd087a88385c832a2847dbb8c793a41253\
     ff870e3136215848018e377432cae9b1b7ab0cd7c4564226079860d9b6b91140\
     ec208cbda0c984044923f14f501f13dcd8c09e57e3c37b653b028f3ee82592e5\
     15ddfd17a9bfd49a7ec53967fe769d43a7e1d0f568f21b347005a38ad57986a8\
     30c6514b1ea627f635d26e2416825fdae675a2ef2cb21c9f5d6f800a72449b6c\
     900b5b337d5a52f361a1f7b0d63f7c6ded14e0a53d22b3f889de711aafbab581";

#[test]
fn nothing_beyond_a_page_is_touched() {
    fn check<C: BlockCipher>(backend: Backend) {
        let (input, output) = (Pages::new(1), Pages::new(1));
        let mut ctr = Box::new(Ctr::<C>::unkeyed(backend));
        ctr.set_key(&[7; 16]).unwrap();
        for length in (0..=600).chain([1000, 1023, 1024, 1025, 2048, 2050, 4095, 4096]) {
            for at in [0, input.bytes() - length] {
                // SAFETY: both ranges lie within the two pages, each of `length` bytes, which no other test uses.
                unsafe {
                    let (from, to) = (input.start().add(at), output.start().add(at));
                    ctr.apply(9, 3, inout::InOutBuf::from_raw(from, to, length));
                    let data = core::slice::from_raw_parts_mut(from, length);
                    ctr.apply(9, 3, data.into());
                    let expected = core::slice::from_raw_parts(to, length);
                    let data = core::slice::from_raw_parts(from, length);
                    assert!(data == expected, "{ctr:?}, {length} bytes");
                }
            }
        }
    }
    let _guard = with_others();
    for backend in Backend::all(Cpu::detect()) {
        check::<Camellia>(backend);
        check::<Sm4>(backend);
        check::<Aria>(backend);
    }
}
