//! The certificates that a server's configuration names, and the types of their keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A certificate and the type of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificate {
    pub(super) path: PathBuf,
    /// The type of its key, as in "RSA-2048" or "P-256".
    pub(super) key: String,
}

impl Certificate {
    pub(super) fn is_rsa(&self) -> bool {
        self.key.starts_with("RSA")
    }

    /// Reads a certificate; `None` if that fails or the file has none.
    fn read(path: PathBuf) -> Option<Self> {
        // The openssl command reads every form that this machine's servers do.
        let output = Command::new("openssl")
            .args(["x509", "-noout", "-text", "-in"])
            .arg(&path)
            .env("OPENSSL_CONF", "/dev/null")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let key = key(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { path, key })
    }
}

/// A server whose configuration this command understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Server {
    Apache,
    Haproxy,
    Nginx,
}

impl Server {
    pub(super) fn named(program: &str) -> Option<Self> {
        match program {
            "apache2" | "httpd" => Some(Self::Apache),
            "haproxy" => Some(Self::Haproxy),
            "nginx" => Some(Self::Nginx),
            _ => None,
        }
    }

    /// Returns the configured certificates. There are none if the configuration is missing or names none that this user may
    /// read.
    pub(super) fn certificates(self) -> Vec<Certificate> {
        let mut found = Vec::new();
        self.each_statement(&mut |root, words| self.collect(root, words, &mut found));
        found.sort();
        found.dedup();
        found.truncate(CERTIFICATES_MAX);
        found.into_iter().filter_map(Certificate::read).collect()
    }

    fn configurations(self) -> &'static [&'static str] {
        match self {
            Self::Apache => &["/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf"],
            Self::Haproxy => &["/etc/haproxy/haproxy.cfg"],
            Self::Nginx => &["/etc/nginx/nginx.conf"],
        }
    }

    /// Visits the words of each statement of the configuration, with the folder that relative paths start at.
    pub(super) fn each_statement(self, visit: &mut dyn FnMut(&Path, &[&str])) {
        for file in self.configurations() {
            let file = Path::new(file);
            // Apache's ServerRoot, on Debian and Red Hat.
            let root = file.parent().unwrap_or(file);
            let root = match root.ends_with("conf") {
                true => root.parent().unwrap_or(root),
                false => root,
            };
            self.follow(file, root, 0, visit);
        }
    }

    /// Visits the statements of `file` and of the files that it includes.
    fn follow(self, file: &Path, root: &Path, depth: usize, visit: &mut dyn FnMut(&Path, &[&str])) {
        let Ok(text) = fs::read_to_string(file) else {
            return;
        };
        for words in statements(&text) {
            visit(root, &words);
            let included = match self {
                Self::Apache => {
                    after(&words, "Include").or_else(|| after(&words, "IncludeOptional"))
                }
                Self::Haproxy => None,
                Self::Nginx => after(&words, "include"),
            };
            if let Some(pattern) = included
                && depth < DEPTH_MAX
            {
                for file in matching(&root.join(pattern)) {
                    self.follow(&file, root, depth + 1, visit);
                }
            }
        }
    }

    /// Adds the paths of certificates that a statement names.
    fn collect(self, root: &Path, words: &[&str], found: &mut Vec<PathBuf>) {
        let certificate = after(
            words,
            match self {
                Self::Apache => "SSLCertificateFile",
                Self::Haproxy => "crt",
                Self::Nginx => "ssl_certificate",
            },
        );
        match certificate.map(|path| root.join(path)) {
            Some(folder) if folder.is_dir() => found.extend(matching(&folder.join("*"))),
            Some(path) => found.push(path),
            None => {}
        }
    }
}

/// Returns the word that follows `name` in a statement.
pub(super) fn after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let is_it = |word: &&str| word.eq_ignore_ascii_case(name);
    let at = words.iter().position(is_it)?;
    words.get(at + 1).copied()
}

/// Returns the words of each statement. A statement ends at a line break, a semicolon or a brace; comments are skipped.
fn statements(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let statements = lines.flat_map(|line| line.split([';', '{', '}']));
    statements.map(|one| {
        let words = one.split_whitespace();
        words.map(|word| word.trim_matches(['"', '\''])).collect()
    })
}

/// Returns the files whose names match a pattern with at most one `*`, in its last part.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let Some((before, after)) = name.split_once('*') else {
        return vec![pattern.into()];
    };
    let listed = pattern.parent().map(fs::read_dir);
    let Some(Ok(listed)) = listed else {
        return Vec::new();
    };
    let mut found: Vec<_> = listed
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        })
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .take(FILES_MAX)
        .collect();
    found.sort();
    found
}

/// Returns the type and size of the key, from the output of `openssl x509 -text`.
fn key(text: &str) -> Option<String> {
    let value = |name: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find_map(|line| line.strip_prefix(name).map(str::trim))
    };
    let algorithm = value("Public Key Algorithm:")?;
    let bits = value("Public-Key:").or_else(|| value("RSA Public-Key:"));
    let bits = bits.map_or("", |bits| bits.trim_matches(['(', ')']));
    let bits = bits.strip_suffix(" bit").unwrap_or(bits);
    Some(match algorithm {
        "rsaEncryption" | "rsassaPss" => format!("RSA-{bits}"),
        "id-ecPublicKey" => match value("NIST CURVE:").or_else(|| value("ASN1 OID:")) {
            Some(curve) => curve.into(),
            None => "EC".into(),
        },
        other => other.into(),
    })
}

/// Stops a configuration that includes itself.
const DEPTH_MAX: usize = 4;
const FILES_MAX: usize = 256;
/// On a host with thousands of sites, the first of them have the same types of keys.
const CERTIFICATES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_followed_to_their_certificates() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("sites")).unwrap();
        fs::create_dir_all(path("many")).unwrap();
        for (name, text) in [
            (
                "nginx.conf",
                "http { include sites/*.conf; include nginx.conf; }\n",
            ),
            (
                "sites/a.conf",
                "server { listen 443 ssl; ssl_certificate /a.pem; # ssl_certificate /no.pem;\n}",
            ),
            ("sites/b.other", "ssl_certificate /no.pem;"),
            ("apache.conf", "IncludeOptional sites/*.site\n"),
            (
                "sites/c.site",
                "  SSLCertificateFile \"/c.pem\"\n#SSLCertificateFile /no.pem\n",
            ),
            (
                "haproxy.cfg",
                "frontend f\n  bind :443 ssl crt /h.pem alpn h2\n  bind :444 ssl crt many\n",
            ),
            ("many/x.pem", ""),
        ] {
            fs::write(path(name), text).unwrap();
        }
        for (server, file, expected) in [
            (Server::Nginx, "nginx.conf", vec![PathBuf::from("/a.pem")]),
            (Server::Apache, "apache.conf", vec!["/c.pem".into()]),
            (
                Server::Haproxy,
                "haproxy.cfg",
                vec!["/h.pem".into(), path("many/x.pem")],
            ),
            (Server::Nginx, "none.conf", vec![]),
        ] {
            let mut found = Vec::new();
            let mut visit = |root: &Path, words: &[&str]| server.collect(root, words, &mut found);
            server.follow(&path(file), folder.path(), 0, &mut visit);
            found.sort();
            found.dedup();
            assert_eq!(found, expected, "{file}");
        }
    }

    #[test]
    fn kinds_of_keys_are_told_apart() {
        for (text, expected) in [
            (
                "    Public Key Algorithm: rsaEncryption\n        Public-Key: (2048 bit)\n",
                Some("RSA-2048"),
            ),
            (
                "Public Key Algorithm: id-ecPublicKey\n Public-Key: (256 bit)\n ASN1 OID: prime256v1\n NIST CURVE: P-256\n",
                Some("P-256"),
            ),
            ("Public Key Algorithm: ED25519\n", Some("ED25519")),
            ("unable to load certificate", None),
        ] {
            assert_eq!(key(text).as_deref(), expected, "{text}");
        }
    }
}
