//! The files of a configuration, for libraries of every kind.
//!
//! `OPENSSL_CONF` reaches every program, and each reads what it names in its own way:
//!
//! ```text
//! OpenSSL 3 and later   knows providers, `.include` and `.pragma`
//! OpenSSL 1.1.1         knows `.include`; an unknown module (`providers`) is an error, which ends node 14 and 16
//! OpenSSL 1.0, 1.1.0,   know none of them: `.include = FILE` and `.pragma = WORD` are values like any other
//! and LibreSSL
//! ```
//!
//! So the additions lie in a file of their own, which only OpenSSL 3 reads:
//!
//! ```text
//! [oarlock_newer]
//! openssl3 = -older
//! .pragma = dollarid:on                   from here on OpenSSL 3 takes $openssl3 as it is written
//! .include = /folder/name$openssl3.cnf    OpenSSL 1.1.1 includes /folder/name-older.cnf, which holds nothing. It passes
//!                                         over a file that is not there, but leaves an error that ends node
//! ```
//!
//! Libraries that know no `.include` get the user's text itself, if everybody may read it. All others read the
//! user's file again after it, as it is then.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::additions::{self, Additions, quoted};
use super::reader::{Conf, DEFAULT, is_name, without_mark};

/// A user's configuration, as files are made of it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// `None` if there is no configuration.
    pub path: Option<&'a Path>,
    /// What it holds; empty if there is none.
    pub bytes: &'a [u8],
    /// What older libraries are given other modules of; `None` if it is theirs as well.
    pub of_openssl_3: Option<&'a Conf>,
    /// Whether it can be read only once, like a pipe.
    pub reads_but_once: bool,
    /// Whether any user may read it.
    pub is_public: bool,
}

/// A configuration in files of one folder.
pub struct Files {
    /// What programs are told of.
    pub main: Written,
    /// What OpenSSL 3 reads as well.
    newer: Written,
    /// And OpenSSL 1.1.1 in its place.
    older: Written,
    /// The user's, where it cannot be included itself and is not for everybody.
    copy: Option<Written>,
}

/// A file and who may read it.
pub struct Written {
    /// In its folder.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// As chmod(2) takes it.
    pub mode: u32,
}

impl Files {
    /// Those of `user` with `additions`, for `folder`, with names that begin with `stem`.
    pub fn of(user: Source<'_>, additions: &Additions, folder: &Path, stem: &str) -> Self {
        let copied = without_mark(user.bytes);
        // One of ours stays as it is, and includes the user's.
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
        // With the user's byte order mark, at which OpenSSL 1.0 fails.
        let mark = &user.bytes[..user.bytes.len() - copied.len()];
        let mut main = [mark, HEADER].concat();
        if user.is_public {
            // A backslash at its end joins an empty line.
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

    /// In the order in which they must come to be.
    pub fn all(&self) -> impl Iterator<Item = &Written> {
        self.copy
            .iter()
            .chain([&self.older, &self.newer, &self.main])
    }
}

/// Lines with which OpenSSL 3 reads the file [`newer_name`] of `stem`, and OpenSSL 1.1.1 [`older_name`]. From then on a
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

/// The name of the file that [`newer_alone`] has OpenSSL 3 include.
pub fn newer_name(stem: &str) -> String {
    format!("{stem}{VARIABLE}{END}")
}

/// The same for OpenSSL 1.1.1.
pub fn older_name(stem: &str) -> String {
    format!("{stem}{OLDER}{END}")
}

fn included(path: &Path) -> Vec<u8> {
    let path = quoted(path.as_os_str().as_bytes());
    [b"[default]\n.include = ", &path[..], b"\n"].concat()
}

/// Whether `twice` makes no other configuration than `once`. Variables and pragmas of the user's might.
fn reads_the_same(once: &[u8], twice: &[u8]) -> bool {
    let read = |bytes: &[u8]| Conf::parse(Path::new("openssl.cnf"), bytes);
    matches!((read(once), read(twice)), (Ok(once), Ok(twice)) if once.has_the_values_of(&twice))
}

/// Lines that take from older libraries what they do not know. OpenSSL 1.1.1 goes through the modules of a section in
/// turn and ends at the first that it does not know: it gets those before.
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
/// What [`older_name`] holds.
pub const OLDER_TEXT: &[u8] = b"# Libraries before OpenSSL 3 read this, and are given nothing.\n";
/// What OpenSSL 3 does not expand, and its value for others.
const VARIABLE: &str = "$openssl3";
const OLDER: &str = "-older";
const END: &str = ".cnf";
/// And `alg_section`, with one setting.
const MODULES_OF_1_1_1: [&[u8]; 4] = [b"oid_section", b"stbl_section", b"engines", b"ssl_conf"];
