//! The rights of users to an output: those to the file that it replaces, if the process may grant them, and otherwise nobody
//! gets more than before. The tests try access as other users instead of computing it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use oarlock_testing::{is_root, lossy, noise, skip, until_some};
use rustix::fs::{XattrFlags, getxattr, setxattr};

use crate::common::age::{Home, succeeded};
use crate::common::{IV, KEY, assert_fails, ends_soon, oarlock, stderr};

/// Owner, group, mode, and the entries of an ACL.
type Row = (u32, u32, u32, &'static [&'static str]);

const ROWS: [Row; 8] = [
    (0, 0, 0o600, &[]),
    (1000, 2000, 0o640, &[]),
    (1000, 2000, 0o666, &[]),
    // A group with fewer rights than others.
    (1000, 2000, 0o606, &[]),
    (1000, 2000, 0o4755, &[]),
    (1000, 2000, 0o660, &["u:1001:r"]),
    (1000, 2000, 0o600, &["u:1001:rw", "g:2001:r"]),
    // One user and one group with fewer rights than others.
    (1000, 2000, 0o666, &["u:1001:-", "g:2002:-", "m::rw"]),
];

/// Users, each with a group, who try to read and write.
const USERS: [(u32, u32); 8] = [
    (1000, 1000),
    (1000, 2000),
    (1001, 1001),
    (1002, 2000),
    (1002, 2001),
    (1002, 2002),
    (1002, 3000),
    (1002, 4000),
];

/// The commands that replace a file, and their inputs.
fn commands(home: &Home) -> Vec<Vec<String>> {
    home.write("plain", b"attack at dawn");
    home.write("sealed", &home.sealed(b"attack at dawn"));
    let raw = ["--cipher", "aes-256-ctr", "-K", KEY, "--iv", IV];
    let commands = [
        vec!["encrypt", "-f", "-r", &home.recipient, "plain"],
        vec!["encrypt", "-f", "-a", "-r", &home.recipient, "plain"],
        vec!["decrypt", "-f", "-i", "key.txt", "sealed"],
        [&["enc"][..], &raw, &["plain"]].concat(),
        [&["dec"][..], &raw, &["plain"]].concat(),
    ];
    let owned = |command: Vec<&str>| command.into_iter().map(str::to_owned).collect();
    commands.into_iter().map(owned).collect()
}

#[test]
fn a_file_that_is_replaced_stays_whose_it_was() {
    let Some(home) = home_of_all() else { return };
    for arguments in commands(&home) {
        for row in ROWS {
            make(&home, "out", row);
            let before = told(&home.path("out"));
            let mut command = oarlock();
            command.args(&arguments).args(["-o", "out"]);
            let output = succeeded(command.current_dir(home.folder()));
            assert_eq!(
                stderr(&output)
                    .lines()
                    .find(|line| line.contains("its owner")),
                None
            );
            assert_eq!(told(&home.path("out")), before, "{arguments:?} {row:?}");
            assert_ne!(home.read("out"), b"old");
        }
    }
}

/// This user may not give files away, and is in one of the groups.
#[test]
fn what_another_user_replaces_is_nobodys_more_than_before() {
    let Some(home) = home_of_all() else { return };
    let mut narrowed = 0;
    home.write("sealed", &home.sealed(b"attack at dawn"));
    for name in ["key.txt", "sealed"] {
        chown(home.path(name), Some(3000), None).unwrap();
    }
    let folder = home.path("folder");
    let out = folder.join("out");
    for groups in ["--clear-groups", "--groups=2000"] {
        for (_, gid, mode, acl) in ROWS {
            for (folder_mode, default) in [
                (0o755, &[][..]),
                (0o2755, &[]),
                (0o755, &["d:u:1002:rwx", "d:g:3000:rwx", "d:o::rwx"]),
            ] {
                fs::create_dir(&folder).unwrap();
                chown(&folder, Some(3000), Some(4000)).unwrap();
                fs::set_permissions(&folder, Permissions::from_mode(folder_mode)).unwrap();
                make(&home, "folder/out", (1000, gid, mode & 0o777, acl));
                set_acl(&folder, default);
                let mut test = as_user(3000, 3000, groups);
                if !test
                    .args(["test", "-w"])
                    .arg(&out)
                    .status()
                    .unwrap()
                    .success()
                {
                    // A file that may not be written is not replaced.
                    set_acl(&out, &["u:3000:rw"]);
                }
                let before = rights(&out);
                let mut command = as_user(3000, 3000, groups);
                command.env("XDG_CACHE_HOME", "/nonexistent");
                command.arg(oarlock().get_program());
                command.args([
                    "decrypt",
                    "-f",
                    "-i",
                    "key.txt",
                    "-o",
                    "folder/out",
                    "sealed",
                ]);
                let output = succeeded(command.current_dir(home.folder()));
                assert_eq!(home.read("folder/out"), b"attack at dawn");
                let after = rights(&out);
                let context =
                    format!("{groups} {gid} {mode:o} {acl:?} {folder_mode:o} {default:?}");
                for (before, after) in before.iter().zip(&after) {
                    // Its old owner could have taken any right.
                    let is_more = after.may.iter().any(|what| !before.may.contains(what));
                    assert!(
                        !is_more || before.uid == 1000,
                        "{context}: {before:?} {after:?}"
                    );
                    narrowed += usize::from(before.may != after.may);
                }
                assert!(
                    stderr(&output).contains("fewer users may use it"),
                    "{context}"
                );
                let now = out.metadata().unwrap();
                let is_member = groups == "--groups=2000" && gid == 2000;
                assert_eq!(
                    (now.uid(), now.gid() == gid),
                    (3000, is_member),
                    "{context}"
                );
                fs::remove_dir_all(&folder).unwrap();
            }
        }
    }
    assert!(narrowed > 0);
}

#[test]
fn a_new_file_is_as_any_new_file_of_its_folder() {
    let Some(home) = home_of_all() else { return };
    home.write("plain", b"attack at dawn");
    for (mode, acl) in [
        (0o755, &[][..]),
        (0o2775, &[]),
        (0o2775, &["d:u:1001:rw", "d:g::rwx", "d:o::-"]),
    ] {
        let folder = home.path("folder");
        fs::create_dir(&folder).unwrap();
        chown(&folder, None, Some(2000)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        set_acl(&folder, acl);
        fs::write(folder.join("any"), "").unwrap();
        let encrypt = [
            "encrypt",
            "-r",
            &home.recipient,
            "-o",
            "folder/out",
            "plain",
        ];
        succeeded(&mut home.oarlock(&encrypt));
        assert_eq!(
            told(&folder.join("out")),
            told(&folder.join("any")),
            "{mode:o} {acl:?}"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}

/// Covers a folder whose ACL gives others a right, and an old file that everybody may read.
#[test]
fn it_is_its_owners_alone_until_it_is_whole_and_then_as_narrow_as_the_old_one_has_become() {
    let Some(home) = home_of_all() else { return };
    let folder = home.path("folder");
    fs::create_dir(&folder).unwrap();
    set_acl(&folder, &["d:u:1001:rw", "d:g::rw", "d:o::rw"]);
    make(&home, "folder/out", (0, 0, 0o666, &["u:1001:rw"]));
    let mut child = home
        .oarlock(&["encrypt", "-f", "-r", &home.recipient, "-o", "folder/out"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &noise(1 << 20)).unwrap();
    let hidden = until_some("a temporary file", || {
        let found = fs::read_dir(&folder).unwrap().flatten();
        let mut names = found.map(|entry| entry.path());
        names.find(|path| lossy(path.as_os_str().as_encoded_bytes()).contains(".oarlock-"))
    });
    for user in rights(&hidden) {
        assert_eq!(user.may, [""; 0], "{user:?}");
    }
    fs::set_permissions(folder.join("out"), Permissions::from_mode(0o600)).unwrap();
    let before = told(&folder.join("out"));
    drop(stdin);
    assert!(ends_soon(child).status.success());
    assert_eq!(told(&folder.join("out")), before);
}

#[test]
fn no_privilege_of_the_old_content_is_the_new_ones() {
    let Some(home) = home_of_all() else { return };
    home.write("plain", b"attack at dawn");
    // cap_setuid, permitted and effective (struct vfs_cap_data in linux/capability.h).
    let capability: [u8; 20] = [
        1, 0, 0, 2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    let has = |name: &str, what: &str| getxattr(home.path(name), what, &mut [0; 64]).is_ok();
    let mark = |name: &str| {
        make(&home, name, (0, 0, 0o6755, &[]));
        let path = home.path(name);
        let set = setxattr(
            &path,
            "security.capability",
            &capability,
            XattrFlags::empty(),
        );
        let note = setxattr(&path, "user.note", b"old", XattrFlags::empty());
        set.and(note)
    };
    if mark("out").is_err() {
        return skip("this file system has no capabilities or attributes of users");
    }
    let encrypt = ["encrypt", "-f", "-r", &home.recipient, "-o", "out", "plain"];
    succeeded(&mut home.oarlock(&encrypt));
    assert!(!has("out", "security.capability") && !has("out", "user.note"));
    assert_eq!(home.path("out").metadata().unwrap().mode() & 0o7777, 0o755);
    // Attributes that users set are kept on request.
    mark("in").unwrap();
    let preserve = [
        "encrypt",
        "-f",
        "--preserve",
        "-r",
        &home.recipient,
        "-o",
        "out",
        "in",
    ];
    succeeded(&mut home.oarlock(&preserve));
    assert!(!has("out", "security.capability") && has("out", "user.note"));
    assert_eq!(home.path("out").metadata().unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn what_belongs_to_an_input_is_kept_by_no_one_who_may_not() {
    let Some(home) = home_of_all() else { return };
    make(&home, "in", (1000, 2000, 0o640, &["u:1001:r"]));
    let preserve = ["encrypt", "--preserve", "-r", &home.recipient, "-o"];
    succeeded(&mut home.oarlock(&[&preserve[..], &["out", "in"]].concat()));
    assert_eq!(told(&home.path("out")), told(&home.path("in")));
    // As a user who may read it.
    fs::set_permissions(home.folder(), Permissions::from_mode(0o777)).unwrap();
    let mut command = as_user(1001, 3000, "--clear-groups");
    command.arg(oarlock().get_program()).args(preserve);
    let output = succeeded(command.args(["mine", "in"]).current_dir(home.folder()));
    assert!(
        stderr(&output).contains("fewer users may use it"),
        "{}",
        stderr(&output)
    );
    for (before, after) in rights(&home.path("in"))
        .iter()
        .zip(rights(&home.path("mine")))
    {
        let is_owner = [1000, 1001].contains(&before.uid);
        let is_more = after.may.iter().any(|what| !before.may.contains(what));
        assert!(is_owner || !is_more, "{before:?} {after:?}");
    }
}

#[test]
fn links_lead_to_the_file_that_is_replaced_and_other_names_keep_the_old_one() {
    let Some(home) = home_of_all() else { return };
    home.write("plain", b"attack at dawn");
    make(&home, "real", (1000, 2000, 0o640, &[]));
    symlink("real", home.path("link")).unwrap();
    fs::hard_link(home.path("real"), home.path("other")).unwrap();
    let encrypt = ["encrypt", "-f", "-r", &home.recipient, "plain", "-o"];
    let before = told(&home.path("real"));
    succeeded(&mut home.oarlock(&[&encrypt[..], &["link"]].concat()));
    assert!(home.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(told(&home.path("real")), before);
    assert_eq!(home.read("other"), b"old");
    // Another user put the link into a folder where everybody may create files. Linux does not follow it either.
    let common = home.path("common");
    fs::create_dir(&common).unwrap();
    fs::set_permissions(&common, Permissions::from_mode(0o1777)).unwrap();
    let trap = common.join("out");
    for target in ["real", "new"] {
        let _ = fs::remove_file(&trap);
        symlink(home.path(target), &trap).unwrap();
        std::os::unix::fs::lchown(&trap, Some(1001), Some(1001)).unwrap();
        let before = home.read("real");
        let output = home
            .oarlock(&[&encrypt[..], &["common/out"]].concat())
            .output();
        assert_fails(&output.unwrap(), 1, &["common/out: Permission denied"]);
        assert_eq!(home.read("real"), before);
        assert!(!home.path("new").exists());
    }
}

/// Returns a folder that every user may enter, where root can create files of others and give them ACLs.
fn home_of_all() -> Option<Home> {
    if !is_root("files of other users") {
        return None;
    }
    let home = Home::new();
    fs::set_permissions(home.folder(), Permissions::from_mode(0o755)).unwrap();
    home.write("probe", b"");
    let mut setfacl = Command::new("setfacl");
    setfacl.args(["-m", "u:1001:r"]).arg(home.path("probe"));
    let has_acls = setfacl.output().is_ok_and(|output| output.status.success());
    if !has_acls {
        skip("setfacl is missing, or this file system has no ACLs");
    }
    has_acls.then_some(home)
}

fn make(home: &Home, name: &str, (uid, gid, mode, acl): Row) {
    let path = home.path(name);
    let _ = fs::remove_file(&path);
    fs::write(&path, "old").unwrap();
    chown(&path, Some(uid), Some(gid)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    set_acl(&path, acl);
}

fn set_acl(path: &Path, entries: &[&str]) {
    if !entries.is_empty() {
        let mut setfacl = Command::new("setfacl");
        succeeded(setfacl.args(["-m", &entries.join(",")]).arg(path));
    }
}

/// Returns owner, group, ACL, and mode without the bits that no content inherits, as getfacl prints them.
fn told(path: &Path) -> String {
    let mut getfacl = Command::new("getfacl");
    let output = succeeded(getfacl.args(["--numeric", "--absolute-names"]).arg(path));
    let text = lossy(&output.stdout);
    let lines = text.lines().filter(|line| {
        !line.starts_with("# file:") && !line.starts_with("# flags:") && !line.is_empty()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The rights of a user to a file.
#[derive(Debug)]
struct User {
    uid: u32,
    #[expect(dead_code, reason = "shown where a test fails")]
    gid: u32,
    may: Vec<&'static str>,
}

/// Returns a command as another user. `groups` sets the supplementary groups, as an option of `setpriv`.
fn as_user(uid: u32, gid: u32, groups: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={uid}"), &format!("--regid={gid}"), groups]);
    command
}

fn rights(path: &Path) -> Vec<User> {
    let user = |(uid, gid)| {
        let may = |what: &&'static str| {
            let mut test = Command::new("setpriv");
            test.args([format!("--reuid={uid}"), format!("--regid={gid}")]);
            test.args(["--clear-groups", "test", what]).arg(path);
            test.status().unwrap().success()
        };
        let may = ["-r", "-w", "-x"].into_iter().filter(may).collect();
        User { uid, gid, may }
    };
    USERS.map(user).into()
}
