//! AES-CBC.

use super::ask::{Ask, PLAIN, target};

pub(super) const ASKS: &[Ask] = &[
    Ask {
        case: "aes-128-cbc-decrypt",
        targets: &[target("over openssl", "16k", 1.8)],
        ..PLAIN
    },
    Ask {
        case: "aes-128-cbc",
        targets: &[target("over openssl", "16k", 1.0)],
        ..PLAIN
    },
];
