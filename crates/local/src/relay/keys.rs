//! A list of keys, in parts that fit into an answer.
//!
//! ```text
//! part   1 if more keys follow, else 0 | keys in the order of their names
//! key    length of the name | name | rights | length of the public key, 2 bytes | public key
//! ```

use super::reference::is_id;

/// A key that a user may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    /// The key's name on the other machine.
    pub key_id: String,
    /// The operations that are allowed.
    pub rights: Rights,
    /// The public half: SubjectPublicKeyInfo in DER (RFC 5280, 4.1).
    pub public_key: Vec<u8>,
}

/// The operations with a key that are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Signatures.
    pub sign: bool,
    /// Decryption.
    pub decrypt: bool,
    /// Raising numbers to the private exponent of RSA.
    pub raw_private: bool,
}

impl Rights {
    fn to_byte(self) -> u8 {
        u8::from(self.sign) | u8::from(self.decrypt) << 1 | u8::from(self.raw_private) << 2
    }

    fn of(byte: u8) -> Option<Self> {
        (byte < 8).then_some(Self {
            sign: byte & 1 != 0,
            decrypt: byte & 2 != 0,
            raw_private: byte & 4 != 0,
        })
    }
}

/// The keys of a list, in the order of their names: made once for the answers to many questions.
#[derive(Clone, Debug, Default)]
pub struct KeyList(Vec<ListedKey>);

impl KeyList {
    /// Creates a list. Leaves out keys that cannot be told.
    pub fn new(mut keys: Vec<ListedKey>) -> Self {
        keys.retain(|key| is_id(&key.key_id) && key.public_key.len() <= KEY_BYTES_MAX);
        keys.sort_by(|one, other| one.key_id.cmp(&other.key_id));
        keys.dedup_by(|one, other| one.key_id == other.key_id);
        Self(keys)
    }

    fn after(&self, name: &str) -> &[ListedKey] {
        let start = self.0.partition_point(|key| key.key_id.as_str() <= name);
        &self.0[start..]
    }
}

/// Returns the part of a list that begins after a name, of the keys that a user may use.
pub(super) fn part(keys: &KeyList, after: &str, may_use: impl Fn(&ListedKey) -> bool) -> Vec<u8> {
    let mut part = vec![0];
    for key in keys.after(after).iter().filter(|key| may_use(key)) {
        let (name, public) = (key.key_id.as_bytes(), &key.public_key);
        if part.len() + 4 + name.len() + public.len() > LIST_BYTES_MAX {
            part[0] = 1;
            break;
        }
        part.push(name.len() as u8);
        part.extend_from_slice(name);
        part.push(key.rights.to_byte());
        part.extend_from_slice(&(public.len() as u16).to_be_bytes());
        part.extend_from_slice(public);
    }
    part
}

/// Parses a part of a list that begins after a name, and returns its keys and whether more follow. Returns `None` if it is
/// not one: every part that another one follows has keys, and the names ascend, so a list ends.
pub fn read_list(part: &[u8], after: &str) -> Option<(Vec<ListedKey>, bool)> {
    let ([more @ (0 | 1), rest @ ..], 0..=LIST_BYTES_MAX) = (part, part.len()) else {
        return None;
    };
    let (mut rest, mut keys, mut last) = (rest, Vec::new(), after);
    while let [name_bytes, after_length @ ..] = rest {
        let (name, after_name) = after_length.split_at_checked((*name_bytes).into())?;
        let name = std::str::from_utf8(name).ok()?;
        if !is_id(name) || name <= last {
            return None;
        }
        let ([rights, high, low], after_lengths) = after_name.split_first_chunk()?;
        let bytes = usize::from(u16::from_be_bytes([*high, *low]));
        let (public_key, others) = after_lengths.split_at_checked(bytes)?;
        keys.push(ListedKey {
            key_id: name.to_owned(),
            rights: Rights::of(*rights)?,
            public_key: public_key.to_vec(),
        });
        (rest, last) = (others, name);
    }
    let has_more = *more == 1;
    (!has_more || !keys.is_empty()).then_some((keys, has_more))
}

/// The longest public key in bytes; that of ML-DSA-87 has 2614.
const KEY_BYTES_MAX: usize = 4096;
/// The longest part of a list in bytes.
pub(super) const LIST_BYTES_MAX: usize = 60 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, bytes: usize) -> ListedKey {
        ListedKey {
            key_id: name.into(),
            rights: Rights::of(bytes as u8 % 8).unwrap(),
            public_key: vec![7; bytes],
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written_whatever_its_length() {
        for count in [0, 1, 23, 24, 300] {
            let keys: Vec<_> = (0..count)
                .map(|number| key(&format!("key {number:03}"), 2614 + number % 8))
                .collect();
            let list = KeyList::new(keys.iter().rev().cloned().collect());
            let (mut read, mut after, mut parts) = (Vec::new(), String::new(), 0);
            loop {
                let part = part(&list, &after, |_| true);
                assert!(part.len() <= LIST_BYTES_MAX);
                let (some, has_more) = read_list(&part, &after).unwrap();
                read.extend(some);
                parts += 1;
                if !has_more {
                    break;
                }
                after = read.last().unwrap().key_id.clone();
            }
            assert_eq!(read, keys);
            // 23 of them fit into a part.
            assert_eq!(parts, count.div_ceil(23).max(1), "{count}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_left_out() {
        let keys = [
            key("a", KEY_BYTES_MAX + 1),
            key("", 9),
            key("b\n", 9),
            key("c", 9),
            key("c", 8),
        ];
        let part = part(&KeyList::new(keys.into()), "", |_| true);
        let (read, has_more) = read_list(&part, "").unwrap();
        assert_eq!((read, has_more), (vec![key("c", 9)], false));
    }

    #[test]
    fn nothing_else_is_a_list() {
        let keys = KeyList::new(vec![key("a", 9), key("b", 10)]);
        let whole = part(&keys, "", |_| true);
        let first_ends = 1 + 1 + 1 + 3 + 9;
        for cut in 0..whole.len() {
            assert_eq!(
                read_list(&whole[..cut], "").is_some(),
                [1, first_ends].contains(&cut),
                "{cut}"
            );
        }
        for (place, value) in [
            (0, 2),
            (1, 0),
            (1, 200),
            (2, b'b'),
            (2, 0x80),
            (3, 8),
            (4, 1),
            (5, 200),
        ] {
            let mut other = whole.clone();
            other[place] = value;
            assert!(read_list(&other, "").is_none(), "{place} {value}");
        }
        // Names that do not ascend, and a list without end.
        assert!(read_list(&whole, "a").is_none());
        assert!(read_list(&[1], "").is_none());
    }
}
