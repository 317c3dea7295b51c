//! The kind of a program, and whether it will use the provider.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::elf::{Linked, which};
use crate::failure::Failure;
use crate::openssl;
use crate::openssl_conf::excludes_oarlock;

/// The findings about a program.
pub(super) struct Program {
    pub(super) findings: Vec<Finding>,
    pub(super) openssl: OpenSsl,
}

/// The origin of a program's OpenSSL.
#[derive(Debug)]
pub(super) enum OpenSsl {
    /// The libcrypto that the dynamic linker loads for it.
    File(PathBuf),
    /// A version that is linked statically, as in "OpenSSL 3.0.17".
    Inside(String),
    /// The machine's, loaded later, or none at all.
    Machines,
}

/// Finds the program's file as a shell does, and also in folders of servers, which a user's PATH may lack.
///
/// # Errors
/// There is no such program. The exit status is the one that a shell returns.
pub(super) fn find(program: &OsStr) -> Result<PathBuf, Failure> {
    let in_sbin = || {
        let folders = ["/usr/sbin", "/usr/local/sbin", "/sbin"].into_iter();
        let is_name = !program.as_bytes().contains(&b'/');
        let mut files = folders.map(|folder| Path::new(folder).join(program));
        files.find(|file| is_name && file.is_file())
    };
    which(program).or_else(in_sbin).ok_or_else(|| {
        let name = program.display();
        Failure::new(format!("{name}: no such program")).with_status(NOT_FOUND)
    })
}

pub(super) fn findings(program: &Path) -> Program {
    let mut openssl = OpenSsl::Machines;
    Program {
        findings: found(program, &mut openssl),
        openssl,
    }
}

fn found(program: &Path, openssl: &mut OpenSsl) -> Vec<Finding> {
    let mut path = program.to_path_buf();
    let mut findings = vec![Finding::ok("program", path.display().to_string())];
    // An interpreter may itself be a script, as those of pyenv are.
    for _ in 0..SCRIPTS_MAX {
        let Some(interpreter) = interpreter(&path) else {
            break;
        };
        let text = format!("a script, run by {}", interpreter.display());
        findings.push(Finding::note("program", text));
        match which(&interpreter) {
            Some(found) => path = found,
            None => {
                let text = format!("{}: not found", interpreter.display());
                findings.push(Finding::no("program", text));
                return findings;
            }
        }
    }
    findings.extend(privileges(&path));
    match Linked::of(&path) {
        Ok(it) if has_no_openssl(&it) && module_of(&path).is_some() => {
            // The program uses the libcrypto of the module that brings it.
            let (module, file) = module_of(&path).unwrap_or_default();
            findings.push(of_module(module, &file, openssl));
        }
        Ok(it) => {
            findings.push(linked(&path, &it));
            *openssl = match (it.file("libcrypto.so."), it.inside.clone()) {
                (Some(file), _) => OpenSsl::File(file.into()),
                (None, Some(version)) => OpenSsl::Inside(version),
                (None, None) => OpenSsl::Machines,
            };
        }
        Err(what) => findings.push(Finding::no(
            "library",
            format!("{}: {what}", path.display()),
        )),
    }
    findings.extend(known(&path));
    findings
}

/// Returns a property query of the command that excludes Oarlock: in its arguments, as in openssl's `-propquery`, or in the
/// program itself.
pub(super) fn excluding_query(command: &[OsString]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let mut given = arguments.iter().filter_map(|argument| argument.to_str());
    let given = given.find(|text| text.contains('=') && excludes_oarlock(text));
    given.map(Into::into).or_else(|| {
        let linked = Linked::of(&which(program)?).ok()?;
        let mut queries = linked.queries.into_iter();
        queries.find(|query| excludes_oarlock(query))
    })
}

fn linked(path: &Path, linked: &Linked) -> Finding {
    let through = |by: &str| match by {
        "" => String::new(),
        by => format!(", through {by}"),
    };
    if let Some((name, by)) = linked.library(openssl::file_has_providers) {
        return Finding::ok("library", format!("{name}{}", through(by)));
    }
    if let Some((name, by)) = linked.library(|name| name.starts_with("libcrypto.so.")) {
        let text = format!("{name}{}: OpenSSL before 3.0 has no providers", through(by));
        return Finding::no("library", text);
    }
    if let Some(version) = &linked.inside {
        return if openssl::has_providers(version) {
            Finding::ok("library", format!("{version}, inside the program"))
        } else {
            let text =
                format!("{version}, inside the program: OpenSSL before 3.0 has no providers");
            Finding::no("library", text)
        };
    }
    if linked.is_go {
        return Finding::no("library", "a Go program, with cryptography of its own");
    }
    for (prefix, name) in OTHERS {
        if let Some((library, by)) = linked.library(|library| library.starts_with(prefix)) {
            let text = format!("{name} ({library}{}), not OpenSSL", through(by));
            return Finding::no("library", text);
        }
    }
    if is_known_to_load(path) {
        return Finding::ok("library", "loaded later by a module of the interpreter");
    }
    Finding::no(
        "library",
        "no OpenSSL is linked; the program may load or start it later: --try finds out",
    )
}

/// Returns a finding if the program has more rights than its user: under AT_SECURE, OpenSSL ignores OPENSSL_CONF.
fn privileges(path: &Path) -> Option<Finding> {
    let metadata = path.metadata().ok()?;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let sets_user = metadata.mode() & 0o4000 != 0 && metadata.uid() != user.as_raw();
    let sets_group = metadata.mode() & 0o2000 != 0 && metadata.gid() != group.as_raw();
    let mut nothing = [0u8; 64];
    let has_capabilities =
        !user.is_root() && rustix::fs::getxattr(path, "security.capability", &mut nothing).is_ok();
    (sets_user || sets_group || has_capabilities).then(|| {
        Finding::no(
            "privileges",
            "it has more rights than its user, so OpenSSL ignores OPENSSL_CONF in it: \
             only oarlock provider install reaches it",
        )
    })
}

/// Returns what is worth knowing about a program apart from its libraries.
fn known(path: &Path) -> Option<Finding> {
    let name = path.file_name()?.to_str()?;
    match name {
        "ssh" | "sshd" | "scp" | "sftp" => Some(Finding::note(
            "ssh",
            "umac and the Poly1305 of chacha20-poly1305@openssh.com are computed inside ssh: \
             aes256-gcm@openssh.com goes through Oarlock whole",
        )),
        "node" | "nodejs" => Some(Finding::note(
            "node",
            "reads nodejs_conf alone, which oarlock run and oarlock provider install set; a \
             configuration of your own needs it too, or --openssl-shared-config",
        )),
        _ => None,
    }
}

fn has_no_openssl(linked: &Linked) -> bool {
    linked.inside.is_none() && linked.file("libcrypto.so.").is_none()
}

/// Returns the name and file of the module through which a server loads OpenSSL late.
fn module_of(program: &Path) -> Option<(&'static str, PathBuf)> {
    let name = program.file_name()?.to_str()?;
    let of_it = MODULES.iter().find(|(server, _)| *server == name)?;
    let name = of_it.1.first()?.rsplit('/').next()?;
    let file = of_it.1.iter().map(PathBuf::from).find(|it| it.is_file());
    Some((name, file.unwrap_or_default()))
}

fn of_module(name: &str, file: &Path, openssl: &mut OpenSsl) -> Finding {
    if file.as_os_str().is_empty() {
        let text = format!("its module {name}, which brings OpenSSL, is not installed");
        return Finding::no("library", text);
    }
    match Linked::of(file) {
        Ok(it) => {
            if let Some(file) = it.file("libcrypto.so.") {
                *openssl = OpenSsl::File(file.into());
            }
            let mut finding = linked(file, &it);
            finding.text = format!("{}, which its module {name} loads later", finding.text);
            finding
        }
        Err(what) => Finding::no("library", format!("{}: {what}", file.display())),
    }
}

/// Whether the program is an interpreter whose modules bring libcrypto.
fn is_known_to_load(path: &Path) -> bool {
    // Resolve links: /usr/bin/python3 is python3.11.
    let path = path.canonicalize().unwrap_or_else(|_| path.into());
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    ["python3", "ruby", "perl", "php"]
        .iter()
        .any(|interpreter| name.starts_with(interpreter))
}

/// Returns the interpreter of a script: the program on its first line, or the one after env(1).
fn interpreter(path: &Path) -> Option<OsString> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LINE_BYTES_MAX).read_to_end(&mut head).ok()?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_env = Path::new(OsStr::from_bytes(first)).ends_with("env");
    let word = if is_env {
        words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?
    } else {
        first
    };
    Some(OsStr::from_bytes(word).into())
}

/// Servers that do not link OpenSSL, and the module that does, at its places on Debian and Red Hat.
const MODULES: [(&str, &[&str]); 5] = [
    ("apache2", &["/usr/lib/apache2/modules/mod_ssl.so"]),
    (
        "httpd",
        &[
            "/usr/lib64/httpd/modules/mod_ssl.so",
            "/usr/lib/httpd/modules/mod_ssl.so",
        ],
    ),
    (
        "lighttpd",
        &[
            "/usr/lib/lighttpd/mod_openssl.so",
            "/usr/lib64/lighttpd/mod_openssl.so",
        ],
    ),
    (
        "dovecot",
        &[
            "/usr/lib/dovecot/libssl_iostream_openssl.so",
            "/usr/lib64/dovecot/libssl_iostream_openssl.so",
        ],
    ),
    (
        "charon",
        &[
            "/usr/lib/ipsec/plugins/libstrongswan-openssl.so",
            "/usr/lib64/strongswan/plugins/libstrongswan-openssl.so",
        ],
    ),
];
/// The exit status of a shell and of `oarlock run`.
const NOT_FOUND: u8 = 127;
/// Other cryptographic libraries, by the prefixes of their names.
const OTHERS: [(&str, &str); 6] = [
    ("libgnutls.so", "GnuTLS"),
    ("libnss3.so", "NSS"),
    ("libgcrypt.so", "libgcrypt"),
    ("libmbedcrypto.so", "Mbed TLS"),
    ("libwolfssl.so", "wolfSSL"),
    ("libsodium.so", "libsodium"),
];
/// The kernel's limit is 256.
const LINE_BYTES_MAX: u64 = 4096;
const SCRIPTS_MAX: usize = 4;
