//! Devices in shared libraries: the example in C, and faulty libraries.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use num_bigint::BigUint;
use oarlock::Error;
use oarlock::device::PublicKeyRequest;
use oarlock::device::{
    BlockingDevice, DeviceError, LibraryDevice, PublicKeyOperation, Shape, complete,
};
use oarlock::rsa::{Base, ByteOrder, EncryptionScheme, Hash, RsaPrivateKey, SignatureScheme};
use oarlock_testing::process::{as_child, is_child};
use rand::{SeedableRng, rngs::StdRng};
use tempfile::TempDir;
use zeroize::Zeroizing;

use crate::common::keys::{RSA1024, RSA2048, RSA3072, RSA4096};
use crate::common::{accelerator, failure, random_bytes};

const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);
const SHORT: usize = 17;

#[test]
fn powers_are_those_of_any_other_device() {
    let example = Built::example(&[]);
    let device = example.open().unwrap();
    assert_eq!((device.name(), device.capacity()), ("openssl", 8));
    let mut random = StdRng::seed_from_u64(7);
    let mut number = |bytes| random_bytes(&mut random, bytes);
    for bits in [
        512, 521, 1024, 1030, 1031, 2047, 2048, 3072, 4090, 4096_usize,
    ] {
        let mut modulus = number(bits.div_ceil(8));
        modulus[0] &= 0xff >> (bits.wrapping_neg() % 8);
        modulus[0] |= 0x80 >> (bits.wrapping_neg() % 8);
        *modulus.last_mut().unwrap() |= 1;
        for (base, exponent) in [
            (number(modulus.len()), number(modulus.len())),
            (vec![0, 0, 5], number(3)),
            (
                number(2 * modulus.len()),
                [vec![0; 9], number(modulus.len() + 8)].concat(),
            ),
            (vec![], vec![1]),
            (vec![7], vec![]),
            (number(4), vec![0; 4]),
        ] {
            let [b, e, m] = [&base, &exponent, &modulus].map(|n| BigUint::from_bytes_be(n));
            let base = Base::from(&base[..]);
            let request =
                PublicKeyRequest::power(&modulus, base, &exponent, ByteOrder::BigEndian).unwrap();
            assert!(device.offer_public_key(&request.shape()).is_some());
            let power = only(&*device, &request).unwrap();
            assert_eq!(power.len(), modulus.len());
            assert_eq!(
                BigUint::from_bytes_be(&power),
                b.modpow(&e, &m),
                "{bits} bits"
            );
        }
    }
}

#[test]
fn keys_with_primes_and_without_sign_and_decrypt() {
    let accelerator = accelerator();
    for defines in [&[][..], &["WITHOUT_CRT"]] {
        let example = Built::example(defines);
        let device = example.open().unwrap();
        for key in keys() {
            let numbers = key.secret_numbers().unwrap().unwrap();
            let public = key.public_key();
            let plain =
                RsaPrivateKey::from_numbers(public.modulus(), public.exponent(), &numbers.d);
            let software = accelerator.rsa(&key);
            let oaep = EncryptionScheme::oaep(Hash::Sha256);
            let sealed = software.public().encrypt(&oaep, b"a key").unwrap();
            for key in [&key, &plain.unwrap()] {
                let bits = key.public_key().bits();
                let request = PublicKeyRequest::sign(key, SCHEME, b"message").unwrap();
                assert!(device.offer_public_key(&request.shape()).is_some());
                let signature = only(&*device, &request).unwrap();
                assert_eq!(
                    *signature,
                    software.sign(SCHEME, b"message").unwrap(),
                    "{bits} bits"
                );
                let request = PublicKeyRequest::decrypt(key, &oaep, &sealed).unwrap();
                assert_eq!(
                    **only(&*device, &request).unwrap(),
                    *b"a key",
                    "{bits} bits"
                );
                for base in [&[][..], &[1], &[2]] {
                    let request = PublicKeyRequest::raw_private(key, base).unwrap();
                    let power = only(&*device, &request).unwrap();
                    assert_eq!(power, software.raw_private(base).unwrap(), "{bits} bits");
                }
            }
        }
    }
}

#[test]
fn copied_numbers_are_those_of_the_key() {
    for key in keys() {
        let numbers = key.secret_numbers().unwrap().unwrap();
        let primes = numbers.primes.unwrap();
        let n = BigUint::from_bytes_be(key.public_key().modulus());
        let of = |bytes: &Zeroizing<Vec<u8>>| BigUint::from_bytes_be(bytes);
        let (d, p, q) = (of(&numbers.d), of(&primes.p), of(&primes.q));
        assert_eq!(numbers.d.len(), key.public_key().bytes());
        assert_eq!(&p * &q, n);
        assert_eq!(of(&primes.dp), &d % (&p - 1_u32));
        assert_eq!(of(&primes.dq), &d % (&q - 1_u32));
        assert_eq!(of(&primes.qinv) * &q % &p, BigUint::from(1_u32));
        let lengths = [&primes.p, &primes.q, &primes.dp, &primes.dq, &primes.qinv];
        let longest = p.bits().max(q.bits()).div_ceil(8) as usize;
        assert_eq!(lengths.map(|number| number.len()), [longest; 5]);
    }
}

#[test]
fn threads_share_a_device() {
    let example = Built::example(&[]);
    let device = LibraryDevice::open(&example.path, "capacity=3", Some("shared")).unwrap();
    assert_eq!((device.name(), device.capacity()), ("shared", 3));
    let key = RsaPrivateKey::from_pem(RSA2048).unwrap();
    let shape = PublicKeyRequest::sign(&key, SCHEME, b"").unwrap().shape();
    let first = device.offer_public_key(&shape).unwrap();
    let accelerator = accelerator();
    std::thread::scope(|scope| {
        for thread in 0..16_u8 {
            let (device, key, software) = (&device, &key, accelerator.rsa(&key));
            scope.spawn(move || {
                for i in 0..10 {
                    let message = [thread, i];
                    let request = PublicKeyRequest::sign(key, SCHEME, &message).unwrap();
                    let signature = only(&**device, &request).unwrap();
                    assert_eq!(*signature, software.sign(SCHEME, &message).unwrap());
                }
            });
        }
    });
    let offer = device.offer_public_key(&shape).unwrap();
    assert_ne!(offer, first, "it learns what requests take");
}

#[test]
fn wrong_results_are_not_released() {
    for defines in [&["LIE"][..], &["LIE", "WITHOUT_CRT"]] {
        let liar = Built::example(defines);
        let device = liar.open().unwrap();
        for key in keys() {
            let request = PublicKeyRequest::sign(&key, SCHEME, b"message").unwrap();
            let Err(Error::DeviceFailed { device, reason }) = only(&*device, &request) else {
                panic!("a wrong signature");
            };
            assert_eq!(device, "openssl");
            assert!(
                reason.contains("does not agree with the public key"),
                "{reason}"
            );
        }
    }
}

#[test]
fn errors_of_a_library_come_with_its_words() {
    let odd = Built::odd(&[]);
    let said = |options: &str| failure(LibraryDevice::open(&odd.path, options, None));
    for (options, expected) in [
        ("refuse", "it opens no device: not today"),
        ("silent", "it opens no device: the library gives no reason"),
        ("long", &format!("it opens no device: {}", "x".repeat(256))),
        ("null", "a device of NULL"),
        ("a\0b", "zero byte"),
    ] {
        let said = said(options);
        assert!(said.starts_with(odd.path.to_str().unwrap()), "{said}");
        assert!(
            said.ends_with(expected) || said.contains(expected),
            "{said}"
        );
    }
    let example = Built::example(&[]);
    let refusal = failure(LibraryDevice::open(&example.path, "speed=9", None));
    assert!(
        refusal.contains("the only option is capacity=N"),
        "{refusal}"
    );

    let device = odd.open().unwrap();
    let key = RsaPrivateKey::from_pem(RSA2048).unwrap();
    let request = PublicKeyRequest::sign(&key, SCHEME, b"message").unwrap();
    let reason = |result: Result<_, _>| match result {
        Err(Error::DeviceFailed { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        reason(only(&*device, &request)),
        "open, 1 at once, 256 bytes"
    );
    // Eight callers, two at a time: the first call blocks until a second arrives.
    let device = LibraryDevice::open(&odd.path, "together", None).unwrap();
    let reasons: Vec<_> = std::thread::scope(|scope| {
        let call = || scope.spawn(|| reason(only(&*device, &request)));
        let threads: Vec<_> = (0..8).map(|_| call()).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for reason in &reasons {
        assert!(["open, 1 at once, 256 bytes", "open, 2 at once, 256 bytes"].contains(&&**reason));
    }
    assert!(
        reasons.iter().any(|reason| reason.contains("2 at once")),
        "{reasons:?}"
    );
}

#[test]
fn what_a_library_does_not_take_it_does_not_offer() {
    let odd = Built::odd(&[]);
    let device = odd.open().unwrap();
    let shape = |operation, modulus_bits| Shape {
        operation,
        modulus_bits,
        exponent_bits: SHORT,
    };
    assert!(
        device
            .offer_public_key(&shape(PublicKeyOperation::Public, 2048))
            .is_some()
    );
    assert_eq!(
        device.offer_public_key(&shape(PublicKeyOperation::Public, 4096)),
        None
    );
    let held = PublicKeyOperation::Held("odd".into());
    assert_eq!(device.offer_public_key(&shape(held, 2048)), None);
}

#[test]
fn what_is_no_device_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    let missing = folder.path().join("missing.so");
    for (path, expected) in [
        (&text, "cannot be loaded"),
        (&missing, "cannot open shared object file"),
        (&folder.path().to_owned(), "cannot be loaded"),
        (&"libm.so.6".into(), "it has no oarlock_device_v2"),
    ] {
        let said = failure(LibraryDevice::open(path, "", None));
        assert!(said.starts_with(path.to_str().unwrap()), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    for (define, expected) in [
        ("WITHOUT_SYMBOL", "it has no oarlock_device_v2"),
        ("WITHOUT_TABLE", "cannot work on this machine"),
        (
            "VERSION=1",
            "its table is of version 1, and this program takes 2",
        ),
        ("VERSION=0", "its table is of version 0"),
        (
            "SIZE=63",
            "its table has 63 bytes, and one of version 2 has at least 64",
        ),
        ("SIZE=0", "its table has 0 bytes"),
        ("WITHOUT_POWER", "its table has no power"),
        ("NAME=NULL", "its table has no name"),
        ("NAME=\"\"", "its name is empty or longer than 255 bytes"),
        (
            &format!("NAME=\"{}\"", "n".repeat(256)),
            "its name is empty or longer than 255 bytes",
        ),
        (
            "NAME=\"odd\\none\"",
            "its name has a control character: \"odd\\none\"",
        ),
        ("NAME=\"\\xff\"", "not in UTF-8"),
        ("CAPACITY=0", "a capacity of 0"),
    ] {
        let said = failure(Built::odd(&[define]).open());
        assert!(said.contains(expected), "{define}: {said}");
    }
    let longest = "n".repeat(255);
    let device = Built::odd(&[&format!("NAME=\"{longest}\"")])
        .open()
        .unwrap();
    assert_eq!(device.name(), longest);
    // A larger structure, from a later header, is accepted.
    assert!(Built::odd(&["SIZE=4096"]).open().is_ok());
}

#[test]
fn a_library_that_writes_beside_its_buffers_ends_the_process() {
    let key = || RsaPrivateKey::from_pem(RSA2048).unwrap();
    if is_child() {
        let variable = |name| std::env::var(name).unwrap();
        let device = LibraryDevice::open(variable("LIBRARY"), &variable("STRAY"), None).unwrap();
        let request = PublicKeyRequest::sign(&key(), SCHEME, b"message").unwrap();
        // An answer would be a signature or an error, neither of which the device may return any more.
        panic!("answered: {:?}", only(&*device, &request).is_ok());
    }
    let odd = Built::odd(&[]);
    for (stray, expected) in [
        ("open-before", "before the error"),
        ("open-behind", "behind the error"),
        ("error-before", "before the error"),
        ("error-behind", "behind the error"),
        ("result-before", "before the result"),
        ("result-behind", "behind the result"),
        ("done-error-behind", "behind the error"),
        ("done-result-before", "before the result"),
        ("done-result-behind", "behind the result"),
    ] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.env("LIBRARY", &odd.path).env("STRAY", stray);
        let output = as_child(&mut child).arg("--nocapture").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let aborted = Some(rustix::process::Signal::ABORT.as_raw());
        assert_eq!(output.status.signal(), aborted, "{stray}: {said}");
        let line = said.lines().last().unwrap_or_default();
        assert!(
            line.contains(&format!("device library {:?} has written", odd.path)),
            "{stray}: {said}"
        );
        assert!(line.contains(expected), "{stray}: {said}");
    }
}

#[test]
fn a_device_that_only_fails_does_not_keep_its_offer() {
    let odd = Built::odd(&["LATENCY_US=1"]);
    let device = odd.open().unwrap();
    let key = RsaPrivateKey::from_pem(RSA2048).unwrap();
    let request = PublicKeyRequest::sign(&key, SCHEME, b"message").unwrap();
    let offer = || device.offer_public_key(&request.shape()).unwrap();
    let mut before = offer();
    assert_eq!(before.latency, Duration::from_micros(1));
    for _ in 0..3 {
        only(&*device, &request).unwrap_err();
        let now = offer();
        assert!(now.latency >= 2 * before.latency, "{before:?}, {now:?}");
        assert!(now.per_second < before.per_second, "{before:?}, {now:?}");
        before = now;
    }
    // Each request sleeps for 20 ms in the library.
    assert!(before.latency >= Duration::from_millis(20), "{before:?}");
}

/// A library that the test builds.
struct Built {
    path: PathBuf,
    _folder: TempDir,
}

impl Built {
    fn example(defines: &[&str]) -> Self {
        Self::from("examples/device/openssl.c", defines)
    }

    fn odd(defines: &[&str]) -> Self {
        Self::from("tests/library/odd.c", defines)
    }

    fn from(source: &str, defines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device.so");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let status = Command::new("gcc")
            .args([
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-unused-function",
                "-O1",
                "-shared",
                "-fPIC",
                "-I",
            ])
            .arg(root.join("include"))
            .args(defines.iter().map(|define| format!("-D{define}")))
            .arg(root.join(source))
            .args(["-lcrypto", "-o"])
            .arg(&path)
            .status();
        assert!(status.unwrap().success(), "libssl-dev has the headers");
        Self {
            path,
            _folder: folder,
        }
    }

    fn open(&self) -> Result<Arc<LibraryDevice>, DeviceError> {
        LibraryDevice::open(&self.path, "", None)
    }
}

/// Returns keys of 1024 to 4096 bits, and one whose modulus is not twice as long as its primes.
fn keys() -> Vec<RsaPrivateKey> {
    let output = Command::new("openssl")
        .args(["genrsa", "1030"])
        .output()
        .unwrap();
    let odd = String::from_utf8(output.stdout).unwrap();
    let pems = [RSA1024, &odd, RSA2048, RSA3072, RSA4096];
    let keys: Vec<_> = pems.map(|pem| RsaPrivateKey::from_pem(pem).unwrap()).into();
    assert_eq!(keys[1].public_key().bits(), 1030);
    keys
}

fn only(
    device: &dyn BlockingDevice,
    request: &PublicKeyRequest,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut results = Vec::new();
    complete(device, &[request], &mut |_, result| results.push(result));
    assert_eq!(results.len(), 1);
    results.remove(0)
}
