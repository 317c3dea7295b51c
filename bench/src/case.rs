//! What is measured. A new algorithm adds its lines to [`CASES`] and, where needed, an [`Operation`].

use crate::Error;

/// One line of the benchmark.
#[derive(Debug)]
pub struct Case {
    /// As on the command line and in records.
    pub name: &'static str,
    /// What its figures count.
    pub unit: Unit,
    /// What a subject has to do.
    pub operation: Operation,
}

/// What figures count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 10^9 bytes of input a second.
    GigabytesPerSecond,
}

impl Unit {
    /// As in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GigabytesPerSecond => "GB/s",
        }
    }
}

/// What a subject has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// AES in counter mode, in place.
    AesCtr {
        /// 16, 24 or 32.
        key_bytes: usize,
    },
}

impl Operation {
    /// Bytes of key that it takes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::AesCtr { key_bytes } => key_bytes,
        }
    }
}

/// Every case, in the order in which they are measured.
pub const CASES: &[Case] = &[
    aes_ctr("aes-128-ctr", 16),
    aes_ctr("aes-192-ctr", 24),
    aes_ctr("aes-256-ctr", 32),
];

const fn aes_ctr(name: &'static str, key_bytes: usize) -> Case {
    Case {
        name,
        unit: Unit::GigabytesPerSecond,
        operation: Operation::AesCtr { key_bytes },
    }
}

/// The cases whose names `glob` matches: `*` is any run of characters, `?` any one.
pub(crate) fn matching(glob: &str) -> Result<Vec<&'static Case>, Error> {
    let cases: Vec<_> = CASES
        .iter()
        .filter(|case| matches(glob.as_bytes(), case.name.as_bytes()))
        .collect();
    if cases.is_empty() {
        let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        return Err(Error::Usage(format!(
            "no case matches {glob:?}: there are {}",
            names.join(", ")
        )));
    }
    Ok(cases)
}

fn matches(glob: &[u8], name: &[u8]) -> bool {
    match (glob.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches(rest, name)
                || name
                    .split_first()
                    .is_some_and(|(_, tail)| matches(glob, tail))
        }
        (Some((b'?', rest)), Some((_, tail))) => matches(rest, tail),
        (Some((wanted, rest)), Some((found, tail))) => wanted == found && matches(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (glob, found) in [
            ("*", 3),
            ("aes-128-ctr", 1),
            ("aes-*-ctr", 3),
            ("aes-1??-ctr", 2),
            ("*192*", 1),
        ] {
            assert_eq!(matching(glob).unwrap().len(), found, "{glob}");
        }
        for glob in ["", "aes-128", "aes-?-ctr", "rsa*"] {
            let message = matching(glob).unwrap_err().to_string();
            assert!(message.contains("aes-256-ctr"), "{message}");
        }
    }
}
