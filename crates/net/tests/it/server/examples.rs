//! Runs the examples of the documentation against a server.

use std::process::Output;

use oarlock_net::server::Server;
use oarlock_testing::process::example;

use super::host::{EVERYTHING, Home};

const FILES: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"),
];

/// Runs an example off the threads of the server.
async fn run(name: &'static str, arguments: Vec<String>) -> (bool, String) {
    let child = move || example(name).args(arguments).output().unwrap();
    let Output {
        status,
        stdout,
        stderr,
    } = tokio::task::spawn_blocking(child).await.unwrap();
    let text = [stdout, stderr].concat();
    (status.success(), String::from_utf8(text).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_sign_with_a_key_that_stays_on_the_server() {
    let home = Home::new(&["client"]);
    let server = Server::start(home.config(EVERYTHING)).await.unwrap();
    let port = server.addresses()[0].port();
    let arguments = |key: &str, files: &[&str]| {
        let first = [
            format!("localhost:{port}"),
            home.path().display().to_string(),
            key.to_owned(),
        ];
        first
            .into_iter()
            .chain(files.iter().map(|&file| file.to_owned()))
            .collect()
    };
    for (name, files) in [("remote_device", &FILES[..1]), ("remote_sign", &FILES[..])] {
        let (succeeded, said) = run(name, arguments("rsa2048", files)).await;
        assert!(succeeded, "{name}: {said}");
        for file in files {
            let line = format!("rsa2048 signed {file}: 256 bytes");
            assert!(said.lines().any(|said| said == line), "{name}: {said}");
        }
        let (succeeded, said) = run(name, arguments("other", files)).await;
        assert!(!succeeded && said.contains("no key"), "{name}: {said}");
    }
}
