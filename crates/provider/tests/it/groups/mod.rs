//! Groups of TLS by ML-KEM and a curve together, as `oarlock run --post-quantum` turns them on: with OpenSSL 3.5 and 4.0 and
//! Go at the other end, and with others that do not have them. nginx, haproxy and Python in `servers.rs`; peers that send
//! what is no share in `hostile.rs`; a query that prefers the provider for everything in `preferred.rs`.

mod hostile;
mod newer;
mod preferred;
mod servers;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use oarlock_testing::{lossy, skip};
use tempfile::TempDir;

use crate::driver::libcrypto;
use crate::host::{
    Accelerated, Program, free_port, open_folder, run_with, succeeds, until_listening, with_conf,
};

/// The hybrids, with their numbers.
const HYBRIDS: [(&str, u16); 3] = [
    ("X25519MLKEM768", 0x11ec),
    ("SecP256r1MLKEM768", 0x11eb),
    ("SecP384r1MLKEM1024", 0x11ed),
];

/// More than later releases have in their own list.
const ALL: &str = "X25519:X25519MLKEM768:P-256:SecP256r1MLKEM768:SecP384r1MLKEM1024";

/// A certificate and its key, of P-256.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let folder = open_folder();
        let mut request = Command::new("openssl");
        request.current_dir(folder.path());
        let options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out cert.pem \
                       -subj /CN=localhost -addext subjectAltName=DNS:localhost";
        succeeds(with_conf(&mut request, None).args(options.split_whitespace()));
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        let both = [read("cert.pem"), read("key.pem")].concat();
        fs::write(folder.path().join("both.pem"), both).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// What is at an end of a connection.
#[derive(Clone, Copy)]
enum End<'a> {
    /// This OpenSSL, with a configuration or without one.
    Here(Option<&'a Accelerated>),
    /// This OpenSSL, with a configuration that nobody but a test has written.
    Told(&'a Path),
    /// OpenSSL's command in a folder of its own, with a configuration or without one.
    Newer(&'a Path, Option<&'a Accelerated>),
    Go(&'a Path),
}

impl End<'_> {
    fn openssl(self, site: &Site) -> Command {
        let mut command = match self {
            Self::Here(conf) => {
                let mut command = Command::new("openssl");
                with_conf(&mut command, conf);
                command
            }
            Self::Told(conf) => {
                let mut command = Command::new("openssl");
                command.env("OPENSSL_CONF", conf);
                command
            }
            Self::Newer(folder, conf) => {
                let mut command = Command::new("env");
                command.arg(format!("LD_LIBRARY_PATH={}", folder.join("lib").display()));
                command.arg(folder.join("bin/openssl"));
                with_conf(&mut command, conf);
                command
            }
            Self::Go(program) => Command::new(program),
        };
        command.current_dir(site.0.path());
        command
    }

    /// Starts a server that answers with a page. Without `groups` it has those of its configuration or its own.
    fn serves(self, site: &Site, groups: Option<&str>) -> Server {
        self.serves_with(site, groups, &[])
    }

    fn serves_with(self, site: &Site, groups: Option<&str>, more: &[&str]) -> Server {
        let port = free_port();
        let mut command = self.openssl(site);
        if let Self::Go(_) = self {
            command.args([
                "serve",
                &port.to_string(),
                "cert.pem",
                "key.pem",
                &numbers(groups),
            ]);
        } else {
            command.args(["s_server", "-accept", &port.to_string(), "-www"]);
            command.args(["-cert", "cert.pem", "-key", "key.pem"]);
            command.args(groups.iter().flat_map(|groups| ["-groups", groups]));
            command.args(more);
        }
        let log = site.path(&format!("log-{port}"));
        command
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        let program = Program::start(&mut command);
        until_listening(&program, port);
        Server { port, program, log }
    }

    /// Asks for a page. Returns what was said, or what was said of a handshake that failed.
    fn asks(
        self,
        site: &Site,
        port: u16,
        groups: Option<&str>,
        more: &[&str],
    ) -> Result<String, String> {
        let mut command = self.openssl(site);
        if let Self::Go(_) = self {
            command.args(["ask", &port.to_string(), "cert.pem", &numbers(groups)]);
        } else {
            command.args([
                "s_client",
                "-connect",
                &format!("127.0.0.1:{port}"),
                "-ign_eof",
            ]);
            command.args(["-CAfile", "cert.pem", "-verify_return_error"]);
            command.args(groups.iter().flat_map(|groups| ["-groups", groups]));
            command.args(more);
        }
        let output = run_with(&mut command, b"GET / HTTP/1.0\r\n\r\n");
        let said = lossy(&output.stdout) + &lossy(&output.stderr);
        let has_page = said.contains("HTTP/1.0 200");
        match output.status.success() && has_page {
            true => Ok(said),
            false => Err(said),
        }
    }
}

struct Server {
    port: u16,
    program: Program,
    log: PathBuf,
}

impl Server {
    /// Whether it goes on, and has not said that something is wrong with itself.
    fn is_well(&self) -> bool {
        let log = lossy(&fs::read(&self.log).unwrap());
        self.program.is_running()
            && !log.contains("internal error")
            && !log.contains("malloc failure")
    }
}

/// As Go takes them.
fn numbers(groups: Option<&str>) -> String {
    let number = |name: &str| match name {
        "X25519" => 29,
        "P-256" => 23,
        "P-384" => 24,
        hybrid => HYBRIDS.iter().find(|(name, _)| *name == hybrid).unwrap().1,
    };
    let groups = groups.unwrap_or("X25519MLKEM768:X25519:P-256");
    let numbers: Vec<_> = groups
        .split(':')
        .map(|name| number(name).to_string())
        .collect();
    numbers.join(",")
}

struct Found {
    openssl: Vec<(&'static str, PathBuf)>,
    /// The folder of a program, and its path.
    go: Option<(TempDir, PathBuf)>,
}

/// Other implementations that have the hybrids: those of OpenSSL that `cargo xtask peers openssl` has built, and Go's if it is
/// installed.
fn others() -> Vec<(&'static str, End<'static>)> {
    static FOUND: OnceLock<Found> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let peers = test.ancestors().nth(3).unwrap().join("peers");
        let openssl = ["openssl-3.5", "openssl-4.0"].map(|name| (name, peers.join(name)));
        let openssl = openssl.into_iter();
        let openssl = openssl.filter(|(_, folder)| folder.join("bin/openssl").exists());
        Found {
            openssl: openssl.collect(),
            go: built_go(),
        }
    });
    let openssl = found.openssl.iter();
    let mut others: Vec<_> = openssl
        .map(|(name, folder)| (*name, End::Newer(folder, None)))
        .collect();
    let go = found.go.iter();
    others.extend(go.map(|(_, program)| ("go", End::Go(program))));
    if others.is_empty() {
        skip("neither another OpenSSL (cargo xtask peers openssl) nor Go is there");
    }
    others
}

fn built_go() -> Option<(TempDir, PathBuf)> {
    let folder = open_folder();
    let program = folder.path().join("groups");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program);
    go.arg(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/languages/groups.go"
    ));
    go.env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-mod=mod")
        .env("GOPROXY", "off");
    match go.output() {
        Ok(built) if built.status.success() => Some((folder, program)),
        // One without them, or none at all.
        _ => None,
    }
}

/// Whether OpenSSL here takes groups from the provider alone.
fn is_without_hybrids() -> bool {
    libcrypto().release() < (3, 5)
}

#[test]
fn every_hybrid_is_agreed_on_with_other_implementations() {
    let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
    let here = End::Here(Some(&accelerated));
    let server = here.serves(&site, Some(ALL));
    for (name, other) in others() {
        for (group, _) in HYBRIDS.into_iter().chain([("X25519", 29), ("P-256", 23)]) {
            let said = other.asks(&site, server.port, Some(group), &[]);
            assert!(said.is_ok(), "{name} asks for {group}: {said:?}");
            let server = other.serves(&site, Some(group));
            let said = here.asks(&site, server.port, Some(group), &[]);
            assert!(said.is_ok(), "{name} serves {group}: {said:?}");
        }
    }
    // With itself.
    for (group, _) in HYBRIDS {
        let said = here.asks(&site, server.port, Some(group), &[]);
        assert!(said.is_ok(), "{group}: {said:?}");
    }
    assert!(server.is_well());
}

/// With the groups of the configuration: a server chooses the hybrid with each client that sends a share of it, and a client
/// goes on with X25519 unless a server insists.
#[test]
fn the_configuration_turns_them_on() {
    let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
    let here = End::Here(Some(&accelerated));
    let server = here.serves(&site, None);
    for (name, other) in others() {
        let said = other.asks(&site, server.port, None, &[]).unwrap();
        let is_hybrid = ["group 4588", "TLS1.3 group: X25519MLKEM768"]
            .iter()
            .any(|it| said.contains(it));
        assert!(is_hybrid, "{name}: {said}");
        // A server that prefers the hybrid, and one that has nothing else, ask for a share of it.
        let mut insist = vec!["X25519MLKEM768:X25519", "X25519MLKEM768"];
        // Later releases have it, but not in their own list.
        insist.extend(is_without_hybrids().then_some("SecP256r1MLKEM768"));
        for groups in insist {
            let other = other.serves(&site, Some(groups));
            let said = here.asks(&site, other.port, None, &[]);
            assert!(said.is_ok(), "{name} serves {groups}: {said:?}");
        }
    }
    let said = End::Here(None)
        .asks(&site, server.port, Some("X25519"), &[])
        .unwrap();
    assert!(said.contains("Temp Key: X25519"), "{said}");
    // Its clients go on with X25519; those of later releases send both.
    let stock = End::Here(None).serves(&site, Some("X25519"));
    let said = here.asks(&site, stock.port, None, &[]).unwrap();
    assert!(said.contains("Temp Key: X25519"), "{said}");
    assert!(server.is_well());
}

#[test]
fn without_the_flag_nothing_changes() {
    let (site, accelerated) = (Site::new(), Accelerated::new());
    let here = End::Here(Some(&accelerated));
    let server = here.serves(&site, None);
    if is_without_hybrids() {
        for (group, _) in HYBRIDS {
            let refused = here.asks(&site, server.port, Some(group), &[]).unwrap_err();
            assert!(refused.contains("group"), "{refused}");
            for (name, other) in others() {
                assert!(
                    other.asks(&site, server.port, Some(group), &[]).is_err(),
                    "{name} {group}"
                );
            }
        }
    }
    for (name, other) in others() {
        let said = other.asks(&site, server.port, None, &[]).unwrap();
        let has = said.contains("MLKEM") || said.contains("group 4588");
        assert_eq!(has, !is_without_hybrids(), "{name}: {said}");
    }
    assert!(server.is_well());
}

/// HelloRetryRequest: the share that was sent is of a group that the server does not have.
#[test]
fn another_share_is_asked_for() {
    let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
    let here = End::Here(Some(&accelerated));
    for (name, other) in others() {
        for (sent, wanted) in [("X25519MLKEM768", "X25519"), ("X25519", "X25519MLKEM768")] {
            // Those of later releases would send a share of each that has a mark of its own.
            let both = format!("{sent}:{wanted}");
            let server = here.serves(&site, Some(wanted));
            let said = other.asks(&site, server.port, Some(&both), &[]);
            assert!(
                said.is_ok(),
                "{name} asks for {both}, and gets {wanted}: {said:?}"
            );
            assert!(server.is_well());
            let server = other.serves(&site, Some(wanted));
            let said = here.asks(&site, server.port, Some(&both), &[]);
            assert!(said.is_ok(), "{name} has {wanted} for {both}: {said:?}");
        }
    }
}

/// A group that one side has alone ends the handshake, with an alert that says so, and nothing else.
#[test]
fn ends_without_a_group_in_common_part() {
    let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
    let (here, stock) = (End::Here(Some(&accelerated)), End::Here(None));
    let server = here.serves(&site, Some("X25519MLKEM768"));
    let refused = stock
        .asks(&site, server.port, Some("X25519"), &[])
        .unwrap_err();
    assert!(refused.contains("alert handshake failure"), "{refused}");
    // TLS 1.2 has no such group.
    let refused = stock
        .asks(&site, server.port, Some("P-256"), &["-tls1_2"])
        .unwrap_err();
    assert!(refused.contains("alert handshake failure"), "{refused}");
    assert!(
        here.asks(&site, server.port, Some("X25519MLKEM768"), &[])
            .is_ok()
    );
    assert!(server.is_well());
    let server = stock.serves(&site, Some("X25519"));
    let refused = here
        .asks(&site, server.port, Some("X25519MLKEM768"), &[])
        .unwrap_err();
    assert!(refused.contains("alert handshake failure"), "{refused}");
    assert!(here.asks(&site, server.port, None, &[]).is_ok());
    assert!(server.is_well());
}

#[test]
fn peers_of_tls_1_2_notice_nothing() {
    let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
    let (here, stock) = (End::Here(Some(&accelerated)), End::Here(None));
    for (server, client) in [(here, stock), (stock, here), (here, here)] {
        let server = server.serves(&site, None);
        for more in [&["-tls1_2"][..], &["-tls1_2", "-groups", "P-256:P-384"]] {
            let said = client.asks(&site, server.port, None, more).unwrap();
            assert!(said.contains("Temp Key: "), "{said}");
        }
        assert!(server.is_well());
    }
}

/// A list of the user's own stays, by either of its names.
#[test]
fn groups_of_the_user_stay() {
    for list in ["Groups = P-384", "1.curves = P-384"] {
        let site = Site::new();
        let conf = site.path("user.cnf");
        let text = "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMinProtocol = TLSv1.2\n";
        fs::write(&conf, format!("{text}{list}\n")).unwrap();
        let accelerated = Accelerated::post_quantum(Some(&conf));
        let here = End::Here(Some(&accelerated));
        let server = here.serves(&site, None);
        let said = End::Here(None).asks(&site, server.port, None, &[]).unwrap();
        assert!(
            said.contains("secp384r1") || said.contains("P-384"),
            "{said}"
        );
        let refused = here
            .asks(&site, server.port, Some("X25519MLKEM768"), &[])
            .unwrap_err();
        assert!(refused.contains("alert handshake failure"), "{refused}");
    }
}

/// OpenSSL ignores a list with an unknown name as a whole, also if the provider knows another name in it: a server that
/// took the hybrid alone could not be reached by clients without one.
#[test]
fn a_list_with_an_unknown_name_leaves_the_default() {
    let site = Site::new();
    let conf = site.path("user.cnf");
    let text = "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n";
    fs::write(&conf, format!("{text}Groups = nonsense:X25519MLKEM768\n")).unwrap();
    let accelerated = Accelerated::post_quantum(Some(&conf));
    let server = End::Here(Some(&accelerated)).serves(&site, None);
    let said = End::Here(None).asks(&site, server.port, None, &[]);
    assert!(
        said.as_ref().is_ok_and(|said| said.contains("X25519")),
        "{said:?}"
    );
}
