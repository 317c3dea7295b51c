//! `--openssl`: selects the OpenSSL of this program and of all that it starts.
//!
//! The search paths of the loader and the shell are fixed when a process starts, so this program starts itself again. Then
//! libcrypto, the program `openssl`, every program that is linked with them, and the copies of this program that measure
//! targets use the same release.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use oarlock_measure::Error;
use oarlock_measure::peers::openssl;

use super::fetched;

/// A release series.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpenSsl {
    /// The machine's own
    #[value(name = "3.0")]
    V30,
    /// With long support, built by `cargo xtask peers`
    #[value(name = "3.5")]
    V35,
    /// The newest, built by `cargo xtask peers`
    #[value(name = "4.0")]
    V40,
}

impl OpenSsl {
    const fn series(self) -> &'static str {
        match self {
            Self::V30 => "3.0",
            Self::V35 => "3.5",
            Self::V40 => "4.0",
        }
    }

    /// Restarts this program with that OpenSSL; returns if the process already has it.
    pub(crate) fn choose(self) -> Result<(), Error> {
        let series = self.series();
        if self != Self::V30 {
            let program = fetched::find(&format!("openssl-{series}/bin/openssl"))
                .and_then(|program| program.canonicalize().ok())
                .ok_or_else(|| {
                    Error::Unavailable(format!(
                        "OpenSSL {series} is not built yet: run `cargo xtask peers openssl`"
                    ))
                })?;
            let bin = program.parent().unwrap_or(Path::new("/"));
            let places = [
                ("LD_LIBRARY_PATH", bin.with_file_name("lib")),
                ("PATH", bin.into()),
            ];
            if !places.iter().all(|(name, place)| is_first(name, place)) {
                let mut command = Command::new(env::current_exe().map_err(Error::io("itself"))?);
                command.args(env::args_os().skip(1));
                for (name, place) in places {
                    command.env(name, before(&place, env::var_os(name)));
                }
                return Err(Error::io("this program again")(command.exec()));
            }
        }
        let found = (openssl::PEER.open)(1)?.version();
        if found.starts_with(&format!("OpenSSL {series}.")) {
            Ok(())
        } else {
            Err(Error::Unavailable(format!(
                "the libcrypto found here is {found}, not {series}"
            )))
        }
    }
}

fn is_first(name: &str, place: &Path) -> bool {
    let all = env::var_os(name).unwrap_or_default();
    env::split_paths(&all)
        .next()
        .is_some_and(|first| first == place)
}

fn before(place: &Path, others: Option<OsString>) -> OsString {
    let mut all = place.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_before_others() {
        let before = |others: Option<&str>| before(Path::new("/a/lib"), others.map(Into::into));
        assert_eq!(before(None), "/a/lib");
        // An empty entry would mean the current directory.
        assert_eq!(before(Some("")), "/a/lib");
        assert_eq!(before(Some("/b:/c")), "/a/lib:/b:/c");
    }
}
