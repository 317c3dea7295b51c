//! Devices outside this process: those of a cryptoserver's configuration, and those of running processes.

use std::fmt::Write as _;
use std::path::Path;

use oarlock_net::server::config::{Config, DeviceConfig, Simulation};
use serde::Serialize;

use crate::failure::Failure;
use crate::top;

#[derive(Serialize)]
pub(super) struct Others {
    /// The devices of the configuration.
    configured: Vec<ConfiguredEntry>,
    /// Running accelerators and cryptoservers that publish figures.
    running: Vec<RunningEntry>,
}

#[derive(Serialize)]
struct ConfiguredEntry {
    name: String,
    kind: &'static str,
    /// The module, library or board behind it.
    #[serde(skip_serializing_if = "String::is_empty")]
    behind: String,
    workers: usize,
}

#[derive(Serialize)]
struct RunningEntry {
    process: Option<u32>,
    /// The owner of the file that says so.
    user: Option<u32>,
    program: String,
    is_cryptoserver: bool,
    devices: Vec<RunningDevice>,
}

#[derive(Serialize)]
struct RunningDevice {
    name: String,
    health: &'static str,
    done: u64,
    failed: u64,
}

impl Others {
    pub(super) fn find(config: Option<&Path>) -> Result<Self, Failure> {
        let configured = match config {
            None => Vec::new(),
            Some(path) => {
                let config = Config::read(path).map_err(|error| Failure::new(error.to_string()))?;
                let entries = config.devices.iter();
                entries
                    .map(|entry| {
                        let (kind, behind) = kind(&entry.device);
                        ConfiguredEntry {
                            name: entry.name.clone(),
                            kind,
                            behind,
                            workers: entry.workers,
                        }
                    })
                    .collect()
            }
        };
        let running = top::running()?
            .processes
            .into_iter()
            .map(|row| RunningEntry {
                process: row.process,
                user: row.user,
                program: row.program,
                is_cryptoserver: row.server.is_some(),
                devices: row
                    .devices
                    .into_iter()
                    .map(|device| RunningDevice {
                        name: device.name,
                        health: device.health,
                        done: device.done,
                        failed: device.failed,
                    })
                    .collect(),
            });
        Ok(Self {
            configured,
            running: running.collect(),
        })
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        for one in &self.configured {
            let behind = match one.behind.is_empty() {
                true => String::new(),
                false => format!(": {}", one.behind),
            };
            let _ = writeln!(
                text,
                "{:<18} {}{behind}, {} workers (configured)",
                one.name, one.kind, one.workers
            );
        }
        if !self.running.is_empty() {
            text.push_str("\nrunning; `oarlock top` shows more\n");
        }
        for one in &self.running {
            let process = one.process.map_or(String::new(), |it| format!(" {it}"));
            let what = match one.is_cryptoserver {
                true => "cryptoserver",
                false => "accelerator",
            };
            let name = format!("{}{process}", one.program);
            let owner = top::pages::of_another(one.user);
            let _ = writeln!(text, "{name:<18} {what}{owner}");
            for device in &one.devices {
                let _ = writeln!(
                    text,
                    "  {:<16} {}, {} done, {} failed",
                    device.name, device.health, device.done, device.failed
                );
            }
        }
        text
    }
}

fn kind(device: &DeviceConfig) -> (&'static str, String) {
    match device {
        DeviceConfig::Cpu => ("cpu", String::new()),
        DeviceConfig::Software => ("software", "aws-lc".into()),
        DeviceConfig::Simulated(Simulation::Axl200) => ("simulated board", "axl200".into()),
        DeviceConfig::Simulated(Simulation::Nfast300) => ("simulated board", "nfast300".into()),
        DeviceConfig::Simulated(_) => ("simulated board", String::new()),
        // Neither the PIN nor its place.
        DeviceConfig::Pkcs11 { module, token, .. } => {
            ("token", format!("{token} of {}", module.display()))
        }
        DeviceConfig::Library { path, .. } => ("library", path.display().to_string()),
        _ => ("device", String::new()),
    }
}
