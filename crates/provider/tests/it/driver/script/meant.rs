//! Intended differences (docs/internals/openssl-differences.md), and calls that are not made.

use super::call::{Call, Family};
use super::seen::Seen;
use super::state::State;
use crate::driver::{Param, ctrl, libcrypto};

/// Whether the default provider does not check a call, and reads or writes where there is no buffer.
pub fn is_undefined(call: Call, state: State, iv_bytes: i32) -> bool {
    match call {
        Call::Update(..)
        | Call::Cipher(..)
        | Call::Finish
        | Call::CipherEnd
        | Call::Aad(_)
        | Call::CipherAad(_)
            if !state.is_keyed && !libcrypto().has(&LOOKS_FOR_KEYS) =>
        {
            true
        }
        Call::Ctrl(ctrl::GCM_SET_IV_INV, bytes, _) => bytes > iv_bytes || iv_bytes < 8,
        Call::Ctrl(ctrl::GCM_IV_GEN, ..) => iv_bytes < 8,
        Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, -1, _) => iv_bytes < 8,
        // 3.0 fills the rest of the IV with random bytes, and takes a negative length for a large one.
        Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, bytes, _) => bytes > iv_bytes,
        Call::SetOctets(key, bytes, is_null) => {
            let is_of_tls = key == c"tlsivfixed" || key == c"tlsaad";
            is_of_tls && is_null || key == c"tlsivfixed" && bytes as i32 > iv_bytes
        }
        Call::Ctrl(ctrl::AEAD_SET_IV_BYTES, bytes, _) => state.counts_ivs && bytes < 8,
        Call::SetNumber(key, ..) => state.counts_ivs && key == c"ivlen",
        // 3.0 reads the byte before a number without bytes.
        Call::Get(_, Param::UNSIGNED_INTEGER | Param::INTEGER, 0) => true,
        _ => false,
    }
}

/// Returns the reason if the two sides have different random IVs after a call.
pub fn is_random(family: Family, call: Call, state: State, encrypts: bool) -> Option<&'static str> {
    if family != Family::Gcm || !encrypts {
        return None;
    }
    match call {
        Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, bytes, _) if bytes != -1 => {
            Some("the part of the IV that is not fixed is random")
        }
        Call::SetOctets(key, ..) | Call::SetNumber(key, ..) if key == c"tlsivfixed" => {
            Some("the part of the IV that is not fixed is random")
        }
        _ if state.has_iv => None,
        Call::Update(..)
        | Call::Aad(_)
        | Call::Finish
        | Call::Cipher(..)
        | Call::CipherAad(_)
        | Call::CipherEnd
        | Call::Look(_)
        | Call::Get(..) => Some("an IV that was never set is random"),
        _ => None,
    }
}

/// Returns the reason if the two sides are intended to be in different states after a call.
pub fn parts(family: Family, call: Call, state: State) -> Option<&'static str> {
    match (family, call) {
        (
            Family::ChaCha20,
            Call::Init {
                key: Some(_),
                iv: None,
                has_cipher: false,
                ..
            },
        ) if state.is_under_way => Some("a new key does not take the begun block again"),
        (
            Family::Gcm,
            Call::Init {
                key: Some(_),
                iv: None,
                has_cipher: false,
                ..
            },
        ) if state.is_under_way => Some("a new key begins the message again"),
        (Family::Gcm, Call::Aad(_) | Call::CipherAad(_)) if state.has_empty_data => {
            Some("data of no bytes end no associated data")
        }
        (Family::Gcm, _)
            if sets_iv_bytes(call) && state.has_iv && !libcrypto().has(&FORGETS_IVS) =>
        {
            Some("after a new length comes a new IV")
        }
        (Family::Gcm, _) if state.has_failed => Some("what follows a wrong tag is refused"),
        (Family::ChaCha20Poly1305, Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, ..))
            if state.is_under_way =>
        {
            Some("a fixed IV begins a message")
        }
        (Family::ChaCha20Poly1305, Call::SetOctets(key, ..))
            if state.is_under_way && key == c"tlsivfixed" =>
        {
            Some("a fixed IV begins a message")
        }
        _ => None,
    }
}

fn sets_iv_bytes(call: Call) -> bool {
    match call {
        Call::Ctrl(what, ..) => what == ctrl::AEAD_SET_IV_BYTES,
        Call::SetNumber(key, ..) => key == c"ivlen",
        _ => false,
    }
}

/// Returns the reason why a difference is intended (docs/internals/openssl-differences.md).
pub fn excuse(
    family: Family,
    call: Call,
    state: State,
    num: i32,
    encrypts: bool,
) -> Option<&'static str> {
    let sets_num = match call {
        Call::Num(other) => other != num,
        Call::SetNumber(key, _, _, other) => key == c"num" && other != i64::from(num),
        _ => false,
    };
    match (family, call) {
        (Family::Ctr, _) if sets_num => Some("num is not set"),
        (Family::Cbc, Call::Cipher(bytes, _)) if bytes % 16 != 0 => {
            Some("EVP_Cipher takes whole blocks")
        }
        (Family::Cbc, _) if state.keyed_to_encrypt != encrypts => {
            Some("a key serves both directions")
        }
        (Family::ChaCha20, Call::Get(key, ..)) if key == c"updated-iv" => {
            Some("the updated IV of ChaCha20 is given")
        }
        (Family::ChaCha20, Call::Look(_)) => Some("the updated IV of ChaCha20 is given"),
        (Family::ChaCha20Poly1305, _) if !state.is_keyed => {
            Some("without a key nothing is encrypted")
        }
        (Family::ChaCha20Poly1305, Call::Aad(_) | Call::CipherAad(_)) if state.has_data => {
            Some("associated data after data are refused")
        }
        _ => None,
    }
}

/// Returns the reason why ours refuses, in exactly this way, what the default provider of 3.0 accepts.
pub fn refusal(
    family: Family,
    call: Call,
    state: State,
    encrypts: bool,
    expected: &Seen,
    found: &Seen,
) -> Option<&'static str> {
    let is_chacha = family == Family::ChaCha20Poly1305;
    let has_passed = match call {
        Call::Cipher(..) => expected.written >= 0,
        Call::CipherAad(_) | Call::CipherEnd => expected.done >= 0,
        _ => expected.done == 1,
    };
    let is_refused = |reasons: &[u32]| {
        let errors: Vec<_> = reasons.iter().map(|reason| (PROV, *reason)).collect();
        let has_failed = match call {
            Call::Cipher(..) => found.written == -1,
            Call::CipherAad(_) | Call::CipherEnd => found.done == -1,
            _ => found.done == 0,
        };
        has_failed && found.errors == errors
    };
    // The default provider finds that the tag has no room; ours first finds that there is no tag.
    let is_get_of_tag = matches!(call, Call::Get(key, ..) if key == c"tag");
    if is_get_of_tag
        && expected.done == 0
        && encrypts
        && !state.has_sealed_tag
        && is_refused(&[INVALID_TAG])
    {
        return Some("a message under way has no tag");
    }
    // The default provider refuses wrong tags without an error.
    if !expected.errors.is_empty() {
        return None;
    }
    let sets_num_beyond_a_block = match call {
        Call::Num(num) => num >= 16,
        Call::SetNumber(key, _, _, num) => key == c"num" && !(0..16).contains(&num),
        _ => false,
    };
    // Releases since 3.0.22 refuse it as well.
    if family == Family::Cbc
        && sets_num_beyond_a_block
        && has_passed
        && is_refused(&[FAILED_TO_GET_PARAMETER])
    {
        return Some("num is within a block");
    }
    // Releases before 3.0.9 accept shorter ones, and then refuse every nonce.
    if is_chacha && sets_iv_bytes(call) && has_passed && is_refused(&[INVALID_IV_LENGTH]) {
        return Some("a nonce has 12 bytes");
    }
    let is_untouched = found.output.iter().all(|byte| *byte == 0xaa);
    // 4.0 refuses too, without an error.
    if is_chacha
        && state.has_ended_without_iv
        && matches!(call, Call::Update(..) | Call::Aad(_))
        && expected.done == 0
        && is_untouched
        && is_refused(&[CIPHER_OPERATION_FAILED])
    {
        return Some("a nonce serves one message");
    }
    match call {
        Call::Finish | Call::CipherEnd
            if is_chacha
                && !encrypts
                && !state.has_tag
                && has_passed
                && is_refused(&[TAG_NOT_SET]) =>
        {
            Some("no message opens without a tag")
        }
        Call::Update(..) | Call::Cipher(..)
            if is_chacha
                && state.has_ended
                && is_untouched
                && (is_refused(&[CIPHER_OPERATION_FAILED])
                    || has_passed && state.has_record && is_refused(&[])) =>
        {
            Some("a nonce serves one message")
        }
        Call::Aad(_) | Call::CipherAad(_) | Call::Finish | Call::CipherEnd
            if is_chacha && state.has_ended && is_refused(&[CIPHER_OPERATION_FAILED]) =>
        {
            Some("a nonce serves one message")
        }
        Call::Cipher(0, _) if is_chacha && state.awaits_record && has_passed && is_refused(&[]) => {
            Some("no record is empty")
        }
        Call::Ctrl(ctrl::AEAD_GET_TAG, ..) if encrypts && !state.has_sealed_tag => {
            let reason = if is_chacha { TAG_NOT_SET } else { INVALID_TAG };
            (has_passed && is_refused(&[reason])).then_some("a message under way has no tag")
        }
        Call::Get(key, ..) if key == c"tag" && encrypts && !state.has_sealed_tag => {
            let reason = if is_chacha { TAG_NOT_SET } else { INVALID_TAG };
            (has_passed && is_refused(&[reason])).then_some("a message under way has no tag")
        }
        _ => None,
    }
}

/// Removes from both sides what is intended to differ and does not end a script. Returns the reasons found.
pub fn leave_out(call: Call, expected: &mut Seen, found: &mut Seen) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    // The default provider reads and writes parameters with libcrypto's functions, which since 3.2 raise errors of their
    // own, sometimes in calls that succeed.
    let is_of_helper = |(library, _): &(u32, u32)| *library == CRYPTO;
    if expected.errors.iter().any(is_of_helper) {
        expected.errors.retain(|error| !is_of_helper(error));
        found.errors.retain(|error| !is_of_helper(error));
        reasons.push("libcrypto's own errors of parameters");
    }
    // If the default provider does not list the setting, EVP_CIPHER_CTX_set_key_length itself reports that it fails.
    if let Call::KeyBytes(_) = call
        && !libcrypto().has(&LISTS_OF_CHACHA20_POLY1305)
        && expected.errors == [(EVP, EVP_INVALID_KEY_LENGTH)]
        && found.errors == [(PROV, INVALID_KEY_LENGTH)]
    {
        expected.errors.clone_from(&found.errors);
        reasons.push("a length of keys that cannot be set");
    }
    let both_fail = expected.done == 0 && found.done == 0;
    if matches!(call, Call::Get(..)) && both_fail && expected.written != found.written {
        expected.written = found.written;
        reasons.push("a parameter that was not got has no size");
    }
    reasons
}

/// Returns the reason why ours accepts what later releases of the default provider refuse.
pub fn allowance(
    family: Family,
    call: Call,
    state: State,
    num: i32,
    expected: &Seen,
    found: &Seen,
) -> Option<&'static str> {
    let keeps_num = match call {
        Call::Num(same) => same == num,
        Call::SetNumber(key, _, _, same) => key == c"num" && same == i64::from(num),
        _ => false,
    };
    // Releases since 3.0.22 consider a block of a stream to be one byte, so they refuse every num that they returned except
    // 0.
    let is_refused = expected.done == 0 && expected.errors == [(PROV, FAILED_TO_GET_PARAMETER)];
    let is_taken = found.done == 1 && found.errors.is_empty();
    if family == Family::Ctr && keeps_num && num > 0 && is_refused && is_taken {
        return Some("num may be given back");
    }
    // 4.0 refuses them after data, as it does others.
    if family == Family::ChaCha20Poly1305
        && matches!(call, Call::CipherAad(0))
        && state.has_data
        && (expected.done, found.done) == (-1, 0)
        && expected.errors.is_empty()
        && found.errors.is_empty()
    {
        return Some("associated data of no bytes are none");
    }
    // 4.0 refuses, without an error, every update after the end of a message until an IV is set: including one of no bytes,
    // and the message of another key, of a fixed IV or of a record.
    let is_refused = expected.done == 0 && expected.errors.is_empty();
    let is_update = matches!(call, Call::Update(..) | Call::Aad(_));
    (family == Family::ChaCha20Poly1305
        && state.has_ended_without_iv
        && is_update
        && is_refused
        && is_taken)
        .then_some("a message begins without an IV of its own")
}

/// Earlier releases list a setting that ChaCha20-Poly1305 does not have, and omit its key length. These are the first tested
/// releases that do not.
pub const LISTS_OF_CHACHA20_POLY1305: [[u32; 3]; 2] = [[3, 0, 19], [3, 5, 5]];
/// Earlier releases continue to use an IV under another length.
const FORGETS_IVS: [[u32; 3]; 3] = [[3, 0, 13], [3, 1, 5], [3, 2, 0]];
/// The default provider of earlier releases computes without a key: with an arbitrary one, or through a null pointer.
pub const LOOKS_FOR_KEYS: [[u32; 3]; 3] = [[3, 0, 13], [3, 1, 5], [3, 2, 0]];
/// ERR_LIB_EVP and its reason.
const EVP: u32 = 6;
const EVP_INVALID_KEY_LENGTH: u32 = 130;
/// ERR_LIB_CRYPTO.
const CRYPTO: u32 = 15;
/// ERR_LIB_PROV and its reasons.
pub const PROV: u32 = 57;
const CIPHER_OPERATION_FAILED: u32 = 102;
const FAILED_TO_GET_PARAMETER: u32 = 103;
const INVALID_KEY_LENGTH: u32 = 105;
const INVALID_IV_LENGTH: u32 = 109;
const INVALID_TAG: u32 = 110;
pub const TAG_NOT_SET: u32 = 119;
