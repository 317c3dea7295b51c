//! `devices`, `completions` and the like.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{assert_fails, oarlock, run, stderr};
use serde_json::Value;

fn devices(mask: &str) -> Value {
    let result = run(
        oarlock()
            .args(["devices", "--json"])
            .env("OARLOCK_CPU", mask),
        b"",
    );
    assert!(result.status.success(), "{}", stderr(&result));
    let text = String::from_utf8(result.stdout).unwrap();
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).unwrap()
}

fn names(entries: &Value) -> Vec<&str> {
    let entries = entries.as_array().unwrap();
    for entry in entries {
        assert_eq!(entry["self_test"], "ok", "{entry}");
        let rates = entry["measured"].as_array().unwrap();
        assert_eq!(rates.len(), 3, "{entry}");
        for rate in rates {
            assert!(
                rate["bytes_per_second"].as_u64().unwrap() > 1_000_000,
                "{entry}"
            );
        }
    }
    entries
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

#[test]
fn devices_lists_what_the_mask_leaves() {
    let all = devices("");
    assert_eq!(names(&all["backends"]).last(), Some(&"portable"));
    assert_eq!(names(&all["devices"]), ["cpu", "software"]);
    assert!(all["cpus"].as_u64().unwrap() >= 1);
    assert!(
        all["options"]
            .as_str()
            .unwrap()
            .contains("max_threads=auto")
    );
    let masked = devices("-aes,-avx2");
    assert_eq!(names(&masked["backends"]), ["portable"]);
    let left = masked["features"].as_array().unwrap();
    assert!(
        left.iter()
            .all(|feature| feature != "aes" && feature != "vaes")
    );
}

#[test]
fn devices_shows_the_same_to_people() {
    let result = run(
        oarlock().args(["devices", "--options", "max_threads=3,cipher_blocks=32"]),
        b"",
    );
    assert!(result.status.success(), "{}", stderr(&result));
    let text = String::from_utf8(result.stdout).unwrap();
    for part in [
        "portable",
        "software",
        "GB/s",
        "ok",
        "max_threads=3",
        "cipher_blocks=32",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let result = run(
        oarlock().args(["devices", "--options", "cipher_blocks=8"]),
        b"",
    );
    assert_fails(&result, 2, &["cipher_blocks=8", "multiple of 16"]);
    let result = run(oarlock().arg("devices").env("OARLOCK_CPU", "-sse9"), b"");
    assert_fails(&result, 2, &["oarlock: OARLOCK_CPU", "-sse9"]);
    let result = run(oarlock().arg("bench").env("OARLOCK_CPU", "-sse9"), b"");
    assert_fails(&result, 2, &["oarlock: OARLOCK_CPU", "-sse9"]);
    assert!(!stderr(&result).contains("oarlock: oarlock"));
    let result = oarlock()
        .arg("devices")
        .stdout(
            std::fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        )
        .output()
        .unwrap();
    assert_fails(&result, 1, &["standard output", "No space left"]);
}

#[test]
fn completions_help_and_version_are_there() {
    for shell in ["bash", "zsh", "fish"] {
        let result = run(oarlock().args(["completions", shell]), b"");
        let text = String::from_utf8(result.stdout).unwrap();
        assert!(
            text.contains("oarlock") && text.contains("cipher"),
            "{shell}"
        );
    }
    assert_fails(
        &run(oarlock().args(["completions", "dos"]), b""),
        2,
        &["dos"],
    );
    let version = run(oarlock().arg("--version"), b"");
    let expected = concat!("oarlock ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(version.stdout).unwrap(), expected);
    for arguments in [&["--help"][..], &["enc", "--help"], &["devices", "--help"]] {
        let result = run(oarlock().args(arguments), b"");
        assert!(result.status.success());
        assert!(
            String::from_utf8(result.stdout)
                .unwrap()
                .contains("Usage: oarlock")
        );
    }
}
