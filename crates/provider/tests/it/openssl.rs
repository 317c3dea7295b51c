//! The openssl command with the provider: OpenSSL alone reads its output, and the reverse; constructions that OpenSSL builds
//! from ciphers (MACs, derivations) stay the same.

use std::fs;
use std::process::Command;

use oarlock::Algorithm;
use oarlock::Direction::{Decrypt, Encrypt};
use oarlock_testing::lossy;

use crate::host::{Accelerated, assert_same, noise_file, open_folder, succeeds, with_conf};

#[test]
fn what_one_encrypts_the_other_reads() {
    let folder = open_folder();
    let accelerated = Accelerated::new();
    let openssl = |conf: Option<&Accelerated>, arguments: &str| {
        let mut openssl = Command::new("openssl");
        with_conf(&mut openssl, conf).current_dir(folder.path());
        succeeds(openssl.args(arguments.split(' ')))
    };
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let data = noise_file(&folder.path().join("data"), 1_000_003);
    let request =
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -keyout key -out certificate";
    openssl(None, request);
    let key = openssl(None, "pkey -in key");

    let ours = Some(&accelerated);
    for (writer, reader) in [(None, ours), (ours, None), (ours, ours)] {
        for cipher in [
            "aes-128-cbc",
            "aes-192-cbc",
            "aes-256-cbc",
            "aes-128-gcm",
            "aes-256-gcm",
        ] {
            let options = format!("-binary -{cipher} -in data -outform DER -out message");
            openssl(writer, &format!("cms -encrypt {options} certificate"));
            openssl(
                reader,
                "cms -decrypt -inform DER -in message -inkey key -out came",
            );
            assert_same(&read("came"), &data, cipher);
        }
        for cipher in ["aes-128-cbc", "aes-256-cbc"] {
            let options = format!("-v2 {cipher} -passout pass:x -out protected");
            openssl(writer, &format!("pkcs8 -topk8 -in key {options}"));
            assert_eq!(
                openssl(reader, "pkey -in protected -passin pass:x"),
                key,
                "{cipher}"
            );
        }
        openssl(
            writer,
            "rsa -aes256 -traditional -in key -passout pass:x -out protected",
        );
        assert_eq!(openssl(reader, "pkey -in protected -passin pass:x"), key);
        openssl(
            writer,
            "pkcs12 -export -inkey key -in certificate -passout pass:x -out store",
        );
        let stored = openssl(reader, "pkcs12 -in store -passin pass:x -nodes -nocerts");
        assert!(lossy(&stored).contains("BEGIN PRIVATE KEY"));
        for cipher in ["aes-128-cbc", "aes-256-ctr", "chacha20"] {
            let options = format!("enc -{cipher} -pbkdf2 -pass pass:x");
            openssl(writer, &format!("{options} -in data -out message"));
            openssl(reader, &format!("{options} -d -in message -out came"));
            assert_same(&read("came"), &data, cipher);
        }
    }
    for operation in [
        Algorithm::Aes128Cbc,
        Algorithm::Aes256Cbc,
        Algorithm::Aes128Gcm,
        Algorithm::Aes256Gcm,
        Algorithm::Aes256Ctr,
        Algorithm::ChaCha20,
    ] {
        for direction in [Encrypt, Decrypt] {
            let bytes = accelerated.bytes(operation, direction);
            assert!(bytes > 2_000_000, "{operation:?} {direction:?}: {bytes}");
        }
    }
}

#[test]
fn macs_and_derivations_are_the_same() {
    let folder = open_folder();
    noise_file(&folder.path().join("data"), 100_000);
    let accelerated = Accelerated::new();
    let both = |arguments: &str| {
        let said = |conf: Option<&Accelerated>| {
            let mut openssl = Command::new("openssl");
            with_conf(&mut openssl, conf).current_dir(folder.path());
            lossy(&succeeds(openssl.args(arguments.split(' '))))
        };
        assert_eq!(said(Some(&accelerated)), said(None), "{arguments}");
    };
    for bits in [128, 192, 256] {
        let key = "7e".repeat(bits / 8);
        both(&format!(
            "mac -in data -cipher AES-{bits}-CBC -macopt hexkey:{key} CMAC"
        ));
        for iv in ["000102030405060708090a0b", "00010203040506070809"] {
            let options = format!("-macopt hexkey:{key} -macopt hexiv:{iv}");
            both(&format!(
                "mac -in data -cipher AES-{bits}-GCM {options} GMAC"
            ));
        }
        let options =
            format!("-kdfopt cipher:AES-{bits}-CBC -kdfopt hexkey:{key} -kdfopt hexsalt:ab");
        both(&format!(
            "kdf -keylen 64 -kdfopt mac:CMAC -kdfopt mode:COUNTER {options} KBKDF"
        ));
    }
    assert!(accelerated.bytes(Algorithm::Aes192Cbc, Encrypt) >= 90_000);
}
