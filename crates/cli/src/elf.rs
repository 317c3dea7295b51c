//! Programs, and what they are linked with.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::elf;
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _};
use object::{Endianness, Object as _};

/// A program and the libraries that the dynamic linker loads with it.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// Names of libraries, and the library that loads each; empty for the program itself.
    pub(crate) libraries: BTreeMap<String, String>,
    /// Where they were found, by name.
    files: BTreeMap<String, PathBuf>,
    /// As in "OpenSSL 3.0.17", where the program itself contains it.
    pub(crate) inside: Option<String>,
    /// Whether it is a Go program.
    pub(crate) is_go: bool,
    /// What it may ask OpenSSL's implementations for: texts in the form of a property query that name a
    /// provider or FIPS 140.
    pub(crate) queries: Vec<String>,
}

impl Linked {
    /// # Errors
    /// Not a 64-bit ELF file.
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| crate::failure::reason(&error))?;
        let first = Needed::of(&bytes)?;
        let mut linked = Self {
            inside: version_inside(&bytes),
            queries: queries_inside(&bytes),
            is_go: first.is_go,
            ..Self::default()
        };
        let cache = linker_cache();
        let mut waiting: Vec<(PathBuf, String, Needed)> = vec![(path.into(), String::new(), first)];
        while let Some((file, by, needed)) = waiting.pop() {
            for name in &needed.names {
                if linked.libraries.contains_key(name) {
                    continue;
                }
                linked.libraries.insert(name.clone(), by.clone());
                let Some(found) = search(name, &file, &needed.folders, &cache) else {
                    continue;
                };
                linked.files.insert(name.clone(), found.clone());
                let read = fs::read(&found).ok();
                if let Some(Ok(more)) = read.map(|bytes| Needed::of(&bytes)) {
                    waiting.push((found, name.clone(), more));
                }
            }
        }
        Ok(linked)
    }

    /// The first library with such a name, and the library that loads it.
    pub(crate) fn library(&self, is_wanted: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
        let found = self.libraries.iter().find(|(name, _)| is_wanted(name));
        found.map(|(name, by)| (&name[..], &by[..]))
    }

    /// The file of the library whose name begins so.
    pub(crate) fn file(&self, prefix: &str) -> Option<&Path> {
        let (name, _) = self.library(|name| name.starts_with(prefix))?;
        self.files.get(name).map(PathBuf::as_path)
    }
}

/// As a shell finds it.
pub(crate) fn which(program: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(is_program)
}

/// What one file asks the dynamic linker for.
#[derive(Debug)]
struct Needed {
    names: Vec<String>,
    /// DT_RPATH and DT_RUNPATH.
    folders: Vec<String>,
    is_go: bool,
}

impl Needed {
    fn of(bytes: &[u8]) -> Result<Self, String> {
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

/// As ld.so(8) looks for it: the file's own folders, LD_LIBRARY_PATH, the cache.
fn search(
    name: &str,
    file: &Path,
    folders: &[String],
    cache: &HashMap<String, PathBuf>,
) -> Option<PathBuf> {
    let origin = file
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
        .to_string();
    let own = folders.iter().map(|folder| {
        folder
            .replace("${ORIGIN}", &origin)
            .replace("$ORIGIN", &origin)
    });
    let of_environment = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let of_environment = of_environment.split(':').filter(|it| !it.is_empty());
    own.chain(of_environment.map(Into::into))
        .map(|folder| Path::new(&folder).join(name))
        .find(|path| path.is_file())
        .or_else(|| cache.get(name).cloned())
}

/// Where the dynamic linker finds libraries, by name; the first of a name is this machine's own.
fn linker_cache() -> HashMap<String, PathBuf> {
    let mut cache = HashMap::new();
    let printed = ["/sbin/ldconfig", "ldconfig"].iter().find_map(|command| {
        let mut command = Command::new(command);
        let output = command.arg("-p").stdin(Stdio::null()).output().ok()?;
        output.status.success().then_some(output.stdout)
    });
    for line in String::from_utf8_lossy(&printed.unwrap_or_default()).lines() {
        // "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1"
        if let Some((name, path)) = line.trim().split_once(" => ")
            && let Some((name, _)) = name.split_once(' ')
        {
            cache.entry(name.into()).or_insert_with(|| path.into());
        }
    }
    cache
}

/// Texts of a program that end with a zero.
fn queries_inside(bytes: &[u8]) -> Vec<String> {
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

/// OpenSSL tells its version in a string: "OpenSSL 3.0.17 1 Jul 2025".
fn version_inside(bytes: &[u8]) -> Option<String> {
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
            && parts[2].starts_with(|first: char| first.is_ascii_digit());
        is_number.then(|| format!("OpenSSL {number}"))
    })
}
