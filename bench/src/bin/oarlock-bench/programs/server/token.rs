//! The PKCS#11 module: with keys on a server, compared with the server's own client; and with keys in files, compared with
//! SoftHSM in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_measure::Error;

use super::host::{Home, Host};
use super::load::{ClientLoad, LoadReport, ONE, P256, report};
use super::sides::{CLIENT, SOFTHSM, turns};
use crate::programs::compared::{Compared, Quantity};
use crate::programs::setup::{Setup, named_or_beside};
use crate::system::child::{Running, said};
use crate::system::surroundings::on_last_cpu;

/// Where a token's keys are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Server,
    Files,
}

/// Measures signatures of eight threads.
pub(super) fn measure(
    setup: &Setup,
    home: &Home,
    place: Place,
    is_p256: bool,
) -> Result<Vec<Compared>, Error> {
    let module = named_or_beside(None, "liboarlock_pkcs11.so", MISSING)?;
    let config = home.pki().join("pkcs11.toml");
    let socket = home.pki().join("relay.sock");
    let text = format!(
        "[[token]]\nlabel = \"files\"\nkeys = {:?}\n[[token]]\nlabel = \"remote\"\nrelay = {socket:?}\n",
        home.pki().join("keys"),
    );
    fs::write(&config, text).map_err(Error::io(config.display()))?;
    let signing = Signing {
        home,
        key: key(is_p256),
        is_p256,
        seconds: if setup.quick { 1.0 } else { 3.0 },
    };
    let ours = |token| signing.by(&module, token, None, ("OARLOCK_PKCS11_CONFIG", &config));
    let (vs, samples) = match place {
        Place::Server => {
            let host = home.serve(true, "[[device]]\nkind = \"cpu\"\nworkers = 1\n")?;
            let _relay = relay(home, &host, &socket)?;
            let load = ClientLoad {
                kind: if is_p256 { P256 } else { ONE.kind },
                in_flight: THREADS,
                seconds: signing.seconds,
                compared: Some(COMPARED),
                ..ONE
            };
            let samples = turns(setup.rounds(9, 3), 2, |side| match side {
                0 => ours("remote"),
                _ => home.ask(&[&host], load)?.checked(),
            })?;
            (CLIENT, samples)
        }
        Place::Files => {
            let softhsm = softhsm(home, signing.key)?;
            let softhsm = || {
                signing.by(
                    SOFTHSM_MODULE.as_ref(),
                    TOKEN,
                    Some(PIN),
                    ("SOFTHSM2_CONF", &softhsm),
                )
            };
            let samples = turns(setup.rounds(9, 3), 2, |side| match side {
                0 => ours("files"),
                _ => softhsm(),
            })?;
            (SOFTHSM, samples)
        }
    };
    let [ours, theirs] = [0, 1].map(|side: usize| samples[side].iter().map(LoadReport::per_second));
    Ok(vec![Compared::new(
        Quantity::Operations,
        vs,
        ours.collect(),
        theirs.collect(),
    )])
}

/// Signatures of a key by a module, in a process of its own.
struct Signing<'a> {
    home: &'a Home,
    key: &'a str,
    is_p256: bool,
    seconds: f64,
}

impl Signing<'_> {
    /// Signs on the last CPU with a token of `module`, which finds its configuration by a variable.
    fn by(
        &self,
        module: &Path,
        token: &str,
        pin: Option<&str>,
        (variable, config): (&str, &Path),
    ) -> Result<LoadReport, Error> {
        let mut command = Command::new(&self.home.load);
        command.arg("token").arg("--module").arg(module);
        command.args(["--token", token, "--key", self.key]);
        command.args(pin.map(|pin| format!("--pin={pin}")));
        command.args(self.is_p256.then_some("--p256"));
        command.args(["--threads", &THREADS.to_string()]);
        command.args(["--seconds", &self.seconds.to_string()]);
        command.env(variable, config);
        on_last_cpu(|| report(&mut command))?.checked()
    }
}

/// Starts a relay on the last CPU, and waits until it listens.
fn relay(home: &Home, host: &Host, socket: &Path) -> Result<Running, Error> {
    let mut command = Command::new(&home.oarlock);
    command.args(["relay", "--remote", &host.address, "--pki"]);
    command.arg(home.pki()).arg("--socket").arg(socket);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let running = on_last_cpu(|| Running::start(&mut command))?;
    let began = Instant::now();
    while !socket.exists() {
        if began.elapsed() > START_MAX {
            return Err(Error::Failed("oarlock relay does not listen".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(running)
}

/// Returns the name of a key of this type.
pub(super) fn key(is_p256: bool) -> &'static str {
    if is_p256 { "p256" } else { "key-0" }
}

/// Makes a token of SoftHSM with this key. Returns its configuration.
pub(super) fn softhsm(home: &Home, key: &str) -> Result<PathBuf, Error> {
    if !Path::new(SOFTHSM_MODULE).exists() {
        return Err(Error::Unavailable(
            "no SoftHSM: apt-get install softhsm2".to_owned(),
        ));
    }
    let folder = home.pki().join("softhsm");
    let (config, pkcs8) = (folder.join("softhsm2.conf"), folder.join("key.pem"));
    let tokens = folder.join("tokens");
    fs::create_dir_all(&tokens).map_err(Error::io(tokens.display()))?;
    let text = format!(
        "directories.tokendir = {}\nlog.level = ERROR\n",
        tokens.display()
    );
    fs::write(&config, text).map_err(Error::io(config.display()))?;
    let mut convert = Command::new("openssl");
    convert.args(["pkcs8", "-topk8", "-nocrypt", "-in"]);
    convert.arg(home.pki().join(format!("keys/{key}.pem")));
    said(convert.arg("-out").arg(&pkcs8))?;
    let util = || {
        let mut util = Command::new("softhsm2-util");
        util.env("SOFTHSM2_CONF", &config).args(["--pin", PIN]);
        util
    };
    said(util().args(["--init-token", "--free", "--label", TOKEN, "--so-pin", PIN]))?;
    let mut import = util();
    import.args(["--token", TOKEN, "--label", key, "--id", "01"]);
    said(import.arg("--import").arg(&pkcs8))?;
    Ok(config)
}

pub(super) const THREADS: usize = 8;
/// The number of answers that the server's own client compares. The module's client verifies the same number after the
/// timed window.
const COMPARED: usize = 8 * 64;
pub(super) const TOKEN: &str = "bench";
pub(super) const PIN: &str = "1234";
pub(super) const SOFTHSM_MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
pub(super) const MISSING: &str = "no liboarlock_pkcs11.so next to this program: build it (cargo build --release --package oarlock-pkcs11)";
const START_MAX: Duration = Duration::from_secs(20);
