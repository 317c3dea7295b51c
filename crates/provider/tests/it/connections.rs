//! The memory of an idle connection: a handshake and a few short records do not create a key's tables, which pay only with
//! much data.

use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_testing::lossy;

use crate::host::{Accelerated, open_folder, succeeds, with_conf};

/// Every suite with an offered cipher, in both versions.
#[test]
fn an_idle_connection_takes_at_most_a_kib_more_a_side() {
    let folder = open_folder();
    let program = compiled(folder.path());
    let file = |name: &str| folder.path().join(name);
    let mut request = Command::new("openssl");
    request.args([
        "req",
        "-x509",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]);
    request.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    request
        .arg("-keyout")
        .arg(file("key"))
        .arg("-out")
        .arg(file("cert"));
    succeeds(request.env_remove("OPENSSL_CONF"));
    let (all, mut gaining) = (Accelerated::new(), Accelerated::new());
    gaining.offer_what_gains();
    for (version, suite) in [
        ("0304", "TLS_AES_128_GCM_SHA256"),
        ("0304", "TLS_AES_256_GCM_SHA384"),
        ("0304", "TLS_CHACHA20_POLY1305_SHA256"),
        ("0303", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("0303", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("0303", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("0303", "ECDHE-ECDSA-AES128-SHA256"),
        ("0303", "ECDHE-ECDSA-AES256-SHA384"),
    ] {
        let bytes = |conf: Option<&Accelerated>| -> i64 {
            let mut command = Command::new(&program);
            command
                .arg(file("cert"))
                .arg(file("key"))
                .args([version, suite]);
            let output = succeeds(with_conf(&mut command, conf));
            lossy(&output).trim().parse().unwrap()
        };
        let stock = bytes(None);
        for (offered, accelerated) in [("all", &all), ("what gains", &gaining)] {
            let ours = bytes(Some(accelerated));
            println!("{suite}, {offered}: {ours} bytes, stock {stock}");
            assert!(
                ours <= stock + 2 * MORE_BYTES_MAX,
                "{suite}, {offered}: {ours}, {stock}"
            );
        }
    }
    assert!(all.counted().processes > 0);
}

fn compiled(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/connections.c");
    let program = folder.join("connections");
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror"]);
    gcc.arg(source)
        .arg("-o")
        .arg(&program)
        .args(["-lssl", "-lcrypto"]);
    succeeds(&mut gcc);
    program
}

/// The most memory that either side may take beyond stock OpenSSL.
const MORE_BYTES_MAX: i64 = 1024;
