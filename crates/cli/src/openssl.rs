//! What the machine's `openssl` says of itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The OpenSSL that the `openssl` command belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Installed {
    folder: Option<PathBuf>,
    modules: Option<PathBuf>,
}

impl Installed {
    /// Asks the command, with no configuration that might stop it.
    pub(crate) fn find() -> Self {
        Self::asked(&["-d", "-m"])
            // 1.1 knows of no modules.
            .or_else(|| Self::asked(&["-d"]))
            .unwrap_or_default()
    }

    /// Where programs look for their configuration when nothing names one.
    pub(crate) fn configuration(&self) -> PathBuf {
        let folder = self.folder.as_deref().unwrap_or(Path::new("/etc/ssl"));
        folder.join("openssl.cnf")
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
            folder: folder("OPENSSLDIR:"),
            modules: folder("MODULESDIR:"),
        })
    }
}
