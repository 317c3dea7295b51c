//! Many files, directories, ranges of files, the removal of inputs, and reports.

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Output;

use oarlock_testing::noise;
use serde_json::Value;

use crate::common::age::{Home, age, succeeded};
use crate::common::{assert_fails, run, stderr};

/// Sizes below and above what one thread processes alone (8 MiB).
const SIZES: [usize; 7] = [0, 1, 4096, 65_536, 65_537, 1_200_000, 9_000_000];

#[test]
fn several_files_become_several_and_come_back() {
    let home = Home::new();
    let names: Vec<String> = SIZES.iter().map(|size| format!("f{size}")).collect();
    for (name, size) in names.iter().zip(SIZES) {
        home.write(name, &noise(size));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for threads in ["1", "2"] {
        succeeds(
            &home,
            &[
                &["encrypt", "-f", "-r", &home.recipient, "-T", threads],
                &names[..],
            ]
            .concat(),
        );
        for (name, size) in names.iter().zip(SIZES) {
            // The real age opens each.
            let name = format!("{name}.age");
            let opened = succeeded(&mut home.run_here(age(), &["-d", "-i", "key.txt", &name]));
            assert!(opened.stdout == noise(size), "{name}: {}", stderr(&opened));
        }
        let sealed: Vec<String> = names.iter().map(|name| format!("{name}.age")).collect();
        let sealed: Vec<&str> = sealed.iter().map(String::as_str).collect();
        let decrypt = [
            "decrypt", "-f", "-i", "key.txt", "-o", "opened/", "-T", threads,
        ];
        succeeds(&home, &[&decrypt, &sealed[..]].concat());
        for (name, size) in names.iter().zip(SIZES) {
            assert!(
                home.read(&format!("opened/{name}")) == noise(size),
                "{name}"
            );
        }
    }
}

#[test]
fn files_in_directories_are_processed_beside_them_and_what_is_sealed_is_not_sealed_again() {
    let home = Home::new();
    for name in ["photos/b/c", "photos/b/d.age", "elsewhere"] {
        fs::create_dir_all(home.path(name).parent().unwrap()).unwrap();
        home.write(name, name.as_bytes());
    }
    symlink(home.path("elsewhere"), home.path("photos/b/link")).unwrap();
    let encrypt = ["encrypt", "-r", &home.recipient, "--recursive", "photos/b"];
    let output = succeeds(&home, &encrypt);
    assert_eq!(
        stderr(&output),
        "oarlock: skipped in directories: 1: the name ends in .age, as if encrypted already\n\
         oarlock: skipped in directories: 1: not regular files\n"
    );
    // The second time, existing outputs are kept and reported.
    let before = home.read("photos/b/c.age");
    let again = ran(&home, &encrypt);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        stderr(&again).contains("photos/b/c.age: exists already"),
        "{}",
        stderr(&again)
    );
    assert_eq!(home.read("photos/b/c.age"), before);
    assert!(!home.path("photos/b/d.age.age").exists());
    // The same happens if -o names their folder.
    let output = ran(&home, &[&encrypt[..], &["-f", "-o", "photos"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        tree(&home, "photos"),
        ["b/c", "b/c.age", "b/d.age", "b/link"]
    );
}

#[test]
fn one_that_fails_does_not_keep_the_others_back() {
    let home = Home::new();
    home.write("good", b"good");
    home.write("better", b"better");
    fs::create_dir(home.path("folder")).unwrap();
    let args = [
        "encrypt",
        "--json",
        "-r",
        &home.recipient,
        "good",
        "missing",
        "folder",
        "better",
    ];
    let output = ran(&home, &args);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    let mut lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.pop(), Some("oarlock: 2 of 4 files failed"));
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "oarlock: folder: is a directory: --recursive processes the files in it",
            "oarlock: missing: No such file or directory",
        ]
    );
    let mut done: Vec<Value> = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        done.push(serde_json::from_str(line).unwrap());
    }
    done.sort_by_key(|line| line["input"].as_str().unwrap().to_string());
    let field = |name: &str| -> Vec<Value> { done.iter().map(|line| line[name].clone()).collect() };
    assert_eq!(field("input"), ["better", "good", "missing"]);
    assert_eq!(field("output")[..2], ["better.age", "good.age"]);
    assert_eq!(field("bytes_read")[..2], [6, 4]);
    assert_eq!(done[0]["bytes_written"], home.read("better.age").len());
    assert_eq!(done[2]["error"], "missing: No such file or directory");
    assert!(home.path("good.age").exists() && home.path("better.age").exists());
}

#[test]
fn a_range_does_not_claim_to_have_read_the_whole_file() {
    let home = Home::new();
    home.write("a", &[7; 300_000]);
    assert!(
        ran(
            &home,
            &["encrypt", "-r", &home.recipient, "-o", "a.age", "a"]
        )
        .status
        .success()
    );
    let report = |more: &[&str]| -> Value {
        let args = ["decrypt", "--json", "-i", "key.txt", "-o", "part", "a.age"];
        let output = ran(&home, &[&args, more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(report(&[])["bytes_read"], home.read("a.age").len());
    let part = report(&["--range", "70000:512", "--force"]);
    assert_eq!(
        (part.get("bytes_read"), &part["bytes_written"]),
        (None, &512.into())
    );
}

#[test]
fn inputs_are_removed_when_their_outputs_are_there_and_not_before() {
    let home = Home::new();
    home.write("a", b"a");
    home.write("b", b"b");
    home.write("b.age", b"in the way");
    let output = ran(&home, &["encrypt", "--rm", "-r", &home.recipient, "a", "b"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!home.path("a").exists() && home.path("a.age").exists());
    assert_eq!(home.read("b"), b"b");
    assert_eq!(home.read("b.age"), b"in the way");
    succeeds(
        &home,
        &["decrypt", "--rm", "--each", "-i", "key.txt", "a.age"],
    );
    assert_eq!(home.read("a"), b"a");
    assert!(!home.path("a.age").exists());
    succeeds(
        &home,
        &[
            "encrypt",
            "--rm",
            "-r",
            &home.recipient,
            "-o",
            "sealed",
            "a",
        ],
    );
    assert!(!home.path("a").exists() && home.path("sealed").exists());
    // A damaged input stays.
    let mut sealed = home.read("sealed");
    *sealed.last_mut().unwrap() ^= 1;
    home.write("sealed", &sealed);
    let output = ran(
        &home,
        &["decrypt", "--rm", "-i", "key.txt", "-o", "a", "sealed"],
    );
    assert_fails(&output, 1, &["sealed: chunk 0 is not authentic"]);
    assert!(home.path("sealed").exists() && !home.path("a").exists());
    // Nothing is removed if its output may be lost.
    home.write("a", b"a");
    for output in [&["a", "-o", "-"][..], &["-o", "b.age"], &["-"]] {
        let rm = ["encrypt", "--rm", "-r", &home.recipient];
        let output = ran(&home, &[&rm, output].concat());
        assert_fails(&output, 2, &["--rm needs a FILE to remove"]);
        assert!(home.path("a").exists());
    }
    for output in ["/dev/null", "/dev/stdout"] {
        let args = ["encrypt", "--rm", "-r", &home.recipient, "-o", output, "a"];
        assert_fails(&ran(&home, &args), 2, &["--rm needs an output that lasts"]);
        assert!(home.path("a").exists(), "{output}");
    }
    let args = [
        "decrypt", "--rm", "--range", "0:1", "-i", "key.txt", "-o", "part", "sealed",
    ];
    assert_fails(
        &ran(&home, &args),
        2,
        &["--range", "cannot be given with", "--rm"],
    );
    assert!(home.path("sealed").exists());
    symlink("a", home.path("link")).unwrap();
    let output = ran(
        &home,
        &["encrypt", "--rm", "--each", "-r", &home.recipient, "link"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("link: not removed: its name is a symbolic link"));
    assert!(home.path("a").exists() && home.path("link").exists());
}

#[test]
fn an_input_that_is_written_to_meanwhile_gives_no_output() {
    let home = Home::new();
    let path = home.path("changing");
    let file = fs::File::create(&path).unwrap();
    // Long enough to be changed before its end is read.
    file.set_len(1 << 30).unwrap();
    for (what, at, bytes) in [("grows", 1 << 30, 1), ("changes", 0, 3)] {
        let mut child = home
            .oarlock(&["encrypt", "-r", &home.recipient, "-o", "sealed", "changing"])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let is_begun = || {
            hidden(&home)
                .iter()
                .any(|name| home.path(name).metadata().is_ok_and(|m| m.len() > 0))
        };
        while !is_begun() {
            assert!(child.try_wait().unwrap().is_none(), "{what}: ended at once");
        }
        file.write_all_at(&[1; 4][..bytes], at).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_fails(&output, 1, &["changing: changed while it was read"]);
        assert!(!home.path("sealed").exists(), "{what}");
        assert_eq!(hidden(&home), [""; 0], "{what}");
    }
}

#[test]
fn parts_are_what_they_are_of_the_whole() {
    let home = Home::new();
    let plain = noise(3_000_001);
    home.write("plain", &plain);
    succeeds(
        &home,
        &["encrypt", "-r", &home.recipient, "-o", "sealed", "plain"],
    );
    let parts: [(&str, std::ops::Range<usize>); 11] = [
        ("0:1", 0..1),
        ("0:", 0..3_000_001),
        ("65535:2", 65_535..65_537),
        ("64K:64KiB", 65_536..131_072),
        ("65536:65537", 65_536..131_073),
        ("1M:1M", 1 << 20..2 << 20),
        ("100:2000000", 100..2_000_100),
        ("2999999:", 2_999_999..3_000_001),
        ("3000000:100", 3_000_000..3_000_001),
        ("3000001:", 3_000_001..3_000_001),
        ("5:0", 5..5),
    ];
    for (part, range) in parts {
        for output in [&["-o", "part", "-f"][..], &[]] {
            let args = [
                &["decrypt", "-i", "key.txt", "--range", part, "sealed"],
                output,
            ]
            .concat();
            let shown = succeeds(&home, &args).stdout;
            let shown = if output.is_empty() {
                shown
            } else {
                home.read("part")
            };
            assert!(
                shown == plain[range.clone()],
                "{part}: {} bytes",
                shown.len()
            );
        }
    }
    // Damage outside the range is not read; damage within it is found.
    let mut sealed = home.read("sealed");
    sealed[1_000_000] ^= 1;
    home.write("damaged", &sealed);
    let decrypt = [
        "decrypt", "-i", "key.txt", "damaged", "-o", "part2", "--range",
    ];
    succeeds(&home, &[&decrypt[..], &["2000000:9"]].concat());
    let seen = ran(&home, &[&decrypt[..], &["-f", "900000:200000"]].concat());
    assert_eq!(
        seen.status.code(),
        Some(2),
        "-f is no range: {}",
        stderr(&seen)
    );
    let decrypt = [
        "decrypt",
        "-i",
        "key.txt",
        "-o",
        "part3",
        "--range",
        "900000:200000",
    ];
    assert_fails(
        &ran(&home, &[&decrypt[..], &["damaged"]].concat()),
        1,
        &["damaged: chunk 15 is not"],
    );
    assert!(!home.path("part3").exists());
    // A file that was cut short does not pass for a whole one.
    home.write("cut", &home.read("sealed")[..2_000_000]);
    let output = ran(
        &home,
        &["decrypt", "-i", "key.txt", "--range", "1900000:", "cut"],
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    for (part, status, parts) in [
        (
            "3000002:1",
            1,
            "--range begins at byte 3000002, but the file has 3000001",
        ),
        ("x:1", 2, "x: "),
        ("1", 2, "OFFSET:LENGTH"),
        ("1:1X", 2, "1X: give bytes, or a number with K, M, G or T"),
        ("99999999T:1", 2, "too large"),
    ] {
        let output = ran(
            &home,
            &["decrypt", "-i", "key.txt", "--range", part, "sealed"],
        );
        assert_fails(&output, status, &[parts]);
    }
    let piped = run(
        &mut home.oarlock(&["decrypt", "-i", "key.txt", "--range", "1:1"]),
        &home.read("sealed"),
    );
    assert_fails(
        &piped,
        1,
        &["standard input: --range needs a seekable file"],
    );
    succeeds(
        &home,
        &[
            "encrypt",
            "-a",
            "-r",
            &home.recipient,
            "-o",
            "text",
            "plain",
        ],
    );
    let output = ran(
        &home,
        &["decrypt", "-i", "key.txt", "--range", "1:1", "text"],
    );
    assert_fails(&output, 1, &["text: --range needs a file without armor"]);
}

#[test]
fn what_belongs_to_a_file_is_kept_on_request() {
    let home = Home::new();
    home.write("a", b"a");
    let path = home.path("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(long_ago).unwrap();
    let has_attributes =
        rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty()).is_ok();
    succeeds(
        &home,
        &[
            "encrypt",
            "--preserve",
            "--each",
            "-r",
            &home.recipient,
            "a",
        ],
    );
    fs::remove_file(&path).unwrap();
    succeeds(
        &home,
        &["decrypt", "--preserve", "--each", "-i", "key.txt", "a.age"],
    );
    for name in ["a.age", "a"] {
        let metadata = home.path(name).metadata().unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o640, "{name}");
        assert_eq!(metadata.modified().unwrap(), long_ago, "{name}");
        if has_attributes {
            let mut value = [0; 16];
            let bytes = rustix::fs::getxattr(home.path(name), "user.note", &mut value).unwrap();
            assert_eq!(&value[..bytes], b"kept", "{name}");
        }
    }
}

#[test]
fn zeros_become_holes_on_request() {
    let home = Home::new();
    let zeros = vec![0; 3 << 20];
    let plains = [
        [&zeros[..], &noise(70_000), &zeros].concat(),
        // All threads process this one, which ends with data.
        [&zeros[..], &noise(1 << 20), &zeros, &zeros, &zeros, b"end"].concat(),
        zeros.clone(),
    ];
    for plain in &plains {
        home.write("plain", plain);
        succeeds(
            &home,
            &["encrypt", "-f", "-r", &home.recipient, "--each", "plain"],
        );
        for threads in ["1", "2"] {
            let decrypt = ["decrypt", "-i", "key.txt", "-T", threads, "-f"];
            for way in [
                &["--sparse", "-o", "opened", "plain.age"][..],
                &["--sparse", "--each", "-o", "folder", "plain.age"],
                &["-o", "whole", "plain.age"],
            ] {
                succeeds(&home, &[&decrypt[..], way].concat());
            }
            let data = plain.iter().filter(|&&byte| byte != 0).count() as u64;
            for name in ["opened", "folder/plain"] {
                assert!(home.read(name) == *plain, "{name}");
                let blocks = home.path(name).metadata().unwrap().blocks() * 512;
                assert!(blocks < data + 400_000, "{name}: {blocks} of {data}");
            }
            assert!(home.path("whole").metadata().unwrap().blocks() * 512 >= plain.len() as u64);
        }
        // An existing file keeps no bytes where a hole would be.
        fs::write(home.path("there"), vec![7; plain.len()]).unwrap();
        let there = fs::File::options()
            .write(true)
            .open(home.path("there"))
            .unwrap();
        let mut decrypt = home.oarlock(&[
            "decrypt",
            "-i",
            "key.txt",
            "--sparse",
            "-o",
            "-",
            "plain.age",
        ]);
        succeeded(decrypt.stdout(there));
        assert!(home.read("there") == *plain);
    }
}

#[test]
fn a_file_tells_what_it_is_without_a_key() {
    let home = Home::new();
    for size in [0, 1, 65_536, 200_000] {
        home.write("plain", &noise(size));
        for armor in [&[][..], &["-a"]] {
            let encrypt = [
                "encrypt",
                "-f",
                "-r",
                &home.recipient,
                "-o",
                "sealed",
                "plain",
            ];
            succeeds(&home, &[&encrypt[..], armor].concat());
            let bytes = home.read("sealed").len();
            let by_name = succeeds(&home, &["inspect", "--json", "sealed"]).stdout;
            let piped = run(
                &mut home.oarlock(&["inspect", "--json"]),
                &home.read("sealed"),
            );
            for (told, file) in [(by_name, "sealed"), (piped.stdout, "standard input")] {
                let found: Value = serde_json::from_slice(&told).unwrap();
                assert_eq!(found["file"], file);
                assert_eq!(found["plaintext_bytes"], size, "{found}");
                assert_eq!(found["file_bytes"], bytes, "{found}");
                assert_eq!(found["armored"], !armor.is_empty());
                assert_eq!(found["recipients"][0], "X25519");
                assert_eq!(found["post_quantum"], "no");
                assert_eq!(found["version"], "age-encryption.org/v1");
            }
        }
    }
    let text = String::from_utf8(succeeds(&home, &["inspect", "sealed"]).stdout).unwrap();
    for part in [
        "sealed: an age file",
        "armored",
        "X25519",
        "not safe from quantum",
        "200000 bytes",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    home.write("empty", b"");
    assert_fails(
        &ran(&home, &["inspect", "empty"]),
        1,
        &["empty: not an age file"],
    );
    let output = ran(&home, &["inspect", "empty", "sealed"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stdout.is_empty() && stderr(&output).ends_with("1 of 2 files failed\n"));
}

#[test]
fn contradictions_are_refused() {
    let home = Home::new();
    home.write("a", b"a");
    let r = home.recipient.as_str();
    for (args, part) in [
        (
            &["encrypt", "-r", r, "a", "-"][..],
            "standard input has no name",
        ),
        (
            &["encrypt", "-r", r, "--each"],
            "standard input has no name",
        ),
        (
            &["encrypt", "-r", r, "--json", "-o", "-", "a"],
            "--json and the data would both go to standard output",
        ),
        (
            &["decrypt", "-i", "key.txt", "--range", "0:1", "a", "a"],
            "--range takes one FILE",
        ),
    ] {
        assert_fails(&ran(&home, args), 2, &[part]);
    }
    for (args, part) in [
        (
            &["encrypt", "-r", r, "--recursive", "empty"][..],
            "no file to process",
        ),
        (
            &["encrypt", "-r", r, "--each", "-o", "a", "a"],
            "a: not a directory for the outputs",
        ),
    ] {
        fs::create_dir_all(home.path("empty")).unwrap();
        assert_fails(&ran(&home, args), 1, &[part]);
    }
    // Two files of one name would become one.
    for folder in ["x", "y"] {
        fs::create_dir(home.path(folder)).unwrap();
        home.write(&format!("{folder}/same"), folder.as_bytes());
    }
    let output = ran(
        &home,
        &["encrypt", "-f", "-r", r, "-o", "out/", "x/same", "y/same"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("is that of another input already"),
        "{}",
        stderr(&output)
    );
    assert_eq!(tree(&home, "out"), ["same.age"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let home = Home::new();
    fs::create_dir(home.path("man")).unwrap();
    succeeds(&home, &["man", "-o", "man"]);
    let pages = tree(&home, "man");
    for page in [
        "oarlock.1",
        "oarlock-encrypt.1",
        "oarlock-provider-install.1",
    ] {
        assert!(
            pages.contains(&page.to_string()),
            "{page} is not in {pages:?}"
        );
    }
    let page = succeeds(&home, &["man", "encrypt"]).stdout;
    assert_eq!(page, home.read("man/oarlock-encrypt.1"));
    let page = String::from_utf8(page).unwrap();
    for part in [".TH oarlock-encrypt 1", "\\-\\-recursive", "Examples"] {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
    assert_fails(
        &ran(&home, &["man", "nothing"]),
        2,
        &["unknown command nothing"],
    );
}

/// Returns the files below a folder.
fn tree(home: &Home, name: &str) -> Vec<String> {
    let root = home.path(name);
    let mut files: Vec<String> = walkdir::WalkDir::new(&root)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| !entry.file_type().is_dir())
        .map(|entry| {
            let path = entry.path().strip_prefix(&root).unwrap();
            path.display().to_string()
        })
        .collect();
    files.sort();
    files
}

/// Returns the temporary files that were left.
fn hidden(home: &Home) -> Vec<String> {
    let mut files = tree(home, "");
    files.retain(|name| name.starts_with(".oarlock-"));
    files
}

fn succeeds(home: &Home, args: &[&str]) -> Output {
    succeeded(&mut home.oarlock(args))
}

fn ran(home: &Home, args: &[&str]) -> Output {
    home.oarlock(args).output().unwrap()
}
