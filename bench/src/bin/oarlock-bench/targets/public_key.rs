//! Public-key operations, by how many are in flight.

use oarlock_bench::Error;
use oarlock_bench::output::{Line, Ratio};
use oarlock_bench::run::First;

use super::ask::{output, read, this_program, worst};
use super::outcome::Outcome;

/// One run of this program, and what is asked of its ratios.
pub(super) struct Ask {
    case: &'static str,
    threads: usize,
    depth: &'static str,
    with: With,
    pub(super) targets: &'static [Target],
}

/// Beside what Oarlock is measured.
#[derive(Clone, Copy)]
enum With {
    Peers(&'static str),
    /// Its own jobs, when so many threads that wait ask it.
    Callers(usize),
    /// Itself, without a cipher to do on every CPU.
    Mixed,
}

/// A least ratio.
pub(super) struct Target {
    /// Before the names of those it is over, where these are peers.
    what: &'static str,
    /// Over whom. Of several, the one that Oarlock compares worst with counts.
    vs: &'static [&'static str],
    depth: Depth,
    pub(super) least: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Depth {
    At(usize),
    /// At each over the one before; the worst counts.
    Each,
    /// Of the cipher beside, which has none.
    None,
}

pub(super) const ASKS: &[Ask] = &[
    Ask {
        case: "rsa-1024-private",
        targets: const { &[over(&["openssl"], 5.5), over(&["crypto-mb"], 0.97), LONE] },
        ..ONE_CORE
    },
    Ask {
        targets: const { &[over(&["openssl"], 3.0), over(&["crypto-mb"], 0.97), LONE] },
        ..ONE_CORE
    },
    Ask {
        case: "rsa-3072-sign",
        targets: const { &[over(&["openssl"], 4.4), over(&["aws-lc"], 2.0), LONE] },
        ..ONE_CORE
    },
    Ask {
        case: "rsa-4096-sign",
        targets: const { &[over(&["openssl"], 4.2), over(&["crypto-mb"], 1.0), LONE] },
        ..ONE_CORE
    },
    Ask {
        case: "rsa-2048-verify",
        targets: const { &[over(&["openssl"], 4.3), over(&["crypto-mb"], 1.0), LONE] },
        ..ONE_CORE
    },
    mod_exp("modexp-1024"),
    mod_exp("modexp-2048"),
    mod_exp("modexp-4096"),
    by_depth("rsa-1024-private"),
    by_depth("rsa-2048-sign"),
    by_depth("rsa-3072-sign"),
    by_depth("rsa-4096-sign"),
    by_depth("rsa-2048-verify"),
    by_depth("modexp-2048"),
    Ask {
        with: With::Peers("inline"),
        targets: const {
            &[Target {
                what: "2 cores over one",
                vs: &["inline"],
                depth: Depth::At(64),
                least: 1.9,
            }]
        },
        ..TWO_CORES
    },
    Ask {
        with: With::Callers(64),
        targets: const {
            &[Target {
                what: "64 threads that wait over jobs, 2 cores",
                vs: &["job"],
                depth: Depth::At(64),
                least: 0.9,
            }]
        },
        ..TWO_CORES
    },
    Ask {
        with: With::Mixed,
        targets: const {
            &[
                Target {
                    what: "beside aes-256-gcm on 2 cores, over alone",
                    vs: &["alone"],
                    depth: Depth::At(64),
                    least: 0.4,
                },
                Target {
                    what: "aes-256-gcm beside it on 2 cores, over alone",
                    vs: &["alone"],
                    depth: Depth::None,
                    least: 0.4,
                },
            ]
        },
        ..TWO_CORES
    },
];

const ONE_CORE: Ask = Ask {
    case: "rsa-2048-sign",
    threads: 1,
    depth: "1,64",
    with: With::Peers("openssl,aws-lc,crypto-mb"),
    targets: &[],
};

const TWO_CORES: Ask = Ask {
    threads: 2,
    depth: "64",
    ..ONE_CORE
};

/// A call takes 1.05 of the time of the better library's at most.
const LONE: Target = Target {
    what: "a lone call over",
    vs: &["openssl", "aws-lc"],
    depth: Depth::At(1),
    least: 1.0 / 1.05,
};

const fn over(vs: &'static [&'static str], least: f64) -> Target {
    Target {
        what: "over",
        vs,
        depth: Depth::At(64),
        least,
    }
}

const fn mod_exp(case: &'static str) -> Ask {
    Ask {
        case,
        depth: "64",
        with: With::Peers("crypto-mb"),
        targets: const { &[over(&["crypto-mb"], 1.0)] },
        ..ONE_CORE
    }
}

const fn by_depth(case: &'static str) -> Ask {
    Ask {
        case,
        depth: "1,2,4,8,16,64",
        with: With::Peers("job"),
        targets: const {
            &[Target {
                what: "over the depth before",
                vs: &["oarlock"],
                depth: Depth::Each,
                least: 0.97,
            }]
        },
        ..ONE_CORE
    }
}

impl Ask {
    pub(super) fn name(&self, target: &Target) -> String {
        let depth = match target.depth {
            Depth::At(depth) => format!(" depth {depth}"),
            Depth::Each => " each depth".to_owned(),
            Depth::None => String::new(),
        };
        let over = match (self.with, target.what.strip_suffix("over")) {
            (With::Peers(_), Some(_)) => format!(" {}", target.vs.join(" and ")),
            _ => String::new(),
        };
        format!("{}{depth}: {}{over}", self.case, target.what)
    }

    /// Runs this program for it.
    pub(super) fn measure(&self, quick: bool) -> Result<Vec<Ratio>, Error> {
        let mut command = this_program()?;
        command
            .args(["--json", "--case", self.case, "--depth", self.depth])
            .args(["--threads", &self.threads.to_string()])
            .args(quick.then_some("--quick"));
        match self.with {
            With::Peers(names) => command.args(["--peer", names]),
            With::Callers(callers) => {
                command.args(["--peer", "job", "--blocking", &callers.to_string()])
            }
            With::Mixed => command.arg("--mixed"),
        };
        if std::env::var_os("DUMP").is_some() {
            eprintln!("RUN {:?}", command.get_args().collect::<Vec<_>>());
            return Ok(Vec::new());
        }
        let mut ratios = Vec::new();
        for line in output(&mut command)?.lines() {
            if let Line::Ratio(ratio) = read(line)? {
                ratios.push(ratio);
            }
        }
        Ok(ratios)
    }
}

impl Target {
    /// What the worst of `ratios` that it is about says.
    pub(super) fn judge(&self, name: &str, ratios: &[Ratio]) -> Result<Outcome, String> {
        let mine: Vec<_> = ratios.iter().filter(|ratio| self.covers(ratio)).collect();
        let worst = worst(&mine)?;
        let note = match (self.depth, worst.depth, worst.vs_depth) {
            (Depth::Each, Some(depth), Some(before)) => {
                format!(" (worst: {depth} over {before})")
            }
            _ if self.vs.len() > 1 => format!(" (worst: over {})", worst.vs),
            _ => String::new(),
        };
        Ok(Outcome::of(name.to_owned(), self.least, worst, note))
    }

    fn covers(&self, ratio: &Ratio) -> bool {
        let is_a_cipher = ratio.case.starts_with("aes-");
        self.vs.contains(&&*ratio.vs)
            && match self.depth {
                Depth::At(depth) => {
                    !is_a_cipher && ratio.depth.unwrap_or(1) == depth && ratio.vs_depth.is_none()
                }
                Depth::Each => ratio.vs_depth.is_some(),
                Depth::None => is_a_cipher,
            }
    }
}

/// The first operation of a process and of a forked child: of Oarlock, and of the better of the
/// libraries.
pub(super) const FIRSTS: [&str; 2] = [
    "rsa-2048-sign first in a process: the library's time and 100 us, over Oarlock's",
    "rsa-2048-sign first in a forked child: the library's time and 100 us, over Oarlock's",
];
pub(super) const FIRST_LEAST: f64 = 1.0;

/// In the order of [`FIRSTS`].
pub(super) fn firsts(quick: bool) -> [Outcome; 2] {
    if std::env::var_os("DUMP").is_some() {
        return FIRSTS
            .map(|name| Outcome::not_measured(name.to_owned(), FIRST_LEAST, String::new()));
    }
    match first_times(if quick { 5 } else { 15 }) {
        Ok([ours, openssl, aws_lc]) => [0, 1].map(|place| {
            let us = |all: &[First]| {
                let time = |one: &First| [one.fresh_us, one.forked_us][place];
                let mut times: Vec<f64> = all.iter().map(time).collect();
                times.sort_by(f64::total_cmp);
                times
            };
            let (ours, openssl, aws_lc) = (us(&ours), us(&openssl), us(&aws_lc));
            let median = |times: &[f64]| times[times.len() / 2];
            let library = median(&openssl).min(median(&aws_lc));
            let over = |ours: f64| (library + ALLOWED_US) / ours;
            let ratio = [
                over(ours[ours.len() - 1]),
                over(median(&ours)),
                over(ours[0]),
            ];
            let note = format!(
                " (us: oarlock {:.0}, openssl {:.0}, aws-lc {:.0})",
                median(&ours),
                median(&openssl),
                median(&aws_lc)
            );
            Outcome::measured(FIRSTS[place].to_owned(), FIRST_LEAST, ratio, note)
        }),
        Err(error) => FIRSTS
            .map(|name| Outcome::not_measured(name.to_owned(), FIRST_LEAST, error.to_string())),
    }
}

/// Of Oarlock, OpenSSL and AWS-LC, in turn.
fn first_times(rounds: usize) -> Result<[Vec<First>; 3], Error> {
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (peer, times) in [None, Some("openssl"), Some("aws-lc")]
            .into_iter()
            .zip(&mut times)
        {
            let mut command = this_program()?;
            command.args(["--first", "--case", "rsa-2048-sign"]);
            command.args(peer.map(|name| format!("--peer={name}")));
            times.push(read(output(&mut command)?.trim())?);
        }
    }
    Ok(times)
}

const ALLOWED_US: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock_bench::cases::PUBLIC_KEY_CASES;

    #[test]
    fn every_target_is_about_what_is_measured() {
        for ask in ASKS {
            assert!(PUBLIC_KEY_CASES.iter().any(|case| case.name == ask.case));
            let depths: Vec<usize> = ask.depth.split(',').map(|at| at.parse().unwrap()).collect();
            for target in ask.targets {
                let name = ask.name(target);
                match target.depth {
                    Depth::At(depth) => assert!(depths.contains(&depth), "{name}"),
                    Depth::Each => assert!(depths.len() > 1, "{name}"),
                    Depth::None => assert!(matches!(ask.with, With::Mixed), "{name}"),
                }
                if let With::Peers(peers) = ask.with
                    && target.depth != Depth::Each
                {
                    let mut peers = peers.split(',');
                    let all_there = target.vs.iter().all(|vs| peers.any(|peer| peer == *vs));
                    assert!(all_there, "{name}");
                }
            }
        }
    }

    #[test]
    fn each_target_takes_its_own_ratios_and_the_worst_of_them() {
        let line = |case: &str, vs: &str, depth: &str, median: f64| {
            let line = format!(
                r#"{{"case":"{case}","vs":"{vs}","threads":1,"bytes":256,"ratio_median":{median},"ratio_min":0.1,"ratio_max":9.0{depth}}}"#
            );
            read::<Ratio>(&line).unwrap()
        };
        let ratios = [
            line("rsa-2048-sign", "openssl", "", 0.99),
            line("rsa-2048-sign", "aws-lc", "", 0.96),
            line("rsa-2048-sign", "openssl", r#","depth":64"#, 3.5),
            line("rsa-2048-sign", "aws-lc", r#","depth":64"#, 0.5),
            line(
                "rsa-2048-sign",
                "oarlock",
                r#","depth":8,"vs_depth":1"#,
                2.0,
            ),
            line(
                "rsa-2048-sign",
                "oarlock",
                r#","depth":64,"vs_depth":8"#,
                0.9,
            ),
            line(
                "rsa-2048-sign",
                "alone",
                r#","mode":"mixed","depth":64"#,
                0.7,
            ),
            line("aes-256-gcm", "alone", r#","mode":"mixed""#, 0.6),
        ];
        let judged = |target: &Target| {
            let outcome = target.judge("", &ratios).unwrap();
            (outcome.measured, outcome.met, outcome.note)
        };
        assert_eq!(
            judged(&over(&["openssl"], 3.0)),
            (Some(3.5), true, String::new())
        );
        let worst = " (worst: over aws-lc)".to_owned();
        assert_eq!(judged(&LONE), (Some(0.96), true, worst));
        let by_depth = by_depth("rsa-2048-sign");
        let worst = " (worst: 64 over 8)".to_owned();
        assert_eq!(judged(&by_depth.targets[0]), (Some(0.9), false, worst));
        let mixed = ASKS
            .iter()
            .find(|ask| matches!(ask.with, With::Mixed))
            .unwrap();
        let [requests, messages] = mixed.targets else {
            panic!("one for each");
        };
        assert_eq!(judged(requests).0, Some(0.7));
        assert_eq!(judged(messages).0, Some(0.6));
        assert!(over(&["crypto-mb"], 1.0).judge("", &ratios).is_err());
    }
}
