//! The servers of this machine that sign, or one of them: the types of their keys, and whether RSA signatures are batched.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use oarlock::Accelerator;

use super::certificates::{Certificate, Server};
use super::finding::Finding;
use crate::elf::which;
use crate::openssl_conf::UserConf;

/// Returns the findings on all installed servers, or on `program` alone.
pub(super) fn findings(program: Option<&OsStr>, user: &UserConf) -> Vec<Finding> {
    let has_lanes = Accelerator::builder().max_threads(0).build();
    let has_lanes = has_lanes.is_ok_and(|accelerator| accelerator.lanes().is_some());
    let mut findings = Vec::new();
    for (name, server) in here(program) {
        let certificates = server.certificates();
        findings.extend(of_keys(name, &certificates));
        let may_be_rsa = certificates.is_empty() || certificates.iter().any(Certificate::is_rsa);
        if has_lanes && may_be_rsa {
            let advice = match server {
                Server::Apache => of_apache(),
                Server::Haproxy => of_haproxy(Path::new("/etc/haproxy/haproxy.cfg")),
                Server::Nginx => of_nginx(user.daemon()),
            };
            findings.push(match certificates.is_empty() {
                true => unknown(advice),
                false => advice,
            });
        }
    }
    findings
}

/// Returns the installed servers, or `program` alone.
pub(super) fn here(program: Option<&OsStr>) -> impl Iterator<Item = (&'static str, Server)> {
    let asked = program.and_then(|program| Path::new(program).file_name());
    let names = ["haproxy", "nginx", "apache2", "httpd"];
    let here = names.into_iter().filter(move |name| match asked {
        Some(asked) => asked == *name,
        None => is_installed(name),
    });
    here.filter_map(|name| Some((name, Server::named(name)?)))
}

/// The subject of these findings.
pub(super) const ABOUT: &str = "RSA keys";

/// Returns a finding on keys whose signatures stay with OpenSSL.
fn of_keys(name: &str, certificates: &[Certificate]) -> Option<Finding> {
    let is_ours = |one: &&Certificate| one.is_rsa() || CURVES.contains(&one.key.as_str());
    let mut others = certificates.iter().filter(|one| !is_ours(one));
    let first = others.next()?;
    let more = match others.count() {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let (key, path) = (&first.key, first.path.display());
    let text = format!(
        "{name} has the key {key} ({path}{more}): its signatures gain nothing, only those of RSA, P-256, P-384 and P-521 \
         do; the rest of a handshake and what is sent gain"
    );
    Some(Finding::note("keys", text))
}

/// The curves that the provider signs with.
const CURVES: [&str; 3] = ["P-256", "P-384", "P-521"];

/// Makes `advice` conditional, since no certificate could be read.
fn unknown(advice: Finding) -> Finding {
    Finding {
        text: format!(
            "if its key is RSA (no certificate was found that this user may read): {}",
            advice.text
        ),
        ..advice
    }
}

fn of_apache() -> Finding {
    Finding::ok(
        ABOUT,
        "Apache's threads sign together by themselves, where that gains; processes of its MPM prefork do through \
         `oarlock local`, as nginx's workers",
    )
}

fn of_haproxy(configuration: &Path) -> Finding {
    let text = fs::read_to_string(configuration).unwrap_or_default();
    let number = |name: &str| {
        let mut lines = text.lines().map(str::split_whitespace);
        let mut words = lines.find(|words| words.clone().next() == Some(name))?;
        words.nth(1).map(|word| word.parse::<u32>().unwrap_or(0))
    };
    let sets = |line: &str| line.split_whitespace().next() == Some("ssl-mode-async");
    if !text.lines().any(sets) {
        return Finding::note(
            ABOUT,
            "haproxy signs for one connection at a time: ssl-mode-async in the section `global` of its configuration has \
             it sign for several together (deploy/haproxy-rsa.cfg)",
        );
    }
    // Without maxconn, only the limit on descriptors bounds haproxy's connections, and it fails in the same way there.
    let connections = number("maxconn");
    if number("maxpipes").unwrap_or(0) < connections.unwrap_or(1) {
        let many = connections.map_or("N".into(), |many| many.to_string());
        let text = format!(
            "haproxy ends when its connections, with a descriptor more for each, are more than the sockets that it \
             counts: `maxconn {many}` and `maxpipes {many}` in the section `global` make room (deploy/haproxy-rsa.cfg)"
        );
        return Finding::note(ABOUT, text);
    }
    Finding::ok(ABOUT, "haproxy signs for several connections together")
}

fn of_nginx(daemon: Option<&Path>) -> Finding {
    let Some(socket) = daemon else {
        return Finding::note(
            ABOUT,
            "nginx's workers sign alone: `oarlock local` and `oarlock provider install --local` have them sign together \
             (docs/tls-servers.md)",
        );
    };
    let is_socket = fs::metadata(socket).is_ok_and(|file| file.file_type().is_socket());
    if is_socket {
        let text = format!("nginx's workers sign together through {}", socket.display());
        Finding::ok(ABOUT, text)
    } else {
        let text = format!(
            "nginx's workers sign alone: there is no socket {}. Start `oarlock local` (oarlock-local.socket)",
            socket.display()
        );
        Finding::note(ABOUT, text)
    }
}

/// Whether the server is in PATH, or in folders that a user's PATH may lack.
fn is_installed(name: &str) -> bool {
    which(OsStr::new(name)).is_some()
        || ["/usr/sbin", "/usr/local/sbin"]
            .iter()
            .any(|folder| Path::new(folder).join(name).exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn haproxy_is_looked_at_by_its_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("haproxy.cfg");
        assert_eq!(of_haproxy(&conf).state, State::Note);
        fs::write(&conf, "global\n    # ssl-mode-async\n").unwrap();
        assert_eq!(of_haproxy(&conf).state, State::Note);
        for (room, state) in [
            ("", State::Note),
            ("maxconn 100\n", State::Note),
            ("maxconn 100\nmaxpipes 20\n", State::Note),
            ("maxconn 100\n  maxpipes 100\n", State::Ok),
        ] {
            fs::write(&conf, format!("global\n\tssl-mode-async # jobs\n{room}")).unwrap();
            let found = of_haproxy(&conf);
            assert_eq!(found.state, state, "{room}");
            assert_eq!(found.text.contains("maxpipes"), state == State::Note);
        }
        let shipped = include_str!("../../../../deploy/haproxy-rsa.cfg");
        fs::write(&conf, shipped).unwrap();
        assert_eq!(of_haproxy(&conf).state, State::Ok);
    }

    #[test]
    fn keys_are_looked_at_before_anything_is_advised() {
        let certificate = |key: &str| Certificate {
            path: "/x.pem".into(),
            key: key.into(),
        };
        assert!(of_keys("nginx", &[certificate("RSA-2048")]).is_none());
        assert!(of_keys("nginx", &[]).is_none());
        assert!(of_keys("nginx", &[certificate("P-256"), certificate("P-384")]).is_none());
        let found = of_keys("nginx", &[certificate("ED25519"), certificate("P-256")]).unwrap();
        assert!(found.text.contains("ED25519 (/x.pem)"), "{}", found.text);
        let unknown = unknown(of_nginx(None));
        assert!(
            unknown.text.starts_with("if its key is RSA"),
            "{}",
            unknown.text
        );
    }

    #[test]
    fn nginx_is_looked_at_by_the_line_and_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("local.sock");
        assert_eq!(of_nginx(None).state, State::Note);
        assert!(of_nginx(Some(&socket)).text.contains("there is no socket"));
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(of_nginx(Some(&socket)).state, State::Ok);
    }
}
