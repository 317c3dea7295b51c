//! Messages for arguments that clap refuses, with what the user may have meant.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};

use clap::Command;
use clap::error::{ContextKind, ErrorKind};

use crate::colours;
use crate::failure::{Failure, has_private_key, shown, without_keys};

/// Returns why `given`, which begins with the program's name, does not fit `root`. The message repeats a superfluous
/// argument only if it is an option, and no argument that is long: it may be a piece of a key.
pub(crate) fn refused(error: &clap::Error, root: &Command, given: &[OsString]) -> Failure {
    let called = Called::find(root, given);
    let what = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let help = colours::on_stderr(&error.render());
            // If stderr is closed, nobody can be told.
            let _ = io::stderr().write_all(format!("{help}\n").as_bytes());
            let name = called.name;
            return Failure::usage(format!(
                "a command is missing: `{name} COMMAND --help` explains one"
            ));
        }
        ErrorKind::InvalidSubcommand => {
            let word = values(error, ContextKind::InvalidSubcommand).join(" ");
            unknown_command(called.command, &word)
        }
        ErrorKind::UnknownArgument => called.unknown_argument(error, given),
        ErrorKind::MissingRequiredArgument => {
            let missing = values(error, ContextKind::InvalidArg);
            let verb = if missing.len() > 1 { "are" } else { "is" };
            format!("{} {verb} required", missing.join(" and "))
        }
        ErrorKind::ArgumentConflict => {
            let one = values(error, ContextKind::InvalidArg).join(", ");
            let others = values(error, ContextKind::PriorArg).join(" or ");
            match others.is_empty() {
                true => format!("{one} is given twice"),
                false => format!("{one} cannot be given with {others}"),
            }
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => invalid_value(error),
        ErrorKind::TooManyValues => {
            let option = values(error, ContextKind::InvalidArg).join(", ");
            format!("{option} takes no value")
        }
        _ => told(error),
    };
    let what = without_keys(&what);
    Failure::usage(format!("{what} (see {} --help)", called.name))
}

/// Returns clap's message, in one line.
fn told(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first: Vec<&str> = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    first.join(" ").trim_start_matches("error: ").to_string()
}

fn invalid_value(error: &clap::Error) -> String {
    let option = values(error, ContextKind::InvalidArg).join(", ");
    let value = shown(&values(error, ContextKind::InvalidValue).join(", "));
    let known = values(error, ContextKind::ValidValue).join(", ");
    if value.is_empty() {
        return match known.is_empty() {
            true => format!("{option} needs a value"),
            false => format!("{option} needs a value: choose {known}"),
        };
    }
    if !known.is_empty() {
        return format!("invalid value '{value}' for {option}: choose {known}");
    }
    // What the parser says, without the value that clap puts in front of it.
    match error.source() {
        Some(why) => {
            let why = why.to_string();
            format!("invalid value '{value}' for {option}: {}", in_words(&why))
        }
        None => format!("invalid value '{value}' for {option}"),
    }
}

/// Rewords messages of Rust's and clap's number parsers, which mention types and ranges of Rust.
fn in_words(why: &str) -> String {
    if let Some((_, range)) = why.split_once(" is not in ")
        && let Some((from, to)) = range.split_once("..")
    {
        let to = match to.strip_prefix('=') {
            Some(last) => last.to_owned(),
            None => format!("below {to}"),
        };
        return format!("give a whole number from {from} to {to}");
    }
    match why {
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too large to fit in target type"
        | "number too small to fit in target type" => "give a whole number".into(),
        other => other.into(),
    }
}

/// Returns that `command` has no subcommand `word`, and which one is nearest.
pub(crate) fn unknown_command(command: &Command, word: &str) -> String {
    let tried = command.clone().try_get_matches_from(["", word]).err();
    let nearest = tried.map(|error| values(&error, ContextKind::SuggestedSubcommand));
    let word = shown(word);
    match nearest.unwrap_or_default().last() {
        Some(nearest) => format!("unknown command {word}: did you mean {nearest}?"),
        None => format!("unknown command {word}"),
    }
}

/// The command that the arguments begin with.
struct Called<'a> {
    /// The full name, as in "oarlock provider install".
    name: String,
    command: &'a Command,
}

impl<'a> Called<'a> {
    fn find(root: &'a Command, given: &[OsString]) -> Self {
        let mut called = Self {
            name: root.get_name().into(),
            command: root,
        };
        for word in given.iter().skip(1) {
            let below = called.command.find_subcommand(word);
            // `help` has no help of its own.
            let Some(below) = below.filter(|it| it.get_name() != "help") else {
                break;
            };
            called.name = format!("{} {}", called.name, below.get_name());
            called.command = below;
        }
        called
    }

    fn unknown_argument(&self, error: &clap::Error, given: &[OsString]) -> String {
        let word = values(error, ContextKind::InvalidArg).join(" ");
        if has_private_key(&word) {
            return "a private key, which is secret, is no argument: give the name of its file"
                .into();
        }
        let option = word.split('=').next().unwrap_or_default();
        if !option.starts_with('-') {
            let mut taken = self.command.get_positionals();
            return match (taken.next(), taken.next()) {
                (None, _) => "too many arguments: it takes only options".into(),
                (Some(one), None) => {
                    let name = one.get_value_names().and_then(|names| names.first());
                    let name = name.map_or("argument", |name| name.as_str());
                    format!("too many arguments: give one {name} and options")
                }
                _ => "too many arguments".into(),
            };
        }
        // clap parses the first letter of "-pass" as an option.
        let is_it = |word: &&OsStr| word.as_encoded_bytes().starts_with(option.as_bytes());
        let whole = given.iter().map(OsString::as_os_str).find(is_it);
        let whole = whole.and_then(OsStr::to_str).unwrap_or(option);
        if let Some(meant) = self.meant_by(whole) {
            return format!("unknown option {whole}: {meant}");
        }
        if let Some(meant) = self.meant_in_age(option) {
            return format!("unknown option {option}: {meant}");
        }
        let option = shown(option);
        match values(error, ContextKind::SuggestedArg).last() {
            Some(other) => format!("unknown option {option}: did you mean {other}?"),
            None => format!("unknown option {option}"),
        }
    }

    /// Returns the name that an option of age's has here.
    fn meant_in_age(&self, option: &str) -> Option<String> {
        let command = self.name.rsplit(' ').next().unwrap_or_default();
        let meant = match (command, option) {
            ("decrypt", "-d" | "--decrypt") | ("encrypt", "-e" | "--encrypt") => {
                "it is always on here: leave it out"
            }
            ("oarlock" | "encrypt", "-d" | "--decrypt") => "`oarlock decrypt` decrypts",
            ("oarlock" | "decrypt", "-e" | "--encrypt") => "`oarlock encrypt` encrypts",
            ("oarlock", "-p" | "--passphrase") => {
                "`oarlock encrypt -p` encrypts with a passphrase, `oarlock decrypt` asks for it"
            }
            ("decrypt", "-p" | "--passphrase") => {
                "a passphrase is asked for without it, or read from --passphrase-file FILE"
            }
            ("oarlock", "-a" | "--armor") => "`oarlock encrypt -a` writes text",
            ("decrypt", "-a" | "--armor") => "text is recognized without it",
            ("oarlock" | "decrypt", "-r" | "--recipient" | "-R" | "--recipients-file") => {
                "`oarlock encrypt` takes recipients"
            }
            ("oarlock", "-i" | "--identity") => "`oarlock decrypt -i FILE` takes identities",
            ("oarlock", "-o" | "--output") => {
                "give it behind `oarlock encrypt` or `oarlock decrypt`"
            }
            _ => return None,
        };
        Some(meant.into())
    }

    /// Returns the name that an option of openssl's, with one dash, has here.
    fn meant_by(&self, word: &str) -> Option<String> {
        let name = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
        let mut longs = self.command.get_arguments().filter_map(|it| it.get_long());
        if longs.any(|long| long == name) {
            return Some(format!("did you mean --{name}?"));
        }
        let mut arguments = self.command.get_arguments();
        let cipher = arguments.find(|it| it.get_long() == Some("cipher"))?;
        let ciphers = cipher.get_possible_values();
        let mut names = ciphers.iter().map(|value| value.get_name());
        if let Some(cipher) = names.find(|it| it.eq_ignore_ascii_case(name)) {
            return Some(format!("did you mean --cipher {cipher}?"));
        }
        Some(match name {
            "in" => "the file to read needs no option".into(),
            "out" => "did you mean -o?".into(),
            "d" => "`oarlock dec` decrypts".into(),
            "e" | "salt" | "pbkdf2" => "it is always on: leave it out".into(),
            _ => return None,
        })
    }
}

/// Returns the values that an error has for `kind`: none, one or several.
fn values(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    use clap::error::ContextValue;
    match error.get(kind) {
        Some(ContextValue::Strings(several)) => several.clone(),
        Some(ContextValue::None) | None => Vec::new(),
        Some(one) => vec![one.to_string()],
    }
}
