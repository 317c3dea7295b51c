//! Programs that sign by a PKCS#11 module: Java's SunPKCS11 in threads, and OpenSSL with the engine of libp11. The module has
//! keys in files, and is compared with SoftHSM in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_measure::Error;
use serde::Deserialize;

use super::host::Home;
use super::sides::{SOFTHSM, turns};
use super::token::{MISSING, PIN, SOFTHSM_MODULE, THREADS, TOKEN, key, softhsm};
use crate::programs::compared::{Compared, Quantity};
use crate::programs::setup::{Setup, named_or_beside};
use crate::system::child::said;
use crate::system::surroundings::on_last_cpu;

/// A program that knows tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Application {
    /// Eight threads.
    Java,
    /// One thread.
    OpenSsl,
}

#[derive(Deserialize)]
struct Report {
    answered: u64,
    seconds: f64,
}

/// A module with a key and its certificate, and what it needs.
struct Store<'a> {
    module: &'a Path,
    pin: &'a str,
    variable: &'a str,
    config: PathBuf,
}

/// Measures signatures on the last CPU.
pub(super) fn measure(
    setup: &Setup,
    home: &Home,
    application: Application,
    is_p256: bool,
) -> Result<Vec<Compared>, Error> {
    let module = named_or_beside(None, "liboarlock_pkcs11.so", MISSING)?;
    let key = key(is_p256);
    let certificate = certify(home, key)?;
    let stores = [
        Store {
            module: &module,
            pin: "",
            variable: "OARLOCK_PKCS11_CONFIG",
            config: files(home)?,
        },
        Store {
            module: SOFTHSM_MODULE.as_ref(),
            pin: PIN,
            variable: "SOFTHSM2_CONF",
            config: softhsm(home, key)?,
        },
    ];
    import(&stores[1], &certificate, key)?;
    let program = match application {
        Application::Java => java(home)?,
        Application::OpenSsl => engine(home)?,
    };
    let seconds = if setup.quick { "1" } else { "3" };
    let sign = |store: &Store<'_>| {
        let mut command = match application {
            Application::Java => {
                let config = home.pki().join("java.cfg");
                let library = store.module.display();
                let text = format!("name = bench\nlibrary = {library}\nslotListIndex = 0\n");
                fs::write(&config, text).map_err(Error::io(config.display()))?;
                let mut java = Command::new("java");
                java.arg("-cp").arg(&program).arg("Sign").arg(&config);
                java.arg(store.pin).arg(&certificate);
                java.arg(THREADS.to_string());
                java
            }
            Application::OpenSsl => {
                let mut sign = Command::new(&program);
                sign.arg(store.module).arg(store.pin);
                sign.arg(format!("pkcs11:object={key};type=private"));
                sign.arg(&certificate);
                sign
            }
        };
        command.arg(seconds).env(store.variable, &store.config);
        let printed = on_last_cpu(|| said(&mut command))?;
        let report: Report = serde_json::from_str(&printed)
            .map_err(|error| Error::Failed(format!("what a program printed: {error}")))?;
        Ok(report.answered as f64 / report.seconds)
    };
    let mut samples = turns(setup.rounds(9, 3), 2, |side| sign(&stores[side]))?.into_iter();
    let mut next = || samples.next().unwrap_or_default();
    Ok(vec![Compared::new(
        Quantity::Operations,
        SOFTHSM,
        next(),
        next(),
    )])
}

/// Puts the key into a directory of its own, with a certificate: Java shows no key without. Returns the certificate.
fn certify(home: &Home, key: &str) -> Result<PathBuf, Error> {
    let folder = home.pki().join("token");
    fs::create_dir_all(&folder).map_err(Error::io(folder.display()))?;
    let from = home.pki().join(format!("keys/{key}.pem"));
    let [pem, certificate] = ["pem", "crt"].map(|end| folder.join(format!("{key}.{end}")));
    fs::copy(&from, &pem).map_err(Error::io(from.display()))?;
    let mut certify = Command::new("openssl");
    certify.args(["req", "-x509", "-days", "2", "-subj", "/CN=bench"]);
    certify.arg("-key").arg(&pem).arg("-out").arg(&certificate);
    said(&mut certify)?;
    Ok(certificate)
}

/// Writes the configuration of the module. Returns its path.
fn files(home: &Home) -> Result<PathBuf, Error> {
    let config = home.pki().join("pkcs11.toml");
    let keys = home.pki().join("token");
    let text = format!("[[token]]\nlabel = \"files\"\nkeys = {keys:?}\n");
    fs::write(&config, text).map_err(Error::io(config.display()))?;
    Ok(config)
}

/// Puts the certificate into the token of SoftHSM.
fn import(softhsm: &Store<'_>, certificate: &Path, key: &str) -> Result<(), Error> {
    let mut import = Command::new("pkcs11-tool");
    import.env(softhsm.variable, &softhsm.config);
    import.arg("--module").arg(softhsm.module);
    import.args(["--token-label", TOKEN, "--login", "--pin", PIN]);
    import.args(["--type", "cert", "--id", "01", "--label", key]);
    said(import.arg("--write-object").arg(certificate)).map(drop)
}

/// Compiles the program for Java. Returns its folder.
fn java(home: &Home) -> Result<PathBuf, Error> {
    let folder = home.pki().join("java");
    let source = folder.join("Sign.java");
    fs::create_dir_all(&folder).map_err(Error::io(folder.display()))?;
    fs::write(&source, JAVA).map_err(Error::io(source.display()))?;
    let mut compile = Command::new("javac");
    compiled(compile.arg("-d").arg(&folder).arg(source), "a JDK")?;
    Ok(folder)
}

/// Compiles the program for OpenSSL. Returns its path.
fn engine(home: &Home) -> Result<PathBuf, Error> {
    let [source, program] = ["sign.c", "sign"].map(|name| home.pki().join(name));
    fs::write(&source, C).map_err(Error::io(source.display()))?;
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-Wno-deprecated-declarations", "-o"]);
    compile.arg(&program).arg(&source).arg("-lcrypto");
    compiled(&mut compile, "a C compiler with libssl-dev")?;
    Ok(program)
}

fn compiled(compile: &mut Command, needed: &str) -> Result<(), Error> {
    said(compile)
        .map(drop)
        .map_err(|error| Error::Unavailable(format!("needs {needed}: {error}")))
}

const JAVA: &str = include_str!("applications/Sign.java");
const C: &str = include_str!("applications/sign.c");
