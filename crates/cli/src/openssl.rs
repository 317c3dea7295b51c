//! What the machine's `openssl` says of itself.

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

    /// As in "OpenSSL 3.0.19 27 Jan 2026"; nothing where the command is not there.
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

/// A provider as `openssl list -providers` tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// By which the configuration calls it.
    pub(crate) name: String,
    /// Whether it offers anything.
    pub(crate) is_active: bool,
}

/// The providers that programs have which go by `conf`, or why that cannot be told.
pub(crate) fn providers(conf: &Path) -> Result<Vec<Listed>, String> {
    let output = Command::new("openssl")
        .args(["list", "-providers"])
        .env("OPENSSL_CONF", conf)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("openssl: {}", reason(&error)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let said: Vec<_> = said.lines().collect();
        return Err(format!(
            "openssl list -providers failed: {}",
            said.join(" ")
        ));
    }
    let mut listed: Vec<Listed> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(status) = line.trim().strip_prefix("status: ") {
            if let Some(last) = listed.last_mut() {
                last.is_active = status == "active";
            }
        } else if let Some(name) = line.strip_prefix("  ").filter(|it| !it.starts_with(' ')) {
            listed.push(Listed {
                name: name.into(),
                is_active: false,
            });
        }
    }
    Ok(listed)
}
