//! Reader of NIST's CAVP response files (`.rsp`) and of files in nearly the same form.
//!
//! A file is a list of paragraphs of `NAME = hex` lines, each begun by its `COUNT`, under sections
//! such as `[ENCRYPT]` or parameters such as `[Taglen = 128]`. Names are in either case. BoringSSL
//! also has text in quotes for hex; NIST has the line `FAIL` for what must be refused.

use std::path::PathBuf;

use crate::{Error, fetched};

/// Hands every record of one file of ciphers to `take`, with the name of the file and the record.
pub(crate) fn read(
    name: &str,
    take: impl FnMut(String, &Record<'_>) -> Result<(), String>,
) -> Result<(), Error> {
    read_in("ciphers", name, take)
}

/// As [`read`], of a file in any folder.
pub(crate) fn read_in(
    folder: &str,
    name: &str,
    mut take: impl FnMut(String, &Record<'_>) -> Result<(), String>,
) -> Result<(), Error> {
    let (path, text) = open(&format!("{folder}/{name}"))?;
    let fail = |reason: &str| Error(format!("{}: {reason}", path.display()));
    let records = parse(&text).map_err(|reason| fail(&reason))?;
    if records.is_empty() {
        return Err(fail(
            "it holds no vectors: run `cargo xtask vectors` again after removing it",
        ));
    }
    records.iter().try_for_each(|record| {
        take(format!("{name} {}", record.title), record)
            .map_err(|reason| fail(&format!("{}: {reason}", record.title)))
    })
}

/// The path and the text of a file.
pub(crate) fn open(name: &str) -> Result<(PathBuf, String), Error> {
    let path = fetched::folder("vectors/cryptography_vectors").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(fetched::missing(&path, &error)),
    }
}

/// One paragraph.
pub(crate) struct Record<'a> {
    title: String,
    fields: Vec<(&'a str, &'a str)>,
}

impl Record<'_> {
    /// The value of a field that may be absent, as it is written.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        let value = self.text(name).ok_or_else(|| format!("no {name}"))?;
        match value.strip_prefix('"') {
            Some(rest) => rest
                .strip_suffix('"')
                .map(|text| text.as_bytes().to_vec())
                .ok_or_else(|| format!("{name}: a quote is not closed")),
            None => hex::decode(value).map_err(|error| format!("{name}: {error}")),
        }
    }

    pub(crate) fn block(&self, name: &str) -> Result<[u8; 16], String> {
        self.bytes(name)?
            .try_into()
            .map_err(|_| format!("{name} is not 16 bytes"))
    }

    /// Whole blocks, and whether bytes are left over.
    pub(crate) fn blocks(&self, name: &str) -> Result<(Vec<[u8; 16]>, bool), String> {
        let bytes = self.bytes(name)?;
        let (blocks, rest) = bytes.as_chunks::<16>();
        Ok((blocks.to_vec(), !rest.is_empty()))
    }
}

fn parse(text: &str) -> Result<Vec<Record<'_>>, String> {
    let mut sections: Vec<&str> = Vec::new();
    let mut records: Vec<Record<'_>> = Vec::new();
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            // A section takes the place of the one of the same name: all but parameters have none.
            let name = |section: &str| section.split_once('=').map(|(name, _)| name.to_owned());
            sections.retain(|other| name(other) != name(section));
            sections.push(section);
            continue;
        }
        let unreadable = || format!("line {}: expected `NAME = hex`", number + 1);
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim()),
            None if line == "FAIL" => (line, ""),
            None => return Err(unreadable()),
        };
        if name.eq_ignore_ascii_case("COUNT") {
            let title: Vec<&str> = sections.iter().copied().chain([value]).collect();
            records.push(Record {
                title: title.join(" "),
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
    fn parameters_name_the_records_below_them() {
        let text = "[IVlen = 96]\r\n[Taglen = 128]\r\nCount = 0\r\nPT = \r\nFAIL\r\n\
                    [IVlen = 8]\r\n[Taglen = 32]\r\nCount = 0\r\nKEY= \"0a\"\r\n";
        let records = parse(text).unwrap();
        assert_eq!(records[0].title, "IVlen = 96 Taglen = 128 0");
        assert!(records[0].bytes("PT").unwrap().is_empty());
        assert_eq!(records[0].text("FAIL"), Some(""));
        assert_eq!(records[1].title, "IVlen = 8 Taglen = 32 0");
        assert_eq!(records[1].bytes("Key").unwrap(), b"0a");
        assert_eq!(records[1].text("FAIL"), None);
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
        let records = parse("COUNT = 0\nKEY = 0g\nIV = \"0").unwrap();
        assert!(records[0].bytes("KEY").is_err());
        assert!(records[0].bytes("IV").is_err());
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn a_missing_file_says_what_to_run() {
        let error = read("AES/CTR/none.txt", |_, _| Ok(()))
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("run `cargo xtask vectors`"), "{error}");
    }
}
