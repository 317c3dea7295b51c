//! Servers of this machine that sign with RSA keys, or one of them: whether their signatures are made together, and what
//! to set.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use oarlock::Accelerator;

use super::finding::Finding;
use crate::elf::which;
use crate::openssl_conf::UserConf;

/// Of all servers that are installed, or of `program` alone. Nothing on a CPU without lanes.
pub(super) fn findings(program: Option<&OsStr>, user: &UserConf) -> Vec<Finding> {
    let has_lanes = Accelerator::builder().max_threads(0).build();
    if !has_lanes.is_ok_and(|accelerator| accelerator.lanes().is_some()) {
        return Vec::new();
    }
    let asked = program.and_then(|program| Path::new(program).file_name());
    let here = |name: &str| match asked {
        Some(asked) => asked == name,
        None => is_installed(name),
    };
    let mut findings = Vec::new();
    if here("haproxy") {
        findings.push(of_haproxy(Path::new("/etc/haproxy/haproxy.cfg")));
    }
    if here("nginx") {
        findings.push(of_nginx(user.daemon()));
    }
    if here("apache2") || here("httpd") {
        findings.push(Finding::ok(
            ABOUT,
            "Apache's threads sign together by themselves, where that gains; processes of its MPM prefork do through \
             `oarlock local`, as nginx's workers",
        ));
    }
    findings
}

const ABOUT: &str = "RSA keys";

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
    // Without maxconn it takes as many connections as it has descriptors for, and so ends as well.
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
             (docs/local.md)",
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

/// Servers are where the PATH of a user may not lead.
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
    fn nginx_is_looked_at_by_the_line_and_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("local.sock");
        assert_eq!(of_nginx(None).state, State::Note);
        assert!(of_nginx(Some(&socket)).text.contains("there is no socket"));
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(of_nginx(Some(&socket)).state, State::Ok);
    }
}
