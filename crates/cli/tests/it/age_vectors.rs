//! The age community's vectors through every way in which the command reads and writes: each ends as it must, and no byte is
//! released that must not be.
//!
//! | input | output |
//! |---|---|
//! | a pipe | a pipe |
//! | a file as standard input | a pipe |
//! | a file | a pipe; on one thread; a file; a file that the command names, one of two files |
//! | a range of a file, at each edge | a pipe |

use std::fs::File;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use oarlock_testing::noise;
use oarlock_vectors::age::{AgeExpectation, AgeVector, all};
use sha2::{Digest as _, Sha256};

use crate::common::age::{CHUNK_BYTES, Home};
use crate::common::{assert_fails, run, stderr};

#[test]
fn every_vector_ends_as_it_must() {
    let vectors = all().unwrap();
    let (next, parts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let home = Home::new();
                while let Some(vector) = vectors.get(next.fetch_add(1, Ordering::Relaxed)) {
                    parts.fetch_add(check(&home, vector), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(vectors.len(), 147);
    // Ranges of the valid files, and of those of which only the end is valid.
    assert!(parts.into_inner() > 500);
}

/// Returns the number of ranges read.
fn check(home: &Home, vector: &AgeVector) -> usize {
    let way = Way::new(home, vector);
    let whole = run(&mut way.decrypt(&[]), &vector.file);
    way.assert_ends("a pipe", &whole, &whole.stdout);
    let mut from_file = way.decrypt(&[]);
    let result = from_file.stdin(File::open(home.path("file.age")).unwrap());
    let result = result.output().unwrap();
    way.assert_ends("standard input", &result, &result.stdout);
    for threads in ["auto", "1"] {
        let result = way.ran(&["-T", threads, "-o", "-", "file.age"]);
        way.assert_ends(threads, &result, &result.stdout);
    }
    let is_good = vector.expect == AgeExpectation::Success;
    let result = way.ran(&["-f", "-o", "opened", "file.age"]);
    way.assert_file("a file", &result, "opened");
    // Each of two files has a thread.
    home.write("other.age", &vector.file);
    let both = ["--each", "-o", "many", "file.age", "other.age"];
    let result = way.ran(&both);
    assert_eq!(result.status.success(), is_good, "{}", vector.source);
    for name in ["many/file", "many/other"] {
        if is_good {
            way.assert_released(name, &home.read(name));
            std::fs::remove_file(home.path(name)).unwrap();
        }
    }
    assert!(oarlock_testing::names(&home.path("many")).is_empty());
    let wrong = wrong_chunk(&stderr(&whole));
    way.check_parts(&whole.stdout, wrong)
}

/// A way to decrypt a vector.
struct Way<'a> {
    home: &'a Home,
    vector: &'a AgeVector,
    /// The options and files to decrypt with.
    with: Vec<Vec<&'static str>>,
}

impl<'a> Way<'a> {
    fn new(home: &'a Home, vector: &'a AgeVector) -> Self {
        let mut with = Vec::new();
        home.write("file.age", &vector.file);
        for (name, passphrase) in ["first", "second"].iter().zip(&vector.passphrases) {
            home.write(name, format!("{passphrase}\n").as_bytes());
            with.push(vec!["--passphrase-file", name]);
        }
        // Malformed files may have no identities, so any will do. With a passphrase, the command accepts no identities.
        let identities = vector.identities.join("\n");
        home.write("theirs.txt", identities.as_bytes());
        match (&with[..], vector.identities.is_empty()) {
            ([], true) => with.push(vec!["-i", "key.txt"]),
            ([], false) => with.push(vec!["-i", "theirs.txt"]),
            _ => {}
        }
        Self { home, vector, with }
    }

    fn decrypt(&self, args: &[&str]) -> Command {
        // One passphrase is asked for, so the first of a vector's two is tried.
        self.home
            .oarlock(&[&["decrypt"], &self.with[0][..], args].concat())
    }

    fn ran(&self, args: &[&str]) -> Output {
        self.decrypt(args).stdin(Stdio::null()).output().unwrap()
    }

    fn assert_ends(&self, way: &str, result: &Output, released: &[u8]) {
        let AgeVector { source, expect, .. } = self.vector;
        let said = stderr(result);
        if *expect == AgeExpectation::Success {
            assert!(result.status.success(), "{source}, {way}: {said}");
        } else {
            assert!(!result.status.success(), "{source}, {way}");
            let expected: &[&str] = match expect {
                AgeExpectation::NoMatch => {
                    &["none of the", "another passphrase", "with a passphrase"]
                }
                AgeExpectation::HmacFailure => &["the header was changed"],
                AgeExpectation::ArmorFailure => &["damaged text", "not an age file"],
                AgeExpectation::PayloadFailure => &["not authentic", "incomplete", "appended"],
                _ => &[": "],
            };
            let is_expected = expected.iter().any(|part| said.contains(part));
            assert!(is_expected, "{source}, {way}: {said}");
            assert_fails(result, 1, &[]);
        }
        self.assert_released(way, released);
    }

    /// Checks the file that the command leaves under this name.
    fn assert_file(&self, way: &str, result: &Output, name: &str) {
        let path = self.home.path(name);
        let is_good = self.vector.expect == AgeExpectation::Success;
        assert_eq!(path.exists(), is_good, "{}, {way}", self.vector.source);
        if is_good {
            self.assert_ends(way, result, &self.home.read(name));
            std::fs::remove_file(path).unwrap();
        } else {
            assert_fails(result, 1, &["file.age: "]);
        }
    }

    fn assert_released(&self, way: &str, released: &[u8]) {
        let source = &self.vector.source;
        match self.vector.payload_sha256 {
            Some(hash) => assert!(Sha256::digest(released)[..] == hash, "{source}, {way}"),
            None => assert!(released.is_empty(), "{source}, {way}"),
        }
    }

    /// Checks ranges. `whole` is what the whole file releases, and `wrong` the number of the chunk that ends it. Returns the
    /// number of ranges read.
    fn check_parts(&self, whole: &[u8], wrong: Option<usize>) -> usize {
        let AgeVector { source, expect, .. } = self.vector;
        let is_good = *expect == AgeExpectation::Success;
        let part = |range: &str| self.ran(&["--range", range, "file.age"]);
        if self.vector.is_armored {
            assert_fails(&part("0:"), 1, &[]);
            return 0;
        }
        if self.vector.payload_sha256.is_none() {
            let result = part("0:1");
            self.assert_ends("a part", &result, &result.stdout);
            return 0;
        }
        let result = part("0:");
        assert_eq!(
            result.status.success(),
            is_good,
            "{source}: {}",
            stderr(&result)
        );
        assert!(whole.starts_with(&result.stdout), "{source}");
        let of = whole.len();
        let mut edges = vec![
            0,
            1,
            CHUNK_BYTES - 1,
            CHUNK_BYTES,
            CHUNK_BYTES + 1,
            of / 2,
            of,
        ];
        edges.push(of.saturating_sub(1));
        edges.sort_unstable();
        edges.dedup();
        let mut read = 0;
        for from in edges.into_iter().filter(|from| *from <= of) {
            for bytes in [Some(0), Some(1), Some(CHUNK_BYTES), None] {
                let range = format!(
                    "{from}:{}",
                    bytes.map_or(String::new(), |it| it.to_string())
                );
                let result = part(&range);
                let end = bytes.map_or(of, |bytes| of.min(from + bytes));
                let said = stderr(&result);
                if is_good {
                    assert!(result.status.success(), "{source}, {range}: {said}");
                    assert!(result.stdout == whole[from..end], "{source}, {range}");
                } else if result.status.success() {
                    // Only if neither the end nor the range is damaged.
                    let last = (from + bytes.unwrap_or(of)).saturating_sub(1);
                    let reaches = from / CHUNK_BYTES..=last / CHUNK_BYTES;
                    let is_apart =
                        bytes == Some(0) || !wrong.is_some_and(|it| reaches.contains(&it));
                    assert!(is_apart, "{source}, {range}");
                    assert!(
                        bytes.is_none_or(|bytes| result.stdout.len() <= bytes),
                        "{source}, {range}"
                    );
                } else {
                    assert!(
                        whole[from..].starts_with(&result.stdout),
                        "{source}, {range}"
                    );
                    assert_fails(&result, 1, &["file.age: "]);
                }
                read += 1;
            }
        }
        if is_good {
            let beyond = part(&format!("{}:", of + 1));
            assert_fails(&beyond, 1, &["--range begins at byte"]);
        }
        read
    }
}

/// Returns the chunk that a message names.
fn wrong_chunk(said: &str) -> Option<usize> {
    let (_, behind) = said.split_once("chunk")?;
    let begin = behind.find(|c: char| c.is_ascii_digit())?;
    let digits = &behind[begin..];
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// A byte more or less at the end of a file shows, wherever the requested range is.
#[test]
fn parts_of_a_file_that_was_cut_or_grew_are_refused() {
    let home = Home::new();
    for size in [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES] {
        let plain = noise(size);
        let sealed = home.sealed(&plain);
        let mut wrong: Vec<Vec<u8>> = Vec::new();
        for more in [1, 2, 8, 15, 16, 17, CHUNK_BYTES + 16] {
            wrong.push([&sealed[..], &noise(more)].concat());
        }
        for less in [1, 15, 16, 17, CHUNK_BYTES + 16] {
            wrong.extend(
                sealed
                    .len()
                    .checked_sub(less)
                    .map(|left| sealed[..left].to_vec()),
            );
        }
        for (number, wrong) in wrong.iter().enumerate() {
            home.write("wrong.age", wrong);
            let parts = [
                "0:".into(),
                "0:1".into(),
                format!("{size}:"),
                format!("{}:", size + 1),
            ];
            for part in parts {
                let args = ["decrypt", "-i", "key.txt", "--range", &part, "wrong.age"];
                let result = home.oarlock(&args).output().unwrap();
                assert!(!result.status.success(), "{size}, {number}, {part}");
                assert_fails(&result, 1, &[]);
                assert!(result.stdout.is_empty(), "{size}, {number}, {part}");
                let args = [
                    "decrypt",
                    "-i",
                    "key.txt",
                    "--range",
                    &part,
                    "-o",
                    "part",
                    "wrong.age",
                ];
                assert_fails(&home.oarlock(&args).output().unwrap(), 1, &["wrong.age: "]);
                assert!(!home.path("part").exists());
            }
            // A length that no file can have is reported.
            let result = home.oarlock(&["inspect", "wrong.age"]).output().unwrap();
            if (1..=16).contains(&(wrong.len() as i64 - sealed.len() as i64))
                && size > 0
                && size % CHUNK_BYTES == 0
            {
                assert_fails(&result, 1, &["wrong.age: no age file has this length"]);
            }
        }
    }
}

const THREADS: usize = 4;
