//! Pipes, slow ends, and the progress bar.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use oarlock_testing::noise;

use crate::common::terminal::on_a_terminal;
use crate::common::{IV, KEY, enc, openssl, read_soon, run, stderr};

#[test]
fn a_few_bytes_come_out_as_soon_as_they_went_in() {
    for threads in ["1", "2"] {
        let data = noise(20 * 7);
        let expected = openssl(128, IV, &data);
        let mut child = enc(128, IV)
            .args(["-T", threads])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        for (piece, expected) in data.chunks(7).zip(expected.chunks(7)) {
            stdin.write_all(piece).unwrap();
            let mut got = [0; 7];
            read_soon(&mut stdout, &mut got);
            assert_eq!(got, expected);
        }
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn slow_and_uneven_ends_lose_nothing() {
    let data = noise(3_000_000);
    let expected = openssl(256, IV, &data);
    for threads in ["1", "2"] {
        let mut child = enc(256, IV)
            .args(["-T", threads])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let got = thread::scope(|scope| {
            scope.spawn(|| {
                let mut rest = &data[..];
                for bytes in [1, 70_000, 4096, 900_000, 3, 65_536].into_iter().cycle() {
                    let (piece, more) = rest.split_at(rest.len().min(bytes));
                    stdin.write_all(piece).unwrap();
                    rest = more;
                    if rest.is_empty() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(3));
                }
                drop(stdin);
            });
            let mut got = Vec::new();
            let mut buffer = vec![0; 50_000];
            loop {
                match stdout.read(&mut buffer).unwrap() {
                    0 => break got,
                    bytes => got.extend_from_slice(&buffer[..bytes]),
                }
                thread::sleep(Duration::from_millis(2));
            }
        });
        assert!(got == expected);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_named_pipe_and_the_name_of_standard_output_are_written_directly() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let data = noise(500_000);
    let expected = openssl(128, IV, &data);
    let got = thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&fifo).unwrap());
        let result = run(enc(128, IV).arg("-o").arg(&fifo), &data);
        assert!(result.status.success(), "{}", stderr(&result));
        reader.join().unwrap()
    });
    assert!(got == expected);

    let result = run(enc(128, IV).args(["-o", "/dev/stdout"]), &data);
    assert!(result.status.success(), "{}", stderr(&result));
    assert!(result.stdout == expected);
}

#[test]
fn the_bar_is_for_terminals() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("in");
    fs::write(&file, noise(20 << 20)).unwrap();
    let enc = format!("$OARLOCK enc --cipher aes-256-ctr -K {KEY} --iv {IV}");
    // Creates the file `seen` as soon as the terminal shows `part`.
    let until_seen = |script: &str, part: &str, seen: &Path| {
        let (status, shown) = on_a_terminal(directory.path(), script, |_, shown| {
            if !seen.exists() && shown.contains(part) {
                fs::write(seen, "").unwrap();
            }
        });
        assert!(status.success(), "{shown}");
        shown
    };
    let without_bar = |script: &str| {
        let (status, shown) = on_a_terminal(directory.path(), script, |_, _| {});
        assert!(status.success(), "{shown}");
        shown
    };

    // The reader takes little at a time until the bar is shown.
    let seen = directory.path().join("seen");
    let shown = until_seen(
        &format!(
            "{enc} {} | (while [ ! -e {} ] && [ $(head -c 100000 | wc -c) != 0 ]; \
             do sleep 0.05; done; cat > /dev/null)",
            file.display(),
            seen.display()
        ),
        "ETA",
        &seen,
    );
    for part in ["of 20.00 MiB", "iB/s", "ETA"] {
        assert!(shown.contains(part), "{part}: {shown:?}");
    }
    let lines = shown.split(['\r', '\n', '\x1b']);
    let widest = lines.map(|line| line.trim_end().chars().count()).max();
    assert!(widest <= Some(78), "{shown:?}");

    // The input is slow until the bar is shown.
    let seen = directory.path().join("seen-again");
    let shown = until_seen(
        &format!(
            "(for i in $(seq 600); do [ -e {} ] && break; head -c 100000 /dev/zero; \
             sleep 0.1; done) | {enc} > /dev/null",
            seen.display()
        ),
        "iB/s",
        &seen,
    );
    assert!(shown.contains("iB/s"), "{shown:?}");

    let slowly = "(for i in 1 2 3 4 5; do head -c 100000 /dev/zero; sleep 0.15; done)";
    let shown = without_bar(&format!("{slowly} | {enc} --progress never > /dev/null"));
    assert_eq!(shown, "");
    let shown = without_bar(&format!("{slowly} | {enc} 2>&1 >/dev/null | cat"));
    assert_eq!(shown, "", "stderr is a pipe");
}
