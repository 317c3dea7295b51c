//! Every target: what the project promises, for which CPU classes.

use super::target::Comparison::{self, Cipher, Enc, First, Program, PublicKey};
use super::target::{
    Beside, CipherRun, CpuLimit, Depth, EVERY_CPU, Process, ProgramQuantity, PublicKeyRun, Sizes,
    Target, at, below, to,
};
use crate::peers::boringssl;
use crate::programs::c_library::{RUST, RUST_LOOP};
use crate::programs::device::{ALLOWED, CPU, HOLLOW, NEIGHBOUR, ONE, SUM, WITHOUT};
use crate::programs::file_to_tls::{SSL_WRITE, SSL_WRITE_LONG};
use crate::programs::handshakes::ONE_PROCESS;
use crate::programs::server::{
    ALL as REQUESTS, AT_FIRST, FULL_QUEUE, HONEST, LIBRARY, PAPER, PEAK, PLAINTEXT, TWO_THIRDS,
};
use crate::programs::{Quantity, STOCK};

/// Figures that take AVX-512, VAES or IFMA, or were measured there alone.
const WIDE: &str = "A";
/// What holds whatever the instructions are.
const ANY: &str = "ABCD";

/// A number of client threads that the paper has a figure for.
macro_rules! board {
    ($cases:expr, $clients:literal) => {
        target(
            $cases,
            Program(ProgramQuantity {
                threads: Some($clients),
                ..over(Quantity::AsTheBoard, PAPER)
            }),
            concat!(
                $clients,
                " clients, compared with the paper, the lesser over the greater"
            ),
            0.97,
            ANY,
        )
    };
}

/// Runs that differ from another.
macro_rules! runs {
    ($($(#[$doc:meta])* $name:ident: $run:ident = $base:ident, $($option:ident: $value:expr),+;)+) => {
        $($(#[$doc])* const $name: $run = $run { $($option: $value,)+ ..$base };)+
    };
}

/// In the order in which they are measured. Neighbours with the same cases and run share it.
#[rustfmt::skip]
pub(super) const TARGETS: &[Target] = &[
    // AES-CTR.
    target(CTR, Cipher(&OPENSSL_SIZES, at("64")), "over openssl", 1.3, WIDE),
    target(CTR, Cipher(&OPENSSL_SIZES, at("1k")), "over openssl", 2.0, WIDE),
    target(CTR, Cipher(&OPENSSL_SIZES, at("16k")), "over openssl", 2.5, WIDE),
    target(CTR, Cipher(&OPENSSL_SIZES, at("1m")), "over openssl", 2.5, WIDE),
    target(CTR, Cipher(&IPSEC_MB_LONG, at("16k")), "over ipsec-mb", 1.12, WIDE),
    target(CTR, Cipher(&IPSEC_MB_LONG, at("1m")), "over ipsec-mb", 1.12, WIDE),
    target(CTR, Cipher(&FRESH, at("16k")), "fresh nonce, over openssl", 2.4, WIDE),
    target(CTR, Cipher(&FRESH_IPSEC_MB, at("16k")), "fresh nonce, over ipsec-mb", 1.08, WIDE),
    target(CTR_256, Cipher(&OPENSSL, at("16k")), "over openssl", 2.2, WIDE),
    target(CTR_256, Cipher(&IPSEC_MB, at("16k")), "over ipsec-mb", 1.05, WIDE),
    target(CTR, Cipher(&KERNEL, at("64")), "API over kernel", 0.8, ANY),
    target(CTR, Cipher(&KERNEL, at("1k")), "API over kernel", 0.95, ANY),
    target(CTR, Cipher(&TWO, at("1m")), "2 threads over one", 1.6, ANY),
    target(CTR, Cipher(&TWO, to("4m", "64m")), "2 threads over one", 1.85, ANY),
    target(CTR, Cipher(&TWO, at("16m").after_ms(2)), "2 threads over one, after idle", 1.85, ANY),
    target(CTR, Cipher(&TWO, below("64", "1k")), "auto over inline", 0.95, ANY),
    target(CTR, Cipher(&TWO, to("1k", "64m")), "auto over inline", 0.97, ANY),
    target(CTR, Cipher(&TWO, IDLE), "auto over inline, after idle", 0.97, ANY),
    target(CTR, Cipher(&ONE_CPU, below("64", "1k")), "auto over inline, one CPU", 0.95, ANY),
    target(CTR, Cipher(&ONE_CPU, to("1k", "64m")), "auto over inline, one CPU", 0.97, ANY),
    target(CTR, Cipher(&ONE_CPU, IDLE), "auto over inline, one CPU, after idle", 0.97, ANY),
    // AEADs: one message a call, each under its own nonce.
    target(GCM, Cipher(&OPENSSL_SIZES, at("64")), "over openssl", 12.0, WIDE),
    target(GCM, Cipher(&OPENSSL_SIZES, at("1k")), "over openssl", 4.5, WIDE),
    target(GCM, Cipher(&OPENSSL_SIZES, at("16k")), "over openssl", 2.7, WIDE),
    target(GCM, Cipher(&OPENSSL_SIZES, at("1m")), "over openssl", 2.6, WIDE),
    target(GCM, Cipher(&AWS_LC_LONG, at("16k")), "over aws-lc", 1.0, WIDE),
    target(GCM, Cipher(&AWS_LC_LONG, at("1m")), "over aws-lc", 1.0, WIDE),
    target(GCM, Cipher(&IPSEC_MB_LONG, at("16k")), "over ipsec-mb", 1.0, WIDE),
    target(GCM, Cipher(&IPSEC_MB_LONG, at("1m")), "over ipsec-mb", 1.0, WIDE),
    target(GCM, Cipher(&TWO_4M, at("4m")), "2 threads over one", 1.8, ANY),
    target(CHACHA, Cipher(&OPENSSL, at("16k")), "over openssl", 1.08, WIDE),
    target(CHACHA, Cipher(&IPSEC_MB, at("16k")), "over ipsec-mb", 1.0, WIDE),
    target(CHACHA, Cipher(&TWO_4M, at("4m")), "2 threads over one", 1.8, ANY),
    // AES-CBC.
    target(&["aes-128-cbc-decrypt"], Cipher(&OPENSSL, at("16k")), "over openssl", 1.8, WIDE),
    target(&["aes-128-cbc"], Cipher(&OPENSSL, at("16k")), "over openssl", 1.0, ANY),
    // Keystream made ahead: by helpers in idle time and next to a busy consumer, and by the caller.
    // docs/internals/prefetch.md has the bounds, and the inline rates of the classes, that these come from.
    target(CAMELLIA, Cipher(&BURST, at("64k").after_ms(20)), "burst after 20 ms of idleness, over inline, class A", BURST_GB_PER_S / 4.8, "A"),
    target(CAMELLIA, Cipher(&BURST, at("64k").after_ms(20)), "burst after 20 ms of idleness, over inline, classes B and C", BURST_GB_PER_S / 1.6, "BC"),
    target(CAMELLIA, Cipher(&BURST, at("64k").after_ms(20)), "burst after 20 ms of idleness, over inline, class D", BURST_GB_PER_S / 0.5, "D"),
    target(CAMELLIA, Cipher(&STEADY, to("4k", "1m")), "2 threads over one, class A", STEADY_SHARE * (2.0 - 4.8 / CROSSING_GB_PER_S), "A"),
    target(CAMELLIA, Cipher(&STEADY, to("4k", "1m")), "2 threads over one, below class A", STEADY_SHARE * (2.0 - 1.6 / CROSSING_GB_PER_S), "BCD"),
    target(TRIPLE_DES, Cipher(&BURST, at("64k").after_ms(20)), "burst after 20 ms of idleness, over inline, class A", BURST_GB_PER_S / 2.4, "A"),
    target(TRIPLE_DES, Cipher(&BURST, at("64k").after_ms(20)), "burst after 20 ms of idleness, over inline, below class A", BURST_GB_PER_S / 0.75, "BCD"),
    target(TRIPLE_DES, Cipher(&STEADY, to("4k", "1m")), "2 threads over one, class A", STEADY_SHARE * (2.0 - 2.4 / CROSSING_GB_PER_S), "A"),
    target(TRIPLE_DES, Cipher(&STEADY, to("4k", "1m")), "2 threads over one, below class A", STEADY_SHARE * (2.0 - 0.75 / CROSSING_GB_PER_S), "BCD"),
    target(CTR, Cipher(&PREFILLED, at("16k")), "prefilled on the same core, over inline", 3.0, WIDE),
    target(CTR, Cipher(&PREFILLED, at("64k")), "prefilled on the same core, over inline", 1.25, WIDE),
    // The plan is as good as the best strategy that could have been forced, everywhere.
    target(EVERY_CIPHER, Cipher(&STRATEGIES, below("64", "4k")), "auto over the best strategy", 0.95, ANY),
    target(EVERY_CIPHER, Cipher(&STRATEGIES, to("4k", "1m")), "auto over the best strategy", 0.97, ANY),
    target(EVERY_CIPHER, Cipher(&STRATEGIES_IDLE, to("64k", "1m").after_ms(2)), AUTO_IDLE_2, 0.97, ANY),
    target(EVERY_CIPHER, Cipher(&STRATEGIES_LONG_IDLE, to("64k", "1m").after_ms(20)), AUTO_IDLE_20, 0.97, ANY),
    target(EVERY_CIPHER, Cipher(&ON_EVERY_CPU, to("4k", "4m")), "auto on every CPU over inline", 0.97, ANY),
    target(BESIDE_OTHERS, Cipher(&BESIDE, to("16k", "4m")), "auto over inline, the other CPU busy", 0.97, ANY),
    // Public-key operations, by how many are in flight.
    target(RSA_1024, PublicKey(&ONE_CORE, DEEP, &["openssl"]), "over openssl", 5.5, WIDE),
    target(RSA_1024, PublicKey(&ONE_CORE, DEEP, &["crypto-mb"]), "over crypto-mb", 0.97, WIDE),
    target(RSA_1024, LONE, OVER_BOTH, 1.0 / 1.05, ANY),
    target(RSA_2048, PublicKey(&ONE_CORE, DEEP, &["openssl"]), "over openssl", 3.0, WIDE),
    target(RSA_2048, PublicKey(&ONE_CORE, DEEP, &["crypto-mb"]), "over crypto-mb", 0.97, WIDE),
    target(RSA_2048, LONE, OVER_BOTH, 1.0 / 1.05, ANY),
    target(RSA_3072, PublicKey(&ONE_CORE, DEEP, &["openssl"]), "over openssl", 4.4, WIDE),
    target(RSA_3072, PublicKey(&ONE_CORE, DEEP, &["aws-lc"]), "over aws-lc", 2.0, WIDE),
    target(RSA_3072, LONE, OVER_BOTH, 1.0 / 1.05, ANY),
    target(RSA_4096, PublicKey(&ONE_CORE, DEEP, &["openssl"]), "over openssl", 4.2, WIDE),
    target(RSA_4096, PublicKey(&ONE_CORE, DEEP, &["crypto-mb"]), "over crypto-mb", 1.0, WIDE),
    target(RSA_4096, LONE, OVER_BOTH, 1.0 / 1.05, ANY),
    target(VERIFY, PublicKey(&ONE_CORE, DEEP, &["openssl"]), "over openssl", 4.3, WIDE),
    target(VERIFY, PublicKey(&ONE_CORE, DEEP, &["crypto-mb"]), "over crypto-mb", 1.0, WIDE),
    target(VERIFY, LONE, OVER_BOTH, 1.0 / 1.05, ANY),
    target(MOD_EXP, PublicKey(&CRYPTO_MB, DEEP, &["crypto-mb"]), "over crypto-mb", 1.0, WIDE),
    target(DEEPER, PublicKey(&BY_DEPTH, Depth::Each, &["oarlock"]), "over the depth before", 0.97, ANY),
    target(RSA_2048, PublicKey(&TWO_CORES, DEEP, &["inline"]), "2 cores over one", 1.9, ANY),
    target(RSA_2048, PublicKey(&CALLERS, DEEP, &["job"]), CALLERS_OVER_JOBS, 0.9, ANY),
    target(RSA_2048, PublicKey(&MIXED, DEEP, &["alone"]), REQUESTS_BESIDE, 0.4, ANY),
    target(RSA_2048, PublicKey(&MIXED, Depth::Cipher, &["alone"]), MESSAGES_BESIDE, 0.4, ANY),
    target(RSA_2048, First(Process::Fresh), OVER_FIRST, 1.0, ANY),
    target(RSA_2048, First(Process::ForkedChild), OVER_FIRST, 1.0, ANY),
    // The provider, in `openssl` and OpenSSH.
    target(&["openssl-start"], Program(START), "stock's time and 0.5 ms, over ours", 1.0, ANY),
    target(&["openssl-context-*"], Program(CONTEXT), "stock's time over ours", 1.0 / 1.1, ANY),
    target(&["evp-copy-*"], Program(CONTEXT), "stock's time over ours, a copy for a message", 0.99, ANY),
    target(&["evp-new-*"], Program(CONTEXT), "stock's time over ours, a context for a message", 0.99, ANY),
    target(&["evp-rekey-*"], Program(CONTEXT), "stock's time over ours, a key for a message", 0.99, ANY),
    target(&["evp-handshake-*"], Program(CONTEXT), "stock's time over ours, a server's CPU time", 0.995, ANY),
    target(&["openssl-key-read", "openssl-key-sign"], Program(CONTEXT), "stock's time over ours", 0.95, ANY),
    // OpenSSL exports the key to where it is used, once: 1.7 us.
    target(&["openssl-key-verify"], Program(CONTEXT), "stock's time over ours", 0.9, ANY),
    target(&["openssl-speed-*"], Program(speed(16)), "over stock", 0.95, ANY),
    target(&["openssl-speed-*"], Program(speed(64)), "over stock", 0.95, ANY),
    target(&["openssl-speed-*"], Program(speed(256)), "over stock", 0.95, ANY),
    target(&["openssl-speed-aes-128-ctr*"], Program(speed(16384)), "over stock", 2.3, WIDE),
    target(&["openssl-speed-aes-256-gcm*"], Program(speed(16384)), "over stock", 2.5, WIDE),
    target(&["openssl-speed-chacha20-poly1305*"], Program(speed(16384)), "over stock", 1.05, WIDE),
    target(&["openssl-speed-aes-128-cbc-decrypt"], Program(speed(16384)), "over stock", 1.7, WIDE),
    target(&["ssh-aes*", "ssh-chacha20-*"], Program(RATE), "rate over stock", 0.97, ANY),
    target(&["ssh-aes256-gcm-*"], Program(CPU_TIME), "stock's CPU time over ours", 1.0 / 0.95, WIDE),
    target(SSH_OTHERS, Program(CPU_TIME), "stock's CPU time over ours", LEVEL, ANY),
    target(&["ssh-gigabit-*", "ssh-one-cpu-*"], Program(RATE), "rate over stock", LEVEL, ANY),
    // The command, on files and streams.
    target(ENCRYPT_DECRYPT, Program(over(Quantity::Rate, "cp")), "over cp", 0.9, WIDE),
    target(&["file-encrypt"], Program(over(Quantity::Rate, "age")), "over age", 2.2, WIDE),
    target(&["file-decrypt"], Program(over(Quantity::Rate, "age")), "over age", 3.2, WIDE),
    target(ENCRYPT_DECRYPT, Program(ONE_THREAD), "one thread over age", 1.3, WIDE),
    target(ENCRYPT_DECRYPT, Program(over(Quantity::ResidentMib, "cp")), RESIDENT, 1.0, ANY),
    target(&["file-many-*"], Program(over(Quantity::Files, "rage")), "over a loop of rage", 20.0, ANY),
    target(&["file-many-*"], Program(over(Quantity::ResidentMib, "cp")), RESIDENT, 1.0, ANY),
    target(&["file-unlock"], Program(over(Quantity::Seconds, "age")), "age's time over ours", LEVEL, ANY),
    target(&["pipe-*"], Program(over(Quantity::Rate, "cat")), "over cat in its place", 0.8, WIDE),
    target(&["pipe-*"], Program(over(Quantity::ResidentMib, "cat")), RESIDENT, 1.0, ANY),
    // Servers.
    target(&["server-rsa2048"], Program(PER_CPU), "with TLS over the library, a CPU second", 0.93, ANY),
    target(&["server-rsa2048"], Program(PER_CPU_PLAIN), "with TLS over plaintext, a CPU second", 0.98, ANY),
    target(&["server-latency*"], Program(LATENCY_P50), "150 us over what is added to the median", 1.0, ANY),
    target(&["server-latency*"], Program(LATENCY_P99), ADDED_P99, 1.0, ANY),
    board!(AXL200, 1),
    board!(AXL200, 25),
    board!(NFAST300, 1),
    board!(NFAST300, 10),
    board!(NFAST300, 30),
    board!(NFAST300, 32),
    target(&["server-boards-together*"], Program(OPERATIONS), "over both boards of the paper", 0.99, ANY),
    target(&["server-load"], Program(RIGHT), "requests that end right", 1.0, ANY),
    target(&["server-load"], Program(MEMORY), "memory at first over memory at last", 1.0 / 1.05, ANY),
    target(&["server-load"], Program(FILES), "descriptors at first over descriptors at last", 1.0, ANY),
    target(&["server-overload"], Program(over(Quantity::Operations, PEAK)), "goodput over the peak", 0.95, ANY),
    target(&["server-overload"], Program(RIGHT), "requests answered, or refused for want of room", 1.0, ANY),
    target(&["server-overload"], Program(over(Quantity::AdmittedMs, FULL_QUEUE)), ADMITTED, 2.0 / 3.0, ANY),
    target(&["server-kill"], Program(RIGHT), "requests that end right", 1.0, ANY),
    target(&["server-kill"], Program(over(Quantity::Operations, TWO_THIRDS)), AFTER_A_SECOND, 0.97, ANY),
    // The framework.
    target(&["packet-file-to-tls"], Program(over(Quantity::CpuSeconds, SSL_WRITE)), "CPU a byte, over an SSL_write loop", 1.27, "ABCD"),
    target(&["packet-file-to-tls"], Program(over(Quantity::CpuSeconds, SSL_WRITE_LONG)), "CPU a byte, over one of 256 KiB", 1.27, "ABCD"),
    target(&["c-call"], Program(over(Quantity::Nanoseconds, ALLOWED)), "10 ns over what the call of 64 bytes adds to Rust's", 1.0, ANY),
    target(&["c-aes-256-gcm"], Program(sealed(64)), "over EVP", 0.97, ANY),
    target(&["c-aes-256-gcm"], Program(sealed(1024)), "over EVP", 0.97, ANY),
    target(&["c-aes-256-gcm"], Program(sealed(16384)), "over EVP", 0.97, "BCD"),
    target(&["c-aes-256-gcm"], Program(sealed(16384)), "over EVP, class A", 2.5, WIDE),
    target(&["c-aes-256-gcm"], Program(sealed(1 << 20)), "over EVP", 0.97, ANY),
    target(&["c-sign"], Program(over(Quantity::Operations, RUST)), "a loop of poll over Rust's blocking queue", 0.95, ANY),
    target(&["c-sign"], Program(over(Quantity::Operations, RUST_LOOP)), "a loop of poll over Rust's", 0.95, ANY),
    target(&["device-null-inline"], Program(over(Quantity::Nanoseconds, ALLOWED)), "150 ns over a null request", 1.0, ANY),
    target(&["device-null-queued"], Program(over(Quantity::Nanoseconds, ALLOWED)), "1.5 us over a null request", 1.0, ANY),
    target(&["device-together"], Program(over(Quantity::Rate, SUM)), "three boards over the sum of each alone", 0.96, ANY),
    target(&["device-beside-a-hog"], Program(over(Quantity::Rate, WITHOUT)), "offloaded work, over that without", 0.9, ANY),
    target(&["device-beside-a-hog"], Program(over(Quantity::CpuShare, CPU)), "what the hog gets of a CPU, over what it gets undisturbed", 0.95, ANY),
    target(&["device-beside-a-hog"], Program(over(Quantity::CpuShare, HOLLOW)), "the same, next to boards that take no CPU time for results", 0.95, ANY),
    target(&["device-two-processes"], Program(over(Quantity::Rate, ONE)), "two processes on one device over one", 0.95, ANY),
    target(&["device-four-processes"], Program(over(Quantity::Rate, ONE)), "four processes on one device over one", 0.95, ANY),
    target(&["device-beside-a-neighbour"], Program(over(Quantity::Rate, NEIGHBOUR)), "its own board and half of a shared one, over the sum", 0.9, ANY),
    // Hostile clients, each next to a victim.
    target(HOSTILE, Program(RIGHT), "requests of the victim that end right", 1.0, ANY),
    target(HOSTILE, Program(over(Quantity::VictimP99, HONEST)), VICTIM_P99, 0.5, ANY),
    target(HOSTILE, Program(over(Quantity::Healthy, REQUESTS)), "answers of /healthz that are 200", 1.0, ANY),
    target(HOSTILE, Program(over(Quantity::GrownMib, AT_FIRST)), "32 MiB, over what it has more", 1.0, ANY),
    target(HOSTILE, Program(over(Quantity::LeftMib, AT_FIRST)), "4 MiB, over what is left of that after 10 s", 1.0, ANY),
    target(HOSTILE, Program(over(Quantity::Series, AT_FIRST)), "series before and 32, over those after", 1.0, ANY),
    target(HOSTILE, Program(over(Quantity::Clients, AT_FIRST)), "clients known before over those after", 1.0, ANY),
    target(&["oarlock enc of 1 GiB in tmpfs"], Enc, "over openssl enc, aes-128-ctr", 1.7, WIDE),
    // RSA keys of unmodified servers. Below class A nothing need be gained, and nothing may be lost.
    target(&["tls-haproxy-rsa-2048", "tls-haproxy-tls-1.2-rsa-2048"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0 / 0.72, WIDE),
    target(&["tls-haproxy-rsa-3072", "tls-haproxy-tls-1.2-rsa-3072"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0 / 0.45, WIDE),
    target(&["tls-haproxy-rsa-4096", "tls-haproxy-tls-1.2-rsa-4096"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0 / 0.35, WIDE),
    target(&["tls-haproxy-rsa-????-one-at-a-time"], Program(HANDSHAKE_P50), "stock's time over ours", 1.0 / 1.03, WIDE),
    target(&["tls-haproxy-two-threads-rsa-2048"], Program(over(Quantity::Operations, STOCK)), "handshakes a second over stock", 1.35, WIDE),
    target(&["tls-nginx-local-rsa-2048", "tls-nginx-local-16-workers-rsa-2048"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0 / 0.8, WIDE),
    target(&["tls-nginx-local-rsa-3072", "tls-nginx-local-16-workers-rsa-3072"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0 / 0.5, WIDE),
    target(&["tls-nginx-local-rsa-4096", "tls-nginx-local-16-workers-rsa-4096"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0 / 0.4, WIDE),
    target(&["tls-nginx-local*-one-at-a-time"], Program(HANDSHAKE_P50), "stock's time over ours", 1.0 / 1.03, WIDE),
    target(&["tls-apache-rsa-2048", "tls-apache-local-rsa-2048"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0 / 0.8, WIDE),
    target(&["tls-apache*-one-at-a-time"], Program(HANDSHAKE_P50), "stock's time over ours", 1.0 / 1.03, WIDE),
    target(&["tls-haproxy-resumed-rsa-????"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 0.98, ANY),
    target(&["tls-processes-rsa-*"], Program(over(Quantity::Operations, ONE_PROCESS)), "four processes that meet, over one", 0.95, WIDE),
    target(&["tls-nginx-rsa-*"], Program(HANDSHAKE_CPU), "stock's CPU time over ours", 1.0, WIDE),
    target(&["tls-speed-rsa-????"], Program(over(Quantity::Operations, STOCK)), "signatures a CPU second over stock", 0.97, WIDE),
    target(&["tls-speed-rsa-2048-async", "tls-speed-rsa-4096-async"], Program(over(Quantity::Operations, STOCK)), "signatures a CPU second over stock", 2.5, WIDE),
    target(&["tls-haproxy-rsa-*", "tls-haproxy-t*", "tls-nginx-*", "tls-apache-*"], Program(HANDSHAKE_CPU), "stock's CPU time over ours, below class A", 0.98, "BCD"),
    target(&["tls-speed-*"], Program(over(Quantity::Operations, STOCK)), "signatures a CPU second over stock, below class A", 0.98, "BCD"),
    // Never slower: what every class of CPUs is held to, a line for each size.
    matrix(NOT_CHACHA, Cipher(&MATRIX_OPENSSL, ALL_SIZES), "over openssl", 0.97, ANY),
    matrix(NOT_CHACHA_AWS_LC, Cipher(&MATRIX_AWS_LC, ALL_SIZES), "over aws-lc", 0.97, ANY),
    matrix(CHACHA_ALL, Cipher(&MATRIX_OPENSSL, ALL_SIZES), "over openssl", 0.98, "BC"),
    matrix(CHACHA_ALL, Cipher(&MATRIX_AWS_LC, ALL_SIZES), "over aws-lc", 0.98, "BC"),
    matrix(CHACHA_AEAD, Cipher(&MATRIX_IPSEC_MB, ALL_SIZES), "over ipsec-mb", 0.98, "BC"),
    matrix(CHACHA_ALL, Cipher(&MATRIX_OPENSSL, ALL_SIZES), "over openssl", 0.97, "AD"),
    matrix(CHACHA_ALL, Cipher(&MATRIX_AWS_LC, ALL_SIZES), "over aws-lc", 0.97, "AD"),
    matrix(NOT_CHACHA_AWS_LC, Cipher(&MATRIX_BORINGSSL, ALL_SIZES), "over boringssl", 0.97, ANY),
    matrix(CHACHA_ALL, Cipher(&MATRIX_BORINGSSL, ALL_SIZES), "over boringssl", 0.98, "BC"),
    matrix(CHACHA_ALL, Cipher(&MATRIX_BORINGSSL, ALL_SIZES), "over boringssl", 0.97, "AD"),
    matrix(RSA, PublicKey(&MATRIX_RSA, Depth::At(1), BOTH), "over openssl and aws-lc", 0.97, ANY),
    matrix(RSA, PublicKey(&MATRIX_RSA, DEEP, BOTH), "over openssl and aws-lc", 0.97, ANY),
    matrix(RSA, PublicKey(&RSA_BORINGSSL, Depth::At(1), BORINGSSL), "over boringssl", 0.97, ANY),
    matrix(RSA, PublicKey(&RSA_BORINGSSL, DEEP, BORINGSSL), "over boringssl", 0.97, ANY),
    matrix(&["openssl-speed-*"], Program(speed(16)), "over stock", 0.97, ANY),
    matrix(&["openssl-speed-*"], Program(speed(64)), "over stock", 0.97, ANY),
    matrix(&["openssl-speed-*"], Program(speed(256)), "over stock", 0.97, ANY),
    matrix(&["openssl-speed-*"], Program(speed(1024)), "over stock", 0.97, ANY),
    matrix(&["openssl-speed-*"], Program(speed(16384)), "over stock", 0.97, ANY),
    matrix(&["ssh-aes*", "ssh-chacha20-*", "https-*"], Program(CPU_TIME), "stock's CPU time over ours", 1.0 / 1.02, "ABC"),
];

const CTR: &[&str] = &["aes-128-ctr"];
const CTR_256: &[&str] = &["aes-256-ctr"];
const GCM: &[&str] = &["aes-256-gcm"];
const CHACHA: &[&str] = &["chacha20-poly1305"];
const CAMELLIA: &[&str] = &["camellia-128-ctr"];
const TRIPLE_DES: &[&str] = &["des-ede3-ctr"];
/// From the fastest to the slowest.
const BESIDE_OTHERS: &[&str] = &[
    "aes-128-ctr",
    "aes-256-gcm",
    "chacha20",
    "camellia-128-ctr",
    "des-ede3-ctr",
];
const EVERY_CIPHER: &[&str] = &[
    "aes-128-ctr",
    "aes-192-ctr",
    "aes-256-ctr",
    "aes-128-gcm",
    "aes-128-gcm-open",
    "aes-256-gcm",
    "aes-256-gcm-open",
    "chacha20-poly1305",
    "chacha20-poly1305-open",
    "aes-128-cbc",
    "aes-128-cbc-decrypt",
    "aes-256-cbc",
    "aes-256-cbc-decrypt",
    "chacha20",
    "camellia-128-ctr",
    "des-ede3-ctr",
];
const NOT_CHACHA: &[&str] = &[
    "aes-128-ctr",
    "aes-192-ctr",
    "aes-256-ctr",
    "aes-128-gcm",
    "aes-128-gcm-open",
    "aes-256-gcm",
    "aes-256-gcm-open",
    "aes-128-cbc",
    "aes-128-cbc-decrypt",
    "aes-256-cbc",
    "aes-256-cbc-decrypt",
    "camellia-128-ctr",
    "des-ede3-ctr",
];
/// Those that aws-lc has.
const NOT_CHACHA_AWS_LC: &[&str] = NOT_CHACHA.split_at(11).0;
const CHACHA_ALL: &[&str] = &["chacha20", "chacha20-poly1305", "chacha20-poly1305-open"];
const CHACHA_AEAD: &[&str] = &["chacha20-poly1305", "chacha20-poly1305-open"];
const RSA: &[&str] = &[
    "rsa-1024-private",
    "rsa-2048-sign",
    "rsa-3072-sign",
    "rsa-4096-sign",
    "rsa-2048-verify",
];
const RSA_1024: &[&str] = &["rsa-1024-private"];
const RSA_2048: &[&str] = &["rsa-2048-sign"];
const RSA_3072: &[&str] = &["rsa-3072-sign"];
const RSA_4096: &[&str] = &["rsa-4096-sign"];
const VERIFY: &[&str] = &["rsa-2048-verify"];
const MOD_EXP: &[&str] = &["modexp-1024", "modexp-2048", "modexp-4096"];
const DEEPER: &[&str] = &[
    "rsa-1024-private",
    "rsa-2048-sign",
    "rsa-3072-sign",
    "rsa-4096-sign",
    "rsa-2048-verify",
    "modexp-2048",
];
const SSH_OTHERS: &[&str] = &["ssh-aes128-*", "ssh-aes256-ctr-*", "ssh-chacha20-*"];
const ENCRYPT_DECRYPT: &[&str] = &["file-encrypt", "file-decrypt"];
const HOSTILE: &[&str] = &["hostile-*"];
const VICTIM_P99: &str =
    "the victim's 99th percentile next to an honest client, over that next to this one";
// The paper has no figures of clients that send three requests at once.
const AXL200: &[&str] = &["server-boards-axl200", "server-boards-axl200-plaintext"];
const NFAST300: &[&str] = &[
    "server-boards-nfast300-crt",
    "server-boards-nfast300-crt-plaintext",
    "server-boards-nfast300",
    "server-boards-nfast300-plaintext",
];

/// One thread, 16 KiB, against OpenSSL.
const OPENSSL: CipherRun = CipherRun {
    cpu: CpuLimit::None,
    threads: 1,
    fresh_nonce: false,
    peer: "openssl",
    sizes: "16k",
    mode: "back-to-back",
    idle_ms: "2",
    strategy: None,
    sample_ms: None,
};
runs! {
    OPENSSL_SIZES: CipherRun = OPENSSL, sizes: "64,1k,16k,1m";
    IPSEC_MB: CipherRun = OPENSSL, peer: "ipsec-mb";
    IPSEC_MB_LONG: CipherRun = IPSEC_MB, sizes: "16k,1m";
    AWS_LC_LONG: CipherRun = IPSEC_MB_LONG, peer: "aws-lc";
    FRESH: CipherRun = OPENSSL, fresh_nonce: true;
    FRESH_IPSEC_MB: CipherRun = IPSEC_MB, fresh_nonce: true;
    KERNEL: CipherRun = OPENSSL, peer: "kernel", sizes: "64,1k";
    MATRIX_OPENSSL: CipherRun = OPENSSL, sizes: "16,64,256,512,1k,4k,16k,1m";
    MATRIX_AWS_LC: CipherRun = MATRIX_OPENSSL, peer: "aws-lc";
    MATRIX_IPSEC_MB: CipherRun = MATRIX_OPENSSL, peer: "ipsec-mb";
    MATRIX_BORINGSSL: CipherRun = MATRIX_OPENSSL, peer: boringssl::NAME;
    /// Two threads against one.
    TWO_4M: CipherRun = OPENSSL, threads: 2, peer: "inline", sizes: "4m";
    TWO: CipherRun = TWO_4M, sizes: "64,256,1k,4k,16k,64k,256k,1m,4m,16m,64m", mode: "back-to-back,after-idle";
    ONE_CPU: CipherRun = TWO, cpu: CpuLimit::OneCpu;
    BURST: CipherRun = TWO_4M, sizes: "64k", mode: "burst", idle_ms: "20", strategy: Some("prefetch");
    /// Keystream that was made before the clock started is little of what is used in a sample.
    STEADY: CipherRun = TWO_4M, sizes: "4k,1m", sample_ms: Some("60");
    PREFILLED: CipherRun = OPENSSL, peer: "inline", sizes: "16k,64k", mode: "prefilled", strategy: Some("prefetch");
    /// At the sizes of the report.
    STRATEGIES: CipherRun = TWO_4M, peer: "inline,stripe,prefetch", sizes: "64,256,1k,4k,16k,64k,256k,1m";
    STRATEGIES_IDLE: CipherRun = STRATEGIES, sizes: "64k,256k,1m", mode: "after-idle";
    /// Samples of many slices of the scheduler's: what a helper without a CPU costs comes by the slice.
    BESIDE: CipherRun = TWO_4M, cpu: CpuLimit::Beside, sizes: "16k,64k,256k,1m,4m", sample_ms: Some("100");
    /// With many CPUs, few are worth a request of some microseconds.
    ON_EVERY_CPU: CipherRun = TWO_4M, threads: EVERY_CPU, sizes: "4k,16k,64k,256k,1m,4m";
    STRATEGIES_LONG_IDLE: CipherRun = STRATEGIES_IDLE, idle_ms: "20";
}

const ALL_SIZES: Sizes = to("16", "1m");
/// One call after idleness takes less than the clock can tell from chance below this.
const IDLE: Sizes = to("64k", "64m").after_ms(2);
const AUTO_IDLE_2: &str = "auto over the best strategy, after 2 ms of idleness";
const AUTO_IDLE_20: &str = "auto over the best strategy, after 20 ms of idleness";
/// A burst of keystream that is all there: it crosses from another core at 9 GB/s at least.
const BURST_GB_PER_S: f64 = 8.0;
/// While more is made.
const CROSSING_GB_PER_S: f64 = 19.0;
/// The least share of the bound.
const STEADY_SHARE: f64 = 0.96;

const ONE_CORE: PublicKeyRun = PublicKeyRun {
    threads: 1,
    depth: "1,64",
    beside: Beside::Peers("openssl,aws-lc,crypto-mb"),
};
runs! {
    MATRIX_RSA: PublicKeyRun = ONE_CORE, beside: Beside::Peers("openssl,aws-lc");
    RSA_BORINGSSL: PublicKeyRun = ONE_CORE, beside: Beside::Peers(boringssl::NAME);
    CRYPTO_MB: PublicKeyRun = ONE_CORE, depth: "64", beside: Beside::Peers("crypto-mb");
    BY_DEPTH: PublicKeyRun = ONE_CORE, depth: "1,2,4,8,16,64", beside: Beside::Peers("job");
    TWO_CORES: PublicKeyRun = CRYPTO_MB, threads: 2, beside: Beside::Peers("inline");
    CALLERS: PublicKeyRun = TWO_CORES, beside: Beside::Callers("64");
    MIXED: PublicKeyRun = TWO_CORES, beside: Beside::Mixed;
}

/// A call takes 1.05 of the time of the better library's at most.
const LONE: Comparison = PublicKey(&ONE_CORE, Depth::At(1), BOTH);
const BOTH: &[&str] = &["openssl", "aws-lc"];
const BORINGSSL: &[&str] = &[boringssl::NAME];
const OVER_BOTH: &str = "a lone call over openssl and aws-lc";
const OVER_FIRST: &str = "the library's time and 100 us, over Oarlock's";
const DEEP: Depth = Depth::At(64);
const CALLERS_OVER_JOBS: &str = "64 threads that wait over jobs, 2 cores";
const REQUESTS_BESIDE: &str = "while aes-256-gcm runs on 2 cores, over alone";
const MESSAGES_BESIDE: &str = "aes-256-gcm next to it on 2 cores, over alone";

const START: ProgramQuantity = over(Quantity::Milliseconds, STOCK);
const CONTEXT: ProgramQuantity = over(Quantity::Nanoseconds, STOCK);
const RATE: ProgramQuantity = over(Quantity::Rate, STOCK);
const HANDSHAKE_CPU: ProgramQuantity = over(Quantity::HandshakeCpu, STOCK);
const HANDSHAKE_P50: ProgramQuantity = over(Quantity::HandshakeP50, STOCK);
const CPU_TIME: ProgramQuantity = over(Quantity::CpuSeconds, STOCK);
const ONE_THREAD: ProgramQuantity = ProgramQuantity {
    threads: Some(1),
    ..over(Quantity::Rate, "age")
};
const PER_CPU: ProgramQuantity = over(Quantity::PerCpuSecond, LIBRARY);
const PER_CPU_PLAIN: ProgramQuantity = over(Quantity::PerCpuSecond, PLAINTEXT);
const LATENCY_P50: ProgramQuantity = over(Quantity::MicrosecondsP50, LIBRARY);
const LATENCY_P99: ProgramQuantity = over(Quantity::MicrosecondsP99, LIBRARY);
const OPERATIONS: ProgramQuantity = over(Quantity::Operations, PAPER);
const RIGHT: ProgramQuantity = over(Quantity::Right, REQUESTS);
const MEMORY: ProgramQuantity = over(Quantity::ServerMib, AT_FIRST);
const FILES: ProgramQuantity = over(Quantity::Descriptors, AT_FIRST);
const RESIDENT: &str = "64 MiB over the most that was resident";
const ADDED_P99: &str = "300 us over what is added at the 99th percentile";
const ADMITTED: &str = "what a full queue takes over the time of those let in";
const AFTER_A_SECOND: &str = "rate after a second over two thirds of that before";
/// As fast as the other side, but for half a per cent: of two that are the same, one is ahead by a
/// hair in every run.
const LEVEL: f64 = 0.995;

const fn target(
    cases: &'static [&'static str],
    comparison: Comparison,
    what: &'static str,
    required: f64,
    classes: &'static str,
) -> Target {
    Target {
        cases,
        comparison,
        what,
        required,
        classes,
        of_matrix: false,
    }
}

const fn matrix(
    cases: &'static [&'static str],
    comparison: Comparison,
    what: &'static str,
    required: f64,
    classes: &'static str,
) -> Target {
    Target {
        of_matrix: true,
        ..target(cases, comparison, what, required, classes)
    }
}

const fn over(figure: Quantity, vs: &'static str) -> ProgramQuantity {
    ProgramQuantity {
        figure,
        vs,
        bytes: None,
        threads: None,
    }
}

const fn sealed(bytes: usize) -> ProgramQuantity {
    ProgramQuantity {
        bytes: Some(bytes),
        ..over(Quantity::Rate, STOCK)
    }
}

const fn speed(bytes: usize) -> ProgramQuantity {
    ProgramQuantity {
        bytes: Some(bytes),
        ..RATE
    }
}

#[cfg(test)]
mod tests {
    use oarlock_bench::cases::{CASES, PUBLIC_KEY_CASES, Size, glob};

    use super::*;
    use crate::programs;
    use oarlock::costs::CpuClass;

    fn names_cipher(name: &str) -> bool {
        CASES.iter().any(|case| case.name == name)
    }

    #[test]
    fn every_target_is_about_what_is_measured() {
        let programs = programs::cases();
        for target in TARGETS {
            let name = target.name("");
            let all = |is_known: &dyn Fn(&str) -> bool| {
                assert!(target.cases.iter().all(|case| is_known(case)), "{target:?}");
            };
            match target.comparison {
                Comparison::Cipher(run, sizes) => {
                    all(&names_cipher);
                    let mut measured = run.sizes.split(',').map(|size| size.parse::<Size>());
                    let pause = run.idle_ms.parse().ok();
                    let covers =
                        |size: Size| sizes.cover(size.0, None) || sizes.cover(size.0, pause);
                    assert!(measured.any(|size| covers(size.unwrap())), "{name}");
                }
                Comparison::PublicKey(run, depth, vs) => {
                    all(&|name| PUBLIC_KEY_CASES.iter().any(|case| case.name == name));
                    let mut depths = run.depth.split(',').map(|at| at.parse::<usize>().unwrap());
                    match depth {
                        Depth::At(depth) => assert!(depths.any(|at| at == depth), "{name}"),
                        Depth::Each => assert!(depths.count() > 1, "{name}"),
                        Depth::Cipher => assert_eq!(run.beside, Beside::Mixed, "{name}"),
                    }
                    if let (Beside::Peers(peers), false) = (run.beside, depth == Depth::Each) {
                        let is_there = |vs: &&str| peers.split(',').any(|peer| peer == *vs);
                        assert!(vs.iter().all(is_there), "{name}");
                    }
                }
                Comparison::First(_) => assert_eq!(target.cases, RSA_2048),
                Comparison::Program(_) => {
                    all(&|pattern| {
                        programs
                            .iter()
                            .any(|case| glob::matches(pattern, &case.name))
                    });
                }
                Comparison::Enc => {}
            }
            assert!(!target.classes.is_empty(), "{name}");
            let is_class = |class| CpuClass::ALL.iter().any(|one| one.letter() == class);
            assert!(target.classes.chars().all(is_class), "{name}");
        }
    }

    #[test]
    fn every_cipher_is_held_to_the_best_strategy() {
        for case in CASES.iter().filter(|case| !case.then_hmac) {
            assert!(EVERY_CIPHER.contains(&case.name), "{}", case.name);
        }
    }
}
