//! The configuration file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use oarlock_threads::process;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// What the file says.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(default, rename = "token")]
    pub(crate) tokens: Vec<TokenConfig>,
}

/// A token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenConfig {
    pub(crate) label: String,
    /// A directory of keys and certificates.
    pub(crate) keys: Option<PathBuf>,
    /// The socket of `oarlock relay`.
    pub(crate) relay: Option<PathBuf>,
    /// A directory of certificates, for keys of a relay.
    pub(crate) certificates: Option<PathBuf>,
    #[serde(default, deserialize_with = "secret")]
    pub(crate) pin: Option<Zeroizing<String>>,
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Zeroizing<String>>, D::Error> {
    String::deserialize(from).map(|text| Some(Zeroizing::new(text)))
}

/// Reads the configuration of this process. Without a file there are no tokens.
pub(crate) fn read() -> Result<Config, String> {
    let Some((path, text)) = file()? else {
        return Ok(Config::default());
    };
    let fail = |what: String| format!("{}: {what}", path.display());
    let config: Config = toml::from_str(&text).map_err(|error| {
        let line = error
            .span()
            .map(|span| 1 + text[..span.start].matches('\n').count());
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        fail(format!("{line}{}", error.message()))
    })?;
    check(&config).map_err(fail)?;
    Ok(config)
}

/// The path of [`functions_with`](crate::functions_with).
pub(crate) static GIVEN: OnceLock<PathBuf> = OnceLock::new();

/// Returns the first file there is, with its text. The file that a variable names has to be there.
fn file() -> Result<Option<(PathBuf, Zeroizing<String>)>, String> {
    let of_variable = || process::environment("OARLOCK_PKCS11_CONFIG").map(PathBuf::from);
    if let Some(path) = GIVEN.get().cloned().or_else(of_variable) {
        return match text_of(&path)? {
            Some(text) => Ok(Some((path, text))),
            None => Err(format!(
                "{}: there is no such file: OARLOCK_PKCS11_CONFIG names the configuration",
                path.display()
            )),
        };
    }
    let of_user = process::environment("XDG_CONFIG_HOME")
        .filter(|path| Path::new(path).is_absolute())
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&process::environment("HOME")?).join(".config")));
    let of_user = of_user.map(|folder| folder.join("oarlock/pkcs11.toml"));
    for path in of_user
        .into_iter()
        .chain([PathBuf::from("/etc/oarlock/pkcs11.toml")])
    {
        if let Some(text) = text_of(&path)? {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
}

fn text_of(path: &Path) -> Result<Option<Zeroizing<String>>, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    let mut text = Zeroizing::new(String::with_capacity(4096));
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(fail)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!(
            "{}: it has more than {FILE_BYTES_MAX} bytes, the most that a configuration may have",
            path.display()
        ));
    }
    Ok(Some(text))
}

/// Finds faults that types cannot show.
fn check(config: &Config) -> Result<(), String> {
    if config.tokens.len() > TOKENS_MAX {
        return Err(format!(
            "{} tokens: there can be at most {TOKENS_MAX}",
            config.tokens.len()
        ));
    }
    for (place, token) in config.tokens.iter().enumerate() {
        let label = &token.label;
        let fail = |what: &str| Err(format!("token {label:?}: {what}"));
        if label.is_empty() || label.len() > LABEL_BYTES_MAX || label.chars().any(char::is_control)
        {
            return fail("a label has 1 to 32 bytes, none of which is a control character");
        }
        if config.tokens[..place]
            .iter()
            .any(|other| other.label == *label)
        {
            return fail("another token has this label: programs could not tell them apart");
        }
        match (&token.keys, &token.relay) {
            (Some(_), None) if token.certificates.is_some() => {
                return fail(
                    "`certificates` is for keys of a relay: put certificates into the directory `keys`",
                );
            }
            (Some(_), None) | (None, Some(_)) => {}
            (Some(_), Some(_)) => {
                return fail("give either `keys` or `relay`: these are two tokens");
            }
            (None, None) => return fail("give `keys`, a directory, or `relay`, a socket"),
        }
        let paths = [&token.keys, &token.relay, &token.certificates];
        if let Some(path) = paths.into_iter().flatten().find(|path| !path.is_absolute()) {
            return fail(&format!(
                "{}: give an absolute path, since programs run in any directory",
                path.display()
            ));
        }
        if let Some(pin) = &token.pin
            && !(1..=PIN_BYTES_MAX).contains(&pin.len())
        {
            return fail("a PIN has 1 to 255 bytes");
        }
    }
    Ok(())
}

const FILE_BYTES_MAX: u64 = 1 << 20;
const TOKENS_MAX: usize = 256;
const LABEL_BYTES_MAX: usize = 32;
pub(crate) const PIN_BYTES_MAX: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        match toml::from_str::<Config>(text) {
            Ok(config) => check(&config).unwrap_err(),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn faults_are_named() {
        for (text, said) in [
            ("[[token]]\nlabel = \"a\"", "give `keys`"),
            (
                "[[token]]\nlabel = \"a\"\nkeys = \"/a\"\nrelay = \"/b\"",
                "two tokens",
            ),
            ("[[token]]\nlabel = \"a\"\nkeys = \"a\"", "absolute"),
            ("[[token]]\nlabel = \"\"\nkeys = \"/a\"", "a label has"),
            (
                "[[token]]\nlabel = \"a\"\nkeys = \"/a\"\npin = \"\"",
                "a PIN has",
            ),
            (
                "[[token]]\nlabel = \"a\"\nkeys = \"/a\"\ncertificates = \"/b\"",
                "`certificates` is",
            ),
            (
                "[[token]]\nlabel = \"a\"\nrelais = \"/a\"",
                "unknown field `relais`",
            ),
            ("[[tokens]]\nlabel = \"a\"", "unknown field `tokens`"),
            ("[[token]]\nkeys = \"/a\"", "missing field `label`"),
            (
                "[[token]]\nlabel = \"a\"\nkeys = \"/a\"\n[[token]]\nlabel = \"a\"\nkeys = \"/b\"",
                "another token has this label",
            ),
        ] {
            let fault = fault(text);
            assert!(fault.contains(said), "{text}: {fault}");
        }
        let right = "[[token]]\nlabel = \"a\"\nkeys = \"/a\"\n[[token]]\nlabel = \"b\"\nrelay = \"/b\"\ncertificates = \"/c\"\npin = \"1\"";
        assert_eq!(check(&toml::from_str(right).unwrap()), Ok(()));
    }
}
