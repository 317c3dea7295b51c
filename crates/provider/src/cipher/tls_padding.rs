//! The padding of CBC. The time to remove the padding of a TLS record and the MAC before it does not reveal where they
//! begin (RFC 5246, 6.2.3.2; AlFardan and Paterson, "Lucky Thirteen", 2013). If the padding is wrong, the later check
//! of the MAC fails.

use zeroize::Zeroize;

use super::secret::fill_with_random_bytes;
use crate::error::Reason;

/// The length of the longest MAC, that of SHA-512.
pub(super) const MAC_BYTES_MAX: usize = 64;
const BLOCK_BYTES: usize = 16;
const SSL3: u32 = 0x300;
const TLS1_0: u32 = 0x301;
const TLS1_1: u32 = 0x302;
const TLS1_2: u32 = 0x303;
const DTLS1: u32 = 0xfeff;
const DTLS1_2: u32 = 0xfefd;
const DTLS1_BAD: u32 = 0x100;

/// The MAC of a record, or random bytes if its padding was wrong.
#[derive(Clone)]
pub(super) struct Mac {
    pub(super) bytes: Box<[u8; MAC_BYTES_MAX]>,
}

pub(super) struct Opened {
    /// The length of the record without explicit IV, MAC and padding.
    pub(super) bytes: usize,
    /// `None` if records carry no MAC here, as with encrypt-then-MAC.
    pub(super) mac: Option<Mac>,
}

/// Fills `padding`, which ends a record, as TLS requires. For SSL 3, which allows any bytes before the length, these
/// are 0.
pub(super) fn pad(padding: &mut [u8], version: u32) {
    let length = padding.len().wrapping_sub(1) as u8;
    padding.fill(if version == SSL3 { 0 } else { length });
    if let Some(last) = padding.last_mut() {
        *last = length;
    }
}

/// Returns the content of a decrypted record. Its length is public; the length of its padding is secret.
pub(super) fn open(record: &[u8], version: u32, mac_bytes: usize) -> Result<Opened, Reason> {
    let content = match version {
        SSL3 | TLS1_0 => Some(record),
        TLS1_1 | TLS1_2 | DTLS1 | DTLS1_2 | DTLS1_BAD => record.get(BLOCK_BYTES..),
        _ => None,
    };
    // The length is public, so a record that is too short may be refused openly.
    let content = content.filter(|content| content.len() > mac_bytes);
    let content = content.filter(|_| mac_bytes <= MAC_BYTES_MAX);
    let content = content.ok_or(Reason::CipherOperationFailed)?;
    let is_good = is_padded_well(content, version, mac_bytes);
    let padding_bytes = usize::from(content[content.len() - 1]) + 1;
    let end = content.len() - (is_good & padding_bytes);
    if mac_bytes == 0 {
        // The record was authenticated before it was decrypted, so the error reveals nothing.
        return match is_good {
            0 => Err(Reason::CipherOperationFailed),
            _ => Ok(Opened {
                bytes: end,
                mac: None,
            }),
        };
    }
    let mut random = [0; MAC_BYTES_MAX];
    fill_with_random_bytes(&mut random[..mac_bytes])?;
    let mut mac = Mac {
        bytes: Box::new([0; MAC_BYTES_MAX]),
    };
    copy_mac(content, end, &mut mac.bytes[..mac_bytes]);
    for (byte, random) in mac.bytes.iter_mut().zip(random) {
        *byte = (*byte & is_good as u8) | (random & !is_good as u8);
    }
    random.zeroize();
    Ok(Opened {
        bytes: end - mac_bytes,
        mac: Some(mac),
    })
}

/// Returns all ones if the padding at the end of `content` is right and leaves room for a MAC, else 0.
fn is_padded_well(content: &[u8], version: u32, mac_bytes: usize) -> usize {
    let length = usize::from(content[content.len() - 1]);
    let mut wrong = less(content.len(), mac_bytes + 1 + length);
    if version == SSL3 {
        wrong |= less(BLOCK_BYTES, length + 1);
    } else {
        for (before_end, byte) in content.iter().rev().take(256).enumerate() {
            wrong |= !less(length, before_end) & (length ^ usize::from(*byte));
        }
    }
    let is_wrong = less(0, std::hint::black_box(wrong) & 0xff | (wrong >> 63) << 8);
    !is_wrong
}

/// Copies the MAC that ends at `end`, a secret offset within 256 bytes of the end of `content`.
fn copy_mac(content: &[u8], end: usize, mac: &mut [u8]) {
    let scanned_from = content.len().saturating_sub(mac.len() + 256);
    let start = end - mac.len();
    let mut rotated = [0; MAC_BYTES_MAX];
    let rotated = &mut rotated[..mac.len()];
    let mut offset = 0;
    let mut at = 0;
    for (place, byte) in content.iter().enumerate().skip(scanned_from) {
        let is_within = !less(place, start) & less(place, end);
        rotated[at] |= byte & is_within as u8;
        offset |= at & !less(place, start) & !less(start, place);
        at = if at + 1 == mac.len() { 0 } else { at + 1 };
    }
    // Rotate left by one bit of `offset` at a time: every byte is read whatever the bits are.
    for bit in 0..MAC_BYTES_MAX.ilog2() {
        let is_set = std::hint::black_box((offset >> bit & 1).wrapping_neg()) as u8;
        let by = (1 << bit) % rotated.len();
        for at in 0..mac.len() {
            let from = if at + by >= mac.len() {
                at + by - mac.len()
            } else {
                at + by
            };
            mac[at] = (rotated[from] & is_set) | (rotated[at] & !is_set);
        }
        rotated.copy_from_slice(mac);
    }
    rotated.zeroize();
}

/// Returns the number of bytes before the padding of a message's last block (RFC 5652, 6.3), or `None` if the padding
/// is wrong. Takes the same time for any content.
pub(super) fn unpadded_bytes(last: &[u8; BLOCK_BYTES]) -> Option<usize> {
    let count = usize::from(last[BLOCK_BYTES - 1]);
    let mut wrong = less(count, 1) | less(BLOCK_BYTES, count);
    for (before_end, byte) in last.iter().rev().enumerate() {
        wrong |= less(before_end, count) & (usize::from(*byte) ^ count);
    }
    (std::hint::black_box(wrong) == 0).then(|| BLOCK_BYTES - count)
}

/// Returns all ones if `a` is less than `b`, else 0, without a branch. Both must be below 2^63.
fn less(a: usize, b: usize) -> usize {
    (a.wrapping_sub(b) as isize >> (usize::BITS - 1)) as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Opens a record by the text of RFC 5246, with branches.
    fn plainly(record: &[u8], version: u32, mac_bytes: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let content = if version > TLS1_0 {
            &record[BLOCK_BYTES..]
        } else {
            record
        };
        let (length, before) = content.split_last()?;
        let end = before.len().checked_sub((*length).into())?;
        let data = end.checked_sub(mac_bytes)?;
        let is_right = match version {
            SSL3 => usize::from(*length) < BLOCK_BYTES,
            _ => before[end..].iter().all(|byte| byte == length),
        };
        is_right.then(|| (content[..data].to_vec(), content[data..end].to_vec()))
    }

    #[test]
    fn records_are_opened_as_the_specification_says() {
        let mut state = 1u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        };
        let mut good = 0;
        for version in [SSL3, TLS1_0, TLS1_2, DTLS1_2] {
            for mac_bytes in [0, 16, 20, 32, 48, 64] {
                for blocks in [2, 3, 6, 7, 18, 30] {
                    for length in 0..=255u8 {
                        let mut record: Vec<u8> = (0..16 * blocks).map(|_| random()).collect();
                        let from = record.len().saturating_sub(usize::from(length) + 1);
                        record[from..].fill(length);
                        if length % 3 == 0 {
                            let at = record.len() - 1 - usize::from(random()) % record.len();
                            record[at] ^= 1;
                        }
                        let what = format!("{version:x}, MAC {mac_bytes}, {blocks}, {length}");
                        let opened = open(&record, version, mac_bytes);
                        match plainly(&record, version, mac_bytes) {
                            Some((data, mac)) => {
                                let opened = opened.map_err(|_| what.clone()).unwrap();
                                assert_eq!(opened.bytes, data.len(), "{what}");
                                let found = opened.mac.map(|mac| mac.bytes[..mac_bytes].to_vec());
                                assert_eq!(found.unwrap_or_default(), mac, "{what}");
                                good += 1;
                            }
                            None => {
                                // The MAC is random, or the record is refused where that reveals nothing.
                                if let Ok(opened) = opened {
                                    assert!(mac_bytes > 0, "{what}");
                                    let content =
                                        record.len() - BLOCK_BYTES * usize::from(version > TLS1_0);
                                    assert_eq!(opened.bytes, content - mac_bytes, "{what}");
                                    let end = &record[record.len() - mac_bytes..];
                                    assert_ne!(opened.mac.unwrap().bytes[..mac_bytes], *end);
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(good > 2000, "{good}");
    }

    #[test]
    fn padding_goes_on_and_off() {
        for count in 0..=17 {
            let mut block = [7; BLOCK_BYTES];
            block[BLOCK_BYTES.saturating_sub(count)..].fill(count as u8);
            let expected = match count {
                1..=16 => Some(BLOCK_BYTES - count),
                _ => None,
            };
            if count != 0 {
                assert_eq!(unpadded_bytes(&block), expected, "{count}");
            }
            if count > 1 && count <= 16 {
                block[BLOCK_BYTES - count] ^= 1;
                assert_eq!(unpadded_bytes(&block), None, "{count}");
            }
        }
        assert_eq!(unpadded_bytes(&[0; BLOCK_BYTES]), None);
        let mut padding = [9; 5];
        pad(&mut padding, TLS1_2);
        assert_eq!(padding, [4; 5]);
        pad(&mut padding, SSL3);
        assert_eq!(padding, [0, 0, 0, 0, 4]);
    }
}
