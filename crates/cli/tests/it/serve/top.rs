//! A cryptoserver in `oarlock top`.

use std::process::Command;

use oarlock_testing::{lossy, until_some};
use serde_json::Value;

use super::{Home, Served};
use crate::common::{oarlock, run, stderr};
use crate::top::{reading, top};

#[test]
fn clients_and_devices_of_a_server_are_seen() {
    let home = Home::new();
    home.configure(|text| {
        text + "\n[[device]]\nname = \"board\"\nkind = \"simulated\"\npreset = \"nfast300\"\n"
    });
    let server = Served::start_with(&home.config(), &[("XDG_RUNTIME_DIR", home.path())]);
    let file = home.path().join("message");
    std::fs::write(&file, "message").unwrap();
    let seen = until_some("a signature for the client", || {
        let mut sign = home.sign(server.address, "web");
        let output = run(sign.args(["-o", "/dev/null"]).arg(&file), b"");
        assert!(output.status.success(), "{}", stderr(&output));
        let reading = reading(home.path(), &[]);
        let all = reading["processes"].as_array().unwrap().clone();
        let row = all
            .into_iter()
            .find(|one| one["process"] == server.child.id())?;
        let clients = row["server"]["clients"].as_array()?;
        clients
            .iter()
            .any(|one| one["operation"] == "sign")
            .then_some(row)
    });
    assert_eq!(seen["server"]["error"], Value::Null, "{seen}");
    assert_eq!(seen["server"]["unwell"], Value::Null, "{seen}");
    let devices = seen["devices"].as_array().unwrap();
    let names: Vec<_> = devices
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"board"), "{names:?}");
    assert!(devices.iter().all(|one| one["health"] == "up"), "{seen}");

    let mut listed = oarlock();
    listed.args(["devices", "--config"]).arg(home.config());
    let output = run(listed.env("XDG_RUNTIME_DIR", home.path()), b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nboard "), "{text}");
    assert!(text.contains("simulated board: nfast300"), "{text}");
    assert!(text.contains(" cryptoserver\n"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

/// Builds a device in a shared library that fails every request.
fn failing_library(home: &Home) -> String {
    let file = home.path().join("odd.so");
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../oarlock/tests/library/odd.c"
    );
    let headers = concat!(env!("CARGO_MANIFEST_DIR"), "/../oarlock/include");
    let built = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-DLATENCY_US=1",
            "-I",
            headers,
            source,
            "-o",
        ])
        .arg(&file)
        .status();
    assert!(built.unwrap().success());
    file.display().to_string()
}

#[test]
fn a_board_of_a_server_that_fails_is_seen_and_signatures_are_made_all_the_same() {
    let home = Home::new();
    let library = failing_library(&home);
    home.configure(|text| {
        text + &format!("\n[[device]]\nname = \"odd\"\nkind = \"library\"\npath = \"{library}\"\n")
    });
    let server = Served::start_with(&home.config(), &[("XDG_RUNTIME_DIR", home.path())]);
    let file = home.path().join("message");
    std::fs::write(&file, "message").unwrap();
    let seen = until_some("the board is down", || {
        let mut sign = home.sign(server.address, "web");
        let output = run(sign.args(["-o", "/dev/null"]).arg(&file), b"");
        assert!(output.status.success(), "{}", stderr(&output));
        let mut once = top(home.path(), &["--once", "--interval", "0.1"]);
        let output = run(&mut once, b"");
        assert!(output.status.success(), "{}", stderr(&output));
        let text = lossy(&output.stdout);
        let line = text
            .lines()
            .find(|line| line.starts_with("odd "))?
            .to_owned();
        line.contains(" down ").then_some(text)
    });
    // The process is marked too.
    let process = seen
        .lines()
        .find(|line| line.contains(&server.child.id().to_string()));
    assert!(process.unwrap().contains("1 down"), "{seen}");
    assert!(seen.contains("cryptoserver: serving"), "{seen}");
}
