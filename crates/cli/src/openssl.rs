//! What the machine's `openssl` says about itself.

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
    /// Asks the command, with no configuration that might stop it.
    pub(crate) fn find() -> Self {
        Self::asked(&["-v", "-d", "-m"])
            // 1.1 knows of no modules.
            .or_else(|| Self::asked(&["-v", "-d"]))
            .unwrap_or_default()
    }

    /// Where programs look for their configuration when nothing names one.
    pub(crate) fn configuration(&self) -> PathBuf {
        let folder = self.folder.as_deref().unwrap_or(Path::new("/etc/ssl"));
        folder.join("openssl.cnf")
    }

    /// As in "OpenSSL 3.0.19 27 Jan 2026"; `None` if the command is missing.
    pub(crate) fn version(&self) -> Option<String> {
        self.version.clone()
    }

    /// Where providers are looked for by name.
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
            // What follows in brackets is the library's, the same unless both were mixed up.
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

/// The providers of programs that read `conf`, or why they cannot be listed.
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

/// The number in "OpenSSL 3.0.19 27 Jan 2026".
pub(crate) fn number(version: &str) -> &str {
    version.split(' ').nth(1).unwrap_or_default()
}

/// Whether an OpenSSL of this version, as in "OpenSSL 3.0.17", has providers.
pub(crate) fn has_providers(version: &str) -> bool {
    version.strip_prefix("OpenSSL ").is_some_and(is_3_or_later)
}

/// Whether a version of OpenSSL prefers hybrids of ML-KEM and a curve by itself: since 3.5.
pub(crate) fn has_hybrid_groups(version: &str) -> bool {
    let Some(version) = version.strip_prefix("OpenSSL ") else {
        return false;
    };
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let release = [(); 2].map(|()| numbers.next().unwrap_or(0_u32));
    release >= [3, 5]
}

/// The same of a library by the name that programs are linked with. From 3.0 on its number is that of
/// the release.
pub(crate) fn file_has_providers(name: &str) -> bool {
    name.strip_prefix("libcrypto.so.")
        .is_some_and(is_3_or_later)
}

/// Red Hat numbers 1.0 as 10, and LibreSSL numbers its own from 30 on.
fn is_3_or_later(version: &str) -> bool {
    let major = version.split('.').next().unwrap_or_default();
    major
        .parse()
        .is_ok_and(|major: u32| (3..10).contains(&major))
}

/// Whether OpenSSL accepts the file as a provider; if not, why.
pub(crate) fn loads(module: &Path) -> Result<(), String> {
    let mut command = Command::new("openssl");
    command
        .args(["list", "-providers", "-provider"])
        .arg(module);
    list(command.env("OPENSSL_CONF", "/dev/null")).map(drop)
}

/// The list, or the errors in its place.
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

/// Returns the part for people of a line such as "4020C4:error:07000071:configuration file
/// routines:module_run:unknown module name:conf_mod.c:264:data"; nothing of other lines.
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
