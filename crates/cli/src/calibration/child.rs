//! The process that loads a libcrypto and the provider. It is one of its own, since either may be of any version and
//! state, and a process cannot unload them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oarlock::costs::openssl::{MadeFor, Measured, Ratios, SIZES};
use oarlock::{Accelerator, Algorithm, Direction, Kind};
use oarlock_bench::run::provided::{Provided, Request};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, reason};
use crate::openssl_conf::{ProviderSection, UserConf};
use crate::{cpu, options, stdout};

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

    /// Measure, too
    #[arg(long)]
    measure: bool,
}

/// What the child answers.
#[derive(Serialize, Deserialize)]
pub(super) struct Look {
    #[serde(flatten)]
    pub(super) made_for: MadeForText,
    /// What became of the file.
    pub(super) verdict: String,
    /// In thousandths, by operation.
    ratios: BTreeMap<String, [u32; SIZES.len()]>,
    /// The day of the measurement.
    made: String,
}

/// [`MadeFor`] for the way between the processes.
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
    /// What was measured, if anything was.
    pub(super) fn measured(&self) -> Option<Measured> {
        let ratio = |(name, thousandths): (&String, &[u32; SIZES.len()])| {
            Some((
                Algorithm::named(name)?,
                Ratios::from_thousandths(*thousandths)?,
            ))
        };
        (!self.ratios.is_empty()).then(|| Measured {
            made_for: self.made_for.clone().into(),
            made: self.made.clone(),
            ratios: self.ratios.iter().filter_map(ratio).collect(),
        })
    }
}

/// Has a child load the two files, and measure, if it is to.
///
/// # Errors
/// What it says of them.
pub(super) fn look(
    library: &Path,
    module: &Path,
    file: Option<&Path>,
    measure: bool,
) -> Result<Look, Failure> {
    let failed = |why: &str| {
        let name = library.display();
        Failure::new(format!(
            "{name}: Oarlock cannot be measured beside it: {why}"
        ))
    };
    let program = std::env::current_exe().map_err(|error| failed(&reason(&error)))?;
    let mut child = Command::new(program);
    child
        .args(["provider", "measure", "--library"])
        .arg(library);
    child.arg("--module").arg(module);
    if let Some(file) = file {
        child.arg("--file").arg(file);
    }
    if measure {
        child.arg("--measure");
    }
    let output = child
        // What one program is told is not what others get.
        .env_remove("OARLOCK_OPTIONS")
        // Nothing but the two of them.
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

/// The child.
pub(crate) fn measure(args: &MeasureArgs) -> Result<(), Failure> {
    let section = ProviderSection {
        module: args.module.as_os_str().as_bytes(),
        leaves_choice: false,
        // On the calling thread: what threads gain is not for all programs.
        options: "offer=all,max_threads=0",
        stats: None,
        calibration: args.file.as_deref().map(|file| file.as_os_str().as_bytes()),
        daemons: None,
    };
    let nobody = UserConf::none();
    let additions = nobody
        .additions(&section)
        .map_err(|untouched| Failure::new(untouched.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| Failure::new(reason(&error)))?;
    let configuration = nobody.write_with(&additions, folder.path())?;
    let failure = |error: oarlock_bench::Error| Failure::new(error.to_string());
    let both = Provided::open_in(&args.library, &configuration).map_err(failure)?;
    let told = |what| both.told_by(c"oarlock", what).map_err(failure);
    let (Some(provider), Some(verdict)) = (told(c"buildinfo")?, told(c"oarlock-calibration")?)
    else {
        let name = args.module.display();
        return Err(Failure::new(format!("it does not load {name}")));
    };
    let (libcrypto, built) = both.version();
    let look = Look {
        made_for: MadeForText {
            provider,
            libcrypto,
            built,
            cpu: MadeFor::cpu(cpu::visible()?),
            ia32cap: std::env::var("OPENSSL_ia32cap").unwrap_or_default(),
        },
        verdict,
        ratios: match args.measure {
            true => ratios(&both)?,
            false => BTreeMap::new(),
        },
        made: oarlock_bench::output::today(),
    };
    stdout::write(stdout::json("measure", &look)?)
}

/// Of each operation that the library has too.
fn ratios(both: &Provided) -> Result<BTreeMap<String, [u32; SIZES.len()]>, Failure> {
    let accelerator = options::built(Accelerator::builder().max_threads(0))?;
    let all = accelerator.provided("", None);
    let began = Instant::now();
    let mut ratios = BTreeMap::new();
    'operations: for operation in all.iter().map(|one| one.operation) {
        let mut of_one = [u32::MAX; SIZES.len()];
        for (ratio, bytes) in of_one.iter_mut().zip(SIZES) {
            for direction in directions(operation) {
                let request = Request {
                    operation,
                    direction: *direction,
                    bytes,
                };
                // The library lacks it: a build without Camellia, for one.
                let Some(measured) = thousandths(both, &request, began) else {
                    continue 'operations;
                };
                *ratio = measured.min(*ratio);
            }
        }
        ratios.insert(operation.name().into(), of_one);
    }
    Ok(ratios)
}

/// Counter modes and ChaCha20 do the same both ways.
fn directions(operation: Algorithm) -> &'static [Direction] {
    match operation.kind() {
        Kind::Stream { .. } => &[Direction::Encrypt],
        _ => &[Direction::Encrypt, Direction::Decrypt],
    }
}

/// What another program took of the CPU meanwhile may have hit one side alone, so what seems slower is measured again,
/// and the best counts; what is slower by far once more.
fn thousandths(both: &Provided, request: &Request, began: Instant) -> Option<u32> {
    let mut best = 0;
    for look in 0..LOOKS_MAX {
        let is_clear = best >= CLEARLY_LEVEL || look >= 2 && best < CLEARLY_SLOWER;
        if is_clear || look > 0 && began.elapsed() > LOOKS_TIME_MAX {
            break;
        }
        let rates = both.rates_by(request, ROUNDS, SAMPLE).ok()?;
        best = best.max((rates.provided / rates.stock * 1000.0).round() as u32);
    }
    Some(best)
}

/// About 9 ms a look, so that 105 first ones take 1 s.
const ROUNDS: usize = 5;
const SAMPLE: Duration = Duration::from_micros(600);
const LOOKS_MAX: usize = 5;
/// Nobody waits much longer than 2 s, however slow all of it is.
const LOOKS_TIME_MAX: Duration = Duration::from_millis(1400);
const CLEARLY_LEVEL: u32 = 985;
const CLEARLY_SLOWER: u32 = 930;
