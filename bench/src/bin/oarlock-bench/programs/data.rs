//! Files in memory.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use oarlock_measure::Error;
use rand::{Rng as _, SeedableRng as _};

pub(crate) const TMPFS: &str = "/dev/shm";

/// Writes random bytes, the same for the same length and seed.
pub(crate) fn make(path: &Path, bytes: usize, seed: u64) -> Result<(), Error> {
    let failed = |error| Error::io(path.display())(error);
    let mut random = rand::rngs::SmallRng::seed_from_u64(seed);
    let mut block = vec![0; BLOCK_BYTES.min(bytes)];
    let mut file = File::create(path).map_err(failed)?;
    let mut left = bytes;
    while left > 0 {
        let part = left.min(block.len());
        random.fill_bytes(&mut block[..part]);
        file.write_all(&block[..part]).map_err(failed)?;
        left -= part;
    }
    Ok(())
}

/// Whether two files have the same content. It reads them in blocks, because this program's peak memory counts as that of
/// the programs it starts (see [`crate::system::child::Ended::resident_bytes`]).
pub(crate) fn are_alike(a: &Path, b: &Path) -> Result<bool, Error> {
    let open = |path: &Path| File::open(path).map_err(Error::io(path.display()));
    let (mut of_a, mut of_b) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES]);
    let (mut file_a, mut file_b) = (open(a)?, open(b)?);
    loop {
        let in_a = fill(&mut file_a, &mut of_a).map_err(Error::io(a.display()))?;
        let in_b = fill(&mut file_b, &mut of_b).map_err(Error::io(b.display()))?;
        if of_a[..in_a] != of_b[..in_b] {
            return Ok(false);
        }
        if in_a < BLOCK_BYTES {
            return Ok(true);
        }
    }
}

/// Fails unless memory has room for `bytes` in addition to what the programs need.
pub(super) fn check_room(bytes: u64) -> Result<(), Error> {
    let folder =
        rustix::fs::statvfs(TMPFS).map_err(|error| Error::Failed(format!("{TMPFS}: {error}")))?;
    let meminfo = "/proc/meminfo";
    let text = fs::read_to_string(meminfo).map_err(Error::io(meminfo))?;
    let memory = available(&text).unwrap_or(u64::MAX);
    let free = memory.min(folder.f_bavail * folder.f_frsize);
    let needed = bytes + SPARE_BYTES;
    if needed <= free {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(Error::Unavailable(format!(
        "it takes {:.1} GiB in {TMPFS}, and {:.1} GiB of it and of memory are free: make room, or \
         take --quick, whose files have an eighth of the size",
        gib(needed),
        gib(free)
    )))
}

/// Returns the bytes of the line `MemAvailable: 123 kB`.
fn available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// Reads until `block` is full or the file ends; returns the bytes read.
fn fill(file: &mut File, block: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

const BLOCK_BYTES: usize = 1 << 20;
/// Memory left for the programs, and for others on the machine.
const SPARE_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_alike_to_the_last_byte_and_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let alike = || are_alike(&a, &b).unwrap();
        for bytes in [0, 1, 4096, BLOCK_BYTES, 2 * BLOCK_BYTES + 5] {
            make(&a, bytes, 1).unwrap();
            make(&b, bytes, 1).unwrap();
            assert_eq!(fs::metadata(&a).unwrap().len(), bytes as u64);
            assert!(alike(), "{bytes}");
            let mut file = fs::OpenOptions::new().append(true).open(&b).unwrap();
            file.write_all(&[0]).unwrap();
            assert!(!alike(), "{bytes} and one more");
            if bytes > 0 {
                let mut other = fs::read(&a).unwrap();
                other[bytes - 1] ^= 1;
                fs::write(&b, other).unwrap();
                assert!(!alike(), "{bytes} and another last");
                make(&b, bytes, 2).unwrap();
                assert!(!alike(), "{bytes} of another seed");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        check_room(0).unwrap();
        let error = check_room(1 << 60).unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)));
        assert!(
            error.to_string().contains("takes 1073741825.0 GiB"),
            "{error}"
        );
    }

    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:   24684056 kB\nMemAvailable:   21064 kB\nBuffers:  5 kB\n";
        assert_eq!(available(text), Some(21064 * 1024));
        assert_eq!(available("MemTotal: 5 kB\n"), None);
        assert_eq!(available("MemAvailable: many kB\n"), None);
    }
}
