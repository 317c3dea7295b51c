//! Damaged files through the command: one line, an exit status, nothing under the final name, and through a pipe only what
//! is authentic.

use std::process::Output;

use oarlock_testing::noise;

use crate::common::age::{CHUNK_BYTES, Home, SEALED_CHUNK_BYTES};
use crate::common::{assert_fails, run, stderr};

/// Threads read 16 chunks at a time, so there are two such groups and part of a third.
const CHUNKS: usize = 36;

#[test]
fn damage_at_every_chunk_is_found() {
    let home = Home::new();
    let plain = noise((CHUNKS - 1) * CHUNK_BYTES + 1000);
    let sealed = home.sealed(&plain);
    let head = sealed.len() - plain.len() - CHUNKS * 16;
    let start = |chunk: usize| (head + chunk * SEALED_CHUNK_BYTES).min(sealed.len());
    let last = CHUNKS - 1;
    for chunk in 0..CHUNKS {
        let (at, next) = (start(chunk), start(chunk + 1));
        let (before, this, after) = (&sealed[..at], &sealed[at..next], &sealed[next..]);
        let flipped = |at: usize| {
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            flipped
        };
        // The damage, the file, and the number of chunks that a pipe may receive.
        let mut damaged = vec![
            ("a bit of its first byte", flipped(at), chunk),
            ("a bit of its tag", flipped(next - 1), chunk),
            ("cut before it", before.to_vec(), chunk),
            ("cut within it", sealed[..at + 17].to_vec(), chunk),
            ("cut within its tag", sealed[..next - 1].to_vec(), chunk),
            ("left out", [before, after].concat(), chunk),
            (
                "repeated",
                [before, this, this, after].concat(),
                (chunk + 1).min(last),
            ),
            (
                "a byte put before it",
                [before, b"x", this, after].concat(),
                chunk,
            ),
        ];
        if chunk < last {
            let (second, rest) = after.split_at(start(chunk + 2) - next);
            let swapped = [before, second, this, rest].concat();
            damaged.push(("swapped with the next", swapped, chunk));
        } else {
            damaged.push(("a byte appended", [&sealed[..], b"x"].concat(), last));
            let again = [&sealed[..], &sealed[head..]].concat();
            damaged.push(("all again behind it", again, last));
        }
        for (what, damaged, chunks) in damaged {
            let authentic = &plain[..(chunks * CHUNK_BYTES).min(plain.len())];
            check(
                &home,
                &format!("chunk {chunk}, {what}"),
                &damaged,
                authentic,
            );
        }
    }
}

fn check(home: &Home, what: &str, sealed: &[u8], authentic: &[u8]) {
    home.write("damaged", sealed);
    let before = home.names();
    let to_file = ["decrypt", "-i", "key.txt", "-o", "opened", "damaged"];
    let result = home.oarlock(&to_file).output().unwrap();
    assert_refused(what, &result, "damaged: ");
    assert_eq!(home.names(), before, "{what}");

    let result = run(&mut home.oarlock(&["decrypt", "-i", "key.txt"]), sealed);
    assert_refused(what, &result, "standard input: ");
    assert!(
        result.stdout == authentic,
        "{what}: {}",
        result.stdout.len()
    );

    let mut alone = home.oarlock(&["decrypt", "-T", "1", "-i", "key.txt", "-o", "-", "damaged"]);
    let result = alone.output().unwrap();
    assert_refused(what, &result, "damaged: ");
    assert!(
        result.stdout == authentic,
        "{what}: {}",
        result.stdout.len()
    );
}

fn assert_refused(what: &str, result: &Output, name: &str) {
    let said = stderr(result);
    assert!(!result.status.success(), "{what} was taken");
    assert_fails(result, 1, &[name]);
    let named = ["not authentic", "incomplete", "appended"];
    assert!(
        named.iter().any(|named| said.contains(named)),
        "{what}: {said}"
    );
}

#[test]
fn armored_files_that_are_damaged_are_refused() {
    let home = Home::new();
    let plain = noise(3 * CHUNK_BYTES);
    home.write("plain", &plain);
    let mut encrypt = home.oarlock(&["encrypt", "-a", "-r", &home.recipient, "-o", "-", "plain"]);
    let text = String::from_utf8(encrypt.output().unwrap().stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let middle = lines.len() / 2;
    let with = |line: &str| {
        let mut lines = lines.clone();
        lines[middle] = line;
        lines.join("\n")
    };
    let no_end = lines[..lines.len() - 1].join("\n");
    let line = format!("line {} ", middle + 1);
    let last = format!("line {} ", lines.len());
    let cases: [(String, &[&str]); 9] = [
        (with(""), &[&line, "empty"]),
        (with(&lines[middle][..60]), &["line", "shorter"]),
        (with(&format!("{}A", lines[middle])), &[&line, "64 columns"]),
        (
            with(&lines[middle].replacen(|_: char| true, "!", 1)),
            &[&line, "base64"],
        ),
        (with(lines[middle + 1]), &["chunk", "not authentic"]),
        (no_end.clone(), &[&last, "the end is missing"]),
        (no_end[..no_end.len() - 3].to_owned(), &["line", "base64"]),
        (format!("{text}\nmore"), &["follows the end"]),
        (text.replace("BEGIN AGE", "BEGIN PGP"), &["line 1 is not"]),
    ];
    for (text, parts) in cases {
        home.write("damaged", text.as_bytes());
        let before = home.names();
        let to_file = ["decrypt", "-i", "key.txt", "-o", "opened", "damaged"];
        let result = home.oarlock(&to_file).output().unwrap();
        assert_fails(&result, 1, &[&["damaged: "], parts].concat());
        assert_eq!(home.names(), before);
        let mut to_pipe = home.oarlock(&["decrypt", "-i", "key.txt"]);
        let result = run(&mut to_pipe, text.as_bytes());
        assert_fails(&result, 1, parts);
        assert!(plain.starts_with(&result.stdout) && result.stdout.len() < plain.len());
        assert_eq!(result.stdout.len() % CHUNK_BYTES, 0);
    }
}
