//! An output never replaces a key, an identity, a passphrase or a list of recipients that the command reads.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

use crate::common::age::{Home, succeeded};
use crate::common::{IV, KEY, assert_fails, oarlock, run, stderr};

/// The files that commands read here.
const FILES: [&str; 11] = [
    "key.txt",
    "recipients.txt",
    "p.key",
    "p.pem",
    "c.pem",
    "ca.pem",
    "letter",
    "secret",
    "hex",
    "sealed",
    "demo/client.key",
];

fn home() -> Home {
    let home = Home::new();
    succeeded(&mut home.oarlock(&["keygen", "--type", "p256", "-o", "p.key"]));
    let public = succeeded(&mut home.oarlock(&["pubkey", "p.key"])).stdout;
    home.write("p.pem", &public);
    home.write("letter", b"to whom it may concern");
    home.write("secret", b"correct horse\n");
    home.write("hex", KEY.as_bytes());
    home.write("sealed", &home.sealed(b"attack at dawn"));
    fs::create_dir(home.path("demo")).unwrap();
    for name in [
        "c.pem",
        "ca.pem",
        "demo/client.pem",
        "demo/client.key",
        "demo/ca.pem",
    ] {
        home.write(name, name.as_bytes());
    }
    home
}

/// Runs a line of shell, in which `$OARLOCK` is the command and `$OUT` is `out`.
fn shell(home: &Home, line: &str, out: &str) -> Output {
    let mut command = Command::new("setsid");
    command.args(["--wait", "sh", "-c", line]);
    command.env("OARLOCK", oarlock().get_program());
    command.env("OUT", out).stdin(Stdio::null());
    home.run_here(command, &[]).output().unwrap()
}

#[test]
fn no_output_replaces_a_file_that_the_command_needs() {
    let home = home();
    let remote =
        "--remote localhost:1 --key web --certificate c.pem --private-key p.key --ca ca.pem";
    let folder = "--remote localhost:1 --key web --pki demo";
    let raw = format!("--cipher aes-256-ctr --iv {IV}");
    let by_passphrase = "--cipher aes-256-cbc";
    let cases: &[(&str, &str, &str)] = &[
        (
            "sign --private-key p.key -o $OUT letter",
            "p.key",
            "the private key",
        ),
        (
            "sign --private-key p.key -o $OUT letter",
            "letter",
            "the file to sign",
        ),
        (
            "sign --private-key p.key -o $OUT < letter",
            "letter",
            "the file to sign",
        ),
        (
            "sign --private-key p.key letter 1<> $OUT",
            "p.key",
            "the private key",
        ),
        (
            "sign --private-key p.key -o /dev/stdout letter >> $OUT",
            "p.key",
            "the private key",
        ),
        (
            &format!("sign {remote} -o $OUT letter"),
            "p.key",
            "the private key",
        ),
        (
            &format!("sign {remote} -o $OUT letter"),
            "c.pem",
            "the certificate",
        ),
        (
            &format!("sign {remote} -o $OUT letter"),
            "ca.pem",
            "the certificate of the CA",
        ),
        (
            &format!("sign {folder} -o $OUT letter"),
            "demo/client.key",
            "the private key",
        ),
        ("pubkey p.key -o $OUT", "p.key", "the private key"),
        ("pubkey p.key 1<> $OUT", "p.key", "the private key"),
        (
            &format!("pubkey {remote} -o $OUT"),
            "p.key",
            "the private key",
        ),
        (
            &format!("pubkey {remote} -o $OUT"),
            "ca.pem",
            "the certificate of the CA",
        ),
        (
            &format!("pubkey {folder} -o $OUT"),
            "demo/client.key",
            "the private key",
        ),
        (
            &format!("enc {raw} --key-file hex -o $OUT letter"),
            "hex",
            "the key file",
        ),
        (
            &format!("enc {raw} --key-file - -o $OUT letter < hex"),
            "hex",
            "the key file",
        ),
        (
            &format!("enc {raw} --key-file hex letter 1<> $OUT"),
            "hex",
            "the key file",
        ),
        (
            &format!("enc {by_passphrase} --pass file:secret -o $OUT letter"),
            "secret",
            "the passphrase file",
        ),
        (
            &format!("enc {by_passphrase} --pass stdin -o $OUT letter < secret"),
            "secret",
            "the passphrase file",
        ),
        (
            &format!("enc {by_passphrase} --passphrase-file secret -o $OUT letter"),
            "secret",
            "the passphrase file",
        ),
        (
            &format!("dec {by_passphrase} --passphrase-fd 7 -o $OUT letter 7< secret"),
            "secret",
            "the passphrase file",
        ),
        (
            "encrypt -f -i key.txt -o $OUT letter",
            "key.txt",
            "the identity file",
        ),
        (
            "encrypt -f -a -i - -o $OUT letter < key.txt",
            "key.txt",
            "the identity file",
        ),
        (
            "encrypt -f -R recipients.txt -o $OUT letter",
            "recipients.txt",
            "the file of recipients",
        ),
        (
            "encrypt -f --passphrase-file secret -o $OUT letter",
            "secret",
            "the passphrase file",
        ),
        (
            "encrypt -f --passphrase-fd 0 -o $OUT letter < secret",
            "secret",
            "the passphrase file",
        ),
        (
            "encrypt -i key.txt -o - letter 1<> $OUT",
            "key.txt",
            "the identity file",
        ),
        (
            "decrypt -f -i key.txt -o $OUT sealed",
            "key.txt",
            "the identity file",
        ),
        (
            "decrypt -i key.txt -o $OUT sealed",
            "key.txt",
            "the identity file",
        ),
        (
            "decrypt -f -i key.txt --range 0:1 -o $OUT sealed",
            "key.txt",
            "the identity file",
        ),
        (
            "decrypt -i key.txt < sealed 1<> $OUT",
            "key.txt",
            "the identity file",
        ),
        (
            "decrypt -f -i key.txt --passphrase-file secret -o $OUT sealed",
            "secret",
            "the passphrase file",
        ),
        (
            &format!("decrypt -f {remote} -o $OUT sealed"),
            "p.key",
            "the private key",
        ),
        (
            &format!("decrypt -f {folder} -o $OUT sealed"),
            "demo/client.key",
            "the private key",
        ),
    ];
    let before = FILES.map(|name| home.read(name));
    for (line, file, what) in cases {
        fs::hard_link(home.path(file), home.path("hard")).unwrap();
        symlink(home.path(file), home.path("soft")).unwrap();
        for out in [*file, "hard", "soft"] {
            let output = shell(&home, &format!("$OARLOCK {line}"), out);
            for (name, before) in FILES.iter().zip(&before) {
                assert!(home.read(name) == *before, "{line}: {out}: {name} is lost");
            }
            assert_fails(&output, 2, &[what, "would be lost", "another name"]);
        }
        fs::remove_file(home.path("hard")).unwrap();
        fs::remove_file(home.path("soft")).unwrap();
    }
}

/// Where the command chooses the name of the output.
#[test]
fn no_output_next_to_its_input_replaces_an_identity() {
    let home = home();
    let identity = home.read("key.txt");
    let letter = home.read("letter");
    let lost = ["the identity file", "would be lost"];

    home.write("letter.age", &identity);
    let arguments = ["encrypt", "-f", "--each", "-i", "letter.age", "letter"];
    assert_fails(&run(&mut home.oarlock(&arguments), b""), 2, &lost);
    assert_eq!(home.read("letter.age"), identity);

    fs::create_dir_all(home.path("out/tree")).unwrap();
    fs::create_dir(home.path("tree")).unwrap();
    fs::rename(home.path("sealed"), home.path("tree/plain.age")).unwrap();
    home.write("out/tree/plain", &identity);
    let arguments = [
        "decrypt",
        "-f",
        "-i",
        "out/tree/plain",
        "--recursive",
        "-o",
        "out",
        "tree",
    ];
    let output = run(&mut home.oarlock(&arguments), b"");
    assert!(!output.status.success());
    assert!(stderr(&output).contains(lost[0]), "{}", stderr(&output));
    assert_eq!(home.read("out/tree/plain"), identity);

    // A symbolic link is made again in the place of a file.
    fs::remove_file(home.path("tree/plain.age")).unwrap();
    symlink("/nowhere", home.path("tree/plain")).unwrap();
    let arguments = [
        "encrypt",
        "-f",
        "-i",
        "out/tree/plain",
        "--recursive",
        "-o",
        "out",
        "tree",
    ];
    let output = run(&mut home.oarlock(&arguments), b"");
    assert!(!output.status.success());
    assert!(stderr(&output).contains(lost[0]), "{}", stderr(&output));
    assert_eq!(home.read("out/tree/plain"), identity);

    // An identity encrypted to itself is lost once it is removed.
    for (given, file) in [
        (["-i", "key.txt"], "key.txt"),
        (["--passphrase-file", "secret"], "secret"),
    ] {
        let before = home.read(file);
        let arguments = ["encrypt", given[0], given[1], "--rm", file];
        let output = run(&mut home.oarlock(&arguments), b"");
        assert_fails(&output, 2, &[file, "--rm"]);
        assert_eq!(home.read(file), before);
        assert!(!home.path(&format!("{file}.age")).exists());
    }
    assert_eq!(home.read("letter"), letter);
}

#[test]
fn what_loses_nothing_is_still_done() {
    let home = home();
    let public = home.read("p.pem");
    for line in [
        // A public key may be written in its own place, and a signature behind the letter.
        "$OARLOCK pubkey p.pem -o p.pem",
        "$OARLOCK sign --private-key p.key letter >> letter",
        "$OARLOCK sign --private-key p.key -o p.sig letter",
        "$OARLOCK sign --private-key p.key -o p.sig letter",
        // What the command does not read may be replaced.
        "cp p.key copy; $OARLOCK pubkey p.key -o copy",
        "$OARLOCK sign --private-key p.key --digest $(sha256sum < letter | cut -c1-64) -o recipients.txt < recipients.txt",
        "$OARLOCK decrypt -f -i key.txt -o letter sealed",
        "$OARLOCK decrypt -i key.txt -o /dev/null sealed",
        "$OARLOCK encrypt -i key.txt -r $RECIPIENT --rm key.txt && $OARLOCK decrypt -h > /dev/null",
    ] {
        let line = line.replace("$RECIPIENT", &home.recipient);
        let output = shell(&home, &line, "");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    assert_eq!(home.read("p.pem"), public);
    assert_eq!(home.read("copy"), public);
    assert_eq!(home.read("letter"), b"attack at dawn");
    assert!(!home.path("key.txt").exists());
}
