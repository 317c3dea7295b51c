//! Reads which libraries an ELF file is linked with, and what it contains of OpenSSL.

use object::elf;
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _};
use object::{Endianness, Object as _};

/// The requests of one file to the dynamic linker.
#[derive(Debug)]
pub struct Needed {
    /// The libraries, as DT_NEEDED names them.
    pub names: Vec<String>,
    /// The folders of DT_RPATH and DT_RUNPATH.
    pub folders: Vec<String>,
    /// Whether it is a Go program.
    pub is_go: bool,
}

impl Needed {
    /// Returns what the file with the content `bytes` needs.
    ///
    /// # Errors
    /// A message if it is not a 64-bit ELF file.
    pub fn of(bytes: &[u8]) -> Result<Self, String> {
        let broken = |_: object::Error| "not a 64-bit program (ELF), or a damaged one".to_owned();
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(broken)?;
        let endian = file.endian();
        let mut needed = Self {
            names: Vec::new(),
            folders: Vec::new(),
            is_go: file.section_by_name(".go.buildinfo").is_some(),
        };
        let sections = file.elf_header().sections(endian, bytes).map_err(broken)?;
        let Some((entries, strings)) = sections.dynamic(endian, bytes).map_err(broken)? else {
            return Ok(needed);
        };
        let strings = sections.strings(endian, bytes, strings).map_err(broken)?;
        for entry in entries {
            let tag = entry.d_tag(endian) as u32;
            let list = match tag {
                elf::DT_NEEDED => &mut needed.names,
                elf::DT_RPATH | elf::DT_RUNPATH => &mut needed.folders,
                _ => continue,
            };
            let text = entry.string(endian, strings).map_err(broken)?;
            let text = String::from_utf8_lossy(text).into_owned();
            if tag == elf::DT_NEEDED {
                list.push(text);
            } else {
                list.extend(text.split(':').map(Into::into));
            }
        }
        Ok(needed)
    }
}

/// Returns the property queries that a program may use with OpenSSL: its texts in the form of a query that name a provider
/// or FIPS 140. Texts end with a zero.
pub fn queries_inside(bytes: &[u8]) -> Vec<String> {
    let is_of_query = |byte: &u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"=!?,.-_ ".contains(byte)
    };
    let texts = bytes.split(|byte| *byte == 0);
    let texts = texts.filter(|text| (5..=QUERY_BYTES_MAX).contains(&text.len()));
    let mut queries: Vec<String> = texts
        .filter(|text| text.iter().all(is_of_query))
        .filter_map(|text| std::str::from_utf8(text).ok())
        .filter(|text| text.contains("provider=") || text.contains("fips=yes"))
        .map(Into::into)
        .collect();
    queries.sort_unstable();
    queries.dedup();
    queries
}

const QUERY_BYTES_MAX: usize = 100;

/// Returns the version of an OpenSSL that is part of the file, as in "OpenSSL 3.0.17": OpenSSL contains the string "OpenSSL
/// 3.0.17 1 Jul 2025".
pub fn version_inside(bytes: &[u8]) -> Option<String> {
    let mark = b"OpenSSL ";
    let mut starts = bytes
        .windows(mark.len())
        .enumerate()
        .filter(|(_, window)| window == mark)
        .map(|(at, _)| at + mark.len());
    starts.find_map(|at| {
        let end = bytes[at..].iter().position(|byte| *byte == b' ')?;
        let number = std::str::from_utf8(bytes.get(at..at + end.min(12))?).ok()?;
        let parts: Vec<_> = number.split('.').collect();
        let is_number = parts.len() == 3
            && parts[..2].iter().all(|part| part.parse::<u16>().is_ok())
            && parts[2].starts_with(|first: char| first.is_ascii_digit())
            // The version is shown to the user, so it must be printable.
            && parts[2].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte));
        is_number.then(|| format!("OpenSSL {number}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_from_what_only_begins_so() {
        for (text, version) in [
            (
                &b"\0OpenSSL 3.0.17 1 Jul 2025\0"[..],
                Some("OpenSSL 3.0.17"),
            ),
            (b"OpenSSL 1.1.1w  11 Sep 2023", Some("OpenSSL 1.1.1w")),
            (b"OpenSSL 3.6.0-dev ", Some("OpenSSL 3.6.0-dev")),
            (b"OpenSSL %s OpenSSL 3.5.1 x", Some("OpenSSL 3.5.1")),
            (b"OpenSSL 1.1.1\x1b[2J ", None),
            (b"OpenSSL 1.1.1\0\0w ", None),
            (b"OpenSSL 3.0 ", None),
            (b"OpenSSL 3.0.17", None),
        ] {
            assert_eq!(version_inside(text).as_deref(), version, "{text:?}");
        }
    }
}
