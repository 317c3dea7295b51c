//! `openssl speed`, the usual first measurement.

use std::process::{Command, Stdio};

use oarlock::Algorithm;
use oarlock_measure::Error;

use super::compared::{Compared, Quantity, pair};
use super::setup::{Setup, Side};

/// A cipher in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    pub(crate) cipher: &'static str,
    pub(crate) decrypts: bool,
}

/// Bytes of a call.
pub(crate) const SIZES: [usize; 5] = [16, 64, 256, 1024, 16384];

impl Speed {
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let operation = operation(self.cipher)?;
        let last = SIZES[SIZES.len() - 1];
        let through = setup.bytes_through(operation, || {
            self.bytes_per_second(setup, Side::Oarlock, last).map(drop)
        })?;
        if through == 0 {
            return Err(Error::NotOffered(format!(
                "the provider leaves {} to OpenSSL on this CPU",
                self.cipher
            )));
        }
        SIZES
            .iter()
            .map(|bytes| {
                pair(Quantity::Rate, *bytes, setup.rounds(5, 3), |side| {
                    let side = [Side::Oarlock, Side::Stock][side];
                    Ok(self.bytes_per_second(setup, side, *bytes)? / 1e9)
                })
            })
            .collect()
    }

    /// Measures by CPU time, which `openssl speed` uses by default, and which other programs on the machine affect least.
    fn bytes_per_second(&self, setup: &Setup, side: Side, bytes: usize) -> Result<f64, Error> {
        let mut command = Command::new("openssl");
        command
            .args(["speed", "-evp", self.cipher, "-seconds", "1", "-mr"])
            .args(["-bytes", &bytes.to_string()])
            .args(self.decrypts.then_some("-decrypt"))
            .stdin(Stdio::null());
        setup.dress(&mut command, side);
        let output = command.output().map_err(Error::io("openssl speed"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        rate(&text).ok_or_else(|| {
            let why = String::from_utf8_lossy(&output.stderr);
            Error::Failed(format!("openssl speed: {}", why.trim().replace('\n', "; ")))
        })
    }
}

/// Returns the operation with this name, which is also OpenSSL's.
pub(crate) fn operation(name: &str) -> Result<Algorithm, Error> {
    Algorithm::named(name).ok_or_else(|| Error::Failed(format!("{name} is no operation")))
}

/// Returns bytes per second, the last field of the line that begins with `+F`.
fn rate(machine_readable: &str) -> Option<f64> {
    let line = machine_readable
        .lines()
        .find_map(|line| line.strip_prefix("+F:"))?;
    let rate: f64 = line.rsplit(':').next()?.parse().ok()?;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openssl_speed_says_is_read() {
        let output = Command::new("openssl")
            .args(["speed", "-evp", "aes-128-ctr", "-seconds", "1", "-mr"])
            .args(["-bytes", "64"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let found = rate(&text).unwrap();
        // The same rate from standard error's line of calls: "+R:COUNT:NAME:SECONDS".
        let errors = String::from_utf8(output.stderr).unwrap();
        let calls = errors
            .lines()
            .find_map(|line| line.strip_prefix("+R:"))
            .unwrap();
        let fields: Vec<_> = calls.split(':').collect();
        let count: f64 = fields[0].parse().unwrap();
        let seconds: f64 = fields[2].parse().unwrap();
        let expected = count * 64.0 / seconds;
        assert!((found / expected - 1.0).abs() < 0.01, "{text}");
    }

    #[test]
    fn what_says_nothing_is_not_read() {
        for text in [
            "",
            "+DT:AES-128-CTR:1:64\n",
            "+F:25:AES-128-CTR:\n",
            "+F:25:X:nan\n",
            "+F:25:X:0.00\n",
        ] {
            assert_eq!(rate(text), None, "{text}");
        }
    }
}
