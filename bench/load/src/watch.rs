//! Processes, by what the kernel says of them.

use std::fs;

/// Of all threads that are there, to the nanosecond: the first figure of `schedstat` (the kernel's
/// Documentation/scheduler/sched-stats.rst). Those of a server that have ended are not counted; its
/// own stay.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64, String> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
    let mut ns = 0;
    for thread in threads.flatten() {
        // One that has ended meanwhile.
        let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else {
            continue;
        };
        let first = text.split(' ').next().and_then(|first| first.parse().ok());
        ns += first.unwrap_or(0u64);
    }
    Ok(ns as f64 / 1e9)
}

/// Bytes that are resident, and descriptors; of one that is gone, none.
pub(crate) fn held(pid: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = text.lines();
    let kib = lines.find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
    let bytes = 1024 * kib.and_then(|kib| kib.trim().parse().ok()).unwrap_or(0);
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    (bytes, descriptors as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn this_process_takes_time_and_room() {
        let pid = std::process::id();
        let (before, began) = (cpu_seconds(pid).unwrap(), Instant::now());
        while cpu_seconds(pid).unwrap() - before < 0.05 {
            assert!(began.elapsed().as_secs() < 60);
        }
        let (bytes, descriptors) = held(pid);
        assert!(bytes > 1 << 20 && descriptors >= 3, "{bytes} {descriptors}");
        assert_eq!(held(u32::MAX), (0, 0));
    }
}
