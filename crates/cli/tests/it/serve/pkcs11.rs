//! Keys of a cryptoserver in programs that know PKCS#11: the module asks `oarlock relay`, and that asks `oarlock serve`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock::keys::{Curve, PublicKey};
use oarlock_local::relay::{LastingClient, Operation, Question, public_key_digest};
use oarlock_testing::lossy;

use super::Home;
use super::relay::{Site, succeeds};
use crate::common::{oarlock, run};

const NAMES: [&str; 6] = ["web", "p256", "p384", "p521", "ed25519", "ml-dsa-65"];

/// The server signs with the key that the question names by its public half, and with no other of that id.
fn names_the_key_that_it_means(site: &Site) {
    let client = LastingClient::new(site.socket());
    let keys = client.keys().unwrap();
    let listed = keys.iter().find(|key| key.key_id == "p256").unwrap();
    let digest = public_key_digest(&PublicKey::from_bytes(&listed.public_key).unwrap());
    let ask = |public_key| {
        client.ask(&Question {
            key_id: "p256".to_owned(),
            public_key,
            operation: Operation::sign_ecdsa(Curve::P256, &[7; 32]).unwrap(),
        })
    };
    ask(None).unwrap();
    ask(Some(digest)).unwrap();
    let refused = ask(Some([7; 32])).unwrap_err().to_string();
    assert!(refused.contains("was replaced or rotated"), "{refused}");
}

pub(super) fn module() -> PathBuf {
    let module = Path::new(env!("CARGO_BIN_EXE_oarlock")).with_file_name("liboarlock_pkcs11.so");
    assert!(
        module.exists(),
        "{} is missing: build it with `cargo build -p oarlock-pkcs11 -p oarlock-cli`",
        module.display()
    );
    module
}

fn tool(site: &Site) -> Command {
    let mut tool = Command::new("pkcs11-tool");
    tool.current_dir(site.path());
    tool.env("OARLOCK_PKCS11_CONFIG", site.path().join("pkcs11.toml"));
    tool.arg("--module").arg(module());
    tool
}

/// Returns the ID of a key, by which pkcs11-tool finds it.
fn id(site: &Site, name: &str) -> Option<String> {
    let output = run(
        tool(site).args(["--list-objects", "--type", "privkey"]),
        b"",
    );
    let listed = lossy(&output.stdout);
    let mut lines = listed.lines().map(str::trim);
    let is_label = |line: &str| {
        line.strip_prefix("label:")
            .is_some_and(|it| it.trim() == name)
    };
    lines.find(|line| is_label(line))?;
    let id = lines.find_map(|line| line.strip_prefix("ID:"))?;
    Some(id.trim().to_owned())
}

fn sign(site: &Site, name: &str, mechanism: &str, format: &str) -> Command {
    let mut sign = tool(site);
    sign.args([
        "--sign",
        "--mechanism",
        mechanism,
        "--id",
        &id(site, name).unwrap(),
    ]);
    sign.args(["--signature-format", format, "--input-file", "letter"]);
    sign.args(["--output-file", "signature"]);
    sign
}

#[test]
fn programs_that_know_tokens_use_keys_of_a_cryptoserver() {
    let home = Home::new();
    for key_type in &NAMES[1..] {
        let key = home.path().join(format!("keys/{key_type}.pem"));
        succeeds(
            oarlock()
                .args(["keygen", "--type", key_type, "-o"])
                .arg(&key),
        );
    }
    let site = Site::of(home);
    fs::write(site.path().join("letter"), [7; 3000]).unwrap();
    let config = format!(
        "[[token]]\nlabel = \"remote\"\nrelay = \"{}\"\n",
        site.socket().display()
    );
    fs::write(site.path().join("pkcs11.toml"), config).unwrap();
    let relay = site.relay(&[]);
    let tested = run(tool(&site).arg("--test"), b"");
    let (said, errors) = (lossy(&tested.stdout), lossy(&tested.stderr));
    assert!(
        tested.status.success() && said.contains("No errors"),
        "{said}\n{errors}"
    );
    for (name, mechanism, format, options) in [
        ("web", "SHA256-RSA-PKCS", "rs", &["-sha256"][..]),
        (
            "web",
            "SHA384-RSA-PKCS-PSS",
            "rs",
            &["-sha384", "-sigopt", "rsa_padding_mode:pss"],
        ),
        ("p256", "ECDSA-SHA256", "openssl", &["-sha256"]),
        ("p384", "ECDSA-SHA512", "openssl", &["-sha512"]),
        ("p521", "ECDSA-SHA512", "openssl", &["-sha512"]),
    ] {
        succeeds(&mut sign(&site, name, mechanism, format));
        let public = public(&site, name);
        let mut verify = Command::new("openssl");
        verify
            .current_dir(site.path())
            .arg("dgst")
            .args(options)
            .arg("-verify");
        succeeds(
            verify
                .arg(public)
                .args(["-signature", "signature", "letter"]),
        );
    }
    succeeds(&mut sign(&site, "ed25519", "EDDSA", "rs"));
    let mut verify = Command::new("openssl");
    verify
        .current_dir(site.path())
        .args(["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey"]);
    verify.arg(public(&site, "ed25519"));
    succeeds(verify.args(["-in", "letter", "-sigfile", "signature"]));
    assert!(id(&site, "ml-dsa-65").is_some());
    names_the_key_that_it_means(&site);
    drop(relay);
    let refused = run(tool(&site).arg("--list-objects"), b"");
    let said = lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("CKR_DEVICE_ERROR"),
        "{said}"
    );
    assert!(said.contains("no relay listens there"), "{said}");
}

fn public(site: &Site, name: &str) -> PathBuf {
    let path = site.path().join(format!("{name}.pub"));
    let mut public = Command::new("openssl");
    public.args(["pkey", "-pubout", "-in"]);
    public.arg(site.path().join(format!("keys/{name}.pem")));
    succeeds(public.arg("-out").arg(&path));
    path
}
