//! The age community's vectors (C2SP, Community Cryptography Test Vectors): age files, and what
//! must become of each.
//!
//! A vector is a file of its own: lines of `NAME: VALUE`, an empty one, and the age file.

use std::path::Path;

use crate::{Error, fetched};

/// An age file, and what must become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgeVector {
    /// The name of the vector, to be named when it fails.
    pub source: String,
    /// The end that decryption must have.
    pub expect: AgeExpectation,
    /// SHA-256 of all plaintext that may be released; `None` where none may.
    pub payload_sha256: Option<[u8; 32]>,
    /// What it is to be decrypted with, as in a file of identities: `AGE-SECRET-KEY-1...`, or
    /// `AGE-SECRET-KEY-PQ-1...` for the post-quantum recipient.
    pub identities: Vec<String>,
    /// Or what passphrases.
    pub passphrases: Vec<String>,
    /// Whether the file is text (PEM).
    pub is_armored: bool,
    /// The age file.
    pub file: Vec<u8>,
}

impl AgeVector {
    /// Whether one of its identities is of the post-quantum recipient.
    #[must_use]
    pub fn is_hybrid(&self) -> bool {
        let mut identities = self.identities.iter();
        identities.any(|identity| identity.starts_with("AGE-SECRET-KEY-PQ-1"))
    }
}

/// How decryption must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgeExpectation {
    /// With all of the payload.
    Success,
    /// No identity fits.
    NoMatch,
    /// The file key is found, and the header's MAC is not that of it.
    HmacFailure,
    /// The header is malformed.
    HeaderFailure,
    /// The text is malformed.
    ArmorFailure,
    /// A part of the payload is not authentic; what is before it has the hash.
    PayloadFailure,
}

/// All of them, in the order of their names.
///
/// # Errors
/// If a vector is missing or malformed.
pub fn all() -> Result<Vec<AgeVector>, Error> {
    read(&fetched::folder("vectors/cctv-age/testdata"))
}

fn read(folder: &Path) -> Result<Vec<AgeVector>, Error> {
    let missing = |error| fetched::missing(folder, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(missing)? {
        names.push(entry.map_err(missing)?.file_name());
    }
    names.sort();
    if names.is_empty() {
        return Err(Error(format!(
            "{}: it holds no vectors: run `cargo xtask vectors` again after removing it",
            folder.display()
        )));
    }
    let vectors = names.iter().map(|name| {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|error| fetched::missing(&path, &error))?;
        parse(&name.to_string_lossy(), &bytes)
            .map_err(|reason| Error(format!("{}: {reason}", path.display())))
    });
    vectors.collect()
}

fn parse(source: &str, bytes: &[u8]) -> Result<AgeVector, String> {
    let end = bytes.windows(2).position(|two| two == b"\n\n");
    let end = end.ok_or("no empty line ends its header")?;
    let header = std::str::from_utf8(&bytes[..end]).map_err(|error| error.to_string())?;
    let file = &bytes[end + 2..];
    let mut vector = AgeVector {
        source: source.to_owned(),
        expect: AgeExpectation::Success,
        payload_sha256: None,
        identities: Vec::new(),
        passphrases: Vec::new(),
        is_armored: false,
        file: Vec::new(),
    };
    let (mut expect, mut is_compressed) = (None, false);
    for line in header.lines() {
        let (name, value) = line
            .split_once(": ")
            .ok_or_else(|| format!("{line:?}: expected `NAME: VALUE`"))?;
        match (name, value) {
            ("expect", _) => expect = Some(expectation(value)?),
            ("payload", _) => {
                let hash = hex::decode(value).map_err(|error| format!("{name}: {error}"))?;
                let hash = hash.try_into().map_err(|_| "payload: is not 32 bytes")?;
                vector.payload_sha256 = Some(hash);
            }
            ("identity", _) => vector.identities.push(value.to_owned()),
            ("passphrase", _) => vector.passphrases.push(value.to_owned()),
            ("armored", "yes") => vector.is_armored = true,
            ("compressed", "zlib") => is_compressed = true,
            ("file key" | "comment", _) => {}
            _ => return Err(format!("{line:?}: unknown meaning")),
        }
    }
    vector.expect = expect.ok_or("it does not say what to expect")?;
    vector.file = if is_compressed {
        miniz_oxide::inflate::decompress_to_vec_zlib(file).map_err(|error| error.to_string())?
    } else {
        file.to_vec()
    };
    Ok(vector)
}

fn expectation(value: &str) -> Result<AgeExpectation, String> {
    Ok(match value {
        "success" => AgeExpectation::Success,
        "no match" => AgeExpectation::NoMatch,
        "HMAC failure" => AgeExpectation::HmacFailure,
        "header failure" => AgeExpectation::HeaderFailure,
        "armor failure" => AgeExpectation::ArmorFailure,
        "payload failure" => AgeExpectation::PayloadFailure,
        _ => return Err(format!("expect: {value:?}: unknown meaning")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_a_file_become_a_vector() {
        let text = b"expect: payload failure\npayload: 0101010101010101010101010101010101010101\
                     010101010101010101010101\nfile key: 00\nidentity: A\nidentity: AGE-SECRET-KEY-PQ-1B\n\
                     passphrase: a b: c\narmored: yes\ncomment: x\n\nage\n\nfile";
        let vector = parse("x", text).unwrap();
        assert!(vector.is_hybrid());
        assert_eq!(
            vector,
            AgeVector {
                source: "x".into(),
                expect: AgeExpectation::PayloadFailure,
                payload_sha256: Some([1; 32]),
                identities: vec!["A".into(), "AGE-SECRET-KEY-PQ-1B".into()],
                passphrases: vec!["a b: c".into()],
                is_armored: true,
                file: b"age\n\nfile".into(),
            }
        );
    }

    #[test]
    fn files_are_decompressed() {
        let mut text = b"expect: no match\ncompressed: zlib\n\n".to_vec();
        text.extend(miniz_oxide::deflate::compress_to_vec_zlib(&[7; 9999], 6));
        let vector = parse("x", &text).unwrap();
        assert_eq!(vector.expect, AgeExpectation::NoMatch);
        assert!(vector.file == [7; 9999] && !vector.is_hybrid());
    }

    #[test]
    fn what_is_not_a_vector_is_an_error() {
        for (text, part) in [
            ("expect: success\n", "no empty line"),
            ("armored: yes\n\n", "what to expect"),
            ("expect: rain\n\n", "\"rain\""),
            ("expect: success\nsurprise: yes\n\n", "surprise"),
            ("expect: success\narmored: no\n\n", "armored: no"),
            ("expect: success\ncompressed: xz\n\n", "compressed: xz"),
            ("expect: success\nidentity\n\n", "NAME: VALUE"),
            ("expect: success\npayload: 00\n\n", "32 bytes"),
            ("expect: success\ncompressed: zlib\n\nnot so", ""),
        ] {
            let error = parse("x", text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_folder_without_vectors_is_an_error() {
        let missing = read(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(missing.ends_with("run `cargo xtask vectors`"), "{missing}");
        let folder = std::env::temp_dir().join(format!("oarlock-age-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let empty = read(&folder).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(empty.contains("holds no vectors"), "{empty}");
    }
}
