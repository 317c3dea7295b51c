//! Data devices in shared libraries: the example in C.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use oarlock::device::{BlockingDevice as _, DeviceError, LibraryDevice, PublicKeyRequest};
use oarlock::framework::{Blocking, ChainOrder, Check, Framework, HashAlgorithm, Place, Service};
use oarlock::rsa::RsaPrivateKey;
use oarlock::{Algorithm, Direction};
use oarlock_testing::process::{as_child, is_child};
use rand::{SeedableRng, rngs::StdRng};
use tempfile::TempDir;

use super::Sample;
use crate::common::keys::RSA1024;
use crate::common::{accelerator, failure};

const SERVED: [Service; 5] = [
    Service::Cipher(Algorithm::Aes128Ctr),
    Service::Aead(Algorithm::Aes128Gcm),
    Service::Mac(HashAlgorithm::Sha1),
    Service::Mac(HashAlgorithm::Sha512),
    Service::Chained {
        cipher: Algorithm::Aes128Cbc,
        mac: HashAlgorithm::Sha256,
        order: ChainOrder::EncryptThenMac,
    },
];

struct Built {
    path: PathBuf,
    _folder: TempDir,
}

impl Built {
    fn new(source: &str, defines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.so");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        // OpenSSL 3 deprecates its HMAC functions.
        let status = Command::new("gcc")
            .args([
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-deprecated-declarations",
            ])
            .args(["-O1", "-shared", "-fPIC", "-I"])
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

    fn example(defines: &[&str]) -> Self {
        Self::new("examples/device/openssl_data.c", defines)
    }

    fn open(&self) -> Result<Arc<LibraryDevice>, DeviceError> {
        LibraryDevice::open(&self.path, "", None)
    }
}

fn framework(device: Arc<LibraryDevice>, check: Check) -> Framework {
    let framework = Framework::new(&accelerator());
    framework
        .register(Arc::new(Blocking::new(device)), check)
        .unwrap();
    framework
}

#[test]
fn a_library_does_what_others_do_and_finds_forgeries() {
    let built = Built::example(&[]);
    let framework = framework(built.open().unwrap(), Check::Sample(0));
    let mut random = StdRng::seed_from_u64(1);
    let mut by_library = 0;
    for service in SERVED {
        for _ in 0..20 {
            let sample = Sample::new(service, &mut random);
            let session = framework.session(&sample.spec()).unwrap();
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let (given, expected) = sample.sides(direction);
                let request = sample.request(direction, given.to_vec().into());
                let answer = session
                    .submit(request.at(Place::Device))
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(answer.outcome, Ok(()), "{service}");
                by_library += u64::from(&*answer.device == "openssl");
                assert!(
                    answer.buffers.into_output() == expected,
                    "{service} {direction:?}"
                );
            }
            if sample.tag_bytes > 0 {
                let mut forged = sample.sealed.clone();
                forged[sample.layout.tag] ^= 1;
                let request = sample.request(Direction::Decrypt, forged.clone().into());
                let answer = session
                    .submit(request.at(Place::Device))
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(answer.outcome, Err(oarlock::Error::AuthenticationFailed));
                assert_eq!(answer.buffers.into_output(), forged);
            }
        }
    }
    let counts = framework.health()["openssl"].counts;
    assert!(by_library > 0 && counts.done >= by_library, "{counts:?}");
    assert_eq!(counts.failed + counts.breaches, 0);
}

#[test]
fn a_library_that_lies_is_found_out() {
    let built = Built::example(&["LIE"]);
    let mut random = StdRng::seed_from_u64(2);
    for service in SERVED {
        let sample = Sample::new(service, &mut random);
        let framework = framework(built.open().unwrap(), Check::All);
        let session = framework.session(&sample.spec()).unwrap();
        let (given, expected) = sample.sides(Direction::Encrypt);
        let request = sample.request(Direction::Encrypt, given.to_vec().into());
        let answer = session
            .submit(request.at(Place::Device))
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(
            (answer.outcome, &*answer.device),
            (Ok(()), "cpu"),
            "{service}"
        );
        assert!(answer.buffers.into_output() == expected, "{service}");
        let counts = framework.health()["openssl"].counts;
        assert_eq!(counts.breaches + counts.stalled, 1, "{service}");
    }
}

#[test]
fn a_table_of_another_version_and_unknown_options_are_refused() {
    let built = Built::example(&[]);
    let said = failure(LibraryDevice::open(&built.path, "speed=9", None));
    assert!(
        said.ends_with("it opens no device: there are no options"),
        "{said}"
    );
    let said = failure(Built::example(&["VERSION=3"]).open());
    assert!(
        said.contains("its table is of version 3, and this program takes 2"),
        "{said}"
    );
}

/// A library with functions for powers alone offers no data, and one for data alone offers no powers.
#[test]
fn a_library_offers_what_its_table_has() {
    let key = RsaPrivateKey::from_pem(RSA1024).unwrap();
    let shape = PublicKeyRequest::raw_private(&key, &[2]).unwrap().shape();
    let aead = Service::Aead(Algorithm::Aes128Gcm);
    // Also a table that ends with `run`, as one built with an earlier header.
    for defines in [
        &[][..],
        &["SIZE=offsetof(oarlock_device_table_v2, latency_us)"],
    ] {
        let data = Built::example(defines).open().unwrap();
        assert!(data.offer(aead).is_some());
        assert_eq!(data.offer_public_key(&shape), None);
    }
    let powers = Built::new("examples/device/openssl.c", &[]).open().unwrap();
    assert_eq!(powers.offer(aead), None);
    assert!(powers.offer_public_key(&shape).is_some());
}

/// A library's powers in a framework, next to the CPU's.
#[test]
fn a_library_computes_powers_in_a_framework() {
    let built = Built::new("examples/device/openssl.c", &[]);
    let framework = framework(built.open().unwrap(), Check::Sample(0));
    let key = RsaPrivateKey::from_pem(RSA1024).unwrap();
    let expected = accelerator().rsa(&key).raw_private(&[2]).unwrap();
    for _ in 0..10 {
        let request = PublicKeyRequest::raw_private(&key, &[2]).unwrap();
        let job = framework.submit_public_key(request, Place::Device).unwrap();
        let answer = job.wait().unwrap();
        assert_eq!((&*answer.device, answer.outcome), ("openssl", Ok(())));
        assert_eq!(answer.power, expected);
    }
}

#[test]
fn a_library_that_writes_behind_its_data_ends_the_process() {
    if is_child() {
        let device = LibraryDevice::open(std::env::var("LIBRARY").unwrap(), "", None).unwrap();
        let framework = framework(device, Check::Sample(0));
        let mut random = StdRng::seed_from_u64(3);
        let sample = Sample::new(SERVED[1], &mut random);
        let session = framework.session(&sample.spec()).unwrap();
        let request = sample.request(Direction::Encrypt, sample.plain.clone().into());
        let answer = session.submit(request.at(Place::Device)).unwrap().wait();
        // Another device may answer first; the process ends all the same.
        loop {
            std::thread::park();
            assert!(answer.is_ok());
        }
    }
    let built = Built::example(&["STRAY"]);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env("LIBRARY", &built.path);
    let output = as_child(&mut child).arg("--nocapture").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let aborted = Some(rustix::process::Signal::ABORT.as_raw());
    assert_eq!(output.status.signal(), aborted, "{said}");
    assert!(
        said.contains("has written behind the data it was given"),
        "{said}"
    );
}
