//! Reader of NIST's CAVP response files (`.rsp`) and of files in the same form.
//!
//! A file is a list of paragraphs of `NAME = hex` lines under `[ENCRYPT]` or `[DECRYPT]`.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{BlockVector, CtrVector};

/// AES-CTR vectors of pyca/cryptography, after RFC 3686.
///
/// # Errors
/// [`Error`] where the files are not there or hold no vectors.
pub fn aes_ctr() -> Result<Vec<CtrVector>, Error> {
    let mut vectors = Vec::new();
    for bits in [128, 192, 256] {
        read(&format!("CTR/aes-{bits}-ctr.txt"), |file, record| {
            let vector = CtrVector {
                source: format!("{file} {}", record.title),
                key: record.bytes("KEY")?,
                counter_block: record.block("IV")?,
                plaintext: record.bytes("PLAINTEXT")?,
                ciphertext: record.bytes("CIPHERTEXT")?,
            };
            let whole = vector.plaintext.len() == vector.ciphertext.len();
            vectors.push(vector);
            if whole {
                Ok(())
            } else {
                Err("plaintext and ciphertext differ in length".into())
            }
        })?;
    }
    Ok(vectors)
}

/// NIST's known answers of AES: GFSbox, KeySbox, VarKey, VarTxt, and the blocks of the multi-block
/// messages, for all three key sizes, from the encryption and the decryption halves.
///
/// # Errors
/// [`Error`] where the files are not there or hold no vectors.
pub fn aes_blocks() -> Result<Vec<BlockVector>, Error> {
    let mut vectors = Vec::new();
    for set in ["GFSbox", "KeySbox", "VarKey", "VarTxt", "MMT"] {
        for bits in [128, 192, 256] {
            read(&format!("ECB/ECB{set}{bits}.rsp"), |file, record| {
                let key = record.bytes("KEY")?;
                let (plaintext, rest) = record.blocks("PLAINTEXT")?;
                let (ciphertext, more) = record.blocks("CIPHERTEXT")?;
                if plaintext.len() != ciphertext.len() || rest || more {
                    return Err("plaintext and ciphertext are not the same whole blocks".into());
                }
                vectors.extend(plaintext.into_iter().zip(ciphertext).enumerate().map(
                    |(i, (plaintext, ciphertext))| BlockVector {
                        source: format!("{file} {} block {i}", record.title),
                        key: key.clone(),
                        plaintext,
                        ciphertext,
                    },
                ));
                Ok(())
            })?;
        }
    }
    Ok(vectors)
}

/// Why vectors could not be read: one line.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Hands every record of one file to `take`.
fn read(
    name: &str,
    mut take: impl FnMut(&str, &Record<'_>) -> Result<(), String>,
) -> Result<(), Error> {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Error(format!(
            "{}: {error}: run `cargo xtask vectors`",
            path.display()
        ))
    })?;
    let fail = |reason: &str| Error(format!("{}: {reason}", path.display()));
    let records = parse(&text).map_err(|reason| fail(&reason))?;
    if records.is_empty() {
        return Err(fail(
            "it holds no vectors: run `cargo xtask vectors` again after removing it",
        ));
    }
    records.iter().try_for_each(|record| {
        take(name, record).map_err(|reason| fail(&format!("{}: {reason}", record.title)))
    })
}

/// The folder that `cargo xtask vectors` filled.
///
/// A test runs somewhere below the target folder, whatever that is called, also where it is built
/// with flags of its own; examples in the documentation do not, and take the usual place.
fn folder() -> PathBuf {
    const IN_TARGET: &str = "vectors/cryptography_vectors/ciphers/AES";
    let program = std::env::current_exe().unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let configured = std::env::var_os("CARGO_TARGET_DIR").map(|target| root.join(target));
    program
        .ancestors()
        .map(|ancestor| ancestor.join(IN_TARGET))
        .find(|folder| folder.exists())
        .unwrap_or_else(|| {
            configured
                .unwrap_or_else(|| root.join("target"))
                .join(IN_TARGET)
        })
}

/// One paragraph.
struct Record<'a> {
    title: String,
    fields: Vec<(&'a str, &'a str)>,
}

fn parse(text: &str) -> Result<Vec<Record<'_>>, String> {
    let mut section = "";
    let mut records: Vec<Record<'_>> = Vec::new();
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = name;
            continue;
        }
        let unreadable = || format!("line {}: expected `NAME = hex`", number + 1);
        let (name, value) = line.split_once(" = ").ok_or_else(unreadable)?;
        if name == "COUNT" {
            records.push(Record {
                title: format!("{section} {value}"),
                fields: Vec::new(),
            });
        } else {
            records
                .last_mut()
                .ok_or_else(unreadable)?
                .fields
                .push((name, value));
        }
    }
    Ok(records)
}

impl Record<'_> {
    fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        let (_, value) = self
            .fields
            .iter()
            .find(|(field, _)| *field == name)
            .ok_or_else(|| format!("no {name}"))?;
        hex::decode(value).map_err(|error| format!("{name}: {error}"))
    }

    fn block(&self, name: &str) -> Result<[u8; 16], String> {
        self.bytes(name)?
            .try_into()
            .map_err(|_| format!("{name} is not 16 bytes"))
    }

    /// Whole blocks, and whether bytes are left over.
    fn blocks(&self, name: &str) -> Result<(Vec<[u8; 16]>, bool), String> {
        let bytes = self.bytes(name)?;
        let (blocks, rest) = bytes.as_chunks::<16>();
        Ok((blocks.to_vec(), !rest.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_records() {
        let records =
            parse("# x\n[ENCRYPT]\n\nCOUNT = 0\nKEY = 0a\n\n[DECRYPT]\nCOUNT = 7\n").unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].title, "ENCRYPT 0");
        assert_eq!(records[0].bytes("KEY").unwrap(), [10]);
        assert_eq!(records[0].bytes("IV").unwrap_err(), "no IV");
        assert_eq!(records[1].title, "DECRYPT 7");
    }

    #[test]
    fn what_is_not_a_vector_is_an_error() {
        assert!(parse("KEY = 00").is_err());
        assert!(
            parse("COUNT = 0\nnonsense")
                .err()
                .unwrap()
                .starts_with("line 2")
        );
        assert!(
            parse("COUNT = 0\nKEY = 0g").unwrap()[0]
                .bytes("KEY")
                .is_err()
        );
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn a_missing_file_says_what_to_run() {
        let error = read("CTR/none.txt", |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.ends_with("run `cargo xtask vectors`"), "{error}");
    }
}
