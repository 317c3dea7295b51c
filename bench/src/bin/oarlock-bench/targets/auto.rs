//! The plan is as good as the best strategy that could have been forced, everywhere.

use super::ask::{Ask, TWO_THREADS, below, between};

pub(super) const ASKS: &[Ask] = &[
    auto("aes-128-ctr"),
    auto("aes-192-ctr"),
    auto("aes-256-ctr"),
    auto("aes-128-gcm"),
    auto("aes-128-gcm-open"),
    auto("aes-256-gcm"),
    auto("aes-256-gcm-open"),
    auto("chacha20-poly1305"),
    auto("chacha20-poly1305-open"),
    auto("aes-128-cbc"),
    auto("aes-128-cbc-decrypt"),
    auto("aes-256-cbc"),
    auto("aes-256-cbc-decrypt"),
    auto("chacha20"),
    auto("camellia-128-ctr"),
    auto("des-ede3-ctr"),
];

const fn auto(case: &'static str) -> Ask {
    Ask {
        case,
        peer: "inline,stripe,prefetch",
        // Those of the report.
        sizes: "64,256,1k,4k,16k,64k,256k,1m",
        targets: const {
            &[
                below("auto over the best strategy", "64", "4k", 0.95),
                between("auto over the best strategy", "4k", "1m", 0.97),
            ]
        },
        ..TWO_THREADS
    }
}
