//! What is measured.

use oarlock_bench::Error;

use super::compared::Compared;
use super::files::{Files, Way as FileWay};
use super::server::{Board, Boards, Servers};
use super::setup::Setup;
use super::speed::Speed;
use super::ssh::{Place, Ssh, Suite, Way};
use super::{context, start};

/// One line of the benchmark.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) program: Program,
}

pub(crate) enum Program {
    Speed(Speed),
    Context(&'static str),
    Start,
    Ssh(Ssh),
    Files(Files),
    Servers(Servers),
}

impl Case {
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        match &self.program {
            Program::Speed(speed) => speed.measure(setup),
            Program::Context(cipher) => context::measure(setup, cipher),
            Program::Start => start::measure(setup),
            Program::Ssh(ssh) => ssh.measure(setup),
            Program::Files(files) => files.measure(setup, &self.name),
            Program::Servers(servers) => servers.measure(setup, &self.name),
        }
    }

    /// Whether it is about the OpenSSL provider.
    pub(crate) fn takes_provider(&self) -> bool {
        !matches!(self.program, Program::Files(_) | Program::Servers(_))
    }
}

/// Every case, in the order in which they are measured.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![Case {
        name: "openssl-start".to_owned(),
        program: Program::Start,
    }];
    cases.extend(CIPHERS.iter().map(|cipher| Case {
        name: format!("openssl-context-{cipher}"),
        program: Program::Context(cipher),
    }));
    for cipher in CIPHERS {
        for (decrypts, suffix) in [(false, ""), (true, "-decrypt")] {
            cases.push(Case {
                name: format!("openssl-speed-{cipher}{suffix}"),
                program: Program::Speed(Speed { cipher, decrypts }),
            });
        }
    }
    let mut add = |name: String, suite, way, place| {
        let program = Program::Ssh(Ssh { suite, way, place });
        cases.push(Case { name, program });
    };
    for suite in SUITES {
        for way in [Way::Download, Way::Upload, Way::Scp] {
            let name = format!("ssh-{}-{}", suite.name(), way.name());
            add(name, suite, way, Place::Here);
        }
    }
    for (suffix, has_gfni) in [("", false), ("-with-gfni", true)] {
        for way in [Way::Download, Way::Upload] {
            let name = format!("ssh-masked{suffix}-{}", way.name());
            add(name, &SUITES[0], way, Place::Masked { has_gfni });
        }
    }
    for suite in [&SUITES[0], &SUITES[5]] {
        let name = format!("ssh-gigabit-{}", suite.name());
        add(name, suite, Way::Download, Place::Gigabit);
    }
    for suite in SUITES {
        let name = format!("ssh-one-cpu-{}", suite.name());
        add(name, suite, Way::Download, Place::OneCpu);
    }
    for (name, files) in FILES {
        cases.push(Case {
            name: name.to_owned(),
            program: Program::Files(files),
        });
    }
    for (name, servers) in SERVERS {
        cases.push(Case {
            name: name.to_owned(),
            program: Program::Servers(servers),
        });
    }
    cases
}

const SERVERS: [(&str, Servers); 20] = [
    ("server-rsa2048", Servers::Sign),
    ("server-latency", Servers::Latency { has_tls: true }),
    (
        "server-latency-plaintext",
        Servers::Latency { has_tls: false },
    ),
    ("server-boards-axl200", boards(Board::Axl200, true, 1)),
    (
        "server-boards-axl200-plaintext",
        boards(Board::Axl200, false, 1),
    ),
    (
        "server-boards-axl200-by-three",
        boards(Board::Axl200, true, 3),
    ),
    (
        "server-boards-axl200-by-three-plaintext",
        boards(Board::Axl200, false, 3),
    ),
    (
        "server-boards-nfast300-crt",
        boards(Board::Nfast300Crt, true, 1),
    ),
    (
        "server-boards-nfast300-crt-plaintext",
        boards(Board::Nfast300Crt, false, 1),
    ),
    (
        "server-boards-nfast300-crt-by-three",
        boards(Board::Nfast300Crt, true, 3),
    ),
    (
        "server-boards-nfast300-crt-by-three-plaintext",
        boards(Board::Nfast300Crt, false, 3),
    ),
    ("server-boards-nfast300", boards(Board::Nfast300, true, 1)),
    (
        "server-boards-nfast300-plaintext",
        boards(Board::Nfast300, false, 1),
    ),
    (
        "server-boards-nfast300-by-three",
        boards(Board::Nfast300, true, 3),
    ),
    (
        "server-boards-nfast300-by-three-plaintext",
        boards(Board::Nfast300, false, 3),
    ),
    ("server-boards-together", boards(Board::Together, true, 1)),
    (
        "server-boards-together-by-three",
        boards(Board::Together, true, 3),
    ),
    ("server-load", Servers::Load),
    ("server-overload", Servers::Overload),
    ("server-kill", Servers::Kill),
];

const fn boards(board: Board, has_tls: bool, batch: usize) -> Servers {
    Servers::Boards(Boards {
        board,
        has_tls,
        batch,
    })
}

const FILES: [(&str, Files); 7] = [
    ("file-encrypt", Files::One(FileWay::Encrypt)),
    ("file-decrypt", Files::One(FileWay::Decrypt)),
    ("file-many-encrypt", Files::Many(FileWay::Encrypt)),
    ("file-many-decrypt", Files::Many(FileWay::Decrypt)),
    ("file-unlock", Files::Unlock),
    ("pipe-encrypt", Files::Pipe(FileWay::Encrypt)),
    ("pipe-decrypt", Files::Pipe(FileWay::Decrypt)),
];

pub(crate) const CIPHERS: [&str; 7] = [
    "aes-128-ctr",
    "aes-256-ctr",
    "aes-128-gcm",
    "aes-256-gcm",
    "chacha20",
    "chacha20-poly1305",
    "aes-128-cbc",
];

/// The MAC in each name of an AEAD is its own. `umac` and ChaCha20-Poly1305's `poly1305` are code of
/// `ssh`, out of a provider's reach.
const SUITES: &[Suite; 7] = &[
    with_mac("aes128-ctr", "hmac-sha2-256-etm@openssh.com", "aes-128-ctr"),
    with_mac("aes128-ctr", "umac-64-etm@openssh.com", "aes-128-ctr"),
    with_mac("aes256-ctr", "hmac-sha2-256-etm@openssh.com", "aes-256-ctr"),
    with_mac("aes256-ctr", "umac-64-etm@openssh.com", "aes-256-ctr"),
    aead("aes128-gcm@openssh.com", "aes-128-gcm"),
    aead("aes256-gcm@openssh.com", "aes-256-gcm"),
    aead("chacha20-poly1305@openssh.com", "chacha20"),
];

const fn with_mac(cipher: &'static str, mac: &'static str, operation: &'static str) -> Suite {
    Suite {
        cipher,
        mac: Some(mac),
        operation,
    }
}

const fn aead(cipher: &'static str, operation: &'static str) -> Suite {
    Suite {
        cipher,
        mac: None,
        operation,
    }
}

/// Whether `pattern` is about whole programs.
pub(crate) fn are_named_by(pattern: &str) -> bool {
    ["ssh", "openssl-", "file", "pipe", "server"]
        .iter()
        .any(|prefix| pattern.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_named_once_and_as_whole_programs_are() {
        let cases = all();
        let mut names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        let (first, count) = (names[0], names.len());
        assert!(names.iter().all(|name| are_named_by(name)));
        assert!(!are_named_by("*"));
        assert!(names.contains(&"ssh-aes128-ctr-umac-64-etm-scp"));
        assert!(names.contains(&"ssh-aes256-gcm-download"));
        assert!(names.contains(&"ssh-gigabit-aes256-gcm"));
        assert_eq!(first, "openssl-start");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_operation_exists() {
        let of_suites = SUITES.iter().map(|suite| suite.operation);
        for name in CIPHERS.into_iter().chain(of_suites) {
            assert!(crate::programs::speed::operation(name).is_ok(), "{name}");
        }
    }
}
