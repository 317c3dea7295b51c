//! nginx and Apache with keys of the PKCS#11 module: those of files, and those of a cryptoserver behind `oarlock relay`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use oarlock_testing::is_root;

use super::free;
use super::pkcs11::module;
use super::relay::{Program, Site};

#[test]
fn nginx_serves_with_an_rsa_key_of_the_module() {
    serves(&Site::new(), nginx);
}

#[test]
fn nginx_serves_with_a_p256_key_of_the_module() {
    serves(&Site::with("p256"), nginx);
}

#[test]
fn apache_serves_with_an_rsa_key_of_the_module() {
    serves(&Site::new(), apache);
}

#[test]
fn apache_serves_with_a_p256_key_of_the_module() {
    serves(&Site::with("p256"), apache);
}

/// The tokens, each of which has the key `web`.
const TOKENS: [&str; 2] = ["files", "remote"];

/// The workers are forked after the module was used, and have another user. Each port has the key of another token.
fn serves(site: &Site, server: fn(&Site, [u16; 2]) -> Command) {
    configure(site);
    let options: &[&str] = match is_root("workers of another user") {
        true => &["--allow", "www-data=web"],
        false => &[],
    };
    let relay = site.relay(options);
    let ports = [free().port(), free().port()];
    let _server = Program::start(&mut server(site, ports), ports[0]);
    for (port, token) in ports.into_iter().zip(TOKENS) {
        for version in ["TLSv1_3", "TLSv1_2 ECDHE+AESGCM"] {
            assert_eq!(site.failures(port, 40, 8, version), 0, "{token} {version}");
        }
    }
    // The keys are where they are said to be.
    drop(relay);
    assert_eq!(site.failures(ports[0], 4, 1, "TLSv1_3"), 0);
    assert_eq!(site.failures(ports[1], 4, 1, "TLSv1_3"), 4);
    let _relay = site.relay(options);
    assert_eq!(site.failures(ports[1], 4, 1, "TLSv1_3"), 0);
}

/// Writes the configurations of the module and of OpenSSL. The workers read the former, and the files of keys.
fn configure(site: &Site) {
    let place = site.path().display();
    for (path, mode) in [("keys", 0o755), ("keys/web.pem", 0o644)] {
        let rights = fs::Permissions::from_mode(mode);
        fs::set_permissions(site.path().join(path), rights).unwrap();
    }
    let tokens = format!(
        "[[token]]\nlabel = \"files\"\nkeys = \"{place}/keys\"\n\
         [[token]]\nlabel = \"remote\"\nrelay = \"{}\"\n",
        site.socket().display()
    );
    fs::write(site.path().join("pkcs11.toml"), tokens).unwrap();
    let engine = format!(
        "openssl_conf = all\n[all]\nengines = engines\n[engines]\npkcs11 = pkcs11\n\
         [pkcs11]\nengine_id = pkcs11\nMODULE_PATH = {}\ninit = 1\n",
        module().display()
    );
    fs::write(site.path().join("engine.cnf"), engine).unwrap();
}

fn program(site: &Site, name: &str) -> Command {
    let mut program = Command::new(name);
    program.current_dir(site.path());
    program.env("OPENSSL_CONF", site.path().join("engine.cnf"));
    program.env("OARLOCK_PKCS11_CONFIG", site.path().join("pkcs11.toml"));
    program
}

fn key(token: &str) -> String {
    format!("pkcs11:token={token};object=web;type=private")
}

fn nginx(site: &Site, ports: [u16; 2]) -> Command {
    let place = site.path().display();
    let user = match is_root("workers of another user") {
        true => "user www-data;",
        false => "",
    };
    let servers = ports.into_iter().zip(TOKENS).map(|(port, token)| {
        let key = key(token);
        format!(
            "server {{ listen 127.0.0.1:{port} ssl; ssl_certificate_key \"engine:pkcs11:{key}\"; \
             location / {{ return 200 hello; }} }}\n"
        )
    });
    let servers: String = servers.collect();
    let conf = format!(
        "{user} daemon off; worker_processes 3; pid {place}/pid; error_log {place}/nginx.log info;
         env OARLOCK_PKCS11_CONFIG;
         events {{}}
         http {{
             access_log off; ssl_session_tickets off; ssl_session_cache off;
             client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3;
             uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;
             ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate cert.pem;
             {servers}
         }}"
    );
    fs::write(site.path().join("nginx.conf"), conf).unwrap();
    let mut nginx = program(site, "nginx");
    nginx.arg("-p").arg(site.path()).args(["-c", "nginx.conf"]);
    nginx
}

fn apache(site: &Site, ports: [u16; 2]) -> Command {
    let place = site.path().display();
    let modules = ["mpm_event", "authz_core", "socache_shmcb", "ssl"];
    let modules = modules
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"));
    let user = match is_root("workers of another user") {
        true => "User www-data\nGroup www-data\n",
        false => "",
    };
    let servers = ports.into_iter().zip(TOKENS).map(|(port, token)| {
        let key = key(token);
        format!(
            "Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\nSSLEngine on\n\
             SSLCertificateFile cert.pem\nSSLCertificateKeyFile \"{key}\"\n</VirtualHost>\n"
        )
    });
    let servers: String = servers.collect();
    let conf = format!(
        "{}{user}ServerRoot {place}\nServerName localhost\nPidFile apache.pid\nErrorLog apache.log\n\
         Mutex file:{place} default\nDocumentRoot {place}\nStartServers 3\n\
         ErrorDocument 404 \"hello\"\nSSLSessionCache none\nSSLSessionTickets off\n{servers}",
        modules.concat()
    );
    fs::write(site.path().join("apache.conf"), conf).unwrap();
    let mut apache = program(site, "apache2");
    apache.arg("-f").arg(site.path().join("apache.conf"));
    apache.arg("-DFOREGROUND");
    apache
}
