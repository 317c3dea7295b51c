//! The tunnel with strongSwan's userland data path (`kernel-libipsec`) at its other end.
//!
//! strongSwan agrees on keys only by IKE, which the tunnel does not speak. So two of its daemons negotiate; one of them is
//! then killed, and the tunnel takes over its address, its port, and the keys from its log.

use std::fs;
use std::path::Path;

use oarlock_testing::until;
use rustix::process::Signal;

use super::hosts::Host::{self, A, B};
use super::hosts::{End, Program, answers, at, on_two_hosts, says, says_at, succeeds, transfer};

#[test]
fn strongswan_is_a_peer_whose_other_end_was_replaced() {
    if on_two_hosts() {
        return;
    }
    says("ip address add 10.79.0.1/32 dev lo");
    says_at(B, "ip address add 10.79.0.2/32 dev lo");
    for (proposal, suite) in [
        ("aes128gcm16", "aes128gcm"),
        ("aes256gcm16", "aes256gcm"),
        ("chacha20poly1305", "chacha20poly1305"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let a = Charon::start(folder.path(), A, proposal);
        let b = Charon::start(folder.path(), B, proposal);
        a.swanctl("--initiate --child net --timeout 30");
        let keys = folder.path().join("keys");
        fs::write(&keys, b.keys(suite)).unwrap();
        fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        // Killed without a delete message, so that the other continues.
        b.kill();
        let end = End::start(B, &keys, "--address 10.78.0.2/32 --peer 10.77.0.1:4500");
        says_at(B, "ip route add 10.79.0.1/32 dev inner src 10.79.0.2");

        // On a busy machine the first packet through the new end is sometimes lost.
        let mut first = at(A, "ping");
        first.args("-c 1 -W 2 -I 10.79.0.1 10.79.0.2".split(' '));
        until("the other end is reached", || succeeds(&mut first));
        answers("-I 10.79.0.1", "10.79.0.2");
        let blocks = 32;
        assert_eq!(
            transfer(A, "10.79.0.2".parse().unwrap(), |sent| sent < blocks),
            blocks
        );
        assert_eq!(
            transfer(B, "10.79.0.1".parse().unwrap(), |sent| sent < blocks),
            blocks
        );
        let totals = end.interrupt();
        for what in ["replayed", "forged", "invalid"] {
            assert_eq!(totals.of(what), 0, "{proposal}: {totals:?}");
        }
    }
}

struct Charon {
    folder: std::path::PathBuf,
    name: &'static str,
    daemon: Program,
}

impl Charon {
    fn start(folder: &Path, host: Host, proposal: &str) -> Self {
        let (name, [own, other]) = match host {
            A => ("a", ["1", "2"]),
            B => ("b", ["2", "1"]),
        };
        let path = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
        let settings = SETTINGS
            .replace("VICI", &path("vici"))
            .replace("LOG", &path("log"));
        fs::write(path("strongswan.conf"), settings).unwrap();
        let connection = CONNECTION.replace("OWN", own).replace("OTHER", other);
        fs::write(
            path("swanctl.conf"),
            connection.replace("PROPOSAL", proposal),
        )
        .unwrap();
        let mut command = at(host, "unshare");
        // /run holds the running daemon's process ID, so each daemon has a /run of its own.
        command.args([
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs tmpfs /run && exec /usr/lib/ipsec/charon",
        ]);
        command
            .env("STRONGSWAN_CONF", path("strongswan.conf"))
            .env("OPENSSL_CONF", "/dev/null");
        let mut made = Self {
            folder: folder.to_owned(),
            name,
            daemon: Program::start(&mut command),
        };
        until("charon listens", || {
            assert!(made.daemon.is_running(), "{}", made.daemon.said());
            made.try_swanctl("--stats").status.success()
        });
        made.swanctl(&format!("--load-all --file {}", path("swanctl.conf")));
        made
    }

    #[track_caller]
    fn swanctl(&self, words: &str) {
        super::succeeded(&self.try_swanctl(words));
    }

    fn try_swanctl(&self, words: &str) -> std::process::Output {
        let path = |end: &str| self.folder.join(format!("{}.{end}", self.name));
        let mut command = at(A, "swanctl");
        command.args(words.split(' ')).arg("--uri");
        command.arg(format!("unix://{}", path("vici").display()));
        command
            .env("STRONGSWAN_CONF", path("strongswan.conf"))
            .env("OPENSSL_CONF", "/dev/null");
        command.output().unwrap()
    }

    /// Returns the keys that the responder agreed on, in the tunnel's format.
    fn keys(&self, suite: &str) -> String {
        let path = self.folder.join(format!("{}.log", self.name));
        let mut log = String::new();
        until("the association is there", || {
            log = fs::read_to_string(&path).unwrap();
            log.contains("INSTALLING => INSTALLED")
        });
        let spi = |direction: &str| {
            let (_, rest) = log
                .split_once(&format!("adding {direction} ESP SA"))
                .unwrap();
            let (_, rest) = rest.split_once("SPI ").unwrap();
            rest.split(',').next().unwrap().to_owned()
        };
        let key = |side: &str| {
            let (_, rest) = log
                .split_once(&format!("encryption {side} key => "))
                .unwrap();
            let bytes: usize = rest.split(' ').next().unwrap().parse().unwrap();
            // The log has 16 bytes a line: `13[CHD]    0: 0A DD ..  text`.
            let lines = rest.lines().skip(1).take(bytes.div_ceil(16));
            let digits =
                lines.flat_map(|line| line.split_once(": ").unwrap().1.split(' ').take(16));
            let digits: String = digits.take(bytes).map(str::to_lowercase).collect();
            assert_eq!(digits.len(), 2 * bytes, "{digits}");
            digits
        };
        format!(
            "in {} {suite} {}\nout {} {suite} {}\n",
            spi("inbound"),
            key("initiator"),
            spi("outbound"),
            key("responder")
        )
    }

    fn kill(mut self) {
        self.daemon.ends_by(Signal::KILL);
    }
}

/// The openssl plugin provides all ciphers, MACs and hashes. Level 4 of `chd` logs the keys.
const SETTINGS: &str = "\
charon {
    load = openssl nonce kdf kernel-libipsec kernel-netlink socket-default vici
    plugins { vici { socket = unix://VICI }
        openssl { load_legacy = no } }
    filelog { log { path = LOG
        chd = 4
        flush_line = yes } }
}
swanctl { load = openssl }
";

const CONNECTION: &str = "\
connections { tunnel {
    version = 2
    proposals = aes128-sha256-modp2048
    local_addrs = 10.77.0.OWN
    remote_addrs = 10.77.0.OTHER
    local { auth = psk
        id = 10.77.0.OWN }
    remote { auth = psk
        id = 10.77.0.OTHER }
    children { net {
        local_ts = 10.79.0.OWN/32
        remote_ts = 10.79.0.OTHER/32
        esp_proposals = PROPOSAL
    } }
} }
secrets { ike { secret = \"not much of one\" } }
";
