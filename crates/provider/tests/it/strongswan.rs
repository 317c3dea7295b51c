//! strongSwan with the provider, through its openssl plugin: its own self tests, and tunnels between two network namespaces
//! with ESP in userland.

use std::fs;
use std::path::Path;
use std::process::Command;

use oarlock::Algorithm;
use oarlock::Direction::{Decrypt, Encrypt};
use oarlock_testing::{is_root, lossy};

use crate::host::{Accelerated, assert_same, noise_file, open_folder, run, succeeds, with_conf};

#[test]
fn pki_makes_and_checks_certificates_and_passes_its_self_tests() {
    let folder = open_folder();
    let settings = folder.path().join("strongswan.conf");
    fs::write(&settings, SELF_TESTS).unwrap();
    let accelerated = Accelerated::new();
    let pki = |conf: Option<&Accelerated>, arguments: &str| {
        let mut pki = Command::new("pki");
        with_conf(&mut pki, conf).env("STRONGSWAN_CONF", &settings);
        let output = run(pki.args(arguments.split(' ')).current_dir(folder.path()));
        assert!(
            output.status.success(),
            "{arguments}: {}",
            lossy(&output.stderr)
        );
        output
    };
    // The result of each algorithm's self test, and the algorithms that were disabled by it.
    let passed = |conf| {
        let said = lossy(&pki(conf, "--gen --type ed25519 --outform pem --debug 2").stderr);
        let lines = said
            .lines()
            .map(str::trim)
            .filter(|line| line.contains("[openssl]"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (stock, ours) = (passed(None), passed(Some(&accelerated)));
    assert_eq!(ours, stock);
    for name in [
        "AES_CBC",
        "AES_CTR",
        "AES_GCM_16",
        "AES_GCM_8",
        "CHACHA20_POLY1305",
    ] {
        let enabled = format!("enabled  {name}[openssl]: passed");
        assert!(ours.iter().any(|line| line.contains(&enabled)), "{name}");
    }
    for operation in [
        Algorithm::Aes128Cbc,
        Algorithm::Aes256Ctr,
        Algorithm::Aes192Gcm,
        Algorithm::ChaCha20Poly1305,
    ] {
        assert!(accelerated.bytes(operation, Encrypt) > 0, "{operation:?}");
    }

    let key = pki(
        Some(&accelerated),
        "--gen --type rsa --size 2048 --outform pem",
    )
    .stdout;
    fs::write(folder.path().join("key"), key).unwrap();
    let own = "--self --in key --type rsa --dn CN=test --ca --outform pem";
    let own = pki(Some(&accelerated), own).stdout;
    fs::write(folder.path().join("certificate"), own).unwrap();
    let said = pki(
        Some(&accelerated),
        "--verify --in certificate --cacert certificate",
    )
    .stdout;
    assert!(lossy(&said).contains("trusted"), "{}", lossy(&said));
}

/// Prints rates, which no check uses.
#[test]
fn a_tunnel_carries_what_was_sent() {
    if !is_root("a tunnel between two network namespaces") {
        return;
    }
    for (proposal, operation) in [
        ("aes128gcm16", Algorithm::Aes128Gcm),
        ("aes256gcm16", Algorithm::Aes256Gcm),
        ("aes128-sha256", Algorithm::Aes128Cbc),
        ("aes256-sha256", Algorithm::Aes256Cbc),
        ("aes128ctr-sha256", Algorithm::Aes128Ctr),
        ("chacha20poly1305", Algorithm::ChaCha20Poly1305),
    ] {
        let stock = tunnel(proposal, None);
        let accelerated = [Accelerated::new(), Accelerated::new()];
        let ours = tunnel(proposal, Some(&accelerated));
        // The file goes from the second host to the first.
        let [fetches, serves] = accelerated;
        let bytes = BYTES as u64;
        assert!(fetches.bytes(operation, Decrypt) > bytes, "{proposal}: a");
        assert!(serves.bytes(operation, Encrypt) > bytes, "{proposal}: b");
        println!("{proposal}: {stock:.0} Mbit/s stock, {ours:.0} Mbit/s accelerated");
    }
}

/// Sends a file through a tunnel, and returns its rate in Mbit/s.
fn tunnel(proposal: &str, accelerated: Option<&[Accelerated; 2]>) -> f64 {
    let folder = open_folder();
    let sent = noise_file(&folder.path().join("sent"), BYTES);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strongswan/tunnel.sh");
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "--mount", "--pid", "--fork", "--kill-child"]);
    unshare
        .arg("sh")
        .arg(script)
        .arg(folder.path())
        .arg(proposal);
    for host in 0..2 {
        match accelerated {
            Some(both) => unshare.arg(both[host].conf()),
            None => unshare.arg("/dev/null"),
        };
    }
    let said = succeeds(&mut unshare);
    let seconds: f64 = lossy(&said).trim().parse().unwrap();
    let came = fs::read(folder.path().join("came")).unwrap();
    assert_same(&came, &sent, proposal);
    BYTES as f64 * 8.0 / 1e6 / seconds
}

const BYTES: usize = 32 << 20;

/// The openssl plugin has everything that is tested; other plugins would take precedence.
const SELF_TESTS: &str = "\
pki { load = test-vectors openssl random pem pkcs1 pkcs8 x509 pubkey revocation constraints }
libstrongswan {
    crypto_test { required = yes
        on_add = yes
        rng_true = no }
    plugins { openssl { load_legacy = no } }
}
";
