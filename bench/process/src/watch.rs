//! What the kernel reports about processes.

use std::fs;

/// CPU seconds of all living threads, exact to the nanosecond: the first figure of `schedstat` (the
/// kernel's Documentation/scheduler/sched-stats.rst). Threads that have ended are not counted; a
/// server keeps its own.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64, String> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
    let mut ns = 0;
    for thread in threads.flatten() {
        // The thread ended in the meantime.
        let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else {
            continue;
        };
        let first = text.split(' ').next().and_then(|first| first.parse().ok());
        ns += first.unwrap_or(0u64);
    }
    Ok(ns as f64 / 1e9)
}

/// Resident bytes and open descriptors; 0 for a process that has ended.
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
    use oarlock_testing::until;

    #[test]
    fn this_process_takes_time_and_room() {
        let pid = std::process::id();
        let mut least = f64::MAX;
        until("ten milliseconds of CPU time", || {
            let now = cpu_seconds(pid).unwrap();
            // It falls when a thread of another test ends.
            least = least.min(now);
            now > least + 0.01
        });
        let (bytes, descriptors) = held(pid);
        assert!(bytes > 1 << 20 && descriptors >= 3, "{bytes} {descriptors}");
        assert_eq!(held(u32::MAX), (0, 0));
    }
}
