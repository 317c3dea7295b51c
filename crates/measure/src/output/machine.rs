//! Describes this machine for records.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// The first line of a record.
#[derive(Serialize, Debug)]
pub(crate) struct Machine {
    pub(crate) machine: &'static str,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) versions: Vec<String>,
    pub(crate) date: String,
}

impl Machine {
    /// Describes this machine. `versions` are those of everything measured.
    pub(crate) fn here(versions: Vec<String>) -> Self {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            machine: std::env::consts::ARCH,
            cpu: cpu_model(&text("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            versions,
            date: today(),
        }
    }

    /// Returns the name of the folder for its records.
    pub(crate) fn slug(&self) -> String {
        slug(&self.cpu)
    }
}

/// Returns the CPU's name, family and model: hypervisors use one name for whole generations.
fn cpu_model(cpuinfo: &str) -> String {
    let field = |name| {
        cpuinfo
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(field, _)| field.trim() == name)
            .map(|(_, value)| value.trim())
    };
    match (field("model name"), field("cpu family"), field("model")) {
        (Some(name), Some(family), Some(model)) => format!("{name} family {family} model {model}"),
        (Some(name), ..) => name.to_owned(),
        _ => format!("unknown {}", std::env::consts::ARCH),
    }
}

fn slug(text: &str) -> String {
    let lower = text.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Returns today's date (UTC), as in 2026-11-23.
pub fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// Returns the date of a number of days since 1970-01-01, by counting.
fn date(mut days: u64) -> String {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_322, "2000-12-31"),
            (20_778, "2026-11-21"),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn cpu_names() {
        let cpuinfo = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Gold 6430 CPU @ 2.10GHz\n";
        assert_eq!(
            slug(&cpu_model(cpuinfo)),
            "intel-xeon-gold-6430-cpu-2-10ghz-family-6-model-143"
        );
        assert!(!slug(&cpu_model("")).is_empty());
    }
}
