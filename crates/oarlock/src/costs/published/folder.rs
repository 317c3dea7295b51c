//! Where files of figures are, and which of them are of processes that run.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::figures::Figures;
use crate::threads::page::{LENGTH, UNFINISHED};
use crate::threads::process;

/// A file of figures.
#[derive(Debug)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// The number of the user to whom it belongs.
    pub user: u32,
    /// What it says, of the processes that still run; or what is wrong with it.
    pub figures: Result<Figures, String>,
}

/// The processes that show figures: those of this user, and all for root. Files of processes that have
/// ended are removed.
///
/// At most 1024 files of a folder are looked at. A file counts if it is of the folder's owner.
pub fn running() -> Vec<Found> {
    folders().iter().flat_map(|folder| look(folder)).collect()
}

/// The figures in a file, whether or not its process still runs.
///
/// # Errors
/// What is wrong, in words: it cannot be read, is a link, belongs to another user than its folder or is
/// no file of figures.
pub fn read(path: &Path) -> Result<Figures, String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let owner = fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
    read_of(path, owner.uid())
}

fn read_of(path: &Path, owner: u32) -> Result<Figures, String> {
    // Never mapped: its owner may cut it off at any time, which would end a process that maps it.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => "a link, which is not followed".to_owned(),
            _ => error.to_string(),
        })?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("no regular file".into());
    }
    if metadata.uid() != owner {
        return Err("it belongs to another user than its folder".into());
    }
    // As much as there may be, and a byte that shows that there is more.
    let mut bytes = Vec::with_capacity(LENGTH + 1);
    file.take(LENGTH as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error: io::Error| error.to_string())?;
    Figures::parse(&bytes).map_err(str::to_owned)
}

/// The folder in which this process may show something, made now if there is none.
pub(super) fn private() -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for folder in own() {
        match make_private(&folder) {
            Ok(()) => return Ok(folder),
            Err(reason) => reasons.push(format!("{}: {reason}", folder.display())),
        }
    }
    Err(reasons.join("; "))
}

fn make_private(folder: &Path) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.to_string()),
        _ => {}
    }
    is_private(folder, process::user())
}

/// Whether `folder` is a directory of `user` that nobody else may write to or look into. Where it lies, only
/// that user or root can put another in its place: in a folder of root's, or one with the sticky bit.
fn is_private(folder: &Path, user: u32) -> Result<(), String> {
    let metadata = fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
    if !metadata.is_dir() {
        return Err("no directory".into());
    }
    if metadata.uid() != user {
        return Err("it belongs to another user".into());
    }
    if metadata.mode() & 0o077 != 0 {
        return Err("others may use it: its mode is to be 0700".into());
    }
    Ok(())
}

/// Where this user's files may be, the best first.
fn own() -> Vec<PathBuf> {
    let user = process::user();
    let is_own = |folder: &PathBuf| {
        // Under sudo and su it may still be another's.
        folder.is_absolute() && fs::metadata(folder).is_ok_and(|it| it.uid() == user)
    };
    let runtime = process::environment("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(is_own)
        .map(|folder| folder.join("oarlock"));
    // Not `/run/oarlock`, where the daemons have their sockets: anybody has to be able to enter that.
    let of_root = (user == 0).then(|| PathBuf::from("/run/oarlock-live"));
    let temporary = PathBuf::from(format!("/tmp/oarlock-{user}"));
    runtime
        .into_iter()
        .chain(of_root)
        .chain([temporary])
        .collect()
}

/// Those whose files this user may see.
fn folders() -> Vec<PathBuf> {
    let mut folders = own();
    if process::user() == 0 {
        for folder in entries(Path::new("/run/user"), |_| true) {
            folders.push(folder.join("oarlock"));
        }
        folders.extend(entries(Path::new("/tmp"), is_named_by_its_user));
    }
    folders.sort();
    folders.dedup();
    folders
}

fn look(folder: &Path) -> Vec<Found> {
    let Ok(metadata) = fs::symlink_metadata(folder) else {
        return Vec::new();
    };
    let user = metadata.uid();
    if is_private(folder, user).is_err() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let is_live = |path: &Path| path.extension().is_some_and(|it| it == "live");
    for path in entries(folder, is_live) {
        let figures = match read_of(&path, user).map(alive) {
            Ok(None) => {
                let _ = fs::remove_file(&path);
                continue;
            }
            Ok(Some(figures)) => Ok(figures),
            // It has ended meanwhile, or is being made.
            Err(_) if !path.exists() => continue,
            Err(why) => Err(why),
        };
        found.push(Found {
            path,
            user,
            figures,
        });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// Removes files of processes that have ended, and of those that were killed before they had made theirs.
pub(super) fn sweep(folder: &Path) {
    look(folder);
    let is_unfinished = |path: &Path| path.extension().is_some_and(|it| it == UNFINISHED);
    for path in entries(folder, is_unfinished) {
        let modified = fs::symlink_metadata(&path).and_then(|it| it.modified());
        if modified.is_ok_and(|it| it.elapsed().is_ok_and(|age| age > MAKING_MAX)) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Without the processes that have ended; none where all have. Of another namespace nothing is known.
fn alive(mut figures: Figures) -> Option<Figures> {
    if figures.namespace != namespace() {
        return Some(figures);
    }
    figures
        .processes
        .retain(|one| has_begun_before(one.process, one.began));
    (!figures.processes.is_empty()).then_some(figures)
}

/// Whether there is a process of that number that had been started by `time`.
fn has_begun_before(process: u32, time: Duration) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else {
        return false;
    };
    // Behind the name, which may hold anything (proc_pid_stat(5)).
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let mut fields = behind.split_ascii_whitespace();
    let state = fields.next().unwrap_or_default();
    let ticks = fields.nth(18).and_then(|ticks| ticks.parse::<u64>().ok());
    let started = Duration::from_millis(ticks.unwrap_or(0).saturating_mul(1000 / TICKS_A_SECOND));
    !matches!(state, "Z" | "X") && started <= time + Duration::from_millis(1000 / TICKS_A_SECOND)
}

/// Of those that give processes their numbers; 0 where that is not known.
pub(super) fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino())
}

/// Whether it is the `oarlock-USER` of that user. So each user has one, however many names there are in `/tmp`.
fn is_named_by_its_user(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let user = name.and_then(|name| name.strip_prefix("oarlock-"));
    let owner = || Some(fs::symlink_metadata(folder).ok()?.uid().to_string());
    user.is_some_and(|user| owner().as_deref() == Some(user))
}

/// Of those that are wanted, so many: what else lies there hides none of them.
fn entries(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let wanted = paths.filter(|path| is_wanted(path));
    wanted.take(ENTRIES_MAX).collect()
}

/// What the kernel tells all programs, whatever its own (USER_HZ).
const TICKS_A_SECOND: u64 = 100;
const ENTRIES_MAX: usize = 1024;
/// Longer than it takes to make a file.
const MAKING_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_tmp_is_that_of_the_user_in_its_name() {
        let base = tempfile::tempdir().unwrap();
        let user = process::user();
        for (name, expected) in [
            (format!("oarlock-{user}"), true),
            (format!("oarlock-{}", user + 1), false),
            (format!("oarlock-0{user}"), false),
            ("oarlock-".to_owned(), false),
            (format!("other-{user}"), false),
        ] {
            let folder = base.path().join(&name);
            fs::create_dir(&folder).unwrap();
            assert_eq!(is_named_by_its_user(&folder), expected, "{name}");
        }
        assert_eq!(entries(base.path(), is_named_by_its_user).len(), 1);
    }
}
