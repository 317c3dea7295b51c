//! The lock that keeps other servers out of the managed directory while one changes keys there.
//!
//! It is on a file of its own. Every user who may read a directory can lock it, and some network file systems lock only what is open
//! for writing.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use tonic::Code;

use super::super::dispatch::Refusal;
use super::change::{late, precondition, unwritten};

/// Keeps other servers from changing the directory until the file is dropped.
///
/// # Errors
/// The refusal that the client receives: another server holds the lock for long or until the deadline, or there is none.
pub(super) fn lock(folder: &Path, deadline: Instant) -> Result<File, Refusal> {
    let mut last = None;
    for _ in 0..LOCK_TRIES {
        match try_lock(folder, |file| {
            flock(file, FlockOperation::NonBlockingLockExclusive)
        }) {
            Ok(Some(file)) => return Ok(file),
            Ok(None) => last = None,
            // Another server has made the file, and gives it its mode next.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => last = Some(error),
            Err(error) => return Err(failed(folder, &error)),
        }
        if Instant::now() >= deadline {
            return Err(late());
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Err(match last {
        Some(error) => failed(folder, &error),
        None => Refusal::new(
            Code::Unavailable,
            "another server changes keys in the managed directory: try again",
        ),
    })
}

/// Returns the locked file; `None` if another server has it.
fn try_lock(folder: &Path, take: impl Fn(&File) -> Result<(), Errno>) -> io::Result<Option<File>> {
    let path = folder.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    options
        .write(true)
        .mode(OWNER)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = match options.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match options.create_new(true).open(&path) {
                Ok(file) => {
                    share(folder, &file)?;
                    file
                }
                // Another server was first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        opened => opened?,
    };
    match take(&file) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
        Err(error) => {
            let what = format!("{}: cannot be locked: {error}", path.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
    }
    // Someone may have removed it, or put another one in its place.
    let held = file.metadata()?;
    let named = fs::symlink_metadata(&path).ok();
    let is_named =
        named.is_some_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino()));
    Ok(is_named.then_some(file))
}

/// Lets the group of the directory lock it too, if it may change keys there.
fn share(folder: &Path, file: &File) -> io::Result<()> {
    let folder = fs::metadata(folder)?;
    if folder.mode() & GROUP_WRITES == 0 {
        return Ok(());
    }
    // A server that is not of that group keeps the file to its own.
    let _ = fchown(file, None, Some(folder.gid()));
    match file.metadata()?.gid() == folder.gid() {
        true => file.set_permissions(Permissions::from_mode(OWNER | OWNER >> 3)),
        false => Ok(()),
    }
}

fn failed(folder: &Path, error: &io::Error) -> Refusal {
    tracing::error!(
        "{}: keys cannot be changed: {LOCK_FILE}: {error}",
        folder.display()
    );
    match error.kind() {
        io::ErrorKind::Unsupported => precondition(
            format!(
                "the server cannot lock {LOCK_FILE} in its managed directory, so nothing has changed: see its log, and use \
                 a file system with locks"
            ),
            "the managed directory cannot be locked",
        ),
        _ => unwritten(error),
    }
}

/// The name of the locked file in the directory. It stays there, empty.
const LOCK_FILE: &str = ".oarlock-lock";
const OWNER: u32 = 0o600;
const GROUP_WRITES: u32 = 0o020;
/// For a second in all.
const LOCK_TRIES: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_directory_without_locks_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let none = |error| try_lock(folder.path(), |_| Err(error));
        for error in [Errno::NOLCK, Errno::BADF, Errno::NOSYS, Errno::OPNOTSUPP] {
            let refused = failed(folder.path(), &none(error).unwrap_err());
            assert_eq!(refused.code, Code::FailedPrecondition);
            assert!(refused.message.contains("cannot lock"), "{refused:?}");
        }
        assert!(none(Errno::WOULDBLOCK).unwrap().is_none());
        assert!(none(Errno::INTR).unwrap().is_none());
    }

    /// As one that was removed by hand while a server waited for it.
    #[test]
    fn a_lock_file_that_is_gone_locks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        let removed = try_lock(folder.path(), |_| {
            fs::remove_file(&path).unwrap();
            Ok(())
        });
        assert!(removed.unwrap().is_none());
        lock(folder.path(), soon()).unwrap();
    }

    #[test]
    fn only_who_may_change_keys_may_lock() {
        for (mode, expected) in [(0o755, 0o600), (0o770, 0o660)] {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            drop(lock(folder.path(), soon()).unwrap());
            let made = fs::metadata(folder.path().join(LOCK_FILE)).unwrap();
            assert_eq!(made.mode() & 0o777, expected);
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        symlink(&other, folder.path().join(LOCK_FILE)).unwrap();
        lock(folder.path(), soon()).unwrap_err();
        assert!(!other.exists());
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let _held = lock(folder.path(), soon()).unwrap();
        let refused = lock(folder.path(), Instant::now()).unwrap_err();
        assert_eq!(refused.code, Code::DeadlineExceeded);
    }
}
