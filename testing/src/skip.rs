//! Skipping a test where the machine lacks what it needs, so that the one who runs the tests sees it.

use std::io::Write as _;

use crate::name::test_name;

/// Says that the running test does not run on this machine, and why. The caller then returns.
///
/// Writes exactly one line to standard error, past the capture of the test harness:
/// `skipped: <full name of the test>: <why>`. Call it from the thread that the harness runs the test on.
pub fn skip(why: &str) {
    let line = format!("{PREFIX}{}: {why}\n", test_name());
    // `eprint!` would be captured, and shown only where the test fails.
    std::io::stderr().lock().write_all(line.as_bytes()).unwrap();
}

/// Whether the test runs as root; where it does not, it is skipped because `what` needs root.
#[must_use]
pub fn is_root(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(&format!("{what} needs root"));
    }
    is_root
}

/// Whether this process may use at least two CPUs; where it may not, the test is skipped, since
/// there no helper thread is ever made.
#[must_use]
pub fn has_cpus() -> bool {
    let has_cpus = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if !has_cpus {
        skip("there is one CPU, so no helper thread");
    }
    has_cpus
}

/// Hands on what a child process skipped.
pub(crate) fn repeat_skips(stderr: &str) {
    for line in stderr.lines().filter(|line| line.starts_with(PREFIX)) {
        let line = format!("{line}\n");
        std::io::stderr().lock().write_all(line.as_bytes()).unwrap();
    }
}

const PREFIX: &str = "skipped: ";

#[cfg(test)]
mod tests {
    use std::process::Command;

    use crate::process::{as_child, is_child};

    #[test]
    fn a_skipped_test_is_named_once_though_output_is_captured() {
        if is_child() {
            return super::skip("there is no sea");
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = as_child(&mut command).output().unwrap();
        assert!(output.status.success());
        assert_eq!(
            crate::lossy(&output.stderr),
            "skipped: skip::tests::a_skipped_test_is_named_once_though_output_is_captured: \
             there is no sea\n"
        );
    }
}
