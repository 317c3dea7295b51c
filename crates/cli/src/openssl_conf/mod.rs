//! OpenSSL's configuration: the place of the user's own, and of those that add to it (`kept.rs`).
//! `oarlock_programs::openssl_conf` parses configurations and defines the additions.

mod kept;

use std::ffi::OsStr;
use std::fs::{Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

pub(crate) use self::kept::Kept;
pub(crate) use oarlock_programs::openssl_conf::{
    Additions, Broken, Conf, Daemons, OLDER_TEXT, PostQuantum, ProviderSection, Untouched,
    excludes_oarlock, fits_a_line, groups_of, newer_alone, newer_name, older_name, quoted,
};
use oarlock_programs::openssl_conf::{Files, SECTION, Source, contents};

use crate::failure::{Failure, reason};
use crate::openssl::{self, Installed};

/// The configuration that programs read without Oarlock.
#[derive(Debug)]
pub(crate) struct UserConf {
    /// Its path; `None` if there is no configuration.
    pub(crate) path: Option<PathBuf>,
    /// Its content; empty if there is no configuration.
    pub(crate) read: Result<Conf, Broken>,
    bytes: Vec<u8>,
    /// Whether it can be read only once, like a pipe.
    reads_but_once: bool,
    /// Whether any user may read it.
    is_public: bool,
    /// Whether it is the default configuration of OpenSSL 3. Other libraries have default files of their own.
    is_of_openssl_3: bool,
}

impl UserConf {
    /// Finds it as OpenSSL does: what `OPENSSL_CONF` names, else `openssl.cnf` in OpenSSL's folder.
    pub(crate) fn find() -> Self {
        match std::env::var_os("OPENSSL_CONF") {
            Some(path) if path.is_empty() => Self::none(),
            Some(path) => Self::at(Path::new(&path)),
            None => {
                let installed = Installed::find();
                let version = installed.version().unwrap_or_default();
                Self {
                    is_of_openssl_3: openssl::has_providers(&version),
                    ..Self::at(&installed.configuration())
                }
            }
        }
    }

    /// Reads the configuration at `path`; an empty one if nothing is there.
    pub(crate) fn at(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let Ok(metadata) = path.metadata() else {
            return Self::none();
        };
        let reads_but_once = reads_but_once(&metadata);
        let contents = match reads_but_once {
            true => std::fs::read(&path),
            false => contents(&path),
        };
        let (read, bytes) = match contents {
            Ok(bytes) => (Conf::parse(&path, &bytes), bytes),
            Err(error) => (Err(Broken::unread(&path, reason(&error))), Vec::new()),
        };
        Self {
            is_public: kept::is_public(&path),
            path: Some(path),
            read,
            bytes,
            reads_but_once,
            is_of_openssl_3: false,
        }
    }

    /// Returns the configuration of a user without one.
    pub(crate) fn none() -> Self {
        Self {
            path: None,
            read: Conf::parse(Path::new(""), b""),
            bytes: Vec::new(),
            reads_but_once: false,
            is_public: true,
            is_of_openssl_3: false,
        }
    }

    /// Whether it already names the provider, as after an installation.
    pub(crate) fn has_provider(&self) -> bool {
        let conf = self.read.as_ref().ok();
        conf.is_some_and(|conf| conf.value(SECTION, b"module").is_some())
    }

    /// Whether it makes programs agree on keys by ML-KEM.
    pub(crate) fn is_post_quantum(&self) -> bool {
        let conf = self.read.as_ref().ok();
        conf.is_some_and(|conf| conf.value(SECTION, b"post-quantum").is_some())
    }

    /// Returns the groups that it lists for all contexts of TLS.
    pub(crate) fn groups(&self) -> Option<String> {
        let list = groups_of(self.read.as_ref().ok()?)?;
        Some(String::from_utf8_lossy(list).into_owned())
    }

    /// Returns the socket of `oarlock local`, if it names one for the provider.
    pub(crate) fn daemon(&self) -> Option<&Path> {
        let conf = self.read.as_ref().ok()?;
        let path = conf.value(SECTION, b"local")?;
        Some(Path::new(OsStr::from_bytes(path)))
    }

    /// Returns what to add to it, or why it is left alone.
    pub(crate) fn additions(&self, provider: &ProviderSection<'_>) -> Result<Additions, Untouched> {
        match &self.read {
            Ok(conf) => Additions::to(conf, provider),
            Err(broken) => Err(Untouched::Broken(broken.to_string())),
        }
    }

    /// Writes a configuration into `folder` that includes this one and adds to it. Everybody may read it, because commands
    /// may change their user. Returns its path.
    pub(crate) fn write_with(
        &self,
        additions: &Additions,
        folder: &Path,
    ) -> Result<PathBuf, Failure> {
        let files = Files::of(self.source(), additions, folder, "openssl");
        for file in files.all() {
            let path = folder.join(&file.name);
            write(&path, &file.bytes, file.mode)
                .map_err(|error| Failure::new(format!("{}: {}", path.display(), reason(&error))))?;
        }
        Ok(folder.join(&files.main.name))
    }

    /// Writes the same configuration where it outlasts this process and the returned value; `None` if this user has no such place.
    pub(crate) fn keep_with(&self, additions: &Additions) -> Option<Kept> {
        let source = self.source();
        kept::keep(|folder, stem| Files::of(source, additions, folder, stem))
    }

    fn source(&self) -> Source<'_> {
        Source {
            path: self.path.as_deref(),
            bytes: &self.bytes,
            of_openssl_3: self.read.as_ref().ok().filter(|_| self.is_of_openssl_3),
            reads_but_once: self.reads_but_once,
            is_public: self.is_public,
        }
    }
}

/// Writes a new file with this mode, whatever the umask is.
fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))
}

/// Whether a file can be read only once, like a pipe. `/dev/null` reads the same each time.
fn reads_but_once(metadata: &Metadata) -> bool {
    let kind = metadata.file_type();
    kind.is_fifo() || kind.is_socket()
}

/// `--post-quantum`.
#[derive(clap::Args)]
pub(crate) struct GroupArgs {
    /// Let programs agree on TLS 1.3 keys by ML-KEM combined with a curve (X25519MLKEM768 and others), with OpenSSL 3.0 to
    /// 3.4 too. Servers do so with every client that offers it. Clients offer it next to X25519, which they keep
    /// sending first: a server that insists on it asks for a second round trip. A list of groups in your own configuration
    /// stays
    #[arg(long)]
    post_quantum: bool,
}

impl GroupArgs {
    pub(crate) fn wanted(&self) -> PostQuantum {
        if !self.post_quantum {
            return PostQuantum::AsBefore;
        }
        let version = Installed::find().version().unwrap_or_default();
        match openssl::has_hybrid_groups(&version) {
            true => PostQuantum::OfOpenSsl,
            false => PostQuantum::Listed,
        }
    }
}

/// `--local` and `--relay`.
#[derive(clap::Args)]
pub(crate) struct DaemonArgs {
    /// Have processes with the same RSA key sign together, which the daemon at this socket brings together
    /// (`oarlock local`): /run/oarlock/local.sock unless another is given
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "/run/oarlock/local.sock"
    )]
    local: Option<PathBuf>,

    /// Take keys of a cryptoserver, which the daemon at this socket asks (`oarlock relay`): /run/oarlock/relay.sock unless
    /// another is given
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "/run/oarlock/relay.sock"
    )]
    relay: Option<PathBuf>,
}

impl DaemonArgs {
    pub(crate) fn sockets(&self) -> Result<Daemons, Failure> {
        Ok(Daemons {
            local: Self::absolute("--local", self.local.as_deref())?,
            relay: Self::absolute("--relay", self.relay.as_deref())?,
        })
    }

    fn absolute(option: &str, path: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
        let Some(path) = path else {
            return Ok(None);
        };
        let refuse = |why: &str| Failure::usage(format!("{option} {}: {why}", path.display()));
        if !fits_a_line(path.as_os_str()) {
            return Err(refuse(
                "a path with control characters cannot be configured",
            ));
        }
        // sockaddr_un has 108 bytes, including the final zero (unix(7)).
        match std::path::absolute(path) {
            Ok(path) if path.as_os_str().len() > 107 => {
                Err(refuse("a socket's path has at most 107 bytes"))
            }
            Ok(path) => Ok(Some(path)),
            Err(error) => Err(refuse(&crate::failure::reason(&error))),
        }
    }
}
