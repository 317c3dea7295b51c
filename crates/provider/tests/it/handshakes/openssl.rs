//! `openssl s_server`, `s_client` and `s_time`: each group, client certificates, resumed sessions and renegotiation.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Command, Stdio};

use oarlock_testing::{lossy, until};

use super::site::Site;
use super::told;
use crate::driver::libcrypto;
use crate::host::{
    Accelerated, Program, has_lanes, run_with, succeeds, until_listening, with_conf,
};

/// The ends that use the provider.
#[derive(Clone, Copy, Debug)]
enum End {
    Server,
    Client,
}

const ENDS: [End; 2] = [End::Server, End::Client];

/// A server from which clients request pages one by one.
struct Pair<'a> {
    site: &'a Site,
    accelerated: &'a Accelerated,
    end: End,
    server: Program,
}

impl<'a> Pair<'a> {
    fn start(site: &'a Site, accelerated: &'a Accelerated, end: End, options: &[&str]) -> Self {
        let conf = matches!(end, End::Server).then_some(accelerated);
        let mut server = command(site, conf);
        server.args(["s_server", "-accept", &site.port.to_string()]);
        server.args(["-cert", "cert.pem", "-key", "key.pem"]);
        server.args(options);
        server.stdout(Stdio::null());
        server.stderr(File::create(site.folder.path().join("log")).unwrap());
        let server = Program::start(&mut server);
        until_listening(&server, site.port);
        Self {
            site,
            accelerated,
            end,
            server,
        }
    }

    fn client(&self) -> Command {
        let conf = matches!(self.end, End::Client).then_some(self.accelerated);
        let mut client = command(self.site, conf);
        client.args(["s_client", "-connect"]);
        client.arg(format!("127.0.0.1:{}", self.site.port));
        client.args(["-CAfile", "cert.pem", "-verify_return_error"]);
        client
    }

    /// Requests a page with these options, and returns the client's output.
    fn page(&self, options: &[&str]) -> String {
        let mut client = self.client();
        client.args(options).arg("-ign_eof");
        let output = run_with(&mut client, b"GET / HTTP/1.0\r\n\r\n");
        let said = lossy(&output.stdout);
        let is_whole = said.contains("HTTP/1.0 200") && said.contains("Verification: OK");
        assert!(
            output.status.success() && is_whole,
            "{:?} {options:?}: {said}{}{}",
            self.end,
            lossy(&output.stderr),
            told(&self.site.folder.path().join("log"))
        );
        said
    }

    /// Returns the private operations of the end that uses the provider.
    fn signed(&self) -> u64 {
        let counted = self.accelerated.counted().private_operations;
        counted.alone + counted.in_lanes
    }
}

fn command(site: &Site, conf: Option<&Accelerated>) -> Command {
    let mut command = Command::new("openssl");
    with_conf(&mut command, conf).current_dir(site.folder.path());
    command
}

#[test]
fn every_group_takes_signatures() {
    if !has_lanes() {
        return;
    }
    let curves = ["X25519", "X448", "P-256", "P-384", "P-521"];
    let fields = ["ffdhe2048", "ffdhe3072"];
    let all = [&curves[..], &fields].concat();
    for end in ENDS {
        let (site, accelerated) = (Site::new(), Accelerated::new());
        let groups = all.join(":");
        let pair = Pair::start(&site, &accelerated, end, &["-www", "-groups", &groups]);
        for group in &all {
            pair.page(&["-tls1_3", "-groups", group]);
        }
        for group in curves {
            pair.page(&["-tls1_2", "-groups", group]);
        }
        if matches!(end, End::Server) {
            assert_eq!(pair.signed(), (all.len() + curves.len()) as u64);
        }
    }
}

/// Client certificates with a key of either type.
#[test]
fn clients_have_certificates_too() {
    if !has_lanes() {
        return;
    }
    for end in ENDS {
        for kind in ["rsa", "rsa-pss"] {
            let (site, accelerated) = (Site::new(), Accelerated::new());
            let mut request = command(&site, None);
            request.args(["req", "-x509", "-newkey", kind, "-pkeyopt"]);
            request.args(["rsa_keygen_bits:2048", "-nodes", "-subj", "/CN=client"]);
            succeeds(request.args(["-keyout", "own.key", "-out", "own.pem"]));
            let file = |name| fs::read(site.folder.path().join(name)).unwrap();
            // The server requests a certificate, and ends connections without one.
            let asks = [
                "-www",
                "-Verify",
                "1",
                "-verify_return_error",
                "-CAfile",
                "own.pem",
            ];
            assert!(!file("own.key").is_empty());
            let pair = Pair::start(&site, &accelerated, end, &asks);
            for version in ["-tls1_3", "-tls1_2"] {
                pair.page(&[version, "-cert", "own.pem", "-key", "own.key"]);
            }
            assert_eq!(pair.signed(), 2, "{end:?} {kind}");
            let mut without = pair.client();
            let ended = run_with(
                without.args(["-tls1_2", "-ign_eof"]),
                b"GET / HTTP/1.0\r\n\r\n",
            );
            assert!(!lossy(&ended.stdout).contains("HTTP/1.0 200"));
        }
    }
}

#[test]
fn sessions_are_resumed_without_a_signature() {
    if !has_lanes() {
        return;
    }
    for end in ENDS {
        let (site, accelerated) = (Site::new(), Accelerated::new());
        let pair = Pair::start(&site, &accelerated, end, &["-www"]);
        for version in ["-tls1_3", "-tls1_2"] {
            pair.page(&[version, "-sess_out", "session"]);
            let before = pair.signed();
            let said = pair.page(&[version, "-sess_in", "session"]);
            assert!(said.contains("Reused, TLSv1."), "{said}");
            assert_eq!(pair.signed(), before);
        }
        // Earlier releases report it as a failure.
        if matches!(end, End::Server) && libcrypto().has(&[[3, 0, 19], [3, 5, 5]]) {
            let mut times = command(&site, None);
            times.args(["s_time", "-connect", &format!("127.0.0.1:{}", site.port)]);
            times.args(["-CAfile", "cert.pem", "-verify", "1", "-time", "1", "-new"]);
            let said = lossy(&succeeds(&mut times));
            assert!(said.contains(" connections in "), "{said}");
        }
        assert!(pair.server.is_running());
    }
}

/// TLS 1.2 can renegotiate within a connection.
#[test]
fn a_connection_is_negotiated_anew() {
    if !has_lanes() {
        return;
    }
    for end in ENDS {
        let (site, accelerated) = (Site::new(), Accelerated::new());
        let pair = Pair::start(&site, &accelerated, end, &["-rev", "-client_renegotiation"]);
        let heard = site.folder.path().join("heard");
        let mut client = pair.client();
        client.args(["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"]);
        let both = File::create(&heard).unwrap();
        client
            .stdin(Stdio::piped())
            .stdout(both.try_clone().unwrap());
        client.stderr(both);
        let mut client = client.spawn().unwrap();
        let mut input = client.stdin.take().unwrap();
        let words = [("first", "tsrif"), ("second", "dnoces"), ("third", "driht")];
        for (times, (word, back)) in (1..).zip(words) {
            writeln!(input, "{word}").unwrap();
            until("it comes back", || told(&heard).contains(back));
            writeln!(input, "R").unwrap();
            // Input that arrives together with the command is lost.
            until("it begins", || {
                told(&heard).matches("RENEGOTIATING").count() == times
            });
        }
        writeln!(input, "Q").unwrap();
        assert!(client.wait().unwrap().success());
        if matches!(end, End::Server) {
            assert!(pair.signed() >= 3, "{}", pair.signed());
        }
    }
}
