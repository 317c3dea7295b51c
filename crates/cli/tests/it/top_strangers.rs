//! Live figures of another user: what that user writes into them, or puts in place of the folder while root looks.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use oarlock_engine::costs::published::Figures;
use oarlock_testing::process::is_child;
use oarlock_testing::{LIMIT, lossy};
use serde_json::Value;

use crate::common::{oarlock, run};
use crate::top::{Running, failing_board, left_alone, reading, top, work_with_a_failing_board};

/// A user without a name, processes or files.
struct Stranger {
    user: u32,
    folder: PathBuf,
    sleeper: Running,
}

impl Stranger {
    /// Creates a user with a folder of figures where root looks, and a process.
    fn new() -> Self {
        static STRANGERS: AtomicU32 = AtomicU32::new(0);
        let number = STRANGERS.fetch_add(1, Ordering::Relaxed);
        let user = 3_000_000_000 + 4 * std::process::id() + number;
        let folder = PathBuf::from(format!("/tmp/oarlock-{user}"));
        make_private(&folder, user);
        let mut sleeper = Command::new("sleep");
        let sleeper = sleeper.arg("600").uid(user).spawn().unwrap();
        Self {
            user,
            folder,
            sleeper: Running(sleeper),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.join(name);
        fs::write(&path, bytes).unwrap();
        chown(&path, Some(self.user), None).unwrap();
    }
}

fn make_private(folder: &Path, user: u32) {
    fs::create_dir(folder).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    chown(folder, Some(user), None).unwrap();
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns a file of figures, in the format of crates/threads/src/page.rs. It claims that each of `processes` has counted,
/// and that the first has wrong lanes and three devices that are down.
fn spoofed(processes: &[u32]) -> Vec<u8> {
    let mut file = vec![0; Figures::FILE_BYTES];
    file[..16].copy_from_slice(&Figures::file_begin());
    let mut put = |at: usize, value: u64| file[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    let namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    let now = u64::MAX / 2;
    for (at, value) in [
        (16, u64::from(processes[0])),
        (24, now),
        (32, namespace),
        (40, 1),
        // The fourth of the figures of the whole process.
        (48 + 3 * 8, 5),
    ] {
        put(at, value);
    }
    for device in 0..3 {
        put(
            256 + device * 128,
            u64::from_le_bytes(*b"board\0\0\0") + device as u64 * 256,
        );
        put(256 + device * 128 + 32, 2);
    }
    for (seat, process) in processes.iter().enumerate().take(63) {
        let at = 2304 + seat * (64 + 48 * 32);
        put(at, u64::from(*process));
        put(at + 8, now);
        for row in 0..48 {
            put(at + 64 + row * 32, 1000);
            put(at + 64 + row * 32 + 16, 1000);
        }
    }
    file
}

/// Another user writes the most files that are examined, and more, each with all the processes that it can name. A file of
/// one user could reach another's row by: the number of one of root's processes as that of the file or of a seat, the number
/// of its own process, or a namespace of its own.
#[test]
fn what_another_user_writes_changes_no_row_of_root_and_costs_it_little() {
    if is_child() {
        return work_with_a_failing_board();
    }
    if !oarlock_testing::is_root("a file of another user") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = failing_board(folder.path());
    left_alone(folder.path(), &server);
    let health = |reading: &Value| {
        let all = reading["processes"].as_array().unwrap().clone();
        let mut of_root = all.into_iter().filter(|one| one["user"] == 0);
        let own = of_root.find(|one| one["process"] == server.0.id());
        let own = own.unwrap();
        let names = |what: &str, name: &str| -> Vec<Value> {
            let all = own[what].as_array().unwrap();
            all.iter().map(|one| one[name].clone()).collect()
        };
        (
            own["faults"].clone(),
            names("devices", "name"),
            names("operations", "operation"),
        )
    };
    let before = health(&reading(folder.path(), &[]));
    let stranger = Stranger::new();
    let own = stranger.sleeper.0.id();
    let mut named = vec![server.0.id(), std::process::id(), 1, own];
    named.extend((2..).take(60));
    named.rotate_left(1);
    for number in 0..1100 {
        // Each begins with another one of them.
        named[..4].rotate_left(1);
        stranger.write(&format!("{number}.live"), &spoofed(&named));
    }
    let mut elsewhere = spoofed(&[server.0.id()]);
    elsewhere[32..40].copy_from_slice(&7_u64.to_ne_bytes());
    stranger.write("0.live", &elsewhere);

    let began = std::time::Instant::now();
    let seen = reading(folder.path(), &[]);
    // Two readings. One took more than 90 s when every row was compared with every other.
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    assert_eq!(health(&seen), before);
    let all = seen["processes"].as_array().unwrap();
    let theirs: Vec<_> = all
        .iter()
        .filter(|one| one["user"] == stranger.user)
        .collect();
    // Its own process, and a number of another namespace.
    let numbers: Vec<_> = theirs.iter().map(|one| one["process"].as_u64()).collect();
    assert_eq!(theirs.len(), 2, "{numbers:?}");
    assert!(numbers.contains(&Some(own.into())), "{numbers:?}");
    let of_own = theirs.iter().find(|one| one["process"] == own).unwrap();
    assert!(of_own["devices"].as_array().unwrap().len() <= 64);
    assert!(of_own["operations"].as_array().unwrap().len() <= 96);
    let ignored = seen["ignored"].to_string();
    assert!(ignored.contains("more files or processes"), "{ignored}");
    assert!(seen["ignored"].as_array().unwrap().len() <= 65);

    // The table shows the owner of each.
    let text = lossy(
        &run(
            &mut top(folder.path(), &["--once", "--interval", "0.1"]),
            b"",
        )
        .stdout,
    );
    let line = |number: u32| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.split_whitespace().nth(1) == Some(&number.to_string()));
        line.unwrap_or_else(|| panic!("{number}: {text}"))
            .to_owned()
    };
    assert!(line(server.0.id()).trim_start().starts_with("0 "));
    assert!(
        line(own)
            .trim_start()
            .starts_with(&stranger.user.to_string())
    );
    let mut devices = oarlock();
    devices.arg("devices").env("XDG_RUNTIME_DIR", folder.path());
    let text = lossy(&run(&mut devices, b"").stdout);
    assert!(
        text.contains(&format!("of user {}", stranger.user)),
        "{text}"
    );
}

/// The owner of a folder where root looks replaces it by a link to another folder.
#[test]
fn a_link_in_the_place_of_a_folder_of_figures_leads_root_nowhere() {
    if !oarlock_testing::is_root("a file of another user") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let stranger = Stranger::new();
    let victim = folder.path().join("victim");
    make_private(&victim, stranger.user);
    let ended = spoofed(&[u32::MAX]);
    let files = ["1.live", "2.live", "3.live"].map(|name| victim.join(name));
    for owner in [0, stranger.user] {
        for path in &files {
            fs::write(path, &ended).unwrap();
            chown(path, Some(owner), None).unwrap();
        }
        chown(&victim, Some(owner), None).unwrap();
        fs::remove_dir_all(&stranger.folder).unwrap();
        symlink(&victim, &stranger.folder).unwrap();
        lchown(&stranger.folder, Some(stranger.user), None).unwrap();
        reading(folder.path(), &[]);
        fs::remove_file(&stranger.folder).unwrap();
        make_private(&stranger.folder, stranger.user);
        // Then they are swapped continuously.
        let is_done = AtomicBool::new(false);
        let away = stranger.folder.with_extension("away");
        thread::scope(|scope| {
            let (is_done, away, victim, at) = (&is_done, &away, &victim, &stranger.folder);
            scope.spawn(move || {
                while !is_done.load(Ordering::Relaxed) {
                    fs::rename(at, away).unwrap();
                    symlink(victim, at).unwrap();
                    fs::remove_file(at).unwrap();
                    fs::rename(away, at).unwrap();
                }
            });
            for _ in 0..10 {
                reading(folder.path(), &[]);
            }
            is_done.store(true, Ordering::Relaxed);
        });
        for path in &files {
            assert!(
                path.exists(),
                "of user {owner}: {} has gone",
                path.display()
            );
        }
    }
}
