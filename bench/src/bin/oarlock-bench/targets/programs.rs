//! What is promised of whole programs.

use oarlock_bench::Error;

use super::outcome::Outcome;
use crate::programs::cases::{Case, Program};
use crate::programs::files::{Files, Tool, Way};
use crate::programs::server::{self, Servers};
use crate::programs::ssh::Place;
use crate::programs::{self, Compared, Figure, STOCK, Setup, cases};
use crate::system::interrupt;

/// Of one case.
struct Target {
    name: String,
    figure: Figure,
    /// `None`: whatever there is.
    bytes: Option<usize>,
    /// The other side.
    vs: &'static str,
    /// That ours was given; `None`: as many as it takes itself.
    threads: Option<usize>,
    least: f64,
}

/// Measures what is asked for of the targets and reports on each.
pub(crate) fn outcomes(
    args: &oarlock_bench::args::Args,
    named: &programs::Args,
    asked: &dyn Fn(&str) -> bool,
    report: &mut dyn FnMut(Outcome) -> Result<(), Error>,
) -> Result<(), Error> {
    // With the provider, and without.
    let mut setups = [None, None];
    for case in cases() {
        let targets = targets(&case).into_iter();
        let mut targets = targets.filter(|target| asked(&target.name)).peekable();
        if targets.peek().is_none() {
            continue;
        }
        let takes_provider = case.takes_provider();
        let compared = setups[usize::from(takes_provider)]
            .get_or_insert_with(|| Setup::new(named, args.quick, takes_provider))
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|setup| case.measure(setup).map_err(|error| error.to_string()));
        interrupt::check()?;
        for target in targets {
            report(match &compared {
                Ok(compared) => target.judge(compared),
                Err(why) => Outcome::not_measured(target.name, target.least, why.clone()),
            })?;
        }
    }
    Ok(())
}

/// Of every target.
pub(crate) fn names() -> Vec<String> {
    let targets = cases().into_iter().flat_map(|case| targets(&case));
    targets.map(|target| target.name).collect()
}

fn targets(case: &Case) -> Vec<Target> {
    let target = |what: &str, figure, bytes, least| Target {
        name: format!("{}{what}", case.name),
        figure,
        bytes,
        vs: STOCK,
        threads: None,
        least,
    };
    match &case.program {
        Program::Start => vec![target(
            ": stock's time and 1 ms, over ours",
            Figure::Milliseconds,
            None,
            1.0,
        )],
        Program::Context(_) => vec![target(
            ": stock's time over ours",
            Figure::Nanoseconds,
            None,
            1.0 / 1.1,
        )],
        Program::Speed(speed) => {
            let over = |bytes: usize, least| {
                let size = oarlock_bench::cases::Size(bytes);
                target(
                    &format!(" {size}: over stock"),
                    Figure::Rate,
                    Some(bytes),
                    least,
                )
            };
            let mut targets: Vec<_> = [16, 64, 256].map(|bytes| over(bytes, 0.95)).into();
            let long = match (speed.cipher, speed.decrypts) {
                ("aes-128-ctr", _) => Some(2.3),
                ("aes-256-gcm", _) => Some(2.5),
                ("chacha20-poly1305", _) => Some(1.05),
                ("aes-128-cbc", true) => Some(1.7),
                _ => None,
            };
            targets.extend(long.map(|least| over(16384, least)));
            targets
        }
        Program::Ssh(ssh) => {
            let rate = |least| target(": rate over stock", Figure::Rate, None, least);
            let cpu = |least| {
                let what = ": stock's CPU time over ours";
                target(what, Figure::CpuSeconds, None, least)
            };
            match ssh.place {
                Place::Here if ssh.suite.operation == "aes-256-gcm" => {
                    vec![rate(0.97), cpu(1.0 / 0.95)]
                }
                Place::Here => vec![rate(0.97), cpu(LEVEL)],
                Place::Masked { .. } => vec![rate(1.15)],
                Place::Gigabit | Place::OneCpu => vec![rate(LEVEL)],
            }
        }
        Program::Files(files) => of_files(&case.name, *files),
        Program::Servers(servers) => of_servers(&case.name, *servers),
    }
}

fn of_servers(case: &str, servers: Servers) -> Vec<Target> {
    let target = |what: &str, figure, vs, least| Target {
        name: format!("{case}: {what}"),
        figure,
        bytes: None,
        vs,
        threads: None,
        least,
    };
    let right = |what| target(what, Figure::Right, server::ALL, 1.0);
    match servers {
        Servers::Sign => vec![
            target(
                "with TLS over the library, a CPU second",
                Figure::PerCpuSecond,
                server::LIBRARY,
                0.93,
            ),
            target(
                "with TLS over plaintext, a CPU second",
                Figure::PerCpuSecond,
                server::PLAINTEXT,
                0.98,
            ),
        ],
        Servers::Latency { .. } => vec![
            target(
                "150 us over what is added to the median",
                Figure::MicrosecondsP50,
                server::LIBRARY,
                1.0,
            ),
            target(
                "300 us over what is added at the 99th percentile",
                Figure::MicrosecondsP99,
                server::LIBRARY,
                1.0,
            ),
        ],
        Servers::Boards(boards) if boards.is_together() => {
            let what = "over both boards of the paper";
            vec![target(what, Figure::Operations, server::PAPER, 0.99)]
        }
        // The paper has no such figures.
        Servers::Boards(boards) if boards.batch > 1 => Vec::new(),
        Servers::Boards(boards) => {
            let points = boards.paper().iter();
            let target = |(threads, _): &(usize, f64)| Target {
                threads: Some(*threads),
                ..target(
                    &format!("{threads} clients, beside the paper, the lesser over the greater"),
                    Figure::AsTheBoard,
                    server::PAPER,
                    0.97,
                )
            };
            points.map(target).collect()
        }
        Servers::Load => vec![
            right("requests that end right"),
            target(
                "memory at first over memory at last",
                Figure::ServerMib,
                server::AT_FIRST,
                1.0 / 1.05,
            ),
            target(
                "descriptors at first over descriptors at last",
                Figure::Descriptors,
                server::AT_FIRST,
                1.0,
            ),
        ],
        Servers::Overload => vec![
            target(
                "goodput over the peak",
                Figure::Operations,
                server::PEAK,
                0.95,
            ),
            right("requests answered, or refused for want of room"),
            target(
                "what a full queue takes over the time of those let in",
                Figure::AdmittedMs,
                server::FULL_QUEUE,
                2.0 / 3.0,
            ),
        ],
        Servers::Kill => vec![
            right("requests that end right"),
            target(
                "rate after a second over two thirds of that before",
                Figure::Operations,
                server::TWO_THIRDS,
                0.97,
            ),
        ],
    }
}

fn of_files(case: &str, files: Files) -> Vec<Target> {
    let target = |what: &str, figure, vs, least| Target {
        name: format!("{case}: {what}"),
        figure,
        bytes: None,
        vs,
        threads: None,
        least,
    };
    let resident = |vs| {
        let what = "64 MiB over the most that was resident";
        target(what, Figure::ResidentMib, vs, 1.0)
    };
    let [age, rage, cp, cat] = [Tool::Age, Tool::Rage, Tool::Cp, Tool::Cat].map(Tool::name);
    match files {
        Files::One(way) => {
            let over_age = match way {
                Way::Encrypt => 2.2,
                Way::Decrypt => 3.2,
            };
            vec![
                target("over cp", Figure::Rate, cp, 0.9),
                target("over age", Figure::Rate, age, over_age),
                Target {
                    threads: Some(1),
                    ..target("one thread over age", Figure::Rate, age, 1.3)
                },
                resident(cp),
            ]
        }
        Files::Many(_) => vec![
            target("over a loop of rage", Figure::Files, rage, 20.0),
            resident(cp),
        ],
        Files::Pipe(_) => vec![
            target("over cat in its place", Figure::Rate, cat, 0.8),
            resident(cat),
        ],
        Files::Unlock => vec![target("age's time over ours", Figure::Seconds, age, LEVEL)],
    }
}

impl Target {
    fn judge(self, compared: &[Compared]) -> Outcome {
        let found = compared.iter().find(|compared| {
            compared.vs == self.vs
                && compared.figure == self.figure
                && (self.threads.is_none() || compared.threads == self.threads)
                && self.bytes.is_none_or(|bytes| bytes == compared.bytes)
        });
        let Some(compared) = found else {
            let why = format!("{} was not measured there", self.vs);
            return Outcome::not_measured(self.name, self.least, why);
        };
        let mut ratio = compared.spread(|ours, theirs| match self.figure {
            Figure::Rate
            | Figure::Files
            | Figure::PerCpuSecond
            | Figure::Operations
            | Figure::Right => ours / theirs,
            Figure::CpuSeconds
            | Figure::Nanoseconds
            | Figure::Seconds
            | Figure::AdmittedMs
            | Figure::ServerMib
            | Figure::Descriptors => theirs / ours,
            Figure::AsTheBoard => (ours / theirs).min(theirs / ours),
            Figure::MicrosecondsP50 => ADDED_US_P50_MAX / (ours - theirs).max(1.0),
            Figure::MicrosecondsP99 => ADDED_US_P99_MAX / (ours - theirs).max(1.0),
            Figure::Milliseconds => (theirs + START_MS_ALLOWED) / ours,
            Figure::ResidentMib => RESIDENT_MIB_MAX / ours,
        });
        if matches!(self.figure, Figure::ResidentMib | Figure::Right) {
            // A bound holds for every run.
            ratio[1] = ratio[0];
        }
        Outcome::measured(self.name, self.least, ratio, compared.note())
    }
}

/// As fast as the other side, but for half a per cent: of two that are the same, one is ahead by a
/// hair in every run.
const LEVEL: f64 = 0.995;
const START_MS_ALLOWED: f64 = 1.0;
const ADDED_US_P50_MAX: f64 = 150.0;
const ADDED_US_P99_MAX: f64 = 300.0;
/// Whatever the size, of everything that is not mapped and not scrypt's own.
const RESIDENT_MIB_MAX: f64 = 64.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(figure: Figure, bytes: usize, ours: f64, theirs: f64) -> Compared {
        Compared {
            figure,
            bytes,
            vs: STOCK,
            threads: None,
            ours: vec![ours],
            theirs: vec![theirs],
        }
    }

    fn judged(case: &str, what: &str, all: &[Compared]) -> (Option<f64>, bool) {
        let cases = cases();
        let case = cases.iter().find(|found| found.name == case).unwrap();
        let mut targets = targets(case).into_iter();
        let target = targets.find(|target| target.name.contains(what)).unwrap();
        let outcome = target.judge(all);
        (outcome.measured, outcome.met)
    }

    #[test]
    fn each_target_takes_its_own_figure_the_right_way_round() {
        let speed = [
            compared(Figure::Rate, 16, 0.94, 1.0),
            compared(Figure::Rate, 16384, 24.0, 10.0),
        ];
        let name = "openssl-speed-aes-128-ctr";
        assert_eq!(judged(name, " 16:", &speed), (Some(0.94), false));
        assert_eq!(judged(name, " 16k:", &speed), (Some(2.4), true));
        assert_eq!(judged(name, " 64:", &speed), (None, false));

        let ssh = [
            compared(Figure::Rate, 1 << 30, 0.9, 1.0),
            compared(Figure::CpuSeconds, 1 << 30, 1.6, 2.0),
        ];
        let name = "ssh-aes256-gcm-upload";
        assert_eq!(judged(name, "rate", &ssh), (Some(0.9), false));
        assert_eq!(judged(name, "CPU", &ssh), (Some(1.25), true));

        let start = [compared(Figure::Milliseconds, 0, 6.0, 4.0)];
        let (ratio, met) = judged("openssl-start", "1 ms", &start);
        assert_eq!((ratio, met), (Some(5.0 / 6.0), false));
        let context = [compared(Figure::Nanoseconds, 0, 105.0, 100.0)];
        assert!(judged("openssl-context-chacha20", "time", &context).1);

        let over = |vs, threads, ours| Compared {
            vs,
            threads: Some(threads),
            ..compared(Figure::Rate, 2 << 30, ours, 1.0)
        };
        let file = [
            over("cp", 2, 0.95),
            over("age", 2, 2.3),
            over("cp", 1, 0.5),
            over("age", 1, 1.2),
            Compared {
                ours: vec![32.0, 80.0, 40.0],
                theirs: vec![2.0; 3],
                figure: Figure::ResidentMib,
                ..over("cp", 2, 0.0)
            },
        ];
        let name = "file-encrypt";
        assert_eq!(judged(name, ": over cp", &file), (Some(0.95), true));
        assert_eq!(judged(name, ": over age", &file), (Some(2.3), true));
        assert_eq!(
            judged("file-decrypt", ": over age", &file),
            (Some(2.3), false)
        );
        assert_eq!(judged(name, "one thread", &file), (Some(1.2), false));
        assert_eq!(judged(name, "resident", &file), (Some(0.8), false));
        assert_eq!(judged(name, "one thread", &file[..3]), (None, false));
        let unlock = Compared {
            vs: "age",
            ..compared(Figure::Seconds, 0, 0.8, 1.0)
        };
        assert_eq!(judged("file-unlock", "time", &[unlock]), (Some(1.25), true));

        let server = |figure, vs, ours, theirs| Compared {
            vs,
            ours: vec![ours],
            theirs: vec![theirs],
            ..compared(figure, 0, 0.0, 0.0)
        };
        let latency = [
            server(Figure::MicrosecondsP50, server::LIBRARY, 600.0, 500.0),
            server(Figure::MicrosecondsP99, server::LIBRARY, 1100.0, 500.0),
        ];
        let name = "server-latency";
        assert_eq!(judged(name, "median", &latency), (Some(1.5), true));
        assert_eq!(judged(name, "99th", &latency), (Some(0.5), false));
        let board = Compared {
            threads: Some(25),
            ..server(Figure::AsTheBoard, server::PAPER, 250.0, 200.0)
        };
        let name = "server-boards-axl200";
        assert_eq!(judged(name, " 25 clients", &[board]), (Some(0.8), false));
        let memory = [server(Figure::ServerMib, server::AT_FIRST, 104.0, 100.0)];
        assert!(judged("server-load", "memory", &memory).1);
    }
}
