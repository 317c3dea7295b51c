//! The machine's `openssl` command, and what it reports.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::reason;

/// The OpenSSL that the `openssl` command belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Installed {
    version: Option<String>,
    folder: Option<PathBuf>,
    modules: Option<PathBuf>,
}

impl Installed {
    /// Runs the command, without a configuration that might stop it.
    pub(crate) fn find() -> Self {
        Self::asked(&["-v", "-d", "-m"])
            // 1.1 has no `-m`.
            .or_else(|| Self::asked(&["-v", "-d"]))
            .unwrap_or_default()
    }

    /// Returns the configuration that programs read by default.
    pub(crate) fn configuration(&self) -> PathBuf {
        let folder = self.folder.as_deref().unwrap_or(Path::new("/etc/ssl"));
        folder.join("openssl.cnf")
    }

    /// Returns the version, as in "OpenSSL 3.0.19 27 Jan 2026"; `None` if the command is missing.
    pub(crate) fn version(&self) -> Option<String> {
        self.version.clone()
    }

    /// Returns the folder in which OpenSSL finds providers by name.
    pub(crate) fn modules(&self) -> Option<&Path> {
        self.modules.as_deref()
    }

    fn asked(what: &[&str]) -> Option<Self> {
        let output = Command::new("openssl")
            .arg("version")
            .args(what)
            .env("OPENSSL_CONF", "/dev/null")
            .stdin(Stdio::null())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let folder = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(PathBuf::from(line.trim().trim_matches('"')))
        };
        Some(Self {
            // The part in brackets is the library's version, which differs only if installations are mixed.
            version: text
                .lines()
                .next()
                .and_then(|line| line.split(" (").next())
                .map(Into::into),
            folder: folder("OPENSSLDIR:"),
            modules: folder("MODULESDIR:"),
        })
    }
}

/// A provider as `openssl list -providers` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedProvider {
    /// Its name in the configuration.
    pub(crate) name: String,
    /// Whether it offers anything.
    pub(crate) is_active: bool,
}

/// Returns the providers of programs that read `conf`, or why they cannot be listed.
pub(crate) fn providers(conf: &Path) -> Result<Vec<ListedProvider>, String> {
    let text = list(
        Command::new("openssl")
            .args(["list", "-providers"])
            .env("OPENSSL_CONF", conf),
    )?;
    let mut listed: Vec<ListedProvider> = Vec::new();
    for line in text.lines() {
        if let Some(status) = line.trim().strip_prefix("status: ") {
            if let Some(last) = listed.last_mut() {
                last.is_active = status == "active";
            }
        } else if let Some(name) = line.strip_prefix("  ").filter(|it| !it.starts_with(' ')) {
            listed.push(ListedProvider {
                name: name.into(),
                is_active: false,
            });
        }
    }
    Ok(listed)
}

/// Returns the number in "OpenSSL 3.0.19 27 Jan 2026".
pub(crate) fn number(version: &str) -> &str {
    version.split(' ').nth(1).unwrap_or_default()
}

/// Whether an OpenSSL of this version, as in "OpenSSL 3.0.17", has providers.
pub(crate) fn has_providers(version: &str) -> bool {
    version.strip_prefix("OpenSSL ").is_some_and(is_3_or_later)
}

/// Whether a version of OpenSSL itself prefers hybrids of ML-KEM and a curve, as it does since 3.5.
pub(crate) fn has_hybrid_groups(version: &str) -> bool {
    let Some(version) = version.strip_prefix("OpenSSL ") else {
        return false;
    };
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let release = [(); 2].map(|()| numbers.next().unwrap_or(0_u32));
    release >= [3, 5]
}

/// Whether a library has providers, by the name that programs are linked with. From 3.0 on it has the number of the release.
pub(crate) fn file_has_providers(name: &str) -> bool {
    name.strip_prefix("libcrypto.so.")
        .is_some_and(is_3_or_later)
}

/// Whether a version is 3 or later. Red Hat numbers 1.0 as 10, and LibreSSL numbers its own from 30 on.
fn is_3_or_later(version: &str) -> bool {
    let major = version.split('.').next().unwrap_or_default();
    major
        .parse()
        .is_ok_and(|major: u32| (3..10).contains(&major))
}

/// Checks that OpenSSL accepts the file as a provider. The error says why not.
pub(crate) fn loads(module: &Path) -> Result<(), String> {
    let mut command = Command::new("openssl");
    command
        .args(["list", "-providers", "-provider"])
        .arg(module);
    list(command.env("OPENSSL_CONF", "/dev/null")).map(drop)
}

/// Returns the list, or the errors that were printed in its place.
fn list(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("openssl: {}", reason(&error)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    if let Some(signal) = output.status.signal() {
        return Err(format!("openssl list -providers: ended by signal {signal}"));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let said: Vec<_> = said.lines().filter_map(reason_told).collect();
    Err(format!("openssl list -providers: {}", said.join("; ")))
}

/// Returns the readable part of a line such as "4020C4:error:07000071:configuration file routines:module_run:unknown module
/// name:conf_mod.c:264:data"; `None` for other lines.
fn reason_told(line: &str) -> Option<String> {
    let (_, told) = line.split_once(":error:")?;
    let fields: Vec<_> = told.splitn(7, ':').collect();
    Some(match fields[..] {
        [_, _, _, reason, _, _, data] if !data.is_empty() => format!("{reason} ({data})"),
        [_, _, _, reason, ..] => reason.into(),
        _ => told.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_came_with_3_0() {
        for (version, expected) in [
            ("OpenSSL 1.1.1w", false),
            ("OpenSSL 3.0.19", true),
            ("OpenSSL 4.0.3", true),
            ("LibreSSL 4.0.0", false),
        ] {
            assert_eq!(has_providers(version), expected, "{version}");
        }
        for (file, expected) in [
            ("libcrypto.so.1.1", false),
            ("libcrypto.so.10", false),
            ("libcrypto.so.3", true),
            ("libcrypto.so.4", true),
            ("libcrypto.so.46", false),
            ("libcrypto.so", false),
        ] {
            assert_eq!(file_has_providers(file), expected, "{file}");
        }
    }
}
