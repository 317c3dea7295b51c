//! The findings of `oarlock doctor`.

use serde::Serialize;

use crate::failure::printable;

/// One line of the answer.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) state: State,
    /// The subject of the finding.
    pub(super) about: &'static str,
    pub(super) text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// The finding is worth knowing, but not an obstacle.
    Note,
    /// The provider will not be used.
    No,
}

impl Finding {
    pub(super) fn ok(about: &'static str, text: impl Into<String>) -> Self {
        Self::new(State::Ok, about, text)
    }

    pub(super) fn note(about: &'static str, text: impl Into<String>) -> Self {
        Self::new(State::Note, about, text)
    }

    pub(super) fn no(about: &'static str, text: impl Into<String>) -> Self {
        Self::new(State::No, about, text)
    }

    fn new(state: State, about: &'static str, text: impl Into<String>) -> Self {
        Self {
            state,
            about,
            // The author of a program chooses its names.
            text: printable(&text.into()),
        }
    }
}
