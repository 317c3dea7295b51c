//! Python and node with the provider. Each script prints the results of its operations; the lines must equal those printed
//! without the provider.

use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock::Algorithm;
use oarlock::Direction::{Decrypt, Encrypt};
use oarlock_testing::lossy;
use tempfile::TempDir;

use crate::host::{Accelerated, assert_same, open_folder, run, succeeds, with_conf};

#[test]
fn cryptography_of_debian() {
    // Other Pythons may come before it in PATH.
    ciphers_of_python(Path::new("/usr/bin/python3"));
}

/// The package index's wheel contains an OpenSSL of its own, linked statically.
#[test]
fn cryptography_of_the_package_index() {
    ciphers_of_python(&python_with("cryptography"));
}

/// This wheel of a year ago contains OpenSSL 3.5, as Debian 13 does.
#[test]
fn cryptography_with_openssl_3_5() {
    let python = python_with("cryptography==46.0.7");
    let mut version = Command::new(&python);
    let said = "from cryptography.hazmat.backends.openssl import backend; \
                print(backend.openssl_version_text())";
    let said = lossy(&succeeds(version.args(["-I", "-c", said])));
    assert!(said.starts_with("OpenSSL 3.5."), "{said}");
    ciphers_of_python(&python);
}

#[test]
fn ssl_of_python() {
    let tls = Certificate::make();
    let mut python = Command::new("/usr/bin/python3");
    let accelerated = serves_and_asks(python.arg(script("tls.py")), &tls);
    assert_eq!(accelerated.counted().processes, 1);
}

#[test]
fn crypto_of_node() {
    let command = || {
        let mut node = Command::new("node");
        node.arg(script("ciphers.js"));
        node
    };
    let expected = says_the_same(command);
    assert!(lossy(&expected).contains("\nbroken 15 ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH"));
    assert!(lossy(&expected).contains("\nbroken 32 ERR_OSSL_BAD_DECRYPT"));
    // This makes node read openssl_conf, as other programs do, instead of nodejs_conf.
    says_the_same(|| {
        let mut node = Command::new("node");
        node.arg("--openssl-shared-config")
            .arg(script("ciphers.js"));
        node
    });
}

#[test]
fn https_of_node() {
    let tls = Certificate::make();
    let mut node = Command::new("node");
    let accelerated = serves_and_asks(node.arg(script("https.js")), &tls);
    assert_eq!(
        accelerated.counted().processes,
        3,
        "two servers and a client"
    );
}

fn ciphers_of_python(python: &Path) {
    says_the_same(|| {
        let mut command = Command::new(python);
        command.arg("-I").arg(script("ciphers.py"));
        command
    });
}

/// Checks that `command` prints the same with the provider as without, also with threads. Returns its output.
fn says_the_same(command: impl Fn() -> Command) -> Vec<u8> {
    let expected = succeeds(with_conf(&mut command(), None));
    assert!(expected.len() > 10_000, "{}", lossy(&expected));
    for accelerated in [
        Accelerated::new(),
        Accelerated::forced("stripe"),
        Accelerated::forced("prefetch"),
    ] {
        let said = succeeds(accelerated.apply(&mut command()));
        assert_same(&said, &expected, "with the provider");
        for operation in [
            Algorithm::Aes128Ctr,
            Algorithm::Aes192Ctr,
            Algorithm::Aes256Ctr,
            Algorithm::Aes128Cbc,
            Algorithm::Aes192Cbc,
            Algorithm::Aes256Cbc,
            Algorithm::Aes128Gcm,
            Algorithm::Aes192Gcm,
            Algorithm::Aes256Gcm,
            Algorithm::ChaCha20Poly1305,
        ] {
            for direction in [Encrypt, Decrypt] {
                let bytes = accelerated.bytes(operation, direction);
                // Counter mode decrypts as it encrypts, and some hosts never specify the direction.
                assert!(bytes > 1 << 20, "{operation:?} {direction:?}: {bytes}");
            }
        }
    }
    expected
}

/// Transfers 8 MiB to a server and back in four suites, with both ends in `command`.
fn serves_and_asks(command: &mut Command, tls: &Certificate) -> Accelerated {
    let accelerated = Accelerated::new();
    accelerated.apply(command);
    let said = succeeds(command.arg(tls.path("cert.pem")).arg(tls.path("key.pem")));
    let expected = "TLSv1.3 TLS_AES_256_GCM_SHA384\n\
                    TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384\n\
                    TLSv1.2 ECDHE-RSA-CHACHA20-POLY1305\n\
                    TLSv1.2 ECDHE-RSA-AES128-SHA\n";
    assert_eq!(lossy(&said), expected);
    for operation in [
        Algorithm::Aes256Gcm,
        Algorithm::ChaCha20Poly1305,
        Algorithm::Aes128Cbc,
    ] {
        for direction in [Encrypt, Decrypt] {
            let bytes = accelerated.bytes(operation, direction);
            assert!(bytes >= 16 << 20, "{operation:?} {direction:?}: {bytes}");
        }
    }
    accelerated
}

fn script(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages");
    folder.join(name)
}

/// Returns a Python with the wheel, installed once below the target directory.
fn python_with(wheel: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let folder = target.join(format!("python-{wheel}"));
    let python = folder.join("bin/python");
    let has_wheel = |python: &Path| {
        python.exists() && {
            let mut import = Command::new(python);
            run(import.args(["-c", "import cryptography"]))
                .status
                .success()
        }
    };
    if !has_wheel(&python) {
        let mut venv = Command::new("/usr/bin/python3");
        succeeds(venv.args(["-m", "venv", "--clear"]).arg(&folder));
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--only-binary", ":all:"]);
        succeeds(pip.arg(wheel));
    }
    let mut import = Command::new(&python);
    let place = "import cryptography; print(cryptography.__file__)";
    let place = succeeds(import.args(["-c", place]));
    assert!(Path::new(lossy(&place).trim()).starts_with(&folder));
    python
}

struct Certificate(TempDir);

impl Certificate {
    fn make() -> Self {
        let made = Self(open_folder());
        let mut request = Command::new("openssl");
        request.args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ]);
        request.args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ]);
        request.arg("-keyout").arg(made.path("key.pem"));
        request.arg("-out").arg(made.path("cert.pem"));
        succeeds(&mut request);
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
