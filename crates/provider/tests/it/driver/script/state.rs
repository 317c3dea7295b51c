//! The history of a context, as far as it decides whether a difference is intended.

use super::call::{Call, Family};
use super::meant::{PROV, TAG_NOT_SET};
use super::seen::Seen;
use crate::driver::ctrl;

#[derive(Clone, Copy, Default)]
pub struct State {
    pub is_keyed: bool,
    pub has_iv: bool,
    pub has_data: bool,
    pub counts_ivs: bool,
    pub has_tls_version: bool,
    /// EVP_Cipher was called with empty data.
    pub has_empty_data: bool,
    /// A tag was wrong.
    pub has_failed: bool,
    /// Data of the message, or of the block, was processed since the last IV.
    pub is_under_way: bool,
    /// The last key was set to encrypt.
    pub keyed_to_encrypt: bool,
    /// A tag for opening was set.
    pub has_tag: bool,
    /// The last message was sealed completely, and no other has begun.
    pub has_sealed_tag: bool,
    /// The message of the nonce has ended.
    pub has_ended: bool,
    /// A message has ended since the last IV that came with an initialization.
    pub has_ended_without_iv: bool,
    /// The next data is a TLS record.
    pub has_record: bool,
    /// More associated data was passed for it than a record has.
    pub has_begun_record: bool,
    /// A TLS record was announced, and nothing happened since, except that data of another length was refused.
    pub awaits_record: bool,
}

impl State {
    pub fn note(&mut self, family: Family, call: Call, seen: &Seen, encrypts: bool) {
        // 4.0 requires a tag first, and the message continues.
        if matches!(call, Call::Finish | Call::CipherEnd) && seen.errors == [(PROV, TAG_NOT_SET)] {
            self.is_under_way |= family == Family::Gcm;
            return;
        }
        self.note_end(family, call, seen, encrypts);
        match call {
            Call::Init {
                key,
                iv,
                has_cipher,
                ..
            } => {
                if has_cipher {
                    *self = Self::default();
                }
                self.is_keyed |= key.is_some();
                self.has_iv |= iv.is_some();
                if key.is_some() && seen.done == 1 {
                    self.keyed_to_encrypt = encrypts;
                }
                if key.is_some() || iv.is_some() {
                    self.has_data = false;
                }
                if iv.is_some() {
                    self.is_under_way = false;
                    self.has_failed = false;
                }
            }
            Call::Update(bytes, _) => {
                self.has_data |= bytes > 0;
                self.is_under_way |= bytes > 0;
            }
            Call::Cipher(bytes, _) => {
                self.has_data |= bytes > 0;
                self.has_empty_data |= bytes == 0;
                self.is_under_way = true;
            }
            Call::Aad(bytes) => self.is_under_way |= bytes > 0,
            Call::CipherAad(_) => self.is_under_way = true,
            Call::Finish | Call::CipherEnd => {
                self.has_data = false;
                self.is_under_way &= family == Family::ChaCha20;
                self.is_under_way |= family == Family::Gcm;
                self.has_failed |= seen.done != 1 && !encrypts && self.is_keyed;
            }
            Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, ..) if seen.done == 1 => {
                self.has_iv = true;
                self.counts_ivs = true;
            }
            Call::SetOctets(key, ..) if key == c"tlsivfixed" && seen.done == 1 => {
                self.has_iv = true;
                self.counts_ivs = true;
            }
            Call::SetNumber(key, _, _, version) if key == c"tls-version" && seen.done == 1 => {
                self.has_tls_version = version != 0;
            }
            Call::Ctrl(ctrl::GCM_IV_GEN | ctrl::GCM_SET_IV_INV, ..) => self.is_under_way = true,
            Call::Get(key, ..) if key == c"tlsivgen" => self.is_under_way = true,
            _ => {}
        }
    }

    /// Records the state of the message's tag and of its end.
    fn note_end(&mut self, family: Family, call: Call, seen: &Seen, encrypts: bool) {
        let is_done = match call {
            Call::Cipher(..) => seen.written >= 0,
            Call::CipherAad(_) | Call::CipherEnd => seen.done >= 0,
            Call::Ctrl(..) => seen.done > 0,
            _ => seen.done == 1,
        };
        match call {
            Call::Init { key, iv, .. } if key.is_some() || iv.is_some() => {
                self.has_ended = false;
                self.has_ended_without_iv &= iv.is_none();
                self.has_record = false;
                self.awaits_record = false;
            }
            Call::Update(bytes, _) | Call::Cipher(bytes, _) if bytes > 0 => {
                // A failed record may have had another length than announced, and is still expected.
                let is_record = std::mem::take(&mut self.has_record);
                self.awaits_record &= !is_done;
                self.has_ended |= is_record;
                self.has_sealed_tag = is_record && is_done && encrypts;
            }
            Call::Aad(bytes) | Call::CipherAad(bytes) if bytes > 0 => {
                self.has_sealed_tag = false;
                self.has_begun_record = self.has_record;
            }
            Call::Cipher(..) | Call::CipherAad(_) if family == Family::Gcm => {
                self.has_sealed_tag = false;
            }
            Call::Finish | Call::CipherEnd => {
                // An expected record has not ended.
                let is_due = self.has_record && !self.has_begun_record;
                self.has_ended |= is_done || !is_due && self.is_keyed && !encrypts;
                self.has_ended_without_iv |= self.has_ended;
                self.has_record = false;
                self.has_sealed_tag = is_done && encrypts;
            }
            Call::Ctrl(ctrl::AEAD_SET_TAG, ..) => self.note_tag(is_done),
            Call::SetOctets(key, ..) | Call::SetNumber(key, ..) if key == c"tag" => {
                self.note_tag(is_done);
            }
            Call::Ctrl(ctrl::AEAD_TLS1_AAD, ..) if is_done => self.note_nonce(true),
            Call::SetOctets(key, ..) if key == c"tlsaad" && is_done => self.note_nonce(true),
            Call::Ctrl(ctrl::AEAD_SET_IV_FIXED, ..) if is_done => self.note_nonce(false),
            Call::SetOctets(key, ..) if key == c"tlsivfixed" && is_done => self.note_nonce(false),
            Call::Ctrl(ctrl::GCM_IV_GEN | ctrl::GCM_SET_IV_INV, ..) => self.has_sealed_tag = false,
            Call::Get(key, ..) if key == c"tlsivgen" => self.has_sealed_tag = false,
            _ => {}
        }
    }

    fn note_tag(&mut self, is_set: bool) {
        self.has_tag |= is_set;
        self.has_sealed_tag &= !is_set;
    }

    fn note_nonce(&mut self, is_record: bool) {
        self.has_ended = false;
        self.has_begun_record = false;
        self.has_record |= is_record;
        self.awaits_record |= is_record;
    }
}
