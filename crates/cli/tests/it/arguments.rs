//! Typing errors and help: one line says what was meant, commands are grouped, and colours appear only on a terminal.

use std::fs;

use crate::common::age::Home;
use crate::common::terminal::on_a_terminal;
use crate::common::{assert_fails, oarlock, run, stderr, write_program};

#[test]
fn typing_errors_are_told_with_what_was_meant() {
    let cases: [(&[&str], &[&str]); 19] = [
        (&["encryt"], &["encryt: did you mean encrypt?"]),
        (&["help", "encryt"], &["did you mean encrypt?"]),
        (&["man", "encryt"], &["did you mean encrypt?"]),
        (
            &["encipher"],
            &["unknown command encipher", "oarlock --help"],
        ),
        (
            &["provider", "instal"],
            &["did you mean install?", "(see oarlock provider --help)"],
        ),
        (
            &["provider", "install", "--yess"],
            &["mean --yes?", "(see oarlock provider install --help)"],
        ),
        (
            &["encrypt", "--recpient", "x"],
            &["mean --recipient?", "(see oarlock encrypt --help)"],
        ),
        (
            &["enc", "-aes-256-cbc"],
            &["unknown option -aes-256-cbc", "--cipher aes-256-cbc?"],
        ),
        (&["dec", "-AES-128-CTR"], &["--cipher aes-128-ctr?"]),
        (&["enc", "-pass", "env:X"], &["-pass: did you mean --pass?"]),
        (&["enc", "-iv", "00"], &["-iv: did you mean --iv?"]),
        (
            &["enc", "-in", "x"],
            &["-in: the file to read needs no option"],
        ),
        (&["enc", "-d"], &["-d: `oarlock dec` decrypts"]),
        (
            &["enc"],
            &["--cipher <NAME> is required", "oarlock enc --help"],
        ),
        (
            &["sign"],
            &["no key: give --private-key, or --remote and --key"],
        ),
        (&["keygen", "key3.txt"], &["give -o key3.txt", "-y prints"]),
        (
            &["devices", "x"],
            &["takes only options", "oarlock devices --help"],
        ),
        (&["keygen", "-y", "a", "b"], &["give one INPUT"]),
        (&["encrypt", "--rm=4"], &["--rm takes no value"]),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (arguments, parts) in cases {
        let result = run(oarlock().args(arguments).current_dir(folder.path()), b"");
        assert_fails(&result, 2, parts);
        assert_eq!(result.stdout, b"", "{arguments:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn without_a_command_all_are_listed() {
    let result = run(&mut oarlock(), b"");
    assert_eq!(result.status.code(), Some(2));
    let said = stderr(&result);
    for part in ["\nFiles:\n  encrypt ", "\n  sign ", "a command is missing"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let result = run(oarlock().arg("provider"), b"");
    assert_eq!(result.status.code(), Some(2));
    let said = stderr(&result);
    for part in ["\n  install ", "`oarlock provider COMMAND --help`"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn an_identity_is_not_repeated() {
    let home = Home::new();
    let made = run(&mut home.oarlock(&["keygen", "--pq", "-o", "pq.txt"]), b"");
    assert!(made.status.success(), "{}", stderr(&made));
    for (name, begin) in [
        ("key.txt", "AGE-SECRET-KEY-1"),
        ("pq.txt", "AGE-SECRET-KEY-PQ-1"),
    ] {
        let file = String::from_utf8(home.read(name)).unwrap();
        let key = file.lines().find(|line| line.starts_with(begin)).unwrap();
        let (lower, secret) = (key.to_lowercase(), &key[begin.len()..]);
        let is_told = |arguments: &[&str], part: &str| {
            let result = run(&mut home.oarlock(arguments), b"");
            let (told, said) = (stderr(&result), stderr(&result).to_uppercase());
            for at in 0..secret.len() - 8 {
                assert!(!said.contains(&secret[at..at + 8]), "{arguments:?}: {told}");
            }
            assert_eq!(result.stdout, b"", "{arguments:?}");
            assert!(!result.status.success(), "{arguments:?}");
            assert!(told.contains(part), "{arguments:?}: {told}");
        };
        for given in [key, &lower, &file] {
            is_told(&["encrypt", "-r", given], "`oarlock keygen -y FILE`");
            is_told(&["encrypt", "-R", given], "store the identity in one");
            is_told(&["decrypt", "-i", given], "store the identity in one");
        }
        let masked = format!("{begin}...");
        is_told(&["encrypt", "-r", &home.recipient, key], &masked);
        is_told(&["keygen", key], &masked);
        is_told(&["keygen", "-y", key], &masked);
        is_told(&[key], &masked);
        is_told(&["encrypt", "-R", name], "give the file with -i");
    }
}

/// A key in place of the name of its file, and a passphrase in place of a descriptor.
#[test]
fn no_secret_in_the_wrong_place_is_repeated() {
    let home = Home::new();
    let made = run(&mut home.oarlock(&["keygen", "--type", "p256"]), b"");
    let pkcs8 = String::from_utf8(made.stdout).unwrap();
    let body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW";
    let openssh = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\nQyNTUxOQAAACDd5T8NFP/g==\n\
         -----END OPENSSH PRIVATE KEY-----\n"
    );
    let is_hidden = |arguments: &[&str], secret: &str| {
        let result = run(&mut home.oarlock(arguments), b"");
        let said = [stderr(&result).into_bytes(), result.stdout].concat();
        let said = String::from_utf8(said).unwrap().to_uppercase();
        assert!(!result.status.success(), "{arguments:?}");
        assert!(said.contains("OARLOCK: "), "{arguments:?}: {said}");
        let secret = secret.to_uppercase();
        for line in secret.lines().filter(|line| !line.starts_with('-')) {
            for at in 0..line.len().saturating_sub(8) {
                let part = &line[at..at + 8];
                assert!(!said.contains(part), "{arguments:?}: {part}: {said}");
            }
        }
    };
    let recipient = &home.recipient[..];
    for key in [pkcs8.trim(), openssh.trim()] {
        // With the option, with `=` behind it, and as what is no option.
        for (command, option) in [
            (&["encrypt"][..], "--recipient"),
            (&["encrypt"], "--recipients-file"),
            (&["encrypt"], "--identity"),
            (&["encrypt", "-r", recipient, "plain"], "--output"),
            (&["encrypt"], "--passphrase-file"),
            (&["encrypt"], "--passphrase-fd"),
            (&["encrypt"], "--threads"),
            (&["decrypt"], "--identity"),
            (&["decrypt", "-i", "key.txt", "plain"], "--range"),
            (&["keygen"], "--type"),
            (&["enc"], "--cipher"),
            (&["enc", "--cipher", "aes-128-ctr"], "--pass"),
            (&["enc", "--cipher", "aes-128-ctr"], "--iv"),
            (&["enc", "--cipher", "aes-128-ctr", "--iv", "0"], "-K"),
            (
                &["enc", "--cipher", "aes-128-ctr", "--iv", "0"],
                "--key-file",
            ),
            (&["enc", "--cipher", "aes-128-ctr"], "--options"),
            (&["sign"], "--private-key"),
            (&["sign"], "--scheme"),
            (&["sign", "--private-key", "key.txt"], "--digest"),
            (&["verify", "-s", "x"], "--public-key"),
            (&["keys", "--remote", "localhost:1"], "--pki"),
            (&["keys", "--pki", "x"], "--remote"),
            (&["pubkey"], "--no-such-option"),
            (&["pki", "init", "d"], "--key"),
            (&["serve"], "--config"),
            (&["serve", "--config", "x"], "--log"),
            (&["relay", "--remote", "localhost:1"], "--allow"),
            (&["devices"], "--options"),
        ] {
            let joined = match option {
                "-K" => format!("-K{key}"),
                _ => format!("{option}={key}"),
            };
            is_hidden(&[command, &[&joined[..]]].concat(), key);
            is_hidden(&[command, &[option, key]].concat(), key);
        }
        for command in [
            &["encrypt", "-r", recipient][..],
            &["encrypt", "-r", recipient, "--json", "key.txt"],
            &["keygen"],
            &["keygen", "-y"],
            &["sign", "--private-key", "key.txt"],
            &["pubkey"],
            &["inspect"],
            &["man"],
            &["help"],
            &["pki", "client"],
            &["provider"],
            &[],
        ] {
            is_hidden(&[command, &[key]].concat(), key);
            is_hidden(&[command, &["--", key]].concat(), key);
        }
    }
    let option = format!("--{body}");
    for arguments in [
        &["encrypt", "-r", body][..],
        &["encrypt", "-T", body],
        &["encrypt", &option],
        &["enc", "--cipher", body],
        &["man", body],
        &[body],
    ] {
        is_hidden(arguments, body);
    }
    for command in [
        &["encrypt"][..],
        &["decrypt"],
        &["enc", "--cipher", "aes-128-ctr"],
    ] {
        let given = ["--passphrase-fd", "hunter2-of-mine"];
        let result = run(&mut home.oarlock(&[command, &given].concat()), b"");
        assert_fails(&result, 2, &["--passphrase-fd", "open descriptor"]);
        assert!(!stderr(&result).contains("hunter"), "{}", stderr(&result));
    }
    let result = run(&mut home.oarlock(&["encrypt", "-r", pkcs8.trim()]), b"");
    assert_fails(&result, 2, &["private key", "the name of its file"]);
    // What is public is still repeated, and what is short.
    for (given, said) in [
        ("age1nobody", "age1nobody: invalid recipient"),
        ("alice", "alice: invalid recipient"),
    ] {
        let result = run(&mut home.oarlock(&["encrypt", "-r", given]), b"");
        assert_fails(&result, 2, &[said]);
    }
}

#[test]
fn help_has_its_commands_in_groups() {
    let result = run(oarlock().arg("--help"), b"");
    let help = String::from_utf8(result.stdout).unwrap();
    let mut at = 0;
    for part in [
        "\nFiles:\n  encrypt ",
        "\n  decrypt ",
        "\n  enc ",
        "\n  dec ",
        "\nPrograms:\n  run ",
        "\nMachines:\n  devices ",
        "\nServers:\n  serve ",
        "\nOptions:\n  -h, --help",
    ] {
        let found = help[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part:?} does not follow: {help}"));
    }
}

#[test]
fn colours_are_a_terminals_alone() {
    let folder = tempfile::tempdir().unwrap();
    let show = |script: &str| on_a_terminal(folder.path(), script, |_, _| {}).1;
    for command in ["--help", "", "encrypt --help", "encryt"] {
        let coloured = show(&format!("TERM=xterm NO_COLOR= $OARLOCK {command}"));
        assert!(coloured.contains("\u{1b}["), "{command}: {coloured:?}");
        for plain in [
            format!("TERM=xterm NO_COLOR=1 $OARLOCK {command}"),
            format!("unset NO_COLOR; TERM=dumb $OARLOCK {command}"),
            format!("unset NO_COLOR; TERM=xterm $OARLOCK {command} 2>&1 | cat"),
        ] {
            let shown = show(&plain);
            assert!(shown.contains("oarlock"), "{plain}: {shown:?}");
            assert!(!shown.contains('\u{1b}'), "{plain}: {shown:?}");
        }
    }
    let narrow = show("stty rows 24 cols 40; TERM=xterm NO_COLOR= $OARLOCK --help");
    assert!(narrow.contains("Files:"), "{narrow:?}");
    for line in show("stty rows 24 cols 40; NO_COLOR=1 $OARLOCK --help").lines() {
        assert!(line.trim_end().chars().count() <= 40, "{line:?}");
    }
    // Prose is wrapped again: each line is as long as its next word allows.
    let of_run = show("stty rows 24 cols 60; $OARLOCK run --help");
    let prose: Vec<&str> = of_run
        .lines()
        .skip_while(|line| !line.starts_with("OPENSSL_CONF"))
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(prose.len() > 3, "{of_run}");
    for pair in prose.windows(2) {
        let next = pair[1].split(' ').next().unwrap_or_default();
        assert!(pair[0].len() + 1 + next.len() > 60, "{pair:?}");
    }
}

/// `fleet` continues as Python, with its arguments as they are.
#[test]
fn fleet_is_pythons() {
    let home = Home::new();
    let folder = home.path("bin");
    fs::create_dir(&folder).unwrap();
    write_program(
        &folder.join("python3"),
        "#!/bin/sh\nshift 2\nprintf '%s|' \"$@\"\nexit 5\n",
    );
    let mut fleet = home.oarlock(&["fleet", "encrypt", "--help", "-r", "a b", "--", "--json"]);
    let output = run(fleet.env("PATH", &folder), b"");
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert_eq!(output.stdout, b"encrypt|--help|-r|a b|--|--json|");

    let mut fleet = home.oarlock(&["fleet", "encrypt"]);
    let output = run(fleet.env("PATH", home.path("nowhere")), b"");
    assert_fails(&output, 1, &["python3", "with the extra [ray]"]);
}
