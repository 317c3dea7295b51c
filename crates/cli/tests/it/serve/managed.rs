//! Keys of a server that the command makes, rotates, disables and enables.

use std::fs;

use serde_json::Value;

use super::Home;
use super::keys::{ask, succeeds};
use crate::common::{assert_fails, run};

fn home() -> Home {
    let home = Home::new();
    fs::create_dir(home.path().join("keys.d")).unwrap();
    home.configure(|text| {
        let all = "\"create\", \"rotate\", \"disable\", \"enable\", \"seal\", \"open\", ";
        let text = text.replacen("operations = [", &format!("operations = [{all}"), 1);
        format!("{text}\n[[key]]\ndirectory = \"keys.d\"\nmanaged = true\n")
    });
    home
}

#[test]
fn a_key_is_made_rotated_disabled_and_enabled() {
    let home = home();
    let server = home.serve();
    let listing = ["keys", "create", "shop", "--type", "p256", "--json"];
    let made: Value = serde_json::from_str(&succeeds(&mut ask(&home, &server, &listing))).unwrap();
    let key = &made[0];
    assert_eq!((&key["id"], &key["version"]), (&"shop".into(), &1.into()));
    assert_eq!(key["algorithm"], "P-256");

    let sign = |output: &str| {
        let arguments = ["sign", "--key", "shop", "-o", output, "README.md"];
        ask(&home, &server, &arguments)
    };
    let verify = |signature: &str| {
        let arguments = [
            "verify",
            "--key",
            "shop",
            "--signature",
            signature,
            "README.md",
        ];
        ask(&home, &server, &arguments)
    };
    fs::write(home.path().join("README.md"), "to be signed\n").unwrap();
    succeeds(&mut sign("first.sig"));
    let table = succeeds(&mut ask(&home, &server, &["keys", "rotate", "shop"]));
    assert!(
        table.contains("shop") && table.contains("rotate, disable, enable"),
        "{table}"
    );
    succeeds(&mut sign("second.sig"));
    assert_eq!(succeeds(&mut verify("second.sig")), "good signature\n");
    assert_eq!(
        succeeds(&mut verify("first.sig")),
        "good signature by version 1 of the key\n"
    );
    // A pipe can be read once.
    let signature = fs::read(home.path().join("first.sig")).unwrap();
    let output = run(&mut verify("/dev/stdin"), &signature);
    assert_eq!(output.stdout, b"good signature by version 1 of the key\n");
    fs::copy(home.path().join("README.md"), home.path().join("no.sig")).unwrap();
    assert_fails(
        &run(&mut verify("no.sig"), b""),
        1,
        &["a signature by this key has"],
    );

    // Repeated with the version that it names, it does nothing.
    let again = ["keys", "rotate", "shop", "--version", "1"];
    let output = run(&mut ask(&home, &server, &again), b"");
    assert_fails(&output, 1, &["has version 2, not 1"]);
    let again = ["keys", "create", "shop", "--type", "ed25519"];
    let output = run(&mut ask(&home, &server, &again), b"");
    assert_fails(&output, 1, &["there is a key"]);

    succeeds(&mut ask(&home, &server, &["keys", "disable", "shop"]));
    assert_fails(&run(&mut sign("third.sig"), b""), 1, &["is disabled"]);
    let table = succeeds(&mut ask(&home, &server, &["keys"]));
    let row = table.lines().find(|line| line.starts_with("shop")).unwrap();
    assert!(row.contains("disabled (rotate"), "{table}");
    drop(server);
    let server = home.serve();
    let output = run(&mut ask(&home, &server, &["keys", "rotate", "shop"]), b"");
    assert_fails(&output, 1, &["is disabled"]);
    succeeds(&mut ask(&home, &server, &["keys", "enable", "shop"]));
    let sign = ["sign", "--key", "shop", "-o", "third.sig", "README.md"];
    succeeds(&mut ask(&home, &server, &sign));

    // A key with its own `[[key]]` is the operator's.
    let output = run(&mut ask(&home, &server, &["keys", "rotate", "web"]), b"");
    assert_fails(&output, 1, &["not in the server's managed directory"]);
}

#[test]
fn what_the_command_cannot_mean_is_refused() {
    let home = home();
    let server = home.serve();
    for (arguments, expected) in [
        (&["keys", "create", "shop"][..], "--type"),
        (&["keys", "create", "--type", "p256"], "<ID>"),
        (
            &["keys", "create", "shop", "--type", "rsa-1024"],
            "rsa-1024",
        ),
        (&["keys", "rotate", "shop", "--version", "0"], "0"),
        (&["keys", "rename", "shop"], "rename"),
    ] {
        assert_fails(
            &run(&mut ask(&home, &server, arguments), b""),
            2,
            &[expected],
        );
    }
    let output = run(
        &mut ask(
            &home,
            &server,
            &["keys", "create", "../shop", "--type", "p256"],
        ),
        b"",
    );
    assert_fails(&output, 1, &["letters, digits"]);
    // Two servers are two folders of keys.
    let mut twice = ask(&home, &server, &["keys", "disable", "web"]);
    twice.args(["--remote", "localhost:1"]);
    assert_fails(&run(&mut twice, b""), 2, &["--remote"]);
}
