//! Files of `openssl enc` with a passphrase, and each of its ciphers: either program reads what the other writes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use oarlock_testing::{names, noise};
use rustix::process::Signal;

use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{
    IV, KEY, SmallDisk, assert_fails, assert_one_line, endless, ends_soon, oarlock, run, signal,
    stderr, until_at_work,
};

const CIPHERS: [(&str, usize); 7] = [
    ("aes-128-ctr", 128),
    ("aes-192-ctr", 192),
    ("aes-256-ctr", 256),
    ("aes-128-cbc", 128),
    ("aes-192-cbc", 192),
    ("aes-256-cbc", 256),
    ("chacha20", 256),
];

/// Sizes at ends of blocks, and on either side of what a thread takes at a time, with a header and without.
const SIZES: [usize; 16] = [
    0,
    1,
    15,
    16,
    17,
    65_535,
    65_536,
    65_537,
    (1 << 20) - 16,
    (1 << 20) - 1,
    1 << 20,
    (1 << 20) + 1,
    2 << 20,
    3 << 20,
    (3 << 20) + 1,
    (5 << 20) + 4097,
];

const PASSPHRASE: &str = "correct horse";

fn ours(what: &str, cipher: &str) -> Command {
    let mut command = oarlock();
    command.args([what, "--cipher", cipher, "--pass", "env:SECRET"]);
    command.env("SECRET", PASSPHRASE);
    command
}

fn theirs(cipher: &str, arguments: &[&str], data: &[u8]) -> Vec<u8> {
    let mut command = Command::new("openssl");
    command.args(["enc", &format!("-{cipher}")]).args(arguments);
    let output = run(command.env("SECRET", PASSPHRASE), data);
    assert!(output.status.success(), "openssl: {}", stderr(&output));
    output.stdout
}

/// Options for a passphrase.
const PBKDF2: [&str; 3] = ["-pbkdf2", "-pass", "env:SECRET"];
const DECRYPT: [&str; 4] = ["-d", "-pbkdf2", "-pass", "env:SECRET"];

/// Runs `command` from file to file and from pipe to pipe, on one thread and on two.
fn every_way(directory: &Path, data: &[u8], command: impl Fn() -> Command, check: impl Fn(&[u8])) {
    let (input, output) = (directory.join("in"), directory.join("out"));
    fs::write(&input, data).unwrap();
    for threads in ["1", "2"] {
        let mut to_file = command();
        let to_file = to_file.args(["-T", threads]).arg(&input);
        let result = run(to_file.arg("-o").arg(&output), b"");
        assert!(result.status.success(), "{}", stderr(&result));
        check(&fs::read(&output).unwrap());
        fs::remove_file(&output).unwrap();
        let result = run(command().args(["-T", threads]), data);
        assert!(result.status.success(), "{}", stderr(&result));
        check(&result.stdout);
    }
    assert_eq!(names(directory), ["in"]);
}

#[test]
fn openssl_reads_what_is_written_and_the_other_way_round() {
    let directory = tempfile::tempdir().unwrap();
    let decrypt = [&DECRYPT[..], &["-iter", "10"]].concat();
    for (cipher, _) in CIPHERS {
        for bytes in SIZES {
            let data = noise(bytes);
            let what = format!("{cipher}, {bytes} bytes");
            // The next test covers the default number of rounds.
            let rounds = |what| {
                let mut command = ours(what, cipher);
                command.args(["--iter", "10"]);
                command
            };
            let salted = theirs(cipher, &[&PBKDF2[..], &["-iter", "10"]].concat(), &data);
            let dec = || rounds("dec");
            every_way(directory.path(), &salted, dec, |plain| {
                assert!(plain == data, "{what}");
            });
            let enc = || rounds("enc");
            every_way(directory.path(), &data, enc, |salted| {
                assert!(salted.starts_with(b"Salted__"), "{what}");
                assert!(theirs(cipher, &decrypt, salted) == data, "{what}");
            });
        }
    }
}

/// The file is longer than all buffers together.
#[test]
fn long_files_go_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let data = noise((40 << 20) + 9);
    for cipher in ["aes-256-ctr", "aes-256-cbc"] {
        let salted = theirs(cipher, &PBKDF2, &data);
        let dec = || ours("dec", cipher);
        every_way(directory.path(), &salted, dec, |plain| {
            assert!(plain == data)
        });
        let enc = || ours("enc", cipher);
        every_way(directory.path(), &data, enc, |salted| {
            assert!(theirs(cipher, &DECRYPT, salted) == data);
        });
    }
}

#[test]
fn keys_and_ivs_that_are_given_make_no_header() {
    let directory = tempfile::tempdir().unwrap();
    // Counters of ChaCha20 that carry into its nonce, and further within that; then one of AES that carries.
    let ivs = [
        IV,
        "feffffff0123456789abcdef00112233",
        "ffffffffffffffff89abcdef00112233",
        "00c0ffffffffffffffffffffffffffff",
    ];
    for (cipher, bits) in CIPHERS {
        let key = &KEY[..bits / 4];
        let ivs = match cipher.rsplit_once('-') {
            None => &ivs[..],
            Some((_, "ctr")) => &[ivs[0], ivs[3]],
            // CBC has no counter.
            Some(_) => &ivs[..1],
        };
        for iv in ivs {
            for bytes in [0, 1, 16, 100, 129, (3 << 20) + 5] {
                let data = noise(bytes);
                let sealed = theirs(cipher, &["-K", key, "-iv", iv], &data);
                let command = |what: &str| {
                    let mut command = oarlock();
                    command.args([what, "--cipher", cipher, "-K", key, "--iv", iv]);
                    command
                };
                let enc = || command("enc");
                every_way(directory.path(), &data, enc, |got| {
                    assert!(got == sealed, "{cipher}, {iv}, {bytes} bytes");
                });
                let dec = || command("dec");
                every_way(directory.path(), &sealed, dec, |got| {
                    assert!(got == data, "{cipher}, {iv}, {bytes} bytes");
                });
            }
        }
    }
}

#[test]
fn rounds_and_hashes_are_those_of_openssl() {
    let data = noise(1000);
    for (iter, md) in [
        ("1", "sha256"),
        ("12345", "sha512"),
        ("10000", "sha384"),
        ("2", "sha224"),
        ("3", "sha1"),
        ("4", "md5"),
    ] {
        let options = ["-iter", iter, "-md", md, "-pass", "env:SECRET"];
        let salted = theirs("aes-256-cbc", &options, &data);
        let mut dec = ours("dec", "aes-256-cbc");
        let result = run(dec.args(["--iter", iter, "--md", md]), &salted);
        assert_eq!(result.stdout, data, "{}", stderr(&result));
        let mut enc = ours("enc", "aes-256-cbc");
        let salted = run(enc.args(["--iter", iter, "--md", md]), &data).stdout;
        let options = ["-d", "-iter", iter, "-md", md, "-pass", "env:SECRET"];
        assert_eq!(theirs("aes-256-cbc", &options, &salted), data);
    }
}

#[test]
fn files_without_pbkdf2_are_read() {
    let data = noise(1000);
    for cipher in ["aes-128-cbc", "aes-256-cbc", "aes-256-ctr", "chacha20"] {
        for md in ["md5", "sha1", "sha256", "sha512"] {
            let salted = theirs(cipher, &["-md", md, "-pass", "env:SECRET"], &data);
            let mut dec = ours("dec", cipher);
            let result = run(dec.args(["--no-pbkdf2", "--md", md]), &salted);
            assert_eq!(result.stdout, data, "{cipher}, {md}: {}", stderr(&result));
        }
    }
    let result = run(ours("enc", "aes-256-cbc").arg("--no-pbkdf2"), b"");
    assert_fails(&result, 2, &["--no-pbkdf2"]);
}

#[test]
fn the_passphrase_comes_from_where_it_is_said_to() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, format!("{PASSPHRASE}\nnot this\n")).unwrap();
    let input = directory.path().join("in");
    fs::write(&input, theirs("aes-128-ctr", &PBKDF2, b"data")).unwrap();
    let dec = |source: &str| {
        let mut command = oarlock();
        command.args(["dec", "--cipher", "aes-128-ctr", "--pass", source]);
        command.arg(&input);
        command
    };
    let by_file = run(&mut dec(&format!("file:{}", file.display())), b"");
    assert_eq!(by_file.stdout, b"data", "{}", stderr(&by_file));
    let by_stdin = run(&mut dec("stdin"), PASSPHRASE.as_bytes());
    assert_eq!(by_stdin.stdout, b"data", "{}", stderr(&by_stdin));
    assert_one_line(&stderr(&by_stdin), &["warning", "authentication"]);

    let mut env = dec("env:SECRET");
    let long = "x".repeat(1024);
    let cases: [(&str, &str, &[&str]); 8] = [
        ("pass:hidden", "x", &["--pass", "other users"]),
        ("fd:3", "x", &["file:/dev/fd/"]),
        ("hidden", "x", &["file:PATH"]),
        ("env:OARLOCK_NOT_SET", "x", &["OARLOCK_NOT_SET", "not set"]),
        ("env:SECRET", "", &["variable SECRET", "empty"]),
        ("env:SECRET", &long, &["variable SECRET", "1023"]),
        ("file:/dev/null", "x", &["/dev/null", "empty"]),
        ("stdin", "x", &["standard input"]),
    ];
    for (source, value, parts) in cases {
        let mut command = ours("enc", "aes-128-ctr");
        command.env("SECRET", value);
        let mut arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        *arguments.last_mut().unwrap() = source.into();
        let result = run(oarlock().args(arguments).env("SECRET", value), b"data");
        assert_fails(&result, 2, parts);
        assert!(!stderr(&result).contains("hidden"), "{}", stderr(&result));
    }
    let result = run(&mut dec("file:/nonexistent"), b"");
    assert_fails(&result, 1, &["/nonexistent", "No such file"]);

    let result = run(
        dec(&format!("file:{}", file.display()))
            .arg("-o")
            .arg(&file),
        b"",
    );
    assert_eq!(result.status.code(), Some(2));
    assert!(stderr(&result).contains("is the passphrase file, which would be lost"));
    let result = run(env.args(["-K", &KEY[..32], "--iv", IV]), b"");
    assert_fails(&result, 2, &["--pass", "--key"]);
}

#[test]
fn the_passphrase_is_asked_for_on_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let (plain, salted) = (directory.path().join("in"), directory.path().join("out"));
    fs::write(&plain, "data").unwrap();
    let enc = format!(
        "$OARLOCK enc --cipher aes-256-cbc {} -o {}",
        plain.display(),
        salted.display()
    );
    let ask = |script: &str, typed: &[&str]| on_a_terminal(directory.path(), script, typing(typed));
    let (status, shown) = ask(&enc, &[PASSPHRASE, PASSPHRASE]);
    assert!(status.success(), "{shown}");
    let file = fs::read(&salted).unwrap();
    assert_eq!(theirs("aes-256-cbc", &DECRYPT, &file), b"data");

    let dec = format!(
        "$OARLOCK dec --cipher aes-256-cbc {} -o {}",
        salted.display(),
        plain.display()
    );
    fs::remove_file(&plain).unwrap();
    let (status, shown) = ask(&dec, &[PASSPHRASE]);
    assert!(status.success(), "{shown}");
    assert_eq!(fs::read(&plain).unwrap(), b"data");

    fs::remove_file(&salted).unwrap();
    let (status, shown) = ask(&enc, &[PASSPHRASE, "another"]);
    assert_eq!(status.code(), Some(1), "{shown}");
    assert_eq!(names(directory.path()), ["in"]);
}

#[test]
fn nobody_waits_for_a_passphrase_without_a_terminal() {
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(env!("CARGO_BIN_EXE_oarlock"));
    command.args(["enc", "--cipher", "aes-256-cbc"]);
    let result = run(&mut command, b"data");
    assert_fails(&result, 1, &["no passphrase", "--passphrase-file FILE"]);
}

/// Checks for the warning, and then one line of failure with all of `parts`.
fn assert_fails_after_the_warning(output: &Output, status: i32, parts: &[&str]) {
    let text = stderr(output);
    let (warning, failure) = text.split_once('\n').unwrap();
    assert_one_line(&format!("{warning}\n"), &["warning", "authentication"]);
    assert_one_line(failure, parts);
    assert_eq!(output.status.code(), Some(status), "{text}");
}

#[test]
fn what_is_no_such_file_is_named() {
    let cases: [(&[u8], &str); 6] = [
        (b"", "ends within the header, at byte 0"),
        (b"Salt", "ends within the header, at byte 4"),
        (b"Salted__", "ends within the header, at byte 8"),
        (b"Salted__1234567", "ends within the header, at byte 15"),
        (b"salted__12345678", "does not begin with `Salted__`"),
        (b"hello", "does not begin with `Salted__`"),
    ];
    let directory = tempfile::tempdir().unwrap();
    for (file, part) in cases {
        let output = directory.path().join("out");
        for cipher in ["aes-256-cbc", "aes-256-ctr"] {
            let mut dec = ours("dec", cipher);
            let result = run(dec.arg("-o").arg(&output), file);
            assert_fails(&result, 1, &[part]);
            assert_eq!(names(directory.path()), [""; 0]);
        }
    }
}

/// Encrypts with a fixed salt, so that a wrong passphrase always gives the same result.
fn with_a_known_salt(data: &[u8]) -> Vec<u8> {
    let salt = "0102030405060708";
    let arguments = ["-pbkdf2", "-pass", "env:SECRET", "-S", salt];
    let mut file = b"Salted__\x01\x02\x03\x04\x05\x06\x07\x08".to_vec();
    let body = theirs("aes-256-cbc", &arguments, data);
    file.extend(body.strip_prefix(&file[..]).unwrap_or(&body));
    file
}

#[test]
fn damage_that_the_padding_shows_leaves_no_output() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    fs::write(&output, "old").unwrap();
    for bytes in [100, 65_536, (3 << 20) + 5] {
        let data = noise(bytes);
        let good = with_a_known_salt(&data);
        // A bit of the block before the last flips one in the padding.
        let mut flipped = good.clone();
        let at = good.len() - 17;
        flipped[at] ^= 0x80;
        let cut = good[..good.len() - 1].to_vec();
        let a_block_less = good[..good.len() - 16].to_vec();
        let cases = [
            ("flipped", flipped, PASSPHRASE, "bad padding"),
            ("cut", cut, PASSPHRASE, "whole blocks of 16 bytes"),
            ("a block less", a_block_less, PASSPHRASE, "bad padding"),
            ("passphrase", good.clone(), "another", "bad padding"),
            (
                "header only",
                good[..16].to_vec(),
                PASSPHRASE,
                "whole blocks of 16 bytes",
            ),
        ];
        for (what, file, passphrase, part) in cases {
            fs::write(&input, &file).unwrap();
            for threads in ["1", "2"] {
                let dec = || {
                    let mut command = ours("dec", "aes-256-cbc");
                    command.env("SECRET", passphrase).args(["-T", threads]);
                    command
                };
                let result = run(dec().arg(&input).arg("-o").arg(&output), b"");
                assert_fails_after_the_warning(&result, 1, &[part, "in: "]);
                assert!(!stderr(&result).contains("already received"));
                assert_eq!(fs::read(&output).unwrap(), b"old", "{what}");
                assert_eq!(names(directory.path()), ["in", "out"], "{what}");

                let result = run(&mut dec(), &file);
                let parts = [
                    part,
                    "standard output",
                    "has already received what came before",
                ];
                assert_fails_after_the_warning(&result, 1, &parts);
                // The last whole block is written if it was not known to be the last.
                let blocks = (file.len() - 16) / 16 * 16;
                let bytes = result.stdout.len();
                let is_known = bytes == blocks.saturating_sub(16);
                assert!(
                    is_known || what == "cut" && bytes == blocks,
                    "{what}: {bytes}"
                );
                if passphrase == PASSPHRASE {
                    let clean = result.stdout.len().saturating_sub(16);
                    assert!(result.stdout[..clean] == data[..clean], "{what}");
                }
            }
        }
    }
}

#[test]
fn the_warning_comes_once_and_only_with_a_passphrase() {
    let result = run(&mut ours("enc", "aes-256-ctr"), b"data");
    assert_one_line(&stderr(&result), &["warning", "oarlock encrypt"]);
    let mut command = oarlock();
    command.args(["enc", "--cipher", "aes-256-cbc", "-K", KEY, "--iv", IV]);
    assert_eq!(stderr(&run(&mut command, b"data")), "");
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), disk.path().join("out"));
    let data = noise(5 << 20);
    fs::write(&output, "old").unwrap();
    for cipher in ["aes-256-ctr", "aes-256-cbc"] {
        let salted = theirs(cipher, &PBKDF2, &data);
        for (what, file) in [("enc", &data), ("dec", &salted)] {
            fs::write(&input, file).unwrap();
            for threads in ["1", "2"] {
                let command = || {
                    let mut command = ours(what, cipher);
                    command.args(["-T", threads]).arg("-o").arg(&output);
                    command
                };
                let by_file = run(command().arg(&input), b"");
                let by_pipe = run(&mut command(), file);
                for result in [by_file, by_pipe] {
                    let parts = ["out: No space left on device at byte", "free some space"];
                    assert_fails_after_the_warning(&result, 1, &parts);
                    assert_eq!(fs::read(&output).unwrap(), b"old");
                    assert_eq!(names(disk.path()), ["out"]);
                }
            }
        }
    }
}

#[test]
fn an_interrupted_file_leaves_nothing_behind() {
    for cipher in ["aes-256-ctr", "aes-256-cbc", "chacha20"] {
        for what in ["enc", "dec"] {
            for threads in ["1", "2"] {
                let directory = tempfile::tempdir().unwrap();
                let input = endless(directory.path());
                let mut command = oarlock();
                command.args([what, "--cipher", cipher, "-K", KEY, "--iv", IV]);
                command.args(["-T", threads]).arg(&input);
                command.arg("-o").arg(directory.path().join("out"));
                let child = command.stderr(Stdio::piped()).spawn().unwrap();
                until_at_work(directory.path());
                signal(&child, Signal::INT);
                assert_fails(&ends_soon(child), 130, &["interrupted"]);
                assert_eq!(names(directory.path()), ["endless"]);
            }
        }
    }
}
