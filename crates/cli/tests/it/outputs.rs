//! Outputs: nothing is lost to a closed standard output, and a terminal receives only text.

use std::fs;
use std::process::{Command, Stdio};

use oarlock_testing::noise;

use crate::common::age::{Home, succeeded};
use crate::common::terminal::on_a_terminal;
use crate::common::{IV, KEY, SmallDisk, assert_fails, oarlock, stderr};

#[test]
fn nothing_is_told_of_an_identity_before_it_is_on_the_disk() {
    let home = Home::new();
    let before = home.read("key.txt");
    for (output, part) in [
        ("key.txt", "key.txt: exists already"),
        ("nowhere/key", "nowhere/key: No such file"),
        ("/proc/key", "/proc/key: "),
    ] {
        for pq in [&[][..], &["--pq"]] {
            let keygen = [&["keygen", "-o", output][..], pq].concat();
            let output = home.oarlock(&keygen).output().unwrap();
            assert_fails(&output, 1, &[part]);
            assert!(!stderr(&output).contains("age1"), "{}", stderr(&output));
        }
    }
    assert_eq!(home.read("key.txt"), before);
    let full = shell(&home, "$OARLOCK keygen > /dev/full")
        .output()
        .unwrap();
    assert_fails(&full, 1, &["No space left"]);
    assert!(!stderr(&full).contains("age1"), "{}", stderr(&full));
    if let Some(disk) = SmallDisk::mount() {
        fs::write(disk.path().join("filler"), vec![0; 4 << 20]).unwrap_err();
        let key = disk.path().join("key");
        let output = home
            .oarlock(&["keygen", "-o", key.to_str().unwrap()])
            .output()
            .unwrap();
        assert_fails(&output, 1, &["No space left"]);
        assert_eq!(oarlock_testing::names(disk.path()), ["filler"]);
    }

    let log = home.path("log");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-e", "trace=fsync,renameat2,write", "-o"])
        .arg(&log);
    strace
        .arg(oarlock().get_program())
        .args(["keygen", "-o", "new.txt"]);
    succeeded(&mut home.run_here(strace, &[]));
    let log = fs::read_to_string(log).unwrap();
    let steps = ["write(", "fsync(", "\"new.txt\"", "fsync(", "Public key: "];
    let mut lines = log.lines();
    for step in steps {
        assert!(
            lines.any(|line| line.contains(step)),
            "{step} in {steps:?}: {log}"
        );
    }
}

#[test]
fn a_closed_standard_output_is_an_error_as_for_cat() {
    let home = Home::new();
    home.write("plain", b"data");
    home.write("sealed", &home.sealed(b"data"));
    let recipient = &home.recipient;
    let raw = format!("--cipher aes-256-ctr -K {KEY} --iv {IV}");
    let commands = [
        format!("encrypt -r {recipient} -o - plain"),
        format!("encrypt -r {recipient} < plain"),
        format!("encrypt -a -r {recipient} < plain"),
        "decrypt -i key.txt -o - sealed".to_owned(),
        "decrypt -i key.txt < sealed".to_owned(),
        format!("enc {raw} plain"),
        format!("dec {raw} < plain"),
        "keygen".to_owned(),
    ];
    // It looks the same if another program opens it as Rust's runtime does.
    let both_ways = "$OARLOCK decrypt -i key.txt < sealed 1<>/dev/null";
    let output = shell(&home, both_ways).output().unwrap();
    assert_fails(&output, 1, &["-o /dev/null"]);
    succeeded(&mut shell(&home, &format!("{both_ways} -o /dev/null")));
    let json = format!("$OARLOCK encrypt --json -r {recipient} -o out plain >&-");
    let output = shell(&home, &json).output().unwrap();
    assert_fails(&output, 1, &["standard output: is closed"]);
    assert!(!home.path("out").exists());
    assert!(
        !shell(&home, "cat plain >&-")
            .output()
            .unwrap()
            .status
            .success()
    );
    for command in &commands {
        let output = shell(&home, &format!("$OARLOCK {command} >&-"))
            .output()
            .unwrap();
        assert_fails(&output, 1, &["standard output: is closed", "-o"]);
        // Data that the user discards is discarded, and an output elsewhere works.
        succeeded(&mut shell(
            &home,
            &format!("$OARLOCK {command} > /dev/null"),
        ));
        succeeded(&mut shell(&home, &format!("$OARLOCK {command} > out")));
        assert!(!home.read("out").is_empty(), "{command}");
        fs::remove_file(home.path("out")).unwrap();
        if !command.contains(" -o ") {
            succeeded(&mut shell(&home, &format!("$OARLOCK {command} -o out >&-")));
            assert!(!home.read("out").is_empty(), "{command}");
            fs::remove_file(home.path("out")).unwrap();
        }
    }
}

#[test]
fn a_terminal_gets_text_alone_unless_it_is_told_to_take_all() {
    let home = Home::new();
    let raw = format!("--cipher aes-256-ctr -K {KEY} --iv {IV}");
    let shown = |script: &str| {
        let (status, shown) = on_a_terminal(home.folder(), script, |_, _| {});
        (status.code(), shown)
    };
    let long = vec![b'x'; (16 << 20) + 1];
    let refused = "the data are not text: name a file with -o";
    for (data, part) in [
        (&b"one line\nand \t \xc3\xa9\n"[..], None),
        (b"", None),
        (b"title \x1b]0;own3d\x07", Some(refused)),
        (b"nothing \0", Some(refused)),
        (b"not UTF-8 \xff", Some(refused)),
        (b"C1 \xc2\x9b2J", Some(refused)),
        (&noise(100_000), Some(refused)),
        (&long, Some("longer than 16 MiB")),
    ] {
        home.write("sealed", &home.sealed(data));
        home.write("plain", data);
        succeeded(&mut shell(
            &home,
            &format!("$OARLOCK enc {raw} plain -o salted"),
        ));
        succeeded(&mut shell(
            &home,
            &format!(
                "$OARLOCK encrypt -a -r {} plain -f -o armored",
                home.recipient
            ),
        ));
        for command in [
            "$OARLOCK decrypt -i key.txt < sealed",
            "cat sealed | $OARLOCK decrypt -i key.txt",
            "$OARLOCK decrypt -i key.txt < armored",
            "$OARLOCK decrypt -i key.txt --range 0: sealed",
            &format!("$OARLOCK dec {raw} salted"),
            &format!("cat salted | $OARLOCK dec {raw}"),
        ] {
            let (status, shown) = shown(command);
            match part {
                None => {
                    assert_eq!(status, Some(0), "{command}: {shown}");
                    let text = std::str::from_utf8(data).unwrap().replace('\n', "\r\n");
                    assert_eq!(shown, text, "{command}");
                }
                Some(part) => {
                    assert_eq!(status, Some(1), "{command}: {shown:?}");
                    assert!(
                        shown.starts_with("oarlock: standard output is a terminal"),
                        "{shown:?}"
                    );
                    assert!(shown.contains(part), "{command}: {shown:?}");
                    assert_eq!(shown.lines().count(), 1, "{command}: {shown:?}");
                }
            }
        }
    }
    // With -o - a terminal receives everything.
    let hostile = b"title \x1b]0;own3d\x07";
    home.write("sealed", &home.sealed(hostile));
    let (status, forced) = shown("$OARLOCK decrypt -i key.txt -o - sealed");
    assert_eq!((status, forced.as_bytes()), (Some(0), &hostile[..]));

    home.write("plain", b"data");
    let recipient = &home.recipient;
    for command in [
        format!("encrypt -r {recipient} < plain"),
        "encrypt -p < plain".to_owned(),
        format!("enc {raw} plain"),
        "enc --cipher aes-256-cbc plain".to_owned(),
    ] {
        let (status, refused) = shown(&format!("$OARLOCK {command}"));
        // The check comes before a question for a passphrase.
        assert!(
            refused.starts_with("oarlock: standard output is a terminal"),
            "{refused:?}"
        );
        assert_eq!(status, Some(2), "{command}: {refused:?}");
    }
    let (status, text) = shown(&format!("$OARLOCK encrypt -a -r {recipient} < plain"));
    assert!(
        text.starts_with("-----BEGIN AGE ENCRYPTED FILE-----"),
        "{text:?}"
    );
    assert_eq!(status, Some(0));
    let (status, _) = shown(&format!("$OARLOCK encrypt -r {recipient} -o - < plain"));
    assert_eq!(status, Some(0));
    let (status, _) = shown(&format!("$OARLOCK enc {raw} -o - plain"));
    assert_eq!(status, Some(0));
}

/// Returns `script` in a shell in the folder, where `$OARLOCK` is the command.
fn shell(home: &Home, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command.env("OARLOCK", oarlock().get_program());
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command.stdin(Stdio::null());
    home.run_here(command, &[])
}
