//! Clients on the last CPU, run by oarlock-bench-process; and the library in the server's place.

use std::process::Command;

use oarlock_measure::Error;
use serde::Deserialize;

use super::host::{Home, Host};
use crate::system::surroundings::{on_last_cpu, on_one_cpu};

/// The results that the load process reports; `bench/process/src/tally.rs` explains each field.
#[derive(Deserialize, Clone, Debug)]
pub(super) struct LoadReport {
    pub(super) answered: u64,
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    pub(super) us_p50: f64,
    pub(super) us_p99: f64,
    pub(super) asked: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
    pub(super) wrong: u64,
    pub(super) first_failure: Option<String>,
    pub(super) by_tenth: Vec<u64>,
    pub(super) resident_bytes: Vec<u64>,
    pub(super) descriptors: Vec<u64>,
    /// The share of responses to `/healthz` with status 200, if it was requested.
    pub(super) healthy: Option<f64>,
}

/// The load that clients produce.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientLoad<'a> {
    pub(super) kind: &'a str,
    pub(super) connections: usize,
    pub(super) in_flight: usize,
    pub(super) batch: usize,
    /// A fixed rate instead of closed loops.
    pub(super) per_second: Option<f64>,
    pub(super) warm_up: f64,
    pub(super) seconds: f64,
    /// Seconds after which the first server is killed.
    pub(super) kill_after: Option<f64>,
    /// Requests whose answers are compared, if not all are.
    pub(super) compared: Option<usize>,
    /// Whether `/healthz` of the first server is requested, too.
    pub(super) asks_for_health: bool,
}

/// One client, one request at a time.
pub(super) const ONE: ClientLoad<'static> = ClientLoad {
    kind: "sign",
    connections: 1,
    in_flight: 1,
    batch: 1,
    per_second: None,
    warm_up: 0.5,
    seconds: 3.0,
    kill_after: None,
    compared: None,
    asks_for_health: false,
};

impl LoadReport {
    pub(super) fn per_second(&self) -> f64 {
        self.answered as f64 / self.seconds
    }

    pub(super) fn per_cpu_second(&self) -> f64 {
        self.answered as f64 / self.cpu_seconds
    }

    /// Returns the share of requests that ended right.
    pub(super) fn right(&self) -> f64 {
        let others = self.refused + self.failed + self.wrong;
        1.0 - others as f64 / self.asked.max(1) as f64
    }

    /// Fails if a request did not end right.
    pub(super) fn checked(self) -> Result<Self, Error> {
        let Self {
            asked,
            refused,
            failed,
            wrong,
            ..
        } = self;
        if refused + failed + wrong == 0 && self.answered > 0 {
            return Ok(self);
        }
        Err(Error::Mismatch(format!(
            "of {asked} requests {wrong} were answered wrong, {refused} refused, {failed} failed ({})",
            self.first_failure.as_deref().unwrap_or("none")
        )))
    }
}

impl Home {
    /// Runs clients against servers, and waits until they are done.
    pub(super) fn ask(&self, hosts: &[&Host], load: ClientLoad<'_>) -> Result<LoadReport, Error> {
        let mut command = Command::new(&self.load);
        command.args(["ask", "--kind", load.kind]);
        for host in hosts {
            let pid = host.pid().to_string();
            command.args(["--server", &host.address, "--pid", &pid]);
        }
        if hosts.iter().any(|host| host.has_tls) {
            command.arg("--pki").arg(self.pki());
        }
        let mut option = |name: &str, value: String| {
            command.args([name, &value]);
        };
        option("--connections", load.connections.to_string());
        option("--warm-up", load.warm_up.to_string());
        option("--seconds", load.seconds.to_string());
        if let Some(compared) = load.compared {
            option("--compared", compared.to_string());
        }
        match load.per_second {
            Some(rate) => option("--per-second", rate.to_string()),
            None => {
                option("--in-flight", load.in_flight.to_string());
                option("--batch", load.batch.to_string());
            }
        }
        if let (Some(after), Some(host)) = (load.kill_after, hosts.first()) {
            option("--kill", host.pid().to_string());
            option("--kill-after", after.to_string());
        }
        if let (true, Some(host)) = (load.asks_for_health, hosts.first()) {
            option("--health", host.metrics.to_string());
        }
        on_last_cpu(|| report(&mut command))
    }

    /// Signs with the library in the server's place, on its CPU.
    pub(super) fn local(
        &self,
        kind: &str,
        in_flight: usize,
        seconds: f64,
    ) -> Result<LoadReport, Error> {
        let mut command = Command::new(&self.load);
        command.args(["local", "--in-flight", &in_flight.to_string()]);
        if kind == P256 {
            command.arg("--p256");
        }
        command.args(["--seconds", &seconds.to_string()]);
        on_one_cpu(|| report(&mut command))
    }
}

/// The kind of request for P-256 signatures.
pub(super) const P256: &str = "sign-p256";

pub(super) fn report(command: &mut Command) -> Result<LoadReport, Error> {
    let output = command
        .output()
        .map_err(Error::io("oarlock-bench-process"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Error::Failed(said.trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Failed(format!("oarlock-bench-process: its report: {error}")))
}
