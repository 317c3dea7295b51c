//! Directories there and back, and the places of outputs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use oarlock_testing::noise;
use serde_json::Value;

use crate::common::age::{Home, succeeded};
use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{assert_fails, oarlock, run, stderr};

/// Creates a tree with all kinds of entries.
fn make_tree(home: &Home) {
    for folder in ["photos/empty/deep", "photos/private", "photos/read-only"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    for (name, mode) in [
        ("photos/a.jpg", 0o644),
        ("photos/script", 0o755),
        ("photos/private/key", 0o600),
        ("photos/read-only/fixed", 0o444),
        ("photos/sealed.age", 0o640),
        ("photos/.hidden", 0o644),
    ] {
        home.write(name, name.as_bytes());
        fs::set_permissions(home.path(name), Permissions::from_mode(mode)).unwrap();
    }
    home.write("photos/long", &noise(9_000_000));
    for (target, link) in [("a.jpg", "to-a"), ("../..", "out"), ("nowhere", "dangling")] {
        symlink(target, home.path("photos").join(link)).unwrap();
    }
    symlink("../private", home.path("photos/empty/to-folder")).unwrap();
    for (name, mode) in [("photos/private", 0o700), ("photos/read-only", 0o555)] {
        fs::set_permissions(home.path(name), Permissions::from_mode(mode)).unwrap();
    }
    // Set the times of folders too, the innermost first.
    let mut all: Vec<_> = walkdir::WalkDir::new(home.path("photos"))
        .contents_first(true)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    all.retain(|entry| !entry.file_type().is_symlink());
    for (number, entry) in all.iter().enumerate() {
        let file = fs::File::open(entry.path()).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000 + number as u64))
            .unwrap();
    }
}

/// Describes a tree with a line for each entry: kind, mode, time if requested, name and content.
fn described(root: &Path, has_times: bool) -> Vec<String> {
    let entries = walkdir::WalkDir::new(root).sort_by_file_name();
    let entries = entries.into_iter().map(Result::unwrap);
    let describe = |entry: walkdir::DirEntry| {
        let metadata = entry.metadata().unwrap();
        let content = match fs::read_link(entry.path()) {
            Ok(target) => target.display().to_string(),
            Err(_) if metadata.is_dir() => String::new(),
            Err(_) => format!("{:?}", sum(&fs::read(entry.path()).unwrap())),
        };
        let time = match has_times && !metadata.is_symlink() {
            true => metadata.mtime(),
            false => 0,
        };
        let name = entry
            .path()
            .strip_prefix(root)
            .unwrap()
            .display()
            .to_string();
        format!("{:o} {time} {name} {content}", metadata.mode())
    };
    entries.map(describe).collect()
}

/// Returns a short fingerprint of long data.
fn sum(data: &[u8]) -> (usize, u64) {
    let sum = data.iter().fold(0u64, |sum, &byte| {
        sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte)
    });
    (data.len(), sum)
}

#[test]
fn a_tree_comes_back_as_it_was() {
    let home = Home::new();
    make_tree(&home);
    for (flags, has_times) in [(&[][..], false), (&["--preserve", "--sync"], true)] {
        let before = described(&home.path("photos"), has_times);
        for (out, back, at) in [
            // The examples of the help.
            (
                &["-o", "sealed", "photos"][..],
                &["-o", "back", "sealed/photos"][..],
                "back/photos",
            ),
            (
                &["-o", "sealed/", "photos/"],
                &["-o", "back", "sealed/."],
                "back/photos",
            ),
            (
                &["-o", "sealed", "photos/."],
                &["-o", "back", "sealed/."],
                "back",
            ),
            (
                &["-o", "sealed/a/b", "./photos"],
                &["-o", "back/c", "sealed/a/b/photos/."],
                "back/c",
            ),
        ] {
            let encrypt = ["encrypt", "--recursive", "-r", &home.recipient];
            let output = succeeded(&mut umask(&home, &[&encrypt, flags, out].concat()));
            assert_eq!(stderr(&output), "", "{out:?}");
            let decrypt = ["decrypt", "--recursive", "-i", "key.txt"];
            let output = succeeded(&mut umask(&home, &[&decrypt, flags, back].concat()));
            assert_eq!(stderr(&output), "", "{back:?}");
            let after = described(&home.path(at), has_times);
            // The folder of -o itself is not a copy.
            let from = usize::from(at != "back/photos");
            assert_eq!(after[from..], before[from..], "{out:?} {back:?}");
            for name in ["sealed", "back"] {
                fs::remove_dir_all(home.path(name)).unwrap();
            }
        }
    }
    // The rights to a sealed file are no more than those to the original.
    let encrypt = [
        "encrypt",
        "--recursive",
        "-r",
        &home.recipient,
        "-o",
        "sealed",
        "photos",
    ];
    succeeded(&mut umask(&home, &encrypt));
    for (name, mode) in [
        ("private", 0o700),
        ("private/key.age", 0o600),
        ("read-only", 0o555),
        ("sealed.age.age", 0o640),
    ] {
        let found = home.path("sealed/photos").join(name).metadata().unwrap();
        assert_eq!(found.mode() & 0o7777, mode, "{name}");
    }
}

#[test]
fn with_rm_a_tree_moves_and_its_folders_stay() {
    let home = Home::new();
    make_tree(&home);
    let before = described(&home.path("photos"), false);
    let encrypt = [
        "encrypt",
        "--recursive",
        "--rm",
        "-r",
        &home.recipient,
        "-o",
        "sealed",
        "photos",
    ];
    succeeded(&mut umask(&home, &encrypt));
    let left = walkdir::WalkDir::new(home.path("photos"));
    assert!(
        left.into_iter()
            .all(|entry| entry.unwrap().file_type().is_dir())
    );
    let decrypt = [
        "decrypt",
        "--recursive",
        "--rm",
        "-i",
        "key.txt",
        "-o",
        ".",
        "sealed/photos",
    ];
    succeeded(&mut umask(&home, &decrypt));
    assert_eq!(described(&home.path("photos"), false), before);
}

#[test]
fn what_is_left_out_is_named_and_counted() {
    let home = Home::new();
    make_tree(&home);
    succeeded(Command::new("mkfifo").arg(home.path("photos/pipe")));
    let _socket = std::os::unix::net::UnixListener::bind(home.path("photos/socket")).unwrap();
    let encrypt = [
        "encrypt",
        "--recursive",
        "--json",
        "-r",
        &home.recipient,
        "-o",
        "sealed",
        "photos",
    ];
    let output = home.oarlock(&encrypt).output().unwrap();
    let told = stderr(&output);
    let lines: Vec<&str> = told.lines().collect();
    for line in [
        "oarlock: photos/pipe: left out: a named pipe",
        "oarlock: photos/socket: left out: a socket",
        "oarlock: 2 of 18 left out: the outputs are not all of the directory",
    ] {
        assert!(lines.contains(&line), "{line}: {told}");
    }
    assert_eq!((lines.len(), output.status.code()), (3, Some(3)), "{told}");
    let reports: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |name: &str| {
        reports
            .iter()
            .find(|report| report["input"] == name)
            .unwrap()
    };
    assert_eq!(of("photos/pipe")["left_out"], "a named pipe");
    assert_eq!(of("photos/to-a")["output"], "sealed/photos/to-a");
    assert_eq!(of("photos/a.jpg")["output"], "sealed/photos/a.jpg.age");
    assert_eq!(reports.len(), 7 + 4 + 2);

    // On the way back, a file that is not sealed is left out.
    home.write("sealed/photos/note", b"plain");
    let decrypt = [
        "decrypt",
        "--recursive",
        "-i",
        "key.txt",
        "-o",
        "back",
        "sealed/photos",
    ];
    let output = home.oarlock(&decrypt).output().unwrap();
    let told = stderr(&output);
    assert!(
        told.contains("sealed/photos/note: left out: the name does not end in .age"),
        "{told}"
    );
    assert_eq!(output.status.code(), Some(3), "{told}");
    // A failure takes precedence.
    home.write("sealed/photos/bad.age", b"no age file");
    let output = home
        .oarlock(&[&decrypt[..], &["-f"]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).ends_with("oarlock: 1 of 18 files failed\n"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn links_are_made_again_and_nothing_is_written_through_them() {
    let home = Home::new();
    make_tree(&home);
    let encrypt = [
        "encrypt",
        "--recursive",
        "-r",
        &home.recipient,
        "-o",
        "sealed",
        "photos",
    ];
    succeeded(&mut home.oarlock(&encrypt));
    // The second time, links with the same target are no conflict, but files are.
    let again = home.oarlock(&encrypt).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(!stderr(&again).contains("to-a"), "{}", stderr(&again));
    let link = home.path("sealed/photos/to-a");
    for there in ["a link", "a file"] {
        fs::remove_file(&link).unwrap();
        match there {
            "a link" => symlink("elsewhere", &link).unwrap(),
            _ => fs::write(&link, "theirs").unwrap(),
        }
        let again = home.oarlock(&encrypt).output().unwrap();
        assert!(
            stderr(&again).contains("sealed/photos/to-a: exists already: --force"),
            "{}",
            stderr(&again)
        );
        succeeded(&mut home.oarlock(&[&encrypt[..], &["-f"]].concat()));
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("a.jpg"), "{there}");
    }
    // A folder is not replaced.
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    let again = home
        .oarlock(&[&encrypt[..], &["-f"]].concat())
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(link.is_dir());
    // A tree has a link at the place of another tree's folder.
    for folder in ["x", "y/door", "elsewhere"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    symlink("../elsewhere", home.path("x/door")).unwrap();
    home.write("y/door/file.age", &home.sealed(b"data"));
    let decrypt = [
        "decrypt",
        "--recursive",
        "-f",
        "-i",
        "key.txt",
        "-o",
        "back",
        "x/.",
        "y/.",
    ];
    let output = home.oarlock(&decrypt).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(fs::read_dir(home.path("elsewhere")).unwrap().count(), 0);
    // Outputs are never inputs, wherever they are.
    let inside = [
        "encrypt",
        "--recursive",
        "-r",
        &home.recipient,
        "-o",
        "photos/sealed",
        "photos",
    ];
    for _ in 0..2 {
        let output = home
            .oarlock(&[&inside[..], &["-f"]].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!home.path("photos/sealed/photos/sealed").exists());
    }
}

#[test]
fn one_file_goes_beside_itself_as_several_do() {
    let home = Home::new();
    home.write("a.log", b"a");
    let recipient = home.recipient.as_str();
    // One file is treated like many.
    let encrypt = ["encrypt", "-r", recipient, "--rm", "a.log"];
    let output = succeeded(&mut home.oarlock(&encrypt));
    assert_eq!(
        (&output.stdout[..], stderr(&output)),
        (&b""[..], String::new())
    );
    assert!(!home.path("a.log").exists());
    let output = succeeded(&mut home.oarlock(&["decrypt", "-i", "key.txt", "--each", "a.log.age"]));
    assert_eq!(
        (&output.stdout[..], stderr(&output)),
        (&b""[..], String::new())
    );
    assert_eq!(home.read("a.log"), b"a");
    // A second time fails.
    for (args, (status, part)) in [
        (
            &["encrypt", "--each", "-r", recipient, "a.log"][..],
            (1, "a.log.age: exists already: --force"),
        ),
        (
            &["decrypt", "--each", "-i", "key.txt", "a.log.age"],
            (1, "a.log: exists already: --force"),
        ),
        (
            &["encrypt", "--each", "-r", recipient, "a.log.age"],
            (1, "name its output with -o"),
        ),
        (
            &["decrypt", "--each", "-i", "key.txt", "a.log"],
            (1, "name its output with -o"),
        ),
        (
            &[
                "encrypt",
                "-r",
                recipient,
                "a.log",
                "a.log.age",
                "-o",
                "out.age",
            ],
            (2, "-o out.age/"),
        ),
        (
            &["encrypt", "-r", recipient, "a.log", "a.log.age", "-o", "-"],
            (2, "-o -: standard output"),
        ),
        (
            &["encrypt", "-r", recipient, "--recursive", ".", "-o", "-"],
            (2, "-o -: standard output"),
        ),
    ] {
        let before = home.names();
        let output = home.oarlock(args).output().unwrap();
        assert_fails(&output, status, &[part]);
        assert_eq!(home.names(), before, "{args:?}");
    }
    // To standard output on request, and for an input without a name.
    let sealed = home.read("a.log.age");
    let data = |args: &[&str], input: &[u8]| {
        let output = run(
            &mut home.oarlock(&[&["decrypt", "-i", "key.txt"], args].concat()),
            input,
        );
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stderr(&output), "", "{args:?}");
        output.stdout
    };
    assert_eq!(data(&["-o", "-", "a.log.age"], b""), b"a");
    assert_eq!(data(&[], &sealed), b"a");
    assert_eq!(data(&["-"], &sealed), b"a");
    assert_eq!(data(&["/dev/stdin"], &sealed), b"a");
    let mut from_file = home.oarlock(&["decrypt", "-i", "key.txt", "/dev/stdin"]);
    from_file.stdin(fs::File::open(home.path("a.log.age")).unwrap());
    assert_eq!(succeeded(&mut from_file).stdout, b"a");
    assert_eq!(data(&["--range", "0:", "a.log.age"], b""), b"a");
    // Into a directory, as with cp.
    fs::create_dir(home.path("there")).unwrap();
    for (output, made) in [
        ("there", "there/a.log.age"),
        ("new/", "new/a.log.age"),
        ("name", "name"),
    ] {
        succeeded(&mut home.oarlock(&["encrypt", "-r", recipient, "-o", output, "a.log"]));
        assert_eq!(data(&[], &home.read(made)), b"a", "{output}");
    }
    // With the mode of the input.
    fs::set_permissions(home.path("a.log"), Permissions::from_mode(0o600)).unwrap();
    succeeded(&mut home.oarlock(&["encrypt", "-f", "-r", recipient, "-o", "other/", "a.log"]));
    assert_eq!(
        home.path("other/a.log.age").metadata().unwrap().mode() & 0o777,
        0o600
    );
}

#[test]
fn nobody_is_asked_for_a_passphrase_in_vain() {
    let home = Home::new();
    home.write("plain", b"data");
    home.write("secret", b"sesame\n");
    succeeded(&mut home.oarlock(&["encrypt", "--each", "--passphrase-file", "secret", "plain"]));
    for (command, part) in [
        ("encrypt -p plain", "plain.age: exists already"),
        ("encrypt -p missing", "missing: No such file"),
        ("encrypt -p -o secret plain", "secret: exists already"),
        ("decrypt plain.age", "plain: exists already"),
        (
            "enc --cipher aes-256-cbc plain -o nowhere/out",
            "nowhere/out: No such file",
        ),
    ] {
        let (status, shown) = on_a_terminal(
            home.folder(),
            &format!("$OARLOCK {command}"),
            typing(&["sesame"]),
        );
        assert!(!status.success(), "{command}: {shown}");
        assert!(shown.contains(part), "{command}: {shown}");
        assert!(
            !shown.to_lowercase().contains("passphrase"),
            "{command}: {shown}"
        );
    }
}

#[test]
fn time_at_a_prompt_does_not_count() {
    let home = Home::new();
    home.write("a", b"a");
    home.write("b", b"b");
    home.write("secret", b"sesame\n");
    succeeded(&mut home.oarlock(&["encrypt", "--passphrase-file", "secret", "a", "b"]));
    for command in [
        "decrypt --json -f -T 1 a.age b.age",
        "decrypt --json -f -o c a.age",
    ] {
        let began = Instant::now();
        let mut asked = None;
        let mut waited = Duration::ZERO;
        let mut types = typing(&["sesame"]);
        let script = format!("$OARLOCK {command} > report");
        let (status, shown) = on_a_terminal(home.folder(), &script, |terminal, shown| {
            if shown.contains("Passphrase") && asked.is_none() {
                asked = Some(Instant::now());
                // The report must not include this wait, however long it is.
                std::thread::sleep(Duration::from_secs(2));
                waited = asked.unwrap().elapsed();
            }
            types(terminal, shown);
        });
        let took = began.elapsed();
        assert!(status.success(), "{shown}");
        assert!(waited >= Duration::from_secs(2), "{shown}");
        let report = String::from_utf8(home.read("report")).unwrap();
        let seconds: f64 = report
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|line| line["seconds"].as_f64().unwrap())
            .sum();
        assert!(
            seconds <= (took - waited).as_secs_f64(),
            "{took:?} {waited:?}: {report}"
        );
    }
}

#[test]
fn the_bar_of_several_files_is_of_all_of_them() {
    let home = Home::new();
    fs::create_dir(home.path("tree")).unwrap();
    for name in ["tree/a", "tree/b", "c"] {
        home.write(name, &noise(10 << 20));
    }
    home.write("tree/x.age", &noise(1 << 20));
    // One of them is slow until the bar is shown.
    let script = format!(
        "mkfifo slow; (for i in $(seq 600); do [ -e seen ] && break; head -c 100000 /dev/zero; \
         sleep 0.1; done) > slow & \
         $OARLOCK encrypt --recursive -r {} slow tree c; echo \"status $?\"",
        home.recipient
    );
    let seen = home.path("seen");
    let (_, shown) = on_a_terminal(home.folder(), &script, |_, shown| {
        if !seen.exists() && shown.contains("ETA") {
            fs::write(&seen, "").unwrap();
        }
    });
    assert!(shown.contains("status 0"), "{shown:?}");
    for part in ["of 30.00 MiB", "iB/s", "ETA"] {
        assert!(shown.contains(part), "{part}: {shown:?}");
    }
}

/// Returns the command with the usual umask, whatever this process has.
fn umask(home: &Home, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 022; exec \"$0\" \"$@\""]);
    command.arg(oarlock().get_program()).args(args);
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command.stdin(Stdio::null());
    home.run_here(command, &[])
}
