//! The age community's vectors: each ends as it must, and no byte is released that must not be.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::thread;

use age::secrecy::SecretString;
use age::{DecryptError, Identity, x25519};
use oarlock_file::age::{
    CHUNK_BYTES, Decryptor, Passphrase, SEALED_CHUNK_BYTES, armored, hybrid, plain_bytes,
};
use oarlock_file::{Cache, Ends, Error, Range, Workspace, run, run_alone, run_range};
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

/// Runs a vector in every way of the pipeline: with and without helpers, on one thread, and in ranges.
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
                    // After a failure nobody reads on.
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
            // The owner of a failed output discards it; its chunks may lie beyond a gap.
            if output_is_file && result.is_err() {
                assert_eq!(vector.expect, AgeExpectation::PayloadFailure, "{source}");
                continue;
            }
            assert_ends(vector, &way, result, &released);
        }
    }
    let mut workspace = Workspace::default();
    let (released, result) = to_pipe(rest, 0, |ends| {
        run_alone(&mut workspace, ends, &decryptor.payload, &Never)
    });
    let wrong = match &result {
        Err(
            Error::Authentication { chunk }
            | Error::Incomplete { chunk }
            | Error::Trailing { chunk },
        ) => *chunk,
        _ => u64::MAX,
    };
    assert_ends(vector, "one thread", result, &released);
    check_parts(vector, &decryptor, rest, (&released, wrong));
}

/// Checks that a range is either that part of the whole, whose authentic beginning is `whole`, or refused. Ranges that
/// contain the chunk `wrong`, and all ranges of a file whose end is damaged, are refused.
fn check_parts(
    vector: &AgeVector,
    decryptor: &Decryptor,
    sealed: &[u8],
    (whole, wrong): (&[u8], u64),
) {
    let source = &vector.source;
    let is_good = vector.expect == AgeExpectation::Success;
    let length = decryptor
        .payload
        .check_length(&file_with(sealed), 0, sealed.len() as u64);
    let of = match length {
        Ok(of) => of,
        Err(error) => {
            assert!(!is_good, "{source}: {error}");
            return;
        }
    };
    assert_eq!(plain_bytes(sealed.len() as u64), Some(of), "{source}");
    if is_good {
        assert_eq!(of, whole.len() as u64, "{source}");
    }
    let chunk = CHUNK_BYTES as u64;
    let edges = [
        0,
        1,
        chunk - 1,
        chunk,
        chunk + 1,
        of / 2,
        of.saturating_sub(1),
    ];
    for from in edges.into_iter().filter(|from| *from < of) {
        for bytes in [1, chunk - 1, chunk, chunk + 1, of] {
            let bytes = bytes.min(of - from);
            let range = Range { from, bytes, of };
            let start = (from / chunk) as usize * SEALED_CHUNK_BYTES;
            let (released, result) = to_pipe(sealed, start, |ends| {
                run_range(accelerator(), 1, ends, &decryptor.payload, &Never, range)
            });
            let authentic = whole.get(from as usize..).unwrap_or_default();
            let authentic = &authentic[..authentic.len().min(bytes as usize)];
            match result {
                Ok(()) if is_good => assert!(released == authentic, "{source}: {range:?}"),
                Ok(()) => assert!(
                    from / chunk > wrong || (from + bytes - 1) / chunk < wrong,
                    "{source}: {range:?}"
                ),
                Err(error) => {
                    assert!(!is_good, "{source}: {range:?}: {error}");
                    assert!(authentic.starts_with(&released), "{source}: {range:?}");
                }
            }
        }
    }
}

/// Returns what `work` writes of `sealed` from `start` on.
fn to_pipe(
    sealed: &[u8],
    start: usize,
    work: impl FnOnce(&Ends<'_>) -> Result<(), Error>,
) -> (Vec<u8>, Result<(), Error>) {
    let mut input = file_with(sealed);
    input.seek(SeekFrom::Start(start as u64)).unwrap();
    thread::scope(|scope| {
        let (mut reader, output) = pipe();
        let reading = scope.spawn(move || {
            let mut released = Vec::new();
            reader.read_to_end(&mut released).unwrap();
            released
        });
        let ends = Ends {
            input: &input,
            input_bytes: Some(sealed.len() as u64),
            output: &output,
            is_positional: false,
            is_regular: false,
            makes_holes: false,
            cache: Cache::Keep,
        };
        let result = work(&ends);
        drop(output);
        (reading.join().unwrap(), result)
    })
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
        Err(Error::NoMatchingIdentity | Error::NeedsPassphrase | Error::WrongPassphrase) => {
            AgeExpectation::NoMatch
        }
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
        identities.push(Box::new(Passphrase::new(passphrase, || true)));
    }
    identities
}
