//! Keys of another provider next to ours: those of a TPM simulated by swtpm, through tpm2-openssl. Debian 12 has no package of
//! pkcs11-provider, which would do the same for tokens.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};

use oarlock::Algorithm;
use oarlock::Direction::Encrypt;
use oarlock_testing::{lossy, until};
use tempfile::TempDir;

use crate::host::{Accelerated, Program, free_port, run, succeeds, with_conf};

/// A TPM for this test.
struct Tpm {
    folder: TempDir,
    port: u16,
    _program: Program,
}

/// Returns a port such that it and the next one are free.
fn two_free_ports() -> u16 {
    loop {
        let port = free_port();
        let second = port
            .checked_add(1)
            .map(|second| (Ipv4Addr::LOCALHOST, second));
        if second.is_some_and(|second| TcpListener::bind(second).is_ok()) {
            return port;
        }
    }
}

impl Tpm {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = two_free_ports();
        let mut swtpm = Command::new("swtpm");
        swtpm.args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"]);
        // Clients assume that the second port follows the first.
        for (option, port) in [("--server", port), ("--ctrl", port + 1)] {
            swtpm.args([option, &format!("type=tcp,port={port},bindaddr=127.0.0.1")]);
        }
        let state = format!("dir={}", folder.path().display());
        swtpm.args(["--tpmstate", &state]).stdout(Stdio::null());
        let tpm = Self {
            _program: Program::start(&mut swtpm),
            folder,
            port,
        };
        until("the TPM answers", || {
            let mut number = tpm.openssl(STOCK, "rand -provider tpm2 -hex 8");
            run(&mut number).status.success()
        });
        tpm
    }

    /// Returns `openssl` in the directory, with a configuration that loads the TPM's provider.
    fn openssl(&self, conf: &str, arguments: &str) -> Command {
        let file = self.folder.path().join("openssl.cnf");
        fs::write(&file, conf).unwrap();
        let mut openssl = Command::new("openssl");
        openssl
            .current_dir(self.folder.path())
            .env("OPENSSL_CONF", file);
        // Debian's modules, also for another OpenSSL.
        openssl.env("OPENSSL_MODULES", "/usr/lib/x86_64-linux-gnu/ossl-modules");
        let place = format!("swtpm:host=127.0.0.1,port={}", self.port);
        openssl.env("TPM2OPENSSL_TCTI", place);
        openssl.args(arguments.split_whitespace());
        openssl
    }

    fn stock(&self, arguments: &str) -> String {
        let mut openssl = self.openssl("", arguments);
        lossy(&succeeds(with_conf(&mut openssl, None)))
    }
}

/// The configuration of tpm2-openssl's manual.
const STOCK: &str = "\
openssl_conf = init
[init]
providers = providers
alg_section = algorithms
[providers]
default = active
tpm2 = active
[active]
activate = 1
[algorithms]
default_properties = ?provider=tpm2,tpm2.digest!=yes,tpm2.cipher!=yes
";

/// Both providers are preferred, as `oarlock doctor` explains. Without the TPM, its keys cannot sign, with our provider or
/// without.
#[test]
fn keys_of_a_tpm_stay_where_they_are() {
    let tpm = Tpm::start();
    let path = |name: &str| tpm.folder.path().join(name);
    fs::write(path("message"), "a message").unwrap();
    let user = path("user.cnf");
    let properties = "default_properties = ";
    assert!(STOCK.contains(properties));
    let preferring = "default_properties = ?oarlock.accelerated=yes,?oarlock.keys=no,";
    fs::write(&user, STOCK.replace(properties, preferring)).unwrap();
    let ours = Accelerated::for_user(&user);
    let here = |arguments: &str, is_ours: bool| {
        let mut openssl = tpm.openssl(STOCK, arguments);
        if is_ours {
            ours.apply(&mut openssl);
        }
        openssl
    };
    succeeds(&mut tpm.openssl(
        STOCK,
        "genpkey -algorithm RSA -pkeyopt bits:2048 -out key.pem",
    ));
    let key = fs::read_to_string(path("key.pem")).unwrap();
    assert!(key.contains("BEGIN TSS2 PRIVATE KEY"), "{key}");
    for is_ours in [false, true] {
        let there = |arguments: &str| succeeds(&mut here(arguments, is_ours));
        there("pkey -in key.pem -pubout -out public.pem");
        for padding in ["", "-sigopt rsa_padding_mode:pss"] {
            there(&format!(
                "dgst -sha256 {padding} -sign key.pem -out signature message"
            ));
            let verified = tpm.stock(&format!(
                "dgst -sha256 {padding} -verify public.pem -signature signature message"
            ));
            assert!(verified.contains("Verified OK"));
        }
        there("req -x509 -new -key key.pem -subj /CN=localhost -days 2 -out cert.pem");
        tpm.stock("verify -CAfile cert.pem cert.pem");
        tpm.stock("pkeyutl -encrypt -pubin -inkey public.pem -in message -out sealed");
        assert_eq!(
            there("pkeyutl -decrypt -inkey key.pem -in sealed"),
            b"a message"
        );
    }
    succeeds(&mut tpm.openssl(
        STOCK,
        "genpkey -algorithm EC -pkeyopt group:P-256 -out key.pem",
    ));
    let key = fs::read_to_string(path("key.pem")).unwrap();
    assert!(key.contains("BEGIN TSS2 PRIVATE KEY"), "{key}");
    for is_ours in [false, true] {
        let there = |arguments: &str| succeeds(&mut here(arguments, is_ours));
        there("pkey -in key.pem -pubout -out public.pem");
        there("dgst -sha256 -sign key.pem -out signature message");
        for verify in [
            "dgst -sha256 -verify public.pem -signature signature message",
            "req -x509 -new -key key.pem -subj /CN=localhost -days 2 -out cert.pem",
            "verify -CAfile cert.pem cert.pem",
        ] {
            there(verify);
        }
        tpm.stock("dgst -sha256 -verify public.pem -signature signature message");
        tpm.stock("verify -CAfile cert.pem cert.pem");
    }
    // None of these operations came to us, but those of our keys still do.
    let counted = ours.counted().private_operations;
    assert_eq!(counted.alone + counted.in_lanes, 0);
    let cipher = "enc -aes-256-cbc -K 00 -iv 00 -in message -out sealed";
    succeeds(&mut here(cipher, true));
    assert_eq!(ours.bytes(Algorithm::Aes256Cbc, Encrypt), 9);
}
