//! Finds files of figures, and removes those of processes that have ended.
//!
//! A folder is opened once, without following a link, and must belong to the expected user. Later operations use the
//! open descriptor: the folder's owner may replace the path with a link or another folder at any time.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::figures::Figures;
use oarlock_threads::page::{LENGTH, UNFINISHED};
use oarlock_threads::process;

/// A file of figures.
#[derive(Debug)]
pub struct Found {
    /// The file's path.
    pub path: PathBuf,
    /// The numeric ID of the user that owns it.
    pub user: u32,
    /// The figures of its processes that still run, or a message that says what is wrong with the file.
    pub figures: Result<Figures, String>,
}

/// Returns the processes that publish figures: those of this user, or of all users for root. Removes files of processes
/// that have ended.
///
/// A file must belong to the folder's owner. A process that it names counts if it belongs to the same user, or if the
/// file is root's, since a root server drops its privileges. At most 1024 files and processes of a user are read, and
/// 4096 of all other users; a [`Found`] reports any beyond that.
pub fn running() -> Vec<Found> {
    let user = process::user();
    let open = |(path, user): (PathBuf, u32)| Folder::open(&path, user).ok();
    let own = own().into_iter().map(|path| (path, user));
    let mut found = look(&own.filter_map(open).collect::<Vec<_>>(), USER_MAX);
    if user == 0 {
        let others = others().into_iter().filter_map(open);
        found.extend(look(&others.collect::<Vec<_>>(), OTHERS_MAX));
    }
    found
}

/// Removes the files of this user's processes that have ended. A process leaves its file behind, since it may be
/// sandboxed by then; the next process that publishes or reads figures removes it. A program that outlives others it
/// has started can call this directly.
pub fn clear() {
    own().iter().for_each(|folder| sweep(folder));
}

/// Reads the figures in a file, whether or not its process still runs.
///
/// # Errors
/// A message: the file cannot be read, is a link, belongs to a user other than its folder's owner or has no figures.
pub fn read(path: &Path) -> Result<Figures, String> {
    let name = path.file_name().ok_or("no regular file")?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Links in the folder's path are followed: the caller chose the path.
    let folder = Folder::of(parent, FOLDER).map_err(|error| reason(&error))?;
    folder.figures(name)
}

/// Returns the folder in which this process may publish, creating it if necessary.
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
    Folder::open(folder, process::user()).map(drop)
}

/// An open folder of figures.
struct Folder {
    descriptor: OwnedFd,
    /// The path to report to readers.
    path: PathBuf,
    user: u32,
}

impl Folder {
    /// Opens a directory of `user` that no other user can read or write. Its parent belongs to root or has the sticky
    /// bit, so only that user or root can replace it.
    fn open(path: &Path, user: u32) -> Result<Self, String> {
        let folder = Self::of(path, FOLDER | OFlags::NOFOLLOW).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => "no directory".to_owned(),
            error => reason(&error),
        })?;
        if folder.user != user {
            return Err("it belongs to another user".into());
        }
        let mode = rustix::fs::fstat(&folder.descriptor).map_err(|error| reason(&error))?;
        if mode.st_mode & 0o077 != 0 {
            return Err("others may use it: its mode is to be 0700".into());
        }
        Ok(folder)
    }

    fn of(path: &Path, flags: OFlags) -> Result<Self, Errno> {
        let descriptor = rustix::fs::open(path, flags, Mode::empty())?;
        let user = rustix::fs::fstat(&descriptor)?.st_uid;
        Ok(Self {
            descriptor,
            path: path.to_path_buf(),
            user,
        })
    }

    /// Returns the sorted names with this extension, and whether there are more than the limit. Other files do not
    /// count towards it.
    fn names(&self, extension: &str) -> (Vec<OsString>, bool) {
        let entries = Dir::read_from(&self.descriptor).into_iter().flatten();
        let names = entries.filter_map(|entry| {
            let name = OsStr::from_bytes(entry.ok()?.file_name().to_bytes()).to_owned();
            let is_wanted = Path::new(&name).extension()? == extension;
            is_wanted.then_some(name)
        });
        let mut names: Vec<_> = names.take(USER_MAX + 1).collect();
        let has_more = names.len() > USER_MAX;
        names.truncate(USER_MAX);
        names.sort();
        (names, has_more)
    }

    fn figures(&self, name: &OsStr) -> Result<Figures, String> {
        // Read the file, never map it: its owner may truncate it at any time, which would kill a process that maps it.
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.descriptor, name, flags, Mode::empty());
        let file = File::from(file.map_err(|error| match error {
            Errno::LOOP => "a link, which is not followed".to_owned(),
            error => reason(&error),
        })?);
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("no regular file".into());
        }
        if metadata.uid() != self.user {
            return Err("it belongs to another user than its folder".into());
        }
        // Read one byte more than a valid file has, to detect a longer one.
        let mut bytes = Vec::new();
        // A host low on memory must not fail because of this file.
        if bytes.try_reserve_exact(LENGTH + 1).is_err() {
            return Err("no memory to read it".into());
        }
        file.take(LENGTH as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error: io::Error| error.to_string())?;
        Figures::parse(&bytes).map_err(str::to_owned)
    }

    /// Returns a file's figures of running processes. `None` if none runs; the file is then removed.
    fn live(&self, name: &OsStr) -> Option<Result<Figures, String>> {
        let figures = match self.figures(name) {
            Ok(figures) => figures,
            // The process has just ended, or has not finished creating the file.
            Err(_) if self.modified(name).is_none() => return None,
            Err(why) => return Some(Err(why)),
        };
        let figures = alive(figures, self.user);
        if figures.is_none() {
            self.remove(name);
        }
        figures
    }

    fn modified(&self, name: &OsStr) -> Option<SystemTime> {
        let found = rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let seconds = u64::try_from(found.st_mtime).unwrap_or(0);
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
    }

    /// Removes a file that was last changed longer ago than `age_max`.
    fn remove_older(&self, name: &OsStr, age_max: Duration) {
        let is_old = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > age_max);
        if self.modified(name).is_some_and(is_old) {
            self.remove(name);
        }
    }

    fn remove(&self, name: &OsStr) {
        // This does not remove directories.
        let _ = rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty());
    }
}

/// Reads the files of `folders`, taking one of each in turn so that no owner displaces another's: at most `files_max`
/// files and the same number of processes.
fn look(folders: &[Folder], files_max: usize) -> Vec<Found> {
    let (mut files_left, mut processes_left) = (files_max, files_max);
    let mut of_users: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    let mut found: Vec<Vec<Found>> = folders.iter().map(|_| Vec::new()).collect();
    let mut left_out = vec![false; folders.len()];
    let mut names = Vec::new();
    for (at, folder) in folders.iter().enumerate() {
        let (listed, has_more) = folder.names("live");
        left_out[at] = has_more;
        names.push(listed);
    }
    for number in 0..names.iter().map(Vec::len).max().unwrap_or(0) {
        for (at, folder) in folders.iter().enumerate() {
            let Some(name) = names[at].get(number) else {
                continue;
            };
            let (files, processes) = of_users.entry(folder.user).or_default();
            if files_left == 0 || *files == USER_MAX || *processes == USER_MAX {
                left_out[at] = true;
                continue;
            }
            *files += 1;
            files_left -= 1;
            let Some(mut figures) = folder.live(name) else {
                continue;
            };
            if let Ok(figures) = &mut figures {
                let most = processes_left.min(USER_MAX - *processes);
                left_out[at] |= figures.processes.len() > most;
                figures.processes.truncate(most);
                *processes += figures.processes.len();
                processes_left -= figures.processes.len();
            }
            found[at].push(Found {
                path: folder.path.join(name),
                user: folder.user,
                figures,
            });
        }
    }
    for ((at, folder), left_out) in folders.iter().enumerate().zip(left_out) {
        if left_out {
            found[at].push(Found {
                path: folder.path.clone(),
                user: folder.user,
                figures: Err("it has more files or processes than are looked at".into()),
            });
        }
    }
    found.into_iter().flatten().collect()
}

/// Returns the folders of this user, best first.
fn own() -> Vec<PathBuf> {
    let user = process::user();
    let is_own = |folder: &PathBuf| {
        // Under sudo and su it may belong to another user.
        folder.is_absolute() && fs::metadata(folder).is_ok_and(|it| it.uid() == user)
    };
    let runtime = process::environment("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(is_own)
        .map(|folder| folder.join("oarlock"));
    // `/run/oarlock` has the daemons' sockets and must be open to all users.
    let of_root = (user == 0).then(|| PathBuf::from("/run/oarlock-live"));
    let temporary = PathBuf::from(format!("/tmp/oarlock-{user}"));
    runtime
        .into_iter()
        .chain(of_root)
        .chain([temporary])
        .collect()
}

/// Returns other users' folders and expected owners. Logged-in users come first, since ordinary users cannot create
/// entries there.
fn others() -> Vec<(PathBuf, u32)> {
    let own = own();
    let logged_in = entries(Path::new("/run/user"), |name| name.to_str()?.parse().ok())
        .into_iter()
        .map(|(folder, user)| (folder.join("oarlock"), user));
    let temporary = entries(Path::new("/tmp"), named_user);
    let others = logged_in.chain(temporary);
    let others = others.filter(|(folder, _)| !own.contains(folder));
    others.take(FOLDERS_MAX).collect()
}

/// Removes files of processes that have ended, and unfinished files of processes that were killed.
pub(super) fn sweep(folder: &Path) {
    let Ok(folder) = Folder::open(folder, process::user()) else {
        return;
    };
    for name in folder.names("live").0 {
        // The file is damaged, or of another version. Only its age tells whether a process uses it.
        if matches!(folder.live(&name), Some(Err(_))) {
            folder.remove_older(&name, UNREADABLE_MAX);
        }
    }
    for name in folder.names(UNFINISHED).0 {
        folder.remove_older(&name, MAKING_MAX);
    }
}

/// Removes processes from a file of `owner` that have ended or belong to other users. Returns `None` if none is left.
/// Figures from another PID namespace are returned unchanged.
fn alive(mut figures: Figures, owner: u32) -> Option<Result<Figures, String>> {
    if figures.namespace != namespace() {
        return Some(Ok(figures));
    }
    let mut names_others = false;
    let mut counts = |process, began| {
        let runs = has_begun_before(process, began);
        let is_owners = runs && (owner == 0 || is_of(process, owner));
        names_others |= runs && !is_owners;
        is_owners
    };
    figures
        .processes
        .retain(|one| counts(one.process, one.began));
    let heir = figures.heir;
    let has_heir = heir.is_some_and(|(process, began)| counts(process, began));
    match (figures.processes.is_empty() && !has_heir, names_others) {
        (false, _) => Some(Ok(figures)),
        (true, true) => Some(Err("it names processes of other users".into())),
        (true, false) => None,
    }
}

/// Whether a process with that number exists and started by `time`.
fn has_begun_before(process: u32, time: Duration) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else {
        return false;
    };
    // Skip the process name, which may contain any character (proc_pid_stat(5)).
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let mut fields = behind.split_ascii_whitespace();
    let state = fields.next().unwrap_or_default();
    let ticks = fields.nth(18).and_then(|ticks| ticks.parse::<u64>().ok());
    let started = Duration::from_millis(ticks.unwrap_or(0).saturating_mul(1000 / TICKS_A_SECOND));
    !matches!(state, "Z" | "X") && started <= time + Duration::from_millis(1000 / TICKS_A_SECOND)
}

/// Whether any of a process's user IDs is `user`.
fn is_of(process: u32, user: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    // The process name, in a line above, is escaped and cannot start a new line (proc_pid_status(5)).
    let mut lines = status.lines();
    let users = lines.find_map(|line| line.strip_prefix("Uid:"));
    let mut users = users.unwrap_or_default().split_ascii_whitespace();
    users.any(|number| number.parse() == Ok(user))
}

/// Returns the PID namespace of this process as an inode, or 0 if it is unknown.
pub(super) fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino())
}

/// Parses the user from the name `oarlock-USER`. The folder must belong to that user, so each user counts once.
fn named_user(name: &OsStr) -> Option<u32> {
    let user = name.to_str()?.strip_prefix("oarlock-")?;
    let number = user.parse::<u32>().ok()?;
    (number.to_string() == user).then_some(number)
}

/// Returns the directories in a folder that belong to the user in their name, by `user_of`. Stops after
/// [`FOLDERS_MAX`]; other entries do not count.
fn entries(folder: &Path, user_of: impl Fn(&OsStr) -> Option<u32>) -> Vec<(PathBuf, u32)> {
    let Ok(descriptor) = rustix::fs::open(folder, FOLDER, Mode::empty()) else {
        return Vec::new();
    };
    let entries = Dir::read_from(&descriptor).into_iter().flatten();
    let named = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let user = user_of(name)?;
        let found = rustix::fs::statat(&descriptor, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_right = FileType::from_raw_mode(found.st_mode).is_dir() && found.st_uid == user;
        is_right.then(|| (folder.join(name), user))
    });
    let mut named: Vec<_> = named.take(FOLDERS_MAX).collect();
    named.sort();
    named
}

fn reason(error: &Errno) -> String {
    io::Error::from(*error).to_string()
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);
/// The clock ticks per second that the kernel reports to programs (USER_HZ).
const TICKS_A_SECOND: u64 = 100;
/// The limit on files and processes of one user.
const USER_MAX: usize = 1024;
/// The limit on files and processes of all other users together.
const OTHERS_MAX: usize = 4096;
/// The limit on open folders of other users.
const FOLDERS_MAX: usize = 256;
/// Longer than a process needs to create its file.
const MAKING_MAX: Duration = Duration::from_secs(60);
/// How long a file that cannot be read stays.
const UNREADABLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use oarlock_threads::page::Page;

    use super::*;

    #[test]
    fn a_folder_in_tmp_is_that_of_the_user_in_its_name() {
        let base = tempfile::tempdir().unwrap();
        let user = process::user();
        for (name, expected) in [
            (format!("oarlock-{user}"), Some(user)),
            (format!("oarlock-{}", user + 1), Some(user + 1)),
            (format!("oarlock-0{user}"), None),
            (format!("oarlock-+{user}"), None),
            ("oarlock-".to_owned(), None),
            ("oarlock-4294967296".to_owned(), None),
            (format!("other-{user}"), None),
        ] {
            fs::create_dir(base.path().join(&name)).unwrap();
            assert_eq!(named_user(OsStr::new(&name)), expected, "{name}");
        }
        let found = entries(base.path(), named_user);
        assert_eq!(found, [(base.path().join(format!("oarlock-{user}")), user)]);
    }

    fn folder(path: &Path) -> Folder {
        fs::create_dir(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        Folder::open(path, process::user()).unwrap()
    }

    /// Writes the file of a process that has ended, which the next reader removes.
    fn ended(path: &Path) {
        let mut bytes = vec![0; LENGTH];
        bytes[..16].copy_from_slice(&Figures::file_begin());
        let place = std::mem::offset_of!(Page, namespace);
        bytes[place..place + 8].copy_from_slice(&namespace().to_ne_bytes());
        fs::write(path, bytes).unwrap();
    }

    /// The owner replaces the folder by a link or another folder between any two of the reader's steps.
    #[test]
    fn what_is_done_in_a_folder_is_done_there_whatever_is_put_in_its_place() {
        let base = tempfile::tempdir().unwrap();
        let [path, away, victim] = ["oarlock", "away", "victim"].map(|it| base.path().join(it));
        let held = folder(&path);
        let old = SystemTime::now() - 2 * MAKING_MAX;
        fs::create_dir(&victim).unwrap();
        for folder in [&path, &victim] {
            ended(&folder.join("1-1.live"));
            let unfinished = File::create(folder.join("1-2.new")).unwrap();
            unfinished.set_modified(old).unwrap();
        }
        fs::rename(&path, &away).unwrap();
        symlink(&victim, &path).unwrap();
        // Listing, reading, stat and removal act on the folder that was opened.
        assert_eq!(held.names("live").0, ["1-1.live"]);
        assert!(held.figures(OsStr::new("1-1.live")).is_ok());
        assert!(look(&[held], USER_MAX).is_empty());
        assert!(!away.join("1-1.live").exists());
        // Through a link nothing is opened, listed or removed.
        assert!(Folder::open(&path, process::user()).is_err());
        sweep(&path);
        fs::remove_file(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        sweep(&path);
        assert!(!path.join("1-2.new").exists());
        for name in ["1-1.live", "1-2.new"] {
            assert!(victim.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_goes_after_a_day() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("oarlock");
        drop(folder(&path));
        let make = |name: &str, age: Duration| {
            let mut file = File::create(path.join(name)).unwrap();
            file.write_all(b"of another version").unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        make("1-1.live", UNREADABLE_MAX / 2);
        make("1-2.live", 2 * UNREADABLE_MAX);
        sweep(&path);
        let left = ["1-1.live", "1-2.live"].map(|name| path.join(name).exists());
        assert_eq!(left, [true, false]);
    }

    #[test]
    fn a_folder_of_another_user_or_for_others_is_not_opened() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("oarlock");
        drop(folder(&path));
        let user = process::user();
        assert!(Folder::open(&path, user).is_ok());
        assert!(Folder::open(&path, user + 1).is_err());
        for mode in [0o701, 0o710, 0o720, 0o1777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(Folder::open(&path, user).is_err(), "{mode:o}");
        }
        fs::write(base.path().join("file"), "").unwrap();
        assert!(Folder::open(&base.path().join("file"), user).is_err());
    }

    #[test]
    fn a_process_is_of_its_user() {
        let own = std::process::id();
        assert!(is_of(own, process::user()));
        assert!(!is_of(own, process::user() + 1));
        assert!(!is_of(u32::MAX, 0));
    }
}
