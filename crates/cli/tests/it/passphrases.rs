//! Sources of a passphrase: typed on the terminal, whatever other programs this machine has for that, or given to a script.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use oarlock_testing::until;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::common::age::{Home, age, succeeded};
use crate::common::terminal::{on_a_terminal, typing};
use crate::common::{assert_fails, oarlock, write_program};

const SECRET: &str = "correct horse";

#[test]
fn a_new_passphrase_is_typed_twice_whatever_is_installed() {
    let home = Home::new();
    home.write("plain", b"data");
    // A program that others would ask with. It answers with a passphrase, and leaves a mark.
    let script = "#!/bin/sh\n: > asked\necho OK\nwhile read -r line; do case $line in\n\
                  GETPIN*) echo 'D other'; echo OK;;\n*) echo OK;; esac; done\n";
    write_program(&home.path("pinentry"), script);
    let installed = "export PATH=\"$PWD:$PATH\" PINENTRY_PROGRAM=\"$PWD/pinentry\";";
    for command in [
        "encrypt -p --rm -o sealed plain",
        "enc --cipher aes-256-cbc -o sealed plain",
    ] {
        let script = format!("{installed} $OARLOCK {command}");
        let (status, shown) = on_a_terminal(home.folder(), &script, typing(&[SECRET, "tpyo"]));
        assert_eq!(status.code(), Some(1), "{command}: {shown}");
        assert!(shown.contains("the two passphrases differ"), "{shown}");
        assert_eq!(home.read("plain"), b"data", "{command}");
        assert!(!home.path("sealed").exists(), "{command}");

        let (status, shown) = on_a_terminal(home.folder(), &script, typing(&[SECRET, SECRET]));
        assert!(status.success(), "{command}: {shown}");
        assert!(!shown.contains("horse"), "{shown}");
        home.write("plain", b"data");
        let script = match command.starts_with("enc ") {
            true => format!("{installed} $OARLOCK dec --cipher aes-256-cbc sealed"),
            false => format!("{installed} $OARLOCK decrypt < sealed"),
        };
        let script = format!("{script} > opened");
        let (status, shown) = on_a_terminal(home.folder(), &script, typing(&[SECRET]));
        assert!(status.success(), "{command}: {shown}");
        assert_eq!(home.read("opened"), b"data");
        fs::remove_file(home.path("sealed")).unwrap();
    }
    assert!(!home.path("asked").exists());
}

#[test]
fn an_empty_answer_gives_a_passphrase_of_words() {
    let home = Home::new();
    home.write("plain", b"data");
    let script = "$OARLOCK encrypt -p -o sealed plain 2> log";
    let (status, shown) = on_a_terminal(home.folder(), script, typing(&[""]));
    assert!(status.success(), "{shown}");
    let words = shown.split("Your passphrase is: ").nth(1).unwrap();
    let words = words.lines().next().unwrap().trim();
    assert_eq!(words.split('-').count(), 10, "{shown}");
    // Only the terminal shows it.
    assert_eq!(home.read("log"), b"");
    let theirs = age().get_program().to_str().unwrap().to_owned();
    let script = format!("{theirs} -d -o opened sealed");
    let (status, shown) = on_a_terminal(home.folder(), &script, typing(&[words]));
    assert!(status.success(), "{shown}");
    assert_eq!(home.read("opened"), b"data");
}

#[test]
fn scripts_give_a_passphrase_by_file_or_descriptor() {
    let home = Home::new();
    home.write("plain", b"data");
    home.write("secret", format!("{SECRET}\nnot this\n").as_bytes());
    let alone = |script: &str| {
        let mut command = Command::new("setsid");
        command.args(["--wait", "sh", "-c", script]);
        command.env("OARLOCK", oarlock().get_program());
        command.stdin(Stdio::null());
        home.run_here(command, &[])
    };
    for (name, given) in [
        ("by-file", "--passphrase-file secret"),
        ("by-descriptor", "--passphrase-fd 7 7< secret"),
        ("by-pipe", "--passphrase-fd 0 < secret"),
        ("by-dash", "--passphrase-file - < secret"),
    ] {
        let encrypt = format!("$OARLOCK encrypt -o {name}.age plain {given}");
        succeeded(&mut alone(&encrypt));
        let script = format!("{} -d -o {name} {name}.age", age().get_program().display());
        let (status, shown) = on_a_terminal(home.folder(), &script, typing(&[SECRET]));
        assert!(status.success(), "{name}: {shown}");
        assert_eq!(home.read(name), b"data");
        let decrypt = format!("$OARLOCK decrypt -f -o {name} {name}.age {given}");
        succeeded(&mut alone(&decrypt));
        assert_eq!(home.read(name), b"data");

        let enc = format!("$OARLOCK enc --cipher aes-256-cbc -o {name}.enc plain {given}");
        succeeded(&mut alone(&enc));
        let mut theirs = Command::new("openssl");
        theirs.args(["enc", "-d", "-aes-256-cbc", "-pbkdf2"]);
        theirs.args(["-pass", &format!("pass:{SECRET}"), "-in"]);
        theirs.arg(home.path(&format!("{name}.enc")));
        assert_eq!(succeeded(&mut theirs).stdout, b"data", "{name}");
        let dec = format!("$OARLOCK dec --cipher aes-256-cbc -o {name}.dec {name}.enc {given}");
        succeeded(&mut alone(&dec));
        assert_eq!(home.read(&format!("{name}.dec")), b"data");
    }
    // An identity under a passphrase works too.
    succeeded(&mut alone(
        "$OARLOCK encrypt -a --passphrase-file secret -o locked key.txt",
    ));
    home.write("sealed", &home.sealed(b"dawn"));
    succeeded(&mut alone(
        "$OARLOCK decrypt -i locked --passphrase-file secret -o dawn sealed",
    ));
    assert_eq!(home.read("dawn"), b"dawn");

    home.write("empty", b"");
    home.write("long", &[b'x'; 1024]);
    let before = home.names();
    let recipient = &home.recipient;
    for (arguments, status, parts) in [
        (
            "encrypt -p -o x plain",
            1,
            &["no terminal", "--passphrase-file"][..],
        ),
        (
            "encrypt --passphrase-file none -o x plain",
            1,
            &["none: No such file"],
        ),
        (
            "encrypt --passphrase-file empty -o x plain",
            2,
            &["empty: is empty"],
        ),
        (
            "encrypt --passphrase-file long -o x plain",
            2,
            &["longer than 1023"],
        ),
        (
            "encrypt --passphrase-fd 9 -o x plain 9<&-",
            2,
            &["descriptor 9: is not open"],
        ),
        // The command opens this descriptor for itself.
        (
            "encrypt --passphrase-fd 3 -o x plain 3<&-",
            2,
            &["descriptor 3: is not open"],
        ),
        (
            "encrypt --passphrase-fd 0 -o x",
            2,
            &["both the passphrase and the data"],
        ),
        (
            "decrypt --passphrase-file - -o x",
            2,
            &["both the passphrase and the data"],
        ),
        (
            "encrypt --passphrase-fd 7 --passphrase-file secret -o x plain",
            2,
            &["cannot be given with"],
        ),
        (
            &format!("encrypt --passphrase-file secret -r {recipient} -o x plain"),
            2,
            &["either a passphrase or recipients"],
        ),
        (
            &format!(
                "enc --cipher aes-256-ctr --passphrase-file secret -K {} --iv {} -o x plain",
                crate::common::KEY,
                crate::common::IV
            ),
            2,
            &["both a key and a passphrase"],
        ),
    ] {
        let output = alone(&format!("$OARLOCK {arguments}")).output().unwrap();
        assert_fails(&output, status, parts);
        assert_eq!(home.names(), before, "{arguments}");
    }
}

#[test]
fn a_signal_at_the_prompt_ends_the_command_and_gives_the_terminal_back() {
    let home = Home::new();
    home.write("plain", b"data");
    home.write("secret", SECRET.as_bytes());
    succeeded(&mut home.oarlock(&[
        "encrypt",
        "--passphrase-file",
        "secret",
        "-o",
        "sealed",
        "plain",
    ]));
    succeeded(&mut home.oarlock(&[
        "encrypt",
        "-a",
        "--passphrase-file",
        "secret",
        "-o",
        "locked",
        "key.txt",
    ]));
    home.write("to-key", &home.sealed(b"dawn"));
    let before = home.names();
    for command in [
        "encrypt -p -o out plain",
        "encrypt -p < plain > /dev/null",
        "decrypt -o out sealed",
        "decrypt < sealed > /dev/null",
        "decrypt -i locked -o out to-key",
        "enc --cipher aes-256-cbc -o out plain",
        "enc --cipher aes-256-cbc < plain > /dev/null",
    ] {
        for (signal, status) in [
            (None, 130),
            (Some(Signal::TERM), 143),
            (Some(Signal::INT), 130),
        ] {
            // The shell continues after Ctrl-C.
            let script = format!(
                "trap : INT; sh -c 'echo $$ > pid; exec \"$OARLOCK\" {command}'; \
                 echo \"status $?\"; stty -a"
            );
            let mut is_done = false;
            let (_, shown) = on_a_terminal(home.folder(), &script, |terminal, shown| {
                if is_done || !shown.to_lowercase().contains("passphrase") {
                    return;
                }
                is_done = true;
                until("a terminal that shows nothing", || {
                    !tcgetattr(&*terminal)
                        .unwrap()
                        .local_modes
                        .contains(LocalModes::ECHO)
                });
                match signal {
                    None => terminal.write_all(b"\x03").unwrap(),
                    Some(signal) => {
                        let pid: i32 = String::from_utf8(home.read("pid"))
                            .unwrap()
                            .trim()
                            .parse()
                            .unwrap();
                        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
                    }
                }
            });
            assert!(
                shown.contains(&format!("status {status}")),
                "{command}: {shown}"
            );
            assert!(shown.contains(" echo "), "{command}: {shown}");
            fs::remove_file(home.path("pid")).unwrap();
            assert_eq!(home.names(), before, "{command}");
        }
    }
}

#[test]
fn a_prompt_that_was_stopped_hides_what_is_typed_again() {
    let home = Home::new();
    home.write("plain", b"data");
    home.write("secret", SECRET.as_bytes());
    let encrypt = ["encrypt", "--each", "--passphrase-file", "secret", "plain"];
    succeeded(&mut home.oarlock(&encrypt));
    let script = "sh -c 'echo $$ > pid; exec \"$OARLOCK\" decrypt -o out plain.age'";
    let mut is_stopped = false;
    let mut types = typing(&[SECRET]);
    let (status, shown) = on_a_terminal(home.folder(), script, |terminal, shown| {
        let asked = shown.matches("Passphrase:").count();
        if asked == 1 && !is_stopped {
            is_stopped = true;
            let echoes = |terminal: &fs::File| {
                let modes = tcgetattr(terminal).unwrap().local_modes;
                modes.contains(LocalModes::ECHO)
            };
            until("a terminal that shows nothing", || !echoes(terminal));
            let pid = String::from_utf8(home.read("pid")).unwrap();
            let pid = pid.trim();
            let number = Pid::from_raw(pid.parse().unwrap()).unwrap();
            kill_process(number, Signal::STOP).unwrap();
            until("a process that stands still", || {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
                stat.contains(") T ")
            });
            // A shell that takes over the terminal does this.
            let mut modes = tcgetattr(&*terminal).unwrap();
            modes.local_modes |= LocalModes::ECHO;
            tcsetattr(&*terminal, OptionalActions::Now, &modes).unwrap();
            kill_process(number, Signal::CONT).unwrap();
            until("a terminal that shows nothing again", || !echoes(terminal));
        } else if asked == 2 {
            types(terminal, shown);
        }
    });
    assert!(status.success(), "{shown}");
    assert!(!shown.contains("horse"), "{shown}");
    assert_eq!(home.read("out"), b"data");
}
