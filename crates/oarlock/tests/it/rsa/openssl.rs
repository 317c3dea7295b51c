//! RSA, compared with OpenSSL's.

use std::process::Command;

use oarlock::rsa::{EncryptionScheme, Hash, PssSalt, SignatureScheme};
use sha2::{Digest, Sha256};

use super::{HASHES, KEYS, key};
use crate::common::accelerator;

/// OpenSSL's names of [`HASHES`].
const NAMES: [&str; 6] = [
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-224",
    "sha512-256",
];

#[test]
fn openssl_takes_what_is_made_here_and_the_other_way_round() {
    let folder = std::env::temp_dir().join(format!("oarlock-rsa-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let openssl = |arguments: &str| {
        let output = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(&folder)
            .output()
            .expect("these tests need openssl");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {arguments}: {errors}");
    };
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    write("message", b"from one to the other");
    let message = read("message");
    for pem in KEYS {
        let rsa = accelerator().rsa(&key(pem));
        write("key.pem", pem.as_bytes());
        openssl("pkey -in key.pem -pubout -out public.pem");
        for (hash, name) in HASHES.into_iter().zip(NAMES) {
            for (scheme, options) in [
                (SignatureScheme::Pkcs1(hash), ""),
                (
                    SignatureScheme::Pss(hash),
                    "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest",
                ),
            ] {
                let Ok(signature) = rsa.sign(scheme, &message) else {
                    continue;
                };
                write("signature", &signature);
                openssl(&format!(
                    "dgst -{name} {options} -verify public.pem -signature signature message"
                ));
                openssl(&format!(
                    "dgst -{name} {options} -sign key.pem -out signature message"
                ));
                rsa.public()
                    .verify(scheme, &message, &read("signature"))
                    .unwrap();
            }
            let scheme = EncryptionScheme::oaep(hash);
            if let Ok(ciphertext) = rsa.public().encrypt(&scheme, &message) {
                let options = format!(
                    "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:{name} -pkeyopt rsa_mgf1_md:{name}"
                );
                write("ciphertext", &ciphertext);
                openssl(&format!(
                    "pkeyutl -decrypt -inkey key.pem {options} -in ciphertext -out plain"
                ));
                assert_eq!(read("plain"), message);
                openssl(&format!(
                    "pkeyutl -encrypt -pubin -inkey public.pem {options} -in message -out ciphertext"
                ));
                assert_eq!(
                    **rsa.decrypt(&scheme, &read("ciphertext")).unwrap(),
                    message
                );
            }
        }
        // OpenSSL's default: SHA-1.
        let scheme = EncryptionScheme::oaep(Hash::Sha1);
        let options = "-pkeyopt rsa_padding_mode:oaep";
        let ciphertext = rsa.public().encrypt(&scheme, &message).unwrap();
        write("ciphertext", &ciphertext);
        openssl(&format!(
            "pkeyutl -decrypt -inkey key.pem {options} -in ciphertext -out plain"
        ));
        assert_eq!(read("plain"), message);
        openssl(&format!(
            "pkeyutl -encrypt -pubin -inkey public.pem {options} -in message -out ciphertext"
        ));
        assert_eq!(
            **rsa.decrypt(&scheme, &read("ciphertext")).unwrap(),
            message
        );
        // PSS with unusual parameters, and SHA-1, which is left for verification only.
        for (salt, length) in [
            (PssSalt::Bytes(0), 0),
            (PssSalt::Bytes(7), 7),
            (PssSalt::Any, 40),
        ] {
            let scheme = SignatureScheme::PssWith {
                hash: Hash::Sha256,
                mgf1: Hash::Sha1,
                salt,
            };
            let options = "-sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_mgf1_md:sha1";
            openssl(&format!(
                "dgst {options} -sigopt rsa_pss_saltlen:{length} -sign key.pem -out signature message"
            ));
            rsa.public()
                .verify(scheme, &message, &read("signature"))
                .unwrap();
            write("signature", &rsa.sign(scheme, &message).unwrap());
            let length = if salt == PssSalt::Any { 32 } else { length };
            openssl(&format!(
                "dgst {options} -sigopt rsa_pss_saltlen:{length} -verify public.pem -signature signature message"
            ));
        }
        openssl("dgst -sha1 -sign key.pem -out signature message");
        let scheme = SignatureScheme::Pkcs1(Hash::Sha1);
        rsa.public()
            .verify(scheme, &message, &read("signature"))
            .unwrap();
        let scheme = EncryptionScheme::Pkcs1;
        write(
            "ciphertext",
            &rsa.public().encrypt(&scheme, &message).unwrap(),
        );
        openssl("pkeyutl -decrypt -inkey key.pem -in ciphertext -out plain");
        assert_eq!(read("plain"), message);
        openssl("pkeyutl -encrypt -pubin -inkey public.pem -in message -out ciphertext");
        assert_eq!(
            **rsa.decrypt(&scheme, &read("ciphertext")).unwrap(),
            message
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Ciphertexts made by OpenSSL 4.0 with the same keys. If the padding is invalid, both libraries derive the same random
/// message (implicit rejection).
#[test]
fn what_is_made_up_for_a_ciphertext_without_a_message_is_what_openssl_makes_up() {
    for (pem, ciphertext, bytes, digest) in [
        (
            KEYS[1],
            2,
            208,
            "b74a6978e67173b252bef2f92f4f49b84818b864ca1de54d31c26738f6270457",
        ),
        (
            KEYS[1],
            3,
            62,
            "865b58ad7cf5eae2c496959872e12027af773676f7ed41545806519729b518b0",
        ),
        (
            KEYS[1],
            4,
            183,
            "81f536a984360de3f537a62992e8b52d0c2e2c6414b7df126d3c780370b500ca",
        ),
        (
            KEYS[0],
            3,
            34,
            "920e6488c329a68eb7416a462793cb6b02e06c0b9ed598a0f5e486f1f6648720",
        ),
        (
            KEYS[0],
            5,
            79,
            "02eccc0bb4d489b2cfb0147b5d7f69e332d2c773dea43a5b8921164e8d3817b7",
        ),
        (
            KEYS[2],
            2,
            120,
            "149f372b1d1ee9bc3015f42ee49f29042695aa7eab9efad8e43e57838801cf08",
        ),
        (
            KEYS[2],
            7,
            290,
            "a80918efe9943eab9b626d9fc4a9d69e07ed4349e7d64015e1b92ba9e66ea061",
        ),
    ] {
        let rsa = accelerator().rsa(&key(pem));
        let mut number = vec![0; rsa.key().public_key().bytes()];
        *number.last_mut().unwrap() = ciphertext;
        let message = rsa.decrypt(&EncryptionScheme::Pkcs1, &number).unwrap();
        assert_eq!(message.len(), bytes);
        let made: String = Sha256::digest(&*message)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(made, digest);
    }
}
