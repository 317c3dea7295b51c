//! OpenSSL configurations that load the library under test. The command writes them: `oarlock run` for one program,
//! `oarlock provider install` for a machine. Programs in tests therefore run with a real user's configuration, including
//! live figures (`publish=on`) and the machine's own configuration.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock::Algorithm;
use oarlock::Direction;
use oarlock_engine::costs::openssl::Stored;
use oarlock_engine::costs::{Counted, Usage};
use oarlock_testing::{lossy, until};
use tempfile::TempDir;

use super::{LIBRARY, NO_AES, Program, TEST_OPTIONS, module, oarlock, open_folder, succeeds};

/// The environment of a command under `oarlock run`: a configuration that loads the library under test, and counters of what
/// goes through it. `oarlock run` stays alive with a waiting command as long as this value, so that a test can start
/// programs one by one.
pub struct Accelerated {
    wanted: Wanted,
    folder: TempDir,
    /// The changes that the command finds in its environment, and a test's additions.
    environment: Vec<(OsString, Option<OsString>)>,
    usage: Usage,
    _run: Program,
}

/// The arguments of `oarlock run`.
struct Wanted {
    module: PathBuf,
    options: String,
    offers_all: bool,
    /// The user's own configuration, which replaces the machine's.
    user: Option<PathBuf>,
    post_quantum: bool,
    local: Option<PathBuf>,
    /// Whether programs of other users also count.
    for_all: bool,
    /// The directory of a copy of the library that other users can read.
    _copied: Option<TempDir>,
}

impl Accelerated {
    pub fn new() -> Self {
        Self::with("")
    }

    /// Starts with options of the engine.
    pub fn with(options: &str) -> Self {
        Self::started(Wanted::of(module(), options))
    }

    /// Starts as if AES instructions were missing and every request worth threads.
    pub fn forced(strategy: &str) -> Self {
        let options = format!("strategy={strategy},max_threads=2,cipher_threads=2");
        let mut made = Self::with(&options);
        made.hide(NO_AES);
        made
    }

    /// Starts for programs of any user, with a copy of the library and counters that they can access.
    pub fn for_all(options: &str) -> Self {
        let mut wanted = Wanted::of_copy(options);
        wanted.for_all = true;
        Self::started(wanted)
    }

    /// Starts with `other` in place of the library when programs start.
    pub fn of(other: &Path) -> Self {
        let made = Self::started(Wanted::of_copy(""));
        let place = &made.wanted.module;
        fs::remove_file(place).unwrap();
        if other.is_dir() {
            fs::create_dir(place).unwrap();
        } else if other.exists() {
            fs::copy(other, place).unwrap();
        }
        made
    }

    /// Starts for a user with this configuration.
    pub fn for_user(conf: &Path) -> Self {
        let mut wanted = Wanted::of(module(), "");
        wanted.user = Some(conf.into());
        Self::started(wanted)
    }

    /// Starts with ML-KEM groups of TLS, for a user's configuration or the machine's.
    pub fn post_quantum(conf: Option<&Path>) -> Self {
        let mut wanted = Wanted::of(module(), "");
        wanted.user = conf.map(Path::to_owned);
        wanted.post_quantum = true;
        Self::started(wanted)
    }

    /// Starts with options that the command would refuse.
    pub fn with_wrong(options: &str) -> Self {
        let mut made = Self::new();
        let text = fs::read_to_string(made.conf()).unwrap();
        fs::write(made.conf(), format!("{text}options = \"{options}\"\n")).unwrap();
        let conf = made.conf().into();
        for (name, value) in &mut made.environment {
            if name == "OPENSSL_CONF" {
                *value = Some(conf);
                break;
            }
        }
        made
    }

    /// Hides CPU features, with the syntax of `OARLOCK_CPU`.
    pub fn hide(&mut self, features: &str) {
        let variable = ("OARLOCK_CPU".into(), Some(features.into()));
        self.environment.push(variable);
    }

    /// Makes its processes batch requests with others at this socket.
    pub fn meets_at(&mut self, socket: &Path) {
        self.again(|wanted| wanted.local = Some(socket.into()));
    }

    /// Offers what the calibration or the tables recommend instead of everything.
    pub fn offer_what_gains(&mut self) {
        self.again(|wanted| wanted.offers_all = false);
    }

    fn again(&mut self, change: impl FnOnce(&mut Wanted)) {
        let empty = Wanted::of(PathBuf::new(), "");
        let mut wanted = std::mem::replace(&mut self.wanted, empty);
        change(&mut wanted);
        *self = Self::started(wanted);
    }

    fn started(wanted: Wanted) -> Self {
        let folder = open_folder();
        let place = folder.path();
        // Every process reads it, without effect: `offer=all` takes precedence.
        store_nothing(&place.join(CALIBRATION));
        let told = place.join("environment");
        let mut run = wanted.run();
        run.env("TMPDIR", place)
            .env("OARLOCK_CALIBRATION", place.join(CALIBRATION))
            .env("OARLOCK_CONFIGURATIONS", place.join(CONFIGURATIONS))
            .env_remove("OPENSSL_CONF");
        if let Some(conf) = &wanted.user {
            run.env("OPENSSL_CONF", conf);
        }
        run.args(["sh", "-c", "env -0 >$0.new; mv $0.new $0; exec sleep 1d"]);
        let run = Program::start(run.arg(&told));
        until("oarlock run has started its command", || {
            assert!(run.is_running(), "oarlock run has ended");
            told.exists()
        });
        let environment = changes(&fs::read(told).unwrap());
        let [conf, usage] =
            ["OPENSSL_CONF", "OARLOCK_STATS"].map(|name| told_of(&environment, name));
        if wanted.for_all {
            fs::set_permissions(&usage, Permissions::from_mode(0o666)).unwrap();
        }
        let counting = format!(
            ".include = {}\n[oarlock_sect]\nstats = {}\n",
            conf.display(),
            usage.display()
        );
        fs::write(place.join(COUNTING), counting).unwrap();
        Self {
            usage: Usage::open(&usage).unwrap(),
            _run: run,
            wanted,
            environment,
            folder,
        }
    }

    /// Returns a file that includes the configuration, for programs that only accept a file: they count like others, which
    /// find the counters through the environment.
    pub fn conf(&self) -> PathBuf {
        self.folder.path().join(COUNTING)
    }

    /// Returns all configuration files, including the machine's that they include.
    pub fn files(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join(CONFIGURATIONS);
        let kept = fs::read_dir(folder).unwrap();
        let kept = kept.map(|entry| entry.unwrap().path());
        let own = [self.conf(), system_conf_name(), system_conf()];
        own.into_iter().chain(kept).collect()
    }

    /// Returns the calibration file that the configuration names.
    pub fn calibration(&self) -> PathBuf {
        self.folder.path().join(CALIBRATION)
    }

    /// Sets the environment of `command` for it.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    pub fn counted(&self) -> Counted {
        counted(&self.usage)
    }

    /// Returns the bytes that have gone through an operation.
    pub fn bytes(&self, operation: Algorithm, direction: Direction) -> u64 {
        let lines = self.counted().lines.into_iter();
        lines
            .filter(|line| (line.algorithm, line.direction) == (operation, direction))
            .map(|line| line.bytes)
            .sum()
    }
}

impl Wanted {
    fn of(module: PathBuf, options: &str) -> Self {
        Self {
            module,
            options: options.into(),
            offers_all: true,
            user: None,
            post_quantum: false,
            local: None,
            for_all: false,
            _copied: None,
        }
    }

    fn of_copy(options: &str) -> Self {
        let copied = open_folder();
        let copy = copied.path().join(LIBRARY);
        fs::copy(module(), &copy).unwrap();
        Self {
            _copied: Some(copied),
            ..Self::of(copy, options)
        }
    }

    /// Returns `oarlock run` without its command.
    fn run(&self) -> Command {
        let mut run = oarlock();
        run.args(["run", "--stats", "--provider"]).arg(&self.module);
        let offer = if self.offers_all { "offer=all," } else { "" };
        run.arg(format!("--options={offer}{}", more(&self.options)));
        if let Some(socket) = &self.local {
            run.arg(format!("--local={}", socket.display()));
        }
        if self.post_quantum {
            run.arg("--post-quantum");
        }
        run.arg("--");
        run
    }
}

/// Returns `options` and those that the environment gives to every test, such as `lanes=always`.
fn more(options: &str) -> String {
    let of_all = std::env::var(TEST_OPTIONS).unwrap_or_default();
    let both = [options, &of_all].into_iter().filter(|it| !it.is_empty());
    both.collect::<Vec<_>>().join(",")
}

/// A machine's configuration as installed by `oarlock provider install`, plus counters.
pub struct Machine {
    folder: TempDir,
    usage: Usage,
}

impl Machine {
    /// Creates one with options of the engine.
    pub fn with(options: &str) -> Self {
        let folder = open_folder();
        let path = |name: &str| folder.path().join(name);
        let conf = path("openssl.cnf");
        fs::copy(system_conf(), &conf).unwrap();
        let mut install = oarlock();
        install
            .args(["provider", "install", "--yes", "--no-calibrate"])
            .arg(format!("--options={}", more(options)))
            .arg("--config")
            .arg(&conf)
            .arg("--module-dir")
            .arg(folder.path())
            .arg("--provider")
            .arg(module())
            .env("OARLOCK_CALIBRATION", path(CALIBRATION))
            .env_remove("OPENSSL_CONF");
        succeeds(&mut install);
        let counters = path("usage");
        let usage = Usage::create(&counters).unwrap();
        fs::set_permissions(&counters, Permissions::from_mode(0o666)).unwrap();
        let text = fs::read_to_string(&conf).unwrap();
        let counting = format!("{text}[oarlock_sect]\nstats = {}\n", counters.display());
        fs::write(&conf, counting).unwrap();
        fs::set_permissions(&conf, Permissions::from_mode(0o644)).unwrap();
        Self { folder, usage }
    }

    /// Returns the calibration file that it names, which does not exist yet.
    pub fn calibration(&self) -> PathBuf {
        self.folder.path().join(CALIBRATION)
    }

    /// Returns the configuration's path.
    pub fn conf(&self) -> PathBuf {
        self.folder.path().join("openssl.cnf")
    }

    /// Returns the words before a command on that machine.
    pub fn prefix(&self) -> Vec<String> {
        let script = format!(
            "mount --bind {} {} && exec \"$@\"",
            self.conf().display(),
            system_conf().display()
        );
        ["unshare", "--mount", "sh", "-c", &script, "sh"]
            .map(str::to_owned)
            .to_vec()
    }

    pub fn counted(&self) -> Counted {
        self.usage.read()
    }
}

/// Returns `command` with the configuration, or with none at all.
pub fn with_conf<'a>(command: &'a mut Command, conf: Option<&Accelerated>) -> &'a mut Command {
    match conf {
        Some(accelerated) => accelerated.apply(command),
        None => command.env("OPENSSL_CONF", "/dev/null"),
    }
}

/// Returns the system's configuration file, after resolving links.
fn system_conf() -> PathBuf {
    system_conf_name().canonicalize().unwrap()
}

/// Returns its path as programs name it.
fn system_conf_name() -> PathBuf {
    let said = lossy(&succeeds(Command::new("openssl").args(["version", "-d"])));
    let folder = said.trim().trim_start_matches("OPENSSLDIR: ");
    Path::new(folder.trim_matches('"')).join("openssl.cnf")
}

/// Stores an empty calibration, which programs of every user may read.
fn store_nothing(path: &Path) {
    fs::write(path, Stored::default().to_string()).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
}

/// Returns the differences between `told`, the output of env(1), and this process's environment.
fn changes(told: &[u8]) -> Vec<(OsString, Option<OsString>)> {
    let there: Vec<(OsString, OsString)> = told
        .split(|byte| *byte == 0)
        .filter_map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&entry[..at]), text(&entry[at + 1..])))
        })
        .collect();
    let is_of_a_command = |name: &OsString| !OF_THE_TEST.iter().any(|one| name == one);
    let set = there
        .iter()
        .filter(|(name, value)| std::env::var_os(name).as_ref() != Some(value))
        .map(|(name, value)| (name.clone(), Some(value.clone())));
    let unset = std::env::vars_os()
        .filter(|(name, _)| !there.iter().any(|(one, _)| one == name))
        .map(|(name, _)| (name, None));
    set.chain(unset)
        .filter(|(name, _)| is_of_a_command(name))
        .collect()
}

/// Returns the path in a variable.
fn told_of(environment: &[(OsString, Option<OsString>)], name: &str) -> PathBuf {
    let found = environment.iter().find(|(one, _)| one == name);
    let value = found.and_then(|(_, value)| value.clone());
    let value = value.unwrap_or_else(|| panic!("oarlock run sets no {name}"));
    value.into()
}

/// Returns the counts without this process, which has also opened the counters.
fn counted(usage: &Usage) -> Counted {
    let mut counted = usage.read();
    counted.processes -= 1;
    counted
}

/// Variables that a test sets for `oarlock run`, or a shell for itself.
const OF_THE_TEST: [&str; 9] = [
    "LD_LIBRARY_PATH",
    "OARLOCK_CALIBRATION",
    "OARLOCK_CONFIGURATIONS",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHLVL",
    "TMPDIR",
    "_",
];
const CALIBRATION: &str = "openssl-calibration";
const CONFIGURATIONS: &str = "configurations";
const COUNTING: &str = "openssl.cnf";
