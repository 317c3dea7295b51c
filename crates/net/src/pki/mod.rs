//! A certificate authority for tests and first steps, with certificates for servers and clients.

mod authority;
mod files;
mod revocation;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use rustls_pki_types::ServerName;
use zeroize::Zeroizing;

use self::authority::Subject;
pub use self::authority::{Authority, Written};
use self::files::File;
pub use self::rules::PkiError;
use self::rules::{CA, SERVER, check_client, check_days, new_key, taken};

/// The certificates to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PkiRequest {
    /// DNS names and IP addresses of the server; at least one.
    pub server_names: Vec<String>,
    /// Identities of clients. Each one's certificate goes to a file of that name.
    pub clients: Vec<String>,
    /// The validity in days: 1 to 36500.
    pub days: u32,
}

impl PkiRequest {
    /// Writes `ca.pem`, `server.pem` and a `.pem` for each client into `directory`, which it creates if necessary. The key
    /// of each certificate (ECDSA on P-256, PKCS#8) goes next to it, into a `.key` that only its owner may read. `crl.pem`
    /// is an empty revocation list, and `issued.pem` is the record that [`Authority::revoke`] uses. Returns the paths.
    ///
    /// # Errors
    /// Names what cannot be created. It overwrites nothing, and removes the files that it had written.
    pub fn init(&self, directory: &Path) -> Result<Vec<PathBuf>, PkiError> {
        self.check()?;
        let path = |name: &str, extension: &str| directory.join(format!("{name}.{extension}"));
        let (authority, own) = Authority::new(directory, self.days)?;
        let mut made = vec![
            File::public(path(CA, "pem"), &own),
            File::secret(path(CA, "key"), authority.key()),
        ];
        let mut issued = String::new();
        let mut issue = |file: &str, subject: &Subject| {
            let key = new_key()?;
            let certificate = authority.issue(subject, &key, self.days)?;
            made.push(File::public(path(file, "pem"), &certificate));
            made.push(File::secret(path(file, "key"), &key));
            issued.push_str(&certificate);
            Ok::<_, PkiError>(())
        };
        issue(SERVER, &Subject::server(&self.server_names)?)?;
        for client in &self.clients {
            issue(client, &Subject::client(client)?)?;
        }
        let list = authority.empty_list()?;
        made.push(File::public(directory.join(revocation::FILE), &list));
        made.push(File::public(directory.join(authority::ISSUED), &issued));
        fs::create_dir_all(directory).map_err(|error| PkiError::file(directory, error))?;
        files::write_new(&made)?;
        Ok(made.into_iter().map(|file| file.path).collect())
    }

    fn check(&self) -> Result<(), PkiError> {
        if self.server_names.is_empty() {
            return Err(PkiError::new(
                "no server name: give a DNS name or an IP address",
            ));
        }
        for name in &self.server_names {
            if ServerName::try_from(&name[..]).is_err() {
                let what = format!("{name:?} is neither a DNS name nor an IP address");
                return Err(PkiError::new(what));
            }
        }
        for (i, name) in self.clients.iter().enumerate() {
            check_client(name)?;
            if self.clients[..i].contains(name) {
                return Err(taken(name));
            }
        }
        check_days(self.days)
    }
}

/// Generates an RSA key of 2048, 3072 or 4096 bits, as PKCS#8 PEM.
///
/// # Errors
/// Fails for another size, or if generation fails.
pub fn new_rsa_key(bits: usize) -> Result<Zeroizing<String>, PkiError> {
    let size = match bits {
        2048 => RsaKeySize::_2048,
        3072 => RsaKeySize::_3072,
        4096 => RsaKeySize::_4096,
        bits => {
            let what = format!("{bits} bits: choose 2048, 3072 or 4096");
            return Err(PkiError::new(what));
        }
    };
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size)?;
    Ok(Zeroizing::new(key.serialize_pem()))
}
