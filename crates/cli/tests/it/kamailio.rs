//! `oarlock run` with Kamailio, whose processes share OpenSSL's memory: one accepts a connection, and another may free it.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use oarlock_testing::lossy;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::common::{free_port, oarlock, provider, run, stderr};

/// Covers keys of both types, and clients that close their connection and that do not.
#[test]
fn a_server_whose_processes_share_memory_outlives_its_clients() {
    for key in [
        &["rsa:2048"][..],
        &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ] {
        let server = Server::start(key);
        let mut clients = Command::new("python3");
        clients.env_remove("OPENSSL_CONF").args(["-c", CLIENTS]);
        let served = run(clients.arg(server.port.to_string()), b"");
        assert_eq!(
            lossy(&served.stdout),
            "200 OK\n".repeat(CLIENTS_SERVED),
            "{}{}",
            stderr(&served),
            server.log()
        );
        // Its processes have loaded the provider, which offers them nothing.
        let processes = server.processes();
        let with_provider = processes.iter().filter(|process| has_provider(process));
        assert!(with_provider.count() >= TCP_PROCESSES, "{processes:?}");
        assert!(!server.log().contains("signal"), "{}", server.log());
    }
}

struct Server {
    folder: tempfile::TempDir,
    port: u16,
    /// The leader of a process group.
    child: Child,
}

impl Server {
    fn start(key: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let mut request = Command::new("openssl");
        request.args(["req", "-x509", "-nodes", "-days", "2"]);
        request
            .args(["-subj", "/CN=localhost", "-newkey"])
            .args(key);
        request.arg("-keyout").arg(file("key.pem"));
        request.arg("-out").arg(file("cert.pem"));
        let made = run(&mut request, b"");
        assert!(made.status.success(), "{}", stderr(&made));
        let port = free_port();
        fs::write(file("kamailio.cfg"), configuration(folder.path(), port)).unwrap();
        let mut command = oarlock();
        command.args(["run", "--provider"]).arg(provider());
        command.args(["--", "kamailio", "-DD", "-E", "-m", "64", "-M", "8", "-f"]);
        command
            .arg(file("kamailio.cfg"))
            .arg("-Y")
            .arg(folder.path());
        let log = fs::File::create(file("log")).unwrap();
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.process_group(0).spawn().unwrap();
        Self {
            folder,
            port,
            child,
        }
    }

    /// Returns the folders of its processes in /proc.
    fn processes(&self) -> Vec<PathBuf> {
        let group = format!("{}", self.child.id());
        let folders = fs::read_dir("/proc").unwrap().flatten();
        folders
            .map(|folder| folder.path())
            .filter(|folder| {
                let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
                // After the name: state, parent, group (proc(5)).
                let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
                rest.split_whitespace().nth(2) == Some(&group)
            })
            .collect()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

fn has_provider(process: &Path) -> bool {
    let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
    maps.contains(provider().to_str().unwrap())
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "#!KAMAILIO\ndebug=1\nlog_stderror=yes\nfork=yes\nchildren=1\ntcp_children={TCP_PROCESSES}\nenable_tls=yes\n\
         listen=tls:127.0.0.1:{port}\n\
         loadmodule \"sl.so\"\nloadmodule \"pv.so\"\nloadmodule \"tls.so\"\n\
         modparam(\"tls\", \"tls_method\", \"TLSv1.2+\")\n\
         modparam(\"tls\", \"private_key\", \"{folder}/key.pem\")\n\
         modparam(\"tls\", \"certificate\", \"{folder}/cert.pem\")\n\
         request_route {{\n  sl_send_reply(\"200\", \"OK\");\n}}\n"
    )
}

const TCP_PROCESSES: usize = 3;
const CLIENTS_SERVED: usize = 16;

/// Takes a port. One client after the other, each with a connection of its own, prints the answer. The first is not counted
/// and asks until the server's processes are ready. Each wait is bounded, and so is their sum.
const CLIENTS: &str = r#"
import signal, socket, ssl, struct, sys, time
signal.alarm(60)
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
def ask(takes_leave):
    client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
    client = context.wrap_socket(client)
    client.sendall(
        b"OPTIONS sip:a@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/TLS 127.0.0.1:5061;branch=z9hG4bK1\r\n"
        b"From: <sip:a@localhost>;tag=1\r\nTo: <sip:a@localhost>\r\nCall-ID: 1\r\n"
        b"CSeq: 1 OPTIONS\r\nMax-Forwards: 5\r\nContent-Length: 0\r\n\r\n")
    answer = b""
    while not answer.endswith(b"\r\n\r\n") and (got := client.recv(4096)):
        answer += got
    if takes_leave:
        try: client.unwrap()
        except OSError: pass # the server need not answer to that
    else:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    return answer.split(b"\r\n")[0].decode().removeprefix("SIP/2.0 ")
began = time.monotonic()
while True:
    try:
        if ask(True) == "200 OK": break
    except OSError:
        if time.monotonic() > began + 30: raise
    time.sleep(0.05)
for number in range(16):
    print(ask(number % 2 == 0), flush=True)
"#;
