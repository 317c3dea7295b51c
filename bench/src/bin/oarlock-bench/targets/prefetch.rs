//! Keystream made ahead: by helpers in idle time and beside a busy consumer, and by the caller.

use super::ask::{Ask, PLAIN, Place, TWO_THREADS, after_idle, between, target};

pub(super) const ASKS: &[Ask] = &[
    burst("camellia-128-ctr"),
    continuous("camellia-128-ctr"),
    burst("des-ede3-ctr"),
    continuous("des-ede3-ctr"),
    Ask {
        peer: "inline",
        sizes: "16k,64k",
        mode: "prefilled",
        strategy: Some("prefetch"),
        targets: &[
            target("prefilled on the same core, over inline", "16k", 3.0),
            target("prefilled on the same core, over inline", "64k", 1.25),
        ],
        ..PLAIN
    },
    // With GFNI the hash takes 0.7 of the time and bounds this at 1.43.
    Ask {
        place: Place::NoAesNorGfni,
        targets: &[target(
            "consumer with HMAC, no AES-NI nor GFNI: 2 threads over one",
            "32k",
            1.65,
        )],
        ..CONSUMER
    },
    Ask {
        peer: "openssl",
        targets: &[target(
            "consumer with HMAC, no AES-NI: 2 threads over openssl",
            "32k",
            1.4,
        )],
        ..CONSUMER
    },
];

/// Packets of 32 KiB.
const CONSUMER: Ask = Ask {
    place: Place::NoAes,
    case: "aes-128-ctr-then-hmac",
    sizes: "32k",
    sample_ms: STEADY_MS,
    ..TWO_THREADS
};

const fn burst(case: &'static str) -> Ask {
    Ask {
        case,
        sizes: "64k",
        mode: "burst",
        idle_ms: "20",
        strategy: Some("prefetch"),
        targets: const {
            &[after_idle(
                20,
                target("burst after 20 ms of idleness, over inline", "64k", 20.0),
            )]
        },
        ..TWO_THREADS
    }
}

const fn continuous(case: &'static str) -> Ask {
    Ask {
        case,
        sizes: "4k,1m",
        sample_ms: STEADY_MS,
        targets: const { &[between("2 threads over one", "4k", "1m", 1.85)] },
        ..TWO_THREADS
    }
}

/// Keystream that was made before the clock started is little of what is used in this time.
const STEADY_MS: Option<&str> = Some("60");
