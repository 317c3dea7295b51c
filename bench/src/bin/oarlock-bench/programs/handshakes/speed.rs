//! `openssl speed` of a key: one operation at a time, or in ASYNC jobs.

use std::process::{Command, Stdio};

use oarlock_measure::Error;

use super::super::compared::{Compared, Quantity, in_turn, pair};
use super::super::setup::{Setup, Side};
use crate::system::surroundings::on_last_cpu;

/// A key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySpeed {
    /// The key's name for `openssl speed`.
    pub(crate) key: &'static str,
    /// The bits that `openssl speed` prints: of the modulus, or of the curve's order.
    pub(crate) bits: usize,
    /// The number of jobs; `None` for no jobs.
    pub(crate) jobs: Option<usize>,
}

impl KeySpeed {
    /// Measures signatures or agreements per CPU second, which `openssl speed` counts over all its threads.
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        if self.key.starts_with("rsa") {
            offers_rsa(setup)?;
        }
        let seconds = if setup.quick { "1" } else { "2" };
        let jobs = self.jobs.map(|jobs| jobs.to_string());
        let mut arguments = vec!["speed", "-mr", "-seconds", seconds];
        if let Some(jobs) = &jobs {
            arguments.extend(["-async_jobs", jobs]);
        }
        arguments.push(self.key);
        let compared = pair(Quantity::Operations, 0, setup.rounds(7, 3), |side| {
            let said = says(setup, [Side::Oarlock, Side::Stock][side], &arguments)?;
            signatures(&said, self.bits)
                .ok_or_else(|| Error::Failed(format!("openssl speed says {said:?}")))
        })?;
        Ok(vec![compared])
    }
}

/// Processes that share a key, sign one request at a time and form batches, compared with one process that has the same
/// number of signatures in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RsaProcesses {
    /// The bits of the modulus.
    pub(crate) bits: usize,
}

impl RsaProcesses {
    /// Measures each side's signatures per second on the same CPU.
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        offers_rsa(setup)?;
        let socket = setup.file("processes.sock");
        let _daemon = super::server::daemon(setup, &socket)?;
        let meeting = setup.configuration_with_daemon(&socket)?;
        // Each process leaves its first signatures to OpenSSL, so rounds must not be short.
        let seconds = if setup.quick { "3" } else { "6" };
        let key = format!("rsa{}", self.bits);
        let samples = in_turn(setup.rounds(5, 3), 2, |side| {
            let how = [["-multi", "4"], ["-async_jobs", "8"]][side];
            let mut command = Command::new("openssl");
            command.args(["speed", "-mr", "-elapsed"]);
            command.args(["-seconds", seconds]).args(how).arg(&key);
            setup.dress(&mut command, Side::Oarlock);
            if side == 0 {
                command.env("OPENSSL_CONF", &meeting);
            }
            let said = on_last_cpu(|| output_of(command))?;
            signatures(&said, self.bits)
                .ok_or_else(|| Error::Failed(format!("openssl speed says {said:?}")))
        })?;
        let [ours, theirs] = [0, 1].map(|side: usize| samples[side].clone());
        Ok(vec![Compared::new(
            Quantity::Operations,
            ONE_PROCESS,
            ours,
            theirs,
        )])
    }
}

/// The other side: one process with all signatures in its own lanes.
pub(crate) const ONE_PROCESS: &str = "one process";

/// Fails unless the provider offers RSA, so that only accelerated operations are timed.
pub(super) fn offers_rsa(setup: &Setup) -> Result<(), Error> {
    let listed = says(setup, Side::Oarlock, &["list", "-signature-algorithms"])?;
    let is_ours = |line: &str| line.contains("rsaEncryption") && line.ends_with("@ oarlock");
    if listed.lines().any(|line| is_ours(line.trim())) {
        return Ok(());
    }
    Err(Error::NotOffered(
        "the provider leaves RSA to OpenSSL on this CPU".to_owned(),
    ))
}

/// Returns the standard output of `openssl`.
fn says(setup: &Setup, side: Side, arguments: &[&str]) -> Result<String, Error> {
    let mut openssl = Command::new("openssl");
    openssl.args(arguments);
    setup.dress(&mut openssl, side);
    output_of(openssl)
}

fn output_of(mut command: Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(Error::io(command.get_program().display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let arguments: Vec<_> = command
        .get_args()
        .map(|text| text.to_string_lossy())
        .collect();
    let why = String::from_utf8_lossy(&output.stderr);
    Err(Error::Failed(format!(
        "openssl {}: {}",
        arguments.join(" "),
        why.trim().replace('\n', "; ")
    )))
}

/// Returns the rate per second: for RSA the first rate of the line `+F2:INDEX:BITS:SIGNATURES A SECOND:...`; for other keys,
/// lines have another number, and some a name before the rate.
fn signatures(machine_readable: &str, bits: usize) -> Option<f64> {
    let bits = bits.to_string();
    let mut lines = machine_readable
        .lines()
        .filter(|line| {
            ["+F2:", "+F4:", "+F5:", "+F6:"].contains(&line.get(..4).unwrap_or_default())
        })
        .map(|line| line.split(':').skip(2).collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.first() == Some(&bits.as_str()))?;
    let rate: f64 = fields.iter().skip(1).find_map(|field| field.parse().ok())?;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openssl_speed_says_is_read() {
        let setup = Setup::of_stock();
        let arguments = ["speed", "-mr", "-seconds", "1", "rsa2048"];
        let said = says(&setup, Side::Stock, &arguments).unwrap();
        let rate = signatures(&said, 2048).unwrap();
        assert!((50.0..1e6).contains(&rate), "{said}");
        assert_eq!(signatures(&said, 4096), None);
        // The formats of 3.0 and 4.0.
        for line in [
            "+F6:0:253:Ed25519:26108.5:9908.0",
            "+F4:22:253:26108.5:9908.0",
        ] {
            assert_eq!(signatures(line, 253), Some(26108.5));
        }
        for text in [
            "",
            "+F2:1:2048:0.0:0.1\n",
            "+F2:1:2048:nan:0.1\n",
            "+F2:1:2048\n",
        ] {
            assert_eq!(signatures(text, 2048), None, "{text}");
        }
        let error = says(&setup, Side::Stock, &["speed", "none-such"]);
        assert!(error.unwrap_err().to_string().contains("none-such"));
    }
}
