//! Failures: one line, an exit status, and nothing under the final name.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oarlock_testing::{names, noise};
use rustix::process::Signal;

use crate::common::{
    IV, KEY, SmallDisk, assert_fails, enc, endless, ends_soon, oarlock, openssl, read_soon, run,
    signal, stderr, until_at_work, until_full,
};

#[test]
fn bad_arguments_are_named() {
    let key = &KEY[..32];
    let with = |name: &str, value: &str| {
        let mut arguments = vec!["enc", "--cipher", "aes-128-ctr", "-K", key, "--iv", IV];
        match arguments.iter().position(|argument| *argument == name) {
            Some(at) => arguments[at + 1] = value,
            None => arguments.extend([name, value]),
        }
        arguments
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let without = |name: &str| {
        let mut arguments = with(name, "");
        let at = arguments
            .iter()
            .position(|argument| argument == name)
            .unwrap();
        arguments.drain(at..at + 2);
        arguments
    };
    let bad_digit = format!("{}g{}", &key[..9], &key[10..]);
    let far_off = format!("{key}é");
    let cases: Vec<(Vec<String>, &[&str])> = vec![
        (without("--cipher"), &["--cipher"]),
        (without("-K"), &["--key"]),
        (without("--iv"), &["--iv"]),
        (
            with("--cipher", "aes-128-gcm"),
            &["aes-128-gcm", "--cipher", "aes-256-ctr"],
        ),
        (
            with("-K", ""),
            &["-K", "0 hexadecimal digits", "32 (16 bytes)"],
        ),
        (
            with("-K", &key[..31]),
            &["-K", "31 hexadecimal digits", "32 (16 bytes)"],
        ),
        (
            with("-K", KEY),
            &[
                "-K",
                "64 hexadecimal digits",
                "aes-128-ctr",
                "32 (16 bytes)",
            ],
        ),
        (with("-K", &bad_digit), &["-K", "character 10", "'g'"]),
        (with("-K", &far_off), &["-K", "character 33", "'é'"]),
        (
            with("--iv", "00"),
            &["--iv", "2 hexadecimal digits", "32 (16 bytes)"],
        ),
        (
            with("--iv", "0x000000000000000000000000000000"),
            &["--iv", "character 2", "'x'"],
        ),
        (with("--threads", "0"), &["--threads", "from 1 on"]),
        (with("--threads", "many"), &["--threads", "many"]),
        (
            with("--options", "max_thread=2"),
            &["--options", "max_thread", "max_threads"],
        ),
        (
            with("--options", "max_threads=-1"),
            &["--options", "max_threads=-1"],
        ),
        (
            with("--options", "max_threads"),
            &["--options", "NAME=VALUE"],
        ),
        (
            with("--options", "cipher_blocks=17"),
            &["--options", "cipher_blocks=17", "multiple of 16"],
        ),
        (
            with("--progress", "sometimes"),
            &["--progress", "sometimes", "never"],
        ),
        (with("--key-file", "k"), &["--key"]),
        (with("--pass", "env:HOME"), &["--pass", "--key"]),
        (with("--iter", "0"), &["--iter", "0"]),
        (with("--iter", "9"), &["--iter", "--key"]),
        (with("--md", "sha3"), &["--md", "sha3", "sha256"]),
        (with("--chipher", "x"), &["--chipher", "--cipher"]),
        (
            with("in", "603deb1015ca71be2b73aef0857d7781"),
            &["too many arguments"],
        ),
    ];
    for (arguments, parts) in cases {
        let result = run(oarlock().args(&arguments), b"data");
        assert_fails(&result, 2, parts);
        assert_eq!(result.stdout, b"", "{arguments:?}");
    }
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let key = &KEY[..32];
    let enc = ["enc", "--iv", IV];
    let cases: [(&[&str], i32); 5] = [
        (&["--cipher", key, "-K", "aes-128-ctr"], 2),
        (&["--cipher", "aes-128-ctr", "-K", key, "-T", key], 2),
        (&["--cipher", "aes-128-ctr", "--key-file", key], 1),
        (&["--cipher", "aes-128-ctr", &format!("--{key}")], 2),
        (
            &["--cipher", "aes-128-ctr", "-K", key, "--progress", key],
            2,
        ),
    ];
    for (arguments, status) in cases {
        let result = run(oarlock().args(enc).args(arguments), b"");
        assert_fails(&result, status, &["not shown: they may be a key"]);
        assert!(!stderr(&result).contains(key), "{arguments:?}");
    }
    let result = run(oarlock().arg(key), b"");
    assert_fails(&result, 2, &["not shown"]);
    assert!(!stderr(&result).contains(key));
}

#[test]
fn the_key_file_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (key, link) = (directory.path().join("key"), directory.path().join("link"));
    fs::write(&key, KEY).unwrap();
    std::os::unix::fs::symlink("key", &link).unwrap();
    for output in [&key, &link] {
        let mut command = oarlock();
        command.args(["enc", "--cipher", "aes-256-ctr", "--iv", IV, "--key-file"]);
        let result = run(command.arg(&key).arg("-o").arg(output), b"data");
        assert_fails(&result, 2, &["-o", "the key file", "another name"]);
        assert_eq!(fs::read_to_string(&key).unwrap(), KEY);
    }
}

#[test]
fn a_file_is_not_appended_to_itself() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, noise(100)).unwrap();
    let child = enc(256, IV)
        .arg(&file)
        .stdout(fs::OpenOptions::new().append(true).open(&file).unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert_fails(&ends_soon(child), 2, &["standard output", "its own INPUT"]);
    assert_eq!(fs::read(&file).unwrap(), noise(100));
}

/// The format has no authentication, so nothing else would show that the output is a mix.
#[test]
fn an_input_that_is_written_to_meanwhile_gives_no_output() {
    let directory = tempfile::tempdir().unwrap();
    let (path, output) = (directory.path().join("in"), directory.path().join("out"));
    let file = fs::File::create(&path).unwrap();
    // Long enough to be changed before its end is read.
    file.set_len(1 << 30).unwrap();
    for (command, at, bytes) in [("enc", 1 << 30, 1), ("enc", 0, 3), ("dec", 5, 2)] {
        let mut child = oarlock()
            .args([command, "--cipher", "aes-256-ctr", "-K", KEY, "--iv", IV])
            .arg(&path)
            .arg("-o")
            .arg(&output)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until_at_work(directory.path());
        file.write_all_at(&[1; 4][..bytes], at).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "ended at once");
        assert_fails(&ends_soon(child), 1, &["in: changed while it was read"]);
        assert!(!output.exists(), "{command}");
    }
    // The command itself may write to it.
    fs::write(&path, noise(100_000)).unwrap();
    let both = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut enc = enc(256, IV);
    let child = enc.arg(&path).stdout(both).stderr(Stdio::piped());
    let result = ends_soon(child.spawn().unwrap());
    assert!(result.status.success(), "{}", stderr(&result));
    assert_eq!(fs::read(&path).unwrap(), openssl(256, IV, &noise(100_000)));
}

#[test]
fn key_files_that_hold_no_key_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key-file");
    let enc = || {
        let mut command = oarlock();
        command.args(["enc", "--cipher", "aes-256-ctr", "--iv", IV, "--key-file"]);
        command
    };
    let cases: [(&[u8], i32, &[&str]); 4] = [
        (b"", 2, &["key-file", "0 hexadecimal digits"]),
        (
            b"603deb1015ca71be\n603deb1015ca71be",
            2,
            &["key-file", "character 17", "'\\n'"],
        ),
        (&[0xff; 32], 1, &["key-file", "not text"]),
        (&[b'6'; 5000], 1, &["key-file", "longer than"]),
    ];
    for (content, status, parts) in cases {
        fs::write(&file, content).unwrap();
        assert_fails(&run(enc().arg(&file), b""), status, parts);
    }
    let result = run(enc().arg(directory.path().join("none")), b"");
    assert_fails(&result, 1, &["none", "No such file"]);
    let result = run(enc().arg("-"), b"");
    assert_fails(&result, 2, &["standard input"]);
}

#[test]
fn inputs_that_cannot_be_read_are_named_and_leave_no_output() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out");
    let cases: [(&Path, &[&str]); 3] = [
        (
            Path::new("not-there\nat all"),
            &["not-there?at all: No such file or directory"],
        ),
        (directory.path(), &["is a directory"]),
        // A regular file that can be opened and not read.
        (
            Path::new("/proc/self/mem"),
            &["/proc/self/mem", "Input/output error at byte 0"],
        ),
    ];
    for (input, parts) in cases {
        let result = run(enc(256, IV).arg(input).arg("-o").arg(&output), b"");
        assert_fails(&result, 1, parts);
        assert_eq!(names(directory.path()), [""; 0]);
    }
}

#[test]
fn outputs_that_cannot_be_made_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing/out");
    let below_a_file = directory.path().join("file/out");
    let no_file = directory.path().join("missing/");
    fs::write(directory.path().join("file"), "").unwrap();
    let cases: [(&Path, &[&str]); 5] = [
        (&no_file, &["missing/", "not a directory"]),
        (&missing, &["missing/out", "No such file or directory"]),
        (&below_a_file, &["file/out", "ot a directory"]),
        (directory.path(), &["is a directory"]),
        // No user may create a file there, not even root.
        (Path::new("/proc/out"), &["/proc/out"]),
    ];
    for (output, parts) in cases {
        assert_fails(&run(enc(256, IV).arg("-o").arg(output), b"data"), 1, parts);
    }
}

#[test]
fn a_full_device_is_told() {
    let result = run(enc(256, IV).args(["-o", "/dev/full"]), &noise(100));
    assert_fails(
        &result,
        1,
        &["/dev/full", "No space left on device at byte 0"],
    );
    let result = enc(256, IV)
        .stdin(File::open("/proc/self/exe").unwrap())
        .stdout(
            fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        )
        .output()
        .unwrap();
    assert_fails(&result, 1, &["standard output", "No space left on device"]);
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), disk.path().join("out"));
    fs::write(&input, noise(5 << 20)).unwrap();
    fs::write(&output, "old").unwrap();
    for threads in ["1", "2"] {
        let mut command = enc(256, IV);
        command.args(["-T", threads]).arg("-o").arg(&output);
        let by_file = run(command.arg(&input), b"");
        let mut command = enc(256, IV);
        command.args(["-T", threads]).arg("-o").arg(&output);
        let by_pipe = run(&mut command, &noise(5 << 20));
        for result in [by_file, by_pipe] {
            assert_fails(
                &result,
                1,
                &["out: No space left on device at byte", "free some space"],
            );
            assert_eq!(fs::read(&output).unwrap(), b"old");
            assert_eq!(names(disk.path()), ["out"]);
        }
    }
    assert_eq!(
        fs::metadata(&input).unwrap().len(),
        5 << 20,
        "nothing of the input is lost"
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_command() {
    for threads in ["1", "2"] {
        let mut child = enc(256, IV)
            .args(["-T", threads])
            .stdin(File::open("/dev/zero").unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 100_000]).unwrap();
        drop(stdout);
        let result = ends_soon(child);
        assert_fails(
            &result,
            1,
            &["standard output", "Broken pipe", "the reader has gone"],
        );
    }
}

fn start(directory: &Path, threads: &str) -> Child {
    let input = endless(directory);
    let child = enc(256, IV)
        .args(["-T", threads])
        .arg(&input)
        .arg("-o")
        .arg(directory.join("out"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_at_work(directory);
    child
}

#[test]
fn an_input_that_is_cut_short_is_told() {
    for threads in ["1", "2"] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("out"), "old").unwrap();
        let child = start(directory.path(), threads);
        let input = directory.path().join("endless");
        let file = fs::OpenOptions::new().write(true).open(input).unwrap();
        file.set_len(4096).unwrap();
        let result = ends_soon(child);
        assert_fails(
            &result,
            1,
            &["endless: ended at byte", "1099511627776", "cut short"],
        );
        assert_eq!(fs::read(directory.path().join("out")).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["endless", "out"]);
    }
}

#[test]
fn an_input_of_a_stream_that_is_cut_short_is_told() {
    for threads in ["1", "2"] {
        let directory = tempfile::tempdir().unwrap();
        let input = endless(directory.path());
        let mut child = enc(256, IV)
            .args(["-T", threads])
            .arg(&input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 1]).unwrap();
        let file = fs::OpenOptions::new().write(true).open(input).unwrap();
        file.set_len(4096).unwrap();
        std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
        let result = ends_soon(child);
        assert_fails(&result, 1, &["endless: ended at byte", "cut short"]);
    }
}

#[test]
fn an_interrupted_file_leaves_nothing_behind() {
    for (number, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for threads in ["1", "2"] {
            let directory = tempfile::tempdir().unwrap();
            let child = start(directory.path(), threads);
            signal(&child, number);
            assert_fails(&ends_soon(child), status, &["interrupted"]);
            assert_eq!(names(directory.path()), ["endless"]);
        }
    }
}

/// Starts the command on a pipe, and returns when it is at work.
fn start_stream(command: &mut Command) -> Child {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(b"data").unwrap();
    let mut got = [0; 4];
    read_soon(child.stdout.as_mut().unwrap(), &mut got);
    child
}

#[test]
fn the_first_interrupt_ends_a_silent_pipe() {
    for (number, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        for threads in ["1", "2"] {
            let child = start_stream(enc(256, IV).args(["-T", threads]));
            signal(&child, number);
            assert_fails(&ends_soon(child), status, &["interrupted"]);
        }
    }
}

#[test]
fn the_first_interrupt_ends_a_write_that_waits_for_its_reader() {
    for threads in ["1", "2"] {
        let mut child = enc(256, IV)
            .args(["-T", threads])
            .stdin(File::open("/dev/zero").unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut got = [0; 1];
        read_soon(child.stdout.as_mut().unwrap(), &mut got);
        until_full(child.stdout.as_ref().unwrap());
        signal(&child, Signal::INT);
        assert_fails(&ends_soon(child), 130, &["interrupted"]);
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let enc = enc(256, IV);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' INT HUP; exec \"$0\" \"$@\""]);
    command.arg(enc.get_program()).args(enc.get_args());
    let mut child = start_stream(&mut command);
    signal(&child, Signal::INT);
    signal(&child, Signal::HUP);
    child.stdin.as_mut().unwrap().write_all(b"more").unwrap();
    let mut got = [0; 4];
    read_soon(child.stdout.as_mut().unwrap(), &mut got);
    assert_eq!(got, openssl(256, IV, b"datamore")[4..]);
    drop(child.stdin.take());
    let result = ends_soon(child);
    assert!(result.status.success(), "{}", stderr(&result));
}
