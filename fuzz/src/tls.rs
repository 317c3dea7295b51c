//! TLS 1.3 and DTLS 1.3: streams and datagrams of any bytes, genuine records and damaged ones, compared with a
//! receiver that follows RFC 8446 and RFC 9147 one record at a time with RustCrypto's ciphers.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aes_gcm::{Aes128Gcm, Aes256Gcm};
use arbitrary::Arbitrary;
use chacha20::variants::Ietf;
use chacha20::{ChaChaCore, R20};
use chacha20poly1305::ChaCha20Poly1305;
use cipher::block::BlockCipherEncrypt;
use cipher::{KeyInit, KeyIvInit, StreamCipherCore};
use hmac::{Hmac, Mac};
use oarlock::Accelerator;
use oarlock::packet::PacketError;
use oarlock::packet::tls::dtls::ConnectionId;
use oarlock::packet::tls::{ContentType, End, InboundRecord, Keys, Suite};

use crate::rustcrypto::{crypt, for_packets};

fuzz_target!(|input: Input| {
    let suite = Suite::ALL[usize::from(input.suite) % Suite::ALL.len()];
    let accelerator = &ACCELERATORS[usize::from(input.accelerator) % ACCELERATORS.len()];
    let secret: Vec<_> = (input.secret.iter().copied().cycle())
        .take(suite.secret_bytes())
        .collect();
    if input.is_dtls {
        dtls(accelerator, suite, &secret, &input);
    } else {
        tls(accelerator, suite, &secret, &input);
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    suite: u8,
    accelerator: u8,
    is_dtls: bool,
    secret: [u8; 4],
    first: u32,
    /// The receiver's record_size_limit of TLS, if there is one; the window of DTLS.
    limit: u16,
    has_id: bool,
    calls: Vec<Call>,
}

#[derive(Arbitrary, Debug)]
struct Call {
    records: Vec<Record>,
    /// The last bytes of a TLS stream, which come with the next call. With DTLS, 3 in the low bits puts several
    /// records into a datagram.
    later: u8,
    room: u8,
}

#[derive(Arbitrary, Debug)]
enum Record {
    /// These bytes.
    Any(Vec<u8>),
    /// Under a header as it should be.
    Headed { rest: Vec<u8> },
    /// A record of the next number, or of one near to it.
    Sealed {
        near: i8,
        look: u8,
        inner: Vec<u8>,
        long: u16,
        padding: u8,
    },
    /// The same with a bit that is not as it was.
    Damaged {
        near: i8,
        look: u8,
        inner: Vec<u8>,
        bit: u16,
    },
}

/// The keys of one generation.
struct Reference {
    suite: Suite,
    key: Vec<u8>,
    iv: Vec<u8>,
    sn_key: Vec<u8>,
}

impl Reference {
    fn new(suite: Suite, prefix: &str, secret: &[u8]) -> Self {
        let expand = |label, bytes| expand(suite, prefix, secret, label, bytes);
        Self {
            suite,
            key: expand("key", suite.key_bytes()),
            iv: expand("iv", 12),
            sn_key: expand("sn", suite.key_bytes()),
        }
    }

    fn nonce(&self, sequence: u64) -> Vec<u8> {
        let number = [&[0; 4][..], &sequence.to_be_bytes()].concat();
        self.iv
            .iter()
            .zip(number)
            .map(|(iv, number)| iv ^ number)
            .collect()
    }

    /// Seals, or opens what its tag follows.
    fn crypt(&self, seals: bool, sequence: u64, aad: &[u8], data: &[u8]) -> Option<Vec<u8>> {
        let crypt = match self.suite {
            Suite::Aes128GcmSha256 => crypt::<Aes128Gcm>,
            Suite::Aes256GcmSha384 => crypt::<Aes256Gcm>,
            _ => crypt::<ChaCha20Poly1305>,
        };
        crypt(seals, &self.key, &self.nonce(sequence), aad, data)
    }

    /// RFC 9147, 4.2.3.
    fn mask(&self, sample: &[u8]) -> [u8; 2] {
        let mut block = [0; 16];
        block.copy_from_slice(sample);
        match self.suite {
            Suite::Aes128GcmSha256 => {
                let aes = aes::Aes128::new_from_slice(&self.sn_key).unwrap();
                aes.encrypt_block((&mut block).into());
            }
            Suite::Aes256GcmSha384 => {
                let aes = aes::Aes256::new_from_slice(&self.sn_key).unwrap();
                aes.encrypt_block((&mut block).into());
            }
            _ => {
                let counter = u32::from_le_bytes(sample[..4].try_into().unwrap());
                // A sample may name the last block, behind which a stream ends: `ChaCha20` refuses that one.
                type Block = ChaChaCore<R20, Ietf>;
                let mut core = Block::new_from_slices(&self.sn_key, &sample[4..]).unwrap();
                core.set_block_pos(counter);
                let mut made = Default::default();
                core.write_keystream_block(&mut made);
                block.copy_from_slice(&made[..16]);
            }
        }
        [block[0], block[1]]
    }
}

/// HKDF-Expand-Label (RFC 8446, 7.1).
fn expand(suite: Suite, prefix: &str, secret: &[u8], label: &str, bytes: usize) -> Vec<u8> {
    fn run<M: Mac + hmac::KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
        let mut mac = <M as hmac::KeyInit>::new_from_slice(key).unwrap();
        mac.update(message);
        mac.finalize().into_bytes().to_vec()
    }
    let label = [prefix, label].concat();
    let mut info = vec![0, bytes as u8, label.len() as u8];
    info.extend_from_slice(label.as_bytes());
    info.extend([0, 1]);
    let mut made = match suite {
        Suite::Aes256GcmSha384 => run::<Hmac<sha2::Sha384>>(secret, &info),
        _ => run::<Hmac<sha2::Sha256>>(secret, &info),
    };
    made.truncate(bytes);
    made
}

/// The content and its type, or what is wrong with it.
fn content_of(inner: &[u8], limit: usize) -> Result<(Vec<u8>, u8), PacketError> {
    let bytes = inner.len();
    if bytes > limit {
        return Err(PacketError::InvalidLength { bytes });
    }
    let Some(end) = inner.iter().rposition(|byte| *byte != 0) else {
        return Err(PacketError::InvalidPadding);
    };
    match inner[end] {
        content_type @ 20 => Err(PacketError::InvalidContent { content_type }),
        content_type @ (21 | 22) if end == 0 => Err(PacketError::InvalidContent { content_type }),
        content_type => Ok((inner[..end].to_vec(), content_type)),
    }
}

fn damage(mut record: Vec<u8>, bit: u16) -> Vec<u8> {
    let bit = usize::from(bit) % (8 * record.len());
    record[bit / 8] ^= 1 << (bit % 8);
    record
}

fn tls(accelerator: &Accelerator, suite: Suite, secret: &[u8], input: &Input) {
    let first = u64::from(input.first);
    let keys = Keys::from_secret(suite, secret).sequence(first);
    let mut inbound = accelerator.tls_inbound(&keys).unwrap();
    let limit = match input.limit {
        0..64 => 16_385,
        limit => usize::from(limit).min(16_385),
    };
    inbound.set_record_size_limit(limit as u16);
    let reference = Reference::new(suite, "tls13 ", secret);
    let mut sequence = first;
    let mut failed = None;
    let mut buffer = Vec::new();
    // What the records are numbered by as they are made.
    let mut making = first;

    for call in input.calls.iter().take(6) {
        for record in call.records.iter().take(40) {
            buffer.extend(tls_record(&reference, &mut making, record));
        }
        let now = buffer.len() - usize::from(call.later).min(buffer.len());
        let mut stream = buffer[..now].to_vec();
        let mut records = vec![InboundRecord::default(); usize::from(call.room) % 90];
        let opened = inbound.open(&mut stream, &mut records);

        // One at a time.
        let mut at = 0;
        let mut count = 0;
        let end = loop {
            if let Some(error) = &failed {
                break Err(PacketError::clone(error));
            }
            if count == records.len() {
                break Ok(End::Full);
            }
            match tls_receive(&reference, sequence, &buffer[at..now], limit) {
                Ok(None) => break Ok(End::Incomplete),
                Ok(Some((bytes, (content, content_type)))) => {
                    let found = &records[count];
                    assert_eq!(stream[found.content()], content);
                    assert_eq!(found.content_type(), ContentType(content_type));
                    assert_eq!(found.sequence(), sequence);
                    at += bytes;
                    count += 1;
                    sequence += 1;
                    if content_type != 23 {
                        break Ok(End::Message);
                    }
                }
                Err((error, bytes)) => {
                    let record = &stream[at..at + bytes];
                    assert!(record.iter().skip(5).all(|byte| *byte == 0));
                    at += bytes;
                    failed = Some(error);
                }
            }
        };
        assert_eq!((&opened.end, opened.records), (&end, count), "{suite:?}");
        assert_eq!(
            stream[at..],
            buffer[at..now],
            "what lies behind is as it came"
        );
        buffer.drain(..opened.bytes);
    }
}

fn tls_record(reference: &Reference, making: &mut u64, record: &Record) -> Vec<u8> {
    let mut sealed = |near: &i8, inner: &[u8]| {
        // Mostly the next number.
        let near = if near.rem_euclid(8) == 7 { *near } else { 0 };
        let sequence = making.saturating_add_signed(near.into());
        *making += 1;
        let header = tls_header(inner.len() + 16);
        let sealed = reference.crypt(true, sequence, &header, inner).unwrap();
        [&header[..], &sealed].concat()
    };
    match record {
        Record::Any(bytes) => bytes.clone(),
        Record::Headed { rest } => [&tls_header(rest.len())[..], rest].concat(),
        Record::Sealed {
            near,
            look,
            inner,
            long,
            padding,
        } => sealed(near, &inner_of(*look, inner, *long, *padding)),
        Record::Damaged {
            near, inner, bit, ..
        } => damage(sealed(near, &inner_of(0, inner, 0, 0)), *bit),
    }
}

/// Mostly application data.
fn inner_of(look: u8, inner: &[u8], long: u16, padding: u8) -> Vec<u8> {
    let mut inner = inner.to_vec();
    if long % 16 == 1 {
        inner.resize(inner.len() + usize::from(long) % 16_400, 7);
    }
    match look >> 5 {
        0 => {}
        1 => inner.push(look & 31),
        _ => inner.push(23),
    }
    inner.resize(inner.len() + usize::from(padding % 8), 0);
    inner
}

fn tls_header(sealed_bytes: usize) -> [u8; 5] {
    let [high, low] = (sealed_bytes as u16).to_be_bytes();
    [23, 3, 3, high, low]
}

type Content = (Vec<u8>, u8);

/// The record at the beginning of `stream`: its bytes and content, or what is wrong and how much of it becomes zeros.
fn tls_receive(
    reference: &Reference,
    sequence: u64,
    stream: &[u8],
    limit: usize,
) -> Result<Option<(usize, Content)>, (PacketError, usize)> {
    let Some(first) = stream.first() else {
        return Ok(None);
    };
    if *first != 23 {
        return Err((PacketError::InvalidHeader, 0));
    }
    let Some(header) = stream.get(..5) else {
        return Ok(None);
    };
    let sealed_bytes = usize::from(u16::from_be_bytes([header[3], header[4]]));
    let bytes = 5 + sealed_bytes;
    let most = if limit == 16_385 {
        16_384 + 256
    } else {
        limit + 16
    };
    if sealed_bytes < 16 || sealed_bytes > most {
        return Err((PacketError::InvalidLength { bytes }, 0));
    }
    let Some(record) = stream.get(..bytes) else {
        return Ok(None);
    };
    let inner = reference
        .crypt(false, sequence, header, &record[5..])
        .ok_or((PacketError::AuthenticationFailed, bytes))?;
    let content = content_of(&inner, limit).map_err(|error| (error, bytes))?;
    Ok(Some((bytes, content)))
}

fn dtls(accelerator: &Accelerator, suite: Suite, secret: &[u8], input: &Input) {
    const EPOCH: u64 = 3;
    let first = u64::from(input.first);
    let keys = Keys::from_secret(suite, secret).sequence(first);
    let mut inbound = accelerator.dtls_inbound(EPOCH, &keys).unwrap();
    inbound.set_replay_window(input.limit.into());
    let size = oarlock::packet::ReplayWindow::new(input.limit.into()).size();
    let id: &[u8] = if input.has_id { b"id" } else { b"" };
    inbound.set_connection_id(ConnectionId::new(id).unwrap());
    let reference = Reference::new(suite, "dtls13", secret);
    // Numbers, one more than on the wire. Those before the first may all have been received.
    let mut seen: BTreeSet<u64> = (first.saturating_sub(size)..=first).collect();

    for call in input.calls.iter().take(4) {
        let mut datagrams = Vec::new();
        let mut expected_next = seen.last().copied().unwrap_or(0);
        for record in call.records.iter().take(100) {
            let made = dtls_record(&reference, EPOCH, id, &mut expected_next, record);
            // Now and then another record in the same datagram.
            match datagrams.last_mut() {
                Some(last) if call.later & 3 == 3 => Vec::extend(last, made),
                _ => datagrams.push(made),
            }
        }
        let mut buffers = datagrams.clone();
        let mut records: Vec<_> = buffers
            .iter_mut()
            .flat_map(|it| inbound.split(it))
            .collect();
        inbound.open(&mut records);
        let found: Vec<_> = (records.iter())
            .map(|record| {
                let opened = record.opened()?;
                assert_eq!(opened.epoch, EPOCH);
                Ok((
                    opened.content.to_vec(),
                    opened.content_type.0,
                    opened.sequence,
                ))
            })
            .collect();
        drop(records);

        let pieces: Vec<_> = datagrams.iter().flat_map(|it| dtls_split(it, id)).collect();
        let has_short = pieces
            .iter()
            .any(|piece| matches!(piece, Ok((_, header)) if header.number.len() == 1));
        let at_once = if has_short { 64 } else { usize::MAX };
        let mut expected = Vec::new();
        for part in pieces.chunks(at_once.min(pieces.len().max(1))) {
            let before = seen.clone();
            for piece in part {
                expected.push(match piece {
                    Ok((record, header)) => {
                        dtls_receive(&reference, EPOCH, record, header, &before, &mut seen, size)
                    }
                    Err(error) => Err(error.clone()),
                });
            }
        }
        assert_eq!(found, expected, "{suite:?}");
    }
}

fn dtls_record(
    reference: &Reference,
    epoch: u64,
    id: &[u8],
    next: &mut u64,
    record: &Record,
) -> Vec<u8> {
    let mut sealed = |near: &i8, look: u8, inner: &[u8]| {
        let sequence = next.saturating_add_signed(near.rem_euclid(8).into());
        let sequence = if near % 3 == 0 {
            sequence.saturating_sub(5)
        } else {
            sequence
        };
        *next = sequence + 1;
        let id = if look & 16 == 0 { id } else { &[] };
        let mut header = vec![0x20 | look & 0b1100 | epoch as u8];
        header[0] |= u8::from(!id.is_empty()) << 4;
        header.extend_from_slice(id);
        let start = header.len();
        let low = sequence.to_be_bytes();
        header.extend_from_slice(&low[if look & 8 == 0 { 7 } else { 6 }..]);
        let end = header.len();
        if look & 4 != 0 {
            header.extend_from_slice(&((inner.len() + 16) as u16).to_be_bytes());
        }
        let sealed = reference.crypt(true, sequence, &header, inner).unwrap();
        let mask = reference.mask(&sealed[..16]);
        for (byte, mask) in header[start..end].iter_mut().zip(mask) {
            *byte ^= mask;
        }
        [header, sealed].concat()
    };
    match record {
        Record::Any(bytes) => bytes.clone(),
        Record::Headed { rest } => [&[0x23 | u8::from(!id.is_empty()) << 4], id, rest].concat(),
        Record::Sealed {
            near,
            look,
            inner,
            long,
            padding,
        } => sealed(near, *look, &inner_of(*look, inner, *long, *padding)),
        Record::Damaged {
            near,
            look,
            inner,
            bit,
        } => damage(sealed(near, *look, &inner_of(0, inner, 0, 0)), *bit),
    }
}

/// Where the parts of a record lie.
struct Header {
    epoch: u8,
    number: std::ops::Range<usize>,
    bytes: usize,
}

/// The records of a datagram; the last may be what is none.
fn dtls_split<'a>(mut rest: &'a [u8], id: &[u8]) -> Vec<Result<(&'a [u8], Header), PacketError>> {
    let mut pieces = Vec::new();
    while let Some(first) = rest.first() {
        let bytes = rest.len();
        let read = || {
            if first >> 5 != 1 {
                return Err(PacketError::InvalidHeader);
            }
            let mut at = 1;
            if first & 16 != 0 {
                if id.is_empty() || rest.get(1..=id.len()).is_some_and(|found| found != id) {
                    return Err(PacketError::OtherConnection);
                }
                at += id.len();
            } else if !id.is_empty() && pieces.is_empty() {
                return Err(PacketError::OtherConnection);
            }
            let number = at..at + if first & 8 == 0 { 1 } else { 2 };
            let mut header_bytes = number.end;
            let mut record_bytes = bytes;
            let invalid = PacketError::InvalidLength { bytes };
            if first & 4 != 0 {
                let length = rest
                    .get(number.end..number.end + 2)
                    .ok_or(invalid.clone())?;
                header_bytes += 2;
                let length = u16::from_be_bytes(length.try_into().unwrap());
                record_bytes = header_bytes + usize::from(length);
            }
            if header_bytes > record_bytes || record_bytes > bytes {
                return Err(invalid);
            }
            let header = Header {
                epoch: first & 3,
                number,
                bytes: header_bytes,
            };
            Ok((record_bytes, header))
        };
        match read() {
            Ok((record_bytes, header)) => {
                let (record, behind) = rest.split_at(record_bytes);
                rest = behind;
                pieces.push(Ok((record, header)));
            }
            Err(error) => {
                rest = &[];
                pieces.push(Err(error));
            }
        }
    }
    pieces
}

fn dtls_receive(
    reference: &Reference,
    epoch: u64,
    record: &[u8],
    at: &Header,
    before: &BTreeSet<u64>,
    seen: &mut BTreeSet<u64>,
    size: u64,
) -> Result<(Vec<u8>, u8, u64), PacketError> {
    let bytes = record.len();
    let (header, sealed) = record.split_at(at.bytes);
    if sealed.len() < 16 {
        return Err(PacketError::InvalidLength { bytes });
    }
    if u64::from(at.epoch) != epoch & 3 {
        return Err(PacketError::UnknownKey);
    }
    let mut header = header.to_vec();
    for (byte, mask) in header[at.number.clone()]
        .iter_mut()
        .zip(reference.mask(&sealed[..16]))
    {
        *byte ^= mask;
    }
    let span = 1_i128 << (8 * at.number.len());
    let low = header[at.number.clone()]
        .iter()
        .fold(0, |number, byte| number << 8 | i128::from(*byte));
    let expected = i128::from(before.last().copied().unwrap_or(0));
    // Of those that end so, the nearest; of two as near, the later.
    let sequence = (-1..=1)
        .map(|around| (expected / span + around) * span + low)
        .filter(|found| *found >= 0)
        .min_by_key(|found| ((found - expected).abs(), -found))
        .unwrap() as u64;
    let is_new = |seen: &BTreeSet<u64>| {
        let highest = seen.last().copied().unwrap_or(0);
        sequence + 1 > highest || !seen.contains(&(sequence + 1)) && highest - (sequence + 1) < size
    };
    if !is_new(before) {
        return Err(PacketError::Replayed);
    }
    let inner = reference
        .crypt(false, sequence, &header, sealed)
        .ok_or(PacketError::AuthenticationFailed)?;
    if !is_new(seen) {
        return Err(PacketError::Replayed);
    }
    seen.insert(sequence + 1);
    let (content, content_type) = content_of(&inner, 16_385)?;
    Ok((content, content_type, sequence))
}

static ACCELERATORS: LazyLock<Vec<Accelerator>> = LazyLock::new(for_packets);
