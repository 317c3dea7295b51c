//! What was found out.

use serde::Serialize;

use crate::failure::printable;

/// One line of the answer.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) state: State,
    /// What it is about.
    pub(super) about: &'static str,
    pub(super) text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// Worth knowing, but not an obstacle.
    Note,
    /// The provider is not taken.
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
            // A program's names are its author's.
            text: printable(&text.into()),
        }
    }
}
