//! AES-CTR.

use super::ask::{Ask, PLAIN, Place, TWO_THREADS, after_idle, below, between, target};

pub(super) const ASKS: &[Ask] = &[
    Ask {
        sizes: "64,1k,16k,1m",
        targets: &[
            target("over openssl", "64", 1.3),
            target("over openssl", "1k", 2.0),
            target("over openssl", "16k", 2.5),
            target("over openssl", "1m", 2.5),
        ],
        ..PLAIN
    },
    Ask {
        peer: "ipsec-mb",
        sizes: "16k,1m",
        targets: &[
            target("over ipsec-mb", "16k", 1.12),
            target("over ipsec-mb", "1m", 1.12),
        ],
        ..PLAIN
    },
    Ask {
        fresh_nonce: true,
        targets: &[target("fresh nonce, over openssl", "16k", 2.4)],
        ..PLAIN
    },
    Ask {
        fresh_nonce: true,
        peer: "ipsec-mb",
        targets: &[target("fresh nonce, over ipsec-mb", "16k", 1.08)],
        ..PLAIN
    },
    Ask {
        case: "aes-256-ctr",
        targets: &[target("over openssl", "16k", 2.2)],
        ..PLAIN
    },
    Ask {
        case: "aes-256-ctr",
        peer: "ipsec-mb",
        targets: &[target("over ipsec-mb", "16k", 1.05)],
        ..PLAIN
    },
    Ask {
        peer: "kernel",
        sizes: "64,1k",
        targets: &[
            target("API over kernel", "64", 0.8),
            target("API over kernel", "1k", 0.95),
        ],
        ..PLAIN
    },
    Ask {
        sizes: ALL_SIZES,
        mode: "back-to-back,after-idle",
        targets: &[
            target("2 threads over one", "1m", 1.6),
            between("2 threads over one", "4m", "64m", 1.85),
            after_idle(2, target("2 threads over one, after idle", "16m", 1.85)),
            below("auto over inline", "64", "1k", 0.95),
            between("auto over inline", "1k", "64m", 0.97),
            after_idle(
                2,
                between("auto over inline, after idle", IDLE_FROM, "64m", 0.97),
            ),
        ],
        ..TWO_THREADS
    },
    Ask {
        place: Place::OneCpu,
        sizes: ALL_SIZES,
        mode: "back-to-back,after-idle",
        targets: &[
            below("auto over inline, one CPU", "64", "1k", 0.95),
            between("auto over inline, one CPU", "1k", "64m", 0.97),
            after_idle(
                2,
                between(
                    "auto over inline, one CPU, after idle",
                    IDLE_FROM,
                    "64m",
                    0.97,
                ),
            ),
        ],
        ..TWO_THREADS
    },
    Ask {
        place: Place::NoAes,
        threads: 2,
        sizes: "16m",
        targets: &[target("2 threads over openssl, no AES-NI", "16m", 1.5)],
        ..PLAIN
    },
];

const ALL_SIZES: &str = "64,256,1k,4k,16k,64k,256k,1m,4m,16m,64m";
/// One call after idleness takes less than the clock can tell from chance below this.
const IDLE_FROM: &str = "64k";
