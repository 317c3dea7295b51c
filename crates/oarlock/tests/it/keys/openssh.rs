//! OpenSSH key files (PROTOCOL.key of its source) with one error, each refused with a message that names it.

use oarlock::Error;
use oarlock::keys::{Curve, KeyType, PrivateKey, PublicKey};
use pkcs8::der::pem::{Decoder, LineEnding, encode_string};

const ED25519: &str = "ssh-ed25519";
const ECDSA: &str = "ecdsa-sha2-nistp256";

/// The fields of a key file.
#[derive(Clone)]
struct File {
    cipher: &'static str,
    count: u32,
    public: Vec<u8>,
    checks: [u32; 2],
    private: Vec<u8>,
    padding: Vec<u8>,
    behind: Vec<u8>,
}

fn field(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

impl File {
    fn of(public: &[Vec<u8>], private: &[Vec<u8>]) -> Self {
        let private = [&private.concat()[..], &field("comment")].concat();
        let bytes = 8 + private.len();
        Self {
            cipher: "none",
            count: 1,
            public: public.concat(),
            checks: [7; 2],
            private,
            padding: (1..).take(bytes.next_multiple_of(8) - bytes).collect(),
            behind: Vec::new(),
        }
    }

    fn blob(&self) -> Vec<u8> {
        let checks = self.checks.map(u32::to_be_bytes).concat();
        [
            &b"openssh-key-v1\0"[..],
            &field(self.cipher),
            &field("none"),
            &field(""),
            &self.count.to_be_bytes(),
            &field(&self.public),
            &field([&checks[..], &self.private, &self.padding].concat()),
            &self.behind,
        ]
        .concat()
    }

    fn read(&self) -> Result<PrivateKey, Error> {
        read(&self.blob())
    }

    fn refused(&self, change: impl FnOnce(&mut Self), expected: &str) {
        let mut file = self.clone();
        change(&mut file);
        let said = file.read().unwrap_err().to_string();
        assert!(said.contains(expected), "{said:?}, and not {expected:?}");
    }
}

fn read(blob: &[u8]) -> Result<PrivateKey, Error> {
    let text = encode_string("OPENSSH PRIVATE KEY", LineEnding::LF, blob).unwrap();
    PrivateKey::from_bytes(text.as_bytes())
}

/// Returns a file of Ed25519 whose two halves need not match.
fn ed25519(outside: &PublicKey, inside: &PublicKey, seed: &PrivateKey, again: &PublicKey) -> File {
    let [outside, inside, again] = [outside, inside, again].map(|key| key.to_raw().unwrap());
    let pair = [&seed.to_raw().unwrap()[..], &again].concat();
    File::of(
        &[field(ED25519), field(outside)],
        &[field(ED25519), field(inside), field(pair)],
    )
}

fn ecdsa(key: &PrivateKey, names: [&str; 2], scalar: &[u8]) -> File {
    let point = key.public_key().to_raw().unwrap();
    File::of(
        &[field(names[0]), field(names[1]), field(&point)],
        &[
            field(names[0]),
            field(names[1]),
            field(&point),
            field(scalar),
        ],
    )
}

#[test]
fn files_of_ed25519_are_refused_by_what_is_wrong() {
    let [key, other] = [(); 2].map(|()| PrivateKey::generate(KeyType::Ed25519).unwrap());
    let (ours, theirs) = (key.public_key(), other.public_key());
    let right = ed25519(ours, ours, &key, ours);
    assert_eq!(right.read().unwrap().public_key(), ours);
    right.refused(|file| file.checks[1] += 1, "wrong");
    right.refused(|file| file.count = 2, "with 2 keys");
    right.refused(|file| file.cipher = "aes256-ctr", "is encrypted");
    right.refused(|file| file.padding.push(7), "padding");
    right.refused(|file| file.padding.extend([0; 8]), "padding");
    right.refused(|file| file.behind.push(0), "1 bytes after");
    right.refused(|file| file.public.push(0), "1 bytes after");
    for wrong in [
        ed25519(theirs, ours, &key, ours),
        ed25519(ours, theirs, &key, ours),
        ed25519(ours, ours, &key, theirs),
        ed25519(ours, ours, &other, ours),
    ] {
        wrong.refused(|_| (), "public half");
    }
    let blob = right.blob();
    for bytes in 0..blob.len() {
        assert!(read(&blob[..bytes]).is_err(), "{bytes}");
    }
    right.refused(
        |file| file.public = [field("ssh-dss"), field("")].concat(),
        "\"ssh-dss\": known are",
    );
    let curve = ecdsa(
        &PrivateKey::generate(KeyType::Ec(Curve::P256)).unwrap(),
        [ECDSA, "nistp256"],
        &[7],
    );
    right.refused(|file| file.public = curve.public, "different types");
}

#[test]
fn files_of_ecdsa_are_refused_by_what_is_wrong() {
    // A number's leading zero bytes are omitted; one whose first bit is set has a single zero byte in front.
    for first in [0, 1, 0x80] {
        let mut scalar = [7; 32];
        scalar[0] = first;
        let key = PrivateKey::from_raw(KeyType::Ec(Curve::P256), &scalar).unwrap();
        let number = match first {
            0 => scalar[1..].to_vec(),
            0x80 => [&[0], &scalar[..]].concat(),
            _ => scalar.to_vec(),
        };
        let right = ecdsa(&key, [ECDSA, "nistp256"], &number);
        let read = right.read().unwrap();
        assert_eq!(read.to_raw().unwrap()[..], scalar);
        let wrong = ecdsa(&key, [ECDSA, "nistp384"], &number);
        wrong.refused(|_| (), "names the curve \"nistp384\"");
        let wrong = ecdsa(&key, [ECDSA, "nistp256"], &[8; 32]);
        wrong.refused(|_| (), "public half");
        let wrong = ecdsa(&key, [ECDSA, "nistp256"], &[1; 34]);
        wrong.refused(|_| (), "longer than those of P-256");
        let wrong = ecdsa(&key, [ECDSA, "nistp256"], &[0]);
        wrong.refused(|_| (), "between 1 and");
    }
}

#[test]
fn lines_are_refused_by_what_is_wrong() {
    let line = include_str!("../../keys/ed25519.ssh.pub");
    PublicKey::from_bytes(line.as_bytes()).unwrap();
    let (_, after) = line.split_once(' ').unwrap();
    for (line, expected) in [
        (format!("ssh-rsa {after}"), "key of"),
        (format!("{ECDSA} {after}"), "another type"),
        (format!("{line}{line}"), "more than one line"),
        ("ssh-ed25519".to_owned(), "missing"),
        ("ssh-ed25519 =".to_owned(), "not a public key of OpenSSH"),
        ("ssh-ed25519 AAAA".to_owned(), "missing"),
        (line.replace("AAAAC3", "AAAAD3"), "another type"),
    ] {
        let said = PublicKey::from_bytes(line.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(
            said.contains(expected),
            "{line}: {said:?}, and not {expected:?}"
        );
    }
}

/// The Python package `cryptography` writes shorter lines than OpenSSH, and a whole block of padding after a section that
/// needs none.
#[test]
fn files_that_others_write_are_read() {
    let key = PrivateKey::generate(KeyType::Ed25519).unwrap();
    let public = key.public_key();
    let mut file = ed25519(public, public, &key, public);
    // The section ends at a multiple of eight.
    file.private.extend(file.padding.iter().map(|_| b'.'));
    let comment = file.private.len() - 4 - "comment".len() - file.padding.len();
    let bytes = "comment".len() + file.padding.len();
    file.private[comment..comment + 4].copy_from_slice(&(bytes as u32).to_be_bytes());
    file.padding.clear();
    assert_eq!(file.read().unwrap().public_key(), public);
    file.padding = (1..=8).collect();
    assert_eq!(file.read().unwrap().public_key(), public);

    let text = include_str!("../../keys/rsa2048.openssh");
    let key = PrivateKey::from_bytes(text.as_bytes()).unwrap();
    let mut blob = Vec::new();
    let mut decoder = Decoder::new_detect_wrap(text.trim().as_bytes()).unwrap();
    decoder.decode_to_end(&mut blob).unwrap();
    // Lines of 64 characters.
    assert_eq!(read(&blob).unwrap().public_key(), key.public_key());
    // Negative numbers, as no writer has them.
    let modulus = key.public_key().as_rsa().unwrap().modulus().to_vec();
    let place = |blob: &[u8]| blob.windows(256).position(|here| here == modulus);
    let mut wrong = blob.clone();
    let at = place(&wrong).unwrap();
    wrong[at - 1] = 0xff;
    assert!(read(&wrong).is_err());
}
