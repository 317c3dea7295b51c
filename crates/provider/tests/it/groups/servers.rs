//! Servers with the shipped configurations, and programs that create contexts and processes between the messages of a
//! handshake.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use oarlock_testing::{lossy, skip, until};

use super::{End, Site, is_without_hybrids, others};
use crate::host::{
    Accelerated, Program, free_port, has_loaded, module, openssl, run, succeeds, until_listening,
    with_conf,
};

/// The place of the list of groups that a server accepts.
#[derive(Clone, Copy, PartialEq)]
enum List {
    /// OpenSSL's configuration: the files in `deploy/` unchanged.
    OfOpenssl,
    /// The server's own configuration, with the line that is a comment in those files.
    OfServer,
}

/// Starts nginx or haproxy with the shipped configuration, except for addresses and files.
fn start(name: &str, site: &Site, accelerated: &Accelerated, list: List) -> (Program, u16) {
    let (port, place) = (free_port(), site.0.path().display());
    let (shipped, own_list, changes) = match name {
        "nginx" => (
            include_str!("../../../../../deploy/nginx-p256.conf"),
            "ssl_ecdh_curve",
            vec![
                ("user www-data;", "daemon off;".to_owned()),
                ("worker_processes auto;", "worker_processes 1;".to_owned()),
                (
                    "pid /run/nginx.pid;",
                    format!("pid {place}/pid; error_log {place}/errors warn;"),
                ),
                ("/etc/nginx/site-cert.pem", format!("{place}/cert.pem")),
                ("/etc/nginx/site-key.pem", format!("{place}/key.pem")),
                (
                    "http {\n",
                    format!(
                        "http {{\n access_log off; client_body_temp_path {place}/t1; proxy_temp_path {place}/t2;\n \
                         fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;\n"
                    ),
                ),
                ("0.0.0.0:443", format!("127.0.0.1:{port}")),
                (
                    "proxy_pass http://127.0.0.1:8080;",
                    "return 200 hello;".to_owned(),
                ),
            ],
        ),
        _ => (
            include_str!("../../../../../deploy/haproxy-p256.cfg"),
            "ssl-default-bind-curves",
            vec![
                // Each connection needs two descriptors, and a process may have few.
                ("maxconn 20000", "maxconn 100".to_owned()),
                ("crt-base /etc/haproxy", format!("crt-base {place}")),
                ("site.pem alpn h2,http/1.1", "both.pem".to_owned()),
                ("0.0.0.0:443", format!("127.0.0.1:{port}")),
                (
                    "default_backend site",
                    "http-request return status 200 content-type text/plain string hello"
                        .to_owned(),
                ),
            ],
        ),
    };
    let mut conf = shipped.to_owned();
    for (line, here) in changes {
        assert!(conf.contains(line), "{line}");
        conf = conf.replace(line, &here);
    }
    let comment = format!("# {own_list} ");
    assert!(conf.contains(&comment), "{comment}");
    if list == List::OfServer {
        conf = conf.replace(&comment, &comment[2..]);
    }
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

/// The servers are linked with OpenSSL 3.
#[test]
fn servers_agree_on_hybrids_with_the_configurations_that_are_shipped() {
    if openssl().is_some_and(|lib| !lib.join("libssl.so.3").exists()) {
        return skip("nginx and haproxy do not take this OpenSSL");
    }
    let servers = ["nginx", "haproxy"];
    let starts = servers.map(|name| [List::OfOpenssl, List::OfServer].map(|list| (name, list)));
    for (name, list) in starts.into_iter().flatten() {
        let (site, accelerated) = (Site::new(), Accelerated::post_quantum(None));
        let (server, port) = start(name, &site, &accelerated, list);
        let page = |end: End<'_>, groups: Option<&str>, more: &[&str]| {
            // These two answer with another version of HTTP than the request's.
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
            if is_without_hybrids() && list == List::OfOpenssl {
                page(end, Some("SecP384r1MLKEM1024"), &[]);
            }
        }
        let stock = End::Here(None);
        assert!(page(stock, Some("X25519"), &[]).contains("Temp Key: X25519"));
        page(stock, Some("P-256"), &[]);
        page(stock, None, &["-tls1_2"]);
        if name == "nginx" && list == List::OfOpenssl {
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

/// Python: a context for each connection, sessions, and a fork between a client's first message, for which a key was
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
    // The configured groups make it work: without the provider, the list is ignored and a server has none of them.
    let mut without = Command::new("/usr/bin/python3");
    without.env("OPENSSL_CONF", &conf);
    without.args(["-I", "-c", CONTEXTS]).arg(site.0.path());
    assert!(run(&mut without).status.success());
}

/// The script's argument is the site's directory.
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
