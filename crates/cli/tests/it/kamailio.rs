//! `oarlock run` with Kamailio, which has OpenSSL's memory shared by its processes: one accepts a connection, and another
//! may be the one that frees it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oarlock_testing::until;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::common::{oarlock, provider, run, stderr};

/// With keys of both kinds, and clients that take leave and that do not.
#[test]
fn a_server_whose_processes_share_memory_outlives_its_clients() {
    for key in [
        &["rsa:2048"][..],
        &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ] {
        let server = Server::start(key);
        for number in 0..16 {
            let answer = server.ask(number % 2 == 0);
            assert!(
                answer.contains("200 OK"),
                "client {number}: {answer}\n{}",
                server.log()
            );
        }
        assert!(!server.log().contains("signal"), "{}", server.log());
    }
}

struct Server {
    folder: tempfile::TempDir,
    port: u16,
    /// Leads a group of its own.
    child: Child,
}

impl Server {
    fn start(key: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let mut request = Command::new("openssl");
        request.args([
            "req",
            "-x509",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ]);
        request.arg("-newkey").args(key);
        request
            .arg("-keyout")
            .arg(file("key.pem"))
            .arg("-out")
            .arg(file("cert.pem"));
        let made = run(&mut request, b"");
        assert!(made.status.success(), "{}", stderr(&made));
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = port.local_addr().unwrap().port();
        fs::write(file("kamailio.cfg"), configuration(folder.path(), port)).unwrap();
        let mut command = oarlock();
        command.args(["run", "--provider"]).arg(provider());
        command.args(["--", "kamailio", "-DD", "-E", "-m", "64", "-M", "8"]);
        command
            .arg("-f")
            .arg(file("kamailio.cfg"))
            .arg("-Y")
            .arg(folder.path());
        let log = fs::File::create(file("log")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let child = command.process_group(0).spawn().unwrap();
        let server = Self {
            folder,
            port,
            child,
        };
        // Its processes come one after another.
        until("it answers", || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
                && server.ask(true).contains("200 OK")
        });
        server
    }

    /// The answer to a request of a client of its own, which says that it goes, or does not.
    fn ask(&self, takes_leave: bool) -> String {
        let mut client = Command::new("openssl");
        client.args(["s_client", "-quiet", "-no_ign_eof", "-connect"]);
        client.arg(format!("127.0.0.1:{}", self.port));
        client
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut client = client.spawn().unwrap();
        let mut stdin = client.stdin.take().unwrap();
        let _ = stdin.write_all(REQUEST.as_bytes());
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        let mut stdout = client.stdout.take().unwrap();
        while !answer.ends_with(b"\r\n\r\n") {
            match stdout.read(&mut piece).unwrap() {
                0 => break,
                bytes => answer.extend_from_slice(&piece[..bytes]),
            }
        }
        if takes_leave {
            drop(stdin);
        } else {
            client.kill().unwrap();
        }
        client.wait().unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "#!KAMAILIO\ndebug=1\nlog_stderror=yes\nfork=yes\nchildren=1\ntcp_children=3\nenable_tls=yes\n\
         listen=tls:127.0.0.1:{port}\n\
         loadmodule \"sl.so\"\nloadmodule \"pv.so\"\nloadmodule \"tls.so\"\n\
         modparam(\"tls\", \"tls_method\", \"TLSv1.2+\")\n\
         modparam(\"tls\", \"private_key\", \"{folder}/key.pem\")\n\
         modparam(\"tls\", \"certificate\", \"{folder}/cert.pem\")\n\
         request_route {{\n  sl_send_reply(\"200\", \"OK\");\n}}\n"
    )
}

const REQUEST: &str = "OPTIONS sip:a@127.0.0.1 SIP/2.0\r\n\
    Via: SIP/2.0/TLS 127.0.0.1:5061;branch=z9hG4bK1\r\n\
    From: <sip:a@localhost>;tag=1\r\nTo: <sip:a@localhost>\r\nCall-ID: 1\r\n\
    CSeq: 1 OPTIONS\r\nMax-Forwards: 5\r\nContent-Length: 0\r\n\r\n";
