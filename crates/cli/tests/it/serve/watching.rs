//! The shipped alerts and the dashboard, with a Prometheus that scrapes a server under a little load.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command};

use oarlock_testing::until;
use serde_json::Value;

use super::keys::{ask, succeeds};
use super::{Home, Served, free};
use crate::common::{oarlock, run, stderr};

const RULES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../deploy/prometheus-rules.yaml"
);
const DASHBOARD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../deploy/grafana-dashboard.json"
);

/// A Prometheus that is killed on drop.
struct Prometheus(Child, SocketAddr);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Prometheus {
    fn start(home: &Home, server: &Served) -> Self {
        let config = home.path().join("prometheus.yaml");
        let text = format!(
            "global:\n  scrape_interval: 200ms\n  evaluation_interval: 200ms\nrule_files: [{RULES}]\n\
             scrape_configs:\n  - job_name: oarlock\n    static_configs: [{{targets: [\"{}\"]}}]\n",
            server.metrics
        );
        fs::write(&config, text).unwrap();
        let address = free();
        let log = File::create(home.path().join("prometheus.log")).unwrap();
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                home.path().join("tsdb").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let child = command.spawn();
        let child = child.expect("prometheus is there, by scripts/system-packages test");
        Self(child, address)
    }

    /// Returns the data of an answer of its interface; `None` if it is not ready.
    fn get(&self, path: &str) -> Option<Value> {
        let mut socket = TcpStream::connect(self.1).ok()?;
        write!(socket, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        socket.read_to_string(&mut text).ok()?;
        let (_, body) = text.split_once("\r\n\r\n")?;
        let mut answer: Value = serde_json::from_str(body).ok()?;
        assert_ne!(answer["status"], "error", "{path}: {answer}");
        Some(answer["data"].take())
    }

    /// Returns the number of rows that a query has.
    fn rows(&self, query: &str) -> usize {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let data = self.get(&format!("/api/v1/query?query={encoded}"));
        let rows = data.as_ref().and_then(|data| data["result"].as_array());
        rows.map_or(0, Vec::len)
    }
}

/// Returns the queries of the dashboard as Grafana would send them.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(DASHBOARD).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = targets.map(|target| {
        let query = target["expr"].as_str().unwrap();
        query
            .replace("$__rate_interval", "10s")
            .replace("$instance", ".*")
    });
    queries.collect()
}

/// Signs, unwraps a file key and fails to, and is refused.
fn load(home: &Home, server: &Served) {
    let mut refused = home.sign(server.address, "none");
    let refused = run(refused.arg("letter").current_dir(home.path()), b"");
    assert!(!refused.status.success());
    succeeds(
        home.sign(server.address, "web")
            .args(["-o", "sig", "letter"])
            .current_dir(home.path()),
    );
    for key in ["archive", "other"] {
        let arguments = [
            "decrypt",
            "--key",
            key,
            "--force",
            "-o",
            "back",
            "letter.age",
        ];
        let output = run(&mut ask(home, server, &arguments), b"");
        assert_eq!(
            output.status.success(),
            key == "archive",
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn alerts_are_valid_and_every_panel_has_rows() {
    let check = run(
        Command::new("promtool").args(["check", "rules", RULES]),
        b"",
    );
    assert!(check.status.success(), "{}", stderr(&check));
    let home = Home::new();
    fs::write(home.path().join("letter"), "Dear reader").unwrap();
    for key in ["archive", "other"] {
        let path = home.path().join(format!("keys/{key}.key"));
        succeeds(oarlock().args(["keygen", "-o"]).arg(path));
    }
    home.configure(|text| format!("{text}\n[audit]\nfile = \"audit.jsonl\"\n"));
    let server = home.serve();
    let recipient = succeeds(&mut ask(&home, &server, &["pubkey", "--key", "archive"]));
    let encrypt = ["encrypt", "--each", "-r", recipient.trim()];
    succeeds(oarlock().args(encrypt).arg(home.path().join("letter")));
    let prometheus = Prometheus::start(&home, &server);
    let mut left = queries();
    assert!(left.len() > 20, "{left:?}");
    until("rows of every query", || {
        load(&home, &server);
        left.retain(|query| prometheus.rows(query) == 0);
        left.is_empty() || {
            eprintln!("no rows yet: {left:?}");
            false
        }
    });
    until("every alert to be evaluated", || {
        let Some(data) = prometheus.get("/api/v1/rules") else {
            return false;
        };
        let rules = data["groups"][0]["rules"].as_array().unwrap();
        assert!(rules.iter().all(|rule| rule["health"] != "err"), "{data}");
        rules.len() == 11 && rules.iter().all(|rule| rule["health"] == "ok")
    });
    // Nothing is wrong with the server itself.
    let grave = "ALERTS{alertname=~\"OarlockServerDown|OarlockAuditNotWritten|OarlockDeviceDown\"}";
    assert_eq!(prometheus.rows(grave), 0);
}
