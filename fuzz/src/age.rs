//! age files from arbitrary bytes, compared with the `age` crate: both accept a file and find the same plaintext, or
//! both refuse it. What we release of a refused file is whole chunks of what the crate releases. And the crate reads
//! what we encrypt.
//!
//! Where the two differ, and why:
//!
//! - White space before armor: the specification allows it; the crate does not see the armor.
//! - A return alone at the end of armor: white space, which the crate refuses.
//! - Padding in a line of 64 columns that is not the last: not canonical, but the crate accepts it; and more
//!   than 1024 bytes of white space behind the end: it accepts any number.
//! - Text without armor: the crate treats it as a file that is not armored.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::LazyLock;

use age::armor::{ArmoredReader, ArmoredWriter, Format};
use age::{DecryptError, Identity, x25519};
use age_core::format::{FileKey, Stanza};
use age_core::primitives::hkdf;
use arbitrary::Arbitrary;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit as _};
use hmac::{Hmac, Mac as _};
use oarlock::Accelerator;
use oarlock_file::age::{CHUNK_BYTES, Decryptor, Encryptor, Header, armored, plain_bytes};
use oarlock_file::{Cache, Ends, Error};
use sha2::Sha256;

use crate::files::{Never, contents, memory};

fuzz_target!(|input: Input| {
    match &input {
        Input::Any(bytes) => {
            check(bytes);
            check_text(bytes);
        }
        Input::File(file, edits) => check(&edited(&file.bytes(), edits)),
        Input::Text(file, edits) => check_text(&edited(&text(&file.bytes()), edits)),
        Input::AnyText(bytes) => check_text(bytes),
        Input::RoundTrip(chunks, rest, is_armored) => {
            round_trip(
                usize::from(*chunks % 4) * CHUNK_BYTES + usize::from(*rest),
                *is_armored,
            );
        }
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Any(Vec<u8>),
    AnyText(Vec<u8>),
    File(Built, Vec<Edit>),
    Text(Built, Vec<Edit>),
    RoundTrip(u8, u16, bool),
}

/// A file with a right MAC and right tags, whatever else is wrong.
#[derive(Arbitrary, Debug)]
struct Built {
    /// Stanzas of one line each; if `has_key`, a stanza with the file key follows them.
    stanzas: Vec<Vec<u8>>,
    has_key: bool,
    chunks: Vec<Chunk>,
}

#[derive(Arbitrary, Debug)]
struct Chunk {
    /// Off a full chunk, or a length.
    bytes: u16,
    is_full: bool,
    is_last: bool,
    /// Off its own.
    number: Option<u8>,
}

impl Built {
    fn bytes(&self) -> Vec<u8> {
        let mut file = header(&self.stanzas, self.has_key);
        file.extend(NONCE);
        let aead = ChaCha20Poly1305::new(&hkdf(&NONCE, b"payload", &FILE_KEY).into());
        for (i, chunk) in self.chunks.iter().take(5).enumerate() {
            let number = i as u64 ^ u64::from(chunk.number.unwrap_or(0));
            let mut nonce = [0; 12];
            nonce[3..11].copy_from_slice(&number.to_be_bytes());
            nonce[11] = chunk.is_last.into();
            let bytes = if chunk.is_full {
                CHUNK_BYTES
            } else {
                usize::from(chunk.bytes)
            };
            let plain = vec![i as u8; bytes];
            file.extend(aead.encrypt(&nonce.into(), &plain[..]).expect("short"));
        }
        file
    }
}

/// Returns a header with a right MAC: of stanzas of one line each, and with one that has the file key.
pub(crate) fn header(stanzas: &[Vec<u8>], has_key: bool) -> Vec<u8> {
    let mut file = b"age-encryption.org/v1\n".to_vec();
    for stanza in stanzas {
        file.extend(b"-> ");
        file.extend(stanza);
        file.push(b'\n');
    }
    if has_key {
        file.extend(b"-> fuzz key\n\n");
    }
    file.extend(b"---");
    let key = hkdf(&[], b"header", &FILE_KEY);
    let mac = Hmac::<Sha256>::new_from_slice(&key).expect("any length");
    let mac = mac.chain_update(&file).finalize().into_bytes();
    file.extend(format!(" {}\n", BASE64_STANDARD_NO_PAD.encode(mac)).bytes());
    file
}

/// Returns the payload of a plaintext of one chunk.
pub(crate) fn payload(plain: &[u8]) -> Vec<u8> {
    let aead = ChaCha20Poly1305::new(&hkdf(&NONCE, b"payload", &FILE_KEY).into());
    let mut nonce = [0; 12];
    nonce[11] = 1;
    let mut payload = NONCE.to_vec();
    payload.extend(aead.encrypt(&nonce.into(), plain).expect("short"));
    payload
}

#[derive(Arbitrary, Debug)]
enum Edit {
    Put(u16, u8),
    Insert(u16, u8),
    Remove(u16),
    Cut(u16),
    Append(Vec<u8>),
    Prepend(Vec<u8>),
}

fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        let at = |at: &u16, bytes: &[u8]| usize::from(*at) % (bytes.len() + 1);
        match edit {
            Edit::Put(place, byte) => {
                let at = at(place, &bytes);
                bytes.get_mut(at).into_iter().for_each(|old| *old = *byte);
            }
            Edit::Insert(place, byte) => bytes.insert(at(place, &bytes), *byte),
            Edit::Remove(place) => {
                let at = at(place, &bytes);
                bytes.drain(at..(at + 1).min(bytes.len()));
            }
            Edit::Cut(place) => bytes.truncate(at(place, &bytes)),
            Edit::Append(more) => bytes.extend(more),
            Edit::Prepend(more) => drop(bytes.splice(0..0, more.iter().copied())),
        }
    }
    bytes
}

fn text(file: &[u8]) -> Vec<u8> {
    let mut writer = ArmoredWriter::wrap_output(Vec::new(), Format::AsciiArmor).expect("memory");
    writer.write_all(file).expect("memory");
    writer.finish().expect("memory")
}

fn check(file: &[u8]) {
    let (ours, error) = opened(file);
    let (theirs, is_whole) = opened_by_age(file);
    compare(file, &ours, &error, &theirs, is_whole);
}

fn check_text(text: &[u8]) {
    let mut ours = Vec::new();
    let error = armored::Armored::new(text)
        .and_then(|file| file.open(&[&KEY], ACCELERATOR.cpu(), &mut ours, &mut |_| true))
        .err();
    let is_white = |byte: &u8| byte.is_ascii_whitespace();
    let begin = text.iter().position(|byte| !is_white(byte)).unwrap_or(0);
    let end = text.iter().rposition(|byte| !is_white(byte)).unwrap_or(0);
    let begun = &text[begin..];
    let lines: Vec<&[u8]> = begun.split(|byte| *byte == b'\n').collect();
    let is_padded_within = lines.windows(2).any(|lines| {
        let line = lines[0].strip_suffix(b"\r").unwrap_or(lines[0]);
        line.len() == 64 && line.contains(&b'=') && !lines[1].starts_with(END)
    });
    if begin > WHITE_SPACE_BYTES_MAX
        || is_padded_within
        || !begun.starts_with(armored::BEGIN.as_bytes())
    {
        assert!(error.is_some(), "{text:?}");
        return;
    }
    if text.len() - end > WHITE_SPACE_BYTES_MAX {
        return;
    }
    let without_return = match begun.strip_suffix(b"\r") {
        Some(rest) if rest.ends_with(END) => rest,
        _ => begun,
    };
    let (theirs, is_whole) = opened_by_age(ArmoredReader::new(without_return));
    compare(text, &ours, &error, &theirs, is_whole);
}

fn compare(file: &[u8], ours: &[u8], error: &Option<Error>, theirs: &[u8], is_whole: bool) {
    assert_eq!(error.is_none(), is_whole, "{error:?}: {file:?}");
    if is_whole {
        assert!(ours == theirs);
    } else {
        // They release a last chunk before they find out that something follows.
        assert!(ours.len().is_multiple_of(CHUNK_BYTES) && theirs.starts_with(ours));
    }
    if let Some(error) = error {
        assert!(!error.to_string().is_empty() && !error.to_string().contains('\n'));
    }
}

/// What is released, and why not all.
fn opened(file: &[u8]) -> (Vec<u8>, Option<Error>) {
    let decryptor = Decryptor::new(&mut &file[..], &[&KEY], ACCELERATOR.cpu());
    let decryptor = match decryptor {
        Ok(decryptor) => decryptor,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let input = memory(&file[decryptor.prologue_bytes as usize..]);
    let mut output = memory(b"");
    let ends = Ends {
        input: &input,
        input_bytes: None,
        output: &output,
        is_positional: false,
        is_regular: true,
        makes_holes: false,
        cache: Cache::Keep,
    };
    let error = oarlock_file::run(&ACCELERATOR, 0, &ends, &decryptor.payload, &Never).err();
    let released = contents(&mut output);
    // Readers of parts go by this length.
    let sealed = file.len() as u64 - decryptor.prologue_bytes;
    match (decryptor.payload.check_length(&input, 0, sealed), &error) {
        (Ok(length), None) => assert_eq!(length, released.len() as u64),
        (Ok(length), Some(_)) => assert_eq!(plain_bytes(sealed), Some(length)),
        (Err(error), None) => panic!("{error}: {file:?}"),
        (Err(_), Some(_)) => {}
    }
    (released, error)
}

fn opened_by_age(file: impl Read) -> (Vec<u8>, bool) {
    let mut released = Vec::new();
    let identity: &dyn Identity = &KEY;
    let reader = age::Decryptor::new(file)
        .and_then(|decryptor| decryptor.decrypt(std::iter::once(identity)));
    let is_whole = reader.is_ok_and(|mut reader| reader.read_to_end(&mut released).is_ok());
    (released, is_whole)
}

fn round_trip(bytes: usize, is_armored: bool) {
    let plain: Vec<u8> = (0..bytes).map(|i| (i / 251) as u8).collect();
    let identity = x25519::Identity::generate();
    let recipient = identity.to_public();
    let encryptor = Encryptor::new(&[&recipient], ACCELERATOR.cpu()).expect("a recipient");
    let sealed = if is_armored {
        let mut sealed = Vec::new();
        armored::seal(&encryptor, &mut &plain[..], &mut sealed, &mut |_| true).expect("memory");
        sealed
    } else {
        let (input, mut output) = (memory(&plain), memory(&encryptor.prologue));
        output.seek(SeekFrom::End(0)).expect("memory");
        let ends = Ends {
            input: &input,
            input_bytes: Some(bytes as u64),
            output: &output,
            is_positional: true,
            is_regular: true,
            makes_holes: false,
            cache: Cache::Keep,
        };
        oarlock_file::run(&ACCELERATOR, 0, &ends, &encryptor.payload, &Never).expect("memory");
        contents(&mut output)
    };
    assert!(age::decrypt(&identity, &sealed).expect("what was sealed") == plain);
    let header = (!is_armored).then(|| Header::read(&mut &sealed[..]).expect("what was sealed"));
    assert!(header.is_none_or(|header| sealed.starts_with(&header.encoded)));
}

/// Has the file key of every file with a stanza of its own.
pub(crate) struct Key;

pub(crate) const KEY: Key = Key;

impl Identity for Key {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        let is_ours = stanza.tag == "fuzz" && stanza.args == ["key"] && stanza.body.is_empty();
        is_ours.then(|| Ok(FileKey::new(Box::new(FILE_KEY))))
    }
}

static ACCELERATOR: LazyLock<Accelerator> = LazyLock::new(|| {
    let accelerator = Accelerator::builder().max_threads(0).build();
    accelerator.expect("these options are right")
});

const END: &[u8] = b"-----END AGE ENCRYPTED FILE-----";
const WHITE_SPACE_BYTES_MAX: usize = 1024;
pub(crate) const FILE_KEY: [u8; 16] = *b"YELLOW SUBMARINE";
const NONCE: [u8; 16] = [7; 16];
