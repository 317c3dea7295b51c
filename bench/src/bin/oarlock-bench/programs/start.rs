//! What the provider adds to the start of a program.

use std::process::{Command, Stdio};
use std::time::Instant;

use oarlock_measure::Error;

use super::compared::{Compared, Quantity, pair};
use super::setup::{Setup, Side};

/// Milliseconds from start to end of a program that loads the providers of its configuration and
/// does little else. The other side activates the default provider by a configuration, too, so that
/// reading one is not what is counted.
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
    // Once unmeasured: files are read from disk.
    start(0)?;
    start(1)?;
    let compared = pair(Quantity::Milliseconds, 0, setup.rounds(101, 31), start)?;
    Ok(vec![compared])
}
