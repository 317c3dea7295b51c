//! The table of cases.

use oarlock_measure::Error;

use super::compared::Compared;
use oarlock_hostile::kinds;
use oarlock_measure::cases::Direction;
use oarlock_measure::peers::openssl::{Operation, Use, Way};

use super::c_library::{CASES_IN_C, CLibrary};
use super::certificates::KeyKind;
use super::context;
use super::device::{self, Device};
use super::file_to_tls::{self, FileToTls};
use super::files::Files;
use super::handshakes::{self, Clients, Handshakes, KeySpeed, Kind, RsaProcesses, Server};
use super::https::Https;
use super::in_memory::{self, InMemory};
use super::operations;
use super::packets::{self, Line};
use super::python::{CASES_IN_PYTHON, Python};
use super::server::{Application, Board, Boards, Place, Servers};
use super::setup::Setup;
use super::speed::Speed;
use super::ssh::{Setting, Ssh, Suite, TransferKind};
use super::start;

/// A case of the benchmark.
pub(crate) struct ProgramCase {
    pub(crate) name: String,
    pub(crate) program: Program,
}

pub(crate) enum Program {
    Speed(Speed),
    Context(&'static str),
    Key(Use),
    Message(context::Message),
    InMemory(InMemory),
    Operation(Operation),
    Start,
    Ssh(Ssh),
    Https(Https),
    Handshakes(Handshakes),
    Clients(Clients),
    KeySpeed(KeySpeed),
    RsaProcesses(RsaProcesses),
    Files(Files),
    Servers(Servers),
    /// Many packets in one call.
    Batch(&'static Line),
    /// The framework of devices.
    Device(Device),
    /// A file over TLS in one call.
    FileToTls(FileToTls),
    /// The C library.
    CLibrary(CLibrary),
    /// The Python package.
    Python(Python),
}

impl ProgramCase {
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        match &self.program {
            Program::Speed(speed) => speed.measure(setup),
            Program::Context(cipher) => context::measure(setup, cipher),
            Program::Key(what) => context::measure_key(setup, *what),
            Program::Message(message) => message.measure(setup),
            Program::InMemory(handshake) => handshake.measure(setup),
            Program::Operation(operation) => operations::measure(setup, *operation),
            Program::Start => start::measure(setup),
            Program::Ssh(ssh) => ssh.measure(setup),
            Program::Https(https) => https.measure(setup),
            Program::Handshakes(handshakes) => handshakes.measure(setup),
            Program::Clients(clients) => clients.measure(setup),
            Program::KeySpeed(speed) => speed.measure(setup),
            Program::RsaProcesses(processes) => processes.measure(setup),
            Program::Files(files) => files.measure(setup, &self.name),
            Program::Servers(servers) => servers.measure(setup, &self.name),
            Program::Batch(line) => line.measure(setup),
            Program::Device(device) => device.measure(setup),
            Program::FileToTls(file) => file.measure(setup),
            Program::CLibrary(library) => library.measure(setup),
            Program::Python(python) => python.measure(setup),
        }
    }

    /// Whether the case needs the OpenSSL provider.
    pub(crate) fn takes_provider(&self) -> bool {
        !matches!(
            self.program,
            Program::Files(_)
                | Program::Servers(_)
                | Program::Batch(_)
                | Program::Device(_)
                | Program::FileToTls(_)
                | Program::CLibrary(_)
                | Program::Python(_)
        )
    }

    /// Returns the case's line of `programs/packets/`, if it has one.
    pub(crate) fn batch(&self) -> Option<&'static Line> {
        match self.program {
            Program::Batch(line) => Some(line),
            _ => None,
        }
    }
}

/// Returns every case, in the order of measurement.
pub(crate) fn all() -> Vec<ProgramCase> {
    let mut cases = vec![ProgramCase {
        name: "openssl-start".to_owned(),
        program: Program::Start,
    }];
    cases.extend(KEYED_OFTEN.iter().map(|cipher| ProgramCase {
        name: format!("openssl-context-{cipher}"),
        program: Program::Context(cipher),
    }));
    cases.extend(USES.iter().map(|(name, what)| ProgramCase {
        name: format!("openssl-key-{name}"),
        program: Program::Key(*what),
    }));
    cases.extend(messages());
    cases.extend(in_memory::CASES.map(|(name, handshake)| ProgramCase {
        name: format!("evp-handshake-{name}"),
        program: Program::InMemory(handshake),
    }));
    cases.extend(
        operations::cases()
            .into_iter()
            .map(|(name, operation)| ProgramCase {
                name: format!("evp-{name}"),
                program: Program::Operation(operation),
            }),
    );
    for cipher in CIPHERS {
        for (decrypts, suffix) in [(false, ""), (true, "-decrypt")] {
            cases.push(ProgramCase {
                name: format!("openssl-speed-{cipher}{suffix}"),
                program: Program::Speed(Speed { cipher, decrypts }),
            });
        }
    }
    let mut add = |name: String, suite, kind, setting| {
        let program = Program::Ssh(Ssh {
            suite,
            kind,
            setting,
        });
        cases.push(ProgramCase { name, program });
    };
    for suite in SUITES {
        for kind in [
            TransferKind::Download,
            TransferKind::Upload,
            TransferKind::Scp,
        ] {
            let name = format!("ssh-{}-{}", suite.name(), kind.name());
            add(name, suite, kind, Setting::Here);
        }
    }
    for suite in [&SUITES[0], &SUITES[5]] {
        let name = format!("ssh-gigabit-{}", suite.name());
        add(name, suite, TransferKind::Download, Setting::Gigabit);
    }
    for suite in SUITES {
        let name = format!("ssh-one-cpu-{}", suite.name());
        add(name, suite, TransferKind::Download, Setting::OneCpu);
    }
    for (suite, operation) in TLS_SUITES {
        let program = Program::Https(Https { suite, operation });
        let name = format!("https-{operation}");
        cases.push(ProgramCase { name, program });
    }
    cases.extend(handshakes());
    for (name, files) in FILES {
        cases.push(ProgramCase {
            name: name.to_owned(),
            program: Program::Files(files),
        });
    }
    for (name, servers) in servers() {
        cases.push(ProgramCase {
            name,
            program: Program::Servers(servers),
        });
    }
    cases.extend(packets::lines().map(|line| ProgramCase {
        name: line.name.to_owned(),
        program: Program::Batch(line),
    }));
    cases.extend(file_to_tls::CASES.map(|(name, file)| ProgramCase {
        name: name.to_owned(),
        program: Program::FileToTls(file),
    }));
    cases.extend(device::CASES.map(|(name, device)| ProgramCase {
        name: name.to_owned(),
        program: Program::Device(device),
    }));
    cases.extend(CASES_IN_C.map(|(name, library)| ProgramCase {
        name: name.to_owned(),
        program: Program::CLibrary(library),
    }));
    cases.extend(CASES_IN_PYTHON.map(|(name, python)| ProgramCase {
        name: name.to_owned(),
        program: Program::Python(python),
    }));
    cases
}

/// Returns the cases of messages with contexts or keys of their own.
fn messages() -> impl Iterator<Item = ProgramCase> {
    let directions = [(Direction::Encrypt, ""), (Direction::Decrypt, "-decrypt")];
    WAYS.iter().flat_map(move |(name, way)| {
        let ciphers = CIPHERS.iter().flat_map(move |cipher| {
            directions.map(|(direction, suffix)| ProgramCase {
                name: format!("evp-{name}-{cipher}{suffix}"),
                program: Program::Message(context::Message {
                    cipher,
                    direction,
                    way: *way,
                }),
            })
        });
        // The other ciphers do the same in both directions.
        ciphers.filter(|case| {
            !case.name.ends_with("-decrypt")
                || ["-cbc-", "-gcm-", "poly"]
                    .iter()
                    .any(|kind| case.name.contains(kind))
        })
    })
}

/// Returns the cases of servers: with simulated boards, alone and together, and with hostile clients.
fn servers() -> Vec<(String, Servers)> {
    let named = |name: &str, servers| (name.to_owned(), servers);
    let boards = |name: &str, board, has_tls, batch| {
        let by_three = if batch == 3 { "-by-three" } else { "" };
        let plaintext = if has_tls { "" } else { "-plaintext" };
        let boards = Boards {
            board,
            has_tls,
            batch,
        };
        let name = format!("server-boards-{name}{by_three}{plaintext}");
        (name, Servers::Boards(boards))
    };
    let mut cases = vec![
        named("server-rsa2048", Servers::Sign),
        named("server-p256", Servers::SignP256),
        named("server-latency", Servers::Latency { has_tls: true }),
        named(
            "server-latency-plaintext",
            Servers::Latency { has_tls: false },
        ),
    ];
    for (name, board) in [
        ("axl200", Board::Axl200),
        ("nfast300-crt", Board::Nfast300Crt),
        ("nfast300", Board::Nfast300),
    ] {
        for batch in [1, 3] {
            cases.extend([true, false].map(|has_tls| boards(name, board, has_tls, batch)));
        }
    }
    cases.extend([1, 3].map(|batch| boards("together", Board::Together, true, batch)));
    cases.extend([
        named("server-load", Servers::Load),
        named("server-overload", Servers::Overload),
        named("server-kill", Servers::Kill),
    ]);
    for (name, place) in [("server", Place::Server), ("files", Place::Files)] {
        for (key, is_p256) in [("p256", true), ("rsa2048", false)] {
            let token = Servers::Token { place, is_p256 };
            cases.push((format!("pkcs11-{name}-{key}"), token));
        }
    }
    for (name, application) in [
        ("java", Application::Java),
        ("openssl", Application::OpenSsl),
    ] {
        for (key, is_p256) in [("p256", true), ("rsa2048", false)] {
            let signs = Servers::Application {
                application,
                is_p256,
            };
            cases.push((format!("pkcs11-{name}-{key}"), signs));
        }
    }
    cases.extend(kinds().iter().map(|kind| {
        let name = format!("hostile-{}", kind.name);
        (name, Servers::Beside(kind.name))
    }));
    cases
}

const FILES: [(&str, Files); 7] = [
    ("file-encrypt", Files::One(Direction::Encrypt)),
    ("file-decrypt", Files::One(Direction::Decrypt)),
    ("file-many-encrypt", Files::Many(Direction::Encrypt)),
    ("file-many-decrypt", Files::Many(Direction::Decrypt)),
    ("file-unlock", Files::Unlock),
    ("pipe-encrypt", Files::Pipe(Direction::Encrypt)),
    ("pipe-decrypt", Files::Pipe(Direction::Decrypt)),
];

/// The single use of a key that a program has read.
const USES: [(&str, Use); 2] = [("verify", Use::Verify), ("sign", Use::Sign)];

/// The ways in which a message gets a context or a key of its own.
const WAYS: [(&str, Way); 3] = [
    ("copy", Way::Copied),
    ("new", Way::Whole),
    ("rekey", Way::NewKey),
];

/// Ciphers for which programs create a context per connection.
const KEYED_OFTEN: [&str; 7] = [
    "aes-128-ctr",
    "aes-256-ctr",
    "aes-128-gcm",
    "aes-256-gcm",
    "chacha20",
    "chacha20-poly1305",
    "aes-128-cbc",
];

pub(crate) const CIPHERS: [&str; 12] = [
    "aes-128-ctr",
    "aes-192-ctr",
    "aes-256-ctr",
    "aes-128-gcm",
    "aes-192-gcm",
    "aes-256-gcm",
    "chacha20",
    "chacha20-poly1305",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "camellia-128-ctr",
];

/// The suites that curl and nginx agree on (RFC 8446, B.4), with the libcrypto operation of each.
const TLS_SUITES: [(&str, &str); 3] = [
    ("TLS_AES_128_GCM_SHA256", "aes-128-gcm"),
    ("TLS_AES_256_GCM_SHA384", "aes-256-gcm"),
    ("TLS_CHACHA20_POLY1305_SHA256", "chacha20-poly1305"),
];

/// The cipher suites of ssh. An AEAD's MAC is part of the cipher. `ssh` computes `umac` and the `poly1305` of
/// ChaCha20-Poly1305 with its own code, which no provider reaches.
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

/// Returns handshakes by key, server and number in flight, and `openssl speed` of the same keys.
fn handshakes() -> Vec<ProgramCase> {
    let mut cases = Vec::new();
    for (key, bits) in [("rsa2048", 2048), ("rsa3072", 3072), ("rsa4096", 4096)] {
        for (server, name) in [
            (haproxy(1), "tls-haproxy"),
            (haproxy(2), "tls-haproxy-two-threads"),
            (nginx(4, false), "tls-nginx"),
            (nginx(4, true), "tls-nginx-local"),
            (nginx(16, true), "tls-nginx-local-16-workers"),
            (apache(32, false), "tls-apache"),
            (apache(32, true), "tls-apache-local"),
        ] {
            for (in_flight, suffix) in [(64, ""), (1, "-one-at-a-time")] {
                cases.push(ProgramCase {
                    name: format!("{name}-rsa-{bits}{suffix}"),
                    program: Program::Handshakes(Handshakes {
                        server,
                        key: KeyKind::Rsa(bits),
                        in_flight,
                        kind: Kind::Full,
                        is_hybrid: false,
                    }),
                });
            }
        }
        for (kind, suffix) in [(Kind::Full12, "tls-1.2"), (Kind::Resumed, "resumed")] {
            cases.push(ProgramCase {
                name: format!("tls-haproxy-{suffix}-rsa-{bits}"),
                program: Program::Handshakes(Handshakes {
                    server: haproxy(1),
                    key: KeyKind::Rsa(bits),
                    in_flight: 64,
                    kind,
                    is_hybrid: false,
                }),
            });
        }
        cases.push(ProgramCase {
            name: format!("tls-processes-rsa-{bits}"),
            program: Program::RsaProcesses(RsaProcesses { bits }),
        });
        for (jobs, suffix) in [(None, ""), (Some(8), "-async")] {
            cases.push(ProgramCase {
                name: format!("tls-speed-rsa-{bits}{suffix}"),
                program: Program::KeySpeed(KeySpeed { key, bits, jobs }),
            });
        }
    }
    let with_curves = [
        (
            Server::Haproxy {
                threads: 1,
                is_async: false,
            },
            "tls-haproxy",
        ),
        (nginx(1, false), "tls-nginx"),
        (apache(4, false), "tls-apache"),
    ];
    for (server, name) in with_curves {
        for key in [KeyKind::P256, KeyKind::P384] {
            for (kind, is_hybrid, suffix) in [
                (Kind::Full, false, ""),
                (Kind::Full, true, "-hybrid"),
                (Kind::Resumed, false, "-resumed"),
                (Kind::Resumed, true, "-resumed-hybrid"),
                (Kind::Full12, false, "-tls-1.2"),
            ] {
                cases.push(ProgramCase {
                    name: format!("{name}-{key}{suffix}"),
                    program: Program::Handshakes(Handshakes {
                        server,
                        key,
                        in_flight: 8,
                        kind,
                        is_hybrid,
                    }),
                });
            }
        }
    }
    for (name, program) in [
        ("curl", handshakes::Program::Curl),
        ("python", handshakes::Program::Python),
    ] {
        for key in [KeyKind::P256, KeyKind::P384, KeyKind::Rsa(2048)] {
            cases.push(ProgramCase {
                name: format!("tls-client-{name}-{key}"),
                program: Program::Clients(Clients { program, key }),
            });
        }
    }
    for (key, bits) in [
        ("ecdsap256", 256),
        ("ecdsap384", 384),
        ("ed25519", 253),
        ("ecdhx25519", 253),
        ("ecdhp256", 256),
    ] {
        cases.push(ProgramCase {
            name: format!("tls-speed-{key}"),
            program: Program::KeySpeed(KeySpeed {
                key,
                bits,
                jobs: None,
            }),
        });
    }
    cases
}

const fn haproxy(threads: usize) -> Server {
    Server::Haproxy {
        threads,
        is_async: true,
    }
}

const fn apache(threads: usize, has_daemon: bool) -> Server {
    Server::Apache {
        threads,
        has_daemon,
    }
}

const fn nginx(workers: usize, has_daemon: bool) -> Server {
    Server::Nginx {
        workers,
        has_daemon,
    }
}

/// Whether `pattern` selects whole programs.
pub(crate) fn are_named_by(pattern: &str) -> bool {
    [
        "ssh", "https", "tls-", "openssl-", "file", "pipe", "server", "hostile", "packet",
        "device", "c-", "evp-", "python-", "fleet-", "pkcs11-",
    ]
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
