//! OpenSSL with the engine of libp11.

use std::fs;
use std::process::Command;

use oarlock_testing::noise;

use crate::common::{Home, module, succeeds};

#[test]
fn the_engine_signs_and_serves_tls() {
    let home = Home::with(&["rsa", "p256"]);
    fs::write(home.path().join("letter"), noise(3000)).unwrap();
    let openssl = |arguments: &[&str]| {
        let mut openssl = home.program("openssl");
        openssl.env("PKCS11_MODULE_PATH", module()).args(arguments);
        openssl
    };
    for name in ["rsa", "p256"] {
        let url = format!("pkcs11:token=files;object={name};type=private");
        let (sign, out) = (
            ["dgst", "-sha256", "-engine", "pkcs11"],
            ["-out", "signature", "letter"],
        );
        succeeds(
            openssl(&sign)
                .args(["-keyform", "engine", "-sign", &url])
                .args(out),
        );
        let public = format!("{name}.pub");
        let mut write = Command::new("openssl");
        write
            .current_dir(home.path())
            .args(["pkey", "-pubout", "-out", &public, "-in"]);
        succeeds(write.arg(home.key_file(name)));
        let mut verify = Command::new("openssl");
        verify
            .current_dir(home.path())
            .args(["dgst", "-sha256", "-verify", &public]);
        succeeds(verify.args(["-signature", "signature", "letter"]));
        // A certificate request is signed and verified by the key of the token.
        let request = [
            "req", "-new", "-engine", "pkcs11", "-keyform", "engine", "-verify",
        ];
        succeeds(openssl(&request).args(["-subj", "/CN=a", "-out", "request", "-key", &url]));
    }
}
