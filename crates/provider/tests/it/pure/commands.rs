//! Whole commands, with keys that they exchange in files; connections; and a fork.

use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_testing::skip;

use crate::host::{run, succeeds, with_conf};
use crate::rsa::commands::Place;

#[test]
fn keys_go_from_command_to_command_as_stock() {
    let place = Place::new();
    place.write("extensions", "basicConstraints=CA:FALSE\n");
    for line in COMMANDS {
        let (by, line) = line.split_once(' ').unwrap();
        if by != "stock" {
            place.ours(line);
        }
        if by != "ours" {
            place.stock(line);
        }
    }
    for by_us in [true, false] {
        // An altered message.
        let mut wrong = place.command(
            "pkeyutl -verify -rawin -pubin -inkey public.pem -in extensions -sigfile signature",
        );
        let output = run(with_conf(&mut wrong, by_us.then_some(&place.accelerated)));
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Signature Verification Failure"), "{said}");
    }
    for line in [
        "pkey -in key.pem -text",
        "pkey -in public.pem -pubin -text",
        "pkey -in key.pem -check -noout",
        "x509 -in leaf.crt -text",
    ] {
        assert_eq!(place.ours(line), place.stock(line), "{line}");
    }
}

/// Both ends of TLS with and without the provider, with certificates of Ed25519, and of ML-DSA with releases that have it.
#[test]
fn connections_are_authenticated() {
    let place = Place::new();
    connect(&place, None, "ed25519", &["-tls1_2", "-tls1_3"]);
    let test = std::env::current_exe().unwrap();
    let peers = test.ancestors().nth(3).unwrap().join("peers");
    let newer = ["openssl-3.5", "openssl-4.0"].map(|name| peers.join(name));
    let there: Vec<PathBuf> = newer.into_iter().filter(|folder| folder.is_dir()).collect();
    if there.is_empty() {
        skip("no OpenSSL with ML-DSA (cargo xtask peers openssl) is there");
    }
    for folder in &there {
        for key in ["ed25519", "ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] {
            connect(&place, Some(folder), key, &["-tls1_3"]);
        }
    }
}

/// Connects both ends; `folder` has another release of OpenSSL.
fn connect(place: &Place, folder: Option<&Path>, key: &str, versions: &[&str]) {
    let command = |line: &str, is_ours: bool| {
        let mut command = place.command(line);
        if let Some(folder) = folder {
            // The tests' own commands get the libraries that these tests run with.
            command = Command::new("env");
            command.arg(format!("LD_LIBRARY_PATH={}", folder.join("lib").display()));
            command.current_dir(place.folder.path());
            command.arg(folder.join("bin/openssl"));
            command.args(line.split_whitespace());
        }
        with_conf(&mut command, is_ours.then_some(&place.accelerated));
        command
    };
    place.write("request", REQUEST);
    let line = format!(
        "req -x509 -config request -newkey {key} -nodes -keyout server.pem -out server.crt -days 3"
    );
    succeeds(&mut command(&line, false));
    for version in versions {
        place.authenticates(version, command);
    }
}

/// A context begun before a fork signs in the child and in the parent, with the key's first signature made before and after.
#[test]
fn a_fork_falls_into_a_context() {
    let place = Place::new();
    place.stock("genpkey -algorithm ED25519 -out key.pem");
    place.forks(None);
}

/// Each command begins with the side that runs it.
const COMMANDS: [&str; 10] = [
    "ours genpkey -algorithm ED25519 -out key.pem",
    "both pkey -in key.pem -pubout -out public.pem",
    "ours req -x509 -new -key key.pem -subj /CN=root -out root.crt -days 3",
    "both verify -CAfile root.crt root.crt",
    "ours req -newkey ed25519 -nodes -keyout leaf.pem -subj /CN=leaf -out leaf.csr",
    "both req -in leaf.csr -verify -noout",
    "ours x509 -req -in leaf.csr -CA root.crt -CAkey key.pem -CAcreateserial -out leaf.crt -days 2 -extfile extensions",
    "both verify -CAfile root.crt leaf.crt",
    "ours pkeyutl -sign -rawin -inkey key.pem -in message -out signature",
    "both pkeyutl -verify -rawin -pubin -inkey public.pem -in message -sigfile signature",
];

const REQUEST: &str = "[req]\ndistinguished_name = name\nprompt = no\n[name]\nCN = localhost\n";
