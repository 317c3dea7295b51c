//! The provider's cost at the start of a program.

use std::process::{Command, Stdio};
use std::time::Instant;

use oarlock_measure::Error;

use super::compared::{Compared, Quantity, pair};
use super::setup::{Setup, Side};

/// Measures the run time in milliseconds of a program that loads the providers of its configuration and does little else.
/// The other side's configuration activates the default provider, so that the cost of reading a configuration does not
/// count.
pub(super) fn measure(setup: &Setup) -> Result<Vec<Compared>, Error> {
    let start = |side: usize| {
        let mut command = Command::new("openssl");
        command.args(["list", "-providers"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        setup.dress(&mut command, [Side::Oarlock, Side::StockConfigured][side]);
        let began = Instant::now();
        let status = command.status().map_err(Error::io("openssl list"))?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        if status.success() {
            Ok(ms)
        } else {
            Err(Error::Failed(format!("openssl list: {status}")))
        }
    };
    // One unmeasured run each, which reads the files from disk.
    start(0)?;
    start(1)?;
    let compared = pair(Quantity::Milliseconds, 0, setup.rounds(101, 31), start)?;
    Ok(vec![compared])
}
