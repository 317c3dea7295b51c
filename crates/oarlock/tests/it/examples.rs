//! The examples of the documentation, run as a reader runs them.

use std::process::Output;

use oarlock_testing::process::example;

fn succeeded(name: &str, output: Output) -> String {
    let [said, faults] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{name}: {said}{faults}");
    said
}

fn run(name: &str, arguments: &[&str]) -> String {
    succeeded(name, example(name).args(arguments).output().unwrap())
}

#[test]
fn seal_opens_what_it_sealed_and_refuses_the_rest() {
    let said = run("seal", &["2"]);
    for line in [
        "sealed 2 MiB",
        "refused the altered message",
        "opened 2 MiB",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn a_device_of_ones_own_may_break_down() {
    let said = run("own_device", &[]);
    let devices: Vec<_> = said
        .lines()
        .map(|line| line.rsplit(' ').next().unwrap())
        .collect();
    // The board serves three requests; another device serves the rest.
    assert_eq!(devices[..3], ["board"; 3], "{said}");
    assert_eq!(devices.len(), 5, "{said}");
    assert!(!devices[3..].contains(&"board"), "{said}");
}

#[cfg(feature = "legacy")]
#[test]
fn prefetch_has_keystream_ready() {
    let said = run("prefetch", &["50"]);
    let made = said
        .lines()
        .find(|line| line.contains("made ahead") && line.contains("bytes"));
    let bytes: usize = made.unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(bytes > 0, "{said}");
}

#[cfg(feature = "rsa")]
mod rsa {
    use std::io::Write;
    use std::process::Stdio;

    use oarlock::Accelerator;
    use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};

    use super::*;
    use crate::common::keys;

    const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/rsa2048.pem");

    #[test]
    fn sign_signs_each_line() {
        let mut command = example("sign");
        command
            .arg(KEY)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"one\ntwo\nthree\n").unwrap();
        drop(input);
        let said = succeeded("sign", child.wait_with_output().unwrap());
        let mut lines: Vec<_> = said.lines().collect();
        lines.sort_unstable();

        let key = RsaPrivateKey::from_pem(keys::RSA2048).unwrap();
        let rsa = Accelerator::builder().build().unwrap().rsa(&key);
        let expected = ["one", "three", "two"].map(|line| {
            let signature = rsa.sign(SignatureScheme::Pkcs1(Hash::Sha256), line.as_bytes());
            let hex = signature
                .unwrap()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>();
            format!("{line}: {hex}")
        });
        assert_eq!(lines, expected);
    }

    #[test]
    fn sign_says_what_it_lacks() {
        for (arguments, part) in [
            (&[][..], "usage: sign KEY.PEM"),
            (&["/nonexistent"], "/nonexistent: "),
        ] {
            let output = example("sign").args(arguments).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && said.contains(part), "{said}");
        }
    }

    #[test]
    fn async_sign_serves_more_tasks_than_the_queue_takes() {
        let said = run("async_sign", &[KEY, "1500"]);
        assert!(said.starts_with("1500 signatures in "), "{said}");
    }
}
