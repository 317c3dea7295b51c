//! Whole commands, with keys that they exchange in files; connections; and a fork in the middle of a message.

use crate::host::{run, with_conf};
use crate::rsa::commands::Place;

const CURVES: [(&str, &str); 4] = [
    ("P-256", "sha256"),
    ("P-384", "sha384"),
    ("P-521", "sha512"),
    ("secp256k1", "sha256"),
];

#[test]
fn keys_go_from_command_to_command_as_stock() {
    let place = Place::new();
    place.write("extensions", "basicConstraints=CA:FALSE\n");
    for (curve, hash) in CURVES {
        for (line, by_us) in COMMANDS.iter().flat_map(|line| match line.split_once(' ') {
            Some(("both", line)) => vec![(line, true), (line, false)],
            Some(("ours", line)) => vec![(line, true)],
            Some((_, line)) => vec![(line, false)],
            None => vec![],
        }) {
            let line = line.replace("CURVE", curve).replace("HASH", hash);
            match by_us {
                true => place.ours(&line),
                false => place.stock(&line),
            };
        }
        for by_us in [true, false] {
            // An altered message.
            let line = format!("dgst -{hash} -verify public.pem -signature signature extensions");
            let mut wrong = place.command(&line);
            let output = run(with_conf(&mut wrong, by_us.then_some(&place.accelerated)));
            assert!(!output.status.success());
            assert_eq!(output.stdout, b"Verification failure\n");
        }
    }
}

/// Text and numbers that a command prints are the same with the provider.
#[test]
fn commands_say_the_same_as_stock() {
    let place = Place::new();
    for (curve, hash) in CURVES {
        place.stock(&format!(
            "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:{curve} -out key.pem"
        ));
        place.stock("pkey -in key.pem -pubout -out public.pem");
        place.stock(&format!(
            "req -x509 -new -key key.pem -subj /CN=leaf -{hash} -out leaf.crt"
        ));
        for line in [
            "pkey -in key.pem -text",
            "pkey -in public.pem -pubin -text",
            "ec -in key.pem -text -conv_form compressed",
            "ec -in key.pem -param_enc explicit",
            "pkey -in key.pem -check -noout",
            "x509 -in leaf.crt -text",
            "pkcs8 -topk8 -nocrypt -in key.pem",
        ] {
            assert_eq!(place.ours(line), place.stock(line), "{curve}: {line}");
        }
    }
}

/// Both ends of TLS with and without the provider, with certificates of each curve.
#[test]
fn connections_are_authenticated() {
    let place = Place::new();
    for (curve, hash) in &CURVES[..3] {
        place.stock(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:{curve} -nodes -keyout server.pem -out server.crt \
             -subj /CN=localhost -{hash} -days 3"
        ));
        for version in ["-tls1_2", "-tls1_3"] {
            place.authenticates(version, |line, is_ours| {
                let mut command = place.command(line);
                with_conf(&mut command, is_ours.then_some(&place.accelerated));
                command
            });
        }
    }
}

/// A message begins before a fork and ends in the child and in the parent, with the key's first signature made before and
/// after.
#[test]
fn a_fork_falls_into_a_message() {
    let place = Place::new();
    place.stock("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem");
    place.forks(Some("SHA256"));
}

/// Each command begins with the side that runs it.
const COMMANDS: [&str; 24] = [
    "ours genpkey -algorithm EC -pkeyopt ec_paramgen_curve:CURVE -out key.pem",
    "both ec -in key.pem -check -noout",
    "ours pkey -in key.pem -pubout -out public.pem",
    "ours req -x509 -new -key key.pem -subj /CN=root -HASH -out root.crt -days 3",
    "both verify -CAfile root.crt root.crt",
    "ours req -newkey ec -pkeyopt ec_paramgen_curve:CURVE -nodes -keyout leaf.pem -subj /CN=leaf -out leaf.csr",
    "both req -in leaf.csr -verify -noout",
    "ours x509 -req -in leaf.csr -CA root.crt -CAkey key.pem -CAcreateserial -out leaf.crt -days 2 -HASH \
     -extfile extensions",
    "both verify -CAfile root.crt leaf.crt",
    "ours cms -sign -in message -signer leaf.crt -inkey leaf.pem -out signed.cms -binary -md HASH",
    "both cms -verify -in signed.cms -CAfile root.crt -purpose any -out verified",
    "ours cms -encrypt -in message -out sealed.cms -aes256 -binary leaf.crt",
    "both cms -decrypt -in sealed.cms -recip leaf.crt -inkey leaf.pem -out opened",
    "ours dgst -HASH -sign key.pem -out signature message",
    "both dgst -HASH -verify public.pem -signature signature message",
    "stock dgst -HASH -sign key.pem -out signature message",
    "both dgst -HASH -verify public.pem -signature signature message",
    "ours dgst -sha3-256 -sign key.pem -out signature message",
    "both dgst -sha3-256 -verify public.pem -signature signature message",
    "ours pkeyutl -sign -rawin -digest HASH -inkey key.pem -in message -out signature",
    "both pkeyutl -verify -rawin -digest HASH -pubin -inkey public.pem -in message -sigfile signature",
    "ours pkeyutl -sign -inkey key.pem -in message -out signature",
    "both pkeyutl -verify -pubin -inkey public.pem -in message -sigfile signature",
    "ours dgst -HASH -sign key.pem -out signature message",
];
