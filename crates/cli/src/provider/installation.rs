//! The parts of an installation apart from its lines in a configuration, and their owners. Several configurations may name
//! one module and one calibration, so each is removed with the last installation that needs it, and only if an installation
//! made it.
//!
//! The lines include a file next to the module, which only OpenSSL 3 reads (`crates/programs/src/openssl_conf/files.rs`).
//! Where the module is not visible, as in a container with this machine's /etc/ssl, the file is not either, and nothing is
//! added. The file begins with a section that OpenSSL ignores:
//!
//! ```text
//! [oarlock_installation]
//! config = /etc/ssl/openssl.cnf                                  the configuration with the lines
//! file = /usr/lib/ossl-modules/oarlock-0123abcd$openssl3.cnf     this file
//! made = module,calibration                                      what installations have put there
//! backup = /etc/ssl/openssl.cnf.before-oarlock                   the configuration before the installation
//! ```

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::block;
use crate::openssl::Installed;
use crate::openssl_conf::{Conf, newer_name, older_name, quoted};
use crate::provider_file::is_installed;

/// An existing installation.
#[derive(Default)]
pub(super) struct Installation {
    /// The file that OpenSSL 3 reads. `None` if it is gone, or if the configuration itself has the lines, as earlier
    /// versions wrote them.
    pub(super) file: Option<PathBuf>,
    pub(super) module: Option<PathBuf>,
    pub(super) calibration: Option<PathBuf>,
    /// The copy of the configuration before the installation; `None` if an earlier version made it.
    pub(super) backup: Option<PathBuf>,
    pub(super) made: Made,
}

/// The parts that installations made, so that the last one removes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) module: bool,
    pub(super) calibration: bool,
}

impl Installation {
    /// Parses the installation whose `lines` stand in a configuration.
    pub(super) fn of(lines: &[u8]) -> Self {
        let Ok(conf) = Conf::parse(Path::new("block"), lines) else {
            return Self::default();
        };
        let path = |section: &[u8], name: &[u8]| {
            let path = conf.value(section, name)?;
            Some(PathBuf::from(OsStr::from_bytes(path)))
        };
        let made = match conf.value(RECORD, b"made") {
            Some(made) => {
                let has = |what: &[u8]| made.split(|byte| *byte == b',').any(|it| it == what);
                Made {
                    module: has(b"module"),
                    calibration: has(b"calibration"),
                }
            }
            // Earlier installations, without this record, made both.
            None => Made {
                module: true,
                calibration: true,
            },
        };
        Self {
            file: path(RECORD, b"file"),
            module: path(b"oarlock_sect", b"module").filter(|path| is_installed(path)),
            calibration: path(b"oarlock_sect", b"calibration"),
            backup: path(RECORD, b"backup"),
            made,
        }
    }

    /// Returns the installations of other configurations than `config` that can be found: those with a module in `folder`,
    /// and the machine's.
    pub(super) fn others(folder: Option<&Path>, config: &Path) -> Vec<Self> {
        let machine = Installed::find().configuration();
        let mut configs = vec![machine.canonicalize().unwrap_or(machine)];
        let files = folder.and_then(|folder| fs::read_dir(folder).ok());
        let files = files.into_iter().flatten().flatten();
        let files = files.filter(|file| is_name_of_file(file.file_name().as_bytes()));
        configs.extend(files.filter_map(|file| config_of(&file.path())));
        configs.sort();
        configs.dedup();
        let others = configs.iter().filter(|it| *it != config);
        others
            .filter_map(|config| block::divide(&fs::read(config).ok()?).ok()?.block)
            .map(|lines| Self::of(&lines))
            .collect()
    }
}

/// The files of an installation, next to its module.
pub(super) struct Files {
    /// The path of both files, without their endings.
    pub(super) stem: PathBuf,
    /// The file that OpenSSL 3 reads.
    pub(super) newer: PathBuf,
    /// The file that OpenSSL 1.1.1 reads in its place.
    pub(super) older: PathBuf,
}

impl Files {
    /// Returns the files of the installation in `config` whose module is in `folder`.
    pub(super) fn of(folder: &Path, config: &Path) -> Self {
        let digest = Sha256::digest(config.as_os_str().as_bytes());
        let stem = format!("{PREFIX}{}", hex::encode(&digest[..4]));
        Self {
            newer: folder.join(newer_name(&stem)),
            older: folder.join(older_name(&stem)),
            stem: folder.join(stem),
        }
    }
}

/// Returns the record at the start of the file.
pub(super) fn record(config: &Path, file: &Path, made: Made, backup: Option<&Path>) -> Vec<u8> {
    let names = [("module", made.module), ("calibration", made.calibration)];
    let names: Vec<_> = names
        .iter()
        .filter_map(|(name, is_made)| is_made.then_some(*name))
        .collect();
    let line = |name: &[u8], value: &[u8]| [name, b" = ", &quoted(value)[..], b"\n"].concat();
    [
        &b"["[..],
        RECORD,
        b"]\n",
        &line(b"config", config.as_os_str().as_bytes()),
        &line(b"file", file.as_os_str().as_bytes()),
        &line(b"made", names.join(",").as_bytes()),
        &backup
            .map(|path| line(b"backup", path.as_os_str().as_bytes()))
            .unwrap_or_default(),
    ]
    .concat()
}

/// Returns the configuration that the record in `file` names.
fn config_of(file: &Path) -> Option<PathBuf> {
    let conf = Conf::parse(file, &fs::read(file).ok()?).ok()?;
    let config = conf.value(RECORD, b"config")?;
    Some(PathBuf::from(OsStr::from_bytes(config)))
}

fn is_name_of_file(name: &[u8]) -> bool {
    let end = newer_name("");
    name.starts_with(PREFIX.as_bytes()) && name.ends_with(end.as_bytes())
}

const PREFIX: &str = "oarlock-";
const RECORD: &[u8] = b"oarlock_installation";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for made in [
            Made::default(),
            Made {
                module: true,
                calibration: false,
            },
            Made {
                module: true,
                calibration: true,
            },
        ] {
            let file = Path::new("/a b/oarlock-0$openssl3.cnf");
            for backup in [None, Some(Path::new("/c d.before-oarlock"))] {
                let text = record(Path::new("/c d"), file, made, backup);
                let read = Installation::of(&text);
                assert_eq!((read.file.as_deref(), read.made), (Some(file), made));
                assert_eq!(read.backup.as_deref(), backup);
            }
        }
    }

    #[test]
    fn lines_of_earlier_versions_made_all_that_they_name() {
        let read = Installation::of(b"[oarlock_sect]\nmodule = /m/oarlock.so\n");
        assert!(read.made.module && read.made.calibration && read.file.is_none());
        assert_eq!(read.module, Some("/m/oarlock.so".into()));
    }
}
