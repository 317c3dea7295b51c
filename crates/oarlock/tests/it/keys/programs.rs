//! Keys that other programs write, and programs that read ours: OpenSSL and ssh-keygen.

use std::path::PathBuf;
use std::process::{Command, Output};

use oarlock::keys::{KeyType, PrivateKey, PublicKey, Scheme};
use oarlock_testing::{lossy, skip};
use tempfile::TempDir;

use super::types;

/// An `openssl`: the machine's, or one built by `cargo xtask peers openssl`.
pub struct OpenSsl(Option<PathBuf>);

impl OpenSsl {
    pub fn command(&self) -> Command {
        match &self.0 {
            None => Command::new("openssl"),
            Some(folder) => {
                let mut command = Command::new(folder.join("bin/openssl"));
                command.env("LD_LIBRARY_PATH", folder.join("lib"));
                command.env("OPENSSL_MODULES", folder.join("lib/ossl-modules"));
                command
            }
        }
    }
}

/// Returns every `openssl` that supports the type of key.
pub fn openssl_for(key_type: KeyType) -> Vec<OpenSsl> {
    let program = std::env::current_exe().unwrap();
    let peers = program.ancestors().nth(3).unwrap().join("peers");
    let built = ["openssl-3.5", "openssl-4.0"].map(|name| peers.join(name));
    let mut all: Vec<_> = built
        .into_iter()
        .filter(|folder| folder.join("bin/openssl").exists())
        .map(|folder| OpenSsl(Some(folder)))
        .collect();
    if !matches!(key_type, KeyType::MlKem(_) | KeyType::MlDsa(_)) {
        all.push(OpenSsl(None));
    }
    all
}

fn run(folder: &TempDir, mut command: Command, arguments: &str) -> Output {
    command.args(arguments.split_whitespace());
    command.current_dir(folder.path());
    let output = command.output().unwrap();
    let errors = lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {errors}");
    output
}

fn read(folder: &TempDir, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).unwrap()
}

fn write(folder: &TempDir, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.path().join(name), bytes).unwrap();
}

#[test]
fn openssl_reads_and_writes_the_same_keys() {
    let mut were_there = [false; 2];
    for key_type in types() {
        for openssl in openssl_for(key_type) {
            let is_lattice = matches!(key_type, KeyType::MlKem(_) | KeyType::MlDsa(_));
            were_there[usize::from(is_lattice)] = true;
            let folder = tempfile::tempdir().unwrap();
            let openssl = |arguments: &str| run(&folder, openssl.command(), arguments);
            let name = match key_type {
                KeyType::Ec(curve) => format!("EC -pkeyopt group:{}", curve.name()),
                other => other.name().to_owned(),
            };
            // OpenSSL's files, in each format.
            openssl(&format!("genpkey -algorithm {name} -out key.pem"));
            openssl("pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key.der");
            openssl("pkey -in key.pem -pubout -out public.pem");
            openssl("pkey -in key.pem -pubout -outform DER -out public.der");
            let key = PrivateKey::from_bytes(&read(&folder, "key.pem")).unwrap();
            let again = PrivateKey::from_bytes(&read(&folder, "key.der")).unwrap();
            assert_eq!(key.key_type(), key_type);
            assert_eq!(key.public_key(), again.public_key());
            for file in ["public.pem", "public.der"] {
                let public = PublicKey::from_bytes(&read(&folder, file)).unwrap();
                assert_eq!(&public, key.public_key());
            }
            assert_eq!(
                key.public_key().to_spki_der().unwrap(),
                read(&folder, "public.der")
            );
            assert_eq!(
                key.public_key().to_spki_pem().unwrap().as_bytes(),
                read(&folder, "public.pem")
            );
            if !is_lattice {
                // By default, its files of these types also hold the expanded key.
                assert_eq!(*key.to_pkcs8_der().unwrap(), read(&folder, "key.der"));
            }
            // Our files.
            let key = PrivateKey::generate(key_type).unwrap();
            write(&folder, "ours.pem", &*key.to_pkcs8_pem().unwrap());
            openssl("pkey -in ours.pem -pubout -outform DER -out ours.der");
            assert_eq!(
                key.public_key().to_spki_der().unwrap(),
                read(&folder, "ours.der")
            );
            // Encrypted keys are refused.
            openssl("pkcs8 -topk8 -in ours.pem -passout pass:x -out locked.pem");
            let refused = PrivateKey::from_bytes(&read(&folder, "locked.pem"));
            assert!(refused.unwrap_err().to_string().contains("is encrypted"));
        }
    }
    assert!(were_there[0]);
    if !were_there[1] {
        skip("no OpenSSL with ML-KEM and ML-DSA is there (cargo xtask peers openssl)");
    }
}

#[test]
fn openssl_writes_seeds_and_expanded_keys_alone_and_together() {
    let mut was_there = false;
    for key_type in types().filter(|one| matches!(one, KeyType::MlKem(_) | KeyType::MlDsa(_))) {
        for openssl in openssl_for(key_type) {
            was_there = true;
            let folder = tempfile::tempdir().unwrap();
            let openssl = |arguments: &str| run(&folder, openssl.command(), arguments);
            let kind = match key_type {
                KeyType::MlKem(_) => "ml-kem",
                _ => "ml-dsa",
            };
            openssl(&format!(
                "genpkey -algorithm {} -out key.pem",
                key_type.name()
            ));
            let public = PrivateKey::from_bytes(&read(&folder, "key.pem")).unwrap();
            for form in ["seed-only", "priv-only", "seed-priv"] {
                openssl(&format!(
                    "pkey -in key.pem -provparam {kind}.output_formats={form} -outform DER -out form.der"
                ));
                let key = PrivateKey::from_bytes(&read(&folder, "form.der")).unwrap();
                assert_eq!(key.public_key(), public.public_key(), "{form}");
                if form != "seed-priv" {
                    assert_eq!(*key.to_pkcs8_der().unwrap(), read(&folder, "form.der"));
                }
            }
        }
    }
    if !was_there {
        skip("no OpenSSL with ML-KEM and ML-DSA is there (cargo xtask peers openssl)");
    }
}

#[test]
fn openssl_takes_signatures_and_makes_them() {
    for key_type in types().filter(|one| one.signs()) {
        for openssl in openssl_for(key_type) {
            let folder = tempfile::tempdir().unwrap();
            let openssl = |arguments: &str| run(&folder, openssl.command(), arguments);
            let key = PrivateKey::generate(key_type).unwrap();
            let scheme = Scheme::usual(key_type).unwrap();
            write(&folder, "key.pem", &*key.to_pkcs8_pem().unwrap());
            write(
                &folder,
                "public.pem",
                key.public_key().to_spki_pem().unwrap(),
            );
            write(&folder, "message", b"from one to the other");
            write(
                &folder,
                "ours",
                key.sign(&scheme, b"from one to the other").unwrap(),
            );
            let digest = match key_type {
                KeyType::Ec(curve) => format!("-digest sha{}", 8 * curve.bytes().min(64)),
                _ => String::new(),
            };
            openssl(&format!(
                "pkeyutl -verify -rawin {digest} -pubin -inkey public.pem -in message -sigfile ours"
            ));
            openssl(&format!(
                "pkeyutl -sign -rawin {digest} -inkey key.pem -in message -out theirs"
            ));
            let theirs = read(&folder, "theirs");
            let public = key.public_key();
            public
                .verify(&scheme, b"from one to the other", &theirs)
                .unwrap();
        }
    }
}

#[test]
fn openssl_agrees_on_the_same_secret() {
    for key_type in types().filter(|one| one.agrees()) {
        for openssl in openssl_for(key_type) {
            let folder = tempfile::tempdir().unwrap();
            let openssl = |arguments: &str| run(&folder, openssl.command(), arguments);
            let [ours, theirs] = [(); 2].map(|()| PrivateKey::generate(key_type).unwrap());
            write(&folder, "key.pem", &*theirs.to_pkcs8_pem().unwrap());
            write(
                &folder,
                "peer.pem",
                ours.public_key().to_spki_pem().unwrap(),
            );
            openssl("pkeyutl -derive -inkey key.pem -peerkey peer.pem -out secret");
            assert_eq!(
                *ours.agree(theirs.public_key()).unwrap(),
                read(&folder, "secret")
            );
        }
    }
}

/// `openssl ecparam` writes SEC 1, preceded by the curve's parameters, which are explicit if requested.
#[test]
fn openssl_writes_sec_1() {
    for name in ["prime256v1", "secp384r1", "secp521r1"] {
        let folder = tempfile::tempdir().unwrap();
        let openssl = |arguments: &str| run(&folder, Command::new("openssl"), arguments);
        openssl(&format!("ecparam -name {name} -genkey -out key.pem"));
        openssl("ec -in key.pem -outform DER -out key.der");
        openssl("pkey -in key.pem -pubout -outform DER -out public.der");
        let public = PublicKey::from_bytes(&read(&folder, "public.der")).unwrap();
        for file in ["key.pem", "key.der"] {
            let key = PrivateKey::from_bytes(&read(&folder, file)).unwrap();
            assert_eq!(key.public_key(), &public);
        }
        openssl("ec -in key.pem -pubout -conv_form compressed -outform DER -out compressed.der");
        let compressed = PublicKey::from_bytes(&read(&folder, "compressed.der")).unwrap();
        assert_eq!(compressed, public);
        openssl("ec -in key.pem -param_enc explicit -out explicit.pem");
        openssl("pkcs8 -topk8 -nocrypt -in explicit.pem -out explicit.pkcs8");
        for file in ["explicit.pem", "explicit.pkcs8"] {
            let refused = PrivateKey::from_bytes(&read(&folder, file)).unwrap_err();
            assert!(refused.to_string().contains("explicit"), "{refused}");
        }
        openssl("ec -in key.pem -aes128 -passout pass:x -out locked");
        let refused = PrivateKey::from_bytes(&read(&folder, "locked")).unwrap_err();
        assert!(refused.to_string().contains("is encrypted"), "{refused}");
    }
    // Unsupported curves and algorithms.
    for name in ["EC -pkeyopt group:secp256k1", "ED448", "X448"] {
        let folder = tempfile::tempdir().unwrap();
        let openssl = |arguments: &str| run(&folder, Command::new("openssl"), arguments);
        openssl(&format!("genpkey -algorithm {name} -out key.pem"));
        openssl("pkey -in key.pem -pubout -out public.pem");
        let refused = PrivateKey::from_bytes(&read(&folder, "key.pem")).unwrap_err();
        assert!(refused.to_string().contains("known are"), "{refused}");
        let refused = PublicKey::from_bytes(&read(&folder, "public.pem")).unwrap_err();
        assert!(refused.to_string().contains("known are"), "{refused}");
    }
}

#[cfg(feature = "ssh")]
#[test]
fn ssh_keygen_writes_keys_that_are_read() {
    // Enough keys that some scalars of P-521 begin with zero bytes, as one in four does.
    for (name, count) in [
        ("ed25519", 2),
        ("ecdsa -b 256", 4),
        ("ecdsa -b 384", 4),
        ("ecdsa -b 521", 24),
        ("rsa -b 2048", 1),
    ] {
        for _ in 0..count {
            let folder = tempfile::tempdir().unwrap();
            let keygen = |arguments: &str| {
                let mut command = Command::new("ssh-keygen");
                command.args(["-q", "-N", ""]);
                run(&folder, command, arguments)
            };
            keygen(&format!("-f key -C comment -t {name}"));
            let key = PrivateKey::from_bytes(&read(&folder, "key")).unwrap();
            let public = PublicKey::from_bytes(&read(&folder, "key.pub")).unwrap();
            assert_eq!(key.public_key(), &public, "{name}");
            write(&folder, "key.pem", &*key.to_pkcs8_pem().unwrap());
            let public_der = run(
                &folder,
                Command::new("openssl"),
                "pkey -in key.pem -pubout -outform DER",
            );
            assert_eq!(public_der.stdout, public.to_spki_der().unwrap());
        }
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-N", "a passphrase"]);
        run(&folder, command, &format!("-f key -t {name}"));
        let refused = PrivateKey::from_bytes(&read(&folder, "key")).unwrap_err();
        assert!(refused.to_string().contains("is encrypted"), "{refused}");
    }
}
