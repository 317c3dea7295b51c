//! The Python package, compared with `cryptography` and with the command, in one process of an environment that has both,
//! and `oarlock.ray`, compared with other programs on the same Ray. `sides.py` and `fleet.py` measure, and print a line of
//! JSON for each comparison.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use oarlock_measure::Error;
use serde::Deserialize;

use super::compared::{Compared, Quantity};
use super::files::tools;
use super::setup::{Setup, named_or_beside};
use crate::system::fetched;

/// A part of a script, and the CPUs that it runs on.
#[derive(Clone, Copy)]
pub(crate) struct Python {
    script: &'static str,
    part: &'static str,
    cpus: usize,
}

/// The parts by case name.
pub(super) const CASES_IN_PYTHON: [(&str, Python); 13] = [
    ("python-call", on("call", 1)),
    ("python-message", on("message", 1)),
    ("python-message-2", on("message", 2)),
    ("python-column", on("column", 1)),
    ("python-column-2", on("column", 2)),
    ("python-sign", on("sign", 2)),
    ("python-stall", on("stall", 2)),
    ("python-file", on("file", 2)),
    ("fleet-workers", on_ray("workers")),
    ("fleet-age", on_ray("age")),
    ("fleet-encryption-sdk", on_ray("encryption_sdk")),
    ("fleet-rotate", on_ray("rotate")),
    ("fleet-small", on_ray("small")),
];

pub(crate) const CRYPTOGRAPHY: &str = "cryptography";
pub(crate) const TWO_THREADS: &str = "cryptography in two threads";
pub(crate) const COMMAND: &str = "oarlock decrypt";
pub(crate) const MILLISECOND: &str = "1 ms";
pub(crate) const ONE_WORKER: &str = "one worker";
pub(crate) const AGE_TASKS: &str = "age in the same tasks";
pub(crate) const ENCRYPTION_SDK: &str = "aws-encryption-sdk";
pub(crate) const ENCRYPTION: &str = "encryption again";
pub(crate) const TWO_MILLISECONDS: &str = "2 ms";
/// The other sides that the scripts compare with.
const OTHERS: [&str; 9] = [
    CRYPTOGRAPHY,
    TWO_THREADS,
    COMMAND,
    MILLISECOND,
    ONE_WORKER,
    AGE_TASKS,
    ENCRYPTION_SDK,
    ENCRYPTION,
    TWO_MILLISECONDS,
];

const SIDES: &str = include_str!("sides.py");
const FLEET: &str = include_str!("fleet.py");
const MISSING: &str = "no environment with the package: `cargo xtask wheel` makes target/wheel/measured, or name another \
                       one's python with OARLOCK_BENCH_PYTHON";

/// A line of the script.
#[derive(Deserialize)]
struct Line {
    figure: Quantity,
    #[serde(default)]
    bytes: usize,
    vs: String,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

const fn on(part: &'static str, cpus: usize) -> Python {
    let script = SIDES;
    Python { script, part, cpus }
}

const fn on_ray(part: &'static str) -> Python {
    let script = FLEET;
    Python {
        script,
        part,
        cpus: 2,
    }
}

impl Python {
    pub(super) fn measure(self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let named = std::env::var_os("OARLOCK_BENCH_PYTHON").map(PathBuf::from);
        let python = named_or_beside(named.as_deref(), "../wheel/measured/bin/python", MISSING)?;
        let mut command = Command::new(&python);
        command.args(["-c", self.script, self.part]);
        command.arg(self.cpus.to_string());
        command.arg(setup.rounds(9, 3).to_string());
        command.env_remove("OPENSSL_CONF").stderr(Stdio::inherit());
        command.envs(age().map(|age| ("OARLOCK_BENCH_AGE", age)));
        let done = command.output().map_err(Error::io(python.display()))?;
        if !done.status.success() {
            return Err(failed(&format!("{} ended with {}", self.part, done.status)));
        }
        let text = String::from_utf8_lossy(&done.stdout);
        text.lines().map(compared).collect()
    }
}

/// Returns the age that `cargo xtask peers` built.
fn age() -> Option<PathBuf> {
    fetched::find(tools::AGE)?.canonicalize().ok()
}

fn compared(line: &str) -> Result<Compared, Error> {
    let line: Line =
        serde_json::from_str(line).map_err(|error| failed(&format!("{error}: {line}")))?;
    let vs = OTHERS.into_iter().find(|name| *name == line.vs);
    let vs = vs.ok_or_else(|| failed(&format!("unknown side {}", line.vs)))?;
    Ok(Compared {
        bytes: line.bytes,
        ..Compared::new(line.figure, vs, line.ours, line.theirs)
    })
}

fn failed(what: &str) -> Error {
    Error::Failed(format!("Python: {what}"))
}
