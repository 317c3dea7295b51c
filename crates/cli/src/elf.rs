//! Programs, and the libraries that they are linked with.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oarlock_programs::elf::{Needed, queries_inside, version_inside};

/// A program and the libraries that the dynamic linker loads with it.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// Names of libraries, each with the library that loads it; that is empty for the program itself.
    pub(crate) libraries: BTreeMap<String, String>,
    /// The files of the libraries, by name.
    files: BTreeMap<String, PathBuf>,
    /// The version that the program itself contains, as in "OpenSSL 3.0.17".
    pub(crate) inside: Option<String>,
    /// Whether it is a Go program.
    pub(crate) is_go: bool,
    /// Texts in the form of a property query that name a provider or FIPS 140: what the program may ask OpenSSL for.
    pub(crate) queries: Vec<String>,
}

impl Linked {
    /// Follows the libraries of the program at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is not a 64-bit ELF file.
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

    /// Returns the first library that is wanted, and the library that loads it.
    pub(crate) fn library(&self, is_wanted: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
        let found = self.libraries.iter().find(|(name, _)| is_wanted(name));
        found.map(|(name, by)| (&name[..], &by[..]))
    }

    /// Returns the file of the library whose name begins with `prefix`.
    pub(crate) fn file(&self, prefix: &str) -> Option<&Path> {
        let (name, _) = self.library(|name| name.starts_with(prefix))?;
        self.files.get(name).map(PathBuf::as_path)
    }
}

/// Finds a program as a shell does.
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

/// Finds a library as ld.so(8) does: in the file's own folders, LD_LIBRARY_PATH, and the cache.
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

/// Returns the dynamic linker's libraries by name. The first of a name is that of this machine's architecture.
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
