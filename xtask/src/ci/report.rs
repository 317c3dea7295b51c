//! The report of the tests: how many passed, which were slow, which were skipped.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::tool::{self, Result};

/// Tests that may be skipped if the machine lacks what they need, with the reason why that is acceptable. A skipped test
/// that is not listed here fails the run.
///
/// An entry is the end of a test's full name, or ends with `::` and is a module, for all tests in it.
const MAY_BE_SKIPPED: &[(&str, &str)] = &[
    // oarlock-cli: rage takes minutes to build, so only the long form builds it.
    ("age_peers::rage_is_the_one_that_is_meant", RAGE),
    ("age_peers::rage_reads_what_is_written", RAGE),
    ("age_peers::what_rage_writes_is_read", RAGE),
    (
        "age_peers::ssh_keys_are_recipients_and_identities_of_rage",
        RAGE,
    ),
    ("age_peers::passphrases_are_those_of_rage", RAGE),
    ("the_first_steps_of_the_page_work_as_printed", NETWORKS),
    // oarlock-kernels: one body of tests for all backends; the portable one is never skipped.
    ("aes_ni::", INSTRUCTIONS),
    ("vaes256::", INSTRUCTIONS),
    ("vaes512::", INSTRUCTIONS),
    ("face::", INSTRUCTIONS),
    ("face_shared::", INSTRUCTIONS),
    ("memory::a_dropped_table_is_wiped", INSTRUCTIONS),
    ("modexp::", INSTRUCTIONS),
    // Tests of backends that the CPU lacks, inside tests that run with the others.
    ("words::", INSTRUCTIONS),
    // oarlock.
    (
        "a_fault_in_any_lane_is_seen_and_computed_anew",
        INSTRUCTIONS,
    ),
    ("a_quota_of_one_cpu_means_inline", GROUPS),
    ("pkcs11::", KRYOPTIC),
    ("tunnel::", HOSTS),
    // oarlock-provider.
    ("openvpn::", HOSTS),
    ("skey::", KEYS_AS_OBJECTS),
    (
        "a_file_with_a_short_key_of_hmac_is_refused_as_stock",
        PBMAC1,
    ),
    // oarlock-provider, oarlock and oarlock-cli.
    (
        "pure::commands::connections_are_authenticated",
        LATER_OPENSSL,
    ),
    (
        "keys::programs::openssl_reads_and_writes_the_same_keys",
        LATER_OPENSSL,
    ),
    (
        "keys::programs::openssl_writes_seeds_and_expanded_keys_alone_and_together",
        LATER_OPENSSL,
    ),
    (
        "key_files::post_quantum_keys_and_signatures_are_those_of_a_later_openssl",
        LATER_OPENSSL,
    ),
];

const RAGE: &str = "`make test-long` builds rage, and runs them";
const INSTRUCTIONS: &str =
    "the CPU, or OARLOCK_CPU, has not the instructions; CI has machines that have";
const GROUPS: &str = "in a container /sys/fs/cgroup may be read-only, for root too";
const NETWORKS: &str = "in a container a user may make no network of its own";
const HOSTS: &str = "in a container there may be no TUN devices, root may make no network and no host, and User Mode Linux may not boot";
const KRYOPTIC: &str = "all of them run with SoftHSM; kryoptic takes minutes to build";

const KEYS_AS_OBJECTS: &str =
    "OpenSSL has them since 3.5; `make test-long` runs it with 3.5 and 4.0";
const LATER_OPENSSL: &str =
    "an OpenSSL with ML-KEM and ML-DSA takes minutes to build (`cargo xtask peers openssl`)";
const PBMAC1: &str = "OpenSSL has it since 3.4; `make test-long` runs it with 3.5 and 4.0";

const SLOWEST_SHOWN: usize = 20;
const LINES_QUOTED: usize = 12;

/// The result of a test program, with its output.
pub struct Ended {
    pub text: String,
    pub seconds: f64,
    /// The reason why it did not succeed.
    pub fault: Option<String>,
}

#[derive(Default, Debug)]
pub struct Report {
    passed: u64,
    failed: u64,
    /// Programs that did not succeed, with the reason.
    failures: Vec<(String, String)>,
    /// Program and test, with the first lines of the test's output.
    failed_tests: Vec<(String, Vec<String>)>,
    /// The index of the failed test whose output the current lines quote.
    quoted: Option<usize>,
    /// Seconds, program and test.
    slow: Vec<(f64, String)>,
    /// Test and reason.
    skipped: Vec<(String, String)>,
}

impl Report {
    /// Adds a test program and prints its output.
    pub fn add_program(&mut self, name: &str, ended: Ended) {
        println!("\n-- {name}: {:.1} s", ended.seconds);
        for line in ended.text.lines() {
            self.add_line(name, line);
        }
        print!("{}", ended.text);
        if let Some(fault) = ended.fault {
            println!("-- {name}: {fault}");
            self.failures.push((name.to_owned(), fault));
        }
    }

    /// Adds one line of a test program's output.
    pub fn add_line(&mut self, program: &str, line: &str) {
        let line = line.trim();
        if let Some(result) = line.strip_prefix("test result: ") {
            let mut words = result.split_whitespace().peekable();
            while let Some(word) = words.next() {
                let Ok(count) = word.parse::<u64>() else {
                    continue;
                };
                match words.peek() {
                    Some(&"passed;") => self.passed += count,
                    Some(&"failed;") => self.failed += count,
                    _ => {}
                }
            }
        } else if let Some(skipped) = line.strip_prefix("skipped: ") {
            let (test, why) = skipped.split_once(": ").unwrap_or((skipped, "no reason"));
            // The name includes the program, because a program with a single test file names its tests without a module.
            let target = program
                .split(" with ")
                .next()
                .and_then(|it| it.rsplit(' ').next());
            let target = target.unwrap_or_default();
            self.skipped
                .push((format!("{target}::{test}"), why.to_owned()));
        } else if let Some((test, seconds)) = timed(line) {
            let test = format!("{program} {test}");
            if line.contains(" ... FAILED") {
                self.failed_tests.push((test.clone(), Vec::new()));
            }
            self.slow.push((seconds, test));
        } else if let Some(test) = quotation(line) {
            let full = format!("{program} {test}");
            self.quoted = self.failed_tests.iter().position(|(it, _)| *it == full);
        } else if line == "failures:" || line == "stack backtrace:" {
            self.quoted = None;
        } else if let Some((_, said)) = self.quoted.and_then(|it| self.failed_tests.get_mut(it))
            && !line.is_empty()
            && said.len() < LINES_QUOTED
        {
            said.push(line.to_owned());
        }
    }

    /// Adds a run of pytest and prints its output. A test that it skipped fails the run.
    pub fn add_pytest(&mut self, name: &str, ended: Ended) {
        println!("\n-- {name}: {:.1} s\n{}", ended.seconds, ended.text);
        // As in "3 failed, 133 passed, 1 skipped, 2 errors in 12.34s".
        let counts = tool::last_line(&ended.text).split(", ");
        for (count, what) in counts.filter_map(|part| part.split_once(' ')) {
            let count = count.parse().unwrap_or(0);
            match what.split(' ').next().unwrap_or_default() {
                "passed" => self.passed += count,
                "failed" | "error" | "errors" => self.failed += count,
                "skipped" => self
                    .skipped
                    .push((name.to_owned(), format!("{count} tests"))),
                _ => {}
            }
        }
        if let Some(fault) = ended.fault {
            self.failures.push((name.to_owned(), fault));
        }
    }

    /// Adds what another report has.
    pub fn append(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.failed_tests.extend(other.failed_tests);
        self.slow.extend(other.slow);
        self.skipped.extend(other.skipped);
    }

    /// Returns an error unless all programs so far have succeeded.
    pub fn verdict(&self) -> Result<()> {
        match self.failures.len() {
            0 => Ok(()),
            n => Err(format!("{n} test program(s) failed")),
        }
    }

    /// Returns an error unless all programs succeeded and the run counts as complete.
    pub fn check(&self) -> Result<()> {
        self.verdict()?;
        if self.passed == 0 {
            return Err("no test ran: the list of steps is broken".to_owned());
        }
        let unlisted: Vec<&str> = self
            .skipped
            .iter()
            .map(|(test, _)| test.as_str())
            .filter(|test| why_it_may_be_skipped(test).is_none())
            .collect();
        if unlisted.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "skipped and not listed in xtask/src/ci/report.rs: {}: install what they need, or \
                 list them with the reason",
                unlisted.join(", ")
            ))
        }
    }

    /// Returns the closing line.
    pub fn totals(&self) -> String {
        let (passed, failed) = (self.passed, self.failed.max(self.failures.len() as u64));
        match self.skipped.len() {
            0 => format!("{passed} passed, {failed} failed"),
            skipped => format!("{passed} passed, {failed} failed, {skipped} skipped"),
        }
    }

    /// Prints the failures again, at the end of a long output.
    pub fn print_failures(&self) {
        for (name, fault) in &self.failures {
            println!("failed: {name}: {fault}");
        }
        for (test, said) in &self.failed_tests {
            println!("failed test: {test}");
            for line in said {
                println!("    {line}");
            }
        }
    }

    pub fn print_slowest(&self) {
        let mut slow = self.slow.clone();
        slow.sort_by(|a, b| b.0.total_cmp(&a.0));
        println!("\nthe {SLOWEST_SHOWN} slowest tests, in seconds:");
        for (seconds, test) in slow.iter().take(SLOWEST_SHOWN) {
            println!("{seconds:8.1}  {test}");
        }
    }

    pub fn print_skipped(&self) {
        for (test, why) in &self.skipped {
            let allowed = why_it_may_be_skipped(test).unwrap_or("not listed");
            println!("skipped {test}: {why} ({allowed})");
        }
    }
}

/// Returns the reason why a test may be skipped, if it may.
fn why_it_may_be_skipped(test: &str) -> Option<&'static str> {
    let test = format!("::{test}");
    let is_listed = |name: &str| match name.ends_with("::") {
        true => test.contains(&format!("::{name}")),
        false => test.ends_with(&format!("::{name}")),
    };
    let mut listed = MAY_BE_SKIPPED.iter();
    listed.find_map(|(name, why)| is_listed(name).then_some(*why))
}

/// Parses `test a::b ... ok <0.123s>` into the test and its seconds.
fn timed(line: &str) -> Option<(&str, f64)> {
    let (test, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let seconds = rest.rsplit_once('<')?.1.strip_suffix("s>")?;
    Some((test, seconds.parse().ok()?))
}

/// Parses `---- a::b stdout ----`: the failed test whose output follows.
fn quotation(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// Runs cargo with tests, forwards the output as it appears, and counts the tests.
pub fn shown(command: &mut Command, report: &mut Report) -> Result<()> {
    shown_on(&mut std::io::stdout(), command, report)
}

fn shown_on(screen: &mut impl Write, command: &mut Command, report: &mut Report) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| tool::cannot_start(&command.get_program().to_string_lossy(), &error))?;
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read != 0)
        {
            // A closed terminal must not stop the tests.
            let _ = screen.write_all(&line);
            report.add_line("", &String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    let status = child
        .wait()
        .map_err(|error| format!("`{}`: {error}", tool::line(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` ended with {status}", tool::line(command)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_what_the_test_programs_said() {
        let mut report = Report::default();
        for line in [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "12 passed; 9 failed;",
            "test a::b ... ok <1.250s>",
            "test c ... FAILED <0.003s>",
            "failures:",
            "",
            "---- c stdout ----",
            "",
            "thread 'c' (7) panicked at c.rs:1:2:",
            "four is not five",
            "stack backtrace:",
            "   0: std::panicking::begin_panic",
            "",
            "failures:",
            "    c",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ] {
            report.add_line("p", line);
        }
        assert_eq!((report.passed, report.failed), (15, 2));
        assert_eq!(report.totals(), "15 passed, 2 failed");
        let slow = [(1.25, "p a::b".to_owned()), (0.003, "p c".to_owned())];
        assert_eq!(report.slow, slow);
        let said = ["thread 'c' (7) panicked at c.rs:1:2:", "four is not five"];
        let said = said.map(str::to_owned).to_vec();
        assert_eq!(report.failed_tests, [("p c".to_owned(), said)]);
    }

    #[test]
    fn pytest_is_counted() {
        let mut report = Report::default();
        let ended = |text: &str, fault: Option<&str>| Ended {
            text: format!("..F.s\nFAILED x.py::y - 7 passed, 8 failed\n{text}\n"),
            seconds: 1.0,
            fault: fault.map(str::to_owned),
        };
        report.add_pytest("python", ended("136 passed in 24.32s", None));
        assert_eq!(report.totals(), "136 passed, 0 failed");
        report.check().unwrap();
        let text = "2 failed, 9 passed, 1 skipped, 3 errors in 1.00s";
        report.add_pytest("python", ended(text, Some("exit status: 1")));
        assert_eq!(report.totals(), "145 passed, 5 failed, 1 skipped");
        assert!(report.check().is_err());
    }

    #[test]
    fn a_test_that_is_skipped_and_not_listed_fails_the_run() {
        let mut report = Report::default();
        report.add_line("p", "test result: ok. 1 passed; 0 failed;");
        report.check().unwrap();
        report.add_line("p", "skipped: tests::needs_a_moon: there is no moon");
        assert_eq!(report.totals(), "1 passed, 0 failed, 1 skipped");
        let error = report.check().unwrap_err();
        assert!(error.contains("tests::needs_a_moon"), "{error}");
    }

    #[test]
    fn a_test_is_listed_by_the_end_of_its_name_or_by_its_module() {
        for test in [
            "age_peers::rage_reads_what_is_written",
            "tests::gcm::vaes512::seals",
            "vaes512::seals",
            "process::a_quota_of_one_cpu_means_inline",
            "a_quota_of_one_cpu_means_inline",
        ] {
            assert!(why_it_may_be_skipped(test).is_some(), "{test}");
        }
        for test in [
            "age_peers::age_reads_what_is_written",
            "tests::gcm::portable::seals",
            "tests::gcm::my_vaes512::seals",
            "tests::vaes512",
            "not_a_quota_of_one_cpu_means_inline",
            "a_quota_of_one_cpu_means_inline::too",
        ] {
            assert_eq!(why_it_may_be_skipped(test), None, "{test}");
        }
    }

    #[test]
    fn a_run_without_tests_is_an_error() {
        let error = Report::default().check().unwrap_err();
        assert!(error.starts_with("no test ran"), "{error}");
    }

    #[test]
    fn a_program_that_fails_without_a_word_fails_the_run() {
        let mut report = Report::default();
        report.add_line("p", "test result: ok. 1 passed; 0 failed;");
        report.failures.push(("p".into(), "signal: 11".into()));
        assert!(report.check().is_err());
        assert_eq!(report.totals(), "1 passed, 1 failed");
    }

    #[test]
    fn a_failing_command_is_counted() {
        let mut report = Report::default();
        let script = "echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let mut command = Command::new("sh");
        // Not to the screen, because a run of this test would count its line.
        let error = shown_on(
            &mut std::io::sink(),
            command.args(["-c", script]),
            &mut report,
        )
        .unwrap_err();
        assert!(error.contains("101"), "{error}");
        assert_eq!((report.passed, report.failed), (1, 1));
    }
}
