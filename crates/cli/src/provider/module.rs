//! Whether a file is a module that this machine's OpenSSL can load. OpenSSL itself silently skips one that it cannot load,
//! and a truncated one may end the program that loads it.

use std::fs::File;
use std::io;
use std::path::Path;

use object::elf;
use object::read::ReadCache;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, ReadRef as _};

use crate::failure::reason;
use crate::openssl::{self, Installed};

/// Checks the file at `path`: its header, size, machine and symbol, then a test load in a child.
///
/// # Errors
/// The fault of the file, in a line that names it.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    let name = path.display();
    let told = |what: String| format!("{name}: {what}");
    let unread = |error: io::Error| told(format!("cannot be read: {}", reason(&error)));
    let file = File::open(path).map_err(unread)?;
    let bytes = file.metadata().map_err(unread)?.len();
    of_library(&ReadCache::new(file), bytes).map_err(told)?;
    tried(path).map_err(told)
}

/// Whether the library at `path` is also a configuration module, which leaves the choice of other providers to programs.
pub(crate) fn leaves_choice(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let data = ReadCache::new(file);
    let library = ElfFile64::<Endianness, _>::parse(&data);
    library.is_ok_and(|library| defines(&library, ENTRY_OF_MODULE))
}

fn of_library(data: &ReadCache<File>, bytes: u64) -> Result<(), String> {
    let ident = data.read_bytes_at(0, 5).unwrap_or_default();
    if !ident.starts_with(&elf::ELFMAG) {
        return Err("not a shared library (ELF): build or install the provider again".into());
    }
    if ident[4] != elf::ELFCLASS64 {
        return Err("a 32-bit library: take the provider for this machine".into());
    }
    let cut_off = || format!("truncated: it has only {bytes} bytes: copy it again");
    let header = elf::FileHeader64::<Endianness>::parse(data).map_err(|_| cut_off())?;
    let endian = header.endian().map_err(|_| cut_off())?;
    let made_for = machine(header.e_machine(endian));
    if made_for != std::env::consts::ARCH {
        return Err(format!(
            "made for {made_for}, and this machine is {}: take the provider for this machine",
            std::env::consts::ARCH
        ));
    }
    let segments = header
        .program_headers(endian, data)
        .map_err(|_| cut_off())?;
    let ends = segments.iter().map(|segment| {
        let (from, length) = segment.file_range(endian);
        from.saturating_add(length)
    });
    let sections = u64::from(header.e_shnum(endian)) * u64::from(header.e_shentsize(endian));
    let last = header.e_shoff(endian).saturating_add(sections);
    let whole = ends.fold(last, u64::max);
    if whole > bytes {
        return Err(format!(
            "truncated: it has {bytes} of {whole} bytes: copy it again"
        ));
    }
    let library = ElfFile64::<Endianness, _>::parse(data)
        .map_err(|_| "a damaged library: copy it again".to_owned())?;
    if defines(&library, ENTRY) {
        Ok(())
    } else {
        Err(format!(
            "not an OpenSSL provider: it has no function {ENTRY}"
        ))
    }
}

fn defines<'a>(library: &ElfFile64<'a, Endianness, &'a ReadCache<File>>, function: &str) -> bool {
    let is_it = |name: Result<&str, _>| name.is_ok_and(|name| name == function);
    let mut symbols = library.dynamic_symbols();
    symbols.any(|symbol| symbol.is_definition() && is_it(symbol.name()))
}

/// Has the openssl command load it. Succeeds if there is no command that supports providers.
fn tried(path: &Path) -> Result<(), String> {
    let Err(why) = openssl::loads(path) else {
        return Ok(());
    };
    let version = Installed::find().version().unwrap_or_default();
    if openssl::has_providers(&version) {
        return Err(why);
    }
    Ok(())
}

/// Returns Rust's name of an ELF machine.
fn machine(number: u16) -> String {
    match number {
        elf::EM_X86_64 => "x86_64".into(),
        elf::EM_AARCH64 => "aarch64".into(),
        elf::EM_RISCV => "riscv64".into(),
        elf::EM_PPC64 => "powerpc64".into(),
        elf::EM_S390 => "s390x".into(),
        elf::EM_LOONGARCH => "loongarch64".into(),
        other => format!("another machine (ELF number {other})"),
    }
}

/// The function that OpenSSL calls first (provider-base(7)).
const ENTRY: &str = "OSSL_provider_init";
/// The function that OpenSSL calls in a module that its configuration names (CONF_modules_load(3)).
const ENTRY_OF_MODULE: &str = "OPENSSL_init";
