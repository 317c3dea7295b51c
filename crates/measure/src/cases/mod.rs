//! The measured cases.
//!
//! ```text
//! ciphers.rs  public_key.rs   the cases      tasks.rs  keys and requests of public-key operations
//! glob.rs  size.rs  unit.rs   patterns of names, numbers of bytes, units of figures
//! ```

mod ciphers;
pub mod glob;
mod public_key;
mod size;
mod tasks;
mod unit;

use crate::error::Error;
pub use ciphers::{Algorithm, CASES, Case};
pub use oarlock::Direction;
pub use public_key::{PUBLIC_KEY_CASES, PublicKeyCase, PublicKeyOperation, RsaOperation};
pub use size::Size;
pub use tasks::{ModExpRequest, ModExpTasks, RsaKey, RsaRequest, RsaTasks, Tasks};
pub use unit::Unit;

/// Cases of both kinds.
#[derive(Clone, Debug)]
pub(crate) struct Matching {
    pub(crate) ciphers: Vec<&'static Case>,
    pub(crate) public_key: Vec<&'static PublicKeyCase>,
}

impl Matching {
    pub(crate) fn of_ciphers(cases: &[&'static Case]) -> Self {
        Self {
            ciphers: cases.to_vec(),
            public_key: Vec::new(),
        }
    }

    pub(crate) fn of_public_key(cases: &[&'static PublicKeyCase]) -> Self {
        Self {
            ciphers: Vec::new(),
            public_key: cases.to_vec(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ciphers.is_empty() && self.public_key.is_empty()
    }
}

/// Returns the cases whose names `glob` matches; at least one.
pub(crate) fn matching(glob: &str) -> Result<Matching, Error> {
    let asked = |name| glob::matches(glob, name);
    let public_key = PUBLIC_KEY_CASES.iter();
    let found = Matching {
        ciphers: CASES.iter().filter(|case| asked(case.name)).collect(),
        public_key: public_key.filter(|case| asked(case.name)).collect(),
    };
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "no case matches {glob:?}: there are {}",
            names().collect::<Vec<_>>().join(", ")
        )));
    }
    Ok(found)
}

/// Returns the names of all cases.
fn names() -> impl Iterator<Item = &'static str> {
    let ciphers = CASES.iter().map(|case| case.name);
    ciphers.chain(PUBLIC_KEY_CASES.iter().map(|case| case.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_are_each_there_once() {
        let count = |glob: &str| {
            let found = matching(glob).unwrap();
            (found.ciphers.len(), found.public_key.len())
        };
        for (glob, found) in [
            ("*", (CASES.len(), PUBLIC_KEY_CASES.len())),
            ("aes-128-ctr", (1, 0)),
            ("aes-*-ctr", (3, 0)),
            ("aes-*-gcm*", (4, 0)),
            ("*-open", (3, 0)),
            ("rsa-*-sign", (0, 3)),
            ("modexp-????", (0, 3)),
            ("*1024*", (0, 2)),
        ] {
            assert_eq!(count(glob), found, "{glob}");
        }
        for name in names() {
            let (ciphers, public_key) = count(name);
            assert_eq!(ciphers + public_key, 1, "{name}");
        }
        for glob in ["", "aes-128", "aes-?-ctr", "rsa"] {
            let message = matching(glob).unwrap_err().to_string();
            assert!(message.contains("aes-256-ctr"), "{message}");
            assert!(message.contains("modexp-4096"), "{message}");
        }
    }
}
