//! The compared programs, and their command lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_measure::Error;
use oarlock_measure::cases::Direction;

use crate::programs::setup::{Setup, Side};
use crate::system::fetched;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    /// Our command with its default number of threads.
    Oarlock,
    /// Our command with one thread.
    OneThread,
    Cp,
    Cat,
    Age,
    Rage,
    /// The cipher of most files written by `openssl enc` in a counter mode; not authenticated.
    OpensslAes,
    /// The cipher of age's payload; not authenticated.
    OpensslChaCha,
    /// OpenPGP with AES-256, without compression.
    Gpg,
}

/// The programs that are installed, and what they need.
pub(super) struct Tools {
    oarlock: PathBuf,
    age: Option<PathBuf>,
    rage: Option<PathBuf>,
    has_gpg: bool,
    pub(super) keys: Keys,
}

/// The keys of all programs.
pub(super) struct Keys {
    /// An age identity.
    pub(super) identity: PathBuf,
    pub(super) recipient: String,
    /// A file with a passphrase, and gpg's home directory.
    pub(super) passphrase: PathBuf,
    pub(super) gpg_home: PathBuf,
}

impl Tool {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Oarlock | Self::OneThread => "oarlock",
            Self::Cp => "cp",
            Self::Cat => "cat",
            Self::Age => "age",
            Self::Rage => "rage",
            Self::OpensslAes => "openssl enc -aes-256-ctr",
            Self::OpensslChaCha => "openssl enc -chacha20",
            Self::Gpg => "gpg",
        }
    }
}

impl Tools {
    pub(super) fn find(setup: &Setup, keys: Keys) -> Result<Self, Error> {
        Ok(Self {
            oarlock: setup.oarlock()?,
            age: fetched::find(AGE).and_then(|file| file.canonicalize().ok()),
            rage: fetched::find(RAGE).and_then(|file| file.canonicalize().ok()),
            has_gpg: Command::new("gpg").arg("--version").output().is_ok(),
            keys,
        })
    }

    /// Returns why `tool` cannot take part, if it cannot.
    pub(super) fn lacks(&self, tool: Tool) -> Option<&'static str> {
        match tool {
            Tool::Age if self.age.is_none() => {
                Some("age was not built yet: run `cargo xtask peers`")
            }
            Tool::Rage if self.rage.is_none() => {
                Some("rage was not built yet: run `cargo xtask peers`")
            }
            Tool::Gpg if !self.has_gpg => Some("gpg is not installed: run `cargo xtask peers`"),
            _ => None,
        }
    }

    /// Returns the command of `tool` without arguments.
    pub(super) fn bare(&self, setup: &Setup, tool: Tool) -> Command {
        let mut command = Command::new(match tool {
            Tool::Oarlock | Tool::OneThread => self.oarlock.as_os_str(),
            Tool::Age => self.age.as_deref().unwrap_or(Path::new("age")).as_os_str(),
            Tool::Rage => self
                .rage
                .as_deref()
                .unwrap_or(Path::new("rage"))
                .as_os_str(),
            Tool::Cp => "cp".as_ref(),
            Tool::Cat => "cat".as_ref(),
            Tool::OpensslAes | Tool::OpensslChaCha => "openssl".as_ref(),
            Tool::Gpg => "gpg".as_ref(),
        });
        // Removes environment variables that would change its behaviour.
        setup.dress(&mut command, Side::Stock);
        command
    }

    /// Returns the command of `tool` as a filter from standard input to standard output.
    pub(super) fn filter(&self, setup: &Setup, tool: Tool, direction: Direction) -> Command {
        let keys = &self.keys;
        let mut command = self.bare(setup, tool);
        match (tool, direction) {
            (Tool::Oarlock | Tool::OneThread, Direction::Encrypt) => {
                command.args(["encrypt", "-r", &keys.recipient]);
            }
            (Tool::Oarlock | Tool::OneThread, Direction::Decrypt) => {
                command.args(["decrypt", "-i"]).arg(&keys.identity);
            }
            (Tool::Age | Tool::Rage, Direction::Encrypt) => {
                command.args(["-r", &keys.recipient]);
            }
            (Tool::Age | Tool::Rage, Direction::Decrypt) => {
                command.args(["-d", "-i"]).arg(&keys.identity);
            }
            (Tool::OpensslAes | Tool::OpensslChaCha, _) => {
                let cipher = match tool {
                    Tool::OpensslAes => "-aes-256-ctr",
                    _ => "-chacha20",
                };
                // A raw key: the file is measured, not the key derivation.
                command.args(["enc", cipher, "-K", KEY, "-iv", IV]);
                command.args((direction == Direction::Decrypt).then_some("-d"));
            }
            (Tool::Gpg, _) => {
                command.arg("--homedir").arg(&keys.gpg_home);
                command.args(["--quiet", "--batch", "--pinentry-mode", "loopback"]);
                command.arg("--passphrase-file").arg(&keys.passphrase);
                // The lowest count, for the same reason.
                command.args(["--s2k-count", "1024"]);
                match direction {
                    Direction::Encrypt => {
                        command.args(["--cipher-algo", "AES256", "--compress-algo", "none"]);
                        command.arg("--symmetric");
                    }
                    Direction::Decrypt => {
                        command.arg("--decrypt");
                    }
                }
            }
            (Tool::Cp | Tool::Cat, _) => {}
        }
        command.args(
            (tool == Tool::OneThread)
                .then_some(["-T", "1"])
                .into_iter()
                .flatten(),
        );
        command
    }

    /// Returns the command of `tool` from file to file.
    pub(super) fn command(
        &self,
        setup: &Setup,
        tool: Tool,
        direction: Direction,
        [input, output]: [&Path; 2],
    ) -> Command {
        let mut command = self.filter(setup, tool, direction);
        match tool {
            Tool::Cp | Tool::Cat => command.arg(input).arg(output),
            Tool::OpensslAes | Tool::OpensslChaCha => {
                command.arg("-in").arg(input).arg("-out").arg(output)
            }
            Tool::Oarlock | Tool::OneThread | Tool::Age | Tool::Rage | Tool::Gpg => {
                command.arg("-o").arg(output).arg(input)
            }
        };
        command
    }
}

/// Returns the versions of the installed tools, as they report them.
pub(crate) fn versions(version: &dyn Fn(&str, &[&str]) -> Option<String>) -> Vec<String> {
    let fetched = [("age", AGE), ("rage", RAGE)].into_iter();
    let fetched = fetched.filter_map(|(name, file)| {
        let said = version(fetched::find(file)?.to_str()?, &["--version"])?;
        // `v1.3.2` or `rage 0.12.1`.
        Some(if said.starts_with(name) {
            said
        } else {
            format!("{name} {said}")
        })
    });
    let installed = ["gpg", "cp"].into_iter();
    fetched
        .chain(installed.filter_map(|program| version(program, &["--version"])))
        .collect()
}

pub(crate) const AGE: &str = "age/bin/age";
const RAGE: &str = "rage/bin/rage";
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const IV: &str = "0f1e2d3c4b5a69788796a5b400000000";

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        let keys = Keys {
            identity: "key".into(),
            recipient: "age1abc".to_owned(),
            passphrase: "phrase".into(),
            gpg_home: "home".into(),
        };
        Tools {
            oarlock: "/bin/oarlock".into(),
            age: None,
            rage: Some("/bin/rage".into()),
            has_gpg: true,
            keys,
        }
    }

    fn line(tool: Tool, direction: Direction) -> String {
        let files = [Path::new("in"), Path::new("out")];
        let command = tools().command(&Setup::of_stock(), tool, direction, files);
        let words = [command.get_program()]
            .into_iter()
            .chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn command_lines() {
        for (tool, direction, expected) in [
            (
                Tool::Oarlock,
                Direction::Encrypt,
                "/bin/oarlock encrypt -r age1abc -o out in",
            ),
            (
                Tool::OneThread,
                Direction::Decrypt,
                "/bin/oarlock decrypt -i key -T 1 -o out in",
            ),
            (
                Tool::Rage,
                Direction::Decrypt,
                "/bin/rage -d -i key -o out in",
            ),
            (Tool::Cp, Direction::Decrypt, "cp in out"),
        ] {
            assert_eq!(line(tool, direction), expected);
        }
    }

    #[test]
    fn who_is_not_here_is_named_with_what_to_do() {
        let tools = tools();
        assert!(
            tools
                .lacks(Tool::Age)
                .unwrap()
                .contains("cargo xtask peers")
        );
        for tool in [Tool::Oarlock, Tool::Rage, Tool::Gpg, Tool::Cp] {
            assert_eq!(tools.lacks(tool), None);
        }
    }

    /// openssl and gpg decrypt by these command lines what they encrypt by them.
    #[test]
    fn what_the_machine_has_takes_its_command_lines() {
        let folder = tempfile::tempdir().unwrap();
        let [source, sealed, opened] = ["a", "b", "c"].map(|name| folder.path().join(name));
        std::fs::write(&source, "oar").unwrap();
        let mut tools = tools();
        tools.keys.gpg_home = folder.path().to_owned();
        tools.keys.passphrase = folder.path().join("phrase");
        std::fs::write(&tools.keys.passphrase, "lock").unwrap();
        let has_gpg = Command::new("gpg").arg("--version").output().is_ok();
        let gpg = has_gpg.then_some(Tool::Gpg);
        for tool in [Tool::OpensslAes, Tool::OpensslChaCha]
            .into_iter()
            .chain(gpg)
        {
            let setup = Setup::of_stock();
            for (direction, files) in [
                (Direction::Encrypt, [&*source, &*sealed]),
                (Direction::Decrypt, [&*sealed, &*opened]),
            ] {
                let output = tools
                    .command(&setup, tool, direction, files)
                    .output()
                    .unwrap();
                let error = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{tool:?} {direction:?}: {error}");
            }
            assert_ne!(std::fs::read(&sealed).unwrap(), b"oar", "{tool:?}");
            assert_eq!(std::fs::read(&opened).unwrap(), b"oar", "{tool:?}");
            std::fs::remove_file(&sealed).unwrap();
            std::fs::remove_file(&opened).unwrap();
        }
        if has_gpg {
            let mut kill = Command::new("gpgconf");
            kill.arg("--homedir").arg(folder.path());
            kill.args(["--kill", "gpg-agent"]).output().unwrap();
        }
    }
}
