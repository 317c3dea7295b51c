//! Versions of programs, as they print them.

use std::process::{Command, Stdio};

use super::setup::Setup;
use super::{files, ssh};

/// Returns the versions of all compared programs.
pub(super) fn versions(setup: &Setup) -> Vec<String> {
    let version = |program: &str, args: &[&str]| {
        let output = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .output();
        let output = output.ok()?;
        // ssh prints it on standard error.
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        text.lines().next().map(str::to_owned)
    };
    let mut versions = vec![concat!("oarlock ", env!("CARGO_PKG_VERSION")).to_owned()];
    versions.extend(version("openssl", &["version"]));
    if !setup.has_provider() {
        versions.extend(files::versions(&version));
        return versions;
    }
    let hpn = setup.hpn_ssh.as_ref().map(|folder| {
        let program = ssh::hpn_client(folder);
        (program.to_string_lossy().into_owned(), ["-V"])
    });
    versions.extend(version("ssh", &["-V"]));
    versions.extend(hpn.and_then(|(program, args)| version(&program, &args)));
    versions
}
