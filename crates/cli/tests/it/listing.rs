//! `devices`, `completions` and similar subcommands.

use std::fs;
use std::path::Path;

use oarlock_engine::Primitive;
use oarlock_engine::costs::openssl::SIZES;
use serde_json::Value;

use crate::common::{IV, assert_fails, assert_one_line, enc, oarlock, provider, run, stderr};

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

/// Returns the devices that can compute `operation`, after checking the rest of its entry.
fn who_can<'a>(listing: &'a Value, operation: &str) -> Vec<&'a str> {
    let operations = listing["operations"].as_array().unwrap();
    let entry = operations
        .iter()
        .find(|entry| entry["operation"] == operation)
        .unwrap();
    let measured = entry["measured"].as_array().unwrap();
    for one in measured {
        assert_eq!(one["self_test"], "ok", "{one}");
        let rate = one["bytes_per_second"].as_u64().unwrap();
        assert!(rate > 10_000, "{one}");
        // Even a slow backend has several samples, so one interruption does not decide.
        assert!(one["samples"].as_u64().unwrap() >= 9, "{one}");
        let (low, high) = (&one["bytes_per_second_p25"], &one["bytes_per_second_p75"]);
        assert!(
            low.as_u64() <= Some(rate) && Some(rate) <= high.as_u64(),
            "{one}"
        );
    }
    let is_home =
        |one: &&Value| one["device"] == entry["device"] && one["backend"] == entry["backend"];
    assert_eq!(measured.iter().filter(is_home).count(), 1, "{entry}");
    measured
        .iter()
        .map(|one| one["backend"].as_str().unwrap())
        .collect()
}

#[test]
fn devices_lists_what_the_mask_leaves() {
    let all = devices("");
    let backends = who_can(&all, "aes-256-ctr");
    assert!(
        backends.contains(&"portable") && backends.iter().any(|one| one.starts_with("aws-lc")),
        "{backends:?}"
    );
    for operation in ["aes-128-gcm", "chacha20", "chacha20-poly1305"] {
        assert!(
            who_can(&all, operation).contains(&"portable"),
            "{operation}"
        );
    }
    for operation in ["cast5-ctr", "twofish-128-ctr"] {
        assert_eq!(who_can(&all, operation), ["rustcrypto"]);
    }
    for operation in ["camellia-128-ctr", "aria-128-ctr", "sm4-ctr"] {
        let backends = who_can(&all, operation);
        assert!(backends.contains(&"rustcrypto"), "{backends:?}");
    }
    let names: Vec<_> = all["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["cpu", "software"]);
    assert!(all["cpus"].as_u64().unwrap() >= 1);
    assert!(
        all["options"]
            .as_str()
            .unwrap()
            .contains("max_threads=auto")
    );
    let masked = devices("-aes,-avx2");
    // Every x86-64 CPU in use has SSSE3.
    #[cfg(target_arch = "x86_64")]
    assert_eq!(
        who_can(&masked, "chacha20-poly1305"),
        ["ssse3", "aws-lc-sse-no-aes", "portable"]
    );
    let portable = devices("-ssse3");
    assert_eq!(
        who_can(&portable, "chacha20"),
        ["portable", "aws-lc-sse-no-aes"]
    );
    #[cfg(target_arch = "x86_64")]
    assert_eq!(who_can(&masked, "camellia-128-ctr")[0], "permute-ssse3");
    let left = masked["features"].as_array().unwrap();
    assert!(
        left.iter()
            .all(|feature| feature != "aes" && feature != "vaes")
    );
}

/// Returns the names of the ciphers that are offered to OpenSSL, and of those that are not.
fn offered(listing: &Value) -> [Vec<&str>; 2] {
    let all = listing["offered_to_openssl"].as_array().unwrap();
    // No table covers a CPU without AES instructions.
    let is_in_tables = has_aes(listing);
    [true, false].map(|is_offered| {
        let of_these = all.iter().filter(|one| one["is_offered"] == is_offered);
        let names = of_these.inspect(|one| {
            assert_eq!(one["why"].is_string(), !is_offered, "{one}");
            if let Some(primitive) = Primitive::named(one["operation"].as_str().unwrap()) {
                let calls = one["ratios"].as_object().map(|ratios| ratios.len());
                assert!(
                    calls.is_none_or(|calls| calls == primitive.calls().len()),
                    "{one}"
                );
                return;
            }
            if !is_in_tables {
                assert!(one["ratios"].is_null() && one["source"].is_null(), "{one}");
                return;
            }
            assert_eq!(
                one["ratios"].as_object().unwrap().len(),
                SIZES.len(),
                "{one}"
            );
            let source = one["source"].as_str().unwrap();
            assert!(source.starts_with("table of CPU class "), "{one}");
        });
        let names = names.map(|one| one["operation"].as_str().unwrap());
        names
            .filter(|name| Primitive::named(name).is_none())
            .collect()
    })
}

fn has_aes(listing: &Value) -> bool {
    let mut features = listing["features"].as_array().unwrap().iter();
    features.any(|feature| feature == "aes")
}

#[test]
fn what_openssl_does_not_get_is_what_the_provider_withholds() {
    let by_table = |command: &mut std::process::Command, mask: &str| {
        command
            .env_remove("OARLOCK_OPTIONS")
            .env("OARLOCK_CPU", mask);
        let result = run(command, b"");
        String::from_utf8(result.stdout).unwrap()
    };
    for mask in [
        "",
        "-avx512",
        "-avx2,-avx512,-gfni,-vaes",
        "-aes,-gfni,-vaes",
        "-aes,-avx2,-avx512,-gfni,-vaes",
    ] {
        let listing = by_table(oarlock().args(["devices", "--json"]), mask);
        let listing = serde_json::from_str(&listing).unwrap();
        let [offered, withheld] = offered(&listing);
        assert_eq!(offered.len() + withheld.len(), 14, "{listing}");
        assert!(offered.is_empty() || has_aes(&listing), "{listing}");

        // Ask the provider itself, in openssl.
        let mut command = oarlock();
        command.args(["run", "--provider"]).arg(provider());
        command.args([
            "--",
            "openssl",
            "list",
            "-cipher-algorithms",
            "-propquery",
            "provider=oarlock",
        ]);
        let listed = by_table(&mut command, mask).to_lowercase();
        let of_us = listed.lines().filter(|line| line.ends_with("@ oarlock"));
        let of_us: Vec<_> = of_us.collect();
        let is_listed = |name: &&&str| {
            let mut words = of_us
                .iter()
                .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '-'));
            words.any(|word| word == **name)
        };
        assert_eq!(offered.iter().find(|name| !is_listed(name)), None, "{mask}");
        assert_eq!(withheld.iter().find(is_listed), None, "{mask}");
        assert_eq!(of_us.len(), offered.len(), "{mask}: {listed}");

        let mut command = oarlock();
        command.args(["doctor", "-v", "--no-calibrate", "--provider"]);
        let text = by_table(command.arg(provider()), mask);
        for name in &offered {
            assert!(
                text.contains(&format!("\nok   offered        {name} ")),
                "{text}"
            );
        }
        for name in &withheld {
            assert!(
                [' ', ':']
                    .iter()
                    .any(|end| text.contains(&format!("\nnote not offered    {name}{end}"))),
                "{text}"
            );
        }
    }
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
        "des-ede3-ctr",
        "GB/s ±",
        "% *",
        "ok, 0 wrong",
        "compared with OpenSSL ",
        "table of CPU class ",
        "\naes-128-ctr ",
        "max_threads=3",
        "cipher_blocks=32",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Runs `oarlock devices ARGUMENTS --json` with `folder` for caches.
fn devices_with(folder: &Path, arguments: &[&str]) -> (Value, String) {
    let result = run(
        oarlock()
            .arg("devices")
            .args(arguments)
            .arg("--json")
            .env("XDG_CACHE_HOME", folder),
        b"",
    );
    assert!(result.status.success(), "{}", stderr(&result));
    (
        serde_json::from_slice(&result.stdout).unwrap(),
        stderr(&result),
    )
}

#[test]
fn the_plan_says_which_way_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |arguments: &[&str]| {
        let (plan, stderr) = devices_with(folder.path(), &[&["--plan"], arguments].concat());
        assert_eq!(stderr, "");
        plan
    };
    let shown = plan(&[]);
    let entries = shown["operations"].as_array().unwrap();
    assert!(entries.len() > 10, "{shown}");
    let cpus = shown["cpus"].as_u64().unwrap();
    for entry in entries {
        assert!(entry["bytes_per_second"].as_u64().unwrap() > 0, "{entry}");
        let source = entry["source"].as_str().unwrap();
        assert!(
            source == "generic" || source.starts_with("table "),
            "{entry}"
        );
        let why = entry["made_ahead"].as_str().unwrap();
        let is_made_ahead = !entry["made_ahead_from"].is_null();
        assert!(
            why.starts_with(if is_made_ahead { "yes" } else { "no: " }),
            "{entry}"
        );
        let size = |name: &str| entry[name].as_u64();
        let (awake, asleep) = (
            size("striped_from_if_awake"),
            size("striped_from_if_asleep"),
        );
        assert_eq!(awake.is_some(), cpus > 1, "{entry}");
        assert!(
            awake <= asleep && size("looked_at_from") <= awake,
            "{entry}"
        );
    }
    for (options, why) in [
        ("max_threads=0", "no core for a helper"),
        ("strategy=inline", "strategy=inline"),
        ("strategy=prefetch", "strategy=prefetch"),
    ] {
        let shown = plan(&["--options", options]);
        let entry = &shown["operations"][0];
        assert!(entry["striped_from_if_asleep"].is_null(), "{entry}");
        assert!(
            entry["made_ahead"].as_str().unwrap().contains(why),
            "{entry}"
        );
    }
    let text = run(oarlock().args(["devices", "--plan"]), b"").stdout;
    let text = String::from_utf8(text).unwrap();
    for part in ["aes-128-ctr", "keystream made ahead", "stripes", "GB/s"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_calibration_is_stored_and_gone_by() {
    let folder = tempfile::tempdir().unwrap();
    let (costs, stderr) = devices_with(folder.path(), &["--calibrate"]);
    assert_eq!(stderr, "");
    assert!(costs["machine"]["wake_ns"].as_u64().unwrap() > 0);
    let (plan, stderr) = devices_with(folder.path(), &["--plan"]);
    assert_eq!(stderr, "");
    let aes = &plan["operations"][0];
    assert_eq!(aes["source"], "calibrated");
    let measured = costs["operations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["operation"] == aes["operation"] && one["backend"] == aes["backend"]);
    assert_eq!(
        measured.unwrap()["bytes_per_second"],
        aes["bytes_per_second"]
    );

    // A damaged file is reported here, and by no other subcommand.
    let path = folder.path().join("oarlock/calibration.json");
    fs::write(&path, "{").unwrap();
    let (plan, stderr) = devices_with(folder.path(), &["--plan"]);
    assert_ne!(plan["operations"][0]["source"], "calibrated");
    assert_one_line(&stderr, &["calibration.json", "damaged"]);
    let mut enc = enc(128, IV);
    let result = run(enc.env("XDG_CACHE_HOME", folder.path()), b"data");
    assert!(result.status.success() && result.stderr.is_empty());
}

#[test]
fn a_calibration_that_cannot_be_stored_is_shown_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let no_folder = folder.path().join("file");
    fs::write(&no_folder, "").unwrap();
    let result = run(
        oarlock()
            .args(["devices", "--calibrate"])
            .env("XDG_CACHE_HOME", &no_folder),
        b"",
    );
    assert_fails(&result, 1, &["file/oarlock", "not stored"]);
    assert!(String::from_utf8(result.stdout).unwrap().contains("GB/s"));
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
