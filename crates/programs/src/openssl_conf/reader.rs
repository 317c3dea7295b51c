//! Parses a configuration as OpenSSL does: crypto/conf/conf_def.c of 3.0, whose grammar config(5) describes in part. It
//! works on bytes, not text, since OpenSSL requires no encoding.
//!
//! NCONF_load(3), in a child that loads the machine's libcrypto, cannot replace it (tried with 3.0.19):
//!
//! ```text
//! no libcrypto    `oarlock run` starts programs that bring a libcrypto of their own, or several, where the command can
//!                 load none. `uninstall` reads its own lines where OpenSSL no longer starts. Neither has a child that
//!                 loads a libcrypto, as calibration does
//! errors          NCONF_load adds the line in an included file to the lines before it, and does not name the file. Our
//!                 messages name the file and its line
//! nested files    NCONF_load opens a file that includes itself until descriptors run out, and then succeeds
//! ```

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt};
use std::path::{Path, PathBuf};

/// A configuration: values by section and name.
#[derive(Default, Debug)]
pub struct Conf {
    sections: HashMap<Vec<u8>, Section>,
    /// Whether its last line leaves `.pragma dollarid:on` in force.
    pub is_dollar_in_names: bool,
}

/// The names and values of a section in OpenSSL's order: a value that replaces an earlier one of the same name moves to the
/// end.
type Section = Vec<(Vec<u8>, Vec<u8>)>;
type Values = [(Vec<u8>, Vec<u8>)];

/// The reason why a configuration cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    file: PathBuf,
    /// The line number, from 1; 0 if the file itself cannot be read.
    line: usize,
    what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, what) = (self.file.display(), &self.what);
        match self.line {
            0 => write!(f, "{file}: {what}"),
            line => write!(f, "{file}:{line}: {what}"),
        }
    }
}

impl Broken {
    /// Returns the error for a file that cannot be read.
    pub fn unread(file: &Path, why: String) -> Self {
        Self {
            file: file.into(),
            line: 0,
            what: why,
        }
    }
}

impl Conf {
    /// Parses `bytes`, the content of `path`, and the files that they include.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Broken> {
        let mut reader = Reader {
            conf: Self::default(),
            section: DEFAULT.to_vec(),
            dollar_in_names: false,
            absolute_only: false,
            include_dir: None,
        };
        reader.conf.open_section(DEFAULT);
        reader.file(path, without_mark(bytes), 0)?;
        reader.conf.is_dollar_in_names = reader.dollar_in_names;
        Ok(reader.conf)
    }

    /// Whether both have the same values, in the same order.
    pub(super) fn has_the_values_of(&self, other: &Self) -> bool {
        self.sections == other.sections && self.is_dollar_in_names == other.is_dollar_in_names
    }

    /// Returns all sections with their names, in no particular order.
    pub fn sections(&self) -> impl Iterator<Item = (&[u8], &Values)> {
        let sections = self.sections.iter();
        sections.map(|(name, values)| (&name[..], &values[..]))
    }

    /// Returns the section of that name.
    pub fn section(&self, name: &[u8]) -> Option<&[(Vec<u8>, Vec<u8>)]> {
        self.sections.get(name).map(Vec::as_slice)
    }

    /// Returns a value of that section, without a fallback to the default section.
    pub fn value(&self, section: &[u8], name: &[u8]) -> Option<&[u8]> {
        let (_, value) = self.section(section)?.iter().find(|(it, _)| it == name)?;
        Some(value)
    }

    /// Returns a variable: from the section, from the environment if the section is called `ENV`, or from the default
    /// section.
    fn variable(&self, section: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        if let Some(value) = self.value(section, name) {
            return Some(value.to_vec());
        }
        let of_environment =
            || std::env::var_os(OsStr::from_bytes(name)).map(OsStringExt::into_vec);
        if section == b"ENV"
            && let Some(value) = of_environment()
        {
            return Some(value);
        }
        self.value(DEFAULT, name).map(<[u8]>::to_vec)
    }

    fn open_section(&mut self, name: &[u8]) -> &mut Section {
        self.sections.entry(name.to_vec()).or_default()
    }

    fn set(&mut self, section: &[u8], name: &[u8], value: Vec<u8>) {
        let section = self.open_section(section);
        section.retain(|(it, _)| it != name);
        section.push((name.to_vec(), value));
    }
}

/// The section of the values before the first section header.
pub(super) const DEFAULT: &[u8] = b"default";

/// The state that OpenSSL keeps from line to line, and from file to file.
struct Reader {
    conf: Conf,
    section: Vec<u8>,
    dollar_in_names: bool,
    absolute_only: bool,
    include_dir: Option<Vec<u8>>,
}

impl Reader {
    fn file(&mut self, path: &Path, bytes: &[u8], depth: usize) -> Result<(), Broken> {
        let mut line = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((number, piece)) = pieces.next() {
            // OpenSSL uses C strings, so a line ends at a zero.
            let end = piece.iter().position(|byte| *byte == 0);
            line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
            while line.last() == Some(&b'\r') {
                line.pop();
            }
            if let [.., last] = &line[..]
                && *last == ESCAPE
                && (line.len() == 1 || line[line.len() - 2] != ESCAPE)
            {
                line.pop();
                if pieces.peek().is_some() {
                    continue;
                }
            }
            self.line(&line, depth).map_err(|error| match error {
                Found::Here(what) => Broken {
                    file: path.into(),
                    line: number + 1,
                    what,
                },
                Found::Included(broken) => broken,
            })?;
            line.clear();
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], depth: usize) -> Result<(), Found> {
        let line = trim(without_comment(line));
        match line.first() {
            None => Ok(()),
            Some(b'[') => self.heading(&line[1..]),
            Some(_) => self.assignment(line, depth),
        }
    }

    fn heading(&mut self, rest: &[u8]) -> Result<(), Found> {
        let mut at = blank(rest);
        let start = at;
        loop {
            let end = at + name(&rest[at..]);
            let next = end + blank(&rest[end..]);
            if rest.get(next) == Some(&b']') {
                self.section = self.expanded(DEFAULT, &rest[start..end])?;
                let section = self.section.clone();
                self.conf.open_section(&section);
                return Ok(());
            }
            if next >= rest.len() || next == at {
                return Err("a section's name without its closing bracket".into());
            }
            at = next;
        }
    }

    fn assignment(&mut self, line: &[u8], depth: usize) -> Result<(), Found> {
        let mut section = self.section.clone();
        let mut key = &line[..name(line)];
        let mut rest = &line[key.len()..];
        if let Some(after) = rest.strip_prefix(b"::") {
            section = key.to_vec();
            key = &after[..name(after)];
            rest = &after[key.len()..];
        }
        let value = trim(rest);
        // OpenSSL checks only the beginning of the name: ".includes = FILE" is a directive, too.
        let order = |word: &[u8]| {
            let is_order = key.starts_with(word) && (key != word || !value.is_empty());
            is_order.then(|| trim(value.strip_prefix(b"=").unwrap_or(value)))
        };
        if let Some(pragma) = order(b".pragma") {
            return self.pragma(pragma);
        }
        if let Some(path) = order(b".include") {
            let path = self.expanded(&section, path)?;
            return self.include(path, depth);
        }
        let Some(value) = value.strip_prefix(b"=") else {
            return Err("neither a section nor a value: an equal sign is missing".into());
        };
        let value = self.expanded(&section, trim(value))?;
        self.conf.set(&section, key, value);
        Ok(())
    }

    fn pragma(&mut self, pragma: &[u8]) -> Result<(), Found> {
        let split = pragma.iter().position(|byte| *byte == b':');
        let Some(split) = split.filter(|at| *at > 0 && at + 1 < pragma.len()) else {
            return Err(".pragma without KEYWORD:VALUE".into());
        };
        let (keyword, value) = (trim(&pragma[..split]), trim(&pragma[split + 1..]));
        let switch = || match value {
            b"on" | b"true" => Ok(true),
            b"off" | b"false" => Ok(false),
            _ => Err(Found::from(".pragma that is neither on nor off")),
        };
        match keyword {
            b"dollarid" => self.dollar_in_names = switch()?,
            b"abspath" => self.absolute_only = switch()?,
            b"includedir" => self.include_dir = Some(value.to_vec()),
            // Like OpenSSL 3.0, ignore the pragmas of later versions.
            _ => {}
        }
        Ok(())
    }

    /// Includes a file, or the files `*.cnf` and `*.conf` of a folder. A missing one is skipped.
    fn include(&mut self, path: Vec<u8>, depth: usize) -> Result<(), Found> {
        let path = PathBuf::from(OsStr::from_bytes(&path));
        let before = std::env::var_os("OPENSSL_CONF_INCLUDE").map(PathBuf::from);
        let of_pragma = self.include_dir.as_deref().map(OsStr::from_bytes);
        let path = match before.or_else(|| of_pragma.map(PathBuf::from)) {
            Some(folder) if path.is_relative() => folder.join(path),
            _ => path,
        };
        if self.absolute_only && path.is_relative() {
            return Err(format!(
                "{} is included by a relative path: give an absolute one",
                path.display()
            )
            .into());
        }
        if depth == INCLUDES_MAX {
            return Err(format!("files include each other more than {INCLUDES_MAX} deep").into());
        }
        let Ok(entries) = std::fs::read_dir(&path) else {
            return self.include_file(&path, depth);
        };
        // The order is that of the folder, as in OpenSSL.
        for entry in entries.flatten() {
            let file = entry.path();
            let is_one = file.extension().is_some_and(|extension| {
                extension.eq_ignore_ascii_case("cnf") || extension.eq_ignore_ascii_case("conf")
            });
            if is_one {
                self.include_file(&file, depth)?;
            }
        }
        Ok(())
    }

    fn include_file(&mut self, path: &Path, depth: usize) -> Result<(), Found> {
        match contents(path) {
            Ok(bytes) => self.file(path, &bytes, depth + 1).map_err(Found::Included),
            Err(_) => Ok(()),
        }
    }

    /// Returns the value without quotes and escapes, with variables expanded.
    fn expanded(&self, section: &[u8], text: &[u8]) -> Result<Vec<u8>, Found> {
        let mut made = Vec::new();
        let mut rest = text;
        while let [first, after @ ..] = rest {
            rest = after;
            match *first {
                quote if QUOTES.contains(&quote) => {
                    while let [byte, after @ ..] = rest {
                        rest = after;
                        match (*byte, after) {
                            (byte, _) if byte == quote => break,
                            (ESCAPE, [escaped, after @ ..]) => {
                                made.push(*escaped);
                                rest = after;
                            }
                            (ESCAPE, []) => {}
                            (byte, _) => made.push(byte),
                        }
                    }
                }
                ESCAPE => {
                    let [escaped, after @ ..] = rest else { break };
                    rest = after;
                    made.push(match escaped {
                        b'r' => b'\r',
                        b'n' => b'\n',
                        b'b' => 8,
                        b't' => b'\t',
                        other => *other,
                    });
                }
                b'$' if !self.dollar_in_names || matches!(rest, [b'{' | b'(', ..]) => {
                    let (value, after) = self.substituted(section, rest)?;
                    made.extend(value);
                    rest = after;
                }
                byte => made.push(byte),
            }
            if made.len() > VALUE_BYTES_MAX {
                return Err(format!("a value of more than {VALUE_BYTES_MAX} bytes").into());
            }
        }
        Ok(made)
    }

    /// Returns the value of the variable that `text` begins with, after the dollar sign, and the rest of the text.
    fn substituted<'a>(
        &self,
        section: &[u8],
        text: &'a [u8],
    ) -> Result<(Vec<u8>, &'a [u8]), Found> {
        let (close, mut rest) = match text {
            [b'{', rest @ ..] => (Some(b'}'), rest),
            [b'(', rest @ ..] => (Some(b')'), rest),
            _ => (None, text),
        };
        let is_word = |byte: &u8| {
            byte.is_ascii_alphanumeric() || *byte == b'_' || (*byte == b'$' && self.dollar_in_names)
        };
        let word = |text: &'a [u8]| {
            let end = text.iter().position(|byte| !is_word(byte));
            text.split_at(end.unwrap_or(text.len()))
        };
        let mut of = section;
        let (mut name, after_name) = word(rest);
        rest = after_name;
        if let Some(after) = rest.strip_prefix(b"::") {
            of = name;
            (name, rest) = word(after);
        }
        if let Some(close) = close {
            rest = rest
                .strip_prefix(&[close])
                .ok_or("a variable's name without its closing brace")?;
        }
        let value = self.conf.variable(of, name).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            format!("the variable {name} has no value")
        })?;
        Ok((value, rest))
    }
}

/// An error in this file or in one that it includes.
enum Found {
    Here(String),
    Included(Broken),
}

impl From<String> for Found {
    fn from(what: String) -> Self {
        Self::Here(what)
    }
}

impl From<&str> for Found {
    fn from(what: &str) -> Self {
        Self::Here(what.into())
    }
}

/// Returns `bytes` without the byte order mark that OpenSSL skips at the start of a configuration, but not of an included
/// file.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Returns the content of the file at `path`.
pub fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!(
            "longer than {FILE_BYTES_MAX} bytes: no configuration"
        )));
    }
    Ok(bytes)
}

/// Cuts off a comment, which begins with a number sign that is neither quoted nor escaped.
fn without_comment(line: &[u8]) -> &[u8] {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, byte) in line.iter().enumerate() {
        match (*byte, quote) {
            _ if is_escaped => is_escaped = false,
            (ESCAPE, _) => is_escaped = true,
            (byte, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            (b'#', None) => return &line[..at],
            (byte, None) if QUOTES.contains(&byte) => quote = Some(byte),
            _ => {}
        }
    }
    line
}

/// Returns the length of the name that `text` begins with.
fn name(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match *byte {
            ESCAPE => at = (at + 2).min(text.len()),
            byte if is_name(byte) => at += 1,
            _ => break,
        }
    }
    at
}

/// Whether a name may contain `byte` without an escape.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_!.%&*+,/;?@^~|-".contains(&byte)
}

/// Returns the number of white-space bytes that `text` begins with.
fn blank(text: &[u8]) -> usize {
    text.len() - text.trim_ascii_start().len()
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

const ESCAPE: u8 = b'\\';
const QUOTES: &[u8] = b"\"'`";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The limit of OpenSSL itself.
const VALUE_BYTES_MAX: usize = 65536;
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The most nested includes. OpenSSL has no such limit; it runs out of descriptors.
const INCLUDES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn parsed(text: &str) -> Result<Conf, String> {
        let parsed = Conf::parse(Path::new("a.cnf"), text.as_bytes());
        parsed.map_err(|broken| broken.to_string())
    }

    /// Checks a value in both OpenSSL and this reader.
    #[track_caller]
    fn assert_value(text: &str, section: &str, name: &str, value: &str) {
        let conf = parsed(text).unwrap();
        let found = conf.value(section.as_bytes(), name.as_bytes());
        let found = found.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert_eq!(found.as_deref(), Some(value), "{text}");

        // This command shows a value of the default section.
        let text = format!("{text}\n\n[default]\nasn1 = UTF8:<${{{section}::{name}}}>\n");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.cnf");
        std::fs::write(&file, &text).unwrap();
        let mut openssl = Command::new("openssl");
        let output = openssl.args(["asn1parse", "-genconf"]).arg(&file).output();
        let output = output.unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(&format!(":<{value}>")), "{text}: {shown}");
    }

    #[test]
    fn values_are_those_of_openssl() {
        for (text, value) in [
            ("a=1", "1"),
            ("  a\t=  1 2  ", "1 2"),
            ("a=1#2", "1"),
            ("a=1\\#2", "1#2"),
            ("a=\"1#2\" # 3", "1#2"),
            ("a='1\\'2' ", "1'2"),
            ("a=`1 `", "1 "),
            ("a=1\\\n2", "12"),
            ("a=1\\\\\n#2", "1\\"),
            ("a=1\\", "1"),
            ("a=\\n\\t\\q", "\n\tq"),
            ("a=1\r\nb=2\r\n", "1"),
            ("a=1\na=2", "2"),
            ("\u{feff}a=1", "1"),
            ("b=x\na=$b/${b}y$(b)", "x/xyx"),
            ("[s]\nb=x\n[default]\na=${s::b}$s::b", "xx"),
            ("b=x\n[s]\ndefault::a=$b", "x"),
            ("a=$ENV::CARGO_PKG_NAME", "oarlock-programs"),
            (".pragma dollarid:on\nb=x\na=$b${b}", "$bx"),
            (".pragma = unknown:thing\na=1", "1"),
            (".include = /nonexistent\na=1", "1"),
            (".includes /nonexistent\na=1", "1"),
            (".pragmatic = dollarid:on\nb=x\na=$b", "$b"),
            ("a=", ""),
        ] {
            assert_value(text, "default", "a", value);
        }
        assert_value("[ s ]\na=1\n[t]\na=2\n[s]\nb=3", "s", "a", "1");
        assert_value("x=1\n[s]\na=$x", "s", "a", "1");
    }

    #[test]
    fn the_order_is_that_of_the_last_values() {
        let conf = parsed("[s]\na=1\nb=2\na=3").unwrap();
        let names: Vec<_> = conf
            .section(b"s")
            .unwrap()
            .iter()
            .map(|it| &it.0[..])
            .collect();
        assert_eq!(names, [b"b", b"a"]);
    }

    #[test]
    fn what_is_broken_is_said_with_its_line() {
        for (text, said) in [
            ("a=1\nb", "a.cnf:2: neither"),
            ("[s\na=1", "a.cnf:1: a section's name"),
            ("a=\\\n$b", "a.cnf:2: the variable b"),
            ("b=1\na=${b", "a.cnf:2: a variable's name"),
            (".pragma dollarid", "a.cnf:1: .pragma"),
            ("a=1\n\u{feff}b=2", "a.cnf:2: neither"),
            (".pragma dollarid:maybe", "a.cnf:1: .pragma"),
            (".pragma abspath:on\n.include x", "a.cnf:2: x is included"),
        ] {
            let broken = parsed(text).unwrap_err();
            assert!(broken.starts_with(said), "{text:?}: {broken}");
        }
    }

    #[test]
    fn what_is_included_goes_on_where_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        file("one.cnf", "b=1\n[t]\nc=2");
        file("passed.over", "b=9");
        file("two.CONF", "[u]\nd=3");
        let text = format!(
            "[s]\n.include {}\ne=4",
            folder.path().join("one.cnf").display()
        );
        assert_value(&text, "s", "b", "1");
        assert_value(&text, "t", "e", "4");
        let text = format!("a=0\n.include {}", folder.path().display());
        assert_value(&text, "u", "d", "3");
        assert_value(&text, "default", "a", "0");
        let path = folder.path().join("itself.cnf");
        file("itself.cnf", &format!(".include {}", path.display()));
        let broken = Conf::parse(&path, &contents(&path).unwrap());
        let broken = broken.unwrap_err().to_string();
        assert!(broken.contains("more than 32 deep"), "{broken}");
    }
}
