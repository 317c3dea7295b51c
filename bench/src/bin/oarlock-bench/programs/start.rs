//! The provider's cost at the start of a program.

use std::process::{Command, Stdio};
use std::time::Duration;

use oarlock_measure::Error;

use super::compared::{Compared, Quantity, pair};
use super::setup::{Setup, Side};
use crate::system::child::Running;

/// Measures the CPU time in milliseconds of a program that loads the providers of its configuration and does little else.
/// The other side's configuration activates the default provider, so that the cost of reading a configuration does not
/// count.
pub(super) fn measure(setup: &Setup) -> Result<Vec<Compared>, Error> {
    let start = |side: usize| {
        let mut command = Command::new("openssl");
        command.args(["list", "-providers"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        setup.dress(&mut command, [Side::Oarlock, Side::StockConfigured][side]);
        let ended = Running::start(&mut command)?.end(LIMIT)?;
        if ended.status.success() {
            Ok(ended.cpu_seconds * 1e3)
        } else {
            Err(Error::Failed(format!("openssl list: {}", ended.status)))
        }
    };
    // One unmeasured run each, which reads the files from disk.
    start(0)?;
    start(1)?;
    let compared = pair(Quantity::Milliseconds, 0, setup.rounds(101, 31), start)?;
    Ok(vec![compared])
}

const LIMIT: Duration = Duration::from_secs(10);
