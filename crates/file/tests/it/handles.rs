//! `Reader` and `Writer`, for programs that bring buffers: the same files as through the pipeline, at any position and in
//! pieces of any length, and nothing that is not authentic.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::Barrier;
use std::thread;

use age::x25519::{Identity, Recipient};
use oarlock::Accelerator;
use oarlock_file::Error;
use oarlock_file::age::{CHUNK_BYTES, Reader, SEALED_CHUNK_BYTES, Writer};
use oarlock_testing::noise;

use crate::common::{accelerator, file_with, pipe};

/// More than the 64 chunks of a ring.
const MANY: usize = 100 * CHUNK_BYTES + 77;

fn reader(identity: &Identity, file: File) -> Result<Reader, Error> {
    Reader::new(file, &[identity], accelerator())
}

fn sealed(identity: &Identity, plain: &[u8]) -> Vec<u8> {
    age::encrypt(&identity.to_public(), plain).unwrap()
}

fn read(reader: &Reader, position: usize, bytes: usize) -> Result<Vec<u8>, Error> {
    let mut buffer = vec![0xaa; bytes];
    let read = reader.read_at(accelerator(), position as u64, &mut buffer)?;
    buffer.truncate(read);
    Ok(buffer)
}

/// Reads from a position to the end, in pieces of these lengths in turn.
fn read_on(reader: &Reader, position: usize, pieces: &[usize]) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    for bytes in pieces.iter().cycle() {
        let piece = read(reader, position + all.len(), *bytes)?;
        if piece.is_empty() {
            return Ok(all);
        }
        all.extend(piece);
    }
    unreachable!("there are pieces")
}

#[test]
fn pieces_of_any_length_are_those_of_the_file() {
    let identity = Identity::generate();
    for size in [0, 1, 3 * CHUNK_BYTES + 1, MANY] {
        let plain = noise(size);
        let reader = reader(&identity, file_with(&sealed(&identity, &plain))).unwrap();
        assert_eq!(reader.plain_bytes(), size as u64);
        for pieces in [
            &[1 << 20][..],
            &[CHUNK_BYTES],
            &[CHUNK_BYTES - 1],
            &[100_003, 1, 4 * CHUNK_BYTES, 7],
            // Longer than the ring serves.
            &[3 << 20, 1 << 20],
            &[MANY],
        ] {
            for start in [0, 2 * CHUNK_BYTES + 5] {
                let start = start.min(size);
                let opened = read_on(&reader, start, pieces).unwrap();
                assert!(
                    opened == plain[start..],
                    "{size} bytes, {pieces:?}, {start}"
                );
            }
        }
        assert_eq!(read(&reader, size + 1, 10).unwrap(), [0; 0]);
        assert_eq!(read(&reader, usize::MAX, 10).unwrap(), [0; 0]);
    }
}

#[test]
fn requests_that_follow_each_other_are_read_ahead_and_others_are_not() {
    let identity = Identity::generate();
    let file = file_with(&sealed(&identity, &noise(MANY)));
    // Its rings are this test's alone.
    let accelerator = Accelerator::builder().max_threads(2).build().unwrap();
    let reader = Reader::new(file, &[&identity], &accelerator).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut read = |position| reader.read_at(&accelerator, position, &mut buffer).unwrap();
    for position in [0, 5 << 20, 1 << 20, 3 << 20] {
        read(position);
    }
    assert_eq!(accelerator.prefetch_bytes(), 0);
    read(4 << 20);
    if accelerator.parallelism() > 1 {
        assert!(accelerator.prefetch_bytes() >= 4 << 20);
    }
    drop(reader);
    oarlock_testing::until("the last thread leaves", || {
        accelerator.prefetch_bytes() == 0
    });
}

#[test]
fn without_memory_for_a_ring_all_is_read() {
    let identity = Identity::generate();
    let plain = noise(MANY);
    let file = file_with(&sealed(&identity, &plain));
    let accelerator = Accelerator::builder()
        .prefetch_bytes(1 << 20)
        .build()
        .unwrap();
    let reader = Reader::new(file, &[&identity], &accelerator).unwrap();
    let mut opened = vec![0; MANY];
    for (number, piece) in opened.chunks_mut(1 << 20).enumerate() {
        let at = (number << 20) as u64;
        assert_eq!(
            reader.read_at(&accelerator, at, piece).unwrap(),
            piece.len()
        );
    }
    assert!(opened == plain);
    assert_eq!(accelerator.prefetch_bytes(), 0);
}

#[test]
fn an_altered_chunk_fails_when_it_is_reached_and_reveals_nothing() {
    let identity = Identity::generate();
    let plain = noise(MANY);
    let good = sealed(&identity, &plain);
    let wrong = 60;
    let start = good.len() - MANY - 101 * 16;
    let mut bad = good.clone();
    bad[start + wrong * SEALED_CHUNK_BYTES + 1000] ^= 1;
    for bytes in [
        CHUNK_BYTES,
        2 * CHUNK_BYTES,
        8 * CHUNK_BYTES + 100,
        1 << 20,
        3 << 20,
    ] {
        let reader = reader(&identity, file_with(&bad)).unwrap();
        let mut position = 0;
        // Everything before the request with the chunk is there, although threads have found the chunk by then.
        while position + bytes <= wrong * CHUNK_BYTES {
            assert!(read(&reader, position, bytes).unwrap() == plain[position..position + bytes]);
            position += bytes;
        }
        // The error stays: a request that is repeated does not get the chunk.
        for _ in 0..3 {
            let mut buffer = vec![0xaa; bytes];
            let failed = reader.read_at(accelerator(), position as u64, &mut buffer);
            assert!(
                matches!(failed, Err(Error::Authentication { chunk: 60 })),
                "{bytes} bytes: {failed:?}"
            );
            assert!(buffer.iter().all(|byte| *byte == 0));
        }
        let after = (wrong + 1) * CHUNK_BYTES;
        assert!(read_on(&reader, after, &[bytes]).unwrap() == plain[after..]);
    }
}

#[test]
fn a_file_that_is_cut_short_fails_where_it_ends() {
    let identity = Identity::generate();
    let plain = noise(MANY);
    let file = file_with(&sealed(&identity, &plain));
    let reader = reader(&identity, file.try_clone().unwrap()).unwrap();
    assert!(read(&reader, 0, 1 << 20).unwrap() == plain[..1 << 20]);
    file.set_len(80 * CHUNK_BYTES as u64).unwrap();
    let failed = read_on(&reader, 1 << 20, &[1 << 20]);
    assert!(matches!(failed, Err(Error::CutShort { .. })), "{failed:?}");
}

#[test]
fn threads_share_a_reader() {
    let identity = Identity::generate();
    let plain = noise(MANY);
    let reader = &reader(&identity, file_with(&sealed(&identity, &plain))).unwrap();
    let (plain, begin) = (&plain, &Barrier::new(4));
    thread::scope(|scope| {
        for place in 0..4 {
            scope.spawn(move || {
                begin.wait();
                for bytes in [100_000, CHUNK_BYTES, 1 << 20] {
                    let start = place * 777_777;
                    let opened = read_on(reader, start, &[bytes]).unwrap();
                    assert!(opened == plain[start..]);
                }
            });
        }
    });
}

#[test]
fn armored_files_are_read_at_any_position() {
    let identity = Identity::generate();
    let plain = noise(MANY);
    let text = armored(&identity.to_public(), &plain);
    for text in [
        text.clone(),
        format!(" \r\n\t{}", text.replace('\n', "\r\n")),
    ] {
        let reader = reader(&identity, file_with(text.as_bytes())).unwrap();
        assert!(read(&reader, 100_000, 70_000).unwrap() == plain[100_000..170_000]);
        assert!(read_on(&reader, 0, &[1 << 20]).unwrap() == plain);
    }
    for (bad, line) in [
        (text.replace("-----END", "-----BEND"), None),
        (format!("{text}\nmore"), None),
        (text.replacen('\n', "\n\n", 1), Some(2)),
    ] {
        match reader(&identity, file_with(bad.as_bytes())).map(drop) {
            Err(Error::Armor { line: found, .. }) => {
                assert!(line.is_none_or(|line| line == found));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn armored(recipient: &Recipient, plain: &[u8]) -> String {
    let mut file = tempfile::tempfile().unwrap();
    let mut writer = writer(recipient, file.try_clone().unwrap(), true);
    writer.append(plain, accelerator()).unwrap();
    writer.finish(accelerator()).unwrap();
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

fn writer(recipient: &Recipient, file: File, is_armored: bool) -> Writer {
    Writer::new(file, &[recipient], is_armored, accelerator()).unwrap()
}

#[test]
fn the_age_crate_reads_what_is_written_in_pieces() {
    let identity = Identity::generate();
    let recipient = identity.to_public();
    for size in [0, 1, 16 * CHUNK_BYTES, MANY] {
        let plain = noise(size);
        for bytes in [10_000, 1 << 20, (1 << 20) + 1, MANY] {
            let mut file = tempfile::tempfile().unwrap();
            // The file need not begin where the program begins to write.
            file.write_all(b"before").unwrap();
            let mut writer = writer(&recipient, file.try_clone().unwrap(), false);
            for piece in plain.chunks(bytes) {
                writer.append(piece, accelerator()).unwrap();
            }
            writer.finish(accelerator()).unwrap();
            assert!(writer.has_ended());
            assert!(matches!(
                writer.append(b"?", accelerator()),
                Err(Error::Stopped)
            ));
            let end = file.metadata().unwrap().len();
            assert_eq!(
                file.stream_position().unwrap(),
                end,
                "{size} in pieces of {bytes}"
            );
            file.seek(SeekFrom::Start(6)).unwrap();
            let mut sealed = Vec::new();
            file.read_to_end(&mut sealed).unwrap();
            let opened = age::decrypt(&identity, &sealed).unwrap();
            assert!(opened == plain, "{size} in pieces of {bytes}");
        }
    }
}

#[test]
fn what_is_no_place_for_offsets_is_written_in_order() {
    let identity = Identity::generate();
    let recipient = identity.to_public();
    let plain = noise(40 * CHUNK_BYTES + 3);
    let write = |file| {
        let mut writer = writer(&recipient, file, false);
        for piece in plain.chunks(777_777) {
            writer.append(piece, accelerator()).unwrap();
        }
        writer.finish(accelerator()).unwrap();
    };
    let (mut from_pipe, to_pipe) = pipe();
    let piped = thread::scope(|scope| {
        scope.spawn(|| write(to_pipe));
        let mut piped = Vec::new();
        from_pipe.read_to_end(&mut piped).unwrap();
        piped
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("appended");
    let open = || {
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .unwrap()
    };
    open().write_all(b"before").unwrap();
    write(open());
    let appended = std::fs::read(&path).unwrap();
    for sealed in [&piped[..], &appended[6..]] {
        assert!(age::decrypt(&identity, sealed).unwrap() == plain);
    }
}

#[test]
fn a_writer_that_failed_or_was_given_up_takes_nothing_more() {
    let recipient = Identity::generate().to_public();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let failed = Writer::new(full, &[&recipient], false, accelerator()).map(drop);
    assert!(matches!(failed, Err(Error::Write { .. })), "{failed:?}");
    // The other end of the pipe is gone after the header.
    let (from_pipe, to_pipe) = pipe();
    let mut writer = writer(&recipient, to_pipe, false);
    drop(from_pipe);
    let failed = writer.append(&noise(3 << 20), accelerator());
    assert!(matches!(failed, Err(Error::Write { .. })), "{failed:?}");
    assert!(writer.has_ended());
    assert!(matches!(writer.finish(accelerator()), Err(Error::Stopped)));
    let mut writer = self::writer(&recipient, tempfile::tempfile().unwrap(), false);
    writer.append(b"data", accelerator()).unwrap();
    writer.discard();
    assert!(matches!(writer.finish(accelerator()), Err(Error::Stopped)));
}

#[test]
fn files_that_were_cut_or_grew_are_refused_wherever_they_are_read() {
    let identity = Identity::generate();
    for size in [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES] {
        let whole = sealed(&identity, &noise(size));
        let longer = (1..=17).chain([SEALED_CHUNK_BYTES]);
        let longer = longer.map(|more| [&whole[..], &noise(more)].concat());
        let shorter = (1..=17).chain([SEALED_CHUNK_BYTES]);
        let shorter =
            shorter.filter_map(|less| Some(whole[..whole.len().checked_sub(less)?].into()));
        for wrong in longer.chain(shorter) {
            for position in [0, 1, size.saturating_sub(1), size, size + 1] {
                let result = reader(&identity, file_with(&wrong))
                    .and_then(|reader| read(&reader, position, 1));
                assert!(result.is_err(), "{size}, {} at {position}", wrong.len());
            }
        }
    }
}
