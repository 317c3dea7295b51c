//! AES-GCM and ChaCha20-Poly1305: one message a call, each under its own nonce.

use super::ask::{Ask, PLAIN, TWO_THREADS, target};

pub(super) const ASKS: &[Ask] = &[
    Ask {
        sizes: "64,1k,16k,1m",
        targets: &[
            target("over openssl", "64", 12.0),
            target("over openssl", "1k", 4.5),
            target("over openssl", "16k", 2.7),
            target("over openssl", "1m", 2.6),
        ],
        ..GCM
    },
    Ask {
        peer: "aws-lc",
        sizes: "16k,1m",
        targets: &[
            target("over aws-lc", "16k", 1.0),
            target("over aws-lc", "1m", 1.0),
        ],
        ..GCM
    },
    Ask {
        peer: "ipsec-mb",
        sizes: "16k,1m",
        targets: &[
            target("over ipsec-mb", "16k", 1.0),
            target("over ipsec-mb", "1m", 1.0),
        ],
        ..GCM
    },
    Ask {
        case: GCM.case,
        sizes: "4m",
        targets: &[target("2 threads over one", "4m", 1.8)],
        ..TWO_THREADS
    },
    Ask {
        targets: &[target("over openssl", "16k", 1.08)],
        ..CHACHA
    },
    Ask {
        peer: "ipsec-mb",
        targets: &[target("over ipsec-mb", "16k", 1.0)],
        ..CHACHA
    },
    Ask {
        case: CHACHA.case,
        sizes: "4m",
        targets: &[target("2 threads over one", "4m", 1.8)],
        ..TWO_THREADS
    },
];

const GCM: Ask = Ask {
    case: "aes-256-gcm",
    ..PLAIN
};
const CHACHA: Ask = Ask {
    case: "chacha20-poly1305",
    ..PLAIN
};
