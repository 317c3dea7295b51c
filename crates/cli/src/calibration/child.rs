//! The process that loads a libcrypto and the provider. It is a separate one, since either may be of any version and state,
//! and a process cannot unload them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oarlock::Algorithm;
use oarlock_engine::Primitive;
use oarlock_engine::costs::openssl::{CallRatios, LEVEL_MIN, MadeFor, Measured, Ratios};
use oarlock_measure::run::provided::Provided;
use serde::{Deserialize, Serialize};

use super::handshakes::{self, Trial};
use super::library::Library;
use super::measuring::{self, Found};
use super::place;
use crate::failure::{Failure, reason};
use crate::openssl_conf::{PostQuantum, ProviderSection, UserConf};
use crate::{cpu, stdout};

/// What `oarlock provider measure`, the child, is told.
#[derive(clap::Args)]
pub(crate) struct MeasureArgs {
    /// The libcrypto
    #[arg(long, value_name = "FILE")]
    library: PathBuf,

    /// The provider
    #[arg(long, value_name = "FILE")]
    module: PathBuf,

    /// The calibration that the provider is told of
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Measure each operation, too
    #[arg(long, conflicts_with = "handshakes")]
    measure: bool,

    /// Measure handshakes with what the calibration offers, too
    #[arg(long)]
    handshakes: bool,
}

/// The child's answer.
#[derive(Serialize, Deserialize)]
pub(super) struct Look {
    #[serde(flatten)]
    pub(super) made_for: MadeForText,
    /// The provider's verdict on the file.
    pub(super) verdict: String,
    /// The ratios in thousandths, by operation, then by size or call.
    ratios: BTreeMap<String, Vec<u32>>,
    /// Operations that were measured but whose ratios are unknown, since the machine had other work.
    pub(super) noisy: Vec<String>,
    /// Handshakes with what the calibration offers.
    #[serde(default)]
    pub(super) trials: Vec<Trial>,
    /// The day of the measurement.
    made: String,
}

/// The work of a child process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// It says what they are.
    Identify,
    /// It also measures each operation.
    Measure,
    /// It also measures handshakes.
    Try,
}

/// [`MadeFor`] as it passes between the processes.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct MadeForText {
    provider: String,
    libcrypto: String,
    built: String,
    cpu: String,
    ia32cap: String,
}

impl From<MadeForText> for MadeFor {
    fn from(text: MadeForText) -> Self {
        Self {
            provider: text.provider,
            libcrypto: text.libcrypto,
            built: text.built,
            cpu: text.cpu,
            ia32cap: text.ia32cap,
        }
    }
}

impl Look {
    /// Returns what was measured, if anything was.
    pub(super) fn measured(&self) -> Option<Measured> {
        let of_cipher = |(name, thousandths): (&String, &Vec<u32>)| {
            let thousandths = thousandths.clone().try_into().ok()?;
            Some((
                Algorithm::named(name)?,
                Ratios::from_thousandths(thousandths)?,
            ))
        };
        let of_primitive = |(name, thousandths): (&String, &Vec<u32>)| {
            let primitive = Primitive::named(name)?;
            let ratios = CallRatios::from_thousandths(primitive, thousandths)?;
            Some((primitive, ratios))
        };
        (!self.ratios.is_empty()).then(|| Measured {
            made_for: self.made_for.clone().into(),
            made: self.made.clone(),
            ratios: self.ratios.iter().filter_map(of_cipher).collect(),
            primitives: self.ratios.iter().filter_map(of_primitive).collect(),
        })
    }

    /// Counts handshakes with what is offered: if one certainly loses, the operations other than ciphers have at most its
    /// ratio, so none of them is offered.
    fn tried(&mut self, trials: Vec<Trial>) {
        let lost = trials.iter().filter(|trial| trial.is_lost);
        if let Some(most) = lost.map(|trial| trial.thousandths).min() {
            let primitives = self.ratios.iter_mut();
            for (_, ratios) in primitives.filter(|(name, _)| Primitive::named(name).is_some()) {
                for ratio in ratios {
                    *ratio = most.min(*ratio);
                }
            }
        }
        self.trials = trials;
    }

    /// Merges what another process measured: the lowest ratio of each size counts. An operation that only one of them knows
    /// counts as unknown, unless it loses there.
    fn lower(&mut self, other: Self) {
        let loses = |ratios: &[u32]| ratios.iter().any(|ratio| *ratio < LEVEL_MIN);
        let mut theirs = other.ratios;
        let ours = std::mem::take(&mut self.ratios);
        for (name, mut ratios) in ours {
            match theirs.remove(&name) {
                Some(others) => {
                    for (ratio, other) in ratios.iter_mut().zip(others) {
                        *ratio = other.min(*ratio);
                    }
                }
                None if loses(&ratios) => {}
                None => continue,
            }
            self.ratios.insert(name, ratios);
        }
        self.ratios
            .extend(theirs.into_iter().filter(|(_, ratios)| loses(ratios)));
        self.noisy.extend(other.noisy);
        self.noisy.sort();
        self.noisy.dedup();
        self.noisy.retain(|name| !self.ratios.contains_key(name));
    }
}

/// Has several children, one after the other, load the two files and measure. The same code runs up to a tenth faster or
/// slower in one process than in another, depending on memory layout, and a program that loses is not helped by one that
/// gains.
///
/// # Errors
/// The message of the child that failed.
pub(super) fn measured(
    library: &Library,
    module: &Path,
    file: Option<&Path>,
) -> Result<Look, Failure> {
    let mut look = look(library, module, file, Task::Measure)?;
    for _ in 1..PROCESSES {
        look.lower(self::look(library, module, file, Task::Measure)?);
    }
    if let Some(measured) = look.measured() {
        let folder = tempfile::tempdir().map_err(|error| Failure::new(reason(&error)))?;
        let offered = folder.path().join("calibration");
        place::add(&offered, measured)?;
        look.tried(self::look(library, module, Some(&offered), Task::Try)?.trials);
    }
    Ok(look)
}

/// Has a child load the two files and do `task`.
///
/// # Errors
/// The message of the child if it failed.
pub(super) fn look(
    library: &Library,
    module: &Path,
    file: Option<&Path>,
    task: Task,
) -> Result<Look, Failure> {
    let failed = |why: &str| {
        let name = library.path().display();
        Failure::new(format!(
            "{name}: Oarlock cannot be measured against it: {why}"
        ))
    };
    let program = std::env::current_exe().map_err(|error| failed(&reason(&error)))?;
    let mut child = Command::new(program);
    child
        .args(["provider", "measure", "--library"])
        .arg(library.path());
    child.arg("--module").arg(module);
    if let Some(file) = file {
        child.arg("--file").arg(file);
    }
    match task {
        Task::Identify => {}
        Task::Measure => _ = child.arg("--measure"),
        Task::Try => _ = child.arg("--handshakes"),
    }
    let output = child
        // These options are meant for one program, not for all.
        .env_remove("OARLOCK_OPTIONS")
        // Load nothing but the two files.
        .env("OPENSSL_CONF", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(&reason(&error)))?;
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).map_err(|error| failed(&error.to_string()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().strip_prefix("oarlock: ").unwrap_or(said.trim());
    Err(match said {
        "" => failed(&output.status.to_string()),
        _ => failed(said),
    })
}

/// Loads the two files, as the child, and prints a [`Look`] as JSON.
pub(crate) fn measure(args: &MeasureArgs) -> Result<(), Failure> {
    let section = ProviderSection {
        module: args.module.as_os_str().as_bytes(),
        leaves_choice: false,
        // On the calling thread, since not every program gains by threads.
        options: match args.handshakes {
            true => "max_threads=0",
            false => "offer=all,max_threads=0",
        },
        stats: None,
        calibration: args.file.as_deref().map(|file| file.as_os_str().as_bytes()),
        daemons: None,
        post_quantum: PostQuantum::AsBefore,
    };
    let nobody = UserConf::none();
    let additions = nobody
        .additions(&section)
        .map_err(|untouched| Failure::new(untouched.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| Failure::new(reason(&error)))?;
    let configuration = nobody.write_with(&additions, folder.path())?;
    let failure = |error: oarlock_measure::Error| Failure::new(error.to_string());
    let both = Provided::open_in(&args.library, &configuration).map_err(failure)?;
    let told = |what| both.told_by(c"oarlock", what).map_err(failure);
    let (Some(provider), Some(verdict)) = (told(c"buildinfo")?, told(c"oarlock-calibration")?)
    else {
        let name = args.module.display();
        return Err(Failure::new(format!("it does not load {name}")));
    };
    let (libcrypto, built) = both.version();
    let found = match args.measure {
        true => measuring::measure(&both)?,
        false => Found::default(),
    };
    let trials = match args.handshakes && verdict == super::USED {
        true => handshakes::measure(&both, &args.library)?,
        false => Vec::new(),
    };
    let look = Look {
        made_for: MadeForText {
            provider,
            libcrypto,
            built,
            cpu: MadeFor::cpu(cpu::visible()?),
            ia32cap: std::env::var("OPENSSL_ia32cap").unwrap_or_default(),
        },
        verdict,
        ratios: found.ratios,
        noisy: found.noisy,
        trials,
        made: oarlock_measure::output::today(),
    };
    stdout::write(stdout::json("measure", &look)?)
}

/// The number of processes that measure.
const PROCESSES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn look(ratios: &[(&str, u32)], noisy: &[&str]) -> Look {
        let made_for = MadeForText {
            provider: String::new(),
            libcrypto: String::new(),
            built: String::new(),
            cpu: String::new(),
            ia32cap: String::new(),
        };
        let ratios = ratios
            .iter()
            .map(|(name, ratio)| ((*name).into(), vec![*ratio, 1500]));
        Look {
            made_for,
            verdict: String::new(),
            ratios: ratios.collect(),
            noisy: noisy.iter().map(|name| (*name).into()).collect(),
            trials: Vec::new(),
            made: String::new(),
        }
    }

    #[test]
    fn where_handshakes_lose_no_operation_of_theirs_is_offered() {
        let trial = |thousandths, is_lost| Trial {
            end: "full-server".into(),
            thousandths,
            is_lost,
        };
        let measured = [("aes-128-gcm", 1200), ("x25519", 3000), ("hkdf", 900)];
        for (trials, expected) in [
            (
                vec![trial(1100, false), trial(960, false)],
                [1200, 900, 3000],
            ),
            (vec![trial(940, true), trial(930, true)], [1200, 900, 930]),
            (vec![], [1200, 900, 3000]),
        ] {
            let mut one = look(&measured, &[]);
            one.tried(trials.clone());
            let first: Vec<_> = one.ratios.values().map(|ratios| ratios[0]).collect();
            assert_eq!(first, expected);
            assert_eq!(one.trials, trials);
        }
    }

    #[test]
    fn the_lowest_ratio_of_all_processes_counts() {
        let mut all = look(
            &[("level", 1010), ("lost", 900), ("unknown", 1200)],
            &["hidden"],
        );
        all.lower(look(
            &[("level", 890), ("hidden", 1300)],
            &["lost", "unknown"],
        ));
        let first: Vec<_> = all
            .ratios
            .iter()
            .map(|(name, sizes)| (&**name, sizes[0]))
            .collect();
        assert_eq!(first, [("level", 890), ("lost", 900)]);
        assert_eq!(all.noisy, ["hidden", "unknown"]);
    }
}
