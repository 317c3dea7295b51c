//! Whole commands, with keys that they exchange in files.

use std::fs;
use std::process::Command;

use oarlock_testing::lossy;
use tempfile::TempDir;

use crate::host::{
    Accelerated, Program, compiled, free_port, has_lanes, run, run_with, succeeds, until_listening,
    with_conf,
};

/// A directory in which `openssl` runs with and without the provider.
pub struct Place {
    pub folder: TempDir,
    pub accelerated: Accelerated,
}

impl Place {
    pub fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
            accelerated: Accelerated::new(),
        };
        place.write("message", "a message");
        place
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("openssl");
        command.current_dir(self.folder.path());
        command.args(arguments.split_whitespace());
        command
    }

    /// Runs a command with the provider and returns its output.
    #[track_caller]
    pub fn ours(&self, arguments: &str) -> String {
        let output = succeeds(self.accelerated.apply(&mut self.command(arguments)));
        String::from_utf8_lossy(&output).into_owned()
    }

    #[track_caller]
    pub fn stock(&self, arguments: &str) -> String {
        let output = succeeds(with_conf(&mut self.command(arguments), None));
        String::from_utf8_lossy(&output).into_owned()
    }

    /// Runs a program that begins to sign with `key.pem`, forks, and signs in the child and in the parent; with the name of a
    /// hash function in the middle of a message.
    pub fn forks(&self, hash: Option<&str>) {
        let mut program = Command::new(compiled("forks", self.folder.path()));
        program.current_dir(self.folder.path()).args(hash);
        let output = run(self.accelerated.apply(&mut program));
        assert!(output.status.success(), "{}", lossy(&output.stderr));
        assert_eq!(output.stdout, b"oarlock\n");
    }

    /// Has both ends of TLS with and without the provider authenticate each other by `server.crt`. `command` makes commands
    /// of lines, with the provider or without.
    pub fn authenticates(&self, version: &str, command: impl Fn(&str, bool) -> Command) {
        for (server_is_ours, client_is_ours) in [(true, false), (false, true), (true, true)] {
            let port = free_port();
            let line = format!(
                "s_server -accept {port} -cert server.crt -key server.pem -www -verify 1 -CAfile server.crt"
            );
            let server = Program::start(&mut command(&line, server_is_ours));
            until_listening(&server, port);
            let line = format!(
                "s_client -connect 127.0.0.1:{port} {version} -CAfile server.crt -verify_return_error -cert server.crt \
                 -key server.pem -ign_eof"
            );
            // The server answers and closes, which shows that it has verified the client, too.
            let output = run_with(
                &mut command(&line, client_is_ours),
                b"GET / HTTP/1.0\r\n\r\n",
            );
            let text = lossy(&output.stdout);
            assert!(
                output.status.success()
                    && text.contains("Verify return code: 0 (ok)")
                    && text.contains("HTTP/1.0 200 ok"),
                "{version} {server_is_ours} {client_is_ours}: {text} {}",
                lossy(&output.stderr)
            );
        }
    }

    /// Returns the private operations with the provider.
    fn signed(&self) -> u64 {
        let counted = self.accelerated.counted().private_operations;
        counted.alone + counted.in_lanes
    }
}

#[test]
fn keys_go_from_command_to_command_as_stock() {
    if !has_lanes() {
        return;
    }
    let place = Place::new();
    place.write("extensions", "basicConstraints=CA:FALSE\n");
    place.ours("genrsa -out key.pem 2048");
    place.ours("genrsa -aes256 -passout pass:x -out locked.pem 2048");
    place.ours("rsa -in key.pem -check -noout");
    place.ours("pkey -in key.pem -pubout -out public.pem");
    place.ours(ROOT);
    place.ours("req -new -key key.pem -out leaf.csr -subj /CN=leaf");
    place.ours("req -in leaf.csr -verify -noout");
    place.ours(
        "x509 -req -in leaf.csr -CA root.crt -CAkey root.pem -CAcreateserial -out leaf.crt -days 2 \
         -extfile extensions",
    );
    place.stock("verify -CAfile root.crt leaf.crt");
    place.ours("verify -CAfile root.crt leaf.crt");
    place.ours(
        "req -x509 -newkey rsa-pss -pkeyopt rsa_keygen_bits:2048 -nodes -keyout pss.pem -out pss.crt -subj /CN=pss \
         -sha384 -days 3",
    );
    place.stock("verify -CAfile pss.crt pss.crt");
    for options in ["", "-keyopt rsa_padding_mode:pss"] {
        place.ours(&format!(
            "cms -sign -in message -signer leaf.crt -inkey key.pem {options} -out signed.cms -binary"
        ));
        place.stock("cms -verify -in signed.cms -CAfile root.crt -purpose any -out verified");
    }
    place.ours("cms -encrypt -in message -out sealed.cms -aes256 -binary leaf.crt");
    place.ours("cms -decrypt -in sealed.cms -recip leaf.crt -inkey key.pem -out opened");
    place.ours("smime -sign -in message -signer leaf.crt -inkey key.pem -out signed.p7 -binary");
    place.stock("smime -verify -in signed.p7 -CAfile root.crt -purpose any -out verified");
    place.ours("pkcs12 -export -in leaf.crt -inkey key.pem -out leaf.p12 -passout pass:x");
    place.stock("pkcs12 -in leaf.p12 -passin pass:x -nodes -out leaf.txt");
    place.ours("pkcs12 -in leaf.p12 -passin pass:x -nodes -out leaf.txt");
    place.ours("dgst -sha512 -sign key.pem -out signature message");
    place.stock("dgst -sha512 -verify public.pem -signature signature message");
    place.ours("dgst -sha512 -verify public.pem -signature signature message");
    place.ours("pkeyutl -sign -rawin -digest sha256 -inkey key.pem -in message -out signature");
    place.stock(
        "pkeyutl -verify -rawin -digest sha256 -pubin -inkey public.pem -in message -sigfile signature",
    );
    place.ours(
        "pkeyutl -encrypt -pubin -inkey public.pem -in message -out sealed -pkeyopt rsa_padding_mode:oaep",
    );
    let opened =
        place.ours("pkeyutl -decrypt -inkey key.pem -in sealed -pkeyopt rsa_padding_mode:oaep");
    assert_eq!(opened, "a message");
    // An encrypted key still needs its passphrase, and a wrong one is refused.
    let mut wrong = place.command("rsa -in locked.pem -passin pass:y -noout");
    assert!(!run(place.accelerated.apply(&mut wrong)).status.success());
}

/// The authority issues, revokes and answers status requests; stock OpenSSL accepts its signatures.
#[test]
fn an_authority_works_as_stock() {
    if !has_lanes() {
        return;
    }
    let place = Place::new();
    place.write("ca.cnf", AUTHORITY);
    place.write("index.txt", "");
    place.write("serial", "01\n");
    place.write(
        "stamps",
        "extendedKeyUsage=critical,timeStamping\nbasicConstraints=CA:FALSE\n",
    );
    place.stock(ROOT);
    place.stock("req -new -newkey rsa:2048 -nodes -keyout key.pem -out leaf.csr -subj /CN=leaf");
    let before = place.signed();
    place.ours("ca -config ca.cnf -batch -notext -in leaf.csr -out leaf.crt");
    place.stock("verify -CAfile root.crt leaf.crt");
    place.ours("ca -config ca.cnf -revoke leaf.crt");
    place.ours("ca -config ca.cnf -gencrl -out list.crl");
    assert_eq!(place.signed() - before, 2, "a certificate and a list");
    place.stock("crl -in list.crl -CAfile root.crt -noout");
    place.ours("crl -in list.crl -CAfile root.crt -noout");

    place.stock("ocsp -issuer root.crt -cert leaf.crt -no_nonce -reqout question.der");
    place.ours(
        "ocsp -index index.txt -CA root.crt -rsigner root.crt -rkey root.pem -ndays 1 -reqin question.der -respout answer.der",
    );
    let told = "ocsp -respin answer.der -issuer root.crt -cert leaf.crt -CAfile root.crt -no_nonce";
    for said in [place.stock(told), place.ours(told)] {
        assert!(said.contains("leaf.crt: revoked"), "{said}");
    }

    place.ours(
        "x509 -req -in leaf.csr -CA root.crt -CAkey root.pem -set_serial 7 -days 2 -extfile stamps -out stamper.crt",
    );
    place.stock("ts -query -data message -sha256 -cert -out question.tsq");
    place.ours(
        "ts -reply -config ca.cnf -queryfile question.tsq -signer stamper.crt -inkey key.pem -out stamp.tsr",
    );
    let checked = "ts -verify -queryfile question.tsq -in stamp.tsr -CAfile root.crt";
    place.stock(checked);
    place.ours(checked);
    assert_eq!(
        place.signed() - before,
        5,
        "an answer, a certificate and a stamp"
    );
}

/// Lengths without lanes stay with the default provider.
#[test]
fn very_long_keys_work_as_stock() {
    if !has_lanes() {
        return;
    }
    let place = Place::new();
    for (bits, key) in [
        (8192, include_str!("../../keys/rsa8192.pem")),
        (16384, include_str!("../../keys/rsa16384.pem")),
    ] {
        place.write("key.pem", key);
        place.ours("pkey -in key.pem -pubout -out public.pem");
        place.ours("dgst -sha256 -sign key.pem -out signature message");
        let signature = fs::read(place.folder.path().join("signature")).unwrap();
        assert_eq!(8 * signature.len(), bits);
        place.stock("dgst -sha256 -verify public.pem -signature signature message");
        place.ours("dgst -sha256 -verify public.pem -signature signature message");
        place.stock("dgst -sha256 -sign key.pem -out theirs message");
        let theirs = fs::read(place.folder.path().join("theirs")).unwrap();
        assert!(signature == theirs, "{bits}");
        place.stock("pkeyutl -encrypt -pubin -inkey public.pem -in message -out sealed");
        assert_eq!(
            place.ours("pkeyutl -decrypt -inkey key.pem -in sealed"),
            "a message"
        );
    }
}

/// An authority's own key and certificate.
const ROOT: &str = "req -x509 -newkey rsa:2048 -nodes -keyout root.pem -out root.crt -subj /CN=root -days 3 \
                    -addext basicConstraints=critical,CA:TRUE";

/// The configuration of `ca` and of `ts`.
const AUTHORITY: &str = "\
[ca]
default_ca = authority
[authority]
database = index.txt
new_certs_dir = .
serial = serial
certificate = root.crt
private_key = root.pem
default_md = sha256
default_days = 2
default_crl_days = 1
policy = any
[any]
commonName = supplied
[tsa]
default_tsa = stamps
[stamps]
serial = stamp-serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
";
