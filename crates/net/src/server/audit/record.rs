//! The record behind a line.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tonic::Code;

use super::super::accounts::Account;
use super::super::dispatch::Answered;
use crate::tls::Identity;

/// The subject of a request. Holds no secrets.
pub(in crate::server) struct Note {
    pub(in crate::server) identity: Identity,
    /// Its client's account, which stays open until the note is written.
    pub(in crate::server) _account: Option<Arc<Account>>,
    /// The pattern of the access list's entry that matches the client.
    pub(in crate::server) entry: Arc<str>,
    pub(in crate::server) peer: Arc<str>,
    pub(in crate::server) operation: &'static str,
    /// The ID of the key if it exists, otherwise the beginning of the ID asked for.
    pub(in crate::server) key: Arc<str>,
    /// Whether the key exists. Unknown IDs are not used as metric labels, since their number has no bound.
    pub(in crate::server) is_key_known: bool,
}

/// The contents of a line.
pub(in crate::server) struct Record {
    pub(super) unix_ms: u128,
    pub(super) client: Identity,
    pub(super) peer: Arc<str>,
    pub(super) operation: &'static str,
    pub(super) key: Arc<str>,
    pub(super) code: Code,
    pub(super) message: Option<Cow<'static, str>>,
    pub(super) device: Option<Arc<str>>,
    pub(super) waited: Duration,
    pub(super) served: Duration,
    /// The numbers of its items that have a result and that have failed, if it has several.
    pub(super) items: Option<(u64, u64)>,
}

impl Record {
    /// Creates the record of an answered request.
    pub(in crate::server) fn of(note: &Note, code: Code, answered: &Answered) -> Self {
        Self {
            unix_ms: unix_ms(),
            client: note.identity.clone(),
            peer: Arc::clone(&note.peer),
            operation: note.operation,
            key: Arc::clone(&note.key),
            code,
            message: answered.outcome.as_ref().err().map(|refusal| {
                refusal.in_short.map_or_else(
                    || bounded(&refusal.message, MESSAGE_BYTES_MAX).into(),
                    Cow::Borrowed,
                )
            }),
            device: answered.device.clone(),
            waited: answered.waited,
            served: answered.served,
            items: answered.items(),
        }
    }
}

/// Cuts a text to its first `bytes_max` bytes for a line, and marks the cut with `…`.
pub(in crate::server) fn bounded(text: &str, bytes_max: usize) -> String {
    match text.get(..text.floor_char_boundary(bytes_max)) {
        Some(first) if first.len() < text.len() => format!("{first}…"),
        _ => text.to_owned(),
    }
}

pub(super) fn unix_ms() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_millis()
}

const MESSAGE_BYTES_MAX: usize = 256;
