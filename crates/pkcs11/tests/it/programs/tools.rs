//! pkcs11-tool of OpenSC and p11tool of GnuTLS.

use std::fs;
use std::path::Path;
use std::process::Command;

use oarlock_testing::{lossy, noise};

use crate::common::{Home, module, run, succeeds};

const NAMES: [&str; 5] = ["rsa", "p256", "p384", "p521", "ed25519"];

fn tool(home: &Home) -> Command {
    let mut tool = home.program("pkcs11-tool");
    tool.arg("--module").arg(module());
    tool
}

/// Returns the ID of a key, by which pkcs11-tool finds it.
fn id(home: &Home, name: &str) -> String {
    let listed = succeeds(tool(home).args(["--list-objects", "--type", "privkey"]));
    let mut lines = listed.lines().map(str::trim);
    let is_label = |line: &str| {
        line.strip_prefix("label:")
            .is_some_and(|it| it.trim() == name)
    };
    lines.find(|line| is_label(line));
    let id = lines.find_map(|line| line.strip_prefix("ID:"));
    id.unwrap().trim().to_owned()
}

/// Writes a file to sign, and the public half of each key as openssl reads it.
fn letter(home: &Home) {
    fs::write(home.path().join("letter"), noise(3000)).unwrap();
    for name in NAMES {
        let mut public = openssl(home.path());
        public.args(["pkey", "-pubout", "-out", &format!("{name}.pub"), "-in"]);
        succeeds(public.arg(home.key_file(name)));
    }
}

fn openssl(folder: &Path) -> Command {
    let mut openssl = Command::new("openssl");
    openssl.current_dir(folder);
    openssl
}

#[test]
fn pkcs11_tool_finds_everything_right() {
    let home = Home::with(&NAMES);
    let tested = succeeds(tool(&home).arg("--test"));
    assert!(tested.contains("No errors"), "{tested}");
    succeeds(tool(&home).arg("--test-fork"));
    assert!(tested.contains("RSA-PKCS-OAEP"), "{tested}");
    let objects = succeeds(tool(&home).arg("--list-objects"));
    for name in NAMES {
        assert!(
            objects.contains(&format!("label:      {name}")),
            "{objects}"
        );
    }
    assert_eq!(
        objects.matches("Certificate Object").count(),
        4,
        "{objects}"
    );
    assert!(succeeds(tool(&home).arg("--list-mechanisms")).contains("EDDSA"));
}

#[test]
fn openssl_verifies_what_pkcs11_tool_signs() {
    let home = Home::with(&NAMES);
    letter(&home);
    for (name, mechanism, digest) in [
        ("rsa", "SHA256-RSA-PKCS", "-sha256"),
        ("rsa", "SHA512-RSA-PKCS", "-sha512"),
        ("p256", "ECDSA-SHA256", "-sha256"),
        ("p384", "ECDSA-SHA384", "-sha384"),
        ("p521", "ECDSA-SHA512", "-sha512"),
    ] {
        let mut sign = tool(&home);
        sign.args(["--sign", "--mechanism", mechanism, "--id", &id(&home, name)]);
        sign.args([
            "--signature-format",
            if name == "rsa" { "rs" } else { "openssl" },
        ]);
        succeeds(sign.args(["--input-file", "letter", "--output-file", "signature"]));
        let mut verify = openssl(home.path());
        verify.args(["dgst", digest, "-verify", &format!("{name}.pub")]);
        succeeds(verify.args(["-signature", "signature", "letter"]));
    }
    let mut sign = tool(&home);
    sign.args([
        "--sign",
        "--mechanism",
        "SHA256-RSA-PKCS-PSS",
        "--id",
        &id(&home, "rsa"),
    ]);
    succeeds(sign.args(["--input-file", "letter", "--output-file", "signature"]));
    let mut verify = openssl(home.path());
    verify.args([
        "dgst",
        "-sha256",
        "-sigopt",
        "rsa_padding_mode:pss",
        "-verify",
        "rsa.pub",
    ]);
    succeeds(verify.args(["-signature", "signature", "letter"]));
    let mut sign = tool(&home);
    sign.args([
        "--sign",
        "--mechanism",
        "EDDSA",
        "--id",
        &id(&home, "ed25519"),
    ]);
    succeeds(sign.args(["--input-file", "letter", "--output-file", "signature"]));
    let mut verify = openssl(home.path());
    verify.args([
        "pkeyutl",
        "-verify",
        "-rawin",
        "-pubin",
        "-inkey",
        "ed25519.pub",
    ]);
    succeeds(verify.args(["-in", "letter", "-sigfile", "signature"]));
}

#[test]
fn pkcs11_tool_decrypts_what_openssl_encrypts() {
    let home = Home::with(&NAMES);
    letter(&home);
    fs::write(home.path().join("secret"), "a secret").unwrap();
    for (mechanism, options) in [
        ("RSA-PKCS", &[][..]),
        (
            "RSA-PKCS-OAEP",
            &[
                "-pkeyopt",
                "rsa_padding_mode:oaep",
                "-pkeyopt",
                "rsa_oaep_md:sha256",
            ],
        ),
    ] {
        let mut encrypt = openssl(home.path());
        encrypt
            .args(["pkeyutl", "-encrypt", "-pubin", "-inkey", "rsa.pub"])
            .args(options);
        succeeds(encrypt.args(["-in", "secret", "-out", "sealed"]));
        let mut decrypt = tool(&home);
        decrypt.args([
            "--decrypt",
            "--mechanism",
            mechanism,
            "--id",
            &id(&home, "rsa"),
        ]);
        if !options.is_empty() {
            decrypt.args(["--hash-algorithm", "SHA256", "--mgf", "MGF1-SHA256"]);
        }
        succeeds(decrypt.args(["--input-file", "sealed", "--output-file", "opened"]));
        assert_eq!(fs::read(home.path().join("opened")).unwrap(), b"a secret");
    }
}

/// A program that insists on a PIN, and one that gives a wrong one.
#[test]
fn a_pin_is_asked_for_if_there_is_one() {
    let home = Home::with(&["p256"]);
    home.configure(&home.files_token("pin = \"12345678\""));
    fs::write(home.path().join("letter"), "letter").unwrap();
    let sign = |pin| {
        let mut sign = tool(&home);
        sign.args([
            "--login",
            "--pin",
            pin,
            "--sign",
            "--mechanism",
            "ECDSA-SHA256",
        ]);
        sign.args([
            "--input-file",
            "letter",
            "--output-file",
            "signature",
            "--label",
            "p256",
        ]);
        run(&mut sign).status.success()
    };
    assert!(sign("12345678"));
    assert!(!sign("12345679"));
}

#[test]
fn gnutls_lists_and_signs() {
    let home = Home::with(&NAMES);
    let tool = || {
        let mut tool = home.program("p11tool");
        tool.arg("--provider").arg(module());
        tool
    };
    let tokens = succeeds(tool().arg("--list-tokens"));
    assert!(tokens.contains("Label: files"), "{tokens}");
    let objects = succeeds(tool().args(["--list-all", "pkcs11:token=files"]));
    assert!(objects.contains("X.509 Certificate"), "{objects}");
    for name in NAMES {
        let url = format!("pkcs11:token=files;object={name};type=private");
        let mut test = tool();
        test.arg("--test-sign");
        // GnuTLS takes SHA-256 unless it is told otherwise, which larger keys do not go with.
        if ["p384", "p521", "ed25519"].contains(&name) {
            test.args(["--hash", "sha512"]);
        }
        let said = succeeds(test.arg(&url));
        assert!(!said.contains("failed"), "{said}");
    }
}

/// The variable comes first, then the user's file. A file that is named has to be there.
#[test]
fn the_configuration_is_found() {
    let home = Home::with(&["p256"]);
    let slots = |name: &str, value: &Path| {
        let mut list = Command::new("pkcs11-tool");
        list.env_remove("OARLOCK_PKCS11_CONFIG").env(name, value);
        list.arg("--module").arg(module()).arg("--list-slots");
        run(&mut list)
    };
    let folder = home.path().join("config");
    for (name, value) in [
        ("XDG_CONFIG_HOME", &folder),
        ("HOME", &home.path().join("home")),
    ] {
        let place = match name {
            "HOME" => value.join(".config/oarlock"),
            _ => value.join("oarlock"),
        };
        fs::create_dir_all(&place).unwrap();
        fs::copy(home.config(), place.join("pkcs11.toml")).unwrap();
        let listed = slots(name, value);
        let listed = lossy(&listed.stdout);
        assert!(listed.contains("token label        : files"), "{listed}");
    }
    let missing = slots("OARLOCK_PKCS11_CONFIG", &home.path().join("missing"));
    let said = lossy(&missing.stderr);
    assert!(said.contains("missing: there is no such file"), "{said}");
    assert!(said.contains("CKR_GENERAL_ERROR"), "{said}");
    home.configure("[[token]]\nlabel = \"files\"\nkeys = \"relative\"\n");
    let said = lossy(&slots("OARLOCK_PKCS11_CONFIG", &home.config()).stderr);
    assert!(
        said.contains("pkcs11.toml: token \"files\": relative: give an absolute path"),
        "{said}"
    );
}
