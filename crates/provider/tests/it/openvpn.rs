//! OpenVPN with the provider: tunnels between two network namespaces, in which OpenSSL encrypts the packets, with the
//! provider at either end, at both, and at none.

use std::fs;
use std::path::Path;
use std::process::Command;

use oarlock::Algorithm;
use oarlock::Direction::{Decrypt, Encrypt};
use oarlock_testing::{is_root, lossy, skip};

use crate::host::{Accelerated, assert_same, noise_file, open_folder, run};

/// Prints rates, which no check uses.
#[test]
fn a_tunnel_carries_both_ways_what_was_sent() {
    if !is_root("a tunnel between two network namespaces") {
        return;
    }
    if !Path::new("/dev/net/tun").exists() {
        return skip("the kernel has no TUN devices (/dev/net/tun)");
    }
    for (cipher, operation, is_left) in [
        ("AES-128-GCM", Algorithm::Aes128Gcm, true),
        ("AES-256-GCM", Algorithm::Aes256Gcm, false),
        ("CHACHA20-POLY1305", Algorithm::ChaCha20Poly1305, true),
    ] {
        let both = [Accelerated::new(), Accelerated::new()];
        tunnel(cipher, both.each_ref().map(Some));
        let one = Accelerated::new();
        let ends = if is_left {
            [Some(&one), None]
        } else {
            [None, Some(&one)]
        };
        tunnel(cipher, ends);
        // The file goes in both directions.
        for accelerated in both.iter().chain([&one]) {
            for direction in [Encrypt, Decrypt] {
                let bytes = accelerated.bytes(operation, direction);
                assert!(bytes > BYTES as u64, "{cipher} {direction:?}: {bytes}");
            }
        }
    }
}

/// Sends a file through a tunnel and back.
fn tunnel(cipher: &str, ends: [Option<&Accelerated>; 2]) {
    let folder = open_folder();
    let sent = noise_file(&folder.path().join("sent"), BYTES);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openvpn/tunnel.sh");
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "--mount", "--pid", "--fork", "--kill-child"]);
    unshare.arg("sh").arg(script).arg(folder.path()).arg(cipher);
    for end in ends {
        match end {
            Some(accelerated) => unshare.arg(accelerated.conf()),
            None => unshare.arg("/dev/null"),
        };
    }
    let output = run(&mut unshare);
    let (said, faults) = (lossy(&output.stdout), lossy(&output.stderr));
    assert!(output.status.success(), "{said}{faults}");
    let agreed = format!("Data Channel: cipher '{cipher}'");
    assert_eq!(faults.matches(&agreed).count(), 2, "{faults}");
    for name in ["came", "back"] {
        let came = fs::read(folder.path().join(name)).unwrap();
        assert_same(&came, &sent, cipher);
    }
}

const BYTES: usize = 16 << 20;
