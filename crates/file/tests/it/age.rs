//! Exchange of files with the `age` crate: every size at the edges, every way through the pipeline, and no output that is
//! not authentic.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use age::x25519;
use oarlock_file::age::{
    CHUNK_BYTES, Decryptor, Encryptor, Header, SEALED_CHUNK_BYTES, TAG_BYTES, armored,
    generate_file_key, hybrid, plain_bytes,
};
use oarlock_file::{Cache, Ends, Error, Format, Watch, run};
use oarlock_testing::noise;
use oarlock_testing::process::example;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rustix::event::PollFlags;

use crate::common::{Never, accelerator, file_with, pipe};

/// Sizes around a chunk, a buffer of 16 of them, and more than the buffers of two threads.
const SIZES: [usize; 14] = [
    0,
    1,
    15,
    CHUNK_BYTES - 1,
    CHUNK_BYTES,
    CHUNK_BYTES + 1,
    2 * CHUNK_BYTES,
    16 * CHUNK_BYTES - 1,
    16 * CHUNK_BYTES,
    16 * CHUNK_BYTES + 1,
    32 * CHUNK_BYTES,
    32 * CHUNK_BYTES + 1,
    100 * CHUNK_BYTES,
    100 * CHUNK_BYTES + 77,
];

#[test]
fn the_age_crate_reads_what_the_example_writes() {
    let identity = x25519::Identity::generate();
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["plain", "sealed"].map(|name| folder.path().join(name));
    let plain = noise(3 * CHUNK_BYTES + 5);
    std::fs::write(&from, &plain).unwrap();
    let mut command = example("encrypt");
    command.arg(identity.to_public().to_string());
    let output = command.args([&from, &to]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let opened = age::decrypt(&identity, &std::fs::read(&to).unwrap()).unwrap();
    assert!(opened == plain);
}

#[test]
fn the_age_crate_reads_what_is_written() {
    let identity = x25519::Identity::generate();
    for size in SIZES {
        let plain = noise(size);
        for way in WAYS {
            let sealed = encrypt(&identity.to_public(), &plain, way);
            let opened = age::decrypt(&identity, &sealed).unwrap();
            assert!(opened == plain, "{size} bytes, {way:?}");
        }
    }
}

#[test]
fn what_the_age_crate_writes_is_read() {
    let identity = x25519::Identity::generate();
    for size in SIZES {
        let plain = noise(size);
        let sealed = age::encrypt(&identity.to_public(), &plain).unwrap();
        for way in WAYS {
            let (opened, result) = decrypt(&identity, &sealed, way);
            result.unwrap();
            assert!(opened == plain, "{size} bytes, {way:?}");
        }
    }
}

/// A pipe receives the chunks before the damage, and nothing else.
#[test]
fn nothing_is_put_out_that_is_not_authentic() {
    let identity = x25519::Identity::generate();
    let plain = noise(40 * CHUNK_BYTES + 100);
    let sealed = encrypt(&identity.to_public(), &plain, Way::Files);
    let head = sealed.len() - (plain.len() + 41 * TAG_BYTES);
    let chunk_at = |number: usize| head + number * SEALED_CHUNK_BYTES;
    for number in [0, 1, 15, 16, 17, 31, 32, 39, 40] {
        let at = chunk_at(number);
        let next = chunk_at(number + 1).min(sealed.len());
        let damaged: Vec<(&str, Vec<u8>, usize)> = vec![
            ("a bit of the data", flipped(&sealed, at), number),
            ("a bit of the tag", flipped(&sealed, next - 1), number),
            ("cut before it", sealed[..at].to_vec(), number),
            ("cut within it", sealed[..at + 20].to_vec(), number),
            (
                "left out",
                [&sealed[..at], &sealed[next..]].concat(),
                number,
            ),
            (
                "twice",
                [&sealed[..next], &sealed[at..]].concat(),
                if number == 40 { 40 } else { number + 1 },
            ),
        ];
        for (what, damaged, good_chunks) in damaged {
            for way in WAYS {
                let (opened, result) = decrypt(&identity, &damaged, way);
                assert!(
                    matches!(
                        result,
                        Err(Error::Authentication { .. }
                            | Error::Incomplete { .. }
                            | Error::Trailing { .. })
                    ),
                    "{what} {number}, {way:?}: {result:?}"
                );
                if matches!(way, Way::Pipes | Way::FileToPipe) {
                    let expected = &plain[..(good_chunks * CHUNK_BYTES).min(plain.len())];
                    assert!(
                        opened == expected,
                        "{what} {number}, {way:?}: {}",
                        opened.len()
                    );
                }
            }
        }
    }
}

#[test]
fn what_follows_the_last_chunk_is_refused() {
    let identity = x25519::Identity::generate();
    for size in [0, 10, CHUNK_BYTES, 33 * CHUNK_BYTES] {
        let mut sealed = encrypt(&identity.to_public(), &noise(size), Way::Pipes);
        sealed.push(0);
        for way in WAYS {
            let (_, result) = decrypt(&identity, &sealed, way);
            assert!(result.is_err(), "{size} bytes, {way:?}");
        }
    }
}

/// Covers every reader that derives the length of the plaintext from that of the file: ranges by `check_length`, and
/// `oarlock inspect` by `plain_bytes`.
#[test]
fn a_length_that_is_not_authentic_is_refused() {
    let identity = x25519::Identity::generate();
    let cpu = accelerator().cpu();
    for size in [
        0,
        1,
        CHUNK_BYTES - 1,
        CHUNK_BYTES,
        CHUNK_BYTES + 1,
        3 * CHUNK_BYTES,
    ] {
        let sealed = encrypt(&identity.to_public(), &noise(size), Way::Pipes);
        let decryptor = Decryptor::new(&mut &sealed[..], &[&identity], cpu).unwrap();
        let start = decryptor.prologue_bytes;
        let length = |sealed: &[u8]| {
            let end = sealed.len() as u64;
            decryptor
                .payload
                .check_length(&file_with(sealed), start, end)
        };
        assert_eq!(length(&sealed).unwrap(), size as u64);
        let chunks = sealed.len() as u64 - start;
        assert_eq!(plain_bytes(chunks), Some(size as u64));
        for more in [
            1,
            2,
            15,
            16,
            17,
            1000,
            SEALED_CHUNK_BYTES,
            SEALED_CHUNK_BYTES + 1,
        ] {
            let result = length(&[&sealed[..], &noise(more)].concat());
            // If at least a whole chunk was appended, or the last chunk is not full, the error need not name the cause.
            let is_named = size > 0 && size % CHUNK_BYTES == 0 && more < SEALED_CHUNK_BYTES;
            match result {
                Err(Error::Trailing { .. }) if is_named => {}
                Err(
                    Error::Authentication { .. }
                    | Error::Incomplete { .. }
                    | Error::Trailing { .. },
                ) if !is_named => {}
                result => panic!("{size} and {more}: {result:?}"),
            }
            if is_named && more <= TAG_BYTES {
                assert_eq!(plain_bytes(chunks + more as u64), None, "{size} and {more}");
            }
        }
        for less in [
            1,
            15,
            16,
            17,
            size % CHUNK_BYTES + TAG_BYTES,
            SEALED_CHUNK_BYTES,
        ] {
            let Some(left) = (chunks as usize).checked_sub(less) else {
                continue;
            };
            let result = length(&sealed[..start as usize + left]);
            assert!(
                matches!(
                    result,
                    Err(Error::Authentication { .. } | Error::Incomplete { .. })
                ),
                "{size} less {less}: {result:?}"
            );
        }
    }
    for (sealed, plain) in [
        (0, None),
        (15, None),
        (16, Some(0)),
        (17, Some(1)),
        (65_552, Some(65_536)),
        (65_553, None),
        (65_567, None),
        (65_568, None),
        (65_569, Some(65_537)),
    ] {
        assert_eq!(plain_bytes(sealed), plain, "{sealed}");
    }
}

#[test]
fn headers_that_are_damaged_are_refused() {
    let identity = x25519::Identity::generate();
    let sealed = encrypt(&identity.to_public(), b"attack at dawn", Way::Files);
    let header = Header::read(&mut &sealed[..]).unwrap().encoded.len();
    for at in 0..header {
        for bit in [0, 5] {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1 << bit;
            let (opened, result) = decrypt(&identity, &damaged, Way::Files);
            assert!(result.is_err() && opened.is_empty(), "byte {at}, bit {bit}");
        }
        let (opened, result) = decrypt(&identity, &sealed[..at], Way::Files);
        assert!(result.is_err() && opened.is_empty(), "cut at {at}");
    }
    let other = x25519::Identity::generate();
    let (_, result) = decrypt(&other, &sealed, Way::Files);
    assert!(
        matches!(result, Err(Error::NoMatchingIdentity)),
        "{result:?}"
    );
}

/// A pipe has no way back, so the payload must stay in it. A header of megabytes must not be read byte by byte.
#[test]
fn a_header_is_read_in_few_pieces_and_nothing_behind_it() {
    struct Counting<'a> {
        input: &'a [u8],
        bytes_max: usize,
        reads: usize,
    }
    impl std::io::Read for Counting<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.reads += 1;
            let bytes = buffer.len().min(self.bytes_max);
            self.input.read(&mut buffer[..bytes])
        }
    }
    let identity = x25519::Identity::generate();
    let one = encrypt(&identity.to_public(), b"attack at dawn", Way::Files);
    let (version, rest) = one.split_at(b"age-encryption.org/v1\n".len());
    let unknown = b"-> unknown to us\nAAAA\n-> full\n".to_vec();
    let full_line = [&[b'A'; 64][..], b"\n\n"].concat();
    let many = [version, &[unknown, full_line].concat().repeat(100), rest].concat();
    for sealed in [&one, &many] {
        for bytes_max in [1, 2, 3, 47, 48, 49, usize::MAX] {
            let mut reader = Counting {
                input: sealed,
                bytes_max,
                reads: 0,
            };
            let header = Header::read(&mut reader).unwrap().encoded;
            assert_eq!(header, sealed[..header.len()], "{bytes_max}");
            assert_eq!(reader.input, &sealed[header.len()..], "{bytes_max}");
            if bytes_max == usize::MAX {
                assert!(reader.reads < 8 + header.len() / 20, "{}", reader.reads);
            }
        }
    }
}

#[test]
fn armor_goes_both_ways() {
    let identity = x25519::Identity::generate();
    let cpu = accelerator().cpu();
    for size in SIZES {
        let plain = noise(size);
        let encryptor = Encryptor::new(&[&identity.to_public()], cpu).unwrap();
        let mut text = Vec::new();
        armored::seal(&encryptor, &mut &plain[..], &mut text, &mut |_| true).unwrap();
        assert!(text.is_ascii() && text.starts_with(armored::BEGIN.as_bytes()));
        assert!(age::decrypt(&identity, &text).unwrap() == plain, "{size}");
        let recipient = identity.to_public();
        let theirs = age::encrypt_and_armor(&recipient, &plain).unwrap();
        for text in [&text[..], theirs.as_bytes()] {
            let mut opened = Vec::new();
            armored::Armored::new(text)
                .unwrap()
                .open(&[&identity], cpu, &mut opened, &mut |_| true)
                .unwrap();
            assert!(opened == plain, "{size}");
        }
    }
}

#[test]
fn the_watch_stops_it() {
    struct Stops(AtomicU64);
    impl Watch for Stops {
        fn is_stopped(&self) -> bool {
            self.0.load(Ordering::Relaxed) > 0
        }
        fn wait(&self, _: BorrowedFd<'_>, _: PollFlags) -> bool {
            !self.is_stopped()
        }
        fn advanced(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    let identity = x25519::Identity::generate();
    let encryptor = Encryptor::new(&[&identity.to_public()], accelerator().cpu()).unwrap();
    let input = file_with(&noise(200 * CHUNK_BYTES));
    let output = tempfile::tempfile().unwrap();
    let ends = Ends {
        input_bytes: Some(input.metadata().unwrap().len()),
        input: &input,
        output: &output,
        is_positional: true,
        is_regular: true,
        makes_holes: false,
        cache: Cache::Keep,
    };
    let stops = Stops(AtomicU64::new(0));
    let result = run(accelerator(), 1, &ends, &encryptor.payload, &stops);
    assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
    assert!(stops.0.into_inner() < 100 * CHUNK_BYTES as u64);
}

#[test]
fn files_that_are_told_to_leave_no_trace_in_memory_are_not_left_there() {
    // Longer than the data that may wait for the disk.
    let chunks = 200 * 16;
    let mut input = tempfile::NamedTempFile::new().unwrap();
    let block = noise(CHUNK_BYTES);
    for _ in 0..chunks {
        input.write_all(&block).unwrap();
    }
    // What is not on disk yet cannot leave the cache.
    input.as_file().sync_all().unwrap();
    let identity = x25519::Identity::generate();
    let encryptor = Encryptor::new(&[&identity.to_public()], accelerator().cpu()).unwrap();
    for (cache, least, most) in [(Cache::Keep, 0.5, 1.0), (Cache::Drop, 0.0, 0.1)] {
        let file = input.reopen().unwrap();
        let output = tempfile::tempfile().unwrap();
        let ends = Ends {
            input_bytes: Some(file.metadata().unwrap().len()),
            input: &file,
            output: &output,
            is_positional: true,
            is_regular: true,
            makes_holes: false,
            cache,
        };
        run(accelerator(), 1, &ends, &encryptor.payload, &Never).unwrap();
        let sealed = output.metadata().unwrap().len();
        assert_eq!(sealed, chunks * SEALED_CHUNK_BYTES as u64);
        // A file system in memory keeps everything.
        let kind = rustix::fs::fstatfs(input.as_file()).unwrap().f_type;
        if kind != TMPFS_MAGIC {
            let share = in_memory(input.path()) / (chunks * CHUNK_BYTES as u64) as f64;
            assert!((least..=most).contains(&share), "{cache:?}: {share}");
        }
    }
}

/// Returns the bytes of a file that are in the page cache.
fn in_memory(path: &std::path::Path) -> f64 {
    let output = std::process::Command::new("fincore")
        .args(["--bytes", "--noheadings", "--output", "RES"])
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap()
}

/// The value for tmpfs in statfs(2).
const TMPFS_MAGIC: i64 = 0x0102_1994;

/// The input and output of the pipeline.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Files,
    Pipes,
    FileToPipe,
    OneThread,
}

const WAYS: [Way; 4] = [Way::Files, Way::Pipes, Way::FileToPipe, Way::OneThread];

fn encrypt(recipient: &x25519::Recipient, plain: &[u8], way: Way) -> Vec<u8> {
    let encryptor = Encryptor::new(&[recipient], accelerator().cpu()).unwrap();
    let (sealed, result) = through(&encryptor.payload, plain, 0, &encryptor.prologue, way);
    result.unwrap();
    sealed
}

fn decrypt(identity: &x25519::Identity, sealed: &[u8], way: Way) -> (Vec<u8>, Result<(), Error>) {
    let cpu = accelerator().cpu();
    match Decryptor::new(&mut &sealed[..], &[identity], cpu) {
        Ok(decryptor) => through(
            &decryptor.payload,
            sealed,
            decryptor.prologue_bytes as usize,
            b"",
            way,
        ),
        Err(error) => (Vec::new(), Err(error)),
    }
}

/// Processes `data` from `start` on, and returns the output, which begins with `begun`.
fn through(
    format: &impl Format,
    data: &[u8],
    start: usize,
    begun: &[u8],
    way: Way,
) -> (Vec<u8>, Result<(), Error>) {
    let helpers = if way == Way::OneThread { 0 } else { 1 };
    let file_in = || {
        let mut file = file_with(data);
        file.seek(SeekFrom::Start(start as u64)).unwrap();
        file
    };
    let size = Some(data.len() as u64);
    match way {
        Way::Files | Way::OneThread => {
            let (input, mut output) = (file_in(), file_with(begun));
            output.seek(SeekFrom::End(0)).unwrap();
            let ends = Ends {
                input: &input,
                input_bytes: size,
                output: &output,
                is_positional: true,
                is_regular: true,
                makes_holes: false,
                cache: Cache::Keep,
            };
            let result = run(accelerator(), helpers, &ends, format, &Never);
            let mut written = Vec::new();
            output.rewind().unwrap();
            output.read_to_end(&mut written).unwrap();
            (written, result)
        }
        Way::Pipes | Way::FileToPipe => thread::scope(|scope| {
            let (mut reader, writer) = pipe();
            let (input, input_bytes) = if way == Way::Pipes {
                let (input, mut feeder) = pipe();
                scope.spawn(move || {
                    let mut rng = StdRng::seed_from_u64(3);
                    let mut rest = &data[start..];
                    while !rest.is_empty() {
                        let piece = rest.len().min(rng.random_range(1..300_000));
                        // After a failure nobody reads on.
                        if feeder.write_all(&rest[..piece]).is_err() {
                            break;
                        }
                        rest = &rest[piece..];
                    }
                });
                (input, None)
            } else {
                (file_in(), size)
            };
            let begun = begun.to_vec();
            let read = scope.spawn(move || {
                let mut written = begun;
                reader.read_to_end(&mut written).unwrap();
                written
            });
            let ends = Ends {
                input: &input,
                input_bytes,
                output: &writer,
                is_positional: false,
                is_regular: false,
                makes_holes: false,
                cache: Cache::Keep,
            };
            let result = run(accelerator(), helpers, &ends, format, &Never);
            drop(writer);
            drop(input);
            (read.join().unwrap(), result)
        }),
    }
}

/// A quantum computer could open the file through the other recipient.
#[test]
fn post_quantum_recipients_do_not_stand_beside_others() {
    let identity = hybrid::Identity::generate().unwrap();
    let classical = x25519::Identity::generate().to_public();
    let other = hybrid::Identity::generate().unwrap().to_public();
    let (one, cpu) = (identity.to_public(), accelerator().cpu());
    for pair in [
        [&one as &dyn age::Recipient, &classical],
        [&classical, &one],
    ] {
        let error = Encryptor::new(&pair, cpu).err().unwrap();
        assert!(matches!(error, Error::MixedPostQuantum), "{error}");
    }
    let encryptor = Encryptor::new(&[&other, &one], cpu).unwrap();
    Decryptor::new(&mut &encryptor.prologue[..], &[&identity], cpu).unwrap();
}

fn flipped(data: &[u8], at: usize) -> Vec<u8> {
    let mut flipped = data.to_vec();
    flipped[at] ^= 1;
    flipped
}

/// The header changes and the payload does not, at the same place in the file where the lengths allow it.
#[test]
fn a_header_is_wrapped_for_others() {
    let [old, new, third] = [(); 3].map(|()| x25519::Identity::generate());
    let plain = noise(3 * CHUNK_BYTES + 5);
    let as_dyn = |it: &x25519::Identity| Box::new(it.to_public()) as Box<dyn age::Recipient>;
    for _ in 0..20 {
        // With a stanza of random length that opens nothing, as every file of ours has one.
        let ours = encrypt(&old.to_public(), &plain, Way::Files);
        let theirs = age::encrypt(&old.to_public(), &plain).unwrap();
        for sealed in [ours, theirs] {
            let header = Header::read(&mut &sealed[..]).unwrap();
            let payload = &sealed[header.encoded.len()..];
            let file_key = header.unwrap(&[&old]).unwrap();
            let cases = [
                (vec![&new], false, vec![&new], vec![&old, &third]),
                (vec![&new], true, vec![&old, &new], vec![&third]),
                (vec![&new, &third], false, vec![&new, &third], vec![&old]),
                (vec![], true, vec![&old], vec![&new, &third]),
            ];
            for (added, keeps_others, good, bad) in cases {
                let recipients: Vec<_> = added.iter().map(|it| as_dyn(it)).collect();
                let recipients: Vec<_> = recipients.iter().map(|it| &**it).collect();
                let wrapped = header.rewrap(&recipients, keeps_others, &file_key).unwrap();
                assert_eq!(wrapped.recipient_kinds().count(), good.len());
                if good.len() == 1 {
                    assert_eq!(wrapped.encoded.len(), header.encoded.len());
                }
                let again = [&wrapped.encoded, payload].concat();
                for identity in good {
                    assert!(age::decrypt(identity, &again).unwrap() == plain);
                }
                for identity in bad {
                    assert!(age::decrypt(identity, &again).is_err());
                }
            }
        }
    }
}

#[test]
fn a_header_is_not_wrapped_with_another_key_or_a_mix() {
    let identity = x25519::Identity::generate();
    let sealed = encrypt(&identity.to_public(), b"attack at dawn", Way::Files);
    let header = Header::read(&mut &sealed[..]).unwrap();
    let file_key = header.unwrap(&[&identity]).unwrap();
    let foreign = generate_file_key().unwrap();
    let rewrap = |recipient: &dyn age::Recipient, keeps_others, file_key| {
        let wrapped = header.rewrap(&[recipient], keeps_others, file_key);
        wrapped.map(|it| it.encoded.len())
    };
    let another = identity.to_public();
    let result = rewrap(&another, false, &foreign);
    assert!(matches!(result, Err(Error::HeaderMac)), "{result:?}");
    let result = header.rewrap(&[], false, &file_key).map(|it| it.bytes());
    assert!(matches!(result, Err(Error::NoRecipient)), "{result:?}");
    let hybrid = hybrid::Identity::generate().unwrap();
    let recipient = hybrid.to_public();
    let result = rewrap(&recipient, true, &file_key);
    assert!(matches!(result, Err(Error::MixedPostQuantum)), "{result:?}");
    // From a longer header to a shorter one, the difference is made up.
    let recipient: &dyn age::Recipient = &recipient;
    let longer = header.rewrap(&[recipient], false, &file_key).unwrap();
    assert!(longer.encoded.len() > header.encoded.len() + 1000);
    assert!(longer.unwrap(&[&hybrid]).is_ok());
    let back = longer.rewrap(&[&another], false, &file_key).unwrap();
    assert_eq!(back.encoded.len(), longer.encoded.len());
    let again = [&back.encoded, &sealed[header.encoded.len()..]].concat();
    assert_eq!(age::decrypt(&identity, &again).unwrap(), b"attack at dawn");
    let result = longer.rewrap(&[&another], true, &file_key);
    let result = result.map(|it| it.bytes());
    assert!(matches!(result, Err(Error::MixedPostQuantum)), "{result:?}");
    let passphrase = age::scrypt::Recipient::new("correct horse".to_owned().into());
    let result = rewrap(&passphrase, true, &file_key);
    assert!(matches!(result, Err(Error::Recipient(_))), "{result:?}");
}

#[test]
fn a_passphrase_has_one_limit_whatever_its_identity_allows() {
    let secret = || "correct horse".to_owned().into();
    let mut recipient = age::scrypt::Recipient::new(secret());
    recipient.set_work_factor(10);
    let file_key = generate_file_key().unwrap();
    let header = Header::new(&[&recipient], &file_key).unwrap();
    let mut identity = age::scrypt::Identity::new(secret());
    identity.set_max_work_factor(30);
    assert!(header.unwrap(&[&identity]).is_ok());
    let text = String::from_utf8(header.encoded).unwrap();
    let costly = text.replacen(" 10\n", " 23\n", 1);
    assert_ne!(costly, text);
    let costly = Header::read(&mut costly.as_bytes()).unwrap();
    let result = costly.unwrap(&[&identity]).map(drop);
    assert!(
        matches!(result, Err(Error::ExcessiveWork(22))),
        "{result:?}"
    );
    // The message of an identity that allows less says what the file takes.
    identity.set_max_work_factor(9);
    let header = Header::read(&mut text.as_bytes()).unwrap();
    let error = header.unwrap(&[&identity]).map(drop).unwrap_err();
    assert!(error.to_string().contains("2^10 rounds"), "{error}");
}
