//! What arrives is what was sent, whatever the socket accepts at a time.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use oarlock::packet::PacketError;
use oarlock::packet::tls::{
    ContentType, Cut, End, Inbound, InboundRecord, Keys, Padding, Suite, key_update,
};
use oarlock_file::Error;
use oarlock_file::tls::{Ended, Sender, Sent};
use oarlock_testing::process::alone;
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use crate::common::{accelerator, file_with};

fn keys(suite: Suite) -> Keys<'static> {
    const SECRET: [u8; 48] = [7; 48];
    Keys::from_secret(suite, &SECRET[..suite.secret_bytes()])
}

fn sender(suite: Suite) -> Sender {
    Sender::new(accelerator().tls_outbound(&keys(suite)).unwrap())
}

fn inbound(suite: Suite) -> Inbound {
    accelerator().tls_inbound(&keys(suite)).unwrap()
}

fn random(bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    StdRng::seed_from_u64(bytes as u64).fill_bytes(&mut data);
    data
}

/// Returns the contents of all records of `stream`, which must be whole.
fn contents(inbound: &mut Inbound, mut stream: Vec<u8>) -> Vec<Vec<u8>> {
    let mut records = vec![InboundRecord::default(); stream.len() / 22 + 1];
    let opened = inbound.open(&mut stream, &mut records);
    assert_eq!(opened.end, Ok(End::Incomplete));
    assert_eq!(opened.bytes, stream.len());
    (records[..opened.records].iter())
        .map(|record| stream[record.content()].to_vec())
        .collect()
}

/// Sends over a blocking socket, and returns what a thread reads at its other end.
fn through(send: impl FnOnce(&UnixStream)) -> Vec<u8> {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let reader = std::thread::spawn(move || {
        let mut stream = Vec::new();
        theirs.read_to_end(&mut stream).unwrap();
        stream
    });
    send(&ours);
    drop(ours);
    reader.join().unwrap()
}

#[test]
fn every_range_of_a_file_arrives() {
    let data = random(600_000);
    let file = file_with(&data);
    let bytes = data.len() as u64;
    let ranges: [Range<u64>; 12] = [
        0..0,
        0..1,
        0..16_384,
        1..16_386,
        5..100_005,
        0..262_144,
        0..262_145,
        262_143..524_289,
        0..bytes,
        bytes - 1..bytes,
        bytes..bytes,
        7..bytes,
    ];
    for suite in Suite::ALL {
        let (mut sender, mut inbound) = (sender(*suite), inbound(*suite));
        for range in &ranges {
            let stream = through(|socket| {
                let sent = sender.send_file(socket, &file, range.clone()).unwrap();
                let bytes = range.end - range.start;
                assert_eq!(
                    sent,
                    Sent {
                        bytes,
                        ended: Ended::Done
                    }
                );
            });
            let place = range.start as usize..range.end as usize;
            let found = contents(&mut inbound, stream);
            assert_eq!(found.concat(), data[place], "{range:?}");
            // The number of records is the lowest possible.
            assert_eq!(
                found.len() as u64,
                (range.end - range.start).div_ceil(16_384)
            );
        }
    }
}

#[test]
fn a_range_past_the_end_is_sent_as_far_as_the_file_goes() {
    let data = random(300_000);
    let file = file_with(&data);
    let (mut sender, mut inbound) = (sender(Suite::ALL[0]), inbound(Suite::ALL[0]));
    for start in [0, 299_999, 300_000, 1 << 40] {
        let stream = through(|socket| {
            let sent = sender
                .send_file(socket, &file, start..u64::MAX >> 1)
                .unwrap();
            let bytes = 300_000_u64.saturating_sub(start);
            assert_eq!(
                sent,
                Sent {
                    bytes,
                    ended: Ended::EndOfFile
                }
            );
        });
        let place = start.min(300_000) as usize;
        assert_eq!(contents(&mut inbound, stream).concat(), data[place..]);
    }
    // A range that ends before it begins is empty.
    #[allow(clippy::reversed_empty_ranges)]
    let sent = through(|socket| {
        let sent = sender.send_file(socket, &file, 9..3).unwrap();
        assert_eq!(
            sent,
            Sent {
                bytes: 0,
                ended: Ended::Done
            }
        );
    });
    assert!(sent.is_empty());
}

#[test]
fn holes_of_a_file_are_zeros() {
    let mut file = file_with(b"begin");
    file.set_len(5_000_000).unwrap();
    file.write_all(b"").unwrap();
    let stream = through(|socket| {
        let sent = sender(Suite::ALL[1])
            .send_file(socket, &file, 0..5_000_000)
            .unwrap();
        assert_eq!(sent.ended, Ended::Done);
    });
    let found = contents(&mut inbound(Suite::ALL[1]), stream).concat();
    assert_eq!(found[..5], *b"begin");
    assert_eq!(found.len(), 5_000_000);
    assert!(found[5..].iter().all(|byte| *byte == 0));
}

/// Each byte arrives once through a socket that accepts little at a time, and often nothing.
#[test]
fn a_full_socket_loses_nothing_and_has_nothing_twice() {
    let data = random(3_000_000);
    let file = file_with(&data);
    let mut random = StdRng::seed_from_u64(1);
    for suite in Suite::ALL {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let mut sender = sender(*suite);
        let mut stream = Vec::new();
        let mut range = 0..data.len() as u64;
        let mut waits = 0;
        loop {
            let sent = sender.send_file(&ours, &file, range.clone()).unwrap();
            range.start += sent.bytes;
            if sent.ended == Ended::Done {
                break;
            }
            assert_eq!(sent.ended, Ended::WouldBlock);
            assert!(sender.has_pending());
            waits += 1;
            let mut some = vec![0; random.random_range(1..200_000)];
            match theirs.read(&mut some) {
                Ok(bytes) => stream.extend_from_slice(&some[..bytes]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        assert!(waits > 10 && range.is_empty() && !sender.has_pending());
        drop(ours);
        theirs.set_nonblocking(false).unwrap();
        theirs.read_to_end(&mut stream).unwrap();
        let found = contents(&mut inbound(*suite), stream);
        assert_eq!(found.concat(), data);
        assert_eq!(
            found.len(),
            data.len().div_ceil(16_384),
            "no record is cut short"
        );
    }
}

#[test]
fn buffers_and_messages_go_the_same_way() {
    let data = random(700_000);
    let suite = Suite::ALL[2];
    let mut sender = sender(suite);
    let mut stream = through(|socket| {
        let sent = sender.send(socket, &data).unwrap();
        assert_eq!(
            sent,
            Sent {
                bytes: 700_000,
                ended: Ended::Done
            }
        );
        let update = key_update(false);
        let sent = sender
            .send_message(socket, ContentType::HANDSHAKE, &update)
            .unwrap();
        assert_eq!(
            sent,
            Sent {
                bytes: 5,
                ended: Ended::Done
            }
        );
        sender.outbound_mut().update().unwrap();
        sender.send(socket, b"behind").unwrap();
        sender
            .send_message(socket, ContentType::ALERT, &[1, 0])
            .unwrap();
    });
    let mut inbound = inbound(suite);
    let mut records = vec![InboundRecord::default(); 100];
    let opened = inbound.open(&mut stream, &mut records);
    assert_eq!(opened.end, Ok(End::Message));
    let (last, before) = records[..opened.records].split_last().unwrap();
    let found: Vec<_> = before
        .iter()
        .map(|record| &stream[record.content()])
        .collect();
    assert_eq!(found.concat(), data);
    assert_eq!(stream[last.content()], key_update(false));
    inbound.update().unwrap();
    let mut rest = stream.split_off(opened.bytes);
    let opened = inbound.open(&mut rest, &mut records);
    assert_eq!((opened.records, opened.end), (2, Ok(End::Message)));
    assert_eq!(&rest[records[0].content()], b"behind");
    assert_eq!(records[1].content_type(), ContentType::ALERT);
    let too_long = sender.send_message(through_nobody(), ContentType::ALERT, &[1; 20_000]);
    assert!(matches!(
        too_long,
        Err(Error::Record(PacketError::InvalidLength { bytes: 20_000 }))
    ));
}

fn through_nobody() -> UnixStream {
    UnixStream::pair().unwrap().0
}

/// A message that meets a full socket is accepted as a whole, or not at all.
#[test]
fn a_message_waits_for_what_is_before_it() {
    let data = random(2_000_000);
    let suite = Suite::ALL[0];
    let mut sender = sender(suite);
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let sent = sender.send(&ours, &data).unwrap();
    assert_eq!(sent.ended, Ended::WouldBlock);
    let message = sender
        .send_message(&ours, ContentType::ALERT, &[1, 0])
        .unwrap();
    assert_eq!(
        message,
        Sent {
            bytes: 0,
            ended: Ended::WouldBlock
        }
    );
    let reader = std::thread::spawn(move || {
        let mut stream = Vec::new();
        theirs.read_to_end(&mut stream).unwrap();
        stream
    });
    ours.set_nonblocking(false).unwrap();
    let message = sender
        .send_message(&ours, ContentType::ALERT, &[1, 0])
        .unwrap();
    assert_eq!(
        message,
        Sent {
            bytes: 2,
            ended: Ended::Done
        }
    );
    drop(ours);
    let mut stream = reader.join().unwrap();
    let mut records = vec![InboundRecord::default(); 200];
    let opened = inbound(suite).open(&mut stream, &mut records);
    assert_eq!((opened.end, opened.bytes), (Ok(End::Message), stream.len()));
    let found: Vec<_> = (records[..opened.records - 1].iter())
        .map(|record| &stream[record.content()])
        .collect();
    assert_eq!(found.concat(), data[..sent.bytes as usize]);
}

/// The standard library ignores the signal; this process restores its default action.
#[test]
fn a_closed_connection_is_an_error_and_no_signal() {
    if alone(&[]) {
        return;
    }
    // SAFETY: this test has a process of its own, whose other threads handle no signals.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    let file = file_with(&random(1_000_000));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    drop(theirs);
    ours.shutdown(Shutdown::Write).unwrap();
    let mut to_tcp = sender(Suite::ALL[0]);
    for _ in 0..3 {
        let error = to_tcp.send_file(&ours, &file, 100..1_000_000).unwrap_err();
        assert!(matches!(&error, Error::Write { .. }), "{error}");
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let error = sender(Suite::ALL[0])
        .send_file(&ours, &file, 100..1_000_000)
        .unwrap_err();
    assert!(error.to_string().starts_with("writing at byte"), "{error}");
}

#[test]
fn what_cannot_be_read_is_an_error_at_its_byte() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let mut sender = sender(Suite::ALL[0]);
    let directory = std::fs::File::open("/").unwrap();
    for unreadable in [directory.as_fd(), ours.as_fd()] {
        let error = sender.send_file(&ours, unreadable, 3..9).unwrap_err();
        assert!(matches!(error, Error::Read { at: 3, .. }), "{error}");
    }
    assert_eq!(sender.outbound_mut().sequence(), 0, "nothing was sealed");
}

/// Covers a file that loses its end between two calls, and one that does so while it is sent.
#[test]
fn a_file_that_shrinks_ends_where_it_ends() {
    let data = random(1_500_000);
    let file = file_with(&data);
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut sender = sender(Suite::ALL[0]);
    let sent = sender.send_file(&ours, &file, 0..1_500_000).unwrap();
    assert_eq!(sent.ended, Ended::WouldBlock);
    file.set_len(sent.bytes + 10).unwrap();
    let reader = std::thread::spawn(move || {
        let mut stream = Vec::new();
        theirs.read_to_end(&mut stream).unwrap();
        stream
    });
    ours.set_nonblocking(false).unwrap();
    let rest = sender
        .send_file(&ours, &file, sent.bytes..1_500_000)
        .unwrap();
    assert_eq!(
        rest,
        Sent {
            bytes: 10,
            ended: Ended::EndOfFile
        }
    );
    drop(ours);
    let stream = reader.join().unwrap();
    let found = contents(&mut inbound(Suite::ALL[0]), stream).concat();
    assert_eq!(found, data[..sent.bytes as usize + 10]);
}

#[test]
fn records_are_as_long_as_the_peer_takes_them() {
    let data = random(100_000);
    let file = file_with(&data);
    for (limit, padding, lengths) in [
        (64, Padding::None, 1588),
        (1_025, Padding::None, 98),
        (1_025, Padding::Full, 98),
        (16_385, Padding::Multiple(100), 7),
        (u16::MAX, Padding::Full, 7),
    ] {
        let mut sender = sender(Suite::ALL[0]);
        let cut = Cut::record_size_limit(limit).unwrap().padding(padding);
        sender.outbound_mut().set_cut(cut);
        let whole = cut.sealed_bytes(data.len()).unwrap();
        let stream = through(|socket| {
            sender.send_file(socket, &file, 0..100_000).unwrap();
        });
        assert_eq!(stream.len(), whole, "{limit} {padding:?}");
        let mut inbound = inbound(Suite::ALL[0]);
        inbound.set_record_size_limit(limit);
        let found = contents(&mut inbound, stream);
        assert_eq!((found.concat(), found.len()), (data.clone(), lengths));
    }
    assert!(Cut::record_size_limit(63).is_err());
}

/// Near the end of a key, records that it may still protect are sent, and the rest under the next key.
#[test]
fn an_exhausted_key_is_updated_in_the_middle_of_a_file() {
    let data = random(200_000);
    let file = file_with(&data);
    let suite = Suite::Aes128GcmSha256;
    // The key may protect three more records of data, and one of KeyUpdate.
    let used = suite.records_max() - 4;
    let keys = keys(suite).sequence(used);
    let mut sender = Sender::new(accelerator().tls_outbound(&keys).unwrap());
    let mut stream = through(|socket| {
        let sent = sender.send_file(socket, &file, 0..200_000).unwrap();
        assert_eq!(
            sent,
            Sent {
                bytes: 3 * 16_384,
                ended: Ended::KeyExhausted
            }
        );
        let rest = sent.bytes..200_000;
        let refused = sender.send(socket, b"more").unwrap();
        assert_eq!(
            refused,
            Sent {
                bytes: 0,
                ended: Ended::KeyExhausted
            }
        );
        let update = key_update(true);
        sender
            .send_message(socket, ContentType::HANDSHAKE, &update)
            .unwrap();
        assert!(
            sender
                .send_message(socket, ContentType::HANDSHAKE, &update)
                .is_err()
        );
        sender.outbound_mut().update().unwrap();
        let sent = sender.send_file(socket, &file, rest).unwrap();
        assert_eq!(sent.ended, Ended::Done);
    });
    let mut inbound = accelerator().tls_inbound(&keys).unwrap();
    let mut records = vec![InboundRecord::default(); 9];
    let opened = inbound.open(&mut stream, &mut records);
    assert_eq!((opened.records, opened.end), (4, Ok(End::Message)));
    let mut found = (records[..3].iter())
        .flat_map(|record| stream[record.content()].to_vec())
        .collect::<Vec<_>>();
    inbound.update().unwrap();
    found.extend(contents(&mut inbound, stream.split_off(opened.bytes)).concat());
    assert_eq!(found, data);
}
