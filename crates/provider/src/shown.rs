//! When OpenSSL is shown the key managements.
//!
//! OpenSSL 3.0 and 3.1 put together anew, for each key or certificate that they read, which decoders there are for which key
//! managements. One more management with RSA's names costs 9 us there, a tenth of the time that a public key takes, and a
//! program that loads the 144 certificates of its system pays it for each. Yet nobody reads keys for this provider.
//!
//! So such an OpenSSL, where it was tested, keeps no list of them. It asks each time, and is answered unless it reads a key: it has asked for
//! decoders just before, as it does at the end of reading the one before. Signatures and decryption ask for the management
//! of their key by this provider alone, and keep what they are answered. Whoever gets no answer by mistake, as where other
//! threads read keys, has this one operation done by the default provider.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What was asked last, and how often it was answered.
#[derive(Default)]
pub(crate) struct Shown {
    was_for_decoders: AtomicBool,
    answers: AtomicU32,
}

/// An answer to a question for key managements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// Nothing, this time.
    Nothing,
    /// For this question.
    Once,
    /// OpenSSL need not ask again.
    ForGood,
}

/// A program asks a handful of times. An OpenSSL that keeps no answer, as 3.0.2, would make a key of ours anew for each
/// operation.
const ANSWERS_MAX: u32 = 200;

impl Shown {
    /// OpenSSL asks for something else than key managements.
    pub(crate) fn asked_for_others(&self, are_decoders: bool) {
        self.was_for_decoders.store(are_decoders, Ordering::Relaxed);
    }

    /// OpenSSL asks for key managements.
    pub(crate) fn asked(&self) -> Answer {
        if self.was_for_decoders.swap(false, Ordering::Relaxed) {
            return Answer::Nothing;
        }
        match self.answers.fetch_add(1, Ordering::Relaxed) {
            0..ANSWERS_MAX => Answer::Once,
            _ => {
                self.answers.store(ANSWERS_MAX, Ordering::Relaxed);
                Answer::ForGood
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_keys_is_shown_nothing() {
        let shown = Shown::default();
        assert_eq!(shown.asked(), Answer::Once);
        for _ in 0..3 {
            shown.asked_for_others(true);
            shown.asked_for_others(true);
            assert_eq!(shown.asked(), Answer::Nothing);
        }
        // A signature.
        shown.asked_for_others(false);
        assert_eq!(shown.asked(), Answer::Once);
        assert_eq!(shown.asked(), Answer::Once);
    }

    #[test]
    fn an_answer_denied_is_given_when_it_is_asked_for_again() {
        let shown = Shown::default();
        shown.asked_for_others(true);
        assert_eq!(shown.asked(), Answer::Nothing);
        assert_eq!(shown.asked(), Answer::Once);
    }

    #[test]
    fn who_keeps_no_answer_is_answered_for_good() {
        let shown = Shown::default();
        for _ in 0..ANSWERS_MAX {
            assert_eq!(shown.asked(), Answer::Once);
        }
        assert_eq!(shown.asked(), Answer::ForGood);
        assert_eq!(shown.asked(), Answer::ForGood);
    }
}
