//! Lists of keys, whole or page by page.
//!
//! The keys of a page follow the one that its token names, in the order of their IDs. If keys are added or removed between
//! pages, a key that stays is still listed exactly once.

use oarlock::keys::PublicKey;
use tonic::{Code, Status};

use super::config::ID_BYTES_MAX;
use super::dispatch::Refusal;
use super::key::Key;
use super::keys::Entry;
use super::operation;
use crate::proto;

/// A page of a list.
#[derive(Default)]
pub(super) struct Page<'a> {
    pub(super) keys: Vec<(&'a str, &'a Entry)>,
    /// The most bytes of the reply's keys.
    pub(super) bytes: usize,
    /// The token of the next page; empty without one.
    pub(super) next: &'a str,
    /// Whether its keys come with their older versions.
    pub(super) has_older: bool,
}

/// Checks the token of a request, which is the last ID of a page.
///
/// # Errors
/// INVALID_ARGUMENT if it is longer than any ID.
pub(super) fn check(asked: &proto::ListKeysRequest) -> Result<(), Refusal> {
    match asked.page_token.len() <= ID_BYTES_MAX {
        true => Ok(()),
        false => Err(Refusal::new(
            Code::InvalidArgument,
            "page_token is longer than any key ID: send the next_page_token of the last reply",
        )),
    }
}

/// Returns the first page of an ordered list of keys. A `page_size` of 0 puts all keys on one page, without
/// their older versions: clients that ask so take one message, of a mebibyte.
pub(super) fn page<'a>(
    keys: impl Iterator<Item = (&'a str, &'a Entry)>,
    page_size: u32,
) -> Page<'a> {
    let (keys_max, bytes_max) = match page_size {
        0 => (usize::MAX, usize::MAX),
        some => (some as usize, PAGE_BYTES_MAX),
    };
    let mut page = Page {
        keys: Vec::new(),
        bytes: 0,
        next: "",
        has_older: page_size != 0,
    };
    for (id, entry) in keys {
        let bytes = page.bytes + operation::listed_bytes(&entry.key, page.has_older);
        if page.keys.len() == keys_max || !page.keys.is_empty() && bytes > bytes_max {
            page.next = page.keys.last().map_or("", |(last, _)| last);
            break;
        }
        page.keys.push((id, entry));
        page.bytes = bytes;
    }
    page
}

/// Returns the entry of a key in a list, with its older versions if `has_older`.
pub(super) fn entry_of(
    id: &str,
    entry: &Entry,
    permissions: Vec<i32>,
    has_older: bool,
) -> Result<proto::Key, Status> {
    let key = &entry.key;
    let der = |public: &PublicKey| {
        let der = public.to_spki_der();
        der.map_err(|error| Status::internal(error.to_string()))
    };
    let public = key.public_key();
    let device = key.as_rsa().and_then(|rsa| rsa.held_by());
    let (recipient, algorithm) = match key {
        Key::Private(_) => ("", ""),
        Key::Identities(identities) => (identities.recipient(), ""),
        Key::Secret(key) => ("", key.algorithm().name()),
    };
    let older = key.as_versions().filter(|_| has_older);
    let older = older.map_or(&[][..], |versions| versions.older());
    let older = older.iter().map(|(version, key)| {
        Ok(proto::OlderVersion {
            version: *version,
            public_key: der(key.public_key())?,
        })
    });
    Ok(proto::Key {
        id: id.to_owned(),
        public_key: public.map(der).transpose()?.unwrap_or_default(),
        bits: public.and_then(proto::bits_of).unwrap_or(0),
        permissions,
        device: device.unwrap_or_default().to_owned(),
        recipient: recipient.to_owned(),
        version: entry.version(),
        algorithm: algorithm.to_owned(),
        disabled: entry.is_disabled,
        older: older.collect::<Result<_, Status>>()?,
    })
}

/// The most bytes of a page: an eighth of a client's least room for replies.
const PAGE_BYTES_MAX: usize = 512 << 10;

#[cfg(test)]
mod tests {
    use oarlock::keys::{Curve, KeyType, PrivateKey};

    use super::*;

    #[test]
    fn pages_have_all_keys_once_in_order() {
        let key = PrivateKey::generate(KeyType::Ec(Curve::P256)).unwrap();
        let entry = Entry::new(Key::from(key), String::new());
        let ids: Vec<_> = (0..2000).map(|number| format!("{number:04}")).collect();
        let after = |token: &str| {
            let start = ids.partition_point(|id| id.as_str() <= token);
            ids[start..].iter().map(|id| (&id[..], &entry))
        };
        // By number, by bytes, and all at once.
        let by_bytes = PAGE_BYTES_MAX / operation::listed_bytes(&entry.key, true);
        for (page_size, first) in [(7, 7), (u32::MAX, by_bytes), (2000, by_bytes), (0, 2000)] {
            let (mut seen, mut token) = (Vec::new(), String::new());
            loop {
                let page = page(after(&token), page_size);
                assert!(!page.keys.is_empty() && page.keys.len() <= first);
                assert_eq!(
                    page.bytes,
                    page.keys.len() * operation::listed_bytes(&entry.key, true)
                );
                seen.extend(page.keys.iter().map(|(id, _)| (*id).to_owned()));
                if page.next.is_empty() {
                    break;
                }
                assert_eq!(page.keys.len(), first);
                token = page.next.to_owned();
            }
            assert_eq!(seen, ids, "{page_size}");
        }
        assert!(page(std::iter::empty(), 1).next.is_empty());
    }
}
