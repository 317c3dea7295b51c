//! Habits of age's users, and their keys: where the output of one file goes, options without a subcommand, keys from GitHub,
//! private keys in PKCS#8.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::age::{Home, age, succeeded};
use crate::common::{assert_fails, oarlock, run, stderr};

/// An age user types `oarlock decrypt -i key.txt a.age | tar x`. If standard output is a pipe or a file, the user does not
/// want an output next to the input.
#[test]
fn one_file_is_refused_where_standard_output_would_get_nothing() {
    let home = Home::new();
    home.write("a", b"data");
    home.write("a.age", &home.sealed(b"data"));
    let commands: [&[&str]; 4] = [
        &["encrypt", "-r", &home.recipient, "a"],
        &["encrypt", "-a", "-R", "recipients.txt", "a"],
        &["decrypt", "-i", "key.txt", "a.age"],
        &["decrypt", "--preserve", "-i", "key.txt", "a.age"],
    ];
    let written = home.path("written");
    for command in commands {
        let before = home.names();
        let is_encrypted = command[0] == "encrypt";
        let name = if is_encrypted { "a.age" } else { "a" };
        let ways = [&*format!("`-o {name}`"), "`-o -`", "`--each`"];
        let output = home.oarlock(command).output().unwrap();
        assert_fails(
            &output,
            2,
            &[&["standard output is a pipe"], &ways[..]].concat(),
        );
        // No key is read before this check.
        let output = home
            .oarlock(&["decrypt", "-i", "nowhere", "a.age"])
            .output()
            .unwrap();
        assert_fails(&output, 2, &["standard output is a pipe"]);
        let mut to_file = home.oarlock(command);
        let output = to_file.stdout(fs::File::create(&written).unwrap());
        let output = output.stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        assert_fails(
            &output,
            2,
            &[&["standard output is a file"], &ways[..]].concat(),
        );
        fs::remove_file(&written).unwrap();
        assert_eq!(home.names(), before, "{command:?}");
        // Options that show the intention.
        for more in [&["-o", "-"][..], &["-o", "b"], &["-f", "--each"]] {
            let output = succeeded(&mut home.oarlock(&[command, more].concat()));
            assert_eq!(
                output.stdout.is_empty(),
                more != ["-o", "-"],
                "{command:?} {more:?}"
            );
        }
        fs::remove_file(home.path("b")).unwrap();
    }
    // Nobody reads this standard output as data: it is a device, or a file that also takes errors. The output goes next to
    // the input.
    for redirected in [
        "> /dev/null",
        "> log 2>&1",
        ">> log 2>&1",
        "2>&1 | cat > log",
    ] {
        let script = format!("set -o pipefail; $OARLOCK decrypt -f -i key.txt a.age {redirected}");
        let mut shell = Command::new("bash");
        shell
            .args(["-c", &script])
            .env("OARLOCK", env!("CARGO_BIN_EXE_oarlock"));
        succeeded(shell.current_dir(home.folder()));
    }
    assert_eq!(home.read("log"), b"");
    // The output of a pipe as FILE goes to standard output, and so does that of standard input.
    for name in ["-", "/dev/stdin"] {
        let output = run(
            &mut home.oarlock(&["decrypt", "-i", "key.txt", name]),
            &home.read("a.age"),
        );
        assert_eq!(output.stdout, b"data", "{name}: {}", stderr(&output));
    }
    // age never gets several FILEs.
    succeeded(&mut home.oarlock(&["encrypt", "-f", "-r", &home.recipient, "a", "key.txt"]));
}

/// Faults that the command line alone shows come first, with status 2. Faults that a file shows have status 1, for one file
/// or several.
#[test]
fn wrong_arguments_are_told_before_files_are_looked_at() {
    let home = Home::new();
    home.write("a", b"data");
    home.write("b", b"data");
    home.write("secret", b"sesame\n");
    home.write("a.age", &home.sealed(b"data"));
    home.write("b.age", &home.sealed(b"data"));
    fs::create_dir(home.path("folder")).unwrap();
    let own = home.recipient.as_str();
    let both = [
        "encrypt",
        "-r",
        own,
        "--passphrase-file",
        "secret",
        "--each",
        "a",
    ];
    for (args, status, part) in [
        (&["encrypt", "--each", "a"][..], 2, "no recipient"),
        (&["encrypt", "a", "-o", "b"], 2, "no recipient"),
        (&["encrypt", "nowhere"], 2, "no recipient"),
        (&both, 2, "either a passphrase or recipients"),
        (
            &["encrypt", "-r", own, "--each", "a"],
            1,
            "a.age: exists already",
        ),
        (
            &["encrypt", "-r", own, "-o", "b", "a"],
            1,
            "b: exists already",
        ),
        (&["keygen", "-o", "a"], 1, "a: exists already"),
        (
            &["encrypt", "-r", own, "folder"],
            1,
            "folder: is a directory",
        ),
        (
            &["encrypt", "-r", own, "-o", "c", "folder"],
            1,
            "folder: is a directory",
        ),
        (
            &["decrypt", "--each", "-i", "key.txt", "a"],
            1,
            "does not end in .age",
        ),
        (
            &["decrypt", "a.age", "-o", "-"],
            1,
            "encrypted to X25519, not with a passphrase",
        ),
    ] {
        let output = home.oarlock(args).output().unwrap();
        assert_fails(&output, status, &[part]);
        if status == 2 || args.contains(&"-o") {
            continue;
        }
        // Two such files in one call.
        let other = match *args.last().unwrap() {
            "a" => "b",
            other => other,
        };
        let output = home.oarlock(&[args, &[other]].concat()).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(1),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_directory_is_not_named_as_an_age_file_by_mistake() {
    let home = Home::new();
    fs::create_dir(home.path("d")).unwrap();
    home.write("d/a", b"a");
    let own = home.recipient.as_str();
    for how in ["--recursive", "--each"] {
        let input = if how == "--each" { "d/a" } else { "d" };
        let args = ["encrypt", "-r", own, how, "-o", "d.age", input];
        let output = home.oarlock(&args).output().unwrap();
        assert_fails(
            &output,
            2,
            &["d.age: is named as an age file", "-o d.age/", "tar c"],
        );
        assert!(!home.path("d.age").exists());
    }
    succeeded(&mut home.oarlock(&["encrypt", "-r", own, "--recursive", "-o", "d.age/", "d"]));
    assert!(home.path("d.age/d/a.age").exists());
    // The folder exists now, and accepts more files.
    home.write("d/b", b"b");
    succeeded(&mut home.oarlock(&["encrypt", "-r", own, "--each", "-o", "d.age", "d/b"]));
    assert!(home.path("d.age/b.age").exists());
}

/// Options that age's users type out of habit get an answer.
#[test]
fn options_of_age_are_answered_with_the_subcommand() {
    for (args, part) in [
        (
            &["-d", "-i", "key", "a.age"][..],
            "-d: `oarlock decrypt` decrypts",
        ),
        (
            &["--decrypt", "a.age"],
            "--decrypt: `oarlock decrypt` decrypts",
        ),
        (&["-e", "-r", "age1", "a"], "-e: `oarlock encrypt` encrypts"),
        (&["--encrypt"], "--encrypt: `oarlock encrypt` encrypts"),
        (&["-p", "a"], "-p: `oarlock encrypt -p`"),
        (&["--passphrase"], "--passphrase: `oarlock encrypt -p`"),
        (&["-pa", "a"], "-p: `oarlock encrypt -p`"),
        (&["-a", "-r", "age1"], "-a: `oarlock encrypt -a`"),
        (&["--armor"], "--armor: `oarlock encrypt -a`"),
        (&["-r", "age1", "a"], "-r: `oarlock encrypt`"),
        (&["-R", "keys", "a"], "-R: `oarlock encrypt`"),
        (&["-i", "key", "-d"], "-i: `oarlock decrypt -i FILE`"),
        (&["-o", "a.age"], "-o: give it behind `oarlock encrypt`"),
        (&["encrypt", "-d"], "-d: `oarlock decrypt` decrypts"),
        (&["encrypt", "-e"], "-e: it is always on here"),
        (&["decrypt", "-d"], "-d: it is always on here"),
        (&["decrypt", "-e"], "-e: `oarlock encrypt` encrypts"),
        (
            &["decrypt", "-p"],
            "-p: a passphrase is asked for without it",
        ),
        (&["decrypt", "-a"], "-a: text is recognized"),
        (&["decrypt", "-r", "age1"], "-r: `oarlock encrypt`"),
    ] {
        let output = run(oarlock().args(args), b"");
        assert_fails(&output, 2, &["unknown option", part]);
    }
}

/// Keys are listed as in `https://github.com/NAME.keys`.
#[test]
fn keys_of_other_kinds_in_a_file_do_not_keep_the_others_from_being_used() {
    let home = Home::new();
    let mut known = String::new();
    for (kind, bits) in [("ed25519", "256"), ("rsa", "2048"), ("ecdsa", "256")] {
        make_key(&home, kind, bits, kind);
        known += &fs::read_to_string(home.path(&format!("{kind}.pub"))).unwrap();
    }
    make_key(&home, "rsa", "1024", "short");
    known += &fs::read_to_string(home.path("short.pub")).unwrap();
    for token in [SK_ED25519, SK_ECDSA] {
        known += token;
    }
    home.write("keys", known.as_bytes());
    home.write("plain", b"data");
    let encrypt = ["encrypt", "-R", "keys", "-o", "sealed", "plain"];
    let output = succeeded(&mut home.oarlock(&encrypt));
    let said = stderr(&output);
    let lines: Vec<_> = said.lines().collect();
    for (number, (line, kind)) in [
        (3, "ecdsa-sha2-nistp256"),
        (4, "less than 2048 bits"),
        (5, "sk-ssh-ed25519"),
        (6, "sk-ecdsa-sha2"),
    ]
    .into_iter()
    .enumerate()
    {
        let begin = format!("oarlock: warning: keys: line {line}: ");
        assert!(lines[number].starts_with(&begin), "{said}");
        assert!(lines[number].contains(kind), "{said}");
        assert!(
            lines[number].ends_with("not encrypted to this key"),
            "{said}"
        );
    }
    assert_eq!(lines.len(), 4, "{said}");
    for key in ["ed25519", "rsa"] {
        let decrypt = ["decrypt", "-i", key, "-o", "-", "sealed"];
        assert_eq!(succeeded(&mut home.oarlock(&decrypt)).stdout, b"data");
    }
    // age does the same.
    let mut theirs = home.run_here(age(), &["-R", "keys", "-o", "theirs", "plain"]);
    assert!(theirs.output().unwrap().status.success());
    // A file with only other kinds leaves no recipient, and a key named on the command line is intended.
    let ecdsa = fs::read_to_string(home.path("ecdsa.pub")).unwrap();
    for args in [
        ["-R", "ecdsa.pub"],
        ["-R", "short.pub"],
        ["-r", ecdsa.trim()],
    ] {
        let args = [&["encrypt"][..], &args, &["-o", "none", "plain"]].concat();
        let output = home.oarlock(&args).output().unwrap();
        assert_fails(&output, 2, &["unsupported SSH key"]);
    }
    assert!(!home.path("none").exists());
    // A line that is not a key is still an error.
    home.write("broken", format!("{known}ssh-ed25519 AAAA\n").as_bytes());
    let output = home
        .oarlock(&["encrypt", "-R", "broken", "-o", "none", "plain"])
        .output();
    assert_eq!(output.unwrap().status.code(), Some(2));
}

/// Covers each form in which `ssh-keygen` and `openssl` write private keys, with -i of `decrypt` for one file and many, and
/// with -i of `encrypt`.
#[test]
fn private_keys_in_pkcs8_are_read() {
    let home = Home::new();
    home.write("plain", b"data");
    let genpkey = |more: &[&str], name: &str| {
        let mut openssl = Command::new("openssl");
        openssl.arg("genpkey").args(more).args(["-out", name]);
        succeeded(openssl.current_dir(home.folder()));
        let made = home.read(name);
        home.write(name, &made);
    };
    genpkey(&["-algorithm", "ed25519"], "ed25519");
    genpkey(
        &["-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:2048"],
        "rsa",
    );
    genpkey(
        &["-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "ec",
    );
    genpkey(&["-algorithm", "x25519"], "x25519");
    genpkey(
        &[
            "-algorithm",
            "rsa",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
            "-aes256",
            "-pass",
            "pass:sesame",
        ],
        "encrypted",
    );
    make_key(&home, "rsa", "2048", "keygen");
    let mut rewritten = Command::new("ssh-keygen");
    rewritten.args(["-q", "-p", "-m", "PKCS8", "-N", "", "-P", "", "-f"]);
    succeeded(rewritten.arg(home.path("keygen")));
    for key in ["ed25519", "rsa", "keygen"] {
        let text = String::from_utf8(home.read(key)).unwrap();
        assert!(text.starts_with("-----BEGIN PRIVATE KEY-----"), "{key}");
        let sealed = format!("{key}.age");
        succeeded(&mut home.oarlock(&["encrypt", "-i", key, "-o", &sealed, "plain"]));
        // The other program opens it with the same key: age also reads PKCS#8.
        let mut theirs = home.run_here(age(), &["-d", "-i", key, &sealed]);
        assert_eq!(succeeded(&mut theirs).stdout, b"data", "{key}");
        let decrypt = ["decrypt", "-i", key, "-o", "-", &sealed];
        assert_eq!(
            succeeded(&mut home.oarlock(&decrypt)).stdout,
            b"data",
            "{key}"
        );
        let both = ["decrypt", "-f", "-i", key, "-o", "many/", &sealed, &sealed];
        let output = home.oarlock(&both).output().unwrap();
        assert_eq!(
            home.read(&format!("many/{key}")),
            b"data",
            "{key}: {}",
            stderr(&output)
        );
        home.write("crlf", text.replace('\n', "\r\n").as_bytes());
        let decrypt = ["decrypt", "-i", "crlf", "-o", "-", &sealed];
        assert_eq!(
            succeeded(&mut home.oarlock(&decrypt)).stdout,
            b"data",
            "{key}"
        );
    }
    for (key, part) in [
        ("ec", "ecdsa"),
        ("x25519", "that SSH does not have"),
        ("encrypted", "encrypted as PKCS#8: `ssh-keygen -p"),
    ] {
        for args in [
            ["decrypt", "-i", key, "-o", "-", "rsa.age"],
            ["encrypt", "-i", key, "-o", "none", "plain"],
        ] {
            let output = home.oarlock(&args).output().unwrap();
            assert_fails(&output, 2, &[&format!("{key}: unsupported SSH key"), part]);
        }
    }
    let broken = home.read("rsa");
    home.write("broken", &[&broken[..200], &broken[260..]].concat());
    let output = home
        .oarlock(&["decrypt", "-i", "broken", "-o", "-", "rsa.age"])
        .output();
    assert_fails(&output.unwrap(), 2, &["broken: invalid SSH private key"]);
}

#[test]
fn what_a_header_shows_is_told_as_it_is() {
    let home = Home::new();
    home.write("sealed", &home.sealed(b"data"));
    let shown = succeeded(&mut home.oarlock(&["inspect", "--json", "sealed"])).stdout;
    let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
    // A stanza without meaning opens the file to nobody. It keeps readers tolerant of unknown ones.
    assert_eq!(shown["recipients"], serde_json::json!(["X25519"]));
    assert_eq!(shown["grease"], 1);
    let shown = succeeded(&mut home.oarlock(&["inspect", "sealed"])).stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("recipients:\n  X25519\n"), "{shown}");
    assert!(!shown.contains("grease"), "{shown}");
    // An unknown kind is not the known one that it resembles.
    let scrypt = oarlock_vectors::age::all().unwrap();
    let scrypt = scrypt
        .into_iter()
        .find(|one| one.source == "scrypt_uppercase")
        .unwrap();
    home.write("upper", &scrypt.file);
    home.write("secret", b"password\n");
    for with in [&[][..], &["--passphrase-file", "secret"]] {
        let args = [&["decrypt", "-o", "-", "upper"][..], with].concat();
        let output = home.oarlock(&args).output().unwrap();
        assert_fails(
            &output,
            1,
            &["upper: encrypted to ", "not with a passphrase", "-i"],
        );
        assert!(
            !stderr(&output).contains("to scrypt"),
            "{}",
            stderr(&output)
        );
    }
    // A key with a passphrase, without anybody to ask.
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "sesame", "-f"]);
    succeeded(keygen.arg(home.path("id")));
    home.write("plain", b"data");
    succeeded(&mut home.oarlock(&["encrypt", "-R", "id.pub", "-o", "to-id", "plain"]));
    let decrypt = ["decrypt", "-i", "id", "-o", "-", "to-id"];
    let mut alone = Command::new("setsid");
    alone
        .arg("-w")
        .arg(env!("CARGO_BIN_EXE_oarlock"))
        .args(decrypt);
    let output = run(alone.current_dir(home.folder()), b"");
    assert_fails(&output, 1, &["id has a passphrase", "--passphrase-file"]);
    home.write("words", b"sesame\n");
    let given = [&decrypt[..], &["--passphrase-file", "words"]].concat();
    assert_eq!(succeeded(&mut home.oarlock(&given)).stdout, b"data");
}

fn make_key(home: &Home, kind: &str, bits: &str, name: &str) {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", kind, "-b", bits, "-N", "", "-f"]);
    succeeded(command.arg(home.path(name)));
}

const SK_ED25519: &str = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fAAAABHNzaDo=\n";
const SK_ECDSA: &str = "sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBPYjB3dCE6xY6gZy+vv/meWub9x/JB1+V07a3MGvGRLMVVonsoYgQiK96wSmkT7lnmLev7Sc7KnWBXV8tSX4DeIAAAAEc3NoOg==\n";
