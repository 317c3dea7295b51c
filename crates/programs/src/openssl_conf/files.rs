//! The files of a configuration, for libraries of every version.
//!
//! `OPENSSL_CONF` reaches every program, and each library reads the file in its own way:
//!
//! ```text
//! OpenSSL 3 and later   knows providers, `.include` and `.pragma`
//! OpenSSL 1.1.1         knows `.include`; an unknown module (`providers`) is an error, which ends node 14 and 16
//! OpenSSL 1.0, 1.1.0,   know none of them: `.include = FILE` and `.pragma = WORD` are values like any other
//! and LibreSSL
//! ```
//!
//! So the additions are in a separate file, which only OpenSSL 3 reads:
//!
//! ```text
//! [oarlock_newer]
//! openssl3 = -older
//! .pragma = dollarid:on                   from here on OpenSSL 3 does not expand $openssl3
//! .include = /folder/name$openssl3.cnf    OpenSSL 1.1.1 includes /folder/name-older.cnf, an empty one. It skips a
//!                                         missing file, but leaves an error that ends node
//! ```
//!
//! Libraries without `.include` get the user's text itself, if the file is public. All others then read the current
//! content of the user's file.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::additions::{self, Additions, quoted};
use super::reader::{Conf, DEFAULT, is_name, without_mark};

/// A user's configuration, from which files are created.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The path of the configuration; `None` if there is none.
    pub path: Option<&'a Path>,
    /// The content of the configuration; empty if there is none.
    pub bytes: &'a [u8],
    /// The parsed configuration if it is for OpenSSL 3, which hides some modules from older libraries; `None` otherwise.
    pub of_openssl_3: Option<&'a Conf>,
    /// Whether the file can be read only once, like a pipe.
    pub reads_but_once: bool,
    /// Whether any user may read the file.
    pub is_public: bool,
}

/// A configuration as files in one folder.
pub struct Files {
    /// The file that `OPENSSL_CONF` names.
    pub main: Written,
    /// The file that OpenSSL 3 also reads.
    newer: Written,
    /// The file that OpenSSL 1.1.1 reads in its place.
    older: Written,
    /// A copy of the user's file, if that cannot be included itself and is not public.
    copy: Option<Written>,
}

/// A file to write, with its mode.
pub struct Written {
    /// The name in its folder.
    pub name: String,
    /// The content.
    pub bytes: Vec<u8>,
    /// The mode, as for chmod(2).
    pub mode: u32,
}

impl Files {
    /// Creates the files of `user` with `additions`, for `folder`, with names that begin with `stem`.
    pub fn of(user: Source<'_>, additions: &Additions, folder: &Path, stem: &str) -> Self {
        let copied = without_mark(user.bytes);
        // A file of ours stays as it is, and includes the user's.
        let is_ours = user.is_public && copied.starts_with(HEADER);
        let is_live = !user.reads_but_once && !is_ours && copied.len() == user.bytes.len();
        let copy = (!is_live && !user.is_public).then(|| Written {
            name: format!("{stem}.user.cnf"),
            bytes: copied.to_vec(),
            mode: 0o600,
        });
        let live = user.path.filter(|_| is_live);
        let included = match &copy {
            Some(copy) => included(&folder.join(&copy.name)),
            None => live.map(included).unwrap_or_default(),
        };
        // Keep the user's byte order mark: OpenSSL 1.0 fails at it, as it does without Oarlock.
        let mark = &user.bytes[..user.bytes.len() - copied.len()];
        let mut main = [mark, HEADER].concat();
        if user.is_public {
            // A backslash at the end of the text joins the empty line.
            let whole = [copied, b"\n\n"].concat();
            let is_read_twice = live.is_some();
            if !is_read_twice || reads_the_same(&included, &[&whole[..], &included].concat()) {
                main.extend(whole);
            }
        }
        main.extend(included);
        if let Some(conf) = user.of_openssl_3 {
            main.extend(for_older(conf));
        }
        main.extend(newer_alone(&folder.join(stem), false));
        Self {
            main: Written {
                name: format!("{stem}.cnf"),
                bytes: main,
                mode: 0o644,
            },
            newer: Written {
                name: newer_name(stem),
                bytes: additions.to_text(),
                mode: 0o644,
            },
            older: Written {
                name: older_name(stem),
                bytes: OLDER_TEXT.to_vec(),
                mode: 0o644,
            },
            copy,
        }
    }

    /// Returns the files in the order in which they must be created.
    pub fn all(&self) -> impl Iterator<Item = &Written> {
        self.copy
            .iter()
            .chain([&self.older, &self.newer, &self.main])
    }
}

/// Returns lines that make OpenSSL 3 read the file [`newer_name`] of `stem`, and OpenSSL 1.1.1 [`older_name`]. After them, a
/// dollar sign is part of names if `is_dollar_in_names`.
pub fn newer_alone(stem: &Path, is_dollar_in_names: bool) -> Vec<u8> {
    let stem = quoted(stem.as_os_str().as_bytes());
    let after = if is_dollar_in_names { "on" } else { "off" };
    [
        b"[oarlock_newer]\nopenssl3 = ",
        OLDER.as_bytes(),
        b"\n.pragma = dollarid:on\n.include = ",
        &stem[..],
        VARIABLE.as_bytes(),
        END.as_bytes(),
        b"\n.pragma = dollarid:",
        after.as_bytes(),
        b"\n",
    ]
    .concat()
}

/// Returns the name of the file that [`newer_alone`] makes OpenSSL 3 include.
pub fn newer_name(stem: &str) -> String {
    format!("{stem}{VARIABLE}{END}")
}

/// Returns the name of the file that [`newer_alone`] makes OpenSSL 1.1.1 include.
pub fn older_name(stem: &str) -> String {
    format!("{stem}{OLDER}{END}")
}

fn included(path: &Path) -> Vec<u8> {
    let path = quoted(path.as_os_str().as_bytes());
    [b"[default]\n.include = ", &path[..], b"\n"].concat()
}

/// Whether `twice` parses to the same configuration as `once`. Variables and pragmas of the user's may change it.
fn reads_the_same(once: &[u8], twice: &[u8]) -> bool {
    let read = |bytes: &[u8]| Conf::parse(Path::new("openssl.cnf"), bytes);
    matches!((read(once), read(twice)), (Ok(once), Ok(twice)) if once.has_the_values_of(&twice))
}

/// Returns lines that hide modules from older libraries that do not know them. OpenSSL 1.1.1 processes the modules of a
/// section in order and fails at the first unknown one, so only those before it are left.
fn for_older(conf: &Conf) -> Vec<u8> {
    let mut text = Vec::new();
    for key in additions::keys() {
        let Some(modules) = conf.value(DEFAULT, key).and_then(|it| conf.section(it)) else {
            continue;
        };
        let is_known = |(name, value): &&(Vec<u8>, Vec<u8>)| {
            let module = additions::before_last_dot(name);
            let is_of_fips = |(name, _): &(Vec<u8>, Vec<u8>)| name == b"fips_mode";
            name.iter().all(|byte| is_name(*byte))
                && match module {
                    b"alg_section" => conf
                        .section(value)
                        .unwrap_or_default()
                        .iter()
                        .all(is_of_fips),
                    _ => MODULES_OF_1_1_1.contains(&module),
                }
        };
        let known: Vec<_> = modules.iter().take_while(is_known).collect();
        if known.len() == modules.len() {
            continue;
        }
        let older = [b"oarlock_older_", key].concat();
        text.extend([b"[default]\n", key, b" = ", &older, b"\n[", &older, b"]\n"].concat());
        for (name, value) in known {
            text.extend([name, &b" = "[..], &quoted(value), b"\n"].concat());
        }
    }
    text
}

const HEADER: &[u8] =
    b"# Made by oarlock run. Programs that it started read this; it may go when all of them have ended.\n";
/// The content of [`older_name`].
pub const OLDER_TEXT: &[u8] = b"# Libraries before OpenSSL 3 read this, and are given nothing.\n";
/// A variable that OpenSSL 3 does not expand, and its value for other libraries.
const VARIABLE: &str = "$openssl3";
const OLDER: &str = "-older";
const END: &str = ".cnf";
/// The modules of OpenSSL 1.1.1, in addition to `alg_section` with one setting.
const MODULES_OF_1_1_1: [&[u8]; 4] = [b"oid_section", b"stbl_section", b"engines", b"ssl_conf"];
