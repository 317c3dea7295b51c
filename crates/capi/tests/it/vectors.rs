//! Published vectors through the functions for keys.

use std::fmt::Write as _;
use std::process::Stdio;

use oarlock_testing::lossy;
use oarlock_vectors::wycheproof;

use crate::library::{compiled, here, prefix, started, succeeds};

/// A value in hexadecimal, as the program reads it.
fn digits(octets: &[u8]) -> String {
    if octets.is_empty() {
        return "-".to_owned();
    }
    let each = octets.iter();
    each.fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").unwrap();
        text
    })
}

fn line(what: &str, values: [&[u8]; 3], is_right: bool, source: &str, all: &mut Lines) {
    let [one, two, three] = values.map(digits);
    let outcome = u8::from(is_right);
    writeln!(all.text, "{what} {one} {two} {three} - {outcome}").unwrap();
    all.sources.push(source.to_owned());
    all.right += usize::from(is_right);
}

#[derive(Default)]
struct Lines {
    text: String,
    sources: Vec<String>,
    right: usize,
}

/// The name of a curve that SEC 2 names.
fn curve(name: &str) -> &'static str {
    match name {
        "secp256r1" => "p-256",
        "secp384r1" => "p-384",
        "secp521r1" => "p-521",
        other => panic!("{other}"),
    }
}

#[test]
fn vectors_of_wycheproof_hold() {
    let mut all = Lines::default();
    for vector in wycheproof::ecdsa().unwrap() {
        let scheme = match vector.hash {
            "SHA-256" => "ecdsa-sha256",
            "SHA-384" => "ecdsa-sha384",
            "SHA-512" => "ecdsa-sha512",
            // Digests that sign here are those of the curves.
            _ => continue,
        };
        let what = format!("verify {} {scheme}", curve(&vector.curve));
        let values = [&vector.public_key[..], &vector.message, &vector.signature];
        line(&what, values, vector.is_valid, &vector.source, &mut all);
    }
    let mut signed = wycheproof::ed25519().unwrap();
    let of_lattices = wycheproof::ml_dsa_signatures().unwrap();
    // Another context than none is a part of the scheme's name, which is a text.
    signed.extend(of_lattices.into_iter().filter(|it| it.context.is_empty()));
    for vector in signed {
        let scheme = match vector.algorithm {
            "Ed25519" => "ed25519",
            _ => "ml-dsa",
        };
        let what = format!("verify {} {scheme}", vector.algorithm.to_lowercase());
        let values = [&vector.public_key[..], &vector.message, &vector.signature];
        line(&what, values, vector.is_valid, &vector.source, &mut all);
    }
    let curves = wycheproof::ecdh().unwrap().into_iter();
    let curves = curves.map(|vector| (curve(&vector.curve), vector));
    let x25519 = wycheproof::x25519().unwrap().into_iter();
    for (name, vector) in curves.chain(x25519.map(|vector| ("x25519", vector))) {
        let bytes = match name {
            "p-384" => 48,
            "p-521" => 66,
            _ => 32,
        };
        // A private key has the length of its curve.
        let private = &vector.private_key;
        let zeros = private.len().saturating_sub(bytes);
        let filled = vec![0; bytes.saturating_sub(private.len())];
        let private = [&filled[..], &private[zeros..]].concat();
        let values = [&private[..], &vector.public_key, &vector.secret];
        let what = format!("agree {name} -");
        line(&what, values, vector.is_valid, &vector.source, &mut all);
    }
    for vector in wycheproof::ml_kem().unwrap() {
        let has_parts = vector.random.is_empty() && !vector.ciphertext.is_empty();
        if has_parts && !vector.seed.is_empty() {
            let what = format!("open {} -", vector.set.to_lowercase());
            let values = [&vector.seed[..], &vector.ciphertext, &vector.secret];
            line(&what, values, vector.is_valid, &vector.source, &mut all);
        }
    }

    let program = compiled("gcc", &["-std=c89"], &here("tests/c/vectors.c"), &[]);
    let file = prefix().join("vectors.txt");
    std::fs::write(&file, &all.text).unwrap();
    let input = std::fs::File::open(&file).unwrap();
    let output = started(&program)
        .stdin(Stdio::from(input))
        .output()
        .unwrap();
    let said = lossy(&output.stderr);
    let number = said.split([' ', ':']).nth(1).and_then(|it| it.parse().ok());
    let source = number.and_then(|number: usize| all.sources.get(number.wrapping_sub(1)));
    assert!(output.status.success(), "{said}: {source:?}");
    let wrong = all.sources.len() - all.right;
    assert!(all.right > 3000 && wrong > 1200, "{} {wrong}", all.right);
    let expected = format!("{} right, {wrong} wrong\n", all.right);
    assert_eq!(lossy(&output.stdout), expected);
    // Under sanitizers too.
    let sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compiled("gcc", &sanitized, &here("tests/c/vectors.c"), &[]);
    let mut again = started(&program);
    again.stdin(Stdio::from(std::fs::File::open(&file).unwrap()));
    succeeds(&mut again);
}
