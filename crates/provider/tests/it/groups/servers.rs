//! Servers whose own configuration does not name groups, and programs that make contexts and processes between the parts of
//! a handshake.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use oarlock_testing::{lossy, until};

use super::{End, Site, others};
use crate::host::{
    Accelerated, Program, free_port, has_loaded, module, run, succeeds, until_listening, with_conf,
};

/// Starts nginx, or haproxy, with a configuration that says nothing of groups.
fn start(name: &str, site: &Site, accelerated: &Accelerated) -> (Program, u16) {
    let (port, place) = (free_port(), site.0.path().display());
    let conf = match name {
        "nginx" => format!(
            "daemon off; worker_processes 1; pid {place}/pid; error_log {place}/errors warn; events {{}}\n\
             http {{ access_log off; client_body_temp_path {place}/t1; proxy_temp_path {place}/t2;\n\
             fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;\n\
             server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {place}/cert.pem; ssl_certificate_key {place}/key.pem; ssl_protocols TLSv1.2 TLSv1.3;\n\
             location / {{ return 200 hello; }} }} }}\n"
        ),
        _ => format!(
            "defaults\n    mode http\n    timeout client 9s\n    timeout server 9s\n    timeout connect 9s\n\
             frontend f\n    bind 127.0.0.1:{port} ssl crt {place}/both.pem\n    \
             http-request return status 200 content-type text/plain string hello\n"
        ),
    };
    let file = site.path(name);
    fs::write(&file, conf).unwrap();
    let mut server = Command::new(name);
    with_conf(&mut server, Some(accelerated));
    match name {
        "nginx" => server.arg("-c").arg(&file),
        _ => server.arg("-db").arg("-f").arg(&file),
    };
    server
        .stdout(Stdio::null())
        .stderr(File::create(site.path("log")).unwrap());
    let program = Program::start(&mut server);
    until_listening(&program, port);
    (program, port)
}

#[test]
fn servers_agree_on_hybrids_without_a_word_in_their_configuration() {
    for name in ["nginx", "haproxy"] {
        let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
        let (server, port) = start(name, &site, &accelerated);
        let page = |end: End<'_>, groups: Option<&str>, more: &[&str]| {
            // These two answer with another version of HTTP than they are asked in.
            let said = end
                .asks(&site, port, groups, more)
                .unwrap_or_else(|said| said);
            assert!(said.contains("hello"), "{name}: {said}");
            said
        };
        for (other, end) in others() {
            let said = page(end, None, &[]);
            let is_hybrid =
                said.contains("TLS1.3 group: X25519MLKEM768") || said.contains("group 4588");
            assert!(is_hybrid, "{name} with {other}: {said}");
            page(end, Some("SecP384r1MLKEM1024"), &[]);
        }
        let stock = End::Here(None);
        assert!(page(stock, Some("X25519"), &[]).contains("Temp Key: X25519"));
        page(stock, Some("P-256"), &[]);
        page(stock, None, &["-tls1_2"]);
        if name == "nginx" {
            let before = server.children();
            server.signal(libc::SIGHUP);
            until("a new worker is there", || {
                let now = server.children();
                now.len() == 1 && now != before
            });
            page(End::Here(Some(&accelerated)), Some("X25519MLKEM768"), &[]);
        }
        assert!(server.is_running() && has_loaded(server.pid(), &module()));
        let errors = fs::read(site.path("errors")).unwrap_or_default();
        assert!(errors.is_empty(), "{}", lossy(&errors));
    }
}

/// Python: a context for each connection, sessions, and a fork between the first message of a client, for which a key was
/// generated, and the answer, which is decapsulated on both sides of the fork.
#[test]
fn contexts_and_forks_come_between() {
    let site = Site::new();
    let conf = site.path("user.cnf");
    let text = "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nGroups = X25519MLKEM768\n";
    fs::write(&conf, text).unwrap();
    let accelerated = Accelerated::post_quantum(Some(&conf));
    let mut python = Command::new("/usr/bin/python3");
    accelerated.apply(&mut python);
    python.args(["-I", "-c", CONTEXTS]).arg(site.0.path());
    assert_eq!(lossy(&succeeds(&mut python)), "both\n");
    // The groups are what makes it work: without the provider the list is passed over, and a server has none of it.
    let mut without = Command::new("/usr/bin/python3");
    without.env("OPENSSL_CONF", &conf);
    without.args(["-I", "-c", CONTEXTS]).arg(site.0.path());
    assert!(run(&mut without).status.success());
}

/// The folder of the site.
const CONTEXTS: &str = r#"
import os, ssl, sys
folder = sys.argv[1]
def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
def ends():
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder + "/both.pem")
    client = ssl.create_default_context(cafile=folder + "/cert.pem")
    back, forth = ssl.MemoryBIO(), ssl.MemoryBIO()
    return client.wrap_bio(back, forth, server_hostname="localhost"), server.wrap_bio(forth, back, server_side=True), forth
def steps(end):
    try:
        end.do_handshake()
        return True
    except ssl.SSLWantReadError:
        return False
def finish(client, server):
    done = [False, False]
    for _ in range(4):
        done = [was or steps(end) for was, end in zip(done, (client, server))]
    assert done == [True, True]
    client.write(b"ping")
    assert server.read() == b"ping"
for number in range(300):
    client, server, forth = ends()
    assert not steps(client)
    if number == 0:
        # A share of a hybrid, if it is there.
        assert forth.pending > 1200 or "OARLOCK_STATS" not in os.environ
    finish(client, server)
    if number == 100:
        before = resident()
grown = resident() - before
assert grown < 2000, grown
client, server, _ = ends()
assert not steps(client)
child = os.fork()
finish(client, server)
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("both")
"#;
