//! The header: the file key, wrapped for each recipient.

use std::collections::HashSet;
use std::io::Read;

use ::age::{Identity, Recipient};
use age_core::format::{FileKey, Stanza, grease_the_joint, is_arbitrary_string, read, write};
use age_core::primitives::hkdf;
use age_core::secrecy::ExposeSecret as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::WORK_FACTOR_MAX;
use super::hybrid::{self, POST_QUANTUM_LABEL};
use crate::Error;
use crate::bytes::{random, read_some};

/// The first line of every file of this version.
pub const VERSION_LINE: &[u8] = b"age-encryption.org/v1\n";

/// A header that was read or created.
pub struct Header {
    /// The bytes in the file, up to and including the line break after the MAC.
    pub encoded: Vec<u8>,
    /// The wrapped file keys, at least one.
    pub stanzas: Vec<Stanza>,
    mac: [u8; MAC_BYTES],
}

impl Header {
    /// Wraps a file key for all `recipients`.
    ///
    /// # Errors
    /// [`Error::NoRecipient`], [`Error::Recipient`], [`Error::MixedPostQuantum`].
    pub fn new(recipients: &[&dyn Recipient], file_key: &FileKey) -> Result<Self, Error> {
        let mut stanzas = wrap(recipients, file_key, None)?;
        if !is_scrypt(&stanzas) {
            // An unknown stanza exposes readers that fail on one early.
            stanzas.push(grease_the_joint());
        }
        Self::encode(stanzas, file_key)
    }

    /// Returns another header for the payload of this one, whose file key is `file_key`: for `recipients`, and with
    /// `keeps_others` also for those that this header has. Where a stanza that opens nothing can make up the difference, the
    /// new header is as long as this one, so that the payload need not move.
    ///
    /// Anyone who could open the file before can still open a copy of it: the file key stays the same.
    ///
    /// # Errors
    /// [`Error::HeaderMac`] if the file key is that of another file; those of
    /// [`Encryptor::new`](super::Encryptor::new), also if a recipient excludes one that is kept.
    pub fn rewrap(
        &self,
        recipients: &[&dyn Recipient],
        keeps_others: bool,
        file_key: &FileKey,
    ) -> Result<Self, Error> {
        self.verify(file_key)?;
        let mut stanzas = wrap(recipients, file_key, keeps_others.then_some(self))?;
        if is_scrypt(&stanzas) {
            return Self::encode(stanzas, file_key);
        }
        let header = Self::encode(std::mem::take(&mut stanzas), file_key)?;
        let Some(missing) = self.encoded.len().checked_sub(header.encoded.len()) else {
            return Ok(header);
        };
        stanzas = header.stanzas;
        match filler(missing)? {
            Some(filler) => stanzas.push(filler),
            None if missing > 0 => stanzas.push(grease_the_joint()),
            None => {}
        }
        Self::encode(stanzas, file_key)
    }

    fn encode(stanzas: Vec<Stanza>, file_key: &FileKey) -> Result<Self, Error> {
        let mut encoded = VERSION_LINE.to_vec();
        for stanza in &stanzas {
            let Stanza { tag, args, body } = stanza;
            let written = cookie_factory::gen_simple(
                write::age_stanza(tag, args, body),
                std::mem::take(&mut encoded),
            );
            encoded = written.map_err(|_| Error::Header("a stanza cannot be written"))?;
        }
        encoded.extend(MAC_PREFIX);
        let mac = mac_key(file_key).chain_update(&encoded).finalize();
        let mac: [u8; MAC_BYTES] = mac.into_bytes().into();
        encoded.push(b' ');
        encoded.extend(BASE64_STANDARD_NO_PAD.encode(mac).bytes());
        encoded.push(b'\n');
        Ok(Self {
            encoded,
            stanzas,
            mac,
        })
    }

    /// Reads a header, and no byte after it.
    ///
    /// # Errors
    /// [`Error::Header`] if it is not a header, or has more than 16 MiB, 65536 stanzas or 262144 words;
    /// [`Error::Truncated`], [`Error::Read`].
    pub fn read(input: &mut impl Read) -> Result<Self, Error> {
        let mut lines = Lines::new(input);
        // The prefix of a line shows its kind.
        let line = lines.next()?;
        if line != VERSION_LINE {
            return Err(Error::Header(if line.starts_with(b"age-encryption.org/") {
                "its version is not v1"
            } else {
                "it does not begin with `age-encryption.org/v1`"
            }));
        }
        let mut stanzas = Vec::new();
        let mut words = 0;
        loop {
            let start = lines.taken;
            let line = lines.next()?;
            if let Some(mac) = line.strip_prefix(MAC_PREFIX) {
                let mac = parse_mac(mac).ok_or(Error::Header("malformed MAC"))?;
                if stanzas.is_empty() {
                    return Err(Error::Header("it has no recipient"));
                }
                if stanzas.len() > 1 && is_scrypt(&stanzas) {
                    return Err(Error::Header("a passphrase and other recipients"));
                }
                return Ok(Self {
                    encoded: lines.encoded,
                    stanzas,
                    mac,
                });
            }
            // A stanza takes many times its length in memory, and some tenths of a millisecond to try.
            words += line.iter().filter(|byte| **byte == b' ').count();
            if stanzas.len() == STANZAS_MAX || words > WORDS_MAX {
                return Err(Error::Header("it has too many recipients"));
            }
            // Read the first line, and lines of the body up to one that is not full.
            while lines.next()?.len() == BODY_LINE_BYTES + 1 {}
            match read::age_stanza(&lines.encoded[start..lines.taken]) {
                Ok(([], stanza)) => stanzas.push(stanza.into()),
                _ => return Err(Error::Header("malformed stanza")),
            }
        }
    }

    /// Returns the file key, which the first of `identities` that fits a stanza finds, and checks the MAC with it. No passphrase
    /// is tried above [`WORK_FACTOR_MAX`], whatever its identity allows.
    ///
    /// # Errors
    /// [`Error::NoMatchingIdentity`], [`Error::NeedsPassphrase`], [`Error::WrongPassphrase`], [`Error::ExcessiveWork`] or
    /// [`Error::Identity`] if no identity
    /// opens it; [`Error::HeaderMac`].
    pub fn unwrap(&self, identities: &[&dyn Identity]) -> Result<FileKey, Error> {
        if self
            .work_factor()
            .is_some_and(|work| work > WORK_FACTOR_MAX)
        {
            return Err(Error::ExcessiveWork(WORK_FACTOR_MAX));
        }
        let file_key = identities
            .iter()
            .find_map(|identity| identity.unwrap_stanzas(&self.stanzas))
            .ok_or_else(|| match self.is_scrypt() {
                true => Error::NeedsPassphrase,
                false => Error::NoMatchingIdentity,
            })?
            .map_err(|error| match error {
                ::age::DecryptError::DecryptionFailed if self.is_scrypt() => Error::WrongPassphrase,
                ::age::DecryptError::DecryptionFailed | ::age::DecryptError::NoMatchingKeys => {
                    Error::NoMatchingIdentity
                }
                other => Error::Identity(other),
            })?;
        self.verify(&file_key)?;
        Ok(file_key)
    }

    /// Checks the MAC with the file key.
    ///
    /// # Errors
    /// [`Error::HeaderMac`] if it does not match.
    pub fn verify(&self, file_key: &FileKey) -> Result<(), Error> {
        let end = self.encoded.len() - ENCODED_MAC_BYTES - 2;
        mac_key(file_key)
            .chain_update(&self.encoded[..end])
            .verify(&self.mac.into())
            .map_err(|_| Error::HeaderMac)
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.encoded.len() as u64
    }

    /// Returns the binary logarithm of scrypt's N, for a file with a passphrase. Returns `None` for other files, or if it is
    /// not a number of one or two digits.
    pub fn work_factor(&self) -> Option<u8> {
        let stanza = self.stanzas.iter().find(|stanza| stanza.tag == "scrypt")?;
        let text = stanza.args.get(1)?;
        let is_number = text.len() <= 2 && text.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| text.parse().ok())?
    }

    /// Returns the kinds of the recipients, in the file's order. Stanzas that open nothing, and only keep readers tolerant
    /// of unknown kinds, are left out.
    pub fn recipient_kinds(&self) -> impl Iterator<Item = &str> {
        self.wrapped().map(|stanza| &*stanza.tag)
    }

    /// Returns the stanzas that have the file key.
    fn wrapped(&self) -> impl Iterator<Item = &Stanza> {
        let stanzas = self.stanzas.iter();
        stanzas.filter(|stanza| !stanza.tag.ends_with(GREASE))
    }

    /// Whether a passphrase opens it.
    pub fn is_scrypt(&self) -> bool {
        is_scrypt(&self.stanzas)
    }
}

/// Wraps the file key for all recipients, and keeps the stanzas of an earlier header of it. They must agree on their labels (age
/// v1, "Recipient labels" of its plugin protocol), because some kinds must stand alone.
fn wrap(
    recipients: &[&dyn Recipient],
    file_key: &FileKey,
    earlier: Option<&Header>,
) -> Result<Vec<Stanza>, Error> {
    let mut all = Vec::new();
    let mut labels: Option<HashSet<String>> = None;
    if let Some(earlier) = earlier {
        all.extend(earlier.wrapped().map(|stanza| Stanza {
            tag: stanza.tag.clone(),
            args: stanza.args.clone(),
            body: stanza.body.clone(),
        }));
        // A stanza does not have the labels of its recipient. Those of plugins are taken for none.
        let is_post_quantum = all.iter().any(|it: &Stanza| it.tag == hybrid::STANZA_TAG);
        labels = Some(HashSet::from_iter(
            is_post_quantum.then(|| POST_QUANTUM_LABEL.to_owned()),
        ));
    }
    for recipient in recipients {
        let (stanzas, its_labels) = recipient
            .wrap_file_key(file_key)
            .map_err(Error::Recipient)?;
        if !its_labels.iter().all(is_arbitrary_string) {
            let error = ::age::EncryptError::InvalidRecipientLabels(its_labels);
            return Err(Error::Recipient(error));
        }
        all.extend(stanzas);
        match labels.take() {
            Some(labels) if labels != its_labels => {
                let has_label = |labels: &HashSet<String>| labels.contains(POST_QUANTUM_LABEL);
                if !is_scrypt(&all) && has_label(&labels) != has_label(&its_labels) {
                    return Err(Error::MixedPostQuantum);
                }
                return Err(Error::Recipient(if is_scrypt(&all) {
                    ::age::EncryptError::MixedRecipientAndPassphrase
                } else {
                    ::age::EncryptError::IncompatibleRecipients {
                        l_labels: labels,
                        r_labels: its_labels,
                    }
                }));
            }
            _ => labels = Some(its_labels),
        }
    }
    if all.is_empty() {
        return Err(Error::NoRecipient);
    }
    if all.len() > 1 && is_scrypt(&all) {
        let error = ::age::EncryptError::MixedRecipientAndPassphrase;
        return Err(Error::Recipient(error));
    }
    Ok(all)
}

/// Returns a stanza that opens nothing and has `bytes` bytes in the file; `None` if none of that length is made.
fn filler(bytes: usize) -> Result<Option<Stanza>, Error> {
    const MARKS: usize = "-> \n\n".len();
    const TAG_CHARACTERS: usize = 4;
    let Some(room) = bytes.checked_sub(MARKS + GREASE.len()) else {
        return Ok(None);
    };
    if !(1..=FILLER_BYTES_MAX).contains(&room) {
        return Ok(None);
    }
    let mut noise = vec![0; room];
    random(&mut noise)?;
    let text = BASE64_STANDARD_NO_PAD.encode(noise);
    // A space stands between the tag and an argument of one character or more.
    let (tag, argument) = match room.checked_sub(TAG_CHARACTERS + 1) {
        None | Some(0) => (&text[..room], None),
        Some(rest) => (
            &text[..TAG_CHARACTERS],
            Some(&text[TAG_CHARACTERS..][..rest]),
        ),
    };
    Ok(Some(Stanza {
        tag: format!("{tag}{GREASE}"),
        args: argument.map(str::to_owned).into_iter().collect(),
        body: Vec::new(),
    }))
}

fn is_scrypt(stanzas: &[Stanza]) -> bool {
    stanzas.iter().any(|stanza| stanza.tag == "scrypt")
}

fn mac_key(file_key: &FileKey) -> Hmac<Sha256> {
    let key = Zeroizing::new(hkdf(&[], b"header", file_key.expose_secret()));
    // HMAC takes keys of any length.
    #[expect(clippy::expect_used, reason = "it takes every length")]
    Hmac::new_from_slice(&key[..]).expect("HMAC takes keys of any length")
}

/// Parses a space, the MAC and a line break.
fn parse_mac(text: &[u8]) -> Option<[u8; MAC_BYTES]> {
    let text = text.strip_prefix(b" ")?.strip_suffix(b"\n")?;
    let mac = BASE64_STANDARD_NO_PAD.decode(text).ok()?;
    mac.try_into().ok()
}

/// The lines of a header, read without any byte that may follow it: each line other than the MAC's precedes the MAC's line,
/// whose length is known.
struct Lines<'a, R> {
    input: &'a mut R,
    /// All bytes that were read.
    encoded: Vec<u8>,
    /// The number of these bytes that were returned, in whole lines.
    taken: usize,
}

impl<'a, R: Read> Lines<'a, R> {
    fn new(input: &'a mut R) -> Self {
        Self {
            input,
            encoded: Vec::new(),
            taken: 0,
        }
    }

    /// Returns the next line, with its line break.
    fn next(&mut self) -> Result<&[u8], Error> {
        let mut searched = self.taken;
        loop {
            let end = self.encoded[searched..]
                .iter()
                .position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let start = std::mem::replace(&mut self.taken, searched + end + 1);
                return Ok(&self.encoded[start..self.taken]);
            }
            searched = self.encoded.len();
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> Result<(), Error> {
        let line = &self.encoded[self.taken..];
        let following = if self.taken == 0 {
            // A file of another format may have no line break for gigabytes.
            if line.len() > VERSION_LINE.len() {
                return Err(Error::Header(
                    "it does not begin with `age-encryption.org/v1`",
                ));
            }
            VERSION_LINE.len() - line.len()
        } else if line.starts_with(MAC_PREFIX) || MAC_PREFIX.starts_with(line) {
            MAC_LINE_BYTES.saturating_sub(line.len())
        } else {
            MAC_LINE_BYTES
        };
        let read = self.encoded.len();
        let room = HEADER_BYTES_MAX - read;
        if room == 0 {
            return Err(Error::Header("it is longer than 16 MiB"));
        }
        self.encoded.resize(read + following.clamp(1, room), 0);
        let more = read_some(self.input, &mut self.encoded[read..], read as u64);
        self.encoded.truncate(read + *more.as_ref().unwrap_or(&0));
        match more {
            Err(Error::Truncated { at: 0 }) => Err(Error::Header("the file is empty")),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }
}

/// The suffix of the kind of a stanza that opens nothing.
const GREASE: &str = "-grease";
/// The most that a stanza is to make up in length: one recipient of the post-quantum type, and one more of any.
const FILLER_BYTES_MAX: usize = 4 << 10;
const MAC_PREFIX: &[u8] = b"---";
const MAC_BYTES: usize = 32;
/// The length of the MAC in base64 without padding.
const ENCODED_MAC_BYTES: usize = 43;
/// The length of the MAC's line, with a space and the line break.
const MAC_LINE_BYTES: usize = MAC_PREFIX.len() + 1 + ENCODED_MAC_BYTES + 1;
/// The columns of a full line of a stanza's body.
const BODY_LINE_BYTES: usize = 64;
const HEADER_BYTES_MAX: usize = 16 << 20;
const STANZAS_MAX: usize = 1 << 16;
const WORDS_MAX: usize = 4 * STANZAS_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stanza_is_made_of_every_length() {
        for bytes in (0..300).chain([1000, FILLER_BYTES_MAX, 2 * FILLER_BYTES_MAX]) {
            let Some(Stanza { tag, args, body }) = filler(bytes).unwrap() else {
                assert!(!(13..=FILLER_BYTES_MAX).contains(&bytes), "{bytes}");
                continue;
            };
            let written =
                cookie_factory::gen_simple(write::age_stanza(&tag, &args, &body), Vec::new());
            let written = written.unwrap();
            assert_eq!(written.len(), bytes);
            let (rest, read) = read::age_stanza(&written).unwrap();
            assert!(rest.is_empty() && read.tag.ends_with(GREASE));
        }
    }
}
