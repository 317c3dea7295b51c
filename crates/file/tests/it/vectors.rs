//! The age community's vectors: each ends as it must, and no byte is released that must not be.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, Write as _};
use std::thread;

use age::secrecy::SecretString;
use age::{DecryptError, Identity, scrypt, x25519};
use oarlock_file::age::{Decryptor, armored, hybrid};
use oarlock_file::{Cache, Ends, Error, run};
use oarlock_vectors::age::{AgeExpectation, AgeVector, all};
use sha2::{Digest as _, Sha256};

use crate::common::{Never, accelerator, file_with, pipe};

#[test]
fn every_vector_ends_as_it_must() {
    let mut counts: BTreeMap<AgeExpectation, usize> = BTreeMap::new();
    for vector in all().unwrap() {
        let identities = identities(&vector);
        let identities: Vec<&dyn Identity> = identities.iter().map(|i| &**i as _).collect();
        if vector.is_armored {
            check_armored(&vector, &identities);
        } else {
            check(&vector, &identities);
        }
        *counts.entry(vector.expect).or_default() += 1;
    }
    assert_eq!(counts.values().sum::<usize>(), 147);
    assert_eq!(counts.len(), 6, "{counts:?}");
}

/// Through every way of the pipeline, with and without helpers.
fn check(vector: &AgeVector, identities: &[&dyn Identity]) {
    let source = &vector.source;
    let mut rest = &vector.file[..];
    let decryptor = Decryptor::new(&mut rest, identities, accelerator().cpu());
    let decryptor = match decryptor {
        Ok(decryptor) => decryptor,
        Err(error) => return assert_ends(vector, "header", Err(error), b""),
    };
    assert_eq!(
        decryptor.prologue_bytes as usize + rest.len(),
        vector.file.len(),
        "{source}"
    );
    for helpers in [0, 1, 3] {
        for (input_is_file, output_is_file) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let way = format!("{helpers} helpers, files: {input_is_file}, {output_is_file}");
            let (released, result) = thread::scope(|scope| {
                let input = if input_is_file {
                    file_with(rest)
                } else {
                    let (reader, mut writer) = pipe();
                    // Nobody reads on after a failure.
                    scope.spawn(move || drop(writer.write_all(rest)));
                    reader
                };
                let (output, reading) = if output_is_file {
                    (file_with(b""), None)
                } else {
                    let (mut reader, writer) = pipe();
                    let reading = scope.spawn(move || {
                        let mut released = Vec::new();
                        reader.read_to_end(&mut released).unwrap();
                        released
                    });
                    (writer, Some(reading))
                };
                let ends = Ends {
                    input: &input,
                    input_bytes: input_is_file.then_some(rest.len() as u64),
                    output: &output,
                    is_positional: output_is_file,
                    is_regular: output_is_file,
                    makes_holes: false,
                    cache: Cache::Keep,
                };
                let result = run(accelerator(), helpers, &ends, &decryptor.payload, &Never);
                drop(input);
                let released = match reading {
                    Some(reading) => {
                        drop(output);
                        reading.join().unwrap()
                    }
                    None => {
                        let (mut output, mut released) = (output, Vec::new());
                        output.rewind().unwrap();
                        output.read_to_end(&mut released).unwrap();
                        released
                    }
                };
                (released, result)
            });
            // A file that failed is given up by who has it: in it, chunks lie where they belong.
            if output_is_file && result.is_err() {
                assert_eq!(vector.expect, AgeExpectation::PayloadFailure, "{source}");
                continue;
            }
            assert_ends(vector, &way, result, &released);
        }
    }
}

fn check_armored(vector: &AgeVector, identities: &[&dyn Identity]) {
    let mut released = Vec::new();
    let result = armored::Armored::new(&vector.file[..]).and_then(|armored| {
        let cpu = accelerator().cpu();
        armored.open(identities, cpu, &mut released, &mut |_| true)
    });
    assert_ends(vector, "armor", result, &released);
}

fn assert_ends(vector: &AgeVector, way: &str, result: Result<(), Error>, released: &[u8]) {
    let ended = match &result {
        Ok(()) => AgeExpectation::Success,
        Err(Error::NoMatchingIdentity | Error::WrongPassphrase) => AgeExpectation::NoMatch,
        Err(Error::HeaderMac) => AgeExpectation::HmacFailure,
        Err(
            Error::Header(_)
            | Error::Truncated { .. }
            | Error::ExcessiveWork(_)
            | Error::Identity(DecryptError::InvalidHeader),
        ) => AgeExpectation::HeaderFailure,
        Err(Error::Armor { .. }) => AgeExpectation::ArmorFailure,
        Err(Error::Authentication { .. } | Error::Incomplete { .. } | Error::Trailing { .. }) => {
            AgeExpectation::PayloadFailure
        }
        Err(error) => panic!("{}, {way}: {error:?}", vector.source),
    };
    assert_eq!(ended, vector.expect, "{}, {way}: {result:?}", vector.source);
    match vector.payload_sha256 {
        Some(hash) => assert!(
            Sha256::digest(released)[..] == hash,
            "{}, {way}: {} bytes were released that must not be, or some that must be were not",
            vector.source,
            released.len()
        ),
        None => assert!(released.is_empty(), "{}, {way}", vector.source),
    }
}

fn identities(vector: &AgeVector) -> Vec<Box<dyn Identity>> {
    let mut identities: Vec<Box<dyn Identity>> = Vec::new();
    for identity in &vector.identities {
        identities.push(match identity.parse::<hybrid::Identity>() {
            Ok(identity) => Box::new(identity),
            Err(_) => Box::new(identity.parse::<x25519::Identity>().unwrap()),
        });
    }
    for passphrase in &vector.passphrases {
        let passphrase = SecretString::from(passphrase.clone());
        let mut identity = scrypt::Identity::new(passphrase);
        identity.set_max_work_factor(22);
        identities.push(Box::new(identity));
    }
    identities
}
