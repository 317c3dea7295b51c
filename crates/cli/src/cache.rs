//! The measurements of `oarlock devices --calibrate`, stored for the other subcommands in one JSON file below the user's
//! cache folder. It is used only by the version and on the CPU that it was made with.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use oarlock::Accelerator;
use oarlock::Algorithm;
use oarlock::device::{Cpu, Feature};
use oarlock_engine::costs::{AlgorithmCost, Calibration, MachineCosts};
use serde::{Deserialize, Serialize};

use crate::cpu;
use crate::failure::{Failure, reason};

/// The file's content.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    #[serde(flatten)]
    made_by: MadeBy,
    pub(crate) machine: Machine,
    pub(crate) operations: Vec<Cost>,
}

/// The version and CPU that the file was made with, and is valid for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct MadeBy {
    version: String,
    cpu: String,
    features: Vec<String>,
    cpus: usize,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) handoff_ns: u64,
    pub(crate) wake_ns: u64,
    pub(crate) other_core_bytes_per_second: u64,
    pub(crate) own_core_bytes_per_second: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) operation: String,
    pub(crate) device: String,
    pub(crate) backend: String,
    pub(crate) setup_ns: u64,
    pub(crate) bytes_per_second: u64,
}

/// The reason why there is no calibration.
#[derive(Debug, PartialEq)]
pub(crate) enum Missing {
    /// This machine was never calibrated, or there is no cache folder.
    Absent,
    /// The file is ignored, for this reason.
    Unfit(String),
}

/// Reads the stored calibration for `cpu`.
pub(crate) fn read(cpu: Cpu) -> Result<Calibration, Missing> {
    read_from(&path().ok_or(Missing::Absent)?, &MadeBy::this(cpu))
}

impl Stored {
    pub(crate) fn new(cpu: Cpu, calibration: &Calibration) -> Self {
        let MachineCosts {
            handoff_ns,
            wake_ns,
            other_core_bytes_per_second,
            own_core_bytes_per_second,
        } = calibration.machine;
        Self {
            made_by: MadeBy::this(cpu),
            machine: Machine {
                handoff_ns,
                wake_ns,
                other_core_bytes_per_second,
                own_core_bytes_per_second,
            },
            operations: calibration
                .algorithms
                .iter()
                .map(|one| Cost {
                    operation: one.algorithm.name().into(),
                    device: one.device.clone(),
                    backend: one.backend.clone(),
                    setup_ns: one.setup_ns,
                    bytes_per_second: one.bytes_per_second,
                })
                .collect(),
        }
    }

    /// Stores it atomically where [`read`] looks, readable for this user alone. Returns its path.
    pub(crate) fn write(&self) -> Result<PathBuf, Failure> {
        let path = path().ok_or_else(|| {
            Failure::new("no place for the calibration: set XDG_CACHE_HOME or HOME to a folder")
        })?;
        self.write_to(&path).map_err(|error| {
            Failure::new(format!(
                "{}: the calibration was not stored: {}",
                path.display(),
                reason(&error)
            ))
        })?;
        Ok(path)
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // It has mode 0600, and is removed unless it is renamed.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        file.write_all(text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    }

    fn calibration(self) -> Result<Calibration, String> {
        let Machine {
            handoff_ns,
            wake_ns,
            other_core_bytes_per_second,
            own_core_bytes_per_second,
        } = self.machine;
        let operations = self.operations.into_iter().map(|one| {
            let algorithm = Algorithm::named(&one.operation)
                .ok_or_else(|| format!("unknown operation {:?}", one.operation))?;
            Ok(AlgorithmCost {
                algorithm,
                device: one.device,
                backend: one.backend,
                setup_ns: one.setup_ns,
                bytes_per_second: one.bytes_per_second,
            })
        });
        Ok(Calibration {
            machine: MachineCosts {
                handoff_ns,
                wake_ns,
                other_core_bytes_per_second,
                own_core_bytes_per_second,
            },
            algorithms: operations.collect::<Result<_, String>>()?,
        })
    }
}

impl MadeBy {
    fn this(cpu: Cpu) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            cpu: cpu::model(),
            features: cpu.features().map(Feature::name).map(Into::into).collect(),
            cpus: cpu::count(),
        }
    }
}

fn read_from(path: &Path, this: &MadeBy) -> Result<Calibration, Missing> {
    let unfit = |why: String| Missing::Unfit(format!("{}: {why}", path.display()));
    // Do not wait for a writer if a pipe has that name.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Missing::Absent),
        Err(error) => return Err(unfit(reason(&error))),
    };
    let mut text = String::new();
    file.take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| unfit(reason(&error)))?;
    let stored: Stored = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        unfit(format!(
            "damaged: line {line}, column {column} is not what was stored"
        ))
    })?;
    if stored.made_by != *this {
        return Err(unfit(
            "made by another version, on another CPU or with other features".into(),
        ));
    }
    let calibration = stored.calibration().map_err(unfit)?;
    // The builder checks the values.
    let tried = Accelerator::builder().max_threads(0);
    tried
        .calibration(calibration.clone())
        .build()
        .map_err(|error| unfit(error.to_string()))?;
    Ok(calibration)
}

fn path() -> Option<PathBuf> {
    Some(folder()?.join("calibration.json"))
}

/// Returns this user's folder for files that Oarlock can create again.
pub(crate) fn folder() -> Option<PathBuf> {
    folder_from(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
}

/// Returns the folder below the cache folder. The XDG Base Directory Specification ignores relative ones.
fn folder_from(cache_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |folder: Option<OsString>| folder.map(PathBuf::from).filter(|it| it.is_absolute());
    let caches = absolute(cache_home).or_else(|| Some(absolute(home)?.join(".cache")))?;
    Some(caches.join("oarlock"))
}

/// About 100 times the size of such a file.
const BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn this() -> MadeBy {
        MadeBy::this(Cpu::detect())
    }

    fn calibration() -> Calibration {
        Calibration {
            machine: MachineCosts {
                handoff_ns: 500,
                wake_ns: 20_000,
                other_core_bytes_per_second: 9_000_000_000,
                own_core_bytes_per_second: 30_000_000_000,
            },
            algorithms: vec![AlgorithmCost {
                algorithm: Algorithm::ChaCha20,
                device: "cpu".into(),
                backend: "portable".into(),
                setup_ns: 12,
                bytes_per_second: 1_000_000,
            }],
        }
    }

    fn stored() -> Stored {
        Stored::new(Cpu::detect(), &calibration())
    }

    fn why(result: Result<Calibration, Missing>) -> String {
        match result {
            Err(Missing::Unfit(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_stored_is_read_again_and_is_the_users_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/calibration.json");
        assert_eq!(read_from(&path, &this()), Err(Missing::Absent));
        // The second file replaces the first.
        for _ in 0..2 {
            stored().write_to(&path).unwrap();
            assert_eq!(read_from(&path, &this()), Ok(calibration()));
        }
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        let within = path.parent().unwrap();
        assert_eq!(mode(within), 0o700);
        assert_eq!(within.read_dir().unwrap().count(), 1, "nothing is left");
    }

    #[test]
    fn a_file_of_another_machine_is_not_gone_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration.json");
        stored().write_to(&path).unwrap();
        let others: [fn(&mut MadeBy); 4] = [
            |it| it.version.push('x'),
            |it| it.cpu.push('x'),
            |it| it.features.push("x".into()),
            |it| it.cpus += 1,
        ];
        for change in others {
            let mut other = this();
            change(&mut other);
            assert!(why(read_from(&path, &other)).contains("another"));
        }
    }

    #[test]
    fn a_damaged_file_is_not_gone_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration.json");
        let mut impossible = stored();
        impossible.machine.wake_ns = 0;
        let mut unknown = stored();
        unknown.operations[0].operation = "rot13".into();
        let whole = serde_json::to_string(&stored()).unwrap();
        for (text, part) in [
            (String::new(), "damaged"),
            ("null".into(), "damaged"),
            (whole[..whole.len() / 2].into(), "damaged"),
            (
                whole.replace("\"wake_ns\":20000", "\"wake_ns\":-1"),
                "damaged",
            ),
            (serde_json::to_string(&impossible).unwrap(), "no machine"),
            (serde_json::to_string(&unknown).unwrap(), "rot13"),
            (" ".repeat(2 << 20) + &whole, "damaged"),
        ] {
            std::fs::write(&path, text).unwrap();
            let why = why(read_from(&path, &this()));
            assert!(
                why.contains(part) && why.contains("calibration.json"),
                "{why}"
            );
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(why(read_from(&path, &this())).contains("directory"));
    }

    #[test]
    fn the_place_is_that_of_the_specification() {
        let path = |cache_home: Option<&str>, home: Option<&str>| {
            folder_from(cache_home.map(Into::into), home.map(Into::into))
                .map(|path| path.display().to_string())
        };
        let in_home = "/home/a/.cache/oarlock";
        for cache_home in [None, Some(""), Some("relative")] {
            assert_eq!(path(cache_home, Some("/home/a")).as_deref(), Some(in_home));
        }
        let in_cache = "/var/b/oarlock";
        assert_eq!(
            path(Some("/var/b"), Some("/home/a")).as_deref(),
            Some(in_cache)
        );
        assert_eq!(path(None, Some("")), None);
        assert_eq!(path(None, None), None);
    }
}
