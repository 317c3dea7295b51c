//! The message that changes keys.

/// Returns the handshake message KeyUpdate (RFC 8446, 4.6.3). Send it in its own record; the sender then
/// [updates](super::Outbound::update) its keys. `request` asks the peer to do the same.
///
/// ```
/// use oarlock::packet::tls::{is_key_update, key_update};
///
/// assert_eq!(is_key_update(&key_update(true)), Some(true));
/// ```
pub const fn key_update(request: bool) -> [u8; 5] {
    [KEY_UPDATE, 0, 0, 1, request as u8]
}

/// Returns whether KeyUpdate asks for an update in return, or `None` if `message` is not a whole KeyUpdate message.
pub fn is_key_update(message: &[u8]) -> Option<bool> {
    match message {
        [KEY_UPDATE, 0, 0, 1, request @ (0 | 1)] => Some(*request == 1),
        _ => None,
    }
}

const KEY_UPDATE: u8 = 24;
