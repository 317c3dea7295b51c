//! Ctrl-C and similar signals, noticed between measurements, so that files in memory are removed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use oarlock_measure::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Catches SIGINT, SIGTERM and SIGHUP unless they are ignored, as under nohup. From then on they only make [`check`] fail
/// and stop any wait for a process.
pub(crate) fn catch() -> Result<(), Error> {
    if SIGNAL.get().is_some() {
        return Ok(());
    }
    let signal = SIGNAL.get_or_init(Arc::default);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for number in [SIGINT, SIGTERM, SIGHUP] {
        if !is_ignored(&status, number) {
            signal_hook::flag::register_usize(number, Arc::clone(signal), number as usize)
                .map_err(Error::io("signals"))?;
        }
    }
    Ok(())
}

/// Fails if such a signal has arrived.
pub(crate) fn check() -> Result<(), Error> {
    match SIGNAL.get().map(|signal| signal.load(Ordering::Relaxed)) {
        None | Some(0) => Ok(()),
        Some(number) => Err(Error::Failed(format!("stopped by signal {number}"))),
    }
}

/// Whether a process ignores `signal`, from its status: bit N - 1 of `SigIgn` is signal N (proc(5)).
fn is_ignored(status: &str, signal: i32) -> bool {
    let masks = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigIgn:"));
    let mut masks = masks.filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    masks.any(|mask| mask & (1 << (signal - 1)) != 0)
}

static SIGNAL: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_left_so() {
        let under_nohup = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(under_nohup, SIGHUP));
        assert!(!is_ignored(under_nohup, SIGINT));
        assert!(!is_ignored("SigIgn:\t0000000000000000\n", SIGHUP));
    }
}
