//! The rooms of each crate, floor by floor.

/// The rooms of a target, from the top floor to the bottom. A room is a module and all below it;
/// `device::software` is a room of its own next to `device` where both have a line. A room uses
/// rooms of lower floors alone: none of its own floor, and none above. The root of the target
/// (`lib.rs`, `main.rs`) stands above all, unless a line says where `crate` stands.
///
/// A library goes by the name of its package, and so does the only program of a package; another
/// is `PACKAGE:PROGRAM`. A target without a table is looked through for circles alone.
pub const FLOORS: &[(&str, &[&[&str]])] = &[
    (
        "oarlock-kernels",
        &[
            &["testing"],                                   // in debug builds alone
            &["batch"],                                     // many requests at once
            &["cbc", "chacha20_poly1305", "gcm", "modexp"], // what callers ask for
            &["aes", "chacha20", "tdes", "xor"],
            &["counter"],
            &["x86_64"],
            &["portable"],
            &["bits", "stitched"],
            &["poly1305", "portable::xor", "requests"],
            &["key"],
            &["aead", "hash", "wipe"],
            &["contract", "cpu", "dispatch"],
        ],
    ),
    (
        "oarlock-legacy",
        &[
            &["testing"], // in debug builds alone
            &["key"],     // what callers ask for
            &["words"],
            &["serpent", "sliced"],
            &["dispatch", "error", "keys", "mode"],
        ],
    ),
    (
        "oarlock",
        &[
            &["builder", "framework"],
            &["accelerator"],
            &["calibrate"],
            &["packet"],
            &["aead", "cipher", "rsa"],
            &["plan"],
            &["device"],
            &["costs"],
            &["work"],
            &["aws_lc"],
            &["threads"],
            &["options"],
            &["error"],
        ],
    ),
    (
        "oarlock-file",
        &[
            &["age", "openssl_enc", "tls"],
            &["pipeline"],
            &["bytes", "waiting"],
            &["error"],
            &["words"],
        ],
    ),
    (
        "oarlock-net",
        &[
            &["client", "server"], // of the server, what puts it together and runs it
            &["server::page"],     // metrics and health over HTTP
            &["server::service"],  // messages to requests, and replies to messages
            &["server::observe", "server::operation"],
            &["server::audit"],                     // a line for each request
            &["server::accounts", "server::calls"], // what is kept for each client
            &["server::dispatch"],                  // which device computes what, and when
            &["server::devices", "server::listener", "server::outbox"],
            &["server::access", "server::keys"],
            &["server::allowance", "server::config", "server::log_limit"],
            &["pki"],
            &["proto", "tls"],
            &["codec"],
        ],
    ),
    (
        "oarlock-local",
        &[
            &["client", "relay", "server"],
            &["board"],
            &["board::pace"],
            &["board::memory"],
            &["reception"],
            &["join", "socket", "visits"],
            &["error"],
        ],
    ),
    (
        "oarlock-provider",
        &[
            &["conf_module"],
            &["entry"],
            &["calibration", "surroundings"],
            &["cipher", "rsa"],
            &["counted"],
            &["dispatch"],
            &["provider", "skey"],
            &["signer"],
            &["default_provider"],
            &["allocator", "error"],
            &["loading"],
            &["abi", "caught", "host", "libcrypto", "reserve"],
        ],
    ),
    (
        "oarlock-cli",
        &[
            &["files", "programs", "servers"], // the commands of each feature
            &[
                "age", "devices", "doctor", "enc", "local", "manual", "pki", "serve", "sign",
            ],
            &["remote", "run", "top"], // `devices` lists what `top` shows
            &["provider"],
            &["calibration"],
            &["job", "openssl_conf", "options"],
            &[
                "cache",
                "elf",
                "input",
                "keys",
                "openssl",
                "output",
                "passphrase",
            ],
            &["terminal"],
            &["interrupt", "progress"],
            &[
                "arguments",
                "cpu",
                "daemon",
                "folder",
                "help",
                "offers",
                "stdout",
            ],
            &["failure"],
            &["colours"],
        ],
    ),
    (
        "oarlock-measure",
        &[
            &["report"],
            &["run"],
            &["output"],
            &["measuring"],
            &["peers"],
            &["args"],
            &["cases", "cpu_class"],
            &["error"],
        ],
    ),
    (
        "oarlock-bench:oarlock-bench",
        &[
            &["targets"],
            &["programs"],
            &["peers", "seed_shape"],
            &["system"],
        ],
    ),
    (
        "oarlock-bench:oarlock-timing",
        &[
            &["paths"],
            &["measure"],
            &["clock", "memcheck", "statistics"],
        ],
    ),
    (
        "oarlock-bench-process",
        &[
            &["ask", "attack", "local", "tls"],
            &["asks", "tally", "watch"],
        ],
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
            &[
                "age_peers",
                "boringssl_peer",
                "circuits",
                "kernels",
                "offers",
                "performance",
                "plan",
                "proto",
                "tokens",
                "words",
            ],
            &["families"],
            &["cpu_mask", "go", "openssl_peers", "processor", "shim"],
            &["fetch"],
            &["tool"],
        ],
    ),
];
