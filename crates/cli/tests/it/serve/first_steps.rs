//! The first steps of docs/cryptoserver.md, exactly as the page prints them.

use std::fs;
use std::path::Path;
use std::process::Command;

use oarlock_testing::skip;

use crate::common::{run, stderr};

#[test]
fn the_first_steps_of_the_page_work_as_printed() {
    // A separate network has the ports of the steps free.
    let mut probe = Command::new("unshare");
    let probe = probe.args(["--net", "--map-root-user", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return skip("this user may make no network of its own");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/cryptoserver.md")).unwrap();
    let (_, steps) = page.split_once("\n## First steps\n").unwrap();
    let (_, steps) = steps.split_once("```text\n").unwrap();
    let (steps, _) = steps.split_once("```\n").unwrap();
    assert!(steps.contains("oarlock serve") && steps.contains("openssl dgst"));

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("README.md"), &page).unwrap();
    let script = format!(
        "set -e\nip link set lo up\ntrap 'kill %1' EXIT\n{steps}\n\
         ! oarlock sign --remote localhost:7443 --pki demo --key web -o README.md README.md\n\
         oarlock verify --public-key web.pub.pem --signature README.sig README.md\n\
         echo changed >> README.md\n! openssl dgst -sha256 -verify web.pub.pem -signature README.sig README.md\n"
    );
    let commands = Path::new(env!("CARGO_BIN_EXE_oarlock")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("unshare");
    shell
        .args([
            "--net",
            "--map-root-user",
            "timeout",
            "60",
            "bash",
            "-c",
            &script,
        ])
        .env("PATH", format!("{}:{path}", commands.display()))
        .current_dir(folder.path());
    let output = run(&mut shell, b"");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", stderr(&output));
    assert!(
        stderr(&output).contains("README.md: is the file to sign"),
        "{}",
        stderr(&output)
    );
    for line in [
        "good signature\n",
        "Verified OK\n",
        "Verification failure\n",
    ] {
        assert!(said.contains(line), "{line:?} is not in {said}");
    }
}
