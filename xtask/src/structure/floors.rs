//! The rooms of each crate, floor by floor, and how much is not in order yet.

/// The rooms of a target, from the top floor to the bottom. A room is a module and all below it;
/// `device::software` is a room of its own beside `device` where both have a line. A room uses
/// rooms of lower floors alone: none of its own floor, and none above. The root of the target
/// (`lib.rs`, `main.rs`) stands above all, unless a line says where `crate` stands.
///
/// A library goes by the name of its package, and so does the only program of a package; another
/// is `PACKAGE:PROGRAM`. A target without a table is looked through for circles alone.
pub const FLOORS: &[(&str, &[&[&str]])] = &[
    (
        "oarlock-kernels",
        &[
            &["cbc", "chacha20_poly1305", "gcm", "modexp"], // what callers ask for
            &["aes", "chacha20"],
            &["x86_64"],
            &["sbox"],
            &["portable"],
            &["stitched"],
            &["poly1305", "rows"],
            &["xor"],
            &["aead", "wipe"],
            &["cpu"],
        ],
    ),
    (
        "oarlock",
        &[
            &["accelerator"],
            &["context"],
            &["aead", "cipher", "pk"],
            &["calibration", "request"],
            &["session"],
            &["plan"],
            &["stats", "usage"],
            &["device"],
            &["job"],
            &["prefetch"],
            &["pool"],
            &["locked"],
            &["options", "process"],
            &["error"],
        ],
    ),
    (
        "oarlock-file",
        &[
            &["age", "openssl_enc"],
            &["pipeline"],
            &["bytes", "waiting"],
            &["error"],
        ],
    ),
    (
        "oarlock-net",
        &[&["client", "server"], &["codec", "pki", "proto", "tls"]],
    ),
    (
        "oarlock-provider",
        &[
            &["entry"],
            &["cipher"],
            &["counted"],
            &["dispatch"],
            &["provider"],
            &["error"],
            &["abi", "reserve"],
        ],
    ),
    (
        "oarlock-cli",
        &[
            // Commands.
            &[
                "age", "devices", "doctor", "enc", "manual", "pki", "serve", "sign",
            ],
            &["run"],
            &["provider"],
            &["job", "openssl_conf", "options"],
            &[
                "cache",
                "input",
                "interrupt",
                "keys",
                "openssl",
                "output",
                "passphrase",
                "progress",
            ],
            &["cpu", "stdout"],
            &["failure"],
        ],
    ),
    (
        "oarlock-bench",
        &[
            &["record", "report"],
            &["run"],
            &["openssl", "own"],
            &["output"],
            &["public_key"],
            &["consumer", "verify"],
            &["measure"],
            &["peer"],
            &["case", "cli"],
            &["buffer", "glob", "machine", "statistics"],
            &["error"],
        ],
    ),
    (
        "oarlock-bench:oarlock-bench",
        &[
            &["targets"],
            &["programs"],
            &["enc"],
            &[
                "aws_lc",
                "crypto_mb",
                "ipsec_mb",
                "ring",
                "rustcrypto",
                "seed_shape",
            ],
            &["fetched", "interrupt", "pieces", "surroundings"],
        ],
    ),
    (
        "oarlock-bench:oarlock-timing",
        &[&["paths"], &["measure"], &["clock", "statistics"]],
    ),
    (
        "oarlock-load",
        &[&["ask", "local"], &["asks", "tally", "watch"]],
    ),
    (
        "oarlock-vectors",
        &[
            &["age", "cavp", "short", "wycheproof"],
            &["response"],
            &["fetched"],
            &["crate"], // the types that all readers return
        ],
    ),
    (
        "xtask",
        &[
            &["ci"],
            &["constant_time", "peers", "structure", "vectors"],
            &["age_peers", "kernels", "performance", "plan", "tokens"],
            &["go"],
            &["fetch"],
            &["tool"],
        ],
    ),
];

/// Targets that are not in order yet: how many arrows lie on circles, and how many run up.
///
/// Both numbers have to be as they are found, so that none grows and each improvement stays. A
/// target that is in order has no line here.
pub const KNOWN: &[(&str, usize, usize)] = &[
    ("oarlock-kernels", 51, 12),
    ("oarlock", 87, 18),
    ("oarlock-net", 12, 0),
    ("oarlock-bench", 33, 8),
    ("oarlock-bench:oarlock-bench", 37, 5),
    ("oarlock-bench:oarlock-timing", 8, 0),
];
